"""Results of an experiment in order, and the best so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.plotting._axes import label_color
from skgpb.plotting._letters import fit_labels
from skgpb.plotting.regret import RegretDisplay


def draw_progress(ax: Any, entries: Sequence[dict[str, Any]], direction: str, outcome: str) -> None:
    """Draw each result at its number in the experiment, and the best so far within all limits.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    entries : sequence of dicts
        Entries of :meth:`~skgpb.lab.experiments.Experiment.history`, at least one with an answer.
    direction : {"minimize", "maximize"}
        Which answer is the best.
    outcome : str
        Name of the measured quantity.
    """
    answered = [entry for entry in entries if entry["answer"] is not None]
    # Failed experiments keep their place, so that numbers agree with the history.
    answers, within, beyond = np.full((3, max(entry["query"] for entry in answered)), np.nan)
    for entry in answered:
        place, answer = entry["query"] - 1, entry["answer"]
        if entry["within_limits"] is False:
            beyond[place] = answer
        else:
            answers[place] = answer
            within[place] = answer if entry["within_limits"] else np.nan
    if np.isfinite(beyond).any():
        style = {"color": label_color(ax), "linewidths": 1.0, "label": "beyond a limit"}
        ax.scatter(np.arange(1, len(beyond) + 1), beyond, s=18, marker="x", **style)
    best = (np.fmin if direction == "minimize" else np.fmax).accumulate(within)
    RegretDisplay(regret=best, kind="best", answers=answers, name="best so far").plot(ax)
    ax.set(xlabel="number of the experiment", ylabel=outcome)
    fit_labels(ax)

"""Results of an experiment in their order, and the best so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.plotting.regret import RegretDisplay


def draw_progress(ax: Any, entries: Sequence[dict[str, Any]], goal: str, outcome: str) -> None:
    """Draw each result at the number of its experiment, and the best so far.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    entries : sequence of dicts
        Of :meth:`~skgpb.experiments.Experiment.history`, with at least one answer.
    goal : {"minimize", "maximize"}
        Which answer is the best.
    outcome : str
        What is measured.
    """
    answered = [entry for entry in entries if entry["answer"] is not None]
    # Experiments without a result keep their place, so that numbers are those of the history.
    answers = np.full(max(entry["query"] for entry in answered), np.nan)
    for entry in answered:
        answers[entry["query"] - 1] = entry["answer"]
    best = (np.fmin if goal == "minimize" else np.fmax).accumulate(answers)
    RegretDisplay(regret=best, kind="best", answers=answers, name="best so far").plot(ax)
    ax.set(xlabel="number of the experiment", ylabel=outcome)

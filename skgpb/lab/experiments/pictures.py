"""Pictures of an experiment: its results in order, and compromises between measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.plotting.drawing import label_color
from skgpb.plotting.letters import add_legend, fit_labels
from skgpb.plotting.regret import RegretDisplay

# Least distance of two written numbers, as a share of a side of the picture.
APART = 0.08


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


def draw_trade_offs(ax: Any, found: dict[str, Any]) -> None:
    """Draw results over the first two measurements, and mark those that no other one dominates.

    Parameters
    ----------
    ax : matplotlib Axes
    found : dict
        Result of :meth:`~skgpb.lab.experiments.Experiment.trade_offs`.
    """
    (x_name, y_name), best = found["names"][:2], set(found["best"])
    pairs = zip(found["queries"], found["values"], strict=True)
    points = [(query in best, row[0], row[1], query) for query, row in pairs]
    front = sorted(point[1:] for point in points if point[0])
    others = [point[1:] for point in points if not point[0] and point[3] not in found["beyond"]]
    beyond = [point[1:] for point in points if point[3] in found["beyond"]]
    style = {"ms": 4, "mew": 0, "color": label_color(ax), "alpha": 0.55, "label": "results"}
    ax.plot([x for x, *_ in others], [y for _, y, _ in others], "o", **style)
    if beyond:
        style = {"color": label_color(ax), "mew": 1.0, "label": "beyond a limit"}
        ax.plot([x for x, *_ in beyond], [y for _, y, _ in beyond], "x", ms=4, **style)
    ax.plot([x for x, *_ in front], [y for _, y, _ in front], "o--", ms=6, label="best compromises")
    width, height = [
        max(side) - min(side) or 1.0 for side in list(zip(*found["values"], strict=True))[:2]
    ]
    named: list[tuple[float, float]] = []
    for x, y, query in front:
        if all(max(abs(x - u) / width, abs(y - v) / height) > APART for u, v in named):
            ax.annotate(str(query), (x, y), (4, 4), textcoords="offset points", fontsize="small")
            named.append((x, y))
    ax.set_xlabel(f"{x_name} ({'more' if found['larger_is_better'][0] else 'less'} is better)")
    ax.set_ylabel(f"{y_name} ({'more' if found['larger_is_better'][1] else 'less'} is better)")
    ax.margins(0.1)
    fit_labels(ax)
    add_legend(ax, 2)

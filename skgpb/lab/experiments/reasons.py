"""Reasons for a query: the prediction at its setting, and the nearest answered setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.domains import Angle
from skgpb.lab.experiments.entries import Entry
from skgpb.lab.experiments.sides import Side, format_estimate, format_value
from skgpb.optimizers.search import Search

# Standard deviations from the mean to the plausible maximum of an answer.
POSSIBLY = 2.0
# Two means that differ by less than this share of a standard deviation count as equally good.
ALIKE = 0.25


def nearest(
    entry: Entry, optimizer: Any, sides: Sequence[Side], answered: Sequence[Entry]
) -> dict[str, Any]:
    """Return the answered query with the most similar setting.

    The distance is the mean over all sides of the difference as a share of the range; for choices,
    of 1 if they differ.

    Parameters
    ----------
    entry : Entry
        The query.
    optimizer : optimizer
        Its bounds are the ranges.
    sides : sequence of Side
        The settings.
    answered : sequence of Entry
        The entries with answers, at least one.

    Returns
    -------
    nearest : dict
        ``query``, its number; ``answer``; ``distance``, from 0 to 1; and ``differs``, the names of
        the sides with different values.
    """
    points = np.array([each.query.points.mean(axis=0) for each in (entry, *answered)])
    apart = np.abs(points[1:] - points[0]) / np.ptp(optimizer.bounds_, axis=1)
    for j, side in enumerate(sides):
        if side.kind == "choice":
            apart[:, j] = points[1:, j] != points[0, j]
        elif isinstance(side.bounds, Angle):
            apart[:, j] = np.minimum(apart[:, j], 1.0 - apart[:, j])
    distances = apart.mean(axis=1)
    first = int(distances.argmin())
    return {
        "query": answered[first].number,
        "answer": answered[first].answer,
        "distance": float(distances[first]),
        "differs": [side.name for side, far in zip(sides, apart[first], strict=True) if far > 0.0],
    }


def reason_before_answers(entry: Entry, optimizer: Any) -> dict[str, Any]:
    """Return the reason for a query before the first answer."""
    why = "nothing is known yet: the first settings are spread over everything that can be set"
    if getattr(optimizer, "_earlier", None) is not None:
        why = "earlier campaigns suggest it, if this one is like them"
    return {"query": entry.number, "mean": None, "std": None, "nearest": None, "why": why}


def reason(
    entry: Entry,
    expected: tuple[float, float],
    optimizer: Any,
    sides: Sequence[Side],
    answered: Sequence[Entry],
    best: dict[str, Any],
) -> dict[str, Any]:
    """Return the reason for a query, according to the present model.

    Parameters
    ----------
    entry, optimizer, sides, answered : see :func:`nearest`
    expected : pair of floats
        Mean and standard deviation of the answer, without its noise.
    best : dict
        Result of :meth:`Experiment.best`.

    Returns
    -------
    reason : dict
        As :meth:`Experiment.why` returns it.
    """
    mean, std = expected
    known = nearest(entry, optimizer, sides, answered)
    sign = -1.0 if optimizer.direction == "minimize" else 1.0
    here, there = format_estimate(mean, std), format_estimate(best["mean"], best["std"])
    most = mean + sign * POSSIBLY * std
    if not known["differs"]:
        before = format_value(known["answer"])
        why = f"it was asked before ({before}): once more, because results scatter"
    elif isinstance(optimizer, Search) and len(answered) < optimizer._n_initial:
        why = "it is one of the first settings, which are spread over everything that can be set"
    elif getattr(optimizer, "goals", None):
        why = "of all settings it promises most to improve the compromises"
    elif sign * (best["mean"] - mean) <= ALIKE * std and here != there:
        much = "much" if sign > 0.0 else "little"
        why = f"nearly as {much} is expected as at the best setting so far ({here}, there {there})"
    elif here == there:
        why = f"the best result is expected there, or one as good ({here})"
    elif sign * (most - best["mean"]) > 0.0:
        worse = "less" if sign > 0.0 else "more"
        why = (
            f"{worse} is expected than at the best setting so far ({here}, there {there}), but "
            f"little is known about it: it may be {format_estimate(most, std)}"
        )
    else:
        weighed = "" if entry.cost is None else ", for what it costs,"
        why = f"its result says most{weighed} about where the best setting is"
    return {"query": entry.number, "mean": mean, "std": std, "nearest": known, "why": why}


def describe_reason(found: dict[str, Any]) -> list[str]:
    """Describe the result of :func:`reason` in lines."""
    lines, known, mean, std = [], found["nearest"], found["mean"], found["std"]
    if known is not None:
        differs = f", which differs in {', '.join(known['differs'])}" if known["differs"] else ""
        lines += [
            f"  expected: {format_estimate(mean, std)} \N{PLUS-MINUS SIGN} {format_value(std, 2)}",
            f"  nearest known: query {known['query']}, {format_value(known['answer'])}{differs}",
        ]
    return [*lines, f"  why: {found['why']}"]

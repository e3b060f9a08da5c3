"""Why a setting is suggested: what is expected there, and which known setting is nearest to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgpb.lab.experiments.entries import Entry
from skgpb.lab.experiments.sides import Side, rounded, shown
from skgpb.optimizers.search import Search

# Standard deviations that an answer may be above what is expected.
POSSIBLY = 2.0
# Share of a standard deviation by which less may be expected of a setting that is as good.
ALIKE = 0.25


def nearest(
    entry: Entry, optimizer: Any, sides: Sequence[Side], answered: Sequence[Entry]
) -> dict[str, Any]:
    """Return the answered query with the most similar setting.

    The distance is the mean over all sides: of numbers the share of their range, of choices 1 if
    they differ.

    Parameters
    ----------
    entry : Entry
        The query.
    optimizer : optimizer
        Its bounds are the ranges.
    sides : sequence of Side
        The settings.
    answered : sequence of Entry
        Those to compare with, at least one.

    Returns
    -------
    nearest : dict
        ``query``, its number; ``answer``; ``distance``, from 0 to 1; and ``differs``, the names of
        the sides in which the two differ.
    """
    points = np.array([each.query.points.mean(axis=0) for each in (entry, *answered)])
    apart = np.abs(points[1:] - points[0]) / np.ptp(optimizer.bounds_, axis=1)
    for j, side in enumerate(sides):
        if side.kind == "choice":
            apart[:, j] = points[1:, j] != points[0, j]
    distances = apart.mean(axis=1)
    first = int(distances.argmin())
    return {
        "query": answered[first].number,
        "answer": answered[first].answer,
        "distance": float(distances[first]),
        "differs": [side.name for side, far in zip(sides, apart[first], strict=True) if far > 0.0],
    }


def without_answers(entry: Entry) -> dict[str, Any]:
    """Return why a query is asked before the first answer."""
    why = "nothing is known yet: the first settings are spread over everything that can be set"
    return {"query": entry.number, "mean": None, "std": None, "nearest": None, "why": why}


def reason(
    entry: Entry,
    expected: tuple[float, float],
    optimizer: Any,
    sides: Sequence[Side],
    answered: Sequence[Entry],
    best: dict[str, Any],
) -> dict[str, Any]:
    """Return why a query is asked, given what is known now.

    Parameters
    ----------
    entry, optimizer, sides, answered : see :func:`nearest`
    expected : pair of floats
        Mean and standard deviation of the answer, without its noise.
    best : dict
        What :meth:`Experiment.best` returns.

    Returns
    -------
    reason : dict
        As :meth:`Experiment.why` returns it.
    """
    mean, std = expected
    known = nearest(entry, optimizer, sides, answered)
    sign = -1.0 if optimizer.direction == "minimize" else 1.0
    here, there = rounded(mean, std), rounded(best["mean"], best["std"])
    most = mean + sign * POSSIBLY * std
    if not known["differs"]:
        why = f"it was asked before ({shown(known['answer'])}): once more, because results scatter"
    elif isinstance(optimizer, Search) and len(answered) < optimizer._n_initial:
        why = "it is one of the first settings, which are spread over everything that can be set"
    elif sign * (best["mean"] - mean) <= ALIKE * std and here != there:
        much = "much" if sign > 0.0 else "little"
        why = f"nearly as {much} is expected as at the best setting so far ({here}, there {there})"
    elif here == there:
        why = f"the best result is expected there, or one as good ({here})"
    elif sign * (most - best["mean"]) > 0.0:
        worse = "less" if sign > 0.0 else "more"
        why = (
            f"{worse} is expected than at the best setting so far ({here}, there {there}), but "
            f"little is known about it: it may be {rounded(most, std)}"
        )
    else:
        weighed = "" if entry.cost is None else ", for what it costs,"
        why = f"its result says most{weighed} about where the best setting is"
    return {"query": entry.number, "mean": mean, "std": std, "nearest": known, "why": why}


def reason_in_words(found: dict[str, Any]) -> list[str]:
    """Return the lines in which a reason is shown."""
    lines, known, mean, std = [], found["nearest"], found["mean"], found["std"]
    if known is not None:
        differs = f", which differs in {', '.join(known['differs'])}" if known["differs"] else ""
        lines += [
            f"  expected: {rounded(mean, std)} \N{PLUS-MINUS SIGN} {shown(std, 2)}",
            f"  nearest known: query {known['query']}, {shown(known['answer'])}{differs}",
        ]
    return [*lines, f"  why: {found['why']}"]

"""Trade-offs between several measurements: the Pareto front and its hypervolume."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from skgpb.acquisition.volume import dominated_volume, pareto_mask
from skgpb.lab.experiments.scores import Score
from skgpb.lab.experiments.sides import Side
from skgpb.lab.experiments.texts import check_name
from skgpb.utils.expressions import strip_quotes
from skgpb.utils.typing import Direction, Directions

# Limit: number of goals of a search.
MOST_GOALS = 4
#: The direction of a goal by its word.
DIRECTIONS: dict[str, Direction] = {"large": "maximize", "small": "minimize"}
# Step of the finite differences of a score, as a share of the range of a measurement.
STEP = 1e-3


def directions(score: Score, rows: list[dict[str, Any]], names: list[str]) -> list[float]:
    """Return for each name the sign of the effect of its measurement on the score.

    1 if larger measurements are better in all rows, -1 if smaller ones are, otherwise 0.
    """
    out = []
    for name in names:
        values = [row[name] for row in rows]
        step = STEP * (max(values) - min(values))
        signs = set()
        for row in rows:
            change = score({**row, name: row[name] + step}) - score({**row, name: row[name] - step})
            signs |= {float(np.sign(change))} - {0.0}
        out.append(signs.pop() if len(signs) == 1 else 0.0)
    return out


def read_goals(texts: str | Iterable[str], sides: Sequence[Side]) -> dict[str, Direction]:
    """Parse goals, such as "large yield" and "small cost"; an empty dict if there are none.

    Raises
    ------
    ValueError
        If a text has another form, a goal is a side, or there is one goal or more than four.
    """
    goals: dict[str, Direction] = {}
    texts = [texts] if isinstance(texts, str) else list(texts)
    for text in texts:
        word, _, name = text.strip().partition(" ")
        name = strip_quotes(name.strip()).strip()
        if word not in DIRECTIONS or not name:
            raise ValueError(f"a goal must be large NAME or small NAME, got {text!r}")
        check_name(name, "the name of a goal")
        if name in goals or name in (side.name for side in sides):
            raise ValueError(
                f"goals are different measurements, and {name!r} is "
                f"{'one already' if name in goals else 'a setting'}; got {text!r}"
            )
        goals[name] = DIRECTIONS[word]
    if len(goals) == 1 or len(goals) > MOST_GOALS:
        raise ValueError(f"there may be two to four goals, got {texts}")
    return goals


def format_goals(goals: Directions) -> list[str]:
    """Format goals as texts that :func:`read_goals` parses."""
    words = {direction: word for word, direction in DIRECTIONS.items()}
    return [f"{words[direction]} {name}" for name, direction in goals.items()]


def trade_offs(
    score: Score, goals: Directions, entries: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the trade-offs between goals, or between the measurements in a score without goals.

    See ``Experiment.trade_offs``.
    """
    names = goals or score.names
    measured = [name for name in names if any(name in each["measured"] for each in entries)]
    if goals:
        entries = [each for each in entries if goals.keys() <= each["measured"].keys()]
    rows = [each["params"] | each["measured"] for each in entries]
    if len(measured) < 2 or len(rows) < 2:
        return None
    signs = {name: 1.0 if each == "maximize" else -1.0 for name, each in goals.items()}
    sought = [signs[name] for name in measured] if goals else directions(score, rows, measured)
    kept = [(name, sign) for name, sign in zip(measured, sought, strict=True) if sign]
    if len(kept) < 2:
        return None
    of_kept, kept_signs = zip(*kept, strict=True)
    Y = np.array([[row[name] for name in of_kept] for row in rows])
    good = Y * np.array(kept_signs)
    width = np.ptp(good, axis=0)
    share = (good - good.min(axis=0)) / np.where(width > 0.0, width, 1.0)
    within = [each["within_limits"] for each in entries]
    first = next((state for state in (True, None) if state in within), ...)
    among = np.array([state is first for state in within])
    best = np.zeros(len(good), dtype=bool)
    best[among] = pareto_mask(good[among])
    return {
        "names": list(of_kept),
        "larger_is_better": [sign > 0.0 for sign in kept_signs],
        "queries": [each["query"] for each in entries],
        "values": Y.tolist(),
        "beyond": [each["query"] for each in entries if each["within_limits"] is False],
        "best": [each["query"] for each, is_best in zip(entries, best, strict=True) if is_best],
        "hypervolume": dominated_volume(share[best]),
    }

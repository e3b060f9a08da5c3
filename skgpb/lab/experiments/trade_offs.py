"""Trade-offs between several measurements: the Pareto front and its hypervolume."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.lab.experiments.scores import Score

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


def pareto_mask(Y: np.ndarray) -> np.ndarray:
    """Return a mask (n,) of the rows of Y (n, m) that no other row dominates.

    A row dominates another if it is at least as large in all columns and larger in one.

    Examples
    --------
    >>> import numpy as np
    >>> pareto_mask(np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0], [3.0, 1.0]]))
    array([ True,  True, False,  True])
    """
    at_least = (Y[:, np.newaxis] >= Y).all(axis=2)
    better = (Y[:, np.newaxis] > Y).any(axis=2)
    return np.logical_not((at_least & better).any(axis=0))


def hypervolume(Y: np.ndarray) -> float:
    """Return the volume of the points in the unit cube that the rows of Y (n, m) dominate.

    Examples
    --------
    >>> import numpy as np
    >>> hypervolume(np.array([[0.5, 1.0], [1.0, 0.5]]))
    0.75
    """
    if not len(Y):
        return 0.0
    if Y.shape[1] == 1:
        return float(Y.max())
    total, heights = 0.0, np.unique(Y[:, -1])
    for low, high in zip(np.append(0.0, heights[:-1]), heights, strict=True):
        total += float(high - low) * hypervolume(Y[Y[:, -1] >= high][:, :-1])
    return total


def trade_offs(score: Score, entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the trade-offs between the measurements in a score, see ``Experiment.trade_offs``."""
    measured = [name for name in score.names if any(name in each["measured"] for each in entries)]
    rows = [each["params"] | each["measured"] for each in entries]
    if len(measured) < 2 or len(rows) < 2:
        return None
    sought = directions(score, rows, measured)
    kept = [(name, sign) for name, sign in zip(measured, sought, strict=True) if sign]
    if len(kept) < 2:
        return None
    names, signs = zip(*kept, strict=True)
    Y = np.array([[row[name] for name in names] for row in rows])
    good = Y * np.array(signs)
    width = np.ptp(good, axis=0)
    share = (good - good.min(axis=0)) / np.where(width > 0.0, width, 1.0)
    within = [each["within_limits"] for each in entries]
    first = next((state for state in (True, None) if state in within), ...)
    among = np.array([state is first for state in within])
    best = np.zeros(len(good), dtype=bool)
    best[among] = pareto_mask(good[among])
    return {
        "names": list(names),
        "larger_is_better": [sign > 0.0 for sign in signs],
        "queries": [each["query"] for each in entries],
        "values": Y.tolist(),
        "beyond": [each["query"] for each in entries if each["within_limits"] is False],
        "best": [each["query"] for each, is_best in zip(entries, best, strict=True) if is_best],
        "hypervolume": hypervolume(share[best]),
    }

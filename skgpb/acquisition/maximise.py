"""Searches for the largest value of a function on a box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

# Starts of a local search, and its differencing step in sides.
N_STARTS, STEP = 4, 1e-5


def best_apart(points: np.ndarray, values: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Numbers of the best points, N_STARTS at most, no two within a tenth of the sides."""
    side = box[:, 1] - box[:, 0]
    chosen: list[int] = []
    for i in np.argsort(-values, kind="stable")[: 64 * N_STARTS].tolist():
        if all(np.abs((points[i] - points[j]) / side).max() > 0.1 for j in chosen):
            chosen.append(i)
            if len(chosen) == N_STARTS:
                break
    return np.array(chosen)


def maximise_in_box(
    function: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, box: np.ndarray
) -> tuple[np.ndarray, float]:
    """L-BFGS-B from several starts; slopes by differences, a whole stencil in one call.

    ``function`` takes points (n, d) and returns values (n,).
    """
    lower, side = box[:, 0], box[:, 1] - box[:, 0]
    d = len(box)
    steps = STEP * np.eye(d)

    def negative(u: np.ndarray) -> tuple[float, np.ndarray]:
        ahead, behind = np.minimum(u + steps, 1.0), np.maximum(u - steps, 0.0)
        stencil = np.vstack([u[np.newaxis], ahead, behind])
        values = function(np.clip(lower + stencil * side, lower, box[:, 1]))
        width = np.diag(ahead) - np.diag(behind)
        return -float(values[0]), -(values[1 : d + 1] - values[d + 1 :]) / width

    def climb(start: np.ndarray) -> tuple[np.ndarray, float]:
        """End of the search from a point of the unit cube, and the value there."""
        first = negative(start)
        scale = max(1e-300, abs(first[0]), float(np.abs(first[1]).max()))

        def scaled(u: np.ndarray) -> tuple[float, np.ndarray]:
            # The search begins with what is known already.
            value, slope = first if np.array_equal(u, start) else negative(u)
            return value / scale, slope / scale

        limits, options = [(0.0, 1.0)] * d, {"maxiter": 50}
        result = minimize(
            scaled, start, jac=True, method="L-BFGS-B", bounds=limits, options=options
        )
        return result.x, -result.fun * scale

    best, top = starts[0].copy(), -np.inf
    for start in starts:
        u, value = climb((start - lower) / side)
        if value > top:
            best, top = np.clip(lower + u * side, lower, box[:, 1]), value
    return best, top

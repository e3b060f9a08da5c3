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
    """L-BFGS-B from several starts; slopes by differences, whole stencils in one call.

    ``function`` takes points (n, d) and returns values (n,).
    """
    lower, side = box[:, 0], box[:, 1] - box[:, 0]
    d = len(box)
    steps = STEP * np.eye(d)

    def negative(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (k,) and slopes (k, d) at points U (k, d) of the unit cube, signs changed."""
        here = U[:, np.newaxis]
        ahead, behind = np.minimum(here + steps, 1.0), np.maximum(here - steps, 0.0)
        stencils = np.concatenate([here, ahead, behind], axis=1).reshape(-1, d)
        values = function(np.clip(lower + stencils * side, lower, box[:, 1])).reshape(len(U), -1)
        width = np.diagonal(ahead - behind, axis1=1, axis2=2)
        return -values[:, 0], -(values[:, 1 : d + 1] - values[:, d + 1 :]) / width

    def climb(start: np.ndarray, value: float, slope: np.ndarray) -> tuple[np.ndarray, float]:
        """End of the search from a point of the unit cube, and the value there."""
        scale = max(1e-300, abs(value), float(np.abs(slope).max()))

        def scaled(u: np.ndarray) -> tuple[float, np.ndarray]:
            # The search begins with what is known already.
            if np.array_equal(u, start):
                return value / scale, slope / scale
            values, slopes = negative(u[np.newaxis])
            return float(values[0]) / scale, slopes[0] / scale

        limits, options = [(0.0, 1.0)] * d, {"maxiter": 50}
        result = minimize(
            scaled, start, jac=True, method="L-BFGS-B", bounds=limits, options=options
        )
        return result.x, -result.fun * scale

    best, top = starts[0].copy(), -np.inf
    U = (starts - lower) / side
    for start, value, slope in zip(U, *negative(U), strict=True):
        u, found = climb(start, float(value), slope)
        if found > top:
            best, top = np.clip(lower + u * side, lower, box[:, 1]), found
    return best, top

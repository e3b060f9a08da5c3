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

    best, top = starts[0].copy(), -np.inf
    for start in starts:
        u = (start - lower) / side
        scale = max(1e-300, abs(negative(u)[0]), float(np.abs(negative(u)[1]).max()))
        result = minimize(
            lambda u, scale=scale: tuple(v / scale for v in negative(u)),
            u,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * d,
            options={"maxiter": 50},
        )
        if -result.fun * scale > top:
            best, top = np.clip(lower + result.x * side, lower, box[:, 1]), -result.fun * scale
    return best, top

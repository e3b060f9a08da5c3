"""Searches for the largest value of a function on a box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Starts of a search, calls of the function that it makes at most, its differencing step in sides.
N_STARTS, N_CALLS, STEP = 4, 100, 1e-5
# A start is left where its next step promises no more than this share of the largest value or
# slope at the first look; in the same unit the least bend that steps go by.
PROMISE, BEND = 1e-10, 1e-3


def best_apart(points: np.ndarray, values: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Numbers of the best points, N_STARTS at most, no two within a tenth of the sides."""
    side = box[:, 1] - box[:, 0]
    left = np.argsort(-values, kind="stable")[: 64 * N_STARTS]
    chosen: list[int] = []
    while len(left) and len(chosen) < N_STARTS:
        chosen.append(int(left[0]))
        left = left[(np.abs((points[left] - points[left[0]]) / side) > 0.1).any(axis=1)]
    return np.array(chosen)


def maximise_in_box(
    function: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, box: np.ndarray
) -> tuple[np.ndarray, float]:
    """Projected BFGS from several starts in step: one call looks at all of them, see D-H23.

    ``function`` takes points (n, d) and returns values (n,). Slopes and bends are differences.
    """
    lower, side = box[:, 0], box[:, 1] - box[:, 0]
    best, top = starts[0].copy(), -np.inf

    def look(U: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (k,), slopes and bends along the axes (k, d), at points U of the unit cube."""
        nonlocal best, top
        k, d = U.shape
        # Two steps along each axis: one ahead and one behind, beside a face both inwards.
        inwards = (U < STEP).astype(np.float64) - (U > 1.0 - STEP)
        steps = STEP * (2.0 * inwards[:, np.newaxis] + [[1.0], [-1.0]])
        around = U[:, np.newaxis, np.newaxis] + steps[..., np.newaxis] * np.eye(d)
        stencils = np.concatenate([U[:, np.newaxis], around.reshape(k, 2 * d, d)], axis=1)
        points = np.clip(lower + stencils * side, lower, box[:, 1])
        values = function(points.reshape(-1, d)).reshape(k, -1)
        here = values[:, 0]
        i = int(np.argmax(here))
        if here[i] > top:
            best, top = points[i, 0], float(here[i])
        rises = (values[:, 1:] - here[:, np.newaxis]).reshape(k, 2, d) / steps
        bends = (rises[:, 0] - rises[:, 1]) / STEP
        return here, rises[:, 0] - 0.5 * steps[:, 0] * bends, bends

    U = (starts - lower) / side
    first = look(U)
    scale = max(1e-300, float(np.abs(first[0]).max()), float(np.abs(first[1]).max()))
    values, slopes, bends = (x / scale for x in first)
    B = with_diagonal(np.broadcast_to(np.eye(len(box)), (len(U), len(box), len(box))), bends)
    lengths = np.ones(len(U))
    for _ in range(N_CALLS - 1):
        V = np.clip(U + lengths[:, np.newaxis] * uphill(B, U, slopes), 0.0, 1.0)
        promised = ((V - U) * slopes).sum(axis=1)
        live = promised > PROMISE
        if not live.any():
            break
        U, V, B, values, slopes, lengths, promised = (
            x[live] for x in (U, V, B, values, slopes, lengths, promised)
        )
        found, there, bends = (x / scale for x in look(V))
        gained = found - values
        better = gained > 1e-4 * promised
        # Otherwise half as far at most, as the parabola through what is known says.
        shorter = np.maximum(0.1, 0.5 * promised / np.maximum(promised - gained, promised))
        lengths = np.where(better, 1.0, lengths * shorter)
        B = np.where(better[:, None, None], updated(B, V - U, slopes - there, bends), B)
        values = np.where(better, found, values)
        U, slopes = (np.where(better[:, None], *x) for x in ((V, U), (there, slopes)))
    return best, top


def uphill(B: np.ndarray, U: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Steps (k, d) to where slopes vanish if they fall by B; none through a face."""
    held = ((U <= 0.0) & (slopes < 0.0)) | ((U >= 1.0) & (slopes > 0.0))
    free = ~(held[:, :, None] | held[:, None, :])
    slopes = np.where(held, 0.0, slopes)
    return np.linalg.solve(np.where(free, B, np.eye(U.shape[1])), slopes[..., None])[..., 0]


def updated(B: np.ndarray, s: np.ndarray, y: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """B (k, d, d) after steps s over which slopes fell by y: BFGS, but for the diagonal."""
    Bs = (B @ s[..., None])[..., 0]
    sBs, sy = (s * Bs).sum(axis=1), np.abs((s * y).sum(axis=1))
    known = sy > 1e-8 * np.sqrt((s**2).sum(axis=1) * (y**2).sum(axis=1))
    gain = y[:, :, None] * y[:, None] / np.where(known, sy, 1.0)[:, None, None]
    new = B - Bs[:, :, None] * Bs[:, None] / sBs[:, None, None] + gain
    known &= (np.diagonal(new, axis1=1, axis2=2) > 0.0).all(axis=1)
    return with_diagonal(np.where(known[:, None, None], new, B), bends)


def with_diagonal(B: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """Rows and columns of B (k, d, d) scaled so that bends (k, d) are the diagonal."""
    ratio = np.sqrt(np.maximum(np.abs(bends), BEND) / np.diagonal(B, axis1=1, axis2=2))
    # A little more of the diagonal keeps rounding from making it singular.
    return B * ratio[:, :, None] * ratio[:, None] * (1.0 + 1e-9 * np.eye(bends.shape[1]))

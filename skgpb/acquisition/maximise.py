"""Searches for the largest value of a function on a box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skgpb import defaults
from skgpb._core._ties import argmax_first, exceeds, size_of
from skgpb._core._tree import first_maximum, tie_tolerance

# Accuracy: largest number of calls of the function in a search; its differencing step in sides.
N_CALLS, STEP = 100, 1e-4
# Accuracy: a search stops if its next step promises at most this share of the largest value or
# slope at the starts; in the same unit the least curvature in Newton steps.
PROMISE, BEND = 1e-10, 1e-3
# Accuracy: of the search for a sharp maximum: width of differences in sides, largest number of
# steps, largest step, least curvature in units of the value; then grids for rounding, in sides.
WIDE, N_POLISHES, FAR, SHARP = 1e-3, 6, 1e-2, 1e-4
GRID, COARSE = 2.0**-24, (2.0**-14, 2.0**-18, 2.0**-22)
# Mathematics: matrix from values at five nodes to the coefficients of the quartic through them;
# corners of a square.
NODES = np.arange(-2.0, 3.0)
QUARTIC = np.linalg.inv(NODES[:, np.newaxis] ** np.arange(5)).T
CORNERS = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])


def best_apart(points: np.ndarray, values: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return the indices of a few of the best points, no two of which are close to each other.

    Tied points keep their order.
    """
    side = box[:, 1] - box[:, 0]
    left = np.flatnonzero(~np.isnan(values))
    most = 64 * defaults.N_STARTS
    if len(left) > most:
        # Points tied with the last of the best ones are as good.
        level = float(np.partition(values[left], -most)[-most])
        left = left[values[left] >= level - tie_tolerance(level, size_of(values))]
    chosen: list[int] = []
    while len(left) and len(chosen) < defaults.N_STARTS:
        chosen.append(int(left[argmax_first(values[left])]))
        left = left[
            (np.abs((points[left] - points[chosen[-1]]) / side) > defaults.START_DISTANCE).any(
                axis=1
            )
        ]
    return np.array(chosen, dtype=np.intp)


def maximise_in_box(
    function: Callable[[np.ndarray], np.ndarray],
    starts: np.ndarray,
    box: np.ndarray,
    unit: float = 1.0,
) -> tuple[np.ndarray, float]:
    """Maximise a function in a box by projected BFGS from several starts at once, see D-H23.

    ``function`` takes points (n, d) and returns values (n,); one call evaluates the points of all
    searches. Derivatives are finite differences. Return the best end and its value; if several ends
    tie (D-G1), those of the first start. ``unit`` is the unit of the quantities behind the values.
    """
    lower, side = box[:, 0], box[:, 1] - box[:, 0]
    best, tops = starts.copy(), np.full(len(starts), -np.inf)

    def look(U: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return values (k,), slopes and curvatures (k, d) along the axes at points U (k, d)."""
        k, d = U.shape
        # Two steps along each axis: one forward and one back, or both inwards at a face.
        inwards = (U < STEP).astype(np.float64) - (U > 1.0 - STEP)
        steps = STEP * (2.0 * inwards[:, np.newaxis] + [[1.0], [-1.0]])
        around = U[:, np.newaxis, np.newaxis] + steps[..., np.newaxis] * np.eye(d)
        stencils = np.concatenate([U[:, np.newaxis], around.reshape(k, 2 * d, d)], axis=1)
        points = np.clip(lower + stencils * side, lower, box[:, 1])
        values = function(points.reshape(-1, d)).reshape(k, -1)
        here = values[:, 0]
        rises = here > tops[which]
        tops[which[rises]], best[which[rises]] = here[rises], points[rises, 0]
        rises = (values[:, 1:] - here[:, np.newaxis]).reshape(k, 2, d) / steps
        bends = (rises[:, 0] - rises[:, 1]) / STEP
        return here, rises[:, 0] - 0.5 * steps[:, 0] * bends, bends

    U, which = (starts - lower) / side, np.arange(len(starts))
    first = look(U, which)
    scale = max(1e-300, float(np.abs(first[0]).max()), float(np.abs(first[1]).max()))
    values, slopes, bends = (x / scale for x in first)
    B = with_diagonal(np.broadcast_to(np.eye(len(box)), (len(U), len(box), len(box))), bends)
    lengths = np.ones(len(U))
    for _ in range(N_CALLS - 1):
        V = np.clip(U + lengths[:, np.newaxis] * newton_steps(B, U, slopes), 0.0, 1.0)
        promised = ((V - U) * slopes).sum(axis=1)
        live = promised > PROMISE
        if not live.any():
            break
        U, V, B, values, slopes, lengths, promised, which = (
            x[live] for x in (U, V, B, values, slopes, lengths, promised, which)
        )
        found, there, bends = (x / scale for x in look(V, which))
        gained = found - values
        better = gained > 1e-4 * promised
        # Otherwise at most half as far: the step to the top of the parabola through both values.
        shorter = np.maximum(0.1, 0.5 * promised / np.maximum(promised - gained, promised))
        lengths = np.where(better, 1.0, lengths * shorter)
        B = np.where(better[:, None, None], update_bfgs(B, V - U, slopes - there, bends), B)
        values = np.where(better, found, values)
        U, slopes = (np.where(better[:, None], *x) for x in ((V, U), (there, slopes)))
    i = first_maximum(tops, tie_tolerance(float(tops.max()), unit))
    return make_reproducible(function, best[i], float(tops[i]), box, unit)


def make_reproducible(
    function: Callable[[np.ndarray], np.ndarray],
    best: np.ndarray,
    top: float,
    box: np.ndarray,
    unit: float = 1.0,
) -> tuple[np.ndarray, float]:
    """Return the end of a search as the same point on every processor, and the value there.

    A search ends where the remaining gain is small, and rounding decides where exactly. A sharp
    maximum is computed exactly, and its digits affected by rounding are cut off. For any other
    maximum, such as a ridge, digits are cut off as long as the value does not change.
    """
    lower, side = box[:, 0], box[:, 1] - box[:, 0]
    u = (best - lower) / side
    exact = sharp_maximum(
        lambda U: function(np.clip(lower + U * side, lower, box[:, 1])), u, max(abs(top), unit)
    )
    for grid in COARSE if exact is None else (GRID,):
        rounded = np.round((u if exact is None else exact) / grid) * grid
        place = np.clip(lower + rounded * side, lower, box[:, 1])
        value = float(function(place[np.newaxis])[0])
        if np.isfinite(value) and not exceeds(top, value, unit):
            return place, value
    return best, top


def sharp_maximum(
    function: Callable[[np.ndarray], np.ndarray], u: np.ndarray, unit: float
) -> np.ndarray | None:
    """Return the sharp maximum near a point u (d,) of the unit cube; None if there is none.

    Newton's method, with differences so wide that rounding hardly matters.
    """
    d, bends = len(u), np.empty((0, 0))
    axes, (first, second) = np.arange(d), np.triu_indices(d, 1)
    pairs = np.arange(len(first))
    for turn in range(N_POLISHES):
        # Near a face the nodes move inwards, and the quartic through them is differentiated at u.
        middle = np.clip(u, 2.0 * WIDE, 1.0 - 2.0 * WIDE)
        nodes, corners = np.tile(u, (d, 5, 1)), np.tile(u, (len(first), 4, 1))
        nodes[axes, :, axes] = middle[:, np.newaxis] + WIDE * NODES
        corners[pairs, :, first] = middle[first, np.newaxis] + WIDE * CORNERS[0]
        corners[pairs, :, second] = middle[second, np.newaxis] + WIDE * CORNERS[1]
        looked = [nodes] if turn else [nodes, corners]
        found = function(np.concatenate([each.reshape(-1, d) for each in looked]))
        quartics = found[: 5 * d].reshape(d, 5) @ QUARTIC
        powers = ((u - middle) / WIDE)[:, np.newaxis] ** np.arange(4)
        slopes = (quartics[:, 1:] * [1, 2, 3, 4] * powers).sum(axis=1) / WIDE
        if not turn:
            bends = np.diag(-(quartics[:, 2:] * [2, 6, 12] * powers[:, :3]).sum(axis=1) / WIDE**2)
            crossed = -found[5 * d :].reshape(-1, 4) @ (CORNERS[0] * CORNERS[1]) / (4.0 * WIDE**2)
            bends[first, second] = bends[second, first] = crossed
        held = ((u <= 0.0) & (slopes < 0.0)) | ((u >= 1.0) & (slopes > 0.0))
        free = np.flatnonzero(~held)
        among = bends[np.ix_(free, free)]
        if (
            not np.isfinite(found).all()
            or np.linalg.eigvalsh(among).min(initial=1.0) <= SHARP * unit
        ):
            return None
        step = np.zeros(d)
        step[free] = np.linalg.solve(among, slopes[free])
        length = np.abs(step).max()
        if length > FAR:
            return None
        u = np.clip(u + step, 0.0, 1.0)
        if length < GRID:
            return u
    return None


def newton_steps(B: np.ndarray, U: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return steps (k, d) to zero slopes, with -B the curvature; no step crosses a face."""
    held = ((U <= 0.0) & (slopes < 0.0)) | ((U >= 1.0) & (slopes > 0.0))
    free = ~(held[:, :, None] | held[:, None, :])
    slopes = np.where(held, 0.0, slopes)
    return np.linalg.solve(np.where(free, B, np.eye(U.shape[1])), slopes[..., None])[..., 0]


def update_bfgs(B: np.ndarray, s: np.ndarray, y: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """Return B (k, d, d) after a BFGS update, with ``bends`` as its diagonal.

    Over the steps s (k, d) the slopes fell by y (k, d).
    """
    Bs = (B @ s[..., None])[..., 0]
    sBs, sy = (s * Bs).sum(axis=1), np.abs((s * y).sum(axis=1))
    known = sy > 1e-8 * np.sqrt((s**2).sum(axis=1) * (y**2).sum(axis=1))
    gain = y[:, :, None] * y[:, None] / np.where(known, sy, 1.0)[:, None, None]
    new = B - Bs[:, :, None] * Bs[:, None] / sBs[:, None, None] + gain
    known &= (np.diagonal(new, axis1=1, axis2=2) > 0.0).all(axis=1)
    return with_diagonal(np.where(known[:, None, None], new, B), bends)


def with_diagonal(B: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """Scale the rows and columns of B (k, d, d) so that ``bends`` (k, d) are its diagonal."""
    ratio = np.sqrt(np.maximum(np.abs(bends), BEND) / np.diagonal(B, axis1=1, axis2=2))
    # The enlarged diagonal keeps rounding from making B singular.
    return B * ratio[:, :, None] * ratio[:, None] * (1.0 + 1e-9 * np.eye(bends.shape[1]))

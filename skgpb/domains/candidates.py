"""Points that represent a box evenly, or lie near others."""

from __future__ import annotations

from math import ceil

import numpy as np

from skgpb import defaults


def even_grid(bounds: np.ndarray, per_axis: int) -> np.ndarray:
    """Return ``per_axis`` evenly spaced points along every axis, ends included, in C order."""
    axes = [np.linspace(lower, upper, per_axis) for lower, upper in bounds]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(bounds))


def spread_points(bounds: np.ndarray, n: int, shift: np.ndarray) -> np.ndarray:
    """Return the first n points of an additive recurrence modulo the box, shape (n, d).

    Steps are powers of the inverse of the root of x^(d+1) = x + 1, the golden ratio for d = 1,
    which fills a box evenly whatever n is. ``shift`` (d,), in [0, 1), makes it random.
    """
    d, root = len(bounds), 1.5
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (d + 1))
    steps = root ** -np.arange(1.0, d + 1)
    unit = (shift + np.outer(np.arange(n), steps)) % 1.0
    return bounds[:, 0] + unit * (bounds[:, 1] - bounds[:, 0])


def points_in(box: np.ndarray, n: int) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """Return about n points of a box, and the shape of their grid; None if they form no grid."""
    d = len(box)
    if d > defaults.GRID_DIMENSIONS:
        return spread_points(box, n, np.full(d, 0.5)), None
    per_axis = min(defaults.GRID_PER_AXIS, max(1, ceil(n ** (1 / d) - 1e-9)))
    if per_axis == 1:
        return box.mean(axis=1)[np.newaxis], (1,) * d
    return even_grid(box, per_axis), (per_axis,) * d


def points_near(
    bounds: np.ndarray,
    centers: np.ndarray,
    n: int,
    rng: np.random.Generator,
    periodic: np.ndarray | None = None,
) -> np.ndarray:
    """Return n points around centers (k, d) in turn, at distances of every order of magnitude.

    Along the sides in the mask ``periodic`` (d,) they continue at the other end.
    """
    side = bounds[:, 1] - bounds[:, 0]
    scale = 10.0 ** -rng.uniform(defaults.LOCAL_FARTHEST, defaults.LOCAL_NEAREST, size=(n, 1))
    points = centers[np.arange(n) % len(centers)]
    points = points + side * scale * rng.standard_normal((n, len(bounds)))
    if periodic is not None and periodic.any():
        around = bounds[:, 0] + (points - bounds[:, 0]) % np.where(periodic, side, 1.0)
        points = np.where(periodic, around, points)
    return clip_to_box(points, bounds)


def clip_to_box(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the nearest points (n, d) within bounds, in half the time of ``np.clip``."""
    return np.minimum(np.maximum(points, bounds[:, 0]), bounds[:, 1])

"""Box descriptors ``[lower_1..lower_d, upper_1..upper_d]`` and the points that represent a box.

A point is the degenerate box whose lower and upper corner coincide, so points and cells share one
format and one kernel.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

#: Limit: largest number of points along an axis; more are assumed to be a mistake, because
#: CellIntegral computes the limit.
MAX_POINTS_PER_AXIS = 10_000


class Rule(NamedTuple):
    """A mean over the unit interval, written as a weighted sum."""

    nodes: np.ndarray  # (s,), in (0, 1), increasing
    weights: np.ndarray  # (s,), sum to one


class BoxPoints(NamedTuple):
    """The points of several boxes, one box after the other."""

    points: np.ndarray  # (n_points, d)
    weights: np.ndarray  # (n_points,), sum to one within each box
    starts: np.ndarray  # (n_boxes,), position of the first point of each box


def boxes_from_points(points: ArrayLike) -> np.ndarray:
    """Write points as degenerate boxes.

    Parameters
    ----------
    points : array-like of shape (n, d)
        One point per row.

    Returns
    -------
    boxes : ndarray of shape (n, 2 * d)
        Box descriptors with equal lower and upper corners.

    Examples
    --------
    >>> boxes_from_points([[0.25, 2.0]])
    array([[0.25, 2.  , 0.25, 2.  ]])
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"points must have shape (n, d), got an array of shape {points.shape}.")
    return np.hstack((points, points))


def representatives(
    lower: ArrayLike, upper: ArrayLike, n_representatives: int | Sequence[int]
) -> np.ndarray:
    """Return the centres of the parts of a box cut into a regular grid.

    Parameters
    ----------
    lower, upper : array-like of shape (d,)
        Corners of the box.
    n_representatives : int or sequence of d ints
        Number of points along each axis. An axis along which the box has no width always has a
        single point, so the representative of a degenerate box is the point itself.

    Returns
    -------
    points : ndarray of shape (S, d)
        The centres in C order: the last axis varies fastest. S is the product of the numbers of
        points along the axes.

    Examples
    --------
    >>> representatives([0.0, 0.0], [1.0, 3.0], (1, 3))
    array([[0.5, 0.5],
           [0.5, 1.5],
           [0.5, 2.5]])
    """
    low, high = np.ravel(lower).tolist(), np.ravel(upper).tolist()
    if np.ndim(lower) > 1 or np.shape(lower) != np.shape(upper):
        raise ValueError(
            f"lower and upper must have shape (d,), got shapes {np.shape(lower)} and "
            f"{np.shape(upper)}."
        )
    if not all(-np.inf < a <= b < np.inf for a, b in zip(low, high, strict=True)):
        raise ValueError(f"a box needs finite lower <= upper, got {lower!r} and {upper!r}.")
    return grid_centers(low, high, axis_counts(n_representatives, len(low), "n_representatives"))


def grid_centers(low: list[float], high: list[float], counts: tuple[int, ...]) -> np.ndarray:
    """Return :func:`representatives` of valid corners and numbers of points."""
    axes = []
    for a, b, s in zip(low, high, counts, strict=True):
        s = s if b > a else 1
        axes.append(a + (np.arange(s) + 0.5) * ((b - a) / s))
    if len(axes) == 1:
        return axes[0][:, None]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def check_boxes(boxes: ArrayLike, name: str = "X") -> np.ndarray:
    """Return box descriptors (n, 2 d) as a C-contiguous float64 array, or raise ValueError."""
    boxes = np.ascontiguousarray(boxes, dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] == 0 or boxes.shape[1] % 2:
        raise ValueError(
            f"{name} must hold box descriptors [lower_1..lower_d, upper_1..upper_d], an even number"
            f" of columns; got an array of shape {boxes.shape}. Points (n, d) are turned into"
            " degenerate boxes by numpy.hstack([X, X])."
        )
    lower, upper = corners(boxes)
    if not (lower <= upper).all() or not np.isfinite(boxes).all():
        accepted = (lower <= upper) & np.isfinite(lower) & np.isfinite(upper)
        row = int(np.argmin(accepted.all(axis=1)))
        raise ValueError(
            f"{name} must hold finite box descriptors with lower <= upper on every axis; row {row}"
            f" has lower={lower[row].tolist()} and upper={upper[row].tolist()}."
        )
    return boxes


def corners(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper corners (n, d) of box descriptors, as views."""
    d = boxes.shape[1] // 2
    return boxes[:, :d], boxes[:, d:]


def axis_counts(value: int | Sequence[int], d: int, name: str) -> tuple[int, ...]:
    """Check a number of points per axis, an int or d of them, and return all d."""
    counts = tuple(value) if isinstance(value, Sequence | np.ndarray) else (value,) * d
    if len(counts) != d or not all(
        isinstance(s, numbers.Integral)
        and not isinstance(s, bool)
        and 1 <= s <= MAX_POINTS_PER_AXIS
        for s in counts
    ):
        raise ValueError(
            f"{name} must be an integer from 1 to {MAX_POINTS_PER_AXIS}, or one such integer for"
            f" each of the {d} axes; got {value!r}."
        )
    return tuple(int(s) for s in counts)


def midpoint_rule(s: int) -> Rule:
    """Return the centres of s equal parts of the unit interval."""
    return Rule((np.arange(s) + 0.5) / s, np.full(s, 1.0 / s))


@functools.lru_cache(maxsize=32)
def gauss_legendre_rule(s: int) -> Rule:
    """Return the Gauss-Legendre rule with s nodes on the unit interval."""
    nodes, weights = np.polynomial.legendre.leggauss(s)
    return Rule(0.5 * (1.0 + nodes), 0.5 * weights)


def points_per_box(boxes: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """Return the number of points of each box (n,), as floats because it may be huge."""
    lower, upper = corners(boxes)
    return np.where(upper > lower, np.asarray(counts, dtype=np.float64), 1.0).prod(axis=1)


def box_points(boxes: np.ndarray, rules: Sequence[Rule]) -> BoxPoints:
    """Return the tensor rules over boxes (n, 2 d); an axis without width has one point."""
    lower, upper = corners(boxes)
    wide = upper > lower
    sizes = points_per_box(boxes, [len(rule.nodes) for rule in rules]).astype(np.intp)
    n_points = int(sizes.sum())
    starts = np.cumsum(sizes) - sizes
    points, weights = np.empty((n_points, lower.shape[1])), np.empty(n_points)
    single = Rule(np.zeros(1), np.ones(1))
    # Boxes that are flat along the same axes have the same tensor rule: one pass for each pattern.
    for pattern in np.unique(wide, axis=0):
        rows = np.flatnonzero((wide == pattern).all(axis=1))
        axes = [rule if w else single for rule, w in zip(rules, pattern, strict=True)]
        grid = np.array(list(itertools.product(*(rule.nodes for rule in axes))))
        factors = [math.prod(f) for f in itertools.product(*(rule.weights for rule in axes))]
        where = (starts[rows, None] + np.arange(len(grid))).ravel()
        width = (upper - lower)[rows, None, :]
        points[where] = (lower[rows, None, :] + width * grid).reshape(len(where), -1)
        weights[where] = np.tile(factors, len(rows))
    return BoxPoints(points, weights, starts)

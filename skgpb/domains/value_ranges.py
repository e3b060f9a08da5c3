"""Cells of a box with sides of separate values, and their cuts.

A cell has a run of the values of every such side, in their order: integers from one to another, or
consecutive categories of the list. Its corners are the coordinates at which the run begins and
ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from skgpb import defaults
from skgpb.domains.cells import first_values
from skgpb.domains.space import SAME, ParameterSpace, SeparateAxis, Side

# Mathematics: in the order of multiples of this modulo 1, any number of places is spread evenly.
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def spread(axis: Side, low: float, high: float, n: int) -> np.ndarray:
    """Return coordinates of at most n values between two, as far apart as possible."""
    if not isinstance(axis, SeparateAxis):
        n = n if high > low else 1
        return low + (np.arange(n) + 0.5) * ((high - low) / n)
    first, last = axis.run(low, high)
    count = last - first + 1
    n = min(n, count)
    return axis.middles_of(first + (2 * np.arange(n) + 1) * count // (2 * n))


def reach(axis: Side, low: float, high: float) -> tuple[float, float]:
    """Return the coordinates of the first and of the last value between two."""
    if not isinstance(axis, SeparateAxis):
        return low, high
    first, last = axis.middles_of(np.array(axis.run(low, high)))
    return float(first), float(last)


def cut(axis: Side, low: float, high: float, n: int) -> list[tuple[float, float]]:
    """Return the ends of n parts of nearly equal size; fewer parts if there are fewer values."""
    ends = [low + j * ((high - low) / n) for j in range(n)]
    if isinstance(axis, SeparateAxis):
        first, last = axis.run(low, high)
        n = min(n, last - first + 1)
        begins = first
        ends = [low]
        for j in range(1, n):
            target = low + j * ((high - low) / n)
            here, _ = axis.run(target, target)
            nearer = axis.edge(here + 1) - target <= target - axis.edge(here) + SAME
            # Every part must have a value.
            begins = min(max(here + nearer, begins + 1), last + 1 - (n - j))
            ends.append(axis.edge(begins))
    return list(zip(ends, [*ends[1:], high], strict=True))


def representatives_within(
    space: ParameterSpace, lower: np.ndarray, upper: np.ndarray, counts: tuple[int, ...]
) -> np.ndarray:
    """Return points (S, d) that represent a cell: ``counts`` along the sides, or all values."""
    ends = zip(lower.tolist(), upper.tolist(), counts, strict=True)
    along = [spread(axis, *each) for (_, axis), each in zip(space.axes, ends, strict=True)]
    return np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, len(along))


def points_per_side(space: ParameterSpace, values: Any = None) -> tuple[int, ...]:
    """Return the number of points that represent a cell along each side: all values, if few.

    Continuous sides then have fewer points, but at least two. ``values`` are the numbers of values
    in the cell, infinite for continuous sides; None is the whole box.
    """
    per_axis, in_all = defaults.CELL_POINTS_PER_AXIS, defaults.CELL_POINTS
    for s, t in [
        *((s, in_all) for s in range(per_axis, 1, -1)),
        *((2, t) for t in range(in_all - 1, 1, -1)),
        (1, 2),
    ]:
        counts = cap_counts(
            space, [t if isinstance(axis, SeparateAxis) else s for _, axis in space.axes], values
        )
        if np.prod(counts, dtype=float) <= in_all:
            return counts
    return (1,) * space.n_axes


def cap_counts(space: ParameterSpace, counts: Any, values: Any = None) -> tuple[int, ...]:
    """Return the numbers of points along each side, at most the numbers of its values."""
    if values is None:
        values = [axis.n_settings for _, axis in space.axes]
    return tuple(int(min(s, most)) for s, most in zip(counts, values, strict=True))


class EncodedSide(NamedTuple):
    """One side of a cell in columns of the kernel: at the ends of each row, and its length."""

    lower: np.ndarray
    upper: np.ndarray
    length: float


@dataclass(eq=False, repr=False)
class ValueRanges:
    """Cells of a box with separate values: their cuts, and their descriptors.

    Parameters
    ----------
    space : ParameterSpace
        The box.
    n_parts : int
        Number of parts of a cell; fewer if it has fewer settings.
    counts : tuple of d ints
        Points along each side of a cell.
    continuous : bool
        Whether the kernel averages over continuous sides; otherwise a cell is a set of points.
    bounds : ndarray of shape (d, 2), default=None
        The part of the box that is cut; None for all of it.
    """

    space: ParameterSpace
    n_parts: int
    counts: tuple[int, ...]
    continuous: bool
    bounds: np.ndarray | None = None

    def __post_init__(self) -> None:
        self._axes: list[Side] = [axis for _, axis in self.space.axes]
        # Cache: cells have many sides in common.
        self._sides: dict[tuple[int, float, float], EncodedSide] = {}
        self._orders: dict[tuple[int, ...], list[np.ndarray]] = {}
        self._root = np.ones(len(self._axes))
        root = self.lengths((self.space.bounds if self.bounds is None else self.bounds).T.ravel())
        self._root = np.where(root > 0.0, root, 1.0)

    def lengths(self, box: np.ndarray) -> np.ndarray:
        """Return sides (d,) of a box (2 d,) as distances of the kernel, in units of the root's.

        The width between different categories is 1, and 0 stands for a single value.
        """
        return np.array([side.length for side in self._sides_of(box)]) / self._root

    def parts(self, box: np.ndarray) -> np.ndarray:
        """Return boxes (n, 2 d) of the parts of a box, cut along its longest side.

        The parts of a side with too few values are cut further. A single part is the box itself.
        """
        d, K, parts = len(self._axes), self.n_parts, [box]
        while len(parts) < K:
            lengths = [self.lengths(part) for part in parts]
            longest = np.array([length.max() for length in lengths])
            i = int(np.argmax(longest >= longest.max() * (1.0 - SAME)))
            if longest[i] <= 0.0:
                break
            axis = int(np.argmax(lengths[i] >= longest[i] * (1.0 - SAME)))
            n = min(ceil(K / len(parts)), K - len(parts) + 1)
            ends = cut(self._axes[axis], parts[i][axis], parts[i][d + axis], n)
            pieces = np.tile(parts[i], (len(ends), 1))
            pieces[:, [axis, d + axis]] = ends
            parts[i : i + 1] = pieces
        return np.array(parts)

    def rows(self, box: np.ndarray) -> np.ndarray:
        """Return descriptor rows of a box: one for each combination of its separate values.

        A row holds the columns of the settings at its lower and at its upper corner.
        """
        sides = self._sides_of(box)
        sizes = tuple(len(side.lower) for side in sides)
        if max(sizes) == 1:
            return np.hstack([side.lower for side in sides] + [side.upper for side in sides])
        order = self._orders.get(sizes)
        if order is None:
            order = self._orders[sizes] = mixed_order(sizes)
        lower = [side.lower[places] for side, places in zip(sides, order, strict=True)]
        upper = [side.upper[places] for side, places in zip(sides, order, strict=True)]
        return np.hstack(lower + upper)

    def _sides_of(self, box: np.ndarray) -> list[EncodedSide]:
        ends = box.tolist()
        keys = zip(range(len(self._axes)), ends, ends[len(self._axes) :], strict=False)
        return [self._sides.get(key) or self._make_side(key) for key in keys]

    def _make_side(self, key: tuple[int, float, float]) -> EncodedSide:
        i, low, high = key
        axis = self._axes[i]
        first, last = axis.columns(np.array(reach(axis, low, high)))
        # The ends of a periodic side have the same columns.
        separate = isinstance(axis, SeparateAxis)
        length = float(np.linalg.norm(last - first)) if separate else high - low
        if axis.uses_columns or not self.continuous:
            lower = upper = axis.columns(spread(axis, low, high, self.counts[i]))
        else:
            lower, upper = axis.columns(np.array([low])), axis.columns(np.array([high]))
        side = self._sides[key] = EncodedSide(lower, upper, length)
        return side


def mixed_order(sizes: tuple[int, ...]) -> list[np.ndarray]:
    """Return the indices along each side of all combinations, in a mixed order.

    Learning reads a subsample of the rows of a cell, so that neighbours must be of all kinds.
    """
    places = np.indices(sizes).reshape(len(sizes), -1)
    return list(places[:, np.argsort(np.arange(places.shape[1]) * GOLDEN % 1.0)])


class Placed:
    """Cells of one size at any place of a box with separate values.

    A place is the index of the first value along each side of separate values, and the lower corner
    along each other side that is shorter than the box.

    Parameters
    ----------
    space : ParameterSpace
        The box.
    sides : ndarray of shape (d,)
        Sides of a cell; counts of values if these are separate.

    Attributes
    ----------
    starts : list of int
        Number of runs along each side of separate values.
    free : ndarray of int
        Continuous sides along which a cell can move.
    room : ndarray of shape (n_free, 2)
        Range of its lower corner.
    counts : tuple of d ints
        Points along each side of a cell.
    """

    starts: list[int]
    free: np.ndarray
    room: np.ndarray
    counts: tuple[int, ...]

    def __init__(self, space: ParameterSpace, sides: np.ndarray) -> None:
        self._space, self._sides = space, sides
        values = space.n_values
        self._separate = {
            i: axis for i, (_, axis) in enumerate(space.axes) if isinstance(axis, SeparateAxis)
        }
        self._first = [axis.run(0.0, 1.0)[0] for axis in self._separate.values()]
        self.starts = (values - sides + 1)[list(self._separate)].astype(int).tolist()
        lower, upper = space.bounds.T
        last = np.maximum(upper - sides, lower)
        self.free = np.flatnonzero((last > lower) & (values == 0))
        self.room = np.column_stack([lower, last])[self.free]
        in_cell = np.where(values > 0, sides, np.inf)
        self.counts = points_per_side(space, in_cell)
        self._few = tuple(
            min(n, defaults.N_FEW_POINTS) if i not in self._separate else n
            for i, n in enumerate(self.counts)
        )

    def corners(self, run: tuple[int, ...], place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper corner of the cell at a place."""
        lower, limit = self._space.bounds.T.copy()
        lower[self.free] = place
        upper = np.minimum(lower + self._sides, limit)
        for (i, axis), first, start in zip(self._separate.items(), self._first, run, strict=True):
            begin = first + start
            end = begin + int(self._sides[i])
            lower[i] = axis.edge(begin) if start else 0.0
            upper[i] = axis.edge(end) if end <= axis.run(0.0, 1.0)[1] else 1.0
        return lower, upper

    def points(self, run: tuple[int, ...], place: np.ndarray) -> np.ndarray:
        """Return some points (n, d) of the cell at a place, for comparisons with others."""
        return representatives_within(self._space, *self.corners(run, place), self._few)

    def around(self, centers: np.ndarray) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """Return the places of the cells around some points (n, d)."""
        places = np.clip((centers - 0.5 * self._sides)[:, self.free], *self.room.T)
        separate = zip(self._separate.items(), self._first, strict=True)
        runs = [
            first_values(axis, centers[:, i], int(self._sides[i])) - first
            for (i, axis), first in separate
        ]
        along = np.array(runs).reshape(-1, len(centers)).T.tolist()
        return list(zip(map(tuple, along), places, strict=True))

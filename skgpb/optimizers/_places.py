"""Means of the nearest answers where there is no model, and the best cell of a given size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from skgpb._core._ties import argmax_first, exceeds, levelled, size_of
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Region
from skgpb.domains.candidates import spread_points
from skgpb.domains.partition import points_per_axis
from skgpb.domains.space import ParameterSpace
from skgpb.domains.value_ranges import Placed
from skgpb.kernels._boxes import representatives
from skgpb.utils.validation import check_numbers, keyed

# -- Means of the nearest answers ------------------------------------------------------------------


def nearest_means(
    X: np.ndarray,
    boxes: Sequence[np.ndarray],
    values: Sequence[float],
    bounds: np.ndarray,
    space: ParameterSpace | None,
) -> np.ndarray:
    """Return the mean value of the smallest box nearest to each point.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Points.
    boxes : sequence of m ndarrays of shape (2 d,)
        Observed boxes [lower, upper], at least one; values of equal boxes are averaged.
    values : sequence of m floats
        Observed values of the boxes.
    bounds : ndarray of shape (d, 2)
        The domain, whose sides are the units of distance.
    space : ParameterSpace or None
        Names of its sides.

    Returns
    -------
    means : ndarray of shape (n,)
    """
    d, side = len(bounds), bounds[:, 1] - bounds[:, 0]
    side = np.where(side > 0, side, 1.0)
    told: dict[bytes, list[float]] = {}
    for box, value in zip(boxes, values, strict=True):
        told.setdefault(box.tobytes(), []).append(value)
    corners = np.array([np.frombuffer(box) for box in told])
    means = np.array([np.mean(each) for each in told.values()])
    volume = np.prod((corners[:, d:] - corners[:, :d]) / side, axis=1)
    order = np.argsort(volume, kind="stable")
    corners, means = corners[order], means[order]
    if space is not None:
        X = space.snap(X)
    low, high = corners[:, :d], corners[:, d:]
    nearest = [
        np.argmin((np.maximum(np.maximum(low - x, x - high), 0.0) / side).sum(axis=1)) for x in X
    ]
    return means[nearest]


# -- The best cell of a given size, at any place ---------------------------------------------------

#: Sides of a cell: one for all, one for each, or by name.
SideLengths = float | Sequence[float] | np.ndarray | Mapping[str, float]
#: Returns the scores of several cells, given the points (S, d) of each.
Worth = Callable[[list[np.ndarray]], np.ndarray]

# Memory: points, and cells of at most 100 points each, at a time.
POINTS_AT_A_TIME, CELLS_AT_A_TIME = 3200, 32
# Accuracy: positions that are compared before the best are improved, sweeps over the neighbours of
# the best run of separate values, and neighbours along one side.
N_PLACES, N_SWEEPS, N_BESIDE = 512, 3, 32


def checked_sides(side: Any, bounds: np.ndarray, space: ParameterSpace | None) -> np.ndarray:
    """Return the side lengths (d,) of a cell, from one number, d numbers or a dict.

    The length of an integer or categorical side is a number of values, by default 1.
    """
    if space is not None and space.feasible is not None:
        raise ValueError(
            f"side must be None if the box has constraints: a cell would violate them; got {side!r}"
        )
    d, extent = len(bounds), bounds[:, 1] - bounds[:, 0]
    values = np.zeros(d, dtype=np.intp) if space is None else space.n_values
    side = side if space is None else keyed(side, space.names)
    if isinstance(side, Mapping):
        side = _sides_from_dict(side, space, values)
    elif values.any() and np.ndim(side) == 0:
        if values.all():
            raise ValueError(
                "side must be a dict with the number of values of each side, such as {'n': 3}, "
                f"because no side is continuous; got {side!r}"
            )
        side = np.where(values > 0, 1, side)
    sides = check_numbers(side, "side", ensure_2d=False) if np.ndim(side) else np.array([side])
    if sides.dtype.kind not in "fiu" or sides.shape not in ((1,), (d,)):
        raise ValueError(f"side must be a number, or one for each of {d} dimensions, got {side!r}")
    sides = np.broadcast_to(sides.astype(np.float64), (d,))
    whole = sides == np.floor(sides)
    if not (whole & (sides >= 1) & (sides <= values))[values > 0].all():
        raise ValueError(
            "side must be an integer >= 1 where sides have separate values, and at most their "
            f"numbers {values[values > 0].tolist()}, got {side!r}"
        )
    if not ((sides > 0.0) & (sides <= extent))[values == 0].all():
        raise ValueError(
            "side must be above 0 and no longer than the box, or than 1, the whole of a log scale: "
            f"{[float(each) for each in extent[values == 0]]}, got {side!r}"
        )
    return sides


def _sides_from_dict(side: Mapping, space: ParameterSpace | None, values: np.ndarray) -> list[Any]:
    """Return the sides of a dict; integer and categorical sides default to single values."""
    if space is None:
        raise ValueError(
            f"side must be a number or several numbers if sides have no names; got {side!r}"
        )
    names = space.names
    needed = [name for name, n in zip(names, values, strict=True) if not n]
    if not set(needed) <= set(side) <= set(names):
        others = [name for name in names if name not in needed]
        also = f" and may have a number of values for {others}" if others else ""
        raise ValueError(f"side must have a number for each of {needed}{also}, got {side!r}")
    return [side.get(name, 1) for name in names]


def averages(values: Callable[[np.ndarray], np.ndarray], cells: list[np.ndarray]) -> np.ndarray:
    """Return the average of ``values`` over each cell; points shared by cells count once."""
    points, which = np.unique(np.concatenate(cells), axis=0, return_inverse=True)
    begins = range(0, len(points), POINTS_AT_A_TIME)
    found = np.concatenate([values(points[i : i + POINTS_AT_A_TIME]) for i in begins])
    sizes = np.array([len(cell) for cell in cells])
    return np.add.reduceat(found[which.ravel()], np.cumsum(sizes) - sizes) / sizes


def place_best_cell(
    worth: Worth,
    seen: np.ndarray,
    bounds: np.ndarray,
    sides: np.ndarray,
    space: ParameterSpace | None = None,
) -> Region:
    """Return the cell of given side lengths with the highest score.

    Positions that fill the box, and positions around the observed points, are compared; the best of
    them are improved by local searches.

    Parameters
    ----------
    worth : callable
        Returns the scores of cells, such as the posterior means of their averages.
    seen : ndarray of shape (n, d)
        Observed points.
    bounds : ndarray of shape (d, 2)
        The box.
    sides : ndarray of shape (d,)
        Sides of the cell.
    space : ParameterSpace, default=None
        Names and scales of the sides of the box.
    """
    if space is not None and space.uses_columns:
        return _place_mixed_cell(worth, seen, Placed(space, sides)).with_names(space)
    lower, d = bounds[:, 0], len(bounds)
    counts = points_per_axis(None, d)
    offsets = representatives(np.zeros(d), sides, counts)
    # The lower corner moves in a box of its own, except along sides as long as the domain.
    last = np.maximum(bounds[:, 1] - sides, lower)
    free = np.flatnonzero(last > lower)
    room = np.column_stack([lower, last])[free]

    def value(places: np.ndarray) -> np.ndarray:
        """Return the scores of cells whose lower corners have free coordinates (n, n_free)."""
        corners = np.tile(lower, (len(places), 1))
        corners[:, free] = places
        return worth([corner + offsets for corner in corners])

    corner = lower.copy()
    if len(free):
        around = seen[-N_PLACES:] - 0.5 * sides
        places = np.clip(around[:, free], *room.T)
        places = np.concatenate([spread_points(room, N_PLACES, np.full(len(free), 0.5)), places])
        values = value(places)
        # Ties are relative to the variation of the averages, not to their absolute size.
        low, unit = values.min(), size_of(values - values.min())
        corner[free] = places[argmax_first(values - low)]
        starts = places[best_apart(places, values - low, room)]
        best, top = maximise_in_box(lambda P: value(P) - low, starts, room, unit)
        if exceeds(top, values.max() - low, unit):
            corner[free] = best
    return Region(corner, np.minimum(corner + sides, bounds[:, 1]), counts).with_names(space)


def neighbour_starts(start: int, n: int) -> list[int]:
    """Return the starts beside ``start`` and some of the other n, without ``start``."""
    others = {*range(start - 2, start + 3), *range(0, n, -(-n // N_BESIDE))}
    return sorted(other for other in others if 0 <= other < n and other != start)


def _place_mixed_cell(worth: Worth, seen: np.ndarray, placed: Placed) -> Region:
    """Place a region if some sides are integers or categories: first choose their values."""
    starts, free, room = placed.starts, placed.free, placed.room

    def value(run: tuple[int, ...], places: np.ndarray) -> np.ndarray:
        return worth([placed.points(run, place) for place in places])

    # Runs of values that are compared: all, or a part and the observed ones.
    sizes = [range(n) for n in starts]
    if np.prod(starts, dtype=float) <= N_PLACES:
        runs = list(product(*sizes))
    else:
        box = np.column_stack([np.zeros(len(starts)), starts])
        runs = list(map(tuple, spread_points(box, N_PLACES, np.full(len(starts), 0.5)).astype(int)))
    each = max(4, N_PLACES // len(runs)) if len(free) else 1
    places = spread_points(room, each, np.full(len(free), 0.5)) if len(free) else np.empty((1, 0))
    known = dict.fromkeys(runs, places)
    for run, place in placed.around(seen[-N_PLACES:]):
        known[run] = np.concatenate([known.get(run, places), place[None]])
    every = worth([placed.points(run, place) for run, some in known.items() for place in some])
    low = every.min()
    every = every - low
    unit = size_of(every)
    ends = np.cumsum([len(some) for some in known.values()])
    values = dict(zip(known, np.split(every, ends[:-1]), strict=True))
    tops = levelled(np.array([found.max() for found in values.values()]))
    run = list(values)[int(np.argmax(tops))]

    def polish(run: tuple[int, ...], some: np.ndarray, found: np.ndarray) -> tuple[Any, float]:
        """Return the best position of a run and its score, starting from the best evaluated."""
        first, top = some[argmax_first(found)], float(found.max())
        if len(free):
            begin = some[best_apart(some, found, room)[:2]]
            best, height = maximise_in_box(lambda P: value(run, P) - low, begin, room, unit)
            if exceeds(height, top, unit):
                return best, height
        return first, top

    place, top = polish(run, known[run], values[run])
    for _ in range(N_SWEEPS):
        beside = [
            (*run[:i], j, *run[i + 1 :])
            for i, n in enumerate(starts)
            for j in neighbour_starts(run[i], n)
        ]
        if not beside:
            break
        found = worth([placed.points(other, place) for other in beside]) - low
        if not exceeds(found.max(), top, unit):
            break
        run = beside[argmax_first(found)]
        place, top = polish(run, place[None], found.max()[None])
    return Region(*placed.corners(run, place), placed.counts)

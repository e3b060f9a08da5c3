"""Cells of sizes that the user names, wherever they lie in a box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import LOCAL_SHARE, N_CENTERS, Arm, ArmSet
from skgpb.domains.candidates import GRID_DIMENSIONS, points_near, spread_points
from skgpb.domains.first_design import first_points
from skgpb.domains.query import PointsQuery
from skgpb.domains.size_range import SidesBetween, SizeRange
from skgpb.domains.space import Axis, ParameterSpace
from skgpb.utils import check_inside

# Sizes that differ by less than this share of the box are the same.
SAME_SIZE = 1e-9
# So many cells move in a round.
N_MOVED = 16
# Sizes are frequent that have so many boxes, and so many at most.
FEWEST, MOST_SIZES = 8, 11


class Cells:
    """Cells of one size or of several, wherever they lie in the box.

    It says what can be asked, or what is to be found, to an optimizer that takes ``queries`` and
    ``targets``, such as :class:`~skgpb.KGOptimizer`.

    Parameters
    ----------
    sizes : float or dict, a list of sizes, or SizeRange
        The sides of a cell, in units of ``bounds``: one number for all dimensions, a tuple of d
        numbers, or a dict by the names of the sides. A list has several sizes. 0 stands for points.
        Of a side of separate values, integers or categories, it is how many of them follow each
        other in the cell: one, unless a tuple or a dict says otherwise. Of a logarithmic side it is
        the share of its length. For ``queries`` a :class:`SizeRange` has all sizes between two.
    improved : bool, default=False
        For ``queries``: whether the cell that is worth most among those that stand for all is moved
        to where it is worth more before it is asked, and where sizes are a range also made as large
        or as small as is worth most; in no context. A round takes two to five times as long, and
        regret was not lower by more than chance (decisions D-H24 and D-H29).

    Examples
    --------
    >>> from skgpb.domains import Cells
    >>> Cells([0.1, 0.4])  # squares, in two dimensions
    Cells([0.1, 0.4])
    >>> Cells((0.1, 0.4))  # one rectangle
    Cells((0.1, 0.4))
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("sizes", "improved")

    sizes: Any

    def __init__(self, sizes: Any, improved: bool = False) -> None:
        if isinstance(sizes, list) and not sizes:
            raise ValueError("sizes must not be empty")
        if isinstance(sizes, SizeRange) and type(self) is not Cells:
            raise ValueError(
                f"{type(self).__name__} must have one size or a list of them, no range; got {sizes}"
            )
        if not isinstance(improved, bool):
            raise ValueError(f"improved must be True or False, got {improved!r}")
        self.sizes = sizes
        self.improved = improved

    def sides(
        self, bounds: np.ndarray, space: ParameterSpace | None, name: str = "Cells"
    ) -> np.ndarray:
        """Return the sides (n_sizes, d) of the cells in a box, or raise ValueError.

        Of a range some, which stand for all.

        Parameters
        ----------
        bounds : ndarray of shape (d, 2)
            The box.
        space : ParameterSpace or None
            What its sides are called.
        name : str, default="Cells"
            What errors call them.
        """
        between = self.between(bounds, space, name)
        if between is not None:
            return between.spread()
        sizes = self.sizes if isinstance(self.sizes, list) else [self.sizes]
        return np.array([self._sides_of(size, bounds, space, name) for size in sizes])

    def between(
        self, bounds: np.ndarray, space: ParameterSpace | None, name: str = "Cells"
    ) -> SidesBetween | None:
        """Return the range of the sides, None where sizes are listed; parameters as of `sides`."""
        given = self.sizes
        if not isinstance(given, SizeRange):
            return None
        if name == "targets":
            raise ValueError(
                f"targets must have one size or a list of them, no range, of which the smallest "
                f"cells have the largest averages; got {self!r}"
            )
        ends = (given.shortest, given.longest)
        shortest, longest = (self._sides_of(size, bounds, space, name) for size in ends)
        separate = np.zeros(len(bounds), dtype=bool) if space is None else space.n_values > 0
        if (shortest != longest)[separate].any():
            raise ValueError(
                f"sizes of {name} must be the same at both ends of a range where sides have "
                f"separate values, got {given!r}"
            )
        if not ((shortest == longest) | ((shortest > 0.0) & (shortest < longest))).all():
            raise ValueError(
                f"sizes of {name} must have no side longer in the shortest cell than in the "
                f"longest, nor one of 0 that is longer in the longest; got {given!r}"
            )
        return SidesBetween(shortest, longest, given.proportional)

    def _sides_of(
        self, size: Any, bounds: np.ndarray, space: ParameterSpace | None, name: str
    ) -> np.ndarray:
        d, names = len(bounds), [] if space is None else space.names
        values = np.zeros(d, dtype=np.intp) if space is None else space.n_values
        separate = values > 0
        given = size
        if isinstance(size, Mapping):
            if not names:
                raise ValueError(
                    f"sizes of {name} must be numbers where the sides of bounds have no names; got "
                    f"{size!r}"
                )
            needed = [name for name, n in zip(names, values, strict=True) if not n]
            if not set(needed) <= set(size) <= set(names):
                raise ValueError(
                    f"sizes of {name} must have a number for each of {needed or names}, got "
                    f"{size!r}"
                )
            size = [size.get(name, 1) for name in names]
        elif separate.any() and np.ndim(size) == 0 and size != 0:
            if separate.all():
                raise ValueError(
                    f"sizes of {name} must say of how many values a cell is, by names among "
                    f"{names}; got {size!r}"
                )
            size = np.where(separate, 1, size)
        sides = np.asarray(size)
        if sides.dtype.kind not in "fiu" or sides.shape not in ((), (d,)):
            raise ValueError(
                f"sizes of {name} must be numbers, or tuples of {d} numbers, one for each side of "
                f"the box; got {given!r}"
            )
        sides = np.broadcast_to(sides.astype(np.float64), (d,))
        extent = np.where(separate, values, bounds[:, 1] - bounds[:, 0])
        if not ((sides >= 0.0) & (sides <= extent))[~separate].all():
            raise ValueError(
                f"sizes of {name} must be at least 0 and no longer than the box, "
                f"{extent[~separate].tolist()}, got {given!r}"
            )
        if space is None or not separate.any():
            return sides
        whole = (sides == np.floor(sides)) & (sides >= 0.0) & (sides <= extent)
        if not whole[separate].all():
            raise ValueError(
                f"sizes of {name} must be integers >= 1 where sides have separate values, and at "
                f"most their numbers {values[separate].tolist()}, got {given!r}"
            )
        for i in np.flatnonzero(separate & (sides > 1)):
            check_even(space, int(i), name)
        # A single setting is a point, however it is said.
        is_point = (sides <= separate).all()
        return np.zeros(d) if is_point else np.where(separate, np.maximum(sides, 1.0), sides)

    def __repr__(self) -> str:
        return f"Cells({self.sizes!r}{', improved=True' if self.improved else ''})"

    def __eq__(self, other: object) -> bool:
        return type(other) is Cells and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


class FreeCells(ArmSet):
    """Finitely many cells that stand for all of some sizes in a box.

    Of each size as many. Most fill the box evenly; in up to three dimensions a quarter, beyond
    half of them, follow what is known: they lie where the best targets do, and around, at distances
    of every order of magnitude.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes, d)
        Their sides; 0 for points.
    bounds : ndarray of shape (d, 2)
        The box.
    n : int
        How many cells stand for all, of all sizes together.
    counts : tuple of d ints or None
        Representatives of a cell along each axis; None where all are points and rows as well.
    seed : list of int
        Seeds those that fill the box.
    space : ParameterSpace, default=None
        What the sides of the box are called; None where they have no names.

    Attributes
    ----------
    rows : ndarray of shape (n, n_columns)
        The present cells.
    size_of : ndarray of shape (n,)
        The number of the size of each.
    free : ndarray of shape (d,)
        Which sides of the box a cell moves along continuously.
    """

    #: What has a price and a noise variance of its own.
    kind = "size of cells"

    def __init__(
        self,
        sizes: np.ndarray,
        bounds: np.ndarray,
        n: int,
        counts: tuple[int, ...] | None,
        seed: list[int],
        space: ParameterSpace | None = None,
    ) -> None:
        super().__init__(np.empty((0, len(bounds))), bounds, counts, space)
        self.sizes = sizes
        # Which sides have separate values, and their axes.
        axes = [] if space is None else [axis for _, axis in space.axes]
        self._separate: dict[int, Axis] = {i: axis for i, axis in enumerate(axes) if axis.discrete}
        self.free: np.ndarray = np.array([i not in self._separate for i in range(len(bounds))])
        self._rooms = [self._room_of(side) for side in sizes]
        each = max(n // len(sizes), 2 * N_CENTERS)
        fills = len(bounds) <= GRID_DIMENSIONS
        self._n_local = each // (LOCAL_SHARE if fills else 2)
        self.size_of: np.ndarray = np.repeat(np.arange(len(sizes)), each)
        if space is not None and self._separate and not sizes.any() and space.n_settings <= each:
            # All settings stand for themselves, and none has to move.
            self._n_local = 0
            settings = space.every_point()
            each = len(settings)
            self.size_of = np.repeat(np.arange(len(sizes)), each)
            parts = [self.placed(settings, number) for number in range(len(sizes))]
        else:
            parts = []
            for number in range(len(sizes)):
                shift = np.random.default_rng([*seed, number, 3]).random(len(bounds))
                parts.append(self.placed(spread_points(self.room(number), each, shift), number))
        self.rows: np.ndarray = np.concatenate(parts)
        # The one that moves next of each size, once all of them have moved.
        self._next = -1
        # Which sizes the first design is of.
        self.first_sizes: np.ndarray = np.arange(len(sizes))
        self.moving: np.ndarray = np.flatnonzero(
            np.tile(np.arange(each) >= each - self._n_local, len(sizes))
        )

    def room(self, number: int) -> np.ndarray:
        """Box (d, 2) of the centres of cells of a size."""
        return self._rooms[number]

    def _room_of(self, sides: np.ndarray) -> np.ndarray:
        lower, upper = self.bounds.T
        half = np.minimum(0.5 * sides, 0.5 * (upper - lower)) * self.free
        return np.column_stack([lower + half, upper - half])

    def placed(self, centers: np.ndarray, number: int) -> np.ndarray:
        """Descriptor rows of cells of a size at these centres."""
        if self.counts is None:
            return centers if self.space is None else self.space.snapped(centers)
        half = 0.5 * self.sizes[number] * self.free
        low, high = self.bounds.T
        lower, upper = np.maximum(centers - half, low), np.minimum(centers + half, high)
        for i, axis in self._separate.items():
            runs = runs_around(axis, centers[:, i], int(self.sizes[number, i]))
            lower[:, i], upper[:, i] = runs.T
        return np.hstack([lower, upper])

    def _where_it_lies(self, centers: np.ndarray, number: int) -> np.ndarray:
        """Centres (n, d) of the cells of a size that are placed at these centres."""
        centers = np.clip(centers, *self.room(number).T)
        return self.places_of(self.placed(centers, number)) if self._separate else centers

    def follow_anew(self) -> None:
        """Let all cells that follow what is known move when cells move next."""
        self._next = -1

    def move(self, centers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Let some cells lie at and around ``centers`` (k, d); which rows they are.

        At first all that follow what is known move, and later N_MOVED at a time, in turn. Of the
        centers those are taken where no cell of the size lies yet.
        """
        if not self._n_local:
            return self.moving
        rows = self.rows.copy()
        moved = []
        each = self._n_local if self._next < 0 else -(-N_MOVED // len(self.sizes))
        each = min(each, self._n_local)
        turn = (max(self._next, 0) + np.arange(each)) % self._n_local
        self._next = (max(self._next, 0) + each) % self._n_local
        places = self.places_of(rows)
        for number, local in enumerate(np.split(self.moving, len(self.sizes))):
            slots, room = local[turn], self.room(number)
            stays = self.size_of == number
            stays[slots] = False
            at = self._where_it_lies(centers, number)
            others, same = places[stays], np.ones((len(at), np.count_nonzero(stays)), dtype=bool)
            for axis, (low, high) in enumerate(room):  # faster than over the last of three axes
                away = np.abs(others[:, axis] - at[:, axis, np.newaxis])
                same &= away <= SAME_SIZE * (high - low)
            new = at[~same.any(axis=1)][: -(-each // 2)]
            around = points_near(room, at, each - len(new), rng)
            rows[slots] = self.placed(np.concatenate([new, around]), number)
            moved.append(slots)
        self.rows = rows
        return np.concatenate(moved)

    def put(self, query: Arm | PointsQuery) -> int:
        """Let a cell of some size lie where a query does, of any size, and return which row.

        It is the next of those that move, which it is left to stand for until it does; -1 where
        none moves.
        """
        if not self._n_local:
            return -1
        number = max(self.number_of_size(query), 0)
        local = np.split(self.moving, len(self.sizes))[number]
        slot = int(local[(max(self._next, 0) - 1) % self._n_local])
        self.rows = self.rows.copy()
        self.rows[slot] = self.block_of(query)[0]
        return slot

    def arm(self, slot: int) -> Arm:
        """Return the query of a row; it has no number, for cells come and go."""
        return self.query_of(-1, self.rows[slot].copy())

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Arm | None:
        """Of n cells of ``first_sizes`` in turn the one farthest from ``known``.

        They fill the room that the centres of their size have.
        """
        places = first_points(self.bounds, n, seed, len(failed))
        numbers = self.first_sizes[np.arange(len(places)) % len(self.first_sizes)]
        lower, side = self.bounds[:, 0], self.bounds[:, 1] - self.bounds[:, 0]
        for number in self.first_sizes:
            chosen, room = numbers == number, self.room(int(number))
            share = (room[:, 1] - room[:, 0]) / np.where(side > 0.0, side, 1.0)
            at = room[:, 0] + share * (places[chosen] - lower)
            places[chosen] = self._where_it_lies(at, int(number))
        i = self._next_place(places, n, known, failed)
        if i is None:
            return None
        return self.query_of(-1, self.placed(places[i : i + 1], int(numbers[i]))[0])

    def sides_of_rows(self) -> np.ndarray:
        """Sides (n, d) of all rows, as ``sizes`` has them."""
        return self.sizes[self.size_of]

    def sides_of(self, query: Arm | PointsQuery) -> np.ndarray | None:
        """Return the sides (d,) of a query, None if it is of none of the sizes."""
        number = self.number_of_size(query)
        return None if number < 0 else self.sizes[number]

    def sizes_like(self, sizes: np.ndarray) -> np.ndarray:
        """Return the numbers of the sizes that are among ``sizes`` (n, d)."""
        return np.flatnonzero(are_among(self.sizes, sizes, self.bounds))

    def number_of_size(self, query: Arm | PointsQuery) -> int:
        """Return the number of the size of a query, -1 if it has none of the sizes."""
        return self.nearest_size(query, np.arange(len(self.sizes)))

    def nearest_size(self, query: Arm | PointsQuery, numbers: np.ndarray) -> int:
        """Return which of some sizes (k,) a query has, -1 if none of them."""
        unit = self.bounds[:, 1] - self.bounds[:, 0]
        sides, sizes = self._sides_in(query), self.sizes[numbers]
        if self._separate:
            # Numbers of values, of which a point has one.
            sizes = np.where(self.free, sizes, np.maximum(sizes, 1.0))
            unit = np.where(self.free, unit, 1.0)
        away = (np.abs(sizes - sides) / unit).max(axis=1)
        nearest = int(np.argmin(away))
        return nearest if away[nearest] <= SAME_SIZE else -1

    def _sides_in(self, query: Arm | PointsQuery) -> np.ndarray:
        """Sides (d,) of a query, whatever they are: numbers of values where these are separate."""
        lower, upper = np.split(query.box, 2)
        sides = upper - lower
        for i, axis in self._separate.items():
            first, last = axis.run(lower[i], upper[i])
            sides[i] = last - first + 1
        return sides

    def _knows(self, query: Arm) -> bool:
        d = len(self.bounds)
        width = d if self.counts is None else 2 * d
        if query.index != -1 or query.counts != self.counts or len(query.descriptor) != width:
            return False
        check_inside(np.stack([query.lower, query.upper]), self.bounds)
        return True


def are_among(sizes: np.ndarray, others: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return which sizes (n, d) of cells in a box are some of others (k, d), shape (n,)."""
    side = bounds[:, 1] - bounds[:, 0]
    away = np.abs(sizes[:, np.newaxis] - others) / np.where(side > 0.0, side, 1.0)
    return away.max(axis=2).min(axis=1) <= SAME_SIZE


def check_even(space: ParameterSpace, i: int, name: str) -> None:
    """Raise ValueError unless every value of a side has as much of its coordinates."""
    side, axis = space.axes[i]
    first, last = axis.run(0.0, 1.0)
    middles = axis.middles_of(np.arange(first, last + 1))
    if not np.allclose(np.diff(middles), 1.0 / (last - first + 1), rtol=0.0, atol=SAME_SIZE):
        raise ValueError(
            f"sizes of {name} must be 1 for {side!r}, of which some values are more frequent than "
            "others: give a list of its values to have cells of several"
        )


def runs_around(axis: Axis, u: np.ndarray, k: int) -> np.ndarray:
    """Ends (n, 2) of runs of k values around coordinates (n,); of one, or none, its middle."""
    if k <= 1:
        return np.repeat(axis.snapped(u)[:, np.newaxis], 2, axis=1)
    first, last = axis.run(0.0, 1.0)
    numbers = np.array([axis.run(x, x)[0] for x in u.tolist()], dtype=np.intp)
    begins = np.clip(numbers - (k - 1) // 2, first, last + 1 - k)
    ends = [
        (axis.edge(n) if n > first else 0.0, axis.edge(n + k) if n + k <= last else 1.0)
        for n in begins.tolist()
    ]
    return np.array(ends).reshape(-1, 2)


def points_in_runs(sizes: np.ndarray, counts: tuple[int, ...], space: Any) -> tuple[int, ...]:
    """Representatives of cells along each side, so many that every value of a run has as many.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes, d)
        Of all cells.
    counts : tuple of d ints
        Representatives along continuous sides.
    space : ParameterSpace
        The box.
    """
    runs = np.lcm.reduce(np.maximum(sizes, 1.0).astype(np.intp), axis=0).tolist()
    values = space.n_values.tolist()
    return tuple(r if n else c for r, n, c in zip(runs, values, counts, strict=True))


def frequent_sizes(boxes: np.ndarray) -> np.ndarray:
    """Sides (n_sizes, d) that many of some boxes have, and those of a point."""
    lower, upper = np.split(boxes, 2, axis=1)
    # What boxes at several places have in common differs by rounding.
    sides = (upper - lower).round(12)
    sizes, first, counts = np.unique(sides, axis=0, return_index=True, return_counts=True)
    chosen = np.argsort(-counts, kind="stable")[:MOST_SIZES]
    chosen = chosen[(counts[chosen] >= FEWEST) & (sizes[chosen] > 0.0).any(axis=1)]
    return np.concatenate([np.zeros((1, sizes.shape[1])), (upper - lower)[first[chosen]]])

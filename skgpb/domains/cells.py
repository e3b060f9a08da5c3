"""Cells of sizes that the user names, wherever they lie in a box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import LOCAL_SHARE, N_CENTERS, Arm, ArmSet
from skgpb.domains.candidates import GRID_DIMENSIONS, points_near, spread_points
from skgpb.domains.first_design import first_points
from skgpb.domains.query import PointsQuery
from skgpb.domains.space import ParameterSpace
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
    sizes : float or dict, or a list of sizes
        The sides of a cell, in units of ``bounds``: one number for all dimensions, a tuple of d
        numbers, or a dict by the names of the sides. A list has several sizes. 0 stands for points.

    Examples
    --------
    >>> from skgpb.domains import Cells
    >>> Cells([0.1, 0.4])  # squares, in two dimensions
    Cells([0.1, 0.4])
    >>> Cells((0.1, 0.4))  # one rectangle
    Cells((0.1, 0.4))
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("sizes",)

    def __init__(self, sizes: Any) -> None:
        if isinstance(sizes, list) and not sizes:
            raise ValueError("sizes must not be empty")
        self.sizes = sizes

    def sides(
        self, bounds: np.ndarray, space: ParameterSpace | None, name: str = "Cells"
    ) -> np.ndarray:
        """Return the sides (n_sizes, d) of the cells in a box, or raise ValueError.

        Parameters
        ----------
        bounds : ndarray of shape (d, 2)
            The box.
        space : ParameterSpace or None
            What its sides are called.
        name : str, default="Cells"
            What errors call them.
        """
        sizes = self.sizes if isinstance(self.sizes, list) else [self.sizes]
        return np.array([self._sides_of(size, bounds, space, name) for size in sizes])

    def _sides_of(
        self, size: Any, bounds: np.ndarray, space: ParameterSpace | None, name: str
    ) -> np.ndarray:
        d, names = len(bounds), [] if space is None else space.names
        if isinstance(size, Mapping):
            if set(size) != set(names):
                raise ValueError(
                    f"sizes of {name} must have a number for each of {names}, got {size!r}"
                )
            size = [size[name] for name in names]
        sides = np.asarray(size)
        if sides.dtype.kind not in "fiu" or sides.shape not in ((), (d,)):
            raise ValueError(
                f"sizes of {name} must be numbers, or tuples of {d} numbers, one for each side of "
                f"the box; got {size!r}"
            )
        extent = bounds[:, 1] - bounds[:, 0]
        sides = np.broadcast_to(sides.astype(np.float64), (d,))
        if not ((sides >= 0.0) & (sides <= extent)).all():
            raise ValueError(
                f"sizes of {name} must be at least 0 and no longer than the box, "
                f"{extent.tolist()}, got {size!r}"
            )
        return sides

    def __repr__(self) -> str:
        return f"Cells({self.sizes!r})"

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
        each = max(n // len(sizes), 2 * N_CENTERS)
        fills = len(bounds) <= GRID_DIMENSIONS
        self._n_local = each // (LOCAL_SHARE if fills else 2)
        self.size_of: np.ndarray = np.repeat(np.arange(len(sizes)), each)
        parts = []
        for number in range(len(sizes)):
            shift = np.random.default_rng([*seed, number, 3]).random(len(bounds))
            parts.append(self.placed(spread_points(self.room(number), each, shift), number))
        self.rows: np.ndarray = np.concatenate(parts)
        # The one that moves next of each size, once all of them have moved.
        self._next = -1
        self.moving: np.ndarray = np.flatnonzero(
            np.tile(np.arange(each) >= each - self._n_local, len(sizes))
        )

    def room(self, number: int) -> np.ndarray:
        """Box (d, 2) of the centres of cells of a size."""
        lower, upper = self.bounds.T
        half = np.minimum(0.5 * self.sizes[number], 0.5 * (upper - lower))
        return np.column_stack([lower + half, upper - half])

    def placed(self, centers: np.ndarray, number: int) -> np.ndarray:
        """Descriptor rows of cells of a size at these centres."""
        if self.counts is None:
            return centers
        half = 0.5 * self.sizes[number]
        lower, upper = self.bounds.T
        return np.hstack([np.maximum(centers - half, lower), np.minimum(centers + half, upper)])

    def move(self, centers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Let some cells lie at and around ``centers`` (k, d); which rows they are.

        At first all that follow what is known move, and later N_MOVED at a time, in turn. Of the
        centers those are taken where no cell of the size lies yet.
        """
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
            at = np.clip(centers, *room.T)
            near = np.abs(places[stays] - at[:, np.newaxis]) <= SAME_SIZE * np.ptp(room, axis=1)
            new = at[~near.all(axis=2).any(axis=1)][: -(-each // 2)]
            around = points_near(room, at, each - len(new), rng)
            rows[slots] = self.placed(np.concatenate([new, around]), number)
            moved.append(slots)
        self.rows = rows
        return np.concatenate(moved)

    def put(self, query: Arm | PointsQuery) -> int:
        """Let a cell of some size lie where a query does, of any size, and return which row.

        It is the next of those that move, which it is left to stand for until it does.
        """
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
        """Of n cells that fill the box, of all sizes in turn, the one farthest from ``known``."""
        places = first_points(self.bounds, n, seed, len(failed))
        numbers = np.arange(len(places)) % len(self.sizes)
        for number in range(len(self.sizes)):
            chosen = numbers == number
            places[chosen] = np.clip(places[chosen], *self.room(number).T)
        i = self._next_place(places, n, known, failed)
        if i is None:
            return None
        return self.query_of(-1, self.placed(places[i : i + 1], int(numbers[i]))[0])

    def number_of_size(self, query: Arm | PointsQuery) -> int:
        """Return the number of the size of a query, -1 if it has none of the sizes."""
        return self.nearest_size(query, np.arange(len(self.sizes)))

    def nearest_size(self, query: Arm | PointsQuery, numbers: np.ndarray) -> int:
        """Return which of some sizes (k,) a query has, -1 if none of them."""
        side = self.bounds[:, 1] - self.bounds[:, 0]
        lower, upper = np.split(query.box, 2)
        away = (np.abs(self.sizes[numbers] - (upper - lower)) / side).max(axis=1)
        nearest = int(np.argmin(away))
        return nearest if away[nearest] <= SAME_SIZE else -1

    def _knows(self, query: Arm) -> bool:
        d = len(self.bounds)
        width = d if self.counts is None else 2 * d
        if query.index != -1 or query.counts != self.counts or len(query.descriptor) != width:
            return False
        check_inside(np.stack([query.lower, query.upper]), self.bounds)
        return True


def frequent_sizes(boxes: np.ndarray) -> np.ndarray:
    """Sides (n_sizes, d) that many of some boxes have, and those of a point."""
    lower, upper = np.split(boxes, 2, axis=1)
    # What boxes at several places have in common differs by rounding.
    sides = (upper - lower).round(12)
    sizes, first, counts = np.unique(sides, axis=0, return_index=True, return_counts=True)
    chosen = np.argsort(-counts, kind="stable")[:MOST_SIZES]
    chosen = chosen[(counts[chosen] >= FEWEST) & (sizes[chosen] > 0.0).any(axis=1)]
    return np.concatenate([np.zeros((1, sizes.shape[1])), (upper - lower)[first[chosen]]])

"""Finitely many arms, those that stand for a box among them, and the query that is one of them.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Assumption 1, Theorem 2.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, sqrt
from typing import ClassVar

import numpy as np

from skgpb.domains.candidates import (
    GRID_DIMENSIONS,
    even_grid,
    largest_first,
    points_near,
    spread_points,
)
from skgpb.domains.first_design import first_members, first_points, next_place
from skgpb.domains.query import PointsQuery, Query
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._boxes import boxes_from_points
from skgpb.utils import check_inside

# Of the candidates in a box, one in so many follows the posterior, around so many centers.
LOCAL_SHARE, N_CENTERS = 4, 5
# Assumption 1 is taken with a = 1; the slope is probed at so many points over this step.
N_PROBES, PROBE_STEP = 16, 1e-4


class Arm(Query):
    """One arm, immutable and hashable; ``np.asarray(arm)`` gives :attr:`points`.

    Attributes
    ----------
    index : int
        Row of the arm in ``arms``; -1 for a point of a continuous domain.
    descriptor : ndarray of shape (n_columns,)
        That row, as the kernel takes it.
    points : ndarray of shape (S, d)
        Where to evaluate f. The row itself, S = 1; where the kernel is over boxes
        (:class:`~skgpb.kernels.CellAverage`, :class:`~skgpb.kernels.CellIntegral`) the
        representatives of the box, whose average is the reward.
    counts : tuple of d ints or None
        Representatives of a box along each axis; None where the arm is a point.
    lower, upper, center : ndarray of shape (d,)
        Corners and centre of the box; the same point three times where the arm is a point.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> arm = GPUCBOptimizer(arms=[[0.0], [0.5], [1.0]], random_state=0).ask()
    >>> arm
    Arm(index=1, descriptor=[0.5])
    >>> arm.points
    array([[0.5]])
    """

    __slots__ = ("counts", "descriptor", "index")

    arguments: ClassVar[tuple[str, ...]] = ("index", "descriptor", "counts")

    index: int
    descriptor: np.ndarray
    counts: tuple[int, ...] | None

    def __init__(
        self, index: int, descriptor: np.ndarray, counts: tuple[int, ...] | None = None
    ) -> None:
        self.freeze(index=index, descriptor=descriptor, counts=counts)

    def find_points(self) -> np.ndarray:
        """The row, or representatives of the box that it describes."""
        if self.counts is None:
            return self.descriptor[None]
        return self.spread(self.lower, self.upper, self.counts)

    @property
    def lower(self) -> np.ndarray:
        """Lower corner, shape (d,)."""
        return self.descriptor[: self._d]

    @property
    def upper(self) -> np.ndarray:
        """Upper corner, shape (d,)."""
        return self.descriptor[-self._d :]

    @property
    def center(self) -> np.ndarray:
        """Centre, shape (d,)."""
        return 0.5 * (self.lower + self.upper)

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper], shape (2 d,)."""
        return np.concatenate([self.lower, self.upper])

    @property
    def _d(self) -> int:
        return len(self.descriptor) // (1 if self.counts is None else 2)

    def __hash__(self) -> int:
        return hash((self.index, self.descriptor.tobytes()))

    def describe(self) -> str:
        """Row and descriptor."""
        return f"Arm(index={self.index}, descriptor={self.descriptor})"


class ArmSet:
    """Finitely many arms: makes queries, resolves them, gives their descriptor rows.

    Parameters
    ----------
    rows : ndarray of shape (n_arms, n_columns)
        The arms: points, or boxes [lower, upper] where there are ``counts``.
    bounds : ndarray of shape (d, 2)
        Box around them.
    counts : tuple of d ints or None, default=None
        Representatives of a box along each axis; None where arms are points.
    space : ParameterSpace, default=None
        What the sides of the box are called and stand for; None where they have no names.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains import ArmSet, PointsQuery
    >>> arms = ArmSet(np.array([[0.0], [0.5], [1.0]]), bounds=np.array([[0.0, 1.0]]))
    >>> arms.arm(1)
    Arm(index=1, descriptor=[0.5])
    >>> arms.slot_of(PointsQuery(np.array([[1.0]])))
    2
    """

    #: Columns of a row that stand behind its point or box.
    n_behind: ClassVar[int] = 0

    def __init__(
        self,
        rows: np.ndarray,
        bounds: np.ndarray,
        counts: tuple[int, ...] | None = None,
        space: ParameterSpace | None = None,
    ) -> None:
        self.rows: np.ndarray = rows
        self.bounds = bounds
        self.counts = counts
        self.space = space
        # The first design, once it was asked for.
        self._first = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.rows)

    def arm(self, slot: int) -> Arm:
        """Return the query of a row."""
        return self.query_of(slot, self.rows[slot].copy())

    def query_of(self, index: int, row: np.ndarray) -> Arm:
        """Return the query that a row (n_columns,) describes."""
        return Arm(index, row, self.counts).named(self.space)

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, n_columns) of points (n, d)."""
        return points if self.counts is None else boxes_from_points(points)

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Arm | None:
        """Of n arms that fill the domain evenly the one farthest from what is known.

        Parameters
        ----------
        n : int
            Size of the first design.
        known : ndarray of shape (m, n_columns)
            Rows that were asked or told.
        failed : ndarray of shape (k, n_columns)
            Rows that were tried in vain.
        seed : int
            Seeds the design.

        Returns
        -------
        arm : Arm or None
            None if what is known is spread as well.
        """
        places, more = self.every_place(), len(failed)
        if len(self._first) < min(n + more, len(self)):
            self._first = first_members(places, self.bounds, n, seed, more)
        number = self._next_place(places[self._first], n, known, failed)
        return None if number is None else self.arm(int(self._first[number]))

    def _next_place(
        self, places: np.ndarray, n: int, known: np.ndarray, failed: np.ndarray
    ) -> int | None:
        known, failed = self.places_of(known), self.places_of(failed)
        return next_place(places, n, known, failed, self.bounds)

    def places_of(self, rows: np.ndarray) -> np.ndarray:
        """Points (n, d), or centres of boxes, that rows describe."""
        d = len(self.bounds)
        return 0.5 * rows[:, :d] + 0.5 * rows[:, -d:]

    def every_place(self) -> np.ndarray:
        """Where the arms lie, shape (n_arms, d)."""
        return self.places_of(self.rows)

    def apart_from(self, query: Arm) -> np.ndarray:
        """Which arms differ from a query, shape (n_arms,)."""
        return (self.rows != query.descriptor).any(axis=1)

    def every_row(self) -> np.ndarray:
        """Rows of all that can be asked, or of some that stand for it."""
        return self.rows

    def block_of(self, query: Arm | PointsQuery) -> np.ndarray:
        """Descriptor rows of what a query observes."""
        if isinstance(query, Arm):
            return query.descriptor[None]
        return self.rows_of(query.points)

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Row of a query, -1 where it is none of the arms."""
        if isinstance(query, Arm) and query.index >= 0:
            return query.index
        block = self.block_of(query)
        if len(block) != 1:
            return -1
        equal = np.flatnonzero((self.rows == block).all(axis=1))
        return int(equal[0]) if len(equal) else -1

    def resolve(self, query: Arm) -> None:
        """Raise ValueError unless a query is one of the arms."""
        if not self._knows(query):
            raise ValueError(
                f"{query} is not one of this optimizer's arms ({len(self)} of "
                f"{self.rows.shape[1]} columns)"
            )

    def __contains__(self, query: object) -> bool:
        return isinstance(query, Arm) and self._knows(query)

    def largest_slope(self, deviations: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """Largest prior standard deviation of a slope, over the unit cube.

        ``deviations`` takes a block and rows of descriptors, and returns the standard deviations
        of f at each of the rows minus the functional of the block.
        """
        lower, upper = self.bounds.T
        side = upper - lower
        slopes = [0.0]
        for x in spread_points(self.bounds, N_PROBES, np.full(len(side), 0.5)):
            for axis in range(len(side)):
                step = np.zeros(len(side))
                step[axis] = PROBE_STEP * (
                    side[axis] if x[axis] < upper[axis] - side[axis] / 2 else -side[axis]
                )
                pair = self.rows_of(np.stack([x, x + step]))
                taken = abs((x + step - x)[axis]) / side[axis]
                slopes.append(deviations(pair[:1], pair[1:])[0] / taken)
        return max(slopes)

    def _knows(self, query: Arm) -> bool:
        return (
            query.counts == self.counts
            and 0 <= query.index < len(self)
            and np.array_equal(self.rows[query.index], query.descriptor)
        )


class BoxCandidates(ArmSet):
    """Arms that stand for a box: first a grid, then a set that follows what is known.

    The grid is that of Theorem 2 and grows with the rounds. Once it is too fine for
    ``n_candidates`` points it gives way to a set that fills the box evenly, of which a quarter
    moves with the posterior: the best points so far and points around them, at distances of every
    order of magnitude. In more than three dimensions no such set fills a box of continuous sides,
    and all of it moves (decision D-D10).

    Parameters
    ----------
    bounds : ndarray of shape (d, 2)
        The box.
    n_candidates : int
        Most points that stand for it.
    counts : tuple of d ints or None
        Representatives of a box along each axis where rows are boxes, here of no extent.
    seed : int
        Seeds the set that replaces the grid.
    space : ParameterSpace, default=None
        What the sides of the box are called and stand for. Where they have separate values there
        is no grid, candidates are settings, and if these are few enough all of them.

    Attributes
    ----------
    rows : ndarray of shape (n_arms, n_columns)
        The present candidates, none before :meth:`lay_out`.
    adaptive : bool
        Whether the grid has given way.
    """

    def __init__(
        self,
        bounds: np.ndarray,
        n_candidates: int,
        counts: tuple[int, ...] | None,
        seed: int,
        space: ParameterSpace | None = None,
    ) -> None:
        super().__init__(np.empty((0, len(bounds))), bounds, counts, space)
        self.n_candidates = n_candidates
        self.seed = seed
        self.adaptive: bool = False
        # The local candidate that moves next, once all of them have moved.
        self._next: int | None = None
        # The first design, and what it was made from.
        self._places: tuple[tuple[int, int, int], np.ndarray] | None = None

    def arm(self, slot: int) -> Arm:
        """Return the query of a row; it has no number, for candidates come and go."""
        return Arm(-1, self.rows[slot].copy(), self.counts).named(self.space)

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Arm | None:
        """Of n points that fill the box evenly the one farthest from what is known."""
        of = n, seed, len(failed)
        if self._places is None or self._places[0] != of:
            places = first_points(self.bounds, *of)
            self._places = of, places if self.space is None else self.space.snapped(places)
        places = self._places[1]
        number = self._next_place(places, n, known, failed)
        if number is None:
            return None
        return Arm(-1, self.rows_of(places)[number].copy(), self.counts).named(self.space)

    def _knows(self, query: Arm) -> bool:
        d = len(self.bounds)
        width = d if self.counts is None else 2 * d
        if query.index != -1 or query.counts != self.counts or len(query.descriptor) != width:
            return False
        check_inside(np.stack([query.lower, query.upper]), self.bounds)
        return True

    def lay_out(self, t: int, theta: float, slope: Callable[[], float]) -> bool:
        """Choose all candidates of round t anew, where that is due; whether it was.

        Parameters
        ----------
        t : int
            Round, from 1.
        theta : float
            Probability with which the bound of Theorem 2 may fail.
        slope : callable
            Returns what :meth:`largest_slope` does.
        """
        # Once the grid is too fine it stays so: it grows with t^2.
        if self.adaptive:
            return False
        if self.space is not None and self.space.discrete:
            return self._lay_out_settings(self.space)
        d = len(self.bounds)
        b = sqrt(2.0) * slope()
        per_axis = max(2, ceil(min(1e9, d * t**2 * b * sqrt(log(d / theta)))))
        if per_axis**d <= self.n_candidates:
            points = even_grid(self.bounds, per_axis)
        else:
            self.adaptive = True
            points = self._spread()
        self.rows: np.ndarray = self.rows_of(points)
        return True

    def spread_out(self) -> None:
        """Choose the set of which a share follows what is known, with no grid before."""
        if self.space is not None and self.space.discrete:
            self._lay_out_settings(self.space)
        else:
            self.adaptive = True
            self.rows = self.rows_of(self._spread())

    def _spread(self) -> np.ndarray:
        """Points (n_candidates, d) that fill the box evenly."""
        shift = np.random.default_rng([self.seed, 0]).random(len(self.bounds))
        return spread_points(self.bounds, self.n_candidates, shift)

    def _lay_out_settings(self, space: ParameterSpace) -> bool:
        """Choose settings as candidates, all of them where possible; once and for all."""
        if len(self.rows):
            return False
        self.adaptive = space.n_settings > self.n_candidates
        points = space.snapped(self._spread()) if self.adaptive else space.every_point()
        self.rows = self.rows_of(points)
        return True

    def _n_local(self) -> int:
        """How many candidates follow the posterior."""
        settings = self.space is not None and self.space.discrete
        fills = settings or len(self.bounds) <= GRID_DIMENSIONS
        return self.n_candidates // LOCAL_SHARE if fills else self.n_candidates

    def move(
        self,
        points: np.ndarray,
        values: np.ndarray,
        rng: np.random.Generator,
        most: int | None = None,
    ) -> np.ndarray:
        """Let the local candidates follow the best of ``points`` (n, d); which rows they are.

        ``values`` (n,) are what is known of f there. At first all of them move, and later ``most``
        at a time, in turn. Of the best points those move in that are not among the others.
        """
        n_local = self._n_local()
        n_moved = n_local if self._next is None or most is None else min(most, n_local)
        start = self._next or 0
        moved = self.n_candidates - n_local + (start + np.arange(n_moved)) % n_local
        self._next = (start + n_moved) % n_local
        order = largest_first(values, 2 * N_CENTERS)
        best = np.clip(points[order], *self.bounds.T)
        distinct: dict[bytes, np.ndarray] = {}
        for point in best + 0.0:  # which makes one zero of two
            distinct.setdefault(point.tobytes(), point)
        new = centers = np.array(list(distinct.values())[: min(N_CENTERS, n_local)])
        if n_moved < n_local:
            places = self.places_of(self.rows)
            places[moved] = np.nan
            # Hardly any candidate shares a coordinate with a center of another place.
            rows, which = np.nonzero(places[:, :1] == centers[:, 0])
            known = which[(places[rows] == centers[which]).all(axis=1)]
            new = np.delete(centers, known, axis=0)[:n_moved]
        around = points_near(self.bounds, centers, n_moved - len(new), rng)
        local = np.concatenate([new, around])
        if self.space is not None:
            local = self.space.snapped(local)
        self.rows = self.rows.copy()
        self.rows[moved] = self.rows_of(local)
        return moved

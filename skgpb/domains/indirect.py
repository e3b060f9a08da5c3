"""Indirect queries: rows a of a finite set or a box, or cells of a tree over them.

:class:`QuerySet` and :class:`QueryTree` make the queries, look them up, and compute their costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from skgpb._core._tree import TIE_TOLERANCE, first_maximum
from skgpb.domains.arms import ArmSet, Layout, Placements, PointsQuery, Query
from skgpb.domains.cells import Cells
from skgpb.domains.first_design import first_points, next_place
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.partition import points_per_axis
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._boxes import representatives
from skgpb.utils.validation import (
    box_around,
    check_callable_value,
    check_inside,
    check_numbers,
    check_real,
)

__all__ = ["IndirectQuery"]


class IndirectQuery(Query):
    """One indirect query, immutable and hashable; ``np.asarray(query)`` gives :attr:`points`.

    Attributes
    ----------
    a : ndarray of shape (q,)
        The query: the row that ``conditional`` takes.
    cost : float
        Cost of its answer.
    index : int
        Index among the candidates; -1 for a point of a continuous query space.
    points : ndarray of shape (1, q)
        ``a`` as a row.

    Examples
    --------
    >>> from skgpb import CMESOptimizer
    >>> query = CMESOptimizer(bounds=[(0, 1)], queries=[[0.5]]).ask()
    >>> query
    IndirectQuery(a=[0.5], cost=1.0, index=0)
    """

    __slots__ = ("a", "cost", "index")

    arguments: ClassVar[tuple[str, ...]] = ("a", "cost", "index")

    a: np.ndarray
    cost: float
    index: int

    def __init__(self, a: np.ndarray, cost: float = 1.0, index: int = -1) -> None:
        self.freeze(a=np.array(a, dtype=np.float64), cost=float(cost), index=int(index))

    def find_points(self) -> np.ndarray:
        """Return the query as a row."""
        return self.a[np.newaxis]

    @property
    def box(self) -> np.ndarray:
        """The query as both corners, shape (2 q,)."""
        return np.concatenate([self.a, self.a])

    def __hash__(self) -> int:
        return hash(self.a.tobytes())

    def describe(self) -> str:
        """Return row, cost and index as text."""
        return f"{type(self).__name__}(a={self.a}, cost={self.cost}, index={self.index})"


class IndirectCell(IndirectQuery):
    """A cell of the query space, evaluated at its centre with the resolution of its depth.

    Attributes
    ----------
    a : ndarray of shape (q,)
        The query: the row that ``conditional`` takes.
    cost : float
        Cost of its answer.
    depth, index : int
        Position in the tree: the children of ``(depth, index)`` are
        ``(depth + 1, K**q * index + j)``.
    lower, upper, center : ndarray of shape (q,)
        Corners and centre of the cell.
    points : ndarray of shape (1, q)
        The centre as a row.
    """

    __slots__ = ("depth", "lower", "upper")

    arguments: ClassVar[tuple[str, ...]] = ("a", "cost", "index", "depth", "lower", "upper")

    depth: int
    lower: np.ndarray
    upper: np.ndarray

    def __init__(
        self,
        a: np.ndarray,
        cost: float,
        index: int,
        depth: int,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> None:
        super().__init__(a, cost, index)
        lower, upper = (np.array(x, dtype=np.float64) for x in (lower, upper))
        self.freeze(depth=int(depth), lower=lower, upper=upper)

    @property
    def center(self) -> np.ndarray:
        """Centre of the cell, shape (q,)."""
        return 0.5 * (self.lower + self.upper)

    def find_points(self) -> np.ndarray:
        """Return the centre as a row."""
        return self.center[np.newaxis]

    @property
    def params(self) -> dict[str, Any]:
        """Ranges of the cell, by the names of the sides."""
        return self.ranges(self.lower, self.upper)

    @property
    def box(self) -> np.ndarray:
        """The cell, [lower, upper], shape (2 q,)."""
        return np.concatenate([self.lower, self.upper])

    def describe(self) -> str:
        """Return position, corners and cost as text."""
        place = f"depth={self.depth}, index={self.index}"
        return f"IndirectCell({place}, lower={self.lower}, upper={self.upper}, cost={self.cost})"


class QuerySet(ArmSet):
    """The possible queries: rows a of a finite set, or of a box that candidates represent.

    Parameters
    ----------
    A : ndarray of shape (m, q)
        Candidates.
    kernel : IndirectKernel
        Kernel that maps rows a to functionals of f.
    cost : float, array-like of shape (m,), callable or None
        Cost of each candidate, or of a row. None stands for 1.
    box : ndarray of shape (q, 2), default=None
        Box of rows, if every row in it is a query. None if only the candidates are.
    space : ParameterSpace, default=None
        Names and scales of the sides of the box; None if the sides have no names.

    Attributes
    ----------
    A : ndarray of shape (m, q)
        Candidates; ``rows`` are the descriptors that ``kernel`` makes of them.
    costs : ndarray of shape (m,)
        Costs of the candidates.
    """

    def __init__(
        self,
        A: np.ndarray,
        kernel: Any,
        cost: Any,
        box: np.ndarray | None = None,
        space: ParameterSpace | None = None,
    ) -> None:
        self.A: np.ndarray = np.ascontiguousarray(A)
        self.kernel: Any = kernel
        self.cost: Any = cost
        self.box: np.ndarray | None = box
        super().__init__(kernel.queries(self.A), box_around(A) if box is None else box, space=space)
        self.costs: np.ndarray = self.costs_of(self.A)
        # Each candidate is one object, however often it is asked.
        self._queries: dict[int, IndirectQuery] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_queries": {}}

    # -- costs and functions of a query -----------------------------------------------------

    @property
    def arguments(self) -> np.ndarray:
        """Arguments of functions of a query, for all candidates: their rows."""
        return self.A

    def argument(self, query: Any) -> np.ndarray:
        """Return the argument of functions of a query: its row."""
        return query.a

    def costs_of(self, A: np.ndarray) -> np.ndarray:
        """Return the cost of each row of A (n, q)."""
        if self.cost is None:
            return np.ones(len(A))
        if callable(self.cost):
            costs = np.array([check_callable_value(self.cost, a, "cost") for a in A])
        elif np.ndim(self.cost) == 0:
            costs = np.full(len(A), check_real(self.cost, "cost"))
        else:
            costs = check_numbers(self.cost, "cost", ensure_2d=False)
            if costs.shape != (len(self.A),) or self.box is not None:
                raise ValueError(
                    "cost must be a number, a function of a, or hold one number for each of the "
                    f"queries; got shape {costs.shape}"
                )
        if not (costs > 0.0).all():
            raise ValueError(f"cost must be > 0 for every query, got {float(costs.min())!r}")
        return costs

    @property
    def differ_in_cost(self) -> bool:
        """True if queries differ in cost."""
        return bool(np.ptp(self.costs) > 0.0)

    @property
    def least_cost(self) -> float:
        """Lower bound on the cost of a query; 0 if none is available."""
        return 0.0 if self.box is not None and callable(self.cost) else float(self.costs.min())

    # -- queries ----------------------------------------------------------------------------

    def arm(self, slot: int) -> Any:
        """Return the candidate with this index."""
        query = self._queries.get(slot)
        if query is None:
            query = IndirectQuery(self.A[slot], self.costs[slot], slot).with_names(self.space)
            self._queries[slot] = query
        return query

    def query_at(self, a: np.ndarray) -> IndirectQuery:
        """Return the query of any row (q,) of the box."""
        return IndirectQuery(a, float(self.costs_of(a[np.newaxis])[0])).with_names(self.space)

    def find(self, points: Any, pending: Iterable[IndirectQuery]) -> IndirectQuery:
        """Return the query of a row: a pending one, a candidate, or another one in the box."""
        a = check_numbers(points, "query", ensure_2d=False)
        a = a[0] if a.ndim == 2 and len(a) == 1 else a
        self._check(a)
        a = a if self.box is None else check_inside(a[np.newaxis], self.box)[0]
        for query in pending:
            if np.array_equal(query.a, a):
                return query
        match = np.flatnonzero(np.all(a == self.A, axis=1))
        return self.arm(int(match[0])) if len(match) else self.query_at(a)

    def resolve(self, query: Any) -> None:
        """Raise ValueError if a query does not belong to the set."""
        self._check(query.a)
        i = query.index
        if i >= 0 and not (i < len(self.A) and np.array_equal(self.A[i], query.a)):
            raise ValueError(f"{query!r} is not a query of this optimizer")
        if not 0.0 <= query.cost < np.inf:
            raise ValueError(f"the cost of a query must be a finite number >= 0, got {query!r}")

    def _check(self, a: np.ndarray) -> None:
        if a.shape != (self.A.shape[1],):
            raise ValueError(
                f"a query must have {self.A.shape[1]} entries, got an array of shape {a.shape}. "
                "Tell existing answers with tell(queries, y), one row for each y, and existing "
                "values of f with fit(X, y)"
            )
        if self.box is not None:
            check_inside(a[np.newaxis], self.box)
        elif not np.all(a == self.A, axis=1).any():
            raise ValueError(f"query {a} is not among the queries")

    # -- rows -------------------------------------------------------------------------------

    def slot_of(self, query: Any) -> int:
        """Return the index of a candidate, -1 for any other query."""
        return query.index

    def rows_of_query(self, query: Any) -> np.ndarray:
        """Return the descriptor row (1, n_columns) of a query."""
        return self.kernel.rows_of_queries(query.a[np.newaxis])

    def different_from(self, query: Any) -> np.ndarray:
        """Return a mask (m,) of the candidates that differ from a query."""
        return np.arange(len(self)) != query.index

    # -- first design and ties --------------------------------------------------------------

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Any:
        """Return the one of n queries that fill the space evenly farthest from the tried rows."""
        if self.box is None:
            return super().first_arm(n, known, failed, seed)
        places = first_points(self.box, n, seed, len(failed))
        number = next_place(places, n, known, failed, self.box)
        return None if number is None else self.find(places[number], ())

    def every_place(self) -> np.ndarray:
        """Return the candidates."""
        return self.A

    def most_central(self, numbers: np.ndarray) -> int:
        """Return the one of some candidates (k,) nearest to the middle of all, in sides."""
        if len(numbers) == 1:
            return int(numbers[0])
        side = np.ptp(self.A, axis=0)
        away = (self.A[numbers] - self.A.mean(axis=0)) / np.where(side > 0.0, side, 1.0)
        distance = (away**2).sum(axis=1)
        return int(numbers[first_maximum(-distance, TIE_TOLERANCE)])


class PointSet(ArmSet):
    """Points at which f may be largest: a grid that represents a box, or finitely many.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points.
    kernel : IndirectKernel
        Kernel that maps points to descriptors of values of f.
    bounds : ndarray of shape (d, 2)
        The box.
    space : ParameterSpace or None
        Names of the sides.
    shape : tuple of ints, default=None
        Shape of the grid of the points, if they form one.
    finite : bool, default=False
        Whether these are all points, and do not represent a box.
    """

    has_root = True
    #: Whether targets are averages. Then a target may be larger than the answers allow.
    are_averages: ClassVar[bool] = False

    def __init__(
        self,
        points: np.ndarray,
        kernel: Any,
        bounds: np.ndarray,
        space: ParameterSpace | None,
        shape: tuple[int, ...] | None = None,
        *,
        finite: bool = False,
    ) -> None:
        self.points: np.ndarray = points
        self.kernel: Any = kernel
        self.shape: tuple[int, ...] | None = shape
        self.finite: bool = finite
        super().__init__(kernel.points(points), bounds, space=space)

    def values_from(self, draws: np.ndarray) -> np.ndarray:
        """Return values (k, n_targets) of the targets from values (k, n) of f at the points."""
        return draws

    def points_of(self, numbers: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and weights of the points in a weighted sum of targets."""
        return numbers, weights

    def arm(self, slot: int) -> Any:
        """Return the query of a point."""
        return PointsQuery(self.points[slot : slot + 1].copy()).with_names(self.space)

    def placements_of(self, slot: int) -> Placements | None:
        """Return the box as possible places; None if the points are finitely many."""
        if self.finite:
            return None
        return Placements(
            np.arange(len(self)), self.points, self.bounds, self.kernel.rows_of_points
        )

    def arm_in(self, placements: Placements, place: np.ndarray) -> Any:
        """Return the query of the point at ``place`` (d,)."""
        return PointsQuery(place[np.newaxis]).with_names(self.space)

    def __contains__(self, query: object) -> bool:
        return isinstance(query, PointsQuery)


class CellSet(PointSet):
    """Cells of some sizes that represent all of them, given by points over which f is averaged.

    Parameters
    ----------
    given : Cells
        Sizes of the cells.
    kernel : IndirectKernel
        Kernel that maps points to descriptors of values of f.
    bounds : ndarray of shape (d, 2)
        The box.
    space : ParameterSpace or None
        Names of the sides.
    n_points : int
        Approximate number of points of all cells together.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes, d)
        Sides of the cells.
    points : ndarray of shape (n_cells * S, d)
        Points of all cells, one cell after the other.
    """

    are_averages = True

    def __init__(
        self,
        given: Cells,
        kernel: Any,
        bounds: np.ndarray,
        space: ParameterSpace | None,
        n_points: int,
    ) -> None:
        sizes = given.sides(bounds, space, "targets")
        if not (sizes > 0.0).all():
            raise ValueError(f"targets must be cells with sides above 0, or points; got {given!r}")
        d, counts = len(bounds), points_per_axis(None, len(bounds))
        self._each = int(np.prod(counts))
        cells = FreeCells(
            sizes, bounds, n_points // self._each, Layout(d, counts=counts), [0], None
        )
        parts = [representatives(row[:d], row[d:], counts) for row in cells.rows]
        super().__init__(np.concatenate(parts), kernel, bounds, space)
        self.sizes = sizes

    def values_from(self, draws: np.ndarray) -> np.ndarray:
        """Return averages (k, n_cells) of values (k, n_cells * S) of f at the points."""
        return draws.reshape(len(draws), -1, self._each).mean(axis=2)

    def points_of(self, numbers: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and weights of the points in a weighted sum of averages."""
        points = numbers[:, np.newaxis] * self._each + np.arange(self._each)
        return points.ravel(), np.repeat(weights / self._each, self._each)


class QueryTree(ArmSet):
    """Cells of a box of rows, cut into K^q equal children at every depth; finer cells cost more.

    A node is (depth, index); the children of (h, i) are (h + 1, K^q i + j).

    Parameters
    ----------
    root : ndarray of shape (q, 2)
        The root cell.
    kernel : IndirectKernel
        Kernel that maps rows a to functionals of f.
    n_children : int
        K, parts per axis.
    max_depth : int
        Depth of the finest cells.
    cost : callable
        Takes a depth; returns the cost of its cells.
    last_column : callable, default=None
        Takes a depth; returns the number in the last column of rows. None without this column.
    space : ParameterSpace, default=None
        Names and scales of the sides of the root; None if the sides have no names.

    Attributes
    ----------
    A : ndarray of shape (m, q) or (m, q + 1)
        Rows a of the two coarsest levels, whose prior variances are typical of answers.
    """

    #: Cells of a level cost the same; the coarsest come first.
    differ_in_cost: ClassVar[bool] = False

    root: np.ndarray
    n_children: int
    max_depth: int

    def __init__(
        self,
        root: np.ndarray,
        kernel: Any,
        n_children: int,
        max_depth: int,
        cost: Callable[[int], float],
        last_column: Callable[[int], float] | None = None,
        space: ParameterSpace | None = None,
    ) -> None:
        if len(root) * max_depth * np.log2(n_children) > 62:
            raise ValueError("max_depth is so large that cell numbers overflow 64 bits")
        self.root, self.n_children, self.max_depth = root, n_children, max_depth
        self.space = space
        self.kernel = kernel
        self.n_parts: int = n_children ** len(root)
        self.costs: np.ndarray = np.array(
            [check_callable_value(cost, h, "cost") for h in self.arguments]
        )
        if not (self.costs > 0.0).all():
            raise ValueError(f"cost({int(np.argmin(self.costs))}) must be positive")
        self._column = None if last_column is None else [last_column(h) for h in self.arguments]
        # Cells that were made: a round reads all active ones.
        self._cells: dict[tuple[int, int], IndirectCell] = {}
        typical = [(0, 0), *self.children((0, 0))]
        self._depths = [depth for depth, _ in typical]
        self.A: np.ndarray = np.array([self.cell(node).a for node in typical])
        super().__init__(kernel.queries(self.A), root, space=space)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cells": {}}

    @property
    def arguments(self) -> range:
        """Arguments of functions of a query: each depth."""
        return range(self.max_depth + 1)

    def argument(self, query: Any) -> int:
        """Return the argument of functions of a query: its depth."""
        return query.depth

    def query_values(self, numbers: np.ndarray) -> np.ndarray:
        """Return the value of each cell of the two coarsest levels, given one for each depth."""
        return numbers[self._depths]

    @property
    def least_cost(self) -> float:
        """The lowest cost of a cell."""
        return float(self.costs.min())

    def cell(self, node: tuple[int, int]) -> IndirectCell:
        """Return the query of a node (depth, index)."""
        if node not in self._cells:
            self._cells[node] = self._make_cell(*node)
        return self._cells[node]

    def _make_cell(self, depth: int, index: int) -> IndirectCell:
        q, K = len(self.root), self.n_children
        place, scale = np.zeros(q), 1
        digits = index
        for _ in range(depth):
            digits, child = divmod(digits, self.n_parts)
            for axis in range(q - 1, -1, -1):
                child, step = divmod(child, K)
                place[axis] += step * scale
            scale *= K
        lower, side = self.root[:, 0], self.root[:, 1] - self.root[:, 0]
        low, high = lower + side * (place / scale), lower + side * ((place + 1) / scale)
        a = 0.5 * (low + high)
        if self._column is not None:
            a = np.append(a, self._column[depth])
        return IndirectCell(a, self.costs[depth], index, depth, low, high).with_names(self.space)

    def children(self, node: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the children of a node; none at the greatest depth."""
        depth, index = node
        if depth >= self.max_depth:
            return []
        return [(depth + 1, self.n_parts * index + j) for j in range(self.n_parts)]

    def parent(self, node: tuple[int, int]) -> tuple[int, int]:
        """Return the parent of a node."""
        return node[0] - 1, node[1] // self.n_parts

    def find(self, points: Any, pending: Iterable[IndirectCell]) -> IndirectCell:
        """Return the pending cell with this centre; several cells may share a centre."""
        for query in pending:
            if np.shape(points) in (query.center.shape, (1, *query.center.shape)) and (
                np.array_equal(np.ravel(points), query.center)
            ):
                return query
        raise ValueError(
            f"a query must be a cell of this optimizer, or the centre of one that is pending; "
            f"got {points!r}. Pass existing values of f to fit(X, y)"
        )

    def slot_of(self, query: Any) -> int:
        """Return the index of a cell of the two coarsest levels, -1 for any other."""
        node = query.depth, query.index
        return query.depth + query.index if node in [(0, 0), *self.children((0, 0))] else -1

    def rows_of_query(self, query: Any) -> np.ndarray:
        """Return the descriptor row (1, n_columns) of a query."""
        return self.kernel.rows_of_queries(query.a[np.newaxis])

    def resolve(self, query: Any) -> None:
        """Raise ValueError if a query is not a cell of this tree."""
        depth, index = query.depth, query.index
        known = 0 <= depth <= self.max_depth and 0 <= index < self.n_parts**depth
        if not known or self.cell((depth, index)) != query:
            raise ValueError(f"{query!r} is not a cell of this optimizer")


def are_fewer(n: int, places: Iterable[np.ndarray]) -> bool:
    """Return whether fewer than n of these points are distinct, reading no more than necessary.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.indirect import are_fewer
    >>> are_fewer(3, [np.array([0.1]), np.array([0.5]), np.array([0.1])])
    True
    """
    distinct: set[tuple[float, ...]] = set()
    for place in places:
        distinct.add(tuple(place.ravel().tolist()))
        if len(distinct) >= n:
            break
    return len(distinct) < n

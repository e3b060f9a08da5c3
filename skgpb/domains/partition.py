"""Queries for cells, and the partitions of a box and of a pool.

A box is cut into equal parts. A pool, a finite set of points, is cut at quantiles, so that no cell
is empty. Its whole K-ary tree is computed once: the members are sorted in the order of its deepest
leaves, so that every cell, at any depth, is a slice of one permutation. The representatives of a
cell are then an equally spaced subset of its slice: its sub-cells contribute equally, without
randomness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Set
from contextlib import suppress
from copy import copy
from itertools import pairwise
from math import log2, prod
from typing import Any, ClassVar, Self

import numpy as np

from skgpb import defaults
from skgpb._core._tree import Tree
from skgpb.domains.arms import PointsQuery, Query, Region
from skgpb.domains.candidates import spread_points
from skgpb.domains.space import SAME, ParameterSpace
from skgpb.domains.value_ranges import cap_counts, points_per_side
from skgpb.kernels._boxes import boxes_from_points
from skgpb.utils.validation import MOST_POINTS, Integral

__all__ = ["Cell"]

# Format: node indices are 64-bit: K^depth must stay below 2^62.
INDEX_BITS = 62
# Accuracy: cells that represent a level of a tree, besides those in the middle and in the corners;
# largest number of members of a cell of a pool that are compared with its representatives (D-A15).
N_SPREAD_CELLS, N_DEVIATION_POINTS = 3, 256


class Cell(Query):
    """One cell of a hierarchical partition, immutable and hashable.

    ``np.asarray(cell)`` gives :attr:`points`.

    Attributes
    ----------
    depth, index : int
        Position in the tree: the children of ``(depth, index)`` are
        ``(depth + 1, K * index + j)``.
    lower, upper : ndarray of shape (d,)
        Corners of the cell; for a pool, of the bounding box of its members. ``box`` has both.
    members : ndarray of shape (n_members,) or None
        Row indices of the pool's members in the cell; None if the domain is a box.
    spec : tuple of d ints or ndarray of shape (S, d)
        Number of representatives of a box along each axis, or the representatives themselves.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> cell = GPOOOptimizer(bounds=[(0, 1)], n_representatives=4).ask()
    >>> cell
    Cell(depth=0, index=0, lower=[0.], upper=[1.])
    >>> cell.points.ravel()
    array([0.125, 0.375, 0.625, 0.875])
    """

    __slots__ = ("box", "depth", "index", "members", "spec")

    arguments: ClassVar[tuple[str, ...]] = ("depth", "index", "lower", "upper", "spec", "members")

    box: np.ndarray
    depth: int
    index: int
    spec: tuple[int, ...] | np.ndarray
    members: np.ndarray | None

    def __init__(
        self,
        depth: int,
        index: int,
        lower: np.ndarray,
        upper: np.ndarray,
        spec: tuple[int, ...] | np.ndarray,
        members: np.ndarray | None = None,
    ) -> None:
        # Every round stores the box of its cell.
        box = np.concatenate([lower, upper])
        self.freeze(depth=depth, index=index, box=box, spec=spec, members=members)

    def find_points(self) -> np.ndarray:
        """Return the representatives of the cell."""
        if isinstance(self.spec, np.ndarray):
            return self.spec
        return self._spread(self.lower, self.upper, self.spec)

    @property
    def lower(self) -> np.ndarray:
        """Lower corner, shape (d,)."""
        return self.box[: len(self.box) // 2]

    @property
    def upper(self) -> np.ndarray:
        """Upper corner, shape (d,)."""
        return self.box[len(self.box) // 2 :]

    @property
    def center(self) -> np.ndarray:
        """Centre of the box [lower, upper], shape (d,)."""
        return 0.5 * (self.lower + self.upper)

    def __hash__(self) -> int:
        return hash((self.depth, self.index))  # fast: computed four times in a round

    def describe(self) -> str:
        """Return position, corners and number of members as text."""
        size = "" if self.members is None else f", n_members={len(self.members)}"
        corners = f"lower={self.lower}, upper={self.upper}"
        return f"Cell(depth={self.depth}, index={self.index}, {corners}{size})"


def deepest_level(n_children: int) -> int:
    """Return the deepest level at which the cells of a K-ary tree can be split."""
    return int(INDEX_BITS / log2(n_children)) - 1


class Partition(ABC):
    """K-ary partition of a domain, with the nodes that a search has reached.

    Parameters
    ----------
    lower, upper : ndarray of shape (d,)
        Corners of the root.
    n_children : int
        K >= 2.
    max_depth : int or None
        Deepest level at which cells are split; with None only the range of indices limits it.

    Attributes
    ----------
    tree : Tree
        The nodes.
    n_representatives : tuple of d ints, int or None
        Representatives of a cell: along each axis, or in all.
    """

    n_representatives: Any
    # Sides of the boxes that are descriptors, if they have few sizes.
    sizes: Any = None

    _kept_fields = ("_growth",)

    def __init__(
        self, lower: np.ndarray, upper: np.ndarray, n_children: int, max_depth: int | None
    ) -> None:
        self.tree: Tree = Tree(n_children, lower, upper)
        self.bounds: np.ndarray = np.column_stack([lower, upper])
        self.max_depth: int = deepest_level(n_children) if max_depth is None else max_depth
        # Each cell is one object, however often it is asked: histories keep references.
        self._cells: dict[int, Cell] = {}

    @abstractmethod
    def splittable(self, node: int) -> bool:
        """Return whether the cell of a node may be split; in the paper at max_depth too (D-A3)."""

    @abstractmethod
    def split(self, node: int) -> int:
        """Split a leaf into K children; return the index of the first."""

    @property
    def _growth(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Split nodes, in this order, and the number and sum of the rewards of each node."""
        return self.expanded, self.tree.n_evaluations, self.tree.reward_sum

    @_growth.setter
    def _growth(self, growth: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        splits, told, total = growth
        for node in splits.tolist():
            self.split(node)
        if not (len(told) == len(total) == self.tree.n_nodes and (told >= 0).all()):
            raise ValueError(f"these are no rewards of {self.tree.n_nodes} nodes")
        rewards = {"n_evaluations": told, "reward_sum": total}
        self.tree.__setstate__(self.tree.__getstate__() | rewards)

    @abstractmethod
    def row_sets(self, start: int, stop: int) -> list[np.ndarray]:
        """Return descriptor rows of nodes start..stop-1, one array for each."""

    @abstractmethod
    def cell_at(self, depth: int, index: int) -> Cell:
        """Return the cell (depth, index), even if the tree has not reached it."""

    @abstractmethod
    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows of points (n, d)."""

    @abstractmethod
    def _rows_of_cell(self, cell: Cell) -> np.ndarray:
        """Return descriptor rows of a cell."""

    @abstractmethod
    def _cell_of(self, node: int) -> Cell:
        """Return a new query of a node."""

    def copy(self) -> Self:
        """Return a partition that can be split without changing this one."""
        other = copy(self)
        # Nodes that are split later have other indices in the copy.
        vars(other).update(tree=self.tree.copy(), _cells={})
        return other

    def cell(self, node: int) -> Cell:
        """Return the query of a node."""
        cell = self._cells.get(node)
        if cell is None:
            cell = self._cells[node] = self._cell_of(node)
        return cell

    def node_of(self, query: Cell | PointsQuery) -> int:
        """Return the node of a query, -1 if it is not in the tree."""
        if not isinstance(query, Cell):
            return -1
        return self.tree.find(query.depth, query.index)

    def query_mask(self, queries: Iterable[Cell | PointsQuery]) -> np.ndarray | None:
        """Return a mask (n_nodes,) of the nodes of queries; None without queries in the tree."""
        nodes = [node for node in map(self.node_of, queries) if node >= 0]
        if not nodes:
            return None
        marked = np.zeros(self.tree.n_nodes, dtype=np.uint8)
        marked[nodes] = 1
        return marked

    def rows_of_query(self, query: Cell | PointsQuery) -> np.ndarray:
        """Return the descriptor rows of a query."""
        if isinstance(query, PointsQuery):
            return self.rows_of(query.points)
        return self._rows_of_cell(query)

    @property
    def expanded(self) -> np.ndarray:
        """Nodes that were split, in that order."""
        parent = self.tree.parent[1:]
        return parent[np.flatnonzero(np.diff(parent, prepend=-1))]

    def deepest_split_nodes(self, left_out: Set[bytes] = frozenset()) -> np.ndarray:
        """Return split nodes at the deepest depth with any, by index, or the root (D-A5).

        ``left_out`` are boxes [lower, upper], as bytes, of nodes to ignore.
        """
        nodes = self.expanded
        if left_out:
            boxes = np.hstack([self.tree.lower[nodes], self.tree.upper[nodes]]) + 0.0
            nodes = nodes[[box.tobytes() not in left_out for box in boxes]]
        if not len(nodes):
            return np.zeros(1, dtype=np.intp)
        depth = self.tree.depth[nodes]
        nodes = nodes[depth == depth.max()]
        return nodes[np.argsort(self.tree.index[nodes])]

    def front(self, finest_depth: int) -> list[int]:
        """Return the leaves down to a depth, and the split nodes of that depth."""
        depth, leaves, expanded = self.tree.depth, self.tree.leaves, self.expanded
        nodes = leaves[depth[leaves] <= finest_depth], expanded[depth[expanded] == finest_depth]
        return np.concatenate(nodes).tolist()

    def finer(self, nodes: list[int], finest_depth: int) -> list[int]:
        """Split the nodes above a depth that may be split; return their children."""
        children: list[int] = []
        for node in nodes:
            if self.tree.node(node)[0] < finest_depth and self.splittable(node):
                first = self.split(node)
                children += range(first, self.tree.n_nodes)
        return children

    def row_set(self, node: int) -> np.ndarray:
        """Return descriptor rows of a node."""
        return self.row_sets(node, node + 1)[0]

    def query(self, node: int) -> Cell:
        """Return the query of a node, as :meth:`cell` does."""
        return self.cell(node)

    def resolve(self, query: Cell) -> None:
        """Raise ValueError unless a query is a cell of this partition, at any possible depth."""
        K, depth, index = self.tree.n_children, query.depth, query.index
        known = (
            len(query.lower) == self.tree.n_features
            and 0 <= depth <= self.max_depth + 1
            and 0 <= index < K**depth
        )
        try:
            known = known and self.cell_at(depth, index) == query
        except ValueError:
            known = False
        if not known:
            raise self.refusal(query)

    def refusal(self, query: Cell) -> ValueError:
        """Return the error for a query that is not a cell of this partition."""
        return ValueError(
            f"{query} is not a cell of this optimizer's partition (bounds {self.bounds.tolist()}, "
            f"n_children={self.tree.n_children}, representatives {self.n_representatives})"
        )


def points_per_axis(given: Any, d: int, space: ParameterSpace | None = None) -> tuple[int, ...]:
    """Return ``n_representatives`` of a box (a number, one for each axis, or None) as a tuple."""
    if space is not None and space.uses_columns:
        if given is None:
            return points_per_side(space)
        return cap_counts(space, points_per_axis(given, d))
    if given is None:
        s = defaults.CELL_POINTS_PER_AXIS
        while s > 1 and s**d > defaults.CELL_POINTS:
            s -= 1
        return (s,) * d
    counts = (given,) * d if isinstance(given, Integral) else tuple(given)
    if len(counts) != d or not all(isinstance(s, Integral) and int(s) >= 1 for s in counts):
        raise ValueError(
            f"n_representatives must be an integer >= 1 or one for each of {d} dimensions, "
            f"got {given!r}"
        )
    if prod(map(int, counts)) > MOST_POINTS:
        raise ValueError(
            f"n_representatives must give a cell at most {MOST_POINTS} points, got {given!r} for "
            f"{d} dimension(s)"
        )
    return tuple(int(s) for s in counts)


def sample_cells(
    bounds: np.ndarray, n_children: int, depth: int, everywhere: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return corners of the cell in the middle at a depth, and of others if ``everywhere``.

    All cells of a depth are translates of one another, so one cell is enough for a stationary
    kernel. Otherwise the list also has the cells at the ends of two diagonals, and some scattered
    ones.
    """
    d, side = len(bounds), bounds[:, 1] - bounds[:, 0]
    cuts = (depth - np.arange(d) + d - 1) // d  # axis a is cut at depths a, a + d, a + 2 d, ...
    counts = float(n_children) ** cuts
    places = sample_places(d) if everywhere else np.full((1, d), 0.5)
    # Not ``np.unique``, which turns a KeyboardInterrupt into a TypeError.
    index = np.array(sorted({*map(tuple, np.minimum(np.floor(places * counts), counts - 1.0))}))
    lower = bounds[:, 0] + side * (index / counts)
    return list(zip(lower, lower + side / counts, strict=True))


def sample_places(d: int) -> np.ndarray:
    """Return points (n, d) of the unit cube: middle, ends of two diagonals, scattered ones."""
    middle, unit = np.full((1, d), 0.5), np.tile([0.0, 1.0], (d, 1))
    diagonals = np.stack([np.ones(d), np.arange(d) % 2.0])
    spread = spread_points(unit, N_SPREAD_CELLS, middle[0])
    return np.concatenate([middle, diagonals, 1.0 - diagonals, spread])


class BoxPartition(Partition):
    """K-ary partition of a box, cut along the longest side relative to the root.

    Parameters
    ----------
    bounds : ndarray of shape (d, 2)
        The root box.
    n_children : int
        K >= 2.
    n_representatives : tuple of d ints
        Number of representatives of a cell along each axis.
    at_center : bool, default=False
        Whether cells are evaluated at their centres only: descriptors are then the centres, and
        with an odd K a middle child is the same query as its parent.
    max_depth : int, default=None
        Deepest level at which cells are split.
    space : ParameterSpace, default=None
        Names and scales of the sides of the box; None if the sides have no names.

    Attributes
    ----------
    tree : Tree
        The nodes.
    """

    def __init__(
        self,
        bounds: np.ndarray,
        n_children: int,
        n_representatives: tuple[int, ...],
        at_center: bool = False,
        max_depth: int | None = None,
        space: ParameterSpace | None = None,
    ) -> None:
        super().__init__(bounds[:, 0].copy(), bounds[:, 1].copy(), n_children, max_depth)
        self.n_representatives = n_representatives
        self.at_center = at_center
        self.space = space

    def splittable(self, node: int) -> bool:
        """Return whether the cell of a node may be split: it is not too deep."""
        return self.tree.node(node)[0] <= self.max_depth

    @property
    def sizes(self) -> np.ndarray | None:
        """Sides (n_sizes, d) of the boxes that are descriptors; None if they have many sizes."""
        if self.at_center:
            return None
        d, (low, high) = self.tree.n_features, self.bounds.T
        depth = np.arange(self.max_depth + 2)[:, None]
        cuts = (depth - np.arange(d) + d - 1) // d  # axis a is cut at depths a, a + d, a + 2 d, ...
        return (high - low) / float(self.tree.n_children) ** cuts

    def split(self, node: int) -> int:
        """Split a leaf into K children; return the index of the first."""
        return self.tree.split(node)

    def row_sets(self, start: int, stop: int) -> list[np.ndarray]:
        """Return descriptor rows of nodes start..stop-1, one array (1, 2 d) for each."""
        if self.at_center:
            rows = boxes_from_points(self.tree.center(start, stop))
        else:
            rows = self.tree.box(start, stop)
        return [rows[i : i + 1] for i in range(stop - start)]

    def cell_at(self, depth: int, index: int) -> Cell:
        """Return the cell (depth, index), even if the tree has not reached it."""
        node = self.tree.find(depth, index)
        if node >= 0:
            return self.cell(node)
        K = self.tree.n_children
        shadow = Tree(K, *self.bounds.T.copy())
        node = 0
        for level in range(depth - 1, -1, -1):
            node = shadow.split(node) + index // K**level % K
        return self._cell(depth, index, shadow, node)

    def _rows_of_cell(self, cell: Cell) -> np.ndarray:
        if self.at_center:
            return boxes_from_points(cell.points)
        return cell.box[None]

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows (n, 2 d) of points (n, d)."""
        return boxes_from_points(points)

    def rows_of_box(self, box: np.ndarray) -> np.ndarray:
        """Return descriptor rows of the average over any box (2 d,)."""
        return box[None]

    def rows_of_query(self, query: Cell | PointsQuery) -> np.ndarray:
        """Return the descriptor rows of a query."""
        if isinstance(query, Region) and query.counts == self.n_representatives:
            return self.rows_of(query.points) if self.at_center else self.rows_of_box(query.box)
        return super().rows_of_query(query)

    def query_of_box(self, box: np.ndarray) -> Cell | Region:
        """Return the query of the average over a box (2 d,): a cell, or else a ``Region``."""
        (lower, upper), K = np.split(box, 2), self.tree.n_children
        unit = np.diff(self.bounds)[:, 0]
        rounding = SAME * np.where(unit > 0.0, unit, 1.0)
        children = [self.cell_at(0, 0)]
        for depth in range(1, self.max_depth + 3):
            for cell in children:
                beyond = np.concatenate([lower - cell.lower, cell.upper - upper])
                if (beyond >= -np.tile(rounding, 2)).all():
                    break
            else:
                break  # the box is larger than the remaining cells
            if (beyond <= np.tile(rounding, 2)).all():
                return cell
            children = []
            for index in range(K * cell.index, K * cell.index + K):
                with suppress(ValueError):  # fewer settings than K
                    children.append(self.cell_at(depth, index))
        return Region(lower, upper, self.n_representatives).with_names(self.space)

    def row_set_with(self, node: int, given: np.ndarray) -> np.ndarray:
        """Return descriptor rows of a node whose first coordinates are replaced by ``given``."""
        row_set, n, d = self.row_set(node).copy(), len(given), self.tree.n_features
        row_set[:, :n] = row_set[:, d : d + n] = given
        return row_set

    def deviation_cells(
        self, depth: int, everywhere: bool
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return sample cells at a depth: (rows, lower, upper corner), see ``sample_cells``."""
        sample = []
        for lower, upper in sample_cells(self.bounds, self.tree.n_children, depth, everywhere):
            if self.at_center:
                row_set = boxes_from_points(0.5 * (lower + upper)[None])
            else:
                row_set = np.concatenate([lower, upper])[None]
            sample.append((row_set, lower, upper))
        return sample

    def _cell_of(self, node: int) -> Cell:
        depth, index, _ = self.tree.node(node)
        return self._cell(depth, index, self.tree, node)

    def _cell(self, depth: int, index: int, tree: Tree, node: int) -> Cell:
        box, d = tree.box(node, node + 1)[0], tree.n_features
        lower, upper = box[:d], box[d:]
        spec = tree.center(node, node + 1) if self.at_center else self.n_representatives
        return Cell(depth, index, lower, upper, spec).with_names(self.space)


class PoolPartition(Partition):
    """K-ary partition of the rows of a pool.

    A cell is cut along the axis on which its members have the largest range, relative to the whole
    pool, at the K-quantiles (stable sort, ties between axes to the lowest). Every child keeps at
    least ``min_members`` members.

    Parameters
    ----------
    pool : ndarray of shape (n, d)
        The points.
    n_children : int
        K >= 2.
    n_representatives : int or None
        Largest number of members that represent a cell; None for all of them.
    min_members : int
        Number of members of the smallest cell.
    max_depth : int, default=None
        Deepest level at which cells are split.

    Attributes
    ----------
    tree : Tree
        The nodes; the box of a node is the bounding box of its members.
    """

    def __init__(
        self,
        pool: np.ndarray,
        n_children: int,
        n_representatives: int | None,
        min_members: int = 1,
        max_depth: int | None = None,
    ) -> None:
        lower, upper = pool.min(axis=0), pool.max(axis=0)
        super().__init__(lower, upper, n_children, max_depth)
        self.pool = pool
        self.n_representatives = n_representatives
        self.min_members = min_members
        self._side = np.where(upper > lower, upper - lower, 1.0)
        self._slices: list[tuple[int, int]] = [(0, len(pool))]
        self._order = self._arrange()
        # Bounding boxes by slice: large slices take long to read.
        self._boxes: dict[tuple[int, int], np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_boxes": {}}

    def _arrange(self) -> np.ndarray:
        """Return a permutation of the rows in which every cell, at any depth, is a slice."""
        points, K = self.pool, self.tree.n_children
        n, d = points.shape
        order, cuts = np.arange(n), np.array([0, n])
        # Compare rows by the rank of their value: equal values have equal ranks.
        ranks = np.column_stack([np.unique(x, return_inverse=True)[1] for x in points.T])
        while (np.diff(cuts) >= K).any():
            sizes = np.diff(cuts)
            ordered = points[order]
            extent = [f.reduceat(ordered, cuts[:-1]) for f in (np.maximum, np.minimum)]
            axis = np.argmax((extent[0] - extent[1]) / self._side, axis=1)
            segment = np.repeat(np.arange(len(sizes)), sizes)
            rank = ranks.ravel()[order * d + axis[segment]]
            rank = np.where(sizes[segment] >= K, rank, 0)
            order = order[sorted_within(segment, rank)]
            parts = cuts[:-1, None] + sizes[:, None] * np.arange(K) // K
            cuts = np.append(parts[(sizes >= K)[:, None] | (np.arange(K) == 0)], n)
        return order

    def _cuts(self, start: int, stop: int) -> np.ndarray:
        return start + (stop - start) * np.arange(self.tree.n_children + 1) // self.tree.n_children

    def _divisible(self, start: int, stop: int) -> bool:
        return stop - start >= self.tree.n_children * self.min_members

    def splittable(self, node: int) -> bool:
        """Return whether a node may be split: not too deep, and enough members for K children."""
        return self.tree.node(node)[0] <= self.max_depth and self._divisible(*self._slices[node])

    def split(self, node: int) -> int:
        """Split a leaf into K children; return the index of the first."""
        cuts = self._cuts(*self._slices[node]).tolist()
        slices = list(pairwise(cuts))
        first = self.tree.split(node, np.stack([self._bounding_box(s) for s in slices]))
        self._slices.extend(slices)
        return first

    def copy(self) -> Self:
        """Return a partition that can be split without changing this one."""
        other = super().copy()
        vars(other).update(_slices=list(self._slices))
        return other

    def row_sets(self, start: int, stop: int) -> list[np.ndarray]:
        """Return the representatives of nodes start..stop-1, one array (S, d) for each."""
        return [self._sample(self._slices[node]) for node in range(start, stop)]

    def cell_at(self, depth: int, index: int) -> Cell:
        """Return the cell (depth, index), even if the tree has not reached it."""
        K, where = self.tree.n_children, self._slices[0]
        for level in range(depth - 1, -1, -1):
            if not self._divisible(*where):
                raise ValueError(f"cell (depth={depth}, index={index}) would have too few members")
            cuts, j = self._cuts(*where), index // K**level % K
            where = int(cuts[j]), int(cuts[j + 1])
        return self._cell(depth, index, where)

    def _rows_of_cell(self, cell: Cell) -> np.ndarray:
        return cell.points

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return the points (n, d) themselves as descriptor rows."""
        return points

    def deviation_row_sets(self, depth: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (representatives, members) of a sample of cells at a depth."""
        K, sample = self.tree.n_children, []
        for index in sorted({j * K**depth // 8 for j in range(8)} | {K**depth - 1}):
            try:
                cell = self.cell_at(depth, index)
            except ValueError:
                continue
            members = np.asarray(cell.members)
            step = -(-len(members) // N_DEVIATION_POINTS)
            sample.append((cell.points, self.pool[members[::step]]))
        return sample

    def _bounding_box(self, where: tuple[int, int]) -> np.ndarray:
        box = self._boxes.get(where)
        if box is None:
            points = self.pool[self._order[slice(*where)]]
            box = self._boxes[where] = np.concatenate([points.min(axis=0), points.max(axis=0)])
        return box

    def _sample(self, where: tuple[int, int]) -> np.ndarray:
        start, stop = where
        n, S = stop - start, self.n_representatives
        members = self._order[start:stop]
        if S == 1:
            points = self.pool[members]
            distances = np.abs((points - points.mean(axis=0)) / self._side).sum(axis=1)
            return points[[int(np.argmin(distances))]]
        if S is not None and n > S:
            members = members[(np.arange(S) * 2 + 1) * n // (2 * S)]
        return self.pool[members]

    def _cell_of(self, node: int) -> Cell:
        depth, index, _ = self.tree.node(node)
        return self._cell(depth, index, self._slices[node])

    def _cell(self, depth: int, index: int, where: tuple[int, int]) -> Cell:
        box = self._bounding_box(where)
        d = self.tree.n_features
        members = np.sort(self._order[slice(*where)])
        members.flags.writeable = False
        return Cell(depth, index, box[:d], box[d:], self._sample(where), members)


def sorted_within(segment: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return positions in the order of (segment, rank, position), integers >= 0 and below n."""
    n = len(rank)
    if n**3 >= 2**63:
        return np.lexsort((rank, segment))
    # One number for all three: it sorts five times faster than lexsort.
    packed = (segment * n + rank) * n + np.arange(n)
    packed.sort()
    return packed % n

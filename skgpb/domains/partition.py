"""What partitions of a box and of a pool share: a tree of cells, each a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from math import log2
from typing import Any, Self

import numpy as np

from skgpb._core._tree import Tree
from skgpb.domains.cell import Cell
from skgpb.domains.query import PointsQuery

# Node indices are 64-bit: K^depth must stay below 2^62.
INDEX_BITS = 62


def deepest_level(n_children: int) -> int:
    """Deepest level at which the cells of a K-ary tree can be split."""
    return int(INDEX_BITS / log2(n_children)) - 1


class Partition(ABC):
    """K-ary partition of a domain, as deep as a search has come.

    Parameters
    ----------
    lower, upper : ndarray of shape (d,)
        Corners of the root.
    n_children : int
        K >= 2.
    max_depth : int or None
        Deepest level at which cells are split; None for no other limit than that of indices.

    Attributes
    ----------
    tree : Tree
        The nodes.
    n_representatives : tuple of d ints, int or None
        Points that stand for a cell.
    """

    n_representatives: Any

    def __init__(
        self, lower: np.ndarray, upper: np.ndarray, n_children: int, max_depth: int | None
    ) -> None:
        self.tree = Tree(n_children, lower, upper)
        self.max_depth = deepest_level(n_children) if max_depth is None else max_depth
        # A cell that is asked again and again is one object: histories grow by references.
        self._cells: dict[int, Cell] = {}

    @abstractmethod
    def splittable(self, node: int) -> bool:
        """Whether the cell of a node may be split: as printed, at max_depth too (D-A3)."""

    @abstractmethod
    def split(self, node: int) -> int:
        """Turn a leaf into K children; the number of the first."""

    @abstractmethod
    def blocks(self, start: int, stop: int) -> list[np.ndarray]:
        """Descriptor rows of nodes start..stop-1, one block each."""

    @abstractmethod
    def cell_at(self, depth: int, index: int) -> Cell:
        """Return the cell (depth, index), whether or not the tree has reached it."""

    @abstractmethod
    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows of points (n, d)."""

    @abstractmethod
    def _rows_of_cell(self, cell: Cell) -> np.ndarray:
        """Descriptor rows of a cell."""

    @abstractmethod
    def _cell_of(self, node: int) -> Cell:
        """Make the query of a node."""

    def copy(self) -> Self:
        """Return a partition that can be split without changing this one."""
        other = copy(self)
        # What is split from here on has other numbers there.
        vars(other).update(tree=self.tree.copy(), _cells={})
        return other

    def cell(self, node: int) -> Cell:
        """Return the query of a node."""
        cell = self._cells.get(node)
        if cell is None:
            cell = self._cells[node] = self._cell_of(node)
        return cell

    def node_of(self, query: Cell | PointsQuery) -> int:
        """Node of a query, -1 where the tree has none for it."""
        if isinstance(query, PointsQuery):
            return -1
        return self.tree.find(query.depth, query.index)

    def block_of(self, query: Cell | PointsQuery) -> np.ndarray:
        """Descriptor rows of what a query observes."""
        if isinstance(query, PointsQuery):
            return self.rows_of(query.points)
        return self._rows_of_cell(query)

    @property
    def expanded(self) -> np.ndarray:
        """Nodes that were split, in that order."""
        return self.tree.parent[1 :: self.tree.n_children]

    def front(self, finest: int) -> list[int]:
        """Leaves down to a depth; split nodes of that depth stand for what lies below them."""
        depth, leaves, expanded = self.tree.depth, self.tree.leaves, self.expanded
        nodes = leaves[depth[leaves] <= finest], expanded[depth[expanded] == finest]
        return np.concatenate(nodes).tolist()

    def finer(self, nodes: list[int], finest: int) -> list[int]:
        """Split those nodes above a depth that may be split; their children."""
        children: list[int] = []
        for node in nodes:
            if self.tree.node(node)[0] < finest and self.splittable(node):
                first = self.split(node)
                children += range(first, first + self.tree.n_children)
        return children

    def block(self, node: int) -> np.ndarray:
        """Descriptor rows of a node."""
        return self.blocks(node, node + 1)[0]

    def query(self, node: int) -> Cell:
        """Return the query of a node, as :meth:`cell` does."""
        return self.cell(node)

    def resolve(self, query: Cell) -> None:
        """Raise ValueError unless a query is a cell of this partition, reached or not."""
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
        """Error that says what this partition is, and that a query is no cell of it."""
        bounds = np.stack(np.split(self.tree.box(0, 1)[0], 2), axis=1)
        return ValueError(
            f"{query} is not a cell of this optimizer's partition (bounds {bounds.tolist()}, "
            f"n_children={self.tree.n_children}, representatives {self.n_representatives})"
        )

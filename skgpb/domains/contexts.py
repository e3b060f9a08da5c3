"""Cells of a tree over contexts and actions, as queries in one context at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb._core._tree import Tree
from skgpb.domains.arms import PointsQuery
from skgpb.domains.partition import BoxPartition, Cell


class ContextCell(Cell):
    """The action side of a cell, in a context.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The context of ``ask``.
    lower, upper : ndarray of shape (d_c + d_a,)
        Corners: the context in both, then the corners of the cell of actions.
    points : ndarray of shape (S, d_c + d_a)
        The context, followed by each representative action.
    actions : ndarray of shape (S, d_a)
        The representative actions.
    depth, index : int
        Position of the cell in the tree over contexts and actions.
    """

    __slots__ = ("n_context",)

    arguments: ClassVar[tuple[str, ...]] = ("n_context", *Cell.arguments)

    n_context: int

    def __init__(self, n_context: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        object.__setattr__(self, "n_context", n_context)

    @property
    def context(self) -> np.ndarray:
        """The context, shape (d_c,)."""
        return self.lower[: self.n_context]

    @property
    def actions(self) -> np.ndarray:
        """Representative actions, shape (S, d_a)."""
        return self.points[:, self.n_context :]


class ContextPartition:
    """Partition of contexts and actions together, whose queries are cells of actions in a context.

    Parameters
    ----------
    joint : BoxPartition
        Partition of the joint box.
    bounds : ndarray of shape (d_c, 2)
        Box of the contexts, the leading sides of the joint box.
    """

    joint: BoxPartition
    n_context: int

    _kept_fields = ("joint",)

    def __init__(self, joint: BoxPartition, bounds: np.ndarray) -> None:
        self.joint, self.n_context = joint, len(bounds)
        self._top = bounds[:, 1]

    @property
    def tree(self) -> Tree:
        """Nodes of the joint partition."""
        return self.joint.tree

    @property
    def max_depth(self) -> int:
        """Deepest level at which cells are split."""
        return self.joint.max_depth

    @max_depth.setter
    def max_depth(self, value: int) -> None:
        self.joint.max_depth = value

    def relevant(self, context: np.ndarray) -> np.ndarray:
        """Return the leaves whose cell contains a context."""
        return self.containing(self.tree.leaves, context)

    def containing(self, nodes: np.ndarray, context: np.ndarray) -> np.ndarray:
        """Return the nodes whose cell contains a context; cells are half open but at the top."""
        d, tree = self.n_context, self.tree
        boxes = tree.box(0, tree.n_nodes)[nodes]
        lower, upper = boxes[:, :d], boxes[:, tree.n_features :][:, :d]
        below = (context < upper) | ((context == self._top) & (upper == self._top))
        return nodes[((lower <= context) & below).all(axis=1)]

    def cell(self, node: int) -> Cell:
        """Return the cell of contexts and actions of a node."""
        return self.joint.cell(node)

    def query_in_context(self, node: int, context: np.ndarray) -> ContextCell:
        """Return the query of a node in a context."""
        return self._make_query(self.joint.cell(node), context)

    def candidate(self, node: int, context: np.ndarray) -> np.ndarray:
        """Return the descriptor row (1, 2 d) of the query of a node in a context."""
        return self.joint.row_set_with(node, context)

    def node_of(self, query: Cell | PointsQuery) -> int:
        """Return the node of a query, -1 if it is not in the tree."""
        return self.joint.node_of(query)

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows (n, 2 d) of points (n, d)."""
        return self.joint.rows_of(points)

    def rows_of_query(self, query: Cell | PointsQuery) -> np.ndarray:
        """Return the descriptor rows of a query."""
        return self.joint.rows_of_query(query)

    def resolve(self, query: Cell) -> None:
        """Raise ValueError unless a query is a cell of this partition, in a context or without."""
        if not isinstance(query, ContextCell):
            self.joint.resolve(query)
            return
        depth, index, d = query.depth, query.index, self.tree.n_features
        known = query.n_context == self.n_context and len(query.lower) == d
        if known and 0 <= depth <= self.max_depth + 1 and 0 <= index < self.tree.n_children**depth:
            cell = self.joint.cell_at(depth, index)
            inside = (cell.lower <= query.lower) & (query.upper <= cell.upper)
            if inside.all() and self._make_query(cell, query.context) == query:
                return
        raise self.joint.refusal(query)

    def _make_query(self, cell: Cell, context: np.ndarray) -> ContextCell:
        n = self.n_context
        lower, upper = (np.concatenate([context, end[n:]]) for end in (cell.lower, cell.upper))
        spec = cell.spec
        if isinstance(spec, np.ndarray):
            spec = np.concatenate([context, spec[0, n:]])[None]
        played = ContextCell(n, cell.depth, cell.index, lower, upper, spec)
        return played.with_names(self.joint.space)

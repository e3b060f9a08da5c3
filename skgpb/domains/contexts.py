"""Actions, arms or cells, as queries in one context at a time."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from skgpb._core._tree import Tree
from skgpb.domains.arms import Arm, ArmSet, BoxCandidates
from skgpb.domains.candidates import spread_points
from skgpb.domains.partition import BoxPartition, Cell
from skgpb.domains.query import PointsQuery
from skgpb.domains.space import ParameterSpace
from skgpb.utils import check_inside

# Contexts that stand for all of them are so many at least, and more while the rows are so few.
N_CONTEXTS, MOST_ROWS = 10, 2_000


class _InContext:
    """What a query in a context has beside those of its kind."""

    __slots__ = ()

    # What it needs of the class that it is mixed into.
    n_context: int
    lower: np.ndarray
    points: np.ndarray

    @property
    def context(self) -> np.ndarray:
        """The context, shape (d_c,)."""
        return self.lower[: self.n_context]

    @property
    def actions(self) -> np.ndarray:
        """Representative actions, shape (S, d_a)."""
        return self.points[:, self.n_context :]


class ContextArm(_InContext, Arm):
    """An arm in a context.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The context that was asked for.
    index : int
        Row of the arm in ``arms``; -1 for a point of a box of actions.
    descriptor : ndarray of shape (n_columns,)
        The row that the kernel takes: the context, then the action.
    points : ndarray of shape (S, d_c + d_a)
        The context beside each representative action.
    """

    __slots__ = ("n_context",)

    arguments: ClassVar[tuple[str, ...]] = ("n_context", *Arm.arguments)

    def __init__(self, n_context: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        object.__setattr__(self, "n_context", n_context)

    def describe(self) -> str:
        """Context and action."""
        action = self.actions[0] if len(self.points) == 1 else self.box.reshape(2, -1)
        return f"ContextArm(context={self.context}, action={action})"


class ContextCell(_InContext, Cell):
    """The action side of a cell, in a context.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The context that was asked for.
    lower, upper : ndarray of shape (d_c + d_a,)
        Corners: the context in both, then those of the cell's actions.
    points : ndarray of shape (S, d_c + d_a)
        The context beside each representative action.
    depth, index : int
        Place of the cell in the tree over contexts and actions.
    """

    __slots__ = ("n_context",)

    arguments: ClassVar[tuple[str, ...]] = ("n_context", *Cell.arguments)

    n_context: int

    def __init__(self, n_context: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        object.__setattr__(self, "n_context", n_context)


class ContextArms(ArmSet):
    """Arms, candidates in a box of actions or cells, in one context: rows [context, action].

    Parameters
    ----------
    actions : ArmSet, BoxCandidates or FreeCells
        What can be played in any context.
    bounds : ndarray of shape (d_c + d_a, 2)
        Box of contexts and actions together.
    space : ParameterSpace, default=None
        What the sides of that box are called; None where they have no names.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The present context: :meth:`within` has other ones.
    rows : ndarray of shape (n_arms, n_columns)
        The arms in it.
    """

    def __init__(
        self, actions: ArmSet, bounds: np.ndarray, space: ParameterSpace | None = None
    ) -> None:
        self.n_context: int = len(bounds) - len(actions.bounds)
        counts = None if actions.counts is None else (1,) * self.n_context + actions.counts
        super().__init__(np.empty((0, 0)), bounds, counts, space)
        self.actions: Any = actions
        if isinstance(actions, BoxCandidates):
            actions.spread_out()
        self.context: np.ndarray = bounds[: self.n_context].mean(axis=1)
        self.rows = self.beside(self.context, actions.rows)

    @property
    def follows(self) -> bool:
        """Whether there are more actions than candidates, so that some follow what is known."""
        return isinstance(self.actions, BoxCandidates) and self.actions.adaptive

    def within(self, context: np.ndarray) -> Self:
        """Return the same arms in another context."""
        out = copy(self)
        out.context, out.rows = context, self.beside(context, self.actions.rows)
        return out

    def following(self, rows: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> Self:
        """Return candidates in this context that follow the best of some rows.

        Parameters
        ----------
        rows : ndarray of shape (n, n_columns)
            Actions in this context.
        values : ndarray of shape (n,)
            What is known of f there.
        rng : Generator
            Scatters candidates around the best.
        """
        out = copy(self)
        moved = copy(self.actions)
        moved.move(moved.places_of(self.actions_of(rows)), values, rng)
        out.rows = self.beside(self.context, moved.rows)
        return out

    def beside(self, context: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Rows [context, action] of rows of actions."""
        parts = np.split(rows, 1 if self.counts is None else 2, axis=1)
        given = np.broadcast_to(context, (len(rows), self.n_context))
        return np.hstack([each for part in parts for each in (given, part)])

    def every_row(self) -> np.ndarray:
        """Rows of the arms in contexts that fill their box evenly."""
        n = self.n_context
        box, each = self.bounds[:n], max(N_CONTEXTS, MOST_ROWS // len(self.actions.rows))
        contexts = spread_points(box, each, np.full(n, 0.5))
        return np.concatenate([self.beside(context, self.actions.rows) for context in contexts])

    def around(self, places: np.ndarray, rng: np.random.Generator) -> Self:
        """Return cells in this context of which some lie at and around ``places`` (k, d_a)."""
        out, moved = copy(self), copy(self.actions)
        moved.move(places, rng)
        out.rows = self.beside(self.context, moved.rows)
        return out

    def action_of(self, query: Arm | PointsQuery) -> Any:
        """Return what is played in a query, whatever its context."""
        if isinstance(query, Arm):
            row = self.actions_of(query.descriptor[None])[0]
            return Arm(query.index, row, self.actions.counts)
        return PointsQuery(query.points[:, self.n_context :])

    def actions_of(self, rows: np.ndarray) -> np.ndarray:
        """Rows of actions, in rows [context, action]."""
        parts = np.split(rows, 1 if self.counts is None else 2, axis=1)
        return np.hstack([part[:, self.n_context :] for part in parts])

    def arm(self, slot: int) -> ContextArm:
        """Return the query of a row."""
        return self._played(self.actions.arm(slot).index, self.rows[slot].copy())

    def first_arm(
        self, n: int, known: np.ndarray, failed: np.ndarray, seed: int
    ) -> ContextArm | None:
        """Of n actions that fill their box evenly the one farthest from what is known."""
        arm = self.actions.first_arm(n, self.actions_of(known), self.actions_of(failed), seed)
        if arm is None:
            return None
        return self._played(arm.index, self.beside(self.context, arm.descriptor[None])[0])

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Row of a query, -1 where it is none of the arms in the present context."""
        if isinstance(query, ContextArm) and query.index >= 0:
            return query.index if np.array_equal(query.context, self.context) else -1
        return super().slot_of(query)

    def _played(self, index: int, row: np.ndarray) -> ContextArm:
        return ContextArm(self.n_context, index, row, self.counts).named(self.space)

    def _knows(self, query: Arm) -> bool:
        n = self.n_context
        if not isinstance(query, ContextArm) or query.n_context != n:
            return False
        if query.counts != self.counts or len(query.lower) != len(self.bounds):
            return False
        if not np.array_equal(query.context, query.upper[:n]):
            return False
        check_inside(query.context[None], self.bounds[:n])
        try:
            self.actions.resolve(self.action_of(query))
        except ValueError:
            return False
        return True


class ContextPartition:
    """A partition of contexts and actions together, whose cells are played in a context.

    Parameters
    ----------
    joint : BoxPartition
        The partition of the box of both.
    bounds : ndarray of shape (d_c, 2)
        Where contexts come from, the leading sides of that box.
    """

    joint: BoxPartition
    n_context: int

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
        """Leaves whose cell contains a context."""
        return self.containing(self.tree.leaves, context)

    def containing(self, nodes: np.ndarray, context: np.ndarray) -> np.ndarray:
        """Those nodes whose cell, half open but at the top of the domain, contains a context."""
        d, tree = self.n_context, self.tree
        boxes = tree.box(0, tree.n_nodes)[nodes]
        lower, upper = boxes[:, :d], boxes[:, tree.n_features :][:, :d]
        below = (context < upper) | ((context == self._top) & (upper == self._top))
        return nodes[((lower <= context) & below).all(axis=1)]

    def cell(self, node: int) -> Cell:
        """Return the cell of contexts and actions of a node."""
        return self.joint.cell(node)

    def played(self, node: int, context: np.ndarray) -> ContextCell:
        """Return the query of a node in a context."""
        return self._in_context(self.joint.cell(node), context)

    def candidate(self, node: int, context: np.ndarray) -> np.ndarray:
        """Descriptor row (1, 2 d) of what is observed when a node is played in a context."""
        return self.joint.block_beside(node, context)

    def node_of(self, query: Cell | PointsQuery) -> int:
        """Node of a query, -1 where the tree has none for it."""
        return self.joint.node_of(query)

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, 2 d) of points (n, d)."""
        return self.joint.rows_of(points)

    def block_of(self, query: Cell | PointsQuery) -> np.ndarray:
        """Descriptor rows of what a query observes."""
        return self.joint.block_of(query)

    def resolve(self, query: Cell) -> None:
        """Raise ValueError unless a query is a cell of this partition, in a context or not."""
        if not isinstance(query, ContextCell):
            self.joint.resolve(query)
            return
        depth, index, d = query.depth, query.index, self.tree.n_features
        known = query.n_context == self.n_context and len(query.lower) == d
        if known and 0 <= depth <= self.max_depth + 1 and 0 <= index < self.tree.n_children**depth:
            cell = self.joint.cell_at(depth, index)
            inside = (cell.lower <= query.lower) & (query.upper <= cell.upper)
            if inside.all() and self._in_context(cell, query.context) == query:
                return
        raise self.joint.refusal(query)

    def _in_context(self, cell: Cell, context: np.ndarray) -> ContextCell:
        n = self.n_context
        lower, upper = (np.concatenate([context, end[n:]]) for end in (cell.lower, cell.upper))
        spec = cell.spec
        if isinstance(spec, np.ndarray):
            spec = np.concatenate([context, spec[0, n:]])[None]
        played = ContextCell(n, cell.depth, cell.index, lower, upper, spec)
        return played.named(self.joint.space)


def without_contexts(arms: ArmSet) -> ArmSet:
    """What can be played, whatever the context."""
    return arms.actions if isinstance(arms, ContextArms) else arms

"""Actions, arms or cells, as queries in one context at a time."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from skgpb._core._tree import Tree
from skgpb.domains.arms import Arm, ArmSet, BoxCandidates
from skgpb.domains.blocks import BlockArm, BlockSet
from skgpb.domains.candidates import spread_points
from skgpb.domains.cells import FreeCells
from skgpb.domains.context_queries import IN_CONTEXT, ArmInContext, ContextBlockArm, InContext
from skgpb.domains.partition import BoxPartition, Cell
from skgpb.domains.query import PointsQuery
from skgpb.domains.space import ParameterSpace
from skgpb.utils import check_inside

# Contexts that stand for all of them are so many at least, and more while the rows are so few.
N_CONTEXTS, MOST_ROWS = 10, 2_000


class ContextCell(InContext, Cell):
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


class ContextArms(ArmSet):
    """Arms, candidates in a box of actions or cells, in one context: rows [context, action].

    Parameters
    ----------
    actions : ArmSet
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
        """Rows [context, action] of rows of actions, in one context or in one for each."""
        *parts, behind = self._parts(rows)
        given = np.broadcast_to(context, (len(rows), self.n_context))
        return np.hstack([*(each for part in parts for each in (given, part)), behind])

    def _parts(self, rows: np.ndarray) -> list[np.ndarray]:
        """Points, or lower and upper corners, of rows, and what stands behind them."""
        end = rows.shape[1] - self.actions.n_behind
        corners = np.split(rows[:, :end], 1 if self.counts is None else 2, axis=1)
        return [*corners, rows[:, end:]]

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
        if not isinstance(query, ArmInContext):
            return PointsQuery(query.points[:, self.n_context :])
        row = self.actions_of(np.atleast_2d(query.descriptor)).reshape(
            *query.descriptor.shape[:-1], -1
        )
        return _with_row(query, query.kind, row, self.actions.counts)

    def actions_of(self, rows: np.ndarray) -> np.ndarray:
        """Rows of actions, in rows [context, action]."""
        *parts, behind = self._parts(rows)
        return np.hstack([*(part[:, self.n_context :] for part in parts), behind])

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, n_columns) of points (n, d_c + d_a)."""
        contexts, actions = np.split(points, [self.n_context], axis=1)
        return self.beside(contexts, self.actions.rows_of(actions))

    def places_of(self, rows: np.ndarray) -> np.ndarray:
        """Contexts beside points, or centres (n, d_c + d_a), that rows describe."""
        actions = self.actions.places_of(self.actions_of(rows))
        return np.hstack([rows[:, : self.n_context], actions])

    def arm(self, slot: int) -> Any:
        """Return the query of a row."""
        return self._played(self.actions.arm(slot), self.rows[slot].copy())

    def query_of(self, index: int, row: np.ndarray) -> Any:
        """Return the query that a row (n_columns,) describes."""
        return self._played(self.actions.query_of(index, self.actions_of(row[None])[0]), row)

    def told(self, values: np.ndarray) -> Any:
        """Return the query that numbers stand for, a context in front; None for points."""
        n = self.n_context
        action = self.actions.told(values[n:])
        if action is None:
            return None
        check_inside(values[None, :n], self.bounds[:n])
        return self._played(action, self.beside(values[:n], action.descriptor[None])[0])

    def named_arm(self, name: str) -> Any:
        """Return the district that is called so, in the present context."""
        return self.arm(self.actions.named_arm(name).index)

    def free_cells(self) -> FreeCells:
        """Return the actions of this context, of which some lie where the best targets do."""
        out = copy(self.actions)
        out.rows = self.actions_of(self.rows)
        return out

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Any:
        """Of n actions that fill their box evenly the one farthest from what is known."""
        arm = self.actions.first_arm(n, self.actions_of(known), self.actions_of(failed), seed)
        if arm is None:
            return None
        rows = self.beside(self.context, np.atleast_2d(arm.descriptor))
        return self._played(arm, rows.reshape(*arm.descriptor.shape[:-1], -1))

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Row of a query, -1 where it is none of the arms in the present context."""
        if isinstance(query, ArmInContext) and query.index >= 0:
            return query.index if np.array_equal(query.context, self.context) else -1
        return super().slot_of(query)

    def _played(self, action: Arm, row: np.ndarray) -> Any:
        """Return what is played as the query of a row [context, action]."""
        return _with_row(
            action, IN_CONTEXT[type(action)], row, self.counts, n_context=self.n_context
        ).named(self.space)

    def _knows(self, query: Arm) -> bool:
        n = self.n_context
        if not isinstance(query, ArmInContext) or query.n_context != n:
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


class ContextBlocks(ContextArms):
    """The same of queries of several rows each, all of which are in the context.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        The rows of all queries in the present context, one block below the other.
    starts : ndarray of shape (n_queries + 1,)
        Where the rows of each begin.
    """

    actions: BlockSet

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def starts(self) -> np.ndarray:
        """Where the rows of each query begin, shape (n_queries + 1,)."""
        return self.actions.starts

    def slots(self, number: int) -> np.ndarray:
        """Rows of a query, by number."""
        return self.actions.slots(number)

    def arm(self, slot: int) -> ContextBlockArm:
        """Return the query of a number."""
        return self._played(self.actions.arm(slot), self.rows[self.slots(slot)])

    def found(self, points: Any) -> ContextBlockArm | None:
        """Return the query of exactly these rows (k, n_columns), None where there is none."""
        rows = np.asarray(points)
        n = self.n_context
        if rows.ndim != 2 or rows.shape[1] != self.rows.shape[1]:
            return None
        if (rows[:, :n] != rows[:1, :n]).any():
            return None
        action = self.actions.found(self.actions_of(rows))
        if action is None:
            return None
        check_inside(rows[:1, :n], self.bounds[:n])
        return self._played(action, np.array(rows, dtype=np.float64))

    def apart_from(self, query: Arm) -> np.ndarray:
        """Which queries differ from one, shape (n_queries,)."""
        return np.arange(len(self)) != self.slot_of(query)

    def block_of(self, query: Arm | PointsQuery) -> np.ndarray:
        """Descriptor rows of what a query observes."""
        return query.descriptor if isinstance(query, BlockArm) else super().block_of(query)

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Return the number of a query in the present context, -1 where it is none of them."""
        return super().slot_of(query) if isinstance(query, BlockArm) else -1


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


def in_contexts(
    actions: ArmSet, bounds: np.ndarray, space: ParameterSpace | None = None
) -> ContextArms:
    """Return what can be played in contexts; parameters as of :class:`ContextArms`."""
    kind = ContextBlocks if isinstance(actions, BlockSet) else ContextArms
    return kind(actions, bounds, space)


def _with_row(
    query: Any, kind: Any, row: np.ndarray, counts: tuple[int, ...] | None, **further: Any
) -> Any:
    """Return a query of another kind that has a row of its own, and else what a query has."""
    given = {"descriptor": row, "counts": counts, **further}
    return kind(
        *(given[name] if name in given else getattr(query, name) for name in kind.arguments)
    )

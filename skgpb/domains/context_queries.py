"""Queries in a context: each kind of arm with what it is to be played in."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb.domains.arms import Arm
from skgpb.domains.blocks import BlockArm
from skgpb.domains.discs import Disc
from skgpb.domains.districts import District
from skgpb.domains.fidelities import FidelityArm
from skgpb.kernels.ball_average import points_in_balls


class InContext:
    """What a query in a context has beside those of its kind."""

    __slots__ = ()

    # What it needs of the class that it is mixed into.
    n_context: int
    lower: Any
    points: np.ndarray

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


class ArmInContext(InContext):
    """The same of arms, of which ``kind`` says what is played, whatever the context."""

    __slots__ = ()

    kind: ClassVar[type[Arm]]
    index: int
    descriptor: np.ndarray
    box: Any

    def describe(self) -> str:
        """Context and action."""
        action = self.actions[0] if len(self.points) == 1 else self.box.reshape(2, -1)
        return f"{type(self).__name__}(context={self.context}, action={action})"


class ContextArm(ArmInContext, Arm):
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
    kind: ClassVar[type[Arm]] = Arm


class ContextBlockArm(ArmInContext, BlockArm):
    """A query that is answered with several numbers at once, in a context.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The context that was asked for.
    descriptor : ndarray of shape (k, n_columns)
        Its rows, as the kernel takes them, each with the context in front.
    index, parts, points, lower, upper, center, counts
        As a :class:`BlockArm` has them, contexts and actions together.
    """

    __slots__ = ("n_context",)

    arguments: ClassVar[tuple[str, ...]] = ("n_context", *BlockArm.arguments)
    kind: ClassVar[type[Arm]] = BlockArm


class ContextDisc(ArmInContext, Disc):
    """A disc, a ball or an ellipse of actions, in a context.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The context that was asked for.
    radius : ndarray of shape (d_a,)
        Half of its extent along each axis of the actions.
    points : ndarray of shape (S, d_c + d_a)
        The context beside each of the points that stand for it.
    index, descriptor, counts, lower, upper, center
        As a :class:`Disc` has them, contexts and actions together.
    """

    __slots__ = ("n_context",)

    arguments: ClassVar[tuple[str, ...]] = ("n_context", *Disc.arguments)
    kind: ClassVar[type[Arm]] = Disc

    @property
    def radius(self) -> np.ndarray:
        """Half of its extent along each axis of the actions, shape (d_a,)."""
        return 0.5 * (self.upper - self.lower)[self.n_context :]

    def find_points(self) -> np.ndarray:
        """The context beside each of the points that stand for it."""
        return points_in_balls(self.box[None], self.n_context).points


class ContextDistrict(ArmInContext, District):
    """A district in a context; its answer is ``weights @ f(points)``.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The context that was asked for.
    name : str or int
        What the district is called.
    points : ndarray of shape (S, d_c + d_a)
        The context beside each of its points.
    weights : ndarray of shape (S,)
        What they count in the average; their sum is 1.
    index, lower, upper, center, descriptor, counts
        As a :class:`District` has them, contexts and points together.
    """

    __slots__ = ("n_context",)

    arguments: ClassVar[tuple[str, ...]] = ("n_context", *District.arguments)
    kind: ClassVar[type[Arm]] = District

    @property
    def context(self) -> np.ndarray:
        """The context, shape (d_c,)."""
        return self.descriptor[: self.n_context]

    @property
    def actions(self) -> np.ndarray:
        """Its points, without the context, shape (S, d_a)."""
        return self.members

    def find_points(self) -> np.ndarray:
        """The context beside each of its points."""
        return np.hstack([np.tile(self.context, (len(self.members), 1)), self.members])

    @property
    def lower(self) -> np.ndarray:
        """Lower corner of the box around its points, shape (d_c + d_a,)."""
        return self.points.min(axis=0)

    @property
    def upper(self) -> np.ndarray:
        """Upper corner of the box around its points, shape (d_c + d_a,)."""
        return self.points.max(axis=0)

    def describe(self) -> str:
        """Context and name."""
        return f"ContextDistrict(context={self.context}, {self.name!r}, index={self.index})"


class ContextFidelityArm(ArmInContext, FidelityArm):
    """A point, or a cell, of a function or of one of its likenesses, in a context.

    Attributes
    ----------
    context : ndarray of shape (d_c,)
        The context that was asked for.
    task : int
        Which function is asked, 0 for the one whose best is sought.
    index, descriptor, points, counts, lower, upper, center
        As a :class:`FidelityArm` has them, contexts and actions together.
    """

    __slots__ = ("n_context",)

    arguments: ClassVar[tuple[str, ...]] = ("n_context", *FidelityArm.arguments)
    kind: ClassVar[type[Arm]] = FidelityArm

    def describe(self) -> str:
        """Task, context and action."""
        return f"{super().describe()[:-1]}, task={self.task})"


#: The kind in a context of each kind of arm.
IN_CONTEXT: dict[type[Arm], Any] = {
    each.kind: each
    for each in (ContextArm, ContextBlockArm, ContextDisc, ContextDistrict, ContextFidelityArm)
}

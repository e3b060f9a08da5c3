"""The query of the tree methods: one cell of a partition."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb.domains.query import Query
from skgpb.kernels._boxes import representatives


class Cell(Query):
    """One cell of a hierarchical partition, immutable and hashable.

    ``np.asarray(cell)`` gives :attr:`points`.

    Attributes
    ----------
    depth, index : int
        Place in the tree: the children of ``(depth, index)`` are ``(depth + 1, K * index + j)``.
    lower, upper : ndarray of shape (d,)
        Corners of the cell; for a pool, the bounding box of its members.
    members : ndarray of shape (n_members,) or None
        Row numbers of the pool's members in the cell; None where the domain is a box.
    spec : tuple of d ints or ndarray of shape (S, d)
        Representatives per axis of a box, or the representatives themselves.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> cell = GPOOOptimizer(bounds=[(0, 1)], n_representatives=4).ask()
    >>> cell
    Cell(depth=0, index=0, lower=[0.], upper=[1.])
    >>> cell.points.ravel()
    array([0.125, 0.375, 0.625, 0.875])
    """

    __slots__ = ("depth", "index", "lower", "members", "spec", "upper")

    arguments: ClassVar[tuple[str, ...]] = ("depth", "index", "lower", "upper", "spec", "members")

    depth: int
    index: int
    lower: np.ndarray
    upper: np.ndarray
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
        self.freeze(depth=depth, index=index, lower=lower, upper=upper, spec=spec, members=members)

    def find_points(self) -> np.ndarray:
        """Representatives of the cell."""
        if isinstance(self.spec, np.ndarray):
            return self.spec
        return representatives(self.lower, self.upper, self.spec)

    @property
    def center(self) -> np.ndarray:
        """Centre of the box [lower, upper], shape (d,)."""
        return 0.5 * (self.lower + self.upper)

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper], shape (2 d,)."""
        return np.concatenate([self.lower, self.upper])

    def __hash__(self) -> int:
        return hash((self.depth, self.index, self.lower.tobytes(), self.upper.tobytes()))

    def describe(self) -> str:
        """Place, corners and size."""
        size = "" if self.members is None else f", n_members={len(self.members)}"
        corners = f"lower={self.lower}, upper={self.upper}"
        return f"Cell(depth={self.depth}, index={self.index}, {corners}{size})"


class ContextCell(Cell):
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

    arguments = ("n_context", *Cell.arguments)

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

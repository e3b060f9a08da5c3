"""The query of the bandits over finite arms: one arm."""

from __future__ import annotations

import numpy as np

from skgpb.domains.query import Query
from skgpb.kernels._boxes import representatives


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
    >>> arm = GPUCBOptimizer(arms=[[0.0], [0.5], [1.0]]).ask()
    >>> arm
    Arm(index=0, descriptor=[0.])
    >>> arm.points
    array([[0.]])
    """

    __slots__ = ("counts", "descriptor", "index")

    arguments = ("index", "descriptor", "counts")

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
        return representatives(self.lower, self.upper, self.counts)

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
    def _d(self) -> int:
        return len(self.descriptor) // (1 if self.counts is None else 2)

    def __repr__(self) -> str:
        return f"Arm(index={self.index}, descriptor={self.descriptor})"

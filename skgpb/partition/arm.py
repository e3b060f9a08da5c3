"""The query of the bandits over finite arms: one arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.kernels._boxes import representatives


class Arm:
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

    __slots__ = ("_counts", "_points", "descriptor", "index")

    def __init__(
        self, index: int, descriptor: np.ndarray, counts: tuple[int, ...] | None = None
    ) -> None:
        put = object.__setattr__
        put(self, "index", index)
        put(self, "descriptor", descriptor)
        # Representatives per axis of a box; None for a point.
        put(self, "_counts", counts)
        put(self, "_points", None)
        descriptor.flags.writeable = False

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"an arm is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an arm is immutable: cannot delete {name}")

    @property
    def points(self) -> np.ndarray:
        """Where to evaluate f, shape (S, d)."""
        if self._points is None:
            if self._counts is None:
                points = self.descriptor[None]
            else:
                points = representatives(self.lower, self.upper, self._counts)
            points.flags.writeable = False
            object.__setattr__(self, "_points", points)
        return self._points

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
        return len(self.descriptor) // (1 if self._counts is None else 2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        points = self.points
        if dtype is not None and np.dtype(dtype) != points.dtype:
            if copy is False:
                raise ValueError("the points of an arm cannot be converted without a copy")
            return points.astype(dtype)
        return points.copy() if copy or copy is None else points

    def _key(self) -> tuple:
        return self.index, self.descriptor.tobytes(), self._counts

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Arm) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple:
        return Arm, (self.index, np.array(self.descriptor), self._counts)

    def __repr__(self) -> str:
        return f"Arm(index={self.index}, descriptor={self.descriptor})"

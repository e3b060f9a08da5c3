"""Balls as queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.kernels._boxes import representatives


class Ball:
    """One ball of a covering, immutable and hashable.

    ``np.asarray(ball)`` gives :attr:`points`.

    Attributes
    ----------
    index : int
        Number of the ball, the oldest being 0; -1 for a ball that is not part of the covering.
    depth : int
        How often its radius was halved.
    center : ndarray of shape (d,)
        The centre.
    radius : float
        The radius, lengths being measured in units of the domain's sides.
    lower, upper : ndarray of shape (d,)
        Corners of the smallest box around the part of the ball inside the domain; under the
        sup norm that part is the box.

    Examples
    --------
    >>> from skgpb import GPZoomingOptimizer
    >>> ball = GPZoomingOptimizer(bounds=[(0, 2)], diameter=(1.0, 1.0)).ask()
    >>> ball
    Ball(index=0, depth=0, center=[1.], radius=1.0)
    >>> ball.points, ball.lower, ball.upper
    (array([[1.]]), array([0.]), array([2.]))
    """

    __slots__ = ("_points", "_spec", "center", "depth", "index", "lower", "radius", "upper")

    def __init__(
        self,
        index: int,
        depth: int,
        center: np.ndarray,
        radius: float,
        lower: np.ndarray,
        upper: np.ndarray,
        spec: tuple[int, ...] | None,
    ) -> None:
        put = object.__setattr__
        put(self, "index", index)
        put(self, "depth", depth)
        put(self, "center", center)
        put(self, "radius", radius)
        put(self, "lower", lower)
        put(self, "upper", upper)
        # Representatives per axis of the box; None where the centre is the only one.
        put(self, "_spec", spec)
        put(self, "_points", None)
        center.flags.writeable = lower.flags.writeable = upper.flags.writeable = False

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a ball is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a ball is immutable: cannot delete {name}")

    @property
    def points(self) -> np.ndarray:
        """The centre, or representatives of the box [lower, upper]; shape (S, d)."""
        if self._points is None:
            if self._spec is None:
                points = self.center[None]
            else:
                points = representatives(self.lower, self.upper, self._spec)
            points.flags.writeable = False
            object.__setattr__(self, "_points", points)
        return self._points

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        points = self.points
        if dtype is not None and np.dtype(dtype) != points.dtype:
            if copy is False:
                raise ValueError("the points of a ball cannot be converted without a copy")
            return points.astype(dtype)
        return points.copy() if copy or copy is None else points

    def _key(self) -> tuple:
        arrays = (self.center.tobytes(), self.lower.tobytes(), self.upper.tobytes())
        return self.index, self.depth, self.radius, self._spec, *arrays

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Ball) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((self.index, self.depth, self.center.tobytes()))

    def __reduce__(self) -> tuple:
        arguments = (self.index, self.depth, self.center, self.radius, self.lower, self.upper)
        return Ball, (*arguments, self._spec)

    def __repr__(self) -> str:
        where = f"center={self.center}, radius={self.radius}"
        return f"Ball(index={self.index}, depth={self.depth}, {where})"

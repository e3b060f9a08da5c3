"""Balls as queries."""

from __future__ import annotations

import numpy as np

from skgpb.domains.query import Query
from skgpb.kernels._boxes import representatives


class Ball(Query):
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
    spec : tuple of d ints or None
        Representatives per axis of the box; None where the centre is the only one.

    Examples
    --------
    >>> from skgpb import GPZoomingOptimizer
    >>> ball = GPZoomingOptimizer(bounds=[(0, 2)], diameter=(1.0, 1.0)).ask()
    >>> ball
    Ball(index=0, depth=0, center=[1.], radius=1.0)
    >>> ball.points, ball.lower, ball.upper
    (array([[1.]]), array([0.]), array([2.]))
    """

    __slots__ = ("center", "depth", "index", "lower", "radius", "spec", "upper")

    arguments = ("index", "depth", "center", "radius", "lower", "upper", "spec")

    index: int
    depth: int
    center: np.ndarray
    radius: float
    lower: np.ndarray
    upper: np.ndarray
    spec: tuple[int, ...] | None

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
        self.freeze(
            index=index,
            depth=depth,
            center=center,
            radius=radius,
            lower=lower,
            upper=upper,
            spec=spec,
        )

    def find_points(self) -> np.ndarray:
        """The centre, or representatives of the box [lower, upper]."""
        if self.spec is None:
            return self.center[None]
        return representatives(self.lower, self.upper, self.spec)

    def __repr__(self) -> str:
        where = f"center={self.center}, radius={self.radius}"
        return f"Ball(index={self.index}, depth={self.depth}, {where})"

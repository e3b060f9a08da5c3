"""Balls as queries, and the balls of a covering of a box."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgpb.domains.arms import PointsQuery, Query, Region, with_fields
from skgpb.domains.covering import LEVELS, Covering
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._boxes import boxes_from_points

__all__ = ["Ball"]

# A ball: its centre in the unit cube, its depth, and its index or -1.
Place = tuple[np.ndarray, int, int]


@with_fields
class Ball(Query):
    """One ball of a covering, immutable and hashable.

    ``np.asarray(ball)`` gives :attr:`points`.

    Attributes
    ----------
    index : int
        Index of the ball, 0 for the oldest; -1 for a ball outside the covering.
    depth : int
        Number of times that its radius was halved.
    center : ndarray of shape (d,)
        The centre.
    radius : float
        The radius, in units of the domain's sides.
    lower, upper : ndarray of shape (d,)
        Corners of the smallest box around the part of the ball inside the domain; under the
        sup norm that part is the box.
    spec : tuple of d ints or None
        Number of representatives of the box along each axis; None if only the centre is evaluated.

    Examples
    --------
    >>> from skgpb import GPZoomingOptimizer
    >>> ball = GPZoomingOptimizer(bounds=[(0, 2)], variation=(1.0, 1.0)).ask()
    >>> ball
    Ball(index=0, depth=0, center=[1.], radius=1.0)
    >>> ball.points, ball.lower, ball.upper
    (array([[1.]]), array([0.]), array([2.]))
    """

    index: int
    depth: int
    center: np.ndarray
    radius: float
    lower: np.ndarray
    upper: np.ndarray
    spec: tuple[int, ...] | None

    def find_points(self) -> np.ndarray:
        """Return the centre, or representatives of the box [lower, upper]."""
        if self.spec is None:
            return self.center[None]
        return self._spread(self.lower, self.upper, self.spec)

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper], shape (2 d,)."""
        return np.concatenate([self.lower, self.upper])

    def describe(self) -> str:
        """Return index, centre and size as text."""
        where = f"center={self.center}, radius={self.radius}"
        return f"Ball(index={self.index}, depth={self.depth}, {where})"


@dataclass(eq=False, repr=False)
class Balls:
    """The balls of a covering of a box, and their queries.

    Lengths are in units of the domain's sides, in which the domain is the unit cube.

    Parameters
    ----------
    bounds : ndarray of shape (d, 2)
        The box.
    covering : Covering
        The balls, in the unit cube.
    spec : tuple of d ints or None
        Number of representatives of a ball along each axis; None if balls are evaluated at their
        centres.
    space : ParameterSpace, default=None
        Names and scales of the sides of the box; None if the sides have no names.

    Attributes
    ----------
    depth : ndarray of shape (n_balls,)
        Number of times that each ball was halved.
    parent : list of int
        The ball whose shrinking required each ball, -1 for the first.
    n_evaluations : list of int
        Number of evaluations of each ball.
    shrunk : list of int
        The balls that were halved, in this order, which determines all others.
    """

    _kept_fields = ("shrunk", "n_evaluations")

    bounds: np.ndarray
    covering: Covering
    spec: tuple[int, ...] | None
    space: ParameterSpace | None = None

    def __post_init__(self) -> None:
        self.depth: np.ndarray = self.covering.depth
        self.parent: list[int] = [-1]
        self.n_evaluations: list[int] = [0]
        self.shrunk: list[int] = []

    def __len__(self) -> int:
        return len(self.covering)

    def copy(self) -> Balls:
        """Return a copy whose refinement does not change these balls."""
        return copy(self)

    def _resume(self) -> None:
        """Rebuild the covering from the balls that were halved."""
        shrunk, n_evaluations = self.shrunk, self.n_evaluations
        self.shrunk, self.n_evaluations = [], [0]
        for ball in shrunk:
            self.shrink(ball)
        if len(n_evaluations) != len(self):
            raise ValueError(f"numbers of evaluations are not of {len(self)} balls")
        self.n_evaluations = n_evaluations

    # -- queries ----------------------------------------------------------------------------

    def ball(self, index: int, depth: int | None = None) -> Ball:
        """Return a ball of the covering, with its radius at the given or the present depth."""
        depth = int(self.depth[index]) if depth is None else depth
        return self.ball_at(self.covering.center(index), depth, index)

    def ball_at(self, center: np.ndarray, depth: int, index: int = -1) -> Ball:
        """Return a ball with any centre in the unit cube."""
        radius = self.covering.diameter * 2.0**-depth
        corners = np.clip(np.stack([center, center - radius, center + radius]), 0.0, 1.0)
        place, lower, upper = self.place(corners)
        return Ball(index, depth, place, radius, lower, upper, self.spec).with_names(self.space)

    def place(self, points: np.ndarray) -> np.ndarray:
        """Map points of the unit cube into the domain, never outside of it; return a new array."""
        lower, upper = self.bounds.T
        # Map both ends of the cube exactly.
        return np.where(points < 1.0, np.minimum(lower + points * (upper - lower), upper), upper)

    def within(self, center: np.ndarray, depth: int, t: np.ndarray) -> np.ndarray:
        """Map t (n, d) in the cube [-1, 1]^d to points (n, d) of a ball."""
        if self.covering.metric == "euclidean":
            t = t / np.maximum(1.0, np.linalg.norm(t, axis=1, keepdims=True))
        radius = self.covering.diameter * 2.0**-depth
        return self.place(np.clip(center + radius * t, 0.0, 1.0))

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows (n, 2 d) of points (n, d)."""
        return boxes_from_points(points)

    def rows_of_query(self, query: Ball | PointsQuery) -> np.ndarray:
        """Return the descriptor rows of a query."""
        if isinstance(query, Region) and query.counts == self.spec:
            return query.box[None]
        if isinstance(query, PointsQuery):
            return boxes_from_points(query.points)
        return boxes_from_points(query.center[None]) if self.spec is None else query.box[None]

    def resolve(self, query: Ball) -> None:
        """Raise ValueError unless a ball is one of the covering, at any radius, or in the box."""
        if not (self._covers(query) if query.index >= 0 else self._contains(query)):
            raise ValueError(
                f"{query} is not a ball of this optimizer (bounds {self.bounds.tolist()}, "
                f"metric={self.covering.metric!r}, {len(self)} balls)"
            )

    def _covers(self, query: Ball) -> bool:
        known = query.index < len(self) and query.depth <= self.depth[query.index]
        return bool(known) and self.ball(query.index, query.depth) == query

    def _contains(self, query: Ball) -> bool:
        if len(query.center) != len(self.bounds) or not 0 <= query.depth <= LEVELS:
            return False
        lower, upper = self.bounds.T
        center = (query.center - lower) / (upper - lower)
        mine = self.ball_at(np.clip(center, 0.0, 1.0), query.depth)
        pairs = [(getattr(mine, a), getattr(query, a)) for a in ("center", "lower", "upper")]
        close = all(np.allclose(a, b, rtol=0.0, atol=1e-9 * (upper - lower)) for a, b in pairs)
        return close and mine.spec == query.spec

    # -- refining ---------------------------------------------------------------------------

    def shrink(self, ball: int) -> int | None:
        """Halve the radius of a ball; return the index of the new ball, None without one."""
        added = self.covering.shrink(ball)
        self.shrunk.append(ball)
        self.depth = self.covering.depth
        if added is not None:
            self.parent.append(ball)
            self.n_evaluations.append(0)
        return added

    def front(self, finest_depth: int) -> list[Place]:
        """Return the balls down to a depth; if all are finer, the oldest at that depth."""
        centers = self.covering.centers
        known = enumerate(self.depth.tolist())
        return [(centers[i], h, i) for i, h in known if h <= finest_depth] or [
            (centers[0], finest_depth, -1)
        ]

    def finer(self, places: list[Place], finest_depth: int) -> list[Place]:
        """Return balls of half the radius, at the centres of the given balls and next to them."""
        d = len(self.bounds)
        steps = np.concatenate([np.zeros((1, d)), np.eye(d), -np.eye(d)])
        inside: dict[tuple[Any, ...], Place] = {}
        for center, depth, _ in places:
            if depth < finest_depth:
                step = self.covering.diameter * 2.0 ** -(depth + 1)
                for c in np.clip(center + step * steps, 0.0, 1.0):
                    inside.setdefault((depth + 1, c.tobytes()), (c, depth + 1, -1))
        return list(inside.values())

    def row_set(self, place: Place) -> np.ndarray:
        """Return descriptor rows of the ball at a place."""
        return self.rows_of_query(self.ball_at(*place))

    def query(self, place: Place) -> Ball:
        """Return the ball at a place."""
        return self.ball_at(*place)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the balls as arrays with one entry per ball, oldest first."""
        balls = [self.ball(i) for i in range(len(self))]
        parent = np.array(self.parent, dtype=np.intp)
        children = np.full((len(balls), max(1, np.bincount(parent + 1).max())), -1, dtype=np.intp)
        filled = np.zeros(len(balls), dtype=np.intp)
        for i, p in enumerate(self.parent):
            if p >= 0:
                children[p, filled[p]] = i
                filled[p] += 1
        return {
            "depth": self.depth.copy(),
            "index": np.arange(len(balls)),
            "parent": parent,
            "children": children,
            "lower": np.stack([ball.lower for ball in balls]),
            "upper": np.stack([ball.upper for ball in balls]),
            "n_evaluations": np.array(self.n_evaluations, dtype=np.intp),
            "center": np.stack([ball.center for ball in balls]),
            "radius": np.array([ball.radius for ball in balls]),
        }

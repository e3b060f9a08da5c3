"""Balls that cover a box with sides of separate values: integers, categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.domains.balls import Ball, Balls, Place
from skgpb.domains.covering import ChebyshevCovering
from skgpb.domains.mixed import rows_of_points
from skgpb.domains.query import PointsQuery
from skgpb.domains.space import SAME, Axis, ParameterSpace, SeparateAxis
from skgpb.domains.value_ranges import ValueRanges, reach


class MixedCovering(ChebyshevCovering):
    """Covering by balls of the sup norm in the coordinates that a kernel sees.

    Lengths are in units of the sides: two integers are as far apart as they are along theirs, and
    any two categories are at distance 1, so that a ball that was ever halved holds one of them. A
    ball is therefore a run of the values of every side, which is a box in coordinates: the oracle
    stays exact, and its boxes meet where one value ends and the next begins.

    Parameters
    ----------
    space : ParameterSpace
        The box.
    """

    def __init__(self, space: ParameterSpace) -> None:
        self._space = space
        self._axes: list[Axis] = [axis for _, axis in space.axes]
        self._ranges = [
            axis.run(0.0, 1.0) if isinstance(axis, SeparateAxis) else (0, 0) for axis in self._axes
        ]
        super().__init__(space.n_axes)

    def snapped(self, center: np.ndarray) -> np.ndarray:
        """Return a point of the cube (d,), moved to the middle of the interval of its setting."""
        ends = zip(self._axes, center, strict=True)
        return np.array(
            [axis.snapped(np.array([u]))[0] if axis.discrete else u for axis, u in ends]
        )

    def box(self, center: np.ndarray, radius: float) -> np.ndarray:
        """Box (2 d,) of a ball within the cube."""
        sides = [self._side(i, float(u), radius) for i, u in enumerate(center)]
        return np.array(sides).T.ravel()

    def _box(self, center: np.ndarray, radius: float) -> np.ndarray:
        return self.box(center, radius)

    def _add(self, center: np.ndarray) -> int:
        return super()._add(self.snapped(center))

    def _side(self, i: int, u: float, radius: float) -> tuple[float, float]:
        axis, (least, most) = self._axes[i], self._ranges[i]
        if not isinstance(axis, SeparateAxis):
            return max(0.0, u - radius), min(1.0, u + radius)
        first, last = least, most
        if radius < 1.0:
            width = 0.0
            if axis.ordered:
                low, high = axis.middles_of(np.array([least, most]))
                width = radius * (high - low)
            first, _ = axis.run(max(0.0, u - width), 1.0)
            _, last = axis.run(0.0, min(1.0, u + width))
            # A value is near only if all of its coordinates are.
            middles = axis.middles_of(np.array([first, last]))
            first += int(middles[0] < u - width - 2 * SAME)
            last -= int(middles[1] > u + width + 2 * SAME)
        begin = axis.edge(first) if first > least else 0.0
        return begin, axis.edge(last + 1) if last < most else 1.0


class MixedBalls(Balls):
    """Balls that cover a box with separate values, as queries.

    Parameters
    ----------
    covering : MixedCovering
        The balls, in the unit cube.
    counts : tuple of d ints
        Representatives along each side of a ball.
    at_center : bool
        Whether balls answer at their centres.
    space : ParameterSpace
        The box.
    """

    covering: MixedCovering
    space: ParameterSpace

    def __init__(
        self,
        covering: MixedCovering,
        counts: tuple[int, ...],
        at_center: bool,
        space: ParameterSpace,
    ) -> None:
        super().__init__(space.bounds, covering, None if at_center else counts, space)
        self._ranges = ValueRanges(space, 2, counts, continuous=not at_center)

    def ball_at(self, center: np.ndarray, depth: int, index: int = -1) -> Ball:
        """Ball of any centre in the unit cube."""
        radius, center = self.covering.diameter * 2.0**-depth, self.covering.snapped(center)
        lower, upper = np.split(self.covering.box(center, radius), 2)
        place, lower, upper = self.place(np.stack([center, lower, upper]))
        return Ball(index, depth, place, radius, lower, upper, self.spec).named(self.space)

    def within(self, center: np.ndarray, depth: int, t: np.ndarray) -> np.ndarray:
        """Points (n, d) of a ball at places t (n, d) in the cube [-1, 1]^d."""
        ball = self.ball_at(center, depth)
        ends = zip(self.space.axes, ball.lower.tolist(), ball.upper.tolist(), strict=True)
        low, high = np.array([reach(axis, *each) for (_, axis), *each in ends]).T
        return 0.5 * (low + high) + 0.5 * (high - low) * t

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows of points (n, d)."""
        return rows_of_points(points, self.space)

    def block_of(self, query: Ball | PointsQuery) -> np.ndarray:
        """Descriptor rows of what a query observes."""
        if isinstance(query, PointsQuery):
            return self.rows_of(query.points)
        return (
            self.rows_of(query.center[None]) if self.spec is None else self._ranges.rows(query.box)
        )

    def finer(self, places: list[Place], finest: int) -> list[Place]:
        """Return places of balls of half the radius: at the centres of others and next to them."""
        inside: dict[tuple[Any, ...], Place] = {}
        for center, depth, _ in places:
            if depth < finest:
                for c in self._beside(center, self.covering.diameter * 2.0 ** -(depth + 1)):
                    inside.setdefault((depth + 1, c.tobytes()), (c, depth + 1, -1))
        return list(inside.values())

    def _beside(self, center: np.ndarray, step: float) -> list[np.ndarray]:
        """Return a centre and its neighbours: a step, or at least a value, away, or a category."""
        found = [self.covering.snapped(center)]
        for i, (_, axis) in enumerate(self.space.axes):
            u = found[0][i]
            if not isinstance(axis, SeparateAxis):
                others = np.clip([u - step, u + step], 0.0, 1.0)
            elif axis.ordered:
                (number, _), (least, most) = axis.run(u, u), axis.run(0.0, 1.0)
                far = [axis.run(max(0.0, u - step), u)[0], axis.run(u, min(1.0, u + step))[1]]
                near = [min(far[0], number - 1), max(far[1], number + 1)]
                others = axis.middles_of(np.clip(near, least, most))
            else:
                others = axis.middles()
            for other in others:
                there = found[0].copy()
                there[i] = other
                found.append(there)
        return found

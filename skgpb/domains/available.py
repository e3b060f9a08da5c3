"""The settings that may be asked now, in a box that earlier answers need to be wider.

The space to search may change during a run: a value of a list is sold out, a range is narrowed, a
side is held for a day. Earlier answers count as before, so the model keeps a box that contains
them. Only queries and recommendations are restricted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from skgpb.utils.validation import SAME


class AvailableSet:
    """The settings of a narrower space, as points of a wider one.

    It has the methods of :class:`~skgpb.domains.constraints.FeasibleSet` that searches call.

    Parameters
    ----------
    now : ParameterSpace
        The sides of now, with a feasible set.
    wider : ParameterSpace
        The sides of now and of earlier answers. A side with one value now may have more there.
    """

    def __init__(self, now: Any, wider: Any) -> None:
        self._now, self._wider = now, wider
        names = now.names
        #: For each axis of the wider space its index now, or None, and its coordinate then.
        self._places: list[tuple[int | None, float]] = [
            (names.index(name), 0.0)
            if name in names
            else (None, float(axis.snap(np.array([axis.coordinate(now.constants[name])]))[0]))
            for name, axis in wider.axes
        ]

    # -- from one space to the other --------------------------------------------------------

    def _outward(self, points: np.ndarray) -> np.ndarray:
        """Return points (n, d_now) as points (n, d) of the wider space."""
        out = np.empty((len(points), len(self._places)))
        for i, (j, held) in enumerate(self._places):
            out[:, i] = held if j is None else self._converted(j, i, points[:, j])
        return out

    def _converted(self, j: int, i: int, u: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) on a wider axis of coordinates on an axis of now."""
        now, wider = self._now.axes[j][1], self._wider.axes[i][1]
        if now == wider:
            return u
        if now.ordered and wider.ordered:
            return wider.between(now.numbers(u))
        return np.array([wider.coordinate(now.value(each)) for each in u])

    def _inward(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest points (n, d_now) of now, and a mask (n,) of those that are equal.

        Coordinates of values without an order that are not available are NaN.
        """
        out, inside = np.empty((len(points), self._now.n_axes)), np.ones(len(points), dtype=bool)
        for i, (j, held) in enumerate(self._places):
            u, wider = points[:, i], self._wider.axes[i][1]
            if j is None:
                inside &= np.abs(wider.snap(u) - held) <= SAME * (wider.ends[1] - wider.ends[0])
                continue
            now = self._now.axes[j][1]
            if now == wider:
                out[:, j] = u
            elif now.ordered and wider.ordered:
                numbers, (low, high) = wider.numbers(u), now.limits
                if wider.is_periodic:  # both ends are one value
                    first, last = wider.limits
                    numbers = np.where((numbers == first) & (high == last), last, numbers)
                out[:, j] = now.between(np.clip(numbers, low, high))
                inside &= np.abs(now.numbers(out[:, j]) - numbers) <= SAME * (high - low)
            else:
                values = map(wider.value, u)
                out[:, j] = [now.coordinate(x) if now.has(x) else np.nan for x in values]
                inside &= ~np.isnan(out[:, j])
        return out, inside

    def ranges(self) -> list[tuple[Any, np.ndarray]]:
        """Return, for each wider axis, the axis of now, or None if it is held, and coordinates.

        They are the coordinates, on the wider axis, of the values of a list, or else of both ends.
        """
        out: list[tuple[Any, np.ndarray]] = []
        for i, (j, held) in enumerate(self._places):
            if j is None:
                out.append((None, np.array([held])))
                continue
            now = self._now.axes[j][1]
            u = np.array(now.ends) if now.ordered else now.middles()
            out.append((now, self._converted(j, i, u)))
        return out

    # -- as a feasible set ------------------------------------------------------------------

    def is_feasible(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the points (n, d) that may be asked now."""
        there, inside = self._inward(points)
        inside[inside] = [self._now.is_feasible(point) for point in there[inside]]
        return inside

    def is_outside(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the points (n, d) that are not on the sides of now."""
        return ~self._inward(points)[1]

    def violations(self, point: np.ndarray) -> list[str]:
        """Return the linear constraints that a point (d,) violates, or its nearest one of now."""
        return self._now.feasible.violations(self._inward(point[np.newaxis])[0][0])

    @cached_property
    def every_point(self) -> np.ndarray | None:
        """Return a point of every setting; None if there are too many."""
        points = self._now.feasible.every_point
        return None if points is None else self._outward(points)

    @cached_property
    def vertices(self) -> np.ndarray:
        """Points (n, d) whose numbers are the vertices of the constraints."""
        return self._outward(self._now.feasible.vertices)

    def sample(self, n: int, shift: np.ndarray) -> np.ndarray:
        """Return points (n, d) that fill the set evenly, moved by ``shift`` (d,)."""
        own = [i for i, (j, _) in enumerate(self._places) if j is not None]
        return self._outward(self._now.feasible.sample(n, shift[own]))

    def design(self, n: int, seed: int, more: int) -> np.ndarray:
        """Return a first design of n points and ``more`` as replacements."""
        return self._outward(self._now.feasible.design(n, seed, more))

    def usable(self, points: np.ndarray) -> np.ndarray:
        """Return the points (n, d) that may be asked now, after rounding to possible settings."""
        there, inside = self._inward(points)
        return self._outward(self._now.feasible.usable(there[inside]))

    def around(self, centers: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n points near centers (k, d) in turn, which may be asked now."""
        return self._outward(self._now.feasible.around(self._inward(centers)[0], n, rng))

    def satisfy_equations(
        self, points: np.ndarray, kept: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, d) moved onto the equations, and a mask of those that satisfy all.

        Points that are not on the sides of now stay, and count as feasible: pictures show them.
        """
        out, (there, inside) = points.copy(), self._inward(points)
        own = [j for i in kept if (j := self._places[i][0]) is not None]
        moved, possible = self._now.feasible.satisfy_equations(there[inside], own)
        out[inside], mask = self._outward(moved), ~inside
        mask[inside] = possible
        return out, mask

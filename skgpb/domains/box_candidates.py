"""Candidate points in a box: first a grid, then a set that follows the posterior.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Assumption 1, Theorem 2.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, sqrt
from typing import ClassVar, Self

import numpy as np

from skgpb import defaults
from skgpb._core._ties import largest_first
from skgpb.domains.arms import Arm, ArmSet, Incumbents, Layout, PointsQuery
from skgpb.domains.candidates import clip_to_box, even_grid, points_near, spread_points
from skgpb.domains.first_design import balance_values, first_points
from skgpb.domains.space import ParameterSpace

# Accuracy: step of the finite difference that estimates the slope of Assumption 1 with a = 1, in
# sides.
PROBE_STEP = 1e-4
# Accuracy: number of points at which the slope of f is estimated, and of points that represent a
# box whose candidates move.
N_SLOPE_PROBES, N_FILLING = 16, 256


class BoxCandidates(ArmSet):
    """Candidate points in a box: first a grid, then a set that follows the posterior.

    The grid follows Theorem 2 and grows with the rounds. Once it has more than
    ``n_candidates`` points, a set that fills the box evenly replaces it. A quarter of this set
    moves with the posterior: the best points so far and points around them, at distances of every
    order of magnitude. In more than three dimensions no such set fills a box of continuous sides,
    and all of it moves (decision D-D10).

    Parameters
    ----------
    bounds : ndarray of shape (d, 2)
        The box.
    n_candidates : int
        Largest number of points that represent the box.
    layout : Layout or None
        Columns of rows; as boxes, points have no extent. None stands for points.
    seed : int
        Seeds the set that replaces the grid.
    space : ParameterSpace, default=None
        Names and types of the sides of the box. If the sides have separate values, there is no
        grid: the candidates are settings, and all of them if they are few enough.

    Attributes
    ----------
    rows : ndarray of shape (n_arms, n_columns)
        The present candidates; empty before :meth:`make_candidates`.
    adaptive : bool
        Whether the moving set has replaced the grid.
    """

    is_discretization: ClassVar[bool] = True

    _kept_fields = ("plain", "adaptive", "_next")

    def __init__(
        self,
        bounds: np.ndarray,
        n_candidates: int,
        layout: Layout | None,
        seed: int,
        space: ParameterSpace | None = None,
    ) -> None:
        super().__init__(np.empty((0, len(bounds))), bounds, layout, space)
        self.n_candidates = n_candidates
        self.seed = seed
        self.adaptive: bool = False
        # Index of the local candidate that moves next; None until all of them have moved.
        self._next: int | None = None
        # The first design, and the arguments it was computed from.
        self._places: tuple[tuple[int, int, int], np.ndarray] | None = None

    def add_contexts(self, bounds: np.ndarray, space: ParameterSpace | None = None) -> Self:
        """Return the candidates with contexts; they fill the box from the first round on."""
        self._spread_out()
        return super().add_contexts(bounds, space)

    @property
    def follows(self) -> bool:
        """True if there are more points than candidates, and some follow the posterior."""
        return self.adaptive

    @property
    def middle(self) -> np.ndarray | None:
        """Row (1, n_columns) of the middle of many numbers, without contexts; otherwise None."""
        space = self.space
        if len(self.bounds) < defaults.MIDDLE_FIRST:
            return None
        if space is not None and (space.has_lists or space.feasible is not None):
            return None
        return self._rows_at(self._settable(self.bounds.mean(axis=1)[np.newaxis]))

    @property
    def n_cost_groups(self) -> int:
        """One: the points of a box change."""
        return 1

    def query_values(self, numbers: np.ndarray) -> np.ndarray:
        """Return the single value once for each candidate."""
        return numbers.repeat(len(self.rows))

    def cost_group(self, query: Arm | PointsQuery) -> int:
        """Return the only cost group."""
        return 0

    def _resume(self) -> None:
        self._lie_at(self.plain)

    def arm(self, slot: int) -> Arm:
        """Return the query of a row; its index is -1, because candidates change."""
        return self.query_of(-1, self.rows[slot].copy())

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Arm | None:
        """Return the one of n points that fill the box evenly farthest from evaluated points."""
        if self.space is not None and self.space.feasible is not None:
            # Answers beyond the sides of now count for the model, which a design is for.
            places = self.layout.actions_layout.places(self.layout.actions_of(known))
            outside = self.space.feasible.is_outside(places)
            n, known = n - int(outside.sum()), known[~outside]
            if n <= 0:
                return None
        of = n, seed, len(failed)
        if self._places is None or self._places[0] != of:
            if self.space is not None and self.space.feasible is not None:
                places = self.space.feasible.design(*of)
            else:
                points = first_points(self.bounds, *of)
                if self.middle is not None:
                    # Of many sides a random point is farther from all others than the middle is.
                    points[0] = self.bounds.mean(axis=1)
                if self.space is not None:
                    points = balance_values(points, n, np.flatnonzero(self.space.n_values))
                places = self._settable(points)
            self._places = of, places
        places = self._places[1]
        number = self._next_place(places, n, known, failed)
        if number is None:
            return None
        return self.placed_arm(self._rows_at(places[number : number + 1])[0])

    def _has(self, index: int, plain: np.ndarray) -> bool:
        return index == -1 and self._is_inside(plain)

    def rivals(self) -> np.ndarray:
        """Return the candidates, and points that fill the box if the candidates move."""
        if not self.adaptive:
            return self.rows.copy()
        points = self._filling(N_FILLING, np.full(len(self.bounds), 0.5))
        return np.concatenate([self.rows, self._rows_at(points)])

    def probes(self, n: int, shift: np.ndarray) -> np.ndarray:
        """Return rows of n points that fill the box, shifted by ``shift`` (d,) in [0, 1)."""
        return self._rows_at(self._filling(n, shift))

    # -- places of the candidates -----------------------------------------------------------

    def make_candidates(self, t: int, theta: float, slope: Callable[[], float]) -> bool:
        """Renew all candidates of round t if that is due; return whether it was.

        Parameters
        ----------
        t : int
            Round, from 1.
        theta : float
            Probability with which the bound of Theorem 2 may fail.
        slope : callable
            Function of no arguments that returns the value of :meth:`largest_slope`.
        """
        # A grid that is too fine stays too fine: it grows with t^2.
        if self.adaptive:
            return False
        if self.space is not None and self.space.has_settings:
            return self._lay_out_settings(self.space)
        d = len(self.bounds)
        b = sqrt(2.0) * slope()
        per_axis = max(2, ceil(min(1e9, d * t**2 * b * sqrt(log(d / theta)))))
        if per_axis**d <= self.n_candidates:
            points = even_grid(self.bounds, per_axis)
        else:
            self.adaptive = True
            points = self._spread()
        self._lie_at(self._rows_at(points))
        return True

    def _spread_out(self) -> None:
        """Choose the partly moving set at once, without a grid before it."""
        if self.space is not None and self.space.has_settings:
            self._lay_out_settings(self.space)
        else:
            self.adaptive = True
            self._lie_at(self._rows_at(self._spread()))

    def _spread(self) -> np.ndarray:
        """Return points (n_candidates, d) that fill the box evenly."""
        shift = np.random.default_rng([self.seed, 0]).random(len(self.bounds))
        points = self._filling(self.n_candidates, shift)
        points[: len(self._vertices)] = self._vertices
        return points

    def _filling(self, n: int, shift: np.ndarray) -> np.ndarray:
        """Return feasible points (n, d) that fill the feasible set evenly."""
        if self.space is not None and self.space.feasible is not None:
            return self.space.feasible.sample(n, shift)
        return self._settable(spread_points(self.bounds, n, shift))

    def _settable(self, points: np.ndarray) -> np.ndarray:
        """Return points (n, d), each rounded to the nearest possible setting."""
        return points if self.space is None else self.space.rounded_to_grid(points)

    def _lay_out_settings(self, space: ParameterSpace) -> bool:
        """Choose settings as candidates, all of them if possible; return False if it was done."""
        if len(self.plain):
            return False
        points = None
        if space.feasible is not None:
            points = space.feasible.every_point
        elif space.n_settings <= self.n_candidates:
            points = space.every_point()
        self.adaptive = points is None or len(points) > self.n_candidates
        if points is None or self.adaptive:
            points = self._spread()
        self._lie_at(self._rows_at(points))
        return True

    def _rows_at(self, points: np.ndarray) -> np.ndarray:
        """Return rows of points (n, d), without contexts."""
        return self.layout.actions_layout.rows_of(points)

    def largest_slope(self, deviations: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """Return the largest prior standard deviation of a slope, over the unit cube.

        ``deviations`` takes the rows of a functional and rows of points, and returns the standard
        deviations of f at each of the points minus the functional.
        """
        lower, upper = self.bounds.T
        side = upper - lower
        largest = 0.0
        for x in spread_points(self.bounds, N_SLOPE_PROBES, np.full(len(side), 0.5)):
            moved = x + np.diag(PROBE_STEP * np.where(x < upper - side / 2, side, -side))
            taken = np.abs(moved - x).diagonal() / side
            rows = self._rows_at(np.concatenate([x[np.newaxis], moved]))
            largest = max(largest, float((deviations(rows[:1], rows[1:]) / taken).max()))
        return largest

    def _n_local(self) -> int:
        """Return the number of candidates that follow the posterior."""
        n = self.n_candidates
        if self.space is not None and self.space.uses_columns:
            n //= defaults.LOCAL_SHARE_OF_SETTINGS
        elif len(self.bounds) <= defaults.GRID_DIMENSIONS:
            n //= defaults.LOCAL_SHARE
        return min(n, self.n_candidates - len(self._vertices))

    @property
    def _vertices(self) -> np.ndarray:
        """Vertices of the constraints (n, d), which stay candidates; empty if they are many."""
        if self.space is None or self.space.feasible is None:
            return np.empty((0, len(self.bounds)))
        vertices = self.space.feasible.vertices
        most = self.n_candidates // defaults.LOCAL_SHARE
        return vertices if len(vertices) <= most else vertices[:0]

    def resample(self, incumbents: Incumbents, rng: np.random.Generator) -> np.ndarray:
        """Move local candidates to the best points; return the indices that moved."""
        if not self.adaptive:
            return super().resample(incumbents, rng)
        return self._move(*incumbents.values(), rng, incumbents.most)

    def _move(
        self, points: np.ndarray, values: np.ndarray, rng: np.random.Generator, most: int | None
    ) -> np.ndarray:
        """Move local candidates to the best of ``points`` (n, d); return their indices.

        ``values`` (n,) are the posterior means there. At first all local candidates move, and later
        ``most`` at a time, in turn. Best points that coincide with another candidate are left out.
        """
        n_local = self._n_local()
        n_moved = n_local if self._next is None or most is None else min(most, n_local)
        start = self._next or 0
        moved = self.n_candidates - n_local + (start + np.arange(n_moved)) % n_local
        self._next = (start + n_moved) % n_local
        best = self._best_possible(points, values)
        distinct: dict[bytes, np.ndarray] = {}
        for point in best + 0.0:  # adding 0.0 turns -0.0 into 0.0
            distinct.setdefault(point.tobytes(), point)
        new = centers = np.array(list(distinct.values())[: min(defaults.N_CENTERS, n_local)])
        if n_moved < n_local:
            places = self.every_place()
            places[moved] = np.nan
            # Hardly any candidate shares a coordinate with a centre at another place.
            rows, which = np.nonzero(places[:, :1] == centers[:, 0])
            is_new = np.ones(len(centers), dtype=bool)
            is_new[which[(places[rows] == centers[which]).all(axis=1)]] = False
            new = centers[is_new][:n_moved]
        if self.space is not None and self.space.feasible is not None:
            around = self.space.feasible.around(centers, n_moved - len(new), rng)
        elif self.space is not None:
            around = self.space.points_around(centers, n_moved - len(new), rng)
        else:
            around = points_near(self.bounds, centers, n_moved - len(new), rng)
        local = self._settable(np.concatenate([new, around]))
        plain = self.plain.copy()
        plain[moved] = self._rows_at(local)
        self._lie_at(plain)
        return moved

    def arm_at(self, row_set: np.ndarray) -> Arm | None:
        """Return the query of a row (1, n_columns) that is feasible; otherwise None."""
        arm = super().arm_at(row_set)
        if arm is not None or len(row_set) != 1:
            return arm
        point = self.layout.actions_layout.places(self.layout.actions_of(row_set))[0]
        possible = self.space is None or self.space.is_feasible(point)
        return self.placed_arm(row_set[0]) if possible else None

    def _best_possible(self, points: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return some of the best feasible ones of points (n, d), as centres for candidates."""
        n, feasible = 2 * defaults.N_CENTERS, None if self.space is None else self.space.feasible
        order = largest_first(values, n if feasible is None else len(values))
        for begin in range(0, len(order), n):
            best = clip_to_box(points[order[begin : begin + n]], self.bounds)
            possible = best if feasible is None else feasible.usable(best)
            if len(possible):
                return possible
        return self.layout.actions_layout.places(self.plain[:1])

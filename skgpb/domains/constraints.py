"""The feasible settings of a box with constraints: whether any exist, and points of them.

Sides in a linear constraint are treated as numbers x. Without rounding, their feasible values are a
polytope. Its points are drawn by hit-and-run [Smith1984]_ within its affine hull, so that equations
hold; if the polytope is a large part of the box, rejection sampling of points that fill the box
evenly replaces it. Then the sides with steps are rounded, the sides that the equations determine
are computed from the others, and only points that satisfy all constraints are kept.

References
----------
.. [Mak2018] S. Mak and V. R. Joseph, "Support points", Annals of Statistics 46, 2018. Points of the
      the least energy distance from a distribution; here the distribution is a large sample.
.. [Smith1984] R. L. Smith, "Efficient Monte Carlo procedures for generating points uniformly
   distributed over bounded regions", Operations Research 32, 1984.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.spatial.distance import cdist

from skgpb import defaults
from skgpb.domains.candidates import spread_points
from skgpb.domains.linear import Linear, read_constraints, substitute_constants
from skgpb.utils.validation import call, is_number

# Rounding: tolerance of a constraint, in units of its terms.
TOLERANCE = 1e-9
# Speed: rejection sampling needs at least this share of feasible points; most points that it tries
# for each one.
FEWEST_SIEVED, MOST_LOOKS = 0.02, 200
# Accuracy: steps of hit-and-run for each dimension; chains that estimate the shape of the polytope.
STEPS_PER_DIMENSION, N_CHAINS = 20, 256
# Limit: attempts to round a point differently, projections onto violated constraints, whole
# searches.
N_ROUNDINGS, N_PROJECTIONS, N_SEARCHES = 24, 20, 40
# Speed: up to this number settings are listed rather than searched; seconds for the search of one.
MOST_LISTED, SECONDS = 20_000, 10.0
# Limit: largest number of corners at which vertices are sought.
MOST_CORNERS = 20_000
# Limit: rounds of exchanges that improve a first design.
N_EXCHANGES = 20


class FeasibleSet:
    """Settings of a box that satisfy all constraints.

    Parameters
    ----------
    space : ParameterSpace
        The box.
    constraints : sequence of str
        Linear constraints.
    function : callable or None
        Takes a setting and returns whether it is feasible.
    constants : dict
        Fixed sides.

    Raises
    ------
    ValueError
        If no setting satisfies all constraints, with the reason.
    """

    def __init__(
        self,
        space: Any,
        constraints: Sequence[str],
        function: Callable[[dict[str, Any]], bool] | None,
        constants: Mapping[str, Any],
    ) -> None:
        self.space: Any = space  # the space imports this module
        self.function: Callable[[dict[str, Any]], bool] | None = function
        names = [*space.names, *constants]
        given = read_constraints(constraints, names)
        axes = dict(space.axes)
        for each in given:
            for name, _ in each.coefficients:
                numeric = axes[name].ordered if name in axes else is_number(constants[name])
                if not numeric:
                    raise ValueError(f"constraint {each.text!r}: {name} is not a number")
        fixed = {name: float(value) for name, value in constants.items() if is_number(value)}
        #: All linear constraints, and the sides in them.
        self.linear: list[Linear] = [substitute_constants(each, fixed) for each in given]
        used = {name for each in self.linear for name, _ in each.coefficients}
        self.sides: list[int] = [i for i, (name, _) in enumerate(space.axes) if name in used]
        self._axes: list[Any] = [space.axes[i][1] for i in self.sides]
        self._column = {space.axes[i][0]: j for j, i in enumerate(self.sides)}
        self.limits: np.ndarray = np.array([axis.limits for axis in self._axes]).reshape(-1, 2)
        low, high = self.limits.T
        self._lengths = np.where(high > low, high - low, 1.0)
        self._A, self._b = self._rows(equal=False)
        self._E, self._e = self._rows(equal=True)
        largest = np.abs(self.limits).max(axis=1, initial=0.0)
        self._slack_A = TOLERANCE * (np.abs(self._A) @ largest + np.abs(self._b))
        self._slack_E = TOLERANCE * (np.abs(self._E) @ largest + np.abs(self._e))
        if self.linear:
            self._check_possible()

    def _rows(self, equal: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (k, m) and bounds (k,) of the equations, or of the inequalities."""
        chosen = [each for each in self.linear if each.equal == equal]
        A = np.array([self._row(each) for each in chosen]).reshape(len(chosen), len(self.sides))
        return A, np.array([each.bound for each in chosen])

    def _row(self, each: Linear) -> np.ndarray:
        """Return the coefficients of a constraint, one for each side in any constraint."""
        row = np.zeros(len(self.sides))
        for name, c in each.coefficients:
            row[self._column[name]] += c
        return row

    # -- existence --------------------------------------------------------------------------

    def _check_possible(self) -> None:
        """Raise ValueError, with the reason, if no numbers satisfy the linear constraints."""
        for each in self.linear:
            self._check_alone(each)
        for in_steps in (False, True):
            if self._solution(self.linear, in_steps) is not None:
                continue
            among = list(self.linear)
            for each in self.linear:
                fewer = [other for other in among if other is not each]
                if self._solution(fewer, in_steps) is None:
                    among = fewer
            texts = " and ".join(dict.fromkeys(repr(each.text) for each in among))
            steps = ", at any values that can be set" if in_steps else " within the sides"
            what = "cannot hold together" if len(among) > 1 else "cannot hold"
            raise ValueError(f"the constraints leave no setting: {texts} {what}{steps}")

    def _check_alone(self, each: Linear) -> None:
        """Raise ValueError if a constraint holds nowhere in the box."""
        c = self._row(each)
        ends = np.sort(c[:, np.newaxis] * self.limits, axis=1).sum(axis=0)
        slack = TOLERANCE * (np.abs(c) @ np.abs(self.limits).max(axis=1, initial=0.0))
        if ends[0] > each.bound + slack or (each.equal and ends[1] < each.bound - slack):
            if not each.coefficients:
                raise ValueError(
                    f"the constraints leave no setting: {each.text!r} does not hold for the sides "
                    "that have one value"
                )
            relation, (low, high), bound, left = "=", ends, each.bound, each.left
            if not each.equal:
                relation = "at most"
                if all(factor <= 0.0 for _, factor in each.coefficients):  # it was a >=
                    other = Linear("", tuple((n, -v) for n, v in each.coefficients), 0.0, False)
                    relation, left = "at least", other.left
                    low, high, bound = -ends[1], -ends[0], -each.bound
            raise ValueError(
                f"the constraints leave no setting: {each.text!r} cannot hold, for {left} is from "
                f"{low + 0.0:g} to {high + 0.0:g} within the sides, and must be {relation} "
                f"{bound:g}"
            )

    def _solution(
        self, linear: Sequence[Linear], in_steps: bool, goal: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return numbers (m,) that satisfy linear constraints, nearest to a goal if one is given.

        Steps and lists become integers of a mixed-integer program.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # takes long to import
        from scipy.sparse import lil_matrix

        m = len(self.sides)
        low, high = self.limits.T
        choices = [self._choice_of(j) if in_steps else None for j in range(m)]
        n_more = [0 if choice is None else len(choice[1]) for choice in choices]
        n = 2 * m + sum(n_more)  # numbers, distances to the goal, and the whole numbers of steps
        rows: list[tuple[dict[int, float], float, float]] = []
        for each in linear:
            columns = dict(enumerate(self._row(each)))
            slack = 0.1 * TOLERANCE * (abs(each.bound) + np.abs(self.limits).max(initial=0.0))
            least = each.bound - slack if each.equal else -np.inf
            rows.append((columns, least, each.bound + slack))
        lower = np.concatenate([low, np.zeros(m + sum(n_more))])
        upper = np.concatenate([high, np.full(m, np.inf), np.ones(sum(n_more))])
        whole = np.zeros(n)
        place = 2 * m
        for j, choice in enumerate(choices):
            if choice is None:
                continue
            start, factors, most = choice
            columns = {j: -1.0, **{place + i: f for i, f in enumerate(factors)}}
            rows.append((columns, -start, -start))
            upper[place : place + len(factors)] = most
            if len(factors) > 1:
                rows.append(({place + i: 1.0 for i in range(len(factors))}, 1.0, 1.0))
            whole[place : place + len(factors)] = 1
            place += len(factors)
        cost = np.zeros(n)
        if goal is not None:
            cost[m : 2 * m] = 1.0 / self._lengths
            for j in range(m):
                rows.append(({j: 1.0, m + j: -1.0}, -np.inf, goal[j]))
                rows.append(({j: -1.0, m + j: -1.0}, -np.inf, -goal[j]))
        A = lil_matrix((len(rows), n))
        for i, (columns, _, _) in enumerate(rows):
            for j, value in columns.items():
                A[i, j] = value
        ends = np.array([row[1:] for row in rows]).reshape(-1, 2)
        found = milp(
            cost,
            integrality=whole,
            bounds=Bounds(lower, upper),
            constraints=LinearConstraint(A.tocsr(), *ends.T) if len(rows) else (),
            options={"time_limit": SECONDS},
        )
        if found.x is None:
            # If the search ran out of time, the point may be feasible.
            return None if found.status == 2 else 0.5 * (low + high)
        return np.clip(found.x[:m], low, high)

    def _choice_of(self, j: int) -> tuple[float, np.ndarray, float] | None:
        """Return start, factors and upper bound of the integers of a side; None for numbers.

        Even steps have one integer, the number of steps; of uneven values each has 0 or 1.
        """
        axis = self._axes[j]
        if not hasattr(axis, "middles"):
            return None
        low, high = self.limits[j]
        if axis.n_settings > MOST_LISTED:
            step = float(getattr(getattr(axis, "values", None), "step", 1.0))
            return low, np.array([step]), (high - low) / step
        values = np.unique(axis.numbers(axis.middles()))
        gaps = np.diff(values)
        if len(gaps) and np.ptp(gaps) <= TOLERANCE * (high - low):
            return low, gaps[:1], float(len(gaps))
        return 0.0, values, 1.0

    # -- membership -------------------------------------------------------------------------

    def numbers(self, points: np.ndarray) -> np.ndarray:
        """Return numbers (n, m) of the sides in linear constraints at points (n, d)."""
        columns = [
            axis.numbers(points[:, i]) for i, axis in zip(self.sides, self._axes, strict=True)
        ]
        return np.column_stack(columns) if columns else np.empty((len(points), 0))

    def holds(self, X: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the rows of numbers (n, m) that satisfy the linear constraints."""
        low, high = self.limits.T
        return (
            (self._b + self._slack_A >= X @ self._A.T).all(axis=1)
            & (np.abs(X @ self._E.T - self._e) <= self._slack_E).all(axis=1)
            & ((low <= X) & (high >= X)).all(axis=1)
        )

    def is_feasible(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the points (n, d) that satisfy all constraints."""
        return self._apply_function(points, self.holds(self.numbers(points)))

    def _apply_function(self, points: np.ndarray, among: np.ndarray) -> np.ndarray:
        """Restrict a mask (n,) of points to those that the function allows, in place."""
        if self.function is not None:
            for i in np.flatnonzero(among):
                possible = call(self.function, self.space.setting(points[i]), "feasible")
                if np.ndim(possible) or np.asarray(possible).dtype.kind != "b":
                    raise TypeError(f"feasible must return True or False, got {possible!r}")
                among[i] = possible
        return among

    def violations(self, point: np.ndarray) -> list[str]:
        """Return the linear constraints, as the user wrote them, that a point (d,) violates."""
        (x,) = self.numbers(point[np.newaxis])
        above = iter(self._A @ x - self._b > self._slack_A)
        beside = iter(np.abs(self._E @ x - self._e) > self._slack_E)
        violated = [each for each in self.linear if next(beside if each.equal else above)]
        return list(dict.fromkeys(each.text for each in violated))

    # -- points of the set ------------------------------------------------------------------

    @cached_property
    def every_point(self) -> np.ndarray | None:
        """Return a point of every feasible setting; None if there are too many."""
        if self.space.n_settings > MOST_LISTED:
            return None
        points = self.space.every_point()
        points = points[self.is_feasible(points)]
        if not len(points):
            raise self._none(int(self.space.n_settings))
        return points

    def _none(self, n: int) -> ValueError:
        return ValueError(
            f"the constraints leave no setting: none of {n} was possible"
            + (", feasible(params) was false for all of them" if self.function else "")
        )

    def sample(self, n: int, shift: np.ndarray) -> np.ndarray:
        """Return points (n, d) of feasible settings that fill the feasible set evenly.

        ``shift`` (d,), in [0, 1), makes them random.
        """
        rng = np.random.default_rng(np.floor(shift * 2**32).astype(np.int64))
        if self.every_point is not None:
            order = rng.permutation(len(self.every_point))
            return self.every_point[np.resize(order, n)]
        if not len(self._E):
            found = self._rejection_sample(n, shift)
            if found is not None:
                return found
        found = np.empty((0, self.space.n_axes))
        looked = 0
        for search in range(N_SEARCHES):
            base = spread_points(self.space.bounds, n, rng.random(len(shift)))
            base = self.space.rounded_to_grid(base)
            X, good = self._round_feasibly(self._hit_and_run(n, rng), rng)
            if not good.any() and not len(found) and search >= 2:
                X, good = self._search_steps(self._hit_and_run(min(n, 8), rng))
                base = base[: len(X)]
            base, looked = self._put(base, X)[good], looked + len(X)
            found = np.concatenate([found, base[self.is_feasible(base)]])
            if len(found) >= n:
                return found[:n]
        if not len(found):
            raise self._none(looked)
        return found[np.resize(np.arange(len(found)), n)]

    def _rejection_sample(self, n: int, shift: np.ndarray) -> np.ndarray | None:
        """Return feasible points that fill the box, by rejection; None if too few are feasible."""
        most = n if self.function is not None else 4 * n
        while True:
            points = self.space.rounded_to_grid(spread_points(self.space.bounds, most, shift))
            points = points[self.is_feasible(points)]
            share = len(points) / most
            if len(points) >= n:
                return points[:n]
            if share < FEWEST_SIEVED or most > MOST_LOOKS * n:
                return None
            most = int(1.2 * n / share) + 1

    def _put(self, points: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return points with other numbers (n, m) for the sides in linear constraints."""
        out = points.copy()
        for j, (i, axis) in enumerate(zip(self.sides, self._axes, strict=True)):
            out[:, i] = axis.nearest_coordinates(X[:, j])
        return out

    def _search_steps(self, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the possible numbers nearest to each goal, and a mask of the feasible rows."""
        found = [self._solution(self.linear, True, goal) for goal in goals]
        X = np.array([each for each in found if each is not None]).reshape(-1, len(self.sides))
        X = self.numbers(self._put(np.zeros((len(X), self.space.n_axes)), X))
        return X, self.holds(X)

    # -- the polytope, in units of the sides ---------------------------------------------------

    @cached_property
    def _polytope(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows (k, m) and bounds (k,) of a polytope, an inner point, directions (m, r) within."""
        from scipy.optimize import linprog

        low, side = self.limits[:, 0], self._lengths
        m = len(side)
        R = np.vstack([self._A * side, np.eye(m), -np.eye(m)])
        # A little less than the bounds, so that rounding does not lead outside.
        b = np.concatenate([self._b - self._A @ low - self._slack_A, np.ones(m), np.zeros(m)])
        E, e = self._E * side, self._e - self._E @ low
        size = np.abs(R).sum(axis=1)
        equations = (E, e) if len(E) else ()
        flat, limits, corners = [], [], []
        for row, bound, unit in zip(R, b, size, strict=True):
            found = linprog(row, R, b + 2.0 * TOLERANCE * size, *equations)
            if found.x is None:
                continue
            corners.append(found.x)
            if bound - found.fun <= 1e-7 * unit:
                flat.append(row)  # it holds with equality everywhere
                limits.append(bound)
        inside = np.mean(corners, axis=0) if corners else np.full(m, 0.5)
        free = np.eye(m)
        if len(flat) or len(E):
            rows = np.vstack([E, *flat])
            free = null_space(rows)
            # Programs solve equations to within a tolerance of theirs.
            inside = inside - np.linalg.pinv(rows) @ (rows @ inside - np.append(e, limits))
        moving = np.abs(R @ free).max(axis=1, initial=0.0) > TOLERANCE
        return R[moving], b[moving], inside, free

    @cached_property
    def vertices(self) -> np.ndarray:
        """Points (n, d) whose numbers are the vertices; empty if there may be many.

        Other sides are spread evenly. Steps are the nearest feasible ones.
        """
        none = np.empty((0, self.space.n_axes))
        if not self.linear:
            return none
        R, b, inside, free = self._polytope
        r, low, high = free.shape[1], *self.limits.T
        if not r or math.comb(len(R), r) > MOST_CORNERS:
            return none
        G, h = R @ free, b - R @ inside
        rows = np.array(list(combinations(range(len(G)), r)))
        A = G[rows]
        meet = np.linalg.cond(A) < 1.0 / TOLERANCE
        z = np.linalg.solve(A[meet], h[rows[meet]][..., np.newaxis])[..., 0]
        z = z[(z @ G.T <= h + TOLERANCE).all(axis=1)]
        U = inside + z @ free.T
        U = U[np.unique(np.round(U, 7), axis=0, return_index=True)[1]]
        if len(U) > defaults.MOST_VERTICES:
            return none
        X, good = self._round_feasibly(low + U * (high - low), np.random.default_rng(0))
        X = X[good]
        spread = spread_points(self.space.bounds, len(X), np.full(self.space.n_axes, 0.5))
        return np.unique(self.usable(self._put(spread, X)), axis=0)

    def _hit_and_run(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return numbers (n, m), uniform in the polytope: the last states of n chains."""
        R, b, inside, free = self._polytope
        low, high = self.limits.T
        r = free.shape[1]
        if not r:
            return np.tile(low + inside * (high - low), (n, 1))

        def walk(U: np.ndarray, shape: np.ndarray, n_steps: int) -> np.ndarray:
            for _ in range(n_steps):
                D = rng.standard_normal((len(U), r)) @ shape.T @ free.T
                ahead, room = D @ R.T, np.maximum(b - U @ R.T, 0.0)
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    t = room / ahead
                most = np.where(ahead > 1e-14, t, np.inf).min(axis=1)
                least = np.where(ahead < -1e-14, t, -np.inf).max(axis=1)
                move = least + rng.random(len(U)) * (most - least)
                U = U + np.where(np.isfinite(move), move, 0.0)[:, np.newaxis] * D
            return U

        steps = STEPS_PER_DIMENSION * r
        U = walk(np.tile(inside, (N_CHAINS, 1)), np.eye(r), steps)
        spread = np.cov((U @ free).T).reshape(r, r)
        shape = np.linalg.cholesky(
            spread + 1e-12 * np.trace(spread) * np.eye(r) + 1e-30 * np.eye(r)
        )
        U = walk(U[np.resize(np.arange(len(U)), n)], shape, steps)
        return low + U * (high - low)

    # -- rounding to possible settings ------------------------------------------------------

    @cached_property
    def _dependent_sides(self) -> tuple[list[int], np.ndarray, np.ndarray]:
        """Sides that the equations determine, and factors and bounds: bounds - factors @ others.

        Continuous sides are determined first, then the sides with the finest steps, so that the
        steps of the others add up to steps of these.
        """
        # Among equal steps, the longest side has the most room.
        return self._solve_equations(
            np.lexsort((-np.diff(self.limits)[:, 0], np.round(self._gaps, 12)))
        )

    @property
    def _gaps(self) -> np.ndarray:
        """Distance between two steps of each side, 0 for continuous sides, shape (m,)."""
        gaps = []
        for axis, (low, high) in zip(self._axes, self.limits, strict=True):
            gridded = hasattr(axis, "middles")
            gaps.append((high - low) / max(1.0, axis.n_settings - 1.0) if gridded else 0.0)
        return np.array(gaps)

    def _solve_equations(self, order: np.ndarray) -> tuple[list[int], np.ndarray, np.ndarray]:
        """Solve the equations for the first sides, in the given order, that they can determine."""
        E, e = self._E.copy(), self._e.copy()
        pivots: list[int] = []
        for j in order.tolist():
            row = len(pivots)
            if row == len(E):
                break
            best = row + int(np.abs(E[row:, j]).argmax())
            if abs(E[best, j]) <= 1e-12 * np.abs(self._E).max(initial=1e-300):
                continue
            E[[row, best]], e[[row, best]] = E[[best, row]], e[[best, row]]
            e[row] /= E[row, j]
            E[row] /= E[row, j]
            for other in range(len(E)):
                if other != row:
                    e[other] -= E[other, j] * e[row]
                    E[other] -= E[other, j] * E[row]
            pivots.append(j)
        E, e = E[: len(pivots)], e[: len(pivots)]
        E[:, pivots] = 0.0
        return pivots, E, e

    def satisfy_equations(
        self, points: np.ndarray, kept: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, d) moved onto the equations, and a mask of the feasible ones.

        Steps are ignored. Sides that are not ``kept`` change first. So a picture varies one part of
        a mixture while another part makes room for it.
        """
        X = self.numbers(points)
        if len(self._E):
            last = np.isin(self.sides, np.asarray(kept))
            # The side with the largest mean at these points changes.
            pivots, factors, bounds = self._solve_equations(np.lexsort((-X.mean(axis=0), last)))
            X[:, pivots] = bounds - X @ factors.T
            low, high = self.limits.T
            points = points.copy()
            for j in pivots:
                axis, numbers = self._axes[j], np.clip(X[:, j], low[j], high[j])
                points[:, self.sides[j]] = axis.between(numbers)
        return points, self._apply_function(points, self.holds(X))

    def _round_feasibly(
        self, X: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Round numbers (n, m) to feasible steps; return them and a mask (n,) of the successes.

        Each number is rounded to its nearest step, and in another direction, at random, if that
        violates a constraint.
        """
        pivots, factors, bounds = self._dependent_sides
        out, good = X.copy(), np.zeros(len(X), dtype=bool)
        gaps = self._gaps
        for trial in range(N_ROUNDINGS):
            left = np.flatnonzero(~good)
            if not len(left):
                break
            Y = X[left]
            if trial:
                Y = Y + rng.uniform(-0.75, 0.75, Y.shape) * gaps
            Y = self._round(Y, set(pivots))
            if pivots:
                solved = bounds - Y @ factors.T
                Y[:, pivots] = _strip_rounding(solved, np.abs(self.limits[pivots]).max(axis=1))
            Z = self._round(Y, set(range(Y.shape[1])) - set(pivots))
            fits = self.holds(Z)
            out[left[fits]], good[left[fits]] = Z[fits], True
            if not gaps.any():
                break
        return out, good

    def _round(self, X: np.ndarray, but: set[int]) -> np.ndarray:
        """Round numbers (n, m) to their nearest possible values, except some sides."""
        out = X.copy()
        for j, axis in enumerate(self._axes):
            if j not in but:
                out[:, j] = axis.numbers(axis.nearest_coordinates(X[:, j]))
        return out

    # -- around incumbents ------------------------------------------------------------------

    def usable(self, points: np.ndarray) -> np.ndarray:
        """Return the points (n, d) that are feasible after rounding to possible settings."""
        rounded_to_grid = self.space.rounded_to_grid(points)
        return rounded_to_grid[self.is_feasible(rounded_to_grid)]

    def step_feasibly(
        self, centers: np.ndarray, points: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return feasible points, each on the way from a center (n, d) towards a point (n, d).

        A step that leads outside is projected onto the violated constraints, so that it continues
        along the boundary. The center itself is returned if no feasible setting is on the way.
        """
        out = self.space.rounded_to_grid(points)
        if self.sides:
            low, side = self.limits[:, 0], self._lengths
            R, b, _, free = self._polytope
            at = (self.numbers(centers) - low) / side
            onto = free @ free.T
            goal = at + ((self.numbers(points) - low) / side - at) @ onto
            normals = R @ onto
            lengths = (normals**2).sum(axis=1)
            for _ in range(N_PROJECTIONS):
                worst = 0.0
                for normal, bound, row, length in zip(normals, b, R, lengths, strict=True):
                    over = np.maximum(goal @ row - bound, 0.0)
                    worst = max(worst, over.max(initial=0.0))
                    goal = goal - (over / length)[:, np.newaxis] * normal
                if worst <= TOLERANCE:
                    break
            # Steps that still end outside are shortened.
            D = goal - at
            ahead, room = D @ R.T, np.maximum(b - at @ R.T, 0.0)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                share = np.where(ahead > room, room / ahead, 1.0).min(axis=1, initial=1.0)
            X, _ = self._round_feasibly(low + (at + share[:, np.newaxis] * D) * side, rng)
            out = self._put(out, X)
        possible = self.is_feasible(out)
        out[~possible] = centers[~possible]
        return out

    def around(self, centers: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n feasible points near feasible centers (k, d) in turn."""
        starts = centers[np.arange(n) % len(centers)]
        return self.step_feasibly(starts, self.space.points_around(centers, n, rng), rng)

    # -- the first design -------------------------------------------------------------------

    def is_outside(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the points (n, d) that are not on the sides of now: none."""
        return np.zeros(len(points), dtype=bool)

    def design(self, n: int, seed: int, more: int) -> np.ndarray:
        """Return n feasible points spread like the set, and ``more`` as replacements."""
        return spread_design(self.space, self.sample, n, seed, more)


def spread_design(
    space: Any, sample: Callable[[int, np.ndarray], np.ndarray], n: int, seed: int, more: int
) -> np.ndarray:
    """Return n points spread like a set, and ``more`` as replacements.

    Every side is covered up to its ends, and every value of a list occurs as often as in the set:
    these are the points with the least energy distance from a large sample that fills the set
    [Mak2018]_, computed by exchanging one point at a time.

    Parameters
    ----------
    space : ParameterSpace
        The box.
    sample : callable
        Returns n points that fill the set, given n and a shift (d,).
    n, more : int
        Numbers of points.
    seed : int
        Seeds the sample.
    """
    from skgpb.domains.first_design import farthest

    rng = np.random.default_rng([seed, 0, 0, 3])
    bounds = space.bounds
    pool = sample(defaults.N_DESIGN_POOL, rng.random(len(bounds)))
    pool = np.unique(pool, axis=0)
    columns, groups = space.columns(pool), space.groups
    side = np.ptp(columns, axis=0)
    columns = columns / np.where(side > 0.0, side, 1.0)
    square, distance = np.zeros((2, len(pool), len(pool)))
    for axis in range(space.n_axes):
        along = cdist(columns[:, groups == axis], columns[:, groups == axis])
        distance += along
        square += along**2
    distance += np.sqrt(square)
    chosen = rng.permutation(len(pool))[:n]
    total, middle = distance[chosen].sum(axis=0), distance.mean(axis=0)
    for _ in range(N_EXCHANGES):
        before = chosen.copy()
        for i, old in enumerate(before):
            # The point that lowers the energy most, in place of one of the others.
            total -= distance[old]
            score = len(chosen) * middle - total
            score[np.delete(chosen, i)] = np.inf
            chosen[i] = score.argmin()
            total += distance[chosen[i]]
        if (chosen == before).all():
            break
    for _ in range(more):
        other = farthest(pool, pool[chosen], bounds)
        if other is None:
            break
        chosen = np.append(chosen, other)
    return pool[chosen]


def _strip_rounding(values: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Strip from numbers (n, k) the digits that are rounding errors."""
    with np.errstate(divide="ignore"):
        digits = 12.0 - np.ceil(np.log10(np.maximum(units, 1e-300)))
    scale = 10.0**digits
    return np.round(values * scale) / scale

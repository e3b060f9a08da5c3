"""Local searches that improve on the best of finitely many cells or points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm
from skgpb.domains.candidates import largest_first
from skgpb.domains.cells import FreeCells
from skgpb.domains.contexts import ContextArms
from skgpb.domains.moving_cells import MovingCell
from skgpb.kernels.evaluator import Functionals
from skgpb.optimizers._posteriors import AmongPosterior, ElsewherePosterior, TargetsPosterior
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.moving import Moments, MovingFunctional
from skgpb.surrogate.pairs import pending_falls

# So many of the best queries are improved, where they lie apart.
N_IMPROVED = 2
# Targets that decide what the best queries are worth, of so many of these.
N_DECIDING = 8
# Steps of a search by slopes, and how often it begins again with what has come to matter.
N_STEPS, N_TIMES = 15, 2
# A search ends where a step adds no more than this share of the value.
TOLERANCE = 1e-6
# Where no answer could change the decision logarithms of gains end.
LEAST = -1e6


class Slopes(NamedTuple):
    """Derivatives of what a rule says of one query, by all that it looks at.

    Attributes
    ----------
    covariance : ndarray of shape (n_targets,)
        By the posterior covariances with the targets.
    mean, var, noise, cost : float
        By the mean, the variance, the noise variance and the price of the query.
    """

    covariance: np.ndarray
    mean: float
    var: float
    noise: float
    cost: float


class ImprovesQueries:
    """Moves the cell that is worth most to where it is worth more, where ``queries`` say so.

    Where its size may be any in a range, that changes with the place. A rule of which the slopes
    are known is climbed by these, any other one by differences; and so are all where the
    covariances of cells that keep their size are read from tables.
    """

    # What it needs of the class that it is mixed into.
    queries: Any
    domain_: Any

    def _deciding(self, posterior: TargetsPosterior, slots: np.ndarray) -> np.ndarray | None:
        """Numbers of the targets that decide what some queries are worth.

        Among these alone no query is worth more than it is. None where the rule has no slopes.
        """
        return None

    def _worth(self, posterior: TargetsPosterior) -> tuple[float, Slopes]:
        """What the only query of a posterior is worth, and the derivatives of that."""
        raise NotImplementedError

    def _improved(self: Any, posterior: TargetsPosterior, values: np.ndarray, slot: int) -> Arm:
        """Return the query of a row, or one beside it that is worth more under the rule.

        ``values`` (n,) are those of all rows; -inf where a query is pending, or worth nothing.
        """
        cells = self.domain_
        if not (isinstance(cells, FreeCells) and getattr(self.queries, "improved", False)):
            return cells.arm(slot)
        moving = MovingCell(cells, slot, resized=not self._wants_its_size(slot))
        if not (moving.n and np.isfinite(values[slot])):
            return cells.arm(slot)
        look = partial(self._looked_at, posterior, moving, slot)
        starts, deciding = starts_of(moving, values, slot), None
        if moving.resized or not self._gp.tabulates:
            deciding = self._deciding(posterior, largest_first(values, N_DECIDING))
        if deciding is None:

            def value(Z: np.ndarray) -> np.ndarray:
                return np.maximum(self.acquisition(look(Z)), LEAST)

            best, top = maximise_in_box(value, starts, moving.box)
        else:
            climb = partial(self._climbed, posterior, moving, slot)
            ends = [highest_of(climb, look, self._deciding, z, deciding) for z in starts]
            tops = [float(self.acquisition(there)[0]) for _, there in ends]
            i = int(np.argmax(tops))
            best, top = ends[i][0], tops[i]
        query = cells.query_of(-1, moving.within(best))
        return query if top > values[slot] and query not in self._pending else cells.arm(slot)

    def _looked_at(
        self: Any, posterior: TargetsPosterior, moving: MovingCell, slot: int, Z: np.ndarray
    ) -> ElsewherePosterior:
        """Return what is known of a cell at other coordinates (k, n), and of all targets."""
        pending, rows = list(self._pending), moving.rows(Z)
        blocks, noises = self._pending_rows(pending)
        falls = pending_falls(self._gp, blocks, noises, Functionals.of_rows(rows))
        # Whatever is random is the same wherever the rule looks.
        rng = self._rng_of_round(len(pending))
        noise, cost = self._prices_at(posterior, moving, slot, Z)
        return ElsewherePosterior(posterior, rows, noise, cost, falls, rng)

    def _climbed(
        self: Any,
        posterior: TargetsPosterior,
        moving: MovingCell,
        slot: int,
        start: np.ndarray,
        deciding: np.ndarray,
    ) -> np.ndarray:
        """Coordinates of the largest value among some targets, by slopes from some (n,)."""
        units, among = moving.units, AmongPosterior(posterior, deciding)
        pending = self._pending_rows(list(self._pending))
        tracked = self._across.n_first + deciding
        functional = MovingFunctional(self._gp, moving, tracked, *pending)

        def falling(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            z = scaled * units
            noise, cost = self._prices_along(posterior, moving, slot, z)
            among.look(functional.at(z), noise[0], cost[0])
            value, by = self._worth(among)
            if not value > LEAST:
                return -LEAST, np.zeros(len(z))
            slopes = functional.slopes(Moments(by.mean, by.var, by.covariance))
            slopes += by.noise * noise[1:] + by.cost * cost[1:]
            return -value, -slopes * units

        result = minimize(
            falling,
            start / units,
            jac=True,
            method="L-BFGS-B",
            bounds=moving.box / units[:, np.newaxis],
            options={"maxiter": N_STEPS, "ftol": TOLERANCE},
        )
        return np.clip(result.x * units, 0.0, 1.0)


def highest_of(
    climb: Callable[[np.ndarray, np.ndarray], np.ndarray],
    look: Callable[[np.ndarray], ElsewherePosterior],
    deciding_at: Callable[[TargetsPosterior, np.ndarray], np.ndarray],
    start: np.ndarray,
    deciding: np.ndarray,
) -> tuple[np.ndarray, ElsewherePosterior]:
    """Climb among the targets that decide, and again where others have come to decide.

    Returns where the search ends, and what is known there. Since no query is worth more among some
    of the targets, and one where these decide as much, the value never falls.
    """
    z = start
    for _ in range(N_TIMES):
        z = climb(z, deciding)
        there = look(z[np.newaxis])
        more = np.setdiff1d(deciding_at(there, np.zeros(1, dtype=np.intp)), deciding)
        if not len(more):
            break
        deciding = np.concatenate([deciding, more])
    return z, there


def starts_of(moving: MovingCell, values: np.ndarray, slot: int) -> np.ndarray:
    """Coordinates (k, n) of the best cells that a cell can become, where they lie apart."""
    same = moving.like(slot)
    places = moving.coordinates(moving.cells.rows[same])
    return places[best_apart(places, values[same], moving.box)][:N_IMPROVED]


def improved_place(cells: FreeCells, slot: int, means: np.ndarray, gp: GaussianProcess) -> Arm:
    """Return the query of the largest mean of the size of a row, by searches from the best rows.

    Parameters
    ----------
    cells : FreeCells
        What there is, and where it may lie.
    slot : int
        Number of the best row.
    means : ndarray of shape (n,)
        Of all rows, in units of the process.
    gp : GaussianProcess
        What is known.
    """

    def value(rows: np.ndarray) -> np.ndarray:
        return (gp.moments(rows) - gp.offset) / gp.scale

    row, top = climbed(cells, slot, means, value)
    return cells.query_of(-1, row) if top > means[slot] else cells.arm(slot)


def improved_in_context(
    targets: ContextArms, slot: int, means: np.ndarray, gp: GaussianProcess
) -> Arm:
    """Return the same of cells in a context; ``means`` are in the user's units."""
    cells = targets.free_cells()

    def value(rows: np.ndarray) -> np.ndarray:
        there = targets.beside(targets.context, rows)
        return (gp.moments(there) - gp.offset) / gp.scale

    row, top = climbed(cells, slot, (means - gp.offset) / gp.scale, value)
    if not top > (means[slot] - gp.offset) / gp.scale:
        return targets.arm(slot)
    return targets.query_of(-1, targets.beside(targets.context, row[np.newaxis])[0])


def climbed(
    cells: FreeCells,
    slot: int,
    values: np.ndarray,
    value: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, float]:
    """Return the row of the largest value of the size of a row, and that value.

    Parameters
    ----------
    cells : FreeCells
        What there is, and where it may lie.
    slot : int
        Number of the best row.
    values : ndarray of shape (n,)
        Of all rows.
    value : callable
        Returns the values (k,) of rows (k, n_columns).
    """
    number = int(cells.size_of[slot])
    room, places = cells.room(number), cells.places_of(cells.rows)
    # Of separate values it keeps those of the best row.
    same = (cells.size_of == number) & (places == places[slot])[:, ~cells.free].all(axis=1)
    same = np.flatnonzero(same)
    free = np.flatnonzero((room[:, 1] > room[:, 0]) & cells.free)
    if not len(free):
        return cells.rows[slot], float(values[slot])

    def at(coordinates: np.ndarray) -> np.ndarray:
        centers = np.tile(places[slot], (len(coordinates), 1))
        centers[:, free] = coordinates
        return cells.placed(centers, number)

    starts = places[same][:, free]
    starts = starts[best_apart(starts, values[same], room[free])]
    best, top = maximise_in_box(lambda coordinates: value(at(coordinates)), starts, room[free])
    return at(best[np.newaxis])[0], top

"""Local searches that improve on the best of finitely many cells or points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm
from skgpb.domains.cells import FreeCells
from skgpb.domains.contexts import ContextArms
from skgpb.kernels.evaluator import Functionals
from skgpb.optimizers._posteriors import ElsewherePosterior, TargetsPosterior
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.pairs import pending_falls

# So many of the best queries are improved, where they lie apart.
N_IMPROVED = 2
# Where no answer could change the decision logarithms of gains end.
LEAST = -1e6


class ImprovesQueries:
    """Moves the cell that is worth most to where it is worth more, where ``queries`` say so."""

    # What it needs of the class that it is mixed into.
    queries: Any
    domain_: Any

    def _improved(self: Any, posterior: TargetsPosterior, values: np.ndarray, slot: int) -> Arm:
        """Return the query of a row, or one beside it that is worth more under the rule.

        ``values`` (n,) are those of all rows; -inf where a query is pending, or worth nothing.
        """
        cells = self.domain_
        if not (isinstance(cells, FreeCells) and getattr(self.queries, "improved", False)):
            return cells.arm(slot)
        if not np.isfinite(values[slot]):
            return cells.arm(slot)
        pending = list(self._pending)
        blocks, noises = self._pending_rows(pending)

        def value(rows: np.ndarray) -> np.ndarray:
            falls = pending_falls(self._gp, blocks, noises, Functionals.of_rows(rows))
            # Whatever is random is the same wherever the rule looks.
            rng = self._rng_of_round(len(pending))
            there = ElsewherePosterior(posterior, slot, rows, falls, rng)
            return np.maximum(self.acquisition(there), LEAST)

        row, top = climbed(cells, slot, values, value, N_IMPROVED)
        query = cells.query_of(-1, row)
        return query if top > values[slot] and query not in self._pending else cells.arm(slot)


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
    n_starts: int | None = None,
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
    n_starts : int, default=None
        From so many rows the search begins, None for all that lie apart.
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
    starts = starts[best_apart(starts, values[same], room[free])][:n_starts]
    best, top = maximise_in_box(lambda coordinates: value(at(coordinates)), starts, room[free])
    return at(best[np.newaxis])[0], top

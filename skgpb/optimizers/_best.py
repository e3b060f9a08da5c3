"""The best of finitely many functionals, and the best cell near it."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from skgpb._core._ties import beats, first_best, size_of, tied
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm
from skgpb.domains.free_cells import FreeCells
from skgpb.surrogate.gaussian_process import GaussianProcess


def best_known(means: np.ndarray, variances: np.ndarray) -> int:
    """Return the number of the largest mean; among ties, the one of the smallest variance.

    Ties are common: after one answer all means far from it are equal.
    """
    # Means may all be zero but for rounding, which is in proportion to what is not known of them.
    among = tied(means, min(1.0, max(size_of(means), sqrt(variances.max()))))
    return int(among[first_best(-variances[among])])


def climbed(cells: FreeCells, slot: int, means: np.ndarray, gp: GaussianProcess) -> Arm:
    """Return the query of the largest mean of the size of a row, by searches from the best rows.

    Parameters
    ----------
    cells : FreeCells
        The cells, and the room in which they lie; in its context, if it is in one.
    slot : int
        Number of the best row.
    means : ndarray of shape (n,)
        Means of all rows, in units of the process.
    gp : GaussianProcess
        The posterior.
    """

    def value(plain: np.ndarray) -> np.ndarray:
        rows = plain if cells.context is None else cells.layout.beside(cells.context, plain)
        return (gp.moments(rows) - gp.offset) / gp.scale

    row, top = _highest(cells, slot, means, value)
    return cells.placed_arm(row) if beats(top, means[slot]) else cells.arm(slot)


def _highest(
    cells: FreeCells,
    slot: int,
    values: np.ndarray,
    value: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, float]:
    """Return the row of the largest value of the size of a row, and that value."""
    number = int(cells.size_of[slot])
    room, places = cells.room(number), cells.every_place()
    # On sides of separate values it keeps the values of the best row.
    same = (cells.size_of == number) & (places == places[slot])[:, ~cells.free].all(axis=1)
    same = np.flatnonzero(same)
    free = np.flatnonzero((room[:, 1] > room[:, 0]) & cells.free)
    if not len(free):
        return cells.plain[slot], float(values[slot])

    def at(coordinates: np.ndarray) -> np.ndarray:
        centers = np.tile(places[slot], (len(coordinates), 1))
        centers[:, free] = coordinates
        return cells.placed(centers, number)

    starts = places[same][:, free]
    starts = starts[best_apart(starts, values[same], room[free])]
    best, top = maximise_in_box(lambda coordinates: value(at(coordinates)), starts, room[free])
    return at(best[np.newaxis])[0], top

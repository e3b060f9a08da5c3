"""Local searches that improve on the best of finitely many cells or points."""

from __future__ import annotations

import numpy as np

from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm
from skgpb.domains.cells import FreeCells
from skgpb.surrogate.gaussian_process import GaussianProcess


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
    number = int(cells.size_of[slot])
    room, places = cells.room(number), cells.places_of(cells.rows)
    same = cells.size_of == number
    # Of separate values it keeps those of the best row.
    same = np.flatnonzero(same & (places == places[slot])[:, ~cells.free].all(axis=1))
    free = np.flatnonzero((room[:, 1] > room[:, 0]) & cells.free)
    if not len(free):
        return cells.arm(slot)

    def at(coordinates: np.ndarray) -> np.ndarray:
        centers = np.tile(places[slot], (len(coordinates), 1))
        centers[:, free] = coordinates
        return cells.placed(centers, number)

    def value(coordinates: np.ndarray) -> np.ndarray:
        return (gp.moments(at(coordinates)) - gp.offset) / gp.scale

    starts = places[same][:, free]
    starts = starts[best_apart(starts, means[same], room[free])]
    best, top = maximise_in_box(value, starts, room[free])
    return cells.query_of(-1, at(best[np.newaxis])[0]) if top > means[slot] else cells.arm(slot)

"""Local searches that improve on the best of finitely many cells or points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm
from skgpb.domains.cells import FreeCells


def improved_place(
    cells: FreeCells, slot: int, values: np.ndarray, value: Callable[[np.ndarray], np.ndarray]
) -> Arm:
    """Return the best query of the size of a row, by L-BFGS-B from the best rows of this size.

    Parameters
    ----------
    cells : FreeCells
        What there is, and where it may lie.
    slot : int
        Number of the best row.
    values : ndarray of shape (n,)
        Of all rows.
    value : callable
        Takes other rows and returns theirs.
    """
    number = int(cells.size_of[slot])
    same = np.flatnonzero(cells.size_of == number)
    room, places = cells.room(number), cells.places_of(cells.rows)
    free = np.flatnonzero(room[:, 1] > room[:, 0])
    if not len(free):
        return cells.arm(slot)

    def at(coordinates: np.ndarray) -> np.ndarray:
        centers = np.tile(places[slot], (len(coordinates), 1))
        centers[:, free] = coordinates
        return cells.placed(centers, number)

    starts = places[same][:, free]
    starts = starts[best_apart(starts, values[same], room[free])]
    best, top = maximise_in_box(lambda some: value(at(some)), starts, room[free])
    return cells.query_of(-1, at(best[np.newaxis])[0]) if top > values[slot] else cells.arm(slot)

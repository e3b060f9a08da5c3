"""The best cell of a size that the user names, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.candidates import spread_points
from skgpb.domains.partition import points_per_axis
from skgpb.domains.query import Region
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._boxes import representatives
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.utils import check_numbers

#: Sides of a cell: one for all, one for each, or by name.
Sides = float | Sequence[float] | np.ndarray | Mapping[str, float]

# Places that are compared before the best are improved; so many at a time, to save memory.
N_PLACES, AT_A_TIME = 512, 32


def checked_sides(side: Any, bounds: np.ndarray, space: ParameterSpace | None) -> np.ndarray:
    """Return the sides (d,) of a cell, from one number for all, one for each, or a dict."""
    d, extent = len(bounds), bounds[:, 1] - bounds[:, 0]
    if space is not None and space.discrete:
        raise ValueError("a cell of a size needs sides of numbers, and bounds has separate values")
    if isinstance(side, Mapping):
        names = [] if space is None else space.names
        if set(side) != set(names):
            raise ValueError(f"side must have a number for each of {names}, got {side!r}")
        side = [side[name] for name in names]
    sides = check_numbers(side, "side", ensure_2d=False) if np.ndim(side) else np.array([side])
    if sides.dtype.kind not in "fiu" or sides.shape not in ((1,), (d,)):
        raise ValueError(f"side must be a number, or one for each of {d} dimensions, got {side!r}")
    sides = np.broadcast_to(sides.astype(np.float64), (d,))
    if not ((sides > 0.0) & (sides <= extent)).all():
        raise ValueError(
            f"side must be above 0 and no longer than the box, {extent.tolist()}, got {side!r}"
        )
    return sides


def best_placed(
    gp: GaussianProcess,
    rows_of: Callable[[np.ndarray], np.ndarray],
    bounds: np.ndarray,
    sides: np.ndarray,
    caution: float,
) -> Region:
    """Return the cell of given sides with the largest posterior mean of its average.

    Places that fill the box and those around what was observed are compared, and the best of them
    are improved by L-BFGS-B.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    rows_of : callable
        Returns the descriptor rows of points.
    bounds : ndarray of shape (d, 2)
        The box.
    sides : ndarray of shape (d,)
        Of the cell.
    caution : float
        Number of standard deviations that the mean is lowered by.
    """
    lower, d = bounds[:, 0], len(bounds)
    counts = points_per_axis(None, d)
    offsets = representatives(np.zeros(d), sides, counts)
    # The lower corner of the cell moves in a box of its own; not at all where it is as long.
    last = np.maximum(bounds[:, 1] - sides, lower)
    free = np.flatnonzero(last > lower)
    room = np.column_stack([lower, last])[free]

    def value(places: np.ndarray) -> np.ndarray:
        """Mean, less caution, of cells whose free coordinates are at places (n, n_free)."""
        found = []
        for start in range(0, len(places), AT_A_TIME):
            some = places[start : start + AT_A_TIME]
            corners = np.tile(lower, (len(some), 1))
            corners[:, free] = some
            mean, std = gp.moments([rows_of(corner + offsets) for corner in corners], std=True)
            found.append(mean - caution * std)
        return np.concatenate(found)

    corner = lower.copy()
    if len(free):
        rows = gp.observed.rows[-N_PLACES:]
        around = 0.5 * (rows[:, :d] + rows[:, -d:]) - 0.5 * sides
        places = np.clip(around[:, free], *room.T)
        places = np.concatenate([spread_points(room, N_PLACES, np.full(len(free), 0.5)), places])
        values = value(places)
        corner[free] = places[int(np.argmax(values))]
        best, top = maximise_in_box(value, places[best_apart(places, values, room)], room)
        if top > values.max():
            corner[free] = best
    return Region(corner, np.minimum(corner + sides, bounds[:, 1]), counts)

"""Coordinates by which a cell moves in a box and changes its size."""

from __future__ import annotations

import numpy as np

from skgpb.domains.cells import FreeCells
from skgpb.domains.ranged_cells import RangedCells
from skgpb.domains.size_range import SidesBetween

# Units of steps: of places a share of the sides of a cell, of sizes a factor.
STEP, FACTOR = 0.5, 1.5


class MovingCell:
    """The cells like one of a set, wherever they lie and of any size they may have.

    Along each side that is continuous a cell is a share u of the way from the lower face of the box
    to the upper one, in [0, 1] whatever its size is: its corners are lower + u (extent - side) and
    that + side. Where sizes are a range, their shares follow, which go with the logarithms of the
    sides.

    Parameters
    ----------
    cells : FreeCells
        The set.
    slot : int
        Number of the cell.
    resized : bool
        Whether its size may change.

    Attributes
    ----------
    cells : FreeCells
        The set.
    resized : bool
        Whether the size may change.
    n : int
        How many coordinates there are.
    units : ndarray of shape (n,)
        How far a step along each coordinate goes at first.
    """

    def __init__(self, cells: FreeCells, slot: int, resized: bool) -> None:
        self.cells = cells
        d = len(cells.bounds)
        self._row: np.ndarray = cells.rows[slot]
        self._extent: np.ndarray = cells.bounds[:, 1] - cells.bounds[:, 0]
        self._sides: np.ndarray = self._row[-d:] - self._row[:d]
        between = cells.between if isinstance(cells, RangedCells) else None
        self._between: SidesBetween | None = between if resized else None
        self.resized: bool = self._between is not None
        n_shares = 0 if self._between is None else self._between.n_shares
        room = cells.free & (self._extent > 0.0)
        # One as long as the box has one place.
        self.axes: np.ndarray = np.flatnonzero(
            room if n_shares else room & (self._sides < self._extent)
        )
        self.n: int = len(self.axes) + n_shares
        extent = self._extent[self.axes]
        units = [np.clip(STEP * self._sides[self.axes] / extent, 0.02, 0.2)]
        if self._between is not None:
            units.append(np.clip(np.log(FACTOR) / self._between.lengths, 0.02, 0.5))
        self.units: np.ndarray = np.concatenate(units)

    @property
    def box(self) -> np.ndarray:
        """Bounds (n, 2) of the coordinates."""
        return np.tile([0.0, 1.0], (self.n, 1))

    def coordinates(self, rows: np.ndarray) -> np.ndarray:
        """Coordinates (k, n) of the cells that lie where rows (k, n_columns) do."""
        d, axes = len(self._extent), self.axes
        lower, sides = rows[:, :d], rows[:, -d:] - rows[:, :d]
        parts = []
        if self._between is not None:
            sides = np.clip(sides, self._between.shortest, self._between.longest)
            parts = [self._between.shares(sides)]
        else:
            sides = np.tile(self._sides, (len(rows), 1))
        room = (self._extent - sides)[:, axes]
        shares = (lower - self.cells.bounds[:, 0])[:, axes] / np.where(room > 0.0, room, 1.0)
        return np.hstack([np.clip(shares, 0.0, 1.0), *parts])

    def like(self, slot: int) -> np.ndarray:
        """Numbers of the cells that one can become; of separate values they have the same."""
        cells = self.cells
        places = cells.places_of(cells.rows)
        same = (places == places[slot])[:, ~cells.free].all(axis=1)
        if not self.resized:
            same &= cells.size_of == cells.size_of[slot]
        return np.flatnonzero(same)

    def sides(self, Z: np.ndarray) -> np.ndarray:
        """Sides (k, d) of cells at coordinates (k, n), those of separate values as of the row."""
        if self._between is None:
            return np.tile(self._sides, (len(Z), 1))
        sides = self._between.at(Z[:, len(self.axes) :])
        return np.where(self.cells.free, sides, self._sides)

    def rows(self, Z: np.ndarray) -> np.ndarray:
        """Descriptor rows (k, n_columns) of cells at coordinates (k, n)."""
        d, axes, sides = len(self._extent), self.axes, self.sides(Z)
        rows = np.tile(self._row, (len(Z), 1))
        room = self._extent[axes] - sides[:, axes]
        rows[:, axes] = self.cells.bounds[axes, 0] + Z[:, : len(axes)] * room
        if self.cells.counts is not None:
            rows[:, d + axes] = rows[:, axes] + sides[:, axes]
        return rows

    def within(self, z: np.ndarray) -> np.ndarray:
        """Descriptor row of the cell at coordinates (n,), inside of the box to the last digit."""
        corners = self.rows(z[np.newaxis]).reshape(-1, len(self._extent))
        return np.clip(corners, *self.cells.bounds.T).ravel()

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Derivatives (2 d, n) of the corners [lower, upper] by the coordinates, at some (n,)."""
        d, axes = len(self._extent), self.axes
        n_places, sides = len(axes), self.sides(z[np.newaxis])[0]
        J = np.zeros((2 * d, self.n))
        for start in (0, d):
            J[start + axes, np.arange(n_places)] = self._extent[axes] - sides[axes]
        if self._between is not None:
            by_share = self._between.slopes(sides)[axes]
            J[axes, n_places:] = -z[:n_places, np.newaxis] * by_share
            J[d + axes, n_places:] = (1.0 - z[:n_places, np.newaxis]) * by_share
        return J

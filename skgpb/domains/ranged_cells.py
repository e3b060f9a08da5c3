"""Cells of any size between two, wherever they lie in a box."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.domains.arms import Arm
from skgpb.domains.cells import SAME_SIZE, FreeCells
from skgpb.domains.query import PointsQuery
from skgpb.domains.size_range import SidesBetween


class RangedCells(FreeCells):
    """Finitely many cells that stand for all of the sizes in a range.

    They are of some sizes that stand for all, and a cell that is asked or told may have any other
    in the range.

    Parameters
    ----------
    sizes, bounds, n, counts, seed, space
        As of :class:`FreeCells`: the sizes that stand for all.
    between : SidesBetween
        The range.
    """

    between: SidesBetween
    size_of: np.ndarray

    def __init__(self, *layout: Any, between: SidesBetween) -> None:
        super().__init__(*layout)
        self.between = between
        # Those sizes by the row; a cell that is put in a place may have another.
        self._planned: np.ndarray = self.size_of

    def move(self, centers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Let some cells lie at and around ``centers`` (k, d); which rows they are."""
        slots = super().move(centers, rng)
        self.size_of = self.size_of.copy()
        self.size_of[slots] = self._planned[slots]
        return slots

    def put(self, query: Arm | PointsQuery) -> int:
        """Let a cell of some size lie where a query does, of any size, and return which row."""
        slot = super().put(query)
        if slot >= 0:
            self.size_of = self.size_of.copy()
            self.size_of[slot] = self.number_of_size(query)
        return slot

    def sides_of_rows(self) -> np.ndarray:
        """Sides (n, d) of all rows; of what is none of the queries the nearest in the range."""
        sides, other = self.sizes[self.size_of], self.size_of < 0
        d = len(self.bounds)
        own = self.rows[other, d:] - self.rows[other, :d]
        held = np.clip(own, self.between.shortest, self.between.longest)
        sides[other] = np.where(self.free, held, sides[other])
        return sides

    def sides_of(self, query: Arm | PointsQuery) -> np.ndarray | None:
        """Return the sides (d,) of a query, None if they are not in the range."""
        sides, unit = self._sides_in(query), self.bounds[:, 1] - self.bounds[:, 0]
        near = SAME_SIZE * np.where(self.free & (unit > 0.0), unit, 1.0)
        if not self.between.within(sides, near):
            return None
        return np.clip(sides, self.between.shortest, self.between.longest)

"""Cells of a box of which the one with the largest average is to be found, from f at points."""

from __future__ import annotations

import numpy as np

from skgpb.domains.cells import Cells, FreeCells
from skgpb.domains.partition import points_per_axis
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._boxes import representatives


class CellTargets:
    """Cells that stand for all of some sizes, each by the points over which f is averaged.

    Parameters
    ----------
    given : Cells
        Their sizes.
    bounds : ndarray of shape (d, 2)
        The box.
    n_points : int
        About how many points there are, of all cells together.
    space : ParameterSpace or None
        What the sides of the box are called.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes, d)
        Sides of the cells.
    points : ndarray of shape (n_cells * S, d)
        Those of each cell behind those of the one before.
    """

    def __init__(
        self, given: Cells, bounds: np.ndarray, n_points: int, space: ParameterSpace | None
    ) -> None:
        self.sizes: np.ndarray = given.sides(bounds, space, "targets")
        if not (self.sizes > 0.0).all():
            raise ValueError(f"targets must be cells with sides above 0, or points; got {given!r}")
        counts = points_per_axis(None, len(bounds))
        self._each = int(np.prod(counts))
        cells = FreeCells(self.sizes, bounds, n_points // self._each, counts, [0], None)
        d = len(bounds)
        parts = [representatives(row[:d], row[d:], counts) for row in cells.rows]
        self.points: np.ndarray = np.concatenate(parts)

    def averages(self, values: np.ndarray) -> np.ndarray:
        """Averages (n_cells, k) of values (n_cells * S, k) at the points."""
        return values.reshape(-1, self._each, values.shape[1]).mean(axis=1)

    def members(self, cells: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and weights of the points that make up a weighted sum of averages."""
        points = cells[:, np.newaxis] * self._each + np.arange(self._each)
        return points.ravel(), np.repeat(weights / self._each, self._each)

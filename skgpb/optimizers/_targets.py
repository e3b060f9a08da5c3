"""Targets of optimizers with indirect queries: points of f, or cells of given sizes.

Each kind knows at which points f is to be known, what the values there say of it, and which of it
is the best under a model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb._core._ties import beats, first_best, size_of
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.candidates import points_in
from skgpb.domains.cells import Cells
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.layout import Layout
from skgpb.domains.partition import points_per_axis
from skgpb.domains.query import Region
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._boxes import representatives
from skgpb.optimizers._placement import best_placed, checked_sides
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess


class PointTargets:
    """Points: all of a box, which a grid stands for, or finitely many.

    Parameters
    ----------
    bounds : ndarray of shape (d, 2)
        The box.
    n_points : int
        About how many points stand for it.
    space : ParameterSpace or None
        Names of its sides.
    rows : ndarray of shape (n, d) or None, default=None
        The points, where they are finitely many.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        Points where f is tracked.
    shape : tuple of ints or None
        Shape of the grid of points, if they form one.
    """

    #: Whether a target is an average, which no answer need stay below.
    are_averages = False

    points: np.ndarray
    shape: tuple[int, ...] | None

    def __init__(
        self,
        bounds: np.ndarray,
        n_points: int,
        space: ParameterSpace | None,
        rows: np.ndarray | None = None,
    ) -> None:
        self._bounds, self._space, self._finite = bounds, space, rows is not None
        self.points, self.shape = points_in(bounds, n_points) if rows is None else (rows, None)

    def values(self, draws: np.ndarray) -> np.ndarray:
        """Return values (n_targets, k) of the targets from values (n, k) at the points."""
        return draws

    def members(self, numbers: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and weights of the points that make up a weighted sum of targets."""
        return numbers, weights

    def best(self, model: ConditionalMeanProcess) -> Any:
        """Return the x of the highest posterior mean of f, over the whole box."""
        # Ties are relative to the variation of f, not to its absolute size.
        mean = model.predict_tracked()
        low, unit = mean.min(), size_of(mean - mean.min())
        x = self.points[first_best(mean - low)].copy()
        if not self._finite:
            starts = self.points[best_apart(self.points, mean - low, self._bounds)]

            def above(X: np.ndarray) -> np.ndarray:
                return model.predict(X) - low

            best, top = maximise_in_box(above, starts, self._bounds, unit)
            if beats(top, mean.max() - low, unit):
                x = best
        x.flags.writeable = False
        return x

    def best_cell(self, model: ConditionalMeanProcess, side: Any) -> Region:
        """Return the cell of a size over which the posterior mean of f is largest on average."""
        if self._finite:
            raise ValueError(f"side is for cells of a box, got side={side!r}")

        def moments(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            mean = model.predict(np.concatenate(cells)).reshape(len(cells), -1)
            return mean.mean(axis=1), np.zeros(len(cells))

        sides = checked_sides(side, self._bounds, self._space)
        return best_placed(moments, self.points, self._bounds, sides, 0.0, self._space)


class CellTargets(PointTargets):
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
        Names of the sides of the box.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes, d)
        Sides of the cells.
    points : ndarray of shape (n_cells * S, d)
        Points of all cells, one cell after the other.
    """

    are_averages = True

    def __init__(
        self, given: Cells, bounds: np.ndarray, n_points: int, space: ParameterSpace | None
    ) -> None:
        self._bounds, self._space, self._finite, self.shape = bounds, space, False, None
        self.sizes: np.ndarray = given.sides(bounds, space, "targets")
        if not (self.sizes > 0.0).all():
            raise ValueError(f"targets must be cells with sides above 0, or points; got {given!r}")
        counts = points_per_axis(None, len(bounds))
        self._each = int(np.prod(counts))
        d = len(bounds)
        layout = Layout(d, counts=counts)
        cells = FreeCells(self.sizes, bounds, n_points // self._each, layout, [0], None)
        parts = [representatives(row[:d], row[d:], counts) for row in cells.rows]
        self.points = np.concatenate(parts)

    def values(self, draws: np.ndarray) -> np.ndarray:
        """Return averages (n_cells, k) of values (n_cells * S, k) at the points."""
        return draws.reshape(-1, self._each, draws.shape[1]).mean(axis=1)

    def members(self, numbers: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and weights of the points that make up a weighted sum of averages."""
        points = numbers[:, np.newaxis] * self._each + np.arange(self._each)
        return points.ravel(), np.repeat(weights / self._each, self._each)

    def best(self, model: ConditionalMeanProcess) -> Region:
        """Return the cell of the highest average, of the best of each size."""
        cells = [self.best_cell(model, sides) for sides in self.sizes]
        means = [float(model.predict(cell.points).mean()) for cell in cells]
        return cells[first_best(np.array(means))]

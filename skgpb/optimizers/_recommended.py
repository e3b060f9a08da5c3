"""What is recommended where f is sought and not what was asked: an x, or a cell of a size."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.query import PointsQuery, Region
from skgpb.domains.space import ParameterSpace
from skgpb.locks import locked
from skgpb.optimizers._cell_targets import CellTargets
from skgpb.optimizers._placement import Sides, best_placed, checked_sides


class RecommendsPoints:
    """``recommend`` by the posterior mean of f at points of a box, or of finitely many arms."""

    # What it needs of the class that it is mixed into.
    space_: ParameterSpace | None
    bounds_: np.ndarray
    surrogate_: Any
    _X: np.ndarray
    _arms: np.ndarray | None
    # What is to be found, where it is no x.
    _cells: CellTargets | None = None

    def _best(self) -> Any:
        """The x, or the cell, of the highest posterior mean of f, over a continuous domain."""
        if self._cells is not None:
            cells = [self._best_cell(sides) for sides in self._cells.sizes]
            means = [float(self.surrogate_.predict(cell.points).mean()) for cell in cells]
            return cells[int(np.argmax(means))]
        mean = self.surrogate_.predict_tracked()
        if self._arms is not None:
            x = self._arms[int(np.argmax(mean))].copy()
        else:
            starts = self._X[best_apart(self._X, mean, self.bounds_)]
            x, top = maximise_in_box(self.surrogate_.predict, starts, self.bounds_)
            if not top > mean.max():
                x = self._X[int(np.argmax(mean))].copy()
        x.flags.writeable = False
        return x

    @overload
    def recommend(self, rule: str | None = None, *, side: None = None) -> np.ndarray: ...

    @overload
    def recommend(self, rule: str | None = None, *, side: Sides) -> Region: ...

    @locked
    def recommend(self: Any, rule: str | None = None, *, side: Sides | None = None) -> Any:
        """Return the x, shape (d,), at which the posterior mean of f is largest.

        The best points that are tracked are improved by searches, so that the recommendation is
        not tied to a grid; where f has finitely many arms it is the row of the best arm.

        Parameters
        ----------
        rule : {"posterior", "paper"}, default=None
            The rule by which it is chosen; None for the best one known. Here all are the same.
        side : float, array-like of shape (d,) or dict, default=None
            In a box, sides of a cell of x, one for all or one for each: the cell of this size over
            which f is largest on average, wherever it lies. None for an x.

        Returns
        -------
        x : ndarray of shape (d,)
            Where the sides of ``bounds`` have names a :class:`~skgpb.domains.PointsQuery`, of
            which ``params`` is the setting. With ``side``, and where cells are the targets, a
            :class:`~skgpb.domains.Region`.
        """
        self._checked_rule(rule)
        self._check_informed()
        if side is not None:
            return self._best_cell(side)
        x = self._best()
        if self.space_ is None or isinstance(x, Region):
            return x
        return PointsQuery(x[np.newaxis]).named(self.space_)

    def _best_cell(self, side: Any) -> Region:
        if self._arms is not None:
            raise ValueError(f"side is for cells of a box, got side={side!r}")

        def moments(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            mean = self.surrogate_.predict(np.concatenate(cells)).reshape(len(cells), -1)
            return mean.mean(axis=1), np.zeros(len(cells))

        sides = checked_sides(side, self.bounds_, self.space_)
        return best_placed(moments, self._X, self.bounds_, sides, 0.0, self.space_)

"""The partition of a box with sides of separate values: integers, categories."""

from __future__ import annotations

from math import ceil, log
from typing import Any, Self

import numpy as np

from skgpb.domains.partition import BoxPartition, Cell, sample_places
from skgpb.domains.space import SAME, ParameterSpace, SeparateAxis
from skgpb.domains.value_ranges import ValueRanges, reach
from skgpb.kernels._boxes import boxes_from_points

# Rounding: shapes of cells that agree in this number of digits are equal.
DIGITS = 9


class MixedPartition(BoxPartition):
    """K-ary partition of a box with integer or categorical sides.

    A cell has a run of the values of such a side, which a cut divides; a single value is not cut.
    The cut divides the side that is longest for the kernel, in units of the root's side. Two
    categories are as far apart as the ends of any other side, so that categories are separated
    first.

    Descriptors are boxes in the *columns* of the settings. A cell is the mean over several of
    them, one for each combination of its separate values.

    Parameters
    ----------
    space : ParameterSpace
        The box.
    n_children, n_representatives, at_center, max_depth
        See :class:`BoxPartition`; a cell with fewer than K settings has as many children.
    bounds : ndarray of shape (d, 2), default=None
        The part of the box that is cut; None for all of it.

    Attributes
    ----------
    tree : Tree
        The nodes; corners are coordinates.
    """

    space: ParameterSpace
    sizes = None

    def __init__(
        self,
        space: ParameterSpace,
        n_children: int,
        n_representatives: tuple[int, ...],
        at_center: bool = False,
        max_depth: int | None = None,
        bounds: np.ndarray | None = None,
    ) -> None:
        bounds = space.bounds if bounds is None else bounds
        super().__init__(bounds, n_children, n_representatives, at_center, max_depth, space)
        self._ranges = ValueRanges(space, n_children, n_representatives, not at_center, bounds)
        # Whether cells of one shape may have columns of several.
        self._is_curved = any(
            axis.uses_columns and not isinstance(axis, SeparateAxis) for _, axis in space.axes
        )
        self._divisible: dict[int, bool] = {}
        self._lines: list[list[np.ndarray]] = []

    def splittable(self, node: int) -> bool:
        """Return whether a node may be split: not too deep, and with more than one setting."""
        divisible = self._divisible.get(node)
        if divisible is None:
            box = self.tree.box(node, node + 1)[0]
            divisible = self._divisible[node] = bool(self._ranges.lengths(box).max() > 0.0)
        return divisible and super().splittable(node)

    def split(self, node: int) -> int:
        """Split a leaf into at most K children; return the index of the first."""
        return self.tree.split(node, self._ranges.parts(self.tree.box(node, node + 1)[0]))

    def copy(self) -> Self:
        """Return a partition that can be split without changing this one."""
        other = super().copy()
        vars(other).update(_divisible=dict(self._divisible))
        return other

    def row_sets(self, start: int, stop: int) -> list[np.ndarray]:
        """Return descriptor rows of nodes start..stop-1, one array for each."""
        return [self._ranges.rows(box) for box in self.tree.box(start, stop)]

    def cell_at(self, depth: int, index: int) -> Cell:
        """Return the cell (depth, index), even if the tree has not reached it."""
        node = self.tree.find(depth, index)
        if node >= 0:
            return self.cell(node)
        K, box = self.tree.n_children, self.tree.box(0, 1)[0]
        for level in range(depth - 1, -1, -1):
            parts = self._ranges.parts(box)
            j = index // K**level % K
            if j >= len(parts) or len(parts) == 1:
                raise ValueError(f"cell (depth={depth}, index={index}) would have no setting")
            box = parts[j]
        return self._cell_in(depth, index, box)

    def _rows_of_cell(self, cell: Cell) -> np.ndarray:
        return self._ranges.rows(cell.box)

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows of points (n, d)."""
        return rows_of_points(points, self.space)

    def rows_of_box(self, box: np.ndarray) -> np.ndarray:
        """Return descriptor rows of the average over any box (2 d,)."""
        return self._ranges.rows(box)

    def row_set_with(self, node: int, given: np.ndarray) -> np.ndarray:
        """Return descriptor rows of a node whose first coordinates are replaced by ``given``."""
        box, n, d = self.tree.box(node, node + 1)[0], len(given), self.tree.n_features
        box[:n] = box[d : d + n] = given
        return self._ranges.rows(box)

    def deviation_cells(
        self, depth: int, everywhere: bool
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return sample cells at a depth: (rows, first corner, last corner); corners: settings.

        Unless ``everywhere``, one of all cells with the same shape is enough.
        """
        sample: dict[bytes, Any] = {}
        for box in self._boxes_at(depth):
            shape = (
                box
                if everywhere or self._is_curved
                else np.round(self._ranges.lengths(box), DIGITS)
            )
            if shape.tobytes() not in sample:
                d, axes = self.tree.n_features, self.space.axes
                ends = zip(axes, box[:d].tolist(), box[d:].tolist(), strict=True)
                corners = np.array([reach(axis, *each) for (_, axis), *each in ends])
                sample[shape.tobytes()] = self._ranges.rows(box), *corners.T
        return list(sample.values())

    def _boxes_at(self, depth: int) -> list[np.ndarray]:
        """Return the cells of a depth around sample points, as boxes; none if not that deep."""
        if not self._lines:
            (low, high), d = self.bounds.T, self.tree.n_features
            self._places = low + (high - low) * sample_places(d)
            self._lines = [[self.tree.box(0, 1)[0]] for _ in self._places]
        boxes = []
        for line, place in zip(self._lines, self._places, strict=True):
            while len(line) <= depth:
                parts = self._ranges.parts(line[-1])
                if len(parts) == 1:
                    break
                lower, upper = np.split(parts, 2, axis=1)
                inside = ((lower <= place) & (place <= upper)).all(axis=1)
                line.append(parts[int(np.argmax(inside))])
            if len(line) > depth:
                boxes.append(line[depth])
        return boxes

    def _cell_of(self, node: int) -> Cell:
        depth, index, _ = self.tree.node(node)
        return self._cell_in(depth, index, self.tree.box(node, node + 1)[0])

    def _cell_in(self, depth: int, index: int, box: np.ndarray) -> Cell:
        lower, upper = box[: self.tree.n_features].copy(), box[self.tree.n_features :].copy()
        return Cell(depth, index, lower, upper, self.n_representatives).with_names(self.space)


def rows_of_points(points: np.ndarray, space: ParameterSpace | None) -> np.ndarray:
    """Return descriptor rows of points (n, d) of a box with sides of any kind."""
    if space is None or not space.uses_columns:
        return boxes_from_points(points)
    return boxes_from_points(space.columns(points))


def deepest_cut(space: ParameterSpace, n_children: int, per_side: int) -> int:
    """Return how often a cell is cut at most: ``per_side`` times, or to single values."""
    cuts = [log(axis.n_settings) / log(n_children) for _, axis in space.axes]
    return sum(min(per_side, ceil(cut - SAME)) if np.isfinite(cut) else per_side for cut in cuts)


def partition_of_box(
    bounds: np.ndarray,
    n_children: int,
    n_representatives: tuple[int, ...],
    at_center: bool,
    max_depth: int | None,
    space: ParameterSpace | None,
) -> BoxPartition:
    """Return the partition of a box with sides of any kind, or of a part of the box."""
    # A side that is held is not cut.
    if space is not None and (space.uses_columns or (bounds[:, 0] == bounds[:, 1]).any()):
        return MixedPartition(space, n_children, n_representatives, at_center, max_depth, bounds)
    return BoxPartition(bounds, n_children, n_representatives, at_center, max_depth, space)

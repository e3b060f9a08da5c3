"""Partition of a box into boxes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from skgpb._core._tree import Tree
from skgpb.domains.candidates import spread_points
from skgpb.domains.cell import Cell
from skgpb.domains.partition import Partition
from skgpb.domains.space import ParameterSpace
from skgpb.kernels._boxes import boxes_from_points
from skgpb.utils import MOST_POINTS, Integral

# As many representatives as a cell gets where nobody says how many: per axis, and in all.
PER_AXIS, IN_ALL = 10, 100
# Cells of a level, beside those in the middle and in corners, that stand for all of them.
SPREAD_CELLS = 3


def points_per_axis(given: Any, d: int) -> tuple[int, ...]:
    """Resolve ``n_representatives`` of a box: a number, one for each of d axes, or None."""
    if given is None:
        s = PER_AXIS
        while s > 1 and s**d > IN_ALL:
            s -= 1
        return (s,) * d
    counts = (given,) * d if isinstance(given, Integral) else tuple(given)
    if len(counts) != d or not all(isinstance(s, Integral) and int(s) >= 1 for s in counts):
        raise ValueError(
            f"n_representatives must be an integer >= 1 or one for each of {d} dimensions, "
            f"got {given!r}"
        )
    if prod(map(int, counts)) > MOST_POINTS:
        raise ValueError(
            f"n_representatives must give a cell at most {MOST_POINTS} points, got {given!r} for "
            f"{d} dimension(s)"
        )
    return tuple(int(s) for s in counts)


def sample_cells(
    bounds: np.ndarray, n_children: int, depth: int, everywhere: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Corners of the cell in the middle at a depth, and of cells ``everywhere`` if so.

    All cells of a depth are translates of one, so that one is enough for what is stationary.
    Otherwise those at the ends of two diagonals are looked at too, and some that are spread.
    """
    d, side = len(bounds), bounds[:, 1] - bounds[:, 0]
    cuts = (depth - np.arange(d) + d - 1) // d  # axis a is cut at depths a, a + d, a + 2 d, ...
    counts = float(n_children) ** cuts
    places = np.full((1, d), 0.5)
    if everywhere:
        unit = np.tile([0.0, 1.0], (d, 1))
        diagonals = np.stack([np.ones(d), np.arange(d) % 2.0])
        spread = spread_points(unit, SPREAD_CELLS, places[0])
        places = np.concatenate([places, diagonals, 1.0 - diagonals, spread])
    index = np.unique(np.minimum(np.floor(places * counts), counts - 1.0), axis=0)
    lower = bounds[:, 0] + side * (index / counts)
    return list(zip(lower, lower + side / counts, strict=True))


class BoxPartition(Partition):
    """K-ary partition of a box, cut along the longest side relative to the root.

    Parameters
    ----------
    bounds : ndarray of shape (d, 2)
        The root box.
    n_children : int
        K >= 2.
    n_representatives : tuple of d ints
        Points per axis of every cell.
    at_center : bool, default=False
        Whether cells are known by their centres alone: descriptors are then the centres, and
        with an odd K a middle child is the same query as its parent.
    max_depth : int, default=None
        Deepest level at which cells are split.
    space : ParameterSpace, default=None
        What the sides of the box are called and stand for; None where they have no names.

    Attributes
    ----------
    tree : Tree
        The nodes.
    """

    def __init__(
        self,
        bounds: np.ndarray,
        n_children: int,
        n_representatives: tuple[int, ...],
        at_center: bool = False,
        max_depth: int | None = None,
        space: ParameterSpace | None = None,
    ) -> None:
        super().__init__(bounds[:, 0].copy(), bounds[:, 1].copy(), n_children, max_depth)
        self.n_representatives = n_representatives
        self.at_center = at_center
        self.space = space

    def splittable(self, node: int) -> bool:
        """Whether the cell of a node may be split: it is not too deep."""
        return self.tree.node(node)[0] <= self.max_depth

    def split(self, node: int) -> int:
        """Turn a leaf into K children; the number of the first."""
        return self.tree.split(node)

    def blocks(self, start: int, stop: int) -> list[np.ndarray]:
        """Descriptor rows of nodes start..stop-1, one block (1, 2 d) each."""
        if self.at_center:
            rows = boxes_from_points(self.tree.center(start, stop))
        else:
            rows = self.tree.box(start, stop)
        return [rows[i : i + 1] for i in range(stop - start)]

    def cell_at(self, depth: int, index: int) -> Cell:
        """Return the cell (depth, index), whether or not the tree has reached it."""
        node = self.tree.find(depth, index)
        if node >= 0:
            return self.cell(node)
        K = self.tree.n_children
        shadow = Tree(K, *np.split(self.tree.box(0, 1)[0], 2))
        node = 0
        for level in range(depth - 1, -1, -1):
            node = shadow.split(node) + index // K**level % K
        return self._cell(depth, index, shadow, node)

    def _rows_of_cell(self, cell: Cell) -> np.ndarray:
        if self.at_center:
            return boxes_from_points(cell.points)
        return cell.box[None]

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, 2 d) of points (n, d)."""
        return boxes_from_points(points)

    def deviation_cells(
        self, depth: int, everywhere: bool
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Sample of cells at a depth: (block, lower corner, upper corner), see ``sample_cells``."""
        bounds = np.stack(np.split(self.tree.box(0, 1)[0], 2), axis=1)
        sample = []
        for lower, upper in sample_cells(bounds, self.tree.n_children, depth, everywhere):
            if self.at_center:
                block = boxes_from_points(0.5 * (lower + upper)[None])
            else:
                block = np.concatenate([lower, upper])[None]
            sample.append((block, lower, upper))
        return sample

    def _cell_of(self, node: int) -> Cell:
        depth, index, _ = self.tree.node(node)
        return self._cell(depth, index, self.tree, node)

    def _cell(self, depth: int, index: int, tree: Tree, node: int) -> Cell:
        box, d = tree.box(node, node + 1)[0], tree.n_features
        lower, upper = box[:d], box[d:]
        spec = tree.center(node, node + 1) if self.at_center else self.n_representatives
        return Cell(depth, index, lower, upper, spec).named(self.space)

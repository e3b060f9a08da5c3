"""Partition of a finite set of points at quantiles, so that no cell is empty.

The whole K-ary tree is laid out once: the members are put in the order in which its deepest
leaves list them, so that every cell, at any depth, is a slice of one permutation. A sample of
representatives is then an equally spaced subset of that slice: the cell's own sub-cells each
contribute equally, without randomness.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Self

import numpy as np

from skgpb.domains.partition import Cell, Partition

# At most so many members of a cell are compared with its representatives.
DEVIATION_POINTS = 256


class PoolPartition(Partition):
    """K-ary partition of the rows of a pool.

    A cell is cut along the axis on which its members spread the most, relative to the whole
    pool, at the K-quantiles (stable sort, ties between axes to the lowest). Every child keeps at
    least ``min_members`` members.

    Parameters
    ----------
    pool : ndarray of shape (n, d)
        The points.
    n_children : int
        K >= 2.
    n_representatives : int or None
        At most this many members represent a cell; None for all of them.
    min_members : int
        Smallest cell.
    max_depth : int, default=None
        Deepest level at which cells are split.

    Attributes
    ----------
    tree : Tree
        The nodes; the box of a node is the bounding box of its members.
    """

    def __init__(
        self,
        pool: np.ndarray,
        n_children: int,
        n_representatives: int | None,
        min_members: int = 1,
        max_depth: int | None = None,
    ) -> None:
        lower, upper = pool.min(axis=0), pool.max(axis=0)
        super().__init__(lower, upper, n_children, max_depth)
        self.pool = pool
        self.n_representatives = n_representatives
        self.min_members = min_members
        self._side = np.where(upper > lower, upper - lower, 1.0)
        self._slices: list[tuple[int, int]] = [(0, len(pool))]
        self._order = self._arranged()
        # Of slices that were looked at: large ones are read for a long time.
        self._boxes: dict[tuple[int, int], np.ndarray] = {}

    def _arranged(self) -> np.ndarray:
        """Permutation of the rows in which every cell, however deep, is a slice."""
        return self._refined(self.pool, np.array([0, len(self.pool)]))

    def _refined(self, points: np.ndarray, cuts: np.ndarray) -> np.ndarray:
        """Permutation of some points that arranges those from each cut to the next."""
        (n, d), K = points.shape, self.tree.n_children
        order = np.arange(n)
        # Rows are compared by the rank of their value, equal values having equal ranks.
        ranks = np.column_stack([np.unique(x, return_inverse=True)[1] for x in points.T])
        while (np.diff(cuts) >= K).any():
            sizes = np.diff(cuts)
            ordered = points[order]
            extent = [f.reduceat(ordered, cuts[:-1]) for f in (np.maximum, np.minimum)]
            axis = np.argmax((extent[0] - extent[1]) / self._side, axis=1)
            segment = np.repeat(np.arange(len(sizes)), sizes)
            rank = ranks.ravel()[order * d + axis[segment]]
            rank = np.where(sizes[segment] >= K, rank, 0)
            order = order[sorted_within(segment, rank)]
            parts = cuts[:-1, None] + sizes[:, None] * np.arange(K) // K
            cuts = np.append(parts[(sizes >= K)[:, None] | (np.arange(K) == 0)], n)
        return order

    def _cuts(self, start: int, stop: int) -> np.ndarray:
        return start + (stop - start) * np.arange(self.tree.n_children + 1) // self.tree.n_children

    def _divisible(self, start: int, stop: int) -> bool:
        return stop - start >= self.tree.n_children * self.min_members

    def splittable(self, node: int) -> bool:
        """Whether a node may be split: not too deep, and enough members for K children."""
        return self.tree.node(node)[0] <= self.max_depth and self._divisible(*self._slices[node])

    def split(self, node: int) -> int:
        """Turn a leaf into K children; the number of the first."""
        cuts = self._cuts(*self._slices[node]).tolist()
        slices = list(pairwise(cuts))
        first = self.tree.split(node, np.stack([self._bounding_box(s) for s in slices]))
        self._slices.extend(slices)
        return first

    def copy(self) -> Self:
        """Return a partition that can be split without changing this one."""
        other = super().copy()
        vars(other).update(_slices=list(self._slices))
        return other

    def blocks(self, start: int, stop: int) -> list[np.ndarray]:
        """Return the representatives of nodes start..stop-1, one block (S, d) each."""
        return [self._sample(self._slices[node]) for node in range(start, stop)]

    def cell_at(self, depth: int, index: int) -> Cell:
        """Return the cell (depth, index), whether or not the tree has reached it."""
        K, where = self.tree.n_children, self._slices[0]
        for level in range(depth - 1, -1, -1):
            if not self._divisible(*where):
                raise ValueError(f"cell (depth={depth}, index={index}) would have too few members")
            cuts, j = self._cuts(*where), index // K**level % K
            where = int(cuts[j]), int(cuts[j + 1])
        return self._cell(depth, index, where)

    def _rows_of_cell(self, cell: Cell) -> np.ndarray:
        return cell.points

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Descriptor rows (n, d) of points (n, d): themselves."""
        return points

    def deviation_blocks(self, depth: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sample of cells at a depth: (representatives, members) of a few of them."""
        K, sample = self.tree.n_children, []
        for index in sorted({j * K**depth // 8 for j in range(8)} | {K**depth - 1}):
            try:
                cell = self.cell_at(depth, index)
            except ValueError:
                continue
            members = np.asarray(cell.members)
            step = -(-len(members) // DEVIATION_POINTS)
            sample.append((cell.points, self.pool[members[::step]]))
        return sample

    def _bounding_box(self, where: tuple[int, int]) -> np.ndarray:
        box = self._boxes.get(where)
        if box is None:
            points = self.pool[self._order[slice(*where)]]
            box = self._boxes[where] = np.concatenate([points.min(axis=0), points.max(axis=0)])
        return box

    def _sample(self, where: tuple[int, int]) -> np.ndarray:
        start, stop = where
        n, S = stop - start, self.n_representatives
        members = self._order[start:stop]
        if S == 1:
            points = self.pool[members]
            distances = np.abs((points - points.mean(axis=0)) / self._side).sum(axis=1)
            return points[[int(np.argmin(distances))]]
        if S is not None and n > S:
            members = members[(np.arange(S) * 2 + 1) * n // (2 * S)]
        return self.pool[members]

    def _cell_of(self, node: int) -> Cell:
        depth, index, _ = self.tree.node(node)
        return self._cell(depth, index, self._slices[node])

    def _cell(self, depth: int, index: int, where: tuple[int, int]) -> Cell:
        box = self._bounding_box(where)
        d = self.tree.n_features
        members = np.sort(self._order[slice(*where)])
        members.flags.writeable = False
        return Cell(depth, index, box[:d].copy(), box[d:].copy(), self._sample(where), members)


def sorted_within(segment: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Positions in the order of (segment, rank, position), all integers >= 0 and below n."""
    n = len(rank)
    if n**3 >= 2**63:
        return np.lexsort((rank, segment))
    # One number for all three, which sorts five times faster than lexsort.
    packed = (segment * n + rank) * n + np.arange(n)
    packed.sort()
    return packed % n

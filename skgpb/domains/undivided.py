"""Partition of a pool in which rows of equal value stay together, so that boxes tell cells."""

from __future__ import annotations

import numpy as np

from skgpb.domains.partition import PoolPartition

# Number of rows that are arranged at once.
ROWS_AT_ONCE = 2**17


class UndividedPool(PoolPartition):
    """Binary partition of the rows of a pool that never cuts through equal values.

    A cell is cut between two different values of the axis on which its members spread the most,
    relative to the whole pool, as near to the middle of its members as there is such a place.
    Of axes that spread alike the one with the most even cut is taken, then the lowest. Where no
    values are equal, these are the cells of a :class:`PoolPartition` with two children.

    Every cell then holds exactly the rows in the bounding box of its members.

    Parameters
    ----------
    pool : ndarray of shape (n, d)
        The points.
    n_representatives : int or None
        At most this many members represent a cell; None for all of them.
    min_members : int
        Cells of twice as many members are cut at any depth, smaller ones only where halves
        would be no smaller at that depth.
    smallest : int
        Fewest members of a cell.
    max_depth : int, default=None
        Deepest level at which cells are cut, at most.

    Attributes
    ----------
    max_depth : int
        Deepest level at which a cell can be cut, -1 where none can.
    fewest : int
        Members of the smallest cell.
    """

    def __init__(
        self,
        pool: np.ndarray,
        n_representatives: int | None,
        min_members: int,
        smallest: int,
        max_depth: int | None = None,
    ) -> None:
        self.smallest = smallest
        self._cut_of: dict[tuple[int, int], int] = {}
        self._limit = max_depth
        super().__init__(pool, 2, n_representatives, min_members, max_depth)
        self.max_depth: int = self._deepest

    @property
    def n_cells(self) -> int:
        """Number of cells, of all sizes."""
        return 2 * len(self._cut_of) + 1

    def _arranged(self) -> np.ndarray:
        order = np.arange(len(self.pool))
        cells, leaves, self._deepest = [(0, len(order), 0)], [], -1
        while cells:
            start, stop, depth = cells.pop()
            cut = self._place_cut(order[start:stop], depth)
            if cut is None:
                leaves.append(start)
                continue
            # `order` was changed in place: the lower part comes first now.
            self._cut_of[start, stop] = start + cut
            self._deepest = max(self._deepest, depth)
            cells += [(start, start + cut, depth + 1), (start + cut, stop, depth + 1)]
        starts = np.array([*sorted(leaves), len(order)])
        self.fewest: int = int(np.diff(starts).min())
        # Few rows at a time are arranged faster than all at once.
        first = 0
        for last in range(1, len(starts)):
            if last == len(starts) - 1 or starts[last + 1] - starts[first] > ROWS_AT_ONCE:
                rows = order[starts[first] : starts[last]]
                cuts = starts[first : last + 1] - starts[first]
                rows[:] = rows[self._refined(self.pool[rows], cuts)]
                first = last
        return order

    def _place_cut(self, rows: np.ndarray, depth: int) -> int | None:
        """Sort the members of a cell along the axis of its cut; how many are below the cut."""
        n = len(rows)
        halved = len(self.pool) // 2 ** (depth + 1) >= self.min_members
        if not (halved or n >= 2 * self.min_members) or n < 2 * self.smallest:
            return None
        if self._limit is not None and depth > self._limit:
            return None
        points = self.pool[rows]
        extent = (points.max(axis=0) - points.min(axis=0)) / self._side
        for spread in sorted(set(extent[extent > 0.0].tolist()), reverse=True):
            best: tuple[int, np.ndarray] | None = None
            for axis in np.flatnonzero(extent == spread).tolist():
                # As many below as are above is as good as it gets.
                if best is not None and best[0] == n // 2:
                    break
                cut, sorter = self._evenest(points[:, axis])
                if cut is not None and (best is None or abs(2 * cut - n) < abs(2 * best[0] - n)):
                    best = cut, sorter
            if best is not None:
                rows[:] = rows[best[1]]
                return best[0]
        return None

    def _evenest(self, x: np.ndarray) -> tuple[int | None, np.ndarray]:
        """Of the cuts between different values the one nearest to the middle, and the order."""
        n, sorter = len(x), np.argsort(x, kind="stable")
        x = x[sorter]
        middle = x[n // 2]
        cuts = [int(np.searchsorted(x, middle, side)) for side in ("left", "right")]
        cuts = [cut for cut in cuts if self.smallest <= cut <= n - self.smallest]
        return min(cuts, key=lambda cut: abs(2 * cut - n), default=None), sorter

    def _cuts(self, start: int, stop: int) -> np.ndarray:
        return np.array([start, self._cut_of[start, stop], stop])

    def _divisible(self, start: int, stop: int) -> bool:
        return (start, stop) in self._cut_of

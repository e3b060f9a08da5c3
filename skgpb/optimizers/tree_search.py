"""What the tree methods share: the domain, the partition, cells as queries, the diameter."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skgpb.optimizers.base import BaseBanditOptimizer, PointsQuery
from skgpb.partition import BoxPartition, Cell, PoolPartition
from skgpb.utils import Integral, Real, check_bounds, check_callable_value, check_numbers

# Node indices are 64-bit: K^depth must stay below 2^62.
INDEX_BITS = 62
# n_representatives=None means at most this many per axis and in all (and in a pool's cell).
PER_AXIS, IN_ALL, IN_POOL = 10, 100, 32


class TreeSearchOptimizer(BaseBanditOptimizer):
    """A search over the cells of a K-ary partition of a box or of a pool."""

    _query_type = Cell

    # -- domain -----------------------------------------------------------------------------

    def _domain(self) -> np.ndarray | None:
        if self.pool is None:
            return super()._domain()
        pool = check_numbers(self.pool, "pool")
        box = np.column_stack([pool.min(axis=0), pool.max(axis=0)])
        if self.bounds is not None and not np.array_equal(check_bounds(self.bounds), box):
            raise ValueError("pass either bounds or pool: a pool has the bounds of its rows")
        return box

    def _points_per_axis(self, d: int) -> tuple[int, ...]:
        """Resolve ``n_representatives`` for boxes."""
        given = self.n_representatives
        if self.feedback == "center":
            return (1,) * d
        if given is None:
            s = PER_AXIS
            while s > 1 and s**d > IN_ALL:
                s -= 1
            return (s,) * d
        counts = (given,) * d if isinstance(given, Integral) else tuple(given)
        if len(counts) != d or not all(isinstance(s, Integral) and s >= 1 for s in counts):
            raise ValueError(
                f"n_representatives must be an integer >= 1 or one for each of {d} dimensions, "
                f"got {given!r}"
            )
        return tuple(int(s) for s in counts)

    def _make_partition(self) -> BoxPartition | PoolPartition:
        d = self.n_features_in_
        if self.pool is None:
            return BoxPartition(self.bounds_, self.n_children, self._points_per_axis(d))
        pool = check_numbers(self.pool, "pool").copy()
        sizes = {"center": 1, "integral": None}
        n = IN_POOL if self.n_representatives is None else self.n_representatives
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n_representatives must be an integer >= 1 for a pool, got {n!r}")
        return PoolPartition(
            pool, self.n_children, sizes.get(self.feedback, int(n)), self.min_members
        )

    def _resolved_depth(self, d: int) -> int:
        """Resolve ``max_depth``: as given, or ten cuts along every axis, within 64-bit indices."""
        limit = int(INDEX_BITS / np.log2(self.n_children)) - 1
        if self.max_depth is not None:
            if self.max_depth > limit:
                raise ValueError(
                    f"max_depth must be at most {limit} with n_children={self.n_children}, got "
                    f"{self.max_depth}"
                )
            return int(self.max_depth)
        if self.pool is None:
            return min(10 * d, limit)
        # The deepest level at which every cell still has children.
        n, depth = len(self.pool) // self.n_children, 0
        while n // self.n_children >= self.min_members and depth < limit:
            n, depth = n // self.n_children, depth + 1
        return depth

    def _begin_checks(self, d: int) -> None:
        self._resolved_depth(d)
        if self.pool is None:
            self._points_per_axis(d)
        if isinstance(self.diameter, (tuple, list)):
            c_rho = self.diameter
            numbers = len(c_rho) == 2 and all(isinstance(x, Real) for x in c_rho)
            if not numbers or not (np.isfinite(c_rho[0]) and c_rho[0] > 0 and 0 < c_rho[1] < 1):
                raise ValueError(
                    "diameter as (c, rho) stands for c * rho**depth and needs finite c > 0 and "
                    f"0 < rho < 1, got {self.diameter!r}"
                )

    def _begin(self) -> None:
        self.max_depth_ = self._resolved_depth(self.n_features_in_)
        self._partition = self._make_partition()
        self._tree = self._partition.tree
        self._expanded: list[int] = []

    def _given_diameter(self) -> np.ndarray:
        """delta(h) for h = 0..max_depth + 1 where the user gave it, in units of the reward."""
        depths = range(self.max_depth_ + 2)
        if callable(self.diameter):
            return np.array([check_callable_value(self.diameter, h, "diameter") for h in depths])
        c, rho = self.diameter
        return c * rho ** np.arange(self.max_depth_ + 2, dtype=np.float64)

    # -- queries ----------------------------------------------------------------------------

    def _resolve(self, query: Cell | PointsQuery) -> Cell | PointsQuery:
        if isinstance(query, PointsQuery) or query in self._pending:
            return query
        K, depth, index = self._tree.n_children, query.depth, query.index
        known = (
            len(query.lower) == self.n_features_in_
            and 0 <= depth <= self.max_depth_ + 1
            and 0 <= index < K**depth
        )
        try:
            known = known and self._partition.cell_at(depth, index) == query
        except ValueError:
            known = False
        if not known:
            raise ValueError(
                f"{query} is not a cell of this optimizer's partition (bounds "
                f"{self.bounds_.tolist()}, n_children={K}, representatives "
                f"{self._partition.n_representatives})"
            )
        return query

    def _node_of(self, query: Cell | PointsQuery) -> int:
        """Node of a query, -1 where the tree has none for it."""
        if isinstance(query, PointsQuery):
            return -1
        return self._tree.find(query.depth, query.index)

    def _descriptor(self, query: Cell | PointsQuery) -> np.ndarray:
        if isinstance(query, Cell):
            return np.concatenate([query.lower, query.upper])
        return np.concatenate([query.points.min(axis=0), query.points.max(axis=0)])

    def _choose(self) -> Cell:
        excluded = None
        if self._pending:
            excluded = np.zeros(self._tree.n_nodes, dtype=np.uint8)
            for query in self._pending:
                node = self._node_of(query)
                if node >= 0:
                    excluded[node] = 1
        node = self._best_leaf(excluded)
        while node < 0:
            # Every leaf is being evaluated already: refine the best of those that can be.
            parent = self._best_divisible_leaf()
            self._expand(parent)
            excluded = np.concatenate([excluded, np.zeros(self._tree.n_children, dtype=np.uint8)])
            node = self._best_leaf(excluded)
        return self._partition.cell(node)

    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        """Leaf node of the largest index that is not excluded, -1 if there is none."""
        raise NotImplementedError

    def _best_divisible_leaf(self) -> int:
        leaves = self._tree.leaves
        excluded = np.zeros(self._tree.n_nodes, dtype=np.uint8)
        depth = self._tree.depth
        for leaf in leaves:
            if depth[leaf] > self.max_depth_ or not self._partition.splittable(int(leaf)):
                excluded[leaf] = 1
        node = self._best_leaf(excluded)
        if node < 0:
            raise ValueError(
                f"all {len(leaves)} cells at the finest resolution are pending: tell some of "
                "them before asking for more, or increase max_depth"
            )
        return node

    # -- tree -------------------------------------------------------------------------------

    def _expandable(self, node: int, depth: int) -> bool:
        return depth <= self.max_depth_ and self._partition.splittable(node)

    def _expand(self, node: int) -> int:
        """Split a leaf; the number of its first child."""
        first = self._partition.split(node)
        self._expanded.append(node)
        return first

    def _deepest_expanded(self) -> np.ndarray:
        """Expanded nodes at the deepest expanded depth by index, or the root."""
        if not self._expanded:
            return np.zeros(1, dtype=np.intp)
        nodes = np.array(self._expanded)
        depth = self._tree.depth[nodes]
        nodes = nodes[depth == depth.max()]
        return nodes[np.argsort(self._tree.index[nodes])]

    @property
    def tree_(self) -> Bunch:
        """The partition so far, as arrays with one entry per node.

        ``depth``, ``index``, ``parent`` (-1 for the root), ``children`` (n_nodes, K) (-1 for
        leaves), ``lower`` and ``upper`` (n_nodes, d), ``n_evaluations``.
        """
        check_is_fitted(self, "bounds_")
        names = ("depth", "index", "parent", "children", "lower", "upper", "n_evaluations")
        return Bunch(**{name: getattr(self._tree, name) for name in names})


def first_maximum(values: np.ndarray, tolerance: float) -> int:
    """Position of the first value within ``tolerance`` of the largest; NaN counts as lowest."""
    values = np.where(np.isnan(values), -np.inf, values)
    return int(np.flatnonzero(values >= values.max() - tolerance)[0])

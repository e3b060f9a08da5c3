"""What the tree methods share: the domain, the partition, cells as queries, the diameter."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.domains import BoxPartition, Cell, PoolPartition
from skgpb.domains.box import points_per_axis
from skgpb.domains.query import PointsQuery
from skgpb.kernels import CellAverage, CellIntegral, LowRank
from skgpb.kernels._cell import CellKernel
from skgpb.kernels.evaluator import contains_white_noise
from skgpb.locks import locked
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._gaussian import GaussianProcessMixin
from skgpb.optimizers._variation import largest_within, never_increasing
from skgpb.utils import (
    MOST_CHILDREN,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_bounds,
    check_callable_value,
    check_numbers,
)

# Cells that recommend("posterior") refines at each level.
BEAM = 16
# Node indices are 64-bit: K^depth must stay below 2^62.
INDEX_BITS = 62
# n_representatives=None means at most this many in a pool's cell.
IN_POOL = 32
# Averages over more rows of a pool than this go by features, see LowRank.
MANY_ROWS = 512


class TreeSearchOptimizer(BaseBanditOptimizer[Cell]):
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
        return (1,) * d if self.feedback == "center" else points_per_axis(self.n_representatives, d)

    def _make_partition(self) -> BoxPartition | PoolPartition:
        d = self.n_features_in_
        if self.pool is None:
            counts = self._points_per_axis(d)
            named = isinstance(self.feedback, str) and self.feedback != "integral"
            at_center = named and max(counts) == 1
            return BoxPartition(self.bounds_, self.n_children, counts, at_center)
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
        # As printed (decision D-A3).
        return depth <= self.max_depth_ and self._partition.splittable(node)

    def _expand(self, node: int) -> int:
        """Split a leaf; the number of its first child."""
        first = self._partition.split(node)
        self._expanded.append(node)
        return first

    def _deepest_expanded(self) -> np.ndarray:
        """Expanded nodes at the deepest expanded depth by index, or the root (decision D-A5)."""
        if not self._expanded:
            return np.zeros(1, dtype=np.intp)
        nodes = np.array(self._expanded)
        depth = self._tree.depth[nodes]
        nodes = nodes[depth == depth.max()]
        return nodes[np.argsort(self._tree.index[nodes])]

    @property
    @locked
    def tree_(self) -> Bunch:
        """The partition so far, as arrays with one entry per node.

        ``depth``, ``index``, ``parent`` (-1 for the root), ``children`` (n_nodes, K) (-1 for
        leaves), ``lower`` and ``upper`` (n_nodes, d), ``n_evaluations``.
        """
        check_is_fitted(self, "bounds_")
        names = ("depth", "index", "parent", "children", "lower", "upper", "n_evaluations")
        return Bunch(**{name: getattr(self._tree, name) for name in names})


class GaussianTreeSearchOptimizer(GaussianProcessMixin, TreeSearchOptimizer):
    """A tree search whose cells share what is observed through a Gaussian process on f.

    A subclass decides which functionals the surrogate tracks (``_track_root``, ``_expand``).
    """

    _parameter_constraints: dict = {
        "bounds": "no_validation",
        "pool": "no_validation",
        "n_children": [Interval(Integral, 2, MOST_CHILDREN, closed="both")],
        "feedback": [StrOptions({"center", "average", "integral"}), Kernel],
        "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "diameter": [StrOptions({"kernel"}), tuple, list, callable],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_members": [Interval(Integral, 1, None, closed="left")],
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    # -- observing --------------------------------------------------------------------------

    def _record(
        self,
        query: Cell | PointsQuery,
        node: int,
        reward: float,
        mean: float,
        var: float,
        expanded: bool,
    ) -> None:
        """Close the round, and count the evaluations of the query's cell."""
        if node >= 0:
            self._tree.record(node, reward)
        super()._record(query, reward, mean, var, expanded)

    # -- recommending -----------------------------------------------------------------------

    @locked
    def recommend(
        self, rule: str = "expanded", *, depth: int | None = None, caution: float = 0.0
    ) -> Cell:
        """Return the best cell found so far.

        Parameters
        ----------
        rule : {"expanded", "posterior"}, default="expanded"
            The paper's rule: among the split cells of the deepest level that has any, the one
            of the highest posterior mean. Or any cell, however fine, that the posterior
            supports: the leaf or descendant of a leaf with the largest posterior mean minus
            ``caution`` standard deviations.
        depth : int, default=None
            Finest cells that "posterior" may return, also where the tree is finer; None for
            ``max_depth_ + 1``.
        caution : float, default=0.0
            Number of standard deviations; 0 ranks by the mean.

        Returns
        -------
        cell : Cell
        """
        if rule not in ("expanded", "posterior"):
            raise ValueError(f"rule must be 'expanded' or 'posterior', got {rule!r}")
        if depth is not None and (not isinstance(depth, Integral) or depth < 0):
            raise ValueError(f"depth must be None or an integer >= 0, got {depth!r}")
        if not isinstance(caution, Real) or not 0 <= caution < np.inf:
            raise ValueError(f"caution must be a finite number >= 0, got {caution!r}")
        self._check_informed()
        if rule == "expanded":
            return self._best()
        depth = self.max_depth_ + 1 if depth is None else min(depth, self.max_depth_ + 1)
        return self._best_supported(depth, float(caution))

    def _best_supported(self, finest: int, caution: float) -> Cell:
        """Descend from the leaves along the most promising cells, BEAM of them per level."""
        partition = self._partition.copy()
        tree, best, top = partition.tree, 0, -np.inf
        front = [leaf for leaf in tree.leaves.tolist() if tree.node(leaf)[0] <= finest]
        # Where the tree is finer already, its cells of that depth stand for what lies below.
        front += [node for node in self._expanded if tree.node(node)[0] == finest]
        while front:
            blocks = [partition.blocks(node, node + 1)[0] for node in front]
            mean, std = self._gp.moments(blocks, std=True)
            value = mean - caution * std
            order = np.argsort(-value, kind="stable")
            if value[order[0]] > top + TIE_TOLERANCE * self._gp.scale:
                best, top = front[order[0]], value[order[0]]
            children: list[int] = []
            for node in (front[i] for i in order[:BEAM]):
                if tree.node(node)[0] < finest and partition.splittable(node):
                    first = partition.split(node)
                    children += range(first, first + tree.n_children)
            front = children
        return partition.cell(best)

    def _best(self) -> Cell:
        nodes = self._deepest_expanded()
        blocks = [self._partition.blocks(node, node + 1)[0] for node in nodes.tolist()]
        means = self._gp.moments(blocks)
        tolerance = TIE_TOLERANCE * self._gp.scale
        return self._partition.cell(int(nodes[first_maximum(means, tolerance)]))

    def _rows_of(self, points: np.ndarray) -> np.ndarray:
        return self._partition.points_block(points)

    def _block(self, query: Cell | PointsQuery) -> np.ndarray:
        if isinstance(query, PointsQuery):
            return self._partition.points_block(query.points)
        return self._partition.block_of(query)

    def _beta(self, t: int) -> float:
        """Factor of the variance in round t: the theory's, or what the user chose."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        if self.beta == "theory":
            return max(0.0, self._theory_beta(t))
        return float(self.beta)

    def _theory_beta(self, t: int) -> float:
        """Factor of the variance in round t, by the paper's lemma."""
        raise NotImplementedError

    @property
    def _log_cells(self) -> float:
        """Logarithm of M, the number of cells above the deepest leaves that a tree may have."""
        K = self._tree.n_children
        return log((K ** (self.max_depth_ + 1) - 1) // (K - 1))

    # -- state ------------------------------------------------------------------------------

    def _begin_checks(self, d: int) -> None:
        super()._begin_checks(d)
        self._query_kernel(d)

    def _begin(self) -> None:
        super()._begin()
        d = self.n_features_in_
        self._start_surrogate(self._query_kernel(d), d if self.pool is not None else 2 * d)
        self._relearned()
        self._track_root()

    def _track_root(self) -> None:
        """Follow the posterior of the first leaf."""
        self._gp.track(self._partition.blocks(0, 1))

    def _query_kernel(self, d: int) -> Kernel:
        """Covariance between the averages that the oracle returns."""
        if isinstance(self.feedback, Kernel):
            return clone(self.feedback)
        # Averages over cells of a box have a closed form for RBF kernels.
        smooth = self.pool is None and self.feedback != "center"
        base = self._prior_kernel(d, smooth)
        if self.pool is not None:
            return self._pool_kernel(base)
        if self.feedback == "integral":
            return CellIntegral(base)
        return CellAverage(base, self._points_per_axis(d))

    def _pool_kernel(self, base: Kernel) -> Kernel:
        """Kernel of f, by features where cells average so many rows that pairs are too many."""
        given = self.n_representatives
        many = isinstance(given, Integral) and int(given) > MANY_ROWS
        if not (many or self.feedback == "integral"):
            return base
        if len(self.pool) <= MANY_ROWS or contains_white_noise(base):
            return base
        return base if isinstance(base, LowRank) else LowRank(base, self.pool)

    def _diameter(self) -> np.ndarray:
        """delta(h) for h = 0..max_depth + 1, in normalised units (decision D-A15)."""
        if self.diameter != "kernel":
            return self._given_diameter() / self._gp.scale
        quantile = sqrt(2.0 * (self._log_cells - log(self.failure_probability)))
        g = [self._largest_deviation(depth) for depth in range(self.max_depth_ + 2)]
        return quantile * never_increasing(np.array(g))

    def _largest_deviation(self, depth: int) -> float:
        """Largest prior sd of f(x) minus the query, over a sample of cells of a depth."""
        if self.pool is not None:
            sample = self._partition.deviation_blocks(depth)
            found = [self._gp.deviations(*item).max() for item in sample]
            return float(max(found, default=0.0))
        found = []
        for block, lower, upper in self._partition.deviation_cells(depth, not self._stationary):
            center, half = 0.5 * (lower + upper), 0.5 * (upper - lower)

            def deviations(t: Any, block: Any = block, c: Any = center, r: Any = half) -> Any:
                return self._gp.deviations(block, self._rows_of(c + r * t))

            found.append(largest_within(deviations, len(center)))
        return max(found)

    @property
    def _stationary(self) -> bool:
        """Whether all cells of a depth have the same prior, as far as kernels say so."""
        kernel = self.surrogate_.kernel_
        return isinstance(kernel, CellKernel) and bool(kernel.base.is_stationary())

    def _relearned(self) -> None:
        self._delta = self._diameter()


def first_maximum(values: np.ndarray, tolerance: float) -> int:
    """Position of the first value within ``tolerance`` of the largest; NaN counts as lowest."""
    values = np.where(np.isnan(values), -np.inf, values)
    return int(np.flatnonzero(values >= values.max() - tolerance)[0])

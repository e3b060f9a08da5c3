"""What the tree methods share: the partition of a box or a pool, and the diameter of cells."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skgpb._core._tree import TIE_TOLERANCE, Tree, first_maximum
from skgpb.domains import BoxPartition, Cell, PoolPartition
from skgpb.domains.mixed import deepest_cut, partition_of_box
from skgpb.domains.partition import deepest_level, points_per_axis
from skgpb.exceptions import RefinementWarning
from skgpb.kernels import LowRank
from skgpb.kernels._cell import CellKernel
from skgpb.kernels._white import contains_white_noise
from skgpb.locks import locked
from skgpb.optimizers._base import FreeChoice
from skgpb.optimizers._region_search import SupportedRegionOptimizer
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

# A difference is known to be positive at so many of its standard deviations.
KNOWN = 2.0
# n_representatives=None means at most this many in a pool's cell.
IN_POOL = 32
# Averages over more rows of a pool than this go by features, see LowRank.
MANY_ROWS = 512


class TreeSearchOptimizer(FreeChoice[Cell]):
    """A search over the cells of a K-ary partition of a box or of a pool."""

    _sides = "any"

    _parameter_constraints: dict[str, Any] = {
        "bounds": "no_validation",
        "pool": "no_validation",
        "n_children": [Interval(Integral, 2, MOST_CHILDREN, closed="both")],
        "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_members": [Interval(Integral, 1, None, closed="left")],
    }

    _query_type = Cell

    # -- domain -----------------------------------------------------------------------------

    def _domain(self) -> np.ndarray | None:
        if self.pool is None:
            return super()._domain()
        pool = check_numbers(self.pool, "pool")
        box = np.column_stack([pool.min(axis=0), pool.max(axis=0)])
        given = self.bounds is not None
        if given and (self.space_ or not np.array_equal(check_bounds(self.bounds), box)):
            raise ValueError("pass either bounds or pool: a pool has the bounds of its rows")
        return box

    def _points_per_axis(self, d: int) -> tuple[int, ...]:
        """Resolve ``n_representatives`` for boxes."""
        if self.feedback == "center":
            return (1,) * d
        return points_per_axis(self.n_representatives, d, self.space_)

    def _make_partition(self, max_depth: int) -> BoxPartition | PoolPartition:
        if self.pool is None:
            counts = self._points_per_axis(self.n_features_in_)
            named = isinstance(self.feedback, str) and self.feedback != "integral"
            at_center = named and max(counts) == 1
            return partition_of_box(
                self.bounds_, self.n_children, counts, at_center, max_depth, self.space_
            )
        pool = check_numbers(self.pool, "pool").copy()
        sizes = {"center": 1, "integral": None}
        n = IN_POOL if self.n_representatives is None else self.n_representatives
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n_representatives must be an integer >= 1 for a pool, got {n!r}")
        size = sizes.get(self.feedback, int(n))
        return PoolPartition(pool, self.n_children, size, self.min_members, max_depth)

    def _given_depth(self) -> int | None:
        """Return ``max_depth``, or the depth of a pool; None where neither is given."""
        given = checked_depth(self.max_depth, self.n_children)
        if given is not None or self.pool is None:
            return given
        # The deepest level at which every cell still has children.
        n, depth = len(self.pool) // self.n_children, 0
        while n // self.n_children >= self.min_members and depth < deepest_level(self.n_children):
            n, depth = n // self.n_children, depth + 1
        return depth

    def _resolved_depth(self) -> int:
        """Resolve ``max_depth``: as given, or ten cuts along every axis, within 64-bit indices."""
        given = self._given_depth()
        if given is not None:
            return given
        deepest = 10 * self.n_features_in_
        if self.space_ is not None and self.space_.discrete:
            deepest = deepest_cut(self.space_, self.n_children, 10)
        return min(deepest, deepest_level(self.n_children))

    def _begin_checks(self, d: int) -> None:
        self._given_depth()
        if self.pool is None:
            self._points_per_axis(d)
        check_diameter(self.diameter)

    def _begin(self) -> None:
        self.domain_: BoxPartition | PoolPartition = self._make_partition(self._resolved_depth())
        self._tree = self.domain_.tree

    @property
    @locked
    def max_depth_(self) -> int:
        """Deepest level at which cells are split."""
        return self.domain_.max_depth

    # -- choosing a leaf --------------------------------------------------------------------

    def _early_leaf(self) -> int:
        """Leaf to ask where all are being evaluated: the best of those that can be is refined."""
        node = -1
        while node < 0:
            self._expand(self._best_divisible_leaf())
            node = self._best_leaf(self.domain_.asked(self._pending))
        return node

    @abstractmethod
    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        """Leaf node of the largest index that is not excluded, -1 if there is none."""

    def _best_divisible_leaf(self) -> int:
        leaves = self._tree.leaves
        excluded = np.zeros(self._tree.n_nodes, dtype=np.uint8)
        for leaf in leaves.tolist():
            if not self.domain_.splittable(leaf):
                excluded[leaf] = 1
        node = self._best_leaf(excluded)
        if node < 0:
            raise ValueError(
                f"all {len(leaves)} cells at the finest resolution are pending: tell some of "
                "them before asking for more, or increase max_depth"
            )
        return node

    # -- tree -------------------------------------------------------------------------------

    def _expand(self, node: int) -> int:
        """Split a leaf; the number of its first child."""
        return self.domain_.split(node)

    def _deepest_expanded(self) -> np.ndarray:
        """Expanded nodes at the deepest expanded depth by index, or the root (decision D-A5)."""
        nodes = self.domain_.expanded
        if not len(nodes):
            return np.zeros(1, dtype=np.intp)
        depth = self._tree.depth[nodes]
        nodes = nodes[depth == depth.max()]
        return nodes[np.argsort(self._tree.index[nodes])]

    @property
    @locked
    def tree_(self) -> Bunch:
        """The partition so far, as arrays with one entry per node.

        ``depth``, ``index``, ``parent`` (-1 for the root), ``children`` (n_nodes, K) (-1 for
        leaves), ``lower`` and ``upper`` (n_nodes, d), ``n_evaluations`` and ``reward_sum``, the
        number and the sum of the rewards of its cell. ``domain_.cell(node)`` is the query of a
        node.
        """
        check_is_fitted(self, "bounds_")
        return tree_arrays(self._tree, self._signed)


class GaussianTreeSearchOptimizer(SupportedRegionOptimizer[Cell], TreeSearchOptimizer):
    """A tree search whose cells share what is observed through a Gaussian process on f.

    A subclass decides which functionals the surrogate tracks (``_track_root``, ``_expand``).
    """

    _parameter_constraints: dict[str, Any] = {
        "diameter": [StrOptions({"kernel"}), tuple, list, callable]
    }

    # -- recommending -----------------------------------------------------------------------

    @property
    def _finest(self) -> int:
        return self.max_depth_ + 1

    def _slots_of(self, front: list[int]) -> np.ndarray:
        slots = np.full(self._tree.n_nodes, -1)
        slots[self._tree.leaves] = np.arange(self._tree.n_leaves)
        return slots[front]

    def _best(self) -> Cell:
        """Return the split cell of the highest mean at the deepest level that has any."""
        nodes = self._deepest_expanded()
        means = self._gp.moments([self.domain_.block(node) for node in nodes.tolist()])
        tolerance = TIE_TOLERANCE * self._gp.scale
        return self.domain_.cell(int(nodes[first_maximum(means, tolerance)]))

    def _best_supported(self, finest: int, caution: float) -> Cell:
        best = super()._best_supported(finest, caution)
        domain, on_grid = self.domain_, self.max_depth is not None and best.depth == self._finest
        if on_grid and isinstance(domain, BoxPartition) and not domain.at_center:
            self._warn_of_grid(domain, best)
        return best

    def _warn_of_grid(self, domain: BoxPartition, best: Cell) -> None:
        """Warn where a cell half a side beside one of the finest is known to be better."""
        step = 0.5 * np.diag(best.upper - best.lower)
        if self.space_ is not None:
            # No run of values lies half a side beside another.
            step[[axis.discrete for _, axis in self.space_.axes]] = 0.0
        corners = best.lower + np.concatenate([np.zeros((1, len(step))), step, -step])
        boxes = np.hstack([corners, corners + best.upper - best.lower])
        low, high = self.bounds_.T
        inside = (corners >= low).all(axis=1) & (boxes[:, len(step) :] <= high).all(axis=1)
        blocks = [domain.rows_of_box(box) for box in boxes[inside]]
        mean, cov = self._gp.moments(blocks, cov=True)
        var = cov[0, 0] + np.diag(cov) - 2.0 * cov[0]
        if (mean - mean[0] > KNOWN * np.sqrt(np.maximum(var, 0.0)))[1:].any():
            warnings.warn(
                f"max_depth={self.max_depth} ties recommendations to a grid, and a cell half a "
                "side beside the best of it is better: recommend(side=...) places a cell of any "
                "size freely",
                RefinementWarning,
                stacklevel=5,
            )

    # -- state ------------------------------------------------------------------------------

    def _begin_checks(self, d: int) -> None:
        super()._begin_checks(d)
        self._query_kernel(d)

    def _begin(self) -> None:
        super()._begin()
        d = self.n_features_in_
        self._start_surrogate(self._query_kernel(d), self.domain_.block(0).shape[1])
        self._relearned()
        self._track_root()

    def _track_root(self) -> None:
        """Follow the posterior of the first leaf."""
        self._gp.track(self.domain_.blocks(0, 1))

    def _query_kernel(self, d: int) -> Kernel:
        if self.pool is None or isinstance(self.feedback, Kernel):
            return super()._query_kernel(d)
        return self._pool_kernel(self._prior_kernel(d))

    def _pool_kernel(self, base: Kernel) -> Kernel:
        """Kernel of f, by features where cells average so many rows that pairs are too many."""
        given = self.n_representatives
        many = isinstance(given, Integral) and int(given) > MANY_ROWS
        if not (many or self.feedback == "integral"):
            return base
        if len(self.pool) <= MANY_ROWS or contains_white_noise(base):
            return base
        return base if isinstance(base, LowRank) else LowRank(base, self.pool)

    # -- the variation within cells ---------------------------------------------------------

    def _diameter(self) -> np.ndarray:
        """delta(h) for h = 0..max_depth + 1, in normalised units (decision D-A15)."""
        if self.diameter != "kernel":
            return given_diameter(self.diameter, self.max_depth_ + 2) / self._gp.scale
        g = [self._largest_deviation(depth) for depth in range(self.max_depth_ + 2)]
        return self._deviations_within * never_increasing(np.array(g))

    def _largest_deviation(self, depth: int) -> float:
        """Largest prior sd of f(x) minus the query, over a sample of cells of a depth."""
        if isinstance(self.domain_, PoolPartition):
            sample = self.domain_.deviation_blocks(depth)
            found = [self._gp.deviations(*item).max() for item in sample]
            return float(max(found, default=0.0))
        found = []
        for block, lower, upper in self.domain_.deviation_cells(depth, not self._stationary):
            center, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
            of = self._gp.deviations_from(block)

            def deviations(t: Any, of: Any = of, c: Any = center, r: Any = half) -> Any:
                return of(self._rows_of(c + r * t))

            found.append(largest_within(deviations, len(center)))
        return max(found, default=0.0)

    @property
    def _stationary(self) -> bool:
        """Whether all cells of a depth have the same prior, as far as kernels say so."""
        kernel = self.surrogate_.kernel_
        return isinstance(kernel, CellKernel) and bool(kernel.base.is_stationary())

    def _relearned(self) -> None:
        self._delta = self._diameter()


def checked_depth(max_depth: int | None, n_children: int) -> int | None:
    """Check that the nodes of a K-ary tree of this depth have 64-bit indices."""
    limit = deepest_level(n_children)
    if max_depth is None or max_depth <= limit:
        return None if max_depth is None else int(max_depth)
    raise ValueError(
        f"max_depth must be at most {limit} with n_children={n_children}, got {max_depth}"
    )


def check_diameter(diameter: Any) -> None:
    """Check a ``diameter`` of the form (c, rho)."""
    if not isinstance(diameter, (tuple, list)):
        return
    numbers = len(diameter) == 2 and all(isinstance(x, Real) for x in diameter)
    if not numbers or not (np.isfinite(diameter[0]) and diameter[0] > 0 and 0 < diameter[1] < 1):
        raise ValueError(
            "diameter as (c, rho) stands for c * rho**depth and needs finite c > 0 and "
            f"0 < rho < 1, got {diameter!r}"
        )


def given_diameter(diameter: Any, n: int) -> np.ndarray:
    """delta(h) for depths h = 0..n - 1 where the user gave it, in units of the reward."""
    if callable(diameter):
        return np.array([check_callable_value(diameter, h, "diameter") for h in range(n)])
    c, rho = diameter
    return c * rho ** np.arange(n, dtype=np.float64)


def tree_arrays(tree: Tree, signed: Callable[[Any], Any]) -> Bunch:
    """Nodes of a tree as arrays, rewards in the user's sign."""
    shape = ("depth", "index", "parent", "children", "lower", "upper")
    arrays = {name: getattr(tree, name) for name in (*shape, "n_evaluations")}
    return Bunch(**arrays, reward_sum=signed(tree.reward_sum))

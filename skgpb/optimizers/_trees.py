"""Searches by cells of a partition: cutting, variation of f within a cell, and their base classes.

The variation of a cell with centre c is g = max over x in the cell of

    d(x, c) = sd(f(x) - f(c)) = sqrt(k(x, x) + k(c, c) - 2 k(x, c)).

References
----------
.. [Shekhar2018] S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive
   discretization", Electronic Journal of Statistics 12, 2018. Equations 2.2, 3.3, 3.4, Claim 2
   and Corollary 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from math import floor, log, pi
from typing import Any, ClassVar, overload

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skgpb import defaults
from skgpb._core._posterior import Posterior
from skgpb._core._ties import argmax_first, exceeds, levelled
from skgpb._core._tree import Tree
from skgpb.domains import Cell
from skgpb.domains.arms import Region
from skgpb.domains.candidates import spread_points
from skgpb.domains.mixed import deepest_cut, partition_of_box, rows_of_points
from skgpb.domains.partition import (
    BoxPartition,
    Partition,
    PoolPartition,
    deepest_level,
    points_per_axis,
)
from skgpb.domains.space import SAME, ParameterSpace, SeparateAxis
from skgpb.exceptions import AllPendingError, BudgetWarning, RefinementWarning
from skgpb.kernels import CellAverage, CellIntegral, LowRank
from skgpb.kernels._cell import CellKernel
from skgpb.kernels._white import contains_white_noise, diagonal_blocks, variances
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._base import BaseBanditOptimizer, Q
from skgpb.optimizers._feasibility import SuccessProbabilities
from skgpb.optimizers._gaussian import BETA_CONSTRAINTS, GaussianProcessOptimizer, ModelParameters
from skgpb.optimizers._places import SideLengths
from skgpb.optimizers._run import checked_method
from skgpb.optimizers._stopping import BEAM, Refined, asked_depth, over_regions
from skgpb.optimizers.changed_box import change_box
from skgpb.surrogate.gaussian_process import GaussianProcess, Moments
from skgpb.surrogate.likelihood import default_kernel
from skgpb.surrogate.settings import default_kernel as kernel_on_columns
from skgpb.utils.locks import locked
from skgpb.utils.roots import nonnegative
from skgpb.utils.typing import (
    Beta,
    FeedbackOfRegion,
    Points,
    RecommendMethod,
    Representatives,
    Variation,
)
from skgpb.utils.validation import (
    MOST_CHILDREN,
    MOST_LEAVES,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_bounds,
    check_callable_value,
    check_numbers,
)
from skgpb.utils.warnings import warn

__all__ = ["PartitionSearch"]

# -- Variation of f within cells, and the smoothness of kernels ------------------------------------

# Accuracy: along an axis of [-1, 1], its ends and its middle, points spread evenly, and points as
# dense as they are near the ends, to find the right place in the last of many periods.
EVEN = spread_points(np.array([[-1.0, 1.0]]), 36, np.zeros(1))[:, 0]
NEAR = 1.0 - 10.0 ** -np.linspace(0.3, 2.5, 10)
LINE = np.concatenate([[-1.0, 0.0, 1.0], EVEN, NEAR, -NEAR])
# Accuracy: points all over a cell at which f is compared with the answer to it (D-B11).
N_VARIATION_POINTS = 32
# Accuracy: step of the numerical exponent, in units of the sides of the domain.
STEP = 1e-4


def claim_2(g: np.ndarray, n_children: int, d: int, failure_probability: float) -> np.ndarray:
    r"""V_h, a bound on the variation of f within any cell of depth h (Claim 2, decision D-B10).

    .. math::

        V_h = 4 g_h \left( \sqrt{2 u + C_4 + h \log K + 4 d \log(1 / g_h)} + C_3 \right),
        \quad C_4 = C_2 + 2 \log\left( (h + 1)^2 \pi^2 / 6 \right),
        \quad u = \log(1 / \theta).

    The paper leaves C_2 and C_3 open; both are 1 here. The radicand is clipped at zero, and as the
    formula is not monotone in g_h, the smallest value up to depth h is returned. It is not
    homogeneous either: log(1 / g) depends on the unit of the reward. It is meant for prior
    variances of the order of one.

    Parameters
    ----------
    g : ndarray of shape (n,)
        The largest standard deviation of f(x) - f(c) over cells of depth h = 0, 1, ... with
        centre c.
    n_children : int
        K of the partition.
    d : int
        Number of dimensions.
    failure_probability : float
        theta, in (0, 1).

    Returns
    -------
    variation : ndarray of shape (n,)
        V_0, ..., in units of the reward; never increasing.
    """
    h = np.arange(len(g))
    C2, C3 = defaults.CLAIM2_CONSTANTS
    inside = 2.0 * log(1.0 / failure_probability) + C2 + 2.0 * np.log((h + 1) ** 2 * pi**2 / 6.0)
    # log(1 / g) is -inf for g = inf only; a process that does not vary at all has V = 0.
    inside += h * log(n_children) - 4.0 * d * np.log(np.where(g > 0, g, 1.0))
    bound = 4.0 * g * (np.sqrt(np.maximum(inside, 0.0)) + C3)
    return np.minimum.accumulate(bound)


def cell_deviations(
    kernel: Kernel | Callable,
    cells: Callable[[int], list[tuple[np.ndarray, np.ndarray]]],
    n_depths: int,
) -> np.ndarray:
    """Return g_h, h = 0..n_depths - 1: the largest sd of f(x) - f(centre) in a cell of depth h.

    ``cells(h)`` returns the corners (lower, upper) of a sample of cells of depth h.
    """
    g = np.zeros(n_depths)
    for h in range(n_depths):
        for lower, upper in cells(h):
            center, half = 0.5 * (lower + upper), 0.5 * (upper - lower)

            def deviations(t: np.ndarray, c: np.ndarray = center, r: np.ndarray = half) -> Any:
                return _deviations(kernel, c, c + r * t)

            g[h] = max(g[h], largest_within(deviations, len(lower)))
    return monotone_envelope(g)


def answer_deviations(
    gp: GaussianProcess, partition: BoxPartition | PoolPartition, n_depths: int, everywhere: bool
) -> np.ndarray:
    """Return the largest prior sd of f(x) - answer in cells of depth h = 0..n_depths - 1.

    The maximum is over x and over a sample of cells of each depth: one of each shape, or, with
    ``everywhere``, cells at several places.
    """
    found = np.zeros(n_depths)
    for depth in range(n_depths):
        if isinstance(partition, PoolPartition):
            for row_set, members in partition.deviation_row_sets(depth):
                found[depth] = max(found[depth], gp.deviations(row_set, members).max())
            continue
        for row_set, lower, upper in partition.deviation_cells(depth, everywhere):
            center, half, of = (
                0.5 * (lower + upper),
                0.5 * (upper - lower),
                gp.deviations_from(row_set),
            )

            def deviations(t: Any, of: Any = of, c: Any = center, r: Any = half) -> Any:
                return of(partition.rows_of(c + r * t))

            found[depth] = max(found[depth], largest_within(deviations, len(center)))
    return monotone_envelope(found)


class PriorOfPoints:
    """Prior covariance of f between points of a box, from the kernel of the answers to cells."""

    def __init__(self, kernel: Kernel, space: ParameterSpace | None = None) -> None:
        self.kernel, self.space = kernel, space

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Covariances (n, m), without white noise."""
        return self.kernel(rows_of_points(X, self.space), rows_of_points(Y, self.space))

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Variances (n,), white noise included."""
        return variances(self.kernel, rows_of_points(X, self.space))


def monotone_envelope(g: np.ndarray) -> np.ndarray:
    """Return the smallest non-increasing sequence that is at least g.

    Finer cells may vary more around their average: a periodic f does over one and a half periods,
    compared with two.
    """
    return np.maximum.accumulate(g[::-1])[::-1]


def largest_within(deviations: Callable[[np.ndarray], np.ndarray], d: int) -> float:
    """Return the largest of ``deviations(t)``, t (n, d) in the cube [-1, 1]^d, up to a few percent.

    If the covariance decreases with distance the maximum is at a corner, but not for a periodic
    process. The search starts from the best of the corners and of points spread over the cube, not
    on a lattice, which a period could match. Two rounds search along all axes and combine the best
    values of the axes; this is exact if the deviation is a monotone function of a sum or product
    over the axes.
    """
    if d == 1:
        return float(deviations(LINE[:, None]).max())
    alternate = np.where(np.arange(d) % 2, -1.0, 1.0)
    corners = np.stack([np.zeros(d), np.ones(d), -np.ones(d), alternate, -alternate])
    cube, axis = np.tile([-1.0, 1.0], (d, 1)), np.arange(d)
    points = np.concatenate([corners, spread_points(cube, N_VARIATION_POINTS, np.zeros(d))])
    values = deviations(points)
    for _ in range(2):
        best = points[int(np.argmax(values))]
        lines = np.tile(best, (d, len(LINE), 1))
        lines[axis, :, axis] = LINE
        along = deviations(lines.reshape(-1, d)).reshape(d, -1)
        place = np.unravel_index(along.argmax(), along.shape)
        points = np.stack([best, lines[place], LINE[along.argmax(axis=1)]])
        values = deviations(points)
    return float(values.max())


def smoothness_exponent(kernel: Kernel | Callable, bounds: np.ndarray) -> float:
    """Return alpha of equation 3.3, d(x, y) <= C |x - y|^alpha for near points, to two decimals.

    It is 1 for kernels of a process that is differentiable or nearly so (RBF, Matern with nu > 1),
    and 1/2 for the exponential kernel. The smallest alpha of the axes is returned, at the centre of
    the domain.
    """
    center, side = bounds.mean(axis=1), bounds[:, 1] - bounds[:, 0]
    exponents = [1.0]
    for step in np.diag(STEP * side):
        near, far = _deviations(kernel, center, center + np.stack([step, 2.0 * step]))
        if near > 0.0:
            exponents.append(round(float(np.log2(far / near)), 2))
    return max(0.1, min(exponents))


def h_max(n: int, alpha: float, n_children: int, d: int) -> float:
    """Return the depth of equation 3.4 for n evaluations, a float; rho = K^(-1/d) for boxes."""
    return log(n) / (2.0 * alpha * log(n_children) / d) * (1.0 + 1.0 / alpha)


def _deviations(kernel: Callable, center: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the standard deviations (n,) of f(points) - f(center), without white noise."""
    X = np.concatenate([center[None], points])
    own = _variances(kernel, X)
    squares = own[1:] + own[0] - 2.0 * np.asarray(kernel(X[:1], points))[0]
    return np.sqrt(nonnegative(squares, kernel, lambda: float(own.max())))


def _variances(kernel: Callable, X: np.ndarray) -> np.ndarray:
    """Return the variances (n,) of f at points (n, d), without white noise."""
    if hasattr(kernel, "diag") and not contains_white_noise(kernel):
        return kernel.diag(X)
    # A copy, because k(X) of scikit-learn adds white noise on the diagonal and k(X, Y) does not.
    parts = [np.diag(np.asarray(kernel(each, each.copy()))) for each in diagonal_blocks(X)]
    return np.concatenate(parts)


# -- Horizon: the number of evaluations for which an algorithm computes its constants --------------

#: Constraints of ``horizon`` and ``anytime``.
HORIZON: dict[str, Any] = {
    "horizon": [Interval(Integral, 1, None, closed="left")],
    "anytime": ["boolean"],
}


@dataclass(frozen=True)
class Horizon:
    """Number of evaluations for which the constants of an algorithm are computed.

    Attributes
    ----------
    n : int
        Number of evaluations.
    past_horizon : bool
        Whether a warning was issued because there were more evaluations.
    """

    n: int
    past_horizon: bool = False

    def at(self, t: int, anytime: bool, name: str) -> Horizon:
        """Return the horizon for evaluation t > n: doubled with ``anytime`` (D-B7), or warn."""
        if t <= self.n:
            return self
        if anytime:
            n = self.n
            while n < t:
                n *= 2
            return replace(self, n=n)
        if not self.past_horizon:
            warn(
                f"the constants of this {name} hold for horizon={self.n} "
                f"evaluations, and this is evaluation {t}: pass the true horizon, or anytime=True",
                BudgetWarning,
            )
        return replace(self, past_horizon=True)


# -- Cutting of a box or a pool into cells ---------------------------------------------------------

#: Constraints of the parameters for cutting a domain into cells.
CUTTING: dict[str, Any] = {
    "pool": "no_validation",
    "n_children": [Interval(Integral, 2, MOST_CHILDREN, closed="both")],
    "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "min_members": [Interval(Integral, 1, None, closed="left")],
}


@dataclass(frozen=True)
class Cutting:
    """Parameters of a search that define the cells of its domain, a box or a pool.

    Attributes
    ----------
    pool : array-like of shape (n, d) or None
        The points of a pool; None if the domain is a box.
    space : ParameterSpace or None
        Names of the sides of the box.
    n_children, feedback, n_representatives, max_depth, min_members
        As given to the search.
    """

    pool: Any
    space: ParameterSpace | None
    n_children: int
    feedback: Any
    n_representatives: Any
    max_depth: int | None
    min_members: int

    @classmethod
    def of(cls, given: Any, space: ParameterSpace | None) -> Cutting:
        """Return the cutting with the parameters of an object."""
        names = [each.name for each in fields(cls) if each.name != "space"]
        return cls(space=space, **{name: getattr(given, name) for name in names})

    def box(self, bounds: Any) -> np.ndarray | None:
        """Return the box (d, 2) of the domain, given ``bounds``; None if nothing is given."""
        if self.pool is None:
            if self.space is not None:
                return self.space.bounds
            return None if bounds is None else check_bounds(bounds)
        pool = check_numbers(self.pool, "pool")
        box = np.column_stack([pool.min(axis=0), pool.max(axis=0)])
        if bounds is not None and (
            self.space is not None or not np.array_equal(check_bounds(bounds), box)
        ):
            raise ValueError("pass either bounds or pool: a pool has the bounds of its rows")
        return box

    def counts(self, d: int) -> tuple[int, ...]:
        """Return the number of representatives along each side of a box of d dimensions."""
        if isinstance(self.feedback, str) and self.feedback == "center":
            return (1,) * d
        return points_per_axis(self.n_representatives, d, self.space)

    def check(self, d: int) -> None:
        """Raise ValueError if a domain of d dimensions cannot be cut with these parameters."""
        self.given_depth()
        if self.pool is None:
            self.counts(d)

    def given_depth(self) -> int | None:
        """Return ``max_depth``, or the depth of a pool; None if neither is given."""
        given = checked_depth(self.max_depth, self.n_children)
        if given is not None or self.pool is None:
            return given
        # The deepest level at which every cell still has children.
        n, depth = len(self.pool) // self.n_children, 0
        while n // self.n_children >= self.min_members and depth < deepest_level(self.n_children):
            n, depth = n // self.n_children, depth + 1
        return depth

    def depth(self, d: int) -> int:
        """Return ``max_depth``: as given, or a number of cuts per axis, within 64-bit indices."""
        given = self.given_depth()
        if given is not None:
            return given
        deepest = defaults.CUTS_PER_AXIS * d
        if self.space is not None and self.space.uses_columns:
            deepest = deepest_cut(self.space, self.n_children, defaults.CUTS_PER_AXIS)
        return min(deepest, deepest_level(self.n_children))

    def partition(self, bounds: np.ndarray, max_depth: int) -> BoxPartition | PoolPartition:
        """Return the partition with its root only."""
        named = isinstance(self.feedback, str)
        if self.pool is None:
            counts = self.counts(len(bounds))
            at_center = named and self.feedback != "integral" and max(counts) == 1
            return partition_of_box(
                bounds, self.n_children, counts, at_center, max_depth, self.space
            )
        pool = check_numbers(self.pool, "pool")
        n = defaults.POOL_CELL_POINTS if self.n_representatives is None else self.n_representatives
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n_representatives must be an integer >= 1 for a pool, got {n!r}")
        sizes = {"center": 1, "integral": None}
        size = sizes.get(self.feedback, int(n)) if named else int(n)
        return PoolPartition(pool, self.n_children, size, self.min_members, max_depth)


def checked_depth(max_depth: int | None, n_children: int) -> int | None:
    """Check that the nodes of a K-ary tree of this depth have 64-bit indices."""
    limit = deepest_level(n_children)
    if max_depth is None or max_depth <= limit:
        return None if max_depth is None else int(max_depth)
    raise ValueError(
        f"max_depth must be at most {limit} with n_children={n_children}, got {max_depth}"
    )


def check_variation(variation: Any) -> None:
    """Check a ``variation`` of the form (c, rho)."""
    if not isinstance(variation, (tuple, list)):
        return
    numbers = len(variation) == 2 and all(isinstance(x, Real) for x in variation)
    if not numbers or not (np.isfinite(variation[0]) and variation[0] > 0 and 0 < variation[1] < 1):
        raise ValueError(
            "variation as (c, rho) stands for c * rho**depth and needs finite c > 0 and "
            f"0 < rho < 1, got {variation!r}"
        )


def given_variation(variation: Any, n: int) -> np.ndarray:
    """Return the user's delta(h) for depths h = 0..n - 1, in units of the reward."""
    if callable(variation):
        return np.array([check_callable_value(variation, h, "variation") for h in range(n)])
    c, rho = variation
    return c * rho ** np.arange(n, dtype=np.float64)


def best_divisible(partition: Partition, best_leaf: Callable[[np.ndarray], int]) -> int:
    """Return the best leaf that can be split, or raise AllPendingError.

    ``best_leaf`` takes a mask (n_nodes,) of excluded nodes; it returns -1 if all are excluded.
    """
    leaves = partition.tree.leaves
    excluded = np.zeros(partition.tree.n_nodes, dtype=np.uint8)
    for leaf in leaves.tolist():
        if not partition.splittable(leaf):
            excluded[leaf] = 1
    node = best_leaf(excluded)
    if node < 0:
        raise AllPendingError(
            f"all {len(leaves)} cells at the finest resolution are pending: tell some of "
            "them before asking for more, or increase max_depth"
        )
    return node


def boxes_of(partition: Partition, nodes: np.ndarray) -> np.ndarray:
    """Return the boxes [lower, upper] of nodes, shape (n, 2 d)."""
    tree = partition.tree
    return np.hstack([tree.lower[nodes], tree.upper[nodes]])


def always_failing_leaves(partition: Partition, chances: SuccessProbabilities) -> list[int]:
    """Return the leaves that have failed at every evaluation and can be split."""
    leaves = partition.tree.leaves
    failed = leaves[chances.among(chances.always_failed, boxes_of(partition, leaves))]
    return [leaf for leaf in failed.tolist() if partition.splittable(leaf)]


def exclude_unlikely(
    partition: Partition, excluded: np.ndarray | None, chances: SuccessProbabilities
) -> np.ndarray:
    """Return the mask ``excluded`` with the leaves that are unlikely to succeed added."""
    tree = partition.tree
    leaves = tree.leaves
    marked = np.zeros(tree.n_nodes, dtype=np.uint8) if excluded is None else excluded
    marked[leaves[chances.unlikely_mask(boxes_of(partition, leaves))]] = 1
    return marked


# -- Searches by cells, with or without a model ----------------------------------------------------


class Partitioned(BaseBanditOptimizer[Q]):
    """A search whose domain is cut into cells, the nodes of a tree."""

    _sides = "any"

    domain_: Any
    _tree: Tree

    @property
    @locked
    def max_depth_(self) -> int:
        """Deepest level at which cells are split."""
        return self.domain_.max_depth

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
        shape = ("depth", "index", "parent", "children", "lower", "upper", "n_evaluations")
        arrays = {name: getattr(self._tree, name) for name in shape}
        return Bunch(**arrays, reward_sum=self.run_.sign.convert(self._tree.reward_sum))


class CellSearch(Partitioned[Cell]):
    """A search that asks the best leaf; a leaf that is split is replaced by its children."""

    _query_type = Cell

    @property
    def _cutting(self) -> Cutting:
        """Parameters for cutting the domain into cells."""
        run = self.run_
        return Cutting.of(run.params, run.space)

    def _domain(self, X: np.ndarray | None) -> np.ndarray | None:
        return self._cutting.box(self.run_.params.bounds)

    def _begin_checks(self) -> None:
        self._cutting.check(self.n_features_in_)
        check_variation(self.run_.params.variation)

    @abstractmethod
    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        """Return the leaf with the largest index that is not excluded; -1 if all are."""

    @abstractmethod
    def _best_of(self, nodes: np.ndarray) -> int:
        """Return the position in ``nodes`` of the node with the largest mean."""

    def _cell_to_ask(self, split: Callable[[int], Any]) -> Cell:
        """Return the best leaf; if every leaf is pending, split the best of them first.

        If failures depend on the cell, cells that always failed are split, and a cell that is
        unlikely to succeed is returned only if no other cell is left.
        """
        run = self.run_
        domain, pending, node = self.domain_, run.pending, -1
        chances = run.chances_of_regions(self.bounds_)
        if chances is not None:
            for leaf in always_failing_leaves(domain, chances):
                split(leaf)
            node = self._best_leaf(exclude_unlikely(domain, domain.query_mask(pending), chances))
        if node < 0:
            node = self._best_leaf(domain.query_mask(pending))
        while node < 0:
            split(best_divisible(domain, self._best_leaf))
            node = self._best_leaf(domain.query_mask(pending))
        return domain.cell(node)

    def _best(self, context: np.ndarray | None = None) -> Cell:
        """Return the split cell with the highest mean on the deepest level with split cells."""
        outcomes = self.run_.outcomes_of_regions(self.bounds_)
        nodes = self.domain_.deepest_split_nodes(
            outcomes.always_failed if outcomes else frozenset()
        )
        return self.domain_.cell(int(nodes[self._best_of(nodes)]))


# -- Searches by regions: cells or balls -----------------------------------------------------------

# Rounding: bound on the rounding error of tracked values, in units of the process.
ROUNDING_OF_REGIONS = 1e-5
# Accuracy: quadrature nodes along each continuous side of a cell of settings, for means without a
# closed form.
NODES_OF_SETTINGS = 8

#: Constraints of the parameters for the feedback of regions and the optimism of a search.
REGIONS: dict[str, Any] = {
    "beta": BETA_CONSTRAINTS,
    "feedback": [StrOptions({"center", "average", "integral"}), Kernel],
    "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
}


def kernel_of_points(
    kernel: Kernel | None, box: np.ndarray, space: ParameterSpace | None, smooth: bool
) -> Kernel:
    """Return the prior covariance of f: as given, or the default for a box or for settings."""
    if kernel is not None:
        return clone(kernel)
    if space is not None and space.uses_columns:
        return kernel_on_columns(space, smooth)
    return default_kernel(box, smooth)


def kernel_of_regions(
    feedback: str | Kernel,
    kernel: Kernel | None,
    counts: tuple[int, ...],
    box: np.ndarray,
    space: ParameterSpace | None,
) -> Kernel:
    """Return the covariance of answers to regions, see ``feedback`` of GPOOOptimizer."""
    if isinstance(feedback, Kernel):
        return clone(feedback)
    # Averages over regions have a closed form for RBF kernels.
    base = kernel_of_points(kernel, box, space, smooth=feedback != "center")
    mixed = space is not None and space.uses_columns
    if feedback == "integral":
        # Adaptive quadrature is over all columns of settings, a rule over the wide ones alone.
        return CellIntegral(base, NODES_OF_SETTINGS if mixed else None)
    if space is not None and mixed:
        counts = tuple(counts[axis] for axis in space.groups)
    return CellAverage(base, counts)


class ChangingBox(BaseBanditOptimizer[Q]):
    """A search by regions of a box, which continues in another box of named sides.

    It then begins with one region, the sides of now, and with the answers so far, which the model
    keeps in a box that contains them.
    """

    _keeps_ranges = True
    _way_to_hold = ". Until other bounds are set, set_params(bounds=...) with [value] holds a side"

    @property
    def _root(self) -> np.ndarray:
        """The box (d, 2) of the sides of now, and of contexts."""
        actions, n = self.run_.actions, self._n_context
        if actions is None:
            return self.bounds_
        return np.concatenate([self.bounds_[:n], actions.box_of_now])

    def _takes_domain(self, name: str, changed: Mapping[str, Any]) -> bool:
        run = self.run_
        # Counts of rows are of cells that another box does not have.
        whole = run.actions is not None and not run.rows
        return name == "bounds" and isinstance(changed[name], Mapping) and whole

    def _change_domain(self, name: str, value: Any) -> None:
        change_box(self, value)

    def _may_ask(self, query: Any) -> bool:
        low, high = self._root.T
        (lower, upper), rounding = np.split(query.box, 2), SAME * (high - low)
        return bool(((lower >= low - rounding) & (upper <= high + rounding)).all())


class RegionSearch(ChangingBox[Q], GaussianProcessOptimizer[Q]):
    """A Gaussian-process search for the best region, possibly finer than the queries.

    The domain lists its present regions (``front``), and the finer regions inside them (``finer``).
    """

    _methods: ClassVar[tuple[RecommendMethod, ...]] = ("posterior", "paper")

    feedback: FeedbackOfRegion | Kernel
    n_representatives: Representatives
    beta: Beta

    _parameter_constraints = REGIONS

    @property
    @abstractmethod
    def _finest_depth(self) -> int:
        """Depth of the finest regions of the domain."""

    @abstractmethod
    def _slots_of(self, front: list[Any]) -> np.ndarray:
        """Return the slots of regions of the front; -1 for regions that are not tracked."""

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: None = None,
        side: None = None,
        depth: int | None = None,
        caution: float = 0.0,
    ) -> Q: ...

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: None = None,
        side: SideLengths,
        depth: None = None,
        caution: float = 0.0,
    ) -> Region: ...

    @locked
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: None = None,
        side: SideLengths | None = None,
        depth: int | None = None,
        caution: float = 0.0,
    ) -> Q | Region:
        """Return the best region found so far, or the best cell of a size.

        Parameters
        ----------
        method : {"posterior", "paper"}, default=None
            "posterior", the default: of all regions that the posterior supports, also regions finer
            than the leaves of the search, the one with the largest mean - ``caution`` std. "paper"
            is the algorithm's own rule, for the finest regions of the search.
        context : None
            There are no contexts here.
        side : float, array-like of shape (d,) or dict, default=None
            In a box, sides of a cell: the one of this size with the best average, wherever it lies.
            Of separate values it is their number. None for a region of the search.
        depth : int, default=None
            Depth of the finest regions that "posterior" may return.
        caution : float, default=0.0
            Number of standard deviations; 0 ranks by the mean.
        """
        method = checked_method(method, self._methods)
        if depth is not None and (not isinstance(depth, Integral) or depth < 0):
            raise ValueError(f"depth must be None or an integer >= 0, got {depth!r}")
        if not isinstance(caution, Real) or not 0 <= caution < np.inf:
            raise ValueError(f"caution must be a finite number >= 0, got {caution!r}")
        loop.check_has_data(self)
        self._contexts.validate(context)
        if side is not None:
            if depth is not None:
                raise ValueError(f"depth is for cells of a partition: not with side={side!r}")
            if method == "paper":
                raise ValueError(
                    "side needs method='posterior', got method='paper': the paper recommends only "
                    "cells of the search"
                )
            return self._best_region(side, caution=float(caution))
        if method == "paper":
            return self._best()
        finest_depth = self._finest_depth if depth is None else min(depth, self._finest_depth)
        return self._best_by_posterior(finest_depth, float(caution))

    def _best_by_posterior(self, finest_depth: int, caution: float) -> Q:
        """Return the best region by the posterior, of a depth of at most ``finest_depth``."""
        domain, outcomes = self.domain_.copy(), self.run_.outcomes_of_regions(self.bounds_)
        front, possible = self.domain_.front(finest_depth), None
        if outcomes is not None:

            def among(regions: list[Any], known: SuccessProbabilities = outcomes) -> np.ndarray:
                """Return a mask of the regions that are likely to succeed."""
                return known.feasible_mask(np.array([domain.query(each).box for each in regions]))

            which = np.flatnonzero(among(front))
            if len(which):
                front, possible = [front[i] for i in which.tolist()], among
        gp, unit = self._model.process, self._model.tie_scale
        front = prune_to_beam(front, self._slots_of(front), gp.posterior, caution)
        return best_by_posterior(gp, domain, front, finest_depth, caution, unit, possible)

    # -- suboptimality gap --------------------------------------------------------------------

    def _comparison(self, best: Any) -> Refined:
        gp, rows = self._model.process.copy(), self.domain_.rows_of_query(best)
        known = gp, rows, self._widths, self._model.possible(gp)
        return Refined(self.domain_.copy(), self._finest_depth, *known)


def prune_to_beam(
    front: list[Any], slots: np.ndarray, posterior: Posterior, caution: float
) -> list[Any]:
    """Return the regions of a front that may be among the BEAM best, by their tracked values.

    ``slots`` has -1 for regions that are not tracked; these stay.
    """
    tracked = slots >= 0
    if tracked.sum() <= BEAM:
        return front
    value = np.full(len(front), np.inf)
    known = posterior.tracked_mean() - caution * np.sqrt(posterior.tracked_var())
    value[tracked] = known[slots[tracked]]
    level = np.partition(value[tracked], -BEAM)[-BEAM] - ROUNDING_OF_REGIONS
    return [front[i] for i in np.flatnonzero(value >= level).tolist()]


def best_by_posterior(
    gp: GaussianProcess,
    regions: Any,
    front: list[Any],
    finest_depth: int,
    caution: float,
    unit: float,
    possible: Callable[[list[Any]], np.ndarray] | None = None,
) -> Any:
    """Return the best region of a beam search from coarse to fine regions.

    Parameters
    ----------
    gp : GaussianProcess
        The posterior.
    regions : Partition or Balls
        The domain, which this search refines.
    front : list
        The regions of the first level.
    finest_depth : int
        The deepest level.
    caution : float
        Number of standard deviations that are subtracted from a mean.
    unit : float
        Size of the values, to which rounding errors are proportional, see ``exceeds``.
    possible : callable, default=None
        Returns a mask of the regions that may be recommended; None stands for all.

    Returns
    -------
    query : query
        The best region of all levels.
    """
    best, top = None, -np.inf
    while front:
        mean, std = gp.moments([regions.row_set(each) for each in front], std=True)
        value = levelled((mean - gp.offset - caution * std) / gp.scale)
        if possible is not None:
            value = np.where(possible(front), value, -np.inf)
        order = np.argsort(-value, kind="stable")
        if best is None or exceeds(value[order[0]], top, unit):
            best, top = front[order[0]], value[order[0]]
        front = regions.finer([front[i] for i in order[:BEAM]], finest_depth)
    return regions.query(best)


# -- Tree searches with a model --------------------------------------------------------------------

# Speed: averages over more rows of a pool than this are computed by features, see LowRank.
MANY_ROWS = 512


@cache
def log_of_cells(n_children: int, max_depth: int) -> float:
    """Return the logarithm of the number of cells of a tree."""
    return log((n_children ** (max_depth + 1) - 1) // (n_children - 1))


@dataclass(eq=False, repr=False, kw_only=True)
class PartitionSearch(ModelParameters, CellSearch, RegionSearch[Cell]):
    """Base class of searches of the cells of a partition, which share one posterior of f.

    A subclass chooses the leaf to ask, and the cells to split. Your own rule needs two methods of
    :class:`~skgpb.optimizers.TreeSearch`.

    Other parameters are inherited from :class:`~skgpb.optimizers.ModelParameters`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f, any kernel of scikit-learn; None learns one from the answers.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box that is searched: a pair (lower, upper) for each side, or a dict of named sides.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random: draws, candidates in a box, and restarts of the optimizer.
    pool : array-like of shape (n, d), default=None
        A finite domain instead of a box: cells are groups of rows, split at quantiles.
    n_children : int, default=2
        K, the number of parts into which a cell is split; fewer if it has fewer settings.
    feedback : {"center", "average", "integral"} or Kernel, default="average"
        Answer of the oracle to a cell: f at its centre, the average over its
        representatives, or the mean over the whole cell. A kernel over box descriptors
        [lower, upper] stands for itself, and ``kernel`` is then not used. In a pool: the member
        nearest to the mean, at most ``n_representatives`` members, or all of them.
    n_representatives : int or tuple of d ints, default=None
        Points per axis in a cell, S is their product; in a pool the number S itself. None
        takes as many as possible up to 10 per axis and 100 in all (32 in a pool).
    variation : "kernel", (c, rho) or callable, default="kernel"
        delta(h), the variation of f within cells of depth h: ``c * rho**h``, any function of
        h in units of the reward, or computed from the kernel, see Notes.
    max_depth : int, default=None
        Deepest level at which cells are split; leaves exist one level below. None stands for
        10 cuts along every axis, or for the depth at which a pool runs out of members.
    min_members : int, default=1
        Minimum number of members of a cell of a pool.
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is Lemma 1 of
        the paper of :class:`~skgpb.GPOOOptimizer`,
        2 log(M pi^2 t^2 / (6 theta)) with M = sum_{h <= max_depth} K^h. "rkhs" is valid for all
        cells at once and any f of norm at most B (:doc:`/user_guide/guarantees`). A callable
        takes the round t, counted from 1.

    Attributes
    ----------
    domain_ : BoxPartition or PoolPartition
        The cells; ``domain_.cell(node)`` is the query of a node.
    tree_ : Bunch
        The partition as arrays.
    max_depth_ : int
        The resolved ``max_depth``.

    Notes
    -----
    *variation="kernel".* delta(h) = sqrt(2 log(M / theta)) times the largest prior standard
    deviation of f(x) minus the average over the cell, for x anywhere in cells of depth h or
    deeper: the union bound over the M cells of the tree that Lemma 1 takes as well. Where the
    kernel is stationary one cell tells of all; otherwise a sample of cells does. In a pool x is a
    member, of a sample of cells.

    With beta="rkhs" B takes the place of the square root: by the inequality of Cauchy and Schwarz
    no f of that norm varies more.

    *Batches.* ``ask(n)`` shrinks the posterior by the queries that are pending; when every leaf
    is pending it splits the best of them early.
    """

    pool: Points | None = None
    n_children: int = 2
    feedback: FeedbackOfRegion | Kernel = "average"
    n_representatives: Representatives = None
    variation: Variation = "kernel"
    max_depth: int | None = None
    min_members: int = 1
    beta: Beta = "theory"

    _kept_fields: ClassVar[tuple[str, ...]] = ("domain_", "_moments")

    _parameter_constraints = CUTTING | {
        "variation": [StrOptions({"kernel"}), tuple, list, callable]
    }

    # -- choosing and splitting leaves --------------------------------------------------------

    def _choose(self, context: np.ndarray | None) -> Cell:
        """Return the best leaf that is not pending and likely to succeed."""
        return self._cell_to_ask(lambda leaf: self._expand_all([leaf]))

    def _expand_all(self, nodes: list[int]) -> list[int]:
        """Split several leaves and track their children in one step; return the first children."""
        firsts, slots, row_sets = [], [], []
        for node in nodes:
            slot, leaves = self._tree.node(node)[2], self._tree.n_leaves
            first = self.domain_.split(node)
            firsts.append(first)
            slots += [slot, *range(leaves, self._tree.n_leaves)]
            row_sets += self.domain_.row_sets(first, self._tree.n_nodes)
        self._model.process.track(row_sets, slots)
        return firsts

    @property
    def _log_regions(self) -> float:
        """Logarithm of M, the number of cells of the tree."""
        return log_of_cells(self._tree.n_children, self.domain_.max_depth)

    def _beta(self, t: int) -> float:
        """Return beta_t of Lemma 1 of the GPOO paper: a union over cells and rounds (D-A6)."""
        if self.beta != "theory":
            return self._norm.given_beta(t, self._model)
        theta = self._guarantee.failure_probability
        constant = self._log_regions + log(pi**2 / (6.0 * theta))
        return max(0.0, 2.0 * (constant + 2.0 * log(t)))

    # -- recommending -----------------------------------------------------------------------

    @property
    def _finest_depth(self) -> int:
        return self.max_depth_ + 1

    def _asked_depth(self) -> int | None:
        """Depth of the finest cells that a gap compares; None if it compares all cells.

        With a learned kernel nothing is known of f inside cells that were not asked.
        """
        if self._model.prior is None or self.feedback == "center":
            return None
        cells = [query for query in self.run_.told_queries() if isinstance(query, Cell)]
        return asked_depth(cells, self._tree.n_children)

    def _gap_averages(self) -> str:
        depth = self._asked_depth()
        return "" if depth is None else over_regions(depth, self._tree.n_children)

    def _comparison(self, best: Any) -> Refined:
        every, depth = super()._comparison(best), self._asked_depth()
        if depth is None:
            return every
        if best.depth > depth:
            number = best.index // self._tree.n_children ** (best.depth - depth)
            best = self.domain_.cell_at(depth, number)
        found = super()._comparison(best)
        found.finest, found.finest_depth = every, depth
        return found

    def _slots_of(self, front: list[int]) -> np.ndarray:
        slots = np.full(self._tree.n_nodes, -1)
        slots[self._tree.leaves] = np.arange(self._tree.n_leaves)
        return slots[front]

    def _best_of(self, nodes: np.ndarray) -> int:
        gp = self._model.process
        means = gp.moments([self.domain_.row_set(node) for node in nodes.tolist()])
        return argmax_first((means - gp.offset) / gp.scale, self._model.tie_scale)

    def _best_by_posterior(self, finest_depth: int, caution: float) -> Cell:
        best = super()._best_by_posterior(finest_depth, caution)
        run = self.run_
        domain, on_grid = (
            self.domain_,
            run.params.max_depth is not None and best.depth == self._finest_depth,
        )
        if on_grid and isinstance(domain, BoxPartition) and not domain.at_center:
            warn_of_grid(self._model.process, domain, best, domain.bounds, run.space)
        return best

    # -- state ------------------------------------------------------------------------------

    def _begin(self) -> None:
        kernel, cutting = self._query_kernel(), self._cutting
        self.domain_: BoxPartition | PoolPartition = cutting.partition(
            self._root, self._resolved_depth(cutting, kernel)
        )
        self._tree = self.domain_.tree
        self._start_surrogate(kernel, self.domain_.row_set(0).shape[1])
        gp = self._model.process
        gp.sizes = self.domain_.sizes
        gp.reset_evaluator()
        self._update_derived_values()
        self._track()

    def _resume(self) -> None:
        self._update_derived_values()

    @property
    def _moments(self) -> Moments:
        """Posterior moments of the tracked cells."""
        return self._model.process.posterior.known_moments()

    @_moments.setter
    def _moments(self, moments: Moments) -> None:
        self._track(moments)

    def _track(self, moments: Moments | None = None) -> None:
        """Track every leaf in its slot; ``moments`` are their moments, if given."""
        row_sets = self.domain_.row_sets(0, self._tree.n_nodes)
        leaves = [row_sets[node] for node in self._tree.leaves.tolist()]
        self._model.process.track(leaves, moments=moments)

    def _resolved_depth(self, cutting: Cutting, kernel: Kernel) -> int:
        """Return the deepest level at which cells are split, for a kernel of answers."""
        return cutting.depth(self.n_features_in_)

    def _query_kernel(self) -> Kernel:
        """Return the covariance of the answers of the oracle."""
        run = self.run_
        box, space = self.bounds_, run.space
        if run.params.pool is None or isinstance(run.params.feedback, Kernel):
            counts = self._cutting.counts(len(box))
            return kernel_of_regions(run.params.feedback, run.params.kernel, counts, box, space)
        base = kernel_of_points(run.params.kernel, box, space, smooth=False)
        # A low-rank kernel if cells average too many rows for a sum over pairs.
        given = run.params.n_representatives
        many = isinstance(given, Integral) and int(given) > MANY_ROWS
        if not (many or run.params.feedback == "integral"):
            return base
        if len(run.params.pool) <= MANY_ROWS or contains_white_noise(base):
            return base
        return base if isinstance(base, LowRank) else LowRank(base, run.params.pool)

    # -- the variation within cells ---------------------------------------------------------

    def _update_derived_values(self) -> None:
        # delta(h) for h = 0..max_depth + 1, in normalised units.
        self._variation = self._variation_bound()

    def _variation_bound(self) -> np.ndarray:
        """Return delta(h) for h = 0..max_depth + 1, in normalised units (decision D-A15)."""
        n, gp = self.max_depth_ + 2, self._model.process
        run = self.run_
        if run.params.variation != "kernel":
            return given_variation(run.params.variation, n) / gp.scale
        factor = self._norm.deviations_within(self._log_regions)
        return factor * answer_deviations(gp, self.domain_, n, not is_stationary(gp.kernel))


def is_stationary(kernel: Kernel) -> bool:
    """Return whether cells of equal shape have equal priors, as far as the kernel says."""
    return isinstance(kernel, CellKernel) and bool(kernel.base.is_stationary())


def warn_of_grid(
    gp: GaussianProcess,
    domain: BoxPartition,
    best: Cell,
    bounds: np.ndarray,
    space: ParameterSpace | None,
) -> None:
    """Warn if a cell shifted by half a side from ``best`` is significantly better."""
    step = 0.5 * np.diag(best.upper - best.lower)
    if space is not None:
        # Integers and categories cannot be shifted by half a side.
        step[[isinstance(axis, SeparateAxis) for _, axis in space.axes]] = 0.0
    corners = best.lower + np.concatenate([np.zeros((1, len(step))), step, -step])
    boxes = np.hstack([corners, corners + best.upper - best.lower])
    low, high = bounds.T
    inside = (corners >= low).all(axis=1) & (boxes[:, len(step) :] <= high).all(axis=1)
    inside[0] = True  # the best cell, whatever its rounding
    mean, cov = gp.moments([domain.rows_of_box(box) for box in boxes[inside]], cov=True)
    var = cov[0, 0] + np.diag(cov) - 2.0 * cov[0]
    if (mean - mean[0] > defaults.Z_SIGNIFICANT * np.sqrt(np.maximum(var, 0.0)))[1:].any():
        warn(
            f"max_depth={domain.max_depth} limits recommendations to a grid of "
            "cells, and a cell shifted by half a side from the best one is better: "
            "recommend(side=...) returns a cell of any size at any place",
            RefinementWarning,
        )


# -- Constants of adaptive trees, and a limit on the number of cells -------------------------------

# Rounding: a depth within this of an integer is that integer.
ROUNDING_OF_CELLS = 1e-9

#: Constraints of the parameters that only adaptive trees have.
ADAPTIVE: dict[str, Any] = HORIZON | {
    "variation": [StrOptions({"kernel", "theory"}), tuple, list, callable],
    "max_active": [Interval(Integral, 1, MOST_LEAVES, closed="both")],
}


class Constants:
    """The constants of section 3.3.2, for a search of n evaluations.

    Attributes
    ----------
    n : int
        Number of evaluations.
    h_max : float
        As given, or equation 3.4 (decision D-B4); a real number.
    max_depth : int
        ``h_max`` rounded down.
    log_cells : float
        Logarithm of the number of cells that n evaluations can create, at most all K^h.
    """

    def __init__(
        self, n: int, n_children: int, d: int, exponent: float, given: int | None = None
    ) -> None:
        self.n: int = n
        self._of = (n_children, d, exponent, given)
        K, limit = n_children, deepest_level(n_children)
        self.h_max: float = float(min(limit, h_max(n, exponent, K, d)) if given is None else given)
        self.max_depth: int = floor(self.h_max + ROUNDING_OF_CELLS)
        created = n * K * max(1.0, self.h_max)
        self.log_cells: float = min((self.max_depth + 1) * log(K), log(created))
        self._events = log(2.0 * max(1.0, self.h_max) * n), log(created)

    @classmethod
    def from_prior(
        cls, n: int, n_children: int, bounds: np.ndarray, prior: Callable, given: int | None
    ) -> Constants:
        """Return the constants for a prior covariance of f between points of a box."""
        exponent = smoothness_exponent(prior, bounds)
        return cls(n, int(n_children), len(bounds), exponent, given)

    def with_n_evaluations(self, n: int) -> Constants:
        """Return these constants for another number of evaluations."""
        return Constants(n, *self._of)

    def beta(self, failure_probability: float) -> float:
        """Square of Claim 1's beta_n, with Remark 8's count of n K h_max leaves (D-B3)."""
        return 2.0 * (log(1.0 / failure_probability) + self._events[0] + self._events[1])

    def variation(self, g: np.ndarray, failure_probability: float) -> np.ndarray:
        """V_h of Claim 2, from the deviations g_h within cells of depth h."""
        n_children, d, _, _ = self._of
        return claim_2(g, n_children, d, failure_probability)


class RefinementGuard:
    """Limit on the number of cells that are split before the next evaluation (decision D-B6).

    There is no limit up to ``max_active`` leaves. With more leaves it is one cell, so that the tree
    keeps growing where the index is large, and its size is bounded by the number of evaluations.
    """

    _kept_fields = ("warned",)

    #: Whether the warning was issued.
    warned: bool = False

    def admits(self, tree: Tree, leaves_before: int, max_active: int, n_told: int) -> bool:
        """Return whether one more leaf may be split, given the leaves before this round."""
        if tree.n_leaves + tree.n_children - 1 <= max_active or tree.n_leaves == leaves_before:
            return True
        if not self.warned:
            self.warned = True
            warn(
                f"the tree reached max_active={max_active} after {n_told} evaluations: "
                "from now on at most one cell is refined before each evaluation. Refinement runs "
                "ahead of evaluation where V_h (variation) is wide next to sqrt(beta) times the "
                "standard deviation. Pass a smaller variation, a kernel with longer length scales, "
                "a larger beta or a smaller max_depth; or raise max_active",
                RefinementWarning,
            )
        return False


class AdaptiveTree(Partitioned[Q], GaussianProcessOptimizer[Q]):
    """A tree whose constants hold for a horizon, see :class:`Constants`."""

    beta: Beta
    horizon: int
    anytime: bool
    max_active: int

    _horizon: Horizon
    _constants: Constants
    _guard: RefinementGuard

    _kept_fields: ClassVar[tuple[str, ...]] = ("_horizon", "_guard", "_refined")

    def _begin_horizon(self) -> None:
        self._horizon, self._guard = Horizon(int(self.horizon)), RefinementGuard()
        # Whether cells were split since the last answer.
        self._refined = False

    def _follow_horizon(self, t: int) -> None:
        """Update the horizon and the constants for evaluation t."""
        if t > self._horizon.n:
            self._horizon = self._horizon.at(t, self.anytime, type(self).__name__)
            self._renew_constants()

    def _renew_constants(self) -> None:
        """Recompute the constants for the present horizon."""
        if self._horizon.n != self._constants.n:
            self._constants = self._constants.with_n_evaluations(self._horizon.n)
            self.domain_.max_depth = self._constants.max_depth
            self._update_derived_values()

    def _resume(self) -> None:
        self._renew_constants()

    def _may_split(self, leaves: int) -> bool:
        return self._guard.admits(self._tree, leaves, self.max_active, self.run_.n_told)

    def _beta(self, t: int) -> float:
        if self.beta != "theory":
            return self._norm.given_beta(t, self._model)
        return self._constants.beta(self._guarantee.failure_probability)

    @property
    @locked
    def horizon_(self) -> int:
        """Number of evaluations for which the constants are computed at present."""
        check_is_fitted(self, "bounds_")
        return self._horizon.n

r"""Gaussian process bandits on an adaptive tree (GPTree).

Among the leaves, take the one with the largest index

    I(h, i) = min(upper(h, i), upper(parent) + V_{h-1}) + V_h,   upper = mean + sqrt(beta_n) std.

If sqrt(beta_n) std <= V_h, the variation of f within cells of depth h, this leaf is *refined*: its
children become leaves, and the round chooses again. Otherwise f is *evaluated* in the leaf.

References
----------
.. [Shekhar2018] S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive
   discretization", Electronic Journal of Statistics 12, 2018. Equation, algorithm, claim and
   remark numbers below are this paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._posterior import Posterior
from skgpb.domains import Cell
from skgpb.domains.arms import PointsQuery
from skgpb.domains.partition import BoxPartition, sample_cells
from skgpb.optimizers._run import AT_START
from skgpb.optimizers._trees import (
    ADAPTIVE,
    AdaptiveTree,
    Constants,
    Cutting,
    PartitionSearch,
    PriorOfPoints,
    always_failing_leaves,
    answer_deviations,
    best_divisible,
    cell_deviations,
    exclude_unlikely,
    is_stationary,
)
from skgpb.surrogate.gaussian_process import GaussianProcess, Moments
from skgpb.utils.typing import Beta, FeedbackOfRegion, Variation

__all__ = ["GPTreeOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class GPTreeOptimizer(AdaptiveTree[Cell], PartitionSearch):
    r"""Find the best point of a box of ten or more dimensions by a tree of cells (Algorithm 1).

    >>> from skgpb import GPTreeOptimizer
    >>> opt = GPTreeOptimizer(bounds={"x": (0, 10)}, horizon=40)
    >>> result = opt.run(lambda cell: -((cell.points - 3) ** 2).mean(), budget=40)
    >>> result.x.center.round(1)
    array([3.])

    f is evaluated at centres of cells (or answers with averages over them). Unlike methods that
    maximise an acquisition function over the whole domain, the cost of a round is linear in the
    dimension: O(d K + m t) for m cells and t distinct queries.

    Other parameters are inherited from :class:`~skgpb.optimizers.PartitionSearch`.

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
    feedback : {"center", "average", "integral"} or Kernel, default="center"
        Answer of the oracle to a cell: f at its centre (the paper's case), the average
        over its representatives, or the mean over the whole cell. A kernel over box
        descriptors [lower, upper] is used as it is, instead of ``kernel``. In a pool: the
        member nearest to the mean, at most ``n_representatives`` members, or all members.
    variation : "kernel", "theory", (c, rho) or callable, default="kernel"
        V_h, the variation of f within cells of depth h: computed from the kernel (see
        :class:`GPOOOptimizer`), that of Claim 2 ("theory"),
        ``c * rho**h``, or any function of h in units of the reward.
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        beta_n squared, the factor of the posterior *variance*. "theory" follows Claim 1 and
        Remark 8: 2 (log(1/theta) + log(2 h_max n) + log(n K h_max)). "rkhs" is valid for all cells
        at once and any f of norm at most B (:doc:`/user_guide/guarantees`). A callable takes
        the round t, counted from 1.
    horizon : int, default=100
        n, the number of evaluations for which beta_n, V_h and h_max hold. A
        :class:`~skgpb.exceptions.BudgetWarning` says when there are more.
    anytime : bool, default=False
        Whether n doubles whenever ``horizon`` evaluations are spent (Remark 5). The tree and
        the observations are kept.
    max_active : int, default=1000
        Guard against refining breadth first: from this number of leaves on, the search refines at
        most one cell before each evaluation, with a
        :class:`~skgpb.exceptions.RefinementWarning`. 1 limits refinement from the start.

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over box descriptors (over points for a pool). It tracks every cell of
        the tree; the slot of a cell is the index of its node.
    history_ : structured ndarray
        The answers; ``expanded`` says whether cells were refined on the way to the query.
    horizon_ : int
        The current n.
    max_depth_ : int
        The deepest level at which cells are split, h_max rounded down.

    Notes
    -----
    *Ties.* Leaves whose index values agree within a relative 1e-9 tie. Ties go to the lowest
    depth, then to the lowest index.

    *Depth.* ``max_depth=None`` stands for h_max of equation 3.4, or for the depth at which a
    pool runs out of members. With an odd ``n_children`` the middle child has the centre of its
    parent, and therefore the parent's evaluations.

    *Refinement* happens within ``ask``, so that the tree may be deep before the first answer.
    Node indices are 64-bit numbers, which limits h_max to 61 for K = 2 and 38 for K = 3.

    *Recommendation.* ``recommend("paper")`` is, among the split cells of the deepest level that
    has any, the one with the highest posterior mean.

    *Batches.* Pending queries shrink the posterior standard deviations, so that their cells may be
    refined. When every leaf is pending, ``ask`` splits the best leaf early.

    *Anytime.* The remark restarts the algorithm in every phase. This search keeps its tree and its
    posterior, which hold for every n, and recomputes only beta_n, V_h and h_max.
    """

    horizon: int = 100
    anytime: bool = False
    feedback: FeedbackOfRegion | Kernel = "center"
    variation: Variation = "kernel"
    max_active: int = 1000
    beta: Beta = "theory"

    _at_start = AT_START | {"horizon"}
    _parameter_constraints = ADAPTIVE

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _choose(self, context: np.ndarray | None) -> Cell:
        """Lines 2 to 6: refine the best leaf until one is to be evaluated."""
        run = self.run_
        t = run.n_told + 1 + len(run.pending)
        self._follow_horizon(t)
        beta = self._beta(t)
        pending = {self.domain_.node_of(query) for query in run.pending}
        leaves = self._tree.n_leaves
        expected = self._model.fantasize(map(self.domain_.rows_of_query, run.pending))
        excluded: set[int] = set()
        chances = run.chances_of_regions(self.bounds_)
        if chances is not None:
            for leaf in always_failing_leaves(self.domain_, chances):
                self._refine(leaf, expected)
            excluded = set(np.flatnonzero(exclude_unlikely(self.domain_, None, chances)).tolist())
        while True:
            posterior = expected.posterior
            node = self._best_within(posterior, node_mask(excluded, self._tree.n_nodes))
            if node < 0:
                # Every leaf is pending: refine the best divisible leaf.
                self._refine(best_divisible(self.domain_, self._best_leaf), expected)
                continue
            depth = self._tree.node(node)[0]
            known = sqrt(beta * posterior.moments_at(node)[1]) <= self._variation[depth]
            if known and self.domain_.splittable(node) and self._may_split(leaves):
                self._refine(node, expected)
            elif node in pending:
                excluded.add(node)
            else:
                return self.domain_.cell(node)

    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        expected = self._model.fantasize(map(self.domain_.rows_of_query, self.run_.pending))
        return self._best_within(expected.posterior, excluded)

    def _best_within(self, posterior: Posterior, excluded: np.ndarray | None) -> int:
        """Line 2: return the leaf of the largest index, equations 3.1 and 3.2."""
        run = self.run_
        beta = self._beta(run.n_told + 1 + len(run.pending))
        return self._tree.best_bound_within_parent(posterior, beta, self._variation, excluded)

    def _refine(self, node: int, expected: GaussianProcess) -> None:
        """Split a leaf, and track its children, also in ``expected``, the posterior with fantasies.

        ``expected`` is the posterior given the expected answers to pending queries.
        """
        (first,) = self._expand_all([node])
        if expected is not self._model.process:
            children = range(first, self._tree.n_nodes)
            expected.track(self.domain_.row_sets(first, children.stop), children)

    def _expand_all(self, nodes: list[int]) -> list[int]:
        """Lines 4 and 5: split the nodes, and return the first child of each.

        Parents stay tracked, because the index of a child has the upper bound of its parent.
        """
        firsts = []
        for node in nodes:
            first = self.domain_.split(node)
            children = range(first, self._tree.n_nodes)
            self._model.process.track(self.domain_.row_sets(first, children.stop), children)
            firsts.append(first)
        self._refined = True
        return firsts

    def _observe(self, query: Cell | PointsQuery, reward: float, alpha: float) -> None:
        """Lines 7 to 9: observe the reward. The slot of a cell is the index of its node."""
        node = self.domain_.node_of(query)
        what = node if node >= 0 else self.domain_.rows_of_query(query)
        mean, var = self._model.observe(what, reward, alpha, renew=self._on_refit)
        refined, self._refined = self._refined, False
        if node >= 0:
            self._tree.record(node, reward)
        self.run_.close(query, reward, *self._model.to_user_units(mean, var), refined)

    def _slots_of(self, front: list[int]) -> np.ndarray:
        return np.array(front)

    # -- state ------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._begin_horizon()
        super()._begin()

    def _track(self, moments: Moments | None = None) -> None:
        """Track every cell, in the order of the nodes."""
        self._model.process.track(self.domain_.row_sets(0, self._tree.n_nodes), moments=moments)

    def _resolved_depth(self, cutting: Cutting, kernel: Kernel) -> int:
        prior, given = self._point_kernel(kernel), cutting.given_depth()
        self._constants = Constants.from_prior(
            self._horizon.n, self.run_.params.n_children, self.bounds_, prior, given
        )
        return self._constants.max_depth

    @property
    def _log_regions(self) -> float:
        return self._constants.log_cells

    def _point_kernel(self, kernel: Kernel) -> Callable:
        """Return the prior covariance of f between points, given the kernel of the answers."""
        run = self.run_
        if run.params.pool is not None:
            return kernel
        return PriorOfPoints(kernel, run.space)

    def _variation_bound(self) -> np.ndarray:
        """Return V_h for h = 0..max_depth + 1, in normalised units."""
        if self.run_.params.variation != "theory":
            return super()._variation_bound()
        return self._constants.variation(self._deviations(), self._guarantee.failure_probability)

    def _deviations(self) -> np.ndarray:
        """Return g_h of Claim 2 for h = 0..max_depth + 1."""
        n, everywhere = self.max_depth_ + 2, not is_stationary(self._model.process.kernel)
        if type(self.domain_) is not BoxPartition:
            return answer_deviations(self._model.process, self.domain_, n, everywhere)
        prior = self._point_kernel(self._model.process.kernel)

        def cells(depth: int) -> list[tuple[np.ndarray, np.ndarray]]:
            return sample_cells(self.domain_.bounds, self._tree.n_children, depth, everywhere)

        return cell_deviations(prior, cells, n)


def node_mask(nodes: set[int], n_nodes: int) -> np.ndarray | None:
    """Return a mask (n_nodes,) with 1 for the given nodes; None if there are none."""
    if not nodes:
        return None
    mask = np.zeros(n_nodes, dtype=np.uint8)
    mask[list(nodes)] = 1
    return mask

r"""Gaussian process optimistic optimisation from averages over cells (GPOO).

One round, in the notation of the paper: among the leaves, ask for the cell with the largest
b-value

    b(h, i) = mean + sqrt(beta_t) std + delta(h),

observe the noisy average of f over it, and split it as soon as its confidence interval
sqrt(beta_t) std is no wider than delta(h), the variation of f within cells of depth h.

References
----------
.. [Zhang2022] M. Zhang, R. Tsuchida and C. S. Ong, "Gaussian Process Bandits with Aggregated
   Feedback", AAAI 2022. Equation, algorithm and lemma numbers below are this paper's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import log, pi, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.domains import Cell
from skgpb.domains.query import PointsQuery
from skgpb.exceptions import RefinementWarning
from skgpb.optimizers._tree_search import GaussianTreeSearchOptimizer
from skgpb.utils import StrOptions

# expansion="posterior" splits at most so many cells after one reward.
SPLITS_PER_ROUND = 256


@with_shared_paragraphs
class GPOOOptimizer(GaussianTreeSearchOptimizer):
    r"""Find the best region, or group of rows, from noisy averages; begin here for averages.

    Optimistic tree search (Algorithm 1). The oracle answers with the noisy average of f over a
    cell. A Gaussian process on f gives every leaf of an adaptive K-ary partition a posterior mean
    and standard deviation; a round costs O(m t) for m leaves and t distinct queries.

    Parameters
    ----------
    kernel, bounds, pool, alpha, n_children : %(regions)s
    feedback : {"center", "average", "integral"} or Kernel, default="average"
        What the oracle returns for a cell: f at its centre, the average over its
        representatives (equation 1), or the mean over the whole cell (Appendix D, divided by
        the volume). A kernel over box descriptors [lower, upper] stands for itself, and
        ``kernel`` is then not used. In a pool: the member nearest to the mean, at most
        ``n_representatives`` members, or all of them.
    n_representatives : int or tuple of d ints, default=None
        Points per axis in a cell, S is their product; in a pool the number S itself. None
        takes as many as possible up to 10 per axis and 100 in all (32 in a pool).
    diameter : "kernel", (c, rho) or callable, default="kernel"
        delta(h), the variation of f within cells of depth h: ``c * rho**h``, any function of
        h in units of the reward, or computed from the kernel, see Notes.
    max_depth : int, default=None
        Deepest level at which cells are split; leaves exist one level below. None stands for
        10 cuts along every axis, or for the depth at which a pool runs out of members.
    min_members : %(regions)s
    expansion : {"posterior", "before", "after"}, default="posterior"
        Which cells are split. The paper tests the one that was asked, its confidence interval
        in line 6 being the one before the reward of the round, or after it. "posterior" reads
        it after the reward and tests every leaf, so that no evaluation is spent on a cell that
        its neighbours have made known.
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is Lemma 1,
        2 log(M pi^2 t^2 / (6 theta)) with M = sum_{h <= max_depth} K^h. "rkhs" is valid for all
        cells at once and any f of norm at most ``B`` (:doc:`/user_guide/guarantees`). A callable
        takes the round t, counted from 1.
    B, R, misspecification : %(regions)s
    failure_probability : float, default=0.1
        theta of Lemma 1, in (0, 1).
    optimizer, n_restarts_optimizer, relearn, normalize_y, direction, random_state : %(regions)s

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over box descriptors (over points for a pool).
    domain_, tree_, history_, bounds_ : %(regions)s
    max_depth_ : int
        The resolved ``max_depth``.
    n_features_in_ : %(regions)s

    Notes
    -----
    *Ties.* Among leaves whose b-values agree within 1e-9 the one of lowest depth, then of lowest
    index, is asked.

    *diameter="kernel".* delta(h) = sqrt(2 log(M / theta)) times the largest prior standard
    deviation of f(x) minus the average over the cell, for x anywhere in cells of depth h or
    deeper: the union bound over the M cells of the tree that Lemma 1 takes as well. Where the
    kernel is stationary one cell tells of all; otherwise a sample of cells does. In a pool x is a
    member, of a sample of cells.

    With beta="rkhs" B takes the place of the square root: by the inequality of Cauchy and Schwarz
    no f of that norm varies more.

    *Recommendation.* ``recommend("paper")`` is, among the split cells of the deepest level that
    has any, the one with the highest posterior mean.

    *Beyond the paper.* Its Algorithm 1 is ``expansion="before"`` with ``recommend("paper")``. The
    defaults are better on average at every budget we tried, and on boxes so is ``beta=4.0`` than
    "theory"; on pools of noisy rows it stops looking elsewhere too early. The user guide has the
    figures.

    *Batches.* ``ask(n)`` shrinks the posterior by the queries that are pending; when every leaf
    is pending it splits the best of them early.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import GPOOOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy_average(cell):
    ...     return np.sin(5 * cell.points).mean() + 0.1 * rng.normal()
    >>> opt = GPOOOptimizer(RBF(0.2), bounds=[(0, 1)], alpha=0.1**2, n_representatives=10)
    >>> result = opt.run(noisy_average, budget=40)
    >>> bool(abs(result.x.center - np.pi / 10).item() < 0.05)  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "expansion": [StrOptions({"before", "after", "posterior"})],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        bounds: Any = None,
        pool: Any = None,
        alpha: float | None = None,
        n_children: int = 2,
        feedback: str | Kernel = "average",
        n_representatives: int | tuple[int, ...] | None = None,
        diameter: str | tuple[float, float] | Callable[[int], float] = "kernel",
        max_depth: int | None = None,
        min_members: int = 1,
        expansion: str = "posterior",
        beta: str | float | Callable[[int], float] = "theory",
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.bounds = bounds
        self.pool = pool
        self.alpha = alpha
        self.n_children = n_children
        self.feedback = feedback
        self.n_representatives = n_representatives
        self.diameter = diameter
        self.max_depth = max_depth
        self.min_members = min_members
        self.expansion = expansion
        self.beta = beta
        self.B = B
        self.R = R
        self.misspecification = misspecification
        self.failure_probability = failure_probability
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.direction = direction
        self.random_state = random_state

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _choose(self) -> Cell:
        """Lines 3 and 4: the leaf to ask, of those that are not being evaluated."""
        node = self._best_leaf(self.domain_.asked(self._pending))
        return self.domain_.cell(node if node >= 0 else self._early_leaf())

    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        """Line 3: the leaf of the largest b-value."""
        beta = self._beta(self._round + 1 + len(self._pending))
        return self._tree.best_upper_bound(self._expected().posterior, beta, self._delta, excluded)

    def _update(self, query: Cell | PointsQuery, reward: float, alpha: float) -> None:
        """Lines 4 to 9: observe, and split the cell once it is known well enough."""
        beta = self._beta(self._round + 1)
        node = self.domain_.node_of(query)
        depth, _, slot = self._tree.node(node) if node >= 0 else (0, 0, -1)
        mean, var = self._observe(query, slot, reward, alpha)
        known = self._norm_beta() if self.beta == "rkhs" else beta
        expand = slot >= 0 and self.domain_.splittable(node)
        if expand:
            before = self.expansion == "before"  # decision D-A2
            width2 = beta * var if before else known * self._gp.posterior.tracked_at(slot)[1]
            expand = sqrt(width2) <= self._delta[depth]
        if expand:
            self._expand(node)
        if self.expansion == "posterior":
            self._expand_known(known)
        if node >= 0:
            self._tree.record(node, reward)
        self._record(query, reward, mean, var, expand)

    def _expand_known(self, beta: float) -> None:
        """Apply line 6 to every leaf: split all that the posterior knows well enough by now."""
        posterior, deepest, splits = self._gp.posterior, self.domain_.max_depth, 0
        while splits < SPLITS_PER_ROUND:
            known = self._tree.known_leaves(posterior, beta, self._delta, deepest)
            known = [leaf for leaf in known if self.domain_.splittable(leaf)]
            if not known:
                return
            self._expand_all(known[: SPLITS_PER_ROUND - splits])
            splits += len(known)
        warnings.warn(
            f"{SPLITS_PER_ROUND} cells were split after one reward because the posterior knows "
            "them to within delta(h); a smaller diameter or max_depth keeps the tree smaller",
            RefinementWarning,
            stacklevel=4,
        )

    def _expand(self, node: int) -> int:
        """Line 7: the children take the place of their parent among the leaves."""
        return self._expand_all([node])[0]

    def _expand_all(self, nodes: list[int]) -> list[int]:
        """Split several leaves, and start to track all their children at once."""
        firsts, slots, blocks = [], [], []
        for node in nodes:
            slot, leaves = self._tree.node(node)[2], self._tree.n_leaves
            first = self.domain_.split(node)
            firsts.append(first)
            slots += [slot, *range(leaves, self._tree.n_leaves)]
            blocks += self.domain_.blocks(first, self._tree.n_nodes)
        self._gp.track(blocks, slots)
        return firsts

    @property
    def _log_regions(self) -> float:
        K = self._tree.n_children
        return log((K ** (self.domain_.max_depth + 1) - 1) // (K - 1))

    def _theory_beta(self, t: int) -> float:
        """Lemma 1 (decision D-A6)."""
        constant = self._log_regions + log(pi**2 / (6.0 * self.failure_probability))
        return 2.0 * (constant + 2.0 * log(t))

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

from collections.abc import Callable
from math import log, pi, sqrt
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.kernels import CellAverage, CellIntegral
from skgpb.optimizers.base import PointsQuery
from skgpb.optimizers.tree_search import TreeSearchOptimizer, first_maximum
from skgpb.partition import Cell
from skgpb.surrogate import OnlineGaussianProcessRegressor
from skgpb.utils import Integral, Interval, Real, StrOptions, check_callable_value

# Length scale of the default kernel, in units of the domain's sides.
DEFAULT_LENGTH_SCALE = 0.2
# Hyperparameters are not learned from fewer observations.
FIRST_LEARNING = 4


class GPOOOptimizer(TreeSearchOptimizer):
    r"""Find the region with the highest average by optimistic tree search (Algorithm 1).

    The oracle answers with the noisy average of f over a cell. A Gaussian process on f gives
    every leaf of an adaptive K-ary partition a posterior mean and standard deviation; a round
    costs O(m t) for m leaves and t distinct queries.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over points, any kernel of ``sklearn.gaussian_process.kernels``,
        in units of the reward squared. None stands for ``ConstantKernel(1.0) * RBF(l)`` with
        l a fifth of the domain's sides.
    bounds : array-like of shape (d, 2), default=None
        The domain, a box. With neither ``bounds`` nor ``pool`` it comes from ``fit``.
    pool : array-like of shape (n, d), default=None
        A finite domain instead of a box: cells are groups of rows, split at quantiles.
    alpha : float, default=0.01
        Noise variance of a reward, in units of the reward squared.
    n_children : int, default=2
        K, the number of parts into which a cell is split.
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
    min_members : int, default=1
        Fewest members of a cell of a pool.
    expansion : {"before", "after"}, default="before"
        Whether the confidence interval of line 6 uses the posterior before or after the
        reward of the round.
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is Lemma 1,
        2 log(M pi^2 t^2 / (6 theta)) with M = sum_{h <= max_depth} K^h; a callable takes the
        round t, counted from 1.
    failure_probability : float, default=0.1
        theta of Lemma 1, in (0, 1).
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How hyperparameters are learned from what was told, as in GaussianProcessRegressor.
        None keeps those of ``kernel``.
    n_restarts_optimizer : int, default=0
        Further starts of the optimizer.
    relearn : "doubling", int or None, default="doubling"
        When to learn them: whenever the number of observations has doubled (from 4 on), every
        so many observations, or only in ``fit``. It is also when ``normalize_y`` takes effect.
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that ``kernel`` is in units of their
        spread. ``alpha`` and a given ``diameter`` stay in units of the reward.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts of the optimizer; nothing else is random.

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over box descriptors (over points for a pool).
    tree_ : Bunch
        The partition as arrays.
    history_ : structured ndarray
        What was told.
    bounds_ : ndarray of shape (d, 2)
        The domain.
    max_depth_ : int
        The resolved ``max_depth``.
    n_features_in_ : int
        d.

    Notes
    -----
    *Ties.* Among leaves whose b-values agree within 1e-9 the one of lowest depth, then of lowest
    index, is asked.

    *diameter="kernel".* delta(h) = sqrt(2 log(1/theta)) times the largest prior standard
    deviation of f(x) minus the average over the cell, for x at the centre and corners of cells
    of depth h.

    *Recommendation.* Among the split cells of the deepest level that has any, the one with the
    highest posterior mean (the root if none was split).

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
    >>> bool(result.x.lower < 0.32 < result.x.upper)  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict = {
        "kernel": [None, Kernel],
        "bounds": "no_validation",
        "pool": "no_validation",
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_children": [Interval(Integral, 2, None, closed="left")],
        "feedback": [StrOptions({"center", "average", "integral"}), Kernel],
        "n_representatives": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "diameter": [StrOptions({"kernel"}), tuple, list, callable],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_members": [Interval(Integral, 1, None, closed="left")],
        "expansion": [StrOptions({"before", "after"})],
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "relearn": [StrOptions({"doubling"}), Interval(Integral, 1, None, closed="left"), None],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        bounds: Any = None,
        pool: Any = None,
        alpha: float = 0.01,
        n_children: int = 2,
        feedback: str | Kernel = "average",
        n_representatives: int | tuple[int, ...] | None = None,
        diameter: str | tuple[float, float] | Callable[[int], float] = "kernel",
        max_depth: int | None = None,
        min_members: int = 1,
        expansion: str = "before",
        beta: str | float | Callable[[int], float] = "theory",
        failure_probability: float = 0.1,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
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
        self.failure_probability = failure_probability
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn = relearn
        self.normalize_y = normalize_y
        self.random_state = random_state

    # -- Algorithm 1 ------------------------------------------------------------------------

    def _best_leaf(self, excluded: np.ndarray | None) -> int:
        """Line 3: the leaf of the largest b-value."""
        posterior = self.surrogate_._posterior
        if self._pending:
            queries = list(self._pending)
            noise = self._default_noise() / self.surrogate_._factor**2
            posterior = self.surrogate_._imagine(
                [self._partition.block_of(query) for query in queries], [noise] * len(queries)
            )
        beta = self._beta(self._round + 1 + len(self._pending))
        return self._tree.best_upper_bound(posterior, beta, self._delta, excluded)

    def _update(self, query: Cell | PointsQuery, reward: float, alpha: float) -> None:
        """Lines 4 to 9: observe, and split the cell once it is known well enough."""
        surrogate, tree = self.surrogate_, self._tree
        scale = surrogate._factor
        y, noise = (reward - surrogate._offset) / scale, alpha / (scale * scale)
        beta = self._beta(self._round + 1)
        node = self._node_of(query)
        depth, _, slot = tree.node(node) if node >= 0 else (0, 0, -1)
        if slot >= 0:
            mean, var = surrogate._posterior.tracked_at(slot)
            surrogate._observe_tracked(slot, y, noise)
            width2 = var if self.expansion == "before" else surrogate._posterior.tracked_at(slot)[1]
            expand = sqrt(beta * width2) <= self._delta[depth] and self._expandable(node, depth)
        else:
            block = self._block(query)
            mean, var = surrogate._moments_of(block)
            surrogate._observe(block, y, noise)
            expand = False
        if node >= 0:
            tree.record(node, reward)
        if expand:
            self._expand(node)
        self._round += 1
        row = (mean * scale + surrogate._offset, sqrt(var) * scale)
        self._history.append((self._descriptor(query), reward, *row, expand))
        self._relearn_if_due()

    def _expand(self, node: int) -> int:
        """Line 7: the children take the place of their parent among the leaves."""
        slot = self._tree.node(node)[2]
        first = super()._expand(node)
        K, leaves = self._tree.n_children, self._tree.n_leaves
        slots = [slot, *range(leaves - K + 1, leaves)]
        self.surrogate_._track_blocks(slots, self._partition.blocks(first, first + K))
        return first

    def _best(self) -> Cell:
        nodes = self._deepest_expanded()
        blocks = [self._partition.blocks(node, node + 1)[0] for node in nodes.tolist()]
        means = self.surrogate_._means_of(blocks)
        tolerance = TIE_TOLERANCE * self.surrogate_._factor
        return self._partition.cell(int(nodes[first_maximum(means, tolerance)]))

    def _value_of(self, query: Cell | PointsQuery) -> float:
        return float(self.surrogate_._means_of([self._block(query)])[0])

    def _block(self, query: Cell | PointsQuery) -> np.ndarray:
        if isinstance(query, PointsQuery):
            return self._partition.points_block(query.points)
        return self._partition.block_of(query)

    def _beta(self, t: int) -> float:
        """Lemma 1, or what the user chose."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        if self.beta == "theory":
            return max(0.0, 2.0 * (self._log_beta_constant + 2.0 * log(t)))
        return float(self.beta)

    # -- state ------------------------------------------------------------------------------

    def _begin_checks(self, d: int) -> None:
        super()._begin_checks(d)
        self._query_kernel(d)

    def _begin(self) -> None:
        super()._begin()
        K = self.n_children
        M = sum(K**h for h in range(self.max_depth_ + 1))
        self._log_beta_constant = log(M) + log(pi**2 / (6.0 * self.failure_probability))
        rng = check_random_state(self.random_state)
        self.surrogate_ = OnlineGaussianProcessRegressor(
            alpha=self.alpha,
            optimizer=self.optimizer,
            n_restarts_optimizer=self.n_restarts_optimizer,
            random_state=int(rng.randint(np.iinfo(np.int32).max)),
        )
        d = self.n_features_in_
        kernel = self._query_kernel(d)
        self.surrogate_._start(kernel, d if self.pool is not None else 2 * d)
        self._delta = self._diameter()
        self.surrogate_._track_blocks([0], self._partition.blocks(0, 1))
        self._learned_at = 0
        self._n_fitted = 0

    def _query_kernel(self, d: int) -> Kernel:
        """Covariance between the averages that the oracle returns."""
        if isinstance(self.feedback, Kernel):
            return clone(self.feedback)
        if self.kernel is None:
            bounds = self._domain() if not hasattr(self, "bounds_") else self.bounds_
            side = np.ones(d) if bounds is None else bounds[:, 1] - bounds[:, 0]
            side = np.where(side > 0, side, 1.0)
            scale = DEFAULT_LENGTH_SCALE * side
            base = ConstantKernel(1.0) * RBF(scale[0] if d == 1 else scale)
        else:
            base = clone(self.kernel)
        if self.pool is not None:
            return base
        if self.feedback == "integral":
            return CellIntegral(base)
        return CellAverage(base, self._points_per_axis(d))

    def _diameter(self) -> np.ndarray:
        """delta(h) for h = 0..max_depth + 1, in normalised units."""
        if self.diameter != "kernel":
            return self._given_diameter() / self.surrogate_._factor
        quantile = sqrt(2.0 * log(1.0 / self.failure_probability))
        delta, last = [], np.inf
        for depth in range(self.max_depth_ + 2):
            sample = self._partition.deviation_blocks(depth)
            stds = [self.surrogate_._deviation(block, points) for block, points in sample]
            last = min([last, quantile * max(stds, default=0.0)])
            delta.append(last)
        return np.array(delta)

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        """Condition on point evaluations, one functional each."""
        for x, value in zip(X, y, strict=True):
            self.surrogate_._observe(self._partition.points_block(x[None]), value, self.alpha)
        self._n_fitted = len(X)
        self._learn()

    def _relearn_if_due(self) -> None:
        """Follow the schedule of ``relearn``."""
        if self.optimizer is None and not self.normalize_y:
            return
        n = self._round + self._n_fitted
        if self.relearn == "doubling":
            due = n >= max(1 if self.normalize_y else FIRST_LEARNING, 2 * self._learned_at)
        else:
            due = self.relearn is not None and n - self._learned_at >= self.relearn
        if due:
            self._learn()

    def _learn(self) -> None:
        """Learn the scale of the rewards and the hyperparameters, and refactorise."""
        if self.optimizer is None and not self.normalize_y:
            return
        surrogate = self.surrogate_
        self._learned_at = self._round + self._n_fitted
        center, scale = surrogate._offset, surrogate._factor
        if self.normalize_y:
            rewards = surrogate._posterior.targets() * scale + center
            # One distinct query says nothing of the spread: rewards spread at least as their noise.
            center, scale = float(rewards.mean()), max(float(rewards.std()), sqrt(self.alpha))
        surrogate.optimizer = self.optimizer if self._learned_at >= FIRST_LEARNING else None
        surrogate._relearn(center, scale or 1.0)
        self._delta = self._diameter()

    # -- a regressor for f ------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Posterior of f at points.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points.
        return_std, return_cov : bool, default=False
            At most one of them.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,), only if ``return_std``
        cov : ndarray of shape (n_samples, n_samples), only if ``return_cov``
        """
        check_is_fitted(self, "bounds_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows = self._partition.points_block(X)
        return self.surrogate_.predict(rows, return_std=return_std, return_cov=return_cov)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw samples of f from the posterior at points.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, d)
            Points.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seeds the draws.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples)
        """
        check_is_fitted(self, "bounds_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.surrogate_.sample_y(self._partition.points_block(X), n_samples, random_state)

r"""Classical acquisition functions on indirect queries, as the IQBO paper modifies them.

The query is chosen by a Gaussian process on g over the query space, which sees the answers alone
and ignores both the pairs and f; the recommendation is the maximiser of the posterior mean of f
under the same conditional mean process that CMES uses (Section 7 of [Zhang2025]_). What they
lack compared with CMES is thus the choice of the query and nothing else.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Section 7.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from math import isnan, sqrt
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb._typing import Bounds, Direction, Optimizer, Relearn, Seed
from skgpb.acquisition.entropy import gumbel_max_values, max_value_entropy
from skgpb.acquisition.improvement import log_expected_improvement, standard_scores
from skgpb.domains.indirect import IndirectQuery
from skgpb.guarantee import Guarantee
from skgpb.kernels.evaluator import origin_of
from skgpb.optimizers._indirect import BaseQuerySetOptimizer
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import FIRST_LEARNING, check_restarts, smooth_kernel
from skgpb.surrogate.regressor import OnlineGaussianProcessRegressor
from skgpb.surrogate.units import units_of
from skgpb.utils import (
    MOST_POINTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    box_around,
    check_callable_value,
)

# Improvement that the probability of improvement asks for, in standard deviations of the answers:
# with none the rule stays where it is.
MARGIN = 0.01


class BaseIndirectBaseline(BaseQuerySetOptimizer):
    """A rule that scores queries by the posterior of g given the answers alone.

    A subclass implements ``_acquisition``.
    """

    _parameter_constraints: dict[str, Any] = {
        "answer_kernel": [None, Kernel],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        answer_kernel: Kernel | None = None,
        operator: str = "auto",
        bounds: Bounds | None = None,
        queries: Any = None,
        query_bounds: Any = None,
        n_candidates: int = 2500,
        continuous: bool = True,
        n_points: int = 2500,
        n_initial: int | None = None,
        alpha: float | Callable[[np.ndarray], float] | None = None,
        model_noise: str | float = "auto",
        cost: Any = None,
        guarantee: Guarantee | None = None,
        optimizer: Optimizer = None,
        n_restarts_optimizer: int = 0,
        relearn: Relearn = "growing",
        normalize_y: bool = False,
        direction: Direction = "maximize",
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.query_kernel = query_kernel
        self.conditional = conditional
        self.answer_kernel = answer_kernel
        self.operator = operator
        self.bounds = bounds
        self.queries = queries
        self.query_bounds = query_bounds
        self.n_candidates = n_candidates
        self.continuous = continuous
        self.n_points = n_points
        self.n_initial = n_initial
        self.alpha = alpha
        self.model_noise = model_noise
        self.cost = cost
        self.guarantee = guarantee
        self.optimizer: Optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.relearn: Relearn = relearn
        self.normalize_y = normalize_y
        self.direction: Direction = direction
        self.random_state = random_state

    @abstractmethod
    def _acquisition(self, mean: np.ndarray, std: np.ndarray, state: Any) -> np.ndarray:
        """Score of queries from the posterior of g at them, (n,) each."""

    def _per_cost(self, value: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Score per unit cost."""
        return value / cost

    @abstractmethod
    def _round_state(self) -> Any:
        """Return the values shared by all scores of a round, such as the incumbent."""

    def _best_by_rule(self) -> IndirectQuery:
        """One round: the posterior of g given the answers, the score, its argmax."""
        state, expected = self._round_state(), self._expected_answers()

        def score(A: np.ndarray | None, costs: np.ndarray) -> np.ndarray:
            mean, std = expected.tracked_moments() if A is None else expected.moments(A, std=True)
            return self._per_cost(self._acquisition(mean, std, state), costs)

        # Pending queries change the posterior of the candidates only.
        return self._most_valuable(score, search=not self._record.pending)

    # -- the second Gaussian process, on g over the query space --------------------------------

    def _check_consistent(self, kernel: Kernel) -> None:
        super()._check_consistent(kernel)
        if not self._by_norm:
            raise ValueError(
                f"optimizer={self.optimizer!r} is not possible for {type(self).__name__}, which "
                "chooses queries by a Gaussian process on the answers, whose norm is not known. "
                "Use IndirectUCBOptimizer(beta='rkhs'), CMESOptimizer or IndirectTargetsOptimizer"
            )

    def _begun(self) -> None:
        box = self._queries.box
        box = box_around(self._queries.rows) if box is None else box
        kernel = (
            smooth_kernel(box)
            if self._own.answer_kernel is None
            else clone(self._own.answer_kernel)
        )
        if self._answer_optimizer is not None:
            check_restarts(kernel, self.n_restarts_optimizer)
        self.answers_: OnlineGaussianProcessRegressor = self._make_answers(kernel)

    @property
    def _answer_optimizer(self) -> Any:
        """Return how the kernel of g is learned: one that is given is known."""
        if self._is_consistent:
            return None
        return self.optimizer or ("fmin_l_bfgs_b" if self._own.answer_kernel is None else None)

    @property
    def _of_answers(self) -> GaussianProcess:
        return self.answers_.process_

    def _make_answers(self, kernel: Kernel) -> OnlineGaussianProcessRegressor:
        regressor = OnlineGaussianProcessRegressor(
            n_restarts_optimizer=self.n_restarts_optimizer, random_state=self._seed
        )
        self._share_lock(regressor)
        rows = self._queries.rows
        origin = origin_of(kernel, box_around(rows))
        return regressor.start(kernel, self._queries.n_dims, origin).track(rows)

    def _expected_answers(self) -> GaussianProcess:
        """The posterior of g after the answers to pending queries, their values as expected."""
        if not self._record.pending:
            return self._of_answers
        blocks = [query.a[np.newaxis] for query in self._record.pending]
        noises = self._alphas_of(list(self._record.pending)).tolist()
        return self._of_answers.imagine(blocks, noises)

    def _with_learned_noise(self) -> OnlineGaussianProcessRegressor:
        """The Gaussian process on g with the noise that the model of f has learned."""
        samples, told = self._model.samples, slice(self._record.n_fitted, None)
        A, z, alphas = map(np.array, (self._asked(), samples.reward[told], samples.alpha[told]))
        if not np.isnan(alphas).any():
            return copy(self.answers_)
        noises = np.where(np.isnan(alphas), self._model.alpha, alphas)
        answers = self._make_answers(clone(self.answers_.kernel_))
        answers.process_.observe_all(A, z, noises)
        return answers

    def _observed(self, query: IndirectQuery, reward: float, alpha: float) -> None:
        alpha = self._model.alpha if isnan(alpha) else alpha
        if query.index >= 0:
            self._of_answers.observe_tracked(query.index, reward, alpha)
        else:
            self._of_answers.observe(query.a[np.newaxis], reward, alpha)

    def _relearned(self) -> None:
        super()._relearned()
        if not self._record.n_told:
            return
        answers = self._with_learned_noise()
        enough = self._record.n_told >= FIRST_LEARNING
        answers.optimizer = self._answer_optimizer if enough else None
        answers.n_restarts_optimizer = self.n_restarts_optimizer
        center, scale = 0.0, 1.0
        if self._own.alpha is None and self._standardizes:
            # Noise that is a share of the spread needs the unit that it is a share of.
            center, scale = self._gp.offset, self._gp.scale
        elif self.normalize_y or self._own.answer_kernel is None:
            rewards = np.array([row[1] for row in self._record.history])
            center, scale = units_of(rewards)
        answers.relearn(center, scale)
        self.answers_ = answers

    def _snapshot(self) -> dict[str, Any]:
        answers = {"theta": self._of_answers.kernel.theta, "process": self._of_answers.snapshot()}
        return super()._snapshot() | {"of_answers": answers}

    def _restore(self, snapshot: dict[str, Any]) -> None:
        super()._restore(snapshot)
        answers, kernel = snapshot["of_answers"], self._of_answers.kernel
        if not np.array_equal(answers["theta"], kernel.theta):
            kernel = kernel.clone_with_theta(answers["theta"])
        self.answers_ = self._make_answers(kernel)
        self.answers_.process_ = self._of_answers.after(answers["process"])
        self._of_answers.track(self._queries.rows)

    def _incumbent(self) -> float:
        """Largest posterior mean of g at the queries told so far."""
        if not len(self._of_answers.observed):
            return self._of_answers.offset
        return float(self.answers_.predict(self.answers_.X_train_).max())


class IndirectEIOptimizer(BaseIndirectBaseline):
    """Expected improvement on indirect answers, to compare CMES with.

    It asks the query with the largest expected improvement of g, and recommends the maximum of f.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x, for the recommendation.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        The distribution p(x | a) over which a query averages, if it is known. With None it is
        learned from the ``queries`` given to ``fit``; without these a query is a point, and its
        answer is the value of f there.
    answer_kernel : Kernel, default=None
        Prior covariance of g over a, for the choice of queries. None stands for
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the query space's sides.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate if p(x | a) has this form), or by the one with
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X. A
        dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        the recommendation then has ``params``.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, if they are not a finite set. Without ``queries`` and ``query_bounds`` it is
        the box around the queries given to ``fit``, the agents of a PolicyMean, or ``bounds`` for
        windows. A dict gives its sides names, as in ``bounds``; functions of a query take its
        coordinates.
    n_candidates : int, default=2500
        Number of candidates in a box; a grid in up to three dimensions.
    continuous : bool, default=True
        Whether to improve the best candidates of a box by local searches.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or ``queries`` differ in cost.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation; it is 0 for a known distribution.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1. It divides the expected
        improvement.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.

    See Also
    --------
    CMESOptimizer : Asks what tells most about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectEIOptimizer
    >>> opt = IndirectEIOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    def _round_state(self) -> float:
        return self._incumbent()

    def _acquisition(self, mean: np.ndarray, std: np.ndarray, state: float) -> np.ndarray:
        """Logarithm of the expected improvement, which does not underflow."""
        return log_expected_improvement(mean, std, state)

    def _per_cost(self, value: np.ndarray, cost: np.ndarray) -> np.ndarray:
        return value - np.log(cost)


class IndirectPIOptimizer(BaseIndirectBaseline):
    """Probability of improvement on indirect answers, to compare CMES with.

    It asks the query that most probably improves g, and recommends the maximum of f.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x, for the recommendation.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        The distribution p(x | a) over which a query averages, if it is known. With None it is
        learned from the ``queries`` given to ``fit``; without these a query is a point, and its
        answer is the value of f there.
    answer_kernel : Kernel, default=None
        Prior covariance of g over a, for the choice of queries. None stands for
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the query space's sides.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate if p(x | a) has this form), or by the one with
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X. A
        dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        the recommendation then has ``params``.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, if they are not a finite set. Without ``queries`` and ``query_bounds`` it is
        the box around the queries given to ``fit``, the agents of a PolicyMean, or ``bounds`` for
        windows. A dict gives its sides names, as in ``bounds``; functions of a query take its
        coordinates.
    n_candidates : int, default=2500
        Number of candidates in a box; a grid in up to three dimensions.
    continuous : bool, default=True
        Whether to improve the best candidates of a box by local searches.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or ``queries`` differ in cost.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation; it is 0 for a known distribution.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1. It divides the probability.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.

    See Also
    --------
    CMESOptimizer : Asks what tells most about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectPIOptimizer
    >>> opt = IndirectPIOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    def _round_state(self) -> float:
        return self._incumbent() + MARGIN * self._of_answers.scale

    def _acquisition(self, mean: np.ndarray, std: np.ndarray, state: float) -> np.ndarray:
        """Logarithm of the probability that g exceeds the incumbent by the margin."""
        return log_ndtr(standard_scores(mean, std, state))

    def _per_cost(self, value: np.ndarray, cost: np.ndarray) -> np.ndarray:
        return value - np.log(cost)


class IndirectUCBOptimizer(BaseIndirectBaseline):
    """Upper confidence bounds on indirect answers, to compare CMES with.

    It asks the query with the highest upper confidence bound of g, and recommends the maximum of f.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x, for the recommendation.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        The distribution p(x | a) over which a query averages, if it is known. With None it is
        learned from the ``queries`` given to ``fit``; without these a query is a point, and its
        answer is the value of f there.
    answer_kernel : Kernel, default=None
        Prior covariance of g over a, for the choice of queries. None stands for
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the query space's sides.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate if p(x | a) has this form), or by the one with
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X. A
        dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        the recommendation then has ``params``.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, if they are not a finite set. Without ``queries`` and ``query_bounds`` it is
        the box around the queries given to ``fit``, the agents of a PolicyMean, or ``bounds`` for
        windows. A dict gives its sides names, as in ``bounds``; functions of a query take its
        coordinates.
    n_candidates : int, default=2500
        Number of candidates in a box; a grid in up to three dimensions.
    continuous : bool, default=True
        Whether to improve the best candidates of a box by local searches.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or ``queries`` differ in cost.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation; it is 0 for a known distribution.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1. It is counted but does not
        change the choice.
    beta : "rkhs", float or callable, default=4.0
        Factor of the posterior variance: the bonus is sqrt(beta) std. A callable takes the
        round t, counted from 1. "rkhs" is valid for all queries at once and any f of norm at most
        B (:doc:`/user_guide/guarantees`), with mean and deviation of the process on f.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.

    See Also
    --------
    CMESOptimizer : Asks what tells most about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectUCBOptimizer
    >>> opt = IndirectUCBOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "beta": [StrOptions({"rkhs"}), Interval(Real, 0, None, closed="left"), callable],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        answer_kernel: Kernel | None = None,
        operator: str = "auto",
        bounds: Bounds | None = None,
        queries: Any = None,
        query_bounds: Any = None,
        n_candidates: int = 2500,
        continuous: bool = True,
        n_points: int = 2500,
        n_initial: int | None = None,
        alpha: float | Callable[[np.ndarray], float] | None = None,
        model_noise: str | float = "auto",
        cost: Any = None,
        beta: str | float | Callable[[int], float] = 4.0,
        guarantee: Guarantee | None = None,
        optimizer: Optimizer = None,
        n_restarts_optimizer: int = 0,
        relearn: Relearn = "growing",
        normalize_y: bool = False,
        direction: Direction = "maximize",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            query_kernel=query_kernel,
            conditional=conditional,
            answer_kernel=answer_kernel,
            operator=operator,
            bounds=bounds,
            queries=queries,
            query_bounds=query_bounds,
            n_candidates=n_candidates,
            continuous=continuous,
            n_points=n_points,
            n_initial=n_initial,
            alpha=alpha,
            model_noise=model_noise,
            cost=cost,
            guarantee=guarantee,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.beta: Any = beta

    def _best_by_rule(self) -> IndirectQuery:
        if not self._by_norm:
            return super()._best_by_rule()
        width, expected = sqrt(self._widths().beta()), self._expected()

        def score(A: np.ndarray | None, costs: np.ndarray) -> np.ndarray:
            if A is None:
                mean, std = expected.predict_query_tracked(return_std=True)
            else:
                mean, std = expected.moments(expected.kernel_.rows_of_queries(A))
            return mean + width * std

        return self._most_valuable(score, search=not self._record.pending)

    def _round_state(self) -> float:
        t = self._record.n_told + len(self._record.pending) + 1
        return check_callable_value(self.beta, t, "beta") if callable(self.beta) else self.beta

    def _acquisition(self, mean: np.ndarray, std: np.ndarray, state: float) -> np.ndarray:
        return mean + np.sqrt(state) * std

    def _per_cost(self, value: np.ndarray, cost: np.ndarray) -> np.ndarray:
        return value

    def _begun(self) -> None:
        super()._begun()
        if self._by_norm:
            self._widths().warn_if_unfounded()


class IndirectMESOptimizer(BaseIndirectBaseline):
    """Max-value entropy search on indirect answers, to compare CMES with.

    It asks the query with the most information about the maximum of g, and recommends that of f.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x, for the recommendation.
    query_kernel : Kernel, default=None
        Kernel over a of the conditional mean operator that ``fit`` learns from pairs. None
        chooses it, and the regularisation, by closed-form leave-one-out.
    conditional : WindowMean, PolicyMean, ConditionalMean or None, default=None
        The distribution p(x | a) over which a query averages, if it is known. With None it is
        learned from the ``queries`` given to ``fit``; without these a query is a point, and its
        answer is the value of f there.
    answer_kernel : Kernel, default=None
        Prior covariance of g over a, for the choice of queries. None stands for
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the query space's sides.
    operator : {"auto", "embedding", "window"}, default="auto"
        How p(x | a) is learned from pairs: by the conditional mean operator of eq. 5, as a smooth
        map plus scatter (much more accurate if p(x | a) has this form), or by the one with
        the lower leave-one-out loss on the pairs.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised. None takes the arms of a PolicyMean, or the box around X. A
        dict gives the sides names, pairs or continuous distributions, see :ref:`named-sides`;
        the recommendation then has ``params``.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    query_bounds : array-like of shape (q, 2) or dict, default=None
        Box of queries, if they are not a finite set. Without ``queries`` and ``query_bounds`` it is
        the box around the queries given to ``fit``, the agents of a PolicyMean, or ``bounds`` for
        windows. A dict gives its sides names, as in ``bounds``; functions of a query take its
        coordinates.
    n_candidates : int, default=2500
        Number of candidates in a box; a grid in up to three dimensions.
    continuous : bool, default=True
        Whether to improve the best candidates of a box by local searches.
    n_points : int, default=2500
        Points of the domain on which draws of f are maximised.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, that are asked before the
        acquisition function is used. Earlier answers count. None means 10, up to 25 with a narrow
        blur on the line, and 0 if the kernel of f is given or ``queries`` differ in cost.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; a callable takes a. None
        learns it.
    model_noise : "auto" or float, default="auto"
        Variance of the error of the learned p(x | a), which is added to the noise of every answer.
        "auto" estimates it by leave-one-out cross-validation; it is 0 for a known distribution.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a. None stands for 1. It divides the information.
    n_max_values : int, default=100
        Number of samples of the maximum of g, from a Gumbel law.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How the hyperparameters of a given ``kernel`` are learned from the answers, by
        marginal likelihood. None keeps them. The default kernel is always learned.
        "consistent", if queries are chosen by the posterior of f, uses several length scales in
        turn and drops those for which no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : "growing", "doubling", int or None, default="growing"
        When to learn them: whenever the number of observations has grown by a quarter or doubled
        (from 4 on), after every given number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the answers for a ``kernel`` that is given.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether to look for large or small rewards. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.

    See Also
    --------
    CMESOptimizer : Asks what tells most about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectMESOptimizer
    >>> opt = IndirectMESOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        query_kernel: Kernel | None = None,
        conditional: Kernel | None = None,
        *,
        answer_kernel: Kernel | None = None,
        operator: str = "auto",
        bounds: Bounds | None = None,
        queries: Any = None,
        query_bounds: Any = None,
        n_candidates: int = 2500,
        continuous: bool = True,
        n_points: int = 2500,
        n_initial: int | None = None,
        alpha: float | Callable[[np.ndarray], float] | None = None,
        model_noise: str | float = "auto",
        cost: Any = None,
        n_max_values: int = 100,
        guarantee: Guarantee | None = None,
        optimizer: Optimizer = None,
        n_restarts_optimizer: int = 0,
        relearn: Relearn = "growing",
        normalize_y: bool = False,
        direction: Direction = "maximize",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            query_kernel=query_kernel,
            conditional=conditional,
            answer_kernel=answer_kernel,
            operator=operator,
            bounds=bounds,
            queries=queries,
            query_bounds=query_bounds,
            n_candidates=n_candidates,
            continuous=continuous,
            n_points=n_points,
            n_initial=n_initial,
            alpha=alpha,
            model_noise=model_noise,
            cost=cost,
            guarantee=guarantee,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.n_max_values = n_max_values

    def _round_state(self) -> np.ndarray:
        rng = np.random.default_rng([self._seed, self._record.n_told, len(self._record.pending)])
        mean, std = self._of_answers.tracked_moments()
        return gumbel_max_values(mean, std, self.n_max_values, rng)

    def _acquisition(self, mean: np.ndarray, std: np.ndarray, state: np.ndarray) -> np.ndarray:
        return max_value_entropy(mean, std, state)

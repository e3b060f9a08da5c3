r"""Classical acquisition functions on indirect queries, as the IQBO paper modifies them.

A Gaussian process on g over the query space chooses the query. It is given the answers alone, and
ignores the pairs and f. The recommendation is the maximiser of the posterior mean of f under the
same conditional mean process as in CMES (Section 7 of [Zhang2025]_). So the baselines differ from
CMES only in the choice of the query.

References
----------
.. [Zhang2025] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman and D. Sejdinovic, "Indirect Query
   Bayesian Optimization with Integrated Feedback", 2025. Section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from math import isnan, sqrt
from typing import Any, Literal

import numpy as np
from scipy.special import log_ndtr
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.acquisition.entropy import gumbel_max_values, max_value_entropy
from skgpb.acquisition.improvement import log_expected_improvement, standard_scores
from skgpb.domains.indirect import IndirectQuery
from skgpb.kernels.evaluator import origin_of
from skgpb.optimizers.indirect_search import IndirectSearch
from skgpb.optimizers.round import ArmPosterior, Round
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import check_restarts, smooth_kernel
from skgpb.surrogate.pairs import PairCovariances
from skgpb.surrogate.regressor import OnlineGaussianProcessRegressor
from skgpb.surrogate.units import units_of
from skgpb.utils.locks import locked
from skgpb.utils.typing import PerRound
from skgpb.utils.validation import MOST_POINTS, Integral, Interval, Real, StrOptions, box_around

__all__ = [
    "IndirectEIOptimizer",
    "IndirectMESOptimizer",
    "IndirectPIOptimizer",
    "IndirectUCBOptimizer",
]


class AnswerModel:
    """A Gaussian process on g over queries, given the answers alone.

    Parameters
    ----------
    regressor : OnlineGaussianProcessRegressor
        Regressor whose process is the model.
    A : ndarray of shape (m, q)
        The candidates, which are tracked.
    kernel : Kernel, default=None
        Prior covariance of g, which restarts the regressor without answers. None keeps its state.
    """

    _kept_fields = ("theta", "process")

    def __init__(
        self, regressor: OnlineGaussianProcessRegressor, A: np.ndarray, kernel: Kernel | None = None
    ) -> None:
        self.regressor: OnlineGaussianProcessRegressor = regressor
        self._A = A
        if kernel is not None:
            regressor._start(kernel, A.shape[1], origin_of(kernel, box_around(A))).track(A)

    @property
    def process(self) -> GaussianProcess:
        """The posterior of g."""
        return self.regressor.process_

    @property
    def theta(self) -> np.ndarray:
        """Hyperparameters of the kernel. Setting them restarts the model without answers."""
        return self.process.kernel.theta

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        kernel = self.process.kernel
        if not np.array_equal(theta, kernel.theta):
            kernel = kernel.clone_with_theta(theta)
        self.regressor = AnswerModel(copy(self.regressor), self._A, kernel).regressor

    def incumbent(self) -> float:
        """Return the largest posterior mean of g at the observed queries, in units of the process.

        Without answers it is 0, the prior mean.
        """
        gp = self.process
        if not len(gp.observed):
            return 0.0
        return (float(gp.moments(gp.observed.rows).max()) - gp.offset) / gp.scale

    def observe(self, query: IndirectQuery, reward: float, alpha: float) -> None:
        """Condition the process on the answer to a query."""
        if query.index >= 0:
            self.process.observe_tracked(query.index, reward, alpha)
        else:
            self.process.observe(query.a[np.newaxis], reward, alpha)

    def refit(
        self,
        answers: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
        units: tuple[float, float],
        **settings: Any,
    ) -> AnswerModel:
        """Return a model with hyperparameters learned from all answers.

        Parameters
        ----------
        answers : tuple of ndarrays or None
            The rows of all queries, their answers and their noise variances, which replace the data
            of this model if the noise variances were learned again. None keeps the data.
        units : tuple of float
            Centre and scale of the answers.
        **settings
            Parameters of the regressor for learning: ``optimizer``, ``n_restarts_optimizer``.
        """
        kernel = None if answers is None else clone(self.process.kernel)
        out = AnswerModel(copy(self.regressor), self._A, kernel)
        if answers is not None:
            out.process.observe_all(*answers)
        out.regressor.set_params(**settings)._relearn(*units)
        return out


class IndirectBaseline(IndirectSearch):
    """Base class of searches that score queries by the posterior of g given the answers alone."""

    answer_kernel: Kernel | None

    _kept_fields = ("_answers",)
    _parameter_constraints = {"answer_kernel": [None, Kernel]}

    @property
    def _uses_answer_process(self) -> bool:
        """True if the process on the answers alone chooses queries, not the posterior of f."""
        return not self._norm.chooses

    def _round(self, pending: list[Any]) -> Round:
        if not self._uses_answer_process:
            return super()._round(pending)
        gp, level, prices = self._answers.process, self._model.alpha, self._cost_model
        row_sets = [query.a[np.newaxis] for query in pending]
        told = self._noises_of(pending)
        expected = gp.fantasize(row_sets, told) if pending else gp
        slots = [query.index for query in pending]
        known = ArmPosterior(gp, expected.posterior, lambda: PairCovariances(gp), slots, told)
        costs, noises = prices.costs_and_noises(level)
        return Round.before(known, gp, noises, costs, *self._stage(len(pending)))

    def _noises_of(self, queries: list[Any]) -> np.ndarray:
        noises = super()._noises_of(queries)
        # The process on the answers alone has its own kernel, without the error of p(x | a).
        return noises - self._model.model_noise if self._uses_answer_process else noises

    def _known_between(self) -> tuple[GaussianProcess, Callable[[np.ndarray], np.ndarray]] | None:
        if self.run_.pending:
            return None
        return (
            (self._answers.process, lambda A: A)
            if self._uses_answer_process
            else super()._known_between()
        )

    # -- the second Gaussian process, on g over the query space --------------------------------

    @property
    @locked
    def answers_(self) -> OnlineGaussianProcessRegressor:
        """The regressor with the posterior of g given the answers alone, over queries."""
        return self._answers.regressor

    def _check_consistent(self, kernel: Kernel) -> None:
        super()._check_consistent(kernel)
        if self._uses_answer_process:
            raise ValueError(
                f"optimizer={self.optimizer!r} is not possible for {type(self).__name__}, which "
                "chooses queries by a Gaussian process on the answers, whose norm has no bound. "
                "Use IndirectUCBOptimizer(beta='rkhs'), CMESOptimizer or IndirectTargetsOptimizer"
            )

    def _begin(self) -> None:
        super()._begin()
        run = self.run_
        given = run.params.answer_kernel
        kernel = smooth_kernel(self.domain_.bounds) if given is None else clone(given)
        if self._answer_optimizer is not None:
            check_restarts(kernel, self.n_restarts_optimizer)
        regressor = OnlineGaussianProcessRegressor(
            n_restarts_optimizer=self.n_restarts_optimizer, random_state=run.seed
        )
        self._share_lock(regressor)
        self._answers = AnswerModel(regressor, self.domain_.A, kernel)

    @property
    def _answer_optimizer(self) -> Any:
        """Optimizer of the hyperparameters of g; None if they are not learned.

        The hyperparameters of a given ``answer_kernel`` are learned only with ``optimizer``.
        """
        if self._norm.is_consistent:
            return None
        return self.optimizer or (
            "fmin_l_bfgs_b" if self.run_.params.answer_kernel is None else None
        )

    def _observe(self, query: IndirectQuery, reward: float, alpha: float) -> None:
        super()._observe(query, reward, alpha)
        self._answers.observe(query, reward, self._model.alpha if isnan(alpha) else alpha)

    def _on_refit(self) -> None:
        super()._on_refit()
        run = self.run_
        if len(self._model.samples) == run.n_fitted:
            return
        samples, told = self._model.samples, slice(run.n_fitted, None)
        rewards, alphas = map(np.array, (samples.reward[told], samples.alpha[told]))
        unknown, answers = np.isnan(alphas), None
        if unknown.any():
            noises = np.where(unknown, self._model.alpha, alphas)
            answers = self._observed_rows_with([]), rewards, noises
        units = 0.0, 1.0
        if run.params.alpha is None and self._model.standardizes:
            # The noise was learned in units of the spread of the answers of f: use the same unit.
            units = self._model.process.offset, self._model.process.scale
        elif self.normalize_y or run.params.answer_kernel is None:
            units = units_of(np.array([row[1] for row in run.history]))
        enough = run.n_told >= defaults.FIRST_LEARNING
        self._answers = self._answers.refit(
            answers,
            units,
            optimizer=self._answer_optimizer if enough else None,
            n_restarts_optimizer=self.n_restarts_optimizer,
        )


@dataclass(eq=False, repr=False)
class IndirectEIOptimizer(IndirectBaseline):
    """Expected improvement on indirect answers, a baseline for CMES.

    It asks the query with the largest expected improvement of g, and recommends the maximum of f.

    Other parameters are inherited from :class:`~skgpb.optimizers.IndirectSearch`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a.
    answer_kernel : Kernel, default=None
        Prior covariance of g over a, for the choice of queries. None stands for
        ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the query space's sides.

    Attributes
    ----------
    answers_ : OnlineGaussianProcessRegressor
        Posterior of g given the answers alone, over queries.

    See Also
    --------
    CMESOptimizer : Asks the query with the most information about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectEIOptimizer
    >>> opt = IndirectEIOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    _: KW_ONLY
    answer_kernel: Kernel | None = None

    _unit_of_scores = "log"

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the logarithm of the expected improvement, which does not underflow."""
        incumbent = posterior.once("incumbent", self._answers.incumbent)
        return log_expected_improvement(posterior.mean, posterior.std, incumbent)


@dataclass(eq=False, repr=False)
class IndirectPIOptimizer(IndirectBaseline):
    """Probability of improvement on indirect answers, a baseline for CMES.

    It asks the query that most probably improves g, and recommends the maximum of f.

    Other parameters are inherited from :class:`~skgpb.optimizers.IndirectSearch`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a.
    answer_kernel : Kernel, default=None
        As for :class:`~skgpb.IndirectEIOptimizer`.

    See Also
    --------
    CMESOptimizer : Asks the query with the most information about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectPIOptimizer
    >>> opt = IndirectPIOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    _: KW_ONLY
    answer_kernel: Kernel | None = None

    _unit_of_scores = "log"

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the logarithm of the probability that g exceeds the incumbent by the margin."""
        incumbent = posterior.once("incumbent", self._answers.incumbent)
        threshold = incumbent + defaults.IMPROVEMENT_MARGIN
        return log_ndtr(standard_scores(posterior.mean, posterior.std, threshold))


@dataclass(eq=False, repr=False)
class IndirectUCBOptimizer(IndirectBaseline):
    """Upper confidence bounds on indirect answers, a baseline for CMES.

    It asks the query with the highest upper confidence bound of g, and recommends the maximum of f.
    Costs are added up in ``spent_`` but do not change the choice.

    Other parameters are inherited from :class:`~skgpb.optimizers.IndirectSearch`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a.
    answer_kernel : Kernel, default=None
        As for :class:`~skgpb.IndirectEIOptimizer`.
    beta : "rkhs", float or callable, default=4.0
        Factor of the posterior variance: the bonus is sqrt(beta) std. A callable takes the
        round t, counted from 1. "rkhs" is valid for all queries at once and any f of norm at most
        B (:doc:`/user_guide/guarantees`), and uses mean and deviation of the process on f.

    See Also
    --------
    CMESOptimizer : Asks the query with the most information about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectUCBOptimizer
    >>> opt = IndirectUCBOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    _: KW_ONLY
    answer_kernel: Kernel | None = None
    beta: Literal["rkhs"] | PerRound = 4.0

    _parameter_constraints = {
        "beta": [StrOptions({"rkhs"}), Interval(Real, 0, None, closed="left"), callable],
    }

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the upper confidence bound of each query."""
        beta = self._norm.given_beta(posterior.t, self._model)
        return posterior.mean + sqrt(beta) * posterior.std

    def _scores(self, round: Round) -> np.ndarray:
        return self.acquisition(round)


@dataclass(eq=False, repr=False)
class IndirectMESOptimizer(IndirectBaseline):
    """Max-value entropy search on indirect answers, a baseline for CMES.

    It asks the query with the most information about the maximum of g, and recommends the maximum
    of f.

    Other parameters are inherited from :class:`~skgpb.optimizers.IndirectSearch`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over x; None takes the base of ``conditional``.
    bounds : array-like of shape (d, 2) or dict, default=None
        Box in which f is maximised.
    alpha : float, callable or None, default=None
        Noise variance of an answer, in units of the answer squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples of the maximum and of restarts.
    queries : array-like of shape (n_queries, q), default=None
        A finite set of queries.
    cost : float, array-like of shape (n_queries,) or callable, default=None
        Cost of each of ``queries``, or of a.
    answer_kernel : Kernel, default=None
        As for :class:`~skgpb.IndirectEIOptimizer`.
    n_max_values : int, default=100
        Number of samples of the maximum of g, from a Gumbel distribution.

    See Also
    --------
    CMESOptimizer : Asks the query with the most information about the maximum of f.

    Examples
    --------
    >>> from skgpb import IndirectMESOptimizer
    >>> opt = IndirectMESOptimizer(bounds=[(0, 1)], alpha=1e-6, random_state=0)
    >>> result = opt.run(lambda query: -float((query.a[0] - 0.3) ** 2), budget=12)
    >>> bool(abs(result.x[0] - 0.3) < 0.1)
    True
    """

    _: KW_ONLY
    answer_kernel: Kernel | None = None
    n_max_values: int = 100

    _parameter_constraints = {"n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")]}

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the information of each answer about the largest value of g, in nats."""
        mean, std, n = posterior.target_mean, np.sqrt(posterior.target_var), self.n_max_values
        maxima = posterior.once("maxima", lambda: gumbel_max_values(mean, std, n, posterior.rng))
        return max_value_entropy(posterior.mean, posterior.std, maxima)

    def _scores(self, round: Round) -> np.ndarray:
        return self.acquisition(round) / round.cost

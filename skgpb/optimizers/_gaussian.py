"""Base class of optimizers with a Gaussian process on f: observing, learning and predicting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from math import log, sqrt
from typing import Any, ClassVar, Literal, overload

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skgpb import defaults
from skgpb.domains.arms import Region
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import LearningWarning, ModelWarning
from skgpb.guarantee import DEFAULT_GUARANTEE, Guarantee
from skgpb.kernels._cell import CellKernel
from skgpb.kernels.evaluator import origin_of
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._base import BaseBanditOptimizer, Q
from skgpb.optimizers._loop import seed_of_run
from skgpb.optimizers._places import (
    CELLS_AT_A_TIME,
    averages,
    checked_sides,
    place_best_cell,
)
from skgpb.optimizers._run import event_block_name
from skgpb.surrogate.bounded_norm import Widths
from skgpb.surrogate.criticism import Criticism
from skgpb.surrogate.length_scales import shorter
from skgpb.surrogate.likelihood import Prior, default_prior
from skgpb.surrogate.model import Diagnosis, Hyperparameters, Model, ModelOptions
from skgpb.surrogate.models import Models
from skgpb.surrogate.regressor import OnlineGaussianProcessRegressor
from skgpb.surrogate.settings import kernel_on_settings
from skgpb.utils.locks import locked
from skgpb.utils.typing import Bounds, Direction, Noise, Optimizer, Queries, Relearn, Seed, Settings
from skgpb.utils.validation import (
    MOST_RESTARTS,
    Integral,
    Interval,
    Real,
    StrOptions,
    check_callable_value,
    check_draws,
    check_reached,
    unchanged_by_errors,
)
from skgpb.utils.warnings import warn

__all__ = ["ModelParameters"]

# -- A bound on the norm of f: width of intervals, and which length scales are consistent ----------

# Value of ``optimizer`` that drops length scales which contradict the answers.
CONSISTENT = "consistent"
#: Constraints of ``beta`` of searches in which a bound on the norm may define it.
BETA_CONSTRAINTS = [
    StrOptions({"theory", "rkhs"}),
    Interval(Real, 0, None, closed="left"),
    callable,
]


@dataclass(slots=True)
class NormBound:
    """Assumptions about the norm of f and the noise, and the widths that follow from them.

    Attributes
    ----------
    guarantee : Guarantee
        Bounds on the norm of f and the noise, and the failure probability.
    alpha : float, array-like, callable or None
        Noise variances of answers, as given; None if they are learned.
    optimizer : str, callable or None
        Optimizer of the hyperparameters, as given.
    beta : Any
        Factor of the variance, as given; None if the search has no such parameter.
    """

    guarantee: Guarantee
    alpha: Any
    optimizer: Any
    beta: Any

    @property
    def is_consistent(self) -> bool:
        """True if length scales that contradict the answers are dropped."""
        return isinstance(self.optimizer, str) and self.optimizer == CONSISTENT

    @property
    def chooses(self) -> bool:
        """True if the bound defines the width of the rule, ``beta="rkhs"``."""
        return isinstance(self.beta, str) and self.beta == "rkhs"

    def check_consistent(self, kernel: Kernel, is_given: bool, normalize_y: bool) -> None:
        """Raise ValueError if length scales cannot be compared by a norm."""
        alpha, misspecification = self.alpha, self.guarantee.misspecification
        if not is_given or alpha is None or normalize_y:
            raise ValueError(
                f"optimizer={CONSISTENT!r} needs kernel, with the longest length scales to try, "
                f"alpha, and normalize_y=False; got {'a' if is_given else 'no'} kernel, "
                f"alpha={alpha!r} and normalize_y={normalize_y!r}"
            )
        noisy = callable(alpha) or bool(np.all(np.asarray(alpha) > 0.0))
        if not noisy or misspecification > 0.0:
            raise ValueError(
                f"optimizer={CONSISTENT!r} needs noise, alpha > 0, and a kernel that is not "
                f"misspecified; got alpha={alpha!r} and misspecification={misspecification!r}"
            )
        shorter(kernel, kernel.theta)

    def widths(self, model: Model) -> Widths:
        """Return the widths of intervals for the posterior of ``model``."""
        several = self.is_consistent
        return Widths(
            model.process,
            self.guarantee,
            self.alpha,
            lambda: model.alpha,
            model.standardizes,
            self.optimizer is not None and not several,
            model.model_noise > 0.0,
            model.first_theta if several else None,
        )

    def consistent_hyperparameters(self, model: Model) -> Hyperparameters | None:
        """Return the consistent hyperparameters; None with any other ``optimizer``."""
        if not self.is_consistent:
            return None
        theta = self.widths(model).next_theta(model.n_learned)
        return Hyperparameters(0.0, 1.0, theta, model.noise)

    def given_beta(self, t: int, model: Model) -> float:
        """Return the user's beta in round t: a number, a function of t or the bound."""
        if callable(self.beta):
            return check_callable_value(self.beta, t, "beta")
        return self.widths(model).beta() if self.chooses else float(self.beta)

    def deviations_within(self, log_regions: float) -> float:
        """Return a bound on |f - answer| within all regions, in prior standard deviations.

        ``log_regions`` is the logarithm of the number of regions in the union bound of the papers.
        """
        if self.chooses:
            return float(self.guarantee.norm_bound)
        return sqrt(2.0 * (log_regions - log(self.guarantee.failure_probability)))


# -- The base class --------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class ModelParameters:
    r"""Parameters and attributes of all searches with a Gaussian process on f.

    Which class is for which problem: :ref:`which-class`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f, any kernel of scikit-learn; None learns one from the answers. It is a
        kernel over points, in units of the reward squared. The one that is learned has a length
        scale for every side: Matern-5/2 if f is observed at points, RBF if answers are averages
        over cells of a tree, in units of the standard deviation of the rewards
        (:mod:`skgpb.surrogate.likelihood`).
    bounds : array-like of shape (d, 2) or dict, default=None
        The box that is searched: a pair (lower, upper) for each side, or a dict of named sides. The
        values of a dict are pairs (lower, upper), distributions of ``scipy.stats`` such as
        ``loguniform``, ranges of integers, or lists of numbers or categories; queries then have
        ``params``, see :ref:`named-sides` and :ref:`mixed-regions`. Without it, and where no other
        domain is given, it comes from ``fit``.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; None learns it. For arms, and
        for rows or cells of several sizes as ``queries`` of a :class:`~skgpb.optimizers.Search`, an
        array has one for each arm, row or size.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought. ``tell``, ``predict`` and ``history_`` use the
        user's sign. With "minimize" acquisition functions (``acquisition``) and ``surrogate_``
        use rewards with the opposite sign.
    optimizer : "fmin_l_bfgs_b", callable or None, default=None
        How hyperparameters are learned from the answers, as in GaussianProcessRegressor. None keeps
        the hyperparameters of a given ``kernel``. "consistent" uses several length scales in turn
        and drops a length scale if no f of the norm in ``guarantee`` fits the answers
        (:doc:`/user_guide/guarantees`).
    n_restarts_optimizer : int, default=0
        Number of additional random starts of the optimizer.
    relearn : {"doubling", "growing"}, int or None, default="doubling"
        When to learn the hyperparameters and the noise, and to scale the rewards: whenever the
        number of observations has doubled or grown by a quarter (from 4 on), after every given
        number of observations, or only in ``fit`` (None).
    normalize_y : bool, default=False
        Whether to centre and scale the rewards, so that a given ``kernel`` is in units of
        their standard deviation. ``alpha``, and a variation of f that is given as a function, stay
        in units of the reward.
    guarantee : Guarantee, default=None
        Assumptions of confidence bounds and :meth:`interval` about f and the noise, and their
        failure probability: :class:`~skgpb.Guarantee`. None uses its defaults.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random: draws, candidates in a box, and restarts of the optimizer.

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over rows that the kernel of the answers takes: points, or boxes of cells.
    run_ : Run
        State of the run, see :doc:`/development/new_algorithm`.
    history_ : structured ndarray
        Queries and answers, one row for each answer.
    bounds_ : ndarray of shape (d, 2)
        The domain; the bounding box of arms and of a pool.
    n_features_in_ : int
        Number of dimensions.
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    bounds: Bounds | None = None
    alpha: Noise | None = None
    direction: Direction = "maximize"
    optimizer: Optimizer = None
    n_restarts_optimizer: int = 0
    relearn: Relearn = "doubling"
    normalize_y: bool = False
    guarantee: Guarantee | None = None
    random_state: Seed = None


class GaussianProcessOptimizer(BaseBanditOptimizer[Q]):
    """Base of searches with a model of f, :class:`~skgpb.surrogate.model.Model`.

    The model is refitted when its schedule says so; ``surrogate_`` is its public view. ``domain_``
    returns the descriptor rows of points and queries. A subclass has the fields of
    :class:`ModelParameters` and chooses queries in ``_choose``. Its ``_update_derived_values``
    recomputes the values that depend on hyperparameters, units and parameters.
    """

    kernel: Kernel | None
    alpha: Any
    optimizer: Optimizer
    n_restarts_optimizer: int
    relearn: Relearn
    normalize_y: bool
    guarantee: Guarantee | None
    surrogate_: Any

    # These arguments select the return value; they are not metadata of samples.
    __metadata_request__predict = {"return_std": UNUSED, "return_cov": UNUSED}

    _compares = True
    _kept_fields: ClassVar[tuple[str, ...]] = ("_model",)

    _model: Model

    _parameter_constraints = {
        "kernel": [None, Kernel],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "guarantee": [Guarantee, None],
        "optimizer": [StrOptions({"fmin_l_bfgs_b", CONSISTENT}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, MOST_RESTARTS, closed="both")],
        "relearn": [
            StrOptions({"growing", "doubling"}),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    def _set_params(self, params: dict[str, Any]) -> None:
        if any(name.startswith("guarantee__") for name in params):
            # A copy: the object may be shared with another estimator or with the start of the run.
            given = params.get("guarantee", self.guarantee)
            params = params | {"guarantee": clone(given or DEFAULT_GUARANTEE)}
        super()._set_params(params)

    def _rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return the rows of points (n, d) for ``surrogate_``."""
        return self.domain_.rows_of(points)

    def _functionals_at(self, points: np.ndarray) -> np.ndarray:
        """Return the descriptor rows of f at points (n, d) for the process."""
        return self._rows_of(points)

    # -- the model --------------------------------------------------------------------------

    @property
    def _guarantee(self) -> Guarantee:
        """Assumptions as given, or the defaults."""
        # A rule may be evaluated outside of a run, which ``_params`` allows for.
        return self._params.guarantee or DEFAULT_GUARANTEE

    @property
    def _norm(self) -> NormBound:
        """Assumptions about the norm of f and the noise, and the widths that follow from them."""
        beta = getattr(self, "beta", None)
        return NormBound(self._guarantee, self._params.alpha, self.optimizer, beta)

    def _options(self) -> ModelOptions:
        """Return the options of the model for the parameters in use."""
        model_noise, alpha = getattr(self, "model_noise", 0.0), self.run_.params.alpha
        # The noise of a typical query if queries differ in noise.
        typical = self._cost_model.typical_noise if self._has_costs else None
        noise = typical if typical is not None or alpha is None else float(alpha)
        return ModelOptions(
            noise,
            self.optimizer,
            self.n_restarts_optimizer,
            self.relearn,
            self.normalize_y,
            None if model_noise == "auto" else float(model_noise),
        )

    def _set_model(self, model: Model) -> None:
        """Set the model, and what the public methods read of it."""
        self._model = model
        self._default_noise_variance = model.default_noise_variance
        self.surrogate_ = self.surrogate_._with_model(model)

    def _start_surrogate(
        self,
        kernel: Kernel,
        n_columns: int,
        seed: int | None = None,
        our_prior: Callable[[], Prior] | None = None,
        usual_noise: tuple[float, float] | None = None,
    ) -> None:
        """Begin without observations.

        Parameters
        ----------
        kernel : Kernel
            Covariance of the answers.
        n_columns : int
            Number of columns of descriptor rows.
        seed : int, default=None
            Seed of all random numbers; None draws one.
        our_prior : callable, default=None
            Makes the prior of a default kernel; None stands for the prior of points of a box.
        usual_noise : tuple of two floats, default=None
            Median of the noise variance as a share of the variance of the answers, and its spread.
        """
        run = self.run_
        run.seed = seed_of_run(self.random_state, self._replay) if seed is None else seed
        options, bounds, given = self._options(), self.bounds_, run.params.kernel
        if run.space is not None and isinstance(kernel, CellKernel):
            bounds = run.space.column_bounds
        # A default kernel is learned under our priors; a given kernel may have a prior of its own.
        if given is not None or isinstance(getattr(self, "feedback", None), Kernel):
            prior = getattr(given, "prior", None)
        else:
            prior = our_prior() if our_prior else prior_of_box(self.bounds_, run.space)
        model = Model(
            kernel,
            n_columns,
            options,
            prior=prior,
            usual_noise=usual_noise,
            origin=origin_of_rows(kernel, bounds),
            seed=run.seed,
        )
        alpha = 1e-10 if options.noise is None else options.noise
        self.surrogate_: OnlineGaussianProcessRegressor = OnlineGaussianProcessRegressor(
            alpha=alpha, random_state=run.seed
        )
        self.surrogate_._begin(model.process)
        self._begin_with(model)

    def _begin_with(self, model: Model) -> None:
        """Set the first model, and share the lock with ``surrogate_``."""
        self._share_lock(self.surrogate_)
        self._set_model(model)
        if self._norm.is_consistent:
            self._check_consistent(self._model.process.kernel)
        if self._norm.chooses:
            self._widths().warn_if_unfounded()

    def _on_set_params(self) -> None:
        super()._on_set_params()
        if self._norm.is_consistent:
            self._check_consistent(self._model.process.kernel)
        self._set_model(self._model.with_options(self._options()))
        self._update_derived_values()

    @property
    @locked
    def alpha_(self) -> float:
        """Noise variance of an answer in use: ``alpha``, or the learned value."""
        check_is_fitted(self, "surrogate_")
        if callable(self.run_.params.alpha):
            raise AttributeError("there is no single noise variance, because alpha is a function")
        return self._model.alpha

    def _on_refit(self) -> None:
        """Recompute values that depend on hyperparameters and units; called after each refit."""
        self._update_derived_values()

    def _update_derived_values(self) -> None:
        """Recompute values that depend on hyperparameters, units and changeable parameters."""

    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        """Condition on evaluations y (n,) of f at points X (n, d)."""
        self._model.condition(self._functionals_at(X), y)
        self.run_.n_fitted = len(X)
        self._fit_model()

    def _warn_of_penalty(self, n_new: int = 1) -> None:
        """Warn if one of the last answers looks like a penalty for a failure, far from all others.

        A single new answer is compared with all earlier answers.
        """
        rewards, first = self._model.samples.reward, defaults.FIRST_CHECK_OF_PENALTIES
        n = len(rewards)
        if n < first:
            return
        # Fast path: most answers are above one of the last few.
        above = n_new == 1 and (rewards[-1] > min(rewards[-10:]) or rewards[-1] > min(rewards))
        if n > first and above:
            return
        best_first = np.sort(rewards)[::-1]
        for k in range(n - n_new if n - n_new >= first else first // 2, n):
            others, gap = best_first[:k], best_first[k - 1] - best_first[k]
            # A plateau has nearly equal answers, so a penalty must also be far in absolute size.
            if 0.0 < np.ptp(others) < gap / defaults.PENALTY and gap > np.abs(others).max():
                worst = self.run_.sign.convert(float(best_first[-1]))
                warn(
                    f"the answer {worst:.6g} is more than {defaults.PENALTY:,} times as far from "
                    "the others as these are apart, and beside it they look alike to the model: "
                    "tell None where an evaluation failed, and no penalty; where answers grow "
                    "exponentially tell their logarithms",
                    ModelWarning,
                )

    def _learn(self) -> None:
        self._warn_of_penalty()
        self._learn_if_due()

    def _learn_if_due(self) -> None:
        """Refit the hyperparameters, and compare the answers with the model, if that is due."""
        run = self.run_
        n = run.n_observations
        if n >= self._model.schedule.learning_due:
            self._learn_or_keep()
        if n >= self._model.schedule.check_due:
            contradiction = self._model.criticise(partial(run.name_of, len(self._model.samples)))
            if contradiction:
                warn(contradiction, ModelWarning)

    def _learn_or_keep(self) -> None:
        """Refit the hyperparameters; if that fails keep the present ones, and the answer."""
        run = self.run_
        when, n_events, failure = (run.n_told,), len(run.events), None
        replay = self._replay
        replayed = replay is not None and replay.has_learned
        if replay is None or not replay.failed_to_learn(*when):
            try:
                with unchanged_by_errors(self):
                    self._fit_model()
                return
            except Exception as error:
                if replayed:
                    raise  # the values come from a file, which is damaged
                failure = error
        del run.events[n_events:]
        run.events.append(("unlearned", *when))
        # The next attempt is at the next date of the schedule.
        self._model.schedule.record_refit(run.n_observations)
        if failure is not None:
            warn(
                "learning the hyperparameters failed, those in use are kept: "
                f"{type(failure).__name__}: {failure}",
                LearningWarning,
            )

    def _fit_model(self) -> None:
        """Refit units and hyperparameters, and refactorise.

        Objects are replaced, never changed in place.
        """
        if not self._model.learns:
            return
        replay, learned = self._replay, None
        if replay is None or not replay.has_learned:
            learned = self._norm.consistent_hyperparameters(self._model)
        else:
            learned = Hyperparameters.of(replay.pop_hyperparameters())
        self._set_model(self._model.refit(learned))
        self._on_refit()
        assert self._model.found is not None
        self.run_.events.append(("learned", self._model.found.values()))

    @locked
    def criticism(self) -> Criticism:
        """Compare each answer with its prediction from the others, see :ref:`model-criticism`."""
        loop.check_has_data(self)
        return self._model.criticism()

    def _restore(self, snapshot: dict[str, Any]) -> None:
        learned = [
            Hyperparameters.of(event[1]) for event in self.run_.events if event[0] == "learned"
        ]
        in_blocks = any(event_block_name(event) is not None for event in self.run_.events)
        model = self._model.with_effects() if in_blocks else self._model
        self._set_model(model.after(learned))
        super()._restore(snapshot)

    # -- choosing ---------------------------------------------------------------------------

    def _propose(self, context: np.ndarray | None) -> Any:
        again = self._query_to_replicate(self._model.diagnosis) if context is None else None
        return self._choose(context) if again is None else again

    @abstractmethod
    def _choose(self, context: np.ndarray | None) -> Any:
        """Return the next query, different from the pending ones."""

    def _query_to_replicate(self, diagnosis: Diagnosis) -> Any:
        """Return a query that needs another answer; None if there is none."""
        places = self._suspect_answers(diagnosis)
        return self.run_.first_free(places) if places else None

    def _suspect_answers(self, diagnosis: Diagnosis) -> list[int]:
        """Return the positions of suspect answers; the search repeats their queries."""
        run = self.run_
        n_fitted = run.n_fitted
        # If some answers are several samples, positions do not correspond.
        if not diagnosis.outliers or diagnosis.n_answers - n_fitted != run.n_told:
            return []
        places = [s - n_fitted for s in diagnosis.suspects if s >= n_fitted]
        told = run.told_queries() if places else []
        return [place for place in places if self._may_ask(told[place])]

    # -- predicting -------------------------------------------------------------------------

    def _mixture(self) -> Models | None:
        """Return the models whose average predicts; None for the posterior of the process."""
        return self._model.mixture

    @overload
    def predict(
        self, X: Settings, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> np.ndarray: ...

    @overload
    def predict(
        self, X: Settings, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Settings, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Settings, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict(
        self, X: Settings, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Posterior of f at points, in the user's units.

        If the kernel is learned this is an average over models; ``surrogate_`` has the likeliest.

        Parameters
        ----------
        X : array-like of shape (n_samples, d), DataFrame, or list of dicts
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
        X = self._inputs.points(X)
        models = self._mixture()
        if models is None or (return_std and return_cov):
            moments = self.surrogate_.predict(self._rows_of(X), return_std, return_cov)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                moments = models.moments(self._functionals_at(X), return_std, return_cov)
            check_reached(moments, X)
        return self.run_.sign.convert_moments(moments)

    @locked
    def sample_y(self, X: Settings, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draw samples of f from the posterior at points, shape (n_samples_X, n_samples).

        If the kernel is learned, the model of each draw is drawn as well, see :meth:`predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, d)
            Points, as for :meth:`predict`.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seeds the draws.
        """
        check_is_fitted(self, "bounds_")
        X, models = self._inputs.points(X), self._mixture()
        run = self.run_
        if models is None:
            rows = self._rows_of(X)
            return run.sign.convert(self.surrogate_.sample_y(rows, n_samples, random_state))
        rng, points = check_random_state(random_state), self._functionals_at(X)
        return run.sign.convert(models.draws(points, check_draws(n_samples, len(X)), rng).T)

    @overload
    def predict_query(
        self,
        queries: Queries,
        return_std: Literal[False] = False,
        *,
        interval: Literal[False] = False,
    ) -> np.ndarray: ...

    @overload
    def predict_query(
        self, queries: Queries, return_std: Literal[True], *, interval: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, queries: Queries, return_std: Literal[False] = False, *, interval: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, queries: Queries, return_std: bool = False, *, interval: Literal[False] = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict_query(
        self, queries: Queries, return_std: bool = False, *, interval: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray] | tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Posterior of the functionals that queries observe, without the noise of an answer.

        Parameters
        ----------
        queries : query or list of queries
            Any queries; in a list also points, of shape (d,) or (S, d), for their average.
        return_std, interval : bool, default=False
            At most one of them.

        Returns
        -------
        mean : ndarray of shape (n_queries,)
        std : ndarray of shape (n_queries,), only if ``return_std``
        lower, upper : ndarray of shape (n_queries,), only if ``interval``, as for :meth:`interval`
        """
        if return_std and interval:
            raise ValueError("at most one of return_std and interval can be asked for")
        check_is_fitted(self, "bounds_")
        row_sets = self._row_sets_of(queries)
        run = self.run_
        if not interval:
            read = self._mixture() or self._model.process
            return run.sign.convert_moments(read.moments(row_sets, std=return_std))
        return run.sign.convert_moments(
            self._model.process.moments(row_sets)
        ), *run.sign.convert_interval(*self._widths().ends(row_sets))

    def _row_sets_of(self, queries: Any) -> Any:
        """Return the descriptor rows of each of the queries of ``predict_query``."""
        return [self.domain_.rows_of_query(query) for query in self._inputs.queries(queries)]

    # -- intervals for every f of bounded norm ----------------------------------------------

    def _widths(self) -> Widths:
        return self._norm.widths(self._model)

    @locked
    def interval(self, X: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Return ends (lower, upper) of intervals that contain f, at all points in all rounds.

        They hold jointly with probability 1 - ``guarantee.failure_probability``, see
        :doc:`/user_guide/guarantees`.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points, as for :meth:`predict`.

        Warns
        -----
        GuaranteeWarning
            If hyperparameters or the noise are learned, or no f of this norm fits the answers.
        """
        check_is_fitted(self, "bounds_")
        X = self._inputs.points(X)
        with np.errstate(over="ignore", invalid="ignore"):
            ends = self.run_.sign.convert_interval(*self._widths().ends(self._functionals_at(X)))
        check_reached(ends, X)
        return ends

    def _check_consistent(self, kernel: Kernel) -> None:
        """Raise ValueError if length scales cannot be compared by a norm."""
        self._norm.check_consistent(kernel, self.run_.params.kernel is not None, self.normalize_y)
        if self._model.model_noise > 0.0:
            raise ValueError(
                f"optimizer={CONSISTENT!r} needs the distribution of the inputs of a query: pass "
                "conditional instead of pairs"
            )

    # -- cells of any size ------------------------------------------------------------------

    def _best_region(
        self, side: Any, *, caution: float = 0.0, context: np.ndarray | None = None
    ) -> Region:
        """Return the best cell with given side lengths, of actions if there are contexts."""
        run = self.run_
        if any(getattr(run.params, name, None) is not None for name in ("arms", "pool")):
            raise ValueError(f"side is for cells of a box, got side={side!r}")
        there = np.empty(0) if context is None else context
        n, space = len(there), run.space if context is None else run.actions
        bounds, seen, gp = self.bounds_[n:], self._observed_points()[:, n:], self._model.process

        def at(points: np.ndarray) -> np.ndarray:
            return self._functionals_at(np.hstack([np.tile(there, (len(points), 1)), points]))

        def worth(cells: list[np.ndarray]) -> np.ndarray:
            """Return mean - caution * std of the averages over cells."""
            if not caution:
                return averages(lambda points: gp.moments(at(points)), cells)
            row_sets, at_a_time = list(map(at, cells)), CELLS_AT_A_TIME
            begins = range(0, len(row_sets), at_a_time)
            found = [gp.moments(row_sets[i : i + at_a_time], std=True) for i in begins]
            return np.concatenate([mean - caution * std for mean, std in found])

        sides = checked_sides(side, bounds, space)
        best = place_best_cell(worth, seen, bounds, sides, space)
        if not n:
            return best
        lower, upper = (np.concatenate([there, end]) for end in (best.lower, best.upper))
        return Region(lower, upper, (1,) * n + best.counts).with_names(run.space)

    def _observed_points(self) -> np.ndarray:
        """Return the observed points, or centres of observed regions, shape (n, d)."""
        d = len(self.bounds_)
        run = self.run_
        if run.space is not None and run.space.uses_columns:
            boxes = np.array([row[0] for row in run.history]).reshape(-1, 2 * d)
        else:
            boxes = self._model.process.observed.rows
        return 0.5 * (boxes[:, :d] + boxes[:, -d:])


def prior_of_box(bounds: np.ndarray, space: ParameterSpace | None) -> Prior:
    """Return the prior of a default kernel over points of a box, or over settings."""
    if space is not None and space.uses_columns:
        return kernel_on_settings(None, space).prior
    return default_prior(bounds)


def origin_of_rows(kernel: Kernel, bounds: np.ndarray) -> np.ndarray | None:
    """Return the origin of descriptors far from zero, repeated for the corners of boxes."""
    if not isinstance(kernel, CellKernel):
        return origin_of(kernel, bounds)
    origin = origin_of(kernel.base, bounds)
    return None if origin is None else np.tile(origin, 2)

"""Base class of all optimizers: their public methods, and the five methods that the loop calls."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from functools import cache, partial
from math import nan
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, overload

import joblib
import numpy as np
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skgpb._core._ties import has_nan
from skgpb.domains.arms import PointsQuery, Query
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._evaluations import EvaluationLoop, check_run, make_workers
from skgpb.optimizers._files import read_run, restore, resume_checkpoint, snapshot_of, write_run
from skgpb.optimizers._inputs import Contexts, Inputs, NoContexts, Numbers, coordinates
from skgpb.optimizers._loop import Replay, rebuild_in_place
from skgpb.optimizers._run import (
    AT_START,
    OF_QUERIES,
    Event,
    Run,
    RunResult,
    are_equal,
    checked_method,
    failure_table,
    history_table,
)
from skgpb.optimizers._stopping import (
    Comparison,
    StopRule,
    check_failures,
    check_share,
    gap_later,
    stop_rule,
)
from skgpb.surrogate.model import Model
from skgpb.utils.documentation import DocumentedMixin
from skgpb.utils.locks import Guarded, locked, reading_log
from skgpb.utils.typing import (
    BaseEstimator,
    Direction,
    File,
    RecommendMethod,
    RegressorMixin,
    Seed,
    Setting,
    Settings,
    Told,
    Values,
)
from skgpb.utils.validation import (
    LARGEST_REWARD,
    StrOptions,
    check_count,
    check_noise_variance,
    check_reward,
    keyed,
    unchanged_by_errors,
    validate_data,
)
from skgpb.utils.warnings import warn

# -- Warning of a grid search over parameters that ``score`` does not depend on --------------------

# Memory: number of data sets whose last score is kept: one for each split of a cross-validation.
REMEMBERED = 64

_last: OrderedDict[str, tuple[float, dict[str, str]]] = OrderedDict()


def warn_of_tie(optimizer: BaseEstimator, score: float, data: Any) -> None:
    """Warn if another optimizer, with other parameters, had the same score on the same data."""
    parameters = optimizer.get_params(deep=False)
    # Seeds are left out: the values of random states cannot be compared.
    named = {name: repr(each) for name, each in parameters.items() if name != "random_state"}
    key = joblib.hash((type(optimizer).__name__, data))
    before, others = _last.pop(key, (None, {}))
    _last[key] = score, named
    if len(_last) > REMEMBERED:
        _last.popitem(last=False)
    differ = [name for name in named if named[name] != others.get(name)]
    if score == before and differ:
        warn(
            f"score() is the same as with another {', '.join(differ)}: it judges the predictions "
            "(R^2), which do not depend on how a search chooses queries. To compare such "
            "parameters by the recommendations, as in GridSearchCV, pass "
            "scoring=skgpb.model_selection.bandit_scorer(...)",
            UserWarning,
        )


# -- The base class --------------------------------------------------------------------------------

# Class of the queries of an optimizer.
Q = TypeVar("Q", bound=Query)


class BaseBanditOptimizer(
    Guarded,
    DocumentedMixin,
    RegressorMixin,
    BaseEstimator,
    ABC,
    Generic[Q],
):
    """Public methods of all searches: fit, ask, tell, run, recommend, save and load.

    A search has the five methods of a :class:`~skgpb.optimizers.Strategy`: ``_begin``,
    ``_propose``, ``_observe``, ``_learn`` and ``_best``. None of them has to validate anything, and
    they always maximise. ``_begin`` sets ``domain_``, the set of all queries, which returns the
    functional of f that each query observes. The steps that all searches share are functions of
    :mod:`skgpb.optimizers._loop`. They call these five methods, further methods that have a
    default here, and read attributes. Public methods hold the lock of the optimizer
    (:mod:`skgpb.utils.locks`), except for ``run``, which releases it during evaluations.
    """

    _query_type: ClassVar[type[Query]]

    #: Replay of an earlier run, while this one is rebuilt from it; None otherwise.
    _replay: Replay | None = None

    #: Parameters that may be tables: their columns name the features if the sides have no names.
    _tables: ClassVar[tuple[str, ...]] = ("arms", "pool", "queries", "targets")

    #: Class that converts the user's queries, points and answers.
    _inputs_type: ClassVar[type[Inputs]] = Inputs
    #: Whether recommendations are points of f instead of queries.
    _recommends_points: ClassVar[bool] = False
    #: Dimensions of the reward of one query.
    _reward_ndim: ClassVar[int] = 0

    #: Whether large or small rewards are sought.
    direction: Direction = "maximize"

    random_state: Seed

    bounds: Any
    #: Box of the contexts; always None if the class has no contexts.
    context_bounds: Any = None

    #: Sides that the algorithm can search: "numbers" that the kernel compares as they are, all
    #: "continuous" ones (angles), or "any" (integers, categories).
    _sides: ClassVar[str] = "continuous"
    #: Whether all queries and recommendations are feasible settings.
    _keeps_settings: ClassVar[bool] = False

    #: Whether they are on the sides of now, if earlier answers are outside of these.
    _keeps_ranges: ClassVar[bool] = False

    #: State of the run: events, pending queries, parameters in use, names of sides, sign.
    run_: Run

    bounds_: np.ndarray
    n_features_in_: int

    #: The set of all queries, with the functionals of f that they observe.
    domain_: Any

    #: Number of sides of contexts.
    _n_context: int = 0
    #: Whether the class requires contexts, even if ``context_bounds`` is None.
    _needs_contexts: ClassVar[bool] = False

    #: Methods of :meth:`recommend`; the first one is the default.
    _methods: ClassVar[tuple[RecommendMethod, ...]] = ("posterior", "paper")
    #: Whether the search can compare its recommendation with alternatives, if it has no contexts.
    _compares: bool = False

    #: Whether many answers told in one call change the model together, by ``_observe_together``.
    _takes_together: ClassVar[bool] = False

    #: Whether queries have costs, so that ``max_cost`` may limit a run.
    _has_costs: ClassVar[bool] = False
    _cost_model: Any

    #: The model of f; None if the method has none.
    _model: Model | None = None

    #: Noise variance of an answer without ``alpha``; NaN if the noise is learned.
    _default_noise_variance: float = nan

    _parameter_constraints: dict[str, Any] = {
        "direction": [StrOptions({"maximize", "minimize"})],
        "bounds": "no_validation",
        "context_bounds": "no_validation",
    }

    #: Fields that files keep, in addition to the fields of base classes and subclasses.
    _kept_fields: ClassVar[tuple[str, ...]] = ("run_",)
    # Answers have noise variances instead of weights, so a meta-estimator has no weights to route.
    __metadata_request__score = {"sample_weight": UNUSED}

    #: Parameters that a run reads at its start only: new values wait for the next ``fit``.
    _at_start: ClassVar[frozenset[str]] = AT_START
    #: Parameters that also wait if ``arms``, ``queries`` or ``targets`` have new values.
    _of_sets: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Merge the parameter constraints of a subclass with the inherited ones."""
        super().__init_subclass__(**kwargs)
        constraints: dict[str, Any] = {}
        for each in reversed(cls.__mro__):
            constraints |= vars(each).get("_parameter_constraints", {})
        cls._parameter_constraints = constraints

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters; cached, as scikit-learn parses the signature."""
        return super()._get_param_names()

    # -- the search: five methods, and further methods that have a default ----------------------

    @abstractmethod
    def _begin(self) -> None:
        """Set up the state before the first observation, for the box ``bounds_``."""

    @abstractmethod
    def _propose(self, context: np.ndarray | None) -> Any:
        """Return the next query, which must not be pending; ``context`` is None without contexts.

        Raises
        ------
        AllPendingError
            If all queries are pending.
        """

    @abstractmethod
    def _observe(self, query: Any, reward: Any, alpha: Any) -> None:
        """Condition on one validated reward with noise variance ``alpha``, and close the round."""

    def _learn(self) -> None:
        """Refit hyperparameters if that is due; the loop calls this after every answer."""

    @abstractmethod
    def _best(self, context: np.ndarray | None = None) -> Any:
        """Return the recommended query; ``context`` is None without contexts."""

    @abstractmethod
    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        """Condition on evaluations y of f at points X (n, d), which were given to ``fit``."""

    def _domain(self, X: np.ndarray | None) -> np.ndarray | None:
        """Return the box (d, 2) that the parameters define; None if they define none.

        The loop then uses the bounding box of ``X``, the points given to ``fit``, or None.
        """
        return coordinates(self.run_.params.bounds, self.run_.space, "bounds")

    def _begin_checks(self) -> None:
        """Raise an error for parameters that do not fit the domain, before any state is set."""

    def _on_set_params(self) -> None:
        """Recompute the values that depend on parameters, after ``set_params`` during a run.

        Replace objects, never mutate them: after an error the loop puts the old ones back.
        """

    def _refresh(self) -> None:
        """Bring the state of a round up to date, before answers that are told together."""

    def _check_fixed(self, fixed: Mapping[str, Any], shared: Collection[str]) -> None:
        """Raise an error unless ``ask`` can hold some sides at values, or share some."""
        name, given = ("fixed", fixed) if fixed else ("shared", shared)
        raise ValueError(
            f"{name} is for searches by candidates of a box with named sides, bounds={{name: "
            f"side}}; {type(self).__name__} got {name}={given!r}{self._way_to_hold}"
        )

    #: End of the message that refuses fixed sides: another way to hold a side.
    _way_to_hold: ClassVar[str] = ""

    def _holds(self, query: Any, fixed: Mapping[str, Any]) -> bool:
        """Return whether a query has the values of fixed sides; called after ``_check_fixed``."""
        actions = self.run_.actions
        assert actions is not None
        return actions.have_values(query.points[:, self._n_context :], fixed)

    def _propose_with(self, fixed: Mapping[str, Any], context: np.ndarray | None) -> Any:
        """Return the next query with fixed sides; called after ``_check_fixed``.

        ``fixed`` is empty for the first query of several that share sides.
        """
        raise NotImplementedError

    def _may_ask(self, query: Any) -> bool:
        """Return whether ``ask`` may return a query that was asked or told before."""
        return True

    def _takes_domain(self, name: str, changed: Mapping[str, Any]) -> bool:
        """Return whether the run can continue with the ``bounds`` or ``arms`` among ``changed``.

        ``changed`` are all parameters that were set together during the run.
        """
        return False

    def _has_queries_of(self, name: str, value: Any) -> bool:
        """Return whether the queries of the run are those of a parameter of ``SPACE``."""
        return are_equal(value, getattr(self.run_.params, name))

    def _change_domain(self, name: str, value: Any) -> None:
        """Continue the run with other ``bounds`` or ``arms``; called if ``_takes_domain``."""
        raise NotImplementedError

    def _settings_of_campaigns(self) -> list[dict[str, Any]]:
        """Return the settings of all earlier campaigns, on the sides of now."""
        return []

    def _observe_together(self, answers: list[Any]) -> None:
        """Condition on answers that are told together, and learn if that is due.

        ``answers`` are the entries that ``_observe`` has appended to ``run_.together``.
        """
        raise NotImplementedError

    def _check_measured(self, told: Sequence[Mapping[str, Any]]) -> None:
        """Warn if the last answers are the first ones without a limited outcome.

        The loop calls this after every answer, or after answers that were told together, with the
        outcomes of each.
        """

    def _limit_violation_mask(self) -> np.ndarray:
        """Return a mask (n_answers,) of the answers that had an outcome beyond its limit."""
        return np.zeros(self.run_.n_told, dtype=bool)

    def _limits_at(self, best: Any) -> list[dict[str, Any]]:
        """Return the prediction for each limited outcome at a query, see ``RunResult.limits``."""
        return []

    def _known_front(self, method: Any = None) -> Any:
        """Return the front by a method; None without several goals, or before all were measured."""
        return None

    def _prediction_note(self, best: Any) -> dict[str, str]:
        """Return a text under "predict" if ``predict`` prefers another query; otherwise empty."""
        return {}

    def _comparison(self, best: Any) -> Comparison | None:
        """Return a comparison of the recommendation with its alternatives; None if impossible.

        It has a copy of the posterior, which later answers do not change.
        """
        return None

    @property
    def _is_exhausted(self) -> bool:
        """True if no further answer could change the recommendation."""
        return False

    def _snapshot(self) -> Any:
        """Return the fields of the state that are expensive to compute from the events.

        None if a file needs the events only.
        """
        return snapshot_of(self)

    def _restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a snapshot, after the start of a run and with all its events in place."""
        inputs = self._inputs
        for query in [each[1] for each in self.run_.events if each[0] in OF_QUERIES]:
            inputs.attach_names(query)
        restore(self, snapshot)

    def _validate_answer(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        """Return a validated query, its answer and its noise variance, or raise an error."""
        if isinstance(reward, float) and -LARGEST_REWARD <= reward <= LARGEST_REWARD:
            value: float | None = float(reward)
        else:
            value = None if reward is None else check_reward(reward)
        noise = self._default_noise_variance if alpha is None else check_noise_variance(alpha)
        known = isinstance(query, self._query_type) and not isinstance(query, PointsQuery)
        run = self.run_
        if known:
            query = run.restated(query)
            if query in run.pending:
                if query._space is not run.space:
                    self._inputs.check_sides(query)
                return query, value, noise
        inputs = self._inputs
        query = inputs.resolve(query if known else inputs.query(query))
        return query, value, noise

    # -- views of the run -----------------------------------------------------------------------

    @property
    def _params(self) -> Any:
        """``run_.params``, the parameters in use; the optimizer itself before a run."""
        run = vars(self).get("run_")
        return self if run is None else run.params

    @property
    def _inputs(self) -> Inputs:
        """Converter of the user's queries, points and answers, for the present run."""
        run = self.run_
        return self._inputs_type(
            getattr(self, "domain_", None),
            run.space,
            self.bounds_,
            run.pending,
            partial(validate_data, self, dtype=np.float64, reset=False),
            run.names,
            getattr(self, "targets_", ()),
            self._query_type,
        )

    @property
    def _contexts(self) -> Contexts | NoContexts:
        """The box of contexts; a false object (``NoContexts``) if the search has none."""
        if not (self._needs_contexts or self._params.context_bounds is not None):
            return NoContexts(type(self))
        box = vars(self).get("bounds_", np.empty((0, 2)))
        run = vars(self).get("run_")
        return Contexts(box[: self._n_context], None if run is None else run.context_space)

    # -- fitting ----------------------------------------------------------------------------

    @reading_log
    def fit(self, X: Settings, y: Values | None = None) -> Self:
        """Start a new run, and condition it on evaluations y of f at points X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or DataFrame
            Points, in the user's units. Their bounding box is the domain if parameters have none.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X, which condition the posterior; None if there are none.
        """
        return loop.fit(self, X, y)

    @locked
    def start(self) -> Self:
        """Start a run without data, unless one has begun, for example to predict from the prior."""
        loop.begin(self)
        return self

    @reading_log
    def set_params(self, **params: object) -> Self:
        """Set parameters, also during a run, which validates them at once.

        Parameters of the acquisition function and of the learning apply to the run from now on.
        Others, such as ``kernel``, apply from the next ``fit`` on; a warning names them. ``bounds``
        of named sides and ``arms`` apply at once, or ``ask`` raises an error: :ref:`other-bounds`.
        """
        with unchanged_by_errors(self):
            self._set_params(params)
            if self._dirty is None and hasattr(self, "bounds_"):
                loop.apply_set_params(
                    self, {name.partition("__")[0] for name in params if "__" in name}
                )
        return self

    def _set_params(self, params: dict[str, Any]) -> None:
        """Set parameters without validation."""
        super().set_params(**params)

    # -- asking and telling -----------------------------------------------------------------

    @overload
    def ask(
        self,
        n: None = None,
        *,
        context: Setting | None = None,
        another: bool = False,
        fixed: Mapping[str, Any] | None = None,
        shared: Collection[str] = (),
    ) -> Q: ...

    @overload
    def ask(
        self,
        n: int,
        *,
        context: Setting | None = None,
        another: bool = False,
        fixed: Mapping[str, Any] | None = None,
        shared: Collection[str] = (),
    ) -> list[Q]: ...

    @locked
    def ask(
        self,
        n: int | None = None,
        *,
        context: Setting | None = None,
        another: bool = False,
        fixed: Mapping[str, Any] | None = None,
        shared: Collection[str] = (),
    ) -> Any:
        """Return the next query, or a list of n different ones for parallel evaluation.

        A query is pending until its answer is told. Later ones differ, see :ref:`pending-queries`.

        Parameters
        ----------
        n : int, default=None
            Number of queries, at most 10,000; None for a single one, not in a list.
        context : array-like of shape (d_c,), number or dict, default=None
            The present context, if there are ``context_bounds``; later ``query.context``.
        another : bool, default=False
            Whether to choose new queries although some are pending, for workers that call ``ask``
            one by one. Otherwise ``ask`` returns the same queries until the next ``tell``.
        fixed : dict, default=None
            Values of some sides of these queries, by name, see :ref:`other-bounds`.
        shared : collection of str, default=()
            Names of sides that have one value in all n queries, see :ref:`plates`.

        Raises
        ------
        skgpb.exceptions.AllPendingError
            A ``ValueError``: fewer than n possible queries are not pending.
        """
        count = 1 if n is None else check_count(n)
        loop.apply_set_params_and_warn(self)
        context = loop.begin(self, lambda: self._contexts.validate(context))
        fixed = keyed(fixed, getattr(fixed, "index", ()))
        if fixed is not None or shared:
            self._check_fixed(fixed or {}, shared)
        asked = loop.ask(self, count, another, context, fixed, shared)
        return asked[0] if n is None else asked

    @locked
    def tell(self, query: Told, reward: Numbers, alpha: Numbers = None) -> Self:
        """Report the reward of a query; an invalid argument raises an error and changes nothing.

        Parameters
        ----------
        query : query, array-like of shape (d,) or (S, d), dict, list of them, or DataFrame
            The query, a dict of settings, or points whose average value is the reward. For n
            rewards n of these: a list, the rows of an array, or a table with a column for each
            side. A search over a set learns once from a hundred or more, :ref:`many-past-results`.
        reward : float or None, or array-like of shape (n,)
            The noisy answer. None, or NaN in a column of a table, means that the evaluation
            failed: the query is not asked again for a while.
        alpha : float, or array-like of shape (n,), default=None
            Noise variance of this answer; None for the parameter ``alpha``.

        Warns
        -----
        LearningWarning
            If the hyperparameters could not be refitted. The answer counts all the same.
        """
        return loop.tell(self, query, reward, alpha)

    @locked
    def withdraw(self, query: Any) -> Self:
        """Take back pending queries, which count neither as answers nor as failures.

        Parameters
        ----------
        query : query, dict, or list of queries
            Pending queries, which are not asked again for a while.
        """
        return loop.withdraw(self, query)

    # -- runs ---------------------------------------------------------------------------------

    def run(
        self,
        objective: Callable[[Q], Numbers],
        budget: int | None = None,
        *,
        contexts: Settings | None = None,
        max_cost: float | None = None,
        callback: Callable[[Any], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        executor: Executor | None = None,
        on_error: Literal["record", "raise"] = "record",
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        verbose: int = 0,
        stop: StopRule | Callable[[Any], Any] | None = None,
        timeout: float | None = None,
    ) -> RunResult[Q]:
        """Ask, evaluate and tell ``budget`` times, continuing from the present state.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy reward, or None if the evaluation failed. See
            :class:`~skgpb.of_x` for functions of x.
        budget : int, default=None
            Number of evaluations, failed ones included; None if ``max_cost`` or ``contexts`` limit
            the run.
        contexts : array-like of shape (n, d_c), DataFrame or list of dicts, default=None
            With ``context_bounds``, the contexts in the order in which they arrive.
        max_cost : float, default=None
            Maximum total cost of the answers, which the last answer may exceed.
        callback : callable, default=None
            Called with the optimizer after every evaluation; returning True ends the run.
        progress : bool, default=False
            Whether to show a progress bar (``pip install skgpb[progress]``).
        n_jobs : int, default=None
            Number of parallel evaluations, by joblib in batches or by ``executor``; -1 for all
            processors or workers.
        executor : concurrent.futures.Executor, default=None
            Evaluates a new query whenever a worker is free, see :ref:`many-machines`.
        on_error : {"record", "raise"}, default="record"
            Whether an exception of the objective is recorded as a failure of the query, or ends the
            run. The first 10 evaluations must not all fail (RuntimeError).
        checkpoint : path, default=None
            File to :meth:`save` the run to after each evaluation.
        resume : bool, default=False
            Whether to continue the run in ``checkpoint``, if that file exists. ``budget``,
            ``max_cost`` and ``contexts`` then count from the first query of that run.
        verbose : int, default=0
            1 prints ten lines, 2 a line for every answer. The logger ``skgpb`` gets all lines.
        stop : StopRule or callable, default=None
            A rule such as :class:`~skgpb.Stop`, or a function of the optimizer. The function
            returns True, or the reason as a text, to end the run.
        timeout : float, default=None
            Seconds after which the run ends with the next answer.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            ``x`` (the recommended query), ``fun`` (its mean), ``nfev``, ``nfail``, ``history``,
            ``success``, ``message``, ``model`` (texts about the noise and the model of f), ``gap``
            (:meth:`gap`) and ``cost``. ``x`` is None and ``fun`` NaN without observations.
        """
        # The run must have begun before ``limit`` computes the evaluations that max_cost allows.
        check_run(objective, callback, on_error, verbose, timeout)
        workers = make_workers(executor, n_jobs, objective, on_error)
        rule = stop_rule(stop)
        rule.check(self)
        if not isinstance(resume, bool):
            raise TypeError(f"resume must be a bool, got {resume!r}")
        if resume and checkpoint is None:
            raise ValueError("resume=True continues the run in checkpoint, got checkpoint=None")
        play = EvaluationLoop(self, workers, callback, checkpoint, rule, timeout)
        play.limit(budget, contexts, max_cost)
        if checkpoint is not None:
            with self._lock:
                loop.begin(self)
                resume_checkpoint(self, BaseBanditOptimizer, checkpoint, resume)
        if resume:
            play.resume()
        play.show(progress, verbose)
        return play.result()

    @locked
    def recommend(self, method: RecommendMethod | None = None, *, context: Any = None) -> Any:
        """Return the best query found so far.

        Parameters
        ----------
        method : {"posterior", "paper"}, default=None
            Method of the recommendation; None for the default. Here all are the same.
        context : None
            There are no contexts here.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Without observations: answers, or evaluations given to ``fit``.
        """
        checked_method(method, self._methods)
        loop.check_has_data(self)
        self._contexts.validate(context)
        return self._best()

    @locked
    def score(self, X: Settings, y: Values, sample_weight: Values | None = None) -> float:
        """Return R^2 of the predictions of f at points, as for every regressor.

        It does not measure the choice of queries; :func:`~skgpb.model_selection.bandit_scorer`
        does.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Points, and values of f there.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points.
        """
        score = super().score(X, y, sample_weight)
        warn_of_tie(self, score, (X, y, sample_weight))
        return score

    # -- files and events ---------------------------------------------------------------------

    @locked
    def save(
        self,
        path: File,
        *,
        omit: Collection[str] = (),
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the run to a file from which :meth:`load` continues it identically.

        Parameters
        ----------
        path : path or binary file
            Path of the file, which is complete even after a crash; or a file that is open for
            writing bytes, such as :class:`io.BytesIO`.
        omit : collection of str, default=()
            Parameters to leave out, such as functions. They must be passed to :meth:`load`.
        notes : dict, default=None
            Further entries of JSON types, for :func:`skgpb.utils.persistence.read_notes`.

        Raises
        ------
        TypeError, ValueError
            For parameters that cannot be stored, such as functions, or that are too large, see
            :mod:`skgpb.utils.persistence`.
        """
        loop.begin(self)
        loop.apply_set_params(self)
        write_run(self, path, omit, notes)

    @classmethod
    def load(cls, path: File, **parameters: object) -> Self:
        """Read a saved run, which continues where it stopped. Nothing in the file is executed.

        Parameters
        ----------
        path : path or binary file
            A file of :meth:`save`, by an optimizer of this class or of a subclass.
        **parameters
            Parameters that were omitted from the file.

        Raises
        ------
        skgpb.exceptions.LoadError
            A ``ValueError``: the file is no saved run of this class, or lacks parameters.

        Warns
        -----
        ReplayWarning
            If this version of the library would have chosen other queries. All answers are kept.
        """
        return read_run(cls, BaseBanditOptimizer, path, parameters)

    @property
    @reading_log
    def _events(self) -> list[Event]:
        """All events since the start, in order.

        * ``("fit", X, y)``: a call of ``fit``, with further arrays if the class has them.
        * ``("together",)``, ``("apart",)``: before and after answers that were told together.
        * ``("ask", query)``: a new query. A third entry is a dict of fixed sides, if there are any;
          it is empty for the first query of several that share sides.
        * ``("tell", query, reward, alpha)``: an answer; alpha is NaN if the noise is learned. A
          fifth entry is the name of the block, if the answer has one.
        * ``("rows", query, count)``: the number of rows in the query, before its answer. Without
          rows there is no answer.
        * ``("outcomes", query, outcomes)``: outcomes of the last answer to the query. A
          fourth entry is True if they were told later than the answer.
        * ``("fail", query, reason)``: a failed evaluation.
        * ``("withdraw", query)``: a query that was taken back.
        * ``("learned", hyperparameters)``: a refit.
        * ``("unlearned", n_answers)``: a refit that failed after so many answers.
        * ``("set", parameters)``: parameters set during the run.
        """
        check_is_fitted(self, "bounds_")
        return list(self.run_.first_events(self._dirty).events)

    @locked
    def _repeat_events(self, events: Sequence[Event]) -> Self:
        """Return an optimizer to which these events have happened; this one does not change.

        This is how an earlier answer is corrected or removed. Leave out all "learned" events after
        the first change: the hyperparameters are refitted then.
        """
        return loop.repeat_events(self, events)

    def _rebuild(self) -> Self:
        return rebuild_in_place(self)

    def _unwritten(self) -> list[Any]:
        own = [] if self._params is self else list(vars(self._params).values())
        return super()._unwritten() + own

    # -- suboptimality gap --------------------------------------------------------------------

    @property
    def _can_bound_gap(self) -> bool:
        """True if :meth:`gap` can compare the recommendation with its alternatives."""
        return self._compares and not self._contexts

    def _gap_averages(self) -> str:
        """Averages that :meth:`gap` compares, as text; empty if it compares the targets."""
        return ""

    @locked
    def gap(self, delta: float | None = None, *, bound: str = "draws") -> float:
        """Return an upper bound on the loss of the recommendation, in units of the reward.

        The loss is the best value, or average (:ref:`stopping`), minus that of the recommendation.

        Parameters
        ----------
        delta : float, default=None
            Probability, in (0, 1), that the loss exceeds the bound; None for 0.05.
        bound : {"draws", "interval"}, default="draws"
            "draws" draws jointly from the posterior, see :ref:`stopping`. "interval" uses
            :meth:`interval`, whose ``guarantee.failure_probability`` must be at most delta.

        Returns
        -------
        gap : float
            At least 0; NaN with contexts, for searches without a posterior, and while the answers
            show nothing of f to a learned kernel. Infinite while the recommendation keeps its
            limits with a probability below 95 %, or never measured one of the outcomes.
        """
        if bound not in ("draws", "interval"):
            raise ValueError(f"bound must be 'draws' or 'interval', got {bound!r}")
        by_interval = bound == "interval"
        if delta is not None:
            delta = check_share(delta, "delta")
            if by_interval and self._can_bound_gap:
                check_failures(self._params.guarantee, delta, f"delta={delta:g}")
        check_is_fitted(self, "bounds_")
        loop.check_has_data(self)
        best = self.recommend() if self._can_bound_gap else None
        return gap_later(self, best, delta, by_interval)()

    @property
    @locked
    def pending_(self) -> list[Q]:
        """Queries of ``ask`` without an answer or a failure so far, in order."""
        check_is_fitted(self, "bounds_")
        return self.run_.evaluating

    @property
    @reading_log
    def failed_(self) -> np.ndarray:
        """Every failed evaluation since the start, a structured array.

        The fields are ``round``, the number of answers before the failure; ``descriptor``, the box
        [lower, upper] around the query; and ``reason``, such as the message of an exception.
        """
        check_is_fitted(self, "bounds_")
        failures = self.run_.first_events(self._dirty).failures
        return failure_table(failures, self.n_features_in_)

    @property
    @reading_log
    def history_(self) -> np.ndarray:
        """Every answer since the start, a structured array.

        The fields are ``round`` (from 1); ``descriptor`` (2 d,), the box [lower, upper] around the
        query; ``reward``; ``mean`` and ``std``, the prediction before the answer; and
        ``expanded``, whether its cell was split. If rewards are scaled, there is no prediction for
        the first answer: its ``mean`` is the reward itself.
        """
        check_is_fitted(self, "bounds_")
        run = self.run_
        rows, expanded = run.first_events(self._dirty).history, ("expanded", np.bool_)
        return history_table(rows, self.n_features_in_, run.sign.convert, expanded)


def checked_scores(values: Any, whose: str, n: int, of: str = "queries") -> np.ndarray:
    """Return the scores (n,) that a function of the user returned, or raise ValueError."""
    values = np.asarray(values)
    got = ""
    if values.shape != (n,):
        got = f"shape {values.shape}" if values.ndim else repr(values.item())
    elif values.dtype.kind not in "fiub":
        got = f"an array of {values.dtype}"
    elif has_nan(values):
        wrong = np.flatnonzero(np.isnan(values))
        got = f"{len(wrong)} NaN, the first at place {wrong[0]}"
    if got:
        raise ValueError(
            f"{whose} must return a number for each of {n} {of}, none of them NaN; got {got}"
        )
    return values.astype(np.float64, copy=False)

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
from skgpb.domains.query import PointsQuery, Query
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._evaluations import EvaluationLoop, check_run, workers_of
from skgpb.optimizers._files import read_run, restore, snapshot_of, take_up, write_run
from skgpb.optimizers._inputs import Contexts, Inputs, NoContexts, Numbers, coordinates
from skgpb.optimizers._loop import Replay, rebuilt_in_place
from skgpb.optimizers._run import (
    AT_START,
    OF_QUERIES,
    Event,
    Run,
    RunResult,
    checked_method,
    failure_table,
    history_table,
)
from skgpb.optimizers._stopping import Comparison, Stop, check_failures, check_share
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
    unchanged_by_errors,
    validate_data,
)
from skgpb.utils.warnings import warn

# -- Ties in a grid search whose scores do not depend on the parameters of a search ----------------

# Memory: number of data sets whose last score is remembered: one for each split of a
# cross-validation.
REMEMBERED = 64

_last: OrderedDict[str, tuple[float, dict[str, str]]] = OrderedDict()


def warn_of_tie(optimizer: BaseEstimator, score: float, data: Any) -> None:
    """Warn if an optimizer has the score on these data that one with other parameters had."""
    parameters = optimizer.get_params(deep=False)
    # Seeds are not compared: random states have no value that could be.
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
            "(R^2), which do not depend on how a search asks. To compare such parameters by what "
            "is found, as in GridSearchCV, pass scoring=skgpb.model_selection.bandit_scorer(...)",
            UserWarning,
        )


# -- The base class --------------------------------------------------------------------------------

# The kind of query that an optimizer asks.
Q = TypeVar("Q", bound=Query)


class BaseBanditOptimizer(
    Guarded,
    DocumentedMixin,
    RegressorMixin,
    BaseEstimator,
    ABC,
    Generic[Q],
):
    """A search as users see it: fit, ask, tell, run, files, pending and failed queries.

    A search is five methods, those of :class:`~skgpb.optimizers.Strategy`: ``_begin``,
    ``_propose``, ``_observe``, ``_learn`` and ``_best``. None of them has to validate anything, and
    they always maximise. The domain object that ``_begin`` makes, ``domain_``, knows all queries
    and what they observe. What is the same for all searches is the work of
    :mod:`skgpb.optimizers._loop`, which knows a search by these methods, by those that do
    something by default, and by data. Public methods hold the lock of the optimizer
    (:mod:`skgpb.utils.locks`), except for ``run``, which evaluates in between.
    """

    _query_type: ClassVar[type[Query]]

    #: The earlier run that this one is rebuilt from, None in a usual run.
    _replay: Replay | None = None

    #: Parameters that may be tables whose columns are the features, where sides have no names.
    _tables: ClassVar[tuple[str, ...]] = ("arms", "pool", "queries", "targets")

    #: How queries are given.
    _inputs_type: ClassVar[type[Inputs]] = Inputs
    #: Whether points of f are recommended, which are no queries.
    _recommends_points: ClassVar[bool] = False
    #: Dimensions of the reward of one query.
    _reward_ndim: ClassVar[int] = 0

    #: Whether large or small rewards are sought.
    direction: Direction = "maximize"

    random_state: Seed

    bounds: Any
    #: Of an optimizer that has no contexts.
    context_bounds: Any = None

    #: Sides that the algorithm can search: "continuous" ones, or "any" (integers, categories).
    _sides: ClassVar[str] = "continuous"
    #: Whether what it asks and recommends are settings that can be set and are possible.
    _keeps_settings: ClassVar[bool] = False

    #: What happened in the run, what is pending, the parameters in use, names and signs.
    _run: Run

    bounds_: np.ndarray
    n_features_in_: int

    #: All queries, and what they observe.
    domain_: Any

    #: Number of sides of contexts.
    _n_context: int = 0
    #: Whether there are always contexts, whatever the parameters are.
    _needs_contexts: ClassVar[bool] = False

    #: Methods of :meth:`recommend`, the best one known first.
    _methods: ClassVar[tuple[RecommendMethod, ...]] = ("posterior", "paper")
    #: Whether recommendations can be compared with their alternatives, if there are no contexts.
    _compares: bool = False

    #: Whether queries have prices, so that a run may be limited by what it costs.
    _has_costs: ClassVar[bool] = False
    _cost_model: Any

    #: The model of f, of an optimizer that has one.
    _model: Model | None = None

    #: Noise variance of an answer told without its own, NaN for one that is learned.
    _default_noise_variance: float = nan

    _parameter_constraints: dict[str, Any] = {
        "direction": [StrOptions({"maximize", "minimize"})],
        "bounds": "no_validation",
        "context_bounds": "no_validation",
    }

    #: Fields that files keep, beside those that other classes declare.
    _kept_fields: ClassVar[tuple[str, ...]] = ("_run",)
    # Answers have variances and no weights: a meta-estimator has none to route.
    __metadata_request__score = {"sample_weight": UNUSED}

    #: Parameters that a run looks at when it starts, and not again.
    _at_start: ClassVar[frozenset[str]] = AT_START
    #: Parameters that do so as long as other sets than those of the run are set.
    _of_sets: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Merge the parameter constraints of a class with the inherited ones."""
        super().__init_subclass__(**kwargs)
        constraints: dict[str, Any] = {}
        for each in reversed(cls.__mro__):
            constraints |= vars(each).get("_parameter_constraints", {})
        cls._parameter_constraints = constraints

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, which scikit-learn reads from the signature anew."""
        return super()._get_param_names()

    # -- the search: five methods, and what further ones do by default --------------------------

    @abstractmethod
    def _begin(self) -> None:
        """Set up the state before any observation, for the domain in ``bounds_``."""

    @abstractmethod
    def _propose(self, context: np.ndarray | None) -> Any:
        """Return the next query, in a context if there are contexts; none that is pending."""

    @abstractmethod
    def _observe(self, query: Any, reward: Any, alpha: Any) -> None:
        """Take one validated reward, and close the round."""

    def _learn(self) -> None:
        """Learn from the answers, if that is due; called after each of them."""

    @abstractmethod
    def _best(self, context: np.ndarray | None = None) -> Any:
        """Return the recommended query, in a context if there are contexts."""

    @abstractmethod
    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        """Take point evaluations given to ``fit``."""

    def _domain(self, X: np.ndarray | None) -> np.ndarray | None:
        """Return the box (d, 2) of the points from the parameters, None where they give none.

        ``X`` are points that were given to ``fit``, whose bounding box is taken then.
        """
        return coordinates(self._params.bounds, self._run.space, "bounds")

    def _begin_checks(self) -> None:
        """Check parameters that depend on the domain, before anything is made of them."""

    def _params_changed(self) -> None:
        """Renew what was made of parameters that may be set in the run; replace, do not change."""

    def _check_measured(self, outcomes: Mapping[str, Any], n_answers: int = 1) -> None:
        """Warn of the first answers that lack an outcome with a limit; called after each."""

    def _beyond_limits(self) -> np.ndarray:
        """Return which answers came with an outcome beyond its limit, shape (n_answers,)."""
        return np.zeros(self._run.n_told, dtype=bool)

    def _limits_at(self, best: Any) -> list[dict[str, Any]]:
        """Return what is known of each limit at a query."""
        return []

    def _dissent(self, best: Any) -> dict[str, str]:
        """Say, by a name, where predictions are for another query than the recommended one."""
        return {}

    def _compared(self, best: Any) -> Comparison | None:
        """Compare the recommendation with the alternatives; None if that is not possible.

        The comparison does not change when further answers are told.
        """
        return None

    @property
    def _knows_all(self) -> bool:
        """True if no further answer could say anything new of what is to be found."""
        return False

    def _snapshot(self) -> Any:
        """Return the state that follows from the log, but not at little cost; None for none."""
        return snapshot_of(self)

    def _restore(self, snapshot: dict[str, Any]) -> None:
        """Take the state over from a snapshot, right after the start; the log is there already."""
        inputs = self._inputs
        for query in [each[1] for each in self._run.events if each[0] in OF_QUERIES]:
            inputs.named(query)
        restore(self, snapshot)

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        """Return a query, its answer and the noise variance as the run takes them, or raise."""
        if isinstance(reward, float) and -LARGEST_REWARD <= reward <= LARGEST_REWARD:
            value: float | None = float(reward)
        else:
            value = None if reward is None else check_reward(reward)
        noise = self._default_noise_variance if alpha is None else check_noise_variance(alpha)
        known = isinstance(query, self._query_type) and not isinstance(query, PointsQuery)
        inputs = self._inputs
        if known and query in self._run.pending:
            inputs.check_sides(query)
        else:
            query = inputs.resolved(query if known else inputs.query(query))
        return query, value, noise

    # -- what a search reads of its run -------------------------------------------------------

    @property
    def _params(self) -> Any:
        """Parameters as the run has them; before a run those that are set."""
        run = vars(self).get("_run")
        return self if run is None else run.params

    @property
    def _inputs(self) -> Inputs:
        """What users give, as this run takes it at this moment."""
        run = self._run
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
        """The box of contexts that queries are chosen in."""
        if not (self._needs_contexts or self._params.context_bounds is not None):
            return NoContexts(type(self).__name__, self._get_param_names())
        box = vars(self).get("bounds_", np.empty((0, 2)))
        run = vars(self).get("_run")
        return Contexts(box[: self._n_context], None if run is None else run.context_space)

    # -- fitting ----------------------------------------------------------------------------

    @reading_log
    def fit(self, X: Settings, y: Values | None = None) -> Self:
        """Start afresh, learning from X and y what can be learned before the first query.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or DataFrame
            Points, in the user's units. They give the bounds where the parameters give no domain.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X, which the posterior is conditioned on. None for none.
        """
        return loop.fit(self, X, y)

    @locked
    def start(self) -> Self:
        """Begin without data, unless it has begun, to look at the prior before the first query."""
        loop.begin(self)
        return self

    @reading_log
    def set_params(self, **params: object) -> Self:
        """Set parameters, also during a run, which checks them at once.

        The run goes on with those that say how queries are chosen and what is learned. What it
        began with, such as the domain and ``kernel``, stays as it was until the next ``fit``; a
        warning says so.
        """
        with unchanged_by_errors(self):
            self._set_params(params)
            if self._dirty is None and hasattr(self, "bounds_"):
                loop.notice(self, {name.partition("__")[0] for name in params if "__" in name})
        return self

    def _set_params(self, params: dict[str, Any]) -> None:
        """Set parameters without looking at them."""
        super().set_params(**params)

    # -- asking and telling -----------------------------------------------------------------

    @overload
    def ask(
        self, n: None = None, *, context: Setting | None = None, another: bool = False
    ) -> Q: ...

    @overload
    def ask(self, n: int, *, context: Setting | None = None, another: bool = False) -> list[Q]: ...

    @locked
    def ask(
        self, n: int | None = None, *, context: Setting | None = None, another: bool = False
    ) -> Any:
        """Return the next query, or a list of n different ones for parallel evaluation.

        Until they are told queries are pending: later ones differ from them and count on their
        answers.

        Parameters
        ----------
        n : int, default=None
            Number of queries, at most 10,000; None for a single one, not in a list.
        context : array-like of shape (d_c,), number or dict, default=None
            The present context, where there are ``context_bounds``; later ``query.context``.
        another : bool, default=False
            Whether to choose others than those that are pending, for workers that take one each.
            Otherwise asking again before a ``tell`` returns the same queries.

        Raises
        ------
        skgpb.exceptions.AllPendingError
            A ``ValueError``: there are not as many that are not pending.
        """
        count = 1 if n is None else check_count(n)
        loop.notice_and_say(self)
        context = loop.begin(self, lambda: self._contexts.checked(context))
        asked = loop.ask(self, count, another, context)
        return asked[0] if n is None else asked

    @locked
    def tell(self, query: Told, reward: Numbers, alpha: Numbers = None) -> Self:
        """Report the reward of a query; nothing changes if anything is wrong with it.

        Parameters
        ----------
        query : query, array-like of shape (d,) or (S, d), dict, list of them, or DataFrame
            The query, a dict of settings, or points of which the reward is the average. For n
            rewards n of these: a list, the rows of an array, or a table with a column for each
            side.
        reward : float or None, or array-like of shape (n,)
            The noisy answer. None, or NaN in a column of a table, says that the evaluation failed:
            the query is left out for a while.
        alpha : float, or array-like of shape (n,), default=None
            Noise variance of this answer; None for the parameter ``alpha``.

        Warns
        -----
        LearningWarning
            If hyperparameters could not be learned from the answer, which is taken all the same.
        """
        return loop.tell(self, query, reward, alpha)

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
        stop: Stop | Callable[[Any], Any] | None = None,
        timeout: float | None = None,
    ) -> RunResult[Q]:
        """Ask, evaluate and tell ``budget`` times, continuing from the present state.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy reward, None where the evaluation failed. See
            :class:`~skgpb.of_x` for functions of x.
        budget : int, default=None
            Number of evaluations, failed ones included; None where ``max_cost`` or ``contexts`` say
            it.
        contexts : array-like of shape (n, d_c), DataFrame or list of dicts, default=None
            With ``context_bounds``, the contexts in the order in which they arrive.
        max_cost : float, default=None
            Maximum cost of all answers, which the last one may exceed.
        callback : callable, default=None
            Called with the optimizer after every evaluation; returning True ends the run.
        progress : bool, default=False
            Whether to show a progress bar (``pip install skgpb[progress]``).
        n_jobs : int, default=None
            Evaluations side by side, by joblib in batches, or by ``executor``; -1 for all it has.
        executor : concurrent.futures.Executor, default=None
            What evaluates them, whenever a worker is free, see :ref:`many-machines`.
        on_error : {"record", "raise"}, default="record"
            What an exception of the objective does: the query has failed, or the run ends. The
            first 10 evaluations must not all fail (RuntimeError).
        checkpoint : path, default=None
            File to :meth:`save` the run to after each evaluation.
        resume : bool, default=False
            Whether to continue the run in ``checkpoint``, if there is one. All numbers then count
            from the first query on.
        verbose : int, default=0
            1 prints ten lines, 2 a line for every answer. The logger ``skgpb`` gets them all.
        stop : Stop or callable, default=None
            A :class:`~skgpb.Stop`, or a function of the optimizer that returns True, or a text that
            says why, to end the run.
        timeout : float, default=None
            Seconds after which the run ends with the next answer.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            ``x`` (the recommended query), ``fun`` (its mean), ``nfev``, ``nfail``, ``history``,
            ``success``, ``message``, ``model`` (what is known of the noise and of f, in words),
            ``gap`` (:meth:`gap`) and ``cost``. Where nothing is known ``x`` is None and ``fun``
            NaN.
        """
        # The run must have begun before the number of evaluations that a cost allows is known.
        check_run(objective, callback, on_error, verbose, timeout)
        workers = workers_of(executor, n_jobs, objective, on_error)
        loop.check_stop(self, stop)
        if not isinstance(resume, bool):
            raise TypeError(f"resume must be a bool, got {resume!r}")
        if resume and checkpoint is None:
            raise ValueError("resume=True continues the run in checkpoint, got checkpoint=None")
        play = EvaluationLoop(self, workers, callback, checkpoint, stop, timeout)
        play.limit(budget, contexts, max_cost)
        if checkpoint is not None:
            with self._lock:
                loop.begin(self)
                take_up(self, BaseBanditOptimizer, checkpoint, resume)
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
            How it is chosen; None for the best one known. Here all are the same.
        context : None
            There are no contexts here.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before anything is known: an answer that was told, or evaluations given to ``fit``.
        """
        checked_method(method, self._methods)
        loop.check_informed(self)
        self._contexts.checked(context)
        return self._best()

    @locked
    def score(self, X: Settings, y: Values, sample_weight: Values | None = None) -> float:
        """Return R^2 of the predictions of f at points, as every regressor.

        It does not say how well a search asks: :func:`~skgpb.model_selection.bandit_scorer` does.

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
            Path of the file, which is whole after a crash as well; or a file that is open for
            writing bytes, such as :class:`io.BytesIO`.
        omit : collection of str, default=()
            Parameters left out, such as functions, which :meth:`load` is then to be given.
        notes : dict, default=None
            Further entries, as JSON has them, for :func:`skgpb.utils.persistence.read_notes`.

        Raises
        ------
        TypeError, ValueError
            For parameters that are no data, such as functions, and for too large ones, see
            :mod:`skgpb.utils.persistence`.
        """
        loop.begin(self)
        loop.notice(self)
        write_run(self, path, omit, notes)

    @classmethod
    def load(cls, path: File, **parameters: object) -> Self:
        """Read a saved run, to go on as if it had never stopped. Nothing in the file is executed.

        Parameters
        ----------
        path : path or binary file
            A file of :meth:`save`, by an optimizer of this class or of one derived from it.
        **parameters
            Parameters that were omitted from the file.

        Raises
        ------
        skgpb.exceptions.LoadError
            A ``ValueError``: the file is no saved run of this class, or lacks parameters.

        Warns
        -----
        ReplayWarning
            If this version of the library would ask other queries. What was told is exact.
        """
        return read_run(cls, BaseBanditOptimizer, path, parameters)

    @property
    @reading_log
    def _events(self) -> list[Event]:
        """Everything that happened since the start, in its order.

        ``("fit", X, y)``, ``("ask", query)``, ``("tell", query, reward, alpha)``, alpha being NaN
        if it was to be learned, and with the name of its block if it has one,
        ``("fail", query, reason)``, ``("learned", hyperparameters)``,
        ``("unlearned", n_answers)`` and ``("set", parameters)``; before an answer told with its
        ``count``, and in the place of one about no row, ``("rows", query, count)``; after an answer
        with what else was measured, ``("outcomes", query, outcomes)``.
        """
        check_is_fitted(self, "bounds_")
        return list(self._run.until(self._dirty).events)

    @locked
    def _repeated(self, events: Sequence[Event]) -> Self:
        """Return the run that this one would be, had these events happened; it does not change.

        So an answer is corrected or taken back after others have followed it. If an event of
        learning is left out, as it has to be after the first change, hyperparameters are learned
        anew at that time.
        """
        return loop.repeated(self, events)

    def _rebuilt(self) -> Self:
        return rebuilt_in_place(self)

    def _unwritten(self) -> list[Any]:
        own = [] if self._params is self else list(vars(self._params).values())
        return super()._unwritten() + own

    # -- how far it is from the best ----------------------------------------------------------

    @property
    def _has_rivals(self) -> bool:
        """True if the recommendation can be compared with its alternatives."""
        return self._compares and not self._contexts

    @locked
    def gap(self, delta: float | None = None, *, bound: str = "draws") -> float:
        """Return how much better than the recommendation the best may be, in units of the reward.

        Parameters
        ----------
        delta : float, default=None
            Probability, in (0, 1), that it is better by more; None for 0.05.
        bound : {"draws", "interval"}, default="draws"
            Joint draws of the posterior, see :ref:`stopping`; or :meth:`interval`, with
            ``guarantee.failure_probability`` at most delta.

        Returns
        -------
        gap : float
            At least 0; NaN in contexts and for searches without a posterior.
        """
        if bound not in ("draws", "interval"):
            raise ValueError(f"bound must be 'draws' or 'interval', got {bound!r}")
        by_interval = bound == "interval"
        if delta is not None:
            delta = check_share(delta, "delta")
            if by_interval and self._has_rivals:
                check_failures(self._params.guarantee, delta, f"delta={delta:g}")
        check_is_fitted(self, "bounds_")
        loop.check_informed(self)
        best = self.recommend() if self._has_rivals else None
        return loop.gap_later(self, best, delta, by_interval)()

    @property
    @locked
    def pending_(self) -> list[Q]:
        """Queries that were asked and neither answered nor given up, in order."""
        check_is_fitted(self, "bounds_")
        return self._run.awaited

    @property
    @reading_log
    def failed_(self) -> np.ndarray:
        """Every failed evaluation since the start, a structured array.

        Fields: ``round``, the number of answers told before it, ``descriptor``, the box
        [lower, upper] around what was to be observed, and ``reason``, the message of the
        exception where there was one.
        """
        check_is_fitted(self, "bounds_")
        failures = self._run.until(self._dirty).failures
        return failure_table(failures, self.n_features_in_)

    @property
    @reading_log
    def history_(self) -> np.ndarray:
        """Every observation told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 d,), the box [lower, upper] around what
        was observed, ``reward``, ``mean`` and ``std`` of the query before the observation, and
        ``expanded``, whether its cell was split. Where rewards are scaled nothing is known before
        the first: its ``mean`` is the reward itself.
        """
        check_is_fitted(self, "bounds_")
        run = self._run
        rows, expanded = run.until(self._dirty).history, ("expanded", np.bool_)
        return history_table(rows, self.n_features_in_, run.sign.of, expanded)


def checked_scores(values: Any, whose: str, n: int, of: str = "queries") -> np.ndarray:
    """Return the scores that a rule of the user's own gives, one for each, or raise ValueError."""
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

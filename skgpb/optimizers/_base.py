"""Base of all optimizers: fit, ask, tell, recommend; pending and failed queries."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import cache, partial
from math import nan
from types import SimpleNamespace
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, overload

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skgpb import defaults
from skgpb._core._ties import has_nan
from skgpb._documentation import DocumentedMixin
from skgpb._typing import BaseEstimator, Direction, RecommendMethod, RegressorMixin, Seed
from skgpb._warnings import Message, holds_warnings, warn
from skgpb.domains.query import PointsQuery, Query
from skgpb.domains.space import ParameterSpace, in_coordinates
from skgpb.exceptions import AllPendingError, ParameterWarning, PendingWarning
from skgpb.feedback import RowAverage
from skgpb.locks import Guarded, locked, reading_log
from skgpb.optimizers._contexts import Contexts, NoContexts
from skgpb.optimizers._files import read_run, take_up, write_run
from skgpb.optimizers._gap import Comparison, check_failures, is_by_intervals, stream_of_gap
from skgpb.optimizers._inputs import Inputs, Numbers, points_of
from skgpb.optimizers._limits import Measured
from skgpb.optimizers._parameters import (
    AT_START,
    are_equal,
    check_parameters,
    checked_method,
    own_copy,
)
from skgpb.optimizers._record import OF_QUERIES, Event, Record, failure_table, history_table
from skgpb.optimizers._replay import Replay, rebuilt, rebuilt_in_place
from skgpb.optimizers._result import RunResult
from skgpb.optimizers._run import EvaluationLoop, check_run
from skgpb.optimizers._sides import Sign, checked_space, coordinates, joint_space
from skgpb.optimizers._snapshots import restore, snapshot_of
from skgpb.optimizers._stop import Stop, check_share
from skgpb.optimizers._ties_of_scores import warn_of_tie
from skgpb.optimizers._workers import workers_of
from skgpb.surrogate.model import Model
from skgpb.utils import (
    LARGEST_REWARD,
    StrOptions,
    box_around,
    check_count,
    check_inside,
    check_noise_variance,
    check_resolution,
    check_reward,
    check_rows,
    check_squares,
    unchanged_by_errors,
    validate_data,
)

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
    """The loop: fit, ask, tell, run, files, pending and failed queries, for any search.

    A search is five methods, those of :class:`~skgpb.optimizers.Strategy`: ``_begin``,
    ``_propose``, ``_observe``, ``_learn`` and ``_best``. None of them has to validate anything, and
    they always maximise. The domain object that ``_begin`` makes, ``domain_``, knows all queries
    and what they observe. Public methods hold the lock of the optimizer (:mod:`skgpb.locks`),
    except for ``run``, which evaluates in between.
    """

    _query_type: ClassVar[type[Query]]

    #: The earlier run that this one is rebuilt from, None in a usual run.
    _replay: Replay | None = None

    # Seed of everything random in a run, or of each of its parts; None where nothing is random.
    _seed: Any = None

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

    # Names of all sides, of those of contexts, and of those of actions.
    _space: ParameterSpace | None
    _context_space: ParameterSpace | None = None
    _actions: ParameterSpace | None

    #: All queries, and what they observe.
    domain_: Any

    #: Number of sides of contexts.
    _n_context: int = 0
    #: Whether there are always contexts, whatever the parameters are.
    _needs_contexts: ClassVar[bool] = False

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
    _kept_fields: ClassVar[tuple[str, ...]] = ("_record", "_filled")
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
        return coordinates(self._params.bounds, self._space, "bounds")

    def _begin_checks(self) -> None:
        """Check parameters that depend on the domain, before anything is made of them."""

    def _params_changed(self) -> None:
        """Renew what was made of parameters that may be set in the run; replace, do not change."""

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
        for query in [each[1] for each in self._record.events if each[0] in OF_QUERIES]:
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
        if known and query in self._record.pending:
            inputs.check_sides(query)
        else:
            query = inputs.resolved(query if known else inputs.query(query))
        return query, value, noise

    # -- fitting ----------------------------------------------------------------------------

    @reading_log
    def fit(self, X: Any, y: Any = None) -> Self:
        """Start afresh, learning from X and y what can be learned before the first query.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or DataFrame
            Points, in the user's units. They give the bounds where the parameters give no domain.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X, which the posterior is conditioned on. None for none.
        """
        with unchanged_by_errors(self):
            self._prepare()
            check_rows(X, y)
            X = points_of(X, self._space)
            if y is None:
                X = validate_data(self, X, dtype=np.float64)
            else:
                several = self._reward_ndim > 0
                X, y = validate_data(
                    self, X, y, dtype=np.float64, y_numeric=True, multi_output=several
                )
                check_squares(y, "y")
            X, y = own_copy(X), own_copy(y)
            self._start(X)
            X = check_inside(X, self.bounds_)
            self._record.events.append(("fit", X, y))
            if y is not None:
                self._observe_initial(X, self._sign.of(np.asarray(y, dtype=np.float64)))
        return self

    @property
    def _params(self) -> Any:
        """Parameters as the run has them; before a run those that are set."""
        return vars(self).get("_given", self)

    def _prepare(self) -> None:
        """Check parameters before a start, and what names the sides have."""
        check_parameters(self)
        self._seen: dict[str, Any] = self.get_params(deep=False)
        defaults = {name: getattr(self, name, None) for name in self._parameter_constraints}
        given = {name: own_copy(value) for name, value in (defaults | self._seen).items()}
        self._given = own = SimpleNamespace(**given)
        space_of = partial(checked_space, optimizer=type(self).__name__, sides=self._sides)
        self._actions = space_of(own.bounds, "bounds", keeps_settings=self._keeps_settings)
        self._context_space = space_of(own.context_bounds, "context_bounds")
        self._query_space = space_of(vars(own).get("query_bounds"), "query_bounds")
        self._space = joint_space(
            self._context_space, self._actions, own.context_bounds, own.bounds
        )

    def _start(self, X: np.ndarray | None) -> None:
        """Forget everything and begin on the domain given, or on the bounding box of X."""
        bounds = self._domain(X)
        if bounds is None:
            if X is None:
                ways = [f"{x}=" for x in ("bounds", "arms", "pool", "queries") if hasattr(self, x)]
                raise NotFittedError(
                    f"This {type(self).__name__} instance has no domain yet: pass "
                    f"{' or '.join(ways)} to the constructor, or fit(X, y) takes the bounds of X."
                )
            bounds = box_around(X)
            check_resolution(bounds, "the bounds of X")
        elif X is not None:
            if X.shape[1] != len(bounds):
                raise ValueError(
                    f"X has {X.shape[1]} features, but the domain given to the constructor has "
                    f"{len(bounds)} dimensions"
                )
            check_inside(X, bounds)
        self.bounds_ = bounds
        self.n_features_in_: int = len(bounds)
        self._begin_checks()
        self._sign = Sign(self._params.direction == "minimize")
        self._dirty = None
        self._record = Record({name: getattr(self._params, name) for name in self._seen})
        # Size of the largest first design that is known to be filled.
        self._filled = 0
        self._begin()

    # -- what is given and random -----------------------------------------------------------

    @property
    def _inputs(self) -> Inputs:
        """What users give, as this run takes it at this moment."""
        return self._inputs_type(
            getattr(self, "domain_", None),
            self._space,
            self.bounds_,
            self._record.pending,
            partial(validate_data, self, dtype=np.float64, reset=False),
            getattr(self, "feature_names_in_", None),
            getattr(self, "targets_", ()),
            self._query_type,
        )

    @locked
    def start(self) -> Self:
        """Begin without data, unless it has begun, to look at the prior before the first query."""
        self._ensure_started()
        return self

    def _ensure_started(self, check: Callable[[], Any] = lambda: None) -> Any:
        """Begin, unless it has begun, and return what is checked then; an error changes nothing."""
        if hasattr(self, "bounds_"):
            return check()
        with unchanged_by_errors(self):
            self._prepare()
            self._start(None)
            return check()

    @reading_log
    def set_params(self, **params: Any) -> Self:
        """Set parameters, also during a run, which checks them at once.

        The run goes on with those that say how queries are chosen and what is learned. What it
        began with, such as the domain and ``kernel``, stays as it was until the next ``fit``; a
        warning says so.
        """
        with unchanged_by_errors(self):
            self._set_params(params)
            if self._dirty is None:
                self._notice({name.partition("__")[0] for name in params if "__" in name})
        return self

    def _set_params(self, params: dict[str, Any]) -> None:
        """Set parameters without looking at them."""
        super().set_params(**params)

    def _notice(self, named: Collection[str] = ()) -> None:
        """Take notice of parameters that were set since the run last looked.

        Those that take part are in use from now on, all are events of the run. ``named`` ones may
        have changed in place.
        """
        if not hasattr(self, "bounds_"):
            return
        seen = self._seen
        names = [name for name, value in seen.items() if getattr(self, name) is not value]
        if named:
            of_members = not seen.keys() >= set(named)  # names are those of members of a list
            names += [
                name
                for name, value in seen.items()
                if name in named or (of_members and isinstance(value, (list, tuple)))
            ]
        if not names:
            return
        with unchanged_by_errors(self):
            check_parameters(self)
            set_now, newest = {name: getattr(self, name) for name in names}, self._record.newest
            self._seen = seen | set_now
            changed = {
                name: own_copy(value)
                for name, value in set_now.items()
                if not are_equal(value, newest[name])
            }
            if not changed:
                return
            waiting, sets = self._at_start, ("arms", "queries", "targets")
            if self._of_sets and any(
                not are_equal(getattr(self, each), getattr(self._params, each)) for each in sets
            ):
                waiting |= self._of_sets
            waiting = waiting.intersection(changed)
            taking_part = {name: changed[name] for name in changed if name not in waiting}
            if taking_part:
                self._given = SimpleNamespace(**(vars(self._given) | taking_part))
                self._begin_checks()
                self._params_changed()
            unlike = [n for n in waiting if not are_equal(changed[n], getattr(self._params, n))]
            self._record = self._record.with_parameters(changed, unlike)

    def _notice_and_say(self) -> None:
        """Take notice of parameters that were set, and say once which of them wait."""
        if not hasattr(self, "bounds_"):
            return
        self._notice()
        unsaid, self._record.unsaid = self._record.unsaid, []
        if unsaid:
            warn(
                f"set during a run, {', '.join(unsaid)} will count from the next fit on: the run "
                "goes on with what it began with",
                ParameterWarning,
            )

    # -- the loop ---------------------------------------------------------------------------

    @holds_warnings
    def _commit(self, change: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a change of the run completely, or not at all after an error (decision D-H34).

        The log of events is the truth, and all else follows from it. A change that comes to its end
        has appended its events. Of one that does not it is noted how many events there were, by
        the first statement of a handler, which nothing can come in between, and the state is built
        from these (``_rebuilt``): at once, or, should that be interrupted as well, when a method is
        called. What the library warns of meanwhile is issued when all is done.
        """
        n_events = len(self._record.events)
        messages: list[Message] | None = []
        try:
            out = change(*arguments)
        except BaseException as error:
            self._dirty = n_events
            if isinstance(error, AllPendingError) and len(self._record.events) == n_events:
                self._dirty = None  # it comes before anything changes
            else:
                with suppress(BaseException):
                    self._rebuilt()
            raise
        if messages:
            held, messages = messages, None
            for message in held:
                warn(*message)
        return out

    @overload
    def ask(self, n: None = None, *, context: Any = None, another: bool = False) -> Q: ...

    @overload
    def ask(self, n: int, *, context: Any = None, another: bool = False) -> list[Q]: ...

    @locked
    def ask(self, n: int | None = None, *, context: Any = None, another: bool = False) -> Any:
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
        self._notice_and_say()
        context = self._ensure_started(lambda: self._contexts.checked(context))
        asked = self._asked_or_new(count, another, context)
        return asked[0] if n is None else asked

    @property
    def _contexts(self) -> Contexts | NoContexts:
        """The box of contexts that queries are chosen in."""
        if not (self._needs_contexts or self._params.context_bounds is not None):
            return NoContexts(type(self).__name__, self._get_param_names())
        box = vars(self).get("bounds_", np.empty((0, 2)))
        return Contexts(box[: self._n_context], self._context_space)

    def _asked_or_new(self, count: int, another: bool, context: Any = None) -> list[Any]:
        """Queries that were asked since something was told, and others; or others alone."""
        asked = [] if another else self._record.asked
        if context is not None:
            asked = [query for query in asked if np.array_equal(query.context, context)]
        again, new = asked[:count], []
        if len(again) < count:
            new = self._commit(self._ask_more, count - len(again), context)
        self._record.asked_again.update(again)
        return [*again, *new]

    def _ask_more(self, n: int, context: np.ndarray | None) -> list[Any]:
        """Choose n further queries, or none if there are fewer than n."""
        return [self._record.ask_by(partial(self._propose, context)) for _ in range(n)]

    @locked
    def tell(self, query: Any, reward: Numbers, alpha: Numbers = None) -> Self:
        """Report the reward of a query; nothing changes if anything is wrong with it.

        Parameters
        ----------
        query : query, array-like of shape (d,) or (S, d), dict, list of them, or DataFrame
            The query, a dict of settings, or points of which the reward is the average. For n
            rewards n of these: a list, the rows of an array, or a table with a column for each
            side.
        reward : float or None, or array-like of shape (n,)
            The noisy answer. None says that the evaluation failed: the query is left out for a
            while.
        alpha : float, or array-like of shape (n,), default=None
            Noise variance of this answer; None for the parameter ``alpha``.

        Warns
        -----
        LearningWarning
            If hyperparameters could not be learned from the answer, which is taken all the same.
        """
        return self._tell(query, reward, alpha)

    def _tell(self, query: Any, reward: Any, alpha: Any) -> Self:
        """Check what was told and take it."""
        self._notice_and_say()

        def checked() -> list[Any]:
            if isinstance(reward, float) and isinstance(query, self._query_type):
                return [self._checked(query, reward, alpha)]  # in a round
            return self._inputs.told(query, reward, alpha, self._reward_ndim, self._checked)

        observations = self._ensure_started(checked)
        self._commit(lambda: [self._take(*each) for each in observations])
        return self

    def _take(self, query: Any, value: Any, noise: Any) -> None:
        """Take one validated answer or failure."""
        if value is None:
            self._record.fail(query, "told as failed")
            return
        outcomes = None
        if isinstance(value, RowAverage):
            self._record.count(query, value.count)
            if not value.count:
                return
            value = float(value)
        elif isinstance(value, Measured):
            outcomes, self._record.block = value.outcomes, value.block
            value = float(value)
        self._observe(query, self._sign.of(value), noise)
        if self._record.tell(query, value, noise):
            warn(
                f"ask() returned {query!r} several times, and tell() got several answers to it: "
                "ask() returns the same query until it is answered. Give parallel workers the "
                "queries of one ask(n), or call ask(another=True) for each worker",
                PendingWarning,
            )
        self._learn()
        self._record.block = None
        if outcomes is not None:
            self._record.measure(query, outcomes)

    # -- runs ---------------------------------------------------------------------------------

    def run(
        self,
        objective: Callable[[Q], Numbers],
        budget: int | None = None,
        *,
        contexts: Any = None,
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
            A :class:`~skgpb.Stop`, or a function of the optimizer that returns True to end the run.
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
        self._check_stop(stop)
        if not isinstance(resume, bool):
            raise TypeError(f"resume must be a bool, got {resume!r}")
        if resume and checkpoint is None:
            raise ValueError("resume=True continues the run in checkpoint, got checkpoint=None")
        player: Any = self
        play = EvaluationLoop(player, workers, callback, checkpoint, stop, timeout)
        play.limit(budget, contexts, max_cost)
        if checkpoint is not None:
            with self._lock:
                self.start()
                take_up(self, BaseBanditOptimizer, checkpoint, resume)
        if resume:
            play.resume()
        play.show(progress, verbose)
        return play.result()

    def _summary(self, last: Any, stop: Any) -> RunResult[Any]:
        """Return what is known after the last query of a run, whose end ``stop`` decides."""
        best = None
        if self._informed:
            context = in_coordinates(last.context) if self._contexts else None
            best = self.recommend(context=context)
        delta = getattr(stop, "delta", defaults.GAP_DELTA)
        result: RunResult[Any] = RunResult(
            x=best,
            fun=nan if best is None else self._value_of(best),
            history=self.history_,
            success=best is not None,
            model={} if self._model is None else self._model.in_words(),
        )
        return result.with_gap(self._gap_later(best, delta, is_by_intervals(stop)))

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
        self._check_informed()
        self._contexts.checked(context)
        return self._best()

    #: Whether queries have prices, so that a run may be limited by what it costs.
    _has_costs: ClassVar[bool] = False
    _cost_model: Any

    @locked
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
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
        path: str | os.PathLike[str],
        *,
        omit: Collection[str] = (),
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the run to a file from which :meth:`load` continues it identically.

        Parameters
        ----------
        path : path
            Path of the file, which is whole after a crash as well.
        omit : collection of str, default=()
            Parameters left out, such as functions, which :meth:`load` is then to be given.
        notes : dict, default=None
            Further entries, as JSON has them, for :func:`skgpb.persistence.read_notes`.

        Raises
        ------
        TypeError, ValueError
            For parameters that are no data, such as functions, and for too large ones, see
            :mod:`skgpb.persistence`.
        """
        self._ensure_started()
        self._notice()
        write_run(self, path, omit, notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Read a saved run, to go on as if it had never stopped. Nothing in the file is executed.

        Parameters
        ----------
        path : path
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
        return list(self._record.until(self._dirty).events)

    @locked
    def _repeated(self, events: Sequence[Event]) -> Self:
        """Return the run that this one would be, had these events happened; it does not change.

        So an answer is corrected or taken back after others have followed it. If an event of
        learning is left out, as it has to be after the first change, hyperparameters are learned
        anew at that time.
        """
        names = getattr(self, "feature_names_in_", None)
        # When an answer was told is known as long as none before it was left out.
        told, before = (
            [each for each in log if each[0] in ("tell", "fail")] for log in (events, self._events)
        )
        alike = [one is other for one, other in zip(told, before, strict=False)]
        replay = Replay(
            list(events),
            self._seed,
            names=None if names is None else list(names),
            times=self._record.times[: (*alike, False).index(False)],
        )
        parameters = {name: own_copy(value) for name, value in self._record.parameters.items()}
        twin, _ = rebuilt(type(self), parameters, replay)
        return twin

    # -- rebuilding a run -----------------------------------------------------------------------

    def _rebuilt(self) -> Self:
        return rebuilt_in_place(self)

    def _unwritten(self) -> list[Any]:
        own = [] if self._params is self else list(vars(self._params).values())
        return super()._unwritten() + own

    # -- what is known ------------------------------------------------------------------------

    #: Methods of :meth:`recommend`, the best one known first.
    _methods: ClassVar[tuple[RecommendMethod, ...]] = ("posterior", "paper")

    @property
    def _informed(self) -> bool:
        """True if an answer was told, or evaluations were given to ``fit``."""
        return hasattr(self, "bounds_") and self._record.n_known > 0

    def _check_informed(self) -> None:
        """Raise NotFittedError where nothing is known that a recommendation could rest on."""
        if self._informed:
            return
        if not hasattr(self, "bounds_"):
            # Should more be missing than answers, such as a domain, that is said first.
            clone(self).start()
        raise NotFittedError(
            f"This {type(self).__name__} instance has no answer yet that a recommendation could "
            "rest on: tell it one, run it, or call fit(X, y)."
        )

    def _value_of(self, query: Any) -> float:
        """Return the estimated mean reward of the recommendation."""
        optimizer: Any = self
        if self._recommends_points:
            return float(optimizer.predict(in_coordinates(np.atleast_2d(query))).mean())
        return float(np.sum(optimizer.predict_query([query])))

    # -- how far it is from the best ----------------------------------------------------------

    #: Whether recommendations can be compared with their alternatives, if there are no contexts.
    _compares: bool = False

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
        self._check_informed()
        best = self.recommend() if self._has_rivals else None
        return self._gap_later(best, defaults.GAP_DELTA if delta is None else delta, by_interval)()

    def _check_stop(self, stop: Any) -> None:
        """Raise unless this can be ``stop`` of ``run``."""
        if isinstance(stop, Stop) and not self._has_rivals:
            why = "" if self._params.context_bounds is None else ", which depends on the context"
            raise ValueError(
                f"{type(self).__name__} cannot say how far its recommendation is from the best{why}"
                f": stop must be a function of the optimizer or None, got {stop!r}"
            )
        if is_by_intervals(stop):
            check_failures(self._params.guarantee, stop.delta, f"delta={stop.delta:g} of {stop!r}")
        if stop is not None and not isinstance(stop, Stop) and not callable(stop):
            raise TypeError(
                f"stop must be a Stop, a function of the optimizer or None, got {stop!r}"
            )

    def _stops(self, stop: Stop | Callable[[Any], Any] | None) -> bool:
        """Return whether a run may stop now, which it may not before anything is known."""
        if stop is None or not self._informed:
            return False
        if not isinstance(stop, Stop):
            return stop(self) is True
        with self._lock:
            learns = self._model is not None and self._model.learns
            risks = stop.risks(self._record.n_known, learns, self.n_features_in_)
            comparison = None if risks is None else self._compared(self.recommend())
            if risks is None or comparison is None:
                return False
            if is_by_intervals(stop):
                return comparison.by_intervals() <= stop.epsilon
            rng = stream_of_gap(self._seed, self._record.n_told)
        return comparison.is_within(stop.epsilon, risks, rng)

    def _gap_later(self, best: Any, delta: float, by_interval: bool = False) -> Callable[[], float]:
        """Return the gap of the present state, to be computed when it is asked for.

        The gap by intervals is computed at once, because it needs the present state.
        """
        comparison = None if best is None or not self._has_rivals else self._compared(best)
        if comparison is None:
            return lambda: nan
        if by_interval:
            return partial(float, comparison.by_intervals())
        rng = stream_of_gap(self._seed, self._record.n_told)
        return partial(comparison.gap, delta, rng)

    @property
    @locked
    def pending_(self) -> list[Q]:
        """Queries that were asked and neither answered nor given up, in order."""
        check_is_fitted(self, "bounds_")
        return self._record.awaited

    @property
    @reading_log
    def failed_(self) -> np.ndarray:
        """Every failed evaluation since the start, a structured array.

        Fields: ``round``, the number of answers told before it, ``descriptor``, the box
        [lower, upper] around what was to be observed, and ``reason``, the message of the
        exception where there was one.
        """
        check_is_fitted(self, "bounds_")
        failures = self._record.until(self._dirty).failures
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
        rows, expanded = self._record.until(self._dirty).history, ("expanded", np.bool_)
        return history_table(rows, self.n_features_in_, self._sign.of, expanded)


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

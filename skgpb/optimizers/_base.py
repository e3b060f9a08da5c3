"""What every optimizer shares: fit, ask, tell, recommend; pending and failed queries."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skgpb._documentation import DocumentedMixin
from skgpb.domains.query import PointsQuery, Query
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import LearningWarning
from skgpb.locks import Guarded, locked
from skgpb.optimizers._files import SavedRuns
from skgpb.optimizers._run import Loop, Runs
from skgpb.optimizers._sides import NamedSides
from skgpb.optimizers._told import Told
from skgpb.utils import (
    StrOptions,
    box_around,
    check_bounds,
    check_count,
    check_inside,
    check_noise_variance,
    check_resolution,
    check_reward,
    check_rows,
    check_unmasked,
    unchanged_by_errors,
    validate_params,
)

# The kind of query that an optimizer asks.
Q = TypeVar("Q", bound=Query)


class BaseBanditOptimizer(
    Loop,
    SavedRuns,
    Told,
    NamedSides,
    Guarded,
    DocumentedMixin,
    RegressorMixin,
    BaseEstimator,
    ABC,
    Generic[Q],
):
    """Fit and tell; what a subclass knows of rewards it maximises.

    A subclass implements the algorithm in ``_begin`` and ``_update``, and asks and recommends, as
    :class:`FreeChoice` does by ``_choose`` and ``_best``. None of these has to validate anything.
    Which queries there are, and what they observe, is known to the domain object that ``_begin``
    makes, ``domain_``. Public methods hold the lock of the optimizer (:mod:`skgpb.locks`), except
    for ``run``, which evaluates in between.
    """

    _query_type: type[Q]

    #: Whether large or small rewards are sought.
    direction: str = "maximize"

    #: From how many answers on hyperparameters are learned, those given to fit included.
    _learning_due: float = inf

    _parameter_constraints: dict[str, Any] = {"direction": [StrOptions({"maximize", "minimize"})]}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a class name the constraints of its own parameters, and inherit the others."""
        super().__init_subclass__(**kwargs)
        constraints: dict[str, Any] = {}
        for each in reversed(cls.__mro__):
            constraints |= vars(each).get("_parameter_constraints", {})
        cls._parameter_constraints = constraints

    # -- the algorithm ----------------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> None:
        """Set up the state before any observation, for the domain in ``bounds_``."""

    def _resolve(self, query: Any) -> Any:
        """Return what ``_update`` needs to know of a query; raise without changing anything."""
        if not isinstance(query, PointsQuery) and query not in self._pending:
            self.domain_.resolve(query)
        return query

    @abstractmethod
    def _update(self, target: Any, reward: Any, alpha: Any) -> None:
        """Take one validated reward."""

    @abstractmethod
    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        """Take point evaluations given to ``fit``."""

    # -- fitting ----------------------------------------------------------------------------

    @locked
    def fit(self, X: Any, y: Any = None) -> Self:
        """Start afresh, learning from X and y what can be learned before the first query.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. They give the bounds where the parameters give no domain. Where sides have
            names: a DataFrame with these columns, or a list of dicts.
        y : array-like of shape (n_samples,), default=None
            Noisy evaluations of f at X, which the posterior is conditioned on. None for none.

        Returns
        -------
        self : BaseBanditOptimizer
            Everything told before is forgotten.
        """
        with unchanged_by_errors(self):
            self._prepare()
            check_unmasked(X, "X")
            check_unmasked(y, "y")
            check_rows(X, y)
            X, y = self._checked_data(self._points_of(X), y)
            self._start(X)
            self._log.append(("fit", X, y))
            if y is not None:
                self._condition(X, self._signed(np.asarray(y, dtype=np.float64)))
        return self

    def _checked_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
        if y is None:
            return validate_data(self, X, dtype=np.float64), None
        return validate_data(self, X, y, dtype=np.float64, y_numeric=True)

    def _domain(self) -> np.ndarray | None:
        """Bounds (d, 2) from the parameters, or None where they give no domain."""
        if self.space_ is not None:
            return self.space_.bounds
        return None if self.bounds is None else check_bounds(self.bounds)

    def _prepare(self) -> None:
        """Check parameters before a start, and what names the sides have."""
        validate_params(self)
        self.space_: ParameterSpace | None = self._make_space()

    def _start(self, X: np.ndarray | None) -> None:
        """Forget everything and begin on the domain given, or on the bounding box of X."""
        bounds = self._domain()
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
            check_inside(X, bounds, self._in_coordinates)
        self._begin_checks(len(bounds))
        self.bounds_ = bounds
        self.n_features_in_: int = len(bounds)
        self._begin_loop()
        self._begin()

    def _begin_loop(self) -> None:
        """Forget what was asked and told."""
        self._minimizes = self.direction == "minimize"
        self._round = 0
        # Evaluations that were given to fit.
        self._n_fitted = 0
        # Size of the largest first design that is known to be filled.
        self._filled = 0
        self._asked: list[Any] = []
        # What is being evaluated; with a number, what failed and when it may be asked again.
        self._pending: dict[Any, int | None] = {}
        # What run() is evaluating.
        self._batch: list[Any] = []
        self._history: list[tuple[Any, ...]] = []
        self._failures: list[tuple[int, Any, str]] = []
        self._log: list[tuple[Any, ...]] = []

    def _signed(self, values: Any) -> Any:
        """Turn rewards into what the algorithm maximises, or back: the same change of sign."""
        return -values if self._minimizes else values

    def _signed_moments(self, moments: Any) -> Any:
        """Turn a mean, or a mean and what follows it, into the user's sign."""
        if isinstance(moments, tuple):
            return self._signed(moments[0]), *moments[1:]
        return self._signed(moments)

    def _signed_history(self, history: np.ndarray) -> np.ndarray:
        """Turn rewards and means in a history into the user's sign."""
        for name in ("reward", "mean"):
            history[name] = self._signed(history[name])
        return history

    def _draw_seed(self) -> int:
        """Seed of everything random in a run; that of a loaded run is the one it had."""
        if "_replayed_seed" in self.__dict__:
            return self._replayed_seed
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _begin_checks(self, d: int) -> None:
        """Check parameters that depend on the dimension, before any state changes."""

    @locked
    def start(self) -> Self:
        """Begin without data, on the domain that the parameters give, unless it has begun.

        ``ask`` and ``tell`` do so by themselves; now what is expected can be looked at before.

        Returns
        -------
        self : BaseBanditOptimizer

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Where the parameters give no domain.
        """
        self._ensure_started()
        return self

    def _ensure_started(self) -> None:
        if not hasattr(self, "bounds_"):
            with unchanged_by_errors(self):
                self._prepare()
                self._start(None)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of a run that has begun, which then checks them at once.

        Parameters
        ----------
        **params : dict
            Names and values. A run goes on with them where it looks at them again; those that
            only matter at its start have no effect before the next ``fit``.

        Returns
        -------
        self : BaseBanditOptimizer
        """
        if not hasattr(self, "bounds_"):
            return super().set_params(**params)
        with unchanged_by_errors(self):
            super().set_params(**params)
            validate_params(self)
            self._reread()
        return self

    def _reread(self) -> None:
        """Renew what was made of parameters that may be set in the run; replace, do not change."""

    # -- the loop ---------------------------------------------------------------------------

    def _ask_for(self, choose: Callable, *arguments: Any) -> Any:
        """Choose a query and remember that it was asked."""
        try:
            query = choose(*arguments)
        except ValueError:
            pending = self._pending
            evaluated: dict[Any, int | None]
            evaluated = {each: None for each, until in pending.items() if until is None}
            if len(evaluated) == len(pending):
                raise
            # Nothing else is left than what has failed.
            self._pending = evaluated
            try:
                query = choose(*arguments)
            except BaseException:
                self._pending = pending
                raise
        self._asked.append(query)
        self._pending[query] = None
        self._log.append(("ask", query))
        return query

    def tell(self, query: Any, reward: Any, alpha: Any = None) -> Self:
        """Report the reward of a query; nothing changes if anything is wrong with it.

        A reward of None says that the evaluation failed. It is recorded in ``failed_``, nothing
        is learned from it, and the query is left out of what is asked for a while: until 2
        further answers or failures were told, 4 after its second failure, 8 after its third.
        So a query that cannot be evaluated costs few evaluations, and one that was unlucky gets
        another chance. Meanwhile it counts as pending.

        Parameters
        ----------
        query : query, array-like of shape (d,) or (S, d), dict, list of them, or DataFrame
            What was evaluated: a query from :meth:`ask` (in any order, also after pickling),
            or points, of which the average was observed. Where sides have names also a dict with
            a value for each of them, or the ``params`` of a query. With n rewards, n of these:
            a list, the rows of an array (n, d), or a table with a column for each side. So a run
            takes data that exist, before it begins or in its midst; see also :meth:`fit`.
        reward : float or None, or array-like of shape (n,) for n queries
            The noisy answer; None where there is none, because the evaluation failed.
        alpha : float, or array-like of shape (n,), default=None
            Noise variance of this answer; None for the parameter ``alpha``.

        Returns
        -------
        self : BaseBanditOptimizer

        Raises
        ------
        ValueError, TypeError
            For rewards that are not finite real numbers, negative noise variances, queries of
            another optimizer and points outside the bounds. The state is then as before.

        Warns
        -----
        LearningWarning
            Where the answer was taken, but learning hyperparameters from it failed: those in use
            are kept until learning is due again. So they are if it is interrupted (Ctrl-C), which
            then ends ``tell`` with KeyboardInterrupt.
        """
        with self._lock:
            if hasattr(self, "bounds_"):
                observations = self._checked_all(query, reward, alpha)
            else:
                with unchanged_by_errors(self):
                    self._ensure_started()
                    observations = self._checked_all(query, reward, alpha)
            for observation in observations:
                self._take(*observation)
        return self

    def _take(self, query: Any, target: Any, value: float | None, noise: float) -> None:
        """Take one validated answer or failure."""
        if value is None:
            self._fail(query, "told as failed")
            return
        self._update(target, self._signed(value), noise)
        self._pending.pop(query, None)
        self._log.append(("tell", query, value, noise))
        self._told()
        try:
            if self._round + self._n_fitted >= self._learning_due:
                self._learn_or_keep()
        finally:
            self._settle()

    def _schedule(self, n: int) -> None:
        """Note that hyperparameters were learned from n answers, and when they are due again."""

    def _learn(self) -> None:
        """Learn hyperparameters; what changes is replaced, not changed in place."""

    def _settle(self) -> None:
        """Prepare the next round, the last answer being taken and learned from."""

    def _learn_or_keep(self) -> None:
        """Learn; where that fails or is interrupted keep the hyperparameters, not the answer."""
        when, n_events, failure = (len(self._history),), len(self._log), None
        replayed = bool(self.__dict__.get("_replayed_learning"))
        if when not in self.__dict__.get("_replayed_failures", ()):
            try:
                with unchanged_by_errors(self):
                    self._learn()
                return
            except BaseException as error:
                if replayed:  # what a file says was learned is at fault, not the learner
                    raise
                failure = error
        del self._log[n_events:]
        self._log.append(("unlearned", *when))
        # It is not tried again before it is due again.
        self._schedule(self._round + self._n_fitted)
        if isinstance(failure, Exception):
            warnings.warn(
                "learning the hyperparameters failed, those in use are kept: "
                f"{type(failure).__name__}: {failure}",
                LearningWarning,
                stacklevel=5,
            )
        elif failure is not None:
            raise failure

    def _fail(self, query: Any, reason: str) -> None:
        """Record a failure, and leave the query out for a while."""
        self._failures.append((len(self._history), query, reason))
        self._log.append(("fail", query, reason))
        if not isinstance(query, PointsQuery):
            times = sum(each == query for _, each, _ in self._failures)
            now = len(self._history) + len(self._failures)
            self._pending[query] = now + 2**times
        self._told()

    def _told(self) -> None:
        """Forget what was asked, and let those that failed long ago be asked again."""
        self._asked = []
        now = len(self._history) + len(self._failures)
        due = [each for each, until in self._pending.items() if until is not None and until <= now]
        for query in due:
            del self._pending[query]

    def _checked_all(self, query: Any, reward: Any, alpha: Any) -> list[tuple[Any, ...]]:
        if isinstance(query, list) and query and isinstance(query[0], (self._query_type, Mapping)):
            return self._checked_list(query, reward, alpha)
        if not isinstance(reward, float):
            rows = self._rows_told(query, reward)
            if rows is not None:
                return self._checked_list(rows, reward, alpha)
        return [self._checked(query, reward, alpha)]

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        if isinstance(reward, float) and isfinite(reward):
            value: float | None = float(reward)
        else:
            value = None if reward is None else check_reward(reward)
        noise = self._told_noise() if alpha is None else check_noise_variance(alpha)
        if not isinstance(query, self._query_type):
            query = self._as_query(query)
        return query, self._resolve(query), value, noise

    def _default_noise(self) -> float:
        """Noise variance that is expected of an answer."""
        return float(self.alpha)

    def _told_noise(self) -> float:
        """Noise variance of an answer told without its own, NaN for one that is learned."""
        return self._default_noise()

    #: Rules of :meth:`recommend`, the best one known first.
    _rules: ClassVar[tuple[str, ...]] = ("posterior", "paper")

    def _checked_rule(self, rule: str | None) -> str:
        """Resolve ``rule`` of :meth:`recommend`."""
        if rule is None:
            return self._rules[0]
        if rule not in self._rules:
            raise ValueError(f"rule must be None or one of {list(self._rules)}, got {rule!r}")
        return rule

    @property
    def _informed(self) -> bool:
        """Whether an answer was told, or evaluations were given to ``fit``."""
        return hasattr(self, "bounds_") and bool(self._history or self._n_fitted)

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
        """Return the estimated mean reward of what is recommended."""
        return float(self.predict_query([query])[0])

    def _checked_queries(self, queries: Any) -> list[Any]:
        """Check the argument of ``predict_query``, one query or several, or points."""
        queries = [queries] if isinstance(queries, Query) else self._points_of(queries)
        every = [q if isinstance(q, Query) else self._as_query(q) for q in queries]
        for query in every:
            self._resolve(query)
        return every

    def _descriptor(self, query: Any) -> np.ndarray:
        """Box [lower, upper] around what a query observes, shape (2 d,)."""
        return query.box

    @property
    @locked
    def unlearned_(self) -> np.ndarray:
        """After how many answers learning hyperparameters failed, shape (n_failures,)."""
        check_is_fitted(self, "bounds_")
        return np.array([event[1] for event in self._log if event[0] == "unlearned"], dtype=np.intp)

    @property
    @locked
    def failed_(self) -> np.ndarray:
        """Every failed evaluation since the start, a structured array.

        Fields: ``round``, the number of answers told before it, ``descriptor``, the box
        [lower, upper] around what was to be observed, and ``reason``, the message of the
        exception where there was one.
        """
        check_is_fitted(self, "bounds_")
        rows = [(i, self._descriptor(query), reason) for i, query, reason in self._failures]
        width = len(rows[0][1]) if rows else 2 * self.n_features_in_
        dtype = [("round", np.intp), ("descriptor", np.float64, (width,)), ("reason", object)]
        return np.array(rows, dtype=dtype)

    @property
    @locked
    def history_(self) -> np.ndarray:
        """Every observation told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 d,), the box [lower, upper] around what
        was observed, ``reward``, ``mean`` and ``std`` of the query before the observation, and
        ``expanded``, whether its cell was split. Where rewards are scaled nothing is known before
        the first: its ``mean`` is the reward itself.
        """
        check_is_fitted(self, "bounds_")
        d = self.n_features_in_
        dtype = [
            ("round", np.intp),
            ("descriptor", np.float64, (2 * d,)),
            ("reward", np.float64),
            ("mean", np.float64),
            ("std", np.float64),
            ("expanded", np.bool_),
        ]
        rows = [(i + 1, *row) for i, row in enumerate(self._history)]
        return self._signed_history(np.array(rows, dtype=dtype))


class FreeChoice(Runs, BaseBanditOptimizer[Q]):
    """An optimizer that may ask whatever its domain has: ask, recommend, run.

    A subclass chooses in ``_choose`` and ``_best``.
    """

    # -- the algorithm ----------------------------------------------------------------------

    @abstractmethod
    def _choose(self) -> Any:
        """Return the next query, different from the keys of ``_pending``."""

    @abstractmethod
    def _best(self) -> Any:
        """Return the recommended query."""

    # -- the loop ---------------------------------------------------------------------------

    @overload
    def ask(self, n: None = None) -> Q: ...

    @overload
    def ask(self, n: int) -> list[Q]: ...

    def ask(self, n: int | None = None) -> Q | list[Q]:
        """Return the next query, or a list of n different ones for parallel evaluation.

        Asking again before a ``tell`` returns the same queries. Queries asked for and not yet
        told stay pending: later ones differ from them and assume that their answers will
        reduce the uncertainty, which the variance allows to compute exactly.

        Parameters
        ----------
        n : int, default=None
            Number of queries, at most 10,000; None for a single one, not in a list.

        Returns
        -------
        query : query or list of queries

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Where neither the parameters nor ``fit`` gave a domain.
        """
        count = 1 if n is None else check_count(n)
        with self._lock:
            self._ensure_started()
            if count == 1 and not self._asked:
                self._ask_for(self._choose)
            elif len(self._asked) < count:
                self._ask_until(count)
            return self._asked[0] if n is None else self._asked[:count]

    @locked
    def recommend(self, rule: str | None = None) -> Any:
        """Return the best query found so far.

        Parameters
        ----------
        rule : {"posterior", "paper"}, default=None
            The rule by which it is chosen; None for the best one known. Here all are the same.

        Returns
        -------
        query : query

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before anything is known: an answer that was told, or evaluations given to ``fit``.
        """
        self._checked_rule(rule)
        self._check_informed()
        return self._best()

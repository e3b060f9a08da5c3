"""The loop that every search is played in: start, ask, tell, stop, and begin again from the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from itertools import starmap
from math import nan
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skgpb import defaults
from skgpb._warnings import Message, holds_warnings, warn
from skgpb.domains.space import in_coordinates
from skgpb.exceptions import AllPendingError, ParameterWarning, PendingWarning
from skgpb.feedback import RowAverage
from skgpb.optimizers._gap import check_failures, is_by_intervals, stream_of_gap
from skgpb.optimizers._inputs import points_of
from skgpb.optimizers._limits import Measured
from skgpb.optimizers._parameters import are_equal, check_parameters, own_copy
from skgpb.optimizers._record import Event, Record
from skgpb.optimizers._replay import Replay, rebuilt
from skgpb.optimizers._result import RunResult
from skgpb.optimizers._sides import Sign, checked_space, joint_space
from skgpb.optimizers._stop import Stop
from skgpb.utils import (
    box_around,
    check_inside,
    check_resolution,
    check_rows,
    check_squares,
    unchanged_by_errors,
    validate_data,
)


class Loop:
    """Plays a search, which it knows by its five methods and by what further ones and data say.

    It is made when it is needed, and has no state: what happened is in the record of the run. Who
    calls it holds the lock of the search.

    Parameters
    ----------
    search : BaseBanditOptimizer
        What is played.
    """

    def __init__(self, search: Any) -> None:
        self.search = search

    @property
    def record(self) -> Record:
        """What happened in the run, which has begun."""
        return self.search._record

    # -- beginning --------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, check: Callable[[Any, Any], tuple[Any, ...]] | None = None
    ) -> Any:
        """Start afresh with points, and evaluations of f there or None; return the search.

        ``check`` returns these, and what else is given, as arrays; None is the usual check.
        """
        search = self.search
        with unchanged_by_errors(search):
            self._prepare()
            check_rows(X, y)
            data = (check or self._checked_data)(points_of(X, search._space), y)
            X, y, *pairs = map(own_copy, data)
            self._begin_on(X)
            X = check_inside(X, search.bounds_)
            self.record.events.append(("fit", X, y, *pairs))
            if y is not None:
                search._observe_initial(X, search._sign.of(np.asarray(y, dtype=np.float64)))
        return search

    def _checked_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        search, several = self.search, self.search._reward_ndim > 0
        if y is None:
            return validate_data(search, X, dtype=np.float64), None
        X, y = validate_data(search, X, y, dtype=np.float64, y_numeric=True, multi_output=several)
        check_squares(y, "y")
        return X, y

    def begin(self, check: Callable[[], Any] = lambda: None) -> Any:
        """Begin, unless it has begun, and return what is checked then; an error changes nothing."""
        if hasattr(self.search, "bounds_"):
            return check()
        with unchanged_by_errors(self.search):
            self._prepare()
            self._begin_on(None)
            return check()

    def _prepare(self) -> None:
        """Check parameters before a start, and what names the sides have."""
        search = self.search
        check_parameters(search)
        seen = search.get_params(deep=False)
        every = {name: getattr(search, name, None) for name in search._parameter_constraints} | seen
        record = Record({name: own_copy(value) for name, value in every.items()}, seen)
        search._record, own = record, record.params
        space_of = partial(checked_space, optimizer=type(search).__name__, sides=search._sides)
        actions = space_of(own.bounds, "bounds", keeps_settings=search._keeps_settings)
        contexts = space_of(own.context_bounds, "context_bounds")
        search._actions, search._context_space = actions, contexts
        search._query_space = space_of(vars(own).get("query_bounds"), "query_bounds")
        search._space = joint_space(contexts, actions, own.context_bounds, own.bounds)
        search._sign, search._dirty = Sign(own.direction == "minimize"), None

    def _begin_on(self, X: np.ndarray | None) -> None:
        """Forget everything and begin on the domain given, or on the bounding box of X."""
        search = self.search
        bounds = search._domain(X)
        if bounds is None:
            if X is None:
                names = ("bounds", "arms", "pool", "queries")
                ways = [f"{name}=" for name in names if hasattr(search, name)]
                raise NotFittedError(
                    f"This {type(search).__name__} instance has no domain yet: pass "
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
        search.bounds_, search.n_features_in_ = bounds, len(bounds)
        search._begin_checks()
        search._begin()

    # -- parameters that are set ------------------------------------------------------------

    def notice(self, named: Collection[str] = ()) -> None:
        """Take notice of parameters that were set since the run last looked.

        Those that take part are in use from now on, all are events of the run. ``named`` ones may
        have changed in place.
        """
        search = self.search
        record = search._record
        seen = record.seen
        names = [name for name, value in seen.items() if getattr(search, name) is not value]
        if named:
            of_members = not seen.keys() >= set(named)  # names are those of members of a list
            names += [
                name
                for name, value in seen.items()
                if name in named or (of_members and isinstance(value, (list, tuple)))
            ]
        if not names:
            return
        with unchanged_by_errors(search):
            check_parameters(search)
            set_now, newest = {name: getattr(search, name) for name in names}, record.newest
            changed = {
                name: own_copy(value)
                for name, value in set_now.items()
                if not are_equal(value, newest[name])
            }
            waiting, of_sets, own = search._at_start, search._of_sets, record.params
            sets = ("arms", "queries", "targets") if of_sets else ()
            if any(not are_equal(getattr(search, each), getattr(own, each)) for each in sets):
                waiting |= of_sets
            search._record = record.setting(set_now, changed, waiting)
            if not waiting >= changed.keys():
                search._begin_checks()
                search._params_changed()

    def notice_and_say(self) -> None:
        """Take notice of parameters that were set, and say once which of them wait."""
        search = self.search
        if not hasattr(search, "bounds_"):
            return
        self.notice()
        record = search._record
        unsaid, record.unsaid = record.unsaid, []
        if unsaid:
            warn(
                f"set during a run, {', '.join(unsaid)} will count from the next fit on: the run "
                "goes on with what it began with",
                ParameterWarning,
            )

    # -- asking and telling -----------------------------------------------------------------

    @holds_warnings
    def commit(self, change: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a change of the run completely, or not at all after an error (decision D-H34).

        The log of events is the truth, and all else follows from it. A change that comes to its end
        has appended its events. Of one that does not it is noted how many events there were, by
        the first statement of a handler, which nothing can come in between, and the state is built
        from these (``rebuilt_in_place``): at once, or, should that be interrupted as well, when a
        method is called. What the library warns of meanwhile is issued when all is done.
        """
        search = self.search
        n_events = len(search._record.events)
        messages: list[Message] | None = []
        try:
            out = change(*arguments)
        except BaseException as error:
            search._dirty = n_events
            if isinstance(error, AllPendingError) and len(search._record.events) == n_events:
                search._dirty = None  # it comes before anything changes
            else:
                with suppress(BaseException):
                    search._rebuilt()
            raise
        if messages:
            held, messages = messages, None
            for message in held:
                warn(*message)
        return out

    def ask(self, count: int, another: bool, context: Any = None) -> list[Any]:
        """Queries that were asked since something was told, and others; or others alone."""
        record = self.search._record
        asked = [] if another else record.asked
        if context is not None:
            asked = [query for query in asked if np.array_equal(query.context, context)]
        again, new = asked[:count], []
        if len(again) < count:
            new = self.commit(self.ask_more, count - len(again), context)
        record.asked_again.update(again)
        return [*again, *new]

    def ask_more(self, n: int, context: np.ndarray | None) -> list[Any]:
        """Choose n further queries, or none if there are fewer than n."""
        search = self.search
        record, propose = search._record, partial(search._propose, context)
        return [record.ask_by(propose) for _ in range(n)]

    def tell(self, query: Any, reward: Any, alpha: Any) -> Any:
        """Check what was told and take it; return the search."""
        search = self.search
        self.notice_and_say()

        def checked() -> list[Any]:
            if isinstance(reward, float) and isinstance(query, search._query_type):
                return [search._checked(query, reward, alpha)]  # in a round
            return search._inputs.told(query, reward, alpha, search._reward_ndim, search._checked)

        observations = self.begin(checked)
        self.commit(lambda: list(starmap(self.take, observations)))
        return search

    def take(self, query: Any, value: Any, noise: Any) -> None:
        """Take one validated answer or failure."""
        search = self.search
        record, outcomes = search._record, None
        if value is None:
            record.fail(query, "told as failed")
            return
        if isinstance(value, RowAverage):
            record.count(query, value.count)
            if not value.count:
                return
            value = float(value)
        elif isinstance(value, Measured):
            outcomes, record.block = value.outcomes, value.block
            value = float(value)
        search._observe(query, search._sign.of(value), noise)
        if record.tell(query, value, noise):
            warn(
                f"ask() returned {query!r} several times, and tell() got several answers to it: "
                "ask() returns the same query until it is answered. Give parallel workers the "
                "queries of one ask(n), or call ask(another=True) for each worker",
                PendingWarning,
            )
        search._learn()
        record.block = None
        if outcomes is not None:
            record.measure(query, outcomes)

    def repeated(self, events: Sequence[Event]) -> Any:
        """Return the run that this one would be, had these events happened; it does not change."""
        search, names = self.search, getattr(self.search, "feature_names_in_", None)
        # When an answer was told is known as long as none before it was left out.
        told, before = (
            [each for each in log if each[0] in ("tell", "fail")]
            for log in (events, search._events)
        )
        alike = [one is other for one, other in zip(told, before, strict=False)]
        replay = Replay(
            list(events),
            search._seed,
            names=None if names is None else list(names),
            times=self.record.times[: (*alike, False).index(False)],
        )
        parameters = {name: own_copy(value) for name, value in self.record.parameters.items()}
        twin, _ = rebuilt(type(search), parameters, replay)
        return twin

    # -- what is known ----------------------------------------------------------------------

    @property
    def informed(self) -> bool:
        """True if an answer was told, or evaluations were given to ``fit``."""
        return hasattr(self.search, "bounds_") and self.record.n_known > 0

    def check_informed(self) -> None:
        """Raise NotFittedError where nothing is known that a recommendation could rest on."""
        if self.informed:
            return
        if not hasattr(self.search, "bounds_"):
            # Should more be missing than answers, such as a domain, that is said first.
            clone(self.search).start()
        raise NotFittedError(
            f"This {type(self.search).__name__} instance has no answer yet that a recommendation "
            "could rest on: tell it one, run it, or call fit(X, y)."
        )

    def value_of(self, query: Any) -> float:
        """Return the estimated mean reward of the recommendation."""
        search: Any = self.search
        if search._recommends_points:
            return float(search.predict(in_coordinates(np.atleast_2d(query))).mean())
        return float(np.sum(search.predict_query([query])))

    def summary(self, last: Any, stop: Any) -> RunResult[Any]:
        """Return what is known after the last query of a run, whose end ``stop`` decides."""
        search, model, best = self.search, self.search._model, None
        if self.informed:
            context = in_coordinates(last.context) if search._contexts else None
            best = search.recommend(context=context)
        delta = getattr(stop, "delta", defaults.GAP_DELTA)
        result: RunResult[Any] = RunResult(
            x=best,
            fun=nan if best is None else self.value_of(best),
            history=search.history_,
            success=best is not None,
            model={} if model is None else model.in_words(),
        )
        return result.with_gap(self.gap_later(best, delta, is_by_intervals(stop)))

    # -- how far it is from the best --------------------------------------------------------

    def gap_later(self, best: Any, delta: float | None, by_interval: bool) -> Callable[[], float]:
        """Return the gap of the present state, to be computed when it is asked for.

        None for ``delta`` is the usual one. The gap by intervals is computed at once, because it
        needs the present state.
        """
        search = self.search
        comparison = None if best is None or not search._has_rivals else search._compared(best)
        if comparison is None:
            return lambda: nan
        if by_interval:
            return partial(float, comparison.by_intervals())
        rng = stream_of_gap(search._seed, self.record.n_told)
        return partial(comparison.gap, defaults.GAP_DELTA if delta is None else delta, rng)

    def check_stop(self, stop: Any) -> None:
        """Raise unless this can be ``stop`` of ``run``."""
        search, own = self.search, self.search._params
        if isinstance(stop, Stop) and not search._has_rivals:
            why = "" if own.context_bounds is None else ", which depends on the context"
            raise ValueError(
                f"{type(search).__name__} cannot say how far its recommendation is from the best"
                f"{why}: stop must be a function of the optimizer or None, got {stop!r}"
            )
        if is_by_intervals(stop):
            check_failures(own.guarantee, stop.delta, f"delta={stop.delta:g} of {stop!r}")
        if stop is not None and not isinstance(stop, Stop) and not callable(stop):
            raise TypeError(
                f"stop must be a Stop, a function of the optimizer or None, got {stop!r}"
            )

    def stops(self, stop: Stop | Callable[[Any], Any] | None) -> bool:
        """Return whether a run may stop now, which it may not before anything is known.

        The lock is free while it is computed.
        """
        search = self.search
        if stop is None or not self.informed:
            return False
        if not isinstance(stop, Stop):
            return stop(search) is True
        with search._lock:
            model, n_known = search._model, self.record.n_known
            risks = stop.risks(n_known, model is not None and model.learns, search.n_features_in_)
            comparison = None if risks is None else search._compared(search.recommend())
            if risks is None or comparison is None:
                return False
            if is_by_intervals(stop):
                return comparison.by_intervals() <= stop.epsilon
            rng = stream_of_gap(search._seed, self.record.n_told)
        return comparison.is_within(stop.epsilon, risks, rng)

"""The loop of all searches: begin, ask, tell and commit; and replay of a run from its events.

Each function takes the search as its first argument and requires that the caller holds the lock of
the search. A change of the run is completed, or it is undone by a replay of the events.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from math import nan
from operator import is_
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from skgpb import defaults
from skgpb.domains.arms import PointsQuery, Query
from skgpb.domains.space import as_coordinates
from skgpb.exceptions import AllPendingError, ParameterWarning, PendingWarning
from skgpb.feedback import RowAverage
from skgpb.optimizers._feasibility import AnswerWithOutcomes, checked_outcomes
from skgpb.optimizers._inputs import points_of
from skgpb.optimizers._run import (
    SPACE,
    Event,
    Run,
    RunResult,
    are_equal,
    check_parameters,
    own_copy,
)
from skgpb.optimizers._stopping import StopRule
from skgpb.utils.locks import StateLock
from skgpb.utils.validation import (
    box_around,
    check_columns,
    check_inside,
    check_resolution,
    check_rows,
    check_squares,
    column_names,
    shorten_value,
    unchanged_by_errors,
    validate_data,
)
from skgpb.utils.warnings import Message, holds_warnings, warn

# -- Replay of events: after ``load``, ``fit`` and an interrupted change ---------------------------


class Replay:
    """Replay of an earlier run: it brings an optimizer to the state that the run had.

    While the events are repeated, the optimizer gets learned hyperparameters from here instead of
    fitting them again.

    Parameters
    ----------
    events : sequence of events
        The events of the earlier run, in order.
    seed : int, list or None
        Its seed; None draws one.
    names : list of str, default=None
        Names of the features of X in ``fit``.
    batch : sequence of queries, default=()
        Queries that ``run`` was evaluating.
    times : sequence of float, default=()
        Times of its first answers and failures, in seconds since 1970.
    """

    def __init__(
        self,
        events: Sequence[Event],
        seed: Any,
        *,
        names: Any = None,
        batch: Sequence[Any] = (),
        times: Sequence[float] = (),
    ) -> None:
        self.seed = seed
        self._times = times
        self._events, self._names, self._batch = events, names, batch
        # Learned hyperparameters in reverse order; numbers of answers at which a fit failed.
        self._learned = [event[1] for event in events if event[0] == "learned"][::-1]
        self._failures = {event[1:] for event in events if event[0] == "unlearned"}
        #: Optimizers that read from this replay: the search, or one for each campaign.
        self._led: list[Any] = []

    # -- read by the optimizer --------------------------------------------------------------

    @property
    def has_learned(self) -> bool:
        """True while learned hyperparameters are left; afterwards the optimizer fits its own."""
        return bool(self._learned)

    def pop_hyperparameters(self) -> Any:
        """Remove and return the next learned hyperparameters."""
        return self._learned.pop()

    def failed_to_learn(self, n_told: int) -> bool:
        """Return whether the fit after ``n_told`` answers failed in the earlier run."""
        return (n_told,) in self._failures

    def lead(self, optimizer: Any) -> None:
        """Attach this replay to an optimizer until it ends."""
        optimizer._replay = self
        self._led.append(optimizer)

    def campaign_replay(self, i: int) -> Replay:
        """Return the replay of campaign ``i``, which ends together with this one."""
        own = [("unlearned", when) for when, campaign in self._failures if campaign == i]
        part = Replay(own, None if self.seed is None else self.seed[i])
        part._led = self._led
        return part

    # -- repeating the events -----------------------------------------------------------------

    def rebuild(self, optimizer: Any, snapshot: dict[str, Any] | None = None) -> int:
        """Bring a fresh search to the state of the run; return how many queries differ.

        With a snapshot its fields are restored, and no event is repeated.
        """
        n_mismatches = 0
        self.lead(optimizer)
        if snapshot is None:
            n_mismatches = self._repeat_all(optimizer)
        else:
            self._take_over(optimizer, snapshot)
        for each in self._led:
            vars(each).pop("_replay", None)
            if snapshot is None:  # the times of campaigns are not in the events
                times = each.run_.times
                times[:] = [nan] * len(times)
        names = self._names
        if names is not None:
            strings = isinstance(names, list) and all(isinstance(n, str) for n in names)
            if not strings or len(names) != optimizer.n_features_in_:
                raise ValueError(
                    f"feature_names must be a list of {optimizer.n_features_in_} names, "
                    f"got {names!r}"
                )
            optimizer.run_.names = names
            if self._begins_with_fit:
                optimizer.feature_names_in_ = np.array(names, dtype=object)
        run = optimizer.run_
        run.evaluations.batch = [optimizer._inputs.attach_names(query) for query in self._batch]
        known = list(self._times)[: len(run.times)]
        run.times[: len(known)] = known
        if self._events and self._events[-1][0] != "set":
            run.unwarned = []  # the run has warned already
        return n_mismatches

    @property
    def _begins_with_fit(self) -> bool:
        """True if the run began with ``fit``."""
        return bool(self._events) and self._events[0][0] == "fit"

    def _repeat_all(self, optimizer: Any) -> int:
        """Begin as the run did and repeat its events; return how many queries differ."""
        if not self._begins_with_fit:
            begin(optimizer)
        n_mismatches = 0
        for kind, *rest in self._events:
            if kind == "fit":
                _fit_again(optimizer, *rest)
            elif kind == "set":
                _set_again(optimizer, rest[0])
            elif kind == "together":
                begin_together(optimizer)
            elif kind == "apart":
                end_together(optimizer)
            elif kind not in ("learned", "unlearned"):
                query = optimizer._inputs.attach_names(rest[0])
                if kind == "ask":
                    n_mismatches += self._ask(optimizer, query, *rest[1:])
                else:
                    self._take(optimizer, kind, query, *rest[1:])
        if optimizer.run_.together is not None:  # the last of these answers were left out
            end_together(optimizer)
        return n_mismatches

    def _take_over(self, optimizer: Any, snapshot: dict[str, Any]) -> None:
        """Begin as the run did, and restore its state from the snapshot."""
        if self._begins_with_fit:
            _, X, _, *rest = self._events[0]
            _fit_again(optimizer, X, None, *rest)
        else:
            begin(optimizer)
        for event in self._events:
            if event[0] == "set":
                _set_again(optimizer, event[1])
        optimizer.run_.events = list(self._events)
        optimizer._restore(snapshot)

    def _ask(self, optimizer: Any, query: Any, fixed: Any = None) -> bool:
        """Ask for a query; return whether it differs from that of the run."""
        run = optimizer.run_
        # Regions of an earlier box are no cells of this one.
        is_earlier = optimizer._keeps_ranges and isinstance(query, PointsQuery)
        if not (is_earlier or isinstance(query, optimizer._query_type)):
            raise ValueError(f"no query of a {type(optimizer).__name__}: {query!r}")
        chosen = None
        with suppress(AllPendingError):  # the space of now may have fewer queries
            (chosen,) = ask_more(optimizer, 1, optimizer._contexts.of(query), fixed)
        if chosen == query:
            return False
        if chosen is not None:
            run.take_back(chosen)
        with suppress(ValueError):  # this version does not have the query
            optimizer._inputs.resolve(query)
            if run.pending.get(query) is not None:  # the run had only failed queries left
                run.release_failures()
            run.ask(query, fixed)
        return True

    def _take(self, optimizer: Any, kind: str, query: Any, *numbers: Any) -> None:
        """Apply an event about a query: an answer, a failure, a number of rows or outcomes."""
        run = optimizer.run_
        if kind == "tell":
            value, noise, *block = numbers
            reward = AnswerWithOutcomes(value, None, *block) if block else value
            take(optimizer, *_checked_again(optimizer, query, reward, _none_for_nan(noise)))
            return
        query, *_ = _checked_again(optimizer, query, None, None)
        if kind == "fail":
            run.fail(query, str(numbers[0]))
        elif kind == "withdraw":
            run.withdraw(query)
        elif kind == "rows":
            run.count(query, int(numbers[0]))
        elif kind == "outcomes":
            measure(optimizer, query, checked_outcomes(numbers[0]), *numbers[1:])
        else:
            raise ValueError(f"not an event of a saved run: {kind!r}")


def rebuild(
    cls: type,
    parameters: dict[str, Any],
    replay: Replay,
    snapshot: dict[str, Any] | None = None,
    lock: StateLock | None = None,
) -> tuple[Any, int]:
    """Return an optimizer in the state of a run, and how many of its queries differ.

    All its parts share ``lock``, if one is given.
    """
    optimizer = cls(**parameters)
    if lock is not None:
        optimizer._lock = lock
    with warnings.catch_warnings():
        # The run has issued these warnings already.
        warnings.simplefilter("ignore")
        return optimizer, replay.rebuild(optimizer, snapshot)


def rebuild_in_place(optimizer: Any) -> Any:
    """Rebuild the state of an optimizer from the events before an interrupted change.

    The state is built in another object and moved by one assignment, so that a second interruption
    changes nothing.
    """
    if optimizer._dirty is None:  # another thread was faster
        return optimizer
    run = optimizer.run_
    replay = Replay(
        run.events[: optimizer._dirty],
        optimizer.run_.seed,
        names=names_of(optimizer),
        batch=run.evaluations.batch,
        times=run.times,
    )
    try:
        built, _ = rebuild(type(optimizer), run.parameters, replay, lock=optimizer._lock)
    except Exception as error:
        error.add_note(
            "The run could not be rebuilt after an interrupted change. history_ and failed_ have "
            "all answers and failures; fit starts a new run."
        )
        raise
    new = built.run_
    new.seen, new.unwarned = run.seen, run.unwarned
    new.evaluations.batch = [each for each in new.evaluations.batch if each in new.pending]
    new.evaluations.arrived, new.asked_again = run.evaluations.arrived, run.asked_again
    new.moved = run.moved
    adopt_state(optimizer, built)
    return optimizer


def names_of(optimizer: Any) -> list[str] | None:
    """Return the names of the features, from ``fit`` or from the first table; None without."""
    run = optimizer.run_
    if not (run.events and run.events[0][0] == "fit"):
        return run.names
    names = getattr(optimizer, "feature_names_in_", None)
    return None if names is None else list(names)


def adopt_state(optimizer: Any, other: Any, parameters: Collection[str] = ()) -> None:
    """Replace the run state of an optimizer by that of another, in one assignment.

    Attributes of users and of scikit-learn stay. ``parameters`` are replaced as well.
    """

    def is_derived(name: str) -> bool:
        ours = name.startswith("_") or name.endswith("_")
        return ours and not name.startswith("_metadata_request")

    own = {name: value for name, value in vars(optimizer).items() if not is_derived(name)}
    optimizer.__dict__ = own | {
        name: value for name, value in vars(other).items() if is_derived(name) or name in parameters
    }


def _set_again(optimizer: Any, parameters: dict[str, Any]) -> None:
    """Set the parameters of a "set" event; bounds and arms wait for the next ``fit``."""
    optimizer.set_params(**parameters)


def _fit_again(optimizer: Any, X: Any, y: Any, queries: Any = None) -> None:
    """Call ``fit`` with the data of a "fit" event."""
    pairs = {} if queries is None else {"queries": as_coordinates(queries)}
    optimizer.fit(as_coordinates(X), y, **pairs)


def _checked_again(optimizer: Any, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
    """Validate an answer of an earlier run; return query, value and noise variance."""
    if isinstance(query, (optimizer._query_type, PointsQuery)):
        try:
            return optimizer._validate_answer(query, reward, alpha)
        except ValueError:
            pass  # this version does not have the query: use its points
    return optimizer._validate_answer(as_coordinates(query.points), reward, alpha)


def seed_of_run(random_state: Any, replay: Replay | None) -> int:
    """Return the seed of all random numbers of a run; with a replay, the one of the earlier run."""
    if replay is not None and replay.seed is not None:
        return replay.seed
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _none_for_nan(alpha: Any) -> Any:
    """Return noise variances as given to ``tell``: None instead of NaN for learned ones."""
    if isinstance(alpha, list):
        return [_none_for_nan(each) for each in alpha]
    return None if alpha is None or np.isnan(alpha).all() else alpha


# -- The functions of the loop ---------------------------------------------------------------------


# These functions use the five methods of a search, the further ones named on the page on
# architecture, and its run, ``search.run_``. The caller holds the lock of the search.

# -- beginning --------------------------------------------------------------------------


def fit(
    search: Any, X: Any, y: Any, check: Callable[[Any, Any], tuple[Any, ...]] | None = None
) -> Any:
    """Start a new run with points X and evaluations y of f there, or None; return the search.

    ``check`` validates X and y and returns them as arrays, followed by further arrays; None stands
    for :func:`checked_data`.
    """
    with unchanged_by_errors(search):
        _prepare(search)
        check_rows(X, y)
        data = (check or partial(checked_data, search))(points_of(X, search.run_.space), y)
        table = X
        X, y, *pairs = map(own_copy, data)
        _begin_on(search, X)
        check_columns(table, search.run_.names)
        search.run_.names = search.run_.names or search._inputs.names_in(table)
        X = check_inside(X, search.bounds_)
        search.run_.events.append(("fit", X, y, *pairs))
        if y is not None:
            search._observe_initial(X, search.run_.sign.convert(np.asarray(y, dtype=np.float64)))
    return search


def checked_data(search: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return validated points (n, d) and evaluations of f there, or None, as estimators do."""
    several = search._reward_ndim > 0
    if y is None:
        return validate_data(search, X, dtype=np.float64), None
    X, y = validate_data(search, X, y, dtype=np.float64, y_numeric=True, multi_output=several)
    check_squares(y, "y")
    return X, y


def begin(search: Any, check: Callable[[], Any] = lambda: None) -> Any:
    """Begin the run if it has not begun; return ``check()``. An error changes nothing."""
    if hasattr(search, "bounds_"):
        return check()
    with unchanged_by_errors(search):
        _prepare(search)
        _begin_on(search, None)
        return check()


def _prepare(search: Any) -> None:
    """Validate the parameters and the names of sides, and make a new run."""
    check_parameters(search)
    seen = search.get_params(deep=False)
    every = {name: getattr(search, name, None) for name in search._parameter_constraints} | seen
    run = search.run_ = Run({name: own_copy(value) for name, value in every.items()}, seen)
    keeps = search._keeps_settings, search._keeps_ranges
    run.name_sides(type(search).__name__, search._sides, *keeps)
    search._dirty = None


def _begin_on(search: Any, X: np.ndarray | None) -> None:
    """Begin on the domain of the parameters, or on the bounding box of X."""
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
    run = search.run_
    for table in (getattr(run.params, name, None) for name in search._tables):
        if run.space is None and len(column_names(table) or ()) == len(bounds):
            check_columns(table, run.names)
            run.names = column_names(table)
    search._begin_checks()
    search._begin()


# -- parameters set during a run --------------------------------------------------------


def apply_set_params(search: Any, named: Collection[str] = ()) -> None:
    """Apply the parameters that were set since the last call, and add them to the events.

    Parameters that can change during a run apply from now on, the others from the next ``fit``.
    Objects of the parameters in ``named`` may have been changed in place.
    """
    run = search.run_
    seen = run.seen
    own, missing = vars(search), repeat(search)
    # Fast path: in a round all parameters are the objects of the last call.
    if not named and all(map(is_, map(own.get, seen, missing), seen.values())):
        return
    names = [name for name, value in seen.items() if getattr(search, name) is not value]
    if named:
        of_members = not seen.keys() >= set(named)  # names of parameters of members of a list
        names += [
            name
            for name, value in seen.items()
            if name in named or (of_members and isinstance(value, (list, tuple)))
        ]
    if not names:
        return
    with unchanged_by_errors(search):
        check_parameters(search)
        set_now, newest = {name: getattr(search, name) for name in names}, run.newest
        changed = {
            name: own_copy(value)
            for name, value in set_now.items()
            if not are_equal(value, newest[name])
        }
        waiting, of_sets, own = search._at_start, search._of_sets, run.params
        domains = {
            name: changed.pop(name)
            for name in ("bounds", "arms")
            if name in changed and search._replay is None and search._takes_domain(name, changed)
        }
        sets = {"arms", "queries", "targets"} - domains.keys() if of_sets else ()
        if any(not are_equal(getattr(search, each), getattr(own, each)) for each in sets):
            waiting |= of_sets
        search.run_ = run.with_parameters(set_now, changed, waiting)
        if not waiting >= changed.keys():
            search._begin_checks()
            search._on_set_params()
        for name, value in domains.items():
            search._change_domain(name, value)


def apply_set_params_and_warn(search: Any) -> None:
    """Apply parameters that were set; warn once if some of them wait for the next ``fit``."""
    if not hasattr(search, "bounds_"):
        return
    apply_set_params(search)
    run = search.run_
    others = other_spaces(search) if run.unwarned else []
    unwarned, run.unwarned = [name for name in run.unwarned if name not in others], []
    if unwarned:
        warn(
            f"set during a run, {', '.join(unwarned)} will apply from the next fit on: the run "
            "keeps the values that it started with",
            ParameterWarning,
        )


def other_spaces(search: Any) -> list[str]:
    """Return the parameters that were set during the run and would give it other queries."""
    run = search.run_
    if run.newest is run.parameters:
        return []  # fast path: nothing was set
    newest, own = run.newest, vars(run.params)
    changed = [name for name in SPACE & newest.keys() if newest[name] is not own[name]]
    return [name for name in changed if not search._has_queries_of(name, newest[name])]


def check_space(search: Any) -> None:
    """Raise ValueError if queries of the run may be outside the space that was set during it."""
    others = sorted(other_spaces(search))
    if others:
        name = others[0]
        raise ValueError(
            f"{name} was set during the run, and this {type(search).__name__} cannot continue "
            "there: fit(X, y) of the answers so far starts a search there, and "
            f"set_params({name}=...) with the earlier value continues this one; got "
            f"{name}={shorten_value(search.run_.newest[name])}"
        )


# -- asking and telling -----------------------------------------------------------------


@holds_warnings
def commit(search: Any, change: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a change of the run completely, or not at all after an error (decision D-H34).

    The list of events is the truth; the rest of the state is derived from it. A completed change
    has appended its events. For an interrupted change, the first statement of the handler stores
    how many events there were before it. The state is then rebuilt from these events
    (``rebuild_in_place``): at once, or, if that is interrupted too, at the next call of a method.
    Warnings are held back until the change is complete.
    """
    n_events = len(search.run_.events)
    messages: list[Message] | None = []
    try:
        out = change(*arguments)
    except BaseException as error:
        search._dirty = n_events
        if isinstance(error, AllPendingError) and len(search.run_.events) == n_events:
            search._dirty = None  # this error is raised before any change
        else:
            with suppress(BaseException):
                search._rebuild()
        raise
    if messages:
        held, messages = messages, None
        for message in held:
            warn(*message)
    return out


def ask(
    search: Any,
    count: int,
    another: bool,
    context: Any = None,
    fixed: Any = None,
    shared: Collection[str] = (),
) -> list[Any]:
    """Return ``count`` queries: the ones since the last answer, then new ones.

    With ``another`` all of them are new. All have the values of the first on the sides ``shared``.
    """
    run = search.run_
    check_space(search)
    asked = [] if another else list(filter(search._may_ask, run.asked))
    if context is not None:
        asked = [query for query in asked if np.array_equal(query.context, context)]
    if fixed is not None:
        asked = [query for query in asked if search._holds(query, fixed)]
    if shared:
        fixed = _held_at(asked[0], shared, fixed) if asked else fixed or {}
        asked = [query for query in asked if search._holds(query, fixed)]
    again, new = asked[:count], []
    if len(again) < count:
        new = commit(search, ask_more, search, count - len(again), context, fixed, shared)
    run.asked_again.update(again)
    return [*again, *new]


def ask_more(
    search: Any,
    n: int,
    context: np.ndarray | None,
    fixed: Any = None,
    shared: Collection[str] = (),
) -> list[Any]:
    """Choose n new queries, or raise AllPendingError; the first chooses the ``shared`` sides."""
    asked: list[Any] = []
    for _ in range(n):
        propose = partial(search._propose, context)
        if fixed is not None:
            propose = partial(search._propose_with, fixed, context)
        asked.append(search.run_.ask_by(propose, fixed))
        fixed = _held_at(asked[0], shared, fixed) if shared else fixed
    return asked


def _held_at(query: Any, shared: Collection[str], fixed: Mapping[str, Any] | None) -> Any:
    """Return the fixed sides together with the values of a query on the sides ``shared``."""
    return {**(fixed or {}), **{name: query.params[name] for name in shared}}


def tell(search: Any, query: Any, reward: Any, alpha: Any) -> Any:
    """Validate one or several answers and apply them; return the search."""
    apply_set_params_and_warn(search)

    def validate() -> tuple[list[Any], list[str] | None]:
        if isinstance(reward, float) and isinstance(query, search._query_type):
            return [search._validate_answer(query, reward, alpha)], None  # in a round
        inputs, check = search._inputs, search._validate_answer
        told = inputs.validate_answers(query, reward, alpha, search._reward_ndim, check)
        return told, inputs.names_in(query)

    observations, names = begin(search, validate)
    search.run_.names = search.run_.names or names
    together = search._takes_together and len(observations) >= defaults.TOGETHER_FROM
    commit(search, take_together if together else take_in_turn, search, observations)
    return search


def take_in_turn(search: Any, answers: Iterable[tuple[Any, Any, Any]]) -> list[Any]:
    """Apply validated answers one after the other; return the results of :func:`take`."""
    return [take(search, *each) for each in answers]


def take_together(search: Any, answers: Iterable[tuple[Any, Any, Any]]) -> None:
    """Apply validated answers as one change of the model."""
    begin_together(search)
    outcomes = take_in_turn(search, answers)
    end_together(search)
    search._check_measured([each for each in outcomes if each is not None])


def begin_together(search: Any) -> None:
    """Let the next answers change the model together, in :func:`end_together`."""
    run = search.run_
    if not search._takes_together or run.together is not None:
        raise ValueError(f"no answers of a {type(search).__name__} begin together here")
    search._refresh()
    run.events.append(("together",))
    run.together = []


def end_together(search: Any) -> None:
    """Change the model by the answers since :func:`begin_together`."""
    run = search.run_
    answers, run.together = run.together, None
    if answers is None:
        raise ValueError(f"no answers of a {type(search).__name__} were told together here")
    run.events.append(("apart",))
    if answers:
        search._observe_together(answers)


def withdraw(search: Any, query: Any) -> Any:
    """Validate pending queries and take them back; return the search."""
    apply_set_params_and_warn(search)
    run, inputs = search.run_, search._inputs
    given = query if isinstance(query, list) and query and isinstance(query[0], Query) else [query]
    queries = [
        run.restated(each) if isinstance(each, Query) else inputs.query(each) for each in given
    ]
    for each in queries:
        if each not in run.evaluating:
            raise ValueError(f"query must be pending, got {each!r}; pending are {run.evaluating}")
    commit(search, lambda: list(map(run.withdraw, queries)))
    return search


def take(search: Any, query: Any, value: Any, noise: Any) -> Any:
    """Apply one validated answer, or a failure if ``value`` is None.

    Return the outcomes that came with an answer, and None for a failure, or without rows.
    """
    run, outcomes, block = search.run_, None, None
    if isinstance(value, AnswerWithOutcomes):
        outcomes, block, value = value.outcomes, value.block, value.reward
    if value is None:
        run.fail(query, "told as failed")
        if outcomes is not None:
            run.measure(query, outcomes)
        return None
    run.block = block
    if isinstance(value, RowAverage):
        run.count(query, value.count)
        if not value.count:
            return None
        value = float(value)
    search._observe(query, search.run_.sign.convert(value), noise)
    if run.tell(query, value, noise):
        warn(
            f"ask() returned {query!r} several times, and tell() got several answers to it: "
            "ask() returns the same query until it is answered. Give parallel workers the "
            "queries of one ask(n), or call ask(another=True) for each worker",
            PendingWarning,
        )
    if run.together is None:
        search._learn()
    run.block = None
    if outcomes is not None:
        run.measure(query, outcomes)
    if run.together is None:
        search._check_measured([outcomes or {}])
    return outcomes or {}


def measure(search: Any, query: Any, outcomes: dict[str, Any], later: bool = False) -> None:
    """Record outcomes of the last answer to a query, told with it or ``later``."""
    if later:  # candidates of this round must not depend on whether anything has read them
        search._refresh()
    search.run_.measure(query, outcomes, later)


def repeat_events(search: Any, events: Sequence[Event]) -> Any:
    """Return a search to which these events have happened; ``search`` does not change."""
    # The answers before the first event that was left out keep their times.
    told, before = (
        [each for each in log if each[0] in ("tell", "fail")] for log in (events, search._events)
    )
    alike = [one is other for one, other in zip(told, before, strict=False)]
    replay = Replay(
        list(events),
        search.run_.seed,
        names=names_of(search),
        times=search.run_.times[: (*alike, False).index(False)],
    )
    parameters = {name: own_copy(value) for name, value in search.run_.parameters.items()}
    twin, _ = rebuild(type(search), parameters, replay)
    return twin


# -- state of a run ---------------------------------------------------------------------


def has_data(search: Any) -> bool:
    """Return whether the run has answers, or evaluations given to ``fit``."""
    return hasattr(search, "bounds_") and search.run_.has_data


def check_has_data(search: Any) -> None:
    """Raise NotFittedError if there are no observations yet."""
    if has_data(search):
        return
    if not hasattr(search, "bounds_"):
        # Raises an error of its own if the domain is missing as well.
        clone(search).start()
    raise NotFittedError(
        f"This {type(search).__name__} instance has no observations yet: call tell, run or "
        "fit(X, y) before recommend."
    )


def value_of(search: Any, query: Any) -> float:
    """Return the estimated mean reward of the recommendation."""
    if search._recommends_points:
        return float(search.predict(as_coordinates(np.atleast_2d(query))).mean())
    return float(np.sum(search.predict_query([query])))


def summary(search: Any, last: Any, rule: StopRule) -> RunResult[Any]:
    """Return the result of ``run`` after the query ``last``; ``rule`` defines its gap."""
    model, best = search._model, None
    if has_data(search):
        context = as_coordinates(search._contexts.of(last)) if search._contexts else None
        best = search.recommend(context=context)
    result: RunResult[Any] = RunResult(
        x=best,
        fun=nan if best is None else value_of(search, best),
        history=search.history_,
        success=best is not None,
        model={} if model is None else model.describe() | search._prediction_note(best),
        limits=[] if best is None else search._limits_at(best),
        front=search._known_front(),
        resolution=search._gap_averages() if best is not None and search._can_bound_gap else "",
    )
    return result.with_gap((lambda: nan) if best is None else rule.gap_function(search, best))


def stops(search: Any, rule: StopRule) -> str:
    """Return why a run stops now; empty if it goes on, as before the first observation.

    The lock is not held during the computation.
    """
    reason = rule.decide(search) if has_data(search) else ""
    if isinstance(reason, str):
        return reason
    is_true = isinstance(reason, bool | np.bool_) and bool(reason)
    return str(getattr(rule, "message", "stop returned True")) if is_true else ""

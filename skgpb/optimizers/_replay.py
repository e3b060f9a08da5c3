"""Runs that are rebuilt from their log: from a file, with other events, after an interruption."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from math import nan
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skgpb.domains.query import PointsQuery
from skgpb.domains.space import in_coordinates
from skgpb.locks import StateLock
from skgpb.optimizers._limits import Measured, checked_outcomes
from skgpb.optimizers._record import Event


class Replay:
    """An earlier run that an optimizer comes through, and what it takes from that run meanwhile.

    Parameters
    ----------
    events : sequence of events
        The log of the earlier run.
    seed : int, list or None
        Its seed; None draws one.
    names : list of str, default=None
        Names of the features that ``fit`` had.
    batch : sequence of queries, default=()
        Queries that ``run`` was evaluating.
    times : sequence of float, default=()
        When its first answers and failures were told.
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
        # Hyperparameters that the run learned, the next ones last, and when learning failed.
        self._learned = [event[1] for event in events if event[0] == "learned"][::-1]
        self._failures = {event[1:] for event in events if event[0] == "unlearned"}
        #: Optimizers that take what they need from here.
        self._led: list[Any] = []

    # -- what an optimizer takes from the earlier run -----------------------------------------

    @property
    def has_learned(self) -> bool:
        """True while there are learned hyperparameters to be taken; then it learns by itself."""
        return bool(self._learned)

    def next_learned(self) -> Any:
        """Take the next hyperparameters that the run learned."""
        return self._learned.pop()

    def failed_to_learn(self, n_told: int) -> bool:
        """Return whether learning from so many answers failed."""
        return (n_told,) in self._failures

    def lead(self, optimizer: Any) -> None:
        """Let an optimizer take from here until the replay ends."""
        optimizer._replay = self
        self._led.append(optimizer)

    def of_campaign(self, i: int) -> Replay:
        """Return what one of several campaigns takes; it ends with this replay."""
        own = [("unlearned", when) for when, campaign in self._failures if campaign == i]
        part = Replay(own, None if self.seed is None else self.seed[i])
        part._led = self._led
        return part

    # -- coming through it --------------------------------------------------------------------

    def rebuild(self, loop: Any, snapshot: dict[str, Any] | None = None) -> int:
        """Let a fresh loop be where the run was; how many queries came out otherwise.

        With a snapshot nothing is repeated.
        """
        optimizer, n_mismatches = loop.search, 0
        self.lead(optimizer)
        if snapshot is None:
            n_mismatches = self._repeat_all(loop)
        else:
            self._take_over(loop, snapshot)
        for each in self._led:
            vars(each).pop("_replay", None)
            if snapshot is None:  # of campaigns it is not known
                times = each._record.times
                times[:] = [nan] * len(times)
        names = self._names
        if names is not None and self._fitted:
            strings = isinstance(names, list) and all(isinstance(n, str) for n in names)
            if not strings or len(names) != optimizer.n_features_in_:
                raise ValueError(
                    f"feature_names must be a list of {optimizer.n_features_in_} names, "
                    f"got {names!r}"
                )
            optimizer.feature_names_in_ = np.array(names, dtype=object)
        record = loop.record
        record.evaluations.batch = [optimizer._inputs.named(query) for query in self._batch]
        known = list(self._times)[: len(record.times)]
        record.times[: len(known)] = known
        if self._events and self._events[-1][0] != "set":
            record.unsaid = []  # it was said in the run
        return n_mismatches

    @property
    def _fitted(self) -> bool:
        """True if the run began with data."""
        return bool(self._events) and self._events[0][0] == "fit"

    def _repeat_all(self, loop: Any) -> int:
        """Begin as the run did and repeat its events; how many came out otherwise."""
        if not self._fitted:
            loop.begin()
        optimizer, n_mismatches = loop.search, 0
        for kind, *rest in self._events:
            if kind == "fit":
                _fit_again(optimizer, *rest)
            elif kind == "set":
                optimizer.set_params(**rest[0])
            elif kind not in ("learned", "unlearned"):
                query = optimizer._inputs.named(rest[0])
                if kind == "ask":
                    n_mismatches += self._ask(loop, query)
                else:
                    self._take(loop, kind, query, *rest[1:])
        return n_mismatches

    def _take_over(self, loop: Any, snapshot: dict[str, Any]) -> None:
        """Begin as the run did, and take its state over."""
        optimizer = loop.search
        if self._fitted:
            _, X, _, *rest = self._events[0]
            _fit_again(optimizer, X, None, *rest)
        else:
            loop.begin()
        for event in self._events:
            if event[0] == "set":
                optimizer.set_params(**event[1])
        loop.record.events = list(self._events)
        optimizer._restore(snapshot)

    def _ask(self, loop: Any, query: Any) -> bool:
        """Ask again; return whether another query was chosen than in the run."""
        optimizer, record = loop.search, loop.record
        if not isinstance(query, optimizer._query_type):
            raise ValueError(f"no query of a {type(optimizer).__name__}: {query!r}")
        (chosen,) = loop.ask_more(1, optimizer._contexts.of(query))
        if chosen == query:
            return False
        record.take_back(chosen)
        with suppress(ValueError):  # it is no query of this version
            optimizer._inputs.resolved(query)
            if record.pending.get(query) is not None:  # only failed queries were left
                record.release_failed()
            record.ask(query)
        return True

    def _take(self, loop: Any, kind: str, query: Any, *numbers: Any) -> None:
        """Take an answer of the log, or what else it notes of a query."""
        optimizer, record = loop.search, loop.record
        if kind == "tell":
            value, noise, *block = numbers
            reward = Measured(value, None, *block) if block else value
            loop.take(*_checked_again(optimizer, query, reward, _none_for_nan(noise)))
            return
        query, *_ = _checked_again(optimizer, query, None, None)
        if kind == "fail":
            record.fail(query, str(numbers[0]))
        elif kind == "rows":
            record.count(query, int(numbers[0]))
        elif kind == "outcomes":
            record.measure(query, checked_outcomes(numbers[0]))
        else:
            raise ValueError(f"not an event of a saved run: {kind!r}")


def rebuilt(
    cls: type,
    parameters: dict[str, Any],
    replay: Replay,
    snapshot: dict[str, Any] | None = None,
    lock: StateLock | None = None,
) -> tuple[Any, int]:
    """Return an optimizer that is where a run was, and how many queries came out otherwise.

    All parts of it are to hold ``lock``, if one is given.
    """
    optimizer = cls(**parameters)
    if lock is not None:
        optimizer._lock = lock
    with warnings.catch_warnings():
        # The algorithm has issued its warnings in the run itself.
        warnings.simplefilter("ignore")
        return optimizer, replay.rebuild(optimizer._loop, snapshot)


def rebuilt_in_place(optimizer: Any) -> Any:
    """Build the state from the log up to the change that was interrupted, and swap it in.

    It is built in another object, so that an interruption meanwhile changes nothing, and taken
    over at once.
    """
    if optimizer._dirty is None:  # another thread was faster
        return optimizer
    record = optimizer._record
    names = getattr(optimizer, "feature_names_in_", None)
    replay = Replay(
        record.events[: optimizer._dirty],
        optimizer._seed,
        names=None if names is None else list(names),
        batch=record.evaluations.batch,
        times=record.times,
    )
    try:
        built, _ = rebuilt(type(optimizer), record.parameters, replay, lock=optimizer._lock)
    except Exception as error:
        error.add_note(
            "So the run cannot be rebuilt after a change that did not come to its end. "
            "history_ and failed_ have all that was told, and fit starts anew."
        )
        raise
    new = built._record
    new.seen, new.unsaid = record.seen, record.unsaid
    new.evaluations.batch = [each for each in new.evaluations.batch if each in new.pending]
    new.evaluations.arrived, new.asked_again = record.evaluations.arrived, record.asked_again
    take_over(optimizer, built)
    return optimizer


def take_over(optimizer: Any, other: Any, parameters: Collection[str] = ()) -> None:
    """Let an optimizer be what another one is, by one assignment, with some of its parameters.

    What follows from the log is all but attributes of users and of scikit-learn.
    """

    def is_derived(name: str) -> bool:
        ours = name.startswith("_") or name.endswith("_")
        return ours and not name.startswith("_metadata_request")

    own = {name: value for name, value in vars(optimizer).items() if not is_derived(name)}
    optimizer.__dict__ = own | {
        name: value for name, value in vars(other).items() if is_derived(name) or name in parameters
    }


def _fit_again(optimizer: Any, X: Any, y: Any, queries: Any = None) -> None:
    """Repeat ``fit`` with the data of a log."""
    pairs = {} if queries is None else {"queries": in_coordinates(queries)}
    optimizer.fit(in_coordinates(X), y, **pairs)


def _checked_again(optimizer: Any, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
    """Check the answers of an earlier run."""
    if isinstance(query, (optimizer._query_type, PointsQuery)):
        try:
            return optimizer._checked(query, reward, alpha)
        except ValueError:
            # Not what this version asks: but it is known which points were averaged.
            pass
    return optimizer._checked(in_coordinates(query.points), reward, alpha)


def seed_of_run(random_state: Any, replay: Replay | None) -> int:
    """Seed of everything random in a run; that of a loaded run is the one it had."""
    if replay is not None and replay.seed is not None:
        return replay.seed
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _none_for_nan(alpha: Any) -> Any:
    """Return noise variances as told: None, not NaN, for learned ones."""
    if isinstance(alpha, list):
        return [_none_for_nan(each) for each in alpha]
    return None if alpha is None or np.isnan(alpha).all() else alpha

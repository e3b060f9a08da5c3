"""Runs of an optimizer as files: ``save``, ``load``, and the replay between them."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skgpb._version import __version__
from skgpb._warnings import warn
from skgpb.domains import Arm, Blocks, Box, Cells, Districts, PointsQuery, Steps
from skgpb.domains.layout import Layout
from skgpb.exceptions import ReplayWarning
from skgpb.locks import locked
from skgpb.persistence import (
    FORMAT,
    VERSION,
    Reader,
    Writer,
    encode_parameters,
    opened,
    write,
)

# Kinds of events that are about a query.
OF_QUERIES = ("ask", "tell", "fail", "rows")


class SavedRuns:
    """``save`` and ``load`` of an optimizer that keeps a log of what was asked and told."""

    _query_type: Any
    _log: list[tuple[Any, ...]]
    _pending: dict[Any, int | None]

    feature_names_in_: np.ndarray

    # -- one commit point -------------------------------------------------------------------

    def _mended(self: Any) -> Any:
        """Build the state from the log up to the change that was interrupted, and swap it in.

        It is built in another object, so that an interruption meanwhile changes nothing, and taken
        over by one assignment.
        """
        if self._broken is None:  # another thread was faster
            return self
        (_, first), *later = self._parameters_set
        built = type(self)(**first)
        built._lock = self._lock  # its parts are to hold the same lock
        names = getattr(self, "feature_names_in_", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # all has been said
            built._replay(
                self._log[: self._broken],
                getattr(self, "_seed", None),
                None if names is None else list(names),
                self._batch,
                later,
            )
        for name, value in self.get_params(deep=False).items():
            if getattr(built, name) is not value:  # it was set as an attribute
                setattr(built, name, value)
        built._batch = [query for query in built._batch if query in built._pending]
        built._arrived, built._asked_again = self._arrived, self._asked_again
        self.__dict__ = {n: v for n, v in vars(self).items() if not is_derived(n)} | vars(built)
        return self

    @locked
    def save(
        self: Any,
        path: str | os.PathLike[str],
        *,
        omit: Collection[str] = (),
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the run to a file from which :meth:`load` continues it identically.

        The file is a zip archive of JSON and NumPy arrays, in a versioned format that holds the
        parameters and everything asked and told, exactly. It replaces an older one in one step:
        a crash, whenever it comes, leaves a whole file. Links are followed, and the permissions of
        the older file are kept. See :mod:`skgpb.persistence`.

        Parameters
        ----------
        path : path
            Path of the file.
        omit : collection of str, default=()
            Parameters left out, such as functions, which :meth:`load` is then to be given.
        notes : dict, default=None
            Further entries of the file, as JSON has them: a title, units. :meth:`load` ignores
            them, and :func:`skgpb.persistence.read_notes` reads them.

        Raises
        ------
        TypeError
            For parameters that are no data: functions, and kernels of classes that
            :func:`skgpb.persistence.register_kernel` does not know. Nothing is written then.
        ValueError
            For runs so large that :meth:`load` would refuse the file: of more than about 300,000
            rounds, with arrays of more than a gigabyte, which ``omit`` leaves out, or with lists of
            more than about a million numbers, for which arrays can be given.

        Examples
        --------
        >>> import tempfile, os
        >>> from skgpb import GPOOOptimizer
        >>> path = os.path.join(tempfile.mkdtemp(), "run.skgpb")
        >>> opt = GPOOOptimizer(bounds=[(0, 1)], random_state=0)
        >>> opt.tell(opt.ask(), 0.3).save(path)
        >>> resumed = GPOOOptimizer.load(path)
        >>> resumed.ask() == opt.ask()
        True
        """
        self._ensure_started()
        writer = Writer()
        parameters = encode_parameters(writer, self.get_params(deep=False), omit)
        events = []
        for kind, *rest in self._log:
            if kind == "fit":
                events.append([kind, *(writer.encode(each, "X") for each in rest)])
            elif kind == "learned":
                events.append([kind, writer.encode(rest[0], "hyperparameters")])
            elif kind == "unlearned":
                events.append([kind, *rest])
            else:
                query, *numbers = rest
                numbers = [writer.encode(each, "reward") for each in numbers]
                events.append([kind, writer.query(query), *numbers])
        names = getattr(self, "feature_names_in_", None)
        document = {
            "format": FORMAT,
            "version": VERSION,
            "skgpb": __version__,
            "class": type(self).__name__,
            "parameters": parameters,
            "omitted": sorted(omit),
            "seed": self.seed_,
            "feature_names": None if names is None else list(names),
            "events": events,
            "batch": [writer.query(query) for query in self._batch],
        }
        if notes is not None:
            document["notes"] = dict(notes)
        snapshot = writer.encode(self._snapshot(), "snapshot")
        write(path, document, writer.arrays, snapshot)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False, **parameters: Any) -> Self:
        """Read a run that was saved, ready to go on as if it had never stopped.

        Nothing in the file is executed: it names classes of this library, parameters and
        numbers. A snapshot in the file says what was decided in the run, so that nothing is chosen
        or learned again, and the posterior takes one factorisation. Its rounding is another than
        that of the run, by less than what lets queries tie (decision D-G1). Without a snapshot,
        with other parameters or in another version of the library the run is repeated round by
        round, with the hyperparameters that were learned (learned anew for indirect queries).

        Parameters
        ----------
        path : path
            A file of :meth:`save`, by an optimizer of this class or of one derived from it.
        verify : bool, default=False
            Whether to choose every query again, and to refuse a file whose queries come out
            otherwise: it was altered, or rounding or the library are others.
        **parameters
            Parameters that were omitted from the file, or that are to be others from now on.

        Returns
        -------
        optimizer : instance of the class that was saved

        Raises
        ------
        skgpb.exceptions.LoadError
            A ``ValueError``: the file is damaged, no saved run, one of another class or of a later
            version of the format, or lacks parameters that are not given. With ``verify`` also
            where queries come out otherwise than they did.
        OSError
            If it cannot be opened.

        Warns
        -----
        ReplayWarning
            If queries that are chosen again differ from the saved ones, which rounding on
            another machine or another version of the library may cause. What was told is exact all
            the same.
        """
        with opened(path) as (document, arrays):
            every = _with_subclasses(cls)
            known = {each.__name__: each for each in every}
            if document["class"] not in known:
                raise ValueError(f"it holds a {document['class']}, not a {cls.__name__}")
            cls = known[document["class"]]
            kinds: list[type] = [PointsQuery, Box, Steps]
            for each in (cls._query_type, Arm, Blocks, Cells, Districts, Layout):
                kinds += _with_subclasses(each)
            reader = Reader(arrays, kinds, _with_subclasses(SavedRuns))
            missing = sorted(set(document["omitted"]) - set(parameters))
            if missing:
                raise ValueError(
                    f"it was saved without {missing}: pass them to load, as in "
                    f"load(path, {missing[0]}=...)"
                )
            again = verify or document["skgpb"] != __version__
            again = again or bool(set(parameters) - set(document["omitted"]))
            snapshot = None if again else arrays.snapshot()
            optimizer, surprises = cls._rebuilt(
                reader.parameters(document["parameters"]) | parameters,
                again,
                [_decoded(reader, *event) for event in document["events"]],
                document["seed"],
                document["feature_names"],
                [reader.query(each) for each in document["batch"]],
                snapshot=reader.decode(snapshot),
            )
            steps = f"{surprises} of {len(document['events'])} steps"
            others = f"chose other queries than skgpb {document['skgpb']} did"
            if surprises and verify:
                raise ValueError(f"{steps} {others}")
        if surprises:
            warn(
                f"{steps} of {os.fspath(path)!r} {others}; the answers stay those that were told",
                ReplayWarning,
            )
        return optimizer

    @classmethod
    def _rebuilt(
        cls, parameters: dict[str, Any], again: bool, *run: Any, snapshot: Any = None
    ) -> tuple[Any, int]:
        """Return an optimizer that has come through a run, and how many queries came out otherwise.

        It takes the state from the snapshot, or repeats the run. With ``again`` all queries are
        chosen again then, otherwise only if choosing changes the state.
        """
        optimizer: Any = cls(**parameters)
        optimizer._replay_trusts = not again
        with warnings.catch_warnings():
            # The algorithm has issued its warnings in the run itself.
            warnings.simplefilter("ignore")
            return optimizer, optimizer._replay(*run, snapshot=snapshot)

    def _replay(
        self: Any,
        events: list[tuple[Any, ...]],
        seed: Any,
        names: Any = None,
        batch: Sequence[Any] = (),
        given: Sequence[tuple[int, dict[str, Any]]] = (),
        snapshot: dict[str, Any] | None = None,
    ) -> int:
        """Repeat the events of a run, and return how many queries came out differently.

        ``given`` has pairs: a number of events, and the parameters that were set after them. With
        a snapshot nothing is repeated.
        """
        surprises = 0
        if snapshot is None:
            surprises = self._repeat_all(events, seed, given)
        else:
            self._take_over(events, seed, snapshot)
        if names is not None and events and events[0][0] == "fit":
            strings = isinstance(names, list) and all(isinstance(n, str) for n in names)
            if not strings or len(names) != self.n_features_in_:
                raise ValueError(
                    f"feature_names must be a list of {self.n_features_in_} names, got {names!r}"
                )
            self.feature_names_in_ = np.array(names, dtype=object)
        self._batch = [self._named(query) for query in batch]
        return surprises

    def _repeat_all(
        self: Any,
        events: list[tuple[Any, ...]],
        seed: Any,
        given: Sequence[tuple[int, dict[str, Any]]] = (),
    ) -> int:
        """Begin as a run with this seed did and repeat its events; how many came out otherwise."""
        learned = [event[1] for event in events if event[0] == "learned"]
        failures = [event[1:] for event in events if event[0] == "unlearned"]
        self._prepare_replay(seed, learned, failures)
        if not events or events[0][0] != "fit":
            self._ensure_started()
        surprises, later = 0, list(given)[::-1]
        for i, (kind, *rest) in enumerate(events):
            while later and later[-1][0] <= i:
                self.set_params(**later.pop()[1])
            if kind == "fit":
                self._refit(*rest)
            elif kind not in ("learned", "unlearned"):
                query, *numbers = rest
                surprises += self._repeat(kind, self._named(query), *numbers)
        for _, parameters in later[::-1]:
            self.set_params(**parameters)
        self._finish_replay()
        return surprises

    # -- snapshots ----------------------------------------------------------------------------

    @abstractmethod
    def _snapshot(self) -> dict[str, Any]:
        """Return the state that follows from the log, but not at little cost."""

    @abstractmethod
    def _restore(self, snapshot: dict[str, Any]) -> None:
        """Take the state over from a snapshot, right after the start; the log is there already."""

    def _take_over(self: Any, events: list[tuple[Any, ...]], seed: Any, snapshot: Any) -> None:
        """Begin as a run with this seed did, and be where it was after these events."""
        self._prepare_replay(seed)
        if events and events[0][0] == "fit":
            _, X, _, *rest = events[0]
            self._refit(X, None, *rest)
        else:
            self._ensure_started()
        for query in {
            id(event[1]): event[1] for event in events if event[0] in OF_QUERIES
        }.values():
            self._named(query)
        self._log = events
        self._restore(snapshot)
        self._finish_replay()

    @property
    @locked
    def events_(self) -> list[tuple[Any, ...]]:
        """Everything that happened since the start, in its order.

        ``("fit", X, y)``, ``("ask", query)``, ``("tell", query, reward, alpha)``, alpha being NaN
        if it was to be learned, ``("fail", query, reason)``, ``("learned", hyperparameters)`` and
        ``("unlearned", n_answers)``; before an answer told with its ``count``, and in the place of
        one about no row, ``("rows", query, count)``. See :meth:`repeated`.
        """
        check_is_fitted(self, "bounds_")
        return list(self._log)

    @locked
    def repeated(self: Any, events: Sequence[tuple[Any, ...]]) -> Any:
        """Return the run that this one would be, had these events happened.

        So an answer is corrected or taken back after others have followed it.

        Parameters
        ----------
        events : sequence of tuples
            Events of :attr:`events_` after a change. If an event of learning is left out, as it has
            to be after the first change, hyperparameters are learned anew at that time.

        Returns
        -------
        optimizer : instance of the same class
            With the same parameters and the same seed. This one is not changed.

        Examples
        --------
        >>> from skgpb import GPUCBOptimizer
        >>> opt = GPUCBOptimizer(arms=[[0.0], [0.5], [1.0]], random_state=0)
        >>> for answer in (1.0, 25.0):
        ...     _ = opt.tell(opt.ask(), answer)
        >>> told = [event for event in opt.events_ if event[0] in ("ask", "tell")]
        >>> told[3] = ("tell", told[3][1], 2.5, None)  # the comma was forgotten
        >>> opt.repeated(told).history_["reward"]
        array([1. , 2.5])
        """
        names = getattr(self, "feature_names_in_", None)
        twin, _ = self._rebuilt(
            clone(self).get_params(deep=False),
            True,
            list(events),
            self.seed_,
            None if names is None else list(names),
        )
        return twin

    @locked
    def _prepare_replay(
        self,
        seed: Any = None,
        learned: Sequence[dict[str, Any]] = (),
        failures: Sequence[tuple[Any, ...]] = (),
    ) -> None:
        """Take from an earlier run what it cannot compute again, until :meth:`_finish_replay`.

        Parameters
        ----------
        seed : int, default=None
            The ``seed_`` that it had; None draws one.
        learned : sequence of dict, default=()
            Hyperparameters that it learned, in its order. Once none is left, it learns by itself.
        failures : sequence of tuples, default=()
            Times at which it failed to learn, each as ``(number of answers,)``.
        """
        if seed is not None:
            self._replayed_seed = seed
        self._replayed_learning = list(learned)[::-1]
        self._replayed_failures = set(failures)

    @locked
    def _finish_replay(self) -> None:
        """Go on as a run of its own."""
        names = ("_replayed_seed", "_replayed_learning", "_replayed_failures", "_replay_trusts")
        for name in names:
            self.__dict__.pop(name, None)

    @property
    @locked
    def seed_(self) -> Any:
        """Seed of all random numbers of this run; None if there are none."""
        check_is_fitted(self, "bounds_")
        return getattr(self, "_seed", None)

    def _refit(self: Any, X: np.ndarray, y: np.ndarray | None) -> None:
        self.fit(X, y)

    def _repeat(self: Any, kind: str, query: Any, *numbers: Any) -> bool:
        """Repeat one ask, tell or failure; whether an ask came out otherwise."""
        if kind == "ask":
            if not isinstance(query, self._query_type):
                raise ValueError(f"no query of a {type(self).__name__}: {query!r}")
            if self.__dict__.get("_replay_trusts") and self._look_at_round():
                return self._ask_as_told(query)
            chosen = self._ask_for(*self._choice_of(query))
            if chosen == query:
                return False
            del self._pending[chosen], self._asked[-1], self._log[-1]
            self._ask_as_told(query)
            return True
        if kind == "fail":
            (reason,) = numbers
            query, *_ = self._checked_again(query, None, None)
            self._fail(query, str(reason))
            return False
        if kind != "tell":
            raise ValueError(f"not an event of a saved run: {kind!r}")
        value, noise = numbers
        self._take(*self._checked_again(query, value, _none_for_nan(noise)))
        return False

    def _look_at_round(self) -> bool:
        """Do all that choosing a query changes but the choice; whether that can be done."""
        return False

    def _ask_as_told(self: Any, query: Any) -> bool:
        """Repeat a query of a log; return whether it is not a query of this optimizer."""
        try:
            self._resolve(query)
        except ValueError:
            return True
        if self._pending.get(query) is not None:  # only failed queries were left
            self._pending = {each: None for each, until in self._pending.items() if until is None}
        self._asked.append(query)
        self._pending[query] = None
        self._log.append(("ask", query))
        return False

    def _checked_again(self: Any, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        """Check the answers of a saved run."""
        if isinstance(query, self._query_type):
            try:
                return self._checked(query, reward, alpha)
            except ValueError:
                # Not what this version asks: but it is known which points were averaged.
                pass
        return self._checked(query.points, reward, alpha)

    def _choice_of(self: Any, query: Any) -> tuple[Any, ...]:
        """Return the function, and its arguments, by which a query was chosen."""
        return (self._choose,)


def is_derived(name: str) -> bool:
    """Return whether an attribute follows from the log: not those of users and of scikit-learn."""
    ours = name.startswith("_") or name.endswith("_")
    return ours and not name.startswith(("_skl", "_parent_callback", "_metadata_request"))


def _decoded(reader: Reader, kind: str, *rest: Any) -> tuple[Any, ...]:
    """Return an event as the log has it."""
    if kind in ("fit", "learned"):
        return kind, *(reader.decode(each) for each in rest)
    if kind == "unlearned":
        return kind, *rest
    numbers = (each if type(each) is float else reader.decode(each) for each in rest[1:])
    return kind, reader.query(rest[0]), *numbers


def _none_for_nan(alpha: Any) -> Any:
    """Return noise variances as told: None, not NaN, for learned ones."""
    if isinstance(alpha, list):
        return [_none_for_nan(each) for each in alpha]
    return None if alpha is None or np.isnan(alpha).all() else alpha


def _with_subclasses(cls: Any) -> list[Any]:
    return [cls, *(each for child in cls.__subclasses__() for each in _with_subclasses(child))]

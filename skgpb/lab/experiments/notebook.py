"""The notebook of an experiment: its file, read before each use and written after each change."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import isnan, nan
from pathlib import Path
from types import EllipsisType
from typing import Any, Self

import numpy as np

from skgpb import defaults
from skgpb.domains import PointsQuery, Region
from skgpb.exceptions import LimitWarning, LoadError, ReplayWarning
from skgpb.lab.experiments.answers import (
    AnswerRange,
    EnteredAnswer,
    format_range,
    read_answer,
    read_range,
)
from skgpb.lab.experiments.blocks import block_name, read_block
from skgpb.lab.experiments.changes import Change, checked_author, differences, editable_fields
from skgpb.lab.experiments.entries import TOGETHER, Entry, make_entries
from skgpb.lab.experiments.limits import (
    format_limits,
    is_within_limits,
    lacks_outcome,
    outcome_values,
    read_limits,
    required_measurements,
)
from skgpb.lab.experiments.plan import Plan
from skgpb.lab.experiments.records import LabRecord, today
from skgpb.lab.experiments.scores import Score, read_score
from skgpb.lab.experiments.sides import Side
from skgpb.lab.experiments.table import PastAnswers, read_answers
from skgpb.lab.experiments.texts import quote, quote_name, to_one_line
from skgpb.lab.experiments.trade_offs import format_goals, read_goals
from skgpb.lab.file_lock import FileLock
from skgpb.optimizers import GPOOOptimizer
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers.changed_box import LEARNING
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.optimizers.search import Search
from skgpb.utils.locks import StateLock
from skgpb.utils.persistence import read_notes
from skgpb.utils.typing import Directions, Limits
from skgpb.utils.warnings import warn

# Classes of optimizers whose queries are settings, or averages over regions of them.
OPTIMIZER_CLASSES = (Search, GPOOOptimizer)
# Keys of a file that are for display only.
LABELS = ("title", "answer", "unit")
# Name under which answers without a name become measurements when a score is added.
DEFAULT_ANSWER_NAME = "answer"
# Limit: queries that a warning names.
MOST_NAMED = 5


class Notebook:
    """The file of an experiment: all queries with their numbers, answers and notes.

    Parameters
    ----------
    path : path
        The file.

    Attributes
    ----------
    plan : Plan
        The search, with the sides and all other rules for queries.
    entries : list of Entry
        The queries.
    labels : dict of str
        Names for display.
    block : str
        Field that names the block of an answer; empty without blocks.
    range : pair of float or None
        Range of the averages of answers; None for an open end.
    score : Score or None
        Formula of the answers; None if they are told.
    records : dict of LabRecord
        Notes on queries, by the numbers of the queries.
    """

    plan: Plan
    entries: list[Entry]
    # Lock of the threads of this process; a FileLock keeps out other processes.
    _threads: StateLock
    # Signature of the file at the last read or write; None if it has to be read again.
    _seen: bytes | None
    # Whether a ``with`` block of ``exclusive`` is open, and whether it has changed something.
    _is_exclusive = _is_changed = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._threads, self._seen = Path(path), StateLock(), None
        self._read()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        plan: Plan,
        notes: dict[str, Any],
        data: str | os.PathLike[str] | None,
        skip_outside: bool,
    ) -> Self:
        """Write the file of a new experiment, with the rows of a table, if there is one."""
        self = cls.__new__(cls)
        self.path, self._threads, self.plan = Path(path), StateLock(), plan
        self._take_notes(notes)
        if data is not None:
            self._begin_with_past(self._table_reader(None)(data, skip_outside=skip_outside))
        with FileLock(self.path):
            if self.path.exists():
                raise ValueError(f"{self.path} exists already: choose another name")
            self._write()
        return self

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the exclusive lock of the file during a ``with`` block.

        No other program can change the file between a read and a change in the block. All changes
        of the block are written at its end; after an error none of them is.
        """
        with self._threads, FileLock(self.path):
            is_outer, self._is_exclusive = not self._is_exclusive, True
            try:
                yield
                if is_outer and self._is_changed:
                    self._write()
                    self._is_changed = False
            except BaseException:
                # This object may be changed halfway: read the file again.
                self._seen, self._is_changed = None, False
                raise
            finally:
                self._is_exclusive = not is_outer

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read the file if it has changed, during a ``with`` block that only reads."""
        with self._threads:
            self._read()
            yield

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the file during a ``with`` block, holding its lock."""
        with self.exclusive():
            self._read()
            yield
            self._is_changed = True

    def _signature(self) -> bytes:
        """Return the hash of the file.

        Inode and times would not do: numbers of inodes are used again, and file times are coarse.
        """
        return hashlib.sha256(self.path.read_bytes()).digest()

    def _read(self) -> None:
        """Read the file unless it is unchanged since this object read or wrote it."""
        while (before := self._signature()) != self._seen:
            with warnings.catch_warnings():
                # After a correction the run has other queries than its answers would lead to.
                warnings.simplefilter("ignore", ReplayWarning)
                optimizer: Any = BaseBanditOptimizer.load(self.path)
            notes = read_notes(self.path)
            if self._signature() != before:
                continue
            if isinstance(optimizer, CombinatorialBandit):
                raise LoadError(
                    f"{str(self.path)!r} holds campaigns that share a budget: open it with "
                    "Campaigns, or in the shell by skgpb budget"
                )
            if not isinstance(optimizer, OPTIMIZER_CLASSES) or optimizer.run_.space is None:
                raise LoadError(
                    f"{str(self.path)!r} holds a {type(optimizer).__name__} whose sides have no "
                    "names or which an experiment cannot ask: make one with Experiment.create"
                )
            try:
                self.plan = Plan(optimizer)
                self._take_notes(notes)
            except (TypeError, ValueError, KeyError) as error:
                raise LoadError(f"{str(self.path)!r} has notes of no experiment: {error}") from None
            self._seen = before

    def _take_notes(self, notes: dict[str, Any]) -> None:
        """Set the fields from the notes in a file; a run saved from Python has no notes."""
        self.labels: dict[str, str] = {
            name: to_one_line(str(notes.get(name, ""))) for name in LABELS
        }
        # Numbers of the entries that events of the run began, in order; the largest number so far.
        self._numbers = [int(number) for number in notes.get("numbers", [])]
        self._last = int(notes.get("last", 0))
        self.block: str = to_one_line(str(notes.get("block", "")))
        self.range: AnswerRange = read_range(notes.get("answer_range", ""))
        score = str(notes.get("score", ""))
        self.score = Score(score) if score else None
        self._left_out = [to_one_line(str(text)) for text in notes.get("left_out", [])]
        kept = notes.get("records", {})
        self.records = {int(number): LabRecord.of(each) for number, each in kept.items()}
        self._changes = [Change.of(each) for each in notes.get("changes", [])]
        # Regions of pending queries that the present tree would not ask, by their numbers.
        self._lost: dict[int, Region] = {}
        for number, lower, upper, counts in notes.get("lost", []):
            ends = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
            self._lost[int(number)] = self.plan.region(*ends, tuple(map(int, counts)))
        self._count()

    def _write(self) -> None:
        """Write the file, whose lock is held."""
        lost = [
            [each, region.lower.tolist(), region.upper.tolist(), list(region.counts)]
            for each, region in self._lost.items()
        ]
        kept = {str(number): record.nonempty_fields() for number, record in self.records.items()}
        notes = {
            **self.labels,
            **({"block": self.block} if self.block else {}),
            **({"score": self.score.text} if self.score is not None else {}),
            **({"answer_range": self.range} if self.range != (None, None) else {}),
            "numbers": self._numbers,
            "last": self._last,
            "lost": lost,
            "left_out": self._left_out,
            "records": {number: each for number, each in kept.items() if each},
            "changes": [each.as_dict() for each in self._changes],
        }
        self.plan.optimizer.save(self.path, notes=notes)
        self._seen = self._signature()

    # -- entries ----------------------------------------------------------------------------

    def _count(self, *more: int) -> None:
        """Recompute the entries from the events; ``more`` are numbers for new entries."""
        plan, limits, costs = self.plan, self.plan.limits, self.plan.costs
        numbers, alpha = [*self._numbers, *more], plan.optimizer.run_.params.alpha
        self.entries = make_entries(plan.events, numbers, self._last, plan.space, alpha)
        self._numbers = [entry.number for entry in self.entries]
        self._last = max([self._last, *self._numbers])
        self.entries += [Entry(each, query) for each, query in self._lost.items()]
        for entry in self.entries:
            entry.record = self.records.get(entry.number, entry.record)
            if entry.record.skipped and entry.status == "failed":
                entry.status, entry.reason = "skipped", None
            entry.within_limits = is_within_limits(entry.record.measured, limits)
            if costs:
                entry.cost = plan.optimizer.run_.params.cost(entry.query.params)

    def _replay(
        self, events: list[Any] | None = None, changed: int | None = None, plan: Plan | None = None
    ) -> None:
        """Repeat the run with the present notes.

        Parameters
        ----------
        events : list, default=None
            Other events; None in place of a removed one. None for the present ones.
        changed : int, default=None
            Index of the first event that was changed; None if there is none.
        plan : Plan, default=None
            Plan that repeats them; None for the present one.
        """
        events = self.plan.events if events is None else events
        changed = len(events) if changed is None else changed
        plan = self.plan if plan is None else plan
        began: dict[int, list[int]] = {}
        for entry in self.entries:
            began.setdefault(entry.began, []).append(entry.number)
        kept: list[tuple[Any, list[int]]] = []
        for i, event in enumerate(events):
            # Drop hyperparameters learned after the change: the run learns them again.
            if event is None or (i > changed and event[0] in LEARNING) or event[0] == "outcomes":
                continue
            written = self._replacement_events(i, event, began.get(i, []), plan)
            if written[0][0] is not event:
                changed = min(changed, i)
            kept += written
        self.plan = plan.repeated([event for event, _ in kept])
        self._numbers = [number for _, numbers in kept for number in numbers]
        self._count()

    def _replacement_events(
        self, i: int, event: Any, numbers: list[int], plan: Plan
    ) -> list[tuple[Any, list[int]]]:
        """Return the events that replace an event, each with the numbers of the entries it begins.

        The event of an answer gets the block of its record, and an event with its outcomes follows.
        With a score, the answer is computed from the measurements of the record. With blocks or a
        score, past data, which are one event, become one event for each row.
        """
        if event[0] == "tell":
            (entry,) = (entry for entry in self.entries if entry.ended == i)
            told = self._answer_event(event, entry.number)
            return [(told, numbers), *self._outcome_events(event[1], entry.number, plan.outcomes)]
        if event[0] == "fail":
            (entry,) = (entry for entry in self.entries if entry.ended == i)
            skipped = self._record(entry.number).skipped  # it is no failure
            return [(("withdraw", event[1]) if skipped else event, numbers)]
        if event[0] != "fit":
            return [(event, numbers)]
        out = list[tuple[Any, list[int]]]()
        is_split = bool(self.block or self.score)
        for x, y, number in zip(event[1], event[2].tolist(), numbers, strict=True):
            query = plan.point_query(x)
            if is_split:
                out.append((self._answer_event(("tell", query, y, nan), number), [number]))
            out += self._outcome_events(query, number, plan.outcomes)
        if len(out) >= defaults.TOGETHER_FROM:
            begins, ends = (((kind,), list[int]()) for kind in TOGETHER)
            out = [begins, *out, ends]
        return out if is_split else [(event, numbers), *out]

    def _answer_event(self, event: Any, number: int) -> Any:
        """Return the event of an answer with the block and score of its record, if they differ."""
        record, block = self._record(number), block_name(self._record(number), self.block)
        value, alpha = event[2:4]
        if self.score is not None:
            try:
                value, alpha = self.score(event[1].params | record.measured), nan
            except ValueError as error:
                raise ValueError(f"query {number}: {error}") from None
        told = (*event[:2], value, alpha, *([] if block is None else [block]))
        same = (value, isnan(alpha), told[4:]) == (event[2], isnan(event[3]), event[4:])
        return event if same else told

    def _outcome_events(
        self, query: Any, number: int, limits: Limits
    ) -> list[tuple[Any, list[int]]]:
        """Return the event of the outcomes of an entry in a list, which is empty if it has none."""
        outcomes = outcome_values(self._record(number).measured, limits, number) if limits else {}
        return [(("outcomes", query, outcomes), [])] if outcomes else []

    def _record(self, number: int) -> LabRecord:
        """Return the notes on a query; an empty record if there are none."""
        return self.records.get(number) or LabRecord()

    def entry(self, query: int) -> Entry:
        """Return the entry with a number; raise ValueError if there is none."""
        for entry in self.entries:
            if entry.number == query:
                return entry
        numbers = f"1 to {self._last}" if self._last else "none so far"
        raise ValueError(f"there is no query {query!r}; queries have the numbers {numbers}")

    def pending_entry(self, query: int | None) -> Entry:
        """Return the entry of a pending query; of the only one if ``query`` is None."""
        if query is None:
            pending = [entry for entry in self.entries if entry.status == "pending"]
            if len(pending) == 1:
                return pending[0]
            if not pending:
                raise ValueError(
                    "no query is pending: ask for one, or say where it was measured, with --at "
                    "NAME=VALUE on the command line or at={name: value} in Python"
                )
            numbers = ", ".join(str(entry.number) for entry in pending)
            raise ValueError(
                f"{len(pending)} queries are pending, {numbers}: say which one, with --query "
                f"{pending[0].number} on the command line or query={pending[0].number} in Python"
            )
        entry = self.entry(query)
        if entry.status == "pending":
            return entry
        what = {"failed": "failed", "skipped": "was skipped"}.get(
            entry.status
        ) or f"has the answer {entry.answer:g}"
        raise ValueError(
            f"query {query} {what} already: correct it if that is wrong, with --correct on the "
            "command line or Experiment.correct in Python"
        )

    # -- asking and telling ---------------------------------------------------------------------

    def ask(
        self,
        n: int = 1,
        *,
        another: bool = False,
        fixed: Mapping[str, Any] | None = None,
        shared: Collection[str] = (),
    ) -> list[dict[str, Any]]:
        """Return the next queries, each to be evaluated once.

        Until an answer is told, ``ask`` returns the same queries again, followed by new ones if
        ``n`` is larger than before. Earlier queries without an answer stay pending as well: see
        :meth:`pending`.

        The first queries are a design in which all values of a list occur about equally often. It
        has ten queries, or as many as the longest list has values, but at most 25. If the first
        call has a larger ``n``, such as 96 for a plate, it has ``n`` queries.

        Parameters
        ----------
        n : int, default=1
            Number of queries.
        another : bool, default=False
            Whether to return new queries instead of the pending ones, as for a second oven.
        fixed : dict, default=None
            Values of sides that these queries shall have: ``{"temperature": 60}``. Not for regions.
        shared : collection of str, default=()
            Names of sides that have one value in all n queries, which the search chooses:
            ``["temperature"]`` for a plate in one oven. Not for regions.

        Returns
        -------
        queries : list of n dicts
            As in :meth:`history`.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"the number of queries must be a whole number >= 1, got {n!r}")
        with self.exclusive():
            self._read()
            n_before = len(self.plan.events)
            is_first = all(entry.status == "pending" for entry in self.entries)
            queries = self.plan.ask(n, another, is_first, fixed, shared)
            if len(self.plan.events) > n_before:
                self._count()
                self._is_changed = True
            pending = {entry.query: entry for entry in self.entries if entry.status == "pending"}
            return [pending[query].as_dict() for query in queries]

    def tell(
        self,
        answer: float | str | Sequence[float] | None = None,
        query: int | None = None,
        *,
        at: Mapping[str, Any] | None = None,
        noise: float | None = None,
        note: str | None = None,
        operator: str | None = None,
        date: str | None = None,
        measured: Mapping[str, float | str] | None = None,
    ) -> dict[str, Any]:
        """Tell an answer.

        Parameters
        ----------
        answer : float, str or sequence of float
            The answer. A text such as ``"12 of 300"`` is a proportion, 4 if the unit is % and
            0.04 if not; its noise variance follows from the counts. Several numbers, as a list or
            a text such as ``"14.7 15.3"``, are replicate measurements of this one run: the answer
            is their mean, and its noise their standard error, which is itself uncertain below about
            five of them. If all are equal, the noise of the experiment applies.
            None if a score computes the answer from ``measured``. If a part of what the score needs
            is measured later, the query stays pending until the rest is told.
        query : int, default=None
            Number of the query, which must be pending. None if only one query is pending, or for an
            answer ``at`` a setting that was not asked.
        at : dict, default=None
            The setting of the measurement, if it is not exactly the one asked: a value for every
            side, as a number or a text. With ``query`` it replaces the setting of that query.
        noise : float, default=None
            Standard deviation of the noise in this answer; None for that of the experiment.
        note, operator : str, default=None
            For the notebook: a remark, and the name of the operator.
        date : str, default=None
            Date of the measurement, as YYYY-MM-DD; None for today.
        measured : dict, default=None
            Further measurements, numbers or texts by name. They are saved and exported. An outcome
            with a limit must be a number; the model of the limit learns from it. It may be missing.

        Returns
        -------
        entry : dict
            As in :meth:`history`.
        """
        unit = self.labels["unit"]
        told = None if answer is None else read_answer(answer, noise, unit=unit)
        record = LabRecord(date=today(), measurements=[] if told is None else [*told.measurements])
        record.write(note, operator, date, measured)
        if told is not None:
            record.add_note(told.note)
        with self.changing():
            self._check_told(told is not None, noise)
            if told is None and at is None and self._is_part(query, record):
                number = self.pending_entry(query).number
                return self.annotate(
                    number, note=note, operator=operator, date=date, measured=measured
                )
            value, alpha = (
                (self._compute_score(query, at, record), None) if told is None else told[:2]
            )
            return self._take(query, at, value, alpha, record)

    def fail(
        self,
        query: int | None = None,
        *,
        at: Mapping[str, Any] | None = None,
        note: str | None = None,
        operator: str | None = None,
        date: str | None = None,
        measured: Mapping[str, float | str] | None = None,
    ) -> dict[str, Any]:
        """Tell that there is no answer, because the evaluation failed.

        The query is not asked again for a while. The model of the answers does not change.

        Parameters
        ----------
        query : int, default=None
            As for :meth:`tell`.
        at : dict, default=None
            As for :meth:`tell`.
        note, operator, date, measured
            As for :meth:`tell`.

        Returns
        -------
        entry : dict
            As in :meth:`history`.
        """
        record = LabRecord(date=today())
        record.write(note, operator, date, measured)
        with self.changing():
            return self._take(query, at, None, None, record)

    def skip(
        self,
        query: int | None = None,
        *,
        note: str | None = None,
        operator: str | None = None,
        date: str | None = None,
        measured: Mapping[str, float | str] | None = None,
    ) -> dict[str, Any]:
        """Skip a query, for a reason that does not depend on its setting.

        A skipped query is not counted as a failure, and no model learns from it. As after a
        failure, the same setting may be asked again some answers later.

        Parameters
        ----------
        query : int, default=None
            As for :meth:`tell`.
        note : str, default=None
            The reason.
        operator, date, measured
            As for :meth:`tell`.

        Returns
        -------
        entry : dict
            As in :meth:`history`, with the status "skipped".
        """
        record = LabRecord(date=today(), skipped=True)
        record.write(note, operator, date, measured)
        with self.changing():
            return self._take(query, None, None, None, record)

    def repeat(self, query: int) -> dict[str, Any]:
        """Ask for a replicate: another answer at the setting of an earlier query.

        Parameters
        ----------
        query : int
            Number of the earlier query.

        Returns
        -------
        entry : dict
            The new query, which is pending, as in :meth:`history`.
        """
        with self.changing():
            asked = self.entry(query).query
            if isinstance(asked, PointsQuery):
                asked = self.plan.placed_arm(asked.points[0])
            if any(entry.query == asked for entry in self.entries if entry.status == "pending"):
                raise ValueError(f"the setting of query {query} is pending already")
            if self.plan.is_tree:
                raise ValueError(
                    "repeat needs an experiment over single settings, and this one has regions"
                )
            events = self.plan.events
            self._replay([*events, ("ask", asked)], len(events))
            return max(self.entries, key=lambda entry: entry.began).as_dict()

    def _check_told(self, is_told: bool, noise: float | None = None) -> None:
        """Raise ValueError unless exactly one of an answer and a score is given."""
        if self.score is None and not is_told:
            raise ValueError("there is no answer: give the number that was measured")
        if self.score is not None and (is_told or noise is not None):
            raise ValueError(
                f"the answer is computed by {self.score.text!r}: give what was measured, not the "
                "answer or its noise"
            )

    def _check_names(self, measured: Mapping[str, Any]) -> None:
        """Raise ValueError for a name that differs only in case from the name of a measurement."""
        names = [*self.measurement_names(), self.block]
        meant = {name.casefold(): name for name in names}
        for name, value in measured.items():
            right = meant.get(name.strip().casefold(), name)
            if value != "" and name.strip() not in names and right != name:
                raise ValueError(f"measured has no effect under the name {name!r}: write {right!r}")

    def measurement_names(self) -> list[str]:
        """Return the names of the measurements that limits, goals and the score need."""
        limited = required_measurements(self.plan.outcomes)
        return list(dict.fromkeys([*limited, *_measured_in(self.score, self.plan.sides)]))

    @property
    def goals(self) -> Directions:
        """Directions of all goals, of which the first is the answer; empty without goals."""
        further = self.plan.goals
        if not further or self.score is None:
            return {}
        return {self.score.names[0]: self.plan.optimizer.run_.params.direction, **further}

    def not_used(self) -> list[str]:
        """Return the names of the measurements that no limit, score or block uses."""
        names = dict.fromkeys(name for each in self.entries for name in each.record.measured)
        used = [*self.measurement_names(), self.block]
        return [name for name in names if name not in used]

    def _is_part(self, query: int | None, record: LabRecord) -> bool:
        """Return whether a part of what the score needs was measured, and more is missing."""
        needed = set(_measured_in(self.score, self.plan.sides))
        if not needed & record.measured.keys():
            return False
        return (
            not needed <= self.pending_entry(query).record.measured.keys() | record.measured.keys()
        )

    def _compute_score(
        self, query: int | None, at: Mapping[str, Any] | None, record: LabRecord
    ) -> float:
        """Return the score of the measurements of a query, or of a setting ``at``."""
        assert self.score is not None
        values = {} if at is None else self.plan.setting(at)
        if at is None or query is not None:
            entry = self.pending_entry(query)
            values = {**entry.query.params, **values, **entry.record.measured}
        return self.score(values | record.measured)

    def _take(
        self,
        query: int | None,
        at: Mapping[str, Any] | None,
        value: float | None,
        alpha: float | None,
        record: LabRecord,
    ) -> dict[str, Any]:
        """Tell an answer, None for a failure; return its entry as a dict."""
        self._check_names(record.measured)
        more, asked = [], dict[str, Any]()
        if at is None:
            entry = self.pending_entry(query)
            if entry.number in self._lost:
                target: Any = self._lost.pop(entry.number)
                more = [entry.number]
            else:
                target = entry.query
        else:
            target = self.plan.setting(at)
            if query is not None:
                entry = self.pending_entry(query)
                asked = {"params": entry.as_dict()["params"]}
                more = [self._withdraw(entry)]
        n = len(self.plan.events)
        learned = self._tell_arguments(record)
        more_told = {name: each for name, each in learned.items() if each and value is not None}
        if record.skipped and target in self.plan.optimizer.pending_:
            self.plan.optimizer.withdraw(target)
        else:
            self.plan.tell(target, value, alpha, **more_told)
        self._count(*more)
        number = next(entry.number for entry in self.entries if entry.ended >= n)
        before = self.records.get(number)
        if before is not None:  # notes were written while the query was pending
            record = before.merge(record)
        self.records[number] = record
        self._count()
        if value is not None and self._tell_arguments(record) != learned:
            self._replay()
        if value is not None:
            self._check_measured([number])
        told = self.entry(number).as_dict()
        # A setting other than the one asked is a change as well.
        self._changes += differences(number, asked, told, record.operator)
        return told

    def _check_measured(self, told: Sequence[int]) -> None:
        """Warn if the first answers that lack a measurement for a limit are among ``told``."""
        for name, limit in self.plan.outcomes.items():
            lacking = [
                entry
                for entry in self.entries
                if entry.answer is not None and lacks_outcome(entry.record, name, limit)
            ]
            numbers = {entry.number for entry in lacking}
            # Columns that a table lacks were warned of when it was read.
            if not numbers or not numbers <= set(told) or 1 < len(told) == len(numbers):
                continue
            others = ", ".join(map(quote_name, lacking[0].record.measured))
            but = f", but {others} was" if others and len(told) == 1 else ""
            which = f"quer{'y' if len(numbers) == 1 else 'ies'} "
            which += ", ".join(map(str, sorted(numbers)[:MOST_NAMED]))
            which += ", ..." if len(numbers) > MOST_NAMED else ""
            is_limited = name in self.plan.limits
            role, of = ("has a limit", "the limit") if is_limited else ("is a goal", "it")
            warn(
                f"{quote_name(name)} {role} and was not measured for {which}{but}: nothing "
                f"is known of {of} there",
                LimitWarning,
            )

    def _tell_arguments(self, record: LabRecord) -> dict[str, Any]:
        """Return the outcomes and the block of a record, as keyword arguments of ``tell``."""
        outcomes = outcome_values(record.measured, self.plan.outcomes)
        return {"outcomes": outcomes, "block": block_name(record, self.block)}

    def _withdraw(self, entry: Entry) -> int:
        """Delete a query, and return its number, which becomes free."""
        if self._lost.pop(entry.number, None) is None:
            events = self.plan.events
            events[entry.began] = None
            self._replay(events, len(events))
        return entry.number

    # -- tables ---------------------------------------------------------------------------------

    def _begin_with_past(self, past: PastAnswers) -> None:
        """Add the rows of a table to a new run, with their own numbers if these are distinct."""
        self.plan, rows, lost = self.plan.with_past(past.rows)
        numbers: list[Any] = [row.number for row in rows]
        if None in numbers or len(set(numbers)) < len(numbers):
            numbers = list(range(1, len(rows) + 1))
        n_events = len(rows) - len(lost)
        self._last, self._numbers = max(numbers), numbers[:n_events]
        self._lost = dict(zip(numbers[n_events:], lost, strict=True))
        self.records = {n: row.record for n, row in zip(numbers, rows, strict=True)}
        self._leave_out(past)
        self._count()
        limits, records = self.plan.outcomes, self.records.items()
        outcomes = [outcome_values(record.measured, limits, number) for number, record in records]
        skipped = any(row.status == "skipped" for row in rows)
        if self.block or self.score is not None or any(outcomes) or skipped:
            self._replay()
        self._check_measured(self._numbers)

    def add_table(
        self,
        path: str | os.PathLike[str],
        answer: str | None = None,
        *,
        skip_outside: bool = False,
    ) -> list[dict[str, Any]]:
        """Tell all answers in a table.

        Parameters
        ----------
        path : path
            A file of any format that :mod:`skgpb.lab.datasets.table` reads, with a column for
            every side, and one of answers. Rows without an answer are passed over. Rows that
            violate a constraint are used, with a note and a warning that name it. A table that
            ``export`` wrote has more: standard errors, failures, skipped queries, and the notebook;
            its pending queries are passed over.
        answer : str, default=None
            Column of the answers; None for the name of the answer or, if it has none, for the
            only column that is no side.
        skip_outside : bool, default=False
            Whether to leave out rows with a value that is missing or not on its side, with a
            warning that names them.

        Returns
        -------
        entries : list of dicts
            As in :meth:`history`.

        Raises
        ------
        ValueError
            If rows are not within the sides, or the file is no table: then no row is told. The
            message names the rows.
        """
        while True:
            # Read the table without the lock of the file, so that other programs need not wait.
            with self.reading():
                read, known = self._table_reader(answer), self._rules()
            past = read(path, skip_outside=skip_outside)
            with self.changing():
                if self._rules() == known:
                    return self._take_rows(past)

    def _table_reader(self, answer: str | None) -> Callable[..., PastAnswers]:
        """Return :func:`read_answers` with the present sides, limits, score and block."""
        return partial(
            read_answers,
            sides=self.plan.sides,
            answer=None if self.score is not None else answer or self.labels["answer"] or None,
            limited=required_measurements(self.plan.outcomes),
            of_two=[name for name, each in self.plan.limits.items() if isinstance(each, bool)],
            scored=_measured_in(self.score, self.plan.sides),
            block=self.block,
            unit=self.labels["unit"],
            space=self.plan.space,
            regions=self.plan.has_regions,
        )

    def _leave_out(self, past: PastAnswers) -> None:
        """Store the errors of the rows of a table that were left out."""
        self._left_out += [to_one_line(f"{today()}: {text}") for text in past.left_out]

    def _take_rows(self, past: PastAnswers) -> list[dict[str, Any]]:
        """Tell the rows of a table that have an answer, failed or were skipped; return entries."""
        rows = [row for row in past.rows if row.status != "pending"]
        if not rows:
            raise ValueError("the table has no row with an answer")
        n = len(self.plan.events)
        before = {(str(each.query.params), each.answer) for each in self.entries}
        self.plan.tell_rows(rows)
        self._leave_out(past)
        self._count()
        ended = (entry for entry in self.entries if entry.ended >= n)
        told = sorted(ended, key=lambda entry: entry.ended)
        for entry, row in zip(told, rows, strict=True):
            row.record.date = row.record.date or today()
            self.records[entry.number] = entry.record.merge(row.record)
        self._count()
        # Measurements may have been written while the queries were pending: repeat with them.
        skipped = any(row.status == "skipped" for row in rows)
        if self.block or self.score is not None or self.plan.outcomes or skipped:
            self._replay()
        self._check_measured([entry.number for entry in told])
        entries = [self.entry(entry.number) for entry in told]
        answered = [entry for entry in entries if entry.answer is not None]
        again = sum((str(each.query.params), each.answer) in before for each in answered)
        if again:
            warn(
                f"{again} of {len(rows)} rows have the setting and the answer of a query that "
                "was there: undo takes back what was told twice",
                UserWarning,
            )
        return [entry.as_dict() for entry in entries]

    # -- changes --------------------------------------------------------------------------------

    def annotate(
        self,
        query: int,
        *,
        note: str | None = None,
        operator: str | None = None,
        date: str | None = None,
        measured: Mapping[str, float | str] | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Write notes and measurements of a query into the notebook.

        If a limit, the score or the block uses a measurement, its new value repeats the run.

        Parameters
        ----------
        query : int
            Its number.
        note, operator, date : str, default=None
            As for :meth:`tell`; None to keep the present text.
        measured : dict, default=None
            As for :meth:`tell`. Measurements of other names stay; an empty text removes one.
        by : str, default=None
            Name of the author, for :meth:`changes`, which lists the replaced values.

        Returns
        -------
        entry : dict
            As in :meth:`history`.
        """
        with self.changing():
            entry = self.entry(query)
            before, known = entry.as_dict(), self._tell_arguments(entry.record)
            entry.record.write(note, operator, date, measured)
            self._check_names(measured or {})
            self.records[entry.number] = entry.record
            learns = known != self._tell_arguments(entry.record) or self.score is not None
            if learns and entry.answer is not None:
                self._replay()
                entry = self.entry(query)
            self._note_changes(before, entry.as_dict(), by)
            return entry.as_dict()

    def change(
        self,
        sides: Iterable[Side | str] | Mapping[str, Any] = (),
        constraints: str | Iterable[str] | None = None,
        *,
        limits: str | Iterable[str] | None = None,
        costs: str | Iterable[str] | None = None,
        block: str | None = None,
        answer_range: str | tuple[float | None, float | None] | None = None,
        score: str | None = None,
        dropped: str | Iterable[str] = (),
        earlier: Mapping[str, Any] | None = None,
        by: str | None = None,
    ) -> None:
        """Change the sides, constraints, limits, costs, blocks or the score.

        The experiment repeats its run with the same answers; those outside the new ranges and lists
        count as before. Pending queries stay pending, and must satisfy new constraints.
        Measurements that were recorded earlier count for a new limit or block.

        Parameters
        ----------
        sides : list of str or Side, or dict
            The sides that change, and new sides, as in :meth:`create`. A single value holds a side.
        constraints : str or list of str, default=None
            The new constraints; None to keep the present ones.
        limits : str or list of str, default=None
            The new limits, as in :meth:`create`; None to keep the present ones.
        costs : str or list of str, default=None
            The new costs of all experiments, past ones included, as in :meth:`create`; None to keep
            the present ones.
        block : str, default=None
            The new field that names blocks, as in :meth:`create`; an empty text for no blocks, None
            to keep the present one.
        answer_range : str or pair of floats, default=None
            The new range of averages, as in :meth:`create`; None to keep the present one.
        score : str, default=None
            The new score of all queries, past ones included, as in :meth:`create`; None to keep the
            present one. A first score makes earlier answers measurements, under the name of the
            answer, or "answer" if it has none; the noise that was told with them is dropped. An
            empty text removes the score, and these measurements become the answers again.
        dropped : str or list of str, default=()
            Names of sides to leave out. Their values become measurements of the queries.
        earlier : dict, default=None
            For each new side the value that it had in all queries so far.
        by : str, default=None
            Name of the author, for :meth:`changes`.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a single value is meant
            changed = {side.name: side.rounded_to_grid() for side in parse_sides(sides)}
        dropped = [dropped] if isinstance(dropped, str) else list(dropped)
        rules = (constraints, limits, costs, block, score)
        with self.changing():
            before = self._rules()
            self.range = self.range if answer_range is None else read_range(answer_range)
            if changed or dropped or earlier or any(rule is not None for rule in rules):
                known = {side.name: side for side in self.plan.sides} | changed
                kept = [side for name, side in known.items() if name not in dropped]
                answer = self.labels["answer"]
                taken = [side.name for side in kept] + [answer] * bool(answer)
                read_goals(format_goals(self.goals), kept)
                current = format_limits(self.plan.limits)
                limited = read_limits(current if limits is None else limits, taken)
                if constraints is None:
                    constraints = self.plan.constraints
                constraints = [constraints] if isinstance(constraints, str) else list(constraints)
                new_limits = None if limits is None else limited
                plan = self.plan.with_rules(
                    changed, dropped, earlier or {}, constraints, costs, new_limits
                )
                events = self.plan.convert_events(plan)
                plan.check_pending(self.entries, self.plan.constraints)
                block = self.block if block is None else block
                self.block = read_block(block, [*taken, *plan.limits])
                if score is not None:
                    events = self._with_score(read_score(score, plan.sides), events)
                for entry in self.entries if dropped else ():
                    record = self.records.setdefault(entry.number, entry.record)
                    record.measured = {n: entry.query.params[n] for n in dropped} | record.measured
                self._replay(events, -1, plan)
            new = dict.fromkeys(changed.keys() - before.keys(), "not a side")
            self._changes += differences(None, new | before, self._rules(), checked_author(by))

    def _with_score(self, score: Score | None, events: list[Any]) -> list[Any]:
        """Set another score; return the events, with told answers again if ``score`` is None."""
        if self.goals:
            raise ValueError(
                f"score is for experiments without goals, which are {format_goals(self.goals)}"
            )
        name = self.labels["answer"] or DEFAULT_ANSWER_NAME
        if self.score is None and score is not None:
            for entry in self.entries:
                if entry.answer is not None:
                    record = self.records.setdefault(entry.number, entry.record)
                    record.measured = {name: entry.answer, **record.measured}
        if self.score is not None and score is None:
            told = Score(quote(name))
            ended = {entry.ended: entry for entry in self.entries if entry.answer is not None}
            events = list(events)
            for i, entry in ended.items():
                try:
                    value = told(entry.record.measured)
                except ValueError:
                    raise ValueError(
                        f"query {entry.number} has no measurement {name!r} to take as its answer"
                    ) from None
                events[i] = (*events[i][:2], value, *events[i][3:])
        self.score = score
        return events

    def _rules(self) -> dict[str, Any]:
        """Return all settings that :meth:`change` can change, as a dict of texts."""
        rules = {
            "constraints": "; ".join(self.plan.constraints),
            "limits": "; ".join(format_limits(self.plan.limits)),
            "costs": "; ".join(self.plan.costs),
            "block": self.block,
            "answer_range": format_range(self.range),
            "score": self.score.text if self.score is not None else "",
        }
        return {**{side.name: str(side) for side in self.plan.sides}, **rules}

    def correct(
        self,
        query: int,
        answer: float | str | Sequence[float] | EllipsisType | None = ...,
        *,
        at: Mapping[str, Any] | None = None,
        noise: float | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Correct the answer or the setting of a query; also a failure.

        Parameters
        ----------
        query : int
            Number of the query.
        answer : float, str, sequence of float or None
            The right answer, as for :meth:`tell`; None if the evaluation failed. Leave it out to
            keep the present answer.
        at : dict, default=None
            The setting of the measurement, as for :meth:`tell`; None to keep the present one.
        noise : float, default=None
            Standard deviation of the noise in this answer; None to keep the present one.
        by : str, default=None
            Name of the author, for :meth:`changes`, which lists the replaced values.

        Returns
        -------
        entry : dict
            As in :meth:`history`.
        """
        if answer is ... and at is None:
            raise ValueError("nothing is corrected: give the right answer, or the setting as at")
        unit = self.labels["unit"]
        told = None if answer is ... or answer is None else read_answer(answer, noise, unit=unit)
        if told is None and noise is not None:
            raise ValueError(f"noise is of an answer that is given as well, got {noise!r}")
        with self.changing():
            if told is not None:
                self._check_told(True)
            entry = self.entry(query)
            if entry.status == "pending":
                raise ValueError(f"query {query} has no answer yet: tell it")
            before, events = entry.as_dict(), self.plan.events
            if entry.status == "given":
                changed = self._correct_past_answer(entry, answer, told, at, events)
            else:
                changed = entry.ended
                kind, asked, *rest = events[changed]
                if at is not None:
                    asked = self.plan.point_query(self.plan.space.point(self.plan.setting(at)))
                    if entry.began != entry.ended:  # drop the ask: its setting was not measured
                        events[entry.began], entry.began = None, entry.ended
                if answer is None:
                    kind, rest = "fail", ["told as failed"]
                elif told is not None:
                    own = rest[1] if kind == "tell" and not entry.record.measurements else nan
                    kind, rest = "tell", [told.value, own if told.alpha is None else told.alpha]
                events[changed] = kind, asked, *rest
            record = entry.record
            if told is not None:
                record.add_note(told.note)
            if answer is not ...:
                record.skipped = False
                record.measurements = [] if told is None else list(told.measurements)
            self.records[query] = record
            self._replay(events, changed)
            after = self.entry(query).as_dict()
            self._note_changes(before, after, by)
            return after

    def _correct_past_answer(
        self,
        entry: Entry,
        answer: Any,
        told: EnteredAnswer | None,
        at: Mapping[str, Any] | None,
        events: list[Any],
    ) -> int:
        """Correct an answer of the past data in place; return the index of its event."""
        if answer is None:
            raise ValueError(
                f"query {entry.number} is of the past data: it has an answer, which can be "
                "corrected to another number only"
            )
        kind, X, y = events[0]
        X, y = np.array(X, dtype=np.float64), np.array(y, dtype=np.float64)
        if told is not None:
            if told.alpha is not None:
                raise ValueError(
                    f"query {entry.number} is of the past data, which have no noise of their own: "
                    "correct it to one number"
                )
            y[entry.row] = told.value
        if at is not None:
            X[entry.row] = self.plan.space.point(self.plan.setting(at))
        events[0] = kind, X, y
        return 0

    def undo(self, *, by: str | None = None) -> dict[str, Any]:
        """Undo the last answer or failure.

        Its query is pending again. If its setting was given as ``at``, its entry is removed.

        Parameters
        ----------
        by : str, default=None
            Name of the author, for :meth:`changes`, which lists the removed values.

        Returns
        -------
        entry : dict
            The entry before the change, as in :meth:`history`.
        """
        with self.changing():
            told = [entry for entry in self.entries if entry.ended >= 0]
            if not told:
                raise ValueError("nothing was told yet that could be taken back")
            entry = max(told, key=lambda each: each.ended)
            events = self.plan.events
            events[entry.ended] = None
            self.records.pop(entry.number, None)
            self._replay(events, entry.ended)
            left = [each.as_dict() for each in self.entries if each.number == entry.number]
            self._note_changes(entry.as_dict(), left[0] if left else None, by)
            return entry.as_dict()

    def _note_changes(
        self, before: dict[str, Any], after: dict[str, Any] | None, by: str | None
    ) -> None:
        """Record the differences of an entry before and after a change; None if it was removed."""
        new = {} if after is None else editable_fields(after)
        self._changes += differences(
            before["query"], editable_fields(before), new, checked_author(by)
        )

    # -- reading --------------------------------------------------------------------------------

    def changes(self) -> list[dict[str, Any]]:
        """Return all corrections, undone answers and changed notes and rules, in order.

        Returns
        -------
        changes : list of dicts
            ``query``, a number, or None for the rules of the experiment; ``what``, a key of
            :meth:`history`, or the name of a side or rule; ``before`` and ``after``, the values,
            None for an empty one; ``when``, such as "2026-01-31T16:05:00"; and ``by``, a text.
        """
        with self.reading():
            return [change.as_dict() for change in self._changes]

    def history(self) -> list[dict[str, Any]]:
        """Return all queries, in the order of their numbers.

        Returns
        -------
        entries : list of dicts
            With the keys ``query``, its number; ``params``, a value for every side, or for regions
            a pair [low, high] or a list of values; ``status``, one of "pending", "answered",
            "failed", "skipped" and "given", which is from the past data; ``answer``, a number or
            None; ``noise``, the standard deviation told with it or None; ``reason``, the text of a
            failure, or None; ``within_limits``, whether all outcomes are within their limits, None
            if that is open because a measurement is missing; ``cost``, a number, None without
            costs; ``note``, ``operator`` and ``date``, texts;
            ``measured``, a dict of further measurements; ``measurements``, a list of the
            replicates whose mean is the answer, empty for a single measurement.
        """
        with self.reading():
            return [entry.as_dict() for entry in sorted(self.entries, key=lambda e: e.number)]

    def pending(self) -> list[dict[str, Any]]:
        """Return the queries that were asked and have no answer so far.

        Returns
        -------
        entries : list of dicts
            As in :meth:`history`.
        """
        return [entry for entry in self.history() if entry["status"] == "pending"]

    def left_out(self) -> list[str]:
        """Return the rows of tables that were left out, with the reasons.

        Returns
        -------
        left_out : list of str
            The day, the row and the reason. After the first hundred rows of a table, their number.
        """
        with self.reading():
            return list(self._left_out)


def _measured_in(score: Score | None, sides: Sequence[Side]) -> list[str]:
    """Return the names in a score that are measurements, not sides; empty if there is no score."""
    taken = [side.name for side in sides]
    return [] if score is None else [name for name in score.names if name not in taken]


def parse_sides(sides: Iterable[Side | str] | Mapping[str, Any]) -> list[Side]:
    """Parse the sides of an experiment; raise ValueError for equal names or values."""
    if isinstance(sides, Mapping):
        every = [Side.of(name, side) for name, side in sides.items()]
    else:
        every = [side if isinstance(side, Side) else Side.parse(side) for side in sides]
    names = [side.name for side in every]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two sides are named {name!r}")
    for side in every:
        texts: set[str] = set()
        for value in side.bounds if side.kind == "choice" else []:
            text = str(value).strip()
            if text in texts:
                raise ValueError(f"two values of {side.name} are written {text!r}")
            texts.add(text)
    return every

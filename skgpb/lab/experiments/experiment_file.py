"""The file of an experiment: read before each use, written after each change."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from skgpb.domains import Box, PointsQuery, Region
from skgpb.exceptions import LoadError, ReplayWarning
from skgpb.lab.experiments.answers import AnswerRange, read_range
from skgpb.lab.experiments.blocks import block_name
from skgpb.lab.experiments.changes import Change
from skgpb.lab.experiments.costs import cost_texts
from skgpb.lab.experiments.entries import LEARNING, Entry, make_entries, match_entries
from skgpb.lab.experiments.limits import is_within_limits, outcome_values
from skgpb.lab.experiments.records import LabRecord
from skgpb.lab.experiments.scores import Score
from skgpb.lab.experiments.sides import Side
from skgpb.lab.experiments.texts import to_one_line
from skgpb.lab.file_lock import FileLock
from skgpb.optimizers import GPOOOptimizer
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.optimizers.search import Search
from skgpb.utils.locks import StateLock
from skgpb.utils.persistence import read_notes
from skgpb.utils.typing import Limits

# Classes of optimizers whose queries are settings, or averages over regions of them.
OPTIMIZER_CLASSES = (Search, GPOOOptimizer)
# Keys of a file that are for display only.
LABELS = ("title", "answer", "unit")


class ExperimentFile:
    """The file of an experiment, with its optimizer, its entries and their numbers.

    Parameters
    ----------
    path : path
        The file.
    """

    path: Path
    # Lock of the threads of this process; a FileLock keeps out other processes.
    _threads: StateLock
    # Signature of the file at the last read or write; None if it has to be read again.
    _seen: bytes | None
    _optimizer: Any
    _sides: list[Side]
    _labels: dict[str, str]
    _entries: list[Entry]
    # Numbers of the entries that events of the run began, in order; the largest number so far.
    _numbers: list[int]
    _last: int
    # Regions of pending queries that the present tree would not ask, by their numbers.
    _lost: dict[int, Region]
    # Rows of tables that were left out, with the reasons.
    _left_out: list[str]
    # Range of the averages of answers; None for an open end.
    _range: AnswerRange
    # Formula of the answers; None if they are told.
    _score: Score | None
    # Costs of an experiment; empty if all cost the same.
    _costs: list[str]
    # Field that names the block of an answer; empty without blocks.
    _block: str
    # Notes on queries, by the numbers of the queries.
    _records: dict[int, LabRecord]
    # All changes of entries and rules, in order.
    _changes: list[Change]
    # Whether a ``with`` block of ``exclusive`` is open, and whether it has changed something.
    _is_exclusive = _is_changed = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._threads, self._seen = Path(path), StateLock(), None
        self._read()

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
    def _reading(self) -> Iterator[None]:
        """Read the file if it has changed, during a ``with`` block that only reads."""
        with self._threads:
            self._read()
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
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
            self._optimizer = optimizer
            try:
                self._take_notes(notes)
            except (TypeError, ValueError, KeyError) as error:
                raise LoadError(f"{str(self.path)!r} has notes of no experiment: {error}") from None
            self._seen = before

    def _take_notes(self, notes: dict[str, Any]) -> None:
        """Set the fields from the notes in a file; a run saved from Python has no notes."""
        self._labels = {name: to_one_line(str(notes.get(name, ""))) for name in LABELS}
        self._numbers = [int(number) for number in notes.get("numbers", [])]
        self._last = int(notes.get("last", 0))
        self._block = to_one_line(str(notes.get("block", "")))
        self._range = read_range(notes.get("answer_range", ""))
        score = str(notes.get("score", ""))
        self._score = Score.parse(score) if score else None
        self._left_out = [to_one_line(str(text)) for text in notes.get("left_out", [])]
        kept = notes.get("records", {})
        self._records = {int(number): LabRecord.of(each) for number, each in kept.items()}
        self._changes = [Change.of(each) for each in notes.get("changes", [])]
        self._lost = {}
        for number, lower, upper, counts in notes.get("lost", []):
            ends = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
            region = Region(*ends, tuple(map(int, counts)))
            self._lost[int(number)] = region._with_names(self._optimizer.run_.space)
        self._count()

    def _write(self) -> None:
        """Write the file, whose lock is held."""
        lost = [
            [each, region.lower.tolist(), region.upper.tolist(), list(region.counts)]
            for each, region in self._lost.items()
        ]
        kept = {str(number): record.nonempty_fields() for number, record in self._records.items()}
        notes = {
            **self._labels,
            **({"block": self._block} if self._block else {}),
            **({"score": self._score.text} if self._score is not None else {}),
            **({"answer_range": self._range} if self._range != (None, None) else {}),
            "numbers": self._numbers,
            "last": self._last,
            "lost": lost,
            "left_out": self._left_out,
            "records": {number: each for number, each in kept.items() if each},
            "changes": [each.as_dict() for each in self._changes],
        }
        self._optimizer.save(self.path, notes=notes)
        self._seen = self._signature()

    @property
    def _has_regions(self) -> bool:
        """True if answers are averages over regions."""
        optimizer = self._optimizer
        return isinstance(optimizer, GPOOOptimizer) or optimizer.domain_.describes_boxes

    # -- entries ----------------------------------------------------------------------------

    def _count(self, *more: int) -> None:
        """Recompute the entries from the events; ``more`` are numbers for new entries."""
        optimizer = self._optimizer
        self._entries = make_entries(
            optimizer._events,
            [*self._numbers, *more],
            self._last,
            optimizer.run_.space,
            optimizer.run_.params.alpha,
        )
        self._numbers = [entry.number for entry in self._entries]
        self._last = max([self._last, *self._numbers])
        self._entries += [Entry(each, query) for each, query in self._lost.items()]
        limits = outcome_limits(optimizer)
        self._costs = cost_texts(optimizer)
        for entry in self._entries:
            entry.record = self._records.get(entry.number, entry.record)
            if entry.record.skipped and entry.status == "failed":
                entry.status, entry.reason = "skipped", None
            entry.within_limits = is_within_limits(entry.record.measured, limits)
            if self._costs:
                entry.cost = optimizer._cost_model.cost_of(entry.query)
        bounds = optimizer.run_.params.bounds
        self._sides = [Side.of(*each) for each in bounds.items()]
        self._constraints: list[str] = list(bounds.constraints) if isinstance(bounds, Box) else []

    def _repeat(self, events: list[Any], changed: int, optimizer: Any = None) -> None:
        """Repeat the run with other events.

        Parameters
        ----------
        events : list
            The events; None in place of a removed one.
        changed : int
            Index of the first event that was changed.
        optimizer : optimizer, default=None
            Optimizer of the same class that repeats them; None for the present one.
        """
        began: dict[int, list[int]] = {}
        for entry in self._entries:
            began.setdefault(entry.began, []).append(entry.number)
        optimizer = self._optimizer if optimizer is None else optimizer
        kept: list[tuple[Any, list[int]]] = []
        for i, event in enumerate(events):
            # Drop hyperparameters learned after the change: the run learns them again.
            if event is None or (i > changed and event[0] in LEARNING) or event[0] == "outcomes":
                continue
            written = self._replacement_events(i, event, began.get(i, []), optimizer)
            if written[0][0] is not event:
                changed = min(changed, i)
            kept += written
        self._optimizer = optimizer._repeat_events([event for event, _ in kept])
        self._numbers, lost = match_entries(kept, self._optimizer._events)
        for each, cell in lost.items():
            region = Region(cell.lower, cell.upper, cell.spec)
            self._lost[each] = region._with_names(self._optimizer.run_.space)
        self._count()

    def _replacement_events(
        self, i: int, event: Any, numbers: list[int], optimizer: Any
    ) -> list[tuple[Any, list[int]]]:
        """Return the events that replace an event, each with the numbers of the entries it begins.

        The event of an answer gets the block of its record, and an event with its outcomes follows.
        With a score, the answer is computed from the measurements of the record. With blocks or a
        score, past data, which are one event, become one event for each row.
        """
        limits = outcome_limits(optimizer)
        if event[0] == "tell":
            (entry,) = (entry for entry in self._entries if entry.ended == i)
            told = self._answer_event(event, entry.number)
            return [(told, numbers), *self._outcome_events(event[1], entry.number, limits)]
        if event[0] != "fit":
            return [(event, numbers)]
        space, out = optimizer.run_.space, list[tuple[Any, list[int]]]()
        is_split = bool(self._block or self._score)
        for x, y, number in zip(event[1], event[2].tolist(), numbers, strict=True):
            query = PointsQuery(x[np.newaxis].copy())._with_names(space)
            if is_split:
                out.append((self._answer_event(("tell", query, y, nan), number), [number]))
            out += self._outcome_events(query, number, limits)
        return out if is_split else [(event, numbers), *out]

    def _answer_event(self, event: Any, number: int) -> Any:
        """Return the event of an answer with the block and score of its record, if they differ."""
        record, block = self._get_record(number), block_name(self._get_record(number), self._block)
        value, alpha = event[2:4]
        if self._score is not None:
            try:
                value, alpha = self._score(event[1].params | record.measured), nan
            except ValueError as error:
                raise ValueError(f"query {number}: {error}") from None
        told = (*event[:2], value, alpha, *([] if block is None else [block]))
        same = (value, isnan(alpha), told[4:]) == (event[2], isnan(event[3]), event[4:])
        return event if same else told

    def _outcome_events(
        self, query: Any, number: int, limits: Limits
    ) -> list[tuple[Any, list[int]]]:
        """Return the event of the outcomes of an entry in a list, which is empty if it has none."""
        outcomes = (
            outcome_values(self._get_record(number).measured, limits, number) if limits else {}
        )
        return [(("outcomes", query, outcomes), [])] if outcomes else []

    def _get_record(self, number: int) -> LabRecord:
        """Return the notes on a query; an empty record if there are none."""
        return self._records.get(number) or LabRecord()


def outcome_limits(optimizer: Any) -> Limits:
    """Return the limits of an optimizer on outcomes; an empty dict if it has none."""
    return getattr(optimizer.run_.params, "limits", None) or {}

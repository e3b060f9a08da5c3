"""A run that is kept in a file: read before it is looked at, written whenever it has changed."""

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
from skgpb.lab.experiments.blocks import block_of
from skgpb.lab.experiments.changes import Change
from skgpb.lab.experiments.costs import costs_of
from skgpb.lab.experiments.entries import LEARNING, Entry, carried_over, entries_of
from skgpb.lab.experiments.limits import are_kept, outcomes_of
from skgpb.lab.experiments.records import LabRecord
from skgpb.lab.experiments.scores import Score
from skgpb.lab.experiments.sides import Side
from skgpb.lab.experiments.texts import in_one_line
from skgpb.lab.file_lock import FileLock
from skgpb.optimizers import GPOOOptimizer
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.optimizers.search import Search
from skgpb.utils.locks import StateLock
from skgpb.utils.persistence import read_notes
from skgpb.utils.typing import Limits

# Classes of optimizers that ask for settings, or for averages over regions of them.
KINDS = (Search, GPOOOptimizer)
# Entries of a file that are for display only.
LABELS = ("title", "answer", "unit")


class KeptRun:
    """The optimizer of an experiment, its entries and their numbers, as they are in a file.

    Parameters
    ----------
    path : path
        The file.
    """

    path: Path
    # Lock of the threads of this process; a FileLock keeps out other processes.
    _threads: StateLock
    # Version of the file that the following was read from, None if it has to be read again.
    _seen: bytes | None
    _optimizer: Any
    _sides: list[Side]
    _labels: dict[str, str]
    _entries: list[Entry]
    # Numbers of the entries that the events of the run make, in their order; the last one given.
    _numbers: list[int]
    _last: int
    # Pending queries that a tree would not ask, by their numbers.
    _lost: dict[int, Region]
    # Rows of tables that were left out, and why.
    _left_out: list[str]
    # Between which ends averages of answers are; None for an open end.
    _range: AnswerRange
    # What answers are computed from; None if they are told.
    _score: Score | None
    # What experiments cost; empty where all cost the same.
    _costs: list[str]
    # What tells blocks of answers apart; empty for nothing.
    _block: str
    # Notes on queries, by the numbers of the queries.
    _records: dict[int, LabRecord]
    # What was changed, in order.
    _changes: list[Change]
    # Whether a block of ``alone`` is open, and something in it has changed.
    _is_alone = _is_changed = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._threads, self._seen = Path(path), StateLock(), None
        self._read()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all others from changing the file in a ``with`` block.

        Anything read from the file in the block is still true when the block then changes it. What
        the block changes is written at its end, and after an error nothing of it.
        """
        with self._threads, FileLock(self.path):
            is_outer, self._is_alone = not self._is_alone, True
            try:
                yield
                if is_outer and self._is_changed:
                    self._write()
                    self._is_changed = False
            except BaseException:
                # The file is what counts: it is read again.
                self._seen, self._is_changed = None, False
                raise
            finally:
                self._is_alone = not is_outer

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Look at the file as it is now."""
        with self._threads:
            self._read()
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change the file while holding its lock."""
        with self.alone():
            self._read()
            yield
            self._is_changed = True

    def _signature(self) -> bytes:
        """Identify a version of the file.

        Not its inode and times: numbers of inodes are used again, and clocks of files tick slowly.
        """
        return hashlib.sha256(self.path.read_bytes()).digest()

    def _read(self) -> None:
        """Read the file unless it is the one that was read or written last."""
        while (before := self._signature()) != self._seen:
            with warnings.catch_warnings():
                # After a correction other things would have been asked than were.
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
            if not isinstance(optimizer, KINDS) or optimizer._run.space is None:
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
        """Read the data of a file besides the run; a run saved from Python has none."""
        self._labels = {name: in_one_line(str(notes.get(name, ""))) for name in LABELS}
        self._numbers = [int(number) for number in notes.get("numbers", [])]
        self._last = int(notes.get("last", 0))
        self._block = in_one_line(str(notes.get("block", "")))
        self._range = read_range(notes.get("answer_range", ""))
        score = str(notes.get("score", ""))
        self._score = Score.parse(score) if score else None
        self._left_out = [in_one_line(str(text)) for text in notes.get("left_out", [])]
        kept = notes.get("records", {})
        self._records = {int(number): LabRecord.of(each) for number, each in kept.items()}
        self._changes = [Change.of(each) for each in notes.get("changes", [])]
        self._lost = {}
        for number, lower, upper, counts in notes.get("lost", []):
            ends = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
            region = Region(*ends, tuple(map(int, counts)))
            self._lost[int(number)] = region.with_names(self._optimizer._run.space)
        self._count()

    def _write(self) -> None:
        """Write the file, whose lock is held."""
        lost = [
            [each, region.lower.tolist(), region.upper.tolist(), list(region.counts)]
            for each, region in self._lost.items()
        ]
        kept = {str(number): record.kept() for number, record in self._records.items()}
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
        """Renew the entries after something has happened; ``more`` are numbers for new ones."""
        optimizer = self._optimizer
        self._entries = entries_of(
            optimizer._events,
            [*self._numbers, *more],
            self._last,
            optimizer._run.space,
            optimizer._params.alpha,
        )
        self._numbers = [entry.number for entry in self._entries]
        self._last = max([self._last, *self._numbers])
        self._entries += [Entry(each, query) for each, query in self._lost.items()]
        limits = outcome_limits(optimizer)
        self._costs = costs_of(optimizer)
        for entry in self._entries:
            entry.record = self._records.get(entry.number, entry.record)
            if entry.record.skipped and entry.status == "failed":
                entry.status, entry.reason = "skipped", None
            entry.within_limits = are_kept(entry.record.measured, limits)
            if self._costs:
                entry.cost = optimizer._cost_model.cost_of(entry.query)
        bounds = optimizer._params.bounds
        self._sides = [Side.of(*each) for each in bounds.items()]
        self._constraints: list[str] = list(bounds.constraints) if isinstance(bounds, Box) else []

    def _repeat(self, events: list[Any], changed: int, optimizer: Any = None) -> None:
        """Repeat the run with these events, one of them changed, or None if it is removed.

        Another optimizer, of the same class, may be the one to repeat them.
        """
        began: dict[int, list[int]] = {}
        for entry in self._entries:
            began.setdefault(entry.began, []).append(entry.number)
        optimizer = self._optimizer if optimizer is None else optimizer
        kept: list[tuple[Any, list[int]]] = []
        for i, event in enumerate(events):
            # Hyperparameters learned after the change are learned anew.
            if event is None or (i > changed and event[0] in LEARNING) or event[0] == "outcomes":
                continue
            written = self._as_written(i, event, began.get(i, []), optimizer)
            if written[0][0] is not event:
                changed = min(changed, i)
            kept += written
        self._optimizer = optimizer._repeated([event for event, _ in kept])
        self._numbers, lost = carried_over(kept, self._optimizer._events)
        for each, cell in lost.items():
            region = Region(cell.lower, cell.upper, cell.spec)
            self._lost[each] = region.with_names(self._optimizer._run.space)
        self._count()

    def _as_written(
        self, i: int, event: Any, numbers: list[int], optimizer: Any
    ) -> list[tuple[Any, list[int]]]:
        """Return an event as the notebook has it, and the entries that it begins.

        With an answer come its block, and what else was measured and has a limit. The answer itself
        follows from what was measured if there is a score. Data of the past, which are told at
        once, are told row by row if it is so.
        """
        limits = outcome_limits(optimizer)
        if event[0] == "tell":
            (entry,) = (entry for entry in self._entries if entry.ended == i)
            told = self._told_again(event, entry.number)
            return [(told, numbers), *self._outcome_events(event[1], entry.number, limits)]
        if event[0] != "fit":
            return [(event, numbers)]
        space, out = optimizer._run.space, list[tuple[Any, list[int]]]()
        is_split = bool(self._block or self._score)
        for x, y, number in zip(event[1], event[2].tolist(), numbers, strict=True):
            query = PointsQuery(x[np.newaxis].copy()).with_names(space)
            if is_split:
                out.append((self._told_again(("tell", query, y, nan), number), [number]))
            out += self._outcome_events(query, number, limits)
        return out if is_split else [(event, numbers), *out]

    def _told_again(self, event: Any, number: int) -> Any:
        """Return the event of an answer as the notebook has it, itself if that is the same."""
        record, block = self._record_of(number), block_of(self._record_of(number), self._block)
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
        """Return what was measured beside an answer, of what has a limit."""
        outcomes = outcomes_of(self._record_of(number).measured, limits, number) if limits else {}
        return [(("outcomes", query, outcomes), [])] if outcomes else []

    def _record_of(self, number: int) -> LabRecord:
        """Return what was written on a query."""
        return self._records.get(number) or LabRecord()


def outcome_limits(optimizer: Any) -> Limits:
    """Return the limits of an optimizer on what else is measured."""
    return getattr(optimizer._params, "limits", None) or {}

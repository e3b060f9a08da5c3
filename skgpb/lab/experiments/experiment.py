"""Experiments in files, which several people and programs can use at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import nan, sqrt
from pathlib import Path
from types import EllipsisType
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skgpb.domains import Box, PointsQuery, Region
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import LimitWarning
from skgpb.lab.experiments import judgement
from skgpb.lab.experiments.answers import (
    EnteredAnswer,
    format_range,
    noise_variance,
    read_answer,
    read_range,
)
from skgpb.lab.experiments.blocks import block_name, block_std, blocks_in, read_block
from skgpb.lab.experiments.changes import checked_author, differences, editable_fields
from skgpb.lab.experiments.costs import read_costs
from skgpb.lab.experiments.entries import LEARNING, Entry, jsonable
from skgpb.lab.experiments.experiment_file import ExperimentFile, outcome_limits
from skgpb.lab.experiments.limits import (
    format_limits,
    lacks_outcome,
    outcome_values,
    read_limits,
    required_measurements,
)
from skgpb.lab.experiments.reasons import reason, reason_before_answers
from skgpb.lab.experiments.records import LabRecord, number_or_text, today
from skgpb.lab.experiments.scores import Score, read_score
from skgpb.lab.experiments.sides import Ends, Side
from skgpb.lab.experiments.stopping import Outlook, verdict
from skgpb.lab.experiments.table import PastAnswer, PastAnswers, read_answers
from skgpb.lab.experiments.texts import check_name, quote, quote_name, to_one_line
from skgpb.lab.experiments.trade_offs import trade_offs
from skgpb.lab.file_lock import FileLock
from skgpb.optimizers import EIOptimizer, GPOOOptimizer, GPUCBOptimizer
from skgpb.optimizers.search import Search
from skgpb.utils.locks import StateLock
from skgpb.utils.typing import Limits
from skgpb.utils.warnings import warn, without_warnings

__all__ = ["Experiment"]

# Name under which answers without a name become measurements when a score is added.
DEFAULT_ANSWER_NAME = "answer"
# Limit: queries that a warning names.
MOST_NAMED = 5
# Every status of a query that is no longer pending.
FINAL_STATUSES = ("answered", "given", "failed", "skipped")
# Parameters that cannot be combined with regions=True, and the reasons.
NOT_OF_REGIONS = {
    "score": "is for single settings, not for regions",
    "block": "is for single settings, not for regions",
    "limits": "are for single settings: an average over a region may be within a limit that "
    "settings in it violate",
    "constraints": "are between sides of single settings: an average over a region would violate "
    "them",
    "costs": "are of single settings, not of regions",
}


class Experiment(ExperimentFile):
    """An experiment in a file; every change is saved at once.

    Several windows, programs and people may have the same file open. They take turns: each change
    applies to the present contents of the file, so that nothing is lost. The file has the format of
    an optimizer's ``save``, and ``GPUCBOptimizer.load`` opens it as well.

    Queries have numbers. Users pass the number of a query to answer it, in any order, to correct it
    or to look it up. All methods return JSON types: dicts, lists, strings, numbers and None.

    Parameters
    ----------
    path : path
        A file written by :meth:`create`, or by ``save`` of an optimizer over a box with named
        sides: one over arms, or ``GPOOOptimizer``.

    Raises
    ------
    skgpb.exceptions.LoadError
        A ``ValueError``, if the file holds no such optimizer.
    OSError
        If the file cannot be opened.

    Notes
    -----
    Every method raises ``ValueError`` for an invalid argument, in one line with the value given and
    the values accepted, and ``OSError`` if the file cannot be written. In both cases the experiment
    does not change.

    After an answer is corrected or undone, the experiment repeats its run from the start with the
    present answers. All queries so far remain part of the run. ``load`` of an optimizer then
    warns with a ReplayWarning that ``ask`` would now return other queries.

    :meth:`create` searches for single settings with ``GPUCBOptimizer(regret="simple")``, because
    only the recommendation at the end counts. With limits it uses ``EIOptimizer``, and
    ``EIOptimizer.load`` opens the file. A file that was saved with other parameters keeps them,
    also after corrections and changes of its limits.

    Examples
    --------
    >>> import tempfile, os
    >>> from skgpb.lab.experiments import Experiment
    >>> path = os.path.join(tempfile.mkdtemp(), "run.skgpb")
    >>> oven = Experiment.create(path, ["temperature=20:90", "catalyst=A,B"], direction="minimize")
    >>> query = oven.ask()[0]
    >>> query["query"], sorted(query["params"])
    (1, ['catalyst', 'temperature'])
    >>> oven.tell(0.37, query=1)["status"]
    'answered'
    >>> oven.correct(1, 0.73)["answer"]
    0.73
    >>> Experiment(path).history() == oven.history()
    True
    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        sides: Iterable[Side | str] | Mapping[str, Any],
        *,
        constraints: str | Iterable[str] = (),
        limits: str | Iterable[str] = (),
        costs: str | Iterable[str] = (),
        block: str = "",
        answer_range: str | tuple[float | None, float | None] = "",
        score: str = "",
        direction: str = "maximize",
        noise: float | None = None,
        regions: bool = False,
        title: str = "",
        answer: str = "",
        unit: str = "",
        data: str | os.PathLike[str] | None = None,
        skip_outside: bool = False,
        seed: int = 0,
    ) -> Self:
        """Create an experiment and write its file.

        Parameters
        ----------
        path : path
            The file, which must not exist.
        sides : list of str or Side, or dict
            Names and ranges of the settings. A list of ``"temperature=20:90"``,
            ``"salt=1e-4:0.1:log"``, ``"n=1:10:int"``, ``"time=0:60:5"`` (in steps of 5),
            ``"catalyst=A,B"``. Numbers have three significant digits of their range unless a step
            is given; ``"temperature=20:90:any"`` allows any number of digits. Or a dict of names
            and sides, each a text such as ``"20:90"``, a pair ``(low, high)``, a list of values, a
            distribution of ``scipy.stats`` or a dict of :meth:`Side.as_dict`, see :meth:`Side.of`.
        constraints : str or list of str, default=()
            Linear equations and inequalities between sides that are numbers: ``"A + B <= 100"``,
            ``"A + B + C = 1"``. All queries and recommendations satisfy them. See
            :class:`~skgpb.domains.Box`.
        limits : str or list of str, default=()
            Limits on outcomes, quantities that are measured besides the answer:
            ``"peak temperature < 80"``, ``"6 <= pH <= 8"``. Pass their values to :meth:`tell` as
            ``measured``; each outcome has a model of its own. A setting that was measured beyond a
            limit is never recommended, and a setting that probably is beyond one is rarely asked;
            see ``limits`` of :class:`~skgpb.EIOptimizer`.
        costs : str or list of str, default=()
            Costs of one experiment, amounts that add up: ``"20 + 0.5*time"``, and for one value of
            a list ``"100 if catalyst = Pd"``. ``ask`` divides the score of a query by its cost;
            recommendations do not depend on costs. See :ref:`experiment-costs`.
        block : str, default=""
            Field that names the block of an answer: ``"operator"``, ``"date"``, or a measurement
            passed to :meth:`tell` as ``measured``, such as ``"batch"``. All answers of a block
            share a random shift. The standard deviation of these shifts is learned, separately from
            the noise. New blocks may come at any time. Predictions and recommendations are for an
            average block. See :ref:`blocks`.
        answer_range : str or pair of floats, default=""
            Range of the average of answers at a setting: ``"0:100"`` of a yield in per cent,
            ``"0:"`` of a cost. Predictions and gaps are clipped to it. Single answers may leave it
            by their noise.
        score : str, default=""
            Formula of the answer, if it is computed from several measurements:
            ``"0.7*yield - 0.3*cost"``. It is arithmetic of names in ``measured`` and of settings
            that are numbers, with ``desirability(yield, 60, 90)``, which is 0 up to the first
            number and 1 from the second on, min, max, sqrt, log, exp and abs. Names of several
            words stand between quotes. See :ref:`scores`.
        direction : {"maximize", "minimize"}, default="maximize"
            Whether the search maximizes or minimizes the answer.
        noise : float, default=None
            Standard deviation of the noise in an answer; None if it is unknown, and to be learned.
        regions : bool, default=False
            Whether answers are averages over regions of settings. Then the ``params`` of a query
            are pairs [low, high], or lists of the whole numbers or choices in the region.
        title, answer, unit : str, default=""
            Names of the experiment and of the answer, and its unit; for display only. With
            ``data``, ``answer`` is also the name of the column of answers.
        data : path, default=None
            A table of past settings and answers, see :meth:`add_table`. If ``export`` wrote the
            table, the numbers of its queries are kept, and its pending queries stay pending.
        skip_outside : bool, default=False
            Whether to leave out rows of ``data`` that are not within the sides, with a warning.
        seed : int, default=0
            The same seed and the same answers give the same queries.

        Returns
        -------
        experiment : Experiment
        """
        every = _parse_sides(sides)
        if skip_outside and data is None:
            raise ValueError("skip_outside is about rows of data, got skip_outside=True, data=None")
        if direction not in ("maximize", "minimize"):
            raise ValueError(f"direction must be 'maximize' or 'minimize', got {direction!r}")
        for name, text in (("title", title), ("answer", answer), ("unit", unit)):
            check_name(text, name)
        constraints = [constraints] if isinstance(constraints, str) else list(constraints)
        taken = [side.name for side in every] + [answer] * bool(answer)
        limited = read_limits(limits, taken)
        block, ends = read_block(block, [*taken, *limited]), read_range(answer_range)
        scored = _parse_score(score, every)
        cost = read_costs(costs, every)
        asked = {"score": score, "block": block, "limits": format_limits(limited)}
        for name, given in {**asked, "constraints": constraints, "costs": cost and costs}.items():
            if regions and given:
                raise ValueError(f"{name} {NOT_OF_REGIONS[name]}; got regions=True and {given!r}")
        every = [side.with_value_list() if regions else side.rounded_to_grid() for side in every]
        settings: dict[str, Any] = {
            "bounds": _make_bounds(every, constraints),
            "alpha": noise_variance(noise),
            "direction": direction,
            "random_state": seed,
        }
        if regions:
            optimizer: Any = GPOOOptimizer(**settings).start()
        else:
            optimizer = _make_search(limited, {**settings, "cost": cost}).start()
        self = cls.__new__(cls)
        self.path, self._threads, self._optimizer = Path(path), StateLock(), optimizer
        notes = {"title": title, "answer": answer, "unit": unit, "block": block}
        self._take_notes({**notes, "answer_range": ends, "score": scored.text if scored else ""})
        if data is not None:
            self._begin_with_past(self._table_reader(None)(data, skip_outside=skip_outside))
        with FileLock(self.path):
            if self.path.exists():
                raise ValueError(f"{self.path} exists already: choose another name")
            self._write()
        return self

    def _begin_with_past(self, past: PastAnswers) -> None:
        """Add the rows of a table to a new run, with their own numbers if these are distinct."""
        self._optimizer, rows, lost = _with_past(self._optimizer, past.rows)
        numbers: list[Any] = [row.number for row in rows]
        if None in numbers or len(set(numbers)) < len(numbers):
            numbers = list(range(1, len(rows) + 1))
        n_events = len(rows) - len(lost)
        self._last, self._numbers = max(numbers, default=0), numbers[:n_events]
        self._lost = dict(zip(numbers[n_events:], lost, strict=True))
        self._records = {n: row.record for n, row in zip(numbers, rows, strict=True)}
        self._leave_out(past)
        self._count()
        limits, records = outcome_limits(self._optimizer), self._records.items()
        outcomes = [outcome_values(record.measured, limits, number) for number, record in records]
        if self._block or self._score is not None or any(outcomes):
            self._repeat(self._optimizer._events, len(self._optimizer._events))
        self._check_measured(self._numbers)

    def _table_reader(self, answer: str | None) -> Callable[..., PastAnswers]:
        """Return :func:`read_answers` with the present sides, limits, score and block."""
        return partial(
            read_answers,
            sides=self._sides,
            answer=None if self._score is not None else answer or self._labels["answer"] or None,
            limited=required_measurements(outcome_limits(self._optimizer)),
            scored=_measured_in(self._score, self._sides),
            block=self._block,
            unit=self._labels["unit"],
            space=self._optimizer.run_.space,
            regions=self._has_regions,
        )

    def _leave_out(self, past: PastAnswers) -> None:
        """Store the errors of the rows of a table that were left out."""
        self._left_out += [to_one_line(f"{today()}: {text}") for text in past.left_out]

    # -- asking and telling -----------------------------------------------------------------

    def ask(self, n: int = 1, *, another: bool = False) -> list[dict[str, Any]]:
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

        Returns
        -------
        queries : list of n dicts
            As in :meth:`history`.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"the number of queries must be a whole number >= 1, got {n!r}")
        with self._threads, FileLock(self.path):
            self._read()
            try:
                before = self._optimizer._events
                told = [i for i, event in enumerate(before) if event[0] in ("tell", "fail")]
                asked = sum(event[0] == "ask" for event in before[max(told, default=0) :])
                first = asked if another else 0
                self._enlarge_first_design(first + n)
                queries = self._optimizer.ask(first + n)[first:]
                if len(self._optimizer._events) > len(before):
                    self._count()
                    self._write()
            except BaseException:
                self._seen = None
                raise
            pending = {entry.query: entry for entry in self._entries if entry.status == "pending"}
            return [pending[query].as_dict() for query in queries]

    def _enlarge_first_design(self, n: int) -> None:
        """Enlarge the first design to n queries, unless an answer or a failure was told before."""
        optimizer = self._optimizer
        known = any(entry.status != "pending" for entry in self._entries)
        if isinstance(optimizer, Search) and not known and 0 < optimizer._n_initial < n:
            optimizer.set_params(n_initial=n)

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
            None if a score computes the answer from ``measured``.
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
        unit = self._labels["unit"]
        told = None if answer is None else read_answer(answer, noise, unit=unit)
        record = LabRecord(date=today(), measurements=[] if told is None else [*told.measurements])
        record.write(note, operator, date, measured)
        if told is not None:
            record.add_note(told.note)
        with self._changing():
            self._check_told(told is not None, noise)
            value, alpha = (
                (self._compute_score(query, at, record), None) if told is None else told[:2]
            )
            return self._take(query, at, value, alpha, record)

    def _check_told(self, is_told: bool, noise: float | None = None) -> None:
        """Raise ValueError unless exactly one of an answer and a score is given."""
        if self._score is None and not is_told:
            raise ValueError("there is no answer: give the number that was measured")
        if self._score is not None and (is_told or noise is not None):
            raise ValueError(
                f"the answer is computed by {self._score.text!r}: give what was measured, not the "
                "answer or its noise"
            )

    def _measurement_names(self) -> list[str]:
        """Return the names of the measurements that the limits and the score need."""
        limited = required_measurements(outcome_limits(self._optimizer))
        return list(dict.fromkeys([*limited, *_measured_in(self._score, self._sides)]))

    def _not_used(self) -> list[str]:
        """Return the names of the measurements that no limit, score or block uses."""
        names = dict.fromkeys(name for each in self._entries for name in each.record.measured)
        used = [*self._measurement_names(), self._block]
        return [name for name in names if name not in used]

    def _check_names(self, measured: Mapping[str, Any]) -> None:
        """Raise ValueError for a name that differs only in case from the name of a measurement."""
        names = [*self._measurement_names(), self._block]
        meant = {name.casefold(): name for name in names}
        for name, value in measured.items():
            right = meant.get(name.strip().casefold(), name)
            if value != "" and name.strip() not in names and right != name:
                raise ValueError(f"measured has no effect under the name {name!r}: write {right!r}")

    def _compute_score(
        self, query: int | None, at: Mapping[str, Any] | None, record: LabRecord
    ) -> float:
        """Return the score of the measurements of a query, or of a setting ``at``."""
        assert self._score is not None
        values = {} if at is None else self._setting(at)
        if at is None or query is not None:
            entry = self._pending_entry(query)
            values = {**entry.query.params, **values, **entry.record.measured}
        return self._score(values | record.measured)

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
        with self._changing():
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
        with self._changing():
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
        with self._changing():
            asked = self._entry(query).query
            if isinstance(asked, PointsQuery):
                asked = self._optimizer.domain_.placed_arm(asked.points[0])
            if any(entry.query == asked for entry in self._entries if entry.status == "pending"):
                raise ValueError(f"the setting of query {query} is pending already")
            if isinstance(self._optimizer, GPOOOptimizer):
                raise ValueError(
                    "repeat needs an experiment over single settings, and this one has regions"
                )
            events = self._optimizer._events
            self._repeat([*events, ("ask", asked)], len(events))
            return max(self._entries, key=lambda entry: entry.began).as_dict()

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
        with self._changing():
            entry = self._entry(query)
            before, known = entry.as_dict(), self._tell_arguments(entry.record)
            entry.record.write(note, operator, date, measured)
            self._check_names(measured or {})
            self._records[entry.number] = entry.record
            learns = known != self._tell_arguments(entry.record) or self._score is not None
            if learns and entry.answer is not None:
                self._repeat(self._optimizer._events, len(self._optimizer._events))
                entry = self._entry(query)
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
        by: str | None = None,
    ) -> None:
        """Change the ranges, values of lists, constraints, limits, costs, blocks or the score.

        The experiment repeats its run with the same answers. Pending queries stay pending, and must
        satisfy new constraints. Measurements that were recorded earlier count for a new limit or
        block.

        Parameters
        ----------
        sides : list of str or Side, or dict
            The sides that change, as in :meth:`create`. The settings of all queries must be within
            them.
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
        by : str, default=None
            Name of the author, for :meth:`changes`.
        """
        changed = {side.name: side.rounded_to_grid() for side in _parse_sides(sides)}
        with self._changing():
            if self._has_regions:
                raise ValueError("the ranges of an experiment over regions cannot be changed")
            if not self._optimizer.domain_.is_discretization:
                raise ValueError("the ranges of this kind of search cannot be changed")
            names = [side.name for side in self._sides]
            unknown = [name for name in changed if name not in names]
            if unknown:
                raise ValueError(
                    f"there is no side {unknown[0]!r}; the sides are {', '.join(names)}"
                )
            if constraints is None:
                constraints = self._constraints
            elif isinstance(constraints, str):
                constraints = [constraints]
            every = [changed.get(side.name, side) for side in self._sides]
            # Start from the initial parameters: later changes of them are events of the run.
            other = clone(self._optimizer._repeat_events([]))
            other.set_params(bounds=_make_bounds(every, list(constraints)))
            if costs is not None or self._costs:
                other.set_params(cost=read_costs(self._costs if costs is None else costs, every))
            taken = names + [self._labels["answer"]] * bool(self._labels["answer"])
            if limits is not None:
                before_limits, limited = outcome_limits(self._optimizer), read_limits(limits, taken)
                given = other.get_params(deep=False)
                ours = EIOptimizer if before_limits else GPUCBOptimizer
                if type(other) is ours and given.get("regret", "simple") == "simple":
                    shared = ("bounds", "alpha", "direction", "cost", "random_state")
                    other = _make_search(limited, {name: given[name] for name in shared})
                else:
                    other.set_params(limits=dict(limited) or None)
            other.start()
            events = self._convert_events(other)
            self._check_pending(other.run_.space)
            before = self._limits()
            block = self._block if block is None else block
            self._block = read_block(block, [*taken, *outcome_limits(other)])
            self._range = self._range if answer_range is None else read_range(answer_range)
            if score is not None:
                events = self._with_score(_parse_score(score, every), events)
            self._repeat(events, -1, other)
            self._changes += differences(None, before, self._limits(), checked_author(by))

    def _with_score(self, score: Score | None, events: list[Any]) -> list[Any]:
        """Set another score; return the events, with told answers again if ``score`` is None."""
        if score is not None and self._has_regions:
            raise ValueError("a score is for single settings, not for regions")
        name = self._labels["answer"] or DEFAULT_ANSWER_NAME
        if self._score is None and score is not None:
            for entry in self._entries:
                if entry.answer is not None:
                    record = self._records.setdefault(entry.number, entry.record)
                    record.measured = {name: entry.answer, **record.measured}
        if self._score is not None and score is None:
            told = Score.parse(quote(name))
            ended = {entry.ended: entry for entry in self._entries if entry.answer is not None}
            events = list(events)
            for i, entry in ended.items():
                try:
                    value = told(entry.record.measured)
                except ValueError:
                    raise ValueError(
                        f"query {entry.number} has no measurement {name!r} to take as its answer"
                    ) from None
                events[i] = (*events[i][:2], value, *events[i][3:])
        self._score = score
        return events

    def _limits(self) -> dict[str, Any]:
        """Return all settings that :meth:`change` can change, as a dict of texts."""
        rules = {
            "constraints": "; ".join(self._constraints),
            "limits": "; ".join(format_limits(outcome_limits(self._optimizer))),
            "costs": "; ".join(self._costs),
            "block": self._block,
            "answer_range": format_range(self._range),
            "score": self._score.text if self._score is not None else "",
        }
        return {**{side.name: str(side) for side in self._sides}, **rules}

    def _note_changes(
        self, before: dict[str, Any], after: dict[str, Any] | None, by: str | None
    ) -> None:
        """Record the differences of an entry before and after a change; None if it was removed."""
        new = {} if after is None else editable_fields(after)
        self._changes += differences(
            before["query"], editable_fields(before), new, checked_author(by)
        )

    def _check_pending(self, space: ParameterSpace) -> None:
        """Raise ValueError if a pending query violates a new constraint."""
        if space.feasible is None:
            return
        before = {text.strip() for text in self._constraints}
        for entry in self._entries:
            if entry.status != "pending":
                continue
            violated = space.feasible.violations(space.point(entry.query.params))
            for text in violated:
                if text not in before:
                    raise ValueError(
                        f"query {entry.number} is pending and violates {text!r}: tell its answer, "
                        "or skip it, before the constraint is added"
                    )

    def _convert_events(self, other: Any) -> list[Any]:
        """Return the events of the run, in the coordinates of ``other``, which has other sides."""
        old, new = self._optimizer.run_.space, other.run_.space
        number = {id(entry.query): entry.number for entry in self._entries}

        def convert(setting: dict[str, Any], what: str) -> np.ndarray:
            try:
                return new.point(setting)
            except ValueError as error:
                raise ValueError(f"{what} would be outside of the new limits: {error}") from None

        events: list[Any] = []
        for kind, *rest in self._optimizer._events:
            if kind in (*LEARNING, "outcomes"):
                events.append(None)
            elif kind == "fit":
                X = [convert(old.setting(x), "an answer of the past") for x in rest[0]]
                events.append((kind, np.array(X), rest[1]))
            elif kind == "set":
                known = set(other.get_params(deep=False)) - {"bounds", "limits", "cost"}
                others = {name: each for name, each in rest[0].items() if name in known}
                events.append((kind, others))
            else:
                query = rest[0]
                point = convert(query.params, f"query {number.get(id(query), '')}".strip())
                told = isinstance(query, PointsQuery)
                there = PointsQuery(point[None]) if told else other.domain_.placed_arm(point)
                events.append((kind, there._with_names(new), *rest[1:]))
        return events

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
            with self._reading():
                read, known = self._table_reader(answer), self._table_definition()
            past = read(path, skip_outside=skip_outside)
            with self._changing():
                if self._table_definition() == known:
                    return self._take_rows(past)

    def _table_definition(self) -> Any:
        """Return the arguments of :meth:`_table_reader` in a form that can be compared."""
        sides, limits = [side.as_dict() for side in self._sides], outcome_limits(self._optimizer)
        rules = self._constraints, dict(limits), self._block, self._score
        return sides, self._labels["answer"], *rules

    def _take_rows(self, past: PastAnswers) -> list[dict[str, Any]]:
        """Tell the rows of a table that have an answer, failed or were skipped; return entries."""
        rows = [row for row in past.rows if row.status != "pending"]
        if not rows:
            raise ValueError("the table has no row with an answer")
        n = len(self._optimizer._events)
        tell = self._optimizer.tell
        without_warnings(LimitWarning, tell, *_bulk_tell_arguments(self._optimizer, rows))
        self._leave_out(past)
        self._count()
        ended = (entry for entry in self._entries if entry.ended >= n)
        told = sorted(ended, key=lambda entry: entry.ended)
        for entry, row in zip(told, rows, strict=True):
            row.record.date = row.record.date or today()
            self._records[entry.number] = entry.record.merge(row.record)
        self._count()
        # Measurements may have been written while the queries were pending: repeat with them.
        if self._block or self._score is not None or outcome_limits(self._optimizer):
            self._repeat(self._optimizer._events, len(self._optimizer._events))
        self._check_measured([entry.number for entry in told])
        return [self._entry(entry.number).as_dict() for entry in told]

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
        unit = self._labels["unit"]
        told = None if answer is ... or answer is None else read_answer(answer, noise, unit=unit)
        if told is None and noise is not None:
            raise ValueError(f"noise is of an answer that is given as well, got {noise!r}")
        with self._changing():
            if told is not None:
                self._check_told(True)
            entry = self._entry(query)
            if entry.status == "pending":
                raise ValueError(f"query {query} has no answer yet: tell it")
            before, events = entry.as_dict(), self._optimizer._events
            if entry.status == "given":
                changed = self._correct_past_answer(entry, answer, told, at, events)
            else:
                changed = entry.ended
                kind, asked, *rest = events[changed]
                if at is not None:
                    asked = self._query_for_setting(at)
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
            self._records[query] = record
            self._repeat(events, changed)
            after = self._entry(query).as_dict()
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
            X[entry.row] = self._optimizer.run_.space.point(self._setting(at))
        events[0] = kind, X, y
        return 0

    def _query_for_setting(self, at: Mapping[str, Any]) -> PointsQuery:
        """Return the query for a setting that was not asked."""
        space = self._optimizer.run_.space
        return PointsQuery(space.point(self._setting(at))[np.newaxis])._with_names(space)

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
        with self._changing():
            told = [entry for entry in self._entries if entry.ended >= 0]
            if not told:
                raise ValueError("nothing was told yet that could be taken back")
            entry = max(told, key=lambda each: each.ended)
            events = self._optimizer._events
            events[entry.ended] = None
            self._records.pop(entry.number, None)
            self._repeat(events, entry.ended)
            left = [each.as_dict() for each in self._entries if each.number == entry.number]
            self._note_changes(entry.as_dict(), left[0] if left else None, by)
            return entry.as_dict()

    def changes(self) -> list[dict[str, Any]]:
        """Return all corrections, undone answers and changed notes and rules, in order.

        Returns
        -------
        changes : list of dicts
            ``query``, a number, or None for the rules of the experiment; ``what``, a key of
            :meth:`history`, or the name of a side or rule; ``before`` and ``after``, the values,
            None for an empty one; ``when``, such as "2026-01-31T16:05:00"; and ``by``, a text.
        """
        with self._reading():
            return [change.as_dict() for change in self._changes]

    # -- reading ----------------------------------------------------------------------------

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
        with self._reading():
            return [entry.as_dict() for entry in sorted(self._entries, key=lambda e: e.number)]

    def pending(self) -> list[dict[str, Any]]:
        """Return the queries that were asked and have no answer so far.

        Returns
        -------
        entries : list of dicts
            As in :meth:`history`.
        """
        return [entry for entry in self.history() if entry["status"] == "pending"]

    def best(self, side: Mapping[str, float] | None = None) -> dict[str, Any] | None:
        """Return the current recommendation and its uncertainty.

        In an experiment over regions the recommendation is no smaller than the smallest region with
        an answer.

        Parameters
        ----------
        side : dict, default=None
            For experiments over regions: the lengths of the sides of the recommended region, in the
            units of the sides, or as a share of a log scale; for a side of choices or whole numbers
            the number of its values, which is 1 if the side is missing.

        Returns
        -------
        best : dict or None
            None before the first answer. ``params``; ``mean`` and ``std``, the prediction of the
            answer there without its noise; ``interval_95``, a pair; ``beware``, a caveat of the
            interval as a sentence, empty if there is none; ``preferred``, the answered query with a
            better mean than the recommendation in the average over models, a dict with ``query``
            and ``mean``, None if there is none; ``noise``, the standard deviation of the noise in
            an answer, given or learned; ``between_blocks``, the standard deviation of the shifts of
            blocks, None without blocks; ``n_answers``; ``best_answer``, the entry of the history
            with the best answer, preferably within all limits;
            ``outcomes``, a list with the prediction of each outcome with a limit, see
            :meth:`expect`; and ``within_limits``, the probability that all limits hold.
        """
        with self._reading():
            if side is not None and not self._has_regions:
                raise ValueError(f"side is for experiments over regions, got side={side!r}")
            return self._best(side)

    def gap(self, confidence: float = 0.95) -> float | None:
        """Return an upper bound on how much better than the recommendation the best setting is.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability, in (0, 1), that the bound holds. With fewer than 30 answers, or than
            30 (d - 1) for d sides, the bound is too optimistic: :ref:`stopping`.

        Returns
        -------
        gap : float or None
            In units of the answers; None before the first answer.
        """
        with self._reading():
            known = any(entry.answer is not None for entry in self._entries)
            return float(self._optimizer.gap(1.0 - confidence)) if known else None

    def may_stop(self, within: float | None = None, confidence: float = 0.95) -> dict[str, Any]:
        """Return whether to stop, with the reasons.

        Parameters
        ----------
        within : float, default=None
            Largest difference between two settings that does not matter, in units of the answers.
        confidence : float, default=0.95
            As for :meth:`gap`.

        Returns
        -------
        verdict : dict
            ``enough``, whether one may stop; ``gap``, see :meth:`gap`, None with a learned kernel
            and more than two settings: no realistic number of answers bounds the gap then;
            ``expected_gain``, the improvement of the recommendation to be expected of ten more
            answers, None with limits or for regions; ``n_answers``; ``least_answers``, the number
            of answers from which the gap can be relied on; and ``why``, all of it in sentences.
            With fewer than four answers, or if all are equal, the learned kernel is an assumption:
            ``gap`` and ``expected_gain`` are None. With more than two settings ``enough`` needs at
            least ten answers, and an expected gain of at most ``within``.
        """
        with self._reading():
            answers = [entry.answer for entry in self._entries if entry.answer is not None]
            n, n_sides = len(answers), len(self._sides)
            unit, outlook = self._labels["unit"] if self._score is None else "", None
            if n:
                outlook = Outlook.of(self._optimizer, answers, n_sides, self._range, confidence)
            return verdict(outlook, n, n_sides, within, confidence, unit)

    def expect(self, at: Mapping[str, Any]) -> dict[str, Any]:
        """Predict the answer at a setting.

        Parameters
        ----------
        at : dict
            A value for every side, as a number or a text.

        Returns
        -------
        expected : dict
            ``params``; ``mean`` and ``std``, the prediction of the answer without its noise;
            ``interval_95``; ``noise``, the standard deviation of the noise in an answer;
            ``possible``, whether the setting satisfies all constraints; ``violates``, the
            constraints that it violates; ``outcomes``, a list of dicts with ``name``, ``limit``, a
            text, ``mean``, ``std`` and ``probability``, that the limit holds, None before the
            outcome was measured; and ``within_limits``, the probability that all limits hold, None
            without limits or while an outcome was never measured.
        """
        with self._reading():
            if all(entry.answer is None for entry in self._entries):
                raise ValueError("expect needs an answer, and there is none so far")
            setting, limits = self._setting(at), outcome_limits(self._optimizer)
            outcomes = judgement.predict_outcomes(self._optimizer, limits, setting)
            return judgement.predict_setting(self._optimizer, setting, self._range) | outcomes

    def why(self) -> list[dict[str, Any]]:
        """Return the reason for each pending query, according to the present model.

        Returns
        -------
        reasons : list of dicts
            ``query``, its number; ``mean`` and ``std``, the prediction of the answer without its
            noise; ``nearest``, the answered query with the most similar setting, a dict with
            ``query``, ``answer``, ``distance``, from 0 to 1, and ``differs``, the names of the
            sides with different values; and ``why``, a sentence without capital and full stop.
            Before the first answer ``mean``, ``std`` and ``nearest`` are None.
        """
        with self._reading():
            pending = [each for each in self._entries if each.status == "pending"]
            answered = [each for each in self._entries if each.answer is not None]
            best = self._best() if pending else None
            if best is None:
                return [reason_before_answers(each) for each in pending]
            known = self._optimizer, self._sides, answered, best
            asked = [each.query for each in pending]
            moments = self._optimizer.predict_query(asked, return_std=True)
            pairs = zip(*(each.tolist() for each in moments), strict=True)
            return [reason(each, pair, *known) for each, pair in zip(pending, pairs, strict=True)]

    def surprise(
        self,
        answer: float | str | Sequence[float],
        query: int | None = None,
        *,
        at: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """Check an answer before it is told; return its expected range if it is probably a typo.

        A forgotten decimal point makes 645 of 64.5, a displaced one 7.37 of 73.7. An answer outside
        of its 95 % interval is questioned if one of these slips, or a wrong sign, is at least a
        tenth as probable as the answer itself. It is also questioned if it is far beyond all other
        answers. With fewer than five answers nothing is questioned.

        Parameters
        ----------
        answer, query, at
            As for :meth:`tell`, which also accepts answers that are questioned.

        Returns
        -------
        surprise : dict or None
            None if the answer is not questioned. ``expected``, a range [low, high]; and ``meant``,
            the number that was probably meant, or None.
        """
        value, alpha, *_ = read_answer(answer, None, unit=self._labels["unit"])
        with self._reading():
            answers = [entry.answer for entry in self._entries if entry.answer is not None]
            if not answers or (self._has_regions and at is not None):
                return None
            optimizer = self._optimizer
            asked = self._entry_or_pending(query).query if at is None else self._setting(at)
            mean, std = judgement.most_probable_prediction(optimizer, asked)
            noise = optimizer.alpha_ if alpha is None else alpha
            shift = block_std(optimizer) or 0.0
            std, odds = sqrt(std**2 + noise + shift**2), judgement.ODDS_AT_ENTRY
            return judgement.surprise(answers, mean, std, value, odds)

    def surprises(
        self, measured: Mapping[str, Any], query: int | None = None
    ) -> dict[str, dict[str, Any]]:
        """Return the expected ranges of measurements that are probably typos.

        Each measurement is compared with all others of its name; no model of the setting is used.

        Parameters
        ----------
        measured : dict
            As for :meth:`tell`. Only names in the score or with a limit are checked.
        query : int, default=None
            Number of the query, whose earlier measurements are excluded from the comparison.

        Returns
        -------
        surprises : dict of dicts
            By the names of the measurements, each as :meth:`surprise` returns it.
        """
        with self._reading():
            asked = self._measurement_names()
            known = [each.measured for number, each in self._records.items() if number != query]
            found: dict[str, dict[str, Any]] = {}
            for name in asked:
                others = [x for each in known if isinstance(x := each.get(name), float)]
                value = number_or_text(str(measured.get(name, "")))
                if isinstance(value, float):
                    said = judgement.surprise_by_others(others, value)
                    found |= {} if said is None else {name: said}
            return found

    def questionable(self) -> list[dict[str, Any]]:
        """Return the answers that are probably typos, given all other answers.

        :meth:`surprise` checks an answer when it is told; later answers may show more. Correct a
        wrong answer with :meth:`correct`: the model may have learned too much noise from it.

        Returns
        -------
        questionable : list of dicts
            ``query``, its number; ``answer``; ``expected``, a range [low, high], predicted from all
            others; and ``meant``, the number that was probably meant, or None.
        """
        with self._reading():
            return judgement.questionable(self._optimizer, self._entries)

    def _entry_or_pending(self, query: int | None) -> Entry:
        """Return the entry with a number; the only pending entry if ``query`` is None."""
        return self._pending_entry(None) if query is None else self._entry(query)

    def replicates(self) -> list[dict[str, Any]]:
        """Return the settings that were measured several times.

        Returns
        -------
        replicates : list of dicts
            ``params``; ``queries``, their numbers; ``answers``, in the same order; their ``mean``;
            and their ``spread``, the standard deviation without the shifts of blocks.
        """
        with self._reading():
            shifts = {each["block"]: each["mean"] for each in blocks_in(self._optimizer)}
            of = {
                e.number: block_name(self._get_record(e.number), self._block) for e in self._entries
            }
            return judgement.replicates(
                self._entries, {number: shifts.get(block, 0.0) for number, block in of.items()}
            )

    def blocks(self) -> list[dict[str, Any]]:
        """Return the shift of each block from the average of all blocks so far.

        Returns
        -------
        blocks : list of dicts
            In order of first use: ``block``, its name; ``n_answers``; ``mean`` and ``std``, the
            prediction of its shift, in units of the answers. Empty if no answer has a block.
        """
        with self._reading():
            return blocks_in(self._optimizer)

    def trade_offs(self) -> dict[str, Any] | None:
        """Return the Pareto front of the measurements in the score.

        Returns
        -------
        trade_offs : dict or None
            ``names`` of the measurements; ``larger_is_better``, a list of bools, according to the
            score; ``queries`` and their ``values``, a list of lists; ``beyond``, numbers of the
            queries with a measurement beyond a limit; ``best``, numbers of the queries that no
            other query dominates (the Pareto front), among the results within all limits, or, while
            there are none, among the results that lack a measurement; ``hypervolume``, the share of
            the box between the worst and the best of each measurement that the front dominates.
            None if fewer than two measurements have a direction in the score, or there are fewer
            than two results.
        """
        with self._reading():
            told = [entry.as_dict() for entry in self._entries if entry.answer is not None]
            return None if self._score is None else trade_offs(self._score, told)

    def left_out(self) -> list[str]:
        """Return the rows of tables that were left out, with the reasons.

        Returns
        -------
        left_out : list of str
            The day, the row and the reason. After the first hundred rows of a table, their number.
        """
        with self._reading():
            return list(self._left_out)

    def status(self) -> dict[str, Any]:
        """Return the definition and the progress of the experiment.

        Returns
        -------
        status : dict
            ``file``, ``title``, ``answer``, ``unit``, ``direction``, ``noise``, its standard
            deviation, None if it is learned, ``regions``, ``sides``, a list of
            :meth:`Side.as_dict`, ``constraints``, ``limits`` and ``costs``, lists of texts,
            ``spent``, the total cost of answered and failed queries, None without costs, ``block``,
            the field that names blocks, ``answer_range`` and ``score``, texts that may be empty,
            ``not_used``, names of measurements that no limit, score or block uses, ``n_answered``,
            ``n_given``, ``n_failed``, ``n_skipped``, ``pending`` and ``best``, see the methods of
            this name.
        """
        with self._reading():
            optimizer = self._optimizer
            states = [entry.status for entry in self._entries]
            tried = [e for e in self._entries if e.status in ("answered", "failed")]
            paid = [entry.cost for entry in tried if entry.cost is not None]
            return {
                "file": str(self.path),
                **self._labels,
                **({} if self._score is None else {"answer": "score", "unit": ""}),
                "direction": optimizer.run_.params.direction,
                "noise": None if optimizer.alpha is None else sqrt(optimizer.alpha),
                "regions": self._has_regions,
                "sides": [side.as_dict() for side in self._sides],
                "constraints": list(self._constraints),
                "limits": format_limits(outcome_limits(optimizer)),
                "costs": list(self._costs),
                "spent": sum(paid) if self._costs else None,
                "block": self._block,
                "answer_range": format_range(self._range),
                "score": "" if self._score is None else self._score.text,
                "not_used": self._not_used(),
                **{f"n_{each}": states.count(each) for each in FINAL_STATUSES},
                "pending": self.pending(),
                "best": self._best(),
            }

    @property
    def sides(self) -> list[Side]:
        """The settings and their ranges."""
        with self._reading():
            return list(self._sides)

    @property
    def counted(self) -> list[str]:
        """Names of the measurements that the limits and the score need."""
        with self._reading():
            return self._measurement_names()

    @property
    def optimizer(self) -> Any:
        """The optimizer, for pictures; answers told to it directly are not saved."""
        with self._reading():
            return self._optimizer

    def _best(self, side: Mapping[str, float] | None = None) -> dict[str, Any] | None:
        optimizer = self._optimizer
        answered = [e for e in self._entries if e.answer is not None]
        try:
            if side is None and isinstance(optimizer, GPOOOptimizer):
                finest = judgement.smallest_region_depth(
                    optimizer, [entry.query for entry in answered]
                )
                query = optimizer.recommend(depth=finest)
            else:
                query = optimizer.recommend(side=None if side is None else dict(side))
        except NotFittedError:
            return None
        mean, std = (float(x[0]) for x in optimizer.predict_query([query], return_std=True))
        sign = -1.0 if optimizer.run_.params.direction == "minimize" else 1.0
        answers = [sign * float(entry.answer) for entry in answered if entry.answer is not None]
        limits = outcome_limits(optimizer)
        # Answers within all limits come first, then answers with a missing measurement.
        order = {True: 0, None: -1, False: -2}
        ranked = [(order[each.within_limits], y) for each, y in zip(answered, answers, strict=True)]
        return {
            "params": {name: jsonable(value) for name, value in query.params.items()},
            **judgement.clipped_prediction(optimizer, mean, std, self._range),
            "beware": judgement.interval_caveat(answers, optimizer.alpha is not None),
            "preferred": judgement.preferred_query(optimizer, query, answered),
            "between_blocks": block_std(optimizer),
            "n_answers": len(answered),
            "best_answer": answered[ranked.index(max(ranked))].as_dict(),
            **judgement.predict_outcomes(optimizer, limits, query.params),
        }

    # -- entries ----------------------------------------------------------------------------

    def _entry(self, query: int) -> Entry:
        """Return the entry with a number; raise ValueError if there is none."""
        for entry in self._entries:
            if entry.number == query:
                return entry
        numbers = f"1 to {self._last}" if self._last else "none so far"
        raise ValueError(f"there is no query {query!r}; queries have the numbers {numbers}")

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
            entry = self._pending_entry(query)
            if entry.number in self._lost:
                target: Any = self._lost.pop(entry.number)
                more = [entry.number]
            else:
                target = entry.query
        else:
            target = self._setting(at)
            if query is not None:
                entry = self._pending_entry(query)
                asked = {"params": entry.as_dict()["params"]}
                more = [self._withdraw(entry)]
        n = len(self._optimizer._events)
        learned = self._tell_arguments(record)
        more_told = {name: each for name, each in learned.items() if each and value is not None}
        tell = self._optimizer.tell
        without_warnings(LimitWarning, tell, target, value, alpha, **more_told)
        self._count(*more)
        number = next(entry.number for entry in self._entries if entry.ended >= n)
        before = self._records.get(number)
        if before is not None:  # notes were written while the query was pending
            record = before.merge(record)
        self._records[number] = record
        self._count()
        if value is not None and self._tell_arguments(record) != learned:
            self._repeat(self._optimizer._events, len(self._optimizer._events))
        if value is not None:
            self._check_measured([number])
        told = self._entry(number).as_dict()
        # A setting other than the one asked is a change as well.
        self._changes += differences(number, asked, told, record.operator)
        return told

    def _check_measured(self, told: Sequence[int]) -> None:
        """Warn if the first answers that lack a measurement for a limit are among ``told``."""
        for name in outcome_limits(self._optimizer):
            lacking = [
                e for e in self._entries if e.answer is not None and lacks_outcome(e.record, name)
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
            warn(
                f"{quote_name(name)} has a limit and was not measured for {which}{but}: nothing "
                "is known of the limit there",
                LimitWarning,
            )

    def _tell_arguments(self, record: LabRecord) -> dict[str, Any]:
        """Return the outcomes and the block of a record, as keyword arguments of ``tell``."""
        outcomes = outcome_values(record.measured, outcome_limits(self._optimizer))
        return {"outcomes": outcomes, "block": block_name(record, self._block)}

    def _withdraw(self, entry: Entry) -> int:
        """Delete a query, and return its number, which becomes free."""
        if self._lost.pop(entry.number, None) is None:
            events = self._optimizer._events
            events[entry.began] = None
            self._repeat(events, len(events))
        return entry.number

    def _pending_entry(self, query: int | None) -> Entry:
        """Return the entry of a pending query; of the only one if ``query`` is None."""
        if query is None:
            pending = [entry for entry in self._entries if entry.status == "pending"]
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
        entry = self._entry(query)
        if entry.status == "pending":
            return entry
        what = {"failed": "failed", "skipped": "was skipped"}.get(
            entry.status
        ) or f"has the answer {entry.answer:g}"
        raise ValueError(
            f"query {query} {what} already: correct it if that is wrong, with --correct on the "
            "command line or Experiment.correct in Python"
        )

    def _setting(self, at: Mapping[str, Any]) -> dict[str, Any]:
        """Return a complete setting, with each value converted to the type of its side."""
        names = [side.name for side in self._sides]
        unknown = [name for name in at if name not in names]
        missing = [name for name in names if name not in at]
        if unknown or missing:
            wrong = f"no side {unknown[0]!r}" if unknown else f"no value for {missing[0]!r}"
            raise ValueError(f"{wrong}: a setting has a value for each of {', '.join(names)}")
        try:
            return {side.name: side.value(at[side.name]) for side in self._sides}
        except ValueError as error:
            if not self._has_regions:
                raise
            raise ValueError(f"{error}; a region is told by its query, or in a table") from None


def _bulk_tell_arguments(
    optimizer: Any, rows: Sequence[PastAnswer]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the arguments of ``tell`` for rows: queries, answers, None for failures, variances."""
    queries = [_row_query(optimizer, row.setting) for row in rows]
    return queries, [row.answer for row in rows], [row.alpha for row in rows]


def _row_query(optimizer: Any, setting: dict[str, Any]) -> Any:
    """Return the setting of a row of a table; the query of its region if it is a region."""
    is_region = any(isinstance(value, Ends) for value in setting.values())
    of_regions = isinstance(optimizer, GPOOOptimizer)
    if not is_region and not (of_regions and optimizer.run_.space.n_settings < np.inf):
        return setting
    ends = {n: v if isinstance(v, Ends) else Ends(v, v) for n, v in setting.items()}
    first, last = ({name: each[i] for name, each in ends.items()} for i in (0, 1))
    return optimizer.domain_.query_of_box(optimizer.run_.space.box_between(first, last))


def _with_past(
    optimizer: Any, rows: Sequence[PastAnswer]
) -> tuple[Any, list[PastAnswer], list[Region]]:
    """Add the rows of a table to an optimizer.

    Returns
    -------
    optimizer : optimizer
    rows : list of PastAnswer
        The rows in the order of the events of the optimizer.
    lost : list of Region
        Regions of the last rows, pending queries that the tree would not ask.
    """
    given = [row for row in rows if row.status == "given"]
    told = [row for row in rows if row.status not in ("given", "pending")]
    if given:
        settings, answers = [row.setting for row in given], [row.answer for row in given]
        without_warnings(LimitWarning, optimizer.fit, settings, answers)
    if told:
        without_warnings(LimitWarning, optimizer.tell, *_bulk_tell_arguments(optimizer, told))
    space = optimizer.run_.space
    asked: list[tuple[PastAnswer, Any]] = []
    lost: list[tuple[PastAnswer, Any]] = []
    for row in rows:
        if row.status != "pending":
            continue
        query = _row_query(optimizer, row.setting)
        if isinstance(query, dict):
            point = space.point(query)
            if isinstance(optimizer, GPOOOptimizer):
                query = Region(point, point, (1,) * len(point))._with_names(space)
            else:
                query = optimizer.domain_.placed_arm(point)._with_names(space)
        (lost if isinstance(query, Region) else asked).append((row, query))
    if asked:
        events = [("ask", query) for _, query in asked]
        optimizer = optimizer._repeat_events([*optimizer._events, *events])
    pending = [row for row, _ in (*asked, *lost)]
    return optimizer, [*given, *told, *pending], [region for _, region in lost]


def _make_search(limits: Limits, settings: dict[str, Any]) -> Search:
    """Return the optimizer of an experiment: with limits another class than without.

    Simple regret, because the setting that is recommended at the end counts, not each answer.
    """
    if limits:
        return EIOptimizer(limits=dict(limits), **settings)
    return GPUCBOptimizer(regret="simple", **settings)


def _parse_score(text: str, sides: Sequence[Side]) -> Score | None:
    """Parse a score of measurements and of sides that are numbers; None for an empty text."""
    chosen = [side.name for side in sides if side.kind == "choice"]
    return read_score(text, [side.name for side in sides if side.name not in chosen], chosen)


def _measured_in(score: Score | None, sides: Sequence[Side]) -> list[str]:
    """Return the names in a score that are measurements, not sides; empty if there is no score."""
    taken = [side.name for side in sides]
    return [] if score is None else [name for name in score.names if name not in taken]


def _make_bounds(sides: Iterable[Side], constraints: list[str]) -> Any:
    """Return the ``bounds`` parameter of an optimizer, a dict or a Box with constraints."""
    bounds = {side.name: side.bounds for side in sides}
    return Box(bounds, constraints) if constraints else bounds


def _parse_sides(sides: Iterable[Side | str] | Mapping[str, Any]) -> list[Side]:
    """Parse the sides of :meth:`Experiment.create`; raise ValueError for equal names or values."""
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

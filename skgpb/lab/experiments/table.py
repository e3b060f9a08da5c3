"""Answers of the past from a table in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skgpb.domains.space import ParameterSpace
from skgpb.lab.datasets.columns import CellError, Column
from skgpb.lab.datasets.format import column_indices, strip_unit
from skgpb.lab.datasets.numbers import CURRENCIES, SECONDS, is_missing
from skgpb.lab.datasets.table import TableFile
from skgpb.lab.experiments.answers import (
    EnteredAnswer,
    is_same_unit,
    limit_note,
    read_cell,
    variance_of,
)
from skgpb.lab.experiments.blocks import write_block
from skgpb.lab.experiments.records import LONGEST, MOST_COLUMNS, LabRecord, written_date
from skgpb.lab.experiments.sides import Ends, Side
from skgpb.lab.experiments.texts import check_name, unprotected, with_point
from skgpb.utils.warnings import warn

# Columns of a notebook that was exported, and those with what was written for each query.
NUMBER, ERROR, STATUS, MEASUREMENTS = "number", "standard error", "status", "measurements"
WRITTEN = ("note", "operator", "date")
BOOKED = (NUMBER, ERROR, STATUS, MEASUREMENTS, *WRITTEN)
# Words before the names of columns that are called like another one.
BOOK, MEASURED = "notebook ", "measured "
# What became of queries without an answer.
UNANSWERED = ("failed", "skipped", "pending")
# Options of a search in a table, which errors of tables name, and what helps without them.
INSTEAD = {
    "say --sheet, one of": "keep the one with the results, of",
    "say --decimal comma or point": "write a point before decimals, and nothing between thousands",
    "say --dates %d/%m/%Y or %m/%d/%Y": "write it like 2026-01-31",
}
# Number of rejected rows that a message names, and that an experiment keeps of each table.
NAMED, KEPT = 10, 100


@dataclass
class PastAnswer:
    """A row of a table.

    Attributes
    ----------
    setting : dict
        Values by the names of the sides; their :class:`Ends` along sides of a region.
    answer : float or None
        None where there is none: see ``status``.
    status : {"given", "answered", "failed", "skipped", "pending"}
        As the notebook has it that was exported; "given" in any other table.
    alpha : float or None
        Noise variance of the answer, where it has its own.
    number : int or None
        Number of the query.
    record : LabRecord
        Notes on it.
    """

    setting: dict[str, Any]
    answer: float | None
    status: str
    alpha: float | None
    number: int | None
    record: LabRecord

    @property
    def is_region(self) -> bool:
        """True if the answer is an average over several settings."""
        return any(isinstance(value, Ends) for value in self.setting.values())


class PastAnswers(NamedTuple):
    """Rows of a table, and what was said of each that was left out."""

    rows: list[PastAnswer]
    left_out: list[str]


def booked(taken: Collection[str]) -> dict[str, str]:
    """Return what the columns of a notebook are called beside others that have these names."""
    names = {}
    for name in BOOKED:
        column = name
        while column in taken or BOOK + column in taken:
            column = BOOK + column
        names[name] = column
    return names


def marked(taken: Collection[str]) -> str:
    """Return the words before further measurements that are called like something else."""
    words = MEASURED
    while any(name.startswith(words) for name in taken):
        words += MEASURED
    return words


def read_answers(
    path: str | os.PathLike[str],
    sides: Sequence[Side],
    answer: str | None = None,
    *,
    limited: Sequence[str] = (),
    scored: Sequence[str] = (),
    block: str = "",
    unit: str = "",
    space: ParameterSpace,
    regions: bool = False,
    skip_outside: bool = False,
) -> PastAnswers:
    """Read settings and the answers they had.

    Parameters
    ----------
    path : path
        A table of any kind that :mod:`skgpb.lab.datasets.table` reads. Rows in which the answer
        is missing are passed over.
    sides : sequence of Side
        Sides; the table must have a column for each.
    answer : str, default=None
        Column of the answers; None for the only one that is no side and has no limit.
    limited : sequence of str, default=()
        What else is measured and has a limit; there need not be a column for each.
    scored : sequence of str, default=()
        What answers are computed from; the first stands for them.
    block : str, default=""
        What tells blocks of answers apart; there need not be a column for it.
    unit : str, default=""
        Unit of the answers.
    space : ParameterSpace
        The sides and their constraints. Rows that violate one were measured all the same: they are
        taken, with a note and a warning that name it.
    regions : bool, default=False
        Whether answers may be averages over regions, "20 to 90" or "A, B" along a side.
    skip_outside : bool, default=False
        Whether rows with a value that is missing or not on its side are left out, with a warning
        that names them.

    Returns
    -------
    past : PastAnswers

    Raises
    ------
    OSError
        If the file cannot be read.
    ImportError
        If a library is needed that is not installed.
    ValueError
        If a column is missing, a value is not on its side, or no row is left. The message
        names the rows and the columns.

    Warns
    -----
    UserWarning
        If rows are left out, or violate a constraint, or what has a limit has no column.
    """
    try:
        table = TableFile(Path(path))
        names = [side.name for side in sides]
        header = _Header(table, names, answer, [*limited, *scored], block, [*scored[:1]])
        return _read(table, sides, header, unit, space, regions, skip_outside)
    except ValueError as error:
        said = str(error)
        for option, instead in INSTEAD.items():
            said = said.replace(option, instead)
        raise ValueError(said) from error


def _read(
    table: TableFile,
    sides: Sequence[Side],
    header: _Header,
    unit: str,
    space: ParameterSpace,
    regions: bool,
    skip_outside: bool,
) -> PastAnswers:
    """Read settings and answers; errors name options of a search."""
    names = [side.name for side in sides]
    texts = [
        column
        for column, side in zip(header.sides, sides, strict=True)
        if regions or (side.kind == "choice" and not side.is_ordered)
    ]
    others = [*header.book.values(), *header.measured, *header.limited, *header.block]
    wanted = list(dict.fromkeys([*header.sides, header.answer, *others]))
    verbatim = [*texts, *header.texts, *header.measured, *header.block]
    found = dict(zip(wanted, table.read(wanted, (), verbatim), strict=True))
    settings = [found[column] for column in header.sides]
    try:
        for name in header.numbers:
            if not found[name].missing.all():
                found[name].check_numbers()
        answers = _answers_in(table, found[header.answer], unit)
        there = np.array([answer is not None for answer in answers], dtype=bool)
        if header.book:
            states = _texts_of(found[header.book[STATUS]])
            there |= np.isin(states, UNANSWERED)
        rows = np.flatnonzero(there)
        if not len(rows):
            raise ValueError(
                f"{table.name} has no row with an answer in the column {header.answer!r}"
            )
        for column in settings:
            if column.kind != "texts":
                column.check_numbers()
            if column.unit == SECONDS:
                reason = "it is a duration: write a number, in the unit of the setting"
                raise CellError(int(np.flatnonzero(~column.missing)[0]), column.name, reason)
    except CellError as error:
        raise ValueError(table.error_text(error)) from None
    past: dict[int, PastAnswer] = {}
    outside: list[CellError] = []
    for row in rows.tolist():
        try:
            values = [
                _value_of(side, column, row, bool(header.book), regions)
                for side, column in zip(sides, settings, strict=True)
            ]
            setting = dict(zip(names, values, strict=True))
            past[row] = header.past_answer(found, row, setting, answers[row])
            if past[row].is_region and past[row].status == "given":
                past[row].status = "answered"  # data of the past are about single settings
        except CellError as error:
            outside.append(error)
    if outside:
        _report(table, outside, len(rows), skip_outside)
    beyond = []
    for row, each in past.items():
        note = _violations(space, each.setting)
        if note:
            beyond.append((row, note))
        each.record.add_note(note)
    if beyond:
        said = _first([f"{table.place(row)}: {note}" for row, note in beyond[:NAMED]], len(beyond))
        warn(
            f"{len(beyond)} of {len(past)} rows of {table.name} are taken although they violate a "
            f"constraint: {'; '.join(said)}",
            UserWarning,
        )
    return PastAnswers(list(past.values()), _named(table, outside, KEPT))


class _Header:
    """The columns of a table: those of the sides and the answers, and those of a notebook.

    Parameters
    ----------
    table : TableFile
    names : list of str
        Names of the sides.
    answer : str or None
        Name of the answers.
    limited : sequence of str
        Names of what has a limit.
    block : str
        What tells blocks of answers apart; empty for nothing.
    instead : sequence of str
        At most one name, that stands for the answer in a table that is no notebook.

    Attributes
    ----------
    sides : list of str
        Their columns.
    answer : str
        The column of the answers.
    book : dict
        Columns of a notebook that was exported, by what they hold; empty for any other table.
    measured : dict
        Names of further measurements and of all columns that nothing uses yet, by their columns.
    limited : dict
        Names of what has a limit, by their columns, in a table that is no notebook.
    block : dict
        The same of what tells blocks apart.
    """

    def __init__(
        self,
        table: TableFile,
        names: list[str],
        answer: str | None,
        limited: Sequence[str],
        block: str,
        instead: Sequence[str],
    ) -> None:
        header = table.names([*names, *([] if answer is None else [answer])])
        plain = [unprotected(name) for name in header]
        book = _booked_in(plain)
        if instead and not book:
            answer = instead[0]
        # A name that looks like a formula has a mark in what was exported.
        column_of = dict(zip(plain, header, strict=True)) if book else {}
        known = plain if book else header
        sides = [_column(known, name) for name in names]
        column_indices(known, sides, table.name)
        columns = {_column(known, name): name for name in limited}
        blocks = {_column(known, block): block} if block and not book else {}
        absent = [name for column, name in (columns | blocks).items() if column not in known]
        if absent:
            what = "what has a limit" if set(absent) <= set(limited) else "limits and blocks"
            warn(
                f"{table.name} has no column {' and no column '.join(map(repr, absent))}: nothing "
                f"is learned from it of {what}",
                UserWarning,
            )
        columns = {column: name for column, name in columns.items() if column in known}
        others = [name for name in known if name and name not in (*sides, *book.values())]
        if not book and answer is None:
            others = [name for name in others if name not in (columns | blocks)]
        if book:
            # The answers are before their standard errors, unless somebody moved the columns.
            before = plain[plain.index(book[ERROR]) - 1] if book[ERROR] in plain else ""
            own = before if before in others else None
            if answer is None or answer in sides or own == _column(known, answer):
                answer = own
            elif own is not None:
                others.append(book.pop(ERROR))  # of other answers
        if answer is not None:
            answer = _column(known, answer)
        elif len(others) == 1:
            answer = others[0]
        else:
            raise ValueError(
                f"{table.name} must have one column besides {', '.join(map(repr, names))}, or the "
                f"one of answers must be named; it has {', '.join(map(repr, others)) or 'none'}"
            )
        column_indices(known, [answer], table.name)
        self.sides = [column_of.get(name, name) for name in sides]
        self.answer = column_of.get(answer, answer)
        self.book = {name: column for name, column in book.items() if column in plain}
        words = marked([*sides, answer, *book.values()])
        counted = {*sides, answer, *book.values(), *({} if book else columns | blocks)}
        others = [name for name in known if name and name not in counted]
        if not book:
            others = _storable(others, table.name)
        self.measured = {column_of.get(name, name): name.removeprefix(words) for name in others}
        self.limited = {} if book else columns
        self.block = {column: name for column, name in blocks.items() if column in known}

    @property
    def numbers(self) -> list[str]:
        """Columns besides sides and answers that hold numbers."""
        booked = [self.book[name] for name in (NUMBER, ERROR) if name in self.book]
        return [*booked, *self.limited]

    @property
    def texts(self) -> list[str]:
        """Columns of a notebook that hold texts."""
        return [self.book[name] for name in (STATUS, MEASUREMENTS, *WRITTEN) if name in self.book]

    def past_answer(
        self,
        found: dict[str, Column],
        row: int,
        setting: dict[str, Any],
        told: EnteredAnswer | None,
    ) -> PastAnswer:
        """Return what a row says."""
        answer, alpha, measurements, remark = (None, None, (), "") if told is None else told
        number, status = None, "given" if alpha is None else "answered"
        limited = {
            name: found[column].limits.get(row, _number_in(found[column], row))
            for column, name in self.limited.items()
        }
        record = LabRecord(measurements=list(measurements))
        record.write(measured={name: x for name, x in limited.items() if x is not None})
        texts = {column: _text_in(found[column], row) for column in (*self.block, *self.measured)}
        for column, name in self.block.items():
            write_block(record, name, texts[column])
        measured = {
            name: unprotected(with_point(texts[column])) for column, name in self.measured.items()
        }
        if not self.book:
            _write_beside(record, measured)
        else:
            columns = {name: found[column] for name, column in self.book.items()}
            known = [name for name in (STATUS, MEASUREMENTS, *WRITTEN) if name in columns]
            cells = {name: _text_in(columns[name], row) for name in known}
            said, number = cells[STATUS], _number_in(columns[NUMBER], row)
            error = _number_in(columns[ERROR], row) if ERROR in columns else None
            if answer is None:
                status, error = said, None
            elif said != "given" or error is not None:
                status = "answered"
            if answer is not None and not measurements and cells.get(MEASUREMENTS):
                with suppress(ValueError):
                    mean, _, values, _ = read_cell(unprotected(cells[MEASUREMENTS]))
                    # They are those of an answer that nobody has changed since.
                    record.measurements = list(values) if isclose(mean, answer) else []
            try:
                alpha = alpha if error is None else variance_of(error)
                note, operator, date = (unprotected(cells.get(name, "")) for name in WRITTEN)
                record.write(note, operator, written_date(date) or date, measured)
            except ValueError as wrong:
                raise CellError(row, self.book[STATUS], str(wrong)) from None
            record.skipped = status == "skipped"
        record.add_note(remark)
        whole = (
            int(number) if number is not None and number >= 1 and number == int(number) else None
        )
        return PastAnswer(setting, answer, status, alpha, whole, record)


def _storable(names: list[str], table: str) -> list[str]:
    """Return the columns that a record can store; a warning names the others."""
    kept = []
    for name in names:
        with suppress(ValueError):
            check_name(name, "")
            if names.count(name) == 1 and len(name) <= LONGEST:
                kept.append(name)
    kept = kept[:MOST_COLUMNS]
    lost = [name for name in dict.fromkeys(names) if name not in kept]
    if lost:
        warn(
            f"{len(lost)} columns of {table} are left out: {', '.join(map(repr, lost[:NAMED]))}",
            UserWarning,
        )
    return kept


def _write_beside(record: LabRecord, texts: dict[str, str]) -> None:
    """Write down the columns of a table that nothing uses yet: a limit or a score may later."""
    measured = {name: text for name, text in texts.items() if not is_missing(text)}
    for name in list(measured):
        field, text = name.lower(), measured[name]
        if field == "date" and (day := written_date(text)) and not record.date:
            record.write(date=day)
        elif field == "operator" and not record.operator:
            record.write(operator=text)
        elif field == "note" and not record.note:
            record.write(note=text)
        else:
            continue
        del measured[name]
    record.write(measured={name: text[:LONGEST] for name, text in measured.items()})


def _booked_in(header: Sequence[str]) -> dict[str, str]:
    """Return the columns of a notebook in a header; empty if it is none."""
    names = {}
    for name in BOOKED:
        column = name
        while BOOK + column in header:
            column = BOOK + column
        names[name] = column
    return names if {names[NUMBER], names[STATUS]} <= set(header) else {}


def _texts_of(column: Column) -> list[str]:
    return [_text_in(column, row) for row in range(len(column.values))]


def _text_in(column: Column, row: int) -> str:
    """Return the text of a cell, empty if it is."""
    value = column.values[row]
    return "" if np.isnan(value) else column.labels[int(value)]


def _number_in(column: Column, row: int) -> float | None:
    value = float(column.values[row])
    return None if np.isnan(value) or column.labels else value


def _answers_in(table: TableFile, column: Column, unit: str) -> list[EnteredAnswer | None]:
    """Return the answer in each row; there may be several measurements, or counts, in a cell."""
    try:
        if not column.missing.all():
            column.check_numbers()
    except CellError:
        (texts,) = table.read([column.name], (), [column.name])
        try:
            return [
                None if is_missing(text) else read_cell(text, unit)
                for text in (unprotected(each) for each in _texts_of(texts))
            ]
        except ValueError:
            pass
        raise
    has_other_unit = column.unit == SECONDS or (unit and column.unit not in {"", *CURRENCIES})
    if has_other_unit and not is_same_unit(column.unit, unit):
        row = int(np.flatnonzero(~column.missing)[0])
        raise CellError(row, column.name, f"it is in {column.unit}, and answers in {unit!r}")
    return [
        None
        if (value := _number_in(column, row)) is None
        else EnteredAnswer(value, None, note=limit_note(limit) if limit else "")
        for row in range(len(column.values))
        for limit in [column.limits.get(row)]
    ]


def _violations(space: ParameterSpace, setting: dict[str, Any]) -> str:
    """Name the constraints that a setting violates."""
    if space.feasible is None:
        return ""
    violated = space.feasible.violated(space.point(setting))
    return f"violates {' and '.join(violated)}" if violated else ""


def _report(table: TableFile, outside: list[CellError], n_rows: int, skipped: bool) -> None:
    """Name rows that cannot be taken: in a warning if they are skipped, else in an error."""
    said = "; ".join(_named(table, outside, NAMED))
    which = f"{len(outside)} of {n_rows} rows of {table.name}"
    if skipped and len(outside) < n_rows:
        warn(f"{which} are left out: {said}", UserWarning)
        return
    hint = "" if skipped else " (--skip-outside, or skip_outside=True, leaves such rows out)"
    raise ValueError(f"{which} cannot be taken: {said}{hint}")


def _named(table: TableFile, outside: list[CellError], most: int) -> list[str]:
    """Describe what is wrong with the first ``most`` rows, and count the others."""
    return _first([table.error_text(error) for error in outside[:most]], len(outside))


def _first(said: list[str], n: int) -> list[str]:
    """Return what is said of the first of n rows, and how many others there are."""
    return [*said, f"and {n - len(said)} more"] if n > len(said) else said


def _column(header: list[str], name: str) -> str:
    """Return the column of a name, or the only one that differs from it by its unit."""
    if name in header:
        return name
    alike = [each for each in header if strip_unit(each) == strip_unit(name)]
    return alike[0] if len(alike) == 1 else name


def _value_of(side: Side, column: Column, row: int, exported: bool, regions: bool) -> Any:
    """Return the value of a side in a row, or its ends; texts that were exported may be marked."""
    value = column.values[row]
    if np.isnan(value):
        raise CellError(row, side.name, "the value is missing")
    text = column.labels[int(value)] if column.labels else ""
    # A number among texts may have a decimal comma.
    marked = [unprotected(text), with_point(text)]
    given: list[Any] = marked if exported else [text, unprotected(text)]
    readings: list[Callable[[Any], Any]] = [side.value]
    if not column.labels:
        given = [float(value)]
    elif regions and side.is_ordered:
        readings = [side.region]
    elif regions:
        # What was exported has quotes where a value looks like several.
        readings = [side.region, side.value] if exported else [side.value, side.region]
    reason = ""
    for read, each in product(readings, given):
        try:
            found = read(each)
        except ValueError as error:
            reason = str(error)
        else:
            return found.first if isinstance(found, Ends) and found.first == found.last else found
    if column.labels and is_missing(text):
        reason = "the value is missing"
    elif column.labels and not regions:
        with suppress(ValueError):
            side.region(text)
            reason += (
                ": averages over regions are for an experiment with --regions on the command "
                "line, or regions=True in Python"
            )
    raise CellError(row, side.name, reason)

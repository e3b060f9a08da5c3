"""Reading of settings and answers from a table: past measurements, or an exported notebook."""

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
    noise_variance,
    read_cell,
)
from skgpb.lab.experiments.blocks import write_block
from skgpb.lab.experiments.records import LONGEST, MOST_COLUMNS, LabRecord, normalize_date
from skgpb.lab.experiments.sides import Ends, Side
from skgpb.lab.experiments.texts import check_name, remove_text_mark, with_point
from skgpb.utils.validation import shorten_value
from skgpb.utils.warnings import warn

# Columns of an exported notebook; its columns of fields of LabRecord.
NUMBER, ERROR, STATUS, MEASUREMENTS = "number", "standard error", "status", "measurements"
WRITTEN = ("note", "operator", "date")
NOTEBOOK_COLUMNS = (NUMBER, ERROR, STATUS, MEASUREMENTS, *WRITTEN)
# Prefixes of columns of the notebook, and of measurements, with the name of another column.
BOOK_PREFIX, MEASURED_PREFIX = "notebook ", "measured "
# Statuses of queries without an answer.
UNANSWERED = ("failed", "skipped", "pending")
# Advice in errors of TableFile, which names options of the shell; and advice for experiments.
INSTEAD = {
    "say --sheet, one of": "keep the one with the results, of",
    "say --decimal comma or point": "write a point before decimals, and nothing between thousands",
    "say --dates %d/%m/%Y or %m/%d/%Y": "write it like 2026-01-31",
}
# Limit: rejected rows that a message names, and rejected rows of a table that an experiment stores.
NAMED, KEPT = 10, 100


@dataclass
class PastAnswer:
    """A row of a table.

    Attributes
    ----------
    setting : dict
        Values by the names of the sides; their :class:`Ends` along sides of a region.
    answer : float or None
        None if ``status`` is one of ``UNANSWERED``.
    status : {"given", "answered", "failed", "skipped", "pending"}
        Status in an exported notebook. In other tables "given", or "answered" if the answer has its
        own noise variance.
    alpha : float or None
        Noise variance of the answer, if the table has one.
    number : int or None
        Number of the query.
    record : LabRecord
        Notes on the query.
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
    """Rows of a table, and error texts of the rows that were left out."""

    rows: list[PastAnswer]
    left_out: list[str]


def notebook_columns(taken: Collection[str]) -> dict[str, str]:
    """Return the columns of an exported notebook, as a dict by ``NOTEBOOK_COLUMNS``.

    A column has a prefix if one of the other columns, ``taken``, has its name.
    """
    names = {}
    for name in NOTEBOOK_COLUMNS:
        column = name
        while column in taken or BOOK_PREFIX + column in taken:
            column = BOOK_PREFIX + column
        names[name] = column
    return names


def measured_prefix(taken: Collection[str]) -> str:
    """Return the prefix of measurements whose names are ``taken`` by other columns."""
    words = MEASURED_PREFIX
    while any(name.startswith(words) for name in taken):
        words += MEASURED_PREFIX
    return words


def read_answers(
    path: str | os.PathLike[str],
    sides: Sequence[Side],
    answer: str | None = None,
    *,
    limited: Sequence[str] = (),
    of_two: Sequence[str] = (),
    scored: Sequence[str] = (),
    block: str = "",
    unit: str = "",
    space: ParameterSpace,
    regions: bool = False,
    skip_outside: bool = False,
) -> PastAnswers:
    """Read settings and their answers from a table.

    Parameters
    ----------
    path : path
        A table of any format that :mod:`skgpb.lab.datasets.table` reads. Rows in which the answer
        is missing are passed over.
    sides : sequence of Side
        Sides; the table must have a column for each.
    answer : str, default=None
        Column of the answers; None for the only column that is no side and has no limit.
    limited : sequence of str, default=()
        Names of measurements that limits need; their columns may be missing.
    of_two : sequence of str, default=()
        Those of them that are yes or no.
    scored : sequence of str, default=()
        Names of measurements in the score; the column of the first replaces that of the answers.
    block : str, default=""
        Field that names blocks; its column may be missing.
    unit : str, default=""
        Unit of the answers.
    space : ParameterSpace
        The sides and their constraints. Rows that violate one are used, because they were measured,
        with a note and a warning that name it.
    regions : bool, default=False
        Whether answers may be averages over regions, "20 to 90" or "A, B" along a side.
    skip_outside : bool, default=False
        Whether to leave out rows with a value that is missing or not on its side, with a warning
        that names them.

    Returns
    -------
    past : PastAnswers

    Raises
    ------
    OSError
        If the file cannot be read.
    ImportError
        If the format needs a library that is not installed.
    ValueError
        If a column is missing, a value is not on its side, or no row is left. The message
        names the rows and the columns.

    Warns
    -----
    UserWarning
        If rows are left out or violate a constraint, or an outcome with a limit has no column.
    """
    try:
        table = TableFile(Path(path))
        names = [side.name for side in sides]
        header = _Header(table, names, answer, [*limited, *scored], of_two, block, scored)
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
    """Read settings and answers; errors of :class:`TableFile` name options of the shell."""
    names = [side.name for side in sides]
    texts = [
        column
        for column, side in zip(header.sides, sides, strict=True)
        if regions or (side.kind == "choice" and not side.is_ordered)
    ]
    others = [*header.book.values(), *header.measured, *header.limited, *header.block]
    wanted = list(dict.fromkeys([*header.sides, header.answer, *others]))
    verbatim = [*texts, *header.texts, *header.measured, *header.block]
    columns = table.read(wanted, (), verbatim, keep_unreadable=True)
    found = dict(zip(wanted, columns, strict=True))
    for name, column in found.items():
        if name != header.answer and (wrong := table.unreadable(column)):
            raise ValueError(wrong)
    settings = [found[column] for column in header.sides]
    try:
        for name in header.numbers:
            if not found[name].missing.all():
                found[name].check_numbers()
        answers = _answers_in(table, found[header.answer], unit)
        there = np.array([answer is not None for answer in answers], dtype=bool)
        if header.scored:
            lacks = np.any([found[column].missing for column in header.scored], axis=0)
            if (there & lacks).any():
                warn(
                    f"{(there & lacks).sum()} of {there.sum()} rows of {table.name} are left out: "
                    "they lack a measurement of the score",
                    UserWarning,
                )
            there &= ~lacks
        if header.book:
            states = _column_texts(found[header.book[STATUS]])
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
                _cell_value(side, column, row, bool(header.book), regions)
                for side, column in zip(sides, settings, strict=True)
            ]
            setting = dict(zip(names, values, strict=True))
            past[row] = header.past_answer(found, row, setting, answers[row])
            if past[row].is_region and past[row].status == "given":
                past[row].status = "answered"  # fit, for given answers, takes no regions
        except CellError as error:
            outside.append(error)
    if outside:
        _report(table, outside, len(rows), skip_outside)
    _note_violations(table, past, space)
    return PastAnswers(list(past.values()), _describe_errors(table, outside, KEPT))


class _Header:
    """Columns of a table, by their use in an experiment.

    Parameters
    ----------
    table : TableFile
    names : list of str
        Names of the sides.
    answer : str or None
        Name of the answers.
    limited : sequence of str
        Names of measurements for limits and the score.
    of_two : sequence of str
        Those of them that are yes or no; their cells are kept as texts.
    block : str
        Field that names blocks; empty without blocks.
    scored : sequence of str
        Names of the measurements in the score; unless the table is a notebook, the column of the
        first replaces that of the answers.

    Attributes
    ----------
    sides : list of str
        Columns of the sides.
    answer : str
        Column of the answers.
    book : dict
        Columns of an exported notebook, by ``NOTEBOOK_COLUMNS``; empty for any other table.
    measured : dict
        Names of further measurements and of all unused columns, by their columns.
    limited : dict
        Names of measurements for limits and the score, by their columns; empty for a notebook.
    scored : list of str
        Columns of the measurements in the score; empty for a notebook.
    block : dict
        Name of the field of blocks, by its column; empty if there is no column or for a notebook.
    """

    def __init__(
        self,
        table: TableFile,
        names: list[str],
        answer: str | None,
        limited: Sequence[str],
        of_two: Sequence[str],
        block: str,
        scored: Sequence[str],
    ) -> None:
        header = table.names([*names, *([] if answer is None else [answer])])
        plain = [remove_text_mark(name) for name in header]
        book = _find_notebook_columns(plain)
        if scored and not book:
            answer = scored[0]
        # Export marks names that look like formulas.
        column_of = dict(zip(plain, header, strict=True)) if book else {}
        known = plain if book else header
        sides = [_column(known, name) for name in names]
        column_indices(known, sides, table.name)
        columns = {_column(known, name): name for name in limited}
        blocks = {_column(known, block): block} if block and not book else {}
        absent = [name for column, name in (columns | blocks).items() if column not in known]
        if absent:
            use = "limits" if set(absent) <= set(limited) else "limits and blocks"
            warn(
                f"{table.name} has no column {' and no column '.join(map(repr, absent))}: nothing "
                f"is learned from it about {use}",
                UserWarning,
            )
        columns = {column: name for column, name in columns.items() if column in known}
        others = [name for name in known if name and name not in (*sides, *book.values())]
        if not book and answer is None:
            others = [name for name in others if name not in (columns | blocks)]
        if book:
            # Export writes the answers before their standard errors; users may move columns.
            before = plain[plain.index(book[ERROR]) - 1] if book[ERROR] in plain else ""
            own = before if before in others else None
            if answer is None or answer in sides or own == _column(known, answer):
                answer = own
            elif own is not None:
                others.append(book.pop(ERROR))  # standard errors of another column of answers
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
        used = [*sides, *([] if book or scored else columns), answer]
        for name in [] if book else used:
            if used.count(name) > 1:
                raise ValueError(f"{table.name}: column {name!r} cannot stand for two names")
        self.sides = [column_of.get(name, name) for name in sides]
        self.answer = column_of.get(answer, answer)
        self.book = {name: column for name, column in book.items() if column in plain}
        words = measured_prefix([*sides, answer, *book.values()])
        counted = {*sides, answer, *book.values(), *({} if book else columns | blocks)}
        others = [name for name in known if name and name not in counted]
        if not book:
            others = _storable(others, table.name)
        self.measured = {column_of.get(name, name): name.removeprefix(words) for name in others}
        self.limited = {} if book else columns
        self.scored = [column for column, name in self.limited.items() if name in scored]
        self._of_two = [column for column, name in self.limited.items() if name in of_two]
        self.block = {column: name for column, name in blocks.items() if column in known}

    @property
    def numbers(self) -> list[str]:
        """Columns besides sides and answers that hold numbers."""
        columns = [self.book[name] for name in (NUMBER, ERROR) if name in self.book]
        return [*columns, *(column for column in self.limited if column not in self._of_two)]

    @property
    def texts(self) -> list[str]:
        """Columns of a notebook that hold texts, and those of outcomes that are yes or no."""
        known = [self.book[name] for name in (STATUS, MEASUREMENTS, *WRITTEN) if name in self.book]
        return known + self._of_two

    def past_answer(
        self,
        found: dict[str, Column],
        row: int,
        setting: dict[str, Any],
        told: EnteredAnswer | None,
    ) -> PastAnswer:
        """Return the :class:`PastAnswer` of a row, from its cells and its parsed answer."""
        answer, alpha, measurements, remark = (None, None, (), "") if told is None else told
        number, status = None, "given" if alpha is None else "answered"
        limited = {
            name: found[column].limits.get(row, _number_in(found[column], row))
            for column, name in self.limited.items()
            if column not in self._of_two
        }
        words = {self.limited[column]: _text_in(found[column], row) for column in self._of_two}
        limited |= {name: None if is_missing(text) else text for name, text in words.items()}
        record = LabRecord(measurements=list(measurements))
        record.write(measured={name: x for name, x in limited.items() if x is not None})
        texts = {column: _text_in(found[column], row) for column in (*self.block, *self.measured)}
        for column, name in self.block.items():
            write_block(record, name, texts[column])
        measured = {
            name: remove_text_mark(with_point(texts[column]))
            for column, name in self.measured.items()
        }
        if not self.book:
            _write_unused_columns(record, measured)
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
                    mean, _, values, _ = read_cell(remove_text_mark(cells[MEASUREMENTS]))
                    # Drop the replicates if the answer was changed since the export.
                    record.measurements = list(values) if isclose(mean, answer) else []
            try:
                alpha = alpha if error is None else noise_variance(error)
                note, operator, date = (remove_text_mark(cells.get(name, "")) for name in WRITTEN)
                record.write(note, operator, normalize_date(date) or date, measured)
            except ValueError as wrong:
                raise CellError(row, self.book[STATUS], str(wrong)) from None
            record.skipped = status == "skipped"
        record.add_note(remark)
        whole = (
            int(number) if number is not None and number >= 1 and number == int(number) else None
        )
        return PastAnswer(setting, answer, status, alpha, whole, record)


def _storable(names: list[str], table: str) -> list[str]:
    """Return the columns that a record can store; warn of the others."""
    kept = []
    for name in names:
        with suppress(ValueError):
            check_name(name, "")
            if names.count(name) == 1 and len(name) <= LONGEST:
                kept.append(name)
    kept = kept[:MOST_COLUMNS]
    lost = [name for name in dict.fromkeys(names) if name not in kept]
    if lost:
        named = ", ".join(map(shorten_value, lost[:NAMED]))
        warn(f"{len(lost)} columns of {table} are left out: {named}", UserWarning)
    return kept


def _write_unused_columns(record: LabRecord, texts: dict[str, str]) -> None:
    """Write unused columns of a table to a record: a later limit or score may use them."""
    measured = {name: text for name, text in texts.items() if not is_missing(text)}
    for name in list(measured):
        field, text = name.lower(), measured[name]
        known: dict[str, Any] = {field: normalize_date(text) if field == "date" else text}
        if field in WRITTEN and known[field] and not getattr(record, field):
            record.write(**known)
            del measured[name]
    record.write(measured={name: text[:LONGEST] for name, text in measured.items()})


def _find_notebook_columns(header: Sequence[str]) -> dict[str, str]:
    """Return the columns of an exported notebook in a header; empty if the table is none."""
    names = {}
    for name in NOTEBOOK_COLUMNS:
        column = name
        while BOOK_PREFIX + column in header:
            column = BOOK_PREFIX + column
        names[name] = column
    return names if {names[NUMBER], names[STATUS]} <= set(header) else {}


def _column_texts(column: Column) -> list[str]:
    return [_text_in(column, row) for row in range(len(column.values))]


def _text_in(column: Column, row: int) -> str:
    """Return the text of a cell; an empty text if the cell is empty."""
    value = column.values[row]
    return "" if np.isnan(value) else column.labels[int(value)]


def _number_in(column: Column, row: int) -> float | None:
    value = float(column.values[row])
    return None if np.isnan(value) or column.labels else value


def _answers_in(table: TableFile, column: Column, unit: str) -> list[EnteredAnswer | None]:
    """Parse the answer in each row, None in empty cells; a cell may have replicates or counts."""
    try:
        if not column.missing.all():
            column.check_numbers()
        if wrong := table.unreadable(column):
            raise ValueError(wrong)
    except ValueError:
        (texts,) = table.read([column.name], (), [column.name])
        try:
            return [
                None if is_missing(text) else read_cell(text, unit)
                for text in (remove_text_mark(each) for each in _column_texts(texts))
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


def _note_violations(table: TableFile, past: dict[int, PastAnswer], space: ParameterSpace) -> None:
    """Note the constraints that each row violates; warn of such rows."""
    if space.feasible is None:
        return
    notes = {}
    for row, each in past.items():
        if violated := space.feasible.violations(space.point(each.setting)):
            notes[row] = f"violates {' and '.join(violated)}"
            each.record.add_note(notes[row])
    if notes:
        named = [f"{table.place(row)}: {note}" for row, note in list(notes.items())[:NAMED]]
        warn(
            f"{len(notes)} of {len(past)} rows of {table.name} are taken although they violate a "
            f"constraint: {'; '.join(_first(named, len(notes)))}",
            UserWarning,
        )


def _report(table: TableFile, outside: list[CellError], n_rows: int, skipped: bool) -> None:
    """Warn of invalid rows; raise ValueError if they are not skipped, or all rows are invalid."""
    said = "; ".join(_describe_errors(table, outside, NAMED))
    which = f"{len(outside)} of {n_rows} rows of {table.name}"
    if skipped and len(outside) < n_rows:
        warn(f"{which} are left out: {said}", UserWarning)
        return
    hint = "" if skipped else " (--skip-outside, or skip_outside=True, leaves such rows out)"
    raise ValueError(f"{which} cannot be taken: {said}{hint}")


def _describe_errors(table: TableFile, outside: list[CellError], most: int) -> list[str]:
    """Return the errors of the first ``most`` invalid rows, and the number of the others."""
    return _first([table.error_text(error) for error in outside[:most]], len(outside))


def _first(said: list[str], n: int) -> list[str]:
    """Append the number of further rows to texts about the first of n rows."""
    return [*said, f"and {n - len(said)} more"] if n > len(said) else said


def _column(header: list[str], name: str) -> str:
    """Return the column of a name, or the only one that differs from it by its unit."""
    if name in header:
        return name
    alike = [each for each in header if strip_unit(each) == strip_unit(name)]
    return alike[0] if len(alike) == 1 else name


def _cell_value(side: Side, column: Column, row: int, exported: bool, regions: bool) -> Any:
    """Return the value of a side in a row, its ends for a region; exported texts may be marked."""
    value = column.values[row]
    if np.isnan(value):
        raise CellError(row, side.name, "the value is missing")
    text = column.labels[int(value)] if column.labels else ""
    # A number among texts may have a decimal comma.
    unmarked = [remove_text_mark(text), with_point(text)]
    given: list[Any] = unmarked if exported else [text, remove_text_mark(text)]
    readings: list[Callable[[Any], Any]] = [side.value]
    if not column.labels:
        given = [float(value)]
    elif regions and side.is_ordered:
        readings = [side.region]
    elif regions:
        # Exported values have quotes if they look like a list: parse them as regions first.
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

"""Answers of the past from a table in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skgpb._warnings import warn
from skgpb.datasets import TableFile
from skgpb.datasets.columns import CellError, Column
from skgpb.datasets.format import places_of, without_unit
from skgpb.domains.space import ParameterSpace
from skgpb.experiments.sides import Side

# Columns of a notebook that was exported.
NUMBER, ERROR, STATUS = "number", "standard error", "status"
# Options of a search in a table, which errors of tables name, and what helps without them.
INSTEAD = {
    "say --sheet, one of": "keep the one with the results, of",
    "say --decimal comma or point": "write a point before decimals, and nothing between thousands",
    "say --dates %d/%m/%Y or %m/%d/%Y": "write it like 2026-01-31",
}
# Number of rejected rows that a message names, and that an experiment keeps of each table.
NAMED, KEPT = 10, 100


class PastAnswers(NamedTuple):
    """Settings, their answers, notes on them, and what was said of each row that was left out."""

    settings: list[dict[str, Any]]
    answers: list[float]
    notes: list[str]
    left_out: list[str]


def read_answers(
    path: str | os.PathLike[str],
    sides: Sequence[Side],
    answer: str | None = None,
    *,
    space: ParameterSpace,
    skip_outside: bool = False,
) -> PastAnswers:
    """Read settings and the answers they had.

    Parameters
    ----------
    path : path
        A table of any kind that :class:`~skgpb.datasets.TableFile` reads. Rows in which the answer
        is missing are passed over.
    sides : sequence of Side
        Sides; the table must have a column for each.
    answer : str, default=None
        Column of the answers; None for the only one that is no side.
    space : ParameterSpace
        The sides and their constraints. Rows that violate one were measured all the same: they are
        taken, with a note and a warning that name it.
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
        If rows are left out, or violate a constraint.
    """
    try:
        return _read(TableFile(Path(path)), sides, answer, space, skip_outside)
    except ValueError as error:
        said = str(error)
        for option, instead in INSTEAD.items():
            said = said.replace(option, instead)
        raise ValueError(said) from error


def _read(
    table: TableFile,
    sides: Sequence[Side],
    answer: str | None,
    space: ParameterSpace,
    skip_outside: bool,
) -> PastAnswers:
    """Read settings and answers; errors name options of a search."""
    names = [side.name for side in sides]
    columns, name = _columns(table, names, answer)
    texts = [
        column
        for column, side in zip(columns, sides, strict=True)
        if side.kind == "choice" and not side.is_ordered
    ]
    *settings, answers = table.read([*columns, name], texts)
    try:
        answers.check_numbers()
        rows = np.flatnonzero(~answers.missing)
        if not len(rows):
            raise ValueError(f"{table.name} has no row with an answer in the column {name!r}")
        for column in settings:
            if column.kind != "texts":
                column.check_numbers()
    except CellError as error:
        raise ValueError(table.said(error)) from None
    found: dict[int, dict[str, Any]] = {}
    outside: list[CellError] = []
    for row in rows.tolist():
        try:
            values = [_value_of(*each, row) for each in zip(sides, settings, strict=True)]
            found[row] = dict(zip(names, values, strict=True))
        except CellError as error:
            outside.append(error)
    if outside:
        _report(table, outside, len(rows), skip_outside)
    notes = [_violations(space, setting) for setting in found.values()]
    beyond = [(row, note) for row, note in zip(found, notes, strict=True) if note]
    if beyond:
        said = _first([f"{table.place(row)}: {note}" for row, note in beyond[:NAMED]], len(beyond))
        warn(
            f"{len(beyond)} of {len(found)} rows of {table.name} are taken although they violate a "
            f"constraint: {'; '.join(said)}",
            UserWarning,
        )
    left_out = _named(table, outside, KEPT)
    values = answers.values[list(found)].tolist()
    return PastAnswers(list(found.values()), values, notes, left_out)


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
    return _first([table.said(error) for error in outside[:most]], len(outside))


def _first(said: list[str], n: int) -> list[str]:
    """Return what is said of the first of n rows, and how many others there are."""
    return [*said, f"and {n - len(said)} more"] if n > len(said) else said


def _columns(table: TableFile, names: list[str], answer: str | None) -> tuple[list[str], str]:
    """Return the columns of the sides and the column of the answers, ignoring their units."""
    header = table.names([*names, *([] if answer is None else [answer])])
    columns = [_column(header, name) for name in names]
    if answer is not None:
        return columns, _column(header, answer)
    places_of(header, columns, table.name)
    others = [name for name in header if name and name not in columns]
    if NUMBER in others and STATUS in others:
        # It is a notebook that was exported: the answers are before their standard errors.
        return columns, header[header.index(ERROR) - 1] if ERROR in others else others[0]
    if len(others) == 1:
        return columns, others[0]
    raise ValueError(
        f"{table.name} must have one column besides {', '.join(map(repr, names))}, or the one of "
        f"answers must be named; it has {', '.join(map(repr, others)) or 'none'}"
    )


def _column(header: list[str], name: str) -> str:
    """Return the column of a name, or the only one that differs from it by its unit."""
    if name in header:
        return name
    alike = [each for each in header if without_unit(each) == without_unit(name)]
    return alike[0] if len(alike) == 1 else name


def _value_of(side: Side, column: Column, row: int) -> Any:
    """Return the value of a side in a row."""
    value = column.values[row]
    if np.isnan(value):
        raise CellError(row, side.name, "the value is missing")
    try:
        return side.value(column.labels[int(value)] if column.labels else float(value))
    except ValueError as error:
        raise CellError(row, side.name, str(error)) from None

"""Answers of the past from a table in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skgpb.datasets import TableFile
from skgpb.datasets.columns import CellError, Column
from skgpb.datasets.format import places_of
from skgpb.experiments.sides import Side


def read_answers(
    path: str | os.PathLike[str], sides: Sequence[Side], answer: str | None = None
) -> tuple[list[dict[str, Any]], list[float]]:
    """Read settings and the answers they had.

    Parameters
    ----------
    path : path
        A table of any kind that :class:`~skgpb.datasets.TableFile` reads. Rows in which the answer
        is missing are passed over.
    sides : sequence of Side
        Of each of which there is to be a column.
    answer : str, default=None
        Column of the answers; None for the only one that is no side.

    Returns
    -------
    settings : list of dict
    answers : list of float

    Raises
    ------
    OSError
        Where the file cannot be read.
    ImportError
        Where a library is needed that is not installed.
    ValueError
        Where a column is missing, or a value is not on its side. The message names the row and
        the column.
    """
    table = TableFile(Path(path))
    names = [side.name for side in sides]
    name = _column_of_answers(table, names) if answer is None else answer
    texts = [side.name for side in sides if side.kind == "choice" and not side.is_ordered]
    *settings, answers = table.read([*names, name], texts)
    try:
        answers.check_numbers()
        rows = np.flatnonzero(~answers.missing)
        if not len(rows):
            raise ValueError(f"{table.name} has no row with an answer in the column {name!r}")
        values = [_values_of(*each, rows) for each in zip(sides, settings, strict=True)]
    except CellError as error:
        raise ValueError(table.said(error)) from None
    found = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    return found, answers.values[rows].tolist()


def _column_of_answers(table: TableFile, names: list[str]) -> str:
    """Return the only column that is no side."""
    header = table.names(names)
    places_of(header, names, table.name)
    others = [name for name in header if name not in names]
    if len(others) == 1:
        return others[0]
    raise ValueError(
        f"{table.name} must have one column besides {', '.join(map(repr, names))}, or the one of "
        f"answers must be named; it has {', '.join(map(repr, others)) or 'none'}"
    )


def _values_of(side: Side, column: Column, rows: np.ndarray) -> list[Any]:
    """Return the values of a side in some rows."""
    if column.kind != "texts":
        column.check_numbers()
    values = []
    for row in rows.tolist():
        value = column.values[row]
        if np.isnan(value):
            raise CellError(row, side.name, "the value is missing")
        try:
            values.append(side.value(column.labels[int(value)] if column.labels else float(value)))
        except ValueError as error:
            raise CellError(row, side.name, str(error)) from None
    return values

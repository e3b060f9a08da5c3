"""Answers of the past from a table in a text file."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skgpb.datasets.numbers import MISSING
from skgpb.experiments.sides import Side, number

# What separates the cells of a table; the one that the header has most often is taken.
SEPARATORS = ",;\t|"


def read_answers(
    path: str | os.PathLike, sides: Sequence[Side], answer: str | None = None
) -> tuple[list[dict[str, Any]], list[float]]:
    """Read settings and the answers they had.

    Parameters
    ----------
    path : path
        A text file in UTF-8 with a header, cells separated by commas, semicolons, tabs or ``|``.
        Blank lines, and rows in which the answer is missing, are passed over.
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
    ValueError
        Where a column is missing, or a value is not on its side. The message names the row as a
        spreadsheet counts it, and the column.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: {error.reason}") from None
    lines = text.splitlines()
    separator = max(SEPARATORS, key=lines[0].count) if lines else ","
    reader = csv.reader(lines, delimiter=separator)
    header = [name.strip() for name in next(reader, [])]
    names = [side.name for side in sides]
    column = _column_of_answers(path, header, names, answer)
    settings, answers = [], []
    for cells in reader:
        where = f"{path}, row {reader.line_num}"
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise ValueError(f"{where} has {len(cells)} cells, the header has {len(header)}")
        row = dict(zip(header, cells, strict=True))
        if row[column].strip().lower() in MISSING:
            continue
        try:
            settings.append({side.name: side.value(row[side.name]) for side in sides})
            answers.append(number(row[column], column))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    if not answers:
        raise ValueError(f"{path} has no row with an answer in the column {column!r}")
    return settings, answers


def _column_of_answers(
    path: str | os.PathLike, header: list[str], names: list[str], answer: str | None
) -> str:
    """Return the name of the column of answers; check that there is one of each."""
    wanted = names if answer is None else [*names, answer]
    for name in wanted:
        if header.count(name) != 1:
            many = "no column" if name not in header else f"{header.count(name)} columns named"
            raise ValueError(f"{path} has {many} {name!r}; it has {', '.join(map(repr, header))}")
    if answer is not None:
        return answer
    others = [name for name in header if name not in names]
    if len(others) != 1:
        raise ValueError(
            f"{path} must have one column besides {', '.join(map(repr, names))}, or the column of "
            f"answers must be named; it has {', '.join(map(repr, others)) or 'none'}"
        )
    return others[0]

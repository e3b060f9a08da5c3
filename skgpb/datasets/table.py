"""Numbers from a table in a text file."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

# What tables write where a value is missing, besides nothing at all.
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
# Sums and squares of larger numbers overflow.
LARGEST = 1e150
# At most so many column names in a message.
NAMES_SHOWN = 12


def read_table(path: str | Path, columns: Sequence[str]) -> np.ndarray:
    r"""Read columns of numbers from a file of comma-separated values with a header.

    Parameters
    ----------
    path : str or Path
        The file, in UTF-8. Blank lines are skipped.
    columns : sequence of str
        Names of the columns wanted.

    Returns
    -------
    table : ndarray of shape (n_rows, n_columns)
        The columns in the order of ``columns``.

    Raises
    ------
    OSError
        Where the file cannot be read.
    ValueError
        Where it is not such a table, a column does not exist or exists twice, or a cell is
        missing or not a finite number. The message names the row, counted from 0 without the
        header, and the column.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skgpb.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "towns.csv"
    ...     _ = path.write_text("town,east,north\nA,1,2.5\nB,3,4\n")
    ...     read_table(path, ["north", "east"])
    array([[2.5, 1. ],
           [4. , 3. ]])
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            places = _places(header, columns, path)
            rows = [
                _numbers(cells, len(header), columns, places, f"row {i} (line {line})")
                for i, (cells, line) in enumerate(
                    (cells, reader.line_num) for cells in reader if cells
                )
            ]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: {error.reason}") from None
    except csv.Error as error:
        raise ValueError(f"{path} is not a table of comma-separated values: {error}") from None
    if not rows:
        raise ValueError(f"{path} has a header but no rows")
    return np.array(rows)


def copy_rows(path: str | Path, rows: Collection[int], to: str | Path) -> None:
    r"""Copy the header and some rows of a file of comma-separated values to another file.

    Parameters
    ----------
    path : str or Path
        The file, in UTF-8.
    rows : collection of int
        Which rows, counted from 0 without the header and blank lines, as by :func:`read_table`.
    to : str or Path
        The file to write.

    Raises
    ------
    OSError
        Where a file cannot be read or written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skgpb.datasets import copy_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, some = pathlib.Path(folder) / "towns.csv", pathlib.Path(folder) / "some.csv"
    ...     _ = path.write_text("town,east,north\nA,1,2.5\nB,3,4\n")
    ...     copy_rows(path, [1], some)
    ...     some.read_text().split()
    ['town,east,north', 'B,3,4']
    """
    wanted = set(rows)
    with (
        open(path, newline="", encoding="utf-8-sig") as source,
        open(to, "w", newline="", encoding="utf-8") as copy,
    ):
        lines, writer = filter(None, csv.reader(source)), csv.writer(copy, lineterminator="\n")
        writer.writerow(next(lines))
        writer.writerows(cells for i, cells in enumerate(lines) if i in wanted)


def _places(header: list[str], columns: Sequence[str], path: str | Path) -> list[int]:
    """Position of every column in the header."""
    if not any(header):
        raise ValueError(f"{path} is empty")
    for name in columns:
        if name not in header:
            shown = ", ".join(map(repr, header[:NAMES_SHOWN]))
            more = ", ..." if len(header) > NAMES_SHOWN else ""
            raise ValueError(f"{path} has no column {name!r}; it has {shown}{more}")
        if header.count(name) > 1:
            raise ValueError(f"{path} has {header.count(name)} columns named {name!r}")
    return [header.index(name) for name in columns]


def _numbers(
    cells: list[str], width: int, columns: Sequence[str], places: list[int], where: str
) -> list[float]:
    """Convert the wanted cells of one row."""
    if len(cells) != width:
        raise ValueError(f"{where} has {len(cells)} cells, the header has {width}")
    return [
        _number(cells[place], f"{where}, column {name!r}")
        for name, place in zip(columns, places, strict=True)
    ]


def _number(cell: str, where: str) -> float:
    cell = cell.strip()
    if cell.lower() in MISSING:
        raise ValueError(f"{where}: the value is missing")
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(f"{where}: {cell!r} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{where}: {cell!r} is not a finite number")
    if abs(value) > LARGEST:
        raise ValueError(f"{where}: {cell!r} is larger than {LARGEST:g}")
    return value

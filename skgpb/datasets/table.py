"""Columns of a table in a file: text of any usual kind, Parquet or Excel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from skgpb.datasets.columns import CellError, Column
from skgpb.datasets.format import TableFormat
from skgpb.datasets.frame_table import FrameTable
from skgpb.datasets.sources import Source
from skgpb.datasets.text_table import TextTable


class TableFile:
    r"""A table with a header in a file, whatever its kind.

    Parameters
    ----------
    path : str or Path
        Separated values, whose separator, decimal mark, encoding and compression (gz, bz2, xz,
        zip) are found out, or Parquet or Excel, which need pandas. "-" is standard input.
    how : TableFormat, default=None
        Format options that are given instead of detected.

    Raises
    ------
    OSError
        If the file cannot be read.
    ImportError
        If a library is needed that is not installed.
    ValueError
        If it is not such a table.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skgpb.datasets import TableFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "towns.csv"
    ...     _ = path.write_text("town;east;since\nA;1,5;2001-02-03\nB;3;\n")
    ...     for column in TableFile(path).read(["town", "east", "since"]):
    ...         print(column.kind, column.values, *column.labels)
    texts [0. 1.] A B
    numbers [1.5 3. ]
    dates [11356.    nan]
    """

    def __init__(self, path: str | Path, how: TableFormat | None = None) -> None:
        source, how = Source(path), how or TableFormat()
        self.name: str = source.name
        kind = TextTable if source.kind == "text" else FrameTable
        self._table: TextTable | FrameTable = kind(source, how)

    def read(
        self, columns: Sequence[str], texts: Collection[str] = (), verbatim: Collection[str] = ()
    ) -> list[Column]:
        """Read columns.

        Parameters
        ----------
        columns : sequence of str
            Their names in the header.
        texts : collection of str, default=()
            Names of columns that are texts even if their values look like numbers or dates.
        verbatim : collection of str, default=()
            Names of columns that are texts as they are: only an empty cell is missing, and a text
            such as ``NA`` or ``-`` is one.

        Returns
        -------
        columns : list of Column
            In the order of ``columns``, all of the same length.

        Raises
        ------
        ValueError
            If a column does not exist or exists twice, a row has too many cells or too few,
            or a cell is unlike most others of its column. The message names the column, and the
            line of a text, the row as Excel numbers it, or the row of Parquet, counted from 0.
        """
        try:
            return self._table.read(columns, texts, verbatim)
        except CellError as error:
            raise ValueError(self.said(error)) from None

    def names(self, likely: Sequence[str]) -> list[str]:
        """Return the names of all columns.

        Parameters
        ----------
        likely : sequence of str
            Some that there should be, by which the separator is found.
        """
        return self._table.names(likely)

    def said(self, error: CellError) -> str:
        """Return a message with the place and the reason of an error."""
        return f"{self.place(error.row)}, column {error.column!r}: {error}"

    def place(self, row: int) -> str:
        """Name a row, counted from 0 without the header and blank lines, as people see it."""
        return self._table.place(row)

    def copy_rows(self, rows: Collection[int], to: str | Path) -> None:
        """Write the header and some rows, as text as they are, to a file in UTF-8.

        Parameters
        ----------
        rows : collection of int
            Their numbers, counted from 0 without the header and blank lines.
        to : str or Path
            The file to write.
        """
        self._table.copy_rows(rows, to)


def read_table(path: str | Path, columns: Sequence[str]) -> np.ndarray:
    r"""Read columns of numbers from a table with a header.

    Parameters
    ----------
    path : str or Path
        The file, of any kind that :class:`TableFile` reads.
    columns : sequence of str
        Names of the columns wanted.

    Returns
    -------
    table : ndarray of shape (n_rows, n_columns)
        The columns in the order of ``columns``.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not such a table, a column does not exist or exists twice, or a cell is
        missing or not a finite number. The message names the place as that of
        :meth:`TableFile.read` does.

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
    table = TableFile(path)
    found = table.read(columns)
    try:
        for column in found:
            column.check_numbers()
            column.check_complete()
    except CellError as error:
        raise ValueError(table.said(error)) from None
    return np.column_stack([column.values for column in found])


def copy_rows(path: str | Path, rows: Collection[int], to: str | Path) -> None:
    r"""Copy the header and some rows of a table to a file of separated values.

    Parameters
    ----------
    path : str or Path
        The file, of any kind that :class:`TableFile` reads.
    rows : collection of int
        Rows to copy, counted from 0 without the header and blank lines, as by :func:`read_table`.
    to : str or Path
        The file to write, in UTF-8.

    Raises
    ------
    OSError
        If a file cannot be read or written.

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
    TableFile(path).copy_rows(rows, to)

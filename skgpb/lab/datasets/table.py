"""Columns of a table in a file: text of any usual kind, Parquet or Excel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from skgpb.lab.datasets.columns import CellError, Column, read_column
from skgpb.lab.datasets.format import Header, TableError, TableFormat
from skgpb.lab.datasets.frame_table import ExcelTable, ParquetTable
from skgpb.lab.datasets.numbers import Decimal, UnclearError, detect_decimal
from skgpb.lab.datasets.sources import Source
from skgpb.lab.datasets.text_table import TextTable
from skgpb.utils.install import install_command

KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "text": (TextTable, ("pandas",)),
    "parquet": (ParquetTable, ("pandas", "pyarrow")),
    "excel": (ExcelTable, ("pandas", "openpyxl")),
}
# Options without effect on a kind of table.
WITHOUT_EFFECT = {
    "text": ("sheet",),
    "parquet": ("separator", "encoding", "sheet", "skip_lines", "header"),
    "excel": ("separator", "encoding"),
}
# Number of cells by which the decimal mark of a column is detected.
CELLS_FOR_MARK = 10_000
# Number of unreadable cells in a message, in addition to the first one.
OTHERS_SHOWN = 3


class TableFile:
    r"""A table with a header in a file: separated values, Parquet or Excel.

    Parameters
    ----------
    path : str or Path
        The file; "-" for standard input. Separator, decimal mark, encoding and compression (gz,
        bz2, xz, zip) of separated values are detected.
    how : TableFormat, default=None
        Format options, which replace the detection.

    Raises
    ------
    OSError
        If the file cannot be read.
    ImportError
        If a necessary library is not installed.
    ValueError
        If the file is not such a table.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skgpb.lab.datasets.table import TableFile
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
        source, self._how = Source(path), how or TableFormat()
        self.name: str = source.name
        for option in fields(TableFormat):
            given = getattr(self._how, option.name)
            if option.name in WITHOUT_EFFECT[source.kind] and given != option.default:
                raise ValueError(
                    f"--{option.name.replace('_', '-')} {given} has no effect on {self.name}, "
                    f"which is {source.kind}"
                )
        kind, libraries = KINDS[source.kind]
        try:
            for library in libraries:
                __import__(library)
        except ImportError:
            raise ImportError(
                f"reading {self.name} needs {' and '.join(libraries)}: {install_command('tables')}"
            ) from None
        self._table: TextTable | ParquetTable | ExcelTable = kind(source, self._how)

    def read(
        self,
        columns: Sequence[str],
        texts: Collection[str] = (),
        verbatim: Collection[str] = (),
        *,
        numbers: Collection[str] = (),
        keep_unreadable: bool = False,
    ) -> list[Column]:
        """Read columns.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns in the header.
        texts : collection of str, default=()
            Names of columns to read as texts, even if their values look like numbers or dates.
        verbatim : collection of str, default=()
            Names of columns to read as texts in which only an empty cell is missing; ``NA`` and
            ``-`` are texts.
        numbers : collection of str, default=()
            Names of columns to read as numbers, even if most of their cells cannot be read.
        keep_unreadable : bool, default=False
            Whether to return unreadable cells in ``unreadable`` of their column, instead of raising
            an error.

        Returns
        -------
        columns : list of Column
            In the order of ``columns``, all of the same length.

        Raises
        ------
        ValueError
            If a column does not exist, a row has too many cells or too few, or a cell is unlike
            most others of its column. The message names the column, and the line of a text, the
            row as Excel numbers it, or the row of Parquet, counted from 0.
        """
        header = self._table.header(columns)
        placed = list(zip(columns, header.indices(columns), strict=True))
        places = [place for _, place in placed]
        always = {place for name, place in placed if name in {*texts, *verbatim}}
        try:
            frame = self._table.frame(places, always)
            marks = [self._mark(name, i, frame[i], i in always, header) for name, i in placed]
            if "comma" in dict(marks) and isinstance(self._table, TextTable):
                # pandas has read 1.234 with a decimal point: read again with a comma.
                frame = self._table.frame(places, always, ",")
                marks = [self._mark(name, i, frame[i], i in always, header) for name, i in placed]
            # A column that does not show its decimal mark has that of the other columns.
            certain = {mark for mark, _ in marks if mark is not None}
            common = certain.pop() if len(certain) == 1 else None
            found = [
                read_column(
                    name,
                    frame[place],
                    mark=mark or common,
                    mixed=mixed,
                    pattern=self._how.dates,
                    as_texts=name in texts,
                    verbatim=name in verbatim,
                    as_numbers=name in numbers,
                )
                for (name, place), (mark, mixed) in zip(placed, marks, strict=True)
            ]
        except CellError as error:
            raise TableError(self.error_text(error), error.option) from None
        for column in [] if keep_unreadable else found:
            if wrong := self.unreadable(column):
                raise ValueError(wrong)
        return found

    def _mark(
        self, name: str, place: int, series: Any, is_text: bool, header: Header
    ) -> tuple[Decimal | None, bool]:
        """Return the decimal mark of a column, None if unknown, and whether some have the other."""
        if self._how.decimal is not None or is_text:
            return self._how.decimal, False
        cells = series.dropna().head(CELLS_FOR_MARK)
        if series.dtype.kind == "f":  # pandas has converted the texts
            below = header.lines[header.n_lines :]
            counts = Counter(line.cells[place] for line in below if len(line.cells) > place)
        else:
            counts = Counter(cells.astype(str))
        try:
            return detect_decimal(counts)
        except UnclearError as error:
            raise CellError(cells.index[0], name, str(error)) from None

    def unreadable(self, column: Column, rows: np.ndarray | None = None) -> str:
        """Return a message about the unreadable cells of a column; empty if there are none.

        Parameters
        ----------
        column : Column
            A column that :meth:`read` returned.
        rows : ndarray of shape (n_rows,) of bool, default=None
            Mask of the rows to check, None for all.

        Returns
        -------
        message : str
        """
        wrong = [row for row in sorted(column.unreadable) if rows is None or rows[row]]
        if not wrong:
            return ""
        first, *others = zip(wrong, self._table.lines(wrong[: 1 + OTHERS_SHOWN]), strict=False)
        message = f"{first[1]}, column {column.name!r}: {column.unreadable[first[0]].reason}"
        if not others:
            return message
        also = ", ".join(f"{column.unreadable[row].text!r} in {place}" for row, place in others)
        more = len(wrong) - 1 - len(others)
        also += f" and {more:,} more" if more else ""
        return f"{message}; {len(wrong):,} such cells, also {also}"

    def names(self, likely: Sequence[str]) -> list[str]:
        """Return the names of all columns; the second of equal names is ``name.1``.

        Parameters
        ----------
        likely : sequence of str
            Names that should be among them, by which the separator is detected.
        """
        header = self._table.header(likely)
        header.check_titles(likely)
        return header.names

    def duplicate_names(self, columns: Sequence[str]) -> list[tuple[str, int]]:
        """Return the columns whose name occurs several times, and the number of times."""
        names = [" ".join(parts) for parts in self._table.header(columns).parts]
        return [(name, names.count(name)) for name in columns if names.count(name) > 1]

    def error_text(self, error: CellError) -> str:
        """Return the message of an error, with its row and column."""
        return f"{self.place(error.row)}, column {error.column!r}: {error}"

    def place(self, row: int) -> str:
        """Return the name of a row for messages, such as "line 3".

        ``row`` is counted from 0, without the header and blank lines.
        """
        return self._table.lines([row])[0]

    def row_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows in a data frame of pandas, which counts empty rows of Excel.

        Parameters
        ----------
        rows : ndarray of shape (n,) of int
            Rows, counted from 0 without the header and blank lines.

        Returns
        -------
        numbers : ndarray of shape (n,) of int
        """
        return self._table.numbers(rows)

    def copy_rows(self, rows: Collection[int], to: str | Path) -> None:
        """Write the header and these rows, with unchanged texts, to a file in UTF-8.

        Parameters
        ----------
        rows : collection of int
            Rows, counted from 0 without the header and blank lines.
        to : str or Path
            The file to write.
        """
        self._table.header(())
        with open(to, "w", newline="", encoding="utf-8") as file:
            self._table.copy(rows, file)

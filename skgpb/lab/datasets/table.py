"""Columns of a table in a file: text of any usual kind, Parquet or Excel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from skgpb.lab.datasets.columns import CellError, Column, column_of
from skgpb.lab.datasets.format import Header, TableError, TableFormat
from skgpb.lab.datasets.frame_table import ExcelTable, ParquetTable
from skgpb.lab.datasets.numbers import Decimal, UnclearError, decimal_of
from skgpb.lab.datasets.sources import Source
from skgpb.lab.datasets.text_table import TextTable
from skgpb.utils.install import install_command

KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "text": (TextTable, ("pandas",)),
    "parquet": (ParquetTable, ("pandas", "pyarrow")),
    "excel": (ExcelTable, ("pandas", "openpyxl")),
}
# Options that say nothing of a kind of table.
WITHOUT_EFFECT = {
    "text": ("sheet",),
    "parquet": ("separator", "encoding", "sheet", "skip_lines", "header"),
    "excel": ("separator", "encoding"),
}
# Number of cells that tell which decimal mark a column has.
TELLING = 10_000
# Number of cells that cannot be read, besides the first one, that a message shows.
OTHERS_SHOWN = 3


class TableFile:
    r"""A table with a header in a file, whatever its kind.

    Parameters
    ----------
    path : str or Path
        Separated values, whose separator, decimal mark, encoding and compression (gz, bz2, xz,
        zip) are found out, or Parquet or Excel. "-" is standard input.
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
            Their names in the header.
        texts : collection of str, default=()
            Names of columns that are texts even if their values look like numbers or dates.
        verbatim : collection of str, default=()
            Names of columns that are texts as they are: only an empty cell is missing, and a text
            such as ``NA`` or ``-`` is one.
        numbers : collection of str, default=()
            Names of columns that are numbers even if most of their cells cannot be read.
        keep_unreadable : bool, default=False
            Whether cells that are unlike most others of their column are left to the caller, in
            ``unreadable`` of the column, instead of raising an error.

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
        placed = list(zip(columns, header.places(columns), strict=True))
        places = [place for _, place in placed]
        always = {place for name, place in placed if name in {*texts, *verbatim}}
        try:
            frame = self._table.frame(places, always)
            marks = [self._mark(name, i, frame[i], i in always, header) for name, i in placed]
            if "comma" in dict(marks) and isinstance(self._table, TextTable):
                # pandas has read 1.234 as a number with a point.
                frame = self._table.frame(places, always, ",")
                marks = [self._mark(name, i, frame[i], i in always, header) for name, i in placed]
            # One mark that is certain tells of columns in which it is not.
            certain = {mark for mark, _ in marks if mark is not None}
            common = certain.pop() if len(certain) == 1 else None
            found = [
                column_of(
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
            raise TableError(self.said(error), error.option) from None
        for column in [] if keep_unreadable else found:
            if wrong := self.unreadable(column):
                raise ValueError(wrong)
        return found

    def _mark(
        self, name: str, place: int, series: Any, is_text: bool, header: Header
    ) -> tuple[Decimal | None, bool]:
        """Return the decimal mark of a column, and whether some cells have the other one."""
        if self._how.decimal is not None or is_text:
            return self._how.decimal, False
        cells = series.dropna().head(TELLING)
        if series.dtype.kind == "f":  # of which pandas does not tell how they were written
            below = header.lines[header.n_lines :]
            counts = Counter(line.cells[place] for line in below if len(line.cells) > place)
        else:
            counts = Counter(cells.astype(str))
        try:
            return decimal_of(counts)
        except UnclearError as error:
            raise CellError(cells.index[0], name, str(error)) from None

    def unreadable(self, column: Column, rows: np.ndarray | None = None) -> str:
        """Say which cells of a column cannot be read; an empty text if all can.

        Parameters
        ----------
        column : Column
            A column that was read.
        rows : ndarray of shape (n_rows,) of bool, default=None
            The rows that matter, None for all.

        Returns
        -------
        said : str
        """
        wrong = [row for row in sorted(column.unreadable) if rows is None or rows[row]]
        if not wrong:
            return ""
        first, *others = zip(wrong, self._table.lines(wrong[: 1 + OTHERS_SHOWN]), strict=False)
        said = f"{first[1]}, column {column.name!r}: {column.unreadable[first[0]].reason}"
        if not others:
            return said
        also = ", ".join(f"{column.unreadable[row].text!r} in {place}" for row, place in others)
        more = len(wrong) - 1 - len(others)
        also += f" and {more:,} more" if more else ""
        return f"{said}; {len(wrong):,} such cells, also {also}"

    def names(self, likely: Sequence[str]) -> list[str]:
        """Return the names of all columns, of equal ones the second as ``name.1``.

        Parameters
        ----------
        likely : sequence of str
            Some that there should be, by which the separator is found.
        """
        header = self._table.header(likely)
        header.check_titles(likely)
        return header.names

    def repeated(self, columns: Sequence[str]) -> list[tuple[str, int]]:
        """Return which columns are the first of several with the same name, and of how many."""
        names = [" ".join(parts) for parts in self._table.header(columns).parts]
        return [(name, names.count(name)) for name in columns if names.count(name) > 1]

    def said(self, error: CellError) -> str:
        """Return a message with the place and the reason of an error."""
        return f"{self.place(error.row)}, column {error.column!r}: {error}"

    def place(self, row: int) -> str:
        """Name a row, counted from 0 without the header and blank lines, as people see it."""
        return self._table.lines([row])[0]

    def row_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows in a data frame of pandas, which counts empty rows of Excel.

        Parameters
        ----------
        rows : ndarray of shape (n,) of int
            As they were read.

        Returns
        -------
        numbers : ndarray of shape (n,) of int
        """
        return self._table.numbers(rows)

    def copy_rows(self, rows: Collection[int], to: str | Path) -> None:
        """Write the header and some rows, as text as they are, to a file in UTF-8.

        Parameters
        ----------
        rows : collection of int
            Their numbers, counted from 0 without the header and blank lines.
        to : str or Path
            The file to write.
        """
        self._table.header(())
        with open(to, "w", newline="", encoding="utf-8") as file:
            self._table.copy(rows, file)

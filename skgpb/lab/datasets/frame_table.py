"""Tables in Parquet and Excel."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import IO, Any

import numpy as np

from skgpb.lab.datasets.format import MOST_TITLES, Header, Line, TableFormat, column_indices
from skgpb.lab.datasets.sources import DAMAGED, Source

# Limit: rows of a sheet of Excel. Memory: cells of the rectangle of a table, because a small file
# may have one cell far away. Cost: cells that are read.
MOST_ROWS, MOST_CELLS, MOST_READ = 2**20, 20_000_000, 200_000_000


def copy_rows(table: ParquetTable | ExcelTable, rows: Collection[int], to: IO[str]) -> None:
    """Write the names of all columns and these rows as comma-separated values."""
    names = table.header(()).names
    frame = table.frame(range(len(names))).iloc[sorted(rows)]
    frame.to_csv(to, header=names, index=False, lineterminator="\n")


class ParquetTable:
    """A table in Parquet.

    Parameters
    ----------
    source : Source
        Bytes of the file.
    how : TableFormat
        Format options; they have no effect here.
    """

    source: Source

    def __init__(self, source: Source, how: TableFormat) -> None:
        self.source = source

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        from pyarrow import ArrowException

        try:
            with self.source.damage_errors(), self.source.raw() as raw:
                yield raw
        except ArrowException as error:
            raise ValueError(f"{self.source.name} {DAMAGED}") from error

    copy = copy_rows

    def header(self, columns: Sequence[str]) -> Header:
        """Return the names of all columns."""
        from pyarrow.parquet import read_schema

        with self._raw() as raw:
            self._names: list[str] = read_schema(raw).names
        return Header.from_lines([Line(0, self._names)], TableFormat(), self.source.name)

    def frame(self, places: Sequence[int], as_texts: Collection[int] = ()) -> Any:
        """Return the columns of these indices as a data frame, an index of pandas among them."""
        from pyarrow.parquet import read_table

        names = [self._names[i] for i in places]
        column_indices(self._names, names, self.source.name)  # raises if names are not unique
        with self._raw() as raw:
            table = read_table(raw, columns=names)
            frame = table.to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True)
        return frame[names].set_axis(list(places), axis=1)

    def lines(self, rows: Collection[int]) -> list[str]:
        """Return names of rows in increasing order: "row 3 (counted from 0)"."""
        return [f"row {row} (counted from 0)" for row in sorted(rows)]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows in a data frame: the rows themselves."""
        return rows


class ExcelTable:
    """A table in a sheet of Excel.

    Parameters
    ----------
    source : Source
        Bytes of the file.
    how : TableFormat
        Format options; only the sheet, ``skip_lines`` and ``header`` have an effect.
    """

    source: Source
    how: TableFormat

    def __init__(self, source: Source, how: TableFormat) -> None:
        self.source, self.how = source, how
        self._header: Header | None = None

    @cached_property
    def _rows(self) -> dict[int, list[Any]]:
        """Cells of each row that is not empty, by the number of the row in the sheet."""
        from openpyxl import load_workbook

        chosen, name = self.how.sheet, self.source.name
        with self.source.damage_errors(), self.source.raw() as raw:
            with self._book_errors():
                # Memory: a read-only sheet is streamed. pandas would load it with all empty cells
                # between far ones.
                book = load_workbook(raw, read_only=True, data_only=True, keep_links=False)
                sheets = {str(sheet.title): sheet for sheet in book.worksheets}
            shown = ", ".join(map(repr, sheets))
            if chosen is None and len(sheets) > 1:
                raise ValueError(f"{name} has several sheets: say --sheet, one of {shown}")
            if chosen is not None and chosen not in sheets:
                raise ValueError(f"{name} has no sheet {chosen!r}; it has {shown}")
            with self._book_errors():
                sheet = sheets[chosen or next(iter(sheets))]
                sheet.reset_dimensions()  # the dimensions in the file may be wrong
                rows, is_whole = _read_cells(sheet.rows)
        if not is_whole:
            raise ValueError(
                f"{name} spans more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells, perhaps with "
                "a cell far away from all others: copy the table into a new sheet, or save it as "
                "CSV"
            )
        return {i: cells for i, cells in rows.items() if i > self.how.skip_lines}

    @contextmanager
    def _book_errors(self) -> Iterator[None]:
        """Convert every error of openpyxl for a damaged file into a ValueError.

        Ignore its warnings, which are about styles, validation and page headers.
        """
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", module="openpyxl")
                yield
        except (OSError, MemoryError):
            raise
        except Exception as error:  # openpyxl checks nothing, so that any operation may fail
            raise ValueError(f"{self.source.name} {DAMAGED}") from error

    copy = copy_rows

    def header(self, columns: Sequence[str]) -> Header:
        """Return the names of all columns."""
        first = islice(self._rows.items(), self.how.header + MOST_TITLES)
        lines = [Line(number, [str(cell) for cell in cells]) for number, cells in first]
        self._header = Header.from_lines(lines, self.how, self.source.name)
        return self._header

    @cached_property
    def _below(self) -> np.ndarray:
        """Numbers of the rows below the header."""
        return np.array(list(self._rows)[self.how.header :], dtype=np.int64)

    def frame(self, places: Sequence[int], as_texts: Collection[int] = ()) -> Any:
        """Return the columns of these indices as a data frame, with unchanged cells."""
        import pandas as pd

        if not len(self._below):
            raise ValueError(f"{self.source.name} has a header but no rows")
        rows = [self._rows[i] for i in self._below.tolist()]
        cells = {i: pd.Series([row[i] for row in rows], dtype=object) for i in places}
        return pd.DataFrame(cells)

    def lines(self, rows: Collection[int]) -> list[str]:
        """Return names of rows in increasing order, with their numbers in Excel."""
        return [f"row {self._below[row]}" for row in sorted(rows)]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows in a data frame, where empty rows below the header count."""
        above = self.how.skip_lines
        if self.how.header:
            above = list(self._rows)[self.how.header - 1]
        return self._below[rows] - above - 1


def _read_cells(sheet: Iterable[Sequence[Any]]) -> tuple[dict[int, list[Any]], bool]:
    """Return the cells of rows that are not empty, by their numbers in the sheet.

    Return also whether the whole sheet was read: False if it exceeds a limit.
    """
    rows: dict[int, list[Any]] = {}
    n_cells = widest = 0
    for number, row in enumerate(sheet, 1):
        values = [_cell_value(cell) for cell in row]
        while values and values[-1] == "":  # cells with a colour but no value
            values.pop()
        n_cells, widest = n_cells + len(row), max(widest, len(values))
        if values:
            rows[number] = values
        if number > MOST_ROWS or len(rows) * widest > MOST_CELLS or n_cells > MOST_READ:
            return rows, False
    return {i: row + [""] * (widest - len(row)) for i, row in rows.items()}, True


def _cell_value(cell: Any) -> Any:
    """Return the value of a cell of Excel: whole numbers as ints, an empty text for an error."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() else value

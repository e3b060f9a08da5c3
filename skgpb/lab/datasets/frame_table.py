"""Tables in Parquet and Excel."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import IO, Any

import numpy as np

from skgpb.lab.datasets.format import MOST_TITLES, Header, Line, TableFormat, places_of
from skgpb.lab.datasets.sources import DAMAGED, Source

# Rows that Excel has; cells in the rectangle of a table, because a small file can have a cell so
# far away that what lies between does not fit into the memory; and cells that are looked at.
MOST_ROWS, MOST_CELLS, LOOKED_AT = 2**20, 20_000_000, 200_000_000


def copy_rows(table: ParquetTable | ExcelTable, rows: Collection[int], to: IO[str]) -> None:
    """Write the names of columns and some rows as comma-separated values."""
    names = table.header(()).names
    frame = table.frame(range(len(names))).iloc[sorted(rows)]
    frame.to_csv(to, header=names, index=False, lineterminator="\n")


class ParquetTable:
    """A table in Parquet.

    Parameters
    ----------
    source : Source
        Its bytes.
    how : TableFormat
        Format options, of which none matters here.
    """

    source: Source

    def __init__(self, source: Source, how: TableFormat) -> None:
        self.source = source

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        from pyarrow import ArrowException

        try:
            with self.source.damage_told(), self.source.raw() as raw:
                yield raw
        except ArrowException as error:
            raise ValueError(f"{self.source.name} {DAMAGED}") from error

    copy = copy_rows

    def header(self, columns: Sequence[str]) -> Header:
        """Return the names of all columns."""
        from pyarrow.parquet import read_schema

        with self._raw() as raw:
            self._names: list[str] = read_schema(raw).names
        return Header.of([Line(0, self._names)], TableFormat(), self.source.name)

    def frame(self, places: Sequence[int], as_texts: Collection[int] = ()) -> Any:
        """Return some columns as a data frame; what has been its index is a column like others."""
        from pyarrow.parquet import read_table

        names = [self._names[i] for i in places]
        places_of(self._names, names, self.source.name)  # equal names cannot be told apart
        with self._raw() as raw:
            table = read_table(raw, columns=names)
            frame = table.to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True)
        return frame[names].set_axis(list(places), axis=1)

    def lines(self, rows: Collection[int]) -> list[str]:
        """Name rows, which have no numbers of their own."""
        return [f"row {row} (counted from 0)" for row in sorted(rows)]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return how pandas numbers rows."""
        return rows


class ExcelTable:
    """A table in a sheet of Excel.

    Parameters
    ----------
    source : Source
        Its bytes.
    how : TableFormat
        Format options, of which the sheet and those of the header matter here.
    """

    source: Source
    how: TableFormat

    def __init__(self, source: Source, how: TableFormat) -> None:
        self.source, self.how = source, how
        self._header: Header | None = None

    @cached_property
    def _rows(self) -> dict[int, list[Any]]:
        """The cells of each row that is not empty, by its number."""
        from openpyxl import load_workbook

        wanted, name = self.how.sheet, self.source.name
        with self.source.damage_told(), self.source.raw() as raw:
            with self._book_told():
                # Read-only, a sheet is not in memory, nor is all that lies between far cells, as it
                # would be if pandas read the book.
                book = load_workbook(raw, read_only=True, data_only=True, keep_links=False)
                sheets = {str(sheet.title): sheet for sheet in book.worksheets}
            shown = ", ".join(map(repr, sheets))
            if wanted is None and len(sheets) > 1:
                raise ValueError(f"{name} has several sheets: say --sheet, one of {shown}")
            if wanted is not None and wanted not in sheets:
                raise ValueError(f"{name} has no sheet {wanted!r}; it has {shown}")
            with self._book_told():
                sheet = sheets[wanted or next(iter(sheets))]
                sheet.reset_dimensions()  # what a file says of them may be wrong
                rows, is_whole = _cells_of(sheet.rows)
        if not is_whole:
            raise ValueError(
                f"{name} spans more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells, perhaps with "
                "a cell far away from all others: copy the table into a new sheet, or save it as "
                "CSV"
            )
        return {i: cells for i, cells in rows.items() if i > self.how.skip_lines}

    @contextmanager
    def _book_told(self) -> Iterator[None]:
        """Turn whatever the library meets in a damaged book into a ValueError.

        Its warnings are about styles, validation and headers of pages, which no table has.
        """
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", module="openpyxl")
                yield
        except (OSError, MemoryError):
            raise
        except Exception as error:  # its readers check nothing: any operation may fail first
            raise ValueError(f"{self.source.name} {DAMAGED}") from error

    copy = copy_rows

    def header(self, columns: Sequence[str]) -> Header:
        """Return the names of all columns."""
        first = islice(self._rows.items(), self.how.header + MOST_TITLES)
        lines = [Line(number, [str(cell) for cell in cells]) for number, cells in first]
        self._header = Header.of(lines, self.how, self.source.name)
        return self._header

    @cached_property
    def _below(self) -> np.ndarray:
        """Numbers of the rows below the header."""
        return np.array(list(self._rows)[self.how.header :], dtype=np.int64)

    def frame(self, places: Sequence[int], as_texts: Collection[int] = ()) -> Any:
        """Return some columns with the cells as they are."""
        import pandas as pd

        if not len(self._below):
            raise ValueError(f"{self.source.name} has a header but no rows")
        rows = [self._rows[i] for i in self._below.tolist()]
        cells = {i: pd.Series([row[i] for row in rows], dtype=object) for i in places}
        return pd.DataFrame(cells)

    def lines(self, rows: Collection[int]) -> list[str]:
        """Name rows as Excel does."""
        return [f"row {self._below[row]}" for row in sorted(rows)]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return how pandas numbers rows, which counts empty ones below the header."""
        above = self.how.skip_lines
        if self.how.header:
            above = list(self._rows)[self.how.header - 1]
        return self._below[rows] - above - 1


def _cells_of(sheet: Iterable[Sequence[Any]]) -> tuple[dict[int, list[Any]], bool]:
    """Return the rows that are not empty, by their numbers, and whether they are all there are."""
    rows: dict[int, list[Any]] = {}
    n_cells = widest = 0
    for number, row in enumerate(sheet, 1):
        values = [_value_of(cell) for cell in row]
        while values and values[-1] == "":  # those that have a colour and no value
            values.pop()
        n_cells, widest = n_cells + len(row), max(widest, len(values))
        if values:
            rows[number] = values
        if number > MOST_ROWS or len(rows) * widest > MOST_CELLS or n_cells > LOOKED_AT:
            return rows, False
    return {i: row + [""] * (widest - len(row)) for i, row in rows.items()}, True


def _value_of(cell: Any) -> Any:
    """Return what is in a cell of Excel: a whole number as an int, nothing for an error."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() else value

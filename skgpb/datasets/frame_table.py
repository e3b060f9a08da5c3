"""Tables that pandas reads: Parquet and Excel."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from skgpb.datasets.columns import Column, column_of_texts
from skgpb.datasets.dates import SECONDS_PER_DAY
from skgpb.datasets.format import TableFormat, places_of
from skgpb.datasets.sources import DAMAGED, Source

# Rows that Excel has; cells in the rectangle of a table, because a small file can have a cell so
# far away that what lies between does not fit into the memory; and cells that are looked at.
MOST_ROWS, MOST_CELLS, LOOKED_AT = 2**20, 20_000_000, 200_000_000
NEEDS = {"parquet": ("pandas", "pyarrow"), "excel": ("pandas", "openpyxl")}


class FrameTable:
    """A table in Parquet or Excel.

    Parameters
    ----------
    source : Source
        Its bytes.
    how : TableFormat
        Format options; only ``sheet`` and ``dates`` matter here.
    """

    source: Source
    how: TableFormat

    def __init__(self, source: Source, how: TableFormat) -> None:
        self.source, self.how = source, how
        self._row_numbers: np.ndarray | None = None
        self._frame: Any = None
        try:
            for library in NEEDS[source.kind]:
                __import__(library)
        except ImportError:
            kind, needed = source.kind.capitalize(), " and ".join(NEEDS[source.kind])
            raise ImportError(
                f"{source.name} is a table in {kind}, which needs {needed}: "
                "pip install skgpb[tables]"
            ) from None

    def names(self, likely: Sequence[str]) -> list[str]:
        """Return the names of all columns."""
        with self.source.damage_told():
            frame = self._parquet(None) if self.source.kind == "parquet" else self._sheet()
        return [str(name).strip() for name in frame.columns]

    def read(
        self, columns: Sequence[str], texts: Collection[str] = (), verbatim: Collection[str] = ()
    ) -> list[Column]:
        """Read columns; those named in ``texts`` or ``verbatim`` are always read as texts."""
        with self.source.damage_told():
            frame = self._parquet(columns) if self.source.kind == "parquet" else self._sheet()
        names = [str(name).strip() for name in frame.columns]
        places = places_of(names, columns, self.source.name)
        if not len(frame):
            raise ValueError(f"{self.source.name} has a header but no rows")
        found = []
        for name, place in zip(columns, places, strict=True):
            series = frame.iloc[:, place]
            always = name in texts or name in verbatim
            column = None if always else _numbers_or_dates(name, series)
            if column is None:
                column = _column_of_objects(name, series, self.how, always, name in verbatim)
            found.append(column)
            found[-1].check_range()
        return found

    def place(self, row: int) -> str:
        """Name a row, counted from 0, as Excel does; Parquet has no numbers of its own."""
        if self._row_numbers is None:
            return f"row {row} (counted from 0)"
        return f"row {self._row_numbers[row]}"

    def copy_rows(self, rows: Collection[int], to: str | Path) -> None:
        """Write the header and some rows as comma-separated values in UTF-8."""
        frame = self._parquet(None) if self.source.kind == "parquet" else self._sheet()
        frame.iloc[sorted(rows)].to_csv(to, index=False, lineterminator="\n", encoding="utf-8")

    def _parquet(self, columns: Sequence[str] | None) -> Any:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        try:
            with self.source.raw() as raw:
                file = ParquetFile(raw)
                names = file.schema_arrow.names
                if columns is not None:
                    stripped = [name.strip() for name in names]
                    names = [names[i] for i in places_of(stripped, columns, self.source.name)]
                return file.read(names).to_pandas(split_blocks=True, self_destruct=True)
        except ArrowException as error:
            raise ValueError(f"{self.source.name} {DAMAGED}") from error

    @contextmanager
    def _book_told(self) -> Iterator[None]:
        """Turn whatever the library meets in a damaged book into a ValueError."""
        try:
            yield
        except (OSError, MemoryError):
            raise
        except Exception as error:  # its readers check nothing: any operation may fail first
            raise ValueError(f"{self.source.name} {DAMAGED}") from error

    def _sheet(self) -> Any:
        """Read the cells as they are, without what pandas makes of headers and missing values."""
        if self._frame is None:
            self._frame = self._read_sheet()
        return self._frame

    def _read_sheet(self) -> Any:
        import pandas as pd
        from openpyxl import load_workbook

        wanted, name = self.how.sheet, self.source.name
        with self.source.raw() as raw:
            with self._book_told():
                # Read-only, a sheet is not in memory, nor is all that lies between far cells.
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
        if not rows:
            raise ValueError(f"{name} is empty")
        cells = pd.DataFrame(list(rows.values()), dtype=object)
        self._row_numbers = np.array(list(rows)[1:])
        frame = cells.iloc[1:].reset_index(drop=True)
        frame.columns = [str(cell) for cell in cells.iloc[0]]
        return frame


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


def _numbers_or_dates(name: str, series: Any) -> Column | None:
    """Convert columns that pandas recognises as numbers or dates; None for all others."""
    import pandas as pd

    if series.dtype == object:
        there = series[~(series.isna() | (series == ""))]
        kinds = {type(value) for value in there}
        if kinds <= {int, float}:
            return Column(
                name, "numbers", pd.to_numeric(series.where(series != "")).to_numpy(float)
            )
        if kinds <= {Decimal}:
            return Column(name, "numbers", series.to_numpy(np.float64, na_value=np.nan))
        return None
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        raise ValueError(f"column {name!r} holds durations: write them as numbers, such as seconds")
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        moments = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz else series
        values = moments.to_numpy("datetime64[us]")
        days = values.astype(np.int64) / (SECONDS_PER_DAY * 1e6)
        return Column(name, "dates", np.where(np.isnat(values), np.nan, days))
    if pd.api.types.is_numeric_dtype(series.dtype):
        values = series.to_numpy(np.float64, na_value=np.nan)
        truth = pd.api.types.is_bool_dtype(series.dtype)
        return Column(name, "numbers", values, is_boolean=truth)
    return None


def _column_of_objects(
    name: str, series: Any, how: TableFormat, as_texts: bool, verbatim: bool
) -> Column:
    """Find out what other cells are by how they are written."""
    codes, objects = series.factorize(use_na_sentinel=True)
    texts = [*map(str, objects), ""]
    codes = np.where(codes < 0, len(objects), codes)
    return column_of_texts(
        name,
        codes,
        texts,
        decimal=how.decimal,
        pattern=how.dates,
        as_texts=as_texts,
        verbatim=verbatim,
    )

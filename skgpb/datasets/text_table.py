"""A table of separated values: what separates them, and how its numbers are written."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from skgpb.datasets.columns import Column, column_of_texts
from skgpb.datasets.format import TableFormat, places_of, separator_of, without_unit
from skgpb.datasets.numbers import Decimal, decimal_of, is_percent, numbers_of
from skgpb.datasets.sources import Source

if TYPE_CHECKING:
    from _csv import Reader as _Reader

# Separators that are tried, in that order where they do equally well.
SEPARATORS = ",;\t| "
# Number of characters inspected before reading, and of rows converted at once.
SAMPLE, ROWS_AT_ONCE = 2**16, 2**15
# Lines above the header that begin with # are comments.
MOST_COMMENTS = 1000
# Maximum number of lines before the header, when the reader looks for it.
MOST_TITLES = 20


class TextTable:
    """A table of separated values.

    Parameters
    ----------
    source : Source
        Its bytes.
    how : TableFormat
        Format options that are given instead of detected.
    """

    source: Source
    how: TableFormat

    def __init__(self, source: Source, how: TableFormat) -> None:
        self.source, self.how = source, how
        encodings = source.encodings() if how.encoding is None else [how.encoding]
        fitting = [each for each in encodings if self._decodes(each)]
        if not fitting:
            raise ValueError(f"{source.name} is not text in {encodings[0].upper()}")
        self._encoding = fitting[0]
        with source.text(self._encoding) as file:
            first = file.readline(SAMPLE).strip()
            comments = 0
            while first.startswith("#") and comments < MOST_COMMENTS:
                comments += 1
                first = file.readline(SAMPLE).strip()
        # Excel's own way to name the separator is a first line such as "sep=;".
        self._skipped = int(first.lower().startswith("sep=") and len(first) == len("sep=;"))
        given = first[-1] if self._skipped else how.separator
        self._skipped += comments
        self._separator = None if given is None else separator_of(given)

    def _decodes(self, encoding: str) -> bool:
        """Return whether an encoding fits: what does not fit may be anywhere in the text."""
        try:
            with self.source.text(encoding) as file:
                while file.read(2**20):
                    pass
        except LookupError:
            raise ValueError(f"there is no encoding {encoding!r}") from None
        except UnicodeError:
            return False
        return True

    def _sniffed(self, columns: Sequence[str]) -> dict[str, Decimal | None]:
        """Find the separator, by which the header has most of the columns, and decimal marks."""
        with self._text() as file:
            sample = file.read(SAMPLE)
        best: tuple[tuple[int, bool, float, int], str, list[str], list[list[str]]] | None = None
        for separator in SEPARATORS if self._separator is None else [self._separator]:
            header, rows = _parsed(sample, separator)
            alike = sum(len(row) == len(header) for row in rows) / max(1, len(rows))
            # A unit may have a space, or whatever else could separate.
            without_units = set(map(without_unit, header))
            known = sum(without_unit(column) in without_units for column in columns)
            score = known, len(header) > 1 and alike > 0.5, alike, len(header)
            if best is None or score > best[0]:
                best = score, separator, header, rows
        assert best is not None
        _, self._separator, header, rows = best
        if columns and not set(columns) & set(header):
            self._check_title(columns, sample, header)
        if self.how.decimal is not None:
            return dict.fromkeys(columns, self.how.decimal)
        marks: dict[str, Decimal | None] = {}
        for column in columns:
            place = header.index(column) if column in header else len(header)
            marks[column] = decimal_of(row[place] for row in rows if len(row) > place)
        # One mark that is certain tells of columns in which it is not.
        certain = {mark for mark in marks.values() if mark is not None}
        common = certain.pop() if len(certain) == 1 else None
        return {column: mark or common for column, mark in marks.items()}

    def _check_title(self, columns: Sequence[str], sample: str, header: Sequence[str]) -> None:
        """Raise ValueError if other lines precede the header."""
        for separator in SEPARATORS:
            for row in _parsed(sample, separator)[1][:MOST_TITLES]:
                if set(columns) <= {cell.strip() for cell in row}:
                    raise ValueError(
                        f"{self.source.name} has lines above its header, the first of which begins "
                        f"with {header[0]!r}: take them out, or let each begin with #"
                    )

    @contextmanager
    def _text(self) -> Iterator[IO[str]]:
        with self.source.text(self._encoding) as file:
            for _ in range(self._skipped):
                file.readline()
            yield file

    @contextmanager
    def _lines(self) -> Iterator[tuple[Iterator[list[str]], _Reader]]:
        """Rows of cells, header first, without those in which every cell is empty."""
        assert self._separator is not None
        try:
            with self._text() as file:
                reader = _reader(file, self._separator)
                yield filter(any, reader), reader
        except csv.Error as error:
            name = self.source.name
            raise ValueError(f"{name} is not a table of separated values: {error}") from None

    def names(self, likely: Sequence[str]) -> list[str]:
        """Return the names of all columns; ``likely`` names help to find the header."""
        self._sniffed(likely)
        with self._lines() as (lines, _):
            return [name.strip() for name in next(lines, [])]

    def read(
        self, columns: Sequence[str], texts: Collection[str] = (), verbatim: Collection[str] = ()
    ) -> list[Column]:
        """Read columns; those named in ``texts`` or ``verbatim`` are always read as texts."""
        decimals = self._sniffed(columns)
        always = {*texts, *verbatim}
        parts = [_Part(name, decimals[name], name in always) for name in columns]
        self._fill(parts)
        if any(part.mixed for part in parts):
            # Earlier rows were read as numbers, but as texts "01" and "1" differ.
            parts = [_Part(part.name, part.decimal, part.is_text) for part in parts]
            self._fill(parts)
        found = [
            part.column(self.how.dates, part.name in texts, part.name in verbatim) for part in parts
        ]
        for column in found:
            column.check_range()
        return found

    def _fill(self, parts: Sequence[_Part]) -> None:
        with self._lines() as (lines, _):
            header = [name.strip() for name in next(lines, [])]
            places = places_of(header, [part.name for part in parts], self.source.name)
            start = 0
            while rows := list(itertools.islice(lines, ROWS_AT_ONCE)):
                for i, row in enumerate(rows if set(map(len, rows)) != {len(header)} else ()):
                    if len(row) != len(header):
                        raise ValueError(
                            f"{self.place(start + i)} has {len(row)} cells, the header has "
                            f"{len(header)}"
                        )
                for part, place in zip(parts, places, strict=True):
                    part.add([row[place] for row in rows])
                start += len(rows)
            if not start:
                raise ValueError(f"{self.source.name} has a header but no rows")

    def place(self, row: int) -> str:
        """Name the line of the file in which a row, counted from 0, ends."""
        with self._lines() as (lines, reader):
            next(itertools.islice(lines, row + 1, None))
            return f"line {reader.line_num + self._skipped}"

    def copy_rows(self, rows: Collection[int], to: str | Path) -> None:
        """Write the header and some rows to a file in UTF-8."""
        if self._separator is None:
            self._sniffed(())
        wanted = set(rows)
        with self._lines() as (lines, _), open(to, "w", newline="", encoding="utf-8") as copy:
            assert self._separator is not None
            writer = csv.writer(copy, delimiter=self._separator, lineterminator="\n")
            writer.writerow(next(lines))
            writer.writerows(cells for i, cells in enumerate(lines) if i in wanted)


class _Part:
    """A column while it is read: numbers as long as that is all there is."""

    def __init__(self, name: str, decimal: Decimal | None, is_text: bool) -> None:
        self.name, self.decimal, self.is_text = name, decimal, is_text
        self.mixed, self._percent = False, True
        self._numbers: list[np.ndarray] = []
        self._codes: list[np.ndarray] = []
        self._code_of: dict[str, int] = {}

    def add(self, cells: list[str]) -> None:
        """Take the cells of more rows."""
        if not self.is_text:
            numbers = numbers_of(cells, self.decimal)
            if numbers is not None:
                self._numbers.append(numbers)
                self._percent = self._percent and all(map(is_percent, cells))
                return
            self.is_text, self.mixed = True, bool(self._numbers)
        if not self.mixed:
            code_of = self._code_of
            codes = (code_of.setdefault(cell, len(code_of)) for cell in cells)
            self._codes.append(np.fromiter(codes, dtype=np.int32, count=len(cells)))

    def column(self, pattern: str | None, as_texts: bool, verbatim: bool) -> Column:
        """Return what was read."""
        if not self.is_text:
            numbers = np.concatenate(self._numbers)
            percent = self._percent and not np.isnan(numbers).all()
            return Column(self.name, "numbers", numbers, is_percent=percent)
        return column_of_texts(
            self.name,
            np.concatenate(self._codes),
            list(self._code_of),
            decimal=self.decimal,
            pattern=pattern,
            as_texts=as_texts,
            verbatim=verbatim,
        )


def _reader(file: Iterable[str], separator: str) -> _Reader:
    if separator != " ":
        return csv.reader(file, delimiter=separator)
    # Columns that are aligned by spaces have several between cells, and some at the ends.
    lines = (line.strip() + "\n" for line in file)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _parsed(sample: str, separator: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the beginning of a table; its last line may be cut, and is left out."""
    whole = len(sample) < SAMPLE
    try:
        rows = [row for row in _reader(io.StringIO(sample, newline=""), separator) if any(row)]
    except csv.Error:
        return [], []
    header = [name.strip() for name in rows[0]] if rows else []
    return header, rows[1:] if whole else rows[1:-1]

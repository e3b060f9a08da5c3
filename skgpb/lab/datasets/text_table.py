"""A table of separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from statistics import mode
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from skgpb.lab.datasets.format import (
    MOST_TITLES,
    Header,
    Line,
    TableFormat,
    resolve_separator,
    strip_unit,
)
from skgpb.lab.datasets.numbers import MISSING
from skgpb.lab.datasets.sources import Source

if TYPE_CHECKING:
    from _csv import Reader as _Reader

# Separators to try; of equally good ones the first is chosen.
SEPARATORS = ",;\t| "
# Number of characters by which the format is detected.
SAMPLE = 2**16
# Maximum number of comments, lines above the header that begin with #.
MOST_COMMENTS = 1000
# MISSING for pandas, which distinguishes upper and lower case.
NO_VALUE = {"NaN", "NaT", *(f(text) for text in MISSING for f in (str.lower, str.upper, str.title))}


class TextTable:
    """A table of separated values.

    Parameters
    ----------
    source : Source
        Bytes of the file.
    how : TableFormat
        Format options, which replace the detection.
    """

    source: Source
    how: TableFormat

    def __init__(self, source: Source, how: TableFormat) -> None:
        self.source, self.how = source, how
        encodings = source.encodings() if how.encoding is None else [how.encoding]
        fitting = [each for each in encodings if self._decodes(each)]
        if not fitting:
            raise ValueError(f"{source.name} is not text in {encodings[0].upper()}")
        self._encoding, self._skipped = fitting[0], how.skip_lines
        self._header: Header | None = None
        with self._text() as file:
            first, comments = file.readline(SAMPLE).strip(), 0
            while first.startswith("#") and comments < MOST_COMMENTS:
                first, comments = file.readline(SAMPLE).strip(), comments + 1
        # Excel's own way to name the separator is a first line such as "sep=;".
        is_named = first.lower().startswith("sep=") and len(first) == len("sep=;")
        given = first[-1] if is_named else how.separator
        self._skipped += comments + is_named
        self._separator = "" if given is None else resolve_separator(given)

    def _decodes(self, encoding: str) -> bool:
        """Return whether the whole text can be decoded; a wrong byte may be anywhere."""
        try:
            with self.source.text(encoding) as file:
                while file.read(2**20):
                    pass
        except LookupError:
            raise ValueError(f"there is no encoding {encoding!r}") from None
        except UnicodeError:
            return False
        return True

    @contextmanager
    def _text(self) -> Iterator[IO[str]]:
        with self.source.text(self._encoding) as file:
            for _ in range(self._skipped):
                file.readline()
            yield file

    def header(self, columns: Sequence[str]) -> Header:
        """Detect the separator, by ``columns`` that should be in the header; return the header."""
        with self._text() as file:
            sample = file.read(SAMPLE) + file.readline()  # a header may be longer than SAMPLE
        likely = set(map(strip_unit, columns))
        best: list[Line] = []
        best_score: tuple[int, bool, float, int] | None = None
        for separator in self._separator or SEPARATORS:
            lines = self._sample_lines(sample, separator)
            # Compare without units: a unit may contain a separator, such as a space.
            named = [len(likely & set(map(strip_unit, line.cells))) for line in lines[:MOST_TITLES]]
            widths = [len(line.cells) for line in lines] or [0]
            first = named.index(max(named)) if any(named) else 0
            if columns and not any(named):  # there may be titles above the header
                first = widths.index(mode(widths))
            n_cells, *others = widths[first:]
            alike = others.count(n_cells) / max(1, len(others))
            score = max(named, default=0), n_cells > 1 and alike > 0.5, alike, n_cells
            if best_score is None or score > best_score:
                best, best_score, self._separator = lines, score, separator
        self._header = Header.from_lines(best, self.how, self.source.name)
        return self._header

    def _sample_lines(self, sample: str, separator: str) -> list[Line]:
        """Return the lines of a sample; drop the last one if the sample may end inside it."""
        file = io.StringIO(sample, newline="")
        lines: list[Line] = []
        with suppress(csv.Error):
            lines.extend(self._number_lines(_reader(file, separator)))
        return lines if len(sample) < SAMPLE else lines[: max(1, len(lines) - 1)]

    def _number_lines(self, reader: _Reader) -> Iterator[Line]:
        """Yield the lines of a reader, with their numbers in the file, without blank lines."""
        for cells in reader:
            if len(cells) > 1 or (cells and (not cells[0] or cells[0].strip())):
                yield Line(reader.line_num + self._skipped, cells)

    @contextmanager
    def _rows(self) -> Iterator[tuple[Iterator[Line], IO[str]]]:
        """Open the lines below the header, and the text from which they are read, in a block."""
        from pandas.errors import ParserError

        assert self._header is not None
        try:
            with self._text() as file:
                lines = self._number_lines(_reader(file, self._separator))
                for _ in range(self._header.n_lines):
                    next(lines)
                yield lines, file
        except (csv.Error, ParserError) as error:
            name = self.source.name
            raise ValueError(f"{name} is not a table of separated values: {error}") from None

    def frame(self, places: Sequence[int], as_texts: Collection[int], decimal: str = ".") -> Any:
        """Return the columns of these indices as a data frame, read by pandas.

        Columns in ``as_texts`` have no missing values.
        """
        import pandas as pd

        assert self._header is not None
        n_columns, n_rows = len(self._header.names), 0
        with self._rows() as (rows, _):
            for i, (number, cells) in enumerate(rows, 1):
                if cells == [""]:  # a line of two quotes
                    continue
                # pandas would fill a short row, which is often a part of another row.
                if len(cells) != n_columns:
                    given = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
                    raise ValueError(f"line {number} has {given}, the header has {n_columns}")
                n_rows = i
        if not n_rows:
            raise ValueError(f"{self.source.name} has a header but no rows")
        # pandas 3.1 reads floats exactly by default, and warns of the option.
        old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
        exactly: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
        no_value: Any = {i: sorted(NO_VALUE) for i in places if i not in as_texts}
        with self._rows() as (_, file):
            frame: Any = pd.read_csv(
                file,
                sep=r"\s+" if self._separator == " " else self._separator,
                header=None,
                names=range(n_columns),
                index_col=False,
                usecols=sorted(set(places)),
                dtype=dict.fromkeys(as_texts, str),
                na_values=no_value,
                keep_default_na=False,
                decimal=decimal,
                low_memory=False,
                nrows=n_rows,
                **exactly,
            )
        if len(frame) != n_rows:
            raise ValueError(f"{self.source.name} is not a table: its quotes do not go in pairs")
        return frame

    def lines(self, rows: Collection[int]) -> list[str]:
        """Return names of rows, counted from 0, in increasing order: the lines where they end."""
        with self._rows() as (lines, _):
            chosen = set(rows)
            return [f"line {line.number}" for i, line in enumerate(lines) if i in chosen]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows in a data frame: the rows themselves."""
        return rows

    def copy(self, rows: Collection[int], to: IO[str]) -> None:
        """Write the names of all columns and these rows."""
        assert self._header is not None
        chosen = set(rows)
        writer = csv.writer(to, delimiter=self._separator, lineterminator="\n")
        writer.writerow(self._header.names)
        with self._rows() as (lines, _):
            writer.writerows(line.cells for i, line in enumerate(lines) if i in chosen)


def _reader(file: Iterable[str], separator: str) -> _Reader:
    if separator != " ":
        return csv.reader(file, delimiter=separator)
    # Columns aligned by spaces have several spaces between cells, and some at the ends of a line.
    lines = (line.strip() + "\n" for line in file)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)

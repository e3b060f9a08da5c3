"""Formats of tables, their headers, and messages about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from skgpb.lab.datasets.numbers import Decimal

# Maximum number of column names in a message.
NAMES_SHOWN = 12
# Line ends, tabs and other control characters, with the blanks around them.
_NO_FORM = re.compile(r"\s*[\x00-\x1f\x7f-\x9f\u2028\u2029]+\s*")
# A unit after the name of a column.
_UNIT = re.compile(r"\s*(\([^()]*\)|\[[^\[\]]*\]|/\s*\S+)\s*$")
SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
# Maximum number of lines in which a header is sought.
MOST_TITLES = 20
# Maximum number of lines of a header that is sought.
MOST_HEADER = 4
_NUMBER = re.compile(r"(?![12]\d{3}$)[-+$€£]?[\d.,]*\d ?[%$€£]?")


class TableError(ValueError):
    """A table cannot be read; ``option`` is an option of the command line that may help."""

    option: str

    def __init__(self, reason: str, option: str = "") -> None:
        super().__init__(reason)
        self.option = option


@dataclass(frozen=True)
class TableFormat:
    """Format of a table; None stands for automatic detection.

    Parameters
    ----------
    separator : str, default=None
        The letter between cells, or its name: "comma", "semicolon", "tab", "pipe", "space".
    decimal : {"point", "comma"}, default=None
        The decimal mark.
    encoding : str, default=None
        Such as "utf-8" or "latin-1".
    dates : str, default=None
        Format of dates, such as "%d/%m/%Y". None reads the year first, months in English words, and
        the year last if it is clear which number is the day.
    sheet : str, default=None
        Sheet of an Excel file; may be left out if there is only one.
    skip_lines : int, default=0
        Number of lines above the header, such as titles.
    header : int, default=1
        Number of lines of the header. The names of several lines are joined, an empty cell of an
        upper line has the text to its left. With 0, columns are named column1, column2 and so on.
    """

    separator: str | None = None
    decimal: Decimal | None = None
    encoding: str | None = None
    dates: str | None = None
    sheet: str | None = None
    skip_lines: int = 0
    header: int = 1


class Line(NamedTuple):
    """A line that is not blank: the number in the file of its last line, and its cells."""

    number: int
    cells: list[str]


@dataclass(frozen=True)
class Header:
    """The names of the columns of a table.

    Attributes
    ----------
    table : str
        Name of the table, for messages.
    names : list of str
        Name of each column; the second of equal names is ``name.1``, as in pandas.
    parts : list of list of str
        Cells of the header above each column.
    lines : list of Line
        First lines of the table.
    n_lines : int
        Number of lines of the header.
    """

    table: str
    names: list[str]
    parts: list[list[str]]
    lines: Sequence[Line]
    n_lines: int

    @classmethod
    def from_lines(cls, lines: Sequence[Line], how: TableFormat, table: str) -> Header:
        """Read the header from the first lines of a table."""
        if not lines:
            raise ValueError(f"{table} is empty")
        n = min(how.header, len(lines))
        width = len(lines[n - 1].cells) if n else max(len(line.cells) for line in lines)
        rows = [[join_lines(cell) for cell in line.cells] for line in lines[:n]]
        rows = [_fill_from_left(row, width) for row in rows[:-1]] + rows[-1:]
        parts = [list(dict.fromkeys(filter(None, each))) for each in zip(*rows, strict=True)]
        names = [" ".join(each) for each in parts]
        if not n:
            names = [f"column{i + 1}" for i in range(width)]
        return cls(table, _number_duplicates(names), parts or [[] for _ in names], lines, n)

    def indices(self, columns: Sequence[str]) -> list[int]:
        """Return the index of each column, given by its name or by one cell of several lines.

        All white space is equal, because a line end inside a cell is hard to type.
        """
        names = list(self.names)
        for column in set(columns) - set(names):
            alike = [
                i
                for i, (name, parts) in enumerate(zip(names, self.parts, strict=True))
                if name.split() == column.split() or (self.n_lines > 1 and column in parts)
            ]
            if len(alike) == 1:
                names[alike[0]] = column
        try:
            return column_indices(names, columns, self.table)
        except ValueError as error:
            raise self._explain(str(error), columns) from None

    def check_titles(self, columns: Sequence[str]) -> None:
        """Raise a TableError if no column is in the header, but all are in another likely one."""
        likely = self._likely(columns) if columns and not set(columns) & set(self.names) else None
        if likely is not None:
            raise self._titles(*likely)

    def _likely(self, columns: Sequence[str]) -> tuple[int, int] | None:
        """Return the first line and the number of lines of another header with these columns.

        Return None if there is no such header.
        """
        for n in range(1, MOST_HEADER + 1):
            for start in range(min(len(self.lines) - n + 1, MOST_TITLES)):
                names = Header.from_lines(
                    self.lines[start:], TableFormat(header=n), self.table
                ).names
                if (start, n) != (0, self.n_lines) and set(columns) <= set(names):
                    return start, n
        return None

    def _titles(self, start: int, n_lines: int = 1) -> TableError:
        """Return an error with the likely lines of the header, ``n_lines`` from ``start`` on."""
        first = next((cell.strip() for cell in self.lines[0].cells if cell.strip()), "")
        *others, last = [str(line.number) for line in self.lines[start : start + n_lines]]
        numbers = f"{', '.join(others)} and {last}" if others else last
        above = f"lines above its header, the first of which begins with {first!r}"
        skip = f"--skip-lines {self.lines[start - 1].number}" if start else ""
        several = f"a header of {n_lines} lines"
        return TableError(
            f"{self.table} has {above if start else several}: the header is likely "
            f"line{'s' * (n_lines > 1)} {numbers}",
            " ".join(filter(None, [skip, f"--header {n_lines}" * (n_lines > 1)])),
        )

    def _explain(self, reason: str, columns: Sequence[str]) -> ValueError:
        """Return an error that adds the likely lines of the header to ``reason``, if any."""
        likely = self._likely(columns)
        if likely is not None:
            return self._titles(*likely)
        lines = self.lines[:MOST_TITLES] if self.n_lines == 1 else []
        filled = [sum(map(bool, line.cells)) for line in lines]
        usual = Counter(filled[1:]).most_common(1)[0][0] if len(filled) > 1 else 0
        full = next((i for i, n in enumerate(filled) if n >= usual), 0)
        if full and not _has_values(lines[full].cells):
            return self._titles(full)
        if lines and _has_values(lines[0].cells):
            names = ", ".join(f"column{i}" for i in range(1, min(len(self.names), 3) + 1))
            return TableError(
                f"{reason}; line {lines[0].number} has numbers, as if there were no header",
                f"--header 0, and name columns {names}{', ...' if len(self.names) > 3 else ''}",
            )
        return ValueError(reason)


def _fill_from_left(cells: list[str], width: int) -> list[str]:
    """Fill each empty cell of an upper line of a header with the text to its left."""
    filled: list[str] = []
    for cell in cells[:width] + [""] * (width - len(cells)):
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def _number_duplicates(names: Sequence[str]) -> list[str]:
    """Number equal names as pandas does."""
    before: Counter[str] = Counter()
    numbered = []
    for name in names:
        numbered.append(f"{name}.{before[name]}" if name and before[name] else name)
        before[name] += 1
    return numbered


def _has_values(cells: Sequence[str]) -> bool:
    """Return whether a line holds numbers other than years: then it is hardly a header."""
    return any(_NUMBER.fullmatch(cell.strip()) for cell in cells)


def join_lines(text: str) -> str:
    """Replace line ends and control characters, with the blanks around them, by one blank."""
    return _NO_FORM.sub(" ", text).strip()


def strip_unit(name: str) -> str:
    """Return the name of a column without its unit and in lower case, for comparisons."""
    return " ".join(_UNIT.sub("", name).split()).casefold()


def resolve_separator(name: str) -> str:
    """Return the letter for a separator's name, or the letter itself."""
    letter = SEPARATOR_NAMES.get(name.lower(), "\t" if name == "\\t" else name)
    if len(letter) != 1 or letter in '"\r\n':
        accepted = ", ".join(SEPARATOR_NAMES)
        raise ValueError(f"a separator is one letter or one of {accepted}, got {name!r}")
    return letter


def column_indices(header: Sequence[str], columns: Sequence[str], table: str) -> list[int]:
    """Return the index of each column in the header; raise ValueError if one is not unique."""
    header = list(header)
    if not any(header):
        raise ValueError(f"{table} is empty")
    for column in columns:
        if column not in header:
            shown = ", ".join(map(repr, header[:NAMES_SHOWN]))
            more = ", ..." if len(header) > NAMES_SHOWN else ""
            lower = {each.lower(): each for each in reversed(header)}
            close = get_close_matches(column.lower(), lower, 1)
            close += [each for each in lower if strip_unit(each) == strip_unit(column)]
            meant = f"; did you mean {lower[close[0]]!r}?" if close else ""
            raise ValueError(f"{table} has no column {column!r}; it has {shown}{more}{meant}")
        if header.count(column) > 1:
            raise ValueError(f"{table} has {header.count(column)} columns named {column!r}")
    return [header.index(column) for column in columns]

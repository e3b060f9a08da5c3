"""Formats of tables, and messages about their headers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from skgpb.datasets.numbers import Decimal

# Maximum number of column names in a message.
NAMES_SHOWN = 12
# A unit behind the name of a column.
_UNIT = re.compile(r"\s*(\([^()]*\)|\[[^\[\]]*\]|/\s*\S+)\s*$")
SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class TableFormat:
    """Format of a table; None stands for automatic detection.

    Parameters
    ----------
    separator : str, default=None
        One letter between cells, or its name: "comma", "semicolon", "tab", "pipe", "space".
    decimal : {"point", "comma"}, default=None
        The decimal mark.
    encoding : str, default=None
        Such as "utf-8" or "latin-1".
    dates : str, default=None
        Format of dates, such as "%d/%m/%Y". None reads the year first, and the year last if it is
        clear which number is the day.
    sheet : str, default=None
        Sheet of an Excel file; may be left out if there is only one.
    """

    separator: str | None = None
    decimal: Decimal | None = None
    encoding: str | None = None
    dates: str | None = None
    sheet: str | None = None


def without_unit(name: str) -> str:
    """Return the name of a column without the unit behind it, to compare it with others."""
    return _UNIT.sub("", name).strip().casefold()


def separator_of(name: str) -> str:
    """Return the letter for a separator's name, or the letter itself."""
    letter = SEPARATOR_NAMES.get(name.lower(), "\t" if name == "\\t" else name)
    if len(letter) != 1 or letter in '"\r\n':
        known = ", ".join(SEPARATOR_NAMES)
        raise ValueError(f"a separator is one letter or one of {known}, got {name!r}")
    return letter


def places_of(header: Sequence[str], columns: Sequence[str], table: str) -> list[int]:
    """Position of every column in the header."""
    header = list(header)
    if not any(header):
        raise ValueError(f"{table} is empty")
    for column in columns:
        if column not in header:
            shown = ", ".join(map(repr, header[:NAMES_SHOWN]))
            more = ", ..." if len(header) > NAMES_SHOWN else ""
            lower = {each.lower(): each for each in reversed(header)}
            close = get_close_matches(column.lower(), lower, 1)
            meant = f"; did you mean {lower[close[0]]!r}?" if close else ""
            raise ValueError(f"{table} has no column {column!r}; it has {shown}{more}{meant}")
        if header.count(column) > 1:
            raise ValueError(f"{table} has {header.count(column)} columns named {column!r}")
    return [header.index(column) for column in columns]

"""Numbers as they are written in many countries."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal

# Texts that stand for a missing value in tables; an empty cell is one too.
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "#n/a", "-", "<na>", "nat"}

Decimal = Literal["point", "comma"]
_GROUPS = {
    "point": re.compile(r"[+-]?\d{1,3}(?:([ \u00a0\u202f'’,])\d{3})(?:\1\d{3})*(?:\.\d*)?"),
    "comma": re.compile(r"[+-]?\d{1,3}(?:([ \u00a0\u202f'’.])\d{3})(?:\1\d{3})*(?:,\d*)?"),
}
# Only one reading is possible: 1,5 and 0,125 and 1.234,5 and 1.234.567, and the reverse.
_EVIDENCE: dict[Decimal, re.Pattern[str]] = {
    "comma": re.compile(
        r"[+-]?(?:0?,\d+|\d+,\d{1,2}|\d+,\d{4,}|\d{4,},\d+|\d{1,3}(?:\.\d{3})+,\d+"
        r"|\d{1,3}(?:\.\d{3}){2,})(?:[eE][+-]?\d+)?"
    ),
    "point": re.compile(
        r"[+-]?(?:0?\.\d+|\d+\.\d{1,2}|\d+\.\d{4,}|\d{4,}\.\d+|\d{1,3}(?:,\d{3})+\.\d+"
        r"|\d{1,3}(?:,\d{3}){2,})(?:[eE][+-]?\d+)?"
    ),
}
# A number may have one sign of a currency on either side, or one of a share behind it.
_WITH_UNIT = re.compile(r"(?P<sign>[+-]?)[$€£¥₹]?\s*(?P<number>[+-]?[\d.,][^$€£¥₹%]*?)\s*[$€£¥₹%]?")
_THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
WHICH_DECIMAL = "say --decimal comma or point"


class UnclearError(ValueError):
    """A text can be read in two ways."""


def _bare(cell: str) -> str:
    """Return a number without a sign of a currency or of a share: 58.7% is 58.7."""
    text = cell.strip().replace("\u2212", "-")
    found = _WITH_UNIT.fullmatch(text)
    return text if found is None else found["sign"] + found["number"]


def is_missing(text: str) -> bool:
    """Return whether a cell stands for no value."""
    return text.strip().lower() in MISSING


def is_percent(text: str) -> bool:
    """Return whether a cell has a percent sign, or no value."""
    return text.rstrip().endswith("%") or is_missing(text)


def decimal_of(counts: Mapping[str, int]) -> tuple[Decimal | None, bool]:
    """Return the decimal mark of most numbers, and whether others have the other mark.

    Parameters
    ----------
    counts : mapping of str to int
        How many cells have each text. Those that can be read with either mark do not count.

    Raises
    ------
    UnclearError
        If as many numbers have one mark as the other.
    """
    seen: dict[Decimal, dict[str, int]] = {"point": {}, "comma": {}}
    for cell, n in counts.items():
        for mark, form in _EVIDENCE.items():
            if form.fullmatch(_bare(cell)):
                seen[mark][cell] = n
    n_point, n_comma = (sum(cells.values()) for cells in seen.values())
    if n_point and n_point == n_comma:
        point, comma = (next(iter(cells)) for cells in seen.values())
        raise UnclearError(
            f"{comma!r} has a decimal comma and {point!r} a decimal point: {WHICH_DECIMAL}"
        )
    if not n_point and not n_comma:
        return None, False
    return "point" if n_point > n_comma else "comma", bool(n_point and n_comma)


def number_of(cell: str, decimal: Decimal | None, mixed: bool = False) -> float:
    """Convert a cell; NaN where the value is missing.

    Parameters
    ----------
    cell : str
        What is written.
    decimal : {"point", "comma"} or None
        The decimal mark; None where nothing tells.
    mixed : bool, default=False
        Whether some cells of the column have the other mark, so that 1,234 may be meant either way.

    Raises
    ------
    ValueError
        If the cell is not a number; an UnclearError if it may be two. The message begins with it.
    """
    mark, text = decimal or "point", _bare(cell)
    if text.lower() in MISSING:
        return math.nan
    if "_" in text:
        raise ValueError(f"{text!r} is not a number")
    other = "." if mark == "comma" else ","
    if (decimal is None or mixed) and _THREE_DIGITS.fullmatch(text) and other in text:
        whole, part = text.split(other)
        raise UnclearError(f"{text!r} may be {whole}.{part} or {whole}{part}: {WHICH_DECIMAL}")
    if _GROUPS[mark].fullmatch(text):
        text = re.sub(rf"[ \u00a0\u202f'’{other}]", "", text)
    elif mark == "comma" and "." in text:
        raise ValueError(f"{text!r} is not a number with a decimal comma")
    if mark == "comma":
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{cell.strip()!r} is not a number") from None

"""Numbers as they are written in many countries."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

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
_THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


class UnclearError(ValueError):
    """A text can be read as two different numbers."""


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


def decimal_of(cells: Iterable[str]) -> Decimal | None:
    """Decimal mark that the numbers among some cells can only have been written with."""
    marks: set[Decimal] = set()
    for cell in cells:
        marks.update(mark for mark, form in _EVIDENCE.items() if form.fullmatch(_bare(cell)))
    return marks.pop() if len(marks) == 1 else None


def number_of(cell: str, decimal: Decimal | None) -> float:
    """Convert a cell; NaN where the value is missing.

    Raises
    ------
    ValueError
        If the cell is not a number, or is ambiguous. The caller's message names the cell first.
    """
    text = _bare(cell)
    if text.lower() in MISSING:
        return math.nan
    if "_" in text:
        raise ValueError(f"{text!r} is not a number")
    if decimal is None and _THREE_DIGITS.fullmatch(text):
        whole, part = text.split(",")
        raise UnclearError(
            f"{text!r} may be {whole}.{part} or {whole}{part}: say --decimal comma or point"
        )
    mark = decimal or "point"
    if _GROUPS[mark].fullmatch(text):
        text = re.sub(r"[ \u00a0\u202f'’.]" if mark == "comma" else r"[ \u00a0\u202f'’,]", "", text)
    elif mark == "comma" and "." in text:
        raise ValueError(f"{text!r} is not a number with a decimal comma")
    if mark == "comma":
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{cell.strip()!r} is not a number") from None


def numbers_of(cells: Sequence[str], decimal: Decimal | None) -> np.ndarray | None:
    """Convert cells to numbers (n,), NaN for missing ones; None if some are not numbers."""
    try:
        if decimal != "comma":
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        if not any("." in cell for cell in cells):
            commas = (cell.replace(",", ".") for cell in cells)
            return np.fromiter(map(float, commas), dtype=np.float64, count=len(cells))
    except ValueError:
        pass
    try:
        return np.array([number_of(cell, decimal) for cell in cells])
    except ValueError:
        return None

"""Numbers in the notations of many countries."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

# Texts that stand for a missing value, including the empty text.
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "#n/a", "-", "<na>", "nat"}

Decimal = Literal["point", "comma"]
_GROUPS = {
    "point": re.compile(r"[+-]?\d{1,3}(?:([ \u00a0\u202f'’,])\d{3})(?:\1\d{3})*(?:\.\d*)?"),
    "comma": re.compile(r"[+-]?\d{1,3}(?:([ \u00a0\u202f'’.])\d{3})(?:\1\d{3})*(?:,\d*)?"),
}
# Texts with only one reading, by their decimal mark: 1,5 and 0,125 and 1.234,5 and 1.234.567 have a
# comma.
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
# A number may be a limit, as in <0.5, and have the sign of a currency on either side, or a unit
# after it: %, °C, mm, m2, kg/m³, mg/L.
_WORD = r"[^\W\d_]+(?:(?<=m)[23]|[²³])?"
_CELL = re.compile(
    r"(?P<relation>[<>≤≥]=?)?\s*(?P<sign>[+-]?)[$€£¥₹]?\s*"
    r"(?P<number>[+-]?[\d.,](?:[\d.,'’ \u00a0\u202f]*[\d.,])?(?:[eE][+-]?\d+)?)"
    rf"\s*(?P<unit>[$€£¥₹%]|°?{_WORD}(?:/{_WORD})*)?"
)
_PLAIN = str.maketrans("≤≥", "<>")
_DURATION = re.compile(r"(?:(\d+) days?,? )?(\d+):([0-5]\d):([0-5]\d(?:[.,]\d+)?)")
SECONDS = "seconds"
NO_UNITS = MISSING | {"inf", "infinity"}
CURRENCIES = set("$€£¥₹")
# Units that numbers of one column may mix with each other, and with numbers without a unit.
SIGNS = {"", "%"} | CURRENCIES
_NOT_DETECTED = re.compile(r"n\.? ?d\.?|n/d|b\.?d\.?l\.?|<? ?lo[dq]", re.IGNORECASE)
_THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
WHICH_DECIMAL = "say --decimal comma or point"


class UnclearError(ValueError):
    """A text has two possible readings."""


class Reading(NamedTuple):
    """The number in a cell, NaN for a missing value; ``limit`` is < for <0.5 and > for >100."""

    value: float
    unit: str = ""
    limit: str = ""


def _split_number(cell: str) -> tuple[str, str, str]:
    """Split a cell into number, unit, and the < or > of a limit: 58.7% into 58.7, % and ""."""
    text = cell.strip().replace("\u2212", "-")
    found = _CELL.fullmatch(text)
    if found is None or (found["unit"] or "number").lower() in NO_UNITS:
        return text, "", ""
    limit = (found["relation"] or "")[:1].translate(_PLAIN)
    return found["sign"] + found["number"], found["unit"] or "", limit


def is_missing(text: str) -> bool:
    """Return whether a cell stands for a missing value."""
    return text.strip().lower() in MISSING


def detect_decimal(counts: Mapping[str, int]) -> tuple[Decimal | None, bool]:
    """Return the decimal mark of most numbers, and whether some have the other mark.

    The mark is None if no number shows it.

    Parameters
    ----------
    counts : mapping of str to int
        Number of cells with each text. Texts that can be read with either mark are ignored.

    Raises
    ------
    UnclearError
        If as many numbers have one mark as the other.
    """
    seen: dict[Decimal, dict[str, int]] = {"point": {}, "comma": {}}
    for cell, n in counts.items():
        for mark, form in _EVIDENCE.items():
            if form.fullmatch(_split_number(cell)[0]):
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


def read_number(cell: str, decimal: Decimal | None = None, mixed: bool = False) -> Reading:
    """Return the number in a cell, with its unit; a duration such as 02:09:19 is in seconds.

    Parameters
    ----------
    cell : str
        The text of the cell.
    decimal : {"point", "comma"}, default=None
        The decimal mark; None if it is unknown.
    mixed : bool, default=False
        Whether some cells of the column have the other mark, so that 1,234 has two readings.

    Raises
    ------
    ValueError
        If the cell is not a number; an UnclearError if it has two readings. The message begins
        with the text of the cell.
    """
    if is_missing(cell):
        return Reading(math.nan)
    text = cell.strip()
    if _NOT_DETECTED.fullmatch(text):
        raise ValueError(
            f"{text!r} may be not determined or not detected: leave it empty for the first, and "
            "write < and the limit, such as <0.5, for the second"
        )
    if found := _DURATION.fullmatch(text):
        days, hours, minutes = (int(part or 0) for part in found.groups()[:3])
        seconds = float(found[4].replace(",", "."))
        return Reading(((days * 24 + hours) * 60 + minutes) * 60 + seconds, SECONDS)
    number, unit, limit = _split_number(cell)
    try:
        return Reading(_parse_number(number, decimal, mixed), unit, limit)
    except UnclearError:
        raise
    except ValueError as error:
        raise ValueError(str(error) or f"{text!r} is not a number") from None


def explain_unreadable(cell: str) -> str:
    """Return the reason why a cell is not a number; an empty text if it is a number."""
    try:
        read_number(cell)
    except ValueError as error:
        return str(error)
    return ""


def _parse_number(text: str, decimal: Decimal | None, mixed: bool) -> float:
    """Convert the text of a number without a unit."""
    mark = decimal or "point"
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
        raise ValueError("") from None

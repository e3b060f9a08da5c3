"""Dates as numbers: days since the beginning of 1970."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from skgpb.datasets.numbers import UnclearError

EPOCH = datetime(1970, 1, 1)
SECONDS_PER_DAY = 86_400.0
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_WORD = (
    r"(?P<word>jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)\.?"
)
_YEAR, _GAP, _WEEKDAY = (
    r"(?P<year>\d{4})",
    r"[ ,/-]+",
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)\w*,? )?",
)
_TIME = (
    r"(?:[ T,]+(?P<hour>\d{1,2})(?P<minute>:\d{2}(?::\d{2}(?:\.\d+)?)?)(?: ?(?P<half>[ap])\.?m\.?)?"
    r" ?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_FORMS = [
    re.compile(form + _TIME, re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<sign>[./-])(?P<month>\d{{1,2}})(?P=sign)(?P<day>\d{{1,2}})",
        rf"(?P<first>\d{{1,2}})(?P<sign>[./-])(?P<second>\d{{1,2}})(?P=sign){_YEAR}",
        rf"{_WEEKDAY}{_DAY}{_GAP}{_WORD}{_GAP}{_YEAR}",
        rf"{_WEEKDAY}{_WORD}{_GAP}{_DAY}{_GAP}{_YEAR}",
        rf"{_YEAR}{_GAP}{_WORD}{_GAP}{_DAY}",
        rf"{_WORD}{_GAP}{_YEAR}",
    )
]
# Dates to people, of which the order, the century or the language is not clear to others.
_LIKE_A_DATE = re.compile(
    r"(\d{1,2}|\d{4})([./-])\d{1,2}\2(\d{2}|\d{4})(\W.*)?"
    r"|\d{1,2}\.?[ -](de )?[^\W\d]{3,}\.?[ -](de )?'?(\d{2}|\d{4})(\W.*)?",
    re.IGNORECASE,
)


def dates_of(texts: Sequence[str], pattern: str | None = None) -> np.ndarray | None:
    """Convert texts to days since 1970 (n,); None if some are not dates.

    Parameters
    ----------
    texts : sequence of str
        None of them missing.
    pattern : str, default=None
        Format of the dates, for ``datetime.strptime``. None for ISO 8601, months in English words,
        the year first, and the year last where it is clear which number is the day.

    Raises
    ------
    ValueError
        If the day and the month cannot be told apart.
    """
    days = days_of(texts, pattern)
    return None if np.isnan(days).any() else days


def days_of(texts: Sequence[str], pattern: str | None = None) -> np.ndarray:
    """Convert texts as :func:`dates_of` does, NaN where one is not a date.

    Formats may differ, but where the day is last is the same for all with the same sign.
    """
    texts = [text.strip() for text in texts]
    if pattern is not None:
        return np.array([_days_since(text, pattern) for text in texts])
    day_first = {sign: _is_day_first(texts, sign) for sign in "./-"}
    return np.array([_days_since(_iso(text, day_first)) for text in texts])


def is_like_date(text: str) -> bool:
    """Return whether a text looks like a date, whether or not it is clear which."""
    return any(form.fullmatch(text.strip()) for form in (_LIKE_A_DATE, *_FORMS))


def _days_since(text: str, pattern: str | None = None) -> float:
    try:
        moment = datetime.strptime(text, pattern) if pattern else datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - EPOCH).total_seconds() / SECONDS_PER_DAY


def _iso(text: str, day_first: dict[str, bool]) -> str:
    """Write a date with the year first; leave everything else as it is, without plain numbers."""
    for form in _FORMS:
        if match := form.fullmatch(text):
            break
    else:
        return "" if text.isdigit() else text
    part = {"day": "1", "hour": None, **match.groupdict()}
    if "first" in part:
        ends = part["first"], part["second"]
        part["day"], part["month"] = ends if day_first[part["sign"]] else ends[::-1]
    elif "word" in part:
        part["month"] = str(1 + _MONTHS.index(part["word"][:3].lower()))
    date = f"{part['year']}-{part['month']:0>2}-{part['day']:0>2}"
    if part["hour"] is None:
        return date
    hour = part["hour"]
    if part["half"]:
        hour = str(int(hour) % 12 + 12 * (part["half"].lower() == "p"))
    return f"{date}T{hour:0>2}{part['minute']}{(part['zone'] or '').upper()}"


def _is_day_first(texts: Sequence[str], sign: str) -> bool:
    """Return whether the day precedes the month in dates that have the year last."""
    found = [
        (m, t) for t in texts if sign in t and (m := _FORMS[1].fullmatch(t)) and m["sign"] == sign
    ]
    ends = [(int(match["first"]), int(match["second"])) for match, _ in found]
    n_first = sum(first > 12 for first, _ in ends)
    n_second = sum(second > 12 for _, second in ends)
    # With points the day is first wherever people write so; 13 is no month.
    if n_first == n_second and sign != "." and any(first != second for first, second in ends):
        raise UnclearError(
            f"{found[0][1]!r} has its day first or its month first: say --dates %d/%m/%Y or "
            "%m/%d/%Y"
        )
    return n_first > n_second or (n_first == n_second and sign == ".")


def iso_date(days: float) -> str:
    """Write days since 1970 as a date, with the time where it is not midnight."""
    text = str(np.datetime64(round(days * SECONDS_PER_DAY * 1e6), "us"))
    for tail in ("T00:00:00.000000", ":00.000000", ".000000"):
        if text.endswith(tail):
            return text.removesuffix(tail)
    return text

"""Dates as numbers: days since the beginning of 1970."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from skgpb.lab.datasets.numbers import UnclearError

EPOCH = datetime(1970, 1, 1)
SECONDS_PER_DAY = 86_400.0
_TIME = r"(?P<time>[ T,]+\d{1,2}:\d{2}.*)?"
_YEAR_LAST = re.compile(
    r"(?P<first>\d{1,2})(?P<sign>[./-])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4})" + _TIME
)
_YEAR_FIRST = re.compile(r"\d{4}([./-])\d{1,2}\1\d{1,2}" + _TIME)
_YEAR = r"(?P<year>(?:1[89]|2[01])\d{2})"
_MONTH = r"(?P<month>0?[1-9]|1[0-2])"
_OF_MONTH = (re.compile(rf"{_YEAR}[-/]{_MONTH}"), re.compile(rf"{_MONTH}[-/]{_YEAR}"))
_NAME = (
    r"(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)\.?"
)
_DAY = r"\d{1,2}(st|nd|rd|th|\.)?"
# With a month in English, and a weekday or not. pandas reads them, and would read much else.
_IN_WORDS = re.compile(
    rf"(?=.*\b\d{{4}}\b)((mon|tue|wed|thu|fri|sat|sun)\w*\W+)?(\d{{4}}\W+|{_DAY}\W+)?"
    rf"{_NAME}\W+({_DAY}\W+\d{{4}}|{_DAY}|\d{{4}}){_TIME}",
    re.IGNORECASE,
)
# Dates to people, of which the century or the language is not clear to others.
_LIKE_A_DATE = re.compile(
    r"\d{1,2}([./-])\d{1,2}\1\d{2}(\W.*)?"
    r"|\d{1,2}\.?[ -](de )?[^\W\d]{3,}\.?[ -](de )?'?\d{2,4}(\W.*)?"
    rf"|{_NAME}[ /-]'?\d{{2}}",
    re.IGNORECASE,
)


def dates_of(texts: Sequence[str]) -> np.ndarray | None:
    """Convert texts to days since 1970 (n,); None if some are not dates."""
    days = days_of(texts)
    return None if np.isnan(days).any() else days


def days_of(texts: Sequence[str], pattern: str | None = None) -> np.ndarray:
    """Convert texts to days since 1970 (n,), NaN where one is not a date.

    Formats may differ, but where the day is last is the same for all with the same sign.

    Parameters
    ----------
    texts : sequence of str
        None of them missing.
    pattern : str, default=None
        Format of the dates, for ``datetime.strptime``. None for ISO 8601, months in English words,
        the year first, and the year last where it is clear which number is the day. A month is its
        first day.

    Raises
    ------
    ValueError
        If the day and the month cannot be told apart.
    """
    texts = [text.strip() for text in texts]
    if pattern is not None:
        return np.array([_days_since(text, pattern) for text in texts])
    day_first = {sign: _is_day_first(texts, sign) for sign in "./-"}
    return np.array([_days_since(_year_first(text, day_first)) for text in texts])


def is_like_date(text: str) -> bool:
    """Return whether a text looks like a date, whether or not it is clear which."""
    forms = (_YEAR_FIRST, _YEAR_LAST, *_OF_MONTH, _IN_WORDS, _LIKE_A_DATE)
    return any(form.fullmatch(text.strip()) for form in forms)


def _days_since(text: str, pattern: str | None = None) -> float:
    try:
        moment = datetime.strptime(text, pattern) if pattern else _moment_of(text)
    except ValueError:
        return np.nan
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - EPOCH).total_seconds() / SECONDS_PER_DAY


def _moment_of(text: str) -> datetime:
    if text.isdigit():
        raise ValueError("a number is not a date")
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        if not (_YEAR_FIRST.fullmatch(text) or _IN_WORDS.fullmatch(text)):
            raise
    from pandas import Timestamp

    return Timestamp(text)


def _year_first(text: str, day_first: dict[str, bool]) -> str:
    """Write a date that has the year last with the year first, and a month as its first day."""
    for form in _OF_MONTH:
        if found := form.fullmatch(text):
            return f"{found['year']}-{found['month']:0>2}-01"
    match = _YEAR_LAST.fullmatch(text)
    if match is None:
        return text
    day, month = match["first"], match["second"]
    if not day_first[match["sign"]]:
        day, month = month, day
    return f"{match['year']}-{month:0>2}-{day:0>2}{match['time'] or ''}"


def _is_day_first(texts: Sequence[str], sign: str) -> bool:
    """Return whether the day precedes the month in dates that have the year last."""
    found = [match for text in texts if (match := _YEAR_LAST.fullmatch(text))]
    ends = {m[0]: (int(m["first"]), int(m["second"])) for m in found if m["sign"] == sign}
    n_first = sum(first > 12 for first, _ in ends.values())
    n_second = sum(second > 12 for _, second in ends.values())
    # With points the day is first wherever people write so; 13 is no month.
    if n_first == n_second and sign != "." and any(a != b for a, b in ends.values()):
        raise UnclearError(
            f"{next(iter(ends))!r} has its day first or its month first: say --dates %d/%m/%Y or "
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

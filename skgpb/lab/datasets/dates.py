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
# Dates with a month in English, with or without a weekday. pandas parses them, but only these are
# left to it, because it accepts much else.
_IN_WORDS = re.compile(
    rf"(?=.*\b\d{{4}}\b)((mon|tue|wed|thu|fri|sat|sun)\w*\W+)?(\d{{4}}\W+|{_DAY}\W+)?"
    rf"{_NAME}\W+({_DAY}\W+\d{{4}}|{_DAY}|\d{{4}}){_TIME}",
    re.IGNORECASE,
)
# Texts that look like dates, but whose century or language is unclear.
_LIKE_A_DATE = re.compile(
    r"\d{1,2}([./-])\d{1,2}\1\d{2}(\W.*)?"
    r"|\d{1,2}\.?[ -](de )?[^\W\d]{3,}\.?[ -](de )?'?\d{2,4}(\W.*)?"
    rf"|{_NAME}[ /-]'?\d{{2}}",
    re.IGNORECASE,
)


def parse_all_dates(texts: Sequence[str]) -> np.ndarray | None:
    """Convert texts to days since 1970 (n,); return None if any is not a date."""
    days = parse_dates(texts)
    return None if np.isnan(days).any() else days


def parse_dates(texts: Sequence[str], pattern: str | None = None) -> np.ndarray:
    """Convert texts to days since 1970 (n,); a text that is not a date becomes NaN.

    Formats may differ, but all dates with the year last and the same separator have day and month
    in the same order.

    Parameters
    ----------
    texts : sequence of str
        The texts, without missing values.
    pattern : str, default=None
        Format of the dates, for ``datetime.strptime``. None for ISO 8601, months in English words,
        the year first, and the year last if it is clear which number is the day. A month without a
        day stands for its first day.

    Raises
    ------
    UnclearError
        A ``ValueError``: day and month cannot be distinguished.
    """
    texts = [text.strip() for text in texts]
    if pattern is not None:
        return np.array([_to_days(text, pattern) for text in texts])
    day_first = {sign: _is_day_first(texts, sign) for sign in "./-"}
    return np.array([_to_days(_year_first(text, day_first)) for text in texts])


def is_like_date(text: str) -> bool:
    """Return whether a text looks like a date, even if the date is ambiguous."""
    forms = (_YEAR_FIRST, _YEAR_LAST, *_OF_MONTH, _IN_WORDS, _LIKE_A_DATE)
    return any(form.fullmatch(text.strip()) for form in forms)


def _to_days(text: str, pattern: str | None = None) -> float:
    try:
        moment = datetime.strptime(text, pattern) if pattern else _parse_moment(text)
    except ValueError:
        return np.nan
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - EPOCH).total_seconds() / SECONDS_PER_DAY


def _parse_moment(text: str) -> datetime:
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
    """Rewrite a date with the year last in ISO order, and a month without a day as its first day.

    ``day_first`` has the order of day and month for each separator. Other texts are unchanged.
    """
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
    """Return whether the day precedes the month in dates with the year last.

    ``sign`` is the separator. The first number is the day if it exceeds 12 more often.
    """
    found = [match for text in texts if (match := _YEAR_LAST.fullmatch(text))]
    ends = {m[0]: (int(m["first"]), int(m["second"])) for m in found if m["sign"] == sign}
    n_first = sum(first > 12 for first, _ in ends.values())
    n_second = sum(second > 12 for _, second in ends.values())
    # Countries that write dates with points put the day first.
    if n_first == n_second and sign != "." and any(a != b for a, b in ends.values()):
        raise UnclearError(
            f"{next(iter(ends))!r} has its day first or its month first: say --dates %d/%m/%Y or "
            "%m/%d/%Y"
        )
    return n_first > n_second or (n_first == n_second and sign == ".")


def iso_date(days: float) -> str:
    """Write days since 1970 as a date, with the time unless it is midnight."""
    text = str(np.datetime64(round(days * SECONDS_PER_DAY * 1e6), "us"))
    for tail in ("T00:00:00.000000", ":00.000000", ".000000"):
        if text.endswith(tail):
            return text.removesuffix(tail)
    return text

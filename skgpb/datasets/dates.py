"""Dates as numbers: days since the beginning of 1970."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from skgpb.datasets.numbers import UnclearError

EPOCH = datetime(1970, 1, 1)
SECONDS_PER_DAY = 86_400.0
_DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T,]+(\d{1,2}:\d{2}.*))?")
_YEAR_FIRST = re.compile(r"(\d{4})([./])(\d{1,2})\2(\d{1,2})(?:[ T]+(\d{1,2}:\d{2}.*))?")


def dates_of(texts: Sequence[str], pattern: str | None = None) -> np.ndarray | None:
    """Convert texts to days since 1970 (n,); None if some are not dates.

    Parameters
    ----------
    texts : sequence of str
        None of them missing.
    pattern : str, default=None
        Format of the dates, for ``datetime.strptime``. None for ISO 8601, the year first, and
        the year last where it is clear which number is the day.

    Raises
    ------
    ValueError
        If the day and the month cannot be told apart.
    """
    try:
        if pattern is not None:
            moments = [datetime.strptime(text.strip(), pattern) for text in texts]
        else:
            moments = [datetime.fromisoformat(text) for text in _iso(texts)]
    except UnclearError:
        raise
    except ValueError:
        return None
    if len({moment.tzinfo is None for moment in moments}) > 1:
        return None
    naive = (m if m.tzinfo is None else m.astimezone(UTC).replace(tzinfo=None) for m in moments)
    seconds = [(moment - EPOCH).total_seconds() for moment in naive]
    return np.array(seconds) / SECONDS_PER_DAY


def _iso(texts: Sequence[str]) -> list[str]:
    """Write dates with the year first."""
    texts = [text.strip() for text in texts]
    last = [_DAY_FIRST.fullmatch(text) for text in texts]
    if any(last):
        if not all(last):
            raise ValueError("some dates have the year last")
        parts = [match.groups() for match in last if match is not None]
        return _day_and_month(parts, texts)
    years = [_YEAR_FIRST.fullmatch(text) for text in texts]
    if any(text.isdigit() for text in texts):
        raise ValueError("numbers are not dates")
    return [
        text if match is None else _joined(match[1], match[3], match[4], match[5])
        for text, match in zip(texts, years, strict=True)
    ]


def _day_and_month(parts: Sequence[tuple[str, ...]], texts: Sequence[str]) -> list[str]:
    first = max(int(part[0]) for part in parts)
    second = max(int(part[2]) for part in parts)
    # With points the day is first wherever people write so; 13 is no month.
    day_first = first > 12 or (second <= 12 and all(part[1] == "." for part in parts))
    if not day_first and second <= 12 and any(part[0] != part[2] for part in parts):
        raise UnclearError(
            f"{texts[0]!r} has its day first or its month first: say --dates %d/%m/%Y or %m/%d/%Y"
        )
    return [
        _joined(year, b, a, time) if day_first else _joined(year, a, b, time)
        for a, _, b, year, time in parts
    ]


def _joined(year: str, month: str, day: str, time: str | None) -> str:
    clock = f" {time.strip().zfill(5) if time.index(':') == 1 else time.strip()}" if time else ""
    return f"{year}-{month.zfill(2)}-{day.zfill(2)}{clock}"


def iso_date(days: float) -> str:
    """Write days since 1970 as a date, with the time where it is not midnight."""
    text = str(np.datetime64(round(days * SECONDS_PER_DAY * 1e6), "us"))
    for tail in ("T00:00:00.000000", ":00.000000", ".000000"):
        if text.endswith(tail):
            return text.removesuffix(tail)
    return text

"""Wording of numbers, shares and groups."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from math import floor, inf, log10

# Larger numbers are written with an exponent.
LONGEST = 1e12
# Significant digits that every number has exactly.
MOST_DIGITS = 15
# Maximum number of features in a list.
LISTED = 5


def listed(texts: Sequence[str], shown: int = LISTED, n: int | None = None) -> str:
    """Write a list with at most ``shown`` of ``n`` texts; None for as many as there are."""
    more = (len(texts) if n is None else n) - len(texts[:shown])
    return ", ".join(texts[:shown]) + (f" and {more:,} more" if more > 0 else "")


def shell_quote(text: str) -> str:
    """Quote a text for a shell, with double quotes if possible, which all shells accept."""
    return shlex.quote(text) if set(text) & set('"$`!\\') else f'"{text}"'


def count(n: int, noun: str) -> str:
    """Write a number with a noun, in the plural unless it is one."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """Write a share in percent, with two significant digits below 10 % and four above."""
    percent = 100.0 * share
    return f"{percent:.2g} %" if percent < 10.0 else f"{percent:.4g} %"


def chances(probability: float) -> str:
    """Write a probability in percent that is exact to about 1 %."""
    if probability < 0.01:
        return "less than 1 %"
    return f"{100.0 * probability:.0f} %" if probability < 0.995 else "more than 99 %"


def number(x: float, digits: int = 6) -> str:
    """Format a number with some significant digits and thousands separators, without exponent."""
    if 10.0**digits <= abs(x) < LONGEST:
        return f"{float(f'{x:.{digits}g}'):,.0f}"
    return f"{x:z,.{digits}g}"


def digits_apart(numbers: Iterable[float], digits: int = 6) -> int:
    """Return the number of significant digits, at least ``digits``, by which numbers differ.

    The largest difference of two of the numbers has two digits.
    """
    every = sorted(numbers)
    largest, apart = max(map(abs, every)), every[-1] - every[0]
    if not 0.0 < apart < inf:
        return digits
    return max(digits, min(2 + floor(log10(largest)) - floor(log10(apart)), MOST_DIGITS))

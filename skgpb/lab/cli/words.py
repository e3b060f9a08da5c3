"""Wording of numbers, shares and groups."""

from __future__ import annotations

import shlex

from skgpb.lab.cli.features import FeatureLimits

# Numbers up to this are written without an exponent.
LONGEST = 1e12
# Number of features that are listed.
LISTED = 5


def named(limits: list[FeatureLimits]) -> str:
    """Name the conditions that define a group."""
    said = [f"{limit.column.name} {limit.said}" for limit in limits if limit.condition]
    return ", ".join(said) or "the whole table"


def quoted(text: str) -> str:
    """Put a text between quotes for a shell, of any kind where that is possible."""
    return shlex.quote(text) if set(text) & set('"$`!\\') else f'"{text}"'


def count(n: int, what: str) -> str:
    """Number of things, in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """Two significant digits, more of what is close to all."""
    percent = 100.0 * share
    return f"{percent:.2g} %" if percent < 10.0 else f"{percent:.4g} %"


def chances(probability: float) -> str:
    """Percents of a probability that is known to about one of them."""
    if probability < 0.01:
        return "less than 1 %"
    return f"{100.0 * probability:.0f} %" if probability < 0.995 else "more than 99 %"


def number(x: float, digits: int = 6) -> str:
    """Format a number with some significant digits and thousands separators, without exponent."""
    if 10.0**digits <= abs(x) < LONGEST:
        return f"{float(f'{x:.{digits}g}'):,.0f}"
    return f"{x:z,.{digits}g}"

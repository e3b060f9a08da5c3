"""Limits on what else is measured, as people write them: T < 80, 6 <= pH <= 8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import inf

from skgpb.lab.experiments.records import LabRecord
from skgpb.lab.experiments.sides import exact, limit_in, measured_number, number
from skgpb.lab.experiments.texts import check_name, quoted_name, unquoted
from skgpb.utils.typing import Limits

_NAME = r'("(?:[^"]|"")*"|[^<>="]+?)'
# Perhaps a number from which on, a name, and a number.
_FORM = re.compile(rf"(?:([^<>=]+?)\s*<=?\s*)?{_NAME}\s*(<=?|>=?)\s*([^<>=]+)")


def read_limits(texts: str | Iterable[str], taken: Iterable[str]) -> Limits:
    """Return the limits that texts stand for.

    Parameters
    ----------
    texts : str or iterable of str
        "T < 80", "yield >= 50" or "6 <= pH <= 8". Whether a limit itself is allowed does not matter
        for what is measured. Two texts may give both ends. A name with one of < > = is between
        quotes.
    taken : iterable of str
        Names of sides and of the answer, which no limit can be about.

    Returns
    -------
    limits : dict
        Pairs (low, high) by the names; None for an open end.

    Raises
    ------
    ValueError
        If a text has no such form, or two of them contradict each other.
    """
    limits: dict[str, tuple[float | None, float | None]] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        plain = text.strip().replace("\u2264", "<=").replace("\u2265", ">=")
        found = _FORM.fullmatch(plain)
        if not found or (found[1] and found[3][0] == ">"):
            raise ValueError(
                f"a limit must be NAME < NUMBER, NAME > NUMBER or LOW < NAME < HIGH, got {text!r}"
            )
        name = unquoted(found[2]).strip()
        check_name(name, "the name of what has a limit")
        if name in taken:
            raise ValueError(
                f"a limit is about what else is measured, and {name!r} is a setting or the answer, "
                f"got {text!r}"
            )
        ends = [None if found[1] is None else number(found[1], f"a limit of {name}"), None]
        ends[found[3][0] == "<"] = number(found[4], f"a limit of {name}")
        before = limits.get(name, (None, None))
        low, high = (new if new is not None else old for new, old in zip(ends, before, strict=True))
        if low is not None and high is not None and not low < high:
            raise ValueError(f"nothing is within the limits of {name}: {low:g} to {high:g}")
        limits[name] = low, high
    return limits


def written(limits: Limits) -> list[str]:
    """Write limits in the way that :func:`read_limits` reads."""
    out = []
    for name, (low, high) in limits.items():
        said = quoted_name(name)
        if low is None or high is None:
            relation, end = ("<=", high) if low is None else (">=", low)
            out.append(f"{said} {relation} {exact(end)}")
        else:
            out.append(f"{exact(low)} <= {said} <= {exact(high)}")
    return out


def in_words(low: float | None, high: float | None) -> str:
    """Say a limit, or a range, in words, as "at most 80"."""
    if low is None:
        return f"at most {exact(high)}"
    return f"at least {exact(low)}" if high is None else f"{exact(low)} to {exact(high)}"


def outcomes_of(record: LabRecord, limits: Limits, query: int | None = None) -> dict[str, float]:
    """Return what was measured of all that has a limit.

    Raises
    ------
    ValueError
        If it is no number; ``query`` is its number in the message.
    """
    where = "" if query is None else f" of query {query}"
    return {
        name: measured_number(record.measured[name], f"{name}{where}, which has a limit,")
        for name in limits
        if name in record.measured
    }


def are_kept(measured: Mapping[str, float | str], limits: Limits) -> bool | None:
    """Return whether all measurements are within their limits; None if some are missing."""
    known: bool | None = True
    for name, (low, high) in limits.items():
        value = measured.get(name)
        limit = limit_in(value)
        if limit is not None:
            ends = (-inf, limit.value) if limit.limit == "<" else (limit.value, inf)
        else:
            ends = (value, value) if isinstance(value, float) else (-inf, inf)
        if (low is not None and ends[1] < low) or (high is not None and ends[0] > high):
            return False
        if (low is not None and ends[0] < low) or (high is not None and ends[1] > high):
            known = None
    return known

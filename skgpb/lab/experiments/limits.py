"""Limits on outcomes, quantities measured besides the answer: T < 80, 6 <= pH <= 8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from math import inf
from typing import Any

from skgpb.lab.experiments.records import LabRecord
from skgpb.lab.experiments.scores import Score
from skgpb.lab.experiments.sides import exact, limit_in, measured_number, number
from skgpb.lab.experiments.texts import check_name, quote_name, strip_quotes
from skgpb.utils.typing import Limits

_NAME = r'((?:"(?:[^"]|"")*"|[^<>="])+?)'
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
# Operators of arithmetic; a hyphen or slash within a word is none, as in water-content.
_ARITHMETIC = re.compile(r"\s[-/]\s|[+*^(]")
# Optionally a lower limit; then a name, a relation and a number.
_FORM = re.compile(rf"(?:([^<>=]+?)\s*<=?\s*)?{_NAME}\s*(<=?|>=?)\s*([^<>=]+)")


def read_limits(texts: str | Iterable[str], taken: Iterable[str]) -> Limits:
    """Parse limits.

    Parameters
    ----------
    texts : str or iterable of str
        "T < 80", "yield >= 50" or "6 <= pH <= 8". < and <= have the same meaning, because
        measurements are real numbers. Two texts may give both ends. A name with one of < > = is
        between quotes. A name may be replaced by arithmetic of names, as in a score: "A + B <= 5",
        with spaces around - and /.
    taken : iterable of str
        Names of sides and of the answer, which cannot have limits.

    Returns
    -------
    limits : dict
        Pairs (low, high) by the names; None for an open end.

    Raises
    ------
    ValueError
        If a text has none of these forms, or two texts contradict each other.
    """
    limits: dict[str, tuple[float | None, float | None]] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        plain = text.strip().replace("\u2264", "<=").replace("\u2265", ">=")
        found = _FORM.fullmatch(plain)
        if not found or (found[1] and found[3][0] == ">"):
            raise ValueError(
                f"a limit must be NAME < NUMBER, NAME > NUMBER or LOW < NAME < HIGH, got {text!r}"
            )
        name = found[2].strip()
        name = strip_quotes(name).strip() if _QUOTED.fullmatch(name) else name
        check_name(name, "the name before a limit")
        for each in required_measurements([name]):
            if each in taken:
                raise ValueError(
                    f"a limit needs a further measurement, and {each!r} is a setting or the "
                    f"answer, got {text!r}"
                )
        ends = [None if found[1] is None else number(found[1], f"a limit of {name}"), None]
        ends[found[3][0] == "<"] = number(found[4], f"a limit of {name}")
        before = limits.get(name, (None, None))
        low, high = (new if new is not None else old for new, old in zip(ends, before, strict=True))
        if low is not None and high is not None and not low < high:
            raise ValueError(
                f"the limits of {name} must have their low end below their high end, got {low:g} "
                f"to {high:g}"
            )
        limits[name] = low, high
    return limits


def format_limits(limits: Limits) -> list[str]:
    """Format limits as texts that :func:`read_limits` parses."""
    out = []
    for name, (low, high) in limits.items():
        said = name if parse_arithmetic(name) else quote_name(name)
        if low is None or high is None:
            relation, end = ("<=", high) if low is None else (">=", low)
            out.append(f"{said} {relation} {exact(end)}")
        else:
            out.append(f"{exact(low)} <= {said} <= {exact(high)}")
    return out


def describe_limit(low: float | None, high: float | None) -> str:
    """Describe a limit or a range in words, such as "at most 80"."""
    if low is None:
        return f"at most {exact(high)}"
    return f"at least {exact(low)}" if high is None else f"{exact(low)} to {exact(high)}"


@cache
def parse_arithmetic(name: str) -> Score | None:
    """Parse the name of a limit as arithmetic, such as "A + B"; None if it is a plain name."""
    try:
        return Score(name) if _ARITHMETIC.search(name) else None
    except ValueError:
        return None


def required_measurements(limits: Iterable[str]) -> list[str]:
    """Return the names of the measurements that limits need, including names in arithmetic."""
    every = (score.names if (score := parse_arithmetic(name)) else (name,) for name in limits)
    return list(dict.fromkeys(chain.from_iterable(every)))


def outcome_value(name: str, measured: Mapping[str, Any]) -> Any:
    """Return the value of an outcome with a limit: a measurement, or arithmetic of measurements.

    None if a measurement is missing.

    Raises
    ------
    ValueError
        If the arithmetic has no finite result.
    """
    score = parse_arithmetic(name)
    if score is None or name in measured:
        return measured.get(name)
    return score(measured) if all(each in measured for each in score.names) else None


def lacks_outcome(record: LabRecord, name: str) -> bool:
    """Return whether a record lacks a number that a limit needs."""
    return is_within_limits(record.measured, {name: (None, None)}) is None


def outcome_values(
    measured: Mapping[str, Any], limits: Limits, query: int | None = None
) -> dict[str, float]:
    """Return the values of all outcomes with limits, as a dict without missing ones.

    Raises
    ------
    ValueError
        If a value is no number; the message contains the number of the ``query``.
    """
    where = "" if query is None else f" of query {query}"
    found = {name: outcome_value(name, measured) for name in limits}
    return {
        name: measured_number(value, f"{name}{where}, which has a limit,")
        for name, value in found.items()
        if value is not None
    }


def is_within_limits(measured: Mapping[str, Any], limits: Limits) -> bool | None:
    """Return whether all outcomes are within their limits; None if that is open.

    It is open if no outcome is beyond a limit, but a measurement is missing or is itself a limit,
    such as <0.5, on both sides of which the outcome may be.
    """
    known: bool | None = True
    for name, (low, high) in limits.items():
        try:
            value = outcome_value(name, measured)
        except ValueError:  # measurements of a query without an answer may be texts
            value = None
        limit = limit_in(value)
        if limit is None and not isinstance(value, float):
            known = None
            continue
        if limit is None:
            ends = (value, value)
        else:
            ends = (-inf, limit.value) if limit.limit == "<" else (limit.value, inf)
        if (low is not None and ends[1] < low) or (high is not None and ends[0] > high):
            return False
        if (low is not None and ends[0] < low) or (high is not None and ends[1] > high):
            known = None
    return known

"""Limits on outcomes, measured besides the answer: T < 80, 6 <= pH <= 8, passed = yes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from math import inf
from typing import Any

from skgpb.lab.experiments.records import LabRecord, number_or_text
from skgpb.lab.experiments.scores import Score
from skgpb.lab.experiments.sides import exact, limit_in, measured_number, number
from skgpb.lab.experiments.texts import check_name, quote_name
from skgpb.utils.expressions import strip_quotes
from skgpb.utils.typing import Limit, Limits
from skgpb.utils.validation import truth_value

_NAME = r'((?:"(?:[^"]|"")*"|[^<>="])+?)'
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
# Operators of arithmetic; a hyphen or slash within a word is none, as in water-content.
_ARITHMETIC = re.compile(r"\s[-/]\s|[+*^(]")
# Optionally a lower limit; then a name, a relation and a number.
_FORM = re.compile(rf"(?:([^<>=]+?)\s*<=?\s*)?{_NAME}\s*(<=?|>=?)\s*([^<>=]+)")
# A name that is yes or no, with the value that it must have.
_YES_OR_NO = re.compile(rf"{_NAME}\s*=\s*([^<>=]+)")


def read_limits(texts: str | Iterable[str], taken: Iterable[str]) -> Limits:
    """Parse limits.

    Parameters
    ----------
    texts : str or iterable of str
        "T < 80", "yield >= 50" or "6 <= pH <= 8". < and <= have the same meaning, because
        measurements are real numbers. Two texts may give both ends. A name with one of < > = is
        between quotes. A name may be replaced by arithmetic of names, as in a score: "A + B <= 5",
        with spaces around - and /. "passed = yes" and "leaks = no" are limits on outcomes that are
        yes or no; pass and fail, true and false, 1 and 0 have the same meaning.
    taken : iterable of str
        Names of sides and of the answer, which cannot have limits.

    Returns
    -------
    limits : dict
        Pairs (low, high) by the names, None for an open end; True or False for yes or no.

    Raises
    ------
    ValueError
        If a text has none of these forms, or two texts contradict each other.
    """
    limits: dict[str, Limit] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        plain = text.strip().replace("\u2264", "<=").replace("\u2265", ">=")
        of_two, found = _YES_OR_NO.fullmatch(plain), _FORM.fullmatch(plain)
        value = of_two and truth_value(number_or_text(of_two[2].strip()))
        if of_two and value is not None:
            name = of_two[1].strip()
        elif found and not (found[1] and found[3][0] == ">"):
            name = found[2].strip()
        else:
            raise ValueError(
                "a limit must be NAME < NUMBER, NAME > NUMBER or LOW < NAME < HIGH, or NAME = yes "
                f"or NAME = no, got {text!r}"
            )
        name = strip_quotes(name).strip() if _QUOTED.fullmatch(name) else name
        check_name(name, "the name before a limit")
        for each in required_measurements([name]):
            if each in taken:
                raise ValueError(
                    f"a limit needs a further measurement, and {each!r} is a setting or the "
                    f"answer, got {text!r}"
                )
        before = limits.get(name)
        if not found or isinstance(before, bool):
            if value is None or before not in (None, value) or parse_arithmetic(name):
                raise ValueError(
                    f"yes or no is the only limit of a name, which has no arithmetic; got {text!r}"
                )
            limits[name] = value
            continue
        ends = [None if found[1] is None else number(found[1], f"a limit of {name}"), None]
        ends[found[3][0] == "<"] = number(found[4], f"a limit of {name}")
        pairs = zip(ends, before or (None, None), strict=True)
        low, high = (new if new is not None else old for new, old in pairs)
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
    for name, limit in limits.items():
        said = name if parse_arithmetic(name) else quote_name(name)
        if isinstance(limit, bool):
            out.append(f"{said} = {yes_or_no(limit)}")
            continue
        low, high = limit
        if low is None or high is None:
            relation, end = ("<=", high) if low is None else (">=", low)
            out.append(f"{said} {relation} {exact(end)}")
        else:
            out.append(f"{exact(low)} <= {said} <= {exact(high)}")
    return out


def yes_or_no(value: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if value else "no"


def describe_limit(limit: Limit) -> str:
    """Describe a limit or a range in words, such as "at most 80"."""
    if isinstance(limit, bool):
        return yes_or_no(limit)
    low, high = limit
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


def lacks_outcome(record: LabRecord, name: str, limit: Limit) -> bool:
    """Return whether a record lacks an outcome that has a limit."""
    open_limit = limit if isinstance(limit, bool) else (None, None)
    return is_within_limits(record.measured, {name: open_limit}) is None


def read_measured(given: Any, limit: Limit | None, what: str) -> float | bool:
    """Parse an outcome: a number, or yes or no if its limit says so."""
    if not isinstance(limit, bool):
        return measured_number(given, what)
    value = truth_value(number_or_text(given) if isinstance(given, str) else given)
    if value is None:
        raise ValueError(f"{what} must be yes or no, got {given!r}")
    return value


def outcome_values(
    measured: Mapping[str, Any], limits: Limits, query: int | None = None
) -> dict[str, float | bool]:
    """Return the values of all outcomes with limits, without missing ones; a goal has open ends.

    Raises
    ------
    ValueError
        If a value is no number, or not yes or no; the message has the number of the ``query``.
    """
    where = "" if query is None else f" of query {query}"
    found = {name: outcome_value(name, measured) for name in limits}
    roles = {
        name: "is a goal" if limit == (None, None) else "has a limit"
        for name, limit in limits.items()
    }
    return {
        name: read_measured(value, limits[name], f"{name}{where}, which {roles[name]},")
        for name, value in found.items()
        if value is not None
    }


def is_within_limits(measured: Mapping[str, Any], limits: Limits) -> bool | None:
    """Return whether all outcomes are within their limits; None if that is open.

    It is open if no outcome is beyond a limit, but a measurement is missing or is itself a limit,
    such as <0.5, on both sides of which the outcome may be.
    """
    known: bool | None = True
    for name, allowed in limits.items():
        try:
            value = outcome_value(name, measured)
        except ValueError:  # measurements of a query without an answer may be texts
            value = None
        if isinstance(allowed, bool):
            state = truth_value(value)
            if state is not None and state != allowed:
                return False
            known = None if state is None else known
            continue
        low, high = allowed
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

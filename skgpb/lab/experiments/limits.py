"""Limits on what else is measured, as people write them: T < 80, 6 <= pH <= 8."""

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
from skgpb.lab.experiments.texts import check_name, quoted_name, unquoted
from skgpb.utils.typing import Limits

_NAME = r'((?:"(?:[^"]|"")*"|[^<>="])+?)'
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
# What makes arithmetic of a name; a hyphen or slash within a word does not, as in water-content.
_ARITHMETIC = re.compile(r"\s[-/]\s|[+*^(]")
# Perhaps a number from which on, a name, and a number.
_FORM = re.compile(rf"(?:([^<>=]+?)\s*<=?\s*)?{_NAME}\s*(<=?|>=?)\s*([^<>=]+)")


def read_limits(texts: str | Iterable[str], taken: Iterable[str]) -> Limits:
    """Return the limits that texts stand for.

    Parameters
    ----------
    texts : str or iterable of str
        "T < 80", "yield >= 50" or "6 <= pH <= 8". Whether a limit itself is allowed does not matter
        for what is measured. Two texts may give both ends. A name with one of < > = is between
        quotes. In place of a name there may be arithmetic of names, as in a score: "A + B <= 5",
        with spaces around - and /.
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
        name = found[2].strip()
        name = unquoted(name).strip() if _QUOTED.fullmatch(name) else name
        check_name(name, "the name of what has a limit")
        for each in measured_for([name]):
            if each in taken:
                raise ValueError(
                    f"a limit is about what else is measured, and {each!r} is a setting or the "
                    f"answer, got {text!r}"
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
        said = name if computed(name) else quoted_name(name)
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


@cache
def computed(name: str) -> Score | None:
    """Return the arithmetic that the name of a limit is, such as "A + B"; None for a plain name."""
    try:
        return Score.parse(name) if _ARITHMETIC.search(name) else None
    except ValueError:
        return None


def measured_for(limits: Iterable[str]) -> list[str]:
    """Return the names of what is measured for limits, those of the parts of what is computed."""
    every = (score.names if (score := computed(name)) else (name,) for name in limits)
    return list(dict.fromkeys(chain.from_iterable(every)))


def outcome_of(name: str, measured: Mapping[str, Any]) -> Any:
    """Return what was measured of what has a limit, or is computed of it; None if some is missing.

    Raises
    ------
    ValueError
        If it cannot be computed.
    """
    score = computed(name)
    if score is None or name in measured:
        return measured.get(name)
    return score(measured) if all(each in measured for each in score.names) else None


def lacks(record: LabRecord, name: str) -> bool:
    """Return whether a record lacks a number that a limit needs."""
    return are_kept(record.measured, {name: (None, None)}) is None


def outcomes_of(
    measured: Mapping[str, Any], limits: Limits, query: int | None = None
) -> dict[str, float]:
    """Return what was measured of all that has a limit.

    Raises
    ------
    ValueError
        If it is no number; ``query`` is its number in the message.
    """
    where = "" if query is None else f" of query {query}"
    found = {name: outcome_of(name, measured) for name in limits}
    return {
        name: measured_number(value, f"{name}{where}, which has a limit,")
        for name, value in found.items()
        if value is not None
    }


def are_kept(measured: Mapping[str, Any], limits: Limits) -> bool | None:
    """Return whether all measurements are within their limits; None if some are missing."""
    known: bool | None = True
    for name, (low, high) in limits.items():
        try:
            value = outcome_of(name, measured)
        except ValueError:  # what is written of a query without an answer may be a text
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

"""Parsing of answers that users type: numbers, counts, replicates and limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from skgpb.feedback import counts_in, from_counts
from skgpb.lab.datasets.numbers import SECONDS, read_number
from skgpb.lab.experiments.sides import exact, limit_in, number
from skgpb.lab.experiments.texts import with_point

#: Low and high end of the range of averages of answers; None for an open end.
AnswerRange = tuple[float | None, float | None]
# Separators of several measurements: blanks, semicolons, or commas before blanks.
_SEPARATOR = re.compile(r"\s*;\s*|,\s+|\s+")
# Ambiguous: 1 234 may be one number, or two.
_IN_THOUSANDS = re.compile(r"[-+]?\d{1,3}(\s\d{3})+(\.\d+)?")


class EnteredAnswer(NamedTuple):
    """An answer that was parsed from the text of a user.

    ``alpha`` is its noise variance, None for that of the experiment. ``measurements`` are the
    replicates whose mean is the answer, empty for a single number. ``note`` is a remark for the
    notebook if the answer is a limit.
    """

    value: float
    alpha: float | None
    measurements: tuple[float, ...] = ()
    note: str = ""


def read_answer(given: Any, noise: Any, what: str = "the answer", unit: str = "") -> EnteredAnswer:
    """Parse an answer.

    Parameters
    ----------
    given : str, number or sequence of numbers
        The answer. A text such as "12 of 300" is a proportion, 4 if the unit is % and 0.04 if not;
        its noise variance follows from the counts. A limit such as "<0.5" counts as 0.5. Several
        numbers, in a list or a text such as "14.7 15.3", are replicate measurements of one run:
        their mean is the answer, and its noise their standard error. If all are equal, they do not
        show the noise, and that of the experiment applies.
    noise : str, number or None
        Standard deviation of the noise; None for that of the experiment.
    what : str, default="the answer"
        Name of the quantity, for messages.
    unit : str, default=""
        Unit of the answers.

    Raises
    ------
    ValueError
        If the answer or its noise is invalid.
    """
    counts = counts_in(given) if isinstance(given, str) else None
    if counts is not None:
        _check_no_noise(given, noise, "counts")
        successes, trials = (number(part, f"a count in {what}") for part in counts)
        # Not the angle: reports, recommendations and plots must show the proportion itself.
        share, variance = from_counts(successes, trials, stabilize=False)
        whole = 100.0 if is_percent(unit) else 1.0
        return EnteredAnswer(share * whole, variance * whole**2)
    given = _strip_unit(given, what, unit)
    limit = limit_in(given)
    if limit is not None:
        return EnteredAnswer(
            number(limit.value, what), noise_variance(noise), note=limit_note(given)
        )
    values = _several(given, what)
    if len(values) == 1:
        return EnteredAnswer(number(values[0], what), noise_variance(noise))
    _check_no_noise(given, noise, "measurements")
    numbers = [number(value, f"a measurement in {what}") for value in values]
    variance = float(np.var(numbers, ddof=1)) / len(numbers)
    return EnteredAnswer(float(np.mean(numbers)), variance or None, tuple(numbers))


def is_percent(unit: str) -> bool:
    """Return whether the whole of a proportion is 100 in a unit."""
    return unit.strip().lower() in ("%", "percent", "per cent")


def format_measurements(values: Sequence[float]) -> str:
    """Write several measurements in the way that :func:`read_answer` reads."""
    return "; ".join(map(repr, values))


def read_range(given: str | Sequence[float | None]) -> AnswerRange:
    """Parse the range of the averages of answers.

    Parameters
    ----------
    given : str or pair of floats
        "0:100"; "0:" or ":100", or None in a pair, for an open end; an empty text for both.

    Raises
    ------
    ValueError
        If the text or pair is no range.

    Examples
    --------
    >>> from skgpb.lab.experiments.answers import read_range
    >>> read_range("0:100"), read_range(":1e3"), read_range("")
    ((0.0, 100.0), (None, 1000.0), (None, None))
    """
    ends = (given.split(":") if given.strip() else ["", ""]) if isinstance(given, str) else [*given]
    if len(ends) != 2:
        raise ValueError(f"the range of answers must be LOW:HIGH, such as 0:100, got {given!r}")
    low, high = (
        None if end is None or end == "" else number(end, "an end of the range of answers")
        for end in ends
    )
    if low is not None and high is not None and not low < high:
        raise ValueError(f"no answer is within the range {given!r}: its low end is above its high")
    return low, high


def range_ends(text: str) -> tuple[float, float]:
    """Return the ends of the range that :func:`read_range` reads, infinite where they are open."""
    low, high = read_range(text)
    return -inf if low is None else low, inf if high is None else high


def format_range(ends: AnswerRange) -> str:
    """Write a range in the way that :func:`read_range` reads; empty if both ends are open."""
    if ends == (None, None):
        return ""
    return ":".join("" if end is None else exact(end) for end in ends)


def read_cell(text: str, unit: str = "") -> EnteredAnswer:
    """Parse the answer in a cell of a table, whose numbers may have decimal commas."""
    text = re.sub(r"[^\s;]+", lambda found: with_point(found[0]), text)
    return read_answer(text, None, unit=unit)


def limit_note(text: str) -> str:
    """Return the note on an answer that is a limit, such as <0.5."""
    return f"the answer was {text.strip()}, which counts as its limit"


def is_same_unit(one: str, other: str) -> bool:
    """Return whether two texts name the same unit, as °C and C do."""
    if one == SECONDS:
        return other.strip().lower() in ("s", "sec", "second", "seconds")
    if is_percent(one):
        return is_percent(other)
    return one.strip(" °").casefold() == other.strip(" °").casefold()


def _strip_unit(given: Any, what: str, unit: str) -> Any:
    """Remove the unit from an answer; raise ValueError if it is not the unit of the answers."""
    try:
        reading = read_number(given) if isinstance(given, str) else None
    except ValueError:
        return given
    if reading is None or not reading.unit:
        return given
    if not is_same_unit(reading.unit, unit):
        number(given, what)  # raises an error with a way out
    return reading.limit + exact(reading.value)


def _several(given: Any, what: str) -> list[Any]:
    """Return the given measurements as a list, of length 1 for a single one."""
    if isinstance(given, str):
        text = given.strip()
        if _IN_THOUSANDS.fullmatch(text):
            one, several = "".join(text.split()), "; ".join(text.split())
            raise ValueError(
                f"{what} may be one number or several measurements, got {text!r}: write {one}, or "
                f"{several}"
            )
        return _SEPARATOR.split(text.strip("; "))
    if isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim == 1):
        if not len(given):
            raise ValueError(f"{what} must be a number, or several, got none")
        return list(given)
    return [given]


def _check_no_noise(given: Any, noise: Any, source: str) -> None:
    if noise is not None:
        raise ValueError(f"the noise of {given!r} follows from its {source}, got {noise!r} as well")


def noise_variance(noise: Any) -> float | None:
    """Return the variance of noise with the standard deviation ``noise``; None for None."""
    if noise is None:
        return None
    value = number(noise, "noise")
    if value < 0:
        raise ValueError(f"noise must be a standard deviation >= 0, got {noise}")
    return value**2

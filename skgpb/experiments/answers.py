"""Answers as somebody typed or sent them."""

from __future__ import annotations

import re
from typing import Any

from skgpb.experiments.sides import number
from skgpb.feedback import from_counts

_COUNTS = re.compile(r"\s*(\S+)\s+of\s+(\S+)\s*")


def read_answer(given: Any, noise: Any) -> tuple[float, float | None]:
    """Return an answer, and the variance of its noise where that is another than usual.

    Parameters
    ----------
    given : str or number
        The answer. A text such as "12 of 300" is a proportion, whose noise follows.
    noise : str, number or None
        Standard deviation of the noise; None where nothing is said of it.

    Raises
    ------
    ValueError
        If the answer or its noise is invalid.
    """
    counts = _COUNTS.fullmatch(given) if isinstance(given, str) else None
    if counts is None:
        return number(given, "the answer"), variance_of(noise)
    if noise is not None:
        raise ValueError(f"the noise of {given!r} follows from its counts, got {noise!r} as well")
    successes, trials = (number(part, "a count in the answer") for part in counts.groups())
    # Not the angle: what is shown, recommended and drawn is then a proportion.
    return from_counts(successes, trials, stabilize=False)


def variance_of(noise: Any) -> float | None:
    """Return the variance of a noise of this standard deviation."""
    if noise is None:
        return None
    value = number(noise, "noise")
    if value < 0:
        raise ValueError(f"noise must be a standard deviation >= 0, got {noise}")
    return value**2

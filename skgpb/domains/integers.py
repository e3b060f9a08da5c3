"""Integers on a logarithmic scale."""

from __future__ import annotations

from typing import Any

from skgpb.utils.distributions import LOG_RANDINT
from skgpb.utils.validation import Integral

__all__ = ["log_randint"]


def log_randint(low: int, high: int) -> Any:
    """Return a distribution of integers on a logarithmic scale, such as numbers of trees.

    It is the analogue of ``scipy.stats.loguniform`` for integers: 1 to 10 are as probable as 10 to
    100. Searches of scikit-learn accept it as well.

    Parameters
    ----------
    low : int
        Smallest integer, at least 1.
    high : int
        One more than the largest, as in ``scipy.stats.randint``.

    Returns
    -------
    distribution : frozen distribution
        For ``bounds`` or ``param_distributions``.

    Examples
    --------
    >>> from skgpb.domains import log_randint
    >>> trees = log_randint(10, 1001)
    >>> trees.ppf([0.01, 0.5, 0.99]).astype(int)
    array([ 10,  97, 955])
    """
    for name, value in (("low", low), ("high", high)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{name} must be an integer, got {value!r}")
    if not 1 <= low < high - 1:
        raise ValueError(f"low must be at least 1 and below high - 1, got {low!r} and {high!r}")
    return LOG_RANDINT(int(low), int(high))

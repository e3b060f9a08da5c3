"""Integers on a logarithmic scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rv_discrete

from skgpb.utils import Integral

__all__ = ["log_randint"]


class LogRandint(rv_discrete):
    """Numbers whose logarithm is uniform, rounded: from ``low`` to ``high - 1``."""

    def _argcheck(self, low: Any, high: Any) -> Any:
        return (low >= 1) & (high > low)

    def _get_support(self, low: Any, high: Any) -> Any:
        return low, high - 1

    def _cdf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log((np.floor(k) + 0.5) / (low - 0.5)) / np.log((high - 0.5) / (low - 0.5))

    def _pmf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log((k + 0.5) / (k - 0.5)) / np.log((high - 0.5) / (low - 0.5))


#: The distribution without its limits, as files know it.
LOG_RANDINT: LogRandint = LogRandint(name="log_randint")


def log_randint(low: int, high: int) -> Any:
    """Return a distribution of integers on a logarithmic scale, such as numbers of trees.

    It is for integers what ``scipy.stats.loguniform`` is for numbers: 1 to 10 are as probable as 10
    to 100. Searches of scikit-learn take it as well.

    Parameters
    ----------
    low : int
        Smallest integer, at least 1.
    high : int
        One more than the largest, as ``scipy.stats.randint`` takes it.

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

"""Distributions that ``scipy.stats`` does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rv_discrete


class LogRandint(rv_discrete):
    """Integers with a uniform logarithm, rounded: from ``low`` to ``high - 1``."""

    def _argcheck(self, low: Any, high: Any) -> Any:
        return (low >= 1) & (high > low)

    def _get_support(self, low: Any, high: Any) -> Any:
        return low, high - 1

    def _cdf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log((np.floor(k) + 0.5) / (low - 0.5)) / np.log((high - 0.5) / (low - 0.5))

    def _pmf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log((k + 0.5) / (k - 0.5)) / np.log((high - 0.5) / (low - 0.5))


#: The distribution without its limits, which files refer to by name.
LOG_RANDINT: LogRandint = LogRandint(name="log_randint")

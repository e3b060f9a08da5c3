r"""Expected improvement and probability of improvement, in forms that do not underflow.

References
----------
.. [Mockus1975] J. Močkus, "On Bayesian methods for seeking the extremum", Optimization
   Techniques IFIP Technical Conference, 1975.
.. [Kushner1964] H. J. Kushner, "A new method of locating the maximum point of an arbitrary
   multipeak curve in the presence of noise", Journal of Basic Engineering 86, 1964.
.. [Ament2023] S. Ament, S. Daulton, D. Eriksson, M. Balandat and E. Bakshy, "Unexpected
   Improvements to Expected Improvement for Bayesian Optimization", NeurIPS 2023. Equation 9.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, ndtr

# Rounding: below this z the two terms of the improvement cancel; below FAR so do those of its tail.
NEAR, FAR = -1.0, -1e6


# Rounding: largest distance, as a share of the largest value, between a certain value and a
# threshold that count as equal.
EQUAL = 1e-12


def standard_scores(mean: np.ndarray, std: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Return (mean - threshold) / std, infinite if std is 0, and 0 if mean equals threshold too.

    Kushner's probability of improvement is the normal cdf of it.
    """
    gap = np.asarray(mean - threshold, dtype=np.float64)
    # The threshold may be an integral over all: equal to a mean up to rounding of the largest.
    rounding = EQUAL * float(np.max(np.abs(mean) + std, initial=0.0))
    known = np.where(np.abs(gap) <= rounding, 0.0, np.copysign(np.inf, gap))
    with np.errstate(over="ignore"):  # an overflow to infinity has the right probability
        return np.where(std > 0.0, gap / np.where(std > 0.0, std, 1.0), known)


def log_expected_improvement(
    mean: np.ndarray, std: np.ndarray, threshold: float | np.ndarray
) -> np.ndarray:
    """Return the logarithm of E[max(0, f - threshold)] for normal f, -inf if it is 0.

    Parameters
    ----------
    mean, std : ndarray of shape (n,)
        Posterior of f.
    threshold : float, or ndarray of shape (k, 1)
        Value to improve upon, or several of them.

    Returns
    -------
    log_improvement : ndarray of shape (n,), or (k, n)

    Examples
    --------
    >>> import numpy as np
    >>> log_expected_improvement(np.array([0.0, -2.0]), np.array([1.0, 1.0]), 0.0).round(3)
    array([-0.919, -4.769])
    """
    z = standard_scores(mean, std, threshold)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = np.log(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) + z * ndtr(z))
        ratio = np.sqrt(np.pi / 2) * erfcx(-z / np.sqrt(2))
        tail = np.where(z > FAR, np.log1p(np.maximum(z, FAR) * ratio), -2 * np.log(-z))
        log_h = np.where(z > NEAR, near, -0.5 * z**2 - 0.5 * np.log(2 * np.pi) + tail)
        known = np.log(np.maximum(mean - threshold, 0.0))
        return np.where(std > 0.0, np.log(std) + log_h, known)


def log_own_gain(mean: np.ndarray, var: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the logarithm of the expected rise of the largest mean by an answer to each query.

    It is the knowledge gradient if an answer is informative about its own query alone: an answer
    about the best query is valuable if another query may then be the best.

    Parameters
    ----------
    mean, var : ndarray of shape (n,)
        Posterior of the queries.
    noise : ndarray of shape (n,)
        Noise variance of an answer.

    Returns
    -------
    log_gain : ndarray of shape (n,)
        -inf for a query whose answer cannot change the best one.

    Examples
    --------
    >>> import numpy as np
    >>> log_own_gain(np.array([1.0, 0.8]), np.array([0.01, 0.5]), np.full(2, 0.1)).round(1)
    array([-30.3,  -1.8])
    """
    best = int(np.argmax(mean))
    rival = np.max(np.delete(mean, best), initial=-np.inf)
    behind = np.where(np.arange(len(mean)) == best, rival, mean) - mean[best]
    total = var + noise
    change = np.divide(var, np.sqrt(total), out=np.zeros_like(total), where=total > 0.0)
    return log_expected_improvement(behind, change, 0.0)

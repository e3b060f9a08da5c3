r"""Information of an answer about the maximum of f (max-value entropy search).

References
----------
.. [Wang2017] Z. Wang and S. Jegelka, "Max-value Entropy Search for Efficient Bayesian
   Optimization", ICML 2017. Equation 6 and Section 3.1.
.. [Wang2016] Z. Wang, B. Zhou and S. Jegelka, "Optimization as Estimation with Gaussian
   Processes in Bandit Settings", AISTATS 2016.
"""

from __future__ import annotations

import numpy as np

from skgpb import defaults
from skgpb._core._acquisition import information
from skgpb._core._arms import maximum_cdf
from skgpb._core._ties import first_of_rows
from skgpb.utils.validation import bisection

# Rounding: largest standard deviation of an answer that carries no information (decision D-C3).
STD_TOL = 1e-9
# Rounding: largest share of a variance that an answer explains, even without noise.
LARGEST_SHARE = 1.0 - 1e-9


def max_value_entropy(mean: np.ndarray, std: np.ndarray, max_values: np.ndarray) -> np.ndarray:
    r"""Return the mutual information of f at a query and the largest value.

    Equation 6 of [Wang2017]_: the mean over samples f* of gamma phi(gamma) / (2 Phi(gamma)) - log
    Phi(gamma) with gamma = (f* - mean) / std.

    Parameters
    ----------
    mean, std : ndarray of shape (n,)
        Posterior of f; a query with std = 0 has no information.
    max_values : ndarray of shape (k,)
        Samples of the largest value.

    Returns
    -------
    information : ndarray of shape (n,)
        In nats.

    Examples
    --------
    >>> import numpy as np
    >>> max_value_entropy(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0])).round(4)
    array([0.6931, 0.    ])
    """
    mean, std, max_values = (
        np.ascontiguousarray(a, dtype=np.float64) for a in (mean, std, max_values)
    )
    return information(mean, std, max_values, 0.0)


def maximisers(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the maximisers of joint draws, and the frequency of each.

    Parameters
    ----------
    draws : ndarray of shape (k, n)
        Joint draws of n functionals, one a row.

    Returns
    -------
    Indices of the functionals with the largest value of some draw, in order.
    weights : ndarray of shape (p,)
    Shares of the draws, with sum 1.
    """
    places, counts = np.unique(first_of_rows(draws), return_counts=True)
    return places, counts / counts.sum()


def linear_information(
    covariance: np.ndarray,
    std: np.ndarray,
    noise: np.ndarray | float,
    variance: np.ndarray | float,
) -> np.ndarray:
    r"""Return the information about f* in its part that is linear in the answer, in nats.

    For variables that are jointly normal with the answers, such as linear functionals of f, it is
    all of the information.

    Parameters
    ----------
    covariance : ndarray of shape (n,)
        Posterior covariance of g(a) and f*.
    std : ndarray of shape (n,)
        Posterior standard deviation of the noiseless answers g(a).
    noise : float or ndarray of shape (n,)
        Noise variance of the answers.
    variance : float or ndarray of shape (n,)
        Posterior variance of f*.

    Returns
    -------
    information : ndarray of shape (n,)
        At least 0, and 0 if ``std`` is below 1e-9 or ``variance`` is 0.

    Examples
    --------
    >>> import numpy as np
    >>> linear_information(np.array([0.5, 0.5, 0.0]), np.ones(3), np.array([0.0, 3.0, 0.0]), 1.0)
    array([0.14384104, 0.03226926, 0.        ])
    """
    total = (std**2 + noise) * variance
    known = (std <= STD_TOL) | (total <= 0.0)
    share = covariance**2 / np.where(known, 1.0, total)
    return np.where(known, 0.0, -0.5 * np.log1p(-np.minimum(share, LARGEST_SHARE)))


def gumbel_max_values(
    mean: np.ndarray, std: np.ndarray, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Return approximate samples of the largest of independent f, Section 3.1 of [Wang2017]_.

    A Gumbel law is fitted to the product of the marginal cdfs, its scale to the quartiles and its
    location to the median. Correlation is ignored, which overestimates the maximum on fine grids.

    Parameters
    ----------
    mean, std : ndarray of shape (n,)
        Posterior of f.
    n_draws : int
        Number of samples.
    rng : Generator
        Source of randomness.

    Returns
    -------
    max_values : ndarray of shape (n_draws,)
        Floored at the largest mean.
    """
    lower, median, upper = defaults.GUMBEL_PROBABILITIES
    y_lower, y_median, y_upper = (_quantile(mean, std, p) for p in (lower, median, upper))
    b = (y_upper - y_lower) / (np.log(-np.log(lower)) - np.log(-np.log(upper)))
    a = y_median + b * np.log(-np.log(median))
    draws = a - b * np.log(-np.log(rng.random(n_draws)))
    return np.maximum(draws, mean.max())


def _quantile(mean: np.ndarray, std: np.ndarray, probability: float) -> float:
    """Return a quantile of the maximum of independent f, by bisection."""
    low, high = float((mean - 9 * std).max()), float((mean + 9 * std).max())
    return bisection(low, high, lambda y: maximum_cdf(mean, std, np.array([y]))[0] < probability)[1]

r"""The parts of an upper confidence bound: exploration, weights and uncertainty terms.

References
----------
.. [Srinivas2010] N. Srinivas, A. Krause, S. M. Kakade and M. Seeger, "Gaussian Process
   Optimization in the Bandit Setting: No Regret and Experimental Design", ICML 2010. Theorem 1.
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Equations 35 to 37 and
   Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi

import numpy as np

from skgpb import defaults
from skgpb._core._ties import first_of_rows

# Memory: number of values drawn at once (32 MB).
DRAWN_AT_ONCE = 2**22


def union_bound_beta(t: int, n_arms: int, delta: float) -> float:
    """Return the exploration term beta_t of finitely many arms, Theorem 1 of [Srinivas2010]_.

    In all rounds and for all arms f stays within sqrt(beta_t) standard deviations of its mean,
    except with a probability of at most delta.

    Parameters
    ----------
    t : int
        Round, counted from 1.
    n_arms : int
        Number of arms.
    delta : float
        In (0, 1).

    Returns
    -------
    beta : float
        2 log(t^2 pi^2 n_arms / (6 delta)).
    """
    return 2.0 * log(t**2 * pi**2 * n_arms / (6.0 * delta))


def scheduled_beta(t: int, regret: str, horizon: int | None) -> float:
    """Return the exploration term beta_t that measured best with a learned kernel.

    Parameters
    ----------
    t : int
        Round, counted from 1.
    regret : {"cumulative", "simple"}
        Regret to be minimised.
    horizon : int or None
        Number of rounds; None if it is unknown. With a horizon the square root of beta_t decreases
        linearly, and would be 0 in the round after the last one.

    Returns
    -------
    beta : float
        In rounds after the horizon the beta without one.

    Examples
    --------
    >>> [scheduled_beta(t, "simple", 4) for t in (1, 2, 3, 4, 5)]
    [16.0, 9.0, 4.0, 1.0, 4.0]
    """
    if horizon is None or t > horizon:
        return defaults.BETA[regret]
    return (defaults.FIRST_ROOT_OF_BETA[regret] * (horizon + 1 - t) / horizon) ** 2


def own_reduction(std: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the fall of an arm's standard deviation by one more pull: equation 37 with x' = x.

    Parameters
    ----------
    std : ndarray of shape (n,)
        Posterior standard deviations.
    noise : ndarray of shape (n,)
        Noise variance of a pull.

    Returns
    -------
    reduction : ndarray of shape (n,)
        ``std - std * sqrt(noise / (std**2 + noise))``, without cancellation.
    """
    total = std**2 + noise
    left = np.sqrt(np.divide(noise, total, out=np.ones_like(total), where=total > 0.0))
    share = np.divide(std**2, total, out=np.zeros_like(total), where=total > 0.0)
    return std * share / (1.0 + left)


def argmax_frequencies(draw: Callable[[int], np.ndarray], n_draws: int, n_arms: int) -> np.ndarray:
    """Return the frequency with which each arm is the maximiser of a draw; Algorithm 2.

    Ties go to the first arm.

    Parameters
    ----------
    draw : callable
        Takes a number k and returns k more draws of all arms, shape (k, n_arms).
    n_draws, n_arms : int
        Number of draws and of arms.

    Returns
    -------
    frequencies : ndarray of shape (n_arms,)
        With sum 1.
    """
    counts = np.zeros(n_arms)
    at_once = max(1, DRAWN_AT_ONCE // n_arms)
    for done in range(0, n_draws, at_once):
        first = first_of_rows(draw(min(at_once, n_draws - done)))
        counts += np.bincount(first, minlength=n_arms)
    return counts / n_draws

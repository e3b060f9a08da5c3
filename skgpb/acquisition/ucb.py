r"""The parts of DAGP-UCB: weights and uncertainty terms.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Equations 35 to 37 and
   Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skgpb._core._ties import first_of_rows

# Memory: number of values drawn at once (32 MB).
DRAWN_AT_ONCE = 2**22


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

r"""Zero-concentrated differential privacy: conversion of its amounts, and exact noise.

An answer that is epsilon-differentially private, with delta = 0, is :math:`\epsilon^2 / 2`-zCDP
(Proposition 1.4 of [BunSteinke2016]_).

A mechanism is rho-zCDP [BunSteinke2016]_ if, for any two neighbouring data sets, the Rényi
divergence of order a between the distributions of its answers is at most a rho, for every a > 1.
The amounts of several answers add up, even if each question depends on the previous answers.

This module is finished: it was compared with OpenDP and dp-accounting, and gets no further
mechanisms or accounts. If you need others, use one of these libraries.

References
----------
.. [BunSteinke2016] M. Bun and T. Steinke, "Concentrated Differential Privacy: Simplifications,
   Extensions, and Lower Bounds", TCC 2016.
.. [Canonne2020] C. L. Canonne, G. Kamath and T. Steinke, "The Discrete Gaussian for Differential
   Privacy", NeurIPS 2020.
"""

from __future__ import annotations

import math
from typing import Protocol

from scipy.optimize import brentq, minimize_scalar

from skgpb.utils.validation import is_number

__all__ = ["epsilon_of", "rho_of"]

# Half width of the search for the best order, in logarithms, around that of the classical bound.
LOG_WIDTH = 8.0
# Rounding: relative error allowed in conversions.
SLACK = 1e-9


class RandomIntegers(Protocol):
    """Source of random integers, such as :class:`random.SystemRandom`."""

    def randrange(self, stop: int, /) -> int:
        """Return an integer from 0 to ``stop - 1``, each with the same probability."""


def epsilon_of(rho: float, delta: float) -> float:
    r"""Convert rho-zCDP to (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho : float
        Amount of zero-concentrated differential privacy, >= 0.
    delta : float
        Between 0 and 1.

    Returns
    -------
    epsilon : float
        The smallest epsilon by Proposition 12 of [Canonne2020]_. It is at most the classical
        bound :math:`\rho + 2 \sqrt{\rho \log(1 / \delta)}`.

    References
    ----------
    .. [Canonne2020] C. L. Canonne, G. Kamath and T. Steinke, "The Discrete Gaussian for
       Differential Privacy", NeurIPS 2020.

    Examples
    --------
    >>> from skgpb.lab.datasets import epsilon_of
    >>> round(epsilon_of(0.1, 1e-6), 3)
    2.142
    """
    if not (is_number(rho) and 0.0 <= rho < math.inf):
        raise ValueError(f"rho must be a finite number >= 0, got {rho!r}")
    check_delta(delta)
    if rho == 0.0:
        return 0.0

    def bound(log_order: float) -> float:
        # Each order a > 1 gives a bound; less is a - 1.
        less = math.exp(log_order)
        return (
            (1.0 + less) * rho
            - (math.log(delta) + math.log1p(less)) / less
            - math.log1p(1.0 / less)
        )

    middle = 0.5 * math.log(-math.log(delta) / rho)
    limits = middle - LOG_WIDTH, middle + LOG_WIDTH
    best = minimize_scalar(bound, bounds=limits, method="bounded", options={"xatol": 1e-10})
    simple = rho + 2.0 * math.sqrt(rho * -math.log(delta))
    return max(0.0, min(float(best.fun), simple))


def rho_of(epsilon: float, delta: float) -> float:
    """Convert (epsilon, delta)-differential privacy to the largest rho of zCDP that implies it.

    Parameters
    ----------
    epsilon : float
        Greater than 0.
    delta : float
        Between 0 and 1.

    Returns
    -------
    rho : float
        The largest rho for which :func:`epsilon_of` is at most ``epsilon``, minus a billionth of
        it because of rounding.

    Examples
    --------
    >>> from skgpb.lab.datasets import rho_of
    >>> round(rho_of(1.0, 1e-6), 4)
    0.0244
    """
    if not (is_number(epsilon) and 0.0 < epsilon < math.inf):
        raise ValueError(f"epsilon must be a finite number > 0, got {epsilon!r}")
    check_delta(delta)

    def excess(log_rho: float) -> float:
        return epsilon_of(math.exp(log_rho), delta) - epsilon

    low = high = math.log(epsilon)
    while excess(low) > 0.0:
        low -= 2.0
    while excess(high) <= 0.0:
        high += 2.0
    root = math.exp(brentq(excess, low, high, xtol=1e-13))
    return root * (1.0 - SLACK)


def check_delta(delta: float) -> None:
    """Raise ValueError if ``delta`` is not a number > 0 and < 1."""
    if not (is_number(delta) and 0.0 < delta < 1.0):
        raise ValueError(f"delta must be a number > 0 and < 1, got {delta!r}")


def discrete_gaussian(sigma: int, random: RandomIntegers) -> int:
    """Draw an integer with probabilities proportional to exp(-z**2 / (2 sigma**2)).

    Algorithm 3 of [Canonne2020]_. All arithmetic is on integers, so that the last digits of
    floating-point numbers leak nothing. Added to an integer that differs by at most s between
    neighbours, the noise makes it s**2 / (2 sigma**2)-zCDP (Theorem 4).

    Parameters
    ----------
    sigma : int
        At least 1; the standard deviation is a little smaller.
    random : RandomIntegers
        Source of random integers.

    Returns
    -------
    noise : int
    """
    scale = sigma + 1
    variance = sigma * sigma
    while True:
        noise = discrete_laplace(scale, random)
        away = abs(noise) * scale - variance
        if _bernoulli_exp(away * away, 2 * variance * scale * scale, random):
            return noise


def discrete_laplace(scale: int, random: RandomIntegers) -> int:
    """Draw an integer with probabilities proportional to exp(-abs(z) / scale).

    Algorithm 2 of [Canonne2020]_, on integers. Added to an integer that differs by at most s
    between neighbours, the noise makes it s / scale-differentially private, with delta = 0.

    Parameters
    ----------
    scale : int
        At least 1; the variance is a little smaller than 2 scale**2.
    random : RandomIntegers
        Source of random integers.

    Returns
    -------
    noise : int
    """
    while True:
        within = random.randrange(scale)
        if not _bernoulli_exp(within, scale, random):
            continue
        times = 0
        while _bernoulli_exp(1, 1, random):
            times += 1
        size, negative = within + scale * times, random.randrange(2)
        if size or not negative:
            return -size if negative else size


def _bernoulli_exp(numerator: int, denominator: int, random: RandomIntegers) -> bool:
    """Return True with probability exp(-numerator / denominator) (Algorithm 1)."""
    while numerator > denominator:
        if not _bernoulli_exp(1, 1, random):
            return False
        numerator -= denominator
    k = 1
    while random.randrange(denominator * k) < numerator:
        k += 1
    return k % 2 == 1

r"""Exact answers, detected by repeating a query.

Variation over short distances may be f or noise, which answers to different queries seldom
distinguish. Repeated answers do: if answers to one query are equal, and more often than by chance,
there is no noise. The model is then the most probable one without noise, with the smoothness that
suits it best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern, Product

from skgpb import defaults
from skgpb.kernels._random_effect import RandomEffect, of_f
from skgpb.kernels._settings import AxisMatern, OnSettings
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.surrogate.likelihood import Likelihood
from skgpb.surrogate.samples import ScaledSamples

# Rounding: answers to one query agree if they differ by no more than this share of the range of all
# answers.
AGREE = 1e-9
# Rounding: noise variance of exact answers, at most, in units of the least learned one (D-H59).
EXACT_NOISE = 2.0


def exact_noise() -> float:
    """Return the largest noise variance of exact answers, as a share of the answers' variance."""
    return EXACT_NOISE * defaults.NOISE_LIMITS[0]


def is_of_matern(kernel: Kernel) -> bool:
    """Return whether a kernel is a constant times a Matérn kernel, whose smoothness may change.

    The Matérn kernel may have main effects, and may be over settings.
    """
    kernel = of_f(kernel)
    if type(kernel) is OnSettings:
        return is_of_matern(kernel.base)
    return (
        isinstance(kernel, Product)
        and isinstance(kernel.k1, ConstantKernel)
        and type(kernel.k2) in (Matern, AxisMatern, AdditiveMatern)
    )


def with_smoothness(kernel: Any, nu: float) -> Kernel:
    """Return a constant times a Matérn kernel with the smoothness ``nu``.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel, Matern
    >>> with_smoothness(ConstantKernel(2.0) * Matern(0.3, nu=2.5), 0.5)
    1.41**2 * Matern(length_scale=0.3, nu=0.5)
    """
    if isinstance(kernel, RandomEffect):
        base = with_smoothness(kernel.base, nu)
        return RandomEffect(base, kernel.variance, kernel.variance_bounds)
    if type(kernel) is OnSettings:
        return OnSettings(with_smoothness(kernel.base, nu), kernel.space, kernel.prior)
    base = type(kernel.k2)(**{**kernel.k2.get_params(deep=False), "nu": nu})
    return ConstantKernel(kernel.k1.constant_value, kernel.k1.constant_value_bounds) * base


def exact_model(
    objective: Callable[[Kernel, ScaledSamples], Likelihood],
    kernel: Kernel,
    samples: ScaledSamples,
    optimizer: Callable | str | None,
    start: np.ndarray,
) -> dict[str, Any]:
    """Return the smoothness, theta and noise of the most probable model of exact answers.

    Its noise variance, a share of the variance of the answers, is small enough to count as none.

    Parameters
    ----------
    objective : callable
        Takes a kernel and samples of given noise; returns the log density of its hyperparameters.
    kernel : Kernel
        A Matérn kernel times a constant.
    samples : ScaledSamples
        The answers, in units of the prior.
    optimizer : "fmin_l_bfgs_b" or callable
        Optimizer of the log density.
    start : ndarray of shape (n_theta,)
        Hyperparameters of a probable model with noise.
    """
    noise = defaults.NOISE_LIMITS[0]
    without = replace(samples, alpha=np.full(len(samples.y), noise), share=1.0)
    smoothness, found, best = defaults.SMOOTHNESS[-1], start, -inf
    for nu in defaults.SMOOTHNESS:
        each = with_smoothness(kernel, nu)
        density = objective(each, without)
        theta, _ = density.maximum([(start, 0.0)], each.bounds, None, optimizer, False)
        value = density(theta)[0]
        if value > best:
            smoothness, found, best = nu, theta, value
    return {"smoothness": smoothness, "theta": found, "noise": noise}


def repeats_agree(samples: ScaledSamples) -> bool:
    """Return whether repeated answers show that there is no noise.

    All answers to each repeated query must be equal, and more often than by chance, because counts
    and grades may agree by chance. The probability of agreement by chance is the share of pairs of
    different queries with equal answers, or for one answer the share of other queries with the same
    answer. The worst answer, if several queries have it, may be a floor, such as a yield of 0, and
    is not evidence.

    Examples
    --------
    >>> import numpy as np
    >>> numbers, nan = np.array([0, 1, 2, 1]), np.full(4, np.nan)
    >>> repeats_agree(ScaledSamples(numbers, np.array([0.3, 1.2, 0.7, 1.2]), nan))
    True
    >>> repeats_agree(ScaledSamples(numbers, np.array([0.3, 1.2, 0.7, 1.3]), nan))
    False
    >>> repeats_agree(ScaledSamples(numbers, np.array([1.0, 4.0, 1.0, 4.0]), nan))
    False
    """
    order = np.argsort(samples.functional, kind="stable")
    y, number = samples.y[order], samples.functional[order]
    again, equal = number[1:] == number[:-1], AGREE * float(np.ptp(y))
    if not again.any() or (np.abs(np.diff(y))[again] > equal).any():
        return False
    first = np.flatnonzero(np.append(True, ~again))
    n_repeats = np.diff(np.append(first, len(y))) - 1
    order = np.argsort(y[first])
    level = np.append(0, np.cumsum(np.diff(y[first][order]) > equal))
    n_alike = np.bincount(level)
    some = (level > 0) | (n_alike[0] == 1)
    alike = n_alike[level[some]] - 1
    if len(alike) < 2:
        return False
    chances = np.maximum(alike, alike.mean()) / (len(alike) - 1)
    return bool(np.prod(chances ** n_repeats[order][some]) < defaults.CHANCE_OF_AGREEMENT)

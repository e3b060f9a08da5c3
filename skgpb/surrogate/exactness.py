r"""Detection of exact answers, from the answers themselves.

Variation over short distances may be f or noise. The most probable model with noise is compared
with the most probable one without, each with the smoothness that suits it best. The second is
believed if it is far more probable. Exact answers make it so within some dozens, and a single query
with two different answers rules it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern, Product

from skgpb import defaults
from skgpb.kernels._random_effect import RandomEffect, of_f
from skgpb.kernels._settings import AxisMatern, OnSettings
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.surrogate.likelihood import Likelihood, Prior
from skgpb.surrogate.samples import ScaledSamples

# Rounding: answers to one query agree if they differ by no more than this share of the range of all
# answers.
AGREE = 1e-9


@dataclass(frozen=True)
class ExactModel:
    """A model without noise that is far more probable than any with noise.

    Attributes
    ----------
    smoothness : float
        Smoothness of the Matérn kernel.
    theta : ndarray of shape (n_theta,)
        Its hyperparameters.
    noise : float
        Noise variance that counts as none, in units of the variance of the answers.
    """

    smoothness: float
    theta: np.ndarray
    noise: float


def exact_noise() -> float:
    """Return the noise variance that exact answers may have, as a share of that of the answers."""
    return defaults.EXACT_NOISE * defaults.NOISE_LIMITS[0]


def is_of_matern(kernel: Kernel) -> bool:
    """Return whether a kernel is a constant times Matérn, whose smoothness may be changed.

    The Matérn kernel may have main effects, and be one of settings.
    """
    kernel = of_f(kernel)
    if type(kernel) is OnSettings:
        return is_of_matern(kernel.base)
    return (
        isinstance(kernel, Product)
        and isinstance(kernel.k1, ConstantKernel)
        and type(kernel.k2) in (Matern, AxisMatern, AdditiveMatern)
    )


def of_smoothness(kernel: Any, nu: float) -> Kernel:
    """Return a constant times a Matérn kernel with another smoothness.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel, Matern
    >>> of_smoothness(ConstantKernel(2.0) * Matern(0.3, nu=2.5), 0.5)
    1.41**2 * Matern(length_scale=0.3, nu=0.5)
    """
    if isinstance(kernel, RandomEffect):
        base = of_smoothness(kernel.base, nu)
        return RandomEffect(base, kernel.variance, kernel.variance_bounds)
    if type(kernel) is OnSettings:
        return OnSettings(of_smoothness(kernel.base, nu), kernel.space, kernel.prior)
    base = type(kernel.k2)(**{**kernel.k2.get_params(deep=False), "nu": nu})
    return ConstantKernel(kernel.k1.constant_value, kernel.k1.constant_value_bounds) * base


def exact_model(
    objective: Callable[[Kernel, ScaledSamples, Prior | None], Likelihood],
    kernel: Kernel,
    samples: ScaledSamples,
    prior: Prior,
    of_noise: Prior,
    limits: np.ndarray,
    optimizer: Callable | str | None,
    known: np.ndarray,
    agree: bool = False,
) -> ExactModel | None:
    """Return the model of exact answers, or None if there is evidence of noise.

    Parameters
    ----------
    objective : callable
        Takes a kernel, samples and the prior on their noise, None where that is known; returns the
        log density of its hyperparameters.
    kernel : Kernel
        A Matérn kernel times a constant.
    samples : ScaledSamples
        The answers, all of unknown noise, in the units of the prior.
    prior, of_noise : Prior
        On the hyperparameters of the kernel and the logarithm of the noise variance.
    limits : ndarray of shape (1, 2)
        Limits of the latter.
    optimizer : "fmin_l_bfgs_b" or callable
        Finds the most probable hyperparameters.
    known : ndarray of shape (n_theta + 1,)
        Hyperparameters and log noise variance of a probable model with noise.
    agree : bool, default=False
        Whether repeated answers say that there is none, see :func:`repeats_agree`.
    """
    if len(samples.y) < defaults.FIRST_EXACT or _differ(samples):
        return None
    kernels = {nu: of_smoothness(kernel, nu) for nu in defaults.SMOOTHNESS}
    without = replace(samples, alpha=np.full(len(samples.y), defaults.NOISE_LIMITS[0]), share=1.0)
    best, found = -inf, None
    for nu, each in kernels.items():
        density = objective(each, without, None)
        theta, _ = density.maximum([(known[:-1], 0.0)], each.bounds, None, optimizer, False)
        value = density(theta)[0]
        if value > best:
            best, found = value, ExactModel(nu, theta, defaults.NOISE_LIMITS[0])
    if agree:
        return found
    # The density of the prior itself: one parameter more has its price.
    least = best - log(defaults.ODDS_OF_EXACT) + log(of_noise.spread[0] * sqrt(2.0 * pi))
    start = known[:-1], float(known[-1])
    noisy = [(each.bounds, objective(each, samples, of_noise)) for each in kernels.values()]
    if any(density(known)[0] >= least for _, density in noisy):
        return None
    for bounds, density in noisy:
        theta, noise = density.maximum([start], bounds, limits, optimizer, False)
        if density(np.append(theta, log(noise or 1.0)))[0] >= least:
            return None
    return found


def _differ(samples: ScaledSamples) -> bool:
    """Return whether answers to one query differ by more than exact ones may."""
    merged = samples.merged(defaults.NOISE_LIMITS[0])
    more = len(samples.y) - len(merged.y)
    return bool(merged.square > defaults.EXACT_REPEATS * more)


def repeats_agree(samples: ScaledSamples) -> bool:
    """Return whether repeated queries say that answers have no noise.

    That is so if answers to one query are equal, and answers to different queries are not. Counts
    and grades may agree by chance.

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
    distinct = np.sort(y[np.append(True, ~again)])
    return bool((np.diff(distinct) > equal).all())

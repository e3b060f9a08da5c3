r"""Outliers: single answers whose error is far larger than the noise of all others.

If noise is Gaussian, one mistyped value has as much weight as any other answer, and distorts the
learned length scales, noise and units. Here the noise has heavy tails: if the difference between an
answer and its prediction from all other answers is larger than a correct model allows, its own
noise variance becomes the square of this error. This is one step towards the most probable scale
mixture, for the worst answer at a time. It is reconsidered at each refit.

An answer that a second answer to the same query confirms is no outlier: then the model is wrong.
The first answer of a block is none either: the effect of its block explains it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from skgpb import defaults
from skgpb.surrogate.criticism import leave_one_out, residual_bound
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.samples import ScaledSamples

# Rounding: factor of the noise variance with which an answer has no weight.
IGNORED_FACTOR = 1e12


def compare_with_others(
    gp: GaussianProcess, samples: ScaledSamples, noise: float, factors: dict[int, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compare answers of unknown noise with the prediction from all other answers.

    The arguments are those of :func:`find_outliers`.

    Returns
    -------
    numbers : ndarray of shape (k,)
        Indices of the answers among the samples.
    error : ndarray of shape (k,)
        Answer minus its prediction from all other answers.
    deviation : ndarray of shape (k,)
        Absolute error in standard deviations of that prediction, including the noise of one answer.
    confirmed : ndarray of shape (k,)
        Whether other answers to the same query agree with it.
    """
    posterior, n = gp.posterior, len(gp.observed)
    first, functional = max(0, n - defaults.N_CHECKED), samples.functional
    candidates = samples.unknown & (functional >= first)
    numbers = np.flatnonzero(candidates)
    # Moments of functionals from answers about all others: equations 5.10 to 5.12 of [RW2006]_.
    errors, variances = leave_one_out(gp, first)
    mean = posterior.targets()[first:] - errors
    variance = variances - posterior.noises()[first:]
    by_others = 1.0 / np.maximum(variance, np.finfo(float).tiny)
    # Other answers about the functional of each answer.
    own = noise * np.broadcast_to(samples.share, candidates.shape)
    factor = np.ones(len(candidates))
    factor[list(factors)] = list(factors.values())
    weight = 1.0 / (own * factor)
    error, again, apart = (np.zeros(len(numbers)) for _ in range(3))
    for k, s in enumerate(numbers):
        i = functional[s]
        same = np.flatnonzero(candidates & (functional == i))
        same = same[same != s]
        again[k] = weight[same].sum()
        repeats = float(weight[same] @ samples.y[same])
        at = i - first
        expected = (by_others[at] * mean[at] + repeats) / (by_others[at] + again[k])
        error[k] = samples.y[s] - expected
        if len(same):
            apart[k] = abs(samples.y[s] - repeats / again[k])
    of_one = own[numbers]
    deviation = np.abs(error) / np.sqrt(
        1.0 / (by_others[functional[numbers] - first] + again) + of_one
    )
    with np.errstate(divide="ignore"):
        most = defaults.OUTLIER_Z * np.sqrt(of_one + 1.0 / again)
        confirmed = (again > 0.0) & (apart <= most)
    return numbers, error, deviation, confirmed


def find_outliers(
    gp: GaussianProcess,
    samples: ScaledSamples,
    noise: float,
    factors: dict[int, float],
    cleared: Collection[int] = (),
) -> dict[int, float]:
    """Return the outliers under a model, with the factors of their noise variances.

    Parameters
    ----------
    gp : GaussianProcess
        The model, conditioned on the samples with their factors.
    samples : ScaledSamples
        All answers in its units, without factors.
    noise : float
        Learned noise variance of answers without their own.
    factors : dict
        Factors of the present outliers, by the indices of the samples.
    cleared : collection of int, default=()
        Indices of samples that were found not to be outliers.

    Returns
    -------
    outliers : dict
        Answers of ``factors`` that are still outliers, and the worst of all others. The factor of
        this one ignores it, until a model learned without it determines its error.
    """
    n = len(gp.observed)
    if n < defaults.FIRST_CHECK_LEARNED:
        return {}
    numbers, error, deviation, confirmed = compare_with_others(gp, samples, noise, factors)
    now = np.isin(numbers, list(factors))
    most = residual_bound(n, defaults.RISK, learned=True)
    # The model was learned without the present outliers: their bound is lower.
    suspects = ~confirmed & (deviation > np.where(now, defaults.OUTLIER_Z, most))
    if gp.observed.has_strata:
        strata = gp.observed.strata[samples.functional]
        suspects &= (strata[numbers] == 0) | (np.bincount(strata)[strata[numbers]] > 1)
    targets, outliers, worst = gp.posterior.targets(), {}, -1
    for k in np.flatnonzero(suspects).tolist():
        s = int(numbers[k])
        usual = np.delete(targets, samples.functional[[s, *factors]])
        if abs(error[k]) <= defaults.OUTLIER_SPREAD * float(usual.std()):
            continue
        if s in factors:
            own = noise * float(np.broadcast_to(samples.share, samples.y.shape)[s])
            outliers[s] = max(float(error[k]) ** 2 / own, 1.0)
        elif s not in cleared and (worst < 0 or deviation[k] > deviation[worst]):
            worst = k
    if worst >= 0:
        outliers[int(numbers[worst])] = IGNORED_FACTOR
    # Answers that are too old to be compared keep their factors.
    return outliers | {
        s: f for s, f in factors.items() if samples.functional[s] < n - defaults.N_CHECKED
    }

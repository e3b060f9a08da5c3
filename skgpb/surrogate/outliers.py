r"""Outliers: single answers whose error is far larger than the noise of all others.

If noise is Gaussian, one mistyped value counts as much as any other answer, and the length scales,
the noise and the units learned with it are wrong everywhere. Here the noise has heavy tails: if the
difference between an answer and its prediction from all other answers is larger than a right model
allows, its own noise variance becomes the square of this error. This is one step towards the most
probable scale mixture, for the worst answer at a time. It is reconsidered whenever hyperparameters
are learned.

An answer that a second answer to the same query confirms is no outlier: then the model is wrong.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from skgpb import defaults
from skgpb.surrogate.criticism import largest_expected, leave_one_out
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.samples import ScaledSamples

# Rounding: factor of the noise variance with which an answer counts for nothing.
IGNORED_FACTOR = 1e12


def compare_with_others(
    gp: GaussianProcess, samples: ScaledSamples, noise: float, factors: dict[int, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compare answers of unknown noise with the prediction from all other answers.

    The arguments are those of :func:`find_outliers`.

    Returns
    -------
    numbers : ndarray of shape (k,)
        The answers, as numbers of samples.
    error : ndarray of shape (k,)
        Answer minus its expectation, given every other answer.
    deviation : ndarray of shape (k,)
        The absolute error in standard deviations of that prediction, the usual noise included.
    confirmed : ndarray of shape (k,)
        Whether other answers about the same query agree with it.
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
    # Further answers about the functional of each answer.
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
        Noise variance that was learned for answers that do not say theirs.
    factors : dict
        Numbers of the samples that were outliers so far, and their factors.
    cleared : collection of int, default=()
        Numbers of samples that are not outliers after all.

    Returns
    -------
    outliers : dict
        Answers of ``factors`` that are still outliers, and the worst of all others. This one is
        left out until a model that was learned without it says how far off it is.
    """
    n = len(gp.observed)
    if n < defaults.FIRST_CHECK_LEARNED:
        return {}
    numbers, error, deviation, confirmed = compare_with_others(gp, samples, noise, factors)
    now = np.isin(numbers, list(factors))
    most = largest_expected(n, defaults.RISK, learned=True)
    # An answer that was an outlier is judged by a model that was learned without it.
    suspects = ~confirmed & (deviation > np.where(now, defaults.OUTLIER_Z, most))
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

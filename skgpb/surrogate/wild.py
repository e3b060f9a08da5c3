r"""Wild answers: single ones whose noise is far larger than that of all others.

A Gaussian law of the noise makes one mistyped value count as much as any other, and the length
scales, the noise and the units learned with it are wrong everywhere. Here the noise of an answer
has heavy tails: where an answer is further from its prediction, given all other answers, than a
right model lets expect, its own noise variance is taken to be the square of that error. This is one
step of the most probable scale mixture, taken for the worst answer at a time; it is reconsidered
whenever hyperparameters are learned.

An answer that a second one about the same query confirms is never wild: the model is wrong then.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri

from skgpb.surrogate.blas import one_thread_if_small
from skgpb.surrogate.criticism import FEWEST_LEARNED, LAST, RISK, largest_expected
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.samples import ScaledSamples

# Standard deviations, of a model that was learned without it, that a wild answer is off at least:
# functions with a jump or a narrow valley have answers that are merely surprising.
LEAST = 6.0
# Deviations of all other answers that it is off at least: a kink is no mistake.
LEAST_SPREAD = 2.0
# Factor with which an answer counts for nothing, until the model was learned without it.
LEFT_OUT = 1e12


@dataclass(frozen=True)
class LeftOut:
    """Comparison of some answers with what all other answers let expect.

    Attributes
    ----------
    numbers : ndarray of shape (k,)
        The answers, as numbers of samples.
    error : ndarray of shape (k,)
        Answer minus its expectation, given every other answer.
    deviation : ndarray of shape (k,)
        The same in standard deviations of that prediction, the usual noise included.
    confirmed : ndarray of shape (k,)
        Whether other answers about the same query agree with it.
    """

    numbers: np.ndarray
    error: np.ndarray
    deviation: np.ndarray
    confirmed: np.ndarray

    @classmethod
    def of(
        cls, gp: GaussianProcess, samples: ScaledSamples, noise: float, factors: dict[int, float]
    ) -> LeftOut:
        """Compare those of unknown noise, as :func:`wild_answers` is given them."""
        posterior, n = gp.posterior, len(gp.observed)
        first, functional = max(0, n - LAST), samples.functional
        candidates = samples.unknown & (functional >= first)
        for each in samples.shared:
            candidates[each.numbers] = False  # errors in common are no mistake in one answer
        numbers = np.flatnonzero(candidates)
        # Functionals, from the answers about all others: equations 5.10 to 5.12 of [RW2006]_.
        with one_thread_if_small(n - first):
            inverse, _ = dtrtri(posterior.factor()[first:, first:].T, lower=0)
        precision = np.einsum("ij,ij->i", inverse, inverse)
        mean = posterior.targets()[first:] - posterior.weights()[first:] / precision
        variance = 1.0 / precision - posterior.noises()[first:]
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
            confirmed = (again > 0.0) & (apart <= LEAST * np.sqrt(of_one + 1.0 / again))
        return cls(numbers, error, deviation, confirmed)


def wild_answers(
    gp: GaussianProcess,
    samples: ScaledSamples,
    noise: float,
    factors: dict[int, float],
    cleared: Collection[int] = (),
    risk: float = RISK,
) -> dict[int, float]:
    """Return the answers that are wild under a model, with the factors of their noise variances.

    Parameters
    ----------
    gp : GaussianProcess
        The model, conditioned on the samples with their factors.
    samples : ScaledSamples
        All answers in its units, without factors.
    noise : float
        Noise variance that was learned for answers that do not say theirs.
    factors : dict
        Numbers of the samples that were wild so far, and their factors.
    cleared : collection of int, default=()
        Numbers of samples that are not wild after all.
    risk : float, default=0.001
        Probability with which any answer may be called wild though the model is right.

    Returns
    -------
    wild : dict
        Answers of ``factors`` that are still wild, and the worst of all others. This one is left
        out until a model that was learned without it says how wild it is.
    """
    n = len(gp.observed)
    if n < FEWEST_LEARNED:
        return {}
    found = LeftOut.of(gp, samples, noise, factors)
    now = np.isin(found.numbers, list(factors))
    most = largest_expected(n, risk, learned=True)
    # One that was wild is judged by a model that was learned without it.
    suspects = ~found.confirmed & (found.deviation > np.where(now, LEAST, most))
    targets, wild, worst = gp.posterior.targets(), {}, -1
    for k in np.flatnonzero(suspects).tolist():
        s = int(found.numbers[k])
        usual = np.delete(targets, samples.functional[[s, *factors]])
        if abs(found.error[k]) <= LEAST_SPREAD * float(usual.std()):
            continue
        if s in factors:
            own = noise * float(np.broadcast_to(samples.share, samples.y.shape)[s])
            wild[s] = max(float(found.error[k]) ** 2 / own, 1.0)
        elif s not in cleared and (worst < 0 or found.deviation[k] > found.deviation[worst]):
            worst = k
    if worst >= 0:
        wild[int(found.numbers[worst])] = LEFT_OUT
    # Older answers than can be looked at stay what they were.
    return wild | {s: f for s, f in factors.items() if samples.functional[s] < n - LAST}

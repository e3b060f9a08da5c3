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
        Those of ``factors`` that still are, and the worst of all others, which is left out until a
        model that was learned without it says how wild it is.
    """
    posterior, n = gp.posterior, len(gp.observed)
    candidates = samples.unknown.copy()
    for each in samples.shared:
        candidates[each.numbers] = False  # errors in common are no mistake in one answer
    if n < FEWEST_LEARNED or not candidates.any():
        return {}
    first = max(0, n - LAST)
    with one_thread_if_small(n - first):
        inverse, _ = dtrtri(posterior.factor()[first:, first:].T, lower=0)
    precision = np.einsum("ij,ij->i", inverse, inverse)
    # Prediction of each functional from all answers about others.
    targets, noises = posterior.targets()[first:], posterior.noises()[first:]
    mean = targets - posterior.weights()[first:] / precision
    variance = np.maximum(1.0 / precision - noises, 0.0)
    # Of each sample from all other samples, those about the same functional included.
    own = noise * np.broadcast_to(samples.share, candidates.shape)
    factor = np.ones(len(candidates))
    factor[list(factors)] = list(factors.values())
    weight = np.where(candidates, 1.0 / (own * factor), 0.0)
    i = samples.functional
    total = np.bincount(i, weight, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = total[i] - weight
        alone = rest <= 1e-12 * total[i]
        others = (np.bincount(i, weight * samples.y, n)[i] - weight * samples.y) / rest
    known = np.flatnonzero(candidates & (i >= first))
    at = i[known] - first
    rest, alone, others = np.where(alone, 0.0, rest)[known], alone[known], others[known]
    others = np.where(alone, 0.0, others)
    with np.errstate(divide="ignore"):
        prior = 1.0 / np.maximum(variance[at], np.finfo(float).tiny)
    expected = (prior * mean[at] + rest * others) / (prior + rest)
    error = samples.y[known] - expected
    deviation = np.abs(error) / np.sqrt(1.0 / (prior + rest) + own[known])
    # What a second answer confirms is no mistake.
    gap = np.abs(samples.y[known] - others)
    with np.errstate(divide="ignore"):
        confirmed = ~alone & (gap <= LEAST * np.sqrt(own[known] + 1.0 / np.where(alone, 1.0, rest)))
    most = largest_expected(n, risk, learned=True)
    now = np.isin(known, list(factors))
    # One that was wild is judged by a model that was learned without it.
    suspects = ~confirmed & (deviation > np.where(now, LEAST, most))
    for s in np.flatnonzero(suspects):
        rest_of_all = np.delete(targets, list({at[s], *at[now]}))
        suspects[s] = abs(error[s]) > LEAST_SPREAD * float(rest_of_all.std())
    wild = {
        int(s): float(max(e**2 / own[s], 1.0))
        for s, e in zip(known[now & suspects], error[now & suspects], strict=True)
    }
    fresh = np.flatnonzero(suspects & ~now & ~np.isin(known, list(cleared)))
    if len(fresh):
        wild[int(known[fresh[np.argmax(deviation[fresh])]])] = LEFT_OUT
    # Older answers than can be looked at stay what they were.
    return wild | {s: f for s, f in factors.items() if i[s] < first}

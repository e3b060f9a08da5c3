"""Answers to functionals, in the user's units or the surrogate's, and their merging."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np

from skgpb import defaults
from skgpb.kernels.evaluator import Functionals


@dataclass
class Merged:
    """One observation for each distinct functional, equivalent to all samples of it.

    Attributes
    ----------
    y, noise : ndarray of shape (n,)
        Precision-weighted means and their noise variances.
    counts : ndarray of shape (n,)
        Number of samples of each functional.
    square, log : float
        Terms of the samples in minus twice the log likelihood.
    """

    y: np.ndarray
    noise: np.ndarray
    counts: np.ndarray
    square: float
    log: float

    @property
    def n_merged_away(self) -> int:
        """Number of samples minus number of observations."""
        return int(self.counts.sum()) - len(self.counts)

    def times(self, factor: float) -> Merged:
        """Return the same observations with all noise variances multiplied by ``factor``."""
        log_terms = self.log + log(factor) * self.n_merged_away
        return Merged(self.y, self.noise * factor, self.counts, self.square / factor, log_terms)

    def to_units(self, offset: float, scale: float, center: float, unit: float) -> Merged:
        """Return the same observations, converted from units (offset, scale) to (center, unit)."""
        ratio = scale / unit
        return Merged(
            (self.y * scale + offset - center) / unit,
            self.noise * ratio**2,
            self.counts,
            self.square,  # sum of gaps in units of their noise, which changes with them
            self.log + 2.0 * log(ratio) * self.n_merged_away,
        )


@dataclass
class ScaledSamples:
    """Answers to functionals, by the indices of the functionals, in the units of the surrogate.

    If ``alpha`` is NaN, the noise variance is learned: it is ``share`` times the noise variance of
    an answer with share one.
    """

    functional: np.ndarray
    y: np.ndarray
    alpha: np.ndarray
    share: float | np.ndarray = 1.0

    @property
    def unknown(self) -> np.ndarray:
        """Mask (n,) of the answers whose noise variance is learned."""
        return np.isnan(self.alpha)

    def variance_of_repeats(self) -> float:
        """Return the variance of unknown noise within functionals; 0 without repeats."""
        some = self.unknown
        number = np.unique(self.functional[some], return_inverse=True)[1]
        share = np.broadcast_to(self.share, some.shape)[some]
        merged = ScaledSamples(number, self.y[some], self.alpha[some], share).merged(1.0)
        return merged.square / max(merged.n_merged_away, 1)

    def about(self, chosen: np.ndarray) -> ScaledSamples:
        """Return the samples of functionals (k,), given by index, with new indices from 0."""
        place = np.full(int(self.functional.max(initial=-1)) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.functional] >= 0
        share = np.broadcast_to(self.share, kept.shape)[kept]
        functional = place[self.functional[kept]]
        return ScaledSamples(functional, self.y[kept], self.alpha[kept], share)

    def merged(self, noise: float = np.nan, further: float | np.ndarray = 0.0) -> Merged:
        """Merge samples of the same functional, with ``noise`` as the unknown noise variance.

        ``further`` is an additional variance, one number or one for each sample.
        """
        variance = np.where(self.unknown, noise * self.share, self.alpha) + further
        i, n = self.functional, int(self.functional.max(initial=-1)) + 1
        counts = np.bincount(i, minlength=n)
        least = np.full(n, np.inf)
        np.minimum.at(least, i, variance)
        # Precisions relative to the largest: nothing overflows, however small a variance is. A
        # sample without noise determines the mean; if there are several, they agree.
        has_exact = least == 0.0
        weight = least[i] / np.where(has_exact[i], 1.0, variance)
        weight[variance == 0.0] = 1.0
        total = np.bincount(i, weight, n)
        y = np.bincount(i, weight * self.y, n) / total
        merged = least / total
        gap = self.y - y[i]
        # Besides an exact sample of a functional, each noisy one has a density of its own.
        noisy = variance > 0.0
        square = float(np.sum(gap[noisy] ** 2 / variance[noisy]))
        log_terms = np.log(variance[noisy]).sum() - np.log(merged[~has_exact]).sum()
        extra = noisy.sum() - (~has_exact).sum()
        log_terms = float(log_terms + extra * log(2.0 * pi))
        return Merged(y, merged, counts, square, log_terms)


def subsample(
    functionals: Functionals, samples: ScaledSamples
) -> tuple[Functionals, ScaledSamples]:
    """Return at most ``N_TRIED`` functionals, evenly spread, and their samples."""
    n, most = len(functionals), defaults.N_TRIED
    if n <= most:
        return functionals, samples
    chosen = np.arange(most) * n // most
    return functionals.select(chosen), samples.about(chosen)


def random_subsample(n: int, n_before: int) -> np.ndarray | None:
    """Return the indices of the functionals to learn from, in order; None to learn from all n.

    If most of the n functionals came together, half of them are enough, as if the numbers at which
    they are learned from doubled. They are drawn, because an order may have a pattern.

    Parameters
    ----------
    n : int
        Number of functionals.
    n_before : int
        Number of answers at the latest refit.
    """
    most = defaults.MOST_LEARNED
    enough = 2 * most if 2 * n_before >= n else max(most // 2, min(n // 2, most))
    if n <= enough:
        return None
    return np.sort(np.random.default_rng(n).choice(n, enough, replace=False))

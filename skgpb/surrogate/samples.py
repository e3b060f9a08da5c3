"""Answers to functionals, in the units of a surrogate, and what they are merged into."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np


@dataclass
class Merged:
    """One observation for each distinct functional, equivalent to all samples of it.

    Attributes
    ----------
    y, noise : ndarray of shape (n,)
        Precision-weighted means and their noise variances.
    counts : ndarray of shape (n,)
        Samples behind them.
    square, log : float
        Terms of the samples in minus twice the log likelihood.
    """

    y: np.ndarray
    noise: np.ndarray
    counts: np.ndarray
    square: float
    log: float

    def in_units(self, offset: float, scale: float, center: float, unit: float) -> Merged:
        """Return the same, changed from units (offset, scale) to (center, unit)."""
        ratio = scale / unit
        merged_away = int(self.counts.sum()) - len(self.counts)
        return Merged(
            (self.y * scale + offset - center) / unit,
            self.noise * ratio**2,
            self.counts,
            self.square,  # sum of gaps in units of their noise, which changes with them
            self.log + 2.0 * log(ratio) * merged_away,
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
        """Whether the noise of each answer is to be learned."""
        return np.isnan(self.alpha)

    def about(self, chosen: np.ndarray) -> ScaledSamples:
        """Return the samples of the functionals of some numbers (k,), which are counted anew."""
        place = np.full(int(self.functional.max(initial=-1)) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.functional] >= 0
        share = np.broadcast_to(self.share, kept.shape)[kept]
        functional = place[self.functional[kept]]
        return ScaledSamples(functional, self.y[kept], self.alpha[kept], share)

    def merged(self, noise: float = np.nan, further: float | np.ndarray = 0.0) -> Merged:
        """Merge samples of the same functional, the unknown noise variance being ``noise``.

        ``further`` is additional variance, one number or one for each sample.
        """
        variance = np.where(self.unknown, noise * self.share, self.alpha) + further
        i, n = self.functional, int(self.functional.max(initial=-1)) + 1
        counts = np.bincount(i, minlength=n)
        least = np.full(n, np.inf)
        np.minimum.at(least, i, variance)
        # Precisions in units of the largest: nothing overflows, however small a variance is. Of
        # samples without noise nothing is more precise, and they agree or nothing can.
        has_exact = least == 0.0
        weight = least[i] / np.where(has_exact[i], 1.0, variance)
        weight[variance == 0.0] = 1.0
        total = np.bincount(i, weight, n)
        y = np.bincount(i, weight * self.y, n) / total
        merged = least / total
        gap = self.y - y[i]
        # A noisy sample of the same functional as an exact one keeps a density of its own.
        noisy = variance > 0.0
        square = float(np.sum(gap[noisy] ** 2 / variance[noisy]))
        log_terms = np.log(variance[noisy]).sum() - np.log(merged[~has_exact]).sum()
        extra = noisy.sum() - (~has_exact).sum()
        log_terms = float(log_terms + extra * log(2.0 * pi))
        return Merged(y, merged, counts, square, log_terms)

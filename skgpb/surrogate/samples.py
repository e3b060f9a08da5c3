r"""Answers to functionals, in the units of a surrogate, and what they are merged into.

Most answers have independent noise; answers about one functional are merged into one. The numbers
of one answer may have errors in common, :class:`SharedNoise`. They are not merged: each has its
variance as any other, and the covariances are kept separately.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, pi

import numpy as np


@dataclass
class SharedNoise:
    """Covariances of the noise of several observations, without their variances.

    Attributes
    ----------
    numbers : ndarray of shape (k,)
        Numbers of the observations.
    covariance : ndarray of shape (k, k)
        The entries off the diagonal, which is 0.
    """

    numbers: np.ndarray
    covariance: np.ndarray

    @classmethod
    def of(cls, covariance: np.ndarray, first: int = 0) -> SharedNoise:
        """Return the covariances of k observations in a row, the first with number ``first``."""
        beside = covariance - np.diag(np.diag(covariance))
        return cls(first + np.arange(len(covariance)), beside)

    def times(self, factor: float) -> SharedNoise:
        """Return the same in other units."""
        return SharedNoise(self.numbers, self.covariance * factor)

    def counted_from(self, first: int) -> SharedNoise:
        """Return a copy whose observation indices are larger by ``first``."""
        return SharedNoise(self.numbers + first, self.covariance)

    def add_to(self, K: np.ndarray) -> None:
        """Add it to a matrix of all observations, in place."""
        K[np.ix_(self.numbers, self.numbers)] += self.covariance

    def add_below(self, K: np.ndarray) -> None:
        """Add it below the diagonal alone; what is above may be anything."""
        rows, columns = np.tril_indices(len(self.numbers), -1)
        K[self.numbers[rows], self.numbers[columns]] += self.covariance[rows, columns]


def noise_with(variances: np.ndarray, shared: list[SharedNoise]) -> np.ndarray:
    """Covariance (n, n) of the noise of n observations."""
    out = np.diag(variances)
    for each in shared:
        each.add_to(out)
    return out


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
    shared : list of SharedNoise
        Covariances of noise, of functionals with a single sample each.
    """

    y: np.ndarray
    noise: np.ndarray
    counts: np.ndarray
    square: float
    log: float
    shared: list[SharedNoise] = field(default_factory=list)

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
            [each.times(ratio**2) for each in self.shared],
        )


@dataclass
class ScaledSamples:
    """Answers to functionals, by the indices of the functionals, in the units of the surrogate.

    If ``alpha`` is NaN, the noise variance is learned: it is ``share`` times the noise variance of
    an answer with share one. The covariances ``shared`` scale alike; their indices are of samples.
    """

    functional: np.ndarray
    y: np.ndarray
    alpha: np.ndarray
    share: float | np.ndarray = 1.0
    shared: list[SharedNoise] = field(default_factory=list)

    @property
    def unknown(self) -> np.ndarray:
        """Whether the noise of each answer is to be learned."""
        return np.isnan(self.alpha)

    def about(self, chosen: np.ndarray) -> ScaledSamples:
        """Return the samples of the functionals of some numbers (k,), which are counted anew."""
        place = np.full(int(self.functional.max(initial=-1)) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.functional] >= 0
        shared, position = [], np.cumsum(kept) - 1
        for each in self.shared:
            some = kept[each.numbers]
            covariance = each.covariance[np.ix_(some, some)]
            shared.append(SharedNoise(position[each.numbers[some]], covariance))
        share = np.broadcast_to(self.share, kept.shape)[kept]
        functional = place[self.functional[kept]]
        return ScaledSamples(functional, self.y[kept], self.alpha[kept], share, shared)

    def shared_by(self, noise: float) -> list[SharedNoise]:
        """Covariances of noise between functionals, the unknown noise variance being ``noise``."""
        unknown = self.unknown
        return [
            SharedNoise(
                self.functional[each.numbers],
                each.covariance * (noise if unknown[each.numbers[0]] else 1.0),
            )
            for each in self.shared
        ]

    def slope_by_shared(self, noise: float, inner: np.ndarray) -> float:
        """Derivative of a log density by the logarithm of the unknown noise variance.

        Only the part with covariances between answers counts; ``inner`` (n, n) is twice the
        derivative by the covariances of functionals.
        """
        unknown = self.unknown
        return 0.5 * sum(
            float((inner[np.ix_(each.numbers, each.numbers)] * each.covariance).sum())
            for each, told in zip(self.shared_by(noise), self.shared, strict=True)
            if unknown[told.numbers[0]]
        )

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
        return Merged(y, merged, counts, square, log_terms, self.shared_by(noise))

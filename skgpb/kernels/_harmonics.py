r"""Fourier series of periodic kernels on the line.

A periodic kernel of scikit-learn is a series of cosines whose coefficients are modified Bessel
functions ([Abramowitz1964]_ 9.6.34): with :math:`z = 1 / l^2`

.. math:: \exp\Bigl(-\frac{2}{l^2} \sin^2 \frac{\pi u}{p}\Bigr)
          = e^{-z} I_0(z) + 2 \sum_{n > 0} e^{-z} I_n(z) \cos \frac{2 \pi n u}{p}.

Its powers have other z, and a product of two such series has the sums and differences of their
frequencies. With all factors that are Gaussian products (``_products``) the kernel is

.. math:: k(x, x') = \sum_k w_k \exp(-q_k u^2 / 2) \cos(\omega_k u), \qquad u = x - x'.

References
----------
.. [Abramowitz1964] M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 1964.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ive
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    ExpSineSquared,
    Kernel,
    Sum,
    WhiteKernel,
)

from skgpb.kernels._products import GAUSSIAN_LEAVES, constant_of, expand, precisions_of

#: Accuracy: coefficients below this share of the sum are left out.
LEAST_COEFFICIENT = 1e-18
#: Speed: largest number of terms of a series; longer ones use quadrature.
MAX_HARMONICS = 4096


@dataclass(frozen=True)
class Harmonics:
    """A kernel on the line as a sum of Gaussians times cosines, without its white noise."""

    weights: np.ndarray  # (n_terms,), w
    precisions: np.ndarray  # (n_terms,), q
    frequencies: np.ndarray  # (n_terms,), omega


def split_harmonics(kernel: Kernel, gaussian: bool) -> tuple[Harmonics, Kernel | None] | None:
    """Split a kernel on the line into harmonics and the sum of its other summands.

    Parameters
    ----------
    kernel : Kernel
        Kernel over points of one coordinate.
    gaussian : bool
        Whether factors may be Gaussians, alone or times cosines, as Gaussian windows allow.

    Returns
    -------
    harmonics : Harmonics
    rest : Kernel or None
        Sum of the other summands; None if there are none.

    Notes
    -----
    The result is None if no summand is a periodic kernel with a series.
    """
    found: list[Harmonics] = []
    rest: Kernel | None = None
    for summand in _summands(kernel):
        series = _harmonics_of(summand)
        if series is None or (series.precisions.any() and not gaussian):
            rest = summand if rest is None else rest + summand
        else:
            found.append(series)
    if not any(series.frequencies.any() for series in found):
        return None
    return Harmonics(*(np.concatenate([getattr(s, name) for s in found]) for name in FIELDS)), rest


FIELDS = ("weights", "precisions", "frequencies")


def _summands(kernel: Kernel) -> list[Kernel]:
    if type(kernel) is Sum:
        return _summands(kernel.k1) + _summands(kernel.k2)
    return [kernel]


def _harmonics_of(kernel: Kernel) -> Harmonics | None:
    leaves: list[Kernel] = []
    polynomial = expand(kernel, leaves, (*GAUSSIAN_LEAVES, ExpSineSquared))
    if polynomial is None:
        return None
    rows = []
    for exponents, coefficient in polynomial.items():
        weights, frequencies, precision = np.array([float(coefficient)]), np.zeros(1), 0.0
        white = False
        for leaf, power in zip(leaves, exponents, strict=False):
            if not power:
                continue
            white |= type(leaf) is WhiteKernel
            if type(leaf) in (ConstantKernel, WhiteKernel):
                weights = weights * constant_of(leaf) ** power
                continue
            if type(leaf) is not ExpSineSquared:
                found = precisions_of(leaf, 1)
                if found is None:
                    return None
                precision += power * float(found[0][0])
                continue
            series = fourier_series(leaf, power)
            if series is None or 2 * len(weights) * len(series[0]) > MAX_HARMONICS:
                return None
            # cos a cos b is half of cos(a + b) and cos(a - b).
            heights = 0.5 * np.outer(weights, series[0]).ravel()
            ends = [np.add.outer(frequencies, sign * series[1]).ravel() for sign in (1.0, -1.0)]
            weights, frequencies = np.tile(heights, 2), np.abs(np.concatenate(ends))
            large = np.abs(weights) > LEAST_COEFFICIENT * np.abs(weights).sum()
            frequencies, which = np.unique(frequencies[large], return_inverse=True)
            weights = np.bincount(which.ravel(), weights[large])
        if not white:
            rows.append((weights, np.full(len(weights), precision), frequencies))
    if not rows:
        return None
    return Harmonics(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))


def fourier_series(leaf: ExpSineSquared, power: int = 1) -> tuple[np.ndarray, np.ndarray] | None:
    """Return coefficients and frequencies (k,) of a power of a periodic kernel; None if too many.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import ExpSineSquared
    >>> from skgpb.kernels._harmonics import fourier_series
    >>> coefficients, frequencies = fourier_series(ExpSineSquared(1.0, 2.0))
    >>> bool(np.isclose(coefficients.sum(), 1.0)), (frequencies[:3] / np.pi).tolist()
    (True, [0.0, 1.0, 2.0])
    """
    with np.errstate(divide="ignore", over="ignore"):
        z = power / np.float64(leaf.length_scale) ** 2
    if not z < MAX_HARMONICS**2 / 400.0:
        return None
    # They fall like exp(-n^2 / (2 z)), and faster if n is above z.
    n = np.arange(int(10.0 * np.sqrt(z)) + 40)
    coefficients = np.where(n > 0, 2.0, 1.0) * ive(n, z)
    kept = coefficients > LEAST_COEFFICIENT
    return coefficients[kept], 2.0 * np.pi * n[kept] / leaf.periodicity


def harmonic_pairs(
    harmonics: Harmonics, rows: np.ndarray, others: np.ndarray, window: str
) -> np.ndarray:
    r"""Return covariances (n, m) of windows on the line, rows [center, scale], exact to rounding.

    With D the difference of the centres, over a Gaussian window u ~ N(D, v) the mean of a term is

    .. math:: \frac{w}{\sqrt{1 + q v}} \exp\Bigl(-\frac{q D^2 + \omega^2 v}{2 (1 + q v)}\Bigr)
              \cos \frac{\omega D}{1 + q v},

    and over uniform ones, of half-widths s and s', a cosine is multiplied by the sinc of each.
    """
    gap = rows[:, None, 0] - others[None, :, 0]
    total = np.zeros_like(gap)
    var = rows[:, None, 1] ** 2 + others[None, :, 1] ** 2
    for w, q, omega in zip(*(getattr(harmonics, name) for name in FIELDS), strict=True):
        if window == "uniform":
            own, their = (np.sinc(omega * each[:, 1] / np.pi) for each in (rows, others))
            total += w * np.cos(omega * gap) * np.outer(own, their)
        else:
            spread = 1.0 + q * var
            falls = np.exp(-0.5 * (q * gap**2 + omega**2 * var) / spread) / np.sqrt(spread)
            total += w * np.cos(omega * gap / spread) * falls
    return total

"""Variances of kernel expressions, and their part that is white noise.

White noise follows scikit-learn: a ``WhiteKernel`` adds to the diagonal of ``K(X)``, and not to the
covariance of a point and a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.gaussian_process.kernels import (
    Exponentiation,
    Kernel,
    PairwiseKernel,
    Product,
    Sum,
    WhiteKernel,
)

#: Memory: number of points in a block; only the diagonal of a block is used.
DIAGONAL_POINTS = 64
#: Rounding: share of a variance below which a difference is rounding and not white noise.
NOISE_ROUNDING = 1e-13


def contains_white_noise(kernel: Kernel) -> bool:
    """Return whether a WhiteKernel occurs anywhere in a kernel expression."""
    return _contains(kernel, WhiteKernel)


def _contains(kernel: Kernel, kind: type[Kernel]) -> bool:
    inside = (part for part in vars(kernel).values() if isinstance(part, Kernel))
    return isinstance(kernel, kind) or any(_contains(part, kind) for part in inside)


def diagonal_of(kernel: Kernel) -> Callable[[np.ndarray], np.ndarray]:
    """Return ``kernel.diag``, by blocks if scikit-learn evaluates it point by point."""
    if not _contains(kernel, PairwiseKernel):
        return kernel.diag

    def by_blocks(X: np.ndarray) -> np.ndarray:
        parts = [np.diag(kernel(block)) for block in diagonal_blocks(X)]
        return np.concatenate([np.zeros(0), *parts])

    return by_blocks


def variances(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Return the variances (n,) of f at points, see :func:`diagonal_of`."""
    return diagonal_of(kernel)(X)


def diagonal_blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the points in blocks of which only the diagonal of the covariances is used."""
    return (X[start : start + DIAGONAL_POINTS] for start in range(0, len(X), DIAGONAL_POINTS))


def noise_of_points(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Return the noise (n,): the diagonal of ``kernel(X)`` minus that of ``kernel(X, copy)``."""
    if not contains_white_noise(kernel):
        return np.zeros(len(X))
    if hasattr(kernel, "noise_diag"):
        return kernel.noise_diag(X)
    total = variances(kernel, X)
    noise = total - _covariance_with_copy(kernel, X)
    # Two ways of summing the same covariance differ by rounding, which is not noise.
    noise[np.abs(noise) <= NOISE_ROUNDING * np.abs(total)] = 0.0
    return noise


def _covariance_with_copy(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Return the covariance (n,) of each point with a copy of it, part by part of the kernel."""
    if type(kernel) is WhiteKernel:
        return np.zeros(len(X))
    if not contains_white_noise(kernel):
        return variances(kernel, X)
    if hasattr(kernel, "noise_diag"):
        return kernel.diag(X) - kernel.noise_diag(X)
    if type(kernel) is Exponentiation:
        return _covariance_with_copy(kernel.kernel, X) ** kernel.exponent
    if type(kernel) in (Sum, Product):
        first, second = (_covariance_with_copy(part, X) for part in (kernel.k1, kernel.k2))
        return first + second if type(kernel) is Sum else first * second
    # a kernel that the user wrote
    parts = [np.diag(kernel(block, block.copy())) for block in diagonal_blocks(X)]
    return np.concatenate([np.zeros(0), *parts])

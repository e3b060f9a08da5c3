"""Gram matrices of functionals of f, and their derivatives with respect to hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.kernels._random_effect import RandomEffect
from skgpb.kernels.evaluator import Functionals, row_set_means
from skgpb.surrogate.kernel_parts import covariances

# Memory: number of rows that are mirrored at once.
MIRRORED = 256


def covariance_of(kernel: Kernel, rows: np.ndarray, offsets: np.ndarray | None = None) -> Callable:
    """Return the covariance of functionals as a function of theta, like ``covariances`` of points.

    Functionals are rows of descriptors (n, c), or means over consecutive rows that begin at
    ``offsets``.
    """
    if offsets is None:
        return covariances(kernel, rows)
    make = getattr(kernel, "feature_map", None)
    if make is not None and make(rows.shape[1]) is not None:
        return partial(_covariance_by_features, clone(kernel), rows, offsets[:-1])
    of_points, sizes = covariances(kernel, rows), np.diff(offsets)

    def covariance(theta: np.ndarray, slopes: bool = True) -> tuple[np.ndarray, Callable]:
        K, contract = of_points(theta, slopes)
        fill_above(K)

        def spread(A: np.ndarray) -> np.ndarray:
            each = A / np.outer(sizes, sizes)
            return contract(fold(each.repeat(sizes, 0).repeat(sizes, 1)))

        return row_set_means(row_set_means(K, offsets, 0), offsets, 1), spread

    return covariance


def _covariance_by_features(
    kernel: Any, rows: np.ndarray, starts: np.ndarray, theta: np.ndarray, slopes: bool = True
) -> tuple[np.ndarray, Callable]:
    kernel.theta = theta
    features = kernel.feature_map(rows.shape[1])
    if not slopes:
        phi = features.means(rows, starts)
        return phi @ phi.T, np.empty
    K, gradient = features.gram_gradient(rows, starts)
    return K, lambda A: np.tensordot(A, gradient, 2)


def covariance_of_functionals(
    kernel: Kernel, functionals: Functionals, free: bool, origin: np.ndarray | None = None
) -> Callable:
    """Return the covariance of thinned functionals for a ``Likelihood``; constant unless free."""
    if isinstance(kernel, RandomEffect):
        of_f = covariance_of_functionals(kernel.base, functionals, free, origin)
        return _with_effect(of_f, kernel, functionals, free)
    functionals = functionals.thin(defaults.N_THINNED)
    rows, offsets = functionals.rows, functionals.offsets
    if origin is not None:
        rows = rows - origin
    if free:
        return covariance_of(kernel, rows, offsets)
    fixed = row_set_means(row_set_means(kernel(rows), offsets, 0), offsets, 1)
    return lambda theta: (fixed.copy(), lambda A: np.empty(0))


def _with_effect(
    of_f: Callable, kernel: RandomEffect, functionals: Functionals, free: bool
) -> Callable:
    """Return the covariance of functionals, of which some have a random effect added to f."""
    shared = functionals.share_strata(functionals) * np.ones((len(functionals),) * 2)

    def covariance(theta: np.ndarray, slopes: bool = True) -> tuple[np.ndarray, Callable]:
        if not free:
            K, contract = of_f(theta)
            return K + kernel.variance * shared, contract
        K, contract = of_f(theta[:-1], slopes)
        variance = float(np.exp(theta[-1]))

        def of_all(A: np.ndarray) -> np.ndarray:
            return np.append(contract(A), variance * float(np.einsum("ij,ij->", shared, A)))

        return K + variance * shared, of_all

    return covariance


def fill_above(K: np.ndarray) -> None:
    """Copy the elements of a symmetric matrix (n, n) below its diagonal to those above."""
    for start in range(0, len(K), MIRRORED):
        rows = slice(start, start + MIRRORED)
        K[:start, rows] = K[rows, :start].T
        square = np.tril(K[rows, rows])
        K[rows, rows] = square + np.tril(square, -1).T


def fold(derivatives: np.ndarray) -> np.ndarray:
    """Add the derivatives by elements above the diagonal of a symmetric matrix to those below."""
    return np.tril(derivatives) + np.triu(derivatives, 1).T

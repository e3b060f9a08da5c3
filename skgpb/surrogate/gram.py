"""Gram matrices of functionals of f, and their derivatives by hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, Product

from skgpb.kernels._cell import CellKernel
from skgpb.kernels.evaluator import block_means
from skgpb.surrogate.functionals import Functionals

# Averages over pools are thinned, for learning only, to so many points in all.
MOST_ROWS = 500


def gram_of(
    kernel: Kernel, functionals: Functionals, eval_gradient: bool
) -> tuple[np.ndarray, Any]:
    """Covariances (n, n) of functionals, and on demand the gradient (n, n, p), else None."""
    rows, offsets = functionals.rows, functionals.offsets
    make = getattr(kernel, "feature_map", None)
    features = None if make is None else make(rows.shape[1])
    if features is not None:
        starts = np.arange(len(rows)) if offsets is None else offsets[:-1]
        if eval_gradient:
            return features.gram_gradient(rows, starts)
        phi = features.means(rows, starts)
        return phi @ phi.T, None
    gradient = None
    if eval_gradient:
        K, gradient = kernel(rows, eval_gradient=True)
        gradient = block_means(block_means(gradient, offsets, 0), offsets, 1)
    else:
        K = kernel(rows)
    return block_means(block_means(K, offsets, 0), offsets, 1), gradient


def covariance_of(kernel: Kernel, rows: np.ndarray) -> Callable:
    """Function of theta that :class:`Likelihood` takes, for a kernel and descriptors (n, c).

    Derivatives are tensors (n, n, n_theta), except for a constant times a Matern-5/2 or RBF kernel
    with all hyperparameters free: there they are contracted in O(n^2) each, without forming any.
    """
    radial = _radial_parts(kernel, rows)
    if radial is not None:
        return radial
    kernel = clone(kernel)

    def covariance(theta: np.ndarray) -> tuple[np.ndarray, Callable]:
        kernel.theta = theta
        K, gradient = kernel(rows, eval_gradient=True)
        return K, lambda inner: np.tensordot(inner, gradient, 2)

    return covariance


def covariance_of_functionals(
    kernel: Kernel, functionals: Functionals, free: bool, origin: np.ndarray | None = None
) -> Callable:
    """Covariance of functionals as a ``Likelihood`` takes it, thinned; constant unless free."""
    functionals = functionals.thinned(MOST_ROWS)
    rows, offsets = functionals.rows, functionals.offsets
    if origin is not None:
        rows = rows - origin

    def means(K: np.ndarray) -> np.ndarray:
        return block_means(block_means(K, offsets, 0), offsets, 1)

    if not free:
        fixed = means(kernel(rows))
        return lambda theta: (fixed.copy(), lambda inner: np.empty(0))
    if offsets is None:
        return covariance_of(kernel, rows)
    sizes = np.diff(offsets)
    of_points = covariance_of(kernel, rows)

    def covariance(theta: np.ndarray) -> tuple[np.ndarray, Callable]:
        K, contract = of_points(theta)

        def spread(inner: np.ndarray) -> np.ndarray:
            each = inner / np.outer(sizes, sizes)
            return contract(each.repeat(sizes, 0).repeat(sizes, 1))

        return means(K), spread

    return covariance


def _radial_parts(kernel: Kernel, rows: np.ndarray) -> Callable | None:
    base = getattr(kernel, "base", kernel)
    points = rows
    if base is not kernel:
        # A mean over a box without volume is the value at a point.
        d = rows.shape[1] // 2
        points = rows[:, :d]
        if not isinstance(kernel, CellKernel) or not np.array_equal(points, rows[:, d:]):
            return None
    if type(base) is not Product or type(base.k1) is not ConstantKernel:
        return None
    shape = base.k2
    smooth = type(shape) is RBF
    if not smooth and not (type(shape) is Matern and shape.nu == 2.5):
        return None
    if base.n_dims != 1 + np.size(shape.length_scale):
        return None
    # Only differences matter, and squares of coordinates far from zero would cancel.
    isotropic, X = np.size(shape.length_scale) == 1, points - points.mean(axis=0)

    def covariance(theta: np.ndarray) -> tuple[np.ndarray, Callable]:
        Z = X / np.exp(theta[1:])
        square = cdist(Z, Z, "sqeuclidean")
        amplitude = np.exp(theta[0])
        if smooth:
            K = amplitude * np.exp(-0.5 * square)
            slope = K
        else:
            r = np.sqrt(5.0 * square)
            decay = amplitude * np.exp(-r)
            K = decay * (1.0 + r + r * r / 3.0)
            slope = decay * (1.0 + r) * (5.0 / 3.0)

        def contract(inner: np.ndarray) -> np.ndarray:
            # sum_ij M_ij (z_i - z_j)^2 for every axis, M being symmetric
            M = inner * slope
            axes = 2.0 * (M.sum(axis=0) @ Z**2 - np.einsum("ia,ia->a", Z, M @ Z))
            if isotropic:
                axes = axes.sum(keepdims=True)
            return np.concatenate([[np.sum(inner * K)], axes])

        return K.copy(), contract

    return covariance

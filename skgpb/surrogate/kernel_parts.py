"""Covariances of points and their derivatives by hyperparameters, part by part, block by block.

A kernel expression is a tree of sums, products and powers. Every part of it evaluates blocks of
its covariances K, and returns with each a function, the *pull*, that takes the derivatives A (b, m)
of some number by the elements of that block to its derivatives by the hyperparameters of the part.
A pull of a product passes A times one factor to the other, and so on down to the leaves, so that no
derivative of a covariance matrix is ever formed, [RW2006]_ equation 5.9. Radial leaves are
evaluated in ``skgpb._core._additive``.

A block has some ``rows``, a slice of the points, and as columns the points before ``stop``, the end
of the slice. Above the diagonal A is zero, since an element below it counts for the one above as
well, and K need not be right there.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
   Press, 2006.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any, Protocol, cast

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from skgpb._core._additive import RadialKernel
from skgpb.kernels._cell import CellKernel
from skgpb.kernels._products import GAUSSIAN, GENERAL_MATERN, MATERN, RATIONAL_QUADRATIC
from skgpb.kernels._settings import AxisMatern, AxisRBF, OnSettings, starts_of
from skgpb.kernels._white import contains_white_noise
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.kernels.evaluator import check_covariances
from skgpb.kernels.tasks import Tasks

# Memory: number of covariances that are evaluated at once (half a MB, which fits into a cache
# together with their inputs).
PAIRS_AT_ONCE = 2**16
# Memory: largest number of derivatives computed at once, of a kernel without a closed form here
# (512 MB).
MANY = 2**26

Pull = Callable[[np.ndarray], np.ndarray]
Block = Callable[[slice, int], tuple[Any, Pull]]


class Part(Protocol):
    """Part of a kernel expression at fixed points.

    Attributes
    ----------
    size : int
        Number of its free hyperparameters.
    """

    size: int

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        """Return the function that evaluates blocks at hyperparameters (size,).

        It returns covariances (b, stop), or one number for all of them, and their pull, which may
        be called only if ``slopes`` is True.
        """


def part_of(kernel: Kernel, X: np.ndarray) -> Part:
    """Return the part of a kernel, with its sub-parts, at points or descriptors X (n, c)."""
    kind = type(kernel)
    if kind in (Sum, Product):
        pair = _Sum if kind is Sum else _Product
        return pair(part_of(kernel.k1, X), part_of(kernel.k2, X))
    if kind is Exponentiation:
        return _Power(part_of(kernel.kernel, X), kernel.exponent)
    if kind is ConstantKernel:
        return _Constant(kernel.constant_value, kernel.hyperparameter_constant_value.fixed)
    if kind is WhiteKernel:
        return _White(kernel.noise_level, kernel.hyperparameter_noise_level.fixed)
    if kind in (RBF, Matern, RationalQuadratic):
        return _Radial(kernel, X, np.arange(X.shape[1]))
    if kind in (AxisRBF, AxisMatern):
        return _Radial(kernel, X, starts_of(np.asarray(kernel.groups)))
    if kind is AdditiveMatern:
        return _Radial(kernel, X, kernel.first_columns(X.shape[1]))
    if kind is OnSettings:
        return part_of(kernel.base, kernel.columns(X))
    if kind is Tasks:
        x, tasks = kernel.split(X)
        return _Product(_Mixture(kernel, tasks), part_of(kernel.base, x))
    if isinstance(kernel, CellKernel) and not contains_white_noise(kernel):
        # A mean over a box without volume is the value at a point.
        d = X.shape[1] // 2
        if np.array_equal(X[:, :d], X[:, d:]):
            return part_of(kernel.base, X[:, :d])
    return _Own(kernel, X)


def covariances(kernel: Kernel, X: np.ndarray) -> Callable:
    """Return the function of theta with the values of a kernel for X (n, c), see :class:`Part`.

    Its arguments are theta and whether derivatives are needed. It returns K (n, n), a new array,
    and a function that contracts derivatives of some number by K (n, n) with those of K, to
    (n_theta,). Above the diagonal K is undefined, and those derivatives must be zero: each below it
    counts for the one above as well.
    """
    part, n = part_of(kernel, X), len(X)
    size = n if n * n <= PAIRS_AT_ONCE else max(1, PAIRS_AT_ONCE // n)
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def covariance(theta: np.ndarray, slopes: bool = True) -> tuple[np.ndarray, Pull]:
        block = part.at(theta, slopes)
        K = np.empty((n, n))
        for rows in blocks:
            K[rows, : rows.stop], pull = block(rows, rows.stop)
        if len(blocks) == 1:
            return K, pull

        def contract(A: np.ndarray) -> np.ndarray:
            total = np.zeros(part.size)
            for rows in blocks:
                total += block(rows, rows.stop)[1](A[rows, : rows.stop])
            return total

        return K, contract

    return covariance


class _Pair:
    def __init__(self, first: Part, second: Part) -> None:
        self.first, self.second = first, second
        self.size = first.size + second.size

    def blocks(self, theta: np.ndarray, slopes: bool) -> tuple[Block, Block]:
        size = self.first.size
        return self.first.at(theta[:size], slopes), self.second.at(theta[size:], slopes)


class _Sum(_Pair):
    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        first, second = self.blocks(theta, slopes)

        def block(rows: slice, stop: int) -> tuple[Any, Pull]:
            (K, pull), (M, other) = first(rows, stop), second(rows, stop)
            return K + M, lambda A: np.concatenate([pull(A), other(A)])

        return block


class _Product(_Pair):
    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        first, second = self.blocks(theta, slopes)

        def block(rows: slice, stop: int) -> tuple[Any, Pull]:
            (K, pull), (M, other) = first(rows, stop), second(rows, stop)
            return K * M, lambda A: np.concatenate([pull(A * M), other(A * K)])

        return block


class _Power:
    def __init__(self, base: Part, exponent: float) -> None:
        self.base, self.exponent, self.size = base, exponent, base.size

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        base, p = self.base.at(theta, slopes), self.exponent

        def block(rows: slice, stop: int) -> tuple[Any, Pull]:
            K, pull = base(rows, stop)
            return K**p, lambda A: pull(A * (p * K ** (p - 1)))

        return block


class _Level:
    """A kernel with one number as its parameter, fixed or free."""

    def __init__(self, value: float, fixed: bool) -> None:
        self.value, self.size = value, 0 if fixed else 1

    def level(self, theta: np.ndarray) -> float:
        return float(np.exp(theta[0])) if self.size else self.value


class _Constant(_Level):
    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        level = self.level(theta)
        return lambda rows, stop: (level, lambda A: np.full(self.size, level * A.sum()))


class _White(_Level):
    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        level = self.level(theta)

        def block(rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
            diagonal = np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)
            K = np.zeros((rows.stop - rows.start, stop))
            K[diagonal] = level
            return K, lambda A: np.full(self.size, level * A[diagonal].sum())

        return block


class _Mixture:
    """Covariances of the tasks (n,) of rows, with W and kappa as hyperparameters."""

    def __init__(self, kernel: Tasks, tasks: np.ndarray) -> None:
        self.kernel, self.tasks = clone(kernel), tasks
        self.size = kernel.n_dims - kernel.base.n_dims

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        kernel, tasks = self.kernel, self.tasks
        kernel.theta = np.concatenate([theta, kernel.base.theta])
        B, every = kernel.B, np.arange(kernel.n_tasks)
        by_theta = kernel.mixture_slopes(every)

        def block(rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
            left, right = tasks[rows], tasks[:stop]

            def pull(A: np.ndarray) -> np.ndarray:
                total = (left == every[:, None]) @ A @ (right[:, None] == every)
                return np.tensordot(total, by_theta, 2)

            return B[np.ix_(left, right)], pull

        return block


class _Radial:
    """A kernel of distances in units of length scales, in addition of those along single axes.

    An axis has one length scale. It begins at one of the columns ``starts`` and may have several
    columns.
    """

    def __init__(self, kernel: Any, X: np.ndarray, starts: np.ndarray) -> None:
        # Only differences matter, and differences of coordinates far from zero would cancel.
        self.columns = np.ascontiguousarray((X - X.mean(axis=0)).T)
        self.starts = starts
        self.widths = np.diff(starts, append=X.shape[1])
        self.kind, self.shape = GAUSSIAN, 0.0
        self.learns_shape = False
        if type(kernel) is RationalQuadratic:
            self.kind, self.shape = RATIONAL_QUADRATIC, kernel.alpha
            self.learns_shape = not kernel.hyperparameter_alpha.fixed
        elif (nu := getattr(kernel, "nu", None)) is not None:
            self.kind, self.shape = MATERN.get(nu, GENERAL_MATERN), float(nu)
        self.scale = np.asarray(kernel.length_scale, dtype=np.float64)
        self.learns_scale = not kernel.hyperparameter_length_scale.fixed
        self.effects, self.learns_effects = 0.0, False
        if type(kernel) is AdditiveMatern:
            self.effects = kernel.main_effects
            self.learns_effects = not kernel.hyperparameter_main_effects.fixed
        scales = self.scale.size if self.learns_scale else 0
        self.size = int(self.learns_shape) + scales + int(self.learns_effects)
        if self.scale.size not in (1, len(starts)):
            kernel(X[:1])  # raises scikit-learn's error about the number of length scales

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        shape, scale, effects, d = self.shape, self.scale, self.effects, len(self.starts)
        if self.learns_shape:
            shape, theta = float(np.exp(theta[0])), theta[1:]
        if self.learns_effects:
            effects, theta = float(np.exp(theta[-1])), theta[:-1]
        if self.learns_scale:
            scale = np.exp(theta)
        # Main effects of single axes have shorter length scales than the kernel of all axes.
        unit = (sqrt(d) if effects else 1.0) / scale
        x = self.columns * (unit if unit.size == 1 else unit.repeat(self.widths)[:, np.newaxis])
        kernel = RadialKernel(x, x, self.starts, self.kind, shape, effects / d)
        one = self.scale.size == 1

        def block(rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
            def pull(A: np.ndarray) -> np.ndarray:
                by = kernel.contracted(rows.start, np.ascontiguousarray(A))
                parts = (
                    (self.learns_shape, by[d + 1 :]),
                    (self.learns_scale, by[:d].sum(keepdims=True) if one else by[:d]),
                    (self.learns_effects, by[d : d + 1]),
                )
                return np.concatenate([by[:0], *(each for free, each in parts if free)])

            return kernel.below(rows.start, stop), pull

        return block


class _Own:
    """Any other kernel, with the derivatives that it returns itself."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        self.kernel, self.X, self.size = clone(kernel), X, kernel.n_dims

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        self.kernel.theta = theta
        if len(self.X) ** 2 * max(1, self.size) > MANY:
            return partial(self._tiles, self.kernel.clone_with_theta(theta))
        found = self.kernel(self.X, eval_gradient=True) if slopes else (self.kernel(self.X), None)
        K, gradient = cast("tuple[np.ndarray, np.ndarray]", found)
        check_covariances(self.kernel, K, (len(self.X),) * 2)

        def block(rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
            return K[rows, :stop], lambda A: np.tensordot(A, gradient[rows, :stop], 2)

        return block

    def _tiles(self, kernel: Kernel, rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
        """Evaluate a single block; scikit-learn's kernels have derivatives of K(X) only."""
        X, b = self.X[rows], rows.stop - rows.start
        K = np.empty((b, stop))
        if rows.start:
            K[:, : rows.start] = kernel(X, self.X[: rows.start])
        K[:, rows] = kernel(X)

        def pull(A: np.ndarray) -> np.ndarray:
            total = np.tensordot(A[:, rows], kernel(X, eval_gradient=True)[1], 2)
            for start in range(0, rows.start, b):
                columns = slice(start, min(start + b, rows.start))
                both = np.vstack([X, self.X[columns]])
                _, gradient = kernel(both, eval_gradient=True)
                total += np.tensordot(A[:, columns], gradient[:b, b:], 2)
            return total

        return K, pull

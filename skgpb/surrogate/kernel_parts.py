"""Covariances of points and their derivatives by hyperparameters, part by part, in blocks.

A kernel expression is a tree of sums, products and powers. Every part of it evaluates blocks of
its covariances K, and returns with each a function, the *pull*, that takes the derivatives A (b, m)
of some number by the elements of that block to its derivatives by the hyperparameters of the part.
A pull of a product passes A times one factor to the other, and so on down to the leaves, so that no
derivative of a covariance matrix is ever formed, [RW2006]_ equation 5.9.

====== ======== ====================================================================
symbol shape    meaning
====== ======== ====================================================================
rows   slice    which rows a block has; its columns are the points before ``stop``
s      (b, m)   squared distances, in units of the length scales
slope  (b, m)   -2 dk/ds of a kernel that depends on s alone, whose derivative by the
                log of a length scale is slope times the share of that axis in s
====== ======== ====================================================================

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
   Press, 2006.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log
from typing import Any, Protocol, cast

import numpy as np
from scipy.spatial.distance import cdist
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

from skgpb.kernels._cell import CellKernel
from skgpb.kernels._settings import AxisMatern, OnSettings, starts_of
from skgpb.kernels._white import contains_white_noise
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.kernels.tasks import Tasks

# Memory: covariances that are evaluated at once (half a MB, which caches hold with what they are
# made of), and squared distances along all axes that are kept.
PAIRS_AT_ONCE = 2**16
# Rounding: squares of differences lose at most six of sixteen digits where coordinates are below
# this.
WIDE = 1e3
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
        """Return what evaluates blocks at hyperparameters (size,).

        Covariances (b, stop), or one number for all of them, and their pull, which is asked for
        derivatives only if ``slopes`` says so.
        """


def part_of(kernel: Kernel, X: np.ndarray) -> Part:
    """Return the parts of a kernel at points, or descriptors, X (n, c)."""
    kind = type(kernel)
    if kind in PAIRS:
        return PAIRS[kind](part_of(kernel.k1, X), part_of(kernel.k2, X))
    if kind is Exponentiation:
        return _Power(part_of(kernel.kernel, X), kernel.exponent)
    if kind is ConstantKernel:
        return _Constant(kernel.constant_value, kernel.hyperparameter_constant_value.fixed)
    if kind is WhiteKernel:
        return _White(kernel.noise_level, kernel.hyperparameter_noise_level.fixed)
    if kind in SHAPES or (kind is Matern and kernel.nu in MATERN):
        return _Radial(kernel, X)
    if kind is AxisMatern and kernel.nu in MATERN:
        return _Radial(kernel, X, starts_of(np.asarray(kernel.groups)))
    if kind is AdditiveMatern:
        return _Additive(kernel, X)
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

    It takes theta, and whether derivatives are wanted. It returns K (n, n), a new array, and a
    function that contracts a symmetric matrix (n, n) with the derivatives of K to (n_theta,). Above
    the diagonal neither of the matrices is read, and K need not be known.
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

        def contract(inner: np.ndarray) -> np.ndarray:
            total = np.zeros(part.size)
            for rows in blocks:
                # Pairs below the diagonal stand for those above.
                A = 2.0 * inner[rows, : rows.stop]
                square = np.tril(A[:, rows])
                A[:, rows] = square - np.diag(0.5 * square.diagonal())
                total += block(rows, rows.stop)[1](A)
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
    """A kernel of one number, fixed or free."""

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
    """Covariances of the tasks (n,) of rows, by W and kappa."""

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
    """A kernel of distances in units of length scales, for which there is a formula.

    An axis, which has a length scale, begins at each of the columns ``starts``; None for every one.
    """

    def __init__(self, kernel: Any, X: np.ndarray, starts: np.ndarray | None = None) -> None:
        # Only differences matter, and squares of coordinates far from zero would cancel.
        self.X = X - X.mean(axis=0)
        self.starts = np.arange(X.shape[1]) if starts is None else starts
        self.widths = np.diff(self.starts, append=X.shape[1])
        self.mixture, self.learns_mixture = None, False
        if type(kernel) is RationalQuadratic:
            self.mixture = kernel.alpha
            self.learns_mixture = not kernel.hyperparameter_alpha.fixed
        nu = getattr(kernel, "nu", None)
        self.shape = SHAPES[type(kernel)] if nu is None else MATERN[nu]
        self.scale = np.asarray(kernel.length_scale, dtype=np.float64)
        self.learns_scale = not kernel.hyperparameter_length_scale.fixed
        self.size = int(self.learns_mixture) + int(self.learns_scale) * self.scale.size
        if self.scale.size not in (1, len(self.starts)):
            kernel(X[:1])  # raises an error that says what is wrong
        self.gaps = None
        if X.size * len(X) <= PAIRS_AT_ONCE:
            columns = self.X.T
            gaps = ((columns[:, :, None] - columns[:, None]) ** 2).reshape(X.shape[1], -1)
            self.gaps = self._by_axes(gaps)

    def _by_axes(self, by_columns: np.ndarray) -> np.ndarray:
        """Return sums over the columns of every axis, along the first axis of an array."""
        if len(self.starts) == len(by_columns):
            return by_columns
        return np.add.reduceat(by_columns, self.starts, axis=0)

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        mixture, scale = self.mixture, self.scale
        if self.learns_mixture:
            mixture, theta = float(np.exp(theta[0])), theta[1:]
        if self.learns_scale:
            scale = np.exp(theta)
        of_axes = self._of_axes(scale)

        def block(rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
            s, shares = of_axes(rows, stop)
            K, slope, by_mixture = self.shape(s, mixture)

            def pull(A: np.ndarray) -> np.ndarray:
                parts = []
                if self.learns_mixture:
                    parts.append([np.einsum("ij,ij->", A, by_mixture)])
                if self.learns_scale:
                    M, one = A * slope, self.scale.size == 1
                    parts.append([np.einsum("ij,ij->", M, s)] if one else shares(M))
                return np.concatenate(parts) if parts else np.empty(0)

            return K, pull

        return block

    def _of_axes(self, scale: np.ndarray) -> Callable:
        """Return s of a block, and what contracts M (b, stop) with the shares of all axes in it."""
        gaps = self.gaps
        if gaps is not None:
            n, weights = len(self.X), np.broadcast_to(scale**-2.0, len(gaps))
            s = (weights @ gaps).reshape(n, n)
            return lambda rows, stop: (s, lambda M: weights * (gaps @ M.ravel()))
        Z = self.X / (scale if scale.size == 1 else np.repeat(scale, self.widths))
        shares = _shares if np.abs(Z).max(initial=0.0) < WIDE else _shares_one_by_one

        def of_block(rows: slice, stop: int) -> tuple[np.ndarray, Callable]:
            x, y = Z[rows], Z[:stop]
            return cdist(x, y, "sqeuclidean"), lambda M: self._by_axes(shares(M, x, y))

        return of_block


class _Additive:
    """A Matérn kernel of all axes, and of every axis by itself."""

    def __init__(self, kernel: AdditiveMatern, X: np.ndarray) -> None:
        starts = kernel.first_columns(X.shape[1])
        whole, axes = kernel.parts(len(starts))
        self.whole = _Radial(whole, X, starts)
        columns = np.split(X, starts[1:], axis=1)
        self.axes = [_Radial(each, x, starts[:1]) for each, x in zip(axes, columns, strict=True)]
        self.effects, fixed = kernel.main_effects, kernel.hyperparameter_main_effects.fixed
        self.learns_effects = not fixed
        self.size = self.whole.size + int(self.learns_effects)

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        d, n_scales = len(self.axes), self.whole.size
        effects = float(np.exp(theta[-1])) if self.learns_effects else self.effects
        share, scales = effects / d, theta[:n_scales]
        whole = self.whole.at(scales, slopes)
        shorter = np.broadcast_to(scales - 0.5 * log(d), (d if n_scales else 0,))
        axes = [each.at(shorter[i : i + 1], slopes) for i, each in enumerate(self.axes)]

        def block(rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
            K, pull = whole(rows, stop)
            several = [each(rows, stop) for each in axes]
            main = share * np.sum([effect for effect, _ in several], axis=0)

            def both(A: np.ndarray) -> np.ndarray:
                out = np.empty(self.size)
                if n_scales:
                    by_axes = np.concatenate([pull_axis(share * A) for _, pull_axis in several])
                    out[:n_scales] = pull(A) + (by_axes if n_scales == d else by_axes.sum())
                if self.learns_effects:
                    out[-1] = np.einsum("ij,ij->", A, main)
                return out

            return K + main, both

        return block


def _shares(M: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """sum_ij M_ij (x_ik - y_jk)^2 for every axis k, as products of matrices."""
    squares = M.sum(axis=1) @ (x * x) + M.sum(axis=0) @ (y * y)
    return squares - 2.0 * np.einsum("ik,ik->k", x, M @ y)


def _shares_one_by_one(M: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared distances for coordinates whose squares are so large that differences cancel."""
    found = np.empty(x.shape[1])
    for k in range(len(found)):
        gap = np.subtract.outer(x[:, k], y[:, k])
        gap *= gap
        found[k] = np.einsum("ij,ij->", M, gap)
    return found


class _Own:
    """Any other kernel, by the derivatives that it returns itself."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        self.kernel, self.X, self.size = clone(kernel), X, kernel.n_dims

    def at(self, theta: np.ndarray, slopes: bool) -> Block:
        self.kernel.theta = theta
        if len(self.X) ** 2 * max(1, self.size) > MANY:
            return partial(self._tiles, self.kernel.clone_with_theta(theta))
        found = self.kernel(self.X, eval_gradient=True) if slopes else (self.kernel(self.X), None)
        K, gradient = cast("tuple[np.ndarray, np.ndarray]", found)

        def block(rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
            return K[rows, :stop], lambda A: np.tensordot(A, gradient[rows, :stop], 2)

        return block

    def _tiles(self, kernel: Kernel, rows: slice, stop: int) -> tuple[np.ndarray, Pull]:
        """Evaluate a block by itself; scikit-learn's kernels differentiate K(X) alone."""
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


def _gaussian(s: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray, None]:
    K = np.exp(-0.5 * s)
    return K, K, None


def _exponential(s: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray, None]:
    r = np.sqrt(s)
    K = np.exp(-r)
    return K, np.divide(K, r, out=np.zeros_like(r), where=r > 0.0), None


def _matern_3(s: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray, None]:
    r = 3.0 * s
    np.sqrt(r, out=r)
    slope = np.exp(-r)
    r += 1.0
    r *= slope
    slope *= 3.0
    return r, slope, None


def _matern_5(s: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray, None]:
    r = 5.0 * s
    np.sqrt(r, out=r)
    decay = np.exp(-r)
    slope = r + 1.0
    slope *= decay
    # K is the slope so far, and r^2 / 3 times the decay.
    r *= r
    r *= decay
    r /= 3.0
    r += slope
    slope *= 5.0 / 3.0
    return r, slope, None


def _rational(s: np.ndarray, mixture: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    base = 1.0 + s / (2.0 * mixture)
    K = base**-mixture
    slope = K / base
    return K, slope, 0.5 * s * slope - mixture * K * np.log(base)


PAIRS: dict[type, type] = {Sum: _Sum, Product: _Product}
#: Value, slope and derivative by the log of the mixture of a shape, given s.
SHAPES: dict[type, Callable[..., Any]] = {RBF: _gaussian, RationalQuadratic: _rational}
MATERN: dict[float, Callable[..., Any]] = {
    0.5: _exponential,
    1.5: _matern_3,
    2.5: _matern_5,
    np.inf: _gaussian,
}

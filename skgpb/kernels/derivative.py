r"""Answers that are derivatives of f, at points or averaged over cells, and values of f.

A slope is a limit of differences, so that its covariances are derivatives of the kernel's. For a
kernel :math:`\phi(s)` of the squared distance :math:`s = \sum_k (x_k - x'_k)^2 / l_k^2`, with
:math:`u_k = (x_k - x'_k) / l_k^2` [Rasmussen2006]_::

    cov(f(x),   f_j(x')) = -2 phi'(s) u_j
    cov(f_i(x), f_j(x')) = -2 phi'(s) [i = j] / l_i^2 - 4 phi''(s) u_i u_j

References
----------
.. [Rasmussen2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning",
   MIT Press, 2006. Section 9.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Kernel,
    Matern,
    Product,
    Sum,
)

from skgpb.kernels._boxes import check_boxes
from skgpb.kernels._cell import CellKernel
from skgpb.kernels._white import contains_white_noise
from skgpb.kernels._wrapper import WrapperKernel
from skgpb.kernels.evaluator import Evaluator, PlainEvaluator, evaluator_of

#: Last column of the row of a value.
VALUE = -1.0


class Derivative(WrapperKernel):
    r"""Kernel for derivatives of f along axes, at points or averaged over cells, and values of f.

    .. math:: k((x, i), (x', j)) = \frac{\partial^2}{\partial x_i\, \partial x'_j} k_{base}(x, x')

    A sensor that reports a gradient, a solver with an adjoint, an elasticity: each component is an
    answer of its own, or all of them are.

    Parameters
    ----------
    base : Kernel
        Kernel of f: sums of ``RBF`` and of ``Matern`` with ``nu=2.5``, with one length scale or one
        for each axis, times constants. Or a :class:`CellAverage` or :class:`CellIntegral` of any
        kernel, over boxes.

    Notes
    -----
    Rows are ``[x, axis]``, of cells ``[lower, upper, axis]``: the axis along which f is
    differentiated, 0 to d - 1, and -1 for a value of f.

    The slope averaged over a cell is the difference of its two faces across that axis, divided by
    the width, for any f, so that it needs no derivative of the base; a cell must have a width along
    the axis, and not one of some 1e-6 length scales, where the difference cancels.

    White noise has no slope: give the noise of answers as ``alpha``, which may differ between
    values and slopes.

    References
    ----------
    .. [Rasmussen2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine
       Learning", MIT Press, 2006. Section 9.4.

    Examples
    --------
    One value and three slopes of a sine:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import OnlineGaussianProcessRegressor
    >>> from skgpb.kernels import Derivative
    >>> rows = np.array([[0.0, -1], [0.0, 0], [0.5, 0], [1.0, 0]])
    >>> y = [0.0, 3.0, 3 * np.cos(1.5), 3 * np.cos(3.0)]
    >>> gp = OnlineGaussianProcessRegressor(Derivative(RBF(0.6)), alpha=1e-8, optimizer=None)
    >>> bool(abs(gp.fit(rows, y).predict([[0.75, -1]])[0] - np.sin(2.25)) < 0.05)
    True
    """

    def __init__(self, base: Kernel) -> None:
        self.base = base

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return the covariances between values and slopes.

        Parameters
        ----------
        X : array-like of shape (n, c)
            Rows [x, axis], or [lower, upper, axis].
        Y : array-like of shape (m, c), default=None
            Rows; None means ``X``.
        eval_gradient : bool, default=False
            Whether to return the gradient by ``theta`` as well; only with ``Y=None``.

        Returns
        -------
        K : ndarray of shape (n, m)
        K_gradient : ndarray of shape (n, n, p), only with ``eval_gradient``
        """
        if Y is not None and eval_gradient:
            raise ValueError("eval_gradient=True is accepted only with Y=None.")
        base = self._checked_base()
        left = self._split(X, "X")
        right = left if Y is None else self._split(Y, "Y")
        if left[0].shape[1] != right[0].shape[1]:
            raise ValueError(
                "X and Y must have the same number of columns; got"
                f" {left[0].shape[1] + 1} and {right[0].shape[1] + 1}."
            )
        if isinstance(base, CellKernel):
            return _of_faces(base, left, None if Y is None else right, eval_gradient)
        K, gradient = _part(base, left, right, eval_gradient)
        if Y is None:  # the two triangles were summed in different orders
            K = 0.5 * (K + K.T)
        return (K, 0.5 * (gradient + gradient.swapaxes(0, 1))) if eval_gradient else K

    def diag(self, X: ArrayLike) -> np.ndarray:
        """Return the variances of rows (n, c): the diagonal of ``self(X)``."""
        base, (x, axes) = self._checked_base(), self._split(X, "X")
        if isinstance(base, CellKernel):
            evaluator = FacesEvaluator(self, evaluator_of(base, x.shape[1]))
            return evaluator.diag(np.column_stack([x, axes]))
        curvatures = np.array([_variance(base, axis, x.shape[1]) for axis in range(-1, x.shape[1])])
        return curvatures[axes + 1]

    def evaluator(self, n_columns: int) -> Evaluator | None:
        """Return the evaluation of slopes over cells, by differences of cells; None at points.

        Parameters
        ----------
        n_columns : int
            Number of columns of the rows.
        """
        base = self._checked_base()
        if not isinstance(base, CellKernel):
            return None
        return FacesEvaluator(self, evaluator_of(base, n_columns - 1))

    def _split(self, X: ArrayLike, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return points or boxes (n, c - 1), and axes (n,), of rows (n, c)."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] < 2:
            raise ValueError(
                f"{name} must hold rows [x, axis], or [lower, upper, axis]; got an array of shape"
                f" {rows.shape}."
            )
        base, x, axes = self._checked_base(), np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
        cells = isinstance(base, CellKernel)
        _check_smooth(base)
        if cells:
            x = check_boxes(x, name)
        d = x.shape[1] // (2 if cells else 1)
        known = (axes >= VALUE) & (axes < d) & (axes == np.floor(axes))
        if not known.all():
            row = int(np.argmin(known))
            raise ValueError(
                f"the last column of {name} must hold the axis of a slope, from 0 to {d - 1}, or -1"
                f" for a value; row {row} has {float(axes[row])!r}."
            )
        axes = axes.astype(np.intp)
        if cells:
            every = np.arange(len(x))
            wide = (axes < 0) | (x[every, axes % d + d] > x[every, axes % d])
            if not wide.all():
                row = int(np.argmin(wide))
                raise ValueError(
                    f"a slope averaged over a cell needs a width along its axis; row {row} of"
                    f" {name} has none along axis {axes[row]}. Slopes at points are those of"
                    " Derivative of the kernel of f itself."
                )
        return x, axes


def _check_smooth(base: Kernel) -> None:
    """Raise unless there is a formula for the slopes of a base."""
    if contains_white_noise(base):
        raise ValueError(
            "base of Derivative has white noise, which has no slope: leave WhiteKernel out, and"
            " give the noise variance of answers as alpha."
        )
    if not (isinstance(base, CellKernel) or _smooth(base)):
        raise ValueError(
            "base of Derivative must be made of RBF and of Matern with nu=2.5, by sums and products"
            " with constants, or be a CellAverage or CellIntegral, whose slopes are differences of"
            f" faces; got {base!r}."
        )


def _smooth(base: Kernel) -> bool:
    if type(base) is Sum:
        return _smooth(base.k1) and _smooth(base.k2)
    if type(base) is Product:
        return _smooth(base.k1) and _smooth(base.k2) and any(map(_constant, (base.k1, base.k2)))
    known = type(base) in (RBF, ConstantKernel)
    return known or (type(base) is Matern and base.nu in (2.5, np.inf))


def _constant(base: Kernel) -> bool:
    """Return whether a kernel is a number."""
    if type(base) in (Sum, Product):
        return _constant(base.k1) and _constant(base.k2)
    return type(base) is ConstantKernel


Side = tuple[np.ndarray, np.ndarray]


def _part(base: Any, left: Side, right: Side, slopes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Covariances (n, m) by a part of the base, and their derivatives (n, m, p) if asked for."""
    shape = (len(left[0]), len(right[0]))
    if type(base) is ConstantKernel:
        values = np.outer(left[1] < 0, right[1] < 0)
        K = np.where(values, float(base.constant_value), 0.0)
        fixed = base.hyperparameter_constant_value.fixed
        return K, np.empty((*shape, 0)) if fixed else K[:, :, None]
    if type(base) is Sum:
        (K, G), (L, H) = (_part(each, left, right, slopes) for each in (base.k1, base.k2))
        return K + L, np.concatenate([G, H], axis=2)
    if type(base) is Product:
        # A constant's own slopes are zero: it is evaluated as a value.
        asked = [
            [
                (x, np.full(len(x), -1)) if _constant(each) else (x, axes)
                for x, axes in (left, right)
            ]
            for each in (base.k1, base.k2)
        ]
        if all(map(_constant, (base.k1, base.k2))):
            asked[0] = [left, right]
        (K, G), (L, H) = (
            _part(each, sides[0], sides[1], slopes)
            for each, sides in zip((base.k1, base.k2), asked, strict=True)
        )
        return K * L, np.concatenate([G * L[:, :, None], K[:, :, None] * H], axis=2)
    return _radial(base, left, right, slopes)


def _radial(base: Any, left: Side, right: Side, slopes: bool) -> tuple[np.ndarray, np.ndarray]:
    (x, i), (y, j) = left, right
    d, free = x.shape[1], not base.hyperparameter_length_scale.fixed
    scale = np.broadcast_to(np.asarray(base.length_scale, dtype=np.float64), (d,))
    gaps = x[:, None] - y
    shares = (gaps / scale) ** 2  # share of each axis in s
    first, second, third, phi = _profile(base, shares.sum(axis=2))
    # u_i and u_j, one where a side is a value; delta is [i = j] / l_i^2.
    u = np.where(i[:, None] < 0, 1.0, np.take_along_axis(gaps, i[:, None, None] % d, 2)[..., 0])
    v = np.where(j < 0, 1.0, np.take_along_axis(gaps, j[None, :, None] % d, 2)[..., 0])
    u = np.where(i[:, None] < 0, 1.0, u / scale[i % d][:, None] ** 2)
    v = np.where(j < 0, 1.0, v / scale[j % d] ** 2)
    sign = np.where(j < 0, 1.0, -1.0) * np.ones((len(x), 1))
    order = (i[:, None] >= 0).astype(int) + (j >= 0)
    uv = u * v * sign
    delta = np.where((i[:, None] == j) & (order == 2), scale[i % d][:, None] ** -2.0, 0.0)
    # By s: phi and its derivatives, as many as there are slopes, times 2 for each.
    level = np.select([order == 0, order == 1], [phi, 2.0 * first], 4.0 * second)
    K = level * uv - 2.0 * first * delta
    if not (slopes and free):
        return K, np.empty((*K.shape, 0))
    beside = np.select([order == 0, order == 1], [first, 2.0 * second], 4.0 * third)
    gradient = -2.0 * shares * (beside * uv - 2.0 * second * delta)[:, :, None]
    for axis in range(d):
        times = (i[:, None] == axis).astype(float) + (j == axis)
        gradient[:, :, axis] -= 2.0 * times * level * uv
        gradient[:, :, axis] += 4.0 * first * delta * (i[:, None] == axis)
    if np.ndim(base.length_scale) == 0 or np.size(base.length_scale) == 1:
        gradient = gradient.sum(axis=2, keepdims=True)
    return K, gradient


def _profile(base: Any, s: np.ndarray) -> tuple[np.ndarray, ...]:
    """First, second and third derivative of phi by s, and phi; the third is 0 where it is not."""
    if type(base) is RBF or base.nu == np.inf:
        phi = np.exp(-0.5 * s)
        return -0.5 * phi, 0.25 * phi, -0.125 * phi, phi
    r = np.sqrt(5.0 * s)
    decay = np.exp(-r)
    # The third is multiplied by squares of gaps, which vanish faster than r.
    third = -125.0 / 24.0 * np.divide(decay, r, out=np.zeros_like(r), where=r > 0.0)
    phi = (1.0 + r + r * r / 3.0) * decay
    return -5.0 / 6.0 * (1.0 + r) * decay, 25.0 / 12.0 * decay, third, phi


def _variance(base: Kernel, axis: int, d: int) -> float:
    """Variance of a value, axis -1, or of a slope, anywhere."""
    row = np.zeros((1, d)), np.array([axis])
    return float(_part(base, row, row, False)[0][0, 0])


def _of_faces(base: Any, left: Side, right: Side | None, slopes: bool) -> Any:
    """Covariances of means over cells and of differences of their faces, (n, m)."""
    faces = _Faces(*left)
    if right is not None:
        others = _Faces(*right)
        return others.differences(faces.differences(base(faces.boxes, others.boxes)).T).T
    if not slopes:
        K = base(faces.boxes)
        K = faces.differences(faces.differences(K).T)
        return 0.5 * (K + K.T)
    K, gradient = base(faces.boxes, eval_gradient=True)
    K = faces.differences(faces.differences(K).T)
    gradient = faces.differences(faces.differences(gradient).swapaxes(0, 1))
    return 0.5 * (K + K.T), 0.5 * (gradient + gradient.swapaxes(0, 1))


class _Faces:
    """Boxes that make up n answers: cells, then the upper faces, and last the lower ones."""

    def __init__(self, cells: np.ndarray, axes: np.ndarray) -> None:
        self.slopes = np.flatnonzero(axes >= 0)
        self.n, d = len(cells), cells.shape[1] // 2
        every, along = np.arange(len(self.slopes)), axes[self.slopes]
        upper, lower = cells.copy(), cells[self.slopes]
        self.widths = lower[every, along + d] - lower[every, along]
        upper[self.slopes, along] = upper[self.slopes, along + d]
        lower[every, along + d] = lower[every, along]
        self.boxes = np.vstack([upper, lower])

    def differences(self, K: np.ndarray) -> np.ndarray:
        """Rows (n, ...) of answers, of rows of boxes."""
        out = K[: self.n].copy()
        shape = (-1, *[1] * (K.ndim - 1))
        out[self.slopes] = (out[self.slopes] - K[self.n :]) / self.widths.reshape(shape)
        return out


class FacesEvaluator(PlainEvaluator):
    """Slopes averaged over cells, by the base's own evaluation of cells."""

    def __init__(self, kernel: Derivative, base: Evaluator) -> None:
        super().__init__(kernel)
        self.base = base

    def cross(self, E: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the covariances (n, m)."""

        def covariances(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
            return self.base.cross(self.base.embed(boxes), self.base.embed(others))

        left, right = (_split_again(rows) for rows in (E, F))
        return np.ascontiguousarray(_of_faces(covariances, left, right, False))

    def diag(self, E: np.ndarray) -> np.ndarray:
        """Return the variances (n,)."""
        cells, axes = _split_again(E)
        faces = _Faces(cells, axes)
        known = self.base.diag(self.base.embed(faces.boxes))
        out, slopes = known[: faces.n].copy(), faces.slopes
        upper, lower = faces.boxes[slopes], faces.boxes[faces.n :]
        between = np.array(
            [
                self.base.cross(self.base.embed(a[None]), self.base.embed(b[None]))[0, 0]
                for a, b in zip(upper, lower, strict=True)
            ]
        )
        out[slopes] = (out[slopes] + known[faces.n :] - 2.0 * between) / faces.widths**2
        return out


def _split_again(rows: np.ndarray) -> Side:
    """Boxes and axes of rows that were checked."""
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.intp)

"""A Matérn kernel of all features, and of every feature by itself.

References
----------
.. [Duvenaud2011] D. Duvenaud, H. Nickisch and C. E. Rasmussen, "Additive Gaussian Processes",
   NeurIPS 2011. Sums of all orders with the same kernels of single features.
.. [Hvarfner2024] C. Hvarfner, E. O. Hellsten and L. Nardi, "Vanilla Bayesian Optimization Performs
   Great in High Dimensions", ICML 2024. Length scales that grow with sqrt(d).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import (
    Hyperparameter,
    Kernel,
    Matern,
    StationaryKernelMixin,
)

from skgpb._core._additive import additive_covariances
from skgpb.kernels._products import MATERN
from skgpb.utils.typing import Points, Values

__all__ = ["AdditiveMatern"]

# Speed: rows of covariances shorter than this are slow to compute.
SHORT_ROW = 8


@dataclass(eq=False, repr=False)
class AdditiveMatern(StationaryKernelMixin, Kernel):
    r"""Matérn kernel of all features plus Matérn kernels of single features.

    A function with this covariance is a sum of main effects, one of each feature, and of a function
    of all features together,

    .. math:: k(x, x') = m\left(\sum_i \frac{(x_i - x'_i)^2}{l_i^2}\right)
              + \frac{w}{d} \sum_i m\left(\frac{d (x_i - x'_i)^2}{l_i^2}\right),

    where m is the Matérn kernel as a function of the squared distance. An answer is informative
    about the main effects in the whole domain, and not only nearby. The length scales are shared,
    as in [Duvenaud2011]_. Those of d features together are longer by sqrt(d), as distances are
    [Hvarfner2024]_. It is the default of searches for points in several dimensions
    (decision D-H48). A feature may have several columns, such as a one-hot encoded category; then
    :math:`(x_i - x'_i)^2` is a sum over these columns.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        Length scales :math:`l_i` of the features, or one for all of them.
    length_scale_bounds : pair of floats, array-like or "fixed", default=(1e-5, 1e5)
        Bounds of the length scales for learning, for each or for all.
    nu : {0.5, 1.5, 2.5, inf}, default=2.5
        Smoothness, as of :class:`~sklearn.gaussian_process.kernels.Matern`; other values have no
        closed form.
    main_effects : float, default=0.5
        Variance w of the main effects together, as a multiple of that of the other part.
    main_effects_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
        Bounds of ``main_effects`` for learning.
    groups : array-like of shape (n_columns,), default=None
        Index of the feature of each column, ascending from 0. None means that every column is a
        feature.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.kernels import AdditiveMatern
    >>> kernel = AdditiveMatern([0.5, 0.5], main_effects=2.0)
    >>> X = np.array([[0.2, 0.1], [0.2, 0.9], [0.9, 0.9]])
    >>> kernel(X).round(2)
    array([[3.  , 1.34, 0.35],
           [1.34, 3.  , 1.47],
           [0.35, 1.47, 3.  ]])

    A category in two columns, and a number:

    >>> kernel = AdditiveMatern([1.0, 0.5], groups=[0, 0, 1])
    >>> kernel([[1.0, 0.0, 0.2]], [[0.0, 1.0, 0.2]]).round(2)
    array([[0.6]])
    """

    length_scale: float | Values = 1.0
    length_scale_bounds: tuple[float, float] | Literal["fixed"] | Points = (1e-5, 1e5)
    nu: float = 2.5
    main_effects: float = 0.5
    main_effects_bounds: tuple[float, float] | Literal["fixed"] | Points = (1e-5, 1e5)
    groups: Values | None = None

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """Length scales."""
        bounds, scales = self.length_scale_bounds, self.length_scale
        if np.ndim(scales):
            return Hyperparameter("length_scale", "numeric", bounds, np.size(scales))
        return Hyperparameter("length_scale", "numeric", bounds)

    @property
    def hyperparameter_main_effects(self) -> Hyperparameter:
        """Variance of the main effects."""
        return Hyperparameter("main_effects", "numeric", self.main_effects_bounds)

    def parts(self, d: int) -> tuple[Matern, list[Matern]]:
        """Return the kernel of all d features together, and the kernels of single ones.

        Parameters
        ----------
        d : int
            Number of features.
        """
        # The bounds are never read, only whether length scales are free.
        bounds = "fixed" if isinstance(self.length_scale_bounds, str) else (1e-5, 1e5)
        axes = [Matern(float(scale), bounds, nu=self.nu) for scale in self._scales(d) / sqrt(d)]
        return Matern(self.length_scale, bounds, nu=self.nu), axes

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the covariances.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points.
        Y : array-like of shape (m, d), default=None
            Points; None means ``X``.
        eval_gradient : bool, default=False
            Whether to return the gradient by ``theta`` as well; only with ``Y=None``.

        Returns
        -------
        K : ndarray of shape (n, m)
        K_gradient : ndarray of shape (n, n, p), only with ``eval_gradient``
        """
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        covariances = self.compiled(X.shape[1])
        if not eval_gradient:
            other = X if Y is None else np.atleast_2d(np.asarray(Y, dtype=np.float64))
            if other.shape[1] != X.shape[1]:
                raise ValueError(f"Y must have the {X.shape[1]} columns of X, got {other.shape[1]}")
            return covariances(X, other)
        if Y is not None:
            raise ValueError("eval_gradient=True is accepted only with Y=None.")
        starts = self.first_columns(X.shape[1])
        d = len(starts)
        whole, axes = self.parts(d)
        share, widths = self.main_effects / d, np.diff(starts, append=X.shape[1])
        whole.length_scale = np.repeat(self._scales(d), widths)
        K, gradient = whole(X, eval_gradient=True)
        slopes = np.zeros((*K.shape, self.n_dims))
        if not self.hyperparameter_length_scale.fixed:
            by_axes = np.add.reduceat(np.atleast_3d(gradient), starts, axis=2)
            one = np.size(self.length_scale) == 1
            slopes[..., : 1 if one else d] = by_axes.sum(axis=2)[..., None] if one else by_axes
        effects = np.zeros_like(K)
        for i, (axis, columns) in enumerate(
            zip(axes, np.split(X, starts[1:], axis=1), strict=True)
        ):
            effect, gradient = axis(columns, eval_gradient=True)
            effects += share * effect
            if gradient.shape[2]:
                slopes[..., i if np.size(self.length_scale) > 1 else 0] += share * gradient[..., 0]
        if not self.hyperparameter_main_effects.fixed:
            slopes[..., -1] = effects
        return K + effects, slopes

    def _scales(self, d: int) -> np.ndarray:
        """Return the length scales (d,)."""
        return np.broadcast_to(np.asarray(self.length_scale, dtype=np.float64), (d,))

    def compiled(self, n_columns: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Validate the present hyperparameters; return the kernel as a function of X and Y.

        Parameters
        ----------
        n_columns : int
            Number of columns of X and Y, which the function does not validate.
        """
        starts = self._check_parameters(n_columns)
        d = len(starts)
        scale = (sqrt(d) / self._scales(d)).repeat(np.diff(starts, append=n_columns))
        kind, share = MATERN[self.nu], self.main_effects / d

        def covariances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
            if len(Y) < SHORT_ROW < len(X):  # rows are computed one by one
                return np.ascontiguousarray(covariances(Y, X).T)
            return additive_covariances(X, Y, scale, starts, kind, share)

        return covariances

    def diag(self, X: ArrayLike) -> np.ndarray:
        """Return the diagonal of ``self(X)``, shape (n,)."""
        return np.full(len(np.atleast_2d(np.asarray(X))), 1.0 + self.main_effects)

    def __repr__(self) -> str:
        whole, _ = self.parts(np.size(self.length_scale))
        inside = repr(whole).removeprefix("Matern(").removesuffix(")")
        return f"{type(self).__name__}({inside}, main_effects={self.main_effects:.3g})"

    def first_columns(self, n_columns: int) -> np.ndarray:
        """Return the first column of every feature (d,); raise ValueError if ``groups`` is wrong.

        Parameters
        ----------
        n_columns : int
            Number of columns.
        """
        if self.groups is None:
            return np.arange(n_columns)
        groups = np.asarray(self.groups)
        if groups.dtype.kind in "iu" and groups.shape == (n_columns,) and n_columns:
            steps = groups[1:] - groups[:-1]
            if groups[0] == 0 and ((steps == 0) | (steps == 1)).all():
                return np.concatenate([[0], np.flatnonzero(steps) + 1])
        raise ValueError(
            f"groups must have an integer for each of {n_columns} columns, ascending from 0 in "
            f"steps of at most 1; got {self.groups!r}"
        )

    def _check_parameters(self, n_columns: int) -> np.ndarray:
        """Return the first column of every feature; raise ValueError for wrong parameters."""
        starts = self.first_columns(n_columns)
        d = len(starts)
        for name, shapes in (("length_scale", ((), (1,), (d,))), ("main_effects", ((),))):
            value = getattr(self, name)
            try:
                values = np.asarray(value)
            except ValueError:  # ragged
                values = np.array(None)
            positive = values.dtype.kind in "iuf" and ((values > 0.0) & np.isfinite(values)).all()
            if not positive or values.shape not in shapes:
                several = f", or one for each of {d} features" if len(shapes) > 1 else ""
                raise ValueError(f"{name} must be a positive number{several}; got {value!r}")
            bounds = getattr(self, f"{name}_bounds")
            try:
                np.asarray([] if isinstance(bounds, str) else bounds, dtype=np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{name}_bounds must be 'fixed' or numbers, got {bounds!r}"
                ) from None
        if not isinstance(self.nu, Real) or self.nu not in MATERN:
            raise ValueError(f"nu must be one of {(*MATERN,)}, got {self.nu!r}")
        return starts

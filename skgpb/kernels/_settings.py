"""Kernels over settings with sides of different kinds, see skgpb.domains.space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

from skgpb.kernels._wrapper import WrapperKernel
from skgpb.kernels.evaluator import ColumnsEvaluator, Evaluator


class AxisMatern(Matern):
    """Matérn kernel with one length scale for each axis, shared by the columns of the axis.

    Parameters
    ----------
    length_scale : float or ndarray of shape (n_axes,)
        Length scale of each axis.
    length_scale_bounds : pair of floats, default=(1e-1, 1e1)
        Bounds of the length scales for learning.
    nu : float, default=2.5
        Smoothness.
    groups : sequence of n_columns int, default=()
        Axis of each column, ascending.
    """

    def __init__(
        self,
        length_scale: Any = 1.0,
        length_scale_bounds: Any = (1e-1, 1e1),
        nu: float = 2.5,
        groups: Any = (),
    ) -> None:
        super().__init__(length_scale, length_scale_bounds, nu)
        self.groups = groups

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances, and with ``eval_gradient`` their gradient by ``theta``."""
        scales = np.atleast_1d(self.length_scale)[np.asarray(self.groups)]
        return covariances_by_axis(self, Matern(scales, nu=self.nu), X, Y, eval_gradient)


class AxisRBF(RBF):
    """RBF kernel with one length scale for each axis, shared by the columns of the axis.

    Parameters
    ----------
    length_scale : float or ndarray of shape (n_axes,)
        Length scale of each axis.
    length_scale_bounds : pair of floats, default=(1e-1, 1e1)
        Bounds of the length scales for learning.
    groups : sequence of n_columns int, default=()
        Axis of each column, ascending.
    """

    def __init__(
        self,
        length_scale: Any = 1.0,
        length_scale_bounds: Any = (1e-1, 1e1),
        groups: Any = (),
    ) -> None:
        super().__init__(length_scale, length_scale_bounds)
        self.groups = groups

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances, and with ``eval_gradient`` their gradient by ``theta``."""
        scales = np.atleast_1d(self.length_scale)[np.asarray(self.groups)]
        return covariances_by_axis(self, RBF(scales), X, Y, eval_gradient)


def covariances_by_axis(
    kernel: AxisMatern | AxisRBF, by_column: Kernel, X: Any, Y: Any, eval_gradient: bool
) -> Any:
    """Return covariances by axis from a kernel with a length scale for each column."""
    if not eval_gradient:
        return by_column(X, Y)
    K, gradient = by_column(X, eval_gradient=True)
    if kernel.hyperparameter_length_scale.fixed:
        return K, gradient[:, :, :0]
    return K, np.add.reduceat(gradient, starts_of(np.asarray(kernel.groups)), axis=2)


def starts_of(groups: np.ndarray) -> np.ndarray:
    """Return the first column of every axis."""
    return np.flatnonzero(np.diff(groups, prepend=-1))


@dataclass(eq=False, repr=False)
class OnSettings(WrapperKernel):
    """A kernel on the columns of settings, used as a kernel on points of the cube.

    Parameters
    ----------
    base : Kernel
        Kernel over columns; its hyperparameters are those of this kernel.
    space : ParameterSpace
        Maps points (n, d) to columns.
    prior : Prior, default=None
        Prior of the hyperparameters, for standardised values. None for a kernel that is learned
        only if the user asks for it.
    """

    base: Kernel
    space: Any
    prior: Any = None

    def columns(self, points: np.ndarray) -> np.ndarray:
        """Return the columns of points (n, d)."""
        return self.space.columns(points)

    def evaluator(self, n_columns: int) -> Evaluator:
        """Return the two-step evaluation: the columns of points, and the base."""
        return ColumnsEvaluator(self.base, self.columns)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances of the settings at points (n, d)."""
        X = self.columns(np.atleast_2d(X))
        return self.base(X, None if Y is None else self.columns(np.atleast_2d(Y)), eval_gradient)

    def diag(self, X: Any) -> np.ndarray:
        """Return the diagonal of ``self(X)``, shape (n,)."""
        return self.base.diag(self.columns(np.atleast_2d(X)))

    def is_stationary(self) -> bool:
        """Return False: all points of an integer are the same setting, wherever they are."""
        return False

    def __repr__(self) -> str:
        # The space and the prior are internal, and their names are not informative.
        return f"{type(self).__name__}({self.base!r})"

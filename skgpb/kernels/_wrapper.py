"""Kernels that wrap another kernel and share its hyperparameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel, Hyperparameter, Kernel

__all__ = ["WrapperKernel"]


class WrapperKernel(Kernel):
    """Base class of kernels with a parameter ``base``, like ``Exponentiation``.

    A subclass adds the covariances, ``__call__`` and ``diag``, see :doc:`/development/new_kernel`.
    The subclass may have further parameters; they are not learned.

    Examples
    --------
    A wrapper that returns its base:

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import WrapperKernel
    >>> class Same(WrapperKernel):
    ...     def __init__(self, base):
    ...         self.base = base
    ...
    ...     def __call__(self, X, Y=None, eval_gradient=False):
    ...         return self.base(X, Y, eval_gradient)
    ...
    ...     def diag(self, X):
    ...         return self.base.diag(X)
    >>> float(Same(RBF(0.5))([[0.0]], [[0.5]])[0, 0].round(4)), Same(RBF(0.5)).theta.round(4)
    (0.6065, array([-0.6931]))
    """

    base: Kernel

    def _checked_base(self) -> Kernel:
        if not isinstance(self.base, Kernel) or isinstance(self.base, CompoundKernel):
            raise TypeError(
                f"base of {type(self).__name__} must be a kernel from"
                " sklearn.gaussian_process.kernels (any but CompoundKernel); got"
                f" {self.base!r} of type {type(self.base).__name__}."
            )
        return self.base

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep``, those of kernels as ``base__...``."""
        params = super().get_params(deep=False)
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Kernel):
                    params.update((f"{name}__{k}", v) for k, v in value.get_params().items())
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Hyperparameters of the base kernel."""
        return [
            Hyperparameter(f"base__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self._checked_base().hyperparameters
        ]

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the free hyperparameters of the base kernel, shape (p,)."""
        return self._checked_base().theta

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        self._checked_base().theta = theta

    @property
    def bounds(self) -> np.ndarray:
        """Bounds of ``theta``, shape (p, 2)."""
        return self._checked_base().bounds

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(same(mine[name], theirs[name]) for name in mine)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={short(v)}" for k, v in self.get_params(deep=False).items())
        return f"{type(self).__name__}({arguments})"

    def is_stationary(self) -> bool:
        """Return False: the covariance depends on more than a difference of rows."""
        return False


def check_pair(X: np.ndarray, Y: np.ndarray | None, eval_gradient: bool) -> None:
    """Raise ValueError if covariances between rows of X and Y, or a gradient, are undefined."""
    if Y is None:
        return
    if eval_gradient:
        raise ValueError("eval_gradient=True is accepted only with Y=None.")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X and Y must have the same number of columns; got {X.shape[1]} and {Y.shape[1]}."
        )


def same(a: Any, b: Any) -> bool:
    """Return whether two parameters are equal; a tuple equals a list of the same numbers."""
    if a is b:
        return True
    if isinstance(a, np.ndarray | list | tuple) or isinstance(b, np.ndarray | list | tuple):
        try:
            return np.shape(a) == np.shape(b) and bool(np.array_equal(a, b))
        except ValueError:  # ragged
            return False
    return bool(a == b)


def short(value: Any) -> str:
    """Return ``repr(value)``, or only the shape of a large array."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"<array of shape {value.shape}>"
    return repr(value)

"""Kernel on some of the columns, for sums and products over groups of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._white import noise_of_points
from skgpb.kernels._wrapper import WrapperKernel

__all__ = ["Columns"]


@dataclass(eq=False, repr=False)
class Columns(WrapperKernel):
    """Apply a kernel to some of the columns only, such as contexts or actions.

    A sum or product of two of them is the usual covariance of a function of a context and an
    action (or of any two groups of features); see :class:`ContextualGPTreeOptimizer`.

    Parameters
    ----------
    base : Kernel
        Kernel over the selected columns; its hyperparameters are those of this kernel.
    columns : sequence of int
        Columns of X for ``base``, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import Columns
    >>> kernel = Columns(RBF(1.0), [0]) + Columns(RBF(0.5), [1, 2])
    >>> kernel(np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 2.0]])).round(2)
    array([[2.  , 1.61],
           [1.61, 2.  ]])
    """

    base: Kernel
    columns: Sequence[int]

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return ``base`` on the selected columns.

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
        base = self._checked_base()
        return base(self._select(X), None if Y is None else self._select(Y), eval_gradient)

    def diag(self, X: ArrayLike) -> np.ndarray:
        """Return the diagonal of ``self(X)``, shape (n,)."""
        return self._checked_base().diag(self._select(X))

    def noise_diag(self, X: ArrayLike) -> np.ndarray:
        """Return the part of ``diag(X)`` that is white noise of the base kernel, shape (n,)."""
        return noise_of_points(self._checked_base(), self._select(X))

    def is_stationary(self) -> bool:
        """Return whether the base kernel is stationary."""
        return self._checked_base().is_stationary()

    def _select(self, X: ArrayLike) -> np.ndarray:
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        columns = np.asarray(self.columns)
        d = X.shape[1]
        if columns.ndim != 1 or not len(columns) or columns.dtype.kind not in "iu":
            raise ValueError(f"columns must be a sequence of integers, got {self.columns!r}")
        if columns.min() < -d or columns.max() >= d:
            raise ValueError(f"columns {list(self.columns)} are not all in X, which has {d}")
        return np.ascontiguousarray(X[:, columns])

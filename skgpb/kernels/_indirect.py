"""Base of the kernels of indirect queries: hyperparameters, rows, covariances.

A row describes one linear functional of f: the value at a point, or the answer to a query. Each
kernel has its own form of rows; ``points(X)`` and ``queries(A)`` write them. Because both live in
one kernel, cov(f(x), f(x')), cov(f(x), g(a)) and cov(g(a), g(a')) are blocks of one Gram matrix.

Covariances are evaluated in two steps, see :mod:`skgpb.kernels.evaluator`.

White noise in ``base`` follows scikit-learn: it exists only on the diagonal of ``K(X)``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._wrapper import WrapperKernel, check_pair
from skgpb.kernels.evaluator import Evaluator

#: Accuracy: step of the five-point differences in the logarithm of a hyperparameter, for which
#: truncation and rounding are both near 1e-12 of the covariance.
STEP = 1e-3
#: Accuracy: step of the central differences of the model noise in the logarithm of a
#: hyperparameter.
NOISE_STEP = 1e-4


class IndirectKernel(WrapperKernel):
    """Covariance of values f(x) and answers g(a); subclasses define the answers."""

    base: Kernel | None

    # --- for subclasses to define ---

    @abstractmethod
    def rows_of_points(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of f at points X (n, d), which the caller has checked to be finite."""

    @abstractmethod
    def rows_of_queries(self, A: np.ndarray) -> np.ndarray:
        """Return the rows of g at queries A (n, q), which the caller has checked to be finite."""

    @abstractmethod
    def _check_rows(self, rows: np.ndarray, name: str) -> None:
        """Raise ValueError unless the finite array ``rows`` (n, c) describes functionals."""

    @abstractmethod
    def _make_evaluator(self, n_columns: int) -> Evaluator: ...

    @abstractmethod
    def mean_of(self, rows: np.ndarray, mean: Any) -> np.ndarray:
        """Return the functionals (len(rows),) of a given function ``mean(X) -> (n,)``."""

    def model_noise(self) -> float:
        """Return the variance of the kernel's own error about g, zero if p(x|a) is given."""
        return 0.0

    def model_noise_gradient(self) -> np.ndarray:
        """Return the derivatives of :meth:`model_noise` by ``theta``, shape (p,)."""
        return np.zeros(len(self.theta))

    def _model_noise_slopes(self) -> np.ndarray:
        """Return the derivatives (p,) of :meth:`model_noise` from central differences."""
        theta = self.theta
        ahead, behind = (
            np.array([self._with_theta(theta + e).model_noise() for e in steps])
            for steps in (NOISE_STEP * np.eye(len(theta)), -NOISE_STEP * np.eye(len(theta)))
        )
        return (ahead - behind) / (2 * NOISE_STEP)

    # --- rows ---

    def points(self, X: ArrayLike) -> np.ndarray:
        """Return the rows of f at points X (n, d), one each."""
        return self.rows_of_points(as_points(X, "X"))

    def queries(self, A: ArrayLike) -> np.ndarray:
        """Return the rows of g at queries A (n, q), one each."""
        return self.rows_of_queries(as_points(A, "A"))

    def check_related(self, A: ArrayLike, X: ArrayLike) -> None:
        """Raise ValueError if queries A (n, q) do not average over points like X (n, d)."""
        if self.queries(A).shape[1] != self.points(X).shape[1]:
            raise ValueError(
                f"the domain has {np.shape(X)[1]} dimensions, but queries lead to points with "
                "another number of dimensions: pass conditional, or the location of windows, to "
                "define over which points of the domain a query averages"
            )

    # --- covariances ---

    def evaluator(self, n_columns: int) -> Evaluator:
        """Return the two-step evaluation at the present hyperparameters, see the module.

        Parameters
        ----------
        n_columns : int
            Number of columns of the rows.
        """
        self._checked_base()
        return self._make_evaluator(n_columns)

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the covariances between functionals.

        Parameters
        ----------
        X : array-like of shape (n, c)
            Rows written by :meth:`points` or :meth:`queries`, in any mixture.
        Y : array-like of shape (m, c), default=None
            Rows; None means ``X``, with the white noise of the base, if any, on the diagonal.
        eval_gradient : bool, default=False
            Whether to return the gradient by ``theta`` as well; only with ``Y=None``.

        Returns
        -------
        K : ndarray of shape (n, m)
            The covariances.
        K_gradient : ndarray of shape (n, n, p)
            Derivatives by the p free hyperparameters on their log scale; only with
            ``eval_gradient``.
        """
        X, Y = self._rows(X, "X"), None if Y is None else self._rows(Y, "Y")
        check_pair(X, Y, eval_gradient)
        evaluator = self.evaluator(X.shape[1])
        if Y is not None:
            return evaluator.cross(evaluator.embed(X), evaluator.embed(Y))
        K = self._gram(X, evaluator)
        return (K, self._gradient(X, evaluator)) if eval_gradient else K

    def diag(self, X: ArrayLike) -> np.ndarray:
        """Return the variances of functionals (n, c): the diagonal of ``self(X)``."""
        X = self._rows(X, "X")
        evaluator = self.evaluator(X.shape[1])
        E = evaluator.embed(X)
        return evaluator.diag(E) + evaluator.noise(E)

    def noise_diag(self, X: ArrayLike) -> np.ndarray:
        """Return the part of ``diag(X)`` that is white noise of the base kernel, shape (n,)."""
        X = self._rows(X, "X")
        evaluator = self.evaluator(X.shape[1])
        return evaluator.noise(evaluator.embed(X))

    def _gram(self, X: np.ndarray, evaluator: Evaluator) -> np.ndarray:
        E = evaluator.embed(X)
        K = evaluator.cross(E, E)
        K = 0.5 * (K + K.T)  # the two triangles were summed in different orders
        K[np.diag_indices(len(K))] = evaluator.diag(E) + evaluator.noise(E)
        return K

    def _gradient(self, X: np.ndarray, evaluator: Evaluator) -> np.ndarray:
        """Return the derivatives (n, n, p); by default from five-point differences."""
        theta = self.theta
        if hasattr(evaluator, "gradient"):
            gradient = evaluator.gradient(evaluator.embed(X))
            if gradient is not None:
                return gradient
        gradient = np.empty((len(X), len(X), len(theta)))
        for j in range(len(theta)):
            shift = np.zeros(len(theta))
            total: Any = 0.0
            for steps, weight in ((1, 8.0), (2, -1.0)):
                for sign in (1.0, -1.0):
                    shift[j] = sign * steps * STEP
                    beside = self._with_theta(theta + shift)
                    K = beside._gram(X, beside._evaluator_near(evaluator, X.shape[1]))
                    total = total + sign * weight * K
            gradient[..., j] = total / (12 * STEP)
        return gradient

    def _evaluator_near(self, other: Evaluator, n_columns: int) -> Evaluator:
        """Return the evaluator, reusing parts of one at nearby hyperparameters."""
        return self.evaluator(n_columns)

    def _with_theta(self, theta: np.ndarray) -> Self:
        """Return a shallow copy with other hyperparameters, which shares all but the base."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.base = self._checked_base().clone_with_theta(theta)
        return other

    def _rows(self, X: ArrayLike, name: str) -> np.ndarray:
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise ValueError(
                f"{name} must hold rows written by {type(self).__name__}.points or .queries; got"
                f" an array of shape {rows.shape}."
            )
        if not np.isfinite(rows).all():
            row = int(np.argmin(np.isfinite(rows).all(axis=1)))
            raise ValueError(f"{name} must be finite; row {row} is {rows[row].tolist()}.")
        self._check_rows(rows, name)
        return rows


def checked_mean(mean: Callable) -> Callable:
    """Return ``mean`` with a check of its values (n,), for ``mean_of``."""

    def checked(X: np.ndarray) -> np.ndarray:
        values = np.asarray(mean(X), dtype=np.float64)
        if values.shape != (len(X),) or not np.isfinite(values).all():
            raise ValueError("mean(X) must return finite numbers of shape (n,)")
        return values

    return checked


def as_points(X: ArrayLike, name: str) -> np.ndarray:
    """Return a finite float array (n, d), d >= 1; raise ValueError otherwise."""
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold real numbers; got dtype {X.dtype}.") from None
    X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, n_columns); got an array of shape {X.shape}.")
    if not np.isfinite(X).all():
        row = int(np.argmin(np.isfinite(X).all(axis=1)))
        raise ValueError(f"{name} must be finite; row {row} is {X[row].tolist()}.")
    return X


def one_or_more(values: ArrayLike, name: str) -> np.ndarray:
    """Return an array (n, q); one of shape (q,) is a single row."""
    values = np.asarray(values)
    return as_points(values[None] if values.ndim == 1 else values, name)

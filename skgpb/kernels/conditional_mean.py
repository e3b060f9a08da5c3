r"""Feedback that is a conditional mean of f, under a distribution learned from pairs.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", equations 2 to 5.
.. [CMP] S. L. Chau, S. Bouabid, D. Sejdinovic, "Deconditional downscaling with Gaussian processes",
   NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpstrf
from sklearn.base import clone
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel, WhiteKernel

from skgpb.kernels._indirect import IndirectKernel, as_points
from skgpb.kernels._operator import (
    ConditionalMeanOperator,
    pivoted_gram,
    quick_products,
    sum_of,
)
from skgpb.kernels._support import Support, SupportEvaluator, SupportRows
from skgpb.kernels._wrapper import same
from skgpb.kernels.evaluator import relative
from skgpb.utils.validation import MOST_QUERIES, check_size

__all__ = ["ConditionalMean"]

#: Accuracy: largest share of the trace that a factor of the base kernel may leave out; a compressed
#: Gram matrix is computed from it if it has at most ``MAX_BASE_RANK`` columns.
BASE_TRACE = 1e-13
MAX_BASE_RANK = 1500
#: Speed: number of answers from which on variances are computed from a factor of the Gram matrix;
#: its entries below this share of the largest are left out.
MANY_QUERIES, FACTOR_ROUNDING = 500, 1e-14
#: Memory: number of rows of the support in a block of base evaluations.
BLOCK_ROWS = 2048


class _Pairs(Support):
    """The points of D1; a row is [x, a, 0] for f(x) and [x, a, 1] for g(a)."""

    def __init__(self, operator: ConditionalMeanOperator, base: Kernel) -> None:
        super().__init__(operator.X, base)
        self.operator = operator

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        asked = rows[:, -1] == 1.0
        d = self.points.shape[1]
        points = relative(np.ascontiguousarray(rows[~asked, :d]), self.origin)
        if not asked.any():
            return asked, points, np.empty((0, self.operator.n_coefficients))
        return asked, points, self.operator.coefficients(np.ascontiguousarray(rows[asked, d:-1]))

    def compress(self, K: np.ndarray) -> np.ndarray:
        return K if self.operator.exact else K @ self.operator.projection

    def expand(self, coefficients: np.ndarray) -> np.ndarray:
        return coefficients if self.operator.exact else coefficients @ self.operator.projection.T

    def gram(self, base: Kernel) -> np.ndarray:
        if self.operator.exact:
            products = quick_products(base, self.points)
            return super().gram(base) if products is None else sum_of(self.operator.grams(products))
        R, N = self.operator.projection, len(self.points)
        factor, _ = pivoted_gram(base, self.points, MAX_BASE_RANK + 1, BASE_TRACE)
        if factor.shape[1] <= MAX_BASE_RANK:
            half = R.T @ factor
            return half @ half.T
        total = np.zeros((R.shape[1], R.shape[1]))
        for start in range(0, N, BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            total += R[part].T @ (base(self.points[part], self.points) @ R)
        return 0.5 * (total + total.T)


class _PairsEvaluator(SupportEvaluator):
    """The two-step evaluation, with shortcuts for many queries and pairs."""

    support: _Pairs

    def __init__(self, base: Kernel, support: _Pairs) -> None:
        super().__init__(base, support)
        self._factor: np.ndarray | None = None
        self._product: tuple[np.ndarray, np.ndarray] | None = None

    def _times(self, C: np.ndarray) -> np.ndarray:
        """Return G C' (r, n); the product for the last C, by identity, is cached.

        Covariances, variances and derivatives of a set of queries all use it.
        """
        if self._product is None or self._product[0] is not C:
            self._product = C, self.gram @ C.T
        return self._product[1]

    def cross(self, E: SupportRows, F: SupportRows) -> np.ndarray:
        """Return the covariances (n, m)."""
        if len(E.points) or len(F.points) or E.coefficients is not F.coefficients:
            return super().cross(E, F)
        return E.coefficients @ self._times(E.coefficients)

    def _variances_of_answers(self, E: SupportRows) -> np.ndarray:
        C = E.coefficients
        if len(C) < MANY_QUERIES or len(self.gram) < MANY_QUERIES:
            if len(E.points):
                return super()._variances_of_answers(E)
            return self._nonnegative(np.einsum("ij,ji->i", C, self._times(C)))
        if self._factor is None:
            self._factor = low_rank_factor(self.gram)
        half = C @ self._factor
        return np.einsum("ij,ij->i", half, half)

    def gradient(self, E: SupportRows) -> np.ndarray | None:
        """Return d K / d theta (n, n, p), noiseless.

        Gaussian products need no Gram matrix for each hyperparameter: with c the weights of
        queries, sum_ij c_i c'_j K_ij (x_i - x_j)^2 consists of products of c, c x and c x^2 with K.
        """
        X = self.support.points
        products = quick_products(self.base, X)
        if products is None or products.nugget or len(E.points):
            return super().gradient(E)
        C = self.support.expand(E.coefficients)
        centred = X - X.mean(axis=0)
        out = np.zeros((len(C), len(C), products.weights_jacobian.shape[1]))
        for k, K in enumerate(self.support.operator.grams(products)):
            alone = C is E.coefficients and len(products.weights) == 1
            KC = self._times(C) if alone else K @ C.T
            if products.weights[k] != 0.0:
                value = C @ KC / products.weights[k]
                out += (0.5 * (value + value.T))[..., None] * products.weights_jacobian[k]
            for a, x in enumerate(centred.T):
                if not products.precisions_jacobian[k, a].any():
                    continue
                Cx = C * x
                squares, mixed = (Cx * x) @ KC, Cx @ (K @ Cx.T)
                slope = squares + squares.T - (mixed + mixed.T)
                out -= (0.5 * slope)[..., None] * products.precisions_jacobian[k, a]
        return out


def low_rank_factor(G: np.ndarray) -> np.ndarray:
    """Return P (n, r) with P P' = G up to rounding, by LAPACK's pivoted Cholesky factorisation."""
    C, pivots, rank, _ = dpstrf(G, tol=FACTOR_ROUNDING * float(np.diag(G).max()), lower=1)
    factor = np.empty((len(G), rank))
    factor[pivots - 1] = np.tril(C)[:, :rank]
    return factor


@dataclass(eq=False, repr=False)
class ConditionalMean(IndirectKernel):
    r"""Kernel for indirect queries whose distribution is learned from pairs (query, input).

    A query a leads to a random x, and its answer is :math:`g(a) = E[f(X) | A = a]`. From N pairs
    :math:`(x_j, a_j)` the conditional mean is a weighted sum [IQBO]_, [CMP]_,

    .. math::

        g(a) \approx \sum_j w_j(a) f(x_j), \qquad
        w(a) = (L_{aa} + N \lambda I)^{-1} \ell(\mathbf a, a),

    where :math:`\ell` is the query kernel and L its Gram matrix. So the covariance of two answers
    is :math:`w(a)^\top K_{xx} w(a')`, and the covariance of an answer and a value is
    :math:`k(x, \mathbf x) w(a)`.

    Parameters
    ----------
    base : Kernel, default=None
        Kernel k of f, over points with d coordinates. Its hyperparameters are this kernel's.
    X : array-like of shape (N, d), default=None
        Points of the pairs D1.
    A : array-like of shape (N, q), default=None
        Queries of the pairs.
    query_kernel : Kernel, default=None
        Kernel over queries, without white noise. Its free hyperparameters are learned from the
        pairs, "fixed" ones stay. None is a Gaussian kernel with a free length scale for each
        column.
    regularization : float, default=None
        Lambda, > 0. None if it is learned from the pairs.
    n_landmarks : int, default=None
        Rank of a low-rank approximation of L. None is exact up to 3,000 pairs, and at most 1,000
        landmarks for more, fewer if they reproduce L to rounding.
    embedding_kernel : Kernel, default=None
        Kernel over points in whose norm the learning measures its errors. None is a Gaussian kernel
        with half the median distance between standardised points as its length scale. It is not
        ``base``, so that learning ``base`` from rewards never changes the operator.

    Attributes
    ----------
    operator_ : ConditionalMeanOperator
        The learned operator: ``query_kernel``, ``regularization``, ``loss`` and ``weights(A)``.
        Computed at its first access, shared by clones, and recomputed after a parameter changed.

    Notes
    -----
    Length scales and lambda minimise the leave-one-out loss of the conditional mean embedding,
    which has a closed form and involves pairs only, never rewards. Length scales are chosen on 300
    pairs, lambda on all of them.

    Weights need not be positive and need not sum to one: far from all pairs they vanish, and g
    returns to zero. Centre the rewards.

    Rows of this kernel are ``[x, a, kind]``: :meth:`points` and :meth:`queries` write them. White
    noise in ``base`` averages out of answers, and remains in values at points.

    References
    ----------
    .. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
       Optimization with Integrated Feedback", equations 2 to 5.
    .. [CMP] S. L. Chau, S. Bouabid, D. Sejdinovic, "Deconditional downscaling with Gaussian
       processes", NeurIPS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import ConditionalMean
    >>> rng = np.random.default_rng(0)
    >>> A = rng.uniform(size=(300, 1))
    >>> X = 1 - A + 0.1 * rng.normal(size=(300, 1))  # the true distribution of inputs
    >>> kernel = ConditionalMean(RBF(0.3), X, A)
    >>> kernel(kernel.queries([[0.2]]), kernel.points([[0.2], [0.8]])).round(1)
    array([[0.2, 0.9]])
    """

    base: Kernel | None = None
    X: ArrayLike | None = None
    A: ArrayLike | None = None
    _: KW_ONLY
    query_kernel: Kernel | None = None
    regularization: float | None = None
    n_landmarks: int | None = None
    embedding_kernel: Kernel | None = None

    def rows_of_points(self, X: np.ndarray) -> np.ndarray:
        """Return rows [x, 0, 0], shape (n, d + q + 1)."""
        d, q = self._sizes()
        if X.shape[1] != d:
            raise ValueError(f"X must have {d} columns, as the pairs have; got {X.shape[1]}.")
        return np.hstack((X, np.zeros((len(X), q + 1))))

    def rows_of_queries(self, A: np.ndarray) -> np.ndarray:
        """Return rows [0, a, 1], shape (n, d + q + 1)."""
        d, q = self._sizes()
        if A.shape[1] != q:
            raise ValueError(f"A must have {q} columns, as the pairs have; got {A.shape[1]}.")
        return np.hstack((np.zeros((len(A), d)), A, np.ones((len(A), 1))))

    def mean_of(self, rows: np.ndarray, mean: Callable) -> np.ndarray:
        """Return ``mean`` at points, and its weighted sum over the pairs for queries, (n,)."""
        d, _ = self._sizes()
        asked = rows[:, -1] == 1.0
        out = np.empty(len(rows))
        if not asked.all():
            out[~asked] = mean(rows[~asked, :d])
        if asked.any():
            operator = self.operator_
            out[asked] = operator.weights(rows[asked, d:-1]) @ mean(operator.X)
        return out

    def model_noise(self) -> float:
        """Return the estimated variance of the operator's error about g, for f ~ GP(0, base).

        It is the squared distance, in the norm of ``base``, of the true conditional mean embedding
        from the learned one, on average over the queries of the pairs. Estimated from leave-one-out
        residuals, never from rewards; see ``skgpb.kernels._operator``.
        """
        base = self._checked_base()
        cached = self.__dict__.get("_error")
        operator = self.operator_
        if cached is None or cached[0] is not operator or cached[1] != base:
            cached = self._error = (operator, clone(base), operator.error(base))
        return cached[2]

    def model_noise_gradient(self) -> np.ndarray:
        """Return the derivatives of :meth:`model_noise` by ``theta``, shape (p,)."""
        gradient = self.operator_.error_gradient(self._checked_base())
        if gradient is not None:
            return gradient
        return self._model_noise_slopes()

    @property
    def operator_(self) -> ConditionalMeanOperator:
        """The learned operator; see the class."""
        cached = self.__dict__.get("_operator")
        X, A = self._pairs()
        settings = (self.query_kernel, self.regularization, self.n_landmarks, self.embedding_kernel)
        if (
            cached is None
            or not np.array_equal(cached.X, X)
            or not np.array_equal(cached.A, A)
            or not all(same(a, b) for a, b in zip(cached.settings, settings, strict=True))
        ):
            self._check_settings(len(X))
            cached = self._operator = ConditionalMeanOperator(
                X,
                A,
                clone(self.query_kernel, safe=False),
                self.regularization,
                self.n_landmarks,
                clone(self.embedding_kernel, safe=False),
            )
        return cached

    def _make_evaluator(self, n_columns: int) -> SupportEvaluator:
        operator, base = self.operator_, self._checked_base()
        cached = self.__dict__.get("_evaluator")
        if cached is None or cached[0] is not operator or cached[1].base != base:
            evaluator = _PairsEvaluator(clone(base), _Pairs(operator, base))
            cached = self._evaluator = (operator, evaluator)
        return cached[1]

    def _with_theta(self, theta: np.ndarray) -> Self:
        self.operator_  # noqa: B018 - so that the copy shares it
        return super()._with_theta(theta)

    def __sklearn_clone__(self) -> Self:
        """Copy the parameters, and share the operator, which is immutable."""
        params = {k: clone(v, safe=False) for k, v in self.get_params(deep=False).items()}
        other = type(self)(**params)
        if "_operator" in self.__dict__:
            other.__dict__["_operator"] = self._operator
        return other

    def __getstate__(self) -> dict[str, Any]:
        # the evaluator is quick to recompute; the operator is stored, because learning takes long
        return {k: v for k, v in self.__dict__.items() if k not in ("_evaluator", "_error")}

    # -- checks -----------------------------------------------------------------------------

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        if self.X is None or self.A is None:
            raise ValueError("ConditionalMean needs pairs: give X (N, d) and A (N, q).")
        X, A = as_points(self.X, "X of the pairs"), as_points(self.A, "A of the pairs")
        if len(X) != len(A) or not len(X):
            raise ValueError(
                "X and A must hold one row for each pair, at least one; got"
                f" {len(X)} points and {len(A)} queries."
            )
        return X, A

    def _sizes(self) -> tuple[int, int]:
        if self.X is None or self.A is None or np.ndim(self.X) != 2 or np.ndim(self.A) != 2:
            X, A = self._pairs()
        else:
            X, A = np.asarray(self.X), np.asarray(self.A)
        return X.shape[1], A.shape[1]

    def _check_settings(self, N: int) -> None:
        for name in ("query_kernel", "embedding_kernel"):
            kernel = getattr(self, name)
            if kernel is None:
                continue
            parts = [kernel, *kernel.get_params().values()] if isinstance(kernel, Kernel) else []
            if not parts or any(isinstance(p, CompoundKernel | WhiteKernel) for p in parts):
                raise TypeError(
                    f"{name} must be a kernel without white noise, whose part is played by"
                    f" regularization; got {kernel!r}."
                )
        value = self.regularization
        if value is not None and not (isinstance(value, Real) and 0.0 < value < np.inf):
            raise ValueError(f"regularization must be a finite number > 0, or None; got {value!r}.")
        value = self.n_landmarks
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and not (whole and value >= 1):
            raise ValueError(f"n_landmarks must be an integer >= 1, or None; got {value!r}.")
        if value is not None:
            check_size(min(int(value), N), "n_landmarks", most=MOST_QUERIES)

    def _check_rows(self, rows: np.ndarray, name: str) -> None:
        d, q = self._sizes()
        if rows.shape[1] != d + q + 1:
            raise ValueError(
                f"{name} must have {d + q + 1} columns [x, a, kind] as written by points or"
                f" queries; got {rows.shape[1]}."
            )
        if not np.isin(rows[:, -1], (0.0, 1.0)).all():
            raise ValueError(f"the last column of {name} must be 0 (point) or 1 (query).")

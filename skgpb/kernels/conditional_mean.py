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
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel, WhiteKernel

from skgpb.kernels._indirect import IndirectKernel, as_points, same
from skgpb.kernels._operator import ConditionalMeanOperator, pivoted_cholesky
from skgpb.kernels._support import Support, SupportEvaluator

#: A compressed Gram matrix comes from a factor of the base kernel that misses at most this share
#: of its trace, where one of at most ``MAX_BASE_RANK`` columns does.
BASE_TRACE = 1e-13
MAX_BASE_RANK = 1500
#: Rows of the support in a block of base evaluations.
BLOCK_ROWS = 2048


class _Pairs(Support):
    """The points of D1; a row is [x, a, 0] for f(x) and [x, a, 1] for g(a)."""

    def __init__(self, operator: ConditionalMeanOperator) -> None:
        self.operator = operator
        self.points = operator.X

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        asked = rows[:, -1] == 1.0
        d = self.points.shape[1]
        points = np.ascontiguousarray(rows[~asked, :d])
        if not asked.any():
            return asked, points, np.empty((0, self.operator.n_coefficients))
        return asked, points, self.operator.coefficients(np.ascontiguousarray(rows[asked, d:-1]))

    def compress(self, K: np.ndarray) -> np.ndarray:
        return K if self.operator.exact else K @ self.operator.projection

    def expand(self, coefficients: np.ndarray) -> np.ndarray:
        return coefficients if self.operator.exact else coefficients @ self.operator.projection.T

    def gram(self, base: Kernel) -> np.ndarray:
        if self.operator.exact:
            return super().gram(base)
        R, N = self.operator.projection, len(self.points)
        factor, _ = pivoted_cholesky(base, self.points, MAX_BASE_RANK + 1, BASE_TRACE)
        if factor.shape[1] <= MAX_BASE_RANK:
            half = R.T @ factor
            return half @ half.T
        total = np.zeros((R.shape[1], R.shape[1]))
        for start in range(0, N, BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            total += R[part].T @ (base(self.points[part], self.points) @ R)
        return 0.5 * (total + total.T)


class ConditionalMean(IndirectKernel):
    r"""Covariance between conditional means of f, learned from pairs of a query and its outcome.

    A query a leads to a random x, and its answer is :math:`g(a) = E[f(X) | A = a]`. From N pairs
    :math:`(x_j, a_j)` the conditional mean is a weighted sum [IQBO]_, [CMP]_,

    .. math::

        g(a) \approx \sum_j w_j(a) f(x_j), \qquad
        w(a) = (L_{aa} + N \lambda I)^{-1} \ell(\mathbf a, a),

    where :math:`\ell` is the query kernel and L its Gram matrix. So the covariance of two answers
    is :math:`w(a)^\top K_{xx} w(a')`, that of an answer and a value :math:`k(x, \mathbf x) w(a)`.

    Parameters
    ----------
    base : Kernel, default=None
        Kernel k of f, over points with d coordinates. Its hyperparameters are this kernel's.
    X : array-like of shape (N, d), default=None
        Points of the pairs D1.
    A : array-like of shape (N, q), default=None
        Queries that led to them.
    query_kernel : Kernel, default=None
        Kernel over queries, without white noise. Its free hyperparameters are learned from the
        pairs, those that are "fixed" are kept. None is a Gaussian kernel with a free length scale
        for each column.
    regularization : float, default=None
        Lambda, > 0. None means learned from the pairs.
    n_landmarks : int, default=None
        Rank of a low-rank approximation of L. None is exact up to 3,000 pairs; above, at most 1,000
        landmarks, fewer where they reproduce L to rounding: 20,000 pairs need some 0.5 GB.
    embedding_kernel : Kernel, default=None
        Kernel over points in whose norm the learning measures its errors. None is a Gaussian kernel
        with half the median distance between standardised points as its length scale. Not ``base``,
        so that learning ``base`` from rewards never changes the operator.

    Attributes
    ----------
    operator_ : ConditionalMeanOperator
        The learned operator: ``query_kernel``, ``regularization``, ``loss`` and ``weights(A)``.
        Computed at first use, shared by clones, recomputed when a parameter changed.

    Notes
    -----
    Length scales and lambda minimise the leave-one-out loss of the conditional mean embedding,
    which has a closed form and involves pairs only, never rewards. Length scales are chosen on 300
    pairs, lambda on all of them.

    Weights need not be positive and need not sum to one: far from all pairs they vanish, and g
    returns to zero. Centre the rewards.

    Rows of this kernel are ``[x, a, kind]``: :meth:`points` and :meth:`queries` write them. White
    noise in ``base`` averages out of answers, and stays with values at points.

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
    >>> X = 1 - A + 0.1 * rng.normal(size=(300, 1))  # what really happens
    >>> kernel = ConditionalMean(RBF(0.3), X, A)
    >>> kernel(kernel.queries([[0.2]]), kernel.points([[0.2], [0.8]])).round(1)
    array([[0.2, 0.9]])
    """

    def __init__(
        self,
        base: Kernel | None = None,
        X: ArrayLike | None = None,
        A: ArrayLike | None = None,
        *,
        query_kernel: Kernel | None = None,
        regularization: float | None = None,
        n_landmarks: int | None = None,
        embedding_kernel: Kernel | None = None,
    ) -> None:
        self.base = base
        self.X = X
        self.A = A
        self.query_kernel = query_kernel
        self.regularization = regularization
        self.n_landmarks = n_landmarks
        self.embedding_kernel = embedding_kernel

    def points(self, X: ArrayLike) -> np.ndarray:
        """Return the rows of f at points X (n, d), shape (n, d + q + 1)."""
        X = as_points(X, "X")
        d, q = self._sizes()
        if X.shape[1] != d:
            raise ValueError(f"X must have {d} columns, as the pairs have; got {X.shape[1]}.")
        return np.hstack((X, np.zeros((len(X), q + 1))))

    def queries(self, A: ArrayLike) -> np.ndarray:
        """Return the rows of g at queries A (n, q), shape (n, d + q + 1)."""
        A = as_points(A, "A")
        d, q = self._sizes()
        if A.shape[1] != q:
            raise ValueError(f"A must have {q} columns, as the pairs have; got {A.shape[1]}.")
        return np.hstack((np.zeros((len(A), d)), A, np.ones((len(A), 1))))

    def mean_of(self, rows: np.ndarray, mean: Callable) -> np.ndarray:
        """Return ``mean`` at points and its weighted sum over the pairs for queries, (n,)."""
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
            copies = [clone(s) if isinstance(s, Kernel) else s for s in settings]
            cached = self._operator = ConditionalMeanOperator(X, A, *copies)
        return cached

    def _make_evaluator(self, n_columns: int) -> SupportEvaluator:
        operator, base = self.operator_, self._checked_base()
        cached = self.__dict__.get("_evaluator")
        if cached is None or cached[0] is not operator or cached[1].base != base:
            evaluator = SupportEvaluator(clone(base), _Pairs(operator))
            cached = self._evaluator = (operator, evaluator)
        return cached[1]

    def _with_theta(self, theta: np.ndarray) -> Self:
        self.operator_  # noqa: B018 - so that the copy shares it
        other = super()._with_theta(theta)
        other.__dict__.pop("_evaluator", None)
        return other

    def __sklearn_clone__(self) -> Self:
        """Copy the parameters, and share the operator, which never changes."""
        params = {k: clone(v, safe=False) for k, v in self.get_params(deep=False).items()}
        other = type(self)(**params)
        if "_operator" in self.__dict__:
            other._operator = self._operator
        return other

    def __getstate__(self) -> dict[str, Any]:
        # the evaluator is quick to make again; the operator is kept, so that learning is not redone
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
            self._pairs()
        return np.shape(self.X)[1], np.shape(self.A)[1]

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

    def _check_rows(self, rows: np.ndarray, name: str) -> None:
        d, q = self._sizes()
        if rows.shape[1] != d + q + 1:
            raise ValueError(
                f"{name} must have {d + q + 1} columns [x, a, kind] as written by points or"
                f" queries; got {rows.shape[1]}."
            )
        if not np.isin(rows[:, -1], (0.0, 1.0)).all():
            raise ValueError(f"the last column of {name} must be 0 (point) or 1 (query).")

r"""A low-rank approximation of a kernel, so that means over large sets stay cheap.

A covariance of two means of f over S points takes S^2 evaluations of a kernel. With r features,
k(x, x') ~ phi(x) . phi(x'), a mean has one vector of r features, computed once from S r
evaluations, and a covariance takes r multiplications.

References
----------
.. [Fine2001] S. Fine and K. Scheinberg, "Efficient SVM training using low-rank kernel
   representations", JMLR 2, 2001: the incomplete Cholesky factorisation with pivots.
.. [Williams2001] C. K. I. Williams and M. Seeger, "Using the Nyström method to speed up kernel
   machines", NIPS 13, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from skgpb.exceptions import ApproximationWarning
from skgpb.kernels._white import contains_white_noise
from skgpb.kernels._wrapper import WrapperKernel, check_pair
from skgpb.kernels.evaluator import FeatureEvaluator, origin_of, relative
from skgpb.utils.roots import nonnegative, pivoted_cholesky
from skgpb.utils.validation import Integral, Real, box_around, check_numbers
from skgpb.utils.warnings import warn

__all__ = ["LowRank"]

#: Memory: numbers in one block of base evaluations (32 MB).
BLOCK_SIZE = 2**22
#: Speed: number of candidates among which landmarks are sought first; all are checked in the end.
FIRST_CANDIDATES = 8192
#: Speed: number of candidates that are added if the check finds worse ones.
MORE_CANDIDATES = 1024
#: Speed: share of the tolerance that is required among the first candidates.
STRICTER = 0.75


class FeatureMap:
    """Features of points and of weighted means of points, for one set of hyperparameters.

    Attributes
    ----------
    landmarks : ndarray of shape (r, d)
        Points where the approximation is exact.
    error : float
        Largest k(x, x) - phi(x) . phi(x) over the candidates: an upper bound on the error of every
        covariance of means over candidates.
    """

    factor: np.ndarray

    def __init__(self, base: Kernel, candidates: np.ndarray, tolerance: float, max_rank: int):
        self.base = base
        self._origin = origin_of(base, box_around(candidates))
        near = relative(candidates, self._origin)
        target = tolerance * float(np.max(base.diag(candidates)))
        step = -(-len(candidates) // FIRST_CANDIDATES)
        chosen = np.arange(0, len(candidates), step)
        # Stricter if some candidates are left out, so that the check seldom finds worse ones.
        goal = target if step == 1 else STRICTER * target
        while True:
            some = near[chosen]
            factor, pivots, _ = pivoted_cholesky(
                lambda i, some=some: base(some, some[i : i + 1])[:, 0],  # type: ignore[misc]
                np.array(base.diag(some), dtype=np.float64),
                max_rank,
                lambda rest: rest.max() <= goal,
            )
            self.factor = factor[pivots]
            self.landmarks: np.ndarray = candidates[chosen[pivots]]
            self._near_landmarks = near[chosen[pivots]]
            rest = self.residual(candidates)
            self.error: float = float(rest.max(initial=0.0))
            worse = np.flatnonzero(rest > target)
            worse = np.setdiff1d(worse[np.argsort(-rest[worse])][:MORE_CANDIDATES], chosen)
            if not len(worse) or len(pivots) == max_rank:
                break
            chosen = np.union1d(chosen, worse)
        self.target = target

    @property
    def n_features(self) -> int:
        """Number r of features."""
        return len(self.landmarks)

    def points(self, X: np.ndarray) -> np.ndarray:
        """Return the features phi (n, r) of points (n, d)."""
        return self._solve(self.base(relative(X, self._origin), self._near_landmarks))

    def means(
        self, X: np.ndarray, starts: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return features (m, r) of weighted sums over runs of rows of X that begin at ``starts``.

        Without weights they are means.
        """
        if weights is None and len(starts) == len(X):
            return self.points(X)
        return self._solve(self._sums(X, starts, weights))

    def residual(self, X: np.ndarray) -> np.ndarray:
        """Return k(x, x) - phi(x) . phi(x), the residual variance, shape (n,)."""
        out = np.array(self.base.diag(X))
        for rows in self._blocks(len(X)):
            phi = self.points(X[rows])
            out[rows] -= np.einsum("ij,ij->i", phi, phi)
        return nonnegative(out, self.base, lambda: float(np.max(self.base.diag(X))))

    def gram_gradient(
        self, X: np.ndarray, starts: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariances (m, m) of the sums, and their gradient (m, m, p) by theta.

        The landmarks are fixed in the derivatives. O(n r) evaluations of the base's gradient.
        """
        r = self.n_features
        _, inner = self.base(self._near_landmarks, eval_gradient=True)
        sums = self._sums(X, starts, weights)
        p = inner.shape[2]
        slopes = np.zeros((len(starts), r, p))
        weights = _mean_weights(len(X), starts) if weights is None else weights
        X = relative(X, self._origin)
        owner = np.searchsorted(starts, np.arange(len(X)), side="right") - 1
        for rows in self._blocks(len(X), r):
            # scikit-learn differentiates only K(X): take the off-diagonal block of [x, landmarks].
            both = np.vstack([X[rows], self._near_landmarks])
            _, gradient = self.base(both, eval_gradient=True)
            n = rows.stop - rows.start
            part = gradient[:n, n:] * weights[rows, None, None]
            np.add.at(slopes, owner[rows], part)
        features = self._solve(sums)
        # A = features L^-1 are the weights of the landmarks in each sum.
        A = solve_triangular(self.factor, features.T, lower=True, trans=1).T
        out = np.empty((len(starts), len(starts), p))
        for j in range(p):
            half = slopes[..., j] @ A.T
            out[..., j] = half + half.T - A @ inner[..., j] @ A.T
        return features @ features.T, out

    def _sums(self, X: np.ndarray, starts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        weights = _mean_weights(len(X), starts) if weights is None else weights
        X = relative(X, self._origin)
        out = np.zeros((len(starts), self.n_features))
        for rows in self._blocks(len(X)):
            values = self.base(X[rows], self._near_landmarks) * weights[rows, None]
            first = int(np.searchsorted(starts, rows.start, side="right")) - 1
            last = int(np.searchsorted(starts, rows.stop, side="left"))
            local = np.maximum(starts[first:last] - rows.start, 0)
            out[first:last] += np.add.reduceat(values, local, axis=0)
        return out

    def _solve(self, K: np.ndarray) -> np.ndarray:
        return solve_triangular(self.factor, K.T, lower=True, check_finite=False).T

    def _blocks(self, n: int, extra: int = 0) -> list[slice]:
        size = max(1, BLOCK_SIZE // max(1, self.n_features + extra) // (4 if extra else 1))
        if extra:
            size = max(1, min(size, extra))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def feature_covariances(
    features: Any, X: np.ndarray, Y: np.ndarray | None, eval_gradient: bool
) -> Any:
    """Return covariances of rows by their features, with ``eval_gradient`` the gradient too."""
    every = np.arange(len(X))
    if eval_gradient:
        return features.gram_gradient(X, every)
    phi = features.means(X, every)
    return phi @ (phi if Y is None else features.means(Y, np.arange(len(Y)))).T


def _mean_weights(n: int, starts: np.ndarray) -> np.ndarray:
    sizes = np.diff(np.append(starts, n))
    return np.repeat(1.0 / sizes, sizes)


@dataclass(eq=False, repr=False)
class LowRank(WrapperKernel):
    r"""Low-rank approximation of a kernel with a stated error, for averages over many points.

    .. math:: k(x, x') \approx k(x, Z) k(Z, Z)^{-1} k(Z, x')

    with landmarks Z chosen among ``candidates`` by an incomplete Cholesky factorisation with
    pivots [Fine2001]_, until the residual variance of every candidate is at most ``tolerance``
    times the largest variance. The residual is itself a covariance, so by the Cauchy-Schwarz
    inequality **the error of every covariance of averages over candidates is at most ``tolerance``
    times the largest variance**.

    Wrap the kernel of f in it if cells have very many points and the covariances have no closed
    form: pools whose cells average all of their members, or :class:`~skgpb.kernels.CellAverage` of
    a kernel that is not a sum of products of RBF. Cells then take O(S r) once and O(r) in every
    round.

    Parameters
    ----------
    base : Kernel
        Kernel of f over points, without a ``WhiteKernel``. Its hyperparameters are this kernel's.
    candidates : array-like of shape (n, d)
        Points at which the approximation must hold: the pool, or points that fill the box.
    tolerance : float, default=1e-3
        Largest residual variance at any candidate, as a share of the largest variance.
    max_rank : int, default=500
        Largest number of landmarks. If they are too few, an
        :class:`~skgpb.exceptions.ApproximationWarning` has the remaining error.

    Notes
    -----
    Landmarks are chosen for each set of hyperparameters; gradients keep them fixed.

    References
    ----------
    .. [Fine2001] S. Fine and K. Scheinberg, "Efficient SVM training using low-rank kernel
       representations", JMLR 2, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from skgpb.kernels import LowRank
    >>> pool = np.random.default_rng(0).random((1000, 2))
    >>> kernel = LowRank(Matern(0.5, nu=2.5), pool)
    >>> np.abs(kernel(pool) - kernel.base(pool)).max() <= 1e-3
    np.True_
    """

    base: Kernel
    candidates: ArrayLike
    tolerance: float = 1e-3
    max_rank: int = 500

    # --- covariances ---

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the approximate covariances.

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
        Y = None if Y is None else np.atleast_2d(np.asarray(Y, dtype=np.float64))
        check_pair(X, Y, eval_gradient)
        return feature_covariances(self.feature_map(X.shape[1]), X, Y, eval_gradient)

    def diag(self, X: ArrayLike) -> np.ndarray:
        """Return the diagonal of ``self(X)``, shape (n,)."""
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        phi = self.feature_map(X.shape[1]).points(X)
        return np.einsum("ij,ij->i", phi, phi)

    def evaluator(self, n_columns: int) -> FeatureEvaluator:
        """Return the evaluation by features, for the current hyperparameters."""
        return FeatureEvaluator(self.feature_map(n_columns))

    def feature_map(self, n_features: int) -> FeatureMap:
        """Return the features for the current hyperparameters.

        Parameters
        ----------
        n_features : int
            Number d of coordinates of a point.

        Returns
        -------
        Features, with the ``landmarks`` and the largest ``error`` of a covariance of averages.
            With the ``landmarks`` and the largest ``error`` of a covariance of averages.
        """
        known = self.__dict__.get("_known")
        if known is not None:
            candidates, tolerance, max_rank, features = known
            if (
                candidates is self.candidates
                and (tolerance, max_rank) == (self.tolerance, self.max_rank)
                and features.base == self.base
                and features.landmarks.shape[1] == n_features
            ):
                return features
        features = self._make_map(n_features)
        self._known = (self.candidates, self.tolerance, self.max_rank, features)
        return features

    def _make_map(self, n_features: int) -> FeatureMap:
        base = self._checked_base()
        if contains_white_noise(base):
            raise ValueError(
                "base of LowRank must not contain a WhiteKernel, which has no low-rank "
                "approximation; pass the noise variance as alpha"
            )
        candidates = check_numbers(self.candidates, "candidates")
        if candidates.shape[1] != n_features:
            raise ValueError(
                f"candidates must have {n_features} columns like X, got {candidates.shape[1]}"
            )
        if not (isinstance(self.tolerance, Real) and 0.0 < self.tolerance < 1.0):
            raise ValueError(f"tolerance must be a number in (0, 1), got {self.tolerance!r}")
        if not isinstance(self.max_rank, Integral) or self.max_rank < 1:
            raise ValueError(f"max_rank must be an integer >= 1, got {self.max_rank!r}")
        features = FeatureMap(clone(self.base), candidates, self.tolerance, int(self.max_rank))
        if features.error > features.target * (1.0 + 1e-6):
            warn(
                f"with {features.n_features} landmarks the error of covariances is "
                f"{features.error:.2g}, more than the tolerance of {features.target:.2g}: increase "
                "max_rank or tolerance",
                ApproximationWarning,
            )
        return features

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_known"}

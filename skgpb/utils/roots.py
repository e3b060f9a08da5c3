"""Roots of covariance matrices that do not depend on the processor that computes them.

Smooth kernels have covariance matrices that are singular to rounding, for which a Cholesky factor
does not exist. Other roots depend on the signs of eigenvectors, and on their choice if eigenvalues
are equal, which differ between processors. The symmetric root is unique, so that a seed gives the
same draws everywhere. Cholesky factors with pivots depend on the order of variances that are equal
up to rounding: here the first of these is the pivot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from skgpb.exceptions import NumericalWarning
from skgpb.utils.validation import MOST_DRAWN, check_draws
from skgpb.utils.warnings import warn

# Rounding: variances within this share of the largest count as equal.
_EQUAL = 1e-3
# Accuracy: prior variance, as a share of the largest, that a root by pivots may leave out; its
# largest rank.
_UNRESOLVED, _MAX_PIVOTS = 1e-8, 1500
# Rounding: a variance down to minus this share of the largest prior variance is rounding.
_NEGATIVE = 1e-6


def nonnegative(
    variances: np.ndarray, kernel: Any, largest: Callable[[], float], unit: float = 1.0
) -> np.ndarray:
    """Return variances with 0 in place of negative ones; warn if these exceed rounding.

    Parameters
    ----------
    variances : ndarray of shape (n,)
        Differences that would be at least 0 in exact arithmetic.
    kernel : Kernel or str
        Kernel of the variances, for the message.
    largest : callable
        Returns the largest prior variance: rounding errors are in proportion to it.
    unit : float, default=1.0
        Variance of 1 in units of the user.
    """
    lowest = float(variances.min(initial=0.0))
    if -lowest > np.finfo(float).tiny and -lowest > _NEGATIVE * largest():
        warn_of_clipping(-lowest * unit, kernel)
    return np.maximum(variances, 0.0)


def warn_of_clipping(amount: float, kernel: Any) -> None:
    """Warn of a negative variance, by the policy in ``skgpb.exceptions.NumericalWarning``."""
    warn(
        f"a posterior variance of {-amount:.1e} was set to 0: kernel {kernel} is not positive "
        "semi-definite, or alpha is too small compared with rounding errors",
        NumericalWarning,
    )


def next_pivot(variances: np.ndarray) -> int:
    """Return the index of the largest remaining variance, the first of several."""
    return int(np.argmax(variances >= (1.0 - _EQUAL) * variances.max()))


def pivoted_cholesky(
    column: Callable[[int], np.ndarray],
    variances: np.ndarray,
    most: int,
    enough: Callable[[np.ndarray], bool],
    largest: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factorise a covariance matrix K as P P' + rest, column by column, greedily. O(n r^2).

    Parameters
    ----------
    column : callable
        Takes i; returns column i of K (n,).
    variances : ndarray of shape (n,)
        Diagonal of K.
    most : int
        Largest rank r.
    enough : callable
        Takes the remaining variances (n,); returns whether to stop there.
    largest : float, default=0.0
        Largest prior variance, for a posterior covariance: rounding is in proportion to it.

    Returns
    -------
    factor : ndarray of shape (n, r)
        P; ``factor[pivots]`` is lower triangular.
    pivots : ndarray of shape (r,)
        Pivots in the order of their choice.
    rest : ndarray of shape (n,)
        Remaining variances.
    """
    rest, least = np.maximum(variances, 0.0), np.array(variances)
    rows = np.empty((16, len(rest)))
    pivots: list[int] = []
    while len(pivots) < min(most, len(rest)):
        p, r = next_pivot(rest), len(pivots)
        if not rest[p] > 0.0 or enough(rest):
            break
        if r == len(rows):
            rows = np.concatenate([rows, np.empty_like(rows)])
        pivot = np.sqrt(rest[p])
        rows[r] = (column(p) - rows[:r, p] @ rows[:r]) / pivot
        rows[r, pivots] = 0.0
        rows[r, p] = pivot
        pivots.append(p)
        rest -= rows[r] ** 2
        rest[p] = 0.0
        np.minimum(least, rest, out=least)
        np.maximum(rest, 0.0, out=rest)
    nonnegative(least, "in use", lambda: max(float(variances.max()), largest))
    factor = np.ascontiguousarray(rows[: len(pivots)].T)
    return factor, np.array(pivots, dtype=np.intp), rest


def symmetric_root(K: np.ndarray, tolerance: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Decompose K = U diag(s^2) U', so that its symmetric root is U diag(s) U'.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semi-definite and symmetric matrix, up to rounding.
    tolerance : float, default=None
        Eigenvalues up to this share of the largest are left out; None for the share that is
        rounding, n times the machine epsilon.

    Returns
    -------
    U : ndarray of shape (n, rank)
        Orthonormal columns.
    s : ndarray of shape (rank,)
        Standard deviations along them.
    """
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    if tolerance is None:
        tolerance = len(K) * np.finfo(float).eps
    keep = values > tolerance * max(values[-1], 0.0)
    return vectors[:, keep], np.sqrt(values[keep])


def joint_draws(mean: np.ndarray, cov: np.ndarray, n_samples: int, random_state: Any) -> np.ndarray:
    """Return draws (n, n_samples) from N(mean, cov), even if cov is singular."""
    n_samples = check_draws(n_samples, len(mean))
    U, s = symmetric_root(cov)
    normal = check_random_state(random_state).standard_normal((len(mean), n_samples))
    return mean[:, None] + U @ (s[:, None] * (U.T @ normal))


class PivotedRoot:
    """Joint draws by a pivoted Cholesky factor P of the prior, if a few points determine f.

    Given f at the r pivots, the variance of f at the other points is at most a share of 1e-8 of the
    prior variance, with or without data. So f is drawn at the pivots from their posterior, with
    covariance :math:`P_p (I - B B^T) P_p^T` and :math:`P P^T` the prior, and extended by P.

    Parameters
    ----------
    column : callable
        Takes an index; returns that column (n,) of the prior covariance.
    variances : ndarray of shape (n,)
        Diagonal of the prior covariance.
    """

    factor: np.ndarray
    pivots: np.ndarray

    def __init__(self, column: Callable[[int], np.ndarray], variances: np.ndarray) -> None:
        negligible = _UNRESOLVED * variances.max()
        self.factor, self.pivots, _ = pivoted_cholesky(
            column, variances, _MAX_PIVOTS, lambda left: left.max() <= negligible
        )

    def draws(self, V: np.ndarray, n_samples: int, random_state: Any) -> np.ndarray:
        """Return draws (n, n_samples) around the posterior mean.

        V (m, t), m >= n, is the covariance with the observed times the inverse factor of theirs.
        """
        n_points = len(self.factor)
        if type(n_samples) is not int or not 0 <= n_samples * n_points <= MOST_DRAWN:
            n_samples = check_draws(n_samples, n_points)
        B = solve_triangular(self.factor[self.pivots], V[self.pivots], lower=True)
        normal = check_random_state(random_state).standard_normal((len(B), n_samples))
        # The symmetric root of I - B B' differs from I only in the span of the t observations,
        # where t is small: O(r t min(r, t)) instead of O(r^3).
        U, s, _ = np.linalg.svd(B, full_matrices=False)
        known = 1.0 - np.sqrt(nonnegative(1.0 - s**2, "in use", lambda: 1.0))
        return self.factor @ (normal - U @ (known[:, None] * (U.T @ normal)))

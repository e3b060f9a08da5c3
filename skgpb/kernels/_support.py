"""Answers that are weighted sums of f over one fixed set of points, common to all queries.

With the support S = (s_1..s_N), a query has coefficients c, shape (r,), and its answer is
g = sum_j (R' c)_j f(s_j) for a fixed matrix R (r, N), the identity unless it is compressed::

    cov(g, g')   = c' G c',      G = R k(S, S) R'      once for each set of hyperparameters
    cov(f(x), g) = phi(x)' c,    phi(x) = R k(S, x)    once for each x

so that a covariance with g costs O(r) for a point and O(r) for a query, after O(r^2) for one of two
queries.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._white import contains_white_noise, noise_of_points, variances
from skgpb.kernels.evaluator import origin_of, relative
from skgpb.utils.roots import nonnegative
from skgpb.utils.validation import box_around

#: Memory: numbers in one block of base evaluations (64 MB).
BLOCK_SIZE = 2**23
#: Memory: numbers in the gradient of the base over the whole support (256 MB).
GRADIENT_SIZE = 2**25


@dataclass
class SupportRows:
    """Embedding of n rows, a mixture of points and queries."""

    is_query: np.ndarray  # (n,)
    points: np.ndarray  # (n_points, d)
    features: np.ndarray  # (n_points, r), phi
    coefficients: np.ndarray  # (n_queries, r), c

    def __len__(self) -> int:
        return len(self.is_query)


class Support:
    """The fixed points and, if it is compressed, R.

    Parameters
    ----------
    points : ndarray of shape (N, d)
        The fixed points.
    base : Kernel
        Kernel of f.

    Attributes
    ----------
    origin : ndarray of shape (d,) or None
        Origin of the points, if they are far from zero; all points are relative to it.
    points : ndarray of shape (N, d)
        The fixed points.
    """

    def __init__(self, points: np.ndarray, base: Kernel) -> None:
        self.origin = origin_of(base, box_around(points))
        self.points = relative(points, self.origin)

    @abstractmethod
    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a mask (n,) of queries in rows (n, c), the points of the others, coefficients."""

    def compress(self, K: np.ndarray) -> np.ndarray:
        """Return K R' (n, r) for K (n, N)."""
        return K

    def gram(self, base: Kernel) -> np.ndarray:
        """Return G (r, r), noiseless."""
        K = base(self.points, self.points.copy())
        return 0.5 * (K + K.T)

    def expand(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the weights c R (n, N) of the fixed points in answers."""
        return coefficients

    def query_noise(self, base: Kernel, coefficients: np.ndarray) -> np.ndarray:
        """Return the white noise of f that remains in each answer (n,)."""
        return np.zeros(len(coefficients))


class SupportEvaluator:
    """The two-step evaluation for answers over a fixed support."""

    memory = "whole"

    def __init__(self, base: Kernel, support: Support) -> None:
        self.base: Kernel = base
        self.support: Support = support
        self.gram: np.ndarray = support.gram(base)

    def embed(self, rows: np.ndarray, offsets: None = None) -> SupportRows:
        """Return coefficients of queries and features of points."""
        asked, points, coefficients = self.support.split(rows)
        features = np.zeros((len(points), len(self.gram)))
        step = max(1, BLOCK_SIZE // max(1, len(self.support.points)))
        for start in range(0, len(points), step):
            part = slice(start, start + step)
            features[part] = self.support.compress(self.base(points[part], self.support.points))
        return SupportRows(asked, points, features, coefficients)

    @staticmethod
    def join(first: SupportRows, second: SupportRows) -> SupportRows:
        """Return both embeddings, one below the other."""
        return SupportRows(
            np.concatenate([first.is_query, second.is_query]),
            np.concatenate([first.points, second.points]),
            np.concatenate([first.features, second.features]),
            np.concatenate([first.coefficients, second.coefficients]),
        )

    def cross(self, E: SupportRows, F: SupportRows) -> np.ndarray:
        """Return the covariances (n, m)."""
        K = np.empty((len(E), len(F)))
        if len(E.points) and len(F.points):
            # a copy: some kernels would treat base(X, X) as base(X), with its white noise
            K[np.ix_(~E.is_query, ~F.is_query)] = self.base(E.points, F.points.copy())
        K[np.ix_(~E.is_query, F.is_query)] = E.features @ F.coefficients.T
        K[np.ix_(E.is_query, ~F.is_query)] = E.coefficients @ F.features.T
        if len(E.coefficients) <= len(F.coefficients):
            answers = (E.coefficients @ self.gram) @ F.coefficients.T
        else:
            answers = E.coefficients @ (self.gram @ F.coefficients.T)
        K[np.ix_(E.is_query, F.is_query)] = answers
        return K

    def diag(self, E: SupportRows) -> np.ndarray:
        """Return the variances (n,)."""
        out = np.empty(len(E))
        if len(E.points):
            out[~E.is_query] = variances(self.base, E.points) - noise_of_points(self.base, E.points)
        out[E.is_query] = self._variances_of_answers(E)
        return out

    def _variances_of_answers(self, E: SupportRows) -> np.ndarray:
        C = E.coefficients
        return self._nonnegative(np.einsum("ij,ij->i", C @ self.gram, C))

    def _nonnegative(self, variances: np.ndarray) -> np.ndarray:
        return nonnegative(variances, self.base, lambda: float(self.gram.diagonal().max()))

    def gradient(self, E: SupportRows) -> np.ndarray | None:
        """Return d K / d theta (n, n, p) by the gradient of the base, noiseless.

        None if the base has white noise, from which its gradient cannot be separated, or if the
        gradient over all points would not fit in ``GRADIENT_SIZE``.
        """
        p, size = len(self.base.theta), len(E.points) + len(self.support.points)
        if contains_white_noise(self.base) or size**2 * max(1, p) > GRADIENT_SIZE:
            return None
        _, slopes = self.base(np.vstack((E.points, self.support.points)), eval_gradient=True)
        weights = np.zeros((len(E), size))
        weights[np.flatnonzero(~E.is_query), np.arange(len(E.points))] = 1.0
        weights[E.is_query, len(E.points) :] = self.support.expand(E.coefficients)
        out = np.empty((len(E), len(E), p))
        for j in range(p):
            slope = weights @ np.ascontiguousarray(slopes[..., j]) @ weights.T
            out[..., j] = 0.5 * (slope + slope.T)
        return out

    def noise(self, E: SupportRows) -> np.ndarray:
        """Return the white noise of each functional (n,)."""
        out = np.zeros(len(E))
        if len(E.points):
            out[~E.is_query] = noise_of_points(self.base, E.points)
        out[E.is_query] = self.support.query_noise(self.base, E.coefficients)
        return out

"""Weighted sums of f over sets of points, each in a context of its own.

In a context c the points of a set are [c, x], so that no two answers share their points and a
covariance matrix of all sets cannot be cached. The rows of a list are expanded instead: to distinct
points, and a sparse matrix of their weights in each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_diag, csr_array
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._support import BLOCK_SIZE, GRADIENT_SIZE
from skgpb.kernels._white import contains_white_noise, noise_of_points
from skgpb.kernels.evaluator import origin_of
from skgpb.utils.roots import nonnegative
from skgpb.utils.validation import box_around

#: Format: last column of a row that is a point.
POINT = -1.0


def set_numbers(rows: np.ndarray, n_sets: int, name: str = "X") -> np.ndarray:
    """Return the indices of sets (n,) in the last column of rows, POINT for points; checked."""
    last = rows[:, -1]
    known = (last == POINT) | ((last >= 0) & (last < n_sets) & (last == np.floor(last)))
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"the last column of {name} must hold -1, a point, or the number of a set, from 0 to"
            f" {n_sets - 1}; row {row} has {float(last[row])!r}."
        )
    return last.astype(np.intp)


@dataclass
class ExpandedRows:
    """Embedding of n rows, points and sets mixed."""

    points: np.ndarray  # (N, n_context + d)
    W: csr_array  # (n, N)


class SetsInContexts:
    """The two-step evaluation for rows [context, center, number of a set] and points.

    Parameters
    ----------
    base : Kernel
        Kernel of f, over points with the context in front.
    points : ndarray of shape (n_points, d)
        Distinct points of all sets.
    R : csr_array of shape (n_sets, n_points)
        Weights of the points in each set.
    n_context : int
        Number of columns of a context.
    """

    memory = "whole"

    def __init__(self, base: Kernel, points: np.ndarray, R: csr_array, n_context: int) -> None:
        self.base, self.R, self.n_context = base, R, n_context
        # Box of the points, in case they are far from zero; contexts are unknown in advance.
        box = np.concatenate([np.tile([0.0, 1.0], (n_context, 1)), box_around(points)])
        self.origin = origin_of(base, box)
        self.points = points

    def embed(self, rows: np.ndarray, offsets: None = None) -> ExpandedRows:
        """Return the expanded rows, with every point of a context once."""
        n = self.n_context
        contexts, of = np.unique(rows[:, :n], axis=0, return_inverse=True)
        numbers = set_numbers(rows, self.R.shape[0])
        points, weights, order = [rows[:0, :-1]], [], []
        for i, context in enumerate(contexts):
            mine = np.flatnonzero(of.ravel() == i)
            sets, singles = (mine[(numbers[mine] >= 0) == asked] for asked in (True, False))
            some = self.R[numbers[sets]]
            used = np.unique(some.indices)
            beside = np.tile(context, (len(used), 1))
            points += [np.hstack([beside, self.points[used]]), rows[singles, :-1]]
            weights += [some[:, used], csr_array(np.eye(len(singles)))]
            order += [sets, singles]
        every = np.concatenate(points)
        if self.origin is not None:
            every = every - self.origin
        if not len(rows):
            return ExpandedRows(every, csr_array((0, 0)))
        place = np.argsort(np.concatenate(order), kind="stable")
        return ExpandedRows(every, csr_array(block_diag(weights, format="csr"))[place])

    @staticmethod
    def join(first: ExpandedRows, second: ExpandedRows) -> ExpandedRows:
        """Return both embeddings, one below the other."""
        points = np.concatenate([first.points, second.points])
        return ExpandedRows(points, csr_array(block_diag([first.W, second.W], format="csr")))

    def cross(self, E: ExpandedRows, F: ExpandedRows) -> np.ndarray:
        """Return the covariances (n, m)."""
        step = max(1, BLOCK_SIZE // max(1, len(F.points)))
        K = np.zeros((E.W.shape[0], F.W.shape[0]))
        for start in range(0, len(E.points), step):
            part = slice(start, start + step)
            # a copy: some kernels would treat base(X, X) as base(X), with its white noise
            block = self.base(E.points[part].copy(), F.points)
            K += E.W[:, part] @ (F.W @ block.T).T
        return K

    def diag(self, E: ExpandedRows) -> np.ndarray:
        """Return the variances (n,)."""
        W, out = E.W, np.empty(E.W.shape[0])
        for i in range(len(out)):
            own = slice(W.indptr[i], W.indptr[i + 1])
            points, weights = E.points[W.indices[own]], W.data[own]
            out[i] = weights @ self.base(points, points.copy()) @ weights
        return nonnegative(out, self.base, lambda: float(self.base.diag(E.points).max()))

    def noise(self, E: ExpandedRows) -> np.ndarray:
        """Return the white noise of each functional (n,)."""
        if not contains_white_noise(self.base):
            return np.zeros(E.W.shape[0])
        return E.W.power(2) @ noise_of_points(self.base, E.points)

    def gradient(self, E: ExpandedRows) -> np.ndarray | None:
        """Return d K / d theta (n, n, p) by the gradient of the base, noiseless.

        None if the base has white noise, from which its gradient cannot be separated, or if the
        gradient over all points would not fit in ``GRADIENT_SIZE``.
        """
        p, n = len(self.base.theta), E.W.shape[0]
        if contains_white_noise(self.base) or len(E.points) ** 2 * max(1, p) > GRADIENT_SIZE:
            return None
        _, slopes = self.base(E.points, eval_gradient=True)
        out = np.empty((n, n, p))
        for j in range(p):
            slope = E.W @ (E.W @ np.ascontiguousarray(slopes[..., j]).T).T
            out[..., j] = 0.5 * (slope + slope.T)
        return out

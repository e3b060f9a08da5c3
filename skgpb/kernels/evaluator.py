"""The one way in which a posterior evaluates a kernel: two steps, with shortcuts where they exist.

A functional is one row of descriptors, or the mean over a block of rows, which begin at
``offsets``. Covariances are evaluated in two steps, so that the expensive half is done once for
each::

    evaluator = evaluator_of(kernel, n_columns)  # for the present hyperparameters
    E = evaluator.embed(rows, offsets)           # whatever depends on one functional only
    evaluator.cross(E, F)                        # (n, m), noiseless

A kernel may bring its own by a method ``evaluator(n_columns)``; any other kernel of scikit-learn
gets :class:`PlainEvaluator`, which calls it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.gaussian_process.kernels import Kernel, WhiteKernel

from skgpb.utils import box_around

#: Domains so many sides away from zero are far: coordinates lose digits when they are divided by
#: length scales before they are subtracted from each other.
FAR = 1e3


class Evaluator(Protocol):
    """Noiseless covariances at fixed hyperparameters.

    Attributes
    ----------
    memory : {"none", "whole", "rows"}
        Whether there is an embedding that is worth keeping: none, that of rows being the rows
        themselves, of which blocks are averaged afterwards; as a whole, to be joined with that
        of what comes later; or row by row, an embedding being an array (n, r).
    """

    memory: str

    def embed(self, rows: np.ndarray, offsets: Any = None) -> Any:
        """Return what is needed of each functional, once; of means where embeddings are arrays."""

    def join(self, first: Any, second: Any) -> Any:
        """Return the embedding of two lists of functionals, one below the other."""

    def cross(self, E: Any, F: Any) -> np.ndarray:
        """Return the covariances (n, m), a new C-contiguous array."""

    def diag(self, E: Any) -> np.ndarray:
        """Return the variances (n,)."""

    def noise(self, E: Any) -> np.ndarray:
        """Return the white noise of each functional (n,)."""


def evaluator_of(
    kernel: Kernel,
    n_columns: int,
    origin: np.ndarray | None = None,
    sizes: np.ndarray | None = None,
) -> Evaluator:
    """Return the evaluator of any kernel at its present hyperparameters.

    ``origin`` (n_columns,) may be subtracted from rows far from zero, where the kernel sees
    nothing but differences. Of boxes of ``sizes`` (n_sizes, d) there will be many.
    """
    own = getattr(kernel, "evaluator", None)
    found = None if own is None else own(n_columns)
    if found is None:
        return PlainEvaluator(kernel, origin)
    by_sizes = getattr(found, "by_sizes", None)
    return found if sizes is None or by_sizes is None else by_sizes(sizes)


def origin_of(kernel: Kernel, bounds: np.ndarray) -> np.ndarray | None:
    """Middle (d,) of a domain (d, 2) far from zero, where the kernel sees differences alone.

    scikit-learn's kernels divide coordinates by length scales, which costs the digits that tell
    the points of such a domain apart. Others, as DotProduct, depend on where zero is.
    """
    side = bounds[:, 1] - bounds[:, 0]
    far = np.abs(bounds).max(axis=1) > FAR * side
    if not far.any() or not kernel.is_stationary():
        return None
    return np.where(far, bounds[:, 0] + 0.5 * side, 0.0)


def relative(X: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Points (n, d) as a kernel takes them that sees nothing but differences."""
    return X if origin is None else X - origin


def near(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Points (n, d) relative to where they themselves lie, see :func:`origin_of`."""
    return relative(X, origin_of(kernel, box_around(X)))


def contains_white_noise(kernel: Kernel) -> bool:
    """Whether a WhiteKernel occurs anywhere in a kernel expression."""
    inside = (part for part in vars(kernel).values() if isinstance(part, Kernel))
    return isinstance(kernel, WhiteKernel) or any(map(contains_white_noise, inside))


def block_means(K: np.ndarray, offsets: np.ndarray | None, axis: int) -> np.ndarray:
    """Average blocks of rows (axis 0) or columns (axis 1) of a covariance matrix."""
    if offsets is None:
        return K
    sizes = np.diff(offsets)
    sums = np.add.reduceat(K, offsets[:-1], axis=axis)
    return sums / sizes.reshape([-1 if a == axis else 1 for a in range(K.ndim)])


class PlainEvaluator:
    """Any kernel of scikit-learn; the embedding is the rows themselves.

    Parameters
    ----------
    kernel : Kernel
        Over descriptor rows.
    origin : ndarray of shape (n_columns,) or None, default=None
        Subtracted from all rows, for a kernel that sees nothing but differences.
    """

    memory = "none"

    def __init__(self, kernel: Kernel, origin: np.ndarray | None = None) -> None:
        self.kernel = kernel
        self.origin = origin
        self.white: bool = contains_white_noise(kernel)

    def embed(self, rows: np.ndarray, offsets: None = None) -> np.ndarray:
        """Return the rows."""
        return rows

    def join(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return two lists of rows, one below the other."""
        return np.concatenate([first, second])

    def cross(self, E: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the covariances (n, m)."""
        K = self.kernel(relative(E, self.origin), relative(F, self.origin))
        return np.asarray(K, dtype=np.float64, order="C")

    def diag(self, E: np.ndarray) -> np.ndarray:
        """Return the variances (n,)."""
        total = self.kernel.diag(relative(E, self.origin))
        return np.asarray(total, dtype=np.float64) - self.noise(E)

    def noise(self, E: np.ndarray) -> np.ndarray:
        """Return what k(x, x) has over k(x, copy of x), for each row (n,)."""
        if not self.white:
            return np.zeros(len(E))
        rows = relative(E, self.origin)
        if hasattr(self.kernel, "noise_diag"):
            return self.kernel.noise_diag(rows)
        singles = rows[:, np.newaxis]
        return np.array([self.kernel(x)[0, 0] - self.kernel(x, x.copy())[0, 0] for x in singles])


class FeatureEvaluator:
    """A kernel of finitely many features: the embedding is the features (n, r).

    Parameters
    ----------
    features : object
        Has ``means(rows, starts)``, the features of means over runs of rows.
    """

    memory = "rows"

    def __init__(self, features: Any) -> None:
        self.features = features

    def embed(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the features (n, r)."""
        return self.features.means(rows, np.arange(len(rows)) if offsets is None else offsets[:-1])

    def join(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the features of both lists."""
        return np.concatenate([first, second])

    def cross(self, E: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the covariances (n, m)."""
        return E @ F.T

    def diag(self, E: np.ndarray) -> np.ndarray:
        """Return the variances (n,)."""
        return np.einsum("ij,ij->i", E, E)

    def noise(self, E: np.ndarray) -> np.ndarray:
        """Return zeros: no features describe white noise."""
        return np.zeros(len(E))

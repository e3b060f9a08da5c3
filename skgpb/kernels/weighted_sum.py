r"""Feedback that is a weighted sum of f over some points: districts, contrasts, coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._indirect import IndirectKernel, as_points
from skgpb.kernels._sets_in_contexts import POINT, SetsInContexts, set_numbers
from skgpb.kernels._support import BLOCK_SIZE, Support, SupportEvaluator, SupportRows
from skgpb.kernels._white import noise_of_points
from skgpb.kernels.evaluator import Evaluator
from skgpb.utils.validation import as_labels, check_size

__all__ = ["WeightedSum"]


@dataclass(eq=False, repr=False)
class WeightedSum(IndirectKernel):
    r"""Kernel for answers that are weighted sums of f over points, with weights of any sign.

    .. math:: k(A, B) = \sum_{i \in A} \sum_{j \in B} w_i\, w_j\, k_{base}(x_i, x_j)

    for sets A and B of points, one set for each of the ``groups``, of any size. Examples are the
    average over a district weighted by its population, the difference between two points, and a
    Fourier coefficient by quadrature. Points of f and sets can be mixed.

    Parameters
    ----------
    base : Kernel, default=None
        Kernel of f, over points with d coordinates. Its hyperparameters are this kernel's.
    X : array-like of shape (n_points, d), default=None
        Points of all sets, one below the other.
    groups : array-like of shape (n_points,), default=None
        The set of each point: numbers or names. A point in several sets is repeated. None is one
        set of all points.
    weights : array-like of shape (n_points,), default=None
        Weights of the points in the sum; they are not divided by their total. None averages over
        each set.
    n_context : int, default=0
        Number of coordinates of ``base`` before the coordinates of ``X``: a context, which is the
        same for all points of a set and differs between rows.

    Notes
    -----
    Rows are ``[x_1..x_d, index]``: the row of a set has the centre of the set, which is only
    informative, and the index of the set in the order of the sorted ``groups``; the row of a point
    has -1. :meth:`queries` and :meth:`points` write them. A context stands before these columns.

    The covariances of all sets are computed once for each theta, by N^2 evaluations of the base for
    N points; then a pair of sets costs nothing, and a point N evaluations. With contexts a pair of
    sets of n and m points costs n m evaluations.

    White noise in ``base`` is noise of f at each point of a set: it adds ``sum_i w_i^2
    noise_level`` to the diagonal of ``K(X)``, and nothing between sets.

    Examples
    --------
    Two counties with their populations, and the difference between the two:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import OnlineGaussianProcessRegressor
    >>> from skgpb.kernels import WeightedSum
    >>> towns = np.array([[0.1], [0.2], [0.3], [0.7], [0.9]])
    >>> county = np.array(["East", "East", "East", "West", "West"])
    >>> people = np.array([3.0, 1.0, 1.0, 4.0, 1.0])
    >>> share = people / 5.0  # both have five
    >>> both = np.where(county == "West", 1.0, -1.0)
    >>> kernel = WeightedSum(
    ...     RBF(0.3),
    ...     np.concatenate([towns, towns]),
    ...     np.concatenate([county, np.full(5, "gap")]),
    ...     np.concatenate([share, share * both]),
    ... )
    >>> gp = OnlineGaussianProcessRegressor(kernel, alpha=1e-6, optimizer=None)
    >>> gp = gp.fit(kernel.queries(["East", "gap"]), [1.0, 0.5])
    >>> gp.predict(kernel.queries(["West"])).round(3)
    array([1.5])
    >>> gp.predict(kernel.points([[0.1]])).shape  # f in one town
    (1,)
    """

    base: Kernel | None = None
    X: ArrayLike | None = None
    groups: ArrayLike | None = None
    weights: ArrayLike | None = None
    n_context: int = 0

    def queries(self, A: ArrayLike, contexts: ArrayLike | None = None) -> np.ndarray:
        """Return the rows of sets, given by their names in ``groups``, (n,) or (n, 1).

        ``contexts`` (n, n_context), or (1, n_context) for all, are the contexts of the rows. With
        None the rows have no context; optimizers add it.
        """
        labels, _, _ = self._sets()
        asked = as_labels(A)
        if asked.ndim == 2 and asked.shape[1] == 1:
            asked = asked[:, 0]
        if asked.ndim != 1:
            raise ValueError(f"A must name sets, shape (n,) or (n, 1); got shape {asked.shape}.")
        known = np.isin(asked, labels)
        if not known.all():
            raise ValueError(
                f"A must name sets among groups, {_some(labels)}; got"
                f" {asked[int(np.argmin(known))].item()!r}."
            )
        rows = self.rows_of_queries(asked[:, None])
        if contexts is None:
            return rows
        given = as_points(contexts, "contexts")
        if given.shape[1] != self.n_context or len(given) not in (1, len(rows)):
            raise ValueError(
                f"contexts must have n_context={self.n_context!r} columns, and a row for each of"
                f" {len(rows)} sets or one for all; got shape {given.shape}."
            )
        return np.hstack([np.broadcast_to(given, (len(rows), given.shape[1])), rows])

    def rows_of_points(self, X: np.ndarray) -> np.ndarray:
        """Return rows of f at points X (n, n_context + d)."""
        return np.column_stack([X, np.full(len(X), POINT)])

    def rows_of_queries(self, A: np.ndarray) -> np.ndarray:
        """Return rows of sets, given by their names A (n, 1), without a context."""
        labels, points, R = self._sets()
        sizes = abs(R)
        total = sizes.sum(axis=1)
        centers = (sizes @ points) / np.where(total > 0.0, total, 1.0)[:, None]
        numbers = np.searchsorted(labels, A[:, 0])
        return np.column_stack([centers[numbers], numbers])

    def mean_of(self, rows: np.ndarray, mean: Callable) -> np.ndarray:
        """Return the functionals (n,) of a given function ``mean``."""
        if self.n_context:
            written = self._make_evaluator(rows.shape[1]).embed(rows)
            return written.W @ mean(written.points)
        _, points, R = self._sets()
        asked = rows[:, -1] != POINT
        values = np.empty(len(rows))
        if asked.any():
            values[asked] = (R @ mean(points))[rows[asked, -1].astype(np.intp)]
        if not asked.all():
            values[~asked] = mean(np.ascontiguousarray(rows[~asked, :-1]))
        return values

    def _check_rows(self, rows: np.ndarray, name: str) -> None:
        labels, points, _ = self._sets()
        self._check_columns(rows.shape[1], points, name)
        set_numbers(rows, len(labels), name)

    def _check_columns(self, n: int, points: np.ndarray, name: str) -> None:
        needed = self.n_context + points.shape[1] + 1
        if n != needed:
            context = "context, " if self.n_context else ""
            raise ValueError(
                f"{name} must hold rows [{context}point, number of a set], {needed} columns, as"
                f" written by points or queries; got {n}."
            )

    def _make_evaluator(self, n_columns: int) -> Evaluator:
        _, points, R = self._sets()
        self._check_columns(n_columns, points, "X")
        base = self._checked_base()
        if self.n_context:
            return SetsInContexts(base, points, R, self.n_context)
        return SetEvaluator(base, _Sets(points, R, base))

    def _sets(self) -> tuple[np.ndarray, np.ndarray, csr_array]:
        """Return the names of the sets, distinct points (N, d), and weights (n_sets, N)."""
        check_size(self.n_context, "n_context of WeightedSum", 0)
        if self.X is None:
            raise ValueError("WeightedSum needs X, the points of all sets.")
        every = as_points(self.X, "X")
        n = len(every)
        groups = np.zeros(n, dtype=np.intp) if self.groups is None else as_labels(self.groups)
        if groups.shape != (n,) or groups.dtype.kind not in "iufbUS":
            raise ValueError(
                f"groups must hold a number or a name for each of {n} points; got"
                f" {groups.dtype.name} of shape {groups.shape}."
            )
        labels, number = np.unique(groups, return_inverse=True)
        if self.weights is None:
            weights = 1.0 / np.bincount(number)[number]
        else:
            weights = as_points(np.reshape(self.weights, (-1, 1)), "weights")[:, 0]
            if len(weights) != n:
                raise ValueError(
                    f"weights must hold a number for each of {n} points; got {len(weights)}."
                )
        distinct, place = np.unique(every, axis=0, return_inverse=True)
        R = csr_array((weights, (number, place.ravel())), shape=(len(labels), len(distinct)))
        return labels, distinct, R


class _Sets(Support):
    """Distinct points of all sets; an answer has one coefficient, the index of its set."""

    def __init__(self, points: np.ndarray, R: csr_array, base: Kernel) -> None:
        super().__init__(points, base)
        self.R = R

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a mask (n,) of sets, the points of the other rows, and indices of sets (n, 1)."""
        asked = set_numbers(rows, self.R.shape[0]) != POINT
        points = np.ascontiguousarray(rows[~asked, :-1])
        if self.origin is not None:
            points -= self.origin
        return asked, points, rows[asked, -1:]

    def compress(self, K: np.ndarray) -> np.ndarray:
        """Return K R' (n, n_sets) for K (n, N)."""
        return (self.R @ K.T).T

    def gram(self, base: Kernel) -> np.ndarray:
        """Return the covariances of sets (n_sets, n_sets), noiseless, in blocks of the base."""
        n = len(self.points)
        step = max(1, BLOCK_SIZE // n)
        K = np.zeros((self.R.shape[0],) * 2)
        for start in range(0, n, step):
            part = slice(start, start + step)
            # a copy: some kernels would treat base(X, X) as base(X), with its white noise
            block = base(self.points[part].copy(), self.points)
            K += self.R[:, part] @ self.compress(block)
        return 0.5 * (K + K.T)

    def expand(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the weights (n, N) of the points in answers."""
        return self.R[coefficients[:, 0].astype(np.intp)].toarray()

    def query_noise(self, base: Kernel, coefficients: np.ndarray) -> np.ndarray:
        """Return the white noise of f that remains in each answer (n,)."""
        noise = self.R.power(2) @ noise_of_points(base, self.points)
        return noise[coefficients[:, 0].astype(np.intp)]


class SetEvaluator(SupportEvaluator):
    """Evaluator of rows with the index of a set instead of coefficients."""

    def cross(self, E: SupportRows, F: SupportRows) -> np.ndarray:
        """Return the covariances (n, m)."""
        mine, theirs = (each.coefficients[:, 0].astype(np.intp) for each in (E, F))
        K = np.empty((len(E), len(F)))
        if len(E.points) and len(F.points):
            # a copy: some kernels would treat base(X, X) as base(X), with its white noise
            K[np.ix_(~E.is_query, ~F.is_query)] = self.base(E.points, F.points.copy())
        K[np.ix_(~E.is_query, F.is_query)] = E.features[:, theirs]
        K[np.ix_(E.is_query, ~F.is_query)] = F.features[:, mine].T
        K[np.ix_(E.is_query, F.is_query)] = self.gram[np.ix_(mine, theirs)]
        return K

    def _variances_of_answers(self, E: SupportRows) -> np.ndarray:
        numbers = E.coefficients[:, 0].astype(np.intp)
        return self._nonnegative(self.gram[numbers, numbers])


def _some(labels: np.ndarray) -> str:
    shown = ", ".join(repr(each.item()) for each in labels[:5])
    return shown + (", ..." if len(labels) > 5 else "")

r"""A window learned from pairs: a smooth map from queries to centres, and scatter around it.

The empirical conditional mean operator of [IQBO]_ smooths embeddings over neighbouring queries, so
that its error is that of local averages. If x is a smooth function of a plus scatter that is much
the same everywhere, regressing x itself on a and adding the scatter is far more accurate. Points
that were clipped to a box pile up on its faces, by which they are recognised. They are regressed as
censored, and the window gets the mean and the variance that remain after clipping.

Windows and the operator are compared by the same leave-one-out loss of the conditional mean
embedding, which does not depend on rewards.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", section 2 and equation 5.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import log_ndtr, ndtr
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct, Kernel

from skgpb import defaults
from skgpb.kernels._operator import ConditionalMeanOperator
from skgpb.kernels.conditional_mean import ConditionalMean
from skgpb.kernels.evaluator import relative
from skgpb.kernels.window_mean import WindowMean

# Rounding: a column is constant if its standard deviation is below this fraction of its size.
FLAT = 1e-12
# Accuracy: number of rounds that impute the clipped values.
ROUNDS = 30
# Rounding: smallest standard deviation after clipping, as a share of the one before.
NARROWEST = 1e-3


class RidgeScatter:
    """x = h(a) + scatter, clipped if points pile up; h by kernel ridge regression.

    It is immutable, so that copies of a kernel share it.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Points of the pairs.
    A : ndarray of shape (N, q)
        Queries of the pairs.
    query_kernel : Kernel, default=None
        Kernel over queries, as of :class:`~skgpb.kernels.ConditionalMean`. Its hyperparameters and
        the regularisation minimise the leave-one-out error of the regression.
    scaled : bool, default=False
        Whether the last column of A is the standard deviation of the scatter, which is then not
        learned.

    Attributes
    ----------
    faces : ndarray of shape (2, d)
        Faces at which points were clipped, infinite if they were not.
    tau : ndarray of shape (d,)
        Standard deviation of the scatter before clipping, if it is learned.
    """

    center: np.ndarray
    spread: np.ndarray

    def __init__(
        self,
        X: np.ndarray,
        A: np.ndarray,
        query_kernel: Kernel | None = None,
        scaled: bool = False,
    ) -> None:
        self.scaled = scaled
        self._given = A[:, -1:] if scaled else None
        self._A = A
        A = A[:, :-1] if scaled else A
        self.center, self.spread = X.mean(axis=0), X.std(axis=0)
        flat = self.spread <= FLAT * np.maximum(1.0, np.abs(X).max(axis=0))
        self.spread = np.where(flat, 1.0, self.spread)
        low, high = X.min(axis=0), X.max(axis=0)
        least = max(defaults.PILED_UP, defaults.PILED_UP_SHARE * len(X))
        piled = np.array([(low == X).sum(axis=0), (high == X).sum(axis=0)]) >= least
        piled &= ~flat
        self.faces: np.ndarray = np.where(piled, [low, high], [[-np.inf], [np.inf]])
        Y = (X - self.center) / self.spread
        # With the linear kernel over targets the embedding of a target is the target itself.
        linear = DotProduct(0.0, "fixed")
        self.operator: ConditionalMeanOperator = ConditionalMeanOperator(
            Y, A, query_kernel, None, None, linear
        )
        self._targets = Y
        self.tau: np.ndarray = self.operator.leave_one_out_residuals(Y).std(axis=0) * self.spread
        if piled.any():
            self._impute(X, A)
        if self.operator.exact:
            self._dual = cho_solve(self.operator.factor, self._targets)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def _impute(self, X: np.ndarray, A: np.ndarray) -> None:
        """Replace clipped points by their expectation beyond the face, given h and tau."""
        clipped = [self.faces[0] >= X, self.faces[1] <= X]
        weights = self.operator.weights(A)
        Y, variance = X.copy(), np.zeros_like(X)
        for _ in range(ROUNDS):
            tau = self.tau if self._given is None else self._given
            h = (weights @ ((Y - self.center) / self.spread)) * self.spread + self.center
            for side, sign in ((0, -1.0), (1, 1.0)):
                z = sign * (self.faces[side] - h) / tau
                z = np.where(clipped[side], z, 0.0)
                ratio = np.exp(-0.5 * z * z - 0.5 * np.log(2 * np.pi) - log_ndtr(-z))
                Y = np.where(clipped[side], h + sign * tau * ratio, Y)
                left = tau**2 * np.clip(1.0 + z * ratio - ratio**2, 0.0, 1.0)
                variance = np.where(clipped[side], left, variance)
            residuals = (
                self.operator.leave_one_out_residuals((Y - self.center) / self.spread) * self.spread
            )
            self.tau = np.sqrt((residuals**2 + variance).mean(axis=0))
        self._targets = (Y - self.center) / self.spread

    def _moments(
        self, h: np.ndarray, given: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance (n, d) of clip(h + tau xi), with xi standard normal."""
        tau = np.broadcast_to(self.tau if given is None else given, h.shape)
        if np.isinf(self.faces).all():
            return h, tau**2
        low, high = self.faces
        with np.errstate(invalid="ignore", over="ignore"):
            a, b = (low - h) / tau, (high - h) / tau
        below, above = ndtr(a), ndtr(-b)
        inside = 1.0 - below - above
        at_a, at_b = (np.exp(-0.5 * e * e) / np.sqrt(2 * np.pi) for e in (a, b))
        # infinite faces have no mass and no density
        a, b = (np.where(np.isfinite(e), e, 0.0) for e in (a, b))
        first = a * below + b * above + at_a - at_b
        second = a * a * below + b * b * above + inside + a * at_a - b * at_b
        variance = np.maximum(second - first**2, NARROWEST**2)
        return h + tau * first, tau**2 * variance

    def _center_of(self, A: np.ndarray) -> np.ndarray:
        operator = self.operator
        if operator.exact:  # the weights times the targets, without forming the weights
            A = relative(A, operator.origin)
            Z = operator.query_kernel(A, operator.near_A) @ self._dual
        else:
            Z = operator.weights(A) @ self._targets
        return Z * self.spread + self.center

    def windows(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of x for queries A (n, q), shapes (n, d)."""
        if self.scaled:
            mean, variance = self._moments(self._center_of(A[:, :-1]), A[:, -1:])
        else:
            mean, variance = self._moments(self._center_of(A))
        return mean, np.sqrt(variance)

    def errors(self) -> np.ndarray:
        """Return standard deviations (d + d,) of the errors of centres and, if learned, of tau."""
        centers = np.sqrt(self.operator.errors(self._targets)) * self.spread
        # Error of a standard deviation that was estimated from N residuals.
        widths = np.zeros_like(self.tau) if self.scaled else self.tau / np.sqrt(2 * len(self._A))
        return np.concatenate([centers, widths])

    def some_queries(self) -> np.ndarray:
        """Return a few queries (n, q) of the pairs, evenly through their order."""
        return self._A[:: -(-len(self._A) // defaults.N_WINDOW_PROBES)]

    def leave_one_out_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance (N, d) of each point of the pairs, given the others."""
        h = (
            self._targets - self.operator.leave_one_out_residuals(self._targets)
        ) * self.spread + self.center
        return self._moments(h, self._given)


class LearnedWindow(WindowMean):
    """A Gaussian window that was learned from pairs, with an estimate of its error.

    Parameters
    ----------
    scatter : RidgeScatter
        Centres and widths of the windows.
    base : Kernel, default=None
        Kernel of f, over points with d coordinates.
    """

    def __init__(self, scatter: RidgeScatter, base: Kernel | None = None) -> None:
        super().__init__(base)
        self.scatter = scatter

    def rows_of_queries(self, A: np.ndarray) -> np.ndarray:
        """Return rows [center, scale], shape (n, 2 d)."""
        return np.hstack(self.scatter.windows(A))

    def model_noise(self) -> float:
        """Return the estimated variance of the window's error about g, for f ~ GP(0, base).

        It is the change of g if windows are moved and widened by one standard error along each
        axis, on average over queries of the pairs. The errors come from leave-one-out residuals,
        never from rewards.
        """
        rows = self.queries(self.scatter.some_queries())
        n, steps = len(rows), np.diag(self.scatter.errors())
        steps = steps[steps.any(axis=1)]
        if not len(steps):
            return 0.0
        # One evaluator for all, because learning calls this at every step of a search.
        evaluator = self.evaluator(rows.shape[1])
        moved_rows = (rows + steps[:, None]).reshape(-1, rows.shape[1])
        here, there = evaluator.embed(rows), evaluator.embed(moved_rows)
        own, moved = (evaluator.diag(E) + evaluator.noise(E) for E in (here, there))
        shared = evaluator.cross(here, there).reshape(n, len(steps), n)
        total = 0.0
        for k, variances in enumerate(moved.reshape(len(steps), n)):
            total += (own + variances).sum() - 2.0 * np.trace(shared[:, k])
        return max(float(total) / n, 0.0)

    def model_noise_gradient(self) -> np.ndarray:
        """Return the derivatives of :meth:`model_noise` by ``theta``, shape (p,)."""
        return self._model_noise_slopes()


def learned_window(
    X: np.ndarray,
    A: np.ndarray,
    kernel: RBF,
    query_kernel: Kernel | None = None,
    scaled: bool = False,
) -> tuple[WindowMean, float]:
    """Learn a Gaussian window from pairs.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Points of the pairs.
    A : ndarray of shape (N, q)
        Queries of the pairs.
    kernel : RBF
        The embedding kernel, ``operator_.embedding_kernel`` of a ConditionalMean.
    query_kernel : Kernel, default=None
        Kernel over queries, for the regression.
    scaled : bool, default=False
        Whether the last column of A is the standard deviation of the scatter.

    Returns
    -------
    window : LearnedWindow
        Window with the learned ``scatter``.
    loss : float
        Leave-one-out loss, comparable with ``operator_.loss`` of a ConditionalMean.
    """
    scatter = RidgeScatter(X, A, query_kernel, scaled)
    mean, variance = scatter.leave_one_out_moments()
    window = LearnedWindow(scatter)
    return window, embedding_loss(X - mean, variance, kernel)


def conditional_of(
    given: Kernel | None,
    X: np.ndarray | None,
    A: np.ndarray | None,
    operator: str,
    query_kernel: Kernel | None,
) -> Kernel:
    """Return the kernel of queries: the given one, one learned from pairs, or that of f itself."""
    if given is None:
        if X is None or A is None:
            return WindowMean(scale=0.0)
        return learned_conditional(X, A, operator, query_kernel)
    given = clone(given)
    if isinstance(given, ConditionalMean) and A is not None:
        given.set_params(X=X, A=A)
    if not hasattr(given, "queries"):
        raise ValueError(
            "conditional must be None or one of WindowMean, PolicyMean and ConditionalMean, "
            f"got {given!r}"
        )
    return given


def learned_conditional(
    X: np.ndarray,
    A: np.ndarray,
    operator: str,
    query_kernel: Kernel | None,
    scaled: bool = False,
) -> Kernel:
    """Learn the kernel of queries from pairs: by eq. 5, as a window, or the better of the two.

    The better one has the lower leave-one-out loss of the conditional mean embedding. With
    ``scaled`` the last column of A is the standard deviation of x given a.
    """
    if len(X) < 2 and operator == "window":
        raise ValueError("one pair is too few to learn a window: use operator='embedding'")
    embedding = ConditionalMean(X=X, A=A, query_kernel=query_kernel)
    if operator == "embedding" or len(X) < 2:
        embedding.operator_  # noqa: B018 - learns, and raises where the pairs do not allow it
        return embedding
    learned = embedding.operator_
    window, loss = learned_window(X, A, learned.embedding_kernel, query_kernel, scaled)
    return window if operator == "window" or loss < learned.loss else embedding


def embedding_loss(residuals: np.ndarray, variances: np.ndarray, kernel: RBF) -> float:
    """Return the mean over pairs of |k(x_j, .) - mu_j|^2 in the norm of a Gaussian kernel k.

    mu_j is the embedding of a Gaussian with variances (N, d), whose mean is x_j minus
    ``residuals[j]``.
    """
    s2 = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64) ** 2, residuals.shape)
    one, two = s2 + variances, s2 + 2.0 * variances
    hit = np.exp(-0.5 * (residuals**2 / one).sum(axis=1)) * np.sqrt((s2 / one).prod(axis=1))
    own = np.sqrt((s2 / two).prod(axis=1))
    return float(np.mean(1.0 - 2.0 * hit + own))

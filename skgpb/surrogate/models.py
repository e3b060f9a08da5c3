r"""Several models of the same answers, weighted by their evidence.

Learned hyperparameters are uncertain. A posterior under the most probable ones alone is
overconfident if there are few answers, or if f is rougher than its kernel. Predictions are
therefore averages over models on a grid: kernels of several smoothnesses and length scales, and for
each of them all combinations of a prior variance of f and a noise variance. The weight of a model
is the density of the answers times that of its hyperparameters. The mean of the answers is a biased
estimate of the level of f, because a search asks where f is high. Therefore each Matern kernel
contains a constant with a variance of its own.

One eigendecomposition of the covariance of the answers gives the density for all variances. With
the covariance K = U diag(l) U^T for a prior variance of one, both K and the answers y in units of
the noise of each, the density for a prior variance a and a noise variance s is

.. math:: -2 \log p(y) = \sum_i \left( \log(a l_i + s)
          + \frac{(U^T y)_i^2}{a l_i + s} \right) + \text{const}.

About two dozen models are kept. For each smoothness and length scale they are the quantiles in the
order of the noise variance, as many as its weight demands: the moments are then those of the whole
grid within a few per cent.

The question whether a value is within epsilon of the best supposes that f varies by more than
epsilon. Answers that hardly vary suggest otherwise, and then no value seems to be more than epsilon
better. Often this is wrong if f is rough and was observed at few points. Therefore the prior then
expects f to have a standard deviation of at least two epsilon, and is narrower. Infinitely smooth
kernels are left out: with any variance they explain answers that hardly vary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Product

from skgpb import defaults
from skgpb.kernels._random_effect import RandomEffect, of_f, variance_of_effect
from skgpb.kernels._settings import AxisRBF
from skgpb.kernels._wrapper import WrapperKernel
from skgpb.surrogate.exactness import is_of_matern, with_smoothness
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.gram import covariance_of
from skgpb.surrogate.length_scales import are_length_scales
from skgpb.surrogate.likelihood import LEAST_NOISE, Prior
from skgpb.surrogate.samples import ScaledSamples, subsample
from skgpb.surrogate.suboptimality_gap import MixedSuboptimalityGap, SuboptimalityGap
from skgpb.utils.roots import joint_draws

# Accuracy: logarithms of the factors of the length scales at the centre of their prior, of the
# variances of f in units of their median, and of noise variances in units of the variance of the
# answers. The steps are about twice the deviations after a hundred answers; noise is coarse where
# it hardly matters.
LENGTHS = np.arange(-3, 5) * 0.5
AMPLITUDES = np.arange(-6, 5) * 0.6
NOISES = np.append(np.arange(-12, -6) * 1.15, np.arange(-20, 4) * 0.35)
# Mathematics: variances and length scales of the RBF kernels whose sum is within 0.022 of exp(-r).
ROUGH = ((0.158, 0.085), (0.451, 0.471), (0.391, 1.425))


@dataclass(frozen=True)
class Models:
    """Processes with the same observations but other hyperparameters, and their probabilities.

    Attributes
    ----------
    processes : list of GaussianProcess
        In the units of the process of the most probable hyperparameters.
    weights : ndarray of shape (n_models,)
        They sum to one.
    noises : ndarray of shape (n_models,) or None
        Noise variances of an answer, in the user's units; None if they are given.
    least : float
        Negligible noise variance of exact answers, in the user's units; 0 otherwise. It is added to
        variances, because the processes smooth variation below it, such as a kink at the maximum.
    """

    processes: list[GaussianProcess]
    weights: np.ndarray
    noises: np.ndarray | None
    least: float = 0.0

    @classmethod
    def around(
        cls,
        gp: GaussianProcess,
        samples: ScaledSamples,
        prior: Prior,
        of_noise: Prior | None,
        noise: float,
        epsilon: float = 0.0,
    ) -> Models:
        """Return the models of all smoothnesses and length scales that fit the answers.

        Parameters
        ----------
        gp : GaussianProcess
            Process with all observations, with the kernel that the prior is for.
        samples : ScaledSamples
            The answers, in the units of the process.
        prior : Prior
            Prior of the hyperparameters of the kernel.
        of_noise : Prior or None
            Prior of the logarithm of the noise variance; None if it is given, or if some answers
            have their own.
        noise : float
            Noise variance of answers without their own, if ``of_noise`` is None.
        epsilon : float, default=0.0
            Difference of values of f in the question to be answered, in the user's units; 0 without
            one.
        """
        if epsilon > 0.0:
            prior = _varying(prior, epsilon / gp.scale)
        samples = replace(samples, alpha=np.maximum(samples.alpha, LEAST_NOISE))
        functionals, some = subsample(gp.observed, samples)
        # Repeated answers may vary more than the means of all queries.
        highest = max(0.0, log(max(some.variance_of_repeats(), LEAST_NOISE)))
        levels = np.zeros(1) if of_noise is None else NOISES + highest
        merged = some.merged(noise if of_noise is None else 1.0)
        more = len(some.y) - len(merged.y)
        amplitudes = prior.center[0] + AMPLITUDES
        if epsilon == 0.0 and _is_of_rbf(_unwrapped(gp.kernel)):
            amplitudes += log(defaults.READ_VARIANCE)
        of_variances = _log_prior_of_variances(prior, of_noise, levels)
        repeats = -0.5 * (merged.square * np.exp(-levels) + more * levels)[:, np.newaxis]
        nodes: list[Kernel] = []
        densities, units = [], []
        rows = functionals.rows if gp.origin is None else functionals.rows - gp.origin
        shared = functionals.share_strata(functionals)
        thetas = thetas_around(gp.kernel, prior)
        kernels = [gp.kernel.clone_with_theta(theta) for theta in thetas]
        for weight, change in _shapes(gp.kernel, epsilon == 0.0):
            covariance = covariance_of(of_f(change(gp.kernel)), rows, functionals.offsets)
            for theta, kernel in zip(thetas, kernels, strict=True):
                nodes.append(change(kernel))
                K, _ = covariance(of_f(nodes[-1]).theta, False)
                # The prior of variances is that of answers, which vary less than f if they average.
                units.append(_variance_of_answers(nodes[-1], K))
                K = (K + variance_of_effect(nodes[-1]) * shared) / units[-1]
                gap = ((theta - prior.center) / prior.spread)[1:]
                known = log(weight) - 0.5 * float(gap @ gap)
                density = log_density_of_answers(K, merged.noise, merged.y, amplitudes, levels)
                densities.append(known + density + of_variances + repeats)
        density = np.array(densities)
        every = np.exp(density - density.max())
        every /= every.sum()
        processes, weights, noises = list[GaussianProcess](), list[float](), list[float]()
        for kernel, unit, of_variances in zip(nodes, units, every, strict=True):
            total = float(of_variances.sum())
            if total < defaults.NEGLIGIBLE_WEIGHT:
                continue
            n = max(1, round(defaults.N_MODELS * total))
            for weight, level, amplitude in quantiles(of_variances, n):
                theta = kernel.theta
                theta[0] = amplitudes[amplitude] - log(unit)
                if isinstance(kernel, RandomEffect):
                    theta[-1] += theta[0]
                variance = noise if of_noise is None else float(np.exp(levels[level]))
                processes.append(
                    gp.with_kernel(kernel.clone_with_theta(theta), samples.merged(variance))
                )
                weights.append(weight)
                noises.append(variance * gp.scale**2)
        learned = None if of_noise is None else np.array(noises)
        is_exact = of_noise is None and bool(samples.unknown.all())
        least = noise * gp.scale**2 if is_exact else 0.0
        return cls(processes, np.array(weights) / sum(weights), learned, least)

    def moments(
        self, row_sets: np.ndarray | list[np.ndarray], std: bool = False, cov: bool = False
    ) -> Any:
        """Return moments like :meth:`GaussianProcess.moments`, averaged over models."""
        each = [gp.moments(row_sets, std=std, cov=cov) for gp in self.processes]
        if not (std or cov):
            return self._mean(np.array(each))
        means, second = (np.array(part) for part in zip(*each, strict=True))
        mean = self._mean(means)
        apart = means - mean
        if std:
            return mean, np.sqrt(self._mean(second**2 + apart**2) + self.least)
        within = np.tensordot(self.weights, second, 1) + self.least * np.eye(len(mean))
        return mean, within + (apart.T * self.weights) @ apart

    def draws(self, row_sets: np.ndarray, n_draws: int, rng: np.random.RandomState) -> np.ndarray:
        """Return joint draws (n_draws, n) of functionals; the model of each is drawn as well."""
        draws = []
        for gp, n in zip(self.processes, rng.multinomial(n_draws, self.weights), strict=True):
            if n:
                mean, cov = gp.moments(row_sets, cov=True)
                draws.append(joint_draws(mean, cov + self.least * np.eye(len(mean)), int(n), rng))
        return np.hstack(draws)[:, rng.permutation(n_draws)].T

    def _mean(self, values: np.ndarray) -> np.ndarray:
        """Average values (n_models, n) over models; the rounding does not depend on n."""
        return (self.weights[:, np.newaxis] * values).sum(axis=0)

    def suboptimality_gap(self, row_sets: list[np.ndarray]) -> SuboptimalityGap:
        """Return the gap of the last functional to the best of all, averaged over models."""
        each = [SuboptimalityGap.from_process(gp, row_sets) for gp in self.processes]
        return MixedSuboptimalityGap(each, self.weights)


def _variance_of_answers(kernel: Any, K: np.ndarray) -> float:
    """Return the mean prior variance of the observed functionals, in that of f; 1 for values of f.

    ``K`` (n, n) are their prior covariances.
    """
    whole = _unwrapped(kernel).diag(np.zeros((1, 1)))
    return min(1.0, float(K.diagonal().mean() / whole.mean()))


def _varying(prior: Prior, epsilon: float) -> Prior:
    """Return a prior under which f varies by more than epsilon, in the units of the prior."""
    center, spread = prior.center.copy(), prior.spread.copy()
    center[0] = max(center[0], 2.0 * log(defaults.LEAST_DEVIATION * epsilon))
    spread[0] = min(spread[0], defaults.STOP_AMPLITUDE_SPREAD)
    return Prior(center, spread)


def _log_prior_of_variances(prior: Prior, of_noise: Prior | None, levels: np.ndarray) -> np.ndarray:
    """Return the log prior of noise variances and variances of f, (n_levels, n_amplitudes)."""
    of_amplitudes = -0.5 * (AMPLITUDES / prior.spread[0]) ** 2
    if of_noise is None:
        return of_amplitudes[np.newaxis]
    gap = (levels - of_noise.center[0] - log(defaults.READ_NOISE)) / defaults.READ_NOISE_SPREAD
    of_levels = np.log(np.gradient(levels)) - 0.5 * gap**2
    return of_levels[:, np.newaxis] + of_amplitudes


def log_density_of_answers(
    K: np.ndarray,
    noise: np.ndarray,
    y: np.ndarray,
    amplitudes: np.ndarray,
    levels: np.ndarray,
    mean: np.ndarray | None = None,
) -> np.ndarray:
    """Return the log density of mean answers, (n_levels, n_amplitudes), up to a constant.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Covariances of the observed functionals, for a prior variance of one; elements above the
        diagonal are not read.
    noise : ndarray of shape (n,)
        Noise variances, in units of those of ``levels``.
    y : ndarray of shape (n,)
        Mean answers.
    amplitudes, levels : ndarray
        Logarithms of prior variances of f and of noise variances.
    mean : ndarray of shape (n,), default=None
        Prior means of the functionals, for a prior variance of one; None for 0.
    """
    root = np.sqrt(noise)
    values, vectors = np.linalg.eigh(K / np.outer(root, root))
    gap = vectors.T @ (y / root)
    if mean is not None:
        gap = gap - np.exp(0.5 * amplitudes)[:, np.newaxis] * (vectors.T @ (mean / root))
    square = gap**2
    variances = np.exp(amplitudes)[:, np.newaxis] * np.maximum(values, 0.0)
    variances = np.exp(levels)[:, np.newaxis, np.newaxis] + variances
    return -0.5 * (np.log(variances) + square / variances).sum(axis=2)


def can_be_averaged(kernel: Kernel) -> bool:
    """Return whether models of several smoothnesses can replace a kernel."""
    return bool(_shapes(kernel))


def _shapes(kernel: Any, smooth: bool = True) -> list[tuple[float, Callable[[Kernel], Kernel]]]:
    """Return prior weights, and functions that change the smoothness of a kernel.

    A Matern kernel gets another smoothness, up to infinite if ``smooth``. An RBF kernel, whose
    averages have a closed form, becomes a sum of RBF kernels, which is rough.
    """
    base = _unwrapped(kernel)
    if is_of_matern(base):
        changes: list[tuple[float, Callable[[Kernel], Kernel]]] = [
            (weight, partial(_with_smoothness_and_level, nu=nu))
            for nu, weight in _weights_of_smoothness(smooth)
        ]
    elif _is_of_rbf(base):
        changes = [(1.0, lambda kernel: kernel), (1.0, _rough_sum)]
    else:
        changes = []
    return [(weight, partial(_within, change=change)) for weight, change in changes]


def _weights_of_smoothness(smooth: bool) -> list[tuple[float, float]]:
    """Return smoothnesses of Matern kernels and their prior weights.

    The roughest has a larger weight: statements must hold for rough functions too, which some
    dozens of noisy answers do not distinguish from smooth ones.
    """
    roughest, *others = defaults.SMOOTHNESS
    weights = [(roughest, defaults.ROUGHEST_WEIGHT), *((nu, 1.0) for nu in others)]
    return [*weights, (np.inf, 1.0)] if smooth else weights


def _unwrapped(kernel: Any) -> Any:
    """Return the kernel of f inside its wrappers."""
    while isinstance(kernel, WrapperKernel):
        kernel = kernel.base
    return kernel


def _is_of_rbf(kernel: Kernel) -> bool:
    """Return whether a kernel is a constant times RBF."""
    product = isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel)
    return product and type(kernel.k2) in (RBF, AxisRBF)


def _within(kernel: Any, change: Callable[[Kernel], Kernel]) -> Kernel:
    """Change the kernel of f inside its wrappers."""
    if not isinstance(kernel, WrapperKernel):
        return change(kernel)
    within = _within(kernel.base, change)
    return type(kernel)(**{**kernel.get_params(deep=False), "base": within})


def _with_smoothness_and_level(kernel: Any, nu: float) -> Kernel:
    """Return a kernel with smoothness ``nu`` plus a constant, for f of unknown level."""
    kernel = with_smoothness(kernel, nu)
    return kernel.k1 * (kernel.k2 + ConstantKernel(defaults.READ_LEVEL, "fixed"))


def _rough_sum(kernel: Any) -> Kernel:
    """Return a sum of RBF kernels that is close to a Matern-1/2 kernel, for an RBF kernel."""
    shape = kernel.k2
    total: Kernel | None = None
    for weight, share in ROUGH:
        scale = share * np.asarray(shape.length_scale)
        settings = {**shape.get_params(deep=False), "length_scale": scale}
        part = ConstantKernel(weight) * type(shape)(**settings)
        total = part if total is None else total + part
    return kernel.k1 * total


def thetas_around(kernel: Any, prior: Prior) -> np.ndarray:
    """Return hyperparameters (n, n_theta): length scales on the grid, and a variance of one."""
    lengths, learned, center = are_length_scales(kernel), kernel.theta, prior.center
    # In the proportions of the prior, and in those of the learned length scales.
    shapes, apart = [center.copy()], learned - center
    if isinstance(kernel, RandomEffect):
        shapes[0][-1] = learned[-1]
    if np.ptp(apart[lengths]) > 0.0:
        shapes.append(np.where(lengths, center + apart - apart[lengths].mean(), learned))
    thetas = [shape + longer * lengths for shape in shapes for longer in LENGTHS]
    thetas = np.clip(thetas, *kernel.bounds.T)
    thetas[:, 0] = 0.0
    if isinstance(kernel, RandomEffect):  # in units of the variance of f
        thetas[:, -1] -= learned[0]
    return thetas


def quantiles(weights: np.ndarray, n: int) -> list[tuple[float, int, int]]:
    """Return the weights and indices (noise variance, variance of f) of the chosen models.

    They are ``n`` quantiles of weights (n_levels, n_amplitudes) in the order of the noise.
    """
    total = float(weights.sum())
    places = (np.arange(n) + 0.5) / n * total
    chosen, counts = np.unique(np.searchsorted(np.cumsum(weights), places), return_counts=True)
    numbers = np.column_stack(np.unravel_index(chosen, weights.shape)).tolist()
    return [
        (count / n * total, *pair) for count, pair in zip(counts.tolist(), numbers, strict=True)
    ]

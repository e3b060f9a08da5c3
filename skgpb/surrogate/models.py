r"""Several models of the same answers, weighted by their evidence.

Learned hyperparameters are uncertain. A posterior under the most probable ones alone is
overconfident if there are few answers, or if f is rougher than its kernel. This module averages
over Matérn kernels of several smoothnesses. Each is taken at its most probable hyperparameters and
at points on either side: one pair scales all length scales, another the noise variance. The points
are Gauss-Hermite nodes of the Laplace approximation, weighted by the density of the hyperparameters
there [Rue2009]_. The prior believes in the roughest smoothness as much as in all others.

Whoever asks whether something is within epsilon of the best takes f to vary by more than that.
Answers that hardly vary suggest otherwise, and then nothing seems to be more than epsilon better.
Often this is wrong if f is rough and has been asked for at few places. So the prior then expects f
to have a standard deviation of at least two epsilon, and is narrower.

References
----------
.. [Rue2009] H. Rue, S. Martino and N. Chopin, "Approximate Bayesian inference for latent Gaussian
   models by using integrated nested Laplace approximations", JRSS B 71, 2009. Section 3: a small
   design around the mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.surrogate.exactness import of_smoothness
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.length_scales import are_length_scales
from skgpb.surrogate.likelihood import Likelihood, Prior
from skgpb.surrogate.samples import ScaledSamples
from skgpb.surrogate.suboptimality_gap import MixedSuboptimalityGap, SuboptimalityGap

# Mathematics: distance of the outer nodes from the mode, in standard deviations, and their weight.
DISTANCE, WEIGHT = sqrt(3.0), 1.0 / 6.0
# Accuracy: step of the differences for curvatures.
STEP = 0.2


@dataclass(frozen=True)
class Models:
    """Processes with the same observations, and their probabilities.

    Attributes
    ----------
    processes : list of GaussianProcess
        In the units of the first model.
    weights : ndarray of shape (n_models,)
        They sum to one.
    """

    processes: list[GaussianProcess]
    weights: np.ndarray

    @classmethod
    def around(
        cls,
        gp: GaussianProcess,
        samples: ScaledSamples,
        prior: Prior,
        of_noise: Prior | None,
        limits: np.ndarray | None,
        noise: float,
        optimizer: Callable | str | None,
        epsilon: float = 0.0,
    ) -> Models:
        """Return the most probable model of each smoothness, and models around it.

        Parameters
        ----------
        gp : GaussianProcess
            The process with all observations, under a Matérn kernel times a constant.
        samples : ScaledSamples
            The answers, in the units of the process.
        prior, of_noise : Prior
            Priors on the hyperparameters of the kernel and on the logarithm of the noise variance;
            ``of_noise`` is None if the noise is known.
        limits : ndarray of shape (1, 2) or None
            Bounds of the logarithm of the noise variance.
        noise : float
            Noise variance at which the search starts.
        optimizer : "fmin_l_bfgs_b" or callable
            Finds the most probable hyperparameters.
        epsilon : float, default=0.0
            Difference of values of f that is asked about, in the user's units; 0 for none.
        """
        if epsilon > 0.0:
            prior = _varying(prior, epsilon / gp.scale)
        every: list[tuple[float, Kernel, float]] = []
        functionals, some, n = gp.observed, samples, len(gp.observed)
        if n > defaults.N_TRIED:
            chosen = np.arange(defaults.N_TRIED) * n // defaults.N_TRIED
            functionals, some = functionals.chosen(chosen), samples.about(chosen)
        starts = [(gp.kernel.theta, log(noise) if of_noise else 0.0)]
        starts.append((prior.center, float(of_noise.center[0]) if of_noise else 0.0))
        for nu in defaults.SMOOTHNESS:
            kernel = of_smoothness(gp.kernel, nu)
            covariance = covariance_of_functionals(kernel, functionals, True, gp.origin)
            density = Likelihood(covariance, some, prior, of_noise)
            theta, level = density.maximum(starts, kernel.bounds, limits, optimizer, False)
            mode, bounds = theta, kernel.bounds
            along = are_length_scales(kernel)[np.newaxis].astype(np.float64)
            if level is not None and limits is not None:
                mode, bounds = np.append(theta, log(level)), np.vstack([bounds, limits])
                along = np.pad(along, (0, 1))
                along[1, -1] = 1.0
            known = log(defaults.ROUGHEST_WEIGHT) if nu == defaults.SMOOTHNESS[0] else 0.0
            for weight, x in _design(density, mode, bounds, along):
                further = exp(x[-1]) if level is not None else noise
                every.append((weight + known, kernel.clone_with_theta(x[: len(theta)]), further))
        values = np.array([weight for weight, _, _ in every])
        weights = np.exp(values - values.max())
        kept = np.flatnonzero(weights >= defaults.NEGLIGIBLE_WEIGHT * weights.sum()).tolist()
        processes = [_conditioned(gp, samples, *every[i][1:]) for i in kept]
        return cls(processes, weights[kept] / weights[kept].sum())

    def suboptimality_gap(self, blocks: list[np.ndarray]) -> SuboptimalityGap:
        """Return the gap of the last of some functionals to the best, averaged over models."""
        each = [SuboptimalityGap.of_process(gp, blocks) for gp in self.processes]
        return MixedSuboptimalityGap(each, self.weights)


def _varying(prior: Prior, epsilon: float) -> Prior:
    """Return a prior by which f varies by more than epsilon, in the units of the prior."""
    center, spread = prior.center.copy(), prior.spread.copy()
    center[0] = max(center[0], 2.0 * log(defaults.LEAST_DEVIATION * epsilon))
    spread[0] = min(spread[0], defaults.STOP_AMPLITUDE_SPREAD)
    return Prior(center, spread)


def _conditioned(
    gp: GaussianProcess, samples: ScaledSamples, kernel: Kernel, noise: float
) -> GaussianProcess:
    """Return a process with the same observations under another model, tracking nothing."""
    out = type(gp)(kernel, gp.n_columns, gp.origin, gp.sizes)
    out.offset, out.scale = gp.offset, gp.scale
    out.restore(gp.observed, samples.merged(noise))
    return out


def _design(
    density: Likelihood, mode: np.ndarray, bounds: np.ndarray, along: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Return points around the mode (n,) in directions (k, n), and their log weights."""
    deviations = [_deviation(density, mode, each, bounds) for each in along]
    volume = sum(map(log, deviations))
    out = [(density(mode)[0] + volume + log(1.0 - 2.0 * WEIGHT * len(along)), mode)]
    for direction, deviation in zip(along, deviations, strict=True):
        for sign in (-1.0, 1.0):
            x = np.clip(mode + sign * DISTANCE * deviation * direction, *bounds.T)
            # The ratio of the density to the normal density of the rule.
            out.append((density(x)[0] + 0.5 * DISTANCE**2 + volume + log(WEIGHT), x))
    return out


def _deviation(
    density: Likelihood, mode: np.ndarray, along: np.ndarray, bounds: np.ndarray
) -> float:
    """Return the standard deviation along a direction, from the second difference there."""
    sides = [density(np.clip(mode + h * along, *bounds.T))[0] for h in (-STEP, STEP)]
    fall = max(2.0 * density(mode)[0] - sum(sides), 0.0)
    return float(np.clip(STEP / sqrt(fall) if fall > 0.0 else np.inf, *defaults.MODE_DEVIATIONS))

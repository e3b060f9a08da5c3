"""Learning of all models: the most probable hyperparameters and noise, given every answer.

A model supplies the observations, their units and the starts of the searches. The objective, the
priors, and the drawing and comparing of searches are the same for all models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.likelihood import Likelihood, ModelNoise, Prior, restarts
from skgpb.surrogate.samples import ScaledSamples, random_subsample, subsample


def fit_hyperparameters(
    kernel: Kernel,
    functionals: Functionals,
    samples: ScaledSamples,
    starts: list[tuple[np.ndarray, float]],
    *,
    free: bool,
    optimizer: str | Callable | None,
    n_restarts: int,
    random_state: Any,
    prior: Prior | None,
    noise_prior: tuple[Prior, np.ndarray] | None,
    origin: np.ndarray | None,
    model_noise: ModelNoise | None,
    n_before: int,
) -> tuple[np.ndarray, float | None]:
    """Return the most probable hyperparameters theta, and the noise variance if it is learned.

    Parameters
    ----------
    kernel : Kernel
        Kernel of the observations.
    functionals : Functionals
        Observed functionals, each once.
    samples : ScaledSamples
        The answers, in the units of the kernel.
    starts : list of tuples
        Starts of the searches: theta and a logarithm of the noise. Restarts have the noise of
        the first. If answers are many, all starts but the first are tried on a subsample.
    free : bool
        Whether hyperparameters of the kernel are learned. If not, the kernel has no free ones
        here.
    optimizer : "fmin_l_bfgs_b", callable or None
        Optimizer as in ``GaussianProcessRegressor``; None is L-BFGS-B as well.
    n_restarts : int
        Number of further searches, from hyperparameters drawn between their bounds.
    random_state : int, RandomState instance or None
        Seeds these draws.
    prior : Prior or None
        Prior of the logarithms of the hyperparameters; None for a flat one.
    noise_prior : tuple (Prior, ndarray of shape (1, 2)) or None
        Prior of the logarithm of the noise variance of answers without their own, and its limits;
        None if all answers have their own.
    origin : ndarray of shape (n_columns,) or None
        Subtracted from rows, see :class:`~skgpb.surrogate.gaussian_process.GaussianProcess`.
    model_noise : ModelNoise or None
        Error variance of the kernel itself, which depends on its hyperparameters.
    n_before : int
        Number of answers at the latest refit, see
        :func:`~skgpb.surrogate.samples.random_subsample`.

    Returns
    -------
    theta : ndarray of shape (n_theta,)
    noise : float or None
    """
    of_noise, limits = noise_prior or (None, None)
    chosen = random_subsample(len(functionals), n_before)
    if chosen is not None:
        if model_noise is not None:
            is_answer = model_noise.is_answer[np.isin(samples.functional, chosen)]
            model_noise = replace(model_noise, is_answer=is_answer)
        functionals, samples = functionals.select(chosen), samples.about(chosen)
    if model_noise is not None and not free:
        model_noise = model_noise.at(kernel.theta)

    def likelihood(functionals: Functionals, samples: ScaledSamples) -> Likelihood:
        covariance = covariance_of_functionals(kernel, functionals, free, origin)
        return Likelihood(covariance, samples, prior if free else None, of_noise, model_noise)

    objective, share = likelihood(functionals, samples), None
    if len(functionals) > 2 * defaults.N_TRIED and model_noise is None:
        share = likelihood(*subsample(functionals, samples))
    bounds = np.empty((0, 2))
    if free:
        (theta, noise), bounds = starts[0], kernel.bounds
        drawn = restarts(theta, bounds, n_restarts, random_state)[1:]
        starts = starts + [(each, noise) for each in drawn]
    else:
        starts = [(np.empty(0), noise) for _, noise in starts]
    # With priors the end of a search that stopped early is good enough, and often the best.
    warn = prior is None or not np.isfinite(prior.spread).any()
    best, level = objective.maximum(starts, bounds, limits, optimizer, warn, share)
    return (best if free else kernel.theta), level

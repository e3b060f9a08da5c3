"""Learning of all models: the most probable hyperparameters and noise, given every answer.

A model says what was observed, in which units, and where searches begin. What is maximised, under
which priors, and how searches are drawn and compared is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.likelihood import Likelihood, ModelNoise, Prior, restarts
from skgpb.surrogate.samples import ScaledSamples, share_of


def learned_from(
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
) -> tuple[np.ndarray, float | None]:
    """Return hyperparameters theta and the noise variance, None if that is known.

    Parameters
    ----------
    kernel : Kernel
        Kernel of the observations.
    functionals : Functionals
        Observed functionals, each once.
    samples : ScaledSamples
        The answers, in units in which the kernel is meant.
    starts : list of tuples
        Starts of the searches: theta and a logarithm of the noise. Restarts have the noise of
        the first. If answers are many, all but the first are tried on a share of them.
    free : bool
        Whether hyperparameters of the kernel are learned; it has none that is free where they are
        not.
    optimizer : "fmin_l_bfgs_b", callable or None
        Optimizer as in ``GaussianProcessRegressor``; None is L-BFGS-B as well.
    n_restarts : int
        Further searches, from hyperparameters drawn between their bounds.
    random_state : int, RandomState instance or None
        Draws them.
    prior : Prior or None
        On the logarithms of the hyperparameters; None for a flat one.
    noise_prior : tuple (Prior, ndarray of shape (1, 2)) or None
        On the logarithm of the noise variance of answers that do not say theirs, and its limits;
        None where all do.
    origin : ndarray of shape (n_columns,) or None
        Subtracted from rows, as :class:`~skgpb.surrogate.gaussian_process.GaussianProcess` has it.
    model_noise : ModelNoise or None
        Error variance of the kernel itself, which depends on its hyperparameters.
    """
    of_noise, limits = noise_prior or (None, None)
    if model_noise is not None and not free:
        model_noise = model_noise.at(kernel.theta)

    def likelihood(functionals: Functionals, samples: ScaledSamples) -> Likelihood:
        covariance = covariance_of_functionals(kernel, functionals, free, origin)
        return Likelihood(covariance, samples, prior if free else None, of_noise, model_noise)

    objective, share = likelihood(functionals, samples), None
    if len(functionals) > 2 * defaults.N_TRIED and model_noise is None:
        share = likelihood(*share_of(functionals, samples))
    bounds = np.empty((0, 2))
    if free:
        (theta, noise), bounds = starts[0], kernel.bounds
        drawn = restarts(theta, bounds, n_restarts, random_state)[1:]
        starts = starts + [(each, noise) for each in drawn]
    else:
        starts = [(np.empty(0), noise) for _, noise in starts]
    # With priors the place where a search gets stuck is good enough, and often the best.
    warn = prior is None or not np.isfinite(prior.spread).any()
    best, level = objective.maximum(starts, bounds, limits, optimizer, warn, share)
    return (best if free else kernel.theta), level

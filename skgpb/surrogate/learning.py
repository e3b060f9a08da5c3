"""Learning of all models: the most probable hyperparameters and noise, given every answer.

A model says what was observed, in which units, and where searches begin. What is maximised, under
which priors, and how searches are drawn and compared is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb import defaults
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.likelihood import Likelihood, ModelNoise, Prior, restarts
from skgpb.surrogate.samples import ScaledSamples


@dataclass(frozen=True)
class Learning:
    """Hyperparameters learned from answers, and how.

    Attributes
    ----------
    kernel : Kernel
        Kernel of the observations.
    learns_kernel : bool
        Whether its hyperparameters are learned; it has none that is free where they are not.
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
    """

    kernel: Kernel
    learns_kernel: bool
    optimizer: str | Callable | None
    n_restarts: int
    random_state: Any
    prior: Prior | None
    noise_prior: tuple[Prior, np.ndarray] | None

    @property
    def learns(self) -> bool:
        """True if there is anything to learn."""
        return self.learns_kernel or self.noise_prior is not None

    @property
    def usual_noise(self) -> float:
        """Logarithm of the noise variance that is expected, 0 where it is known."""
        return 0.0 if self.noise_prior is None else float(self.noise_prior[0].center[0])

    def most_probable(
        self,
        functionals: Functionals,
        samples: ScaledSamples,
        starts: list[tuple[np.ndarray, float]],
        *,
        origin: np.ndarray | None = None,
        model_noise: ModelNoise | None = None,
    ) -> tuple[np.ndarray, float | None]:
        """Return hyperparameters theta and the noise variance, None if that is known.

        Parameters
        ----------
        functionals : Functionals
            Observed functionals, each once.
        samples : ScaledSamples
            The answers, in units in which the kernel is meant.
        starts : list of tuples
            Starts of the searches: theta and a logarithm of the noise. Restarts have the noise of
            the first. If answers are many, all but the first are tried on a share of them.
        origin : ndarray of shape (n_columns,) or None, default=None
            Subtracted from rows, as :class:`~skgpb.surrogate.gaussian_process.GaussianProcess` has
            it.
        model_noise : ModelNoise or None, default=None
            Error variance of the kernel itself, which depends on its hyperparameters.
        """
        kernel, free, prior = self.kernel, self.learns_kernel, self.prior
        of_noise, limits = self.noise_prior or (None, None)
        if model_noise is not None and not free:
            further: Any = model_noise.at(kernel.theta)
        else:
            further = model_noise

        def likelihood(functionals: Functionals, samples: ScaledSamples) -> Likelihood:
            covariance = covariance_of_functionals(kernel, functionals, free, origin)
            return Likelihood(covariance, samples, prior if free else None, of_noise, further)

        objective, n, share = likelihood(functionals, samples), len(functionals), None
        if n > 2 * defaults.N_TRIED and model_noise is None:
            chosen = np.arange(defaults.N_TRIED) * n // defaults.N_TRIED
            share = likelihood(functionals.chosen(chosen), samples.about(chosen))
        bounds = np.empty((0, 2))
        if free:
            (theta, noise), bounds = starts[0], kernel.bounds
            drawn = restarts(theta, bounds, self.n_restarts, self.random_state)[1:]
            starts = starts + [(each, noise) for each in drawn]
        else:
            starts = [(np.empty(0), noise) for _, noise in starts]
        # With priors the place where a search gets stuck is good enough, and often the best.
        warn = prior is None or not np.isfinite(prior.spread).any()
        best, level = objective.maximum(starts, bounds, limits, self.optimizer, warn, share)
        return (best if free else kernel.theta), level

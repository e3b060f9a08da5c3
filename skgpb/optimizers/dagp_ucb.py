r"""DAGP-UCB: exploration driven by where the maximum is likely to be.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Equation, algorithm and
   section numbers below are this paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from skgpb._core._arms import maximum_distribution
from skgpb.acquisition.ucb import argmax_frequencies
from skgpb.optimizers.round import Round
from skgpb.optimizers.ucb import BaseUCBOptimizer
from skgpb.utils.locks import locked
from skgpb.utils.validation import MOST_POINTS, Integral, Interval, StrOptions

__all__ = ["DAGPUCBOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class DAGPUCBOptimizer(BaseUCBOptimizer):
    r"""Small cumulative regret on up to some thousand arms, with a given kernel.

    >>> from skgpb import DAGPUCBOptimizer
    >>> opt = DAGPUCBOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm whose answer reduces most the uncertainty of the arms that are likely to be the
    best (Section 5).

    .. math:: \mu_{t-1}(x) + \sqrt{\beta_t} \sum_{x'} w_t(x')
              \bigl(\sigma_{t-1}(x') - \sigma_{t, x_t = x}(x')\bigr)

    with w_t(x') the posterior probability that x' is the best arm. A round costs O(n_arms^2) if the
    covariances of all pairs are kept, and otherwise O(n_arms t) for each arm with w_t > 0.

    Other parameters are inherited from :class:`~skgpb.optimizers.BaseUCBOptimizer`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f, any kernel of scikit-learn; None learns one from the answers.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box that is searched: a pair (lower, upper) for each side, or a dict of named sides.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random: draws, candidates in a box, and restarts of the optimizer.
    arms : array-like of shape (n_arms, n_columns), default=None
        A finite list of points to choose from, instead of a box.
    queries : array-like (n_queries, n_columns), Cells, Districts, Fidelities, ..., default=None
        The set of possible queries, if it is not the set of targets.
    cost : array-like or callable, default=None
        Cost of an answer, above 0; None means 1 for all.
    limits : dict, default=None
        Constraints on other outcomes than the reward: ``{"temperature": (None, 80)}``, or
        ``{"passed": True}`` for an outcome that is yes or no.
    weights : {"integral", "sampling", "joint"} or callable, default="integral"
        w_t: the integral of equation 36, exact to about 1e-12; the estimate of this integral from
        draws of independent marginals (Algorithm 2); the share of *joint* posterior draws in which
        an arm is the best (equation 35); or a function of the posterior, an
        :class:`~skgpb.optimizers.Round`, that returns n_arms weights >= 0.
    n_draws : int, default=1000
        N of Algorithm 2, the number of draws.
    covariance : {"auto", "full", "lean"}, default="auto"
        Whether to keep the n_arms x n_arms posterior covariance. "auto" does for at most
        5,000 arms.

    Notes
    -----
    Equation 36 and Algorithm 2 treat the arms as independent (decision D-D1). If arms are
    correlated, the weights therefore differ from the joint probabilities to be the best. Estimates
    from draws are exactly zero for arms that are the best in no draw, so that exploration stops
    earlier than with the integral.

    No regret bound is claimed (decision D-D5). Theorem 4 rests on Theorem 1, whose proof bounds the
    variances of all arms from the posterior of the arms that were pulled. Its argument would prove
    Theorem 1 for pure exploitation as well, where the theorem is false. So Theorem 4 is unproved,
    though not shown to be false.

    Ties, boxes, batches and the recommendation are as in
    :class:`~skgpb.optimizers.Search`.
    """

    weights: Literal["integral", "sampling", "joint"] | Callable[[Round], np.ndarray] = "integral"
    n_draws: int = 1000
    covariance: Literal["auto", "full", "lean"] = "auto"

    _parameter_constraints = {
        "weights": [StrOptions({"integral", "sampling", "joint"}), callable],
        "n_draws": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "covariance": [StrOptions({"auto", "full", "lean"})],
    }

    @locked
    def acquisition(self, posterior: Round, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean plus sqrt(beta_t) sum_x' w_t(x') S_t(x, x').

        Parameters
        ----------
        posterior : Round
            Posterior of all arms.
        weights : ndarray of shape (n_targets,), default=None
            w_t, >= 0. None computes them by the parameter ``weights``.

        Returns
        -------
        values : ndarray of shape (n_arms,)
        """
        if weights is None:
            weights = self._maximum_weights(posterior)
        # Equation 37: S_t(x, x') is the reduction of the standard deviation at x' by a pull of x.
        uncertainty = posterior.reduction(weights, self.covariance)
        return posterior.mean + sqrt(self.exploration(posterior)) * uncertainty

    def _maximum_weights(self, posterior: Round) -> np.ndarray:
        """Return w_t, the probability of each target to be the best, (n_targets,), Section 5.1."""
        if callable(self.weights):
            weights = np.asarray(self.weights(posterior), dtype=np.float64)
            if (
                weights.shape != (posterior.n_targets,)
                or not (np.isfinite(weights) & (weights >= 0)).all()
            ):
                raise ValueError(
                    f"weights must return {posterior.n_targets} finite numbers >= 0, got "
                    f"{weights!r}"
                )
            return weights
        mean, std = posterior.target_mean, np.sqrt(posterior.target_var)
        if self.weights == "integral":
            return maximum_distribution(mean, std)
        if self.weights == "sampling":
            return argmax_frequencies(
                lambda k: mean + std * posterior.rng.standard_normal((k, posterior.n_targets)),
                self.n_draws,
                posterior.n_targets,
            )
        return argmax_frequencies(posterior.draws, self.n_draws, posterior.n_targets)

    # 2 log(t^2 pi^2 n_arms / (6 delta)), equation 5; in a box, equation 22.
    _theory_beta = BaseUCBOptimizer._union_bound

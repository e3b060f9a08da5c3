r"""DAGP-UCB: exploration driven by where the maximum is likely to be.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Equation, algorithm and
   section numbers below are this paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._arms import maximum_distribution
from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.ucb import shares_of_first, union_bound_beta
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseUCBOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior
from skgpb.utils import MOST_POINTS, Integral, Interval, StrOptions


@with_shared_paragraphs
class DAGPUCBOptimizer(BaseUCBOptimizer):
    r"""Lose little while learning on up to some thousand arms, with a kernel that is known.

    It pulls the arm that makes the likely maxima known best (Section 5).

    .. math:: \mu_{t-1}(x) + \sqrt{\beta_t} \sum_{x'} w_t(x')
              \bigl(\sigma_{t-1}(x') - \sigma_{t, x_t = x}(x')\bigr)

    with w_t(x') the posterior probability that x' is the best arm. A round costs
    O(n_arms^2) with the covariance of all pairs kept, O(n_arms t) for each arm with a chance
    to be the best without it.

    Parameters
    ----------
    kernel, arms, bounds, context_bounds, alpha : %(arms)s
    weights : {"integral", "sampling", "joint"} or callable, default="integral"
        w_t: the integral of equation 36, exact to about 1e-12; its estimate from draws of
        independent marginals (Algorithm 2); the share of *joint* posterior draws in which an
        arm is the best, which is equation 35; or a function of the posterior, an
        :class:`~skgpb.optimizers._posteriors.ArmsPosterior`, that returns n_arms weights >= 0.
    n_draws : int, default=1000
        Number of draws, N of Algorithm 2.
    covariance : {"auto", "full", "lean"}, default="auto"
        Whether to keep the n_arms x n_arms posterior covariance. "auto" does for at most
        5,000 arms.
    beta : "theory", float or callable, default="theory"
        Square of the factor of the uncertainty term. "theory" is
        2 log(t^2 pi^2 n_arms / (6 delta)), with delta / 2 in a box; a callable takes the
        round t, counted from 1.
    B, R, misspecification : %(arms)s
    failure_probability, n_candidates, n_initial, optimizer, n_restarts_optimizer : %(arms)s
    relearn, normalize_y, direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_, arms_, history_, bounds_, n_features_in_ : %(arms)s

    Notes
    -----
    Equation 36 and Algorithm 2 treat the arms as independent (decision D-D1), so that many
    correlated arms share the probability that one of them deserves. Estimates from draws are
    exactly zero for arms that are the best in none, which freezes exploration earlier than the
    integral does.

    No regret bound is claimed (decision D-D5). Theorem 4 rests on Theorem 1, whose proof bounds the
    variances of all arms by what is known of the arms that were pulled. Theorem 1 would hold for
    pure exploitation, too, and fails for it: Theorem 4 is unproved, though not shown to be false.

    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers._arms.BaseArmsOptimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import DAGPUCBOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = DAGPUCBOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=20)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "weights": [StrOptions({"integral", "sampling", "joint"}), callable],
        "n_draws": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "covariance": [StrOptions({"auto", "full", "lean"})],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        alpha: float | None = None,
        weights: str | Callable[[ArmsPosterior], np.ndarray] = "integral",
        n_draws: int = 1000,
        covariance: str = "auto",
        beta: str | float | Callable[[int], float] = "theory",
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        n_candidates: int = 500,
        n_initial: int | None = None,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            arms=arms,
            bounds=bounds,
            context_bounds=context_bounds,
            alpha=alpha,
            beta=beta,
            B=B,
            R=R,
            misspecification=misspecification,
            failure_probability=failure_probability,
            n_candidates=n_candidates,
            n_initial=n_initial,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.weights = weights
        self.n_draws = n_draws
        self.covariance = covariance

    @locked
    def acquisition(
        self, posterior: ArmsPosterior, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the mean plus sqrt(beta_t) sum_x' w_t(x') S_t(x, x').

        Parameters
        ----------
        posterior : ArmsPosterior
            What is known of all arms.
        weights : ndarray of shape (n_arms,), default=None
            w_t, >= 0. None stands for :meth:`maximum_weights`.

        Returns
        -------
        values : ndarray of shape (n_arms,)
        """
        if weights is None:
            weights = self.maximum_weights(posterior)
        # Equation 37: S_t(x, x') is the fall of the deviation at x' by a pull of x.
        uncertainty = posterior.reduction(weights, self.covariance)
        return posterior.mean + sqrt(self.exploration(posterior)) * uncertainty

    @locked
    def maximum_weights(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return w_t, how likely each arm is the best, Section 5.1; shape (n_arms,)."""
        if callable(self.weights):
            weights = np.asarray(self.weights(posterior), dtype=np.float64)
            if (
                weights.shape != (posterior.n_arms,)
                or not (np.isfinite(weights) & (weights >= 0)).all()
            ):
                raise ValueError(
                    f"weights must return {posterior.n_arms} finite numbers >= 0, got {weights!r}"
                )
            return weights
        if self.weights == "integral":
            return maximum_distribution(posterior.mean, posterior.std)
        if self.weights == "sampling":
            return shares_of_first(
                lambda k: (
                    posterior.mean
                    + posterior.std * posterior.rng.standard_normal((k, posterior.n_arms))
                ),
                self.n_draws,
                posterior.n_arms,
            )
        return shares_of_first(posterior.draws, self.n_draws, posterior.n_arms)

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """Return 2 log(t^2 pi^2 n_arms / (6 delta)), equation 5."""
        delta = self.failure_probability
        if self.arms is None:
            # Equation 22: the other half is for f between the candidates.
            delta *= 0.5
        return union_bound_beta(t, n_arms, delta)

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
from skgpb.guarantee import USUAL, Guarantee
from skgpb.locks import locked
from skgpb.optimizers._ucb import BaseUCBOptimizer
from skgpb.optimizers.round import Round
from skgpb.utils import MOST_POINTS, Integral, Interval, StrOptions


@with_shared_paragraphs
class DAGPUCBOptimizer(BaseUCBOptimizer):
    r"""Small cumulative regret on up to some thousand arms, with a known kernel.

    It pulls the arm that tells most about the arms that are likely to be the best (Section 5).

    .. math:: \mu_{t-1}(x) + \sqrt{\beta_t} \sum_{x'} w_t(x')
              \bigl(\sigma_{t-1}(x') - \sigma_{t, x_t = x}(x')\bigr)

    with w_t(x') the posterior probability that x' is the best arm. A round costs
    O(n_arms^2) with the covariance of all pairs kept, O(n_arms t) for each arm with a chance
    to be the best without it.

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    weights : {"integral", "sampling", "joint"} or callable, default="integral"
        w_t: the integral of equation 36, exact to about 1e-12; its estimate from draws of
        independent marginals (Algorithm 2); the share of *joint* posterior draws in which an
        arm is the best, which is equation 35; or a function of the posterior, an
        :class:`~skgpb.optimizers.Round`, that returns n_arms weights >= 0.
    n_draws : int, default=1000
        Number of draws, N of Algorithm 2.
    covariance : {"auto", "full", "lean"}, default="auto"
        Whether to keep the n_arms x n_arms posterior covariance. "auto" does for at most
        5,000 arms.
    beta : "theory", float or callable, default="theory"
        Square of the factor of the uncertainty term. "theory" is
        2 log(t^2 pi^2 n_arms / (6 delta)), with delta / 2 in a box; a callable takes the
        round t, counted from 1.
    guarantee, n_candidates, n_initial, optimizer, n_restarts_optimizer : %(arms)s
    relearn, normalize_y, direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_ : %(arms)s
    targets_, spent_ : %(search)s
    history_, bounds_, n_features_in_ : %(arms)s

    Notes
    -----
    Equation 36 and Algorithm 2 treat the arms as independent (decision D-D1), so that many
    correlated arms share the probability that one of them deserves. Estimates from draws are
    exactly zero for arms that are the best in none, which freezes exploration earlier than the
    integral does.

    No regret bound is claimed (decision D-D5). Theorem 4 rests on Theorem 1, whose proof bounds the
    variances of all arms from the posterior of the arms that were pulled. Theorem 1 would hold for
    pure exploitation, too, and fails for it: Theorem 4 is unproved, though not shown to be false.

    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers.Search`.

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
        queries: Any = None,
        targets: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        weights: str | Callable[[Round], np.ndarray] = "integral",
        n_draws: int = 1000,
        covariance: str = "auto",
        beta: str | float | Callable[[int], float] = "theory",
        guarantee: Guarantee | None = None,
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
            queries=queries,
            targets=targets,
            bounds=bounds,
            context_bounds=context_bounds,
            cost=cost,
            alpha=alpha,
            beta=beta,
            guarantee=guarantee,
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
    def acquisition(self, posterior: Round, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean plus sqrt(beta_t) sum_x' w_t(x') S_t(x, x').

        Parameters
        ----------
        posterior : Round
            Posterior of all arms.
        weights : ndarray of shape (n_targets,), default=None
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
    def maximum_weights(self, posterior: Round) -> np.ndarray:
        """Return w_t, how likely each target is the best, Section 5.1; shape (n_targets,)."""
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
            return shares_of_first(
                lambda k: mean + std * posterior.rng.standard_normal((k, posterior.n_targets)),
                self.n_draws,
                posterior.n_targets,
            )
        return shares_of_first(posterior.draws, self.n_draws, posterior.n_targets)

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """Return 2 log(t^2 pi^2 n_arms / (6 delta)), equation 5."""
        delta = (self._own.guarantee or USUAL).failure_probability
        if self.domain_.stands_for_box:
            # Equation 22: the other half is for f between the candidates.
            delta *= 0.5
        return union_bound_beta(t, n_arms, delta)

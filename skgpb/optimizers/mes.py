r"""MES: the arm that tells most about the largest value, and the same over queries and targets.

Eq. 6 truncates what is asked at a sample of f*, which says something where arms are what is to be
found. Where queries and targets are apart :func:`largest_target_information` takes the dependence
of an answer and f*, the largest value of a target, from the joint posterior, as the module of CMES
explains: the covariance of both is that of the answer with the maximisers of joint draws.

References
----------
.. [Wang2017] Z. Wang and S. Jegelka, "Max-value Entropy Search for Efficient Bayesian
   Optimization", ICML 2017. Equation 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.entropy import (
    gumbel_max_values,
    linear_information,
    max_value_entropy,
    maximisers,
)
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseArmsOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior, TargetsPosterior
from skgpb.utils import MOST_POINTS, Integral, Interval, Real, StrOptions

# Samples of the largest value of a target.
N_MAX_VALUES = 100


@with_shared_paragraphs
class MESOptimizer(BaseArmsOptimizer):
    r"""Max-value entropy search, which asks what tells most of the largest value: to compare.

    It pulls the arm of the largest mutual information with the largest value [Wang2017]_.
    A round costs O(n_arms (t + rank + n_max_values)).

    Parameters
    ----------
    kernel, arms, bounds, context_bounds, alpha : %(arms)s
    optimum : float, default=None
        f*, the largest value of f, where it is known, in units of the reward; None to draw it.
    max_values : {"draws", "gumbel"}, default="draws"
        Samples of f* by joint draws of f, or from a Gumbel law fitted to independent
        marginals, which is biased high on fine grids.
    n_max_values : int, default=100
        Number of samples of f*.
    n_candidates, n_initial, optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_, arms_, history_, bounds_, n_features_in_ : %(arms)s

    See Also
    --------
    TargetsOptimizer : With ``rule="mes"`` it asks one kind of thing to find the best of another.

    Notes
    -----
    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers._arms.BaseArmsOptimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import MESOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> arms = np.linspace(0, 1, 101)[:, None]
    >>> opt = MESOptimizer(RBF(0.2), arms=arms, alpha=0.1**2, random_state=0)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "optimum": [Real, None],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        alpha: float | None = None,
        optimum: float | None = None,
        max_values: str = "draws",
        n_max_values: int = 100,
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
            n_candidates=n_candidates,
            n_initial=n_initial,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.optimum = optimum
        self.max_values = max_values
        self.n_max_values = n_max_values

    @locked
    def acquisition(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return the logarithm of equation 6."""
        mean, std = posterior.mean, posterior.std
        with np.errstate(divide="ignore"):
            return np.log(max_value_entropy(mean, std, self.sample_maxima(posterior)))

    @locked
    def sample_maxima(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return samples of f*, the largest value, shape (n_max_values,), Section 3.1."""
        if self.optimum is not None:
            return np.array([(self.optimum - posterior.offset) / posterior.scale])
        if self.max_values == "draws":
            return posterior.draws(self.n_max_values).max(axis=1)
        return gumbel_max_values(posterior.mean, posterior.std, self.n_max_values, posterior.rng)


def largest_target_information(posterior: TargetsPosterior) -> np.ndarray:
    """Logarithm of what an answer tells linearly of the largest value of a target, per unit cost.

    Parameters
    ----------
    posterior : TargetsPosterior
        What is known of all queries and targets.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        -inf where an answer tells nothing.
    """
    draws = posterior.draws(N_MAX_VALUES)
    places, weights = maximisers(draws)
    var, noise = posterior.query_var, posterior.query_noise
    unit = float(max(var.max(), posterior.target_var.max())) or 1.0
    told = linear_information(
        posterior.covariance[:, places] @ weights / unit,
        np.sqrt(var / unit),
        noise / unit,
        draws.max(axis=1).var() / unit,
    )
    with np.errstate(divide="ignore"):
        return np.log(told / posterior.cost)

r"""URGP-UCB: GP-UCB with the fall of the uncertainty for a bonus.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Section 6.1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.ucb import union_bound_beta
from skgpb.guarantee import USUAL, Guarantee
from skgpb.locks import locked
from skgpb.optimizers._ucb import BaseUCBOptimizer
from skgpb.optimizers.round import Round
from skgpb.utils import StrOptions


@with_shared_paragraphs
class URGPUCBOptimizer(BaseUCBOptimizer):
    r"""GP-UCB with the reduction of the standard deviation as its bonus, for comparison.

    It pulls the arm of the largest mean(x) + sqrt(beta_t) (reduction of the standard deviation).

    Made in the paper to show that the weights of DAGP-UCB matter (decision D-D2). A round costs
    O(n_arms t), O(n_arms^2) with weights over all arms.

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    weights : {"own", "mean", "sum"}, default="own"
        Standard deviation that counts: the arm's own (Kronecker's delta, as printed: a GP-UCB
        with a smaller bonus, which performs well), the mean over all arms, or the sum, which
        is what the paper's figures show.
    covariance : {"auto", "full", "lean"}, default="auto"
        Whether "mean" and "sum" keep the n_arms x n_arms posterior covariance. "auto" does for
        at most 5,000 arms.
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
    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers.Search`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import URGPUCBOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = URGPUCBOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "weights": [StrOptions({"own", "mean", "sum"})],
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
        weights: str = "own",
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
        self.covariance = covariance

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the mean plus sqrt(beta_t) sum_x' w(x, x') S_t(x, x'), S_t by equation 37."""
        n = posterior.n_targets
        if self.weights == "own":
            uncertainty = posterior.own_reduction()
        else:
            w = np.full(n, 1.0 / n) if self.weights == "mean" else np.ones(n)
            uncertainty = posterior.reduction(w, self.covariance)
        return posterior.mean + sqrt(self.exploration(posterior)) * uncertainty

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """Return 2 log(t^2 pi^2 n_arms / (6 delta)), equation 5."""
        delta = (self._own.guarantee or USUAL).failure_probability
        if self.domain_.stands_for_box:
            # Equation 22: the other half is for f between the candidates.
            delta *= 0.5
        return union_bound_beta(t, n_arms, delta)

r"""EST: the arm that most probably attains the estimated maximum.

References
----------
.. [Wang2016] Z. Wang, B. Zhou and S. Jegelka, "Optimization as Estimation with Gaussian
   Processes in Bandit Settings", AISTATS 2016. Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._arms import expected_maximum
from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.improvement import standard_scores
from skgpb.guarantee import Guarantee
from skgpb.locks import locked
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils import Real


@with_shared_paragraphs
class ESTOptimizer(Search):
    r"""GP-UCB with a width that follows from an estimate of the maximum, for comparison.

    It pulls the arm of the smallest (m - mean(x)) / std(x), m an estimate of the maximum.

    m is the expected maximum of independent arms [Wang2016]_, computed exactly and not floored
    at the largest reward, which under noise is a lucky draw. A round costs O(n_arms t).

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    optimum : float, default=None
        The best value of f where it is known, in units of the reward; None to estimate it.
    guarantee : %(arms)s
    n_candidates, n_initial, optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

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
    >>> from skgpb import ESTOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = ESTOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _finds_best = True

    _parameter_constraints: dict[str, Any] = {
        "optimum": [Real, None],
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
        optimum: float | None = None,
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
        self.optimum = optimum

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return (mean(x) - m) / std(x), Algorithm 1."""
        if self.optimum is None:
            m = expected_maximum(posterior.mean, posterior.std)
        else:
            m = (self._signed(self.optimum) - posterior.offset) / posterior.scale
        # The value sought is never below what an arm is expected to yield.
        return standard_scores(posterior.mean, posterior.std, max(m, posterior.mean.max()))

r"""EI: the arm that improves most upon the best mean, on average.

References
----------
.. [Mockus1975] J. Močkus, "On Bayesian methods for seeking the extremum", Optimization
   Techniques IFIP Technical Conference, 1975.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.improvement import log_expected_improvement
from skgpb.guarantee import Guarantee
from skgpb.locks import locked
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils import Interval, Real


@with_shared_paragraphs
class EIOptimizer(Search):
    r"""Expected improvement, the most common acquisition function of Bayesian optimization.

    It pulls the arm of the largest E[max(0, f(x) - incumbent - xi)] [Mockus1975]_.

    The incumbent is a posterior mean, not a lucky reward. A round costs O(n_arms t).

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    xi : float, default=0.0
        Margin by which the incumbent, the largest posterior mean of all arms, is to be
        exceeded, in units of the reward.
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
    *Known arms.* An arm without uncertainty cannot improve upon itself: once the best arm is
    known, others are pulled for ever, however small their chance. This is a rule to find the
    maximum, not to collect rewards.

    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers.Search`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import EIOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = EIOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _finds_best = True

    _parameter_constraints: dict[str, Any] = {
        "xi": [Interval(Real, 0, None, closed="left")],
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
        xi: float = 0.0,
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
        self.xi = xi

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the logarithm of the expected improvement, which does not underflow."""
        threshold = posterior.mean.max() + self.xi / posterior.scale
        return log_expected_improvement(posterior.mean, posterior.std, threshold)

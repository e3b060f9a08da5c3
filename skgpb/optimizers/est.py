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
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseArmsOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior
from skgpb.utils import Real


@with_shared_paragraphs
class ESTOptimizer(BaseArmsOptimizer):
    r"""GP-UCB whose width follows from an estimate of the maximum: to compare with.

    It pulls the arm of the smallest (m - mean(x)) / std(x), m an estimate of the maximum.

    m is the expected maximum of independent arms [Wang2016]_, computed exactly and not floored
    at the largest reward, which under noise is a lucky draw. A round costs O(n_arms t).

    Parameters
    ----------
    kernel, arms, bounds, context_bounds, alpha : %(arms)s
    optimum : float, default=None
        The best value of f where it is known, in units of the reward; None to estimate it.
    B, R, misspecification, failure_probability : %(arms)s
    n_candidates, n_initial, optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_, arms_, history_, bounds_, n_features_in_ : %(arms)s

    Notes
    -----
    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers._arms.BaseArmsOptimizer`.

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

    _parameter_constraints: dict[str, Any] = {
        "optimum": [Real, None],
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
        self.optimum = optimum

    @locked
    def acquisition(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return (mean(x) - m) / std(x), Algorithm 1."""
        if self.optimum is None:
            m = expected_maximum(posterior.mean, posterior.std)
        else:
            m = (self._signed(self.optimum) - posterior.offset) / posterior.scale
        # The value sought is never below what an arm is expected to yield.
        return standard_scores(posterior.mean, posterior.std, max(m, posterior.mean.max()))

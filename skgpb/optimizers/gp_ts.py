r"""GP-TS: the best arm of a function drawn from the posterior.

References
----------
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.locks import locked
from skgpb.optimizers._arms import BaseUCBOptimizer
from skgpb.optimizers._posteriors import ArmsPosterior
from skgpb.surrogate.information_gain import information_gain_function, norm_bound_beta
from skgpb.utils import Interval, Real, StrOptions


@with_shared_paragraphs
class GPTSOptimizer(BaseUCBOptimizer):
    r"""Thompson sampling, which asks what is best in a draw from the posterior: to compare with.

    It pulls the best arm of mean(x) + sqrt(beta_t) (draw(x) - mean(x)), a joint draw of all arms.
    Draws are pathwise: the low-rank symmetric root of the prior covariance is found once, a round
    costs O(n_arms (t + rank)), and no n_arms x n_arms matrix is formed beyond 1,000 arms. In a box,
    whose candidates move, their posterior covariance is factorised, O(n_arms^2 (t + n_arms)).

    Parameters
    ----------
    kernel, arms, bounds, context_bounds, alpha, B, R, misspecification, information_gain : %(arms)s
    beta : "theory", float or callable, default=1.0
        Factor of the posterior *variance* of the draw. 1 is Thompson sampling; "theory" is
        v_t^2 = (B + R / sqrt(alpha) sqrt(2 (gamma_{t-1} + 1 + log(2 / delta))))^2 of
        [Chowdhury2017]_, with which it explores far more; a callable takes the round t, counted
        from 1.
    failure_probability, n_candidates, n_initial, optimizer, n_restarts_optimizer : %(arms)s
    relearn, normalize_y, direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_, arms_, history_, bounds_, n_features_in_ : %(arms)s

    Notes
    -----
    *Draws.* They depend on ``random_state``, the round and the number of pending queries only:
    asking again, pickling and cloning do not change them. A batch is a set of independent
    draws given what was told.

    *Many arms.* Beyond 1,000 arms at most 512 columns of a pivoted Cholesky factor of the
    prior are kept. What they leave of a variance, next to nothing for smooth kernels, is drawn
    independently for each arm.

    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers._arms.BaseArmsOptimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import GPTSOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> arms = np.linspace(0, 1, 101)[:, None]
    >>> opt = GPTSOptimizer(RBF(0.2), arms=arms, alpha=0.1**2, random_state=0)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "B": [Interval(Real, 0, None, closed="left")],
        "R": [Interval(Real, 0, None, closed="left"), None],
        "information_gain": [
            StrOptions({"greedy", "order"}),
            Interval(Real, 0, None, closed="left"),
            callable,
        ],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        arms: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        alpha: float | None = None,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        information_gain: str | float | Callable[[int], float] = "greedy",
        beta: str | float | Callable[[int], float] = 1.0,
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
        self.information_gain = information_gain

    @locked
    def acquisition(self, posterior: ArmsPosterior) -> np.ndarray:
        """Return one joint draw of all arms, its deviations from the mean scaled."""
        draw = posterior.draws(1)[0]
        return posterior.mean + sqrt(self.exploration(posterior)) * (draw - posterior.mean)

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """v_t^2."""
        return norm_bound_beta(self, self._gain(t - 1), log(2.0 / self.failure_probability))

    def _begin(self) -> None:
        super()._begin()
        self._gain = information_gain_function(self)

    def _relearned(self) -> None:
        super()._relearned()
        self._gain = information_gain_function(self)

r"""GP-TS: the best arm of a function drawn from the posterior.

References
----------
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._docstrings import with_shared_paragraphs
from skgpb.guarantee import Guarantee
from skgpb.locks import locked
from skgpb.optimizers._ucb import BaseUCBOptimizer
from skgpb.optimizers.round import Round
from skgpb.surrogate.information_gain import information_gain_function
from skgpb.utils import Interval, Real, StrOptions


@with_shared_paragraphs
class GPTSOptimizer(BaseUCBOptimizer):
    r"""Thompson sampling: pull the arm that is best in a draw from the posterior.

    It pulls the best arm of mean(x) + sqrt(beta_t) (draw(x) - mean(x)), a joint draw of all arms.
    Draws are pathwise: the low-rank symmetric root of the prior covariance is found once, a round
    costs O(n_arms (t + rank)), and no n_arms x n_arms matrix is formed beyond 1,000 arms. In a box,
    whose candidates move, their posterior covariance is factorised, O(n_arms^2 (t + n_arms)).

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    information_gain : %(arms)s
    beta : "theory", float or callable, default=1.0
        Factor of the posterior *variance* of the draw. 1 is Thompson sampling; "theory" is
        v_t^2 = (B + R / sqrt(alpha) sqrt(2 (gamma_{t-1} + 1 + log(2 / delta))))^2 of
        [Chowdhury2017]_, with which it explores far more; a callable takes the round t, counted
        from 1.
    guarantee, n_candidates, n_initial, optimizer, n_restarts_optimizer : %(arms)s
    relearn, normalize_y, direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_, domain_ : %(arms)s
    targets_, spent_ : %(search)s
    history_, bounds_, n_features_in_ : %(arms)s

    Notes
    -----
    *Draws.* They depend on ``random_state``, the round and the number of pending queries only:
    asking again, pickling and cloning do not change them. A batch is a set of independent
    draws given what was told.

    *Many arms.* Beyond 1,000 arms at most 512 columns of a pivoted Cholesky factor of the
    prior are kept. What they leave of a variance, next to nothing for smooth kernels, is drawn
    independently for each arm.

    Ties, boxes, batches and the recommendation are those of
    :class:`~skgpb.optimizers.Search`.

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
        queries: Any = None,
        targets: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        information_gain: str | float | Callable[[int], float] = "greedy",
        beta: str | float | Callable[[int], float] = 1.0,
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
        self.information_gain = information_gain

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return one joint draw of all queries, its deviations from the mean scaled."""
        draw = posterior.query_draws(1)[0]
        return posterior.mean + sqrt(self.exploration(posterior)) * (draw - posterior.mean)

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """v_t^2."""
        return self._widths().beta_of_gain(self._gain(t - 1), 2.0)

    def _begin(self) -> None:
        super()._begin()
        self._gain = information_gain_function(self)

    def _relearned(self) -> None:
        super()._relearned()
        self._gain = information_gain_function(self)

    def _reread(self) -> None:
        super()._reread()
        self._gain = information_gain_function(self)

    def _snapshot(self) -> dict[str, Any]:
        return super()._snapshot() | {"gain": self._gain.snapshot()}

    def _restore(self, snapshot: dict[str, Any]) -> None:
        super()._restore(snapshot)
        self._gain = information_gain_function(self)
        self._gain.restore(snapshot["gain"])

r"""IGP-UCB: GP-UCB with a confidence width for any f of bounded norm.

References
----------
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Theorem 2.
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
from skgpb.optimizers._norm_bound import BETA
from skgpb.optimizers._ucb import BaseUCBOptimizer
from skgpb.optimizers.round import Round
from skgpb.surrogate.information_gain import information_gain_function
from skgpb.utils import Interval, Real, StrOptions


@with_shared_paragraphs
class IGPUCBOptimizer(BaseUCBOptimizer):
    r"""GP-UCB for a function with a known bound on its norm, for comparison with theory.

    It pulls the arm of the largest mean(x) + sqrt(beta_t) std(x) [Chowdhury2017]_.

    GP-UCB with beta_t = (B + R / sqrt(alpha) sqrt(2 (gamma_t + 1 + log(1 / delta))))^2, gamma_t
    being the maximum information gain. A round costs O(n_arms t).

    Parameters
    ----------
    kernel, arms : %(arms)s
    queries, targets : %(search)s
    bounds, context_bounds : %(arms)s
    cost, alpha : %(search)s
    information_gain : %(arms)s
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is the formula
        above; "rkhs" is tighter, with the information gain of what was told in the place of the
        largest (:doc:`/user_guide/guarantees`); a callable takes the round t, counted from 1.
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
    >>> from skgpb import IGPUCBOptimizer
    >>> rng = np.random.default_rng(0)
    >>> def noisy(arm):
    ...     return float(np.sin(5 * arm.points).sum() + 0.1 * rng.normal())
    >>> opt = IGPUCBOptimizer(RBF(0.2), arms=np.linspace(0, 1, 101)[:, None], alpha=0.1**2)
    >>> result = opt.run(noisy, budget=40)
    >>> abs(result.x.index - 31) <= 3  # the maximum is at pi / 10
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "beta": BETA,
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
        self.information_gain = information_gain

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the upper confidence bound of every arm; the first of the largest is pulled."""
        return posterior.mean + sqrt(self.exploration(posterior)) * posterior.std

    @locked
    def theory_beta(self, t: int, n_arms: int) -> float:
        """Theorem 2, with the gain of the round to come, which is no less."""
        return self._widths().beta_of_gain(self._gain(t), 1.0)

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

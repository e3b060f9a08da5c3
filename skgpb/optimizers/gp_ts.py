r"""GP-TS: the best arm of a function drawn from the posterior.

References
----------
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from skgpb.optimizers.round import Round
from skgpb.optimizers.ucb import GainUCBOptimizer
from skgpb.utils.locks import locked
from skgpb.utils.typing import Beta, PerRound

__all__ = ["GPTSOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class GPTSOptimizer(GainUCBOptimizer):
    r"""Thompson sampling: pull the arm that is best in a draw from the posterior.

    >>> from skgpb import GPTSOptimizer
    >>> opt = GPTSOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm with the largest mean(x) + sqrt(beta_t) (draw(x) - mean(x)), where draw is a
    joint draw of all arms. Draws are pathwise: the low-rank symmetric root of the prior covariance
    is computed once, a round costs O(n_arms (t + rank)), and no n_arms x n_arms matrix is formed
    beyond 1,000 arms. In a box, where candidates change, the posterior covariance is factorised,
    O(n_arms^2 (t + n_arms)).

    Other parameters are inherited from :class:`~skgpb.optimizers.Search`.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f, any kernel of scikit-learn; None learns one from the answers.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box that is searched: a pair (lower, upper) for each side, or a dict of named sides.
    alpha : float, array-like or None, default=None
        Noise variance of an answer, in units of the reward squared; None learns it.
    direction : {"maximize", "minimize"}, default="maximize"
        Whether large or small rewards are sought.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random: draws, candidates in a box, and restarts of the optimizer.
    arms : array-like of shape (n_arms, n_columns), default=None
        A finite list of points to choose from, instead of a box.
    queries : array-like (n_queries, n_columns), Cells, Districts, Fidelities, ..., default=None
        The set of possible queries, if it is not the set of targets.
    cost : array-like or callable, default=None
        Cost of an answer, above 0; None means 1 for all.
    limits : dict, default=None
        Constraints on other outcomes than the reward: ``{"temperature": (None, 80)}``, or
        ``{"passed": True}`` for an outcome that is yes or no.
    beta : "theory", float or callable, default=1.0
        Factor of the posterior *variance* of the draw. 1 is Thompson sampling; "theory" is
        v_t^2 = (B + R / sqrt(alpha) sqrt(2 (gamma_{t-1} + 1 + log(2 / delta))))^2 of
        [Chowdhury2017]_, which explores far more; a callable takes the round t, counted from 1.
    information_gain : {"greedy", "order"}, float or callable, default="greedy"
        gamma_t: a bound computed from the kernel and the arms, the order formula of the
        kernel with constants dropped (for linear, RBF and Matern kernels), or any number or
        function of t. See :mod:`skgpb.surrogate.information_gain`.

    Notes
    -----
    *Draws.* They depend only on ``random_state``, the round and the number of pending queries:
    asking again, pickling and cloning do not change them. A batch is a set of independent
    draws given the observations.

    *Many arms.* Beyond 1,000 arms the search keeps at most 512 columns of a pivoted Cholesky factor
    of the prior. The remaining variance of each arm, negligible for smooth kernels, is drawn
    independently.

    Ties, boxes, batches and the recommendation are as in
    :class:`~skgpb.optimizers.Search`.
    """

    information_gain: Literal["greedy", "order"] | PerRound = "greedy"
    beta: Beta = 1.0

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return a joint draw of all queries, with deviations from the mean times sqrt(beta_t)."""
        draw = posterior.query_draws(1)[0]
        return posterior.mean + sqrt(self.exploration(posterior)) * (draw - posterior.mean)

    def _theory_beta(self, t: int, n_arms: int) -> float:
        """Return v_t^2 in round t, counted from 1."""
        return self._widths().beta_of_gain(self._gain(t - 1), 2.0)

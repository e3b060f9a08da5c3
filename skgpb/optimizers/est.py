r"""EST: the arm that most probably attains the estimated maximum.

References
----------
.. [Wang2016] Z. Wang, B. Zhou and S. Jegelka, "Optimization as Estimation with Gaussian
   Processes in Bandit Settings", AISTATS 2016. Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgpb._core._arms import expected_maximum
from skgpb.acquisition.improvement import standard_scores
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils.locks import locked
from skgpb.utils.validation import Real

__all__ = ["ESTOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class ESTOptimizer(Search):
    r"""GP-UCB with a width that follows from an estimate of the maximum, for comparison.

    >>> from skgpb import ESTOptimizer
    >>> opt = ESTOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the smallest (m - mean(x)) / std(x), m an estimate of the maximum.

    m is the expected maximum of independent arms [Wang2016]_, computed exactly. The largest reward
    is no lower bound of m here, because noise may have raised it. A round costs O(n_arms t).

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
    optimum : float, default=None
        The best value of f, if it is known, in units of the reward; None estimates it.

    Notes
    -----
    Ties, boxes, batches and the recommendation are as in
    :class:`~skgpb.optimizers.Search`.
    """

    optimum: float | None = None

    _seeks_simple_regret = True
    _unit_of_scores = "standard"

    _parameter_constraints = {"optimum": [Real, None]}

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return (mean(x) - m) / std(x) for all arms, by Algorithm 1."""
        if self.optimum is None:
            m = expected_maximum(posterior.mean, posterior.std)
        else:
            m = (self.run_.sign.convert(self.optimum) - posterior.offset) / posterior.scale
        # A given optimum may be below the largest posterior mean, which then takes its place.
        return standard_scores(posterior.mean, posterior.std, max(m, posterior.mean.max()))

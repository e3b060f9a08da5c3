r"""Max-value entropy search over arms, and over queries and targets.

Eq. 6 truncates the value of a query at a sample of f*, which is valid if the queries are the
targets. Otherwise :func:`largest_target_information` derives the dependence between an answer and
f*, the largest value of a target, from the joint posterior, as the module of CMES explains: their
covariance is the mean covariance of the answer and the maximisers of joint draws.

References
----------
.. [Wang2017] Z. Wang and S. Jegelka, "Max-value Entropy Search for Efficient Bayesian
   Optimization", ICML 2017. Equation 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from skgpb.acquisition.entropy import gumbel_max_values, max_value_entropy, maximisers
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils.locks import locked
from skgpb.utils.validation import MOST_POINTS, Integral, Interval, Real, StrOptions

__all__ = ["MESOptimizer"]


@dataclass(eq=False, repr=False, kw_only=True)
class MESOptimizer(Search):
    r"""Max-value entropy search: ask the query with the most information about the maximum.

    >>> from skgpb import MESOptimizer
    >>> opt = MESOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm with the largest mutual information with the maximum of f [Wang2017]_.
    A round takes O(n_arms (t + rank + n_max_values)); in a box, where candidates change,
    O(n_arms^2 (t + n_arms)).

    With ``queries`` or ``targets``, as for :class:`~skgpb.KGOptimizer`, the information is about
    the maximum over the targets, per unit cost.

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
        f*, the largest value of f, if it is known, in units of the reward; None samples it. It must
        be None with ``queries`` or ``targets``.
    max_values : {"draws", "gumbel"}, default="draws"
        Method that samples f*: joint draws of f, or a Gumbel distribution fitted to independent
        marginals, which is biased high on fine grids. With ``queries`` or ``targets`` it is always
        "draws".
    n_max_values : int, default=100
        Number of samples of f*.

    See Also
    --------
    KGOptimizer : Asks the query whose answer is expected to raise the best mean of a target most.
    CMESOptimizer : Max-value entropy search with queries that lead to points by chance.

    Notes
    -----
    Ties, boxes, batches and the recommendation are as in :class:`~skgpb.optimizers.Search`.

    This finds the tenth of an interval with the largest average, by asking tenths and quarters:

    >>> from skgpb.domains import Cells
    >>> opt = MESOptimizer(
    ...     queries=Cells([0.1, 0.25]), targets=Cells(0.1), bounds=[(0, 1)], random_state=0
    ... )
    >>> result = opt.run(lambda cell: float(np.sin(5 * cell.points).mean()), budget=20)
    >>> result.x.center.round(1)  # the maximum is at pi / 10
    array([0.3])
    """

    optimum: float | None = None
    max_values: Literal["draws", "gumbel"] = "draws"
    n_max_values: int = 100

    _parameter_constraints = {
        "optimum": [Real, None],
        "max_values": [StrOptions({"draws", "gumbel"})],
        "n_max_values": [Interval(Integral, 1, MOST_POINTS, closed="both")],
    }

    _seeks_simple_regret = True
    _unit_of_scores = "log"

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the logarithm of the information of each answer about the largest value.

        For arms it is equation 6; for queries and targets the information in the part of f* that is
        linear in the answer.
        """
        with np.errstate(divide="ignore"):
            if not self._targets_are_queries:
                return np.log(largest_target_information(posterior, self.n_max_values))
            mean, std = posterior.mean, posterior.std
            return np.log(max_value_entropy(mean, std, self._sample_maxima(posterior)))

    def _sample_maxima(self, posterior: Round) -> np.ndarray:
        """Return samples (n_max_values,) of f*, the largest value, by Section 3.1.

        With ``optimum`` it is the only sample.
        """
        if self.optimum is not None:
            return np.array(
                [(self.run_.sign.convert(self.optimum) - posterior.offset) / posterior.scale]
            )
        if self.max_values == "draws":
            return posterior.draws(self.n_max_values).max(axis=1)
        mean, std = posterior.target_mean, np.sqrt(posterior.target_var)
        return gumbel_max_values(mean, std, self.n_max_values, posterior.rng)

    def _begin_checks(self) -> None:
        if self.optimum is not None and not self._targets_are_queries:
            raise ValueError(f"optimum must be None with queries or targets; got {self.optimum!r}")
        super()._begin_checks()


def largest_target_information(posterior: Round, n_draws: int = 100) -> np.ndarray:
    """Return the linear part of the information of answers about the largest value of a target.

    Parameters
    ----------
    posterior : Round
        Posterior of all queries and targets.
    n_draws : int, default=100
        Number of samples of the largest value.

    Returns
    -------
    information : ndarray of shape (n_queries,)
        Information in nats, not divided by costs.
    """
    draws = posterior.draws(n_draws)
    places, weights = maximisers(draws)
    about = posterior.covariance[:, places] @ weights
    return posterior.information(about, float(draws.max(axis=1).var()))

"""Expected improvement (EI) and probability of improvement (PI) over the largest posterior mean.

References
----------
.. [Mockus1975] J. Močkus, "On Bayesian methods for seeking the extremum", Optimization
   Techniques IFIP Technical Conference, 1975.
.. [Kushner1964] H. J. Kushner, "A new method of locating the maximum point of an arbitrary
   multipeak curve in the presence of noise", Journal of Basic Engineering 86, 1964.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgpb.acquisition.improvement import log_expected_improvement, standard_scores
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils.locks import locked
from skgpb.utils.validation import Interval, Real

__all__ = ["EIOptimizer", "PIOptimizer"]

# -- EI --------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class EIOptimizer(Search):
    r"""Expected improvement, the most common acquisition function of Bayesian optimization.

    >>> from skgpb import EIOptimizer
    >>> opt = EIOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the largest E[max(0, f(x) - incumbent - xi)] [Mockus1975]_.

    The incumbent is the largest posterior mean of all arms, not the best reward, which noise may
    have raised. A round costs O(n_arms t).

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
    xi : float, default=0.0
        Margin above the incumbent, the largest posterior mean of all arms, in units of the reward.

    Notes
    -----
    *Certain arms.* Once the best arm has no uncertainty left, its expected improvement is 0, and
    the search pulls other arms in all further rounds, however small their chance. This rule is for
    finding the maximum, not for collecting rewards.

    Ties, continuous domains, batches and the recommendation are as in
    :class:`~skgpb.optimizers.Search`.
    """

    xi: float = 0.0

    _seeks_simple_regret = True
    _unit_of_scores = "log"

    _parameter_constraints = {"xi": [Interval(Real, 0, None, closed="left")]}

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the logarithm of the expected improvement, which does not underflow."""
        # The incumbent is in units of the process, and xi in units of the reward.
        threshold = posterior.incumbent + self.xi / posterior.scale
        return log_expected_improvement(posterior.mean, posterior.std, threshold)


# -- PI --------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class PIOptimizer(Search):
    r"""Probability of improvement, an acquisition function that explores little.

    >>> from skgpb import PIOptimizer
    >>> opt = PIOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the largest P(f(x) > incumbent + xi) [Kushner1964]_.

    The incumbent is the largest posterior mean of all arms, not the best reward, which noise may
    have raised. A round costs O(n_arms t).

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
    xi : float, default=0.01
        Margin above the incumbent, the largest posterior mean of all arms, in units of the reward.

    Notes
    -----
    *Margin.* With ``xi=0`` the rule is pure exploitation.

    *Certain arms.* An arm without uncertainty cannot improve upon itself. Once the best arm has no
    uncertainty left, the search pulls other arms in all further rounds, however small their chance.
    This rule is for finding the maximum, not for collecting rewards.

    Ties, boxes, batches and the recommendation are as in
    :class:`~skgpb.optimizers.Search`.
    """

    xi: float = 0.01

    _seeks_simple_regret = True
    _unit_of_scores = "standard"

    _parameter_constraints = {"xi": [Interval(Real, 0, None, closed="left")]}

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return standard scores, which have the same order as the probabilities."""
        threshold = posterior.incumbent + self.xi / posterior.scale
        return standard_scores(posterior.mean, posterior.std, threshold)

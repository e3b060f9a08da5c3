r"""GP-UCB: the arm of the largest upper confidence bound.

The algorithm of the paper is ``beta="theory"``. The schedules without a given beta, and what is
done for a small simple regret, are our own; decision D-D9 says how they were chosen.

References
----------
.. [Srinivas2010] N. Srinivas, A. Krause, S. M. Kakade and M. Seeger, "Gaussian Process
   Optimization in the Bandit Setting: No Regret and Experimental Design", ICML 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from skgpb import defaults
from skgpb._typing import Beta
from skgpb.acquisition.ucb import scheduled_beta
from skgpb.locks import locked
from skgpb.optimizers._norm_bound import BETA_CONSTRAINTS
from skgpb.optimizers._ucb import BaseUCBOptimizer
from skgpb.optimizers.round import MOST_ARMS_IN_FULL, Round
from skgpb.utils import Integral, Interval, StrOptions

__all__ = ["GPUCBOptimizer"]

# Limit: values of beta, each twice the one before, until one asks for something unknown.
MOST_DOUBLINGS = 40


@dataclass(eq=False, repr=False, kw_only=True)
class GPUCBOptimizer(BaseUCBOptimizer):
    r"""Find the best setting, or arm, from noisy values: Bayesian optimization with GP-UCB.

    >>> from skgpb import GPUCBOptimizer
    >>> opt = GPUCBOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the largest mean(x) + sqrt(beta_t) std(x) [Srinivas2010]_.

    A round costs O(n_arms t).

    Other parameters are those of :class:`~skgpb.optimizers.Search`.

    Parameters
    ----------
    beta : {"theory", "rkhs"}, float or callable, default=None
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is
        2 log(t^2 pi^2 n_arms / (6 delta)), and in a box delta / 2 takes the place of delta. "rkhs"
        is valid everywhere at once for any f of norm at most B (:doc:`/user_guide/guarantees`). A
        callable takes the round t, counted from 1. None stands for "theory" if a kernel is given
        and ``regret`` and ``horizon`` have their defaults, and otherwise for a schedule that did
        well in benchmarks.
    regret : {"cumulative", "simple"}, default="cumulative"
        The regret that is to be small: of all queries together, or of the recommendation at the
        end. Only used where ``beta`` is None, see Notes.
    horizon : int, default=None
        Number of answers, if it is known. Only used where ``beta`` is None, see Notes.

    Notes
    -----
    *Exploration.* The schedules are 2 for a small cumulative regret and 4 for a small simple one,
    or 9 in a box of eight numbers or more; with a ``horizon`` they fall from round to round. For a
    small simple regret some rounds ask for the point that is farthest from all queries, and the
    last fifth of a horizon for the arm of the largest knowledge gradient.
    :ref:`which-regret` has the rules and what they gain.
    """

    beta: Beta | None = None
    regret: Literal["cumulative", "simple"] = "cumulative"
    horizon: int | None = None

    _parameter_constraints = {
        "beta": [*BETA_CONSTRAINTS, None],
        "regret": [StrOptions({"cumulative", "simple"})],
        "horizon": [Interval(Integral, 1, None, closed="left"), None],
    }

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the upper confidence bound of every arm; of equal ones the first is pulled.

        With ``regret="simple"`` it is the logarithm of the knowledge gradient in the last rounds
        before the horizon, and in some rounds that of the distance from all other queries, see
        Notes.
        """
        if self._uses_knowledge_gradient(posterior):
            return posterior.log_knowledge_gradient()
        distances = self._distances_from_asked(posterior)
        if distances is not None:
            # Logarithms, as those of the knowledge gradient: of a repeat it is not -inf.
            return np.log(np.maximum(distances, defaults.SAME_SETTING))
        beta = self.exploration(posterior)
        bonus = sqrt(beta) * posterior.std
        return posterior.mean + bonus

    @locked
    def exploration(self, posterior: Round) -> float:
        """Return beta_t: given, from the theory, or of the schedule."""
        if self.beta is not None:
            return super().exploration(posterior)
        kernel_is_learned = self._params.kernel is None
        both_default = self.regret == "cumulative" and self.horizon is None
        if both_default and not kernel_is_learned:
            return self._theory_beta(posterior.t, posterior.n_arms)
        beta = scheduled_beta(posterior.t, self.regret, self.horizon)
        # Of settings some are whole numbers or of a list.
        if kernel_is_learned and self._space is not None and self._space.discrete:
            beta *= defaults.SETTINGS_BETA_FACTOR
        elif kernel_is_learned and self._has_many_sides:
            beta *= defaults.MANY_SIDES_BETA_FACTOR
        if kernel_is_learned and self.regret == "simple" and self.domain_.is_discretization:
            return self._beta_past_known(beta, posterior)
        return beta

    @property
    def _for_simple_regret(self) -> bool:
        return self.beta is None and self.regret == "simple"

    @property
    def _has_many_sides(self) -> bool:
        """Return whether the regret is simple, without a horizon, in a box of many numbers."""
        at_the_end = self.regret == "simple" and self.horizon is None
        wide = self.domain_.is_discretization and len(self.bounds_) >= defaults.MANY_SIDES
        return at_the_end and wide

    def _beta_past_known(self, beta: float, posterior: Round) -> float:
        """Return beta, doubled until the arm of the largest bound is none whose value is known.

        Where answers are exact, the arm of the best one would be pulled in all remaining rounds.
        A pending query counts as answered, as in the posterior.
        """
        mean, std = posterior.mean, posterior.std
        arms, asked = self.domain_.rows, self._answered_rows_and(self._record.pending)
        known = std < defaults.KNOWN_DEVIATION * np.ptp(mean)
        near = defaults.SAME_SETTING * np.ptp(arms, axis=0)
        for wider in beta * 2.0 ** np.arange(MOST_DOUBLINGS):
            best = np.argmax(mean + sqrt(wider) * std)
            if not (known[best] and (np.abs(asked - arms[best]) <= near).all(axis=1).any()):
                return float(wider)
        return beta

    def _distances_from_asked(self, round: Round) -> np.ndarray | None:
        """Return distances from all queries, in lengths of sides; None where they do not count."""
        if self.beta is not None or self.regret != "simple" or self._params.kernel is not None:
            return None
        period = defaults.EXPLORATION_PERIOD.get(len(self.bounds_))
        if period is None or self._n_context or round.t == 1 or (round.t - 1) % period:
            return None
        noisy = self._model.diagnosis.noise == "some"
        if not (self._targets_are_queries and self.domain_.is_discretization and noisy):
            return None
        arms, asked = self.domain_.rows, self._answered_rows_and(self._record.pending)
        side = np.ptp(arms, axis=0)
        side[side == 0.0] = 1.0
        distances = cdist(arms / side, asked / side).min(axis=1, initial=inf)
        return distances if distances.max() > defaults.SAME_SETTING else None

    def _is_log_in_round(self, round: Round) -> bool:
        return self._uses_knowledge_gradient(round) or self._distances_from_asked(round) is not None

    def _uses_knowledge_gradient(self, round: Round) -> bool:
        """Return whether the knowledge gradient chooses."""
        if self.beta is not None or self.regret != "simple" or self.horizon is None:
            return False
        last = self.horizon * (1.0 - defaults.KNOWLEDGE_GRADIENT_SHARE) < round.t <= self.horizon
        return last and round.n_targets <= MOST_ARMS_IN_FULL

    @locked
    def _theory_beta(self, t: int, n_arms: int) -> float:
        """Return 2 log(t^2 pi^2 n_arms / (6 delta)), Theorem 1 of [Srinivas2010]_."""
        return self._union_bound(t, n_arms)

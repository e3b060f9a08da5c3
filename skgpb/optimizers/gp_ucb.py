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
from math import sqrt
from typing import Literal

import numpy as np

from skgpb._typing import Beta
from skgpb.locks import locked
from skgpb.optimizers._exploration import Exploration
from skgpb.optimizers._norm_bound import BETA_CONSTRAINTS
from skgpb.optimizers._ucb import BaseUCBOptimizer
from skgpb.optimizers.round import Round
from skgpb.utils import Integral, Interval, StrOptions

__all__ = ["GPUCBOptimizer"]


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
        if self._for_simple_regret:
            other = self._exploration.other_scores(posterior)
            if other is not None:
                return other
        return posterior.mean + sqrt(self.exploration(posterior)) * posterior.std

    @locked
    def exploration(self, posterior: Round) -> float:
        """Return beta_t: given, from the theory, or of the schedule."""
        if self.beta is not None:
            return super().exploration(posterior)
        both_default = self.regret == "cumulative" and self.horizon is None
        if both_default and self._params.kernel is not None:
            return self._theory_beta(posterior.t, posterior.n_arms)
        return self._exploration.beta(posterior)

    @property
    def _exploration(self) -> Exploration:
        """The schedule where beta is not given."""
        return Exploration(
            self.regret,
            self.horizon,
            self._params.kernel is None,
            self.domain_,
            self.targets_,
            lambda: self._answered_rows_and(self._record.pending),
            self._model,
        )

    @property
    def _for_simple_regret(self) -> bool:
        return self.beta is None and self.regret == "simple"

    def _is_log_in_round(self, round: Round) -> bool:
        return self._for_simple_regret and self._exploration.follows_other_rule(round)

    # 2 log(t^2 pi^2 n_arms / (6 delta)), Theorem 1 of [Srinivas2010]_.
    _theory_beta = BaseUCBOptimizer._union_bound

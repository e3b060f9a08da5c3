r"""IDS: the query with the least squared gap per unit of information, times its cost.

Notation: queries a and targets x are linear functionals of f, with posterior means m, standard
deviations s and covariances; y(a) is the answer to a, with its noise, and c(a) its cost. The
incumbent is the target of the largest mean, which would be recommended now.

*The gap.* In linear partial monitoring [Kirschner2020]_ an action has a reward, which is not its
feedback. Queries have no reward of their own: they serve to choose a target. Instead every round is
charged a bound on the gap of the incumbent :math:`\hat x`. The bound uses the posterior of
differences, so that the correlation of close targets counts,

.. math::

    \Delta = \max_x \; m(x) - m(\hat x) + \sqrt\beta \, s(x - \hat x),

the same for all queries (decision D-H19).

*The information* is directed [Kirschner2020]_: it is about the difference of two targets, both of
which may be the best, the incumbent and the rival x at which the bound on the gap is reached. The
paper uses the pair of plausible maximisers with the most uncertain difference, both of which may be
unlikely to be the best. With :math:`w = x - \hat x`

.. math::

    I(a) = \tfrac12 \log \frac{s^2(w)}{s^2(w \mid y(a))}
         = -\tfrac12 \log\left(1 - \frac{\mathrm{Cov}(a, w)^2}{s^2(w)\,(s^2(a) + \sigma^2(a))}
           \right).

"full" information is about f itself, :math:`\tfrac12 \log(1 + s^2(a) / \sigma^2(a))`, as in
[Kirschner2018]_.

*The ratio* of a query is :math:`\Delta^2 c(a) / I(a)`. ``ask`` returns the query with the smallest
ratio. Since the gap is the same for all queries, no distribution over several queries has a smaller
ratio [Russo2018]_. If no ratio is above :math:`\Psi`, the sum of gaps over a budget B is at most
:math:`\sqrt{\Psi B \sum I}`, as with equal costs.

References
----------
.. [Kirschner2018] J. Kirschner and A. Krause, "Information Directed Sampling and Bandits with
   Heteroscedastic Noise", COLT 2018.
.. [Kirschner2020] J. Kirschner, T. Lattimore and A. Krause, "Information Directed Sampling for
   Linear Partial Monitoring", COLT 2020; "Linear Partial Monitoring for Sequential
   Decision-Making: Algorithms, Regret Bounds and Applications", JMLR 24, 2023.
.. [Russo2018] D. Russo and B. Van Roy, "Learning to Optimize via Information-Directed Sampling",
   Operations Research 66 (1), 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from skgpb._core._ties import argmax_first
from skgpb.acquisition.information import log_information_ratio
from skgpb.optimizers._sets import argmax_mean
from skgpb.optimizers.round import Round
from skgpb.optimizers.search import Search
from skgpb.utils.locks import locked
from skgpb.utils.typing import PerRound
from skgpb.utils.validation import Interval, Real, StrOptions

__all__ = ["IDSOptimizer"]

# Rounding: variances of at most this share of the largest one are rounding errors.
ROUNDING = 1e-14


@dataclass(eq=False, repr=False, kw_only=True)
class IDSOptimizer(Search):
    r"""Information-directed sampling: ask the query that best separates the two best targets.

    >>> from skgpb import IDSOptimizer
    >>> opt = IDSOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    ``queries`` and ``targets`` are points, cells of some sizes or rows that the kernel accepts, as
    for :class:`~skgpb.KGOptimizer`. The search asks the query with the smallest squared gap times
    cost per unit of information [Kirschner2020]_. The information is about the difference between
    the target with the largest posterior mean and its strongest rival.

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
    beta : float or callable, default=4.0
        Factor of the posterior variance in the bound on a gap: sqrt(beta) standard deviations. A
        callable takes the round, from 1.
    information : {"directed", "full"}, default="directed"
        Information about the difference of two targets, or about f as a whole [Kirschner2018]_.

    See Also
    --------
    KGOptimizer : Asks the query whose answer is expected to raise the best mean most.

    Notes
    -----
    Equations are in the module's docstring. A round costs O(n m) for n queries and m targets, plus
    their covariances.

    Ties, batches and the query that is asked if no query has information are as for KGOptimizer.
    A batch is chosen query by query, not jointly.

    Examples
    --------
    Samples can be pooled by fives. Which single sample has the largest value?

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb import IDSOptimizer
    >>> from skgpb.kernels import CellAverage
    >>> rng = np.random.default_rng(0)
    >>> ends = np.linspace(0, 1, 41)
    >>> single = np.column_stack([ends[:-1], ends[1:]])
    >>> pooled = np.column_stack([ends[:-5], ends[5:]])
    >>> opt = IDSOptimizer(
    ...     CellAverage(RBF(0.1), 5), queries=pooled, targets=single, alpha=0.01, random_state=0
    ... )
    >>> def measured(pool):
    ...     return float(np.sin(5 * pool.points).mean() + 0.1 * rng.normal())
    >>> result = opt.run(measured, budget=30)
    >>> result.x.center.round(1)  # the maximum is at pi / 10
    array([0.3])
    """

    beta: PerRound = 4.0
    information: Literal["directed", "full"] = "directed"

    _parameter_constraints = {
        "beta": [Interval(Real, 0, None, closed="left"), callable],
        "information": [StrOptions({"directed", "full"})],
    }

    _targets_are_queries_in_box = False
    _unit_of_scores = "log"

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return minus the logarithm of the information ratio of each query."""
        # The bound on the gap may be 0. A gap of 1 gives the same order of queries.
        gap = self._rival(posterior)[2] or 1.0
        return -log_information_ratio(gap, self.information_gain(posterior))

    @locked
    def information_gain(self, posterior: Round) -> np.ndarray:
        """Return the information of an answer to each query.

        Parameters
        ----------
        posterior : Round
            Posterior of all queries and targets, see :meth:`posterior`.

        Returns
        -------
        information : ndarray of shape (n_queries,)
            Information in nats, not divided by costs.
        """
        if self.information == "full":
            return posterior.information_about_f(ROUNDING)
        incumbent, rival, _ = self._rival(posterior)
        covariance = posterior.covariance[:, rival] - posterior.covariance[:, incumbent]
        variance = self._variances_to(posterior, incumbent)[rival]
        return posterior.information(covariance, float(variance), ROUNDING)

    def _variances_to(self, posterior: Round, incumbent: int) -> np.ndarray:
        """Return the posterior variances (n_targets,) of all targets minus the incumbent."""
        var = posterior.target_var
        among = posterior.covariance_of_target(incumbent)
        variances = var + var[incumbent] - 2.0 * among
        return np.where(variances > ROUNDING * posterior.largest_variance, variances, 0.0)

    def _rival(self, posterior: Round) -> tuple[int, int, float]:
        """Return the indices of the incumbent and of its strongest rival, and the bound on the gap.

        The rival has the largest upper bound on its difference from the incumbent.
        """
        mean = posterior.target_mean
        incumbent = argmax_mean(mean, posterior.target_var)
        std = np.sqrt(self._variances_to(posterior, incumbent))
        # A target whose difference is certain is no rival: no answer is informative about it.
        lead = np.where(std > 0.0, mean - mean[incumbent], -np.inf)
        bound = lead + sqrt(self._norm.given_beta(posterior.t, self._model)) * std
        rival = argmax_first(bound)
        return incumbent, rival, max(float(bound[rival]), 0.0)

r"""IDS: the queries of the least squared gap for each unit of information, for their price.

Notation: queries a and targets x are linear functionals of f, with posterior means m, standard
deviations s and covariances; y(a) is the answer to a, with its noise. What would be recommended
now is the incumbent, the target of the largest mean.

*The gap.* In linear partial monitoring [Kirschner2020]_ an action has a reward, which is not its
feedback. Queries have no reward, because they are asked to decide something else. Instead every
round is charged a bound on the gap of the incumbent :math:`\hat x`. The bound uses the posterior of
differences, which takes into account that close targets are similar,

.. math::

    \Delta = \max_x \; m(x) - m(\hat x) + \sqrt\beta \, s(x - \hat x),

the same for all queries (decision D-H19).

*The information* is directed [Kirschner2020]_: it is about the difference of two targets, both of
which may still be the best, the incumbent and the rival x at which its gap is reached. The
paper takes the pair of plausible maximisers whose difference is known least, which may be two that
are both likely to be bad. With :math:`w = x - \hat x`

.. math::

    I(a) = \tfrac12 \log \frac{s^2(w)}{s^2(w \mid y(a))}
         = -\tfrac12 \log\left(1 - \frac{\mathrm{Cov}(a, w)^2}{s^2(w)\,(s^2(a) + \sigma^2(a))}
           \right).

"full" information is about f itself, :math:`\tfrac12 \log(1 + s^2(a) / \sigma^2(a))`, that of
[Kirschner2018]_.

*The ratio* of a query, with its price c(a), is :math:`\Delta^2 c(a) / I(a)`. It is minimised over
queries; since the gap is the same for all, no distribution over several has a smaller one
[Russo2018]_. The sum of gaps over a budget B is at most :math:`\sqrt{\Psi B \sum I}` where no ratio
is above :math:`\Psi`, as without prices.

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
from skgpb.optimizers._sets import best_known
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
    for :class:`~skgpb.KGOptimizer`. It asks the query with the smallest squared gap per unit of
    information and of cost [Kirschner2020]_. The information is about the difference between the
    target that seems best and its strongest rival.

    Other parameters are those of :class:`~skgpb.optimizers.Search`.

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
        What can be measured, if it is not what is searched for.
    cost : array-like or callable, default=None
        Cost of an answer, above 0; None means 1 for all.
    limits : dict, default=None
        Constraints on other outcomes than the reward: ``{"temperature": (None, 80)}``.
    beta : float or callable, default=4.0
        Factor of the posterior variance in the bound on a gap: sqrt(beta) standard deviations. A
        callable takes the round, from 1.
    information : {"directed", "full"}, default="directed"
        About the difference of two targets, or about f as a whole [Kirschner2018]_.

    See Also
    --------
    KGOptimizer : Asks what is expected to raise the best mean most.

    Notes
    -----
    Equations are in the module's docstring. A round costs O(n m) for n queries and m targets once
    the covariances are known.

    Ties, batches and the query that is asked if no query has information are as for KGOptimizer. In
    a batch the queries after the first are the next best ones by themselves.

    Examples
    --------
    Samples can be pooled by fives. Which single one has the most?

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
    _is_log_acquisition = True

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return minus the logarithm of the information ratio of asking each query."""
        # The gap may be 0 at this confidence: the rival is asked about all the same.
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
            In nats, whatever it costs.
        """
        if self.information == "full":
            return posterior.information_about_f(ROUNDING)
        incumbent, rival, _ = self._rival(posterior)
        covariance = posterior.covariance[:, rival] - posterior.covariance[:, incumbent]
        variance = self._variances_to(posterior, incumbent)[rival]
        return posterior.information(covariance, float(variance), ROUNDING)

    def _variances_to(self, posterior: Round, incumbent: int) -> np.ndarray:
        """Posterior variances (n_targets,) of all targets minus the incumbent."""
        var = posterior.target_var
        among = posterior.covariance_of_target(incumbent)
        variances = var + var[incumbent] - 2.0 * among
        return np.where(variances > ROUNDING * posterior.largest_variance, variances, 0.0)

    def _rival(self, posterior: Round) -> tuple[int, int, float]:
        """The incumbent, the target that may be most above it, and by how much."""
        mean = posterior.target_mean
        incumbent = best_known(mean, posterior.target_var)
        std = np.sqrt(self._variances_to(posterior, incumbent))
        # There is nothing to ask about a target whose difference is known.
        lead = np.where(std > 0.0, mean - mean[incumbent], -np.inf)
        bound = lead + sqrt(self._norm.given_beta(posterior.t, self._model)) * std
        rival = argmax_first(bound)
        return incumbent, rival, max(float(bound[rival]), 0.0)

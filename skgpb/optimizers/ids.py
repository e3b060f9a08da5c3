r"""IDS: the queries of the least squared gap for each unit of information, for their price.

Notation: queries a and targets x are linear functionals of f, with posterior means m, standard
deviations s and covariances; y(a) is the answer to a, with its noise. What would be recommended
now is the incumbent, the target of the largest mean.

*The gap.* In linear partial monitoring [Kirschner2020]_ an action has a reward, and what it tells
is another thing. The bound on its gap is that of differences, which knows that what is close is
alike:

.. math::

    \Delta(a) = \max_x \; m(x) - m(a) + \sqrt\beta \, s(x - a).

Where queries are played for their own values that is it. Where they are asked to decide something
else a query has no reward, and every round is charged what the decision may be short of, the gap of
the incumbent :math:`\hat x` in the place of a, which is the same for all queries.

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

*The ratio* is minimised over distributions, of which the best is on two queries [Russo2018]_. With
prices c a distribution q says how the *money* is spent; a is then asked with a probability in
proportion to q(a) / c(a), and for each unit of cost the gap is :math:`E_q[\Delta]` and the
information :math:`E_q[I / c]`:

.. math::

    \Psi(q) = \frac{E_q[\Delta]^2}{E_q[I / c]}.

The sum of gaps over a budget B is then at most :math:`\sqrt{\Psi B \sum I}`, as without prices.

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

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import first_maximum
from skgpb._docstrings import with_shared_paragraphs
from skgpb.acquisition.entropy import linear_information, log_information_slopes
from skgpb.acquisition.information import least_ratio, log_information_ratio
from skgpb.locks import locked
from skgpb.optimizers._blocks import BlocksPosterior
from skgpb.optimizers._first_design import best_known
from skgpb.optimizers._improvement import Slopes
from skgpb.optimizers._posteriors import TargetsPosterior
from skgpb.optimizers._targets import BaseTargetsOptimizer
from skgpb.utils import Interval, Real, StrOptions, check_callable_value

# Variances of at most this share of the largest one are rounding errors.
ROUNDING = 1e-14


@with_shared_paragraphs
class IDSOptimizer(BaseTargetsOptimizer):
    r"""Information-directed sampling: the answer that best tells the rivals for the best apart.

    What can be asked, ``queries``, and what is to be found, the best of the ``targets``, are
    points, cells of some sizes or rows of whatever the kernel takes, as for
    :class:`~skgpb.KGOptimizer`. It asks where the squared gap is least for each unit of information
    and of cost [Kirschner2020]_. Information is about the difference of the target that seems to be
    the best and its strongest rival.

    Parameters
    ----------
    kernel : Kernel, default=None
        Prior covariance of f over points, any kernel of ``sklearn.gaussian_process.kernels``, or
        one of ``skgpb.kernels`` over the rows of ``queries`` and ``targets``. None learns one, as
        KGOptimizer does.
    queries : Cells, Districts, array-like (n_queries, n_columns) or None, default=None
        What can be asked, in the forms that KGOptimizer takes.
    targets : Cells, Districts, array-like (n_targets, n_columns) or None, default=None
        What is to be found, in the same forms.
    bounds : array-like of shape (d, 2) or dict, default=None
        The box. With neither rows nor ``bounds`` it comes from ``fit``.
    context_bounds : %(arms)s
    cost : array-like or callable, default=None
        Prices, above 0: one for each row of ``queries``, or for each size of its cells. A callable
        takes sides of cells, (n, d), and returns (n,). None stands for 1.
    alpha : float, array-like, callable or None, default=None
        Noise variance of an answer, in units of the reward squared; an array has one for each row
        of ``queries``, or for each size of its cells; a callable is as for ``cost``. None learns
        one for all.
    relative_noise : array-like or callable, default=None
        How the noise variances of answers compare: one number above 0 for each row of ``queries``,
        or for each size of its cells. An answer has so many times ``alpha``, or so many times what
        is learned. None stands for 1; [4, 1] for cells of which the first have a quarter of the
        volume, and of the sample. A callable is as for ``cost``.
    beta : float or callable, default=4.0
        Factor of the posterior variance in the bound on a gap: sqrt(beta) standard deviations. A
        callable takes the round, from 1.
    regret : {"decision", "query"}, default="decision"
        What a round is charged. "decision" is what the best target may have over the one that
        would be recommended, whatever is asked: queries are asked to decide. "query" is what the
        best target may have over what is asked, where answers are what is earned: the sum of f* - f
        over the rounds is to be small, as in a bandit.
    information : {"directed", "full"}, default="directed"
        About the difference of two targets, or about f as a whole [Kirschner2018]_.
    deterministic : bool, default=False
        Whether the query of the least ratio is asked, and not one of the two of the best
        distribution, which differ where queries have gaps of their own.
    n_candidates : int, default=500
        How many cells or points stand for all of ``queries``, and how many for all of ``targets``,
        where these are not rows.
    n_initial : int, default=None
        Distinct queries that are asked before the rule is followed, as for KGOptimizer. None stands
        for 10 where ``kernel`` is None, and for none where it is given.
    B, R, misspecification, failure_probability : %(arms)s
    optimizer, n_restarts_optimizer, relearn, normalize_y : %(arms)s
    direction, random_state : %(arms)s

    Attributes
    ----------
    surrogate_ : OnlineGaussianProcessRegressor
        The posterior, over rows: of points, or of boxes where there are cells.
    domain_, targets_ : ArmSet
        What can be asked and what is to be found, or the cells that stand for it at present.
    spent_ : float
        Cost of what was told.
    history_, bounds_, n_features_in_ : %(arms)s

    See Also
    --------
    KGOptimizer : Asks what is expected to raise the best mean most.

    Notes
    -----
    Equations are in the module's docstring. A round costs O(n m) for n queries and m targets once
    the covariances are known.

    Ties, batches and what is asked where nothing tells anything are as for KGOptimizer. In a batch
    the queries after the first are the next best ones alone.

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
    >>> bool(abs(result.x.center[0] - np.pi / 10) < 0.05)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "beta": [Interval(Real, 0, None, closed="left"), callable],
        "regret": [StrOptions({"decision", "query"})],
        "information": [StrOptions({"directed", "full"})],
        "deterministic": ["boolean"],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        queries: Any = None,
        targets: Any = None,
        bounds: Any = None,
        context_bounds: Any = None,
        cost: Any = None,
        alpha: Any = None,
        relative_noise: Any = None,
        beta: float | Callable[[int], float] = 4.0,
        regret: str = "decision",
        information: str = "directed",
        deterministic: bool = False,
        n_candidates: int = 500,
        n_initial: int | None = None,
        B: float = 1.0,
        R: float | None = None,
        misspecification: float = 0.0,
        failure_probability: float = 0.1,
        optimizer: str | Callable | None = None,
        n_restarts_optimizer: int = 0,
        relearn: str | int | None = "doubling",
        normalize_y: bool = False,
        direction: str = "maximize",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            queries=queries,
            targets=targets,
            bounds=bounds,
            context_bounds=context_bounds,
            cost=cost,
            alpha=alpha,
            relative_noise=relative_noise,
            n_candidates=n_candidates,
            n_initial=n_initial,
            B=B,
            R=R,
            misspecification=misspecification,
            failure_probability=failure_probability,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            relearn=relearn,
            normalize_y=normalize_y,
            direction=direction,
            random_state=random_state,
        )
        self.beta = beta
        self.regret = regret
        self.information = information
        self.deterministic = deterministic

    @locked
    def acquisition(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return minus the logarithm of the information ratio of asking each query alone.

        Of the query that is drawn it is that of the distribution, which is no worse than any.
        """
        gap, gain = self.gaps(posterior), self.information_gain(posterior) / posterior.cost
        if not gap.any():
            # Nothing is at stake at this confidence: the rival is asked about all the same.
            gap = np.ones_like(gap)
        values = -log_information_ratio(gap, gain)
        if self.deterministic or not (gain > 0.0).any():
            return values
        first, second, share = least_ratio(gap, gain)
        money = np.array([share, 1.0 - share])
        of_first, of_second = money / posterior.cost[[first, second]]
        drawn = first if posterior.rng.random() * (of_first + of_second) < of_first else second
        mean, total = (money @ each[[first, second]] for each in (gap, gain))
        values[drawn] = -log_information_ratio(mean, total)
        return values

    @locked
    def gaps(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return the bounds on the gaps of all queries.

        Parameters
        ----------
        posterior : TargetsPosterior
            What is known of all queries and targets, see :meth:`posterior`.

        Returns
        -------
        gaps : ndarray of shape (n_queries,)
            At least 0, in units of the surrogate.
        """
        if self.regret == "decision":
            return np.full(len(posterior.cost), self._rival(posterior)[2])
        return np.maximum(self._bounds(posterior).max(axis=1) - posterior.query_mean, 0.0)

    def _bounds(self, posterior: TargetsPosterior) -> np.ndarray:
        """Bounds (n_queries, n_targets) on the targets, each as far as a query does not know it."""
        mean, width = posterior.target_mean, self._width(posterior)
        var = posterior.query_var[:, None] + posterior.target_var - 2.0 * posterior.covariance
        return mean + width * np.sqrt(np.maximum(var, 0.0))

    @locked
    def information_gain(self, posterior: TargetsPosterior) -> np.ndarray:
        """Return what an answer to each query would tell.

        Parameters
        ----------
        posterior : TargetsPosterior
            What is known of all queries and targets, see :meth:`posterior`.

        Returns
        -------
        information : ndarray of shape (n_queries,)
            In nats, whatever it costs.
        """
        if isinstance(posterior, BlocksPosterior):
            return self._told_by_blocks(posterior)
        var, noise = posterior.query_var, posterior.query_noise
        unit = _unit(posterior)
        covariance, variance = var, var
        if self.information == "directed":
            incumbent, rival, _ = self._rival(posterior)
            covariance = posterior.covariance[:, rival] - posterior.covariance[:, incumbent]
            variance = self._variances_to(posterior, incumbent)[rival]
        std = np.sqrt(np.where(var > ROUNDING * unit, var / unit, 0.0))
        return linear_information(covariance / unit, std, noise / unit, variance / unit)

    def _told_by_blocks(self, posterior: BlocksPosterior) -> np.ndarray:
        """What answers of several numbers would tell, exactly as well."""
        if self.information == "full":
            return posterior.information_of_all()
        incumbent, rival, _ = self._rival(posterior)
        covariance = posterior.covariance[:, rival] - posterior.covariance[:, incumbent]
        variance = self._variances_to(posterior, incumbent)[rival]
        return posterior.information(covariance, float(variance))

    def _deciding(self, posterior: TargetsPosterior, slots: np.ndarray) -> np.ndarray:
        incumbent, rival, _ = self._rival(posterior)
        known = [incumbent, rival]
        if self.regret == "query":
            known += self._bounds(posterior)[slots].argmax(axis=1).tolist()
        return np.unique(known)

    def _worth(self, posterior: TargetsPosterior) -> tuple[float, Slopes]:
        var, covariance = float(posterior.query_var[0]), posterior.covariance[0]
        total, by = var + float(posterior.query_noise[0]), np.zeros(len(covariance))
        by_mean = by_var = 0.0
        if self.information == "full":
            of_var, by_total = log_information_slopes(var, total, var)
            # It is also the variance of what the answer is about.
            by_var += 0.5 * of_var
        else:
            incumbent, rival, _ = self._rival(posterior)
            about = float(covariance[rival] - covariance[incumbent])
            variance = float(self._variances_to(posterior, incumbent)[rival])
            of_about, by_total = log_information_slopes(about, total, variance)
            by[[rival, incumbent]] += of_about, -of_about
        gap = float(self.gaps(posterior)[0])
        if self.regret == "query" and gap > 0.0:
            # Twice the logarithm of the gap is taken off.
            strongest = int(self._bounds(posterior)[0].argmax())
            apart = var + float(posterior.target_var[strongest]) - 2.0 * covariance[strongest]
            width = self._width(posterior) / (gap * sqrt(apart)) if apart > 0.0 else 0.0
            by[strongest] += 2.0 * width
            by_var -= width
            by_mean = 2.0 / gap
        by_cost = -1.0 / float(posterior.cost[0])
        value = float(self.acquisition(posterior)[0])
        return value, Slopes(by, by_mean, by_var + by_total, by_total, by_cost)

    def _width(self, posterior: TargetsPosterior) -> float:
        """Standard deviations in the bound on a gap."""
        if callable(self.beta):
            return sqrt(check_callable_value(self.beta, posterior.t, "beta"))
        return sqrt(self.beta)

    def _variances_to(self, posterior: TargetsPosterior, incumbent: int) -> np.ndarray:
        """Posterior variances (n_targets,) of all targets minus the incumbent."""
        var = posterior.target_var
        among = posterior.covariance_of_target(incumbent)
        variances = var + var[incumbent] - 2.0 * among
        return np.where(variances > ROUNDING * _unit(posterior), variances, 0.0)

    def _rival(self, posterior: TargetsPosterior) -> tuple[int, int, float]:
        """The incumbent, the target that may be most above it, and by how much."""
        mean = posterior.target_mean
        incumbent = best_known(mean, posterior.target_var)
        std = np.sqrt(self._variances_to(posterior, incumbent))
        # There is nothing to ask about a target of which the difference is known.
        lead = np.where(std > 0.0, mean - mean[incumbent], -np.inf)
        bound = lead + self._width(posterior) * std
        rival = first_maximum(bound)
        return incumbent, rival, max(float(bound[rival]), 0.0)


def _unit(posterior: TargetsPosterior) -> float:
    """Return the largest variance of a query or a target."""
    return float(max(posterior.query_var.max(), posterior.target_var.max())) or 1.0

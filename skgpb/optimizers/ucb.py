"""Upper confidence bounds: GP-UCB, IGP-UCB and URGP-UCB.

Each rule adds a bonus to the posterior mean. GP-UCB of the paper is ``beta="theory"``; the
schedules of ``beta=None`` are our own (decision D-D9).

References
----------
.. [Srinivas2010] N. Srinivas, A. Krause, S. M. Kakade and M. Seeger, "Gaussian Process
   Optimization in the Bandit Setting: No Regret and Experimental Design", ICML 2010.
.. [Chowdhury2017] S. R. Chowdhury and A. Gopalan, "On Kernelized Multi-armed Bandits", ICML
   2017. Theorem 2.
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Section 6.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, pi, sqrt
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from skgpb import defaults
from skgpb.domains.arms import ArmSet
from skgpb.optimizers._gaussian import BETA_CONSTRAINTS
from skgpb.optimizers.round import MOST_ARMS_IN_FULL, Round
from skgpb.optimizers.search import Search
from skgpb.surrogate.information_gain import GainOfRound
from skgpb.surrogate.model import Model
from skgpb.utils.locks import locked
from skgpb.utils.typing import Beta, PerRound
from skgpb.utils.validation import Integral, Interval, Real, StrOptions

__all__ = ["BaseUCBOptimizer", "GPUCBOptimizer", "IGPUCBOptimizer", "URGPUCBOptimizer"]

# -- Base classes: beta_t, the exploration term of Algorithm 1 -------------------------------------


def union_bound_beta(t: int, n_arms: int, delta: float) -> float:
    """Return the exploration term beta_t of finitely many arms, Theorem 1 of [Srinivas2010]_.

    In all rounds and for all arms f stays within sqrt(beta_t) standard deviations of its mean,
    except with a probability of at most delta.

    Parameters
    ----------
    t : int
        Round, counted from 1.
    n_arms : int
        Number of arms.
    delta : float
        In (0, 1).

    Returns
    -------
    beta : float
        2 log(t^2 pi^2 n_arms / (6 delta)).
    """
    return 2.0 * log(t**2 * pi**2 * n_arms / (6.0 * delta))


def scheduled_beta(t: int, regret: str, horizon: int | None) -> float:
    """Return the exploration term beta_t that measured best with a learned kernel.

    Parameters
    ----------
    t : int
        Round, counted from 1.
    regret : {"cumulative", "simple"}
        Regret to be minimised.
    horizon : int or None
        Number of rounds; None if it is unknown. With a horizon the square root of beta_t decreases
        linearly, and would be 0 in the round after the last one.

    Returns
    -------
    beta : float
        In rounds after the horizon the beta without one.

    Examples
    --------
    >>> [scheduled_beta(t, "simple", 4) for t in (1, 2, 3, 4, 5)]
    [16.0, 9.0, 4.0, 1.0, 4.0]
    """
    if horizon is None or t > horizon:
        return defaults.BETA[regret]
    return (defaults.FIRST_ROOT_OF_BETA[regret] * (horizon + 1 - t) / horizon) ** 2


@dataclass(eq=False, repr=False, kw_only=True)
class BaseUCBOptimizer(Search):
    r"""Base class for your own upper confidence bound: the mean plus a bonus with beta.

    A subclass defines the acquisition function, :meth:`acquisition`, with beta_t from
    :meth:`exploration`, which it may define as well. The argument of both is a
    :class:`~skgpb.optimizers.Round`.

    >>> from skgpb.optimizers import BaseUCBOptimizer
    >>> class BoldOptimizer(BaseUCBOptimizer):
    ...     def acquisition(self, posterior):
    ...         return posterior.mean + self.exploration(posterior) ** 0.5 * posterior.std
    >>> opt = BoldOptimizer(bounds={"x": (0, 10)}, beta=9.0, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

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
    beta : "theory", float or callable, default="theory"
        Factor of the posterior *variance*: the uncertainty is multiplied by sqrt(beta).
        "theory" is the schedule of the algorithm; a callable takes the round t, counted from 1.
    """

    beta: Beta | None = "theory"

    _parameter_constraints = {
        "beta": [StrOptions({"theory"}), Interval(Real, 0, None, closed="left"), callable],
    }

    @locked
    def exploration(self, posterior: Round) -> float:
        """Return beta_t, the exploration term of the round, by the parameter ``beta``.

        Parameters
        ----------
        posterior : Round
            The round. Only t and the number of arms are used.

        Returns
        -------
        beta : float
            At least 0.
        """
        if self.beta is None or self.beta == "theory":
            return self._theory_beta(posterior.t, posterior.n_arms)
        return self._norm.given_beta(posterior.t, self._model)

    def _theory_beta(self, t: int, n_arms: int) -> float:
        """Return beta_t of ``beta="theory"`` in round t, counted from 1."""
        raise ValueError(
            f"{type(self).__name__} has no beta='theory': pass a number or a function of the "
            "round, or define exploration(posterior)"
        )

    def _union_bound(self, t: int, n_arms: int) -> float:
        """Return 2 log(t^2 pi^2 n_arms / (6 delta)), which holds for all arms in all rounds."""
        delta = self._guarantee.failure_probability
        if self.domain_.is_discretization:
            # In a box, the other half of delta is for f between the candidates.
            delta *= 0.5
        return union_bound_beta(t, n_arms, delta)


class GainUCBOptimizer(BaseUCBOptimizer):
    """Base class of searches whose theory has gamma_t, the maximum information gain."""

    information_gain: Literal["greedy", "order"] | PerRound

    _kept_fields = ("_gain",)

    _parameter_constraints = {
        "information_gain": [
            StrOptions({"greedy", "order"}),
            Interval(Real, 0, None, closed="left"),
            callable,
        ],
    }

    def _update_derived_values(self) -> None:
        super()._update_derived_values()
        self._gain = GainOfRound(self)


# -- Exploration of GP-UCB without a given beta ----------------------------------------------------

# Limit: number of times that beta is doubled.
MOST_DOUBLINGS = 40
# Rounding: settings that differ by at most this share of each side are the same (D-H40).
SAME_SETTING = 1e-6


@dataclass(eq=False)
class Exploration:
    """Exploration of GP-UCB with ``beta=None``: the schedule of beta, and rounds of another rule.

    Parameters
    ----------
    regret : {"cumulative", "simple"}
        The regret that is minimised.
    horizon : int or None
        Number of answers of the run, None if it is unknown.
    is_learned : bool
        Whether the kernel is learned.
    queries, targets : ArmSet
        The sets of queries and of targets; the same object if the queries are the targets.
    asked : callable
        Function that returns the rows (n, n_columns) of all answered and pending queries.
    model : Model
        The model; its diagnosis says whether answers have noise.
    has_campaigns : bool, default=False
        Whether there are earlier campaigns.
    """

    regret: Literal["cumulative", "simple"]
    horizon: int | None
    is_learned: bool
    queries: ArmSet
    targets: ArmSet
    asked: Callable[[], np.ndarray]
    model: Model
    has_campaigns: bool = False

    def beta(self, round: Round) -> float:
        """Return beta_t."""
        arms, regret = self.queries, self.regret
        if not self.is_learned:
            return scheduled_beta(round.t, regret, self.horizon)
        # Exact answers need no more exploration, and for a while all answers may be exact. But an
        # earlier campaign may agree with them at a local optimum.
        may_be_exact = self.horizon is None and self.model.diagnosis.noise != "some"
        if may_be_exact and not self.has_campaigns:
            regret = "cumulative"
        beta = scheduled_beta(round.t, regret, self.horizon)
        many = self.horizon is None and arms.layout.n_sides >= defaults.MANY_SIDES
        # Some sides are integers or lists.
        if arms.space_of_all is not None and arms.space_of_all.has_lists:
            beta *= defaults.SETTINGS_BETA_FACTOR
        elif regret == "simple" and arms.is_discretization and many:
            beta *= defaults.MANY_SIDES_BETA_FACTOR
        past_known = self.regret == "simple" and arms.is_discretization
        return self._double_beta_until_uncertain(beta, round) if past_known else beta

    def _double_beta_until_uncertain(self, beta: float, round: Round) -> float:
        """Return beta, doubled until the arm of the largest bound has an uncertain value.

        With exact answers the best arm would otherwise be pulled in all remaining rounds. A pending
        query counts as answered, as in the posterior.
        """
        mean, std, arms, asked = round.mean, round.std, self.queries.rows, self.asked()
        # Answers may be exact before the next refit makes their noise variance small. A repeat that
        # is to show whether they have noise is another rule's.
        has_noise = self.model.diagnosis.noise == "some"
        known = (std < defaults.NEGLIGIBLE * np.ptp(mean)) | (not has_noise)
        near = SAME_SETTING * np.ptp(arms, axis=0)
        for wider in beta * 2.0 ** np.arange(MOST_DOUBLINGS):
            best = np.argmax(mean + sqrt(wider) * std)
            if not (known[best] and (np.abs(asked - arms[best]) <= near).all(axis=1).any()):
                return float(wider)
        return beta

    def overrides_ucb(self, round: Round) -> bool:
        """Return whether another rule replaces the upper bounds in this round."""
        return (
            self._uses_knowledge_gradient(round) or self._distances_from_queries(round) is not None
        )

    def override_scores(self, round: Round) -> np.ndarray | None:
        """Return log scores that replace the upper bounds in this round; None if nothing does.

        For a small simple regret these are the knowledge gradient, in the last rounds before the
        horizon, and the distance from all other queries, in some rounds.
        """
        if self._uses_knowledge_gradient(round):
            return round.log_knowledge_gradient()
        distances = self._distances_from_queries(round)
        # Logarithms, as for the knowledge gradient; the score of a repeated query stays finite.
        return None if distances is None else np.log(np.maximum(distances, SAME_SETTING))

    def _uses_knowledge_gradient(self, round: Round) -> bool:
        """Return whether the knowledge gradient chooses in this round."""
        if self.horizon is None:
            return False
        last = self.horizon * (1.0 - defaults.KNOWLEDGE_GRADIENT_SHARE) < round.t <= self.horizon
        return last and round.n_targets <= MOST_ARMS_IN_FULL

    def _distances_from_queries(self, round: Round) -> np.ndarray | None:
        """Return the distances (n_arms,) of candidates from all queries, in side lengths.

        None in rounds that do not use them as scores.
        """
        if not self.is_learned:
            return None
        layout, arms = self.queries.layout, self.queries.rows
        period = defaults.EXPLORATION_PERIOD.get(layout.n_sides)
        if period is None or layout.n_context or round.t == 1 or (round.t - 1) % period:
            return None
        box = self.queries is self.targets and self.queries.is_discretization
        if not box or self.model.diagnosis.noise != "some":
            return None
        side = np.ptp(arms, axis=0)
        side[side == 0.0] = 1.0
        distances = cdist(arms / side, self.asked() / side).min(axis=1, initial=inf)
        return distances if distances.max() > SAME_SETTING else None


# -- GP-UCB ----------------------------------------------------------------------------------------


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
    beta : {"theory", "rkhs"}, float or callable, default=None
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is
        2 log(t^2 pi^2 n_arms / (6 delta)), in a box with delta / 2 instead of delta. "rkhs" is
        valid everywhere at once for any f of norm at most B (:doc:`/user_guide/guarantees`). A
        callable takes the round t, counted from 1. None stands for "theory" if a kernel is given
        and ``regret`` and ``horizon`` have their defaults, and otherwise for a schedule that did
        well in benchmarks.
    regret : {"cumulative", "simple"}, default="cumulative"
        Regret to minimise: that of all queries together, or that of the recommendation at the end.
        Only used if ``beta`` is None, see Notes.
    horizon : int, default=None
        Number of answers, None if it is unknown. Only used if ``beta`` is None, see Notes.

    Notes
    -----
    *Exploration.* With ``beta=None``, beta is 2. For ``regret="simple"`` it is 4, or 9 in a box of
    eight numbers or more, if the noise or the kernel is given, with earlier campaigns, or once two
    answers to a query have differed. With a ``horizon`` beta decreases from round to round. For
    ``regret="simple"`` some rounds ask the point farthest from all queries, and the last fifth of a
    horizon the arm of the largest knowledge gradient. :ref:`which-regret` has the rules and their
    gains.
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
        """Return the upper confidence bound of every arm; ties go to the first arm.

        With ``regret="simple"`` it returns the logarithm of the knowledge gradient in the last
        rounds before the horizon, and the logarithm of the distance from all other queries in some
        rounds, see Notes.
        """
        if self._seeks_simple_regret:
            other = self._exploration.override_scores(posterior)
            if other is not None:
                return other
        beta = self.exploration(posterior)
        return posterior.mean + sqrt(beta) * posterior.std

    @locked
    def exploration(self, posterior: Round) -> float:
        """Return beta_t, from the parameter ``beta``, the theory, or the schedule."""
        if self.beta is not None:
            return super().exploration(posterior)
        both_default = self.regret == "cumulative" and self.horizon is None
        if both_default and self.run_.params.kernel is not None:
            return self._theory_beta(posterior.t, posterior.n_arms)
        return self._exploration.beta(posterior)

    @property
    def _exploration(self) -> Exploration:
        """Schedule of beta, and the rounds of another rule, for ``beta=None``."""
        run = self.run_
        return Exploration(
            self.regret,
            self.horizon,
            run.params.kernel is None,
            self.domain_,
            self.targets_,
            lambda: self._observed_rows_with(run.pending),
            self._model,
            self._earlier is not None,
        )

    @property
    def _seeks_simple_regret(self) -> bool:
        return self.beta is None and self.regret == "simple"

    def _unit_in_round(self, round: Round) -> str:
        other = self._seeks_simple_regret and self._exploration.overrides_ucb(round)
        return "log" if other else "value"

    # 2 log(t^2 pi^2 n_arms / (6 delta)), Theorem 1 of [Srinivas2010]_.
    _theory_beta = BaseUCBOptimizer._union_bound


# -- IGP-UCB: confidence widths for any f of bounded norm ------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class IGPUCBOptimizer(GainUCBOptimizer):
    r"""GP-UCB for a function with a known bound on its norm, for comparison with theory.

    >>> from skgpb import IGPUCBOptimizer
    >>> opt = IGPUCBOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the largest mean(x) + sqrt(beta_t) std(x) [Chowdhury2017]_.

    GP-UCB with beta_t = (B + R / sqrt(alpha) sqrt(2 (gamma_t + 1 + log(1 / delta))))^2, gamma_t
    being the maximum information gain. A round costs O(n_arms t).

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
    beta : {"theory", "rkhs"}, float or callable, default="theory"
        Factor of the posterior *variance*: the bonus is sqrt(beta) std. "theory" is the formula
        above; "rkhs" is tighter, because it uses the information gain of the observations instead
        of the maximum (:doc:`/user_guide/guarantees`); a callable takes the round t, counted from
        1.
    information_gain : {"greedy", "order"}, float or callable, default="greedy"
        gamma_t: a bound computed from the kernel and the arms, the order formula of the
        kernel with constants dropped (for linear, RBF and Matern kernels), or any number or
        function of t. See :mod:`skgpb.surrogate.information_gain`.

    Notes
    -----
    Ties, boxes, batches and the recommendation are as in
    :class:`~skgpb.optimizers.Search`.
    """

    information_gain: Literal["greedy", "order"] | PerRound = "greedy"
    beta: Beta = "theory"

    _parameter_constraints = {"beta": BETA_CONSTRAINTS}

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the upper confidence bound of every arm; ties go to the first arm."""
        return posterior.mean + sqrt(self.exploration(posterior)) * posterior.std

    def _theory_beta(self, t: int, n_arms: int) -> float:
        """Return beta_t of Theorem 2, with gamma_t, which is at least its gamma_{t-1}."""
        return self._widths().beta_of_gain(self._gain(t), 1.0)


# -- URGP-UCB: the decrease of the uncertainty as bonus --------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class URGPUCBOptimizer(BaseUCBOptimizer):
    r"""GP-UCB with the reduction of the standard deviation as its bonus, for comparison.

    >>> from skgpb import URGPUCBOptimizer
    >>> opt = URGPUCBOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    It pulls the arm of the largest mean(x) + sqrt(beta_t) (reduction of the standard deviation).

    The paper uses it to show that the weights of DAGP-UCB matter (decision D-D2). A round costs
    O(n_arms t), O(n_arms^2) with weights over all arms.

    Other parameters are inherited from :class:`~skgpb.optimizers.BaseUCBOptimizer`.

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
    weights : {"own", "mean", "sum"}, default="own"
        Standard deviations whose reduction is the bonus: that of the arm alone (Kronecker's delta,
        as printed: a GP-UCB with a smaller bonus, which performs well), the mean over all arms, or
        the sum over all arms, as in the figures of the paper.
    covariance : {"auto", "full", "lean"}, default="auto"
        Whether "mean" and "sum" keep the n_arms x n_arms posterior covariance. "auto" does for
        at most 5,000 arms.

    Notes
    -----
    Ties, boxes, batches and the recommendation are as in
    :class:`~skgpb.optimizers.Search`.
    """

    weights: Literal["own", "mean", "sum"] = "own"
    covariance: Literal["auto", "full", "lean"] = "auto"

    _parameter_constraints = {
        "weights": [StrOptions({"own", "mean", "sum"})],
        "covariance": [StrOptions({"auto", "full", "lean"})],
    }

    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the mean plus sqrt(beta_t) sum_x' w(x, x') S_t(x, x'), S_t by equation 37."""
        n = posterior.n_targets
        if self.weights == "own":
            uncertainty = posterior.own_reduction()
        else:
            w = np.full(n, 1.0 / n) if self.weights == "mean" else np.ones(n)
            uncertainty = posterior.reduction(w, self.covariance)
        return posterior.mean + sqrt(self.exploration(posterior)) * uncertainty

    # 2 log(t^2 pi^2 n_arms / (6 delta)), equation 5; in a box, equation 22.
    _theory_beta = BaseUCBOptimizer._union_bound

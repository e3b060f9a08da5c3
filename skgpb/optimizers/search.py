r"""Search by an acquisition function over sets of queries and targets, and its recommendation.

The queries and the targets are two sets of linear functionals of f, or one set: points, cells of
any sizes, or rows that the kernel accepts. The posterior has every covariance between the two. A
rule computes a score of each query from a :class:`~skgpb.optimizers.round.Round`. The search
handles costs, pending queries, ties and the candidates of a box.

In the UCB family the search maximises, in the notation of Algorithm 1,

    mean(x) + sqrt(beta_t) sum_x' w_t(x, x') S_t(x, x'),

where beta_t is the exploration term, w_t are the weights and S_t the uncertainty terms.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti and M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020. Equation, algorithm and
   theorem numbers below are this paper's.
.. [Desautels2014] T. Desautels, A. Krause and J. W. Burdick, "Parallelizing
   Exploration-Exploitation Tradeoffs in Gaussian Process Bandit Optimization", JMLR 15, 2014.
.. [Krause2011] A. Krause and C. S. Ong, "Contextual Gaussian process bandit optimization",
   NIPS 2011.
.. [Gardner2014] J. R. Gardner, M. J. Kusner, Z. Xu, K. Q. Weinberger and J. P. Cunningham,
   "Bayesian Optimization with Inequality Constraints", ICML 2014. Section 3.1.
.. [Emmerich2011] M. T. M. Emmerich, A. H. Deutz and J. W. Klinkenberg, "Hypervolume-based expected
   improvement: Monotonicity properties and exact computation", CEC 2011.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nan
from types import EllipsisType
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, overload

import numpy as np
from scipy.special import log_ndtr
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skgpb import defaults
from skgpb._core._ties import argmax_first, exceeds
from skgpb.acquisition.improvement import log_own_gain
from skgpb.domains import Box, Cells, Districts, Fidelities
from skgpb.domains.arms import Arm, ArmSet, PointsQuery, Query, Region
from skgpb.domains.cells import SAME_SIZE
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import AllPendingError, LimitWarning
from skgpb.kernels._random_effect import of_f
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._base import Q, checked_scores
from skgpb.optimizers._branches import query_of_branch
from skgpb.optimizers._campaigns import CampaignPosterior, read_campaigns
from skgpb.optimizers._feasibility import (
    AnswerWithOutcomes,
    Feasibility,
    NumberWithinEnds,
    SuccessProbabilities,
    Utility,
    YesOrNo,
    check_kinds,
    check_spelling,
    checked_limits,
    checked_outcomes,
    outcomes_of_each,
    with_means,
)
from skgpb.optimizers._feedback import Feedback, box_of_arms, box_of_sets, given_sets, is_free
from skgpb.optimizers._files import restore, snapshot_of
from skgpb.optimizers._gaussian import GaussianProcessOptimizer, ModelParameters
from skgpb.optimizers._goals import Front, GoalImprovement, Goals, checked_goals
from skgpb.optimizers._inputs import Inputs, Numbers, SetInputs, check_settings
from skgpb.optimizers._loop import seed_of_run
from skgpb.optimizers._places import SideLengths
from skgpb.optimizers._run import AT_START, checked_method, history_table
from skgpb.optimizers._sets import (
    ANSWERED,
    CostModel,
    Learning,
    OutcomeModels,
    PosteriorCache,
    Recommendation,
    TargetSizes,
    best_answered_query,
    differs,
)
from skgpb.optimizers._stopping import Rivals, over_windows
from skgpb.optimizers.changed_box import change_arms, change_box
from skgpb.optimizers.round import QueryTargetPosterior, Round
from skgpb.surrogate.campaigns import (
    CampaignModels,
    EarlierCampaigns,
    shapes_alone,
    shapes_of_campaign,
)
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.model import Diagnosis, Model
from skgpb.surrogate.models import Models, can_be_averaged
from skgpb.surrogate.pairs import pending_downdate
from skgpb.utils.locks import locked, reading_log
from skgpb.utils.progress import log_step
from skgpb.utils.typing import (
    Bounds,
    Costs,
    Directions,
    EarlierAnswers,
    Limits,
    Outcomes,
    Points,
    RecommendMethod,
    Setting,
    Settings,
    SupportsArray,
    Told,
    Values,
)
from skgpb.utils.validation import (
    MOST_POINTS,
    Integral,
    Interval,
    Real,
    check_bounds,
    check_one_each,
    is_sequence,
)
from skgpb.utils.warnings import warn

__all__ = ["Search"]

# Speed: the average over models is computed for so many answered queries, the best by one model.
N_COMPARED = 100
# Rounding: least excess of a score over the incumbent, in units of the prior, so that it has a
# logarithm.
MIN_ACQUISITION = 1e-300


#: Types of the parameters ``targets`` and ``queries``.
Targets: TypeAlias = Points | Cells | Districts
Queries: TypeAlias = Targets | Fidelities

# Type of a recommendation.
Best = TypeVar("Best")
# Model of failures.
S = TypeVar("S", bound=SuccessProbabilities)


class SetSearch(GaussianProcessOptimizer[Q], Generic[Q, Best]):
    """A search for the best target by queries; both are sets of functionals of f, or one set.

    A subclass has the parameters. It makes the two sets in ``_begin``, says in
    ``_targets_are_queries`` whether they are one set, and scores queries in :meth:`acquisition`.
    """

    _query_type: ClassVar[type[Query]] = Arm
    _inputs_type: ClassVar[type[Inputs]] = SetInputs
    _kept_fields: ClassVar[tuple[str, ...]] = ("_cache", "_filled", "_spent", "_target_sizes")
    _sides = "any"
    _methods: ClassVar[tuple[RecommendMethod, ...]] = (
        "posterior",
        "best_observed",
        "shrinkage",
        "paper",
    )
    _keeps_settings = True
    _takes_together = True

    #: Whether the queries are the targets if ``bounds`` is the only set given.
    _targets_are_queries_in_box: ClassVar[bool] = True
    #: Unit of :meth:`acquisition`: an optimistic "value" of f, the "log" of the value of an answer,
    #: or the "standard" score of an improvement.
    _unit_of_scores: ClassVar[Literal["value", "log", "standard"]] = "value"
    #: Whether every other query is a target-size cell, if the kernel is the default one (D-H30).
    _interleaves_targets: ClassVar[bool] = False

    n_initial: int | None

    #: Name of the campaign of this search in a CombinatorialBandit; None elsewhere.
    _campaign: str | None = None

    # Queries and targets, and their joint posterior.
    _cache: PosteriorCache
    # Size of the largest initial design that is complete.
    _filled: int
    # The target-size cells among the queries; None if the search does not distinguish them.
    _target_sizes: TargetSizes | None = None
    _has_costs = True
    _cost_model: CostModel
    # Cost of all answers since the start.
    _spent: float
    #: Earlier campaigns; None without any.
    _earlier: EarlierCampaigns | None = None

    # -- the rule ---------------------------------------------------------------------------

    @abstractmethod
    @locked
    def acquisition(self, posterior: Round) -> np.ndarray:
        """Return the acquisition function of each query, not divided by its cost.

        Parameters
        ----------
        posterior : Round
            Posterior of all queries and targets, see :meth:`posterior`.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            A score for each query; -inf stands for a query that is not worth asking. If costs
            differ, the score must be an optimistic value of a target: the search divides its excess
            over the largest posterior mean of a target by the cost. Use
            :class:`~skgpb.TargetsOptimizer` for scores that are logarithms of the value of an
            answer.
        """

    # -- the round --------------------------------------------------------------------------

    def _choose(self, context: np.ndarray | None) -> Any:
        if context is not None:
            n, rng = self.run_.n_told, self._rng_of_candidates
            self._cache.enter(context, n, rng, self._observed_centers)
        first = self._next_initial_query()
        if first is None and self._begins_with_campaigns:
            return self._best(context)
        return self._best_by_rule() if first is None else first

    @property
    def _begins_with_campaigns(self) -> bool:
        """True if the first query is the best setting by earlier campaigns.

        Without answers their likeness is a guess, so that a rule would explore it at the extremes.
        """
        run = self.run_
        begins = not (run.n_observations or run.pending) and self._targets_are_queries
        return begins and self._models_with_campaigns() is not None

    @locked
    def posterior(self, pending: Sequence[Arm | PointsQuery] | None = None) -> Round:
        """Return the posterior before the next round, the argument of acquisition functions.

        Parameters
        ----------
        pending : sequence of queries, default=None
            Queries under evaluation; None stands for the pending queries of the run.
        """
        loop.begin(self)
        self._refresh()
        given = self.run_.pending if pending is None else map(self._inputs.resolve, pending)
        return self._round(list(given))

    def _round(self, pending: list[Any]) -> Round:
        """Return the posterior of all queries and targets, given pending queries."""
        row_sets = [self.domain_.rows_of_query(query) for query in pending]
        stage, models = self._stage(len(pending)), None
        expected = self._noises_of(pending) if pending else np.empty(0)
        if self._earlier is not None:
            models = self._earlier.models(self._model, row_sets, expected)
        level, error = models.noise if models else self._model.alpha, self._model.model_noise
        costs, noises = self._cost_model.costs_and_noises(level)
        noises = noises + error
        known: QueryTargetPosterior
        if models is None:
            known = self._cache.joint_posterior(pending, row_sets, expected)
        else:
            known = CampaignPosterior(models, self.domain_.rows, self.targets_.rows)
        return Round.before(known, self._model.process, noises, costs, *stage)

    def _stage(self, n_pending: int) -> tuple[int, Callable[[], np.random.Generator]]:
        """Return the number of the round and a factory of its random generator, of a fixed seed."""
        run = self.run_
        n_told = run.n_told
        return n_told + 1 + n_pending, partial(np.random.default_rng, [run.seed, n_told, n_pending])

    def _scored_round(self) -> tuple[Round, np.ndarray]:
        """Return the round weighted by feasibility, and the score of each query per unit cost.

        The score of hopeless queries is -inf.
        """
        self._refresh()  # before all else: it moves the candidates
        feasibility = self._feasibility(expecting=True)
        return self._score_round(feasibility, self._goal_improvement(feasibility, expecting=True))

    def _score_round(
        self, feasibility: Feasibility, improvement: GoalImprovement | None
    ) -> tuple[Round, np.ndarray]:
        """Return :meth:`_scored_round` by a feasibility, and for several goals."""
        posterior = self._round(list(self.run_.pending))
        settings, targets = self._settings, self.targets_.rows
        if improvement is not None:
            values = improvement.log_values(settings) + feasibility.log_weights(settings)
            values = values - np.log(posterior.cost)
            return posterior, feasibility.mask_hopeless(values, settings)
        round = feasibility.weight_round(posterior, settings, targets)
        return round, feasibility.mask_hopeless(self._scores(round), settings)

    def _scores(self, round: Round) -> np.ndarray:
        """Return the log value of each query minus its log cost; -inf if the value is 0."""
        values = checked_scores(
            self.acquisition(round),
            f"acquisition of {type(self).__name__}",
            round.n_queries,
        )
        differ = self._cost_model.differ
        if not differ and (round.cost == 1.0).all():
            return values  # fast path: all costs are 1 in most rounds, those without failures
        unit = self._unit_in_round(round)
        if unit != "log" and not differ:
            return values
        if unit == "standard":
            values = log_ndtr(values)
        elif unit == "value":
            best = round.known.incumbent
            best = round.target_mean.max() if best is None else best
            values = np.log(np.maximum(values - best, MIN_ACQUISITION))
        return values - np.log(round.cost)

    def _unit_in_round(self, round: Round) -> str:
        """Return the unit of :meth:`acquisition` in this round."""
        return self._unit_of_scores

    @property
    def _settings(self) -> np.ndarray:
        """Rows that distinguish the queries of a round, shape (n_queries, n_columns)."""
        return self.domain_.rows

    @abstractmethod
    def _feasibility(self, expecting: bool = False, n_failures: int | None = None) -> Feasibility:
        """Return the feasibility by failures and limits.

        With ``expecting`` it is given the expected answers to the queries being evaluated. Only the
        first ``n_failures`` failures count; None stands for all.
        """

    def _models_of_goals(self) -> list[Model]:
        """Return the models of the reward and of the further goals that were measured."""
        return [self._model]

    def _goal_improvement(
        self, feasibility: Feasibility, expecting: bool = False
    ) -> GoalImprovement | None:
        """Return the expected improvement of the volume that the answers dominate.

        It replaces the rule. None without several goals, or before each goal was measured. With
        ``expecting`` the models are given the expected answers to the queries being evaluated.
        """
        return None

    def _best_by_rule(self) -> Any:
        round, values = self._scored_round()
        free = self._apart_from_pending(self._free_slots(len(values)), values)
        neglected = self._slot_in_neglected_branch(free, values)
        if neglected is not None:
            return self.domain_.arm(neglected)
        slot = self._best_slot(round, values, free)
        if values[slot] == -inf:
            return self.domain_.arm(argmax_among(round.query_var / round.cost, free))
        if self._repeats_for_gain:
            slot = self._prefer_new_query(round, values, free, slot)
        return self._refine_query(round, values, free, slot)

    def _refine_query(
        self, round: Round, values: np.ndarray, free: np.ndarray | None, slot: int
    ) -> Any:
        """Return the query of a slot; a subclass may return a better one between the candidates."""
        return self.domain_.arm(slot)

    def _best_slot(self, round: Round, values: np.ndarray, free: np.ndarray | None) -> int:
        """Return the slot of the best query, among the slots ``free`` unless these are None."""
        return argmax_among(values, free)

    @property
    def _seeks_simple_regret(self) -> bool:
        """True if only the recommendation counts, and not the rewards of the queries."""
        return False

    @property
    def _has_goals(self) -> bool:
        """True if there are goals beside the reward."""
        return bool(getattr(self._params, "goals", None))

    @property
    def _only_result_counts(self) -> bool:
        """True if only the recommendation, or the front of several goals, counts."""
        return self._seeks_simple_regret or self._has_goals

    def _slot_in_neglected_branch(self, free: np.ndarray | None, values: np.ndarray) -> int | None:
        """Return a slot in the branch with the fewest answers for each number, in some rounds.

        A branch, or the numbers beside a level of a list, whose optimum is narrow looks poor until
        it has been searched finely. None in other rounds, with one branch, and if all branches have
        enough answers.
        """
        run = self.run_
        space = run.actions
        seeks = self._seeks_simple_regret or self._answers_are_fixed
        if space is None or not (seeks and self._is_observable) or space.branch_axis is None:
            return None
        if (run.n_told + len(run.evaluating)) % defaults.BRANCH_ROUND:
            return None
        asked = self._observed_rows_with([*run.evaluating, *run.left_out])
        known, places = self.domain_.layout.places(asked), self.domain_.every_place()
        here, there = space.branches(places), space.branches(known)
        possible = values > -inf
        if free is not None:
            possible &= np.isin(np.arange(len(values)), free)
        sides = space.numbers_of_branches
        counts = np.bincount(there, minlength=len(sides)) / np.maximum(sides, 1)
        counts[(sides == 0) | ~np.isin(np.arange(len(sides)), here[possible])] = inf
        least = int(counts.argmin())
        if np.isfinite(counts).sum() < 2 or counts[least] >= defaults.BRANCH_ANSWERS:
            return None  # a single branch has no rival
        slots = np.flatnonzero(possible & (here == least))
        targets = self._model.process.posterior.targets()
        mine, spread = targets[there[: len(targets)] == least], float(np.std(targets))
        answers = np.zeros(int((there == least).sum()))  # pending queries have the mean
        if len(mine) and spread > 0.0:
            answers[: len(mine)] = (mine - mine.mean()) / spread
        best = query_of_branch(
            places[slots], known[there == least], answers, self.domain_.bounds, int(sides[least])
        )
        return None if best is None else int(slots[best])

    def _free_slots(self, n_queries: int) -> np.ndarray | None:
        """Return the slots of the queries that ``ask`` may return; None for all.

        Raises
        ------
        AllPendingError
            If ``ask`` may return no query.
        """
        run = self.run_
        pending = list(run.pending)
        wanted = self._target_sizes if self._interleaves_targets else None
        if wanted is None and not pending and not self._answers_are_fixed:
            return None
        free = np.ones(n_queries, dtype=bool)
        if self._answers_are_fixed:
            tried = self._observed_rows_with(query for _, query, _ in run.failures)
            free &= ~membership_mask(self.domain_.rows, tried)
        for query in pending:
            free &= self.domain_.different_from(query)
        if wanted is not None and wanted.is_due(run.n_told, self._spent, pending, self._cost_model):
            free = wanted.among(free)
        slots = np.flatnonzero(free)
        if not len(slots):
            if self._answers_are_fixed:
                raise AllPendingError(f"all {n_queries} settings were asked, each of them once")
            raise AllPendingError(
                f"all {n_queries} {'arms' if self._targets_are_queries else 'queries'} are "
                "pending: tell some of them before asking for more"
            )
        return slots

    def _apart_from_pending(
        self, slots: np.ndarray | None, values: np.ndarray
    ) -> np.ndarray | None:
        """Return the slots of the queries about which pending answers leave most to learn.

        ``slots`` are those that ``ask`` may return, and ``values`` (n_queries,) all scores. Queries
        whose score is -inf do not count. All slots if the rewards of queries count.
        """
        simple = self._only_result_counts
        rewards_count = self._unit_of_scores == "value" and not simple
        if slots is None or rewards_count or not self.run_.evaluating:
            return slots
        kind = "value" if simple else "information"
        gp, pending = self._model.process, list(self.run_.pending)
        row_sets = [self.domain_.rows_of_query(query) for query in pending]
        noises = defaults.PENDING_NOISE[kind] * self._noises_of(pending)
        told = pending_downdate(gp, row_sets, noises)[:, slots]
        before = np.maximum(gp.posterior.tracked_var()[slots], np.finfo(float).tiny)
        left = np.maximum(1.0 - np.einsum("ij,ij->j", told, told) / before, 0.0)
        left[values[slots] == -inf] = 0.0
        return slots[left >= defaults.LEFT_TO_LEARN[kind] * left.max()]

    def _observe(self, query: Any, reward: Any, alpha: Any) -> None:
        run = self.run_
        if run.together is None:
            moments = self._condition(query, reward, alpha)
        else:
            rows = self.domain_.rows_of_query(query)
            run.together.append((rows, reward, alpha, run.stratum))
            moments = nan, nan  # known after all of these answers
        price = self._cost_model.cost_of(query)
        self._spent += price
        if self._target_sizes is not None:
            self._target_sizes.pay(query, price)
        run.close(query, reward, *moments, False)

    def _condition(self, query: Any, reward: Any, alpha: Any) -> tuple[float, float]:
        """Condition on one answer; return its predicted mean and deviation, in the user's units."""
        # The candidates of a round must not depend on whether anything has read them.
        self._refresh()
        slot, stratum = self._cache.slot_of(query), self.run_.stratum
        self._model.begin(reward, self._on_refit)
        if stratum:
            slot = -1  # tracked functionals have no random effect of a block
            self._set_model(self._model.with_effects())
            self._on_refit()
        self._cache.observing(slot, self._model.noise_of(alpha))
        what = slot if slot >= 0 else self.domain_.rows_of_query(query)
        mean, var = self._model.observe(what, reward, alpha, stratum=stratum)
        return self._model.to_user_units(mean, var)

    def _observe_together(self, answers: list[Any]) -> None:
        run, n = self.run_, len(answers)
        row_sets, *numbers, strata = zip(*answers, strict=True)
        rewards, alphas = np.array(numbers, dtype=np.float64)
        if any(strata):
            self._set_model(self._model.with_effects())
            self._on_refit()
        self._cache.observing(-1, 0.0)
        model = self._model
        log_step(n, "computing their covariances")
        moments = model.observe_together(row_sets, rewards, alphas, strata, self._on_refit)
        predicted = map(model.to_user_units, *(each.tolist() for each in moments))
        told = zip(run.history[-n:], predicted, strict=True)
        run.history[-n:] = [(*row[:2], *pair, *row[4:]) for row, pair in told]
        self._warn_of_penalty(n)
        if model.is_due:
            log_step(n, "learning the hyperparameters")
        self._learn_if_due()

    def _learn_if_due(self) -> None:
        if self._earlier is not None:
            self._earlier.update(self._model)
        super()._learn_if_due()

    def _snapshot(self) -> Any:
        own = {} if self._earlier is None else {"earlier": snapshot_of(self._earlier)}
        return super()._snapshot() | own

    def _restore(self, snapshot: dict[str, Any]) -> None:
        super()._restore(snapshot)
        if self._earlier is not None:
            restore(self._earlier, snapshot["earlier"])

    def _models_with_campaigns(self) -> CampaignModels | None:
        """Return the models given earlier campaigns; None if these do not count."""
        return None if self._earlier is None else self._earlier.models(self._model)

    def _mixture(self) -> Models | None:
        return self._models_with_campaigns() or super()._mixture()

    # -- repeats ----------------------------------------------------------------------------
    # The search asks a query again if its answer is suspect, or if no repeat shows yet whether
    # answers have noise (``_query_to_replicate``). If the rule prefers a repeat and only the
    # recommendation counts, the answer must promise more than a new query (``_prefer_new_query``).
    # It never asks again for a number that is the same each time (``_answers_are_fixed``), and
    # ``run`` ends if no answer can change anything (``_is_exhausted``).

    @property
    def _answers_are_fixed(self) -> bool:
        """True if a second answer to a query would be the same number."""
        run = self.run_
        return run.space is not None and run.space.asked_once

    def _query_to_replicate(self, diagnosis: Diagnosis) -> Any:
        if self._answers_are_fixed or self._models_with_campaigns() is not None:
            return None
        again = super()._query_to_replicate(diagnosis)
        unclear = again is None and diagnosis.repeats_best and self._can_ask_targets
        if unclear and self._next_initial_query() is None:
            best = best_answered_query(self.domain_, self._model, "best_observed")
            return None if best in self.run_.pending else best
        return again

    @property
    def _repeats_for_gain(self) -> bool:
        """True if the search repeats a query only if its answer may change the recommendation.

        That is so if the kernel is learned, the queries are separate, and only the recommendation
        counts. In a box of numbers there is a new point beside every earlier query. The improvement
        for several goals allows for repeats.
        """
        run = self.run_
        space = run.space
        separate = not self.domain_.is_discretization or (space is not None and space.has_lists)
        learned = separate and run.params.kernel is None
        if not (learned and self._only_result_counts and self._is_observable):
            return False
        return len(self._models_of_goals()) == 1

    def _prefer_new_query(
        self, round: Round, values: np.ndarray, free: np.ndarray | None, slot: int
    ) -> int:
        """Return ``slot``, or another slot if its query is a repeat and gains less.

        The gain is the expected increase of the largest mean by an answer, per unit cost. The
        result has the largest gain among all answered and pending queries and the new query with
        the best score.
        """
        asked, rows = self._observed_rows_with(self.run_.pending), self.domain_.rows
        if not (asked == rows[slot]).all(axis=1).any():
            return slot
        known = membership_mask(rows, asked)
        free = np.arange(len(values)) if free is None else free
        hopeless = self._feasibility(expecting=True).hopeless_mask(rows)
        new, again = free[~(known | hopeless)[free]], free[known[free]]
        if not len(new):
            return slot
        both = np.append(again, argmax_among(values, new))
        gains = log_own_gain(round.mean, round.var, round.noise) - np.log(round.cost)
        return argmax_among(gains, both[::-1])

    @property
    def _is_exhausted(self) -> bool:
        """True if every feasible query has an exact answer and only the result counts."""
        if not (
            self._only_result_counts and self._is_observable and not self._cache.queries.follows
        ):
            return False
        space, rows = self.run_.space, self.domain_.rows
        if self.domain_.is_discretization and (space is None or not np.isfinite(space.n_settings)):
            return False
        left = rows[~self._feasibility(expecting=True).hopeless_mask(rows)]
        return all(
            len(model.process.observed) >= len(left)
            and model.diagnosis.noise == "none"
            and bool(membership_mask(left, model.process.observed.rows).all())
            for model in self._models_of_goals()
        )

    # -- parts of a round --------------------------------------------------------------------

    def _refresh(self) -> None:
        """Move the candidates around the incumbents, at the first access in a round."""
        run, cache = self.run_, self._cache
        n_told = run.n_told
        # Candidates in a context move when it is entered.
        if cache.refreshed_at == n_told or self._n_context:
            return
        if not cache.renew(n_told, self._guarantee.failure_probability):
            return
        # Count failures before this round only: the candidates must not depend on when they are
        # read.
        before = sum(when < n_told for when, _, _ in run.failures)
        learned = self._model.schedule.learned_at == run.n_observations
        feasibility = self._feasibility(n_failures=before)
        rng, utility = self._rng_of_candidates(), feasibility.utility()
        models = self._models_with_campaigns()
        if models is not None:
            utility = with_means(utility, lambda rows: models.scaled_moments(rows)[0])
        improvement = self._goal_improvement(feasibility)
        if improvement is not None:
            value = improvement.log_values
            utility = Utility(
                lambda rows, means, answered: value(rows) + feasibility.log_weights(rows),
                defaults.N_PROBES_OF_LIMITS,
            )
        cache.follow(rng, utility, learned)

    def _next_initial_query(self) -> Any:
        """Return a query of the initial design, None once the design is complete."""
        n_initial, run, rewards = self._n_initial, self.run_, self._model.samples.reward
        # While all answers are equal the design grows. So it does for every second query while
        # they seem to be noise, unless the rewards of queries count: f may be rough instead.
        is_second = self._seeks_simple_regret and (run.n_told + len(run.evaluating)) % 2
        if 0 < n_initial <= len(rewards) and (
            all(each == rewards[0] for each in rewards)
            or (is_second and self._model.diagnosis.shows_nothing)
        ):
            while n_initial <= len(rewards):
                n_initial *= 2
        if n_initial <= self._filled:
            return None
        evaluated = run.evaluating
        known = self._observed_rows_with(evaluated)
        # A failed or withdrawn query does not count, but the design has no other query near it.
        failed = self._rows_of_queries(run.left_out)
        if not (run.n_told or run.pending or len(failed)):
            # An invalid rule raises its error before anything is evaluated.
            self.acquisition(self.posterior())
        arm = self._initial_query(n_initial, known, failed)
        if arm is None and not evaluated:
            self._filled = n_initial
        return arm

    def _initial_query(self, n: int, known: np.ndarray, failed: np.ndarray) -> Any:
        """Return a query of an initial design of size n; None if earlier queries complete it.

        ``known`` (m, n_columns) are the rows of earlier queries and answers, and ``failed``
        (k, n_columns) of failures.
        """
        return self.domain_.first_arm(n, known, failed, self.run_.seed)

    def _observed_rows_with(self, queries: Iterable[Any]) -> np.ndarray:
        """Return the observed rows followed by the rows of ``queries``."""
        return np.concatenate([self._model.process.observed.rows, self._rows_of_queries(queries)])

    def _rows_of_queries(self, queries: Iterable[Any]) -> np.ndarray:
        """Return the rows (n, n_columns) of the functionals of queries."""
        row_sets = map(self.domain_.rows_of_query, queries)
        return np.concatenate([self._model.process.observed.rows[:0], *row_sets])

    @property
    def _n_initial(self) -> int:
        """Size of the initial design: ``n_initial``, or its default."""
        if self.n_initial is not None:
            return int(self.n_initial)
        run = self.run_
        if run.params.kernel is not None:
            return 0
        earlier, n_asked = self._earlier, run.n_told + len(run.evaluating)
        uses_earlier = earlier is not None and not earlier.are_off
        # The models may agree with the answers at a local optimum: some queries are elsewhere.
        if uses_earlier and n_asked % defaults.CAMPAIGN_DESIGN_ROUND != 1:
            return 0
        longest = 0
        if run.space is not None and self.domain_.is_discretization and self._only_result_counts:
            longest = run.space.longest_list  # the design should contain each of its values
        n = max(defaults.N_INITIAL, min(longest, defaults.MOST_INITIAL))
        # Answers that earlier campaigns led to are answers as well.
        return n if earlier is None or uses_earlier else max(0, n - earlier.n_with)

    def _noises_of(self, queries: list[Any]) -> np.ndarray:
        """Return the noise variances (n,) of answers to queries, with the error of the model."""
        level = self._model.alpha
        each = [self._cost_model.noise_of(query, level) for query in queries]
        return np.array(each) + self._model.model_noise

    def _rng_of_candidates(self) -> np.random.Generator:
        """Return the random generator of the candidates of this round."""
        run = self.run_
        # Speed: a list would take twice the time.
        words = np.array([run.seed, run.n_told, run.n_fitted, 1], dtype=np.uint32)
        return np.random.default_rng(words)

    def _observed_centers(self) -> np.ndarray:
        """Return the rows (n, n_columns) of the observed points, or of the centres of regions."""
        return self._functionals_at(self._observed_points())

    # -- the recommendation -----------------------------------------------------------------

    def _best(self, context: np.ndarray | None = None) -> Any:
        if context is not None:
            return self._best_in(context)
        self._refresh()
        recommendation = self._recommendation()
        models = recommendation.models
        if models is None:
            return recommendation.target(*self._cache.moments_of_targets)
        return recommendation.target(*models.scaled_moments(self.targets_.rows))

    def _recommendation(self) -> Recommendation:
        """Return the recommendation for the present posterior."""
        queries, targets, model = self.domain_, self.targets_, self._model
        models = self._models_with_campaigns()
        return Recommendation(
            queries, targets, model, self._feasibility(), self._can_ask_targets, models
        )

    @property
    def _is_observable(self) -> bool:
        """True if the queries are the targets, without contexts."""
        return self._targets_are_queries and not self._n_context

    @property
    def _can_ask_targets(self) -> bool:
        """True if an answered query may be recommended as a target."""
        return self._is_observable

    def _best_in(self, context: np.ndarray) -> Any:
        """Return the best target in a context; the tracked functionals are of another one."""
        _, targets = self._cache.sets_in_context(
            context, self._rng_of_candidates, self._observed_centers
        )
        gp = self._model.process
        mean, std = gp.moments(targets.rows, std=True)
        recommendation = replace(self._recommendation(), targets=targets)
        return recommendation.target((mean - gp.offset) / gp.scale, (std / gp.scale) ** 2)

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: Setting | None = None,
        side: None = None,
    ) -> Best: ...

    @overload
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: Setting | None = None,
        side: SideLengths,
    ) -> Region: ...

    @locked
    def recommend(
        self,
        method: RecommendMethod | None = None,
        *,
        context: Setting | None = None,
        side: SideLengths | None = None,
    ) -> Any:
        """Return the best target, or the best cell of a size.

        Parameters
        ----------
        method : {"posterior", "best_observed", "shrinkage", "paper"}, default=None
            Value to maximise: the posterior mean ("posterior", "paper"), the answer
            ("best_observed"), or the mean of each query's own answers, shrunk to the mean of all
            ("shrinkage"). None selects a method by the noise of the answers, see
            :doc:`/user_guide/nothing_known`. With ``goals`` the compromise of :meth:`front` by this
            method.
        context : array-like of shape (d_c,), number or dict, default=None
            Context of the recommendation, if there are ``context_bounds``.
        side : float, array-like of shape (d,) or dict, default=None
            Side lengths of a cell in a box, or its number of values along a side of separate ones:
            return the cell of this size with the best average. None for a target.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Without observations: answers, or evaluations given to ``fit``.
        """
        front = None if side is not None else self._known_front(method)
        if front is not None and front.queries:
            return front.compromise
        if method is None and side is None:
            method = self._recommendation().method if loop.has_data(self) else "posterior"
        method = checked_method(method, self._methods)
        loop.check_has_data(self)
        there = self._contexts.validate(context)
        if method in ANSWERED:
            if not self._can_ask_targets or side is not None:
                raise ValueError(
                    f"method={method!r} needs targets that are the queries, and neither side nor "
                    "context; use method='posterior'"
                )
            answered = self._recommendation().best_answered_query(method)
            if answered is None:
                raise ValueError(
                    f"method={method!r} needs an answered query that is no outlier and keeps all "
                    "limits"
                )
            return answered
        if side is None:
            return self._best(there)
        if self._feasibility().limits is not None or self._has_goals:
            raise ValueError(
                f"side must be None in searches with limits or goals, got side={side!r}"
            )
        if method == "paper" and there is None:
            raise ValueError(
                "side needs method='posterior', got method='paper': the paper recommends only the "
                "targets of the search"
            )
        return self._best_region(side, context=there)

    # -- domain -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def _targets_are_queries(self) -> bool:
        """True if the queries are the targets."""

    @property
    def domain_(self) -> ArmSet:
        """Queries, as they are in the present round and context."""
        return self._cache.queries

    @property
    def targets_(self) -> ArmSet:
        """Targets; ``domain_`` if queries and targets are the same."""
        return self._cache.targets

    def _track(self, tracked: PosteriorCache) -> None:
        """Set the queries and targets of a new run, and track them."""
        self._spent = 0.0
        self._filled = 0
        self._use(tracked)
        # A kernel that does not accept the rows raises its error before anything is evaluated.
        self._model.process.deviations(self.domain_.rows[:1], self.targets_.rows[:1])
        self._update_derived_values()

    def _use(self, tracked: PosteriorCache) -> None:
        """Track the queries and targets of a cache from now on."""
        self._cache = tracked
        if not len(self.targets_.rows):
            self._refresh()  # the number of points of the grid of a box depends on the kernel
        else:
            tracked.track()

    def _resume(self) -> None:
        self._cache.invalidate(self._model.process)
        self._cache.track()
        self._update_derived_values()

    def _set_costs(self, queries: ArmSet) -> None:
        """Read the costs and noise variances of the queries from the parameters."""
        run = self.run_
        self._cost_model = CostModel(queries, run.params.cost, run.params.alpha)

    def _on_set_params(self) -> None:
        self._set_costs(self._cache.sets[0])
        super()._on_set_params()

    def _on_refit(self) -> None:
        self._cache.invalidate(self._model.process)
        super()._on_refit()

    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        super()._observe_initial(X, y)
        self._cache.begin_again()
        if self._earlier is not None:
            self._earlier.update(self._model)

    # -- answers ------------------------------------------------------------------------------

    def _validate_answer(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        query, value, noise = super()._validate_answer(query, reward, alpha)
        if alpha is None and self._model.options.noise is not None:
            noise = self._cost_model.noise_of(query, self._model.alpha)
        return query, value, noise

    def _observed_points(self) -> np.ndarray:
        if self.domain_.layout.task_column is None:
            return super()._observed_points()
        return self.domain_.places_of(self._model.process.observed.rows)

    # -- costs --------------------------------------------------------------------------------

    @property
    @locked
    def spent_(self) -> float:
        """Total cost of the answers since the start."""
        check_is_fitted(self, "bounds_")
        return self._spent

    # -- comparison with alternatives ---------------------------------------------------------

    def _prediction_note(self, best: Any) -> dict[str, str]:
        found = (
            None if best is None else self._better_predicted_query(best, self.run_.told_queries())
        )
        if found is None:
            return {}
        query, (there, here) = found
        said = f"expects {there:.6g} of {query!r}, which was asked, and {here:.6g} of the"
        return {"predict": f"{said} recommendation: it averages over models"}

    @locked
    def _better_predicted_query(self, best: Any, told: list[Any]) -> tuple[Any, np.ndarray] | None:
        """Return the answered query with the largest mean by ``predict``, and two means (2,).

        The means are of the query and of ``best``. None if the mean of ``best`` is not exceeded, or
        if answered queries cannot be recommended, or with several goals. Queries that may violate a
        limit are left out.
        """
        told = [query for query in told if self._may_ask(query)]
        if not (self._can_ask_targets and told) or self._has_goals:
            return None
        gp = self._model.process
        if len(told) > N_COMPARED:
            means = gp.moments(self._row_sets_of(told))
            told = [told[i] for i in np.argsort(-means, kind="stable")[:N_COMPARED]]
        row_sets, kept = self._row_sets_of([*told, best]), self._feasibility().limits_mask
        means = (self._mixture() or gp).moments(row_sets)
        values = means[:-1] if kept is None else np.where(kept(row_sets[:-1]), means[:-1], -inf)
        top = argmax_first(values)
        if not exceeds(values[top], means[-1], gp.scale):
            return None
        return told[top], self.run_.sign.convert(means[[top, -1]])

    def _comparison(self, best: Any) -> Rivals:
        rows = self._rows_of(best.points)
        if isinstance(best, Arm):
            rows = self.targets_.rows_of_query(best)
        gp, rivals = self._model.process.copy(), self.targets_.rivals()
        limits, keeps_limits = self._feasibility().limits, self._measures_all_limits
        if limits is not None:
            rivals, limits = rivals[~limits.hopeless_mask(rivals)], limits.copy()
            keeps_limits &= bool(limits.feasible_mask([rows])[0])
        known = gp, rows, self._widths, self._model.possible_for_gap(gp)
        return Rivals(rivals, *known, limits, keeps_limits)

    @property
    def _measures_all_limits(self) -> bool:
        """True if every outcome with a limit was measured at least once."""
        run = self.run_
        return all(run.n_measured(name) for name in checked_limits(run.params.limits))

    # -- history ------------------------------------------------------------------------------

    @property
    @reading_log
    def history_(self) -> np.ndarray:
        """Every answer since the start, a structured array.

        The fields are ``round`` (from 1); ``descriptor`` (2 d,), the box [lower, upper] around the
        query; ``reward``; ``mean`` and ``std``, the prediction before the answer; ``expanded``,
        which is False; and ``task`` with :class:`~skgpb.domains.Fidelities`.
        """
        check_is_fitted(self, "bounds_")
        if self.domain_.layout.task_column != 0.0:
            return super().history_
        run = self.run_.first_events(self._dirty)
        told = zip(run.history, run.told_queries(), strict=True)
        rows = [(*row, query.task if isinstance(query, Arm) else 0) for row, query in told]
        further = ("expanded", np.bool_), ("task", np.intp)
        return history_table(rows, self.n_features_in_, run.sign.convert, *further)


@dataclass(eq=False, repr=False, kw_only=True)
class Search(ModelParameters, SetSearch[Arm, Arm]):
    """Base class for your own acquisition function, a score of all queries.

    A subclass implements :meth:`acquisition`.

    >>> from skgpb.optimizers import Search
    >>> class BoldOptimizer(Search):
    ...     def acquisition(self, posterior):
    ...         return posterior.mean + 3 * posterior.std
    >>> opt = BoldOptimizer(bounds={"x": (0, 10)}, random_state=0)
    >>> result = opt.run(lambda query: -((query.params["x"] - 3) ** 2), budget=15)
    >>> round(result.x.params["x"], 1)
    3.0

    Its parameters are fields of a dataclass, see :doc:`/development/new_algorithm`.
    Other parameters are inherited from :class:`~skgpb.optimizers.ModelParameters`. Which class is
    for which problem: :ref:`which-class`.

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
        A finite list of points to choose from, instead of a box. Rows are points, or descriptors
        that ``kernel`` accepts.
    queries : array-like (n_queries, n_columns), Cells, Districts, Fidelities, ..., default=None
        The set of possible queries, if it is not the set of targets. Rows of points (d columns), of
        boxes (2 d columns, [lower, upper]) or of descriptors that ``kernel`` accepts; cells of
        given sizes anywhere in ``bounds`` (:class:`~skgpb.domains.Cells`), weighted averages over
        sets of points (:class:`~skgpb.domains.Districts`), or several fidelities
        (:class:`~skgpb.domains.Fidelities`). None means all points of ``bounds``.
    targets : array-like (n_targets, n_columns), Cells, Districts, ..., default=None
        The set of targets, of which the search finds the best, in the same forms except the last.
        None means ``queries`` if these are rows, and all points of ``bounds`` otherwise.
    context_bounds : array-like of shape (d_c, 2) or dict, default=None
        Box of the contexts, for contextual bandits: ``ask(context=...)`` and
        ``recommend(context=...)``. Rows of ``kernel`` are then [context, arm]. A dict if
        ``bounds`` is a dict.
    cost : array-like or callable, default=None
        Cost of an answer, above 0; None means 1 for all. One number for each arm or row of
        ``queries``, or for each size of its cells. For points of ``bounds`` it may be a function of
        a setting, which is a dict if ``bounds`` is one and otherwise a row. The search divides the
        value of an answer by its cost. In the UCB family this value is the index of the query minus
        the largest posterior mean of a target.
    n_candidates : int, default=500
        Maximum number of candidates in a box; with ``queries`` and ``targets`` the number of
        candidate points or cells of each.
    n_initial : int, default=None
        Size of the initial design: distinct queries, spread evenly, before the first query by the
        acquisition function. Earlier answers near a query of the design replace it. Cells
        have all sizes in turn, or the sizes of ``targets`` if ``kernel`` is None and such cells
        cost no more than others. In a box every value of a list occurs about equally often. None
        means 0 with a kernel and 10 without. If only the recommendation counts (EI,
        ``regret="simple"``), the design has at least as many queries as the longest unordered list
        has values, up to 25.
    limits : dict, default=None
        Constraints on other outcomes than the reward: ``{"temperature": (None, 80)}``, or
        ``{"passed": True}`` for an outcome that is yes or no. A pair (low, high) has None for an
        open end. Pass measured outcomes to :meth:`tell`. Each has its own model, see Notes.
    goals : dict, default=None
        Up to three goals beside the reward, outcomes to "maximize" or to "minimize":
        ``{"cost": "minimize"}``. The search then looks for the :meth:`front`, see Notes.
    reference : array-like of shape (n_goals,), default=None
        Reference point of the dominated volume: a value of the reward and of each of ``goals``.
    earlier_campaigns : dict, default=None
        Earlier campaigns at points, ``{"2024": (settings, answers)}``: :doc:`/user_guide/transfer`.
    earlier_arms : array-like of shape (n, n_columns), default=None
        Arms that are not asked now, whose answers count, see :ref:`the guide <other-arms>`.

    Attributes
    ----------
    domain_ : ArmSet
        The queries, or the candidates in a box.
    targets_ : ArmSet
        The targets; ``domain_`` if queries and targets are the same.
    spent_ : float
        Total cost of the answers.

    Notes
    -----
    *Queries and targets.* With arms, or a box alone, the queries are the targets. With ``queries``
    or ``targets`` they are two sets: cells of two sizes, or averages over districts and points.

    *Kernel.* It is applied to the rows of ``arms``, with cells, districts or fidelities to points.
    The default kernel, which is learned, has main effects of single sides in several dimensions
    (:class:`~skgpb.kernels.AdditiveMatern`), and a second, shorter length scale for cells
    (:mod:`skgpb.surrogate.trend_and_rough`).

    *Initial design.* A model of few rewards is a guess. The first ``n_initial`` queries fill the
    space: a scrambled Sobol sequence, of 24 sides or more the middle first, on a line the middles
    of equal parts, the nearest of finitely many. The next one is farthest from all earlier queries.

    *Ties.* Of scores that agree within a relative 1e-9 the first counts. If no answer has any value
    the query with the largest uncertainty per unit cost is asked. Of several targets with the
    highest posterior mean the least uncertain is recommended.

    *Boxes.* The candidates of a box are the grid of Theorem 2 while it has at most
    ``n_candidates`` points: ceil(d t^2 b sqrt(log(d / theta))) per axis, b being sqrt(2) times the
    largest prior standard deviation of a slope. Afterwards three quarters of the candidates fill
    the box evenly, and the others follow the posterior: the best points so far, and points around
    them at distances of every order of magnitude. In more than three dimensions all follow it,
    after some hundred answers a few in each round (decision D-D10). With lists or integers the
    candidates are all settings, or half of them differ from the best ones on one side or a few.

    *Repeats.* If the kernel is learned and only the recommendation counts, a search among arms, or
    settings of lists and integers, repeats a query only if one more answer may raise the largest
    mean by more than a new query may (decision D-H49). ``run`` ends when all values are exact.
    If kernel and noise are learned and no query was answered twice, the search asks that of the
    best answer once more after 16 answers: this shows whether there is noise.

    *Failures.* A Gaussian process on the outcomes 1 (an answer) and 0 (a failure) predicts the
    probability of success of a query (:mod:`skgpb.surrogate.success`). Once it predicts better than
    the rate of success, the value of a query is discounted by this probability: an improbable
    success counts as the worst answer. ``ask`` returns no query that hardly ever succeeds while
    others are left. An answered query is recommended, or a target that succeeds almost surely.

    *Limits.* Each limited outcome has a Gaussian process of its own, learned like that of f, and
    averaged with the roughest of the same length scales. Yes or no has a model like that of
    failures, and the odds of its probability count with the third power. The improvement of a query
    upon the best answered query within all limits is weighted by the probability that the limits
    hold [Gardner2014]_. While no answered query is within all limits, it is the improvement upon
    the worst answer. Queries whose probability is below 0.5 % are not asked while others are left.
    The knowledge gradient may ask queries beyond the limits. The recommendation is an answered
    query that keeps all limits with a probability of at least 95 %, or passed each time, or another
    such target, or else the target of the largest probability. A ``kernel`` of the user is also
    that of all numbers, in units of their standard deviations.

    *Several goals.* Whatever the class, the query has the largest expected improvement of the
    dominated volume [Emmerich2011]_, see :doc:`/user_guide/goals`.

    *Contexts.* :meth:`posterior` uses the last context that was passed to ``ask``, at first the
    middle of their box. The initial design fills the space of arms. Candidates fill a box from the
    first round on, and some follow the best in the context.

    *Batches.* Pending queries have expected answers [Desautels2014]_, see :ref:`pending-queries`.
    """

    arms: Points | None = None
    queries: Queries | None = None
    targets: Targets | None = None
    context_bounds: Bounds | None = None
    cost: Costs | None = None
    n_candidates: int = 500
    n_initial: int | None = None
    limits: Limits | None = None
    goals: Directions | None = None
    reference: Values | None = None
    earlier_campaigns: EarlierAnswers | None = None
    earlier_arms: Points | None = None

    _at_start = AT_START | {"earlier_campaigns", "earlier_arms"}
    # If the sets change as well, new costs and noise variances are for the run on the new sets.
    _of_sets = frozenset({"cost", "alpha"})
    _parameter_constraints = {
        "arms": "no_validation",
        "queries": "no_validation",
        "targets": "no_validation",
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", None],
        "cost": ["array-like", callable, None],
        "limits": "no_validation",
        "goals": "no_validation",
        "reference": "no_validation",
        "earlier_campaigns": [Mapping, None],
        "earlier_arms": "no_validation",
        "n_candidates": [Interval(Integral, 8, MOST_POINTS, closed="both")],
        "n_initial": [Interval(Integral, 0, MOST_POINTS, closed="both"), None],
    }

    # -- domain -----------------------------------------------------------------------------

    @property
    def _targets_are_queries(self) -> bool:
        """True if the queries are the targets."""
        run = self.run_
        if run.params.arms is not None:
            return True
        return (
            self._targets_are_queries_in_box
            and run.params.queries is None
            and run.params.targets is None
        )

    @property
    def _can_ask_targets(self) -> bool:
        if self._is_observable:
            return True
        # In a box of numbers the largest posterior mean is the better recommendation: knowledge
        # gradient and the like ask queries for their information, not for their value.
        own, space = self.run_.params, self.run_.space
        whole = own.queries is None and own.targets is None and not self._n_context
        return whole and space is not None and bool(np.isfinite(space.n_settings))

    @property
    def _has_named_box(self) -> bool:
        """True if queries and targets are points or cells anywhere in a box with named sides."""
        run = self.run_
        own = run.params
        free = all(each is None or is_free(each) for each in (own.queries, own.targets))
        return run.actions is not None and own.arms is None and free

    def _takes_domain(self, name: str, changed: Mapping[str, Any]) -> bool:
        own = self.run_.params
        if name == "bounds":
            return isinstance(changed[name], Mapping) and self._has_named_box
        # Costs and noise variances of single arms are for the arms of the start.
        every = (self.run_.parameters, vars(own), changed)
        numbers = [given.get(each) for each in ("cost", "alpha") for given in every]
        both = own.arms is not None and changed[name] is not None
        return both and not any(map(differs, numbers))

    def _change_domain(self, name: str, value: Any) -> None:
        (change_box if name == "bounds" else change_arms)(self, value)

    def _may_ask(self, query: Any) -> bool:
        if self.run_.params.earlier_arms is not None and isinstance(query, Arm):
            return query.index >= 0
        space = self.run_.actions
        if space is None or space.feasible is None:
            return True
        return all(map(space.is_feasible, query.points[:, self._n_context :]))

    def _check_fixed(self, fixed: Mapping[str, Any], shared: Collection[str]) -> None:
        actions = self.run_.actions
        if not self._has_named_box:
            super()._check_fixed(fixed, shared)
        assert actions is not None
        sides = self._sides_with(fixed)
        if not self._targets_are_queries:
            replace(self._feedback, actions=sides).sets(self.run_.seed)  # cells may be too large
        if isinstance(shared, str) or not dict(actions.axes).keys() >= set(shared):
            raise ValueError(
                "shared must be a list of names of sides with several values, of "
                f"{actions.sides}; got {shared!r}"
            )

    def _sides_with(self, fixed: Mapping[str, Any]) -> ParameterSpace:
        """Return the sides of actions, of which some are fixed."""
        given, actions = self.run_.params.bounds, self.run_.actions
        assert actions is not None
        box, axes = given.of_now if isinstance(given, Box) else Box(given), dict(actions.axes)
        for name, value in fixed.items():
            if name not in axes:
                raise ValueError(
                    "fixed must have names of sides with several values, of "
                    f"{actions.sides}; got {name!r}"
                )
            try:
                axes[name].coordinate(value)
            except ValueError as error:
                raise ValueError(f"fixed[{name!r}] {error}, got {value!r}") from None
        sides = {**box, **{name: [value] for name, value in fixed.items()}}
        held = Box(sides, box.constraints, box.feasible)
        return actions.restricted_to(ParameterSpace.from_bounds(held, "fixed sides"))

    def _propose_with(self, fixed: Mapping[str, Any], context: np.ndarray | None) -> Any:
        if not fixed:  # the first query of a plate: queries that share sides fill few places
            if len(self._observed_rows_with(self.run_.evaluating)) >= self._n_initial:
                self._filled = max(self._filled, self._n_initial)
            return self._choose(context)
        kept = self._cache, self._cost_model, self._filled
        feedback = replace(self._feedback, actions=self._sides_with(fixed))
        sets = feedback.sets(self.run_.seed)
        try:
            self._set_costs(sets[0])
            self._use(self._cache_of(feedback, sets))
            return self._choose(context)
        finally:
            self._cache, self._cost_model, self._filled = kept
            self._cache.track()

    def _cache_of(self, feedback: Feedback, sets: tuple[ArmSet, ArmSet]) -> PosteriorCache:
        """Return a cache of the posterior of two sets."""
        gp, several = self._model.process, feedback.n_tasks > 0
        return PosteriorCache(sets, gp, optimistic=feedback.rows_are_boxes, over_tasks=several)

    def _domain(self, X: np.ndarray | None) -> np.ndarray | None:
        run = self.run_
        own = run.params
        if own.arms is not None and not (own.queries is None and own.targets is None):
            raise ValueError("pass either arms, or queries and targets: arms are both")
        if own.earlier_arms is not None and own.arms is None:
            raise ValueError(f"earlier_arms needs arms, got earlier_arms={own.earlier_arms!r}")
        if own.arms is None:
            bounds = super()._domain(X)
        else:
            bounds = box_of_arms(own.kernel, own.arms, own.earlier_arms)
        if own.arms is not None and own.bounds is not None:
            raise ValueError("pass either bounds or arms: arms have the bounds of their rows")
        if not self._targets_are_queries:
            given = given_sets(own.queries, own.targets, run.actions)
            bounds = box_of_sets(own.kernel, given, bounds, own.bounds)
        return self._with_contexts(bounds)

    def _with_contexts(self, actions: np.ndarray | None) -> np.ndarray | None:
        """Return the box of contexts and actions, or of actions if there are no contexts."""
        self._n_context = 0
        run = self.run_
        if run.params.context_bounds is None:
            return actions
        if actions is None:
            raise ValueError("pass the domain of actions, such as bounds, with context_bounds")
        if run.space is not None:
            assert run.context_space is not None
            self._n_context = run.context_space.n_axes
            return actions
        contexts = check_bounds(run.params.context_bounds, "context_bounds")
        self._n_context = len(contexts)
        return np.concatenate([contexts, actions])

    def _begin_checks(self) -> None:
        run = self.run_
        limits = checked_limits(run.params.limits)
        goals = checked_goals(run.params.goals, run.params.reference)
        for outcomes in [{}, *(event[2] for event in run.events if event[0] == "outcomes")]:
            check_kinds(outcomes, limits, goals)
        whole = self._targets_are_queries and not self._n_context
        if goals and not (whole and not run.params.earlier_campaigns):
            raise ValueError(
                "goals is for searches whose queries are their targets: queries, targets, "
                "context_bounds and earlier_campaigns must be None, and the class one that "
                f"recommends what it asks; got goals={run.params.goals!r} for "
                f"{type(self).__name__}"
            )
        if run.actions is not None and not self._targets_are_queries:
            check_settings(run.actions, run.params.bounds, "bounds", type(self).__name__, True)
        if differs(run.params.alpha) and self._targets_are_queries and run.params.arms is None:
            raise ValueError(
                f"alpha must be one number, or None, if queries are all points of a box; got "
                f"{run.params.alpha!r}"
            )
        points = self._targets_are_queries and run.params.arms is None
        if callable(run.params.cost) and not points:
            raise ValueError(
                "cost may be a function if queries are all points of a box; otherwise give one "
                f"number for each query or size, got {run.params.cost!r}"
            )

    def _begin(self) -> None:
        run = self.run_
        self._feedback = feedback = Feedback(
            run.params.kernel,
            run.params.arms,
            run.params.queries,
            run.params.targets,
            self._targets_are_queries,
            self.bounds_,
            self._n_context,
            run.space,
            run.actions,
            self.n_candidates,
            run.params.earlier_arms,
        )
        seed = seed_of_run(self.random_state, self._replay)
        kernel, sets = feedback.row_kernel(), feedback.sets(seed)
        self._set_costs(sets[0])
        prior, noise = feedback.default_prior, feedback.usual_noise
        self._start_surrogate(kernel, feedback.n_columns, seed, prior, noise)
        self._outcomes = OutcomeModels(feedback, sets[0], self._model)
        gp, sizes = self._model.process, feedback.frequent_sizes(sets)
        if sizes is not None:
            gp.sizes = sizes
            gp.reset_evaluator()
        self._target_sizes = TargetSizes.of(sets, feedback, self._cost_model)
        self._track(self._cache_of(feedback, sets))
        self._earlier = self._read_earlier_campaigns()

    def _read_earlier_campaigns(self) -> EarlierCampaigns | None:
        """Return the earlier campaigns with their posteriors; None without any."""
        run, model = self.run_, self._model
        given = run.params.earlier_campaigns
        if not given:
            return None
        own = run.params
        of_points = not (own.queries is not None or own.targets is not None or self._n_context)
        if not of_points or model.prior is None or not can_be_averaged(model.process.kernel):
            raise ValueError(
                "earlier_campaigns needs a search of points with a kernel that is learned: "
                "kernel, queries, targets and context_bounds must be None; got the campaigns "
                f"{list(given)}"
            )
        answers = [(self._functionals_at(X), y) for X, y in self._answers_of_campaigns()]
        shapes = [shapes_of_campaign(model, rows, y) for rows, y in answers]
        return EarlierCampaigns(shapes, shapes_alone(model, answers[0][0][:1]))

    def _answers_of_campaigns(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return points (n, d) and answers (n,), to be maximised, of each earlier campaign."""
        run = self.run_
        return read_campaigns(run.params.earlier_campaigns or {}, run.space, self.bounds_, run.sign)

    def _settings_of_campaigns(self) -> list[dict[str, Any]]:
        space = self.run_.space
        assert space is not None
        return [space.setting(x) for X, _ in self._answers_of_campaigns() for x in X]

    # -- limits on other outcomes -----------------------------------------------------------

    @locked
    def tell(
        self,
        query: Told,
        reward: Numbers | EllipsisType = ...,
        alpha: Numbers = None,
        *,
        outcomes: Outcomes | Sequence[Outcomes | None] | None = None,
        block: str | Sequence[str | None] | SupportsArray | None = None,
    ) -> Self:
        """Report the reward of a query; an invalid argument raises an error and changes nothing.

        Parameters
        ----------
        query : query, array-like of shape (d,) or (S, d), dict, list of them, or DataFrame
            The query, a dict of settings, or points whose average value is the reward. For n
            rewards n of these: a list, the rows of an array, or a table with a column for each
            side. Hyperparameters are learned once from a hundred or more, :ref:`many-past-results`.
        reward : float or None, or array-like of shape (n,)
            The noisy answer. None, or NaN in a column of a table, means that the evaluation
            failed: the query is not asked again for a while. Left out to tell later outcomes alone.
        alpha : float, or array-like of shape (n,), default=None
            Noise variance of this answer; None for the parameter ``alpha``.
        outcomes : dict, or list of n dicts, dict of n numbers each, DataFrame, default=None
            Further outcomes by their names, for ``limits`` and ``goals``: numbers, or yes or no as
            a bool, 1, 0 or a word; None or NaN if not measured. Other outcomes are kept for limits
            and goals that are set later. A failed evaluation may have outcomes. An objective of
            :meth:`run` returns a pair, the reward and this dict.
        block : str, or array-like of n str, default=None
            Name of the block of the answer: the day, the person or the batch of material. Each
            block shifts all of its answers by a random effect of mean zero and learned variance,
            which does not count as noise. Predictions and recommendations are for an average block.
            Only if ``kernel`` is None. Failed evaluations have no block.

        Warns
        -----
        LearningWarning
            If the hyperparameters could not be refitted. The answer counts all the same.
        """
        if reward is ...:
            if outcomes is None or not (alpha is None and block is None):
                raise ValueError(
                    f"reward may be left out if only outcomes are told, got {outcomes=}, {alpha=} "
                    f"and {block=}"
                )
            return self._tell_outcomes(query, outcomes)
        if outcomes is None and block is None:
            return loop.tell(self, query, reward, alpha)
        if is_sequence(reward):
            n = len(reward)  # type: ignore[arg-type]
            each = (
                check_one_each(reward, n, "reward", "queries"),
                [None] * n if outcomes is None else outcomes_of_each(outcomes, n),
                [None] * n if block is None else check_one_each(block, n, "block", "rewards"),
            )
            reward = [
                one
                if (what, where) == (None, None)
                else AnswerWithOutcomes(one, what, None if one is None else where)
                for one, what, where in zip(*each, strict=True)
            ]
        else:
            reward = AnswerWithOutcomes(reward, outcomes, block)
        return loop.tell(self, query, reward, alpha)

    def _tell_outcomes(self, query: Any, outcomes: Any) -> Self:
        """Report outcomes that were measured after the last answer to a query, or its failure."""
        loop.apply_set_params_and_warn(self)
        loop.begin(self)
        run = self.run_
        answered = {event[1]: None for event in run.events if event[0] in ("tell", "fail")}
        query = run.restated(query) if isinstance(query, Query) else query
        if not (isinstance(query, Query) and query in answered):
            query = replace(self._inputs, pending=answered).query(query)
        told, known = checked_outcomes(outcomes), run.known_outcomes(query)
        if known is None:
            raise ValueError(
                f"query must have an answer, got {query!r}: tell its outcomes with its reward"
            )
        if again := [name for name in told if known.get(name) is not None]:
            raise ValueError(
                f"outcomes must be new for {query!r}, which was told with "
                f"{again[0]}={known[again[0]]!r}; got {outcomes!r}"
            )
        limits = checked_limits(run.params.limits)
        check_spelling(known | told, limits)
        check_kinds(told, limits)
        loop.commit(self, loop.measure, self, query, told, True)
        return self

    def _validate_answer(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        if isinstance(reward, tuple) and len(reward) == 2 and isinstance(reward[1], Mapping):
            reward = AnswerWithOutcomes(*reward)
        number = reward.reward if isinstance(reward, AnswerWithOutcomes) else reward
        query, value, noise = super()._validate_answer(query, number, alpha)
        run = self.run_
        if isinstance(reward, AnswerWithOutcomes):
            goals = checked_goals(run.params.goals)
            check_spelling(reward.outcomes or {}, run.params.limits or {}, goals)
            if reward.block is not None and self._earlier is not None:
                raise ValueError(
                    "block is for searches without earlier_campaigns, whose answers have no random "
                    f"effects; got block={reward.block!r}"
                )
            check_kinds(reward.outcomes or {}, checked_limits(run.params.limits), goals)
            if reward.block is not None and self._model.prior is None:
                raise ValueError(
                    "block needs a kernel that is learned, kernel=None; got "
                    f"block={reward.block!r} and kernel={run.params.kernel!r}"
                )
            value = AnswerWithOutcomes(value, reward.outcomes, reward.block)
        return query, value, noise

    def _feasibility(self, expecting: bool = False, n_failures: int | None = None) -> Feasibility:
        run, domain, gp, limits = self.run_, self.domain_, self._model.process, None
        if run.params.limits:
            pending = run.evaluating if expecting else []
            limits = self._outcomes.constraints(run, self._learning, pending)
        if not run.failures:
            return Feasibility(None, limits, gp)
        taught = run.outcomes(
            gp.observed.rows[: run.n_fitted],
            lambda query: domain.rows_of_query(query).mean(axis=0),
            self._learner(SuccessProbabilities),
            n_failures,
        )
        return Feasibility(taught, limits, gp)

    # -- several goals ------------------------------------------------------------------------

    def _models_of_goals(self) -> list[Model]:
        return [model for model, _ in self._known_goals([])]

    def _expected_process(self, pending: list[Any] | None = None) -> GaussianProcess:
        """Return the posterior of f given the expected answers to pending queries.

        None stands for all queries being evaluated.
        """
        pending = self.run_.evaluating if pending is None else pending
        row_sets = [self.domain_.rows_of_query(query) for query in pending]
        noises = self._noises_of(pending) if pending else np.empty(0)
        return self._cache.expected(pending, row_sets, noises)

    def _known_goals(self, pending: list[Any]) -> list[tuple[Model, GaussianProcess]]:
        """Return the models of the goals that were measured, the reward first.

        The process beside a model is given the expected answers to ``pending`` queries.
        """
        run, model = self.run_, self._model
        found = [(model, self._expected_process(pending))]
        for name in checked_goals(run.params.goals):
            known = self._outcomes.number(name, run, model.options, pending)
            found += [] if known is None else [known]
        return found

    def _goals(self, pending: list[Any]) -> Goals | None:
        """Return the goals, given pending queries; None before each of them was measured."""
        run = self.run_
        if not (self._has_goals and run.n_observations):
            return None
        signs, known = checked_goals(run.params.goals), self._known_goals(pending)
        if len(known) <= len(signs):
            return None
        models, processes = zip(*known, strict=True)
        return Goals([*models], [*processes], np.array([1.0, *signs.values()]))

    @property
    def _reference(self) -> np.ndarray | None:
        """The reference point (m,) of the user, to be maximised; None for the automatic one."""
        own = self.run_.params
        if own.reference is None:
            return None
        return np.asarray(own.reference, dtype=np.float64) * self._signs_of_goals

    @property
    def _signs_of_goals(self) -> np.ndarray:
        run = self.run_
        return np.array([run.sign.convert(1.0), *checked_goals(run.params.goals).values()])

    def _answered_arms(self) -> tuple[list[Arm], list[np.ndarray]]:
        """Return the answered queries that may be recommended, no outliers, and their rows."""
        observed, outlying = self._model.process.observed, self._model.diagnosis.outlying
        found = {}
        for i in range(len(observed)):
            arm = None if i in outlying else self.domain_.arm_at(observed[i])
            if arm is not None:  # one for all blocks of a query
                found[observed[i].tobytes()] = arm, observed[i]
        arms, row_sets = zip(*found.values(), strict=True) if found else ((), ())
        return [*arms], [*row_sets]

    def _goal_improvement(
        self, feasibility: Feasibility, expecting: bool = False
    ) -> GoalImprovement | None:
        if not self._has_goals:
            return None
        pending = self.run_.evaluating if expecting else []
        goals = self._goals(pending)
        _, answered = self._answered_arms() if goals is not None else ([], [])
        if goals is None or not answered:
            return None
        kept = feasibility.limits_mask
        within = np.ones(len(answered), dtype=bool) if kept is None else kept(answered)
        row_sets = [self.domain_.rows_of_query(query) for query in pending]
        return GoalImprovement(goals, answered, row_sets, within, self._reference)

    @locked
    def front(self, method: Literal["posterior", "best_observed"] | None = None) -> Front:
        """Return the front of several goals: answered queries that no other one dominates.

        Parameters
        ----------
        method : {"posterior", "best_observed"}, default=None
            Whether posterior means are compared, or answers, of which each goal must have been
            measured. None stands for the answers if they have no noise.

        Returns
        -------
        front : Front
            It has ``queries``, ``values``, the values ``others`` of the other answers, ``names``
            and ``directions`` of the goals, ``reference``, ``volume`` and ``compromise``.
        """
        loop.check_has_data(self)
        if not self._has_goals:
            raise ValueError(
                "front is for searches with goals beside the reward, such as "
                f"goals={{'cost': 'minimize'}}; got goals={self.run_.params.goals!r}"
            )
        known: tuple[RecommendMethod, ...] = ("posterior", "best_observed")
        goals, given = self._goals([]), method and checked_method(method, known)
        if goals is None:
            raise NotFittedError("front needs an answer of each goal: pass outcomes to tell")
        arms, answered = self._answered_arms()
        exact = all(model.diagnosis.method == "best_observed" for model in goals.models)
        if given == "best_observed" or (given is None and exact):
            Y = goals.measured(answered)
        else:
            Y, _ = goals.moments(answered) if answered else (goals.measured([]), None)
        whole, kept = np.isfinite(Y).all(axis=1), self._feasibility().limits_mask
        within = whole.copy() if kept is None else whole & kept(answered)
        names = ["reward", *checked_goals(self.run_.params.goals)]
        queries = [arm for arm, has_all in zip(arms, whole, strict=True) if has_all]
        signs, reference = self._signs_of_goals, self._reference
        return Front.of(queries, Y[whole], within[whole], names, signs, reference)

    @locked
    def _known_front(self, method: Any = None) -> Front | None:
        measured = self._has_goals and loop.has_data(self) and self._goals([]) is not None
        return self.front(method) if measured else None

    def _sides_for_gap(self) -> np.ndarray | None:
        """Sides (d,) of the narrowest observed windows; None if no target is narrower.

        With a learned kernel nothing is known of f inside windows.
        """
        feedback = self._feedback
        if not feedback.uses_default_kernel or feedback.n_tasks or self._n_context:
            return None
        rows = self._model.process.observed.rows, self.targets_.rows
        asked, sides = ((b - a).min(axis=0) for a, b in map(self.targets_.layout.corners, rows))
        return asked if (asked - sides > SAME_SIZE * np.ptp(self.bounds_, axis=1)).any() else None

    def _gap_averages(self) -> str:
        sides = self._sides_for_gap()
        return "" if sides is None else over_windows(sides)

    def _comparison(self, best: Any) -> Rivals:
        every, sides = super()._comparison(best), self._sides_for_gap()
        if sides is None:
            return every
        low, high = self.bounds_.T

        def widened(rows: np.ndarray) -> np.ndarray:
            lower, upper = self.targets_.layout.corners(rows)
            half = 0.5 * np.maximum(upper - lower, sides)
            center = np.clip(0.5 * (lower + upper), low + half, high - half)
            return np.hstack([center - half, center + half])

        return every.over(widened)

    @property
    def _can_bound_gap(self) -> bool:
        return super()._can_bound_gap and not self._has_goals

    @property
    def _learning(self) -> Learning:
        """How outcomes are learned: options of models of numbers, and the model of yes or no."""
        return self._model.options, self._learner(YesOrNo)

    def _learner(self, kind: type[S]) -> Callable[[np.ndarray, np.ndarray], S]:
        """Return the function that fits a model of failures to rows and successes."""
        ends = self.domain_.layout.rows_of(self.bounds_.T)
        return partial(kind, domain=ends, kernel=of_f(self._model.process.kernel))

    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        super()._observe_initial(X, y)
        self._check_measured([{}] * len(X))

    def _check_measured(self, told: Sequence[Mapping[str, Any]]) -> None:
        run = self.run_
        if not (run.params.limits or run.params.goals):
            return
        limits = checked_limits(run.params.limits)
        for name in limits | checked_goals(run.params.goals):
            # An outcome of None was not measured, and the user knows it.
            lacking = [outcomes for outcomes in told if name not in outcomes]
            n_without = sum(outcomes.get(name) is None for outcomes in told)
            if not lacking or run.n_observations - run.n_measured(name) > n_without:
                continue
            plural = "" if len(lacking) == 1 else "s"
            others = f" ({', '.join(map(repr, lacking[0]))} did)" if lacking[0] else ""
            role, shown = ("has a limit", "holds") if name in limits else ("is a goal", "is good")
            warn(
                f"{name!r} {role} and did not come with the answer{plural}{others}, so that "
                f"the answer{plural} cannot show whether it {shown}: pass outcomes="
                f"{{{name!r}: ...}} to tell, None if it was not measured",
                LimitWarning,
            )

    @locked
    def _limit_violation_mask(self) -> np.ndarray:
        run = self.run_
        limits = checked_limits(run.params.limits)
        return run.beyond(limits) if limits else super()._limit_violation_mask()

    @locked
    def _limits_at(self, best: Any) -> list[dict[str, Any]]:
        run, found = self.run_, []
        limits = checked_limits(run.params.limits)
        row_sets = self._row_sets_of([best]) if limits else []
        for name, limit in limits.items():
            each: dict[str, Any] = {"name": name, "n_answers": run.n_measured(name)}
            each |= dict.fromkeys(("low", "high", "value", "mean", "std", "probability"))
            if isinstance(limit, bool):
                each["value"] = limit
            else:
                low, high = limit
                each |= {"low": None if low == -inf else low, "high": None if high == inf else high}
            model = self._outcomes.model_of_limit(name, limit, run, self._learning)
            if model is not None:
                each["probability"] = float(model.probability(row_sets)[0])
                if isinstance(model, NumberWithinEnds):
                    each["mean"], each["std"] = (float(x[0]) for x in model.moments(row_sets))
            found.append(each)
        return found

    def _goals_at(self, best: Any) -> list[dict[str, Any]]:
        """Return name, mean and standard deviation of each goal beside the reward at a query."""
        goals = self._goals([]) if self._has_goals else None
        if goals is None:
            return []
        means, stds = (each[0, 1:] for each in goals.moments(self._row_sets_of([best])))
        values = zip(self._signs_of_goals[1:] * means, stds, strict=True)
        return [
            {"name": name, "mean": float(mean), "std": float(std)}
            for name, (mean, std) in zip(self.run_.params.goals, values, strict=True)
        ]

    @locked
    def predict_within_limits(self, X: Settings) -> np.ndarray:
        """Return the probability (n_samples,) that all ``limits`` hold at points; 1 without limits.

        It is for the outcomes without the noise of a measurement, independent of each other.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Points, as for :meth:`predict`.
        """
        check_is_fitted(self, "bounds_")
        rows, limits = self._rows_of(self._inputs.points(X)), self._feasibility().limits
        return np.ones(len(rows)) if limits is None else limits.probability(rows)


def argmax_among(values: np.ndarray, slots: np.ndarray | None) -> int:
    """Return the index of the largest value, the first of ties; among ``slots`` if not None."""
    return argmax_first(values) if slots is None else int(slots[argmax_first(values[slots])])


def membership_mask(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return a mask (n,) of the rows (n, c) that are also rows of ``others`` (m, c)."""
    known = {row.tobytes() for row in others + 0.0}  # adding 0.0 turns -0.0 into 0.0
    return np.array([row.tobytes() in known for row in rows + 0.0])

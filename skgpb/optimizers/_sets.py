"""Queries and targets of a search over sets: costs, candidates, posterior, recommendation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from math import log, sqrt
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit

from skgpb import defaults
from skgpb._core._ties import argmax_first, exceeds, largest_first, size_of, tied
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.arms import Arm, ArmSet, Incumbents, PointsQuery
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.indirect import IndirectQuery, QuerySet, QueryTree
from skgpb.kernels.evaluator import Functionals
from skgpb.optimizers._feasibility import (
    CheckedLimit,
    Feasibility,
    IsFeasible,
    LimitModel,
    NumberWithinEnds,
    OutcomeConstraints,
    Utility,
    YesOrNo,
    checked_limits,
    middles,
)
from skgpb.optimizers._feedback import Feedback
from skgpb.optimizers._gaussian import CONSISTENT
from skgpb.optimizers._run import TOGETHER, Run
from skgpb.optimizers.round import ArmPosterior, CrossPosterior, QueryTargetPosterior
from skgpb.surrogate.campaigns import CampaignModels
from skgpb.surrogate.exactness import is_of_matern, with_smoothness
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.model import Model, ModelOptions
from skgpb.surrogate.pairs import PairCovariances, QueryTargetCovariances, pending_downdate
from skgpb.utils.roots import PivotedRoot
from skgpb.utils.typing import RecommendMethod
from skgpb.utils.validation import check_callable_value, check_numbers, keyed

# -- Costs and noise variances of queries ----------------------------------------------------------

#: Format: value of a parameter that is None. If it is not 0, values must be above 0, else >= 0.
DEFAULTS = {"cost": 1.0, "alpha": 0.0}


def differs(alpha: Any) -> bool:
    """Return whether ``alpha`` has a noise variance for each query instead of a common one."""
    if alpha is None or isinstance(alpha, float):  # fast path: called nine times in a round
        return False
    return np.ndim(alpha) > 0


@dataclass
class CostModel:
    """Costs and noise variances of the queries of a set.

    Parameters
    ----------
    queries : ArmSet
        The set. If it contains all cells of some sizes, there is one number for each size.
    cost, alpha : number, array-like or None
        Parameters of the user. In a box of points the cost may be a function of a setting.
    """

    queries: ArmSet
    cost: Any
    alpha: Any

    def __post_init__(self) -> None:
        self._costs = None if callable(self.cost) else self._numbers("cost", self.cost)
        self._alphas = self._numbers("alpha", self.alpha) if differs(self.alpha) else None
        #: Whether queries differ in cost.
        self.differ: bool = self._costs is None or bool(np.ptp(self._costs) > 0.0)

    # -- of all queries -------------------------------------------------------------------------

    @property
    def least(self) -> float:
        """Cost of the cheapest answer; 0 if the cost is a function."""
        return 0.0 if self._costs is None else float(self._costs.min())

    @property
    def group_costs(self) -> np.ndarray:
        """Cost of each cost group: of each query, or of each size of cells."""
        assert self._costs is not None  # a cost function is for points, which have no groups
        return self._costs

    @property
    def typical_noise(self) -> float | None:
        """Median noise variance of the queries; None if all have the same."""
        return None if self._alphas is None else float(np.median(self._alphas))

    def costs_and_noises(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the costs of all queries and the noise variances of their answers.

        Parameters
        ----------
        level : float
            Noise variance of all answers if ``alpha`` has none for each query.

        Returns
        -------
        costs : ndarray of shape (n_queries,)
        noises : ndarray of shape (n_queries,)
            Noise variances.
        """
        if self._costs is None:
            costs = np.array([self._cost_at(place) for place in self.queries.every_place()])
        else:
            costs = self.queries.query_values(self._costs)
        if self._alphas is None:
            return costs, np.full(len(costs), level)
        return costs, self.queries.query_values(self._alphas)

    # -- of one query ---------------------------------------------------------------------------

    def cost_of(self, query: Arm | PointsQuery) -> float:
        """Return the cost of an answer to a query; 0 if the query is not in the set."""
        if self._costs is None:
            return self._cost_at(query.points[0])
        found = self._of(query, self._costs)
        if found is None and len(self.queries.earlier) and query in self.queries:
            return float(self._costs[0])  # an earlier arm: all cost the same
        return 0.0 if found is None else found

    def noise_of(self, query: Arm | PointsQuery, level: float) -> float:
        """Return the noise variance of an answer; ``level`` if the query has none of its own."""
        found = None if self._alphas is None else self._of(query, self._alphas)
        return level if found is None else found

    def _cost_at(self, point: np.ndarray) -> float:
        """Return the cost of a point (d,) by the user's function of points or settings."""
        space = self.queries.space
        cost = check_callable_value(
            self.cost, point if space is None else space.setting(point), "cost"
        )
        if not cost:
            raise ValueError("cost must be above 0 everywhere, got a function that returns 0")
        return cost

    def _of(self, query: Arm | PointsQuery, numbers: np.ndarray) -> float | None:
        """Return the entry of ``numbers`` for the cost group of a query; None if it has none."""
        kind = self.queries.cost_group(query)
        return float(numbers[kind]) if kind >= 0 else None

    # -- validation -----------------------------------------------------------------------------

    def _numbers(self, name: str, given: Any) -> np.ndarray:
        """Return a parameter as an array (n_cost_groups,), or raise ValueError."""
        queries, default = self.queries, DEFAULTS[name]
        n = queries.n_cost_groups
        if given is None:
            return np.full(n, default)
        labels = queries.names or ()
        if isinstance(by_name := keyed(given, labels), dict) and by_name.keys() == set(labels):
            given = [by_name[label] for label in labels]
        numbers = check_numbers(given, name, ensure_2d=False)
        if numbers.shape != (n,) or not (numbers >= 0.0).all() or (default and not numbers.all()):
            least = "above 0" if default else ">= 0"
            raise ValueError(
                f"{name} must have one finite number {least} for each {queries.kind}, {n} of them; "
                f"got {given!r}"
            )
        return numbers.astype(np.float64)


class QueryCosts:
    """Costs and noise variances of indirect queries, with the interface of :class:`CostModel`.

    Parameters
    ----------
    queries : QuerySet or QueryTree
        The set, which has the costs.
    alpha : float, callable or None
        Noise variance of an answer; a callable takes ``queries.argument(query)``.
    """

    def __init__(self, queries: QuerySet | QueryTree, alpha: Any) -> None:
        self._queries = queries
        self._alpha: Callable[[Any], float] | None = alpha if callable(alpha) else None
        self._noises: np.ndarray | None = None
        if self._alpha is not None:
            self._noises = np.array([self._noise_at(each) for each in queries.arguments])

    @property
    def differ(self) -> bool:
        """True if queries differ in cost."""
        return self._queries.differ_in_cost

    @property
    def least(self) -> float:
        """Lower bound on the cost of an answer."""
        return self._queries.least_cost

    @property
    def typical_noise(self) -> float | None:
        """Smallest noise variance of a query; None if all have the same."""
        return None if self._noises is None else float(self._noises.min())

    def costs_and_noises(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return costs and noise variances, of shape (n_queries,), of all candidates.

        ``level`` is the noise variance of all answers unless ``alpha`` is a function.
        """
        costs = self._queries.query_values(self._queries.costs)
        if self._noises is None:
            return costs, np.full(len(costs), level)
        return costs, self._queries.query_values(self._noises)

    def cost_of(self, query: IndirectQuery) -> float:
        """Return the cost of an answer to a query."""
        return query.cost

    def noise_of(self, query: IndirectQuery, level: float) -> float:
        """Return the noise variance of an answer; ``level`` unless ``alpha`` is a function."""
        return level if self._alpha is None else self._noise_at(self._queries.argument(query))

    def _noise_at(self, argument: Any) -> float:
        return check_callable_value(self._alpha, argument, "alpha")


# -- Target-size cells: queries that are cells of the sizes of targets -----------------------------


@dataclass
class TargetSizes:
    """Target-size cells: the queries of the sizes of targets, and when the search asks for them.

    Answers about other sizes inform about target-size cells only through the kernel, and a default
    kernel is a guess. The initial design therefore consists of target-size cells, and a rule that
    relies on its posterior asks for one in every other round. If target-size cells cost more than
    others, the initial design takes all sizes in turn. If costs differ, at least half of the budget
    goes to target-size cells (decision D-H30).

    Parameters
    ----------
    queries : FreeCells
        All possible queries.
    numbers : ndarray of int
        Indices of the target sizes among the sizes of queries.
    spent : float, default=0.0
        Total cost of the answers about target-size cells.
    """

    queries: FreeCells
    numbers: np.ndarray
    spent: float = 0.0

    _kept_fields = ("spent",)

    @classmethod
    def of(
        cls, sets: tuple[ArmSet, ArmSet], feedback: Feedback, cost_model: CostModel
    ) -> TargetSizes | None:
        """Return the target sizes of a search, and set the sizes of its initial design.

        None if no query has the size of a target, if the kernel is not the default one for cells,
        or with several fidelities.
        """
        queries, targets = sets
        if not (isinstance(queries, FreeCells) and isinstance(targets, FreeCells)):
            return None
        numbers = queries.sizes_like(targets.sizes)
        if not len(numbers) or not feedback.uses_default_kernel or feedback.n_tasks:
            return None
        if cost_model.group_costs[numbers].min() <= cost_model.least:
            queries.first_sizes = numbers
        return cls(queries, numbers)

    def among(self, free: np.ndarray) -> np.ndarray:
        """Return the mask of free queries with a target size; of all free queries if none has one.

        ``free`` is a mask (n_queries,).
        """
        wanted = free & np.isin(self.queries.size_of, self.numbers)
        return wanted if wanted.any() else free

    def is_due(
        self,
        round: int,
        spent: float,
        pending: Sequence[Arm | PointsQuery],
        cost_model: CostModel,
    ) -> bool:
        """Return whether the search asks for a target-size cell in ``round``, counted from 0.

        ``spent`` is the cost of all answers so far.
        """
        if not cost_model.differ:
            return (round + len(pending)) % 2 == 0
        costs = [cost_model.cost_of(query) for query in pending]
        pairs = zip(pending, costs, strict=True)
        on_wanted = self.spent + sum(cost for query, cost in pairs if self._is_one(query))
        return 2.0 * on_wanted <= spent + sum(costs)

    def pay(self, query: Arm | PointsQuery, price: float) -> None:
        """Add the cost of an answer to ``spent`` if its query is a target-size cell."""
        if self._is_one(query):
            self.spent += price

    def _is_one(self, query: Arm | PointsQuery) -> bool:
        return self.queries.nearest_size(query, self.numbers) >= 0


# -- Candidates of a box, which are drawn around the incumbents ------------------------------------


class PosteriorIncumbents(Incumbents):
    """Incumbents among the observed points and the tracked targets of a process.

    Parameters
    ----------
    targets : ArmSet
        The targets; their rows are the last tracked rows of ``gp``.
    gp : GaussianProcess
        The posterior.
    optimistic : bool
        Whether candidates also follow targets of a large upper bound.
    utility : Utility or None
        Discount of means for failures and limits, so that candidates do not follow infeasible
        points; None if everything is feasible.
    n_rounds : int, default=1
        Number of answers since the candidates moved last: as many move as in so many rounds.
    """

    def __init__(
        self,
        targets: ArmSet,
        gp: GaussianProcess,
        *,
        optimistic: bool,
        utility: Utility | None,
        n_rounds: int = 1,
    ) -> None:
        self._targets, self._gp, self.n_rounds = targets, gp, n_rounds
        self.most = n_rounds * max(1, defaults.MOST_MULTIPLICATIONS // len(gp.observed) ** 2)
        # Copied here, before anything moves: queries and targets then move to the same points.
        n, posterior = len(targets.rows), gp.posterior
        self._means = posterior.tracked_mean()[-n:]
        self._spread = np.sqrt(posterior.tracked_var()[-n:]) if optimistic else None
        self._utility = utility
        if utility is not None:
            self._means = utility.of(targets.rows, self._means, False)
        self._places: np.ndarray | None = None

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, d), observed ones and candidates, and utilities (n,) of f there."""
        observed, posterior = self._gp.observed, self._gp.posterior
        d = self._targets.layout.n_sides
        rows = observed.rows
        # Posterior mean of f at the observations: answers - noises * weights, without a solve.
        told = posterior.targets() - posterior.noises() * posterior.weights()
        if observed.offsets is not None:
            single = np.diff(observed.offsets) == 1
            rows, told = rows[observed.offsets[:-1][single]], told[single]
        points, values = [rows, self._targets.rows], [told, self._means]
        utility, gp = self._utility, self._gp
        if utility is not None:
            values[0] = utility.of(rows, told, True)
        if utility is not None and utility.n_probes:
            shift = np.random.default_rng(len(observed)).random(d)
            probes = self._targets.probes(utility.n_probes, shift)
            means = (gp.moments(probes) - gp.offset) / gp.scale if len(probes) else told[:0]
            points.append(probes)
            values.append(utility.of(probes, means, False))
        return np.concatenate(points)[:, :d], np.concatenate(values)

    def places(self) -> np.ndarray:
        """Return the points or centres (k, d) of the best targets."""
        if self._places is None:
            self._places = best_places(self._targets, self._means, self._spread)
        return self._places


class IncumbentsInContext(Incumbents):
    """Incumbents in a context in which no targets are tracked yet.

    Parameters
    ----------
    targets : ArmSet
        The targets in the context.
    gp : GaussianProcess
        The posterior.
    optimistic : bool
        Whether candidates also follow targets of a large upper bound.
    seen : callable or None
        Returns the rows (m, n_columns) observed in all contexts. Candidates then follow their
        actions as well.
    """

    def __init__(
        self,
        targets: ArmSet,
        gp: GaussianProcess,
        *,
        optimistic: bool,
        seen: Callable[[], np.ndarray] | None,
    ) -> None:
        self._targets, self._gp, self._optimistic, self._seen = targets, gp, optimistic, seen
        self._places: np.ndarray | None = None

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, d), observed actions and candidates, and means (n,) of f there."""
        layout, context, rows = self._targets.layout, self._targets.context, self._targets.rows
        if self._seen is not None and context is not None:
            seen = layout.with_contexts(context, layout.actions_of(self._seen()))
            rows = np.concatenate([seen, rows])
        return layout.actions_layout.places(layout.actions_of(rows)), self._gp.moments(rows)

    def places(self) -> np.ndarray:
        """Return the points or centres (k, d) of the best targets."""
        if self._places is None:
            mean, std = self._gp.moments(self._targets.rows, std=True)
            self._places = best_places(self._targets, mean, std if self._optimistic else None)
        return self._places


def resample_around_best(
    queries: ArmSet,
    targets: ArmSet,
    gp: GaussianProcess,
    rng: np.random.Generator,
    *,
    optimistic: bool,
    seen: Callable[[], np.ndarray],
) -> tuple[ArmSet, ArmSet]:
    """Return queries and targets whose candidates are resampled around the best of their context.

    Parameters
    ----------
    queries, targets : ArmSet
        The sets in the context, with candidates that fill the box; one object if the queries are
        the targets.
    gp : GaussianProcess
        The posterior.
    rng : Generator
        Scatters candidates around the best targets.
    optimistic : bool
        Whether candidates also follow targets of a large upper bound.
    seen : callable
        Returns the rows (m, n_columns) observed in all contexts.
    """
    if not (queries.follows or targets.follows):
        return queries, targets
    are_one = targets is queries
    for step in range(defaults.N_FOLLOWING_STEPS):
        of_others = None if step else seen
        incumbents = IncumbentsInContext(targets, gp, optimistic=optimistic, seen=of_others)
        queries = _move_candidates(queries, incumbents, rng)
        targets = queries if are_one else _move_candidates(targets, incumbents, rng)
    return queries, targets


def _move_candidates(each: ArmSet, incumbents: Incumbents, rng: np.random.Generator) -> ArmSet:
    """Return a copy of a set with some candidates moved to incumbents and around them."""
    out = copy(each)
    out.resample(incumbents, rng)
    return out


def best_places(targets: ArmSet, means: np.ndarray, spread: np.ndarray | None) -> np.ndarray:
    """Return the points or centres (k, d) of the best targets, at most ``N_CENTERS``.

    With standard deviations ``spread``, targets of large mean alternate with targets of large upper
    bound. Otherwise all cells stay on one hill, although another may be higher (decision D-H31).
    """
    ranked = [means] if spread is None else [means, means + defaults.FOLLOWED_OPTIMISM * spread]
    n = defaults.N_CENTERS
    best = np.column_stack([largest_first(each, 4 * n) for each in ranked]).ravel()
    distinct: dict[bytes, np.ndarray] = {}
    for place in targets.layout.actions_layout.places(targets.plain[best]):
        distinct.setdefault(place.tobytes(), place)
    return np.array(list(distinct.values())[:n])


# -- The posterior of queries and targets ----------------------------------------------------------


class ExpectedAnswers:
    """Cache of the posterior given the expected answers to pending queries.

    A batch grows by one query at a time, and each step adds only the last query to the cached
    process.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Empty the cache, because the process has changed."""
        # Pending queries with their noise variances, and the process that expects their answers.
        self._known: tuple[list[tuple[Any, float]], GaussianProcess | None] = [], None

    def __getstate__(self) -> dict[str, Any]:
        return {"_known": ([], None)}

    def of(
        self,
        process: GaussianProcess,
        pending: list[Any],
        row_sets: list[np.ndarray],
        noises: np.ndarray,
    ) -> GaussianProcess:
        """Return the process if no query is pending, or else a copy given the expected answers.

        Parameters
        ----------
        process : GaussianProcess
            The same object in every call between two calls of :meth:`forget`.
        pending : list of queries
            The queries.
        row_sets : list of ndarray of shape (n_rows, n_columns)
            Rows of the functional that each query observes.
        noises : ndarray of shape (k,)
            Noise variances of these answers, in the user's units.
        """
        if not pending:
            return process
        pairs = list(zip(pending, noises.tolist(), strict=True))
        known, expected = self._known
        if expected is None or pairs[: len(known)] != known:
            known, expected = [], process
        n = len(known)
        expected = expected.fantasize(row_sets[n:], noises[n:])
        self._known = pairs, expected
        return expected


class PosteriorCache:
    """Queries and targets whose posterior a process tracks, and the covariances of their pairs.

    The candidates of a box move once in a round, or whenever a context is entered.

    Parameters
    ----------
    sets : pair of ArmSet
        Queries and targets; the same object twice if the queries are the targets.
    gp : GaussianProcess
        The posterior.
    optimistic : bool
        Whether candidates also follow targets of a large upper bound.
    over_tasks : bool
        Whether queries are about several functions. All candidates then move after a refit.

    Attributes
    ----------
    queries, targets : ArmSet
        The sets in the present round and context.
    are_one : bool
        Whether queries are the targets.
    refreshed_at : int
        The last round, from 0, in which candidates have moved.
    """

    _kept_fields = ("_place", "queries", "targets", "refreshed_at")

    def __init__(
        self,
        sets: tuple[ArmSet, ArmSet],
        gp: GaussianProcess,
        *,
        optimistic: bool,
        over_tasks: bool,
    ) -> None:
        self.sets = sets
        self.queries, self.targets = sets
        self.are_one: bool = self.queries is self.targets
        self.refreshed_at, self._n_rounds = -1, 1
        self._optimistic, self._over_tasks = optimistic, over_tasks
        # The present context as bytes, and the round if candidates follow the posterior.
        self._entered: tuple[bytes, int | None] | None = None
        self.invalidate(gp)

    # -- tracked functionals ------------------------------------------------------------------

    def invalidate(self, gp: GaussianProcess) -> None:
        """Drop everything that depends on hyperparameters, and use ``gp`` from now on."""
        self.gp = gp
        self._slope: float | None = None
        self._renew_covariances()

    def _renew_covariances(self) -> None:
        # None before they are computed.
        self._covariances: PairCovariances | QueryTargetCovariances | None = None
        self._root: PivotedRoot | None = None
        self._expected = ExpectedAnswers()

    def covariances(self) -> Any:
        """Return the posterior covariances of queries and targets; of all pairs if both are one."""
        if self._covariances is None and self.are_one:
            self._covariances = PairCovariances(self.gp, moving=self.queries.is_discretization)
        elif self._covariances is None:
            self._covariances = QueryTargetCovariances(self.gp, len(self.queries.rows))
        return self._covariances

    def root(self) -> PivotedRoot | None:
        """Return a root of the prior covariance of the targets; None if they move or are rough."""
        if self._root is None and self.targets.has_root:
            gp, n = self.gp, len(self.queries.rows)
            targets = Functionals.of_rows(gp.tracked.rows[n:])
            self._root = PivotedRoot(
                lambda i: gp.covariance(targets, targets.one(i))[:, 0], gp.variance(targets)
            )
        return self._root

    def observing(self, slot: int, noise: float) -> None:
        """Update the covariances for an observation that the process is about to make.

        Parameters
        ----------
        slot : int
            Slot of the observed functional; -1 if it is not tracked.
        noise : float
            Its noise variance in the user's units.
        """
        self._expected.forget()
        if self._covariances is not None:
            self._covariances.observing(slot, noise)

    def track(self) -> None:
        """Track all queries and targets."""
        self.gp.track(self._rows())
        self._renew_covariances()

    def _rows(self) -> np.ndarray:
        """Return the rows to track: of the queries, then of the targets if they are another set."""
        if self.are_one:
            return self.queries.rows
        return np.concatenate([self.queries.rows, self.targets.rows])

    def _retrack(self, slots: np.ndarray) -> None:
        """Track the present rows of these slots, after their candidates have moved."""
        self.gp.track(self._rows()[slots], slots)
        self._expected.forget()
        if self._covariances is not None:
            self._covariances.invalidate(slots)

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Return the slot of a query, after moving a free candidate to it if necessary.

        -1 if that is impossible.
        """
        slot = self.queries.slot_of(query)
        if slot < 0:
            # Speed: an observation of a tracked query updates the posterior at a lower cost.
            slot = self.queries.move_to(query)
            if slot >= 0:
                self._retrack(np.array([slot]))
        return slot

    @property
    def moments_of_targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means and variances of all targets, in units of the process."""
        n, posterior = len(self.targets.rows), self.gp.posterior
        return posterior.tracked_mean()[-n:], posterior.tracked_var()[-n:]

    def joint_posterior(
        self, pending: list[Any], row_sets: list[np.ndarray], noises: np.ndarray
    ) -> QueryTargetPosterior:
        """Return the joint posterior of queries and targets, given pending queries.

        Parameters
        ----------
        pending : list of queries
            Queries that are being evaluated.
        row_sets : list of ndarray of shape (n_rows, n_columns)
            Rows of the functional that each of them observes.
        noises : ndarray of shape (k,)
            Noise variances of these answers, in the user's units.
        """
        if not self.are_one:
            downdate = pending_downdate(self.gp, row_sets, noises)
            return CrossPosterior(self.covariances(), downdate, self.root)
        expected = self.expected(pending, row_sets, noises)
        slots = [self.queries.slot_of(query) for query in pending]
        return ArmPosterior(self.gp, expected.posterior, self.covariances, slots, noises)

    def expected(
        self, pending: list[Any], row_sets: list[np.ndarray], noises: np.ndarray
    ) -> GaussianProcess:
        """Return the process given the expected answers to pending queries."""
        return self._expected.of(self.gp, pending, row_sets, noises)

    # -- before a round -----------------------------------------------------------------------

    def renew(self, round: int, theta: float) -> bool:
        """Renew the grid if that is due; return whether candidates are to follow the posterior.

        Parameters
        ----------
        round : int
            The round, from 0.
        theta : float
            Probability with which the grid of Theorem 2 may fail.
        """
        self._n_rounds, self.refreshed_at = round - self.refreshed_at, round
        if self.queries.make_candidates(round + 1, theta, self.largest_slope):
            self.track()
        return (self.queries.follows or self.targets.follows) and len(self.gp.observed) > 0

    def follow(self, rng: np.random.Generator, utility: Utility | None, learned: bool) -> None:
        """Move the candidates that follow the posterior around the incumbents.

        Parameters
        ----------
        rng : Generator
            Random generator of the candidates of this round.
        utility : Utility or None
            Discount of means for failures and limits, see :class:`PosteriorIncumbents`.
        learned : bool
            Whether hyperparameters were refitted since the last round.
        """
        incumbents = PosteriorIncumbents(
            self.targets,
            self.gp,
            optimistic=self._optimistic,
            utility=utility,
            n_rounds=self._n_rounds,
        )
        for each in (self.queries, self.targets)[: 2 - self.are_one]:
            if not each.follows:
                continue
            if learned and self._over_tasks:
                each.resample_all()  # the old hyperparameters had other incumbents
            first = 0 if each is self.queries else len(self.queries.rows)
            self._retrack(first + each.resample(incumbents, rng))

    def largest_slope(self) -> float:
        """Return the largest prior standard deviation of a slope of f; cached until a refit."""
        if self._slope is None:
            self._slope = self.queries.largest_slope(self.gp.deviations)
        return self._slope

    # -- contexts -----------------------------------------------------------------------------

    def enter(
        self,
        context: np.ndarray,
        round: int,
        make_rng: Callable[[], np.random.Generator],
        seen: Callable[[], np.ndarray],
    ) -> None:
        """Track queries and targets in a context: O(n t^2), or O(1) if they are tracked already."""
        follow = any(each.follows for each in self.sets)
        entered = (context.tobytes(), round if follow else None)
        if entered != self._entered:
            self.queries, self.targets = self.sets_in_context(context, make_rng, seen)
            self.track()
            self._entered = entered

    def sets_in_context(
        self,
        context: np.ndarray,
        make_rng: Callable[[], np.random.Generator],
        seen: Callable[[], np.ndarray],
    ) -> tuple[ArmSet, ArmSet]:
        """Return queries and targets in a context, with candidates around the best ones there.

        ``seen`` returns the rows (m, n_columns) observed in all contexts.
        """
        queries, targets = self._sets_at_context(context)
        if not len(self.gp.observed):
            return queries, targets
        optimistic = self._optimistic
        return resample_around_best(
            queries, targets, self.gp, make_rng(), optimistic=optimistic, seen=seen
        )

    def _sets_at_context(self, context: np.ndarray) -> tuple[ArmSet, ArmSet]:
        """Return queries and targets in a context, with candidates that fill the box."""
        queries = self.sets[0].with_context(context)
        return queries, queries if self.are_one else self.sets[1].with_context(context)

    # -- evaluations given to ``fit``, and files ----------------------------------------------

    def begin_again(self) -> None:
        """Allow candidates to move once more in this round, after evaluations given to ``fit``."""
        self.refreshed_at, self._entered = -1, None
        self._renew_covariances()

    @property
    def _place(self) -> tuple[np.ndarray, int | None] | None:
        """The present context, and the round in which it was entered; kept in files."""
        if self._entered is None or self.queries.context is None:
            return None
        return self.queries.context, self._entered[1]

    @_place.setter
    def _place(self, place: tuple[np.ndarray, int | None] | None) -> None:
        if place is not None:
            context = np.array(place[0], dtype=np.float64)
            self.queries, self.targets = self._sets_at_context(context)
            self._entered = context.tobytes(), place[1]


# -- Models of limited outcomes --------------------------------------------------------------------

#: Fits a model of yes or no to rows (n, n_columns) and successes, 1 or 0, of shape (n,).
YesOrNoLearner: TypeAlias = Callable[[np.ndarray, np.ndarray], YesOrNo]
#: How outcomes are learned: options of the model of a number, and the model of yes or no.
Learning: TypeAlias = tuple[ModelOptions, YesOrNoLearner]


class OutcomeModels:
    """Models of the limited outcomes.

    A number has a model like that of f. An outcome that is yes or no has a model of failures.

    Parameters
    ----------
    feedback : Feedback
        Makes the kernel over rows.
    queries : ArmSet
        Returns the rows of the functional that a query observes.
    model : Model
        The model of f, before its first observation.
    """

    def __init__(self, feedback: Feedback, queries: ArmSet, model: Model) -> None:
        self._feedback, self._queries = feedback, queries
        self._make = partial(
            Model,
            n_columns=feedback.n_columns,
            prior=model.prior,
            usual_noise=model.usual_noise,
            origin=model.process.origin,
            seed=model.seed,
        )
        # By name: the model, the number of events it has observed, and its expected answers.
        self._known: dict[str, tuple[Model, int, ExpectedAnswers]] = {}
        # By name: a posterior, the number of its answers, and that of the roughest kernel with its
        # weight.
        self._rough: dict[str, tuple[GaussianProcess, int, GaussianProcess, float]] = {}
        # By name and limit: the number of events, and the model.
        self._taught: dict[tuple[str, bool], tuple[int, YesOrNo | None]] = {}

    def model_of(self, name: str, run: Run, options: ModelOptions) -> Model:
        """Return the model of an outcome, given all events of a run.

        Parameters
        ----------
        name : str
            Name of the outcome.
        run : Run
            The run.
        options : ModelOptions
            Options of the model of f.
        """
        # Removed until it is complete: after an interruption the next call starts a new model.
        known = self._known.pop(name) if name in self._known else None
        model, n_seen, expected = known or (self._new(options), 0, ExpectedAnswers())
        together, told = False, list[tuple[Any, float, int]]()
        for i, (kind, *rest) in enumerate(run.events[n_seen:], n_seen):
            if kind in TOGETHER:
                together = kind == TOGETHER[0]
            elif kind == "outcomes" and rest[1].get(name) is not None:
                rows = self._queries.rows_of_query(rest[0])
                told.append((rows, rest[1][name], run.stratum_of_outcomes(i)))
            if not told or together:
                continue
            row_sets, numbers, strata = zip(*told, strict=True)
            told = []
            model = model.with_effects() if any(strata) else model
            expected.forget()
            if len(numbers) == 1:
                model.observe(row_sets[0], numbers[0], stratum=strata[0])
            else:
                noises = np.full(len(numbers), model.default_noise_variance)
                model.observe_together(row_sets, np.array(numbers), noises, strata)
            if model.is_due:
                model = model.refit()
        self._known[name] = model, len(run.events), expected
        return model

    def _new(self, options: ModelOptions) -> Model:
        """Return a model without observations."""
        own = replace(
            options,
            noise=None,
            optimizer=None if options.optimizer == CONSISTENT else options.optimizer,
            # A limit must be located from few answers, and these refits are cheap.
            relearn="growing" if options.relearn == "doubling" else options.relearn,
            normalize_y=True,
        )
        return self._make(self._feedback.row_kernel(), options=own)

    def _chances_of(
        self, name: str, value: bool, run: Run, learn: YesOrNoLearner
    ) -> YesOrNo | None:
        """Return the model of an outcome that is yes or no; None if it was never measured.

        ``value`` is the one that counts as success.
        """
        n_seen, taught = self._taught.get((name, value), (0, None))
        if n_seen < len(run.events):
            told = [event[1:] for event in run.events if event[0] == "outcomes"]
            told = [(query, each[name]) for query, each in told if each.get(name) is not None]
            if told:
                rows = middles([self._queries.rows_of_query(query) for query, _ in told])
                taught = learn(rows, np.array([float(each == value) for _, each in told]))
            self._taught[name, value] = len(run.events), taught
        return taught

    def model_of_limit(
        self,
        name: str,
        limit: CheckedLimit,
        run: Run,
        learning: Learning,
        pending: Sequence[Any] = (),
    ) -> LimitModel | None:
        """Return the model of a limit; None if its outcome was never measured.

        The model of a number is given the expected answers to ``pending`` queries.
        """
        options, learn = learning
        if isinstance(limit, bool):
            return self._chances_of(name, limit, run, learn)
        if (found := self.number(name, run, options, pending)) is None:
            return None
        return NumberWithinEnds(*limit, *self._averaged(name, *found))

    def number(
        self, name: str, run: Run, options: ModelOptions, pending: Sequence[Any] = ()
    ) -> tuple[Model, GaussianProcess] | None:
        """Return the model of an outcome that is a number; None if it was never measured.

        The process beside it is given the expected answers to ``pending`` queries.
        """
        if not (model := self.model_of(name, run, options)).n_answers:
            return None
        row_sets = [self._queries.rows_of_query(query) for query in pending]
        noises = np.full(len(pending), model.alpha + model.model_noise)
        *_, expected = self._known[name]
        return model, expected.of(model.process, [*pending], row_sets, noises)

    def _averaged(
        self, name: str, model: Model, process: GaussianProcess
    ) -> tuple[list[GaussianProcess], list[float]]:
        """Return posteriors of a number, with the most probable and the roughest smoothness.

        They have the same length scales, and are weighted by the density of the answers. The most
        probable model alone is too sure of outcomes that change in steps.
        """
        if model.prior is None or not is_of_matern(process.kernel):
            return [process], [1.0]
        known, n, rough, weight = self._rough.get(name, (None, 0, process, 0.0))
        if known is not process or n != model.n_answers:
            kernel = with_smoothness(process.kernel, min(defaults.SMOOTHNESS))
            rough = process.with_kernel(kernel, process.merged())
            densities = [each.posterior.log_marginal_likelihood() for each in (process, rough)]
            odds = densities[1] - densities[0] + log(defaults.ROUGH_OUTCOME_ODDS)
            weight = float(expit(odds))
            self._rough[name] = process, model.n_answers, rough, weight
        return [process, rough], [1.0 - weight, weight]

    def constraints(
        self, run: Run, learning: Learning, pending: Sequence[Any]
    ) -> OutcomeConstraints | None:
        """Return the limits of a run with their models; None if no outcome was measured."""
        if not run.n_observations:
            return None
        limits = checked_limits(run.params.limits).items()
        models = [self.model_of_limit(*each, run, learning, pending) for each in limits]
        known = [model for model in models if model is not None]
        return OutcomeConstraints(known) if known else None


# -- The recommendation ----------------------------------------------------------------------------

# Methods that recommend one of the answered queries.
ANSWERED = frozenset({"best_observed", "shrinkage"})


def argmax_mean(means: np.ndarray, variances: np.ndarray) -> int:
    """Return the index of the largest mean; among ties, the one of the smallest variance.

    Ties are common: after one answer all means far from it are equal.
    """
    # Rounding: if all means are 0, their errors are proportional to the standard deviations.
    among = tied(means, min(1.0, max(size_of(means), sqrt(variances.max()))))
    return int(among[argmax_first(-variances[among])])


def mask_infeasible_means(
    targets: ArmSet, means: np.ndarray, possible: IsFeasible | None
) -> tuple[np.ndarray, IsFeasible | None]:
    """Return means (n,), lowered below all others for infeasible targets, and ``possible``.

    If no target is feasible, return the means unchanged, and None instead of ``possible``.
    """
    if possible is None:
        return means, None
    which = possible(targets.rows)
    if not which.any():
        return means, None
    return np.where(which, means, means.min() - 1.0), possible


def refine_target(
    targets: ArmSet,
    slot: int,
    means: np.ndarray,
    gp: GaussianProcess | CampaignModels,
    possible: IsFeasible | None = None,
) -> Arm:
    """Return the target of a slot, or a better one of the same size between the candidates.

    Parameters
    ----------
    targets : ArmSet
        The targets, in their context, if there are contexts. If they contain all regions of a size,
        local searches for the largest mean start from the best candidates.
    slot : int
        Slot of the best candidate.
    means : ndarray of shape (n,)
        Means of all rows, in units of the process.
    gp : GaussianProcess or CampaignModels
        The posterior.
    possible : callable or None, default=None
        Returns a mask of the feasible rows; None if all rows are feasible.
    """
    placements = targets.placements_of(slot)
    if placements is None:
        return targets.arm(slot)

    def value(coordinates: np.ndarray) -> np.ndarray:
        rows = placements.rows_at(coordinates)
        if targets.context is not None:
            rows = targets.layout.with_contexts(targets.context, rows)
        found = (gp.moments(rows) - gp.offset) / gp.scale
        return found if possible is None else np.where(possible(rows), found, means.min())

    # Ties are relative to the variation of f: the prior may be in other units than the answers.
    unit = size_of(means - means.min()) or 1.0
    starts = best_apart(placements.coordinates, means[placements.alike], placements.bounds)
    best, top = maximise_in_box(value, placements.coordinates[starts], placements.bounds, unit)
    if not exceeds(top, means[slot], unit):
        return targets.arm(slot)
    return targets.arm_in(placements, best)


#: Values of observations by the name of a method: the answers, the means of each query's own
#: answers, shrunk to the mean of all answers, and the posterior means.
VALUES: dict[str, Callable[[Model], np.ndarray]] = {
    "best_observed": lambda model: model.process.posterior.targets(),
    "shrinkage": lambda model: model.shrinkage_means(),
    "posterior": lambda model: model.process.means_of_f(),
}


def best_answered_query(
    arms: ArmSet, model: Model, method: str, possible: IsFeasible | None = None
) -> Arm | None:
    """Return the answered query of the largest value, outliers left out; None if there is none.

    Parameters
    ----------
    arms : ArmSet
        The queries.
    model : Model
        The model of f.
    method : str
        Name in :data:`VALUES` of the values to compare.
    possible : callable or None, default=None
        Returns a mask of the feasible functionals, given by their rows; None if all are feasible.
    """
    observed, outlying = model.process.observed, model.diagnosis.outlying
    row_sets = [*observed]
    may_be = np.ones(len(row_sets), dtype=bool) if possible is None else possible(row_sets)
    for i in np.argsort(-VALUES[method](model), kind="stable").tolist():
        arm = None if i in outlying or not may_be[i] else arms.arm_at(observed[i])
        if arm is not None:
            return arm
    return None


@dataclass(frozen=True)
class Recommendation:
    """Recommendation of a target, or of an answered query.

    Parameters
    ----------
    queries, targets : ArmSet
        The two sets.
    model : Model
        The model of f.
    feasibility : Feasibility
        Probabilities of failures and of limits.
    is_observable : bool
        Whether an answered query may be recommended as a target.
    models : CampaignModels or None, default=None
        Posterior given earlier campaigns, which replaces that of the model.
    """

    queries: ArmSet
    targets: ArmSet
    model: Model
    feasibility: Feasibility
    is_observable: bool
    models: CampaignModels | None = None

    @property
    def method(self) -> RecommendMethod:
        """Name of the default method, which depends on the diagnosis of the answers."""
        observed = self.is_observable and self.models is None
        method = self.model.diagnosis.method if observed else "posterior"
        possible = method not in ANSWERED or self.best_answered_query(method) is not None
        return method if possible else "posterior"

    def best_answered_query(self, method: str) -> Arm | None:
        """Return the best answered feasible query by a method; None if there is none."""
        return best_answered_query(self.queries, self.model, method, self.feasibility.limits_mask)

    def target(self, means: np.ndarray, variances: np.ndarray) -> Arm:
        """Return the best feasible target by the posterior, given moments (n_targets,) of all."""
        feasibility, targets = self.feasibility, self.targets
        if self.is_observable and targets is self.queries and not feasibility.is_certain:
            known = self.best_answered_query("posterior")
            if known is not None:
                return known
        possible, limits = feasibility.feasible_mask, feasibility.limits
        if limits is not None and possible is not None and not possible(targets.rows).any():
            return targets.arm(limits.nearest(targets.rows))
        means, possible = mask_infeasible_means(targets, means, possible)
        slot = argmax_mean(means, variances)
        best = refine_target(targets, slot, means, self.models or self.model.process, possible)
        return best if possible is not None else self._unless_in_doubt(best)

    def _unless_in_doubt(self, best: Arm) -> Arm:
        """Return the best target, or the answered middle of many sides if it may be as good.

        The largest of many means is too large by chance, and with many sides by more than a search
        gains in a hundred noisy answers (decision D-G6).
        """
        middle = self.queries.middle if self.is_observable and self.models is None else None
        if middle is None or self.model.process.number_of(middle) < 0:
            return best
        posterior = self.model.mixture or self.model.process
        mean, cov = posterior.moments(np.vstack([best.descriptor, middle]), cov=True)
        deviation = sqrt(max(cov[0, 0] - 2.0 * cov[0, 1] + cov[1, 1], 0.0))
        if mean[0] - mean[1] > defaults.MIDDLE_MARGIN * deviation:
            return best
        return self.queries.placed_arm(middle[0])

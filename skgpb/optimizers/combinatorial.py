"""A bandit over several campaigns with one budget, which plays one arm of each in every round.

Each campaign has an optimizer over finite arms with a posterior of its own. In each round the
index of every arm is its value in a multiple-choice knapsack, whose exact solution is the
*allocation* to play. An answer has one reward per campaign.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020, section 6.3.
.. [Nuara2018] A. Nuara, F. Trovò, N. Gatti, M. Restelli, "A Combinatorial-Bandit Algorithm for
   the Online Joint Bid/Budget Optimization of Pay-per-Click Advertising Campaigns", AAAI 2018.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsFloat, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from skgpb._core import _knapsack
from skgpb._core._tree import TIE_TOLERANCE, first_maximum
from skgpb.domains.allocations import Allocation, AllocationSet
from skgpb.domains.arms import PointsQuery
from skgpb.exceptions import AllocationWarning, AllPendingError
from skgpb.feedback import successes_in
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._feasibility import SuccessProbabilities, weight_by_success
from skgpb.optimizers._feedback import is_free
from skgpb.optimizers._inputs import AllocationInputs, Numbers, values_in_order
from skgpb.optimizers._run import are_equal
from skgpb.optimizers._sets import differs
from skgpb.optimizers.dagp_ucb import DAGPUCBOptimizer
from skgpb.optimizers.round import QueryTargetPosterior, Round
from skgpb.optimizers.search import Search
from skgpb.optimizers.ucb import BaseUCBOptimizer
from skgpb.utils.locks import locked, reading_log
from skgpb.utils.typing import Points, Queries, Seed, Told, Values
from skgpb.utils.validation import (
    Interval,
    Real,
    StrOptions,
    check_noise_variance,
    check_numbers,
    check_one_each,
    check_reward,
    column_names,
    keyed,
)
from skgpb.utils.warnings import warn

__all__ = ["CombinatorialBandit", "knapsack"]

# -- Multiple-choice knapsack: one arm of each campaign --------------------------------------------

# Rounding: costs that differ by less than this share of the budget count as equal, so that
# 0.1 + 0.2 does not exceed 0.3.
COST_TOLERANCE = 1e-9


def knapsack(
    values: Sequence[ArrayLike], costs: Sequence[ArrayLike], budget: float
) -> NDArray[np.intp]:
    """Choose one arm of each campaign with the largest total value within the budget.

    Parameters
    ----------
    values : sequence of n_campaigns array-likes of shape (n_arms_i,)
        Value of each arm, of any sign. The campaigns may differ in their number of arms.
    costs : sequence of n_campaigns array-likes of shape (n_arms_i,)
        Cost of each arm, not negative. Costs need not be on a grid.
    budget : float
        Upper limit of the total cost, with a relative tolerance of 1e-9.

    Returns
    -------
    choice : ndarray of shape (n_campaigns,)
        Index of the arm chosen in each campaign. Ties go to the cheapest allocation, then to the
        first in lexicographic order.

    Raises
    ------
    ValueError
        If even the cheapest arms of all campaigns exceed the budget.

    Notes
    -----
    The solution is exact: dynamic programming over the pairs (cost, value) that are not dominated.
    With costs on a grid it takes O(total number of arms * levels of the budget).

    Examples
    --------
    >>> from skgpb.optimizers.combinatorial import knapsack
    >>> knapsack([[0.0, 5.0, 6.0], [0.0, 2.0, 4.0]], [[0, 1, 2], [0, 1, 2]], budget=3)
    array([1, 2])
    """
    table = CostTable(costs, budget, tie=0.0)
    if len(values) != len(table.costs):
        raise ValueError(
            f"values must have an entry for each of {len(table.costs)} campaigns, as costs has; "
            f"got {len(values)}"
        )
    rows = []
    for i, (row, cost) in enumerate(zip(values, table.costs, strict=True)):
        row = np.asarray(row, dtype=np.float64)
        if row.shape != cost.shape:
            raise ValueError(
                f"campaign {i} has {len(cost)} costs, but its values have shape {row.shape}"
            )
        if not np.isfinite(row).all():
            raise ValueError(f"the values of campaign {i} are not all finite")
        rows.append(row)
    return table.best(np.concatenate(rows)[np.newaxis])[0]


class CostTable:
    """A knapsack without its values: the checked costs of all arms, end to end, and the budget."""

    def __init__(
        self, costs: Sequence[ArrayLike], budget: float, tie: float = TIE_TOLERANCE
    ) -> None:
        self.tie = tie
        self.costs: list[np.ndarray] = [np.asarray(each, dtype=np.float64) for each in costs]
        if not self.costs:
            raise ValueError("there must be at least one campaign")
        for i, each in enumerate(self.costs):
            if each.ndim != 1 or not len(each):
                raise ValueError(
                    f"the costs of campaign {i} must have shape (n_arms,), with at least one arm; "
                    f"got shape {each.shape}"
                )
            if not (np.isfinite(each).all() and (each >= 0.0).all()):
                raise ValueError(f"the costs of campaign {i} must be finite and not negative")
        budget = float(budget)
        if not 0.0 <= budget < np.inf:
            raise ValueError(f"budget must be finite and not negative, got {budget!r}")
        least = sum(each.min() for each in self.costs)
        self.slack: float = COST_TOLERANCE * budget
        self.limit: float = budget + self.slack
        if least > self.limit:
            raise ValueError(
                f"no allocation fits: the cheapest arms of all campaigns cost {least:g} together, "
                f"the budget is {budget:g}"
            )
        self.flat: np.ndarray = np.ascontiguousarray(np.concatenate(self.costs))
        self.starts: np.ndarray = np.cumsum([0] + [len(each) for each in self.costs], dtype=np.intp)

    def best(
        self, values: NDArray[np.float64], allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Return the best choices (n_problems, n_campaigns) for values (n_problems, n_arms)."""
        costs = self.flat if allowed is None else np.where(allowed, self.flat, np.inf)
        values = np.ascontiguousarray(values)
        return _knapsack.solve(values, costs, self.starts, self.limit, self.slack, self.tie)

    def best_but(
        self,
        values: NDArray[np.float64],
        excluded: set[tuple[int, ...]],
        allowed: NDArray[np.bool_],
    ) -> NDArray[np.intp] | None:
        """Return the best choice of allowed arms that is not excluded; None if there is none.

        ``values`` and the mask ``allowed`` have shape (n_arms,).

        Lawler's partition enumerates the choices from the best downwards. It divides all other
        choices by the first campaign in which they differ from the best one.
        """
        queue: list[tuple[Any, ...]] = []
        self._enter(queue, values, allowed, 0)
        while queue:
            _, _, choice, allowed, n_fixed = heapq.heappop(queue)
            if tuple(choice.tolist()) not in excluded:
                return choice
            for i in range(n_fixed, len(self.costs)):
                rest = allowed.copy()
                rest[self.starts[i] + choice[i]] = False
                self._enter(queue, values, rest, i)
                # From here on, campaign i keeps its arm.
                allowed = allowed.copy()
                allowed[self.starts[i] : self.starts[i + 1]] = False
                allowed[self.starts[i] + choice[i]] = True
        return None

    def _enter(
        self,
        queue: list[tuple[Any, ...]],
        values: NDArray[np.float64],
        allowed: NDArray[np.bool_],
        i: int,
    ) -> None:
        """Put the best choice of one part of the partition into the queue, if a choice fits."""
        cheapest = np.minimum.reduceat(np.where(allowed, self.flat, np.inf), self.starts[:-1])
        if cheapest.sum() <= self.limit:
            choice = self.best(values[np.newaxis], allowed)[0]
            total = values[self.starts[:-1] + choice].sum()
            heapq.heappush(queue, (-total, tuple(choice.tolist()), choice, allowed, i))


def costs_of_arms(
    costs: Any, arms: Sequence[NDArray[np.float64]], names: Sequence[str]
) -> list[NDArray[np.float64]]:
    """Return the costs of a bandit as a list of arrays (n_arms_i,), one for each campaign."""
    costs = keyed(costs, names)
    if isinstance(costs, Mapping):
        if costs.keys() != set(names):
            raise ValueError(
                f"costs must have one entry for each of the campaigns {list(names)}, got "
                f"{list(costs)}"
            )
        costs = [
            np.full(len(rows), costs[name]) if isinstance(costs[name], Real) else costs[name]
            for name, rows in zip(names, arms, strict=True)
        ]
    if costs is None:
        if any(each.shape[1] != 1 for each in arms):
            raise ValueError(
                "costs=None needs arms of one column, which is their cost, in every campaign; "
                f"got {[each.shape[1] for each in arms]} columns"
            )
        return [each[:, 0] for each in arms]
    if isinstance(costs, Real):
        return [np.full(len(each), float(costs)) for each in arms]
    if not hasattr(costs, "__len__") or isinstance(costs, (str, bytes, dict, set)):
        raise TypeError(f"costs must be None, a number or arrays of numbers, got {costs!r}")
    each_alike = all(isinstance(each, Real) for each in costs)
    costs = [costs] * len(arms) if each_alike else list(costs)
    if len(costs) != len(arms):
        raise ValueError(
            f"costs must have an entry for each of {len(arms)} campaigns, got {len(costs)}"
        )
    costs = [
        check_numbers(each, f"costs of campaign {i}", ensure_2d=False)
        for i, each in enumerate(costs)
    ]
    for i, (cost, rows) in enumerate(zip(costs, arms, strict=True)):
        if cost.shape != (len(rows),):
            raise ValueError(
                f"costs of campaign {i} must have shape ({len(rows)},), one for each arm; got "
                f"{cost.shape}"
            )
    return costs


# -- Posterior of candidate allocations ------------------------------------------------------------

# Accuracy: number of joint draws whose best allocations are the candidates, for acquisition
# functions that do not add up over campaigns.
N_DRAWN = 256


class AllocationPosterior(QueryTargetPosterior):
    """Posterior of candidate allocations, whose total values are normal, as sums of normal values.

    Totals are in units of the first campaign, whose acquisition function scores the allocations.

    Parameters
    ----------
    rounds : list of Round
        Round of each campaign.
    table : CostTable
        Costs of all arms, and the budget.

    Attributes
    ----------
    choices : ndarray of shape (n_allocations, n_campaigns)
        Index of the arm of each campaign, for every allocation.
    columns : ndarray of the same shape
        Index of each of these arms among the arms of all campaigns, end to end.
    optimism : ndarray of shape (n_arms,)
        Posterior mean plus standard deviation of all arms, end to end.
    """

    def __init__(self, rounds: list[Round], table: CostTable) -> None:
        mean = np.concatenate([r.in_units_of_reward(r.mean) for r in rounds])
        std = np.concatenate([r.scale * r.std for r in rounds])
        n = N_DRAWN
        drawn = np.concatenate([r.in_units_of_reward(r.draws(n)) for r in rounds], axis=1)
        # Candidates: the best allocation for the mean, and for each joint draw.
        values = np.vstack([mean, drawn])
        self.choices: np.ndarray = np.unique(table.best(values), axis=0)
        self.columns: np.ndarray = table.starts[:-1] + self.choices
        self.optimism: np.ndarray = mean + std
        zero, unit = rounds[0].offset, rounds[0].scale
        total = (mean[self.columns].sum(axis=1) - zero) / unit
        moments = total, (std**2)[self.columns].sum(axis=1) / unit**2
        super().__init__((zero, unit), moments, moments)
        self._rounds = rounds
        # The candidates include the best allocation of every draw, so that the maximum of a draw
        # over candidates is its maximum over all allocations.
        self._drawn = (drawn[:, self.columns].sum(axis=2) - self.offset) / self.scale

    def round(self) -> Round:
        """Return the Round of these allocations, the argument of the first campaign's acquisition.

        It has the round number and the random generator of the first campaign.
        """
        noise = np.concatenate([r.scale**2 * r.noise for r in self._rounds])
        total = noise[self.columns].sum(axis=1) / self.scale**2
        first = self._rounds[0]
        return Round(self, total, np.ones(len(self.choices)), first.t, lambda: first.rng)

    def covariance(self) -> np.ndarray:
        """Return the posterior covariances of all totals, (n_allocations, n_allocations)."""
        total = np.zeros((len(self.choices), len(self.choices)))
        for each, arms in zip(self._rounds, self.choices.T, strict=True):
            total += (each.scale / self.scale) ** 2 * each.covariance[np.ix_(arms, arms)]
        return total

    def target_covariance(self, number: int) -> np.ndarray:
        """Return the posterior covariances (n_allocations,) of one total with all totals."""
        return self.covariance()[number]

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws of the totals; the first 256 draws repeat if more are requested."""
        return self._drawn[np.arange(n_draws) % N_DRAWN]

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return :meth:`draws`: here the queries are the targets."""
        return self.draws(n_draws, rng)


# Parameters of the optimizer of a campaign that have its arms.
ARMS = ("arms", "queries")

# -- The bandit ------------------------------------------------------------------------------------

#: Type of the answer of one campaign: a number, a text such as "12 of 300", or None for a failure.
Reported: TypeAlias = SupportsFloat | str | None


@dataclass(eq=False, repr=False)
class CombinatorialBandit(BaseBanditOptimizer[Allocation]):
    r"""Divide one budget between several campaigns with unknown responses.

    >>> import numpy as np
    >>> from skgpb import DAGPUCBOptimizer
    >>> from skgpb.optimizers.combinatorial import CombinatorialBandit
    >>> from skgpb.problems import AdvertisingBudget
    >>> problem, rng = AdvertisingBudget(), np.random.default_rng(0)
    >>> campaign = DAGPUCBOptimizer(problem.kernel(), arms=problem.arms, alpha=0.1)
    >>> bandit = CombinatorialBandit([campaign] * 3, budget=20, random_state=0)
    >>> for _ in range(40):
    ...     allocation = bandit.ask()
    ...     _ = bandit.tell(allocation, problem.observe(allocation, rng))
    >>> bandit.recommend().costs
    array([9., 6., 5.])

    Each round plays one arm of every campaign within the budget and observes a reward from each
    of them. Any optimizer over finite arms is a policy:

    - *Upper confidence bounds and posterior draws* (the UCB family, Thompson sampling) give an
      index to every arm of every campaign, and the allocation with the largest sum of indices
      is played, an exact multiple-choice knapsack.
    - *DAGP-UCB* weighs the arms of a campaign by the probability that the *best allocation*
      contains them, estimated by drawing the posterior and solving the knapsack again and again
      (section 6.3 of [Nuara2020]_).
    - *Other acquisition functions* (EI, PI, EST, MES, KG, IDS, and your own) do not
      add up over campaigns. They score whole allocations, whose total values are normal as well;
      see Notes.

    Which class is for which problem: :ref:`which-class`.

    Parameters
    ----------
    optimizers : list of optimizers, or of (name, optimizer) pairs
        One for each campaign. They are cloned, and may differ in all parameters. They must have
        the same class if the acquisition function of one of them does not add up over campaigns.
        An optimizer without ``arms`` takes the different rows of its columns of X in ``fit``.
        ``set_params(name__parameter=...)`` sets a parameter of one campaign,
        ``set_params(name=...)`` replaces its optimizer.
    budget : float
        Maximum cost of an allocation. ``set_params(budget=...)`` between two rounds changes it.
    costs : float, array-like of shape (n_arms,), list or dict of n_campaigns, default=None
        Cost of every arm, for each campaign or the same for all campaigns. None needs arms of one
        column, which is then their cost.
    weights : {"allocation", "campaign"}, default="allocation"
        Whether the weight of an arm in DAGP-UCB is the probability that the arm is part of the
        best allocation, or that it is the best arm of its campaign, as without a common budget.
        It has no effect on an optimizer whose ``weights`` is a function.
    random_state : int, RandomState instance or None, default=None
        Seeds the optimizers. None keeps their own ``random_state``. These should not be the same
        number, or all campaigns have the same draws.

    Attributes
    ----------
    optimizers_ : list of optimizers
        The fitted clones, with the posterior, history and predictions of each campaign.
    named_optimizers_ : dict
        The fitted clones by name: ``"campaign_0"`` and so on for campaigns without a name.
    domain_ : AllocationSet
        Set of all allocations, one arm of each campaign, within the budget or above it.
    history_ : structured ndarray
        All allocations that were told, with their answers.
    bounds_ : ndarray of shape (n_features, 2)
        Bounds of the arms of all campaigns.
    n_features_in_ : int
        Number of columns of the arms of all campaigns together.

    Notes
    -----
    *Ties.* Sums of indices tie if they agree within 1e-9, relative above 1. Ties go to the cheapest
    allocation, then to the first in lexicographic order.

    *Past allocations.* ``fit(X, y)`` expects in X the columns of the arms of all campaigns side by
    side, one budget for each campaign in the simplest case, and in y a column of rewards for each
    campaign. Campaigns without ``arms`` share the remaining columns equally, and the different
    rows in its columns are the arms of such a campaign.

    *Names.* Where campaigns have names, the columns of every DataFrame, of allocations and of
    rewards, are matched by name, and dicts are accepted as well. The columns of a campaign whose
    arms have several are ``name_0``, ``name_1`` and so on.

    *Recommendation.* The allocation with the largest posterior mean.

    *Failures.* ``tell(allocation, None)`` reports that an allocation had no answer. The failure
    counts for each of its arms. Where the arms predict failures, the search lowers the value of
    arms that are likely to fail, and recommends no allocation with such an arm.

    *Batches.* ``ask(n)`` returns n different allocations; pending allocations shrink the posterior
    standard deviations.

    *Draws for DAGP-UCB.* ``weights="joint"`` of the optimizers draws all arms of a campaign
    jointly, "sampling" and "integral" draw them independently, as Algorithm 2 does. The number of
    draws is the largest ``n_draws`` of the campaigns.

    *Acquisition functions that do not add up* score a list of candidates: the allocation with the
    largest posterior mean, and the best allocation for each of 256 joint draws.
    """

    _query_type = Allocation
    _inputs_type = AllocationInputs
    _reward_ndim = 1  # an answer has one reward for each campaign
    _takes_together = True
    _kept_fields = ("_filled",)

    if TYPE_CHECKING:

        def recommend(self, method: Any = None, *, context: Any = None) -> Allocation:
            """Return the best allocation found so far."""

    optimizers: Sequence[Any]
    budget: float
    costs: float | Values | Sequence[Values] | None = None
    _: KW_ONLY
    weights: Literal["allocation", "campaign"] = "allocation"
    random_state: Seed = None

    _parameter_constraints = {
        "optimizers": [list, tuple],
        "budget": [Interval(Real, 0, None, closed="left")],
        "costs": "no_validation",
        "weights": [StrOptions({"allocation", "campaign"})],
        "random_state": ["random_state"],
    }

    # -- parameters, also of the campaigns by their names -------------------------------------

    def _members(self) -> list[tuple[str, Any]]:
        """Return the pairs (name, optimizer) of the parameter ``optimizers``, unchecked."""
        return named_members(self.optimizers)

    def _has_queries_of(self, name: str, value: Any) -> bool:
        if name != "optimizers":
            return super()._has_queries_of(name, value)
        both = [
            [(label, getattr(each, kind, None)) for label, each in members for kind in ARMS]
            for members in map(named_members, (value, self.run_.params.optimizers))
        ]
        return len(both[0]) == len(both[1]) and all(
            one[0] == other[0] and are_equal(one[1], other[1])
            for one, other in zip(*both, strict=True)
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if ``deep``, also ``name__parameter`` of each campaign.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
        """
        params = super().get_params(deep=False)
        if deep and isinstance(self.optimizers, (list, tuple)):
            for name, optimizer in self._members():
                params[name] = optimizer
                if hasattr(optimizer, "get_params"):
                    nested = optimizer.get_params(deep=True)
                    params |= {f"{name}__{key}": value for key, value in nested.items()}
        return params

    def _set_params(self, params: dict[str, Any]) -> None:
        """Set parameters of the bandit, parameters ``name__parameter`` and optimizers ``name``."""
        others = dict(params)
        if "optimizers" in others:
            self.optimizers = others.pop("optimizers")
        if isinstance(self.optimizers, (list, tuple)):
            names = [name for name, _ in self._members()]
            for i in [i for i, name in enumerate(names) if name in others]:
                optimizers = list(self.optimizers)
                optimizer = others.pop(names[i])
                pair = isinstance(optimizers[i], tuple)
                optimizers[i] = (names[i], optimizer) if pair else optimizer
                self.optimizers = optimizers
        super()._set_params(others)

    # -- starting -----------------------------------------------------------------------------

    @property
    def _has_names(self) -> bool:
        """True if the user has named every campaign of the run."""
        return all(map(_is_named, self.run_.params.optimizers))

    @reading_log
    def fit(self, X: Any, y: Any = None) -> Self:
        """Start a new run from past allocations and their rewards.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or DataFrame
            Allocations: the columns of the arms of all campaigns, in their order or by their names.
        y : array-like of shape (n_samples, n_campaigns), or DataFrame, default=None
            Rewards of each campaign; None if X has only the arms.
        """
        return loop.fit(self, X, y, self._checked_data)

    def _checked_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        names, columns = [name for name, _ in self._members()], column_names(X)
        if columns is not None and self._has_names:
            sides = {name: (i, 0) for i, name in enumerate(names)} | {
                f"{name}_{k}": (i, k) for i, name in enumerate(names) for k in range(len(columns))
            }
            if len(set(columns)) < len(columns) or not set(columns) <= set(sides):
                raise ValueError(
                    f"X must have columns with the names of the campaigns {names}, got {columns}"
                )
            X = X[sorted(columns, key=sides.__getitem__)].to_numpy()
        elif columns is not None and len(columns) == len(names):
            names = columns
        return loop.checked_data(self, X, values_in_order(y, names, "y", self._has_names))

    def _domain(self, X: np.ndarray | None) -> np.ndarray:
        """Create the optimizers of the campaigns; return the bounds of all arms (n_features, 2).

        Campaigns without ``arms`` take them from the rows of X.
        """
        named = self._checked_optimizers()
        optimizers = [clone(optimizer) for _, optimizer in named]
        rng = check_random_state(self.random_state) if self.random_state is not None else None
        for i, optimizer in enumerate(optimizers):
            self._share_lock(optimizer)
            optimizer._campaign = named[i][0]
            if rng is not None:
                optimizer.set_params(random_state=int(rng.randint(np.iinfo(np.int32).max)))
            if self._replay is not None:
                self._replay.campaign_replay(i).lead(optimizer)
        self._give_arms(optimizers, X)
        self.optimizers_ = optimizers
        names = [name for name, _ in named]
        self.named_optimizers_: dict[str, Any] = dict(zip(names, optimizers, strict=True))
        return np.concatenate([optimizer.bounds_ for optimizer in optimizers])

    def _begin(self) -> None:
        arms = [optimizer.domain_ for optimizer in self.optimizers_]
        run = self.run_
        priced, names = run.params.costs is None, [*self.named_optimizers_]
        costs = costs_of_arms(run.params.costs, [each.rows for each in arms], names)
        self.domain_: AllocationSet = AllocationSet(
            arms, costs, priced, names if self._has_names else None
        )
        run.space = self.domain_.space
        self._table()
        # Size of the largest initial design that is complete.
        self._filled = 0
        run.seed = [optimizer.run_.seed for optimizer in self.optimizers_]

    def _table(self) -> CostTable:
        """Return the costs with the present ``budget``, which may change between rounds."""
        return CostTable(self.domain_.costs, self.budget)

    def _observe_initial(self, X: np.ndarray, y: np.ndarray) -> None:
        if len(self.optimizers_) == 1:
            y = column_or_1d(y, warn=True)
        y = y.reshape(len(X), -1)
        if y.shape[1] != len(self.optimizers_):
            raise ValueError(
                f"y must hold one reward for each of {len(self.optimizers_)} campaigns, got shape "
                f"{y.shape}"
            )
        for optimizer, x, rewards in zip(
            self.optimizers_, self.domain_.columns(X), y.T, strict=True
        ):
            optimizer.fit(x, rewards)
        run = self.run_
        run.n_fitted = len(y)
        run.seed = [optimizer.run_.seed for optimizer in self.optimizers_]

    def _snapshot(self) -> dict[str, Any]:
        campaigns = [(each._events, each._snapshot()) for each in self.optimizers_]
        return super()._snapshot() | {"campaigns": campaigns}

    def _restore(self, snapshot: dict[str, Any]) -> None:
        super()._restore(snapshot)
        for optimizer, (log, own) in zip(self.optimizers_, snapshot["campaigns"], strict=True):
            optimizer.run_.events = log
            optimizer._restore(own)

    @property
    def _fitted_allocations(self) -> np.ndarray:
        """Allocations (n_fitted, n_features) given to ``fit`` with their rewards."""
        run = self.run_
        return run.events[0][1] if run.n_fitted else np.empty((0, self.n_features_in_))

    def _checked_optimizers(self) -> list[tuple[str, Search]]:
        named = [
            (name, with_queries_as_arms(name, optimizer)) for name, optimizer in self._members()
        ]
        if not named:
            raise ValueError("optimizers must hold at least one optimizer")
        for name, optimizer in named:
            if not isinstance(optimizer, Search):
                raise TypeError(
                    f"the optimizer of {name!r} must have finite arms, as DAGPUCBOptimizer has; "
                    f"got {optimizer!r}"
                )
            if optimizer.context_bounds is not None:
                raise ValueError(
                    f"the optimizer of {name!r} must have context_bounds=None, got "
                    f"{optimizer.context_bounds!r}: use one CombinatorialBandit for each context, "
                    "such as each day of the week"
                )
            if optimizer.bounds is not None:
                raise ValueError(f"the optimizer of {name!r} must have arms and no bounds")
            if optimizer.direction != "maximize":
                raise ValueError(
                    f"the optimizer of {name!r} must have direction='maximize', because the sum "
                    f"over campaigns is maximised; got {optimizer.direction!r}. Change the sign of "
                    "losses"
                )
        names = [name for name, _ in named]
        own = set(super().get_params(deep=False))
        wrong = [n for n in names if names.count(n) > 1 or n in own or "__" in n or not n]
        if wrong:
            raise ValueError(
                "names of campaigns must be different, not empty, without '__' and none of "
                f"{sorted(own)}; got {names}"
            )
        classes = {type(optimizer) for _, optimizer in named}
        if len(classes) > 1 and not all(issubclass(cls, BaseUCBOptimizer) for cls in classes):
            raise ValueError(
                "optimizers of all campaigns must have the same class if their acquisition "
                "function does not add up over campaigns, as that of EIOptimizer; got "
                f"{sorted(c.__name__ for c in classes)}"
            )
        return named

    def _give_arms(self, optimizers: list[Search], X: np.ndarray | None) -> None:
        """Start the optimizers; one without arms gets the different rows of its columns of X."""
        armless = [i for i, optimizer in enumerate(optimizers) if optimizer.arms is None]
        if armless and X is None:
            raise NotFittedError(
                f"the optimizer of {self._members()[armless[0]][0]!r} needs arms=, or call fit(X), "
                "which takes them from the rows of X"
            )
        widths = [
            0 if optimizer.arms is None else optimizer.start().n_features_in_
            for optimizer in optimizers
        ]
        if X is None:
            return
        left = X.shape[1] - sum(widths)
        if left < len(armless) or (left % len(armless) if armless else left):
            raise ValueError(
                f"X has {X.shape[1]} features, but the arms of all campaigns have "
                f"{sum(widths)} columns"
                + (f", and {len(armless)} campaigns share the rest equally" if armless else "")
            )
        for i in armless:
            widths[i] = left // len(armless)
        ends = np.cumsum(widths)
        for i in armless:
            rows = np.unique(X[:, ends[i] - widths[i] : ends[i]], axis=0)
            optimizers[i].set_params(arms=rows).start()

    # -- the round ----------------------------------------------------------------------------

    def _propose(self, context: np.ndarray | None) -> Allocation:
        first = self._first_allocation()
        return self._best_allocation() if first is None else first

    def _first_allocation(self) -> Allocation | None:
        """Return an allocation of the initial design; None once the design is complete."""
        n_initial = max(optimizer._n_initial for optimizer in self.optimizers_)
        if n_initial <= self._filled:
            return None
        run = self.run_
        evaluated = run.evaluating
        asked = [query.points for query in (*run.told_queries(), *evaluated)]
        known = np.concatenate([self._fitted_allocations, *asked])
        failures = [query.points for _, query, _ in run.failures]
        failed = np.concatenate([known[:0], *failures])
        best = self._table().best
        first = self.domain_.first_allocation(n_initial, known, failed, run.seed[0], best)
        self._filled = n_initial if first is None and not evaluated else 0
        return first

    def _best_allocation(self) -> Allocation:
        table, chances = self._table(), self._chances()
        run = self.run_
        excluded = {allocation.indices for allocation in run.pending}
        posteriors = []
        for i, (optimizer, known) in enumerate(zip(self.optimizers_, chances, strict=True)):
            pending = list({each.arms[i]: None for each in run.pending})
            posterior, rows = optimizer.posterior(pending=pending), optimizer.domain_.rows
            if known is not None:
                gp = optimizer._model.process
                posterior = weight_by_success(posterior, known, (rows, rows), gp)
            posteriors.append(posterior)
        # Upper bounds and draws are values of f: their sum over campaigns is a value of the total.
        if isinstance(self.optimizers_[0], BaseUCBOptimizer):  # and so are all others
            choose = partial(table.best_but, self._index(posteriors, table), excluded)
        else:
            choose = partial(self._best_by_rule, posteriors, table, excluded)
        every = np.ones(len(table.flat), dtype=bool)
        likely = ~self._arm_mask(SuccessProbabilities.hopeless_mask, chances, ~every)
        choice = next((c for c in map(choose, (likely, every)) if c is not None), None)
        if choice is None:
            raise AllPendingError(
                "all allocations within the budget are pending: tell some of them before asking "
                "for more"
            )
        return self.domain_.allocation(choice)

    def _index(self, posteriors: list[Round], table: CostTable) -> np.ndarray:
        """Return the indices (n_arms,) of all arms, end to end, in units of the reward."""
        drawn = [
            self.weights == "allocation"
            and isinstance(optimizer, DAGPUCBOptimizer)
            and not callable(optimizer.weights)
            for optimizer in self.optimizers_
        ]
        weights = self._allocation_weights(posteriors, table) if any(drawn) else []
        index = []
        for i, (optimizer, posterior) in enumerate(zip(self.optimizers_, posteriors, strict=True)):
            if drawn[i]:
                values = optimizer.acquisition(posterior, weights[i])
            else:
                values = optimizer.acquisition(posterior)
            index.append(posterior.in_units_of_reward(values))
        return np.concatenate(index)

    def _allocation_weights(self, posteriors: list[Round], table: CostTable) -> list[np.ndarray]:
        """Return, for each campaign, the probabilities (n_arms_i,) that an arm is part of the best.

        Section 6.3: the shares of draws of the posterior whose best allocation has the arm.
        """
        n_draws = max(getattr(optimizer, "n_draws", 1) for optimizer in self.optimizers_)
        draws = []
        for optimizer, posterior in zip(self.optimizers_, posteriors, strict=True):
            if getattr(optimizer, "weights", None) == "joint":
                values = posterior.draws(n_draws)
            else:
                normals = posterior.rng.standard_normal((n_draws, posterior.n_arms))
                values = posterior.mean + posterior.std * normals
            draws.append(posterior.in_units_of_reward(values))
        choices = table.best(np.concatenate(draws, axis=1))
        return [
            np.bincount(choices[:, i], minlength=posterior.n_arms) / n_draws
            for i, posterior in enumerate(posteriors)
        ]

    def _best_by_rule(
        self,
        posteriors: list[Round],
        table: CostTable,
        excluded: set[tuple[int, ...]],
        allowed: np.ndarray,
    ) -> np.ndarray | None:
        """Return the choice of the best score, of candidates that have only allowed arms.

        If all such candidates are excluded, return the best other choice by mean plus standard
        deviation; None if there is none.
        """
        allocations = AllocationPosterior(posteriors, table)
        new = [tuple(choice) not in excluded for choice in allocations.choices.tolist()]
        free = np.flatnonzero(new & allowed[allocations.columns].all(axis=1))
        if not len(free):
            return table.best_but(allocations.optimism, excluded, allowed)
        scores = self.optimizers_[0].acquisition(allocations.round())
        return allocations.choices[free[first_maximum(scores[free])]]

    def _best(self, context: np.ndarray | None = None) -> Allocation:
        means = [
            optimizer.surrogate_.predict_tracked()[: len(optimizer.domain_.rows)]
            for optimizer in self.optimizers_
        ]
        table, run, values = self._table(), self.run_, np.concatenate(means)
        every = np.ones(len(table.flat), dtype=bool)
        possible = self._arm_mask(SuccessProbabilities.feasible_mask, self._chances(), every)
        answered = {query.points.tobytes() for query in run.told_queries()}
        vain = {
            query.indices
            for _, query, _ in run.failures
            if isinstance(query, Allocation) and query.points.tobytes() not in answered
        }
        for excluded, allowed in ((vain, possible), (vain, every)):
            choice = table.best_but(values, excluded, allowed)
            if choice is not None:
                return self.domain_.allocation(choice)
        return self.domain_.allocation(table.best(values[np.newaxis])[0])

    # -- failures -----------------------------------------------------------------------------

    def _chances(self) -> list[SuccessProbabilities | None]:
        """Return the success probabilities of the arms of each campaign.

        The entry of a campaign is None before its first failure or answer, and if failures do not
        depend on its arms. A failed allocation does not show which campaign failed, so that it
        counts in each.
        """

        def learn(played: np.ndarray, succeeded: np.ndarray) -> list[SuccessProbabilities]:
            columns = zip(self.domain_.columns(played), self.optimizers_, strict=True)
            return [
                SuccessProbabilities(rows, succeeded, each.domain_.rows) for rows, each in columns
            ]

        found = self.run_.outcomes(self._fitted_allocations, lambda query: query.points[0], learn)
        if found is None:
            return [None] * len(self.optimizers_)
        return [
            each if each.depends_on_query and optimizer.run_.n_observations else None
            for each, optimizer in zip(found, self.optimizers_, strict=True)
        ]

    def _arm_mask(
        self,
        kind: Callable[[SuccessProbabilities, np.ndarray], np.ndarray],
        chances: list[SuccessProbabilities | None],
        otherwise: np.ndarray,
    ) -> np.ndarray:
        """Return the mask (n_arms,) of the arms, end to end, for which ``kind`` holds.

        Campaigns without success probabilities keep their part of ``otherwise``.
        """
        out, starts = otherwise.copy(), self._table().starts
        for i, (optimizer, known) in enumerate(zip(self.optimizers_, chances, strict=True)):
            if known is not None:
                out[starts[i] : starts[i + 1]] = kind(known, optimizer.domain_.rows)
        return out

    # -- tell and the history -----------------------------------------------------------------

    @locked
    def tell(
        self,
        query: Told,
        reward: Numbers | Iterable[Reported | Iterable[Reported]],
        alpha: Numbers = None,
    ) -> Self:
        """Report the rewards of an allocation; invalid rewards change nothing.

        The search learns from an allocation above the budget as well. It warns unless ``ask``
        returned the allocation, when the budget was larger.

        Parameters
        ----------
        query : Allocation, array-like of shape (n_features,), dict, list of them, or DataFrame
            The evaluated allocation: from :meth:`ask`, in any order, or any other within
            the bounds of the arms, at any cost.
        reward : array-like of shape (n_campaigns,) or dict; for several array-like or DataFrame
            The noisy answer of each campaign; None for a campaign that gave none. A text such as
            ``"12 of 300"`` is 12 successes, such as orders, of 300 trials, such as clicks. For k
            of n its noise variance is n q (1 - q) with q = (k + 1) / (n + 2).
        alpha : float, array-like of shape (n_campaigns,) or dict, default=None
            Noise variances of these answers; None for ``alpha`` of the optimizers. For a list of
            allocations, a number or one such entry for each.

        Returns
        -------
        self : CombinatorialBandit

        Warns
        -----
        AllocationWarning
            For an allocation that costs more than ``budget`` and was not asked.
        """
        return loop.tell(self, query, reward, alpha)

    def _validate_answer(self, query: Any, reward: Any, alpha: Any) -> tuple[Any, ...]:
        inputs: Any = self._inputs
        n, rewards = len(self.optimizers_), list[Any]()
        reward, alpha = inputs.arrange(reward, "reward"), inputs.arrange(alpha, "alpha")
        if reward is not None:
            rewards = check_one_each(reward, n, "reward", "campaigns")
            if all(each is None for each in rewards):
                raise ValueError("reward holds None for every campaign")
        alphas = check_one_each(alpha, n, "alpha", "campaigns", shared=True)
        for i, each in enumerate(rewards):
            if isinstance(each, str):
                if alphas[i] is not None:
                    raise ValueError(f"the noise of {each!r} follows from it, got alpha={alpha!r}")
                rewards[i], alphas[i] = successes_in(each)
            elif each is not None:
                rewards[i] = check_reward(each)
        for i, optimizer in enumerate(self.optimizers_):
            if alphas[i] is not None:
                alphas[i] = check_noise_variance(alphas[i])
            else:
                alphas[i] = float("nan") if optimizer.alpha is None else float(optimizer.alpha)
        if not isinstance(query, Allocation):
            query = inputs.query(query)
        return inputs.resolve(query), None if reward is None else rewards, alphas

    def _observe(self, query: Allocation | PointsQuery, reward: list[Any], alpha: list) -> None:
        run = self.run_
        if run.together is None:
            self._observe_together([(query, reward, alpha)])
        else:
            run.together.append((query, reward, alpha))
        cost = self.domain_.cost_of(query)
        if query not in run.pending and cost > self._table().limit:
            warn(
                f"the allocation costs {cost:g}, more than the budget of {self.budget:g}: the "
                "search learns from its answers, but will not ask or recommend it",
                AllocationWarning,
            )
        told = np.array([each is not None for each in reward])
        run.add((query.box, self.domain_.slots_of(query), told))

    def _observe_together(self, answers: list[Any]) -> None:
        """Tell every campaign its rewards, and record in the log which refits failed."""
        parts = [self.domain_.parts_of(query) for query, *_ in answers]
        for i, optimizer in enumerate(self.optimizers_):
            told = [
                (part[i], reward[i], None if isnan(alpha[i]) else alpha[i])
                for part, (_, reward, alpha) in zip(parts, answers, strict=True)
                if reward[i] is not None
            ]
            if not told:
                continue
            optimizer.tell(*map(list, zip(*told, strict=True)))
            kind, *when = optimizer.run_.events[-1]
            if kind == "unlearned":
                self.run_.events.append((kind, *when, i))

    @property
    @reading_log
    def history_(self) -> np.ndarray:
        """Every answered allocation since the start, a structured array.

        Fields: ``round`` (from 1); ``descriptor`` (2 n_features,), the box [lower, upper] around
        the arms, whose sides are 0 if the arms are points; ``choice`` (n_campaigns,), the indices
        of the arms, -1 for a point that is no arm; ``reward``, ``mean`` and ``std``
        (n_campaigns,), the answers and the posterior before them, NaN for campaigns without an
        answer.
        """
        check_is_fitted(self, "bounds_")
        n, d = len(self.optimizers_), self.n_features_in_
        names, nothing = ("reward", "mean", "std"), 3 * [np.full(n, np.nan)]
        numbers = [(name, np.float64, (n,)) for name in names]
        boxes, choices = ("descriptor", np.float64, (2 * d,)), ("choice", np.intp, (n,))
        dtype = [("round", np.intp), boxes, choices, *numbers]
        rows = self.run_.first_events(self._dirty).history
        out = np.array([(i, *row[:2], *nothing) for i, row in enumerate(rows, 1)], dtype=dtype)
        told = np.array([told for _, _, told in rows], dtype=bool).reshape(-1, n)
        for i, optimizer in enumerate(self.optimizers_):
            history = optimizer.history_
            for name in names:
                out[name][told[:, i], i] = history[name][: told[:, i].sum()]
        return out

    # -- a regressor for the campaigns ----------------------------------------------------------

    @locked
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2 of the predictions for X and y, which are as in :meth:`fit`."""
        check_is_fitted(self, "bounds_")
        inputs: Any = self._inputs
        return super().score(X, inputs.arrange(y, "y"), sample_weight)

    @overload
    def predict(self, X: Points, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, X: Points, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Points, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict(
        self, X: Points, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the posterior of the value of each campaign; campaigns are independent.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Allocations, one in each row.
        return_std : bool, default=False
            Whether to return standard deviations as well.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_campaigns)
            Shape (n_samples,) for a single campaign.
        std : ndarray of the same shape, only if ``return_std``
        """
        check_is_fitted(self, "bounds_")
        columns = self.domain_.columns(self._inputs.points(X))
        return self._side_by_side(
            [o.predict(x, return_std=True) for o, x in zip(self.optimizers_, columns, strict=True)],
            return_std,
        )

    @overload
    def predict_query(self, queries: Queries, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict_query(
        self, queries: Queries, return_std: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_query(
        self, queries: Queries, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...

    @locked
    def predict_query(
        self, queries: Queries, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the posterior of each campaign's answers to allocations, without their noise.

        Parameters
        ----------
        queries : Allocation or list of allocations
            Allocations, asked or not. A list may also have rows of shape (n_features,).
        return_std : bool, default=False
            Whether to return standard deviations as well.

        Returns
        -------
        mean : ndarray of shape (n_queries, n_campaigns)
            Shape (n_queries,) for a single campaign.
        std : ndarray of the same shape, only if ``return_std``
        """
        check_is_fitted(self, "bounds_")
        parts = [self.domain_.parts_of(query) for query in self._inputs.queries(queries)]
        campaigns = zip(self.optimizers_, zip(*parts, strict=True), strict=True)
        return self._side_by_side(
            [o.predict_query(list(of_one), return_std=True) for o, of_one in campaigns], return_std
        )

    def _side_by_side(self, moments: list[tuple[Any, ...]], return_std: bool) -> Any:
        """Return the moments with one column for each campaign; (n,) for a single campaign."""
        mean, std = (np.column_stack(each) for each in zip(*moments, strict=True))
        if len(self.optimizers_) == 1:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean


def named_members(optimizers: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return the pairs (name, optimizer) of the parameter ``optimizers``."""
    return [
        each if _is_named(each) else (f"campaign_{i}", each) for i, each in enumerate(optimizers)
    ]


def _is_named(member: Any) -> bool:
    """Return whether a campaign is given as a pair of its name and its optimizer."""
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


def with_queries_as_arms(name: str, optimizer: Any) -> Any:
    """Return the optimizer of a campaign, with ``queries`` that are rows as its ``arms``."""
    if not isinstance(optimizer, Search) or (optimizer.queries is None is optimizer.targets):
        return optimizer
    if optimizer.targets is not None or is_free(optimizer.queries):
        raise ValueError(
            f"the optimizer of {name!r} must have arms, or queries that are rows, and no targets"
        )
    if optimizer.cost is not None:
        raise ValueError(
            f"the optimizer of {name!r} must have cost=None: pass costs to the CombinatorialBandit"
        )
    if differs(optimizer.alpha):
        raise ValueError(f"the optimizer of {name!r} must have one alpha for all arms")
    return clone(optimizer).set_params(arms=optimizer.queries, queries=None)

r"""One budget, several campaigns: a bandit that pulls one arm of each.

Every campaign has its own optimizer over finite arms and its own posterior. In each round their
indices, one per arm and campaign, go into a multiple-choice knapsack, whose exact solution is the
*allocation* to play; its rewards come back campaign by campaign.

References
----------
.. [Nuara2020] A. Nuara, F. Trovò, D. Crippa, N. Gatti, M. Restelli, "Driving Exploration by
   Maximum Distribution in Gaussian Process Bandits", AAMAS 2020, section 6.3.
.. [Nuara2018] A. Nuara, F. Trovò, N. Gatti, M. Restelli, "A Combinatorial-Bandit Algorithm for
   the Online Joint Bid/Budget Optimization of Pay-per-Click Advertising Campaigns", AAAI 2018.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from skgpb._core import _knapsack
from skgpb._core._tree import TIE_TOLERANCE
from skgpb.domains.allocations import Allocation
from skgpb.domains.arms import Arm
from skgpb.domains.query import PointsQuery
from skgpb.exceptions import AllocationWarning
from skgpb.locks import locked
from skgpb.optimizers._arms import (
    ArmsPosterior,
    BaseArmsOptimizer,
    BaseUCBOptimizer,
    first_maximum,
)
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers.dagp_ucb import DAGPUCBOptimizer
from skgpb.utils import (
    Interval,
    Real,
    StrOptions,
    check_noise_variance,
    check_numbers,
    check_one_each,
    check_reward,
    unchanged_by_errors,
    validate_params,
)

__all__ = ["CombinatorialBandit", "knapsack"]

# Costs that differ by less than this share of the budget are equal: 0.1 + 0.2 does not exceed 0.3.
COST_TOLERANCE = 1e-9
# Allocations that rules without additive scores compare: the best of each of so many joint draws,
N_DRAWN = 256
# and those with the most mean + factor * spread.
FACTORS = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 31)])


def knapsack(
    values: Sequence[ArrayLike], costs: Sequence[ArrayLike], budget: float
) -> NDArray[np.intp]:
    """Choose one arm of each campaign so that the values add up to most within the budget.

    Parameters
    ----------
    values : sequence of n_campaigns array-likes of shape (n_arms_i,)
        Value of each arm, of any sign. The campaigns may differ in their number of arms.
    costs : sequence of n_campaigns array-likes of shape (n_arms_i,)
        Cost of each arm, not negative, on a grid or not.
    budget : float
        Upper limit of the total cost. An allocation above it by no more than 1e-9 of it fits.

    Returns
    -------
    choice : ndarray of shape (n_campaigns,)
        Number of the arm chosen in each campaign. Ties: the cheapest allocation, then the first
        in lexicographic order.

    Raises
    ------
    ValueError
        Where even the cheapest arms of all campaigns exceed the budget.

    Notes
    -----
    Exact, by dynamic programming over the pairs (cost, value) that are not dominated. With costs
    on a grid it takes O(total number of arms * levels of the budget).

    Examples
    --------
    >>> from skgpb.optimizers.combinatorial import knapsack
    >>> knapsack([[0.0, 5.0, 6.0], [0.0, 2.0, 4.0]], [[0, 1, 2], [0, 1, 2]], budget=3)
    array([1, 2])
    """
    table = CostTable(costs, budget, tie=0.0)
    if len(values) != len(table.costs):
        raise ValueError(
            f"there are costs of {len(table.costs)} campaigns, values of {len(values)}"
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
    """Checked costs of all arms, end to end, and the budget: a knapsack without its values."""

    def __init__(
        self, costs: Sequence[ArrayLike], budget: float, tie: float = TIE_TOLERANCE
    ) -> None:
        self.tie = tie
        self.costs = [np.asarray(each, dtype=np.float64) for each in costs]
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
        self.slack = COST_TOLERANCE * budget
        self.limit = budget + self.slack
        if least > self.limit:
            raise ValueError(
                f"no allocation fits: the cheapest arms of all campaigns cost {least:g} together, "
                f"the budget is {budget:g}"
            )
        self.flat = np.ascontiguousarray(np.concatenate(self.costs))
        self.starts = np.cumsum([0] + [len(each) for each in self.costs], dtype=np.intp)

    def best(
        self, values: NDArray[np.float64], allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Best choice (n_problems, n_campaigns) for each row of values (n_problems, n_arms)."""
        costs = self.flat if allowed is None else np.where(allowed, self.flat, np.inf)
        values = np.ascontiguousarray(values)
        return _knapsack.solve(values, costs, self.starts, self.limit, self.slack, self.tie)

    def best_but(
        self, values: NDArray[np.float64], excluded: set[tuple[int, ...]]
    ) -> NDArray[np.intp] | None:
        """Best choice for values (n_arms,) that is not excluded; None where none is left.

        The best of what remains is found by Lawler's partition: the choices other than a given
        one are those that agree with it on the first i campaigns and differ on the next.
        """
        free = np.ones(len(self.flat), dtype=bool)
        queue: list[tuple] = []
        self._enter(queue, values, free, 0)
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
        self, queue: list[tuple], values: NDArray[np.float64], allowed: NDArray[np.bool_], i: int
    ) -> None:
        """Put the best choice of a part into the queue, if the part has one."""
        cheapest = np.minimum.reduceat(np.where(allowed, self.flat, np.inf), self.starts[:-1])
        if cheapest.sum() <= self.limit:
            choice = self.best(values[np.newaxis], allowed)[0]
            total = values[self.starts[:-1] + choice].sum()
            heapq.heappush(queue, (-total, tuple(choice.tolist()), choice, allowed, i))


class CombinatorialBandit(BaseBanditOptimizer[Allocation]):
    r"""Split a budget over campaigns, learning how each responds to its share.

    Each round plays one arm of every campaign within the budget and observes a reward from each
    of them. Any optimizer over finite arms is a policy:

    - *Upper confidence bounds and posterior draws* (the UCB family, Thompson sampling) give an
      index to every arm of every campaign, and the allocation with the largest sum of indices
      is played, an exact multiple-choice knapsack.
    - *DAGP-UCB* weighs the arms of a campaign by the probability that the *best allocation*
      contains them, estimated by drawing the posterior and solving the knapsack again and again
      (section 6.3 of [Nuara2020]_).
    - *Rules about improvement or the largest value* (EI, PI, EST, MES, and rules of your own)
      do not add up over campaigns. They are applied to allocations, whose total value is normal
      as well; see Notes.

    Parameters
    ----------
    optimizers : list of optimizers, or of (name, optimizer) pairs
        One for each campaign. They are cloned, and may differ in everything; those of the third
        kind must be of one class. Without ``arms`` their arms are what ``fit`` finds in X.
    budget : float
        What an allocation may cost. ``set_params(budget=...)`` between two rounds changes it.
    costs : float, array-like of shape (n_arms,) or list of n_campaigns of them, default=None
        Cost of every arm, for each campaign or for all alike. None where arms have one column,
        which is what they cost.
    weights : {"allocation", "campaign"}, default="allocation"
        Whether the weights of DAGP-UCB are probabilities to be part of the best allocation, or to
        be the best arm of the campaign, as without a common budget. Weights given as a
        function stay what they are.
    random_state : int, RandomState instance or None, default=None
        Seeds the optimizers. None leaves them their own ``random_state``, which should not be one
        and the same number, or campaigns are drawn alike.

    Attributes
    ----------
    optimizers_ : list of optimizers
        The fitted clones, for all that they can tell about a campaign.
    named_optimizers_ : dict
        The same by name, ``"campaign_0"`` and so on where no names were given.
    history_ : structured ndarray
        What was told.
    bounds_ : ndarray of shape (n_features, 2)
        Bounds of the arms of all campaigns.
    n_features_in_ : int
        Columns of the arms of all campaigns together.

    Notes
    -----
    *Ties.* Indices that agree within 1e-9 tie: the cheapest allocation, then the first in the order
    of arms.

    *Recommendation.* The allocation with the largest posterior mean.

    *Batches.* ``ask(n)`` returns n different allocations; the standard deviations shrink by the
    pending ones.

    *Draws for DAGP-UCB.* ``weights="joint"`` of the optimizers draws all arms of a campaign
    jointly, "sampling" and "integral" draw them independently, as Algorithm 2 does. The number is
    the largest ``n_draws`` of the campaigns.

    *Rules of the third kind* compare the allocations that are best for one of 256 joint draws, or
    that have the largest mean plus a multiple of the standard deviations or of the variance.

    Examples
    --------
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
    """

    _query_type = Allocation

    _parameter_constraints: dict = {
        "optimizers": [list, tuple],
        "budget": [Interval(Real, 0, None, closed="left")],
        "costs": "no_validation",
        "weights": [StrOptions({"allocation", "campaign"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        optimizers: Sequence[Any],
        budget: float,
        costs: Any = None,
        *,
        weights: str = "allocation",
        random_state: Any = None,
    ) -> None:
        self.optimizers = optimizers
        self.budget = budget
        self.costs = costs
        self.weights = weights
        self.random_state = random_state

    # -- parameters ---------------------------------------------------------------------------

    def _named(self) -> list[tuple[str, Any]]:
        """Pairs of names and optimizers as given, unchecked."""
        return [
            each
            if isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str)
            else (f"campaign_{i}", each)
            for i, each in enumerate(self.optimizers)
        ]

    def get_params(self, deep: bool = True) -> dict:
        """Parameters, with those of the campaigns as ``name__parameter`` if ``deep``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
        """
        params = super().get_params(deep=False)
        if deep and isinstance(self.optimizers, (list, tuple)):
            for name, optimizer in self._named():
                params[name] = optimizer
                if hasattr(optimizer, "get_params"):
                    nested = optimizer.get_params(deep=True)
                    params |= {f"{name}__{key}": value for key, value in nested.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of the campaigns as ``name__parameter``, or a whole campaign.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self : CombinatorialBandit
        """
        if "optimizers" in params:
            self.optimizers = params.pop("optimizers")
        if isinstance(self.optimizers, (list, tuple)):
            names = [name for name, _ in self._named()]
            for i in [i for i, name in enumerate(names) if name in params]:
                optimizers = list(self.optimizers)
                optimizer = params.pop(names[i])
                pair = isinstance(optimizers[i], tuple)
                optimizers[i] = (names[i], optimizer) if pair else optimizer
                self.optimizers = optimizers
        super().set_params(**params)
        return self

    # -- starting -----------------------------------------------------------------------------

    @locked
    def fit(self, X: Any, y: Any = None) -> Self:
        """Start afresh, with what was spent and received before, if there is any.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Past allocations: the columns of the arms of all campaigns side by side, one budget
            for each campaign in the simplest case. Campaigns without ``arms`` share the columns
            that the others leave equally, and their arms are the different rows there.
        y : array-like of shape (n_samples, n_campaigns), default=None
            Their rewards; shape (n_samples,) for a single campaign.

        Returns
        -------
        self : CombinatorialBandit
        """
        with unchanged_by_errors(self):
            validate_params(self)
            if y is None:
                X = validate_data(self, X, dtype=np.float64)
            else:
                X, y = validate_data(
                    self, X, y, dtype=np.float64, multi_output=True, y_numeric=True
                )
                if len(self.optimizers) == 1:
                    y = column_or_1d(y, warn=True)
                y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
            self._start(X, y)
            self._log.append(("fit", X, y))
        return self

    def _start(self, X: np.ndarray | None, y: np.ndarray | None = None) -> None:
        named = self._checked_optimizers()
        optimizers = [clone(optimizer) for _, optimizer in named]
        for optimizer in optimizers:
            self.share_lock(optimizer)
        if self.random_state is not None:
            rng = check_random_state(self.random_state)
            for optimizer in optimizers:
                optimizer.set_params(random_state=int(rng.randint(np.iinfo(np.int32).max)))
        # Of a loaded run: the seeds that the campaigns had, and when they failed to learn.
        for optimizer, seed in zip(
            optimizers, self.__dict__.get("_replayed_seed", ()), strict=False
        ):
            optimizer._replayed_seed = seed
        failures = self.__dict__.get("_replayed_failures", ())
        for i, optimizer in enumerate(optimizers):
            optimizer._replayed_failures = {(when,) for when, campaign in failures if campaign == i}
        self._give_arms(named, optimizers, X)
        for optimizer in optimizers:
            optimizer._ensure_started()
        if X is not None:
            if y is not None and y.shape[1] != len(optimizers):
                raise ValueError(
                    f"y must hold one reward for each of {len(optimizers)} campaigns, got shape "
                    f"{y.shape}"
                )
            for i, (optimizer, columns) in enumerate(
                zip(optimizers, self._columns(X), strict=True)
            ):
                optimizer.fit(columns, None if y is None else y[:, i])
        for optimizer in optimizers:
            optimizer.__dict__.pop("_replayed_seed", None)
        self._costs = self._checked_costs(optimizers)
        CostTable(self._costs, self.budget)
        self.optimizers_ = optimizers
        self.named_optimizers_ = dict(zip([name for name, _ in named], optimizers, strict=True))
        self.bounds_ = np.concatenate([optimizer.bounds_ for optimizer in optimizers])
        self.n_features_in_ = len(self.bounds_)
        self._begin_loop()
        self._n_fitted = 0 if y is None else len(y)

    @property
    def _seed(self) -> list[int]:
        return [optimizer._seed for optimizer in self.optimizers_]

    def _checked_optimizers(self) -> list[tuple[str, BaseArmsOptimizer]]:
        named = self._named()
        if not named:
            raise ValueError("optimizers must hold at least one optimizer")
        for name, optimizer in named:
            if not isinstance(optimizer, BaseArmsOptimizer):
                raise TypeError(
                    f"the optimizer of {name!r} must be one over finite arms, such as "
                    f"DAGPUCBOptimizer, got {optimizer!r}"
                )
            if optimizer.arms is None and optimizer.bounds is not None:
                raise ValueError(f"the optimizer of {name!r} has bounds=, but needs arms=")
        names = [name for name, _ in named]
        own = set(super().get_params(deep=False))
        wrong = [n for n in names if names.count(n) > 1 or n in own or "__" in n or not n]
        if wrong:
            raise ValueError(
                "names of campaigns must be different, not empty, without '__' and none of "
                f"{sorted(own)}; got {names}"
            )
        classes = {type(optimizer) for _, optimizer in named}
        if len(classes) > 1 and not all(_adds_up(optimizer) for _, optimizer in named):
            raise ValueError(
                "rules that do not add up over campaigns, such as EI, need one class for all "
                f"campaigns, got {sorted(c.__name__ for c in classes)}"
            )
        return named

    def _give_arms(
        self,
        named: list[tuple[str, BaseArmsOptimizer]],
        optimizers: list[BaseArmsOptimizer],
        X: np.ndarray | None,
    ) -> None:
        """Split the columns of X among the campaigns; what is in X are the arms of the armless."""
        armless = [i for i, optimizer in enumerate(optimizers) if optimizer.arms is None]
        if armless and X is None:
            raise NotFittedError(
                f"the optimizer of {named[armless[0]][0]!r} needs arms=, or call fit(X), which "
                "takes them from the rows of X"
            )
        widths = [0 if o.arms is None else len(o._domain()) for o in optimizers]
        if X is not None:
            left = X.shape[1] - sum(widths)
            if left < len(armless) or (left % len(armless) if armless else left):
                raise ValueError(
                    f"X has {X.shape[1]} features, but the arms of all campaigns have "
                    f"{sum(widths)} columns"
                    + (f", and {len(armless)} campaigns share the rest equally" if armless else "")
                )
            for i in armless:
                widths[i] = left // len(armless)
        self._ends = np.cumsum(widths)
        for i in armless:
            optimizers[i].set_params(arms=np.unique(self._columns(X)[i], axis=0))

    def _checked_costs(self, optimizers: list[BaseArmsOptimizer]) -> list[np.ndarray]:
        """Cost of each arm, one array for each campaign."""
        arms = [optimizer.arms_ for optimizer in optimizers]
        if self.costs is None:
            if any(each.shape[1] != 1 for each in arms):
                raise ValueError(
                    "costs may be left out only where the arms of every campaign have one column, "
                    f"got {[each.shape[1] for each in arms]} columns"
                )
            return [each[:, 0] for each in arms]
        costs = self.costs
        if isinstance(costs, Real):
            return [np.full(len(each), float(costs)) for each in arms]
        if not hasattr(costs, "__len__") or isinstance(costs, (str, bytes, dict, set)):
            raise TypeError(f"costs must be None, a number or arrays of numbers, got {costs!r}")
        each_alike = all(isinstance(each, Real) for each in costs)
        costs = [costs] * len(arms) if each_alike else list(costs)
        if len(costs) != len(arms):
            raise ValueError(
                f"there are costs of {len(costs)} campaigns, but {len(arms)} campaigns"
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

    def _begin(self) -> None:
        """Nothing: the campaigns have begun already."""

    def _condition(self, X: np.ndarray, y: np.ndarray) -> None:
        """Nothing: the campaigns were fitted already."""

    # -- the round ----------------------------------------------------------------------------

    def _choose(self) -> Allocation:
        table = CostTable(self._costs, self.budget)
        excluded = {allocation.indices for allocation in self._pending}
        with self._pending_arms():
            posteriors = [optimizer.posterior() for optimizer in self.optimizers_]
            if all(_adds_up(optimizer) for optimizer in self.optimizers_):
                choice = table.best_but(self._index(posteriors, table), excluded)
            else:
                choice = self._best_by_rule(posteriors, table, excluded)
        if choice is None:
            raise ValueError(
                "all allocations within the budget are pending: tell some of them before asking "
                "for more"
            )
        return self._allocation(choice)

    @contextmanager
    def _pending_arms(self) -> Iterator[None]:
        """Let each campaign know which of its arms are pending."""
        for i, optimizer in enumerate(self.optimizers_):
            optimizer._pending = {allocation.arms[i]: None for allocation in self._pending}
        try:
            yield
        finally:
            for optimizer in self.optimizers_:
                optimizer._pending = {}

    def _allocation(self, choice: np.ndarray) -> Allocation:
        arms = tuple(
            optimizer._arm(int(k)) for optimizer, k in zip(self.optimizers_, choice, strict=True)
        )
        return Allocation(
            arms, np.array([cost[k] for cost, k in zip(self._costs, choice, strict=True)])
        )

    def _index(self, posteriors: list[ArmsPosterior], table: CostTable) -> np.ndarray:
        """Index of every arm of every campaign, end to end, in units of the reward."""
        drawn = [
            self.weights == "allocation"
            and isinstance(optimizer, DAGPUCBOptimizer)
            and not callable(optimizer.weights)
            for optimizer in self.optimizers_
        ]
        weights = self._weights(posteriors, table) if any(drawn) else []
        index = []
        for i, (optimizer, posterior) in enumerate(zip(self.optimizers_, posteriors, strict=True)):
            if drawn[i]:
                uncertainty = optimizer._uncertainty(posterior, weights[i])
                score = posterior.mean + sqrt(optimizer._beta(posterior)) * uncertainty
            else:
                score = optimizer._score(posterior)
            index.append(_in_units_of_reward(optimizer, score))
        return np.concatenate(index)

    def _weights(self, posteriors: list[ArmsPosterior], table: CostTable) -> list[np.ndarray]:
        """P(arm is part of the best allocation) for the arms of each campaign, section 6.3."""
        n_draws = max(getattr(optimizer, "n_draws", 1) for optimizer in self.optimizers_)
        draws = []
        for optimizer, posterior in zip(self.optimizers_, posteriors, strict=True):
            if getattr(optimizer, "weights", None) == "joint":
                values = posterior.draws(n_draws)
            else:
                normals = posterior.rng.standard_normal((n_draws, posterior.n_arms))
                values = posterior.mean + posterior.std * normals
            draws.append(_in_units_of_reward(optimizer, values))
        choices = table.best(np.concatenate(draws, axis=1))
        return [
            np.bincount(choices[:, i], minlength=posterior.n_arms) / n_draws
            for i, posterior in enumerate(posteriors)
        ]

    def _best_by_rule(
        self,
        posteriors: list[ArmsPosterior],
        table: CostTable,
        excluded: set[tuple[int, ...]],
    ) -> np.ndarray | None:
        """Allocation with the best score, among those worth looking at."""
        allocations = AllocationsPosterior(self.optimizers_, posteriors, table)
        free = [tuple(choice) not in excluded for choice in allocations.choices.tolist()]
        free = np.flatnonzero(free)
        if not len(free):
            return table.best_but(allocations.optimism, excluded)
        scores = self.optimizers_[0]._score(allocations)
        return allocations.choices[free[first_maximum(scores[free])]]

    def _best(self) -> Allocation:
        table = CostTable(self._costs, self.budget)
        means = [optimizer.predict_arms() for optimizer in self.optimizers_]
        return self._allocation(table.best(np.concatenate(means)[np.newaxis])[0])

    def _value_of(self, allocation: Allocation) -> float:
        pairs = zip(self.optimizers_, allocation.arms, strict=True)
        return sum(optimizer._value_of(arm) for optimizer, arm in pairs)

    # -- what is told -------------------------------------------------------------------------

    @locked
    def tell(self, query: Any, reward: Any, alpha: Any = None) -> Self:
        """Report the rewards of an allocation; nothing changes if anything is wrong with them.

        An answer is information whatever it has cost: also that of an allocation above the budget
        is taken, with a warning, unless it was asked for when the budget was larger.

        Parameters
        ----------
        query : Allocation, array-like of shape (n_features,), or list of allocations
            What was played: an allocation from :meth:`ask`, in any order, or any other within
            the bounds of the arms, whatever it cost.
        reward : array-like of shape (n_campaigns,), or (n, n_campaigns) for a list
            The noisy answer of each campaign; None for a campaign that gave none.
        alpha : float or array-like of shape (n_campaigns,), default=None
            Noise variances of these answers; None for those of the optimizers. For a list, a
            number or one such entry for each allocation.

        Returns
        -------
        self : CombinatorialBandit

        Warns
        -----
        AllocationWarning
            For an allocation that was not asked for and costs more than ``budget``.
        """
        return super().tell(query, reward, alpha)

    def _take(self, query: Any, target: Any, value: Any, noise: Any) -> None:
        asked = query in self._pending
        super()._take(query, target, value, noise)
        cost = self._cost_of(target)
        if not asked and cost > CostTable(self._costs, self.budget).limit:
            warnings.warn(
                f"an allocation was told that costs {cost:g}, the budget is {self.budget:g}: its "
                "answers were taken, but it will neither be asked for nor be recommended",
                AllocationWarning,
                stacklevel=4,
            )

    def _cost_of(self, target: list[Arm | PointsQuery]) -> float:
        """Cost of what was told, NaN where it is not known: for points that are no arms."""
        cost = 0.0
        for optimizer, query, costs in zip(self.optimizers_, target, self._costs, strict=True):
            slot = optimizer._slot_of(query)
            if slot >= 0:
                cost += costs[slot]
            else:
                cost += float(query.points[0, 0]) if self.costs is None else np.nan
        return cost

    def _checked(self, query: Any, reward: Any, alpha: Any) -> tuple:
        n, rewards = len(self.optimizers_), None
        if reward is not None:
            rewards = check_one_each(reward, n, "reward", "campaigns")
            rewards = [None if each is None else check_reward(each) for each in rewards]
            if all(each is None for each in rewards):
                raise ValueError("reward holds None for every campaign")
        alphas = check_one_each(alpha, n, "alpha", "campaigns", shared=True)
        alphas = [
            optimizer._told_noise() if each is None else check_noise_variance(each)
            for optimizer, each in zip(self.optimizers_, alphas, strict=True)
        ]
        if not isinstance(query, Allocation):
            query = self._as_query(query)
        return query, self._resolve(query), rewards, alphas

    def _checked_list(self, queries: list, rewards: Any, alphas: Any) -> list[tuple]:
        n = len(queries)
        rewards = check_one_each(rewards, n, "reward", "allocations")
        alphas = check_one_each(alphas, n, "alpha", "allocations", shared=True)
        return [self._checked(*each) for each in zip(queries, rewards, alphas, strict=True)]

    def _resolve(self, query: Allocation | PointsQuery) -> list[Arm | PointsQuery]:
        """The query of each campaign."""
        if isinstance(query, Allocation):
            if len(query.arms) != len(self.optimizers_):
                raise ValueError(
                    f"{query} has {len(query.arms)} campaigns, expected {len(self.optimizers_)}"
                )
            parts = list(query.arms)
        else:
            if len(query.points) != 1:
                raise ValueError(f"an allocation is one row, got {len(query.points)}")
            columns = self._columns(query.points)
            parts = [o._as_query(c) for o, c in zip(self.optimizers_, columns, strict=True)]
        return [o._resolve(part) for o, part in zip(self.optimizers_, parts, strict=True)]

    def _update(self, target: list[Arm | PointsQuery], reward: list, alpha: list) -> None:
        self._round += 1
        n = len(self.optimizers_)
        told, slots = np.full((3, n), np.nan), np.full(n, -1, dtype=np.intp)
        boxes = []
        for i, (optimizer, query) in enumerate(zip(self.optimizers_, target, strict=True)):
            slots[i] = optimizer._slot_of(query)
            boxes.append(optimizer._descriptor(query))
            if reward[i] is not None:
                optimizer._update(query, reward[i], alpha[i])
                told[:, i] = optimizer._history[-1][1:4]
        d = [len(box) // 2 for box in boxes]
        lower = np.concatenate([box[:k] for box, k in zip(boxes, d, strict=True)])
        upper = np.concatenate([box[k:] for box, k in zip(boxes, d, strict=True)])
        self._history.append((np.concatenate([lower, upper]), slots, *told))

    def _learning_is_due(self) -> bool:
        return any(optimizer._learning_is_due() for optimizer in self.optimizers_)

    def _learn_or_keep(self) -> None:
        """Each campaign for itself: that one fails to learn does not concern the others."""
        interrupt = None
        for i, optimizer in enumerate(self.optimizers_):
            if not optimizer._learning_is_due():
                continue
            n_events = len(optimizer._log)
            try:
                optimizer._learn_or_keep()
            except BaseException as error:
                interrupt = error
            failures = [event for event in optimizer._log[n_events:] if event[0] == "unlearned"]
            self._log += [(*event, i) for event in failures]
        if interrupt is not None:
            raise interrupt

    @property
    @locked
    def history_(self) -> np.ndarray:
        """Every allocation told since the start, a structured array.

        Fields: ``round`` (from 1), ``descriptor`` (2 n_features,), the box [lower, upper] around
        the arms, a point where they are points, ``choice`` (n_campaigns,), the numbers of the
        arms, -1 for what is none of them, and ``reward``, ``mean`` and ``std``
        (n_campaigns,): the answers, NaN where there was none, and the posterior before them.
        """
        check_is_fitted(self, "bounds_")
        n, d = len(self.optimizers_), self.n_features_in_
        dtype = [
            ("round", np.intp),
            ("descriptor", np.float64, (2 * d,)),
            ("choice", np.intp, (n,)),
            ("reward", np.float64, (n,)),
            ("mean", np.float64, (n,)),
            ("std", np.float64, (n,)),
        ]
        rows = [(i + 1, *row) for i, row in enumerate(self._history)]
        return np.array(rows, dtype=dtype)

    # -- a regressor for the campaigns ----------------------------------------------------------

    def _columns(self, X: np.ndarray) -> list[np.ndarray]:
        """Columns of X (n, n_features) that belong to each campaign."""
        return np.split(X, self._ends[:-1], axis=1)

    @locked
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Posterior of the value of each campaign; campaigns are independent.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Allocations, one a row.
        return_std : bool, default=False
            Whether to return standard deviations as well.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_campaigns)
            Shape (n_samples,) for a single campaign.
        std : ndarray of the same shape, only if ``return_std``
        """
        check_is_fitted(self, "bounds_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        moments = [
            optimizer.predict(columns, return_std=True)
            for optimizer, columns in zip(self.optimizers_, self._columns(X), strict=True)
        ]
        mean, std = (np.column_stack(each) for each in zip(*moments, strict=True))
        if len(self.optimizers_) == 1:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean


class AllocationsPosterior:
    """Posterior of the allocations worth looking at, in the place of an :class:`ArmsPosterior`.

    Their totals are normal with the sums of the campaigns' means and variances. They are in units
    of the first optimizer's surrogate, whose rule is asked.
    """

    def __init__(
        self,
        optimizers: list[BaseArmsOptimizer],
        posteriors: list[ArmsPosterior],
        table: CostTable,
    ) -> None:
        scales = [optimizer.surrogate_.process_.scale for optimizer in optimizers]
        pairs = list(zip(scales, posteriors, strict=True))
        mean = np.concatenate(
            [_in_units_of_reward(o, p.mean) for o, p in zip(optimizers, posteriors, strict=True)]
        )
        std = np.concatenate([scale * posterior.std for scale, posterior in pairs])
        noise = np.concatenate([scale**2 * posterior.noise for scale, posterior in pairs])
        drawn = np.concatenate(
            [
                _in_units_of_reward(o, p.draws(N_DRAWN))
                for o, p in zip(optimizers, posteriors, strict=True)
            ],
            axis=1,
        )
        # A variance relative to the largest deviation, so that both spreads have the same unit.
        relative = std**2 / std.max() if std.max() > 0.0 else std
        fronts = [mean + FACTORS[:, None] * spread for spread in (std, relative)]
        self.choices = np.unique(table.best(np.concatenate([*fronts, drawn])), axis=0)
        columns = table.starts[:-1] + self.choices
        self.optimism = mean + std
        self.t = posteriors[0].t
        self.rng = posteriors[0].rng
        unit, zero = scales[0], optimizers[0].surrogate_.process_.offset
        self.mean = (mean[columns].sum(axis=1) - zero) / unit
        self.var = (std**2)[columns].sum(axis=1) / unit**2
        self.std = np.sqrt(self.var)
        self.noise = noise[columns].sum(axis=1) / unit**2
        # The best allocation of every draw is among the choices: its maximum is exact.
        self._drawn = (drawn[:, columns].sum(axis=2) - zero) / unit

    @property
    def n_arms(self) -> int:
        """Number of allocations."""
        return len(self.choices)

    def draws(self, n_draws: int) -> np.ndarray:
        """Joint draws, shape (n_draws, n_arms), the same again beyond the first 256."""
        return self._drawn[np.arange(n_draws) % N_DRAWN]


def _adds_up(optimizer: BaseArmsOptimizer) -> bool:
    """Whether scores are values of f, optimistic or drawn, that may be added over campaigns."""
    return isinstance(optimizer, BaseUCBOptimizer)


def _in_units_of_reward(optimizer: BaseArmsOptimizer, values: np.ndarray) -> np.ndarray:
    gp = optimizer.surrogate_.process_
    return values * gp.scale + gp.offset

"""The multiple-choice knapsack: one arm of each campaign, the most value within a budget."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgpb._core import _knapsack
from skgpb._core._tree import TIE_TOLERANCE
from skgpb.utils import Real, check_numbers

# Rounding: costs that differ by less than this share of the budget are equal: 0.1 + 0.2 does not
# exceed 0.3.
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
        If even the cheapest arms of all campaigns exceed the budget.

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
        self,
        values: NDArray[np.float64],
        excluded: set[tuple[int, ...]],
        allowed: NDArray[np.bool_],
    ) -> NDArray[np.intp] | None:
        """Return the best choice of allowed arms that is not excluded, or None.

        Values and whether an arm is allowed have shape (n_arms,).

        The best of what remains is found by Lawler's partition: the choices other than a given
        one are those that agree with it on the first i campaigns and differ on the next.
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
        """Put the best choice of a part into the queue, if the part has one."""
        cheapest = np.minimum.reduceat(np.where(allowed, self.flat, np.inf), self.starts[:-1])
        if cheapest.sum() <= self.limit:
            choice = self.best(values[np.newaxis], allowed)[0]
            total = values[self.starts[:-1] + choice].sum()
            heapq.heappush(queue, (-total, tuple(choice.tolist()), choice, allowed, i))


def costs_of_arms(costs: Any, arms: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Resolve ``costs`` of a bandit: the cost of each arm, one array for each campaign."""
    if costs is None:
        if any(each.shape[1] != 1 for each in arms):
            raise ValueError(
                "costs may be left out only where the arms of every campaign have one column, "
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
        raise ValueError(f"there are costs of {len(costs)} campaigns, but {len(arms)} campaigns")
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

"""Costs and noise variances of answers: numbers for each query or size, or functions of a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
from skgpb.domains.indirect import IndirectQuery, QuerySet, QueryTree
from skgpb.domains.query import PointsQuery
from skgpb.utils import check_callable_value, check_numbers

#: Format: parameters that may differ between queries: what stands for None, which is also the least
#: that a number is above, or 0 for one that may be 0.
DEFAULTS = {"cost": 1.0, "alpha": 0.0}


def differs(alpha: Any) -> bool:
    """Return whether noise variances differ between queries."""
    if alpha is None or isinstance(alpha, float):  # a round asks nine times
        return False
    return np.ndim(alpha) > 0


@dataclass
class CostModel:
    """Costs and noise variances of the queries of a set.

    Parameters
    ----------
    queries : ArmSet
        The set. Where it stands for all of some sizes there is a number for each of these.
    cost, alpha : number, array-like or None
        As the user gave them. In a box of points the cost may be a function of a setting.
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
        """Cost of the cheapest answer; 0 where it is not known."""
        return 0.0 if self._costs is None else float(self._costs.min())

    @property
    def of_groups(self) -> np.ndarray:
        """Costs of queries, or of the sizes of cells."""
        assert self._costs is not None  # a function is for points, which have no groups
        return self._costs

    @property
    def typical_noise(self) -> float | None:
        """Return a typical noise variance; None if only one is given."""
        return None if self._alphas is None else float(np.median(self._alphas))

    def of_round(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the costs of all queries and what noise is expected of their answers.

        Parameters
        ----------
        level : float
            The usual noise variance.

        Returns
        -------
        costs : ndarray of shape (n_queries,)
        noises : ndarray of shape (n_queries,)
            Noise variances.
        """
        if self._costs is None:
            costs = np.array([self._cost_at(place) for place in self.queries.every_place()])
        else:
            costs = self.queries.per_query(self._costs)
        if self._alphas is None:
            return costs, np.full(len(costs), level)
        return costs, self.queries.per_query(self._alphas)

    # -- of one query ---------------------------------------------------------------------------

    def cost_of(self, query: Arm | PointsQuery) -> float:
        """Return the cost of an answer to a query; 0 if it is none of the queries."""
        if self._costs is None:
            return self._cost_at(query.points[0])
        found = self._of(query, self._costs)
        return 0.0 if found is None else found

    def noise_of(self, query: Arm | PointsQuery, level: float) -> float:
        """Noise variance that is expected of an answer; ``level`` is the usual one."""
        found = None if self._alphas is None else self._of(query, self._alphas)
        return level if found is None else found

    def _cost_at(self, point: np.ndarray) -> float:
        """Return what the user's function says of a point, or of its setting."""
        space = self.queries.space
        cost = check_callable_value(
            self.cost, point if space is None else space.setting(point), "cost"
        )
        if not cost:
            raise ValueError("cost must be above 0 everywhere, got a function that returns 0")
        return cost

    def _of(self, query: Arm | PointsQuery, numbers: np.ndarray) -> float | None:
        """Return the number of a query, given those of the kinds; None if there is none."""
        kind = self.queries.cost_group(query)
        return float(numbers[kind]) if kind >= 0 else None

    # -- what was given -------------------------------------------------------------------------

    def _numbers(self, name: str, given: Any) -> np.ndarray:
        """Check a parameter with a number for every query, or for every size of cells."""
        queries, default = self.queries, DEFAULTS[name]
        n = queries.n_cost_groups
        if given is None:
            return np.full(n, default)
        numbers = check_numbers(given, name, ensure_2d=False)
        if numbers.shape != (n,) or not (numbers >= 0.0).all() or (default and not numbers.all()):
            least = "above 0" if default else ">= 0"
            raise ValueError(
                f"{name} must have one finite number {least} for each {queries.kind}, {n} of them; "
                f"got {given!r}"
            )
        return numbers.astype(np.float64)


class QueryPrices:
    """Costs and noise variances of the queries of a set, as a search reads them.

    Parameters
    ----------
    queries : QuerySet or QueryTree
        The set; it knows the costs.
    alpha : float, callable or None
        Noise variance of an answer; a callable takes what the set says of a query.
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
        """Return a lower bound on the cost of an answer."""
        return self._queries.least_cost

    @property
    def typical_noise(self) -> float | None:
        """The smallest noise variance; None if only one is given."""
        return None if self._noises is None else float(self._noises.min())

    def of_round(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Costs of all candidates, and noise variances of their answers.

        ``level`` is the usual noise variance.
        """
        costs = self._queries.costs
        return costs, np.full(len(costs), level) if self._noises is None else self._noises

    def cost_of(self, query: IndirectQuery) -> float:
        """Return the cost of an answer to a query."""
        return query.cost

    def noise_of(self, query: IndirectQuery, level: float) -> float:
        """Noise variance that is expected of an answer; ``level`` is the usual one."""
        return level if self._alpha is None else self._noise_at(self._queries.argument(query))

    def _noise_at(self, argument: Any) -> float:
        return check_callable_value(self._alpha, argument, "alpha")

"""Costs and noise variances of answers: one number for each query or size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skgpb.domains.arms import Arm, ArmSet
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

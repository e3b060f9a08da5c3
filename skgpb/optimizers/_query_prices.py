"""Costs and noise variances of indirect queries: numbers, or functions of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skgpb.domains.indirect import IndirectQuery, QuerySet, QueryTree
from skgpb.utils import check_callable_value


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

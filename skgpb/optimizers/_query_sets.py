"""What indirect-query methods share that ask rows of a finite set or of a box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import Kernel

from skgpb._core._tree import TIE_TOLERANCE
from skgpb.acquisition.maximise import best_apart, maximise_in_box
from skgpb.domains.candidates import points_in
from skgpb.domains.indirect import IndirectQuery, QuerySet
from skgpb.kernels import ConditionalMean, PolicyMean, WindowMean
from skgpb.optimizers._indirect import BaseIndirectOptimizer
from skgpb.utils import (
    MOST_POINTS,
    Integral,
    Interval,
    box_around,
    check_callable_value,
    check_numbers,
    check_resolution,
)


class BaseQuerySetOptimizer(BaseIndirectOptimizer[IndirectQuery]):
    """Ask the best of finitely many queries, or of a box of them by a local search."""

    _query_type = IndirectQuery

    _queries: QuerySet

    _parameter_constraints: dict = {
        "queries": "no_validation",
        "n_candidates": [Interval(Integral, 1, MOST_POINTS, closed="both")],
        "continuous": ["boolean"],
        "cost": "no_validation",
    }

    def _make_queries(self, kernel: Kernel, A: np.ndarray | None) -> QuerySet:
        """Candidates (m, q), and the box around them where queries are continuous."""
        box = None
        if self.queries is not None:
            rows = check_numbers(self.queries, "queries")
        elif self.query_bounds is not None:
            box = self._query_box
        elif isinstance(kernel, PolicyMean) and not callable(kernel.policies):
            rows = np.arange(len(np.asarray(kernel.policies)), dtype=np.float64)[:, None]
        elif A is not None:
            box = box_around(A)
        elif isinstance(kernel, ConditionalMean):
            box = box_around(check_numbers(kernel.A, "A"))
        elif (
            isinstance(kernel, WindowMean) and kernel.location is None and kernel.scale is not None
        ):
            box = self.bounds_
        else:
            raise NotFittedError(
                f"This {type(self).__name__} instance does not know what can be asked: pass "
                "queries= or query_bounds= to the constructor."
            )
        if box is not None:
            check_resolution(box, "the box of queries")
            rows, _ = points_in(box, self.n_candidates)
        return QuerySet(rows, self.cost, box, self._space_of(box))

    def _spread_query(self, n: int, known: list[np.ndarray]) -> IndirectQuery | None:
        return self._queries.first_query(n, known, self._seed)

    def _alphas(self, A: np.ndarray | None) -> np.ndarray:
        """Noise variances (n,) of answers to rows A (n, q), or to the candidates."""
        if self._noises is None:
            return np.full(len(self._queries if A is None else A), self.alpha_)
        if A is None:
            return self._noises
        return np.array([check_callable_value(self.alpha, a, "alpha") for a in A])

    def _per_cost(self, value: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Score per unit cost."""
        return value / cost

    def _most_valuable(self, score: Callable, search: bool = True) -> IndirectQuery:
        """The query of the highest score per unit cost, of those that are not pending.

        ``score`` takes rows A (n, q), or None for the candidates, and returns values (n,). With
        ``search`` the best candidates of a box are improved.
        """
        queries = self._queries

        def objective(A: np.ndarray | None) -> np.ndarray:
            return self._per_cost(score(A), queries.costs_of(A))

        value = objective(None)
        free = np.ones(len(value), dtype=bool)
        free[[query.index for query in self._pending if query.index >= 0]] = False
        if free.any():
            value[~free] = -np.inf
        if search and self.continuous and queries.box is not None:
            starts = queries.rows[best_apart(queries.rows, value, queries.box)]
            a, top = maximise_in_box(objective, starts, queries.box)
            if top > value.max() and not any(np.array_equal(a, each.a) for each in self._pending):
                return queries.query_at(a)
        if not free.any():
            raise ValueError(
                f"all {len(value)} queries are pending: tell some of them before asking for more"
            )
        # Before anything is known all queries tie; one in the middle beats one in a corner.
        ties = np.flatnonzero(value >= value.max() - TIE_TOLERANCE)
        return queries.query(queries.most_central(ties, TIE_TOLERANCE))

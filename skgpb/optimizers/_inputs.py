"""Checks of the arguments of ``tell`` that are not queries of the optimizer, or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, SupportsFloat, TypeAlias

import numpy as np

from skgpb.domains.query import PointsQuery, Query
from skgpb.domains.space import ParameterSpace, equal
from skgpb.utils import check_inside, check_numbers, check_one_each, is_sequence

#: Rewards and their noise, for type checkers: a number, which a text is not, one for each of
#: several queries or of their parts, or covariances of these. None where there is none.
Number: TypeAlias = SupportsFloat | None
Numbers: TypeAlias = Number | Iterable[Number | Iterable[Number | Iterable[Number]]]


class TellInputs:
    """Further arguments that ``tell`` accepts besides a query and its reward."""

    # Attributes of the class that it is mixed into.
    space_: ParameterSpace | None
    bounds_: np.ndarray
    n_features_in_: int
    _pending: dict[Any, int | None]
    _checked: Any
    _named: Any
    _rows_asked: Any
    _in_coordinates: str

    #: Dimensions of the reward of one query.
    _reward_ndim: ClassVar[int] = 0

    def _rows_told(self, query: Any, rewards: Any) -> list[Any] | None:
        """Return points that have one reward each; None for a single query."""
        reward = rewards
        for _ in range(self._reward_ndim):
            reward = next(iter(reward), None) if is_sequence(reward) else None
        if not is_sequence(reward) or isinstance(query, (Query, Mapping)):
            return None
        rows = check_numbers(self._rows_asked(query), "query", ensure_2d=False)
        if rows.ndim == 1 and len(rows) == len(rewards):
            rows = rows[:, np.newaxis]
        if rows.ndim == 2 and len(rows) > 1 == len(rewards):
            return None  # the average over all of them, in an array
        return list(rows) if rows.ndim == 2 else [rows]

    def _checked_list(self, queries: list[Any], rewards: Any, alphas: Any) -> list[tuple[Any, ...]]:
        n = len(queries)
        rewards = check_one_each(rewards, n, "reward", "queries")
        alphas = check_one_each(alphas, n, "alpha", "queries", shared=True)
        return [self._checked(*each) for each in zip(queries, rewards, alphas, strict=True)]

    def _as_query(self, points: Any) -> Any:
        """Return the pending query with these points, or else the points themselves."""
        if self.space_ is not None and isinstance(points, Mapping):
            return self._query_of(self.space_, points)
        if self.space_ is not None:
            self.space_.check_no_values(points)
        check_unnamed(points)
        points = np.atleast_2d(check_numbers(points, "query", ensure_2d=False))
        if points.ndim != 2 or points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"a query must be one of this optimizer's queries or points of shape "
                f"({self.n_features_in_},) or (S, {self.n_features_in_}); got {points.shape}. "
                f"Data that exist are told at once: tell(X, y) or fit(X, y) with X of shape "
                f"(n, {self.n_features_in_}) and one y for each row"
            )
        for query in self._pending:
            if np.array_equal(query.points, points):
                return query
        check_inside(points, self.bounds_, self._in_coordinates)
        return self._named(PointsQuery(points))

    def _query_of(self, space: ParameterSpace, setting: Mapping[str, Any]) -> Any:
        """Return the pending query that a setting or ``params`` stand for, or else its point."""
        for query in self._pending:
            if equal(query.params, setting):
                return query
        point = space.point(setting)
        for query in self._pending:
            if len(query.points) == 1 and space.is_at(query.points[0], point):
                return query
        return self._named(PointsQuery(point[None]))


def check_unnamed(query: Any) -> None:
    """Raise ValueError for a query by names if the sides have no names."""
    if isinstance(query, Mapping):
        raise ValueError(
            f"a query must be points where the sides have no names, got {dict(query)!r}: pass "
            "bounds={name: (lower, upper), ...} to the constructor"
        )

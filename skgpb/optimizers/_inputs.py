"""Checks of the arguments of ``tell`` that are not queries of the optimizer, or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsFloat, TypeAlias

import numpy as np

from skgpb.domains.query import Query
from skgpb.domains.space import Coordinates, ParameterSpace, equal, in_coordinates
from skgpb.utils import check_numbers, is_sequence

#: Rewards and their noise, for type checkers: a number, which a text is not, one for each of
#: several queries or of their parts, or covariances of these. None where there is none.
Number: TypeAlias = SupportsFloat | None
Numbers: TypeAlias = Number | Iterable[Number | Iterable[Number | Iterable[Number]]]


def rows_told(
    query: Any, rewards: Any, n_dims: int, rows_asked: Callable[[Any], Any]
) -> list[Any] | None:
    """Return points that have one reward each; None for a single query.

    The reward of one query has ``n_dims`` dimensions, and ``rows_asked`` makes rows of settings.
    """
    reward = rewards
    for _ in range(n_dims):
        reward = next(iter(reward), None) if is_sequence(reward) else None
    if not is_sequence(reward) or isinstance(query, (Query, Mapping)):
        return None
    asked = rows_asked(query)
    rows = check_numbers(asked, "query", ensure_2d=False)
    if rows.ndim == 1 and len(rows) == len(rewards):
        rows = rows[:, np.newaxis]
    if rows.ndim == 2 and len(rows) > 1 == len(rewards):
        return None  # the average over all of them, in an array
    if isinstance(asked, Coordinates):
        rows = in_coordinates(rows)
    return list(rows) if rows.ndim == 2 else [rows]


def query_at(
    points: Any, space: ParameterSpace | None, d: int, pending: Iterable[Query]
) -> Query | np.ndarray:
    """Return the pending query with these points, or else the points, checked.

    Where sides have names these are settings, or the ``params`` of a query.
    """
    if space is None:
        check_unnamed(points)
        same: Callable[[Any, Any], bool] = np.array_equal
    else:
        for query in pending if isinstance(points, Mapping) else ():
            if equal(query.params, points):
                return query
        points, same = space.points(points), space.is_at
    points = np.atleast_2d(check_numbers(points, "query", ensure_2d=False))
    if points.ndim != 2 or points.shape[1] != d:
        raise ValueError(
            f"a query must be one of this optimizer's queries or points of shape "
            f"({d},) or (S, {d}); got {points.shape}. "
            f"Data that exist are told at once: tell(X, y) or fit(X, y) with X of shape "
            f"(n, {d}) and one y for each row"
        )
    for query in pending:
        if query.points.shape == points.shape and same(query.points, points):
            return query
    return points


def check_unnamed(query: Any) -> None:
    """Raise ValueError for a query by names if the sides have no names."""
    if isinstance(query, Mapping):
        raise ValueError(
            f"a query must be points where the sides have no names, got {dict(query)!r}: pass "
            "bounds={name: (lower, upper), ...} to the constructor"
        )

"""Conversion of user input: names of sides, sign of rewards, contexts, queries and answers.

The environment chooses a context before each query. The model has rows [context, action], so that
an answer in one context is informative about the others. With GP-UCB this is CGP-UCB [Krause2011]_.

References
----------
.. [Krause2011] A. Krause and C. S. Ong, "Contextual Gaussian process bandit optimization",
   NIPS 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat, TypeAlias

import numpy as np

from skgpb.domains.indirect import IndirectQuery
from skgpb.domains.query import PointsQuery, Query, Region
from skgpb.domains.space import Coordinates, ParameterSpace, as_coordinates, equal, named_box
from skgpb.utils.validation import (
    check_bounds,
    check_columns,
    check_inside,
    check_numbers,
    check_one_each,
    column_names,
    is_sequence,
    keyed,
    row_message,
)

# -- Names of sides, and the sign of rewards -------------------------------------------------------


class Sign:
    """Turns what is to be small into what is to be large, and back: both change the sign.

    Parameters
    ----------
    minimizes : bool
        Whether small rewards are sought.
    """

    def __init__(self, minimizes: bool) -> None:
        self._minimizes = minimizes

    def of(self, values: Any) -> Any:
        """Convert rewards to the maximised values, or back."""
        return -values if self._minimizes else values

    def of_moments(self, moments: Any) -> Any:
        """Convert a mean, or a mean and what follows it."""
        if isinstance(moments, tuple):
            return self.of(moments[0]), *moments[1:]
        return self.of(moments)

    def of_ends(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Convert the ends of intervals."""
        return (-upper, -lower) if self._minimizes else (lower, upper)


def checked_space(
    bounds: Any, name: str, optimizer: str, sides: str, keeps_settings: bool = False
) -> ParameterSpace | None:
    """Return the settings of one box, refusing sides that the algorithm cannot search.

    ``sides`` are those that it can: "continuous" ones, or "any" (integers, categories).
    ``keeps_settings`` says whether what it asks and recommends are settings that can be set and are
    possible.
    """
    space = named_box(bounds, name)
    if space is None:
        return None
    if not keeps_settings:
        check_settings(space, bounds, name, optimizer)
    # A cube of settings has continuous sides, whatever they stand for.
    for side, axis in space.axes:
        if axis.discrete and space.discrete and sides == "continuous":
            raise ValueError(
                f"{name}[{side!r}] must be a pair (lower, upper) or a continuous distribution "
                f"for {optimizer}, got {bounds[side]!r}. For integers and categories "
                "use GPUCBOptimizer or GPOOOptimizer"
            )
    return space


def check_settings(space: ParameterSpace, bounds: Any, name: str, optimizer: str) -> None:
    """Refuse constraints and steps if a query could violate them."""
    what = "constraints" if space.feasible is not None else "Steps"
    if what == "constraints" or any(axis.stepped for _, axis in space.axes):
        raise ValueError(
            f"{name} must have no {what}: {optimizer} might ask or recommend a "
            "setting that violates them. Use GPUCBOptimizer, EIOptimizer or another optimizer "
            f"that searches a box by candidates, with bounds alone. Got {bounds!r}"
        )


def joint_space(
    contexts: ParameterSpace | None,
    actions: ParameterSpace | None,
    context_bounds: Any,
    bounds: Any,
) -> ParameterSpace | None:
    """Return the names of all sides, first those of contexts; None if they have none."""
    if context_bounds is not None and (actions is None) != (contexts is None):
        raise ValueError("give the sides of both context_bounds and bounds names, or of neither")
    if actions is None or contexts is None:
        return actions
    if not set(bounds).isdisjoint(context_bounds):
        raise ValueError("the sides of context_bounds and bounds must have different names")
    return ParameterSpace.from_bounds({**context_bounds, **bounds})


def coordinates(bounds: Any, space: ParameterSpace | None, name: str) -> np.ndarray | None:
    """Return bounds as an array (d, 2), or None."""
    if space is not None:
        return space.bounds
    return None if bounds is None else check_bounds(bounds, name)


# -- Contexts --------------------------------------------------------------------------------------


class NoContexts:
    """Of a search in which no context is given: false, and refuses any.

    Parameters
    ----------
    optimizer : str
        The name of its class.
    parameters : collection of str
        Its parameters.
    """

    def __init__(self, optimizer: str, parameters: Collection[str]) -> None:
        self._optimizer, self._parameters = optimizer, parameters

    def __bool__(self) -> bool:
        return False

    def checked(self, context: Any) -> None:
        """Raise ValueError if a context, or several, are given anyway."""
        if context is not None:
            known = "context_bounds" in self._parameters
            none = "these are None" if known else f"{self._optimizer} has none"
            raise ValueError(
                f"context is for optimizers with context_bounds, and {none}: {context!r}"
            )

    def of(self, query: Any) -> None:
        """Return the context of a query: none."""


class Contexts:
    """The box of contexts of a run.

    Parameters
    ----------
    bounds : ndarray of shape (d_c, 2)
        The box.
    space : ParameterSpace or None
        Names of its sides; None if they have none.
    """

    def __init__(self, bounds: np.ndarray, space: ParameterSpace | None) -> None:
        self.bounds = bounds
        self.space = space

    def of(self, query: Any) -> np.ndarray:
        """Return the context in which a query was chosen."""
        return self.checked(as_coordinates(query.context))

    def checked(self, context: Any) -> np.ndarray:
        """Return the point (d_c,) that a context stands for, or raise ValueError.

        A context that the library has kept is Coordinates.
        """
        if context is None:
            raise ValueError(
                "context must be given if there are context_bounds, got None: pass context=..."
            )
        if self.space is not None:
            rows = np.atleast_2d(self.space.points(context))
            if len(rows) != 1:
                raise ValueError(f"context must be a single context, got {len(rows)}")
            context = rows[0]
        context = np.atleast_1d(check_numbers(np.atleast_1d(context), "context", ensure_2d=False))
        if context.shape != (len(self.bounds),):
            raise ValueError(f"context must have shape ({len(self.bounds)},), got {context.shape}")
        context = check_inside(context[None], self.bounds)[0]
        if self.space is not None:
            context = self.space.snap(context[None])[0]
        return context + 0.0  # -0.0 and 0.0 are one context

    def all_checked(self, contexts: Any) -> list[np.ndarray]:
        """Check the contexts of a run, in the order in which they arrive."""
        if contexts is None:
            raise ValueError(
                "contexts must be given if there are context_bounds, got None: "
                "run(objective, contexts=[...])"
            )
        if self.space is not None:
            contexts = self.space.points(contexts)
        given = check_numbers(contexts, "contexts", ensure_2d=False)
        rows = [self.checked(as_coordinates(np.atleast_1d(row))) for row in given]
        if not rows:
            raise ValueError("contexts must hold at least one context")
        return rows


# -- Queries, points and answers -------------------------------------------------------------------

#: Rewards and their noise, for type checkers: a number, which a text is not, one for each of
#: several queries or of their parts, or covariances of these. None where there is none.
Number: TypeAlias = SupportsFloat | None
Numbers: TypeAlias = Number | Iterable[Number | Iterable[Number | Iterable[Number]]]


@dataclass(eq=False)
class Inputs:
    """What users give to a search that has begun, at this moment.

    Parameters
    ----------
    domain : object
        All queries; None if the search has no set of them.
    space : ParameterSpace or None
        Names of the sides; None if they have none.
    bounds : ndarray of shape (d, 2)
        The box.
    pending : collection of queries
        Queries without an answer, which points or settings may stand for.
    validate : callable
        Checks points (n, d), or a table of them, as the estimator does.
    names : list of str or None
        Names of the columns of the first table, in a box whose sides have no names.
    others : container
        What may be predicted although it cannot be asked.
    kind : type
        Class of the queries that the search makes.
    """

    domain: Any
    space: ParameterSpace | None
    bounds: np.ndarray
    pending: Collection[Any]
    validate: Callable[[Any], np.ndarray]
    names: Any
    others: Any
    kind: type[Query]

    def check_sides(self, query: Query) -> None:
        """Raise ValueError for a query of another search whose sides mean something else."""
        check_sides(query, self._sides)

    @property
    def _sides(self) -> ParameterSpace | None:
        """Names of the sides of a query."""
        return self.space

    def names_in(self, X: Any) -> list[str] | None:
        """Return the names of the features, if these are the columns of X, or None."""
        names = None if self.space is not None else column_names(X)
        return names if names is not None and len(names) == len(self.bounds) else None

    def points(self, X: Any) -> np.ndarray:
        """Check points at which something is to be known, shape (n, d)."""
        check_columns(X, self.names)
        return self.validate(points_of(X, self.space))

    def rows(self, X: Any) -> Any:
        """Rows of queries that settings stand for; what has no names is returned as it is."""
        check_columns(X, self.names)
        if self.space is None and hasattr(X, "columns"):
            return check_numbers(X, "query")
        return points_of(X, self.space)

    def named(self, query: Any) -> Any:
        """Let a query that was not made by the domain know the names of its sides."""
        return query.with_names(self.space)

    def query(self, points: Any) -> Any:
        """Return the pending query with these points, or else the points themselves."""
        told = None
        check_columns(points, self.names)
        if isinstance(points, Query):
            self.check_sides(points)
        if isinstance(points, PointsQuery):
            arguments = (getattr(points, name) for name in points.arguments)
            told = self.named(type(points)(*arguments))
            points = as_coordinates(told.points)
        query = query_at(points, self.space, len(self.bounds), self.pending)
        if isinstance(query, Query):
            return query
        if isinstance(told, Region):  # it says more than its points
            check_inside(np.stack([told.lower, told.upper]), self.bounds)
            return told
        return self.named(PointsQuery(check_inside(query, self.bounds)))

    def resolved(self, query: Any) -> Any:
        """Return a query, or raise ValueError if it is not one of the domain."""
        self.check_sides(query)
        if query not in self.pending and not isinstance(query, PointsQuery):
            self.domain.resolve(query)
        return query

    def each(self, queries: Any) -> Any:
        """Return one query or several, or rows of points, as a sequence."""
        if isinstance(queries, Query):
            return [queries]
        if isinstance(queries, list | tuple) and any(isinstance(q, Query) for q in queries):
            return queries
        return self.rows(queries)

    def queries(self, queries: Any) -> list[Any]:
        """Check the argument of ``predict_query``, one query or several, or points."""
        checked: list[Any] = []
        for each in self.each(queries):
            known = isinstance(each, (self.kind, PointsQuery))
            query = each if known or issubclass(self.kind, type(each)) else self.query(each)
            if query in self.others:
                check_sides(query, self.space)
                checked.append(query)
            else:
                checked.append(self.resolved(query))
        return checked

    def told(
        self, query: Any, reward: Any, alpha: Any, n_dims: int, check: Callable[..., Any]
    ) -> list[Any]:
        """Check one answer, or one to each of several queries.

        The reward of one query has ``n_dims`` dimensions, and ``check`` takes it with the query and
        its noise.
        """
        if isinstance(query, list) and query and isinstance(query[0], (Query, Mapping)):
            return checked_each(query, reward, alpha, check)
        if not isinstance(reward, float):
            rows = rows_told(query, reward, n_dims, self.rows)
            if rows is not None:
                return checked_each(rows, reward, alpha, check)
        return [check(query, reward, alpha)]


class SetInputs(Inputs):
    """Those of a search over sets, whose members may have names, or belong to one of several f."""

    def rows(self, X: Any) -> Any:
        """Return rows; the last number may be that of the function."""
        if self.space is None or self.domain.layout.task_column != 0.0:
            return super().rows(X)
        return self.space.rows(X)

    def query(self, points: Any) -> Any:
        """Return the query that has this name, or these points."""
        if isinstance(points, str) and self.domain.names is not None:
            return self._named_arm(points)
        if self.domain.layout.task_column == 0.0 and not isinstance(points, Mapping):
            if self.space is not None and not isinstance(points, Coordinates):
                rows = self.space.rows(np.atleast_2d(points))
                points = rows[0] if np.ndim(points) == 1 else rows
            found = self.domain.query_from_values(check_numbers(points, "query", ensure_2d=False))
            if found is not None:
                return found
        return super().query(points)

    def told(
        self, query: Any, reward: Any, alpha: Any, n_dims: int, check: Callable[..., Any]
    ) -> list[Any]:
        """Check answers to queries, which may be told by their names."""
        if self.domain.names is not None and not isinstance(query, str):
            names = np.asarray(query) if isinstance(query, list | tuple | np.ndarray) else None
            if names is not None and names.dtype.kind == "U":
                query = [self._named_arm(name) for name in names.ravel().tolist()]
        return super().told(query, reward, alpha, n_dims, check)

    def _named_arm(self, name: str) -> Any:
        """Return the query that is called so."""
        if self.domain.layout.n_context:
            raise ValueError(
                f"{name!r} needs a context, because there are context_bounds: pass a query of "
                "ask(context=...), or domain_.with_context(context).named_arm(name)"
            )
        return self.domain.named_arm(name)


class IndirectInputs(Inputs):
    """Those of a search by indirect queries, whose sides have other names than those of x."""

    def names_in(self, X: Any) -> None:
        """Return None: a table of queries has no column for x."""

    def rows(self, X: Any) -> Any:
        """Rows of queries that settings stand for."""
        return X if self.domain.space is None else self.domain.space.rows(X)

    @property
    def _sides(self) -> ParameterSpace | None:
        return self.domain.space

    def named(self, query: Any) -> Any:
        """Let a query know the names of its sides."""
        return query.with_names(self.domain.space)

    def query(self, points: Any) -> IndirectQuery:
        """Return the query with these numbers or settings."""
        if isinstance(points, Query):
            self.check_sides(points)
        space = self.domain.space
        if space is None:
            check_unnamed(points)
        else:
            points = query_at(points, space, space.n_axes, self.pending)
            if isinstance(points, IndirectQuery):
                return points
        return self.domain.find(points, self.pending)

    def numbers(self, query: Any) -> Any:
        """Return the numbers of a query, or of a point that may be asked about as well."""
        if not isinstance(query, Query):
            return query
        self.check_sides(query)
        return query.a if isinstance(query, IndirectQuery) else np.ravel(query.points)


class AllocationInputs(Inputs):
    """Those of a search over allocations."""

    @property
    def campaigns(self) -> list[str]:
        """Names of the campaigns; where they have none, those of the columns of the first table."""
        n = len(self.domain.campaigns)
        names = self.names if self.domain.names is None else self.domain.names
        if names is None or len(names) != n:
            return [f"campaign_{i}" for i in range(n)]
        return list(names)

    def of_campaigns(self, values: Any, what: str) -> Any:
        """Return the entries of a dict or a table in the order of the campaigns."""
        return in_order(values, self.campaigns, what, self.domain.names is not None)

    def told(
        self, query: Any, reward: Any, alpha: Any, n_dims: int, check: Callable[..., Any]
    ) -> list[Any]:
        """Check answers of campaigns, which may be given by their names."""
        reward, alpha = self.of_campaigns(reward, "reward"), self.of_campaigns(alpha, "alpha")
        return super().told(query, reward, alpha, n_dims, check)

    def query(self, points: Any) -> Any:
        """Return the allocation, or the row of arms of all campaigns."""
        query = super().query(points)
        if len(query.points) != 1:
            raise ValueError(f"an allocation is one row, got {len(query.points)}")
        return query


def in_order(values: Any, names: Sequence[str], what: str, strict: bool = True) -> Any:
    """Return the values that a dict, a row or a table has for campaigns, in their order.

    Parameters
    ----------
    values : object
        A dict or a row of a table gives a list, a table or a dict of columns a list of lists with
        None for what is missing. Anything else is returned unchanged.
    names : sequence of str
        Names of the campaigns.
    what : str
        Name of the parameter, for messages.
    strict : bool, default=True
        Whether columns with other names are refused; otherwise they are in the order of campaigns.
    """
    values = keyed(values, names)
    if hasattr(values, "columns"):
        labels = column_names(values)
        if labels is None or (not strict and set(labels) != set(names)):
            labels = list(values.columns)
            names = labels if len(labels) == len(names) else names
    elif isinstance(values, Mapping):
        labels = list(values)
    else:
        return values
    if len(labels) != len(names) or set(labels) != set(names):
        raise ValueError(
            f"{what} must have an entry for each of the campaigns {list(names)}, got {labels}"
        )
    columns = [values[name] for name in names]
    if not any(map(is_sequence, columns)):
        return columns
    n = len(columns[0])
    return [
        list(row)
        for row in zip(*(check_one_each(each, n, what, "rows") for each in columns), strict=True)
    ]


def check_sides(query: Query, space: ParameterSpace | None) -> None:
    """Raise ValueError for a query whose points are other settings on the sides of a space."""
    if not query.is_compatible_with(space):
        raise ValueError(
            f"{query!r} was made for other sides: pass its params, or its points where sides "
            "have no names, in the units of this search"
        )


def points_of(X: Any, space: ParameterSpace | None) -> Any:
    """Convert settings to points of the box; inputs without names are returned unchanged."""
    return X if space is None else space.points(X)


def checked_each(
    queries: list[Any], rewards: Any, alphas: Any, check: Callable[..., Any]
) -> list[Any]:
    """Check one answer to each of several queries; an error says to which."""
    n = len(queries)
    rewards = check_one_each(rewards, n, "reward", "queries")
    alphas = check_one_each(alphas, n, "alpha", "queries", shared=True)
    checked = []
    for i, each in enumerate(zip(queries, rewards, alphas, strict=True)):
        try:
            checked.append(check(*each))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(row_message(i, n, error)) from None
    return checked


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
        rows = as_coordinates(rows)
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

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

from skgpb.domains.arms import PointsQuery, Query, Region
from skgpb.domains.box import Box
from skgpb.domains.indirect import IndirectQuery
from skgpb.domains.space import (
    Coordinates,
    ParameterSpace,
    SeparateAxis,
    as_coordinates,
    equal,
    named_box,
)
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
    """Sign between rewards and the maximised values: -1 if small rewards are sought, else 1.

    Parameters
    ----------
    minimizes : bool
        Whether small rewards are sought.
    """

    def __init__(self, minimizes: bool) -> None:
        self._minimizes = minimizes

    def convert(self, values: Any) -> Any:
        """Convert rewards to maximised values, or back."""
        return -values if self._minimizes else values

    def convert_moments(self, moments: Any) -> Any:
        """Convert a mean, or the mean in a tuple (mean, std) or (mean, cov)."""
        if isinstance(moments, tuple):
            return self.convert(moments[0]), *moments[1:]
        return self.convert(moments)

    def convert_interval(
        self, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Convert the ends of intervals."""
        return (-upper, -lower) if self._minimizes else (lower, upper)


def checked_space(
    bounds: Any,
    name: str,
    optimizer: str,
    sides: str,
    keeps_settings: bool = False,
    keeps_ranges: bool = False,
) -> ParameterSpace | None:
    """Return the space of a box of named sides, None without names, or raise ValueError.

    Parameters
    ----------
    bounds : object
        The parameter as the user gave it.
    name : str
        Its name, for messages.
    optimizer : str
        Name of the class, for messages.
    sides : {"numbers", "continuous", "any"}
        Kinds of sides that the algorithm can search, see ``_sides`` of the base class.
    keeps_settings : bool, default=False
        Whether all its queries and recommendations are feasible settings.
    keeps_ranges : bool, default=False
        Whether they are on the sides of now if earlier answers are outside.
    """
    space = named_box(bounds, name)
    if space is None:
        return None
    if not keeps_settings:
        check_settings(space, bounds, name, optimizer, keeps_ranges)
    # The coordinates of a cube of settings are continuous.
    for side, axis in [] if space.as_cube else space.axes:
        has_columns = axis.uses_columns and sides == "numbers"
        if has_columns or (isinstance(axis, SeparateAxis) and sides == "continuous"):
            raise ValueError(
                f"{name}[{side!r}] must be a pair (lower, upper) or a continuous distribution "
                f"for {optimizer}, got {bounds[side]!r}. For integers, categories and other sides "
                "use GPUCBOptimizer or GPOOOptimizer"
            )
    return space


def check_settings(
    space: ParameterSpace, bounds: Any, name: str, optimizer: str, keeps_ranges: bool = False
) -> None:
    """Raise ValueError for constraints or steps: the queries of this optimizer may violate them.

    With ``keeps_ranges`` only those of the sides of now count.
    """
    if keeps_ranges and isinstance(bounds, Box) and bounds.earlier:
        space = ParameterSpace.from_bounds(bounds.of_now, name)
    what = "constraints" if space.feasible is not None else "Steps"
    if what == "constraints" or any(axis.has_steps for _, axis in space.axes):
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
    """Return the space of contexts and actions together; None if their sides have no names."""
    if context_bounds is not None and (actions is None) != (contexts is None):
        raise ValueError("give the sides of both context_bounds and bounds names, or of neither")
    if actions is None or contexts is None:
        return actions
    if not set(bounds).isdisjoint(context_bounds):
        raise ValueError("the sides of context_bounds and bounds must have different names")
    joint = ParameterSpace.from_bounds({**context_bounds, **actions.entries()})
    joint.earlier = actions.earlier
    return joint


def coordinates(bounds: Any, space: ParameterSpace | None, name: str) -> np.ndarray | None:
    """Return bounds as an array (d, 2); None if they are None."""
    if space is not None:
        return space.bounds
    return None if bounds is None else check_bounds(bounds, name)


# -- Contexts --------------------------------------------------------------------------------------


class NoContexts:
    """The contexts of a search without contexts: an object that is false and refuses a context.

    Parameters
    ----------
    optimizer : type
        Class of the search.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    def __bool__(self) -> bool:
        return False

    def validate(self, context: Any) -> None:
        """Raise ValueError if a context, or several, are given."""
        if context is not None:
            known = "context_bounds" in self._optimizer._get_param_names()
            name = self._optimizer.__name__
            none = "these are None" if known else f"{name} has no such parameter"
            raise ValueError(f"a context needs context_bounds, but {none}; got {context!r}")

    def of(self, query: Any) -> None:
        """Return None, because no query has a context."""


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
        """Return the context in which a query was chosen; points begin with it."""
        first = query.points[0, : len(self.bounds)]
        return self.validate(as_coordinates(getattr(query, "context", first)))

    def validate(self, context: Any) -> np.ndarray:
        """Return the point (d_c,) of a context given by the user, or raise ValueError.

        A context that the library has stored is of type ``Coordinates``, already in these units.
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

    def validate_all(self, contexts: Any) -> list[np.ndarray]:
        """Return the points (d_c,) of the contexts of a run, in the order in which they arrive."""
        if contexts is None:
            raise ValueError(
                "contexts must be given if there are context_bounds, got None: "
                "run(objective, contexts=[...])"
            )
        if self.space is not None:
            contexts = self.space.points(contexts)
        given = check_numbers(contexts, "contexts", ensure_2d=False)
        rows = [self.validate(as_coordinates(np.atleast_1d(row))) for row in given]
        if not rows:
            raise ValueError("contexts must hold at least one context")
        return rows


# -- Queries, points and answers -------------------------------------------------------------------

#: Rewards and their noise variances, for type checkers: a number or None, one for each of several
#: queries, one for each of their campaigns, or covariances of campaigns. A text is not a number.
Number: TypeAlias = SupportsFloat | None
Numbers: TypeAlias = Number | Iterable[Number | Iterable[Number | Iterable[Number]]]


@dataclass(eq=False)
class Inputs:
    """Converter of the user's queries, points and answers, for the present state of a run.

    Parameters
    ----------
    domain : object
        The set of all queries; None if the search has no such set.
    space : ParameterSpace or None
        Names of the sides; None if they have none.
    bounds : ndarray of shape (d, 2)
        The box.
    pending : collection of queries
        Queries without an answer. Users may refer to them by their points or settings.
    validate : callable
        Validates points (n, d), or a table of points, as scikit-learn's estimators do.
    names : list of str or None
        Columns of the first table, if the sides have no names.
    others : container
        Further queries that ``predict_query`` accepts although the search never asks them.
    kind : type
        Class of the queries of the search.
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
        """Raise ValueError for a query of another search whose points are other settings here."""
        check_sides(query, self._sides)

    @property
    def _sides(self) -> ParameterSpace | None:
        """Names of the sides of a query."""
        return self.space

    def names_in(self, X: Any) -> list[str] | None:
        """Return the columns of X if they are names of the features; None otherwise."""
        names = None if self.space is not None else column_names(X)
        return names if names is not None and len(names) == len(self.bounds) else None

    def points(self, X: Any) -> np.ndarray:
        """Return validated points (n, d) at which f is predicted."""
        check_columns(X, self.names)
        if self.space is not None and self.space.has_rows(X):
            X = self.validate(X)
        return self.validate(points_of(X, self.space))

    def rows(self, X: Any) -> Any:
        """Convert queries given as settings to rows; return arrays without names unchanged."""
        check_columns(X, self.names)
        if self.space is None and hasattr(X, "columns"):
            return check_numbers(X, "query")
        return points_of(X, self.space)

    def attach_names(self, query: Any) -> Any:
        """Attach the names of the sides to a query that the domain did not make; return it."""
        return query.with_names(self.space)

    def query(self, points: Any) -> Any:
        """Return the pending query with these points; a :class:`PointsQuery` if there is none."""
        told = None
        check_columns(points, self.names)
        if isinstance(points, Query):
            self.check_sides(points)
        if isinstance(points, PointsQuery):
            arguments = (getattr(points, name) for name in points.arguments)
            told = self.attach_names(type(points)(*arguments))
            points = as_coordinates(told.points)
        query = query_at(points, self.space, len(self.bounds), self.pending)
        if isinstance(query, Query):
            return query
        if isinstance(told, Region):  # a region has ends, which its points do not determine
            check_inside(np.stack([told.lower, told.upper]), self.bounds)
            return told
        return self.attach_names(PointsQuery(check_inside(query, self.bounds)))

    def resolve(self, query: Any) -> Any:
        """Return a query of this search, or raise ValueError."""
        self.check_sides(query)
        if query not in self.pending and not isinstance(query, PointsQuery):
            self.domain.resolve(query)
        return query

    def each(self, queries: Any) -> Any:
        """Return one query, several queries, or rows of points as a sequence."""
        if isinstance(queries, Query):
            return [queries]
        if isinstance(queries, list | tuple) and any(isinstance(q, Query) for q in queries):
            return queries
        return self.rows(queries)

    def queries(self, queries: Any) -> list[Any]:
        """Return the queries of the argument of ``predict_query``: one, several, or points."""
        checked: list[Any] = []
        for each in self.each(queries):
            known = isinstance(each, (self.kind, PointsQuery))
            query = each if known or issubclass(self.kind, type(each)) else self.query(each)
            if query in self.others:
                check_sides(query, self.space)
                checked.append(query)
            else:
                checked.append(self.resolve(query))
        return checked

    def validate_answers(
        self, query: Any, reward: Any, alpha: Any, n_dims: int, check: Callable[..., Any]
    ) -> list[Any]:
        """Return the validated answers of one call of ``tell``, one or several.

        Parameters
        ----------
        query, reward, alpha : object
            The arguments of ``tell``.
        n_dims : int
            Number of dimensions of the reward of one query.
        check : callable
            Takes one query, its reward and its noise variance; returns them validated.
        """
        if isinstance(query, list) and query and isinstance(query[0], (Query, Mapping)):
            return checked_each(query, reward, alpha, check)
        if not isinstance(reward, float):
            rows = points_with_rewards(query, reward, n_dims, self.rows)
            if rows is not None:
                return checked_each(rows, reward, alpha, check)
        return [check(query, reward, alpha)]


class SetInputs(Inputs):
    """Inputs of a search over sets, whose queries may have names or be about several functions."""

    def rows(self, X: Any) -> Any:
        """Convert queries to rows; the last column may be the index of the function."""
        if self.space is None or self.domain.layout.task_column != 0.0:
            return super().rows(X)
        return self.space.rows(X)

    def query(self, points: Any) -> Any:
        """Return the query with this name or with these points."""
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

    def validate_answers(
        self, query: Any, reward: Any, alpha: Any, n_dims: int, check: Callable[..., Any]
    ) -> list[Any]:
        """Return the validated answers of one call of ``tell``; queries may be given by name."""
        if self.domain.names is not None and not isinstance(query, str):
            names = np.asarray(query) if isinstance(query, list | tuple | np.ndarray) else None
            if names is not None and names.dtype.kind == "U":
                query = [self._named_arm(name) for name in names.ravel().tolist()]
        return super().validate_answers(query, reward, alpha, n_dims, check)

    def _named_arm(self, name: str) -> Any:
        """Return the query with this name, or raise ValueError if there are contexts."""
        if self.domain.layout.n_context:
            raise ValueError(
                f"{name!r} needs a context, because there are context_bounds: pass a query of "
                "ask(context=...), or domain_.with_context(context).named_arm(name)"
            )
        return self.domain.named_arm(name)


class IndirectInputs(Inputs):
    """Inputs of a search by indirect queries, whose sides have other names than the sides of x."""

    def names_in(self, X: Any) -> None:
        """Return None: a table of queries has no column for x."""

    def rows(self, X: Any) -> Any:
        """Convert queries given as settings to rows; return arrays without names unchanged."""
        return X if self.domain.space is None else self.domain.space.rows(X)

    @property
    def _sides(self) -> ParameterSpace | None:
        return self.domain.space

    def attach_names(self, query: Any) -> Any:
        """Attach the names of the sides to a query; return it."""
        return query.with_names(self.domain.space)

    def query(self, points: Any) -> IndirectQuery:
        """Return the query of a row (q,) of numbers, or of settings."""
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
        """Return the row (q,) of a query; other objects are returned unchanged."""
        if not isinstance(query, Query):
            return query
        self.check_sides(query)
        return query.a if isinstance(query, IndirectQuery) else np.ravel(query.points)


class AllocationInputs(Inputs):
    """Inputs of a search over allocations."""

    @property
    def campaigns(self) -> list[str]:
        """Names of the campaigns: the user's, the columns of the first table, or numbers.

        Without names the i-th campaign is ``f"campaign_{i}"``.
        """
        n = len(self.domain.campaigns)
        names = self.names if self.domain.names is None else self.domain.names
        if names is None or len(names) != n:
            return [f"campaign_{i}" for i in range(n)]
        return list(names)

    def arrange(self, values: Any, what: str) -> Any:
        """Return the entries of a dict or a table in the order of the campaigns."""
        return values_in_order(values, self.campaigns, what, self.domain.names is not None)

    def validate_answers(
        self, query: Any, reward: Any, alpha: Any, n_dims: int, check: Callable[..., Any]
    ) -> list[Any]:
        """Return the validated answers of one call of ``tell``; campaigns may be given by name."""
        reward, alpha = self.arrange(reward, "reward"), self.arrange(alpha, "alpha")
        return super().validate_answers(query, reward, alpha, n_dims, check)

    def query(self, points: Any) -> Any:
        """Return the pending allocation with this row of arms of all campaigns, or a new one."""
        query = super().query(points)
        if len(query.points) != 1:
            raise ValueError(f"an allocation is one row, got {len(query.points)}")
        return query


def values_in_order(values: Any, names: Sequence[str], what: str, strict: bool = True) -> Any:
    """Return the values of a dict, a row or a table in the order of the campaigns.

    Parameters
    ----------
    values : object
        A dict or a row of a table is converted to a list; a table or a dict of columns to a list of
        lists, with None for missing values. Any other object is returned unchanged.
    names : sequence of str
        Names of the campaigns.
    what : str
        Name of the parameter, for messages.
    strict : bool, default=True
        Whether a table with other column names is refused. Otherwise its columns must be in the
        order of the campaigns.
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
    """Raise ValueError for a query whose points mean other settings in ``space``."""
    if not query.is_compatible_with(space):
        raise ValueError(
            f"{query!r} was made for other sides: pass its params, or its points where sides "
            "have no names, in the units of this search"
        )


def points_of(X: Any, space: ParameterSpace | None) -> Any:
    """Convert settings to points (n, d) of the box; return X unchanged if ``space`` is None."""
    return X if space is None else space.points(X)


def checked_each(
    queries: list[Any], rewards: Any, alphas: Any, check: Callable[..., Any]
) -> list[Any]:
    """Return the validated answers to several queries; an error names the row of the answer."""
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


def points_with_rewards(
    query: Any, rewards: Any, n_dims: int, rows_asked: Callable[[Any], Any]
) -> list[Any] | None:
    """Return the points of several queries, with one reward each; None for a single query.

    The reward of one query has ``n_dims`` dimensions; ``rows_asked`` converts settings to rows.
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
        return None  # one reward in an array: the average over all points
    if isinstance(asked, Coordinates):
        rows = as_coordinates(rows)
    return list(rows) if rows.ndim == 2 else [rows]


def query_at(
    points: Any, space: ParameterSpace | None, d: int, pending: Iterable[Query]
) -> Query | np.ndarray:
    """Return the pending query with these points, or else the validated points (S, d).

    If the sides have names, ``points`` are settings, or the ``params`` of a query.
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
            f"Pass existing data in one call: tell(X, y) or fit(X, y) with X of shape "
            f"(n, {d}) and one y for each row"
        )
    for query in pending:
        if query.points.shape == points.shape and same(query.points, points):
            return query
    return points


def check_unnamed(query: Any) -> None:
    """Raise ValueError for a dict of settings, if the sides have no names."""
    if isinstance(query, Mapping):
        raise ValueError(
            f"a query must be points where the sides have no names, got {dict(query)!r}: pass "
            "bounds={name: (lower, upper), ...} to the constructor"
        )

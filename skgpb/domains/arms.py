"""Queries, and sets of linear functionals of f that are used as queries or targets.

A set has rows of descriptors and a :class:`Layout`. Points, boxes, weighted averages over points,
and values of several functions are all such sets, with contexts or without: the layout defines the
columns, and the kernel interprets them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from skgpb.domains.candidates import spread_points
from skgpb.domains.first_design import first_members, next_place
from skgpb.domains.space import ParameterSpace, SeparateAxis, equal
from skgpb.domains.value_ranges import representatives_within
from skgpb.kernels._boxes import grid_centers
from skgpb.utils.validation import check_inside

__all__ = ["Arm", "PointsQuery", "Query", "Region"]

# -- Queries ---------------------------------------------------------------------------------------

Kind = TypeVar("Kind", bound="Query")


class Query(ABC):
    """A query, immutable and hashable; ``np.asarray(query)`` gives :attr:`points`.

    A kind of query names the arguments of its constructor in ``arguments``, passes them to
    :meth:`freeze` under these names, or has fields by :func:`with_fields`, and defines in
    :meth:`find_points` where f is evaluated. Equality, hashing, pickling and files follow from
    these.

    Attributes
    ----------
    points : ndarray of shape (S, d)
        Points at which f is evaluated; the reward is the average there. In a box with names they
        are coordinates, which no method accepts: see ``params`` and ``settings``. A side that is
        not a pair ``(lower, upper)`` has coordinates from 0 to 1.
    params : dict
        The query by the names of the sides, in the user's units and types: values, or for an
        average over a region a range in the form of ``bounds``: a pair (lower, upper), a list, or a
        range of integers.
    settings : list of S dicts
        The values of each of ``points``.
    """

    __slots__ = ("_points", "_space")

    # None before the first access.
    _points: Any
    # Meaning of the names of the sides; None if they have none.
    _space: ParameterSpace | None

    #: Names of the constructor's arguments, in its order; each is an attribute.
    arguments: ClassVar[tuple[str, ...]] = ()

    def freeze(self, **values: Any) -> None:
        """Set the attributes of the query, which cannot be changed afterwards.

        The constructor of a kind of query calls this method once.

        Parameters
        ----------
        **values
            The value of each name in ``arguments``, and of other attributes. Arrays become
            read-only.
        """
        put = object.__setattr__
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            put(self, name, value)
        put(self, "_points", None)
        put(self, "_space", None)

    def __post_init__(self) -> None:
        """Freeze the fields of a class of :func:`with_fields`."""
        for name in self.arguments:
            if isinstance(value := getattr(self, name), np.ndarray):
                value.flags.writeable = False
        self.freeze()

    def with_names(self, space: ParameterSpace | None) -> Self:
        """Attach the names of the sides, and return the query.

        Parameters
        ----------
        space : ParameterSpace or None
            The sides, by which ``params`` and ``repr`` name coordinates; None for no names.
        """
        object.__setattr__(self, "_space", space)
        return self

    def is_compatible_with(self, space: ParameterSpace | None) -> bool:
        """Return whether the points are the same settings on the sides of another space.

        Values that do not equal a copy of themselves cannot be compared and count as equal.

        Parameters
        ----------
        space : ParameterSpace or None
            The other space; None if its sides have no names.

        Returns
        -------
        is_compatible : bool
        """
        if self._space is space or (space is not None and self.points.shape[1] != space.n_axes):
            return True
        there: list[Any] = PointsQuery(self.points).with_names(space).settings
        here: list[Any] = self.settings
        if self._space is None or space is None:  # only the order of the sides can be compared
            there, here = ([dict(enumerate(s.values())) for s in each] for each in (there, here))
        return all(
            one.keys() == other.keys()
            and all(_may_be_equal(value, other[name]) for name, value in one.items())
            for one, other in zip(here, there, strict=True)
        )

    @abstractmethod
    def find_points(self) -> np.ndarray:
        """Compute :attr:`points`; the result is cached."""

    def _spread(self, lower: np.ndarray, upper: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
        """Return points (S, d) that represent a box: ``counts`` along each side, or all values."""
        if self._space is not None and self._space.uses_columns:
            return representatives_within(self._space, lower, upper, counts)
        return grid_centers(lower.tolist(), upper.tolist(), counts)

    @property
    def has_names(self) -> bool:
        """True if the sides of the box have names."""
        return self._space is not None

    @property
    def points(self) -> np.ndarray:
        """Points at which f is evaluated, shape (S, d)."""
        if self._points is None:
            points = self.find_points()
            points.flags.writeable = False
            object.__setattr__(self, "_points", points)
        return self._points

    @property
    def params(self) -> dict[str, Any]:
        """The setting as a dict with the names of the sides; x0, x1, ... if they have no names."""
        if len(self.points) == 1:
            return self.settings[0]
        return self.ranges(*np.split(self.box, 2))

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The values of each of the points, by the names of the sides."""
        if self._space is None:
            return [{f"x{i}": x for i, x in enumerate(each)} for each in self.points.tolist()]
        return [self._space.setting(point) for point in self.points]

    def ranges(self, lower: np.ndarray, upper: np.ndarray) -> dict[str, Any]:
        """Return the range of a region along each side, by name.

        Parameters
        ----------
        lower, upper : ndarray of shape (d,)
            Corners of the region, in coordinates like :attr:`points`.

        Returns
        -------
        ranges : dict
            As in :attr:`params`.
        """
        if self._space is None:
            ends = enumerate(zip(lower.tolist(), upper.tolist(), strict=True))
            return {f"x{i}": low if low == high else (low, high) for i, (low, high) in ends}
        return self._space.ranges(lower, upper)

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper] around the points of the query, shape (2 d,)."""
        return np.concatenate([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def _identity(self) -> tuple[Any, ...]:
        """Key by which queries are equal: the arguments, with arrays as bytes."""
        values = (getattr(self, name) for name in self.arguments)
        return tuple(x.tobytes() if isinstance(x, np.ndarray) else x for x in values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a query is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a query is immutable: cannot delete {name}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        points = self.points
        if dtype is not None and np.dtype(dtype) != points.dtype:
            if copy is False:
                raise ValueError("the points of a query cannot be converted without a copy")
            return points.astype(dtype)
        return points.copy() if copy or copy is None else points

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self._identity == other._identity)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = tuple(getattr(self, name) for name in self.arguments)
        if self._space is None:
            return type(self), arguments
        return _named, (self._space, type(self), arguments)

    def __repr__(self) -> str:
        if self._space is None:
            return self.describe()
        sides = ", ".join(f"{name}={readable(value)}" for name, value in self.params.items())
        return f"{type(self).__name__}({sides})"

    def describe(self) -> str:
        """Return the text of a query whose sides have no names."""
        given = ", ".join(f"{name}={getattr(self, name)}" for name in self.arguments)
        return f"{type(self).__name__}({given})"


def _named(space: ParameterSpace, cls: type[Query], arguments: tuple[Any, ...]) -> Query:
    """Rebuild a query whose sides have names."""
    return cls(*arguments).with_names(space)


def _may_be_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal, or of a type that has no equality."""
    return equal(one, other) or (type(one) is type(other) and not equal(one, deepcopy(one)))


def readable(value: Any, digits: int = 6) -> str:
    """Return a value as readable text: numbers with a few digits."""
    if isinstance(value, tuple):
        return f"({', '.join(readable(each, digits) for each in value)})"
    return f"{value:.{digits}g}" if isinstance(value, float) else repr(value)


@dataclass_transform(frozen_default=True)
def with_fields(cls: type[Kind]) -> type[Kind]:
    """Turn a class of queries into a dataclass of the fields that it declares, in their order."""
    made = dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
    made.arguments = vars(made)["__match_args__"]
    # Those of a frozen dataclass with slots fail for names that are not fields.
    made.__setattr__, made.__delattr__ = Query.__setattr__, Query.__delattr__  # type: ignore[method-assign]
    return made


class PointsQuery(Query):
    """Points that are told without being asked; the reward is the average of f there.

    Attributes
    ----------
    points : ndarray of shape (S, d)
        The points.
    """

    __slots__ = ()

    arguments: ClassVar[tuple[str, ...]] = ("points",)

    def __init__(self, points: np.ndarray) -> None:
        self.freeze()
        points = np.array(points, dtype=np.float64)  # a copy, so that the caller cannot change it
        points.flags.writeable = False
        object.__setattr__(self, "_points", points)

    def find_points(self) -> np.ndarray:
        """Return the given points."""
        return self._points

    def describe(self) -> str:
        """Return the points as text."""
        return f"PointsQuery({self.points.tolist()})"


@with_fields
class Region(PointsQuery):
    """A cell of any size at any place, outside all partitions.

    Attributes
    ----------
    lower, upper, center : ndarray of shape (d,)
        Corners and centre of the cell.
    counts : tuple of d ints
        Representatives along each axis.
    points : ndarray of shape (S, d)
        The representatives.
    """

    lower: np.ndarray
    upper: np.ndarray
    counts: tuple[int, ...]

    def find_points(self) -> np.ndarray:
        """Return representatives of the cell."""
        return self._spread(self.lower, self.upper, self.counts)

    @property
    def center(self) -> np.ndarray:
        """Centre of the cell, shape (d,)."""
        return 0.5 * (self.lower + self.upper)

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper], shape (2 d,)."""
        return np.concatenate([self.lower, self.upper])

    def describe(self) -> str:
        """Return the corners as text."""
        return f"Region(lower={self.lower}, upper={self.upper})"


# -- Rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Columns of descriptor rows: ``[context | lower | (context | upper) | task column]``.

    Parameters
    ----------
    d : int
        Number of sides of the actions; the sides of the context come first.
    n_context : int, default=0
        Number of sides of the context.
    counts : tuple of d ints or None, default=None
        Representatives of a box along each of the d sides; None if rows are points.
    task_column : float or None, default=None
        Last column of rows that describe the value of f itself at a point: 0 for the first of
        several tasks, -1 if other rows are weighted sums. None without this column.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains.arms import Layout
    >>> boxes = Layout(1, n_context=1, counts=(3,))
    >>> row = boxes.with_contexts(np.array([7.0]), np.array([[0.0, 1.0]]))
    >>> row
    array([[7., 0., 7., 1.]])
    >>> boxes.places(row), boxes.actions_of(row)
    (array([[7. , 0.5]]), array([[0., 1.]]))
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("d", "n_context", "counts", "task_column")

    d: int
    n_context: int = 0
    counts: tuple[int, ...] | None = None
    task_column: float | None = None

    @property
    def boxes(self) -> bool:
        """True if rows describe boxes."""
        return self.counts is not None

    @property
    def n_sides(self) -> int:
        """Number of sides of contexts and actions together."""
        return self.n_context + self.d

    @property
    def n_columns(self) -> int:
        """Number of columns of a row."""
        return self.n_sides * (2 if self.boxes else 1) + (self.task_column is not None)

    @property
    def counts_of_all(self) -> tuple[int, ...] | None:
        """Numbers of representatives along each side, one for a context; None for points."""
        return None if self.counts is None else (1,) * self.n_context + self.counts

    @property
    def actions_layout(self) -> Layout:
        """The layout of rows without contexts."""
        return replace(self, n_context=0) if self.n_context else self

    def add_contexts(self, n: int) -> Layout:
        """Return the layout of the same rows with n leading sides of a context."""
        return replace(self, n_context=n)

    # -- joining and splitting --------------------------------------------------------------

    def corners(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper corners (n, n_sides); both are the point if rows are points."""
        n = self.n_sides
        return rows[:, :n], rows[:, n : 2 * n] if self.boxes else rows[:, :n]

    def trailing_columns(self, rows: np.ndarray) -> np.ndarray:
        """Return the columns (n, 0 or 1) after points and boxes."""
        return rows[:, self.n_sides * (2 if self.boxes else 1) :]

    def with_contexts(self, contexts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return rows of actions in one context (n_context,), or in one for each (n, n_context)."""
        given, actions = np.broadcast_to(contexts, (len(rows), self.n_context)), self.actions_layout
        corners = actions.corners(rows)[: 1 + self.boxes]
        parts = [each for corner in corners for each in (given, corner)]
        return np.hstack([*parts, actions.trailing_columns(rows)])

    def actions_of(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of actions without their contexts."""
        if not self.n_context:
            return rows
        corners = self.corners(rows)[: 1 + self.boxes]
        return np.hstack(
            [*(each[:, self.n_context :] for each in corners), self.trailing_columns(rows)]
        )

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows (n, n_columns) of values of f at points (n, n_sides)."""
        parts = [points, points] if self.boxes else [points]
        if self.task_column is not None:
            parts.append(np.full((len(points), 1), self.task_column))
        return np.hstack(parts) if len(parts) > 1 else points

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the points (n, n_sides), or centres of boxes, of rows."""
        lower, upper = self.corners(rows)
        return 0.5 * lower + 0.5 * upper if self.boxes else lower.copy()


# -- Arms ------------------------------------------------------------------------------------------


@with_fields
class Arm(Query):
    """A query that observes a linear functional of f: an arm, a cell, a district.

    It is immutable and hashable, and ``np.asarray(arm)`` gives :attr:`points`. The set of an arm
    determines its attributes; access to others raises AttributeError.

    Attributes
    ----------
    index : int
        Its index in the set; -1 for a candidate that represents a box.
    descriptor : ndarray of shape (n_columns,)
        Row for the kernel.
    points : ndarray of shape (S, d)
        Points at which f is evaluated. The reward is the average there, weighted by
        :attr:`weights` if the query has them.
    lower, upper, center : ndarray of shape (d,)
        Corners and centre of the box around it; all three are equal for a point.
    counts : tuple of d ints or None
        Number of representatives of a box along each axis; None if the query is no box.
    context : ndarray of shape (d_c,)
        The context of ``ask``. Points, corners and rows begin with it.
    actions : ndarray of shape (S, d - d_c)
        The points without the context.
    task : int
        Index of the function that is evaluated, if there are several; function 0 is maximised.
    name : str or int
        Name of a weighted set of points.
    weights : ndarray of shape (S,)
        Weights of its points, with sum 1: the answer is ``weights @ f(points)``.

    Examples
    --------
    >>> from skgpb import GPUCBOptimizer
    >>> arm = GPUCBOptimizer(arms=[[0.0], [0.5], [1.0]], random_state=0).ask()
    >>> arm
    Arm(index=1, descriptor=[0.5])
    >>> arm.points
    array([[0.5]])
    """

    index: int
    descriptor: np.ndarray
    # None stands for points.
    layout: Layout = None  # type: ignore[assignment]
    _name: str | int | None = None
    _members: np.ndarray | None = None
    _weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.layout is None:
            object.__setattr__(self, "layout", Layout(len(self.descriptor)))
        Query.__post_init__(self)

    def find_points(self) -> np.ndarray:
        """Return the point, representatives of the box, or members of the set."""
        if self._members is not None:
            if not self.layout.n_context:
                return self._members
            context = np.tile(self.context, (len(self._members), 1))
            return np.hstack([context, self._members])
        lower, upper = self._corners()
        counts = self.layout.counts_of_all
        return lower[np.newaxis] if counts is None else self._spread(lower, upper, counts)

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        if self._members is not None:
            return self.points.min(axis=0), self.points.max(axis=0)
        n, row = self.layout.n_sides, self.descriptor
        return row[:n], row[n : 2 * n] if self.layout.boxes else row[:n]

    @property
    def lower(self) -> np.ndarray:
        """Lower corner, shape (d,)."""
        return self._corners()[0]

    @property
    def upper(self) -> np.ndarray:
        """Upper corner, shape (d,)."""
        return self._corners()[1]

    @property
    def center(self) -> np.ndarray:
        """Centre, shape (d,); the weighted average of a set of points."""
        return self.layout.places(self.descriptor[np.newaxis])[0]

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper], shape (2 d,)."""
        return np.concatenate(self._corners())

    # -- attributes -------------------------------------------------------------------------

    @property
    def counts(self) -> tuple[int, ...] | None:
        """Number of representatives along each axis; None if the query is not a box."""
        return self.layout.counts_of_all

    @property
    def context(self) -> np.ndarray:
        """The context of ``ask``, shape (d_c,)."""
        if not self.layout.n_context:
            raise AttributeError("this query has no context: its optimizer has no context_bounds")
        return self.descriptor[: self.layout.n_context]

    @property
    def n_context(self) -> int:
        """Number of sides of the context, 0 without contexts."""
        return self.layout.n_context

    @property
    def actions(self) -> np.ndarray:
        """The points without the context, shape (S, d - d_c)."""
        return self.points[:, self.layout.n_context :]

    @property
    def task(self) -> int:
        """Index of the function that is evaluated."""
        if self.layout.task_column != 0.0:
            raise AttributeError("this query has no task: its optimizer has one fidelity only")
        return int(self.descriptor[-1])

    @property
    def name(self) -> str | int:
        """Name of a weighted set of points."""
        if self._name is None:
            raise AttributeError("this query has no name")
        return self._name

    @property
    def members(self) -> np.ndarray:
        """Points of a weighted set, without contexts, shape (S, d - d_c)."""
        if self._members is None:
            raise AttributeError("this query has no members: it is not a weighted set of points")
        return self._members

    @property
    def weights(self) -> np.ndarray:
        """Weights of the points of a weighted set, shape (S,), of sum 1."""
        if self._weights is None:
            raise AttributeError("this query has no weights: its points have equal weights")
        return self._weights

    def __hash__(self) -> int:
        return hash((self.index, self.descriptor.tobytes()))

    # -- as text ----------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self._name is not None or (self._space is None and self.index >= 0):
            return self.describe()
        what = {name: readable(value) for name, value in self.params.items()}
        if self.layout.task_column == 0.0:
            what["task"] = str(self.task)
        return f"Arm({', '.join(f'{name}={text}' for name, text in what.items())})"

    def describe(self) -> str:
        """Return index and row, or the name of a set of points, as text."""
        what = f"descriptor={self.descriptor}" if self._name is None else f"name={self._name!r}"
        where = f"context={self.context}, " if self.layout.n_context else ""
        return f"Arm(index={self.index}, {where}{what})"


# -- Sets of arms ----------------------------------------------------------------------------------

# Accuracy: number of representative contexts: at least, and so many that rows reach this (D-H21).
FEWEST_CONTEXTS, MOST_CONTEXT_ROWS = 10, 2_000


class Incumbents(ABC):
    """The best points so far, which candidates follow."""

    #: Largest number of points that move in a round; None for all that follow.
    most: int | None = None
    #: Number of rounds since they moved last.
    n_rounds: int = 1

    @abstractmethod
    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, d), and the posterior means of f there."""

    @abstractmethod
    def places(self) -> np.ndarray:
        """Return the points or centres (k, d) of the best targets."""


@dataclass(frozen=True)
class Placements:
    """Possible places of a region of a given size.

    Parameters
    ----------
    alike : ndarray of int, shape (n,)
        Indices of candidates that differ from the region only in their place.
    coordinates : ndarray of shape (n, n_free)
        Their places, along the sides on which a region moves continuously.
    bounds : ndarray of shape (n_free, 2)
        The box of coordinates.
    rows_at : callable
        Returns the rows (k, n_columns), without contexts, of regions at coordinates (k, n_free).
    """

    alike: np.ndarray
    coordinates: np.ndarray
    bounds: np.ndarray
    rows_at: Callable[[np.ndarray], np.ndarray]


class ArmSet:
    """A finite set of functionals, with their queries and descriptor rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Descriptors, without contexts.
    bounds : ndarray of shape (d, 2)
        Box around them.
    layout : Layout, default=None
        Meaning of the columns, without contexts. None stands for points.
    space : ParameterSpace, default=None
        Names and scales of the sides of the box; None if the sides have no names.
    names : list, default=None
        Names of the queries.
    members : list of pairs of ndarrays, default=None
        Points (S_i, d) over which each query averages, and their weights (S_i,).

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Descriptors, in the present context if there are contexts.
    context : ndarray of shape (d_c,) or None
        The present context; :meth:`with_context` returns the set in another one.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb.domains import PointsQuery
    >>> from skgpb.domains.arms import ArmSet
    >>> arms = ArmSet(np.array([[0.0], [0.5], [1.0]]), bounds=np.array([[0.0, 1.0]]))
    >>> arms.arm(1)
    Arm(index=1, descriptor=[0.5])
    >>> arms.slot_of(PointsQuery(np.array([[1.0]])))
    2
    """

    #: Groups of queries with a cost and a noise variance of their own, in messages.
    kind: ClassVar[str] = "query"
    #: Whether finitely many points represent all points of a box.
    is_discretization: ClassVar[bool] = False
    #: Whether the members are fixed, and f is so smooth that few of them determine all others.
    has_root: ClassVar[bool] = False

    #: Fields in files: none if no members move.
    _kept_fields: ClassVar[tuple[str, ...]] = ()

    rows: np.ndarray
    context: np.ndarray | None

    def __init__(
        self,
        rows: np.ndarray,
        bounds: np.ndarray,
        layout: Layout | None = None,
        space: ParameterSpace | None = None,
        *,
        names: list[Any] | None = None,
        members: list[tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> None:
        self.layout: Layout = Layout(len(bounds)) if layout is None else layout
        self.bounds = bounds
        self.space = space
        self.names = names
        self.members = members
        self.context = None
        # Box of contexts, and the names of all sides, with the sides of contexts first.
        self.context_bounds: np.ndarray = np.empty((0, 2))
        self.space_of_all = space
        # Sides (n, d) of regions that may be asked at any place; none in a set of members.
        self.sizes: np.ndarray = np.empty((0, len(bounds)))
        # Rows without contexts that were members earlier: they have answers and are not asked.
        self.earlier: np.ndarray = rows[:0]
        # Indices of the first design, empty before its first query.
        self._first = np.empty(0, dtype=np.intp)
        self._lie_at(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _lie_at(self, plain: np.ndarray) -> None:
        """Set other rows, without contexts."""
        self.plain = plain
        self.rows = (
            plain if self.context is None else self.layout.with_contexts(self.context, plain)
        )

    @property
    def counts(self) -> tuple[int, ...] | None:
        """Number of representatives of a box along each side; None if rows are points."""
        return self.layout.counts

    # -- contexts ---------------------------------------------------------------------------

    def add_contexts(self, bounds: np.ndarray, space: ParameterSpace | None = None) -> Self:
        """Return the same set with contexts, at the middle of their box.

        Parameters
        ----------
        bounds : ndarray of shape (d_c, 2)
            Box of contexts.
        space : ParameterSpace, default=None
            Names of all sides, with the sides of contexts first.
        """
        out = copy(self)
        out.layout = self.layout.add_contexts(len(bounds))
        out.context_bounds, out.space_of_all = bounds, space
        return out.with_context(bounds.mean(axis=1))

    def with_context(self, context: np.ndarray) -> Self:
        """Return the same set in a context (d_c,)."""
        out = copy(self)
        out.context = context
        out._lie_at(self.plain)
        return out

    # -- members that move ------------------------------------------------------------------

    @property
    def middle(self) -> np.ndarray | None:
        """Row (1, n_columns) of a query at which the first design begins, in many dimensions."""
        return None

    @property
    def follows(self) -> bool:
        """True if some members follow the posterior."""
        return False

    def make_candidates(self, t: int, theta: float, slope: Callable[[], float]) -> bool:
        """Renew the candidates of round t if that is due; return whether it was."""
        return False

    def resample(self, incumbents: Incumbents, rng: np.random.Generator) -> np.ndarray:
        """Move members that follow the posterior to incumbents; return the indices that moved."""
        return np.empty(0, dtype=np.intp)

    def resample_all(self) -> None:
        """Request that all members that follow the posterior move at the next ``resample``."""

    def move_to(self, query: Arm | PointsQuery) -> int:
        """Move a member to the place of a query; return its index, or -1 if none can move."""
        return -1

    def largest_slope(self, deviations: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """Return the largest prior slope of f; 0 if members do not depend on it."""
        return 0.0

    # -- costs ------------------------------------------------------------------------------

    @property
    def n_cost_groups(self) -> int:
        """Number of groups of queries with a cost of their own, see :attr:`kind`."""
        return len(self)

    def query_values(self, numbers: np.ndarray) -> np.ndarray:
        """Return the value of each query, given one value for each cost group."""
        return numbers

    def cost_group(self, query: Arm | PointsQuery) -> int:
        """Return the cost group of a query, in any context; -1 if the query is not in the set."""
        if isinstance(query, Arm) and query.index >= 0:
            return query.index
        return self.slot_of(query)

    # -- queries ----------------------------------------------------------------------------

    def arm(self, slot: int) -> Arm:
        """Return the query with this index."""
        return self.query_of(slot, self.rows[slot].copy())

    def query_of(self, index: int, descriptor: np.ndarray) -> Arm:
        """Return the query of a row (n_columns,)."""
        name = None if self.names is None else self.names[index]
        points, weights = (None, None) if self.members is None else self.members[index]
        arm = Arm(index, descriptor, self.layout, name, points, weights)
        return arm.with_names(self.space_of_all)

    def named_arm(self, name: str) -> Arm:
        """Return the query with this name."""
        labels = self.names or []
        if name not in labels:
            shown = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
            raise ValueError(f"there is no query named {name!r}; the names are {shown}")
        return self.arm(labels.index(name))

    def query_from_values(self, values: np.ndarray) -> Arm | None:
        """Return the query of a point with further columns, or None if it is not one."""
        return None

    def slot_of(self, query: Arm | PointsQuery) -> int:
        """Return the index of a query, -1 if it is not in the set in the present context."""
        if isinstance(query, Arm) and query.index >= 0:
            here = self.context is None or np.array_equal(query.context, self.context)
            return query.index if here else -1
        return self.slot_of_row(self.rows_of_query(query))

    def slot_of_row(self, row_set: np.ndarray) -> int:
        """Return the index of the query of one row (1, n_columns), -1 if there is none."""
        if len(row_set) != 1:
            return -1
        # The last column distinguishes nearly all of them; the first ones have contexts.
        near = (self.rows[:, -1] == row_set[0, -1]).nonzero()[0]
        equal = near[(self.rows[near] == row_set).all(axis=1)]
        return int(equal[0]) if len(equal) else -1

    def different_from(self, query: Arm) -> np.ndarray:
        """Return a mask (n_queries,) of the queries that differ from ``query``."""
        if query.index >= 0 and self.slot_of(query) >= 0:
            return np.arange(len(self)) != query.index
        # Candidates that follow the posterior may coincide with others.
        return (self.rows != query.descriptor).any(axis=1)

    def arm_at(self, row_set: np.ndarray) -> Arm | None:
        """Return the query of a row (1, n_columns), or None if it is not in the set."""
        slot = self.slot_of_row(row_set)
        return self.arm(slot) if slot >= 0 else None

    def placements_of(self, slot: int) -> Placements | None:
        """Return the possible places of a query of this kind; None if they are finitely many."""
        return None

    def rows_of_query(self, query: Arm | PointsQuery) -> np.ndarray:
        """Return the descriptor rows of a query."""
        if isinstance(query, Arm):
            return query.descriptor[np.newaxis]
        return self.rows_of(query.points)

    def resolve(self, query: Arm) -> None:
        """Raise ValueError unless a query is in the set."""
        if not self._knows(query):
            raise ValueError(
                f"{query} is not one of this optimizer's arms ({len(self)} of "
                f"{self.rows.shape[1]} columns)"
            )

    def __contains__(self, query: object) -> bool:
        return isinstance(query, Arm) and self._knows(query)

    def _knows(self, query: Arm) -> bool:
        row, n = query.descriptor, self.layout.n_context
        if query.layout != self.layout or row.shape != self.rows.shape[1:]:
            return False
        if n:
            plain = self.layout.actions_of(row[np.newaxis])
            if not np.array_equal(self.layout.with_contexts(query.context, plain)[0], row):
                return False
            check_inside(query.context[np.newaxis], self.context_bounds)
            row = plain[0]
        return self._has(query.index, row)

    def _has(self, index: int, plain: np.ndarray) -> bool:
        """Return whether the query with this index has this row, without contexts."""
        if index == -1:
            return bool((self.earlier == plain).all(axis=1).any())
        return 0 <= index < len(self) and np.array_equal(self.plain[index], plain)

    def _is_inside(self, plain: np.ndarray) -> bool:
        """Return True; raise ValueError if a row without context is outside the box."""
        check_inside(
            np.concatenate(self.layout.actions_layout.corners(plain[np.newaxis])), self.bounds
        )
        return True

    # -- rows -------------------------------------------------------------------------------

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """Return descriptor rows (n, n_columns) of values of f at points (n, n_sides)."""
        return self.layout.rows_of(points)

    def places_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the points (n, n_sides), or centres, of rows, contexts included."""
        return self.layout.places(rows)

    def every_place(self) -> np.ndarray:
        """Return the points of the queries without contexts, shape (n_queries, d)."""
        return self.layout.actions_layout.places(self.plain)

    def every_row(self) -> np.ndarray:
        """Return the rows of all queries, or of representatives, in representative contexts."""
        n = self.layout.n_context
        if not n:
            return self.rows
        each = max(FEWEST_CONTEXTS, MOST_CONTEXT_ROWS // len(self.plain))
        contexts = spread_points(self.context_bounds, each, np.full(n, 0.5))
        return np.concatenate([self.layout.with_contexts(each, self.plain) for each in contexts])

    def probes(self, n: int, shift: np.ndarray) -> np.ndarray:
        """Return rows of n points where candidates may move; empty if they do not move."""
        return self.rows[:0]

    def rivals(self) -> np.ndarray:
        """Return rows that represent all possible recommendations, to estimate the gap."""
        return self.rows.copy()

    # -- first design -----------------------------------------------------------------------

    def first_arm(self, n: int, known: np.ndarray, failed: np.ndarray, seed: int) -> Arm | None:
        """Return the one of n queries that fill the domain evenly farthest from evaluated ones.

        Parameters
        ----------
        n : int
            Size of the first design.
        known : ndarray of shape (m, n_columns)
            Rows of evaluated or pending queries, in any context.
        failed : ndarray of shape (k, n_columns)
            Rows of failed queries.
        seed : int
            Seeds the design.

        Returns
        -------
        arm : Arm or None
            None if the evaluated queries already fill the space.
        """
        places, more = self.every_place(), len(failed)
        if len(self._first) < min(n + more, len(self)):
            self._first = first_members(places, self.bounds, n, seed, more)
        number = self._next_place(places[self._first], n, known, failed)
        return None if number is None else self.arm(int(self._first[number]))

    def _next_place(
        self, places: np.ndarray, n: int, known: np.ndarray, failed: np.ndarray
    ) -> int | None:
        known, failed = (
            self.layout.actions_layout.places(self.layout.actions_of(rows))
            for rows in (known, failed)
        )
        return next_place(places, n, known, failed, self.bounds)

    def arm_in(self, placements: Placements, place: np.ndarray) -> Arm:
        """Return the query at a place (n_free,) of ``placements``."""
        return self.placed_arm(placements.rows_at(place[np.newaxis])[0])

    def query_of_box(self, box: np.ndarray) -> Arm:
        """Return the query of the average over a box (2 d,), if rows describe boxes."""
        assert self.describes_boxes
        lower, upper = np.split(box, 2)
        for i, (_, axis) in enumerate([] if self.space is None else self.space.axes):
            # A single separate value is a point at the middle of its interval, not a cell.
            if isinstance(axis, SeparateAxis) and len(set(axis.run(lower[i], upper[i]))) == 1:
                lower[i] = upper[i] = 0.5 * (lower[i] + upper[i])
        return self.placed_arm(np.concatenate([lower, upper]))

    @property
    def describes_boxes(self) -> bool:
        """True if a query is the average over a box, of one function."""
        return self.layout.boxes and self.layout.task_column is None

    def placed_arm(self, plain: np.ndarray) -> Arm:
        """Return the query of a row without context, in the present context, with index -1."""
        row = plain[np.newaxis]
        if self.context is not None:
            row = self.layout.with_contexts(self.context, row)
        return self.query_of(-1, row[0].copy())

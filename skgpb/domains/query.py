"""The frozen base class of all queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from skgpb.domains.space import ParameterSpace, equal
from skgpb.domains.value_ranges import representatives_within
from skgpb.kernels._boxes import representatives

__all__ = ["PointsQuery", "Query", "Region"]

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
        self.freeze(**{name: getattr(self, name) for name in self.arguments})

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
        return representatives(lower, upper, counts)

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

"""What an optimizer asks: one frozen base for every kind of query."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class Query:
    """A query, immutable and hashable; ``np.asarray(query)`` gives :attr:`points`.

    A kind of query names the arguments of its constructor in ``arguments``, hands them to
    :meth:`freeze` under these names, and says where f is evaluated in :meth:`find_points`. From
    these follow equality, hashing, pickling and what files keep.

    Attributes
    ----------
    points : ndarray of shape (S, d)
        Where f is evaluated; the reward is the average there.
    """

    __slots__ = ("_points",)

    # None until it is asked for.
    _points: Any

    #: Names of the constructor's arguments, in its order; each is an attribute.
    arguments: ClassVar[tuple[str, ...]] = ()

    def freeze(self, **values: Any) -> None:
        """Set attributes, once and for all; arrays become read-only."""
        put = object.__setattr__
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            put(self, name, value)
        put(self, "_points", None)

    def find_points(self) -> np.ndarray:
        """Return :attr:`points`, which is asked for once."""
        raise NotImplementedError

    @property
    def points(self) -> np.ndarray:
        """Where f is evaluated, shape (S, d)."""
        if self._points is None:
            points = self.find_points()
            points.flags.writeable = False
            object.__setattr__(self, "_points", points)
        return self._points

    @property
    def box(self) -> np.ndarray:
        """Box [lower, upper] around what the query observes, shape (2 d,)."""
        return np.concatenate([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def identity(self) -> tuple:
        """What makes two queries of one kind equal: the arguments, arrays as bytes."""
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
        return self is other or (type(other) is type(self) and self.identity == other.identity)

    def __hash__(self) -> int:
        return hash(self.identity)

    def __reduce__(self) -> tuple:
        return type(self), tuple(getattr(self, name) for name in self.arguments)


class PointsQuery(Query):
    """Points told from outside: the reward is their average.

    Attributes
    ----------
    points : ndarray of shape (S, d)
        The points.
    """

    __slots__ = ()

    arguments = ("points",)

    def __init__(self, points: np.ndarray) -> None:
        self.freeze()
        object.__setattr__(self, "_points", points)

    def __repr__(self) -> str:
        return f"PointsQuery({self.points.tolist()})"

"""The queries of the indirect-query methods: a row a, or a cell that stands for one."""

from __future__ import annotations

from typing import Any

import numpy as np


class IndirectQuery:
    """One indirect query, immutable and hashable; ``np.asarray(query)`` gives :attr:`points`.

    Attributes
    ----------
    a : ndarray of shape (q,)
        What is asked: the row that ``conditional`` takes.
    cost : float
        What its answer costs.
    index : int
        Row of the candidates; -1 for a point of a continuous query space.
    points : ndarray of shape (1, q)
        ``a`` as a row.

    Examples
    --------
    >>> from skgpb import CMESOptimizer
    >>> query = CMESOptimizer(domain=[(0, 1)], candidates=[[0.5]]).ask()
    >>> query
    IndirectQuery(a=[0.5], cost=1.0, index=0)
    """

    __slots__ = ("a", "cost", "index")

    def __init__(self, a: np.ndarray, cost: float = 1.0, index: int = -1) -> None:
        a = np.array(a, dtype=np.float64)
        a.flags.writeable = False
        for name, value in (("a", a), ("cost", float(cost)), ("index", int(index))):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a query is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a query is immutable: cannot delete {name}")

    @property
    def points(self) -> np.ndarray:
        """The query as a row, shape (1, q)."""
        return self.a[np.newaxis]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype) != self.a.dtype:
            if copy is False:
                raise ValueError("a query cannot be converted without a copy")
            return self.points.astype(dtype)
        return self.points.copy() if copy or copy is None else self.points

    def _arguments(self) -> tuple:
        return self.a, self.cost, self.index

    def _key(self) -> tuple:
        return tuple(x.tobytes() if isinstance(x, np.ndarray) else x for x in self._arguments())

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self.a.tobytes())

    def __reduce__(self) -> tuple:
        return type(self), self._arguments()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(a={self.a}, cost={self.cost}, index={self.index})"


class IndirectCell(IndirectQuery):
    """A cell of the query space, asked through its centre at the resolution of its depth.

    Attributes
    ----------
    a : ndarray of shape (q,)
        What is asked: the row that ``conditional`` takes.
    cost : float
        What its answer costs.
    depth, index : int
        Place in the tree: the children of ``(depth, index)`` are
        ``(depth + 1, K**q * index + j)``.
    lower, upper, center : ndarray of shape (q,)
        Corners and centre of the cell.
    points : ndarray of shape (1, q)
        The centre as a row.
    """

    __slots__ = ("depth", "lower", "upper")

    def __init__(
        self,
        a: np.ndarray,
        cost: float,
        index: int,
        depth: int,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> None:
        super().__init__(a, cost, index)
        lower, upper = (np.array(x, dtype=np.float64) for x in (lower, upper))
        lower.flags.writeable = upper.flags.writeable = False
        for name, value in (("depth", int(depth)), ("lower", lower), ("upper", upper)):
            object.__setattr__(self, name, value)

    @property
    def center(self) -> np.ndarray:
        """Centre of the cell, shape (q,)."""
        return 0.5 * (self.lower + self.upper)

    @property
    def points(self) -> np.ndarray:
        """The centre as a row, shape (1, q)."""
        points = self.center[np.newaxis]
        points.flags.writeable = False
        return points

    def _arguments(self) -> tuple:
        return self.a, self.cost, self.index, self.depth, self.lower, self.upper

    def __repr__(self) -> str:
        place = f"depth={self.depth}, index={self.index}"
        return f"IndirectCell({place}, lower={self.lower}, upper={self.upper}, cost={self.cost})"

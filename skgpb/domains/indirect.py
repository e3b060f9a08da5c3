"""The queries of the indirect-query methods: a row a, or a cell that stands for one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from skgpb.domains.query import Query


class IndirectQuery(Query):
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

    arguments: ClassVar[tuple[str, ...]] = ("a", "cost", "index")

    a: np.ndarray
    cost: float
    index: int

    def __init__(self, a: np.ndarray, cost: float = 1.0, index: int = -1) -> None:
        self.freeze(a=np.array(a, dtype=np.float64), cost=float(cost), index=int(index))

    def find_points(self) -> np.ndarray:
        """The query as a row."""
        return self.a[np.newaxis]

    def __hash__(self) -> int:
        return hash(self.a.tobytes())

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

    arguments = ("a", "cost", "index", "depth", "lower", "upper")

    depth: int
    lower: np.ndarray
    upper: np.ndarray

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
        self.freeze(depth=int(depth), lower=lower, upper=upper)

    @property
    def center(self) -> np.ndarray:
        """Centre of the cell, shape (q,)."""
        return 0.5 * (self.lower + self.upper)

    def find_points(self) -> np.ndarray:
        """The centre as a row."""
        return self.center[np.newaxis]

    def __repr__(self) -> str:
        place = f"depth={self.depth}, index={self.index}"
        return f"IndirectCell({place}, lower={self.lower}, upper={self.upper}, cost={self.cost})"

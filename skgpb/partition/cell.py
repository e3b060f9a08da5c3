"""The query of the tree methods: one cell of a partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgpb.kernels._boxes import representatives


class Cell:
    """One cell of a hierarchical partition, immutable and hashable.

    ``np.asarray(cell)`` gives :attr:`points`.

    Attributes
    ----------
    depth, index : int
        Place in the tree: the children of ``(depth, index)`` are ``(depth + 1, K * index + j)``.
    lower, upper : ndarray of shape (d,)
        Corners of the cell; for a pool, the bounding box of its members.
    members : ndarray of shape (n_members,) or None
        Row numbers of the pool's members in the cell; None where the domain is a box.

    Examples
    --------
    >>> from skgpb import GPOOOptimizer
    >>> cell = GPOOOptimizer(bounds=[(0, 1)], n_representatives=4).ask()
    >>> cell
    Cell(depth=0, index=0, lower=[0.], upper=[1.])
    >>> cell.points.ravel()
    array([0.125, 0.375, 0.625, 0.875])
    """

    __slots__ = ("_points", "_spec", "depth", "index", "lower", "members", "upper")

    def __init__(
        self,
        depth: int,
        index: int,
        lower: np.ndarray,
        upper: np.ndarray,
        spec: tuple[int, ...] | np.ndarray,
        members: np.ndarray | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "depth", depth)
        put(self, "index", index)
        put(self, "lower", lower)
        put(self, "upper", upper)
        # Points per axis of a box, or the representatives themselves.
        put(self, "_spec", spec)
        put(self, "_points", None)
        put(self, "members", members)
        lower.flags.writeable = upper.flags.writeable = False

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a cell is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a cell is immutable: cannot delete {name}")

    @property
    def points(self) -> np.ndarray:
        """Representatives of the cell, shape (S, d)."""
        if self._points is None:
            if isinstance(self._spec, np.ndarray):
                points = self._spec
            else:
                points = representatives(self.lower, self.upper, self._spec)
            points.flags.writeable = False
            object.__setattr__(self, "_points", points)
        return self._points

    @property
    def center(self) -> np.ndarray:
        """Centre of the box [lower, upper], shape (d,)."""
        return 0.5 * (self.lower + self.upper)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        points = self.points
        if dtype is not None and np.dtype(dtype) != points.dtype:
            if copy is False:
                raise ValueError("the points of a cell cannot be converted without a copy")
            return points.astype(dtype)
        return points.copy() if copy or copy is None else points

    def _key(self) -> tuple:
        spec = self._spec.tobytes() if isinstance(self._spec, np.ndarray) else self._spec
        members = None if self.members is None else self.members.tobytes()
        return self.depth, self.index, self.lower.tobytes(), self.upper.tobytes(), spec, members

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Cell) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((self.depth, self.index, self.lower.tobytes(), self.upper.tobytes()))

    def __reduce__(self) -> tuple:
        arguments = (self.depth, self.index, self.lower, self.upper, self._spec, self.members)
        return Cell, arguments

    def __repr__(self) -> str:
        size = "" if self.members is None else f", n_members={len(self.members)}"
        corners = f"lower={self.lower}, upper={self.upper}"
        return f"Cell(depth={self.depth}, index={self.index}, {corners}{size})"

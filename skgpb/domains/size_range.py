"""Sizes of cells that are chosen freely between a shortest and a longest one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skgpb.domains.candidates import spread_points

# Of sizes of one shape so many stand for all; where every side has a length of its own so many,
# and so many others.
N_ALIKE, N_ALIKE_AMONG, N_OTHERS = 7, 4, 7


class SizeRange:
    """All sizes of cells between two, for the ``sizes`` of :class:`Cells`.

    Parameters
    ----------
    shortest, longest : float, tuple of d floats, or dict
        The shortest and the longest sides, as :class:`Cells` takes them. A side that is as long in
        both has this length, any other one is above 0. Of a side of separate values both have as
        many.
    proportional : bool, default=False
        Whether all sides are as far on the way from the shortest to the longest, so that all cells
        between two squares are squares. Otherwise every side has a length of its own.

    Examples
    --------
    >>> from skgpb.domains import Cells, SizeRange
    >>> Cells(SizeRange(0.05, 0.4))  # all rectangles with sides from 0.05 to 0.4
    Cells(SizeRange(0.05, 0.4))
    >>> Cells(SizeRange(0.05, 0.4, proportional=True))  # squares
    Cells(SizeRange(0.05, 0.4, proportional=True))
    """

    #: Names of the constructor's arguments, for files.
    arguments: ClassVar[tuple[str, ...]] = ("shortest", "longest", "proportional")

    def __init__(self, shortest: Any, longest: Any, proportional: bool = False) -> None:
        if not isinstance(proportional, bool):
            raise ValueError(f"proportional must be True or False, got {proportional!r}")
        self.shortest = shortest
        self.longest = longest
        self.proportional = proportional

    def __repr__(self) -> str:
        more = ", proportional=True" if self.proportional else ""
        return f"SizeRange({self.shortest!r}, {self.longest!r}{more})"

    def __eq__(self, other: object) -> bool:
        return type(other) is SizeRange and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


class SidesBetween:
    """Sides of cells between two, and how far on the way each of them is.

    Parameters
    ----------
    shortest, longest : ndarray of shape (d,)
        Sides, of which those that differ are above 0 and longer in the longest cell.
    proportional : bool
        Whether all sides are as far.

    Attributes
    ----------
    varies : ndarray of shape (d,)
        Which sides differ.
    n_shares : int
        How many numbers in [0, 1] say what the sides are: 0 at the shortest, and in proportion to
        the logarithm.
    lengths : ndarray of shape (n_shares,)
        Logarithms of the factors from the shortest to the longest side; the largest where all
        sides are as far.
    """

    def __init__(self, shortest: np.ndarray, longest: np.ndarray, proportional: bool) -> None:
        self.shortest: np.ndarray = shortest
        self.longest: np.ndarray = longest
        self.varies: np.ndarray = longest > shortest
        self._logs: np.ndarray = np.log(longest[self.varies] / shortest[self.varies])
        n = len(self._logs)
        self.n_shares: int = min(n, 1) if proportional else n
        self.lengths: np.ndarray = self._logs if self.n_shares == n else self._logs.max(keepdims=1)

    def at(self, shares: np.ndarray) -> np.ndarray:
        """Sides (n, d) at shares (n, n_shares)."""
        sides = np.tile(self.shortest, (len(shares), 1))
        sides[:, self.varies] *= np.exp(self._logs * shares)
        return sides

    def slopes(self, sides: np.ndarray) -> np.ndarray:
        """Derivatives (d, n_shares) of sides (d,) by the shares."""
        each = np.zeros((len(sides), len(self._logs)))
        each[self.varies, np.arange(len(self._logs))] = sides[self.varies] * self._logs
        return each.sum(axis=1, keepdims=True) if self.n_shares < len(self._logs) else each

    def shares(self, sides: np.ndarray) -> np.ndarray:
        """Shares (n, n_shares) of sides (n, d) in the range."""
        each = np.log(sides[:, self.varies] / self.shortest[self.varies]) / self._logs
        return np.clip(each, 0.0, 1.0)[:, : self.n_shares]

    def within(self, sides: np.ndarray, tolerance: np.ndarray) -> bool:
        """Whether sides (d,) are in the range, but for a tolerance (d,)."""
        held = np.clip(sides, self.shortest, self.longest)
        if self.n_shares < len(self._logs):
            held = self.at(self.shares(held[np.newaxis]))[0]
        return bool((np.abs(held - sides) <= tolerance).all())

    def spread(self) -> np.ndarray:
        """Sides (n_sizes, d) that stand for all, both ends among them; evenly by logarithms."""
        n = self.n_shares
        if n == 0:
            return self.shortest[np.newaxis]
        if n == 1:
            return self.at(np.linspace(0.0, 1.0, N_ALIKE)[:, np.newaxis])
        alike = np.tile(np.linspace(0.0, 1.0, N_ALIKE_AMONG)[:, np.newaxis], (1, n))
        cube = np.tile([0.0, 1.0], (n, 1))
        return self.at(np.concatenate([alike, spread_points(cube, N_OTHERS, np.full(n, 0.5))]))

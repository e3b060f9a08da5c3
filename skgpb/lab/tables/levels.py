"""Levels of a feature, and moments of the target over the rows of each level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from skgpb.lab.tables.conditions import Categories, Condition, Range, Subgroup

__all__ = ["Levels", "Moments"]


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of one feature: intervals of numbers, or categories.

    Parameters
    ----------
    name : str
        The feature.
    kind : {"number", "category"}
        Dates and all other values with an order are numbers.
    edges : tuple, default=()
        Increasing edges of a number. Level ``i`` holds ``edges[i - 1] <= value < edges[i]``; there
        is one level more than there are edges, and the outer levels have no end.
    labels : tuple, default=()
        Labels of a category: level ``i`` holds ``value == labels[i]``.
    missing : bool, default=False
        Whether some values are missing. Their rows are one more level, the last.

    Examples
    --------
    >>> from skgpb.lab.tables import Levels
    >>> age = Levels("age", "number", edges=(18, 65), missing=True)
    >>> age.n_levels
    4
    >>> print(age.subgroup(1, 2))
    age >= 18 and age < 65
    """

    name: str
    kind: Literal["number", "category"]
    edges: tuple[Any, ...] = ()
    labels: tuple[Any, ...] = ()
    missing: bool = False

    @property
    def n_values(self) -> int:
        """Number of levels, without the level of missing values."""
        return len(self.edges) + 1 if self.kind == "number" else len(self.labels)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return self.n_values + self.missing

    def interval(self, start: int, stop: int, missing: bool = False) -> Range:
        """Return the side of a number that holds the levels from ``start`` to ``stop``.

        Parameters
        ----------
        start, stop : int
            The first level inside, and the level after the last one inside.
        missing : bool, default=False
            Whether missing values are inside.
        """
        if not 0 <= start < stop <= self.n_values:
            raise ValueError(
                f"start and stop must be 0 <= start < stop <= {self.n_values}, got {start}, {stop}"
            )
        low = self.edges[start - 1] if start else None
        high = self.edges[stop - 1] if stop < self.n_values else None
        return Range(low, high, "left", missing)

    def categories(self, levels: Iterable[int], missing: bool = False) -> Categories:
        """Return the side of a category that holds these levels."""
        return Categories(tuple(self.labels[i] for i in sorted(levels)), missing)

    def side(self, inside: np.ndarray) -> Condition | None:
        """Return the side that holds these levels.

        Parameters
        ----------
        inside : ndarray of shape (n_levels,) of bool
            Whether each level is inside. The levels of a number must be neighbours, except for
            that of missing values.

        Returns
        -------
        side : Range, Categories or None
            None if all levels are inside.
        """
        if inside.all():
            return None
        values, missing = inside[: self.n_values], bool(self.missing and inside[-1])
        among = np.flatnonzero(values)
        if self.kind == "category" or not len(among):
            return self.categories(among.tolist(), missing)
        return self.interval(int(among[0]), int(among[-1]) + 1, missing)

    def inside(self, side: Condition) -> np.ndarray:
        """Return the levels that a side holds: the inverse of :meth:`side`.

        Parameters
        ----------
        side : Range or Categories
            A side whose ends are edges of levels.

        Returns
        -------
        inside : ndarray of shape (n_levels,) of bool
        """
        inside = np.zeros(self.n_levels, dtype=bool)
        if isinstance(side, Categories):
            inside[[self.labels.index(label) for label in side.among]] = True
        elif self.kind == "category" or side.closed != "left":
            raise ValueError(f"{side} is not a side of {self.name!r}, a {self.kind}")
        else:
            start = 0 if side.low is None else self.edges.index(side.low) + 1
            stop = self.n_values if side.high is None else self.edges.index(side.high) + 1
            inside[start:stop] = True
        if self.missing:
            inside[-1] = side.missing
        return inside

    def subgroup(self, start: int, stop: int) -> Subgroup:
        """Return the box whose only side is :meth:`interval`."""
        return Subgroup(((self.name, self.interval(start, stop)),))


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of the targets of several groups of rows, which are levels or boxes.

    Parameters
    ----------
    n : ndarray of shape (n_groups,) of int
        Number of rows.
    mean : ndarray of shape (n_groups,)
        Average of the target over the rows; 0 for a group without rows.
    variance : ndarray of shape (n_groups,)
        Average of the squared deviations from ``mean``; 0 for a group without rows.
    noise : ndarray of shape (n_groups,) or None, default=None
        Variance of the error of ``mean`` as an estimate, from a source that averages a sample of
        the rows or adds noise; None for exact averages.
    """

    n: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    noise: np.ndarray | None = None

    @classmethod
    def of_sums(cls, n: np.ndarray, total: np.ndarray, squares: np.ndarray) -> Moments:
        """Return the moments with these sums over the rows of each group.

        Parameters
        ----------
        n : ndarray of shape (n_groups,)
            Number of rows.
        total, squares : ndarray of shape (n_groups,)
            Sums of the targets and of their squares. Subtract a number near all targets first: the
            variance is a difference of squares, and loses digits otherwise.
        """
        some = np.maximum(n, 1)
        mean = total / some
        return cls(n, mean, np.maximum(squares / some - mean**2, 0.0))


@dataclass(frozen=True)
class Shape:
    """Layout of a vector of length ``size`` with an entry for each level of each feature.

    Attributes
    ----------
    levels : tuple of Levels
        The features.
    offsets : ndarray of shape (d + 1,) of int32
        Position of the first level of each feature.
    n_values : ndarray of shape (d,) of int32
        Number of levels of each feature, without the level of missing values.
    ordered : ndarray of shape (d,) of uint8
        1 for a number, whose sides hold neighbouring levels; 0 for a category.
    """

    levels: tuple[Levels, ...]
    offsets: np.ndarray
    n_values: np.ndarray
    ordered: np.ndarray

    @classmethod
    def from_levels(cls, levels: Sequence[Levels]) -> Shape:
        """Return the layout of these features."""
        sizes = [each.n_levels for each in levels]
        return cls(
            tuple(levels),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.array([each.n_values for each in levels], dtype=np.int32),
            np.array([each.kind == "number" for each in levels], dtype=np.uint8),
        )

    @cached_property
    def parts(self) -> list[slice]:
        """The levels of each feature."""
        return [slice(*ends) for ends in pairwise(self.offsets.tolist())]

    @property
    def everything(self) -> np.ndarray:
        """The box of all rows, shape (size,) of uint8."""
        return np.ones(self.offsets[-1], dtype=np.uint8)

    def holds(self, codes: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return whether rows are in a box.

        Parameters
        ----------
        codes : ndarray of shape (n, d)
            The level of each row and feature.
        inside : ndarray of shape (size,)
            The box: whether each level is inside.

        Returns
        -------
        rows : ndarray of shape (n,) of bool
        """
        rows = np.ones(len(codes), dtype=bool)
        for j, part in enumerate(self.parts):
            side = inside[part].astype(bool)
            if not side.all():
                rows &= side[codes[:, j]]
        return rows

    def inside(self, box: Subgroup) -> np.ndarray:
        """Return whether each level is inside a box, (size,) of uint8; invert :meth:`subgroup`."""
        inside = self.everything
        for part, levels in zip(self.parts, self.levels, strict=True):
            if levels.name in box:
                inside[part] = levels.inside(box[levels.name])
        return inside

    def is_empty(self, inside: np.ndarray) -> bool:
        """Return whether some feature has no level inside."""
        return not np.logical_or.reduceat(inside, self.offsets[:-1]).all()

    def subgroup(self, inside: np.ndarray) -> Subgroup:
        """Return the box with the levels ``inside`` (size,)."""
        sides = {}
        for part, levels in zip(self.parts, self.levels, strict=True):
            side = levels.side(inside[part].astype(bool))
            if side is not None:
                sides[levels.name] = side
        return Subgroup.from_sides(sides)


def is_two_valued(mean: float, variance: float, low: float, high: float) -> bool:
    """Return whether all values are ``low`` or ``high``: only then is the variance that large.

    ``low`` and ``high`` are the smallest and the largest value.
    """
    return low < high and math.isclose(variance, (mean - low) * (high - mean), rel_tol=1e-9)

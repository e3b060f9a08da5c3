"""A table in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import date, timedelta
from decimal import Decimal
from math import floor, isinf, log10
from typing import Any

import numpy as np

from skgpb.lab.tables.conditions import Range, Subgroup
from skgpb.lab.tables.levels import Levels, Moments, Shape
from skgpb.utils.typing import Values

__all__ = ["MemoryTable"]

# Largest number of bins of a number.
N_BINS = 128
DATES = (
    "dates and durations have to be given as numbers, such as days: (day - day.min()).dt.days for "
    "a column of pandas"
)
# Levels are 16-bit numbers.
MOST_LABELS = 2**16 - 1
# A column with more categories than this, and than half of the rows, identifies rows.
MOST_OF_FEW = 50


class MemoryTable:
    """A table in memory, for searches.

    Parameters
    ----------
    columns : mapping of str to array-like of shape (n_rows,), or ndarray of shape (n_rows, d)
        The features; a missing value is NaN or None. Floats, integers and decimals are numbers,
        all other values are categories. Columns of an array are called x0, x1, ...
    y : array-like of shape (n_rows,)
        The target: finite numbers.
    n_bins : int, default=128
        Levels of a number, at most.

    Attributes
    ----------
    columns : dict of str to ndarray of shape (n_rows,)
        The features: numbers as floats, categories as objects.
    levels : tuple of Levels
        The features and their levels. Each edge is midway between two values.
    n_rows : int
        Number of rows.
    codes : ndarray of shape (n_rows, d) of uint16
        The level of each row and feature.
    shape : Shape
        Layout of vectors over all levels.

    Examples
    --------
    >>> from skgpb.lab.tables import MemoryTable
    >>> table = MemoryTable({"age": [30.0, 40.0, 50.0]}, [1.0, 2.0, 6.0])
    >>> table.levels[0].edges
    (35.0, 45.0)
    >>> table.totals([table.levels[0].subgroup(1, 3)]).mean
    array([4.])
    """

    def __init__(
        self,
        columns: Mapping[str, Any] | np.ndarray,
        y: Values,
        n_bins: int = N_BINS,
    ) -> None:
        if isinstance(columns, np.ndarray):
            columns = {f"x{j}": column for j, column in enumerate(columns.T)}
        self.y: np.ndarray = np.ascontiguousarray(y, dtype=np.float64)
        self.columns: dict[str, np.ndarray] = {
            name: as_column(column) for name, column in columns.items()
        }
        for name, column in self.columns.items():
            if column.shape != self.y.shape:
                raise ValueError(
                    f"column {name!r} has the shape {column.shape}, y has {self.y.shape}"
                )
        if not np.isfinite(self.y).all():
            raise ValueError("y must be finite numbers")
        found = [_levels(name, column, n_bins) for name, column in self.columns.items()]
        self.levels: tuple[Levels, ...] = tuple(levels for levels, _ in found)
        self.codes: np.ndarray = np.ascontiguousarray(
            np.column_stack([codes for _, codes in found])
        )
        self.shape: Shape = Shape.from_levels(self.levels)
        self._place = {levels.name: j for j, levels in enumerate(self.levels)}
        # Rounding: subtracted before sums of squares, whose difference is the variance.
        self._centre = float(self.y.mean())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    def part(self, rows: np.ndarray) -> MemoryTable:
        """Return the table of these rows (n,), with the same levels."""
        part = copy(self)
        part.columns = {name: column[rows] for name, column in self.columns.items()}
        part.y, part.codes = self.y[rows], self.codes[rows]
        return part

    def only(self, features: Sequence[int]) -> MemoryTable:
        """Return the table with these features only, given by their indices."""
        some = copy(self)
        some.levels = tuple(self.levels[j] for j in features)
        some.columns = {levels.name: self.columns[levels.name] for levels in some.levels}
        some.codes = np.ascontiguousarray(self.codes[:, list(features)])
        some.shape = Shape.from_levels(some.levels)
        some._place = {levels.name: j for j, levels in enumerate(some.levels)}
        return some

    def with_target(self, y: np.ndarray) -> MemoryTable:
        """Return the table with another target, shape (n_rows,)."""
        other = copy(self)
        other.y, other._centre = y, float(y.mean())
        return other

    def rows(self, box: Subgroup) -> np.ndarray:
        """Return whether each row is in a box, shape (n_rows,) of bool."""
        inside = np.ones(self.n_rows, dtype=bool)
        for name in box:
            inside &= box[name].holds(self.columns[name])
        return inside

    def tidied(self, box: Subgroup) -> Subgroup:
        """Return the box with the same rows whose ends have as few digits as possible."""
        sides = {}
        for name in box:
            side = box[name]
            if isinstance(side, Range):
                values = self.columns[name]
                low, high = (
                    None if end is None else _shorten(end, values) for end in (side.low, side.high)
                )
                side = Range(low, high, side.closed, side.missing)
            sides[name] = side
        return Subgroup.from_sides(sides)

    def totals(self, boxes: Sequence[Subgroup]) -> Moments:
        """Return the moments of the target in boxes, with arrays of shape (n_boxes,)."""
        values = [self.y[self.rows(box)] for box in boxes]
        n = np.array([len(each) for each in values])
        mean = np.array([each.mean() if len(each) else 0.0 for each in values])
        variance = np.array([each.var() if len(each) else 0.0 for each in values])
        return Moments(n, mean, variance)

    def marginals(
        self, boxes: Sequence[Subgroup], features: Sequence[Sequence[str]] | None = None
    ) -> list[dict[str, Moments]]:
        """Return the moments of the target in boxes, by levels of features.

        The parameters are described in :meth:`Table.marginals`.
        """
        return [
            self._marginals(box, self._place if features is None else features[i])
            for i, box in enumerate(boxes)
        ]

    def _marginals(self, box: Subgroup, features: Any) -> dict[str, Moments]:
        rows = np.flatnonzero(self.rows(box))
        y = self.y[rows] - self._centre
        answer = {}
        for name in features:
            j = self._place[name]
            codes, size = self.codes[rows, j], self.levels[j].n_levels
            n = np.bincount(codes, minlength=size)
            moments = Moments.of_sums(
                n, np.bincount(codes, y, size), np.bincount(codes, y * y, size)
            )
            mean = np.where(n > 0, moments.mean + self._centre, 0.0)
            answer[name] = Moments(n, mean, moments.variance)
        return answer


def as_column(values: Any) -> np.ndarray:
    """Return numbers as an array of floats, other values as objects with None if missing."""
    values = np.asarray(values)
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if values.dtype.kind in "mM":
        raise ValueError(DATES)
    column = np.empty(values.shape, dtype=object)
    # NaN and NaT differ from themselves, and pandas.NA == pandas.NA is neither true nor false.
    column[:] = [value if (value == value) is True else None for value in values.tolist()]
    if any(isinstance(value, date | timedelta) for value in column.flat):
        raise ValueError(DATES)
    there = [value for value in column.flat if value is not None]
    # Decimals, and nullable integers of pandas with missing values.
    if there and all(map(is_number, there)):
        return np.array([np.nan if value is None else float(value) for value in column.flat])
    return column


def is_number(value: Any) -> bool:
    """Return whether an object is a number; True and False are not."""
    return isinstance(value, int | float | Decimal | np.number) and not isinstance(value, bool)


def _levels(name: str, values: np.ndarray, n_bins: int) -> tuple[Levels, np.ndarray]:
    """Return the levels of a feature, and the level of each row, shape (n_rows,) of uint16."""
    if values.dtype.kind == "f":
        there = ~np.isnan(values)
        edges = _edges(values[there], n_bins)
        levels = Levels(name, "number", tuple(edges.tolist()), missing=not there.all())
        codes = np.searchsorted(edges, values, "right")
        return levels, np.where(there, codes, levels.n_values).astype(np.uint16)
    texts = values.tolist()
    different = set(texts)
    missing = None in different
    # Values of several types have no common order.
    labels = sorted(different - {None}, key=lambda label: (str(type(label)), label))
    if len(labels) >= MOST_LABELS:
        raise ValueError(f"column {name!r} has {len(labels)} categories, at most {MOST_LABELS}")
    if len(labels) > max(MOST_OF_FEW, len(texts) // 2):
        raise ValueError(
            f"column {name!r} has {len(labels):,} categories in {len(texts):,} rows: it identifies "
            "rows and cannot define groups, leave it out"
        )
    index = {label: i for i, label in enumerate([*labels, *[None] * missing])}
    levels = Levels(name, "category", labels=tuple(labels), missing=missing)
    return levels, np.fromiter((index[text] for text in texts), np.uint16, len(texts))


def _edges(values: np.ndarray, n_bins: int) -> np.ndarray:
    """Return edges that divide values into at most ``n_bins`` bins of about equal counts."""
    different, counts = np.unique(values, return_counts=True)
    if len(different) > n_bins:
        # A value is in the bin that contains the middle of its ranks.
        share = (counts.cumsum() - 0.5 * counts) * (n_bins / len(values))
        starts = np.flatnonzero(np.diff(np.floor(share))) + 1
    else:
        starts = np.arange(1, len(different))
    below, above = different[starts - 1], different[starts]
    with np.errstate(invalid="ignore"):
        middle = 0.5 * below + 0.5 * above
    # Rounding: the middle of two neighbouring floats may be the lower one.
    return np.where(middle > below, middle, above)


def _shorten(end: float, values: np.ndarray) -> float:
    """Return the number of fewest digits that divides ``values`` as ``end`` does."""
    below = values[values < end].max(initial=-np.inf)
    above = values[values >= end].min(initial=np.inf)
    return end if isinf(below) or isinf(above) else shortest(float(below), float(above))


def shortest(below: float, low: float) -> float:
    """Return the number of fewest digits in the interval (below, low]."""
    for digits in range(1, 17):
        step = 10.0 ** (floor(log10(abs(low) or 1.0)) + 1 - digits)
        rounded = float(f"{floor(low / step) * step:.{digits}g}")
        if below < rounded <= low:
            return rounded
    return low

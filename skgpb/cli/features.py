"""From columns of a table to what a search walks in, and back to words that tell a group."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgpb.cli.where import written
from skgpb.datasets import Column
from skgpb.datasets.dates import iso_date

# More categories than this are identifiers, or texts.
MOST_CATEGORIES = 100
# So many texts of a column are shown in a summary.
SHOWN = 8


@dataclass(frozen=True)
class Limits:
    """What the rows of a group have of one feature, and no others need to be told.

    Attributes
    ----------
    column : Column
        The feature.
    low, high : float or None
        Numbers or days that the rows lie between, themselves included; None where the whole table
        does.
    among : tuple of str or None
        The texts that the rows have; None where they have all there are.
    """

    column: Column
    low: float | None = None
    high: float | None = None
    among: tuple[str, ...] | None = None

    def without(self, end: str) -> Limits:
        """Return the others."""
        others = {each: getattr(self, each) for each in ("low", "high", "among") if each != end}
        return Limits(self.column, **others)

    def broken(self, end: str) -> np.ndarray:
        """Whether each row is beyond one of the limits, shape (n_rows,)."""
        values = self.column.values
        if end == "low":
            return values < self.low
        if end == "high":
            return values > self.high
        assert self.among is not None
        codes = [self.column.labels.index(label) for label in self.among]
        return ~np.isin(values, codes)

    @property
    def said(self) -> str:
        """For people."""
        if self.column.kind == "texts":
            if self.among is None:
                return "any"
            shown = ", ".join(self.among[:SHOWN])
            more = len(self.among) - SHOWN
            return shown + (f" and {more} more" if more > 0 else "")
        if self.low is None and self.high is None:
            return "any"
        if self.high is None:
            return f"{self._written(self.low)} or more"
        if self.low is None:
            return f"up to {self._written(self.high)}"
        return f"{self._written(self.low)} to {self._written(self.high)}"

    def _written(self, value: float | None) -> str:
        assert value is not None
        if self.column.kind == "dates":
            return iso_date(value)
        text = repr(value)
        return text if "e" in text else f"{value:,}".removesuffix(".0")

    @property
    def conditions(self) -> list[str]:
        """For ``--where``."""
        name = written(self.column.name)
        if self.column.kind == "texts":
            if self.among is None:
                return []
            texts = ", ".join("'" + text.replace("'", "''") + "'" for text in self.among)
            return [f"{name} in ({texts})" if len(self.among) > 1 else f"{name} = {texts}"]
        dates = self.column.kind == "dates"
        signs = ((">=", self.low), ("<=", self.high))
        return [
            f"{name} {sign} "
            + (f"'{iso_date(value)}'" if dates else repr(value).removesuffix(".0"))
            for sign, value in signs
            if value is not None
        ]


class FeatureSpace:
    """Features of the rows as coordinates.

    Numbers and dates are one coordinate each. Texts are one of 0 and 1 for each category, or,
    where they are to be groups, one that counts the categories in the order of the alphabet, so
    that neighbours in it come into one group.

    Parameters
    ----------
    columns : sequence of Column
        The features, without missing values.
    groups : collection of str
        Names of those whose categories become groups.

    Attributes
    ----------
    coordinates : ndarray of shape (n_rows, d)
        What the search sees.
    feature_of : ndarray of shape (d,)
        To which feature each coordinate belongs.
    """

    columns: list[Column]

    def __init__(self, columns: Sequence[Column], groups: Collection[str] = ()) -> None:
        self.columns, self._groups = list(columns), set(groups)
        parts = [self._part(column) for column in self.columns]
        self.coordinates: np.ndarray = np.column_stack(parts)
        widths = [1 if part.ndim == 1 else part.shape[1] for part in parts]
        self.feature_of: np.ndarray = np.repeat(np.arange(len(parts)), widths)

    def _part(self, column: Column) -> np.ndarray:
        n = len(column.labels)
        ordered = column.kind != "texts" or column.name in self._groups or n <= 2
        if ordered:
            return column.values
        if n > MOST_CATEGORIES:
            raise ValueError(
                f"column {column.name!r} has {n:,} different texts, such as {column.labels[0]!r}: "
                f"more than {MOST_CATEGORIES} are no categories, unless --groups {column.name} "
                "makes groups of neighbours in the alphabet"
            )
        return (column.values[:, None] == np.arange(n)).astype(np.float64)

    def limits(self, members: np.ndarray, first: Sequence[str] = ()) -> list[Limits]:
        """Return what tells a group from all other rows, if a box does, and no more than that.

        Parameters
        ----------
        members : ndarray of shape (n_members,)
            The rows of the group.
        first : sequence of str, default=()
            Names of features; those that come last are left out first where they are not needed.

        Returns
        -------
        limits : list of Limits
            For each feature. Numbers are as short as they can be.
        """
        limits = [self._limits(column, members) for column in self.columns]
        names = [*first, *(column.name for column in self.columns if column.name not in first)]
        order = sorted(range(len(limits)), key=lambda i: -names.index(self.columns[i].name))
        ends = [(i, end) for i in order for end in ("low", "high", "among")]
        ends = [(i, end) for i, end in ends if getattr(limits[i], end) is not None]
        broken = np.zeros(len(self.coordinates), dtype=np.int32)
        for i, end in ends:
            broken += limits[i].broken(end)
        for i, end in ends:
            outside = limits[i].broken(end)
            # Whether some row is kept out by this alone.
            if not (outside & (broken == 1)).any():
                limits[i] = limits[i].without(end)
                broken -= outside
        return limits

    def _limits(self, column: Column, members: np.ndarray) -> Limits:
        inside = column.values[members]
        low, high = inside.min(), inside.max()
        if column.kind == "texts":
            codes = np.unique(inside).astype(int)
            if column.name in self._groups:
                codes = np.arange(int(low), int(high) + 1)
            among = tuple(column.labels[code] for code in codes)
            present = len(np.unique(column.values))
            return Limits(column, among=None if len(codes) == present else among)
        below = column.values[column.values < low].max(initial=-math.inf)
        above = column.values[column.values > high].min(initial=math.inf)
        if column.kind == "dates":
            return Limits(
                column,
                low=None if below == -math.inf else float(low),
                high=None if above == math.inf else float(high),
            )
        return Limits(
            column,
            low=None if below == -math.inf else shortest(float(below), float(low)),
            high=None if above == math.inf else -shortest(-float(above), -float(high)),
        )

    def ends(self, members: np.ndarray, end: Callable[[np.ndarray], Any]) -> list[Any]:
        """Lowest or highest value that rows have of each feature, for JSON; None of texts."""
        values = [
            None if column.kind == "texts" else float(end(column.values[members]))
            for column in self.columns
        ]
        return [
            iso_date(value) if value is not None and column.kind == "dates" else value
            for column, value in zip(self.columns, values, strict=True)
        ]


def shortest(below: float, low: float) -> float:
    """Return the number of fewest digits above one number and up to another one."""
    for digits in range(1, 17):
        step = 10.0 ** (math.floor(math.log10(abs(low) or 1.0)) + 1 - digits)
        rounded = float(f"{math.floor(low / step) * step:.{digits}g}")
        if below < rounded <= low:
            return rounded
    return low

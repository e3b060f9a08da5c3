"""Conditions of groups as text: on each feature, for people and for ``--where``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from skgpb.lab.cli.where import quote_column
from skgpb.lab.cli.words import listed
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.dates import iso_date
from skgpb.lab.tables.conditions import Categories, Range, Subgroup, format_literal
from skgpb.lab.tables.memory import shortest

# Number of texts of a column in a summary.
SHOWN = 8


def describe_side(side: Range | Categories, write: Callable[[Any], str]) -> str:
    """Write a side of a box for people; ``write`` is the function that writes a value."""
    if isinstance(side, Categories):
        text = listed([write(each) for each in side.among], SHOWN)
    elif side.low is None and side.high is None:
        return "any" if side.missing else "not missing"
    else:
        text = _describe_ends(side, write)
    return f"{text}, or missing" if side.missing and text else text or "missing"


def _describe_ends(side: Range, write: Callable[[Any], str]) -> str:
    """Write the ends of an interval, for whole numbers and dates as ends that belong to it."""
    high, belongs = side.high, side.high_belongs
    if not belongs and isinstance(high, int):
        high, belongs = high - 1, True
    elif not belongs and isinstance(high, date) and not isinstance(high, datetime):
        high, belongs = high - timedelta(days=1), True
    low = "" if side.low is None else f"{'' if side.low_belongs else 'above '}{write(side.low)}"
    if high is None:
        return f"{low} or more" if side.low_belongs else low
    end = write(high) if belongs else f"below {write(high)}"
    if side.low is None:
        return f"up to {end}" if belongs else end
    return low if side.low == high else f"{low} to {end}"


@dataclass(frozen=True)
class FeatureLimits:
    """The condition on one feature that the rows of a group satisfy.

    Attributes
    ----------
    column : Column
        The feature.
    low, high : float or None
        Ends of the interval of the rows, in numbers or days; both belong to it. None for an open
        end.
    among : tuple of str or None
        Texts of the rows; None if all texts satisfy the condition.
    missing : bool or None
        Whether rows with a missing value satisfy the condition; None if no value is missing.
    """

    column: Column
    low: float | None = None
    high: float | None = None
    among: tuple[str, ...] | None = None
    missing: bool | None = None

    @property
    def _side(self) -> Range | Categories:
        if self.among is not None:
            return Categories(self.among, bool(self.missing))
        everything = self.low is None and self.high is None
        missing = everything if self.missing is None else self.missing
        return Range(self.low, self.high, "both", missing)

    @property
    def text(self) -> str:
        """The condition for people, without the name of the feature."""
        return describe_side(self._side, self._write)

    def _write(self, value: Any) -> str:
        if self.column.kind == "texts":
            return value
        if self.column.is_boolean:
            return "yes" if value else "no"
        if self.column.kind == "dates":
            return iso_date(value)
        # No commas between thousands: a year is a number, too.
        return f"{repr(value).removesuffix('.0')} {self.column.unit}".rstrip()

    @property
    def condition(self) -> str:
        """The condition for ``--where``; empty if all rows satisfy it."""
        return self._side.where(quote_column(self.column.name), self._literal)

    def _literal(self, value: Any) -> str:
        return format_literal(iso_date(value) if self.column.kind == "dates" else value)


def side_limits(column: Column, side: Range | Categories) -> FeatureLimits:
    """Convert a side of a box to the condition on a column, with ends that belong to it."""
    missing = side.missing if column.missing.any() else None
    if isinstance(side, Categories):
        return FeatureLimits(column, among=side.among, missing=missing)
    values = column.values[~column.missing]
    inside = values[side.holds(values)]
    low, high = side.low, side.high
    if len(inside) and inside.min() == inside.max() and len(np.unique(values)) > 1:
        low = high = float(inside[0])
    elif high is not None:
        above = values[values >= high]
        if len(inside) and len(above):
            high = 0.0 - shortest(-float(above.min()), -float(inside.max()))
    return FeatureLimits(column, low, high, missing=missing)


def box_limits(
    columns: Sequence[Column],
    box: Subgroup,
    order: Collection[str] = (),
    neighbours: Sequence[str] = (),
) -> list[FeatureLimits]:
    """Convert the sides of a box to conditions on columns.

    ``order`` are features in the order of the conditions, by default that of the sides. The
    categories of ``neighbours`` have an order: their sides are ranges of codes.
    """
    limits, by_name = [], {column.name: column for column in columns}
    for name in [each for each in order or box if each in box]:
        column, side = by_name[name], box[name]
        if name in neighbours and isinstance(side, Range):
            inside = side.holds(np.arange(len(column.labels), dtype=float))
            side = Categories(tuple(np.array(column.labels, dtype=object)[inside]), side.missing)
        limits.append(side_limits(column, side))
    return limits


def describe_group(limits: list[FeatureLimits]) -> str:
    """Write the conditions of a group for people."""
    conditions = [f"{limit.column.name} {limit.text}" for limit in limits if limit.condition]
    return ", ".join(conditions) or "the whole table"


def write_condition(conditions: Sequence[str], limits: list[FeatureLimits]) -> str:
    """Write the condition of ``--where`` that selects a group, after those of the search."""
    return " and ".join(filter(None, [*conditions, *(limit.condition for limit in limits)]))

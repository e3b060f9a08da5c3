"""Subgroups: rows that satisfy a condition on each of some features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

CLOSED = ("left", "right", "both", "neither")


@dataclass(frozen=True, slots=True)
class Range:
    """Condition that a number, or another ordered value, lies in an interval.

    Parameters
    ----------
    low, high : scalar or None, default=None
        The ends; None for an open end.
    closed : {"left", "right", "both", "neither"}, default="left"
        Ends that belong to the interval.
    missing : bool, default=False
        Whether rows with a missing value satisfy the condition.

    Examples
    --------
    >>> from skgpb.lab.tables.conditions import Range
    >>> Range(18, 65).where("age")
    'age >= 18 and age < 65'
    """

    low: Any = None
    high: Any = None
    closed: Literal["left", "right", "both", "neither"] = "left"
    missing: bool = False

    def __post_init__(self) -> None:
        if self.closed not in CLOSED:
            raise ValueError(f"closed must be one of {', '.join(CLOSED)}, got {self.closed!r}")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise ValueError(f"low must be at most high, got {self.low!r} and {self.high!r}")

    @property
    def low_belongs(self) -> bool:
        """True if the lower end belongs to the interval."""
        return self.closed in ("left", "both")

    @property
    def high_belongs(self) -> bool:
        """True if the upper end belongs to the interval."""
        return self.closed in ("right", "both")

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Return whether each value satisfies the condition, shape (n,) of bool; NaN is missing."""
        inside = ~np.isnan(values)
        if self.low is not None:
            inside &= values >= self.low if self.low_belongs else values > self.low
        if self.high is not None:
            inside &= values <= self.high if self.high_belongs else values < self.high
        return inside | np.isnan(values) if self.missing else inside

    def where(
        self, name: str, literal: Callable[[Any], str] | None = None, null: str = "missing"
    ) -> str:
        """Write the condition as text.

        Parameters
        ----------
        name : str
            The column, between quotes if its name needs them.
        literal : callable, default=None
            Function that writes a value; None for numbers and texts as in SQL.
        null : str, default="missing"
            Word after ``is`` for a missing value; "NULL" in SQL.

        Returns
        -------
        condition : str
            In brackets if it contains ``or``. Empty if all rows satisfy the condition.
        """
        literal = literal or format_literal
        ends = []
        if self.low is not None:
            ends.append(f"{name} {'>=' if self.low_belongs else '>'} {literal(self.low)}")
        if self.high is not None:
            ends.append(f"{name} {'<=' if self.high_belongs else '<'} {literal(self.high)}")
        if len(ends) == 2 and self.low == self.high and self.closed == "both":
            ends = [f"{name} = {literal(self.low)}"]
        if not ends:
            return "" if self.missing else f"{name} is not {null}"
        inner = " and ".join(ends)
        return f"({inner} or {name} is {null})" if self.missing else inner


@dataclass(frozen=True, slots=True)
class Categories:
    """Condition that a text is one of some categories.

    Parameters
    ----------
    among : tuple
        The categories, in the order in which the source names them.
    missing : bool, default=False
        Whether rows with a missing value satisfy the condition.

    Examples
    --------
    >>> from skgpb.lab.tables.conditions import Categories
    >>> Categories(("A", "B"), missing=True).where("town")
    "(town in ('A', 'B') or town is missing)"
    """

    among: tuple[Any, ...]
    missing: bool = False

    def __post_init__(self) -> None:
        if len(set(self.among)) < len(self.among):
            raise ValueError(f"among names a category twice: {self.among!r}")

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Return whether each value satisfies the condition, (n,) of bool.

        None and NaN are missing: a number whose missing values alone are inside has no interval.
        """
        cells, among = values.tolist(), set(self.among)
        inside = np.fromiter((cell in among for cell in cells), bool, len(cells))
        if self.missing:
            inside |= np.fromiter(
                (cell is None or cell != cell for cell in cells), bool, len(cells)
            )
        return inside

    def where(
        self, name: str, literal: Callable[[Any], str] | None = None, null: str = "missing"
    ) -> str:
        """Write the condition as text, with the parameters of :meth:`Range.where`."""
        literal = literal or format_literal
        if not self.among:
            return (
                f"{name} is {null}"
                if self.missing
                else f"{name} is {null} and not {name} is {null}"
            )
        texts = ", ".join(literal(each) for each in self.among)
        inner = f"{name} in ({texts})" if len(self.among) > 1 else f"{name} = {texts}"
        return f"({inner} or {name} is {null})" if self.missing else inner


Condition = Range | Categories


@dataclass(frozen=True, slots=True)
class Subgroup:
    """A group of rows that satisfy a condition on each of some features.

    Parameters
    ----------
    conditions : tuple of (str, Range or Categories)
        Names of features and their conditions. Any other feature may have any value, or none.

    Examples
    --------
    >>> from skgpb.lab.tables.conditions import Subgroup, Categories, Range
    >>> box = Subgroup((("age", Range(18, 65)), ("town", Categories(("A",)))))
    >>> print(box)
    age >= 18 and age < 65 and town = 'A'
    >>> print(box.without("age"))
    town = 'A'
    >>> box["town"]
    Categories(among=('A',), missing=False)
    """

    conditions: tuple[tuple[str, Condition], ...] = ()

    def __post_init__(self) -> None:
        names = [name for name, _ in self.conditions]
        if len(set(names)) < len(names):
            raise ValueError(f"conditions name a feature twice: {names}")

    @classmethod
    def from_sides(cls, sides: Mapping[str, Condition]) -> Subgroup:
        """Return the box with these sides, given by the names of features."""
        return cls(tuple(sides.items()))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the features that have a side."""
        return (name for name, _ in self.conditions)

    def __len__(self) -> int:
        return len(self.conditions)

    def __contains__(self, name: object) -> bool:
        return name in dict(self.conditions)

    def __getitem__(self, name: str) -> Condition:
        return dict(self.conditions)[name]

    def without(self, name: str) -> Subgroup:
        """Return the box without its side of one feature."""
        return Subgroup(tuple(each for each in self.conditions if each[0] != name))

    def where(
        self,
        quoted: Callable[[str], str] = str,
        literal: Callable[[Any], str] | None = None,
        null: str = "missing",
    ) -> str:
        """Write the conditions as text, joined by ``and``.

        Parameters
        ----------
        quoted : callable, default=str
            Function that writes the name of a column.
        literal : callable, default=None
            Function that writes a value; None for numbers and texts as in SQL.
        null : str, default="missing"
            Word after ``is`` for a missing value; "NULL" in SQL.

        Returns
        -------
        condition : str
            Empty for the box of all rows.
        """
        parts = (side.where(quoted(name), literal, null) for name, side in self.conditions)
        return " and ".join(part for part in parts if part)

    def __str__(self) -> str:
        return self.where() or "all rows"


def format_literal(value: Any) -> str:
    """Write a number as it is and anything else between quotes, as SQL does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value).removesuffix(".0")
    return "'" + str(value).replace("'", "''") + "'"

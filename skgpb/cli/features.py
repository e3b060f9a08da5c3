"""Conversion of table columns to the features of a search, and of groups back to words."""

from __future__ import annotations

from dataclasses import dataclass

from skgpb.cli.where import written
from skgpb.datasets.columns import Column
from skgpb.datasets.dates import iso_date

# Number of texts of a column in a summary.
SHOWN = 8


@dataclass(frozen=True)
class FeatureLimits:
    """The condition on one feature that the rows of a group satisfy.

    Attributes
    ----------
    column : Column
        The feature.
    low, high : float or None
        Numbers or days that the rows lie between, themselves included; None where the whole table
        does.
    among : tuple of str or None
        The texts that the rows have; None where they have all there are.
    missing : bool or None
        Whether rows with a missing value are included; None if no value is missing.
    """

    column: Column
    low: float | None = None
    high: float | None = None
    among: tuple[str, ...] | None = None
    missing: bool | None = None

    @property
    def said(self) -> str:
        """For people."""
        if self.missing is None:
            return self._said
        if self._said == "any":
            return "any" if self.missing else "not missing"
        if self.among == ():
            return "missing"
        return f"{self._said}, or missing" if self.missing else self._said

    @property
    def _said(self) -> str:
        """Return the condition on values that are not missing, as text."""
        if self.column.kind == "texts":
            if self.among is None:
                return "any"
            shown = ", ".join(self.among[:SHOWN])
            more = len(self.among) - SHOWN
            return shown + (f" and {more} more" if more > 0 else "")
        if self.low is None and self.high is None:
            return "any"
        if self.low == self.high:
            return self._written(self.low)
        if self.high is None:
            return f"{self._written(self.low)} or more"
        if self.low is None:
            return f"up to {self._written(self.high)}"
        return f"{self._written(self.low)} to {self._written(self.high)}"

    def _written(self, value: float | None) -> str:
        assert value is not None
        if self.column.is_boolean:
            return "yes" if value else "no"
        if self.column.kind == "dates":
            return iso_date(value)
        text = repr(value)
        text = text if "e" in text else f"{value:,}".removesuffix(".0")
        return f"{text} %" if self.column.is_percent else text

    @property
    def conditions(self) -> list[str]:
        """For ``--where``."""
        if self.missing is None:
            return self._conditions
        missing = f"{written(self.column.name)} is missing"
        if self.among == ():
            return [missing] if self.missing else []
        there = self._conditions
        if not self.missing:
            return there or [missing.replace("is missing", "is not missing")]
        return [f"({' and '.join(there)} or {missing})"] if there else []

    @property
    def _conditions(self) -> list[str]:
        """Conditions on values that are there."""
        name = written(self.column.name)
        if self.column.kind == "texts":
            if self.among is None:
                return []
            texts = ", ".join("'" + text.replace("'", "''") + "'" for text in self.among)
            return [f"{name} in ({texts})" if len(self.among) > 1 else f"{name} = {texts}"]
        dates = self.column.kind == "dates"
        signs = [(">=", self.low), ("<=", self.high)]
        if self.low == self.high:
            signs = [("=", self.low)]
        return [
            f"{name} {sign} "
            + (f"'{iso_date(value)}'" if dates else repr(value).removesuffix(".0"))
            for sign, value in signs
            if value is not None
        ]

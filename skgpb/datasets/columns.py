"""A column of a table: numbers, dates or texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from skgpb.datasets.dates import dates_of
from skgpb.datasets.numbers import Decimal, UnclearError, is_missing, number_of
from skgpb.utils import TRUE_OR_FALSE, YES_OR_NO

# Sums and squares of larger numbers overflow.
LARGEST = 1e150
# First cells of a last row that holds the sums of all others.
TOTALS = {"total", "totals", "grand total", "sum", "all", "gesamt", "summe"}


TOTAL = ": a row of totals does not belong to the table, remove it"


class CellError(ValueError):
    """A cell is not what it should be: the message says why, ``row`` and ``column`` where."""

    row: int
    column: str

    def __init__(self, row: int, column: str, reason: str) -> None:
        super().__init__(reason)
        self.row, self.column = int(row), column


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        From the header.
    kind : {"numbers", "dates", "texts"}
        Dates are days since the beginning of 1970, in UTC where they have a time zone.
    values : ndarray of shape (n_rows,)
        Numbers, NaN where one is missing; of texts their positions in ``labels``.
    labels : tuple of str
        The different texts, sorted; empty for other kinds.
    is_boolean : bool, default=False
        True if the numbers 1 and 0 stand for true and false.
    is_percent : bool, default=False
        True if every number has a percent sign.
    """

    name: str
    kind: Literal["numbers", "dates", "texts"]
    values: np.ndarray
    labels: tuple[str, ...] = ()
    is_boolean: bool = False
    is_percent: bool = False

    @property
    def missing(self) -> np.ndarray:
        """True if the value of each row is missing, shape (n_rows,)."""
        return np.isnan(self.values)

    def of_rows(self, rows: np.ndarray) -> Column:
        """Return the column of some rows, with the texts that they have."""
        values = self.values[rows]
        if self.kind != "texts":
            return replace(self, values=values)
        there = ~np.isnan(values)
        codes, values[there] = np.unique(values[there], return_inverse=True)
        return replace(self, values=values, labels=tuple(self.labels[int(i)] for i in codes))

    def check_range(self) -> None:
        """Raise a CellError where a number is infinite, or too large to be squared."""
        for row in np.flatnonzero(np.isinf(self.values))[:1]:
            reason = f"'{self.values[row]}' is not a finite number"
            raise CellError(row, self.name, reason)
        for row in np.flatnonzero(np.abs(self.values) > LARGEST)[:1]:
            reason = f"'{self.values[row]:g}' is larger than {LARGEST:g}"
            raise CellError(row, self.name, reason)

    @property
    def as_numbers(self) -> Column:
        """The column with 1 for each yes and 0 for each no, if it holds nothing else."""
        named = [label.lower() for label in self.labels]
        if self.kind != "texts" or not named or not set(named) <= set(YES_OR_NO):
            return self
        meaning = np.array([YES_OR_NO[label] for label in named] + [np.nan])
        values = meaning[np.where(self.missing, len(named), self.values).astype(np.intp)]
        return Column(self.name, "numbers", values)

    def check_numbers(self) -> None:
        """Raise a CellError where a column holds something else than numbers."""
        if self.kind != "numbers":
            row = int(np.flatnonzero(~self.missing)[0])
            what = repr(self.labels[int(self.values[row])]) if self.labels else "a date"
            raise CellError(row, self.name, f"{what} is not a number")

    def check_complete(self) -> None:
        """Raise a CellError where a value is missing."""
        for row in np.flatnonzero(self.missing)[:1]:
            raise CellError(row, self.name, "the value is missing")


def column_of_texts(
    name: str,
    codes: np.ndarray,
    texts: Sequence[str],
    *,
    decimal: Decimal | None = None,
    pattern: str | None = None,
    as_texts: bool = False,
    verbatim: bool = False,
) -> Column:
    """Find out what a column is that does not hold numbers alone.

    Parameters
    ----------
    name : str
        From the header.
    codes : ndarray of shape (n_rows,)
        Position of each row's text in ``texts``.
    texts : sequence of str
        The different ones.
    decimal : {"point", "comma"}, default=None
        Format of numbers.
    pattern : str, default=None
        Format of dates, for ``datetime.strptime``.
    as_texts : bool, default=False
        Whether they shall be texts whatever they are.
    verbatim : bool, default=False
        Whether that holds also of texts that else stand for a missing value, such as NA.

    Returns
    -------
    column : Column

    Raises
    ------
    CellError
        If most rows have a number, or most have a date, and some have neither; or where it is
        not clear which number or date is meant.
    """
    no_value = (lambda text: not text.strip()) if verbatim else is_missing
    there = [i for i, text in enumerate(texts) if not no_value(text)]
    given = [texts[i].strip() for i in there]
    meaning = np.full(len(texts), np.nan)
    if as_texts or verbatim or not given:
        return _texts(name, codes, meaning, there, given)
    if {text.lower() for text in given} <= set(TRUE_OR_FALSE):
        meaning[there] = [TRUE_OR_FALSE[text.lower()] for text in given]
        return Column(name, "numbers", meaning[codes], is_boolean=True)
    n_rows = np.bincount(codes, minlength=len(texts))[there]

    def complain(wrong: dict[int, str]) -> None:
        """Raise a CellError for the first row that differs from most rows."""
        for row in np.flatnonzero(np.isin(codes, list(wrong)))[:1]:
            raise CellError(row, name, wrong[codes[row]])

    numbers = [_why_no_number(text, decimal) for text in given]
    if n_rows @ [not why or " may be " in why for why in numbers] > 0.5 * n_rows.sum():
        complain(
            {
                i: why + (TOTAL if text.lower() in TOTALS else "")
                for i, text, why in zip(there, given, numbers, strict=True)
                if why
            }
        )
    try:
        days = dates_of(given, pattern)
    except UnclearError as error:
        raise CellError(np.flatnonzero(np.isin(codes, there))[0], name, str(error)) from None
    if days is not None:
        meaning[there] = days
        return Column(name, "dates", meaning[codes])
    dates = [_is_date(text, pattern) for text in given]
    if n_rows @ dates > 0.5 * n_rows.sum():
        reasons = (f"{text!r} is not a date like the others" for text in given)
        each = zip(there, reasons, dates, strict=True)
        complain({i: why for i, why, is_date in each if not is_date})
    return _texts(name, codes, meaning, there, given)


def _texts(
    name: str, codes: np.ndarray, meaning: np.ndarray, there: list[int], given: list[str]
) -> Column:
    labels = sorted(set(given))
    position = {label: i for i, label in enumerate(labels)}
    meaning[there] = [position[text] for text in given]
    return Column(name, "texts", meaning[codes], tuple(labels))


def _why_no_number(text: str, decimal: Decimal | None) -> str:
    try:
        number_of(text, decimal)
    except ValueError as error:
        return str(error)
    return ""


def _is_date(text: str, pattern: str | None) -> bool:
    try:
        return dates_of([text], pattern) is not None
    except UnclearError:
        return True

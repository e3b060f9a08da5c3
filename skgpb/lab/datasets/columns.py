"""A column of a table: numbers, dates or texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from skgpb.lab.datasets.dates import SECONDS_PER_DAY, is_like_date, parse_dates
from skgpb.lab.datasets.format import TableError, join_lines
from skgpb.lab.datasets.numbers import (
    SECONDS,
    SIGNS,
    Decimal,
    Reading,
    UnclearError,
    explain_unreadable,
    is_missing,
    read_number,
)
from skgpb.utils.validation import TRUE_OR_FALSE, YES_OR_NO

# Limit: sums and squares of larger numbers overflow.
LARGEST = 1e150
# Number of texts of a column in a message.
SHOWN = 8
# First cells of a row with the sums of all other rows.
TOTALS = {"total", "totals", "grand total", "sum", "all", "gesamt", "summe"}
TOTAL = ": a row of totals does not belong to the table, remove it"
WHICH_DATE = "--dates with their format, such as %d/%m/%y, or --one-hot {!r} if they are none"


class CellError(TableError):
    """A cell has an unexpected content: the message says why, ``row`` and ``column`` where."""

    row: int
    column: str

    def __init__(self, row: int, column: str, reason: str, option: str = "") -> None:
        super().__init__(reason, option)
        self.row, self.column = int(row), column


class Unreadable(NamedTuple):
    """A cell that cannot be read as most others of its column: its text, and the reason."""

    text: str
    reason: str


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        Name in the header.
    kind : {"numbers", "dates", "texts"}
        Kind of the values. Dates are days since the beginning of 1970, in UTC if they have a time
        zone.
    values : ndarray of shape (n_rows,)
        Numbers, or indices of texts in ``labels``; NaN for a missing value.
    labels : tuple of str
        The different texts, sorted; empty for other kinds.
    is_boolean : bool, default=False
        True if the numbers 1 and 0 stand for true and false.
    unit : str, default=""
        Unit of every number in its cell, such as %; "seconds" for durations; empty without a
        common unit.
    limits : mapping of int to str
        Texts of the cells that are limits, such as <0.5, by rows. Their value is the limit.
    unreadable : mapping of int to Unreadable
        Cells that are not numbers, or not dates, although most others are, by rows. Their value is
        NaN.
    """

    name: str
    kind: Literal["numbers", "dates", "texts"]
    values: np.ndarray
    labels: tuple[str, ...] = ()
    is_boolean: bool = False
    unit: str = ""
    limits: Mapping[int, str] = field(default_factory=dict)
    unreadable: Mapping[int, Unreadable] = field(default_factory=dict)

    @property
    def missing(self) -> np.ndarray:
        """True if the value of each row is missing or cannot be read, shape (n_rows,)."""
        return np.isnan(self.values)

    def select_rows(self, rows: np.ndarray) -> Column:
        """Return the column of these rows (n,), with the labels that occur in them."""
        values = self.values[rows]
        if self.kind != "texts":
            return replace(self, values=values, limits={}, unreadable={})
        there = ~np.isnan(values)
        codes, values[there] = np.unique(values[there], return_inverse=True)
        return replace(self, values=values, labels=tuple(self.labels[int(i)] for i in codes))

    @property
    def as_numbers(self) -> Column:
        """The column with 1 for yes and 0 for no; unchanged if it holds anything else."""
        named = [label.lower() for label in self.labels]
        if self.kind != "texts" or not named or not set(named) <= set(YES_OR_NO):
            return self
        return self._meaning([YES_OR_NO[label] for label in named])

    def equal_to(self, label: str) -> Column:
        """Return a column of numbers: 1 for the text ``label``, 0 for all others.

        Raises
        ------
        ValueError
            If no cell has this text.
        """
        if label not in self.labels:
            raise ValueError(
                f"no cell of the column {self.name!r} is {label!r}; there are {_first(self.labels)}"
            )
        return self._meaning([float(each == label) for each in self.labels])

    def _meaning(self, numbers: Sequence[float]) -> Column:
        """Return a column of numbers; ``numbers`` has one for each label."""
        values = np.array([*numbers, np.nan])
        places = np.where(self.missing, len(numbers), self.values).astype(np.intp)
        return Column(self.name, "numbers", values[places])

    def check_numbers(self, of_texts: str = "") -> None:
        """Raise a CellError if the column does not hold numbers; ``of_texts`` ends its message.

        ``of_texts`` is for columns of texts only.
        """
        if self.kind == "numbers":
            return
        rows = np.flatnonzero(~self.missing)
        if not self.labels:
            raise CellError(rows[0], self.name, "a date is not a number")
        reasons = {
            i: why for i, text in enumerate(self.labels) if (why := explain_unreadable(text))
        }
        row = int(next((row for row in rows if self.values[row] in reasons), rows[0]))
        label = int(self.values[row])
        reason = reasons.get(label, f"{self.labels[label]!r} is not a number")
        raise CellError(row, self.name, reason + of_texts)


def _first(labels: Sequence[str]) -> str:
    """Return the first labels as one text."""
    return ", ".join(map(repr, labels[:SHOWN])) + ", ..." * (len(labels) > SHOWN)


def read_column(
    name: str,
    series: Any,
    *,
    mark: Decimal | None = None,
    mixed: bool = False,
    pattern: str | None = None,
    as_texts: bool = False,
    verbatim: bool = False,
    as_numbers: bool = False,
) -> Column:
    """Read a column of a data frame as numbers, dates or texts.

    Parameters
    ----------
    name : str
        Name in the header.
    series : pandas.Series
        The cells: numbers, dates, or texts.
    mark : {"point", "comma"}, default=None
        The decimal mark.
    mixed : bool, default=False
        Whether some cells have the other mark.
    pattern : str, default=None
        Format of dates, for ``datetime.strptime``.
    as_texts : bool, default=False
        Whether to read all cells as texts.
    verbatim : bool, default=False
        Whether to read all cells as texts, including those that stand for a missing value, such as
        NA.
    as_numbers : bool, default=False
        Whether to read the column as numbers even if most cells are not numbers.

    Returns
    -------
    column : Column
        Numbers if most cells are numbers, otherwise dates if most cells are dates; the other cells
        are then unreadable. Otherwise texts.

    Raises
    ------
    CellError
        If numbers or dates are ambiguous.
    """
    column = None if as_texts or verbatim else _convert_typed(name, series)
    if column is None:
        cells, column = _Cells(name, series, verbatim), None
        if not (as_texts or verbatim):
            column = cells.numbers(mark, mixed, as_numbers) or cells.dates(pattern)
        column = column or cells.to_texts()
    if column.kind == "texts":
        return column
    too_large = np.abs(column.values) > LARGEST
    if not too_large.any():
        return column
    unreadable = dict(column.unreadable)
    for row in np.flatnonzero(too_large).tolist():
        value = column.values[row]
        why = f"is larger than {LARGEST:g}" if np.isfinite(value) else "is not a finite number"
        unreadable[row] = Unreadable(f"{value:g}", f"'{value:g}' {why}")
    return replace(column, values=np.where(too_large, np.nan, column.values), unreadable=unreadable)


def _convert_typed(name: str, series: Any) -> Column | None:
    """Convert a column that pandas has read as numbers or dates; None for any other column."""
    kind = getattr(series.dtype, "kind", "O")
    if kind == "m":
        return Column(name, "numbers", series.dt.total_seconds().to_numpy(float), unit=SECONDS)
    if kind == "M":
        moments = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz else series
        values = moments.to_numpy("datetime64[us]")
        days = values.astype(np.int64) / (SECONDS_PER_DAY * 1e6)
        return Column(name, "dates", np.where(np.isnat(values), np.nan, days))
    if kind in "iufb":
        values = series.to_numpy(np.float64, na_value=np.nan)
        return Column(name, "numbers", values, is_boolean=kind == "b")
    return None


class _Cells:
    """The different texts of the cells of a column, without missing values.

    Parameters
    ----------
    name : str
        Name of the column.
    series : pandas.Series
        The cells.
    verbatim : bool
        Whether only an empty cell is missing; otherwise a text such as NA is missing too.
    """

    def __init__(self, name: str, series: Any, verbatim: bool) -> None:
        codes, cells = series.factorize()
        read = str.strip if verbatim else join_lines
        texts = [read(str(cell)) for cell in cells]
        there = [bool(text) if verbatim else not is_missing(text) for text in texts]
        self.name = name
        self.cells = [cell for cell, is_there in zip(cells, there, strict=True) if is_there]
        self.texts = [text for text, is_there in zip(texts, there, strict=True) if is_there]
        # The code of a missing cell is -1: it indexes the last of the values, NaN or False.
        self.codes = np.where([*there, False], np.cumsum([*there, False]) - 1, -1)[codes]
        self.n_rows = np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    def most(self, cells: Sequence[bool]) -> bool:
        """Return whether ``cells``, a mask (n_texts,), holds for more than half of the rows."""
        return bool(self.n_rows @ np.asarray(cells, dtype=bool) > 0.5 * self.n_rows.sum())

    def error(self, code: int, reason: str, option: str = "") -> CellError:
        """Return an error about the first row with the text of this index."""
        return CellError(np.flatnonzero(self.codes == code)[0], self.name, reason, option)

    def column(self, kind: Any, meaning: Any, **of: Any) -> Column:
        """Return a column from the value of each text, (n_texts,); ``of`` are its attributes."""
        return Column(self.name, kind, np.array([*meaning, np.nan], dtype=float)[self.codes], **of)

    def unreadable(self, reasons: Mapping[int, str]) -> dict[int, Unreadable]:
        """Return the unreadable cells by rows; ``reasons`` has those of texts by indices."""
        return {
            int(row): Unreadable(self.texts[self.codes[row]], reasons[self.codes[row]])
            for row in np.flatnonzero(np.isin(self.codes, list(reasons)))
        }

    def to_texts(self) -> Column:
        """Return the column as texts."""
        labels = sorted(set(self.texts))
        codes = {label: i for i, label in enumerate(labels)}
        return self.column("texts", [codes[text] for text in self.texts], labels=tuple(labels))

    def numbers(self, mark: Decimal | None, mixed: bool, whatever: bool) -> Column | None:
        """Return the column as numbers if most cells are numbers; otherwise None.

        With ``whatever`` one number is enough.
        """
        truths = [TRUE_OR_FALSE.get(text.lower()) for text in self.texts]
        if truths and None not in truths:
            return self.column("numbers", truths, is_boolean=True)
        readings, reasons, unclear = [Reading(np.nan)] * len(self.texts), {}, []
        for i, (cell, text) in enumerate(zip(self.cells, self.texts, strict=True)):
            is_text = not isinstance(cell, int | float) or isinstance(cell, bool)
            try:
                readings[i] = read_number(text, mark, mixed) if is_text else Reading(float(cell))
            except ValueError as error:
                reasons[i] = str(error) + (TOTAL if text.lower() in TOTALS else "")
                unclear += [i] * isinstance(error, UnclearError)
        unit = self._common_unit(readings, reasons)
        like = [i not in reasons or i in unclear for i in range(len(readings))]
        # If all numbers are limits they are classes, such as <=50K and >50K.
        are_numbers = any(a and not each.limit for a, each in zip(like, readings, strict=True))
        if like and not (are_numbers and (self.most(like) or whatever)):
            return None
        for i in unclear[: 0 if mixed else 1]:
            raise self.error(i, reasons[i])
        is_limit = np.array([*(bool(each.limit) for each in readings), False])[self.codes]
        return self.column(
            "numbers",
            [np.nan if i in reasons else each.value for i, each in enumerate(readings)],
            unit=unit,
            limits={row: self.texts[self.codes[row]] for row in np.flatnonzero(is_limit).tolist()},
            unreadable=self.unreadable(reasons),
        )

    def _common_unit(self, readings: Sequence[Reading], reasons: dict[int, str]) -> str:
        """Return the common unit of the numbers, or an empty text.

        Add a reason to ``reasons`` for each number in another unit than most.
        """
        rows: Counter[str] = Counter()
        for i, each in enumerate(readings):
            rows[each.unit] += int(self.n_rows[i]) * (i not in reasons)
        usual = max(rows, key=rows.__getitem__, default="")
        alike = SIGNS if usual in SIGNS else {usual}
        for i, each in enumerate(readings):
            if i not in reasons and each.unit not in alike:
                text = f"is not in {usual}, as" if usual else "has a unit, unlike"
                reasons[i] = f"{self.texts[i]!r} {text} most others of the column"
        units = {each.unit for i, each in enumerate(readings) if i not in reasons}
        return units.pop() if len(units) == 1 else ""

    def dates(self, pattern: str | None) -> Column | None:
        """Return the column as dates if most cells are dates; otherwise None."""
        like = [is_like_date(text) for text in self.texts]
        try:
            days = parse_dates(self.texts, pattern)
            if pattern is not None and np.isnan(days).all():
                days = parse_dates(self.texts)  # the pattern is that of another column
        except UnclearError as error:
            if self.most(like):
                raise self.error(0, str(error)) from None
            return None
        wrong = np.flatnonzero(np.isnan(days)).tolist()
        if self.most(~np.isnan(days)):
            reasons = {i: f"{self.texts[i]!r} is not a date like the others" for i in wrong}
            return self.column("dates", days, unreadable=self.unreadable(reasons))
        if self.most(like | ~np.isnan(days)):
            first = next(i for i in wrong if like[i])
            reason = f"{self.texts[first]!r} looks like a date, but it is not clear which"
            raise self.error(first, reason, WHICH_DATE.format(self.name))
        return None

"""Records of a query: notes, the operator, the date and other measured quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date as Date
from math import isfinite
from typing import Any

import numpy as np

from skgpb.lab.datasets.dates import iso_date, parse_all_dates
from skgpb.lab.experiments.texts import check_name, clean_text, to_one_line

# Limit: letters of a text, and columns of further measurements.
LONGEST, MOST_COLUMNS = 10_000, 100


@dataclass
class LabRecord:
    """Notes and measurements of one query.

    Attributes
    ----------
    note, operator : str
        Free texts.
    date : str
        Date of the answer, as YYYY-MM-DD; empty if unknown.
    measured : dict
        Further measurements: numbers or texts by the names of their columns.
    measurements : list of float
        Replicate measurements whose mean is the answer; empty for a single measurement.
    skipped : bool
        Whether the query was skipped, for a reason that does not depend on its setting.
    """

    note: str = ""
    operator: str = ""
    date: str = ""
    measured: dict[str, float | str] = field(default_factory=dict)
    measurements: list[float] = field(default_factory=list)
    skipped: bool = False

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> LabRecord:
        """Return the record with the fields in a file, see :meth:`nonempty_fields`."""
        measurements = list(map(float, kept.get("measurements", [])))
        out = cls(measurements=measurements, skipped=bool(kept.get("skipped", False)))
        out.write(**{name: kept[name] for name in ("note", "operator", "date") if name in kept})
        measured = kept.get("measured", {})
        # Clean names that an earlier version accepted: an error would make the file unreadable.
        out.write(measured={to_one_line(name): value for name, value in measured.items()})
        return out

    def write(
        self,
        note: str | None = None,
        operator: str | None = None,
        date: str | None = None,
        measured: Mapping[str, Any] | None = None,
    ) -> None:
        """Replace the fields whose arguments are not None; change nothing after an error.

        Control characters are removed from texts: characters that end a line in other programs
        become line ends in notes, others the replacement character.
        """
        texts = {"note": note, "operator": operator}
        for name, text in texts.items():
            if text is not None and not (isinstance(text, str) and len(text) <= LONGEST):
                raise ValueError(f"{name} must be a text of at most {LONGEST} letters")
        if date:
            try:
                date = Date.fromisoformat(date).isoformat()
            except (TypeError, ValueError):
                raise ValueError(f"date must be like 2026-01-31, got {date!r}") from None
        values = self.measured | ({} if measured is None else _checked_measurements(measured))
        values = {name: value for name, value in values.items() if value != ""}
        if len(values) > MOST_COLUMNS:
            raise ValueError(f"measured may have {MOST_COLUMNS} columns, got {len(values)}")
        self.note = self.note if note is None else clean_text(note).strip()
        self.operator = self.operator if operator is None else to_one_line(operator)
        self.date = self.date if date is None else date
        self.measured = values

    def add_note(self, note: str) -> None:
        """Append a remark to the note, unless the remark is empty or already there."""
        if note not in self.note:
            self.note = "; ".join(filter(None, [self.note, note]))[:LONGEST]

    def merge(self, other: LabRecord) -> LabRecord:
        """Return this record of a pending query merged with ``other``, that of its answer."""
        out = replace(self, date=other.date, measurements=other.measurements, skipped=other.skipped)
        note = "; ".join(filter(None, [self.note, other.note]))
        out.write(note, other.operator or None, measured=other.measured)
        return out

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of JSON types, without ``skipped``, which is a status."""
        return {name: value for name, value in asdict(self).items() if name != "skipped"}

    def nonempty_fields(self) -> dict[str, Any]:
        """Return the fields that are not empty, to write them to a file."""
        return {name: value for name, value in asdict(self).items() if value}


def _checked_measurements(measured: Mapping[str, Any]) -> dict[str, float | str]:
    if not isinstance(measured, Mapping):
        raise ValueError(f"measured must be a dict of numbers and texts, got {measured!r}")
    out: dict[str, float | str] = {}
    for name, value in measured.items():
        if not (isinstance(name, str) and name.strip() and len(name) <= LONGEST):
            raise ValueError(f"measured must have names that are texts, got {name!r}")
        check_name(name, "a name in measured")
        if isinstance(value, (bool, np.bool_)):
            value = "yes" if value else "no"
        if isinstance(value, str) and len(value) <= LONGEST:
            out[name.strip()] = number_or_text(to_one_line(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
            out[name.strip()] = float(value)
        else:
            raise ValueError(
                f"{name} must be a finite number or a text of at most {LONGEST} letters, got "
                f"{value!r:.99}"
            )
    return out


def number_or_text(text: str) -> float | str:
    """Convert a text to a finite number; return the text itself if it is no such number."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if value - value == 0.0 and "_" not in text else text


def normalize_date(text: str) -> str | None:
    """Return a date in any format as YYYY-MM-DD; None if the text is empty or no date.

    Spreadsheets rewrite dates in their own format.
    """
    days = parse_all_dates([text]) if text else None
    return None if days is None else iso_date(float(days[0]))[:10]


def today() -> str:
    """Return the date of today as YYYY-MM-DD."""
    return Date.today().isoformat()

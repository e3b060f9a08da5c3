"""Records of a query: notes, the operator, the date and other measured quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date as Date
from math import isfinite
from typing import Any

from skgpb.lab.datasets.dates import iso_date, parse_all_dates
from skgpb.lab.experiments.texts import check_name, cleaned, in_one_line

# Letters of a text, and further columns, that are no page of a notebook any more.
LONGEST, MOST_COLUMNS = 10_000, 100


@dataclass
class LabRecord:
    """The page of a notebook about one query.

    Attributes
    ----------
    note, operator : str
        Free texts.
    date : str
        Date of the answer, as YYYY-MM-DD; empty if unknown.
    measured : dict
        Further measurements: numbers or texts by the names of their columns.
    measurements : list of float
        What the answer is the mean of, if it is one of several measurements of the same run.
    skipped : bool
        Whether it was left out for reasons that say nothing of the setting.
    """

    note: str = ""
    operator: str = ""
    date: str = ""
    measured: dict[str, float | str] = field(default_factory=dict)
    measurements: list[float] = field(default_factory=list)
    skipped: bool = False

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> LabRecord:
        """Return the record that a file holds."""
        measurements = list(map(float, kept.get("measurements", [])))
        out = cls(measurements=measurements, skipped=bool(kept.get("skipped", False)))
        out.write(**{name: kept[name] for name in ("note", "operator", "date") if name in kept})
        measured = kept.get("measured", {})
        # A name that is not taken any more is no reason to lose a notebook.
        out.write(measured={in_one_line(name): value for name, value in measured.items()})
        return out

    def write(
        self,
        note: str | None = None,
        operator: str | None = None,
        date: str | None = None,
        measured: Mapping[str, Any] | None = None,
    ) -> None:
        """Replace the given fields, None keeping a field; change nothing after an error.

        Texts are kept without control characters: those that end a line elsewhere end one here,
        in notes, and others become a sign that something was there.
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
        values = self.measured | ({} if measured is None else _checked(measured))
        values = {name: value for name, value in values.items() if value != ""}
        if len(values) > MOST_COLUMNS:
            raise ValueError(f"measured may have {MOST_COLUMNS} columns, got {len(values)}")
        self.note = self.note if note is None else cleaned(note).strip()
        self.operator = self.operator if operator is None else in_one_line(operator)
        self.date = self.date if date is None else date
        self.measured = values

    def add_note(self, note: str) -> None:
        """Append a remark, which is empty if there is nothing to say, unless the note has it."""
        if note not in self.note:
            self.note = "; ".join(filter(None, [self.note, note]))[:LONGEST]

    def followed_by(self, other: LabRecord) -> LabRecord:
        """Return the record of what was written on before its answer was told."""
        out = replace(self, date=other.date, measurements=other.measurements, skipped=other.skipped)
        note = "; ".join(filter(None, [self.note, other.note]))
        out.write(note, other.operator or None, measured=other.measured)
        return out

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, without ``skipped``, which is a status."""
        fields = asdict(self)
        del fields["skipped"]
        return fields

    def kept(self) -> dict[str, Any]:
        """Return the fields to write to a file, without empty ones."""
        return {name: value for name, value in asdict(self).items() if value}


def _checked(measured: Mapping[str, Any]) -> dict[str, float | str]:
    if not isinstance(measured, Mapping):
        raise ValueError(f"measured must be a dict of numbers and texts, got {measured!r}")
    out: dict[str, float | str] = {}
    for name, value in measured.items():
        if not (isinstance(name, str) and name.strip() and len(name) <= LONGEST):
            raise ValueError(f"what else was measured must have a name, got {name!r}")
        check_name(name, "the name of what else was measured")
        if isinstance(value, str) and len(value) <= LONGEST:
            out[name.strip()] = number_or_text(in_one_line(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
            out[name.strip()] = float(value)
        else:
            raise ValueError(
                f"{name} must be a finite number or a text of at most {LONGEST} letters, got "
                f"{value!r:.99}"
            )
    return out


def number_or_text(text: str) -> float | str:
    """Return the finite number that a text stands for, or else the text."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if value - value == 0.0 and "_" not in text else text


def written_date(text: str) -> str | None:
    """Return a date, which a spreadsheet may have written anew, as in 2026-01-31; None for none."""
    days = parse_all_dates([text]) if text else None
    return None if days is None else iso_date(float(days[0]))[:10]


def today() -> str:
    """Return the date of today."""
    return Date.today().isoformat()

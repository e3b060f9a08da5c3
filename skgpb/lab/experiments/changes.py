"""Changes of an experiment, each with the old and the new value, the time and the author."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from skgpb.lab.experiments.records import LONGEST
from skgpb.lab.experiments.sides import format_value
from skgpb.lab.experiments.texts import to_one_line

# Fields of an entry that users write.
FIELDS = (
    *("params", "status", "answer", "noise", "measurements"),
    *("note", "operator", "date", "measured"),
)
# Values of a field that is empty.
EMPTY_VALUES: tuple[Any, ...] = (None, "", [], {})
# Names of fields in reports, if they differ.
WORDS = {"params": "settings", "answer": "result", "measured": "also measured"}


@dataclass(frozen=True)
class Change:
    """One change of a field of an entry, or of a rule of the experiment.

    Attributes
    ----------
    query : int or None
        Number of the query; None for the limits and constraints of the experiment.
    what : str
        Name of the field, as in the history.
    before, after : object
        Its old and new value, of JSON types; None for an empty field.
    when : str
        Date and time, such as "2026-01-31T16:05:00".
    by : str
        Name of the author; empty if unknown.
    """

    query: int | None
    what: str
    before: Any
    after: Any
    when: str
    by: str

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Change:
        """Return the change with the fields in a file, see :meth:`as_dict`."""
        query = kept["query"]
        what, when, by = (to_one_line(str(kept[name])) for name in ("what", "when", "by"))
        number = None if query is None else int(query)
        return cls(number, what, kept["before"], kept["after"], when, by)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of JSON types."""
        return asdict(self)


def checked_author(by: str | None) -> str:
    """Return the name of the author of a change, checked and cleaned; empty for None."""
    if by is not None and not (isinstance(by, str) and len(by) <= LONGEST):
        raise ValueError(f"by must be a name of at most {LONGEST} letters, got {by!r:.99}")
    return to_one_line(by or "")


def differences(
    query: int | None, before: Mapping[str, Any], after: Mapping[str, Any], by: str
) -> list[Change]:
    """Return the changes between two states; filling an empty field is no change.

    Parameters
    ----------
    query : int or None
        As in :class:`Change`.
    before, after : dict
        Fields by their names; missing ones count as empty.
    by : str
        Name of the author.
    """
    now = datetime.now().isoformat(timespec="seconds")
    new = {name: after[name] for name in after if after[name] not in EMPTY_VALUES}
    return [
        Change(query, name, value, new.get(name), now, by)
        for name, value in before.items()
        if value not in EMPTY_VALUES and value != new.get(name)
    ]


def editable_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that users write."""
    return {name: entry[name] for name in FIELDS}


def describe_change(change: Mapping[str, Any]) -> list[str]:
    """Describe a change by six texts: time, number of the query, field, before, after, author."""
    before, after = change["before"], change["after"]
    if change["what"] == "measurements":
        before, after = ("; ".join(map(format_value, each or [])) for each in (before, after))
    elif isinstance(before, Mapping):  # keep only the names with different values
        after = after if isinstance(after, Mapping) else {}
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before, after = ({n: each[n] for n in names if n in each} for each in (before, after))
    return [
        change["when"].replace("T", " ")[:16],
        "" if change["query"] is None else str(change["query"]),
        WORDS.get(change["what"], change["what"]),
        _text(before),
        _text(after),
        change["by"],
    ]


def _text(value: Any) -> str:
    """Format the value of a field in one line."""
    if value in EMPTY_VALUES:
        return "nothing"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(each)}" for name, each in value.items())
    return to_one_line(format_value(value))

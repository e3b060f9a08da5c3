"""The trail of an experiment: what was changed, what it was before, when and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from skgpb.lab.experiments.records import LONGEST
from skgpb.lab.experiments.sides import shown
from skgpb.lab.experiments.texts import in_one_line

# Fields of an entry that somebody wrote, and not the program.
FIELDS = (
    *("params", "status", "answer", "noise", "measurements"),
    *("note", "operator", "date", "measured"),
)
# What a field holds where nothing was written.
NOTHING: tuple[Any, ...] = (None, "", [], {})
# Names of the fields for people.
WORDS = {"params": "settings", "answer": "result", "measured": "also measured"}


@dataclass(frozen=True)
class Change:
    """One change of what was recorded.

    Attributes
    ----------
    query : int or None
        Number of the query; None for the limits and constraints of the experiment.
    what : str
        Field that was changed, as in the history.
    before, after : object
        What it was, and what it is since, as JSON has them; None for nothing.
    when : str
        Date and time, such as "2026-01-31T16:05:00".
    by : str
        Name of who changed it; empty if nobody said.
    """

    query: int | None
    what: str
    before: Any
    after: Any
    when: str
    by: str

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Change:
        """Return the change that a file holds."""
        query = kept["query"]
        what, when, by = (in_one_line(str(kept[name])) for name in ("what", "when", "by"))
        number = None if query is None else int(query)
        return cls(number, what, kept["before"], kept["after"], when, by)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def check_by(by: str | None) -> str:
    """Return the name of who makes a change, cleaned."""
    if by is not None and not (isinstance(by, str) and len(by) <= LONGEST):
        raise ValueError(f"by must be a name of at most {LONGEST} letters, got {by!r:.99}")
    return in_one_line(by or "")


def differences(
    query: int | None, before: Mapping[str, Any], after: Mapping[str, Any], by: str
) -> list[Change]:
    """Return what has changed between two states; what was empty before is no change.

    Parameters
    ----------
    query : int or None
        As in :class:`Change`.
    before, after : dict
        Fields, of which some may be missing.
    by : str
        Who changed them.
    """
    now = datetime.now().isoformat(timespec="seconds")
    new = {name: after[name] for name in after if after[name] not in NOTHING}
    return [
        Change(query, name, value, new.get(name), now, by)
        for name, value in before.items()
        if value not in NOTHING and value != new.get(name)
    ]


def of_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that may be changed."""
    return {name: entry[name] for name in FIELDS}


def in_words(change: Mapping[str, Any]) -> list[str]:
    """Return when, the number of the query, what, before, after and by whom, as people read it."""
    before, after = change["before"], change["after"]
    if change["what"] == "measurements":
        before, after = ("; ".join(map(shown, each or [])) for each in (before, after))
    elif isinstance(before, Mapping):  # what is the same does not matter
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
    """Return the value of a field in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(each)}" for name, each in value.items())
    return "nothing" if value in NOTHING else in_one_line(shown(value))

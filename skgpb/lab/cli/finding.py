"""A group of rows that a search found: its facts, and how they are said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from skgpb import __version__
from skgpb.lab.cli.pictures import Panel
from skgpb.lab.cli.words import count, digits_apart, number, percent, shell_quote

# Letters of the longest condition in a report; longer ones, of hundreds of categories, are for
# programs.
LONGEST = 2_000
# First entries for other programs.
FIRST = ("command", "source", "answers", "features", "target", "sought", "n_rows", "n_members")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The group that a search recommends, and all that is said of it.

    Every search makes one. It is written as lines for a terminal, as an HTML page with pictures,
    and as JSON. Subclasses have the reason to recommend the group: the verdict on visible rows
    (:class:`~skgpb.lab.cli.counted.CountedFinding`), or the posterior of averages that were asked
    for (:class:`~skgpb.lab.cli.averaged.AskedFinding`).

    Attributes
    ----------
    command : str
        The command that was run.
    source, table : str
        Name of the table, and the part of it that was searched, for people.
    answers : {"exact", "noisy", "private"}
        Kind of the averages that the search saw.
    features : list of str
        Columns that form groups.
    target : str
        Column whose average was sought.
    minimizes : bool
        Whether the lowest average was sought.
    n_rows, n_members : int
        Number of rows of the table, and of the group.
    sides : dict of str to str
        Conditions of the group for people, by features.
    where : str
        Condition that selects the rows of the group; empty for all rows.
    exactly : str
        ``where`` as it is given to a search or a database; empty if the table is in neither.
    effects : dict of str to float
        By how much each feature matters, the largest first.
    runner_up : dict or None
        Rows, condition and average of the next best group; None if there is none.
    rival : str
        The next best group for people, see :func:`describe_rival`; empty if there is none.
    method : str
        The method in sentences, for readers who do not know it.
    panels : callable
        Function that returns the pictures, the most informative first.
    rows, more : dict
        Further entries for other programs: on the rows of the group, and on the search.
    seed, parameters : int, dict
        Seed of the search, and values of other options, with their defaults.
    """

    command: str
    source: str
    table: str
    answers: str
    features: list[str]
    target: str
    minimizes: bool
    n_rows: int
    n_members: int
    sides: dict[str, str]
    where: str
    exactly: str
    effects: dict[str, float]
    runner_up: dict[str, Any] | None
    rival: str
    method: str
    panels: Callable[[], list[Panel]] = list
    rows: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    seed: int
    parameters: dict[str, Any]

    @property
    def is_whole(self) -> bool:
        """True if the group has all rows."""
        return self.n_members == self.n_rows

    @property
    def better(self) -> str:
        """Comparative of the averages that were sought."""
        return "lower" if self.minimizes else "higher"

    @property
    def sought(self) -> str:
        """Superlative of the averages that were sought."""
        return "lowest" if self.minimizes else "highest"

    @property
    def title(self) -> str:
        """The average that was sought."""
        return f"{self.sought.capitalize()} average of {self.target}"

    @property
    def statements(self) -> list[tuple[str, str]]:
        """Names and texts of the lines on the group."""
        share = percent(self.n_members / self.n_rows)
        return [
            ("recommended group", f"{count(self.n_members, 'row')}, {share} of the table"),
            *((f"  {name}", text) for name, text in self.sides.items()),
            *([("exactly these rows", self.exactly)] if self.exactly else []),
        ]

    @property
    def remarks(self) -> list[list[str]]:
        """Lines of each remark on the limits of the numbers."""
        return []

    @property
    def headline(self) -> list[str]:
        """The main result in sentences for a terminal; none if the other lines say it."""
        return []

    @property
    def conclusion(self) -> list[str]:
        """The main result in sentences, as HTML."""
        return [escape(line) for line in self.headline]

    def _entries(self) -> dict[str, Any]:
        """Return the numbers that only this kind of search has, for other programs."""
        return {}

    def _compared(self, chance: str = "") -> list[tuple[str, str]]:
        """Return the line on the runner-up, if there is one; ``chance`` is how good it may be."""
        return [("runner-up", self.rival + chance)] if self.rival else []

    def _named_rows(self) -> str:
        """Return the number of rows of the group and its conditions, as HTML."""
        sides = (f"<strong>{escape(each)}</strong> {escape(s)}" for each, s in self.sides.items())
        return f"The {count(self.n_members, 'row')} with {' and '.join(sides)}"

    @property
    def lines(self) -> list[str]:
        """Lines for a terminal: the headline, statements with aligned names, remarks."""
        headline, statements = self.headline, self.statements
        width = max(len(name) for name, _ in statements)
        lines = [
            f"{self.title} in {self.table}",
            "",
            *headline,
            *([""] if headline else []),
            *(f"{name:<{width}}  {text}" for name, text in statements),
            *(line for remark in self.remarks for line in ("", *remark)),
        ]
        # Names and values may contain line ends, which become blanks, except in the condition for a
        # database, which must not change.
        return [line if " WHERE " in line else " ".join(line.splitlines()) for line in lines]

    def to_json(self) -> dict[str, Any]:
        """Return the facts for other programs."""
        return {
            **{name: getattr(self, name) for name in FIRST},
            **self.rows,
            "where": self.where,
            **self._entries(),
            "runner_up": self.runner_up,
            "effects_of_features": self.effects,
            **self.more,
            "seed": self.seed,
            "parameters": self.parameters,
            "version": __version__,
        }


def describe_rival(n: int, conditions: str, average: float, other: float) -> str:
    """Write the number of rows, the conditions and the average of a runner-up.

    The average has enough digits to tell it from the ``other`` one.
    """
    said = number(average, digits_apart((average, other)))
    return f"{count(n, 'row')}, {conditions}: {said}"


def where_option(where: str) -> str:
    """Write a condition as an option of ``search``; empty without a condition."""
    option = f"--where {shell_quote(where)}" if where else ""
    if len(option) <= LONGEST:
        return option
    return f"a condition of {len(option):,} letters, see where in the file of --output"

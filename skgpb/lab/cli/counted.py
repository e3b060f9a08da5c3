"""The evidence for a group of visible rows, in memory or in a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skgpb.lab.cli.finding import Finding
from skgpb.lab.cli.words import count, digits_apart, listed, number

# Numbers of the evidence for other programs.
ENTRIES = (
    *("verdict", "p_value", "new_rows_average", "new_rows_interval", "true_average"),
    *("true_average_of_table", "outliers_count_as", "counted_average", "counted_average_of_table"),
    "missing_code",
)
SCOPE = "That holds for tables like this one, and says nothing about causes."


@dataclass(frozen=True, kw_only=True)
class CountedFinding(Finding):
    """A group of visible rows, with the verdict about new ones.

    Attributes
    ----------
    verdict : {"real", "chance"}
        Whether there is a group that chance alone does not explain.
    p_value : float
        p-value of the test.
    new_rows_average, new_rows_interval : float or None, list of float or None
        Expected average of new rows, and its interval; None for both if they are unknown.
    true_average, true_average_of_table, counted_average, counted_average_of_table : float
        Averages over the group and over the table, of the targets and of the clipped targets.
    outliers_count_as : list of float or None
        Limits to which the target is clipped; None if it is not.
    missing_code : float or None
        Value of the target that looks like a code for missing values.
    chance, test : str
        How often a group as good comes about by chance, and the result of the test, for people.
    how, outliers : str
        The method in a line, and where the outliers are, for people.
    extremes : tuple of float
        The smallest and the largest target.
    without_code : str
        Condition that leaves out the rows with ``missing_code``.
    together : str
        Remark that rows seem to belong together; empty if they do not.
    luck : float or None
        Expected loss of the average from these rows to new ones, if it is known.
    sizes : sequence of dict
        Groups of other sizes, the largest first, with what new rows of them average.
    """

    verdict: str
    p_value: float
    new_rows_average: float | None
    new_rows_interval: list[float] | None
    true_average: float
    true_average_of_table: float
    outliers_count_as: list[float] | None
    counted_average: float
    counted_average_of_table: float
    missing_code: float | None
    chance: str
    test: str
    how: str
    outliers: str
    extremes: tuple[float, float]
    without_code: str
    together: str = ""
    luck: float | None = None
    sizes: Sequence[dict[str, Any]] = ()

    def _entries(self) -> dict[str, Any]:
        """Return the numbers, for other programs."""
        return {name: getattr(self, name) for name in ENTRIES}

    @property
    def headline(self) -> list[str]:
        """Whether there is a group, and the average that new rows are expected to have."""
        if self.is_whole:
            return [f"No group has a {self.better} average than the whole table."]
        if self.verdict == "chance":
            return [f"The group may be chance: {self.chance}."]
        verdict, new = "The group is real", self._new_rows(4)
        if new:
            verdict += (
                f": new rows of it are expected to average {new[0]} ({new[1]} to {new[2]} with "
                f"95 % probability), all rows {self._number(self.counted_average_of_table, 4)}"
            )
        return [f"{verdict}.", SCOPE]

    @property
    def conclusion(self) -> list[str]:
        """The headline as HTML, after the conditions of the group and its average."""
        if self.is_whole or not self.sides:
            return super().conclusion
        average = f"<strong>{self._number(self.counted_average, 4)}</strong>"
        return [f"{self._named_rows()} average {average}.", *super().conclusion]

    def _new_rows(self, digits: int = 6) -> list[str]:
        """Write the expected average of new rows, and the ends of its interval; empty if None."""
        new = [self.new_rows_average, *(self.new_rows_interval or [])]
        return [self._number(each, digits) for each in new if each is not None]

    def _number(self, x: float, digits: int = 6) -> str:
        """Write an average with as many digits as tell the group and the table apart, or more."""
        ends = self.counted_average, self.counted_average_of_table, *(self.new_rows_interval or [])
        return number(x, digits_apart(ends, digits))

    @property
    def statements(self) -> list[tuple[str, str]]:
        """Names and texts of the lines on the group, its averages, the verdict and the method."""
        average, whole = map(self._number, (self.counted_average, self.counted_average_of_table))
        text, new = f"{average}, of the whole table {whole}", self._new_rows()
        # Only if the two averages differ by more than rounding, as they are printed.
        if self.luck is not None and self.luck > 0 and new[0] != average:
            text += f"; about {number(self.luck, 3)} of this is luck"
        lines = [*super().statements, ("average of these rows", text)]
        if not self.is_whole:
            if new:
                text = f"{new[0]} expected, with 95 % probability between {new[1]} and {new[2]}"
                lines.append(("average of new rows", text))
            word = "higher" if self.minimizes else "lower"
            gains = self.effects.items()
            effects = [f"{name} ({number(abs(x), 3)} {word} without it)" for name, x in gains]
            lines += [("verdict", f"{self.verdict}: {self.test}"), *self._compared()]
            lines.append(("what matters", listed(effects)))
            for i, each in enumerate(self.sizes):
                text = f"{count(each['n_members'], 'row')}, {each['group']}: "
                if each["new_rows_interval"] is None:
                    text += "too few rows to say what new ones average"
                else:
                    ends = each["new_rows_average"], *each["new_rows_interval"]
                    average, low, high = (self._number(x, 4) for x in ends)
                    text += f"new rows {average} ({low} to {high})"
                lines.append(("" if i else "other sizes", text))
        return [*lines, ("how it was found", self.how)]

    @property
    def remarks(self) -> list[list[str]]:
        """Remarks on a code for missing values, rows that belong together, and outliers."""
        remarks = []
        if self.missing_code is not None:
            remarks.append(
                f"{self.missing_code:,.6g} is often the value of {self.target}, far from all "
                "others. If it stands for a missing value, leave these rows out: --where "
                f"{self.without_code}"
            )
        remarks += [self.together] if self.together else []
        if self.outliers_count_as:
            (low, high), (least, most) = self.outliers_count_as, self.extremes
            ends = " or ".join(number(x, 4) for x in [low] * (least < low) + [high] * (most > high))
            remarks.append(
                f"Values far from all others, perhaps mistyped{self.outliers}. In the search, the "
                f"verdict and all averages above they count as {ends}. As they are, these rows "
                f"average {self._number(self.true_average)} and the whole table "
                f"{self._number(self.true_average_of_table)}."
            )
        return [[remark] for remark in remarks]

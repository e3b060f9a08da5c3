"""The report of a search of visible rows, in memory or in a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from skgpb.lab.cli.html_report import Report
from skgpb.lab.cli.words import LISTED, count, number, percent


@dataclass(frozen=True)
class Words:
    """Texts of a report on a search, in addition to the numbers of its result.

    Attributes
    ----------
    source : str
        The table, and the part of it that was searched.
    sides : mapping of str to str
        The conditions of the group, by features.
    where : str
        Condition that selects the rows of the group; empty for all rows.
    chance : str
        The evidence that the group may be chance.
    verdict : str
        The evidence for the verdict.
    runner_up : str
        The next best group; empty if there is none.
    how : str
        The method, in a line.
    method : str
        The method in sentences, for readers who do not know it.
    remarks : sequence of str
        Possible errors in the table.
    """

    source: str
    sides: Mapping[str, str]
    where: str
    chance: str
    verdict: str
    runner_up: str
    how: str
    method: str
    remarks: Sequence[str]


def make_report(result: dict[str, Any], words: Words) -> Report:
    """Return the report on a result."""
    headline = _headline(result, words)
    lines = [escape(line) for line in headline]
    if words.sides and not _is_whole(result):
        sides = (f"<strong>{escape(each)}</strong> {escape(s)}" for each, s in words.sides.items())
        rows, average = count(result["n_members"], "row"), number(result["counted_average"], 4)
        group = f"The {rows} with {' and '.join(sides)}"
        lines.insert(0, f"{group} average <strong>{average}</strong>.")
    return Report(
        title=f"{result['sought'].capitalize()} average of {result['target']}",
        source=words.source,
        rows=_rows(result, words),
        remarks=[[remark] for remark in words.remarks],
        conclusion="".join(f"<p>{line}</p>" for line in lines),
        method=words.method.format_map(result),
        headline=headline,
    )


def _is_whole(result: dict[str, Any]) -> bool:
    """Return whether the recommended group has all rows."""
    return result["n_members"] == result["n_rows"]


def _headline(result: dict[str, Any], words: Words) -> list[str]:
    """Describe in sentences whether there is a group, and the expected average of new rows."""
    if _is_whole(result):
        word = "lower" if result["sought"] == "lowest" else "higher"
        return [f"No group has a {word} average than the whole table."]
    if result["verdict"] == "chance":
        return [f"The group may be chance: {words.chance}."]
    new, whole = result["new_rows_average"], number(result["counted_average_of_table"], 4)
    verdict = "The group is real"
    if new is not None:
        low, high = result["new_rows_interval"]
        verdict += (
            f": new rows of it are expected to average {number(new, 4)} ({number(low, 4)} to "
            f"{number(high, 4)} with 95 % probability), all rows {whole}"
        )
    return [f"{verdict}.", "That holds for tables like this one, and says nothing about causes."]


def _rows(result: dict[str, Any], words: Words) -> list[tuple[str, str]]:
    """Return the lines of the report as pairs of name and text."""
    n, is_whole = result["n_members"], _is_whole(result)
    rows = [
        ("recommended group", f"{count(n, 'row')}, {percent(n / result['n_rows'])} of the table")
    ]
    rows += [(f"  {name}", text) for name, text in words.sides.items()]
    rows += [("exactly these rows", words.where)] if words.where else []
    whole = number(result["counted_average_of_table"])
    average = f"{number(result['counted_average'])}, of the whole table {whole}"
    luck, new = result.get("optimism"), result["new_rows_average"]
    # Only if the two averages differ by more than rounding, as they are printed.
    if luck is not None and luck > 0 and number(new) != number(result["counted_average"]):
        average += f"; about {number(luck, 3)} of this is luck"
    rows.append(("average of these rows", average))
    if result["new_rows_average"] is not None and not is_whole:
        low, high = result["new_rows_interval"]
        text = (
            f"{number(result['new_rows_average'])} expected, with 95 % probability between "
            f"{number(low)} and {number(high)}"
        )
        rows.append(("average of new rows", text))
    if not is_whole:
        rows.append(("verdict", f"{result['verdict']}: {words.verdict}"))
        rows += [("runner-up", words.runner_up)] if words.runner_up else []
        word = "higher" if result["sought"] == "lowest" else "lower"
        rows.append(("what matters", _effects(result["effects_of_features"], word)))
    return [*rows, ("how it was found", words.how)]


def _effects(effects: dict[str, float], word: str) -> str:
    """Describe by how much the average is higher or lower without each condition."""
    largest = list(effects.items())[:LISTED]
    texts = [f"{name} ({number(abs(gain), 3)} {word} without it)" for name, gain in largest]
    more = len(effects) - LISTED
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def missing_code_remark(code: float, target: str, where: str) -> str:
    """Write that a value looks like a code for missing values, and how to leave it out."""
    return (
        f"{code:,.6g} is often the value of {target}, far from all others. If it stands for a "
        f"missing value, leave these rows out: --where {where}"
    )


def outlier_remark(result: dict[str, Any], where: str, extremes: tuple[float, float]) -> str:
    """Write where outliers are, and to which values they are clipped.

    ``extremes`` are the smallest and the largest target.
    """
    low, high = result["outliers_count_as"]
    beyond = [low] * (extremes[0] < low) + [high] * (extremes[1] > high)
    counted = " or ".join(number(end, 4) for end in beyond)
    return (
        f"Values far from all others, perhaps mistyped{where}. In the search, the verdict and all "
        f"averages above they count as {counted}. As they are, these rows average "
        f"{number(result['true_average'])} and the whole table "
        f"{number(result['true_average_of_table'])}."
    )

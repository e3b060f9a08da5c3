"""``search`` if rows are visible and answers exact: the result and its report."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import skgpb
from skgpb.cli.arguments import UsageError
from skgpb.cli.features import FeatureLimits
from skgpb.cli.tables import SearchTable, values_of
from skgpb.cli.where import written
from skgpb.cli.words import LISTED, count, named, number, percent, quoted, summary
from skgpb.datasets.columns import Column
from skgpb.datasets.dates import iso_date
from skgpb.tables import MemoryTable
from skgpb.tables.checks import missing_code, repeats
from skgpb.tables.conditions import Categories, Range, Subgroup
from skgpb.tables.finding import Finding, find_and_judge
from skgpb.tables.memory import shortest

# Fewest rows of a group where nothing is said, as a share of the table, and in any case.
SHARE, FEWEST = 0.05, 2
# Outliers that are named.
NAMED = 5
# Longer conditions, of hundreds of categories, are for programs.
LONGEST = 2_000
# Options that are about questions.
ABOUT_QUESTIONS = {"alpha": None, "stop_within": None}


@dataclass(frozen=True)
class ExactFound:
    """The group found in a table, and the columns that define it.

    Attributes
    ----------
    finding : Finding
        The group and the verdict.
    table : SearchTable
        Table in which the group was found.
    target : str
        Name of the column.
    """

    finding: Finding
    table: SearchTable
    target: str

    @cached_property
    def limits(self) -> list[FeatureLimits]:
        """The conditions that define the recommended group, the most important feature first."""
        return self.limits_of(self.finding.subgroup, list(self.finding.effects()))

    def limits_of(self, box: Subgroup, order: list[str] | None = None) -> list[FeatureLimits]:
        """Return the conditions that define a group, one for each of its features."""
        columns = {column.name: column for column in self.table.features}
        return [limits_of(columns[name], box[name]) for name in order or box]

    def where_of(self, limits: list[FeatureLimits]) -> str:
        """Return the condition that selects the rows of a group from the file."""
        told = (each for limit in limits for each in limit.conditions)
        return " and ".join([*self.table.conditions, *told])

    @property
    def is_whole(self) -> bool:
        """True if all rows are recommended."""
        return bool(self.finding.rows.all())


def limits_of(column: Column, side: Range | Categories) -> FeatureLimits:
    """Say a side of a box in the terms of a column, with ends that belong to it."""
    missing = side.missing if column.missing.any() else None
    if isinstance(side, Categories):
        return FeatureLimits(column, among=side.among, missing=missing)
    values = column.values[~column.missing]
    inside = values[side.holds(values)]
    low, high = side.low, side.high
    if len(inside) and inside.min() == inside.max() and len(np.unique(values)) > 1:
        low = high = float(inside[0])
    elif high is not None:
        above = values[values >= high]
        if len(inside) and len(above):
            high = -shortest(-float(above.min()), -float(inside.max()))
    return FeatureLimits(column, low, high, missing=missing)


def check_exact(arguments: argparse.Namespace) -> None:
    """Refuse options about questions, because this search asks none."""
    for option, plain in ABOUT_QUESTIONS.items():
        if getattr(arguments, option) != plain:
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"{name} is for searches that ask questions: give --budget as well")


def search_exactly(table: SearchTable, arguments: argparse.Namespace) -> ExactFound:
    """Search all rows and judge the result."""
    n = len(table.values)
    least = fewest_rows(arguments, n)
    columns = {column.name: values_of(column) for column in table.features}
    try:
        memory = MemoryTable(columns, table.values)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if all(levels.n_levels == 1 for levels in memory.levels):
        raise UsageError("no groups can be formed: every feature has one and the same value")
    rng = np.random.default_rng(arguments.seed or 0)
    finding = find_and_judge(
        memory, least, minimize=arguments.minimize, rng=rng, groups=table.together
    )
    return ExactFound(finding, table, arguments.target)


def fewest_rows(arguments: argparse.Namespace, n: int) -> int:
    """Return how many of n rows a group has to have at least."""
    least = rows_of(arguments.min_rows, n)
    if least is None:
        least = min(n, max(FEWEST, math.ceil(SHARE * n)))
    if 2 * least > n:
        raise UsageError(
            f"--min-rows {least} leaves no choice in a table of {n} rows: at most {n // 2}"
        )
    return least


def rows_of(given: int | float | None, n: int) -> int | None:
    """Return a number of rows that may be given as a share of them."""
    return math.ceil(given * n - 1e-9) if isinstance(given, float) else given


def result_of(found: ExactFound, arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything about a search, for other programs."""
    finding, table = found.finding, found.table
    judged, limits = finding.verdict, finding.limits
    members, numbers = np.flatnonzero(finding.rows), table.numbers
    outliers = [
        {"row": int(numbers[i]), "value": float(table.values[i])} for i in limits.outliers.tolist()
    ]
    return {
        "command": arguments.command,
        "source": str(table.file.name),
        "answers": "exact",
        "features": [column.name for column in table.features],
        "target": found.target,
        "sought": "lowest" if finding.minimizes else "highest",
        "n_rows": len(table.values),
        "n_members": len(members),
        "members": numbers[members].tolist(),
        "lower": ends_of(table.features, members, np.min),
        "upper": ends_of(table.features, members, np.max),
        "where": found.where_of(found.limits),
        "verdict": judged.verdict,
        "p_value": judged.p_value,
        "n_permutations": judged.n_permutations,
        "n_permutations_as_good": judged.n_as_good,
        "new_rows_average": judged.average,
        "new_rows_interval": None if judged.interval is None else list(judged.interval),
        "optimism": finding.optimism,
        "true_average": finding.average,
        "true_average_of_table": finding.table_average,
        "outliers": outliers,
        "outliers_count_as": [limits.low, limits.high] if outliers else None,
        "counted_average": finding.counted_average,
        "counted_average_of_table": finding.counted_table_average,
        "runner_up": _runner_up(found),
        "effects_of_features": finding.effects(),
        "n_groups_met": finding.n_boxes,
        "missing_code": missing_code(table.values),
        "group": arguments.group,
        "identity": table.identity,
        "seed": arguments.seed or 0,
        "parameters": {"min_rows": finding.min_rows},
        "version": skgpb.__version__,
    }


def ends_of(columns: list[Column], members: np.ndarray, end: Any) -> list[Any]:
    """Lowest or highest value that rows have of each feature; None of texts."""
    found: list[Any] = []
    for column in columns:
        values = column.values[members]
        values = values[~np.isnan(values)]
        value = None if column.kind == "texts" or not len(values) else float(end(values))
        found.append(iso_date(value) if value is not None and column.kind == "dates" else value)
    return found


def _runner_up(found: ExactFound) -> dict[str, Any] | None:
    box = found.finding.runner_up
    if box is None:
        return None
    rows = found.finding.table.rows(box)
    return {
        "n_members": int(rows.sum()),
        "where": found.where_of(found.limits_of(box)),
        "true_average": float(found.table.values[rows].mean()),
    }


# -- for people -----------------------------------------------------------------------------------


def summary_of(found: ExactFound, result: dict[str, Any], source: str) -> list[str]:
    """Return lines that describe the result."""
    title = f"{result['sought'].capitalize()} average of {found.target} in {source}"
    remarks = ([remark] for remark in remarks_of(found, result))
    return summary(title, headline(found, result), rows_said(found, result), remarks)


def headline(found: ExactFound, result: dict[str, Any]) -> list[str]:
    """Describe in sentences whether there is a group, and the expected average of new rows."""
    if found.is_whole:
        return no_group(result)
    if result["verdict"] == "chance":
        share = percent(min(result["p_value"], 1.0))
        return [
            f"The group may be chance: in {share} of the tables whose {found.target} is dealt out "
            "to the rows at random a search finds as much."
        ]
    return real_group(result)


def no_group(result: dict[str, Any]) -> list[str]:
    """Say that the whole table is recommended."""
    word = "lower" if result["sought"] == "lowest" else "higher"
    return [f"No group has a {word} average than the whole table."]


def real_group(result: dict[str, Any]) -> list[str]:
    """Say that a group is real, and what to expect of new rows."""
    new, whole = result["new_rows_average"], number(result["counted_average_of_table"], 4)
    said = "The group is real"
    if new is not None:
        low, high = result["new_rows_interval"]
        said += (
            f": new rows of it are expected to average {number(new, 4)} ({number(low, 4)} to "
            f"{number(high, 4)} with 95 % probability), all rows {whole}"
        )
    return [f"{said}.", "That holds for tables like this one, and says nothing about causes."]


def rows_said(found: ExactFound, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of the report of a search, each with its name."""
    finding = found.finding
    share = percent(result["n_members"] / result["n_rows"])
    where = f"--where {quoted(result['where'])}"
    if len(where) > LONGEST:
        where = f"a condition of {len(where):,} letters, see where in the file of --output"
    rows = [("recommended group", f"{count(result['n_members'], 'row')}, {share} of the table")]
    rows += [(f"  {limit.column.name}", limit.said) for limit in found.limits]
    rows += [("exactly these rows", where)] if result["where"] else []
    optimism = result["optimism"]
    better = ""
    if optimism is not None and optimism > 0 and not found.is_whole:
        better = f"; about {number(optimism, 3)} of this is luck"
    whole = number(result["counted_average_of_table"])
    average = f"{number(result['counted_average'])}, of the whole table {whole}{better}"
    rows.append(("average of these rows", average))
    if found.is_whole:
        return [*rows, _how(found, result)]
    if result["new_rows_average"] is not None:
        low, high = result["new_rows_interval"]
        text = (
            f"{number(result['new_rows_average'])} expected, with 95 % probability between "
            f"{number(low)} and {number(high)}"
        )
        rows.append(("average of new rows", text))
    rows.append(
        (
            "verdict",
            f"{result['verdict']}: {result['n_permutations_as_good']:,} of "
            f"{count(result['n_permutations'], 'shuffled table')} gave a group this good "
            f"(p = {result['p_value']:.2g})",
        )
    )
    if finding.runner_up is not None:
        other = result["runner_up"]
        limits = found.limits_of(finding.runner_up)
        counted = float(finding.table.totals([finding.runner_up]).mean[0])
        text = f"{count(other['n_members'], 'row')}, {named(limits)}: {number(counted)}"
        rows.append(("runner-up", text))
    rows.append(("what matters", _matters(found)))
    rows.append(_how(found, result))
    return rows


def _matters(found: ExactFound) -> str:
    """Describe the contribution of each side."""
    return effects_said(found.finding.effects(), "higher" if found.finding.minimizes else "lower")


def effects_said(effects: dict[str, float], word: str) -> str:
    """Describe by how much the average is higher or lower without each condition."""
    told = list(effects.items())[:LISTED]
    said = [f"{name} ({number(abs(gain), 3)} {word} without it)" for name, gain in told]
    more = len(effects) - LISTED
    return ", ".join(said) + (f" and {more} more" if more > 0 else "")


def _how(found: ExactFound, result: dict[str, Any]) -> tuple[str, str]:
    least = count(result["parameters"]["min_rows"], "row")
    return (
        "how it was found",
        f"all rows are visible and answers exact: the best of {result['n_groups_met']:,} groups of "
        f"{least} or more that a search met",
    )


def remarks_of(found: ExactFound, result: dict[str, Any]) -> list[str]:
    """Say what may be wrong with the table: codes, rows that belong together, outliers."""
    return [
        *code_said(result["missing_code"], found.target, found.table.conditions),
        *_together(found, result),
        *_outliers(found, result),
    ]


def code_said(code: float | None, target: str, conditions: Sequence[str] = ()) -> list[str]:
    """Say that a value looks like a code for missing values, and what to do."""
    if code is None:
        return []
    where = " and ".join([*conditions, f"{written(target)} != {code:.15g}"])
    return [
        f"{code:,.6g} is often the value of {target}, far from all others. If it stands for a "
        f"missing value, leave these rows out: --where {quoted(where)}"
    ]


def _together(found: ExactFound, result: dict[str, Any]) -> list[str]:
    """Say that rows seem to belong together."""
    table, name = found.table, result["identity"]
    if table.together is not None:
        return []
    if name is not None:
        return [
            f"{name} looks like an identity that repeats. If rows of the same {name} belong "
            f"together, the verdict and the interval need --group {quoted(name)}."
        ]
    different = repeats(found.finding.table.columns)
    if different is None:
        return []
    return [
        f"Only {different:,} of {len(table.values):,} rows differ in the features. If such rows "
        "belong together, like the visits of a patient, the verdict and the interval need --group "
        "with the column that says so."
    ]


def _outliers(found: ExactFound, result: dict[str, Any]) -> list[str]:
    """Name outliers."""
    outliers = result["outliers"]
    if not outliers:
        return []
    rows, file = found.table.rows[found.finding.limits.outliers[:NAMED]], found.table.file
    shown = ", ".join(
        f"{each['value']:,.6g} in {file.place(row)}"
        for each, row in zip(outliers, rows.tolist(), strict=False)
    )
    more = f" and {len(outliers) - NAMED:,} more" if len(outliers) > NAMED else ""
    low, high = (number(end, 4) for end in result["outliers_count_as"])
    return [
        f"Values far from all others, perhaps mistyped: {shown}{more}. In the search, the verdict "
        f"and all averages above they count as {low} or {high}. As they are, these rows average "
        f"{number(result['true_average'])} and the whole table "
        f"{number(result['true_average_of_table'])}."
    ]

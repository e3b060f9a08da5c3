"""``search`` if rows are visible and answers exact: the result and its report."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import skgpb
from skgpb.lab.cli.arguments import UsageError
from skgpb.lab.cli.counted import Words, code_said, outliers_said
from skgpb.lab.cli.features import FeatureLimits, limits_of
from skgpb.lab.cli.tables import SearchTable, fewest_rows, share_of, values_of
from skgpb.lab.cli.where import written
from skgpb.lab.cli.words import count, named, number, percent, quoted
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.dates import iso_date
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.checks import missing_code, repeats
from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.finding import Finding, find_and_judge

# Outliers that are named.
NAMED = 5
# Longer conditions, of hundreds of categories, are for programs.
LONGEST = 2_000
# Options that are about questions.
ABOUT_QUESTIONS = ("alpha", "stop_within")


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
        told = (limit.condition for limit in limits)
        return " and ".join(filter(None, [*self.table.conditions, *told]))


def check_exact(arguments: argparse.Namespace) -> None:
    """Refuse options about questions, because this search asks none."""
    for option in ABOUT_QUESTIONS:
        if getattr(arguments, option) is not None:
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"{name} is for searches that ask questions: give --budget as well")


def search_exactly(table: SearchTable, arguments: argparse.Namespace) -> ExactFound:
    """Search all rows and judge the result."""
    n = len(table.values)
    least = fewest_rows(arguments.min_rows, n, share_of(n))
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

# For people who know no more of it than its name.
METHOD = (
    "All rows were searched for the box with the {sought} average, side by side. The verdict comes "
    "from the same search in tables whose target was dealt out to the rows at random. What new "
    "rows are expected to average comes from ten searches, each without a tenth of the rows: "
    "those had no part in the choice."
)


def words_of(found: ExactFound, result: dict[str, Any]) -> Words:
    """Return what is said of a search of visible rows."""
    where = f"--where {quoted(result['where'])}" if result["where"] else ""
    if len(where) > LONGEST:
        where = f"a condition of {len(where):,} letters, see where in the file of --output"
    runner_up, box = "", found.finding.runner_up
    if box is not None:
        counted = float(found.finding.table.totals([box]).mean[0])
        group = f"{count(result['runner_up']['n_members'], 'row')}, {named(found.limits_of(box))}"
        runner_up = f"{group}: {number(counted)}"
    least = count(result["parameters"]["min_rows"], "row")
    return Words(
        source=found.table.said,
        sides={limit.column.name: limit.said for limit in found.limits},
        where=where,
        chance=f"in {percent(min(result['p_value'], 1.0))} of the tables whose {found.target} is "
        "dealt out to the rows at random a search finds as much",
        verdict=f"{result['n_permutations_as_good']:,} of "
        f"{count(result['n_permutations'], 'shuffled table')} gave a group this good "
        f"(p = {result['p_value']:.2g})",
        runner_up=runner_up,
        how=f"all rows are visible and answers exact: the best of {result['n_groups_met']:,} "
        f"groups of {least} or more that a search met",
        method=METHOD,
        remarks=_remarks(found, result),
    )


def _remarks(found: ExactFound, result: dict[str, Any]) -> list[str]:
    """Say what may be wrong with the table: codes, rows that belong together, outliers."""
    remarks, code = [], result["missing_code"]
    if code is not None:
        others = f"{written(found.target)} != {code:.15g}"
        where = " and ".join([*found.table.conditions, others])
        remarks.append(code_said(code, found.target, quoted(where)))
    if found.table.together is None:
        remarks += _together(found, result["identity"])
    if outliers := result["outliers"]:
        rows, file = found.table.rows[found.finding.limits.outliers[:NAMED]], found.table.file
        shown = ", ".join(
            f"{each['value']:,.6g} in {file.place(row)}"
            for each, row in zip(outliers, rows.tolist(), strict=False)
        )
        more = f" and {len(outliers) - NAMED:,} more" if len(outliers) > NAMED else ""
        values = [each["value"] for each in outliers]
        remarks.append(outliers_said(result, f": {shown}{more}", (min(values), max(values))))
    return remarks


def _together(found: ExactFound, identity: str | None) -> list[str]:
    """Say that rows seem to belong together."""
    if identity is not None:
        return [
            f"{identity} looks like an identity that repeats. If rows of the same {identity} "
            f"belong together, the verdict and the interval need --group {quoted(identity)}."
        ]
    different = repeats(found.finding.table.columns)
    if different is None:
        return []
    return [
        f"Only {different:,} of {len(found.table.values):,} rows differ in the features. If such "
        "rows belong together, like the visits of a patient, the verdict and the interval need "
        "--group with the column that says so."
    ]

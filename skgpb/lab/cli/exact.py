"""``search`` if rows are visible and answers exact: the result and its report."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import skgpb
from skgpb.lab.cli.arguments import UsageError
from skgpb.lab.cli.counted import Words, missing_code_remark, outlier_remark
from skgpb.lab.cli.features import FeatureLimits, side_limits
from skgpb.lab.cli.tables import SearchTable, default_min_rows, fewest_rows, search_values
from skgpb.lab.cli.where import quote_column
from skgpb.lab.cli.words import count, describe_group, number, percent, shell_quote
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.dates import iso_date
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.checks import missing_code, repeats
from skgpb.lab.tables.conditions import Subgroup
from skgpb.lab.tables.finding import Finding, find_and_judge

# Number of outliers in a remark.
NAMED = 5
# Letters of the longest condition in a report; longer ones, of hundreds of categories, are for
# programs.
LONGEST = 2_000
# Options of searches that ask questions.
ABOUT_QUESTIONS = ("alpha", "stop_within")


@dataclass(frozen=True)
class ExactResult:
    """Result of a search of visible rows, in terms of the columns of the file.

    Attributes
    ----------
    finding : Finding
        The group and the verdict.
    table : SearchTable
        The table that was searched.
    target : str
        Name of the column whose average was sought.
    """

    finding: Finding
    table: SearchTable
    target: str

    @cached_property
    def limits(self) -> list[FeatureLimits]:
        """Conditions of the recommended group, the most important feature first."""
        return self.group_limits(self.finding.subgroup, list(self.finding.effects()))

    def group_limits(self, box: Subgroup, order: list[str] | None = None) -> list[FeatureLimits]:
        """Return the conditions of a group, by default in the order of its features."""
        columns = {column.name: column for column in self.table.features}
        return [side_limits(columns[name], box[name]) for name in order or box]

    def write_condition(self, limits: list[FeatureLimits]) -> str:
        """Write the condition that selects the rows of a group from the file."""
        sides = (limit.condition for limit in limits)
        return " and ".join(filter(None, [*self.table.conditions, *sides]))


def check_exact(arguments: argparse.Namespace) -> None:
    """Refuse options of searches that ask questions, because this search asks none."""
    for option in ABOUT_QUESTIONS:
        if getattr(arguments, option) is not None:
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"{name} is for searches that ask questions: give --budget as well")


def search_exactly(table: SearchTable, arguments: argparse.Namespace) -> ExactResult:
    """Search all rows and judge the result."""
    n = len(table.values)
    least = fewest_rows(arguments.min_rows, n, default_min_rows(n))
    columns = {column.name: search_values(column) for column in table.features}
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
    return ExactResult(finding, table, arguments.target)


def make_result(found: ExactResult, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the result of a search as a dict, for other programs."""
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
        "lower": feature_extremes(table.features, members, np.min),
        "upper": feature_extremes(table.features, members, np.max),
        "where": found.write_condition(found.limits),
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


def feature_extremes(columns: list[Column], members: np.ndarray, end: Any) -> list[Any]:
    """Return the lowest or highest value of each feature among rows; None for texts.

    ``end`` is ``numpy.min`` or ``numpy.max``.
    """
    ends: list[Any] = []
    for column in columns:
        values = column.values[members]
        values = values[~np.isnan(values)]
        value = None if column.kind == "texts" or not len(values) else float(end(values))
        ends.append(iso_date(value) if value is not None and column.kind == "dates" else value)
    return ends


def _runner_up(found: ExactResult) -> dict[str, Any] | None:
    box = found.finding.runner_up
    if box is None:
        return None
    rows = found.finding.table.rows(box)
    return {
        "n_members": int(rows.sum()),
        "where": found.write_condition(found.group_limits(box)),
        "true_average": float(found.table.values[rows].mean()),
    }


# -- for people -----------------------------------------------------------------------------------

# The method for readers who do not know it.
METHOD = (
    "All rows were searched for the box with the {sought} average, side by side. The verdict comes "
    "from the same search in tables whose target was dealt out to the rows at random. What new "
    "rows are expected to average comes from ten searches, each without a tenth of the rows: "
    "those had no part in the choice."
)


def make_words(found: ExactResult, result: dict[str, Any]) -> Words:
    """Return the texts of the report on a search of visible rows."""
    where = f"--where {shell_quote(result['where'])}" if result["where"] else ""
    if len(where) > LONGEST:
        where = f"a condition of {len(where):,} letters, see where in the file of --output"
    runner_up, box = "", found.finding.runner_up
    if box is not None:
        counted = float(found.finding.table.totals([box]).mean[0])
        rows = count(result["runner_up"]["n_members"], "row")
        runner_up = f"{rows}, {describe_group(found.group_limits(box))}: {number(counted)}"
    least = count(result["parameters"]["min_rows"], "row")
    return Words(
        source=found.table.description,
        sides={limit.column.name: limit.text for limit in found.limits},
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


def _remarks(found: ExactResult, result: dict[str, Any]) -> list[str]:
    """Return remarks on the table: codes, rows that belong together, outliers."""
    remarks, code = [], result["missing_code"]
    if code is not None:
        others = f"{quote_column(found.target)} != {code:.15g}"
        where = " and ".join([*found.table.conditions, others])
        remarks.append(missing_code_remark(code, found.target, shell_quote(where)))
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
        remarks.append(outlier_remark(result, f": {shown}{more}", (min(values), max(values))))
    return remarks


def _together(found: ExactResult, identity: str | None) -> list[str]:
    """Return a remark if rows seem to belong together."""
    if identity is not None:
        return [
            f"Rows with the same {identity} seem to belong together, like the visits of a patient. "
            f"If they do, the verdict and the interval need --group {shell_quote(identity)}."
        ]
    different = repeats(found.finding.table.columns)
    if different is None:
        return []
    return [
        f"Only {different:,} of {len(found.table.values):,} rows differ in the features. If such "
        "rows belong together, like the visits of a patient, the verdict and the interval need "
        "--group with the column that says so."
    ]

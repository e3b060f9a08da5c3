"""``search`` if rows are visible and answers exact."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

from skgpb.lab.cli.arguments import UsageError
from skgpb.lab.cli.counted import CountedFinding
from skgpb.lab.cli.exact_pictures import make_panels
from skgpb.lab.cli.features import box_limits, describe_group, write_condition
from skgpb.lab.cli.finding import Finding, describe_rival, where_option
from skgpb.lab.cli.tables import SearchTable, default_min_rows, fewest_rows, search_values
from skgpb.lab.cli.where import quote_column
from skgpb.lab.cli.words import count, listed, percent, shell_quote
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.dates import iso_date
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.checks import missing_code, repeats
from skgpb.lab.tables.finding import JudgedGroup, Size, find_and_judge
from skgpb.lab.tables.verdict import LEVEL

# Number of outliers in a remark.
NAMED = 5


# The method for readers who do not know it.
METHOD = (
    "All rows were searched for the box with the {} average, side by side. The verdict comes "
    "from the same search in tables whose target was dealt out to the rows at random. What new "
    "rows are expected to average comes from ten searches, each without a tenth of the rows: "
    "those had no part in the choice."
)


def search_exactly(table: SearchTable, arguments: argparse.Namespace) -> Finding:
    """Search all rows and judge the result."""
    n, target = len(table.values), arguments.target
    least = fewest_rows(arguments.min_rows, n, default_min_rows(n))
    columns = {column.name: search_values(column) for column in table.features}
    try:
        memory = MemoryTable(columns, table.values)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if all(levels.n_levels == 1 for levels in memory.levels):
        raise UsageError("no groups can be formed: every feature has one and the same value")
    rng = np.random.default_rng(arguments.seed or 0)
    judged = find_and_judge(
        memory, least, minimize=arguments.minimize, rng=rng, groups=table.together
    )
    effects, rows = judged.effects(), np.flatnonzero(judged.rows)
    limits = box_limits(table.features, judged.subgroup, effects)
    where, code = write_condition(table.conditions, limits), missing_code(table.values)
    verdict, ends, outliers = judged.verdict, judged.limits, judged.limits.outliers.tolist()
    named = zip(
        table.values[outliers].tolist(), table.rows[outliers[:NAMED]].tolist(), strict=False
    )
    wild = [f"{value:,.6g} in {table.file.place(row)}" for value, row in named]
    others = "" if code is None else f"{quote_column(target)} != {code:.15g}"
    runner_up, rival = _runner_up(judged, table)
    sizes = [_describe_size(size, table) for size in judged.sizes]
    p, shuffled = verdict.p_value, count(verdict.n_permutations, "shuffled table")
    return CountedFinding(
        command=arguments.command,
        source=str(table.file.name),
        table=table.description,
        answers="exact",
        features=arguments.features,
        target=target,
        minimizes=arguments.minimize,
        n_rows=n,
        n_members=len(rows),
        sides={limit.column.name: limit.text for limit in limits},
        where=where,
        exactly=where_option(where),
        effects=effects,
        runner_up=runner_up,
        rival=rival,
        verdict=verdict.verdict,
        p_value=p,
        new_rows_average=verdict.average,
        new_rows_interval=verdict.interval and list(verdict.interval),
        true_average=judged.average,
        true_average_of_table=judged.table_average,
        outliers_count_as=[ends.low, ends.high] if outliers else None,
        counted_average=judged.counted_average,
        counted_average_of_table=judged.counted_table_average,
        missing_code=code,
        chance=_chance(judged, target),
        test=f"{verdict.n_as_good:,} of {shuffled} gave a group this good (p = {p:.2g})",
        how=f"all rows are visible and answers exact: the best of {judged.n_boxes:,} groups of "
        f"{count(least, 'row')} or more that a search met",
        method=METHOD.format("lowest" if arguments.minimize else "highest"),
        outliers=f": {listed(wild, NAMED, len(outliers))}",
        extremes=(float(table.values.min()), float(table.values.max())),
        without_code=shell_quote(" and ".join([*table.conditions, others])),
        together=_together(judged, table),
        luck=judged.optimism,
        sizes=sizes,
        panels=partial(make_panels, judged, table.features, limits, target),
        rows=member_entries(table.features, rows, table.numbers),
        more={
            "n_permutations": verdict.n_permutations,
            "n_permutations_as_good": verdict.n_as_good,
            "optimism": judged.optimism,
            "outliers": [
                {"row": int(table.numbers[i]), "value": float(table.values[i])} for i in outliers
            ],
            "n_groups_met": judged.n_boxes,
            "other_sizes": sizes,
            "group": arguments.group,
            "identity": table.identity,
        },
        seed=arguments.seed or 0,
        parameters={"min_rows": least},
    )


def _chance(judged: JudgedGroup, target: str) -> str:
    """Write why the group may be chance."""
    if judged.verdict.p_value <= LEVEL:
        better = "higher" if judged.minimizes else "lower"
        return f"new rows of it may average as much as all rows, or {better}"
    return (
        f"in {percent(min(judged.verdict.p_value, 1.0))} of the tables whose {target} is dealt out "
        "to the rows at random a search finds as much"
    )


def _describe_size(size: Size, table: SearchTable) -> dict[str, Any]:
    """Return the entry of a group of another size."""
    limits = box_limits(table.features, size.subgroup)
    return {
        "n_members": size.n_rows,
        "group": describe_group(limits),
        "where": write_condition(table.conditions, limits),
        "new_rows_average": size.average,
        "new_rows_interval": size.interval and list(size.interval),
    }


def _runner_up(judged: JudgedGroup, table: SearchTable) -> tuple[dict[str, Any] | None, str]:
    """Return the next best group for programs, and for people."""
    box = judged.runner_up
    if box is None:
        return None, ""
    rows, limits = judged.table.rows(box), box_limits(table.features, box)
    n, average = int(rows.sum()), float(judged.table.totals([box]).mean[0])
    entry = {
        "n_members": n,
        "where": write_condition(table.conditions, limits),
        "true_average": float(table.values[rows].mean()),
    }
    of_table = judged.counted_table_average
    return entry, describe_rival(n, describe_group(limits), average, of_table)


def member_entries(
    columns: list[Column], members: np.ndarray, numbers: np.ndarray | None
) -> dict[str, Any]:
    """Return the rows of a group, and their lowest and highest values, for other programs.

    ``numbers`` are the numbers of the searched rows in the file; None for all rows. A text has no
    lowest and highest value.
    """
    ends: dict[str, list[Any]] = {"lower": [], "upper": []}
    for column in columns:
        values = column.values[members]
        values = [] if column.kind == "texts" else values[~np.isnan(values)]
        write = iso_date if column.kind == "dates" else float
        for each, end in zip(ends.values(), (np.min, np.max), strict=True):
            each.append(write(float(end(values))) if len(values) else None)
    return {"members": (members if numbers is None else numbers[members]).tolist(), **ends}


def _together(judged: JudgedGroup, table: SearchTable) -> str:
    """Return a remark if rows seem to belong together; otherwise an empty text."""
    identity = table.identity
    if table.together is not None:
        return ""
    if identity is not None:
        return (
            f"Rows with the same {identity} seem to belong together, like the visits of a patient. "
            f"If they do, the verdict and the interval need --group {shell_quote(identity)}."
        )
    different = repeats(judged.table.columns)
    if different is None:
        return ""
    return (
        f"Only {different:,} of {len(judged.rows):,} rows differ in the features. If such rows "
        "belong together, like the visits of a patient, the verdict and the interval need --group "
        "with the column that says so."
    )

"""``search --sql``: a table in a database, which does the counting."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import skgpb
from skgpb.exceptions import DatabaseError, ScansSpentError
from skgpb.lab.cli.arguments import UsageError, rows_or_share, whole
from skgpb.lab.cli.counted import Words, make_report, missing_code_remark, outlier_remark
from skgpb.lab.cli.database_pictures import format_value, make_panels
from skgpb.lab.cli.features import describe_side
from skgpb.lab.cli.files import check_drawing, check_outputs, write_json, write_report
from skgpb.lab.cli.options import RoutedParser
from skgpb.lab.cli.pictures import Panel
from skgpb.lab.cli.tables import check_table, default_min_rows, fewest_rows, row_count
from skgpb.lab.cli.words import count, number
from skgpb.lab.datasets.credentials import find_secrets, safe_address, safe_name
from skgpb.utils.install import install_command

# Smallest p-value that is printed; smaller ones are printed as less than this.
SMALLEST_P = 1e-6
# The method for readers who do not know it: of all searches, and of a sample, or of all rows.
METHOD = "The database was asked for counts and averages, and no row left it."
OF_SAMPLE = (
    "A sample of the rows was searched for the box with the {sought} average, side by side, and "
    "what was found was averaged over all rows. The verdict and the average that new rows are "
    "expected to have come from the rows outside the sample: those had no part in the choice."
)
OF_ALL = (
    "All rows were searched for the box with the {sought} average, side by side. The verdict and "
    "the average that new rows are expected to have come from two more searches, each of one half "
    "of the rows: the other half had no part in the choice."
)


def add_database(parser: RoutedParser) -> None:
    """Add the options that choose a table of a database."""
    database = parser.add_argument_group(
        "database",
        "The database counts and averages; no row leaves it. "
        f"Needs {install_command('sql')}. "
        "--where is a condition in the SQL of the database, and so is what is printed.",
    )
    add = database.add_argument
    add(
        "--sql",
        metavar="DATABASE",
        help="search a table of a database: duckdb:///sales.db, postgresql://user@host/name, "
        "pyspark://, bigquery://project/dataset, snowflake://..., or Parquet files: sales.parquet, "
        "'parts/*.parquet', a folder. Passwords may come from the environment",
    )
    add("--table", metavar="NAME", help="table, or schema.table; not needed where there is one")
    add(
        "--sample",
        type=rows_or_share,
        metavar="M",
        help="about how many rows are searched before what was found is averaged over all, such as "
        "500000, 5%% or 100%% (default: half a million, half of a smaller table, and all rows of "
        "one with fewer than 400,000)",
    )
    add(
        "--max-scans",
        type=whole(1),
        metavar="N",
        help="send at most N queries to the table; a search needs 5 to 9 (default: no limit)",
    )


def check_database(arguments: argparse.Namespace) -> None:
    """Refuse arguments that cannot be combined, before the database is opened."""
    if arguments.data is not None:
        raise UsageError(f"give either a file, {safe_name(arguments.data)}, or --sql, not both")
    arguments.data = arguments.sql
    check_table(arguments)
    check_outputs({"--output": arguments.output, "--report": arguments.report})
    if arguments.report is not None:
        check_drawing("--report")


def search_database(arguments: argparse.Namespace) -> None:
    """Search a table of a database."""
    try:
        from skgpb.lab.sql import IbisTable, find_in_database
        from skgpb.lab.sql.connection import connect
    except ImportError as error:
        raise UsageError(str(error)) from error
    expression = None
    try:
        expression = connect(arguments.sql, arguments.table)
        table = IbisTable(
            expression,
            arguments.features,
            arguments.target,
            where=arguments.where,
            max_scans=arguments.max_scans,
            secrets=find_secrets(arguments.sql),
        )
        n = table.n_rows
        least = fewest_rows(arguments.min_rows, n, default_min_rows(n))
        found = find_in_database(
            table,
            least,
            minimize=arguments.minimize,
            n_sample=None if arguments.sample is None else row_count(arguments.sample, n),
            seed=arguments.seed or 0,
        )
        panels: list[Panel] = []
        if arguments.report is not None:
            panels = make_panels(table, found.subgroup, found.counted_mean)
    except ScansSpentError as error:
        raise UsageError(f"--max-scans {arguments.max_scans} is too few: {error}") from None
    except (DatabaseError, ValueError) as error:
        raise UsageError(str(error)) from None
    finally:
        if expression is not None:
            expression.get_backend().disconnect()
    source = safe_address(arguments.sql)
    if arguments.table is not None:
        source = f"table {arguments.table} of {source}"
    result = {
        "command": arguments.command,
        "source": source,
        "answers": "exact",
        "features": arguments.features,
        "target": arguments.target,
        "sought": "lowest" if arguments.minimize else "highest",
        "n_rows": n,
        "n_rows_without_target": table.n_missing,
        "n_members": found.n,
        "where": found.where,
        "verdict": found.verdict,
        "p_value": found.p_value,
        "new_rows_average": found.new_rows_average,
        "new_rows_interval": found.new_rows_interval and list(found.new_rows_interval),
        "true_average": found.mean,
        "true_average_of_table": table.true_mean,
        "n_outliers": table.n_outliers,
        "outliers_count_as": table.limits and list(table.limits),
        "runner_up": found.runner_up
        and dict(zip(("where", "n_members", "counted_average"), found.runner_up, strict=True)),
        "effects_of_features": found.effects,
        "missing_code": table.missing_code,
        "counted_average": found.counted_mean,
        "counted_average_of_table": table.mean,
        "n_scans": table.n_scans,
        "n_rows_searched": found.n_sample,
        "n_questions": found.n_asked,
        "seed": arguments.seed or 0,
        "parameters": {"min_rows": least},
        "version": skgpb.__version__,
    }
    sides = {name: describe_side(found.subgroup[name], format_value) for name in found.subgroup}
    report = make_report(result, make_words(result, sides, table.extremes))
    write_report(
        report.lines,
        [
            ("result", arguments.output, partial(write_json, result)),
            ("report", arguments.report, partial(report.write_page, panels)),
        ],
    )


def make_words(
    result: dict[str, Any], sides: dict[str, str], extremes: tuple[float, float]
) -> Words:
    """Return the texts of the report on a search of a table in a database."""
    left_out, other = result["n_rows_without_target"], result["runner_up"]
    rows = count(result["n_rows"], "row")
    rows += f" ({left_out:,} without {result['target']} left out)" if left_out else ""
    p = f"= {result['p_value']:.2g}" if result["p_value"] > SMALLEST_P else f"< {SMALLEST_P:g}"
    runner_up = ""
    if other is not None:
        group = f"{count(other['n_members'], 'row')}, WHERE {other['where']}"
        runner_up = f"{group}: {number(other['counted_average'])}"
    sampled = result["n_rows_searched"] < result["n_rows"]
    return Words(
        source=f"{result['source']}, {rows}",
        sides=sides,
        where=f"WHERE {result['where']}",
        chance="a search finds groups as good in tables without any",
        verdict=f"p {p}, by rows that had no part in the choice",
        runner_up=runner_up,
        how=f"{result['n_scans']:,} queries to the table, {result['n_questions']:,} to "
        f"{count(result['n_rows_searched'], 'row')} of it",
        method=f"{METHOD} {OF_SAMPLE if sampled else OF_ALL}",
        remarks=_remarks(result, extremes),
    )


def _remarks(result: dict[str, Any], extremes: tuple[float, float]) -> list[str]:
    """Return remarks on a code for missing values and on outliers, whose rows are unknown."""
    remarks, code, target = [], result["missing_code"], result["target"]
    if code is not None:
        remarks.append(missing_code_remark(code, target, f"with {target} <> {code:.15g}"))
    if n := result["n_outliers"]:
        low, high = result["outliers_count_as"]
        outliers = [f"{each:,.6g}" for each in extremes if not low <= each <= high]
        more = f" and {n - len(outliers):,} more" if n > len(outliers) else ""
        remarks.append(
            outlier_remark(result, f", in {count(n, 'row')}: {', '.join(outliers)}{more}", extremes)
        )
    return remarks

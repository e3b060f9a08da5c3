"""``search --sql``: a table in a database, which does the counting."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from skgpb.exceptions import DatabaseError, ScansSpentError
from skgpb.lab.cli.arguments import UsageError, rows_or_share, whole
from skgpb.lab.cli.counted import CountedFinding
from skgpb.lab.cli.database_pictures import format_value, make_panels
from skgpb.lab.cli.features import describe_side
from skgpb.lab.cli.files import check_drawing, check_outputs
from skgpb.lab.cli.finding import Finding, describe_rival
from skgpb.lab.cli.options import RoutedParser
from skgpb.lab.cli.pictures import Panel
from skgpb.lab.cli.tables import check_table, default_min_rows, fewest_rows, row_count
from skgpb.lab.cli.words import count, listed
from skgpb.lab.datasets.credentials import find_secrets, safe_address, safe_name
from skgpb.utils.install import install_command

if TYPE_CHECKING:
    from skgpb.lab.sql import IbisTable
    from skgpb.lab.sql.search import DatabaseSubgroup

# Smallest p-value that is printed; smaller ones are printed as less than this.
SMALLEST_P = 1e-6
# The method for readers who do not know it: of all searches, and of a sample, or of all rows.
METHOD = "The database was asked for counts and averages, and no row left it."
OF_SAMPLE = (
    "A sample of the rows was searched for the box with the {} average, side by side, and "
    "what was found was averaged over all rows. The verdict and the average that new rows are "
    "expected to have come from the rows outside the sample: those had no part in the choice."
)
OF_ALL = (
    "All rows were searched for the box with the {} average, side by side. The verdict and "
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


def search_database(arguments: argparse.Namespace) -> Finding:
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
    return _finding(found, table, arguments, least, panels)


def _finding(
    found: DatabaseSubgroup,
    table: IbisTable,
    arguments: argparse.Namespace,
    least: int,
    panels: list[Panel],
) -> Finding:
    """Say what was found in a table of a database."""
    source, target, n, left_out = safe_address(arguments.sql), arguments.target, table.n_rows, ""
    if arguments.table is not None:
        source = f"table {arguments.table} of {source}"
    if table.n_missing:
        left_out = f" ({table.n_missing:,} without {target} left out)"
    p = f"= {found.p_value:.2g}" if found.p_value > SMALLEST_P else f"< {SMALLEST_P:g}"
    runner_up, rival, code = None, "", table.missing_code
    if found.runner_up is not None:
        where, n_members, mean = found.runner_up
        runner_up = {"n_members": n_members, "where": where, "counted_average": mean}
        rival = describe_rival(n_members, f"WHERE {where}", mean, table.mean)
    low, high = table.limits or table.extremes
    wild = listed([f"{x:,.6g}" for x in table.extremes if not low <= x <= high], n=table.n_outliers)
    method = OF_SAMPLE if found.n_sample < n else OF_ALL
    return CountedFinding(
        command=arguments.command,
        source=source,
        table=f"{source}, {count(n, 'row')}{left_out}",
        answers="exact",
        features=arguments.features,
        target=target,
        minimizes=arguments.minimize,
        n_rows=n,
        n_members=found.n,
        sides={name: describe_side(found.subgroup[name], format_value) for name in found.subgroup},
        where=found.where,
        exactly=f"WHERE {found.where}",
        effects=found.effects,
        runner_up=runner_up,
        rival=rival,
        verdict=found.verdict,
        p_value=found.p_value,
        new_rows_average=found.new_rows_average,
        new_rows_interval=found.new_rows_interval and list(found.new_rows_interval),
        true_average=found.mean,
        true_average_of_table=table.true_mean,
        outliers_count_as=table.limits and list(table.limits),
        counted_average=found.counted_mean,
        counted_average_of_table=table.mean,
        missing_code=code,
        chance="a search finds groups as good in tables without any",
        test=f"p {p}, by rows that had no part in the choice",
        how=f"{table.n_scans:,} queries to the table, {found.n_asked:,} to "
        f"{count(found.n_sample, 'row')} of it",
        method=f"{METHOD} {method.format('lowest' if arguments.minimize else 'highest')}",
        outliers=f", in {count(table.n_outliers, 'row')}: {wild}",
        extremes=table.extremes,
        without_code="" if code is None else f"with {target} <> {code:.15g}",
        panels=lambda: panels,
        more={
            "n_rows_without_target": table.n_missing,
            "n_outliers": table.n_outliers,
            "n_scans": table.n_scans,
            "n_rows_searched": found.n_sample,
            "n_questions": found.n_asked,
        },
        seed=arguments.seed or 0,
        parameters={"min_rows": least},
    )

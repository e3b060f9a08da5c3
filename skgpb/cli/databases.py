"""``search --sql``: a table in a database, which does the counting."""

from __future__ import annotations

import argparse
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import skgpb
from skgpb.cli.arguments import UsageError, rows_or_share, whole
from skgpb.cli.exact import fewest_rows, rows_of
from skgpb.cli.features import SHOWN
from skgpb.cli.files import check_outputs, write_json, write_report
from skgpb.cli.tables import check_table
from skgpb.cli.words import count, number, percent
from skgpb.exceptions import DatabaseError, ScansSpentError
from skgpb.tables import Categories, Interval

# Options that go with --sql; all others are about rows in memory, or about questions.
GOES = {
    *("run", "command", "data", "sql", "table", "sample", "max_scans", "features", "target"),
    *("where", "minimize", "min_rows", "seed", "output"),
}


# Smaller ones are not told apart.
SMALLEST_P = 1e-6


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a table of a database."""
    database = parser.add_argument_group(
        "database",
        "The database counts and averages; no row leaves it. Needs pip install skgpb[sql]. "
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
        help="send at most N queries to the table; a search needs 5 to 8 (default: no limit)",
    )


def check_database(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> bool:
    """Return whether a database is searched; find what does not go with that before it is asked."""
    if arguments.sql is None:
        for option in ("table", "sample", "max_scans"):
            if getattr(arguments, option) is not None:
                raise UsageError(f"--{option.replace('_', '-')} is for --sql")
        return False
    if arguments.data is not None:
        raise UsageError(f"give either a file, {arguments.data}, or --sql, not both")
    for option, value in vars(arguments).items():
        if option not in GOES and value != parser.get_default(option):
            raise UsageError(f"--{option.replace('_', '-')} cannot be combined with --sql")
    arguments.data = arguments.sql
    check_table(arguments)
    check_outputs({"--output": arguments.output})
    return True


def search_database(arguments: argparse.Namespace) -> None:
    """Search a table of a database."""
    try:
        from skgpb.integrations.ibis import IbisTable, connect, find_in_database, shown
        from skgpb.integrations.ibis.connection import secrets_of
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
            secrets=secrets_of(arguments.sql),
        )
        n = table.n_rows
        least = fewest_rows(arguments, n)
        found = find_in_database(
            table,
            least,
            minimize=arguments.minimize,
            n_sample=rows_of(arguments.sample, n),
            seed=arguments.seed or 0,
        )
    except ScansSpentError as error:
        raise UsageError(f"--max-scans {arguments.max_scans} is too few: {error}") from None
    except (DatabaseError, ValueError) as error:
        raise UsageError(str(error)) from None
    finally:
        if expression is not None:
            expression.get_backend().disconnect()
    source = shown(arguments.sql)
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
        "true_average_of_table": table.mean,
        "n_scans": table.n_scans,
        "n_rows_searched": found.n_sample,
        "n_questions": found.n_asked,
        "seed": arguments.seed or 0,
        "parameters": {"min_rows": least},
        "version": skgpb.__version__,
    }
    sides = {name: said(found.box[name]) for name in found.box}
    write_report(
        summary_of(result, sides), [("result", arguments.output, partial(write_json, result))]
    )


def said(side: Interval | Categories) -> str:
    """Say a side of a box, for people."""
    if isinstance(side, Categories):
        shown = ", ".join(map(_named, side.among[:SHOWN]))
        more = len(side.among) - SHOWN
        text = shown + (f" and {more} more" if more > 0 else "")
    elif side.low is None:
        text = "any" if side.high is None else _below(side)
    elif side.high is None:
        text = f"{_written(side.low)} or more" if side.low_belongs else f"above {side.low}"
    else:
        text = f"{'' if side.low_belongs else 'above '}{_written(side.low)} to {_below(side)}"
        text = text.replace("to up to", "to")
    return f"{text}, or missing" if side.missing and text else text or "missing"


def _below(side: Interval) -> str:
    """Say the upper end."""
    high = side.high
    if not side.high_belongs and isinstance(high, int):
        return f"up to {high - 1:,}"
    if not side.high_belongs and isinstance(high, date) and not isinstance(high, datetime):
        return f"up to {high - timedelta(days=1)}"
    return f"{'up to' if side.high_belongs else 'below'} {_written(high)}"


def _named(label: Any) -> str:
    """Say a category."""
    return {True: "yes", False: "no"}[label] if isinstance(label, bool) else str(label)


def _written(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def summary_of(result: dict[str, Any], sides: dict[str, str]) -> list[str]:
    """Return lines that describe the result."""
    n, whole_table = result["n_members"], number(result["true_average_of_table"], 4)
    left_out = result["n_rows_without_target"]
    rows = count(result["n_rows"], "row")
    rows += f" ({left_out:,} without {result['target']} left out)" if left_out else ""
    told = [(f"  {name}", text) for name, text in sides.items()]
    expected = []
    if result["new_rows_average"] is not None:
        low, high = result["new_rows_interval"]
        text = f"{number(result['new_rows_average'], 4)} expected, with 95 % probability between "
        expected = [("average of new rows", f"{text}{number(low, 4)} and {number(high, 4)}")]
    average = f"{number(result['true_average'], 4)}, of the whole table {whole_table}"
    p = f"= {result['p_value']:.2g}" if result["p_value"] > SMALLEST_P else f"< {SMALLEST_P:g}"
    judged = f"{result['verdict']}: p {p}, by rows that had no part in the choice"
    queries = f"{result['n_scans']:,} queries to the table, "
    searched = f"{result['n_questions']:,} to {count(result['n_rows_searched'], 'row')} of it"
    sought = f"{result['sought'].capitalize()} average of {result['target']}"
    lines = [
        ("recommended group", f"{count(n, 'row')}, {percent(n / result['n_rows'])} of the table"),
        *told,
        ("exactly these rows", f"WHERE {result['where']}"),
        ("average of these rows", average),
        *expected,
        ("verdict", judged),
        ("how it was found", queries + searched),
    ]
    width = max(len(name) for name, _ in lines)
    real = result["verdict"] == "real"
    headline = (
        "The group is real. That holds for tables like this one, and says nothing about causes."
        if real
        else "The group may be chance: a search finds groups as good in tables without any."
    )
    return [
        f"{sought} in {result['source']}, {rows}",
        "",
        headline,
        "",
        *(f"{name:<{width}}  {text}" for name, text in lines),
    ]

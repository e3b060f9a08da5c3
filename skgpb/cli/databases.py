"""``search --sql``: a table in a database, which does the counting."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import partial
from html import escape
from typing import Any

import skgpb
from skgpb._install import install_command
from skgpb.cli.arguments import UsageError, rows_or_share, whole
from skgpb.cli.database_pictures import panels_of, said_label
from skgpb.cli.exact import effects_said, fewest_rows, no_group, real_group, rows_of
from skgpb.cli.features import SHOWN
from skgpb.cli.files import check_drawing, check_outputs, write_json, write_report
from skgpb.cli.html_report import write_page
from skgpb.cli.pictures import Panel
from skgpb.cli.tables import check_table
from skgpb.cli.words import count, number, percent, summary
from skgpb.datasets.credentials import repeated, secrets_of, shown
from skgpb.exceptions import DatabaseError, ScansSpentError
from skgpb.tables.conditions import Categories, Range

# Options that go with --sql; all others are about rows in memory, or about questions.
GOES = {
    *("run", "command", "data", "sql", "table", "sample", "max_scans", "features", "target"),
    *("where", "minimize", "min_rows", "seed", "output", "report"),
}
# Smaller ones are not told apart.
SMALLEST_P = 1e-6
# For people who know no more of it than its name.
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


def add_database(parser: argparse.ArgumentParser) -> None:
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


def check_database(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> bool:
    """Return whether a database is searched; find what does not go with that before it is asked."""
    if arguments.sql is None:
        for option in ("table", "sample", "max_scans"):
            if getattr(arguments, option) is not None:
                raise UsageError(f"--{option.replace('_', '-')} is for --sql")
        return False
    if arguments.data is not None:
        raise UsageError(f"give either a file, {repeated(arguments.data)}, or --sql, not both")
    for option, value in vars(arguments).items():
        if option not in GOES and value != parser.get_default(option):
            raise UsageError(f"--{option.replace('_', '-')} cannot be combined with --sql")
    arguments.data = arguments.sql
    check_table(arguments)
    check_outputs({"--output": arguments.output, "--report": arguments.report})
    if arguments.report is not None:
        check_drawing("--report")
    return True


def search_database(arguments: argparse.Namespace) -> None:
    """Search a table of a database."""
    try:
        from skgpb.integrations.ibis import IbisTable, find_in_database
        from skgpb.integrations.ibis.connection import connect
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
        panels: list[Panel] = []
        if arguments.report is not None:
            panels = panels_of(table, found.subgroup, found.counted_mean)
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
    sides = {name: said(found.subgroup[name]) for name in found.subgroup}
    remarks = remarks_of(result, table.extremes)
    page = partial(write_database_html, result, sides, remarks, panels)
    write_report(
        summary_of(result, sides, remarks),
        [
            ("result", arguments.output, partial(write_json, result)),
            ("report", arguments.report, page),
        ],
    )


def said(side: Range | Categories) -> str:
    """Say a side of a box, for people."""
    if isinstance(side, Categories):
        shown = ", ".join(map(said_label, side.among[:SHOWN]))
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


def _below(side: Range) -> str:
    """Say the upper end."""
    high = side.high
    if not side.high_belongs and isinstance(high, int):
        return f"up to {high - 1:,}"
    if not side.high_belongs and isinstance(high, date) and not isinstance(high, datetime):
        return f"up to {high - timedelta(days=1)}"
    return f"{'up to' if side.high_belongs else 'below'} {_written(high)}"


def _written(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def summary_of(result: dict[str, Any], sides: dict[str, str], remarks: Sequence[str]) -> list[str]:
    """Return lines that describe the result."""
    title = f"{result['sought'].capitalize()} average of {result['target']} in {source_of(result)}"
    return summary(
        title, headline_of(result), rows_said(result, sides), ([remark] for remark in remarks)
    )


def remarks_of(result: dict[str, Any], extremes: tuple[float, float]) -> list[str]:
    """Name outliers; which rows have them the database does not tell."""
    remarks = []
    if result["missing_code"] is not None:
        code, target = result["missing_code"], result["target"]
        remarks.append(
            f"{code:,.6g} is often the value of {target}, far from all others. If it stands for a "
            f"missing value, leave these rows out: --where with {target} <> {code:.15g}"
        )
    if not result["n_outliers"]:
        return remarks
    low, high = result["outliers_count_as"]
    outliers = [f"{each:,.6g}" for each in extremes if not low <= each <= high]
    n, more = result["n_outliers"], result["n_outliers"] - len(outliers)
    named = ", ".join(outliers) + (f" and {more:,} more" if more else "")
    return [
        *remarks,
        f"Values far from all others, perhaps mistyped, in {count(n, 'row')}: {named}. In the "
        f"search, the verdict and all averages above they count as {number(low, 4)} or "
        f"{number(high, 4)}. As they are, these rows average {number(result['true_average'])} and "
        f"the whole table {number(result['true_average_of_table'])}.",
    ]


def source_of(result: dict[str, Any]) -> str:
    """Describe the table."""
    left_out = result["n_rows_without_target"]
    rows = count(result["n_rows"], "row")
    rows += f" ({left_out:,} without {result['target']} left out)" if left_out else ""
    return f"{result['source']}, {rows}"


def headline_of(result: dict[str, Any]) -> list[str]:
    """Describe in sentences whether there is a group, and the expected average of new rows."""
    if result["n_members"] == result["n_rows"]:
        return no_group(result)
    if result["verdict"] == "real":
        return real_group(result)
    return ["The group may be chance: a search finds groups as good in tables without any."]


def rows_said(result: dict[str, Any], sides: dict[str, str]) -> list[tuple[str, str]]:
    """Return the lines of the report, each with its name."""
    n, of_table = result["n_members"], number(result["counted_average_of_table"], 4)
    queries = f"{result['n_scans']:,} queries to the table, "
    searched = f"{result['n_questions']:,} to {count(result['n_rows_searched'], 'row')} of it"
    return [
        ("recommended group", f"{count(n, 'row')}, {percent(n / result['n_rows'])} of the table"),
        *((f"  {name}", text) for name, text in sides.items()),
        ("exactly these rows", f"WHERE {result['where']}"),
        (
            "average of these rows",
            f"{number(result['counted_average'], 4)}, of the whole table {of_table}",
        ),
        *(_judged(result) if n < result["n_rows"] else []),
        *_compared(result),
        ("how it was found", queries + searched),
    ]


def _compared(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Say which group is next, and what each condition brings."""
    rows, other = [], result["runner_up"]
    if other is not None:
        text = f"{count(other['n_members'], 'row')}, WHERE {other['where']}"
        rows.append(("runner-up", f"{text}: {number(other['counted_average'], 4)}"))
    if result["effects_of_features"]:
        word = "higher" if result["sought"] == "lowest" else "lower"
        rows.append(("what matters", effects_said(result["effects_of_features"], word)))
    return rows


def _judged(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Say what new rows average, and whether chance alone explains the group."""
    p = f"= {result['p_value']:.2g}" if result["p_value"] > SMALLEST_P else f"< {SMALLEST_P:g}"
    verdict = ("verdict", f"{result['verdict']}: p {p}, by rows that had no part in the choice")
    if result["new_rows_average"] is None:
        return [verdict]
    low, high = result["new_rows_interval"]
    text = f"{number(result['new_rows_average'], 4)} expected, with 95 % probability between "
    return [("average of new rows", f"{text}{number(low, 4)} and {number(high, 4)}"), verdict]


def write_database_html(
    result: dict[str, Any],
    sides: dict[str, str],
    remarks: Sequence[str],
    panels: Sequence[Panel],
    name: str,
) -> None:
    """Write a page about a search of a database."""
    said = (f"<strong>{escape(each)}</strong> {escape(text)}" for each, text in sides.items())
    rows, average = count(result["n_members"], "row"), number(result["counted_average"], 4)
    group = f" with {' and '.join(said)}" if sides else ""
    lines = [f"The {rows}{group} average <strong>{average}</strong>."]
    lines += map(escape, headline_of(result))
    sampled = result["n_rows_searched"] < result["n_rows"]
    write_page(
        name,
        title=f"{result['sought'].capitalize()} average of {result['target']}",
        source=source_of(result),
        conclusion="".join(f"<p>{line}</p>" for line in lines),
        rows=rows_said(result, sides),
        remarks=remarks,
        panels=panels,
        method=f"{METHOD} {OF_SAMPLE if sampled else OF_ALL}".format_map(result),
    )

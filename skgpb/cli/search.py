"""``python -m skgpb search``: the group of rows of a table with the highest average."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

from skgpb.cli.arguments import UsageError, add_common, add_stop, not_negative, rows_or_share, whole
from skgpb.cli.asked import fewest_asked, search_asked
from skgpb.cli.counted import report_of as counted_report_of
from skgpb.cli.databases import add_database, check_database, search_database
from skgpb.cli.exact import check_exact, search_exactly, words_of
from skgpb.cli.exact import result_of as exact_result_of
from skgpb.cli.exact_pictures import panels_of as exact_panels_of
from skgpb.cli.files import check_drawing, check_outputs, check_picture, write_json, write_report
from skgpb.cli.pictures import draw_panels, draw_table, panels_of
from skgpb.cli.private import (
    add_private,
    check_private,
    ledger_of,
    ledger_told,
    private_oracle,
)
from skgpb.cli.report import report_of
from skgpb.cli.result import result_of
from skgpb.cli.tables import SearchTable, add_table, check_table, is_exact, read_search
from skgpb.cli.words import count
from skgpb.tables.asking import NoisyAverages, Oracle

# A search needs two groups of two rows.
FEWEST_ROWS = 4


def add_parser(commands: Any) -> None:
    """Add the command to those of a parser."""
    search = commands.add_parser(
        "search",
        help="search a table for the group of rows with the highest average of a column",
        description="Find the group of rows of a table with the highest average of a column. "
        "Groups are boxes in the space of the features. By itself it looks at all rows, and says "
        "whether the group is real. With --budget, --noise or --epsilon it asks for averages over "
        "groups of rows, few, noisy or private ones, and looks at no value of the column alone.",
        allow_abbrev=False,
    )
    search.set_defaults(run=partial(_search, parser=search))
    add = search.add_argument
    add(
        "data",
        nargs="?",
        metavar="DATA",
        help="table with a header: text with any separator, also packed, Parquet, Excel, or - for "
        "standard input",
    )
    add("--features", nargs="+", required=True, metavar="NAME", help="columns that form groups")
    add(
        "--target",
        nargs="+",
        action="append",
        required=True,
        metavar="NAME",
        help="column whose average is maximised",
    )
    add("--minimize", action="store_true", help="look for the lowest average")
    add(
        "--budget",
        type=whole(1),
        metavar="N",
        help="ask only this many questions, each for the average of a group of rows (default: look "
        "at all rows; with --epsilon: until the budget of privacy is spent)",
    )
    add(
        "--noise",
        type=not_negative,
        default=0.0,
        metavar="SD",
        help="standard deviation of the Gaussian noise added to every answer, in units of the "
        "target; it gives no privacy, --epsilon does (default: 0)",
    )
    add(
        "--alpha",
        type=not_negative,
        metavar="VARIANCE",
        help="noise variance that the model assumes (default: SD**2, but at least the "
        "square of a hundredth of the standard deviation of the answers)",
    )
    add(
        "--min-rows",
        "--min-members",
        type=rows_or_share,
        metavar="M",
        help="fewest rows of a group, such as 200 or 1%% (default: 5%% of the table, a 64th where "
        "questions are asked)",
    )
    add(
        "--save-rows",
        metavar="FILE.csv",
        help="write the rows of the recommended group, as they are in the table",
    )
    add(
        "--report",
        metavar="FILE.html",
        help="write the conclusion and the pictures as one page for any browser",
    )
    add_stop(search)
    add_common(search, None, None)
    add_table(search)
    add_private(search)
    add_database(search)


def _search(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    if check_database(arguments, parser):
        search_database(arguments)
        return
    check_table(arguments)
    check_private(arguments)
    output, plot, rows = arguments.output, arguments.plot, arguments.save_rows
    named = {"--output": output, "--plot": plot, "--save-rows": rows, "--report": arguments.report}
    named["--ledger"] = arguments.ledger
    check_outputs(named, arguments.data)
    if plot is not None:
        check_picture(plot)
    if arguments.report is not None:
        check_drawing("--report")
    if is_exact(arguments):
        check_exact(arguments)
        _search_exactly(arguments)
        return
    table = read_search(arguments)
    _check_number(table)
    values, n = table.values, len(table.values)
    private = arguments.epsilon is not None
    arguments.least = None
    if not private or arguments.min_rows is not None:
        arguments.least = fewest_asked(arguments, n)
    known: np.ndarray | None = None if private else values
    with ledger_told(arguments):
        oracle: Oracle = NoisyAverages(values, arguments.noise, arguments.seed or 0)
        if private:
            # From here on the column is known to the oracle alone.
            ledger = ledger_of(table, arguments)
            oracle = private_oracle(values, arguments, ledger, table.rows)
        found = search_asked(table.features, oracle, arguments, table.conditions, arguments.groups)
    result = result_of(found, oracle, known, arguments, table.file.name, table.numbers)
    report = report_of(found, result, table.said)
    write_report(
        report.lines,
        [
            ("result", output, partial(write_json, result)),
            ("rows", rows, partial(table.copy_members, result["members"])),
            ("map", plot, lambda name: draw_table(found).savefig(name)),
            ("report", arguments.report, lambda name: report.write_page(panels_of(found), name)),
        ],
    )


def _search_exactly(arguments: argparse.Namespace) -> None:
    """Look at all rows."""
    table = read_search(arguments)
    _check_number(table)
    found = search_exactly(table, arguments)
    result = exact_result_of(found, arguments)
    report = counted_report_of(result, words_of(found, result))
    title = f"{count(result['n_members'], 'row')} of {result['n_rows']:,} recommended"
    panels = exact_panels_of(found) if arguments.plot or arguments.report else []
    write_report(
        report.lines,
        [
            ("result", arguments.output, partial(write_json, result)),
            ("rows", arguments.save_rows, partial(table.copy_members, result["members"])),
            ("map", arguments.plot, lambda name: draw_panels(panels, title).savefig(name)),
            ("report", arguments.report, partial(report.write_page, panels)),
        ],
    )


def _check_number(table: SearchTable) -> None:
    n = len(table.rows)
    if n < FEWEST_ROWS:
        left = " left" if n < table.n_read else ""
        raise UsageError(
            f"{table.file.name} has {count(n, 'row')}{left}, a search needs at least {FEWEST_ROWS}"
        )

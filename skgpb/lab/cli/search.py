"""``python -m skgpb search``: the group of rows of a table with the highest average."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

from skgpb.lab.cli import private
from skgpb.lab.cli.arguments import (
    UsageError,
    add_common,
    add_stop,
    check_confidence,
    not_negative,
    rows_or_share,
    whole,
)
from skgpb.lab.cli.asked import search_by_averages, smallest_group
from skgpb.lab.cli.averaged import make_finding
from skgpb.lab.cli.databases import add_database, check_database, search_database
from skgpb.lab.cli.exact import search_exactly
from skgpb.lab.cli.files import (
    Writer,
    check_drawing,
    check_outputs,
    check_picture,
    write_json,
    write_report,
)
from skgpb.lab.cli.finding import Finding
from skgpb.lab.cli.html_report import write_page
from skgpb.lab.cli.options import Route, RoutedParser
from skgpb.lab.cli.pictures import draw_panels
from skgpb.lab.cli.tables import SearchTable, add_table, check_table, read_search
from skgpb.lab.cli.words import count
from skgpb.lab.tables.asking import NoisyAverages, Oracle

# Smallest number of rows of a search: two groups of two rows.
FEWEST_ROWS = 4


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers ``commands``."""
    search = commands.add_parser(
        "search",
        help="search a table for the group of rows with the highest average of a column",
        description="Find the group of rows of a table with the highest average of a column. "
        "Groups are boxes in the space of the features. By itself it looks at all rows, and says "
        "whether the group is real. With --budget, --noise or --epsilon it asks for averages over "
        "groups of rows, few, noisy or private ones, and looks at no value of the column alone.",
    )
    options = RoutedParser(search)
    search.set_defaults(run=partial(_search, options=options))
    search.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help="table with a header: text with any separator, also packed, Parquet, Excel, or - for "
        "standard input",
    )
    add = options.add_argument
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
    add_stop(options)
    add_common(options, None, None)
    add_table(options)
    private.add_private(options)
    add_database(options)


def _search(arguments: argparse.Namespace, options: RoutedParser) -> None:
    options.choose_route(arguments)
    if arguments.route is Route.DATABASE:
        check_database(arguments)
        _write(arguments, search_database(arguments))
        return
    check_confidence(arguments)
    check_table(arguments)
    is_private = arguments.route is Route.PRIVATE
    if is_private:
        private.check_private(arguments)
    files = ("output", "plot", "save_rows", "report", "ledger")
    named = {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in files}
    check_outputs(named, arguments.data)
    if arguments.plot is not None:
        check_picture(arguments.plot)
    if arguments.report is not None:
        check_drawing("--report")
    table = read_search(arguments)
    _check_number(table)
    if arguments.route is Route.EXACT:
        _write(arguments, search_exactly(table, arguments), table)
        return
    values, n = table.values, len(table.values)
    arguments.least = None
    if not is_private or arguments.min_rows is not None:
        arguments.least = smallest_group(arguments, n)
    visible: np.ndarray | None = None if is_private else values
    with private.ledger_errors(arguments):
        oracle: Oracle = NoisyAverages(values, arguments.noise, arguments.seed or 0)
        if is_private:
            # From here on only the oracle reads the column.
            ledger = private.open_ledger(table, arguments)
            oracle = private.private_oracle(values, arguments, ledger, table.rows)
        found = search_by_averages(
            table.features, oracle, arguments, table.conditions, arguments.groups
        )
    described = str(table.file.name), table.description, table.numbers
    finding = make_finding(found, oracle, visible, arguments, *described)
    after = f" after {count(found.search.n_answers, 'average')} of {found.target}"
    _write(arguments, finding, table, after)


def _write(
    arguments: argparse.Namespace,
    finding: Finding,
    table: SearchTable | None = None,
    after: str = "",
) -> None:
    """Print the report, and write the files of the arguments."""
    panels = finding.panels() if arguments.plot or arguments.report else []
    title = f"{count(finding.n_members, 'row')} of {finding.n_rows:,} recommended{after}"
    files: list[tuple[str, str | None, Writer]] = [
        ("result", arguments.output, partial(write_json, finding.to_json())),
        ("map", arguments.plot, lambda name: draw_panels(panels, title).savefig(name)),
        ("report", arguments.report, partial(write_page, finding, panels)),
    ]
    if table is not None:
        members = finding.rows["members"]
        files.insert(1, ("rows", arguments.save_rows, partial(table.copy_members, members)))
    write_report(finding.lines, files)


def _check_number(table: SearchTable) -> None:
    n = len(table.rows)
    if n < FEWEST_ROWS:
        left = " left" if n < table.n_read else ""
        raise UsageError(
            f"{table.file.name} has {count(n, 'row')}{left}, a search needs at least {FEWEST_ROWS}"
        )

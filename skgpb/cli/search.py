"""``python -m skgpb search``: the group of rows of a table with the highest average."""

from __future__ import annotations

import argparse
import math
import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from skgpb.cli.arguments import UsageError, add_common, add_stop, not_negative, whole
from skgpb.cli.conclusion import conclude
from skgpb.cli.files import check_drawing, check_outputs, check_picture, write_json, write_report
from skgpb.cli.html_report import write_html
from skgpb.cli.pictures import draw_table
from skgpb.cli.private import add_private, check_private, private_oracle
from skgpb.cli.region import (
    KERNELS,
    N_CHILDREN,
    GroupAverages,
    GroupOracle,
    Region,
    find_region,
    group_size,
)
from skgpb.cli.report import count, summary_of
from skgpb.cli.result import Found, result_of
from skgpb.cli.tables import SearchTable, add_table, check_table, read_search
from skgpb.optimizers import Stop

# A search needs two groups of two rows.
FEWEST_ROWS = 4
# No table has so many rows that it could be halved more often.
DEEPEST = 60


def add_parser(commands: Any) -> None:
    """Add the command to those of a parser."""
    search = commands.add_parser(
        "search",
        help="search a table for the group of rows with the highest average of a column",
        description="Find the group of rows of a table with the highest average of a column, "
        "asking only for noisy averages over groups of rows. Groups are boxes in the space of "
        "the features. No value of the column is ever looked at on its own.",
        allow_abbrev=False,
    )
    search.set_defaults(run=_search, size=None)
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
        help="column whose average is sought",
    )
    add("--minimize", action="store_true", help="seek the lowest average")
    add(
        "--budget",
        type=whole(1),
        metavar="N",
        help="number of questions; with --epsilon it may be left out",
    )
    add(
        "--noise",
        type=not_negative,
        default=0.0,
        metavar="SD",
        help="standard deviation of the Gaussian noise added to every answer, in units of the "
        "target; it promises no privacy, --epsilon does (default: 0)",
    )
    add(
        "--alpha",
        type=not_negative,
        metavar="VARIANCE",
        help="noise variance that the model assumes (default: SD**2, but at least a hundredth "
        "of the spread of the answers, squared)",
    )
    add(
        "--kernel",
        choices=sorted(KERNELS),
        default="matern52",
        metavar="NAME",
        help=f"covariance, its scales are learned: {', '.join(sorted(KERNELS))} "
        "(default: %(default)s)",
    )
    add(
        "--max-depth",
        type=whole(0, DEEPEST),
        metavar="D",
        help="deepest level at which a group is split in two; the whole table is level 0 "
        "(default: until groups are of the size of --min-members)",
    )
    add(
        "--min-members",
        type=whole(1),
        metavar="M",
        help="fewest rows of a group that is asked for (default: about a 64th of the table, fewer "
        "only where equal values leave no other cut)",
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


def _search(arguments: argparse.Namespace) -> None:
    check_table(arguments)
    check_private(arguments)
    output, plot, rows = arguments.output, arguments.plot, arguments.save_rows
    named = {"--output": output, "--plot": plot, "--save-rows": rows, "--report": arguments.report}
    check_outputs(named, arguments.data)
    if plot is not None:
        check_picture(plot)
    if arguments.report is not None:
        check_drawing("--report")
    table = read_search(arguments)
    space, values = table.space, table.values
    _check_sizes(table, arguments)
    if arguments.epsilon is None:
        oracle: GroupOracle = GroupAverages(values, arguments.noise, arguments.seed or 0)
        known: np.ndarray | None = values
    else:
        # From here on the column is known to the oracle alone.
        oracle, known = private_oracle(values, arguments), None
    region = run_search(space.coordinates, oracle, arguments)
    found = Found(region, space, conclude(region, space), arguments.target, table.conditions)
    result = result_of(found, known, arguments, table.file.name, table.rows)
    summary = summary_of(found, result, table.said)
    write_report(
        summary,
        [
            ("result", output, partial(write_json, result)),
            ("rows", rows, partial(table.file.copy_rows, result["members"])),
            ("map", plot, lambda name: draw_table(found).savefig(name)),
            ("report", arguments.report, partial(write_html, found, result, table.said)),
        ],
    )


def _check_sizes(table: SearchTable, arguments: argparse.Namespace) -> None:
    n = len(table.rows)
    if n < FEWEST_ROWS:
        left = " left" if n < table.n_read else ""
        raise UsageError(
            f"{table.file.name} has {count(n, 'row')}{left}, a search needs at least {FEWEST_ROWS}"
        )
    if not np.ptp(table.space.coordinates, axis=0).any():
        raise UsageError("no groups can be formed: every feature has one and the same value")
    least, depth = arguments.min_members, arguments.max_depth
    if least is not None and N_CHILDREN * least > n:
        raise UsageError(
            f"--min-members {least} does not allow to split a table of {n} rows: at most "
            f"{n // N_CHILDREN}"
        )
    least = group_size(n, depth) if least is None else least
    deepest = int(math.log2(n / least) + 1e-9) - 1
    if depth is not None and depth > deepest:
        raise UsageError(
            f"--max-depth {depth} would need groups of fewer than {least} rows: at most {deepest} "
            f"for a table of {n} rows"
        )


def run_search(table: np.ndarray, oracle: GroupOracle, arguments: argparse.Namespace) -> Region:
    """Ask for averages over groups of rows, and recommend a group."""
    bar = _progress_bar(arguments.budget)
    try:
        return find_region(
            table,
            oracle,
            arguments.budget,
            alpha=arguments.alpha,
            kernel=arguments.kernel,
            max_depth=arguments.max_depth,
            min_members=arguments.min_members,
            size=arguments.size,
            minimize=arguments.minimize,
            seed=arguments.seed or 0,
            tick=None if bar is None else bar.update,
            stop=stop_of(arguments),
        )
    except np.linalg.LinAlgError as error:
        raise UsageError(f"the model broke down, try a larger --alpha: {error}") from error
    except ValueError as error:
        raise UsageError(str(error)) from error
    finally:
        if bar is not None:
            bar.close()


def stop_of(arguments: argparse.Namespace) -> Stop | None:
    """When enough is known, None where that is not asked for."""
    within = arguments.stop_within
    return None if within is None else Stop(within, 1.0 - arguments.confidence)


def _progress_bar(total: int) -> Any:
    """Return a bar on a terminal where tqdm is installed, else None."""
    if sys.stderr is None or not sys.stderr.isatty() or find_spec("tqdm") is None:
        return None
    from tqdm import tqdm

    return tqdm(total=total, unit="question", leave=False)

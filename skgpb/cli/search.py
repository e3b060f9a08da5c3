"""``python -m skgpb search``: the group of rows of a table with the highest average."""

from __future__ import annotations

import argparse
import math
import os
import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import skgpb
from skgpb.cli.arguments import UsageError, add_common, not_negative, whole
from skgpb.cli.files import check_outputs, check_picture, write_json, write_report
from skgpb.cli.private import add_private, check_private, privacy_entry, private_oracle
from skgpb.cli.region import (
    KERNELS,
    N_CHILDREN,
    GroupAverages,
    GroupOracle,
    Region,
    find_region,
    group_size,
)
from skgpb.cli.report import count, draw_table, summary_of
from skgpb.datasets import copy_rows, read_table

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
    add("data", metavar="DATA.csv", help="comma-separated values with a header")
    add("--features", nargs="+", required=True, metavar="NAME", help="columns that form groups")
    add("--target", required=True, metavar="NAME", help="column whose average is sought")
    add("--budget", type=whole(1), metavar="N", help="number of questions")
    add(
        "--noise",
        type=not_negative,
        default=0.0,
        metavar="SD",
        help="standard deviation of the Gaussian noise added to every answer, in units of the "
        "target (default: 0)",
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
        help="fewest rows of a group that is asked for (default: a 64th of the table)",
    )
    add(
        "--save-rows",
        metavar="FILE.csv",
        help="write the rows of the recommended group, as they are in the table",
    )
    add_common(search, None, None)
    add_private(search)


def _search(arguments: argparse.Namespace) -> None:
    features, target = arguments.features, arguments.target
    for name in features:
        if features.count(name) > 1:
            raise UsageError(f"--features names {name!r} more than once")
    if target in features:
        raise UsageError(f"--target {target!r} is also one of --features, which are not hidden")
    check_private(arguments)
    output, plot, rows = arguments.output, arguments.plot, arguments.save_rows
    check_outputs({"--output": output, "--plot": plot, "--save-rows": rows}, arguments.data)
    if plot is not None:
        check_picture(plot)
    try:
        columns = read_table(arguments.data, [*features, target])
    except OSError as error:
        raise UsageError(f"cannot read {arguments.data}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(str(error)) from error
    if rows is not None and not os.path.isfile(arguments.data):
        raise UsageError(f"--save-rows reads the table again: {arguments.data} must be a file")
    table, values = columns[:, :-1], columns[:, -1]
    _check_sizes(table, arguments)
    if arguments.epsilon is None:
        oracle: GroupOracle = GroupAverages(values, arguments.noise, arguments.seed or 0)
    else:
        # From here on the column is known to the oracle alone.
        oracle, values = private_oracle(values, arguments), None
    region = run_search(table, oracle, arguments)
    result = result_of(region, values, arguments, features, target, arguments.data)
    summary = summary_of(result, region, f"{arguments.data}, {count(len(table), 'row')}")
    write_report(
        summary,
        [
            ("result", output, partial(write_json, result)),
            ("rows", rows, partial(copy_rows, arguments.data, result["members"])),
            ("map", plot, lambda name: draw_table(region, table, features, target).savefig(name)),
        ],
    )


def _check_sizes(table: np.ndarray, arguments: argparse.Namespace) -> None:
    n = len(table)
    if n < FEWEST_ROWS:
        raise UsageError(
            f"{arguments.data} has {count(n, 'row')}, a search needs at least {FEWEST_ROWS}"
        )
    if not np.ptp(table, axis=0).any():
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
            seed=arguments.seed or 0,
            tick=None if bar is None else bar.update,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    except np.linalg.LinAlgError as error:
        raise UsageError(f"the model broke down, try a larger --alpha: {error}") from error
    finally:
        if bar is not None:
            bar.close()


def _progress_bar(total: int) -> Any:
    """Return a bar on a terminal where tqdm is installed, else None."""
    if sys.stderr is None or not sys.stderr.isatty() or find_spec("tqdm") is None:
        return None
    from tqdm import tqdm

    return tqdm(total=total, unit="question", leave=False)


def result_of(
    region: Region,
    values: np.ndarray | None,
    arguments: argparse.Namespace,
    features: list[str],
    target: str,
    source: str,
) -> dict[str, Any]:
    """Everything about a search, with the truth that only the report may know.

    It does not where the search is private: ``values`` is None then.
    """
    optimizer, oracle, members = region.optimizer, region.oracle, region.group.members
    if values is None:
        known = {"privacy": privacy_entry(oracle, arguments)}
    else:
        known = {
            "true_average": float(values[members].mean()),
            "true_average_of_table": float(values.mean()),
        }
    return {
        "command": arguments.command,
        "source": str(source),
        "features": features,
        "target": target,
        "n_rows": oracle.n_rows,
        "n_members": len(members),
        "members": members.tolist(),
        "lower": region.lower.tolist(),
        "upper": region.upper.tolist(),
        "n_rows_within_bounds": region.n_inside,
        "posterior_mean": region.mean,
        "posterior_std": region.std,
        "interval_95": list(region.interval),
        **known,
        "n_rounds": oracle.n_answers,
        "n_groups_asked": len(oracle.asked),
        "smallest_group_asked": oracle.smallest,
        "share_of_rows_averaged_singly": oracle.share_asked_singly,
        "seed": arguments.seed or 0,
        "parameters": {
            "budget": arguments.budget,
            "noise": None if values is None else arguments.noise,
            "alpha": None if values is None else region.alpha,
            "kernel": arguments.kernel,
            "kernel_learned": str(optimizer.surrogate_.kernel_),
            "max_depth": optimizer.max_depth_,
            "min_members": optimizer.min_members,
            "n_children": optimizer.n_children,
            "n_representatives": optimizer.n_representatives,
            "diameter": optimizer.diameter,
            "expansion": optimizer.expansion,
            "beta": optimizer.beta,
            "failure_probability": optimizer.failure_probability,
        },
        "version": skgpb.__version__,
    }

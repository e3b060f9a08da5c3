"""Arguments, messages and files of ``python -m skgpb search`` and ``demo``.

Whatever is wrong with what the user gave is one line on stderr and exit status 2; it is found
before the first question is asked wherever that is possible. An interrupt and a reader that goes
away are no mistakes: the status is what a shell reports for the signal.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import stat
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np

import skgpb
from skgpb.cli.region import KERNELS, N_CHILDREN, GroupAverages, Region, find_region, group_size
from skgpb.cli.report import PIXELS, count, draw_photograph, draw_table, summary_of
from skgpb.datasets import copy_rows, load_flower, read_table

# A search needs two groups of two rows.
FEWEST_ROWS = 4
LARGEST_SEED = 2**32 - 1
# No table has so many rows that it could be halved more often.
DEEPEST = 60
# 128 and the numbers of SIGINT and SIGPIPE.
INTERRUPTED, READER_GONE = 130, 141
# Groups of the demo hold one 256th of the photograph.
DEMO_DEPTH = 7
DEMO_OUTPUT, DEMO_PLOT = "skgpb_demo.json", "skgpb_demo.png"


class UsageError(Exception):
    """Something the user gave is wrong; the message is one line."""


class _Parser(argparse.ArgumentParser):
    """Reports errors like every other one: a line, not the usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        # The inherited one is silent where help cannot be written.
        print(message, end="", file=file)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments without the program's name; None for those of the process.

    Returns
    -------
    status : int
        0, 2 where an argument or a file is wrong, 130 after an interrupt, 141 where standard
        output is a pipe that was closed.
    """
    try:
        try:
            return _run_command(argv)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return READER_GONE
        _complain(f"error: cannot write the report: {error.strerror}")
        return 2


def _run_command(argv: Sequence[str] | None) -> int:
    try:
        arguments = _parser().parse_args(argv)
        arguments.run(arguments)
    except UsageError as error:
        _complain(f"error: {' '.join(str(error).split())}")
        return 2
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    return 0


def _complain(what: str) -> None:
    """Say on stderr what is wrong; where that cannot be written to, the exit status has to do."""
    if sys.stderr is None:
        return
    try:
        print(f"skgpb: {what}", file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Let the rest of a stream vanish: at the end Python would try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# -- arguments ----------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="skgpb",
        description="Find the region with the highest average from noisy averages.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"skgpb {skgpb.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    _add_search(commands)
    _add_demo(commands)
    return parser


def _add_search(commands: Any) -> None:
    search = commands.add_parser(
        "search",
        help="search a table for the group of rows with the highest average of a column",
        description="Find the group of rows of a table with the highest average of a column, "
        "asking only for noisy averages over groups of rows. Groups are boxes in the space of "
        "the features. No value of the column is ever looked at on its own.",
        allow_abbrev=False,
    )
    search.set_defaults(run=_search)
    add = search.add_argument
    add("data", metavar="DATA.csv", help="comma-separated values with a header")
    add("--features", nargs="+", required=True, metavar="NAME", help="columns that form groups")
    add("--target", required=True, metavar="NAME", help="column whose average is sought")
    add("--budget", type=_whole(1), required=True, metavar="N", help="number of questions")
    add(
        "--noise",
        type=_not_negative,
        default=0.0,
        metavar="SD",
        help="standard deviation of the Gaussian noise added to every answer, in units of the "
        "target (default: 0)",
    )
    add(
        "--alpha",
        type=_not_negative,
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
        type=_whole(0, DEEPEST),
        metavar="D",
        help="deepest level at which a group is split in two; the whole table is level 0 "
        "(default: until groups are of the size of --min-members)",
    )
    add(
        "--min-members",
        type=_whole(1),
        metavar="M",
        help="fewest rows of a group that is asked for (default: a 64th of the table)",
    )
    add(
        "--save-rows",
        metavar="FILE.csv",
        help="write the rows of the recommended group, as they are in the table",
    )
    _add_common(search, None, None)


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="find the brightest region of a photograph, nothing to download",
        description="Find the brightest region of a photograph from noisy averages of "
        "brightness. It ships with scikit-learn.",
        allow_abbrev=False,
    )
    demo.set_defaults(run=_demo)
    add = demo.add_argument
    add("--budget", type=_whole(1), default=80, metavar="N", help="questions (default: 80)")
    add(
        "--noise",
        type=_not_negative,
        default=0.05,
        metavar="SD",
        help="standard deviation of the noise in every answer; black is 0, white 1 "
        "(default: %(default)s)",
    )
    _add_common(demo, DEMO_OUTPUT, DEMO_PLOT)


def _add_common(parser: argparse.ArgumentParser, output: str | None, plot: str | None) -> None:
    def shown(default: str | None) -> str:
        return f" (default: {default})" if default else ""

    parser.add_argument(
        "--seed",
        type=_whole(0, LARGEST_SEED),
        default=0,
        metavar="SEED",
        help="seeds the noise and the search (default: 0)",
    )
    parser.add_argument(
        "--output", default=output, metavar="FILE", help="write the result as JSON" + shown(output)
    )
    parser.add_argument(
        "--plot", default=plot, metavar="FILE", help="draw a map, e.g. map.png" + shown(plot)
    )


def _whole(least: int, largest: int | None = None) -> Callable[[str], int]:
    limits = f"a whole number >= {least}" + (f" and <= {largest}" if largest is not None else "")

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (largest is not None and value > largest):
            raise argparse.ArgumentTypeError(f"must be {limits}, got {text!r}")
        return value

    return convert


def _not_negative(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (0.0 <= value < math.inf and math.isfinite(value * value)):
        raise argparse.ArgumentTypeError(f"must be a finite number >= 0, got {text!r}")
    return value


# -- commands -----------------------------------------------------------------------------------


def _search(arguments: argparse.Namespace) -> None:
    features, target = arguments.features, arguments.target
    for name in features:
        if features.count(name) > 1:
            raise UsageError(f"--features names {name!r} more than once")
    if target in features:
        raise UsageError(f"--target {target!r} is also one of --features, which are not hidden")
    _check_outputs(arguments, arguments.data)
    try:
        columns = read_table(arguments.data, [*features, target])
    except OSError as error:
        raise UsageError(f"cannot read {arguments.data}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(str(error)) from error
    if arguments.save_rows is not None and not os.path.isfile(arguments.data):
        raise UsageError(f"--save-rows reads the table again: {arguments.data} must be a file")
    table, values = columns[:, :-1], columns[:, -1]
    _check_sizes(table, arguments)
    region = _run(table, values, arguments)
    result = _result(region, values, arguments, features, target, arguments.data)
    summary = summary_of(result, region, f"{arguments.data}, {count(len(values), 'row')}")
    _report(arguments, result, summary, lambda: draw_table(region, table, features, target))


def _demo(arguments: argparse.Namespace) -> None:
    _check_outputs(arguments)
    try:
        places, brightness, image = load_flower()
    except ImportError as error:
        raise UsageError(str(error)) from error
    arguments.kernel, arguments.alpha = "matern52", None
    arguments.max_depth, arguments.min_members, arguments.save_rows = DEMO_DEPTH, None, None
    region = _run(places, brightness, arguments)
    result = _result(region, brightness, arguments, PIXELS, "brightness", "flower.jpg")
    height, width = image.shape[:2]
    summary = summary_of(result, region, f"a photograph of {width} x {height} pixels")
    _report(arguments, result, summary, lambda: draw_photograph(region, places, image))


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


def _run(table: np.ndarray, values: np.ndarray, arguments: argparse.Namespace) -> Region:
    oracle = GroupAverages(values, arguments.noise, arguments.seed)
    bar = _progress_bar(arguments.budget)
    try:
        return find_region(
            table,
            oracle,
            arguments.budget,
            noise=arguments.noise,
            alpha=arguments.alpha,
            kernel=arguments.kernel,
            max_depth=arguments.max_depth,
            min_members=arguments.min_members,
            seed=arguments.seed,
            tick=None if bar is None else bar.update,
        )
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


# -- files --------------------------------------------------------------------------------------


def _check_outputs(arguments: argparse.Namespace, data: str | None = None) -> None:
    """Find what would keep the results from being written, before anything is spent."""
    named = {"--output": arguments.output, "--plot": arguments.plot}
    if data is not None:
        named["--save-rows"] = arguments.save_rows
    taken = {} if data is None else {os.path.realpath(data): "the table"}
    for option, name in named.items():
        if name is None:
            continue
        path = Path(name)
        place = os.path.realpath(path)
        if place in taken:
            raise UsageError(f"{option} {name} would overwrite {taken[place]}")
        taken[place] = option
        reason = _obstacle(path)
        if reason:
            raise UsageError(f"cannot write {option} {name}: {reason}")
    if arguments.plot is not None:
        _check_format(arguments.plot)


def _obstacle(path: Path) -> str | None:
    """Say what would keep a file from being written."""
    there = path
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            return "it is a directory"
    except FileNotFoundError:
        there = path.parent
        if not there.is_dir():
            return f"there is no folder {there}"
    except OSError as error:  # such as a name that is too long
        return error.strerror
    return None if os.access(there, os.W_OK) else "permission denied"


def _check_format(name: str) -> None:
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise UsageError(
            "--plot needs matplotlib, which is not installed: pip install skgpb[plot]"
        ) from error
    formats = FigureCanvasBase.get_supported_filetypes()
    ending = Path(name).suffix.lstrip(".").lower()
    if ending not in formats:
        raise UsageError(
            f"cannot draw --plot {name}: its name must end in one of "
            f"{', '.join('.' + each for each in sorted(formats))}"
        )


def _report(
    arguments: argparse.Namespace, result: dict[str, Any], summary: list[str], draw: Callable
) -> None:
    """Write the files that were asked for and print the summary, each even if the other fails."""
    try:
        summary += _write(arguments, result, draw)
    finally:
        print("\n".join(summary))


def _write(arguments: argparse.Namespace, result: dict[str, Any], draw: Callable) -> list[str]:
    """Write the files; lines that say where they are."""
    written = [""]
    try:
        if arguments.output is not None:
            lines = (f"  {json.dumps(k)}: {_json(v)}" for k, v in result.items())
            text = "{\n" + ",\n".join(lines) + "\n}\n"
            Path(arguments.output).write_text(text, encoding="utf-8")
            written.append(f"result in {arguments.output}")
        if arguments.save_rows is not None:
            copy_rows(arguments.data, result["members"], arguments.save_rows)
            written.append(f"rows in {arguments.save_rows}")
        if arguments.plot is not None:
            draw().savefig(arguments.plot, dpi=150)
            written.append(f"map in {arguments.plot}")
    except OSError as error:
        name = error.filename or "the results"
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from error
    return written if len(written) > 1 else []


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _result(
    region: Region,
    values: np.ndarray,
    arguments: argparse.Namespace,
    features: list[str],
    target: str,
    source: str,
) -> dict[str, Any]:
    """Everything about a search, with the truth that only the report may know."""
    optimizer, oracle, members = region.optimizer, region.oracle, region.group.members
    return {
        "command": arguments.command,
        "source": str(source),
        "features": features,
        "target": target,
        "n_rows": len(values),
        "n_members": len(members),
        "members": members.tolist(),
        "lower": region.lower.tolist(),
        "upper": region.upper.tolist(),
        "n_rows_within_bounds": region.n_inside,
        "posterior_mean": region.mean,
        "posterior_std": region.std,
        "interval_95": list(region.interval),
        "true_average": float(values[members].mean()),
        "true_average_of_table": float(values.mean()),
        "n_rounds": oracle.n_answers,
        "n_groups_asked": len(oracle.asked),
        "smallest_group_asked": oracle.smallest,
        "share_of_rows_averaged_singly": oracle.share_asked_singly,
        "seed": arguments.seed,
        "parameters": {
            "budget": arguments.budget,
            "noise": arguments.noise,
            "alpha": region.alpha,
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

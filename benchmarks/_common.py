"""Code shared by the benchmarks: options, seeds, replications, tables, CSV files, figures."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

DEFAULT_OUTPUT = Path(__file__).resolve().parent / "results"


def positive_int(text: str) -> int:
    """Parse an argument that must be at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {value}")
    return value


class BenchmarkParser(argparse.ArgumentParser):
    """Options that all benchmarks share; the directory for files exists once they are parsed."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the options and create the directory."""
        options = super().parse_args(args, namespace)
        options.output.mkdir(parents=True, exist_ok=True)
        return options


def argument_parser(
    name: str, doc: str, runs: int, *, what: str = "runs", n_jobs: bool = False, **extra: int
) -> BenchmarkParser:
    """Return a parser of --runs, --seed, --output, and of further positive numbers.

    ``name`` is that of the module below ``benchmarks``, ``doc`` its docstring; ``runs`` and
    ``extra`` hold defaults. ``what`` says what is repeated, ``n_jobs`` whether in processes.
    """
    description = doc.split("\n\n")[0].replace("\n", " ")
    parser = BenchmarkParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument(
        "--runs", type=positive_int, default=runs, help=f"number of {what} (default {runs})"
    )
    for option, default in extra.items():
        parser.add_argument(
            f"--{option.replace('_', '-')}",
            type=positive_int,
            default=default,
            help=f"default {default}",
        )
    parser.add_argument("--seed", type=int, default=0, help="of everything (default 0)")
    if n_jobs:
        parser.add_argument(
            "--n-jobs", type=int, default=1, help="processes, -1 for all (default 1)"
        )
    parser.add_argument(
        "--output", type=Path, default=DEFAULT_OUTPUT, help="directory for files, made if need be"
    )
    return parser


def spawn_seeds(seed: int, n_runs: int) -> list[int]:
    """Return one independent integer seed per run.

    Run r gets the same seed for every algorithm, so that all of them meet the same sequence of
    noise and differences between them are less noisy than the curves themselves. The first r seeds
    do not depend on the number of runs.
    """
    children = np.random.SeedSequence(seed).spawn(n_runs)
    return [int(child.generate_state(1)[0]) for child in children]


def replicate(
    task: Callable[..., NDArray[np.float64]],
    arguments: Iterable[tuple[Any, ...]],
    seeds: Sequence[int],
    n_jobs: int | None,
) -> list[NDArray[np.float64]]:
    """Return, for each tuple of arguments, the stacked results of ``task(*arguments, seed)``.

    One replication is the unit of work; the numbers do not depend on ``n_jobs``.
    """
    arguments = list(arguments)
    results = Parallel(n_jobs=n_jobs)(
        delayed(task)(*each, seed) for each in arguments for seed in seeds
    )
    n = len(seeds)
    return [np.array(results[n * i : n * (i + 1)]) for i in range(len(arguments))]


def mean_and_error(curves: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard error over the first axis, runs; the error of one run is NaN."""
    n_runs = len(curves)
    mean = curves.mean(axis=0)
    if n_runs == 1:
        return mean, np.full_like(mean, np.nan)
    return mean, curves.std(axis=0, ddof=1) / np.sqrt(n_runs)


def estimate(mean: float, error: float, digits: int = 3) -> str:
    """Return "mean (standard error)", the mean alone where the error is not known, "-" for NaN."""
    if np.isnan(mean):
        return "-"
    text = f"{mean:.{digits}f}"
    return text if np.isnan(error) else f"{text} ({error:.{digits}f})"


def estimates(runs: NDArray[np.float64], rounds: Iterable[int], digits: int = 3) -> list[str]:
    """Return mean and standard error of curves (n_runs, n_rounds) after some rounds."""
    mean, error = mean_and_error(runs)
    return [estimate(mean[t - 1], error[t - 1], digits) for t in rounds]


def format_table(
    title: str, header: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> str:
    """Return a plain-text table: a label and right-aligned cells per row."""
    rows = list(rows)
    label_width = max([len(label) for label, _ in rows] + [0])
    cell_width = max([len(cell) for _, cells in rows for cell in cells] + [len(h) for h in header])
    lines = [title, "-" * len(title)]
    for label, cells in [("", header), *rows]:
        lines.append(f"{label:<{label_width}}  " + "  ".join(f"{c:>{cell_width}}" for c in cells))
    return "\n".join(lines)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows to path; floats with their shortest exact representation, NaN as nothing."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        # Only NaN differs from itself.
        writer.writerows([cell if cell == cell else "" for cell in row] for row in rows)


def import_pyplot() -> Any | None:
    """Return matplotlib.pyplot for files, or None after saying how to get it."""
    try:
        import matplotlib
    except ImportError:
        print(
            "No figure: matplotlib is not installed. "
            "Install it with: python -m pip install 'skgpb[plot]'",
            file=sys.stderr,
        )
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def draw_curve(axis: Any, x: Any, runs: NDArray[np.float64], **style: Any) -> None:
    """Draw the mean of curves (n_runs, n) over x, with a band of one standard error."""
    mean, error = mean_and_error(runs)
    (line,) = axis.plot(x, mean, **style)
    axis.fill_between(x, mean - error, mean + error, color=line.get_color(), alpha=0.15, lw=0)


def save(plt: Any, figure: Any, path: Path) -> None:
    """Write a figure, forget it, and say where it is."""
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"Written: {path}")

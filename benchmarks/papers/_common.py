"""What the reproductions share: seeds, replications, tables, CSV files and figures."""

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

DEFAULT_OUTPUT = Path(__file__).resolve().parents[1] / "results"


def positive_int(text: str) -> int:
    """Parse an argument that must be at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {value}")
    return value


def argument_parser(name: str, doc: str, runs: int, **extra: int) -> argparse.ArgumentParser:
    """Return a parser of the options that all figures share, and of further positive numbers.

    ``doc`` is the docstring of the script; ``runs`` and ``extra`` hold defaults.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.papers.{name}", description=doc.splitlines()[0]
    )
    for option, default in {"runs": runs, **extra}.items():
        parser.add_argument(
            f"--{option}", type=positive_int, default=default, help=f"default {default}"
        )
    parser.add_argument("--seed", type=int, default=0, help="seed of everything (default 0)")
    parser.add_argument("--n-jobs", type=int, default=1, help="processes, -1 for all (default 1)")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="directory for files")
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
    """Write rows to path; floats with their shortest exact representation."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


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

"""Seconds and memory until a search has taken past answers, told in one call or loaded.

    python -m benchmarks.speed.past [--answers 1000 3000 5000] [--in-turn 1000] [--sides 6]
        [--runs 1] [--seed 0]

GP-UCB without a kernel is told answers of a smooth function with noise at random points. Each line
is a process of its own with one thread. Seconds are of the processor:

told, fit   one call of tell, and of fit, with all answers
load        the file of this run
round       the next ask and tell
MB          peak memory of the process, interpreter and libraries included
error       root mean squared error of predictions at 1,000 other points, over the deviation of f

Up to ``--in-turn`` answers, the last two columns are the seconds of the same answers told one by
one, and the error after them.
"""

from __future__ import annotations

import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, format_table, positive_int, write_csv
from benchmarks.speed.long_run import peak_memory
from skgpb import GPUCBOptimizer

NOISE = 0.1
HEADER = ("told, s", "fit, s", "load, s", "round, s", "MB", "error", "in turn, s", "its error")


def f(X: np.ndarray) -> np.ndarray:
    """Return values (n,) of a function that depends less on each further side."""
    return (np.sin(6 * X) / np.arange(1, X.shape[1] + 1)).sum(axis=1)


def error_of(run: Any, points: np.ndarray) -> float:
    """Return the error of predictions, as a share of the deviation of f."""
    found = run.surrogate_.predict(points)
    return float(np.sqrt(np.mean((found - f(points)) ** 2)) / f(points).std())


def measured(n: int, d: int, seed: int, in_turn: bool) -> list[float]:
    """Return a line of the table; NaN in its last two columns unless ``in_turn``."""
    rng = np.random.default_rng(seed)
    X, points = rng.random((n, d)), rng.random((1000, d))
    y = f(X) + NOISE * rng.standard_normal(n)
    seconds = []

    def timed(call: Any, *arguments: Any) -> Any:
        begin = process_time()
        out = call(*arguments)
        seconds.append(process_time() - begin)
        return out

    def optimizer() -> GPUCBOptimizer:
        return GPUCBOptimizer(bounds=[(0, 1)] * d, random_state=seed)

    def next_round(run: Any) -> None:
        query = run.ask()
        run.tell(query, float(f(query.points)[0]))

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        run = timed(optimizer().tell, X, y)
        error, peak, path = error_of(run, points), peak_memory(), Path(folder) / "run"
        timed(optimizer().fit, X, y)
        run.save(path)
        timed(next_round, timed(GPUCBOptimizer.load, path))
        if not in_turn:
            return [*seconds, peak, error, np.nan, np.nan]
        other = optimizer()
        timed(lambda: [other.tell(*each) for each in zip(X, y.tolist(), strict=True)])
        return [*seconds[:4], peak, error, seconds[4], error_of(other, points)]


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.past", __doc__, 1)
    sizes, most = [1000, 3000, 5000], "up to how many they are also told one by one, default 1000"
    parser.add_argument(
        "--answers", type=positive_int, nargs="+", default=sizes, help="numbers of answers"
    )
    parser.add_argument("--in-turn", type=positive_int, default=1000, help=most)
    parser.add_argument("--sides", type=positive_int, default=6, help="sides of the box, default 6")
    options = parser.parse_args(arguments)
    rows, lines = [], []
    for seed in range(options.seed, options.seed + options.runs):
        for n in options.answers:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                task = process.submit(measured, n, options.sides, seed, n <= options.in_turn)
                found = task.result()
            digits = (2, 2, 2, 2, 0, 4, 2, 4)
            cells = [f"{each:.{k}f}" for each, k in zip(found, digits, strict=True)]
            lines.append((f"{n:,} answers", ["-" if each == "nan" else each for each in cells]))
            rows.append((n, seed, *found))
    print(format_table(f"Past answers, {options.sides} sides", list(HEADER), lines))
    path = options.output / "past.csv"
    columns = ["told", "fit", "load", "round", "megabytes", "error", "in_turn", "error_in_turn"]
    write_csv(path, ["answers", "seed", *columns], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

"""Answers told as they arrive against batches of four, where durations differ tenfold.

    python -m benchmarks.speed.arrivals [--runs 60] [--seed 0] [--answers 40] [--seconds 0.5]

Four workers evaluate functions of the suite in two dimensions. An evaluation sleeps for a tenth of
--seconds up to all of them, log-uniformly, whatever is asked. Both runs of a seed meet the same
noise and the same durations, in the order in which evaluations begin. Printed are the answers per
hour of wall time, the choice of queries included, and the regret after as many answers: of what is
then recommended, and of the answers on average. The last row compares run by run.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from concurrent.futures import Executor, ThreadPoolExecutor
from time import perf_counter, sleep

import numpy as np
from joblib import parallel_config

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    spawn_seeds,
    write_csv,
)
from benchmarks.suite.functions import Function, function, names
from skgpb import GPUCBOptimizer
from skgpb.domains import Query

WORKERS = 4
HEADER = ("answers per hour", "regret after 10", "after 20", "at the end", "of all answers")


def evaluations(target: Function, seconds: float, seed: int):
    """Return an objective that takes its time, which threads may share."""
    numbers = itertools.count()

    def objective(query: Query) -> float:
        # Each evaluation has random numbers of its own, whoever begins at the same time.
        rng = np.random.default_rng([seed, next(numbers)])
        sleep(seconds * 10.0 ** -rng.uniform())
        x = query.points[0]
        return -target.regret(x) + target.deviation(x) * rng.normal()

    return objective


def play(
    executor: Executor | None, target: Function, n_answers: int, seconds: float, seed: int
) -> list[float]:
    """Return what stands in the table, of one run."""
    optimizer, after = GPUCBOptimizer(bounds=[(0.0, 1.0)] * target.d, random_state=seed), []
    for_recommending = 0.0

    def follow(run: GPUCBOptimizer) -> None:
        nonlocal for_recommending
        if len(run.history_) in (10, 20, n_answers):
            start = perf_counter()
            after.append(target.regret(run.recommend().points[0]))
            for_recommending += perf_counter() - start

    start = perf_counter()
    objective = evaluations(target, seconds, seed)
    optimizer.run(objective, n_answers, callback=follow, n_jobs=WORKERS, executor=executor)
    hours = (perf_counter() - start - for_recommending) / 3600.0
    asked = optimizer.history_["descriptor"][:, : target.d]
    every = np.mean([target.regret(x) for x in asked])
    after += after[-1:] * (3 - len(after))  # a run may be shorter than that
    return [n_answers / hours, *after, every]


def number_of_seconds(text: str) -> float:
    """Parse a time."""
    seconds = float(text)
    if not 0.0 < seconds < 3600.0:
        raise argparse.ArgumentTypeError(f"must be between 0 and 3600; got {text}")
    return seconds


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("speed.arrivals", __doc__, 60, answers=40)
    parser.add_argument(
        "--seconds", type=number_of_seconds, default=0.5, help="the longest (default 0.5)"
    )
    options = parser.parse_args(arguments)
    functions = [each for each in map(function, names()) if each.d == 2]
    played: dict[str, list[list[float]]] = {f"batches of {WORKERS}": [], "as they arrive": []}
    with (
        warnings.catch_warnings(),
        ThreadPoolExecutor(WORKERS) as executor,
        parallel_config("threading"),
    ):
        warnings.simplefilter("ignore")
        for i, seed in enumerate(spawn_seeds(options.seed, options.runs)):
            target = functions[i % len(functions)]
            for rows, workers in zip(played.values(), (None, executor), strict=True):
                rows.append(play(workers, target, options.answers, options.seconds, seed))
    batches, arrivals = (np.array(rows) for rows in played.values())
    compared = np.column_stack([arrivals[:, 0] / batches[:, 0], (arrivals - batches)[:, 1:]])
    table = []
    for label, values in [*zip(played, (batches, arrivals), strict=True), ("compared", compared)]:
        digits = [2 if label == "compared" else 0, 4, 4, 4, 4]
        cells = map(estimate, *mean_and_error(values), digits)
        table.append((label, list(cells)))
    title = f"{WORKERS} workers, {options.answers} answers, {options.runs} runs"
    print(format_table(title, HEADER, table))
    path = options.output / "speed_arrivals.csv"
    rows = [
        (label, i, *row)
        for label, values in zip(played, (batches, arrivals), strict=True)
        for i, row in enumerate(values.tolist())
    ]
    write_csv(path, ("told", "run", *HEADER), rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

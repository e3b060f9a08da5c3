"""Regret per answer of batches and of parallel workers, next to one query at a time.

``python -m benchmarks.parallel [--runs 4] [--seed 0] [--answers 100] [--half confirming]
[--names NAME ...] [--output DIR]``
plays the functions of :mod:`benchmarks.suite` with GP-UCB, which is told the bounds and nothing
else: one query at a time; in batches of four; and with four workers, who take a new query whenever
they have told an answer. Durations are simulated, log-uniform between one and ten units, so it
takes no time to wait. All runs of a seed meet the same noise, in the order of the queries.

Printed: mean regret per answer and regret of the recommendation at the end, in per cent of the
range, and the differences from one at a time, with standard errors over the functions.
"""

from __future__ import annotations

import warnings
from heapq import heappop, heappush

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from benchmarks.suite.functions import HALVES, Function, function, names
from skgpb import GPUCBOptimizer

WORKERS = 4
HOW = ("one at a time", f"batches of {WORKERS}", f"{WORKERS} workers")


def play(problem: Function, seed: int, answers: int, how: str) -> tuple[float, float]:
    """Regret per answer, and of the recommendation, in per cent of the range."""
    noise = np.random.default_rng([seed, 1]).standard_normal(answers)
    durations = 10.0 ** np.random.default_rng([seed, 2]).uniform(size=answers)
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * problem.d, random_state=seed)
    regrets: list[float] = []
    # When an evaluation ends, its number, and its query.
    working: list[tuple[float, int, object]] = []
    now, begun = 0.0, 0
    while len(regrets) < answers:
        due = (1 if how == HOW[0] else WORKERS) - len(working)
        if how == HOW[1] and working:
            due = 0
        for _ in range(min(due, answers - begun)):
            ends = now + durations[begun] if how == HOW[2] else now
            heappush(working, (ends, begun, optimizer.ask(another=True)))
            begun += 1
        now, number, query = heappop(working)
        x = query.points[0]
        regrets.append(problem.regret(x))
        optimizer.tell(query, -regrets[-1] + problem.deviation(x) * noise[number])
    best = optimizer.recommend().points[0]
    return 100.0 * float(np.mean(regrets)), 100.0 * problem.regret(best)


def main(arguments: list[str] | None = None) -> None:
    """Print what working in parallel costs."""
    parser = argument_parser("parallel", __doc__, 4, answers=100)
    parser.add_argument("--half", choices=HALVES, default="confirming", help="of the functions")
    parser.add_argument("--names", nargs="+", choices=names(), help="functions in its place")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    seeds = range(options.seed, options.seed + options.runs)
    rows, means = [], []
    for name in options.names or names(options.half):
        problem = function(name)
        of_problem = []
        for how in HOW:
            runs = [play(problem, seed, options.answers, how) for seed in seeds]
            rows += [(name, how, seed, *run) for seed, run in zip(seeds, runs, strict=True)]
            of_problem.append(np.mean(runs, axis=0))
        means.append(of_problem)
    values = np.array(means)  # (functions, ways, 2)
    table = []
    for i, how in enumerate(HOW):
        cells = [estimate(*each, 1) for each in zip(*mean_and_error(values[:, i]), strict=True)]
        more = values[:, i] - values[:, 0]
        cells += [estimate(*each, 1) for each in zip(*mean_and_error(more), strict=True)]
        table.append((how, cells if i else [*cells[:2], "", ""]))
    title = (
        f"{len(values)} functions, {options.runs} runs, {options.answers} answers, seed "
        f"{options.seed}: regret in % of the range"
    )
    header = ["per answer", "at the end", "per answer, more", "at the end, more"]
    print(format_table(title, header, table))
    path = options.output / "parallel.csv"
    write_csv(path, ["function", "how", "seed", "per_answer", "at_the_end"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

"""Price of a single outlier: a mistyped value, a mixed-up sample.

``python -m benchmarks.outliers [--runs 4] [--seed 0] [--budget 60] [--half confirming]
[--output DIR]``
plays the functions of :mod:`benchmarks.suite` in at most eight dimensions with GP-UCB, which is
told the bounds and nothing else, with at least 2 % noise. A third of the way one answer is wrong by
eight times the range of the function, or by minus as much.

Printed: mean regret per round and regret of the recommendation, in per cent of the range, without
and with the outlier, and the differences with standard errors over the functions.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from benchmarks.suite.functions import HALVES, Function, function, names
from skgpb import GPUCBOptimizer

ERRORS = (0.0, 8.0, -8.0)
LEAST_NOISE, MOST_DIMENSIONS = 0.02, 8


def play(problem: Function, seed: int, budget: int, error: float) -> tuple[float, float]:
    """Regret per round, and of the recommendation, in per cent of the range."""
    noise = np.random.default_rng([seed, 7]).standard_normal(budget)
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * problem.d, random_state=seed)
    regrets = []
    for t in range(budget):
        query = optimizer.ask()
        x = query.points[0]
        regrets.append(problem.regret(x))
        answer = -regrets[-1] + max(problem.deviation(x), LEAST_NOISE) * noise[t]
        optimizer.tell(query, answer + (error if t == budget // 3 else 0.0))
    best = optimizer.recommend().points[0]
    return 100.0 * float(np.mean(regrets)), 100.0 * problem.regret(best)


def main(arguments: list[str] | None = None) -> None:
    """Print what an outlier costs."""
    parser = argument_parser("outliers", __doc__, 4, budget=60)
    parser.add_argument("--half", choices=HALVES, default="confirming", help="of the functions")
    parser.add_argument("--names", nargs="+", choices=names(), help="functions in its place")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows, means = [], []
    chosen = [function(name) for name in options.names or names(options.half)]
    seeds = range(options.seed, options.seed + options.runs)
    for problem in (each for each in chosen if each.d <= MOST_DIMENSIONS):
        of_problem = []
        for error in ERRORS:
            runs = [play(problem, seed, options.budget, error) for seed in seeds]
            rows += [
                (problem.name, error, seed, *run) for seed, run in zip(seeds, runs, strict=True)
            ]
            of_problem.append(np.mean(runs, axis=0))
        means.append(of_problem)
    values = np.array(means)  # (functions, errors, 2)
    table = [("none", [f"{x:.1f}" for x in values[:, 0].mean(axis=0)] + ["", ""])]
    for i, error in enumerate(ERRORS[1:], 1):
        more = values[:, i] - values[:, 0]
        cells = [f"{x:.1f}" for x in values[:, i].mean(axis=0)]
        cells += [estimate(*each, 1) for each in zip(*mean_and_error(more), strict=True)]
        table.append((f"{error:+g} ranges", cells))
    title = (
        f"{len(values)} functions, {options.runs} runs, {options.budget} answers, seed "
        f"{options.seed}: regret in % of the range"
    )
    header = ["per round", "at the end", "per round, more", "at the end, more"]
    print(format_table(title, header, table))
    path = options.output / "outliers.csv"
    write_csv(path, ["function", "error", "seed", "per_round", "recommended"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

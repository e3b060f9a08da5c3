"""How far the recommendation is behind the best answer where answers are exact.

``python -m benchmarks.exact_answers [--runs 2] [--seed 0] [--output DIR]``
plays 24 functions of two dimensions without noise with GP-UCB, which is told the bounds and nothing
else, not even that there is no noise.

Printed, after 32, 64 and 100 answers: the mean over functions of the log10 of the regret of the
recommendation minus that of the best answer, with its standard error, and in how many runs the
recommendation is worse than the best answer by more than 1e-8. Smaller regrets count as 1e-8.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from benchmarks.peers.problems import hartmann, scaled_branin
from benchmarks.suite import functions
from benchmarks.suite.functions import hills, in_range, rough, skewed
from skgpb import GPUCBOptimizer

AFTER = (32, 64, 100)
LEAST = 1e-8
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "bowl": functions.bowl,
    "rosenbrock": functions.rosenbrock,
    "styblinski": functions.styblinski_tang,
    "camel": functions.six_hump_camel,
    "goldstein": functions.goldstein_price,
    "sines": functions.product_of_sines,
    "ackley": functions.ackley,
    "levy": functions.levy,
    "rastrigin": functions.rastrigin,
    "griewank": functions.griewank,
    "michalewicz": functions.michalewicz,
    "hills-1": hills(1, (0.08, 0.2)),
    "hills-5": hills(5, (0.1, 0.25)),
    "hills-7": hills(7, (0.05, 0.1)),
    "needle": functions.needle,
    "rough-1": rough(1),
    "rough-2": rough(2),
    "rough-9": rough(9),
    "plateaus": functions.plateaus,
    "cliff": functions.cliff,
    "branin": scaled_branin,
    "log-branin": lambda X: -np.log(1.0 - scaled_branin(X)),
    "hartmann": hartmann,
    "exp-hartmann": skewed(hartmann, 1.5),
}


def play(value: Callable[[np.ndarray], np.ndarray], seed: int) -> list[tuple[float, float]]:
    """Regret of the recommendation and of the best answer, after some numbers of answers."""
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=seed)
    best, found = np.inf, []
    for t in range(1, AFTER[-1] + 1):
        query = optimizer.ask()
        regret = -float(value(query.points)[0])
        best = min(best, regret)
        optimizer.tell(query, -regret)
        if t in AFTER:
            found.append((-float(value(optimizer.recommend().points)[0]), best))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("exact_answers", __doc__, 2)
    parser.add_argument("--names", nargs="+", choices=FUNCTIONS, help="functions instead of all")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    seeds, rows, gaps, worse = range(options.seed, options.seed + options.runs), [], [], []
    for name in options.names or FUNCTIONS:
        value = in_range(FUNCTIONS[name], 2)
        runs = np.array([play(value, seed) for seed in seeds])  # (runs, numbers of answers, 2)
        gaps.append(-np.diff(np.log10(np.maximum(runs, LEAST)), axis=2)[..., 0].mean(axis=0))
        worse.append((runs[..., 0] > runs[..., 1] + LEAST).sum(axis=0))
        for seed, run in zip(seeds, runs.tolist(), strict=True):
            rows += [(name, seed, t, *pair) for t, pair in zip(AFTER, run, strict=True)]
    each = zip(AFTER, *mean_and_error(np.array(gaps)), np.sum(worse, axis=0), strict=True)
    n = len(gaps) * options.runs
    table = [
        (f"{t} answers", [estimate(gap, error), f"{number} of {n}"])
        for t, gap, error, number in each
    ]
    title = f"{len(gaps)} functions, {options.runs} runs, exact answers, seed {options.seed}"
    print(format_table(title, ["log10 behind", "runs behind"], table))
    path = options.output / "exact_answers.csv"
    write_csv(path, ["function", "seed", "answers", "recommended", "best_answer"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

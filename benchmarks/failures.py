"""What failed evaluations cost, where they follow a pattern and where they are random.

``python -m benchmarks.failures [--runs 3] [--budget 60] [--seed 0] [--functions second]``
plays functions of two dimensions without noise. Of the evaluations 10 % or 30 % fail at random, or
all of those fail that lie on the better side of a plane through the middle of the square.

Every run is played twice, with the model of where evaluations fail and without it. Printed for each
kind of failures: the mean log10 of the regret of the recommendation, smaller regrets counting as
1e-8, with both; their difference in pairs with its standard error over functions and seeds; how
many of the last ten evaluations failed with both; and in how many runs the model was in use at the
end. Where a side fails, regrets are to the best of 20,000 random points of the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from benchmarks.exact_answers import FUNCTIONS, LEAST
from benchmarks.suite.functions import in_range
from skgpb import EIOptimizer, GPUCBOptimizer, defaults

NAMES = list(FUNCTIONS)
#: The model was chosen on the first functions, and is reported on the second.
HALVES = {"first": NAMES[::2], "second": NAMES[1::2]}
KINDS = {"10 % at random": 0.1, "30 % at random": 0.3, "better side": None}
ENGINES: dict[str, Callable[[int], Any]] = {
    "GP-UCB": lambda seed: GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=seed),
    "EI": lambda seed: EIOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=seed),
}


def play(
    make: Callable[[int], Any],
    value: Callable[[np.ndarray], np.ndarray],
    rate: float | None,
    budget: int,
    seed: int,
) -> tuple[float, int, bool]:
    """Return log10 of the regret, failures among the last ten, and whether the model was used."""
    rng, optimizer, failed = np.random.default_rng([seed, 1]), make(seed), []
    sample = np.random.default_rng(seed).random((20_000, 2))
    of_sample, best = value(sample), 0.0
    side = of_sample[sample[:, 0] > 0.5].mean() > of_sample[sample[:, 0] <= 0.5].mean()
    if rate is None:
        best = float(of_sample[(sample[:, 0] > 0.5) != side].max())
    for _ in range(budget):
        query = optimizer.ask()
        random = rng.random()
        fails = (query.points[0, 0] > 0.5) == side if rate is None else random < rate
        failed.append(bool(fails))
        optimizer.tell(query, None if fails else float(value(query.points)[0]))
    x = optimizer.recommend().points
    lost = rate is None and (x[0, 0] > 0.5) == side
    regret = np.inf if lost else best - float(value(x)[0])
    used = optimizer._feasibility().chances is not None
    return float(np.log10(np.clip(regret, LEAST, 1.0))), sum(failed[-10:]), used


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("failures", __doc__, 3, budget=60)
    parser.add_argument("--functions", choices=HALVES, default="second", help="default second")
    parser.add_argument("--names", nargs="+", choices=FUNCTIONS, help="functions instead of those")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    seeds, rows, table = range(options.seed, options.seed + options.runs), [], []
    names, usual = options.names or HALVES[options.functions], defaults.SUCCESS_EVIDENCE
    for engine, make in ENGINES.items():
        for kind, rate in KINDS.items():
            pairs = []
            for name in names:
                value = in_range(FUNCTIONS[name], 2)
                for seed in seeds:
                    found = []
                    for enough in (usual, np.inf):
                        defaults.SUCCESS_EVIDENCE = enough
                        found.append(play(make, value, rate, options.budget, seed))
                    defaults.SUCCESS_EVIDENCE = usual
                    pairs.append(found)
                    rows.append((engine, kind, name, seed, *found[0], *found[1][:2]))
            runs = np.array(pairs, dtype=np.float64)  # (runs, with or without, 3)
            differences = estimate(*map(float, mean_and_error(runs[:, 0, 0] - runs[:, 1, 0])))
            means, last = runs[:, :, 0].mean(axis=0), runs[:, :, 1].mean(axis=0)
            used = f"{int(runs[:, 0, 2].sum())} of {len(runs)}"
            cells = [*(f"{each:.3f}" for each in means), differences]
            table.append((f"{engine}, {kind}", [*cells, *(f"{each:.1f}" for each in last), used]))
    header = ["with", "without", "difference", "last 10", "without", "in use"]
    title = f"{len(names)} functions, {options.runs} runs, {options.budget} evaluations"
    print(format_table(f"{title}, seed {options.seed}", header, table))
    path = options.output / "failures.csv"
    columns = ["engine", "failures", "function", "seed", "log10_regret", "last_ten", "in_use"]
    write_csv(path, [*columns, "log10_regret_without", "last_ten_without"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

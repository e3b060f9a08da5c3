"""Regret on the functions of the suite, nothing known but the bounds.

    python -m benchmarks.suite [--runs 10] [--seed 0] [--output DIR] [--half confirming]
        [--many-dimensions] [--engineering] [--bbob] [--budget 100] [--methods ucb ei ...]
        [--functions branin ...] [--kinds]

Regrets are in per cent of a function's range: the mean of all evaluations ("per round"), and that
of the method's own recommendation at the end ("simple"). For both: the mean over functions, the
difference to the first method with its standard error over functions, the mean rank, and on which
share of the functions a method is within one standard error, of the difference over runs, of the
best. ``--kinds`` adds the mean decimal logarithm at the end, and the means of each kind of
functions. Runs of one seed meet the same noise; packages of others are told its mean deviation
where they have a parameter for it. Results are kept in ``suite.csv`` in ``--output``: what is there
already is not played again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from time import process_time

import numpy as np
from scipy.stats import rankdata

from benchmarks._common import argument_parser, format_table, mean_and_error
from benchmarks.peers.methods import Method, available, quiet, single_threaded
from benchmarks.suite import bbob
from benchmarks.suite.functions import HALVES, TABLES, Function, function, names
from benchmarks.suite.methods import COMPARED, METHODS

# Least regrets in per cent of which the logarithm is taken, without and with noise.
LEAST, LEAST_NOISY = 1e-6, 1e-2
FIELDS = ("function", "method", "budget", "seed", "per_round", "simple", "seconds")
Key = tuple[str, str, int, int]


def play(method: type[Method], problem: Function, budget: int, seed: int) -> dict[str, float]:
    """Regret per round and simple regret in per cent, and CPU seconds of a round."""
    noise = np.random.default_rng([seed, 1]).standard_normal(budget)
    optimizer = method(problem.d, problem.noise, seed)
    regrets, spent = [], 0.0
    for each in noise.tolist():
        start = process_time()
        x = np.asarray(optimizer.ask(), dtype=np.float64)
        spent += process_time() - start
        regrets.append(problem.regret(x))
        answer = -regrets[-1] + problem.deviation(x) * each
        start = process_time()
        optimizer.tell(x, answer)
        spent += process_time() - start
    simple = problem.regret(optimizer.recommend())
    return {
        "per_round": 100.0 * float(np.mean(regrets)),
        "simple": 100.0 * simple,
        "seconds": spent / budget,
    }


def read(path: Path) -> dict[Key, dict[str, float]]:
    """Return what was played before, by function, method, budget and seed."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (row["function"], row["method"], int(row["budget"]), int(row["seed"])): {
                name: float(row[name]) for name in FIELDS[4:]
            }
            for row in csv.DictReader(file)
        }


def play_all(
    path: Path, keys: Iterable[Key], problems: dict[str, Function]
) -> dict[Key, dict[str, float]]:
    """Play what has not been played, and write it down at once; return all of it."""
    keys, done = list(keys), read(path)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not file.tell():
            writer.writeheader()
        for key in keys:
            if key not in done:
                name, method, budget, seed = key
                done[key] = play(METHODS[method], problems[name], budget, seed)
                writer.writerow(dict(zip(FIELDS[:4], key, strict=True)) | done[key])
                file.flush()
    return {key: done[key] for key in keys}


def near_best(values: np.ndarray) -> np.ndarray:
    """Return the methods within one standard error of the best, values (n_methods, n_runs)."""
    best = values[int(np.argmin(values.mean(axis=1)))]
    gap, error = mean_and_error((values - best).T)
    return gap <= np.nan_to_num(error)


def summary(values: np.ndarray) -> list[list[str]]:
    """Cells of every method, values (n_functions, n_methods, n_runs)."""
    means = values.mean(axis=2)
    gap, error = mean_and_error(means - means[:, :1])
    rank = rankdata(means, axis=1).mean(axis=0)
    share = np.mean([near_best(each) for each in values], axis=0)
    return [
        [
            f"{means[:, m].mean():.1f}",
            f"{gap[m]:+.1f}" + f" ({error[m]:.1f})" * bool(m and len(values) > 1),
            f"{rank[m]:.2f}",
            f"{100 * share[m]:.0f} %",
        ]
        for m in range(values.shape[1])
    ]


def at_the_end(values: np.ndarray, functions: list[Function]) -> list[list[str]]:
    """Cells of every method about its simple regrets (n_functions, n_methods, n_runs)."""
    least = np.array([LEAST_NOISY if each.noise else LEAST for each in functions])
    logs = np.log10(np.maximum(values, least[:, None, None])).mean(axis=2)
    kinds = [each.kind for each in functions]
    columns = [logs] + [values.mean(axis=2)[np.equal(kinds, kind)] for kind in dict.fromkeys(kinds)]
    cells = []
    for column in columns:
        gap, error = mean_and_error(column - column[:, :1])
        errors = [f" ({each:.2f})" if len(column) > 1 else "" for each in error]
        cells.append(
            [f"{mean:.2f} {gap[m]:+.2f}{errors[m]}" for m, mean in enumerate(column.mean(axis=0))]
        )
    return [list(row) for row in zip(*cells, strict=True)]


def main(arguments: list[str] | None = None) -> None:
    """Play what is missing, and print the table."""
    parser = argument_parser("suite", __doc__, 10, budget=100)
    parser.add_argument(
        "--half", choices=[*HALVES, "both"], default="confirming", help="default confirming"
    )
    parser.add_argument(
        "--many-dimensions", action="store_true", help="functions of 8 to 20 dimensions instead"
    )
    parser.add_argument(
        "--engineering", action="store_true", help="seven models of 8 to 20 inputs instead"
    )
    parser.add_argument(
        "--bbob", action="store_true", help="COCO's functions in two and five dimensions instead"
    )
    parser.add_argument("--kinds", action="store_true", help="another table, by kind of function")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=COMPARED, metavar="NAME",
        help=f"of {', '.join(METHODS)}",
    )  # fmt: skip
    parser.add_argument(
        "--functions", nargs="+",
        choices=[name for table in TABLES for name in names(table=table)]
        + bbob.names(odd=True, even=True),
        metavar="NAME", help="instead of a half; their names are in benchmarks/suite/functions.py",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    quiet()
    single_threaded()
    present, missing = available([METHODS[name] for name in options.methods])
    methods = [name for name in options.methods if METHODS[name] in present]
    if missing:
        print(f"not installed, skipped: {', '.join(missing)}")
    table = "many-dimensions" if options.many_dimensions else "suite"
    table = "engineering" if options.engineering else table
    functions = options.functions or names(options.half, table)
    if options.bbob and not options.functions:
        odd, even = options.half != "confirming", options.half != "choosing"
        functions = bbob.names(odd, even)
    path = options.output / "suite.csv"
    seeds = range(options.seed, options.seed + options.runs)
    grid = [
        (name, method, options.budget, seed)
        for seed in seeds
        for name in functions
        for method in methods
    ]
    problems = {name: function(name) for name in functions}
    found = play_all(path, grid, problems)
    table = np.array(
        [
            [
                [list(found[name, method, options.budget, seed].values()) for seed in seeds]
                for method in methods
            ]
            for name in functions
        ]
    )
    rows = [
        (f"{name}: {METHODS[name].label}", [*per_round, *simple, f"{1e3 * seconds:.2f}"])
        for name, per_round, simple, seconds in zip(
            methods,
            summary(table[..., 0]),
            summary(table[..., 1]),
            table[..., 2].mean(axis=(0, 2)),
            strict=True,
        )
    ]
    header = ["to first", "rank", "near best"]
    print(
        format_table(
            f"{len(functions)} functions, {options.budget} answers, {options.runs} runs, "
            f"seed {options.seed}",
            ["per round", *header, "simple", *header, "ms"],
            rows,
        )
    )
    if options.kinds:
        kinds = dict.fromkeys(each.kind for each in problems.values())
        cells = at_the_end(table[..., 1], [problems[name] for name in functions])
        labels = [label for label, _ in rows]
        print(
            format_table(
                "Simple regret: mean log10, mean of each kind, and the difference to the first",
                ["log10", *kinds],
                list(zip(labels, cells, strict=True)),
            )
        )
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""Where a search ends that wants a small simple regret, next to one for a small cumulative regret.

    python -m benchmarks.which_regret [--runs 4] [--seed 0] [--half confirming] [--answers 60]
        [--functions 10] [--sets exact noisy lists] [--output DIR]

Boxes are all functions of ``benchmarks.suite``, those of many dimensions and models from
engineering included, and functions drawn from the laws of ``benchmarks.calibration`` in one to
eight dimensions, ``--functions`` of each law, with exact answers and with noise of 10 % of the
range. Lists are functions of ``benchmarks.lists``, ``--functions`` of each kind, with exact answers
and with noise of 5 %, one run with each noise. Regrets are in per cent of the range: that of the
recommendation at the end, the least of all queries, and their mean. Beside them is the difference
from ``regret="cumulative"``, with its standard error over functions. Rules are chosen on the half
``choosing``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from benchmarks.calibration import LAWS
from benchmarks.calibration import Problem as Law
from benchmarks.lists import HALVES, KINDS, NOISES, made_up
from benchmarks.suite.functions import TABLES, Function, function, in_range, names
from skgpb import GPUCBOptimizer

RULES = ("cumulative", "simple")
#: Noise of the answers in boxes, as a share of the range.
BOXES = {"exact": 0.0, "noisy": 0.1}
SETS = (*BOXES, "lists")
#: Dimensions of the functions drawn from a law, in turn.
DIMENSIONS = (1, 2, 3, 4, 6, 8)
MEASURES = ("recommended", "best asked", "per round")
#: A problem: its sides, the regret of a query as a share of the range, and the noise there.
Problem = tuple[Any, Callable[[Any], float], Callable[[Any], float]]


def play(rule: str, problem: Problem, answers: int, seed: int) -> list[float]:
    """Return the regrets of a run in per cent: recommended, best asked and per round."""
    sides, regret, deviation = problem
    errors = np.random.default_rng([seed, 1]).standard_normal(answers)
    optimizer = GPUCBOptimizer(bounds=sides, regret=rule, random_state=seed)
    regrets = []
    for error in errors.tolist():
        query = optimizer.ask()
        regrets.append(regret(query))
        optimizer.tell(query, -regrets[-1] + deviation(query) * error)
    end = regret(optimizer.recommend())
    return [100.0 * each for each in (end, min(regrets), float(np.mean(regrets)))]


def in_box(f: Function) -> Problem:
    """Return a function of the suite as a problem."""
    sides = [(0.0, 1.0)] * f.d
    return sides, lambda q: f.regret(q.points[0]), lambda q: f.deviation(q.points[0])


def functions(half: str, n: int) -> Iterator[Function]:
    """Yield the functions of a half in boxes, n of them for each law."""
    for table in TABLES:
        yield from map(function, names(half, table))
    for i, law in enumerate(LAWS):
        for number in range(HALVES[half], HALVES[half] + n):
            d = DIMENSIONS[number % len(DIMENSIONS)]
            drawn = Law(law, d, 0, np.random.default_rng([i, number]))
            yield Function(f"{law} {number}", law, d, in_range(drawn, d), 0.0)


def of_lists(kind: str, number: int, noise: float) -> Problem:
    """Return a made-up function of lists as a problem."""
    f = made_up(kind, number)
    return f.sides, lambda q: (f.top - f.value(q.params)) / f.range, lambda q: noise


def problems(sets: list[str], half: str, n: int) -> Iterator[tuple[str, str, Problem]]:
    """Yield the set, the name and the problem of each function of a half, for each noise."""
    noises = {f"{each} boxes": noise for each, noise in BOXES.items() if each in sets}
    for f in functions(half, n) if noises else ():
        for label, noise in noises.items():
            yield label, f.name, in_box(replace(f, noise=noise))
    for kind in KINDS if "lists" in sets else ():
        for number in range(HALVES[half], HALVES[half] + n):
            for noise in NOISES:
                yield "lists", f"{kind} {number}", of_lists(kind, number, noise)


def main(arguments: list[str] | None = None) -> None:
    """Play both rules on all problems, and print a table."""
    parser = argument_parser("which_regret", __doc__, 4, answers=60, functions=10)
    parser.add_argument("--half", choices=HALVES, default="confirming", help="of the functions")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="to play")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list[np.ndarray]]] = {}
    for label, name, problem in problems(options.sets, options.half, options.functions):
        runs = range(options.seed, options.seed + (1 if label == "lists" else options.runs))
        each = [[play(rule, problem, options.answers, seed) for seed in runs] for rule in RULES]
        found.setdefault(label, {}).setdefault(name, []).append(np.mean(each, axis=1))
    rows, table = [], []
    for label, of in found.items():
        values = np.array([np.mean(each, axis=0) for each in of.values()])
        for name, means in zip(of, values, strict=True):
            rows += [(label, name, rule, *mean) for rule, mean in zip(RULES, means, strict=True)]
        gaps = zip(*mean_and_error(values[:, 1] - values[:, 0]), strict=True)
        means = zip(*values.mean(axis=0), strict=True)
        cells = [
            (f"{first:.1f}", f"{second:.1f}", estimate(*gap, 2))
            for (first, second), gap in zip(means, gaps, strict=True)
        ]
        table.append((f"{label}, {len(of)} functions", [c for three in cells for c in three]))
    header = [title for each in MEASURES for title in (each, "simple", "difference")]
    title = f"Regret after {options.answers} answers, {options.runs} runs, seed {options.seed}"
    print(format_table(title, header, table))
    path = options.output / "which_regret.csv"
    write_csv(path, ["set", "function", "rule", *MEASURES], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

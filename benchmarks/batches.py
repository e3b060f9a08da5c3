"""Regret of searches in batches, whose queries are kept apart, next to one query at a time.

``python -m benchmarks.batches [--runs 2] [--seed 0] [--sizes 4 8 16] [--answers 64]
[--half confirming] [--names NAME ...] [--output DIR]``
plays functions of two to six sides of :mod:`benchmarks.suite`, and functions of lists and numbers
of :mod:`benchmarks.lists`, each with exact answers and with noise of 5 % of the range. Expected
improvement and GP-UCB for a small simple regret ask one query at a time and in batches; "not apart"
is with ``LEFT_TO_LEARN`` of 0, so that a query may be beside another one of its batch. All runs of
a seed meet the same noise.

Printed: regret of the recommendation after half of the answers and at the end, in per cent of the
range; the share of the queries with another one of their batch within 1 % of every side and equal
values of lists; and how much more regret there is than with queries that are not apart, with
standard errors over the functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    write_csv,
)
from benchmarks.lists import HALVES as FIRST_OF_LISTS
from benchmarks.lists import N_FUNCTIONS, Problem, made_up
from benchmarks.suite.functions import HALVES, function, names
from skgpb import EIOptimizer, GPUCBOptimizer, defaults

NOISES = (0.0, 0.05)
NEAR = 0.01
METHODS: dict[str, Callable[..., Any]] = {
    "EI": EIOptimizer,
    "GP-UCB, simple": partial(GPUCBOptimizer, regret="simple"),
}


def problems(half: str, chosen: list[str] | None) -> dict[str, Problem]:
    """Return the functions of a half, or those of the suite that are named."""
    boxes = {name: function(name) for name in chosen or names(half)}
    first = FIRST_OF_LISTS[half]
    lists = {} if chosen else {f"lists {n}": n for n in range(first, first + N_FUNCTIONS)}
    return {
        name: Problem(
            {f"x{i}": (0.0, 1.0) for i in range(f.d)},
            lambda params, f=f: -f.regret(np.array(list(params.values()))),
            0.0,
            1.0,
            0,
        )
        for name, f in boxes.items()
        if 2 <= f.d <= 6 or chosen
    } | {name: made_up("lists-and-numbers", n) for name, n in lists.items()}


def n_near(batch: list[dict[str, Any]]) -> int:
    """Return the number of settings that have another one of the batch beside them."""

    def beside(a: dict[str, Any], b: dict[str, Any]) -> bool:
        pairs = zip(a.values(), b.values(), strict=True)
        return all(x == y if isinstance(x, str) else abs(x - y) <= NEAR for x, y in pairs)

    return sum(any(beside(a, b) for b in batch if b is not a) for a in batch)


def play(
    make: Callable[..., Any], problem: Problem, noise: float, seed: int, size: int, answers: int
) -> list[float]:
    """Return regret after half of the answers and at the end, and the share of near queries."""
    optimizer = make(bounds=problem.sides, random_state=seed)
    errors = noise * problem.range * np.random.default_rng([seed, 1]).standard_normal(answers)
    regrets, near, told = [], 0, 0
    while told < answers:
        batch = optimizer.ask(min(size, answers - told))
        settings = [query.params for query in batch]
        near += n_near(settings)
        values = [problem.value(each) for each in settings]
        optimizer.tell(batch, np.array(values) + errors[told : told + len(batch)])
        told += len(batch)
        if (told >= answers // 2 and not regrets) or told == answers:
            best = problem.value(optimizer.recommend().params)
            regrets.append(100.0 * (problem.top - best) / problem.range)
    return [regrets[0], regrets[-1], 100.0 * near / answers]


def main(arguments: list[str] | None = None) -> None:
    """Print what batches cost."""
    parser = argument_parser("batches", __doc__, 2, answers=64)
    parser.add_argument("--half", choices=HALVES, default="confirming", help="of the functions")
    parser.add_argument("--names", nargs="+", choices=names(), help="functions in its place")
    parser.add_argument(
        "--sizes", nargs="+", type=positive_int, default=[4, 8, 16], help="of the batches"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    played, usual = problems(options.half, options.names), defaults.LEFT_TO_LEARN
    seeds = range(options.seed, options.seed + options.runs)
    cells = [(name, noise) for name in played for noise in NOISES]
    ways = [(1, True), *((size, apart) for size in options.sizes for apart in (True, False))]
    rows, table = [], []
    for method, make in METHODS.items():
        means = {}
        for size, apart in ways:
            defaults.LEFT_TO_LEARN = usual if apart else dict.fromkeys(usual, 0.0)
            of_cells = []
            for name, noise in cells:
                runs = [
                    play(make, played[name], noise, seed, size, options.answers) for seed in seeds
                ]
                of_cells.append(np.mean(runs, axis=0))
                rows += [
                    (method, size, apart, name, noise, seed, *run)
                    for seed, run in zip(seeds, runs, strict=True)
                ]
            means[size, apart] = np.array(of_cells)
        defaults.LEFT_TO_LEARN = usual
        for size, apart in ways:
            values = means[size, apart]
            numbers = [f"{each:.1f}" for each in values.mean(axis=0)]
            if apart and size > 1:
                less = (values - means[size, False])[:, :2]
                pairs = zip(*mean_and_error(less), strict=True)
                numbers += [estimate(*each, 1) for each in pairs]
            else:
                numbers += ["-", "-"]
            how = "one at a time" if size == 1 else f"{size}{'' if apart else ', not apart'}"
            table.append((f"{method}: {how}", numbers))
    title = (
        f"{len(played)} functions with and without noise, {options.runs} runs, "
        f"{options.answers} answers, seed {options.seed}: regret in % of the range"
    )
    header = ["after half", "at the end", "% near", "after half, more", "at the end, more"]
    print(format_table(title, header, table))
    path = options.output / "batches.csv"
    fields = ["method", "size", "apart", "function", "noise", "seed", "half", "end", "near"]
    write_csv(path, fields, rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

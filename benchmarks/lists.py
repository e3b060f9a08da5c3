"""Regret on spaces of lists, integers and numbers, nothing known but the choices.

    python -m benchmarks.lists [--runs 3] [--seed 0] [--half confirming] [--methods ucb simple ei]
        [--noises 0 5] [--tables FOLDER] [--output DIR]

Functions are made up: main effects of every side and of pairs of sides, of different sizes, as they
are, squashed, or with few good settings. ``choosing`` and ``confirming`` are two halves of them;
defaults are chosen on the first. With ``--tables`` the complete tables of reactions in a folder
(``arylation.csv``, ``buchwald.csv``, ``perovskites.csv``) are played instead, whose rows answer.
Regrets are in per cent of the range; ``longest`` is how often at most one setting was asked in a
row, in the mean. With Optuna its TPE takes part.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from skgpb import EIOptimizer, GPUCBOptimizer

# Sizes of the lists, number of numeric sides, and number of questions.
KINDS: dict[str, tuple[list[int], int, int]] = {
    "three-lists": ([12, 8, 6], 0, 50),
    "four-lists": ([15, 20, 3, 4], 0, 50),
    "five-lists": ([12, 4, 8, 3, 3], 0, 50),
    "lists-and-numbers": ([5, 4, 3], 2, 50),
    "20-switches": ([2] * 20, 0, 100),
    "15-lists-of-five": ([5] * 15, 0, 100),
    "ten-lists-two-numbers": ([4] * 10, 2, 100),
}
#: Number of functions of each kind in a half, and the seeds of these.
N_FUNCTIONS = 3
HALVES = {"choosing": 0, "confirming": 50}
NOISES, NOISES_OF_TABLES = (0.0, 0.05), (0.0, 0.02, 0.05)
# Sides, answer, and its sign where much is good.
TABLES = {
    "arylation": (["base", "ligand", "solvent", "concentration", "temperature"], "yield", 1.0),
    "buchwald": (["aryl_halide", "additive", "base", "ligand"], "yield", 1.0),
    "perovskites": (["organic", "cation", "anion"], "energy", -1.0),
}
SHAPES: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda z: z,
    lambda z: 1.0 / (1.0 + np.exp(1.5 - 1.5 * z)),
    lambda z: np.exp(0.8 * np.minimum(z, 6.0)),
]


@dataclass
class Problem:
    """A function of settings, its maximum and its range."""

    sides: dict[str, Any]
    value: Callable[[dict[str, Any]], float]
    top: float
    range: float
    n_questions: int


def made_up(kind: str, seed: int) -> Problem:
    """Return a function of a kind; its maximum is that of 30 searches side by side."""
    sizes, d, n_questions = KINDS[kind]
    rng = np.random.default_rng([77, seed, *sizes, d])
    main = [rng.normal(size=n) * rng.gamma(1.0) for n in sizes]
    pairs = [rng.choice(len(sizes), 2, replace=False) for _ in sizes]
    joint = [(i, j, 0.7 * rng.normal(size=(sizes[i], sizes[j]))) for i, j in pairs]
    middle, width = rng.random(d), rng.uniform(0.2, 0.6, d)
    shape = SHAPES[rng.integers(len(SHAPES))]

    def raw(k: np.ndarray, x: np.ndarray) -> np.ndarray:
        total = sum(effect[k[..., i]] for i, effect in enumerate(main))
        total = total + sum(effect[k[..., i], k[..., j]] for i, j, effect in joint)
        return total - 3.0 * (((x - middle) / width) ** 2).sum(axis=-1)

    k = np.column_stack([rng.integers(n, size=4000) for n in sizes])
    x = rng.random((4000, d))
    sample = raw(k, x)
    center, scale = sample.mean(), sample.std()
    best, x_best = k[np.argsort(-sample)[:30]], np.broadcast_to(middle, (30, d))
    for _ in range(6):
        for i, n in enumerate(sizes):
            other = np.repeat(best[:, None], n, axis=1)
            other[..., i] = np.arange(n)
            found = raw(other, x_best[:, None])
            best[:, i] = found.argmax(axis=1)
    top = float(shape((raw(best, x_best) - center) / scale).max())
    sides: dict[str, Any] = {
        f"list{i}": [f"{i}-{j}" for j in range(n)] for i, n in enumerate(sizes)
    }
    sides |= {f"x{i}": (0.0, 1.0) for i in range(d)}

    def value(params: dict[str, Any]) -> float:
        values = list(params.values())
        chosen = np.array([int(v.split("-")[1]) for v in values[: len(sizes)]])
        z = raw(chosen, np.array(values[len(sizes) :], dtype=np.float64))
        return float(shape((z - center) / scale))

    return Problem(
        sides, value, top, top - float(shape((sample - center) / scale).min()), n_questions
    )


def of_table(name: str, folder: Path) -> Problem:
    """Return the function whose values are the rows of a table."""
    names, answer, sign = TABLES[name]
    rows: dict[tuple[str, ...], list[float]] = {}
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(tuple(row[c] for c in names), []).append(sign * float(row[answer]))
    values = {key: float(np.mean(each)) for key, each in rows.items()}
    sides = {c: sorted({key[i] for key in values}) for i, c in enumerate(names)}
    top = max(values.values())
    span = top - min(values.values())
    return Problem(sides, lambda p: values[tuple(p[c] for c in names)], top, span, 50)


def ours(make: Callable[..., Any]) -> Callable[[Problem, int], Any]:
    """Return what plays one of our classes: a function that asks, and one that is told."""

    def method(problem: Problem, seed: int) -> Any:
        optimizer = make(bounds=problem.sides, random_state=seed)
        return (
            lambda: (query := optimizer.ask(), query.params),
            optimizer.tell,
            lambda: optimizer.recommend().params,
        )

    return method


def tpe(problem: Problem, seed: int) -> Any:
    """Play Optuna's TPE, which recommends the best answer."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

    def ask() -> Any:
        trial = study.ask()
        for name, side in problem.sides.items():
            if isinstance(side, list):
                trial.suggest_categorical(name, side)
            else:
                trial.suggest_float(name, *side)
        return trial, trial.params

    return ask, study.tell, lambda: study.best_params


def at_random(problem: Problem, seed: int) -> Any:
    """Play random settings, and recommend the best answer."""
    rng, told = np.random.default_rng([9, seed]), []

    def ask() -> Any:
        params = {
            name: side[rng.integers(len(side))] if isinstance(side, list) else rng.uniform(*side)
            for name, side in problem.sides.items()
        }
        return params, params

    def tell(params: dict[str, Any], value: float) -> None:
        told.append((value, params))

    return ask, tell, lambda: max(told, key=lambda each: each[0])[1]


METHODS: dict[str, Callable[[Problem, int], Any]] = {
    "ucb": ours(GPUCBOptimizer),
    "simple": ours(lambda **settings: GPUCBOptimizer(regret="simple", **settings)),
    "ei": ours(EIOptimizer),
    "tpe": tpe,
    "random": at_random,
}


def play(method: Callable[[Problem, int], Any], problem: Problem, noise: float, seed: int) -> list:
    """Return regret per round and at the end in per cent, and how often a setting was repeated."""
    ask, tell, recommend = method(problem, seed)
    errors = (
        noise * problem.range * np.random.default_rng([6, seed]).normal(size=problem.n_questions)
    )
    regrets, asked = [], []
    for error in errors.tolist():
        query, params = ask()
        value = problem.value(params)
        asked.append(tuple(params.values()))
        regrets.append(problem.top - value)
        tell(query, value + error)
    regret = problem.top - problem.value(recommend())
    changes = [i + 1 for i, (a, b) in enumerate(pairwise(asked)) if a != b]
    longest = int(np.diff([0, *changes, len(asked)]).max())
    return [100.0 * np.mean(regrets) / problem.range, 100.0 * regret / problem.range, longest]


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("lists", __doc__, 3)
    parser.add_argument("--half", choices=HALVES, default="confirming", help="of the functions")
    kinds, methods = list(KINDS), list(METHODS)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds, help="of functions")
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods, help="to play")
    parser.add_argument("--tables", type=Path, help="folder of tables to play instead")
    noises = "standard deviations in per cent of the range (default 0 and 5, of tables 2 as well)"
    parser.add_argument("--noises", nargs="+", type=float, metavar="NOISE", help=noises)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    methods = [each for each in options.methods if each != "tpe" or find_spec("optuna")]
    if options.tables is None:
        first = HALVES[options.half]
        numbers = range(first, first + N_FUNCTIONS)
        problems = {f"{k} {n}": made_up(k, n) for k in options.kinds for n in numbers}
        usual: tuple[float, ...] = NOISES
    else:
        problems = {name: of_table(name, options.tables) for name in TABLES}
        usual = NOISES_OF_TABLES
    noises = usual if options.noises is None else tuple(each / 100 for each in options.noises)
    cells = [(name, noise) for name in problems for noise in noises]
    seeds, rows, means = range(options.seed, options.seed + options.runs), [], {}
    for method in methods:
        for name, noise in cells:
            runs = [play(METHODS[method], problems[name], noise, seed) for seed in seeds]
            means[method, name, noise] = np.mean(runs, axis=0)
            rows += [(method, name, noise, s, *run) for s, run in zip(seeds, runs, strict=True)]
    table = []
    for method in methods:
        of = np.array([means[(method, *cell)] for cell in cells])
        first = np.array([means[(methods[0], *cell)] for cell in cells])
        apart = [estimate(*each, 2) for each in zip(*mean_and_error(of - first), strict=True)]
        per_round, end, longest = of.mean(axis=0)
        numbers = [f"{per_round:.1f}", apart[0], f"{end:.1f}", apart[1], f"{longest:.1f}"]
        table.append((method, numbers))
    title = f"{len(problems)} functions, noise {noises}, {options.runs} runs, seed {options.seed}"
    header = ["per round", "to first", "simple", "to first", "longest"]
    print(format_table(title, header, table))
    path = options.output / "lists.csv"
    write_csv(path, ["method", "function", "noise", "seed", "per_round", "simple", "longest"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

"""Regret where one branch has a narrow optimum, and all others are flat and fair.

    python -m benchmarks.branches [--runs 10] [--seed 0] [--half confirming]
        [--methods ucb simple ei cv tpe random] [--set BRANCH_ROUND=3 BRANCH_ANSWERS=15]

A branch is a level of a list beside numbers, or with ``cv`` a dict of :class:`BanditSearchCV` whose
parameters are its own. Fair branches have values of about 0.5. The narrow one has 1 at its optimum,
and 0 from its width on. ``choosing`` and ``confirming`` are two halves of the optima; the settings
of the search are chosen on the first. ``--set`` replaces them. Regret is that of the best setting
that was asked in 40; with Optuna its TPE takes part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import uniform
from sklearn.base import BaseEstimator

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from skgpb import EIOptimizer, GPUCBOptimizer, defaults
from skgpb.model_selection import BanditSearchCV

# Number of numbers of a branch, number of branches, and width of the optimum in sides.
PROBLEMS = [(1, 2, 0.05), (1, 2, 0.1), (1, 2, 0.2), (1, 4, 0.1), (2, 2, 0.1), (2, 2, 0.2)]
HALVES = {"choosing": 0, "confirming": 100}
N_QUESTIONS = 40


class Branches(BaseEstimator):
    """A function of settings, and the estimator whose score it is.

    Parameters
    ----------
    problem : tuple of int, int and float
        Entry of ``PROBLEMS``.
    seed : int
        Seed of the optimum.
    branch : int or str
        The branch.
    x0, x1 : float
        Numbers of this branch.
    """

    def __init__(
        self,
        problem: Any = PROBLEMS[0],
        seed: int = 0,
        branch: Any = 0,
        x0: float = 0.0,
        x1: float = 0.0,
    ) -> None:
        self.problem, self.seed, self.branch, self.x0, self.x1 = problem, seed, branch, x0, x1

    def fit(self, X: Any, y: Any = None) -> Branches:
        """Return self: the score depends on the parameters alone."""
        return self

    def score(self, X: Any = None, y: Any = None) -> float:
        """Return the value of the setting, at most 1."""
        d, n, width = self.problem
        rng = np.random.default_rng([31, self.seed, d, n])
        narrow, center, slopes = rng.integers(n), rng.uniform(0.1, 0.9, d), rng.normal(size=n)
        x, branch = np.array([self.x0, self.x1][:d]), int(str(self.branch)[-1])
        if branch != narrow:
            return float(0.5 + 0.02 * slopes[branch] * (x[0] - 0.5))
        return max(0.0, 1.0 - float(np.sqrt(((x - center) ** 2).mean())) / width)


def ours(make: Callable[..., Any]) -> Callable[[Branches], float]:
    """Return a function that plays one of our classes and returns the best value."""

    def play(function: Branches) -> float:
        d, n, _ = function.problem
        sides = {"branch": [f"b{i}" for i in range(n)], **{f"x{i}": (0.0, 1.0) for i in range(d)}}
        optimizer = make(bounds=sides, random_state=function.seed)
        optimizer.run(lambda q: value(function, q.params), budget=N_QUESTIONS)
        return float(optimizer.history_["reward"].max())

    return play


def value(function: Branches, params: dict[str, Any]) -> float:
    """Return the value of a setting."""
    return Branches(function.problem, function.seed, **params).score()


def tune(function: Branches) -> float:
    """Play BanditSearchCV, each branch with parameters of its own, and return the best value."""
    d, n, _ = function.problem
    spaces = [{"branch": [i]} | {f"x{k}": uniform(0, 1) for k in range(d)} for i in range(n)]
    fixed = Branches(function.problem, function.seed)
    one = [(np.arange(2), np.arange(2))]
    search = BanditSearchCV(
        fixed, spaces, n_iter=N_QUESTIONS, cv=one, random_state=function.seed, refit=False
    )
    search.fit(np.zeros((2, 1)), np.zeros(2))
    return float(np.max(search.cv_results_["mean_test_score"]))


def tpe(function: Branches) -> float:
    """Play Optuna's TPE, each branch with numbers of its own, and return the best value."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    d, n, _ = function.problem
    sampler = optuna.samplers.TPESampler(seed=function.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial: Any) -> float:
        branch = trial.suggest_categorical("branch", list(range(n)))
        numbers = {f"x{k}": trial.suggest_float(f"{branch} x{k}", 0, 1) for k in range(d)}
        return value(function, {"branch": branch, **numbers})

    study.optimize(objective, n_trials=N_QUESTIONS)
    return float(study.best_value)


def at_random(function: Branches) -> float:
    """Play random settings, and return the best value."""
    (d, n, _), rng = function.problem, np.random.default_rng([9, function.seed])
    names = [f"x{k}" for k in range(d)]
    asked = [
        {"branch": rng.integers(n), **dict(zip(names, rng.random(d), strict=True))}
        for _ in range(N_QUESTIONS)
    ]
    return max(value(function, each) for each in asked)


METHODS: dict[str, Callable[[Branches], float]] = {
    "ucb": ours(GPUCBOptimizer),
    "simple": ours(lambda **sides: GPUCBOptimizer(regret="simple", **sides)),
    "ei": ours(EIOptimizer),
    "cv": tune,
    "tpe": tpe,
    "random": at_random,
}


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("branches", __doc__, 10)
    parser.add_argument("--half", choices=HALVES, default="confirming", help="of the optima")
    methods = list(METHODS)
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods, help="to play")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="of defaults")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for name, number in (each.split("=") for each in options.set):
        setattr(defaults, name, int(number))
    first = HALVES[options.half] + options.seed
    rows, table = [], []
    for method in options.methods:
        if method == "tpe" and not find_spec("optuna"):
            continue
        cells = []
        for problem in PROBLEMS:
            seeds = range(first, first + options.runs)
            runs = [1.0 - METHODS[method](Branches(problem, seed)) for seed in seeds]
            rows += [(method, *problem, s, run) for s, run in zip(seeds, runs, strict=True)]
            cells.append(runs)
        columns = [*map(np.array, cells), np.mean(cells, axis=0)]
        table.append((method, [estimate(*mean_and_error(runs)) for runs in columns]))
    title = f"Regret of the best of {N_QUESTIONS}, {options.runs} runs, {options.half} half"
    header = [f"{d} numbers, {n} branches, {width:g}" for d, n, width in PROBLEMS]
    print(format_table(title, [*header, "mean"], table))
    path = options.output / "branches.csv"
    write_csv(path, ["method", "numbers", "branches", "width", "seed", "regret"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

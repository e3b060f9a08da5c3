"""Short runs of every kind of search, each with two numbers that are small if it was good.

A part is a dict of games by their names; a game takes a seed and returns its two numbers. The four
parts of :data:`MAIN` are those of other benchmarks, with their problems; the further ones reach
what these do not: cells, trees, indirect queries, failures, and so on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

from benchmarks import constraints, exact_answers, failures, limits, lists, outliers, targets
from benchmarks.fidelities.functions import PAIRS
from benchmarks.fidelities.functions import Pair as Fidelity
from benchmarks.suite import __main__ as suite
from benchmarks.suite import bbob
from benchmarks.suite.functions import Function, function, names
from benchmarks.suite.methods import METHODS
from skgpb import CombinatorialBandit, EIOptimizer, GPUCBOptimizer, KGOptimizer, Stop
from skgpb.domains import Box, Fidelities, Steps
from skgpb.kernels import ConditionalMean, Tasks, WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPTSOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    IGPUCBOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
)
from skgpb.problems import AdvertisingBudget

Game = Callable[[int], tuple[float, float]]
#: Parts that every number is measured on.
MAIN = ("suite", "bbob", "reactions", "exact")
#: What the two numbers of a part are.
PER_ROUND, AT_THE_END = "per round, %", "log10 at the end"
MEASURES = {
    "exact": ("log10 behind the best answer", AT_THE_END),
    "indirect": ("at half, %", AT_THE_END),
    "cells": ("at half, %", AT_THE_END),
    "sizes": ("at the end, %", AT_THE_END),
    "blurred": ("at half, %", AT_THE_END),
    "replicates": ("at the end, %", AT_THE_END),
    "fidelities": ("at half, %", AT_THE_END),
    "failures": ("failures of the last ten", AT_THE_END),
    "failing": ("failures of the last ten", AT_THE_END),
    "limits": ("suggestions beyond, %", AT_THE_END),
    "stop": ("answers", "wrong claims"),
    "sides": ("of either kind", AT_THE_END),
}
#: Smallest regret in per cent, without and with noise.
LEAST, LEAST_NOISY = 1e-6, 1e-2


def log_of(percent: float, noisy: bool = True) -> float:
    """Return the logarithm of a regret in per cent, which may be as small as 0."""
    return float(np.log10(max(percent, LEAST_NOISY if noisy else LEAST)))


def two_of(regrets: list[float], last: float, noisy: bool = True) -> tuple[float, float]:
    """Return the mean regret in per cent, and the logarithm of the last one."""
    return 100.0 * float(np.mean(regrets)), log_of(100.0 * last, noisy)


# -- the parts that every number is measured on ---------------------------------------------------


@cache
def problem_of(name: str) -> Function:
    """Return a function of the suite or of BBOB, whose optimum is looked for once."""
    return function(name)


def of_suite(name: str, method: str, n: int, seed: int) -> tuple[float, float]:
    """Play a method of the suite on one of its functions."""
    found = suite.play(METHODS[method], problem_of(name), n, seed)
    return found["per_round"], log_of(found["simple"], problem_of(name).noise > 0.0)


@cache
def table_of(name: str, folder: Path) -> lists.Problem:
    """Return a table of reactions."""
    return lists.of_table(name, folder)


def of_reactions(name: str, folder: Path, method: str, noise: float, seed: int) -> Any:
    """Look reactions up in a table."""
    found = lists.play(lists.METHODS[method], table_of(name, folder), noise, seed)
    return found[0], log_of(found[1], noise > 0.0)


@cache
def exact_function(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of two dimensions in units of its range."""
    return exact_answers.in_range(exact_answers.FUNCTIONS[name], 2)


def of_exact(name: str, seed: int) -> tuple[float, float]:
    """How far the recommendation is behind the best answer, and from the optimum."""
    recommended, best = np.log10(
        np.maximum(exact_answers.play(exact_function(name), seed)[-1], exact_answers.LEAST)
    )
    return float(recommended - best), float(recommended)


# -- further parts --------------------------------------------------------------------------------


def searched(make: Callable[..., Any], name: str, n: int, seed: int) -> tuple[float, float]:
    """Search a function of the suite; answers of regions are averages."""
    problem, rng = problem_of(name), np.random.default_rng([seed, 3])
    optimizer = make(bounds=[(0.0, 1.0)] * problem.d, random_state=seed)
    regrets = []
    for _ in range(n):
        query = optimizer.ask()
        regrets.append(-float(problem.value(query.points).mean()))
        optimizer.tell(query, problem.noise * rng.standard_normal() - regrets[-1])
    last = -float(problem.value(optimizer.recommend().points).mean())
    return two_of(regrets, last, problem.noise > 0.0)


def in_a_pool(n: int, seed: int) -> tuple[float, float]:
    """GPOO over the rows of a pool."""
    problem, rng = problem_of("camel"), np.random.default_rng([seed, 4])
    pool = rng.random((200, 2))
    best, regrets = float(problem.value(pool).max()), []
    optimizer = GPOOOptimizer(pool=pool, random_state=seed)
    for _ in range(n):
        query = optimizer.ask()
        regrets.append(best - float(problem.value(query.points).mean()))
        optimizer.tell(query, 0.1 * rng.standard_normal() - regrets[-1])
    return two_of(regrets, best - float(problem.value(optimizer.recommend().points).mean()))


def made_up(kind: str, make: Callable[..., Any], noise: float, seed: int) -> tuple[float, float]:
    """Search lists, integers and numbers, a function for each seed."""
    found = lists.play(lists.ours(make), lists.made_up(kind, seed), noise, seed)
    return found[0], log_of(found[1], noise > 0.0)


def of_cells(method: str, name: str, d: int, n: int, seed: int) -> tuple[float, float]:
    """Look for the best cell of a side, with half of the answers and with all."""
    problem = targets.problem(name, d)
    after = []
    for budget in (n // 2, n):
        oracle = targets.Oracle(problem, 0.05, False, seed)
        lower = targets.METHODS[method](oracle, seed, budget)
        after.append(100.0 * (problem.best - problem.average_at(lower)))
    return after[0], log_of(after[1])


def of_sizes(name: str, d: int, noise: float, seed: int) -> tuple[float, float]:
    """Look for the best cell of a side by the knowledge gradient, with 30 answers."""
    problem = targets.problem(name, d)
    oracle = targets.Oracle(problem, noise, False, seed)
    lower = targets.METHODS["kg"](oracle, seed, 30)
    regret = 100.0 * (problem.best - problem.average_at(lower))
    return regret, log_of(regret)


def apart(d: int, rng: np.random.Generator) -> np.ndarray:
    """Places (2, d) of a hill and of a peak, far from each other along some side."""
    while True:
        places = rng.random((2, d))
        if np.abs(places[0] - places[1]).max() > 0.35:
            return places


def of_peak(d: int, width: float, seed: int) -> tuple[float, float]:
    """Look for a narrow peak that is higher than a broad hill, for a small simple regret."""
    rng = np.random.default_rng([seed, 21])
    hill, peak = apart(d, rng)
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * d, regret="simple", random_state=seed)

    def value(x: np.ndarray) -> float:
        broad = 0.6 * np.exp(-(((x - hill) / 0.25) ** 2).sum())
        return max(broad, np.exp(-(((x - peak) / width) ** 2).sum() / 2))

    regrets = []
    for _ in range(60):
        query = optimizer.ask()
        regrets.append(1.0 - value(query.points[0]))
        optimizer.tell(query, 1.0 - regrets[-1] + 0.1 * rng.standard_normal())
    return two_of(regrets, 1.0 - value(optimizer.recommend().points[0]))


def of_blurred_peak(width: float, blur: float, noise: float, seed: int) -> tuple[float, float]:
    """The same on the line, behind a known Gaussian blur."""
    rng = np.random.default_rng([seed, 31])
    hill, peak = apart(1, rng)[:, 0]
    shift = np.linspace(-4.0, 4.0, 81)
    weights = np.exp(-0.5 * shift**2)

    def value(x: Any) -> Any:
        broad = 0.6 * np.exp(-(((x - hill) / 0.25) ** 2))
        return np.maximum(broad, np.exp(-0.5 * ((x - peak) / width) ** 2))

    optimizer = CMESOptimizer(
        bounds=[(0.0, 1.0)], conditional=WindowMean(scale=blur), query_bounds=[(0.0, 1.0)],
        random_state=seed,
    )  # fmt: skip
    regrets = []
    for t in range(1, 41):
        query = optimizer.ask()
        around = float(query.a[0]) + blur * shift
        answer = float(np.average(value(around), weights=weights))
        optimizer.tell(query, answer + noise * rng.standard_normal())
        if t in (20, 40):
            x = np.ravel(optimizer.recommend()).astype(float)
            regrets.append(100.0 * float(value(peak) - value(x).max()))
    return regrets[0], log_of(regrets[1])


def replicated(waves: int, height: float, noise: float, seed: int) -> tuple[float, float]:
    """Search ripples on a hill, and then ask for the six best settings three times more each."""
    rng = np.random.default_rng([seed, 27])
    hill, phase = rng.random(2), 6.28 * rng.random(2)

    def value(X: np.ndarray) -> np.ndarray:
        ripples = np.sin(2.0 * np.pi * waves * X + phase).mean(axis=1)
        return np.exp(-(((X - hill) / 0.35) ** 2).sum(axis=1)) + height * ripples

    best = float(value(np.random.default_rng(0).random((40_000, 2))).max())
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, regret="simple", random_state=seed)
    X, y = [], []
    for _ in range(45):
        query = optimizer.ask()
        X.append(query.points[0])
        y.append(float(value(query.points)[0]) + noise * rng.standard_normal())
        optimizer.tell(query, y[-1])
    for i in np.argsort(-np.array(y))[:6]:
        for _ in range(3):
            again = float(value(X[i][None])[0]) + noise * rng.standard_normal()
            optimizer.tell(X[i], again)
    regret = 100.0 * (best - float(value(optimizer.recommend().points)[0]))
    return regret, log_of(regret)


def hump(x: np.ndarray) -> np.ndarray:
    """A hill and a narrow hump, from 0 to 1."""
    return np.maximum(
        0.6 * np.exp(-(((x - 0.3) / 0.25) ** 2)), np.exp(-0.5 * ((x - 0.77) / 0.04) ** 2)
    )


def blurred(make: Callable[..., Any], noise: float, n: int, seed: int) -> tuple[float, float]:
    """Look for the hump behind a Gaussian blur of its width, by answers to blurred queries."""
    rng, width = np.random.default_rng([seed, 5]), 0.04
    shift = np.linspace(-4.0, 4.0, 81)
    weights = np.exp(-0.5 * shift**2)
    optimizer = make(
        bounds=[(0.0, 1.0)], conditional=WindowMean(scale=width), query_bounds=[(0.0, 1.0)],
        random_state=seed,
    )  # fmt: skip
    return indirectly(
        optimizer, lambda a: np.average(hump(a + width * shift), weights=weights), noise, n, rng
    )


def indirectly(
    optimizer: Any, answer: Callable[[float], float], noise: float, n: int, rng: Any
) -> tuple[float, float]:
    """Ask indirect queries, and judge what is recommended by the hump itself."""
    regrets = []
    for t in range(1, n + 1):
        query = optimizer.ask()
        optimizer.tell(query, float(answer(float(query.a[0]))) + noise * rng.standard_normal())
        if t in (n // 2, n):
            x = np.ravel(optimizer.recommend()).astype(float)
            regrets.append(100.0 * (1.0 - float(hump(x).max())))
    return regrets[0], log_of(regrets[1])


def learned(cls: Any, n: int, seed: int) -> tuple[float, float]:
    """The same where the blur is learned from pairs, of which some lie at the ends."""
    rng = np.random.default_rng([seed, 6])
    A = rng.random((150, 1))
    X = np.clip(A + 0.04 * rng.standard_normal(A.shape), 0.0, 1.0)
    optimizer = cls(bounds=[(0.0, 1.0)], random_state=seed).fit(X, queries=A)
    shift = 0.04 * np.random.default_rng(0).standard_normal(200)
    return indirectly(
        optimizer, lambda a: float(hump(np.clip(a + shift, 0.0, 1.0)).mean()), 0.02, n, rng
    )


def by_operator(n: int, seed: int) -> tuple[float, float]:
    """The same with a conditional mean embedding of the pairs."""
    rng = np.random.default_rng([seed, 8])
    A = rng.random((120, 1))
    X = np.clip(A + 0.04 * rng.standard_normal(A.shape), 0.0, 1.0)
    optimizer = CMESOptimizer(
        conditional=ConditionalMean(X=X, A=A), bounds=[(0.0, 1.0)], random_state=seed
    )
    shift = 0.04 * np.random.default_rng(0).standard_normal(200)
    return indirectly(
        optimizer, lambda a: float(hump(np.clip(a + shift, 0.0, 1.0)).mean()), 0.02, n, rng
    )


def of_fidelities(cls: Any, pair: Fidelity, seed: int) -> tuple[float, float]:
    """Search an expensive function with a cheap one, for half of the cost and for all."""
    optimizer = cls(
        bounds=[(0.0, 1.0)] * pair.d, queries=Fidelities(2), cost=[1.0, pair.price],
        random_state=seed,
    )  # fmt: skip
    spent, regrets, budget = 0.0, [], pair.budget + 2.0 * pair.d
    for share in (0.5, 1.0):
        while spent < share * budget:
            query = optimizer.ask()
            optimizer.tell(query, pair.answer(query.points[0], query.task))
            spent += pair.price_of(query.task)
        regret = pair.optimum - pair.expensive(optimizer.recommend().points[0])
        regrets.append(100.0 * regret / abs(pair.optimum))
    return regrets[0], log_of(regrets[1])


def of_failures(kind: str, engine: str, name: str, seed: int) -> tuple[float, float]:
    """Search where evaluations fail."""
    make, rate = failures.ENGINES[engine], failures.KINDS[kind]
    end, last, _ = failures.play(make, exact_function(name), rate, 40, seed)
    return float(last), end


def of_limits(name: str, seed: int) -> tuple[float, float]:
    """Search under limits on other outcomes; what is beyond one counts as ten times the optimum."""
    problem = limits.PROBLEMS[name]
    x, beyond = limits.run_ours(problem, seed)
    value, limited = problem.function(x)
    excess = 10.0 if max(limited) > 0.0 else problem.excess(value)
    return 100.0 * float(np.mean(beyond[limits.N_FIRST :])), float(np.log10(max(excess, 1e-6)))


def of_outliers(name: str, seed: int) -> tuple[float, float]:
    """Search with one answer that is mistyped."""
    per_round, end = outliers.play(problem_of(name), seed, 45, 8.0)
    return per_round, log_of(end)


def of_stop(nu: float, noise: float, seed: int) -> tuple[float, float]:
    """Answers until a run stops, and whether it was wrong to."""
    arms = np.linspace(0.0, 1.0, 61)[:, None]
    rng = np.random.default_rng([seed, 9])
    K = Matern(0.2, nu=nu)(arms) + 1e-9 * np.eye(len(arms))
    f = np.linalg.cholesky(K) @ rng.standard_normal(len(arms))
    optimizer = GPUCBOptimizer(arms=arms, random_state=seed)
    result = optimizer.run(
        lambda arm: float(f[arm.index] + noise * rng.standard_normal()), 100, stop=Stop(0.4)
    )
    behind = f.max() - f[result.x.index]
    return float(result.nfev), float(result.nfev < 100 and behind > 0.4)


def in_contexts(make: Callable[..., Any], n: int, seed: int) -> tuple[float, float]:
    """Search in contexts that arrive at random."""
    rng = np.random.default_rng([seed, 10])
    grid = np.linspace(0.0, 1.0, 201)
    optimizer, regrets = make(seed), []

    def f(x: Any, c: float) -> Any:
        return np.exp(-(((x - 0.2 - 0.6 * c) / 0.15) ** 2)) + 0.3 * np.sin(9.0 * x)

    for _ in range(n):
        c = float(rng.random())
        query = optimizer.ask(context=[c])
        x = float(np.ravel(query.points)[-1])
        regrets.append(float(f(grid, c).max() - f(x, c)))
        optimizer.tell(query, float(f(x, c)) + 0.1 * rng.standard_normal())
    return two_of(regrets, float(np.mean(regrets[-n // 4 :])))


def constrained(name: str, n: int, seed: int) -> tuple[float, float]:
    """Minimise under linear constraints, with exact answers."""
    problem = constraints.PROBLEMS[name]
    box = Box(dict(zip(problem.names, problem.bounds, strict=True)), problem.texts)
    optimizer = GPUCBOptimizer(bounds=box, regret="simple", random_state=seed)
    regrets = []
    for _ in range(n):
        query = optimizer.ask()
        value = problem.function(query.points[0])
        regrets.append((value - problem.least) / abs(problem.least))
        optimizer.tell(query, -value)
    last = problem.function(optimizer.recommend().points[0])
    return two_of(regrets, (last - problem.least) / abs(problem.least), False)


def of_campaigns(cls: Any, n: int, seed: int) -> tuple[float, float]:
    """Divide a budget among three campaigns of which nothing is known."""
    problem, rng = AdvertisingBudget(), np.random.default_rng([seed, 11])
    engines = [cls(arms=problem.arms) for _ in range(3)]
    bandit = CombinatorialBandit(engines, budget=problem.budget, random_state=seed)
    regrets = []
    for _ in range(n):
        asked = bandit.ask()
        regrets.append(1.0 - problem.value(asked) / problem.optimum)
        bandit.tell(asked, problem.observe(asked, rng))
    return two_of(regrets, 1.0 - problem.value(bandit.recommend()) / problem.optimum)


def named(n: int, seed: int) -> tuple[float, float]:
    """Search a side in steps, and one with a normal distribution whose best value is rare."""
    rng = np.random.default_rng([seed, 13])
    sides = {"x": Steps(1e-3, 1.0, log=True), "y": norm(0.0, 1.0)}
    optimizer = GPUCBOptimizer(bounds=sides, random_state=seed)

    def regret(params: dict[str, float]) -> float:
        return float((0.4 * np.log10(params["x"]) + 0.6) ** 2 + 0.1 * (params["y"] - 2.2) ** 2)

    regrets = []
    for _ in range(n):
        query = optimizer.ask()
        regrets.append(regret(query.params))
        optimizer.tell(query, 0.01 * rng.standard_normal() - regrets[-1])
    return two_of(regrets, regret(optimizer.recommend().params))


def of_runs(n: int, seed: int) -> tuple[float, float]:
    """Look for the best cell of integers and numbers, by cells of a tree."""
    rng = np.random.default_rng([seed, 14])
    optimizer = GPOOOptimizer(bounds={"n": range(20), "x": (0.0, 1.0)}, random_state=seed)

    def value(points: np.ndarray) -> float:
        return float(np.exp(-(((points - [0.675, 0.6]) / 0.2) ** 2).sum(axis=1)).mean())

    # Five values around the best one, and the numbers around the best number.
    n_part, x_part = 0.575 + 0.05 * np.arange(5), 0.475 + 0.025 * (np.arange(10) + 0.5)
    best = value(np.stack(np.meshgrid(n_part, x_part), axis=-1).reshape(-1, 2))
    after = []
    for t in range(1, n + 1):
        query = optimizer.ask()
        optimizer.tell(query, value(query.points) + 0.05 * rng.standard_normal())
        if t in (n // 2, n):
            cell = optimizer.recommend(side={"n": 5, "x": 0.25})
            after.append(100.0 * (best - value(cell.points)))
    return after[0], log_of(after[1])


def at_arms(n: int, seed: int) -> tuple[float, float]:
    """Choose one of some arms in contexts, with the width of the theory."""
    rng = np.random.default_rng([seed, 15])
    arms = np.linspace(0.0, 1.0, 15)[:, None]
    optimizer = IGPUCBOptimizer(
        arms=arms, context_bounds=[(0.0, 1.0)], kernel=RBF([0.5, 0.2]), alpha=0.01,
        random_state=seed,
    )  # fmt: skip
    regrets = []
    for _ in range(n):
        c = float(rng.random())
        values = np.exp(-(((arms[:, 0] - c) / 0.3) ** 2))
        query = optimizer.ask(context=[c])
        regrets.append(float(values.max() - values[query.index]))
        optimizer.tell(query, float(values[query.index]) + 0.1 * rng.standard_normal())
    return two_of(regrets, float(np.mean(regrets[-n // 4 :])))


def not_stationary(n: int, seed: int) -> tuple[float, float]:
    """Search by a tree with a kernel whose variance differs from place to place."""
    kernel = DotProduct(0.5) * RBF(0.3)
    make = partial(GPOOOptimizer, kernel=kernel, alpha=0.01)
    return searched(make, "forrester", n, seed)


def stop_in_a_box(cls: Any, seed: int) -> tuple[float, float]:
    """Answers until a search of a box stops, and the regret then."""
    problem, rng = problem_of("camel"), np.random.default_rng([seed, 16])
    optimizer = cls(bounds=[(0.0, 1.0)] * 2, random_state=seed)
    result = optimizer.run(
        lambda query: float(problem.value(query.points).mean()) + 0.02 * rng.standard_normal(),
        60,
        stop=Stop(0.1, min_answers=20),
    )
    return float(result.nfev), log_of(-100.0 * float(problem.value(result.x.points).mean()))


def gap_behind_a_blur(seed: int) -> tuple[float, float]:
    """What a search by indirect queries says of the gap that is left, and the gap."""
    rng = np.random.default_rng([seed, 17])
    optimizer = CMESOptimizer(
        bounds=[(0.0, 1.0)], conditional=WindowMean(scale=0.04), query_bounds=[(0.0, 1.0)],
        random_state=seed,
    )  # fmt: skip
    for _ in range(15):
        query = optimizer.ask()
        optimizer.tell(query, float(hump(query.a)[0]) + 0.02 * rng.standard_normal())
    left = 1.0 - float(hump(np.ravel(optimizer.recommend())).max())
    return float(optimizer.gap()), log_of(100.0 * left)


def warned(seed: int) -> tuple[float, float]:
    """Whether it is said that the cells of a coarse tree are too coarse, and the regret."""
    problem, rng = problem_of("forrester"), np.random.default_rng([seed, 18])
    optimizer = GPOOOptimizer(bounds=[(0.0, 1.0)], max_depth=2, random_state=seed)
    for _ in range(25):
        query = optimizer.ask()
        answer = float(problem.value(query.points).mean()) + 0.05 * rng.standard_normal()
        optimizer.tell(query, answer)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        best = optimizer.recommend()
    said = any("shifted by half a side" in str(each.message) for each in found)
    return float(said), log_of(-100.0 * float(problem.value(best.points).mean()))


def independent(n: int, seed: int) -> tuple[float, float]:
    """Choose one of some arms of which none says anything of another, often asked again."""
    rng = np.random.default_rng([seed, 19])
    arms, values = np.linspace(0.0, 1.0, 12)[:, None], rng.standard_normal(12)
    optimizer = GPUCBOptimizer(arms=arms, regret="simple", random_state=seed)
    regrets = []
    for _ in range(n):
        query = optimizer.ask()
        regrets.append(float(values.max() - values[query.index]))
        optimizer.tell(query, float(values[query.index]) + 0.3 * rng.standard_normal())
    return two_of(regrets, float(values.max() - values[optimizer.recommend().index]))


def with_tasks(seed: int) -> tuple[float, float]:
    """Search two functions whose kernel is given, but not how much they have in common."""
    make = partial(KGOptimizer, kernel=Tasks(RBF(0.2), n_tasks=2), alpha=1e-4)
    return of_fidelities(make, PAIRS[0], seed)


class Made(BaseEstimator):
    """An estimator whose score is a function of its parameters, and of the fold."""

    def __init__(self, a: float = 0.0, b: float = 0.0, noise: float = 0.1) -> None:
        self.a, self.b, self.noise = a, b, noise

    def fit(self, X: np.ndarray, y: Any = None) -> Made:
        """Remember which fold this is."""
        self.seed_ = int(1e6 * abs(float(np.sum(X))))
        return self

    def truth(self) -> float:
        """Score without the noise of folds."""
        return -float(((self.a - 0.3) / 0.3) ** 2 + ((self.b - 0.6) / 0.5) ** 2)

    def score(self, X: np.ndarray, y: Any = None) -> float:
        """Score on a fold; some settings fail."""
        if self.a > 0.95:
            raise ValueError("this setting fails")
        shared = np.random.default_rng(self.seed_).standard_normal()
        own = np.random.default_rng(
            [self.seed_, int(1e6 * self.a), int(1e6 * self.b)]
        ).standard_normal()
        return self.truth() + self.noise * (shared + own)


def of_tuning(noise: float, seed: int) -> tuple[float, float]:
    """Tune an estimator by cross-validation."""
    from scipy.stats import uniform

    from skgpb.model_selection import BanditSearchCV

    X = np.random.default_rng([seed, 12]).random((20, 1))
    space = {"a": uniform(0.0, 1.0), "b": uniform(0.0, 1.0)}
    search = BanditSearchCV(
        Made(noise=noise), space, n_iter=20, error_score=np.nan, random_state=seed
    ).fit(X)
    regrets = [-Made(**params).truth() for params in search.cv_results_["params"]]
    return two_of(regrets, -Made(**search.best_params_).truth())


def of_optuna(seed: int) -> tuple[float, float]:
    """Optimise a study with parameters that are independent of each other."""
    import optuna

    from skgpb.integrations.optuna import GPBanditSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="minimize", sampler=GPBanditSampler(seed=seed))

    def value(trial: Any) -> float:
        x, k = trial.suggest_float("x", 0.0, 1.0), trial.suggest_int("k", 0, 9)
        return (x - 0.3) ** 2 + 0.01 * (k - 6) ** 2 + 0.1 * np.sin(15.0 * x) + 0.1

    study.optimize(value, n_trials=30)
    values = [trial.value for trial in study.trials]
    return two_of(values, min(values), False)


def with_settings(cls: Any, **settings: Any) -> Callable[..., Any]:
    """Return a class with some of its parameters."""
    return partial(cls, **settings)


def tree_in_contexts(seed: int) -> Any:
    """The tree of Algorithm 3 of the adaptive discretization paper."""
    return ContextualGPTreeOptimizer(
        bounds=[(0.0, 1.0)], context_bounds=[(0.0, 1.0)], horizon=60, random_state=seed
    )


def search_in_contexts(seed: int) -> Any:
    """GP-UCB over a box, in contexts."""
    return GPUCBOptimizer(bounds=[(0.0, 1.0)], context_bounds=[(0.0, 1.0)], random_state=seed)


def main_parts(small: bool, tables: Path | None) -> dict[str, dict[str, Game]]:
    """The four parts that every number is measured on, as far as they can be played here."""
    n = 50 if small else 100
    chosen = [name for name in names("choosing") if problem_of(name).d <= (5 if small else 12)]
    parts: dict[str, dict[str, Game]] = {
        "suite": {name: partial(of_suite, name, "ucb", n) for name in chosen},
        "exact": {
            name: partial(of_exact, name)
            for name in list(exact_answers.FUNCTIONS)[:: 4 if small else 1]
        },
    }
    try:
        import cocoex  # noqa: F401
    except ImportError:
        pass
    else:
        each = bbob.names(odd=True, even=False)[:: 5 if small else 1]
        parts["bbob"] = {name: partial(of_suite, name, "ucb", n) for name in each}
    if tables is not None:
        parts["reactions"] = {
            f"{name} {noise:g}": partial(of_reactions, name, tables, "ucb", noise)
            for name in lists.TABLES
            for noise in ((0.02,) if small else lists.NOISES_OF_TABLES)
        }
    return {name: parts[name] for name in MAIN if name in parts}


def further_parts(small: bool) -> dict[str, dict[str, Game]]:
    """Parts that reach the other numbers."""
    n = 40 if small else 80
    simple = with_settings(GPUCBOptimizer, regret="simple")
    parts: dict[str, dict[str, Game]] = {
        "simple": {
            "forrester": partial(searched, simple, "forrester", n),
            "needle-2": partial(searched, simple, "needle-2", n),
            "branin": partial(searched, simple, "branin", n),
            "hartmann-3": partial(of_suite, "hartmann-3", "simple", n),
            "horizon": partial(
                searched, with_settings(GPUCBOptimizer, regret="simple", horizon=n), "camel", n
            ),
            "cumulative horizon": partial(
                searched, with_settings(GPUCBOptimizer, horizon=n), "sines-2", n
            ),
        },
        "rules": {
            "ei": partial(searched, EIOptimizer, "goldstein-price", n),
            "consistent": partial(
                searched,
                with_settings(EIOptimizer, optimizer="consistent", kernel=RBF(0.5), alpha=1e-4),
                "camel",
                n,
            ),
            "ts": partial(searched, GPTSOptimizer, "branin", n),
            "mes": partial(of_suite, "hartmann-3", "mes", n),
            "paper": partial(of_suite, "branin", "paper", n),
        },
        "lists": {
            f"{kind} {method}": partial(made_up, kind, make, noise)
            for kind in ("three-lists", "lists-and-numbers")
            for method, make, noise in (("ucb", GPUCBOptimizer, 0.05), ("simple", simple, 0.0))
        },
        "cells": {
            f"{method} {name}": partial(of_cells, method, name, d, 30)
            for method, name, d in (
                ("kg", "forrester", 1),
                ("kg", "branin", 2),
                ("gpoo", "forrester", 1),
            )
        },
        "sizes": {
            f"{name} {noise:g}": partial(of_sizes, name, d, noise)
            for d in (1, 2)
            for name in targets.FUNCTIONS[d]
            for noise in (0.01, 0.1)
        },
        "peaks": {
            f"{d}-d {width:g}": partial(of_peak, d, width)
            for d, width in ((1, 0.03), (1, 0.05), (2, 0.07), (2, 0.12))
        },
        "blurred": {
            f"{width:g} {noise:g}": partial(of_blurred_peak, width, width, noise)
            for width, noise in ((0.02, 0.1), (0.04, 0.02), (0.04, 0.1))
        },
        "replicates": {
            f"{waves} {noise:g}": partial(replicated, waves, height, noise)
            for waves, height in ((4, 0.3), (8, 0.3), (16, 0.3), (30, 0.6))
            for noise in (0.05, 0.2)
        },
        "trees": {
            "gpoo": partial(searched, GPOOOptimizer, "camel", n),
            "gpoo averages": partial(
                searched, with_settings(GPOOOptimizer, feedback="average"), "forrester", n
            ),
            "gp-tree": partial(searched, with_settings(GPTreeOptimizer, horizon=n), "forrester", n),
            "gp-tree theory": partial(
                searched, with_settings(GPTreeOptimizer, horizon=n, variation="theory"), "camel", n
            ),
            "zooming": partial(
                searched, with_settings(GPZoomingOptimizer, horizon=n), "forrester", n
            ),
            "pool": partial(in_a_pool, n // 2),
        },
        "indirect": {
            "cmes 0.02": partial(blurred, CMESOptimizer, 0.02, n),
            "cmes 0.1": partial(blurred, CMESOptimizer, 0.1, n),
            "gumbel": partial(blurred, with_settings(CMESOptimizer, max_values="gumbel"), 0.05, n),
            "pi": partial(blurred, IndirectPIOptimizer, 0.05, 20),
            "mes": partial(blurred, IndirectMESOptimizer, 0.05, 20),
            "learned window": partial(learned, CMETSOptimizer, 20),
            "learned pairs": partial(learned, CMESOptimizer, 20),
            "operator": partial(by_operator, 20),
        },
        "fidelities": {
            f"{cls.__name__} {pair.name}": partial(of_fidelities, cls, pair)
            for cls in (KGOptimizer, IDSOptimizer)
            for pair in PAIRS[:2]
        },
        "failures": {
            f"{kind} {engine} {name}": partial(of_failures, kind, engine, name)
            for kind in ("better side", "30 % at random")
            for engine, name in (("GP-UCB", "camel"), ("EI", "sines"))
        },
        "failing": {
            name: partial(of_failures, "better side", "GP-UCB", name) for name in failures.NAMES
        },
        "limits": {name: partial(of_limits, name) for name in ("Gardner", "Gramacy", "Townsend")},
        "outliers": {name: partial(of_outliers, name) for name in ("branin", "rough-1", "hills-4")},
        "stop": {
            f"nu={nu:g} noise={noise:g}": partial(of_stop, nu, noise)
            for nu, noise in ((0.5, 0.3), (1.5, 0.1), (2.5, 0.1))
        },
        "contexts": {
            "search": partial(in_contexts, search_in_contexts, n),
            "tree": partial(in_contexts, tree_in_contexts, n),
        },
        "constraints": {name: partial(constrained, name, n) for name in constraints.PROBLEMS},
        "campaigns": {
            cls.__name__: partial(of_campaigns, cls, 20)
            for cls in (GPUCBOptimizer, EIOptimizer, GPTSOptimizer)
        },
        "sides": {
            "steps and distributions": partial(named, n),
            "cells of settings": partial(of_runs, n),
            "arms in contexts": partial(at_arms, n),
            "not stationary": partial(not_stationary, n),
            "stop, points": partial(stop_in_a_box, GPUCBOptimizer),
            "stop, cells": partial(stop_in_a_box, GPOOOptimizer),
            "gap": gap_behind_a_blur,
            "warned": warned,
            "independent arms": partial(independent, 2 * n),
            "tasks": with_tasks,
        },
        "tuning": {f"noise {noise:g}": partial(of_tuning, noise) for noise in (0.05, 0.5)},
    }
    try:
        import optuna  # noqa: F401
    except ImportError:
        pass
    else:
        parts["optuna"] = {"study": of_optuna}
    return parts

"""The measurements: seconds per round against the number of rounds, and regret."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

import numpy as np

from benchmarks.peers.methods import Method, SkgpbAverages, SkgpbCoarseAverages
from benchmarks.peers.problems import Problem

#: Rounds timed at each t, fewer where they take more than LONG seconds together.
ROUNDS, LONG = 11, 6.0
#: Length scale of the fixed kernels, in units of the diagonal of the cube.
LENGTH_SCALE = 0.25
TIMING_NOISE = 0.1


def timing_objective(x: np.ndarray) -> float:
    """Return a function with a few hills in any dimension."""
    return float(np.mean(np.sin(5.0 * x + np.arange(len(x)))))


def seconds_per_round(
    method: type[Method], d: int, times: list[int], seed: int = 0
) -> dict[int, float]:
    """Median CPU seconds of one ask and tell after t observations, for each t."""
    out = {}
    rng = np.random.default_rng(seed)
    scale = LENGTH_SCALE * d**0.5
    optimizer, done = None, 0
    for t in sorted(times):
        if method.fillable:
            optimizer = method(d, TIMING_NOISE, seed, scale)
            X = rng.random((t, d))
            y = np.array([timing_objective(x) for x in X]) + TIMING_NOISE * rng.normal(size=t)
            optimizer.fill(X, y)
            _round(optimizer, rng)
        else:
            # Its state is more than a history: run it.
            optimizer = optimizer or method(d, TIMING_NOISE, seed, scale)
            # The rounds timed lie around t, as many before it as after it.
            for _ in range(t - ROUNDS // 2 - done):
                _round(optimizer, rng)
            done = max(done, t - ROUNDS // 2)
        seconds = []
        while len(seconds) < ROUNDS and (len(seconds) < 2 or sum(seconds) < LONG):
            seconds.append(_round(optimizer, rng))
        done += len(seconds)
        out[t] = float(np.median(seconds))
    return out


def _round(optimizer: Method, rng: np.random.Generator) -> float:
    start = process_time()
    x = optimizer.ask()
    asked = process_time() - start
    y = timing_objective(x) + TIMING_NOISE * rng.normal()
    start = process_time()
    optimizer.tell(x, y)
    return asked + process_time() - start


def point_regret(
    method: type[Method], problem: Problem, budget: int, checkpoints: list[int], seed: int
) -> Iterator[dict]:
    """Regret of a point recommended, and mean regret of the answers so far, at checkpoints.

    With aggregated feedback, it is the regret of the cell around the point.
    """
    noise = np.random.default_rng([seed, 1]).standard_normal(budget)
    optimizer = method(problem.d, problem.noise, seed)
    values, start, spent = [], process_time(), 0.0
    for t in range(1, budget + 1):
        x = np.asarray(optimizer.ask(), dtype=np.float64)
        values.append(problem.answer(x))
        optimizer.tell(x, values[-1] + problem.noise * noise[t - 1])
        if t in checkpoints:
            spent = process_time() - start
            simple = problem.optimum - problem.answer(optimizer.recommend())
            yield _row(problem, t, simple, values, spent)


def cell_regret(
    method: type[SkgpbAverages], problem: Problem, budget: int, checkpoints: list[int], seed: int
) -> Iterator[dict]:
    """Like ``point_regret``, for a method that asks for cells and recommends one."""
    noise = np.random.default_rng([seed, 1]).standard_normal(budget)
    settings = {"per_axis": problem.per_axis}
    if method is SkgpbCoarseAverages:
        settings["finest"] = int(np.log2(1.0 / problem.side) + 1e-9)
    tuned = type(method.__name__, (method,), settings)
    optimizer = tuned(problem.d, problem.noise, seed)
    values, start, spent = [], process_time(), 0.0
    for t in range(1, budget + 1):
        cell = optimizer.opt.ask()
        values.append(problem.average(cell.points))
        optimizer.opt.tell(cell, values[-1] + problem.noise * noise[t - 1])
        if t in checkpoints:
            spent = process_time() - start
            best = optimizer.recommended_cell()
            yield _row(problem, t, problem.optimum - problem.average(best.points), values, spent)


def _row(problem: Problem, t: int, simple: float, values: list[float], seconds: float) -> dict:
    mean = problem.optimum - float(np.mean(values))
    return {"t": t, "recommended": simple, "per_round": mean, "seconds": seconds / t}


def floor_of(problem: Problem, n: int = 20_000) -> float:
    """Smallest aggregated regret that a cell of the problem's size can have.

    By random search with refinement, which finds an upper bound of it.
    """
    rng = np.random.default_rng(0)
    x = max(rng.random((n // 4, problem.d)), key=problem.answer)
    best, step = problem.answer(x), 0.1
    for _ in range(3 * n // 4):
        trial = np.clip(x + step * rng.normal(size=problem.d), 0.0, 1.0)
        value = problem.answer(trial)
        if value > best:
            x, best = trial, value
        else:
            step = max(0.995 * step, 1e-3)
    return problem.optimum - best

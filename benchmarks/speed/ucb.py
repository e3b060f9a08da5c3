"""Milliseconds per ask+tell round of GP-UCB and DAGP-UCB over many arms.

    python -m benchmarks.speed.ucb [--arms 500 1000 2000] [--times 50 100 200 400]
        [--runs 1] [--seed 0]
    python -m benchmarks.speed.ucb --memory [--arms 20000] [--times 300]

One process, one thread, CPU time, median of the rounds around t. The columns:

skgpb    the optimizer: one ask and one tell; DAGP-UCB with exact-integral weights
NumPy    the posterior of all arms (DAGP-UCB: of all pairs) recomputed with NumPy from the t
         observations, then the same rule; DAGP-UCB's integral by the trapezoidal rule on 400
         nodes
ratio    NumPy / skgpb
growth   of the skgpb column against half of t, and against half as many arms

``--memory`` plays GP-UCB and GP-TS, each in a process of its own, and prints the peak of memory.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import process_time

import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, positive_int, write_csv
from benchmarks.speed.long_run import peak_memory
from skgpb import DAGPUCBOptimizer, GPTSOptimizer, GPUCBOptimizer
from skgpb.guarantee import Guarantee

ALPHA, DELTA = 0.1, 0.1
KERNELS = {"RBF(0.2)": RBF(0.2), "Matern(0.2, nu=1.5)": Matern(0.2, nu=1.5)}
# Rounds whose median is a figure.
AROUND = 5


def draw_function(kernel: Kernel, arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values of f at the arms: a draw from the prior."""
    values, vectors = np.linalg.eigh(kernel(arms))
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(arms)))


def play(cls: type, kernel: Kernel, f: np.ndarray, arms: np.ndarray, times: list, seed: int):
    """Median milliseconds around every t, and what was observed until then."""
    rng = np.random.default_rng(seed)
    optimizer = cls(kernel, arms=arms, alpha=ALPHA, guarantee=Guarantee(failure_probability=DELTA))
    pulled, rewards, seconds = [], [], []
    for _ in range(max(times)):
        start = process_time()
        arm = optimizer.ask()
        asked = process_time() - start
        reward = f[arm.index] + np.sqrt(ALPHA) * rng.standard_normal()
        start = process_time()
        optimizer.tell(arm, reward)
        seconds.append(asked + process_time() - start)
        pulled.append(arm.index)
        rewards.append(reward)
    medians = {t: 1e3 * float(np.median(seconds[max(0, t - AROUND) : t])) for t in times}
    return medians, np.array(pulled), np.array(rewards)


def numpy_round(pairs: bool, kernel: Kernel, arms: np.ndarray, pulled, rewards) -> float:
    """Milliseconds to choose an arm from scratch."""
    start = process_time()
    X = arms[pulled]
    A = kernel(X) + ALPHA * np.eye(len(X))
    k = kernel(X, arms)
    solved = np.linalg.solve(A, k)
    mean = solved.T @ rewards
    beta = 2 * np.log((len(X) + 1) ** 2 * np.pi**2 * len(arms) / (6 * DELTA))
    if pairs:
        C = kernel(arms) - k.T @ solved
        var = np.maximum(np.diag(C), 1e-300)
        std = np.sqrt(var)
        s = np.linspace((mean - 9 * std).max(), (mean + 9 * std).max(), 400)[:, None]
        z = (s - mean) / std
        cdf = np.maximum(ndtr(z), 1e-300)
        pdf = np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * std)
        weights = np.trapezoid(pdf / cdf * cdf.prod(axis=1, keepdims=True), s, axis=0)
        after = np.sqrt(np.maximum(var - C**2 / (var + ALPHA)[:, None], 0.0))
        score = mean + np.sqrt(beta) * ((std - after) @ weights)
    else:
        var = kernel.diag(arms) - np.einsum("ij,ij->j", k, solved)
        score = mean + np.sqrt(beta * np.maximum(var, 0.0))
    np.argmax(score)
    return 1e3 * (process_time() - start)


def run_in_memory(cls: type, n_arms: int, n_rounds: int, seed: int) -> tuple[float, float]:
    """CPU seconds of a run, and the peak memory of this process in MB."""
    rng = np.random.default_rng(seed)
    arms = rng.uniform(size=(n_arms, 2))
    optimizer = cls(RBF(0.1), arms=arms, alpha=ALPHA, random_state=seed)
    start = process_time()
    for _ in range(n_rounds):
        arm = optimizer.ask()
        reward = np.sin(6 * arm.points).sum() + np.sqrt(ALPHA) * rng.standard_normal()
        optimizer.tell(arm, reward)
    return process_time() - start, peak_memory()


def print_memory(options: argparse.Namespace) -> list[tuple]:
    """Print what runs over many arms need, and return it."""
    rows = []
    print(f"{'':16}{'arms':>8}{'rounds':>8}{'CPU s':>8}{'peak MB':>9}")
    for cls in (GPUCBOptimizer, GPTSOptimizer):
        for n in options.arms or [20_000]:
            rounds = max(options.times or [300])
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                job = process.submit(run_in_memory, cls, n, rounds, options.seed)
                seconds, peak = job.result()
            print(f"{cls.__name__:16}{n:8d}{rounds:8d}{seconds:8.1f}{peak:9.0f}", flush=True)
            rows.append((cls.__name__, n, rounds, seconds, peak))
    return rows


def print_times(options: argparse.Namespace) -> list[tuple]:
    """Print milliseconds per round, and return them."""
    times, seeds, rows = options.times or [50, 100, 200, 400], range(options.runs), []
    for name, kernel in KERNELS.items():
        for cls in (GPUCBOptimizer, DAGPUCBOptimizer):
            print(f"\n{cls.__name__}, {name}: ms per round")
            print(
                f"{'arms':>6}{'t':>6}{'skgpb':>9}{'NumPy':>9}{'ratio':>8}{'t / half':>10}"
                f"{'arms / half':>13}"
            )
            known: dict[tuple[int, int], float] = {}
            for n in options.arms or [500, 1000, 2000]:
                arms = np.linspace(0, 1, n)[:, None]
                f = draw_function(kernel, arms, np.random.default_rng(options.seed))
                plays = [play(cls, kernel, f, arms, times, options.seed + r) for r in seeds]
                _, pulled, y = plays[0]
                for t in times:
                    pairs = cls is DAGPUCBOptimizer
                    naive = float(
                        np.median(
                            [numpy_round(pairs, kernel, arms, pulled[:t], y[:t]) for _ in range(3)]
                        )
                    )
                    ours = known[n, t] = float(np.mean([each[0][t] for each in plays]))
                    growth = [
                        f"{ours / known[key]:.2f}" if key in known else "-"
                        for key in ((n, t // 2), (n // 2, t))
                    ]
                    print(
                        f"{n:>6}{t:>6}{ours:>9.2f}{naive:>9.1f}{naive / ours:>8.1f}"
                        f"{growth[0]:>10}{growth[1]:>13}",
                        flush=True,
                    )
                    rows.append((cls.__name__, name, n, t, ours, naive))
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.ucb", __doc__, 1)
    parser.add_argument(
        "--arms", type=positive_int, nargs="+", help="default 500 1000 2000, 20000 with --memory"
    )
    parser.add_argument(
        "--times", type=positive_int, nargs="+", help="default 50 100 200 400, 300 with --memory"
    )
    parser.add_argument("--memory", action="store_true", help="peak memory of GP-UCB and GP-TS")
    options = parser.parse_args(arguments)
    path = options.output / "speed_ucb.csv"
    if options.memory:
        path = path.with_stem("speed_ucb_memory")
        rows, header = print_memory(options), ("class", "arms", "rounds", "seconds", "MB")
    else:
        with threadpool_limits(1):
            rows = print_times(options)
        header = ("class", "kernel", "arms", "t", "skgpb_ms", "numpy_ms")
    write_csv(path, header, rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""Two optimizers in two threads of one process, and optimizers under joblib.

    python -m benchmarks.speed.threads [--rounds 1500] [--repeats 5]

1. The wall time of two runs of GPOO one after the other, over that of the same two runs side by
   side in two threads, whose inner loops release the interpreter's lock, and in two processes,
   which share no lock: the most that the machine gives at the time. The best of all repeats
   counts, because other jobs can only slow a run down.
2. How many BLAS threads a worker sees under joblib's backends: processes get their share of the
   cores and threads none of their own, so that nothing is oversubscribed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_info, threadpool_limits

from skgpb import GPOOOptimizer

REGIMES = {"every query is new": (50.0, 0.9), "queries repeat": (4.0, 0.9)}


def play(diameter: tuple, rounds: int, seed: int) -> int:
    """One run in 2-D with S = 5 x 5; the number of distinct queries."""
    rng = np.random.default_rng(seed)
    optimizer = GPOOOptimizer(
        RBF(0.1),
        bounds=[(0, 1), (0, 1)],
        alpha=0.01,
        n_representatives=5,
        diameter=diameter,
        max_depth=20,
    )
    noise = 0.1 * rng.normal(size=rounds)
    for t in range(rounds):
        cell = optimizer.ask()
        x, y = cell.center
        optimizer.tell(cell, float(np.sin(9 * x) * np.cos(7 * y)) + noise[t])
    return int((optimizer.tree_.n_evaluations > 0).sum())


def one_by_one(function: Callable, *arguments: Iterable) -> list:
    return [function(*each) for each in zip(*arguments, strict=True)]


def side_by_side(diameter: tuple, rounds: int, repeats: int) -> tuple[list[float], int]:
    """Best wall time of two runs one by one, in two threads and in two processes."""
    best, distinct = [np.inf] * 3, 0
    arguments = ([diameter] * 2, [rounds] * 2, (0, 1))
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        list(processes.map(play, *arguments))  # start them
        for _ in range(repeats):
            for i, ways in enumerate((one_by_one, threads.map, processes.map)):
                start = perf_counter()
                distinct = next(iter(list(ways(play, *arguments))))
                best[i] = min(best[i], perf_counter() - start)
    return best, distinct


def blas_threads() -> list[int]:
    """Threads of every BLAS library that is loaded where this is called."""
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print("two optimizers, d = 2, S = 5 x 5, one BLAS thread each")
    print("                       rounds  distinct  one by one       threads      processes")
    with threadpool_limits(1):
        for regime, diameter in REGIMES.items():
            for rounds in (options.rounds // 10, options.rounds):
                (a, b, c), n = side_by_side(diameter, rounds, options.repeats)
                print(
                    f"{regime:22s} {rounds:6d}  {n:8d}  {a:8.3f} s  {b:.3f} s {a / b:4.2f}  "
                    f"{c:.3f} s {a / c:4.2f}",
                    flush=True,
                )
    print(f"\nBLAS threads in this process: {blas_threads()}")
    for backend in ("loky", "threading"):
        with parallel_config(backend), Parallel(n_jobs=2) as pool:
            seen = pool(delayed(blas_threads)() for _ in range(2))
            print(f"in two {backend} workers: {seen}")
    with parallel_config("loky", inner_max_num_threads=2), Parallel(n_jobs=1) as pool:
        print(f"inner_max_num_threads=2, one worker: {pool([delayed(blas_threads)()])}")


if __name__ == "__main__":
    main()

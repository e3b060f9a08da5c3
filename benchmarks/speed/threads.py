"""Two optimizers in two threads of one process, and optimizers under joblib.

    python -m benchmarks.speed.threads [--rounds 1500] [--repeats 5]

1. The wall time of two runs of GPOO one after the other, over that of the same two runs side by
   side in two threads: the inner loops release the interpreter's lock. The best of all repeats
   counts, because other processes can only slow a run down.
2. How many BLAS threads a worker sees under joblib's backends: processes get their share of the
   cores and threads none of their own, so that nothing is oversubscribed.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
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


def side_by_side(diameter: tuple, rounds: int, repeats: int) -> tuple[float, float, int]:
    alone, together = [], []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(repeats):
            start = perf_counter()
            distinct = [play(diameter, rounds, seed) for seed in (0, 1)]
            alone.append(perf_counter() - start)
            start = perf_counter()
            again = list(pool.map(play, [diameter] * 2, [rounds] * 2, (0, 1)))
            together.append(perf_counter() - start)
            assert again == distinct
    return min(alone), min(together), distinct[0]


def blas_threads() -> list[int]:
    """Threads of every BLAS library that is loaded where this is called."""
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print("two optimizers, d = 2, S = 5 x 5, one BLAS thread each")
    print("                       rounds  distinct  one by one  in two threads  speed-up")
    with threadpool_limits(1):
        for regime, diameter in REGIMES.items():
            for rounds in (options.rounds // 10, options.rounds):
                a, b, n = side_by_side(diameter, rounds, options.repeats)
                print(f"{regime:22s} {rounds:6d}  {n:8d}  {a:8.3f} s  {b:12.3f} s  {a / b:8.2f}")
    print(f"\nBLAS threads in this process: {blas_threads()}")
    for backend in ("loky", "threading"):
        with parallel_config(backend), Parallel(n_jobs=2) as pool:
            seen = pool(delayed(blas_threads)() for _ in range(2))
            print(f"in two {backend} workers: {seen}")
    with parallel_config("loky", inner_max_num_threads=2), Parallel(n_jobs=1) as pool:
        print(f"inner_max_num_threads=2, one worker: {pool([delayed(blas_threads)()])}")


if __name__ == "__main__":
    main()

"""Two optimizers in two threads of one process, and optimizers under joblib.

    python -m benchmarks.speed.threads [--runs 15] [--seed 0] [--times 100 300 1000 2000]

1. The wall time of the rounds of two GPOO after t of them, one optimizer after the other, over that
   of the same rounds side by side in two threads, whose inner loops release the interpreter's lock.
   The best of all runs counts, because other jobs can only slow a run down: two cores have
   to be idle.
2. The wall time of eight optimizers of several kinds, one after the other, over that of the same
   eight in eight threads, for each run, and over that in eight processes, which share nothing:
   what these do not gain the machine does not have, be it that its cores slow each other down or
   that they have other work. It says whether the interpreter has a lock; with one, rounds share a
   core but for their inner loops.
3. How many BLAS threads a worker sees under joblib's backends: processes get their share of the
   cores and threads none of their own, so that nothing is oversubscribed.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks._common import argument_parser, positive_int, write_csv
from skgpb import (
    CMESOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
)

TIMES = (100, 300, 1000, 2000)
ROUNDS = 100
# Rounds of each of the eight, which take about as long.
ROUNDS_OF_EIGHT = (300, 1000, 1000, 30) * 2


def play(optimizer: GPOOOptimizer, rounds: int, seed: int) -> None:
    noise = 0.1 * np.random.default_rng(seed).normal(size=rounds)
    for t in range(rounds):
        cell = optimizer.ask()
        x, y = cell.center
        optimizer.tell(cell, float(np.sin(9 * x) * np.cos(7 * y)) + noise[t])


def after(rounds: int, seed: int) -> GPOOOptimizer:
    """GPOO in 2-D with S = 5 x 5, after rounds whose queries were all new."""
    optimizer = GPOOOptimizer(
        RBF(0.1),
        bounds=[(0, 1), (0, 1)],
        alpha=0.01,
        n_representatives=5,
        variation=(50.0, 0.9),
        max_depth=20,
        expansion="before",
    )
    play(optimizer, rounds, seed)
    return optimizer


def side_by_side(t: int, repeats: int, seed: int) -> tuple[float, float]:
    """Best wall time of ``ROUNDS`` rounds of two optimizers, one by one and in two threads."""
    alone = together = np.inf
    with ThreadPoolExecutor(2) as threads:
        for _ in range(repeats):
            optimizers = [after(t, seed + i) for i in (0, 1)]
            start = perf_counter()
            for optimizer in optimizers:
                play(optimizer, ROUNDS, seed + 2)
            alone = min(alone, perf_counter() - start)
            optimizers = [after(t, seed + i) for i in (0, 1)]
            start = perf_counter()
            list(threads.map(play, optimizers, [ROUNDS] * 2, [seed + 2] * 2))
            together = min(together, perf_counter() - start)
    return alone, together


def eight() -> list:
    """Eight optimizers in two dimensions, of four kinds."""
    kernel, bounds = RBF(0.1), [(0, 1), (0, 1)]
    makers = [GPOOOptimizer, GPUCBOptimizer, EIOptimizer, CMESOptimizer]
    settings = {"kernel": kernel, "bounds": bounds, "alpha": 0.01}
    return [make(**settings, random_state=i) for i in (0, 1) for make in makers]


def ask_and_tell(optimizer: Any, rounds: int) -> None:
    for t in range(rounds):
        query = optimizer.ask()
        x, y = query.points.mean(axis=0)
        optimizer.tell(query, float(np.sin(9 * x) * np.cos(7 * y)) + 1e-3 * (t % 7))


def played(i: int, share: float) -> None:
    """Play optimizer i of the eight for a share of its rounds."""
    ask_and_tell(eight()[i], round(share * ROUNDS_OF_EIGHT[i]))


def in_eight(processes: Parallel, share: float) -> tuple[float, float, float]:
    """Wall times of eight optimizers: one by one, in eight threads and in eight processes."""
    seconds = []
    for n_threads in (1, 8):
        with ThreadPoolExecutor(n_threads) as threads:
            start = perf_counter()
            list(threads.map(played, range(8), [share] * 8))
            seconds.append(perf_counter() - start)
    start = perf_counter()
    processes(delayed(played)(i, share) for i in range(8))
    return seconds[0], seconds[1], perf_counter() - start


def blas_threads() -> list[int]:
    """Threads of every BLAS library that is loaded where this is called."""
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.threads", __doc__, 15)
    parser.add_argument(
        "--times", type=positive_int, nargs="+", default=TIMES, help="default 100 300 1000 2000"
    )
    parser.add_argument("--eight", type=int, default=5, help="runs of eight optimizers, default 5")
    parser.add_argument("--share", type=float, default=1.0, help="of their rounds, default 1")
    options, rows = parser.parse_args(arguments), []
    print(f"{ROUNDS} rounds of two optimizers, d = 2, S = 5 x 5, one BLAS thread each")
    print("     t   one by one   in two threads   speed-up")
    with threadpool_limits(1):
        for t in options.times:
            alone, together = side_by_side(t, options.runs, options.seed)
            rows.append((t, alone, together))
            print(
                f"{t:6d}  {alone:9.4f} s  {together:13.4f} s  {alone / together:9.2f}", flush=True
            )
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"\nEight optimizers, {'with' if locked else 'without'} a lock of the interpreter")
    print("   run   one by one   in threads   speed-up   in processes   speed-up   of threads")
    with threadpool_limits(1), Parallel(n_jobs=8) as processes:
        processes(delayed(eight)() for _ in range(8))  # starts the processes and their imports
        for run in range(options.eight):
            alone, together, apart = in_eight(processes, options.share)
            print(
                f"{run:6d}  {alone:9.2f} s  {together:9.2f} s  {alone / together:9.2f}"
                f"  {apart:11.2f} s  {alone / apart:9.2f}  {apart / together:11.2f}",
                flush=True,
            )
    print(f"\nBLAS threads in this process: {blas_threads()}")
    for backend in ("loky", "threading"):
        with parallel_config(backend), Parallel(n_jobs=2) as pool:
            seen = pool(delayed(blas_threads)() for _ in range(2))
            print(f"in two {backend} workers: {seen}")
    with parallel_config("loky", inner_max_num_threads=2), Parallel(n_jobs=1) as pool:
        print(f"inner_max_num_threads=2, one worker: {pool([delayed(blas_threads)()])}")
    path = options.output / "speed_threads.csv"
    write_csv(path, ("t", "one_by_one_seconds", "in_two_threads_seconds"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""One BLAS thread compared with one per core, on an idle and on a busy machine.

    python -m benchmarks.speed.blas_threads [--runs 3] [--seed 0] [--busy 4] [--sizes 10 30 60 100]

Learning consists of values and gradients of a likelihood. They are computed for n answers in four
dimensions, in turn with one BLAS thread and with one for each core. Printed for every n are
ratios within one run, medians over the runs: the wall time and the processor time with many threads
over those with one, first alone, then while --busy processes multiply matrices.
Start it on an idle machine, without OPENBLAS_NUM_THREADS, MKL_NUM_THREADS and OMP_NUM_THREADS.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import cpu_count
from time import perf_counter, process_time

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern
from threadpoolctl import ThreadpoolController

from benchmarks._common import argument_parser, format_table, positive_int, write_csv
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.likelihood import log_likelihood

# Seconds for which each number of threads is looked at, and warmed up.
SECONDS = 0.3
HEADER = ("idle, wall", "idle, processor", "busy, wall", "busy, processor")


def spin() -> None:
    """Multiply matrices on one thread, as long as the process that measures is there."""
    parent = multiprocessing.parent_process()
    with ThreadpoolController().limit(limits=1):
        A = np.ones((200, 200))
        while parent is not None and parent.is_alive():
            A @ A


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Let n other processes be busy."""
    processes = [multiprocessing.get_context("spawn").Process(target=spin) for _ in range(n)]
    for each in processes:
        each.start()
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.join()


def seconds_each(n: int, seed: int) -> tuple[float, float]:
    """Wall and processor time of a value and its gradient."""
    rng = np.random.default_rng([seed, n])
    functionals, Y = Functionals.of_rows(rng.random((n, 4))), rng.normal(size=(n, 1))
    kernel, noise = ConstantKernel(1.0) * Matern([0.5] * 4, nu=2.5), np.full(n, 0.1)
    log_likelihood(kernel, functionals, noise, Y, True)
    wall, cpu, times = perf_counter(), process_time(), 0
    while perf_counter() - wall < SECONDS:
        log_likelihood(kernel, functionals, noise, Y, True)
        times += 1
    return (perf_counter() - wall) / times, (process_time() - cpu) / times


def ratios(n: int, seed: int) -> np.ndarray:
    """Wall and processor time with a thread for each core over those with one."""
    found = []
    for threads in (cpu_count() or 1, 1):
        with ThreadpoolController().limit(limits=threads, user_api="blas"):
            found.append(seconds_each(n, seed))
    return np.divide(*found)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argument_parser("speed.blas_threads", __doc__, 3, busy=4)
    sizes = (10, 30, 60, 100, 200, 300, 500, 1000, 2000)
    parser.add_argument(
        "--sizes", nargs="+", type=positive_int, default=sizes, help="default 10 to 2000"
    )
    options = parser.parse_args(arguments)
    tables = []
    for others in (0, options.busy):
        with ExitStack() as stack:
            if others:
                stack.enter_context(busy(others))
            seeds = range(options.seed, options.seed + options.runs)
            found = [[ratios(n, seed) for seed in seeds] for n in options.sizes]
            tables.append(np.median(found, axis=1))
    rows = [np.concatenate(pair) for pair in zip(*tables, strict=True)]
    title = f"many BLAS threads over one, without and with {options.busy} busy processes"
    numbers = zip(options.sizes, rows, strict=True)
    print(format_table(title, HEADER, [(str(n), [f"{x:.2f}" for x in row]) for n, row in numbers]))
    path = options.output / "blas_threads.csv"
    table = [[n, *row] for n, row in zip(options.sizes, rows, strict=True)]
    write_csv(path, ("answers", *HEADER), table)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""Speed of the hot paths, compared with the limits of memory and BLAS of this machine.

    python -m benchmarks.speed.limit [--runs 15] [--seed 0]

First the rates: the fastest matrix product, and how fast a matrix-vector product and a triangular
solve read matrices of several sizes. Then each step of a round for n distinct observations and as
many tracked cells: its floating-point operations, the bytes that it has to move at least, its time,
the bandwidth that results, and the share of the best bandwidth measured for a matrix of that size.
One thread; the best of all runs counts.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.linalg.blas import dgemm, dgemv, dtrsm, dtrsv
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, write_csv
from skgpb._core._cells import GaussianCells
from skgpb._core._posterior import Posterior

SIZES = (100, 200, 500, 1000, 2000)
NOISE = 0.01


def best(function: Callable[[], object], repeats: int, prepare: Callable | None = None) -> float:
    """Seconds of the fastest call; short ones are repeated to be above the clock's resolution."""
    out = np.inf
    for _ in range(repeats):
        if prepare is not None:
            prepare()
            start = perf_counter()
            function()
            out = min(out, perf_counter() - start)
            continue
        number, seconds = 1, 0.0
        while seconds < 2e-4:
            start = perf_counter()
            for _ in range(number):
                function()
            seconds = perf_counter() - start
            number *= 4
        out = min(out, seconds / (number // 4))
    return out


def rates(repeats: int, seed: int) -> dict[int, float]:
    """Print the rates of this machine; the best bandwidth for an n x n matrix, in bytes/s."""
    rng = np.random.default_rng([seed, 0])
    n = 1000
    A = np.asfortranarray(rng.random((n, n)))
    seconds = best(lambda: dgemm(1.0, A, A), repeats)
    print(f"matrix product, n = {n}: {2e-9 * n**3 / seconds:.1f} Gflop/s\n")
    print("     n      MB   matrix-vector  triangular solve (2 rows)  triangular solve (1 row)")
    found = {}
    for n in SIZES:
        A = np.asfortranarray(np.tril(rng.random((n, n))) / n + np.eye(n))
        x, B = rng.random(n), np.asfortranarray(rng.random((n, 2)))
        product = best(lambda A=A, x=x: dgemv(1.0, A, x), repeats)
        two = best(lambda A=A, B=B: dtrsm(1.0, A, B, lower=1), repeats)
        one = best(lambda A=A, x=x: dtrsv(A, x, lower=1), repeats)
        found[n] = 8 * n**2 / product
        print(
            f"{n:6d}  {8e-6 * n**2:6.2f}  {1e-9 * found[n]:8.1f} GB/s  "
            f"{4e-9 * n**2 / two:19.1f} GB/s  {4e-9 * n**2 / one:18.1f} GB/s"
        )
    return found


def posterior(n: int, seed: int) -> tuple[Posterior, np.ndarray]:
    """Posterior of n observed and as many tracked points in the plane, and their covariances."""
    rng = np.random.default_rng([seed, 1])
    X, T = rng.random((n, 2)), rng.random((n, 2))
    kernel, p = RBF(0.2), Posterior()
    noise, y = np.full(n, NOISE), rng.normal(size=n)
    p.room_for(n)[:] = kernel(X)
    assert p.append_block(np.ones(n), noise, y, np.zeros((0, n)))
    p.track(kernel(T, X), np.ones(n), np.arange(n))
    return p, kernel(np.vstack([T, X]), T[:2])


def steps(n: int, repeats: int, seed: int, bandwidth: float) -> list[tuple]:
    """Print the steps of a round; return their names and seconds."""
    p, K = posterior(n, seed)
    column, slots = K[:n, 0].copy(), np.array([0, n])
    copies: list[Posterior] = []

    def fresh() -> None:
        copies[:] = [p.copy()]
        copies[0].append_tracked(0, column, NOISE, 0.5)  # so that the arrays have room

    n1 = n + 1
    last, middle = n, n // 2
    own = K[:n, 1].copy()
    rng = np.random.default_rng([seed, 2])
    children = 0.1 * rng.random((2, n1))
    todo = (
        ("observe a tracked cell", 2 * n * n1, 8 * n * n1,
         lambda: copies[0].append_tracked(1, own, NOISE, 0.3)),
        ("track two children", 2 * n1 * n1, 4 * n1 * n1,
         lambda: copies[0].track(children.copy(), np.ones(2), slots)),
        ("repeat the last query", 4 * n, 8 * 8 * n,
         lambda: copies[0].repeat(last, NOISE, 0.1)),
        ("repeat a query halfway", 8 * n * (n1 - middle), 16 * n * (n1 - middle) * 1.25,
         lambda: copies[0].repeat(middle, NOISE, 0.1)),
    )  # fmt: skip
    found = []
    for name, flops, moved, call in todo:
        seconds = best(call, repeats, fresh)
        rate = moved / seconds
        print(
            f"{n:6d}  {name:24s} {1e-3 * flops:10.0f}  {1e-3 * moved:10.0f}  {1e6 * seconds:9.1f}  "
            f"{1e-9 * rate:6.1f}  {rate / bandwidth:6.0%}"
        )
        found.append((n, name, flops, moved, seconds))
    return found


def pairs(repeats: int, seed: int) -> None:
    """Nanoseconds of one covariance between two cells."""
    rng = np.random.default_rng([seed, 3])
    values = rng.random(10_000)
    scratch = np.empty_like(values)
    seconds = best(lambda: np.exp(-values, out=scratch), repeats) / len(values)
    print(f"\none exp in a vector of 10,000: {1e9 * seconds:.1f} ns")
    print("covariance of two cells      d   S        ns")
    for d, counts in ((1, 10), (2, 1), (2, 5), (2, 20), (4, 5), (2, None)):
        lower = rng.random((200, d))
        boxes = np.hstack([lower, lower + 0.5 ** rng.integers(1, 6, size=(200, 1))])
        per_axis = None if counts is None else np.full(d, counts)
        cells = GaussianCells([1.0], np.full((1, d), 25.0), per_axis)
        seconds = best(lambda cells=cells, boxes=boxes: cells.cross(boxes, boxes), repeats) / 200**2
        name = "integral" if counts is None else f"{counts}^{d}"
        print(f"{'':26s} {d:3d}  {name:8s} {1e9 * seconds:6.0f}")


def main(arguments: list[str] | None = None) -> None:
    options = argument_parser("speed.limit", __doc__, 15).parse_args(arguments)
    rows = []
    with threadpool_limits(1):
        bandwidth = rates(options.runs, options.seed)
        print("\n     n  step                        kflop   kB moved         us    GB/s  of best")
        for n in SIZES:
            rows += steps(n, options.runs, options.seed, bandwidth[n])
        pairs(options.runs, options.seed)
    path = options.output / "speed_limit.csv"
    write_csv(path, ("n", "step", "flop", "bytes", "seconds"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

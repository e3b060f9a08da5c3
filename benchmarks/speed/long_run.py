"""Long runs of GPOO with repeated queries: seconds, distinct queries and memory.

    python -m benchmarks.speed.long_run [--rounds 10000] [--representatives 5] [--variation kernel]
        [--noise 0.5] [--length-scale 0.2] [--runs 1] [--seed 0]

One process, one thread, CPU time of all asks and tells; the peak memory is that of the whole
process, interpreter and libraries included, whose share is printed first. The table shows what
rounds cost while N grows: cost and memory follow u, the number of distinct queries, not N.
``--variation kernel`` keeps finding new cells, ``--variation 4,0.7`` mostly repeats them.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, write_csv
from skgpb import GPOOOptimizer


def peak_memory() -> float:
    """Peak resident memory of this process in MB, NaN where the platform does not tell."""
    try:
        import resource
    except ImportError:
        return np.nan
    import sys

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


def objective(points: np.ndarray) -> float:
    x, y = points.T
    return float(np.mean(np.sin(9 * x) * np.cos(7 * y) + 0.3 * np.sin(31 * x * y)))


def play(options: argparse.Namespace, seed: int) -> list[tuple]:
    """Print one run; return its marks."""
    rng = np.random.default_rng(seed)
    optimizer = GPOOOptimizer(
        RBF(options.length_scale),
        bounds=[(0, 1), (0, 1)],
        alpha=options.noise**2,
        n_representatives=options.representatives,
        variation=options.variation,
        max_depth=20,
        expansion="before",
    )
    marks = {options.rounds * k // 10 for k in (1, 2, 5, 10)}
    print(f"seed {seed}, before the first round: {peak_memory():.0f} MB\n")
    print("        N  distinct  leaves  seconds   us per round since the last line    MB")
    total = spent = 0.0
    last, rows = 0, []
    for t in range(1, options.rounds + 1):
        start = process_time()
        cell = optimizer.ask()
        total += process_time() - start
        reward = objective(cell.points) + options.noise * rng.normal()
        start = process_time()
        optimizer.tell(cell, reward)
        total += process_time() - start
        if t in marks:
            tree = optimizer.tree_
            leaves = int((tree.children[:, 0] < 0).sum())
            distinct = int((tree.n_evaluations > 0).sum())
            each = 1e6 * (total - spent) / (t - last)
            print(
                f"{t:9d}  {distinct:8d}  {leaves:6d}  {total:7.2f}  {each:34.1f}  "
                f"{peak_memory():4.0f}",
                flush=True,
            )
            rows.append((seed, t, distinct, leaves, total, peak_memory()))
            spent, last = total, t
    return rows


def variation(text: str) -> object:
    if text == "kernel":
        return text
    c, rho = (float(x) for x in text.split(","))
    return c, rho


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.long_run", __doc__, 1, rounds=10_000, representatives=5)
    parser.add_argument("--variation", type=variation, default="kernel", help="'kernel' or c,rho")
    parser.add_argument("--noise", type=float, default=0.5, help="standard deviation (default 0.5)")
    parser.add_argument("--length-scale", type=float, default=0.2, help="default 0.2")
    options, rows = parser.parse_args(arguments), []
    with threadpool_limits(1):
        for run in range(options.runs):
            rows += play(options, options.seed + run)
            print()
    path = options.output / "speed_long_run.csv"
    write_csv(path, ("seed", "N", "distinct", "leaves", "seconds", "MB"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""Microseconds of a GPOO round in one dimension with S = 10, and the share of arithmetic in them.

    python -m benchmarks.speed.small_rounds [--runs 40] [--seed 0]

Wall time of one ask and tell, validation included, averaged over the rounds around t; of each
round the lower quartile over the runs counts. What it costs with next to nothing to compute, at
t = 5, is taken for the overhead of the interpreter, and everything above it for arithmetic.
"paper": the settings of the published experiments, where queries repeat. "new": a delta(h) so wide
that every query is new and splits its cell, the most a round can cost.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, write_csv
from skgpb import GPOOOptimizer

REGIMES = {"paper": ((14.0, 0.5), 10), "new": ((50.0, 0.99), 20)}
TIMES = (5, 50, 100, 200, 500, 1000)


def seconds(variation: tuple, max_depth: int, runs: int, seed: int) -> np.ndarray:
    """Lower quartile of the wall time of every round."""
    rounds = int(1.1 * TIMES[-1]) + 1
    taken = np.empty((runs, rounds))
    for run in range(runs):
        noise = 0.1 * np.random.default_rng(seed).normal(size=rounds)
        optimizer = GPOOOptimizer(
            0.1 * RBF(0.05),
            bounds=[(0, 1)],
            alpha=0.01,
            n_representatives=10,
            variation=variation,
            max_depth=max_depth,
            expansion="before",
        )
        for t in range(rounds):
            start = perf_counter()
            cell = optimizer.ask()
            asked = perf_counter() - start
            reward = 0.5 + 0.4 * np.sin(13 * cell.points).mean() + noise[t]
            start = perf_counter()
            optimizer.tell(cell, reward)
            taken[run, t] = asked + perf_counter() - start
    return np.quantile(taken, 0.25, axis=0)


def main(arguments: list[str] | None = None) -> None:
    options = argument_parser("speed.small_rounds", __doc__, 40).parse_args(arguments)
    rows = []
    with threadpool_limits(1):
        print("         t   us per round   arithmetic")
        for name, (variation, max_depth) in REGIMES.items():
            each = seconds(variation, max_depth, options.runs, options.seed)
            overhead = None
            for t in TIMES:
                mean = each[max(2, int(0.9 * t)) - 1 : int(1.1 * t) + 1].mean()
                overhead = mean if overhead is None else min(overhead, mean)
                print(f"{name:6s} {t:5d}  {1e6 * mean:12.1f}  {1 - overhead / mean:10.0%}")
                rows.append((name, t, 1e6 * mean, 1 - overhead / mean))
    path = options.output / "speed_small_rounds.csv"
    write_csv(path, ("regime", "t", "microseconds", "arithmetic"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""Milliseconds of a GPOO round for cells that average very many points.

    python -m benchmarks.speed.representatives [--rounds 100] [--runs 1] [--seed 0]

CPU time of one ask and tell, the mean over a run in which every query is new and over its last ten
rounds, which leave out what is set up once. Boxes: averages over s^d representatives, which
factorise over the axes for RBF kernels and go by features (``LowRank``) for others, and integrals.
Pools: cells that average all of their 20,000 members.

A second table has the CPU time of a run with defaults, d = 2 and S = 10 x 10, under kernels that do
not factorise over that under RBF(0.3): the median of ratios of runs that take turns.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, write_csv
from skgpb import GPOOOptimizer
from skgpb.kernels import LowRank

# Settings with which every query is new, and those of a user who says nothing.
NEW = {"variation": (50.0, 0.9), "expansion": "before"}
DEFAULTS = {"bounds": [(0, 1)] * 2}


def play(rounds: int, seed: int, settings: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds of a round, over all of them and over the last ten."""
    rng = np.random.default_rng(seed)
    start = process_time()
    optimizer = GPOOOptimizer(alpha=0.01, **settings)
    seconds, total = [], 0.0
    for _ in range(rounds):
        cell = optimizer.ask()
        total += process_time() - start
        reward = float(np.sin(5 * cell.points).mean()) + 0.1 * rng.normal()
        start = process_time()
        optimizer.tell(cell, reward)
        total += process_time() - start
        seconds.append(total)
        total, start = 0.0, process_time()
    return 1e3 * float(np.mean(seconds)), 1e3 * float(np.mean(seconds[-10:]))


def over_rbf(rounds: int, runs: int, seed: int) -> dict[str, float]:
    """Return CPU times of runs with defaults over those under RBF(0.3), medians, by kernel."""
    kernels = {
        "RBF": RBF(0.3),
        "Matern, nu = 1/2": Matern(0.3, nu=0.5),
        "Matern, nu = 3/2": Matern(0.3, nu=1.5),
        "Matern, nu = 5/2": Matern(0.3, nu=2.5),
        "RationalQuadratic": RationalQuadratic(0.3),
    }
    play(rounds, seed, DEFAULTS | {"kernel": RBF(0.3)})  # warm up
    seconds = [
        [play(rounds, seed + run, DEFAULTS | {"kernel": kernel})[0] for kernel in kernels.values()]
        for run in range(runs)
    ]
    ratios = np.median([np.divide(each, each[0]) for each in seconds], axis=0)
    return dict(zip(kernels, ratios.tolist(), strict=True))


def main(arguments: list[str] | None = None) -> None:
    options = argument_parser("speed.representatives", __doc__, 1, rounds=100).parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    pool, square, cube = rng.random((20_000, 2)), rng.random((4000, 2)), rng.random((8000, 4))
    two = {"bounds": [(0, 1)] * 2, "max_depth": 20, **NEW}
    four = {"bounds": [(0, 1)] * 4, "max_depth": 20, **NEW}
    smooth, rough = RBF(0.2), Matern(0.4, nu=2.5)
    wide = Matern(1.0, nu=2.5)
    cases = (
        ("d = 2, S = 1, RBF", {"kernel": smooth, "feedback": "center", **two}),
        ("d = 2, S = 20 x 20, RBF", {"kernel": smooth, "n_representatives": 20, **two}),
        ("d = 2, integral, RBF", {"kernel": smooth, "feedback": "integral", **two}),
        ("d = 4, S = 5^4, RBF", {"kernel": RBF(0.4), "n_representatives": 5, **four}),
        ("d = 4, integral, RBF", {"kernel": RBF(0.4), "feedback": "integral", **four}),
        ("d = 2, S = 20 x 20, Matern by features",
         {"kernel": LowRank(rough, square), "n_representatives": 20, **two}),
        ("d = 4, S = 5^4, Matern by features, tolerance 0.03",
         {"kernel": LowRank(wide, cube, tolerance=0.03), "n_representatives": 5, **four}),
        ("pool of 20,000, 32 of a cell's members, Matern", {"kernel": rough, "pool": pool, **NEW}),
        ("pool of 20,000, all members, RBF by features",
         {"kernel": smooth, "pool": pool, "feedback": "integral", **NEW}),
        ("pool of 20,000, all members, Matern by features",
         {"kernel": rough, "pool": pool, "feedback": "integral", **NEW}),
    )  # fmt: skip
    rows = []
    with threadpool_limits(1):
        print(f"{'ms per round':58s} {'mean':>10s} {'last ten':>10s}")
        for name, settings in cases:
            runs = [play(options.rounds, options.seed + r, settings) for r in range(options.runs)]
            mean, last = np.mean(runs, axis=0)
            print(f"{name:58s} {mean:10.3f} {last:10.3f}", flush=True)
            rows.append((name, mean, last))
        print("\nCPU time of a run over that under RBF, d = 2, S = 10 x 10")
        for name, ratio in over_rbf(options.rounds, options.runs, options.seed).items():
            print(f"{name:58s} {ratio:10.2f}")
    path = options.output / "speed_representatives.csv"
    write_csv(path, ("case", "mean_ms", "last_ten_ms"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

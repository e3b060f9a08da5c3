"""Milliseconds of a round of the knowledge gradient with 500 queries and 500 targets.

    python -m benchmarks.speed.targets [--times 100 1000] [--queries 500] [--runs 1] [--seed 0]

One process, one thread, CPU time of one ask and one tell, the median of 20 rounds from the time on,
of an optimizer that was told that many answers before. Kernel and noise are given.

points    finitely many points in the unit square are asked, and others are targets
boxes     the same with boxes of four sizes
cells     cells of four sizes and targets of one, wherever they lie: some move in every round
pending   the same while the answer to another query is waited for
"""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, format_table, positive_int, write_csv
from skgpb import KGOptimizer
from skgpb.domains import Cells
from skgpb.kernels._boxes import boxes_from_points

NOISE, SIZES, N_ROUNDS = 0.1, (0.05, 0.1, 0.2, 0.4), 20
KINDS = ("points", "boxes", "cells", "pending")


def value(points: np.ndarray) -> float:
    """Average of a hill with a ripple."""
    hill = np.exp(-8.0 * ((points - 0.4) ** 2).sum(axis=1))
    return float((hill + 0.3 * np.sin(9.0 * points[:, 0])).mean())


def settings(kind: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Parameters of the optimizer."""
    points, others = rng.random((n, 2)), rng.random((n, 2))
    box = {"bounds": [(0.0, 1.0)] * 2}
    if kind == "points":
        return {"kernel": Matern(0.3, nu=2.5), "queries": points, "targets": others, **box}
    if kind == "boxes":
        lower, side = 0.6 * points, rng.choice(SIZES, size=(n, 1))
        return {
            "kernel": RBF(0.3),
            "queries": np.hstack([lower, lower + side]),
            "targets": boxes_from_points(others),
            **box,
        }
    return {
        "kernel": RBF([0.3, 0.3]),
        "queries": Cells(list(SIZES)),
        "targets": Cells(SIZES[1]),
        **box,
        "n_candidates": n,
    }


def milliseconds(kind: str, t: int, n: int, seed: int) -> float:
    """Median of the rounds from the t-th on."""
    rng = np.random.default_rng(seed)
    optimizer = KGOptimizer(
        **settings(kind, n, rng), n_initial=0, alpha=NOISE**2, random_state=seed
    )
    optimizer.tell(optimizer.ask(), 0.0)
    for x in rng.random((t - 1, 2)):
        optimizer.tell(x, value(x[np.newaxis]) + NOISE * rng.standard_normal())
    if kind == "pending":
        optimizer.ask(1)
    taken = []
    for _ in range(N_ROUNDS):
        start = process_time()
        (query,) = optimizer.ask(1)
        asked = process_time() - start
        reward = value(query.points) + NOISE * rng.standard_normal()
        start = process_time()
        optimizer.tell(query, reward)
        taken.append(1e3 * (process_time() - start + asked))
    return float(np.median(taken))


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("speed.targets", __doc__, 1, queries=500)
    parser.add_argument(
        "--times", type=positive_int, nargs="+", default=(100, 1000), help="default 100 1000"
    )
    options = parser.parse_args(arguments)
    seeds, rows = range(options.seed, options.seed + options.runs), []
    with threadpool_limits(1):
        for kind in KINDS:
            for t in options.times:
                taken = [milliseconds(kind, t, options.queries, seed) for seed in seeds]
                rows.append((kind, t, float(np.mean(taken))))
    table = [(kind, [f"{ms:.2f}" for name, _, ms in rows if name == kind]) for kind in KINDS]
    title = f"Milliseconds of CPU per round, {options.queries} queries and as many targets"
    print(format_table(title, [f"t = {t}" for t in options.times], table))
    path = options.output / "speed_targets.csv"
    write_csv(path, ("kind", "t", "ms"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""Time to load a saved run, relative to the run.

``python -m benchmarks.speed.loading [--runs 1] [--rounds 5000] [--seed 0] [--output DIR]`` plays a
run of each class, saves it and loads it. Printed: seconds of the processor for the run and for
loading it, on one thread, what share of the run loading takes, the distinct queries that were
answered, and the size of the file. The contextual tree plays a fifth of the rounds, and CMES 300 at
most.
"""

from __future__ import annotations

import tempfile
import warnings
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, format_table, write_csv
from skgpb import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    StoOOOptimizer,
)

SQUARE: dict[str, Any] = {"bounds": [(0, 1), (0, 1)]}
GIVEN: dict[str, Any] = {"kernel": RBF(0.2), "alpha": 0.01}


def optimizers(n: int, seed: int) -> dict[str, tuple[Any, int]]:
    """Return an optimizer for every line, and how many rounds it plays."""
    arms = np.random.default_rng([seed, 1]).random((250, 2))
    side: dict[str, Any] = {"bounds": [(0, 1)], "context_bounds": [(0, 1)]}
    n_contexts = max(n // 5, 1)
    every: dict[str, tuple[Any, int]] = {
        "GPOO": (GPOOOptimizer(**SQUARE, **GIVEN), n),
        "GPOO, kernel learned": (GPOOOptimizer(**SQUARE), n),
        "StoOO": (StoOOOptimizer(**SQUARE), n),
        "GP-UCB, 250 arms": (GPUCBOptimizer(arms=arms, **GIVEN), n),
        "GPTree": (GPTreeOptimizer(**SQUARE, **GIVEN, horizon=n), n),
        "zooming": (GPZoomingOptimizer(**SQUARE, **GIVEN, horizon=n), n),
        "contextual tree": (
            ContextualGPTreeOptimizer(**side, **GIVEN, horizon=n_contexts),
            n_contexts,
        ),
        "CMES": (CMESOptimizer(bounds=[(0, 1)]), min(n, 300)),
    }
    for optimizer, _ in every.values():
        optimizer.set_params(random_state=seed)
    return every


def answer(query: Any, rng: np.random.Generator) -> float:
    """Return the mean of a function with several hills, with noise."""
    x = np.atleast_2d(query.points)
    return float((np.sin(7.0 * x[:, 0]) + np.cos(5.0 * x[:, -1])).mean() + 0.1 * rng.normal())


def measured(optimizer: Any, n: int, seed: int, path: Path) -> tuple[int, int, float, float, float]:
    """Play, save and load a run; rounds, distinct queries, seconds of both, megabytes."""
    rng = np.random.default_rng([seed, 2])
    how: dict[str, Any] = {"budget": n}
    if isinstance(optimizer, ContextualGPTreeOptimizer):
        how = {"contexts": np.random.default_rng([seed, 3]).random((n, 1))}
    begin = process_time()
    optimizer.run(partial(answer, rng=rng), **how)
    run = process_time() - begin
    optimizer.save(path)
    begin = process_time()
    type(optimizer).load(path)
    load = process_time() - begin
    n_distinct = len(np.unique(optimizer.history_["descriptor"], axis=0))
    return n, n_distinct, run, load, path.stat().st_size / 1e6


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser("speed.loading", __doc__, 1, rounds=5000)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows, lines = [], []
    for seed in range(options.seed, options.seed + options.runs):
        for name, (optimizer, n) in optimizers(options.rounds, seed).items():
            with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
                n, n_distinct, run, load, size = measured(optimizer, n, seed, Path(folder) / "run")
            cells = [str(n), str(n_distinct), f"{run:.2f}", f"{load:.2f}"]
            lines.append((name, [*cells, f"{100 * load / run:.1f}", f"{size:.2f}"]))
            rows.append((name, seed, n, n_distinct, run, load, size))
    header = ["rounds", "distinct", "run, s", "load, s", "load, % of run", "file, MB"]
    print(format_table("Loading a saved run", header, lines))
    path = options.output / "loading.csv"
    write_csv(path, ["optimizer", "seed", "rounds", "distinct", "run", "load", "megabytes"], rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

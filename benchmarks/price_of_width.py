"""Regret of a width that always holds, compared with the defaults.

``python -m benchmarks.price_of_width [--runs 40] [--budget 150] [--seed 0] [--output DIR]`` plays
functions of norm 2 for five kernels, as ``benchmarks.coverage`` draws them, with each search given
the kernel and the noise (standard deviation 0.2): GP-UCB over 101 points and GPOO over averages of
cells, by their theory, by ``beta=4`` and by ``beta="rkhs"`` with the true norm and twice as much.

The script prints the mean regret of the queries per round and of the final recommendation,
over all functions and kernels, with standard errors. Regret is against the best point of a grid for
GP-UCB, and against the best cell of the finest level for GPOO.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    spawn_seeds,
    write_csv,
)
from benchmarks.coverage import KERNELS, NOISE, PER_CELL, B, Function, nodes
from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import NumericalWarning, RefinementWarning
from skgpb.guarantee import Guarantee
from skgpb.optimizers._base import BaseBanditOptimizer

DEPTH = 6
ARMS = np.linspace(0.0, 1.0, 101)[:, np.newaxis]
SETTINGS: dict[str, dict[str, Any]] = {
    "theory": {"beta": "theory"},
    "beta=4": {"beta": 4.0},
    "rkhs": {"beta": "rkhs", "guarantee": Guarantee(B)},
    "rkhs, B twice": {"beta": "rkhs", "guarantee": Guarantee(2.0 * B)},
}


def search(method: str, setting: str, kernel: Kernel, seed: int) -> BaseBanditOptimizer:
    """Return the optimizer."""
    settings = {"alpha": NOISE**2, "random_state": seed} | SETTINGS[setting]
    if method == "GP-UCB":
        return GPUCBOptimizer(kernel, arms=ARMS, **settings)
    box = {"bounds": [(0.0, 1.0)], "n_representatives": PER_CELL, "max_depth": DEPTH}
    return GPOOOptimizer(kernel, **box, **settings)


def regrets(method: str, setting: str, kernel: Kernel, budget: int, seed: int) -> np.ndarray:
    """Regret per round and at the end, (2,)."""
    rng = np.random.default_rng(seed)
    f = Function(kernel, rng)
    if method == "GP-UCB":
        best = max(f.average(arm[np.newaxis]) for arm in ARMS)
    else:
        n = 2 ** (DEPTH + 1)
        best = max(f.average(nodes(i / n, (i + 1) / n)) for i in range(n))
    optimizer = search(method, setting, kernel, int(rng.integers(2**31)))
    values = []
    for _ in range(budget):
        query = optimizer.ask()
        values.append(f.average(np.asarray(query)))
        optimizer.tell(query, values[-1] + NOISE * rng.normal())
    last = f.average(np.asarray(optimizer.recommend()))
    return np.array([best - np.mean(values), best - last])


def main(args: list[str] | None = None) -> None:
    """Run the benchmark."""
    what = "functions of each kernel"
    parser = argument_parser("price_of_width", __doc__, runs=40, what=what)
    parser.add_argument("--budget", type=positive_int, default=150, help="rounds (default 150)")
    options = parser.parse_args(args)
    seeds = spawn_seeds(options.seed, options.runs)
    rows, records = [], []
    warnings.simplefilter("ignore", NumericalWarning)
    warnings.simplefilter("ignore", RefinementWarning)
    for method in ("GP-UCB", "GPOO"):
        for setting in SETTINGS:
            found = np.array(
                [
                    regrets(method, setting, kernel, options.budget, seed)
                    for kernel in KERNELS.values()
                    for seed in seeds
                ]
            )
            mean, error = mean_and_error(found)
            rows.append(
                (
                    f"{method}, {setting}",
                    [estimate(*each) for each in zip(mean, error, strict=True)],
                )
            )
            records.append((method, setting, *mean.tolist(), *error.tolist()))
    title = f"Regret of {options.budget} rounds, {options.runs} functions for each of five kernels"
    print(format_table(title, ("per round", "at the end"), rows))
    path = options.output / "price_of_width.csv"
    write_csv(path, ("method", "setting", "per_round", "at_the_end", "error", "error_end"), records)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

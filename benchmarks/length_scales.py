"""Regret with an unknown length scale: drop contradicted models, learn, or use a wrong one.

``python -m benchmarks.length_scales [--runs 40] [--budget 60] [--seed 0] [--output DIR]`` plays
functions of norm 2 under RBF kernels of length scale 0.05, 0.1 and 0.4 at 101 points, noise of
standard deviation 0.1 known, by GP-UCB (beta=4) and EI. They are given the true length scale; 0.8
and nothing to learn; 0.8, learned by likelihood; or 0.8 with optimizer="consistent" and B=2, where
eleven length scales from 0.8 down to 0.025 take turns and those that contradict the answers are
dropped. Both learn whenever answers have grown by a quarter.

The script prints the mean regret of the queries per round and of the final recommendation,
with standard errors, in percent of the largest value less the smallest.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    spawn_seeds,
    write_csv,
)
from skgpb import EIOptimizer, GPUCBOptimizer
from skgpb.guarantee import Guarantee

ARMS = np.linspace(0.0, 1.0, 101)[:, np.newaxis]
NOISE, B, N_CENTERS, LONGEST = 0.1, 2.0, 8, 0.8
LENGTHS = (0.05, 0.1, 0.4)
RULES: dict[str, tuple[Any, dict[str, Any]]] = {
    "GP-UCB": (GPUCBOptimizer, {"beta": 4.0}),
    "EI": (EIOptimizer, {}),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "true": {},
    "0.8": {"kernel": RBF(LONGEST)},
    "0.8, learned": {"kernel": RBF(LONGEST, (0.005, 5.0)), "optimizer": "fmin_l_bfgs_b"},
    "0.8, consistent": {
        "kernel": RBF(LONGEST, (0.005, 5.0)),
        "optimizer": "consistent",
        "guarantee": Guarantee(B),
    },
}


def regrets(rule: str, setting: str, length: float, budget: int, seed: int) -> np.ndarray:
    """Regret per round and at the end, (2,), in percent."""
    rng = np.random.default_rng(seed)
    kernel, centers = RBF(length), rng.random((N_CENTERS, 1))
    weights = rng.normal(size=N_CENTERS)
    weights *= B / np.sqrt(weights @ kernel(centers) @ weights)
    f = kernel(ARMS, centers) @ weights
    cls, settings = RULES[rule]
    given = {"kernel": kernel} | settings | SETTINGS[setting]
    optimizer = cls(
        arms=ARMS, alpha=NOISE**2, relearn="growing", random_state=int(rng.integers(2**31)), **given
    )
    asked = []
    for _ in range(budget):
        arm = optimizer.ask()
        asked.append(f[arm.index])
        optimizer.tell(arm, f[arm.index] + NOISE * rng.normal())
    last = f[optimizer.recommend().index]
    return 100.0 * (f.max() - np.array([np.mean(asked), last])) / np.ptp(f)


def main(args: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argument_parser("length_scales", __doc__, runs=40, what="functions of each length")
    parser.add_argument("--budget", type=positive_int, default=60, help="rounds (default 60)")
    options = parser.parse_args(args)
    seeds = spawn_seeds(options.seed, options.runs)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows, records = [], []
    for rule in RULES:
        for setting in SETTINGS:
            cells = []
            for length in LENGTHS:
                found = np.array(
                    [regrets(rule, setting, length, options.budget, seed) for seed in seeds]
                )
                mean, error = mean_and_error(found)
                cells += [estimate(*each) for each in zip(mean, error, strict=True)]
                records.append((rule, setting, length, *mean.tolist(), *error.tolist()))
            rows.append((f"{rule}, {setting}", cells))
    header = [name for each in LENGTHS for name in (f"f of {each:g}: a round", "at the end")]
    title = f"Regret of {options.budget} rounds in percent, {options.runs} functions of each length"
    print(format_table(title, header, rows))
    path = options.output / "length_scales.csv"
    names = ("rule", "setting", "length", "a_round", "at_the_end", "error", "error_end")
    write_csv(path, names, records)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

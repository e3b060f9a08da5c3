"""Coverage of the intervals at 50, 80 and 95 % when all hyperparameters are learned.

``python -m benchmarks.calibration [--runs 100] [--seed 0] [--answers 10 30 100] [--output DIR]``
draws fresh problems: functions from Gaussian processes of three kinds of smoothness that are not
the model's, of one to four dimensions, any scale and offset, with noise of 1 to 50 % of their
spread. An optimizer that knows
the bounds only is told noisy answers: averages over random cells of a partition, or values at
points. Then the posterior of *noiseless* averages over other cells (or of values at other points)
is compared with the truth.

Two ways of choosing what is answered are printed: at random, as the theory of calibration has it,
and by the optimizer itself, which looks where it expects much and so is optimistic more often. The
last column is the learned over the true noise variance: median, and 80 % of the problems.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    write_csv,
)
from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.optimizers._base import BaseBanditOptimizer

LEVELS = (0.5, 0.8, 0.95)
#: Features that stand for a draw from a Gaussian process.
N_FEATURES = 1000
N_HELD_OUT = 60
#: Points per axis of a cell, by dimension.
PER_AXIS = {1: 10, 2: 6, 3: 4, 4: 3}


class Problem:
    """A function drawn from a Gaussian process, by random Fourier features."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.d = int(rng.integers(1, 5))
        scales = np.exp(rng.uniform(np.log(0.15), np.log(1.0), self.d)) * self.d**0.5
        kernel = (RBF(), Matern(nu=2.5), Matern(nu=1.5))[rng.integers(3)]
        self.frequencies = self._spectrum(kernel, rng) / scales
        self.phases = rng.uniform(0.0, 2.0 * np.pi, N_FEATURES)
        self.weights = rng.normal(size=N_FEATURES) * np.sqrt(2.0 / N_FEATURES)
        self.scale = 10.0 ** rng.uniform(-3.0, 3.0)
        self.offset = self.scale * rng.uniform(-10.0, 10.0)
        spread = self(rng.random((4000, self.d))).std()
        self.noise = spread * np.exp(rng.uniform(np.log(0.01), np.log(0.5)))

    def _spectrum(self, kernel: Kernel, rng: np.random.Generator) -> np.ndarray:
        draws = rng.normal(size=(N_FEATURES, self.d))
        if isinstance(kernel, Matern):
            # Student's t is the spectral density of a Matern kernel.
            freedom = 2.0 * kernel.nu
            draws /= np.sqrt(rng.chisquare(freedom, (N_FEATURES, 1)) / freedom)
        return draws

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Value of f at points (n, d)."""
        values = np.cos(X @ self.frequencies.T + self.phases) @ self.weights
        return self.offset + self.scale * values

    def average(self, points: np.ndarray) -> float:
        """Mean of f over points."""
        return float(self(points).mean())


def random_cell(optimizer: GPOOOptimizer, rng: np.random.Generator) -> object:
    """Draw a cell of the partition, coarse ones as often as fine ones."""
    depth = int(rng.integers(1, 3 * optimizer.n_features_in_ + 3))
    return optimizer.domain_.cell_at(depth, int(rng.integers(2**depth)))


def standard_scores(
    feedback: str, chosen: bool, n_answers: int, seed: int
) -> tuple[np.ndarray, float]:
    """Errors in standard deviations at held-out queries, and learned over true noise variance."""
    rng = np.random.default_rng([seed, len(feedback), n_answers])
    problem = Problem(rng)
    d = problem.d
    bounds = [(0.0, 1.0)] * d
    optimizer: BaseBanditOptimizer
    if feedback == "cells":
        optimizer = GPOOOptimizer(bounds=bounds, n_representatives=PER_AXIS[d], random_state=seed)
    else:
        optimizer = GPUCBOptimizer(bounds=bounds, random_state=seed)
    optimizer.ask()
    for _ in range(n_answers):
        if chosen:
            query = optimizer.ask()
        elif feedback == "cells":
            query = random_cell(optimizer, rng)
        else:
            query = rng.random(d)
        answer = problem.average(np.atleast_2d(np.asarray(query)))
        optimizer.tell(query, answer + problem.noise * rng.normal())
    # The schedule has stopped short of the last answers.
    optimizer._fit_model()
    scores = []
    for _ in range(N_HELD_OUT):
        if feedback == "cells":
            points = random_cell(optimizer, rng).points
        else:
            points = rng.random((1, d))
        mean, cov = optimizer.predict(points, return_cov=True)
        std = np.sqrt(max(float(cov.mean()), 1e-300))
        scores.append((problem.average(points) - float(mean.mean())) / std)
    return np.array(scores), optimizer.alpha_ / problem.noise**2


def main(arguments: list[str] | None = None) -> None:
    """Print coverages."""
    parser = argument_parser("calibration", __doc__, 100, what="problems")
    parser.add_argument(
        "--answers", type=positive_int, nargs="+", default=[10, 30, 100], help="default 10 30 100"
    )
    options = parser.parse_args(arguments)
    seeds, rows = range(options.seed, options.seed + options.runs), []
    warnings.simplefilter("ignore")
    levels = [f"{100 * level:g} %" for level in LEVELS]
    for feedback in ("cells", "points"):
        table = []
        for chosen in (False, True):
            for n in options.answers:
                scores, ratios = zip(
                    *(standard_scores(feedback, chosen, n, i) for i in seeds), strict=True
                )
                held = np.abs(scores)[:, None] <= norm.ppf(0.5 + np.array(LEVELS) / 2)[:, None]
                mean, error = mean_and_error(100 * held.mean(axis=2))
                low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
                how = "chosen" if chosen else "random"
                cells = [estimate(*each, 1) for each in zip(mean, error, strict=True)]
                table.append(
                    (f"{n} {how} {feedback}", [*cells, f"{middle:.2f} ({low:.2f} to {high:.2f})"])
                )
                rows.append((feedback, how, n, *mean, *error, low, middle, high))
        title = (
            f"Answers to {feedback}: percentage of truths within intervals, mean (standard error) "
            f"over {options.runs} problems, seed {options.seed}"
        )
        print(
            format_table(title, [*levels, "noise variance / true"], table), end="\n\n", flush=True
        )
    path = options.output / "calibration.csv"
    columns = ["answers_to", "chosen", "n", *(f"covered_{100 * level:g}" for level in LEVELS)]
    columns += [f"error_{100 * level:g}" for level in LEVELS]
    write_csv(path, [*columns, "noise_ratio_10", "noise_ratio_50", "noise_ratio_90"], rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

"""Coverage of the widths for functions of known norm: all functionals, all rounds at once.

``python -m benchmarks.coverage [--runs 200] [--rounds 60] [--seed 0] [--output DIR]`` draws
functions whose norm in the reproducing kernel Hilbert space is exactly B = 2, combinations of one
to eight kernel functions around random places, for five kernels on [0, 1]. An optimizer with
``beta="rkhs"`` is told noisy answers to queries that it chooses itself, which is the hardest way of
choosing them: GP-UCB values at points or averages over windows that overlap, GPOO averages over the
cells of its tree. After every round the intervals of points, cells and windows, whichever of them
were asked, are compared with the truth. A run is violated if a single one is, after any round.

Printed is the share of runs that are violated for each width, all at delta = 0.1, with its
Clopper-Pearson interval of 95 %, and how much too wide each width is: the median over runs of its
smallest excess, over all functionals and rounds, and in brackets that of the width that would have
held in just 1 - delta of the runs.
"""

from __future__ import annotations

import warnings
from math import inf, log, pi, sqrt

import numpy as np
from scipy.stats import beta as beta_distribution
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Kernel, Matern

from benchmarks._common import argument_parser, format_table, positive_int, spawn_seeds, write_csv
from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import NumericalWarning
from skgpb.guarantee import Guarantee
from skgpb.kernels import CellAverage
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.surrogate.widths import dual_ends

B, NOISE, DELTA = 2.0, 0.2, 0.1
#: Representatives of a cell or a window.
PER_CELL = 8
DEPTH = 5
POINTS = np.linspace(0.0, 1.0, 41)
#: Centres of windows of width 0.2.
CENTERS = np.linspace(0.1, 0.9, 33)
KERNELS = {
    "RBF": RBF(0.2),
    "Matern-1/2": Matern(0.3, nu=0.5),
    "Matern-3/2": Matern(0.3, nu=1.5),
    "Matern-5/2": Matern(0.3, nu=2.5),
    "RBF + periodic": 0.7 * RBF(0.3) + 0.3 * ExpSineSquared(1.0, 0.3),
}
FEEDBACK = ("points", "cells", "windows")
#: Widths that are compared, the first two of them those of ``interval`` and ``beta="rkhs"``.
WIDTHS = ("dual", "rkhs", "sum of norms", "IGP-UCB's", "Lemma 1")


class Function:
    """A function of norm B, a combination of kernel functions."""

    def __init__(self, kernel: Kernel, rng: np.random.Generator) -> None:
        self.kernel = kernel
        self.centers = rng.random((int(rng.integers(1, 9)), 1))
        self.weights = rng.normal(size=len(self.centers))
        norm2 = self.weights @ kernel(self.centers) @ self.weights
        self.weights *= B / sqrt(norm2)

    def average(self, points: np.ndarray) -> float:
        """Mean of f over points."""
        return float((self.kernel(points, self.centers) @ self.weights).mean())


def nodes(lower: float, upper: float) -> np.ndarray:
    """Representatives of a cell, the middles of equal parts."""
    return (lower + (upper - lower) * (np.arange(PER_CELL) + 0.5) / PER_CELL)[:, np.newaxis]


def functionals() -> list[np.ndarray]:
    """Points, all cells of the tree and overlapping windows, as the points they average."""
    points = [np.array([[x]]) for x in POINTS]
    depths = range(DEPTH + 2)
    cells = [nodes(i / 2**depth, (i + 1) / 2**depth) for depth in depths for i in range(2**depth)]
    windows = [nodes(c - 0.1, c + 0.1) for c in CENTERS]
    return points + cells + windows


def covariances(kernel: Kernel, asked: list[np.ndarray]) -> np.ndarray:
    """Return the prior covariances of functionals."""
    sizes = [len(points) for points in asked]
    starts = np.cumsum([0, *sizes[:-1]])
    K = kernel(np.concatenate(asked))
    K = np.add.reduceat(np.add.reduceat(K, starts, axis=0), starts, axis=1)
    return K / np.outer(sizes, sizes)


def optimizer_of(feedback: str, kernel: Kernel, seed: int) -> BaseBanditOptimizer:
    """Return the search that chooses the queries."""
    bound = {
        "beta": "rkhs",
        "guarantee": Guarantee(B, failure_probability=DELTA),
        "alpha": NOISE**2,
    }
    if feedback == "cells":
        return GPOOOptimizer(
            kernel,
            bounds=[(0.0, 1.0)],
            n_representatives=PER_CELL,
            max_depth=DEPTH,
            random_state=seed,
            **bound,
        )
    if feedback == "windows":
        boxes = np.column_stack([CENTERS - 0.1, CENTERS + 0.1])
        kernel = CellAverage(kernel, PER_CELL)
        return GPUCBOptimizer(kernel, arms=boxes, random_state=seed, **bound)
    return GPUCBOptimizer(kernel, arms=POINTS[:, np.newaxis], random_state=seed, **bound)


def excesses(feedback: str, kernel: Kernel, C: np.ndarray, rounds: int, seed: int) -> np.ndarray:
    """Largest error as a share of each width, over all functionals and rounds, (n_widths,).

    ``C`` are the covariances of the functionals. The posterior is computed from it afresh after
    every round, and at the end compared with what the optimizer says.
    """
    rng = np.random.default_rng(seed)
    f, asked = Function(kernel, rng), functionals()
    number = {points.tobytes(): i for i, points in enumerate(asked)}
    truth = np.array([f.average(points) for points in asked])
    optimizer = optimizer_of(feedback, kernel, int(rng.integers(2**31)))
    queries: list[int] = []
    answers: list[float] = []
    worst = np.zeros(len(WIDTHS))
    for t in range(1, rounds + 1):
        query = optimizer.ask()
        queries.append(_nearest(number, asked, np.asarray(query)))
        answers.append(truth[queries[-1]] + NOISE * rng.normal())
        optimizer.tell(query, answers[-1])
        y, noise = np.array(answers), np.full(t, NOISE**2)
        Q = C[np.ix_(queries, queries)] + np.diag(noise)
        rows = np.linalg.solve(Q, C[queries])
        mean, std = y @ rows, np.sqrt(np.maximum(np.diag(C) - (C[queries] * rows).sum(axis=0), 0.0))
        gain = 0.5 * float(np.linalg.slogdet(Q / NOISE**2)[1])
        excess = 2.0 * (gain + log(1.0 / DELTA))
        factors = (
            sqrt(B**2 + excess),
            B + sqrt(excess),
            B + sqrt(excess + 2.0),
            # The union bound of Lemma 1 is over these functionals, not over all that there are.
            sqrt(2.0 * log(len(asked) * pi**2 * t**2 / (6.0 * DELTA))),
        )
        gram, across = C[np.ix_(queries, queries)], C[:, queries]
        ends = dual_ends(gram, noise, y, across, np.diag(C), B**2, excess)
        if ends is None:  # the observations contradict B: a failure of its own
            worst[0] = inf
            continue
        middle, half = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
        relative = [_largest(np.abs(truth - middle), half)]
        relative += [_largest(np.abs(truth - mean), factor * std) for factor in factors]
        worst = np.maximum(worst, relative)
    _, lower, upper = optimizer.predict_query(asked[:5], interval=True)
    np.testing.assert_allclose([lower, upper], [end[:5] for end in ends], atol=1e-5)
    return worst


def _nearest(number: dict[bytes, int], asked: list[np.ndarray], points: np.ndarray) -> int:
    """Return the functional that averages these points, up to rounding."""
    known = number.get(points.tobytes())
    if known is None:
        same = [i for i, each in enumerate(asked) if each.shape == points.shape]
        known = min(same, key=lambda i: float(np.abs(asked[i] - points).max()))
        if np.abs(asked[known] - points).max() > 1e-9:
            raise ValueError(f"{points} are not among the functionals")
        number[points.tobytes()] = known
    return known


def _largest(errors: np.ndarray, widths: np.ndarray) -> float:
    # Values that are known to rounding are left out.
    some = widths > 1e-9
    return float((errors[some] / widths[some]).max(initial=0.0))


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return a confidence interval for a success probability, given k successes in n draws."""
    tail = 0.5 * (1.0 - level)
    lower = float(beta_distribution.ppf(tail, k, n - k + 1)) if k else 0.0
    upper = float(beta_distribution.ppf(1.0 - tail, k + 1, n - k)) if k < n else 1.0
    return lower, upper


def summary(worst: np.ndarray) -> list[str]:
    """Say of each width, (n_runs, n_widths), how often it failed and how much too wide it is."""
    cells = []
    for column in worst.T:
        k, n = int((column > 1.0).sum()), len(column)
        lower, upper = clopper_pearson(k, n)
        typical, needed = 1.0 / np.median(column), 1.0 / np.quantile(column, 1.0 - DELTA)
        cells.append(f"{k}/{n} [{lower:.3f}, {upper:.3f}] x{typical:.2f} ({needed:.2f})")
    return cells


def main(args: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argument_parser("coverage", __doc__, runs=200, what="functions of each kernel")
    parser.add_argument("--rounds", type=positive_int, default=60, help="default 60")
    options = parser.parse_args(args)
    rows, records = [], []
    for name, kernel in KERNELS.items():
        C = covariances(kernel, functionals())
        for feedback in FEEDBACK:
            seeds = spawn_seeds(options.seed, options.runs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NumericalWarning)
                worst = np.array(
                    [excesses(feedback, kernel, C, options.rounds, seed) for seed in seeds]
                )
            rows.append((f"{name}, {feedback}", summary(worst)))
            records += [
                (name, feedback, seed, *row)
                for seed, row in zip(seeds, worst.tolist(), strict=True)
            ]

    title = (
        f"Runs of {options.rounds} rounds in which anything was outside of its interval, delta = "
        f"{DELTA}: {options.runs} functions of norm {B:g}"
    )
    print(format_table(title, WIDTHS, rows))
    path = options.output / "coverage.csv"
    write_csv(path, ("kernel", "feedback", "seed", *WIDTHS), records)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

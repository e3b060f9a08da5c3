"""Regret of GPOO and GP-UCB and the bounds on it, after 80, 1,000 and 10,000 answers.

``python -m benchmarks.papers.bounds [--runs 20] [--seed 0] [--n-jobs 1] [--output DIR]`` plays both
algorithms where their theorems hold: functions drawn from the prior that the search is given, on
[0, 1], the widths of the theory (at a failure probability of 0.05), noise of standard deviation
0.1, and for GPOO a variation within cells that 95 % of the draws respect.

Each run is compared with its own bound, because that of GPOO counts the near-optimal cells of f,
and that of GP-UCB has the information gain of what was asked. Of 10,000 answers there are a
fourth as many runs. Printed are the median and the largest regret after N answers, the median of
the bounds, that of the worst regret there is, above which a bound says nothing, the largest share
that a run had of its bound after N answers, and in how many runs the regret was above the bound
after any number of answers. The regret of GPOO is that of the recommendation, the regret of GP-UCB
is cumulative.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from math import log, pi
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks._common import argument_parser, format_table, replicate, spawn_seeds, write_csv
from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import NumericalWarning
from skgpb.guarantee import Guarantee

HORIZONS = (80, 1_000, 10_000)
LENGTH, NOISE, THETA = 0.3, 0.1, 0.05
KERNEL = RBF(LENGTH)
#: Depth of GPOO, and representatives of its cells.
DEPTH, PER_CELL = 12, 4
ARMS = np.linspace(0.0, 1.0, 50)[:, np.newaxis]
GRID = np.linspace(0.0, 1.0, 2001)


def gpoo_bound(
    n: np.ndarray, delta: np.ndarray, counts: np.ndarray, beta: np.ndarray, noise_variance: float
) -> np.ndarray:
    r"""Aggregated regret of GPOO, Theorem 1 of its paper, with two children.

    :math:`3 \delta(h_n)`, with :math:`h_n` the smallest depth such that all cells that may be split
    down to there, and their children, can have taken n answers,

    .. math:: n \le 2 \sum_{h \le h_n} |I_h| \lceil \beta_n \sigma^2 / \delta(h)^2 + 1 \rceil.

    The paper has a power of delta for the count, and no rounding: but the number of answers to a
    cell is whole, and of coarse cells it is one or two.
    """
    answers = np.floor(beta[:, np.newaxis] * noise_variance / delta**2) + 2.0
    depth = (2.0 * np.cumsum(counts * answers, axis=1) < n[:, np.newaxis]).sum(axis=1)
    return 3.0 * delta[np.minimum(depth, len(delta) - 1)]


def gp_ucb_bound(
    n: np.ndarray, gain: np.ndarray, beta: np.ndarray, noise_variance: float
) -> np.ndarray:
    """Cumulative regret of GP-UCB, Theorem 1 of its paper; the gain may be that of the queries."""
    return np.sqrt(8.0 / np.log1p(1.0 / noise_variance) * n * beta * gain)


def near_optimal_cells(f: Callable, delta: np.ndarray, best: float) -> np.ndarray:
    """Count the cells whose average is at most 3 delta below the optimum, at every depth."""
    counts = []
    for depth, allowed in enumerate(delta):
        n_points = PER_CELL * 2**depth
        values = f((np.arange(n_points)[:, np.newaxis] + 0.5) / n_points)
        averages = values.reshape(-1, PER_CELL).mean(axis=1)
        counts.append((averages >= best - 3.0 * allowed).sum())
    return np.array(counts)


def features(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features whose products are RBF(LENGTH), exact to rounding on [0, 1], and their slopes."""
    z, j = (x[:, np.newaxis] - 0.5) / LENGTH, np.arange(40)
    scale = np.cumprod(np.concatenate([[1.0], 1.0 / np.sqrt(j[1:])]))
    values = np.exp(-0.5 * z**2) * z**j * scale
    before = np.pad(values, ((0, 0), (1, 0)))[:, :-1]
    return values, (np.sqrt(j) * before - z * values) / LENGTH


def drawn(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function drawn from the Gaussian process, of points (n, 1)."""
    weights = rng.normal(size=40)
    return lambda X: features(X[:, 0])[0] @ weights


@cache
def slope() -> float:
    """Largest slope that 95 % of the draws do not exceed."""
    rng = np.random.default_rng(0)
    slopes = features(np.linspace(0.0, 1.0, 101))[1]
    return float(
        np.quantile([np.abs(slopes @ rng.normal(size=40)).max() for _ in range(2000)], 0.95)
    )


def marks(n: int) -> np.ndarray:
    """Numbers of answers after which bound and regret are compared."""
    return np.unique(np.round(np.geomspace(1, n, 50)).astype(int))


def gains(points: np.ndarray, n: int) -> np.ndarray:
    """Information gain of what was asked, points (n, d), at the marks."""
    found = []
    for t in marks(n):
        rows, counts = np.unique(points[:t], axis=0, return_counts=True)
        root = np.sqrt(counts) / NOISE
        K = rbf_kernel(rows, gamma=0.5 / LENGTH**2) * np.outer(root, root)
        found.append(0.5 * float(np.linalg.slogdet(np.eye(len(rows)) + K)[1]))
    return np.array(found)


def gpoo(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    """Aggregated regret of GPOO, its bound and the worst."""
    f, t = drawn(rng), marks(n)
    values = f(GRID[:, np.newaxis])
    best, worst = float(values.max()), float(values.min())
    # However the representatives lie, on average they are half a side from any end.
    delta = 0.5 * slope() * 0.5 ** np.arange(DEPTH + 1)
    optimizer = GPOOOptimizer(
        KERNEL,
        bounds=[(0.0, 1.0)],
        alpha=NOISE**2,
        n_representatives=PER_CELL,
        variation=(delta[0], 0.5),
        max_depth=DEPTH,
        expansion="before",
        beta="theory",
        guarantee=Guarantee(failure_probability=THETA),
        random_state=0,
    )
    regret, at = [], set(t.tolist())
    for i in range(1, n + 1):
        cell = optimizer.ask()
        optimizer.tell(cell, float(f(cell.points).mean()) + NOISE * rng.normal())
        if i in at:
            regret.append(best - float(f(optimizer.recommend("paper").points).mean()))
    beta = 2.0 * (log(2.0 ** (DEPTH + 1) - 1.0) + np.log(pi**2 * t**2 / (6.0 * THETA)))
    counts = near_optimal_cells(f, delta, best)
    return np.array(regret), gpoo_bound(t, delta, counts, beta, NOISE**2), best - worst


def gp_ucb(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
    """Cumulative regret of GP-UCB, its bound and the worst."""
    values, t = drawn(rng)(ARMS), marks(n)
    optimizer = GPUCBOptimizer(
        KERNEL,
        arms=ARMS,
        alpha=NOISE**2,
        beta=None,
        guarantee=Guarantee(failure_probability=THETA),
        random_state=0,
    )
    pulled = []
    for _ in range(n):
        arm = optimizer.ask()
        optimizer.tell(arm, values[arm.index] + NOISE * rng.normal())
        pulled.append(arm.index)
    regret = np.cumsum(values.max() - values[pulled])[t - 1]
    beta = np.array([optimizer._theory_beta(int(each), len(ARMS)) for each in t])
    bound = gp_ucb_bound(t, gains(ARMS[pulled], n), beta, NOISE**2)
    return regret, bound, t * np.ptp(values)


BOUNDS = {"GPOO, Theorem 1": gpoo, "GP-UCB, gain as asked": gp_ucb}


def curves(name: str, n: int, seed: int) -> np.ndarray:
    """Regret, bound and the worst regret there is, at the marks, (3, n_marks)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        found = BOUNDS[name](n, np.random.default_rng(seed))
    return np.array(np.broadcast_arrays(*found))


def short(number: float) -> str:
    """Three digits, without an exponent where it is not needed."""
    if abs(number) >= 100.0:
        return f"{number:.0f}"
    return f"{number:.3g}" if abs(number) >= 1e-4 else f"{number:.0e}"


def main(arguments: list[str] | None = None) -> None:
    """Print what was measured and what the bounds say."""
    parser = argument_parser("papers.bounds", __doc__, 20, n_jobs=True)
    parser.add_argument(
        "--horizons", type=int, nargs="+", default=HORIZONS, help="N (default 80 1000 10000)"
    )
    options = parser.parse_args(arguments)
    seeds = spawn_seeds(options.seed, options.runs)
    table, rows = [], []
    for name in BOUNDS:
        for n in options.horizons:
            some = seeds if n < 10_000 else seeds[: max(1, len(seeds) // 4)]
            found = np.array(replicate(curves, [(name, n)], some, options.n_jobs)[0])
            regret, bound, worst = found[:, :, -1].T
            above = int((found[:, 0] > found[:, 1]).any(axis=1).sum())
            typical = np.median(bound), np.median(worst), (regret / bound).max()
            cells = [short(number) for number in (np.median(regret), regret.max(), *typical)]
            table.append((f"{name}, N = {n:,}", [*cells, f"{above} of {len(found)}"]))
            rows += [
                (name, n, seed, t, *values)
                for seed, run in zip(some, found, strict=True)
                for t, values in zip(marks(n), run.T, strict=True)
            ]
    title = f"Regret and bounds, seed {options.seed}"
    header = ["median", "largest", "bound", "worst", "largest share", "ever above"]
    print(format_table(title, header, table))
    print()
    path = options.output / "bounds.csv"
    write_csv(path, ["bound", "N", "seed", "answers", "regret", "bounded_by", "worst"], rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

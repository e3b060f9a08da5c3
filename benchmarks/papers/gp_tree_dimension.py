"""Cost and quality of GPTree as the dimension grows (section 4.1 of the paper).

``python -m benchmarks.papers.gp_tree_dimension [--budget 200] [--evaluations 500] [--runs 5]
[--seed 0] [--output DIR]``

Two tables.

1. Milliseconds of CPU per ask and tell, from d = 1 to 20 at the same budget and noise: GPTree
   (K = 2, K = 3), and GP-UCB over a grid of 12 points per axis while the grid has at most 25,000
   points, that is up to d = 4. Claim 4 says linear in d for GPTree: a line through d >= 5 is
   printed. The grid's cost multiplies by 12 with every dimension. The fastest of the runs counts.
2. The best value found in 10 and 20 dimensions by GPTree, by as many random points, and (where it
   is installed) by scikit-optimize after 100 evaluations: sphere, Ackley and Levy, to be maximised,
   optimum 0, the optimum moved off the centre. "best_observed" is the best point evaluated,
   "recommended" the one of ``recommend("posterior")``. Random: mean of the runs.

GPTree runs with ``max_active=1`` here: at most one refinement precedes an evaluation, because cells
shrink so slowly in many dimensions that the theory would refine for ever.

References
----------
S. Shekhar and T. Javidi, "Gaussian process bandits with adaptive discretization", Electronic
Journal of Statistics 12, 2018, section 4.1.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

from benchmarks._common import (
    argument_parser,
    format_table,
    import_pyplot,
    save,
    write_csv,
)
from skgpb.exceptions import RefinementWarning
from skgpb.optimizers import GPTreeOptimizer
from skgpb.surrogate import OnlineGaussianProcessRegressor

DIMENSIONS = (1, 2, 3, 4, 5, 10, 15, 20)
PER_AXIS, LARGEST_GRID = 12, 25_000
SHIFT = 0.37  # position of the optimum along every axis


def sphere(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return -((X - SHIFT) ** 2).sum(axis=1)


def ackley(X: NDArray[np.float64]) -> NDArray[np.float64]:
    Z = 8.0 * (X - SHIFT)
    hill = 20.0 * np.exp(-0.2 * np.sqrt((Z**2).mean(axis=1)))
    return hill + np.exp(np.cos(2 * np.pi * Z).mean(axis=1)) - 20.0 - np.e


def levy(X: NDArray[np.float64]) -> NDArray[np.float64]:
    w = 1.0 + 5.0 * (X - SHIFT)
    first, last = np.sin(np.pi * w[:, 0]) ** 2, w[:, -1] - 1.0
    middle = (w[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:, :-1] + 1.0) ** 2)
    return -(first + middle.sum(axis=1) + last**2 * (1.0 + np.sin(2 * np.pi * w[:, -1]) ** 2))


FUNCTIONS: dict[str, Callable] = {"sphere": sphere, "Ackley": ackley, "Levy": levy}


def tree(d: int, n_children: int, budget: int) -> GPTreeOptimizer:
    """The settings of both tables."""
    return GPTreeOptimizer(
        RBF(1.0),
        bounds=[(0.0, 1.0)] * d,
        n_children=n_children,
        horizon=budget,
        alpha=1e-4,
        normalize_y=True,
        max_active=1,
    )


def tree_run(f: Callable, d: int, n_children: int, budget: int) -> tuple[float, float, float]:
    """Return the best value seen, that recommended, and the CPU seconds of the optimizer."""
    optimizer, seen, spent = tree(d, n_children, budget), -np.inf, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefinementWarning)
        for _ in range(budget):
            start = time.process_time()
            cell = optimizer.ask()
            spent += time.process_time() - start
            value = float(f(cell.points)[0])
            seen = max(seen, value)
            start = time.process_time()
            optimizer.tell(cell, value)
            spent += time.process_time() - start
    return seen, float(f(optimizer.recommend("posterior").points)[0]), spent


def grid_seconds(d: int, budget: int) -> float:
    """CPU seconds of GP-UCB over a grid, NaN where the grid is too large."""
    if PER_AXIS**d > LARGEST_GRID:
        return np.nan
    axis = np.linspace(0.0, 1.0, PER_AXIS)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    start = time.process_time()
    model = OnlineGaussianProcessRegressor(RBF(1.0), alpha=1e-4, optimizer=None).track(grid)
    for _ in range(budget):
        mean, std = model.predict_tracked(return_std=True)
        best = grid[[int(np.argmax(mean + 3.0 * std))]]
        model.partial_fit(best, sphere(best))
    return time.process_time() - start


def scikit_optimize(f: Callable, d: int, n: int, seed: int) -> float:
    """Best value after n evaluations of scikit-optimize, NaN where it is not installed."""
    try:
        from skopt import gp_minimize
    except ImportError:
        return np.nan
    result = gp_minimize(
        lambda x: -float(f(np.array([x]))[0]), [(0.0, 1.0)] * d, n_calls=n, random_state=seed
    )
    return -float(result.fun)


def main(arguments: list[str] | None = None) -> None:
    """Run both tables from the command line."""
    parser = argument_parser("papers.gp_tree_dimension", __doc__, 5, budget=200, evaluations=500)
    options = parser.parse_args(arguments)

    n, costs = options.budget, {}
    tree_run(sphere, 2, 2, 20)  # imports and caches
    for d in DIMENSIONS:
        seconds = [min(tree_run(sphere, d, K, n)[2] for _ in range(options.runs)) for K in (2, 3)]
        costs[d] = [1e3 * s / n for s in [*seconds, grid_seconds(d, n)]]
    table = [(f"d = {d}", [f"{c:.2f}" if c == c else "-" for c in costs[d]]) for d in DIMENSIONS]
    names = ["GPTree, K = 2", "GPTree, K = 3", f"GP-UCB, {PER_AXIS}^d grid"]
    print(format_table(f"CPU milliseconds per round, {n} rounds", names, table), "\n")
    many = [d for d in DIMENSIONS if d >= 5]
    for column, name in enumerate(names[:2]):
        slope, level = np.polyfit(many, [costs[d][column] for d in many], 1)
        print(f"{name}: {level:.3f} + {slope:.4f} d milliseconds for d >= 5")

    N, table = options.evaluations, []
    for d in (10, 20):
        for name, f in FUNCTIONS.items():
            rng = np.random.default_rng(options.seed)
            random = np.mean([f(rng.uniform(size=(N, d))).max() for _ in range(options.runs)])
            cells = [f"{random:.3f}"]
            for K in (2, 3):
                start = time.perf_counter()
                seen, recommended, _ = tree_run(f, d, K, N)
                elapsed = time.perf_counter() - start
                cells += [f"{seen:.3f}", f"{recommended:.3f}", f"{elapsed:.1f} s"]
            skopt = scikit_optimize(f, d, 100, options.seed)
            cells.append("-" if np.isnan(skopt) else f"{skopt:.3f}")
            table.append((f"{name}, d = {d}", cells))
    header = ["random", "K=2 seen", "recommended", "time", "K=3 seen", "recommended", "time"]
    print()
    print(format_table(f"Best value of {N} evaluations", [*header, "skopt, 100"], table), "\n")

    path = options.output / "gp_tree_dimension.csv"
    write_csv(path, ["d", *names], [[d, *costs[d]] for d in DIMENSIONS])
    print(f"Written: {path}")
    plt = import_pyplot()
    if plt is not None:
        figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
        for column, name in enumerate(names):
            ax.plot(DIMENSIONS, [costs[d][column] for d in DIMENSIONS], "o-", label=name)
        ax.set(xlabel="dimension d", ylabel="CPU milliseconds per round", yscale="log")
        ax.legend(frameon=False)
        save(plt, figure, path.with_suffix(".png"))


if __name__ == "__main__":
    main()

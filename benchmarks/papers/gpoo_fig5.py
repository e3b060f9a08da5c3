"""Figure 5 of the GPOO paper: where averages serve the recommendation better than points.

    python -m benchmarks.papers.gpoo_fig5 [--runs 30 --seed 0 --n-jobs 1 --output DIR]

The third test function carries a narrow, misleading peak. Printed is the mean aggregated regret
of GPOO with S = 1 and S = 10; drawn are the tree and the posterior of one run of each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

from benchmarks.papers._common import (
    argument_parser,
    format_table,
    import_pyplot,
    mean_and_error,
    replicate,
    spawn_seeds,
    write_csv,
)
from skgpb import GPOOOptimizer
from skgpb.metrics import aggregated_regret
from skgpb.problems import gpoo_function

BUDGET = 80
REPORTED = tuple(range(10, BUDGET + 1, 10))


def make(n_representatives: int, n_children: int = 2) -> GPOOOptimizer:
    """GPOO as in the paper's Appendix E."""
    return GPOOOptimizer(
        0.1 * RBF(0.05),
        bounds=[(0.0, 1.0)],
        alpha=0.1**2,
        n_children=n_children,
        n_representatives=n_representatives,
        diameter=(14.0, 0.5),
        max_depth=10,
    )


def regret_curve(
    n_representatives: int, n_children: int, budget: int, mirrored: bool, seed: int
) -> NDArray[np.float64]:
    """Aggregated regret on the third function after each round, (budget,)."""
    problem, rng = gpoo_function(3, mirrored=mirrored), np.random.default_rng(seed)
    optimizer, averages = make(n_representatives, n_children), []
    for _ in range(budget):
        cell = optimizer.ask()
        optimizer.tell(cell, problem.observe(cell, rng))
        averages.append(problem.average(optimizer.recommend()))
    return aggregated_regret(problem.optimum, np.array(averages))


def save_figure(path: Path, curves: dict[int, NDArray[np.float64]], seed: int) -> bool:
    """Draw tree and posterior of one run for each S, and both regrets."""
    plt = import_pyplot()
    if plt is None:
        return False
    figure, axes = plt.subplots(2, 3, figsize=(14, 6.5), layout="constrained")
    grid = np.linspace(0, 1, 1000)[:, None]
    problem = gpoo_function(3)
    for column, S in enumerate((1, 10)):
        optimizer, rng = make(S), np.random.default_rng(seed)
        optimizer.run(lambda cell, rng=rng: problem.observe(cell, rng), BUDGET)
        draw_tree(axes[0, column], optimizer)
        axes[0, column].set(title=f"S = {S}: cells asked, N = {BUDGET}", ylabel="depth")
        mean, std = optimizer.predict(grid, return_std=True)
        lower = axes[1, column]
        lower.plot(grid, problem.f(grid), color="0.2", label="f")
        lower.plot(grid, mean, color="#0b5394", label="posterior mean")
        band = {"color": "#0b5394", "alpha": 0.2, "lw": 0, "label": "two standard deviations"}
        lower.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, **band)
        best = optimizer.recommend()
        lower.axvspan(best.lower[0], best.upper[0], color="#c1121f", alpha=0.5, label="recommended")
        lower.set(xlabel="x", ylabel="f(x)", xlim=(0, 1))
    axes[1, 0].legend(fontsize=8)
    rounds = np.arange(1, BUDGET + 1)
    for S, style in ((1, "-"), (10, "--")):
        mean, error = mean_and_error(curves[S])
        axes[1, 2].plot(rounds, mean, style, color="#0b5394", label=f"S = {S}")
        axes[1, 2].fill_between(rounds, mean - error, mean + error, color="#0b5394", alpha=0.2)
    axes[1, 2].set(xlabel="round", ylabel="mean aggregated regret", xlim=(1, BUDGET))
    axes[1, 2].legend()
    axes[0, 2].axis("off")
    axes[0, 2].text(0, 0.5, "blue: never asked\ngreen: asked once\nred: asked again", fontsize=12)
    figure.savefig(path, dpi=130)
    return True


def draw_tree(axis: Any, optimizer: GPOOOptimizer) -> None:
    """One bar per cell, its depth downwards, its colour by how often it was asked."""
    tree = optimizer.tree_
    colors = np.array(["#7aa6c2", "#2a9d56", "#c1121f"])[np.minimum(tree.n_evaluations, 2)]
    width = (tree.upper - tree.lower)[:, 0]
    axis.barh(tree.depth, width, left=tree.lower[:, 0], color=colors, edgecolor="white", height=0.9)
    axis.set(xlim=(0, 1), ylim=(tree.depth.max() + 0.6, -0.6))


def main(arguments: list[str] | None = None) -> None:
    """Print the table; write it and the figure."""
    options = argument_parser("gpoo_fig5", __doc__, 30).parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    seeds = spawn_seeds(options.seed, options.runs)
    cases = [(S, 2, BUDGET, mirrored) for mirrored in (False, True) for S in (1, 10)]
    curves = replicate(regret_curve, cases, seeds, options.n_jobs)
    table, rows = [], []
    for (S, _, _, mirrored), runs in zip(cases, curves, strict=True):
        mean, error = mean_and_error(runs)
        cells = [f"{mean[t - 1]:.3f} ({error[t - 1]:.3f})" for t in REPORTED]
        table.append((f"S = {S}" + (", mirrored" if mirrored else ""), cells))
        rows += [(S, int(mirrored), t + 1, mean[t], error[t]) for t in range(BUDGET)]
    title = f"Function 3, mean aggregated regret (standard error) of {options.runs} runs"
    print(format_table(title, [f"t = {t}" for t in REPORTED], table))
    header = ("n_representatives", "mirrored", "t", "mean", "standard_error")
    write_csv(options.output / "gpoo_fig5.csv", header, rows)
    if save_figure(options.output / "gpoo_fig5.png", dict(zip((1, 10), curves, strict=False)), 0):
        print(f"\nfigure in {options.output / 'gpoo_fig5.png'}")


if __name__ == "__main__":
    main()

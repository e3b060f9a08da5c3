"""Reproduce Figure 2 of the IQBO paper: a budget to be spent on queries of several resolutions.

``python -m benchmarks.papers.iqbo_fig2 [--runs 10] [--seed 0] [--budget 20]
[--methods CMETS KG ...] [--n-jobs 1] [--output DIR]``

prints, for the linear (LT) and the nonlinear (NLT) transformation, the mean simple regret
(Definition 1: the best x recommended so far) and the mean instant regret (Definition 2: the best
query so far) after spending at most 5, 10, 20, ..., with standard errors, and writes
``iqbo_fig2.csv`` and ``iqbo_fig2.png``. A method that could not afford a query yet recommends the
centre of the domain and has no instant regret.

Settings of the paper: a quadtree of depth 6, cost 0.5 log2(1 / d) with d = 2^-(depth + 1), noise
standard deviation 0.5 / cost. Answers average f over a Gaussian of standard deviation 0.5 / cost
around the image of the cell's centre. CMETS chooses among all depths, and so do the knowledge
gradient (KG) and information-directed sampling (IDS), which the paper does not have, the others
among the 4,096 leaves, which cost 3.5 each.

- "known": p(x | a) is known to the model.
- "learned": it comes from 500 pairs; for CMETS of all depths, with the scale as a column of a.
  Its error is not counted as noise.

All methods share the model of f, learn its hyperparameters after every answer, and follow their
rule from the first query on. "literal" is CMETS with the tree update as printed.

References
----------
M. Zhang, S. Bouabid, C. S. Ong, S. Flaxman, D. Sejdinovic, "Indirect Query Bayesian Optimization
with Integrated Feedback", 2025, section 7.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    argument_parser,
    draw_curve,
    estimates,
    format_table,
    import_pyplot,
    mean_and_error,
    replicate,
    save,
    spawn_seeds,
    write_csv,
)
from benchmarks.papers._branin import IndirectBranin, MultiResolutionBranin
from skgpb.kernels import WindowMean
from skgpb.kernels.learned_window import learned_conditional
from skgpb.optimizers.cmes import CMESOptimizer
from skgpb.optimizers.cmets import CMETSOptimizer
from skgpb.optimizers.indirect_baselines import (
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
from skgpb.optimizers.own_rule import IndirectTargetsOptimizer

N_PAIRS = 500
MAX_DEPTH = 6
TRANSFORMATIONS = {"LT": "linear", "NLT": "cosine"}
FLAT = {
    "CMES": CMESOptimizer,
    "EI": IndirectEIOptimizer,
    "PI": IndirectPIOptimizer,
    "UCB": IndirectUCBOptimizer,
    "MES": IndirectMESOptimizer,
}
RULES = {"KG": "kg", "IDS": "ids"}
METHODS = ("CMETS", "CMETS, literal", *RULES, *FLAT)
KINDS = ("simple", "instant")
STEP = 0.5
REPORTED = (2.5, 5, 10, 15, 20, 30, 40)
AXIS = (np.arange(2**MAX_DEPTH) + 0.5) / 2**MAX_DEPTH
LEAVES = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), -1).reshape(-1, 2)


def centers(depth: int) -> NDArray[np.float64]:
    """Return the centres of the cells of a depth."""
    axis = (np.arange(2**depth) + 0.5) / 2**depth
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


def depth_of(a: NDArray[np.float64]) -> int:
    """Return the depth of a cell, given as [centre, scale]: the scale is 1 / (depth + 1)."""
    return round(1.0 / a[-1]) - 1


def noise_variances(problem: MultiResolutionBranin) -> list[float]:
    """Return the noise variance of each depth."""
    return [problem.level_noise_std(depth) ** 2 for depth in range(MAX_DEPTH + 1)]


def build(method: str, known: bool, problem: MultiResolutionBranin, rng: Any, seed: int) -> Any:
    """Return the optimizer of a row."""
    variances = noise_variances(problem)
    common: dict[str, Any] = {"bounds": problem.bounds, "random_state": seed % 2**31}
    common |= {"relearn": 1, "n_initial": 0, "model_noise": 0.0}
    if method.startswith("CMETS"):
        optimizer = CMETSOptimizer(
            query_bounds=problem.query_bounds,
            window="gaussian",
            scale=problem.level_scale,
            location=problem.location,
            cost=problem.cost,
            alpha=variances.__getitem__,
            max_depth=MAX_DEPTH,
            update="literal" if method.endswith("literal") else "repaired",
            **common,
        )
        if not known:
            X, A = problem.pairs(N_PAIRS, rng)
            optimizer.fit(X, queries=A)
        return optimizer
    if method in RULES:
        return all_depths(method, known, problem, rng, common)
    scale = problem.level_scale(MAX_DEPTH)
    if known:
        conditional = WindowMean(scale=scale, location=problem.location)
    else:
        leaf = IndirectBranin(problem.transformation, scale=scale)
        conditional = learned_conditional(*leaf.pairs(N_PAIRS, rng), "auto", None)
    return FLAT[method](
        conditional=conditional,
        queries=LEAVES,
        alpha=variances[MAX_DEPTH],
        cost=problem.cost(MAX_DEPTH),
        **common,
    )


def all_depths(
    method: str, known: bool, problem: MultiResolutionBranin, rng: Any, common: dict[str, Any]
) -> IndirectTargetsOptimizer:
    """Return the optimizer of a rule that may ask every cell of the tree."""
    cells = [
        np.column_stack([c, np.full(len(c), problem.level_scale(depth))])
        for depth, c in enumerate(map(centers, range(MAX_DEPTH + 1)))
    ]
    if known:
        conditional = WindowMean(location=problem.location)
    else:
        X, A = problem.pairs(N_PAIRS, rng)
        conditional = learned_conditional(X, A, "auto", None, scaled=True)
    return IndirectTargetsOptimizer(
        RULES[method],
        conditional=conditional,
        queries=np.concatenate(cells),
        n_points=400,
        alpha=lambda a: problem.level_noise_std(depth_of(a)) ** 2,
        cost=lambda a: problem.cost(depth_of(a)),
        **common,
    )


def regret_curves(
    label: str, known: bool, method: str, budget: float, seed: int
) -> NDArray[np.float64]:
    """Return simple and instant regret of one run after spending at most STEP, 2 STEP, ..., budget.

    The shape is (2, budget / STEP).
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = MultiResolutionBranin(TRANSFORMATIONS[label])
        start, noise_seed = np.random.SeedSequence(seed).spawn(2)
        noise = np.random.default_rng(noise_seed)
        optimizer = build(method, known, problem, np.random.default_rng(start), seed)
        center = problem.bounds.mean(axis=1)
        best, curve = np.array([float(problem.f(center[np.newaxis])[0]), np.nan]), []
        while True:
            query = optimizer.ask()
            spent = optimizer.spent_ + query.cost
            while len(curve) < round(budget / STEP) and (len(curve) + 1) * STEP < spent - 1e-9:
                curve.append(best)
            if spent > budget + 1e-9:
                return problem.optimum - np.array(curve).T
            optimizer.tell(query, problem.observe(as_cell(query), noise))
            x = float(problem.f(optimizer.recommend()[np.newaxis])[0])
            best = np.fmax(best, [x, problem.value(as_cell(query))])


def as_cell(query: Any) -> Any:
    """Return a query as a cell; those of flat methods are leaves, and others bring their scale."""
    if hasattr(query, "depth"):
        return query
    depth, center = MAX_DEPTH, query.a
    if len(query.a) > 2:
        depth, center = depth_of(query.a), query.a[:-1]
    half = 0.5 / 2**depth
    return SimpleNamespace(depth=depth, lower=center - half, upper=center + half)


def print_tables(curves: dict[tuple, NDArray[np.float64]], budget: float) -> None:
    """Print mean (standard error) per method and amount spent."""
    reported = [b for b in REPORTED if b <= budget]
    header = [f"spent {b:g}" for b in reported]
    at = [round(b / STEP) for b in reported]
    for label, known in sorted({key[:2] for key in curves}):
        for which, kind in enumerate(KINDS):
            rows = [
                (method, estimates(curves[label, known, method][:, which], at))
                for method in METHODS
                if (label, known, method) in curves
            ]
            title = f"{label}, p(x | a) {'known' if known else 'learned'}, {kind} regret"
            print(format_table(title, header, rows), end="\n\n")


def print_verdict(curves: dict[tuple, NDArray[np.float64]], budget: float) -> None:
    """Compare CMETS with CMES and the best baseline at a budget of 20."""
    at = round(min(20.0, budget) / STEP) - 1
    print(f"At a budget of {(at + 1) * STEP:g}, mean simple regret of CMETS as a share of")
    for label, known in sorted({key[:2] for key in curves}):
        mean = {m: curves[label, known, m][:, 0, at].mean() for m in METHODS}
        rivals = {m: mean[m] for m in FLAT if m != "CMES"}
        best = min(rivals, key=rivals.get)
        print(
            f"  {label:3s} {'known' if known else 'learned':7s}: CMES's "
            f"{mean['CMETS'] / mean['CMES']:.2f}, the best baseline's ({best}) "
            f"{mean['CMETS'] / rivals[best]:.2f}"
        )
    print()


def save_csv(path: Path, curves: dict[tuple, NDArray[np.float64]]) -> None:
    """Write mean, standard error and median for every amount spent."""
    rows = []
    for (label, known, method), runs in curves.items():
        mean, error = mean_and_error(runs)
        middle = np.median(runs, axis=0)
        for which, kind in enumerate(KINDS):
            columns = (mean[which], error[which], middle[which])
            rows += [
                [label, int(known), method, kind, (i + 1) * STEP, len(runs), *each]
                for i, each in enumerate(zip(*columns, strict=True))
            ]
    header = ["transformation", "known", "method", "regret", "spent", "n_runs", "mean"]
    header += ["standard_error"]
    write_csv(path, [*header, "median"], rows)


COLORS = {
    "CMETS": "#0b5394",
    "CMES": "#6fa8dc",
    "EI": "#d1600a",
    "PI": "#8e44ad",
    "UCB": "#2a9d56",
    "MES": "#7f7f7f",
    "KG": "#c0392b",
    "IDS": "#17becf",
}


def save_figure(path: Path, curves: dict[tuple, NDArray[np.float64]]) -> None:
    """Draw both regrets against the amount spent, where there is matplotlib."""
    plt = import_pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(2, 4, figsize=(17, 8), sharex=True, layout="constrained")
    for row, label in zip(axes, TRANSFORMATIONS, strict=True):
        panels = [(known, which) for known in (True, False) for which in range(len(KINDS))]
        for ax, (known, which) in zip(row, panels, strict=True):
            for method, color in COLORS.items():
                runs = curves[label, known, method][:, which]
                spent = STEP * np.arange(1, runs.shape[1] + 1)
                draw_curve(ax, spent, runs, color=color, label=method)
            title = f"{label}, p(x | a) {'known' if known else 'learned'}"
            ax.set(title=title, yscale="log", ylabel=f"{KINDS[which]} regret")
            ax.grid(alpha=0.3)
    for ax in axes[-1]:
        ax.set_xlabel("cost of all queries")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False
    )
    save(plt, figure, path)


def main(arguments: list[str] | None = None) -> None:
    """Run the reproduction from the command line."""
    parser = argument_parser("papers.iqbo_fig2", __doc__, 10, n_jobs=True)
    parser.add_argument("--budget", type=float, default=20.0, help="cost to be spent (default 20)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="these rows alone")
    options = parser.parse_args(arguments)
    if not 3.5 <= options.budget < np.inf:
        parser.error("the budget must be at least 3.5")

    start = time.perf_counter()
    cases = [
        (label, known, method)
        for label in TRANSFORMATIONS
        for known in (True, False)
        for method in options.methods or METHODS
    ]
    arguments = [(*case, options.budget) for case in cases]
    results = replicate(
        regret_curves, arguments, spawn_seeds(options.seed, options.runs), options.n_jobs
    )
    curves = dict(zip(cases, results, strict=True))
    print(f"Mean (standard error) over {options.runs} runs, seed {options.seed}\n")
    print_tables(curves, options.budget)
    if options.methods is None:
        print_verdict(curves, options.budget)
    table, picture = options.output / "iqbo_fig2.csv", options.output / "iqbo_fig2.png"
    save_csv(table, curves)
    print(f"Written: {table}")
    if options.methods is None:
        save_figure(picture, curves)
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()

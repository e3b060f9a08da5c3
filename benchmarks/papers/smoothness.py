"""delta(h) from the kernel, and recommendations from the posterior, against c = 14.

    python -m benchmarks.papers.smoothness [--runs 30 --draws 50 --rounds 80 --seed 0 --n-jobs 1
        --output DIR]

Mean aggregated regret at t = 20, 40 and 80 over the paper's two functions, their mirror images
and fresh draws from Gaussian processes in one and two dimensions, with S = 1 and S = 5 points
per axis. Every function counts once, however many runs it had. For each method the first row is
delta(h) = 14 / 2^h with the paper's recommendation; the others take delta(h) from the kernel.
"advised" is what the user guide advises: recommendations from the posterior, beta = 4, and GPOO's
``expansion="posterior"``; "own beta" is the same with the confidence width of the theory. The last
columns say by which factor the regret fell.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    replicate,
    spawn_seeds,
    write_csv,
)
from skgpb import GPOOOptimizer, GPTreeOptimizer, GPZoomingOptimizer
from skgpb.exceptions import RefinementWarning
from skgpb.problems import gpoo_function

TIMES = (20, 40, 80)
NOISE = 0.1
LENGTH_SCALES = {1: 0.05, 2: 0.15}  # length scales of the fresh draws, by dimension
C14, BEFORE = {"variation": (14.0, 0.5)}, {"expansion": "before"}

#: label -> class, its parameters and those of ``recommend``
VARIANTS: dict[str, tuple[type, dict[str, Any], dict[str, Any]]] = {
    "GPOO c=14": (GPOOOptimizer, C14 | BEFORE, {"method": "paper"}),
    "GPOO kernel": (GPOOOptimizer, BEFORE, {"method": "paper"}),
    "GPOO kernel, rule": (GPOOOptimizer, BEFORE, {"method": "posterior"}),
    "GPOO advised, own beta": (GPOOOptimizer, {}, {"method": "posterior"}),
    "GPOO advised": (GPOOOptimizer, {"beta": 4.0}, {"method": "posterior"}),
    "GPTree c=14": (GPTreeOptimizer, C14, {"method": "paper"}),
    "GPTree kernel": (GPTreeOptimizer, {}, {"method": "paper"}),
    "GPTree advised, own beta": (GPTreeOptimizer, {}, {"method": "posterior"}),
    "GPTree advised": (GPTreeOptimizer, {"beta": 4.0}, {"method": "posterior"}),
    "zooming c=14": (GPZoomingOptimizer, {"variation": (14.0, 1.0)}, {"method": "paper"}),
    "zooming kernel": (GPZoomingOptimizer, {}, {"method": "paper"}),
    "zooming advised, own beta": (GPZoomingOptimizer, {}, {"method": "posterior"}),
    "zooming advised": (GPZoomingOptimizer, {"beta": 4.0}, {"method": "posterior"}),
}


class PaperFunction:
    """One of the paper's functions, with what is needed of any problem here."""

    def __init__(self, number: int, mirrored: bool) -> None:
        problem = gpoo_function(number, mirrored=mirrored)
        self.f, self.optimum, self.dimension = problem.f, problem.optimum, 1
        self.kernel = 0.1 * RBF(0.05)


class Draw:
    """A fresh draw, interpolated from its values on a grid finer than the length scale."""

    def __init__(self, dimension: int, seed: int) -> None:
        self.dimension = dimension
        self.kernel = 0.1 * RBF(LENGTH_SCALES[dimension])
        self._nodes = unit_grid(81 if dimension == 1 else 21, dimension)
        factor = np.linalg.cholesky(self.kernel(self._nodes) + 1e-9 * np.eye(len(self._nodes)))
        normal = np.random.default_rng(seed).normal(size=len(self._nodes))
        self._weights = np.linalg.solve(factor.T, normal)
        self.optimum = float(self.f(unit_grid(1000 if dimension == 1 else 101, dimension)).max())

    def f(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points X (n, d)."""
        return self.kernel(X, self._nodes) @ self._weights


def unit_grid(n: int, dimension: int) -> NDArray[np.float64]:
    axes = [np.linspace(0, 1, n)] * dimension
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimension)


def regrets(
    variant: str,
    source: type,
    arguments: tuple[Any, ...],
    representatives: int,
    times: tuple[int, ...],
    seed: int,
) -> NDArray[np.float64]:
    """Aggregated regret of one run at some times."""
    problem = source(*arguments)
    optimizer_class, parameters, rule = VARIANTS[variant]
    if optimizer_class is GPOOOptimizer:
        parameters = {"max_depth": 10, **parameters}
    else:
        parameters = {"horizon": times[-1], **parameters}
    optimizer = optimizer_class(
        problem.kernel,
        bounds=[(0, 1)] * problem.dimension,
        alpha=NOISE**2,
        feedback="average",
        n_representatives=representatives,
        **parameters,
    )
    rng = np.random.default_rng(seed)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefinementWarning)
        for t in range(1, times[-1] + 1):
            query = optimizer.ask()
            optimizer.tell(query, problem.f(query.points).mean() + NOISE * rng.normal())
            if t in times:
                found.append(problem.optimum - problem.f(optimizer.recommend(**rule).points).mean())
    return np.array(found)


def main(arguments: list[str] | None = None) -> None:
    parser = argument_parser(
        "papers.smoothness", __doc__, 30, n_jobs=True, draws=50, rounds=TIMES[-1]
    )
    options = parser.parse_args(arguments)
    times = tuple(t for t in TIMES if t <= options.rounds)
    if not times:
        parser.error(f"rounds must be at least {TIMES[0]}")
    run_seeds = spawn_seeds(options.seed, options.runs)
    draw_seeds = spawn_seeds(options.seed + 1, options.draws)
    paper = [(i, mirrored) for i in (1, 2) for mirrored in (False, True)]

    rows, table, base = [], [], None
    for variant in VARIANTS:
        tasks = [(variant, PaperFunction, p, S, times) for p in paper for S in (1, 5)]
        curves = replicate(regrets, tasks, run_seeds, options.n_jobs)
        draws = [
            (variant, Draw, (d, seed), S, times)
            for d in (1, 2)
            for seed in draw_seeds
            for S in (1, 5)
        ]
        curves += replicate(regrets, draws, [options.seed + 2], options.n_jobs)
        each = np.array([curve.mean(axis=0) for curve in curves])
        mean, error = mean_and_error(each)
        if variant.endswith("c=14"):
            base = mean
        cells = [estimate(m, e, 4) for m, e in zip(mean, error, strict=True)]
        cells += [f"{b / m:.1f}" for b, m in zip(base, mean, strict=True)]
        table.append((variant, cells))
        rows += [(variant, t, m, e) for t, m, e in zip(times, mean, error, strict=True)]
    header = [f"t = {t}" for t in times] + [f"x{t}" for t in times]
    title = (
        f"Aggregated regret, mean (standard error) over {len(each)} problems, seed {options.seed}"
    )
    print(format_table(title, header, table), end="\n\n")
    path = options.output / "smoothness.csv"
    write_csv(path, ("variant", "t", "mean", "standard_error"), rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

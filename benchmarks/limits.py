"""Optima under limits on other measured outcomes, and how many suggestions are beyond them.

``python -m benchmarks.limits [--runs 10] [--seed 0] [--problems Gardner ...] [--plain]``
plays five problems without noise: the second one of Gardner et al. [Gardner2014]_, that of Gramacy
et al. [Gramacy2016]_, Townsend's function in its heart-shaped region [Townsend2014]_, and of
mechanics [Arora2017]_ a spring and a welded beam. Sides and outcomes of the last two span several
powers of ten: they are on a log scale, as somebody would enter them.

Ours is an ``Experiment`` with its defaults, but for numbers of any digits. ``--plain`` plays
expected improvement times the probability that all limits hold instead, with Gaussian processes of
scikit-learn whose Matérn-5/2 kernels have a length scale for every side, from 10 points of a Sobol
sequence on.

A run is good if the setting recommended at its end is within all limits and no more than 2 % worse
than the optimum. Printed for each problem: how many runs are good, how many recommend a setting
that is beyond a limit, the median of how much worse the others are, and how many suggestions after
the first 10 were beyond a limit.

References
----------
.. [Gardner2014] J. R. Gardner, M. J. Kusner, Z. Xu, K. Q. Weinberger and J. P. Cunningham,
   "Bayesian Optimization with Inequality Constraints", ICML 2014. Simulation 2.
.. [Gramacy2016] R. B. Gramacy et al., "Modeling an Augmented Lagrangian for Blackbox Constrained
   Optimization", Technometrics 58 (1), 2016. Equation 2.
.. [Townsend2014] A. Townsend, "Constrained optimization in Chebfun", chebfun.org, 2014.
.. [Arora2017] J. S. Arora, "Introduction to Optimum Design", 4th edition, Academic Press, 2017.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, pi, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import norm, qmc

from benchmarks._common import argument_parser, format_table, write_csv

#: Size of the first design.
N_FIRST = 10
#: A recommendation that is worse than the optimum by less than this share of it is good.
WITHIN = 0.02


@dataclass
class Problem:
    """A function to be minimised where some others are at most 0.

    Attributes
    ----------
    bounds : list of pairs
        Ends of the sides.
    least : float
        The optimum.
    function : callable
        Returns the value at a point (d,), and those that are to be at most 0.
    n_answers : int
        Number of evaluations.
    logarithmic : bool
        Whether sides are on a log scale, and the value is the logarithm of what counts.
    """

    bounds: list[tuple[float, float]]
    least: float
    function: Callable[[np.ndarray], tuple[float, list[float]]]
    n_answers: int
    logarithmic: bool = False

    def excess(self, value: float) -> float:
        """Return by which share a value is worse than the optimum."""
        if self.logarithmic:
            return float(np.exp(value - self.least) - 1.0)
        return (value - self.least) / abs(self.least)


def _gardner(x: np.ndarray) -> tuple[float, list[float]]:
    return float(np.sin(x[0]) + x[1]), [float(np.sin(x[0]) * np.sin(x[1]) + 0.95)]


def _gramacy(x: np.ndarray) -> tuple[float, list[float]]:
    wave = 1.5 - x[0] - 2 * x[1] - 0.5 * np.sin(2 * pi * (x[0] ** 2 - 2 * x[1]))
    return float(x.sum()), [float(wave), float(x @ x - 1.5)]


def _townsend(x: np.ndarray) -> tuple[float, list[float]]:
    a, b = x
    t = np.arctan2(a, b)
    heart = 2 * np.cos(t) - 0.5 * np.cos(2 * t) - 0.25 * np.cos(3 * t) - 0.125 * np.cos(4 * t)
    value = -(np.cos((a - 0.1) * b) ** 2) - a * np.sin(3 * a + b)
    return float(value), [float(x @ x - heart**2 - 4 * np.sin(t) ** 2)]


def _spring(x: np.ndarray) -> tuple[float, list[float]]:
    """Mass of a spring of wire d, diameter D and n coils: deflection, stress, frequency, size."""
    d, D, n = x
    deflection = log(71785 * d**4 / (D**3 * n))
    stress = (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2)
    frequency = log(D**2 * n / (140.45 * d))
    return log((n + 2) * D * d**2), [deflection, log(stress), frequency, log((D + d) / 1.5)]


def _beam(x: np.ndarray) -> tuple[float, list[float]]:
    """Cost of a beam of height t and width b, welded on by h and l: stresses, size, buckling."""
    h, length, t, b = x
    force, span, modulus, shear = 6000.0, 14.0, 30e6, 12e6
    R = sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    J = 2 * sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    first = force / (sqrt(2) * h * length)
    second = force * (span + length / 2) * R / J
    stress = sqrt(first**2 + first * second * length / R + second**2)
    bending = 6 * force * span / (b * t**2)
    deflection = 4 * force * span**3 / (modulus * t**3 * b)
    slender = 1 - t / (2 * span) * sqrt(modulus / (4 * shear))
    buckling = 4.013 * modulus * sqrt(t**2 * b**6 / 36) / span**2 * slender
    limits = [stress / 13600, bending / 30000, h / b, deflection / 0.25, 6000 / buckling]
    cost = 1.10471 * h**2 * length + 0.04811 * t * b * (14 + length)
    return log(cost), [log(each) for each in limits]


PROBLEMS = {
    "Gardner": Problem([(0, 6), (0, 6)], 0.253236, _gardner, 50),
    "Gramacy": Problem([(0, 1), (0, 1)], 0.599788, _gramacy, 50),
    "Townsend": Problem([(-2.25, 2.25), (-2.5, 1.75)], -2.0239884, _townsend, 60),
    "spring": Problem([(0.05, 0.2), (0.25, 1.3), (2, 15)], log(0.0126652), _spring, 80, True),
    "beam": Problem([(0.1, 2), (0.1, 10), (0.1, 10), (0.1, 2)], log(1.724852), _beam, 100, True),
}


def run_ours(problem: Problem, seed: int) -> tuple[np.ndarray, list[bool]]:
    """Return what an experiment recommends, and whether each suggestion was beyond a limit."""
    from skgpb.experiments import Experiment

    scale, beyond = ":log" if problem.logarithmic else ":any", []
    sides = [f"x{i}={low}:{high}{scale}" for i, (low, high) in enumerate(problem.bounds)]
    n_limits = len(problem.function(np.mean(problem.bounds, axis=1))[1])
    with TemporaryDirectory() as folder:
        experiment = Experiment.create(
            Path(folder) / "run.skgpb",
            sides,
            limits=[f"c{i} <= 0" for i in range(n_limits)],
            direction="minimize",
            seed=seed,
        )
        for _ in range(problem.n_answers):
            (query,) = experiment.ask()
            value, limited = problem.function(np.array(list(query["params"].values())))
            beyond.append(max(limited) > 0.0)
            measured = {f"c{i}": each for i, each in enumerate(limited)}
            experiment.tell(value, query["query"], measured=measured)
        best = experiment.best()
        assert best is not None
        return np.array(list(best["params"].values())), beyond


def run_plain(problem: Problem, seed: int) -> tuple[np.ndarray, list[bool]]:
    """Return the same of constrained expected improvement with scikit-learn's processes."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    bounds, rng = np.array(problem.bounds, dtype=float), np.random.default_rng(seed)
    if problem.logarithmic:
        bounds = np.log(bounds)
    low, length = bounds[:, 0], np.ptp(bounds, axis=1)
    d = len(bounds)

    def at(u: np.ndarray) -> np.ndarray:
        x = low + u * length
        return np.exp(x) if problem.logarithmic else x

    U = qmc.Sobol(d, seed=seed).random(16)[:N_FIRST]
    told = [problem.function(at(u)) for u in U]
    while len(told) < problem.n_answers:
        columns = np.column_stack([[each[0] for each in told], [each[1] for each in told]])
        within = (columns[:, 1:] <= 0.0).all(axis=1)
        near = U[np.argsort(np.where(within, columns[:, 0], inf))[:5]]
        scale = 10.0 ** -rng.uniform(0.5, 3.5, size=(1000, 1))
        near = np.clip(
            near[rng.integers(len(near), size=1000)] + scale * rng.normal(size=(1000, d)), 0, 1
        )
        candidates = np.concatenate([rng.random((1000, d)), near])
        moments = []
        for column in columns.T:
            kernel = ConstantKernel(1.0) * Matern(np.full(d, 0.3), (0.03, 10.0), nu=2.5)
            process = GaussianProcessRegressor(kernel, alpha=1e-6, normalize_y=True).fit(U, column)
            moments.append(process.predict(candidates, return_std=True))
        hold = np.prod(
            [norm.cdf(-mean / np.maximum(std, 1e-12)) for mean, std in moments[1:]], axis=0
        )
        if within.any():
            mean, std = moments[0]
            z = (columns[within, 0].min() - mean) / np.maximum(std, 1e-12)
            hold = hold * std * (z * norm.cdf(z) + norm.pdf(z))
        U = np.vstack([U, candidates[np.argmax(hold)]])
        told.append(problem.function(at(U[-1])))
    beyond = [max(limited) > 0.0 for _, limited in told]
    values = [inf if out else value for (value, _), out in zip(told, beyond, strict=True)]
    return at(U[int(np.argmin(values))]), beyond


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("limits", __doc__, 10)
    parser.add_argument(
        "--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), help="default all"
    )
    parser.add_argument("--plain", action="store_true", help="play the plain method instead")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    run, rows, table = run_plain if options.plain else run_ours, [], []
    for name in options.problems:
        problem, found = PROBLEMS[name], []
        for seed in range(options.seed, options.seed + options.runs):
            x, beyond = run(problem, seed)
            value, limited = problem.function(x)
            lost, excess = max(limited) > 0.0, problem.excess(value)
            found.append((lost, excess, float(np.mean(beyond[N_FIRST:]))))
            rows.append((name, seed, *found[-1]))
        runs = np.array(found, dtype=np.float64)
        kept = runs[:, 0] == 0.0
        good = kept & (runs[:, 1] <= WITHIN)
        median = f"{100.0 * np.median(runs[kept, 1]):.2g} %" if kept.any() else "-"
        share = f"{100.0 * runs[:, 2].mean():.0f} %"
        counts = [f"{int(each.sum())} of {len(runs)}" for each in (good, ~kept)]
        table.append((f"{name}, {problem.n_answers} answers", [*counts, median, share]))
    title = f"{'Plain' if options.plain else 'Ours'}, seed {options.seed}"
    header = ["good", "beyond a limit", "excess", "suggestions beyond"]
    print(format_table(title, header, table))
    path = options.output / f"limits{'_plain' if options.plain else ''}.csv"
    write_csv(path, ["problem", "seed", "beyond_limit", "excess", "share_beyond"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

"""Optima under limits on other measured outcomes, and how many suggestions are beyond them.

    python -m benchmarks.limits [--runs 10] [--seed 0] [--problems Gardner ...]
        [--plain | --botorch]

Five problems without noise: the second one of Gardner et al. [Gardner2014]_, that of Gramacy
et al. [Gramacy2016]_, Townsend's function in its heart-shaped region [Townsend2014]_, and of
mechanics [Arora2017]_ a spring and a welded beam. Sides and outcomes of the last two span several
powers of ten: they are on a log scale, as somebody would enter them.

Ours is an ``Experiment`` with its defaults, but for numbers of any digits. ``--plain`` plays
expected improvement times the probability that all limits hold instead, with Gaussian processes of
scikit-learn whose Matérn-5/2 kernels have a length scale for every side, from 10 points of a Sobol
sequence on. ``--botorch`` plays BoTorch's logarithm of the same, with its ``SingleTaskGP`` of every
standardised outcome, from the first ten settings of ours on; where none of these is within all
limits, it looks for one first, by the probability that they hold.

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

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, pi, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats import norm, qmc

from benchmarks._common import argument_parser, format_table, write_csv

#: Size of the first design.
N_FIRST = 10
#: A recommendation that is worse than the optimum by less than this share of it is good.
WITHIN = 0.02
#: Starts and raw samples of BoTorch's search for the best setting.
RESTARTS, RAW = 5, 128


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


Told = list[tuple[float, list[float]]]


def start_experiment(problem: Problem, seed: int, folder: str) -> Any:
    """Return an experiment about a problem, with its defaults, but for numbers of any digits."""
    from skgpb.lab.experiments import Experiment
    from skgpb.lab.experiments.sides import Side

    sides = [
        Side(f"x{i}", "log", stats.loguniform(*ends), exact=True)
        if problem.logarithmic
        else Side(f"x{i}", "range", ends, exact=True)
        for i, ends in enumerate(problem.bounds)
    ]
    n_limits = len(problem.function(np.mean(problem.bounds, axis=1))[1])
    return Experiment.create(
        Path(folder) / "run.skgpb",
        sides,
        limits=[f"c{i} <= 0" for i in range(n_limits)],
        direction="minimize",
        seed=seed,
    )


def play(experiment: Any, problem: Problem, n_answers: int) -> tuple[np.ndarray, Told]:
    """Answer what an experiment asks; return the settings (n_answers, d) and the answers."""
    X, told = [], []
    for _ in range(n_answers):
        (query,) = experiment.ask()
        X.append(list(query["params"].values()))
        value, limited = problem.function(np.array(X[-1]))
        told.append((value, limited))
        measured = {f"c{i}": each for i, each in enumerate(limited)}
        experiment.tell(value, query["query"], measured=measured)
    return np.array(X), told


def beyond_limits(told: Told) -> list[bool]:
    """Return whether each answer was beyond a limit."""
    return [max(limited) > 0.0 for _, limited in told]


def best_within(X: np.ndarray, told: Told) -> np.ndarray:
    """Return the best setting that was within all limits."""
    values = [value if max(limited) <= 0.0 else inf for value, limited in told]
    return X[int(np.argmin(values))]


def run_ours(problem: Problem, seed: int) -> tuple[np.ndarray, list[bool]]:
    """Return what an experiment recommends, and whether each suggestion was beyond a limit."""
    with TemporaryDirectory() as folder:
        experiment = start_experiment(problem, seed, folder)
        _, told = play(experiment, problem, problem.n_answers)
        best = experiment.best()
        assert best is not None
        return np.array(list(best["params"].values())), beyond_limits(told)


def run_botorch(problem: Problem, seed: int) -> tuple[np.ndarray, list[bool]]:
    """Return the same of BoTorch, from the first settings of an experiment of the same seed on."""
    import torch
    from botorch import fit_gpytorch_mll
    from botorch.acquisition.analytic import (
        LogConstrainedExpectedImprovement,
        LogProbabilityOfFeasibility,
    )
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import SumMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    with TemporaryDirectory() as folder:
        X, told = play(start_experiment(problem, seed, folder), problem, N_FIRST)
    low, length, at = unit_cube(problem)
    U = ((np.log(X) if problem.logarithmic else X) - low) / length
    cube = torch.tensor([[0.0] * len(low), [1.0] * len(low)], dtype=torch.double)
    while len(told) < problem.n_answers:
        known = torch.tensor(U, dtype=torch.double)
        columns = np.column_stack([[each[0] for each in told], [each[1] for each in told]])
        # No noise is known, as in ours.
        model = ModelListGP(
            *(
                SingleTaskGP(
                    known,
                    torch.tensor(column[:, np.newaxis], dtype=torch.double),
                    outcome_transform=Standardize(m=1),
                )
                for column in columns.T
            )
        )
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        within = (columns[:, 1:] <= 0.0).all(axis=1)
        limits = dict.fromkeys(range(1, columns.shape[1]), (None, 0.0))
        rule = (
            LogConstrainedExpectedImprovement(
                model, columns[within, 0].min(), 0, limits, maximize=False
            )
            if within.any()
            else LogProbabilityOfFeasibility(model, limits)
        )
        found, _ = optimize_acqf(rule, cube, q=1, num_restarts=RESTARTS, raw_samples=RAW)
        U = np.vstack([U, found.numpy()])
        told.append(problem.function(at(U[-1])))
    return best_within(at(U), told), beyond_limits(told)


def unit_cube(
    problem: Problem,
) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return lower ends and lengths of sides, and what returns the settings at points of a cube."""
    bounds = np.array(problem.bounds, dtype=float)
    if problem.logarithmic:
        bounds = np.log(bounds)
    low, length = bounds[:, 0], np.ptp(bounds, axis=1)

    def at(u: np.ndarray) -> np.ndarray:
        x = low + u * length
        return np.exp(x) if problem.logarithmic else x

    return low, length, at


def run_plain(problem: Problem, seed: int) -> tuple[np.ndarray, list[bool]]:
    """Return the same of constrained expected improvement with scikit-learn's processes."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    d, rng = len(problem.bounds), np.random.default_rng(seed)
    *_, at = unit_cube(problem)
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
    return best_within(at(U), told), beyond_limits(told)


METHODS = {"ours": run_ours, "plain": run_plain, "botorch": run_botorch}
TITLES = {"ours": "Ours", "plain": "Plain", "botorch": "BoTorch"}


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("limits", __doc__, 10)
    parser.add_argument(
        "--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), help="default all"
    )
    parser.add_argument(
        "--plain", dest="method", action="store_const", const="plain", default="ours",
        help="play the plain method instead",
    )  # fmt: skip
    parser.add_argument(
        "--botorch", dest="method", action="store_const", const="botorch",
        help="play BoTorch instead, which has to be installed",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    if options.method == "botorch" and not importlib.util.find_spec("botorch"):
        raise SystemExit("BoTorch is not installed. Install it with: python -m pip install botorch")
    warnings.simplefilter("ignore")
    run, rows, table = METHODS[options.method], [], []
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
    title = f"{TITLES[options.method]}, seed {options.seed}"
    header = ["good", "beyond a limit", "excess", "suggestions beyond"]
    print(format_table(title, header, table))
    path = options.output / f"limits{'' if options.method == 'ours' else f'_{options.method}'}.csv"
    write_csv(path, ["problem", "seed", "beyond_limit", "excess", "share_beyond"], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

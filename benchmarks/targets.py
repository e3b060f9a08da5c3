"""The best cell of a given side with queries of any size, compared with searches by centres.

    python -m benchmarks.targets [--half confirming] [--methods kg gpoo ucb ei botorch optuna-tpe]
        [--dimensions 1 2 4] [--noise 1 10] [--volume no yes] [--runs 20] [--seed 0] [--budget 60]

There are four functions in each of 1, 2 and 4 dimensions. Two served to choose the defaults; the
other two, used unless you say otherwise, show how good these defaults are. Runs go to the functions
in turn. An answer is the average over a cell with noise of 1 or 10 % of the range of f, for all
cells alike, or for cells of the wanted side, with a variance in inverse proportion to the volume.
Who asks for points is told the average over the cell of the wanted side around it. Nobody is told
how large the noise is.

Printed is the regret of the cell that is recommended at the end, in percent of the range of f:
how far its average is below that of the best cell of this side, wherever it lies. Rows that were
computed before are read from --output.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, positive_int
from benchmarks.peers.methods import BoTorch, OptunaGP, OptunaTPE, quiet
from benchmarks.suite.functions import HALVES, function, in_range, levy
from skgpb import EIOptimizer, GPOOOptimizer, GPUCBOptimizer, KGOptimizer
from skgpb.domains import Cells

#: By dimensions; of either pair the first chooses and the second confirms.
FUNCTIONS = {
    1: ("forrester", "gramacy-lee", "needle-1", "rough-1"),
    2: ("branin", "camel", "sines-2", "hills-2"),
    4: ("hartmann-4", "hills-4", "levy-4", "styblinski-4"),
}
SIDES = {1: 0.1, 2: 0.2, 4: 0.4}
#: Points that stand for all of a cell, and places among which the best one is looked for.
N_POINTS, N_PLACES, N_IMPROVED = 256, 2048, 5
FIELDS = ("method", "function", "noise", "volume", "run", "regret", "seconds")


@cache
def value_of(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """Points (n, d) to values (n,), in units of the range."""
    return in_range(levy, 4) if name == "levy-4" else function(name).value


class Problem:
    """A function of the unit cube, and the side of the cell that is wanted."""

    def __init__(self, name: str, d: int) -> None:
        self.name, self.d, self.side = name, d, SIDES[d]
        self.value = value_of(name)
        self.unit = qmc.Sobol(d, seed=1).random(N_POINTS)
        self.last = 1.0 - self.side
        places = qmc.Sobol(d, seed=0).random(N_PLACES) * self.last
        values = np.array([self.average_at(place) for place in places])
        self.best = max(
            -minimize(lambda place: -self.average_at(place), places[i], method="Nelder-Mead").fun
            for i in np.argsort(-values)[:N_IMPROVED]
        )

    def average(self, lower: np.ndarray, upper: np.ndarray) -> float:
        """Average over a cell."""
        return float(self.value(lower + self.unit * (upper - lower)).mean())

    def average_at(self, lower: np.ndarray) -> float:
        """Average over the cell of the wanted side at a lower corner, moved inside."""
        lower = np.clip(lower, 0.0, self.last)
        return self.average(lower, lower + self.side)


@cache
def problem(name: str, d: int) -> Problem:
    """Return the problem, whose optimum is found once."""
    return Problem(name, d)


class Oracle:
    """Averages with noise; the noise of a run is the same for all methods."""

    def __init__(self, target: Problem, noise: float, by_volume: bool, seed: int) -> None:
        self.target, self.noise, self.by_volume = target, noise, by_volume
        self.rng = np.random.default_rng([seed, 7])

    def __call__(self, cell: Any) -> float:
        return self.answer(cell.lower, cell.upper)

    def at(self, center: np.ndarray) -> float:
        """Answer for the cell of the wanted side around a point, moved inside."""
        lower = np.clip(center - 0.5 * self.target.side, 0.0, self.target.last)
        return self.answer(lower, lower + self.target.side)

    def answer(self, lower: np.ndarray, upper: np.ndarray) -> float:
        """Answer for a cell."""
        share = float(np.prod((upper - lower) / self.target.side)) if self.by_volume else 1.0
        deviation = self.noise / np.sqrt(share)
        return self.target.average(lower, upper) + deviation * self.rng.standard_normal()


# -- methods: functions of an oracle, a seed and a budget that return a lower corner ---------------


def kg(factors: tuple[float, ...], **settings: Any) -> Callable:
    """The knowledge gradient, asking for cells of some multiples of the wanted side."""

    def play(oracle: Oracle, seed: int, budget: int) -> np.ndarray:
        side, d = oracle.target.side, oracle.target.d
        sizes = np.minimum(1.0, side * np.array(factors))
        # It is known how noise depends on the volume; without that one variance is learned.
        alpha = oracle.noise**2 * (side / sizes) ** d if oracle.by_volume else None
        optimizer = KGOptimizer(
            queries=Cells(sizes.tolist()),
            alpha=alpha,
            targets=Cells(side),
            bounds=[(0.0, 1.0)] * d,
            random_state=seed,
            **settings,
        )
        return optimizer.run(oracle, budget).x.lower

    return play


def gpoo(oracle: Oracle, seed: int, budget: int) -> np.ndarray:
    """GPOO, with the rule that finds the cell of a side in its posterior."""
    optimizer = GPOOOptimizer(bounds=[(0.0, 1.0)] * oracle.target.d, random_state=seed)
    optimizer.run(oracle, budget)
    return optimizer.recommend(side=oracle.target.side).lower


def gpoo_to_side(oracle: Oracle, seed: int, budget: int) -> np.ndarray:
    """Run the search without cells whose sides are below half those of the wanted cell."""
    target = oracle.target
    depth = target.d * int(np.ceil(np.log2(1.0 / target.side))) - 1
    optimizer = GPOOOptimizer(
        bounds=[(0.0, 1.0)] * target.d, max_depth=max(1, depth), random_state=seed
    )
    optimizer.run(oracle, budget)
    return optimizer.recommend(side=target.side).lower


def at_centers(rule: type) -> Callable:
    """A rule of ours over the centres of cells."""

    def play(oracle: Oracle, seed: int, budget: int) -> np.ndarray:
        half = 0.5 * oracle.target.side
        box = [(half, 1.0 - half)] * oracle.target.d
        optimizer = rule(bounds=box, random_state=seed)
        return optimizer.run(lambda arm: oracle.at(arm.points[0]), budget).x.points[0] - half

    return play


def peer(method: type) -> Callable:
    """Return a peer that searches the centres of cells, scaled to its unit cube."""

    def play(oracle: Oracle, seed: int, budget: int) -> np.ndarray:
        target = oracle.target
        played = method(target.d, 0.0, seed)
        for _ in range(budget):
            x = played.ask()
            played.tell(x, oracle.at(0.5 * target.side + np.asarray(x) * target.last))
        return np.asarray(played.recommend()) * target.last

    return play


class BoTorchLearningNoise(BoTorch):
    """BoTorch where the noise is learned as well."""

    label = "BoTorch"

    def model(self) -> Any:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = torch.tensor(np.array(self.X), dtype=torch.float64)
        Y = torch.tensor(np.array(self.y), dtype=torch.float64)[:, None]
        model = SingleTaskGP(X, Y, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, X


METHODS: dict[str, Callable] = {
    "kg": kg((1.0, 0.5, 2.0, 0.25)),
    "kg-growing": kg((1.0, 0.5, 2.0, 0.25), relearn="growing"),
    "kg-side": kg((1.0,)),
    "kg-half": kg((1.0, 0.5)),
    "kg-twice": kg((1.0, 2.0)),
    "kg-three": kg((1.0, 0.5, 2.0)),
    "gpoo": gpoo,
    "gpoo-to-side": gpoo_to_side,
    "ucb": at_centers(GPUCBOptimizer),
    "ei": at_centers(EIOptimizer),
    "botorch": peer(BoTorchLearningNoise),
    "optuna-gp": peer(OptunaGP),
    "optuna-tpe": peer(OptunaTPE),
}
OF_ONE_SIDE = {"kg-side", "ucb", "ei", "botorch", "optuna-gp", "optuna-tpe"}
COMPARED = ("kg", "gpoo", "gpoo-to-side", "ucb", "ei", "botorch", "optuna-gp", "optuna-tpe")


def play(name: str, where: Problem, noise: int, by_volume: bool, run: int, budget: int) -> tuple:
    """Regret in percent of the range, and seconds of CPU."""
    oracle = Oracle(where, noise / 100.0, by_volume, run)
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lower = METHODS[name](oracle, run, budget)
    return 100.0 * (where.best - where.average_at(lower)), process_time() - start


def main(arguments: list[str] | None = None) -> None:
    """Play what is not known yet, and print the table."""
    parser = argument_parser("targets", __doc__, 20, budget=60)
    parser.add_argument("--half", choices=HALVES, default="confirming", help="default confirming")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=COMPARED, help="default all but variants"
    )
    parser.add_argument(
        "--dimensions", nargs="+", type=int, choices=FUNCTIONS, default=(1, 2, 4), help="all"
    )
    parser.add_argument("--noise", nargs="+", type=positive_int, default=(1, 10), help="percent")
    parser.add_argument(
        "--volume", nargs="+", choices=("no", "yes"), default=("no", "yes"), help="noise by volume"
    )
    options = parser.parse_args(arguments)
    quiet()
    path = options.output / f"targets_{options.budget}.csv"
    known: dict[tuple, tuple[float, float]] = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                key = tuple(row[name] for name in FIELDS[:5])
                known[key] = float(row["regret"]), float(row["seconds"])
    settings = list(product(options.dimensions, options.noise, options.volume))
    runs = range(options.seed, options.seed + options.runs)

    def key(method: str, d: int, noise: int, volume: str, run: int) -> tuple[str, ...]:
        names = FUNCTIONS[d][HALVES.index(options.half) :: 2]
        # Whoever asks for cells of the wanted side alone meets the same noise either way.
        volume = "no" if method in OF_ONE_SIDE else volume
        return method, names[run % len(names)], str(noise), volume, str(run)

    with threadpool_limits(1), path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        if not known:
            writer.writerow(FIELDS)
        for run, (d, noise, volume), method in product(runs, settings, options.methods):
            row = key(method, d, noise, volume, run)
            if row not in known:
                where = problem(row[1], d)
                known[row] = play(method, where, noise, row[3] == "yes", run, options.budget)
                writer.writerow([*row, *known[row]])
                stream.flush()
    rows = []
    for method in options.methods:
        found = np.array(
            [[known[key(method, *setting, run)] for setting in settings] for run in runs]
        )
        regrets = [estimate(*mean_and_error(column), 2) for column in found[:, :, 0].T]
        rows.append((method, [*regrets, f"{found[:, :, 1].mean():.1f}"]))
    columns = [
        f"{d}-D {noise}%{' vol' if volume == 'yes' else ''}" for d, noise, volume in settings
    ]
    title = (
        f"Regret, % of the range; {options.runs} runs of {options.budget} answers, {options.half}"
    )
    print(format_table(title, [*columns, "seconds"], rows))
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

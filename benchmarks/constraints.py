"""Optima under linear constraints, and suggestions that keep them.

Five problems of Hock and Schittkowski [Hock1981]_, one of them a mixture. Answers are exact, and
the first 10 are spread over what is possible. Ours is an ``Experiment`` with its defaults, but for
numbers of any digits; ``--steps`` keeps the default, three significant digits of each range. Every
setting asked is checked. ``--peer baybe`` and
``--peer ax`` play BayBE and Ax instead, where they are installed. ``--suggestions 10000`` counts
suggestions that violate anything, over mixtures of 3 to 8 parts in steps and without, under further
inequalities.

References
----------
.. [Hock1981] W. Hock and K. Schittkowski, "Test Examples for Nonlinear Programming Codes", 1981.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks._common import argument_parser, write_csv

N_ANSWERS, N_SEEDS = 60, 10


@dataclass
class Problem:
    """A function to be minimised on a box under linear constraints."""

    bounds: list[tuple[float, float]]
    constraints: list[tuple[list[float], str, float]]
    least: float
    function: Callable[[np.ndarray], float]

    @property
    def names(self) -> list[str]:
        """Names of the sides."""
        return [f"x{i + 1}" for i in range(len(self.bounds))]

    @property
    def texts(self) -> list[str]:
        """The constraints as a user writes them."""
        out = []
        for factors, relation, bound in self.constraints:
            left = " + ".join(f"{c!r}*{n}" for c, n in zip(factors, self.names, strict=True) if c)
            out.append(f"{left.replace('+ -', '- ')} {relation} {bound!r}")
        return out

    def violation(self, x: np.ndarray) -> float:
        """By how much a point violates the constraints, 0 where it satisfies them."""
        worst = 0.0
        for factors, relation, bound in self.constraints:
            gap = float(np.dot(factors, x)) - bound
            over = abs(gap) if relation == "=" else gap if relation == "<=" else -gap
            worst = max(worst, over)
        return worst


def _hs62(x: np.ndarray) -> float:
    a, b, c = x
    return float(
        -32.174
        * (
            255 * np.log((a + b + c + 0.03) / (0.09 * a + b + c + 0.03))
            + 280 * np.log((b + c + 0.03) / (0.07 * b + c + 0.03))
            + 290 * np.log((c + 0.03) / (0.13 * c + 0.03))
        )
    )


ROOT = 3.0**0.5
PROBLEMS = {
    "HS24": Problem(
        [(0, 6), (0, 6)],
        [([1 / ROOT, -1], ">=", 0), ([1, ROOT], ">=", 0), ([1, ROOT], "<=", 6)],
        -1.0,
        lambda x: float(((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * ROOT)),
    ),
    "HS37": Problem(
        [(0, 42)] * 3,
        [([1, 2, 2], "<=", 72), ([1, 2, 2], ">=", 0)],
        -3456.0,
        lambda x: float(-np.prod(x)),
    ),
    "HS44": Problem(
        [(0, 10)] * 4,
        [
            ([1, 2, 0, 0], "<=", 8),
            ([4, 1, 0, 0], "<=", 12),
            ([3, 4, 0, 0], "<=", 12),
            ([0, 0, 2, 1], "<=", 8),
            ([0, 0, 1, 2], "<=", 8),
            ([0, 0, 1, 1], "<=", 5),
        ],
        -15.0,
        lambda x: float(x[0] - x[1] - x[2] - x[0] * x[2] + x[0] * x[3] + x[1] * x[2] - x[1] * x[3]),
    ),
    "HS62": Problem([(0, 1)] * 3, [([1, 1, 1], "=", 1)], -26272.51448, _hs62),
    "HS76": Problem(
        [(0, 5)] * 4,
        [([1, 2, 1, 1], "<=", 5), ([3, 1, 2, -1], "<=", 4), ([0, 1, 4, 0], ">=", 1.5)],
        -4.681818181,
        lambda x: float(
            x[0] ** 2
            + 0.5 * x[1] ** 2
            + x[2] ** 2
            + 0.5 * x[3] ** 2
            - x[0] * x[2]
            + x[2] * x[3]
            - x[0]
            - 3 * x[1]
            + x[2]
            - x[3]
        ),
    ),
}


def run_ours(
    problem: Problem, seed: int, n_answers: int, in_steps: bool = False
) -> tuple[float, float]:
    """Least answer, and the largest violation, of an experiment as a laboratory begins it."""
    from skgpb.lab.experiments import Experiment

    step = "" if in_steps else ":any"
    sides = zip(problem.names, problem.bounds, strict=True)
    asked = []
    with TemporaryDirectory() as folder:
        experiment = Experiment.create(
            Path(folder) / "run.skgpb",
            [f"{name}={low}:{high}{step}" for name, (low, high) in sides],
            constraints=problem.texts,
            direction="minimize",
            seed=seed,
        )
        for _ in range(n_answers):
            (query,) = experiment.ask()
            asked.append(list(query["params"].values()))
            experiment.tell(problem.function(np.array(asked[-1])), query["query"])
    X = np.array(asked)
    return min(map(problem.function, X)), max(map(problem.violation, X))


def run_baybe(problem: Problem, seed: int, n_answers: int) -> tuple[float, float]:
    """Return the same measurements for a BayBE campaign with its defaults."""
    import pandas as pd
    from baybe import Campaign
    from baybe.constraints import ContinuousLinearConstraint
    from baybe.parameters import NumericalContinuousParameter
    from baybe.recommenders import (
        BotorchRecommender,
        RandomRecommender,
        TwoPhaseMetaRecommender,
    )
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget
    from baybe.utils.random import set_random_seed

    set_random_seed(seed)
    names = problem.names
    space = SearchSpace.from_product(
        [NumericalContinuousParameter(n, b) for n, b in zip(names, problem.bounds, strict=True)],
        [
            ContinuousLinearConstraint(names, relation, factors, bound)
            for factors, relation, bound in problem.constraints
        ],
    )
    target = NumericalTarget("y", minimize=True)
    recommender = TwoPhaseMetaRecommender(
        initial_recommender=RandomRecommender(), recommender=BotorchRecommender(), switch_after=10
    )
    campaign = Campaign(space, target.to_objective(), recommender)
    best, worst = np.inf, 0.0
    for i in range(max(1, n_answers - 9)):
        frame = campaign.recommend(batch_size=10 if i == 0 else 1)
        X = frame[names].to_numpy(dtype=float)
        y = [problem.function(x) for x in X]
        best, worst = min(best, *y), max(worst, *map(problem.violation, X))
        campaign.add_measurements(pd.DataFrame(frame[names]).assign(y=y))
    return best, worst


def run_ax(problem: Problem, seed: int, n_answers: int) -> tuple[float, float]:
    """Return the same measurements for a client of Ax with its defaults.

    Ax takes inequalities only. Under an equation the last side is computed from the others, within
    its own bounds.
    """
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig

    names, texts = problem.names, []
    equations = [each for each in problem.constraints if each[1] == "="]
    free = names[: len(names) - len(equations)]
    for factors, relation, bound in problem.constraints:
        if relation == "=":
            a, (low, high) = factors[-1], problem.bounds[-1]
            sides = [("<=", (bound - a * low) / a), (">=", (bound - a * high) / a)]
            factors = [each / a for each in factors[:-1]]
        else:
            sides = [(relation, bound)]
        terms = [f"{c!r}*{name}" for c, name in zip(factors, free, strict=True) if c]
        texts += [f"{' + '.join(terms)} {each} {limit!r}" for each, limit in sides]
    client = Client(random_seed=seed)
    client.configure_experiment(
        parameters=[
            RangeParameterConfig(name=name, parameter_type="float", bounds=tuple(map(float, ends)))
            for name, ends in zip(free, problem.bounds, strict=False)
        ],
        parameter_constraints=texts,
    )
    client.configure_optimization(objective="-y")
    client.configure_generation_strategy(
        initialization_budget=10, initialization_random_seed=seed, torch_device="cpu"
    )
    best, worst = np.inf, 0.0
    for _ in range(n_answers):
        ((number, setting),) = client.get_next_trials(max_trials=1).items()
        x = [float(setting[name]) for name in free]
        for factors, _, bound in equations:
            x.append((bound - float(np.dot(factors[:-1], x))) / factors[-1])
        y = problem.function(np.array(x))
        best, worst = min(best, y), max(worst, problem.violation(np.array(x)))
        client.complete_trial(trial_index=number, raw_data={"y": y})
    return best, worst


RUNS = {"baybe": run_baybe, "ax": run_ax}


def count_violations(n: int, seed: int) -> tuple[int, int]:
    """Return the number of suggestions, and how many of them violated a constraint."""
    from skgpb import GPUCBOptimizer
    from skgpb.domains import Box, Steps

    asked = wrong = 0
    while asked < n:
        d, in_steps = 3 + seed % 6, bool(seed // 6 % 2)
        names = [f"x{i}" for i in range(d)]
        side = Steps(0, 100, 0.1) if in_steps else (0, 100)
        texts = [" + ".join(names) + " = 100", "x0 >= 2*x1", "5 <= x1 + x2 <= 60"]
        opt = GPUCBOptimizer(bounds=Box(dict.fromkeys(names, side), texts), random_state=seed)
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=d)
        for _ in range(10):
            for query in opt.ask(10):
                x = np.array(list(query.params.values()))
                slack = 1e-9
                fine = (
                    abs(x.sum() - 100) <= slack
                    and x[0] >= 2 * x[1] - slack
                    and 5 - slack <= x[1] + x[2] <= 60 + slack
                    and x.min() >= 0
                    and (not in_steps or np.abs(10 * x - np.round(10 * x)).max() < 1e-9)
                )
                asked, wrong = asked + 1, wrong + (not fine)
                opt.tell(query, float(factors @ x) + rng.normal())
        seed += 1
    return asked, wrong


def print_row(label: str, cells: list[str]) -> None:
    """Print a line of the table at once: the peer takes minutes for each."""
    print(f"{label:<4}" + "".join(f"{cell:>11}" for cell in cells), flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print how near to the optimum the runs came, or how many suggestions were impossible."""
    parser = argument_parser("constraints", __doc__, N_SEEDS, answers=N_ANSWERS)
    parser.add_argument("--peer", choices=RUNS, help="library played in place of ours")
    parser.add_argument(
        "--steps", action="store_true", help="ours asks for three significant digits, its default"
    )
    parser.add_argument(
        "--problems",
        nargs="+",
        choices=PROBLEMS,
        default=list(PROBLEMS),
        help="all by default",
    )
    parser.add_argument(
        "--suggestions", type=int, default=0, metavar="N", help="count impossible ones of N instead"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.suggestions:
        asked, wrong = count_violations(options.suggestions, options.seed)
        print(f"{asked} suggestions, {wrong} of them impossible")
        header, rows = ["suggestions", "impossible"], [(asked, wrong)]
    else:
        header = ["problem", "seed", "least answer", "relative gap", "largest violation"]
        rows = []
        print("Least answer above the optimum, in units of it")
        print_row("", ["median", "worst run", "violation"])
        run = RUNS[options.peer] if options.peer else partial(run_ours, in_steps=options.steps)
        for name in options.problems:
            problem = PROBLEMS[name]
            for seed in range(options.seed, options.seed + options.runs):
                best, worst = run(problem, seed, options.answers)
                gap = (best - problem.least) / abs(problem.least)
                rows.append((name, seed, best, gap, worst))
            gaps, worst = np.array([row[3:] for row in rows if row[0] == name]).T
            cells = [np.median(gaps), gaps.max(), worst.max()]
            print_row(name, [f"{cell:.1e}" for cell in cells])
    path = options.output / "constraints.csv"
    write_csv(path, header, rows)
    print(f"Written: {path}")


if __name__ == "__main__":
    main()

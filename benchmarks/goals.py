"""Several goals: the volume that the queries dominate, beside NSGA-II, TPE and qLogNEHVI.

Each problem has two or three goals, a reference point for its volume, and noise, of a standard
deviation that is a share of the range of each goal. Volumes are of the true values of all settings
asked, as a share of the volume that a long evolutionary search found.

Half of the problems chose the rule and its numbers, and the others are reported. Ours is
``EIOptimizer`` with its defaults, and with the reference point given. NSGA-II and TPE are those of
Optuna, and ``qLogNEHVI`` is BoTorch's noisy expected hypervolume improvement [Ament2023]_ of a
``SingleTaskGP`` for each goal, which is told the reference point; both libraries must be installed
for ``--methods``.

References
----------
.. [Ament2023] S. Ament, S. Daulton, D. Eriksson, M. Balandat and E. Bakshy, "Unexpected
   Improvements to Expected Improvement for Bayesian Optimization", NeurIPS 2023.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import qmc

from benchmarks._common import (
    argument_parser,
    estimate,
    format_table,
    mean_and_error,
    positive_int,
    write_csv,
)
from skgpb import EIOptimizer
from skgpb.acquisition.volume import dominated_volume

Setting = dict[str, Any]
N_SEEDS = 10


@dataclass
class Problem:
    """Goals to be minimised.

    Attributes
    ----------
    sides : dict
        Sides: pairs of ends, or lists.
    goals : callable
        Takes a setting and returns the goals (m,).
    ideal, worst : list of float
        The best value of each goal, and the reference point.
    noise : float
        Standard deviation of an answer, as a share of the distance from ideal to worst.
    best : float
        Best known volume, in units of the box between ideal and worst.
    """

    sides: dict[str, Any]
    goals: Callable[[Setting], Any]
    ideal: list[float]
    worst: list[float]
    noise: float
    best: float

    def shares(self, setting: Setting) -> np.ndarray:
        """Return the goals (m,) of a setting, from 0 at the reference point to 1 at the ideal."""
        low, high = np.array(self.ideal), np.array(self.worst)
        return (high - np.asarray(self.goals(setting))) / (high - low)

    def answer(self, setting: Setting, rng: np.random.Generator) -> np.ndarray:
        """Return measured goals (m,)."""
        exact = np.asarray(self.goals(setting), dtype=float)
        width = np.array(self.worst) - np.array(self.ideal)
        return exact + self.noise * width * rng.standard_normal(len(exact))

    def setting(self, u: np.ndarray) -> Setting:
        """Return the setting of a point (d,) of the unit cube."""
        return {
            name: side[min(int(x * len(side)), len(side) - 1)]
            if isinstance(side, list)
            else side[0] + x * (side[1] - side[0])
            for (name, side), x in zip(self.sides.items(), u.tolist(), strict=True)
        }

    def volume(self, settings: list[Setting]) -> float:
        """Return the volume that settings dominate, as a share of the best known."""
        return dominated_volume(np.array([self.shares(each) for each in settings])) / self.best


def numbers(n: int) -> dict[str, Any]:
    """Return n sides from 0 to 1."""
    return {f"x{i}": (0.0, 1.0) for i in range(n)}


def vector(setting: Setting) -> np.ndarray:
    """Return the numbers of a setting."""
    return np.array([each for each in setting.values() if not isinstance(each, str)])


def branin_currin(s: Setting) -> list[float]:
    x, y = vector(s)
    a, b = 15 * x - 5, 15 * y
    branin = (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
    branin += 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10
    currin = 1 - np.exp(-0.5 / max(y, 1e-9))
    currin *= (2300 * x**3 + 1900 * x**2 + 2092 * x + 60) / (100 * x**3 + 500 * x**2 + 4 * x + 20)
    return [branin, currin]


def zdt1(s: Setting) -> list[float]:
    x = vector(s)
    g = 1 + 9 * x[1:].mean()
    return [x[0], g * (1 - np.sqrt(x[0] / g))]


def zdt3(s: Setting) -> list[float]:
    x = vector(s)
    g = 1 + 9 * x[1:].mean()
    return [x[0], g * (1 - np.sqrt(x[0] / g) - x[0] / g * np.sin(10 * np.pi * x[0]))]


def dtlz2(s: Setting) -> list[float]:
    x = vector(s)
    g = 1 + ((x[2:] - 0.5) ** 2).sum()
    a, b = x[:2] * np.pi / 2
    return [g * np.cos(a) * np.cos(b), g * np.cos(a) * np.sin(b), g * np.sin(a)]


def dtlz7(s: Setting) -> list[float]:
    x = vector(s)
    g = 1 + 9 * x[2:].mean()
    f = x[:2]
    return [*f, (1 + g) * (3 - (f / (1 + g) * (1 + np.sin(3 * np.pi * f))).sum())]


def fonseca(s: Setting) -> list[float]:
    x = 8 * vector(s) - 4
    c = 1 / np.sqrt(len(x))
    return [1 - np.exp(-((x - c) ** 2).sum()), 1 - np.exp(-((x + c) ** 2).sum())]


def kursawe(s: Setting) -> list[float]:
    x = 10 * vector(s) - 5
    first = -10 * np.exp(-0.2 * np.sqrt(x[:-1] ** 2 + x[1:] ** 2)).sum()
    return [first, (np.abs(x) ** 0.8 + 5 * np.sin(x**3)).sum()]


def poloni(s: Setting) -> list[float]:
    x, y = 2 * np.pi * vector(s) - np.pi
    a1, a2 = (
        0.5 * np.sin(1) - 2 * np.cos(1) + np.sin(2) - 1.5 * np.cos(2),
        1.5 * np.sin(1) - np.cos(1) + 2 * np.sin(2) - 0.5 * np.cos(2),
    )
    b1 = 0.5 * np.sin(x) - 2 * np.cos(x) + np.sin(y) - 1.5 * np.cos(y)
    b2 = 1.5 * np.sin(x) - np.cos(x) + 2 * np.sin(y) - 0.5 * np.cos(y)
    return [1 + (a1 - b1) ** 2 + (a2 - b2) ** 2, (x + 3) ** 2 + (y + 1) ** 2]


def vehicle(s: Setting) -> list[float]:
    x1, x2, x3, x4, x5 = 1 + 2 * vector(s)
    mass = 1640.2823 + 2.3573285 * x1 + 2.3220035 * x2 + 4.5688768 * x3 + 7.7213633 * x4
    mass += 4.4559504 * x5
    speed = 6.5856 + 1.15 * x1 - 1.0427 * x2 + 0.9738 * x3 + 0.8364 * x4
    speed += -0.3695 * x1 * x4 + 0.0861 * x1 * x5 + 0.3628 * x2 * x4
    speed += -0.1106 * x1**2 - 0.3437 * x3**2 + 0.1764 * x4**2
    dent = -0.0551 + 0.0181 * x1 + 0.1024 * x2 + 0.0421 * x3 - 0.0073 * x1 * x2
    dent += 0.024 * x2 * x3 - 0.0118 * x2 * x4 - 0.0204 * x3 * x4 - 0.008 * x3 * x5
    dent += -0.0241 * x2**2 + 0.0109 * x4**2
    return [mass, speed, dent]


SOLVENTS = {"a": (0.9, 0.35), "b": (1.0, 0.6), "c": (0.7, 0.75), "d": (0.85, 0.15), "e": (0.6, 0.4)}


def reaction(s: Setting) -> list[float]:
    """Negative yield and the impurity of a reaction in a solvent."""
    top, at = SOLVENTS[s["solvent"]]
    heat, time = s["heat"], s["time"]
    yields = top * (1 - np.exp(-3 * time * (0.3 + heat))) * np.exp(-2 * (heat - at) ** 2)
    impurity = 0.1 * heat**2 + 0.35 * heat * time + 0.15 * top**4 * time
    return [-yields, impurity]


GRADES = {"p": (0.2, 0.9, 0.3), "q": (0.5, 0.5, 0.5), "r": (0.8, 0.3, 0.8), "s": (0.4, 0.8, 0.9)}
FILMS = {"thin": 0.0, "medium": 0.35, "thick": 1.0}


def coating(s: Setting) -> list[float]:
    """Wear, haze and cost of a coating."""
    hard, clear, dear = GRADES[s["grade"]]
    film, cure, load = FILMS[s["film"]], s["cure"], s["load"]
    wear = 1 - 0.5 * hard - 0.3 * film - 0.4 * np.exp(-6 * (cure - 0.6) ** 2) * load
    haze = 1 - clear + 0.5 * load**2 + 0.3 * film * cure
    cost = 0.5 * dear + 0.3 * film + 0.3 * load + 0.2 * cure**2
    return [wear, haze, cost]


def press(s: Setting) -> list[float]:
    """Negative strength and cycle time of a moulded part."""
    hard, clear, dear = GRADES[s["resin"]]
    a, b, c = s["heat"], s["force"], s["hold"]
    strength = hard + 0.6 * np.sin(2.5 * a) * np.sqrt(c + 0.05) - 0.5 * (b - clear) ** 2
    return [-strength, 0.2 + 0.5 * c + 0.3 * a + 0.4 * dear * (1 - b)]


def lens(s: Setting) -> list[float]:
    """Blur, mass and cost of a lens with a glass and three numbers."""
    hard, clear, dear = GRADES[s["glass"]]
    x = np.array([s["u"], s["v"], s["w"]])
    blur = ((x - [clear, hard, 0.5]) ** 2).sum() + 0.15 * (1 - np.cos(9 * (x[0] - clear)))
    mass = 0.3 * hard + x[1] * (0.4 + 0.6 * x[2])
    return [blur, mass, 0.6 * dear + 0.5 * (1 - x[2]) ** 2 + 0.2 * x[0]]


NUMBER = (0.0, 1.0)
PROBLEMS = {
    "branin-currin": Problem(numbers(2), branin_currin, [0.4, 1.2], [18, 6], 0.0, 0.6748),
    "zdt1": Problem(numbers(5), zdt1, [0, 0], [1.1, 1.1], 0.0, 0.7219),
    "dtlz2": Problem(numbers(4), dtlz2, [0, 0, 0], [1.1, 1.1, 1.1], 0.0, 0.5398),
    "vehicle": Problem(numbers(5), vehicle, [1661, 6, 0.03], [1698, 11.5, 0.27], 0.03, 0.6929),
    "reaction": Problem(
        {"solvent": list(SOLVENTS), "heat": NUMBER, "time": NUMBER},
        reaction,
        [-1, 0],
        [0, 0.5],
        0.05,
        0.6463,
    ),
    "coating": Problem(
        {"grade": list(GRADES), "film": list(FILMS), "cure": NUMBER, "load": NUMBER},
        coating,
        [0, 0, 0],
        [1.0, 1.2, 1.2],
        0.0,
        0.3959,
    ),
    "fonseca": Problem(numbers(4), fonseca, [0, 0], [1, 1], 0.0, 0.3365),
    "zdt3": Problem(numbers(4), zdt3, [0, -0.8], [1, 1], 0.0, 0.5787),
    "poloni": Problem(numbers(2), poloni, [1, 0], [30, 30], 0.05, 0.9600),
    "dtlz7": Problem(numbers(4), dtlz7, [0, 0, 2.5], [1, 1, 8], 0.0, 0.5895),
    "press": Problem(
        {"resin": list(GRADES), "heat": NUMBER, "force": NUMBER, "hold": NUMBER},
        press,
        [-1.5, 0.2],
        [0, 1.2],
        0.0,
        0.7299,
    ),
    "lens": Problem(
        {"glass": list(GRADES), "u": NUMBER, "v": NUMBER, "w": NUMBER},
        lens,
        [0, 0, 0],
        [1, 1, 1],
        0.05,
        0.6656,
    ),
}
#: The rule and its numbers were chosen on the other ones.
REPORTED = list(PROBLEMS)[6:]


def run_ours(problem: Problem, seed: int, n: int, given: bool = False) -> list[Setting]:
    """Return the settings that our search asks; ``given`` tells it the reference point."""
    rng, asked = np.random.default_rng([seed, 1]), []
    further = [f"goal{i}" for i in range(2, len(problem.ideal) + 1)]
    opt = EIOptimizer(
        bounds=problem.sides,
        direction="minimize",
        goals=dict.fromkeys(further, "minimize"),
        reference=problem.worst if given else None,
        random_state=seed,
    )
    for _ in range(n):
        query = opt.ask()
        asked.append(query.params)
        first, *others = problem.answer(query.params, rng).tolist()
        opt.tell(query, first, outcomes=dict(zip(further, others, strict=True)))
    return asked


def run_random(problem: Problem, seed: int, n: int) -> list[Setting]:
    """Return settings drawn evenly."""
    return [problem.setting(u) for u in np.random.default_rng(seed).random((n, len(problem.sides)))]


def run_optuna(problem: Problem, seed: int, n: int, sampler: str) -> list[Setting]:
    """Return the settings of an Optuna study with a sampler of Optuna, with its defaults."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rng, asked = np.random.default_rng([seed, 1]), []

    def objective(trial: Any) -> list[float]:
        setting = {
            name: trial.suggest_categorical(name, side)
            if isinstance(side, list)
            else trial.suggest_float(name, *side)
            for name, side in problem.sides.items()
        }
        asked.append(setting)
        return problem.answer(setting, rng).tolist()

    study = optuna.create_study(
        directions=["minimize"] * len(problem.ideal),
        sampler=getattr(optuna.samplers, sampler)(seed=seed),
    )
    study.optimize(objective, n_trials=n)
    return asked


def run_botorch(problem: Problem, seed: int, n: int) -> list[Setting]:
    """Return the settings of qLogNEHVI, which is told the reference point, after ten of Sobol.

    Lists are coded by a 0 or 1 for each value; the acquisition function is optimised for each
    combination of them.
    """
    import torch
    from botorch.acquisition.multi_objective.logei import (
        qLogNoisyExpectedHypervolumeImprovement,
    )
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.optim import optimize_acqf, optimize_acqf_mixed
    from botorch.sampling.normal import SobolQMCNormalSampler
    from gpytorch.mlls import SumMarginalLogLikelihood

    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    columns: list[tuple[str, Any]] = []
    for name, side in problem.sides.items():
        columns += [(name, each) for each in side] if isinstance(side, list) else [(name, None)]
    lists = [name for name, side in problem.sides.items() if isinstance(side, list)]
    combinations = [
        {
            i: float(dict(zip(lists, values, strict=True))[name] == value)
            for i, (name, value) in enumerate(columns)
            if value is not None
        }
        for values in product(*(problem.sides[name] for name in lists))
    ]

    def coded(setting: Setting) -> list[float]:
        return [
            setting[name] if value is None else float(setting[name] == value)
            for name, value in columns
        ]

    def decoded(x: list[float]) -> Setting:
        known = {name: u for (name, value), u in zip(columns, x, strict=True) if value is None}
        chosen = {name: value for (name, value), u in zip(columns, x, strict=True) if u > 0.5}
        return {name: known.get(name, chosen.get(name)) for name in problem.sides}

    rng = np.random.default_rng([seed, 1])
    asked = [problem.setting(u) for u in qmc.Sobol(len(problem.sides), seed=seed).random(10)]
    Y = [-problem.answer(each, rng) for each in asked]
    bounds = torch.tensor([[0.0] * len(columns), [1.0] * len(columns)])
    while len(asked) < n:
        X, values = torch.tensor([coded(each) for each in asked]), torch.tensor(np.array(Y))
        center, scale = values.mean(dim=0), values.std(dim=0)
        scaled = (values - center) / scale
        models = [SingleTaskGP(X, scaled[:, i : i + 1]) for i in range(values.shape[1])]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        acquisition = qLogNoisyExpectedHypervolumeImprovement(
            model=model,
            ref_point=((-torch.tensor(problem.worst) - center) / scale).tolist(),
            X_baseline=X,
            sampler=SobolQMCNormalSampler(torch.Size([128]), seed=seed),
            prune_baseline=True,
        )
        options: dict[str, Any] = {"bounds": bounds, "q": 1, "num_restarts": 4, "raw_samples": 128}
        if lists:
            x, _ = optimize_acqf_mixed(acquisition, fixed_features_list=combinations, **options)
        else:
            x, _ = optimize_acqf(acquisition, **options)
        asked.append(decoded(x[0].tolist()))
        Y.append(-problem.answer(asked[-1], rng))
    return asked


METHODS: dict[str, Callable[[Problem, int, int], list[Setting]]] = {
    "skgpb": run_ours,
    "skgpb, reference": partial(run_ours, given=True),
    "random": run_random,
    "NSGA-II": partial(run_optuna, sampler="NSGAIISampler"),
    "TPE": partial(run_optuna, sampler="TPESampler"),
    "qLogNEHVI": run_botorch,
}


def main(arguments: list[str] | None = None) -> None:
    """Print the volumes, and write a table of all runs."""
    parser = argument_parser("goals", __doc__, N_SEEDS)
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=list(METHODS)[:3], help="default: ours"
    )
    parser.add_argument(
        "--problems", nargs="+", choices=PROBLEMS, default=REPORTED, help="default: those reported"
    )
    parser.add_argument(
        "--answers", nargs="+", type=positive_int, default=[40, 80], help="default: 40 80"
    )
    options = parser.parse_args(arguments)
    counts = sorted(options.answers)
    warnings.simplefilter("ignore")
    print("Dominated volume, as a share of the best known: mean (standard error)")
    rows = []
    for name in options.problems:
        problem, cells = PROBLEMS[name], []
        for method in options.methods:
            begun, volumes = process_time(), []
            for seed in range(options.seed, options.seed + options.runs):
                asked = METHODS[method](problem, seed, counts[-1])
                volumes.append([problem.volume(asked[:count]) for count in counts])
                rows.append((name, method, seed, *volumes[-1]))
            mean, error = mean_and_error(np.array(volumes))
            spent = (process_time() - begun) / options.runs
            cells.append((method, [*map(estimate, mean, error), f"{spent:.1f}"]))
        header = [*(f"{count} answers" for count in counts), "seconds a run"]
        print(f"\n{format_table(name, header, cells)}", flush=True)
    path = options.output / "goals.csv"
    write_csv(path, ["problem", "method", "seed", *map(str, counts)], rows)
    print(f"\nWritten: {path}")


if __name__ == "__main__":
    main()

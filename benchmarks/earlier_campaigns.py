"""Regret of a campaign with earlier ones that are alike, shifted or unrelated, and without them.

    python -m benchmarks.earlier_campaigns [--runs 6] [--seed 0] [--half confirming]
        [--kinds one two three list] [--noises 0 10] [--output DIR]

Functions are made up of three hills in one, two or three numbers, or in two numbers and a list.
The earlier campaign has 20 answers for each side at random settings, in units and with a level of
its own. It is *alike* (the same function), *shifted* (by a tenth of the sides), *unrelated*
(another function), or there are *two*, of which one is alike. ``choosing`` and ``confirming`` are
two halves of the functions; defaults are chosen on the first. Regrets of the recommendation are in
per cent of the range. *forgotten* is the same search without earlier campaigns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, estimate, format_table, mean_and_error, write_csv
from skgpb import GPUCBOptimizer

#: Numbers of numeric sides, and sizes of the list (0 for none).
KINDS = {"one": (1, 0), "two": (2, 0), "three": (3, 0), "list": (2, 5)}
#: First seed of the functions of a half.
HALVES = {"choosing": 0, "confirming": 1000}
LIKENESSES = ("alike", "shifted", "unrelated", "two")
CHECKS = (6, 12, 25)
ANSWERS_PER_SIDE = 20
SHIFT = 0.1

Function = Callable[[dict[str, Any]], float]


def sides_of(kind: str) -> dict[str, Any]:
    """Return the sides of the functions of a kind."""
    d, size = KINDS[kind]
    lists = {"list": [f"level {i}" for i in range(size)]} if size else {}
    return {f"x{i}": (0.0, 1.0) for i in range(d)} | lists


def made_up(kind: str, seed: int, shift: float = 0.0) -> tuple[Function, float]:
    """Return a function with a range of about one, and its maximum.

    ``shift`` moves its hills by this share of every side, in a random direction.
    """
    d, size = KINDS[kind]
    rng = np.random.default_rng([5, d, size, seed])
    width = rng.uniform(0.15, 0.3) * np.sqrt(d)
    centers = rng.uniform(0.15, 0.85, (3, d))
    heights = np.array([1.0, rng.uniform(0.4, 0.8), rng.uniform(0.2, 0.6)])
    levels = rng.permutation(np.linspace(0.0, -0.6, size)) if size else np.zeros(1)
    centers = centers + shift * rng.choice([-1.0, 1.0], d)

    def hills(x: np.ndarray) -> np.ndarray:
        square = ((x[:, np.newaxis] - centers) ** 2).sum(axis=2)
        return (heights * np.exp(-square / (2.0 * width**2))).max(axis=1)

    def value(setting: dict[str, Any]) -> float:
        x = np.array([[setting[f"x{i}"] for i in range(d)]])
        level = levels[int(setting["list"].split()[1])] if size else 0.0
        return float(hills(x)[0] + level)

    return value, float(hills(np.clip(centers, 0.0, 1.0)).max())


def campaign(kind: str, function: Function, noise: float, seed: int) -> tuple[list[Any], Any]:
    """Return settings and answers of an earlier campaign, in units of its own."""
    sides, rng = sides_of(kind), np.random.default_rng([6, seed])
    n = ANSWERS_PER_SIDE * len(sides)
    settings = [
        {k: rng.choice(v) if isinstance(v, list) else rng.random() for k, v in sides.items()}
        for _ in range(n)
    ]
    y = np.array([function(each) for each in settings]) + noise * rng.normal(size=n)
    return settings, 10.0 ** rng.uniform(-1, 2) * y + rng.normal(scale=30.0)


def earlier(kind: str, likeness: str, noise: float, seed: int) -> dict[str, Any]:
    """Return the parameter ``earlier_campaigns`` of a run."""
    same, _ = made_up(kind, seed, SHIFT if likeness == "shifted" else 0.0)
    other, _ = made_up(kind, seed + 500)
    used = {"unrelated": [other], "two": [same, other]}.get(likeness, [same])
    return {str(i): campaign(kind, f, noise, seed + i) for i, f in enumerate(used)}


def play(kind: str, campaigns: dict[str, Any] | None, noise: float, seed: int) -> list[float]:
    """Return the regrets of the recommendation after ``CHECKS`` answers, in per cent."""
    function, top = made_up(kind, seed)
    rng = np.random.default_rng([7, seed])
    opt = GPUCBOptimizer(
        bounds=sides_of(kind), regret="simple", random_state=seed, earlier_campaigns=campaigns
    )
    regrets = []
    for n in range(1, max(CHECKS) + 1):
        query = opt.ask()
        opt.tell(query, function(query.params) + noise * float(rng.normal()))
        if n in CHECKS:
            regrets.append(100.0 * max(0.0, top - function(opt.recommend().params)))
    return regrets


def main(arguments: list[str] | None = None) -> None:
    """Play all runs, and print means and standard errors."""
    parser = argument_parser("earlier_campaigns", __doc__ or "", runs=6, what="functions of a kind")
    parser.add_argument("--half", choices=list(HALVES), default="confirming", help="of the runs")
    parser.add_argument(
        "--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="of functions"
    )
    parser.add_argument("--noises", type=float, nargs="+", default=[0.0, 10.0], help="in per cent")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows: list[list[Any]] = []
    first = HALVES[options.half] + 100 * options.seed
    names = ["forgotten", *LIKENESSES]
    for kind in options.kinds:
        for noise in options.noises:
            for seed in range(first, first + options.runs):
                for name in names:
                    given = None
                    if name != "forgotten":
                        given = earlier(kind, name, noise / 100.0, seed)
                    rows.append([kind, noise, seed, name, *play(kind, given, noise / 100.0, seed)])
    header = ["kind", "noise", "seed", "campaign", *map(str, CHECKS)]
    path = options.output / "earlier_campaigns.csv"
    write_csv(path, header, rows)
    for kind in (*options.kinds, "all"):
        regrets = {
            name: np.array([row[4:] for row in rows if name == row[3] and kind in (row[0], "all")])
            for name in names
        }
        table = []
        for name, each in regrets.items():
            cells = [_with_error(each[:, i]) for i in range(len(CHECKS))]
            less = [_with_error(each[:, i] - regrets[names[0]][:, i]) for i in range(len(CHECKS))]
            table.append((name, [*cells, *(less if name != names[0] else ["-"] * len(CHECKS))]))
        columns = [*map(str, CHECKS), *(f"change, {n}" for n in CHECKS)]
        print(format_table(f"Regret, {kind}", columns, table), end="\n\n")
    print(f"Written: {path}")


def _with_error(values: np.ndarray) -> str:
    mean, error = mean_and_error(values[:, np.newaxis])
    return estimate(float(mean[0]), float(error[0]), 1)


if __name__ == "__main__":
    main()

"""Whether what is said of a group holds: real or chance, its conditions, the average of new rows.

Tables are drawn from laws that are known, those of the half ``choosing`` from other seeds than
those of ``confirming``. Constants of the search were chosen on the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.tables.problems import MAKERS
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.finding import find_and_judge

SHARES = (0.01, 0.05)
NEW_ROWS = 60_000
LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "binary": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
    "t3": lambda rng, n: rng.standard_t(3, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
}
# Targets where no feature matters, with their true average.
AVERAGES: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "yes 1 %": (lambda rng, n: (rng.random(n) < 0.01) * 1.0, 0.01),
    "yes 2 %": (lambda rng, n: (rng.random(n) < 0.02) * 1.0, 0.02),
    "yes 5 %": (lambda rng, n: (rng.random(n) < 0.05) * 1.0, 0.05),
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(size=n), math.exp(0.5)),
}
# What a row of the output says: the study, the case, and whether it is so.
Row = tuple[str, str, bool, float]


@dataclass(frozen=True)
class Planted:
    """A table whose best group is known.

    Attributes
    ----------
    columns : dict of str to ndarray
        The features.
    inside : ndarray of shape (n_rows,) of bool
        The rows of the group.
    features : set of str
        The features that tell it; all others are noise.
    """

    columns: dict[str, np.ndarray]
    inside: np.ndarray
    features: set[str]


def square(rng: np.random.Generator, n: int, d: int, share: float) -> Planted:
    """A square in the first two of some numbers."""
    X = rng.random((n, d))
    half = 0.5 * math.sqrt(share)
    inside = (np.abs(X[:, :2] - rng.uniform(half, 1 - half, 2)) < half).all(axis=1)
    return Planted({f"x{j}": X[:, j] for j in range(d)}, inside, {"x0", "x1"})


def trial(rng: np.random.Generator, n: int, d: int) -> Planted:
    """Young patients with a high dose, beside ten sites and measures that are noise."""
    columns = {
        "age": rng.integers(18, 90, n).astype(float),
        "dose": np.round(rng.uniform(0.0, 10.0, n), 1),
        "site": rng.choice(list("ABCDEFGHIJ"), n).astype(object),
        **{f"measure {j}": rng.normal(size=n) for j in range(d)},
    }
    return Planted(columns, (columns["age"] < 40) & (columns["dose"] >= 6.2), {"age", "dose"})


def noise(seed: list[int], runs: int) -> Iterator[Row]:
    """How often noise is called real."""
    for run in range(runs):
        for k, (law, draw) in enumerate(LAWS.items()):
            rng = np.random.default_rng([*seed, 1, run, k])
            n, d = (500, 1000, 2000)[run % 3], (2, 5, 10)[run // 3 % 3]
            table = MemoryTable(rng.random((n, d)), draw(rng, n))
            judged = find_and_judge(table, int(n * SHARES[run % 2]), rng=rng).verdict
            yield "noise: real", law, judged.verdict == "real", judged.p_value


def planted(seed: list[int], runs: int) -> Iterator[Row]:
    """How often planted groups are called real, and which conditions their findings name."""
    makers: dict[str, Callable[[np.random.Generator, int], Planted]] = {
        f"square of {share:.0%}": (
            lambda rng, run, share=share: square(rng, 5000, (5, 10)[run % 2], share)
        )
        for share in (0.05, 0.1)
    }
    makers["trial"] = lambda rng, run: trial(rng, (6000, 8000)[run % 2], (1, 4)[run % 2])
    for k, (name, make) in enumerate(makers.items()):
        for run in range(runs):
            rng = np.random.default_rng([*seed, 2, run, k])
            given = make(rng, run)
            n = len(given.inside)
            table = MemoryTable(given.columns, 0.5 * given.inside + rng.normal(size=n))
            # Chance is tested more closely where it is the question.
            finding = find_and_judge(
                table, int(n * SHARES[run // 2 % 2]), rng=rng, n_permutations=None if k == 0 else 49
            )
            named, p_value = set(finding.subgroup), finding.verdict.p_value
            real = finding.verdict.verdict == "real"
            yield "planted: real", name, real, p_value
            if real:
                yield "planted: names noise", name, bool(named - given.features), p_value
                yield "planted: names all that matters", name, named >= given.features, p_value


def averages(seed: list[int], runs: int) -> Iterator[Row]:
    """How often the interval of new rows holds, and how wide it is in deviations."""
    for run in range(runs):
        for k, (law, (draw, truth)) in enumerate(AVERAGES.items()):
            rng = np.random.default_rng([*seed, 3, run, k])
            n = (600, 2000)[run % 2]
            y = draw(rng, n)
            finding = find_and_judge(MemoryTable(rng.random((n, 4)), y), n // 20, n_permutations=1)
            low, high = finding.verdict.interval or (-math.inf, math.inf)
            wide = (high - low) / (y.std() or 1.0)
            yield "no group: interval holds", law, low <= truth <= high, wide


def averages_of_groups(seed: list[int], runs: int) -> Iterator[Row]:
    """The same of tables with a group, by many new rows."""
    for run in range(runs):
        for i, (make, (n, *sizes)) in enumerate(MAKERS):
            problem = make(np.random.default_rng([*seed, 4, run, i]), n + NEW_ROWS, *sizes)
            given, new = problem.part(np.arange(n)), problem.part(np.arange(n, n + NEW_ROWS))
            least = int(np.ceil(SHARES[(i + run) % 2] * n))
            finding = find_and_judge(MemoryTable(given.columns, given.y), least, n_permutations=1)
            inside = MemoryTable(new.columns, new.y).rows(finding.subgroup)
            low, high = finding.verdict.interval or (-math.inf, math.inf)
            holds = bool(low <= new.y[inside].mean() <= high)
            name = make.__name__.replace("_", " ")
            yield "group: interval holds", name, holds, (high - low) / new.y.std()


def together(seed: list[int], runs: int) -> Iterator[Row]:
    """How often an effect of patients is taken for one of features that they have."""
    for run in range(runs):
        for k, sizes in enumerate(("10 visits each", "1 to 19 visits")):
            rng = np.random.default_rng([*seed, 5, run, k])
            visits = np.full(30, 10) if k == 0 else rng.integers(1, 20, 30)
            groups = np.repeat(np.arange(30), visits)
            n = len(groups)
            X = rng.random((30, 3))[groups]
            y = rng.normal(size=30)[groups] + 0.5 * rng.normal(size=n)
            table = MemoryTable(X, y)
            finding = find_and_judge(table, math.ceil(0.05 * n), rng=rng, groups=groups)
            judged = finding.verdict
            low, high = judged.interval or (-math.inf, math.inf)
            yield "patients: real", sizes, judged.verdict == "real", judged.p_value
            yield "patients: interval holds", sizes, low <= 0.0 <= high, high - low


# Each study, and how many tables of each kind it plays in a run.
STUDIES = {noise: 10, planted: 6, averages: 5, averages_of_groups: 1, together: 10}

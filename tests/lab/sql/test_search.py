"""Groups that are found in a database: what is said of them is what the database answers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ibis", reason="needs ibis")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from skgpb.lab.sql import IbisTable, find_in_database, search  # noqa: E402
from skgpb.lab.sql.connection import (  # noqa: E402
    Queries,
    connect,
)

FEATURES = ["x1", "x2", "x3", "shop"]


def planted(n, seed=0, effect=1.5):
    """Rows, and which are in the group: about 5 %, whose target is higher by ``effect``."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 3))
    shop = rng.choice(["a", "b", "c", "d"], n)
    inside = (np.abs(x[:, 0] - 0.6) < 0.15) & (x[:, 1] > 0.7) & np.isin(shop, ["b", "d"])
    y = rng.normal(10.0, 1.0, n) + effect * inside
    return {"x1": x[:, 0], "x2": x[:, 1], "x3": x[:, 2], "shop": shop, "y": y}, inside


@pytest.fixture
def parquet(tmp_path):
    def write(columns):
        pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=5000)
        return str(tmp_path / "rows.parquet")

    return write


def selected(name, where):
    query = f"SELECT COUNT(*), AVG(y) FROM read_parquet('{name}') WHERE {where}"
    return duckdb.sql(query).fetchall()[0]


def check_planted(name, group, inside, columns, min_rows):
    n, mean = selected(name, group.where)
    assert group.n == n >= min_rows
    assert group.mean == pytest.approx(mean, rel=1e-13)
    # Nearly all of the group that was planted has this average.
    assert mean > 10.0 + 0.9 * 1.5
    assert group.verdict == "real" and group.p_value < 1e-6
    low, high = group.new_rows_interval
    assert low < group.new_rows_average < high
    assert "shop" in group.subgroup and set(group.subgroup["shop"].among) == {"b", "d"}


def test_all_rows_of_a_small_table_are_searched(parquet):
    columns, inside = planted(20_000)
    name = parquet(columns)
    table = IbisTable(connect(name), FEATURES, "y")
    scans = table.n_scans
    group = find_in_database(table, 700)
    assert table.n_scans == scans + 2  # one keeps the rows, and one averages the group
    assert group.n_sample == 20_000
    check_planted(name, group, inside, columns, 700)
    assert group.new_rows_interval[0] < 11.5 < group.new_rows_interval[1] + 0.2


def test_a_large_table_is_searched_on_a_sample_and_confirmed_on_all_rows(parquet, monkeypatch):
    monkeypatch.setattr(search, "SMALLEST_SAMPLED", 50_000)
    columns, inside = planted(100_000)
    name = parquet(columns)
    table = IbisTable(connect(name), FEATURES, "y")
    scans = table.n_scans
    group = find_in_database(table, 3500, n_sample=40_000)
    assert table.n_scans == scans + 3
    assert 20_000 < group.n_sample < 60_000
    check_planted(name, group, inside, columns, 3500)
    assert group.new_rows_interval[0] < group.mean < group.new_rows_interval[1]


def test_low_averages_are_found_as_high_ones_of_the_negative(parquet):
    columns, _ = planted(5000)
    high = find_in_database(IbisTable(connect(parquet(columns)), FEATURES, "y"), 200)
    columns["y"] = -columns["y"]
    low = find_in_database(IbisTable(connect(parquet(columns)), FEATURES, "y"), 200, minimize=True)
    assert (low.subgroup, low.n, low.where) == (high.subgroup, high.n, high.where)
    assert low.mean == pytest.approx(-high.mean, rel=1e-13)


def test_nothing_but_counts_and_averages_leaves_the_database(parquet, monkeypatch):
    sizes, answer = [], Queries._answer

    def watched(self, query):
        found = answer(self, query)
        if isinstance(found, dict):
            sizes.append(max(len(values) for values in found.values()))
        return found

    monkeypatch.setattr(Queries, "_answer", watched)
    columns, _ = planted(20_000)
    table = IbisTable(connect(parquet(columns)), FEATURES, "y")
    find_in_database(table, 700)
    assert len(sizes) > 20
    assert max(sizes) <= sum(levels.n_levels for levels in table.levels)


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
def test_noise_is_called_chance(parquet, monkeypatch, sampled):
    if sampled:
        monkeypatch.setattr(search, "SMALLEST_SAMPLED", 5000)
    real, inside = 0, 0
    for seed in range(10):
        columns, _ = planted(10_000, seed, effect=0.0)
        group = find_in_database(IbisTable(connect(parquet(columns)), FEATURES, "y"), 300)
        real += group.verdict == "real"
        low, high = group.new_rows_interval or (10.0, 10.0)
        inside += low <= 10.0 <= high
    # Each with a probability of at most 2 %: more than 2 of 10 come once in 1100 times.
    assert real <= 2
    assert inside >= 7


def test_a_number_of_rows_that_no_group_can_have_is_refused(parquet):
    columns, _ = planted(100)
    table = IbisTable(connect(parquet(columns)), ["x1"], "y")
    for wrong in (0, 101):
        with pytest.raises(ValueError, match=f"min_rows must be from 1 to 100, got {wrong}"):
            find_in_database(table, wrong)

"""Tables in a database, against masks of the same rows in memory."""

from __future__ import annotations

import math
import sqlite3
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

ibis = pytest.importorskip("ibis", reason="needs ibis")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from skgpb.exceptions import DatabaseError, ScansSpentError  # noqa: E402
from skgpb.lab.sql import IbisTable  # noqa: E402
from skgpb.lab.sql.connection import Queries, connect  # noqa: E402
from skgpb.lab.sql.table import Rest  # noqa: E402
from skgpb.lab.tables.conditions import Categories, Range, Subgroup  # noqa: E402

FEATURES = ["age", "income", "share", "price", "town", "member", "day", "moment"]


def some_rows(seed=0, n=300):
    """Columns of every kind; NULL, NaN, names with quotes, and more towns than levels."""
    rng = np.random.default_rng(seed)
    towns = np.array(["it's", 'a "b"', "C", "d", "e", "f", None], dtype=object)
    shares = rng.random(n)
    shares[rng.random(n) < 0.1] = np.nan
    days = [date.fromordinal(738_000 + int(i)) for i in rng.integers(0, 400, n)]
    moments = [
        datetime(2024, 1, 1 + int(i) % 28, int(i) % 24, int(i) % 60)
        for i in rng.integers(0, 9**5, n)
    ]
    some = rng.random(n) < 0.9
    return {
        "age": pa.array(rng.integers(18, 80, n), mask=~some),
        "income": pa.array(np.where(rng.random(n) < 0.4, 0.0, rng.lognormal(size=n))),
        "share": pa.array(shares, mask=rng.random(n) < 0.05),
        "price": pa.array(
            [Decimal(int(i)) / 100 for i in rng.integers(0, 9999, n)], pa.decimal128(12, 2)
        ),
        "town": pa.array(rng.choice(towns, n, p=[0.3, 0.2, 0.2, 0.1, 0.05, 0.05, 0.1])),
        "member": pa.array(rng.random(n) < 0.3, mask=rng.random(n) < 0.1),
        "day": pa.array(days),
        "moment": pa.array(moments, pa.timestamp("us")),
        "y": pa.array(rng.normal(1e6, 1.0, n), mask=rng.random(n) < 0.02),
    }


@pytest.fixture
def parquet(tmp_path):
    def write(columns, name="rows.parquet"):
        pq.write_table(pa.table(columns), tmp_path / name, row_group_size=200)
        return str(tmp_path / name)

    return write


def python_rows(columns):
    """Values of each row as Python objects, None for whatever is missing."""
    lists = {name: values.to_pylist() for name, values in columns.items()}
    for name in ("share", "income", "price"):
        values = lists.get(name, [])
        lists[name] = [None if v is None or math.isnan(v) else float(v) for v in values]
    return lists


def mask_of(box, lists, labels):
    """Rows of a box, from the definition of its sides."""
    inside = np.ones(len(lists["y"]), dtype=bool)
    for name in box:
        side = box[name]
        for i, value in enumerate(lists[name]):
            if value is None:
                good = side.missing
            elif isinstance(side, Categories):
                good = value in side.among or (Rest() in side.among and value not in labels[name])
            else:
                good = (side.low is None or value >= side.low) and (
                    side.high is None or value < side.high
                )
            inside[i] &= good
    return inside


def boxes_of(levels, n_boxes, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_boxes):
        sides = {}
        for each in levels:
            inside = np.zeros(each.n_levels, dtype=bool)
            if each.kind == "number":
                start, stop = np.sort(rng.choice(each.n_values + 1, 2, replace=False))
                inside[start:stop] = True
            else:
                inside[: each.n_values] = rng.random(each.n_values) < 0.7
            if each.missing:
                inside[-1] = rng.random() < 0.5
            side = each.side(inside)
            if side is not None and rng.random() < 0.4:
                sides[each.name] = side
        yield Subgroup.from_sides(sides)


def test_a_database_answers_as_masks_of_its_rows_do(parquet):
    columns = some_rows()
    name = parquet(columns)
    table = IbisTable(connect(name), FEATURES, "y", n_bins=16, n_categories=4)
    lists = python_rows(columns)
    there = np.array([value is not None for value in lists["y"]])
    y = np.array([value or np.nan for value in lists["y"]])
    assert table.n_rows == there.sum()
    assert table.n_missing == (~there).sum()
    assert table.mean == pytest.approx(y[there].mean(), rel=1e-13)
    kinds = {levels.name: levels for levels in table.levels}
    assert [levels.name for levels in table.levels] == FEATURES
    assert [each.missing for each in table.levels] == [
        True,
        False,
        True,
        False,
        True,
        True,
        False,
        False,
    ]
    assert kinds["town"].labels[-1] == Rest() and len(kinds["town"].labels) == 5
    labels = {each: kinds[each].labels for each in ("town", "member")}
    boxes = [Subgroup(), *boxes_of(table.levels, 5)]
    before = table.n_scans
    totals, marginals = table.totals(boxes), table.marginals(boxes)
    assert table.n_scans == before + 2
    for i, box in enumerate(boxes):
        inside = mask_of(box, lists, labels) & there
        assert totals.n[i] == inside.sum()
        if inside.any():
            assert totals.mean[i] == pytest.approx(y[inside].mean(), rel=1e-13)
            assert totals.variance[i] == pytest.approx(y[inside].var(), abs=1e-9)
        for levels in table.levels:
            found = marginals[i][levels.name]
            assert found.noise is None
            for level in range(levels.n_levels):
                alone = levels.side(np.arange(levels.n_levels) == level)
                both = inside & mask_of(Subgroup(((levels.name, alone),)), lists, labels)
                assert found.n[level] == both.sum(), (levels, level)
                assert found.mean[level] == pytest.approx(y[both].mean() if both.any() else 0.0)
                spread = y[both].var() if both.any() else 0.0
                assert found.variance[level] == pytest.approx(spread, abs=1e-9)
        # The written condition selects these rows, in the database itself.
        where = table.where(box)
        query = f"SELECT COUNT(*), AVG(y) FROM read_parquet('{name}') WHERE {where}"
        ((n, mean),) = duckdb.sql(query).fetchall()
        assert n == table.averages(where)[0] == inside.sum()
        if n:
            assert mean == pytest.approx(table.averages(where)[1], rel=1e-14)
            assert mean == pytest.approx(y[inside].mean(), rel=1e-13)


def test_only_what_is_asked_for_is_answered(parquet):
    table = IbisTable(connect(parquet(some_rows())), FEATURES, "y")
    answers = table.marginals([Subgroup(), Subgroup(), Subgroup()], [["age"], ["town", "day"], []])
    assert [list(answer) for answer in answers] == [["age"], ["town", "day"], []]
    scans = table.n_scans
    assert table.marginals([Subgroup()], [[]]) == [{}]
    assert table.marginals([]) == []
    assert len(table.totals([]).n) == 0
    assert table.n_scans == scans


def test_bins_have_about_as_many_rows_each_and_short_ends(parquet):
    x = np.random.default_rng(0).random(20_000)
    table = IbisTable(connect(parquet({"x": x, "y": x})), ["x"], "y", n_bins=100)
    (levels,) = table.levels
    assert levels.n_levels == 100
    assert all(edge == round(edge, 3) for edge in levels.edges)
    n = table.marginals([Subgroup()])[0]["x"].n
    assert n.min() > 0.5 * 200
    assert n.max() < 1.5 * 200


def test_a_frequent_value_is_a_level_of_its_own_and_written_as_an_end(parquet):
    x = np.r_[np.zeros(900), np.random.default_rng(0).lognormal(size=1000)]
    table = IbisTable(connect(parquet({"x": x, "y": x})), ["x"], "y", n_bins=16)
    (levels,) = table.levels
    assert table.marginals([Subgroup()])[0]["x"].n[0] == 900
    some = levels.subgroup(1, levels.n_levels)
    assert table.where(some) == '"x" > 0'
    assert table.where(levels.subgroup(0, 1)) == '"x" <= 0'
    assert table.read(some)["x"] == Range(0.0, None, "neither")
    assert table.averages(table.where(some))[0] == 1000


def test_where_chooses_the_rows(parquet):
    columns = some_rows()
    name = parquet(columns)
    table = IbisTable(connect(name), ["age"], "y", where="town = 'C' OR town IS NULL")
    lists = python_rows(columns)
    expected = sum(
        town in ("C", None) and y is not None
        for town, y in zip(lists["town"], lists["y"], strict=True)
    )
    assert table.n_rows == expected
    old = table.levels[0].subgroup(3, 20)
    where = table.where(old)
    assert where.startswith("((\"town\" = 'C' OR") or where.startswith("(town = 'C' OR")
    assert table.averages(where)[0] == table.totals([old]).n[0]


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("town = ", "where must be a condition"),
        ("1=1; DROP TABLE t", "where must be a condition"),
        ("1=1 GROUP BY town", "where must be a condition"),
        ("age > 200", "where selects no rows: age > 200"),
    ],
)
def test_where_that_is_no_condition_or_selects_nothing_is_refused(parquet, where, why):
    with pytest.raises(ValueError, match=why):
        IbisTable(connect(parquet(some_rows())), ["age"], "y", where=where)


def test_a_mistake_in_where_is_what_the_database_says(parquet):
    with pytest.raises(DatabaseError, match=r"the database did not answer: .*\btowm\b"):
        IbisTable(connect(parquet(some_rows())), ["age"], "y", where="towm = 'C'")


def test_a_table_is_read_no_more_often_than_it_may_be(parquet):
    table = IbisTable(connect(parquet(some_rows())), FEATURES, "y", max_scans=6)
    assert table.n_scans == 4
    table.marginals([Subgroup()])
    table.totals([Subgroup()])
    with pytest.raises(ScansSpentError, match="the table was read 6 times"):
        table.totals([Subgroup()])
    assert table.n_scans == 6


def test_a_sample_stays_in_the_database_and_is_a_table_of_its_own(parquet):
    rng = np.random.default_rng(0)
    n = 300_000
    columns = {"x": rng.random(n), "s": rng.choice(["a", "b"], n), "y": rng.normal(3.0, 2.0, n)}
    table = IbisTable(connect(parquet(columns)), ["x", "s"], "y")
    few = table.kept(50_000)
    assert few.levels == table.levels
    assert abs(few.n_rows - 50_000) < 5 * math.sqrt(50_000)
    assert few.mean == pytest.approx(3.0, abs=5 * 2.0 / math.sqrt(few.n_rows))
    scans = table.n_scans
    box = table.levels[0].subgroup(10, 50)
    answer = few.marginals([box])[0]
    assert answer["x"].n.sum() == few.totals([box]).n[0]
    assert answer["s"].n.sum() == few.totals([box]).n[0]
    assert (answer["x"].n[10:50] > 0).all()
    assert table.n_scans == scans
    one, other = few.halves()
    assert one.n_rows + other.n_rows == few.n_rows
    assert abs(one.n_rows - other.n_rows) < 5 * math.sqrt(few.n_rows)
    assert table.kept().n_rows == n


def in_blocks(n_blocks, seed=0):
    """Return a table of DuckDB: the target depends on the block of a row, on its day and on x."""
    rng = np.random.default_rng(seed)
    n = 2048 * n_blocks
    block = np.arange(n) // 2048
    x, s = rng.random(n), rng.choice(["a", "b", "c"], n)
    y = rng.normal(size=n) + 0.5 * rng.normal(size=n_blocks)[block] + block / n_blocks
    rows = pa.table({"day": np.arange(n), "x": x, "s": s, "y": y + 2.0 * (x > 0.9)})
    connection = ibis.duckdb.connect()
    connection.con.register("rows", rows)
    connection.raw_sql("CREATE TABLE sales AS SELECT * FROM rows")
    connection.raw_sql("CREATE VIEW seen AS SELECT * FROM sales")
    return connection


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_rows"), [("sales", 120_000), ("seen", 20_000)])
def test_averages_of_a_sample_vary_as_much_as_they_say(name, n_rows):
    table = IbisTable(in_blocks(500).table(name), ["day", "x", "s"], "y")
    days, some = table.levels[:2]
    boxes = [Subgroup(), some.subgroup(0, 10), some.subgroup(40, 128), days.subgroup(20, 70)]
    exact, by_level = table.totals(boxes), table.marginals(boxes[:1])[0]
    assert exact.noise is None and by_level["s"].noise is None
    found, said = [], []
    n_draws = 100
    last = None
    # DuckDB draws nearly the same blocks for seeds that are near each other.
    for seed in np.random.default_rng(1).integers(1, 2**31, n_draws).tolist():
        if last is not None:
            table._table.get_backend().raw_sql(f"DROP TABLE {last}")
        few = table.kept(n_rows, seed)
        last = few._table.get_name()
        answers = [
            few.totals(boxes),
            few.marginals(boxes[:1])[0]["s"],
            few.halves()[0].totals(boxes),
        ]
        found.append(np.concatenate([each.mean for each in answers]))
        said.append(np.concatenate([each.noise for each in answers]))
    expected = np.concatenate([exact.mean, by_level["s"].mean, exact.mean])
    variance, said = np.var(found, axis=0, ddof=1), np.mean(said, axis=0)
    # Four standard errors: of a variance from so many draws, and of the averages.
    assert np.abs(variance / said - 1.0).max() < 4.0 * math.sqrt(2.0 / (n_draws - 1))
    far = np.abs(np.mean(found, axis=0) - expected) / np.sqrt(variance / n_draws)
    assert far.max() < 4.0
    # Rows of a block are alike: as independent rows they would seem to vary far less.
    rowwise = few.totals(boxes).variance / few.totals(boxes).n
    assert (said[0] > 20.0 * rowwise[0]) == (name == "sales")


def test_the_variance_of_sampled_blocks_is_that_between_their_parts():
    connection = in_blocks(400)
    table = IbisTable(connection.table("sales"), ["x", "s"], "y")
    few = table.kept(150_000, 3)
    box = table.levels[0].subgroup(100, 110)
    rows = few._table.to_pandas()
    part, block = rows["part of the blocks"], rows["block of the row"]
    assert (rows.groupby("block of the row").size() == 2048).all()
    assert part.groupby(block).nunique().max() == 1
    assert 40 <= part.nunique() <= 64 and set(rows["half of the rows"]) == {0, 1}
    share = 1.0 - len(rows) / table.n_rows
    inside = rows["level of x"].between(100, 109)
    answer = few.totals([box, Subgroup()])
    for i, some in enumerate((rows[inside], rows)):
        mean, k = some["y"].mean(), some["part of the blocks"].nunique()
        apart = (some["y"] - mean).groupby(some["part of the blocks"]).sum() / len(some)
        assert answer.mean[i] == pytest.approx(mean, rel=1e-12)
        expected = share * k / (k - 1) * (apart**2).sum()
        assert answer.noise[i] == pytest.approx(expected, rel=1e-9)


def test_rows_of_a_single_block_or_single_rows_do_not_tell_how_far_they_vary():
    connection = in_blocks(400)
    for name, n_rows in (("sales", 150_000), ("seen", 500)):
        table = IbisTable(connection.table(name), ["day"], "y", n_bins=1000)
        few = table.kept(n_rows, 3)
        rows = few._table.to_pandas()
        unit = rows["part of the blocks"] if name == "sales" else rows.index.to_series()
        answer = few.marginals([Subgroup()])[0]["day"]
        units = unit.groupby(rows["level of day"]).nunique()
        single = units.index[units == 1]
        assert len(single) > 10
        every = (1.0 - few.n_rows / table.n_rows) * few.totals([Subgroup()]).variance[0]
        assert answer.noise[single] == pytest.approx(every, rel=1e-9)
        assert (answer.noise[units.index[units > 1]] > 0.0).all()


@pytest.mark.parametrize("n_inside", [1, 3, 5, 6])
def test_a_kept_table_is_asked_for_few_and_for_many_categories(parquet, n_inside):
    rng = np.random.default_rng(1)
    town = rng.choice(np.array(["A", "B", "C", "D", "E", None], dtype=object), 2000)
    y = rng.normal(size=2000)
    kept = IbisTable(connect(parquet({"town": town, "y": y})), ["town"], "y").kept()
    among = ("A", "B", "C", "D", "E")[:n_inside]
    box = Subgroup((("town", Categories(among, missing=n_inside == 6)),))
    rows = np.isin(town, among) | ((town == None) & (n_inside == 6))  # noqa: E711
    totals = kept.totals([box])
    assert totals.n[0] == rows.sum()
    assert totals.mean[0] == pytest.approx(y[rows].mean(), abs=1e-12)


def test_duckdb_answers_without_what_its_second_version_took_from_ibis(tmp_path, monkeypatch):
    """The functions of ibis 12 that call ``fetch_arrow_table`` of a connection."""
    name = tmp_path / "sales.db"
    with duckdb.connect(str(name)) as database:
        database.execute("CREATE TABLE sales AS SELECT i % 24 AS hour, i AS y FROM range(99) t(i)")
    backend = type(ibis.duckdb.connect())
    for method in ("list_tables", "list_catalogs", "list_databases", "_get_schema_using_query"):
        monkeypatch.setattr(backend, method, lambda *given, **named: pytest.fail("it was called"))
    url = f"duckdb:///{name}"
    table = IbisTable(connect(url), ["hour"], "y")
    assert table.kept().marginals([Subgroup()])[0]["hour"].n.sum() == 99
    assert connect(url, "main.sales").columns == ("hour", "y")
    for missing in ("sold", "main.sold"):
        with pytest.raises(DatabaseError, match=f"no table '{missing}': the database has 'sales'"):
            connect(url, missing)


def test_yes_and_no_can_be_the_target(parquet):
    columns = {"x": [1, 2, 3, 4], "y": [True, False, True, True]}
    table = IbisTable(connect(parquet(columns)), ["x"], "y")
    assert table.mean == 0.75
    assert table.averages('"x" >= 3')[:2] == (2, 1.0)


@pytest.mark.parametrize(
    ("features", "target", "why"),
    [
        (["x", "z"], "y", "there is no column 'z'; the columns are x, y, list, text, none, huge"),
        (["x"], "w", "there is no column 'w'"),
        (["list"], "y", "the feature 'list' is of type array<int64>: numbers, dates"),
        (["x"], "text", "the target 'text' is of type string: numbers and booleans are accepted"),
        (["x"], "none", "no row has a target: 'none' is missing in all"),
        (["x"], "huge", "the target 'huge' has infinite values"),
    ],
)
def test_columns_that_cannot_be_searched_are_named(parquet, features, target, why):
    columns = {
        "x": [1, 2],
        "y": [1.0, 2.0],
        "list": [[1], [2]],
        "text": ["a", "b"],
        "none": pa.array([None, None], pa.float64()),
        "huge": [1.0, math.inf],
    }
    with pytest.raises(ValueError, match=why.replace("<", r"\<")):
        IbisTable(connect(parquet(columns)), features, target)


def test_a_table_without_rows_is_said_to_be_empty(parquet):
    empty = {"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}
    with pytest.raises(ValueError, match="the table has no rows"):
        IbisTable(connect(parquet(empty)), ["x"], "y")


def test_a_connection_that_is_lost_is_one_line(parquet):
    table = IbisTable(connect(parquet(some_rows())), FEATURES, "y", secrets=("closed",))
    table._queries.connection.disconnect()
    with pytest.raises(DatabaseError, match="the database did not answer: ") as caught:
        table.totals([Subgroup()])
    assert "\n" not in str(caught.value)
    assert "closed" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["SQLite", "MySQL"])
def test_a_database_without_grouping_sets_is_refused_with_a_way_out(name):
    said = f"{name} has no GROUPING SETS, by which a search counts: write the table to a CSV"
    with pytest.raises(DatabaseError, match=said):
        Queries(SimpleNamespace(name=name.lower()))


def test_sqlite_is_refused_before_the_first_query(tmp_path):
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sales (hour INTEGER, price REAL)")
    try:
        table = ibis.sqlite.connect(path).table("sales")
    except ImportError:
        pytest.skip("needs ibis-framework[sqlite]")
    with pytest.raises(DatabaseError, match="SQLite has no GROUPING SETS"):
        IbisTable(table, ["hour"], "price")

"""Tables in servers on this machine: ``python -m pytest -m integration tests/machines``.

Databases that are not installed are skipped; CONTRIBUTING says how to install them.
"""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytestmark = pytest.mark.integration

pytest.importorskip("ibis", reason="needs ibis")
pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
import pyarrow.csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from postgresql import server  # noqa: E402

from skgpb.exceptions import DatabaseError  # noqa: E402
from skgpb.lab.cli import main  # noqa: E402
from skgpb.lab.sql import IbisTable, connection, find_in_database, search  # noqa: E402
from skgpb.lab.sql.connection import (  # noqa: E402
    Queries,
    connect,
)
from skgpb.lab.tables.conditions import Subgroup  # noqa: E402

FEATURES = ["x1", "x2", "Shop", "day", "open"]
PASSWORD = "s3cr3t/+ %40word"
QUOTED = "s3cr3t%2F%2B%20%2540word"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A Parquet file with numbers, NULL, NaN, texts, dates and booleans, and a planted group."""
    rng = np.random.default_rng(29)
    n = 30_000
    x = rng.random((n, 2))
    shop = rng.choice(np.array(["it's", "b", "c", None], dtype=object), n)
    day = np.datetime64("2024-01-01") + rng.integers(0, 365, n).astype("timedelta64[D]")
    inside = (np.abs(x[:, 0] - 0.6) < 0.2) & (day >= np.datetime64("2024-08-01"))
    inside &= np.isin(shop, ["it's", "b"])
    x[rng.random(n) < 0.05, 1] = np.nan
    columns = {
        "x1": x[:, 0],
        "x2": pa.array(x[:, 1], mask=rng.random(n) < 0.05),
        "Shop": pa.array(shop),
        "day": day,
        "open": rng.random(n) < 0.5,
        "y": rng.normal(10.0, 1.0, n) + 1.5 * inside,
    }
    name = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.table(columns), name)
    return name


def group_of(table):
    return find_in_database(IbisTable(table, FEATURES, "y"), 1000)


@pytest.fixture(scope="module")
def expected(rows):
    """Return the result of DuckDB on the file."""
    group = group_of(connect(str(rows)))
    assert set(group.subgroup) >= {"x1", "Shop", "day"}
    assert group.verdict == "real"
    return group


def same(group, expected):
    """Assert that it is the same group, up to rounding and the halves by which it is judged."""
    assert (group.subgroup, group.n) == (expected.subgroup, expected.n)
    assert group.mean == pytest.approx(expected.mean, rel=1e-12)
    assert group.verdict == expected.verdict
    low, high = group.new_rows_interval
    assert low < expected.new_rows_average < high


@pytest.fixture
def postgres(rows):
    """Port of a server whose table ``sales`` has the rows."""
    psycopg = pytest.importorskip("psycopg")
    with server(PASSWORD) as port:
        text = pa.BufferOutputStream()
        pyarrow.csv.write_csv(pq.read_table(rows), text)
        with psycopg.connect(
            host="127.0.0.1", port=port, user="skgpb", password=PASSWORD, dbname="postgres"
        ) as client:
            client.execute(
                "CREATE TABLE sales (x1 double precision, x2 double precision, "
                '"Shop" text, day date, open boolean, y double precision)'
            )
            with client.cursor().copy("COPY sales FROM STDIN WITH (FORMAT csv, HEADER)") as copy:
                copy.write(text.getvalue().to_pybytes())
        yield port


def address(port, password=QUOTED):
    return f"postgresql://skgpb:{password}@127.0.0.1:{port}/postgres"


def test_postgresql_finds_the_same_group(postgres, expected):
    psycopg = pytest.importorskip("psycopg")
    group = group_of(connect(address(postgres), "sales"))
    same(group, expected)
    with psycopg.connect(
        host="127.0.0.1", port=postgres, user="skgpb", password=PASSWORD, dbname="postgres"
    ) as client:
        query = f"SELECT COUNT(*), AVG(y) FROM sales WHERE {group.where}"
        n, mean = client.execute(query).fetchone()
    assert n == group.n
    assert mean == pytest.approx(group.mean, rel=1e-13)


def test_postgresql_clips_outliers(postgres, expected):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(
        host="127.0.0.1", port=postgres, user="skgpb", password=PASSWORD, dbname="postgres"
    ) as client:
        client.execute("UPDATE sales SET y = -1e9 WHERE x1 = (SELECT MAX(x1) FROM sales)")
    check_clipped(connect(address(postgres), "sales"), expected)


def check_clipped(sales, expected):
    """Check that one outlier is found, and hides nothing."""
    table = IbisTable(sales, FEATURES, "y")
    assert table.n_outliers == 1 and table.extremes[0] == -1e9
    assert table.true_mean < -30_000 < 9 < table.mean < 11
    group = find_in_database(table, 1000)
    assert (group.subgroup, group.n, group.verdict) == (expected.subgroup, expected.n, "real")
    assert group.mean == group.counted_mean == pytest.approx(expected.mean, rel=1e-12)


@pytest.mark.parametrize("blocks", [False, True])
def test_postgresql_finds_a_group_on_a_sample(postgres, expected, monkeypatch, blocks):
    monkeypatch.setattr(search, "SMALLEST", 10_000)
    if blocks:
        monkeypatch.setattr(connection, "FEWEST_IN_BLOCKS", 1000)
    group = group_of(connect(address(postgres), "sales"))
    assert 10_000 < group.n_sample < 20_000
    assert set(group.subgroup) >= {"x1", "Shop", "day"}
    assert group.n >= 1000
    assert group.mean > 0.95 * expected.mean
    assert group.verdict == "real"


def test_postgresql_tells_the_blocks_of_tables_and_draws_rows_of_views(postgres, monkeypatch):
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setattr(connection, "FEWEST_IN_BLOCKS", 1000)
    with psycopg.connect(
        host="127.0.0.1", port=postgres, user="skgpb", password=PASSWORD, dbname="postgres"
    ) as client:
        client.execute("CREATE VIEW seen AS SELECT * FROM sales")
    for name in ("sales", "best_observed"):
        table = IbisTable(connect(address(postgres), name), ["x1", "Shop"], "y")
        few = table.kept(10_000, 1)
        assert abs(few.n_rows - 10_000) < 3000
        rows = few._table.to_pandas()
        k, mean = len(rows), rows["y"].mean()
        apart = rows["y"] - mean
        if name == "sales":
            assert rows["block of the row"].nunique() > 64
            part = rows["part of the blocks"]
            k = part.nunique()
            assert 30 < k <= 64
            apart = apart.groupby(part).sum()
        noise = few.totals([Subgroup()]).noise[0]
        expected = (apart**2).sum() / len(rows) ** 2 * k / (k - 1) * (1 - len(rows) / table.n_rows)
        assert noise == pytest.approx(expected, rel=1e-6)
        # The order of rows tells nothing, so that blocks vary as rows do: five standard errors.
        rowwise = rows["y"].var() / len(rows) * (1 - len(rows) / table.n_rows)
        assert noise / rowwise == pytest.approx(1.0, abs=5 * (2 / (k - 1)) ** 0.5)


def refused(capsys, *arguments):
    """Check that one line was printed, on stderr, without the password, and return it."""
    command = ["search", *arguments, "--features", "x1", "day", "--target", "y", "--min-rows", "5%"]
    status = main(list(map(str, command)))
    out, err = capsys.readouterr()
    assert status == 2 and out == ""
    assert err.startswith("skgpb: error: ") and err.count("\n") == 1
    assert PASSWORD not in err and QUOTED not in err
    return err


def test_a_wrong_password_is_one_line_that_does_not_show_it(postgres, capsys):
    err = refused(capsys, "--sql", address(postgres, "wrong-pass-word"), "--table", "sales")
    assert f"cannot open postgresql://127.0.0.1:{postgres}/postgres: " in err
    assert "password authentication failed" in err
    assert "wrong-pass-word" not in err


def test_a_password_may_come_from_the_environment(postgres, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    check_report(f"postgresql://skgpb@127.0.0.1:{postgres}/postgres", capsys, tmp_path)


def test_a_password_is_never_written_into_a_report(postgres, capsys, tmp_path):
    check_report(address(postgres), capsys, tmp_path)


def check_report(url, capsys, folder):
    """Search, and look for the password and the user in all that is written."""
    output, report = folder / "found.json", folder / "found.html"
    columns = "--features x1 day Shop --target y --min-rows 1000"
    files = ["--output", str(output), "--report", str(report)]
    assert main(["search", "--sql", url, "--table", "sales", *columns.split(), *files]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for written in (out, output.read_text(), report.read_text()):
        assert "table sales of postgresql://127.0.0.1:" in written
        assert "skgpb@" not in written and "skgpb:" not in written
        assert PASSWORD not in written and QUOTED not in written


def test_a_connection_that_is_lost_in_the_midst_is_one_line(postgres, capsys, monkeypatch):
    psycopg = pytest.importorskip("psycopg")
    answer, count = Queries._answer, []

    def cut(self, query):
        count.append(query)
        if len(count) == 8:
            with psycopg.connect(
                host="127.0.0.1", port=postgres, user="skgpb", password=PASSWORD, dbname="postgres"
            ) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND usename = 'skgpb'"
                )
        return answer(self, query)

    monkeypatch.setattr(Queries, "_answer", cut)
    err = refused(capsys, "--sql", address(postgres), "--table", "sales")
    assert "the database did not answer: " in err
    assert len(count) == 8


def test_a_table_that_is_not_there_and_a_server_that_is_not_there(postgres, capsys):
    err = refused(capsys, "--sql", address(postgres), "--table", "sals")
    assert "there is no table 'sals': the database has 'sales'" in err
    err = refused(capsys, "--sql", address(1), "--table", "sales")
    assert "cannot open postgresql://127.0.0.1:1/postgres: " in err


@pytest.fixture
def spark(rows):
    """A local session that has the rows as the table ``sales``."""
    pyspark = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    session = (
        pyspark.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.read.parquet(str(rows)).createOrReplaceTempView("sales")
    yield session
    session.stop()


def test_spark_finds_the_same_group(spark, expected):
    group = group_of(connect("pyspark://", "sales"))
    same(group, expected)
    ((n, mean),) = spark.sql(f"SELECT COUNT(*), AVG(y) FROM sales WHERE {group.where}").collect()
    assert n == group.n
    assert mean == pytest.approx(group.mean, rel=1e-13)


def test_spark_clips_outliers(spark, expected):
    largest = "(SELECT MAX(x1) FROM sales)"
    spark.sql(
        "SELECT x1, x2, Shop, day, open, CASE WHEN x1 = " + largest + " THEN -1e9 ELSE y END AS y "
        "FROM sales"
    ).createOrReplaceTempView("mistyped")
    check_clipped(connect("pyspark://", "mistyped"), expected)


def test_spark_says_in_one_line_what_is_wrong(spark):
    with pytest.raises(DatabaseError, match="the database did not answer: ") as caught:
        IbisTable(connect("pyspark://", "sales"), ["x1"], "y", where="x9 = 1")
    assert "\n" not in str(caught.value)

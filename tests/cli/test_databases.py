"""``search --sql``: what is printed is what the database answers, and mistakes are one line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ibis", reason="needs ibis")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from skgpb.cli import main  # noqa: E402

COLUMNS = ["--features", "hour", "town", "--target", "price"]


@pytest.fixture
def database(tmp_path, monkeypatch):
    """A folder with a database of one table, ``sales``, of 4000 rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 4000
    hour, town = rng.integers(0, 24, n), rng.choice(["A", "B", "C"], n)
    price = rng.normal(100.0, 10.0, n) + 15.0 * ((hour >= 18) & (town == "B"))
    columns = {"hour": hour, "town": town, "price": price, "id": ["x"] * n}
    pq.write_table(pa.table(columns), "sales.parquet")
    connection = duckdb.connect("sales.db")
    connection.execute("CREATE TABLE sales AS SELECT * FROM 'sales.parquet'")
    connection.close()
    return tmp_path


def search(*arguments):
    return main(["search", *map(str, arguments)])


def refused(capsys, *arguments):
    """Check that one line was printed, on stderr, and return it."""
    status = search(*arguments)
    out, err = capsys.readouterr()
    assert status == 2 and out == ""
    assert err.startswith("skgpb: error: ") and err.count("\n") == 1
    return err


def selected(where, table="sales"):
    with duckdb.connect("sales.db", read_only=True) as connection:
        query = f"SELECT COUNT(*), AVG(price) FROM {table} WHERE {where}"
        return connection.execute(query).fetchall()[0]


def test_the_condition_selects_the_rows_that_are_reported(database, capsys):
    command = ["--sql", "duckdb:///sales.db", "--table", "sales", *COLUMNS]
    assert search(*command, "--min-rows", "4%", "--output", "found.json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads((database / "found.json").read_text())
    n, mean = selected(found["where"])
    assert found["n_members"] == n >= 160
    assert found["true_average"] == pytest.approx(mean, rel=1e-13)
    assert found["where"] == '"hour" >= 18 AND "town" = \'B\''
    assert found["verdict"] == "real" and found["p_value"] < 1e-6
    low, high = found["new_rows_interval"]
    assert low < 115.0 < high
    assert found["parameters"] == {"min_rows": 160}
    assert f"exactly these rows     WHERE {found['where']}\n" in out
    assert "Highest average of price in table sales of duckdb:///sales.db, 4,000 rows" in out
    assert "\n  hour                 18 or more\n" in out
    assert "The group is real. That holds for tables like this one" in out


@pytest.mark.parametrize("name", ["sales.parquet", "*.parquet", "."])
def test_parquet_files_need_no_table(database, capsys, name):
    assert search("--sql", name, *COLUMNS, "--min-rows", 160, "--output", "found.json") == 0
    found = json.loads((database / "found.json").read_text())
    assert selected(found["where"], "'sales.parquet'")[0] == found["n_members"]
    assert found["source"] == name
    # The same files as a table of DuckDB.
    assert search("--sql", "duckdb://", "--table", name, *COLUMNS, "--min-rows", 160) == 0


def test_where_chooses_rows_and_is_part_of_the_condition(database, capsys):
    command = ["--sql", "duckdb:///sales.db", *COLUMNS, "--where", "town <> 'B' AND hour > 2"]
    assert search(*command, "--minimize", "--output", "found.json") == 0
    found = json.loads((database / "found.json").read_text())
    n, mean = selected(found["where"])
    assert (found["n_members"], found["sought"]) == (n, "lowest")
    assert found["true_average"] == pytest.approx(mean, rel=1e-13)
    assert found["n_rows"] == selected("town <> 'B' AND hour > 2")[0]
    assert "<> 'B'" in found["where"]
    assert found["verdict"] == "chance"
    assert "The group may be chance" in capsys.readouterr().out


def test_a_sample_is_searched_where_that_is_asked_for(database, capsys):
    command = ["--sql", "duckdb:///sales.db", *COLUMNS, "--min-rows", "4%", "--sample", "60%"]
    assert search(*command, "--output", "found.json") == 0
    found = json.loads((database / "found.json").read_text())
    assert 0 < found["n_rows_searched"] < 4000
    assert selected(found["where"])[0] == found["n_members"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--sql", "duckdb:///sold.db"], "there is no file sold.db"),
        (["--sql", "sold.parquet"], "there is no Parquet file sold.parquet"),
        (["--sql", "oracel://x"], "cannot open oracel://x: Don't know how to connect"),
        (["--sql", "duckdb:///sales.db", "--table", "sold"], "there is no table 'sold'"),
        (
            ["--sql", "duckdb:///sales.db", "--where", "hour >"],
            "where must be a condition, got 'hour >'",
        ),
        (["--sql", "duckdb:///sales.db", "--where", "hour > 99"], "where selects no rows: hour > "),
        (["--sql", "duckdb:///sales.db", "--where", "our > 1"], "the database did not answer: "),
        (["--sql", "duckdb:///sales.db", "--max-scans", "3"], "--max-scans 3 is too few: the tab"),
        (["--sql", "duckdb:///sales.db", "--min-rows", "60%"], "--min-rows 2400 leaves no choice"),
        (["--sql", "duckdb:///sales.db", "sales.csv"], "give either a file, sales.csv, or --sql"),
        (
            ["--sql", "duckdb:///sales.db", "--epsilon", "1"],
            "--epsilon cannot be combined with --sql",
        ),
        (
            ["--sql", "duckdb:///sales.db", "--budget", "9"],
            "--budget cannot be combined with --sql",
        ),
        (
            ["--sql", "duckdb:///sales.db", "--report", "r.html"],
            "--report cannot be combined with --sql",
        ),
        (["sales.csv", "--table", "sales"], "--table is for --sql"),
        (["sales.csv", "--max-scans", "3"], "--max-scans is for --sql"),
    ],
)
def test_a_mistake_is_one_line(database, capsys, arguments, why):
    assert why in refused(capsys, *arguments, *COLUMNS)


def test_a_column_that_is_missing_is_named(database, capsys):
    err = refused(capsys, "--sql", "sales.parquet", "--features", "our", "--target", "price")
    assert "there is no column 'our'; the columns are hour, town, price, id" in err


def test_no_table_and_a_table_without_rows(database, capsys):
    with duckdb.connect("sales.db") as connection:
        connection.execute("CREATE TABLE empty AS SELECT * FROM sales WHERE hour > 99")
    err = refused(capsys, "--sql", "duckdb:///sales.db", *COLUMNS)
    assert "say which table: the database has 'empty', 'sales'" in err
    err = refused(capsys, "--sql", "duckdb:///sales.db", "--table", "empty", *COLUMNS)
    assert "the table has no rows" in err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:t0psecret@127.0.0.1:1/sales",
        "postgresql://ann:t0psecret%21@127.0.0.1:1/sales?sslpassword=t0psecret",
        "mysql://ann:t0psecret@127.0.0.1:1/sales",
        "duckdb:///sales.db?motherduck_token=t0psecret",
    ],
)
def test_passwords_and_tokens_are_never_printed(database, capsys, url):
    err = refused(capsys, "--sql", url, "--table", "sales", *COLUMNS)
    assert "t0psecret" not in err and "ann" not in err.replace("cannot", "")
    assert re.search(r"cannot open (postgresql|mysql|duckdb)://", err)


def test_a_boolean_is_yes_or_no(database, capsys):
    with duckdb.connect("sales.db") as connection:
        connection.execute("ALTER TABLE sales ADD COLUMN late BOOLEAN")
        connection.execute("UPDATE sales SET late = hour >= 12")
        connection.execute("UPDATE sales SET price = price + 20 WHERE NOT late")
    words = ["search", "--sql", "duckdb:///sales.db", "--features", "late", "--target", "price"]
    for more, said in (([], "no"), (["--minimize"], "yes")):
        assert main([*words, "--min-rows", "10%", *more]) == 0
        assert re.search(rf"^  late +{said}$", capsys.readouterr().out, re.MULTILINE)


def test_without_ibis_it_says_what_to_install(database, capsys, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith("skgpb.integrations.ibis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ibis", None)
    err = refused(capsys, "--sql", "sales.parquet", *COLUMNS)
    assert "needs ibis, which is not installed: pip install skgpb[sql]" in err


PAGE = Path(__file__).resolve().parents[2] / "doc" / "user_guide" / "command_line.rst"


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not available")
def test_the_commands_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, shop = rng.random((3000, 2)), rng.choice(["a", "b", "c"], 3000)
    y = rng.normal(size=3000) + 3.0 * ((x < 0.5).all(axis=1) & (shop == "b"))
    rows = pa.table({"x1": x[:, 0], "x2": x[:, 1], "shop": shop, "y": y})
    (tmp_path / "parts").mkdir()
    pq.write_table(rows, "sales.parquet")
    pq.write_table(rows, "parts/first.parquet")
    with duckdb.connect("sales.db") as connection:
        connection.execute("CREATE TABLE sales AS SELECT * FROM 'sales.parquet'")
    commands = re.findall(r"\$ python -m skgpb (search --sql .*)", PAGE.read_text("utf-8"))
    assert len(commands) == 3
    for command in commands:
        assert main(shlex.split(command)) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert "exactly these rows     WHERE " in out
        assert "shop                 b\n" in out

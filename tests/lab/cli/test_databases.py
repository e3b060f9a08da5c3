"""``search --sql``: what is printed is what the database answers, and mistakes are one line."""

from __future__ import annotations

import html
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

from skgpb.lab.cli import main  # noqa: E402
from skgpb.utils.install import install_command  # noqa: E402

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
    assert "The group is real: new rows of it are expected to average 1" in out
    assert "That holds for tables like this one, and says nothing about causes.\n" in out
    effects = found["effects_of_features"]
    for name, rest in (("hour", "town = 'B'"), ("town", "hour >= 18")):
        assert effects[name] == pytest.approx(mean - selected(rest)[1])
    first, second = effects
    said = f"{first} ({effects[first]:.3g} lower without it), {second} ({effects[second]:.3g} lower"
    assert f"what matters           {said} without it)\n" in out


def test_the_next_best_group_is_named_with_its_average(database, capsys):
    with duckdb.connect("sales.db") as connection:
        connection.execute("UPDATE sales SET price = price + 9 WHERE hour < 6 AND town = 'A'")
    command = ["--sql", "duckdb:///sales.db", *COLUMNS, "--min-rows", "4%"]
    for sample in ([], ["--sample", "60%"]):
        assert search(*command, *sample, "--output", "found.json") == 0
        out, found = capsys.readouterr().out, json.loads((database / "found.json").read_text())
        other = found["runner_up"]
        assert other["where"] == '"hour" < 6 AND "town" = \'A\''
        assert (other["n_members"], other["counted_average"]) == pytest.approx(
            selected(other["where"])
        )
        assert f"runner-up              {other['n_members']} rows, WHERE {other['where']}: " in out


def test_a_code_for_missing_values_is_named(database, capsys):
    with duckdb.connect("sales.db") as connection:
        connection.execute("UPDATE sales SET price = -200 WHERE rowid % 10 = 0")
    command = ["--sql", "duckdb:///sales.db", *COLUMNS, "--output", "found.json"]
    assert search(*command) == 0
    out, found = capsys.readouterr().out, json.loads((database / "found.json").read_text())
    assert found["missing_code"] == -200.0
    assert "-200 is often the value of price, far from all others." in out
    assert "leave these rows out: --where with price <> -200" in out
    assert search(*command, "--where", "price <> -200") == 0
    assert "far from all others" not in capsys.readouterr().out


def test_a_share_in_a_database_is_between_zero_and_one(database):
    with duckdb.connect("sales.db") as connection:
        connection.execute("ALTER TABLE sales ADD COLUMN sold BOOLEAN")
        connection.execute("UPDATE sales SET sold = (rowid % 97 = 3)")
    command = ["--sql", "duckdb:///sales.db", "--features", "hour", "town", "--target", "sold"]
    for sample in ([], ["--sample", "60%"]):
        assert search(*command, *sample, "--output", "found.json") == 0
        found = json.loads((database / "found.json").read_text())
        low, high = found["new_rows_interval"]
        assert 0.0 <= low < high <= 1.0
        assert low <= 41 / 4000 <= high


def test_conditions_that_are_noise_are_not_named_in_a_database(database):
    with duckdb.connect("sales.db") as connection:
        connection.execute("ALTER TABLE sales ADD COLUMN site VARCHAR")
        connection.execute("UPDATE sales SET site = chr(65 + CAST(hash(rowid) % 10 AS INTEGER))")
    command = ["--sql", "duckdb:///sales.db", "--features", "hour", "town", "site"]
    for sample in ([], ["--sample", "60%"]):
        given = ["--target", "price", "--min-rows", "2%", *sample, "--output", "found.json"]
        assert search(*command, *given) == 0
        where = json.loads((database / "found.json").read_text())["where"]
        assert re.fullmatch('"hour" >= (18|19|2[01]) AND "town" = \'B\'', where)


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
        (["--sql", "sales.db"], "a file of DuckDB is called duckdb:///sales.db"),
        (
            ["--sql", "sales.parquet", "--table", "a"],
            "no tables by names, got table 'a'",
        ),
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
            ["--sql", "duckdb:///sales.db", "--plot", "r.png"],
            "--plot cannot be combined with --sql",
        ),
        (
            ["--sql", "duckdb:///sales.db", "--report", "no/r.html"],
            "cannot write --report no/r.html: there is no folder no",
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


@pytest.mark.parametrize("cut", ["?", "#", "/", "[", "]"])
@pytest.mark.parametrize("start", ["t0p", "123"])
def test_a_password_that_ends_the_address_is_never_printed(database, capsys, start, cut):
    url = f"postgresql://ann:{start}{cut}secret@127.0.0.1:1/sales"
    err = refused(capsys, "--sql", url, "--table", "sales", *COLUMNS)
    assert "in a password / ? # [ ] are written %2F %3F %23 %5B %5D" in err
    assert "ann" not in err.replace("cannot", "")
    assert start not in err and "secret" not in err


def test_parameters_with_an_at_sign_are_no_password(database, capsys):
    url = "postgresql://127.0.0.1:1/sales?user=ann@example"
    err = refused(capsys, "--sql", url, "--table", "sales", *COLUMNS)
    assert "cannot open postgresql://127.0.0.1:1/sales: " in err


@pytest.fixture
def locked(database, monkeypatch):
    """A connection string with a password, that opens the database."""
    from skgpb.lab.sql import connection as integration

    def connect(url, table=None):
        return opened("duckdb:///sales.db", table)

    opened = integration.connect
    monkeypatch.setattr(integration, "connect", connect)
    return "postgresql://ann:t0psecret@db.example:5432/shop?sslpassword=t0psecret"


def test_a_report_has_counts_and_averages_and_no_password(database, locked, capsys):
    pytest.importorskip("matplotlib")
    command = ["--sql", locked, "--table", "sales", *COLUMNS, "--min-rows", "4%"]
    assert search(*command, "--report", "r.html", "--output", "r.json") == 0
    out, err = capsys.readouterr()
    assert err == "" and "report in r.html" in out
    page = (database / "r.html").read_text()
    text = (database / "r.json").read_text()
    for written in (page, text, out):
        assert "t0psecret" not in written and "ann:" not in written
        assert "table sales of postgresql://db.example:5432/shop" in written
    found = json.loads(text)
    assert f"<code>{html.escape('WHERE ' + found['where'])}</code>" in page
    assert f"The {found['n_members']:,} rows with <strong>" in page
    assert "<strong>hour</strong> 18 or more" in page and "<strong>town</strong> B" in page
    assert "The group is real: new rows of it are expected to average 1" in page
    assert "no row left it. All rows were searched for the box with the highest" in page
    # What matters, and the averages along two sides, each for light and dark pages.
    assert page.count("data:image/png;base64,") == 6


def test_pictures_ask_one_query_and_show_what_the_rows_average(database):
    from skgpb.lab.cli.database_pictures import make_panels
    from skgpb.lab.sql import IbisTable
    from skgpb.lab.sql.connection import connect
    from skgpb.lab.tables.conditions import Categories, Range, Subgroup

    figure = pytest.importorskip("matplotlib.figure")
    table = IbisTable(connect("duckdb:///sales.db"), ["hour", "town"], "price")
    box = Subgroup((("hour", Range(18)), ("town", Categories(("B",)))))
    _, mean = selected("hour >= 18 AND town = 'B'")
    before = table.n_scans
    panels = make_panels(table, box, mean)
    assert table.n_scans == before + 1
    effects, first, second = (figure.Figure().subplots() for _ in panels)
    for panel, axes in zip(panels, (effects, first, second), strict=True):
        panel.draw(axes)
    without = {"hour": selected("town = 'B'")[1], "town": selected("hour >= 18")[1]}
    widths = [bar.get_width() for bar in effects.patches]
    assert widths == pytest.approx(sorted((mean - each for each in without.values()), reverse=True))
    by_name = {axes.get_xlabel(): axes for axes in (first, second)}
    hours, means = by_name["hour"].lines[0].get_data()
    assert hours.tolist() == list(range(24))
    told = [selected(f"town = 'B' AND hour = {hour}")[1] for hour in range(24)]
    assert means == pytest.approx(told)
    (span,) = by_name["hour"].patches
    assert (span.get_x(), span.get_x() + span.get_width()) == (17.5, 23.5)
    labels = [each.get_text() for each in by_name["town"].get_xticklabels()]
    assert sorted(labels) == ["A", "B", "C"]
    points = {
        labels[int(x)]: y
        for dots in by_name["town"].lines
        if dots.get_marker() == "o"
        for x, y in zip(*dots.get_data(), strict=True)
    }
    told = {town: selected(f"hour >= 18 AND town = '{town}'")[1] for town in "ABC"}
    assert points == pytest.approx(told)


@pytest.mark.parametrize("sample", [[], ["--sample", "60%"]])
def test_wild_values_are_named_and_hide_nothing(database, capsys, sample):
    with duckdb.connect("sales.db") as connection:
        connection.execute("UPDATE sales SET price = 1e9 WHERE rowid IN (7, 8)")
        connection.execute("UPDATE sales SET price = -1e6 WHERE rowid = 9")
    command = ["--sql", "duckdb:///sales.db", *COLUMNS, "--min-rows", "4%", *sample]
    assert search(*command, "--output", "r.json", "--report", "r.html") == 0
    out = capsys.readouterr().out
    found = json.loads((database / "r.json").read_text())
    assert found["verdict"] == "real" and found["n_outliers"] == 3
    assert re.fullmatch('"hour" >= (18|19|2[01]) AND "town" = \'B\'', found["where"])
    low, high = found["outliers_count_as"]
    assert -1000 < low < 0 and 200 < high < 1000
    assert found["true_average"] == pytest.approx(selected(found["where"])[1])
    assert found["true_average_of_table"] == pytest.approx(selected("TRUE")[1])
    assert found["true_average_of_table"] > 400_000
    with duckdb.connect("sales.db", read_only=True) as connection:
        counted = f"AVG(LEAST(GREATEST(price, {low!r}), {high!r}))"
        (mean,) = connection.execute(f"SELECT {counted} FROM sales").fetchone()
    assert found["counted_average_of_table"] == pytest.approx(mean)
    # The planted average is 115.
    assert 112 < found["counted_average"] < 119
    assert 111 < found["new_rows_average"] < 119
    assert f"all rows {mean:.4g}." in out
    said = "perhaps mistyped, in 3 rows: -1e+06, 1e+09 and 1 more. In the search"
    assert said in out and said in (database / "r.html").read_text()


def test_rare_events_and_the_same_value_in_all_rows_are_not_wild(database, capsys):
    with duckdb.connect("sales.db") as connection:
        connection.execute("ALTER TABLE sales ADD COLUMN sold INTEGER")
        connection.execute("UPDATE sales SET sold = CASE WHEN rowid % 500 = 3 THEN 1 ELSE 0 END")
        connection.execute("ALTER TABLE sales ADD COLUMN one INTEGER DEFAULT 1")
    command = ["search", "--sql", "duckdb:///sales.db", "--features", "hour", "town"]
    for target, mean in (("sold", 8 / 4000), ("one", 1.0)):
        assert main([*command, "--target", target, "--output", "r.json"]) == 0
        found = json.loads((database / "r.json").read_text())
        assert (found["n_outliers"], found["outliers_count_as"]) == (0, None)
        assert found["counted_average_of_table"] == pytest.approx(mean)
    # All groups are alike.
    assert found["n_members"] == 4000
    constant = ["search", "--sql", "duckdb:///sales.db", "--features", "one", "--target", "price"]
    assert main([*constant, "--report", "r.html"]) == 0
    page = (database / "r.html").read_text()
    assert "No group has a higher average than the whole table." in page
    assert "Pictures" not in page
    out = capsys.readouterr().out
    assert "No group has a higher average than the whole table." in out
    assert "average of new rows" not in out.split("Highest")[-1]


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

    for name in [name for name in sys.modules if name.startswith("skgpb.lab.sql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ibis", None)
    err = refused(capsys, "--sql", "sales.parquet", *COLUMNS)
    assert f"needs ibis, which is not installed: {install_command('sql')}" in err


PAGE = Path(__file__).resolve().parents[3] / "doc" / "user_guide" / "command_line.rst"


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

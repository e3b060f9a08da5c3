"""Tables as people have them: each is read as it was meant, or refused in one clear line."""

import bz2
import gzip
import io
import json
import lzma
import re
import subprocess
import sys
import tempfile
import zipfile
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgpb.lab.cli import main
from skgpb.lab.cli.pictures import draw_categories
from skgpb.lab.cli.where import Condition
from skgpb.lab.datasets.table import TableFile
from skgpb.utils.install import install_command

N = 64
# Some of the numbers are written down below, so that other seeds leave them as they are.
RNG = np.random.Generator(np.random.PCG64(0))
X, Y = RNG.uniform(0.0, 100.0, N).round(2), RNG.uniform(0.0, 100.0, N).round(1)
# Highest where x is: groups of 2 rows are told from each other by far.
VALUE = (1000.0 + 3.0 * X + 0.01 * Y).round(3)


def text(separator=",", decimal=".", header=("x", "y", "value"), ends="\n", head="", rows=None):
    """The table as text."""

    def cell(number):
        return f"{number}".replace(".", decimal)

    lines = [separator.join(header)]
    lines += [separator.join(map(cell, row)) for row in rows or zip(X, Y, VALUE, strict=True)]
    return head + ends.join(lines) + ends


def zipped(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, text())
    return packed.getvalue()


def with_line(i, line):
    """The table with another line instead of row i."""
    lines = text().split("\n")
    lines[i + 1] = line
    return "\n".join(lines)


def with_column(name, cells):
    lines = text().strip().split("\n")
    added = [name, *map(str, cells)]
    return "\n".join(f"{line},{cell}" for line, cell in zip(lines, added, strict=True))


def grouped(decimal, groups):
    """Numbers above a thousand with their digits in groups."""
    swap = str.maketrans({",": groups, ".": decimal})
    rows = [(x, y, f"{v:,.3f}".translate(swap)) for x, y, v in zip(X, Y, VALUE, strict=True)]
    return (
        text(";", decimal).split("\n")[0]
        + "\n"
        + "\n".join(
            f"{x}".replace(".", decimal) + f";{y}".replace(".", decimal) + f";{v}"
            for x, y, v in rows
        )
    )


#: Tables that all hold the same numbers, and what must be said to read them.
SAME = {
    "plain": text(),
    "semicolons": text(";"),
    "semicolons and decimal commas": text(";", ","),
    "tabs": text("\t"),
    "tabs and decimal commas": text("\t", ","),
    "pipes": text("|"),
    "blanks": text(" "),
    "columns aligned by blanks": text("   ", head="  ").replace("\n", "  \n  "),
    "colons": (text(":"), "--separator", ":"),
    "separator by its name": (text("\t"), "--separator", "tab"),
    "Excel's first line": text("^", head="sep=^\n"),
    "commas within quotes": text('","', ",").replace("\n", '"\n"').join('""')[:-1],
    "decimal comma by option": (text(";", ","), "--decimal", "comma"),
    "German thousands": grouped(",", "."),
    "Swiss thousands": grouped(".", "'"),
    "French thousands": grouped(",", "\u202f"),
    "American thousands": grouped(".", ","),
    "UTF-8 with its mark": b"\xef\xbb\xbf" + text().encode(),
    "UTF-16 with its mark": text().encode("utf-16"),
    "UTF-16 big-endian": b"\xfe\xff" + text().encode("utf-16-be"),
    "UTF-16 without a mark": text().encode("utf-16-le"),
    "UTF-32": text().encode("utf-32"),
    "Latin-1": with_column("größe", ["süß"] * N).encode("latin-1"),
    "Latin-1 by option": (
        with_column("größe", range(N)).encode("latin-1"),
        "--encoding",
        "latin-1",
    ),
    "Windows line ends": text(ends="\r\n"),
    "old Macintosh line ends": text(ends="\r"),
    "no line end at the end": text().rstrip(),
    "blank lines": text(ends="\n\n"),
    "rows of nothing but separators": text() + ",,\n,,\n",
    "blanks around cells": text(" , "),
    "quoted names": text(header=('"x"', '"y"', '"value"')),
    "line ends within quotes": with_column("note", ['"a\nb"'] * N),
    "another column twice": with_column("note", ["a"] * N)
    .replace("note", "note,note", 1)
    .replace(",a\n", ",a,b\n")
    + ",b",
    "minus signs of typographers": text().replace(",", ",\u2212-"[0:1]),
    "gzip": gzip.compress(text().encode()),
    "bzip2": bz2.compress(text().encode()),
    "xz": lzma.compress(text().encode()),
    "zip": zipped("data/table.csv"),
    "zip of a Macintosh": zipped("table.csv", "__MACOSX/._table.csv"),
    "gzip of UTF-16 with semicolons": gzip.compress(text(";", ",").encode("utf-16")),
    "missing where nobody looks": with_column("note", [""] * N),
}
SAME |= {
    "shares": text(rows=[(f"{x}%", y, v) for x, y, v in zip(X, Y, VALUE, strict=True)]),
    "dollars": text(rows=[(x, y, f"${v}") for x, y, v in zip(X, Y, VALUE, strict=True)]),
    "euros": text(";", rows=[(x, y, f"{v} €") for x, y, v in zip(X, Y, VALUE, strict=True)]),
    "German euros": grouped(",", ".").replace("\n", " €\n").replace(" €", "", 1),
    "comments above the header": text(head="# of my oracle\n# in 2024\n"),
}
#: Tables that cannot be searched, and what is said of them.
REFUSED = {
    "a title": (text(head="My table\n\n"), "has lines above its header, the first of which begins"),
    "a row of totals": (
        text() + "Total,,99999\n",
        "line 66, column 'x': 'Total' is not a number: a row of totals does not",
    ),
    "empty": (b"", "is empty"),
    "blank lines alone": (b"\n\n \n", "is empty"),
    "a header alone": ("x,y,value\n", "has a header but no rows"),
    "one row": ("x,y,value\n1,2,3\n", "has 1 row, a search needs at least 4"),
    "no header": ("\n".join(text().split("\n")[1:]), "has no column 'x'; it has '63.7'"),
    "a name in capitals": (text().replace("x", "X", 1), "did you mean 'X'?"),
    "a name with a unit": (text().replace("x", "x (m/s)", 1), "did you mean 'x (m/s)'?"),
    "ragged": (with_line(5, "1,2"), "line 7 has 2 cells, the header has 3"),
    "a cell too many": (with_line(60, "1,2,3,4"), "line 62 has 4 cells"),
    "missing": (with_line(7, "1,,3"), "line 9, column 'y': the value is missing (--drop-"),
    "missing in words": (with_line(7, "1,#N/A,3"), "column 'y': the value is missing"),
    "a word among numbers": (
        with_line(9, "1,2,high"),
        "line 11, column 'value': 'high'",
    ),
    "infinite": (with_line(3, "1,2,inf"), "line 5, column 'value': 'inf' is not a finite"),
    "far too large": (with_line(3, "1,2,1e300"), "is larger than 1e+150"),
    "text as target": (
        text(rows=[(x, 1, "ab") for x in X]),
        "'value': 'ab' is not a number, nor are all cells yes or no: say which text counts as 1",
    ),
    "dates as target": (
        text(rows=[(x, 1, "2024-05-01") for x in X]),
        "column 'value': a date is not a number",
    ),
    "1,234": (
        text(";", rows=[(i, -i, "1,234") for i in range(N)]),
        "line 2, column 'value': '1,234' may be 1.234 or 1234: say --decimal",
    ),
    "all constant": (text(rows=[(1, 2, 3)] * N), "every feature has one and the same value"),
    "broken gzip": (gzip.compress(text().encode())[:-20], "is damaged"),
    "broken bzip2": (b"BZh9" + bytes(50), "is damaged"),
    "broken xz": (lzma.compress(text().encode())[:-9], "is damaged"),
    "broken zip": (zipped("table.csv")[:-9], "is damaged"),
    "zip of two tables": (zipped("a.csv", "b.csv"), "must hold one table, it has 2 files"),
    "OpenDocument": (zipped("mimetype", "content.xml"), "; save it as .xlsx or CSV"),
    "JSON of rows": (
        '[{"x": 1, "y": 2, "value": 3}]',
        "is JSON or a page, not a table: save it as",
    ),
    "JSON of columns": ('\ufeff{\n  "x": [1]}', "is JSON or a page"),
    "JSON of lists": ("[\n [1, 2, 3]]", "is JSON or a page"),
    "a page": ("<!DOCTYPE html>\n<table>", "is JSON or a page"),
    "packed XML": (gzip.compress(b"<?xml version='1.0'?><a/>"), "is JSON or a page"),
    "zip of nothing": (zipped(), "must hold one table, it has 0 files"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(99), "is a picture, not a table"),
    "zeros": (bytes(999), "is neither text nor Excel: save it as"),
    "Zstandard": (b"\x28\xb5\x2f\xfd" + bytes(9), "is compressed by Zstandard"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "or has a password: save it"),
    "the start of UTF-16": (b"\xff\xfex", "is not text in UTF-16"),
    "a quote that never ends": (
        with_line(3, '1,2,"3') + "9" * 200_000,
        "is not a table of separated values",
    ),
}


@pytest.fixture
def search(tmp_path, capsys):
    def search(content, *more, features=("x", "y"), target="value", budget="30"):
        """Search a table; the status, the result and what was printed."""
        path, output = tmp_path / "table.dat", tmp_path / "result.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        given = ["--features", *features, "--target", target, "--budget", budget]
        status = main(["search", str(path), *given, "--output", str(output), *map(str, more)])
        result = json.loads(output.read_text()) if status == 0 else None
        out, err = capsys.readouterr()
        return status, result, out if status == 0 else err

    return search


def is_one_line(error):
    return error.startswith("skgpb: error: ") and error.count("\n") == 1 and error.endswith("\n")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", SAME)
def test_the_same_numbers_give_the_same_result(search, kind):
    content, *more = SAME[kind] if isinstance(SAME[kind], tuple) else (SAME[kind],)
    status, result, said = search(content, *more, budget="12")
    assert status == 0, said
    highest = np.argsort(VALUE)[-result["n_members"] :]
    assert_array_equal(result["members"], np.sort(highest))
    assert result["true_average"] == pytest.approx(VALUE[highest].mean(), rel=1e-14)
    assert result["n_rows"] == N


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_searched_is_one_line(search, kind):
    content, says = REFUSED[kind]
    status, _, error = search(content)
    assert status == 2 and is_one_line(error)
    assert says in error


# -- which rows and columns count ---------------------------------------------------------------


def members_of(mask):
    return np.flatnonzero(mask).tolist()


def selects(result, content):
    """Rows of the file that fulfil what is said to select exactly those of the group."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text(content)
        condition = Condition(result["where"])
        columns = TableFile(path).read(list(dict.fromkeys(condition.columns)))
        return members_of(condition.rows({column.name: column for column in columns}))


def described(name, values):
    """Return the table with one feature that determines the target."""
    lines = [f"x,{name},value"]
    lines += [f"{x},{v},{y}" for x, v, y in zip(X, values, VALUE, strict=True)]
    return "\n".join(lines)


@pytest.mark.parametrize(("last", "sign"), [("50%", " %"), ("", " %"), ("50", "")])
def test_ends_of_percents_have_their_sign(last, sign, search):
    values = [*(f"{v}%" for v in VALUE[:-1]), last]
    status, result, said = search(described("share", values), "--drop-missing", features=["share"])
    assert status == 0 and "%" not in result["where"]
    assert re.search(rf"^  share +[\d.,]+{sign} (or more|to [\d.,]+{sign}$)", said, re.MULTILINE)


def test_where_selects_rows_by_their_numbers_in_the_file(search):
    status, result, said = search(text(), "--where", "x < 50 and not (y > 90)", features=["x"])
    selected = (X < 50) & (Y <= 90)
    assert status == 0 and result["n_rows"] == selected.sum()
    best = np.argsort(np.where(selected, VALUE, -np.inf))[-result["n_members"] :]
    assert result["members"] == sorted(best.tolist())
    assert f"({N - selected.sum()} not selected by --where)" in said
    assert selects(result, text()) == result["members"]


def test_missing_values_are_left_out_where_that_is_said(search):
    content = with_line(7, "1,,9999").split("\n")
    content[20] = "2,3,NA"
    status, result, said = search("\n".join(content), "--drop-missing")
    assert status == 0 and result["n_rows"] == N - 2 and "2 with missing values left out" in said
    assert not {7, 19} & set(result["members"])
    assert selects(result, "\n".join(content)) == result["members"]
    # A value that is not selected may be missing.
    kept = f"value < {VALUE[19]}"
    assert search(with_line(7, "1,,3"), "--where", "y is not missing")[0] == 0
    assert search(with_line(7, "1,2,"), "--where", kept)[0] == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("written", "options"),
    [
        ("%Y-%m-%d", ()),
        ("%Y/%m/%d", ()),
        ("%d.%m.%Y", ()),
        ("%m/%d/%Y", ()),
        ("%d/%m/%Y", ()),
        ("%Y-%m-%dT%H:%M:%S", ()),
        ("%Y-%m-%d %H:%M", ()),
        ("%d.%m.%Y %H:%M", ()),
        ("%b %d, %y", ("--dates", "%b %d, %y")),
        ("%Y-%m-%dT%H:%M:%SZ", ()),
        ("%Y-%m-%dT%H:%M:%S+00:00", ()),
    ],
)
def test_dates_are_features_like_numbers(search, written, options):
    start = datetime(2023, 12, 20)
    dates = [start + timedelta(days=int(rank)) for rank in np.argsort(np.argsort(VALUE))]
    cells = [f'"{date.strftime(written)}"' for date in dates]
    status, result, said = search(described("day", cells), *options, features=["day"])
    assert status == 0, said
    first = min(dates[i] for i in result["members"])
    assert result["members"] == members_of([date >= first for date in dates])
    assert result["where"] == f"day >= '{first:%Y-%m-%d}'"
    assert result["lower"] == [f"{first:%Y-%m-%d}"]


def test_a_date_that_may_be_another_one_is_refused(search):
    content = described("day", [f"0{1 + i % 9}/0{1 + i % 7}/2024" for i in range(N)])
    _, _, error = search(content, features=["day"])
    assert is_one_line(error) and "'01/01/2024' has its day first or its month first" in error
    assert search(content, "--dates", "%m/%d/%Y", features=["day"])[0] == 0
    _, _, error = search(with_column("day", ["2024-01-05"] * 63 + ["soon"]), features=["day"])
    assert is_one_line(error) and "line 65, column 'day': 'soon' is not a date" in error


def test_yes_and_no_are_a_target(search):
    paid = np.where(np.median(VALUE) < VALUE, "Yes", "no")
    content = with_column("paid", paid)
    status, result, said = search(content, target="paid")
    assert status == 0, said
    assert result["true_average_of_table"] == 0.5
    assert result["true_average"] == np.mean(paid[result["members"]] == "Yes")


def test_categories_are_features(search):
    town = np.array(["Ulm", "Bonn, Rhein", "Jena's", "Kiel"])[np.argsort(np.argsort(VALUE)) // 16]
    cells = [f'"{name}"' for name in town]
    _, result, _ = search(described("town", cells), features=["town"])
    assert result["members"] == members_of(town == "Kiel")
    assert result["where"] == "town = 'Kiel'" and result["lower"] == [None]
    content = described("town", cells)
    _, result, _ = search(content, "--minimize", "--groups", "town", features=["town"])
    assert result["where"] == "town = 'Ulm'" and result["sought"] == "lowest"
    status, result, _ = search(content, "--where", result["where"], features=["x"])
    assert status == 0 and result["n_rows"] == 16


def test_names_and_categories_of_several_lines_are_said_in_one(search):
    """As Excel has them; and what is said to select the rows does so."""
    kinds = ["low\nor\thigh" if value > np.median(VALUE) else "C\x07" for value in VALUE]
    lines = [f'{y},"{kind}",{v}' for y, kind, v in zip(Y, kinds, VALUE, strict=True)]
    content = "\n".join(['"y\r\n(mm)","the\nkind",value', *lines])
    status, result, said = search(content, features=["the kind"])
    assert status == 0 and result["members"] == members_of([kind[0] == "l" for kind in kinds])
    assert result["where"] == "[the kind] = 'low or high'"
    report = said.split("\n\n")[1].splitlines()
    assert report[1].split() == ["the", "kind", "low", "or", "high"]
    assert report[2].startswith("exactly these rows") and "low or high'" in report[2]
    again = search(content, "--where", result["where"], features=["y (mm)"])[1]
    assert again["n_rows"] == result["n_members"]


def test_numbers_are_categories_where_that_is_said(search):
    code = np.array(["01", "1", "2", "03"])[np.argsort(np.argsort(VALUE)) // 16]
    content = described("code", code)
    assert search(content, features=["code"])[1]["where"] == "code = 3"
    for option in ("--one-hot", "--groups"):
        _, result, _ = search(content, option, "code", features=["code"])
        assert result["where"] == "code = '03'"
    _, _, error = search(content, "--one-hot", "x", features=["code"])
    assert is_one_line(error) and "--one-hot 'x' is not one of --features" in error


def test_names_of_rows_are_no_categories(search):
    _, _, error = search(described("name", [f"r{i}" for i in range(N)]), "--groups", "name")
    assert "--groups 'name' is not one of --features" in error
    many = "name,value\n" + "".join(f"r{i:03},{i}\n" for i in range(200))
    _, _, error = search(many, features=["name"])
    assert is_one_line(error) and "has 200 different texts, such as 'r000'" in error
    _, result, _ = search(many, "--groups", "name", features=["name"])
    assert result["members"] == list(range(200 - result["n_members"], 200))


def test_the_lowest_average_is_sought_where_that_is_said(search):
    _, result, said = search(text(), "--minimize", features=["x"])
    assert result["members"] == sorted(np.argsort(VALUE)[: result["n_members"]].tolist())
    assert "Lowest average of value" in said and "lower than the table" in said
    assert result["gain"] > 0.0


def test_several_targets_are_refused_with_a_reason(search):
    _, _, error = search(text(), "--target", "y")
    assert is_one_line(error) and "what is best for one is not best for the other" in error


def test_a_table_may_come_through_standard_input(tmp_path, monkeypatch, capsys):
    class Stdin:
        buffer = io.BytesIO(gzip.compress(text(";", ",").encode()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    rows = tmp_path / "rows.csv"
    given = ["--features", "x", "y", "--target", "value", "--budget", "30"]
    assert main(["search", "-", *given, "--save-rows", str(rows)]) == 0
    assert "in standard input, 64 rows" in capsys.readouterr().out
    saved = rows.read_text().split("\n")
    assert saved[0] == "x;y;value" and set(saved) <= set(text(";", ",").split("\n"))


def test_what_is_said_of_a_group_is_as_short_as_can_be(search):
    rng = np.random.default_rng(1)
    noise = [rng.normal(size=N).round(3) for _ in range(4)]
    rows = list(zip(X, *noise, VALUE, strict=True))
    header = ("x", "n 1", "n2", "n3", "n4", "value")
    content = text(header=header, rows=rows)
    _, result, said = search(content, features=header[:-1], budget="60")
    names = ["x", *(f"[{n}]" if " " in n else n for n in header[1:-1])]
    assert f'--where "{result["where"]}"' in said
    _, again, _ = search(content, "--where", result["where"], "--min-members", "1")
    assert again is None or again["n_rows"] == result["n_members"]
    # No condition can be left out.
    conditions = result["where"].split(" and ")
    columns = dict(zip(names, np.array(rows).T[:-1], strict=True))

    def fulfil(some):
        held = [(name, sign, float(end)) for name, sign, end in (c.rsplit(" ", 2) for c in some)]
        return members_of(
            np.all([columns[n] >= e if s == ">=" else columns[n] <= e for n, s, e in held], axis=0)
        )

    assert fulfil(conditions) == result["members"]
    for i in range(len(conditions)):
        assert fulfil(conditions[:i] + conditions[i + 1 :] or ["x >= -1"]) != result["members"]


# -- Parquet and Excel --------------------------------------------------------------------------


def frame():
    pandas = pytest.importorskip("pandas")
    day = np.datetime64("2024-01-01") + np.argsort(np.argsort(VALUE))
    part = np.where(X > 70, "south", "north")
    return pandas.DataFrame(
        {"x": X, "y": Y, "value": VALUE, "day": day, "part": part, "whole": np.arange(N)}
    )


def parquet(table):
    pytest.importorskip("pyarrow")
    out = io.BytesIO()
    table.to_parquet(out)
    return out.getvalue()


def excel(**sheets):
    pytest.importorskip("openpyxl")
    pandas = pytest.importorskip("pandas")
    out = io.BytesIO()
    with pandas.ExcelWriter(out, engine="openpyxl") as writer:
        for name, table in sheets.items():
            table.to_excel(writer, sheet_name=name, index=False)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_parquet_and_excel_give_the_result_of_text(search, tmp_path, kind):
    features, rows = ["x", "day", "part", "whole"], tmp_path / "rows.csv"
    content = parquet(frame()) if kind == "parquet" else excel(only=frame())
    status, result, said = search(content, "--save-rows", rows, features=features)
    assert status == 0, said
    csv = search(frame().to_csv(index=False), features=features)[1]
    unlike = {"source"}
    assert {k: v for k, v in result.items() if k not in unlike} == {
        k: v for k, v in csv.items() if k not in unlike
    }
    assert len(rows.read_text().strip().split("\n")) == 1 + result["n_members"]


def test_decimals_of_parquet_are_numbers_and_durations_are_seconds(search):
    pandas = pytest.importorskip("pandas")
    table = frame()
    exact = table.assign(
        **{name: [Decimal(str(x)) for x in table[name]] for name in ("x", "value")}
    )
    exact["whole"] = pandas.to_timedelta(table["whole"], "s")
    plain = search(parquet(table), features=["x", "y"])[1]
    found = search(parquet(exact), features=["x", "y"])[1]
    assert found["where"] == plain["where"]
    assert found["true_average"] == pytest.approx(plain["true_average"])
    plain, found = (search(parquet(each), features=["whole"])[1] for each in (table, exact))
    assert found["where"] == plain["where"]


@pytest.mark.parametrize("option", ["--separator", "--encoding", "--skip-lines", "--sheet"])
def test_options_of_other_kinds_of_tables_are_refused(search, option):
    given = option, 1 if option == "--skip-lines" else "tab"
    if option in ("--separator", "--encoding"):
        assert "which is excel" in search(excel(only=frame()), *given)[2]
    _, _, error = search(parquet(frame()), *given)
    assert is_one_line(error) and f"{option} {given[1]} has no effect on" in error


def test_missing_and_damaged_in_parquet_and_excel(search):
    table = frame()
    table.loc[5, "x"] = np.nan
    for content, row in ((parquet(table), "row 5 (counted from 0)"), (excel(only=table), "row 7")):
        _, _, error = search(content)
        assert is_one_line(error) and f"{row}, column 'x': the value is missing" in error
        assert search(content, "--drop-missing")[1]["n_rows"] == N - 1
        _, _, error = search(content, features=["X", "z"])
        assert is_one_line(error) and "no column 'X'" in error
        _, _, error = search(content[:-100])
        assert is_one_line(error) and "is damaged" in error
    _, _, error = search(excel(one=table, two=frame()))
    assert is_one_line(error) and "has several sheets: say --sheet, one of 'one', 'two'" in error
    assert search(excel(one=table, two=frame()), "--sheet", "two")[0] == 0


@pytest.mark.parametrize(
    "mark", [b"PAR1", zipped("xl/workbook.xml"), text()], ids=["parquet", "xlsx", "csv"]
)
def test_what_needs_pandas_says_so(search, monkeypatch, mark):
    monkeypatch.setitem(sys.modules, "pandas", None)
    _, _, error = search(mark)
    assert is_one_line(error) and " needs pandas" in error
    assert error.endswith(f": {install_command('tables')}\n")


# -- pictures and the report --------------------------------------------------------------------


REPORTED = [["x"], ["x", "y"], ["part"], ["day"], ["part", "day", "x"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "epsilon"),
    [
        (["x"], True),
        *(
            pytest.param(features, epsilon, marks=pytest.mark.slow)
            for features in REPORTED
            for epsilon in (False, True)
            if (features, epsilon) != (["x"], True)
        ),
    ],
)
def test_the_report_is_one_page_with_pictures(search, tmp_path, features, epsilon):
    pytest.importorskip("matplotlib")
    part = np.where(X > 70, "<south>", "north & east")
    day = np.datetime64("2024-01-01") + np.arange(N)
    lines = [f"{x},{y},{d},{p},{v}" for x, y, d, p, v in zip(X, Y, day, part, VALUE, strict=True)]
    content = "\n".join(["x,y,day,part,value", *lines])
    report, plot = tmp_path / "report.html", tmp_path / "map.png"
    private = ["--epsilon", 50, "--target-range", 1000, 1300] if epsilon else ["--noise", 1]
    more = ["--report", report, "--plot", plot, *private]
    status, result, said = search(content, *more, features=features)
    assert status == 0, said
    page = report.read_text(encoding="utf-8")
    light, dark = (
        re.findall(rf'<img class="{theme}" src="data:image/png;base64,[^"]+"', page)
        for theme in ("light", "dark")
    )
    assert len(light) == len(dark) >= min(2, len(features) + 1)
    # Nothing is fetched, and nothing is run.
    assert not re.search(r"https?://|<script|<south>", page)
    assert f"{result['n_members']} rows" in page
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_average_of_skewed_values_may_lie_outside_of_what_most_span():
    figure = pytest.importorskip("matplotlib.figure")
    ax = figure.Figure().subplots()
    mean, low, high = np.array([[1.0, 2.0], [0.5, 2.2], [0.9, 2.4]])
    draw_categories(ax, [True, False], mean, [low, high], ("average", "80 %"))
    spans = [line.get_segments()[0][:, 1] for line in ax.collections]
    assert_allclose(spans, [[2.2, 2.4], [0.5, 0.9]])
    points = [line.get_ydata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert_allclose(points, [2.0, 1.0])


# -- large tables -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
@pytest.mark.parametrize(
    ("n", "kind", "seconds", "megabytes"),
    [(1_000_000, "csv", 15, 450), (10_000_000, "parquet", 60, 3000)],
)
def test_large_tables_take_little_time_and_memory(tmp_path, n, kind, seconds, megabytes):
    rng = np.random.default_rng(0)
    columns = {name: rng.uniform(size=n) for name in "xyz"}
    square = sum((values - 0.6) ** 2 for values in columns.values())
    columns["value"] = 10.0 * np.exp(-8.0 * square) + rng.normal(size=n)
    path = tmp_path / f"table.{kind}"
    if kind == "parquet":
        pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        pq.write_table(pa.table(columns), path)
    else:
        np.savetxt(
            path,
            np.column_stack(list(columns.values())),
            "%.17g",
            ",",
            header=",".join(columns),
            comments="",
        )
    program = (
        "import re, sys, time\n"
        "from skgpb.lab.cli import main\n"
        "status = main(sys.argv[1:])\n"
        # getrusage would count from the memory of the process that started this one.
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())\n"
        "print(status, time.process_time(), int(peak.group(1)) / 1024)\n"
    )
    given = ["--features", "x", "y", "z", "--target", "value", "--budget", "100", "--noise", "0.3"]
    command = [sys.executable, "-c", program, "search", str(path), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, used, peak = map(float, done.stdout.split("\n")[-2].split())
    assert status == 0
    # This is time of the processor, which other programs do not lengthen.
    assert used <= seconds
    assert peak <= megabytes

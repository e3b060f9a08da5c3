"""``search`` of tables with cells, headers and dates as people write them."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest

from skgpb.lab.cli import commands, main
from skgpb.lab.cli.where import Condition
from skgpb.lab.cli.words import number
from skgpb.lab.datasets.table import TableFile

pd = pytest.importorskip("pandas")

N = 60
RNG = np.random.Generator(np.random.PCG64(0))
X = RNG.permutation(N)
Y = 3 * X + RNG.integers(0, 3, N)
ROWS = "".join(f"{x},{y}\n" for x, y in zip(X, Y, strict=True))
TABLE = "x,y\n" + ROWS


@pytest.fixture
def search(tmp_path, capsys):
    def search(content, *more, features=("x",), target="y"):
        """Search a table; the status, the result, and what was printed."""
        path, output = tmp_path / "t.csv", tmp_path / "result.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        given = ["--features", *features, "--target", target, "--output", str(output)]
        status = main(["search", str(path), *given, *more])
        result = json.loads(output.read_text()) if status == 0 else None
        out, err = capsys.readouterr()
        return status, result, out if status == 0 else err

    return search


def excel(*rows):
    openpyxl = pytest.importorskip("openpyxl")
    book, raw = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(raw)
    return raw.getvalue()


# -- cells that cannot be read --------------------------------------------------------------------


MESSY = TABLE + "thirty,9\n25,SIXTY THOUSAND\n31,n.d.\n26,n.d.\n27,Indef.\n28,$$$$$$\n"


def test_unreadable_cells_are_counted_and_placed_with_ways_out(search):
    status, _, error = search(MESSY)
    assert status == 2 and error.count("\n") == 1
    assert "line 62, column 'x': 'thirty' is not a number; 5 in column 'y': correct them," in error
    assert '--one-hot "x"' in error
    _, _, error = search(MESSY, "--where", "x is not missing")
    assert "line 63, column 'y': 'SIXTY THOUSAND' is not a number; 5 such cells, also" in error
    assert "'n.d.' in line 64, 'n.d.' in line 65, 'Indef.' in line 66 and 1 more: correct" in error
    assert '--where "y is not missing"' in error and "--unreadable missing" in error
    assert "--one-hot" not in error  # the target is no feature


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "condition",
    [
        "x is not missing and y is not missing",
        "x != 'thirty' and y not in ('SIXTY THOUSAND', 'n.d.', 'Indef.', '$$$$$$')",
        "x != 'thirty' and not (y = 'SIXTY THOUSAND' or y = 'n.d.' or y = 'Indef.') and y <> "
        "'$$$$$$'",
        "x >= 0 and y < 1e6",
    ],
)
def test_only_selected_rows_are_checked(search, condition):
    status, result, said = search(MESSY, "--where", condition)
    assert status == 0, said
    assert result["n_rows"] == N
    assert result["members"] == search(TABLE)[1]["members"]


def test_unreadable_cells_are_missing_where_that_is_said(search, tmp_path):
    status, result, said = search(MESSY, "--unreadable", "missing")
    assert status == 0, said
    assert result["n_rows"] == N + 1  # a feature may be missing
    assert "(5 without a value of y left out; 6 cells that cannot be read count as missing)" in said
    condition = Condition(result["where"])
    names = list(dict.fromkeys(condition.columns))
    read = TableFile(tmp_path / "t.csv").read(names, keep_unreadable=True)
    rows = condition.rows(dict(zip(names, read, strict=True)))
    assert np.flatnonzero(rows).tolist() == result["members"]
    # A column of which most is unreadable is still a target.
    most = "x,y\n" + "".join(
        f"{x},{y if x % 4 == 0 else 'n.d.'}\n" for x, y in zip(X, Y, strict=True)
    )
    assert "45 such cells" in search(most)[2]
    assert search(most, "--unreadable", "missing")[1]["n_rows"] == 15
    codes = "x,y\n" + "".join(f"{x % 4},{y}\n" for x, y in zip(X, Y, strict=True)) + "none yet,9\n"
    assert "'none yet' is not a number" in search(codes)[2]
    assert search(codes, "--one-hot", "x")[1]["n_rows"] == N + 1


def test_no_row_is_left_out_for_a_protected_target(search):
    private = ["--epsilon", "5", "--target-range", "0", "200", "--unreadable", "missing"]
    status, _, error = search(TABLE + "5,n.d.\n", *private)
    assert status == 2 and "no row is left out for that with --epsilon" in error


def test_numbers_too_large_to_be_squared_are_unreadable(search):
    content = TABLE + "5,1e200\n6,inf\n"
    assert "line 62, column 'y': '1e+200' is larger than 1e+150; 2 such" in search(content)[2]
    assert search(content, "--unreadable", "missing")[1]["n_rows"] == N
    assert search(content, "--where", "y < 1000")[1]["n_rows"] == N


@pytest.mark.parametrize("budget", [(), ("--budget", "20")], ids=["all rows", "questions"])
def test_a_row_without_a_target_is_left_out_and_that_is_said(search, budget):
    status, result, said = search("x,y\n5,\n" + ROWS + "6,NA\n", *budget)
    assert status == 0, said
    assert result["n_rows"] == N and "(2 without a value of y left out)" in said
    assert not {0, N + 1} & set(result["members"])


def test_the_cell_with_the_other_decimal_mark_is_named(search):
    rows = "".join(f"{x},{x % 10};{y},5\n" for x, y in zip(X, Y, strict=True))
    status, _, error = search("x;y\n" + rows + "53.2;3,5\n51.500;4,5\n")
    assert status == 2
    assert "line 62, column 'x': '53.2' is not a number with a decimal comma; 2 such" in error
    assert "also '51.500' in line 63" in error
    _, _, error = search("x;y\n" + rows.replace(",", ".") + "53,2;3.5\n")
    assert "line 62, column 'x': '53,2' is not a number" in error
    _, _, error = search("x;y\n7,5;1\n7.5;2\n")
    assert "column 'x': '7,5' has a decimal comma and '7.5' a decimal point: say --dec" in error


# -- headers --------------------------------------------------------------------------------------


TITLES = {
    "a title": ("My table\n", 1),
    "titles and a blank line": ("My table\nmade in 2024\n\n", 2),
    "a title with separators": ("My table,\n", 1),
    "a comment and a title": ("# ours\nMy table\n", 2),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", TITLES)
def test_lines_above_the_header_are_skipped_as_the_message_says(search, kind):
    above, n = TITLES[kind]
    status, _, error = search(above + TABLE)
    number = above.count("\n") + 1
    assert status == 2 and f"the header is likely line {number}: say --skip-lines {n}" in error
    status, result, said = search(above + TABLE, "--skip-lines", str(n))
    assert status == 0, said
    assert result["members"] == search(TABLE)[1]["members"]
    # It is found without the names of its columns.
    assert f"likely line {number}" in search(above + TABLE, features=["z"])[2]


def test_a_title_in_excel(search):
    rows = [[int(x), int(y)] for x, y in zip(X, Y, strict=True)]
    content = excel(["My table"], [], ["x", "y"], *rows)
    assert "the header is likely line 3: say --skip-lines 1" in search(content)[2]
    status, result, said = search(content, "--skip-lines", "1")
    assert status == 0, said
    assert result["members"] == search(TABLE)[1]["members"]


def test_two_header_lines(search):
    status, _, error = search("x,y\nmm,kg\n" + ROWS)
    assert status == 2 and "say --header 2 if it belongs to the header" in error
    plain = search(TABLE)[1]
    # One of the lines is enough to name a column.
    assert search("x,y\nmm,kg\n" + ROWS, "--header", "2")[1]["members"] == plain["members"]
    years = "2023,,2024,\nx,y,x,y\n" + ROWS.replace("\n", ",1,2\n")
    given = {"features": ["2023 x"], "target": "2023 y"}
    _, _, error = search(years, **given)
    assert "the header is likely lines 1 and 2: say --header 2" in error
    _, result, _ = search(years, "--header", "2", **given)
    assert result["members"] == plain["members"]
    _, _, error = search("a\n" + years, **given)
    assert "lines 2 and 3: say --skip-lines 1 --header 2" in error


def test_a_name_of_several_lines_in_one_cell_is_typed_in_one(search):
    content = TABLE.replace("x,y", '"net\nincome  (EUR)",y')
    name = "net income (EUR)"
    status, result, out = search(content, "--where", f"[{name}] >= 3", features=(name,))
    assert status == 0 and result["features"] == [name]
    assert result["n_rows"] == N - 3 and f"  {name} " in out


def test_no_header(search):
    status, _, error = search(ROWS)
    assert status == 2 and "line 1 has numbers, as if there were no header" in error
    assert "say --header 0, and name columns column1, column2" in error
    columns = {"features": ["column1"], "target": "column2"}
    status, result, said = search(ROWS, "--header", "0", **columns)
    assert status == 0, said
    assert result["members"] == search(TABLE)[1]["members"]
    # Years are names of columns.
    assert "--header" not in search(TABLE.replace("y", "2024", 1))[2]


def test_equal_names_are_numbered_as_in_pandas(search, tmp_path):
    content = "x,y,x,x\n" + "".join(f"1,{y},{x},2\n" for x, y in zip(X, Y, strict=True))
    (tmp_path / "names.csv").write_text(content)
    names = TableFile(tmp_path / "names.csv").names([])
    assert names == pd.read_csv(tmp_path / "names.csv").columns.tolist()
    _, result, said = search(content, features=["x.1"])
    assert result["members"] == search(TABLE)[1]["members"] and "called" not in said
    _, result, said = search(content, target="x", features=["y"])
    assert "of 3 columns called x the first" in said and result["true_average"] == 1


# -- rows -----------------------------------------------------------------------------------------


def test_members_are_the_rows_of_pandas(search, tmp_path):
    lines = TABLE.split("\n")
    for at, line in ((40, ""), (20, "  "), (10, ","), (5, ",")):
        lines.insert(at, line)
    status, result, said = search("\n".join(lines))
    assert status == 0, said
    frame = pd.read_csv(io.StringIO("\n".join(lines)))
    assert frame["y"].iloc[result["members"]].mean() == result["true_average"]


def test_members_are_the_rows_of_pandas_in_excel(search, tmp_path):
    rows = [[int(x), int(y)] for x, y in zip(X, Y, strict=True)]
    content = excel(["x", "y"], *rows[:9], [], *rows[9:30], [None, None], [], *rows[30:])
    saved = tmp_path / "rows.csv"
    status, result, said = search(content, "--save-rows", str(saved))
    assert status == 0, said
    frame = pd.read_excel(io.BytesIO(content))
    assert frame["y"].iloc[result["members"]].mean() == result["true_average"]
    assert pd.read_csv(saved)["y"].mean() == result["true_average"]


# -- dates ----------------------------------------------------------------------------------------


DAYS = pd.Timestamp("2001-01-01") + pd.to_timedelta(X * 17, "D")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "forms",
    [
        ["%b %d %Y"],
        ["%B %d, %Y"],
        ["%d %B %Y"],
        ["%a, %d %b %Y"],
        ["%d-%b-%Y"],
        ["%m/%d/%Y %I:%M %p"],
        ["%Y-%m-%d", "%b %d %Y", "%d.%m.%Y"],
    ],
)
def test_dates_in_words_and_in_several_forms_are_dates(search, forms):
    cells = [f'"{day.strftime(forms[i % len(forms)])}"' for i, day in enumerate(DAYS)]
    content = "day,y\n" + "".join(f"{d},{y}\n" for d, y in zip(cells, Y, strict=True))
    status, result, said = search(content, features=["day"])
    assert status == 0, said
    first = DAYS[result["members"]].min()
    since = result["where"].removeprefix("day >= '").removesuffix("'")
    assert DAYS[first > DAYS].max().isoformat() < since <= f"{first:%Y-%m-%d}"
    assert result["members"] == np.flatnonzero(first <= DAYS).tolist()


@pytest.mark.parametrize("form", ["%d/%m/%y", "%d-%b-%y", "%d. März %Y"])
def test_dates_that_are_not_clear_are_asked_about(search, tmp_path, form):
    cells = [day.strftime(form) for day in DAYS]
    content = "day,y\n" + "".join(f"{d},{y}\n" for d, y in zip(cells, Y, strict=True))
    status, _, error = search(content, features=["day"])
    assert status == 2 and f"line 2, column 'day': {cells[0]!r} looks like a date" in error
    assert "say --dates with their format" in error
    assert search(content, "--dates", form, features=["day"])[1]["where"].startswith("day >= '20")
    (tmp_path / "t.csv").write_text(content)
    assert TableFile(tmp_path / "t.csv").read(["day"], ["day"])[0].kind == "texts"


def test_a_cell_that_is_no_date_is_named(search):
    cells = [*(f"{day:%Y-%m-%d}" for day in DAYS[:-2]), "soon", "2001-02-30"]
    content = "day,y\n" + "".join(f"{d},{y}\n" for d, y in zip(cells, Y, strict=True))
    _, _, error = search(content, features=["day"])
    assert "line 60, column 'day': 'soon' is not a date like the others; 2 such cells" in error
    status, result, _ = search(
        content, "--where", "day != 'soon' and day != '2001-02-30'", features=["day"]
    )
    assert status == 0 and result["n_rows"] == N - 2


def test_words_with_a_date_among_them_stay_words(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("note\nold\n1/2/2001\nnew\nMay 2001\nmarble 2001\n")
    assert TableFile(path).read(["note"])[0].kind == "texts"


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (("12.5", '"1,234"'), (12.5, 1234.0)),
        (("12,5", "1.234"), (12.5, 1234.0)),
        (("0,5", "1,234"), (0.5, 1.234)),
        (("1.500.000", "1,234"), (1_500_000.0, 1.234)),
    ],
)
def test_a_column_may_tell_the_decimal_mark_of_others(tmp_path, cells, read):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + f"{cells[0]};{cells[1]}\n" * 3)
    assert tuple(column.values[0] for column in TableFile(path).read(["a", "b"])) == read


def test_what_may_be_either_is_asked_about(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1.230;1,234\n" * 3)
    with pytest.raises(ValueError, match=r"'1,234' may be 1\.234 or 1234: say --decimal"):
        TableFile(path).read(["a", "b"])


@pytest.mark.parametrize("cells", [["1,5", "2,5"], ["1 500,5", "2"], ["3 000", "50%"]])
def test_one_column_is_not_split_at_its_numbers(tmp_path, cells):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x", *cells, ""]))
    table = TableFile(path)
    assert table.names([]) == ["x"]
    assert len(table.read(["x"])[0].values) == 2


def test_a_header_of_nothing_has_no_title(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",\nx,y\n1,2\n")
    with pytest.raises(ValueError, match="the header is likely line 2"):
        TableFile(path).read(["x", "y"])


# -- what is printed of numbers -----------------------------------------------------------------


def test_years_and_other_codes_have_no_commas(search):
    rows = "".join(f"{year},{float(year >= 2009)}\n" for year in range(1970, 2030))
    _, result, said = search("x,y\n" + rows)
    assert result["where"] == "x >= 2009"
    assert re.search(r"(?m)^ +x +2009 or more$", said)


def test_an_end_between_minus_one_and_one_is_zero(search):
    values = [-1] + [0] * 7 + list(range(1, 15)) * 5
    _, result, said = search("x,y\n" + "".join(f"{x},{60 * (x <= 0) + x % 3}\n" for x in values))
    assert result["where"] == "x <= 0" and re.search(r"(?m)^ +x +up to 0$", said)


def test_a_unit_is_said_and_compared_as_a_number(search):
    cells = "".join(f"{x} C,{float(x >= 40)}\n" for x in range(N))
    _, result, said = search("x,y\n" + cells)
    assert result["where"] == "x >= 40" and re.search(r"(?m)^ +x +40 C or more$", said)


def test_outliers_count_as_the_ends_that_are_met(search):
    amounts = [*np.arange(1.0, N + 1), 1e9]
    rows = "".join(f"{i},{amount}\n" for i, amount in enumerate(amounts))
    _, result, said = search("x,y\n" + rows)
    low, high = result["outliers_count_as"]
    assert low < 0.0 < high < 1e9
    assert f"they count as {number(high, 4)}. As" in said and number(low, 4) not in said
    _, result, said = search("x,y\n" + rows + "70,-1e9\n")
    low, high = result["outliers_count_as"]
    assert f"they count as {number(low, 4)} or {number(high, 4)}. As" in said


def test_limits_are_counted_in_the_first_line(search):
    rows = "".join(f"{x},{'<7' if x < 20 else x}\n" for x in range(N))
    _, result, said = search("x,y\n" + rows, "--minimize")
    assert "60 rows (20 cells such as <0.5 or >100 count as their limit)" in said
    assert result["where"] == "x <= 19" and result["true_average"] == 7.0


# -- targets of two texts -----------------------------------------------------------------------


PAIRS = [("Y", "N"), ("n", "y"), ("T", "F"), ("pass", "fail"), ("CH", "MM"), (">50K", "<=50K")]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_any_two_texts_are_a_target_once_one_is_named(search, pair):
    one, other = pair
    table = "x,y\n" + "".join(f"{x},{one if x >= 40 else other}\n" for x in range(N))
    status, result, said = search(table)
    if one.lower() in "yntf":
        expected = "x >= 40" if one in "YT" else "x <= 39"
        assert result["where"] == expected
    else:
        assert status == 2
        first, second = sorted(pair)
        assert f'by --target "y = {first}" or "y = {second}"' in said
    for each, where in ((one, "x >= 40"), (other, "x <= 39")):
        _, result, said = search(table, target=f"y = {each}")
        assert (result["where"], result["target"]) == (where, f"y = {each}")
        assert result["true_average"] == 1.0


def test_a_named_text_is_there_and_is_no_feature(search):
    table = "x,y\n" + "".join(f"{x},{'ab'[x % 2]}\n" for x in range(N))
    assert (
        "no cell of the column 'y' is 'c'; there are 'a', 'b'" in search(table, target="y = c")[2]
    )
    _, _, error = search(table, features=["x", "y"], target="y = a")
    assert "--target 'y = a' is about a column of --features" in error


def test_a_column_may_be_called_like_a_comparison(search):
    _, result, _ = search("x,y = a\n" + ROWS, target="y = a")
    assert result["target"] == "y = a" and result["n_rows"] == N


def test_missing_cells_of_a_named_text_are_left_out(search):
    rows = "".join(f"{x},{['', 'ok', 'bad'][x % 3]}\n" for x in range(N))
    _, result, said = search("x,y\n" + rows, target="y = ok")
    assert result["n_rows"] == 40 and "20 without a value of y left out" in said


# -- shells -------------------------------------------------------------------------------------


def test_single_quotes_that_a_shell_leaves_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(commands, "LEAVES_QUOTES", True)
    for arguments in (["'T=20:90'"], ["'T", "=", "20:90'"]):
        assert main(["new", "run.skgpb", "--bounds", *arguments]) == 2
        error = capsys.readouterr().err
        assert f"single quotes for letters, got {arguments[0]}: write double quotes" in error
    assert main(["ask", "'t-Hooft.skgpb"]) == 2
    assert "double quotes" not in capsys.readouterr().err

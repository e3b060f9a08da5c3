"""``search`` where rows are visible and answers exact."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from skgpb.lab.cli import main, pictures
from skgpb.lab.cli.where import Condition
from skgpb.lab.cli.words import number
from skgpb.lab.datasets.table import TableFile


def shops(path, n=800, outliers=False):
    """Sales by shop, hour and day: high in two shops from noon on. Some hours are missing."""
    rng = np.random.default_rng(0)
    shop = rng.choice(["Ann's", "Bob", "Cy", "Dee"], n)
    hour = np.round(rng.uniform(0, 24, n), 2)
    day = np.datetime64("2024-01-01") + rng.integers(0, 100, n)
    until = np.isin(shop, ["Ann's", "Dee"]) & (hour > 12)
    sales = 20 + 10 * until + 4 * rng.normal(size=n)
    if outliers:
        sales[7] = 1e7
    lines = ["shop,opening hour,day,sales"]
    for i in range(n):
        at = "" if i % 11 == 0 else f"{hour[i]:g}"
        lines.append(f"{shop[i]},{at},{day[i]},{float(sales[i])!r}")
    path.write_text("\n".join(lines) + "\n")
    return sales


@pytest.fixture
def search(tmp_path, capsys):
    table = tmp_path / "sales.csv"

    def run(*more, features=("shop", "opening hour", "day"), status=0, outliers=False):
        shops(table, outliers=outliers)
        output = tmp_path / "result.json"
        given = ["--features", *features, "--target", "sales", "--output", output, *more]
        assert main(["search", str(table), *map(str, given)]) == status
        printed = capsys.readouterr()
        result = json.loads(output.read_text()) if status == 0 else None
        return result, printed.out if status == 0 else printed.err, table

    return run


def test_without_a_budget_all_rows_are_searched_and_judged(search):
    result, printed, _ = search("--min-rows", "10%")
    assert result["answers"] == "exact"
    assert result["parameters"] == {"min_rows": 80}
    assert result["n_members"] >= 80
    assert (result["verdict"], result["p_value"]) == ("real", pytest.approx(0.02))
    low, high = result["new_rows_interval"]
    assert low < result["new_rows_average"] < high
    assert result["new_rows_average"] == pytest.approx(30, abs=1.5)
    assert result["true_average"] - result["optimism"] == pytest.approx(result["new_rows_average"])
    assert "The group is real: new rows of it are expected to average" in printed
    assert "says nothing about causes" in printed
    assert "all rows are visible and answers exact" in printed
    assert re.search(r"the best of \d+ groups of 80 rows or more", printed)


def test_what_is_said_of_a_group_selects_its_rows(search):
    result, printed, table = search("--min-rows", "20%")
    condition = Condition(result["where"])
    names = ["shop", "opening hour", "day"]
    columns = dict(zip(names, TableFile(table).read(names), strict=True))
    np.testing.assert_array_equal(np.flatnonzero(condition.rows(columns)), result["members"])
    assert "shop in ('Ann''s', 'Dee')" in result["where"]
    assert re.search(r"\[opening hour\] >= 1[12]", result["where"])
    assert re.search(r"\n  shop +Ann's, Dee\n", printed)
    assert re.search(r"\n  opening hour +1[12][.\d]* ", printed)
    # The group that was found is the whole of the table that it selects.
    again, _, _ = search("--where", result["where"], "--min-rows", "30")
    assert set(again["members"]) <= set(result["members"])


@pytest.mark.slow
def test_missing_values_are_in_or_out_and_may_be_left_out(search):
    within, _, _ = search()
    assert within["n_rows"] == 800
    without, _, _ = search("--drop-missing")
    assert without["n_rows"] == 800 - len(range(0, 800, 11))


def test_a_wild_value_is_named_and_does_not_decide(search):
    result, printed, _ = search("--min-rows", "10%", outliers=True)
    assert result["outliers"] == [{"row": 7, "value": 1e7}]
    assert result["verdict"] == "real"
    assert "Values far from all others, perhaps mistyped: 1e+07 in line 9." in printed
    assert result["new_rows_average"] == pytest.approx(30, abs=1.5)


@pytest.mark.slow
def test_wild_values_do_not_let_a_report_contradict_itself(search, tmp_path):
    report = tmp_path / "report.html"
    result, printed, table = search("--min-rows", "10%", "--report", report, outliers=True)
    sales = shops(table, outliers=True)
    low, high = result["outliers_count_as"]
    counted, inside = sales.clip(low, high), np.isin(np.arange(len(sales)), result["members"])
    assert result["true_average"] == pytest.approx(sales[inside].mean())
    assert result["true_average_of_table"] == pytest.approx(sales.mean())
    assert sales.mean() > 10_000
    # All that is compared is compared as it counts.
    averages = re.search(r"average of these rows +([0-9.]+), of the whole table ([0-9.]+)", printed)
    assert list(map(float, averages.groups())) == pytest.approx(
        [counted[inside].mean(), counted.mean()], rel=1e-5
    )
    assert f"probability), all rows {counted.mean():.4g}." in printed
    assert result["optimism"] == pytest.approx(counted[inside].mean() - result["new_rows_average"])
    assert 0 < max(result["effects_of_features"].values()) < 10
    assert (
        f"As they are, these rows average {sales[inside].mean():,.6g} and the whole table "
        f"{sales.mean():,.0f}." in printed
    )
    page = report.read_text()
    assert f"average <strong>{counted[inside].mean():.4g}</strong>" in page
    assert f"{sales.mean():,.0f}" in page


def test_the_lowest_average_is_sought_where_that_is_said(search):
    result, printed, _ = search("--minimize")
    assert result["sought"] == "lowest"
    assert result["true_average"] < 20.5 < result["true_average_of_table"]
    assert printed.startswith("Lowest average")


def test_noise_is_called_chance(tmp_path, capsys):
    rng = np.random.default_rng(1)
    table, output = tmp_path / "noise.csv", tmp_path / "result.json"
    rows = "\n".join(f"{a!r},{b!r},{c!r}" for a, b, c in rng.normal(size=(500, 3)).tolist())
    table.write_text(f"a,b,c\n{rows}\n")
    given = ["--features", "a", "b", "--target", "c", "--output", str(output)]
    assert main(["search", str(table), *given]) == 0
    result = json.loads(output.read_text())
    assert result["verdict"] == "chance"
    printed = capsys.readouterr().out
    assert re.search(
        "The group may be chance: in [0-9.]+ % of the tables whose c is dealt", printed
    )
    assert "real" not in printed


def test_one_value_is_said_once(tmp_path, capsys):
    rng = np.random.default_rng(2)
    smokes = rng.integers(0, 2, 400)
    age = rng.integers(60, 64, 400)
    cost = 5.0 * ((smokes == 1) & (age == 61)) + rng.normal(size=400)
    table = tmp_path / "people.csv"
    rows = "\n".join(f"{s},{a},{c!r}" for s, a, c in zip(smokes, age, cost.tolist(), strict=True))
    table.write_text(f"smokes,age,cost\n{rows}\n")
    given = ["--features", "smokes", "age", "--target", "cost"]
    assert main(["search", str(table), *given]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\n  (smokes +1|age +61)\n  (smokes +1|age +61)\n", printed)
    assert "smokes = 1" in printed and "age = 61" in printed


@pytest.mark.slow
def test_the_report_says_the_verdict_and_has_pictures(search, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    report, picture = tmp_path / "report.html", tmp_path / "map.png"
    search("--report", report, "--plot", picture)
    page = report.read_text(encoding="utf-8")
    assert "The group is real: new rows of it are expected to average" in page
    assert page.count("<figure>") >= 4
    assert "http" not in re.sub(r"data:image[^\"]+", "", page)
    assert picture.stat().st_size > 10_000


def test_rows_of_the_group_are_saved(search, tmp_path):
    rows = tmp_path / "rows.csv"
    result, _, _ = search("--save-rows", rows)
    assert len(rows.read_text().splitlines()) == 1 + result["n_members"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--alpha", "3"], "--alpha is for --budget"),
        (["--stop-within", "3"], "--stop-within is for --budget or --epsilon"),
        (["--noise", "3"], "--noise is for --budget"),
        (["--min-rows", "500"], "--min-rows 500 leaves no choice in a table of 800 rows"),
        (["--min-rows", "60%"], "--min-rows 480 leaves no choice"),
        (["--where", "shop = 'Ann''s' and day < '2023-01-01'"], "selects none of the 800 rows"),
    ],
)
def test_what_cannot_be_done_is_one_line(search, options, says):
    _, printed, _ = search(*options, status=2)
    assert says in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("given", ["0", "0%", "120%", "-3", "many"])
def test_numbers_of_rows_that_mean_nothing_are_refused(search, given):
    _, printed, _ = search(f"--min-rows={given}", status=2)
    assert "a whole number >= 1" in printed


def test_a_share_of_rows_holds_where_questions_are_asked_as_well(search):
    result, _, _ = search("--budget", "20", "--min-rows", "10%", "--drop-missing")
    assert result["parameters"]["min_rows"] == 73
    assert result["smallest_group_asked"] >= 73 / 2


@pytest.mark.parametrize(
    ("x", "digits", "text"),
    [
        (493672.6, 4, "493,700"),
        (493672.6, 6, "493,673"),
        (-1234567.0, 3, "-1,230,000"),
        (0.00012345, 3, "0.000123"),
        (999.96, 4, "1,000"),
        (1e20, 4, "1e+20"),
    ],
)
def test_numbers_are_written_without_exponents(x, digits, text):
    assert number(x, digits) == text


@pytest.mark.one_in(3)
@pytest.mark.parametrize("end", [".csv", ".parquet"])
@pytest.mark.parametrize("more", [[], ["--budget", "30"]])
def test_a_boolean_is_yes_or_no(tmp_path, capsys, end, more):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"member": rng.random(400) < 0.4, "age": rng.integers(18, 70, 400)})
    rows["income"] = 10.0 + 3.0 * rows["member"] + rng.normal(size=400)
    path = tmp_path / f"rows{end}"
    if end == ".csv":
        rows.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        rows.to_parquet(path)
    words = ["search", str(path), "--features", "member", "age", "--target", "income", *more]
    for lowest, said, digit in (([], "yes", 1), (["--minimize"], "no", 0)):
        assert main([*words, *lowest]) == 0
        printed = capsys.readouterr().out
        assert re.search(rf"^  member +{said}$", printed, re.MULTILINE)
        assert f"member = {digit}" in printed


@pytest.mark.slow
def test_a_condition_of_hundreds_of_categories_is_for_programs(tmp_path, capsys):
    rng = np.random.default_rng(3)
    shops = rng.integers(0, 1000, 4000)
    good = shops < 500
    lines = [f"shop {shop},{y!r}" for shop, y in zip(shops, (good + 0.1).tolist(), strict=True)]
    table, output = tmp_path / "shops.csv", tmp_path / "result.json"
    table.write_text("\n".join(["shop,sales", *lines]) + "\n")
    given = ["--features", "shop", "--target", "sales", "--output", str(output)]
    assert main(["search", str(table), *given]) == 0
    result, printed = json.loads(output.read_text()), capsys.readouterr().out
    assert result["n_members"] == good.sum()
    assert result["where"].count("'shop ") == len(set(shops[good].tolist()))
    n = len(f'--where "{result["where"]}"')
    said = f"exactly these rows     a condition of {n:,} letters, see where in the file of --output"
    assert said in printed and "'shop 1'" not in printed


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("30100.0", "is the sum of all other rows: a row of totals does not belong to the table"),
        ("30099", "is the sum of all other rows: a row of totals does not belong to the table"),
        ("250", None),
        ("40000", None),
    ],
)
def test_a_row_of_totals_is_found_without_its_name(tmp_path, capsys, last, said):
    sales = 100 + np.arange(200) % 2 * 101.0
    lines = ["hour,sales", *(f"{i % 24},{y!r}" for i, y in enumerate(sales.tolist()))]
    table = tmp_path / "sales.csv"
    table.write_text("\n".join([*lines, f",{last}"]) + "\n")
    status = main(["search", str(table), "--features", "hour", "--target", "sales"])
    err = capsys.readouterr().err
    assert status == (0 if said is None else 2)
    if said is not None:
        assert err.count("\n") == 1 and said in err
        assert f"line 202, column 'sales': {float(last):,g} is the sum" in err


@pytest.mark.parametrize(("last", "is_total"), [(2, False), (3, True)])
def test_a_count_of_two_is_no_total_because_two_rows_have_one(tmp_path, capsys, last, is_total):
    lines = ["hour,calls", *(f"{i % 24},{int(i < last)}" for i in range(40)), f"7,{last}"]
    table = tmp_path / "calls.csv"
    table.write_text("\n".join(lines) + "\n")
    status = main(["search", str(table), "--features", "hour", "--target", "calls"])
    assert (status == 2) == is_total == ("is the sum of all other rows" in capsys.readouterr().err)


@pytest.mark.parametrize(
    ("n", "chosen", "named", "rotation"),
    [
        (4, [1], [0, 1, 2, 3], 0),
        (10, [1], range(10), 40),
        (30, [1], range(30), 90),
        (60, [3, 50], [3, 50], 40),
        (60, range(30), [], None),
    ],
)
def test_many_categories_are_named_where_there_is_room(n, chosen, named, rotation):
    figure = pytest.importorskip("matplotlib.figure")
    axis = figure.Figure().subplots().xaxis
    pictures.label_categories(
        axis, [f"shop {i}" for i in range(n)], [i in chosen for i in range(n)]
    )
    labels = axis.get_ticklabels()
    assert [label.get_text() for label in labels] == [f"shop {i}" for i in named]
    assert {label.get_rotation() for label in labels} == ({rotation} if named else set())


def patients(path, code=None):
    """Ten visits each of thirty patients, who differ; nothing else matters."""
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(30), 10)
    age, weight = rng.integers(20, 80, 30)[who], rng.uniform(50, 90, 30).round(1)[who]
    score = rng.normal(size=30)[who] + 0.5 * rng.normal(size=300)
    if code is not None:
        score[::9] = code
    rows = zip(who.tolist(), age.tolist(), weight.tolist(), score.tolist(), strict=True)
    lines = [",".join(map(repr, row)) for row in rows]
    path.write_text("\n".join(["patient,age,weight,score", *lines]) + "\n")


def test_rows_that_belong_together_are_named_and_taken_together(tmp_path, capsys):
    table, output = tmp_path / "visits.csv", tmp_path / "result.json"
    patients(table)
    given = ["search", str(table), "--features", "age", "weight", "--target", "score"]
    assert main([*given, "--output", str(output)]) == 0
    printed, result = capsys.readouterr().out, json.loads(output.read_text())
    assert (result["verdict"], result["identity"], result["group"]) == ("real", "patient", None)
    assert (
        "Rows with the same patient seem to belong together, like the visits of a patient. If they "
        'do, the verdict and the interval need --group "patient".' in printed
    )
    assert main([*given, "--output", str(output), "--group", "patient"]) == 0
    printed, result = capsys.readouterr().out, json.loads(output.read_text())
    assert (result["verdict"], result["identity"], result["group"]) == ("chance", None, "patient")
    assert "belong together" not in printed


def test_rows_that_repeat_without_an_identity_are_named(tmp_path, capsys):
    table = tmp_path / "visits.csv"
    patients(table)
    lines = [line.split(",", 1)[1] for line in table.read_text().splitlines()]
    table.write_text("\n".join(lines) + "\n")
    assert main(["search", str(table), "--features", "age", "weight", "--target", "score"]) == 0
    # Their targets are alike, so that a feature tells them apart.
    assert "Rows with the same age seem to belong together" in capsys.readouterr().out
    header, *rows = lines
    shuffled = [f"{row.rpartition(',')[0]},{(7 * i) % 31}" for i, row in enumerate(rows)]
    table.write_text("\n".join([header, *shuffled]) + "\n")
    assert main(["search", str(table), "--features", "age", "weight", "--target", "score"]) == 0
    assert "Only 30 of 300 rows differ in the features." in capsys.readouterr().out


def test_a_code_for_missing_values_is_named_with_what_to_do(tmp_path, capsys):
    table, output = tmp_path / "visits.csv", tmp_path / "result.json"
    patients(table, 9999)
    given = ["search", str(table), "--features", "age", "--target", "score"]
    given += ["--output", str(output)]
    assert main(given) == 0
    printed, result = capsys.readouterr().out, json.loads(output.read_text())
    assert result["missing_code"] == 9999.0
    assert "9,999 is often the value of score, far from all others." in printed
    where = re.search(r"leave these rows out: --where '(.*)'", printed).group(1)
    assert main([*given, "--where", where]) == 0
    printed, result = capsys.readouterr().out, json.loads(output.read_text())
    assert (result["missing_code"], result["n_rows"]) == (None, 266)
    assert "far from all others" not in printed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--group", "score"], "--group 'score' is the --target"),
        (["--group", "nobody"], "nobody"),
        (
            ["--group", "patient", "--budget", "20"],
            "--group cannot be combined with --budget: it is for searches without",
        ),
        (["--group", "patient", "--where", "patient < 3"], "at least 5 different values, got 3"),
    ],
)
def test_groups_of_rows_that_mean_nothing_are_refused(tmp_path, capsys, options, says):
    table = tmp_path / "visits.csv"
    patients(table)
    given = ["search", str(table), "--features", "age", "--target", "score"]
    assert main([*given, *options]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_luck_and_shuffled_tables_are_said_in_plain_words(search):
    result, printed, _ = search("--min-rows", "10%")
    n, as_good = result["n_permutations"], result["n_permutations_as_good"]
    assert f"real: {as_good} of {n} shuffled tables gave a group this good (p = 0.02)" in printed
    # A difference that is rounding alone is none.
    averages = number(result["new_rows_average"]), number(result["counted_average"])
    assert ("of this is luck" in printed) == (averages[0] != averages[1])


def test_rounding_is_no_luck(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = np.round(rng.random(200), 2)
    rows = zip(x, np.round(10 * (x > 0.5) + rng.normal(size=200), 1), strict=True)
    table, output = tmp_path / "table.csv", tmp_path / "result.json"
    table.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in rows))
    given = ["--features", "x", "--target", "y", "--output", str(output)]
    assert main(["search", str(table), *given]) == 0
    assert 0.0 < json.loads(output.read_text())["optimism"] < 1e-12
    assert "is luck" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_result_has_the_seed_of_its_permutations(search):
    assert search()[0]["seed"] == 0
    found = [search("--seed", seed)[0] for seed in ("5", "6")]
    assert [each["seed"] for each in found] == [5, 6]
    assert found[0]["members"] == found[1]["members"]


@pytest.mark.parametrize(("columns", "status"), [(["one"], 2), (["one", "x"], 0)])
def test_a_feature_with_one_value_is_no_obstacle_beside_others(columns, status, tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = tmp_path / "table.csv"
    lines = [f"1,{x:.2f},{3.0 * (x > 0.5) + rng.normal():.3f}" for x in rng.random(60)]
    table.write_text("\n".join(["one,x,y", *lines]) + "\n")
    assert main(["search", str(table), "--features", *columns, "--target", "y"]) == status
    printed = capsys.readouterr()
    assert ("every feature has one and the same value" in printed.err) == (status == 2)

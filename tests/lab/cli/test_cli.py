"""The command line: what it finds, what it writes, and how it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from census import CALIFORNIA, needs_census
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import skgpb
from skgpb import GPOOOptimizer
from skgpb.lab.cli import asked, demo, files, main, pictures, words
from skgpb.lab.cli.asked import AskedResult, best_by_chance, positive_probability
from skgpb.lab.cli.features import FeatureLimits
from skgpb.lab.cli.tables import default_min_rows
from skgpb.lab.cli.where import Condition
from skgpb.lab.datasets import PrivacyLedger
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.table import TableFile
from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import AskedGroup, AskedSearch, NoisyAverages, search_by_asking
from skgpb.utils.install import install_command


def peaked(n=600, seed=3):
    """Rows (x, y, value) with a broad peak of the value near (0.8, 0.3)."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(n, 2))
    value = 10 * np.exp(-8 * ((places - [0.8, 0.3]) ** 2).sum(axis=1)) + rng.normal(size=n)
    return np.column_stack([places, value])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    rows = peaked()
    lines = [
        "name,x,y,value",
        *(f"r{i},{x!r},{y!r},{v!r}" for i, (x, y, v) in enumerate(rows.tolist())),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def search(table, *more, features=("x", "y"), target="value", budget="12"):
    given = ["--features", *features, "--target", target, "--budget", budget]
    return main(["search", str(table), *given, *map(str, more)])


def refused(capsys, status):
    """Check that one line was printed, on stderr, and return it."""
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.startswith("skgpb: error: ") and err.count("\n") == 1 and err.endswith("\n")
    assert "Traceback" not in err
    return err


# -- what it finds ------------------------------------------------------------------------------


def test_search_reports_the_group_it_recommends(table, tmp_path, capsys):
    output = tmp_path / "result.json"
    assert search(table, "--noise", 0.3, "--output", output, budget="40") == 0
    result = json.loads(output.read_text())
    rows = peaked()
    members = np.array(result["members"])
    assert result["n_members"] == len(members) == len(set(members.tolist()))
    assert_allclose(result["true_average"], rows[members, 2].mean(), rtol=1e-12)
    assert_allclose(result["true_average_of_table"], rows[:, 2].mean(), rtol=1e-12)
    assert_allclose(result["lower"], rows[members, :2].min(axis=0), rtol=1e-15)
    assert_allclose(result["upper"], rows[members, :2].max(axis=0), rtol=1e-15)
    inside = (rows[:, :2] >= result["lower"]) & (rows[:, :2] <= result["upper"])
    assert_array_equal(np.flatnonzero(inside.all(axis=1)), members)
    assert result["n_members"] >= 600 // 64
    assert 38 <= result["n_rounds"] <= 40 and result["seed"] == 0
    assert result["smallest_group_asked"] >= 600 // 64
    assert result["share_of_rows_averaged_singly"] == 0.0
    assert (
        abs(result["posterior_mean"] - result["true_average"]) < 4 * result["posterior_std"] + 0.5
    )
    parameters = result["parameters"]
    assert parameters["noise"] == 0.3 and parameters["alpha"] is None
    assert parameters["min_rows"] == 9
    assert result["engine"] == "model" and 0.5 < result["r2_loo"] < 1.0
    printed = capsys.readouterr().out
    assert f"{result['n_members']} rows, " in printed
    assert re.search(rf"questions asked +{result['n_rounds']} on ", printed)
    assert "a Gaussian process proposed groups: it predicts" in printed
    assert "computed only for this report" in printed
    assert re.search("groups of one row +0 %", printed)


def test_the_guide_names_every_key_of_a_result(table, tmp_path):
    page = (Path(__file__).parents[3] / "doc/user_guide/command_line.rst").read_text("utf-8")
    exact, asked = page.split("A missing value of a feature")[0], page.split("at least these")[1]
    said = [set(re.findall(r"``(\w+)``", text)) for text in (exact + asked, asked)]
    for budget, known in zip(([], ["--budget", "9"]), said, strict=True):
        given = ["--features", "x", "y", "--target", "value", *budget]
        assert main(["search", str(table), *given, "--output", str(tmp_path / "found")]) == 0
        assert json.loads((tmp_path / "found").read_text()).keys() <= known


def test_same_seed_same_result_and_another_seed_other_noise(table, tmp_path):
    def run(name, seed):
        output = tmp_path / name
        assert search(table, "--noise", 1.0, "--seed", seed, "--output", output) == 0
        return output.read_text()

    first = run("a.json", 5)
    assert run("b.json", 5) == first
    other = json.loads(run("c.json", 6))
    assert other["posterior_mean"] != json.loads(first)["posterior_mean"]


def test_exact_answers_need_no_alpha(table, tmp_path):
    output = tmp_path / "result.json"
    assert search(table, "--output", output, budget="30") == 0
    result = json.loads(output.read_text())
    assert result["answers"] == "exact" and result["n_rounds"] == result["n_groups_asked"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("more", [["--noise", 0.3, "--budget", 40], ["--budget", 30]])
def test_search_finds_the_peak(more, table, tmp_path):
    """The peak is 10, the average of the table 2.9.

    Over 40 seeds groups average 8.9 and 9.2, with standard deviations of 0.26 and 0.36.
    """
    output, found = tmp_path / "result.json", []
    for seed in range(4):
        assert search(table, *more, "--seed", seed, "--output", output) == 0
        found.append(json.loads(output.read_text())["true_average"])
    assert np.mean(found) > 8.0


def test_a_search_asks_no_more_once_enough_is_known(table, tmp_path, capsys):
    output = tmp_path / "result.json"

    def asked(*options):
        assert search(table, "--noise", 0.3, "--output", output, *options, budget="120") == 0
        result = json.loads(output.read_text())
        return result["n_rounds"], result["enough"], capsys.readouterr().out

    n, enough, printed = asked("--stop-within", 3)
    assert 30 <= n < 110
    assert enough == "within 3 of the best with probability 0.95"
    assert f"Enough is known: the group is {enough}." in printed
    # Nothing is known with so much noise.
    assert asked("--stop-within", 1e-6, "--noise", 100, "--confidence", 0.999999)[1] is None
    for wrong in (["--stop-within", 0], ["--stop-within", 1, "--confidence", 1]):
        assert search(table, *wrong) == 2


def test_target_without_variation_is_no_problem(tmp_path):
    path, output = tmp_path / "flat.csv", tmp_path / "result.json"
    path.write_text("x,value\n" + "".join(f"{i},7\n" for i in range(50)))
    assert search(path, "--output", output, features=["x"]) == 0
    assert_allclose(json.loads(output.read_text())["posterior_mean"], 7.0)


def gain(found):
    """By how much a group is better than the whole table, and the deviation of that."""
    pair = np.array([found.index, 0])
    mean, cov = found.mean[pair], found.cov[np.ix_(pair, pair)]
    return mean[0] - mean[1], np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])


@pytest.mark.parametrize(("budget", "noise"), [(1, 0.0), (2, 0.0), (3, 0.02), (8, 0.3), (40, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_no_group_known_to_be_worse_than_the_table_is_recommended(budget, noise, seed):
    rows = peaked(seed=seed)
    found = search_by_asking(
        MemoryTable(rows[:, :2], np.zeros(600)), NoisyAverages(rows[:, 2], noise), 9, budget
    )
    assert len(found.groups[0].rows) == 600 and found.n_answers <= budget
    assert found.mean[found.index] >= found.mean[0]
    least = 0.95 if noise else 0.7
    assert found.index == 0 or positive_probability(*gain(found)) >= least


def test_exact_answers_are_asked_for_once():
    rows = peaked(64)
    oracle = NoisyAverages(rows[:, 2], 0.0)
    found = search_by_asking(MemoryTable(rows[:, :2], np.zeros(64)), oracle, 4, 200)
    assert found.n_answers == len(found.groups) <= 200
    assert all(len(group.answers) == 1 for group in found.groups)
    means = [rows[group.rows, 2].mean() for group in found.groups]
    assert rows[found.group.rows, 2].mean() >= max(means) - 0.05


@pytest.fixture
def gridded(tmp_path):
    """A table whose features have few values, so that cuts go through equal ones."""
    path, rng = tmp_path / "grid.csv", np.random.default_rng(0)
    places = rng.integers(5, size=(200, 2))
    value = places.sum(axis=1) + rng.normal(size=200)
    lines = [f"{x},{y},{v!r},kept" for (x, y), v in zip(places, value.tolist(), strict=True)]
    path.write_text("\n".join(["x,y,value,note", *lines]) + "\n")
    return path, lines


def test_groups_are_told_by_what_is_said_of_them_and_their_rows_are_saved(
    gridded, tmp_path, capsys
):
    path, lines = gridded
    output, rows = tmp_path / "result.json", tmp_path / "rows.csv"
    assert search(path, "--output", output, "--save-rows", rows, budget="30") == 0
    result = json.loads(output.read_text())
    expected = [lines[i] for i in result["members"]]
    assert rows.read_text() == "\n".join(["x,y,value,note", *expected]) + "\n"
    table = np.array([line.split(",")[:2] for line in lines], dtype=float)
    inside = ((table >= result["lower"]) & (table <= result["upper"])).all(axis=1)
    assert_array_equal(np.flatnonzero(inside), result["members"])
    printed = capsys.readouterr().out
    assert f'--where "{result["where"]}"' in printed and f"rows in {rows}" in printed
    # The printed condition selects these rows and no others.
    columns = {column.name: column for column in TableFile(path).read(["x", "y"])}
    selected = Condition(result["where"]).rows(columns)
    assert_array_equal(np.flatnonzero(selected), result["members"])


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.0163, "1.6 %"), (0.5, "50 %"), (0.9999, "99.99 %"), (1.0, "100 %")],
)
def test_shares_are_written_without_exponents(share, text):
    assert words.percent(share) == text


def test_one_row_is_no_rows(tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text("x,value\n" + "".join(f"{i},{i * i}\n" for i in range(8)))
    assert search(path, "--min-rows", 1, features=["x"], budget="30") == 0
    printed = capsys.readouterr().out
    assert re.search("recommended group +1 row, 12.5 % of the table", printed)
    assert re.search("smallest group asked +1 row\n", printed)


def test_limits_on_groups_are_kept(table, tmp_path):
    output = tmp_path / "result.json"
    more = ["--min-members", 100, "--output", output, "--alpha", 0.5]
    assert search(table, *more, budget="20") == 0
    result = json.loads(output.read_text())
    assert result["smallest_group_asked"] >= 100
    assert result["parameters"]["alpha"] == 0.5
    assert result["n_members"] >= 100


def test_a_budget_of_one_asks_for_the_whole_table(table, tmp_path, capsys):
    output = tmp_path / "result.json"
    assert search(table, "--output", output, budget="1") == 0
    result = json.loads(output.read_text())
    assert result["n_members"] == 600 and result["n_groups_asked"] == 1
    assert "too small" in capsys.readouterr().out


def test_the_search_sees_nothing_but_noisy_averages():
    """Equal answers lead to equal questions and an equal group, whatever the values are."""
    rows = peaked()
    table, told = MemoryTable(rows[:, :2], np.zeros(600)), []

    class Listening(NoisyAverages):
        def answer(self, members, part):
            told.append((members, super().answer(members, part)))
            return told[-1][1]

    class Repeating(Listening):
        def answer(self, members, part):
            expected, answer = replayed.pop(0)
            assert_array_equal(members, expected)
            return answer

    first = search_by_asking(table, Listening(rows[:, 2], 0.3), 9, 60)
    replayed = list(told)
    second = search_by_asking(table, Repeating(-rows[:, 2], 0.3), 9, 60)
    assert not replayed and second.subgroup == first.subgroup
    assert_array_equal(second.mean, first.mean)


def test_noise_has_the_given_deviation():
    oracle = NoisyAverages(np.array([1.0, 2.0, 3.0, 6.0]), 0.5)
    answers, variances = np.array([oracle.answer(np.arange(4), 1.0) for _ in range(4000)]).T
    assert_allclose(answers.mean(), 3.0, atol=5 * 0.5 / np.sqrt(4000))
    assert_allclose(answers.std(), 0.5, rtol=5 / np.sqrt(2 * 4000))
    assert (variances == 0.25).all() and oracle.repeats


@pytest.mark.slow
@needs_census
def test_census(tmp_path):
    """Best group of a 64th of California's districts: 393,896 on average; of all: 206,856.

    Over 40 seeds the groups found have 389,800 with a standard deviation of 17,500; eight seeds
    average less than 350,000 with a probability below 1e-6 (Chernoff).
    """
    output, found, sizes = tmp_path / "result.json", [], []
    features = ["longitude", "latitude"]
    for seed in range(8):
        more = ["--noise", 11540, "--seed", seed, "--output", output]
        target = "median_house_value"
        assert search(CALIFORNIA, *more, features=features, target=target, budget="150") == 0
        result = json.loads(output.read_text())
        sizes.append(result["n_members"])
        assert result["share_of_rows_averaged_singly"] == 0.0
        found.append(result["true_average"])
    assert np.mean(found) >= 350_000
    assert min(sizes) >= 322 and np.mean(sizes) <= 1000


# -- pictures, and the demo ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("features", [["x"], ["x", "y"], ["x", "y", "other"]])
def test_search_draws_a_map(tmp_path, features):
    pytest.importorskip("matplotlib")
    rows = np.column_stack([peaked(200), np.random.default_rng(0).uniform(size=200)])
    path, plot = tmp_path / "table.csv", tmp_path / "map.png"
    lines = ["x,y,value,other", *(",".join(map(repr, row)) for row in rows.tolist())]
    path.write_text("\n".join(lines))
    assert search(path, "--plot", plot, "--noise", 0.3, features=features) == 0
    assert plot.read_bytes().startswith(b"\x89PNG") and plot.stat().st_size > 10_000


@pytest.mark.slow
def test_demo_finds_the_flower(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--budget", "25"]) == 0
    result = json.loads((tmp_path / "skgpb_demo.json").read_text())
    assert 20 <= result["n_rounds"] <= 25 and result["n_rows"] == 427 * 640
    assert result["true_average"] > 1.5 * result["true_average_of_table"]
    assert (tmp_path / "skgpb_demo.png").read_bytes().startswith(b"\x89PNG")
    assert "brightness" in capsys.readouterr().out


def test_progress_bar_only_on_a_terminal(monkeypatch):
    class Stream:
        def __init__(self, tty):
            self.isatty = lambda: tty

    def ticks():  # a bar would write to the stream, which cannot be written to
        with asked._progress(3) as tick:
            return tick() is None

    monkeypatch.setattr(asked, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "stderr", Stream(True))
    assert ticks()  # tqdm is not installed
    monkeypatch.setattr(asked, "find_spec", lambda name: object())
    monkeypatch.setattr(sys, "stderr", Stream(False))
    assert ticks()


# -- how it refuses -----------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--budget", "0"], "--budget: must be a whole number >= 1, got '0'"),
        (["--budget", "-5"], "whole number >= 1"),
        (["--budget", "10.5"], "whole number >= 1, got '10.5'"),
        (["--budget", "many"], "got 'many'"),
        (["--noise", "-1"], "--noise: must be a finite number >= 0"),
        (["--noise", "nan"], "finite number"),
        (["--noise", "10%"], "got '10%'"),
        (["--noise", "1e200"], "finite number"),
        (["--alpha", "-0.1"], "--alpha: must be a finite number >= 0"),
        (["--seed", "-1"], "--seed: must be a whole number >= 0"),
        (["--seed", str(2**32)], "--seed: must be a whole number >= 0 and <= 4294967295"),
        (["--min-members", "0"], "--min-members: must be a whole number >= 1"),
        (["--min-members", "601"], "--min-rows 601 leaves no choice in a table"),
        (["--min-members", "301"], "at most 300"),
        (["--target", "salary"], "--target takes one column, got 'value', 'salary': what is best"),
        (["--features", "x", "z"], "no column 'z'; it has 'name', 'x', 'y', 'value'"),
        (["--features", "x", "x"], "--features names 'x' more than once"),
        (["--features", "x", "value"], "--target 'value' is also one of --features"),
        (["--features", "name"], "'name' has 600 different texts, such as 'r0'"),
        (["--colour", "red"], "unrecognized arguments: --colour red"),
        (["--budge", "3"], "unrecognized arguments: --budge 3"),
        # Options that would have no effect.
        (["--confidence", "0.9"], "--confidence is for --stop-within"),
        (["--sheet", "first"], "--sheet first has no effect on"),
        (["--dates", "%d/%m/%Y"], "has no effect: none of the columns 'x', 'y', 'value' holds"),
    ],
)
def test_bad_arguments(table, capsys, more, says):
    assert says in refused(capsys, search(table, *more))


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "COMMAND"),
        (["seek"], "invalid choice: 'seek'"),
        (["search"], "the following arguments are required"),
        (["search", "data.csv"], "--features"),
        (["demo", "--budget", "0"], "whole number >= 1"),
        (["demo", "--plot", "map.xyz"], "must end in one of"),
    ],
)
def test_bad_searching(capsys, argv, says):
    assert says in refused(capsys, main(argv))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"x,value\n", "has a header but no rows"),
        (b"x,value\n1,2\n3,\n", "has 1 row left, a search needs at least 4"),
        (b"x,value\n1,2\n\nNA,4\n", "line 4, column 'x': the value is missing"),
        (b"x,value\n1,nan\n", "has no row with a value of 'value'"),
        (b"x,value\n1,2\n2,inf\n", "line 3, column 'value': 'inf' is not a finite"),
        (b"x,value\n1,2\n2,1e200\n", "'1e+200' is larger than 1e+150"),
        (b"x,value\n1,2\n2,3,4\n", "line 3 has 3 cells, the header has 2"),
        (b"x;Value\n1;2\n", "no column 'value'; it has 'x', 'Value'; did you mean 'Value'?"),
        (b"x,value\n1,2\n2,3\n3,4\n", "has 3 rows, a search needs at least 4"),
        (b"x,value\n1,2\n1,3\n1,4\n1,5\n", "no groups can be formed"),
        (
            b"x,value\n1,2\n2,3\n3,\xff\xfe\n",
            "line 4, column 'value': 'ÿþ' is not a number",
        ),
        (b'x,value\n1,"2' + b"9" * 200_000, "is not a table of separated values"),
    ],
)
def test_bad_tables(tmp_path, capsys, content, says):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    assert says in refused(capsys, search(path, features=["x"]))


def test_a_table_with_a_byte_order_mark_and_spaces_is_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbfx, value\n" + b"".join(b"%d, %d\n" % (i, i) for i in range(9)))
    assert search(path, features=["x"]) == 0


def test_files_that_cannot_be_read(tmp_path, capsys):
    assert "cannot read" in refused(capsys, search(tmp_path / "nothing.csv"))
    assert "cannot read" in refused(capsys, search(tmp_path))
    assert "cannot read" in refused(capsys, search(tmp_path / ("x" * 300)))


@pytest.mark.parametrize("option", ["--output", "--plot", "--save-rows"])
def test_files_that_cannot_be_written(table, tmp_path, capsys, monkeypatch, option):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(asked, "search_by_asking", lambda *a, **k: pytest.fail("asked something"))
    gone = tmp_path / "gone" / "file.png"
    assert "there is no folder" in refused(capsys, search(table, option, gone))
    assert "it is a directory" in refused(capsys, search(table, option, tmp_path))
    assert "would overwrite the table" in refused(capsys, search(table, option, table))
    assert "name too long" in refused(capsys, search(table, option, "x" * 300)).replace("N", "n")
    assert "ot a directory" in refused(capsys, search(table, option, table / "map.png"))
    monkeypatch.setattr(files.os, "access", lambda *a: False)
    denied = search(table, option, tmp_path / "file.png")
    assert "permission denied" in refused(capsys, denied)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_what_cannot_be_computed_again_is_not_overwritten(table, tmp_path, capsys, link):
    """Neither the table under another name, nor a run, nor the account of a ledger."""
    kept = [tmp_path / name for name in ("other.csv", "run.skgpb", "value.ledger")]
    link(table, kept[0])
    GPOOOptimizer(bounds=[(0, 1)], random_state=0).start().save(kept[1])
    PrivacyLedger(kept[2], np.arange(9))
    before = [path.read_bytes() for path in kept]
    says = ["would overwrite the table", "it holds a saved run", "it holds a privacy ledger"]
    for path, why in zip(kept, says, strict=True):
        for option in ("--output", "--save-rows"):
            assert why in refused(capsys, search(table, option, path))
    assert [path.read_bytes() for path in kept] == before


def test_output_and_plot_must_differ(table, tmp_path, capsys):
    same = tmp_path / "file.png"
    error = refused(capsys, search(table, "--output", same, "--plot", same))
    assert "would overwrite --output" in error


def test_a_disk_that_fails_late_is_one_line_too(table, tmp_path, capsys, monkeypatch):
    def fail(self, *args, **kwargs):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", fail)
    assert search(table, "--output", tmp_path / "result.json") == 2
    assert "No space left on device" in capsys.readouterr().err


def test_plot_without_matplotlib_asks_for_nothing(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    monkeypatch.setattr(asked, "search_by_asking", lambda *a, **k: pytest.fail("asked something"))
    error = refused(capsys, search(table, "--plot", tmp_path / "map.png"))
    assert install_command("plot") in error


def test_demo_without_pillow(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "check_picture", lambda name: None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert install_command("plot") in refused(capsys, main(["demo"]))


def test_a_model_that_breaks_down_is_one_line(table, capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(asked, "search_by_asking", fail)
    assert "larger --alpha" in refused(capsys, search(table))


def test_an_interrupt_is_not_a_traceback(table, capsys, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(asked, "search_by_asking", stop)
    assert search(table) == 130
    assert capsys.readouterr().err == "skgpb: interrupted\n"


def test_help_and_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"skgpb {skgpb.__version__}\n"
    assert main(["search", "--help"]) == 0
    assert "--min-members" in capsys.readouterr().out


def test_the_version_is_there_before_any_library_is():
    code = """
import sys
from skgpb.__main__ import main
sys.argv = ["skgpb", "--version"]
assert main() == 0
found = {name.partition(".")[0] for name in sys.modules}
assert not found & {"joblib", "matplotlib", "numpy", "pandas", "scipy", "sklearn"}, found
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"skgpb {skgpb.__version__}\n"


def run_program(arguments, **streams):
    command = [sys.executable, "-m", "skgpb", *arguments]
    return subprocess.run(command, text=True, check=False, **streams)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs pipes as POSIX has them")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_traceback(monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    reader, writer = os.pipe()
    os.close(reader)
    done = run_program(["search", "--help"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(table, tmp_path, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    output, device = tmp_path / "result.json", Path("/dev/full")
    asked = ["search", str(table), "--features", "x", "y", "--target", "value", "--budget", "3"]
    with device.open("w") as full:
        done = run_program([*asked, "--output", output], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stderr.startswith("skgpb: error: cannot write the report: No space left")
        assert done.stderr.count("\n") == 1
        assert json.loads(output.read_text())["n_rounds"] == 3
        assert run_program(["seek"], stdout=subprocess.PIPE, stderr=full).returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_while_modules_load_is_not_a_traceback():
    # NumPy is imported for the first time after the command line's own first line.
    code = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)
import runpy
runpy.run_module("skgpb", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@pytest.mark.slow
def test_module_runs_as_a_program():
    command = [sys.executable, "-m", "skgpb", "search", "nothing.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr.startswith("skgpb: error: ")


@pytest.mark.parametrize("minimizes", [False, True])
def test_the_runner_up_is_the_best_group_without_a_common_row(minimizes):
    rng, sign = np.random.default_rng(0), -1.0 if minimizes else 1.0
    for _ in range(50):
        groups = [AskedGroup(None, rng.choice(12, rng.integers(1, 7), False)) for _ in range(6)]
        root, mean = rng.normal(size=(6, 6)), rng.normal(size=6)
        search = AskedSearch(groups[2], None, groups, None, "model", 0.0, mean, root @ root.T, 6)
        found = AskedResult(search, None, [], "y", minimizes, range=(-1.0, 1.5))
        others = [i for i in range(6) if not {*groups[i].rows} & {*groups[2].rows}]
        assert found.runner_up == max(others, key=lambda i: sign * mean[i], default=None)
        far = 1.96 * np.linalg.norm(root[2])
        middle = min(max(mean[2], -1.0), 1.5)
        assert found.mean == middle and found.std == pytest.approx(far / 1.96)
        assert_allclose(found.interval, (max(middle - far, -1.0), min(middle + far, 1.5)))


def test_the_smallest_group_is_a_share_of_the_rows_and_two_of_them():
    for n in range(1, 300):
        enough = [k for k in range(1, n + 1) if 20 * k >= n and k >= 2]
        assert default_min_rows(n) == min(enough, default=n)


@pytest.mark.parametrize("minimizes", [False, True])
@pytest.mark.parametrize("chosen", [0, 2, 4])
def test_gains_and_chances_of_a_group_are_those_of_the_joint_posterior(minimizes, chosen):
    rng, sign = np.random.default_rng(chosen), -1.0 if minimizes else 1.0
    groups = [
        AskedGroup(None, np.arange(12)),
        *(AskedGroup(None, np.arange(i, i + 3)) for i in range(5)),
    ]
    root, mean = rng.normal(size=(6, 6)), rng.normal(size=6)
    cov = root @ root.T
    search = AskedSearch(groups[chosen], None, groups, None, "model", 0.0, mean, cov, 6)
    table = SimpleNamespace(n_rows=12)
    found = AskedResult(search, table, [], "y", minimizes)
    apart = np.eye(6)[chosen] - np.eye(6)[0]
    gain, std = sign * (apart @ mean), np.sqrt(apart @ cov @ apart)
    if chosen == 0:
        gain = std = 0.0
    assert_allclose(found.gain, (gain, std), atol=1e-12)
    assert_allclose(found.gain_interval, (gain - 1.96 * std, gain + 1.96 * std), atol=1e-12)
    chance = norm.cdf(gain / std) if std else 0.0
    assert found.probability_of_gain == pytest.approx(chance)
    assert found.is_significant == (chance > 0.975)
    draws = sign * rng.multivariate_normal(mean, cov, 20_000)
    best = (draws[:, chosen] >= draws.max(axis=1)).mean()
    assert found.probability_of_best == pytest.approx(best, abs=0.05)
    if found.runner_up is None:
        assert found.runner_up_better == 0.0
    else:
        apart = np.eye(6)[found.runner_up] - np.eye(6)[chosen]
        chance = norm.cdf(sign * (apart @ mean) / np.sqrt(apart @ cov @ apart))
        assert found.runner_up_better == pytest.approx(chance)
    assert_allclose(found.predict_rows(), np.full(12, mean[0]))
    assert [positive_probability(x, 0.0) for x in (1.0, 0.0, -1.0)] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize(("n", "size"), [(400, 20), (400, 100), (60, 60), (50, 30)])
def test_the_best_of_random_groups_seldom_exceeds_its_bound(n, size, minimize):
    values = np.random.default_rng(0).normal(5.0, 2.0, n)
    bound = best_by_chance(values, size, minimize)
    spread = values.std() * np.sqrt((n - size) / (n - 1) / size)
    far = norm.isf(0.05 * size / n) * spread
    assert bound == pytest.approx(values.mean() + (-far if minimize else far))
    if size < n:
        rng = np.random.default_rng(1)
        best = []
        for _ in range(400):
            rows = rng.permutation(n)[: n // size * size].reshape(-1, size)
            averages = values[rows].mean(axis=1)
            best.append(averages.min() < bound if minimize else averages.max() > bound)
        assert np.mean(best) < 0.09


def test_stretches_of_a_group_along_an_axis_are_its_intervals():
    texts = Column("shop", "texts", np.array([0.0, 1.0, 2.0, 3.0, 4.0]), tuple("abcde"))
    numbers = Column("age", "numbers", np.linspace(10.0, 60.0, 200))
    for among, expected in [
        (("a", "b", "d"), [(-0.5, 2.0), (2.5, 1.0)]),
        (("e",), [(3.5, 1.0)]),
        (None, [(-0.5, 5.0)]),
        ((), []),
    ]:
        limit = FeatureLimits(texts, among=among)
        edges = pictures._edges(texts, 1)
        assert_allclose(edges, np.arange(6) - 0.5)
        assert pictures._stretches(limit, edges) == expected
    edges = pictures._edges(numbers, 1)
    assert (edges[0], edges[-1], len(edges)) == (10.0, 60.0, 6 + 1)  # isqrt(200 / 5) parts
    for low, high, expected in [
        (None, None, (10.0, 50.0)),
        (20.0, None, (20.0, 40.0)),
        (None, 30.0, (10.0, 20.0)),
        (25.0, 30.0, (25.0, 5.0)),
    ]:
        assert pictures._stretches(FeatureLimits(numbers, low, high), edges) == [expected]
    constant = Column("age", "numbers", np.full(9, 3.0))
    assert_allclose(pictures._edges(constant, 1), [2.5, 3.5])

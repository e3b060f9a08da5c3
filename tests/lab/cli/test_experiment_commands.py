"""Experiments from the command line: what commands print, and the run that they play."""

import errno
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb import GPUCBOptimizer
from skgpb.lab import file_lock
from skgpb.lab.cli import commands, main
from skgpb.lab.cli.experiment_picture import draw_experiment
from skgpb.lab.experiments import Experiment
from skgpb.plotting.words import WORDS
from skgpb.surrogate import suboptimality_gap
from skgpb.utils.progress import log_step

SIDES = ["temperature=20:90", "salt=1e-4:0.1:log", "catalyst=A,B"]


def loss(params, rng):
    salt = (np.log10(params["salt"]) + 2) ** 2
    value = (params["temperature"] - 50) ** 2 / 500 + salt + (params["catalyst"] == "A")
    return float(value + 0.05 * rng.normal())


@pytest.fixture
def call(capsys):
    """Run a command, which may have to warn, and return the object that it prints."""

    def run(*arguments, warns=""):
        assert main([*map(str, arguments), "--json"]) == 0
        out, err = capsys.readouterr()
        assert bool(err) == bool(warns) and warns in err and out.count("\n") == 1
        return json.loads(out)

    return run


@pytest.fixture
def path(tmp_path, call):
    call("new", tmp_path / "run.skgpb", "--bounds", *SIDES, "--minimize")
    return tmp_path / "run.skgpb"


def test_a_plate_shares_a_setting_that_the_search_chooses(call, path, capsys):
    plate = call("ask", path, "-n", 5, "--shared", "temperature")["queries"]
    assert len({each["params"]["temperature"] for each in plate}) == 1
    assert len({str(each["params"]) for each in plate}) == 5
    assert call("ask", path, "-n", 5, "--shared", "temperature")["queries"] == plate
    assert "--shared" in refused(capsys, "ask", path, "--repeat", 1, "--shared", "salt")
    assert "stirring" in refused(capsys, "ask", path, "-n", 2, "--shared", "stirring")


def refused(capsys, *arguments):
    """Check that one line was printed, on stderr, and return it."""
    status = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert status == 2 and out == ""
    assert err.startswith("skgpb: error: ") and err.count("\n") == 1
    return err


@pytest.mark.slow
def test_a_campaign_gives_what_the_same_calls_in_python_give(path, call):
    rng = np.random.default_rng(0)
    python = GPUCBOptimizer(**GPUCBOptimizer.load(path).get_params())
    told = []

    def evaluate(entry):
        value = loss(entry["params"], rng)
        told.append((entry["params"], value))
        return value

    for i in range(30):
        if i == 11:
            # The comma was forgotten, and nobody saw it for two answers.
            wrong = call("ask", path)["queries"][0]
            right = evaluate(wrong)
            mistyped = ["tell", path, 1000 * right, "--query", wrong["query"]]
            call(*mistyped, warns="The expected range is")
        elif i == 13:
            failed = call("ask", path)["queries"][0]
            call("tell", path, "--failed", "--query", failed["query"])
            told.append((failed["params"], None))
            entry = call("ask", path)["queries"][0]
            call("tell", path, evaluate(entry))
        elif i == 14:
            command = [sys.executable, "-m", "skgpb", "tell", str(path)]
            command += [repr(right), "--query", str(wrong["query"]), "--correct"]
            assert subprocess.run(command, check=False).returncode == 0
            entries = call("ask", path, "-n", 2)["queries"]
            call("tell", path, evaluate(entries[1]), "--query", entries[1]["query"])
            call("tell", path, evaluate(entries[0]))
        elif i != 15:
            call("tell", path, evaluate(call("ask", path)["queries"][0]))
    for params, value in told:
        python.tell(params, value)
    best = call("best", path)
    assert best["n_answers"] == 30 == len(python.history_)
    assert best["params"] == python.recommend().params
    mean, std = python.predict_query([python.recommend()], return_std=True)
    assert_allclose([best["mean"], best["std"]], [*mean, *std], rtol=1e-7)
    # It has found something: the least value is 0.
    assert best["params"]["catalyst"] == "B" and best["mean"] < 0.2


@pytest.mark.slow
def test_best_says_whether_one_may_stop(call, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(suboptimality_gap, "MOST_RIVALS", 10)  # a bound instead of draws
    rng, table, path = np.random.default_rng(0), tmp_path / "more.csv", tmp_path / "two.skgpb"
    call("new", path, "--bounds", *SIDES[:2], "--minimize")

    def tell(n):
        rows = ["temperature,salt,loss"]
        for _ in range(n):
            params = {"temperature": rng.uniform(20, 90), "salt": 10 ** rng.uniform(-4, -1)}
            value = loss(params | {"catalyst": "B"}, rng)
            rows.append(",".join(map(str, [*params.values(), value])))
        table.write_text("\n".join(rows))
        call("tell", path, "--data", table)

    def said(within, *options):
        found = call("best", path, "--stop-within", within, *options)
        assert main(["best", str(path), "--stop-within", str(within), *map(str, options)]) == 0
        return found, capsys.readouterr().out.splitlines()[-1]

    assert Experiment(path).gap() is None
    tell(8)
    found, line = said(1e6)
    assert not found["enough"] and found["gap"] == Experiment(path).gap() > 0.0
    assert "With 8 results this is mostly an assumption" in line and line.endswith("So go on.")
    tell(52)
    found, line = said(1e6)
    assert found["enough"] and line.endswith("That is within 1e+06: you may stop.")
    assert line.startswith("Another setting could still be better by up to ")
    sure, line = said(1e-9, "--confidence", 0.99)
    assert not sure["enough"] and sure["gap"] > found["gap"]
    assert "(99 % sure)" in line and line.endswith("That is more than 1e-09: go on.")
    assert "Ten more results are expected to improve the recommendation by " in line
    assert main(["change", str(path), "--answer-range", "0:"]) == 0
    assert "average results are at least 0" in capsys.readouterr().out
    found, line = said(0.5)
    assert found["interval_95"][0] >= 0.0 and found["enough"]
    assert main(["change", str(path), "--answer-range", "none"]) == 0
    assert "average results" not in capsys.readouterr().out


@pytest.mark.slow
def test_two_programs_that_tell_at_once_lose_nothing(path, call):
    numbers = [entry["query"] for entry in call("ask", path, "-n", 2)["queries"]]
    command = [sys.executable, "-m", "skgpb", "tell", str(path)]
    programs = [
        subprocess.Popen([*command, str(float(number)), "--query", str(number)])
        for number in numbers
    ]
    assert [program.wait() for program in programs] == [0] * 2
    assert [entry["answer"] for entry in call("show", path)["history"]] == [1.0, 2.0]


@pytest.mark.slow
def test_keys_of_every_object(path, call, tmp_path):
    entry = {"query", "params", "status", "answer", "noise", "reason"}
    entry |= {"note", "operator", "date", "measured", "measurements", "within_limits", "cost"}
    asked = call("ask", path, "-n", 2)
    assert set(asked) == {"queries", "pending"} and set(asked["queries"][0]) == entry
    told = call("tell", path, "-1.5e-3", "--query", 2, "--noise", 0.25)
    assert set(told) == {"told", "pending", "best"}
    assert (told["told"][0]["answer"], told["told"][0]["noise"]) == (-0.0015, 0.25)
    best = {"params", "mean", "std", "interval_95", "beware", "noise", "n_answers", "best_answer"}
    best |= {"goals", "outcomes", "within_limits", "between_blocks", "preferred", "scatter"}
    best |= {"scatter_95"}
    assert set(call("best", path)) == best == set(told["best"])
    assert call("plot", path) == {"picture": str(tmp_path / "run.png")}
    assert (tmp_path / "run.png").stat().st_size > 10_000
    undone = call("undo", path)
    assert set(undone) == {"undone", "pending", "best"} and undone["best"] is None
    assert set(call("show", path)) == {
        *("file", "title", "answer", "unit", "direction", "noise", "regions", "sides"),
        *("n_answered", "n_given", "n_failed", "n_skipped", "pending", "best", "history"),
        "not_used",
        *("limits", "constraints", "block", "answer_range", "score", "goals", "trade_offs"),
        *("costs", "earlier_campaigns", "spent"),
    }


@pytest.mark.slow
def test_the_guide_names_every_key(path, call, tmp_path):
    page = (Path(__file__).parents[3] / "doc/user_guide/experiment.rst").read_text(encoding="utf-8")
    table, entry = page.split("The keys stay as they are")[1].split("A query, in ``queries``")
    rows = re.findall(r"^``(\w+)`` +(.*(?:\n {12}.*)*)", table, re.MULTILINE)
    said = {command: set(re.findall(r"``(\w+)``", text)) for command, text in rows}
    said["new"] = said["change"] = said["show"] - {"history", "trade_offs"}
    at = ("temperature=50", "salt=0.01", "catalyst=B")
    told = [(1.5, []), (2.5, ["--correct"])]
    found = {
        "new": [call("new", tmp_path / "two.skgpb", "--bounds", "x=0:1")],
        "ask": [call("ask", path, "-n", 2, "--why")],
        "tell": [call("tell", path, y, "--query", 1, *more) for y, more in told],
        "note": [call("note", path, "--query", 1, "--note", "a", "--by", "Ada")],
        "history": [call("history", path), call("history", path, "--changes")],
        "best": [call("best", path, "--stop-within", 1)],
        "expect": [call("expect", path, "--at", *at)],
        "show": [call("show", path)],
        "change": [call("change", path, "--cost", "1 + temperature")],
        "export": [call("export", path, tmp_path / "table.csv")],
        "list": [call("list", tmp_path)],
        "plot": [call("plot", path)],
        "undo": [call("undo", path)],
    }
    assert said.keys() == found.keys()
    for command, objects in found.items():
        keys = set().union(*objects)
        assert keys <= said[command], (command, keys - said[command])
    nested = {
        "ask": [*found["ask"][0]["reasons"]],
        "history": found["history"][1]["changes"],
        "list": found["list"][0]["experiments"],
    }
    for command, objects in nested.items():
        assert objects and set().union(*objects) <= said[command], command
    entries = set(re.findall(r"``(\w+)``", entry.split("The exit status")[0]))
    assert set(found["note"][0]["noted"]) <= entries


def test_settings_are_corrected_and_the_history_says_what_was(path, call, capsys):
    at = ("temperature=50", "salt=0.01", "catalyst=B")
    told = call("tell", path, "14.7 15.3", "--at", *at, "--note", "two")["told"][0]
    assert (told["answer"], told["measurements"]) == (15.0, [14.7, 15.3])
    other = ("temperature=60", "salt=0.01", "catalyst=B")
    told = call("tell", path, "--correct", "--query", 1, "--at", *other, "--by", "Ada")["told"][0]
    assert (told["answer"], told["params"]["temperature"]) == (15.0, 60.0)
    call("tell", path, "16", "--correct", "--query", 1, "--by", "Ada", "--note", "one")
    changes = call("history", path, "--changes")["changes"]
    assert [(each["what"], each["before"]) for each in changes] == [
        ("params", told["params"] | {"temperature": 50.0}),
        ("answer", 15.0),
        ("noise", pytest.approx(0.3)),
        ("measurements", [14.7, 15.3]),
        ("note", "two"),
    ]
    assert {each["by"] for each in changes} == {"Ada"}
    assert call("history", path)["history"] == call("show", path)["history"]
    assert main(["history", str(path), "--changes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.split(" {2,}", line)[1:] for line in lines] == [
        ["query", "what", "before", "after", "by"],
        ["1", "settings", "temperature = 50", "temperature = 60", "Ada"],
        ["1", "result", "15", "16", "Ada"],
        ["1", "noise", "0.3", "nothing", "Ada"],
        ["1", "measurements", "14.7; 15.3", "nothing", "Ada"],
        ["1", "note", "two", "one", "Ada"],
    ]
    assert main(["history", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "1      60           0.01  B         16",
        "query 1: one",
    ]
    assert "an ANSWER, --failed or --at" in refused(capsys, "tell", path, 1, "--correct")


@pytest.mark.parametrize("outcome", [["1.5"], ["--failed"], ["--skip"]])
def test_what_is_written_with_an_answer_is_no_change(path, call, outcome):
    call("ask", path)
    written = ["--note", "a", "--operator", "Ada", "--date", "2025-12-31", "--measured", "pH=7"]
    told = call("tell", path, *outcome, *written)["told"][0]
    assert (told["note"], told["operator"], told["date"]) == ("a", "Ada", "2025-12-31")
    assert told["measured"] == {"pH": 7.0} and call("history", path, "--changes")["changes"] == []


@pytest.mark.parametrize(
    ("called", "program"),
    [
        ("/home/me/bin/skgpb", "skgpb"),
        ("skgpb.exe", "skgpb"),
        ("skgpb/__main__.py", "python -m skgpb"),
    ],
)
def test_the_next_command_is_written_as_this_one_was(
    tmp_path, capsys, monkeypatch, called, program
):
    monkeypatch.setattr("sys.argv", [called])
    run = tmp_path / "run.skgpb"
    assert main(["new", str(run), "--bounds", "x=0:1"]) == 0
    assert f"next: {program} ask {run}" in capsys.readouterr().out
    assert main(["ask", str(run)]) == 0
    assert f"then: {program} tell {run} ANSWER" in capsys.readouterr().out


def test_people_read_what_they_need(path, capsys):
    assert main(["ask", str(path), "--number", "2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "query 1" and out[4] == "query 2"
    assert [line.split()[0] for line in out[1:4]] == ["temperature", "salt", "catalyst"]
    assert out[-1].endswith("ANSWER --query 1")
    assert main(["tell", str(path), "0.5", "--query", "2"]) == 0
    assert "1 answer, pending: 1" in capsys.readouterr().out
    assert main(["show", str(path)]) == 0
    assert "  salt         0.0001 to 0.1, on a log scale\n" in capsys.readouterr().out
    assert main(["best", str(path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"answer there: expected \S+ \(95 %: \S+ to \S+\)\n", out)
    unknown = "how much repeated answers scatter is not known: nothing was repeated yet\n"
    assert unknown in out
    assert main(["undo", str(path)]) == 0
    assert "query 2: 0.5 is taken back" in capsys.readouterr().out


def test_ask_says_why(path, call, capsys):
    (query,) = call("ask", path)["queries"]
    assert "reasons" not in call("ask", path)
    call("tell", path, 1.5, "--query", query["query"])
    (reason,) = call("ask", path, "--why")["reasons"]
    assert [reason] == Experiment(path).why()
    assert main(["ask", str(path), "--why"]) == 0
    expected, known, why = capsys.readouterr().out.splitlines()[4:7]
    assert re.fullmatch(r"  expected: \S+ \xb1 \S+", expected)
    assert re.fullmatch(r"  nearest known: query 1, 1\.5, which differs in [a-z, ]+", known)
    assert why == f"  why: {reason['why']}"


def test_answers_of_the_past_start_a_run_and_more_are_told(tmp_path, call):
    past, run = tmp_path / "past.csv", tmp_path / "run.skgpb"
    past.write_text("day\ttemperature\tkind\tloss\n1\t20.5\tA\t3\n2\t40\tB\t1\n")
    given = ["--bounds", "temperature=20:90", "kind=A,B", "--data", past, "--answer", "loss"]
    assert call("new", run, *given)["n_given"] == 2
    assert call("ask", run)["queries"][0]["query"] == 3
    past.write_text("day\ttemperature\tkind\tloss\n3\t20.5\tA\t3.5\n4\t60\tB\t2\n")
    assert [entry["query"] for entry in call("tell", run, "--data", past)["told"]] == [4, 5]
    assert call("tell", run, 2, "--query", 1, "--correct")["told"][0]["answer"] == 2.0


def test_rows_of_the_past_outside_the_sides_are_left_out_on_request(tmp_path, capsys):
    past, run = tmp_path / "past.csv", tmp_path / "run.skgpb"
    past.write_text("temperature,loss\n20.5,3\n95,2\n40,1\n")
    given = ["new", run, "--bounds", "temperature=20:90", "--data", past]
    said = refused(capsys, *given)
    assert "1 of 3 rows" in said and "line 3, column 'temperature'" in said
    assert "--skip-outside" in said and not run.exists()
    assert main([*map(str, given), "--skip-outside"]) == 0
    out, err = capsys.readouterr()
    assert "2 answers of the past are taken" in out
    assert err.startswith("skgpb: warning: 1 of 3 rows") and err.count("\n") == 1
    assert "line 3, column 'temperature': temperature must be 20 to 90, got 95" in err
    assert main(["tell", str(run), "--data", str(past), "--skip-outside", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["told"]) == 2
    assert "--skip-outside is for --data" in refused(capsys, "tell", run, 1, "--skip-outside")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["best", "--confidence", "0.9"], "--confidence is for --stop-within"),
        (["tell", "1", "--by", "Ada"], "--by is for --correct; who measured is told by --operator"),
        (["export", "TABLE.xlsx", "--decimal-comma"], "decimal commas are for .csv"),
    ],
)
def test_options_without_an_effect_are_refused(tmp_path, call, capsys, argv, says):
    command, *more = argv
    run = tmp_path / "run.skgpb"
    call("new", run, "--bounds", "x=0:1")
    call("ask", run)
    more = [tmp_path / each if "TABLE" in each else each for each in more]
    assert says in refused(capsys, command, run, *more)
    assert not list(tmp_path.glob("TABLE*"))


@pytest.mark.slow
def test_awkward_names(tmp_path, call):
    run = tmp_path / "versuch 7 µ.skgpb"
    names = ["oven temperature", "a=b", "µ-Größe", "n:1"]
    call("new", run, "--bounds", *(f'"{name}"=0:1' for name in names))
    params = call("ask", run)["queries"][0]["params"]
    assert list(params) == names
    at = [f'"{name}"=0.5' for name in params]
    assert call("tell", run, 1, "--at", *at)["told"][0]["params"] == dict.fromkeys(params, 0.5)
    command = [sys.executable, "-m", "skgpb", "show", str(run)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(command, env=ascii_only, capture_output=True, check=False)
    assert shown.returncode == 0 and b"\\xb5-Gr" in shown.stdout


def test_chemicals_are_levels_in_every_command(tmp_path, call):
    run = tmp_path / "run.skgpb"
    bases = ["O=C([O-])C.[K+]", "O=C([O-])C(C)(C)C.[K+]"]
    sides = [f"base={','.join(bases)}", 'solvent="1,4-dioxane",DMF', "salt=NaCl"]
    new = call("new", run, "--bounds", *sides, warns="salt has one value only, 'NaCl'")
    values = {side["name"]: side["values"] for side in new["sides"]}
    assert values == {"base": bases, "solvent": ["1,4-dioxane", "DMF"], "salt": ["NaCl"]}
    at = [f"base={bases[1]}", "solvent=1,4-dioxane", "salt=NaCl"]
    told = call("tell", run, 1, "--at", *at, "--measured", "product=CC(=O)O")["told"][0]
    assert told["params"] == {"base": bases[1], "solvent": "1,4-dioxane", "salt": "NaCl"}
    assert told["measured"] == {"product": "CC(=O)O"}
    at[1] = 'solvent="1,4-dioxane"'
    assert call("expect", run, "--at", *at)["params"] == told["params"]
    more = call("change", run, "--bounds", 'solvent="1,4-dioxane",DMF,"N,N-diethylaniline"')
    assert more["sides"][1]["values"][2] == "N,N-diethylaniline"


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ("temperature", "a side must be NAME=LOW:HIGH"),
        ("=1:2", "a side must be NAME=LOW:HIGH"),
        ("x=", "a side must be NAME=LOW:HIGH"),
        ("x=90:20", "x: the low end must be below the high one, got 90:20"),
        ("x=1:1", "x: the low end must be below the high one"),
        ("x=0:1:log", "x: a log scale has numbers above 0 only, got 0"),
        ("x=0:1.5:int", "x: int needs whole numbers, got 0:1.5"),
        ("x=0:10:20", "x: a step must be above 0"),
        ("x=0:10:lin", "must be log, int, any, periodic or a step must be a number, got 'lin'"),
        ("x=1:2:3:4", "x must be LOW:HIGH"),
        ("x=a:b", "x: an end of the range must be a number, got 'a'"),
        ("x=0:nan", "x: an end of the range must be a finite number, got nan"),
        ("x=0:inf", "x: an end of the range must be a finite number, got inf"),
        ("x=1,5:2,5", "x: a decimal point is a point, not a comma, got '1,5:2,5'"),
        ("x=A,,B", "x: a value is missing"),
        ("x=1,4-dioxane,DMF", 'write "1,4-dioxane" with quotes if it is one'),
        ('x="A,B', "quotes stand around a whole value"),
        ("x\x0by=0:1", "the name of a side must be one line of characters that can be shown"),
        ("x=A,B\x07", "a value of x must be one line of characters that can be shown"),
        ("x=A,A", "x: a value is twice"),
        ("x=A", "must leave something to choose"),
        ("x=20-90", "x: a range is written with a colon, 20:90, got '20-90'"),
        ("x=0.5..2", "x: a range is written with a colon, 0.5:2, got '0.5..2'"),
    ],
)
def test_sides_that_cannot_be_are_refused(tmp_path, capsys, side, message):
    assert message in refused(capsys, "new", tmp_path / "run.skgpb", "--bounds", side)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tell", "1,5"], "the answer must be a number, got '1,5': write 1.5"),
        (["tell", "nan"], "the answer must be a finite number, got nan"),
        (["tell", "-inf"], "the answer must be a finite number, got -inf"),
        (["tell", "1e999"], "the answer must be a finite number, got 1e999"),
        (["tell", "fast"], "the answer must be a number, got 'fast'"),
        (["tell"], "tell takes one of an ANSWER, --failed, --skip, --data; got none"),
        (["tell", "1", "--failed"], "got an ANSWER and --failed"),
        (["tell", "1"], "2 queries are pending, 1, 2: say which one, with --query 1"),
        (["tell", "1", "--query", "9"], "there is no query 9; queries have the numbers 1 to 2"),
        (["tell", "1", "--query", "0"], "must be a whole number >= 1, got '0'"),
        (["tell", "1", "--query", "1", "--correct"], "query 1 has no answer yet"),
        (["tell", "1", "--correct"], "--correct needs --query N"),
        (["tell", "1", "--at", "temperature=30"], "no value for 'salt'"),
        (["tell", "1", "--at", "x=1"], "no side 'x': a setting has a value for each of"),
        (
            ["tell", "1", "--at", "temperature=10", "salt=0.01", "catalyst=A"],
            "temperature must be 20 to 90, got 10",
        ),
        (
            ["tell", "1", "--at", "temperature=30", "salt=0.01", "catalyst=C"],
            "catalyst must be A or B, got 'C'",
        ),
        (["tell", "1", "--query", "1", "--noise", "-1"], "noise must be a standard deviation >= 0"),
        (["tell", "--data", "nowhere.csv"], "cannot use nowhere.csv: No such file"),
        (["ask", "-n", "0"], "must be a whole number >= 1"),
        (["undo"], "nothing was told yet"),
        (["best"], "has no answer yet"),
        (["plot"], "has no answer yet"),
        (["plot", "--output", "run.nothing"], "cannot draw --output run.nothing"),
    ],
)
def test_mistakes_are_one_line_and_change_nothing(path, call, capsys, arguments, message):
    call("ask", path, "-n", 2)
    before = path.read_bytes()
    assert message in refused(capsys, arguments[0], path, *arguments[1:])
    assert path.read_bytes() == before


def test_files_that_are_no_run_are_refused(path, tmp_path, capsys):
    other = tmp_path / "other.skgpb"
    assert "cannot use" in refused(capsys, "show", other)
    for content in (b"", b"temperature,yield\n1,2\n", path.read_bytes()[:500]):
        other.write_bytes(content)
        assert "cannot be loaded as a saved run" in refused(capsys, "tell", other, "1")
        assert other.read_bytes() == content
    assert "is a directory" in refused(capsys, "show", tmp_path).lower()
    assert "exists already" in refused(capsys, "new", path, "--bounds", *SIDES)
    missing = tmp_path / "nowhere" / "run.skgpb"
    assert f"cannot use {missing}: No such" in refused(capsys, "new", missing, "--bounds", *SIDES)


def test_where_nothing_can_be_written_there_is_one_line(path, call, capsys, monkeypatch):
    call("tell", path, 1, "--query", call("ask", path)["queries"][0]["query"])

    def refusing(name, mode):
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(file_lock, "FileIO", refusing)
    before = path.read_bytes()
    for arguments in (["ask"], ["tell", "1"], ["undo"]):
        said = refused(capsys, arguments[0], path, *arguments[1:])
        assert f"cannot use {path}: Permission denied" in said
    assert path.read_bytes() == before
    # Commands that only read do not need it.
    assert call("best", path)["n_answers"] == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_sides", [1, 3, 6])
def test_the_picture_has_a_panel_for_every_side_and_the_progress(tmp_path, n_sides):
    sides = [*SIDES, "cycles=1:8:int", "time=0:60:5", "pH=3:9"][:n_sides]
    experiment = Experiment.create(tmp_path / "run.skgpb", sides, answer="loss", unit="%")
    with pytest.raises(ValueError, match="no answer yet"):
        draw_experiment(experiment)
    for answer in (0.5, 0.25, 0.75):
        experiment.tell(answer, experiment.ask()[0]["query"])
    before = experiment.path.read_bytes()
    figure = draw_experiment(experiment)
    slices, progress = figure.subfigs
    assert [ax.get_xlabel() for ax in slices.axes] == [side.partition("=")[0] for side in sides]
    assert slices.axes[0].get_ylabel() == "loss in %" == progress.axes[0].get_ylabel()
    said = {text.get_text() for text in slices.legends[0].get_texts()}
    assert said >= {"expected", "recommended"} and not said & WORDS.keys()
    assert progress.axes[0].lines[0].get_ydata().tolist() == [0.5, 0.5, 0.75]
    assert experiment.path.read_bytes() == before


PAGE = Path(__file__).parents[3] / "doc" / "user_guide" / "experiment.rst"


def numbers_apart(lines):
    """Text without its numbers, and the numbers."""
    pattern = r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?"
    text = "\n".join(line.rstrip() for line in lines).strip()
    return re.sub(pattern, "#", text), [float(x) for x in re.findall(pattern, text)]


@pytest.mark.skipif(not PAGE.is_file(), reason="needs a checkout with the documentation")
@pytest.mark.usefixtures("own_seeds")
@pytest.mark.parametrize(
    ("page", "least"), [pytest.param("experiment", 6, marks=pytest.mark.slow), ("budgets", 1)]
)
def test_the_page_shows_what_its_commands_print(page, least, tmp_path, monkeypatch, capsys):
    """All that is printed on the page, in its order; numbers to a hundredth, for rounding."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.with_stem(page).read_text("utf-8")
    blocks = re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", text)
    assert len(blocks) >= least
    for block in blocks:
        for entry in re.split(r"^   \$ ", block, flags=re.M)[1:]:
            command, *expected = textwrap.dedent("   " + entry).strip("\n").splitlines()
            expected = [line.removeprefix("   ") for line in expected]
            if command.startswith("cat "):
                Path(command.split()[1]).write_text("\n".join(expected) + "\n", "utf-8")
                continue
            assert main(shlex.split(command.removeprefix("python -m skgpb "))) == 0, command
            printed = capsys.readouterr().out.splitlines()
            text, numbers = numbers_apart(printed)
            assert text == numbers_apart(expected)[0]
            assert_allclose(numbers, numbers_apart(expected)[1], rtol=0.01, atol=1e-9)


def test_a_slip_that_was_not_noticed_is_shown(tmp_path, capsys):
    run = Experiment.create(tmp_path / "run.skgpb", ["heat=20:90"], seed=1)
    for number in range(1, 15):
        query = run.ask()[0]
        value = 70 - 0.01 * (query["params"]["heat"] - 50) ** 2 + 0.3 * (-1) ** number
        run.tell(round(value / 10 if number == 12 else value, 3), query["query"])
    assert main(["show", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert "query 12: " in out and " is unusual. The expected range is" in out
    assert " was meant." in out


@pytest.mark.slow
def test_a_page_of_the_notebook_by_commands(path, call, tmp_path, capsys):
    for _ in range(6):
        call(
            "tell", path, loss(call("ask", path)["queries"][0]["params"], np.random.default_rng(0))
        )
    call("ask", path)
    assert main(["tell", str(path), "1e6", "--note", "odd", "--measured", "pH=7.5"]) == 0
    assert "1e6 is unusual. The expected range is" in capsys.readouterr().err
    call("undo", path)
    skipped = call("tell", path, "--skip", "--note", "no time")["told"][0]
    assert (skipped["status"], skipped["note"]) == ("skipped", "no time")
    again = call("ask", path, "--repeat", 1)["queries"][0]
    first = Experiment(path).history()[0]["answer"]
    told = call("tell", path, first + 0.01, "--query", again["query"], "--operator", "Ada")
    assert told["told"][0]["operator"] == "Ada"
    call("note", path, "--query", 1, "--measured", "colour=blue")
    status = call(
        "change", path, "--bounds", "temperature=20:99", "--constraint", "temperature <= 95"
    )
    assert status["sides"][0]["high"] == 99 and status["constraints"] == ["temperature <= 95"]
    assert call("change", path, "--constraint", "none")["constraints"] == []
    found = call("expect", path, "--at", "temperature=50", "salt=0.01", "catalyst=A")
    assert found == Experiment(path).expect({"temperature": 50, "salt": "0.01", "catalyst": "A"})
    call("export", path, tmp_path / "table.csv", "--decimal-comma")
    assert (tmp_path / "table.csv").read_bytes().startswith(b"\xef\xbb\xbfnumber;temperature;")
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert f"queries 1, {again['query']} are of one setting" in shown and "colour = blue" in shown
    (tmp_path / "broken.skgpb").write_text("no run")
    listed = call("list", tmp_path)
    assert listed["unread"] == ["broken.skgpb"]
    (row,) = listed["experiments"]
    assert (row["file"], row["n_answers"], row["n_pending"]) == ("run.skgpb", 7, 0)


def test_an_answer_may_stand_behind_the_options(path, call, capsys):
    call("ask", path, "-n", 3)
    assert main(["tell", str(path), "--query", "2", "-5"]) == 0
    assert main(["tell", "--query", "3", str(path), "--note", "new bottle", "4"]) == 0
    assert main(["tell", str(path), "--query", "2", "--correct", "-1e-5"]) == 0
    capsys.readouterr()
    answers = {entry["query"]: entry["answer"] for entry in call("show", path)["history"]}
    assert answers == {1: None, 2: -1e-5, 3: 4.0}
    assert "unrecognized arguments: 5" in refused(capsys, "tell", path, "4", "--query", "1", "5")


@pytest.mark.parametrize(
    ("begin", "options"),
    [
        (["new"], ["--bounds", "x=0:1"]),
        (["budget", "new"], ["--campaigns", "tv=0,1", "web=0,1", "--budget", "1"]),
    ],
)
def test_the_next_command_can_be_typed_as_it_is_printed(tmp_path, capsys, begin, options):
    run = tmp_path / "Ann's run.skgpb"
    assert main([*begin, str(run), *options]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    command = shlex.split(line.removeprefix("next: "))
    assert main(command[command.index("skgpb") + 1 :]) == 0
    line = capsys.readouterr().out.splitlines()[-1].replace("ANSWER", "1")
    command = shlex.split(line.removeprefix("then: "))
    assert main(command[command.index("skgpb") + 1 :]) == 0


def test_a_correction_with_a_wrong_note_changes_nothing(tmp_path, call, capsys):
    path = tmp_path / "run.skgpb"
    call("new", path, "--bounds", "x=0:1", "--limit", "peak < 80")
    call("ask", path)
    call("tell", path, 1, "--measured", "peak=70")
    before = path.read_bytes(), call("show", path)
    for wrong in (["--date", "2024-99-99"], ["--measured", "peak=7O"], ["--measured", "Peak=70"]):
        refused(capsys, "tell", path, 2, "--query", 1, "--correct", *wrong)
        assert (path.read_bytes(), call("show", path)) == before
    told = ["tell", path, 2, "--query", 1, "--correct", "--measured", "peak=90", "--note", "late"]
    (entry,) = call(*told)["told"]
    assert (entry["answer"], entry["measured"], entry["note"]) == (2.0, {"peak": 90.0}, "late")
    changed = {each["what"] for each in call("history", path, "--changes")["changes"]}
    assert changed == {"answer", "measured"}


@pytest.mark.slow
def test_an_angle_is_a_setting_of_the_shell(call, tmp_path):
    path = tmp_path / "wind.skgpb"
    call("new", path, "--bounds", "wind=0:360:periodic")
    for _ in range(10):
        wind = call("ask", path)["queries"][0]["params"]["wind"]
        assert wind == int(wind)
        call("tell", path, 2 + np.cos(np.radians(wind - 358)))
    best = call("best", path)
    assert abs((best["params"]["wind"] - 358 + 180) % 360 - 180) < 10


def test_an_earlier_campaign_in_a_table(tmp_path, call, capsys):
    rng = np.random.default_rng(0)
    rows = ["temperature,catalyst,loss"]
    for i in range(30):
        t = round(rng.uniform(20, 95), 1)
        rows.append(f"{t},{'AB'[i % 2]},{100 + (t - 50) ** 2 / 50 + 10 * (i % 2):.4f}")
    table = tmp_path / "2024.csv"
    table.write_text("\n".join(rows), encoding="utf-8")
    sides = ["temperature=20:90", "catalyst=A,B"]
    command = ["new", tmp_path / "run.skgpb", "--bounds", *sides, "--minimize", "--answer", "loss"]
    status = call(*command, "--earlier-campaign", table, warns="left out")
    n = status["earlier_campaigns"]["2024"]
    assert 20 < n < 30
    params = call("ask", tmp_path / "run.skgpb")["queries"][0]["params"]
    assert params["catalyst"] == "A" and abs(params["temperature"] - 50) < 6
    assert main(["show", str(tmp_path / "run.skgpb")]) == 0
    assert f"earlier campaign 2024: {n} answers, likeness is learned" in capsys.readouterr().out


def test_a_terminal_shows_what_is_done_with_thousands_of_past_answers(monkeypatch, capsys):
    steps = logging.getLogger("skgpb.past")
    before = steps.level
    for tty, shown in ((False, ""), (True, "skgpb: 5000 answers: a step\n")):
        monkeypatch.setattr(sys.stderr, "isatty", lambda tty=tty: tty)
        try:
            commands._show_steps()
            log_step(5000, "a step")
            log_step(10, "a step")
        finally:
            steps.handlers.clear()
            steps.setLevel(before)
        assert capsys.readouterr().err == shown

"""Lines that the commands of experiments print: all that is in their objects, in words."""

from __future__ import annotations

import getpass
import itertools
import json
import shutil
import sys
import warnings
from argparse import Namespace
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from numpy.testing import assert_allclose

from skgpb.exceptions import LoadError
from skgpb.lab.cli import experiment as commands
from skgpb.lab.cli import main
from skgpb.lab.cli.arguments import UsageError
from skgpb.lab.cli.experiment_picture import draw_experiment
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.campaigns import Campaigns
from skgpb.lab.experiments.judge import describe_outcomes, scatter_interval
from skgpb.lab.experiments.sides import format_estimate, format_value

pytestmark = pytest.mark.one_in(3)


@pytest.fixture
def call(capsys):
    """Run a command; return its lines, and what it says on stderr."""

    def run(*arguments, status=0):
        assert main([*map(str, arguments)]) == status
        out, err = capsys.readouterr()
        if status:
            assert out == "" and err.startswith("skgpb: error: ") and err.count("\n") == 1
            return err
        return out.splitlines(), err

    return run


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """An experiment with answers, a failure, a query left out, notes, and two pending queries."""
    experiment = Experiment.create(
        tmp_path_factory.mktemp("begun") / "run.skgpb", ["heat=20:90:10", "acid=A,B"],
        direction="minimize", answer="loss", unit="%", title="Oven 3", constraints=["heat <= 80"],
        limits=["peak < 70", "pH < 8"], costs=["2 + 0.1*heat", "3 if acid = B"],
        block="batch", answer_range="0:",
    )  # fmt: skip
    for i, (heat, acid) in enumerate([(30, "A"), (50, "B"), (50, "B"), (70, "A"), (80, "B")]):
        experiment.tell(
            [9.5, 4.25, 4.75, 6.0, 8.125][i], at={"heat": heat, "acid": acid},
            measured={"peak": 20 + heat / 2 + i / 8, "pH": 7.1 + i / 4, "batch": "ab"[i % 2]},
            operator="Ann", note="a\nb" if i == 1 else None,
        )  # fmt: skip
    experiment.ask(4)
    experiment.fail(6)
    experiment.skip(7, note="late")
    return experiment.path


@pytest.fixture
def run(begun, tmp_path):
    return Experiment(shutil.copy(begun, tmp_path))


def estimate(found, unit=""):
    mean, low, high = (
        format_estimate(each, found["std"]) for each in (found["mean"], *found["interval_95"])
    )
    return f"expected {mean}{unit} (95 %: {low} to {high})"


def setting(params):
    width = max(map(len, params))
    return [f"  {name:<{width}}  {format_value(value)}" for name, value in params.items()]


def state(experiment):
    """The lines that end every change."""
    status = experiment.status()
    best = status["best"]
    names = ", ".join(f"{name} = {format_value(each)}" for name, each in best["params"].items())
    pending = ", ".join(str(each["query"]) for each in status["pending"])
    counts = ["5 answers", "1 failure", "1 skipped", f"spent {format_value(status['spent'])}"]
    return [
        ", ".join([*counts, f"pending: {pending}"]),
        f"recommended so far: {names}; {estimate(best)}",
        *([best["beware"]] if best["beware"] else []),
        *describe_outcomes(best),
    ]


RULES = [
    "  heat  20 to 90, in steps of 10",
    "  acid  A or B",
    "  heat <= 80",
    "  peak <= 70",
    "  pH <= 8",
    "  results may be shifted by the batch",
    "  average results are at least 0",
    "  an experiment costs 2 + 0.1*heat; 3 if acid = B",
]


def test_show_has_the_experiment_its_queries_and_its_state(run, call):
    lines, err = call("show", run.path)
    assert err == ""
    assert lines[0] == "Oven 3: where is the loss in % smallest? (noise unknown)"
    assert lines[1 : 1 + len(RULES)] == RULES
    table = lines[2 + len(RULES) :]
    history = run.history()
    assert table[0].split() == ["query", "heat", "acid", "loss", "peak", "pH"]
    for entry, line in zip(history, table[1:], strict=False):
        said = format_value(entry["answer"]) if entry["answer"] is not None else entry["status"]
        beyond = ", beyond a limit" if entry["within_limits"] is False else ""
        others = [format_value(entry["measured"].get(name, "")) for name in ("peak", "pH")]
        params = [format_value(each) for each in entry["params"].values()]
        assert line.split() == [
            str(entry["query"]),
            *params,
            *(said + beyond).split(),
            *filter(None, others),
        ]
    starts = {
        line.index(name)
        for line, name in [(table[0], "loss"), (table[1], "9.5"), (table[6], "failed")]
    }
    assert len(starts) == 1
    rest = table[1 + len(history) : -len(state(run)) - 1]
    assert rest[0] == "query 1: by Ann; peak = 35; pH = 7.1; batch = a"
    assert rest[1] == "query 2: a b; by Ann; peak = 45.125; pH = 7.35; batch = b"
    assert "query 7: late" in rest
    spread = format_value(run.replicates()[0]["spread"], 3)
    assert rest[-3] == (
        f"queries 2, 3 are of one setting: 4.5 on average, with a standard deviation of {spread}"
    )
    assert any(
        line.startswith("batch a: 3 answers, ") and line.endswith(" of all") for line in rest
    )
    assert table[-len(state(run)) - 1 :] == ["", *state(run)]
    assert call("history", run.path)[0] == table[: -len(state(run)) - 1]
    plain = Experiment.create(
        run.path.with_name("plain.skgpb"), ["x=0:1"], noise=0.5, regions=False
    )
    assert call("show", plain.path)[0] == [
        f"{plain.path}: where is the answer largest? (noise 0.5)",
        "  x  0 to 1, in steps of 0.001",
        "",
        "0 answers",
    ]
    assert call("history", plain.path)[0] == ["nothing was asked yet"]
    assert call("history", plain.path, "--changes")[0] == ["nothing was corrected or taken back"]


def test_best_has_all_that_is_known_of_the_recommendation(run, call):
    best = run.best()
    lines, _ = call("best", run.path)
    assert lines[0] == "recommended after 5 answers"
    assert lines[1:3] == setting(best["params"])
    assert lines[3] == f"loss there: {estimate(best, ' %')}"
    rest = lines[4 + bool(best["beware"]) :]
    assert rest[0] == (
        f"repeated answers scatter by {format_value(best['scatter'], 3)} % (standard deviation"
        f"{scatter_interval(best)})"
    )
    assert rest[1] == (
        f"answers shift by {format_value(best['between_blocks'], 3)} % from one batch to another "
        "(standard deviation); what is expected is for an average batch"
    )
    assert rest[-1] == "best answer within the limits so far: 4.25 %, of query 2"
    assert rest[-1 - len(describe_outcomes(best)) : -1] == describe_outcomes(best)
    found = run.may_stop(0.5, 0.8)
    assert call("best", run.path, "--stop-within", 0.5, "--confidence", 0.8)[0] == [
        *lines,
        found["why"],
    ]
    assert run.may_stop(0.5, 0.95)["why"] == call("best", run.path, "--stop-within", 0.5)[0][-1]


def test_a_picture_lies_beside_the_run_unless_a_name_is_given(run, call, monkeypatch):
    pytest.importorskip("matplotlib")
    saved = []
    figure = SimpleNamespace(savefig=lambda name, dpi: saved.append((name, dpi)))
    monkeypatch.setattr(commands, "draw_experiment", lambda experiment: figure)
    other = run.path.with_name("other.png")
    for words, picture in (([], run.path.with_suffix(".png")), (["--output", other], other)):
        assert call("plot", run.path, *words)[0] == [f"picture in {picture}"]
        assert saved.pop() == (str(picture), 150)


def test_expect_names_the_rules_that_a_setting_breaks(run, call):
    for heat, broken in ((60, []), (90, ["heat <= 80"])):
        found = run.expect({"heat": heat, "acid": "A"})
        assert found["violates"] == broken
        assert call("expect", run.path, "--at", f"heat={heat}", "acid=A")[0] == [
            f"loss there: {estimate(found, ' %')}",
            f"repeated answers scatter by {format_value(found['scatter'], 3)} % "
            f"(standard deviation{scatter_interval(found)})",
            *describe_outcomes(found),
            *(f"this setting breaks a rule: {rule}" for rule in broken),
        ]


@pytest.mark.slow
def test_changes_end_with_the_state(run, call):
    noted, _ = call("note", run.path, "--query", 1, "--note", "new")
    assert noted == ["query 1: 9.5", "new; by Ann; peak = 35; pH = 7.1; batch = a"]
    lines, _ = call("change", run.path, "--bounds", "acid=A,B,C")
    assert lines[:2] == [RULES[0], "  acid  A or B or C"]
    assert lines[2 : len(RULES)] == RULES[2:]
    run = Experiment(run.path)
    assert lines[len(RULES) :] == state(run)
    lines, _ = call("tell", run.path, "--skip", "--query", 8)
    counts = state(run)[0].replace("1 skipped", "2 skipped").replace("pending: 8, 9", "pending: 9")
    assert lines[:2] == ["query 8: skipped", counts]
    lines, _ = call("undo", run.path)
    assert lines[:2] == ["query 8: skipped is taken back", state(Experiment(run.path))[0]]
    asked, _ = call("ask", run.path)
    entry = Experiment(run.path).pending()[-1]
    assert asked[:3] == ["query 10", *setting(entry["params"])]
    assert asked[3:5] == [f"it costs {format_value(entry['cost'])}", "also pending: 8, 9"]
    told = f"tell {run.path} ANSWER --query 10 --measured peak=VALUE pH=VALUE batch=NAME"
    assert asked[5].endswith(told)


@pytest.mark.parametrize(
    ("block", "ending"),
    [
        ("operator", "ANSWER --operator NAME"),
        ("date", "ANSWER"),
        ("batch", "ANSWER --measured batch=NAME"),
    ],
)
def test_ask_says_how_to_tell_the_block(tmp_path, call, block, ending):
    path = tmp_path / "run"
    lines, _ = call("new", path, "--bounds", "x=0:1", "--block", block, "--title", "T")
    assert lines[2] == f"  results may be shifted by the {block}"
    assert call("ask", path)[0][-1].endswith(f"tell {path} {ending}")


def test_a_folder_has_a_line_for_each_experiment(run, call):
    folder = run.path.parent
    Experiment.create(folder / "a.skgpb", ["x=0:1"], unit="g").ask(2)
    (folder / "odd.skgpb").write_text("no run")
    (folder / "b\nc.skgpb").write_text("no run")
    lines, _ = call("list", folder)
    (one, two) = json.loads(call("list", folder, "--json")[0][0])["experiments"]
    head = ["file", "answers", "to do", "best", "last changed", "title"]
    cells = [line.split("  ") for line in lines[:3]]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in cells]
    assert cells[0] == head
    assert cells[1] == ["a.skgpb", "0", "2", one["changed"]]
    assert cells[2] == ["run.skgpb", "5", "2", "4.25 %", two["changed"], "Oven 3"]
    assert lines[3].startswith("no experiments: b c.skgpb, odd.skgpb (budgets are shown by ")
    assert len(lines) == 4
    empty = folder / "empty"
    empty.mkdir()
    assert call("list", empty)[0] == [f"no experiment in {empty}"]


def test_regions_have_sides_of_a_given_length(tmp_path, call):
    path = tmp_path / "fields.skgpb"
    lines, _ = call(
        "new", path, "--bounds", "north=0:800", "east=0:500", "--regions", "--unit", "t"
    )
    assert lines[0] == f"{path}: where is the average answer in t largest? (noise unknown)"
    for answer in (3.0, 4.0, 2.5):
        call("ask", path)
        call("tell", path, answer)
    lines, _ = call("best", path, "--side", "north=100", "east=50.5")
    best = Experiment(path).best({"north": 100.0, "east": 50.5})
    assert lines[1:3] == setting(best["params"])
    assert lines[3] == f"answer there: {estimate(best, ' t')}"
    said = call("best", path, "--side", "north=wide", status=2)
    assert "--side takes NAME=LENGTH, lengths being numbers, got ['north=wide']" in said
    assert "--side has 'north' twice" in call(
        "best", path, "--side", "north=1", "north=2", status=2
    )


# -- what tell takes ------------------------------------------------------------------------------


GIVEN = {
    "answer": "1", "failed": True, "skip": True, "data": "t.csv", "correct": True, "query": 3,
    "at": ["x=1"], "noise": "2", "note": "a", "measured": ["p=1"], "by": "Ada",
    "skip_outside": True,
}  # fmt: skip
NONE = dict.fromkeys(
    ("answer", "data", "query", "at", "noise", "note", "operator", "date", "measured", "by")
)
NONE |= dict.fromkeys(("failed", "skip", "correct", "skip_outside"), False)


def is_meant(given):
    """Whether options of tell say one thing."""
    has = given.__contains__
    sources = sum(map(has, ("answer", "failed", "skip", "data")))
    if (
        sources > 1
        or (has("skip_outside") and not has("data"))
        or (has("by") and not has("correct"))
    ):
        return False
    if has("correct"):
        return (
            has("query")
            and not (has("data") or has("skip"))
            and (
                has("answer") or (has("failed") and not has("noise")) or (not sources and has("at"))
            )
        )
    if has("data"):
        return not given & {"query", "at", "noise", "note", "measured"}
    if has("skip"):
        return not given & {"at", "noise"}
    if has("failed"):
        return not has("noise")
    return has("answer") or has("measured")


def test_tell_refuses_options_that_contradict_each_other():
    for n in range(5):
        for names in itertools.combinations(GIVEN, n):
            arguments = Namespace(**NONE | {name: GIVEN[name] for name in names})
            with nullcontext() if is_meant({*names}) else pytest.raises(UsageError, match="--"):
                commands._check_tell(arguments)


def test_commands_that_would_do_nothing_are_refused(run, call):
    before = run.path.read_bytes()
    for arguments, said in (
        (["note", run.path, "--query", 1], "note needs --note, --operator, --date or --measured"),
        (["change", run.path], "change needs --bounds, --drop, --constraint, --limit, --cost, --"),
        (["ask", run.path, "--repeat", 1, "--another"], "--repeat N cannot be combined with --an"),
        (["ask", run.path, "--repeat", 1, "--fixed", "heat=30"], "--repeat N cannot be combined"),
        (["ask", run.path, "--repeat", 1, "--shared", "heat"], "--repeat N cannot be combined"),
        (["ask", run.path, "--repeat", 1, "-n", 2], "--repeat N cannot be combined with --another"),
        (["change", run.path, "--maximize", "pH"], "seeks small answers: --maximize is for an"),
        (
            ["new", "a.skgpb", "--bounds", "x=0:1", "--maximize", "a", "--minimize"],
            "turn the signs",
        ),
        (["new", "a.skgpb", "--bounds", "x=0:1", "--skip-outside"], "--skip-outside is for --data"),
        (["best", run.path, "--confidence", "0.9"], "--confidence is for --stop-within"),
        (["export", run.path, run.path], "would overwrite the table"),
        (["plot", run.path, "--output", run.path], "would overwrite the table"),
        (["tell", run.path, 1, "--at", "heat=1", "heat=2"], "--at has 'heat' twice"),
        (["tell", run.path, 1, "--at", "heat"], "--at takes NAME=VALUE, got 'heat'"),
        (["tell", run.path, 1, "--measured", "pH"], "--measured takes NAME=VALUE, got 'pH'"),
    ):
        assert said in call(*arguments, status=2)
    assert run.path.read_bytes() == before


@pytest.mark.slow
def test_rules_are_changed_and_forgotten(run, call):
    rules = {
        "constraints": ["--constraint", "heat <= 70", "heat >= 30"],
        "limits": ["--limit", "peak <= 60", "pH <= 9"],
        "costs": ["--cost", "5", "7 if acid = A"],
        "block": ["--block", "operator"],
        "answer_range": ["--answer-range", "0:10"],
    }
    for number in range(8, 10):
        call("tell", run.path, "--skip", "--query", number)
    for given in (True, False):
        words = ["--by", "Ada"]
        for option, *texts in rules.values():
            words += [word for each in (texts if given else ["none"]) for word in (option, each)]
        call("change", run.path, *words)
        status = Experiment(run.path).status()
        for name, (_, *texts) in rules.items():
            empty = [] if isinstance(status[name], list) else ""
            said = texts if isinstance(status[name], list) else texts[0]
            assert status[name] == (said if given else empty)
    changed = [each for each in Experiment(run.path).changes() if each["what"] in rules]
    assert len(changed) == 10 and {each["by"] for each in changed} == {"Ada"}


def test_a_score_is_begun_changed_and_told(tmp_path, call):
    path = tmp_path / "mix.skgpb"
    lines, _ = call("new", path, "--bounds", "x=0:1", "--maximize", "2*a - b")
    assert lines[2] == "  the score is 2*a - b"
    assert call("ask", path)[0][-1].endswith(f"tell {path} --measured a=VALUE b=VALUE")
    assert call("tell", path, "--measured", "a=3", "b=1")[0][0] == "query 1: 5"
    call("tell", path, "--at", "x=0.5", "--measured", "a=4", "b=9")
    lines, _ = call("best", path)
    assert lines[-2] == "best answer so far: 5, of query 1"
    assert lines[-1].startswith(
        "best compromises so far between large a and small b: queries 1, 2; they cover "
    )
    call("change", path, "--maximize", "a")
    assert call("best", path)[0][-1] == "best answer so far: 4, of query 2"


def test_goals_are_begun_asked_for_and_drawn(tmp_path, call):
    path = tmp_path / "mix.skgpb"
    goals = ("--goal", "large a", "--goal", "small b")
    lines, _ = call("new", path, "--bounds", "x=0:1", *goals)
    assert lines[0] == f"{path}: which are the best compromises between large a and small b?"
    assert not any("score" in line for line in lines)
    assert call("ask", path)[0][-1].endswith(f"tell {path} --measured b=VALUE a=VALUE")
    assert call("tell", path, "--measured", "a=3", "b=1")[0][0] == "query 1: 3"
    call("tell", path, "--at", "x=0.5", "--measured", "a=4", "b=9")
    lines, _ = call("best", path)
    assert lines[-1].startswith(
        "best compromises so far between large a and small b: queries 1, 2; they cover "
    )
    lines, _ = call("show", path)
    assert any(line.split() == ["query", "x", "a", "b"] for line in lines)
    picture = tmp_path / "mix.png"
    call("plot", path, "--output", picture)
    assert picture.stat().st_size > 1000
    other = "new", tmp_path / "other.skgpb", "--bounds", "x=0:1", *goals
    assert call(*other, "--minimize", status=2) is not None


def test_sides_are_held_added_and_dropped(tmp_path, call):
    path = tmp_path / "run.skgpb"
    Experiment.create(path, ["heat=20:90", "acid=A,B"]).tell(3.0, at={"heat": 40, "acid": "B"})
    lines, _ = call("ask", path, "-n", 2, "--fixed", "heat=60")
    assert lines[1] == lines[4] == "  heat  60"
    call("ask", path, "--another", "--fixed", "acid=A")
    held = [entry["params"] for entry in Experiment(path).pending()]
    assert [each["heat"] for each in held[:2]] == [60.0, 60.0] and held[2]["acid"] == "A"
    for words, said in (
        (["--fixed", "heat"], "--fixed takes NAME=VALUE, got 'heat'"),
        (["--fixed", "heat=1", "heat=2"], "--fixed has 'heat' twice"),
        (["--fixed", "hat=1"], "hat"),
        (["--fixed", "heat=60", "acid=A"], "fixed sides must leave something to choose"),
    ):
        assert said in call("ask", path, *words, status=2)
    call("ask", path, "-n", 3, "--another", "--shared", "acid")
    shared = [entry["params"]["acid"] for entry in Experiment(path).pending()[3:]]
    assert len(shared) == 3 and len({*shared}) == 1
    for query in Experiment(path).pending():
        call("tell", path, "--skip", "--query", query["query"])
    lines, _ = call("change", path, "--bounds", "time=1:60", "--earlier", "time=20")
    assert [line.split()[0] for line in lines[:3]] == ["heat", "acid", "time"]
    assert Experiment(path).history()[0]["params"] == {"heat": 40.0, "acid": "B", "time": 20.0}
    lines, _ = call("change", path, "--drop", "heat", "acid")
    assert lines[0].split()[0] == "time" and lines[1].startswith("1 answer")
    entry = Experiment(path).history()[0]
    assert entry["params"] == {"time": 20.0} and entry["measured"] == {"heat": 40.0, "acid": "B"}
    assert "--earlier has 'a' twice" in call(
        "change", path, "--bounds", "a=0:1", "--earlier", "a=1", "a=2", status=2
    )


def test_what_is_unusual_is_warned_of_once_it_is_saved(tmp_path, call):
    path = tmp_path / "run.skgpb"
    run = Experiment.create(path, ["heat=20:90"], limits=["pH < 9"], seed=1)
    for i in range(12):
        heat = run.ask()[0]["params"]["heat"]
        run.tell(70 - 0.01 * (heat - 50) ** 2 + 0.1 * (-1) ** i, measured={"pH": 7 + 0.01 * heat})
    call("ask", path)
    lines, said = call("tell", path, "7.02", "--measured", "pH=75")
    warned = said.splitlines()
    assert len(warned) == 3 and all(each.startswith("skgpb: warning: ") for each in warned)
    assert "one answer is far from what all others let expect" in warned.pop(0)
    assert warned[0].startswith("skgpb: warning: pH = 75 is unusual. The expected range is ")
    assert warned[1].startswith("skgpb: warning: 7.02 is unusual. The expected range is ")
    ending = "The answer is saved; `undo` removes it, `tell --correct` changes it"
    assert all(each.endswith(ending) for each in warned)
    assert lines[0] == "query 13: 7.02, beyond a limit"
    assert call("tell", path, "70", "--at", "heat=50", "--measured", "pH=7.5")[1] == ""


def test_columns_of_a_table_that_nothing_uses_are_named(tmp_path, call):
    table, path = tmp_path / "t.csv", tmp_path / "run.skgpb"
    table.write_text("x,y,pH,peak\n0.1,1,7,50\n0.2,2,8,60\n0.9,3,7,70\n")
    options = ["--data", table, "--answer", "y", "--limit", "peak < 80"]
    lines, _ = call("new", path, "--bounds", "x=0:1", *options)
    unused = "saved, but not used without a limit, a score or a block: pH"
    assert lines[3:5] == [f"3 answers of the past are taken from {table}", unused]
    lines, _ = call("tell", path, "--data", table)
    assert lines[:4] == ["query 4: 1", "query 5: 2", "query 6: 3", unused]
    assert lines[4] == "6 answers"
    lines, _ = call("tell", path, "4", "--at", "x=0.5", "--measured", "peak=1")
    assert unused not in lines


# -- errors and names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError("held by another"), "held by another"),
        (OSError(28, "No space left", "disk"), "cannot use disk: No space left"),
        (OSError(28, "No space left"), "cannot use RUN: No space left"),
        (OSError("odd"), "cannot use RUN: odd"),
        (ValueError("wrong"), "wrong"),
        (LoadError("wrong"), "wrong"),
        (TypeError("no number"), "no number"),
        (ImportError("needs pandas"), "needs pandas"),
    ],
)
def test_errors_of_a_command_are_its_message(error, said):
    def fail(arguments):
        raise error

    with pytest.raises(UsageError, match=f"^{said}$"):
        commands._as_command(fail)(Namespace(run_file="RUN", json=False))


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_warnings_are_lines_on_stderr(capsys, monkeypatch, as_json, closed):
    def warn(arguments):
        warnings.warn("one\n  two", stacklevel=2)
        return {"a": 1}, ["b", "c"]

    if closed:
        monkeypatch.setattr(sys, "stderr", None)
    commands._as_command(warn)(Namespace(run_file="RUN", json=as_json))
    out, err = capsys.readouterr()
    assert out == ('{"a": 1}\n' if as_json else "b\nc\n")
    assert err == ("" if closed else "skgpb: warning: one two\n")


def test_no_object_has_numbers_that_json_lacks():
    with pytest.raises(ValueError, match="JSON"):
        commands._as_command(lambda arguments: ({"a": float("nan")}, []))(Namespace(json=True))


def test_who_changes_something_has_a_login_name_or_none(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    assert commands._author(Namespace(by=None)) == "ann"
    assert commands._author(Namespace(by="")) == ""
    assert commands._author(Namespace(by="Ada")) == "Ada"
    for error in (OSError(), KeyError()):

        def unknown(error=error):
            raise error

        monkeypatch.setattr(getpass, "getuser", unknown)
        assert commands._author(Namespace(by=None)) == ""


def test_cells_are_aligned_without_blanks_at_the_end():
    assert commands.align_rows([["a", "bb", ""], ["ccc", "d", "e"]]) == ["a    bb", "ccc  d   e"]
    assert commands.columns([("a", "1"), ("bcd", "22")]) == ["  a    1", "  bcd  22"]


# -- budgets --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_best_split_is_printed_after_the_first_ones(tmp_path, call):
    ads = Campaigns.create(
        tmp_path / "ads.skgpb", ["tv=0,1,2", "web=0:4:1"], 6, answer="orders", seed=1
    )
    assert call("budget", "show", ads.path)[0][0] == "nothing was asked yet"
    for n in range(ads.n_first):
        lines = call("budget", "show", ads.path)[0]
        assert lines[-1] == (
            f"told: {n} of the first {ads.n_first} splits, which give each campaign much and "
            "little; the best split is named after them"
        )
        ads.tell({"tv": n, "web": 2 * n}, spent={"tv": n % 3, "web": n % 5})
    lines = call("budget", "show", ads.path)[0]
    status = Campaigns(ads.path).status()
    best = status["best"]
    mean, low, high = (
        format_estimate(each, best["std"]) for each in (best["mean"], *best["interval_95"])
    )
    said = [
        f"best split of 6 after {ads.n_first}:",
        *setting(best["amounts"]),
        f"orders: expected {mean} (95 %: {low} to {high})",
    ]
    assert lines[0] == "what each campaign got -> what came back"
    assert lines[1].split() == ["split", "tv", "web", "orders"]
    assert lines[4].split() == ["3", "2", "->", "2", "2", "->", "4", "6"]
    assert lines[-len(said) - 1 :] == ["", *said]
    split = call("budget", "ask", ads.path, "--budget", "3")[0]
    entry = Campaigns(ads.path).history()[-1]
    assert split[:3] == [f"split {ads.n_first + 1}", *setting(entry["amounts"])]
    assert sum(entry["amounts"].values()) <= 3
    assert split[3].endswith(f"budget tell {ads.path} tv=ANSWER web=ANSWER")
    assert call("budget", "show", ads.path)[0][ads.n_first + 2].endswith("not yet")
    lines = call("budget", "tell", ads.path, "web=2.5", "--spent", "tv=1")[0]
    assert lines[0] == f"split {ads.n_first + 1}: 2.5 orders, without tv"
    assert lines[1] == f"best split of 3 after {ads.n_first + 1}:"
    lines = call("budget", "undo", ads.path)[0]
    assert lines[0] == f"split {ads.n_first + 1} is taken back"
    assert lines[1] == f"best split of 3 after {ads.n_first}:"


@pytest.mark.parametrize(
    ("amounts", "text"),
    [([0.0, 5.0], "0, 5"), ([0.0, 1.0, 2.0], "0, 1, 2"), ([0.0, 1.0, 2.0, 3.0], "0, 1, 2, ..., 3")],
)
def test_long_lists_of_amounts_are_abbreviated(tmp_path, call, amounts, text):
    values = ",".join(map(format_value, amounts))
    campaigns = ["--campaigns", f"tv={values}", "web=0,1", "--budget", "5"]
    lines, _ = call("budget", "new", tmp_path / "ads", *campaigns)
    assert lines[0] == f"{tmp_path / 'ads'}: which split of 5 brings most in all?"
    assert lines[1:3] == [f"  tv   {text}", "  web  0, 1"]


# -- pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_sides", "rows"), [(1, 1), (4, 2)])
def test_a_picture_has_room_for_its_panels_and_says_the_recommendation(tmp_path, n_sides, rows):
    pytest.importorskip("matplotlib")
    sides = ["temperature=20:90", "salt=1e-4:0.1:log", "pH=3:9", "acid=A,B"][:n_sides]
    title = "Oven 3" if n_sides == 4 else ""
    run = Experiment.create(tmp_path / "run.skgpb", sides, title=title, unit="%", seed=1)
    for answer in (0.123456, 0.25, 0.75):
        run.tell(answer, run.ask()[0]["query"])
    figure = draw_experiment(run)
    columns = min(n_sides, 3)
    width = max(columns, 2) * 2.6 + 0.5
    assert_allclose(figure.get_size_inches(), (width, (rows + 1) * 2.2 + 1.4))
    slices, progress = figure.subfigs
    assert len(slices.axes) == n_sides and len(progress.axes) == 1
    assert_allclose(slices.bbox.height / progress.bbox.height, rows, rtol=0.01)
    starts = [
        (round(ax.get_position().x0, 2), round(ax.get_position().y0, 2)) for ax in slices.axes
    ]
    assert len({x for x, _ in starts}) == columns and len({y for _, y in starts}) == rows
    assert all(ax.get_legend() is None for ax in slices.axes)
    (legend,) = slices.legends
    assert legend._ncols == min(4, len(legend.get_texts()))
    lowest = min(ax.bbox.y0 for ax in slices.axes)
    assert legend.get_window_extent().y1 <= lowest
    best = run.status()["best"]
    lines = figure.get_suptitle().splitlines()
    assert lines[0] == (title or "run.skgpb")
    params = ", ".join(f"{n} = {format_value(x, 4)}" for n, x in best["params"].items())
    assert " ".join(lines[1:-1]) == f"recommended: {params}"
    assert all(len(line) <= 12 * width for line in lines[1:-1])
    mean, low, high = (format_value(x, 4) for x in (best["mean"], *best["interval_95"]))
    assert lines[-1] == f"answer in %: {mean}, with 95 % probability between {low} and {high}"
    assert progress.axes[0].get_ylabel() == "answer in %"

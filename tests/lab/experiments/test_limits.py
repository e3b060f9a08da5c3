"""Limits on what else is measured: as texts, and through everything that changes an experiment."""

import csv
import io

import cases
import pytest
from numpy.testing import assert_allclose

from skgpb.lab.cli import main
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.export import as_csv, write_table
from skgpb.lab.experiments.judge import limits_remark
from skgpb.lab.experiments.limits import format_limits, read_limits

SIDES = ["heat=20:90", "time=1:60"]
LIMITS = ["peak < 80", "impurity (%) <= 2"]


def yield_of(params):
    return round(0.9 * params["heat"] + 0.3 * params["time"], 3)


def measured_at(params):
    heat, time = params["heat"], params["time"]
    return {
        "peak": round(heat + 0.1 * time, 3),
        "impurity (%)": round(0.02 * time + 0.01 * heat, 4),
    }


def is_within(params):
    found = measured_at(params)
    return found["peak"] <= 80 and found["impurity (%)"] <= 2


def play(run, n):
    for _ in range(n):
        (query,) = run.ask()
        params = query["params"]
        run.tell(yield_of(params), query["query"], measured=measured_at(params))


@pytest.fixture
def run(tmp_path):
    return Experiment.create(tmp_path / "run.skgpb", SIDES, limits=LIMITS, answer="yield")


def told(run, name="peak"):
    """What the model of an outcome has seen: rows and values, in any order."""
    model = cases.outcome_model(run.optimizer, name)
    rows = [model.process.observed[i][0] for i in model.samples.functional]
    pairs = zip(rows, model.samples.reward, strict=True)
    return sorted((*row.round(9).tolist(), value) for row, value in pairs)


def expected_of(entries, name="peak"):
    """The same from a history."""
    return sorted(
        (*(float(x) for x in e["params"].values()), e["measured"][name])
        for e in entries
        if e["answer"] is not None and name in e["measured"]
    )


def check(run):
    """The models have seen exactly what the notebook says, also when the file is read again."""
    for each in (run, Experiment(run.path)):
        for name in ("peak", "impurity (%)"):
            assert_allclose(told(each, name), expected_of(each.history(), name), rtol=1e-9)


@pytest.mark.parametrize(
    ("texts", "limits"),
    [
        ("T < 80", {"T": (None, 80.0)}),
        ("T<=80", {"T": (None, 80.0)}),
        (["T > 1e-3", "T \u2264 5"], {"T": (0.001, 5.0)}),
        ("6 <= pH <= 8", {"pH": (6.0, 8.0)}),
        ("-5 < peak temperature (°C) < 80", {"peak temperature (°C)": (-5.0, 80.0)}),
        ('"a<b" >= 3', {"a<b": (3.0, None)}),
        ("passed = yes", {"passed": True}),
        (["leaks=No", '"a=b" = pass', "T < 80"], {"leaks": False, "a=b": True, "T": (None, 80.0)}),
        ("passed = 1", {"passed": True}),
        ([], {}),
    ],
)
def test_limits_are_read_as_they_are_written(texts, limits):
    assert read_limits(texts, ["heat"]) == limits
    assert read_limits(format_limits(limits), ["heat"]) == limits


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("T", "must be NAME < NUMBER"),
        ("T = 5", "must be NAME < NUMBER"),
        (["T < 5", "T = yes"], "yes or no is the only limit of a name"),
        (["T = yes", "T = no"], "yes or no is the only limit of a name"),
        ("A + B = yes", "yes or no is the only limit of a name, which has no arithmetic"),
        ("< 5", "must be NAME < NUMBER"),
        ("5 < T > 3", "must be NAME < NUMBER"),
        ("T < 80,5", "write 80.5"),
        ("T < 80 C", "a limit of T must be a number, got '80 C'"),
        ("heat < 80", "'heat' is a setting or the answer"),
        (
            ["T < 3", "T > 5"],
            "the limits of T must have their low end below their high end, got 5 to 3",
        ),
    ],
)
def test_what_is_no_limit_is_said(tmp_path, texts, said):
    with pytest.raises(ValueError, match=said):
        Experiment.create(tmp_path / "run.skgpb", SIDES, limits=texts)
    assert not (tmp_path / "run.skgpb").exists()


def test_averages_over_regions_have_no_limits(tmp_path):
    with pytest.raises(ValueError, match="limits are for single settings"):
        Experiment.create(tmp_path / "run.skgpb", SIDES, limits=LIMITS, regions=True)


@pytest.mark.slow
def test_the_best_within_the_limits_is_found_and_said(run):
    play(run, 25)
    best = run.best()
    assert is_within(best["params"]) and is_within(best["best_answer"]["params"])
    assert best["mean"] > 0.98 * 78.0  # at heat 76 and time 40
    assert best["within_limits"] >= 0.95
    assert [each["limit"] for each in best["outcomes"]] == ["peak <= 80", "impurity (%) <= 2"]
    hot = run.expect({"heat": 90, "time": 60})
    assert hot["outcomes"][0]["mean"] == pytest.approx(96, abs=3) and hot["within_limits"] < 0.01
    assert run.status()["limits"] == ["peak <= 80", "impurity (%) <= 2"]
    for entry in run.history():
        assert entry["within_limits"] == is_within(entry["params"])


def test_nothing_is_said_before_anything_was_measured(run):
    (query,) = run.ask()
    run.tell(3.0, query["query"])
    best = run.best()
    assert best["within_limits"] is None and best["outcomes"][0]["probability"] is None


@pytest.mark.slow
def test_whatever_is_changed_the_models_follow(run):
    play(run, 5)
    run.tell(50.0, at={"heat": 50, "time": 5}, measured={"peak": 51.5, "colour": "red"})
    run.fail(at={"heat": 85, "time": 5}, measured={"peak": 99})
    check(run)
    run.correct(2, 44.0)
    run.correct(3, at={"heat": 33, "time": 7})
    check(run)
    run.annotate(1, measured={"peak": 45.25})
    assert run.changes()[-1]["before"] != run.changes()[-1]["after"]
    check(run)
    run.annotate(4, measured={"peak": "", "impurity (%)": ""})
    run.annotate(4, note="only a note")
    check(run)
    run.correct(5, None)
    check(run)
    (query,) = run.ask()
    run.annotate(query["query"], measured={"peak": 61})  # before there is an answer
    run.tell(40.0, query["query"], measured={"impurity (%)": 1.5})
    check(run)
    run.undo()
    check(run)
    (query, *_) = run.pending()
    run.tell(40.0, query["query"], at={"heat": 41, "time": 8}, measured={"peak": 42})
    check(run)
    play(run, 2)
    check(run)


@pytest.mark.parametrize("call", ["tell", "annotate"])
def test_a_text_in_the_place_of_a_number_is_refused(run, call):
    play(run, 3)
    run.ask()
    before = run.path.read_bytes()
    arguments = (3.0, 4) if call == "tell" else (2,)
    with pytest.raises(ValueError, match=r"peak.*which has a limit, must be a number.*80\.5"):
        getattr(run, call)(*arguments, measured={"peak": "80,5"})
    assert run.path.read_bytes() == before
    check(run)


@pytest.mark.slow
def test_limits_change_in_a_run(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, answer="yield")
    play(run, 12)
    assert run.best()["outcomes"] == []
    before = run.history()
    run.change(limits="peak < 70")
    assert cases.outcome_model(run.optimizer, "peak").n_answers == 12
    assert measured_at(run.best()["params"])["peak"] <= 70
    run.change({"heat": "20:95"})
    assert run.status()["limits"] == ["peak <= 70"]
    run.change(limits=LIMITS, by="Ada")
    change = run.changes()[-1]
    assert [change[name] for name in ("what", "before", "by")] == ["limits", "peak <= 70", "Ada"]
    check(run)
    run.change(limits=[])
    assert run.status()["limits"] == []
    for entry in before:
        entry["within_limits"] = True
    assert run.history() == before


@pytest.mark.slow
def test_a_notebook_comes_back(run, tmp_path):
    play(run, 8)
    run.ask()
    write_table(run, tmp_path / "table.csv")
    options = {"limits": LIMITS, "answer": "yield", "data": tmp_path / "table.csv"}
    other = Experiment.create(tmp_path / "other.skgpb", SIDES, **options)
    assert other.history() == run.history()
    assert_allclose(told(other), told(run))
    check(other)
    third = Experiment.create(tmp_path / "third.skgpb", SIDES, limits=LIMITS, answer="yield")
    third.add_table(tmp_path / "table.csv")
    assert_allclose(told(third), told(run))
    check(third)


def test_a_plain_table_has_columns_of_what_is_limited(tmp_path):
    table = tmp_path / "past.csv"
    table.write_text("heat;time;yield;peak (°C)\n30;5,5;40,5;31,5\n50;5;41;\n60;9;44;61\n")
    options = {"limits": ["peak < 80", "acid < 1"], "data": table}
    with pytest.warns(UserWarning, match="no column 'acid'"):
        run = Experiment.create(tmp_path / "run.skgpb", SIDES, answer="yield", **options)
    assert [entry["measured"] for entry in run.history()] == [{"peak": 31.5}, {}, {"peak": 61.0}]
    assert run.status()["n_given"] == 3
    assert cases.outcome_model(run.optimizer, "peak").n_answers == 2
    run.correct(1, at={"heat": 35, "time": 5})
    assert cases.outcome_model(run.optimizer, "peak").n_answers == 2
    table.write_text("heat,time,yield,peak\n30,5,40,n.d.\n")
    with pytest.raises(ValueError, match=r"n\.d\."), pytest.warns(UserWarning, match="acid"):
        run.add_table(table)


def test_without_limits_a_table_with_one_more_column_is_asked_about(tmp_path):
    table = tmp_path / "past.csv"
    table.write_text("heat,time,yield,peak\n30,5,40,31\n")
    with pytest.raises(ValueError, match="must be named"):
        Experiment.create(tmp_path / "run.skgpb", SIDES, data=table)
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, data=table, limits="peak < 80")
    assert run.history()[0]["answer"] == 40 and run.history()[0]["measured"] == {"peak": 31}


@pytest.mark.slow
def test_the_shell_asks_for_what_is_limited(tmp_path, capsys):
    path = str(tmp_path / "run.skgpb")

    def call(*arguments):
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    limits = [part for text in LIMITS for part in ("--limit", text)]
    out = call("new", path, "--bounds", *SIDES, *limits, "--answer", "yield")
    assert "peak <= 80" in out
    for _ in range(12):
        assert "--measured peak=VALUE 'impurity (%)=VALUE'" in call("ask", path)
        params = Experiment(path).pending()[0]["params"]
        measured = [f"{name}={value}" for name, value in measured_at(params).items()]
        call("tell", path, str(yield_of(params)), "--measured", *measured)
    out = call("best", path)
    assert "peak <= 80: holds with probability" in out and "all limits hold" in out
    assert "best answer within the limits so far" in out
    assert "all limits hold with probability" in call("expect", path, "--at", "heat=90", "time=3")
    head = call("show", path).splitlines()[6]
    assert head.split() == ["query", "heat", "time", "yield", "peak", "impurity", "(%)"]
    assert "peak <= 70" in call("change", path, "--limit", "peak < 70")
    assert "peak" not in call("change", path, "--limit", "none").split("answers")[0]
    rows = list(csv.reader(io.StringIO(as_csv(Experiment(path)).decode("utf-8-sig"))))
    assert {"peak", "impurity (%)"} <= set(rows[0])


def test_a_name_in_other_capitals_is_no_measurement_that_is_lost(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:1"], limits=["peak < 80"], block="Batch")
    run.ask(2)
    for wrong, right in (("Peak", "peak"), ("PEAK", "peak"), ("batch", "Batch")):
        with pytest.raises(
            ValueError, match=f"no effect under the name '{wrong}': write '{right}'"
        ):
            run.tell(1.0, 1, measured={wrong: 7.0})
    run.tell(1.0, 1, measured={"peak": 90.0, "Batch": "b1", "PH": 7.0})
    run.tell(0.5, 2, measured={"pH": 7.0})
    with pytest.raises(ValueError, match="write 'peak'"):
        run.annotate(2, measured={"Peak": 70.0})
    assert [each["within_limits"] for each in run.history()] == [False, None]
    assert limits_remark(run.best()) == "(not every limit measured) "
    run.annotate(2, measured={"peak": 85.0})
    assert limits_remark(run.best()) == "(beyond a limit) "
    run.annotate(2, measured={"peak": 75.0})
    assert limits_remark(run.best()) == "within the limits "


def test_several_changes_are_one(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:1"])
    run.ask(3)
    before = run.path.read_bytes(), run.history()

    def tell_two(second):
        with run.exclusive():
            run.tell(1.0, 1)
            assert run.path.read_bytes() == before[0] and run.history() != before[1]
            run.tell(2.0, second)

    with pytest.raises(ValueError, match="there is no query 9"):
        tell_two(9)
    assert (run.path.read_bytes(), run.history()) == before
    with run.exclusive():
        with pytest.raises(ValueError, match="there is no query 9"):
            run.annotate(9, note="lost")
        assert run.history() == before[1]
    assert run.path.read_bytes() == before[0]
    tell_two(2)
    assert Experiment(run.path).history() == run.history() != before[1]


# -- results below a limit of detection -----------------------------------------------------------


def test_a_limit_of_detection_is_a_measurement(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, limits=["impurity <= 5"], seed=0)
    told = {"<0.5": True, "< 5": True, "<9": None, ">9": False, ">1": None, "3": True}
    for text, holds in told.items():
        number = run.ask()[0]["query"]
        entry = run.tell(1.0, number, measured={"impurity": text})
        assert entry["within_limits"] is holds, text
    assert [each["measured"]["impurity"] for each in run.history()] == [*list(told)[:-1], 3.0]
    outcomes = [event[2] for event in run.optimizer._events if event[0] == "outcomes"]
    assert [each["impurity"] for each in outcomes] == [0.5, 5.0, 9.0, 9.0, 1.0, 3.0]
    again = Experiment(run.path)
    assert [each["within_limits"] for each in again.history()] == list(told.values())


def test_the_low_end_of_a_limit_is_kept_if_it_certainly_is(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, limits=["purity >= 90"], seed=0)
    for text, holds in ((">95", True), ("<95", None), ("<80", False), (">80", None)):
        number = run.ask()[0]["query"]
        assert run.tell(1.0, number, measured={"purity": text})["within_limits"] is holds


def test_an_answer_that_is_a_limit_counts_as_it_and_is_noted(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, unit="mg/L", seed=0)
    said = "the answer was <0.5, which counts as its limit"
    number = run.ask()[0]["query"]
    entry = run.tell("<0.5", number, note="pale")
    assert (entry["answer"], entry["note"]) == (0.5, f"pale; {said}")
    entry = run.correct(number, "<0.5 mg/l")
    assert (entry["answer"], entry["note"]) == (0.5, f"pale; {said}")
    entry = run.correct(number, "7")
    assert entry["answer"] == 7.0
    write_table(run, tmp_path / "out.csv")
    other = Experiment.create(
        tmp_path / "other.skgpb", SIDES, unit="mg/L", data=tmp_path / "out.csv"
    )
    assert other.history()[0]["note"] == entry["note"]


def test_tables_have_limits_units_and_no_other_units(tmp_path):
    table, run = tmp_path / "t.csv", tmp_path / "run.skgpb"
    rows = ["heat,time,yield,impurity", "20 C,1,50 %,<0.5", "30 C,2,<2 %,1", "40 C,3,60 %,>7"]
    table.write_text("\n".join(rows), encoding="utf-8")
    given = {"answer": "yield", "unit": "%", "limits": ["impurity <= 5"], "data": table}
    history = Experiment.create(run, SIDES, **given).history()
    assert [each["answer"] for each in history] == [50.0, 2.0, 60.0]
    assert [each["measured"]["impurity"] for each in history] == ["<0.5", 1.0, ">7"]
    assert [each["within_limits"] for each in history] == [True, True, False]
    assert "the answer was <2 %" in history[1]["note"]
    with pytest.raises(ValueError, match="column 'yield': it is in %, and answers in 'mg/L'"):
        Experiment.create(tmp_path / "b", SIDES, **given | {"unit": "mg/L"})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("20,5,0:00:07\n30,6,0:00:08", "'yield': it is in seconds, and answers in 'min'"),
        ("20,0:00:05,7\n30,0:00:06,8", "'time': it is a duration: write a number, in the unit"),
        ("20,5,n.d.\n30,6,8\n40,7,9", "'n.d.' may be not determined or not detected"),
        ("20,5,n.d.\n30,6,8", "'n.d.' may be not determined or not detected"),
    ],
)
def test_what_is_no_plain_number_in_a_table_is_refused(tmp_path, rows, message):
    table = tmp_path / "t.csv"
    table.write_text(f"heat,time,yield\n{rows}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        Experiment.create(tmp_path / "run.skgpb", SIDES, answer="yield", unit="min", data=table)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("5 g", "the answer must be a number, got '5 g': write 5 without the unit"),
        ("02:09:19", "must be a number, got '02:09:19': write 7759 for seconds"),
        ("n.d.", "'n.d.' may be not determined or not detected: leave it empty for the first"),
        ("<0.5 g", "must be a number, got '<0.5 g'"),
        ("<1e999", "must be a finite number"),
    ],
)
def test_what_is_no_plain_number_as_an_answer_is_refused(tmp_path, answer, message):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, unit="%", seed=0)
    run.ask()
    with pytest.raises(ValueError, match=message):
        run.tell(answer)
    assert run.tell("55 %")["answer"] == 55.0


def test_a_score_is_computed_from_a_limit(tmp_path):
    path = tmp_path / "run.skgpb"
    run = Experiment.create(path, SIDES, score="yield - 2*impurity", seed=0)
    run.ask()
    assert run.tell(measured={"yield": 10, "impurity": "<0.5"})["answer"] == 9.0


WIDE = """salt,cups,taste,pH,remark,operator,date,lot,none
1,2,4,"6,5",dull,Ann,2026-01-31,A,
5,8,9,"8,9",,Ben,2026-02-01,B,
3,3,6,"7,0",fine,Ann,2026-02-02,A,
2,5,5,"6,9",,Ben,2026-02-03,B,
4,6,8,"8,2",,Ann,2026-02-04,A,NA
"""
PAST = {"sides": ["salt=0:9", "cups=1:9"], "answer": "taste"}


def known(run):
    """What is learned, of every query."""
    names = ("params", "answer", "within_limits", "operator", "date", "measured")
    return [{name: each[name] for name in names} for each in run.history()]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("rule", [{"limits": "pH <= 8"}, {"block": "lot"}, {"block": "operator"}])
@pytest.mark.parametrize("door", ["create", "add_table"])
def test_columns_of_a_table_count_for_what_is_set_later(tmp_path, rule, door):
    table = tmp_path / "past.csv"
    table.write_text(WIDE)
    runs = []
    for name, early in (("early", rule), ("late", {})):
        given = {"data": table} if door == "create" else {}
        run = Experiment.create(tmp_path / name, **PAST, **early, **given)
        if door == "add_table":
            run.add_table(table)
        runs.append(run)
    early, late = runs
    assert {"pH", "lot"} <= set(late.status()["not_used"])
    late.change(**rule)
    assert known(late) == known(early)
    assert [each["measured"]["pH"] for each in late.history()] == [6.5, 8.9, 7.0, 6.9, 8.2]
    assert late.history()[0]["measured"]["remark"] == "dull"
    assert (late.history()[0]["operator"], late.history()[0]["date"]) == ("Ann", "2026-01-31")
    best = [run.best() for run in runs]
    assert best[0]["params"] == best[1]["params"]
    assert_allclose(best[0]["mean"], best[1]["mean"])


def test_a_score_uses_columns_that_a_table_had(tmp_path):
    table = tmp_path / "past.csv"
    table.write_text(WIDE)
    run = Experiment.create(tmp_path / "run", **PAST, data=table)
    run.change(score="taste - pH")
    assert_allclose([each["answer"] for each in run.history()], [-2.5, 0.1, -1.0, -1.9, -0.2])


def test_columns_that_are_not_used_are_named(tmp_path, capsys):
    table, run = tmp_path / "past.csv", str(tmp_path / "run")
    table.write_text(WIDE)
    bounds = ["--bounds", *PAST["sides"], "--answer", "taste"]
    main(["new", run, *bounds, "--data", str(table)])
    assert (
        "not used without a limit, a score or a block: pH, remark, lot" in capsys.readouterr().out
    )
    main(["change", run, "--limit", "pH <= 8"])
    assert Experiment(run).status()["not_used"] == ["remark", "lot"]
    main(["tell", run, "--data", str(table)])
    assert "or a block: remark, lot" in capsys.readouterr().out


def test_columns_that_no_record_can_store_are_named(tmp_path):
    wide = [f"c{i}" for i in range(120)]
    table = tmp_path / "past.csv"
    table.write_text(",".join(["salt", "cups", "taste", *wide]) + "\n" + "1,2,4" + ",7" * 120)
    with pytest.warns(UserWarning, match=r"20 columns of .*past.csv are left out: 'c100', 'c101'"):
        run = Experiment.create(tmp_path / "run", **PAST, data=table)
    assert len(run.history()[0]["measured"]) == 100


@pytest.mark.parametrize("first", ["<", "<=", "\u2264", ">", ">=", "\u2265"])
@pytest.mark.parametrize("second", ["<", "<=", "\u2264", ">", ">=", "\u2265"])
def test_two_ends_of_a_limit_are_both_below_what_follows(first, second):
    text = f"6 {first} pH {second} 8"
    if first in "<=\u2264" and second in "<=\u2264":
        assert read_limits([text], []) == {"pH": (6.0, 8.0)}
    else:
        with pytest.raises(ValueError, match="a limit must be NAME < NUMBER"):
            read_limits([text], [])


PASSED = """heat,time,yield,passed
30,10,30,yes
80,50,80,no
50,30,50,Yes
70,20,70,no
60,20,60,n/a
"""


@pytest.mark.slow
def test_an_outcome_of_yes_or_no_goes_through_everything(tmp_path, capsys):
    table, file = tmp_path / "past.csv", str(tmp_path / "run")
    table.write_text(PASSED)
    limit = ["--limit", "passed = yes"]
    main(["new", file, "--bounds", *SIDES, "--answer", "yield", *limit, "--data", str(table)])
    assert "passed has a limit and was not measured for query 5:" in capsys.readouterr().err
    run = Experiment(file)
    within = [True, False, True, False, None]
    assert [each["within_limits"] for each in run.history()] == within
    main(["ask", file])
    assert "--measured passed=VALUE" in capsys.readouterr().out
    main(["tell", file, "45", "--measured", "passed=perhaps"])
    said = capsys.readouterr().err
    assert "passed, which has a limit, must be yes or no, got 'perhaps'" in said
    main(["tell", file, "45", "--measured", "passed=fail"])
    assert "beyond a limit" in capsys.readouterr().out
    main(["best", file])
    said = capsys.readouterr().out
    assert "passed = yes: holds with probability" in said and "; known" not in said
    assert "(known of 5 of 6 results)" in said
    run = Experiment(file)
    (found,) = run.best()["outcomes"]
    assert found["mean"] is found["std"] is None and 0.0 < found["probability"] < 1.0
    assert run.best()["params"]["heat"] == 50.0 and run.best()["best_answer"]["answer"] == 50.0
    run.ask()
    for told in (True, 0, "T"):
        assert run.surprises({"passed": told}) == {}
        run.tell(40.0, measured={"passed": told})
        assert run.history()[-1]["within_limits"] is bool(told)
        run.ask()
    assert run.history()[-4]["measured"] == {"passed": "yes"}
    exported = tmp_path / "out.csv"
    exported.write_bytes(as_csv(run))
    other = Experiment.create(tmp_path / "other", SIDES, answer="yield", limits=limit[1:])
    other.add_table(exported)
    assert [each["within_limits"] for each in other.history()] == [
        each["within_limits"] for each in run.history() if each["status"] != "pending"
    ]
    expected = run.expect({"heat": 85, "time": 40})["within_limits"]
    assert expected == pytest.approx(other.expect({"heat": 85, "time": 40})["within_limits"])
    run.change(limits=["passed = no"])
    assert run.status()["limits"] == ["passed = no"]
    assert run.history()[0]["within_limits"] is False
    run.change(limits=[])
    run.annotate(1, measured={"passed": 0.5})
    with pytest.raises(ValueError, match=r"passed of query 1, .* must be yes or no, got 0\.5"):
        run.change(limits=limit[1:])
    assert run.status()["limits"] == []

"""What is exported is read back: everything that a notebook can hold, in every format."""

import csv
import io
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb import EIOptimizer, GPUCBOptimizer
from skgpb.domains import Cells
from skgpb.exceptions import LimitWarning
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.answers import (
    format_measurements,
    format_range,
    range_ends,
    read_answer,
    read_cell,
    read_range,
)
from skgpb.lab.experiments.export import as_csv, write_table
from skgpb.lab.experiments.records import (
    LONGEST,
    LabRecord,
    normalize_date,
    number_or_text,
    today,
)
from skgpb.lab.experiments.table import (
    ERROR,
    NUMBER,
    STATUS,
    WRITTEN,
    notebook_columns,
    read_answers,
)
from skgpb.surrogate import suboptimality_gap

FORMATS = ["csv", "german.csv", "xlsx"]
# Texts that a spreadsheet, or a reader of tables, takes for something else.
TEXTS = [
    *("+", "-", "=1+1", "@x", "'+", "''-1", "'tis", "'7", "NA", "none", "n/a", "?", "nan", "null"),
    *("7,1", "1,125", "-0,5", "1,5e-07", "1_000", "12 of 300", "1.234,5", "58 %", "€ 3,50", "yes"),
    *("true", "31.1.2026", "2026-01-31", "10:30", "a;b", 'say "no"', "a, b", "_x0041_", "#N/A"),
    *("\U0001f1e9\U0001f1ea", "µ", "\u00a01\u202f000\u00a0x", "<b>&amp;</b>", "sep=;", "#1"),
]
# Names of sides and of measurements that are also those of columns of a notebook.
CLASHES = [NUMBER, ERROR, STATUS, *WRITTEN, "notebook status", "measured x", "result", "x"]


def again(run, path, ending, sides=None, **labels):
    """The experiment that begins with all that was exported."""
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
        pytest.importorskip("pandas")
    table = path / f"table.{ending}"
    write_table(run, table, decimal_comma=ending.startswith("german"))
    (path / "again.skgpb").unlink(missing_ok=True)
    sides = {side.name: side.bounds for side in run.sides} if sides is None else sides
    return Experiment.create(path / "again.skgpb", sides, data=table, **labels)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ending", FORMATS)
def test_every_kind_of_entry_comes_back(tmp_path, ending):
    past = tmp_path / "past.csv"
    past.write_text("heat,salt,kind,n,yield\n30,0.01,A,3,1.125\n60,0.001,B,7,0.25\n")
    sides = {"heat (°C)": "20:90", "salt": "1e-4:0.1:log", "kind": ["A", "B"], "n": "1:9:int"}
    labels = {"answer": "yield", "unit": "%", "direction": "minimize"}
    run = Experiment.create(tmp_path / "run.skgpb", sides, data=past, **labels)
    asked = [each["query"] for each in run.ask(7)]
    run.annotate(1, note="first", operator="Ada", date="2025-12-31", measured={"pH": 7.125})
    run.tell(1 / 3, asked[0], noise=0.1, note="two\nlines; and more", operator="Ada, B.")
    run.tell("12 of 300", asked[1], date="2026-01-31", measured={"pH": 1234.5, "hue": "red"})
    run.fail(asked[2])
    run.annotate(asked[2], note="broke", measured={"pH": -1e-07})
    run.skip(asked[3], note="no time")
    run.tell(-2.5e-7, asked[4], at={"heat (°C)": 33.25, "salt": 0.012, "kind": "B", "n": 2})
    number = run.tell(1e10, at={"heat (°C)": 35, "salt": 0.012, "kind": "A", "n": 1})["query"]
    run.undo()  # leaves a gap
    run.repeat(1)
    run.tell(1.125, at={"heat (°C)": 90, "salt": 0.1, "kind": "A", "n": 9}, noise=0)
    run.annotate(asked[5], note="to do")
    history = run.history()
    assert {e["status"] for e in history} == {"given", "answered", "failed", "skipped", "pending"}
    assert number not in [entry["query"] for entry in history]
    other = again(run, tmp_path, ending, sides, **labels)
    for one, two in zip(history, other.history(), strict=True):
        salts = one["params"].pop("salt"), two["params"].pop("salt")
        assert_allclose(*salts, rtol=1e-12)
        assert one == two
    assert Experiment(other.path).history() == other.history()
    # It goes on like the one that it comes from.
    keys = ("n_given", "n_answered", "n_failed", "n_skipped")
    assert [other.status()[key] for key in keys] == [run.status()[key] for key in keys]
    assert other.ask(1, another=True)[0]["query"] == run.ask(1, another=True)[0]["query"]
    setting = history[0]["params"] | {"salt": 0.01}
    assert_allclose(other.expect(setting)["mean"], run.expect(setting)["mean"], rtol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_texts_of_any_kind_come_back(tmp_path, ending):
    levels = [*TEXTS, 1, 2.5]
    run = Experiment.create(tmp_path / "run.skgpb", {"kind": levels, "x=": (0, 1)}, noise=0.1)
    for i, text in enumerate(TEXTS):
        measured = {"m": text, **{f"m {each}": each for each in TEXTS[i : i + 3]}, text: i / 8}
        run.tell(i + 0.125, at={"kind": text, "x=": 0.5}, note=text, operator=text)
        run.annotate(i + 1, measured=measured)
    for level in levels[-2:]:
        run.tell(0.0, at={"kind": level, "x=": 0.25})
    assert again(run, tmp_path, ending, noise=0.1).history() == run.history()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("answer", ["", "x", "number", "status", "notebook number"])
def test_names_of_columns_may_be_those_of_a_notebook(tmp_path, ending, answer):
    sides = dict.fromkeys(CLASHES, (0, 16))
    run = Experiment.create(tmp_path / "run.skgpb", sides, noise=0.1, answer=answer)
    values = {name: i for i, name in enumerate(CLASHES)}
    measured = {name: f"{name} too" for name in [*CLASHES, "measured measured x", "pH"]}
    run.tell(0.5, at=values, noise=0.25, note="a", operator="b", date="2026-01-31")
    run.annotate(1, measured=measured)
    header = next(csv.reader(io.StringIO(as_csv(run).decode("utf-8-sig"))))
    assert len(set(header)) == len(header)
    for label in {answer, ""}:
        assert again(run, tmp_path, ending, noise=0.1, answer=label).history() == run.history()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ending", FORMATS)
def test_values_that_only_python_can_give_come_back(tmp_path, ending):
    bounds = {"any": [None, True, False, (1, 2), "None at all"], "third": (0.0, 1 / 3)}
    optimizer = GPUCBOptimizer(bounds=bounds, random_state=0)
    for value in (None, True, (1, 2), False):
        optimizer.tell({"any": value, "third": 1 / 7}, 1.0)
    optimizer.save(tmp_path / "run.skgpb")
    run = Experiment(tmp_path / "run.skgpb")
    found = again(run, tmp_path, ending)
    assert [e["params"]["any"] for e in found.history()] == [None, True, [1, 2], False]
    thirds = [e["params"]["third"] for e in found.history()]
    assert_allclose(thirds, 1 / 7, rtol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ending", FORMATS)
def test_a_notebook_is_added_to_another(tmp_path, ending):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], answer="yield")
    asked = [each["query"] for each in run.ask(4)]
    run.tell(1.0, asked[0], noise=0.1, note="a", operator="b", date="2026-01-31")
    run.annotate(asked[0], measured={"pH": 7.0})
    run.fail(asked[1])
    run.skip(asked[2], note="no time")
    again(run, tmp_path, ending)
    mine = Experiment.create(tmp_path / "mine.skgpb", ["x=0:1"], answer="yield")
    mine.tell(0.5, at={"x": 0.5})
    told = mine.add_table(tmp_path / f"table.{ending}")
    assert [entry["query"] for entry in told] == [2, 3, 4] and told == mine.history()[1:]
    for one, two in zip(run.history(), told, strict=False):
        assert one | {"query": 0} == two | {"query": 0}
    assert not mine.pending()  # what others have to do is theirs


def test_what_is_filled_in_at_a_spreadsheet_is_taken(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "y=0:1"])
    for _ in range(3):
        run.tell(1.0, run.ask()[0]["query"])
    run.fail(run.ask()[0]["query"])
    run.ask(2)
    rows = list(csv.DictReader(io.StringIO(as_csv(run).decode("utf-8-sig"))))
    rows[0]["note"], rows[1]["result"] = "better", ""
    rows[2][ERROR], rows[3]["result"], rows[4]["result"] = "0.5", "2.5", "3"
    rows[4] |= {"date": "31.01.2026", "operator": "Ada"}
    # The columns may be in another order, and no answers before their standard errors.
    columns = ["comment", *sorted(rows[0], key=lambda name: (name == ERROR, name))]

    def saved(name, change=None):
        with open(tmp_path / name, "w", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="c")
            writer.writeheader()
            writer.writerows(row | (change or {}) for row in rows)
        return tmp_path / name

    given = {"data": saved("filled.csv"), "answer": "result"}
    with pytest.raises(ValueError, match="the one of answers must be named; it has 'comment', 're"):
        Experiment.create(tmp_path / "no", ["x=0:1", "y=0:1"], data=given["data"])
    history = Experiment.create(tmp_path / "again.skgpb", ["x=0:1", "y=0:1"], **given).history()
    assert [(e["query"], e["status"], e["answer"], e["noise"]) for e in history] == [
        (1, "answered", 1.0, None),
        (3, "answered", 1.0, 0.5),
        (4, "answered", 2.5, None),
        (5, "answered", 3.0, None),
        (6, "pending", None, None),
    ]
    assert history[0]["note"] == "better" and history[0]["measured"] == {"comment": "c"}
    assert (history[3]["operator"], history[3]["measured"]) == ("Ada", {"comment": "c"})
    for change, says in (
        ({ERROR: "-1"}, "line 2, column 'status': noise must be a standard deviation >= 0, got -1"),
        ({ERROR: "low"}, f"column '{ERROR}': 'low' is not a number"),
        ({"date": "soon"}, "line 2, column 'status': date must be like 2026-01-31, got 'soon'"),
        ({"note": "a" * 10_001}, "line 2, column 'status': note must be a text of at most"),
    ):
        given["data"] = saved("wrong.csv", change)
        with pytest.raises(ValueError, match=says):
            Experiment.create(tmp_path / "no", ["x=0:1", "y=0:1"], **given)


def test_another_column_is_the_answer_and_the_first_one_is_kept(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "kind=A,B"], answer="yield")
    run.tell(1.0, at={"x": 0.5, "kind": "A"}, noise=0.1, measured={"cost": 3.0})
    found = again(run, tmp_path, "csv", ["x=0:1"], answer="cost").history()[0]
    assert (found["answer"], found["noise"]) == (3.0, None)
    assert found["measured"] == {"yield": 1.0, "kind": "A", ERROR: 0.1}


def test_nobody_waits_while_a_table_is_read(tmp_path, monkeypatch):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "kind=A,B"])
    table = tmp_path / "more.csv"
    table.write_text("x,kind,y\n0.5,A,1\n0.25,C,2\n")
    monkeypatch.setattr("skgpb.lab.file_lock.PATIENCE", 0.1)
    others, n_reads = Experiment(run.path), []

    def reading(*arguments, **options):
        with ThreadPoolExecutor(1) as pool:  # a thread that holds a lock takes it again
            if not n_reads:  # C is a value from now on
                pool.submit(others.change, {"kind": ["A", "B", "C"]}).result()
            pool.submit(others.tell, 3.0, at={"x": 0.125, "kind": "A"}).result()
        n_reads.append(1)
        return read_answers(*arguments, **options)

    monkeypatch.setattr("skgpb.lab.experiments.notebook.read_answers", reading)
    with pytest.raises(ValueError, match="kind must be A or B, got 'C'"):
        run.add_table(table)  # what is wrong is said of what was known when it was read
    n_reads[:] = []
    others.change({"kind": ["A", "B", "C"]})
    assert [entry["answer"] for entry in run.add_table(table)] == [1.0, 2.0]
    assert [entry["answer"] for entry in run.history()] == [3.0, 3.0, 1.0, 2.0]


def test_a_table_is_read_again_where_the_sides_have_changed(tmp_path, monkeypatch):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "kind=A,B"])
    (tmp_path / "more.csv").write_text("x,kind,y\n0.5,A,1\n")
    others, seen = Experiment(run.path), []

    def reading(path, sides, *arguments, **options):
        seen.append(sides[0].ends)
        if len(seen) == 1:
            others.change(["x=0:2"], constraints="x <= 1.5")
        return read_answers(path, sides, *arguments, **options)

    monkeypatch.setattr("skgpb.lab.experiments.notebook.read_answers", reading)
    run.add_table(tmp_path / "more.csv")
    assert seen == [(0.0, 1.0), (0.0, 2.0)]
    assert [entry["params"]["x"] for entry in run.history()] == [0.5]


@pytest.mark.slow
@pytest.mark.one_in(6)
@pytest.mark.parametrize("ending", FORMATS)
def test_every_kind_of_entry_about_regions_comes_back(tmp_path, ending):
    sides = {"heat": (-20, 90), "kind": ["A", 'c, "d"', 2.5], "time": "0:60:20"}
    run = Experiment.create(tmp_path / "run.skgpb", sides, regions=True, noise=0.1)
    for i in range(6):
        number = run.ask()[0]["query"]
        run.tell(i % 4 - 1.125, number, note=f"n{i}", noise=0.25 if i % 2 else None)
    run.annotate(2, operator="Ada", date="2025-12-31", measured={"pH": 7.125, "hue": "red"})
    at = {"heat": 33.25, "kind": 'c, "d"', "time": 20}
    run.tell(0.5, at=at, note="a setting")
    run.tell(9.0, at=at)
    run.undo()  # leaves a gap
    asked = [each["query"] for each in run.ask(5)]
    run.fail(asked[0])
    run.skip(asked[1], note="no time")
    run.annotate(asked[2], note="to do")
    history = run.history()
    assert {e["status"] for e in history} == {"answered", "failed", "skipped", "pending"}
    assert {type(value) for e in history for value in e["params"].values()} > {list, float}
    labels = {"regions": True, "noise": 0.1}
    other = again(run, tmp_path, ending, sides, **labels)
    assert other.history() == history == Experiment(other.path).history()
    # It goes on like the one that it comes from.
    assert other.best()["params"] == run.best()["params"]
    for each in (run, other):
        each.tell(0.25, asked[2])
        each.correct(1, 0.75)
    assert other.history() == run.history()
    assert other.ask(1, another=True)[0]["params"] == run.ask(1, another=True)[0]["params"]
    # Where the cells are others, the regions are the same.
    wider = sides | {"heat": (-33, 100), "kind": ["B", *sides["kind"]]}
    other = again(run, tmp_path, ending, wider, **labels)
    assert Experiment(other.path).history() == run.history()
    for entry in other.pending():  # a tree of other cells would not ask it
        told = other.tell(0.5, entry["query"], note="done")
        assert told["params"] == entry["params"] and told["query"] == entry["query"]
    other.correct(asked[2], 1.5)
    assert Experiment(other.path).history() == other.history()


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_regions_of_texts_of_any_kind_come_back(tmp_path, ending):
    sides = {"kind": [*TEXTS, 1, 2.5], "x": (0, 1)}
    run = Experiment.create(tmp_path / "run.skgpb", sides, regions=True, noise=1)
    for i in range(20):
        run.tell(i % 7 / 8, run.ask()[0]["query"])
    for i, text in enumerate(TEXTS):
        run.tell(i / 8, at={"kind": text, "x": 0.5})
    kinds = [type(entry["params"]["kind"]) for entry in run.history()]
    assert min(kinds.count(list), kinds.count(str)) >= 10
    assert again(run, tmp_path, ending, regions=True, noise=1).history() == run.history()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ending", FORMATS)
def test_regions_of_any_size_and_place_come_back(tmp_path, ending):
    bounds = {"heat": (0.0, 1.0), "n": [1, 2, 5, 9], "kind": ["A", "B"]}
    cells = Cells([{"heat": 0.25, "n": 2}, {"heat": 0.125}])
    optimizer = EIOptimizer(bounds=bounds, queries=cells, alpha=0.01, random_state=0)
    optimizer.start().save(tmp_path / "empty.skgpb")
    for i in range(6):
        optimizer.tell(optimizer.ask(), i % 3 / 2, 0.0625 if i % 2 else None)
    optimizer.save(tmp_path / "run.skgpb")
    run = Experiment(tmp_path / "run.skgpb")
    assert run.status()["regions"]
    run.fail(run.ask()[0]["query"])
    run.annotate(3, note="a", operator="b", date="2026-01-31", measured={"pH": 7.0})
    found = again(run, tmp_path, ending, regions=True, noise=0.1)
    for one, two in zip(run.history(), found.history(), strict=True):
        one["params"] = {  # a cell of a tree lists its values, also where there is one
            name: value if isinstance(value, list) else [value]
            for name, value in one["params"].items()
        }
        assert one == two
    mine = Experiment(tmp_path / "empty.skgpb")
    told = mine.add_table(tmp_path / f"table.{ending}")
    assert [e | {"date": ""} for e in told] == [e | {"date": ""} for e in run.history()]
    assert mine.best()["params"] == run.best()["params"]
    assert_allclose(mine.best()["mean"], run.best()["mean"], rtol=1e-9)
    with pytest.raises(ValueError, match="ranges of an experiment over regions"):
        run.change({"heat": (0, 2)})


def test_regions_are_read_from_any_table(tmp_path):
    table = tmp_path / "fields.csv"
    table.write_text(
        "north;kind;harvest\n0 to 2,5;A, B;3,5\n1.5;B;2\n10 to 20;C;1,25\n5 to 5;B, C;0\n"
    )
    sides = {"north": (0, 20), "kind": ["A", "B", "C"]}
    run = Experiment.create(tmp_path / "run.skgpb", sides, regions=True, data=table, noise=0.1)
    assert [(e["params"]["north"], e["params"]["kind"], e["answer"]) for e in run.history()] == [
        (1.5, "B", 2.0),
        ([0.0, 2.5], ["A", "B"], 3.5),
        ([10.0, 20.0], ["C"], 1.25),
        (5.0, ["B", "C"], 0.0),
    ]
    for cells, says in (
        ("0 to 21;A", "north must be 0 to 20, got 21"),
        ("9 to 3;A", "north must be LOW to HIGH, got '9 to 3'"),
        ("3 to;A", "north must be a number, got '3 to'"),
        ("3;A, D", "kind must be A or B or C, got 'D'"),
        ("3;A, C", "kind must be values that follow each other in its list, A or B or C, got 'A,"),
    ):
        table.write_text(f"north;kind;harvest\n{cells};1,5\n4;B;2\n")
        with pytest.raises(ValueError, match=f"line 2, column '....*{says}"):
            run.add_table(table)


def test_averages_over_regions_are_none_over_settings(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "kind=A,B"], regions=True)
    run.tell(1.0, run.ask()[0]["query"])
    with pytest.raises(ValueError, match=r"'0 to 1': averages over regions .* --regions"):
        again(run, tmp_path, "csv", ["x=0:1", "kind=A,B"])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ending", FORMATS)
def test_several_measurements_of_a_run_come_back(tmp_path, ending):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], answer="yield")
    told = run.tell("14.7 15.3", run.ask()[0]["query"], note="two")
    assert (told["answer"], told["measurements"]) == (15.0, [14.7, 15.3])
    assert_allclose(told["noise"], 0.3)  # the standard error of two, 0.6 apart
    run.tell([-1, 2, -1, 4.5], at={"x": 0.5})
    run.tell(2.5, at={"x": 0.75}, measured={"measurements": "a name that is taken"})
    equal = run.tell("3; 3", at={"x": 0.25})
    assert (equal["answer"], equal["noise"], equal["measurements"]) == (3.0, None, [3.0, 3.0])
    found = again(run, tmp_path, ending, answer="yield").history()
    for one, two in zip(run.history(), found, strict=True):  # a spreadsheet has 16 digits
        for name in ("answer", "noise"):
            assert one[name] == two[name] or abs(one[name] / two.pop(name) - 1) < 1e-15
        assert one | two == one
    corrected = run.correct(1, 14.0)
    assert (corrected["noise"], corrected["measurements"]) == (None, [])
    assert run.correct(1, "14 15")["noise"] == 0.5


def test_several_measurements_stand_in_a_cell_of_any_table(tmp_path):
    for name, text in (
        ("a.csv", "x,y\n0.1,14.7 15.3\n0.2,3 of 4\n0.3,2\n0.4,\n0.5,NA\n0.6,1; 2;6\n"),
        ("b.csv", "x;y\n0,1;14,7 15,3\n0,2;3 of 4\n0,3;2,0\n0,4;\n0,5;NA\n0,6;1,0 2,0 6\n"),
    ):
        (tmp_path / name).write_text(text)
        run = Experiment.create(tmp_path / f"{name}.skgpb", ["x=0:1"], data=tmp_path / name)
        history = {entry["params"]["x"]: entry for entry in run.history()}
        assert [history[x]["answer"] for x in (0.1, 0.2, 0.3, 0.6)] == [15.0, 0.75, 2.0, 3.0]
        assert len(history) == 4 and history[0.3]["noise"] is None
        assert history[0.6]["measurements"] == [1.0, 2.0, 6.0]
        assert_allclose(history[0.1]["noise"], 0.3)
    (tmp_path / "c.csv").write_text("x,y\n0.1,14.7 x y\n")
    with pytest.raises(ValueError, match=r"line 2, column 'y': '14[.]7 x y' is not a number"):
        run.add_table(tmp_path / "c.csv")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("1 234", "may be one number or several measurements, got '1 234': write 1234, or 1; 234"),
        ("14,7 15,3", "a measurement in the answer must be a number, got '14,7': write 14.7"),
        ("14.7 nan", "a measurement in the answer must be a finite number, got nan"),
        ("", "the answer must be a number, got ''"),
        ([], "the answer must be a number, or several, got none"),
        ([1, None], "a measurement in the answer must be a number, got None"),
    ],
)
def test_measurements_that_are_none_are_refused(tmp_path, answer, says):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"])
    with pytest.raises(ValueError, match=re.escape(says)):
        run.tell(answer, at={"x": 0.5})
    with pytest.raises(ValueError, match="the noise of '1; 2' follows from its measurements"):
        run.tell("1; 2", at={"x": 0.5}, noise=0.1)
    assert run.history() == []


def test_settings_are_corrected_and_every_change_keeps_what_was(tmp_path):
    path = tmp_path / "run.skgpb"
    table = tmp_path / "past.csv"
    table.write_text("x,kind,y\n0.1,A,1\n0.2,B,2\n")
    run = Experiment.create(path, ["x=0:1", "kind=A,B"], data=table, noise=0.1)
    asked = [entry["query"] for entry in run.ask(3)]
    params = run.history()[2]["params"]
    run.tell(0.0, asked[0], operator="Ada", note="a")
    run.fail(asked[1])
    run.tell(3.0, asked[2], at={"x": 0.5, "kind": "B"}, operator="Ada")
    run.correct(asked[0], at={"x": 0.75, "kind": "A"}, by="Bob")
    run.correct(asked[0], 4.0, at={"x": 0.875, "kind": "A"}, by="Bob")
    run.correct(asked[1], at={"x": 1, "kind": "B"})
    run.correct(2, at={"x": 0.25, "kind": "B"}, by="Eve")
    run.annotate(asked[0], note="b", measured={"pH": 7.0}, by="Eve")
    run.change(["x=0:2"], "x <= 1.5", by="Eve")
    undone = run.undo(by="Eve")
    assert [(e["query"], e["params"]["x"], e["answer"]) for e in run.history()] == [
        (1, 0.1, 1.0),
        (2, 0.25, 2.0),
        (3, 0.875, 4.0),
        (4, 1.0, None),
    ]
    changes = run.changes()
    assert {change["when"][:10] for change in changes} == {today()}
    assert [(c["query"], c["what"], c["before"], c["after"], c["by"]) for c in changes[1:9]] == [
        (3, "params", params, {"x": 0.75, "kind": "A"}, "Bob"),
        (3, "params", {"x": 0.75, "kind": "A"}, {"x": 0.875, "kind": "A"}, "Bob"),
        (3, "answer", 0.0, 4.0, "Bob"),
        (4, "params", changes[4]["before"], {"x": 1.0, "kind": "B"}, ""),
        (2, "params", {"x": 0.2, "kind": "B"}, {"x": 0.25, "kind": "B"}, "Eve"),
        (3, "note", "a", "b", "Eve"),
        (None, "x", "0 to 1, in steps of 0.001", "0 to 2, in steps of 0.01", "Eve"),
        (5, "params", undone["params"], None, "Eve"),
    ]
    assert changes[0]["query"] == 5 and changes[0]["after"] == undone["params"]
    assert Experiment(path).changes() == changes and Experiment(path).history() == run.history()
    assert run.best()["best_answer"]["query"] == 3
    # Nothing is left of a correction that is refused.
    for arguments, says in (
        ({}, "nothing is corrected"),
        ({"at": {"x": 3, "kind": "A"}}, "x must be 0 to 2, got 3"),
        ({"at": {"x": 1}}, "no value for 'kind'"),
        ({"at": {"x": 1, "kind": "A"}, "noise": 0.5}, "noise is of an answer that is given"),
        ({"answer": 2, "by": 3}, "by must be a name"),
    ):
        with pytest.raises(ValueError, match=says):
            run.correct(3, **arguments)
    with pytest.raises(ValueError, match="past data, which have no noise of their own"):
        run.correct(1, "1 2")
    assert run.changes() == changes and Experiment(path).history() == run.history()


def test_a_setting_that_was_corrected_is_as_if_it_had_been_told(tmp_path):
    runs = []
    for name, right in (("a", True), ("b", False)):
        run = Experiment.create(tmp_path / name, ["x=0:1", "y=0:1"], noise=0.1)
        for i in range(8):
            (entry,) = run.ask()
            at = {"x": i / 8, "y": 0.5} if right and i % 3 == 0 else None
            run.tell(i % 4, entry["query"], at=at)
        runs.append(run)
    for i in (6, 0, 3):
        runs[1].correct(i + 1, at={"x": i / 8, "y": 0.5})
    one, two = ([e["params"] for e in run.history()] for run in runs)
    assert one[::3] == two[::3]
    for entry, params in zip(runs[1].history(), one, strict=True):
        if entry["params"] != params:  # it was asked otherwise
            runs[1].correct(entry["query"], at=params)
    assert [e | {"date": ""} for e in runs[0].history()] == [
        e | {"date": ""} for e in runs[1].history()
    ]
    assert_allclose(runs[0].best()["mean"], runs[1].best()["mean"], atol=0.2)


def test_a_skipped_query_is_no_failure(tmp_path):
    run = Experiment.create(tmp_path / "run", ["heat=20:90", "kind=A,B"])
    for answer in (1.0, 3.0, 2.0):
        run.tell(answer, run.ask()[0]["query"])
    skipped = run.skip(run.ask()[0]["query"])
    assert skipped["status"] == "skipped"
    assert len(run.optimizer.failed_) == 0
    assert Experiment(run.path).history()[-1]["status"] == "skipped"
    assert run.ask()[0]["params"] != skipped["params"]
    assert run.undo()["status"] == "skipped"
    assert run.pending()[0]["params"] == skipped["params"]


@pytest.mark.parametrize("n", range(4))
def test_columns_of_a_notebook_have_names_of_their_own(n):
    class Taken(set):
        n_asked = 0

        def __contains__(self, name):
            self.n_asked += 1
            assert self.n_asked < 100  # it ends
            return super().__contains__(name)

    taken = Taken(f"{'notebook ' * i}note" for i in range(n))
    names = notebook_columns(taken)
    assert names["note"] == f"{'notebook ' * n}note" and names["number"] == "number"
    assert not set(names.values()) & set(taken) and len(set(names.values())) == len(names)
    assert notebook_columns({"notebook note"})["note"] == "notebook notebook note"


# -- answers as they are typed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "unit", "value", "alpha", "measurements"),
    [
        *((given, "", 2.5, None, ()) for given in (2.5, "2.5", " +2.5 ", np.float32(2.5), [2.5])),
        *((given, "mg/L", 2.5, None, ()) for given in ("2.5 mg/L", "2.5mg/l", "2.5")),
        *((given, "°C", 2.5, None, ()) for given in ("2.5 C", "2.5 °C", "2.5 c")),
        *((given, "%", 2.5, None, ()) for given in ("2.5 %", "2.5%")),
        *(("00:01:30", unit, 90.0, None, ()) for unit in ("s", "Sec", "seconds ")),
        *(
            (given, "", 15.0, 0.09, (14.7, 15.3))
            for given in ("14.7 15.3", "14.7; 15.3", "14.7, 15.3", " 14.7  15.3; ", [14.7, "15.3"])
        ),
        (np.array([1.0, 2.0, 6.0]), "", 3.0, 7.0 / 3.0, (1.0, 2.0, 6.0)),
        *(("12 of 300", unit, 0.04, (13 / 302) * (289 / 302) / 300, ()) for unit in ("", "mg")),
        *(
            ("12 of 300", unit, 4.0, 1e4 * (13 / 302) * (289 / 302) / 300, ())
            for unit in ("%", "Percent", "per cent")
        ),
    ],
)
def test_an_answer_is_read_with_its_noise(given, unit, value, alpha, measurements):
    found = read_answer(given, None, unit=unit)
    assert found.value == pytest.approx(value) and type(found.value) is float
    assert found.alpha == (None if alpha is None else pytest.approx(alpha))
    assert (found.measurements, found.note) == (measurements, "")
    if isinstance(given, str):
        assert read_cell(given, unit) == found
    if alpha is None:
        assert read_answer(given, "0.5", unit=unit).alpha == 0.25
        with pytest.raises(ValueError, match="noise must be a standard deviation >= 0, got -1"):
            read_answer(given, -1, unit=unit)
    else:
        with pytest.raises(ValueError, match=r"follows from its .*, got 0\.5 as well"):
            read_answer(given, 0.5, unit=unit)


def test_an_answer_is_a_number_or_a_row_of_them():
    for wrong in (None, [], np.zeros((2, 2)), {"a": 1}, "1 234", "-1 234 567.5"):
        with pytest.raises(ValueError, match=r"the answer (must|may) be"):
            read_answer(wrong, None)
    for given, unit in (
        ("2.5 g", "mg/L"),
        ("2 C", "K"),
        ("0:01:30", "min"),
        ("2 %", "g"),
        ("2 g", "%"),
    ):
        with pytest.raises(ValueError, match="the answer must be a number, got"):
            read_answer(given, None, unit=unit)
    assert read_cell("14,7 15,3").measurements == (14.7, 15.3)
    assert read_cell("2,5 mg/L", "mg/L").value == 2.5
    assert read_answer("1 2345", None).measurements == (1.0, 2345.0)
    limit = read_answer("<0.5 %", 0.1, unit="%")
    assert limit[:3] == (0.5, pytest.approx(0.01), ()) and "<0.5" in limit.note
    assert format_measurements((14.7, 15.0)) == "14.7; 15.0"


@pytest.mark.parametrize(
    ("text", "ends", "open_ends"),
    [
        *(("0:100", (0.0, 100.0), (0.0, 100.0)), ("0:", (0.0, None), (0.0, np.inf))),
        *((":1000", (None, 1000.0), (-np.inf, 1000.0)), ("", (None, None), (-np.inf, np.inf))),
        ("-1.5:0.25", (-1.5, 0.25), (-1.5, 0.25)),
    ],
)
def test_a_range_is_written_as_it_is_read(text, ends, open_ends):
    assert read_range(text) == read_range(ends) == ends and format_range(ends) == text
    assert range_ends(text) == open_ends
    for wrong in ("5:5", "5:1", (1, 1)):
        with pytest.raises(ValueError, match="its low end is above its high"):
            read_range(wrong)


# -- what is said and refused ----------------------------------------------------------------------


@pytest.fixture
def run(tmp_path):
    return Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], answer="yield")


def test_a_warning_names_the_first_queries_without_a_limited_measurement(tmp_path):
    for n, named in ((1, "query 1"), (2, "queries 1, 2"), (5, "queries 1, 2, 3, 4, 5")):
        for more in (0, 1):
            rows = [f"{i / 9},{i},{'' if i < n + more else 3}" for i in range(n + more + 1)]
            (tmp_path / "t.csv").write_text("\n".join(["x,y,pH", *rows]))
            said = named if not more else {1: "queries 1, 2", 2: "queries 1, 2, 3"}.get(n)
            with pytest.warns(LimitWarning) as caught:
                (tmp_path / "run").unlink(missing_ok=True)
                given = {"answer": "y", "limits": "pH < 8", "data": tmp_path / "t.csv"}
                run = Experiment.create(tmp_path / "run", ["x=0:1"], **given)
            text = str(caught[0].message)
            assert text.startswith(f"pH has a limit and was not measured for {said or named}")
            assert (", ..." in text) == (n + more > 5) and (", but" in text) is False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.tell(3.0, at={"x": 0.5})  # others were warned of
        run.tell(3.0, at={"x": 0.6}, measured={"pH": 3.0})


# Calls, and what is said of them, of an experiment without a pending query.
REFUSED = [
    (lambda run: run.tell(1.0), "no query is pending: ask for one, or say where"),
    (lambda run: run.tell(1.0, 1), "query 1 has the answer 2.5 already: correct it"),
    (lambda run: run.tell(1.0, 2), "query 2 failed already: correct it"),
    (lambda run: run.skip(3), "query 3 was skipped already: correct it"),
    (lambda run: run.annotate(4, note="a"), "no query 4; queries have the numbers 1 to 3"),
    (lambda run: run.ask(True), "must be a whole number >= 1, got True"),
    (lambda run: run.ask(2.0), "must be a whole number >= 1, got 2.0"),
    (lambda run: run.correct(1), "nothing is corrected: give the right answer"),
    (lambda run: run.correct(1, None, noise=0.5), "noise is of an answer that is given as"),
    (lambda run: run.expect({"x": 0.5, "z": 1}), "no side 'z': a setting has a value for each"),
    (lambda run: run.change(dropped=["z"]), "there is no side 'z'; the sides are x. A new"),
    (lambda run: run.change(["z=0:1"]), "there is no side 'z'; the sides are x. A new side"),
    (lambda run: run.change(earlier={"x": 1}), "there is no side 'x'; the sides are x. A new"),
    (lambda run: run.change(["x=0:1", "x=0:2"]), "two sides are named 'x'"),
    (lambda run: run.change({"x": ["A", " A"]}), "two values of x are written 'A'"),
    (lambda run: run.change(block="x"), "'x' is a setting, the answer or has a limit"),
    (lambda run: run.change(block="yield"), "'yield' is a setting, the answer or has a limit"),
    (lambda run: run.change(limits="pH < 8", block="pH"), "'pH' is a setting, the answer or"),
    (lambda run: run.change(limits="yield < 8"), "'yield' is a setting or the answer"),
    (lambda run: run.annotate(1, measured=[1]), r"measured must be a dict .*, got \[1\]"),
    (lambda run: run.annotate(1, measured={" ": 1}), "measured must have names that are texts"),
    (lambda run: run.annotate(1, measured={3: 1}), "measured must have names .*, got 3"),
    (lambda run: run.annotate(1, date="31.1.2026"), "date must be like 2026-01-31"),
    (lambda run: run.annotate(1, date=5), "date must be like 2026-01-31, got 5"),
    (lambda run: run.best({"x": 0.5}), "side is for experiments over regions, got side="),
    (lambda run: write_table(run, "a.txt"), r"the file must end in .csv or .xlsx, got 'a.txt'"),
    (
        lambda run: write_table(run, "a.xlsx", decimal_comma=True),
        "decimal commas are for .csv, got 'a.xlsx'",
    ),
]


def test_what_cannot_be_is_said_and_changes_nothing(run):
    run.ask(3)
    run.tell(2.5, 1)
    run.fail(2)
    run.skip(3)
    before = run.path.read_bytes()
    for call, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            call(run)
        assert run.path.read_bytes() == before and len(run.history()) == 3, message
    assert [each["query"] for each in run.ask(2)] == [4, 5]
    with pytest.raises(ValueError, match=r"2 queries are pending, 4, 5: say which .* --query 4 on"):
        run.tell(1.0)


def test_what_is_created_has_a_direction_and_names_of_its_own(tmp_path):
    for given, message in (
        ({"direction": "up"}, "direction must be 'maximize' or 'minimize', got 'up'"),
        ({"answer": "x", "limits": "x < 3"}, "'x' is a setting or the answer"),
        ({"skip_outside": True}, "got skip_outside=True, data=None"),
        ({"noise": -1}, "noise must be a standard deviation >= 0"),
    ):
        with pytest.raises(ValueError, match=message):
            Experiment.create(tmp_path / "a", ["x=0:1"], **given)
    with pytest.raises(ValueError, match="two sides are named 'x'"):
        Experiment.create(tmp_path / "a", ["x=0:1", "y=0:1", "x=A,B"])
    regions = Experiment.create(tmp_path / "regions", ["x=0:1"], regions=True)
    with pytest.raises(ValueError, match="no query 1; queries have the numbers none so far"):
        regions.annotate(1, note="a")
    for change in ({"score": "2*pH"}, {"sides": ["x=0:2"]}):
        with pytest.raises(ValueError, match="an experiment over regions cannot be changed"):
            regions.change(**change)
    regions.change(answer_range="0:10")
    assert regions.status()["answer_range"] == "0:10"
    regions.tell(1.0, regions.ask()[0]["query"])
    with pytest.raises(ValueError, match="repeat needs an experiment over single settings"):
        regions.repeat(1)
    assert regions.surprise(1e9, at={"x": 0.5}) is None and len(regions.history()) == 1


def test_a_score_that_is_removed_leaves_the_answers_it_was_computed_from(tmp_path, monkeypatch):
    monkeypatch.setattr(suboptimality_gap, "MOST_RIVALS", 10)  # a bound instead of draws
    run = Experiment.create(tmp_path / "run", ["x=0:1"], unit="mm", answer="yield")
    for i in range(4):
        run.tell(float(i), at={"x": i / 4}, measured={"pH": 2.0 * i})
    run.change(score="yield - pH")
    assert [e["answer"] for e in run.history()] == [0.0, -1.0, -2.0, -3.0]
    assert [e["measured"] for e in run.history()] == [
        {"yield": float(i), "pH": 2.0 * i} for i in range(4)
    ]
    assert " mm" not in run.may_stop(0.5)["why"]  # the unit is that of the yield
    run.tell(at={"x": 0.9}, measured={"yield": 1.0, "pH": 0.5})
    run.change(score="pH")
    run.annotate(5, measured={"yield": ""})
    with pytest.raises(ValueError, match="query 5 has no measurement 'yield' to take as its ans"):
        run.change(score="")
    run.annotate(5, measured={"yield": 7.0})
    run.change(score="")
    assert [e["answer"] for e in run.history()] == [0.0, 1.0, 2.0, 3.0, 7.0]
    assert run.status()["score"] == "" and run.status()["unit"] == "mm"


def test_names_of_measurements_differ_in_more_than_capitals(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:1"], score="yield", limits=["pH < 8"])
    run.tell(at={"x": 0.5}, measured={"yield": 3.0, "pH ": 7.0, "Hue": "red"})
    assert run.history()[0]["measured"] == {"yield": 3.0, "pH": 7.0, "Hue": "red"}
    assert run.status()["not_used"] == ["Hue"] and run.counted == ["pH", "yield"]
    with pytest.raises(ValueError, match="measured has no effect under the name 'YIELD': write"):
        run.annotate(1, measured={"YIELD": 3.0})
    run.annotate(1, measured={"YIELD": ""})  # nothing is written
    assert run.history()[0]["measured"] == {"yield": 3.0, "pH": 7.0, "Hue": "red"}


def test_records_of_a_pending_query_and_of_its_answer_are_one(run):
    run.ask(2)
    run.annotate(1, note="first", operator="Ann", date="2026-01-30", measured={"pH": 7, "T": 1})
    told = run.tell(1.0, 1, note="second", date="2026-01-31", measured={"pH": 8, "hue": "red"})
    assert (told["note"], told["operator"]) == ("first; second", "Ann")
    assert told["date"] == "2026-01-31"
    assert told["measured"] == {"pH": 8.0, "T": 1.0, "hue": "red"}
    assert run.changes() == []
    told = run.tell(2.0, 2, operator="Bob")
    assert (told["note"], told["operator"], told["date"]) == ("", "Bob", today())
    run.annotate(2, note="<b>", by="Cid")
    assert run.changes() == []  # an empty field was filled
    run.annotate(2, operator="Dan", measured={"ok": True, "n": np.bool_(False)}, by="Cid")
    assert run.history()[1]["measured"] == {"ok": "yes", "n": "no"}
    (change,) = run.changes()
    assert (change["query"], change["before"], change["after"]) == (2, "Bob", "Dan")
    assert Experiment(run.path).changes() == run.changes()


def test_sides_that_were_wider_are_known(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:4", "kind=A,B"], noise=0.1)
    run.tell(1.0, at={"x": 3.0, "kind": "B"})
    assert run.earlier_sides == {}
    run.change(["x=0:2", "kind=A"])
    known = run.earlier_sides
    assert known["x"].ends[1] >= 3.0 and "B" in known["kind"].bounds
    assert run.history()[0]["params"] == {"x": 3.0, "kind": "B"}
    run.change(["n=1:9:int"], earlier={"n": "4"})
    assert "n" not in run.earlier_sides and run.history()[0]["params"]["n"] == 4


def test_numbers_are_exported_without_a_second_reading(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=-1:2000:any", "n=1:9:int"], answer="y", unit="mm")
    numbers = [1.125, -0.5, 1e-07, 1.125e-05, 1234.5, 12.0, 1500.25]
    for x in numbers:
        run.tell(x / 2, at={"x": x, "n": 3}, noise=0.125, measured={"x": x, "hue": "7,125"})
    for comma, written in (
        (False, ["1.125", "-0.5", "1e-07", "1.125e-05", "1234.5", "12.0", "1500.25"]),
        (True, ["1,1250", "-0,5", "1e-07", "1,1250e-05", "1234,5", "12,0", "1500,25"]),
    ):
        text = as_csv(run, decimal_comma=comma).decode("utf-8-sig")
        assert text.endswith("\r\n") and text.count("\r\n") == 8
        header, *rows = csv.reader(io.StringIO(text), delimiter=";" if comma else ",")
        names = ["number", "x", "n", "y (mm)", "standard error", "status", "measured x", "hue"]
        assert header == [*names, "note", "operator", "date"]
        assert [row[1] for row in rows] == written
        assert [row[0] for row in rows] == [str(i) for i in range(1, 8)]
        noise = "0,1250" if comma else "0.125"
        assert {tuple(row[i] for i in (2, 4, 5, 7)) for row in rows} == {
            ("3", noise, "answered", "'7,125")
        }
        assert {row[-1] for row in rows} == {today()}


@pytest.mark.parametrize(
    ("text", "value", "day"),
    [
        *(("7.5", 7.5, None), ("1e3", 1000.0, None), ("1_0", "1_0", None), ("nan", "nan", None)),
        *(("inf", "inf", None), ("", "", None), ("red", "red", None), ("7,5", "7,5", None)),
        *(("2026-01-31", "2026-01-31", "2026-01-31"), ("31.12.2025", "31.12.2025", "2025-12-31")),
    ],
)
def test_what_is_written_down_is_a_number_a_date_or_a_text(text, value, day):
    found = number_or_text(text)
    assert found == value and type(found) is type(value)
    assert normalize_date(text) == day


def test_files_keep_what_a_record_has_and_drop_empty_fields():
    record = LabRecord("a", "Ann", "2026-01-31", {"pH": 7.0, "hue": "red"}, [1.0, 2.0], True)
    kept = record.nonempty_fields()
    assert LabRecord.of(kept) == record and record.as_dict() | {"skipped": True} == kept
    assert LabRecord().nonempty_fields() == {} and LabRecord.of({}) == LabRecord()
    record.add_note("a")
    record.add_note("")
    assert record.note == "a"
    record.add_note("b" * LONGEST)
    assert record.note == f"a; {'b' * (LONGEST - 3)}"
    before = LabRecord("a", "Ann", "2026-01-31", {"pH": 7.0})
    with pytest.raises(ValueError, match="operator must be a text of at most"):
        before.write("new", "b" * (LONGEST + 1), "2026-02-01", {"pH": 8.0})
    assert before == LabRecord("a", "Ann", "2026-01-31", {"pH": 7.0})
    before.write("", "", "", {"pH": ""})
    assert before == LabRecord()


def test_a_correction_keeps_the_noise_that_was_told(run):
    run.tell(1.0, at={"x": 0.5}, noise=0.25, note="a")
    run.tell("1 2", at={"x": 0.25})
    run.fail(at={"x": 0.75})
    run.tell("12 of 300", at={"x": 1})
    for number, told, noise, expected in (
        *((1, 3.0, None, 0.25), (1, 3.0, 0.5, 0.5), (1, "2 4", None, 1.0), (1, 3.0, None, None)),
        *((2, "3 5", None, 1.0), (2, 3.0, 0.125, 0.125), (3, 2.0, None, None), (3, 2.0, 1.0, 1.0)),
        *((4, 0.5, 0.25, 0.25), (4, None, None, None), (4, 0.5, None, None)),
    ):
        entry = run.correct(number, told, noise=noise)
        assert entry["noise"] == (None if expected is None else pytest.approx(expected))
        assert entry["status"] == ("failed" if told is None else "answered")
        assert run.history()[number - 1] == entry == Experiment(run.path).history()[number - 1]
    assert run.correct(1, at={"x": 0.125})["noise"] is None and run.history()[0]["note"] == "a"
    assert run.correct(2, at={"x": 0.125})["noise"] == 0.125
    skipped = run.skip(run.ask()[0]["query"], note="late")
    assert run.correct(skipped["query"], None)["status"] == "failed"
    assert run.status()["n_skipped"] == 0 and run.history()[4]["note"] == "late"


@pytest.mark.parametrize("numbers", ["4;7;5", "4;4;5", "4;;5"])
def test_numbers_of_a_table_are_kept_if_all_are_different(tmp_path, numbers):
    rows = zip("ABC", numbers.split(";"), ["answered", "skipped", "pending"], strict=True)
    lines = [f"{n},{kind},{'1' * (kind == 'A')},{status}" for kind, n, status in rows]
    (tmp_path / "t.csv").write_text("\n".join(["number,kind,y,status", *lines]))
    given = {"answer": "y", "data": tmp_path / "t.csv"}
    run = Experiment.create(tmp_path / "run", {"kind": ["A", "B", "C", "D"]}, **given)
    found = {e["params"]["kind"]: (e["query"], e["status"], e["date"]) for e in run.history()}
    right = [4, 7, 5] if numbers == "4;7;5" else [1, 2, 3]
    assert [found[kind][:2] for kind in "ABC"] == [
        *((right[0], "answered"), (right[1], "skipped"), (right[2], "pending")),
    ]
    assert {each[2] for each in found.values()} == {""}
    assert run.ask(1, another=True)[0]["query"] == max(right) + 1
    assert len(run.optimizer.failed_) == 0
    other = Experiment.create(tmp_path / "other", {"kind": ["A", "B", "C", "D"]}, answer="y")
    other.ask()
    told = other.add_table(tmp_path / "t.csv")
    assert [e["status"] for e in told] == ["answered", "skipped"]
    assert {e["date"] for e in told} == {today()} and len(other.optimizer.failed_) == 0
    (tmp_path / "t.csv").write_text("\n".join(["number,kind,y,status", lines[1]]))
    only = Experiment.create(tmp_path / "only", {"kind": ["A", "B", "C", "D"]}, **given)
    other.add_table(tmp_path / "t.csv")
    for each in (only, other):
        assert each.history()[-1]["status"] == "skipped" and len(each.optimizer.failed_) == 0
    (tmp_path / "t.csv").write_text("\n".join(["number,kind,y,status", lines[2]]))
    with pytest.raises(ValueError, match="the table has no row with an answer"):
        other.add_table(tmp_path / "t.csv")


def test_a_new_setting_has_another_name_than_what_is_measured(tmp_path):
    """A goal, what a limit needs and the block are no settings, at the start and later."""
    given = {"answer": "y", "limits": ["2*p < 5", "q < 3"], "block": "batch"}
    run = Experiment.create(tmp_path / "run", ["a=0:1"], **given)
    run.tell(1.0, at={"a": 0.1}, measured={"p": 1, "q": 1, "batch": "I"})
    before = run.status()
    for name in ("p", "q", "batch"):
        with pytest.raises(ValueError, match=f"'{name}' is a setting"):
            run.change([f"{name}=0:9"], earlier={name: 3})
        with pytest.raises(ValueError, match=f"'{name}' is a setting"):
            Experiment.create(tmp_path / "other", ["a=0:1", f"{name}=0:9"], **given)
    assert run.status() == before
    goals = Experiment.create(tmp_path / "goals", ["a=0:1"], goals=["large u", "small v"])
    with pytest.raises(ValueError, match="'v' is a setting"):
        goals.change(["v=0:9"], earlier={"v": 3})
    # A setting that is left out may have a limit in the same change.
    run.change(["b=0:9"], earlier={"b": 3})
    run.change(dropped=["b"], limits=["b < 4"])
    assert run.best()["outcomes"][0]["n_answers"] == 1

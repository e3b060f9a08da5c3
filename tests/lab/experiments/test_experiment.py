"""Experiments in files: ask, tell, correct, undo, also by several programs at once."""

import json
import multiprocessing
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from runs import with_document
from scipy.stats import norm

from skgpb import EIOptimizer, GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import LoadError
from skgpb.lab import file_lock
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.export import as_csv, as_excel, write_table
from skgpb.lab.experiments.sides import Side, format_value
from skgpb.surrogate import suboptimality_gap
from skgpb.utils.persistence import read_notes

SIDES = ["temperature=20:90", "salt=1e-4:0.1:log", "catalyst=A,B", "n=1:10:int"]


def yield_at(params):
    """Smallest at 50 degrees, 0.01 of salt, catalyst B."""
    salt = (np.log10(params["salt"]) + 2) ** 2
    return (params["temperature"] - 50) ** 2 / 500 + salt + (params["catalyst"] == "A")


@pytest.fixture
def run(tmp_path):
    return Experiment.create(tmp_path / "run.skgpb", SIDES, direction="minimize")


def play(experiment, n):
    for _ in range(n):
        query = experiment.ask()[0]
        experiment.tell(yield_at(query["params"]), query["query"])


def test_answers_come_in_any_order_and_several_queries_are_pending(run):
    asked = run.ask(3)
    assert [each["query"] for each in asked] == [1, 2, 3] == [q["query"] for q in run.pending()]
    assert run.ask(2) == asked[:2]
    assert [each["query"] for each in run.ask(2, another=True)] == [4, 5]
    run.tell(0.5, 3)
    run.fail(1)
    run.tell("0.25", 5)
    assert {e["query"]: (e["status"], e["answer"]) for e in run.history()} == {
        1: ("failed", None),
        2: ("pending", None),
        3: ("answered", 0.5),
        4: ("pending", None),
        5: ("answered", 0.25),
    }
    assert run.ask()[0]["query"] == 6


def test_the_file_is_one_that_the_library_loads_and_numbers_survive_in_it(run):
    play(run, 5)
    run.ask(2)
    optimizer = GPUCBOptimizer.load(run.path)
    assert len(optimizer.history_) == 5
    assert optimizer.recommend() == run.optimizer.recommend()
    assert optimizer.ask(2) == run.optimizer.ask(2)
    assert Experiment(run.path).history() == run.history()
    again, status = Experiment(run.path).status(), run.status()
    best, expected = again.pop("best"), status.pop("best")
    # The posterior of a file is factorised at once, which rounds otherwise.
    assert best.pop("interval_95") == pytest.approx(expected.pop("interval_95"), rel=1e-9)
    for name in ("mean", "std"):
        assert best.pop(name) == pytest.approx(expected.pop(name), rel=1e-9)
    assert (again, best) == (status, expected)


def test_runs_saved_in_python_are_experiments(tmp_path):
    path = tmp_path / "python.skgpb"
    optimizer = EIOptimizer(bounds={"x": (0.0, 1.0), "kind": ["a", 3]}, random_state=1)
    for answer in (1.0, 2.0, 3.0):
        optimizer.tell(optimizer.ask(), answer)
    optimizer.save(path)
    experiment = Experiment(path)
    assert [entry["answer"] for entry in experiment.history()] == [1.0, 2.0, 3.0]
    experiment.tell(4.0, experiment.ask()[0]["query"])
    assert len(EIOptimizer.load(path).history_) == 4


@pytest.mark.parametrize("named", [True, False])
def test_runs_that_began_otherwise_keep_their_parameters(run, tmp_path, named):
    assert run.optimizer.get_params()["regret"] == "simple"
    path = tmp_path / "begun.skgpb"
    earlier = GPUCBOptimizer(bounds={"x": (0.0, 1.0)}, n_initial=3, random_state=0)
    for _ in range(5):
        query = earlier.ask()
        earlier.tell(query, float(query.points.sum()))
    earlier.save(path)
    if not named:  # a file from before there was this parameter
        with_document(path, lambda document: document["parameters"].pop("regret"))
    experiment = Experiment(path)
    assert experiment.ask()[0]["params"] == earlier.ask().params
    experiment.correct(2, 0.5)
    experiment.change({"x": (0.0, 2.0)})
    assert Experiment(path).optimizer.get_params()["regret"] == "cumulative"


def test_a_correction_is_the_run_in_which_the_right_answer_was_told(run):
    play(run, 6)
    told = run.history()
    pending = run.ask(2)
    run.correct(3, 5.0)
    assert run.history()[2]["answer"] == 5.0
    assert [entry["params"] for entry in run.pending()] == [entry["params"] for entry in pending]
    other = GPUCBOptimizer(**run.optimizer.get_params())
    for entry in told:
        other.tell(entry["params"], 5.0 if entry["query"] == 3 else entry["answer"])
    # Settings that are told by their values are points but for the rounding of logarithms.
    assert_allclose(other.recommend().points, run.optimizer.recommend().points, rtol=1e-9)
    assert_allclose(
        other.predict_query([other.recommend()]), [run.best()["mean"]], rtol=1e-9, atol=1e-12
    )


def test_a_failure_is_corrected_to_an_answer_and_an_answer_to_a_failure(run):
    run.ask(2)
    run.tell(1.0, 1)
    run.fail(2)
    assert run.correct(2, 0.5)["status"] == "answered"
    assert run.correct(1, None)["status"] == "failed"
    assert [entry["answer"] for entry in run.history()] == [None, 0.5]
    assert len(run.optimizer.history_) == 1 and len(run.optimizer.failed_) == 1


def test_undo_takes_back_what_was_told_last_and_keeps_numbers(run):
    run.ask(2)
    run.tell(1.0, 2)
    own = run.tell(2.0, at={"temperature": 30, "salt": 0.01, "catalyst": "A", "n": "4"})
    assert own["query"] == 3
    run.ask()
    assert run.undo()["query"] == 3
    assert [entry["query"] for entry in run.history()] == [1, 2, 4]
    assert run.undo()["query"] == 2
    assert [entry["status"] for entry in run.history()] == ["pending"] * 3
    with pytest.raises(ValueError, match="nothing was told"):
        run.undo()
    # The number of what is gone is not given to anything else.
    assert [each["query"] for each in run.ask(1, another=True)] == [5]
    assert Experiment(run.path).history() == run.history()


def test_what_was_set_in_truth_replaces_what_was_asked(run):
    run.ask(3)
    rounded = {"temperature": 42.5, "salt": 1e-3, "catalyst": "B", "n": 4}
    entry = run.tell(0.5, 2, at=rounded)
    assert (entry["query"], entry["status"]) == (2, "answered")
    assert {name: entry["params"][name] for name in ("temperature", "n")} == {
        "temperature": 42.5,
        "n": 4,
    }
    assert [each["query"] for each in run.pending()] == [1, 3]
    assert len(run.optimizer.history_) == 1
    assert Experiment(run.path).history() == run.history()
    run.tell(0.25, 1)
    assert run.correct(2, 0.75)["answer"] == 0.75
    assert [entry["answer"] for entry in run.history()] == [0.25, 0.75, None]


def test_undo_and_the_same_answer_again_is_the_run_without_either(run):
    play(run, 5)
    best, answer = run.best(), run.history()[-1]["answer"]
    run.undo()
    run.tell(answer, 5)
    assert run.best() == best


def test_regions_of_whole_numbers_and_choices_read_as_what_they_hold(tmp_path):
    sides = ["x=0:1", "n=1:6:int", "kind=a,b,c"]
    run = Experiment.create(tmp_path / "r.skgpb", sides, regions=True, noise=0.1)
    (query,) = run.ask()
    assert query["params"] == {"x": [0.0, 1.0], "n": [1, 2, 3, 4, 5, 6], "kind": ["a", "b", "c"]}
    assert [format_value(value) for value in query["params"].values()] == [
        "0 to 1",
        "1 to 6",
        "a, b, c",
    ]
    run.tell(1.0)
    for answer in (2.0, 0.5, 3.0):
        (query,) = run.ask()
        run.tell(answer, query["query"])
    best = run.best()["params"]
    assert set(best["kind"]) <= {"a", "b", "c"} and set(best["n"]) <= set(range(1, 7))
    assert (
        as_csv(run).decode("utf-8-sig").splitlines()[1].startswith('1,0 to 1,1 to 6,"a, b, c",1.0')
    )
    assert Experiment(run.path).history() == run.history()


def test_regions_lose_no_number_when_an_answer_is_corrected(tmp_path):
    run = Experiment.create(tmp_path / "r.skgpb", ["x=0:1", "y=0:1"], regions=True, noise=0.01)
    for _ in range(8):
        query = run.ask()[0]
        (low, high), _ = query["params"]["x"], query["params"]["y"]
        run.tell(-abs((low + high) / 2 - 0.7), query["query"])
    run.ask(3)
    before = run.history()
    run.correct(2, 5.0)
    after = run.history()
    assert [e["query"] for e in after] == [e["query"] for e in before]
    assert [e["status"] for e in after] == [e["status"] for e in before]
    assert [e["params"] for e in run.pending()] == [e["params"] for e in before[8:]]
    assert Experiment(run.path).history() == after
    for entry in run.pending():
        assert run.tell(0.1, entry["query"])["query"] == entry["query"]
    assert len(GPOOOptimizer.load(run.path).history_) == 11


def test_past_data_start_a_run_and_can_be_corrected(tmp_path):
    table = tmp_path / "past.csv"
    table.write_text(
        "n;catalyst;salt;temperature;loss\n3;A;0.01;50;1.5\n\n7;B;1e-3;20;\n4;B;.1;90;0\n"
    )
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, data=table, direction="minimize")
    assert [(e["query"], e["status"], e["answer"]) for e in run.history()] == [
        (1, "given", 1.5),
        (2, "given", 0.0),
    ]
    params = run.history()[0]["params"]
    assert (params["temperature"], params["catalyst"], params["n"]) == (50.0, "A", 3)
    assert_allclose(params["salt"], 0.01, rtol=1e-9)
    assert run.ask()[0]["query"] == 3
    run.correct(1, -2.5)
    assert run.best()["best_answer"]["query"] == 1
    assert [e["answer"] for e in Experiment(run.path).history()] == [-2.5, 0.0, None]
    assert [e["query"] for e in run.add_table(table)] == [4, 5]
    with pytest.raises(ValueError, match="past data"):
        run.correct(1, None)


def test_tables_are_read_as_people_have_them(tmp_path):
    table = tmp_path / "vorher.csv"
    table.write_bytes("Temperatur;Größe;Sorte;Ausbeute\n20,5;2;1;3,5\n40;5;B;1\n".encode("latin-1"))
    sides = ["Temperatur=20:90", "Größe=1,2,5", "Sorte=1,B"]
    run = Experiment.create(tmp_path / "run.skgpb", sides, data=table)
    assert [list(entry["params"].values()) for entry in run.history()] == [
        [20.5, 2, 1],
        [40.0, 5, "B"],
    ]
    assert [entry["answer"] for entry in run.history()] == [3.5, 1.0]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_units_in_a_header_separate_nothing(tmp_path, separator):
    lines = ["heat [°C];salt / mol;yield (%)", "20,5;0,1;55,5", "30;0,25;60"]
    table = tmp_path / "past.csv"
    table.write_text("\r\n".join(lines).replace(";", separator), "utf-8-sig")
    run = Experiment.create(tmp_path / "run", ["heat=20:90", "salt=0:1"], data=table)
    assert [(*e["params"].values(), e["answer"]) for e in run.history()] == [
        (20.5, 0.1, 55.5),
        (30.0, 0.25, 60.0),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("x,y\n0.5,1\n", "has no column 'kind'"),
        ("x,kind\n0.5,A\n", "must have one column besides 'x', 'kind'.*it has none"),
        ("x,kind,y,z\n0.5,A,1,2\n", "it has 'y', 'z'"),
        ("x,kind,y\n", "has a header but no rows"),
        ("x,kind,y\n0.5,A,\n", "no row with an answer in the column 'y'"),
        ("x,kind,y\n0.5,A,1\n2,B,1\n", "line 3, column 'x': x must be 0 to 1, got 2"),
        ("x,kind,y\n0.5,C,1\n", "line 2, column 'kind': kind must be A or B, got 'C'"),
        ("x,kind,y\n0.5,,1\n", "line 2, column 'kind': the value is missing"),
        ("x,kind,y\n0.5,A,good\n", "line 2, column 'y': 'good' is not a number"),
        ("x,kind,y\n0.5,A\n", "has 2 cells, the header has 3"),
        (
            "x,kind,y\n2,A,1\n1,A,1\n0,C,5\n",
            r"2 of 3 rows .*: line 2, column 'x': .* got 2.*; line 4, column "
            r"'kind': .* got 'C' \(--skip-outside, or skip_outside=True, leaves such rows out\)",
        ),
        ("x,kind,y\n" + "2,A,1\n" * 13, "13 of 13 rows .*line 11, .*; and 3 more"),
    ],
)
def test_tables_that_cannot_be_are_refused_and_leave_no_file(tmp_path, text, message):
    (tmp_path / "past.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        Experiment.create(tmp_path / "run", ["x=0:1", "kind=A,B"], data=tmp_path / "past.csv")
    assert [each.name for each in tmp_path.iterdir()] == ["past.csv"]


def test_rows_outside_are_named_and_the_others_taken_on_request(tmp_path):
    table = tmp_path / "past.csv"
    table.write_text("x,kind,y\n0.5,A,1\n2,B,2\n,B,3\n0.25,B,4\n1,C,\n")
    sides = ["x=0:1", "kind=A,B"]
    says = r"2 of 4 rows of .*past.csv are left out: line 3, .*got 2.*; line 4, .* value is missing"
    with pytest.warns(UserWarning, match=says) as warned:
        run = Experiment.create(tmp_path / "run", sides, data=table, skip_outside=True)
    assert warned[0].filename == __file__
    taken = [(e["params"]["x"], e["answer"]) for e in run.history()]
    assert taken == [(0.5, 1.0), (0.25, 4.0)]
    before = run.path.read_bytes()
    with pytest.raises(ValueError, match=r"2 of 4 rows .* cannot be taken"):
        run.add_table(table)
    assert run.path.read_bytes() == before
    with pytest.warns(UserWarning, match=says):
        assert [e["answer"] for e in run.add_table(table, skip_outside=True)] == [1.0, 4.0]
    table.write_text("x,kind,y\n2,B,2\n")
    with pytest.raises(ValueError, match=r"1 of 1 rows .* cannot be taken"):
        run.add_table(table, skip_outside=True)


def test_places_in_a_sheet_are_those_that_excel_shows(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("pandas")
    book = openpyxl.Workbook()
    for row, cells in {3: ("x", "y"), 4: (0.5, 1), 6: (2, 2), 9: (None, 3)}.items():
        for column, cell in enumerate(cells, 2):
            book.active.cell(row, column, cell)
    book.save(tmp_path / "past.xlsx")
    with pytest.raises(ValueError, match=r"2 of 3 rows .*: row 6, .* got 2.*; row 9, .*missing"):
        Experiment.create(tmp_path / "run", ["x=0:1"], data=tmp_path / "past.xlsx")


def test_rows_that_violate_a_constraint_are_taken_and_named(tmp_path, recwarn):
    table, path = tmp_path / "past.csv", tmp_path / "run"
    table.write_text("A,B,y\n60,60,9\n30,20,1\n-1,0,5\n0,10,2\n")
    both = ["A + B <= 100", "10 <= A"]
    run = Experiment.create(
        path, ["A=0:100", "B=0:100"], constraints=both, data=table, skip_outside=True
    )
    outside, violating = (str(each.message) for each in recwarn.list)
    assert "1 of 4 rows" in outside and "line 4, column 'A'" in outside
    assert "2 of 3 rows" in violating and "are taken although they violate" in violating
    assert violating.endswith("line 2: violates A + B <= 100; line 5: violates 10 <= A")
    notes = ["violates A + B <= 100", "", "violates 10 <= A"]
    assert [e["note"] for e in run.history()] == notes
    assert [e["answer"] for e in run.history()] == [9.0, 1.0, 2.0]
    # The setting of the best answer is not recommended.
    best = run.best()["params"]
    assert best["A"] + best["B"] <= 100 and run.best()["best_answer"]["answer"] == 9.0
    assert [e["note"] for e in run.add_table(table, skip_outside=True)] == notes
    assert [e["note"] for e in Experiment(path).history()] == 2 * notes


def test_everything_is_json_with_documented_keys(run):
    play(run, 2)
    run.ask(2)
    status = json.loads(json.dumps(run.status(), allow_nan=False))
    assert set(status) == {
        *("file", "title", "answer", "unit", "direction", "noise", "regions", "sides"),
        *("n_answered", "n_given", "n_failed", "n_skipped", "pending", "best", "constraints"),
        "not_used",
        *("limits", "costs", "spent", "block", "answer_range", "score", "earlier_campaigns"),
        "goals",
    }
    assert set(status["pending"][0]) == {
        *("query", "params", "status", "answer", "noise", "reason", "within_limits", "cost"),
        *("note", "operator", "date", "measured", "measurements"),
    }
    assert set(status["best"]) == {
        *("params", "mean", "std", "interval_95", "beware", "noise", "n_answers", "best_answer"),
        *("goals", "outcomes", "within_limits", "between_blocks", "preferred", "scatter"),
        "scatter_95",
    }
    assert status["sides"] == [
        {"name": "temperature", "kind": "range", "low": 20.0, "high": 90.0, "step": 0.1},
        {"name": "salt", "kind": "log", "low": 1e-4, "high": 0.1, "digits": 3},
        {"name": "catalyst", "kind": "choice", "values": ["A", "B"]},
        {"name": "n", "kind": "integer", "low": 1, "high": 10},
    ]
    again = {side["name"]: side for side in status["sides"]}
    assert [Side.of(name, side).as_dict() for name, side in again.items()] == status["sides"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.tell("1,5"), "the answer must be a number, got '1,5': write 1.5"),
        (lambda run: run.tell(float("nan")), "the answer must be a finite number, got nan"),
        (lambda run: run.tell("inf"), "the answer must be a finite number, got inf"),
        (lambda run: run.tell(1.0), "2 queries are pending, 2, 3: say which one"),
        (lambda run: run.tell(1.0, 1), "query 1 has the answer 0.5 already: correct it"),
        (lambda run: run.tell(1.0, 9), "no query 9; queries have the numbers 1 to 3"),
        (lambda run: run.tell(1.0, 2, noise=-1), "noise must be a standard deviation >= 0"),
        (lambda run: run.correct(2, 1.0), "query 2 has no answer yet"),
        (lambda run: run.tell(1.0, at={"temperature": 30}), "no value for 'salt'"),
        (lambda run: run.ask(0), "must be a whole number >= 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(run, call, message):
    run.ask(3)
    run.tell(0.5, 1)
    before = run.path.read_bytes()
    with pytest.raises(ValueError, match=message):
        call(run)
    assert run.path.read_bytes() == before
    assert [entry["status"] for entry in run.history()] == ["answered", "pending", "pending"]


def test_no_file_is_overwritten_and_others_are_refused(run, tmp_path):
    with pytest.raises(ValueError, match="exists already"):
        Experiment.create(run.path, SIDES)
    other = tmp_path / "other.skgpb"
    other.write_text("no run")
    with pytest.raises(LoadError, match="cannot be loaded as a saved run"):
        Experiment(other)
    GPUCBOptimizer(bounds=[(0, 1)]).save(other)
    with pytest.raises(LoadError, match="no names"):
        Experiment(other)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.skgpb", "run.skgpb"]


def answer_some(path, numbers):
    experiment = Experiment(path)
    for number in numbers:
        experiment.tell(float(number), number)


def test_two_processes_that_tell_at_once_lose_nothing(run):
    run.ask(16)
    context = multiprocessing.get_context("spawn" if sys.platform == "win32" else "fork")
    odd_and_even = [
        context.Process(target=answer_some, args=(run.path, range(first, 17, 2)))
        for first in (1, 2)
    ]
    for process in odd_and_even:
        process.start()
    for process in odd_and_even:
        process.join()
        assert process.exitcode == 0
    assert [entry["answer"] for entry in run.history()] == [float(i) for i in range(1, 17)]
    assert [each.name for each in run.path.parent.iterdir()] == ["run.skgpb"]


def change_for_ever(path):
    experiment = Experiment(path)
    while True:
        experiment.correct(1, 2.0)
        experiment.undo()
        experiment.tell(1.0, 1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_process_killed_while_it_writes_leaves_a_whole_file_and_no_lock(run):
    run.tell(1.0, run.ask()[0]["query"])
    rng = np.random.default_rng(0)
    for _ in range(3):
        before = run.path.read_bytes()
        process = multiprocessing.get_context("fork").Process(
            target=change_for_ever, args=(run.path,)
        )
        process.start()
        while run.path.read_bytes() == before:
            time.sleep(0.001)
            assert process.is_alive()
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert Experiment(run.path).history()[0]["answer"] in (None, 1.0, 2.0)
        if run.pending():
            run.tell(1.0, 1)
    number = run.ask()[0]["query"]
    assert Experiment(run.path).tell(3.0, number) == run.history()[number - 1]
    assert [each.name for each in run.path.parent.iterdir()] == ["run.skgpb"]


def test_a_lock_that_is_not_let_go_ends_in_words(run, monkeypatch):
    monkeypatch.setattr(file_lock, "PATIENCE", 0.1)
    # A thread may take the lock that it holds again, so another one asks.
    held = pytest.raises(TimeoutError, match=r"run\.skgpb has been held by another program")
    with file_lock.FileLock(run.path), ThreadPoolExecutor(1) as other, held:
        other.submit(run.ask).result()
    assert run.ask()[0]["query"] == 1


def test_a_long_range_is_whole_numbers_and_no_list(tmp_path):
    run = Experiment.create(tmp_path / "long.skgpb", {"n": range(10**12)})
    assert str(run.sides[0]) == "0 to 999999999999, whole numbers"
    assert 0 <= run.ask()[0]["params"]["n"] < 10**12
    with pytest.raises(ValueError, match=r"n has more than 10000 values, got range\(0, "):
        Side.of("n", range(0, 10**12, 3))


@pytest.mark.parametrize(
    "notes",
    [
        {"numbers": ["x"]},
        {"numbers": 3},
        {"lost": [1]},
        {"lost": [[1, [0], [1], "x"]]},
        {"last": []},
    ],
)
def test_notes_of_something_else_are_refused(run, notes):
    run.optimizer.save(run.path, notes=notes)
    with pytest.raises(LoadError, match="notes of no experiment"):
        Experiment(run.path)


def test_a_run_goes_on_in_python_and_comes_back(run):
    play(run, 3)
    optimizer = GPUCBOptimizer.load(run.path)
    query = optimizer.ask()
    optimizer.tell(query, 0.5).save(run.path)
    assert run.history()[3]["params"] == query.params
    assert [entry["query"] for entry in run.history()] == [1, 2, 3, 4]
    assert run.ask()[0]["query"] == 5


def test_reading_changes_no_file(run):
    play(run, 4)
    before = run.path.stat()
    for read in (run.history, run.pending, run.best, run.status):
        read()
    assert (run.sides, run.optimizer) != (None, None)
    assert run.path.stat() == before


# Counts ------------------------------------------------------------------------------------------


def test_counts_are_told_as_a_proportion_with_the_noise_that_follows(run):
    query = run.ask()[0]["query"]
    told = run.tell(" 12 of 300 ", query)
    assert told["answer"] == 0.04
    q = 13 / 302
    assert_allclose(told["noise"], np.sqrt(q * (1 - q) / 300), rtol=1e-14)
    assert Experiment(run.path).history()[-1] == told
    corrected = run.correct(query, "0 of 300")
    assert corrected["answer"] == 0.0
    assert 0.0 < corrected["noise"] < told["noise"]


@pytest.mark.parametrize("unit", ["%", "Per cent"])
def test_counts_are_percentages_where_these_are_the_unit(tmp_path, unit):
    """Typed, corrected, and in a cell of a table."""
    table = tmp_path / "past.csv"
    table.write_text("x,conversion\n0.25,12 of 300\n0.5,7.5\n")
    given = {"answer": "conversion", "unit": unit, "data": table}
    run = Experiment.create(tmp_path / "percent.skgpb", {"x": (0.0, 1.0)}, **given)
    asked = run.ask(2)
    run.tell("30 of 300", asked[0]["query"])
    run.tell("1 of 2", asked[1]["query"])
    run.correct(asked[1]["query"], "3 of 200")
    entries = run.history()
    assert [entry["answer"] for entry in entries] == [7.5, 4.0, 10.0, 1.5]
    q = 31 / 302
    assert_allclose(entries[2]["noise"], 100 * np.sqrt(q * (1 - q) / 300), rtol=1e-14)


@pytest.mark.parametrize(
    ("answer", "noise", "message"),
    [
        ("12 of 0", None, "trials must be above 0"),
        ("13 of 12", None, "successes must be from 0 to trials"),
        ("some of 12", None, "a count in the answer"),
        ("12 of", None, "the answer"),
        ("12 of 300", 0.1, "follows from its counts"),
    ],
)
def test_counts_that_cannot_be_are_refused(run, answer, noise, message):
    query = run.ask()[0]["query"]
    before = run.history()
    with pytest.raises(ValueError, match=message):
        run.tell(answer, query, noise=noise)
    assert run.history() == before


def test_a_noise_without_an_answer_is_refused(run):
    query = run.ask()[0]["query"]
    with pytest.raises(ValueError, match="there is no answer: give the number"):
        run.tell(None, query, noise=0.1)
    with pytest.raises(ValueError, match="skip_outside is about rows of data"):
        Experiment.create(run.path.with_name("other"), ["x=0:1"], skip_outside=True)


# -- the notebook's page ------------------------------------------------------------------------


def test_nobody_is_asked_for_what_cannot_be_set_or_is_excluded(tmp_path):
    run = Experiment.create(
        tmp_path / "run.skgpb",
        {"A": (0, 100), "B": "0:100:5", "C": "0:1:any", "salt": "1e-4:0.1:log"},
        constraints="A + B <= 100",
    )
    for entry in run.ask(25):
        params = entry["params"]
        assert params["A"] + params["B"] <= 100 and params["B"] % 5 == 0
        assert float(f"{params['A']:.1f}") == params["A"]
        assert float(f"{params['salt']:.3g}") == params["salt"]
    assert any(float(f"{entry['params']['C']:.3g}") != entry["params"]["C"] for entry in run.ask(5))
    assert (
        run.status()["constraints"]
        == ["A + B <= 100"]
        == Experiment(run.path).status()["constraints"]
    )
    with pytest.raises(ValueError, match="A is from 0 to 100 within the sides"):
        Experiment.create(tmp_path / "other", {"A": (0, 100)}, constraints=["A >= 200"])
    with pytest.raises(ValueError, match="regions=True"):
        Experiment.create(tmp_path / "other", ["A=0:1"], constraints=["A <= 1"], regions=True)
    assert not (tmp_path / "other").exists()


def test_what_is_written_beside_a_query_is_kept_and_exported(run):
    run.ask(3)
    run.annotate(1, note="new bottle")
    run.tell(1.5, 1, note="=2+3", operator="Ada", date="2026-01-31", measured={"pH": "7.1"})
    run.annotate(1, measured={"colour": "blue"})
    run.tell(2.5, 2)
    entry = Experiment(run.path).history()[0]
    assert (entry["note"], entry["operator"], entry["date"]) == (
        *("new bottle; =2+3", "Ada", "2026-01-31"),
    )
    assert entry["measured"] == {"pH": 7.1, "colour": "blue"}
    run.correct(2, 2.25)
    assert run.history()[0] == entry
    header, first, *_ = as_csv(run).decode("utf-8-sig").splitlines()
    assert header.endswith("standard error,status,pH,colour,note,operator,date")
    assert first.endswith(",answered,7.1,blue,new bottle; =2+3,Ada,2026-01-31")
    with pytest.raises(ValueError, match="date must be like 2026-01-31"):
        run.tell(1.0, 3, date="31.1.2026")
    assert run.history()[2]["status"] == "pending"


def test_no_text_is_a_formula_in_a_spreadsheet(run, tmp_path):
    run.ask()
    run.tell(-1.5, note="=HYPERLINK(1)", operator="@x", measured={"+sum": "-cmd"})
    text = as_csv(run).decode("utf-8-sig")
    assert ",'+sum," in text and ",'-cmd," in text
    assert "'=HYPERLINK(1),'@x" in text and ",-1.5," in text
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "t.xlsx").write_bytes(as_excel(run))
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert (sheet.title, sheet.freeze_panes) == ("results", "A2")
    cells = list(sheet.iter_rows())[1]
    assert [cell.data_type for cell in cells if str(cell.value)[:1] in "=@-"] == [
        "n",
        "s",
        "s",
        "s",
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ending", ["csv", "german.csv", "xlsx"])
def test_a_notebook_comes_back_from_a_spreadsheet(tmp_path, ending):
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    sides = ["heat (°C)=20:90", "salt=1e-4:0.1:log", "kind=A,B"]
    run = Experiment.create(tmp_path / "run.skgpb", sides, answer="yield", unit="%")
    for i, entry in enumerate(run.ask(4)):
        run.tell(1.25 * i, entry["query"], note=f"note {i}", measured={"pH": 7 + i})
    run.skip(run.ask()[0]["query"])
    table = tmp_path / f"table.{ending}"
    write_table(run, table, decimal_comma=ending.startswith("german"))
    data = table.read_bytes()
    if ending == "german.csv":
        assert data.startswith(b"\xef\xbb\xbfnumber;heat (\xc2\xb0C);") and b";1,25;" in data
    again = Experiment.create(tmp_path / "again.skgpb", sides, answer="yield", data=table)
    for one, other in zip(run.history(), again.history(), strict=True):
        assert_allclose(one["params"].pop("salt"), other["params"].pop("salt"), rtol=1e-12)
        assert one == other
    # A side may be named without its unit, and there need be no name for the answers.
    named = ["heat=20:90", *sides[1:]]
    assert len(Experiment.create(tmp_path / "b.skgpb", named, data=table).history()) == 5


def test_a_skipped_query_is_no_failure_and_comes_not_at_once(run):
    play(run, 3)
    asked = run.ask()[0]
    assert run.skip(note="no time")["status"] == "skipped"
    assert run.ask()[0]["params"] != asked["params"]
    assert (run.status()["n_failed"], run.status()["n_skipped"]) == (0, 1)
    assert Experiment(run.path).history()[3]["note"] == "no time"
    assert run.correct(asked["query"], 0.5)["status"] == "answered"
    assert run.undo()["query"] == asked["query"]
    assert run.history()[3]["status"] == "pending" and run.history()[3]["note"] == ""


def test_replicates_have_a_mean_and_a_spread(run):
    play(run, 3)
    again = run.repeat(2)
    assert again["params"] == run.history()[1]["params"] and again["status"] == "pending"
    with pytest.raises(ValueError, match="pending already"):
        run.repeat(2)
    run.tell(3.0, again["query"])
    first = run.history()[1]["answer"]
    (group,) = run.replicates()
    assert group["queries"] == [2, 4]
    assert_allclose([group["mean"], group["spread"]], [(3 + first) / 2, abs(3 - first) / 2**0.5])


def test_limits_change_in_the_midst_of_a_run(run):
    play(run, 6)
    run.fail(run.ask()[0]["query"])
    pending = run.ask(2)
    before = run.history()
    run.change(["temperature=20:120", "catalyst=A,B,C"], "temperature <= 110")
    after = run.history()
    for one, other in zip(before, after, strict=True):
        salts = one["params"].pop("salt"), other["params"].pop("salt")
        assert_allclose(*salts, rtol=1e-12)
        assert one == other
    # It is the run that was told the same within the new limits.
    twin = GPUCBOptimizer(**run.optimizer.get_params())
    for entry in Experiment(run.path).history()[:6]:
        twin.tell(entry["params"], entry["answer"])
    mean, std = twin.predict([before[0]["params"] | {"salt": 0.01}], return_std=True)
    found = run.expect(before[0]["params"] | {"salt": 0.01})
    assert_allclose([found["mean"], found["std"]], [mean[0], std[0]], rtol=1e-6)
    assert [entry["query"] for entry in run.pending()] == [entry["query"] for entry in pending]
    asked = [entry["params"] for entry in run.ask(30, another=True)]
    assert "C" in {params["catalyst"] for params in asked}
    # Six answers say that it is not worth going there, but it could be asked.
    space, places = run.optimizer.run_.space, run.optimizer.domain_.every_place()
    assert 105 < max(space.setting(place)["temperature"] for place in places) <= 110
    kept = run.path.read_bytes()
    with pytest.raises(ValueError, match=r"no side 'pressure'.* the value that all queries had"):
        run.change(["pressure=1:2"])
    with pytest.raises(ValueError, match="no side 'pressure'"):
        run.change(dropped="pressure")
    with pytest.raises(ValueError, match="no side 'salt'"):
        run.change(["catalyst=B,C"], earlier={"salt": 0.01})
    assert run.path.read_bytes() == kept


def test_a_value_runs_out_and_earlier_answers_count(run):
    play(run, 8)
    waiting = run.ask(4)
    before, waiting_for_b = run.history(), [q for q in waiting if q["params"]["catalyst"] == "B"]
    assert waiting_for_b
    run.change(["catalyst=A"])
    assert run.history() == before
    asked = [*run.ask(2), *run.ask(3, another=True), run.best()]
    assert {each["params"]["catalyst"] for each in asked} == {"A"}
    run.tell(3.0, waiting_for_b[0]["query"])  # it was under way
    assert len(Experiment(run.path).optimizer.history_) == 9
    run.change(["catalyst=A,B"])
    assert "B" in {each["params"]["catalyst"] for each in run.ask(20, another=True)}


def test_a_side_is_added_and_left_out_again(run):
    play(run, 6)
    first = run.history()[0]
    run.change(["stirring=100:500"], earlier={"stirring": "300"}, by="Ada")
    assert run.history()[0]["params"] == {**first["params"], "stirring": 300.0}
    assert len({each["params"]["stirring"] for each in run.ask(4)}) > 1
    best = run.best()["params"]
    assert list(best) == [*first["params"], "stirring"]
    run.change(dropped=["stirring"])
    left = run.history()[0]
    assert left["params"] == first["params"] and left["measured"]["stirring"] == 300.0
    changes = [(each["before"], each["after"], each["by"]) for each in run.changes()]
    among = "100 to 500, in steps of 1"
    assert changes == [("not a side", among, "Ada"), (among, None, "")]


def test_settings_are_held_for_some_queries(run):
    for _ in range(12):
        query = run.ask(fixed={"temperature": "60", "catalyst": "B"})[0]
        assert query["params"]["temperature"] == 60 and query["params"]["catalyst"] == "B"
        run.tell(1.0 + query["params"]["salt"], query["query"])
    assert len({each["params"]["salt"] for each in run.history()}) > 8
    with pytest.raises(ValueError, match="fixed must have names of sides"):
        run.ask(fixed={"stirring": 3})
    with pytest.raises(ValueError, match="temperature must be 20 to 90, got 300"):
        run.ask(fixed={"temperature": "300"})


def test_a_plate_shares_a_setting(run):
    for _ in range(3):
        plate = run.ask(4, shared=["temperature"])
        assert len({each["params"]["temperature"] for each in plate}) == 1
        assert run.ask(4, shared=["temperature"]) == plate
        for each in plate:
            run.tell(1.0 + each["params"]["salt"], each["query"])
    assert len({each["params"]["temperature"] for each in run.history()}) == 3
    with pytest.raises(ValueError, match="shared must be a list of names of sides"):
        run.ask(4, shared=["stirring"])


def test_what_is_pending_must_satisfy_new_constraints(tmp_path):
    run = Experiment.create(tmp_path / "run", ["A=0:100", "B=0:100"], constraints="A + B <= 180")
    run.tell(1.0, at={"A": 95, "B": 95})
    again = run.repeat(1)["query"]  # asked for, although it violates the constraint
    run.change(["A=0:120"])
    run.tell(1.5, again)
    asked = run.ask(3)
    kept = run.path.read_bytes()
    with pytest.raises(ValueError, match=r"query 3 is pending and violates 'A \+ B <= 1'.*skip it"):
        run.change(constraints=["A + B <= 180", "A + B <= 1"])
    assert run.path.read_bytes() == kept
    for query in asked:
        run.skip(query["query"])
    run.change(constraints="A + B <= 1")
    assert all(sum(q["params"].values()) <= 1 for q in run.ask(5))


def test_what_is_far_beyond_is_asked_about(run):
    play(run, 8)
    query = run.ask()[0]["query"]
    answers = [entry["answer"] for entry in run.history() if entry["answer"] is not None]
    said = run.surprise(1e6, query)
    low, high = said["expected"]
    assert low <= min(answers) and high >= max(answers) and said["meant"] is None
    for beyond in (high + 2.1 * (high - low), low - 2.1 * (high - low)):
        assert run.surprise(beyond, query) is not None
    for entry in run.history()[:5]:
        assert run.surprise(0.0, at=entry["params"]) is None


def test_whether_to_stop_is_said_with_what_it_rests_on(tmp_path, monkeypatch):
    monkeypatch.setattr(suboptimality_gap, "MOST_RIVALS", 10)  # a bound instead of draws
    run = Experiment.create(tmp_path / "run.skgpb", SIDES[:2], direction="minimize", seed=1)
    assert run.may_stop(1.0)["why"] == "There is no result yet."
    for number in range(4):
        run.tell(float(number), run.ask()[0]["query"])
    found = run.may_stop(1e6)
    assert not found["enough"] and found["gap"] == run.gap()
    assert found["why"].startswith("Another setting could still be better by up to ")
    assert "With 4 results this is mostly an assumption of the program." in found["why"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([41.0], "1 result does not show how much better another setting may be."),
        ([3.1, 3.3, 310.0], "3 results do not show how much better another setting may be."),
        ([7.0] * 6, "6 results do not show how much better another setting may be."),
    ],
)
@pytest.mark.parametrize("how", [{}, {"regions": True}, {"answer_range": ":400"}])
def test_no_number_is_said_of_what_answers_do_not_show(tmp_path, answers, said, how):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "y=0:1"], seed=1, **how)
    for answer in answers:
        run.tell(answer, run.ask()[0]["query"])
    found = run.may_stop(1.0)
    assert (found["gap"], found["expected_gain"], found["enough"]) == (None, None, False)
    assert found["why"].startswith(said) and found["why"].endswith("So go on.")
    assert ("no average result is beyond 400" in found["why"]) == ("answer_range" in how)
    assert run.may_stop(1e3)["enough"] == ("answer_range" in how)


@pytest.mark.slow
def test_with_many_settings_the_gain_of_ten_more_is_said_and_no_gap(run):
    play(run, 4)
    found = run.may_stop(1e6)
    assert (found["gap"], found["least_answers"], found["enough"]) == (None, None, False)
    assert found["expected_gain"] > 0.0
    assert found["why"].startswith("Ten more results are expected to improve the recommendation")
    assert "With 4 settings something much better may always lie where nothing" in found["why"]
    assert "With 4 results this is mostly an assumption of the program." in found["why"]
    play(run, 8)
    assert run.may_stop(1e6)["enough"]
    found = run.may_stop(1e-9)
    assert not found["enough"]
    assert found["why"].endswith("are expected to bring more than 1e-09: go on.")


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "sides"), [("maximize", "xy"), ("minimize", "xyz")])
def test_nothing_is_expected_beyond_the_range_of_answers(tmp_path, monkeypatch, goal, sides):
    monkeypatch.setattr(suboptimality_gap, "MOST_RIVALS", 10)  # a bound instead of draws
    turn = {"maximize": lambda y: y, "minimize": lambda y: 100.0 - y}[goal]
    written = [f"{side}=0:1" for side in sides]
    run = Experiment.create(
        tmp_path / "run.skgpb", written, direction=goal, unit="%", answer_range="0:100"
    )
    plain = Experiment.create(tmp_path / "plain.skgpb", written, direction=goal, unit="%")
    rng = np.random.default_rng(1)
    for _ in range(9):
        setting = {side: round(rng.random(), 3) for side in sides}
        answer = turn(round(float(99.0 - 60.0 * abs(setting["x"] - 0.5) + rng.normal()), 2))
        run.tell(answer, at=setting)
        plain.tell(answer, at=setting)
    free, best = plain.best(), run.best()
    assert min(free["interval_95"]) < 0.0 or max(free["interval_95"]) > 100.0
    assert 0.0 <= best["interval_95"][0] <= best["mean"] <= best["interval_95"][1] <= 100.0
    assert best["params"] == free["params"] and best["std"] == free["std"]
    found, unlimited = run.may_stop(2.0), plain.may_stop()
    room = 100.0 - best["mean"] if goal == "maximize" else best["mean"]
    room += best["std"] * norm.isf(0.05 * norm.cdf(room / best["std"]))
    for name in ("gap", "expected_gain"):
        if unlimited[name] is not None:
            assert_allclose(found[name], min(room, unlimited[name]))
    assert f"no average result is beyond {100 if goal == 'maximize' else 0}" in found["why"]
    assert run.may_stop(room + 0.1)["enough"]
    expect = run.expect(dict.fromkeys(sides, 0.5))
    assert expect["interval_95"][0] >= 0.0 and expect["interval_95"][1] <= 100.0
    run.change(answer_range=":1000")
    assert run.status()["answer_range"] == ":1000"
    run.change(answer_range="")
    assert Experiment(run.path).best() == free


def test_of_results_that_are_noise_nothing_is_said_for_sure(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:1", "y=0:1"], seed=0)
    rng = np.random.default_rng(0)
    for _ in range(14):
        run.tell(round(float(rng.normal()), 3), run.ask()[0]["query"])
    assert run.optimizer._model.diagnosis.shows_nothing
    assert run.best()["beware"].startswith("The results do not show that settings differ")
    found = run.may_stop(10.0)
    assert (found["gap"], found["expected_gain"], found["enough"]) == (None, None, False)
    assert found["why"].startswith("14 results do not show how much better another setting may be")


@pytest.mark.parametrize("ends", ["1", "5:1", "a:3", (1, 2, 3)])
def test_what_is_no_range_of_answers_is_refused(tmp_path, ends):
    with pytest.raises(ValueError, match="range"):
        Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], answer_range=ends)


@pytest.mark.parametrize(
    ("text", "said"),
    [("x;y\n1;1,234\n", "write a point"), ("x,y\n1/2/2026,3\n2/3/2026,4\n", "2026-01-31")],
)
def test_errors_of_a_table_name_no_option_that_an_experiment_lacks(tmp_path, text, said):
    run, table = Experiment.create(tmp_path / "run", ["x=0:1"]), tmp_path / "table.csv"
    table.write_text(text)
    with pytest.raises(ValueError, match=said) as caught:
        run.add_table(table)
    assert "--" not in str(caught.value)


def test_choices_are_a_list_of_different_values_however_many():
    with pytest.raises(TypeError, match="oil must be a list, got the set"):
        Side.of("oil", {"A", "B"})
    for values in (["A", "B", "A"], [[1], [2], [1]]):
        with pytest.raises(ValueError, match="oil: a value is twice"):
            Side.of("oil", values)
    began = time.process_time()
    assert len(Side.of("oil", [str(i) for i in range(20_000)]).bounds) == 20_000
    assert time.process_time() - began < 1.0


@pytest.mark.filterwarnings("ignore")
def test_parameters_that_were_set_from_python_are_no_entries(run):
    """What waits for another start, of which an experiment has none, does not turn its signs."""
    play(run, 4)
    optimizer = GPUCBOptimizer.load(run.path)
    sides = dict(optimizer.bounds) | {"temperature": (20.0, 30.0)}
    optimizer.set_params(direction="maximize", n_initial=3, bounds=sides)
    optimizer.save(run.path, notes=json.loads(json.dumps(read_notes(run.path))))
    before = run.history()
    again = Experiment(run.path)
    assert (
        again.history() == before
        and again.status()["direction"] == run.status()["direction"] == "minimize"
    )
    play(again, 2)
    again.correct(5, 0.25)
    again.change(["temperature=10:90"])
    assert [entry["answer"] for entry in again.history()[:4]] == [each["answer"] for each in before]
    assert again.history()[4]["answer"] == 0.25
    again.undo()
    assert GPUCBOptimizer.load(run.path).n_initial == 3


def test_an_interval_says_what_it_lacks(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:1"], seed=0)
    run.tell(2.0, at={"x": 0.2})
    assert run.best()["beware"].startswith("1 result does not show how much results vary and")
    run.tell(2.0, at={"x": 0.7})
    assert run.best()["beware"].startswith("All results are equal")
    run.tell(2.5, at={"x": 0.4})
    assert run.best()["beware"].startswith("3 results do not show")
    run.tell(2.1, at={"x": 0.9})
    assert run.best()["beware"] == ""


@pytest.mark.slow
def test_no_region_is_recommended_that_is_smaller_than_what_was_measured(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:8", "y=0:4"], regions=True, seed=0)
    for _ in range(12):
        query = run.ask()[0]
        x, y = (np.mean(query["params"][name]) for name in ("x", "y"))
        run.tell(float(np.exp(-((x - 5.0) ** 2) - (y - 1.0) ** 2)), query["query"])

    def area(params):
        return np.prod([high - low for low, high in params.values()])

    measured = [area(entry["params"]) for entry in run.history()]
    best = run.best()
    assert area(best["params"]) >= min(measured) * (1.0 - 1e-9)
    assert run.optimizer.recommend().depth > run.optimizer.tree_.depth.min()
    sized = run.best(side={"x": 1.0, "y": 0.5})
    assert area(sized["params"]) == pytest.approx(0.5)
    low, high = sized["interval_95"]
    (lower, upper) = (np.array([sized["params"][n][i] for n in "xy"]) for i in (0, 1))
    region = run.optimizer.recommend(side={"x": 1.0, "y": 0.5})
    assert_allclose(region.box, [*lower, *upper])
    mean, std = run.optimizer.predict_query(region, return_std=True)
    assert_allclose([low, high], [mean[0] - 1.96 * std[0], mean[0] + 1.96 * std[0]])
    with pytest.raises(ValueError, match="side is for experiments over regions"):
        Experiment.create(tmp_path / "other", ["x=0:1"]).best(side={"x": 0.5})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [24, 96])
@pytest.mark.parametrize("constraints", [[], ["x + y <= 1"]])
def test_the_first_plate_is_a_design_with_every_value_of_every_list(tmp_path, n, constraints):
    sizes = {"ligand": 12, "base": 8, "solvent": 3}
    sides = {name: [f"{name} {i}" for i in range(k)] for name, k in sizes.items()}
    run = Experiment.create(
        tmp_path / "run.skgpb", {**sides, "x": (0, 1), "y": (0, 1)}, constraints=constraints, seed=1
    )
    asked = run.ask(n)
    for name, values in sides.items():
        counts = [sum(each["params"][name] == value for each in asked) for value in values]
        assert min(counts) >= n // len(values) - (2 if constraints else 0) and sum(counts) == n
        assert constraints or np.ptp(counts) <= 1
    # It is the same from the file, and answers to it are taken as any others.
    assert Experiment(run.path).ask(n) == asked
    run.tell(1.0, 5)
    assert len(run.pending()) == n - 1
    assert GPUCBOptimizer.load(run.path).get_params()["n_initial"] == n


def test_a_plate_after_the_first_answers_is_no_design(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "y=0:1"])
    run.tell(1.0, run.ask()[0]["query"])
    run.ask(24)
    assert run.optimizer.n_initial is None


def test_sizes_and_settings_of_regions_are_explained(tmp_path):
    sides = ["x=0:80", "salt=0.1:10:log", "n=1:9:int", "kind=A,B"]
    run = Experiment.create(tmp_path / "run", sides, regions=True)
    run.ask()
    run.tell(1.0)
    params = run.best({"x": 8, "salt": 0.5, "n": 3})["params"]
    low, high = params["salt"]
    assert high / low == pytest.approx(10.0) and len(params["n"]) == 3 and len(params["kind"]) == 1
    with pytest.raises(ValueError, match=r"1, the whole of a log scale: \[80[.]0, 1[.]0\]"):
        run.best({"x": 8, "salt": 5})
    for wrong in ({"x": "0 to 8"}, {"kind": "A, B"}):
        at = {"x": 1, "salt": 1, "n": 1, "kind": "A"} | wrong
        with pytest.raises(ValueError, match="; a region is told by its query, or in a table"):
            run.tell(1.0, at=at)


def test_scatter_is_that_of_repeats_or_as_it_is_given(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", {"x": (0, 1), "kind": ["A", "B"]})
    for i in range(6):
        run.tell(float(i % 4), at={"x": i / 5, "kind": "AB"[i % 2]})
    assert run.best()["scatter"] is None and run.expect({"x": 0.5, "kind": "A"})["scatter"] is None
    for value in (1.0, 3.0, 5.0):
        run.tell(value, at={"x": 0.5, "kind": "B"})
    run.tell(1.0, at={"x": 0.0, "kind": "A"})  # once more; the first answer there was 0
    # Three degrees of freedom: 2 * 2**2 of three answers, and 0.5 of two.
    best = run.best()
    assert_allclose(best["scatter"], np.sqrt((2 * 4.0 + 0.5) / 3))
    # An end is a standard deviation with which so small, or large, a scatter has 2.5 %.
    drawn = np.random.default_rng(0).normal(size=(200_000, 3))
    drawn = np.sqrt((drawn**2).mean(axis=1))
    for end, smaller in zip(best["scatter_95"], (0.975, 0.025), strict=True):
        assert np.mean(drawn * end < best["scatter"]) == pytest.approx(smaller, abs=0.0015)
    given = Experiment.create(tmp_path / "given.skgpb", {"x": (0, 1)}, noise=0.25)
    given.tell(1.0, at={"x": 0.5})
    assert given.best()["scatter"] == 0.25 and given.best()["scatter_95"] is None


def earlier_table(path, n=40):
    """Write a table of another campaign: answers ten times as large, and 300 higher."""
    rng = np.random.default_rng(3)
    lines = ["temperature;salt;catalyst;n;loss"]
    for i in range(n):
        params = {"temperature": round(rng.uniform(20, 90), 1), "catalyst": "AB"[i % 2]}
        params |= {"salt": float(f"{10 ** rng.uniform(-4, -1):.3g}"), "n": 1 + i % 10}
        cells = (params[name] for name in ("temperature", "salt", "catalyst", "n"))
        lines.append(";".join(map(str, (*cells, round(300 + 10 * yield_at(params), 3)))))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.slow
def test_earlier_campaigns_count_by_their_likeness_also_after_a_change(tmp_path):
    table = earlier_table(tmp_path / "last year.csv")
    run = Experiment.create(
        tmp_path / "run.skgpb",
        SIDES,
        direction="minimize",
        answer="loss",
        earlier_campaigns=[table],
    )
    assert run.status()["earlier_campaigns"] == {"last year": 40}
    assert run.status()["n_answered"] == run.status()["n_given"] == 0
    run.ask()
    assert run.why()[0]["why"].startswith("earlier campaigns suggest it")
    play(run, 4)
    assert run.best()["best_answer"]["answer"] < 0.3
    run.undo()
    play(run, 1)
    run.change({"temperature": "40:90"}, limits=["foam < 3"])
    assert run.status()["earlier_campaigns"] == {"last year": 40}
    play(Experiment(run.path), 1)
    assert yield_at(run.best()["params"]) < 0.3


def test_earlier_campaigns_are_for_settings_and_answers(tmp_path):
    table = earlier_table(tmp_path / "a.csv")
    for given in ({"regions": True}, {"score": "2*loss"}, {"block": "date"}):
        with pytest.raises(ValueError, match="earlier_campaigns"):
            Experiment.create(tmp_path / "b.skgpb", SIDES, earlier_campaigns=[table], **given)
    (tmp_path / "sub").mkdir()
    same = earlier_table(tmp_path / "sub" / "a.csv")
    with pytest.raises(ValueError, match="two earlier campaigns have the name 'a'"):
        Experiment.create(tmp_path / "b.skgpb", SIDES, earlier_campaigns=[table, same])


def test_the_first_design_is_as_long_as_what_is_asked_before_an_answer(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1", "y=0:1"])
    n_usual = run.optimizer._n_initial
    for n, another, expected in (
        *((3, False, n_usual), (n_usual, False, n_usual), (n_usual + 2, False, n_usual + 2)),
        *((n_usual, False, n_usual + 2), (1, True, n_usual + 3), (4, True, n_usual + 7)),
    ):
        assert len(run.ask(n, another=another)) == n
        assert run.optimizer._n_initial == expected
    assert Experiment(run.path).optimizer._n_initial == n_usual + 7
    run.skip(1)
    run.ask(30, another=True)
    assert run.optimizer._n_initial == n_usual + 7
    optimizer = GPUCBOptimizer(bounds={"x": (0.0, 1.0)}, n_initial=0, random_state=0)
    optimizer.start().save(tmp_path / "none.skgpb")
    none = Experiment(tmp_path / "none.skgpb")
    none.ask(12)
    assert none.optimizer._n_initial == 0

"""Blocks of answers, days, operators and batches, through everything that changes an experiment."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb.lab.cli import main
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.blocks import blocks_in, describe_shift
from skgpb.lab.experiments.export import write_table

SIDES = ["heat=20:90", "oil=A,B"]
SHIFTS = {"Ann": 2.0, "Bob": -2.0}


def height(params):
    return 80.0 - 0.02 * (params["heat"] - 60.0) ** 2 - 3.0 * (params["oil"] == "B")


def play(run, n, block="operator", names=("Ann", "Bob"), shifts=SHIFTS):
    rng = np.random.default_rng(n)
    for i in range(n):
        (query,) = run.ask()
        name = names[i % len(names)]
        answer = round(height(query["params"]) + shifts[name] + 0.3 * rng.normal(), 3)
        known = {block: name} if block in ("operator", "date") else {"measured": {block: name}}
        run.tell(answer, query["query"], **known)


def known(run):
    """What an experiment knows, but for names of who did it."""
    return run.best(), run.blocks(), run.replicates()


@pytest.fixture
def run(tmp_path):
    return Experiment.create(tmp_path / "run.skgpb", SIDES, block="operator", answer="height")


@pytest.mark.slow
def test_shifts_are_learned_apart_from_the_noise(run, tmp_path):
    play(run, 20)
    plain = Experiment.create(tmp_path / "plain.skgpb", SIDES)
    for entry in run.history():
        plain.tell(entry["answer"], at=entry["params"], operator=entry["operator"])
    best, other = run.best(), plain.best()
    assert best["noise"] < 0.8 < 1.5 < other["noise"]
    assert 1.0 < best["between_blocks"] < 4.0 and other["between_blocks"] is None
    ann, bob = run.blocks()
    assert (ann["block"], bob["block"], ann["n_answers"]) == ("Ann", "Bob", 10)
    assert_allclose(ann["mean"], -bob["mean"], rtol=1e-9)
    assert abs(ann["mean"] - 2.0) < 3.0 * ann["std"] < 1.5
    assert plain.blocks() == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("block", "names"),
    [("date", ("2026-01-30", "2026-01-31")), ("batch no.", ("7", "b 2"))],
)
def test_days_and_batches(tmp_path, block, names):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, block=block)
    play(run, 8, block, names, dict(zip(names, SHIFTS.values(), strict=True)))
    assert [each["block"] for each in run.blocks()] == list(names)
    assert run.status()["block"] == block
    assert known(Experiment(run.path)) == known(run)


def test_whatever_is_corrected_the_model_knows_the_block_of_each_answer(run):
    play(run, 10)
    before = known(run)
    run.annotate(3, operator="Bob")
    assert [each["n_answers"] for each in run.blocks()] == [4, 6]
    run.annotate(3, operator="Ann")
    assert known(run) == before
    answer = run.history()[4]["answer"]
    run.correct(5, 20.0)
    assert known(run) != before
    run.correct(5, answer)
    assert known(run) == before
    (query,) = run.ask()
    run.annotate(query["query"], operator="Cid")  # before it is answered
    run.tell(70.0, query["query"])
    assert [each["block"] for each in run.blocks()] == ["Ann", "Bob", "Cid"]
    run.undo()
    assert [each["block"] for each in run.blocks()] == ["Ann", "Bob"]
    run.change(["heat=10:95"])
    assert [each["n_answers"] for each in run.blocks()] == [5, 5]


def test_what_was_written_down_before_counts(tmp_path, run):
    play(run, 10)
    later = Experiment.create(tmp_path / "later.skgpb", SIDES)
    for entry in run.history():
        later.tell(entry["answer"], at=entry["params"], operator=entry["operator"])
    later.change(block="operator", by="me")
    assert [each["n_answers"] for each in later.blocks()] == [5, 5]
    assert_allclose(later.best()["noise"], run.best()["noise"], rtol=0.3)
    later.change(block="")
    assert later.blocks() == [] and later.status()["block"] == ""
    (change,) = later.changes()
    assert (change["what"], change["before"], change["after"]) == ("block", "operator", None)


def test_replicates_of_two_operators_scatter_as_those_of_one(run):
    for heat in (30, 50, 60, 70, 90):
        for name, shift in SHIFTS.items():
            setting = {"heat": heat, "oil": "A"}
            run.tell(height(setting) + shift, at=setting, operator=name)
    assert all(each["spread"] < 0.5 for each in run.replicates())
    assert all(abs(np.diff(each["answers"])[0]) == 4.0 for each in run.replicates())


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_tables_have_a_column_for_blocks(run, tmp_path, ending):
    play(run, 9)
    table = tmp_path / f"notebook.{ending}"
    write_table(run, table)
    again = Experiment.create(
        tmp_path / "again.skgpb", SIDES, block="operator", answer="height", data=table
    )
    assert [each["n_answers"] for each in again.blocks()] == [5, 4]
    with open(tmp_path / "plain.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["heat", "oil", "who", "height", "operator"])
        for entry in run.history():
            row = [*entry["params"].values(), entry["operator"], entry["answer"], ""]
            writer.writerow(row)
    for block in ("who", "operator"):
        plain = Experiment.create(
            tmp_path / f"{block}.skgpb",
            SIDES,
            block=block,
            answer="height",
            data=tmp_path / "plain.csv",
        )
        assert [each["n_answers"] for each in plain.blocks()] == ([5, 4] if block == "who" else [])
        assert plain.status()["n_answered"] == 9
    added = Experiment.create(tmp_path / "added.skgpb", SIDES, block="who", answer="height")
    added.add_table(tmp_path / "plain.csv")
    assert [each["n_answers"] for each in added.blocks()] == [5, 4]
    with pytest.warns(UserWarning, match="no column 'day': nothing is learned from it"):
        Experiment.create(
            tmp_path / "day.skgpb", SIDES, block="day", answer="height", data=tmp_path / "plain.csv"
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": "heat"}, "'heat' is a setting, the answer or has a limit"),
        ({"block": "height", "answer": "height"}, "'height' is a setting"),
        ({"block": "peak", "limits": ["peak < 3"]}, "'peak' is a setting"),
        ({"block": "a\nb"}, "block must be one line"),
        ({"block": "operator", "regions": True}, "block is for single settings, not for regions"),
    ],
)
def test_what_is_no_block_is_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        Experiment.create(tmp_path / "run.skgpb", SIDES, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_shell_says_how_far_operators_are_apart(tmp_path, capsys):
    path = str(tmp_path / "run.skgpb")
    run = Experiment.create(path, SIDES, answer="height", unit="mm")
    play(run, 12)
    assert main(["change", path, "--block", "operator"]) == 0
    assert "results may be shifted by the operator" in capsys.readouterr().out
    assert main(["ask", path]) == 0
    assert "tell" in (said := capsys.readouterr().out) and "--operator NAME" in said
    assert main(["best", path]) == 0
    said = capsys.readouterr().out
    assert "mm from one operator to another (standard deviation)" in said
    assert "expected is for an average operator" in said
    assert main(["show", path]) == 0
    said = capsys.readouterr().out
    assert "operator Ann: 6 answers, " in said and " above the average of all" in said
    assert main(["change", path, "--block", "none"]) == 0
    assert "shifted" not in capsys.readouterr().out
    assert main(["change", path, "--block", "heat"]) == 2
    assert "'heat' is a setting" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "told"), [("Operator", "Ann"), (" DATE ", "2026-01-31")])
def test_operators_and_dates_are_those_of_the_notebook(tmp_path, name, told):
    table = tmp_path / "past.csv"
    table.write_text(f"x,y,{name.strip()}\n0.1,1,{told}\n0.9,2,{told}\n")
    run = Experiment.create(tmp_path / "run", ["x=0:1"], answer="y", block=name, data=table)
    assert run.status()["block"] == name.strip().lower()
    run.tell(3.0, at={"x": 0.5}, **{name.strip().lower(): told})
    (block,) = run.blocks()
    assert (block["block"], block["n_answers"]) == (told, 3)


@pytest.mark.parametrize(
    ("mean", "words"),
    [
        (1.94, "1.94 ± 0.31 above"),
        (-1.94, "1.94 ± 0.31 below"),
        (0.4, "0.4 ± 0.31 above"),
        (-0.4, "0.4 ± 0.31 below"),
        (0.0, "0 ± 0.31 above"),
    ],
)
def test_a_shift_is_said_by_its_size_and_its_side(mean, words):
    assert describe_shift({"mean": mean, "std": 0.31}) == f"{words} the average"


@pytest.mark.slow
@pytest.mark.parametrize("rules", [{"block": "day"}, {"limits": "load <= 1.5"}, {}])
def test_rows_of_a_long_table_are_taken_together_however_the_run_is_repeated(tmp_path, rules):
    rng = np.random.default_rng(0)
    table = tmp_path / "past.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "y", "height", "load", "day"])
        for i, (x, y) in enumerate(rng.random((110, 2)).round(3).tolist()):
            rows.writerow([x, y, round(np.sin(5 * x) + y, 3), x + y, f"day {i // 20}"])
    sides = ["x=0:1", "y=0:1"]
    begun = Experiment.create(
        tmp_path / "begun", sides, data=table, answer="height", seed=0, **rules
    )
    added = Experiment.create(tmp_path / "added", sides, seed=0, answer="height", **rules)
    added.add_table(table)
    for run_name, run in {"begun": begun, "added": added}.items():
        kinds = [event[0] for event in run.optimizer._events]
        by_fit = kinds[0] == "fit" and not rules
        assert kinds.count("together") == kinds.count("apart") == (not by_fit)
        assert kinds.count("learned") == 1
        run.tell(1.2, at={"x": 0.5, "y": 0.2}, measured={"load": 0.7, "day": "day 9"})
        number = run.history()[3]["query"]
        run.annotate(number, measured={"load": 0.1, "day": "day 1"})  # the run is repeated
        again = [event[0] for event in run.optimizer._events]
        assert [kind for kind in again if kind != "learned"] == [
            kind for kind in [*kinds, *again[len(kinds) :]] if kind != "learned"
        ]
        assert Experiment(tmp_path / run_name).ask() == run.ask()
        run.undo()
        assert len(run.history()) >= 110


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_shifts_of_blocks_are_from_the_average_of_these_blocks(direction):
    """Means and standard deviations are those of draws from the posterior of the shifts."""
    rng, sign = np.random.default_rng(0), -1.0 if direction == "minimize" else 1.0
    means, root = rng.normal(size=3), rng.normal(size=(3, 3))
    process = SimpleNamespace(effects=lambda n: (means[:n], root @ root.T))
    run = SimpleNamespace(
        blocks={"Ann": 1, "Ben": 2, "Cy": 3}, sign=SimpleNamespace(convert=lambda x: sign * x)
    )
    events = [("ask", 0), *(("tell", 0, 0, 0, name) for name in ["Ann", "Cy", "Ann"]), ("tell", 0)]
    optimizer = SimpleNamespace(run_=run, _model=SimpleNamespace(process=process), _events=events)
    found = blocks_in(optimizer)
    draws = means + rng.normal(size=(200_000, 3)) @ root.T
    draws -= draws.mean(axis=1, keepdims=True)
    assert [each["block"] for each in found] == ["Ann", "Ben", "Cy"]
    assert [each["n_answers"] for each in found] == [2, 0, 1]
    apart = sign * (means - means.mean())
    np.testing.assert_allclose([each["mean"] for each in found], apart)
    np.testing.assert_allclose([each["std"] for each in found], draws.std(axis=0), rtol=0.02)
    run.blocks = {}
    assert blocks_in(optimizer) == []

"""Goals of an experiment: the best compromises between several measurements."""

import csv

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb import EIOptimizer
from skgpb.acquisition.volume import dominated_volume
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.export import write_table
from skgpb.lab.experiments.judge import describe_outcomes

SIDES = ["heat=20:90:any", "oil=A,B"]
GOALS = ["large yield", "small cost"]


def measured_at(params):
    share = (params["heat"] - 20.0) / 70.0
    rise = 1.0 if params["oil"] == "A" else 0.8
    return {"yield": rise * 90.0 * share, "cost": 30.0 * share**2 + 5.0 * (params["oil"] == "B")}


def play(run, n):
    for _ in range(n):
        (query,) = run.ask()
        run.tell(query=query["query"], measured=measured_at(query["params"]))


@pytest.fixture
def run(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, goals=GOALS)
    play(run, 14)
    return run


def test_the_desk_asks_what_python_asks(run):
    opt = EIOptimizer(
        bounds={"heat": (20.0, 90.0), "oil": ["A", "B"]},
        goals={"cost": "minimize"},
        random_state=0,
    )
    for entry in run.history():
        query = opt.ask()
        assert query.params == entry["params"]
        found = measured_at(query.params)
        opt.tell(query, found["yield"], outcomes={"cost": found["cost"]})
    assert run.best()["params"] == opt.recommend().params


def test_all_goals_are_expected_at_the_recommendation(run):
    for found in (run.best(), run.expect(run.best()["params"])):
        (cost,) = found["goals"]
        assert cost["name"] == "cost"
        assert cost["mean"] == pytest.approx(measured_at(found["params"])["cost"], abs=0.5)
        (line,) = describe_outcomes(found)
        assert line.startswith("cost there: expected ")


def test_whether_to_stop_cannot_be_said(run):
    for within in (None, 2.0):
        said = run.may_stop(within)
        assert said["gap"] is None and said["expected_gain"] is None and not said["enough"]
        assert "nan" not in said["why"]
    assert "Whether to stop cannot be said" in said["why"]


def test_the_compromises_are_the_front(run):
    found, history = run.trade_offs(), run.history()
    assert (found["names"], found["larger_is_better"]) == (["yield", "cost"], [True, False])
    for entry in history:
        known = entry["measured"]
        beaten = any(
            other["measured"]["yield"] >= known["yield"]
            and other["measured"]["cost"] <= known["cost"]
            and other["measured"] != known
            for other in history
        )
        assert beaten == (entry["query"] not in found["best"])
    Y = np.array(found["values"]) * [1.0, -1.0]
    shares = (Y - Y.min(axis=0)) / np.ptp(Y, axis=0)
    best = [entry["query"] in found["best"] for entry in history]
    assert_allclose(found["hypervolume"], dominated_volume(shares[best]))


@pytest.mark.slow
def test_everything_that_changes_an_experiment_keeps_the_goals(run):
    twin = Experiment(run.path)
    assert twin.status()["goals"] == GOALS
    assert twin.status()["answer"] == "yield" and twin.status()["not_used"] == []
    run.undo()
    run.correct(1, at={"heat": 50, "oil": "A"})
    run.annotate(2, measured={"cost": 99.0})
    run.change(limits="cost < 50")
    run.change(["oil=A"])
    assert run.trade_offs()["beyond"] == [2]
    play(run, 2)
    assert run.status()["goals"] == GOALS and run.history()[-1]["params"]["oil"] == "A"
    assert "improve the compromises" in [run.ask(), run.why()][1][0]["why"]
    run.change(limits=[])
    assert Experiment(run.path).status()["goals"] == GOALS
    assert run.best()["preferred"] is None
    with pytest.raises(ValueError, match="experiments without goals"):
        run.change(score="yield - cost")


@pytest.mark.slow
def test_an_exported_table_begins_the_same_experiment(run, tmp_path):
    table = tmp_path / "run.csv"
    write_table(run, table)
    with open(table, encoding="utf-8-sig") as file:
        assert {"cost", "yield"} <= set(next(csv.reader(file)))
    other = Experiment.create(tmp_path / "other.skgpb", SIDES, goals=GOALS, data=table)
    assert_allclose(other.trade_offs()["values"], run.trade_offs()["values"])
    assert other.trade_offs()["best"] == run.trade_offs()["best"]


def test_a_goal_that_comes_later(tmp_path):
    run = Experiment.create(tmp_path / "run.skgpb", SIDES, goals=GOALS)
    (query,) = run.ask()
    with pytest.warns(UserWarning, match="cost is a goal and was not measured for query 1"):
        run.tell(measured={"yield": 40.0})
    assert run.trade_offs() is None
    run.annotate(query["query"], measured={"cost": 4.0})
    play(run, 1)
    assert len(run.trade_offs()["values"]) == 2
    assert cases.outcome_model(run.optimizer, "cost").n_answers == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"goals": "large yield"}, "two to four goals"),
        ({"goals": [f"small {name}" for name in "abcde"]}, "two to four goals"),
        ({"goals": ["yield up", "small cost"]}, "large NAME or small NAME, got 'yield up'"),
        ({"goals": ["large", "small cost"]}, "large NAME or small NAME"),
        ({"goals": ["large yield", "small yield"]}, "'yield' is one already"),
        ({"goals": ["large heat", "small yield"]}, "'heat' is a setting"),
        ({"goals": GOALS, "score": "yield"}, "goals have directions of their own and no score"),
        ({"goals": GOALS, "direction": "minimize"}, "goals have directions of their own"),
        ({"goals": GOALS, "regions": True}, "goals is for single settings"),
    ],
)
def test_goals_that_are_refused(tmp_path, given, message):
    path = tmp_path / "run.skgpb"
    with pytest.raises(ValueError, match=message):
        Experiment.create(path, SIDES, **given)
    assert not path.exists()


def test_names_of_several_words_and_small_ones_first(tmp_path):
    goals = ["small cost (EUR)", 'large "peak < heat"', "large purity"]
    run = Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], goals=goals)
    run.ask()
    run.tell(measured={"cost (EUR)": 2.0, "peak < heat": 1.0, "purity": 0.5})
    assert run.optimizer.direction == "minimize"
    assert run.status()["goals"] == ["small cost (EUR)", "large peak < heat", "large purity"]

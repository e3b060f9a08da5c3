"""What results, compromises, lists and pictures say of limits."""

import warnings

import pytest

from skgpb import GPUCBOptimizer
from skgpb.exceptions import LimitWarning
from skgpb.lab.cli.commands import main
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.judge import describe_outcomes, describe_preferred_query
from skgpb.lab.experiments.limits import format_limits, read_limits
from skgpb.lab.experiments.listed import experiment_in

SIDES = ["heat=20:90", "time=1:60"]
PAST = "heat,time,yield,cost,peak\n40,10,42,3,45\n85,20,83,2,88\n60,30,62,5,65\n50,40,50,6,55\n"


def begun(tmp_path, limits, name="run.skgpb", **given):
    return Experiment.create(tmp_path / name, SIDES, limits=limits, **given)


def test_the_first_answer_without_what_has_a_limit_warns(tmp_path):
    run = begun(tmp_path, ["impurity <= 5"])
    run.ask(3)
    with pytest.warns(LimitWarning, match="not measured for query 1, but impurty was") as said:
        run.tell(55, 1, measured={"impurty": 9.5})
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.tell(57, 2)
        run.annotate(3, measured={"impurity": 4})
        run.tell(50, 3)
    (limit,) = run.best()["outcomes"]
    assert (limit["n_answers"], limit["n_missing"]) == (1, 2)
    assert describe_outcomes(run.best())[0].endswith("; known of 1 of 3 results)")
    other = begun(tmp_path, ["impurity <= 5"], "other.skgpb")
    other.ask(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.annotate(1, measured={"impurity": 4})
        other.tell(55, 1)
    with pytest.warns(LimitWarning):
        other.tell(55, 2)
    refused = begun(tmp_path, ["impurity <= 5"], "refused.skgpb")
    refused.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LimitWarning):
            refused.tell(55)
    assert refused.history()[0]["status"] == "pending"


def test_a_table_warns_once_of_what_it_lacks(tmp_path):
    table = tmp_path / "past.csv"
    table.write_text(PAST)
    with pytest.warns(UserWarning, match="no column 'pH'") as said:
        begun(tmp_path, ["pH < 8", "peak < 70"], answer="yield", data=table)
    assert len(said) == 1
    table.write_text(f"{PAST}45,10,41,3,\n44,10,41,3,\n")
    with pytest.warns(LimitWarning, match="peak .* was not measured for queries 5, 6:") as said:
        run = begun(tmp_path, ["peak < 70"], "cells.skgpb", answer="yield", data=table)
    with pytest.warns(UserWarning, match="rows have the setting and the answer") as said:
        run.add_table(table, "yield")
    assert len(said) == 1
    run = begun(tmp_path, ["peak < 70"], "added.skgpb")
    with pytest.warns(LimitWarning, match="queries 5, 6:"):
        run.add_table(table, "yield")


def test_a_limit_on_a_sum_is_computed(tmp_path):
    run = begun(tmp_path, ['impA + "imp B" <= 5', "0.5*impA >= 0.1", "water-content < 3"])
    limits = ['impA + "imp B" <= 5', "0.5*impA >= 0.1", "water-content <= 3"]
    assert run.status()["limits"] == limits == format_limits(read_limits(limits, []))
    assert run.counted == ["impA", "imp B", "water-content"]
    run.ask(3)
    within = [
        run.tell(50, n, measured={"impA": a, "imp B": 4, "water-content": 1})["within_limits"]
        for n, a in enumerate([4, 1, 0.1], 1)
    ]
    assert within == [False, True, False]
    expected = run.expect({"heat": 50, "time": 10})["outcomes"]
    assert [each["n_answers"] for each in expected] == [3, 3, 3]
    assert Experiment(run.path).history() == run.history()
    run.ask()
    with pytest.warns(LimitWarning, match="0.5"):
        assert run.tell(50, measured={"imp B": 4})["within_limits"] is None
    with pytest.raises(ValueError, match="'heat' is a setting"):
        begun(tmp_path, ["impA + heat <= 5"], "wrong.skgpb")
    run.ask()
    with pytest.raises(ValueError, match="impA must be a number"):
        run.tell(50, measured={"impA": "n.d.", "imp B": 4})
    assert run.history()[-1]["status"] == "pending"
    run.change(limits=["impA < 3"])
    assert run.history()[0]["within_limits"] is False


def test_compromises_are_within_the_limits(tmp_path):
    table = tmp_path / "past.csv"
    table.write_text(PAST)
    run = begun(tmp_path, ["peak < 70"], score="0.7*yield - 2*cost", data=table)
    found = run.trade_offs()
    assert (found["best"], found["beyond"]) == ([1, 3], [2])
    run.change(limits=["peak < 40"])
    found = run.trade_offs()
    assert (found["best"], found["hypervolume"]) == ([], 0.0)
    assert experiment_in(run.path)["best_answer"] is None
    run.change(limits=["pH < 8"])  # which nobody measured
    assert run.trade_offs()["best"] == [2]
    run.change(limits=[])
    assert run.trade_offs()["best"] == [2]


def test_the_shell_says_what_is_beyond_or_not_known(tmp_path, capsys):
    file = str(tmp_path / "run.skgpb")
    limits = ["--limit", "impA + impB <= 5"]
    assert not main(["new", file, "--bounds", *SIDES, "--answer", "yield", *limits])
    main(["ask", file, "-n", "2"])
    assert "--measured impA=VALUE impB=VALUE" in capsys.readouterr().out
    main(["tell", file, "50", "--query", "1", "--measured", "impA=4", "impB=4"])
    main(["tell", file, "51", "--query", "2", "--measured", "impA=4"])
    said = capsys.readouterr()
    assert "query 1: 50, beyond a limit" in said.out
    assert "query 2: 51, not every limit measured" in said.out
    assert "impA + impB <= 5: holds with probability" in said.out
    assert "warning: impA + impB has a limit and was not measured for query 2" in said.err
    main(["history", file])
    assert "beyond a limit" in capsys.readouterr().out


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_best_answer_is_within_the_limits_if_any_is(tmp_path, direction):
    run = begun(tmp_path, ["peak < 70"], direction=direction)
    sign = -1 if direction == "minimize" else 1
    results = [(9, 80), (8, None), (5, 60), (8.5, None), (3, 50), (6, 60), (20, 90)]
    best = None
    for i, (answer, peak) in enumerate(results):
        measured = {} if peak is None else {"peak": peak}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            run.tell(sign * answer, at={"heat": 30 + i, "time": 20}, measured=measured)
        order = {True: 0, None: 1, False: 2}
        known = [(None if p is None else p < 70, a) for a, p in results[: i + 1]]
        best = min(known, key=lambda each: (order[each[0]], -each[1]))
        found = run.best()["best_answer"]
        assert (found["within_limits"], found["answer"]) == (best[0], sign * best[1])


@pytest.mark.parametrize("regret", ["simple", "cumulative"])
def test_a_limit_that_is_taken_back_leaves_a_search_without_one(tmp_path, regret):
    path = tmp_path / "run.skgpb"
    GPUCBOptimizer(bounds={"x": (0, 1)}, regret=regret, random_state=0).start().save(path)
    run = Experiment(path)
    run.change(limits=["peak < 3"])
    is_same = isinstance(run.optimizer, GPUCBOptimizer)
    assert is_same == (regret == "cumulative")
    assert run.optimizer.limits == {"peak": (None, 3.0)}
    run.change(limits=[])
    assert type(run.optimizer) is GPUCBOptimizer and run.optimizer.limits is None
    assert run.optimizer.regret == regret


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "measured"), [("acid < 1", 0.1), ("pass = yes", "yes")])
def test_with_three_settings_and_a_limit_the_gain_of_ten_more_is_said(tmp_path, limit, measured):
    run = Experiment.create(tmp_path / "run", ["a=0:1", "b=0:1", "c=0:1"], limits=[limit])
    name = limit.split()[0]
    for i in range(12):
        answer, setting = i + 0.1 * (i % 3), {"a": i / 12, "b": 0.3 * i % 1, "c": 0.5}
        run.tell(answer, at=setting, measured={name: measured})
    found = run.may_stop(1e6)
    assert found["enough"] and found["expected_gain"] > 0.0 and found["gap"] is None
    assert found["why"].startswith("Ten more results are expected to improve the recommendation")
    for i in range(12):
        setting = {"a": i / 12, "b": 0.7 * i % 1, "c": 0.2}
        run.tell(i, at=setting, measured={name: 5.0 if measured == 0.1 else "no"})
    # A limit that was never measured is not known to hold.
    run.change(limits=[limit, "heat < 3"])
    found = run.may_stop(1e6)
    assert (found["enough"], found["expected_gain"], found["gap"]) == (False, None, None)
    assert found["why"].startswith("No setting is known to keep all limits with 95 % or more.")


def test_more_that_is_expected_elsewhere_is_said(tmp_path):
    run = Experiment.create(tmp_path / "run", ["x=0:1"], seed=0)
    for x, y in [(0.2, 2.0), (0.7, 2.0), (0.4, 2.5), (0.9, 2.1)]:
        run.tell(y, at={"x": x})
    best, optimizer = run.best(), run.optimizer
    means = optimizer.predict_query([[0.2], [0.7], [0.4], [0.9]])
    assert means.max() > best["mean"]
    assert best["preferred"]["query"] == int(means.argmax()) + 1
    assert best["preferred"]["mean"] == pytest.approx(means.max())
    # To fewer digits both means are the same.
    assert describe_preferred_query(best | {"std": 1e-6})[0].startswith(
        "more is expected at the setting of query 3 ("
    )

"""Costs of experiments: as texts, with each suggestion, and through everything that changes one."""

import itertools
from collections import Counter

import numpy as np
import pytest

from skgpb import EIOptimizer, GPUCBOptimizer
from skgpb.domains import Box, Cells
from skgpb.domains.costs import SettingCosts
from skgpb.lab.cli import main
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.costs import read_costs
from skgpb.lab.experiments.sides import Side

SIDES = ["time=10:60:10", "catalyst=Pd,Ni,Cu"]
COSTS = ["20 + 0.5*time", "100 if catalyst = Pd"]


def cost(params):
    return 20.0 + 0.5 * params["time"] + 100.0 * (params["catalyst"] == "Pd")


@pytest.fixture
def run(tmp_path):
    return Experiment.create(tmp_path / "run.skgpb", SIDES, costs=COSTS)


def test_every_suggestion_has_its_cost_and_what_was_tried_is_spent(run):
    assert run.status()["spent"] == 0.0 and run.status()["costs"] == COSTS
    entries = run.ask(4)
    assert [entry["cost"] for entry in entries] == [cost(entry["params"]) for entry in entries]
    run.tell(1.0, 1)
    run.fail(2)
    run.skip(3)
    paid = [cost(entry["params"]) for entry in run.history()[:2]]
    assert run.status()["spent"] == sum(paid)
    run.tell(2.0, 4, at={"time": 25, "catalyst": "Pd"})  # what was really set is what it cost
    assert run.history()[3]["cost"] == 132.5
    assert Experiment(run.path).status() == run.status()
    run.undo()
    assert run.status()["spent"] == sum(paid)


@pytest.mark.slow
def test_a_dear_value_is_hardly_asked_where_cheap_ones_are_as_good(tmp_path):
    asked, sides = [], ["time=10:60", "catalyst=Pd,Ni,Cu"]
    for costs in ([], ["10", "200 if catalyst = Pd"]):
        run = Experiment.create(tmp_path / f"{len(costs)}.skgpb", sides, costs=costs)
        rng = np.random.default_rng(0)
        for _ in range(25):
            (query,) = run.ask()
            run.tell(-((query["params"]["time"] - 35) ** 2) / 100 + 0.5 * rng.normal())
        asked.append(Counter(entry["params"]["catalyst"] for entry in run.history()[10:]))
    assert asked[0]["Pd"] >= 4 and asked[1]["Pd"] <= 1


def test_costs_are_changed_and_the_change_is_kept(run):
    run.ask(3)
    run.tell(1.0, 1)
    run.change(costs="50")
    assert run.status()["spent"] == 50.0
    (change,) = run.changes()
    assert (change["what"], change["before"], change["after"]) == ("costs", "; ".join(COSTS), "50")
    run.change(["catalyst=Pd,Ni,Cu,Fe"])
    assert run.status()["costs"] == ["50"]
    run.change(limits="pressure < 3")  # another class of search, with the same costs
    assert [entry["cost"] for entry in Experiment(run.path).pending()] == [50.0, 50.0]
    run.change(costs=[])
    assert run.status()["spent"] is None and run.history()[0]["cost"] is None


def test_a_value_with_a_cost_cannot_leave_its_list(run):
    with pytest.raises(ValueError, match="catalyst must be Ni or Cu, got 'Pd'"):
        run.change(["catalyst=Ni,Cu"])
    assert run.status()["costs"] == COSTS


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ("20 +", "found the end; a cost is like 20"),
        ("5 when time = 10", "no side named 'when'"),
        ("5 if pressure = 3", "no side named 'pressure'"),
        ("3*time*time", "multiplies sides"),
        ("3 <= time", "found '<=' at letter 3"),
        ("5 if catalyst = Fe", "catalyst must be Pd or Ni or Cu, got 'Fe'"),
        ("20 + catalyst", "catalyst is a list: write the cost of a value"),
        ("5 if time = 10", "time is no list: write the cost of a unit"),
        ("100 if catalyst = Pd", "every experiment must cost something"),
        (["20", "-1*time"], "some cost -40"),
        (["20", "-30 if catalyst = Ni"], "some cost -10"),
        ("1e999", "its numbers are too large"),
        ("20 + 1e999 time", "its numbers are too large"),
        ("1e300*1e300", "its numbers are too large"),
        ("20 + 1e308 time", "its numbers are too large"),
        (["20", "1e308*time"], "its numbers are too large"),
        (["20", "1e999 if catalyst = Ni"], "its numbers are too large"),
    ],
)
def test_what_is_no_cost_is_refused(run, costs, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        run.change(costs=costs)
    assert Experiment(run.path).status()["costs"] == COSTS


def test_names_and_values_are_written_as_elsewhere(tmp_path):
    sides = {"heat (°C)": (0, 10), "a=b": [1e-5, 2.0, "007", "1,4-dioxane"]}
    costs = ["1 + 2 heat (°C)", '3 if "a=b" = 2', '5 if "a=b" = "1,4-dioxane"', '7 if "a=b" = 1e-5']
    run = Experiment.create(tmp_path / "run.skgpb", sides, costs=costs)
    for value, more in ((2.0, 3.0), ("1,4-dioxane", 5.0), (1e-5, 7.0), ("007", 0.0)):
        entry = run.tell(1.0, at={"heat (°C)": 4, "a=b": value})
        assert entry["cost"] == 9.0 + more


def test_regions_have_no_costs(tmp_path):
    with pytest.raises(ValueError, match="costs are of single settings"):
        Experiment.create(tmp_path / "run.skgpb", ["x=0:1"], costs="1 + x", regions=True)


def test_the_shell_says_what_it_costs(tmp_path, capsys):
    path = str(tmp_path / "run.skgpb")
    new = ["new", path, "--bounds", *SIDES, *(each for text in COSTS for each in ("--cost", text))]
    assert main(new) == 0
    assert "an experiment costs 20 + 0.5*time; 100 if catalyst = Pd" in capsys.readouterr().out
    assert main(["ask", path]) == 0
    (entry,) = Experiment(path).pending()
    assert f"it costs {entry['cost']:g}\n" in capsys.readouterr().out
    assert main(["tell", path, "3"]) == 0
    assert f"1 answer, spent {entry['cost']:g}\n" in capsys.readouterr().out
    assert main(["change", path, "--cost", "none"]) == 0
    assert "spent" not in capsys.readouterr().out


# -- the optimizers ---------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [GPUCBOptimizer, EIOptimizer])
def test_the_cost_of_a_point_is_a_function(cls):
    box = {"time": (10, 60), "catalyst": ["Pd", "Ni", "Cu"]}
    optimizer = cls(bounds=box, cost=cost, random_state=0)
    spent = 0.0
    for i in range(13):
        query = optimizer.ask()
        spent += cost(query.params)
        optimizer.tell(query, float(i % 3))
    assert optimizer.spent_ == pytest.approx(spent)
    round = optimizer.posterior()
    settings = [optimizer.run_.space.setting(place) for place in optimizer.domain_.every_place()]
    assert round.cost.tolist() == [cost(setting) for setting in settings]


@pytest.mark.parametrize("cls", [GPUCBOptimizer, EIOptimizer])
def test_texts_ask_the_same_as_a_function_and_are_in_the_file(cls, tmp_path):
    box, asked = {"time": (10, 60), "catalyst": ["Pd", "Ni", "Cu"]}, []
    for each in (cost, SettingCosts(tuple(COSTS))):
        optimizer = cls(bounds=box, cost=each, random_state=0)
        for i in range(12):
            optimizer.tell(optimizer.ask(), float(i % 3))
        asked.append(optimizer.ask())
    assert asked[0] == asked[1]
    optimizer.save(tmp_path / "run.skgpb")
    assert cls.load(tmp_path / "run.skgpb").ask() == asked[1]
    with pytest.raises(TypeError, match="omit=\\['cost'\\]"):
        cls(bounds=box, cost=cost).start().save(tmp_path / "run.skgpb")


def test_a_function_is_for_points_of_a_box_and_positive():
    with pytest.raises(ValueError, match="cost may be a function if queries are all points"):
        EIOptimizer(queries=Cells(0.1), bounds=[(0, 1)], cost=lambda x: 1.0).start()
    with pytest.raises(ValueError, match="cost must be above 0 everywhere"):
        EIOptimizer(bounds=[(0, 1)], cost=lambda x: 0.0, random_state=0).ask()
    rows = EIOptimizer(bounds=[(0, 1)], cost=lambda x: 1.0 + x[0], random_state=0)
    assert rows.tell([[0.25]], [1.0]).spent_ == 1.25


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"cost": lambda p: p["t"]}, r"cost\(\{'T': .*\}\) raised KeyError\('t'\)"),
        ({"cost": lambda p: [1.0][int(p["T"]) + 1]}, r"cost\(.*raised IndexError"),
        ({"feasible": lambda p: p["t"] > 0}, r"feasible\(\{'T': .*\}\) raised KeyError\('t'\)"),
    ],
)
def test_a_key_that_a_function_misses_is_named_with_the_parameter(parameter, message):
    bounds = Box({"T": (0, 9)}, feasible=parameter.get("feasible"))
    optimizer = EIOptimizer(bounds=bounds, cost=parameter.get("cost"), random_state=0)
    with pytest.raises(ValueError, match=message):
        optimizer.ask()


@pytest.mark.parametrize(
    ("costs", "least"),
    [
        *(("20", 20.0), ("1 + x", 1.0), ("9 - x", 4.0), ("x", 0.0), ("5 - x", 0.0)),
        *((["3 - x", "1 + 3 x"], 4.0), (["9 - n", "0 x"], 0.5), ("9.5 - n + s", 1.001)),
        *((["6", "-2 if a = A", "-3 if a = B"], 3.0), (["6", "2 if a = A", "3 if a = B"], 8.0)),
        *((["6", "-2 if a = A", "-4 if b = 2"], 0.0), (["7", "-2 if a = A", "-4 if b = 2"], 1.0)),
        *((["6", "2 if a = A", "-5 if a = A"], 3.0), (["6", "7 if b = 2", "-8 if b = 2"], 5.0)),
        (["6", "1 if a = A", "1 if a = B", "-1 if b = 1", "-2 if b = 2", "-3 if b = 3"], 4.0),
    ],
)
def test_the_cheapest_setting_costs_something(costs, least):
    """Over all ends of ranges and values of lists."""
    sides = [Side.of("x", (0, 5)), Side.of("n", "1:8.5:0.5"), Side.of("s", "1e-3:1:log")]
    sides += [Side.of("a", ["A", "B"]), Side.of("b", [1, 2, 3])]
    if least > 0.0:
        found = read_costs(costs, sides)
        settings = itertools.product((0, 5), (1, 8.5), (1e-3, 1), "AB", (1, 2, 3))
        names = [side.name for side in sides]
        cheapest = min(found(dict(zip(names, each, strict=True))) for each in settings)
        assert cheapest == pytest.approx(least)
    else:
        with pytest.raises(ValueError, match=r"every experiment must cost something, .* some cost"):
            read_costs(costs, sides)
    assert read_costs([" ", ""], sides) is None

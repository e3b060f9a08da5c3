"""Mixtures of few of many parts: at most k of n, each at least a share if it is used."""

import numpy as np
import pytest
from scipy.stats import uniform

from skgpb import EIOptimizer, GPUCBOptimizer
from skgpb.domains import Box, Steps
from skgpb.domains.space import ParameterSpace

pytestmark = pytest.mark.one_in(3)

NAMES = "ABCDE"
SUM = " + ".join(NAMES) + " = 1"
RULE = f"at most 3 of {', '.join(NAMES)}"
LEAST = f"{RULE}, each at least 0.15 if used"


def holds(setting, least=0.0, total=True):
    """Return whether a setting satisfies the rules, by their definition."""
    used = [value for name, value in setting.items() if name in NAMES and abs(value) > 1e-9]
    is_whole = not total or abs(sum(setting[name] for name in NAMES) - 1.0) < 1e-9
    return len(used) <= 3 and all(value >= least - 1e-9 for value in used) and is_whole


@pytest.mark.one_in(4)
@pytest.mark.parametrize("side", [(0, 1), Steps(0, 1, 0.05)], ids=str)
@pytest.mark.parametrize(("rule", "least"), [(RULE, 0.0), (LEAST, 0.15)])
def test_all_points_keep_the_rules(side, rule, least):
    box = Box({**dict.fromkeys(NAMES, side), "heat": (20, 90)}, [SUM, rule])
    space, rng = ParameterSpace.from_bounds(box), np.random.default_rng(0)
    feasible, d = space.feasible, 6
    sample = feasible.sample(60, rng.random(d))
    drawn = [
        sample,
        feasible.design(8, 0, 1),
        feasible.around(sample[:4], 40, rng),
        feasible.usable(np.concatenate([sample, rng.random((20, d))])),
    ]
    assert [len(points) for points in drawn[:3]] == [60, 9, 40] and len(drawn[3]) >= 60
    for points in drawn:
        assert feasible.is_feasible(points).all()
        for point in points:
            setting = space.setting(point)
            assert holds(setting, least), setting
            assert space.is_feasible(point) and feasible.violations(point) == []
    # Single parts and all choices of parts are among them.
    choices = {
        tuple(np.flatnonzero(np.abs(p[:5]) > 1e-9)) for p in feasible.sample(60, rng.random(d))
    }
    assert len(choices) >= (20 if least else 10)
    other, _ = np.split(feasible.around(sample[:1], 40, rng)[:, :5] > 1e-9, [40])
    assert len(np.unique(other, axis=0)) > 1


def test_points_that_break_a_rule_are_not_feasible():
    space = ParameterSpace.from_bounds(Box(dict.fromkeys(NAMES, (0, 1)), [SUM, LEAST]))
    points = np.array(
        [
            [0.5, 0.5, 0, 0, 0],
            [0.25, 0.25, 0.25, 0.25, 0],
            [0.9, 0.1, 0, 0, 0],
            [0.5, 0.4, 0, 0, 0],
        ]
    )
    assert space.feasible.is_feasible(points).tolist() == [True, False, False, False]
    assert [space.feasible.violations(point) for point in points] == [[], [LEAST], [LEAST], [SUM]]
    moved, mask = space.feasible.satisfy_equations(points[:2], [0])
    np.testing.assert_allclose(moved, points[:2])
    assert mask.tolist() == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("cls", [GPUCBOptimizer, EIOptimizer])
def test_a_search_keeps_the_rules_and_finds_the_best_two_parts(cls):
    opt = cls(bounds=Box(dict.fromkeys(NAMES, (0, 1)), [SUM, LEAST]), random_state=0)
    for _ in range(18):
        query = opt.ask()
        assert holds(query.params, 0.15)
        opt.tell(query, query.params["B"] + 2 * query.params["E"] * (1 + query.params["B"]))
    best = opt.recommend().params
    assert holds(best, 0.15) and best["E"] + best["B"] > 0.8


@pytest.mark.slow
def test_the_rule_holds_after_the_box_changes():
    opt = GPUCBOptimizer(bounds=Box(dict.fromkeys(NAMES, (0, 1)), [SUM, RULE]), random_state=0)
    for _ in range(6):
        query = opt.ask()
        opt.tell(query, query.params["A"])
    fewer = {name: (0, 1) if name != "A" else [0.0] for name in NAMES}
    opt.set_params(bounds=Box(fewer, [SUM, f"at most 2 of {', '.join(NAMES[1:])}"]))
    for query in opt.ask(5):
        assert query.params["A"] == 0.0 and holds(query.params)
        assert sum(value > 1e-9 for value in query.params.values()) <= 2


@pytest.mark.parametrize(
    ("sides", "constraints", "message"),
    [
        (
            {"A": (0, 1), "B": (0, 1)},
            "at most two of A, B",
            "must be like 'at most 3 of A, B, C, D'",
        ),
        (
            {"A": (0, 1), "B": (0, 1)},
            "at most 1 of A, Z",
            "'Z' must be a side whose smallest value",
        ),
        (
            {"A": (0, 1), "B": (1, 2)},
            "at most 1 of A, B",
            "'B' must be a side whose smallest value",
        ),
        ({"A": (0, 0.4), "B": (0, 0.4)}, ["A + B = 0.7", "at most 1 of A, B"], "leave no setting"),
        ({"A": (0, 1), "B": (0, 1)}, ["at most 1 of A, B"] * 2, "may have one rule on the number"),
        (
            {f"p{i}": (0, 1) for i in range(40)},
            "at most 9 of " + ", ".join(f"p{i}" for i in range(40)),
            "more than 20000 choices",
        ),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(sides, constraints, message):
    with pytest.raises(ValueError, match=message):
        ParameterSpace.from_bounds(Box(sides, constraints))


def test_parts_with_a_least_share_are_pairs_or_have_steps():
    with pytest.raises(ValueError, match=r"'A' must be a pair \(0, high\), or have steps"):
        ParameterSpace.from_bounds(
            Box({"A": uniform(0, 1), "B": (0, 1)}, "at most 1 of A, B, each at least 0.1 if used")
        )

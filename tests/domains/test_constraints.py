"""Constraints on the settings of a box, and sides that are set in steps."""

import pickle
import re
from fractions import Fraction

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skgpb import EIOptimizer, GPOOOptimizer, GPTSOptimizer, GPUCBOptimizer, KGOptimizer
from skgpb.domains import Box, Cells, Steps
from skgpb.domains.linear import read_constraints
from skgpb.domains.space import ParameterSpace

PERCENT = dict.fromkeys("ABC", (0, 100))
MIXTURE = ["A + B + C = 1"]
# Sides of all kinds, equations and inequalities, loose and tight.
BOXES = {
    "inequality": Box(PERCENT, "A + B <= 100"),
    "mixture": Box(dict.fromkeys("ABC", (0, 1)), MIXTURE),
    "mixture in steps": Box({name: Steps(0, 1, 0.05) for name in "ABC"}, MIXTURE),
    "mixture in default steps": Box({name: Steps(0, 1) for name in "ABC"}, MIXTURE),
    "different steps": Box(
        {"A": Steps(0, 100, 5), "B": Steps(0, 100, 0.5), "C": Steps(0, 10, 0.1)},
        ["A + B + C = 100", "A >= 2*B"],
    ),
    "a step and a number": Box(
        {"A": Steps(0, 100, 1), "B": (0, 100), "cat": ["x", "y"]}, ["A + B = 100", "A <= 30"]
    ),
    "uneven values": Box({"A": [1, 2, 5, 10], "B": (0, 100)}, "A + B <= 12"),
    "log": Box({"A": Steps(1e-4, 0.1, log=True), "B": (0, 1)}, "10*A + B <= 0.5"),
    "no volume": Box(PERCENT, ["A + B + C >= 300 - B/2", "B = 100"]),
    "function": Box(PERCENT, "A <= 90", lambda s: (s["A"] - 50) ** 2 + s["B"] ** 2 < 900),
    "eight parts": Box(
        {name: Steps(0, 100) for name in "ABCDEFGH"},
        ["A+B+C+D+E+F+G+H = 100", "A >= 10", "B + C <= 30"],
    ),
}


def possible(box, setting):
    """Return whether a setting satisfies all constraints, in exact arithmetic for steps."""
    sides = {n: Fraction(str(v)) for n, v in setting.items() if not isinstance(v, str)}
    for text in box.constraints:
        # Python is the reference for arithmetic; the library itself never runs a text.
        left, relation, right = re.split("(<=|>=|=)", text)
        gap = eval(f"({left}) - ({right})", {}, dict(sides))
        scale = Fraction(1, 10**9) * max(1, abs(gap), 100)
        exact = all(isinstance(box[n], Steps) and not box[n].log for n in sides if n in text)
        slack = 0 if exact else scale
        if {"<=": gap > slack, ">=": gap < -slack, "=": abs(gap) > slack}[relation]:
            return False
    for name, value in setting.items():
        side = box[name]
        if isinstance(side, Steps):
            assert value in side.grid
        elif isinstance(side, list):
            assert value in side
        else:
            assert side[0] <= value <= side[1]
    return box.feasible is None or box.feasible(setting)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", BOXES)
def test_nothing_impossible_is_asked_considered_or_recommended(name):
    box = BOXES[name]
    opt = GPUCBOptimizer(bounds=box, n_candidates=200, n_initial=5, random_state=0)
    weights = {side: i + 1.0 for i, side in enumerate(box)}

    def value(params):
        return (
            sum(
                w * (p if not isinstance(p, str) else 1)
                for (w, p) in zip(weights.values(), params.values(), strict=True)
            )
            / 100
        )

    for _ in range(9):
        query = opt.ask()
        assert possible(box, query.params), query.params
        opt.tell(query, value(query.params))
    space = opt.run_.space
    for row in [*cases.rows(opt), *opt.domain_.rivals()[::7], *space.feasible.vertices]:
        assert possible(box, space.setting(row)), space.setting(row)
    assert possible(box, opt.recommend().params)
    assert len(np.unique(cases.rows(opt), axis=0)) > (50 if name != "no volume" else 10)


@pytest.mark.parametrize("d", [3, 5])
def test_vertices_stay_candidates(d):
    names = "ABCDE"[:d]
    box = Box(dict.fromkeys(names, (0, 1)), ["+".join(names) + " = 1", "A <= 0.5"])
    opt = GPUCBOptimizer(bounds=box, n_candidates=60, n_initial=3, random_state=0)
    for _ in range(12):
        query = opt.ask()
        opt.tell(query, query.params["B"])
    units = np.eye(d)
    expected = [*units[1:], *(0.5 * (units[0] + unit) for unit in units[1:])]
    assert len(opt.run_.space.feasible.vertices) == len(expected)
    far = [np.abs(cases.rows(opt) - vertex).max(axis=1).min() for vertex in expected]
    assert_allclose(far, 0.0, atol=1e-6)


def test_vertices_are_left_out_where_they_may_be_many():
    names = [f"x{i}" for i in range(8)]
    box = Box(dict.fromkeys(names, (0, 1)), " + ".join(names) + " <= 4.5")
    assert len(ParameterSpace.from_bounds(box).feasible.vertices) == 0


def test_every_setting_of_a_coarse_mixture_is_a_candidate():
    opt = GPUCBOptimizer(bounds=BOXES["mixture in steps"], random_state=0).start()
    numbers = {(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)}
    found = {tuple(np.round(row * 20).astype(int).tolist()) for row in cases.rows(opt)}
    assert found == numbers


@pytest.mark.parametrize("sides", ["kx", "xk"])
@pytest.mark.parametrize("kind", [range(101), Steps(0, 100, 1)], ids=["integers", "steps"])
def test_what_has_no_steps_makes_up_for_what_has(sides, kind):
    given = {"k": kind, "x": (0, 10)}
    space = ParameterSpace.from_bounds(Box({name: given[name] for name in sides}, "k + x = 50"))
    points = space.feasible.sample(200, np.full(2, 0.3))
    settings = [space.setting(point) for point in points]
    assert {(each["k"], each["x"]) for each in settings} == {(40 + i, 10 - i) for i in range(11)}


def test_equations_of_different_sides_hold_at_once():
    box = Box(dict.fromkeys("ABCD", (0, 1)), ["A + B = 1", "C + D = 1"])
    space = ParameterSpace.from_bounds(box)
    points = space.feasible.sample(50, np.full(4, 0.3))
    assert_allclose(points[:, :2].sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert_allclose(points[:, 2:].sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert len(np.unique(points, axis=0)) == 50


def test_of_few_steps_all_are_candidates_and_no_others():
    box = Box({"A": Steps(0, 1, 0.25), "B": Steps(10, 20, 5)})
    opt = GPUCBOptimizer(bounds=box, random_state=0).start()
    settings = {(a / 4, b) for a in range(5) for b in (10, 15, 20)}
    assert {tuple(row) for row in cases.rows(opt).tolist()} == settings
    assert len(cases.rows(opt)) == len(settings)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("d", range(3, 9))
def test_mixtures_are_sampled_uniformly(d):
    names = [f"x{i}" for i in range(d)]
    box = Box(dict.fromkeys(names, (0, 1)), " + ".join(names) + " = 1")
    feasible = ParameterSpace.from_bounds(box).feasible
    n = 2000
    X = feasible._hit_and_run(n, np.random.default_rng(0))
    assert_allclose(X.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert (X >= 0.0).all()
    # Uniform is Dirichlet(1, ..., 1): mean 1/d, variance (d - 1) / (d^2 (d + 1)), and each part
    # is above a half in a share 2^(1 - d) of all. Five standard errors.
    var = (d - 1) / (d**2 * (d + 1))
    assert np.abs(X.mean(axis=0) - 1 / d).max() < 5 * np.sqrt(var / n)
    share = 0.5 ** (d - 1)
    error = np.sqrt(share * (1 - share) / n)
    assert np.abs((X > 0.5).mean(axis=0) - share).max() < 5 * error


@pytest.mark.parametrize("relations", [["="], ["<=", ">="]])
@pytest.mark.parametrize("total", [1, 12])
def test_two_inequalities_that_leave_a_line_are_sampled_as_its_equation(relations, total):
    constraints = [f"A + B {relation} {total}" for relation in relations]
    box = Box({"A": (0, total), "B": (0, total)}, constraints)
    X = ParameterSpace.from_bounds(box).feasible._hit_and_run(2000, np.random.default_rng(0))
    assert_allclose(X.sum(axis=1), total, rtol=1e-6)
    # Uniform along the line: five standard errors of a mean and a spread.
    shares = X / total
    assert np.abs(shares.mean(axis=0) - 0.5).max() < 5 / np.sqrt(12 * 2000)
    assert np.abs(shares.std(axis=0) * np.sqrt(12.0) - 1.0).max() < 5 / np.sqrt(5 * 2000)


def test_the_first_design_of_a_mixture_leaves_no_gaps():
    opt = GPUCBOptimizer(bounds=BOXES["mixture"], random_state=0)
    asked = np.array([list(opt.ask(another=True).params.values()) for _ in range(10)])
    everywhere = np.random.default_rng(1).dirichlet([1, 1, 1], 2000)
    gaps = np.sqrt(((everywhere[:, None] - asked) ** 2).sum(axis=2)).min(axis=1)
    # Ten discs that cover the triangle of side sqrt(2) have a radius of at least 0.17.
    assert gaps.max() < 0.4


def test_an_optimum_on_a_boundary_is_found_exactly_enough():
    box = Box({"A": (0, 1), "B": (0, 1)}, "A + B <= 1")
    opt = GPUCBOptimizer(bounds=box, alpha=1e-6, random_state=0)
    result = opt.run(lambda q: q.params["A"] + 2 * q.params["B"] - q.params["A"] ** 2, 25)
    # On A + B = 1 it is 2 - A - A^2, largest at A = 0.
    assert_allclose(list(result.x.params.values()), [0.0, 1.0], atol=2e-3)


@pytest.mark.parametrize("optimizer", [EIOptimizer, GPTSOptimizer])
def test_all_rules_keep_constraints(optimizer):
    opt = optimizer(bounds=BOXES["different steps"], n_candidates=60, random_state=0)
    opt.run(lambda query: float(query.points.sum()), budget=12)
    for place in opt.history_["descriptor"][:, :3]:
        assert possible(BOXES["different steps"], dict(zip("ABC", place.tolist(), strict=True)))


def test_contexts_are_beside_constraints():
    opt = GPUCBOptimizer(
        bounds=Box({"A": (0, 1), "B": (0, 1)}, "A + B = 1"),
        context_bounds={"day": (0, 7)},
        n_candidates=50,
        random_state=0,
    )
    for day in range(6):
        query = opt.ask(context={"day": day})
        assert_allclose(query.params["A"] + query.params["B"], 1.0, rtol=0, atol=1e-12)
        opt.tell(query, query.params["A"])


IMPOSSIBLE = {
    ("A + B >= 250",): r"A \+ B is from 0 to 200 within the sides, and must be at least 250",
    ("A = 200",): "A is from 0 to 100 within the sides, and must be = 200",
    ("C <= 7", "A + B <= 50", "A >= 30", "B >= 30"): r"'A \+ B <= 50' and 'A >= 30' and 'B >= 30'",
}


@pytest.mark.parametrize("constraints", IMPOSSIBLE)
def test_the_impossible_is_refused_with_the_reason(constraints):
    with pytest.raises(ValueError, match=IMPOSSIBLE[constraints]) as caught:
        GPUCBOptimizer(bounds=Box(PERCENT, constraints)).start()
    assert "C <= 7" not in str(caught.value)


def test_what_cannot_be_set_is_refused():
    steps = {name: Steps(0, 100, 1) for name in "AB"}
    with pytest.raises(ValueError, match="at any values that can be set"):
        GPUCBOptimizer(bounds=Box(steps, "A + B = 0.5")).start()
    with pytest.raises(ValueError, match=r"feasible\(params\) was false for all of them"):
        GPUCBOptimizer(bounds=Box(steps, feasible=lambda s: False)).start()


@pytest.mark.parametrize("given", [None, "no", float("nan"), 1.0, [True], np.array([True])])
def test_feasible_returns_true_or_false(given):
    with pytest.raises(TypeError, match="feasible must return True or False, got"):
        GPUCBOptimizer(bounds=Box({"x": (0, 1)}, feasible=lambda s: given)).start()
    box = Box({"x": (0, 1)}, feasible=lambda s: np.float64(s["x"]) < 0.5)
    assert GPUCBOptimizer(bounds=box).ask().params["x"] < 0.5


WRONG = {
    "A * B <= 3": "multiplies sides",
    "1 / A <= 3": "divides by a side",
    "A + D <= 1": "there is no side named 'D'; the sides are",
    "A + B": "no <=, >= or =",
    "A < 3": "write <= for <",
    "2,5*A <= 3": "a point, not a comma",
    "A / 0 <= 3": "divides by 0",
    "(A <= 3": "a closing bracket, found '<=' at letter 4",
    "A <=": "expected a side or a number, found the end",
    "1 <= 2": "no side is left",
    "__import__('os') <= 3": "no side named '__import__'",
    "cat <= 3": "cat is not a number",
    "1e999 * A <= 1": "too large",
    "(" * 30 + "A" + ")" * 30 + " <= 3": "brackets or nots within each other",
    "A" + " + A" * 500 + " <= 3": "at most 1000 characters",
}


@pytest.mark.parametrize(
    ("typed", "meant"), [("acid", "acid (%)"), ("watr", "water"), ("Water", "water")]
)
def test_a_name_that_is_mistyped_is_recognised(typed, meant):
    sides = {"acid (%)": (0, 100), "water": (0, 100)}
    says = re.escape(f"there is no side named {typed!r}; did you mean {meant!r}?")
    with pytest.raises(ValueError, match=says):
        GPUCBOptimizer(bounds=Box(sides, [f"{typed} <= 50"])).start()


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_linear_constraint_is_refused(text):
    sides = {"A": (0, 1), "B": (0, 1), "cat": ["x", "y"]}
    with pytest.raises(ValueError, match=WRONG[text]):
        GPUCBOptimizer(bounds=Box(sides, [text])).start()


READ = {
    "A + B <= 100": ([({"A": 1, "B": 1}, 100, False)]),
    "A ≥ 2 B - 3": ([({"A": -1, "B": 2}, 3, False)]),
    "10 <= 2*A - B/4 <= 5e1": [
        ({"A": -2, "B": 0.25}, -10, False),
        ({"A": 2, "B": -0.25}, 50, False),
    ],
    "2(A + 3*(B - 1)) == 1 - A": [({"A": 3, "B": 6}, 7, True)],
    "-A + A + B = .5": [({"B": 1}, 0.5, True)],
    "heat (°C) + 2 salt, dry - A - B <= 3": [
        ({"heat (°C)": 1, "salt, dry": 2, "A": -1, "B": -1}, 3, False)
    ],
    "A - B + A-B <= 3": [({"A": 1, "B": -1, "A-B": 1}, 3, False)],
}


@pytest.mark.parametrize("text", READ)
def test_constraints_are_read_as_people_write_them(text):
    names = ["A", "B", "heat (°C)", "salt, dry", *(["A-B"] if "A-B" in text else [])]
    read = [(dict(c.coefficients), c.bound, c.equal) for c in read_constraints([text], names)]
    assert read == READ[text]


def test_where_constraints_make_no_sense_they_are_refused():
    box = Box({"A": (0, 1), "B": (0, 1)}, "A + B <= 1")
    for refused in (
        GPOOOptimizer(bounds=box),
        GPUCBOptimizer(bounds={"A": (0, 1)}, context_bounds=Box({"B": (0, 1)}, "B <= 0.5")),
        KGOptimizer(bounds=box),
        GPUCBOptimizer(bounds=box, queries=Cells([0.1, 0.1])),
    ):
        with pytest.raises(ValueError, match="must have no constraints"):
            refused.start()
    with pytest.raises(ValueError, match="must have no Steps"):
        GPOOOptimizer(bounds={"A": Steps(0, 1)}).start()
    opt = GPUCBOptimizer(bounds=box, random_state=0)
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(ValueError, match="side must be None if the box has constraints"):
        opt.recommend(side=0.1)


def test_runs_with_constraints_are_saved_copied_and_cloned(tmp_path):
    box = BOXES["different steps"]
    opt = GPUCBOptimizer(bounds=box, random_state=0)
    opt.run(lambda query: float(query.points.sum()), budget=12)
    opt.save(tmp_path / "run")
    loaded = GPUCBOptimizer.load(tmp_path / "run")
    assert loaded.bounds.constraints == box.constraints
    for other in (loaded, pickle.loads(pickle.dumps(opt))):
        assert other.ask() == opt.ask()
    again = clone(opt).run(lambda query: float(query.points.sum()), budget=12)
    assert again.x == opt.recommend()


def test_what_was_measured_outside_counts_and_is_not_recommended():
    box = Box({"A": Steps(0, 100, 1), "B": (0, 100)}, "A + B <= 100")
    opt = GPUCBOptimizer(bounds=box, random_state=0)
    opt.tell({"A": 90.5, "B": 90}, 50.0)
    for _ in range(12):
        query = opt.ask()
        assert possible(box, query.params)
        opt.tell(query, query.params["A"] / 100)
    assert possible(box, opt.recommend().params)
    assert opt.history_["descriptor"][0, 0] == 90.5


# -- steps ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "step", "n"),
    [((20, 90), 0.1, 701), ((0, 1), 0.001, 1001), ((0, 101), 1, 102), ((0.3, 0.7), 0.001, 401)],
)
def test_steps_suit_the_range(ends, step, n):
    grid = Steps(*ends).grid
    assert len(grid) == n
    assert (grid[0], grid[-1]) == ends
    assert_array_equal(grid, [float(f"{x:.12g}") for x in ends[0] + step * np.arange(n)])


def test_ends_can_be_set_whatever_the_steps():
    grid = Steps(20.05, 90.02).grid
    assert (grid[0], grid[1], grid[-2], grid[-1]) == (20.05, 20.1, 90.0, 90.02)


def test_steps_of_a_log_scale_have_three_digits():
    side = Steps(1e-4, 0.1, log=True)
    assert all(float(f"{x:.3g}") == x for x in side.grid)
    # Rounding to three digits moves a value by half a percent at most; a decade has 200.
    ratios = np.diff(np.log10(side.grid))
    assert ratios.max() < 1 / 200 + 2 * np.log10(1.005)
    assert_array_equal(side.numbers(side.middles()), side.grid)


def test_what_is_told_may_lie_between_steps():
    opt = GPUCBOptimizer(bounds={"heat": Steps(20, 90, 5)}, random_state=0)
    query = opt.ask()
    assert query.params["heat"] % 5 == 0
    opt.tell({"heat": 64.55}, 1.0)
    assert opt.history_["descriptor"][0, 0] == 64.55
    for _ in range(20):
        query = opt.ask()
        assert query.params["heat"] % 5 == 0
        opt.tell(query, -((query.params["heat"] - 61) ** 2))
    assert opt.recommend().params == {"heat": 60.0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((0, 1, 2), "step"), ((0, 1, 1e-9), "step"), ((0, 1, None, True), "low must be above 0")],
)
def test_impossible_steps_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        Steps(*arguments)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "rule",
    [
        {"constraints": ["x + y <= 1.5"]},
        {"constraints": ["x + y = 0.9"]},
        {"feasible": lambda params: params["x"] + params["y"] <= 1.5},
    ],
    ids=["linear", "equation", "function"],
)
def test_a_rule_between_two_sides_leaves_the_first_design_of_the_others_as_it_is(rule):
    """Values of a list, and integers up to their ends, occur as often as without the rule."""
    kinds, n = list("ABCDEFGH"), 10
    sides = {"x": (0.0, 1.0), "y": (0.0, 1.0), "kind": kinds, "n": range(1, 7), "z": (0.0, 1.0)}
    space = ParameterSpace.from_bounds(Box(sides, **rule))
    counts = dict.fromkeys([*kinds, *sides["n"]], 0)
    for seed in range(6):
        design = [space.setting(point) for point in space.feasible.design(n, seed, 2)[:n]]
        assert {params["kind"] for params in design} == set(kinds)
        assert {params["n"] for params in design} == set(sides["n"])
        z = [params["z"] for params in design]
        assert min(z) < 0.15 and max(z) > 0.85
        for params in design:
            counts[params["kind"]] += 1
            counts[params["n"]] += 1
    # An equal share of the 60 of each side is 7.5 and 10; each design has one or two of a kind.
    assert all(6 <= counts[kind] <= 12 for kind in kinds)
    assert all(6 <= counts[number] <= 14 for number in sides["n"])

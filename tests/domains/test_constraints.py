"""Constraints on the settings of a box, and sides that are set in steps."""

import itertools
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
from skgpb.domains.costs import SettingCosts
from skgpb.domains.linear import Linear, read_constraints, read_sum, substitute_constants
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


@pytest.mark.one_in(6)
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
    ("C <= 7", "A + B <= 50", "A >= 30", "B >= 30"): r"'A \+ B <= 50' and 'A >= 30' and 'B >= 30' "
    "cannot hold together within the sides$",
}


@pytest.mark.parametrize("constraints", IMPOSSIBLE)
def test_the_impossible_is_refused_with_the_reason(constraints):
    with pytest.raises(ValueError, match=IMPOSSIBLE[constraints]) as caught:
        GPUCBOptimizer(bounds=Box(PERCENT, constraints)).start()
    assert "C <= 7" not in str(caught.value)


def test_what_cannot_be_set_is_refused():
    steps = {name: Steps(0, 100, 1) for name in "AB"}
    with pytest.raises(
        ValueError, match=r"'A \+ B = 0.5' cannot hold, at any values that can be set"
    ):
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


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (105, 5105, 10),
        (-5105, -105, 10),
        (-123.4, 81.3, 1),
        (2003, 99_999, 100),
        (0.0123, 0.1, 1e-4),
        (-30_000, -29_999.9953287, 1e-5),
    ],
)
def test_default_steps_are_the_multiples_of_a_power_of_ten_between_the_ends(low, high, step):
    side = Steps(low, high)
    multiples = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)
    assert side.default_step == side.shown_step == step
    assert_allclose(side.grid, np.unique([low, *np.round(multiples, 9), high]), atol=1e-9)


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
    [((0, 1, 2), "step"), ((0, 1, 0.99e-4), "step"), ((0, 1, None, True), "low must be above 0")],
)
def test_impossible_steps_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        Steps(*arguments)
    assert len(Steps(0, 1, 1e-4).grid) == 10_001 and len(Steps(0, 1, 1).grid) == 2


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


# -- linear sums, compared with arithmetic --------------------------------------------------------


def random_sum(rng, names, depth=0):
    """Return a random sum of sides as a text that is Python as well."""

    def term():
        number, side = f"{rng.integers(1, 40) / 4:g}", rng.choice(names)
        match rng.integers(6 if depth < 2 else 4):
            case 0:
                return number
            case 1:
                return f"{number}*{side}"
            case 2:
                return f"{side}/{number}"
            case 3:
                return side
            case 4:
                return f"{number} * ({random_sum(rng, names, depth + 1)})"
        return f"({random_sum(rng, names, depth + 1)}) / -{number}"

    text = rng.choice(["", "-", "+"]) + term()
    for _ in range(rng.integers(3)):
        text += rng.choice([" + ", " - ", "-", " - -"]) + term()
    return text


@pytest.mark.parametrize("seed", range(30))
def test_a_linear_text_has_the_value_that_arithmetic_gives_it(seed):
    rng, names = np.random.default_rng(seed), ["A", "B", "time"]
    sides = dict(zip(names, (rng.integers(-8, 9, 3) / 4).tolist(), strict=True))
    left, right = random_sum(rng, names), random_sum(rng, names)
    value, other = (float(eval(text, {}, sides)) for text in (left, right))
    total = read_sum(left, names)
    assert sum(c * (sides[n] if n else 1.0) for n, c in total.items()) == pytest.approx(value)
    for relation in ("<=", ">=", "="):
        text = f"{left} {relation} {right} + 99*time"
        (each,) = read_constraints([text], names)
        assert each.equal == (relation == "=") and all(c for _, c in each.coefficients)
        gap = sum(c * sides[n] for n, c in each.coefficients) - each.bound
        apart = value - other - 99 * sides["time"]
        assert gap == pytest.approx(-apart if relation == ">=" else apart)
        rest = substitute_constants(each, {"A": sides["A"], "other": 3.0})
        assert "A" not in dict(rest.coefficients) and rest.equal == each.equal
        again = sum(c * sides[n] for n, c in rest.coefficients) - rest.bound
        assert again == pytest.approx(gap)
        # Its left side is read as itself.
        if each.bound:
            (same,) = read_constraints([f"{each.left} <= {each.bound!r}"], names)
            assert dict(same.coefficients) == pytest.approx(dict(each.coefficients), rel=1e-4)


def test_the_left_side_of_a_relation_is_written_without_ones():
    given = (("A", -1.0), ("B", 1.0), ("C", -2.5), ("D", 0.25))
    assert Linear("", given, 1.0, False).left == "-A + B - 2.5*C + 0.25*D"
    assert Linear("", given[1:], 1.0, False).left == "B - 2.5*C + 0.25*D"


def test_costs_are_sums_of_amounts_that_hold():
    cost = SettingCosts(("20 + 0.5*time - heat/4", "100 if catalyst = Pd", '7*time if n = "2"'))
    for time, heat, catalyst, n in itertools.product((0, 3.5), (8, -2), ("Pd", "Ni"), (2, 2.0, 3)):
        setting = {"time": time, "heat": heat, "catalyst": catalyst, "n": n}
        expected = 20 + 0.5 * time - heat / 4 + 100 * (catalyst == "Pd") + 7 * time * (n == 2)
        assert cost(setting) == expected
    assert SettingCosts(('3 if word = "a ""b"""',))({"word": 'a "b"'}) == 3.0
    assert SettingCosts(('3 if word = "',))({"word": '"'}) == 3.0
    assert SettingCosts(("3 if word = true",))({"word": 1}) == 0.0
    for text, said in {
        "2*tme": "did you mean 'time'",
        "5 if kind = a": "no side named 'kind'",
        "time*heat": "multiplies sides",
        "1e999": "too large",
        "3 4": "found '4' at letter 3",
    }.items():
        with pytest.raises(ValueError, match=re.escape(said)):
            SettingCosts((text,))({"time": 1, "heat": 2})


# -- membership and moves, compared with arithmetic -----------------------------------------------


@pytest.mark.parametrize("name", [name for name in BOXES if name != "log"])
def test_which_points_are_feasible_is_what_arithmetic_says(name):
    box = BOXES[name]
    space = ParameterSpace.from_bounds(box)
    feasible, rng = space.feasible, np.random.default_rng(0)
    inside = feasible.sample(40, rng.random(space.n_axes))
    assert inside.shape == (40, space.n_axes)
    anywhere = space.rounded_to_grid(rng.uniform(*space.bounds.T, (40, space.n_axes)))
    moved = inside.copy()
    moved[:, 0] = anywhere[:, 0]
    points = np.concatenate([inside, anywhere, moved])
    expected = [possible(box, space.setting(point)) for point in points]
    assert_array_equal(feasible.is_feasible(points), expected)
    assert all(expected[:40]) and not all(expected)
    assert_array_equal([space.is_feasible(point) for point in points], expected)
    for point, holds in zip(points, expected, strict=True):
        setting = space.setting(point)
        violated = [text for text in box.constraints if not possible(Box(box.sides, text), setting)]
        assert feasible.violations(point) == violated
        assert bool(violated) <= (not holds)
    assert_array_equal(feasible.usable(points), points[expected])
    # Steps from feasible points end at feasible ones, and get somewhere.
    reached = feasible.step_feasibly(inside, anywhere[:40], rng)
    assert all(possible(box, space.setting(point)) for point in reached)
    if name != "no volume" and box.feasible is None:
        assert (reached != inside).any(axis=1).mean() > 0.5
    arrived = feasible.step_feasibly(inside, inside[::-1], rng)
    close = np.abs(arrived - inside[::-1]) <= 1e-6 * np.diff(space.bounds)[:, 0]
    if box.feasible is None:  # what is linear is convex
        assert close.all(axis=1).mean() > 0.95
    assert (np.abs(feasible.step_feasibly(inside, inside, rng) - inside) < 1e-6).all()


def test_a_step_outside_goes_on_along_the_boundary():
    space = ParameterSpace.from_bounds(Box({"A": (0, 1), "B": (0, 1)}, "A + B <= 1"))
    start, goal = np.array([[0.5, 0.25]]), np.array([[1.0, 0.75]])
    reached = space.feasible.step_feasibly(start, goal, np.random.default_rng(0))
    assert_allclose(reached, [[0.625, 0.375]], atol=1e-6)  # the nearest point of the boundary


def test_points_are_moved_onto_equations_by_the_sides_that_may_change():
    box = Box({"A": (0, 1), "B": (0, 1), "C": (0, 1), "D": (0, 5)}, "A + B + C = 1")
    space = ParameterSpace.from_bounds(box)
    points = np.array([[0.2, 0.3, 0.9, 4.0], [0.5, 0.2, 0.8, 1.0], [0.9, 0.8, 0.5, 2.0]])
    found, good = space.feasible.satisfy_equations(points, [0])
    # C has the largest mean of those that may change.
    assert_allclose(found[:2], [[0.2, 0.3, 0.5, 4.0], [0.5, 0.2, 0.3, 1.0]])
    assert good.tolist() == [True, True, False]
    found, good = space.feasible.satisfy_equations(points, [1, 2])
    assert_allclose(found[good], [[0.0, 0.2, 0.8, 1.0]])
    assert_array_equal(points[:, 2], [0.9, 0.8, 0.5])
    free = ParameterSpace.from_bounds(Box({"A": (0, 1), "B": (0, 1)}, "A + B <= 1"))
    found, good = free.feasible.satisfy_equations(points[:, :2], [0])
    assert_array_equal(found, points[:, :2])
    assert good.tolist() == [True, True, False]


@pytest.mark.parametrize("goal", [[0.9, 0.9], [0.1, 0.1], [0.5, 0.33]])
def test_the_nearest_possible_steps_are_found(goal):
    steps = {"A": Steps(0, 1, 0.125), "B": [0.0, 0.3, 0.4, 1.0]}
    space = ParameterSpace.from_bounds(Box(steps, ["A + B <= 1.2", "A - B <= 0.4"]))
    every = np.array([(a, b) for a in np.arange(9) / 8 for b in steps["B"]])
    every = every[(every.sum(axis=1) <= 1.2) & (every[:, 0] - every[:, 1] <= 0.4)]
    found = space.feasible._solution(space.feasible.linear, True, np.array(goal))
    away = np.abs(every - goal).sum(axis=1)
    assert (np.abs(every - found).max(axis=1) < 1e-6).any()
    assert np.abs(found - goal).sum() == pytest.approx(away.min(), abs=1e-6)
    settings = [tuple(space.setting(point).values()) for point in space.feasible.every_point]
    assert sorted(settings) == sorted(map(tuple, every.tolist()))


@pytest.mark.parametrize("more", [0, 2, 5])
def test_a_design_has_its_size_and_replacements_far_from_it(more):
    space = ParameterSpace.from_bounds(Box({"A": (0, 1), "B": (0, 1)}, "A + B <= 1"))
    design = space.feasible.design(8, 3, more)
    assert design.shape == (8 + more, 2) and len(np.unique(design, axis=0)) == 8 + more
    assert_array_equal(design[:8], space.feasible.design(8, 3, 0))
    assert (design.sum(axis=1) <= 1 + 1e-9).all()
    assert not np.array_equal(design[:8], space.feasible.design(8, 4, 0))
    few = ParameterSpace.from_bounds(Box({"A": range(3), "B": range(3)}, "A + B <= 2"))
    assert few.feasible.design(4, 0, 9).shape == (6, 2)  # every setting once


def test_sums_that_only_rounding_changes_satisfy_an_equation():
    space = ParameterSpace.from_bounds(Box(dict.fromkeys("ABC", (0, 0.1)), "A + B + C = 0.3"))
    assert 0.1 + 0.1 + 0.1 != 0.3
    assert space.feasible.is_feasible(np.full((1, 3), 0.1)).all()
    off = np.array([[0.1, 0.1, 0.1 - 1e-8], [0.1, 0.1, 0.1 - 1e-11]])
    assert space.feasible.is_feasible(off).tolist() == [False, True]
    space = ParameterSpace.from_bounds(Box(dict.fromkeys("ABC", (0, 0.1)), "A + B + C >= 0.3"))
    assert space.feasible.is_feasible(off).tolist() == [False, True]


def test_equations_that_leave_one_point_leave_that_point():
    box = Box({"A": (0, 1), "B": (0, 2), "x": (5, 6)}, ["A + B = 1", "A - B = 0.5"])
    space = ParameterSpace.from_bounds(box)
    points = space.feasible.sample(20, np.full(3, 0.3))
    assert_allclose(points[:, :2], np.tile([0.75, 0.25], (20, 1)), atol=1e-9)
    assert len(np.unique(points[:, 2])) > 10
    assert space.feasible.vertices.shape == (0, 3)


@pytest.mark.parametrize("seed", range(6))
def test_several_equations_are_solved_for_the_sides_that_they_determine(seed):
    rng = np.random.default_rng(seed)
    names, inner = "ABCDE", rng.uniform(0.3, 0.7, 5)
    rows = rng.integers(-3, 4, (2, 5))
    rows[:, rng.permutation(5)[:2]] = [[1, 2], [3, -1]]
    texts = [
        " + ".join(f"{c}*{name}" for c, name in zip(row, names, strict=True))
        + f" = {row @ inner:.12f}"
        for row in rows
    ]
    space = ParameterSpace.from_bounds(Box(dict.fromkeys(names, (0.0, 1.0)), texts))
    feasible = space.feasible
    pivots, factors, bounds = feasible._dependent_sides
    assert len(set(pivots)) == 2 and not factors[:, pivots].any()
    X = rng.random((20, 5))
    X[:, pivots] = bounds - X @ factors.T
    assert_allclose(X @ rows.T, np.tile(rows @ inner, (20, 1)), atol=1e-9)
    points = feasible.sample(30, rng.random(5))
    assert_allclose(points @ rows.T, np.tile(rows @ inner, (30, 1)), atol=1e-8)
    moved, good = feasible.satisfy_equations(rng.random((30, 5)), [0])
    assert_allclose(moved[good] @ rows.T, np.tile(rows @ inner, (good.sum(), 1)), atol=1e-8)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_units_of_sides_do_not_matter_to_a_design(unit):
    plain, other = (
        ParameterSpace.from_bounds(
            Box({"A": (0.0, width), "B": (0.0, 1.0)}, f"A <= {0.75 * width!r}")
        )
        for width in (1.0, unit)
    )
    design = other.feasible.design(8, 3, 2)
    assert_allclose(design / [unit, 1.0], plain.feasible.design(8, 3, 2), rtol=1e-9)

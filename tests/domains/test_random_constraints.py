"""Random boxes with constraints, compared with all settings, all vertices, and plain algebra."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from skgpb import defaults
from skgpb.domains import Box, Steps, constraints
from skgpb.domains.candidates import spread_points
from skgpb.domains.space import ParameterSpace

pytestmark = pytest.mark.one_in(3)

LISTS = [range(5), range(10, 50, 10), [1, 2, 5, 10], [-2.5, 0.25, 1.0], Steps(-1, 1, 0.5)]


def values_of(side):
    return side.grid.tolist() if isinstance(side, Steps) else list(side)


def random_relations(rng, sides, n, inner):
    """Return random constraints: texts, with coefficients and bounds; most hold at a setting."""
    out = []
    for _ in range(n):
        some = rng.permutation(list(sides))[: rng.integers(1, len(sides) + 1)].tolist()
        c = {name: int(rng.integers(1, 4) * rng.choice([-1, 1])) for name in some}
        relation = str(rng.choice(["<=", ">=", "="], p=[0.45, 0.45, 0.1]))
        room = int(rng.integers(-1, 4)) * {"<=": 1, ">=": -1, "=": 0}[relation]
        bound = sum(k * inner[name] for name, k in c.items()) + room
        text = " + ".join(f"{k}*{name}" for name, k in c.items()) + f" {relation} {bound:g}"
        out.append((text, c, relation, bound))
    return out


def holds(relation, setting):
    _, c, sign, bound = relation
    left = sum(k * Fraction(setting[name]) for name, k in c.items())
    return {"<=": left <= bound, ">=": left >= bound, "=": left == bound}[sign]


def leaves_numbers(relations, sides):
    """Return whether any numbers between the ends of the sides satisfy the relations."""
    names = list(sides)
    A, b, E, e = [], [], [], []
    for _, c, sign, bound in relations:
        row = [c.get(name, 0) for name in names]
        if sign == "=":
            E.append(row)
            e.append(bound)
        else:
            A.append(row if sign == "<=" else [-x for x in row])
            b.append(bound if sign == "<=" else -bound)
    ends = [(min(values_of(side)), max(values_of(side))) for side in sides.values()]
    found = linprog(np.zeros(len(names)), A or None, b or None, E or None, e or None, ends)
    return found.status == 0


@pytest.mark.parametrize("seed", range(18))
def test_of_finitely_many_settings_those_remain_that_satisfy_all_constraints(seed):
    rng = np.random.default_rng(seed)
    sides = {name: LISTS[rng.integers(len(LISTS))] for name in "abc"[: rng.integers(2, 4)]}
    every = [
        dict(zip(sides, each, strict=True))
        for each in itertools.product(*map(values_of, sides.values()))
    ]
    relations = random_relations(rng, sides, int(rng.integers(1, 5)), every[len(every) // 2])
    expected = [each for each in every if all(holds(r, each) for r in relations)]
    box = Box(sides | {"kind": ["u", "v"]}, [text for text, *_ in relations])
    if not expected:
        with pytest.raises(ValueError, match="the constraints leave no setting") as caught:
            ParameterSpace.from_bounds(box)
        words = str(caught.value)
        named = [r for r in relations if repr(r[0]) in words]
        distinct = {r[0]: r for r in named}.values()

        # None of those that it names is superfluous.
        def is_possible(some):
            if words.endswith("at any values that can be set"):
                return any(all(holds(r, each) for r in some) for each in every)
            return leaves_numbers(some, sides)

        assert named and not is_possible(named)
        for one in distinct:
            assert is_possible([r for r in named if r[0] != one[0]])
        return
    space = ParameterSpace.from_bounds(box)
    feasible = space.feasible
    points = feasible.every_point
    found = [space.setting(point) for point in points]
    pairs = [each | {"kind": kind} for each in expected for kind in "uv"]
    assert sorted(map(repr, found)) == sorted(map(repr, pairs))
    # As many of each, up to one, in random order.
    n = 2 * len(points) + 3
    drawn, other = (feasible.sample(n, np.full(space.n_axes, shift)) for shift in (0.3, 0.7))
    counts = [(drawn == point).all(axis=1).sum() for point in points]
    assert sum(counts) == n and np.ptp(counts) <= 1
    assert len(points) < 3 or not np.array_equal(drawn, other)
    anywhere = space.every_point()
    assert_array_equal(
        feasible.is_feasible(anywhere),
        [all(holds(r, space.setting(point)) for r in relations) for point in anywhere],
    )
    for point in anywhere[:: max(1, len(anywhere) // 20)]:
        violated = [r[0] for r in relations if not holds(r, space.setting(point))]
        assert feasible.violations(point) == list(dict.fromkeys(violated))
    # The nearest in sides of the box, by the sum over sides.
    X = np.array([[float(each[name]) for name in sides] for each in expected])
    used = [list(sides).index(space.names[i]) for i in feasible.sides]
    low, high = feasible.limits.T
    for goal in rng.uniform(low, high, (3, len(low))):
        nearest = feasible._solution(feasible.linear, True, goal)
        away = (np.abs(X[:, used] - goal) / (high - low)).sum(axis=1).min()
        assert (np.abs(nearest - goal) / (high - low)).sum() == pytest.approx(away, abs=1e-6)
    centers = points[rng.integers(len(points), size=30)]
    moved = feasible.step_feasibly(centers, space.neighbours(centers, 30, rng), rng)
    assert {space.setting(point)["kind"] for point in moved} <= {"u", "v"}
    assert all(any((point == other).all() for other in points) for point in moved)
    # A step is to the setting itself where that is possible.
    kept = feasible.step_feasibly(centers, centers[::-1].copy(), rng)
    assert (kept == centers[::-1]).all(axis=1).mean() > 0.9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2*A + B >= 31", "2*A + B is from -4 to 26 within the sides, and must be at least 31"),
        ("2*A - B <= -12", "2*A - B is from -10 to 20 within the sides, and must be at most -12"),
        ("A + 3*B = -13", "A + 3*B is from -12 to 38 within the sides, and must be = -13"),
        ("A + 3*B = 39", "A + 3*B is from -12 to 38 within the sides, and must be = 39"),
        ("B >= 10.5", "B is from -4 to 10 within the sides, and must be at least 10.5"),
        ("-A <= -9", "A is from 0 to 8 within the sides, and must be at least 9"),
    ],
)
def test_a_constraint_that_holds_nowhere_is_refused_with_the_range_of_its_sum(text, said):
    sides = {"A": (0, 8), "B": (-4, 10)}
    with pytest.raises(ValueError, match=re.escape(said)):
        ParameterSpace.from_bounds(Box(sides, text))
    ParameterSpace.from_bounds(Box(sides, ["A + 3*B = -12", "A + 3*B <= -12", "2*A - B >= 4"]))


# -- polytopes -------------------------------------------------------------------------------------


def random_polytope(seed):
    """Return a space of numbers with inequalities, and at times an equation, around a point."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 5))
    names = "ABCD"[:d]
    lower = np.round(rng.normal(size=d) * 10.0, 2)
    side = np.round(10.0 ** rng.integers(-1, 3, d) * rng.uniform(0.5, 1.0, d), 3)
    inner = lower + rng.uniform(0.3, 0.7, d) * side
    rows = rng.integers(-3, 4, (int(rng.integers(1, 4)), d)) / side
    equal = seed % 3 == 0 and d > 2
    texts, A, b = [], [], []
    for i, row in enumerate(rows):
        if not (i and row.any()):  # all sides are in some constraint
            row[:] = rng.choice([-2.0, -1.0, 1.0, 3.0], d) / side
        bound = row @ inner + (0.0 if equal and not i else rng.uniform(0.05, 0.6))
        left = " + ".join(f"{c!r}*{name}" for c, name in zip(row.tolist(), names, strict=True))
        texts.append(f"{left} {'=' if equal and not i else '<='} {float(bound)!r}")
        A.append(row)
        b.append(bound)
    box = Box(dict(zip(names, zip(lower.tolist(), (lower + side).tolist(), strict=True),
                       strict=True)), texts)  # fmt: skip
    A = np.vstack([A, np.eye(d), -np.eye(d)])
    b = np.concatenate([b, lower + side, -lower])
    return rng, ParameterSpace.from_bounds(box), A, b, int(equal), side


@pytest.mark.parametrize("seed", range(12))
def test_vertices_are_where_so_many_constraints_meet_as_there_are_sides(seed):
    rng, space, A, b, n_equal, side = random_polytope(seed)
    d, feasible = len(side), space.feasible
    scale = np.abs(A) @ side
    expected = []
    for some in itertools.combinations(range(n_equal, len(A)), d - n_equal):
        chosen = [*range(n_equal), *some]
        if np.linalg.cond(A[chosen] * side) < 1e9:
            x = np.linalg.solve(A[chosen], b[chosen])
            if (A @ x <= b + 1e-7 * scale).all():
                expected.append(x)
    found = feasible.vertices
    away = np.abs((found[:, None] - np.array(expected)) / side).max(axis=2)
    assert away.min(axis=1).max() < 1e-5 and away.min(axis=0).max() < 1e-5
    assert len(found) == len({tuple(np.round(x / side, 5)) for x in np.array(expected)})
    # The same polytope as rows, an inner point, and the directions in which it extends.
    R, bounds, inside, free = feasible._polytope
    assert free.shape == (d, d - n_equal)
    assert_allclose(free.T @ free, np.eye(d - n_equal), atol=1e-9)
    assert_allclose((A[:n_equal] * side) @ free, 0.0, atol=1e-9)
    assert (R @ inside < bounds - 1e-6).all()
    corners = (found - feasible.limits[:, 0]) / side
    assert ((corners @ R.T).max(axis=0) <= bounds + 1e-6).all()
    # Chains stay inside and get everywhere.
    drawn = feasible._hit_and_run(300, rng)
    assert (drawn @ A.T <= b + 1e-9 * scale).all()
    assert_allclose(drawn @ A[:n_equal].T, np.tile(b[:n_equal], (300, 1)), atol=1e-9 * scale.max())
    low, high = (corners @ free).min(axis=0), (corners @ free).max(axis=0)
    shares = ((drawn - feasible.limits[:, 0]) / side @ free - low) / (high - low)
    assert (shares.min(axis=0) < 0.4).all() and (shares.max(axis=0) > 0.6).all()


def naive_step(feasible, center, goal, low, side):
    """Return where a step from a feasible point towards a goal ends, in sides of the box."""
    R, bounds, _, free = feasible._polytope
    onto, at = free @ free.T, (center - low) / side
    end = at + onto @ ((goal - low) / side - at)
    for _ in range(20):
        for row, bound in zip(R, bounds, strict=True):
            normal = onto @ row
            end = end - max(0.0, (row @ end - bound) / (normal @ normal)) * normal
    near, far = 0.0, 1.0
    if (R @ end > bounds + 1e-9).any():
        for _ in range(40):
            middle = 0.5 * (near + far)
            is_inside = (R @ (at + middle * (end - at)) <= bounds).all()
            near, far = (middle, far) if is_inside else (near, middle)
        far = near
    return at + far * (end - at)


@pytest.mark.parametrize("seed", range(10))
def test_a_step_goes_to_the_projection_of_its_goal_and_not_outside(seed):
    rng, space, _, _, _, side = random_polytope(seed)
    low = space.bounds[:, 0]
    centers = space.feasible.sample(12, rng.random(len(side)))
    goals = low + rng.uniform(-0.2, 1.2, centers.shape) * side
    found = space.feasible.step_feasibly(centers, goals, rng)
    for center, goal, reached in zip(centers, goals, found, strict=True):
        expected = naive_step(space.feasible, center, goal, low, side)
        assert_allclose((reached - low) / side, expected, atol=1e-6)


@pytest.mark.parametrize("wide", [0.02, 0.3])
def test_steps_into_a_wedge_are_shortened_where_projections_do_not_converge(wide):
    box = Box({"A": (-1, 1), "B": (-1, 1)}, [f"B - {wide}*A <= 0", f"B - {wide / 2}*A >= 0"])
    space, rng = ParameterSpace.from_bounds(box), np.random.default_rng(0)
    starts = np.array([[a, 0.75 * wide * a] for a in rng.uniform(0.2, 0.9, 20)])
    goals = rng.uniform(-1, 1, (20, 2))
    found = space.feasible.step_feasibly(starts, goals, rng)
    expected = [
        naive_step(space.feasible, *each, np.full(2, -1.0), np.full(2, 2.0))
        for each in zip(starts, goals, strict=True)
    ]
    assert_allclose(0.5 * (found + 1.0), expected, atol=1e-6)


def test_points_of_a_small_part_of_a_box_are_uniform_whatever_the_units():
    for unit, start in ((1.0, 0.0), (100.0, 7.0)):
        sides = {"A": (start, start + unit), "B": (0.0, 1.0), "x": (0.0, 2.0)}
        box = Box(sides, f"{1 / unit!r}*A + B <= {start / unit + 0.05!r}")
        space = ParameterSpace.from_bounds(box)
        assert space.feasible._rejection_sample(200, np.full(3, 0.3)) is None
        points = space.feasible.sample(1500, np.array([0.1, 0.2, 0.3]))
        assert points.shape == (1500, 3)
        shares = np.column_stack([(points[:, 0] - start) / unit, points[:, 1]]) / 0.05
        # Uniform in a triangle: means 1/3, variances 1/18, covariance -1/36. Five standard errors.
        error = 5 / np.sqrt(18 * 1500)
        assert_allclose(shares.mean(axis=0), 1 / 3, atol=error)
        assert_allclose(np.cov(shares.T), np.array([[2, -1], [-1, 2]]) / 36, atol=error / 2)
        assert_allclose(np.quantile(points[:, 2], [0.25, 0.5, 0.75]), [0.5, 1.0, 1.5], atol=0.02)


@pytest.mark.parametrize(("most", "n"), [(3, 42), (5.5, 69)])
def test_vertices_are_candidates_if_there_are_at_most_so_many(most, n):
    names = [f"x{i}" for i in range(6)]
    box = Box(dict.fromkeys(names, (0, 1)), f"{' + '.join(names)} <= {most}")
    found = ParameterSpace.from_bounds(box).feasible.vertices
    assert len(found) == (n if n <= defaults.MOST_VERTICES else 0)


# -- points that fill the set ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "function"])
@pytest.mark.parametrize("share", [0.6, 0.15])
def test_of_points_that_fill_the_box_the_first_feasible_ones_are_taken(kind, share):
    rule = {
        "linear": {"constraints": f"A <= {share}"},
        "function": {"feasible": lambda setting: setting["A"] <= share},
    }[kind]
    sides = {"A": (0, 1), "B": Steps(0, 1, 0.25), "k": ["a", "b"]}
    space = ParameterSpace.from_bounds(Box(sides, **rule))
    shift = np.array([0.2, 0.4, 0.9])
    every = space.rounded_to_grid(spread_points(space.bounds, 3000, shift))
    expected = every[every[:, 0] <= share][:40]
    assert_array_equal(space.feasible.sample(40, shift), expected)


@pytest.mark.parametrize("share", [0.25, 0.04, 0.0])
def test_rejection_looks_at_few_points(share):
    n, looked = 30, []

    def is_feasible(setting):
        looked.append(setting)
        if len(looked) > 40_000:
            raise RuntimeError("it never ends")
        return setting["A"] <= share

    space = ParameterSpace.from_bounds(Box({"A": (0.0, 1.0)}, feasible=is_feasible))
    found = space.feasible._rejection_sample(n, np.array([0.5]))
    if share:
        assert len(found) == n and len(looked) < 3 * n / share
    else:
        assert found is None and len(looked) == n


@pytest.mark.parametrize("seed", range(2))
def test_steps_that_rounding_does_not_meet_are_searched_for(seed):
    sides = dict.fromkeys("ABC", range(400))
    total = 100_003 * (17 + seed) + 100_019 * 210 + 100_043 * 333
    box = Box(sides, f"100003*A + 100019*B + 100043*C = {total}")
    space = ParameterSpace.from_bounds(box)
    points = space.feasible.sample(2, np.full(3, 0.1 * seed))
    for setting in map(space.setting, points):
        assert 100_003 * setting["A"] + 100_019 * setting["B"] + 100_043 * setting["C"] == total


def test_sides_of_many_values_have_the_steps_of_their_ranges():
    sides = {"A": range(30_000, 100_000, 2), "B": range(3), "C": range(60_000, 0, -3)}
    space = ParameterSpace.from_bounds(Box(sides, "A + B + 0*C = 50_001".replace("_", "")))
    points = space.feasible.sample(9, np.full(3, 0.3))
    assert {space.setting(point)["A"] for point in points} == {50_000}
    assert {space.setting(point)["B"] for point in points} == {1}
    for text in ("A = 50001", "C = 59999", "A + C = 100000.5"):
        with pytest.raises(ValueError, match="cannot hold, at any values that can be set"):
            ParameterSpace.from_bounds(Box(sides, text))
    for text in ("A = 99998", "C = 3", "A - C = -30000", "A + C = 159998"):
        ParameterSpace.from_bounds(Box(sides, text))


def test_a_search_that_ran_out_of_time_refuses_nothing(monkeypatch):
    steps = {name: Steps(0, 100, 1) for name in "AB"}
    box = Box(steps, "A + B = 0.5")
    with pytest.raises(ValueError, match="cannot hold, at any values"):
        ParameterSpace.from_bounds(box)
    monkeypatch.setattr(constraints, "SECONDS", 0.0)
    feasible = ParameterSpace.from_bounds(box).feasible
    assert_allclose(feasible._solution(feasible.linear, True), [50.0, 50.0])


@pytest.mark.parametrize("unit", [0.5, 1.0, 40.0])
def test_inequalities_that_leave_a_corner_leave_that_corner(unit):
    box = Box({"A": (2.0, 2.0 + unit), "B": (0.0, 3.0), "x": (0, 1)}, f"A + B >= {5.0 + unit}")
    space = ParameterSpace.from_bounds(box)
    points = space.feasible.sample(20, np.full(3, 0.3))
    assert_allclose(points[:, :2], np.tile([2.0 + unit, 3.0], (20, 1)), atol=1e-6)
    assert np.ptp(points[:, 2]) > 0.8


def test_a_sample_has_its_size_after_several_searches():
    box = Box({"A": (0, 1), "B": (0, 1)}, "A + B <= 0.1", lambda s: s["A"] < 0.6 * s["B"])
    space = ParameterSpace.from_bounds(box)
    for n in (7, 20, 33):
        points = space.feasible.sample(n, np.array([0.3, 0.8]))
        assert len(points) == n == len(np.unique(points, axis=0))
        assert space.feasible.is_feasible(points).all()


def test_of_fewer_points_than_are_wanted_each_is_repeated_in_turn():
    """A function allows too little for rejection, and hardly more for a search."""
    sides = {"A": (0.0, 1.0), "B": (0.0, 1.0)}
    box = Box(sides, "A + B <= 1.9", lambda setting: abs(setting["A"] - 0.5) < 0.005)
    space = ParameterSpace.from_bounds(box)
    feasible = space.feasible
    shift = np.array([0.1, 0.05])
    assert feasible._rejection_sample(9, shift) is None
    points = feasible.sample(9, shift)
    n = len(np.unique(points, axis=0))
    assert points.shape == (9, 2) and 0 < n < 9 and feasible.is_feasible(points).all()
    assert_array_equal(points[n:], points[: 9 - n])
    with pytest.raises(ValueError, match="none of 360 was possible, feasible"):
        ParameterSpace.from_bounds(Box(sides, "A + B <= 1.9", lambda _: False)).feasible.sample(
            9, shift
        )


@pytest.mark.parametrize("seed", range(20))
def test_equations_are_solved_for_what_has_no_steps_or_the_finest(seed):
    rng = np.random.default_rng(seed)
    steps = rng.choice([0.0, 0.1, 0.25, 0.5], 4).tolist()
    lengths = rng.choice([1.0, 2.0, 3.0], 4).tolist()
    sides = {
        name: (0.0, length) if not step else Steps(0, length, step)
        for name, step, length in zip("ABCD", steps, lengths, strict=True)
    }
    gaps = [
        length / round(length / s) if s else 0.0 for s, length in zip(steps, lengths, strict=True)
    ]
    space = ParameterSpace.from_bounds(Box(sides, "A + B + C + D = 1"))
    feasible = space.feasible
    assert_allclose(feasible._gaps, gaps)
    expected = min(range(4), key=lambda i: (round(gaps[i], 9), -lengths[i], i))
    pivots, factors, bounds = feasible._dependent_sides
    assert pivots == [expected]
    assert_allclose(factors, [[float(i != expected) for i in range(4)]])
    assert_allclose(bounds, [1.0])
    points = feasible.sample(20, rng.random(4))
    assert_allclose(points.sum(axis=1), 1.0, rtol=0, atol=1e-11)
    for i, step in enumerate(steps):
        if step and i != expected:
            assert_allclose(points[:, i] / step, np.round(points[:, i] / step), atol=1e-9)


def test_numbers_are_rounded_to_the_nearest_steps_where_that_is_possible():
    sides = {"A": Steps(0, 10, 1), "B": Steps(0, 1, 0.25), "x": (0, 5)}
    space = ParameterSpace.from_bounds(Box(sides, "A + 4*B - x >= 2"))
    rng = np.random.default_rng(0)
    X = rng.uniform(0, [10, 1, 5], (300, 3))
    nearest = np.column_stack([np.round(X[:, 0]), np.round(4 * X[:, 1]) / 4, X[:, 2]])
    fits = nearest @ [1, 4, -1] >= 2
    found, good = space.feasible._round_feasibly(X, rng)
    assert_allclose(found[fits], nearest[fits], atol=1e-12)
    assert good[fits].all() and not good.all()
    assert (found[good] @ [1, 4, -1] >= 2 - 1e-9).all()
    # Others are at the steps beside.
    moved = good & ~fits
    assert moved.sum() > 10
    assert (np.abs(found - X)[moved] <= [1.25 + 1e-9, 0.25 * 1.25 + 1e-9, 1e-12]).all()
    assert_array_equal(found[~good], X[~good])


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
def test_what_satisfies_a_constraint_does_not_depend_on_units(scale):
    sides = {"A": (0.0, scale), "B": (0.0, 2 * scale)}
    for relation, sign in (("<=", 1), (">=", -1), ("=", 1)):
        space = ParameterSpace.from_bounds(Box(sides, f"A + B {relation} {1.5 * scale!r}"))
        for off, expected in ((1e-10, True), (1e-7, False)):
            point = scale * np.array([[0.5, 1.0 + sign * off]])
            assert space.feasible.is_feasible(point).tolist() == [expected]
            assert (space.feasible.violations(point[0]) == []) == expected
        outside = scale * np.array([[-1e-6, 1.5 + 1e-6]])
        assert not space.feasible.is_feasible(outside).any()
    for relation, bound in ((">=", 3.0), ("=", 3.0), ("=", 0.0), ("<=", 0.0)):
        beyond = bound + (1e-6 if bound else -1e-6)
        ParameterSpace.from_bounds(Box(sides, f"A + B {relation} {bound * scale!r}"))
        with pytest.raises(ValueError, match=r"A \+ B is from 0 to .* within the sides, and must"):
            ParameterSpace.from_bounds(Box(sides, f"A + B {relation} {beyond * scale!r}"))


# -- first designs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 4, 9])
def test_no_exchange_of_one_point_improves_a_design(n):
    sides = {"A": range(7), "B": [0.0, 1.0, 10.0], "kind": ["u", "v", "w"]}
    space = ParameterSpace.from_bounds(Box(sides, "A + B <= 12"))
    pool = space.feasible.every_point
    columns = space.columns(pool)
    columns = columns / np.ptp(columns, axis=0)
    distance, square = np.zeros((2, len(pool), len(pool)))
    for axis in range(3):
        gaps = columns[:, None, space.groups == axis] - columns[None, :, space.groups == axis]
        along = np.sqrt((gaps**2).sum(axis=2))
        distance += along
        square += along**2
    distance += np.sqrt(square)

    def energy(numbers):
        to_set = distance[numbers].mean(axis=1).mean()
        return 2.0 * to_set - distance[np.ix_(numbers, numbers)].mean()

    # The pool has every setting as often as any other, up to one.
    for seed in range(5):
        design = space.feasible.design(n, seed, 0)
        numbers = [int(np.flatnonzero((pool == point).all(axis=1))[0]) for point in design]
        best = energy(numbers)
        for i, other in itertools.product(range(n), range(len(pool))):
            if other not in numbers:
                assert energy([*numbers[:i], other, *numbers[i + 1 :]]) >= best - 1e-9
        extended = space.feasible.design(n, seed, 3)
        assert_array_equal(extended[:n], design)
        unit = (pool - space.bounds[:, 0]) / np.diff(space.bounds)[:, 0]
        for k in range(n, n + 3):
            known = (extended[:k] - space.bounds[:, 0]) / np.diff(space.bounds)[:, 0]
            away = np.sqrt(((unit[:, None] - known) ** 2).sum(axis=2)).min(axis=1)
            mine = np.flatnonzero((pool == extended[k]).all(axis=1))[0]
            assert away[mine] == pytest.approx(away.max())


def test_texts_in_messages_are_those_of_the_user():
    box = Box({"A": (0, 1), "B": (0, 1)}, ["A + B <= 0.5", "A >= 0.3", "B >= 0.3"])
    with pytest.raises(ValueError, match=re.escape("'A + B <= 0.5' and 'A >= 0.3' and 'B >= 0.3'")):
        ParameterSpace.from_bounds(box)

"""Settings of now in a wider box: what is drawn lies on the sides of now, at the same values."""

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint

from skgpb.domains import Angle, Box, Side, Steps
from skgpb.domains.constraints import FeasibleSet
from skgpb.domains.space import ParameterSpace, wider_axis
from skgpb.utils.validation import is_number

pytestmark = pytest.mark.one_in(4)

#: Pairs of a side now and a wider one that contains it.
PAIRS = [
    ((40.0, 60.0), (20, 90)),
    ([60], (20, 90)),
    ([30.0, 45.0, 80.0], (20, 90)),
    (Steps(30, 50, 0.5), Steps(20, 90, 0.1)),
    (["B", "D"], ["A", "B", "C", "D"]),
    (["C"], ["A", "B", "C", "D"]),
    (loguniform(1e-3, 1e-2), loguniform(1e-5, 1.0)),
    (Steps(0.01, 0.1, log=True), Steps(0.001, 1.0, log=True)),
    (randint(3, 7), randint(1, 20)),
    ([2, 5], [1, 2, 3, 4, 5]),
    ((10.0, 80.0), Angle(0, 360)),
    ((-1.0, 1.0), norm(0, 1)),
]


def random_box(rng):
    """Return a box with one to four sides of now, wider earlier ones, and both as dicts."""
    chosen = rng.choice(len(PAIRS), size=rng.integers(2, 5), replace=False)
    pairs = {f"side{i}": PAIRS[i] for i in sorted(chosen.tolist())}
    now = {name: pair[0] for name, pair in pairs.items()}
    if all(isinstance(side, list) and len(side) == 1 for side in now.values()):
        now["free"] = (0.0, 1.0)
    return Box(now, earlier={name: pair[1] for name, pair in pairs.items()})


def is_on(side, value):
    """Return whether a value is on a side, by the definition of the side."""
    if isinstance(side, list):
        return value in side or any(isinstance(x, float) and np.isclose(x, value) for x in side)
    if isinstance(side, Steps):
        return bool(np.isclose(side.grid, value, rtol=1e-9).any())
    low, high = side if isinstance(side, tuple) else side.support()
    return low - 1e-9 <= value <= high + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_everything_drawn_is_on_the_sides_of_now(seed):
    rng = np.random.default_rng(seed)
    box = random_box(rng)
    space = ParameterSpace.from_bounds(box)
    feasible, d = space.feasible, space.n_axes
    sample = feasible.sample(30, rng.random(d))
    anywhere = space.bounds[:, 0] + rng.random((30, d)) * np.diff(space.bounds)[:, 0]
    drawn = {
        "sample": sample,
        "design": feasible.design(6, seed, 1),
        "around": feasible.around(sample[:3], 20, rng),
        "usable": feasible.usable(np.concatenate([sample, anywhere])),
    }
    assert len(drawn["usable"]) >= len(sample)
    for name, points in drawn.items():
        assert points.shape[1:] == (d,), name
        assert (space.bounds[:, 0] <= points).all() and (points <= space.bounds[:, 1]).all(), name
        for point in points:
            setting = space.setting(point)
            assert all(is_on(box[side], value) for side, value in setting.items()), (name, setting)
            assert space.is_feasible(point), (name, setting)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(12))
def test_a_point_is_feasible_if_all_its_values_are_on_the_sides_of_now(seed):
    rng = np.random.default_rng([seed, 1])
    box = random_box(rng)
    space = ParameterSpace.from_bounds(box)
    lower, upper = space.bounds.T
    mixed = np.concatenate(
        [
            lower + rng.random((60, space.n_axes)) * (upper - lower),
            space.feasible.sample(20, rng.random(space.n_axes)),
        ]
    )
    mixed = space.rounded_to_grid(mixed)
    expected = [all(is_on(box[n], x) for n, x in space.setting(p).items()) for p in mixed]
    assert space.feasible.is_feasible(mixed).tolist() == expected
    outside = space.feasible.is_outside(mixed)
    assert not (outside & np.array(expected)).any()


def test_all_settings_of_now_are_listed_when_they_are_few():
    lists = {"c": ["A", "B", "C"], "n": [1, 2, 3, 4]}
    space = ParameterSpace.from_bounds(Box({"c": ["A", "C"], "n": [2, 4]}, earlier=lists))
    found = [tuple(space.setting(point).values()) for point in space.feasible.every_point]
    assert sorted(found) == [("A", 2), ("A", 4), ("C", 2), ("C", 4)]


def test_constraints_hold_between_held_and_free_sides():
    sides = {"A": [0.3], "B": (0.0, 1.0), "C": (0.0, 1.0)}
    box = Box(sides, "A + B + C = 1", earlier={"A": (0.0, 1.0)})
    space = ParameterSpace.from_bounds(box)
    rng = np.random.default_rng(0)
    sample = space.feasible.sample(20, rng.random(3))
    for points in (sample, space.feasible.around(sample[:2], 20, rng), space.feasible.vertices):
        assert len(points)
        np.testing.assert_allclose(points.sum(axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(points[:, 0], 0.3, atol=1e-12)
    assert space.feasible.violations(np.array([0.3, 0.2, 0.2])) == ["A + B + C = 1"]
    assert space.feasible.violations(np.array([0.3, 0.5, 0.2])) == []


class Squared(Side):
    """A side of one's own, of squares."""

    def value(self, u):
        return u**2

    def coordinate(self, value):
        if not 0.0 <= value <= 1.0:
            raise ValueError("must be between 0 and 1")
        return value**0.5


@pytest.mark.parametrize(
    ("side", "earlier", "expected"),
    [
        ((0, 1), (0, 1), (0.0, 1.0)),
        ((0, 1), (0.5, 3), (0.0, 3.0)),
        ((0, 1), 7.0, (0.0, 7.0)),
        ((0, 1), 0.5, (0.0, 1.0)),
        (Steps(0, 1, 0.1), Steps(0.5, 3, 0.5), (0.0, 3.0)),
        (["A", "B"], ["B", "C"], ["B", "C", "A"]),
        (["A", "B"], "Z", ["Z", "A", "B"]),
        ([1, 2], [3], [1, 2, 3]),
        (range(20_000), range(30_000), range(30_000)),
        (range(10_000, 30_000), range(20_000), range(30_000)),
        ([1.5, 2.5], (0, 2), (0.0, 2.5)),
        ([1.5, 2.5], (1, 2), (1.0, 2.5)),
        ((300, 350), (310, 400), (300.0, 400.0)),
        ((10.0, 11.0), 9.9, (9.9, 11.0)),
        ((2.0, 9.0), Steps(1, 5, 0.1), (1.0, 9.0)),
        (Steps(2, 5), Steps(2, 9), (2.0, 9.0)),
        (randint(3, 6), (1.0, 4.0), (1.0, 5.0)),
        (range(60_000, 0, -3), range(20_000, 90_000, 5), range(3, 89_996)),
    ],
)
def test_a_wider_axis_has_both_sides(side, earlier, expected):
    assert wider_axis("x", side, earlier).entry == expected


def test_scales_and_integers_are_kept():
    log = wider_axis("x", loguniform(0.1, 10), loguniform(0.001, 1))
    assert log.limits == pytest.approx((0.001, 10))
    assert log.value(0.5) == pytest.approx(0.1)
    integers = wider_axis("x", randint(5, 30), randint(1, 10))
    assert integers.limits == (1.0, 29.0) and integers.n_settings == 29
    assert wider_axis("x", (0.2, 0.5), Squared()) == Squared()
    assert wider_axis("x", (10, 20), Angle(0, 360)) == Angle(0, 360)


def test_narrow_scales_are_kept_too():
    for now, before in (((1.0, 1.2), (1.1, 1.3)), ((100.0, 120.0), (90.0, 110.0))):
        low, high = min(now[0], before[0]), max(now[1], before[1])
        even = wider_axis("x", now, before)
        assert even.value(0.5 * sum(even.ends)) == pytest.approx(0.5 * (low + high), rel=1e-9)
        log = wider_axis("x", loguniform(*now), loguniform(*before))
        assert log.value(0.5 * sum(log.ends)) == pytest.approx((low * high) ** 0.5, rel=1e-9)


def by_value(space, points):
    """Return the settings of points, numbers rounded, in the order of the names."""
    rows = [sorted(space.setting(point).items()) for point in points]
    return [[(n, float(f"{x:.9g}") if isinstance(x, float) else x) for n, x in row] for row in rows]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_drawn_is_drawn_on_the_sides_of_now(seed):
    rng = np.random.default_rng([seed, 2])
    box = random_box(rng)
    wide, now = ParameterSpace.from_bounds(box), ParameterSpace.from_bounds(box.of_now)
    now.feasible = FeasibleSet(now, (), None, now.constants)
    shift = rng.random(wide.n_axes)
    own = shift[[wide.names.index(name) for name in now.names]]
    pairs = [
        (wide.feasible.sample(15, shift), now.feasible.sample(15, own)),
        (wide.feasible.design(4, seed, 2), now.feasible.design(4, seed, 2)),
    ]
    if wide.feasible.every_point is not None:
        pairs.append((wide.feasible.every_point, now.feasible.every_point))
    for found, expected in pairs:
        assert by_value(wide, found) == by_value(now, expected)
    # Numbers between the ends of now are on its sides, also between steps; others are not.
    lower, upper = wide.bounds.T
    points = wide.snap(lower + rng.random((60, wide.n_axes)) * (upper - lower))
    for point, outside in zip(points, wide.feasible.is_outside(points), strict=True):
        setting = wide.setting(point)
        there = [
            axis.limits[0] <= setting[name] <= axis.limits[1]
            if axis.ordered and not isinstance(box[name], list)
            else is_on(box[name], setting[name])
            for name, axis in now.axes
        ]
        held = [np.isclose(setting[n], x) if is_number(x) else setting[n] == x
                for n, x in now.constants.items()]  # fmt: skip
        assert outside == (not all(there + held))


def test_a_side_that_cannot_contain_both_is_refused():
    with pytest.raises(ValueError, match=r"x must be numbers, or a list, like the earlier side"):
        wider_axis("x", (0, 1), ["A", "B"])


def test_earlier_names_sides():
    with pytest.raises(ValueError, match=r"earlier must have names of the sides \['x'\], got 'y'"):
        Box({"x": (0, 1)}, earlier={"y": 3})


def test_boxes_are_equal_if_all_of_their_arguments_are():
    one = Box({"x": (0, 1)}, "x <= 0.5", earlier={"x": (0, 2)})
    assert one == Box({"x": (0, 1)}, ["x <= 0.5"], earlier={"x": (0, 2)})
    assert one != Box({"x": (0, 1)}, "x <= 0.5")
    assert one != Box({"x": (0, 1)}, earlier={"x": (0, 2)})
    assert one.of_now == Box({"x": (0, 1)}, "x <= 0.5")
    assert "earlier={'x': (0, 2)}" in repr(one)


def test_pictures_show_what_is_not_on_the_sides_of_now():
    sides = {"A": (0.2, 0.4), "B": (0.0, 1.0)}
    space = ParameterSpace.from_bounds(Box(sides, "A + B <= 1", earlier={"A": (0.0, 1.0)}))
    points = np.array([[0.3, 0.5], [0.3, 0.9], [0.9, 0.9]])
    moved, mask = space.feasible.satisfy_equations(points, [0])
    np.testing.assert_array_equal(moved, points)
    assert mask.tolist() == [True, False, True]

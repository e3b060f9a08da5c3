"""Balls over integers and categories are what they are under the sup norm, and cover the box."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import randint

from skgpb.domains.mixed_balls import MixedBalls, MixedCovering
from skgpb.domains.space import ParameterSpace

SIDES = {"x": (0, 2), "n": [1, 2, 3, 4, 5, 6], "kind": ["a", "b", "c"]}


def distance(one, other):
    """Sup norm of what a kernel sees, in units of the sides."""
    number = abs(SIDES["n"].index(one["n"]) - SIDES["n"].index(other["n"])) / 5
    return max(abs(one["x"] - other["x"]) / 2, number, float(one["kind"] != other["kind"]))


def balls(at_center=False, sides=None):
    space = ParameterSpace.of_bounds(SIDES if sides is None else sides)
    return MixedBalls(MixedCovering(space), (3,) * space.n_axes, at_center, space)


EVERY = [
    dict(zip(SIDES, values, strict=True))
    for values in itertools.product(np.linspace(0, 2, 17), SIDES["n"], SIDES["kind"])
]


def holds(ball, setting):
    ranges = ball._space.ranges(ball.lower, ball.upper)
    low, high = ranges["x"]
    inside = low <= setting["x"] <= high
    return inside and setting["n"] in ranges["n"] and setting["kind"] in ranges["kind"]


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6))
def test_balls_hold_what_is_near_and_cover_everything(seed):
    rng, some = np.random.default_rng(seed), balls()
    for _ in range(25):
        shrunk = int(rng.integers(len(some)))
        before = [some.ball(i) for i in range(len(some))]
        added = some.shrink(shrunk)
        now = [some.ball(i) for i in range(len(before))]
        if added is not None:
            # A point that needs a ball of its own is in no other.
            center = center_of(some.ball(added))
            assert not any(holds(ball, center) for ball in now)
            assert holds(before[shrunk], center)
    final = [some.ball(i) for i in range(len(some))]
    for setting in EVERY:
        assert any(holds(ball, setting) for ball in final)
    for ball in final[:6]:
        center = center_of(ball)
        assert [holds(ball, each) for each in EVERY] == [
            distance(center, each) <= ball.radius + 1e-12 for each in EVERY
        ]


def center_of(ball):
    return ball._space.setting(ball.center)


def test_a_finite_box_needs_one_ball_for_each_setting():
    sides = {"n": randint(1, 4), "kind": ["a", "b"]}
    some = balls(sides=sides)
    for _ in range(200):
        some.shrink(int(np.argmin(some.depth)))
        if len(some) == 6 and some.depth.min() >= 3:
            break
    found = [some.ball(i).params for i in range(len(some))]
    assert len(found) == 6
    expected = [{"n": n, "kind": kind} for n in (1, 2, 3) for kind in "ab"]
    assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("at_center", [False, True])
def test_balls_are_queries(at_center):
    some = balls(at_center)
    for i in range(6):
        some.shrink(i % len(some))
    for i in range(len(some)):
        ball = some.ball(i)
        some.resolve(ball)
        assert pickle.loads(pickle.dumps(ball)).settings == ball.settings
        assert len(ball.settings) == 1 or not at_center
        assert all(holds(ball, setting) for setting in ball.settings)
        rows = some.block_of(ball)
        lower, upper = np.split(rows, 2, axis=1)
        assert_array_equal(lower[:, 1:], upper[:, 1:])
    for center, depth, _ in some.finer(some.front(3), 3):
        ball = some.ball_at(center, depth)
        some.resolve(ball)
        assert_allclose(ball.center[1:], some.space.snapped(ball.center[None])[0, 1:])
    other = balls(at_center, {"x": (0, 2), "n": [1, 2, 3], "kind": ["a", "b", "c"]})
    with pytest.raises(ValueError, match="not a ball"):
        other.resolve(some.ball(1))


def test_points_within_a_ball_are_of_it():
    some = balls()
    t = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    for depth in range(4):
        center = np.array([0.3, 0.9, 0.5])
        ball = some.ball_at(center, depth)
        for point in some.within(center, depth, t):
            assert holds(ball, some.space.setting(point))


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_what_lies_beside_a_ball_is_mirrored_with_the_box(depth):
    some = balls(sides={"x": (0.0, 1.0), "n": range(21)})
    found = []
    for center in ([0.3, 0.35], [0.7, 0.65]):
        near = some.finer([(np.array(center), depth, -1)], 5)
        found.append(np.array([place[0] for place in near]))
    mirrored = np.array([1.0 - each for each in found[1]])
    assert_allclose(
        *(each[np.lexsort(each.round(9).T)] for each in (found[0], mirrored)), atol=1e-9
    )
    step = 2.0 ** -(depth + 1)
    assert np.ptp(found[0][:, 1]) > min(1.0, 1.5 * step)  # about a step to either side

"""Coverings: everything is covered after every step, and the oracle is the naive one."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.gp_zooming import Ball, grid_oracle, subdivision_oracle

from skgpb._core._covering import subtract
from skgpb.domains.covering import LEVELS, ChebyshevCovering, EuclideanCovering


def balls_of(covering):
    return [
        Ball(center, int(k), covering.diameter)
        for center, k in zip(covering.centers, covering.depth, strict=True)
    ]


def checked_shrink(covering, ball, oracle):
    """Shrink a ball and compare with a naive oracle, before and after the repair."""
    balls = balls_of(covering)
    balls[ball].k += 1
    expected = oracle(balls, balls[ball])
    added = covering.shrink(ball)
    assert covering.depth[ball] == balls[ball].k
    if expected is None:
        assert added is None
    else:
        assert added == len(balls) == len(covering) - 1
        np.testing.assert_array_equal(covering.centers[added], expected)
        assert covering.depth[added] == 0
    assert oracle(balls_of(covering), balls[ball]) is None


def exact_remainder(covering):
    """Return the uncovered region, by subtracting all balls from the cube."""
    d = covering.n_features
    centers, radii = covering.centers, covering.radii[:, None]
    boxes = np.clip(np.hstack([centers - radii, centers + radii]), 0.0, 1.0)
    cube = np.repeat([0.0, 1.0], d)[None]
    return subtract(cube, boxes[np.argsort(-radii[:, 0], kind="stable")])


def volume(boxes):
    d = boxes.shape[1] // 2
    return (boxes[:, d:] - boxes[:, :d]).prod(axis=1)


# The sup norm ------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.lists(st.integers(0, 10**6), max_size=25))
def test_whatever_shrinks_everything_stays_covered_as_the_grid_of_faces_says(d, choices):
    covering = ChebyshevCovering(d)
    limit = {1: 12, 2: 6, 3: 4}[d]
    for choice in choices:
        ball = choice % len(covering)
        if covering.depth[ball] < limit:
            checked_shrink(covering, ball, grid_oracle)
            assert len(exact_remainder(covering)) == 0


@pytest.mark.parametrize(("d", "n"), [(1, 60), (2, 60), (3, 30)])
def test_zooming_in_agrees_with_the_grid_of_faces(d, n):
    """As the algorithm does it: large balls and those near one place first."""
    rng = np.random.default_rng(d)
    covering = ChebyshevCovering(d)
    for _ in range(n):
        distance = np.abs(covering.centers - 0.3).max(axis=1)
        score = -0.5 * covering.depth - 2.0 * distance + 0.3 * rng.normal(size=len(covering))
        checked_shrink(covering, int(np.argmax(score)), grid_oracle)
    assert len(covering) > n // 6


@pytest.mark.parametrize("d", [4, 5])
def test_nothing_is_ever_uncovered_in_higher_dimensions(d):
    rng = np.random.default_rng(d)
    covering = ChebyshevCovering(d)
    for step in range(250):
        score = -0.5 * covering.depth + 0.5 * rng.normal(size=len(covering))
        covering.shrink(int(np.argmax(score)))
        if step % 10 == 0:
            assert len(exact_remainder(covering)) == 0
    assert len(covering) > 30


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_region_of_the_newest_ball_is_what_the_others_leave(d):
    rng = np.random.default_rng(d)
    covering = ChebyshevCovering(d)
    for _ in range(60):
        score = -0.6 * covering.depth + 0.5 * rng.normal(size=len(covering))
        covering.shrink(int(np.argmax(score)))
        region = covering._region
        others = copy.deepcopy(covering)
        others._n -= 1
        # The newest ball is the last one added.
        left = exact_remainder(others)
        assert volume(region).sum() == pytest.approx(volume(left).sum(), rel=1e-12)
        assert len(subtract(region, left)) == len(subtract(left, region)) == 0


def test_a_new_ball_is_as_far_from_the_others_as_their_radius():
    """The packing argument behind the number of balls."""
    rng = np.random.default_rng(0)
    covering = ChebyshevCovering(2)
    for _ in range(300):
        score = -0.5 * covering.depth + 0.5 * rng.normal(size=len(covering))
        covering.shrink(int(np.argmax(score)))
    centers, radii = covering.centers, covering.radii
    distance = np.abs(centers[:, None] - centers).max(axis=2)
    older, newer = np.triu_indices(len(covering), 1)
    assert (distance[older, newer] > radii[older]).all()


def test_faces_stay_exact_down_to_the_smallest_ball():
    covering = ChebyshevCovering(2)
    for _ in range(LEVELS):
        covering.shrink(0)
    assert covering.radii[0] == 2.0**-LEVELS
    assert len(exact_remainder(covering)) == 0
    with pytest.raises(ValueError, match="smaller"):
        covering.shrink(0)
    assert covering.depth[0] == LEVELS
    # Centres stay on the grid on which every face is a float64 without rounding.
    for _ in range(300):
        covering.shrink(int(np.argmax(-covering.depth - np.abs(covering.centers - 0.7).sum(1))))
    scaled = covering.centers * 2.0**LEVELS
    np.testing.assert_array_equal(scaled, np.round(scaled))


# Euclidean balls ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "n", "tolerance"), [(1, 60, 0.25), (2, 40, 0.25), (3, 14, 1.0)])
def test_euclidean_oracle_agrees_with_all_grids(d, n, tolerance):
    rng = np.random.default_rng(d)
    covering = EuclideanCovering(d, tolerance)
    for _ in range(n):
        score = -0.5 * covering.depth + 0.3 * rng.normal(size=len(covering))
        checked_shrink(covering, int(np.argmax(score)), subdivision_oracle(tolerance))


@pytest.mark.parametrize(("d", "tolerance"), [(1, 0.1), (2, 0.25), (2, 1.0), (3, 0.5)])
def test_no_point_is_farther_from_the_balls_than_the_tolerance(d, tolerance):
    rng = np.random.default_rng(d)
    covering = EuclideanCovering(d, tolerance)
    for _ in range(120):
        score = -0.5 * covering.depth + 0.3 * rng.normal(size=len(covering))
        covering.shrink(int(np.argmax(score)))
    points = rng.uniform(size=(4000, d))
    distance = np.linalg.norm(points[:, None] - covering.centers, axis=2) - covering.radii
    # Gaps were left by balls no larger than the largest that has shrunk.
    assert distance.min(axis=1).max() <= tolerance * covering.diameter / 2
    nearest = covering.radii[np.argmin(distance, axis=1)]
    assert (distance.min(axis=1) <= 2 * tolerance * nearest).all()


@pytest.mark.parametrize("tolerance", [0.0, -0.1, 1.5, np.nan])
def test_tolerances_that_mean_nothing_are_refused(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        EuclideanCovering(2, tolerance)


# Both --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [ChebyshevCovering, EuclideanCovering])
def test_a_covering_starts_as_one_ball_and_continues_after_pickling(cls):
    covering = cls(2)
    np.testing.assert_array_equal(covering.centers, [[0.5, 0.5]])
    corners = np.linalg.norm([1.0, 1.0], ord=np.inf if cls is ChebyshevCovering else 2)
    assert covering.radii == pytest.approx([corners], abs=1e-15)
    for _ in range(30):
        covering.shrink(int(np.argmin(covering.depth)))
    other = pickle.loads(pickle.dumps(covering))
    for _ in range(30):
        ball = int(np.argmin(covering.depth))
        assert covering.shrink(ball) == other.shrink(ball)
    np.testing.assert_array_equal(covering.centers, other.centers)
    for wrong in (-1, len(covering)):
        with pytest.raises(IndexError, match="ball"):
            covering.shrink(wrong)

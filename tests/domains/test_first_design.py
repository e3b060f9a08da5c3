"""First designs: they fill the space, and go where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from skgpb.domains.first_design import (
    balance_values,
    farthest,
    first_members,
    first_points,
    next_place,
    to_unit_cube,
)

BOX = np.array([[-1.0, 3.0], [10.0, 10.5]])


@pytest.mark.parametrize("d", [1, 2, 6, 12])
def test_first_points_fill_a_box_more_evenly_than_random_ones(d):
    bounds = np.tile([0.0, 1.0], (d, 1))
    rng = np.random.default_rng(d)
    # The mean over 20 designs of either kind; Sobol's are far below.
    ours = [qmc.discrepancy(first_points(bounds, 16, seed)) for seed in range(20)]
    random = [qmc.discrepancy(rng.random((16, d))) for _ in range(20)]
    assert np.mean(ours) < 0.8 * np.mean(random)


def test_a_longer_design_begins_with_the_shorter_one():
    np.testing.assert_array_equal(first_points(BOX, 5, 3), first_points(BOX, 11, 3)[:5])
    places = np.random.default_rng(0).uniform(*BOX.T, size=(60, 2))
    shorter = first_members(places, BOX, 5, 3)
    np.testing.assert_array_equal(shorter, first_members(places, BOX, 11, 3)[:5])
    for bounds in (BOX, BOX[:1]):  # further points, in case some fail, change nothing
        np.testing.assert_array_equal(
            first_points(bounds, 5, 3), first_points(bounds, 5, 3, more=4)[:5]
        )
        assert len(np.unique(first_points(bounds, 5, 3, more=4), axis=0)) == 9


def test_an_interval_is_cut_into_equal_parts():
    points = first_points(BOX[:1], 10, 0)
    np.testing.assert_allclose(np.sort(points.ravel()), np.arange(-0.8, 3.0, 0.4))
    assert len({first_points(BOX[:1], 10, seed)[0, 0] for seed in range(5)}) > 1


def test_a_place_is_filled_by_what_is_nearer_than_the_next_place():
    places, none = np.array([[-0.5], [0.5], [2.5]]), np.empty((0, 1))
    interval = BOX[:1]

    def next_of(known, failed=none, n=3):
        return next_place(places, n, np.reshape(known, (-1, 1)), failed, interval)

    assert next_of([]) == 0
    assert next_of([0.3] * 30) == 2  # it fills its own place and the one at distance 1
    assert next_of([-0.5, 0.5]) == 2
    assert next_of([-0.6, 0.4, 2.9]) is None
    # Failed places are neither filled nor tried again; their replacements come last.
    assert next_of([-0.5], failed=places[1:2], n=2) == 2
    assert next_of([-0.5, 2.5], failed=places[1:2], n=2) is None
    assert next_of([-0.5, 0.5, 2.5], failed=places[1:2], n=3) is None  # answered after all


def test_first_points_are_inside_and_depend_on_the_seed():
    points = first_points(BOX, 100, 0)
    assert points.shape == (100, 2)
    assert (points > BOX[:, 0]).all() and (points < BOX[:, 1]).all()
    assert not np.isin(points[:, 0], first_points(BOX, 100, 1)[:, 0]).any()


def test_members_are_distinct_places_near_the_points():
    grid = np.stack(np.meshgrid(np.linspace(-1, 3, 21), np.linspace(10, 10.5, 21)), -1)
    places = np.repeat(grid.reshape(-1, 2), 2, axis=0)  # every place twice
    members = first_members(places, BOX, 8, 0)
    assert len(np.unique(places[members], axis=0)) == 8
    # A point lies within half a cell of the grid in either direction.
    gaps = np.abs(places[members] - first_points(BOX, 8, 0)) / (BOX[:, 1] - BOX[:, 0])
    assert (gaps <= 0.025 + 1e-9).all()


def test_of_few_members_all_are_taken_once():
    places = np.array([[0.0, 10.0], [1.0, 10.2], [1.0, 10.2], [2.0, 10.4]])
    assert len(np.unique(places[first_members(places, BOX, 10, 0)], axis=0)) == 3


def test_sides_without_extent_do_not_count():
    bounds = np.array([[0.0, 1.0], [5.0, 5.0]])
    places = np.column_stack([np.linspace(0, 1, 9), np.full(9, 5.0)])
    assert len(first_members(places, bounds, 4, 0)) == 4
    assert farthest(places, places[:1], bounds) == 8


def test_the_farthest_is_measured_in_sides():
    places = np.array([[0.0, 10.5], [3.0, 10.0]])
    # Half a side along the first axis and a whole one along the second.
    assert farthest(places, np.array([[2.0, 10.0]]), BOX) == 0
    assert farthest(places, np.empty((0, 2)), BOX) == 0
    assert farthest(places, places, BOX) is None


def test_ranks_give_every_value_of_a_list_its_share():
    rng = np.random.default_rng(0)
    for n, k in ((10, 3), (10, 12), (24, 12), (25, 7)):
        points = rng.random((n + 3, 2))
        level = balance_values(points, n, [1])
        np.testing.assert_array_equal(level[:, 0], points[:, 0])
        np.testing.assert_array_equal(level[n:], points[n:])
        np.testing.assert_array_equal(np.argsort(level[:n, 1]), np.argsort(points[:n, 1]))
        counts = np.bincount((level[:n, 1] * k).astype(int), minlength=k)
        assert np.ptp(counts) <= 1 and counts.sum() == n


# -- the same by hand -----------------------------------------------------------------------------


def random_case(seed):
    """Bounds of 1 to 3 sides, one of them without extent at times, and a way to draw points."""
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=rng.integers(1, 4)) * 10.0
    side = 10.0 ** rng.integers(-2, 3, size=len(lower))
    if len(side) > 1 and seed % 3 == 0:
        side[-1] = 0.0
    levels = int(rng.choice([4, 1000]))  # coarse, with ties, or all different

    def points(n):
        return lower + rng.integers(levels + 1, size=(n, len(lower))) / levels * side

    return rng, np.column_stack([lower, lower + side]), points


def scaled(a, b, bounds):
    """Distance of two points in sides; those without extent do not count."""
    side = bounds[:, 1] - bounds[:, 0]
    return float(np.sqrt((((a - b)[side > 0.0] / side[side > 0.0]) ** 2).sum()))


@pytest.mark.parametrize("seed", range(12))
def test_members_are_the_nearest_that_are_left(seed):
    _, bounds, points = random_case(seed)
    places = points(20)
    targets = first_points(bounds, 6, seed, 3)
    left, expected = list(range(20)), []
    for target in targets:
        away = [scaled(places[i], target, bounds) ** 2 for i in left]
        if not left:
            break
        nearest = next(i for i, a in zip(left, away, strict=True) if a <= min(away) + 1e-12)
        expected.append(nearest)
        left = [i for i in left if scaled(places[i], places[nearest], bounds) > 0.0]
    np.testing.assert_array_equal(first_members(places, bounds, 6, seed, 3), expected)


@pytest.mark.parametrize("seed", range(12))
def test_the_farthest_has_the_largest_least_distance(seed):
    rng, bounds, points = random_case(seed)
    places, known = points(15), points(int(rng.integers(1, 9)))
    away = np.array([min(scaled(p, k, bounds) for k in known) for p in places])
    expected = int(np.flatnonzero(away >= away.max() - 1e-9)[0])
    assert farthest(places, known, bounds) == expected
    assert farthest(known, known, bounds) is None
    np.testing.assert_allclose(to_unit_cube(bounds.T, bounds)[0], 0.0)
    np.testing.assert_allclose(to_unit_cube(bounds.T, bounds)[1], np.diff(bounds)[:, 0] > 0.0)


@pytest.mark.parametrize("seed", range(40))
def test_the_next_place_is_the_unfilled_one_farthest_from_what_was_tried(seed):
    rng, bounds, points = random_case(seed)
    n, more = int(rng.integers(2, 7)), int(rng.integers(0, 4))
    places = points(n + more)
    if len(np.unique(places[:n], axis=0)) < n:
        places[:n] = bounds[:, 0] + np.arange(n)[:, None] / n * (bounds[:, 1] - bounds[:, 0])
    tried = [*places[rng.permutation(n)[: int(rng.integers(0, n + 1))]], *points(4)]
    is_known = rng.random(len(tried)) < 0.6
    known, failed = np.array(tried)[is_known], np.array(tried)[~is_known]

    def least(place, others):
        return min((scaled(place, other, bounds) for other in others), default=np.inf)

    filled, distance = [], []
    for i, place in enumerate(places):
        # Of the design, the next one; of a replacement, an earlier one.
        others = [p for j, p in enumerate(places[: max(n, i)]) if scaled(p, place, bounds) > 1e-9]
        gap = least(place, others[: n if i < n else None])
        to_known, to_failed = least(place, known), least(place, failed)
        filled.append(to_known < gap - 1e-9 and (to_failed > 1e-9 or to_known <= 1e-9))
        distance.append(0.0 if filled[-1] else min(to_known, to_failed))
    expected = None
    if sum(filled) < n:
        for part in (range(n), range(n, n + more)):
            if (most := max((distance[i] for i in part), default=0.0)) > 1e-9:
                expected = next(i for i in part if distance[i] >= most - 1e-9)
                break
    assert next_place(places, n, known, failed, bounds) == expected


@pytest.mark.parametrize(("d", "n", "more"), [(1, 5, 0), (1, 1, 3), (2, 1, 0), (3, 7, 2)])
def test_designs_have_their_size_and_stay_in_the_box(d, n, more):
    bounds = np.column_stack([np.arange(d) - 3.0, np.arange(d) * 2.0])
    points = first_points(bounds, n, 4, more)
    assert points.shape == (n + more, d)
    assert ((points >= bounds[:, 0]) & (points <= bounds[:, 1])).all()
    unit = (points - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    if d == 1:
        np.testing.assert_allclose(np.sort(unit[:n, 0]) * n, np.arange(n) + 0.5)
    else:  # of a Sobol sequence each half has as many, up to one
        assert (np.abs((unit[: n // 2 * 2] < 0.5).sum(axis=0) - n // 2) <= 1).all()

"""Candidates, cells, pools and balls of random boxes, compared with plain loops."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import uniform

import skgpb.domains.arms as arms_module
import skgpb.domains.box_candidates as candidates_module
from skgpb import defaults
from skgpb.domains import Angle, Box, Cell, Cells, Fidelities, PointsQuery, Region
from skgpb.domains.allocations import AllocationSet
from skgpb.domains.arms import Arm, ArmSet, Incumbents, Layout, Query, readable, with_fields
from skgpb.domains.balls import Balls
from skgpb.domains.box_candidates import BoxCandidates
from skgpb.domains.candidates import points_near, spread_points
from skgpb.domains.contexts import ContextPartition
from skgpb.domains.covering import LEVELS, ChebyshevCovering, EuclideanCovering
from skgpb.domains.first_design import first_points, next_place
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.indirect import QuerySet, QueryTree
from skgpb.domains.mixed import MixedPartition
from skgpb.domains.partition import BoxPartition, PoolPartition, sample_places
from skgpb.domains.space import ParameterSpace
from skgpb.kernels import WindowMean

pytestmark = pytest.mark.one_in(2)


class Best(Incumbents):
    """Points, their values, and how many candidates move."""

    def __init__(self, points, values=None, most=None):
        self._points, self.most = points, most
        self._values = np.zeros(len(points)) if values is None else values

    def values(self):
        return self._points, self._values

    def places(self):
        return self._points


def random_bounds(rng, d):
    lower = rng.normal(size=d) * 10.0
    return np.column_stack([lower, lower + 10.0 ** rng.uniform(-2, 3, d)])


# -- candidates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("periodic", [None, [False, False], [True, False], [True, True]])
def test_points_near_others_are_normal_at_a_scale_of_their_own(periodic):
    bounds, n = random_bounds(np.random.default_rng(0), 2), 400
    lower, side = bounds[:, 0], np.diff(bounds)[:, 0]
    centers = lower + np.array([[0.5, 0.5], [0.0, 1.0], [0.9, 0.1]]) * side
    mask = None if periodic is None else np.array(periodic)
    found = points_near(bounds, centers, n, np.random.default_rng(1), mask)
    rng = np.random.default_rng(1)
    scale = 10.0 ** -rng.uniform(defaults.LOCAL_FARTHEST, defaults.LOCAL_NEAREST, size=(n, 1))
    unit = (centers[np.arange(n) % 3] - lower) / side + scale * rng.standard_normal((n, 2))
    around = np.array([False, False] if periodic is None else periodic)
    expected = np.where(around, unit % 1.0, np.clip(unit, 0.0, 1.0))
    assert_allclose((found - lower) / side, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_candidates_follow_the_best_points_in_turn(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 6)), int(rng.integers(24, 60))
    bounds = random_bounds(rng, d)
    lower, side = bounds[:, 0], np.diff(bounds)[:, 0]
    box = BoxCandidates(bounds, n, None, seed)
    # A grid as fine as the slope demands has too many points.
    assert box.make_candidates(3, 0.05, lambda: 1e3) and box.adaptive
    filling = spread_points(bounds, n, np.random.default_rng([seed, 0]).random(d))
    assert_allclose(box.rows, filling)
    points = lower + rng.uniform(-0.1, 1.1, (20, d)) * side
    points[7] = points[3]
    values = rng.permutation(20).astype(float)
    values[7] = values[3]
    order = np.argsort(-values, kind="stable")[: 2 * defaults.N_CENTERS]
    centers = np.clip(points[order], *bounds.T)
    distinct = [c for i, c in enumerate(centers) if not (c == centers[:i]).all(axis=1).any()]
    n_local = n // 4 if d <= 3 else n
    centers = np.array(distinct[: min(defaults.N_CENTERS, n_local)])
    start, before = 0, box.rows
    for turn in range(5):
        n_moved = n_local if not turn else min(4, n_local)
        expected = n - n_local + (start + np.arange(n_moved)) % n_local
        known = [(np.delete(before, expected, axis=0) == c).all(axis=1).any() for c in centers]
        new = centers[~np.array(known)][:n_moved] if n_moved < n_local else centers
        state = np.random.default_rng(turn)
        around = points_near(bounds, centers, n_moved - len(new), state)
        moved = box.resample(Best(points, values, 4), np.random.default_rng(turn))
        assert_array_equal(moved, expected)
        assert_allclose(box.rows[moved], np.concatenate([new, around]), rtol=1e-12)
        kept = np.setdiff1d(np.arange(n), moved)
        assert_array_equal(box.rows[kept], before[kept])
        start, before = (start + n_moved) % n_local, box.rows
    rivals = box.rivals()
    assert_array_equal(rivals[:n], box.rows)
    assert_allclose(rivals[n:], spread_points(bounds, 256, np.full(d, 0.5)))


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_slope_is_that_of_a_side_at_the_steepest_place(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    bounds = random_bounds(rng, d)
    lower, side = bounds[:, 0], np.diff(bounds)[:, 0]
    a, b = rng.normal(size=(2, d))

    def f(points):
        unit = (points - lower) / side
        return unit @ a + unit**2 @ b

    box = BoxCandidates(bounds, 50, None, seed)
    found = box.largest_slope(lambda block, rows: np.abs(f(rows) - f(block)))
    slopes = []
    for x in spread_points(bounds, 16, np.full(d, 0.5)):
        unit = (x - lower) / side
        step = np.where(unit < 0.5, 1e-4, -1e-4)  # towards the middle
        slopes.append(np.abs(a + b * (2.0 * unit + step)).max())
    assert found == pytest.approx(max(slopes), rel=1e-7)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_grid_grows_with_rounds_and_slope_until_it_has_too_many_points(d):
    for t, theta, slope in itertools.product((1, 2, 5), (0.01, 0.3), (0.01, 0.2)):
        bounds = random_bounds(np.random.default_rng(d), d)
        box = BoxCandidates(bounds, 1000, None, 0)
        assert box.make_candidates(t, theta, lambda slope=slope: slope)
        per_axis = np.ceil(d * t**2 * np.sqrt(2.0) * slope * np.sqrt(np.log(d / theta)))
        expected = int(max(2.0, per_axis)) ** d
        assert box.adaptive == (expected > 1000)
        assert len(box) == (1000 if box.adaptive else expected)
        if not box.adaptive:
            for i in range(d):
                assert_allclose(np.unique(box.rows[:, i])[[0, -1]], bounds[i])


@pytest.mark.parametrize("n", [8, 9, 10])
def test_a_grid_of_exactly_so_many_points_is_one(n):
    box = BoxCandidates(np.array([[0.0, 1.0]] * 2), n, None, 0)
    # ceil(2 t^2 sqrt(2) slope sqrt(log(2 / theta))) is 3.
    box.make_candidates(1, 0.5, lambda: 0.8)
    assert box.adaptive == (n < 9) and len(box) == min(n, 9)


@pytest.mark.parametrize("context", [False, True])
def test_a_first_design_of_candidates_is_filled_and_mended(context):
    sides = {"x": (-2.0, 3.0), "kind": ["a", "b", "c"], "n": range(4)}
    space = ParameterSpace.from_bounds(sides)
    box = BoxCandidates(space.bounds, 64, None, 5, space)
    if context:
        box = box.add_contexts(
            np.array([[0.0, 4.0]]), ParameterSpace.from_bounds({"day": (0, 4)} | sides)
        )
        box = box.with_context(np.array([1.5]))
    c = int(context)
    n, seed, none = 8, 3, np.empty((0, 3 + c))
    asked = []
    while (arm := box.first_arm(n, np.array(asked).reshape(-1, 3 + c), none, seed)) is not None:
        assert arm.index == -1 and (not context or arm.context.tolist() == [1.5])
        asked.append(arm.descriptor)
        assert len(asked) <= n
    found = np.array(asked)[:, c:]
    assert_allclose(space.snap(found), found)
    for i, k in ((1, 3), (2, 4)):  # every value as often as any other, or once more
        assert np.ptp(np.unique(found[:, i], return_counts=True)[1]) <= 1
        assert len(np.unique(found[:, i])) == k
    first = box.first_arm(n, none, none, seed).descriptor
    assert_array_equal(first, asked[0])
    assert not np.array_equal(box.first_arm(n, none, none, seed + 1).descriptor, first)
    # What failed is replaced by another place.
    failed = np.array(asked[:2])
    done, more = list(asked[2:]), 0
    while (arm := box.first_arm(n, np.array(done), failed, seed)) is not None:
        assert not (arm.descriptor == failed).all(axis=1).any()
        done.append(arm.descriptor)
        more += 1
        assert more <= 2
    assert more == 2


def test_a_set_of_members_does_not_move():
    rows = np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 1.0]])
    arms = ArmSet(rows, np.array([[0.0, 1.0]] * 2))
    assert arms.counts is None and not arms.follows and arms.placements_of(0) is None
    assert not arms.make_candidates(1, 0.1, lambda: 1.0) and arms.largest_slope(None) == 0.0
    assert arms.resample(None, None).shape == (0,) and arms.move_to(arms.arm(0)) == -1
    assert arms.query_from_values(np.zeros(3)) is None and arms.n_cost_groups == 3
    assert arms.probes(4, np.zeros(2)).shape == (0, 2)
    assert_array_equal(arms.rivals(), rows)
    assert_array_equal(arms.query_values(np.array([1.0, 2.0, 3.0])), [1.0, 2.0, 3.0])
    told = [PointsQuery(rows[1:2]), PointsQuery(rows[1:2] + 0.1)]
    assert [arms.cost_group(query) for query in told] == [1, -1]
    assert repr(told[0]) == "PointsQuery([[0.5, 0.0]])"
    for index, query in enumerate(map(arms.arm, range(3))):
        assert arms.cost_group(query) == index
        assert_array_equal(arms.different_from(query), np.arange(3) != index)
    doubled = ArmSet(rows[[0, 0, 1]], np.array([[0.0, 1.0]] * 2))
    assert doubled.slot_of(doubled.arm(1)) == 1
    assert_array_equal(doubled.different_from(doubled.placed_arm(rows[0])), [False, False, True])
    queries = QuerySet(rows, WindowMean(scale=0.1), None)
    tree = QueryTree(np.array([[0.0, 1.0]]), WindowMean(scale=0.1), 2, 2, lambda h: 1.0)
    queries.arm(1)
    tree.cell((2, 3))
    assert pickle.loads(pickle.dumps(queries)).arm(1) == queries.arm(1)
    assert pickle.loads(pickle.dumps(tree)).cell((2, 3)) == tree.cell((2, 3))
    assert not vars(pickle.loads(pickle.dumps(queries)))["_queries"]
    assert not vars(pickle.loads(pickle.dumps(tree)))["_cells"]


# -- cells of sizes --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_cells_of_each_size_fill_the_box_of_their_centres(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    bounds = random_bounds(rng, d)
    lower, side = bounds[:, 0], np.diff(bounds)[:, 0]
    n_sizes = int(rng.integers(1, 4))
    sizes = rng.choice([0.0, 0.1, 0.4, 1.0], (n_sizes, d)) * side
    n = int(rng.choice([20, 120]))
    cells = FreeCells(sizes, bounds, n, Layout(d, counts=(2,) * d), [seed])
    each = max(n // n_sizes, 2 * defaults.N_CENTERS)
    assert_array_equal(cells.size_of, np.repeat(np.arange(n_sizes), each))
    n_local = each // (4 if d <= 3 else 2)
    moving = [i * each + j for i in range(n_sizes) for j in range(each - n_local, each)]
    assert_array_equal(cells.moving, moving)
    for slot in range(len(cells)):
        low, high = np.split(cells.rows[slot], 2)
        assert_allclose(high - low, sizes[cells.size_of[slot]], atol=1e-9 * side.max())
        assert (low >= lower - 1e-9 * side).all() and (high <= lower + side + 1e-9 * side).all()
    for number in range(n_sizes):
        limits = cells.center_bounds[number]
        assert_allclose(
            limits, np.column_stack([lower, lower + side]) + np.outer(sizes[number], [0.5, -0.5])
        )
        shift = np.random.default_rng([seed, number, 3]).random(d)
        places = cells.every_place()[cells.size_of == number]
        assert_allclose(places, spread_points(limits, each, shift), atol=1e-9 * side.max())
    # The design has the sizes in turn, each within the box of its centres.
    none = np.empty((0, 2 * d))
    first = first_points(bounds, 5, 7)
    numbers = np.arange(5) % n_sizes
    centers = np.array([
        limits[:, 0] + (x - lower) / side * (limits[:, 1] - limits[:, 0])
        for x, limits in zip(first, (cells.center_bounds[i] for i in numbers), strict=True)
    ])  # fmt: skip
    known = none
    while (arm := cells.first_arm(5, known, none, 7)) is not None:
        i = next_place(centers, 5, 0.5 * (known[:, :d] + known[:, d:]), none[:, :d], bounds)
        assert_allclose(arm.center, centers[i], atol=1e-9 * side.max())
        assert_allclose(arm.upper - arm.lower, sizes[numbers[i]], atol=1e-9 * side.max())
        known = np.vstack([known, arm.descriptor])
        assert len(known) <= 5


@pytest.mark.parametrize("seed", range(6))
def test_after_each_move_the_best_targets_have_cells(seed):
    rng = np.random.default_rng(seed)
    bounds = random_bounds(rng, 2)
    lower, side = bounds[:, 0], np.diff(bounds)[:, 0]
    sizes = np.array([[0.0, 0.0], [0.2, 0.1], [0.3, 1.0]])[: 1 + seed % 3] * side
    cells = FreeCells(sizes, bounds, 150, Layout(2, counts=(2, 2)), [0])
    best = lower + rng.random((3, 2)) * side
    n_local = len(cells.moving) // len(sizes)
    cells.resample(Best(best), rng)
    asked = 0
    for turn in range(8):
        before = cells.every_place()
        moved = cells.resample(Best(best), rng)
        each = min(-(-16 // len(sizes)), n_local)
        assert_array_equal(np.bincount(cells.size_of[moved]), [each] * len(sizes))
        assert_array_equal(
            moved.reshape(len(sizes), -1),
            cells.moving.reshape(len(sizes), -1)[:, (asked + np.arange(each)) % n_local],
        )
        asked += each
        kept = np.setdiff1d(np.arange(len(cells)), moved)
        assert_array_equal(cells.every_place()[kept], before[kept])
        for number, limits in enumerate(cells.center_bounds):
            places = cells.every_place()[cells.size_of == number]
            for center in np.clip(best, *limits.T):
                same = (np.abs(places - center) <= 1e-9 * side).all(axis=1)
                at_end = (np.abs(center - limits.T) <= 1e-9 * side).any()
                assert same.sum() == 1 or (same.any() and at_end)
        if turn == 4:
            cells.resample_all()
            assert_array_equal(np.sort(cells.resample(Best(best), rng)), cells.moving)
            asked = n_local
        # A cell that is asked at another place is the last to move.
        number = turn % len(sizes)
        query = cells.placed_arm(cells.rows_of_centers(lower[None] + 0.5 * side, number)[0])
        slot = cells.move_to(query)
        expected = cells.moving.reshape(len(sizes), -1)[number, (asked - 1) % n_local]
        assert slot == expected and cells.number_of_size(query) == number
        assert_allclose(cells.rows[slot], query.descriptor)
    two = PointsQuery(np.tile(lower, (2, 1)))
    assert cells.move_to(two) == -1
    inside = cells.add_contexts(np.array([[0.0, 1.0]]))
    assert inside.move_to(PointsQuery(np.array([[0.5, *lower]]))) == -1
    cells.plain = cells.plain[1:]
    with pytest.raises(ValueError, match=r"there are 1\d\d cells, got rows of 1\d\d"):
        cells._resume()


def test_at_most_half_of_the_cells_that_move_go_to_the_best_targets():
    sizes = np.outer(np.arange(6.0) / 10.0, [1.0, 1.0])
    cells = FreeCells(sizes, np.array([[0.0, 1.0]] * 2), 240, Layout(2, counts=(2, 2)), [0])
    rng = np.random.default_rng(0)
    for best in (rng.random((5, 2)), rng.random((5, 2))):
        moved = cells.resample(Best(best), rng).reshape(6, -1)
        each = len(cells.moving) // 6 if moved.shape[1] > 3 else 3
        assert moved.shape == (6, each)
        for slots, limits in zip(moved, cells.center_bounds, strict=True):
            targets = np.clip(best, *limits.T)[: -(-each // 2)]
            places = cells.every_place()[slots]
            assert_allclose(places[: len(targets)], targets, atol=1e-12)
            assert (np.abs(places[len(targets) :, None] - best).max(axis=2) > 1e-9).all()


def test_points_cross_the_end_of_an_angle_and_cells_do_not():
    space = ParameterSpace.from_bounds({"turn": Angle(0, 10), "x": (0.0, 1.0)})
    sizes = np.array([[0.0, 0.0], [2.0, 0.1]])
    cells = FreeCells(sizes, space.bounds, 400, Layout(2, counts=(2, 2)), [0], space)
    best = np.array([[0.0, 0.5]])
    cells.resample(Best(best), np.random.default_rng(0))
    for number in (0, 1):
        places = cells.every_place()[cells.moving][cells.size_of[cells.moving] == number]
        assert (places[:, 0] < 4.0).any() and (places[:, 0] > 6.0).any() == (number == 0)
        low, high = cells.center_bounds[number][0]
        assert ((places[:, 0] >= low) & (places[:, 0] <= high)).all()


@pytest.mark.parametrize("n", [6, 11, 12])
def test_all_settings_are_candidates_for_each_function_if_they_are_few(n):
    space = ParameterSpace.from_bounds({"n": range(4), "kind": ["a", "b", "c"]})
    given = Fidelities(2)
    sizes = given.sides(space.bounds, space)
    assert_array_equal(given.tasks, [0, 1])
    layout = Layout(2, task_column=0.0)
    cells = FreeCells(
        sizes, space.bounds, 2 * n, layout, [0], space, tasks=given.tasks, n_tasks=given.n
    )
    each = len(cells) // 2
    assert_array_equal(cells.size_of, np.repeat([0, 1], each))
    assert_array_equal(cells.rows[:, -1], np.repeat([0.0, 1.0], each))
    assert len(cells.moving) == (0 if n >= 12 else 2 * (each // 4))
    assert each == (12 if n >= 12 else max(n, 10))
    if n >= 12:
        for task in (0, 1):
            settings = {
                tuple(space.setting(row[:2]).values()) for row in cells.rows[each * task :][:each]
            }
            assert settings == set(itertools.product(range(4), "abc"))
    several = Fidelities(3, [0.0, 0.5])
    assert_array_equal(several.tasks, [0, 0, 1, 1, 2, 2])
    assert repr(several) == "Fidelities(3, [0.0, 0.5])" and repr(given) == "Fidelities(2)"
    assert len(several.sides(np.array([[0.0, 1.0]]), None)) == 6
    for wrong in (0, True, 1.5):
        with pytest.raises(ValueError, match="n of Fidelities must be an integer >= 1"):
            Fidelities(wrong)


@pytest.mark.parametrize("off", [0.0, 0.9e-9, 1.1e-9, 1e-3])
def test_a_query_has_the_size_of_its_sides_up_to_rounding(off):
    bounds = np.array([[0.0, 1000.0], [0.0, 0.01]])
    sizes = np.array([[0.2, 0.5], [0.2, 0.1], [0.0, 0.0]]) * [1000.0, 0.01]
    cells = FreeCells(sizes, bounds, 60, Layout(2, counts=(2, 2)), [0])
    for number, axis in itertools.product(range(3), range(2)):
        box = np.concatenate([[1.0, 1e-5], [1.0, 1e-5] + sizes[number]])
        box[2 + axis] += off * bounds[axis, 1]
        query = cells.query_of_box(box)
        assert cells.number_of_size(query) == (number if off < 1e-9 else -1)
        assert cells.nearest_size(query, np.array([2, number])) == (
            (0 if number == 2 else 1) if off < 1e-9 else -1
        )


def test_sizes_have_a_number_for_each_side_that_needs_one():
    space = ParameterSpace.from_bounds({"x": (0.0, 4.0), "n": range(5), "y": uniform(0, 9)})
    for size, expected in [
        ({"x": 4.0, "y": 1.0}, [4.0, 1.0, 1.0]),
        ({"x": 0.0, "y": 0.0, "n": 5}, [0.0, 5.0, 0.0]),
        (1.0, [1.0, 1.0, 1.0]),
        ((4.0, 5, 0.0), [4.0, 5.0, 0.0]),
    ]:
        assert_array_equal(Cells(size).sides(space.bounds, space), [expected])
    for size, said in [
        ({"x": 1.0}, r"a number for each of \['x', 'y'\]"),
        ({"x": 4.1, "y": 0.5}, r"no longer than the box, \[4.0, 1.0\]"),
        ({"x": 1.0, "y": -0.1}, "at least 0"),
        ({"x": 1.0, "y": 0.5, "n": 6}, r"integers from 1 to the number of values, \[5\]"),
        ({"x": 1.0, "y": 0.5, "n": -1}, "integers from 1"),
        ((1.0, 0.5), "tuples of 3 numbers, one for each side"),
        ((1.0, True, "a"), "must be numbers"),
    ]:
        with pytest.raises(ValueError, match=said):
            Cells(size).sides(space.bounds, space)
    plain = np.array([[0.0, 2.0], [1.0, 4.0]])
    assert_array_equal(Cells([2.0, (0.0, 3.0)]).sides(plain, None), [[2.0, 2.0], [0.0, 3.0]])


# -- pools -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_a_pool_is_sorted_along_its_widest_side_and_cut_into_parts_of_equal_size(seed):
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(5, 90)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    # Sides of different lengths, far from 0, with ties.
    pool = rng.integers(0, 12, (n, d)) * 2.0 ** rng.integers(-6, 7, d) + 50.0
    if d > 1 and seed % 2:
        pool[:, 0] = 7.0
    side = np.where(np.ptp(pool, axis=0) > 0.0, np.ptp(pool, axis=0), 1.0)

    def arrange(members, depth, index, cells):
        if len(members) >= K:
            axis = int(np.argmax(np.ptp(pool[members], axis=0) / side))
            members = sorted(members, key=lambda i: pool[i, axis])
            ends = [len(members) * j // K for j in range(K + 1)]
            parts = [
                arrange(members[a:b], depth + 1, K * index + j, cells)
                for j, (a, b) in enumerate(itertools.pairwise(ends))
            ]
            members = [i for part in parts for i in part]
        cells[depth, index] = members
        return members

    cells = {}
    arrange(list(range(n)), 0, 0, cells)
    for S in (None, 1, 3):
        partition = PoolPartition(pool, K, S)
        for (depth, index), members in cells.items():
            cell = partition.cell_at(depth, index)
            assert_array_equal(cell.members, np.sort(members))
            rows = pool[members]
            assert_array_equal(cell.box, [*rows.min(axis=0), *rows.max(axis=0)])
            if S == 1:
                away = (np.abs(rows - rows.mean(axis=0)) / side).sum(axis=1)
                assert away[(rows == cell.points[0]).all(axis=1)].min() == pytest.approx(away.min())
            elif S is None or len(members) <= S:
                assert_array_equal(cell.points, rows)
            else:
                assert_array_equal(
                    cell.points, rows[[(2 * i + 1) * len(members) // 6 for i in range(3)]]
                )
        deepest = max(depth for depth, _ in cells)
        with pytest.raises(ValueError, match="would have too few members"):
            partition.cell_at(deepest + 1, 0)
    whole = PoolPartition(pool, K, 2)
    some = [points for points, _ in whole.deviation_row_sets(1)]
    numbers = sorted({j * K // 8 for j in range(8)} | {K - 1}) if n >= K else []
    assert len(some) == len(numbers)
    for points, index in zip(some, numbers, strict=True):
        assert_array_equal(points, whole.cell_at(1, index).points)


# -- cells of mixed boxes --------------------------------------------------------------------------

SIDES = {"heat": (20.0, 90.0), "kind": ["a", "b", "c"], "n": range(6), "y": (-5.0, -4.0)}
TURNS = {"turn": Angle(10, 40), "n": range(3)}


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "sides", [SIDES, {"turn": Angle(10, 40), "n": range(3)}], ids=["numbers", "angle"]
)
def test_cells_around_certain_places_are_a_sample_of_their_depth(K, sides):
    space = ParameterSpace.from_bounds(sides)
    d = space.n_axes
    mixed = MixedPartition(space, K, (2,) * d, max_depth=4)
    (low, high), level = space.bounds.T, [mixed.cell_at(0, 0)]
    places = low + (high - low) * sample_places(d)
    for depth in range(4):
        holding = {}
        for place in places:
            inside = [c for c in level if (c.lower <= place).all() and (place <= c.upper).all()]
            if inside:
                holding[inside[0].box.tobytes()] = inside[0]
        found = mixed.deviation_cells(depth, everywhere=True)
        assert {rows.tobytes() for rows, _, _ in found} == {
            mixed.rows_of_query(cell).tobytes() for cell in holding.values()
        }
        shapes = {tuple(mixed._ranges.lengths(cell.box).round(9)) for cell in holding.values()}
        one_of_each = mixed.deviation_cells(depth, everywhere=False)
        assert len(one_of_each) == (len(holding) if "turn" in sides else len(shapes))
        level = [cell for parent in level for cell in _children(mixed, parent, K)]
        assert len(level) < 300


@pytest.mark.parametrize("at_center", [False, True])
def test_a_box_as_small_as_the_finest_cell_is_one_and_a_smaller_one_is_not(at_center):
    bounds = np.array([[0.0, 1.0], [-2.0, 5.0]])
    counts = (1, 1) if at_center else (2, 3)
    for most in (0, 1, 3):
        partition = BoxPartition(bounds, 2, counts, at_center, max_depth=most)
        for depth in range(most + 3):
            cell = BoxPartition(bounds, 2, counts, at_center).cell_at(depth, 2**depth - 1)
            found = partition.query_of_box(cell.box)
            assert type(found) is (Cell if depth <= most + 1 else Region)
            assert_array_equal(found.box, cell.box)


def _children(mixed, parent, K):
    out = []
    for j in range(K):
        try:
            out.append(mixed.cell_at(parent.depth + 1, K * parent.index + j))
        except ValueError:
            break
    return out


@pytest.mark.parametrize("K", [2, 3])
def test_the_average_over_a_mixed_box_is_a_cell_or_a_region(K):
    space = ParameterSpace.from_bounds(SIDES)
    mixed = MixedPartition(space, K, (2, 3, 6, 2), max_depth=6)
    cell = mixed.cell_at(0, 0)
    for _ in range(1, 7):
        assert mixed.query_of_box(cell.box) == cell
        cell = _children(mixed, cell, K)[-1]
    box = space.box_between(
        {"heat": 30.0, "kind": "b", "n": 1, "y": -4.9},
        {"heat": 50.0, "kind": "c", "n": 2, "y": -4.2},
    )
    region = mixed.query_of_box(box)
    assert type(region) is Region
    found = region.params
    assert found["heat"] == (30.0, 50.0) and found["y"] == (-4.9, -4.2)
    assert found["kind"] == ["b", "c"] and found["n"] == [1, 2]
    assert_array_equal(mixed.rows_of_query(region), mixed.rows_of_box(box))
    with pytest.raises(ValueError, match="not a cell"):
        mixed.resolve(Cell(1, 0, box[:4], box[4:], (2, 3, 6, 2)).with_names(space))


def test_single_settings_are_split_no_further_at_any_depth():
    space = ParameterSpace.from_bounds({"n": range(3), "kind": ["a", "b"]})
    mixed, leaves = MixedPartition(space, 2, (3, 2), max_depth=9), [0]
    for _ in range(20):
        node = next((leaf for leaf in leaves if mixed.splittable(leaf)), None)
        if node is None:
            break
        leaves.remove(node)
        leaves += range(mixed.split(node), mixed.tree.n_nodes)
        twin = mixed.copy()
        assert [twin.splittable(leaf) for leaf in leaves] == [mixed.splittable(x) for x in leaves]
    assert len(leaves) == 6 and node is None
    settings = [tuple(mixed.cell(leaf).params.values()) for leaf in leaves]
    assert sorted(settings) == sorted(itertools.product(range(3), "ab"))
    deepest = max(mixed.cell(leaf).depth for leaf in leaves)
    for depth in range(deepest + 3):
        assert bool(mixed.deviation_cells(depth, True)) == (depth <= deepest)
    rows = mixed.row_sets(0, mixed.tree.n_nodes)
    for node, found in enumerate(rows):
        assert_array_equal(found, mixed.rows_of_query(mixed.cell(node)))
    cell = mixed.cell(leaves[0])
    beyond = Cell(cell.depth + 1, 2 * cell.index, *np.split(cell.box, 2), (3, 2)).with_names(space)
    with pytest.raises(ValueError, match="not a cell of this optimizer's partition"):
        mixed.resolve(beyond)
    shallow = MixedPartition(space, 2, (3, 2), max_depth=0)
    first = shallow.split(0)
    assert not shallow.splittable(first) and len(shallow.cell(first).settings) > 1


# -- balls, and cells in contexts ------------------------------------------------------------------


def test_balls_of_impossible_sizes_or_places_are_refused():
    bounds = np.array([[0.0, 1.0], [-2.0, 5.0]])
    balls = Balls(bounds, ChebyshevCovering(2), (2, 3))
    for _ in range(4):
        balls.shrink(0)
    inside = balls.ball_at(np.array([0.3, 0.7]), 3)
    balls.resolve(inside)
    values = {name: getattr(inside, name) for name in inside.arguments}

    def changed(**other):
        return type(inside)(**(values | other)).with_names(None)

    unit = bounds[:, 1] - bounds[:, 0]
    balls.resolve(changed(lower=inside.lower + 0.5e-9 * unit, center=inside.center - 0.5e-9 * unit))
    balls.resolve(balls.ball_at(np.array([0.3, 0.7]), 0))
    balls.resolve(balls.ball_at(np.array([0.3, 0.7]), LEVELS))
    for wrong in (
        changed(depth=-1), changed(depth=4), changed(spec=(2, 2)), changed(spec=None),
        changed(lower=inside.lower - 2e-9 * unit), changed(upper=inside.upper + 2e-9 * unit),
        changed(center=inside.center + 2e-9 * unit), changed(center=inside.center[:1]),
        balls.ball_at(np.array([0.3, 0.7]), LEVELS + 1),
        balls.ball_at(np.array([0.3, 0.7]), -1),
        replace(balls.ball(0, 0), depth=5), replace(balls.ball(0), index=len(balls)),
        balls.ball_at(balls.covering.center(0), 5, 0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not a ball of this optimizer"):
            balls.resolve(wrong)


def test_balls_are_rebuilt_from_those_that_were_halved():
    bounds = np.array([[0.0, 1.0], [-2.0, 5.0]])
    balls = Balls(bounds, ChebyshevCovering(2), None)
    rng = np.random.default_rng(0)
    for _ in range(200):  # large balls, mostly, until one has made three others necessary
        balls.shrink(int(np.argmin(balls.depth + 0.8 * rng.random(len(balls)))))
        if max(map(balls.parent.count, range(len(balls)))) > 2:
            break
    arrays = balls.arrays()
    assert arrays["children"].shape == (len(balls), 3)
    for ball in range(len(balls)):
        own = arrays["children"][ball]
        assert own[own >= 0].tolist() == [i for i, p in enumerate(balls.parent) if p == ball]
    balls.n_evaluations = list(range(len(balls)))
    other = Balls(bounds, ChebyshevCovering(2), None)
    other.shrunk, other.n_evaluations = balls.shrunk, balls.n_evaluations
    other._resume()
    for name, value in balls.arrays().items():
        assert_array_equal(other.arrays()[name], value)
    assert other.shrunk == balls.shrunk and other.parent == balls.parent
    strange = Balls(bounds, ChebyshevCovering(2), None)
    strange.shrunk, strange.n_evaluations = balls.shrunk, [0]
    with pytest.raises(ValueError, match="not of"):
        strange._resume()
    points = PointsQuery(np.array([[0.2, 3.0], [0.4, 1.0]]))
    assert_array_equal(balls.rows_of_query(points), np.tile(points.points, 2))
    wide = Balls(bounds, ChebyshevCovering(2), (2, 1)).ball(0)
    assert_allclose(wide.points, [[0.25, 1.5], [0.75, 1.5]])
    assert_allclose(balls.ball(0).points, [[0.5, 1.5]])
    for finest in range(5):
        front = balls.front(finest)
        fine = [i for i, h in enumerate(balls.depth) if h <= finest]
        assert [place[1:] for place in front] == [(balls.depth[i], i) for i in fine] or not fine
        if not fine:
            assert front[0][1:] == (finest, -1)


@pytest.mark.parametrize("at_center", [False, True])
def test_cells_in_contexts_are_told_from_others(at_center):
    bounds = np.array([[0.0, 3.0], [-2.0, 5.0], [0.0, 1.0]])
    counts = (1,) * 3 if at_center else (1, 2, 2)
    joint = BoxPartition(bounds, 2, counts, at_center, max_depth=4)
    domain = ContextPartition(joint, bounds[:1])
    leaves = [0]
    for _ in range(9):
        node = leaves.pop(0)
        leaves += range(joint.split(node), joint.tree.n_nodes)
    for context in (0.0, 0.7, 1.5, 3.0):
        given = np.array([context])
        expected = [
            leaf for leaf in leaves
            if joint.cell(leaf).lower[0] <= context < joint.cell(leaf).upper[0]
            or context == 3.0 == joint.cell(leaf).upper[0]
        ]  # fmt: skip
        assert sorted(domain.relevant(given).tolist()) == sorted(expected)
        for node in expected:
            query, cell = domain.query_in_context(node, given), joint.cell(node)
            assert_array_equal(query.lower, [context, *cell.lower[1:]])
            assert_array_equal(query.upper, [context, *cell.upper[1:]])
            assert_array_equal(query.actions, np.unique(cell.points[:, 1:], axis=0))
            assert_array_equal(query.points[:, 0], np.full(len(query.points), context))
            domain.resolve(query)
            values = {name: getattr(query, name) for name in query.arguments}
            K = 2**query.depth
            for change in (
                {"index": K}, {"index": -1}, {"depth": -1}, {"depth": 7}, {"n_context": 2},
                {"lower": query.lower + 0.1}, {"lower": query.lower + np.array([4.0, 0.0, 0.0])},
                {"spec": (3, 3, 3)},
            ):  # fmt: skip
                strange = values | change
                other = type(query)(*(strange[name] for name in query.arguments))
                with pytest.raises(ValueError, match="not a cell"):
                    domain.resolve(other)
    points = PointsQuery(bounds.mean(axis=1)[None])
    assert_array_equal(domain.rows_of_query(points), np.tile(points.points, 2))
    assert_array_equal(domain.rows_of(points.points), np.tile(points.points, 2))
    assert domain.node_of(points) == -1
    domain.max_depth = 2
    assert joint.max_depth == 2 == domain.max_depth


@pytest.mark.parametrize(("K", "q", "deepest"), [(2, 1, 62), (4, 2, 15), (3, 1, 39), (8, 3, 6)])
def test_a_tree_of_rows_is_as_deep_as_its_numbers_have_64_bits(K, q, deepest):
    root = np.array([[0.0, 1.0]] * q)
    QueryTree(root, WindowMean(scale=0.1), K, deepest, lambda h: 1.0)
    with pytest.raises(ValueError, match="max_depth is so large"):
        QueryTree(root, WindowMean(scale=0.1), K, deepest + 1, lambda h: 1.0)


# -- queries ---------------------------------------------------------------------------------------


def test_queries_are_the_same_settings_on_other_sides_or_not():
    one = ParameterSpace.from_bounds({"x": (0.0, 1.0), "n": range(1, 4)})
    query = PointsQuery(np.array([[0.25, 0.5], [0.75, 5 / 6]])).with_names(one)
    plain = PointsQuery(np.array([[0.25, 2.0]]))
    assert query.is_compatible_with(one)
    for sides, expected in [
        ({"x": (0.0, 1.0), "n": range(1, 4)}, True),
        ({"x": (0.0, 2.0), "n": [3, 2, 1]}, True),
        ({"x": (0.0, 1.0), "n": range(1, 5)}, False),
        ({"n": range(1, 4), "x": (0.0, 1.0)}, False),
        ({"x": (0.0, 1.0), "m": range(1, 4)}, False),
        ({"x": (0.0, 1.0), "n": range(1, 4), "y": (0.0, 1.0)}, True),  # refused elsewhere
    ]:
        assert query.is_compatible_with(ParameterSpace.from_bounds(sides)) is expected
    assert plain.is_compatible_with(None)
    assert plain.is_compatible_with(ParameterSpace.from_bounds({"a": (0.0, 1.0), "b": (0.0, 3.0)}))
    assert not plain.is_compatible_with(one)
    assert not query.is_compatible_with(None)
    spans = ParameterSpace.from_bounds({"a": (0.0, 1.0), "b": (0.0, 3.0)})
    assert PointsQuery(np.array([[0.25, 2.0]])).with_names(spans).is_compatible_with(None)


@with_fields
class Ring(Query):
    """A query of one's own, which says nothing about its text."""

    center: np.ndarray
    radius: float

    def find_points(self):
        return self.center + self.radius * np.array([[0.0, 1.0], [1.0, 0.0]])


def test_a_query_of_ones_own_follows_from_its_fields():
    ring = Ring(np.array([1.0, 2.0]), 0.5)
    bounds = ParameterSpace.from_bounds({"a": (0, 9), "b": (0, 9)})
    assert repr(ring) == "Ring(center=[1. 2.], radius=0.5)"
    assert Ring.arguments == ("center", "radius")
    assert_array_equal(ring.points, [[1.0, 2.5], [1.5, 2.0]])
    assert_array_equal(ring.box, [1.0, 2.0, 1.5, 2.5])
    assert ring.params == {"x0": (1.0, 1.5), "x1": (2.0, 2.5)} and not ring.has_names
    assert ring.settings == [{"x0": 1.0, "x1": 2.5}, {"x0": 1.5, "x1": 2.0}]
    named = Ring(np.array([1.0, 2.0]), 0.5).with_names(bounds)
    assert named == ring and repr(named) == "Ring(a=(1, 1.5), b=(2, 2.5))"
    assert repr(pickle.loads(pickle.dumps(named))) == repr(named)
    assert pickle.loads(pickle.dumps(ring)) == ring != Ring(np.array([1.0, 2.0]), 0.6)
    with pytest.raises(AttributeError, match="immutable: cannot set radius"):
        ring.radius = 3.0
    with pytest.raises(ValueError, match="read-only"):
        ring.points[0] = 3.0


def test_queries_are_readable():
    assert readable((1 / 3, "a", 2)) == "(0.333333, 'a', 2)" and readable(1 / 3, 2) == "0.33"
    space = ParameterSpace.from_bounds({"x": (0.0, 1.0), "n": range(1, 4)})
    layout = Layout(2, counts=(2, 3))
    arm = Arm(-1, np.array([0.0, 0.0, 1 / 3, 1.0]), layout).with_names(space)
    assert repr(arm) == "Arm(x=(0, 0.333333), n=[1, 2, 3])"
    assert arm.params == {"x": (0.0, 1 / 3), "n": [1, 2, 3]}
    assert repr(Arm(2, np.array([0.5]))) == "Arm(index=2, descriptor=[0.5])"
    named = Arm(2, np.array([0.5, 0.5])).with_names(space)
    assert repr(named) == "Arm(x=0.5, n=2)"
    task = Arm(-1, np.array([0.5, 0.5, 1.0]), Layout(2, task_column=0.0)).with_names(space)
    assert repr(task) == "Arm(x=0.5, n=2, task=1)"
    inside = Arm(1, np.array([7.0, 0.5]), Layout(1, n_context=1))
    assert repr(inside) == "Arm(index=1, context=[7.], descriptor=[7.  0.5])"
    assert inside.params == {"x0": 7.0, "x1": 0.5}
    region = Region(np.array([0.0, 1.0]), np.array([2.0, 1.0]), (2, 1))
    assert region.params == {"x0": (0.0, 2.0), "x1": 1.0}
    assert repr(region) == "Region(lower=[0. 1.], upper=[2. 1.])"
    assert region != Region(np.array([0.0, 1.0]), np.array([2.0, 1.0]), (3, 1))
    with pytest.raises(AttributeError, match="cannot delete"):
        del region.lower
    labels = [f"A{i}" for i in range(7)]
    arms = ArmSet(np.zeros((7, 1)), np.array([[0.0, 1.0]]), names=labels)
    with pytest.raises(ValueError, match=r"'A0', 'A1', 'A2', 'A3', 'A4', \.\.\.$"):
        arms.named_arm("B")
    assert arms.named_arm("A6").index == 6


def test_a_constrained_box_has_its_vertices_among_moving_candidates():
    space = ParameterSpace.from_bounds(Box(dict.fromkeys("ABCD", (0, 1)), "A + B + C + D = 1"))
    box = BoxCandidates(space.bounds, 40, None, 0, space)
    box.make_candidates(1, 0.1, lambda: 1e3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        # In four dimensions all others move.
        moved = box.resample(Best(box.rows[9:15], np.arange(6.0)), rng)
        assert_array_equal(moved, np.arange(4, 40))
        assert_allclose(np.sort(box.rows[:4], axis=1), np.tile([0, 0, 0, 1], (4, 1)), atol=1e-6)
        assert_allclose(box.rows.sum(axis=1), 1.0, atol=1e-9)
        box.resample_all()
        box._next = None
    outside = Best(np.array([[0.5, 0.6, 0.7, 0.8]]), np.zeros(1))
    box.resample(outside, rng)
    assert_allclose(box.rows.sum(axis=1), 1.0, atol=1e-9)


# -- allocations, and designs ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_first_allocations_are_the_nearest_affordable_ones_to_points_that_fill_the_space(seed):
    rng = np.random.default_rng(seed)
    widths = [1, 2, 1]
    bounds = [random_bounds(rng, d) for d in widths]
    campaigns = [
        ArmSet(rng.uniform(*each.T, (int(rng.integers(4, 9)), d)), each)
        for d, each in zip(widths, bounds, strict=True)
    ]
    costs = [rng.integers(1, 9, len(arms)).astype(float) for arms in campaigns]
    budget = 14.0
    every = list(itertools.product(*(range(len(arms)) for arms in campaigns)))
    every = [c for c in every if sum(cost[k] for cost, k in zip(costs, c, strict=True)) <= budget]
    begins = np.cumsum([0, *map(len, campaigns)])

    def best(values):
        sums = [[sum(row[begins[i] + k] for i, k in enumerate(c)) for c in every] for row in values]
        return np.array(every)[np.argmax(sums, axis=1)]

    chosen = AllocationSet(campaigns, costs)
    box = np.concatenate(bounds)
    lower, side = box[:, 0], np.diff(box)[:, 0]
    places = {
        c: np.concatenate([a.rows[k] for a, k in zip(campaigns, c, strict=True)]) for c in every
    }
    targets = first_points(box, 6, seed)
    nearest = [
        min(every, key=lambda c, x=x: ((((places[c] - x) / side) ** 2).sum(), c)) for x in targets
    ]
    known = none = np.empty((0, 4))
    asked = []
    while (query := chosen.first_allocation(6, known, none, seed, best)) is not None:
        design = np.array([places[c] for c in nearest])
        assert query.indices == nearest[next_place(design, 6, known, none, box)]
        assert query.cost <= budget
        assert_array_equal(query.points, [places[query.indices]])
        assert_array_equal(query.costs, [c[k] for c, k in zip(costs, query.indices, strict=True)])
        asked.append(query.indices)
        known = np.vstack([known, query.points])
        assert len(asked) <= 6
    assert asked and len(set(asked)) == len(asked)
    priced = replace(chosen, priced=True)
    told = PointsQuery(np.array([[3.0, 50.0, 70.0, 9.0]]))
    assert priced.cost_of(told) == 3.0 + 50.0 + 9.0 and np.isnan(chosen.cost_of(told))
    first = chosen.first_allocation(6, none, design[:1], seed, best)  # one failed
    assert first.indices != nearest[0]
    parts = chosen.columns(lower[None])
    assert [part.shape[1] for part in parts] == widths
    told = chosen.parts_of(PointsQuery(lower[None]))
    assert_array_equal(np.concatenate([part.points[0] for part in told]), lower)
    named = replace(chosen, names=["a", "b", "c"])
    assert named.space.names == ["a", "b_0", "b_1", "c"]
    assert_allclose(list(named.allocation(asked[0]).params.values()), places[asked[0]])
    with pytest.raises(ValueError, match="two columns of the arms have the name 'b_0'"):
        replace(chosen, names=["a", "b", "b_0"])
    same = chosen.allocation(asked[0])
    assert same == chosen.allocation(asked[0]) and hash(same) == hash(chosen.allocation(asked[0]))
    assert repr(same).startswith(f"Allocation(indices={asked[0]}, costs=[")


@pytest.mark.parametrize("kind", ["arms", "candidates"])
def test_a_first_design_is_made_once_for_as_many_failures(kind, monkeypatch):
    made, none, square = [], np.empty((0, 2)), np.array([[0.0, 1.0]] * 2)
    if kind == "arms":
        module, name = arms_module, "first_members"
        arms = ArmSet(np.random.default_rng(0).random((12, 2)), square)
    else:
        module, name = candidates_module, "first_points"
        arms = BoxCandidates(square, 60, None, 0)
    make = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *each: made.append(each) or make(*each))
    asked = [arms.first_arm(5, none, none, 0)]
    for n_failed, n_made in ((0, 1), (1, 2), (1, 2), (2, 3)):
        failed = np.array([arm.descriptor for arm in asked[:n_failed]]).reshape(-1, 2)
        known = np.array([arm.descriptor for arm in asked[n_failed:]]).reshape(-1, 2)
        asked.append(arms.first_arm(5, known, failed, 0))
        assert len(made) == n_made
    assert len({tuple(arm.descriptor) for arm in asked}) == len(asked)


@pytest.mark.parametrize("cls", [ChebyshevCovering, EuclideanCovering])
def test_a_covering_has_room_for_twice_as_many_balls_at_most(cls):
    covering, size = cls(2), 0
    for _ in range(60):
        covering.shrink(int(np.argmin(covering.depth)))
        size = max(16, 2 ** int(np.ceil(np.log2(len(covering)))))
        assert len(covering._centers) == len(covering._depth) == size
    assert size > 16


@pytest.mark.parametrize("covering", [ChebyshevCovering(2), EuclideanCovering(2)])
def test_a_covering_counts_the_boxes_of_its_newest_ball(covering):
    for _ in range(60):
        covering.shrink(int(np.argmin(covering.depth)))
    assert len(covering) > 16
    assert covering.effort == (len(covering._region) if covering.metric == "chebyshev" else 0)
    assert_array_equal(covering.center(3), covering.centers[3])
    covering.centers[0] = 9.0  # a copy
    covering.depth[0] = 9
    assert (covering.centers <= 1.0).all() and covering.depth.max() < 9

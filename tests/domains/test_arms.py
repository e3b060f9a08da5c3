"""Sets of arms, candidates and allocations: queries, their rows, and what belongs to a set."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb import defaults
from skgpb.domains import Allocation, Arm, Box, PointsQuery
from skgpb.domains.allocations import AllocationSet
from skgpb.domains.arms import ArmSet, Incumbents, Layout
from skgpb.domains.box_candidates import BoxCandidates
from skgpb.domains.candidates import points_in
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.space import ParameterSpace

POINTS = ArmSet(np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0]] * 2))
BOXES = ArmSet(np.array([[0.0, 0.5], [0.2, 0.2]]), np.array([[0.0, 0.5]]), Layout(1, counts=(3,)))
BOUNDS = np.array([[-1.0, 1.0], [0.0, 3.0]])


class Known(Incumbents):
    """Values at some points."""

    def __init__(self, points, values, most=None):
        self._known, self.most = (points, values), most

    def values(self):
        return self._known

    def places(self):
        raise AssertionError("points follow values, not places")


@pytest.mark.parametrize("arms", [POINTS, BOXES], ids=["points", "boxes"])
def test_arms_come_back_by_number_and_by_row(arms):
    for slot in range(len(arms)):
        arm = arms.arm(slot)
        arms.resolve(arm)
        assert arms.slot_of(arm) == slot
        np.testing.assert_array_equal(arms.rows_of_query(arm), arms.rows[slot : slot + 1])
    # The row is copied: a query stays what it is.
    assert not np.shares_memory(arms.arm(0).descriptor, arms.rows)


def test_points_are_an_arm_where_they_are_its_row():
    assert POINTS.slot_of(PointsQuery(np.array([[0.5, 0.0]]))) == 1
    assert POINTS.slot_of(PointsQuery(np.array([[0.5, 0.1]]))) == -1
    assert POINTS.slot_of(PointsQuery(np.array([[0.5, 0.0], [0.5, 0.0]]))) == -1
    assert BOXES.slot_of(PointsQuery(np.array([[0.2]]))) == 1


def test_box_of_a_query_is_around_what_it_observes():
    np.testing.assert_array_equal(POINTS.arm(1).box, [0.5, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(BOXES.arm(0).box, [0.0, 0.5])
    np.testing.assert_array_equal(PointsQuery(np.array([[0.3], [0.1]])).box, [0.1, 0.3])


@pytest.mark.parametrize(
    "arm",
    [
        Arm(3, np.array([0.0, 1.0])),
        Arm(0, np.array([0.0, 0.9])),
        Arm(-1, np.array([0.0, 1.0])),
        Arm(0, np.array([0.0, 1.0, 0.0])),
        Arm(0, np.array([0.0, 1.0]), Layout(1, counts=(3,))),
    ],
)
def test_arms_of_other_sets_are_refused(arm):
    with pytest.raises(ValueError, match=r"not one of this optimizer's arms \(3 of 2 columns\)"):
        POINTS.resolve(arm)


def candidates(n=64, slope=0.0):
    box = BoxCandidates(BOUNDS, n, None, seed=3)
    assert box.make_candidates(1, 0.1, lambda: slope)
    return box


def test_candidates_are_the_grid_of_theorem_2_while_they_can():
    box = candidates()
    np.testing.assert_array_equal(np.unique(box.rows[:, 1]), [0.0, 3.0])
    assert len(box) == 4
    # ceil(d t^2 b sqrt(log(d / theta))) points per axis, b = sqrt(2) slope, d = 2, theta = 0.1
    assert box.make_candidates(2, 0.1, lambda: 0.3)
    assert len(box) == np.ceil(8 * np.sqrt(2) * 0.3 * np.sqrt(np.log(20))) ** 2 == 36
    assert not box.adaptive


@pytest.mark.parametrize("n", [1, 9, 60, 1000])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_a_box_has_the_least_grid_of_so_many_points_in_few_dimensions(d, n):
    box = np.array([[0.0, 1.0 + axis] for axis in range(d)])
    points, shape = points_in(box, n)
    assert ((points >= box[:, 0]) & (points <= box[:, 1])).all()
    if d <= defaults.GRID_DIMENSIONS:
        least = next(k for k in range(1, n + 1) if k**d >= n)
        assert shape == (min(least, defaults.GRID_PER_AXIS),) * d
        assert len(np.unique(points, axis=0)) == np.prod(shape)
    else:
        assert shape is None and len(points) == n


def test_candidates_that_are_too_many_are_spread_and_a_quarter_follows():
    box = candidates(slope=1e3)
    assert box.adaptive and len(box) == 64
    before = box.rows
    assert not box.make_candidates(2, 0.1, lambda: 1e3)
    points = np.array([[0.2, 2.0], [5.0, 1.0], [-0.5, 0.5]])
    best = Known(points, np.array([0.0, 2.0, 1.0]))
    moved = box.resample(best, np.random.default_rng(0))
    np.testing.assert_array_equal(moved, np.arange(48, 64))
    np.testing.assert_array_equal(box.rows[:48], before[:48])
    # The best first, those outside the box at its face.
    np.testing.assert_array_equal(box.rows[48:51], [[1.0, 1.0], [-0.5, 0.5], [0.2, 2.0]])
    assert ((box.rows >= BOUNDS[:, 0]) & (box.rows <= BOUNDS[:, 1])).all()


def test_candidates_move_in_turn_and_the_best_points_stay():
    box, rng = candidates(slope=1e3), np.random.default_rng(0)
    points, values = rng.uniform(*BOUNDS.T, (30, 2)), rng.normal(size=30)
    best = points[np.argsort(-values)[:5]]
    box.resample(Known(points, values, 7), rng)
    seen = np.zeros(64, dtype=int)
    for _ in range(16):
        before = box.rows
        moved = box.resample(Known(points, values, 7), rng)
        assert len(moved) == 7
        changed = (box.rows != before).any(axis=1)
        assert set(np.flatnonzero(changed)) <= set(moved.tolist())
        seen[moved] += 1
        for center in best:
            assert (box.rows == center).all(axis=1).sum() == 1
    # 112 moves of 16 local candidates.
    np.testing.assert_array_equal(seen, np.repeat([0, 7], [48, 16]))


class Places(Incumbents):
    """Two places."""

    def values(self):
        raise AssertionError("cells follow places, not values")

    def places(self):
        return np.array([[0.2, 0.7], [0.5, 0.5]])


def free_cells():
    return FreeCells(np.full((1, 2), 0.1), np.array([[0.0, 1.0]] * 2), 256, None, [0])


def test_cells_move_in_turn_as_well():
    cells, rng = free_cells(), np.random.default_rng(0)
    moving, before = cells.moving.tolist(), cells.every_place()
    assert cells.resample(Places(), rng).tolist() == moving  # at first all of them
    after = cells.every_place()
    assert np.flatnonzero((after != before).any(axis=1)).tolist() == moving
    np.testing.assert_allclose(after[moving[:2]], Places().places())
    seen = []
    for _ in range(2 * len(moving) // defaults.N_MOVED_CELLS):
        moved = cells.resample(Places(), rng).tolist()
        assert len(moved) == defaults.N_MOVED_CELLS < len(moving)
        seen += moved
    assert seen == 2 * moving


@pytest.mark.parametrize("n_before", [1, 2, 3])
def test_a_cell_that_was_asked_for_stays_until_all_others_have_moved(n_before):
    cells, rng = free_cells(), np.random.default_rng(0)
    for _ in range(n_before):
        cells.resample(Places(), rng)
    slot = cells.move_to(PointsQuery(np.array([[0.31, 0.62]])))
    moved = []
    while slot not in moved:
        np.testing.assert_allclose(cells.every_place()[slot], [0.31, 0.62])
        moved += cells.resample(Places(), rng).tolist()
    assert sorted(moved) == cells.moving.tolist()


def test_what_was_asked_is_a_query_of_its_own_where_it_can_be_set():
    space = ParameterSpace.from_bounds(Box({"A": (0, 1), "B": (0, 1)}, "A + B <= 1"))
    box = BoxCandidates(space.bounds, 64, None, 0, space)
    box.make_candidates(1, 0.1, lambda: 0.0)
    np.testing.assert_array_equal(box.arm_at(box.rows[5:6]).descriptor, box.rows[5])
    between = box.arm_at(np.array([[0.123, 0.456]]))
    assert between.index == -1 and between.params == {"A": 0.123, "B": 0.456}
    assert box.arm_at(np.array([[0.8, 0.9]])) is None  # impossible
    assert box.arm_at(box.rows[:2]) is None  # an average of two


@pytest.mark.parametrize(
    ("side", "d", "n_local"), [((0, 1), 3, 16), ((0, 1), 4, 64), (range(99), 4, 32)]
)
def test_in_many_dimensions_all_candidates_follow_unless_they_are_settings(side, d, n_local):
    space = ParameterSpace.from_bounds({f"x{a}": side for a in range(d)})
    box = BoxCandidates(space.bounds, 64, None, 0, space)
    box.make_candidates(1, 0.1, lambda: 1e3)
    assert box.adaptive
    moved = box.resample(Known(box.rows[:9], np.arange(9.0)), np.random.default_rng(0))
    np.testing.assert_array_equal(moved, np.arange(64 - n_local, 64))


def test_any_point_of_the_box_is_a_candidate_that_may_be_told():
    box = candidates()
    assert box.arm(2).index == -1
    box.resolve(Arm(-1, np.array([0.123, 0.456])))
    assert box.slot_of(Arm(-1, np.array([0.123, 0.456]))) == -1
    assert box.slot_of(box.arm(2)) == 2
    with pytest.raises(ValueError, match="outside"):
        box.resolve(Arm(-1, np.array([0.0, 3.1])))
    with pytest.raises(ValueError, match="not one of"):
        box.resolve(Arm(2, box.rows[2].copy()))


def test_slope_of_candidates_is_per_side():
    """The slope per side of f = w x with w ~ N(0, 1) is the side's length."""

    def deviations(block, rows):
        return np.sqrt(((rows - block) ** 2).sum(axis=1))

    assert candidates().largest_slope(deviations) == pytest.approx(3.0, rel=1e-9)


def test_allocations_have_parts_costs_and_boxes():
    both = AllocationSet([POINTS, BOXES], [np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25])])
    allocation = both.allocation([2, 0])
    both.resolve(allocation)
    assert allocation.indices == (2, 0)
    assert both.cost_of(allocation) == allocation.cost == 3.5
    assert both.slots_of(allocation).tolist() == [2, 0]
    np.testing.assert_array_equal(allocation.box, [1.0, 1.0, 0.0, 1.0, 1.0, 0.5])
    told = PointsQuery(np.array([[0.5, 0.0, 0.4]]))
    assert both.slots_of(told).tolist() == [1, -1]
    assert np.isnan(both.cost_of(told))
    priced = AllocationSet([POINTS, BOXES], both.costs, priced=True)
    assert priced.cost_of(told) == pytest.approx(2.4)
    with pytest.raises(ValueError, match="1 campaigns, expected 2"):
        both.resolve(Allocation(allocation.arms[:1], np.ones(1)))
    with pytest.raises(ValueError, match="not one of"):
        both.resolve(Allocation(allocation.arms[::-1], np.ones(2)))


@pytest.mark.parametrize("n", [8, 13, 19])
def test_few_candidates_follow_as_many_points_as_a_quarter_of_them(n):
    box, rng = candidates(n, slope=1e3), np.random.default_rng(0)
    points = rng.uniform(*BOUNDS.T, (10, 2))
    moved = box.resample(Known(points, np.arange(10.0)), rng)
    assert len(box) == n
    np.testing.assert_array_equal(moved, np.arange(n - n // 4, n))
    np.testing.assert_array_equal(box.rows[moved], points[::-1][: n // 4])


@pytest.mark.parametrize("query", [PointsQuery(np.array([[0.5, 0.0], [0.1, 2.0]])), POINTS.arm(1)])
def test_an_array_of_a_query_is_a_copy_unless_none_is_wanted(query):
    before, identity = query.points.copy(), query._identity
    for array in (query.__array__(), *(query.__array__(copy=copy) for copy in (True, None))):
        np.testing.assert_array_equal(array, before)
        array += 1.0
    shared = query.__array__(copy=False)
    assert np.shares_memory(shared, query.points) and not shared.flags.writeable
    for dtype in (np.float32, int):
        array = query.__array__(dtype, copy=True)
        assert array.dtype == dtype
        np.testing.assert_array_equal(array, before.astype(dtype))
        with pytest.raises(ValueError, match="without a copy"):
            query.__array__(dtype, copy=False)
    assert query.__array__(np.float64, copy=False) is shared
    np.testing.assert_array_equal(query.points, before)
    assert query._identity == identity

"""Sets of arms, candidates and allocations: queries, their rows, and what belongs to a set."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgpb import defaults
from skgpb.domains import Allocation, Arm, Box, Districts, PointsQuery
from skgpb.domains.allocations import AllocationSet
from skgpb.domains.arms import ArmSet, Incumbents, Layout
from skgpb.domains.box_candidates import BoxCandidates
from skgpb.domains.candidates import (
    clip_to_box,
    even_grid,
    points_in,
    points_near,
    spread_points,
)
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
        assert len(moved) <= len(cells)
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


# -- rows, by their layouts -----------------------------------------------------------------------

LAYOUTS = [
    Layout(2, n_context=n_context, counts=counts, task_column=task)
    for n_context in (0, 1, 3)
    for counts in (None, (2, 3))
    for task in (None, 0.0, -1.0)
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_row_has_its_columns_in_order_and_comes_apart_again(layout):
    rng = np.random.default_rng(0)
    n, n_context = 5, layout.n_context
    contexts, lower = rng.random((n, n_context)), rng.random((n, 2))
    upper = lower + rng.random((n, 2))
    last = np.full((n, int(layout.task_column is not None)), 7.0)
    if layout.boxes:
        rows = np.hstack([contexts, lower, contexts, upper, last])
        plain = np.hstack([lower, upper, last])
    else:
        rows, plain, upper = np.hstack([contexts, lower, last]), np.hstack([lower, last]), lower
    assert layout.n_columns == rows.shape[1] and layout.n_sides == n_context + 2
    low, high = layout.corners(rows)
    assert_array_equal(low, np.hstack([contexts, lower]))
    assert_array_equal(high, np.hstack([contexts, upper]))
    assert_allclose(layout.places(rows), 0.5 * (low + high))
    assert_array_equal(layout.trailing_columns(rows), last)
    assert_array_equal(layout.actions_of(rows), plain)
    assert_array_equal(layout.with_contexts(contexts, plain), rows)
    assert_array_equal(layout.actions_layout.add_contexts(n_context).n_columns, rows.shape[1])
    if n_context:
        same = layout.with_contexts(contexts[0], plain)
        assert_array_equal(layout.corners(same)[0][:, :n_context], np.tile(contexts[0], (n, 1)))
        assert_array_equal(layout.actions_of(same), plain)
    values = layout.rows_of(np.hstack([contexts, lower]))
    assert_array_equal(layout.places(values), np.hstack([contexts, lower]))
    assert_array_equal(
        values[:, layout.n_columns - last.shape[1] :],
        layout.task_column + 0 * last if last.size else last,
    )
    counts = layout.counts_of_all
    assert counts is None if layout.counts is None else counts == (1,) * n_context + (2, 3)

    arm = Arm(4, rows[1], layout)
    assert_array_equal(arm.lower, low[1])
    assert_array_equal(arm.upper, high[1])
    assert_array_equal(arm.center, layout.places(rows)[1])
    assert_array_equal(arm.box, np.concatenate([low[1], high[1]]))
    assert arm.n_context == n_context and arm.counts == counts
    expected = [[]]
    for a, b, k in zip(low[1], high[1], counts or (1,) * len(low[1]), strict=True):
        side = [a + (b - a) * (i + 0.5) / k for i in range(k if a != b else 1)]
        expected = [[*each, x] for each in expected for x in side]
    assert_allclose(arm.points, expected)
    assert_allclose(arm.actions, np.array(expected)[:, n_context:])
    if n_context:
        assert_array_equal(arm.context, contexts[1])
    else:
        with pytest.raises(AttributeError, match="no context"):
            arm.context  # noqa: B018
    if layout.task_column == 0.0:
        assert arm.task == 7
    else:
        with pytest.raises(AttributeError, match="no task"):
            arm.task  # noqa: B018
    for name in ("name", "members", "weights"):
        with pytest.raises(AttributeError, match=f"no {name}"):
            getattr(arm, name)
    assert pickle.loads(pickle.dumps(arm)) == arm and hash(Arm(4, rows[1], layout)) == hash(arm)
    assert Arm(3, rows[1], layout) != arm != Arm(4, rows[2], layout)


def test_a_weighted_set_has_the_box_of_its_points():
    points, weights = np.array([[0.0, 5.0], [2.0, 1.0]]), np.array([0.25, 0.75])
    sets = ArmSet(
        np.array([[1.5, 2.0, 0.0]]), np.array([[0.0, 2.0], [0.0, 5.0]]),
        Layout(2, task_column=-1.0), names=["A"], members=[(points, weights)],
    )  # fmt: skip
    for n_context in (0, 1):
        arm = sets.arm(0)
        context = [0.5] * n_context
        assert_array_equal(arm.points, [[*context, 0.0, 5.0], [*context, 2.0, 1.0]])
        assert_array_equal(arm.lower, [*context, 0.0, 1.0])
        assert_array_equal(arm.upper, [*context, 2.0, 5.0])
        assert_array_equal(arm.center, [*context, 1.5, 2.0])
        assert_array_equal(arm.weights, weights)
        assert_array_equal(arm.members, points)
        assert arm.name == "A" and "name='A'" in repr(arm) and sets.named_arm("A") == arm
        with pytest.raises(ValueError, match=r"no query named 'B'; the names are 'A'$"):
            sets.named_arm("B")
        sets = sets.add_contexts(np.array([[0.0, 1.0]]))


# -- sets in contexts -----------------------------------------------------------------------------


@pytest.mark.parametrize("arms", [POINTS, BOXES], ids=["points", "boxes"])
def test_a_set_in_a_context_has_the_rows_of_its_context(arms):
    bounds = np.array([[0.0, 4.0], [10.0, 20.0]])
    inside = arms.add_contexts(bounds)
    assert_array_equal(inside.context, [2.0, 15.0])
    other = inside.with_context(np.array([1.0, 12.0]))
    plain = arms.rows
    for each in (inside, other):
        assert_array_equal(each.rows, each.layout.with_contexts(each.context, plain))
        assert_array_equal(each.plain, plain)
        assert_array_equal(each.every_place(), arms.every_place())
        assert_array_equal(each.layout.actions_of(each.rows), plain)
    for slot in range(len(arms)):
        arm = other.arm(slot)
        assert_array_equal(arm.context, [1.0, 12.0])
        other.resolve(arm)
        inside.resolve(arm)  # another context of the same box
        assert arm in inside
        assert other.slot_of(arm) == slot and inside.slot_of(arm) == -1
        assert inside.cost_group(arm) == other.cost_group(arm) == slot
        assert_array_equal(other.different_from(arm), np.arange(len(arms)) != slot)
        assert inside.different_from(arm).all()
        assert other.arm_at(other.rows[slot : slot + 1]) == arm
        assert inside.arm_at(other.rows[slot : slot + 1]) is None
    assert other.arm_at(other.rows[:2]) is None and other.slot_of_row(other.rows[:2]) == -1
    with pytest.raises(ValueError, match="outside"):
        other.resolve(inside.with_context(np.array([1.0, 21.0])).arm(0))
    if arms is BOXES:  # a context is one point
        row = other.rows[0].copy()
        row[other.layout.n_sides] += 1.0
        assert Arm(0, row, other.layout) not in other
    every = other.every_row()
    each = 2_000 // len(arms)
    assert every.shape == (each * len(arms), other.layout.n_columns)
    contexts = other.layout.corners(every)[0][:, :2].reshape(each, len(arms), 2)
    assert (contexts == contexts[:, :1]).all()
    assert ((contexts >= bounds[:, 0]) & (contexts <= bounds[:, 1])).all()
    assert len(np.unique(contexts[:, 0], axis=0)) == each
    # The first design counts queries of any context.
    none, asked = np.empty((0, other.layout.n_columns)), []
    while (
        arm := other.first_arm(3, np.array(asked).reshape(-1, none.shape[1]), none, 0)
    ) is not None:
        asked.append(inside.with_context(np.array([3.0, 11.0])).rows[arm.index])
        assert len(asked) <= 3
    assert len({tuple(row) for row in asked}) == len(asked) == len(arms)


def test_the_average_over_a_box_is_a_query_with_single_values_at_their_middles():
    space = ParameterSpace.from_bounds({"x": (0.0, 1.0), "n": range(4), "kind": ["a", "b"]})
    arms = ArmSet(np.zeros((1, 6)), space.bounds, Layout(3, counts=(2, 4, 2)), space)
    assert arms.describes_boxes and not POINTS.describes_boxes
    arm = arms.query_of_box(np.array([0.2, 0.25, 0.0, 0.4, 0.5, 1.0]))
    assert arm.index == -1
    assert_allclose(arm.descriptor, [0.2, 0.375, 0.0, 0.4, 0.375, 1.0])
    assert arm.params == {"x": (0.2, 0.4), "n": 1, "kind": ["a", "b"]}
    arm = arms.query_of_box(np.array([0.2, 0.25, 0.0, 0.4, 0.75, 0.5]))
    assert_allclose(arm.descriptor, [0.2, 0.25, 0.25, 0.4, 0.75, 0.25])


# -- points that fill a box -----------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
def test_spread_points_follow_the_generalised_golden_ratio(d):
    bounds = np.column_stack([np.arange(d) - 1.0, np.arange(d) * 3.0 + 1.0])
    root = next(
        r.real for r in np.roots([1, *[0] * (d - 1), -1, -1]) if abs(r.imag) < 1e-12 < r.real
    )
    shift = np.random.default_rng(d).random(d)
    unit = (shift + np.arange(40)[:, None] * root ** -np.arange(1.0, d + 1)) % 1.0
    assert_allclose(spread_points(bounds, 40, shift), bounds[:, 0] + unit * np.diff(bounds)[:, 0])
    grid = even_grid(bounds, 3)
    axes = [np.linspace(low, high, 3) for low, high in bounds]
    assert_allclose(grid, list(itertools.product(*axes)))
    points, shape = points_in(bounds, 1)
    assert d > defaults.GRID_DIMENSIONS or (shape == (1,) * d and len(points) == 1)
    if shape:
        assert_allclose(points[0], bounds.mean(axis=1))


def test_points_near_centers_are_at_distances_of_every_order_in_turn():
    rng, n = np.random.default_rng(0), 4000
    bounds, centers = np.array([[-10.0, 10.0], [0.0, 1e-3]]), np.array([[0.0, 5e-4], [10.0, 0.0]])
    found = points_near(bounds, centers, n, rng)
    away = (found - centers[np.arange(n) % 2]) / np.diff(bounds)[:, 0]
    assert ((found >= bounds[:, 0]) & (found <= bounds[:, 1])).all()
    inner = np.abs(away[::2])
    # The scale is log-uniform between these two, times the absolute value of a normal number.
    near, far = 10.0**-defaults.LOCAL_NEAREST, 10.0**-defaults.LOCAL_FARTHEST
    logs = np.log(inner[inner < 0.45])
    assert_allclose(np.median(logs), 0.5 * np.log(near * far) + np.log(0.6745), atol=0.4)
    assert (inner < 0.1 * near).mean() < 0.05 < (inner > 0.3 * far).mean()
    # At a corner the points outside are moved to the faces: a half along each side.
    assert_allclose((away[1::2] == 0.0).mean(axis=0), 0.5, atol=0.05)
    assert (away[1::2] * [-1.0, 1.0] >= 0.0).all()
    assert_array_equal(clip_to_box(np.array([[-11.0, 2.0]]), bounds), [[-10.0, 1e-3]])


# -- candidates of a box --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [12, 30, 200])
def test_of_settings_all_are_candidates_if_they_are_few_enough(n):
    sides = {"k": range(5), "kind": ["a", "b", "c"], "flag": [True, False]}
    space = ParameterSpace.from_bounds(sides)
    box = BoxCandidates(space.bounds, n, None, 3, space)
    assert box.make_candidates(1, 0.1, lambda: 1.0) and not box.make_candidates(2, 0.1, lambda: 1.0)
    settings = [tuple(space.setting(row).values()) for row in box.rows]
    assert len(box) == min(n, 30) and box.adaptive == box.follows == (n < 30)
    assert set(settings) <= set(itertools.product(*sides.values()))
    if n >= 30:
        assert len(set(settings)) == 30
        assert_array_equal(box.rivals(), box.rows)
        assert not len(box.resample(Known(box.rows, np.arange(30.0)), np.random.default_rng(0)))
    else:
        rivals = box.rivals()
        assert_array_equal(rivals[:n], box.rows)
        assert len(rivals) == n + 256
        assert_array_equal(space.snap(rivals), rivals)
    assert box.n_cost_groups == 1 and box.cost_group(box.arm(0)) == 0
    assert_array_equal(box.query_values(np.array([2.5])), np.full(len(box), 2.5))
    assert_array_equal(
        box.probes(7, np.full(3, 0.5)), space.snap(spread_points(space.bounds, 7, np.full(3, 0.5)))
    )


def test_a_moving_candidate_never_repeats_a_best_point_that_stays():
    rng = np.random.default_rng(0)
    space = ParameterSpace.from_bounds({"x": (0.0, 1.0), "k": range(6)})
    box = BoxCandidates(space.bounds, 40, None, 0, space)
    box.make_candidates(1, 0.1, lambda: 1.0)
    points = space.snap(rng.random((60, 2)))
    values = np.round(rng.random(60), 1)
    for _ in range(12):
        before = box.rows.copy()
        moved = box.resample(Known(points, values, 6), rng)
        kept = np.setdiff1d(np.arange(40), moved)
        assert_array_equal(box.rows[kept], before[kept])
        order = np.argsort(-values, kind="stable")[: defaults.N_CENTERS]
        for center in points[order]:
            assert (box.rows == center).all(axis=1).any()
        assert_array_equal(space.snap(box.rows), box.rows)


def test_vertices_lead_the_candidates_unless_they_are_many():
    space = ParameterSpace.from_bounds(Box({"A": (0, 2), "B": (0, 1)}, "A + B <= 2.5"))
    corners = {(0, 0), (2, 0), (0, 1), (2, 0.5), (1.5, 1)}
    for n in (20, 19, 64):
        box = BoxCandidates(space.bounds, n, None, 0, space)
        box.make_candidates(1, 0.1, lambda: 1.0)
        first = {tuple(row) for row in box.rows[:5].round(6).tolist()}
        assert (first == corners) == (n // defaults.LOCAL_SHARE >= 5)
        assert (box.rows.sum(axis=1) <= 2.5 + 1e-8).all() and len(box) == n
        moved = box.resample(Known(box.rows[6:9], np.arange(3.0)), np.random.default_rng(0))
        assert_array_equal(moved, np.arange(n - n // 4, n))
        assert (box.rows.sum(axis=1) <= 2.5 + 1e-8).all()


# -- cells anywhere -------------------------------------------------------------------------------

SIZES = np.array([[0.1, 2.0, 1.0], [0.0, 1.0, 1.0], [0.4, 3.0, 2.0]])
PLACES = ParameterSpace.from_bounds({"x": (0.0, 2.0), "n": range(8), "kind": ["a", "b", "c"]})


@pytest.mark.parametrize("tasks", [None, [0, 1, 1]], ids=["cells", "tasks"])
def test_free_cells_have_their_sizes_wherever_they_lie(tasks):
    layout = Layout(3, counts=(2, 6, 2), task_column=None if tasks is None else 0.0)
    numbers = None if tasks is None else np.array(tasks)
    cells = FreeCells(
        SIZES, PLACES.bounds, 90, layout, [0], PLACES, tasks=numbers, n_tasks=2 if tasks else 1
    )
    assert cells.n_cost_groups == 3 and len(cells) == 90
    assert cells.kind == ("size of cells" if tasks is None else "fidelity (and size of cells)")
    assert_array_equal(cells.size_of, np.repeat([0, 1, 2], 30))
    assert_array_equal(
        cells.query_values(np.array([5.0, 6.0, 7.0])), np.repeat([5.0, 6.0, 7.0], 30)
    )
    assert_array_equal(cells.free, [True, False, False])
    assert cells.follows
    rng = np.random.default_rng(0)

    class Best(Places):
        def places(self):
            return rng.uniform(*PLACES.bounds.T, (4, 3))

    for _ in range(4):
        for slot in range(90):
            arm, number = cells.arm(slot), cells.size_of[slot]
            assert cells.cost_group(arm) == cells.number_of_size(arm) == number
            cells.resolve(arm)
            assert_allclose(arm.upper[0] - arm.lower[0], SIZES[number, 0], atol=1e-12)
            assert 0.0 <= arm.lower[0] <= arm.upper[0] <= 2.0
            for i in (1, 2):
                first, last = PLACES.axes[i][1].run(arm.lower[i], arm.upper[i])
                assert last - first + 1 == SIZES[number, i]
            if tasks is not None:
                assert arm.task == tasks[number]
            if slot % 10 == 0:
                placed = cells.placements_of(slot)
                assert_array_equal(placed.bounds, cells.center_bounds[number][:1])
                assert_allclose(placed.bounds, [[SIZES[number, 0] / 2, 2 - SIZES[number, 0] / 2]])
                assert slot in placed.alike and (cells.size_of[placed.alike] == number).all()
                assert_array_equal(placed.coordinates, cells.every_place()[placed.alike, :1])
                moved = cells.arm_in(placed, np.array([1.1]))
                assert_allclose(moved.center[0], 1.1)
                assert_allclose(moved.box[[1, 2, 4, 5]], arm.box[[1, 2, 4, 5]])
                others = np.setdiff1d(np.flatnonzero(cells.size_of == number), placed.alike)
                if len(others):
                    assert (cells.every_place()[others, 1:] != arm.center[1:]).any(axis=1).all()
        moved = cells.resample(Best(), rng)
    # Of each size as many move; together at least N_MOVED_CELLS, if there are so many.
    each = min(-(-defaults.N_MOVED_CELLS // 3), 30 // 4)
    assert_array_equal(np.bincount(cells.size_of[moved]), [each] * 3)
    strange = PLACES.box_between({"x": 0.2, "n": 0, "kind": "a"}, {"x": 0.35, "n": 1, "kind": "a"})
    if tasks is None:
        assert cells.number_of_size(cells.query_of_box(strange)) == -1


def test_values_of_several_functions_are_told_by_their_number():
    sizes = np.zeros((2, 2))
    bounds = np.array([[0.0, 1.0], [0.0, 2.0]])
    cells = FreeCells(
        sizes, bounds, 40, Layout(2, task_column=0.0), [0], tasks=np.array([0, 1]), n_tasks=2
    )
    for task in (0, 1):
        arm = cells.query_from_values(np.array([0.25, 1.5, task]))
        assert (arm.index, arm.task, cells.cost_group(arm)) == (-1, task, task)
        assert_array_equal(arm.points, [[0.25, 1.5]])
    assert cells.cost_group(PointsQuery(np.array([[0.25, 1.5]]))) == 0
    assert cells.query_from_values(np.array([0.25, 1.5])) is None
    assert free_cells().query_from_values(np.array([0.25, 0.5, 0.0])) is None
    for wrong in (-1.0, 2.0, 0.5):
        with pytest.raises(ValueError, match="an integer from 0 to 1"):
            cells.query_from_values(np.array([0.25, 1.5, wrong]))
    with pytest.raises(ValueError, match="outside"):
        cells.query_from_values(np.array([0.25, 2.5, 0.0]))
    with pytest.raises(ValueError, match="not one of"):
        cells.resolve(Arm(-1, np.array([0.25, 1.5, 2.0]), cells.layout))
    inside = cells.add_contexts(np.array([[5.0, 6.0]]))
    arm = inside.query_from_values(np.array([5.5, 0.25, 1.5, 1.0]))
    assert_array_equal(arm.descriptor, [5.5, 0.25, 1.5, 1.0])


@pytest.mark.parametrize("n", [3, 7])
def test_the_first_cells_are_of_the_sizes_in_turn_and_inside_the_box(n):
    sizes = np.array([[0.5, 0.2], [0.1, 0.4]])
    bounds = np.array([[0.0, 1.0], [2.0, 3.0]])
    cells = FreeCells(sizes, bounds, 60, Layout(2, counts=(2, 2)), [0])
    none, asked = np.empty((0, 4)), []
    for _ in range(n):
        arm = cells.first_arm(n, np.array(asked).reshape(-1, 4), none, 0)
        if arm is None:
            break
        cells.resolve(arm)
        asked.append(arm.descriptor)
    assert len(asked) >= n - 2
    numbers = [cells.number_of_size(cells.placed_arm(row)) for row in asked]
    assert set(numbers) == {0, 1} and abs(numbers.count(0) - numbers.count(1)) <= 2
    cells.first_sizes = np.array([1])
    assert cells.number_of_size(cells.first_arm(n, none, none, 0)) == 1
    assert_array_equal(cells.sizes_like(np.array([[0.1, 0.4], [0.3, 0.3]])), [1])


def test_a_few_settings_are_all_points_and_none_moves():
    space = ParameterSpace.from_bounds({"n": range(4), "kind": ["a", "b"]})
    cells = FreeCells(np.zeros((1, 2)), space.bounds, 50, None, [0], space)
    settings = {tuple(space.setting(row).values()) for row in cells.rows}
    assert len(cells) == 8 and settings == set(itertools.product(range(4), "ab"))
    assert not len(cells.resample(Places(), np.random.default_rng(0)))
    assert cells.move_to(PointsQuery(cells.rows[:1])) == -1
    assert cells.placements_of(0) is None


# -- districts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_districts_are_sets_of_their_points_with_shares_that_sum_to_one(weighted):
    rng = np.random.default_rng(0)
    points, names = rng.random((9, 2)), np.array(list("BABCABBCA"))
    weights = rng.integers(0, 5, 9) + 1.0 if weighted else None
    districts = Districts(points, names, weights)
    assert districts.labels == ["B", "A", "C"] and len(districts) == 3
    arms = districts.as_set(np.array([[0.0, 1.0]] * 2), 4)
    assert (arms.layout.task_column, arms.layout.d, arms.names) == (-1.0, 2, ["B", "A", "C"])
    for slot, label in enumerate(districts.labels):
        own = np.flatnonzero(names == label)
        share = np.ones(len(own)) if weights is None else weights[own]
        share = share / share.sum()
        arm = arms.arm(slot)
        assert arm.name == label
        assert_array_equal(arm.points, points[own])
        assert_allclose(arm.weights, share)
        assert_allclose(arm.descriptor, [*(share @ points[own]), 4.0 + slot])
        assert_array_equal(districts.members[slot][0], own)
    assert_allclose(districts.shares, np.concatenate([arms.arm(i).weights for i in range(3)]))
    assert districts == Districts(points, names, None if weights is None else 2.0 * weights)
    assert hash(districts) == hash(Districts(points, names, weights))
    for other in (
        Districts(points + 0.1, names, weights),
        Districts(points, names[::-1], weights),
        Districts(points, names, np.arange(1.0, 10.0)),
    ):
        assert districts != other
    # The value of a point is no district.
    assert_array_equal(arms.rows_of(points[:1]), [[*points[0], -1.0]])


def test_districts_without_weight_or_with_other_numbers_are_refused():
    points, names = np.zeros((3, 1)), ["A", "B", "B"]
    Districts(points, names, [1.0, 0.0, 1.0])
    for weights, said in [
        ([1.0, 0.0, 0.0], "must not all be 0, as those of 'B'"),
        ([1.0, -1.0, 2.0], "a number >= 0 for each of 3 points"),
        ([1.0, 1.0], "a number >= 0 for each of 3 points"),
    ]:
        with pytest.raises(ValueError, match=said):
            Districts(points, names, weights)
    for wrong in (["A", "B"], [0.5, 1.0, 2.0]):
        with pytest.raises(ValueError, match="a text or an integer for each of 3 points"):
            Districts(points, wrong)

"""Rows that can be asked about, cells of them, and the targets beside them."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgpb.domains import Cells, PointsQuery
from skgpb.domains.candidates import points_in
from skgpb.domains.indirect import (
    CellSet,
    IndirectCell,
    IndirectQuery,
    PointSet,
    QuerySet,
    QueryTree,
    are_fewer,
)
from skgpb.domains.space import ParameterSpace
from skgpb.kernels import WindowMean

KERNEL = WindowMean(scale=0.1)
ROOT = np.array([[-1.0, 3.0], [10.0, 10.5]])
ROWS = np.array([[0.0, 10.1], [1.0, 10.2], [2.0, 10.4], [1.0, 10.5]])
SPACE = ParameterSpace.from_bounds({"heat": (-1.0, 3.0), "time": (10.0, 10.5)})


@pytest.mark.parametrize("units", [[1.0, 1.0, 1.0], [1e3, 1e-3, 1.0]])
def test_of_rows_that_tie_the_one_nearest_to_the_middle_is_taken_in_any_units(units):
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.random((30, 3))
        rows[:, 2] = 0.5
        rows[[0, 1], :2] = [[0.0, 0.0], [1.0, 1.0]]  # a box of side 1
        some = rng.choice(30, size=7, replace=False)
        away = np.linalg.norm(rows[some] - rows.mean(axis=0), axis=1)
        queries = QuerySet(5.0 + rows * units, WindowMean(scale=0.1), None)
        assert queries.most_central(some) == some[away.argmin()]
        assert queries.most_central(some[:1]) == some[0]


# -- cells of rows --------------------------------------------------------------------------------


@pytest.mark.parametrize(("K", "q", "depth"), [(2, 1, 4), (3, 1, 3), (2, 2, 3), (3, 2, 2)])
def test_the_cells_of_every_depth_are_an_even_grid_in_their_parents(K, q, depth):
    tree = QueryTree(ROOT[:q], KERNEL, K, depth, lambda h: 10.0 - h, space=SPACE if q > 1 else None)
    assert_array_equal(tree.costs, 10.0 - np.arange(depth + 1))
    assert tree.least_cost == 10.0 - depth and tree.arguments == range(depth + 1)
    level = [(0, 0)]
    for h in range(depth + 1):
        cells = [tree.cell(node) for node in level]
        parts = [np.linspace(*side, K**h + 1) for side in ROOT[:q]]
        expected = itertools.product(
            *(itertools.pairwise(ends.round(9).tolist()) for ends in parts)
        )
        found = {tuple(zip(c.lower.round(9), c.upper.round(9), strict=True)) for c in cells}
        assert found == set(expected) and len(cells) == K ** (q * h)
        for node, cell in zip(level, cells, strict=True):
            assert (cell.depth, cell.index) == node and cell.cost == 10.0 - h
            assert tree.argument(cell) == h
            assert_allclose(cell.a, 0.5 * (cell.lower + cell.upper))
            assert_array_equal(cell.center, cell.a)
            assert_array_equal(cell.points, [cell.a])
            assert_array_equal(cell.box, np.concatenate([cell.lower, cell.upper]))
            assert_array_equal(tree.rows_of_query(cell), KERNEL.queries([cell.a]))
            ends = list(zip(cell.lower, cell.upper, strict=True))
            assert cell.params == dict(
                zip(["heat", "time"] if q > 1 else ["x0"], ends, strict=True)
            )
            tree.resolve(cell)
            assert tree.cell(node) is cell
            for child in tree.children(node):
                assert tree.parent(child) == node
                inside = tree.cell(child)
                assert (inside.lower >= cell.lower - 1e-9).all()
                assert (inside.upper <= cell.upper + 1e-9).all()
            slot = tree.slot_of(cell)
            assert slot == (h + cell.index if h < 2 else -1)
            if slot >= 0:
                assert_array_equal(tree.A[slot], cell.a)
        level = [child for node in level for child in tree.children(node)]
    assert level == []
    assert_array_equal(tree.rows, KERNEL.queries(tree.A))
    assert len(tree) == 1 + K**q


def test_a_tree_knows_its_own_cells_and_pending_ones_by_their_centres():
    tree = QueryTree(ROOT, KERNEL, 2, 2, lambda h: 1.0 + h)
    cell = tree.cell((2, 5))
    values = {name: getattr(cell, name) for name in IndirectCell.arguments}
    same = IndirectCell(**values)
    assert same == cell and hash(same) == hash(cell) and pickle.loads(pickle.dumps(cell)) == cell
    tree.resolve(same)
    others = [
        {"depth": 3}, {"depth": -1}, {"index": 16}, {"index": -1}, {"index": 4}, {"cost": 2.0},
        {"upper": cell.upper + 0.1}, {"lower": cell.lower - 0.1}, {"a": cell.a + 0.1},
    ]  # fmt: skip
    for change in others:
        other = IndirectCell(**(values | change))
        assert other != cell
        with pytest.raises(ValueError, match="not a cell of this optimizer"):
            tree.resolve(other)
    pending = [tree.cell((0, 0)), tree.cell((2, 0)), cell]
    assert tree.find(cell.center, pending) is cell
    assert tree.find([cell.center.tolist()], pending) is cell
    for points in (cell.center + 1e-3, [cell.center, cell.center], cell.center[:1]):
        with pytest.raises(ValueError, match="centre of one that is pending"):
            tree.find(points, pending)
    with pytest.raises(ValueError, match=r"cost\(2\) must be positive"):
        QueryTree(ROOT, KERNEL, 2, 2, lambda h: 2.0 - h)
    with pytest.raises(ValueError, match="max_depth is so large"):
        QueryTree(ROOT, KERNEL, 2, 32, lambda h: 1.0)
    QueryTree(ROOT, KERNEL, 2, 31, lambda h: 1.0)


def test_rows_of_cells_end_with_the_number_of_their_depth():
    kernel = WindowMean()  # its last column is the scale
    tree = QueryTree(ROOT, kernel, 2, 2, lambda h: 1.0, lambda h: 0.5**h)
    for node in [(0, 0), (1, 3), (2, 9)]:
        cell = tree.cell(node)
        assert_allclose(cell.a, [*cell.center, 0.5 ** node[0]])
        assert_array_equal(tree.rows_of_query(cell)[0, 2:], [0.5 ** node[0]] * 2)


# -- rows -----------------------------------------------------------------------------------------


def test_a_query_is_its_row_cost_and_index():
    query = IndirectQuery(ROWS[1], 2.0, 1)
    assert_array_equal(query.points, ROWS[1:2])
    assert_array_equal(query.box, [*ROWS[1], *ROWS[1]])
    assert repr(query) == "IndirectQuery(a=[ 1.  10.2], cost=2.0, index=1)"
    assert IndirectQuery(ROWS[1]) == IndirectQuery(ROWS[1].tolist(), 1.0, -1) != query
    assert pickle.loads(pickle.dumps(query)) == query and hash(query) == hash(
        IndirectQuery(ROWS[1], 3.0)
    )
    with pytest.raises(ValueError, match="read-only"):
        query.a[0] = 3.0


@pytest.mark.parametrize(
    ("cost", "costs", "differ"),
    [
        (None, [1, 1, 1, 1], False),
        (2.5, [2.5] * 4, False),
        ([4, 2, 3, 5], [4, 2, 3, 5], True),
        (lambda a: 1.0 + a[0], [1, 2, 3, 2], True),
    ],
    ids=["none", "number", "list", "function"],
)
def test_rows_have_costs(cost, costs, differ):
    queries = QuerySet(ROWS, KERNEL, cost)
    assert_allclose(queries.costs, costs)
    assert queries.differ_in_cost is differ and queries.least_cost == min(costs)
    assert_array_equal(queries.every_place(), ROWS)
    assert_array_equal(queries.arguments, ROWS)
    for i, query in enumerate(map(queries.arm, range(4))):
        assert (query.index, query.cost) == (i, costs[i])
        assert_array_equal(query.a, ROWS[i])
        assert_array_equal(queries.argument(query), ROWS[i])
        assert_array_equal(queries.rows_of_query(query), queries.rows[i : i + 1])
        assert queries.arm(i) is query and queries.slot_of(query) == i
        assert_array_equal(queries.different_from(query), np.arange(4) != i)
        queries.resolve(query)
        assert queries.find(ROWS[i].tolist(), ()) is query is queries.find(ROWS[i : i + 1], ())
        pending = IndirectQuery(ROWS[i], 9.0)
        assert queries.find(ROWS[i], [queries.arm((i + 1) % 4), pending]) is pending
    for wrong in (IndirectQuery(ROWS[0], 1.0, 1), IndirectQuery(ROWS[0], 1.0, 4)):
        with pytest.raises(ValueError, match="not a query of this optimizer"):
            queries.resolve(wrong)
    with pytest.raises(ValueError, match="finite number >= 0"):
        queries.resolve(IndirectQuery(ROWS[0], np.inf, 0))
    queries.resolve(IndirectQuery(ROWS[0], 0.0, 0))
    with pytest.raises(ValueError, match="not among the queries"):
        queries.find([0.0, 10.2], ())
    for wrong in ([0.0], ROWS[:2]):
        with pytest.raises(ValueError, match="must have 2 entries"):
            queries.find(wrong, ())


def test_costs_must_be_positive_and_one_for_each_row():
    for cost in (0.0, [1, 2, 3, 0], lambda a: a[0]):
        with pytest.raises(ValueError, match=r"cost must be > 0 for every query, got 0\.0"):
            QuerySet(ROWS, KERNEL, cost)
    with pytest.raises(ValueError, match="one number for each of the queries"):
        QuerySet(ROWS, KERNEL, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="one number for each of the queries"):
        QuerySet(ROWS, KERNEL, [1.0, 2.0, 3.0, 4.0], box=ROOT)


def test_any_row_of_a_box_is_a_query_with_the_cost_there():
    queries = QuerySet(ROWS, KERNEL, lambda a: 2.0 + a[0], ROOT, SPACE)
    assert queries.least_cost == 0.0  # a function may be lower between the candidates
    assert QuerySet(ROWS, KERNEL, 3.0, ROOT).least_cost == 3.0
    between = queries.find([0.25, 10.3], ())
    assert (between.index, between.cost, between.params) == (-1, 2.25, {"heat": 0.25, "time": 10.3})
    assert queries.slot_of(between) == -1 and queries.different_from(between).all()
    queries.resolve(between)
    assert queries.find(ROWS[2], ()) is queries.arm(2)
    for outside in ([3.1, 10.3], [0.0, 9.0]):
        with pytest.raises(ValueError, match="outside"):
            queries.find(outside, ())
    # The first design fills the box, or the candidates.
    none = np.empty((0, 2))
    first = [queries.first_arm(8, none, none, seed) for seed in range(3)]
    assert len({tuple(each.a) for each in first}) == 3
    known = np.array([each.a for each in first])
    filled, asked = none, []
    while (query := queries.first_arm(8, filled, none, 0)) is not None:
        asked.append(query.a)
        filled = np.array(asked)
        assert len(asked) <= 8
    assert 5 <= len(asked) <= 8 and len(np.unique(asked, axis=0)) == len(asked)
    assert ((known >= ROOT[:, 0]) & (known <= ROOT[:, 1])).all()
    listed = QuerySet(ROWS, KERNEL, None)
    asked = []
    while (query := listed.first_arm(4, ROWS[asked] if asked else none, none, 0)) is not None:
        asked.append(query.index)
        assert len(asked) <= 4
    assert sorted(asked) == [0, 1, 2, 3]


# -- targets --------------------------------------------------------------------------------------


def test_points_are_targets_of_their_own():
    points, shape = points_in(ROOT, 12)
    targets = PointSet(points, KERNEL, ROOT, SPACE, shape)
    draws = np.random.default_rng(0).random((3, len(points)))
    assert_array_equal(targets.values_from(draws), draws)
    numbers, weights = np.array([3, 5]), np.array([0.2, 0.8])
    assert_array_equal(targets.points_of(numbers, weights), (numbers, weights))
    assert_array_equal(targets.rows, KERNEL.points(points))
    assert_array_equal(targets.arm(4).points, points[4:5])
    assert targets.arm(4) in targets and IndirectQuery(points[4]) not in targets
    places = targets.placements_of(4)
    assert_array_equal(places.alike, np.arange(len(points)))
    assert_array_equal(places.coordinates, points)
    assert_array_equal(places.bounds, ROOT)
    assert_array_equal(places.rows_at(points[:2]), targets.rows[:2])
    at = targets.arm_in(places, np.array([0.5, 10.25]))
    assert at == PointsQuery(np.array([[0.5, 10.25]])) and at.params == {"heat": 0.5, "time": 10.25}
    assert PointSet(points, KERNEL, ROOT, SPACE, finite=True).placements_of(4) is None
    assert not targets.are_averages


def test_cells_are_targets_that_average_over_their_points():
    given = Cells([(1.0, 0.1), (2.0, 0.25)])
    targets = CellSet(given, KERNEL, ROOT, None, 4000)
    assert targets.are_averages
    assert_array_equal(targets.sizes, given.sizes)
    rng = np.random.default_rng(0)
    draws = rng.random((3, len(targets.points)))
    values = targets.values_from(draws)
    each = len(targets.points) // values.shape[1]
    assert each == 100 and values.shape[1] == 40
    for cell in range(values.shape[1]):
        own = slice(cell * each, cell * each + each)
        assert_allclose(values[:, cell], draws[:, own].mean(axis=1))
        points = targets.points[own]
        assert ((points > ROOT[:, 0]) & (points < ROOT[:, 1])).all()
        # Ten points along a side are the middles of its tenths.
        side = given.sizes[cell >= 20]
        assert_allclose(np.ptp(points, axis=0), 0.9 * np.array(side))
    numbers, weights = rng.choice(40, 7, replace=False), rng.random(7)
    points, shares = targets.points_of(numbers, weights)
    assert_allclose(draws[:, points] @ shares, values[:, numbers] @ weights)
    for sizes in ([(1.0, 0.0)], 0.0):
        with pytest.raises(ValueError, match="sides above 0, or points"):
            CellSet(Cells(sizes), KERNEL, ROOT, None, 400)


def test_distinct_places_are_counted_as_far_as_necessary():
    rng = np.random.default_rng(0)
    for _ in range(30):
        places = rng.integers(3, size=(int(rng.integers(1, 9)), 2)).astype(float)
        n = len(np.unique(places, axis=0))
        for least in range(7):
            assert are_fewer(least, iter(places)) == (n < least)

    def endless():
        yield np.zeros(2)
        yield np.ones(2)
        raise AssertionError("two are known to be distinct already")

    assert not are_fewer(2, endless())

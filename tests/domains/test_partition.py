"""Cells, boxes and pools."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skgpb.domains import Cell, PointsQuery, Region
from skgpb.domains.partition import (
    BoxPartition,
    PoolPartition,
    deepest_level,
    points_per_axis,
    sample_cells,
    sorted_within,
)


def box(K=2, counts=(4,)):
    return BoxPartition(np.array([[0.0, 1.0]] * len(counts)), K, counts)


def test_points_of_a_cell_are_the_centres_of_its_sub_grid():
    partition = BoxPartition(np.array([[0.0, 1.0], [0.0, 3.0]]), 2, (2, 3))
    expected = [(x, y) for x in (0.25, 0.75) for y in (0.5, 1.5, 2.5)]
    cell = partition.cell(0)
    assert_allclose(cell.points, expected)
    assert_allclose(np.asarray(cell), expected)
    assert_allclose(cell.center, [0.5, 1.5])
    assert np.asarray(cell, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("K", [2, 3])
def test_sizes_are_the_sides_of_the_cells_of_every_depth(K):
    partition = BoxPartition(np.array([[0.0, 1.0], [-1.0, 2.0]]), K, (2, 3), max_depth=4)
    for node in range(30):
        partition.split(node)
    tree = partition.tree
    assert len(partition.sizes) == 6
    assert_allclose(tree.upper - tree.lower, partition.sizes[tree.depth], rtol=1e-14)
    assert BoxPartition(np.array([[0.0, 1.0]]), K, (1,), at_center=True).sizes is None
    assert PoolPartition(np.eye(3), 2, 1).sizes is None


def test_a_cell_is_immutable_hashable_and_pickles():
    cell = box().cell(0)
    with pytest.raises(AttributeError, match="immutable"):
        cell.depth = 3
    with pytest.raises(ValueError, match="read-only"):
        cell.lower[0] = 3.0
    other = pickle.loads(pickle.dumps(cell))
    assert other == cell
    assert hash(other) == hash(cell)
    assert {cell: 1}[other] == 1
    assert cell != box(counts=(5,)).cell(0)
    assert cell != "cell"
    assert "depth=0" in repr(cell)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.integers(0, 6), st.integers(0, 10**6))
def test_cells_beyond_the_tree_are_those_it_would_grow(K, depth, seed):
    d = 2
    index = seed % K**depth
    partition = BoxPartition(np.array([[0.0, 1.0], [-2.0, 5.0]]), K, (1,) * d)
    expected = partition.cell_at(depth, index)
    node = 0
    for level in range(depth - 1, -1, -1):
        node = partition.split(node) + index // K**level % K
    assert partition.cell(node) == expected == partition.cell_at(depth, index)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 300),
    st.integers(1, 3),
    st.integers(2, 4),
    st.integers(1, 20),
    st.integers(0, 99),
)
def test_pool_cells_partition_the_rows_without_empty_cells(n, d, K, min_members, seed):
    rng = np.random.default_rng(seed)
    pool = np.round(rng.random((n, d)), 1)
    partition = PoolPartition(pool, K, 5, min_members)
    for _ in range(10):
        leaves = [leaf for leaf in partition.tree.leaves.tolist() if partition.splittable(leaf)]
        if not leaves:
            break
        partition.split(leaves[seed % len(leaves)])
    cells = [partition.cell(node) for node in partition.tree.leaves.tolist()]
    members = np.concatenate([cell.members for cell in cells])
    assert_array_equal(np.sort(members), np.arange(n))
    for cell in cells:
        assert len(cell.members) >= min(min_members, n)
        rows = pool[cell.members]
        assert_array_equal(cell.lower, rows.min(axis=0))
        assert_array_equal(cell.upper, rows.max(axis=0))
        assert 1 <= len(cell.points) <= 5
        assert all((rows == point).all(axis=1).any() for point in cell.points)


def test_pool_cells_are_cut_at_quantiles_of_the_widest_axis():
    rng = np.random.default_rng(0)
    pool = rng.random((101, 2)) * [1.0, 50.0]
    pool[:, 1] = pool[:, 1] ** 2
    partition = PoolPartition(pool, 2, None)
    first = partition.split(0)
    left, right = partition.cell(first), partition.cell(first + 1)
    assert len(left.members) == 50
    assert len(right.members) == 51
    axis = int(np.argmax(np.ptp(pool, axis=0) / np.ptp(pool, axis=0)))
    assert pool[left.members, axis].max() <= pool[right.members, axis].min()
    grandchild = partition.split(first)
    rows = pool[left.members]
    axis = int(np.argmax(np.ptp(rows, axis=0) / np.ptp(pool, axis=0)))
    a, b = partition.cell(grandchild), partition.cell(grandchild + 1)
    assert pool[a.members, axis].max() <= pool[b.members, axis].min()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.integers(0, 10**6))
def test_pool_cells_beyond_the_tree_are_those_it_would_grow(depth, seed):
    pool = np.random.default_rng(seed).random((200, 2))
    partition = PoolPartition(pool, 2, 7)
    index = seed % 2**depth
    expected = partition.cell_at(depth, index)
    node = 0
    for level in range(depth - 1, -1, -1):
        node = partition.split(node) + index // 2**level % 2
    assert partition.cell(node) == expected


def test_a_sample_of_a_pool_cell_represents_it_evenly():
    pool = np.random.default_rng(0).random((4096, 2))
    cell = PoolPartition(pool, 2, 64).cell(0)
    assert len(cell.points) == 64
    # One in each of the 64 cells that six splits make of it, whatever the rows are.
    whole = PoolPartition(pool, 2, None)
    parts = [whole.cell_at(6, index).points for index in range(64)]
    held = [(part[:, None] == cell.points).all(axis=2).any(axis=0).sum() for part in parts]
    assert_array_equal(held, 1)
    assert len(whole.cell(0).points) == 4096
    single = PoolPartition(pool, 2, 1).cell(0).points
    away = np.abs(pool - pool.mean(axis=0)) / np.ptp(pool, axis=0)
    assert_array_equal(single, pool[[away.sum(axis=1).argmin()]])


def test_identical_rows_are_split_by_order():
    partition = PoolPartition(np.ones((8, 2)), 2, None)
    first = partition.split(0)
    assert_array_equal(partition.cell(first).members, np.arange(4))
    assert isinstance(partition.cell(first + 1), Cell)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 40, 2_100_000])
def test_members_are_sorted_as_by_lexsort(n):
    rng = np.random.default_rng(0)
    segment, rank = np.sort(rng.integers(max(1, n // 7), size=n)), rng.integers(n, size=n)
    rank //= 2  # ties
    assert_array_equal(sorted_within(segment, rank), np.lexsort((rank, segment)))


def test_many_members_are_sorted_without_overflow():
    n = 2_100_000
    segment, rank = np.zeros((2, n), dtype=np.intp)
    segment[-3:], rank[-3:] = n - 1, [n - 1, n - 1, 3]
    assert_array_equal(sorted_within(segment, rank)[-4:], [n - 4, n - 1, n - 3, n - 2])


# -- nodes by depth, copies, and growth -----------------------------------------------------------

BOUNDS = np.array([[0.0, 1.0], [-2.0, 5.0]])


def partitions(K=3):
    pool = np.random.default_rng(0).normal(size=(90, 2))
    return {
        "box": BoxPartition(BOUNDS, K, (2, 3), max_depth=3),
        "centres": BoxPartition(BOUNDS, K, (1, 1), at_center=True, max_depth=3),
        "pool": PoolPartition(pool, K, 4, 2, max_depth=3),
    }


def grown(partition, seed=0, n=9):
    """Split nodes at random; return the split nodes in their order."""
    rng, splits = np.random.default_rng(seed), []
    for _ in range(n):
        leaves = [leaf for leaf in partition.tree.leaves.tolist() if partition.splittable(leaf)]
        splits.append(int(rng.choice(leaves)))
        first = partition.split(splits[-1])
        assert partition.tree.n_nodes - first == partition.tree.n_children
    return splits


@pytest.mark.parametrize("name", partitions())
def test_nodes_are_found_by_depth(name):
    partition = partitions()[name]
    splits = grown(partition)
    tree = partition.tree
    assert_array_equal(partition.expanded, splits)
    depth = {node: tree.node(node)[0] for node in range(tree.n_nodes)}
    for finest in range(5):
        expected = [
            node
            for node in range(tree.n_nodes)
            if (depth[node] <= finest and node not in splits)
            or (depth[node] == finest and node in splits)
        ]
        assert sorted(partition.front(finest)) == expected
    deepest = max(depth[node] for node in splits)
    among = [node for node in splits if depth[node] == deepest]
    assert partition.deepest_split_nodes().tolist() == sorted(among, key=lambda n: tree.node(n)[1])
    boxes = {n: np.concatenate([tree.lower[n], tree.upper[n]]).tobytes() for n in splits}
    without = partition.deepest_split_nodes(frozenset(boxes[n] for n in among))
    rest = [n for n in splits if depth[n] == deepest - 1]
    assert without.tolist() == sorted(rest, key=lambda n: tree.node(n)[1])
    assert partition.deepest_split_nodes(frozenset(boxes.values())).tolist() == [0]
    for node in range(tree.n_nodes):
        assert partition.splittable(node) == (
            depth[node] <= 3 and (name != "pool" or len(partition.cell(node).members) >= 6)
        )


@pytest.mark.parametrize("name", partitions())
def test_queries_are_told_from_others_by_a_mask(name):
    partition = partitions()[name]
    grown(partition)
    some = [partition.cell(n) for n in (2, 5, 5)]
    mask = partition.query_mask([*some, PointsQuery(np.zeros((1, 2)))])
    assert_array_equal(np.flatnonzero(mask), [2, 5])
    assert len(mask) == partition.tree.n_nodes and mask.max() == 1
    assert partition.query_mask([PointsQuery(np.zeros((1, 2)))]) is None
    assert partition.query_mask([]) is None
    root = partition.query_mask([partition.cell(0)])
    assert root is not None and np.flatnonzero(root).tolist() == [0]
    beyond = next(
        partition.cell_at(3, index) for index in range(27) if partition.tree.find(3, index) < 0
    )
    assert partition.node_of(beyond) == -1 and partition.query_mask([beyond]) is None


@pytest.mark.parametrize("name", partitions())
def test_growth_and_rewards_are_put_into_another_partition(name):
    partition, other = partitions()[name], partitions()[name]
    grown(partition)
    rng = np.random.default_rng(1)
    for node in rng.integers(partition.tree.n_nodes, size=20).tolist():
        partition.tree.record(node, float(rng.normal()))
    other._growth = partition._growth
    assert_array_equal(other.expanded, partition.expanded)
    for field in ("depth", "index", "parent", "lower", "upper", "n_evaluations", "reward_sum"):
        assert_array_equal(getattr(other.tree, field), getattr(partition.tree, field))
    for node in range(partition.tree.n_nodes):
        assert other.cell(node) == partition.cell(node)
    splits, told, total = partition._growth
    negative = told.copy()
    negative[-1] = -1
    for wrong in ((splits, told[1:], total), (splits, told, total[1:]), (splits, negative, total)):
        with pytest.raises(ValueError, match="these are no rewards"):
            partitions()[name]._growth = wrong
    twin = partition.copy()
    before = partition.tree.n_nodes
    leaf = next(n for n in twin.tree.leaves.tolist() if twin.splittable(n))
    first = twin.split(leaf)
    assert partition.tree.n_nodes == before < twin.tree.n_nodes
    assert_array_equal(twin.row_set(first), twin.rows_of_query(twin.cell(first)))
    assert twin.cell(first) == twin.query(first) == partition.cell_at(*twin.tree.node(first)[:2])


@pytest.mark.parametrize(("K", "d", "depth"), [(2, 1, 3), (2, 2, 3), (3, 2, 2), (2, 3, 4)])
def test_sampled_cells_are_cells_of_their_depth(K, d, depth):
    bounds = np.column_stack([np.arange(d) - 2.0, np.arange(d) * 2.0 + 1.0])
    partition = BoxPartition(bounds, K, (2,) * d)
    cells = [partition.cell_at(depth, index) for index in range(K**depth)]
    corners = {tuple(cell.box.round(9)) for cell in cells}
    some, one = (sample_cells(bounds, K, depth, everywhere) for everywhere in (True, False))
    assert len(one) == 1
    for lower, upper in some + one:
        assert tuple(np.concatenate([lower, upper]).round(9)) in corners
    assert ((one[0][0] <= bounds.mean(axis=1)) & (bounds.mean(axis=1) <= one[0][1])).all()
    found = {tuple(np.concatenate(each).round(9)) for each in some}
    assert len(found) == len(some)
    every = [{c[i] for c in corners} for i in range(d)]
    ends = {tuple(c) for c in itertools.product(*[(min(e), max(e)) for e in every])}
    assert {c[:d] for c in found} >= {tuple(min(e) for e in every), tuple(max(e) for e in every)}
    assert len(ends & {c[:d] for c in found}) >= min(len(ends), 4 if d > 1 else 2)
    assert_allclose(partition.sizes[depth], one[0][1] - one[0][0])
    for at_center in (False, True):
        partition = BoxPartition(bounds, K, (1,) * d if at_center else (2,) * d, at_center)
        for block, lower, upper in partition.deviation_cells(depth, True):
            cell = next(
                c
                for c in (partition.cell_at(depth, i) for i in range(K**depth))
                if np.allclose(c.lower, lower) and np.allclose(c.upper, upper)
            )
            assert_allclose(block, partition.rows_of_query(cell), atol=1e-12)


@pytest.mark.parametrize("at_center", [False, True])
def test_the_average_over_a_box_is_a_cell_or_a_region(at_center):
    partition = BoxPartition(BOUNDS, 2, (1, 1) if at_center else (2, 3), at_center, max_depth=4)
    for depth, index in [(0, 0), (1, 1), (3, 5), (5, 17)]:
        cell = partition.cell_at(depth, index)
        assert partition.query_of_box(cell.box) == cell
        assert partition.query_of_box(cell.box + 1e-12) == cell
    for box in ([0.1, -1.0, 0.4, 3.0], [0.25, -2.0, 0.75, 5.0], [0.0, -2.0, 1e-3, -1.99]):
        region = partition.query_of_box(np.array(box))
        assert type(region) is Region
        assert_array_equal(region.box, box)
        assert_allclose(region.center, [np.mean(box[::2]), np.mean(box[1::2])])
        row = np.tile(region.center, 2) if at_center else box
        assert_allclose(partition.rows_of_query(region), [row])
        assert_array_equal(partition.rows_of_box(np.array(box)), [box])
    other = Region(np.zeros(2), np.ones(2), (4, 4))
    assert_array_equal(partition.rows_of_query(other), np.tile(other.points, 2))
    assert len(other.points) == 16
    block = partition.row_set_with(0, np.array([0.3]))
    low, high = (0.3, 1.5) if at_center else (0.3, -2.0), (0.3, 1.5) if at_center else (0.3, 5.0)
    assert_array_equal(block, [[*low, *high]])
    assert_array_equal(partition.row_set(0)[0, [0, 2]], [0.5, 0.5] if at_center else [0.0, 1.0])


def test_members_of_a_pool_are_compared_with_what_represents_them():
    pool = np.random.default_rng(0).random((2000, 2))
    partition = PoolPartition(pool, 2, 7, 1)
    for depth in (0, 1, 2, 5):
        sample = partition.deviation_row_sets(depth)
        assert len(sample) == min(2**depth, 9)
        cells = {partition.cell_at(depth, i).points.tobytes(): i for i in range(2**depth)}
        found = []
        for points, members in sample:
            found.append(cells[points.tobytes()])
            cell = partition.cell_at(depth, found[-1])
            n = len(cell.members)
            assert len(members) == -(-n // -(-n // 256)) <= 256
            assert all((members == pool[row]).all(axis=1).any() for row in cell.members[:1])
            inside = (members >= cell.lower) & (members <= cell.upper)
            assert inside.all()
        assert found == sorted(found) and {0, 2**depth - 1} <= set(found)
    few = PoolPartition(pool[:6], 2, None, 2)
    assert len(few.deviation_row_sets(1)) == 2 and few.deviation_row_sets(3) == []
    with pytest.raises(ValueError, match="too few members"):
        few.cell_at(2, 0)


@pytest.mark.parametrize("K", [2, 3, 7])
def test_cells_are_numbered_within_64_bits(K):
    assert K ** (deepest_level(K) + 1) <= 2**62 < K ** (deepest_level(K) + 2)


def test_points_of_a_cell_are_as_many_as_are_given_or_few():
    assert [points_per_axis(None, d) for d in (1, 2, 3, 6, 7)] == [
        (10,), (10, 10), (4, 4, 4), (2,) * 6, (1,) * 7,
    ]  # fmt: skip
    assert points_per_axis(3, 2) == points_per_axis(np.int64(3), 2) == (3, 3)
    assert points_per_axis((2, 5), 2) == (2, 5)
    for wrong in (0, (1, 0), (2,), (2, 2, 2), (2, 1.5)):
        with pytest.raises(ValueError, match="n_representatives must be an integer >= 1"):
            points_per_axis(wrong, 2)
    with pytest.raises(ValueError, match="at most"):
        points_per_axis(10**6, 2)

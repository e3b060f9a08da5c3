"""Cells, boxes and pools."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skgpb.domains import Cell
from skgpb.domains.partition import BoxPartition, PoolPartition, sorted_within


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

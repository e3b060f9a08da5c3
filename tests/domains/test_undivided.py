"""Pools whose cells never part rows of equal value."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgpb.domains import PoolPartition, UndividedPool


def cells(partition, depth=0, index=0):
    """A cell and all below it."""
    try:
        cell = partition.cell_at(depth, index)
    except ValueError:
        return []
    below = [each for j in (0, 1) for each in cells(partition, depth + 1, 2 * index + j)]
    return [cell, *below]


def test_without_equal_values_cells_are_those_of_a_pool():
    pool = np.random.default_rng(0).random((300, 3))
    ours = cells(UndividedPool(pool, 8, min_members=9, smallest=4))
    theirs = cells(PoolPartition(pool, 2, 8, min_members=9))
    assert len(ours) == len(theirs) == 63
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.depth, mine.index) == (other.depth, other.index)
        assert_array_equal(mine.members, other.members)
        assert_array_equal(mine.points, other.points)


@pytest.mark.parametrize("levels", [2, 3, 7, 40])
def test_the_box_of_a_cell_holds_its_members_and_no_others(levels):
    pool = np.random.default_rng(levels).integers(levels, size=(400, 3)).astype(float)
    partition = UndividedPool(pool, 8, min_members=12, smallest=6)
    found = cells(partition)
    assert len(found) > 3
    for cell in found:
        inside = ((pool >= cell.lower) & (pool <= cell.upper)).all(axis=1)
        assert_array_equal(np.flatnonzero(inside), cell.members)
    sizes = [len(cell.members) for cell in found]
    assert min(sizes) == partition.fewest >= 6
    assert partition.max_depth == max(cell.depth for cell in found) - 1


def test_of_axes_that_spread_alike_the_most_even_cut_is_taken():
    pool = np.zeros((100, 2))
    pool[:10, 0] = pool[50:, 1] = 1.0
    below = UndividedPool(pool, 4, min_members=5, smallest=2).cell_at(1, 0)
    assert_array_equal(below.members, np.arange(50))


def test_where_nothing_can_be_cut_that_is_said():
    pool = np.zeros((50, 1))
    pool[0] = 1.0
    assert UndividedPool(pool, 4, min_members=5, smallest=2).max_depth == -1

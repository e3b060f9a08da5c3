"""Coordinates of a cell that moves and changes its size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb.domains import Cells, FreeCells, RangedCells, SizeRange
from skgpb.domains.moving_cells import MovingCell

BOUNDS = np.array([[0.0, 1.0], [-1.0, 3.0], [2.0, 2.5]])


def moving(size_range, resized=True):
    cells = Cells(size_range)
    sizes, between = (find(BOUNDS, None, "queries") for find in (cells.sides, cells.between))
    made = RangedCells(sizes, BOUNDS, 200, (2, 2, 2), [0], None, between=between)
    return MovingCell(made, 37, resized)


RANGES = [
    SizeRange((0.1, 0.2, 0.1), (0.5, 1.6, 0.1)),
    SizeRange(0.1, 0.5),
    SizeRange((0.1, 0.2, 0.1), (0.5, 1.6, 0.4), proportional=True),
]


@pytest.mark.parametrize("size_range", RANGES)
def test_coordinates_are_those_of_the_rows(size_range):
    cell = moving(size_range)
    Z = np.random.default_rng(0).random((20, cell.n))
    rows = cell.rows(Z)
    lower, upper = rows[:, :3], rows[:, 3:]
    assert (lower >= BOUNDS[:, 0]).all()
    assert (upper <= BOUNDS[:, 1] + 1e-12).all()
    assert_allclose(upper - lower, cell.sides(Z))
    assert_allclose(cell.coordinates(rows), Z, atol=1e-12)
    # The shares of the range end at its ends.
    ends = np.vstack([np.zeros(cell.n), np.ones(cell.n)])
    found = Cells(size_range).between(BOUNDS, None)
    assert_allclose(cell.sides(ends), [found.shortest, found.longest])


@pytest.mark.parametrize("resized", [True, False])
@pytest.mark.parametrize(("size_range", "n_shares"), [*zip(RANGES, [2, 3, 1], strict=True)])
def test_slopes_of_the_corners_are_differences(size_range, n_shares, resized):
    cell = moving(size_range, resized)
    assert cell.n == (3 + n_shares if resized else 3)
    z, h = np.random.default_rng(1).random(cell.n), 1e-6
    steps = h * np.eye(cell.n)
    expected = (cell.rows(z + steps) - cell.rows(z - steps)) / (2 * h)
    assert_allclose(cell.slopes(z), expected.T, atol=1e-9)


def test_what_is_as_long_as_the_box_has_one_place():
    cells = FreeCells(np.array([[0.5, 4.0, 0.1]]), BOUNDS, 40, (2, 2, 2), [0])
    cell = MovingCell(cells, 0, resized=True)
    assert not cell.resized
    assert cell.axes.tolist() == [0, 2]
    assert_allclose(cell.within(np.ones(2)), [0.5, -1.0, 2.4, 1.0, 3.0, 2.5])
    assert (cell.like(0) == np.arange(len(cells))).all()

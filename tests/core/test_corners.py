"""Slopes of covariances of boxes in their corners, against differences of the covariances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb._core._cells import GaussianCells
from skgpb._core._corners import corner_slopes

# Widths of both boxes in length scales, from points to what hardly overlaps.
WIDTHS = [0.0, 1e-3, 0.04, 0.3, 0.7, 3.0, 20.0]


def differences(cells, A, B, h=1e-3):
    """By five points along each corner, exact to h^4."""
    out = np.empty((len(A), len(B), A.shape[1]))
    for c in range(A.shape[1]):
        step = h * np.eye(A.shape[1])[c]
        near, far = (cells.cross(A + k * step, B) - cells.cross(A - k * step, B) for k in (1, 2))
        out[..., c] = (8.0 * near - far) / (12.0 * h)
    return out


def boxes(rng, n, widths):
    lower = rng.uniform(-1.0, 1.0, (n, len(widths)))
    return np.hstack([lower, lower + widths])


@pytest.mark.parametrize("counts", [None, [1, 1], [5, 10], [40, 3]])
def test_slopes_are_those_of_the_covariance(counts):
    """Where both are wide or narrow, the same width, or one is a point."""
    cells = GaussianCells([1.5, 0.3, 0.2], [[1.0, 0.3], [4.0, 0.0], [0.0, 9.0]], counts)
    for width, other in product(WIDTHS[1:], WIDTHS):
        check_slopes(cells, width, other)


def check_slopes(cells, width, other):
    rng = np.random.default_rng(0)
    A, B = boxes(rng, 3, [width, 0.6]), boxes(rng, 4, [other, 0.2])
    # Two of another place along the first axis, one of them far away.
    B[1, [0, 2]] += 3.0
    B[2, [0, 2]] -= 60.0
    values, slopes = corner_slopes(cells, A, B)
    K = cells.cross(A, B)
    assert_allclose(values, K, rtol=1e-12, atol=1e-14)
    h = min(1e-3, 0.2 * width)
    # Rounding of the values, over the step, is what differences are exact to.
    assert_allclose(slopes, differences(cells, A, B, h), rtol=1e-7, atol=2e-15 / h + 1e-11)


@pytest.mark.parametrize("counts", [None, [4, 4]])
def test_both_corners_of_what_has_no_width_move_together(counts):
    cells = GaussianCells([1.0], [[1.0, 2.0]], counts)
    rng, h = np.random.default_rng(1), 1e-3
    A, B = boxes(rng, 3, [0.0, 0.5]), boxes(rng, 3, [0.4, 0.0])
    slopes = corner_slopes(cells, A, B)[1]
    step = h * np.array([1.0, 0.0, 1.0, 0.0])
    near, far = (cells.cross(A + k * step, B) - cells.cross(A - k * step, B) for k in (1, 2))
    assert_allclose(slopes[..., 0] + slopes[..., 2], (8 * near - far) / (12 * h), atol=1e-11)


def test_far_from_zero_and_where_nothing_is_left():
    cells = GaussianCells([1.0], [[1e4]], [8])
    A, B = np.array([[1e6, 1e6 + 0.01]]), np.array([[1e6 + 0.01, 1e6 + 0.03], [0.0, 1.0]])
    values, slopes = corner_slopes(cells, A, B)
    assert_allclose(values, cells.cross(A, B), rtol=1e-8)
    near = corner_slopes(cells, A - 1e6, B - 1e6)[1]
    assert_allclose(slopes[0, 0], near[0, 0], rtol=1e-7)
    assert not values[0, 1]
    assert not slopes[0, 1].any()


def test_no_boxes_and_wrong_ones():
    cells = GaussianCells([1.0], [[1.0]])
    values, slopes = corner_slopes(cells, np.empty((0, 2)), np.ones((3, 2)))
    assert values.shape == (0, 3)
    assert slopes.shape == (0, 3, 2)
    with pytest.raises(ValueError, match="A must have 2 columns"):
        corner_slopes(cells, np.ones((1, 4)), np.ones((1, 2)))

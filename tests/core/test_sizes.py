"""Tabulated covariances of boxes of few sizes against those computed pair by pair."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from skgpb._core._cells import GaussianCells
from skgpb._core._sizes import SizedCells

KERNELS = {
    "points": GaussianCells([1.3], [[30.0, 4.0]], [1, 1]),
    "grids": GaussianCells([1.3], [[30.0, 900.0]], [10, 7]),
    "whole": GaussianCells([1.3], [[30.0, 900.0]]),
    "terms": GaussianCells([1.0, 0.2], [[3.0, 5.0], [700.0, 0.0]], [4, 4]),
    "short": GaussianCells([1.0], [[3.0, 1e8]]),
}
SIZES = np.repeat([[0.0], [0.05], [0.1], [0.4]], 2, axis=1)


def boxes(n, rng, sizes=(0.0, 0.05, 0.1, 0.4), origin=0.0):
    """Boxes whose sides differ by rounding from a few sizes, and two of other sizes."""
    half = 0.5 * rng.choice(sizes, size=(n, 1))
    half[:2] = 0.5 * rng.random((min(n, 2), 1))
    center = origin + half + rng.random((n, 2)) * (1.0 - 2.0 * half)
    return np.hstack([center - half, center + half])


@pytest.mark.parametrize("name", KERNELS)
def test_tables_hold_what_pairs_have(name):
    rng = np.random.default_rng(0)
    cells, sized = KERNELS[name], SizedCells(KERNELS[name], SIZES)
    for n, m in ((80, 120), (3, 120), (300, 1), (60, 60)):
        A, B = boxes(n, rng), boxes(m, rng)
        np.testing.assert_allclose(sized.cross(A, B), cells.cross(A, B), rtol=0, atol=1e-14)


def test_tables_grow_with_the_distance():
    rng = np.random.default_rng(0)
    cells, sized = KERNELS["whole"], SizedCells(KERNELS["whole"], SIZES)
    A = boxes(100, rng)
    for far in (0.0, 0.5, 3.0, 20.0, 0.1):
        B = A + far
        np.testing.assert_allclose(sized.cross(A, B), cells.cross(A, B), rtol=0, atol=3e-14)


def test_far_from_zero_no_more_digits_are_lost_than_pair_by_pair():
    rng = np.random.default_rng(0)
    cells, sized = KERNELS["whole"], SizedCells(KERNELS["whole"], SIZES)
    A = boxes(100, rng, origin=1e6)
    np.testing.assert_allclose(sized.cross(A, A), cells.cross(A, A), rtol=0, atol=1e-8)


def test_many_sizes_and_no_boxes_are_no_error():
    rng = np.random.default_rng(0)
    cells = KERNELS["grids"]
    sized = pickle.loads(pickle.dumps(SizedCells(cells, SIZES)))
    A = boxes(300, rng, sizes=np.linspace(0.01, 0.3, 29))
    np.testing.assert_allclose(sized.cross(A, A), cells.cross(A, A), rtol=0, atol=1e-14)
    assert sized.cross(A[:0], A).shape == (0, 300)
    with pytest.raises(ValueError, match="must have 4 columns"):
        sized.cross(A[:, :2], A)
    with pytest.raises(ValueError, match="sizes must have shape"):
        SizedCells(cells, SIZES[0])


def test_no_bit_depends_on_what_was_computed_before():
    rng = np.random.default_rng(0)
    cells = KERNELS["grids"]
    A, B = boxes(60, rng), boxes(50, rng)
    every = SizedCells(cells, SIZES).cross(A, B)
    sized = SizedCells(cells, SIZES)
    for i in 6 * rng.permutation(10):
        np.testing.assert_array_equal(sized.cross(A[i : i + 6], B), every[i : i + 6])
        np.testing.assert_array_equal(sized.cross(A[i : i + 5], B), cells.cross(A[i : i + 5], B))

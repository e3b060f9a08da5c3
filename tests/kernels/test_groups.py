"""Kernels over groups of coordinates, part by part, against the same sums over all points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from skgpb import GPOOOptimizer
from skgpb.kernels import CellAverage, CellIntegral, Columns

BASES = [
    Columns(Matern(0.3, nu=2.5), [0]) * Columns(Matern(0.5, nu=1.5), [1]),
    2.0 * Columns(RBF(0.3), [1]) * Columns(Matern([0.5, 0.4]), [2, 0]) + Matern(0.6),
    Columns(RBF(0.3), [0]) + ConstantKernel(0.5, "fixed") * Columns(Matern(0.4), [-1]),
    Columns(Matern(0.3), [0, 1]) * Columns(Matern(0.5), [1, 2]),  # they share a coordinate
    (Columns(Matern(0.3), [0]) + 0.3) * (Columns(Matern(0.5), [1]) + Columns(RBF(0.2), [2])),
]


def boxes_of(n, d, seed=0):
    rng = np.random.default_rng(seed)
    lower = rng.random((n, d))
    upper = lower + 0.5 * rng.random((n, d)) * rng.integers(0, 2, size=(n, d))
    return np.hstack([lower, upper])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("kind", ["average", "integral"])
def test_parts_give_what_all_points_give(base, kind):
    d = 2 if base is BASES[0] else 3
    counts = (3, 2, 4)[:d]
    kernel = CellAverage(base, counts) if kind == "average" else CellIntegral(base, 8)
    A, B = boxes_of(7, d), boxes_of(4, d, seed=1)
    # The closed form of an RBF part is more accurate than eight nodes.
    atol = 1e-13 if kind == "average" else 1e-7
    assert_allclose(kernel(A), kernel.generic(A), atol=atol)
    assert_allclose(kernel(A, B), kernel.generic(A, B), atol=atol)
    assert_allclose(kernel.diag(A), kernel.generic_diag(A), atol=atol)
    K, gradient = kernel(A, eval_gradient=True)
    expected, slopes = kernel.generic(A, eval_gradient=True)
    assert_allclose(K, expected, atol=atol)
    assert gradient.shape == (7, 7, len(kernel.theta))
    assert_allclose(gradient, slopes, atol=50 * atol)
    assert not kernel.noise_diag(A).any()


def test_parts_that_share_a_coordinate_are_not_split():
    kernel, A = CellAverage(BASES[3], (3, 2, 4)), boxes_of(4, 3)
    assert_allclose(kernel.diag(A), np.diag(kernel.generic(A)), atol=1e-13)


def test_white_noise_takes_the_generic_path():
    kernel = CellAverage(BASES[0] + WhiteKernel(0.1), 3)
    A = boxes_of(5, 2)
    assert not kernel._has_groups()
    assert_allclose(kernel(A), kernel.generic(A), atol=1e-14)


@pytest.mark.slow
def test_rounds_need_no_square_of_all_points():
    base = Columns(Matern(0.3, nu=2.5), [0])
    for axis in (1, 2, 3):
        base = base * Columns(Matern(0.3, nu=2.5), [axis])
    # 10^4 points to a cell: 10^8 evaluations for a single pair of cells
    opt = GPOOOptimizer(base, bounds=[(0, 1)] * 4, alpha=0.01, n_representatives=10)
    rng = np.random.default_rng(0)
    for _ in range(15):
        cell = opt.ask()
        opt.tell(cell, float(np.sin(4 * cell.points).mean()) + 0.1 * rng.normal())
    assert len(opt.history_) == 15

"""Slopes against differences and quadrature, over cells as well, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from skgpb import KGOptimizer, OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage, CellIntegral, Derivative, Tasks

RNG = np.random.default_rng(0)
BASES = [
    RBF(0.4),
    RBF([0.3, 0.7]),
    Matern(0.5, nu=2.5),
    Matern([0.4, 0.9], nu=2.5),
    2.0 * RBF([0.3, 0.7]) + (0.5 + ConstantKernel(0.1)) * Matern(0.6, nu=2.5) + 3.0,
]


def differences(base, x, i, y, j, step=1e-3):
    """cov(f_i(x), f_j(y)) by five-point differences, whose error is about step^4 times 30."""
    weights = {0: 1.0} if i < 0 else {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
    others = {0: 1.0} if j < 0 else {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
    e, total = np.eye(2), 0.0
    for a, v in weights.items():
        for b, w in others.items():
            total += v * w * base([x + a * step * e[i]], [y + b * step * e[j]])[0, 0]
    return total / step ** ((i >= 0) + (j >= 0))


@pytest.mark.parametrize("base", BASES, ids=str)
def test_slopes_are_the_limits_of_differences(base):
    X = RNG.random((4, 2))
    rows = np.column_stack([np.repeat(X, 3, axis=0), np.tile([-1, 0, 1], 4)])
    K = Derivative(base)(rows, rows.copy())
    for a, row in enumerate(rows):
        for b, other in enumerate(rows):
            if a // 3 != b // 3 and a < b:  # apart: Matern is not smooth enough where it is zero
                found = differences(base, row[:2], int(row[2]), other[:2], int(other[2]))
                assert_allclose(K[a, b], found, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("base", BASES, ids=str)
def test_at_one_place_values_and_slopes_are_independent(base):
    K = Derivative(base)([[0.3, 0.2, -1], [0.3, 0.2, 0], [0.3, 0.2, 1]])
    assert_allclose(K - np.diag(np.diag(K)), 0.0, atol=1e-15)
    # The variance of a slope is the curvature of the covariance there.
    step = 1e-4
    for axis in (0, 1):
        shift = step * np.eye(2)[axis]
        bend = base([[0.3, 0.2]], [np.array([0.3, 0.2]) + shift])[0, 0] - K[0, 0]
        assert_allclose(K[1 + axis, 1 + axis], -2 * bend / step**2, rtol=2e-3)


@pytest.mark.parametrize("base", [RBF([0.3, 0.7]), Matern([0.6, 0.9], nu=2.5)], ids=str)
def test_a_slope_averaged_over_a_cell_is_that_of_its_points(base):
    """The difference of faces against quadrature of slopes at points."""
    cells = np.array([[0.1, 0.2, 0.4, 0.9], [0.5, 0.0, 0.9, 0.3], [0.0, 0.6, 0.3, 0.8]])
    axes = np.array([0, 1, -1])
    K = Derivative(CellIntegral(base, tolerance=1e-10))(np.column_stack([cells, axes]))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    square = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    every = np.outer(weights, weights).ravel() / 4
    rows, n = [], len(every)
    for cell, axis in zip(cells, axes, strict=True):
        points = cell[:2] + 0.5 * (1 + square) * (cell[2:] - cell[:2])
        rows.append(np.column_stack([points, np.full(n, axis)]))
    R = np.kron(np.eye(3), every)
    direct = R @ Derivative(base)(np.concatenate(rows)) @ R.T
    off = ~np.eye(3, dtype=bool)
    # The kink of Matern-5/2's fourth derivative leaves 1e-6 of a cell with itself.
    assert_allclose(K[off], direct[off], rtol=1e-6, atol=1e-8)
    assert_allclose(np.diag(K), np.diag(direct), rtol=1e-4)


def test_any_base_has_slopes_over_cells():
    """The answer of a line is its slope, whatever the cell."""
    kernel = Derivative(CellAverage(DotProduct(1e-9) + 1.0, 4))
    rows = np.array([[0.0, 1.0, 0], [0.3, 0.4, 0], [5.0, 9.0, 0]])
    assert_allclose(kernel(rows), 1.0, rtol=1e-12)


def test_values_and_slopes_are_learned_from_together():
    x = np.linspace(0, 1, 6)
    values = np.column_stack([x, np.full(6, -1)])
    slopes = np.column_stack([x, np.zeros(6)])
    y = np.concatenate([np.sin(4 * x), 4 * np.cos(4 * x)])
    kernel = ConstantKernel(1.0, (0.01, 100)) * RBF(1.0, (0.05, 5))
    alpha = np.repeat([1e-6, 1e-4], 6)
    gp = OnlineGaussianProcessRegressor(Derivative(kernel), alpha=alpha)
    gp.fit(np.vstack([values, slopes]), y)
    new = np.linspace(0, 1, 21)
    mean = gp.predict(np.column_stack([new, np.full(21, -1)]))
    alone = OnlineGaussianProcessRegressor(Derivative(kernel), alpha=1e-6).fit(values, y[:6])
    worse = alone.predict(np.column_stack([new, np.full(21, -1)]))
    error, of_values = (np.abs(each - np.sin(4 * new)).max() for each in (mean, worse))
    assert error < 1e-3 and error < 0.2 * of_values


def test_the_top_is_found_where_slopes_alone_are_asked():
    """Answers are averages of the slope over tenths; what is sought is the highest point."""
    low = np.linspace(0, 0.9, 10)
    queries = np.column_stack([low, low + 0.1, np.zeros(10)])
    at = np.linspace(0, 1, 41)
    targets = np.column_stack([at, at, np.full(41, -1)])
    f = lambda x: np.sin(3 * x)  # noqa: E731
    opt = KGOptimizer(
        Derivative(CellIntegral(4.0 * RBF(0.4))), queries=queries, targets=targets, alpha=1e-4
    )
    opt.run(lambda arm: float((f(arm.descriptor[1]) - f(arm.descriptor[0])) / 0.1), budget=12)
    assert abs(opt.recommend().descriptor[0] - np.pi / 6) < 0.06


def test_each_task_has_slopes_of_its_own():
    rows = np.array([[0.1, -1, 0], [0.4, 0, 1], [0.4, 0, 0]])
    kernel = Tasks(Derivative(RBF(0.5)))
    t = rows[:, -1].astype(int)
    assert_allclose(kernel(rows), kernel.B[np.ix_(t, t)] * kernel.base(rows[:, :-1]), rtol=1e-13)


@pytest.mark.parametrize(
    "base", [Matern(0.5, nu=1.5), DotProduct(), RBF(0.5) * RBF(1.0), RBF(0.5) ** 2], ids=str
)
def test_a_base_without_a_formula_is_refused(base):
    with pytest.raises(ValueError, match=r"RBF and of Matern with nu=2\.5, by sums and products"):
        Derivative(base)([[0.1, 0.0]])


def test_white_noise_is_refused():
    for base in (RBF() + WhiteKernel(), CellAverage(RBF() + WhiteKernel())):
        with pytest.raises(ValueError, match="white noise, which has no slope"):
            Derivative(base)([[0.1, 0.2, 0.0]])


def test_wrong_rows_are_named():
    with pytest.raises(ValueError, match=r"from 0 to 1, or -1 for a value; row 1 has 2\.0"):
        Derivative(RBF())([[0.1, 0.2, 0.0], [0.1, 0.2, 2.0]])
    with pytest.raises(ValueError, match="needs a width along its axis; row 0 of X"):
        Derivative(CellAverage(RBF()))([[0.1, 0.1, 0.0]])
    with pytest.raises(ValueError, match="must hold rows"):
        Derivative(RBF())([[0.1]])

"""Columns: a kernel on some of the features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel

from skgpb.kernels import CellAverage, Columns
from skgpb.kernels._boxes import boxes_from_points

X = np.random.default_rng(0).normal(size=(8, 3))
Y = np.random.default_rng(1).normal(size=(5, 3))


def test_only_the_columns_named_count_in_their_order():
    base = Matern([0.5, 0.9], nu=1.5)
    kernel = Columns(base, (2, 0))
    np.testing.assert_array_equal(kernel(X, Y), base(X[:, [2, 0]], Y[:, [2, 0]]))
    np.testing.assert_array_equal(kernel(X), base(X[:, [2, 0]]))
    np.testing.assert_array_equal(kernel.diag(X), base.diag(X[:, [2, 0]]))
    np.testing.assert_array_equal(Columns(base, [-1, -3])(X), kernel(X))
    noisy = Columns(base + WhiteKernel(0.3), (2, 0))
    np.testing.assert_allclose(noisy.noise_diag(X), 0.3)


def test_parameters_are_reached_by_name():
    kernel = Columns(2.0 * RBF(0.5), [1])
    assert kernel.get_params()["base__k2__length_scale"] == 0.5
    kernel.set_params(base__k2__length_scale=0.8)
    assert kernel.base.k2.length_scale == 0.8
    assert kernel.is_stationary() and not Columns(DotProduct(), [0]).is_stationary()
    assert Columns(RBF(), [0]) != Columns(RBF(), [1])
    assert repr(Columns(RBF(0.5), (1, 2))) == "Columns(base=RBF(length_scale=0.5), columns=(1, 2))"


def test_it_learns_in_scikit_learns_regressor():
    rng = np.random.default_rng(2)
    Z = rng.uniform(size=(60, 3))
    y = np.sin(6 * Z[:, 0]) + Z[:, 2] ** 2
    # The bounds keep the optimizer from explaining everything as rapid variation.
    kernel = Columns(RBF(1.0, (0.1, 10.0)), [0]) + Columns(RBF(1.0, (0.1, 10.0)), [2])
    model = GaussianProcessRegressor(kernel, alpha=1e-2, n_restarts_optimizer=2, random_state=0)
    model.fit(Z[:40], y[:40])
    assert model.kernel_ != kernel
    assert model.score(Z[40:], y[40:]) > 0.99


def test_cells_average_it():
    kernel = Columns(RBF(0.5), [0]) * Columns(RBF(0.5), [1])
    boxes = boxes_from_points(X[:, :2])
    boxes[0, 2:] += 1.0
    np.testing.assert_allclose(
        CellAverage(kernel, 3)(boxes), CellAverage(RBF([0.5, 0.5]), 3)(boxes), rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("columns", [[3], [-4], [0, 3], [-4, 0], [], [0.5], "01", [[0]]])
def test_columns_that_x_has_not_are_named(columns):
    with pytest.raises(ValueError, match="columns"):
        Columns(RBF(), columns)(X)


@pytest.mark.parametrize("evaluate", ["__call__", "diag"])
def test_a_base_that_is_no_kernel_is_named(evaluate):
    with pytest.raises(TypeError, match="base of Columns must be a kernel"):
        getattr(Columns((0.5, 0.5), [0]), evaluate)(np.zeros((2, 2)))

"""Kernels with one length scale for each axis of settings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb.kernels import CellAverage, CellIntegral
from skgpb.kernels._settings import AxisMatern, AxisRBF


def boxes():
    """Averages over the first column, of settings whose other columns are single values."""
    rng = np.random.default_rng(0)
    lower = rng.uniform(size=(7, 4))
    upper = lower + np.outer(rng.uniform(size=7), [1.0, 0.0, 0.0, 0.0])
    return np.hstack([lower, upper])


@pytest.mark.parametrize("scales", [[0.4, 0.7], 0.5])
@pytest.mark.parametrize("make", [lambda k: CellAverage(k, (3, 1, 1, 1)), CellIntegral])
def test_averages_by_axes_are_those_by_columns(make, scales):
    groups = np.array([0, 1, 1, 1]) if np.ndim(scales) else np.zeros(4, dtype=int)
    by_axis = make(ConstantKernel(2.0) * AxisRBF(scales, groups=groups))
    by_column = make(ConstantKernel(2.0) * RBF(np.atleast_1d(scales)[groups]))
    rows = boxes()
    assert by_axis.evaluator(8) is not None
    K, gradient = by_axis(rows, eval_gradient=True)
    expected, slopes = by_column(rows, eval_gradient=True)
    assert_allclose(K, expected, rtol=1e-12)
    assert gradient.shape[2] == 1 + np.size(scales)
    for axis in range(np.size(scales)):
        here = 1 + np.flatnonzero(groups == axis)
        assert_allclose(gradient[:, :, 1 + axis], slopes[:, :, here].sum(axis=2), rtol=1e-12)
    if make is not CellIntegral:
        generic = by_axis.generic(rows, eval_gradient=True)
        assert_allclose(K, generic[0], rtol=1e-12)
        assert_allclose(gradient, generic[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [AxisMatern, AxisRBF])
def test_length_scales_that_are_fixed_have_no_slopes(kind):
    X = np.random.default_rng(0).uniform(size=(5, 3))
    K, gradient = (1.5 * kind([0.4, 0.7], "fixed", groups=[0, 1, 1]))(X, eval_gradient=True)
    assert gradient.shape == (5, 5, 1)
    assert_allclose(gradient[:, :, 0], K)

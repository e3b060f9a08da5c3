"""Tests of what the white noise in an expression of kernels is worth at each point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from skgpb.kernels import CellAverage, Columns, Tasks
from skgpb.kernels._white import noise_of_points, variances
from skgpb.kernels.evaluator import PlainEvaluator

WHITE = WhiteKernel(0.3)


class Doubled(WhiteKernel):
    """A user-defined kernel; the library only knows how to call it."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return 2.0 * super().__call__(X, Y)

    def diag(self, X):
        return 2.0 * super().diag(X)


EXPRESSIONS = [
    RBF(0.5),
    WHITE,
    RBF(0.5) + WHITE,
    (RationalQuadratic(0.4) + WHITE) * DotProduct(0.7),
    ConstantKernel(0.4) * (Matern(0.5, nu=1.7) + WHITE) ** 2 + WHITE * WHITE,
    Columns(DotProduct(1.0) + WHITE, [0]) * Columns(Matern(0.5, nu=2.5), [1]) + WHITE,
    RBF(0.5) * Doubled(0.2) + WHITE,
    Tasks(RBF(0.5) + WHITE) + WHITE,
    CellAverage(DotProduct(1.0) + WHITE, 3) + WHITE,
]


@pytest.mark.parametrize("kernel", EXPRESSIONS, ids=str)
def test_noise_is_what_a_point_has_over_its_covariance_with_a_copy(kernel):
    X = np.random.default_rng(0).random((7, 2))
    X[:, 1] = X[:, 1] > 0.5  # the number of a task, and the upper end of an interval
    X[:, 0] *= X[:, 1]
    alone = [(kernel(x) - kernel(x, x.copy())).item() for x in X[:, None]]
    assert_allclose(noise_of_points(kernel, X), alone, rtol=1e-12, atol=1e-13)


def test_noise_of_many_points_needs_no_covariances(monkeypatch):
    calls = []
    kernel = (Matern(0.5) + WHITE) * Columns(RBF(0.3) + WHITE, [0]) + WHITE
    X = np.random.default_rng(0).random((500, 2))
    expected = PlainEvaluator(kernel).noise(X)
    for each in (Matern, RBF, WhiteKernel):
        monkeypatch.setattr(each, "__call__", lambda *arguments: calls.append(arguments))
    assert_allclose(PlainEvaluator(kernel).noise(X), expected)
    assert not calls


@pytest.mark.parametrize(
    "kernel",
    [
        PairwiseKernel(0.7, metric="laplacian"),
        2.0 * PairwiseKernel(0.7, metric="linear") ** 2 + WHITE,
    ],
    ids=str,
)
def test_variances_are_those_of_the_diagonal_without_a_call_for_each_point(kernel, monkeypatch):
    X = np.random.default_rng(0).uniform(size=(150, 2))
    expected, calls = kernel.diag(X), []
    called = PairwiseKernel.__call__

    def counted(self, *args, **kwargs):
        calls.append(args)
        return called(self, *args, **kwargs)

    monkeypatch.setattr(PairwiseKernel, "__call__", counted)
    assert_allclose(variances(kernel, X), expected, rtol=1e-13)
    assert len(calls) < 10
    assert variances(kernel, X[:0]).shape == (0,)

"""Kernels and sets of one's own that are wrong: the message names them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer, GPUCBOptimizer, KGOptimizer, OnlineGaussianProcessRegressor
from skgpb.kernels import WrapperKernel

POINTS = np.random.default_rng(0).random((8, 2))
SQUARE = [(0, 1), (0, 1)]
WRONG = {
    "flat": lambda K: K.ravel(),
    "half": lambda K: K[: len(K) // 2],
    "transposed": lambda K: K.T,
    "stacked": lambda K: K[..., np.newaxis],
}


class Misshapen(WrapperKernel):
    """A kernel whose covariances have a wrong shape."""

    def __init__(self, base, how="flat"):
        self.base, self.how = base, how

    def __call__(self, X, Y=None, eval_gradient=False):
        return WRONG[self.how](self.base(X, Y))

    def diag(self, X):
        return self.base.diag(X)


class SquareDiagonal(WrapperKernel):
    """A kernel whose variances are all covariances."""

    def __init__(self, base):
        self.base = base

    def __call__(self, X, Y=None, eval_gradient=False):
        return self.base(X, Y, eval_gradient)

    def diag(self, X):
        return self.base(X)


def mean(query):
    return float(np.mean(query.points))


USES = {
    "arms": lambda k: GPUCBOptimizer(k, arms=POINTS, alpha=0.01).run(mean, budget=4),
    "rows": lambda k: GPUCBOptimizer(k, queries=POINTS, targets=POINTS[:3], alpha=0.01).run(
        lambda query: 1.0, budget=4
    ),
    "averages": lambda k: GPOOOptimizer(k, bounds=SQUARE, alpha=0.01).run(mean, budget=4),
    "feedback": lambda k: GPOOOptimizer(feedback=k, bounds=SQUARE, alpha=0.01).run(mean, budget=4),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("how", WRONG)
def test_a_kernel_of_a_wrong_shape_is_named(use, how):
    words = r"kernel\(X, Y\) of Misshapen must have the shape \(\d+, \d+\), one number for each"
    with pytest.raises(ValueError, match=words):
        USES[use](Misshapen(RBF(0.2), how))


@pytest.mark.parametrize("use", ["arms", "rows", "feedback"])
def test_a_diagonal_of_a_wrong_shape_is_named(use):
    with pytest.raises(
        ValueError, match=r"diag\(X\) of SquareDiagonal must have the shape \(\d+,\)"
    ):
        USES[use](SquareDiagonal(RBF(0.2)))


def test_a_regressor_names_the_kernel_as_well():
    regressor = OnlineGaussianProcessRegressor(Misshapen(RBF(0.2)), alpha=0.01, optimizer=None)
    with pytest.raises(ValueError, match=re.escape("of Misshapen must have the shape (8, 8)")):
        regressor.fit(POINTS, POINTS[:, 0])


class Odd:
    """Neither numbers nor a set."""

    def __repr__(self):
        return "Odd()"


@pytest.mark.parametrize("given", [Odd(), [Odd(), Odd()], (Odd(),), len, RBF(0.2), 3, "abc"])
@pytest.mark.parametrize(
    ("name", "accepted"),
    [("queries", "Cells, Districts or Fidelities"), ("targets", "Cells or Districts")],
)
@pytest.mark.parametrize("bounds", [SQUARE, {"x": (0, 1), "y": ["red", "blue"]}])
def test_what_is_no_set_is_named_with_what_is_accepted(name, accepted, given, bounds):
    with pytest.raises(ValueError) as refused:
        KGOptimizer(bounds=bounds, **{name: given}).ask()
    message = f"{name} must be rows of numbers or settings, {accepted}; got {given!r}"
    assert str(refused.value) == message

"""The Matérn kernel with main effects, and where it is the default."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpb import GPOOOptimizer, GPUCBOptimizer, KGOptimizer, defaults
from skgpb.domains import Cells
from skgpb.kernels import AdditiveMatern
from skgpb.kernels.evaluator import evaluator_of

X = np.random.default_rng(0).random((9, 3))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
def test_it_is_the_sum_of_kernels_of_all_features_and_of_single_ones(nu):
    scales, Y = np.array([0.3, 0.7, 1.5]), X[:4] + 0.1
    expected = Matern(scales, nu=nu)(X, Y)
    for i in range(3):
        single = Matern(scales[i] / np.sqrt(3), nu=nu)(X[:, [i]], Y[:, [i]])
        expected += 0.8 / 3 * single
    assert_allclose(AdditiveMatern(scales, nu=nu, main_effects=0.8)(X, Y), expected, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
def test_covariances_do_not_depend_on_what_is_computed_beside_them(nu):
    Y = np.random.default_rng(1).random((101, 3))
    kernel = AdditiveMatern([0.3, 0.7, 1.5], nu=nu)
    expected, _ = kernel(Y, eval_gradient=True)
    assert_allclose(kernel(Y), expected, rtol=1e-14)
    assert_allclose(kernel(Y, Y[:3]), expected[:, :3], rtol=1e-14)
    assert_allclose(kernel(Y[:3], Y), expected[:3], rtol=1e-14)
    assert kernel(Y, Y[:3]).flags.c_contiguous
    assert kernel(Y[:0], Y).shape == (0, 101)
    assert kernel(Y, Y[:0]).shape == (101, 0)


def test_of_one_feature_it_is_a_multiple_of_its_matern_kernel():
    kernel, x = AdditiveMatern(0.4, nu=1.5, main_effects=0.5), X[:, :1]
    assert_allclose(kernel(x), 1.5 * Matern(0.4, nu=1.5)(x), rtol=1e-14)


def test_a_list_of_one_scale_is_that_scale():
    many, one = AdditiveMatern([0.4])(X, eval_gradient=True), AdditiveMatern(0.4)
    for of_list, of_number in zip(many, one(X, eval_gradient=True), strict=True):
        assert_allclose(of_list, of_number, rtol=1e-14)


@pytest.mark.parametrize("scales", [0.6, [0.3, 0.7]])
def test_a_feature_may_have_several_columns(scales):
    kernel = AdditiveMatern(scales, nu=1.5, main_effects=0.8, groups=[0, 0, 1])
    each = np.broadcast_to(scales, 2)
    expected = Matern(each[[0, 0, 1]], nu=1.5)(X)
    for scale, columns in zip(each, ([0, 1], [2]), strict=True):
        expected += 0.4 * Matern(scale / np.sqrt(2.0), nu=1.5)(X[:, columns])
    assert_allclose(kernel(X), expected, rtol=1e-12)
    assert_allclose(kernel(X, X[:3]), expected[:, :3], rtol=1e-12)
    assert clone(kernel) == kernel and len(kernel.theta) == 1 + np.size(scales)


def test_groups_that_cannot_be_used_are_named():
    for groups in ([0, 1], [0, 0, 0, 1], [0, 2, 3], [1, 1, 2], [0, 1, 0], [0.0, 1.0, 2.0], "abc"):
        with pytest.raises(ValueError, match="groups must have an integer for each of 3 columns"):
            AdditiveMatern(groups=groups)(X)


def test_parameters_that_cannot_be_used_are_named():
    with pytest.raises(ValueError, match="length_scale must be a positive number, or one for each"):
        AdditiveMatern([0.3, 0.4])(X)
    for value in (0.0, -1.0, np.nan, np.inf, None, "rough", [[1.0], [2.0, 3.0]]):
        for name in ("length_scale", "main_effects"):
            with pytest.raises(ValueError, match=f"{name} must be a positive number"):
                AdditiveMatern(**{name: value})(X)
    for value in (0.0, 1.2, np.nan, None, "rough", [2.5, 2.5]):
        with pytest.raises(ValueError, match="nu must be one of"):
            AdditiveMatern(nu=value)(X)
    with pytest.raises(ValueError, match="length_scale_bounds must be 'fixed' or numbers"):
        AdditiveMatern(length_scale_bounds=[[1.0], [2.0, 3.0]])(X)
    with pytest.raises(ValueError, match="main_effects must be a positive number; got"):
        AdditiveMatern(main_effects=(1, 2))(X)
    with pytest.raises(ValueError, match="Y must have the 3 columns of X, got 2"):
        AdditiveMatern()(X, X[:, :2])
    with pytest.raises(ValueError, match="Y=None"):
        AdditiveMatern()(X, X, eval_gradient=True)


SQUARE = [(0.0, 2.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    "settings",
    [
        {"bounds": SQUARE},
        {"arms": np.random.default_rng(0).random((30, 2))},
        {"bounds": SQUARE[:1], "context_bounds": [(0.0, 1.0)]},
    ],
    ids=["box", "arms", "context"],
)
def test_searches_for_points_have_it_where_no_kernel_is_given(settings):
    optimizer = GPUCBOptimizer(**settings, random_state=0)
    optimizer.ask(**({"context": [0.5]} if "context_bounds" in settings else {}))
    kernel = optimizer._model.process.kernel.k2
    assert type(kernel) is AdditiveMatern
    sides = np.array([2.0, 1.0]) if "bounds" in settings else np.ptp(settings["arms"], axis=0)
    assert_allclose(
        sorted(kernel.length_scale), sorted(defaults.LENGTH_SCALE * np.sqrt(2.0) * sides)
    )


@pytest.mark.parametrize(
    "optimizer",
    [
        GPUCBOptimizer(bounds=SQUARE[:1]),
        GPUCBOptimizer(bounds={"n": range(3)}),
        GPUCBOptimizer(bounds=SQUARE, kernel=1.0 * Matern(0.3)),
        GPOOOptimizer(bounds=SQUARE),
        KGOptimizer(bounds=SQUARE, queries=Cells(0.2)),
    ],
    ids=["line", "settings", "given", "trees", "cells"],
)
def test_other_searches_do_not(optimizer):
    optimizer.ask()
    assert "AdditiveMatern" not in repr(optimizer._model.process.kernel)


@pytest.mark.slow
def test_a_sum_of_main_effects_is_learned_from_few_answers():
    """Without main effects the error is 37 % of the standard deviation of f."""
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 6, n_initial=60, random_state=0)

    def f(points):
        return np.sin(5.0 * points).sum(axis=1)

    for _ in range(70):
        query = optimizer.ask()
        optimizer.tell(query, float(f(query.points)[0]))
    new = np.random.default_rng(0).random((500, 6))
    assert np.std(optimizer.predict(new) - f(new)) < 0.05 * np.std(f(new))
    assert optimizer._model.process.kernel.k2.main_effects > 10.0


@pytest.mark.parametrize("kernel", [AdditiveMatern([0.3, 0.6]), RBF(0.3)])
def test_an_evaluator_multiplies_by_a_constant_factor_as_scikit_learn_does(kernel):
    X, Y = np.random.default_rng(0).random((2, 20, 2))
    product = ConstantKernel(2.3) * kernel
    evaluator = evaluator_of(product, 2)
    for few in (X, X[:2]):  # rows of few columns are computed the other way round
        assert_array_equal(evaluator.cross(Y, few), product(Y, few))
    assert_array_equal(evaluator.diag(X), product.diag(X))


def test_an_evaluator_validates_the_parameters():
    evaluator = evaluator_of(ConstantKernel(2.3) * AdditiveMatern([0.3, -0.6]), 2)
    with pytest.raises(ValueError, match="length_scale must be a positive number"):
        evaluator.cross(np.zeros((1, 2)), np.ones((1, 2)))

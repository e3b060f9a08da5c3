"""Derivatives of the likelihood, contracted part by part, against those of scikit-learn."""

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

import skgpb.surrogate.kernel_parts
import skgpb.surrogate.likelihood
from skgpb import OnlineGaussianProcessRegressor, defaults
from skgpb.domains.space import ParameterSpace
from skgpb.kernels import AdditiveMatern, CellAverage, Tasks
from skgpb.kernels._boxes import boxes_from_points
from skgpb.kernels._settings import AxisMatern, AxisRBF, OnSettings
from skgpb.surrogate.exactness import is_of_matern, with_smoothness
from skgpb.surrogate.gram import covariance_of, fill_above, fold
from skgpb.surrogate.kernel_parts import covariances
from skgpb.surrogate.likelihood import Likelihood, Prior, default_kernel
from skgpb.surrogate.samples import ScaledSamples
from skgpb.surrogate.settings import (
    default_kernel as settings_kernel,
)
from skgpb.surrogate.settings import default_model, kernel_of_cells, kernel_on_settings

FLAT = Prior(np.zeros(1), np.array([np.inf]))
D = 3
SCALES = [0.3, 0.8, 2.0]
KERNELS = [
    RBF(0.4),
    1.7 * RBF(SCALES) + WhiteKernel(0.1),
    ConstantKernel(2.0, "fixed") * Matern(SCALES, nu=0.5) + WhiteKernel(0.1, "fixed"),
    Matern(SCALES, nu=1.5) * RBF(2.0, "fixed") + ConstantKernel(0.3),
    0.5 * Matern(0.7, nu=2.5) + Matern(SCALES, nu=np.inf) * ConstantKernel(0.3),
    1.2 * RationalQuadratic(0.6, 0.8) + RationalQuadratic(0.6, 0.8, alpha_bounds="fixed"),
    RationalQuadratic(0.5, 1.3, length_scale_bounds="fixed") * RBF(SCALES),
    Exponentiation(1.5 + RBF(SCALES), 2.0) + ConstantKernel(2.0) * ConstantKernel(0.5),
    Exponentiation(0.5 + RBF(SCALES), 3.0) + WhiteKernel(0.1),
    (RBF(0.4) + WhiteKernel(0.2)) * ConstantKernel(3.0),
    AdditiveMatern(0.4),
    1.3 * AdditiveMatern(SCALES, nu=0.5, main_effects_bounds="fixed") + WhiteKernel(0.1),
    AdditiveMatern(SCALES, "fixed", nu=1.5, main_effects=2.0) * RBF(0.8),
    AdditiveMatern(SCALES, "fixed", main_effects_bounds="fixed") * ConstantKernel(0.5),
    AdditiveMatern([0.4, 1.2], groups=[0, 0, 1]) * ConstantKernel(0.5),
    AxisMatern([0.4, 1.2], nu=1.5, groups=[0, 1, 1])
    + OnSettings(RBF([0.7] * 3), SimpleNamespace(columns=np.sin)),
    # Kernels without a formula here, alone and among others.
    Matern(SCALES, nu=1.2),
    ExpSineSquared(1.1, 0.8),
    0.7 * DotProduct(0.4) ** 2 * RBF(SCALES) + WhiteKernel(0.1),
    ConstantKernel(0.4) * PairwiseKernel(0.6, metric="rbf") + ExpSineSquared() * RBF(0.7),
    CellAverage(1.3 * RBF(SCALES), 1),
    CellAverage(1.3 * RBF(SCALES) + WhiteKernel(0.1), 1),
    Tasks(1.3 * RBF(SCALES[:2]), n_tasks=3, W=[[1.0], [0.5], [-0.3]], kappa=[0.1, 0.4, 0.2]),
]


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize(("at_once", "many"), [(2**16, 2**26), (500, 2**26), (500, 0)])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_covariances_and_contracted_derivatives_are_those_of_the_kernel(
    kernel, at_once, many, monkeypatch
):
    monkeypatch.setattr(skgpb.surrogate.kernel_parts, "PAIRS_AT_ONCE", at_once)
    monkeypatch.setattr(skgpb.surrogate.kernel_parts, "MANY", many)
    X, _ = data(41)
    if isinstance(kernel, Tasks):
        X[:, 2] = np.arange(41) % 3
    if isinstance(kernel, CellAverage):
        X = boxes_from_points(X)
    inner = np.random.default_rng(1).standard_normal((41, 41))
    inner += inner.T
    covariance = covariances(kernel, X)
    theta = kernel.theta + 0.1
    K, contract = covariance(theta)
    fill_above(K)
    covariance(theta + 1.0)  # earlier results do not change
    expected, gradient = kernel.clone_with_theta(theta)(X, eval_gradient=True)
    assert_allclose(K, expected, atol=1e-13)
    # Pairwise kernels are differenced by scikit-learn itself, with steps of 1e-10 or so: the last
    # digits of a covariance of 1 are worth 1e-6. So are Matern kernels of other orders.
    atol = 1e-4 if "Pairwise" in str(kernel) else 1e-8
    if "nu=1.2" in str(kernel):
        steps, atol = 1e-5 * np.eye(len(theta)), 1e-7
        sides = [[kernel.clone_with_theta(theta + sign * h)(X) for h in steps] for sign in (1, -1)]
        gradient = np.moveaxis(np.subtract(*sides), 0, 2) / 2e-5
    found = contract(fold(inner))
    expected = np.einsum("ij,ijk->k", inner, gradient)
    assert_allclose(found, expected, rtol=1e-8, atol=atol)
    value, _ = covariance(theta, slopes=False)
    assert_allclose(np.tril(value), np.tril(K), atol=1e-15)


@pytest.mark.parametrize("kernel", [KERNELS[i] for i in (1, 4, 7, 11)], ids=str)
@pytest.mark.parametrize("at_once", [2**16, 900])
@pytest.mark.parametrize("many", [False, True])
def test_the_likelihood_and_its_gradient_equal_those_of_scikit_learn(
    kernel, at_once, many, monkeypatch
):
    monkeypatch.setattr(skgpb.surrogate.kernel_parts, "PAIRS_AT_ONCE", at_once)
    X, y = data(70)
    y = np.column_stack([y, y**2]) if many else y
    params = {"alpha": 0.01, "optimizer": None}
    ours = OnlineGaussianProcessRegressor(kernel, **params).fit(X, y)
    theirs = GaussianProcessRegressor(kernel, **params).fit(X, y)
    for shift in (-0.5, 0.0, 0.3):
        found = ours.log_marginal_likelihood(kernel.theta + shift, eval_gradient=True)
        expected = theirs.log_marginal_likelihood(kernel.theta + shift, eval_gradient=True)
        assert_allclose(found[0], expected[0], rtol=1e-10)
        assert_allclose(found[1], expected[1], rtol=1e-8, atol=1e-8)


def cube(d):
    return np.array([[0.0, 1.0]] * d)


def settings():
    space = ParameterSpace.from_bounds(
        {"base": ["a", "b", "c"], "acid": (1, 5), "heat": (0.0, 80.0), "salt": [True, False]}
    )
    return default_model(space)[0], space.columns(np.random.default_rng(3).random((60, 4)))


DEFAULTS = {
    "a line": lambda: (default_kernel(cube(1)), data(60)[0][:, :1]),
    "a square": lambda: (default_kernel(cube(2), main_effects=True), data(60)[0][:, :2]),
    "a smooth square": lambda: (default_kernel(cube(2), smooth=True), data(60)[0][:, :2]),
    "a cube": lambda: (default_kernel(cube(3), main_effects=True), data(60)[0]),
    "settings": settings,
}


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("default", DEFAULTS.values(), ids=list(DEFAULTS))
def test_likelihoods_of_default_kernels_equal_those_of_scikit_learn(default, nu):
    kernel, X = default()
    if is_of_matern(kernel):
        kernel = with_smoothness(kernel, nu)
    y, noise = data(60)[1], np.random.default_rng(4).uniform(0.01, 0.3, 60)
    theirs = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)
    samples = ScaledSamples(np.arange(60), y, noise)
    ours = Likelihood(covariance_of(kernel, X), samples, None, None)
    learned = Likelihood(
        covariance_of(kernel, X), replace(samples, alpha=np.full(60, np.nan)), None, FLAT
    )
    for shift in (-1.0, 0.0, 0.4):
        theta = kernel.theta + shift
        value, gradient = theirs.log_marginal_likelihood(theta, eval_gradient=True)
        found = ours(theta)
        assert found[0] == pytest.approx(value, rel=1e-8)
        assert_allclose(found[1], gradient, rtol=1e-8, atol=1e-8)
        white = GaussianProcessRegressor(kernel + WhiteKernel(0.1), alpha=0.0, optimizer=None)
        x = np.append(theta, np.log(0.1))
        value, gradient = white.fit(X, y).log_marginal_likelihood(x, eval_gradient=True)
        found = learned(x)
        assert found[0] == pytest.approx(value, rel=1e-8)
        assert_allclose(found[1], gradient, rtol=1e-8, atol=1e-8)


def test_powers_that_would_overflow_are_not_taken():
    """Points thousands of length scales apart, and a few of them close together."""
    X = np.array([[0.0, 0.2], [5e3, 0.1], [5e3 + 0.3, 0.9], [-2e4, 0.5], [0.5, 0.7]])
    for nu in (0.5, 1.5, 2.5):
        kernel = AdditiveMatern([0.7, 0.3], nu=nu)
        expected, gradient = kernel(X, eval_gradient=True)
        assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-14)
        K, contract = covariances(kernel, X)(kernel.theta)
        assert_allclose(np.tril(K), np.tril(expected), rtol=1e-12, atol=1e-14)
        A = np.tril(np.random.default_rng(5).standard_normal((5, 5)))
        assert_allclose(contract(A), np.tensordot(A, gradient, 2), rtol=1e-9, atol=1e-12)


def to_the_last_digit(objective, start, bounds):
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return found.x, found.fun


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "kernel",
    [
        1.0 * RBF([0.5] * D) + WhiteKernel(0.1),
        1.0 * Matern(0.5, nu=1.5) + WhiteKernel(0.1),
        ConstantKernel(4.0, "fixed") * Matern([0.5] * D, nu=2.5) + WhiteKernel(0.1),
    ],
    ids=str,
)
@pytest.mark.parametrize("at_once", [2**16, 900])
def test_what_is_learned_is_what_scikit_learn_learns(kernel, at_once, monkeypatch):
    monkeypatch.setattr(skgpb.surrogate.kernel_parts, "PAIRS_AT_ONCE", at_once)
    X, y = data(60)
    y += np.cos(4 * X[:, 2])
    params = {"alpha": 0.0, "optimizer": to_the_last_digit}
    ours = OnlineGaussianProcessRegressor(kernel, **params).fit(X, y)
    theirs = GaussianProcessRegressor(kernel, **params).fit(X, y)
    assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-6)
    best = theirs.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ == pytest.approx(best, rel=1e-9)


def test_a_search_factorises_once_for_each_step(monkeypatch):
    X, y = data(50)
    steps, factorised = [], []
    factorise, search = skgpb.surrogate.likelihood.condition, skgpb.surrogate.likelihood.minimize

    def counted(*args, **kwargs):
        factorised.append(args)
        return factorise(*args, **kwargs)

    def watched(*args, **kwargs):
        result = search(*args, **kwargs)
        steps.append(result.nfev)
        return result

    monkeypatch.setattr(skgpb.surrogate.likelihood, "condition", counted)
    monkeypatch.setattr(skgpb.surrogate.likelihood, "minimize", watched)
    OnlineGaussianProcessRegressor(1.0 * RBF([0.5] * D), alpha=0.01).fit(X, y)
    assert len(factorised) == sum(steps) > 3


def test_learning_holds_one_matrix_whatever_the_number_of_hyperparameters(monkeypatch):
    monkeypatch.setattr(skgpb.surrogate.kernel_parts, "PAIRS_AT_ONCE", 2**14)
    X, y = data(600)
    kernel = 1.0 * RBF([0.5] * D) + Matern([0.5] * D, nu=2.5) + WhiteKernel(0.1)
    regressor = OnlineGaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    tracemalloc.start()
    try:
        regressor.log_marginal_likelihood(kernel.theta, eval_gradient=True)
        # Besides the matrix there are about a dozen blocks; derivatives would take eight more.
        assert tracemalloc.get_traced_memory()[1] < 2 * 8 * 600**2
    finally:
        tracemalloc.stop()


def test_length_scales_of_another_number_of_axes_are_refused():
    X, y = data(20)
    with pytest.raises(ValueError, match="Anisotropic kernel must have the same number"):
        OnlineGaussianProcessRegressor(1.0 * RBF([0.5, 0.5]), alpha=0.1).fit(X, y)


# -- default kernels over settings ----------------------------------------------------------------

SETTINGS = {
    "one": {"n": range(5)},
    "several": {"x": (0.0, 4.0), "n": range(5), "kind": ["a", "b", "c"]},
    "numbers": {"x": (0.0, 4.0), "y": (1.0, 2.0)},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("main_effects", [False, True])
def test_default_kernels_have_a_length_scale_for_each_side_in_its_units(name, smooth, main_effects):
    space = ParameterSpace.from_bounds(SETTINGS[name])
    side, n = np.diff(space.bounds)[:, 0], space.n_axes
    kernel = settings_kernel(space, smooth, main_effects)
    if name == "numbers":
        expected = default_kernel(space.bounds, smooth, main_effects)
        assert_allclose(kernel.theta, expected.theta)
        assert_allclose(kernel.bounds, expected.bounds)
        X = np.random.default_rng(0).uniform(*space.bounds.T, (9, n))
        assert_allclose(kernel(X), expected(X))
        return
    assert kernel.k1.constant_value == 1.0
    assert kernel.k1.constant_value_bounds == defaults.AMPLITUDE_LIMITS
    shape = kernel.k2
    limits = np.outer(side, defaults.LENGTH_LIMITS)
    if main_effects and n > 1:
        assert isinstance(shape, AdditiveMatern)
        ordered = [axis.ordered for _, axis in space.axes]
        each = np.where(ordered, defaults.ORDERED_LENGTH_SCALE, defaults.LIST_LENGTH_SCALE)
        assert_allclose(shape.length_scale, each * np.sqrt(n) * side)
        assert shape.main_effects == defaults.SETTINGS_MAIN_EFFECTS
    else:
        assert type(shape) is (AxisRBF if smooth else AxisMatern)
        assert_allclose(
            shape.length_scale, defaults.LIST_LENGTH_SCALE * (side if n > 1 else side[0])
        )
    assert_allclose(np.atleast_2d(shape.length_scale_bounds), limits)
    assert_array_equal(shape.groups, space.groups)
    assert len(kernel.theta) == 1 + n + (main_effects and n > 1)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("main_effects", [False, True])
def test_priors_of_default_kernels_are_at_their_hyperparameters(name, main_effects):
    space = ParameterSpace.from_bounds(SETTINGS[name])
    kernel, prior = default_model(space, main_effects)
    n = space.n_axes
    parts = [defaults.PART_SPREAD] * (main_effects and n > 1)
    if name == "numbers":
        expected = default_kernel(space.bounds, main_effects=main_effects)
        assert kernel == expected and len(prior.spread) == len(kernel.theta)
    else:
        assert_allclose(prior.center, kernel.theta)
        single = defaults.LENGTH_SPREAD if parts else defaults.SETTINGS_LENGTH_SPREAD
        assert_allclose(prior.spread, [defaults.AMPLITUDE_SPREAD, *[single] * n, *parts])
    default = kernel_on_settings(None, space, main_effects)
    assert default.base == kernel and default.prior == prior
    X = np.random.default_rng(0).uniform(*space.bounds.T, (9, n))
    assert_allclose(default(X), kernel(space.columns(X)))
    if not main_effects:  # a product over axes has the same hyperparameters
        product, plain = kernel_of_cells(space), settings_kernel(space, smooth=True)
        assert_allclose(product.theta, plain.theta)
        assert_allclose(product.bounds, plain.bounds)
        assert_allclose(product(X), plain(space.columns(X)))

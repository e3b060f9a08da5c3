"""The compiler from kernel expressions to sums of Gaussian products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from skgpb.kernels import WindowMean
from skgpb.kernels._harmonics import fourier_series
from skgpb.kernels._products import (
    MAX_MIXTURE,
    MAX_TERMS,
    compile_gaussian_products,
    gaussian_mixture,
)
from skgpb.kernels._quadrature import mean_over_differences

EXPRESSIONS = [
    RBF(0.7),
    RBF([0.7]),
    RBF(0.7, "fixed"),
    RBF([0.7, 0.2]),
    RBF([0.7, 0.2], "fixed"),
    ConstantKernel(0.3),
    WhiteKernel(0.3),
    2.0 * RBF(0.4),
    RBF(0.4) + 0.5 * RBF([0.3, 2.0]) + WhiteKernel(0.1),
    ConstantKernel(1.5, "fixed") * RBF(0.4) * RBF([1.0, 0.6]) + ConstantKernel(0.2),
    ConstantKernel(2.0) * (RBF(0.5) + WhiteKernel(0.3)),
    ConstantKernel(2.0) * WhiteKernel(0.3, "fixed") + RBF(0.5),
    (RBF(0.5) + ConstantKernel(0.4)) ** 3,
    (0.7 * RBF(0.5) + RBF([0.3, 0.9]) ** 2.0) ** 2 * ConstantKernel(1.1),
    (RBF(0.5) + WhiteKernel(0.2)) ** 2,
    RBF(0.5) * WhiteKernel(0.2) * (RBF(2.0) + WhiteKernel(0.4)),
]


def evaluate(kernel, X):
    """Twin of the compiled form in three lines."""
    products = compile_gaussian_products(kernel, X.shape[1])
    squares = (X[:, None] - X[None]) ** 2
    exponents = np.einsum("ija,ka->ijk", squares, products.precisions)
    return np.exp(-0.5 * exponents) @ products.weights + products.nugget * np.eye(len(X))


@pytest.mark.parametrize("kernel", EXPRESSIONS, ids=str)
def test_compiled_kernel_equals_kernel(kernel):
    X = np.random.default_rng(0).uniform(size=(7, 2))
    assert_allclose(evaluate(kernel, X), kernel(X), rtol=1e-13)


@pytest.mark.parametrize("kernel", EXPRESSIONS, ids=str)
def test_jacobians_are_derivatives_by_theta(kernel):
    products, step = compile_gaussian_products(kernel, 2), 1e-6
    theta = clone(kernel).theta
    assert products.weights_jacobian.shape == (len(products.weights), len(theta))
    for j in range(len(theta)):
        shift = step * np.eye(len(theta))[j]
        up = compile_gaussian_products(kernel.clone_with_theta(theta + shift), 2)
        down = compile_gaussian_products(kernel.clone_with_theta(theta - shift), 2)
        for name in ("weights", "precisions", "nugget"):
            difference = (getattr(up, name) - getattr(down, name)) / (2 * step)
            jacobian = getattr(products, f"{name}_jacobian")[..., j]
            assert_allclose(jacobian, difference, rtol=1e-8, atol=1e-8)


def test_equal_monomials_are_merged():
    products = compile_gaussian_products((RBF(0.5) + ConstantKernel(0.4)) ** 20, 1)
    assert len(products.weights) == 21
    assert_allclose(products.weights.sum(), 1.4**20, rtol=1e-13)


class MyRBF(RBF):
    pass


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(0.5),
        RBF(0.5) + Matern(0.5),
        RBF(0.5) * RationalQuadratic(),
        DotProduct() ** 2,
        RBF(0.5) ** 1.5,
        RBF(0.5) ** 0,
        RBF(0.5) ** -1,
        MyRBF(0.5),
        CompoundKernel([RBF(0.5)]),
        RBF(1e-200),
        (RBF(0.5) + RBF(0.6) + RBF(0.7) + 1.0) ** 6,
    ],
    ids=str,
)
def test_other_kernels_have_no_compiled_form(kernel):
    assert compile_gaussian_products(kernel, 2) is None


def test_cap_counts_terms():
    kernel = RBF(1.0)
    for _ in range(MAX_TERMS - 1):
        kernel = kernel + RBF(1.0)
    assert len(compile_gaussian_products(kernel, 1).weights) == MAX_TERMS
    assert compile_gaussian_products(kernel + RBF(1.0), 1) is None
    several = RBF(0.1)
    for length in range(1, 8):
        several = several + RBF(float(length))
    assert len(compile_gaussian_products(several**2, 1).weights) == 36
    assert compile_gaussian_products(several**5, 1) is None  # 120 from the third power on


def test_length_scales_must_fit_the_features():
    with pytest.raises(ValueError, match="length_scale of RBF must be"):
        compile_gaussian_products(RBF([0.5, 0.6]), 3)


@pytest.mark.parametrize("length_scale", [0.03, 0.1, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("power", [1, 2, 5])
def test_a_periodic_kernel_is_a_sum_of_cosines(length_scale, power):
    kernel = ExpSineSquared(length_scale, 1.7)
    weights, frequencies = fourier_series(kernel, power)
    x = np.linspace(0.0, 4.0, 200)
    expected = kernel(x[:, None], np.zeros((1, 1)))[:, 0] ** power
    assert_allclose(np.cos(np.outer(x, frequencies)) @ weights, expected, atol=1e-12)
    assert weights.min() > 0.0
    assert fourier_series(ExpSineSquared(1e-5, 1.7)) is None


MIXTURES = [
    Matern([0.3, 0.7], nu=0.5),
    Matern(0.3, nu=2.5),
    Matern(0.4, nu=6.3),
    RationalQuadratic(0.3, 0.7),
    RationalQuadratic(0.5, 20.0),
    2.0 * Matern(0.4, nu=1.5) * RBF([1.0, 2.0]) + 0.5 * RationalQuadratic(1.0) + WhiteKernel(0.1),
]


@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
@pytest.mark.parametrize("kernel", MIXTURES, ids=str)
def test_a_mixture_of_gaussians_is_the_kernel_to_the_tolerance(kernel, tolerance):
    found = gaussian_mixture(kernel, 2, tolerance)
    assert len(found.weights) <= MAX_MIXTURE
    rng = np.random.default_rng(0)
    distances = np.concatenate([[0.0], 10.0 ** rng.uniform(-8, 1, 300)])
    angles = rng.uniform(0, 2 * np.pi, 301)
    X = distances[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    ours = np.exp(-0.5 * X**2 @ found.precisions.T) @ found.weights
    exact, variance = kernel(X, np.zeros((1, 2)))[:, 0], found.weights.sum()
    assert_allclose(ours, exact, rtol=0, atol=tolerance * variance)


@pytest.mark.parametrize("kernel", MIXTURES, ids=str)
def test_its_derivatives_are_differences(kernel):
    found = gaussian_mixture(kernel, 2, 1e-10)
    X = np.random.default_rng(1).normal(size=(20, 2))
    values = np.exp(-0.5 * X**2 @ found.precisions.T)
    slope = values @ found.weights_jacobian - 0.5 * np.einsum(
        "nk,na,kap->np", values * found.weights, X**2, found.precisions_jacobian
    )
    for i, step in enumerate(1e-4 * np.eye(len(kernel.theta))):
        up, down = (kernel.clone_with_theta(kernel.theta + s) for s in (step, -step))
        difference = (up(X, np.zeros((1, 2))) - down(X, np.zeros((1, 2))))[:, 0] / 2e-4
        assert_allclose(slope[:, i], difference, rtol=0, atol=1e-7)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize("alpha", [0.4, 1.3, 20.0])
def test_the_variance_of_a_mixture_does_not_depend_on_its_shape(alpha, tolerance):
    found = gaussian_mixture(RationalQuadratic(0.5, alpha), 2, tolerance)
    assert_allclose(found.weights.sum(), 1.0, rtol=1e-13)
    assert_allclose(found.weights_jacobian.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("window", ["uniform", "gaussian"])
@pytest.mark.parametrize("kernel", [MIXTURES[1], MIXTURES[3], MIXTURES[5]], ids=str)
def test_windows_of_a_mixture_agree_with_quadrature(kernel, window):
    rng = np.random.default_rng(2)
    rows = np.hstack([rng.uniform(size=(8, 2)), rng.uniform(0.02, 0.4, size=(8, 2))])
    ours = WindowMean(kernel, scale=None, window=window)(rows, rows[::-1].copy())
    i, j = np.divmod(np.arange(64), 8)
    smooth = kernel.k1 if isinstance(kernel, Sum) else kernel  # white noise averages out
    theirs = mean_over_differences(smooth, rows[i], rows[::-1][j], window, 48).reshape(8, 8)
    assert_allclose(ours, theirs, rtol=0, atol=1e-8)


def test_a_kernel_that_needs_too_many_gaussians_has_none():
    assert gaussian_mixture(RationalQuadratic(0.3, 1e-5), 2, 1e-6) is None
    assert gaussian_mixture(Matern(0.3, nu=0.5) ** 3, 2, 1e-6) is None
    assert gaussian_mixture(ExpSineSquared(), 2, 1e-6) is None

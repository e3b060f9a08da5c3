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
    WhiteKernel,
)

from skgpb.kernels._harmonics import fourier_series
from skgpb.kernels._products import MAX_TERMS, compile_gaussian_products

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

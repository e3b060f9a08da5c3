"""Laws of PolicyMean: a bilinear form in probabilities, and probabilities only."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)

from skgpb.kernels import PolicyMean

RNG = np.random.default_rng(0)
ARMS = RNG.uniform(size=(5, 2))
TABLE = RNG.dirichlet(np.ones(5), size=7)
BASES = [
    1.3 * RBF([0.4, 0.9]),
    Matern(0.5, nu=0.5) + ConstantKernel(0.2, "fixed"),
    DotProduct(0.3) ** 2,
    0.7 * RBF(0.3) + WhiteKernel(0.4),
]


def probabilities(A):
    """A smooth policy over five arms."""
    scores = np.exp(np.sin(A[:, :1] + np.arange(5.0)))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.fixture(params=BASES, ids=str)
def kernel(request):
    return PolicyMean(request.param, TABLE, ARMS)


def rows_of(kernel):
    return np.vstack((kernel.queries([[0], [3], [3], [6]]), kernel.points(ARMS[[2, 0]])))


def test_covariance_is_a_double_sum(kernel):
    X = rows_of(kernel)
    Y = X[::-1].copy()
    K = kernel.base(ARMS, ARMS.copy())
    want = [[sum(p * q * k for k, p, q in triples(K, x, y)) for y in Y] for x in X]
    assert_allclose(kernel(X, Y), want, rtol=1e-12)


def triples(K, x, y):
    return [(K[i, j], x[i], y[j]) for i in range(5) for j in range(5)]


def test_arms_are_sure_policies(kernel):
    X = kernel.points(ARMS)
    assert_array_equal(X, np.eye(5))
    assert_allclose(kernel(X), kernel.base(ARMS), rtol=1e-12)
    assert_allclose(kernel.diag(X), kernel.base.diag(ARMS), rtol=1e-12)
    assert_array_equal(kernel.points(ARMS[[3, 3]] + 0.0), np.eye(5)[[3, 3]])


def test_white_noise_is_noise_of_each_arm():
    kernel, quiet = PolicyMean(BASES[3], TABLE, ARMS), PolicyMean(BASES[3].k1, TABLE, ARMS)
    X = rows_of(kernel)
    noise = 0.4 * (X**2).sum(axis=1)
    assert_allclose(kernel.noise_diag(X), noise, rtol=1e-12)
    assert_allclose(kernel(X), quiet(X) + np.diag(noise), rtol=1e-12)
    assert_allclose(kernel(X, X.copy()), quiet(X, X.copy()), rtol=1e-12)
    assert_allclose(kernel(X, eval_gradient=True)[1][..., -1], np.diag(noise), atol=1e-10)


def test_policies_come_as_a_table_or_as_a_function():
    by_table = PolicyMean(RBF(0.5), TABLE)
    assert_array_equal(by_table.queries([[6], [0]]), TABLE[[6, 0]])
    assert_array_equal(by_table.points([[4.0], [1.0]]), np.eye(5)[[4, 1]])
    by_function = PolicyMean(RBF(0.5), probabilities, ARMS)
    A = RNG.uniform(size=(3, 2))
    assert_allclose(by_function.queries(A), probabilities(A))
    without = PolicyMean(RBF(0.5), probabilities)  # the arms are then 0..4
    X = without.queries(A)
    K = RBF(0.5)(np.arange(5.0)[:, None])
    assert_allclose(without(X, X.copy()), X @ K @ X.T, rtol=1e-12)
    by_hand = PolicyMean(RBF(0.5))  # rows written by hand
    assert_allclose(by_hand(X, X.copy()), X @ K @ X.T, rtol=1e-12)
    assert_allclose(
        without.mean_of(X, lambda arms: arms[:, 0] ** 2), X @ np.arange(5.0) ** 2, rtol=1e-12
    )


def test_parameters_read_and_write():
    kernel = PolicyMean(2.0 * RBF(0.3), TABLE)
    assert set(kernel.get_params(deep=False)) == {"base", "policies", "arms"}
    assert kernel.get_params()["base__k2__length_scale"] == 0.3
    kernel.set_params(base__k2__length_scale=0.7, arms=ARMS)
    assert kernel.base.k2.length_scale == 0.7 and kernel.arms is ARMS
    assert kernel == PolicyMean(kernel.base, TABLE.tolist(), ARMS.copy())
    assert kernel != PolicyMean(kernel.base, TABLE[:3], ARMS)
    assert "policies=<array of shape (7, 5)>" in repr(kernel)
    assert not kernel.is_stationary() and kernel.model_noise() == 0.0
    with pytest.raises(ValueError, match="Invalid parameter"):
        kernel.set_params(length_scale=1.0)


def test_average_rewards_find_the_best_arm():
    rng = np.random.default_rng(3)
    f = np.array([0.1, 0.4, 0.9, 0.3, 0.2])
    agents = rng.integers(7, size=(60, 1))
    kernel = PolicyMean(ConstantKernel(1.0) * RBF(1.0), TABLE)
    X = kernel.queries(agents)
    gpr = GaussianProcessRegressor(kernel, alpha=1e-4).fit(X, X @ f + 0.01 * rng.normal(size=60))
    mean = gpr.predict(kernel.points(np.arange(5.0)[:, None]))
    assert mean.argmax() == 2 and abs(mean - f).max() < 0.15


# ---- errors ----


@pytest.mark.parametrize("stranger", [-1.0, 1.5, 7.0])
def test_one_stranger_among_agents_is_refused_by_its_number(stranger):
    with pytest.raises(ValueError, match=f"from 0 to 6; got {stranger}"):
        PolicyMean(RBF(), TABLE, ARMS).queries([[0.0], [stranger], [6.0]])


BAD = [
    ([[0.5, 0.4]], r"sum to one; row 0 sums to 0\.9"),
    ([[0.5, 0.5], [0.7, 0.6]], r"row 1 sums to 1\.3"),
    ([[1.2, -0.2]], "probabilities >= 0; row 0 is"),
    ([[0.5, np.nan]], "finite"),
    ([[np.inf, 0.5]], "finite"),
    ([0.5, 0.5], "shape"),
    (np.zeros((2, 0)), "shape"),
]


@pytest.mark.parametrize(("bad", "message"), BAD)
def test_what_is_no_probability_is_refused(bad, message):
    by_function = PolicyMean(RBF(), lambda A: bad)
    with pytest.raises(ValueError, match=message):
        by_function.queries(np.zeros((np.shape(bad)[0], 1)))
    with pytest.raises(ValueError, match=message):
        clone(PolicyMean(RBF(), bad)).queries([[0]])
    by_hand = PolicyMean(RBF())
    for call in (by_hand, by_hand.diag, by_hand.noise_diag):
        with pytest.raises(ValueError, match=message):
            call(bad)


def test_rounding_is_no_error():
    p = np.full(10, 0.1)
    p[0] += 1e-9
    p[1] = -1e-12 + 0.1
    assert PolicyMean(RBF()).diag([p]).shape == (1,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: k.queries([[7]]), "from 0 to 6; got 7.0"),
        (lambda k: k.queries([[-1]]), "from 0 to 6; got -1.0"),
        (lambda k: k.queries([[0.5]]), "got 0.5"),
        (lambda k: k.queries([[0, 1]]), "got 2 columns"),
        (lambda k: k.queries([[np.nan]]), "A must be finite"),
        (lambda k: k.queries([["a"]]), "A must hold real numbers"),
        (lambda k: k.points([[0.1, 0.2]]), "row 0 of X is .*not one of the arms"),
        (lambda k: k.points([[0.1]]), "X must have 2 columns"),
        (lambda k: k([[0.5, 0.5]]), "one probability for each of 5 arms; got 2"),
        (lambda k: k(TABLE, TABLE, eval_gradient=True), "only with Y=None"),
        (lambda k: clone(k).set_params(policies=None).queries([[0]]), "needs policies"),
        (lambda k: PolicyMean(RBF(), probabilities).points([[0]]), "needs arms"),
        (lambda k: PolicyMean(RBF(), lambda A: TABLE).queries([[0]]), "must have shape .n, K."),
        (lambda k: k.set_params(arms=[[np.nan, 0.0]] * 5).diag(TABLE), "arms must be finite"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(PolicyMean(RBF(), TABLE, ARMS))


@pytest.mark.parametrize("base", [None, 3.0, RBF, CompoundKernel([RBF()])], ids=str)
def test_bases_must_be_kernels(base):
    with pytest.raises(TypeError, match="base of PolicyMean must be a kernel"):
        PolicyMean(base, TABLE, ARMS)(TABLE)


def test_zeros_of_either_sign_are_the_same_arm():
    arms = np.array([[0.0, 1.0], [-0.0, 2.0], [3.0, 0.0]])
    kernel = PolicyMean(RBF(0.4), np.eye(3), arms)
    rows = kernel.points([[-0.0, 1.0], [0.0, 2.0], [3.0, -0.0]])
    assert_array_equal(rows, np.eye(3))

"""Pairs of arms and the distribution of the maximum, against plain NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from reference import ucb as reference
from reference.ucb import posterior, reductions
from scipy.special import ndtr
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb._core._arms import (
    add_reductions,
    correct_draws,
    downdate,
    expected_maximum,
    maximum_cdf,
    maximum_distribution,
    subtract_explained,
)
from skgpb.surrogate import OnlineGaussianProcessRegressor

X = np.linspace(0, 1, 80)[:, None]


def tracked(kernel, pulled, alpha=0.1):
    surrogate = OnlineGaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).track(X)
    for arm in pulled:
        surrogate.process_.observe_tracked(arm, float(np.sin(5 * X[arm, 0])), alpha)
    return surrogate.process_.posterior


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(0.2, nu=1.5)])
def test_covariance_after_2000_downdates_equals_a_fresh_one(kernel):
    rng = np.random.default_rng(0)
    K = kernel(X)
    C, noise = K.copy(), 10.0 ** rng.uniform(-3, 0, size=2000)
    pulled = rng.integers(len(X), size=2000)
    for arm, alpha in zip(pulled, noise, strict=True):
        assert downdate(C, arm, alpha)
    # Pulls of one arm add their precisions.
    precision = np.bincount(pulled, weights=1 / noise, minlength=len(X))
    fresh = K - K @ np.linalg.solve(K + np.diag(1 / precision), K)
    np.testing.assert_allclose(C, fresh, rtol=0, atol=1e-8)
    assert np.abs(C - fresh).max() < 1e-11
    np.testing.assert_array_equal(C, C.T)
    assert np.linalg.eigvalsh(C).min() > -1e-12


def test_rows_from_the_factor_equal_downdates():
    kernel, pulled = RBF(0.3), [3, 40, 3, 79, 12]
    C = kernel(X)
    for arm in pulled:
        downdate(C, arm, 0.1)
    slots = np.array([0, 79, 5, 5])
    rows = kernel(X[slots], X)
    subtract_explained(tracked(kernel, pulled), rows, slots)
    np.testing.assert_allclose(rows, C[slots], rtol=0, atol=1e-12)


def test_a_known_arm_without_noise_teaches_nothing():
    C = np.diag([0.0, 1.0])
    assert not downdate(C, 0, 0.0)
    assert downdate(C, 1, 0.0)
    np.testing.assert_array_equal(C, np.zeros((2, 2)))
    assert not downdate(C, 1, 0.0)


@pytest.mark.parametrize("alpha", [1e-6, 0.1])
def test_weighted_reductions_equal_all_pairs(alpha):
    rng = np.random.default_rng(1)
    _, C = posterior(RBF(0.3)(X), [3, 40, 41], np.zeros(3), alpha)
    C = np.ascontiguousarray(C)
    var, weights = np.maximum(np.diag(C), 0.0), rng.dirichlet(np.ones(len(X)))
    out, noise = np.zeros(len(X)), np.full(len(X), alpha)
    everyone = np.arange(len(X))
    add_reductions(C, everyone, weights, var, noise, everyone, out)
    # The twin subtracts nearly equal deviations.
    np.testing.assert_allclose(out, reductions(C, alpha) @ weights, rtol=0, atol=1e-9)
    some, parts = everyone[::7].copy(), np.zeros(len(X))
    add_reductions(C[some].copy(), np.arange(len(some)), weights[some], var, noise, some, parts)
    expected = np.zeros(len(X))
    add_reductions(C, some, weights[some], var, noise, some, expected)
    np.testing.assert_array_equal(parts, expected)


def test_reductions_are_exact_where_subtraction_cancels():
    """A pull of a far arm lowers sd 1 by c^2 / 2 for a tiny covariance c."""
    C = np.array([[1.0, 1e-9], [1e-9, 1.0]])
    out, noise = np.zeros(2), np.zeros(2)
    add_reductions(C, np.array([1]), np.ones(1), np.ones(2), noise, np.array([1]), out)
    np.testing.assert_allclose(out[0], 0.5e-18, rtol=1e-12)
    np.testing.assert_allclose(out[1], 1.0, rtol=1e-12)


def test_corrected_draws_have_the_posterior_mean():
    posterior_of_tracked = tracked(RBF(0.3), [3, 40, 41])
    draws = np.zeros((1, len(X)))
    residuals = posterior_of_tracked.targets()[None].copy()  # a draw that is 0 everywhere
    correct_draws(posterior_of_tracked, residuals, draws)
    np.testing.assert_allclose(draws[0], posterior_of_tracked.tracked_mean(), atol=1e-13)


# The maximum of independent arms -----------------------------------------------------------------


def dense_rule(mean, std, n=400_001):
    """Weights and expectation by the trapezoidal rule on very many nodes."""
    s = np.linspace((mean - 9 * std).max(), (mean + 9 * std).max(), n)
    F = np.ones(n)
    for m, d in zip(mean, std, strict=True):
        F *= ndtr((s - m) / d)
    weights, density = np.empty(len(mean)), np.zeros(n)
    for i, (m, d) in enumerate(zip(mean, std, strict=True)):
        z = (s - m) / d
        p = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) / d
        g = np.divide(p * F, ndtr(z), out=np.zeros(n), where=ndtr(z) > 0)
        weights[i] = np.trapezoid(g, s)
        density += g
    return weights, np.trapezoid(s * density, s)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0])
def test_weights_are_exact(n, spread):
    rng = np.random.default_rng(n)
    mean = rng.normal(size=n) * spread
    std = np.exp(rng.normal(size=n) * spread)
    weights, expected = maximum_distribution(mean, std), expected_maximum(mean, std)
    naive, naive_expected = dense_rule(mean, std)
    np.testing.assert_allclose(weights, naive, rtol=0, atol=1e-12)
    np.testing.assert_allclose(expected, naive_expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=0, atol=1e-12)


def test_weights_of_two_arms_have_a_closed_form():
    for gap, a, b in [(0.0, 1.0, 1.0), (0.5, 1e-6, 1.0), (3.0, 0.2, 0.1), (30.0, 1.0, 1.0)]:
        weights = maximum_distribution(np.array([gap, 0.0]), np.array([a, b]))
        z = gap / np.hypot(a, b)
        # Nodes near the mean are known to its rounding, in units of the deviation.
        rounding = np.finfo(float).eps * gap / min(a, b)
        np.testing.assert_allclose(weights, ndtr([z, -z]), rtol=0, atol=1e-13 + rounding)


@pytest.mark.parametrize("n", [1000, 20_000])
def test_weights_of_many_equal_arms_are_equal(n):
    mean, std = np.full(n, 3.0), np.full(n, 0.5)
    weights, expected = maximum_distribution(mean, std), expected_maximum(mean, std)
    np.testing.assert_allclose(weights, 1 / n, rtol=1e-9)
    assert 3.0 < expected < 3.0 + 0.5 * np.sqrt(2 * np.log(n))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e150])
def test_expected_maximum_of_candidates_of_every_order_of_magnitude(scale):
    """As near the optimum of a box: many arms are known well, and some not at all."""
    rng = np.random.default_rng(0)
    std = np.geomspace(0.004, 0.4, 500)
    mean = 1.2 - 1.5 * std + 0.002 * rng.normal(size=500)
    expected = expected_maximum(scale * mean, scale * std) / scale
    assert expected == pytest.approx(reference.expected_maximum(mean, std), abs=1e-10)


def test_known_arms_are_a_floor_and_share_what_is_theirs():
    mean, std = np.array([0.0, 1.0, 1.0, 0.5]), np.array([0.0, 0.0, 0.0, 1.0])
    weights, expected = maximum_distribution(mean, std), expected_maximum(mean, std)
    above = ndtr(-0.5)
    np.testing.assert_allclose(weights, [0, ndtr(0.5) / 2, ndtr(0.5) / 2, above], atol=1e-13)
    density = np.exp(-0.125) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(expected, 1 * ndtr(0.5) + 0.5 * above + density, atol=1e-13)
    np.testing.assert_array_equal(maximum_distribution(mean[:3], std[:3]), [0, 0.5, 0.5])


def test_a_floor_counts_as_reached():
    weights = maximum_distribution(np.zeros(1), np.ones(1), 1.0)
    np.testing.assert_allclose(weights, ndtr(-1.0), atol=1e-13)
    expected = expected_maximum(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(expected, ndtr(1.0) + np.exp(-0.5) / np.sqrt(2 * np.pi), atol=1e-13)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6, 1e150])
def test_weights_do_not_depend_on_units(scale):
    rng = np.random.default_rng(3)
    mean, std = rng.normal(size=20), rng.uniform(0.1, 1, size=20)
    weights = maximum_distribution(mean, std)
    np.testing.assert_allclose(
        maximum_distribution(scale * mean, scale * std), weights, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("ratio", [1e-3, 1e-6, 1e-9, 1e-11, 1e-300])
def test_deviations_of_any_ratio_are_resolved(ratio):
    mean, std = np.array([0.0, 0.3, 0.3 + ratio]), np.array([1.0, ratio, ratio])
    weights = maximum_distribution(mean, std)
    np.testing.assert_allclose(weights[0], ndtr(-0.3), rtol=0, atol=2 * ratio + 1e-12)
    rounding = np.finfo(float).eps * 0.3 / ratio
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=0, atol=1e-12 + min(rounding, 1e-6))
    assert weights[2] >= weights[1]


def test_arms_far_from_zero_are_resolved_as_far_as_rounding_allows():
    mean, std = np.array([1e9, 1e9]), np.array([1e-3, 1e-3])
    weights, expected = maximum_distribution(mean, std), expected_maximum(mean, std)
    np.testing.assert_allclose(weights, 0.5, atol=1e-6)
    np.testing.assert_allclose(expected - 1e9, 1e-3 / np.sqrt(np.pi), rtol=1e-3)
    known = maximum_distribution(np.array([1e9, 2e9]), np.array([1e-9, 1e-9]))
    np.testing.assert_array_equal(known, [0.0, 1.0])


def test_cdf_of_the_maximum():
    mean, std = np.array([0.0, 1.0, 0.5]), np.array([1.0, 2.0, 0.0])
    s = np.array([-1.0, 0.4, 0.5, 3.0])
    F = np.where(s >= 0.5, ndtr(s) * ndtr((s - 1) / 2), 0.0)
    np.testing.assert_allclose(maximum_cdf(mean, std, s), F, rtol=0, atol=1e-15)


# Wrong shapes never reach the loops --------------------------------------------------------------


def test_wrong_shapes_are_refused():
    C, v, i = np.eye(3), np.ones(3), np.arange(3)
    with pytest.raises(ValueError, match="square"):
        downdate(np.ones((2, 3)), 0, 0.1)
    with pytest.raises(IndexError):
        downdate(C, 3, 0.1)
    for args in [
        (C, i, v, v[:2], v, i, v),
        (C, i[:2], v, v, v, i, v),
        (np.eye(2), i, v, v, v, i, v),
    ]:
        with pytest.raises(ValueError, match="shapes"):
            add_reductions(*args)
    with pytest.raises(IndexError):
        add_reductions(C, i + 1, v, v, v, i, v)
    p = tracked(RBF(0.3), [3])
    with pytest.raises(ValueError, match="shapes"):
        subtract_explained(p, np.ones((2, 80)), np.array([0]))
    with pytest.raises(IndexError):
        subtract_explained(p, np.ones((1, 80)), np.array([80]))
    with pytest.raises(ValueError, match="shapes"):
        correct_draws(p, np.ones((1, 1)), np.ones((2, 80)))
    with pytest.raises(ValueError, match="columns"):
        correct_draws(p, np.ones((1, 2)), np.ones((1, 80)))
    with pytest.raises(ValueError, match="as many"):
        maximum_distribution(v, v[:2])
    with pytest.raises(ValueError, match="as many"):
        expected_maximum(v, v[:2])
    with pytest.raises(ValueError, match="as many"):
        maximum_cdf(v, v[:2], v)


@pytest.mark.parametrize("shift", [2.0**20, -(2.0**28), 2.0**36])
def test_weights_do_not_depend_on_the_size_of_the_means(shift):
    """Means that are exact in either place: only their differences count."""
    rng = np.random.default_rng(3)
    mean = np.round(rng.normal(size=12) * 2**12) / 2**12
    std = rng.uniform(0.2, 1.0, size=12)
    std[4] = 0.0
    floor = float(mean[4])
    for limit in (-np.inf, floor - 1.0, floor + 0.5):
        weights = maximum_distribution(mean, std, limit)
        shifted = maximum_distribution(mean + shift, std, limit + shift)
        np.testing.assert_allclose(shifted, weights, rtol=0, atol=1e-13)
        assert shifted.sum() <= 1.0 + 1e-12
    expected, expected_there = expected_maximum(mean, std), expected_maximum(mean + shift, std)
    assert expected_there - shift == pytest.approx(expected, abs=2.0 * np.spacing(abs(shift)))

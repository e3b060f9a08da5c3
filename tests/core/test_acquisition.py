"""Information about a maximum: stable in the tails, equal to direct integration."""

import numpy as np
import pytest
from reference.cmes import appendix_a, eq7
from scipy.special import log_ndtr

from skgpb._core._acquisition import information

ONE = np.ones(1)


def single(gamma, noise=None):
    """Information of a query with mean 0 and deviation 1 about f* = gamma."""
    noise = None if noise is None else np.array([noise])
    return information(np.zeros(1), ONE, np.array([float(gamma)]), 1e-9, noise)[0]


def terms(gamma):
    """A at every gamma: the noiseless information of queries with means -gamma about f* = 0."""
    return information(-gamma, np.ones(len(gamma)), np.zeros(1), 1e-9)


def far_terms(x):
    """h and A at gamma = -x, far left, from an integral without cancellation.

    With R = Phi / phi, 1 - x R is the integral of e^-s (1 - exp(-s^2 / (2 x^2))), and what is
    left of the terms of size x^2 in A is e = x (h - x) = x^2 (1 - x R) / (x R).
    """
    s, weights = np.polynomial.laguerre.laggauss(60)
    u = 1.0 / x[:, None] ** 2
    e = (-np.expm1(-0.5 * s**2 * u) / u @ weights) / (np.exp(-0.5 * s**2 * u) @ weights)
    h = x + e / x
    return h, np.log(h) + 0.5 * np.log(2 * np.pi) - 0.5 * e


def test_terms_equal_scipy_where_scipy_is_stable():
    gamma = np.linspace(-8.0, 30.0, 1901)
    log_h = -0.5 * gamma**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(gamma)
    # terms of size gamma^2 / 2 cancel in the direct form
    np.testing.assert_allclose(
        terms(gamma), 0.5 * gamma * np.exp(log_h) - log_ndtr(gamma), atol=1e-12
    )


def test_terms_equal_an_integral_however_far_left():
    x = np.logspace(np.log10(8.1), 150.0, 3001)
    np.testing.assert_allclose(terms(-x), far_terms(x)[1], rtol=1e-13)
    # beyond, squares of gamma overflow
    A = terms(np.array([-1e200]))
    np.testing.assert_allclose(A, 200 * np.log(10) + 0.5 * np.log(2 * np.pi) - 0.5, rtol=1e-14)


def test_continued_fraction_and_direct_form_meet():
    A = terms(np.array([-8.0, np.nextafter(-8.0, 0.0)]))
    np.testing.assert_allclose(A[0], A[1], rtol=1e-13)


def test_nothing_overflows_for_gamma_of_any_size():
    gamma = np.concatenate([-np.logspace(6, -3, 200), [0.0], np.logspace(-3, 6, 200)])
    A = terms(gamma)
    assert np.isfinite(A).all()
    assert (A >= 0.0).all()
    assert (np.diff(A) <= 0.0).all()  # the nearer f*, the more is learned
    np.testing.assert_allclose(A[0], np.log(1e6) + 0.5 * np.log(2 * np.pi) - 0.5, rtol=1e-10)
    for noise in (1e-12, 1e-3, 1.0, 1e6):
        values = np.array([single(g, noise) for g in gamma])
        assert np.isfinite(values).all()
        assert (values >= 0.0).all()


@pytest.mark.parametrize("gamma", [-20.0, -5.0, -1.0, 0.0, 0.3, 2.0, 5.0])
def test_equals_direct_evaluation_of_equation_7(gamma):
    assert single(gamma) == pytest.approx(eq7(0.0, 1.0, [gamma]), abs=1e-10)


@pytest.mark.parametrize("gamma", [-30.0, -8.0, -2.0, 0.0, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.3, 1.0, 25.0])
def test_equals_numerical_integration_of_appendix_a(gamma, noise):
    assert single(gamma, noise) == pytest.approx(appendix_a(0.0, 1.0, [gamma], noise), abs=1e-7)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", [1e-10, 1e-6, 1e-3, 0.1, 1.0, 30.0])
def test_noisy_information_equals_an_integral_however_far_left(noise):
    """A - w h E q(S) with A and h from ``far_terms``, and q where S stays far left, too."""
    w, rho = np.sqrt(noise / (1.0 + noise)), 1.0 / np.sqrt(1.0 + noise)
    gamma = -np.logspace(np.log10(20.0 / w), np.log10(2e6 / w), 40)
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    weights /= weights.sum()
    for g in gamma:
        h, A = (float(value[0]) for value in far_terms(np.array([-g])))
        h_of_s, A_of_s = far_terms(-(g * w + rho * z))
        expected = A - w * h * (weights @ (A_of_s / h_of_s))
        # rounding of a difference of terms of this size
        assert single(g, noise) == pytest.approx(expected, rel=0.0, abs=1e-13 * max(1.0, A))


@pytest.mark.parametrize("gamma", [-4.0, 0.0, 2.0])
def test_appendix_a_tends_to_equation_7_as_noise_vanishes(gamma):
    gaps = [single(gamma) - single(gamma, noise) for noise in (1e-2, 1e-4, 1e-6, 1e-12)]
    assert (np.diff(gaps) < 0.0).all()
    # the difference is of the order of the noise's standard deviation
    assert 0.0 <= gaps[-1] < 1e-5
    assert single(gamma, 0.0) == single(gamma)


@pytest.mark.parametrize("gamma", [-4.0, 0.0, 2.0])
def test_noise_drowns_information(gamma):
    values = [single(gamma, noise) for noise in (0.0, 0.1, 1.0, 10.0, 1e4)]
    assert (np.diff(values) < 0.0).all()
    assert values[-1] < 1e-2 * values[0]


def test_is_the_mean_over_samples_for_every_query():
    rng = np.random.default_rng(0)
    mean, std, noise = rng.normal(size=7), rng.uniform(0.1, 2.0, 7), rng.uniform(0.1, 1.0, 7)
    maxima = rng.normal(size=5) + 1.5
    for given in (None, noise):
        got = information(mean, std, maxima, 1e-9, given)
        for i in range(7):
            if given is None:
                expected = eq7(mean[i], std[i], maxima)
            else:
                expected = appendix_a(mean[i], std[i], maxima, noise[i])
            assert got[i] == pytest.approx(expected, abs=1e-6)


def test_known_queries_carry_no_information():
    std = np.array([0.0, 1e-12, 1e-9, 1.0])
    for noise in (None, np.full(4, 0.1)):
        got = information(np.zeros(4), std, ONE, 1e-9, noise)
        assert (got[:3] == 0.0).all()
        assert got[3] > 0.0


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="expected 2"):
        information(np.zeros(2), ONE, ONE, 1e-9)
    with pytest.raises(ValueError, match="at least one"):
        information(np.zeros(1), ONE, np.empty(0), 1e-9)

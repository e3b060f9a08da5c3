"""Conversion of zero-concentrated differential privacy, and the exact noise."""

import math
import random

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from skgpb.lab.datasets import epsilon_of, rho_of
from skgpb.lab.datasets.accounting import discrete_gaussian, discrete_laplace

DELTAS = (1e-3, 1e-6, 1e-10)


def delta_of_gaussian(epsilon, rho):
    """Exact delta of Gaussian noise (Balle and Wang, 2018, Theorem 8)."""
    mu = math.sqrt(2.0 * rho)
    far = norm.logcdf(-mu / 2 - epsilon / mu)
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + far)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.2, 1.5, 50.0])
def test_epsilon_lies_between_the_exact_one_of_gaussian_noise_and_the_simple_bound(rho, delta):
    simple = rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
    exact = brentq(lambda e: delta_of_gaussian(e, rho) - delta, 0.0, simple)
    assert exact < epsilon_of(rho, delta) < simple
    if rho >= 0.02:  # at delta=1e-6 it loses 7 %, the simple bound 20 %
        assert epsilon_of(rho, delta) - exact < 0.75 * (simple - exact)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", [1e-6, 0.1, 20.0])
def test_epsilon_is_the_least_over_all_orders(rho, delta):
    """Proposition 12 as it is printed, on a grid of orders, solved for epsilon."""
    orders = 1.0 + np.logspace(-2, 6, 200_000)
    bounds = orders * rho + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    best = max(0.0, bounds.min())  # so little may be spent that delta alone covers it
    assert epsilon_of(rho, delta) == pytest.approx(best, rel=1e-6)
    assert epsilon_of(rho, delta) <= best * (1 + 1e-12)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 10.0, 200.0])
def test_a_budget_is_never_worth_more_than_was_asked_for(epsilon, delta):
    rho = rho_of(epsilon, delta)
    assert epsilon * (1.0 - 1e-7) < epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1.0 + 1e-6), delta) > epsilon


def test_nothing_spent_is_worth_nothing():
    assert epsilon_of(0.0, 1e-6) == 0.0


@pytest.mark.parametrize("bad", [0.0, 1.0, -1e-6, math.nan, None, "1e-6", True])
def test_a_delta_that_is_no_probability_is_refused(bad):
    for convert in (epsilon_of, rho_of):
        with pytest.raises(ValueError, match="delta must be a number > 0 and < 1"):
            convert(1.0, bad)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, None, "1", True])
def test_an_epsilon_or_rho_that_is_no_amount_is_refused(bad):
    with pytest.raises(ValueError, match="rho must be"):
        epsilon_of(bad, 1e-6)
    with pytest.raises(ValueError, match="epsilon must be"):
        rho_of(bad, 1e-6)


def test_a_kept_library_comes_to_the_same_amounts():
    rdp = pytest.importorskip("dp_accounting.rdp")
    pld = pytest.importorskip("dp_accounting.pld")
    from dp_accounting import GaussianDpEvent, SelfComposedDpEvent

    for epsilon in (1.0, 3.0, 10.0):
        rho = rho_of(epsilon, 1e-6)
        # Twenty answers of a twentieth each, noise in units of the sensitivity.
        event = SelfComposedDpEvent(GaussianDpEvent(math.sqrt(20 / (2.0 * rho))), 20)
        orders = (1.0 + np.logspace(-1, 3, 2000)).tolist()
        renyi = rdp.RdpAccountant(orders).compose(event).get_epsilon(1e-6)
        assert renyi == pytest.approx(epsilon, rel=1e-4)
        exact = pld.PLDAccountant().compose(event).get_epsilon(1e-6)
        assert 0.9 * epsilon < exact < epsilon


# -- noise --------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("sigma", [1, 2, 7])
def test_discrete_gaussian_has_its_probabilities(sigma):
    n, dice = 20_000, random.Random(5)
    draws = np.array([discrete_gaussian(sigma, dice) for _ in range(n)])
    z = np.arange(-10 * sigma, 10 * sigma + 1)
    p = np.exp(-(z**2) / (2 * sigma**2))
    p /= p.sum()
    found = np.array([(draws == i).sum() for i in z])
    assert found.sum() == n
    # Counts are binomial; 5 standard deviations and a count, for at most 141 values.
    assert (np.abs(found - n * p) <= 5.0 * np.sqrt(n * p) + 1.0).all()


@pytest.mark.parametrize("scale", [1, 2, 7])
def test_discrete_laplace_has_its_probabilities(scale):
    n, dice = 20_000, random.Random(7)
    draws = np.array([discrete_laplace(scale, dice) for _ in range(n)])
    z = np.arange(-40 * scale, 40 * scale + 1)
    p = np.exp(-np.abs(z) / scale)
    p /= p.sum()
    found = np.array([(draws == i).sum() for i in z])
    assert found.sum() == n
    # Counts are binomial; 5 standard deviations and a count, for at most 561 values.
    assert (np.abs(found - n * p) <= 5.0 * np.sqrt(n * p) + 1.0).all()


def test_discrete_gaussian_of_a_large_sigma_has_its_moments():
    n, dice, sigma = 4000, random.Random(6), 10**12
    draws = np.array([discrete_gaussian(sigma, dice) / sigma for _ in range(n)])
    # 4.5 standard errors of a mean, a variance and a fourth moment of standard normals.
    assert abs(draws.mean()) < 4.5 / math.sqrt(n)
    assert abs(draws.var() - 1.0) < 4.5 * math.sqrt(2.0 / n)
    assert abs((draws**4).mean() - 3.0) < 4.5 * math.sqrt(96.0 / n)


def test_noise_needs_whole_numbers_only():
    """No draw may go through floating-point numbers, whose last digits tell of the sum."""

    class WholeNumbers:
        source = random.Random(1)

        def randrange(self, stop):
            assert type(stop) is int
            return self.source.randrange(stop)

    assert type(discrete_gaussian(10**40, WholeNumbers())) is int
    assert type(discrete_laplace(10**40, WholeNumbers())) is int

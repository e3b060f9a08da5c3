"""Max-value entropy search: equation 6 in the tails, and the Gumbel law of the maximum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr

from skgpb.acquisition.entropy import gumbel_max_values, max_value_entropy


def test_information_does_not_break_off_far_below_the_mean():
    """For gamma -> -inf it is log|gamma| + log(2 pi) / 2 - 1/2 + O(gamma^-2)."""
    gamma = -np.logspace(2, 12, 201)
    got = max_value_entropy(-gamma, np.ones(201), np.zeros(1))
    limit = np.log(-gamma) + 0.5 * np.log(2 * np.pi) - 0.5
    assert (np.abs(got - limit) <= 2.0 / gamma**2 + 1e-13 * limit).all()
    assert max_value_entropy(np.array([9000.0]), np.ones(1), np.zeros(1)) == pytest.approx(
        9.5239185
    )


def test_information_is_the_mean_of_equation_6_over_samples():
    rng = np.random.default_rng(0)
    mean, std, maxima = rng.normal(size=9), rng.uniform(0.1, 2.0, 9), 1.0 + rng.normal(size=4)
    gamma = (maxima[:, None] - mean) / std
    log_h = -0.5 * gamma**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(gamma)
    expected = (0.5 * gamma * np.exp(log_h) - log_ndtr(gamma)).mean(axis=0)
    np.testing.assert_allclose(max_value_entropy(mean, std, maxima), expected, rtol=1e-10)
    assert max_value_entropy(mean[:1], np.zeros(1), maxima)[0] == 0.0


class Fixed:
    """A source of one number."""

    def __init__(self, value):
        self.value = value

    def random(self, n):
        return np.full(n, self.value)


def test_the_gumbel_law_has_the_median_and_the_spread_of_the_maximum():
    rng = np.random.default_rng(1)
    mean, std = 0.1 * rng.normal(size=30), rng.uniform(0.5, 1.5, 30)

    def quantile(p):
        return brentq(lambda s: log_ndtr((s - mean) / std).sum() - np.log(p), -5.0, 20.0)

    lower, median, upper = (gumbel_max_values(mean, std, 1, Fixed(p))[0] for p in (0.25, 0.5, 0.75))
    assert median == pytest.approx(quantile(0.5), abs=1e-9)
    assert upper - lower == pytest.approx(quantile(0.75) - quantile(0.25), abs=1e-9)

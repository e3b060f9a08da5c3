"""The least information ratio against direct minimisation."""

from __future__ import annotations

import numpy as np
import pytest
import reference.ids

from skgpb.acquisition.entropy import linear_information
from skgpb.acquisition.information import least_ratio, log_information_ratio


def ratio_of(gap, gain, first, second, share):
    expected, told = (share * x[first] + (1 - share) * x[second] for x in (gap, gain))
    return expected**2 / told


@pytest.mark.parametrize("decimals", [1, 2, 15])
def test_it_is_the_least_over_all_mixtures_of_all_pairs(decimals):
    """Also with ties of gaps, of information, of both, and queries that tell nothing."""
    rng = np.random.default_rng(decimals)
    mixed = 0
    for n in rng.integers(1, 20, size=25):
        gap = np.round(rng.random(n), decimals) + 0.05
        gain = np.round(gap * rng.random(n) ** 2 * (rng.random(n) > 0.2), decimals)
        gain[rng.integers(n)] += 0.1
        first, second, share = least_ratio(gap, gain)
        assert 0 < share <= 1 and gap[first] <= gap[second]
        expected = reference.ids.least_ratio(gap, gain)
        assert ratio_of(gap, gain, first, second, share) == pytest.approx(expected, rel=1e-8)
        mixed += first != second
    assert mixed > 5


def test_no_mixture_is_better_than_one_query_where_gaps_are_equal():
    gain = np.array([0.1, 0.7, 0.3])
    assert least_ratio(np.full(3, 2.0), gain) == (1, 1, 1.0)


def test_without_a_gap_the_ratio_is_zero_and_without_information_infinite():
    gap, gain = np.array([0.0, 1.0, 0.0, 2.0]), np.array([1.0, 0.0, 0.0, 4.0])
    expected = [-np.inf, np.inf, np.inf, 0.0]
    np.testing.assert_array_equal(log_information_ratio(gap, gain), expected)
    assert least_ratio(gap, gain) == (0, 0, 1.0)


def test_the_information_about_what_is_itself_observed_is_that_of_the_channel():
    var, noise = np.array([0.3, 1.0, 5.0]), np.array([0.1, 2.0, 1e-3])
    expected = 0.5 * np.log1p(var / noise)
    np.testing.assert_allclose(linear_information(var, np.sqrt(var), noise, var), expected)

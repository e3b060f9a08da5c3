"""The information ratio, and information about linear functionals."""

from __future__ import annotations

import numpy as np

from skgpb.acquisition.entropy import linear_information
from skgpb.acquisition.information import log_information_ratio


def test_without_a_gap_the_ratio_is_zero_and_without_information_infinite():
    gap, gain = np.array([0.0, 1.0, 0.0, 2.0]), np.array([1.0, 0.0, 0.0, 4.0])
    expected = [-np.inf, np.inf, np.inf, 0.0]
    np.testing.assert_array_equal(log_information_ratio(gap, gain), expected)


def test_the_information_about_what_is_itself_observed_is_that_of_the_channel():
    var, noise = np.array([0.3, 1.0, 5.0]), np.array([0.1, 2.0, 1e-3])
    expected = 0.5 * np.log1p(var / noise)
    np.testing.assert_allclose(linear_information(var, np.sqrt(var), noise, var), expected)

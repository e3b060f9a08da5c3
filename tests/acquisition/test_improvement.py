"""Scores of improvement where nothing is uncertain any more."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb.acquisition.improvement import (
    log_expected_improvement,
    log_own_gain,
    standard_scores,
)


def test_known_values_are_compared_with_a_threshold_but_for_rounding():
    mean = np.array([0.1 + 0.2, 0.3, 0.3 + 1e-8, 0.3 - 1e-8, 0.5])
    scores = standard_scores(mean, np.array([0.0, 0.0, 0.0, 0.0, 0.1]), 0.3)
    np.testing.assert_allclose(scores, [0.0, 0.0, np.inf, -np.inf, 2.0])
    # An integral over all arms comes out as 1e-17 where the best is known to be 0.
    scores = standard_scores(np.array([0.0, -0.5]), np.array([0.0, 0.1]), 1e-17)
    np.testing.assert_allclose(scores, [0.0, -5.0])


@pytest.mark.filterwarnings("error")
def test_a_threshold_may_be_far_beyond_everything():
    mean, std = np.zeros(3), np.array([0.0, 1e-9, 1.0])
    for far in (1e160, 1e300, 1.7e308):
        np.testing.assert_array_less(log_expected_improvement(mean, std, far), -1e300)
        assert (standard_scores(mean, std, far) <= -far).all()


def test_own_gain_is_the_expected_rise_of_the_largest_mean():
    mean, var, noise = np.array([1.0, 0.7, 0.2]), np.array([0.2, 0.5, 1.0]), np.full(3, 0.3)
    z = np.linspace(-10.0, 10.0, 20_001)
    weights = np.exp(-0.5 * z**2)
    weights /= weights.sum()
    for i, gain in enumerate(np.exp(log_own_gain(mean, var, noise))):
        after = np.tile(mean, (len(z), 1))
        after[:, i] += var[i] / np.sqrt(var[i] + noise[i]) * z
        np.testing.assert_allclose(gain, weights @ after.max(axis=1) - 1.0, rtol=1e-5)
    # What is known teaches nothing; neither does the only query.
    assert log_own_gain(mean, np.array([0.0, 0.5, 0.0]), np.zeros(3))[[0, 2]].max() == -np.inf
    assert log_own_gain(np.zeros(1), np.ones(1), np.ones(1))[0] == -np.inf

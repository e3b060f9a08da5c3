"""Scores of improvement where nothing is uncertain any more."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb.acquisition.improvement import log_expected_improvement, standard_scores


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

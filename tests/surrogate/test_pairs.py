"""Covariances of all pairs of tracked functionals, round by round, in scaled units."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.pairs import TrackedPairs

ROWS = np.random.default_rng(0).random((8, 2))
ELSEWHERE = np.array([[0.5, 0.5]])
NOISE = 0.3


def process(kernel):
    gp = GaussianProcess(kernel, 2)
    gp.set_units(3.0, 2.0)
    gp.track(ROWS)
    return gp


@pytest.mark.parametrize("white", [0.0, 0.2])
def test_they_follow_every_observation(white):
    gp = process(1.5 * RBF(0.4) + WhiteKernel(white) if white else 1.5 * RBF(0.4))
    pairs = TrackedPairs(gp)
    for slot, noise in [(2, 0.3), (5, 0.1), (2, 0.3), (-1, 0.2), (6, 0.2), (4, 0.0), (1, 0.3)]:
        # Also before the first observation.
        known = pairs.covariance(gp.posterior, [], NOISE)
        assert_allclose(known, gp.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)
        if slot < 0:
            gp.observe(ELSEWHERE, 4.0, noise)
        else:
            gp.observe_tracked(slot, 4.0, noise)
        pairs.observed(slot, noise)
    known = pairs.covariance(gp.posterior, [], NOISE)
    assert_allclose(known, gp.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)


@pytest.mark.parametrize("slots", [[1, 6], [1, -1]])
def test_pending_answers_reduce_them_by_their_noise(slots):
    gp = process(1.5 * RBF(0.4))
    gp.observe_tracked(3, 4.0, NOISE)
    blocks = [ROWS[slot : slot + 1] if slot >= 0 else ELSEWHERE for slot in slots]
    expected = gp.imagine(blocks, [NOISE] * 2)
    pairs = TrackedPairs(gp)
    found = pairs.covariance(expected.posterior, slots, NOISE)
    assert_allclose(found, expected.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)
    # What is known of them stays what it was.
    now = pairs.covariance(gp.posterior, [], NOISE)
    assert_allclose(now, gp.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)

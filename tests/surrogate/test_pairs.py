"""Covariances of all pairs of tracked functionals, round by round, in scaled units."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from skgpb.exceptions import NumericalWarning
from skgpb.surrogate import GaussianProcess, draws
from skgpb.surrogate.pairs import PairCovariances, QueryTargetCovariances, pending_downdate

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
    pairs = PairCovariances(gp)
    for slot, noise in [(2, 0.3), (5, 0.1), (2, 0.3), (-1, 0.2), (6, 0.2), (4, 0.0), (1, 0.3)]:
        # Also before the first observation.
        known = pairs.covariance(gp.posterior, [], [])
        assert_allclose(known, gp.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)
        pairs.observing(slot, noise)
        if slot < 0:
            gp.observe(ELSEWHERE, 4.0, noise)
        else:
            gp.observe_tracked(slot, 4.0, noise)
    known = pairs.covariance(gp.posterior, [], [])
    assert_allclose(known, gp.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)


@pytest.mark.parametrize("slots", [[1, 6], [1, -1]])
def test_pending_answers_reduce_them_by_their_noise(slots):
    gp = process(1.5 * RBF(0.4))
    gp.observe_tracked(3, 4.0, NOISE)
    blocks = [ROWS[slot : slot + 1] if slot >= 0 else ELSEWHERE for slot in slots]
    expected = gp.fantasize(blocks, [NOISE] * 2)
    pairs = PairCovariances(gp)
    found = pairs.covariance(expected.posterior, slots, [NOISE] * len(slots))
    assert_allclose(found, expected.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)
    # Their posterior stays what it was.
    now = pairs.covariance(gp.posterior, [], [])
    assert_allclose(now, gp.posterior_covariance(gp.tracked, gp.tracked), atol=1e-12)


@pytest.mark.parametrize("white", [0.0, 0.2])
def test_what_moves_is_drawn_from_its_posterior_and_nothing_is_kept(white):
    gp = GaussianProcess(1.5 * RBF(0.4) + WhiteKernel(white) if white else 1.5 * RBF(0.4), 2)
    gp.set_units(3.0, 2.0)
    gp.track(np.random.default_rng(1).random((2 * draws.ROWS + 3, 2)))
    pairs = PairCovariances(gp, moving=True)
    for slot in (None, 5, -1, 60, 5):
        if slot == -1:
            gp.observe(ELSEWHERE, 4.0, NOISE)
        elif slot is not None:
            gp.observe_tracked(slot, 4.0, NOISE)
        root = draws.posterior_root(gp)
        cov = gp.posterior_covariance(gp.tracked, gp.tracked)
        # 1e-12 of the largest prior variance is added, and covariances are known to 1e-14 or so.
        added = draws.ADDED * 1.5 * np.eye(len(cov))
        assert_allclose(root @ root.T, cov + added, rtol=0, atol=1e-13)
        found = pairs.draws(4, np.random.default_rng(2))
        deviations = np.random.default_rng(2).standard_normal((4, len(cov))) @ root.T
        assert_allclose(found - gp.posterior.tracked_mean(), deviations, rtol=0, atol=1e-12)
        assert pairs._draws is None


def test_what_moves_is_drawn_as_what_stays_where_rounding_leaves_no_root(monkeypatch):
    gp = process(1.5 * RBF(0.4))
    gp.observe_tracked(2, 4.0, NOISE)
    monkeypatch.setattr(draws, "ADDED", -1.0)  # as large as any rounding
    assert draws.posterior_root(gp) is None
    found = PairCovariances(gp, moving=True).draws(3, np.random.default_rng(2))
    assert_allclose(found, PairCovariances(gp).draws(3, np.random.default_rng(2)), rtol=1e-15)


@pytest.mark.parametrize("white", [0.0, 0.2])
@pytest.mark.parametrize("noise", [NOISE, 0.0])
def test_pending_answers_take_off_what_their_imagined_answers_do(white, noise):
    """Ask tracked functionals and others, means, observed ones, and one of them twice."""
    gp = process(1.5 * RBF(0.4) + WhiteKernel(white) if white else 1.5 * RBF(0.4))
    gp.observe_tracked(3, 4.0, noise)
    blocks = [ROWS[3:4], ROWS[1:2], ELSEWHERE, ROWS[4:7], ROWS[1:2]]
    for k in range(len(blocks) + 1):
        falls = pending_downdate(gp, blocks[:k], [noise] * k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)  # jitter where nothing is left
            expected = gp.fantasize(blocks[:k], [noise] * k)
        found = gp.posterior_covariance(gp.tracked, gp.tracked) - falls.T @ falls
        # Jitter, which imagined answers need without noise, is 1.5e-10.
        assert_allclose(
            found, expected.posterior_covariance(gp.tracked, gp.tracked), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("white", [0.0, 0.2])
def test_queries_and_targets_have_covariances_that_follow_answers_and_moves(white):
    gp = process(1.5 * RBF(0.4) + WhiteKernel(white) if white else 1.5 * RBF(0.4))
    rng, n = np.random.default_rng(3), 3
    pairs = QueryTargetCovariances(gp, n)

    def check():
        expected = gp.posterior_covariance(gp.tracked, gp.tracked)
        assert_allclose(pairs.covariance(), expected[:n, n:], rtol=0, atol=1e-12)
        some = np.array([3, 0])
        found = pairs.target_covariance_rows(some)
        assert_allclose(found, expected[n + some, n:], rtol=0, atol=1e-12)

    check()
    for slot, noise, moved in [
        (2, 0.3, []), (5, 0.1, [1]), (2, 0.3, [6, 0]), (-1, 0.2, []), (6, 0.2, [2]), (4, 0.0, [7]),
        (1, 0.3, []), (0, 0.2, [0, 3]),
    ]:  # fmt: skip
        pairs.observing(slot, noise)
        if slot < 0:
            gp.observe(ELSEWHERE, 4.0, noise)
        else:
            gp.observe_tracked(slot, 4.0, noise)
        if slot % 2:
            check()
        if moved:
            gp.track(rng.random((len(moved), 2)), moved)
            pairs.invalidate(np.array(moved))
        if slot != 5:  # once it is read only after the next answer
            check()


def test_rows_are_computed_in_parts_that_fit_into_memory(monkeypatch):
    monkeypatch.setattr("skgpb.surrogate.pairs.COVARIANCES_AT_ONCE", 3 * len(ROWS))
    gp = process(1.5 * RBF(0.4))
    gp.observe_tracked(2, 4.0, NOISE)
    pairs = PairCovariances(gp)
    parts = [part.tolist() for part in pairs.batches(np.arange(8))]
    assert parts == [[0, 1, 2], [3, 4, 5], [6, 7]]
    expected = gp.posterior_covariance(gp.tracked, gp.tracked)
    assert_allclose(pairs.covariance(gp.posterior, [], []), expected, atol=1e-12)
    assert_allclose(pairs.rows(gp.posterior, np.array([6, 1])), expected[[6, 1]], atol=1e-12)


def test_pending_answers_without_noise_are_told_only_once():
    gp = process(1.5 * RBF(0.4))
    gp.observe_tracked(3, 4.0, NOISE)
    slots, noises = [1, 6, 1], [0.0, NOISE, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        expected = gp.fantasize([ROWS[slot : slot + 1] for slot in slots], noises)
    found = PairCovariances(gp).covariance(expected.posterior, slots, noises)
    assert_allclose(found, expected.posterior_covariance(gp.tracked, gp.tracked), atol=1e-9)

"""The knowledge gradient against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from reference.kg import expected_rise

from skgpb._core._acquisition import log_gains
from skgpb.acquisition.improvement import log_expected_improvement
from skgpb.acquisition.knowledge import log_knowledge_gradient

Z = np.linspace(-12.0, 12.0, 240_001)
WEIGHTS = np.exp(-0.5 * Z**2) / np.sqrt(2 * np.pi) * (Z[1] - Z[0])


def gains(a, B):
    return np.exp(log_gains(np.asarray(a, dtype=float), np.atleast_2d(np.asarray(B, dtype=float))))


@pytest.mark.parametrize("n_targets", [1, 2, 3, 7, 20])
def test_it_is_the_expected_rise_of_the_largest_mean(n_targets):
    rng = np.random.default_rng(n_targets)
    a, B = rng.normal(size=n_targets), rng.normal(size=(8, n_targets))
    # The trapezoidal rule: kinks cost (1e-4)^2 / 12 times a density and a change of slope below 3.
    expected = [((a[:, None] + np.outer(b, Z)).max(axis=0) * WEIGHTS).sum() - a.max() for b in B]
    np.testing.assert_allclose(gains(a, B), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("decimals", [1, 2, 15])
def test_it_is_that_of_sorted_lines(decimals):
    """Also with ties: equal slopes, equal means, both."""
    rng = np.random.default_rng(decimals)
    for m in rng.integers(1, 60, size=100):
        a = np.round(rng.normal(size=m) * 10 ** rng.uniform(-2, 1), decimals)
        b = np.round(rng.normal(size=m), decimals)
        np.testing.assert_allclose(gains(a, b)[0], expected_rise(a, b), rtol=1e-11, atol=1e-300)


def test_many_lines_of_the_envelope_count():
    """Tangents of a parabola: every line is on the envelope."""
    slopes = np.linspace(-3, 3, 301)
    means = -0.5 * slopes**2
    np.testing.assert_allclose(gains(means, slopes)[0], expected_rise(means, slopes), rtol=1e-11)


@pytest.mark.parametrize("steepest", [1.0, 1e3, 1e9])
def test_lines_that_are_left_out_add_nothing(steepest):
    """Late in a run: 200 targets, answers that hardly move most of them, some far below."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        a = -(10.0 ** rng.uniform(-4, 2, size=200))
        b = rng.normal(size=200) * 10.0 ** rng.uniform(-4, -1, size=200)
        b[:3] *= steepest
        np.testing.assert_allclose(gains(a, b)[0], expected_rise(a, b), rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("gap", [0.0, 1.0, 7.9, 8.1, 40.0, 1e4])
def test_tails_do_not_underflow(gap):
    """One alternative: the gain is the expected improvement upon the best mean."""
    expected = log_expected_improvement(np.array([-gap]), np.array([1.0]), 0.0)
    value = log_gains(np.array([0.0, -gap]), np.array([[0.0, 1.0]]))
    np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_what_changes_nothing_is_worth_nothing():
    assert gains([1.0, 2.0], [[0.0, 0.0], [3.0, 3.0]]).tolist() == [0.0, 0.0]
    assert gains([1.0], [[2.0]]).tolist() == [0.0]
    known = log_knowledge_gradient(np.zeros(2), np.zeros((1, 2)), np.zeros(1), np.zeros(1))
    assert known.tolist() == [-np.inf]


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="3 slopes for each query, got 2"):
        log_gains(np.zeros(3), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="at least one target"):
        log_gains(np.zeros(0), np.zeros((1, 0)))

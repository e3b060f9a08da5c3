"""Counts become answers whose noise is what is said, however rare or common what is counted is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, poisson

from skgpb import GPUCBOptimizer, feedback
from skgpb.feedback import from_counts, from_rate, to_proportion, to_rate


def errors(reward, alpha, probability, truth):
    """Bias, variance and mean squared error over a grid of truths, in units of ``alpha``.

    ``probability`` (n_truths, n_outcomes) is exact: nothing here is drawn.
    """
    mean = probability @ reward
    bias = (mean - truth) / np.sqrt(alpha)
    variance = (probability @ reward**2 - mean**2) / alpha
    return bias, variance, bias**2 + variance


@pytest.mark.parametrize("n", [1, 2, 5, 10, 20, 50, 200, 1000])
def test_errors_of_counts_are_what_alpha_says_for_every_proportion(n):
    k, p = np.arange(n + 1), np.linspace(0.0, 1.0, 401)
    reward, alpha = from_counts(k, n)
    assert np.unique(alpha).size == 1
    bias, variance, squared = errors(
        reward, alpha[0], binom.pmf(k, n, p[:, None]), np.arcsin(np.sqrt(p))
    )
    assert squared.max() <= (1.141 if n < 10 else 1.074)
    some = (n * p >= 1.0) & (n * (1.0 - p) >= 1.0)
    if n >= 5:
        assert np.abs(bias[some]).max() < 0.15
        assert 0.93 < variance[some].min() <= variance[some].max() < 1.07
    # At none and at all the error is one of bias alone, and no larger than alpha.
    np.testing.assert_allclose(variance[[0, -1]], 0.0, atol=1e-9)
    assert 0.9 < bias[0] <= 1.0
    assert -1.0 <= bias[-1] < -0.9


@pytest.mark.parametrize("exposure", [0.2, 1.0, 50.0])
def test_errors_of_rates_are_what_alpha_says_for_every_rate(exposure):
    expected = np.concatenate([[0.0], np.geomspace(0.01, 200.0, 200)])
    x = np.arange(400)
    reward, alpha = from_rate(x, exposure)
    truth = np.sqrt(expected / exposure)
    bias, variance, squared = errors(reward, alpha[0], poisson.pmf(x, expected[:, None]), truth)
    assert squared.max() <= 1.074
    assert np.abs(bias[expected >= 1.0]).max() < 0.15
    assert 0.93 < variance[expected >= 1.0].min() <= variance.max() < 1.07


@pytest.mark.slow
def test_the_largest_errors_are_those_that_the_guide_names():
    """The worst proportions of small n and of large ones, and the worst rate; rounded up."""
    p, worst = np.linspace(0.0, 0.5, 2001), {}
    for n in (2, 3, 9, 10, 100, 1000):
        fine = np.concatenate([p, np.linspace(0.0, min(4.0, 0.5 * n), 1001) / n])
        reward, alpha = from_counts(np.arange(n + 1), n)
        probability = binom.pmf(np.arange(n + 1), n, fine[:, None])
        worst[n] = errors(reward, alpha[0], probability, np.arcsin(np.sqrt(fine)))[2].max()
    expected, x = np.linspace(0.0, 10.0, 4001), np.arange(80)
    reward, alpha = from_rate(x)
    probability = poisson.pmf(x, expected[:, None])
    rate = errors(reward, alpha[0], probability, np.sqrt(expected))[2].max()
    at_most = max(worst.values()), max([rate, *(worst[n] for n in (10, 100, 1000))])
    named = [math.ceil(1000.0 * each) / 1000.0 for each in at_most]
    assert named == [1.141, 1.074]
    guide = Path(__file__).parents[1] / "doc" / "user_guide" / "noise.rst"
    for text in [feedback.__doc__, *([guide.read_text("utf-8")] if guide.is_file() else [])]:
        assert all(f"at most {each} times" in " ".join(text.split()) for each in named)


def test_successes_and_failures_are_mirror_images():
    k, n = np.arange(8), 7
    there, back = from_counts(k, n).reward, from_counts(n - k, n).reward
    np.testing.assert_allclose(there + back, 0.5 * np.pi, rtol=1e-14)


def test_reports_are_proportions_and_rates_with_intervals():
    p = np.array([0.0, 0.2, 0.5, 1.0])
    np.testing.assert_allclose(to_proportion(np.arcsin(np.sqrt(p))).value, p, atol=1e-15)
    np.testing.assert_allclose(to_rate(np.sqrt([0.0, 3.0])).value, [0.0, 3.0], rtol=1e-15)
    value, lower, upper = to_proportion(-0.1, 0.2)
    assert (value, lower) == (0.0, 0.0)
    np.testing.assert_allclose(upper, np.sin(-0.1 + 1.959963984540054 * 0.2) ** 2)
    assert to_proportion(1.5, 0.2).upper == 1.0
    assert to_rate(0.1, 1.0).lower == 0.0


def test_intervals_hold_the_truth_as_often_as_they_say():
    # Intervals of a single answer, by exact sums. Counts are discrete, and an interval of constant
    # width in the angle contains p with 90 to 100 % where 95 is said, as long as both are expected.
    n, p = 60, np.linspace(0.05, 0.95, 91)
    k = np.arange(n + 1)
    reward, alpha = from_counts(k, n)
    _, lower, upper = to_proportion(reward, np.sqrt(alpha))
    holds = (lower <= p[:, None]) & (p[:, None] <= upper)
    held = (binom.pmf(k, n, p[:, None]) * holds).sum(axis=1)
    assert held.min() > 0.9
    assert abs(held.mean() - 0.95) < 0.01


def test_plain_proportions_and_rates_keep_averages_averages():
    reward, alpha = from_counts([0, 3, 12], 12, stabilize=False)
    np.testing.assert_array_equal(reward, [0.0, 0.25, 1.0])
    np.testing.assert_allclose(alpha, [13 / 14**2 / 12, 40 / 14**2 / 12, 13 / 14**2 / 12])
    assert from_rate(6, 3, stabilize=False) == (2.0, 7 / 9)


def test_shapes_broadcast_and_single_numbers_are_floats():
    reward, alpha = from_counts([[1], [2]], [5, 10, 20])
    assert reward.shape == alpha.shape == (2, 3)
    assert all(type(each) is float for each in (*from_counts(1, 5), *from_rate(3), *to_rate(1)))


def test_an_answer_is_told_with_its_noise():
    opt = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0).start()
    opt.tell([[0.5]], *from_counts(3, 40))
    kind, _, reward, alpha = opt._events[0]
    assert (kind, reward, alpha) == ("tell", *from_counts(3, 40))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_counts(3, 0), "trials must be above 0, got 0"),
        (lambda: from_counts(-1, 4), "successes must be from 0 to trials, got -1"),
        (lambda: from_counts([1, 5], 4), "successes must be from 0 to trials"),
        (lambda: from_counts([1, 2], [1, 2, 3]), "shapes that go together"),
        (lambda: from_counts(np.nan, 4), "successes must be finite numbers"),
        (lambda: from_counts("3", 4), "successes must be finite numbers, got '3'"),
        (lambda: from_counts(1, np.ma.array([4, 5], mask=[0, 1])), "trials must have no masked"),
        (lambda: from_rate(-1), "events must be at least 0, got -1"),
        (lambda: from_rate(1, 0.0), "exposure must be above 0, got 0.0"),
        (lambda: from_rate(0, 5e-324), "exposure is too small for a noise variance, got 5e-324"),
        (lambda: from_rate(3, 1e-200, stabilize=False), "exposure is too small"),
        (lambda: from_rate(3, 1.0, stabilize="no"), "stabilize must be True or False, got 'no'"),
        (lambda: from_counts(3, 4, stabilize=None), "stabilize must be True or False"),
        (lambda: to_rate(1.0, -1.0), "std must be at least 0"),
        (lambda: to_rate(1.0, level="95 %"), "level must be a probability between 0 and 1"),
        (lambda: to_proportion(1.0, level=95), "level must be a probability between 0 and 1"),
    ],
)
def test_errors_name_the_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()

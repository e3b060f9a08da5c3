"""Answers that are merged, scaled and chosen, and what is learned from them one query at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from skgpb import defaults
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate.model import Samples
from skgpb.surrogate.samples import ScaledSamples, subsample
from skgpb.surrogate.schedule import Schedule
from skgpb.surrogate.shrinkage import shrinkage_means
from skgpb.surrogate.success import SuccessModel, learned_success, log_loss
from skgpb.surrogate.warp import Warp


def some_samples(seed, n=14, n_functionals=6, unknown=0.5):
    rng = np.random.default_rng(seed)
    functional = np.append(np.arange(n_functionals), rng.integers(n_functionals, size=n))
    n = len(functional)
    alpha = np.where(rng.random(n) < unknown, np.nan, rng.uniform(0.05, 0.5, n))
    return ScaledSamples(functional, rng.normal(size=n), alpha, rng.uniform(0.5, 2.0, n))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("further", [0.0, 0.2])
def test_merged_answers_have_the_likelihood_of_all_of_them(seed, further):
    samples, noise = some_samples(seed), 0.3
    merged = samples.merged(noise, further)
    variance = np.where(samples.unknown, noise * samples.share, samples.alpha) + further
    assert merged.n_merged_away == len(samples.y) - 6
    for i in range(6):
        own = samples.functional == i
        weights = 1.0 / variance[own]
        assert merged.counts[i] == own.sum()
        assert merged.noise[i] == pytest.approx(1.0 / weights.sum())
        assert merged.y[i] == pytest.approx(weights @ samples.y[own] / weights.sum())
    root = np.random.default_rng(seed).normal(size=(6, 6))
    K = root @ root.T
    each = K[np.ix_(samples.functional, samples.functional)] + np.diag(variance)
    expected = -2.0 * multivariate_normal.logpdf(samples.y, cov=each)
    found = -2.0 * multivariate_normal.logpdf(merged.y, cov=K + np.diag(merged.noise))
    assert found + merged.square + merged.log == pytest.approx(expected)
    # All noise variances times a factor.
    if not further and not samples.unknown.all():
        times = merged.times(3.0)
        other = ScaledSamples(samples.functional, samples.y, 3.0 * variance).merged()
        for name in ("y", "noise", "counts", "square", "log"):
            assert_allclose(getattr(times, name), getattr(other, name))
    # The same answers in other units.
    moved = merged.to_units(5.0, 2.0, -1.0, 0.5)
    y = (samples.y * 2.0 + 5.0 - -1.0) / 0.5
    other = ScaledSamples(samples.functional, y, variance * 16.0).merged()
    for name in ("y", "noise", "counts", "square", "log"):
        assert_allclose(getattr(moved, name), getattr(other, name))


def test_an_exact_answer_determines_the_mean_and_noisy_ones_vary_around_it():
    samples = ScaledSamples(
        np.array([0, 0, 0, 1, 2, 2]),
        np.array([1.0, 1.3, 0.9, 5.0, 2.0, 2.0]),
        np.array([0.0, 0.04, 0.09, 0.2, 0.0, 0.0]),
    )
    merged = samples.merged()
    assert_allclose(merged.y, [1.0, 5.0, 2.0])
    assert_allclose(merged.noise, [0.0, 0.2, 0.0])
    assert merged.square == pytest.approx(0.09 / 0.04 + 0.01 / 0.09)
    assert merged.log == pytest.approx(np.log(0.04 * 0.09) + 2 * np.log(2 * np.pi))


@pytest.mark.parametrize("seed", range(4))
def test_the_variance_of_repeats_is_that_within_queries(seed):
    samples = some_samples(seed)
    square, more = 0.0, 0
    for i in range(6):
        own = (samples.functional == i) & samples.unknown
        if own.any():
            y, weights = samples.y[own], 1.0 / samples.share[own]
            square += weights @ (y - weights @ y / weights.sum()) ** 2
            more += own.sum() - 1
    assert samples.variance_of_repeats() == pytest.approx(square / max(more, 1))
    once = ScaledSamples(np.arange(3), np.arange(3.0), np.full(3, np.nan))
    assert once.variance_of_repeats() == 0.0


def test_samples_of_some_functionals_are_numbered_anew():
    samples = some_samples(0)
    chosen = np.array([4, 1, 5])
    some = samples.about(chosen)
    expected = [
        (int(np.flatnonzero(chosen == i)[0]), y, alpha, share)
        for i, y, alpha, share in zip(
            samples.functional, samples.y, samples.alpha, samples.share, strict=True
        )
        if i in chosen
    ]
    found = list(zip(some.functional, some.y, some.alpha, some.share, strict=True))
    np.testing.assert_equal(np.array(found), np.array(expected))
    one = ScaledSamples(np.array([0, 1]), np.zeros(2), np.zeros(2)).about(np.array([1]))
    assert_array_equal(one.share, [1.0])


@pytest.mark.parametrize("n", [5, 9])
def test_of_many_functionals_some_are_chosen_evenly(n, monkeypatch):
    monkeypatch.setattr(defaults, "N_TRIED", 5)
    rows = np.random.default_rng(0).random((n, 2))
    samples = ScaledSamples(np.arange(n), np.arange(float(n)), np.full(n, np.nan))
    functionals = Functionals.of_rows(rows)
    some, own = subsample(functionals, samples)
    assert len(some) == len(own.y) == 5
    assert (some is functionals) == (n == 5)
    assert_array_equal(own.y, [0, 1, 3, 5, 7] if n == 9 else np.arange(5))
    assert_array_equal(some.rows, rows[own.y.astype(int)])


def test_samples_have_units_and_factors_of_outliers():
    samples = Samples()
    for given in [(0, 5.0, 0.4, 1.0), (1, 7.0, np.nan, 2.0), (0, 9.0, np.nan, 1.0)]:
        samples.append(*given)
    samples.values.add(1)
    assert len(samples) == 3 and samples.is_answer.tolist() == [True, False, True]
    other = samples.with_factors({1: 4.0, 2: 3.0})
    assert samples.factors == {} and other.factors == {1: 4.0, 2: 3.0}
    assert samples.with_factors({}) is samples
    scaled = other.scaled(1.0, 2.0)
    assert_array_equal(scaled.functional, [0, 1, 0])
    assert_allclose(scaled.y, [2.0, 3.0, 4.0])
    assert_allclose(scaled.alpha, [0.1, np.nan, np.nan])
    assert_allclose(scaled.share, [1.0, 8.0, 3.0])
    assert_array_equal(scaled.unknown, [False, True, True])
    assert_allclose(samples.scaled(1.0, 2.0).share, [1.0, 2.0, 1.0])


# -- refits and comparisons -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relearn", "refits"),
    [("growing", [4, 5, 7, 9, 12, 15, 19]), ("doubling", [4, 8, 16]), (6, [6, 12, 18]), (None, [])],
)
def test_refits_come_as_often_as_they_shall_and_comparisons_after_them(relearn, refits):
    schedule = Schedule.of(relearn, 4, check_due=3)
    learned, compared = [], []
    for n in range(1, 21):
        if n >= schedule.learning_due:
            learned.append(n)
            schedule.record_refit(n)
            assert schedule.learned_at == n
        if n >= schedule.check_due and schedule.compares(n):
            compared.append(n)
    assert learned == refits
    assert schedule.n_checks == len(compared)
    if relearn is None:
        assert compared == [3, 6, 12]
    else:  # never between refits, except before the first
        assert set(compared[1:]) <= set(refits)
        assert all(b >= 2 * a for a, b in itertools.pairwise(compared))


def test_a_refit_that_is_asked_for_is_due_at_the_next_answer():
    schedule = Schedule.of("doubling", 4)
    schedule.record_refit(8)
    schedule.request_refit()
    assert schedule.learning_due == 9
    schedule.request_refit()
    assert schedule.learning_due == 9
    other = schedule.following(5, 4)
    assert (other.learning_due, other.learned_at, schedule.learning_due) == (13, 8, 9)
    assert schedule.following(None, 4).learning_due == np.inf


# -- queries that have nothing in common ----------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_means_are_shrunk_by_their_noise_in_proportion_to_their_differences(seed):
    rng = np.random.default_rng(seed)
    functional = np.append(np.arange(7), rng.integers(7, size=9))
    y = rng.normal(size=7)[functional] + 0.3 * rng.normal(size=16)
    groups = [y[functional == i] for i in range(7)]
    means, counts = np.array([g.mean() for g in groups]), np.array([len(g) for g in groups])
    belief, total = defaults.SHRINKAGE_BELIEF, means.var()
    within = sum(((g - g.mean()) ** 2).sum() for g in groups)
    noise = (within + belief * total / 2) / (16 - 7 + belief)
    between = max(total - noise * (1 / counts).mean(), defaults.SHRINKAGE_LEAST * total)
    share = counts / (counts + noise / between)
    expected = means.mean() + share * (means - means.mean())
    assert_allclose(shrinkage_means(functional, y), expected)
    assert_array_equal(shrinkage_means(np.array([0, 1, 1]), np.ones(3)), [1.0, 1.0])


# -- bad scores, and failures ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_bad_scores_are_moved_closer_smoothly_and_come_back(seed):
    scores = np.append(np.random.default_rng(seed).normal(size=20), [-30.0, -1e6])
    warp = Warp(scores)
    middle = np.median(scores)
    width = scores.max() - middle
    edge = middle - defaults.SCORE_STRAIGHT * width
    expected = [s if s >= edge else edge - width * (edge - s) / (width + edge - s) for s in scores]
    assert_allclose(warp(scores), expected)
    assert_allclose(warp.inverse(warp(scores)), scores, rtol=1e-5)
    assert warp.inverse(edge - 2.0 * width) == pytest.approx(scores.min())
    at = np.linspace(edge - 3.0 * width, edge + width, 50)
    step = 1e-6 * width
    assert_allclose(warp.slope(at), (warp(at + step) - warp(at - step)) / (2 * step), rtol=1e-4)
    assert_array_equal(warp.slope(scores[scores > edge]), 1.0)


def test_equal_scores_stay_and_a_plateau_has_the_width_of_its_rest():
    warp = Warp(np.ones(5))
    assert_array_equal(warp(np.array([1.0, 0.0])), [1.0, 0.0])
    assert_array_equal(warp.slope(np.array([1.0, 0.0])), 1.0)
    # Nine equal best ones: the first quantile of distances that is not zero is that of 0.9.
    scores = np.append(np.ones(9), [0.0, -99.0])
    width = 1e-3 * np.quantile(np.abs(scores - 1.0), 0.9)
    assert width > 0.0
    edge = 1.0 - defaults.SCORE_STRAIGHT * width
    assert_allclose(Warp(scores)(0.0), edge - width * edge / (width + edge))


def test_probabilities_of_success_are_those_of_a_process_without_each_outcome():
    rng = np.random.default_rng(0)
    rows = rng.random((24, 2))
    succeeded = (rows[:, 0] + 0.2 * rng.normal(size=24) > 0.4).astype(float)
    found = learned_success(rows, succeeded)
    model = SuccessModel(found._kernel, 0.7, rows, succeeded)
    kernel = found._kernel
    rate = (succeeded.sum() + 1) / 25
    assert model.rate == pytest.approx(rate)
    K = 0.7 * kernel(rows) / (1 + kernel.main_effects)
    Q = K + 0.3 * np.eye(24)
    others = []
    for i in range(24):
        rest = np.arange(24) != i
        weights = np.linalg.solve(Q[np.ix_(rest, rest)], succeeded[rest] - rate)
        others.append(rate + K[i, rest] @ weights)
    assert model.loss == pytest.approx(log_loss(np.array(others), succeeded))
    at = rng.random((5, 2))
    expected = rate + 0.7 * kernel(at, rows) / (1 + kernel.main_effects) @ np.linalg.solve(
        Q, succeeded - rate
    )
    assert_allclose(model.chance(at), np.clip(expected, 0, 1))
    # The best of all length scales and shares, if it is better than the rate of the others.
    losses = []
    for scale in defaults.SUCCESS_LENGTH_SCALES:
        for share in defaults.SUCCESS_SHARES:
            each = kernel.clone_with_theta(kernel.theta)
            each.length_scale = np.full(2, scale * defaults.ORDERED_LENGTH_SCALE * np.sqrt(2))
            losses.append(SuccessModel(each, share, rows, succeeded).loss)
    assert found.loss == pytest.approx(min(losses))
    of_others = (succeeded.sum() - succeeded + 1) / 24
    assert min(losses) < log_loss(of_others, succeeded) - defaults.SUCCESS_EVIDENCE
    assert log_loss(np.array([0.0, 1.0, 0.3]), np.array([0.0, 0.0, 1.0])) == pytest.approx(
        -np.log(0.98) - np.log(0.02) - np.log(0.3)
    )
    assert learned_success(rows, np.ones(24)) is None is learned_success(rows, np.zeros(24))

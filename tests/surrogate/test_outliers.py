"""Outliers against models that are conditioned anew without each answer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from skgpb import defaults
from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.outliers import IGNORED_FACTOR, compare_with_others, find_outliers
from skgpb.surrogate.samples import ScaledSamples

NOISE = 0.01
KERNEL = Matern(0.4, nu=2.5)
X = np.random.default_rng(0).random((14, 2))
PLACES = np.concatenate([np.arange(14), [3, 3, 7]])


def samples_of(y):
    return ScaledSamples(PLACES, np.asarray(y, dtype=float), np.full(len(y), np.nan))


def process(y, factors=(), without=()):
    gp = GaussianProcess(KERNEL, 2)
    gp.set_units(0.0, 1.0)
    factors = dict(factors)
    for s, place in enumerate(PLACES):
        if s not in without:
            gp.observe(X[place : place + 1], float(y[s]), NOISE * factors.get(s, 1.0))
    return gp


@pytest.mark.parametrize("factors", [{}, {3: 50.0}, {7: 400.0, 15: 10.0}])
def test_each_answer_is_compared_with_a_model_without_it(factors):
    rng = np.random.default_rng(1)
    y = np.sin(5.0 * X).sum(axis=1)[PLACES] + 0.1 * rng.standard_normal(len(PLACES))
    numbers, error, deviation, _ = compare_with_others(
        process(y, factors), samples_of(y), NOISE, factors
    )
    np.testing.assert_array_equal(numbers, np.arange(len(PLACES)))
    for s, place in enumerate(PLACES):
        mean, std = process(y, factors, [s]).moments(X[place : place + 1], std=True)
        np.testing.assert_allclose(error[s], y[s] - mean[0], rtol=1e-8, atol=1e-10)
        expected = abs(y[s] - mean[0]) / np.sqrt(std[0] ** 2 + NOISE)
        np.testing.assert_allclose(deviation[s], expected, rtol=1e-8, atol=1e-9)


def test_the_worst_is_left_out_first_and_weighed_by_its_error_afterwards():
    y = np.zeros(len(PLACES))
    y[5] = 30.0
    y[8] = -50.0
    first = find_outliers(process(y), samples_of(y), NOISE, {})
    assert first == {8: IGNORED_FACTOR}
    second = find_outliers(process(y, first), samples_of(y), NOISE, first)
    assert second[5] == IGNORED_FACTOR
    assert second[8] > 100.0
    third = find_outliers(process(y, second), samples_of(y), NOISE, second)
    assert third.keys() == {5, 8}
    np.testing.assert_allclose([third[5], third[8]], [9e4, 25e4], rtol=0.05)


def test_an_answer_that_is_confirmed_is_not_wild():
    y = np.zeros(len(PLACES))
    y[[7, 16]] = 30.0  # the same query
    assert 7 not in find_outliers(process(y), samples_of(y), NOISE, {})
    y[16] = 0.0
    assert find_outliers(process(y), samples_of(y), NOISE, {}) == {7: IGNORED_FACTOR}


def test_an_answer_is_wild_no_more_once_it_is_confirmed():
    y = np.zeros(len(PLACES))
    y[[7, 16]] = 30.0
    factors = {7: 9e4}
    assert 7 not in find_outliers(process(y, factors), samples_of(y), NOISE, factors)


def test_what_was_cleared_and_what_is_no_larger_than_usual_is_not_wild():
    y = np.zeros(len(PLACES))
    y[8] = -50.0
    assert find_outliers(process(y), samples_of(y), NOISE, {}, cleared={8}) == {}
    y = 10.0 * X.sum(axis=1)[PLACES]
    y[8] -= 1.5 * y.std()
    _, _, deviation, _ = compare_with_others(process(y), samples_of(y), NOISE, {})
    assert deviation[8] > 10.0
    assert find_outliers(process(y), samples_of(y), NOISE, {}) == {}


@pytest.mark.parametrize(("n_in_block", "expected"), [(1, {}), (2, {8: IGNORED_FACTOR})])
def test_the_first_answer_of_a_block_is_not_wild(n_in_block, expected):
    y = np.zeros(14)
    y[8] = -50.0
    gp = GaussianProcess(KERNEL, 2)
    for s in range(14):
        gp.observe(X[s : s + 1], y[s], NOISE, 2 if 8 <= s < 8 + n_in_block else 1)
    samples = ScaledSamples(np.arange(14), y, np.full(14, np.nan))
    assert find_outliers(gp, samples, NOISE, {}) == expected


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_is_confirmed_by_the_mean_of_others_to_its_query(seed):
    rng = np.random.default_rng(seed)
    factors, share = {3: 50.0}, rng.uniform(0.5, 2.0, len(PLACES))
    y = 0.4 * rng.standard_normal(len(PLACES))
    samples = ScaledSamples(PLACES, y, np.full(len(y), np.nan), share)
    used = NOISE * share * [factors.get(s, 1.0) for s in range(len(PLACES))]
    gp = GaussianProcess(KERNEL, 2)
    for place, value, noise in zip(PLACES, y, used, strict=True):
        gp.observe(X[place : place + 1], float(value), float(noise))
    *_, confirmed = compare_with_others(gp, samples, NOISE, factors)
    for s, place in enumerate(PLACES):
        same = np.flatnonzero((place == PLACES) & (np.arange(len(PLACES)) != s))
        weights = 1.0 / used[same]
        apart = abs(y[s] - weights @ y[same] / weights.sum()) if len(same) else np.inf
        most = (
            defaults.OUTLIER_Z * np.sqrt(NOISE * share[s] + 1.0 / weights.sum()) if len(same) else 0
        )
        assert confirmed[s] == (apart <= most)
        # Just within and just beyond.
        for times, expected in ((0.999, True), (1.001, False)) if len(same) == 1 else ():
            moved = y.copy()
            moved[s] = y[same[0]] + times * most
            again = ScaledSamples(PLACES, moved, samples.alpha, share)
            assert compare_with_others(gp, again, NOISE, factors)[-1][s] == expected

"""Recommendations where no answer says anything of another query."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer, defaults
from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.criticism import explains_nothing, lacks_fit, leave_one_out
from skgpb.surrogate.shrinkage import shrinkage_means


def told(value, n, noise, seed, **settings):
    """GP-UCB that was told values with noise at random points of the square, which it returns."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    f = value(X, rng)
    y = f + noise * rng.standard_normal(n)
    return GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=seed, **settings).tell(X, y), X, f


def white(X, rng):
    return rng.standard_normal(len(X))


def wave(X, rng):
    return np.sin(5.0 * X[:, 0]) + X[:, 1]


def test_independent_means_are_those_of_a_process_with_a_white_kernel():
    rng = np.random.default_rng(0)
    functional = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    y = rng.standard_normal(40)[functional] + 0.5 * rng.standard_normal(len(functional))
    means, counts = shrinkage_means(functional, y), np.bincount(functional)
    own = np.bincount(functional, y) / counts
    # All are shrunk to one centre by factors n / (n + ratio) with one ratio.
    shrunk = (means - own.mean()) / (own - own.mean())
    ratio = counts * (1.0 / shrunk - 1.0)
    np.testing.assert_allclose(ratio, ratio[0])
    assert 0.1 < ratio[0] < 0.6  # the variance of noise over that of values is 0.25


def test_independent_means_of_equal_answers_are_these():
    assert np.array_equal(shrinkage_means(np.array([0, 1, 1]), np.full(3, 2.0)), [2.0, 2.0])


def test_whether_a_model_explains_anything_is_that_of_models_without_each_answer():
    for value, expected in ((white, True), (wave, False)):
        gp = told(value, 40, 0.1, 0)[0]._model.process
        errors, _ = leave_one_out(gp)
        targets = gp.posterior.targets()
        by_others = [targets[i] - np.delete(targets, i).mean() for i in range(40)]
        assert explains_nothing(gp) == (errors @ errors >= np.dot(by_others, by_others)) == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(5))
def test_a_model_that_explains_nothing_is_not_asked_what_is_best(seed):
    optimizer, X, f = told(white, 60, 0.2, seed)
    found = optimizer.recommend()
    assert found == optimizer.recommend(method="shrinkage")
    # Of 60 values the best third, although the noise is not known.
    (at,) = np.flatnonzero((found.points == X).all(axis=1))
    assert (f > f[at]).sum() < 20
    smooth, _, _ = told(wave, 60, 0.2, seed)
    assert smooth.recommend() == smooth.recommend(method="posterior")


NOISE = 0.25
PLACES = np.linspace(0.0, 1.0, 16)
REPEATED = range(0, 16, 3)


def answers(seed, roughness, noise):
    """Number, answer: one to each place, and two more to some, where the noise may be less."""
    rng = np.random.default_rng(seed)
    f = np.sin(5.0 * PLACES) + roughness * rng.standard_normal(16)
    often = list(REPEATED) * 3
    alone = [i for i in range(16) if i not in REPEATED]
    deviations = np.repeat([noise, np.sqrt(NOISE - roughness**2)], [len(often), len(alone)])
    told = np.array(often + alone)
    return told, f[told] + deviations * rng.standard_normal(len(told))


def process(told, y):
    gp = GaussianProcess(RBF(0.4), n_columns=1)
    for i, value in zip(told, y, strict=True):
        gp.observe(PLACES[i].reshape(1, 1), value, noise=NOISE)
    return gp


def odds_by_refits(told, y):
    """Probability of such repeats, and log odds of roughness by the definition of leaving out."""
    counts, kernel = np.bincount(told), RBF(0.4)
    means = np.bincount(told, y) / counts
    square, more = ((y - means[told]) ** 2).sum() / NOISE, len(y) - 16
    of_repeats, odds = NOISE * (square + 1.0) / (more + 1.0), 0.0
    for i in REPEATED:
        others = np.delete(np.arange(16), i)
        Q = kernel(PLACES[others, None]) + np.diag(NOISE / counts[others])
        k = kernel(PLACES[[i], None], PLACES[others, None])[0]
        mean, variance = k @ np.linalg.solve(Q, means[others]), 1.0 - k @ np.linalg.solve(Q, k)
        smooth = variance + of_repeats / counts[i]
        rough = smooth + NOISE - of_repeats
        odds += norm.logpdf(means[i], mean, np.sqrt(rough))
        odds -= norm.logpdf(means[i], mean, np.sqrt(smooth))
    return chi2.cdf(square, more), odds


@pytest.mark.parametrize("seed", range(4))
def test_the_odds_of_roughness_are_those_of_predictions_by_all_others(monkeypatch, seed):
    told, y = answers(seed, 0.45, 0.1)
    gp, (chance, odds) = process(told, y), odds_by_refits(told, y)
    assert chance < 0.01
    for factor, expected in ((1.0 - 1e-7, True), (1.0 + 1e-7, False)):
        monkeypatch.setattr(defaults, "ODDS_OF_ROUGHNESS", np.exp(odds) * factor)
        assert lacks_fit(gp, NOISE) == expected
    monkeypatch.setattr(defaults, "ODDS_OF_ROUGHNESS", 1e-300)
    for factor, expected in ((1.0 + 1e-7, True), (1.0 - 1e-7, False)):
        monkeypatch.setattr(defaults, "LACK_OF_FIT", chance * factor)
        assert lacks_fit(gp, NOISE) == expected


def test_roughness_is_taken_for_noise_where_there_is_some():
    said = {
        case: sum(lacks_fit(process(*answers(seed, *case)), NOISE) for seed in range(60))
        for case in ((0.45, 0.1), (0.0, 0.5), (0.0, 0.1))
    }
    assert said[0.45, 0.1] >= 22  # fewer have a probability of 0.0003 at 35 of 60
    assert said[0.0, 0.5] <= 3  # more have a probability of 0.003 at one in a hundred
    assert said[0.0, 0.1] <= 3  # the noise is only less where queries are repeated


def test_one_answer_to_each_query_says_nothing_of_roughness():
    assert not lacks_fit(process(np.arange(16), PLACES), NOISE)
    assert not lacks_fit(GaussianProcess(RBF(0.4), n_columns=1), NOISE)


@pytest.mark.parametrize("seed", range(3))
def test_what_takes_roughness_for_noise_is_not_asked_what_is_best(seed):
    rng = np.random.default_rng([seed, 1])
    optimizer, X, f = told(lambda X, rng: wave(X, rng) + 0.7 * white(X, rng), 64, 0.05, seed)
    assert optimizer.recommend() == optimizer.recommend(method="posterior")
    # Hyperparameters are learned again from 128 answers.
    for i in np.argsort(-f)[:8].repeat(3):
        optimizer.tell(X[i], f[i] + 0.05 * rng.standard_normal())
    found = optimizer.recommend()
    assert found == optimizer.recommend(method="shrinkage")
    assert found.points.tolist() == [X[np.argmax(f)].tolist()]


def test_a_model_that_was_given_is_believed():
    optimizer, _, _ = told(white, 60, 0.2, 1, alpha=0.04)
    assert optimizer.recommend() == optimizer.recommend(method="posterior")

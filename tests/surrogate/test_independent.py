"""Recommendations where no answer says anything of another query."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb import GPUCBOptimizer
from skgpb.surrogate.criticism import explains_nothing, leave_one_out
from skgpb.surrogate.independent import independent_means


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
    means, counts = independent_means(functional, y), np.bincount(functional)
    own = np.bincount(functional, y) / counts
    # All are shrunk to one centre by factors n / (n + ratio) with one ratio.
    shrunk = (means - own.mean()) / (own - own.mean())
    ratio = counts * (1.0 / shrunk - 1.0)
    np.testing.assert_allclose(ratio, ratio[0])
    assert 0.1 < ratio[0] < 0.6  # the variance of noise over that of values is 0.25


def test_independent_means_of_equal_answers_are_these():
    assert np.array_equal(independent_means(np.array([0, 1, 1]), np.full(3, 2.0)), [2.0, 2.0])


def test_whether_a_model_explains_anything_is_that_of_models_without_each_answer():
    for value, expected in ((white, True), (wave, False)):
        optimizer, X, f = told(value, 40, 0.1, 3)
        gp = optimizer._model.process
        errors, _ = leave_one_out(gp)
        targets = gp.posterior.targets()
        by_others = [targets[i] - np.delete(targets, i).mean() for i in range(40)]
        assert explains_nothing(gp) == (errors @ errors >= np.dot(by_others, by_others)) == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_model_that_explains_nothing_is_not_asked_what_is_best(seed):
    optimizer, X, f = told(white, 60, 0.2, seed)
    found = optimizer.recommend()
    assert found == optimizer.recommend(rule="independent")
    # Of 60 values the best third, although the noise is not known.
    (at,) = np.flatnonzero((X == found.points).all(axis=1))
    assert (f > f[at]).sum() < 20
    smooth, X, f = told(wave, 60, 0.2, seed)
    assert smooth.recommend() == smooth.recommend(rule="posterior")


def test_a_model_that_was_given_is_believed():
    settings = {"alpha": 0.04}
    optimizer, _, _ = told(white, 60, 0.2, 1, **settings)
    assert optimizer.recommend() == optimizer.recommend(rule="posterior")

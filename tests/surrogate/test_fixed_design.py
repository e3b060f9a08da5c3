"""What answers tell of differences, against the definitions."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Matern

from skgpb.surrogate import GaussianProcess, fixed_design
from skgpb.surrogate.fixed_design import chances_of_best, differences, outdone, outdone_within

KERNEL = 1.3 * Matern(0.3, nu=1.5)
ARMS = np.linspace(0, 1, 9)[:, None]


def observed(scale=1.0, n=14):
    """A process told of points, some again, and the points, answers and noise variances."""
    rng = np.random.default_rng(3)
    X, y = rng.random((n, 1)), rng.normal(size=n)
    X[5], X[7] = X[1], ARMS[2]
    noise = rng.uniform(0.01, 0.3, n)
    gp = GaussianProcess(KERNEL, 1)
    gp.set_units(0.4, scale)
    gp.observe_all(X, y, noise)
    return gp, X, (y - 0.4) / scale, noise / scale**2


def parts(gp):
    return tuple(np.concatenate(each) for each in zip(*differences(gp, ARMS), strict=True))


def naive(X, y, noise):
    """Means, residual functionals over (ARMS, X) and weights, all from the definition."""
    weights = np.linalg.solve(KERNEL(X) + np.diag(noise), KERNEL(X, ARMS)).T
    residuals = np.hstack([np.eye(len(ARMS)), -weights])
    return weights @ y, residuals, weights


def test_parts_of_all_differences(monkeypatch):
    for scale in (1.0, 3.0):
        gp, X, y, noise = observed(scale)
        mean, residuals, weights = naive(X, y, noise)
        gram = KERNEL(np.vstack([ARMS, X]))
        gap, own, of_noise = parts(gp)
        for i in range(len(ARMS)):
            for j in range(len(ARMS)):
                r, w = residuals[j] - residuals[i], weights[j] - weights[i]
                assert_allclose(gap[i, j], mean[j] - mean[i], atol=1e-8)
                assert_allclose(own[i, j], r @ gram @ r, atol=1e-8)
                assert_allclose(of_noise[i, j], w**2 @ noise, atol=1e-8)
    monkeypatch.setattr(fixed_design, "BLOCK", 20)
    for one, other in zip(parts(gp), (gap, own, of_noise), strict=True):
        assert one.shape == other.shape
        assert_allclose(one, other, atol=1e-12)


def test_functionals_that_lie_below_another_one():
    gp, X, y, noise = observed(2.0)
    gap, own, of_noise = parts(gp)
    width = 0.2 * np.sqrt(own) + 0.5 * np.sqrt(2.0 * 0.3 * of_noise)
    expected = [(gap[i] > width[i]).any() for i in range(len(ARMS))]
    found = outdone(gp, ARMS, 0.2, 0.5, 0.3)
    assert_array_equal(found, expected)
    assert 0 < found.sum() < len(ARMS)
    _, _, weights = naive(X, y, noise)
    left = []
    for epsilon in np.linspace(0.02, 1.0, 20):
        moved = epsilon / 2.0 * (1.0 + np.abs(weights).sum(axis=1))
        expected = [(gap[i] > width[i] + moved[i] + moved).any() for i in range(len(ARMS))]
        assert_array_equal(outdone(gp, ARMS, 0.2, 0.5, 0.3, epsilon), expected)
        left.append(len(ARMS) - sum(expected))
    assert len(set(left)) > 3
    width = 0.5 * np.sqrt(own + of_noise) + 0.2 / 2.0
    expected = [(gap[i] > width[i]).any() for i in range(len(ARMS))]
    assert_array_equal(outdone_within(gp, ARMS, 0.25, 0.2), expected)


def test_chances_are_at_most_those_against_one_other():
    gp, *_ = observed()
    mean, cov = gp.moments(ARMS, cov=True)
    found = chances_of_best(gp, ARMS)
    for i in range(len(ARMS)):
        others = [j for j in range(len(ARMS)) if j != i]
        stds = [np.sqrt(cov[i, i] + cov[j, j] - 2 * cov[i, j]) for j in others]
        least = min(norm.cdf((mean[i] - mean[j]) / s) for j, s in zip(others, stds, strict=True))
        assert_allclose(found[i], min(0.5, least), atol=1e-8)
    # Every draw has one largest: frequencies are below the bounds but for six deviations.
    draws = np.random.default_rng(0).multivariate_normal(mean, cov, 4000, method="eigh")
    shares = np.bincount(draws.argmax(axis=1), minlength=len(ARMS)) / 4000
    assert (shares <= found + 6 * np.sqrt(found / 4000) + 1e-9).all()


def test_what_is_known_exactly():
    gp = GaussianProcess(KERNEL, 1)
    gp.observe_all(ARMS, np.arange(9.0), np.zeros(9))
    assert_array_equal(chances_of_best(gp, ARMS) > 0.1, np.arange(9) == 8)
    twice = np.vstack([ARMS, ARMS[8:]])
    assert_allclose(chances_of_best(gp, twice)[[8, 9]], 0.5)
    assert_array_equal(outdone(gp, ARMS, 2.0, 1.0, 3.0), np.arange(9) < 8)


def test_the_width_holds_for_a_design_and_not_for_half_of_it():
    # One difference, a function of norm 2 and noise that differs: at most delta above the width.
    rng = np.random.default_rng(1)
    X, noise, log_odds = np.repeat(ARMS, 2, axis=0), np.tile([0.05, 0.5], 9), np.log(5.0)
    centers, weights = rng.random((3, 1)), rng.normal(size=3)
    weights *= 2.0 / np.sqrt(weights @ KERNEL(centers) @ weights)
    truth, broken, half, n = KERNEL(ARMS, centers) @ weights, 0, 0, 300
    for _ in range(n):
        gp = GaussianProcess(KERNEL, 1)
        y = np.repeat(truth, 2) + np.sqrt(noise) * rng.normal(size=18)
        gp.observe_all(X, y, noise)
        gap, own, of_noise = (each[2, 6] for each in parts(gp))
        error = gap - (truth[6] - truth[2])
        broken += error > 2.0 * np.sqrt(own) + np.sqrt(2.0 * log_odds * of_noise)
        half += error > 0.4 * np.sqrt(2.0 * log_odds * of_noise)
    # At most 60 are expected; 6 deviations of a binomial number more.
    assert broken <= 60 + 6 * np.sqrt(300 * 0.2 * 0.8)
    assert half > broken

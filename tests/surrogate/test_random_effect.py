"""A random effect of blocks beside f, against dense algebra."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from skgpb.kernels._random_effect import RandomEffect
from skgpb.surrogate.draws import PosteriorDraws
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.likelihood import Likelihood, Prior
from skgpb.surrogate.model import Model, ModelOptions

KERNEL = RandomEffect(ConstantKernel(1.3) * Matern([0.4, 0.7], nu=2.5), 0.7, (1e-6, 3.0))


def case(seed, n=25):
    """Points, some of them repeated in the same block and in others, blocks, answers and noises."""
    rng = np.random.default_rng(seed)
    points = rng.random((9, 2))
    slots = rng.integers(0, 9, n)
    strata = rng.integers(0, 4, n)
    slots[-3:], strata[-3:] = slots[0], [strata[0], 1, 2]
    return points, slots, strata, rng.normal(3.0, 2.0, n), rng.uniform(0.01, 0.3, n)


def dense(kernel, X, strata, y, noises, T, Y=None):
    """Means, covariances and log likelihood of a Gaussian process with the extra kernel."""
    same = (strata[:, None] == strata) & (strata[:, None] > 0)
    Q = kernel.base(X) + kernel.variance * same + np.diag(noises)
    K = kernel.base(T, X)
    mean = K @ np.linalg.solve(Q, y)
    cov = kernel.base(T) - K @ np.linalg.solve(Q, K.T)
    fit = -0.5 * y @ np.linalg.solve(Q, y) - 0.5 * np.linalg.slogdet(Q)[1]
    levels = np.arange(1, 4)[:, None] == strata
    Z = kernel.variance * levels
    effects = Z @ np.linalg.solve(Q, y)
    of_effects = kernel.variance * np.eye(3) - Z @ np.linalg.solve(Q, Z.T)
    return mean, cov, fit - 0.5 * len(y) * np.log(2 * np.pi), effects, of_effects


def observed(case, lazy=False):
    points, slots, strata, y, noises = case
    gp = GaussianProcess(KERNEL, 2)
    gp.lazy = lazy
    gp.offset, gp.scale = 1.0, 2.0
    gp.track(points)
    for i, slot in enumerate(slots):
        if strata[i]:
            gp.observe(points[[slot]], y[i], noises[i], int(strata[i]))
        else:
            gp.observe_tracked(int(slot), y[i], noises[i])
    return gp


def changed(gp):
    """The same process by every way in which one is made from another."""
    yield gp
    yield gp.copy()
    yield pickle.loads(pickle.dumps(gp))
    after = gp.without_answers(gp.kernel)
    after.offset, after.scale, after._answers = gp.offset, gp.scale, gp._answers
    after.track(gp.tracked.rows)
    yield after
    yield gp.with_hyperparameters(gp.kernel.theta, gp.merged(), gp.offset, gp.scale)
    other = gp.with_hyperparameters(gp.kernel.theta - 0.3, gp.merged(), gp.offset, gp.scale)
    yield other.with_hyperparameters(gp.kernel.theta, other.merged(), gp.offset, gp.scale)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lazy", [False, True])
def test_moments_likelihood_and_effects_are_those_of_dense_algebra(seed, lazy):
    points, slots, strata, y, noises = given = case(seed)
    scaled = (y - 1.0) / 2.0
    mean, cov, likelihood, effects, of_effects = dense(
        KERNEL, points[slots], strata, scaled, noises / 4.0, points
    )
    for gp in changed(observed(given, lazy)):
        tracked = gp.tracked_moments()
        assert_allclose(tracked[0], 1.0 + 2.0 * mean, atol=1e-8)
        assert_allclose(tracked[1] ** 2, 4.0 * np.diag(cov), atol=1e-8)
        assert_allclose(gp.moments(points, cov=True)[1], 4.0 * cov, atol=1e-8)
        assert_allclose(gp.posterior.log_marginal_likelihood(), likelihood, atol=1e-8)
        found, covariance = gp.effects(3)
        assert_allclose(found, 2.0 * effects, atol=1e-8)
        assert_allclose(covariance, 4.0 * of_effects, atol=1e-8)
        at_observed = 1.0 + 2.0 * gp.means_of_f()
        assert_allclose(at_observed, gp.moments(gp.observed.rows), atol=1e-8)


def test_repeats_are_merged_within_a_block_only():
    gp = observed(case(0))
    _, slots, strata, *_ = case(0)
    assert len(gp.observed) == len(set(zip(slots.tolist(), strata.tolist(), strict=True)))
    assert gp.posterior.counts().sum() == len(slots)


def test_leaving_one_answer_out_knows_its_block():
    rng = np.random.default_rng(3)
    X, strata = rng.random((8, 2)), np.array([1, 1, 1, 2, 2, 0, 3, 3])
    y, noises = rng.normal(size=8), np.full(8, 0.1)
    gp = GaussianProcess(KERNEL, 2)
    for i in range(8):
        gp.observe(X[[i]], y[i], noises[i], int(strata[i]))
    errors, variances = gp.posterior.leave_one_out(0)
    same = (strata[:, None] == strata) & (strata[:, None] > 0)
    Q = KERNEL.base(X) + KERNEL.variance * same + np.diag(noises)
    for i in range(8):
        rest = np.delete(np.arange(8), i)
        weights = np.linalg.solve(Q[np.ix_(rest, rest)], Q[rest, i])
        assert_allclose(errors[i], y[i] - weights @ y[rest], atol=1e-8)
        assert_allclose(variances[i], Q[i, i] - weights @ Q[rest, i], atol=1e-8)


@pytest.mark.parametrize("free", [True, False])
def test_likelihood_and_its_gradient_count_the_effect(free):
    model = Model(KERNEL.base, 2, ModelOptions(), prior=Prior(KERNEL.base.theta, np.ones(3)))
    model = model.with_effects()
    points, slots, strata, y, _ = case(1)
    for slot, stratum, value in zip(slots, strata, y, strict=True):
        model.observe(points[[slot]], float(value), 0.05, stratum=int(stratum))
    samples = model.samples.scaled(1.0, 2.0)
    observed = model.process.observed
    likelihood = Likelihood(covariance_of_functionals(KERNEL, observed, free), samples, None, None)
    theta = KERNEL.theta if free else np.empty(0)
    noises = np.full(len(y), 0.05 / 4.0)
    expected = dense(KERNEL, points[slots], strata, (y - 1.0) / 2.0, noises, points)[2]
    assert_allclose(likelihood(theta)[0], expected, atol=1e-8)
    if free:
        steps = 1e-5 * np.eye(len(theta))
        slopes = [likelihood(theta + e)[0] - likelihood(theta - e)[0] for e in steps]
        assert_allclose(likelihood(theta)[1], np.array(slopes) / 2e-5, rtol=1e-6)


def test_draws_have_the_moments_of_the_posterior():
    gp = observed(case(2))
    draws = PosteriorDraws(gp)(20_000, np.random.default_rng(0))
    mean, cov = gp.moments(gp.tracked.rows, cov=True)
    mean, cov = (mean - gp.offset) / gp.scale, cov / gp.scale**2
    error = np.sqrt(np.diag(cov) / len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * error).all()
    spread = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / len(draws))
    assert (np.abs(np.cov(draws.T) - cov) < 4.5 * spread).all()


def test_models_that_are_averaged_have_the_effect_in_proportion_to_f():
    rng = np.random.default_rng(5)
    prior = Prior(np.log([1.0, 0.4, 0.4]), np.array([1.0, 0.5, 0.5]))
    kernel = ConstantKernel(1.0) * Matern([0.4, 0.4], nu=2.5)
    model = Model(kernel, 2, ModelOptions(optimizer="fmin_l_bfgs_b"), prior=prior).with_effects()
    for i in range(16):
        x = rng.random((1, 2))
        value = float(np.sin(5 * x[0, 0]) + [1.0, -1.0][i % 2] + 0.05 * rng.normal())
        model.observe(x, value, stratum=1 + i % 2)
        model = model.refit() if model.is_due else model
    ratio = model.process.kernel.variance / model.process.kernel.base.k1.constant_value
    T = rng.random((5, 2))
    strata = model.process.observed.strata
    moments = []
    for gp in model.mixture.processes:
        kernel = gp.kernel
        assert_allclose(kernel.variance / kernel.base.k1.constant_value, ratio)
        y = (np.array(model.samples.reward) - gp.offset) / gp.scale
        merged = gp.posterior.noises()
        mean, cov, *_ = dense(kernel, gp.observed.rows, strata, y, merged, T)
        moments.append(mean * gp.scale + gp.offset)
        assert_allclose(gp.moments(T, std=True)[1] ** 2, np.diag(cov) * gp.scale**2, atol=1e-8)
    averaged = model.mixture.weights @ np.array(moments)
    assert_allclose(model.mixture.moments(T), averaged, atol=1e-8)

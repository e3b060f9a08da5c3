"""The gain of further answers, against answers that are simulated."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer
from skgpb.acquisition.improvement import log_own_gain
from skgpb.optimizers._stopping import expected_gain, greedy_batch
from skgpb.surrogate import GaussianProcess


def process(noise, seed=0):
    rng = np.random.default_rng(seed)
    gp = GaussianProcess(RBF(0.2), 1)
    gp.offset, gp.scale = 3.0, 2.0
    for x in rng.random(5):
        gp.observe(np.array([[x]]), 3.0 + 2.0 * float(np.sin(6 * x)), noise)
    return gp, list(np.linspace(0, 1, 41)[:, None, None])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("n", [1, 4])
def test_the_gain_is_that_of_answers_which_are_simulated(noise, n):
    gp, blocks = process(noise)
    chosen = greedy_batch(gp, blocks, noise, n)
    gain = expected_gain(gp, blocks, noise, chosen)
    rows, rng = np.concatenate(blocks), np.random.default_rng(1)
    mean, cov = gp.moments(rows[chosen], cov=True)
    best, gains = gp.moments(rows).max(), []
    for f in rng.multivariate_normal(mean, cov, 1500):
        later = gp.copy()
        for i, value in zip(chosen, f, strict=True):
            later.observe(rows[[i]], value + np.sqrt(noise) * rng.normal(), noise)
        gains.append(later.moments(rows).max() - best)
    error = np.std(gains) / np.sqrt(len(gains))
    assert abs(np.mean(gains) - gain) < 4.0 * error + 0.01 * gain


def test_what_is_known_brings_nothing():
    gp = GaussianProcess(RBF(0.2), 1)
    blocks = list(np.linspace(0, 1, 4)[:, None, None])
    for block in blocks:
        gp.observe(block, float(block[0, 0]), 0.0)
    assert expected_gain(gp, blocks, 0.0, greedy_batch(gp, blocks, 0.0, 10)) < 1e-6


def test_gains_are_in_the_units_of_the_answers_and_reading_changes_nothing():
    gains = []
    for unit in (1.0, 1000.0):
        opt = GPUCBOptimizer(bounds=[(0, 1)] * 3, regret="simple", random_state=0)
        for _ in range(12):
            query = opt.ask()
            opt.tell(query, unit * float(-np.sum((query.points - 0.4) ** 2)))
        before = opt._repeat_events(opt._events).ask()
        gains.append(opt._comparison(opt.recommend()).expected_gain(opt.alpha_, 10))
        assert opt.ask() == before
    assert_allclose(gains[1], 1000.0 * gains[0], rtol=1e-3)
    assert gains[0] > 0.0


def test_the_noise_of_further_answers_is_as_little_known_as_that_of_past_ones():
    opt = GPUCBOptimizer(bounds=[(0, 1)] * 3, regret="simple", random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        query = opt.ask()
        opt.tell(query, float(-np.sum((query.points - 0.4) ** 2)) + 0.1 * rng.normal())
    comparison = opt._comparison(opt.recommend())
    blocks, models, gp = comparison.row_sets(), comparison.models(), opt._model.process
    assert len(set(models.noises)) > 1
    chosen = greedy_batch(gp, blocks, opt.alpha_, 10)
    each = zip(models.processes, models.noises, strict=True)
    gains = [expected_gain(process, blocks, noise, chosen) for process, noise in each]
    assert_allclose(comparison.expected_gain(opt.alpha_, 10), models.weights @ gains)


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_under_limits_the_gain_is_that_of_values_which_count_as_far_as_these_hold(noise):
    gp, blocks = process(noise)
    rows, rng = np.concatenate(blocks), np.random.default_rng(0)
    mean, std = gp.moments(rows, std=True)
    for p in rng.random((20, len(rows))):
        limits = SimpleNamespace(weights=lambda rows, p=p: p)
        worth = mean[-1] + p * (mean - mean[-1])
        # By its own answer alone the mean of a functional moves by this standard deviation.
        move = p * std**2 / np.sqrt(std**2 + noise)
        behind = [worth[i] - np.delete(worth, i).max() for i in range(len(rows))]
        gains = move * norm.pdf(behind / move) + behind * norm.cdf(behind / move)
        gains -= np.maximum(behind, 0.0)
        assert greedy_batch(gp, blocks, noise, 1, limits) == [gains.argmax()]


@pytest.mark.parametrize("noise", [0.0, 0.01, 1.0])
def test_functionals_of_a_batch_are_chosen_given_the_answers_to_those_before(noise):
    gp, blocks = process(0.3)
    rows, later = np.concatenate(blocks), gp.copy()
    mean = gp.moments(rows)
    chosen = greedy_batch(gp, blocks, noise, 5)
    for i in chosen:
        var = later.moments(rows, std=True)[1] ** 2
        gains = log_own_gain(mean, var, np.full(len(rows), noise))
        assert gains[i] >= gains.max() - 1e-6
        later.observe(rows[[i]], mean[i], noise)  # answers at their means move no mean
    assert len(set(chosen)) > 1

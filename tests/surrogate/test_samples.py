"""Noise that several answers have in common: densities, slopes, units, and draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb.surrogate.draws import PosteriorDraws
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.gram import covariance_of
from skgpb.surrogate.length_scales import consistent
from skgpb.surrogate.likelihood import Likelihood, Prior
from skgpb.surrogate.model import Samples
from skgpb.surrogate.samples import SharedNoise
from skgpb.surrogate.widths import norm_beta

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(7, 1))
Y = np.sin(5 * X[:, 0]) + 0.2 * RNG.normal(size=7)
KERNEL = ConstantKernel(1.3) * RBF(0.3)
#: Covariance of the first three, in units of the learned one; that of the last two is known.
SHAPE = np.diag([1.0, 2.0, 0.5]) + 0.8
KNOWN = np.array([[0.05, 0.04], [0.04, 0.06]])


def told():
    """Three answers with learned noise in common, two alone, two with known noise in common."""
    samples = Samples()
    samples.shared.append(SharedNoise.of(SHAPE, 0))
    for i in range(3):
        samples.append(i, Y[i], np.nan, SHAPE[i, i])
    samples.append(3, Y[3], 0.1)
    samples.append(4, Y[4], np.nan)
    samples.shared.append(SharedNoise.of(KNOWN, 5))
    for i in range(2):
        samples.append(5 + i, Y[5 + i], KNOWN[i, i])
    return samples


def covariance_of_noise(level, unit=1.0):
    return block_diag(level * SHAPE, 0.1 / unit, level, KNOWN / unit)


def likelihood(samples, X):
    flat = Prior(np.zeros(2), np.full(2, np.inf)), Prior(np.zeros(1), np.full(1, np.inf))
    return Likelihood(covariance_of(KERNEL, X), samples, *flat)


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_log_densities_and_their_slopes_are_those_of_the_whole_covariance(scale):
    of = likelihood(told().scaled(0.3, scale), X)
    x = np.array([0.2, -1.0, np.log(0.07)])
    value, gradient = of(x)
    K = KERNEL.clone_with_theta(x[:2])(X) + covariance_of_noise(0.07, scale**2)
    density = multivariate_normal(np.zeros(7), K).logpdf((Y - 0.3) / scale)
    assert value == pytest.approx(density, abs=1e-9)
    for j, step in enumerate(1e-6 * np.eye(3)):
        slope = (of(x + step)[0] - of(x - step)[0]) / 2e-6
        assert gradient[j] == pytest.approx(slope, rel=1e-6)


def test_a_share_of_the_answers_has_its_share_of_the_covariances():
    chosen = np.array([0, 2, 4, 6])
    value = likelihood(told().scaled(0.0, 1.0).about(chosen), X[chosen])(
        np.array([0.2, -1.0, np.log(0.07)])
    )[0]
    K = KERNEL.clone_with_theta(np.array([0.2, -1.0]))(X) + covariance_of_noise(0.07)
    density = multivariate_normal(np.zeros(4), K[np.ix_(chosen, chosen)]).logpdf(Y[chosen])
    assert value == pytest.approx(density, abs=1e-9)


def process(offset=0.3, scale=2.0):
    gp = GaussianProcess(KERNEL, n_columns=1)
    gp.track(np.linspace(0, 1, 5)[:, None])
    gp.set_units(offset, scale)
    gp.observe(X[3:4], Y[3], 0.1)
    gp.observe_together(X[:3], Y[:3], 0.07 * SHAPE)
    gp.observe(X[4:5], Y[4], 0.07)
    gp.observe_together(X[5:], Y[5:], KNOWN)
    gp.observe(X[0:1], 0.5, 0.2)  # again, by itself
    return gp


def direct(gp, rows):
    order = [3, 0, 1, 2, 4, 5, 6, 0]
    noise = block_diag(0.1, 0.07 * SHAPE, 0.07, KNOWN, 0.2)
    k = gp.kernel * gp.scale**2
    Q = k(X[order]) + noise
    across = k(rows, X[order])
    mean = gp.offset + across @ np.linalg.solve(
        Q, np.append(Y, 0.5)[[3, 0, 1, 2, 4, 5, 6, 7]] - gp.offset
    )
    return mean, k(rows) - across @ np.linalg.solve(Q, across.T)


def test_the_posterior_is_the_direct_one_and_remains_so_in_other_units():
    gp = process()
    rows = np.linspace(0, 1, 5)[:, None]
    copy = gp.copy()
    copy.observe_together(X[:2], np.array([0.0, 1.0]), KNOWN)
    samples = told()
    merged = gp.merged().in_units(gp.offset, gp.scale, -0.2, 0.7)
    other = gp.relearned(np.log([0.8, 0.4]), merged, -0.2, 0.7)
    assert len(copy.shared) == 3 and len(gp.shared) == len(samples.shared) == 2
    for each in (gp, other):
        mean, cov = direct(each, rows)
        found = each.tracked_moments()
        np.testing.assert_allclose(found[0], mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found[1] ** 2, np.diag(cov), rtol=0, atol=1e-9)
    # The one that was observed by itself is merged, and those that came together are not.
    gp.observe(X[0:1], 0.4, 0.2)
    assert len(gp.observed) == 8 and gp.posterior.counts().tolist() == [1] * 7 + [2]


def test_joint_draws_know_what_noise_answers_have_in_common():
    """Means and covariances of 40,000 draws are within 5 standard errors."""
    gp = process(0.0, 1.0)
    rows = np.linspace(0, 1, 5)[:, None]
    mean, cov = direct(gp, rows)
    draws = PosteriorDraws(gp)(40_000, np.random.default_rng(0))
    errors = np.sqrt(np.diag(cov) / 40_000)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * errors).all()
    spread = np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / 40_000)
    assert (np.abs(np.cov(draws.T) - cov) < 5 * spread).all()


def test_widths_count_the_information_of_all_answers_together():
    gp = process(0.0, 1.0)
    order = [3, 0, 1, 2, 4, 5, 6, 0]
    noise = block_diag(0.1, 0.07 * SHAPE, 0.07, KNOWN, 0.2)
    gain = 0.5 * (np.linalg.slogdet(KERNEL(X[order]) + noise)[1] - np.linalg.slogdet(noise)[1])
    assert norm_beta(gp, 2.0, 1.0, 0.1) == pytest.approx(4.0 + 2.0 * (gain + np.log(10)), rel=1e-9)
    wide = np.sqrt(4.0 + 2.0 * (gain + np.log(10)))
    wide += 0.1 * np.sqrt(np.abs(np.linalg.inv(noise)).sum())
    assert norm_beta(gp, 2.0, 1.0, 0.1, 0.1) == pytest.approx(wide**2, rel=1e-9)
    thetas = [gp.kernel.theta, gp.kernel.theta - 0.5]
    left = consistent(gp, thetas, 3.0, 1.0, 0.1)
    np.testing.assert_allclose(left[0].noise_covariance(), noise, rtol=1e-12)
    assert len(left) == 2

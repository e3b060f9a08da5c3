"""Models around the most probable ones, against integrals over a grid of hyperparameters."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpb import defaults
from skgpb.kernels import CellAverage
from skgpb.kernels._random_effect import RandomEffect
from skgpb.surrogate.exactness import with_smoothness
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.likelihood import Prior, default_kernel, default_prior, noise_prior
from skgpb.surrogate.models import (
    AMPLITUDES,
    LENGTHS,
    NOISES,
    Models,
    _log_prior_of_variances,
    _rough_sum,
    _shapes,
    _varying,
    can_be_averaged,
    log_density_of_answers,
    quantiles,
    thetas_around,
)
from skgpb.surrogate.samples import ScaledSamples
from skgpb.surrogate.suboptimality_gap import MixedSuboptimalityGap, SuboptimalityGap

BOX = np.array([[0.0, 1.0]])


def answered(n=14, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    y = np.sin(7.0 * X[:, 0]) + 0.2 * rng.standard_normal(n)
    gp = GaussianProcess(default_kernel(BOX), 1)
    for x, value in zip(X, y, strict=True):
        gp.observe(x[np.newaxis], float(value), 0.05)
    return gp, X, y, ScaledSamples(np.arange(n), y, np.full(n, np.nan))


def by_grid(X, y, at, prior, of_noise):
    """Moments at a point, from all combinations of nine values of each hyperparameter."""
    values, moments = [], []
    z = np.linspace(-2.5, 2.5, 9)
    for nu in (0.5, 1.5, 2.5, np.inf):
        for a, b, c in np.stack(np.meshgrid(z, z, z), -1).reshape(-1, 3):
            theta = prior.center + prior.spread * [a, b]
            level = of_noise.center[0] + defaults.READ_NOISE_SPREAD * c
            noise = defaults.READ_NOISE * np.exp(level)
            amplitude, length = np.exp(theta)
            shape = Matern(length, nu=nu) + ConstantKernel(defaults.READ_LEVEL)
            kernel = ConstantKernel(amplitude) * shape
            K = kernel(X) + noise * np.eye(len(X))
            value = multivariate_normal.logpdf(y, cov=K) + norm.logpdf([a, b, c]).sum()
            k = kernel(X, at)
            moments.append((k.T @ np.linalg.solve(K, y), kernel(at) - k.T @ np.linalg.solve(K, k)))
            # The prior believes in the roughest twice as much as in each other.
            values.append(value + np.log(2.0) * (nu == 0.5))
    weights = np.exp(np.array(values) - logsumexp(values))
    means, variances = (np.array([m[i].item() for m in moments]) for i in (0, 1))
    mean = weights @ means
    return mean, np.sqrt(weights @ (variances + (means - mean) ** 2))


@pytest.mark.slow
def test_moments_are_near_those_of_an_integral_over_hyperparameters():
    gp, X, y, samples = answered()
    prior, (of_noise, _) = default_prior(BOX), noise_prior(1.0)
    models = Models.around(gp, samples, prior, of_noise, 0.05)
    assert abs(models.weights.sum() - 1.0) < 1e-12
    assert len({process.kernel.k2.k1.nu for process in models.processes}) > 2
    at = np.array([[0.13], [0.5], [0.97]])
    mean, std = models.moments(at, std=True)
    for i in range(3):
        expected, deviation = by_grid(X, y, at[i : i + 1], prior, of_noise)
        assert abs(mean[i] - expected) < 0.2 * deviation
        assert 0.8 < std[i] / deviation < 1.25


def test_moments_are_those_of_a_mixture():
    gp, _, _, samples = answered()
    models = Models.around(gp, samples, default_prior(BOX), noise_prior(1.0)[0], 0.05)
    at = np.array([[0.2], [0.6]])
    each = [process.moments(at, cov=True) for process in models.processes]
    second = [cov + np.outer(mean, mean) for mean, cov in each]
    mean, cov = models.moments(at, cov=True)
    assert_allclose(mean, sum(w * m for w, (m, _) in zip(models.weights, each, strict=True)))
    expected = np.tensordot(models.weights, second, 1) - np.outer(mean, mean)
    assert_allclose(cov, expected, atol=1e-12)
    assert_allclose(models.moments(at, std=True)[1], np.sqrt(np.diag(expected)))
    assert_array_equal(models.moments(at), mean)


def test_the_density_is_that_of_answers():
    rng = np.random.default_rng(1)
    X, noise, y = rng.random((7, 1)), rng.uniform(0.3, 1.0, 7), rng.standard_normal(7)
    K, amplitudes, levels = Matern(0.3)(X), np.log([0.5, 2.0]), np.log([0.01, 0.1, 1.0])
    found = log_density_of_answers(K, noise, y, amplitudes, levels)
    for i, a in enumerate(np.exp(amplitudes)):
        for j, s in enumerate(np.exp(levels)):
            expected = multivariate_normal.logpdf(y, cov=a * K + s * np.diag(noise))
            assert found[j, i] - expected == pytest.approx(found[0, 0] - first(K, noise, y))


def first(K, noise, y):
    return multivariate_normal.logpdf(y, cov=0.5 * K + 0.01 * np.diag(noise))


def test_known_noise_is_kept():
    gp, _, _, samples = answered()
    samples.alpha[:] = 0.05
    models = Models.around(gp, samples, default_prior(BOX), None, 0.03)
    assert all((process.noises() == 0.05).all() for process in models.processes)
    samples.alpha[1:] = np.nan
    models = Models.around(gp, samples, default_prior(BOX), None, 0.03)
    assert all(set(process.noises()) == {0.05, 0.03} for process in models.processes)


def test_length_scales_are_equal_or_in_the_proportions_that_were_learned():
    box, rng = np.array([[0.0, 1.0]] * 2), np.random.default_rng(0)
    X = rng.random((24, 2))
    y = np.sin(9.0 * X[:, 0]) + 0.1 * rng.standard_normal(24)
    learned = default_kernel(box, main_effects=True)
    theta = learned.theta
    theta[1:3] += [-0.7, 0.7]
    gp = GaussianProcess(learned.clone_with_theta(theta), 2)
    for x, value in zip(X, y, strict=True):
        gp.observe(x[np.newaxis], float(value), 0.05)
    samples, prior = ScaledSamples(np.arange(24), y, np.full(24, np.nan)), default_prior(box, True)
    models = Models.around(gp, samples, prior, noise_prior(1.0)[0], 0.05)
    ratios = np.array(
        [process.kernel.theta[2] - process.kernel.theta[1] for process in models.processes]
    )
    assert np.isclose(ratios, 1.4).any()
    assert (
        np.isclose(ratios, 0.0).all() or (np.isclose(ratios, 1.4) | np.isclose(ratios, 0.0)).all()
    )


def test_a_sum_of_smooth_kernels_stands_for_a_rough_one():
    r = np.linspace(0.0, 4.0, 200)[:, np.newaxis]
    rough = _rough_sum(ConstantKernel(2.0) * RBF(0.7))
    assert np.abs(rough(r, r[:1])[:, 0] - 2.0 * np.exp(-r[:, 0] / 0.7)).max() < 2.0 * 0.022
    box = CellAverage(ConstantKernel(2.0) * RBF(0.7), (5,))
    assert can_be_averaged(box) and can_be_averaged(default_kernel(BOX))
    assert not can_be_averaged(RBF(0.3)) and not can_be_averaged(CellAverage(Matern(0.3), (5,)))


def hardly_varying(n=30):
    rng = np.random.default_rng(3)
    gp = GaussianProcess(default_kernel(BOX), 1)
    X, y = rng.random((n, 1)), 0.1 * rng.standard_normal(n)
    gp.set_units(5.0, 0.2)
    for x, value in zip(X, y, strict=True):
        gp.observe(x[np.newaxis], 5.0 + 0.2 * float(value), 0.01 * 0.2**2)
    samples = ScaledSamples(np.arange(n), y, np.full(n, np.nan))
    return gp, samples, default_prior(BOX), noise_prior(1.0)[0], 0.05


def mean_log_amplitude(models):
    each = [process.kernel.theta[0] for process in models.processes]
    return models.weights @ np.array(each)


def test_f_varies_by_more_than_the_difference_that_is_asked_about():
    given = hardly_varying()
    plain = Models.around(*given)
    # 0.2 in the user's units is 1 in those of the model.
    asked = Models.around(*given, 0.2)
    assert mean_log_amplitude(asked) > mean_log_amplitude(plain) + 1.0
    blocks = [np.array([[x]]) for x in np.linspace(0.0, 1.0, 21)]
    ahead = [models.suboptimality_gap(blocks).ahead(0.05).max() for models in (plain, asked)]
    assert ahead[0] < ahead[1]


@pytest.mark.parametrize("width", [0.0, 0.25, 0.7])
def test_the_prior_of_variances_is_that_of_answers_also_if_they_average_f(width):
    """Noise hides all, so that models are the prior: of answers, which vary less than f.

    Small cells, which few answers cover, may vary more: without epsilon the prior expects that.
    """
    cells, n = CellAverage(default_kernel(BOX, smooth=True), (10,)), 12
    gp, lower = GaussianProcess(cells, 2), np.linspace(0.0, 1.0 - width, n)
    for x in lower:
        gp.observe(np.array([[x, x + width]]), 0.0, 1e6)
    samples = ScaledSamples(np.arange(n), np.zeros(n), np.full(n, 1e6))
    prior = Prior(cells.theta, np.array([1.0, 0.6]))
    for epsilon, expected in ((0.0, defaults.READ_VARIANCE), (1e-9, 1.0)):
        models = Models.around(gp, samples, prior, None, 1e6, epsilon)
        of_answers = [process.variance(gp.observed).mean() for process in models.processes]
        assert models.weights @ np.log(of_answers) == pytest.approx(np.log(expected), abs=0.1)
        assert (mean_log_amplitude(models) > np.log(expected) + 0.2) == (width > 0.0)


def test_the_expected_variance_is_that_of_two_epsilon_or_the_usual_one():
    usual = default_prior(BOX)
    wide = _varying(usual, 3.0)
    assert wide.center[0] == pytest.approx(np.log(6.0**2), rel=1e-12)
    assert _varying(usual, 0.1).center[0] == usual.center[0] == 0.0
    for prior in (wide, _varying(usual, 0.1)):
        assert prior.spread[0] == defaults.STOP_AMPLITUDE_SPREAD < usual.spread[0]
        assert np.array_equal(prior.center[1:], usual.center[1:])
        assert np.array_equal(prior.spread[1:], usual.spread[1:])
    # What was given is as it was.
    assert usual == default_prior(BOX)


def test_a_mixed_gap_is_that_of_draws_from_each_part():
    rng = np.random.default_rng(0)
    weights, parts, draws = np.array([0.3, 0.7]), [], []
    for weight in weights:
        root = rng.standard_normal((4, 4))
        cov, mean = root @ root.T, rng.standard_normal(4)
        parts.append(SuboptimalityGap.from_moments(mean, cov))
        f = rng.multivariate_normal(mean, cov, int(20_000 * weight))
        draws.append((f - f[:, -1:]).max(axis=1))
    mixed, drawn = MixedSuboptimalityGap(parts, weights), np.concatenate(draws)
    for delta in (0.05, 0.3):
        found = mixed.quantile(delta, np.random.default_rng(1))
        # Standard errors of the shares: 0.0066 for 2,048 draws at most 0.01, and 0.003.
        assert abs((drawn > found).mean() - delta) < 4 * np.sqrt(delta * (1 - delta) / 2048) + 0.01
        share = (drawn > 1.0).mean()
    assert mixed.is_within(1.0, share + 0.05, 0.01, rng)
    assert not mixed.is_within(1.0, share - 0.05, 0.01, rng)


def test_far_from_answers_that_are_all_high_less_is_expected_than_their_mean():
    # As of a search that found a plateau: many answers there, few elsewhere.
    rng = np.random.default_rng(0)
    X = np.append(rng.uniform(0.0, 0.1, 36), [0.5, 0.7, 0.9])[:, np.newaxis]
    y = np.where(X[:, 0] < 0.1, 0.3, -2.5) + 0.5 * rng.standard_normal(39)
    gp = GaussianProcess(default_kernel(BOX), 1)
    for x, value in zip(X, y, strict=True):
        gp.observe(x[np.newaxis], float(value), 0.25)
    samples = ScaledSamples(np.arange(39), y, np.full(39, np.nan))
    at, expected = np.array([[0.3]]), []
    for level in (0.0, defaults.READ_LEVEL):
        with mock.patch.object(defaults, "READ_LEVEL", level):
            models = Models.around(gp, samples, default_prior(BOX), noise_prior(1.0)[0], 0.25)
        expected.append(float(models.moments(at)[0]))
    assert expected[1] < expected[0] - 0.1


def test_each_model_has_the_noise_that_it_was_learned_with():
    gp, _, _, samples = answered()
    gp.set_units(0.0, 2.0)
    models = Models.around(gp, samples, default_prior(BOX), noise_prior(1.0)[0], 0.05)
    own = [process.posterior.noises()[0] for process in models.processes]
    assert_allclose(models.noises, 4.0 * np.array(own))
    assert len(set(own)) > 2
    assert Models.around(gp, samples, default_prior(BOX), None, 0.05).noises is None


def test_intervals_of_exact_answers_contain_what_a_process_smooths():
    # Sixty answers close to a kink, where a process with a little noise is lower than they are.
    X = np.concatenate([np.linspace(0.05, 0.95, 10), 0.5 + np.linspace(-0.001, 0.001, 61)])
    y = -np.abs(X - 0.5)
    y = (y - y.mean()) / y.std()
    noise = defaults.NOISE_LIMITS[0]
    gp = GaussianProcess(with_smoothness(default_kernel(BOX), 1.5), 1)
    for x, value in zip(X, y, strict=True):
        gp.observe(np.array([[x]]), float(value), noise)
    samples = ScaledSamples(np.arange(len(y)), y, np.full(len(y), np.nan))
    models = Models.around(gp, samples, default_prior(BOX), None, noise)
    top = [np.array([[0.5]])]
    mean, std = models.moments(top, std=True)
    missed = abs(float(mean[0]) - y.max())
    assert missed < norm.ppf(0.975) * std[0]
    assert missed > norm.ppf(0.975) * np.sqrt(std[0] ** 2 - noise)
    assert_allclose(models.moments(top, cov=True)[1][0, 0], std[0] ** 2)


def test_hyperparameters_are_on_a_grid_of_length_scales():
    box = np.array([[0.0, 1.0], [0.0, 4.0]])
    kernel, prior = default_kernel(box), default_prior(box)
    # In the proportions of the prior: a single shape.
    thetas = thetas_around(kernel.clone_with_theta(prior.center), prior)
    assert_allclose(thetas, [np.append(0.0, prior.center[1:] + longer) for longer in LENGTHS])
    learned = prior.center + np.array([0.9, -0.5, 0.9])
    thetas = thetas_around(kernel.clone_with_theta(learned), prior)
    assert len(thetas) == 2 * len(LENGTHS)
    second = prior.center[1:] + np.array([-0.7, 0.7])
    for i, longer in enumerate(LENGTHS):
        expected = np.clip(second + longer, *kernel.bounds[1:].T)
        assert_allclose(thetas[len(LENGTHS) + i], np.append(0.0, expected))


def test_an_effect_of_blocks_stays_in_units_of_f():
    kernel = RandomEffect(default_kernel(BOX), 0.5, (1e-3, 1e3))
    prior = Prior(np.append(default_prior(BOX).center, -2.0), np.ones(3))
    learned = kernel.theta + np.array([0.8, 0.1, 0.6])
    thetas = thetas_around(kernel.clone_with_theta(learned), prior)
    assert_allclose(thetas[:, -1], learned[-1] - learned[0])
    assert_array_equal(thetas[:, 0], 0.0)


def test_answers_of_a_block_covary_by_its_effect():
    _, X, y, _ = answered()
    strata, found = np.arange(len(y)) % 3, []  # the first answers are of no block
    samples = ScaledSamples(np.arange(len(y)), y, np.full(len(y), np.nan))
    prior = Prior(np.append(default_prior(BOX).center, 0.0), np.ones(3))
    for levels in (0 * strata, strata):
        gp = GaussianProcess(RandomEffect(default_kernel(BOX), 0.7, (1e-3, 1e3)), 1)
        for x, value, level in zip(X, y, levels, strict=True):
            gp.observe(x[np.newaxis], float(value), 0.05, int(level))
        with mock.patch(
            "skgpb.surrogate.models.log_density_of_answers", side_effect=log_density_of_answers
        ) as density:
            Models.around(gp, samples, prior, None, 0.05)
        found.append(np.array([call.args[0] for call in density.call_args_list]))
    together = (strata[:, np.newaxis] == strata) & (strata > 0)
    effect = (found[1] - found[0])[:, together]
    assert (effect > 0.0).all()
    assert_allclose(effect, np.tile(effect[:, :1], together.sum()), rtol=1e-9)
    assert_allclose(found[1][:, ~together], found[0][:, ~together])


@pytest.mark.parametrize("seed", range(5))
def test_chosen_models_are_quantiles_in_the_order_of_the_noise(seed):
    weights = np.random.default_rng(seed).dirichlet(np.full(12, 0.3)).reshape(4, 3) * 0.7
    n = round(defaults.N_MODELS * 0.7)
    chosen = quantiles(weights, n)
    assert sum(weight for weight, *_ in chosen) == pytest.approx(0.7)
    cumulative = np.cumsum(weights.ravel())
    expected = [int(np.argmax(cumulative >= (i + 0.5) / n * 0.7)) for i in range(n)]
    found = [3 * level + amplitude for _, level, amplitude in chosen]
    assert found == sorted(set(expected))
    for (weight, *_), number in zip(chosen, found, strict=True):
        assert weight == pytest.approx(0.7 * expected.count(number) / n)
    assert quantiles(np.array([[0.0, 1e-2]]), 1) == [(1e-2, 0, 1)]


def test_the_prior_of_variances_is_normal_in_their_logarithms():
    prior, (of_noise, _) = default_prior(BOX), noise_prior(1.0)
    levels = NOISES + 0.3
    found = _log_prior_of_variances(prior, of_noise, levels)
    assert found.shape == (len(NOISES), len(AMPLITUDES))
    for i, level in enumerate(levels):
        center = of_noise.center[0] + np.log(defaults.READ_NOISE)
        for j, amplitude in enumerate(AMPLITUDES):
            expected = norm.logpdf(level, center, defaults.READ_NOISE_SPREAD)
            expected += norm.logpdf(amplitude, 0.0, prior.spread[0])
            # Each stands for all that are nearest to it.
            neighbours = levels[max(0, i - 1) : i + 2]
            expected += np.log((neighbours[-1] - neighbours[0]) / (len(neighbours) - 1))
            if i == j == 0:
                first = expected - found[0, 0]
            near = abs(levels[min(i + 1, len(levels) - 1)] - 2 * level + levels[max(i - 1, 0)])
            if near < 1e-9:
                assert found[i, j] + first == pytest.approx(expected)
    one = _log_prior_of_variances(prior, None, np.zeros(1))
    assert_allclose(one, [-0.5 * (AMPLITUDES / prior.spread[0]) ** 2])


def test_kernels_are_changed_within_their_wrappers():
    matern, rbf = default_kernel(BOX), ConstantKernel(2.0) * RBF(0.7)
    for smooth in (True, False):
        shapes = _shapes(CellAverage(matern, (5,)), smooth)
        kernels = [change(CellAverage(matern, (5,))) for _, change in shapes]
        assert all(isinstance(kernel, CellAverage) for kernel in kernels)
        nus = [kernel.base.k2.k1.nu for kernel in kernels]
        assert nus == [*defaults.SMOOTHNESS, *([np.inf] if smooth else [])]
        weights = [weight for weight, _ in shapes]
        assert weights == [defaults.ROUGHEST_WEIGHT, *[1.0] * (len(nus) - 1)]
    (one, same), (other, rough) = _shapes(CellAverage(rbf, (5,)))
    assert (one, other) == (1.0, 1.0) and same(rbf) is not None
    assert rough(CellAverage(rbf, (5,))).base == _rough_sum(rbf)
    assert _shapes(RBF(0.3)) == []


def test_exact_answers_have_no_less_than_their_negligible_noise():
    gp, _, _, samples = answered()
    gp.set_units(0.0, 2.0)
    for alpha, least in ((np.nan, 0.03 * 4.0), (0.05, 0.0)):
        samples.alpha[:] = alpha
        assert Models.around(gp, samples, default_prior(BOX), None, 0.03).least == least
    samples.alpha[:] = np.nan
    assert Models.around(gp, samples, default_prior(BOX), noise_prior(1.0)[0], 0.03).least == 0.0


def test_the_noise_of_models_is_about_that_of_repeated_answers():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random(15), 4)
    for noise in (0.04, 1.0):
        y = np.sin(7.0 * X) + np.sqrt(noise) * rng.standard_normal(60)
        gp = GaussianProcess(default_kernel(BOX), 1)
        for x, value in zip(X, y, strict=True):
            gp.observe(np.array([[x]]), float(value), noise)
        functional = np.repeat(np.arange(15), 4)
        samples = ScaledSamples(functional, y, np.full(60, np.nan))
        models = Models.around(gp, samples, default_prior(BOX), noise_prior(1.0)[0], noise)
        assert samples.variance_of_repeats() == pytest.approx(noise, rel=0.35)
        assert 0.5 * noise < models.weights @ models.noises < 1.7 * noise

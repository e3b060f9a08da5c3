"""The posterior given earlier campaigns, against a dense reference that factorises everything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from skgpb import defaults
from skgpb.surrogate.campaigns import (
    AMPLITUDES,
    NOISES,
    CampaignProcess,
    EarlierCampaigns,
    Member,
    shapes_alone,
    shapes_of_campaign,
)
from skgpb.surrogate.likelihood import default_kernel, default_prior
from skgpb.surrogate.model import Model, ModelOptions

pytestmark = pytest.mark.one_in(2)

BOX = np.array([[0.0, 1.0]])
OLD_X = np.linspace(0.02, 0.98, 12)[:, np.newaxis]
OLD_Y = 300.0 + 40.0 * np.sin(7.0 * OLD_X[:, 0]) + 2.0 * np.cos(90.0 * OLD_X[:, 0])
OTHER_Y = -5.0 + np.cos(11.0 * OLD_X[:, 0])
NEW_X = np.array([[0.2], [0.35], [0.6], [0.9]])
NEW_Y = np.array([1.9, 1.1, -1.6, 0.3])
WHERE = np.array([[0.05], [0.21], [0.77]])


def model_of_answers(X, y, noise=None):
    model = Model(default_kernel(BOX), 1, ModelOptions(noise), prior=default_prior(BOX), seed=0)
    for x, each in zip(X, y, strict=True):
        model.observe(x[np.newaxis], float(each))
    return model


def matern(A, B, length):
    r = np.sqrt(5.0) * np.abs(A[:, 0][:, np.newaxis] - B[:, 0]) / length
    return (1.0 + r + r * r / 3.0) * np.exp(-r)


def log_prior(level, amplitude):
    of_noise = (level - np.log(defaults.NOISE)) / defaults.NOISE_SPREAD
    return -0.5 * of_noise**2 - 0.5 * (amplitude / defaults.CAMPAIGN_AMPLITUDE_SPREAD) ** 2


class Dense:
    """An earlier campaign with one length scale; joint covariances of all answers."""

    def __init__(self, X, y, length):
        self.X, self.length, self.variance = X, length, y.var()
        self.z = (y - y.mean()) / y.std()
        best = -np.inf
        for level in NOISES:
            for amplitude in AMPLITUDES:
                K = np.exp(amplitude) * (matern(X, X, length) + 1.0)
                K += np.exp(level) * np.eye(len(X))
                density = multivariate_normal(np.zeros(len(X)), K).logpdf(self.z)
                density += log_prior(level, amplitude)
                if density > best:
                    best, self.level, self.amplitude = density, level, amplitude
        self.density = best

    def joint(self, X, where, correlation, variance, noise):
        """Covariance of earlier answers, present ones and values of f, all in their own units."""
        a, s = np.exp(self.amplitude), np.exp(self.level)
        every, n, m = np.vstack([self.X, X, where]), len(self.X), len(X)
        K = matern(every, every, self.length)
        scale = np.sqrt(np.r_[np.full(n, a), np.full(len(every) - n, variance)])
        across = np.ones((len(every),) * 2)
        across[:n, n:], across[n:, :n] = correlation, correlation
        level = np.ones_like(across)
        level[:n, n:], level[n:, :n] = 0.0, 0.0
        out = np.outer(scale, scale) * (K * across + level)
        diagonal = np.r_[np.full(n, s), np.full(m, noise), np.zeros(len(where))]
        return out + np.diag(diagonal)

    def density_of(self, X, y, correlation, variance, noise):
        """Log density of present answers given the earlier ones."""
        K, n = self.joint(X, X[:0], correlation, variance, noise), len(self.X)
        both = multivariate_normal(np.zeros(len(K)), K).logpdf(np.r_[self.z, y])
        return both - multivariate_normal(np.zeros(n), K[:n, :n]).logpdf(self.z)

    def posterior(self, X, y, where, correlation, variance, noise):
        K, n = self.joint(X, where, correlation, variance, noise), len(self.X) + len(X)
        gain = np.linalg.solve(K[:n, :n], K[:n, n:]).T
        return gain @ np.r_[self.z, y], K[n:, n:] - gain @ K[:n, n:]


def campaigns(*answers):
    model = model_of_answers(OLD_X[:0], ())
    shapes = [shapes_of_campaign(model, OLD_X, y) for y in answers]
    return EarlierCampaigns(shapes, shapes_alone(model, OLD_X[:1]))


def length_of(shape):
    return float(np.exp(shape.gp.kernel.theta[1]))


def test_shapes_are_the_posteriors_of_the_kernels_that_fit_the_earlier_answers():
    (shapes,) = campaigns(OLD_Y).campaigns
    assert 1 <= len(shapes) <= defaults.CAMPAIGN_SHAPES
    prior, logs = default_prior(BOX), []
    for shape in shapes:
        dense = Dense(OLD_X, OLD_Y, length_of(shape))
        gap = (np.log(dense.length) - prior.center[1]) / prior.spread[1]
        logs.append(dense.density - 0.5 * gap**2)
        assert shape.variance == pytest.approx(np.exp(dense.amplitude) * OLD_Y.var(), rel=1e-12)
    logs -= np.logaddexp.reduce(logs)
    assert [shape.log_weight for shape in shapes] == pytest.approx(list(logs), abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [None, 0.04])
def test_probabilities_are_those_of_the_dense_reference(noise):
    earlier, model = campaigns(OLD_Y, OTHER_Y), model_of_answers(NEW_X, NEW_Y, noise)
    found = earlier._fit(model)
    scale, z = NEW_Y.std(), (NEW_Y - NEW_Y.mean()) / NEW_Y.std()
    levels = NOISES if noise is None else np.log([noise / scale**2])
    shared = [np.mean([shape.variance for shape in own]) for own in earlier.campaigns]
    answers = {id(own[0]): y for own, y in zip(earlier.campaigns, (OLD_Y, OTHER_Y), strict=True)}
    owner = {id(shape): own for own in earlier.campaigns for shape in own}
    logs = np.empty(found.probabilities.shape)
    for i, (shape, correlation) in enumerate(found.nodes):
        own = owner.get(id(shape))
        y = OLD_Y if own is None else answers[id(own[0])]
        dense = Dense(OLD_X, y, length_of(shape))
        of_own = shared if own is None else [np.mean([each.variance for each in own])]
        weight = defaults.CORRELATIONS[correlation] / (1 if own is None else 2)
        for k, amplitude in enumerate(AMPLITUDES):
            # About the scale of the earlier function, or any: half and half, as normal densities.
            near = np.mean(
                [np.exp(-0.5 * (amplitude + np.log(scale**2 / each)) ** 2) for each in of_own]
            )
            usual = np.exp(-0.5 * (amplitude / defaults.CAMPAIGN_AMPLITUDE_SPREAD) ** 2)
            both = np.log(defaults.CAMPAIGN_AMPLITUDE_SPREAD * near + usual) - np.log(usual)
            for j, level in enumerate(levels):
                density = dense.density_of(NEW_X, z, correlation, np.exp(amplitude), np.exp(level))
                before = log_prior(level if noise is None else 0.0, amplitude)
                logs[i, j, k] = density + before + both + np.log(weight) + shape.log_weight
    expected = np.exp(logs - logs.max())
    expected /= expected.sum()
    assert found.probabilities == pytest.approx(expected, abs=1e-8)
    alone = [correlation == 0.0 for _, correlation in found.nodes]
    assert found.probability_of_none == pytest.approx(expected[alone].sum(), abs=1e-8)
    assert len(found.nodes) == len(earlier.alone) + 7 * sum(map(len, earlier.campaigns))


def test_moments_are_those_of_the_dense_reference_also_with_pending_queries():
    (shapes,) = campaigns(OLD_Y).campaigns
    shape, units = shapes[0], (float(NEW_Y.mean()), float(NEW_Y.std()))
    dense = Dense(OLD_X, OLD_Y, length_of(shape))
    model, z = model_of_answers(NEW_X, NEW_Y), (NEW_Y - units[0]) / units[1]
    merged = model.samples.scaled(*units).merged(1.0)
    members = [Member(0.1, -0.6, 0.7, 0.05), Member(0.3, 0.9, 2.0, 0.01), Member(0.2, 1.0, 1, 0.2)]
    pending = np.array([[0.75], [0.3]])
    for asked in (pending[:0], pending):
        noises = np.full(len(asked), 0.02)
        found = CampaignProcess(
            shape, members, units, model.process.observed, merged, list(asked[:, None]), noises
        )
        means, spreads = [], []
        for each in members:
            rest = each.correlation, each.variance, each.noise
            mean, _ = dense.posterior(NEW_X, z, np.vstack([WHERE, asked]), *rest)
            expected = np.r_[z, mean[len(WHERE) :]]
            noise = np.r_[np.full(len(z), each.noise), noises / units[1] ** 2]
            mean, cov = dense.posterior(
                np.vstack([NEW_X, asked]), expected, WHERE, *rest[:2], noise
            )
            means.append(units[0] + units[1] * mean)
            spreads.append(units[1] ** 2 * cov)
        weights = np.array([each.weight for each in members]) / 0.6
        mean = weights @ np.array(means)
        apart = np.array(means) - mean
        cov = np.tensordot(weights, spreads, 1) + (apart.T * weights) @ apart
        assert found.moments(WHERE) == pytest.approx(mean, abs=1e-8)
        assert found.moments(WHERE, std=True)[1] == pytest.approx(np.sqrt(np.diag(cov)), abs=1e-8)
        assert found.moments(WHERE, cov=True)[1] == pytest.approx(cov, abs=1e-8)


def compare_with_the_average_over_all_models(noise, monkeypatch):
    earlier, model = campaigns(OLD_Y), model_of_answers(NEW_X, NEW_Y, noise)
    model.process.set_units(0.4, 2.5)
    fit, (center, scale) = earlier._fit(model), (NEW_Y.mean(), NEW_Y.std())
    assert fit.units == pytest.approx((center, scale))
    means, variances, noises = [], [], []
    for (shape, correlation), shares in zip(fit.nodes, fit.probabilities, strict=True):
        for (j, k), share in np.ndenumerate(shares):
            member = Member(1.0, correlation, np.exp(AMPLITUDES[k]), np.exp(fit.levels[j]))
            one = CampaignProcess(
                shape, [member], fit.units, fit.observed, fit.merged, (), np.empty(0)
            )
            mean, std = one.moments(WHERE, std=True) if share > 1e-9 else (WHERE[:, 0],) * 2
            means.append(mean), variances.append(std**2), noises.append(member.noise * scale**2)
    weights = fit.probabilities.ravel()
    mean = weights @ means
    variance = weights @ variances + weights @ (np.array(means) - mean) ** 2
    level = weights @ noises if noise is None else noise
    found = earlier.models(model)
    assert len(fit.levels) == (len(NOISES) if noise is None else 1)
    assert found.weights.sum() == pytest.approx(1.0)
    assert np.all(np.abs(found.moments(WHERE) - mean) < 0.1 * np.sqrt(variance))
    assert found.noise == pytest.approx(level, rel=0.4)
    monkeypatch.setattr("skgpb.surrogate.campaigns.KEPT_SHARE", 1.0 - 1e-7)
    monkeypatch.setattr("skgpb.surrogate.campaigns.N_KEPT", 10**6)
    every = campaigns(OLD_Y).models(model)
    assert every.moments(WHERE) == pytest.approx(mean, abs=1e-4)
    assert every.moments(WHERE, std=True)[1] == pytest.approx(np.sqrt(variance), rel=3e-3)
    assert every.noise == pytest.approx(level, rel=1e-4)
    in_units = every.scaled_moments(WHERE)
    assert in_units[0] == pytest.approx((mean - 0.4) / 2.5, abs=1e-4)
    assert in_units[1] == pytest.approx(variance / 2.5**2, rel=6e-3)


def test_the_average_is_that_over_all_models_but_improbable_ones(monkeypatch):
    for noise in (None, 0.04):
        with monkeypatch.context() as patch:
            compare_with_the_average_over_all_models(noise, patch)


def test_units_of_all_answers_are_units_of_the_prediction():
    for n in (0, 1, 4):
        moments = []
        for unit in (1.0, 1000.0):
            model = model_of_answers(NEW_X[:n], unit * NEW_Y[:n])
            moments.append(campaigns(unit * OLD_Y).models(model).moments(WHERE, std=True))
        assert moments[1][0] == pytest.approx(1000.0 * moments[0][0], rel=1e-6)
        assert moments[1][1] == pytest.approx(1000.0 * moments[0][1], rel=1e-6)
        # Until the answers have a scale, it is about that of the earlier campaign.
        assert n > 1 or np.all(np.abs(np.log(moments[0][1] / OLD_Y.std())) < 1.5)


def test_models_follow_each_answer_and_pending_queries_are_sure():
    earlier, model = campaigns(OLD_Y), model_of_answers(NEW_X[:3], NEW_Y[:3])
    before = earlier.models(model)
    assert earlier.models(model) is before
    asked = earlier.models(model, [WHERE[2:]], np.array([1e-6]))
    assert asked.moments(WHERE[2:]) == pytest.approx(before.moments(WHERE[2:]), rel=1e-6)
    std, left = (each.moments(WHERE[2:], std=True)[1] for each in (before, asked))
    assert left < std
    model.observe(NEW_X[3:], float(NEW_Y[3]))
    earlier.update(model)
    assert earlier.n_with == 4
    assert earlier.models(model).moments(NEW_X[3:]) != pytest.approx(before.moments(NEW_X[3:]))


def test_repeated_answers_count_as_those_right_beside_each_other():
    y = np.r_[NEW_Y, NEW_Y[0] + 0.3, NEW_Y[1] - 0.2, 1.6]
    again, earlier = np.array([0, 1, 0]), campaigns(OLD_Y)
    for noise in (None, 0.04):
        found = []
        for beside in (0.0, 1e-7 * np.array([[1.0], [1.0], [2.0]])):
            model = model_of_answers(np.vstack([NEW_X, NEW_X[again] + beside]), y, noise)
            found.append(earlier._fit(model).probabilities)
            assert len(model.process.observed) == (4 if len(found) == 1 else 7)
        assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_a_campaign_in_other_units_counts_and_one_that_contradicts_does_not():
    alike = 3.0 - 0.2 * (OLD_Y[::3] - 300.0)
    for y, off in ((alike, False), (np.array([2.0, -1.0, 2.0, -1.0]), True)):
        for signs in (1.0, -1.0):
            earlier = campaigns(OLD_Y)
            model = model_of_answers(OLD_X[::3], signs * y)
            earlier.update(model)
            assert earlier.are_off is off
            assert (earlier.models(model) is None) is off


def test_the_switch_has_hysteresis_and_ends_after_many_answers(monkeypatch):
    earlier, model = campaigns(OLD_Y), model_of_answers(NEW_X, NEW_Y)
    p = earlier._fit(model).probability_of_none
    monkeypatch.setattr(defaults, "CAMPAIGNS_OFF", p + 1e-6)
    monkeypatch.setattr(defaults, "CAMPAIGNS_BACK", p - 1e-6)
    for before in (True, False):
        earlier.are_off = before
        earlier.update(model)
        assert earlier.are_off is before
    monkeypatch.setattr(defaults, "MOST_WITH_CAMPAIGNS", 3)
    earlier.update(model)
    assert earlier.are_off


def test_only_some_of_very_many_earlier_answers_are_used(monkeypatch):
    monkeypatch.setattr(defaults, "MOST_OF_CAMPAIGN", 6)
    model = model_of_answers(OLD_X[:0], ())
    shapes = shapes_of_campaign(model, OLD_X, OLD_Y)
    assert all(np.array_equal(each.observed.rows, OLD_X[::2]) for each in shapes)


def test_kernels_with_main_effects_have_variance_one():
    box = np.array([[0.0, 1.0]] * 2)
    kernel, prior = default_kernel(box, main_effects=True), default_prior(box, True)
    model, rng = Model(kernel, 2, prior=prior, seed=0), np.random.default_rng(0)
    X = rng.random((20, 2))
    shapes = shapes_of_campaign(model, X, 50.0 * X[:, 0] + 9.0 * X[:, 1] ** 2)
    for shape in (*shapes, *shapes_alone(model, X[:1])):
        assert np.diag(shape.gp.kernel(X)) == pytest.approx(np.ones(20))

"""Leave-one-out residuals against models that are conditioned anew without each answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm, t
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import defaults
from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.criticism import (
    Criticism,
    contradiction_message,
    deviations_from_others,
    explains_nothing,
    lacks_fit,
    leave_one_out_refit,
    outliers_message,
    residual_bound,
    risk_of_check,
)

X = np.random.default_rng(0).random((12, 2))


def observed(X, y, noise, kernel=None, units=(0.0, 1.0)):
    gp = GaussianProcess(kernel or Matern(0.4, nu=2.5), X.shape[1])
    gp.set_units(*units)
    for x, value in zip(X, y, strict=True):
        gp.observe(x[np.newaxis], float(value), noise)
    return gp


@pytest.mark.parametrize("noise", [0.01, 1e-8])
@pytest.mark.parametrize("last", [500, 5])
def test_residuals_are_those_of_models_without_an_answer(last, noise, monkeypatch):
    monkeypatch.setattr("skgpb.defaults.N_CHECKED", last)
    y = np.sin(6.0 * X).sum(axis=1)
    found = Criticism.of(observed(X, y, noise, units=(0.3, 2.0)))
    expected = []
    for i in range(12):
        others = observed(np.delete(X, i, 0), np.delete(y, i), noise, units=(0.3, 2.0))
        mean, std = others.moments(X[i : i + 1], std=True)
        expected.append((y[i] - mean[0], std[0] ** 2 + noise))
    assert found.first == 12 - len(found.residuals) == max(0, 12 - last)
    errors, variances = np.array(expected)[found.first :].T
    np.testing.assert_allclose(found.residuals, errors / np.sqrt(variances), rtol=1e-6)
    # An error of a thousandth of the range contradicts nothing, however sure the model is.
    sizes = np.abs(errors) / np.sqrt(variances + (1e-3 * np.ptp(y)) ** 2)
    np.testing.assert_allclose(found.sizes, sizes, rtol=1e-6)


def test_answers_to_one_query_are_compared_with_the_noise():
    y = np.array([0.0, 1.0, 0.5, 2.0])
    found = Criticism.of(observed(np.array([[0.2], [0.2], [0.2], [0.8]]), y, 0.04))
    # Two degrees of freedom of three answers whose squared differences to their mean sum to 0.5.
    np.testing.assert_allclose(found.repeats, 0.5 / 0.04 / 2)
    assert found.repeats_fit == (np.exp(-0.5 / 0.04 / 2) > 0.5 * defaults.RISK)
    assert np.isnan(Criticism.of(observed(X, X[:, 0], 0.04)).repeats)


def test_a_right_model_is_contradicted_as_rarely_as_promised():
    rng, kernel, risk, runs = np.random.default_rng(3), RBF(0.3), 0.2, 200
    places = np.concatenate([X, X[:6]])
    root = np.linalg.cholesky(kernel(X) + 1e-10 * np.eye(len(X)))
    wrong = 0
    for _ in range(runs):
        f = root @ rng.standard_normal(len(X))
        y = np.concatenate([f, f[:6]]) + 0.1 * rng.standard_normal(18)
        wrong += Criticism.of(observed(places, y, 0.01, kernel), risk).contradicts
    assert wrong <= binom.ppf(0.9999, runs, risk)
    assert wrong >= binom.ppf(0.0001, runs, 0.3 * risk)  # nor is it blind


def test_the_wild_answer_is_named_first():
    y = np.sin(3.0 * X).sum(axis=1)
    y[[4, 7]] += [2.0, 6.0]
    found = Criticism.of(observed(X, y, 0.01))
    assert found.contradicts
    assert found.outliers[0] == 7
    assert found.sizes[7 - found.first] == found.sizes.max() > found.most


def test_one_wild_answer_does_not_hide_itself_in_what_was_learned_with_it():
    y = 0.1 * np.random.default_rng(5).standard_normal(40)
    y[11] = 30.0
    places = np.arange(40.0)[:, np.newaxis]
    # If answers have no structure, the learned variance is their mean square.
    gp = observed(places, y, float(np.mean(y**2)) - 1e-6, 1e-6 * RBF(0.1))
    assert not Criticism.of(gp, 1e-9).contradicts  # no residual exceeds sqrt(40)
    assert Criticism.of(gp, 1e-9, learned=True).outliers.tolist() == [11]


def test_checks_spend_no_more_than_the_risk():
    assert sum(map(risk_of_check, range(1, 1000))) < defaults.RISK


@pytest.mark.parametrize("n", [4, 5, 9, 10])
def test_a_scale_learned_from_few_queries_condemns_none_of_them(n):
    y = np.zeros(n)
    y[0] = 1.0
    gp = observed(np.linspace(0.0, 1.0, n)[:, np.newaxis], y, 1e-8, RBF(1.0))
    assert Criticism.of(gp, learned=False).contradicts
    assert Criticism.of(gp, learned=True).contradicts == (n >= defaults.FIRST_CHECK_LEARNED)


@pytest.mark.parametrize("spreads", [(0.0, 0.0), (1.0, 1.5), (0.0, 1.5)])
def test_variances_are_learned_without_the_answer_that_is_predicted(spreads):
    rng = np.random.default_rng(0)
    x = rng.random((9, 1))
    K, noise, y = RBF(0.3)(x), rng.uniform(0.05, 0.2, 9), np.sin(6 * x[:, 0])
    y[4] += 3.0
    errors, variances = leave_one_out_refit(K, noise, y, spreads)
    grids = [np.unique(spread * np.linspace(-3.0, 3.0, 25)) for spread in spreads]
    for i in (0, 4):
        rest = np.arange(9) != i
        best = -np.inf
        for a in grids[0]:
            for s in grids[1]:
                V = np.exp(a) * K + np.diag(np.exp(s) * noise)
                known, to_it = V[np.ix_(rest, rest)], V[rest, i]
                weights = np.linalg.solve(known, y[rest])
                density = -0.5 * (np.linalg.slogdet(known)[1] + y[rest] @ weights)
                for value, spread in ((a, spreads[0]), (s, spreads[1])):
                    density -= 0.5 * (value / spread) ** 2 if spread else 0.0
                if density > best:
                    best = density
                    expected = (
                        y[i] - to_it @ weights,
                        V[i, i] - to_it @ np.linalg.solve(known, to_it),
                    )
        assert errors[i] == pytest.approx(expected[0]) and variances[i] == pytest.approx(
            expected[1]
        )


@pytest.mark.parametrize(("n", "n_answered"), [(12, None), (12, 40), (1, 10)])
def test_bounds_are_quantiles_of_residuals_and_of_studentised_ones(n, n_answered):
    assert residual_bound(n, 0.01, False, n_answered) == pytest.approx(norm.isf(0.005 / n))
    m = n if n_answered is None else n_answered
    far = t.isf(0.005 / n, m - 2)
    # (m - 1) T^2 / (m - 2 + T^2): the square of a residual in units that it shares in.
    expected = far * np.sqrt((m - 1) / (m - 2 + far**2))
    assert residual_bound(n, 0.01, True, n_answered) == pytest.approx(expected)
    assert residual_bound(n, 0.01, True, defaults.FIRST_CHECK_LEARNED - 1) == np.inf


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_a_model_explains_something_if_it_predicts_better_than_the_mean(share, seed):
    rng = np.random.default_rng(seed)
    y = share * np.sin(6.0 * X).sum(axis=1) + rng.standard_normal(12)
    gp = observed(X, y, 0.05, units=(0.3, 2.0))
    errors = []
    for i in range(12):
        others = observed(np.delete(X, i, 0), np.delete(y, i), 0.05, units=(0.3, 2.0))
        errors.append((y[i] - others.moments(X[i : i + 1])[0], y[i] - np.delete(y, i).mean()))
    by_model, by_mean = np.square(errors).sum(axis=0)
    assert explains_nothing(gp) == (by_model >= by_mean)
    assert not explains_nothing(observed(X[:9], y[:9], 0.05))


@pytest.mark.parametrize("within", [1e-4, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_repeats_that_agree_too_well_show_that_noise_is_variation_of_f(within, seed):
    rng = np.random.default_rng(seed)
    places = np.repeat(X, 3, axis=0)
    noise = 1.0
    y = np.repeat(rng.standard_normal(12), 3) + np.sqrt(within) * rng.standard_normal(36)
    gp = observed(places, y, noise, 1e-6 * RBF(0.3))
    groups = y.reshape(12, 3)
    square = ((groups - groups.mean(axis=1, keepdims=True)) ** 2).sum() / noise
    said = square < 12 and chi2.cdf(square, 24) <= defaults.LACK_OF_FIT
    if said:
        # The odds of means: the noise that repeats do not show, or variation of f beside it.
        hidden = 1.0 - (square + 1.0) / 25.0
        errors, variances = gp.posterior.leave_one_out(0)
        smooth = variances - hidden * noise / 3
        rough = smooth + hidden * noise
        odds = norm.logpdf(errors, 0, np.sqrt(rough)) - norm.logpdf(errors, 0, np.sqrt(smooth))
        said = odds.sum() >= np.log(defaults.ODDS_OF_ROUGHNESS)
    assert lacks_fit(gp, noise) == said
    assert lacks_fit(gp, noise) == (within < 0.5)


def test_what_contradicts_a_model_is_said_with_a_remedy():
    y = np.sin(3.0 * X).sum(axis=1)
    kernel = RBF(0.3)
    for wild in ([7], [4, 7]):
        y[wild] += 9.0
        found = Criticism.of(observed(X, y, 0.01, kernel))
        n = len(found.outliers)
        said = contradiction_message(
            found, "q", kernel, 0.01, knows_noise=True, learns_kernel=False
        )
        begin = "one answer differs" if n == 1 else f"{n} answers differ"
        assert said.startswith(f"the answers contradict the model: {begin} from")
        assert f"q by {found.sizes.max():.3g} standard deviations" in said
        assert said.endswith("kernel=None learns the kernel") and "variance of 0.01" in said
        said = contradiction_message(
            found, "q", kernel, 0.01, knows_noise=False, learns_kernel=True
        )
        assert said.endswith("or these answers may be wrong")
    apart = Criticism.of(observed(np.zeros((4, 2)), np.array([0.0, 9.0, -9.0, 3.0]), 0.01, kernel))
    said = contradiction_message(apart, "q", kernel, 0.01, knows_noise=True, learns_kernel=True)
    assert "same query" in said and said.endswith("alpha=None learns it")
    said = contradiction_message(apart, "q", kernel, 0.01, knows_noise=False, learns_kernel=True)
    assert "same query" in said and said.endswith("or these answers may be wrong")
    assert outliers_message(1, "q", 4.0).startswith("one answer is far")
    assert "3 answers are far" in outliers_message(3, "q", 4.0) and "q by 2;" in outliers_message(
        3, "q", 4.0
    )


def test_deviations_from_others_are_those_of_values_left_out():
    values = np.random.default_rng(0).normal(5.0, 2.0, 9)
    others = [np.delete(values, i) for i in range(9)]
    naive = [
        abs(x - rest.mean()) / rest.std(ddof=1) for x, rest in zip(values, others, strict=True)
    ]
    np.testing.assert_allclose(deviations_from_others(values), naive)
    equal = np.full(9, 0.3)
    equal[4] += 1e-6
    assert np.isinf(deviations_from_others(equal)[4])

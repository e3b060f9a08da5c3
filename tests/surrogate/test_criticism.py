"""Leave-one-out residuals against models that are conditioned anew without each answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import defaults
from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.criticism import Criticism, leave_one_out_refit, risk_of_check

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

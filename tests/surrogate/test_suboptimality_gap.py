"""Suboptimality gap: how far one functional is below the best of several."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from skgpb.exceptions import NumericalWarning
from skgpb.surrogate.gaussian_process import GaussianProcess
from skgpb.surrogate.suboptimality_gap import (
    LEFT_OUT,
    MixedSuboptimalityGap,
    SuboptimalityGap,
    _upper,
)


def independent(mean, std):
    cov = np.diag(np.square(std))
    return SuboptimalityGap(np.array(mean), np.diag(cov), lambda some: lambda i: cov[some, some[i]])


def observed():
    gp = GaussianProcess(RBF(0.3), n_columns=1)
    for x, y in ((0.1, 0.3), (0.5, 1.0), (0.8, -0.4)):
        gp.observe(np.array([[x]]), y, 0.05)
    return gp


@pytest.mark.parametrize("most", [1000, 1])
def test_differences_are_those_of_the_joint_posterior(most, monkeypatch):
    monkeypatch.setattr("skgpb.surrogate.suboptimality_gap.MOST_RIVALS_AT_ONCE", most)
    gp = observed()
    gp.set_units(3.0, 0.25)
    blocks = [np.array([[0.2]]), np.array([[0.3], [0.4]]), np.array([[0.55]])]
    mean, cov = gp.moments(blocks, cov=True)
    D = np.hstack([np.eye(2), -np.ones((2, 1))])
    D = np.vstack([D, np.zeros(3)])
    found = SuboptimalityGap.from_process(gp, blocks)
    np.testing.assert_allclose(found.mean, D @ mean, atol=1e-12)
    np.testing.assert_allclose(found.std**2, np.diag(D @ cov @ D.T), atol=1e-12)
    again = SuboptimalityGap.from_moments(mean, cov)
    some = np.array([0, 1])
    for each in (found, again):
        column = each._columns(some)
        C = np.column_stack([column(0), column(1)])
        np.testing.assert_allclose(C, (D @ cov @ D.T)[:2, :2], atol=1e-12)


def test_what_is_tracked_is_compared_without_a_solve():
    gp, chosen = observed(), np.array([[0.55], [0.7]])
    tracked = [np.array([[0.2]]), np.array([[0.3], [0.4]])]
    gp.track(tracked)
    gp.set_units(3.0, 0.25)
    found, joint = (
        SuboptimalityGap.from_marginals(gp, chosen),
        SuboptimalityGap.from_process(gp, [*tracked, chosen]),
    )
    np.testing.assert_allclose(found.mean, joint.mean[:2], atol=1e-12)
    np.testing.assert_allclose(found.std, joint.std[:2], atol=1e-12)
    assert np.array_equal(found.ahead(0.1) > 0.2, joint.ahead(0.1)[:2] > 0.2)


def test_units_are_those_of_the_user():
    gp, blocks = observed(), [np.array([[0.2]]), np.array([[0.55]])]
    before = SuboptimalityGap.from_process(gp, blocks)
    gp.set_units(3.0, 0.25)
    after = SuboptimalityGap.from_process(gp, blocks)
    mean = gp.moments(blocks)
    assert after.mean[0] == pytest.approx(mean[0] - mean[1], abs=1e-12)
    # Other units scale the prior.
    assert after.std[0] == pytest.approx(0.25 * before.std[0], rel=1e-9)


def test_quantile_of_independent_rivals():
    gap = independent([0.0, 0.2, -1.0], [1.0, 0.5, 2.0])
    found = gap.quantile(0.1, np.random.default_rng())
    law = norm([0.0, 0.2, -1.0], [1.0, 0.5, 2.0])
    # The share of 2048 draws below it is known to 0.0066; five standard errors.
    assert np.prod(law.cdf(found)) == pytest.approx(0.9, abs=5 * np.sqrt(0.09 / 2048))


def test_nothing_is_below_zero_or_the_largest_single_quantile():
    rng = np.random.default_rng(0)
    assert independent([-9.0, -8.0], [1.0, 0.1]).quantile(0.05, rng) == 0.0
    assert independent([1.0], [0.0]).quantile(0.05, rng) == 1.0
    one = independent([0.5, -9.0], [1.0, 1e-3]).quantile(0.05, rng)
    assert one >= norm(0.5, 1.0).ppf(0.95) - 1e-12


def test_sum_of_probabilities_stands_for_too_many_rivals(monkeypatch):
    gap = independent(np.zeros(50), np.ones(50))
    rng = np.random.default_rng(0)
    drawn = gap.quantile(0.05, rng)
    monkeypatch.setattr("skgpb.surrogate.suboptimality_gap.MOST_RIVALS", 10)
    bound = gap.quantile(0.05, rng)
    assert bound == pytest.approx(norm.isf(0.05 / 50), abs=1e-9)
    assert bound > drawn - 0.2
    assert not gap.is_within(norm.isf(0.051 / 50), 0.05, 0.01, rng)


@pytest.mark.parametrize("epsilon", [1.0, 1.6, 2.3, 3.5])
def test_decision_is_that_of_the_exact_probability(epsilon):
    gap = independent([0.0, 0.2, -1.0], [1.0, 0.5, 2.0])
    exact = 1.0 - np.prod(norm([0.0, 0.2, -1.0], [1.0, 0.5, 2.0]).cdf(epsilon))
    found = gap.is_within(epsilon, 0.08, 1e-4, np.random.default_rng(1))
    assert found == (exact <= 0.08)
    assert abs(exact - 0.08) > 0.005  # more than the error of 2^14 draws


def test_bound_is_clopper_and_pearson():
    from scipy.stats import beta

    for failures, n, risk in ((0, 256, 0.01), (7, 256, 1e-4), (255, 256, 0.2)):
        assert _upper(failures, n, risk) == pytest.approx(
            beta.ppf(1 - risk, failures + 1, n - failures), rel=1e-9
        )
    assert _upper(5, 5, 0.1) == 1.0


def test_wrong_answers_are_as_rare_as_said():
    # At the very border of what is claimed each yes is an error: 100 tests of risk 0.05.
    gap = independent([0.0, 0.0], [1.0, 1.0])
    epsilon = norm.ppf(np.sqrt(0.9) - 2e-4)
    said = [gap.is_within(epsilon, 0.1, 0.05, np.random.default_rng([7, i])) for i in range(100)]
    assert sum(said) <= 100 * 0.05 + 4 * np.sqrt(100 * 0.05 * 0.95)


def test_rounding_is_in_proportion_to_prior_variances():
    """Differences that are known to 1e-5 are rounded as the numbers that they are between."""
    cov = np.full((2, 2), 1e-10)
    cov[1, 1] -= 4e-16

    def columns(some):
        return lambda i: cov[some, some[i]]

    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gap = SuboptimalityGap(np.zeros(2), np.diag(cov), columns, prior=1.0)
        assert gap.quantile(0.05, rng) == pytest.approx(1.645e-5, rel=0.2)
    with pytest.warns(NumericalWarning, match="set to 0"):
        SuboptimalityGap(np.zeros(2), np.diag(cov), columns).quantile(0.05, rng)


@pytest.mark.parametrize("seed", range(4))
def test_rivals_that_are_hardly_ever_ahead_are_left_out(seed):
    rng = np.random.default_rng(seed)
    gap = independent(rng.normal(-1.0, 1.0, 40), rng.uniform(0.1, 1.0, 40))
    ahead, delta = gap.ahead(0.5), 0.1
    np.testing.assert_allclose(ahead, norm.sf((0.5 - gap.mean) / gap.std))
    some, missing = gap._active_rivals(ahead, delta)
    others = np.setdiff1d(np.arange(40), some)
    assert missing == pytest.approx(ahead[others].sum()) and missing <= LEFT_OUT * delta
    assert ahead[others].max() <= ahead[some].min()
    assert missing + ahead[some].min() > LEFT_OUT * delta
    least = gap._least(delta)
    assert least == pytest.approx(max(0.0, (gap.mean + norm.isf(delta) * gap.std).max()))
    assert gap.ahead(least).max() <= delta + 1e-12
    most = gap._union_quantile(delta, least)
    assert gap.ahead(most).sum() == pytest.approx(delta, rel=1e-6)
    assert least <= gap.quantile(delta, rng) <= most + 0.1


def test_known_differences_are_ahead_or_not():
    gap = independent([0.5, 0.5, -1.0], [0.0, 0.0, 0.0])
    for epsilon, expected in ((0.4, [1, 1, 0]), (0.5, [0, 0, 0]), (-2.0, [1, 1, 1])):
        np.testing.assert_array_equal(gap.ahead(epsilon), expected)


@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("size", [1, 30])
def test_draws_are_the_largest_of_joint_draws_however_many_at_once(n, size, monkeypatch):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    gap = SuboptimalityGap(
        np.array([0.0, 0.5, -3.0]),
        np.diag(root @ root.T),
        lambda some: lambda i: (root @ root.T)[some, some[i]],
    )
    monkeypatch.setattr("skgpb.surrogate.suboptimality_gap.VARIATES_AT_ONCE", size)
    draw = gap._sampler(np.array([0, 2]), 0.0, 0.1)
    drawn = draw(n, rng)
    assert drawn.shape == (n,)
    many = draw(4000, rng)
    f = rng.multivariate_normal([0.0, -3.0], (root @ root.T)[np.ix_([0, 2], [0, 2])], 4000).max(
        axis=1
    )
    np.testing.assert_allclose(
        np.quantile(many, [0.1, 0.5, 0.9]), np.quantile(f, [0.1, 0.5, 0.9]), atol=0.25
    )
    with pytest.raises(ValueError, match="covariances of the differences are not known"):
        SuboptimalityGap(gap.mean, gap.std**2).quantile(0.1, rng)


def test_a_mixture_has_the_moments_and_chances_of_its_parts():
    parts = [independent([0.0, 1.0], [1.0, 0.5]), independent([2.0, -1.0], [0.2, 2.0])]
    weights = np.array([0.25, 0.75])
    mixed = MixedSuboptimalityGap(parts, weights)
    mean = weights @ [part.mean for part in parts]
    second = weights @ [part.std**2 + part.mean**2 for part in parts]
    np.testing.assert_allclose(mixed.mean, mean)
    np.testing.assert_allclose(mixed.std**2, second - mean**2)
    for epsilon in (0.0, 1.5):
        expected = weights @ [part.ahead(epsilon) for part in parts]
        np.testing.assert_allclose(mixed.ahead(epsilon), expected)
    least = mixed._least(0.1)
    assert mixed.ahead(least).max() == pytest.approx(0.1, rel=1e-6)

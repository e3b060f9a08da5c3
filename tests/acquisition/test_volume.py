"""The dominated volume and its expected improvement, against naive computations."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from skgpb.acquisition.improvement import log_expected_improvement
from skgpb.acquisition.volume import (
    boxes_not_dominated,
    dominated_volume,
    log_expected_volume,
    pareto_mask,
)


def volume_by_inclusion_and_exclusion(Y):
    """Sum over all subsets: the boxes [0, y] of a subset meet in the box of the least values."""
    Y = np.maximum(Y, 0.0)
    return sum(
        (-1.0) ** (k + 1) * float(np.prod(np.min(some, axis=0)))
        for k in range(1, len(Y) + 1)
        for some in combinations(Y, k)
    )


def improvement_by_draws(mean, std, front, n, rng):
    """Mean and standard error of the increase of the volume, one draw after the other."""
    before = volume_by_inclusion_and_exclusion(front)
    draws = mean + std * rng.standard_normal((n, len(mean)))
    gains = [volume_by_inclusion_and_exclusion(np.vstack([front, y])) - before for y in draws]
    return np.mean(gains), np.std(gains) / np.sqrt(n)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_volume_is_that_of_inclusion_and_exclusion(m):
    rng = np.random.default_rng(m)
    for n in (0, 1, 2, 7):
        # Some values are below the reference point, some are ties, one row is repeated.
        Y = np.round(rng.uniform(-0.2, 1.0, size=(n, m)), 1)
        Y = np.vstack([Y, Y[:1]])
        assert_allclose(dominated_volume(Y), volume_by_inclusion_and_exclusion(Y), atol=1e-8)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_boxes_are_disjoint_and_cover_what_is_not_dominated(m):
    rng = np.random.default_rng(m)
    Y = np.round(rng.uniform(-0.2, 1.0, size=(6, m)), 1)
    lower, upper = boxes_not_dominated(Y).transpose(1, 0, 2)
    z = rng.uniform(0.0, 1.2, size=(500, m))
    within = ((lower <= z[:, np.newaxis]) & (z[:, np.newaxis] < upper)).all(axis=2).sum(axis=1)
    dominated = (Y[:, np.newaxis] > z).all(axis=2).any(axis=0)
    np.testing.assert_array_equal(within, ~dominated)
    # What is dominated of a large box is all of it but the boxes.
    most = 2.0
    left = np.prod(np.minimum(upper, most) - np.minimum(lower, most), axis=1).sum()
    assert_allclose(most**m - left, volume_by_inclusion_and_exclusion(Y), atol=1e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_expected_improvement_is_the_mean_of_draws(m):
    rng = np.random.default_rng(10 + m)
    front = rng.uniform(-0.1, 1.0, size=(5, m))
    mean, std = rng.uniform(0.0, 1.2, size=(2, m)), rng.uniform(0.05, 0.4, size=(2, m))
    found = np.exp(log_expected_volume(mean, std, front))
    for gain, one_mean, one_std in zip(found, mean, std, strict=True):
        drawn, error = improvement_by_draws(one_mean, one_std, front, 400, rng)
        assert abs(gain - drawn) < 4.0 * error + 1e-3 * gain


def test_the_expected_improvement_of_two_goals_is_an_integral():
    rng = np.random.default_rng(0)
    front, mean, std = rng.uniform(size=(4, 2)), np.array([0.6, 0.7]), np.array([0.2, 0.3])

    def height(x):
        """Largest second goal of the front where the first is at least x."""
        return max(front[front[:, 0] >= x, 1], default=0.0)

    def slab(x):
        ei = np.exp(log_expected_improvement(mean[1:], std[1:], height(x)))[0]
        return norm.sf(x, mean[0], std[0]) * ei

    ends = np.sort(np.concatenate([[0.0], front[:, 0], [mean[0] + 12 * std[0]]]))
    naive = sum(quad(slab, a, b, epsabs=1e-12)[0] for a, b in pairwise(ends))
    found = np.exp(log_expected_volume(mean[np.newaxis], std[np.newaxis], front))
    assert_allclose(found, naive, rtol=1e-8)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_certain_values_improve_by_the_volume_that_they_add(m):
    rng = np.random.default_rng(m)
    front, mean = rng.uniform(size=(4, m)), rng.uniform(size=(5, m))
    found = np.exp(log_expected_volume(mean, np.zeros((5, m)), front))
    before = volume_by_inclusion_and_exclusion(front)
    naive = [volume_by_inclusion_and_exclusion(np.vstack([front, y])) - before for y in mean]
    assert_allclose(found, naive, atol=1e-8)


def test_one_goal_is_expected_improvement():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(8, 1)), rng.uniform(0.0, 1.0, size=(8, 1))
    front = np.array([[0.3], [0.7], [-1.0]])
    expected = log_expected_improvement(mean[:, 0], std[:, 0], 0.7)
    assert_allclose(log_expected_volume(mean, std, front), expected, rtol=1e-12)


def test_far_from_the_front_nothing_underflows():
    front, std = np.array([[1.0, 2.0], [2.0, 1.0]]), np.full((3, 2), 0.01)
    found = log_expected_volume(np.array([[0.5, 0.5], [0.1, 0.1], [-3.0, -3.0]]), std, front)
    assert np.isfinite(found).all()
    assert (np.diff(found) < 0.0).all()


def test_many_queries_are_computed_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    front, mean, std = rng.uniform(size=(9, 3)), rng.uniform(size=(40, 3)), np.full((40, 3), 0.1)
    whole = log_expected_volume(mean, std, front)
    monkeypatch.setattr("skgpb.acquisition.volume.MOST_PRODUCTS", 100)
    assert_allclose(log_expected_volume(mean, std, front), whole, rtol=1e-12)


def test_the_front_is_what_no_row_dominates():
    rng = np.random.default_rng(0)
    Y = np.round(rng.uniform(size=(40, 3)), 1)
    naive = [not any((z >= y).all() and (z > y).any() for z in Y) for y in Y]
    np.testing.assert_array_equal(pareto_mask(Y), naive)

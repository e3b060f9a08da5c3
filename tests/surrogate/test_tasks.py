"""The default kernels and priors of several tasks, against their formula."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpb import defaults
from skgpb.kernels.tasks import Tasks
from skgpb.surrogate.likelihood import Prior
from skgpb.surrogate.tasks import (
    multi_fidelity_kernel,
    slow_kernel,
    takes_tasks,
    tasks_kernel,
    tasks_prior,
)

ROUGH, SLOW = Matern(0.3, nu=2.5), RBF(2.0, "fixed")
RNG = np.random.default_rng(0)


def rows(n_tasks, n=30):
    return np.column_stack([RNG.uniform(size=(n, 2)), RNG.integers(0, n_tasks, n)])


@pytest.mark.parametrize("smooth", [False, True])
def test_the_slow_parts_are_as_long_as_the_box(smooth):
    bounds = np.array([[0.0, 2.0], [3.0, 3.0], [-1.0, -0.5]])
    kernel = slow_kernel(bounds, smooth)
    assert type(kernel) is (RBF if smooth else Matern)
    expected = defaults.TASK_SLOW_LENGTH_SCALE * sqrt(3) * np.array([2.0, 1.0, 0.5])
    assert_allclose(kernel.length_scale, expected)
    assert kernel.n_dims == 0 and (smooth or kernel.nu == 2.5)


@pytest.mark.parametrize("n", [2, 3])
def test_the_highest_of_the_fidelities_is_the_kernel_itself_and_others_have_parts_of_their_own(n):
    X = rows(n)
    same = X[:, 2][:, None] == X[:, 2]
    low = same & (X[:, 2] > 0)
    K, slow = ROUGH(X[:, :2]), SLOW(X[:, :2])
    kernel = multi_fidelity_kernel(ROUGH, SLOW, n)
    expected = K * (1 + defaults.TASK_ROUGH * low) + defaults.TASK_SLOW * slow * low + 1.0 * low
    assert_allclose(kernel(X), expected)
    assert_allclose(kernel.theta, ROUGH.theta)


@pytest.mark.parametrize("n", [2, 3])
def test_tasks_share_a_rough_and_a_slow_part_and_each_has_its_own(n):
    X = rows(n)
    same = X[:, 2][:, None] == X[:, 2]
    low, least = same & (X[:, 2] > 0), defaults.TASK_LEAST * (same & (X[:, 2] == 0))
    K, slow = ROUGH(X[:, :2]), SLOW(X[:, :2])
    kernel = tasks_kernel(ROUGH, SLOW, n)
    expected = K * (1 + defaults.TASK_ROUGH * low + least)
    expected = expected + slow * (1 + defaults.TASK_SLOW * low + least) + same
    assert_allclose(kernel(X), expected)


@pytest.mark.parametrize("n", [2, 3])
def test_the_prior_of_tasks_is_around_their_kernel(n):
    kernel = tasks_kernel(ROUGH, SLOW, n)
    prior = tasks_prior(Prior(ROUGH.theta, np.array([0.7])), n)
    assert_allclose(prior.center, kernel.theta)
    weights, spread = [defaults.TASK_WEIGHT_SPREAD] * n, [defaults.PART_SPREAD] * n
    trends = [defaults.TASK_TREND_SPREAD] * n
    assert_allclose(prior.spread, [*weights, *spread, 0.7, *trends, *spread])


def test_a_kernel_takes_tasks_if_any_of_its_parts_does():
    tasks = Tasks(ROUGH, n_tasks=2)
    for kernel in (tasks, 2.0 * tasks, ConstantKernel() + 2.0 * tasks):
        assert takes_tasks(kernel)
    for kernel in (ROUGH, 2.0 * ROUGH + SLOW):
        assert not takes_tasks(kernel)

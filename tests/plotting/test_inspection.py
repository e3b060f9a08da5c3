"""Effects of features are standard deviations of f by one of them alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPOOOptimizer, GPUCBOptimizer, StoOOOptimizer
from skgpb.plotting.inspection import feature_effects


def test_effects_of_a_known_linear_function():
    opt = EIOptimizer(10 * RBF([3.0, 3.0, 3.0]), bounds=[(0, 2), (0, 1), (0, 1)], alpha=1e-6)
    X = np.random.default_rng(0).uniform(size=(60, 3)) * [2, 1, 1]
    opt.fit(X, X @ [3.0, -1.0, 0.0])
    effects = feature_effects(opt)
    # A uniform variable on a side of length s has the deviation s / sqrt(12). The mean of the 200
    # squares has a relative deviation of sqrt(1.4 / 200) were they drawn, and they are spread.
    assert_allclose(effects.known, np.array([6.0, 1.0, 0.0]) / np.sqrt(12), rtol=0.09, atol=0.02)
    assert_allclose(effects.possible, effects.known, atol=0.02)


def test_before_any_answer_the_effects_are_those_of_the_kernel():
    opt = GPUCBOptimizer(4 * RBF([0.5, 1e3]), bounds=[(0, 1)] * 2, alpha=0.1, n_initial=0).start()
    effects = feature_effects(opt, n_samples=500)
    assert_allclose(effects.known, 0.0)
    a, b = np.random.default_rng(0).uniform(size=(2, 100_000))
    expected = 2 * np.sqrt(np.mean(1 - np.exp(-0.5 * ((a - b) / 0.5) ** 2)))
    assert_allclose(effects.possible, [expected, 0.0], rtol=0.09, atol=0.01)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_splits_of_a_tree_without_a_posterior(direction):
    opt = StoOOOptimizer(bounds=[(0, 1)] * 2, max_depth=8, random_state=0, direction=direction)
    opt.run(lambda cell: float(cell.center[0]), 60)
    effects = feature_effects(opt)
    assert effects.known[0] > 5 * effects.known[1]
    assert_allclose(effects.possible, effects.known)


def test_a_pool_is_sampled_by_its_rows():
    rng = np.random.default_rng(0)
    # Nearly all rows have the same second feature, though its range is wide. Of 2 * 200 rows drawn
    # one is the odd one on average, and more than seven in one run of 100,000; each adds half of
    # a variance of at most two and of a squared difference below one.
    pool = np.column_stack([rng.uniform(size=400), np.r_[np.zeros(399), 10.0]])
    opt = GPOOOptimizer(RBF([0.3, 3.0]), pool=pool, alpha=0.01, n_representatives=4)
    opt.run(lambda cell: float(pool[cell.members, 0].mean()), 20)
    effects = feature_effects(opt)
    assert effects.possible[1] < np.sqrt(7 * 1.5 / 200)
    assert effects.known[0] > 0.2


def test_asking_for_effects_leaves_the_run_as_it_is():
    opt = EIOptimizer(RBF(0.3), bounds=[(0, 1)] * 2, random_state=0)
    opt.run(lambda query: float(query.points.sum()), 12)
    other = copy.deepcopy(opt)
    one, again = feature_effects(opt), feature_effects(opt)
    assert_allclose(one.possible, again.possible, rtol=0)
    assert opt.ask(3) == other.ask(3)


def test_bad_input():
    with pytest.raises(NotFittedError):
        feature_effects(EIOptimizer(bounds=[(0, 1)]))
    opt = EIOptimizer(bounds=[(0, 1)]).start()
    for n_samples in (0, 2.5, 10**6):
        with pytest.raises(ValueError, match="n_samples must be"):
            feature_effects(opt, n_samples)

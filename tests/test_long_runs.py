"""Thousands of repeats, merged exactly: against a posterior that takes every answer by itself."""

import sys

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPOOOptimizer, OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage

N = 10_000
EPS = np.finfo(float).eps


def one_by_one(C, noise, which, y):
    """Posterior mean and covariance of functionals of prior covariance C, one answer at a time."""
    mean, C = np.zeros(len(C)), C.copy()
    for i, variance, value in zip(which, noise, y, strict=True):
        c = C[:, i].copy()
        gain = c / (c[i] + variance)
        mean += gain * (value - mean[i])
        C -= np.outer(gain, c)
    return mean, C


@pytest.mark.slow
def test_gpoo_after_10000_rounds_equals_the_posterior_without_merging():
    rng = np.random.default_rng(0)
    noise, kernel = 0.2, RBF(0.15)
    opt = GPOOOptimizer(
        kernel,
        bounds=[(0, 1), (0, 1)],
        alpha=noise**2,
        n_representatives=5,
        variation=(4.0, 0.7),
        max_depth=20,
    )
    for _ in range(N):
        cell = opt.ask()
        x, y = cell.points.T
        opt.tell(cell, np.mean(np.sin(9 * x) * np.cos(7 * y)) + noise * rng.normal())
    boxes, answered = np.unique(opt.history_["descriptor"], axis=0, return_inverse=True)
    u = len(boxes)
    tree = opt.tree_
    leaves = np.hstack([tree.lower, tree.upper])[tree.children[:, 0] < 0]
    assert 100 < u < 1000  # the run does repeat its queries, or nothing is shown

    prior = CellAverage(kernel, 5)(np.vstack([boxes, leaves]))
    rewards = opt.history_["reward"]
    mean, C = one_by_one(prior, np.full(N, noise**2), answered.ravel(), rewards)
    counts = np.bincount(answered.ravel())
    condition = np.linalg.cond(prior[:u, :u] + np.diag(noise**2 / counts))
    tolerance = min(1e-8, 1e3 * EPS * condition)
    ours = opt.surrogate_.predict(np.vstack([boxes, leaves]), return_std=True)
    assert np.abs(ours[0] - mean).max() < tolerance
    assert np.abs(ours[1] ** 2 - np.diag(C)).max() < tolerance


@pytest.mark.slow
def test_10000_answers_in_any_order_with_their_own_noise():
    rng = np.random.default_rng(1)
    X = rng.random((120, 2))
    X = np.vstack([X, X[:20] + 1e-6])  # near-duplicates are not repeats
    which = rng.integers(len(X), size=N)
    noise = 10.0 ** rng.uniform(-3, 1, size=N)
    y = rng.normal(size=N)
    kernel = RBF(0.3)
    gpr = OnlineGaussianProcessRegressor(kernel, optimizer=None).track(X)
    for k in range(0, N, 50):  # some of a batch repeat each other, some what is known
        part = slice(k, k + 50)
        gpr.partial_fit(X[which[part]], y[part], alpha=noise[part])
    mean, C = one_by_one(kernel(X), noise, which, y)
    merged = 1.0 / np.bincount(which, weights=1.0 / noise)
    condition = np.linalg.cond(kernel(X) + np.diag(merged))
    tolerance = min(1e-8, 1e3 * EPS * condition)
    ours = gpr.predict_tracked(return_std=True)
    assert np.abs(ours[0] - mean).max() < tolerance
    assert np.abs(ours[1] ** 2 - np.diag(C)).max() < tolerance


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
def test_memory_follows_distinct_queries():
    import resource

    X = np.random.default_rng(2).random((50, 2))
    gpr = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.1, optimizer=None).fit(X, X[:, 0])
    gpr.partial_fit(X, X[:, 1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        gpr.partial_fit(X, X[:, 1])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(gpr.X_train_) == 50 and gpr.L_.shape == (50, 50)
    # 10,050 answers kept apart would take 800 MB; a tenth allows for whatever else runs.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    assert (after - before) / unit < 80

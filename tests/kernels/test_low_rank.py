"""Features against exact covariances: the stated error is kept, for points, pools and boxes."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpb import GPOOOptimizer, OnlineGaussianProcessRegressor
from skgpb.exceptions import ApproximationWarning
from skgpb.kernels import CellAverage, CellIntegral, LowRank, low_rank
from skgpb.kernels.evaluator import Functionals

BASES = [RBF([0.3, 0.2]), 2.0 * Matern(0.3, nu=2.5), RBF(0.4) + 0.5 * RationalQuadratic(0.5)]


def pool_of(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random((n - n // 4, d)), 0.5 + 0.05 * rng.normal(size=(n // 4, d))])


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_no_covariance_is_wrong_by_more_than_stated(base, tolerance):
    pool = pool_of(900)
    kernel = LowRank(base, pool, tolerance, max_rank=900)
    exact, scale = base(pool), base.diag(pool).max()
    error = np.abs(kernel(pool) - exact)
    features = kernel.feature_map(2)
    assert error.max() <= features.error * (1 + 1e-9) <= tolerance * scale * (1 + 1e-6)
    assert features.n_features < 900
    # and the means of cells are within it as well, though far closer on average
    starts = np.array([0, 1, 50, 400])
    sizes = np.diff([*starts, 900])
    means = np.repeat(np.eye(4) / sizes[:, None], sizes, axis=1)
    phi = features.means(pool, starts)
    assert_allclose(phi @ phi.T, means @ exact @ means.T, atol=features.error, rtol=0)
    assert_allclose(phi @ phi.T, means @ kernel(pool) @ means.T, atol=1e-10)
    assert_allclose(kernel.diag(pool), np.diag(kernel(pool)), atol=1e-12)


def test_the_error_holds_for_every_candidate_of_a_large_pool():
    rng = np.random.default_rng(1)
    # a few rows far from all others, which a sample of candidates would miss
    pool = np.concatenate([rng.random((19_990, 2)), 3.0 + rng.random((10, 2))])
    rng.shuffle(pool)
    features = LowRank(RBF(0.3), pool, 1e-3).feature_map(2)
    assert features.residual(pool).max() == features.error <= 1e-3


def test_rounding_is_no_loss_where_the_smallest_variance_is_zero():
    pool = np.concatenate([np.zeros((1, 2)), 10.0 * np.random.default_rng(0).random((50, 2))])
    base = DotProduct(0.0)  # two features tell all of it
    features = LowRank(base, pool, 1e-6).feature_map(2)
    phi = features.points(pool)
    assert (base.diag(pool) - np.einsum("ij,ij->i", phi, phi)).min() < 0.0
    assert_allclose(features.residual(pool), 0.0, atol=1e-12)  # and no warning


def test_a_rank_that_does_not_suffice_is_reported():
    pool = pool_of(300)
    with pytest.warns(ApproximationWarning, match="with 5 landmarks the error"):
        features = LowRank(Matern(0.1), pool, 1e-3, max_rank=5).feature_map(2)
    assert features.n_features == 5 and features.error > 0.1


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_gradient_equals_differences_at_fixed_landmarks(base):
    pool = pool_of(200)
    kernel = LowRank(base, pool, 1e-3)
    features, starts = kernel.feature_map(2), np.array([0, 30, 31, 120])
    sizes = np.diff([*starts, 200])
    means = np.repeat(np.eye(4) / sizes[:, None], sizes, axis=1)
    K, gradient = features.gram_gradient(pool, starts)

    def gram(theta):
        at = base.clone_with_theta(theta)
        C = means @ at(pool, features.landmarks)
        return C @ np.linalg.solve(at(features.landmarks), C.T)

    theta, step = base.theta, 1e-5
    assert_allclose(K, gram(theta), atol=1e-9)
    for j, e in enumerate(step * np.eye(len(theta))):
        assert_allclose(
            gradient[..., j], (gram(theta + e) - gram(theta - e)) / (2 * step), atol=1e-7
        )


def test_is_a_kernel_like_any_other():
    pool = pool_of(150)
    kernel = LowRank(1.5 * Matern(0.4, nu=2.5), pool, 1e-6)
    copy = pickle.loads(pickle.dumps(clone(kernel)))
    assert copy == kernel and copy.get_params()["base__k2__length_scale"] == 0.4
    assert_allclose(copy.theta, kernel.base.theta)
    assert len(kernel.hyperparameters) == len(kernel.bounds) == 2
    y = np.sin(5 * pool[:, 0])
    exact = GaussianProcessRegressor(kernel.base, alpha=0.01, optimizer=None).fit(pool, y)
    ours = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(pool, y)
    assert_allclose(ours.predict(pool), exact.predict(pool), atol=1e-4)
    changed = kernel.clone_with_theta(kernel.theta + 0.5)
    assert not np.allclose(changed(pool[:5]), kernel(pool[:5]))
    assert kernel.feature_map(2) is kernel.feature_map(2)
    kernel.set_params(base__k2__nu=0.5)  # no hyperparameter, and yet another kernel
    assert_allclose(kernel.feature_map(2).base.k2.nu, 0.5)


@pytest.mark.parametrize("feedback", [CellAverage, CellIntegral])
def test_boxes_average_the_features(feedback):
    base, rng = Matern(0.5, nu=2.5), np.random.default_rng(0)
    corners = np.sort(rng.random((12, 2, 2)), axis=1)
    boxes = corners.reshape(12, 4)
    boxes[3:5, 2:] = boxes[3:5, :2]  # points
    cover = np.stack(np.meshgrid(*[np.linspace(0, 1, 30)] * 2), -1).reshape(-1, 2)
    low_rank = feedback(LowRank(base, cover, 1e-3), 4)
    exact = feedback(base, 4)
    assert_allclose(low_rank(boxes), exact(boxes), atol=1.2e-3)
    assert_allclose(low_rank(boxes, boxes[:3]), exact(boxes, boxes[:3]), atol=1.2e-3)
    assert_allclose(low_rank.diag(boxes), np.diag(low_rank(boxes)), atol=1e-12)
    assert_allclose(
        low_rank(boxes, eval_gradient=True)[1], exact(boxes, eval_gradient=True)[1], atol=0.03
    )
    assert not low_rank.noise_diag(boxes).any()
    with pytest.raises(ValueError, match="for each of the 2 axes"):
        feedback(LowRank(base, cover, 1e-3), (4, 4, 4))(boxes)


def test_the_posterior_of_pool_cells_equals_the_exact_one():
    pool = pool_of(400)
    rng = np.random.default_rng(3)
    order = rng.permutation(400)
    blocks = [pool[part] for part in np.split(order, [10, 60, 61, 200, 300])]
    exact, ours = (
        OnlineGaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)
        for kernel in (Matern(0.5, nu=2.5), LowRank(Matern(0.5, nu=2.5), pool, 1e-5))
    )
    for gpr in (exact, ours):
        gpr._start(gpr.kernel, 2)
        gpr.process_.track(blocks, range(6))
        for slot, y in ((2, 1.0), (5, -0.5), (2, 0.8), (0, 0.3)):
            gpr.process_.observe_tracked(slot, y, 0.1)
        gpr.process_.observe(pool[:7], 0.4, 0.1)
        gpr.process_.track([pool[5:9], pool[100:300]], [3, 6])
    for one, other in zip(
        exact.predict_tracked(return_std=True), ours.predict_tracked(return_std=True), strict=True
    ):
        assert_allclose(other, one, atol=1e-4)
    assert_allclose(
        ours.log_marginal_likelihood(ours.kernel_.theta, eval_gradient=True)[1],
        exact.log_marginal_likelihood(exact.kernel_.theta, eval_gradient=True)[1],
        atol=1e-3,
    )
    fork = ours.process_.fantasize([pool[3:30]], [0.1])
    assert_allclose(
        fork.posterior.tracked_mean(), ours.process_.posterior.tracked_mean(), atol=1e-10
    )
    again = pickle.loads(pickle.dumps(ours))
    again.process_.track([pool[:20]], [7])
    ours.process_.track([pool[:20]], [7])
    assert_allclose(
        again.process_.posterior.tracked_mean(), ours.process_.posterior.tracked_mean(), atol=1e-12
    )


def test_sums_over_runs_that_several_blocks_share_are_those_in_one(monkeypatch):
    features, rng = LowRank(RBF(0.5), pool_of(100), 1e-4).feature_map(2), np.random.default_rng(0)
    X, starts = rng.random((20, 2)), np.array([0, 1, 9, 10, 17])
    means, (K, gradient) = features.means(X, starts), features.gram_gradient(X, starts)
    monkeypatch.setattr(low_rank, "BLOCK_SIZE", 3 * features.n_features)
    assert_allclose(features.means(X, starts), means, rtol=1e-10, atol=1e-12)
    for found, expected in zip(features.gram_gradient(X, starts), (K, gradient), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_functionals_keep_their_features_apart():
    evaluator = LowRank(RBF(0.5), pool_of(100), 1e-4).evaluator(2)
    rng = np.random.default_rng(0)
    ours = Functionals(2)
    assert list(ours) == []
    blocks = [rng.random((k, 2)) for k in (3, 1, 4)]
    for i, block in enumerate(blocks):
        ours[i] = block
        ours.embedding(evaluator)
    blocks[1] = rng.random((6, 2))
    other = Functionals.of([blocks[1]], 2)
    other.embedding(evaluator)
    ours.put(1, other, 0)
    blocks[0] = rng.random((2, 2))
    ours[0] = blocks[0]
    for mine, block in zip(ours, blocks, strict=True):
        assert_allclose(mine, block)
    expected = [evaluator.features.points(block).mean(axis=0) for block in blocks]
    assert_allclose(ours.embedding(evaluator), expected, atol=1e-12)
    assert_allclose(ours.copy().embedding(evaluator), expected, atol=1e-12)
    assert_allclose(ours.one(2).embedding(evaluator)[0], expected[2], atol=1e-12)


def test_gpoo_over_whole_cells_of_a_pool_chooses_as_with_exact_covariances():
    pool = pool_of(300)
    asked = []
    for kernel in (RBF(0.3), LowRank(RBF(0.3), pool, 1e-7)):
        rng = np.random.default_rng(5)
        opt = GPOOOptimizer(
            kernel, pool=pool, feedback="integral", alpha=0.01, variation=(3.0, 0.7), optimizer=None
        )
        cells = []
        for _ in range(25):
            cell = opt.ask()
            cells.append((cell.depth, cell.index))
            opt.tell(cell, np.sin(5 * pool[cell.members]).sum(axis=1).mean() + 0.1 * rng.normal())
        asked.append(cells)
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"base": RBF() + WhiteKernel()}, "WhiteKernel"),
        ({"base": "rbf"}, "base of LowRank"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": (0.5, 0.5)}, "tolerance"),
        ({"max_rank": 0}, "max_rank"),
        ({"candidates": np.zeros((5, 3))}, "candidates"),
        ({"candidates": [[np.nan, 0.0]]}, "candidates"),
    ],
)
def test_wrong_parameters_are_named(arguments, error):
    kernel = LowRank(**{"base": RBF(), "candidates": np.zeros((5, 2)), **arguments})
    with pytest.raises((ValueError, TypeError), match=error):
        kernel.feature_map(2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "n", "rounds"), [(None, 600, 6), (Matern(0.3, nu=2.5), 20_000, 30)], ids=repr
)
def test_cells_of_20000_members_need_no_square(kernel, n, rounds):
    pool = pool_of(n)
    opt = GPOOOptimizer(kernel, pool=pool, feedback="integral", alpha=0.01, random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        cell = opt.ask()
        opt.tell(cell, np.cos(3 * pool[cell.members]).mean() + 0.1 * rng.normal())
    assert isinstance(opt.surrogate_.kernel_, LowRank)
    # all members at once against single ones, in the exact kernel
    base, features = opt.surrogate_.kernel_.base, opt.surrogate_.process_._evaluator.features
    some = pool[:: n // 50]
    exact = base(some, pool).mean(axis=1)
    root = features.means(pool, np.array([0]))[0]
    assert_allclose(features.points(some) @ root, exact, atol=features.error)
    assert features.error <= 1e-3 * base.diag(pool).max()


@pytest.mark.parametrize("feedback", [CellAverage, CellIntegral])
def test_means_over_several_boxes_are_the_means_of_their_covariances(feedback):
    lower = np.random.default_rng(1).random((6, 2))
    boxes = np.hstack([lower, lower + 0.2])
    evaluator = feedback(LowRank(RBF(0.4), pool_of(50))).evaluator(4)
    E = evaluator.embed(boxes)
    several, sizes = evaluator.embed(boxes, np.array([0, 1, 3, 6])), np.array([1, 2, 3])
    means = np.repeat(np.eye(3) / sizes[:, None], sizes, axis=1)
    assert_allclose(evaluator.cross(several, E), means @ evaluator.cross(E, E), atol=1e-12)


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_no_more_features_are_kept_than_the_tolerance_needs(base, tolerance):
    pool = pool_of(300)
    features = LowRank(base, pool, tolerance, max_rank=300).feature_map(2)
    scale = base.diag(pool).max()
    assert features.error <= tolerance * scale * (1 + 1e-9)
    # Without the last landmark, in the order in which they were chosen, it would not hold.
    fewer = features.landmarks[:-1]
    K, k = base(fewer), base(pool, fewer)
    rest = base.diag(pool) - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    assert rest.max() > tolerance * scale

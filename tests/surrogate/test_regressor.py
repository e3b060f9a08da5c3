"""OnlineGaussianProcessRegressor against scikit-learn's regressor on the same data."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import sqrtm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpb import CMESOptimizer, GPOOOptimizer, GPUCBOptimizer, OnlineGaussianProcessRegressor
from skgpb.exceptions import NumericalWarning
from skgpb.kernels import CellAverage, CellIntegral, WindowMean
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate import gaussian_process
from skgpb.surrogate.likelihood import log_likelihood

KERNELS = [
    RBF(0.3),
    2.0 * Matern([0.3, 0.4], nu=1.5) + WhiteKernel(0.1),
    RationalQuadratic(0.4, 1.2),
    ConstantKernel(0.5) + 0.3 * RBF([0.2, 1.0]) * DotProduct(),
]


def make(seed=0, n=30, d=2, repeats=True):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    if repeats:
        X[5] = X[3]
        X[7] = X[3]
        X[20] = X[10]
    y = 5 + np.sin(5 * X[:, 0]) + X[:, -1] + 0.1 * rng.normal(size=n)
    return X, y, rng.random((9, d))


def assert_same(ours, theirs, T, atol=1e-8):
    for flags in ({"return_std": True}, {"return_cov": True}):
        for a, b in zip(ours.predict(T, **flags), theirs.predict(T, **flags), strict=True):
            assert_allclose(a, b, atol=atol)
    assert_allclose(ours.predict(T), theirs.predict(T), atol=atol)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_fit_equals_scikit_learn(kernel, normalize_y, many):
    X, y, T = make()
    if many:
        y = np.column_stack([y, y**2])
    params = {"alpha": 0.01, "normalize_y": normalize_y, "optimizer": None}
    theirs = GaussianProcessRegressor(kernel, **params).fit(X, y)
    ours = OnlineGaussianProcessRegressor(kernel, **params).fit(X, y)
    assert_same(ours, theirs, T)
    value = theirs.log_marginal_likelihood_value_
    assert_allclose(ours.log_marginal_likelihood_value_, value, rtol=1e-8)
    theta = theirs.kernel_.theta + 0.1
    for a, b in zip(
        ours.log_marginal_likelihood(theta, eval_gradient=True),
        theirs.log_marginal_likelihood(theta, eval_gradient=True),
        strict=True,
    ):
        assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    # The draws are those of the symmetric root: scikit-learn's depend on the processor.
    mean, cov = theirs.predict(T, return_cov=True)
    rng = np.random.RandomState(1)
    draws = [
        m[:, None] + sqrtm(C).real @ rng.standard_normal((len(T), 3))
        for m, C in zip(mean.reshape(len(T), -1).T, cov.reshape(*cov.shape[:2], -1).T, strict=True)
    ]
    expected = np.stack(draws, axis=1) if many else draws[0]
    assert_allclose(ours.sample_y(T, 3, random_state=1), expected, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=str)
@pytest.mark.parametrize("normalize_y", [False, True])
def test_learned_hyperparameters_equal_scikit_learn(kernel, normalize_y):
    X, y, T = make(repeats=False)
    params = {
        "alpha": 0.01,
        "normalize_y": normalize_y,
        "n_restarts_optimizer": 2,
        "random_state": 3,
    }
    theirs = GaussianProcessRegressor(kernel, **params).fit(X, y)
    ours = OnlineGaussianProcessRegressor(kernel, **params).fit(X, y)
    assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-5)
    # The optimum is flat: the two agree in it to rounding, and in the parameters to its root.
    assert_allclose(
        ours.log_marginal_likelihood_value_, theirs.log_marginal_likelihood_value_, rtol=1e-9
    )
    theirs = GaussianProcessRegressor(ours.kernel_, **{**params, "optimizer": None}).fit(X, y)
    assert_same(ours, theirs, T)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_partial_fit_equals_refitting(kernel, normalize_y, many):
    X, y, T = make()
    if many:
        y = np.column_stack([y, np.cos(y)])
    params = {"alpha": 0.01, "normalize_y": normalize_y, "optimizer": None}
    theirs = GaussianProcessRegressor(kernel, **params).fit(X, y)
    ours = OnlineGaussianProcessRegressor(kernel, **params)
    if not many:
        ours.track(T)
    for part in (slice(0, 1), slice(1, 12), slice(12, 13), slice(13, 30)):
        ours.partial_fit(X[part], y[part])
    assert_same(ours, theirs, T)
    assert_allclose(
        ours.log_marginal_likelihood_value_, theirs.log_marginal_likelihood_value_, rtol=1e-8
    )
    if not many and not ours.process_.white:
        for a, b in zip(
            ours.predict_tracked(return_std=True), theirs.predict(T, return_std=True), strict=True
        ):
            assert_allclose(a, b, atol=1e-8)


def test_repeats_are_merged_and_memory_follows_distinct_inputs():
    rng = np.random.default_rng(0)
    places = rng.random((20, 2))
    X = places[rng.integers(20, size=2000)]
    y = X.sum(axis=1) + rng.normal(size=2000)
    ours = OnlineGaussianProcessRegressor(RBF(0.5), alpha=1.0, optimizer=None).fit(
        X[:1000], y[:1000]
    )
    for x, value in zip(X[1000:], y[1000:], strict=True):
        ours.partial_fit(x[None], [value])
    assert ours.L_.shape == (20, 20)
    theirs = GaussianProcessRegressor(RBF(0.5), alpha=1.0, optimizer=None).fit(X, y)
    assert_same(ours, theirs, rng.random((6, 2)))
    assert_allclose(
        ours.log_marginal_likelihood_value_, theirs.log_marginal_likelihood_value_, rtol=1e-9
    )


def test_noise_for_each_observation():
    X, y, T = make()
    noise = np.linspace(0.01, 1.0, len(X))
    theirs = GaussianProcessRegressor(RBF(0.3), alpha=noise, optimizer=None).fit(X, y)
    ours = OnlineGaussianProcessRegressor(RBF(0.3), alpha=noise, optimizer=None).fit(X, y)
    assert_same(ours, theirs, T)
    online = OnlineGaussianProcessRegressor(RBF(0.3), optimizer=None)
    online.partial_fit(X[:10], y[:10], alpha=noise[:10])
    online.partial_fit(X[10:], y[10:], alpha=noise[10:])
    assert_same(online, theirs, T)


@pytest.mark.parametrize("make_kernel", [lambda base: CellAverage(base, 4), CellIntegral])
@pytest.mark.parametrize("base", [RBF(0.3), 0.5 * Matern(0.4, nu=2.5)], ids=str)
def test_aggregated_data_equals_scikit_learn_with_the_same_kernel(make_kernel, base):
    rng = np.random.default_rng(1)
    lower = rng.random((15, 2))
    X = np.hstack([lower, lower + rng.random((15, 2)) * [1, 0.3]])
    X[-1, 2:] = X[-1, :2]
    y = rng.normal(size=15)
    kernel = make_kernel(base)
    theirs = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, y)
    ours = OnlineGaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)
    ours.partial_fit(X[:6], y[:6]).track(X[3:9]).partial_fit(X[6:], y[6:])
    assert_same(ours, theirs, X[:9])
    for a, b in zip(
        ours.predict_tracked(return_std=True), theirs.predict(X[3:9], return_std=True), strict=True
    ):
        assert_allclose(a, b, atol=1e-8)


def test_averages_over_blocks_of_rows_equal_the_explicit_average():
    rng = np.random.default_rng(2)
    blocks = [rng.random((n, 2)) for n in (1, 3, 5, 1, 2)]
    y, noise = rng.normal(size=5), 0.05
    T = rng.random((4, 2))
    kernel = Matern(0.4)
    gpr = OnlineGaussianProcessRegressor(kernel, optimizer=None)
    gpr._start(clone(kernel), 2)
    gpr.track(T)
    for block, value in zip(blocks, y, strict=True):
        gpr.process_.observe(block, value, noise)
    rows = np.vstack(blocks)
    A = np.zeros((5, len(rows)))
    start = 0
    for i, block in enumerate(blocks):
        A[i, start : start + len(block)] = 1 / len(block)
        start += len(block)
    Q = A @ kernel(rows) @ A.T + noise * np.eye(5)
    K = kernel(T, rows) @ A.T
    mean = K @ np.linalg.solve(Q, y)
    var = 1 - np.einsum("ij,ji->i", K, np.linalg.solve(Q, K.T))
    got_mean, got_std = gpr.predict_tracked(return_std=True)
    assert_allclose(got_mean, mean, atol=1e-10)
    assert_allclose(got_std**2, var, atol=1e-10)
    assert_allclose(
        gpr.process_.moments(blocks[1:2])[0], (A @ kernel(rows) @ A.T)[1] @ np.linalg.solve(Q, y)
    )
    functionals = gpr.process_.observed
    value, gradient = log_likelihood(kernel, functionals, np.full(5, noise), y, True)
    assert_allclose(value, gpr.log_marginal_likelihood_value_)
    step = 1e-6
    moved = [kernel.clone_with_theta(kernel.theta + s) for s in (step, -step)]
    up, down = (log_likelihood(k, functionals, np.full(5, noise), y) for k in moved)
    assert_allclose(gradient, (up - down) / (2 * step), rtol=1e-5)


def test_imagined_observations_shrink_variances_as_real_ones_do():
    X, y, T = make()
    gpr = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.1, optimizer=None).fit(X, y)
    gpr.track(T)
    before = pickle.dumps(gpr)
    fork = gpr.process_.fantasize([T[:1], X[:1], T[:1]], [0.1, 0.2, 0.1])
    assert pickle.dumps(gpr) == before
    assert_allclose(
        fork.posterior.tracked_mean(), gpr.process_.posterior.tracked_mean(), atol=1e-10
    )
    gpr.partial_fit([T[0], X[0], T[0]], [0.0, 9.0, 1.0], alpha=[0.1, 0.2, 0.1])
    assert_allclose(fork.posterior.tracked_var(), gpr.process_.posterior.tracked_var(), atol=1e-12)


def test_duplicates_without_noise_follow_the_jitter_policy():
    X = np.array([[0.0], [1e-9], [0.5]])
    y = np.array([1.0, 1.0, 2.0])
    gpr = OnlineGaussianProcessRegressor(RBF(1.0), alpha=0.0, optimizer=None)
    with pytest.warns(NumericalWarning, match="jitter 1.0e-10"):
        gpr.fit(X, y)
    assert_allclose(gpr.predict(X), y, atol=1e-4)
    gpr = OnlineGaussianProcessRegressor(RBF(1.0), alpha=0.0, optimizer=None).fit(
        X[[0, 2]], y[[0, 2]]
    )
    with pytest.warns(NumericalWarning, match="1 observation"):
        gpr.partial_fit(X[1:2], y[1:2])
    assert_allclose(gpr.predict(X), y, atol=1e-4)
    exact = OnlineGaussianProcessRegressor(RBF(1.0), alpha=0.0, optimizer=None)
    exact.fit(X[[0, 0, 2]], [1.0, 3.0, 2.0])
    assert_allclose(exact.predict(X[[0, 2]]), [2.0, 2.0], atol=1e-10)


@pytest.mark.parametrize("first", [1e3, 1e7, 1e9, 1e16])
@pytest.mark.parametrize("second", [0.0, 0.1])
def test_a_repeat_may_be_more_precise_by_any_order_of_magnitude(first, second):
    X, y, T = make(n=12, repeats=False)
    gpr = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.01, optimizer=None)
    gpr.fit(X, y).track(T)
    gpr.partial_fit(T[:1], [9.0], alpha=first).partial_fit(T[:1], [5.0], alpha=second)
    merged = [np.average([9.0, 5.0], weights=[second, first])]
    noise = np.append(np.full(12, 0.01), first * (second / (first + second)))
    batch = GaussianProcessRegressor(RBF(0.3), alpha=noise, optimizer=None)
    batch.fit(np.vstack([X, T[:1]]), np.append(y, merged))
    mean, std = batch.predict(T, return_std=True)
    assert_allclose(gpr.predict_tracked(), mean, atol=1e-8)
    assert_allclose(gpr.process_.posterior.tracked_var(), std**2, atol=1e-8)
    samples = OnlineGaussianProcessRegressor(
        RBF(0.3), alpha=np.append(np.full(12, 0.01), [first, second]), optimizer=None
    )
    samples.fit(np.vstack([X, T[:1], T[:1]]), np.append(y, [9.0, 5.0]))
    value = samples.log_marginal_likelihood_value_
    assert_allclose(gpr.log_marginal_likelihood_value_, value, rtol=1e-8)


def test_what_the_prior_knows_is_told_without_noise():
    # f(0) = 0 for certain: jitter relative to what is not known, whatever way it is told.
    X, y = np.array([[0.0], [1.0]]), [0.5, 2.0]
    for tracked in (False, True):
        gpr = OnlineGaussianProcessRegressor(DotProduct(0.0), alpha=0.0, optimizer=None)
        gpr.partial_fit(X[1:], y[1:])
        if tracked:
            gpr.track(X)
            with pytest.warns(NumericalWarning, match="jitter 1.0e-10"):
                gpr.process_.observe_tracked(0, y[0], 0.0)
        else:
            with pytest.warns(NumericalWarning, match="jitter 1.0e-10"):
                gpr.partial_fit(X[:1], y[:1])
        assert len(gpr.X_train_) == gpr.process_.posterior.n == 2
        assert_allclose(gpr.predict(X), [0.0, 2.0])


@pytest.mark.parametrize("kernel", [ConstantKernel(1e-320) * RBF(0.2), DotProduct(0.0)], ids=str)
def test_refused_observations_leave_no_trace(kernel):
    X = np.zeros((1, 1))
    gpr = OnlineGaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
    before = pickle.dumps(gpr)
    for tell in (gpr.fit, gpr.partial_fit):
        with pytest.raises(np.linalg.LinAlgError, match="largest prior variance"):
            tell(X, [1.0])
        assert pickle.dumps(gpr) == before
    gpr.partial_fit(X, [0.3], alpha=0.1).track(X)
    before = pickle.dumps(gpr)
    with pytest.raises(np.linalg.LinAlgError, match="largest prior variance"):
        gpr.partial_fit([[0.0], [0.0], [-0.0]], [1.0, 2.0, 3.0])
    assert pickle.dumps(gpr) == before


@pytest.mark.parametrize("cls", [GPOOOptimizer, GPUCBOptimizer])
def test_a_prior_without_variance_refuses_exact_answers_and_ignores_others(cls):
    optimizer = cls(ConstantKernel(1e-320) * RBF(0.2), bounds=[(0, 1)], alpha=0.0)
    query, events = optimizer.ask(), optimizer._events
    known = optimizer.predict([[0.1], [0.7]], return_std=True)
    with pytest.raises(np.linalg.LinAlgError, match="increase alpha"):
        optimizer.tell(query, 0.3)
    assert optimizer._events == events and optimizer.ask() == query
    assert len(optimizer.history_) == 0
    assert_array_equal(optimizer.predict([[0.1], [0.7]], return_std=True), known)
    optimizer.tell(query, 0.3, alpha=0.1)
    assert optimizer.history_["reward"].tolist() == [0.3]
    assert_allclose(optimizer.predict([[0.2]]), 0.0, atol=1e-300)


class Broken(RBF):
    """Not a covariance: positive on the diagonal, negative elsewhere."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return -super().__call__(X, Y)


def test_a_hopeless_gram_matrix_raises_and_changes_nothing():
    gpr = OnlineGaussianProcessRegressor(Broken(1.0), alpha=0.0, optimizer=None)
    gpr.partial_fit([[0.0], [9.0]], [0.0, 1.0])
    before = pickle.dumps(gpr)
    with pytest.raises(np.linalg.LinAlgError, match="increase alpha"):
        gpr.partial_fit([[0.1], [0.2], [0.3]], [0.0, 1.0, 2.0])
    assert pickle.dumps(gpr) == before


@pytest.mark.slow
def test_2000_rounds_stay_at_a_fresh_fit():
    rng = np.random.default_rng(5)
    X = rng.random((2000, 3))
    X[rng.random(2000) < 0.4] = X[:20][rng.integers(20)]
    y = rng.normal(size=2000)
    T = rng.random((5, 3))
    online = OnlineGaussianProcessRegressor(RBF(0.4), alpha=0.1, optimizer=None).track(T)
    for x, value in zip(X, y, strict=True):
        online.partial_fit(x[None], [value])
    fresh = OnlineGaussianProcessRegressor(RBF(0.4), alpha=0.1, optimizer=None).fit(X, y)
    for a, b in zip(
        online.predict_tracked(return_std=True), fresh.predict(T, return_std=True), strict=True
    ):
        assert_allclose(a, b, atol=1e-8)


def test_pickle_continues_identically():
    X, y, T = make()
    gpr = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.1, optimizer=None).fit(X[:20], y[:20])
    gpr.track(T)
    other = pickle.loads(pickle.dumps(gpr))
    for model in (gpr, other):
        model.partial_fit(X[20:], y[20:])
    assert_array_equal(gpr.predict_tracked(), other.predict_tracked())
    assert_array_equal(gpr.predict(T), other.predict(T))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g, X, y: g.partial_fit(X, y, alpha=[1.0, 2.0]), "one entry for each of 30"),
        (lambda g, X, y: g.partial_fit(X, y, alpha=-1.0), "must be finite and >= 0"),
        (lambda g, X, y: g.partial_fit(X[:, :1], y), "features"),
        (lambda g, X, y: g.partial_fit(X * np.nan, y), "NaN"),
        (lambda g, X, y: g.partial_fit(X, y * np.inf), "infinity"),
        (lambda g, X, y: g.partial_fit(X, np.column_stack([y, y])), "targets of shape"),
        (lambda g, X, y: g.track(X[:, :1]), "features"),
        (lambda g, X, y: g.log_marginal_likelihood(eval_gradient=True), "given theta"),
    ],
)
def test_rejected_input_changes_nothing(call, message):
    X, y, _ = make()
    gpr = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.1, optimizer=None).fit(X, y)
    before = pickle.dumps(gpr)
    with pytest.raises(ValueError, match=message):
        call(gpr, X, y)
    assert pickle.dumps(gpr) == before


def test_functionals_grow_as_rows_and_turn_into_blocks():
    functionals = Functionals(2)
    rows = np.arange(40.0).reshape(20, 2)
    functionals.extend(Functionals.of_rows(rows[:5]))
    for i in range(5, 20):
        functionals[i] = rows[i : i + 1]
    assert_array_equal(functionals.rows, rows)
    assert functionals.offsets is None
    functionals[3] = rows[:3]
    assert_array_equal(functionals.offsets[:6], [0, 1, 2, 3, 6, 7])
    assert_array_equal(functionals[3], rows[:3])
    functionals.extend(Functionals.of_rows(rows[:2]))
    assert len(functionals) == 22
    assert len(functionals.rows) == 24


@pytest.mark.parametrize("normalize_y", [False, True])
def test_a_single_column_of_targets_is_squeezed_as_in_scikit_learn(normalize_y):
    X, y, T = make(repeats=False)
    params = {"alpha": 0.01, "normalize_y": normalize_y, "optimizer": None}
    theirs = GaussianProcessRegressor(RBF(0.3), **params).fit(X, y[:, None])
    ours = OnlineGaussianProcessRegressor(RBF(0.3), **params).fit(X, y[:, None])
    assert ours.predict(T).shape == (9,)
    assert_same(ours, theirs, T)
    assert ours.sample_y(T, 5).shape == theirs.sample_y(T, 5).shape == (9, 5)
    ours.partial_fit(T[:2], [[5.0], [6.0]])
    assert ours.track(T).predict_tracked().shape == (9,)


def test_the_log_likelihood_is_a_numpy_number():
    X, y, _ = make()
    gpr = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.01, optimizer=None).fit(X, y)
    theta = gpr.kernel_.theta
    for value in (
        gpr.log_marginal_likelihood(),
        gpr.log_marginal_likelihood(theta),
        gpr.log_marginal_likelihood(theta, eval_gradient=True)[0],
        gpr.log_marginal_likelihood_value_,
    ):
        assert type(value) is np.float64


def test_hyperparameters_left_at_a_bound_are_reported_by_fit():
    X, y, _ = make(repeats=False)
    kernel = RBF(0.02, length_scale_bounds=(0.01, 0.03))
    with pytest.warns(ConvergenceWarning, match=r"length_scale is close to the specified upper"):
        OnlineGaussianProcessRegressor(kernel, alpha=0.01).fit(X, y)
    cells = CellAverage(RBF(5.0, length_scale_bounds=(4.0, 10.0)), 3)
    boxes = np.hstack([X, X + 0.1])
    with pytest.warns(ConvergenceWarning, match=r"length_scale is close to the specified lower"):
        OnlineGaussianProcessRegressor(cells, alpha=0.01).fit(boxes, y)


def test_means_less_exact_than_their_deviations_are_reported():
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 1)), rng.normal(size=12)
    with pytest.warns(NumericalWarning, match="rounding may move means"):
        OnlineGaussianProcessRegressor(RBF(1e4), alpha=1e-14, optimizer=None).fit(X, y)
    one_by_one = OnlineGaussianProcessRegressor(RBF(1e4), alpha=1e-14, optimizer=None)
    one_by_one.partial_fit(X[:1], y[:1]).track(X)
    with pytest.warns(NumericalWarning, match="rounding may move means"):
        for slot in range(1, 12):
            one_by_one.process_.observe_tracked(slot, y[slot], 1e-14)
    # Answers that agree with the prior are as exact as the deviation says.
    OnlineGaussianProcessRegressor(RBF(1e4), alpha=1e-14, optimizer=None).fit(X, np.ones(12))
    OnlineGaussianProcessRegressor(RBF(1.0), optimizer=None).fit(X, np.sin(X[:, 0]))


class Negative(RBF):
    """Covariances larger than the variances allow."""

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y)
        return np.where(K > 0.999, K, 1.2 * K)


def test_variances_far_below_zero_are_reported():
    gpr = OnlineGaussianProcessRegressor(Negative(1.0), alpha=1e-3, optimizer=None)
    gpr.partial_fit([[0.0]], [1.0])
    with pytest.warns(NumericalWarning, match="a posterior variance of -"):
        gpr.track([[0.1]])


@pytest.mark.parametrize("alpha", ["small", None, RBF(), [[0.1], [0.1, 0.2]], -1.0, np.nan, True])
def test_noise_variances_that_are_none_are_named(alpha):
    with pytest.raises(ValueError, match="alpha"):
        OnlineGaussianProcessRegressor(RBF(), alpha=alpha).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("kernel", [1.0 * RBF(0.3), Matern([0.3, 0.7], nu=1.5)], ids=str)
def test_inputs_far_from_zero_are_regressed_like_those_near_it(kernel):
    """All inputs are exact in both places; divided by a length scale they are not."""
    X = np.random.default_rng(0).integers(0, 2**20, (30, 2)) / 2**20
    y = np.sin(5 * X[:, 0]) + X[:, 1]

    def results(origin, learn):
        regressor = OnlineGaussianProcessRegressor(kernel, alpha=1e-4)
        (regressor.fit if learn else regressor.partial_fit)(origin + X[:20], y[:20])
        mean, cov = regressor.predict(origin + X[20:], return_cov=True)
        _, std = regressor.predict(origin + X[20:], return_std=True)
        theta = np.log(np.full(len(kernel.theta), 0.4))
        likelihood = np.full(10, regressor.log_marginal_likelihood(theta))
        return mean, std, cov.diagonal(), likelihood

    np.testing.assert_allclose(results(0.0, False), results(2.0**30, False), rtol=0, atol=1e-9)
    # The learned hyperparameters are where the search stops, within its tolerance of 1e-5.
    np.testing.assert_allclose(results(0.0, True), results(2.0**30, True), rtol=1e-4, atol=1e-5)


#: An answer at 0 leaves a negative posterior variance at 0.1.
ASKED = {
    "predict": lambda gpr: gpr.predict([[0.1]], return_std=True)[1],
    "moments": lambda gpr: gpr.process_.moments(np.array([[0.1]]), std=True)[1],
    "deviations": lambda gpr: gpr.process_.deviations(np.array([[0.0]]), np.array([[0.1]])),
    "tracked": lambda gpr: gpr.track([[0.1]]).predict_tracked(return_std=True)[1],
    "repeated": lambda gpr: (
        gpr.track([[0.1]]).partial_fit([[0.0]], [1.0], 1e-3).predict_tracked(return_std=True)[1]
    ),
}


@pytest.mark.parametrize("ask", ASKED)
def test_no_variance_is_clipped_in_silence_beyond_rounding(ask):
    gpr = OnlineGaussianProcessRegressor(Negative(1.0), alpha=1.0, optimizer=None)
    gpr.partial_fit([[0.0]], [1.0])
    if ask != "repeated":
        gpr.partial_fit([[0.0]], [1.0], 1e-3)
    with pytest.warns(NumericalWarning, match=r"a posterior variance of -.* kernel Negative"):
        assert ASKED[ask](gpr)[0] == 0.0


def test_variances_that_rounding_makes_negative_are_clipped_in_silence():
    X = np.linspace(0.0, 1.0, 200)[:, None]
    gpr = OnlineGaussianProcessRegressor(RBF(1.0), alpha=1e-10, optimizer=None)
    gpr.fit(X, np.sin(X[:, 0]))
    std = gpr.predict(X, return_std=True)[1]
    assert (std >= 0.0).all() and std.min() < 1e-5


def test_a_fit_holds_one_gram_matrix():
    """Kernels are evaluated in small parts, and factors replace covariances if available."""
    X, y, _ = make(n=1000)
    gpr = OnlineGaussianProcessRegressor(1.5 * Matern(0.5, nu=2.5), alpha=0.1, optimizer=None)
    tracemalloc.start()
    try:
        gpr.fit(X, y)
        assert tracemalloc.get_traced_memory()[1] < 1.6 * 8 * 1000**2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kernel", [KERNELS[1], CellAverage(RBF(0.4), 2)], ids=str)
def test_covariances_evaluated_in_parts_are_whole(kernel, monkeypatch):
    X, y, T = make(n=80, repeats=False)
    if isinstance(kernel, CellAverage):
        X, T = np.hstack([X, X + 0.1]), np.hstack([T, T + 0.2])
    whole = OnlineGaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, y)
    monkeypatch.setattr(gaussian_process, "PAIRS_AT_ONCE", 900)
    parts = OnlineGaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X[:60], y[:60])
    parts.partial_fit(X[60:], y[60:])
    assert_same(parts, whole, T, atol=1e-12)
    # The jitter that helps is added to all of them, written once more.
    near = np.repeat(X[:40], 2, axis=0) + np.tile([[0.0], [1e-13]], (40, 1))
    exact = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.0, optimizer=None)
    with pytest.warns(NumericalWarning, match="jitter"):
        exact.fit(near, np.repeat(y[:40], 2))
    assert np.abs(exact.predict(X[:40]) - y[:40]).max() < 1e-3


@pytest.mark.parametrize("make", [OnlineGaussianProcessRegressor, GPUCBOptimizer, GPOOOptimizer])
def test_masked_entries_are_refused_wherever_data_are_taken(make):
    X, y = np.linspace(0, 1, 8)[:, None], np.arange(8.0)
    masked = np.ma.masked_array(X, mask=X > 0.9)
    for data in ((masked, y), (X, np.ma.masked_array(y, mask=y > 6))):
        with pytest.raises(ValueError, match="must have no masked entries"):
            make().fit(*data)
    fitted = make().fit(X, y)
    for method in ("predict", "partial_fit", "track", "sample_y"):
        if hasattr(fitted, method):
            with pytest.raises(ValueError, match="must have no masked entries"):
                getattr(fitted, method)(masked, *([y] if method == "partial_fit" else []))


@pytest.mark.parametrize("kernel", [Matern(nu=1.5), Matern(), RBF() * Matern()])
def test_points_are_refused_where_the_kernel_overflows(kernel):
    model = OnlineGaussianProcessRegressor(kernel, optimizer=None).fit([[0.0], [1.0]], [1.0, 2.0])
    far = [[0.5], [1e300]]
    for call in (model.predict, model.sample_y, lambda X: model.predict(X, return_std=True)):
        with pytest.raises(ValueError, match=r"too far from the data.* row 1, counted from 0"):
            call(far)
    assert_allclose(model.predict([[0.5], [1e100]])[0], model.predict([[0.5]])[0])


def test_all_that_predicts_refuses_points_that_are_too_far():
    window = WindowMean(Matern(0.3), scale=0.1)
    box = {"bounds": [(0, 1)], "alpha": 0.01, "random_state": 0}
    direct = GPUCBOptimizer(kernel=Matern(0.3), **box).tell([0.5], 1.0)
    indirect = CMESOptimizer(query_bounds=[(0, 1)], conditional=window, **box).tell([0.5], 1.0)
    for method in (direct.predict, direct.interval, indirect.predict):
        with pytest.raises(ValueError, match=r"too far from the data.* is \[1e\+300\]"):
            method([[0.5], [1e300]])


@pytest.mark.parametrize(("center", "scale"), [(0.0, 1.0), (3.0, 20.0), (-1.0, 0.1)])
def test_relearning_in_units_equals_fitting_the_targets_in_these_units(center, scale):
    X, y, T = make(n=25)
    kernel = 1.0 * RBF(1.0)
    online = OnlineGaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X[:5], y[:5])
    online.partial_fit(X[5:], y[5:])
    online.set_params(optimizer="fmin_l_bfgs_b")._relearn(center, scale)
    fresh = OnlineGaussianProcessRegressor(kernel, alpha=0.01 / scale**2)
    fresh.fit(X, (y - center) / scale)
    assert np.abs(fresh.kernel_.theta).max() > 0.1
    np.testing.assert_allclose(online.process_.kernel.theta, fresh.kernel_.theta, rtol=1e-4)
    expected = center + scale * fresh.predict(T)
    np.testing.assert_allclose(online.predict(T), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("n_targets", [None, 1, 3])
@pytest.mark.parametrize("kernel", [None, 2.0 * RBF(0.3)], ids=str)
def test_predictions_before_a_fit_are_those_of_the_prior_as_in_scikit_learn(kernel, n_targets):
    X = np.random.default_rng(0).random((4, 2))
    ours, theirs = (
        cls(kernel, n_targets=n_targets)
        for cls in (OnlineGaussianProcessRegressor, GaussianProcessRegressor)
    )
    assert_allclose(ours.predict(X), theirs.predict(X))
    for kind in ("return_std", "return_cov"):
        for a, b in zip(
            ours.predict(X, **{kind: True}), theirs.predict(X, **{kind: True}), strict=True
        ):
            assert_allclose(a, b)
    with pytest.raises(RuntimeError, match="At most one"):
        ours.predict(X, return_std=True, return_cov=True)


def test_the_likelihood_at_other_hyperparameters_may_keep_them_as_in_scikit_learn():
    X, y, *_ = make(repeats=False)
    y = y[:, 0] if np.ndim(y) > 1 else y
    kernel = 1.2 * RBF([0.4, 0.6])
    ours, theirs = (
        cls(kernel, optimizer=None, alpha=0.1).fit(X, y)
        for cls in (OnlineGaussianProcessRegressor, GaussianProcessRegressor)
    )
    theta = kernel.theta + 0.3
    for keeps in (True, False):
        found, expected = (
            each.log_marginal_likelihood(theta, clone_kernel=keeps) for each in (ours, theirs)
        )
        assert found == pytest.approx(expected)
        assert_allclose(ours.kernel_.theta, theirs.kernel_.theta)


def test_a_noise_variance_for_each_sample_begins_and_others_follow_with_their_own():
    X, y, *_ = make(n=12, repeats=False)
    alpha = np.linspace(0.05, 0.3, 12)
    ours = OnlineGaussianProcessRegressor(RBF(0.4), optimizer=None, alpha=alpha[:8])
    ours.partial_fit(X[:8], y[:8])
    with pytest.raises(ValueError, match="pass alpha for these samples"):
        ours.partial_fit(X[8:], y[8:])
    ours.partial_fit(X[8:], y[8:], alpha=alpha[8:])
    theirs = GaussianProcessRegressor(RBF(0.4), optimizer=None, alpha=alpha).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X))

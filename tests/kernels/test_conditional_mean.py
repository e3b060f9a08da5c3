"""Laws of ConditionalMean: weights, leave-one-out learning, approximation, awkward pairs."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)

from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.kernels import _operator as operator_module
from skgpb.kernels import conditional_mean as conditional_mean_module
from skgpb.kernels._operator import (
    ConditionalMeanOperator,
    default_embedding_kernel,
    golden_section,
    leave_one_out,
    pivoted_gram,
)

ELL = RBF([0.3, 0.5], "fixed")
BASES = [
    1.3 * RBF([0.4, 0.9]),
    Matern(0.5, nu=1.5) + ConstantKernel(0.2, "fixed"),
    DotProduct(0.3) ** 2,
    0.7 * RBF(0.3) + WhiteKernel(0.4),
]


def pairs(N=60, seed=0, scatter=0.1):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(N, 2))
    X = np.column_stack((A[:, 0], 1 - A[:, 1])) + scatter * rng.normal(size=(N, 2))
    return X, A


X1, A1 = pairs()


def fixed(base=None, X=X1, A=A1, lam=1e-3, **settings):
    """An operator that learns nothing."""
    return ConditionalMean(base, X, A, query_kernel=clone(ELL), regularization=lam, **settings)


def rows_of(kernel, seed=3):
    rng = np.random.default_rng(seed)
    return np.vstack(
        (kernel.queries(rng.uniform(size=(4, 2))), kernel.points(rng.uniform(size=(3, 2))))
    )


def weights_by_inverse(A, ell=ELL, lam=1e-3, D1=A1):
    N = len(D1)
    return ell(A, D1) @ np.linalg.inv(ell(D1) + N * lam * np.eye(N))


# ---- the covariance ----


@pytest.mark.parametrize("base", BASES, ids=str)
def test_covariances_are_weighted_sums(base):
    kernel = fixed(base)
    rng = np.random.default_rng(1)
    A, P = rng.uniform(size=(4, 2)), rng.uniform(size=(3, 2))
    W = weights_by_inverse(A)
    assert_allclose(kernel.operator_.weights(A), W, atol=1e-10)
    queries, points = kernel.queries(A), kernel.points(P)
    K = base(X1, X1.copy())
    assert_allclose(kernel(queries, queries.copy()), W @ K @ W.T, atol=1e-10)
    assert_allclose(kernel(points, queries), base(P, X1) @ W.T, atol=1e-10)
    assert_allclose(kernel(queries, points), W @ base(X1, P), atol=1e-10)
    assert_allclose(kernel(points), base(P), rtol=1e-12)
    assert_allclose(
        kernel.mean_of(np.vstack((points, queries)), lambda x: x[:, 0] ** 2),
        np.append(P[:, 0] ** 2, W @ X1[:, 0] ** 2),
        atol=1e-10,
    )


def test_white_noise_stays_only_with_points():
    kernel, quiet = fixed(BASES[3]), fixed(BASES[3].k1)
    rows = rows_of(kernel)
    noise = np.where(rows[:, -1] == 0, 0.4, 0.0)
    assert_allclose(kernel.noise_diag(rows), noise, rtol=1e-12)
    assert_allclose(kernel(rows), quiet(rows) + np.diag(noise), rtol=1e-12)
    assert_allclose(kernel(rows, rows.copy()), quiet(rows, rows.copy()), rtol=1e-12)
    gradient = kernel(rows, eval_gradient=True)[1]
    assert_allclose(gradient[..., -1], np.diag(noise), atol=1e-10)


def test_parameters_read_and_write():
    kernel = fixed(2.0 * RBF(0.3))
    params = kernel.get_params()
    assert params["base__k2__length_scale"] == 0.3
    assert_array_equal(params["query_kernel__length_scale"], [0.3, 0.5])
    kernel.set_params(base__k2__length_scale=0.7, query_kernel__length_scale=[0.1, 0.1])
    assert kernel.base.k2.length_scale == 0.7
    assert kernel == fixed(2.0 * RBF(0.7)).set_params(query_kernel=RBF([0.1, 0.1], "fixed"))
    assert kernel != fixed(2.0 * RBF(0.7)) and kernel != RBF()
    assert fixed(RBF()) == fixed(RBF(), X1.tolist(), A1.tolist())
    assert "X=<array of shape (60, 2)>" in repr(kernel)
    assert not kernel.is_stationary()


# ---- the operator is learned once, and again where it must be ----


def test_clones_share_the_operator_and_changes_renew_it():
    kernel = ConditionalMean(RBF(0.5), X1.copy(), A1.copy())
    operator = kernel.operator_
    assert kernel.operator_ is operator
    for other in (
        clone(kernel),
        kernel.clone_with_theta(kernel.theta + 1),
        clone(2.0 * kernel).k2,
        clone(kernel).set_params(base=Matern()),
    ):
        assert other.operator_ is operator
    kernel.A[0] += 0.3  # in place
    assert kernel.operator_ is not operator
    assert_array_equal(kernel.operator_.A[0], kernel.A[0])
    for change in (
        {"query_kernel": ELL},
        {"regularization": 0.1},
        {"n_landmarks": 5},
        {"embedding_kernel": RBF(0.1)},
    ):
        assert clone(kernel).set_params(**change).operator_ is not kernel.operator_
    assert pickle.loads(pickle.dumps(kernel)).operator_.regularization == (
        kernel.operator_.regularization
    )


def test_learning_never_writes_parameters():
    kernel = ConditionalMean(RBF(0.5), X1, A1, query_kernel=RBF(0.7))
    before = repr(kernel.get_params())
    assert kernel.operator_.query_kernel.length_scale != 0.7
    assert repr(kernel.get_params()) == before


# ---- leave-one-out ----


def brute_force_residuals(ell, lam, X, A, k):
    """Squared residual of each pair under the operator learned without it, N lambda kept."""
    N, out = len(X), []
    for j in range(N):
        rest = np.arange(N) != j
        w = np.linalg.solve(ell(A[rest]) + N * lam * np.eye(N - 1), ell(A[rest], A[[j]]))[:, 0]
        K = k(X[rest])
        out.append(k(X[[j]])[0, 0] - 2 * w @ k(X[rest], X[[j]])[:, 0] + w @ K @ w)
    return np.array(out)


def test_closed_form_equals_leaving_out():
    k = RBF(0.4)
    want = brute_force_residuals(ELL, 1e-3, X1, A1, k).mean()
    value, _ = leave_one_out(ELL, A1, k(X1), np.log(1e-3))
    assert_allclose(value, want, rtol=1e-9)
    operator = ConditionalMeanOperator(X1, A1, ELL, 1e-3, None, k)
    assert_allclose(operator.loss, want, rtol=1e-5)
    assert_allclose(operator.regularization, 1e-3)


def test_gradient_of_the_loss_is_the_finite_difference():
    kernel, K = 1.2 * RBF([0.3, 0.5]), RBF(0.4)(X1)
    _, gradient = leave_one_out(kernel, A1, K, np.log(1e-3))
    parameters = np.append(kernel.theta, np.log(1e-3))
    for j, shift in enumerate(1e-6 * np.eye(len(parameters))):
        up, down = (
            leave_one_out(
                kernel.clone_with_theta((parameters + s)[:-1]), A1, K, (parameters + s)[-1]
            )[0]
            for s in (shift, -shift)
        )
        assert_allclose(gradient[j], (up - down) / 2e-6, rtol=1e-5, atol=1e-10)


def test_learning_lowers_the_loss_and_keeps_what_is_fixed():
    learned = ConditionalMean(RBF(0.5), X1, A1).operator_
    k = learned.embedding_kernel
    for ell in (RBF([0.05, 0.05]), RBF([3.0, 3.0]), RBF([0.3, 0.5])):
        for lam in (1e-6, 1e-3, 1e-1):
            assert learned.loss <= brute_force_residuals(ell, lam, X1, A1, k).mean() * (1 + 1e-4)
    half = ConditionalMean(RBF(0.5), X1, A1, query_kernel=ELL).operator_
    assert half.query_kernel == ELL and half.regularization != 1e-3
    other = ConditionalMean(RBF(0.5), X1, A1, regularization=0.01).operator_
    assert other.regularization == pytest.approx(0.01) and other.query_kernel != ELL
    assert learned.loss <= min(half.loss, other.loss) * (1 + 1e-4)


def test_irrelevant_queries_are_smoothed_over():
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(200, 2))
    X = np.column_stack((A[:, 0], A[:, 0] ** 2)) + 0.02 * rng.normal(size=(200, 2))
    scale = ConditionalMean(RBF(), X, A).operator_.query_kernel.length_scale
    assert scale[1] > 5 * scale[0]


def test_learning_does_not_depend_on_the_base():
    one = ConditionalMean(RBF(0.5), X1, A1).operator_
    other = ConditionalMean(10.0 * Matern(3.0), X1, A1).operator_
    assert_array_equal(one.weights(A1[:5]), other.weights(A1[:5]))


def test_units_of_pairs_do_not_matter():
    kernel = ConditionalMean(RBF(0.5), X1, A1)
    scaled = ConditionalMean(RBF(50.0), 100 * X1 + 7, 1e-3 * A1 - 4)
    rng = np.random.default_rng(2)
    A, P = rng.uniform(size=(5, 2)), rng.uniform(size=(4, 2))
    K = kernel(kernel.queries(A), kernel.points(P))
    S = scaled(scaled.queries(1e-3 * A - 4), scaled.points(100 * P + 7))
    assert_allclose(S, K, atol=2e-3)
    assert scaled.model_noise() == pytest.approx(kernel.model_noise(), rel=0.05)


# ---- the operator's own error ----


def true_error(kernel, location, scatter, A):
    """Mean squared distance of true and learned embedding, for X ~ N(h(a), scatter^2)."""
    window = WindowMean(kernel.base, scatter, location=location)
    rows = window.queries(A)
    W, X = kernel.operator_.weights(A), kernel.operator_.X
    K = kernel.base(X, X.copy())
    return np.mean(
        window.diag(rows)
        - 2 * np.einsum("ij,ij->i", W, window(rows, window.points(X)))
        + np.einsum("ij,jk,ik->i", W, K, W)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("N", "scatter", "scale"), [(100, 0.05, 0.3), (400, 0.05, 0.2), (400, 0.2, 0.3)]
)
def test_model_noise_estimates_the_true_error(N, scatter, scale):
    def h(A):
        return np.column_stack((A[:, 0], 1 - A[:, 1]))

    ratios = []
    for seed in range(6):
        X, A = pairs(N, seed, scatter)
        kernel = ConditionalMean(RBF(scale), X, A)
        truth = true_error(kernel, h, scatter, np.random.default_rng(99).uniform(size=(200, 2)))
        ratios.append(kernel.model_noise() / truth)
    assert 0.6 < np.median(ratios) < 1.5
    assert min(ratios) > 0.3 and max(ratios) < 3.0


@pytest.mark.parametrize(("k", "rtol"), [(1.3 * RBF(0.6), 1e-5), (1.3 * Matern(0.6), 1e-4)])
def test_model_noise_is_that_of_predictions_of_left_out_pairs(k, rtol):
    for scatter, ridge in ((0.0, 1e-2), (0.2, 1e-3), (0.2, 1e-7)):
        X, A = pairs(40, 5, scatter)
        operator = ConditionalMeanOperator(X, A, ELL, ridge, None, k)
        K, n = ELL(A), len(A)
        weights = np.zeros((n, n))  # of each other pair in the prediction of a pair left out
        for j in range(n):
            rest = np.arange(n) != j
            inner = K[np.ix_(rest, rest)] + n * ridge * np.eye(n - 1)
            weights[j, rest] = np.linalg.solve(inner, K[rest, j])
        residual = np.eye(n) - weights
        scaled = A / A.std(axis=0)
        apart = ((scaled[:, None] - scaled) ** 2).sum(axis=2) + np.diag(np.full(n, np.inf))
        near = apart.argmin(axis=1)
        products = residual @ k(X) @ residual.T
        every, beside = np.trace(products) / n, products[np.arange(n), near].mean()
        u = np.mean(weights[np.arange(n), near] + weights[near, np.arange(n)])
        share = (weights**2).sum(axis=1).mean()
        by_neighbours = (beside + u * every) / (1.0 + u)
        expected = max(by_neighbours, every * share / (1.0 + share))
        assert_allclose(operator.error(k), expected, rtol=rtol)
        of_targets = ((residual @ X) ** 2).mean(axis=0) * share / (1.0 + share)
        assert_allclose(operator.errors(X), of_targets, rtol=1e-5)


def test_model_noise_has_the_units_of_the_prior():
    kernel = ConditionalMean(RBF(0.3), X1, A1)
    big = clone(kernel).set_params(base=9.0 * RBF(0.3))
    assert kernel.model_noise() > 0
    assert big.model_noise() == pytest.approx(9 * kernel.model_noise(), rel=1e-4)
    assert ConditionalMean(RBF(3.0), X1, A1).model_noise() < kernel.model_noise()


@pytest.mark.parametrize("base", [1.3 * RBF([0.4, 0.9]), 0.7 * RBF(0.3) + 0.2 * RBF(0.8), BASES[3]])
def test_quick_paths_of_gaussian_products_equal_the_general_ones(base, monkeypatch):
    queries = np.random.default_rng(1).uniform(size=(7, 2))
    found = []
    for limit in (1500, 0):  # pairs up to which the quick paths are taken
        monkeypatch.setattr(operator_module, "FORM_PAIRS", limit)
        monkeypatch.setattr(operator_module, "EMBEDDING_TRACE", 1e-15)
        kernel = fixed(clone(base))
        rows = kernel.queries(queries)
        K, slopes = kernel(rows, eval_gradient=True)
        found.append((K, slopes, kernel.model_noise()))
        if limit == 0:
            assert kernel.operator_.error_gradient(kernel.base) is None
    for quick, general in zip(*found, strict=True):
        assert_allclose(quick, general, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("base", [1.3 * RBF([0.4, 0.9]), BASES[3]])
def test_the_gradient_of_the_model_noise_is_that_of_differences(base):
    kernel = fixed(clone(base))
    theta, step = kernel.theta, 1e-5
    expected = [
        (kernel._with_theta(theta + e).model_noise() - kernel._with_theta(theta - e).model_noise())
        / (2 * step)
        for e in step * np.eye(len(theta))
    ]
    assert_allclose(kernel.model_noise_gradient(), expected, rtol=1e-6, atol=1e-10)


def test_variances_of_many_queries_come_from_a_factor_of_the_gram_matrix():
    X, A = pairs(600)
    kernel = fixed(1.3 * RBF([0.4, 0.9]), X, A, lam=1e-4)
    rng = np.random.default_rng(0)
    many = np.vstack(
        (kernel.queries(rng.uniform(size=(700, 2))), kernel.points(rng.uniform(size=(20, 2))))
    )
    few = np.concatenate([kernel.diag(part) for part in np.array_split(many, 8)])
    assert_allclose(kernel.diag(many), few, atol=1e-11)


# ---- many pairs ----


def test_pivoted_cholesky():
    rng = np.random.default_rng(0)
    P = rng.uniform(size=(80, 2))
    for kernel in (RBF(0.5), Matern(0.5), 2.0 * RBF(0.5) + WhiteKernel(0.3)):
        factor, pivots = pivoted_gram(kernel, P, 80)
        assert_allclose(factor @ factor.T, kernel(P, P.copy()), atol=1e-6)
        L = factor[pivots]
        assert_array_equal(L, np.tril(L))
        assert len(set(pivots)) == len(pivots)
    assert pivoted_gram(RBF(0.5), P, 7)[0].shape == (80, 7)
    assert pivoted_gram(RBF(0.5), P[[0, 0, 0]], 3)[0].shape == (3, 1)
    assert pivoted_gram(RBF(0.5), P[:1], 3)[0].shape == (1, 1)


def test_landmarks_tend_to_the_exact_operator():
    X, A = pairs(300)
    exact = fixed(BASES[0], X, A, lam=1e-4)
    rows = rows_of(exact)
    K, errors = exact(rows), []
    for n_landmarks in (10, 40, 160):
        kernel = fixed(BASES[0], X, A, lam=1e-4, n_landmarks=n_landmarks)
        assert kernel.operator_.n_coefficients <= n_landmarks and not kernel.operator_.exact
        errors.append(abs(kernel(rows) - K).max())
    assert errors[0] > errors[1] > 1e3 * errors[2] and errors[2] < 1e-7
    assert fixed(BASES[0], X, A, n_landmarks=300).operator_.exact
    A_ = np.random.default_rng(1).uniform(size=(5, 2))
    assert_allclose(kernel.operator_.weights(A_), exact.operator_.weights(A_), atol=1e-6)


def test_a_compressed_gram_matrix_equals_blocks(monkeypatch):
    X, A = pairs(150)
    kernel = fixed(Matern(0.5, nu=1.5), X, A, n_landmarks=30)
    rows = rows_of(kernel)
    K = kernel(rows)
    monkeypatch.setattr(conditional_mean_module, "MAX_BASE_RANK", 3)
    monkeypatch.setattr(conditional_mean_module, "BLOCK_ROWS", 40)
    assert_allclose(clone(kernel)(rows), K, atol=1e-9)


@pytest.mark.slow
def test_twenty_thousand_pairs_fit():
    X, A = pairs(20_000)
    kernel = ConditionalMean(RBF(0.3), X, A)
    tracemalloc.start()
    try:
        rows = rows_of(kernel)
        K = kernel(rows)
        assert kernel.model_noise() > 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 600e6  # the Gram matrix of the queries alone would take 3.2 GB
    # this many pairs determine the conditional mean
    window = WindowMean(RBF(0.3), 0.1)
    centers = rows[:4, 2:4] * [1, -1] + [0, 1]
    want = window(np.vstack((window.queries(centers), window.points(rows[4:, :2]))))
    assert_allclose(K, want, atol=0.02)


# ---- awkward pairs ----


def test_duplicates_count_twice():
    X, A = np.vstack((X1, X1)), np.vstack((A1, A1))
    twice, once = fixed(RBF(0.4), X, A), fixed(RBF(0.4))
    rows = rows_of(once)
    # (L + N lambda) with doubled rows and N is the problem with the same lambda
    assert_allclose(twice(rows), once(rows), atol=1e-9)
    learned = ConditionalMean(RBF(0.4), X, A)
    assert np.isfinite(learned(rows)).all() and np.isfinite(learned.model_noise())
    same = ConditionalMean(RBF(0.4), np.tile(X1[:1], (9, 1)), np.tile(A1[:1], (9, 1)))
    assert np.isfinite(same(rows_of(same))).all() and same.model_noise() >= 0


def test_constant_columns_are_harmless():
    X, A = np.column_stack((X1, np.full(60, 3.0))), np.column_stack((A1, np.zeros(60)))
    kernel, plain = ConditionalMean(RBF(0.4), X, A), ConditionalMean(RBF(0.4), X1, A1)
    queries = np.random.default_rng(0).uniform(size=(4, 2))
    wide = kernel.queries(np.column_stack((queries, np.zeros(4))))
    assert_allclose(kernel(wide), plain(plain.queries(queries)), atol=1e-3)
    everything = ConditionalMean(RBF(0.4), np.ones((9, 2)), np.ones((9, 1)))
    row = everything.queries([[1.0]])
    assert_allclose(everything(row, everything.points([[1.0, 1.0]])), 1.0, atol=1e-6)


def test_one_pair():
    for settings in ({}, {"query_kernel": ELL}, {"regularization": 0.1}):
        with pytest.raises(ValueError, match="one pair is too few"):
            ConditionalMean(RBF(), X1[:1], A1[:1], **settings).diag([[0, 0, 0, 0, 1]])
    kernel = fixed(RBF(0.4), X1[:1], A1[:1], lam=0.5)
    K = kernel(kernel.queries(A1[:1]), kernel.points(X1[:1]))
    assert_allclose(K, 1 / 1.5)
    assert kernel.model_noise() == 0.0
    assert kernel.model_noise_gradient().tolist() == [0.0]


def test_two_pairs_can_be_learned_from():
    kernel = ConditionalMean(RBF(0.4), X1[:2], A1[:2])
    assert np.isfinite(kernel(rows_of(kernel))).all() and kernel.model_noise() >= 0


@pytest.mark.parametrize(
    ("X", "A", "message"),
    [
        (None, A1, "needs pairs"),
        (X1, None, "needs pairs"),
        (
            np.where(np.arange(60)[:, None] == 7, np.nan, X1),
            A1,
            "X of the pairs must be finite; row 7",
        ),
        (
            X1,
            np.where(np.arange(60)[:, None] == 9, np.inf, A1),
            "A of the pairs must be finite; row 9",
        ),
        (X1[:50], A1, "one row for each pair, at least one; got 50 points and 60 queries"),
        (X1[:0], A1[:0], "at least one"),
        (X1[:, 0], A1, "X of the pairs must have shape"),
        ([["a"]], [[1.0]], "X of the pairs must hold real numbers"),
    ],
)
def test_wrong_pairs_are_named(X, A, message):
    kernel = clone(ConditionalMean(RBF(), X, A))
    with pytest.raises(ValueError, match=message):
        _ = kernel.operator_
    with pytest.raises(ValueError):
        kernel([[0.0, 0.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"regularization": 0.0}, ValueError, "regularization must be"),
        ({"regularization": -1}, ValueError, "regularization must be"),
        ({"regularization": np.nan}, ValueError, "regularization must be"),
        ({"regularization": np.inf}, ValueError, "regularization must be"),
        ({"regularization": "auto"}, ValueError, "regularization must be"),
        ({"n_landmarks": 0}, ValueError, "n_landmarks must be"),
        ({"n_landmarks": 2.5}, ValueError, "n_landmarks must be"),
        ({"n_landmarks": True}, ValueError, "n_landmarks must be"),
        ({"query_kernel": "rbf"}, TypeError, "query_kernel must be a kernel"),
        ({"query_kernel": RBF() + WhiteKernel()}, TypeError, "without white noise"),
        ({"query_kernel": CompoundKernel([RBF()])}, TypeError, "query_kernel must be"),
        ({"embedding_kernel": WhiteKernel()}, TypeError, "embedding_kernel must be"),
    ],
)
def test_wrong_settings_are_named(settings, error, message):
    kernel = clone(ConditionalMean(RBF(), X1, A1, **settings))
    with pytest.raises(error, match=message):
        kernel.diag(kernel.queries(A1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: k.queries([[0.1]]), "A must have 2 columns"),
        (lambda k: k.queries([[0.1, np.nan]]), "A must be finite; row 0"),
        (lambda k: k.queries([0.1, 0.2]), "A must have shape"),
        (lambda k: k.points([[0.1, 0.2, 0.3]]), "X must have 2 columns"),
        (lambda k: k([[0.0, 1.0]]), "X must have 5 columns"),
        (lambda k: k.diag([[0.0, 1.0, 0.0, 0.0, 0.5]]), "last column of X must be 0"),
        (lambda k: k([[0.0] * 5], [[np.nan] * 5]), "Y must be finite"),
        (lambda k: k([[0.0] * 5], [[0.0] * 5], eval_gradient=True), "only with Y=None"),
    ],
)
def test_wrong_rows_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(fixed(RBF()))


@pytest.mark.parametrize("base", [None, 3.0, RBF, CompoundKernel([RBF()])], ids=str)
def test_bases_must_be_kernels(base):
    kernel = fixed(base)
    for call in (lambda: kernel([[0.0] * 5]), kernel.model_noise, lambda: kernel.theta):
        with pytest.raises(TypeError, match="base of ConditionalMean must be a kernel"):
            call()


# ---- small parts ----


@pytest.mark.parametrize("d", [1, 3])
def test_the_default_embedding_kernel_has_half_the_median_distance(d):
    X = np.random.default_rng(d).normal(size=(41, d)) * [3.0, 0.1, 40.0][:d]
    X[4] = X[7]  # no distance at all, which is not counted
    distances = pdist(X / X.std(axis=0))
    expected = 0.5 * np.median(distances[distances > 0.0]) * X.std(axis=0)
    found = default_embedding_kernel(X)
    np.testing.assert_allclose(found.length_scale, expected, rtol=1e-12)
    assert len(found.theta) == 0


def test_the_default_embedding_kernel_follows_the_spread():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) * [1.0, 50.0]
    scale = default_embedding_kernel(X).length_scale
    assert scale[1] / scale[0] == pytest.approx(X[:, 1].std() / X[:, 0].std())
    assert np.isfinite(default_embedding_kernel(np.ones((5, 2))).length_scale).all()


def test_golden_section():
    assert golden_section(lambda x: (x - 0.3) ** 2, -1, 1) == pytest.approx(0.3, abs=1e-3)


@pytest.mark.slow
def test_conditional_answers_teach_a_length_scale():
    rng = np.random.default_rng(0)
    X, A = pairs(400, scatter=0.03)
    kernel = ConditionalMean(1.0 * RBF(0.3, (0.05, 5.0)), X, A)
    queries = rng.uniform(size=(60, 2))
    z = np.sin(5 * queries[:, 0]) * (1 - queries[:, 1])  # f(x) = sin(5 x_1) x_2, nearly
    alpha = 1e-4 + kernel.model_noise()
    gpr = GaussianProcessRegressor(kernel, alpha=alpha).fit(kernel.queries(queries), z)
    assert gpr.log_marginal_likelihood_value_ > gpr.log_marginal_likelihood(kernel.theta) + 1
    assert gpr.kernel_.operator_ is kernel.operator_
    P = rng.uniform(0.1, 0.9, size=(50, 2))
    assert abs(gpr.predict(kernel.points(P)) - np.sin(5 * P[:, 0]) * P[:, 1]).max() < 0.1

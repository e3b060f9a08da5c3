"""Tasks against Kronecker algebra and sums written out, what is learned of B, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from skgpb import OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage, Tasks
from skgpb.kernels._boxes import representatives
from skgpb.surrogate.gram import covariance_of, fold

RNG = np.random.default_rng(0)
POINTS = RNG.random((7, 2))
W = np.array([[0.9, 0.1], [-0.4, 0.8], [0.3, -1.2]])
KAPPA = np.array([0.2, 0.0, 0.5])
MIXED = np.column_stack([RNG.random((11, 2)), RNG.integers(0, 3, 11)])


def made(base, **settings):
    return Tasks(base, 2, n_tasks=3, W=W, kappa=KAPPA, **settings)


def test_tasks_at_the_same_points_are_a_kronecker_product():
    base = 1.3 * Matern([0.4, 0.9], nu=2.5) + WhiteKernel(0.1)
    rows = np.vstack([np.column_stack([POINTS, np.full(7, t)]) for t in range(3)])
    B = W @ W.T + np.diag(KAPPA)
    noiseless = np.kron(B, base(POINTS, POINTS.copy()))
    assert_allclose(made(base)(rows, rows.copy()), noiseless, rtol=1e-13)
    # White noise is of one row: tasks at one point do not share it.
    expected = noiseless + 0.1 * np.diag(np.repeat(np.diag(B), 7))
    within = made(base)(rows)
    assert_allclose(np.diag(within), np.diag(expected), rtol=1e-13)
    first = rows[:7]
    assert_allclose(made(base)(first), expected[:7, :7], rtol=1e-13)


def test_mixed_rows_are_the_sum_written_out():
    """f_t = sum_r W_tr u_r + sqrt(kappa_t) v_t with independent u and v of covariance k."""
    base = RBF(0.5)
    brute = np.empty((11, 11))
    for i, a in enumerate(MIXED):
        for j, b in enumerate(MIXED):
            s, t = int(a[2]), int(b[2])
            shared = sum(W[s, r] * W[t, r] for r in range(2))
            brute[i, j] = (shared + (KAPPA[t] if s == t else 0.0)) * base([a[:2]], [b[:2]])[0, 0]
    assert_allclose(made(base)(MIXED), brute, rtol=1e-13)


def test_cells_inside_and_around_are_the_same_mean():
    """Average the f of one task over the points of a cell, each task with cells of its own."""
    low = RNG.random((6, 2))
    high = low + RNG.random((6, 2))
    t = np.array([0, 1, 2, 2, 1, 0.0])
    base = Matern(0.6, nu=2.5)
    inside = made(CellAverage(base, 3))(np.column_stack([low, high, t]))
    around = CellAverage(made(base), (3, 3, 1))(np.column_stack([low, t, high, t]))
    assert_allclose(around, inside, rtol=1e-12)
    points = [representatives(*each, 3) for each in zip(low, high, strict=True)]
    rows = np.vstack([np.column_stack([p, np.full(9, k)]) for p, k in zip(points, t, strict=True)])
    means = np.kron(np.eye(6), np.full((1, 9), 1 / 9))
    assert_allclose(inside, means @ made(base)(rows) @ means.T, rtol=1e-12)


def test_a_sum_has_a_resemblance_for_each_length_scale():
    rough, smooth = Tasks(RBF(0.1), n_tasks=3), Tasks(RBF(1.0), 0, n_tasks=3, kappa=2.0)
    far = np.array([[0.5, 0.5, 0], [0.5, 0.5, 1], [0.9, 0.5, 1]])
    K = (rough + smooth)(far)
    assert_allclose(K[0, 1], 0.9)
    assert_allclose(K[1, 2], 2.0 * np.exp(-0.08) + np.exp(-8.0))


@pytest.mark.parametrize("at_once", [2**16, 20])
@pytest.mark.parametrize("fixed", [{}, {"W_bounds": "fixed"}, {"kappa_bounds": "fixed"}], ids=str)
def test_learning_contracts_with_its_derivatives(fixed, at_once, monkeypatch):
    monkeypatch.setattr("skgpb.surrogate.kernel_parts.PAIRS_AT_ONCE", at_once)
    kernel = made(2.0 * RBF([0.3, 0.7]), **fixed).set_params(kappa=[0.2, 0.3, 0.5])
    kernel = kernel + Tasks(ConstantKernel(0.5), 0, n_tasks=3)
    K, gradient = kernel(MIXED, eval_gradient=True)
    found, contract = covariance_of(kernel, MIXED)(kernel.theta)
    assert_allclose(np.tril(found), np.tril(K), rtol=1e-13)
    inner = RNG.normal(size=K.shape)
    inner = inner + inner.T
    assert_allclose(contract(fold(inner)), np.tensordot(inner, gradient, 2), rtol=1e-11)


@pytest.mark.parametrize("rank", [2, 3])
def test_learning_begins_with_tasks_that_are_alike_but_not_the_same(rank):
    W, _ = Tasks(RBF(), rank, n_tasks=4).mixture()
    shared = W @ W.T
    assert_allclose(np.diag(shared), shared[0, 0])
    assert (shared[~np.eye(4, dtype=bool)] < 0.99 * shared[0, 0]).all()
    assert (shared > 0.0).all()


def test_a_regressor_learns_how_tasks_resemble_each_other():
    """Task 1 is minus half of task 0; what is known of it says nearly all of the other."""
    f = lambda x: np.sin(6 * x)  # noqa: E731
    few, many = np.array([0.1, 0.35, 0.9]), np.linspace(0, 1, 15)
    X = np.column_stack([np.append(few, many), np.repeat([0, 1], [3, 15])])
    y = np.append(f(few), -0.5 * f(many))
    # Each sign of a weight is a valley of its own in the likelihood: the start decides.
    kernel = Tasks(RBF(0.3, (0.05, 5.0)), W=[[1.0], [-0.1]], kappa=1e-6, kappa_bounds="fixed")
    ours = OnlineGaussianProcessRegressor(kernel, alpha=1e-6).fit(X, y)
    theirs = GaussianProcessRegressor(kernel, alpha=1e-6).fit(X, y)
    assert ours.log_marginal_likelihood_value_ >= theirs.log_marginal_likelihood_value_ - 1e-3
    B = ours.kernel_.B
    assert_allclose(B[0, 1] / B[0, 0], -0.5, atol=0.01)
    new = np.linspace(0, 1, 9)
    rows = np.column_stack([new, np.zeros(9)])
    assert_allclose(ours.predict(rows), f(new), atol=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_tasks": 0}, "n_tasks of Tasks must be an integer from 1 to 1000, got 0"),
        ({"n_tasks": 10**9}, "n_tasks of Tasks must be an integer from 1 to 1000"),
        ({"rank": 1.5}, "rank of Tasks must be an integer from 0 to 1000, got 1.5"),
        ({"rank": 10**30}, "rank of Tasks must be an integer from 0 to 1000"),
        (
            {"W": [[1.0]]},
            r"W of Tasks must hold finite numbers of shape .*\(2, 1\); got .*\(1, 1\)",
        ),
        ({"W": ""}, "W of Tasks must hold finite numbers .* got ''"),
        ({"W": [[1.0], [2.0, 3.0]]}, "W of Tasks must hold finite numbers"),
        ({"kappa": "own"}, "kappa of Tasks must be a finite number >= 0, .* got 'own'"),
        ({"kappa": -1.0}, "kappa of Tasks must be a finite number >= 0"),
        ({"kappa": [0.1, np.nan]}, "kappa of Tasks must be a finite number >= 0"),
        ({"kappa": [1.0] * 3}, "or one for each of 2 tasks"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Tasks(RBF(), **settings)([[0.1, 0.0]])


def test_gradients_are_those_of_one_set_of_rows():
    kernel = Tasks(RBF())
    with pytest.raises(ValueError, match="only with Y=None"):
        kernel([[0.1, 0.0]], [[0.1, 1.0]], eval_gradient=True)


@pytest.mark.parametrize("name", ["W_bounds", "kappa_bounds"])
@pytest.mark.parametrize("bounds", ["free", (), 5, None, {}, (2, 1), (np.nan, 1), (-np.inf, 1)])
def test_wrong_bounds_are_named(name, bounds):
    with pytest.raises(ValueError, match=f"{name} of Tasks must be 'fixed' or a lower"):
        _ = Tasks(RBF(), **{name: bounds}).bounds


@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1)])
def test_bounds_of_variances_are_positive(bounds):
    with pytest.raises(ValueError, match="finite positive numbers; got"):
        _ = Tasks(RBF(), kappa_bounds=bounds).bounds


@pytest.mark.parametrize("task", [2.0, -1.0, 0.5, np.nan])
def test_rows_of_no_task_are_named(task):
    with pytest.raises(ValueError, match="integers from 0 to 1; row 1 has"):
        Tasks(RBF())([[0.1, 0.0], [0.1, task]])
    with pytest.raises(ValueError, match="in a further column"):
        Tasks(RBF())([[0.1]])

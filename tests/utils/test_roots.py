"""A seed gives the same draws whichever eigenvectors a processor's linear algebra returns."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import cholesky, solve_triangular
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import CMESOptimizer, DAGPUCBOptimizer, GPTSOptimizer, OnlineGaussianProcessRegressor
from skgpb.exceptions import NumericalWarning
from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.kernels.evaluator import Functionals
from skgpb.problems import gp_draw
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.utils.roots import (
    PivotedRoot,
    joint_draws,
    next_pivot,
    nonnegative,
    pivoted_cholesky,
    symmetric_root,
)

RNG = np.random.default_rng(0)
X = RNG.random((30, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1]
GRID = np.linspace(0.0, 1.0, 40)[:, None]
PAIRS = np.clip(GRID + 0.1 * RNG.normal(size=(40, 1)), 0.0, 1.0)


@pytest.fixture
def flip(monkeypatch):
    """A function that changes the sign of every other eigenvector and singular vector."""

    def flipped(decompose, *vectors):
        def decompose_and_flip(*args, **kwargs):
            parts = list(decompose(*args, **kwargs))
            for place, axis in vectors:
                signs = np.where(np.arange(parts[place].shape[axis]) % 2, 1.0, -1.0)
                parts[place] = parts[place] * (signs if axis else signs[:, None])
            return tuple(parts)

        return decompose_and_flip

    def start():
        for module in (np.linalg, scipy.linalg):
            monkeypatch.setattr(module, "eigh", flipped(module.eigh, (1, 1)))
            monkeypatch.setattr(module, "svd", flipped(module.svd, (0, 1), (2, 0)))

    return start


def regressor():
    return OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.01, optimizer=None).fit(X, Y)


def process(conditional=None):
    conditional = conditional or WindowMean(scale=0.1)
    process = ConditionalMeanProcess(RBF(0.2), conditional, alpha=1e-3)
    process.condition_query([[0.2], [0.7]], [1.0, -1.0])
    return process


def asked(optimizer):
    queries = []
    for _ in range(8):
        queries.append(optimizer.ask())
        x = getattr(queries[-1], "a", getattr(queries[-1], "center", None))
        optimizer.tell(queries[-1], float(np.sin(6 * x[0])))
    return [query.index for query in queries], optimizer.sample_y(GRID, 2, random_state=1)


def indirect(**params):
    return CMESOptimizer(
        RBF(0.2), conditional=WindowMean(scale=0.1), bounds=[(0, 1)], queries=GRID, alpha=1e-3,
        n_points=50, random_state=0, **params,
    )  # fmt: skip


def arms(cls, **params):
    return cls(Matern(0.2, nu=1.5), arms=GRID, alpha=0.01, random_state=0, **params)


SEEDED = {
    "OnlineGaussianProcessRegressor": lambda: regressor().sample_y(X + 0.02, 3, random_state=1),
    "two targets": lambda: regressor().fit(X, np.column_stack([Y, Y**2])).sample_y(X, 3),
    "sample_y": lambda: process().sample_y(GRID, 3, random_state=1),
    "sample_query": lambda: process().sample_query(GRID, 3, random_state=1),
    "ConditionalMean": lambda: process(ConditionalMean(A=GRID, X=PAIRS)).sample_y(GRID, 3),
    "gp_draw": lambda: gp_draw("se", random_state=1).values,
    "GPTSOptimizer": lambda: asked(arms(GPTSOptimizer)),
    "DAGPUCBOptimizer": lambda: asked(arms(DAGPUCBOptimizer, weights="sampling")),
    "CMESOptimizer": lambda: asked(indirect()),
    "joint": lambda: asked(indirect(information="joint")),
}


@pytest.mark.parametrize("name", SEEDED)
def test_seeded_draws_do_not_depend_on_the_signs_of_eigenvectors(name, flip):
    before = SEEDED[name]()
    flip()
    after = SEEDED[name]()
    if not isinstance(before, tuple):
        before, after = (before,), (after,)
    for one, other in zip(before, after, strict=True):
        assert_allclose(other, one, rtol=0, atol=1e-12)


def test_draws_do_not_depend_on_the_choice_among_equal_eigenvalues(monkeypatch):
    rotation = np.linalg.qr(RNG.normal(size=(5, 5)))[0]
    plain = joint_draws(np.zeros(5), np.eye(5), 4, 0)
    monkeypatch.setattr(np.linalg, "eigh", lambda K: (np.ones(len(K)), rotation))
    assert_allclose(joint_draws(np.zeros(5), np.eye(5), 4, 0), plain, rtol=0, atol=1e-14)


def draws_by_pivots(process, points, n):
    """Draws of f at points as searches make them, from few pivots of the prior."""
    gp, rows = process.process_, process.kernel_.points(points)
    targets = Functionals.of_rows(rows)
    gp.track(rows)
    root = PivotedRoot(lambda i: gp.covariance(targets, targets.one(i))[:, 0], gp.variance(targets))
    return root.draws(gp.posterior.tracked_rows(), n, 1)


def test_draws_over_a_grid_do_not_depend_on_rounding():
    """Many points of a grid have equal variances; the next pivot must not be an accident."""
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 20)] * 2), axis=-1).reshape(-1, 2)
    draws = []
    for shift in (0.0, 1e-15):
        points = grid + shift * RNG.normal(size=grid.shape)
        process = ConditionalMeanProcess(RBF(0.7), WindowMean(scale=0.1), alpha=1e-3)
        process.condition_query([[0.2, 0.3], [0.7, 0.8]], [1.0, -1.0])
        draws.append(draws_by_pivots(process, points, 3))
    # A draw at a pivot of variance 1e-8 amplifies rounding, 1e-16, by the inverse of the
    # standard deviation there, 1e4, and a thousandfold on the way.
    assert_allclose(draws[1], draws[0], rtol=0, atol=1e-9)
    assert next_pivot(np.array([0.5, 1.0 - 1e-9, 1.0, 0.9])) == 1


def test_the_root_is_symmetric_and_leaves_rounding_out():
    K = RBF(0.5)(GRID)
    U, s = symmetric_root(K)
    assert U.shape == (40, len(s)) and len(s) < 20
    assert_allclose((U * s**2) @ U.T, K, rtol=0, atol=40 * np.finfo(float).eps * s[-1] ** 2)
    assert_allclose(U.T @ U, np.eye(len(s)), rtol=0, atol=1e-13)
    assert len(symmetric_root(K, 1e-3)[1]) == (np.linalg.eigvalsh(K) > 1e-3 * s[-1] ** 2).sum()
    assert_array_equal(
        joint_draws(np.arange(3.0), np.zeros((3, 3)), 2, 0), [[0, 0], [1, 1], [2, 2]]
    )


def test_a_matrix_that_is_no_covariance_is_reported_by_its_pivots():
    K = np.array([[1.0, 1.2], [1.2, 1.0]])
    with pytest.warns(NumericalWarning, match="a posterior variance of -4.4e-01"):
        _, pivots, rest = pivoted_cholesky(lambda i: K[i], np.ones(2), 2, lambda left: False)
    assert_array_equal(pivots, [0])
    assert_array_equal(rest, [0.0, 0.0])


def test_variances_below_what_numbers_resolve_are_clipped_in_silence():
    assert_array_equal(nonnegative(np.array([-8e-323, 1e-320]), "k", lambda: 1e-320), [0.0, 1e-320])


@pytest.mark.parametrize("n_observed", [0, 3, 60])
def test_draws_by_pivots_are_by_the_symmetric_root_of_their_posterior(n_observed):
    """Also where there are more observations than pivots."""
    kernel, rng = RBF(0.2), np.random.default_rng(0)
    X, observed = np.linspace(0, 1, 40)[:, None], rng.uniform(size=(n_observed, 1))
    K, V = kernel(X), np.empty((len(X), n_observed))
    root = PivotedRoot(lambda i: K[i], np.diag(K))
    if n_observed:
        L = cholesky(kernel(observed) + 1e-4 * np.eye(n_observed), lower=True)
        V = solve_triangular(L, kernel(observed, X), lower=True).T
    n = len(root.pivots)
    B = solve_triangular(root.factor[root.pivots], V[root.pivots], lower=True)
    expected = root.factor @ joint_draws(np.zeros(n), np.eye(n) - B @ B.T, 5, random_state=1)
    # Both take the square root of what rounding leaves of 1 - 1, 1e-8 or so.
    assert_allclose(root.draws(V, 5, random_state=1), expected, atol=1e-6)

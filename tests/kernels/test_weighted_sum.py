"""Weighted sums of any sign against sums written out and quadrature, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import erf
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from skgpb import KGOptimizer, OnlineGaussianProcessRegressor
from skgpb.kernels import CellAverage, Tasks, WeightedSum
from skgpb.kernels._boxes import representatives

RNG = np.random.default_rng(0)
X = RNG.random((25, 2))
NAMES = np.array(["north", "south", "west"])[RNG.integers(0, 3, 25)]
WEIGHTS = RNG.normal(size=25)


def test_it_is_the_sum_written_out():
    base = 0.7 * Matern([0.3, 0.8], nu=2.5)
    kernel = WeightedSum(base, X, NAMES, WEIGHTS)
    names, points = ["west", "north", "west"], RNG.random((2, 2))
    rows = np.vstack([kernel.queries(names), kernel.points(points)])
    sums = np.array([np.where(name == NAMES, WEIGHTS, 0.0) for name in names])
    weights = np.block([[sums, np.zeros((3, 2))], [np.zeros((2, 25)), np.eye(2)]])
    every = np.vstack([X, points])
    assert_allclose(kernel(rows), weights @ base(every) @ weights.T, rtol=1e-11, atol=1e-14)


def test_points_of_a_cell_are_its_average_and_a_point_may_be_in_several_sets():
    cells = [([0.0, 0.1], [0.4, 0.5]), ([0.2, 0.1], [0.6, 0.5])]  # they have points in common
    points = [representatives(*cell, 4) for cell in cells]
    kernel = WeightedSum(RBF(0.4), np.concatenate(points), np.repeat([7, 9], 16))
    boxes = np.array([np.concatenate(cell) for cell in cells])
    assert_allclose(kernel(kernel.queries([7, 9])), CellAverage(RBF(0.4), 4)(boxes), rtol=1e-12)
    # A search, which does not check its rows again, gives sets by their names as well.
    rows = kernel.rows_of_queries(np.array([[9.0], [7.0]]))
    assert_array_equal(rows, kernel.queries([9, 7]))


def test_fourier_coefficients_by_quadrature():
    """Compare the cosine and the sine of one wave over the line with the Gaussian integral."""
    nodes = np.linspace(-6, 6, 301)[:, None]
    window = np.exp(-0.5 * nodes[:, 0] ** 2) / np.sqrt(2 * np.pi) * 12 / 300
    waves = [window * np.cos(2 * nodes[:, 0]), window * np.sin(2 * nodes[:, 0])]
    two = np.repeat(["cos", "sin"], 301)
    kernel = WeightedSum(RBF(0.5), np.concatenate([nodes, nodes]), two, np.concatenate(waves))
    K = kernel(kernel.queries(["cos", "sin"]))
    # E k(x, y) cos(2x) cos(2y) with x, y standard normal: with u = x - y and v = x + y, of
    # variance 2 each, it is half of E exp(-2 u^2) cos(2u), and of E exp(-2 u^2) E cos(2v).
    narrow = 1 / (1 / 2 + 4)  # variance of u under the product of both
    share = np.sqrt(narrow / 2)
    even = share * np.exp(-2 * narrow)
    odd = share * np.exp(-4)
    assert_allclose(np.diag(K), [0.5 * (even + odd), 0.5 * (even - odd)], rtol=1e-10)
    assert_allclose(K[0, 1], 0.0, atol=1e-15)


def test_the_integral_of_a_point_by_quadrature():
    nodes, weights = np.polynomial.legendre.leggauss(40)
    kernel = WeightedSum(RBF(0.3), nodes[:, None], weights=weights)
    K = kernel(kernel.queries([0]), kernel.points([[0.2]]))
    root = 0.3 * np.sqrt(2)
    exact = 0.3 * np.sqrt(np.pi / 2) * (erf(0.8 / root) + erf(1.2 / root))
    assert_allclose(K, exact, rtol=1e-12)


def test_contrasts_say_nothing_of_the_level():
    """Differences of sets alone: what is learned is differences."""
    weights = np.where(np.arange(25) % 2, 1.0, -1.0)
    weights[24] = 0.0
    kernel = WeightedSum(1e4 + RBF(0.5), X, weights=weights)
    assert kernel.diag(kernel.queries([0]))[0] < 200.0


def test_white_noise_is_that_of_the_points():
    kernel = WeightedSum(RBF(0.5) + WhiteKernel(0.1), X, NAMES, WEIGHTS)
    of_north = 0.1 * (WEIGHTS[NAMES == "north"] ** 2).sum()
    assert_allclose(kernel.noise_diag(kernel.queries(["north"])), of_north, rtol=1e-12)


def test_each_task_has_sets_of_its_own():
    kernel = Tasks(WeightedSum(RBF(0.5), X, NAMES, WEIGHTS))
    inner = kernel.base
    rows = np.column_stack([inner.queries(["north", "west", "north"]), [0, 1, 1]])
    expected = kernel.B[np.ix_([0, 1, 1], [0, 1, 1])] * inner(rows[:, :-1])
    assert_allclose(kernel(rows), expected, rtol=1e-12)
    around = WeightedSum(
        Tasks(RBF(0.5)), np.column_stack([X, np.repeat([0, 1], [12, 13])]), NAMES, WEIGHTS
    )
    mixed = np.array([np.where(name == NAMES, WEIGHTS, 0.0) for name in ("north", "west")])
    brute = mixed @ Tasks(RBF(0.5))(around.X) @ mixed.T
    assert_allclose(around(around.queries(["north", "west"])), brute, rtol=1e-12)


def test_the_best_town_is_found_from_averages_of_districts():
    towns = np.linspace(0, 1, 40)[:, None]
    f = np.exp(-(((towns[:, 0] - 0.62) / 0.1) ** 2))
    people = np.random.default_rng(0).uniform(1, 5, 40)
    district = np.arange(40) // 2
    share = people / np.bincount(district, people)[district]
    kernel = WeightedSum(RBF(0.1), towns, district, share)
    opt = KGOptimizer(
        kernel,
        queries=kernel.queries(np.arange(20)),
        targets=kernel.points(towns),
        alpha=1e-4,
        random_state=0,
    )
    opt.run(lambda arm: float((share * f)[district == arm.index].sum()), budget=20)
    assert f[opt.recommend().index] > 0.95
    assert len(set(opt.history_["descriptor"][:, 1])) < 20  # not every district was asked


def test_learning_is_that_of_the_sum_written_out():
    kernel = WeightedSum(RBF(0.3, (0.05, 5.0)), X, np.arange(25) // 2)
    rows = kernel.queries(np.arange(13))
    y = np.sin(4 * rows[:, 0])
    gp = OnlineGaussianProcessRegressor(kernel, alpha=1e-3).fit(rows, y)
    means = np.equal.outer(np.arange(13), np.arange(25) // 2).astype(float)
    means /= means.sum(axis=1, keepdims=True)
    K = means @ gp.kernel_.base(X) @ means.T + 1e-3 * np.eye(13)
    value = -0.5 * y @ np.linalg.solve(K, y) - 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
    assert_allclose(gp.log_marginal_likelihood_value_, value, rtol=1e-9)
    assert_array_equal(gp.log_marginal_likelihood(gp.kernel_.theta, True)[1].shape, (1,))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), "needs X, the points of all sets"),
        ((X, NAMES[:3]), "groups must hold a number or a name for each of 25 points"),
        ((X, NAMES, WEIGHTS[:3]), "weights must hold a number for each of 25 points; got 3"),
        ((X, NAMES, np.full(25, np.nan)), "weights must be finite"),
    ],
)
def test_wrong_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        WeightedSum(RBF(), *arguments).queries(["north"])


@pytest.mark.parametrize("n", [5, 6])
def test_five_names_are_listed(n):
    kernel = WeightedSum(RBF(), X[:n], list("abcdef")[:n])
    more = ", \\.\\.\\." if n == 6 else ""
    with pytest.raises(ValueError, match=rf"'a', 'b', 'c', 'd', 'e'{more}; got 'z'"):
        kernel.queries(["z"])


def test_wrong_rows_are_named():
    kernel = WeightedSum(RBF(), X, NAMES)
    with pytest.raises(ValueError, match="'north', 'south', 'west'; got 'east'"):
        kernel.queries(["north", "east"])
    with pytest.raises(ValueError, match=r"from 0 to 2; row 1 has 3\.0"):
        kernel([[0.1, 0.2, 0.0], [0.1, 0.2, 3.0]])
    with pytest.raises(ValueError, match="3 columns"):
        kernel([[0.1, 0.2]])
    for contexts in ([[0.1]], [[0.1, 0.2]] * 3, [[0.1]] * 2):
        in_contexts = WeightedSum(RBF(), X, NAMES, n_context=2)
        with pytest.raises(ValueError, match="contexts must have n_context=2 columns, and a row"):
            in_contexts.queries(["north", "west"], contexts)
    with pytest.raises(ValueError, match=r"X must hold rows \[point, number of a set\], 3 columns"):
        kernel.evaluator(2)


@pytest.mark.parametrize("row", [[0.1, 0.2, 3.0], [0.1, 0.2, 0.5], [0.1, 0.2, -3.0], [0.1, 0.2]])
def test_wrong_rows_are_no_other_sets_wherever_they_come_from(row):
    kernel = WeightedSum(RBF(), X, NAMES)
    known = kernel.queries(["north", "south"])
    optimizer = KGOptimizer(kernel, queries=known, targets=kernel.points(X), alpha=0.1)
    query = optimizer.ask()
    for wrong in (
        lambda: OnlineGaussianProcessRegressor(kernel, alpha=0.1).fit([row], [1.0]),
        lambda: KGOptimizer(kernel, queries=[row], alpha=0.1).ask(),
        lambda: optimizer.tell(row, 1.0),
    ):
        with pytest.raises(ValueError, match=r"number of a set|columns|shape \(3,\)|outside"):
            wrong()
    assert len(optimizer.history_) == 0 and optimizer.ask() == query


def test_sets_in_contexts_far_from_zero_are_those_near_it():
    """All numbers are exact in both places; divided by a length scale they are not."""
    points = RNG.integers(0, 2**20, (12, 1)) / 2**20

    def covariances(origin):
        kernel = WeightedSum(RBF(0.3), origin + points, np.arange(12) // 4, n_context=1)
        single = np.hstack([[[0.25], [0.5]], origin + points[:2]])
        rows = np.vstack([kernel.queries([0, 1, 2], [[0.25]]), kernel.points(single)])
        return kernel(rows), kernel(rows, rows[:2]), kernel(rows[:0], rows), kernel.diag(rows)

    for near, far in zip(covariances(0.0), covariances(2.0**20), strict=True):
        assert_allclose(near, far, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_context", [0, 1])
def test_functionals_of_a_given_function_are_its_weighted_sums(n_context):
    kernel = WeightedSum(RBF([0.3] * (2 + n_context)), X, NAMES, WEIGHTS, n_context=n_context)
    context, points = RNG.random((1, n_context)), RNG.random((2, 2 + n_context))

    def mean(at):
        return np.sin(at @ np.arange(1.0, 3.0 + n_context)) + at[:, 0] ** 2

    labels = np.unique(NAMES)
    if n_context:
        sets = kernel.queries(labels, context)
        assert_array_equal(sets, kernel.queries(labels, np.repeat(context, 3, axis=0)))
        rows = np.vstack([sets, kernel.points(points)])
    else:
        rows = np.vstack([kernel.queries(labels), kernel.points(points)])
    every = np.hstack([np.repeat(context, len(X), axis=0), X])
    expected = [np.where(name == NAMES, WEIGHTS, 0.0) @ mean(every) for name in labels]
    assert_allclose(kernel.mean_of(rows, mean), [*expected, *mean(points)])
    assert_allclose(kernel.mean_of(rows[:1], mean), expected[:1])
    assert_allclose(kernel.mean_of(rows[-1:], mean), mean(points[1:]))

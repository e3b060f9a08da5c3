"""Hyperparameters and noise learned from the answers, and the defaults that rest on them."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from skgpb import (
    GPOOOptimizer,
    GPUCBOptimizer,
    defaults,
)
from skgpb.kernels import AdditiveMatern, CellAverage
from skgpb.kernels._boxes import boxes_from_points
from skgpb.kernels.evaluator import Functionals
from skgpb.surrogate import OnlineGaussianProcessRegressor
from skgpb.surrogate.gram import covariance_of, covariance_of_functionals, fill_above, fold
from skgpb.surrogate.likelihood import (
    Likelihood,
    Prior,
    default_kernel,
    default_prior,
    last_refit,
    log_likelihood,
    most_probable,
    next_refit,
    noise_prior,
    promising_starts,
    smooth_kernel,
)
from skgpb.surrogate.model import Samples
from skgpb.surrogate.tasks import slow_kernel
from skgpb.surrogate.trend_and_rough import trend_and_rough

SQUARE = np.array([[0.0, 1.0], [0.0, 2.0]])
RNG = np.random.default_rng(5)
X = RNG.uniform(SQUARE[:, 0], SQUARE[:, 1], (9, 2))
#: Every functional is observed once, most of them again.
OF = np.concatenate([np.arange(9), RNG.integers(0, 7, 15)])
Y = np.sin(3.0 * X[OF, 0]) + X[OF, 1] + 0.3 * RNG.normal(size=24)


def samples_with(alphas):
    samples = Samples()
    for i, y, alpha in zip(OF, Y, alphas, strict=True):
        samples.append(int(i), float(y), float(alpha))
    return samples


ALPHAS = {
    "unknown": np.full(24, np.nan),
    "precise": np.full(24, 1e-4),
    "known": RNG.uniform(0.05, 0.5, 24),
    "mixed": np.where(RNG.random(24) < 0.5, np.nan, 0.2),
}


def covariance(theta):
    """Covariance as a Likelihood takes it, by scikit-learn's own derivatives."""
    K, gradient = default_kernel(SQUARE).clone_with_theta(theta)(X, eval_gradient=True)
    return K, lambda inner: np.tensordot(inner, gradient, 2)


def density(theta, noise, alphas, y=Y):
    """Log density of all samples, written down without merging any."""
    K, A = covariance(theta)[0], np.eye(9)[OF]
    variance = np.where(np.isnan(alphas), noise, alphas)
    return multivariate_normal.logpdf(y, cov=A @ K @ A.T + np.diag(variance))


@pytest.mark.parametrize("alphas", list(ALPHAS.values()), ids=list(ALPHAS))
def test_likelihood_is_the_density_of_all_samples_and_its_gradient(alphas):
    prior = default_prior(SQUARE)
    of_noise = noise_prior(1.0)[0] if np.isnan(alphas).any() else None
    likelihood = Likelihood(covariance, samples_with(alphas).scaled(0.0, 1.0), prior, of_noise)
    x = prior.center + np.array([0.3, -0.4, 0.2])
    if of_noise is not None:
        x = np.append(x, -1.5)
    value, gradient = likelihood(x)
    expected = density(x[:3], np.exp(-1.5), alphas) + prior(x[:3])[0]
    expected += 0.0 if of_noise is None else of_noise(x[3:])[0]
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-9)
    for i, step in enumerate(1e-5 * np.eye(len(x))):
        slope = (likelihood(x + step)[0] - likelihood(x - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_likelihood_equals_that_of_the_regressor_without_repeats():
    samples = Samples()
    for i in range(9):
        samples.append(i, float(Y[i]), 0.1)
    points = Functionals(2)
    points.extend(Functionals.of_rows(X))
    kernel = default_kernel(SQUARE)
    likelihood = Likelihood(covariance, samples.scaled(0.0, 1.0), None, None)
    value, gradient = likelihood(kernel.theta)
    expected = log_likelihood(kernel, points, np.full(9, 0.1), Y[:9], eval_gradient=True)
    assert value == pytest.approx(expected[0], abs=1e-10)
    assert_allclose(gradient, expected[1], atol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        default_kernel(SQUARE),
        default_kernel(SQUARE, smooth=True),
        ConstantKernel(2.0) * Matern(0.4, nu=2.5),
        CellAverage(default_kernel(SQUARE), 1),
        CellAverage(default_kernel(SQUARE), 2),
        ConstantKernel(2.0) * Matern([0.3, 0.5], nu=1.5),
        ConstantKernel(2.0, "fixed") * RBF([0.3, 0.5]),
        RBF([0.3, 0.5]) + WhiteKernel(0.1),
    ],
    ids=str,
)
def test_contracted_derivatives_are_those_of_scikit_learn(kernel):
    rows = boxes_from_points(X) if isinstance(kernel, CellAverage) else X
    inner = np.random.default_rng(0).normal(size=(9, 9))
    inner += inner.T
    K, contract = covariance_of(kernel, rows)(kernel.theta)
    fill_above(K)
    expected, gradient = kernel(rows, eval_gradient=True)
    assert_allclose(K, expected, atol=1e-12)
    assert_allclose(contract(fold(inner)), np.tensordot(inner, gradient, 2), atol=1e-11)
    if isinstance(kernel, CellAverage):
        rows[:, 2:] += 0.1
        K, contract = covariance_of(kernel, rows)(kernel.theta)
        fill_above(K)
        expected, gradient = kernel(rows, eval_gradient=True)
        assert_allclose(K, expected, atol=1e-12)
        assert_allclose(contract(fold(inner)), np.tensordot(inner, gradient, 2), atol=1e-11)


@pytest.mark.parametrize("shape", [Matern(0.5, nu=2.5), RBF([0.5, 0.8])], ids=str)
def test_derivatives_do_not_depend_on_where_points_lie(shape):
    kernel, inner = ConstantKernel(1.5) * shape, np.random.default_rng(2).normal(size=(9, 9))
    near = np.round(X * 2**10) / 2**10  # 2^30 can be added to these exactly
    slopes = [
        covariance_of(kernel, rows)(kernel.theta)[1](fold(inner + inner.T))
        for rows in (near, near + 2.0**30)
    ]
    assert_allclose(slopes[0], slopes[1], rtol=1e-10)


@pytest.mark.parametrize("free", [True, False])
def test_covariances_of_averages_over_rows_have_their_derivatives(free):
    kernel = default_kernel(SQUARE)
    gpr = OnlineGaussianProcessRegressor()
    gpr._start(kernel, 2)
    for block in (X[:3], X[3:4], X[4:9]):
        gpr.process_.observe(block, 0.3, 0.1)
    covariance, inner = (
        covariance_of_functionals(kernel, gpr.process_.observed, free),
        np.array([[1.0, 0.3, -2.0], [0.3, 0.5, 0.7], [-2.0, 0.7, 0.1]]),
    )
    K, contract = covariance(kernel.theta)
    A = np.zeros((3, 9))
    A[0, :3], A[1, 3], A[2, 4:] = 1 / 3, 1.0, 1 / 5
    assert_allclose(K, A @ kernel(X) @ A.T, atol=1e-12)
    if not free:
        assert contract(inner).shape == (0,)
        return
    for i, step in enumerate(1e-6 * np.eye(3)):
        up, down = (covariance(kernel.theta + sign * step)[0] for sign in (1.0, -1.0))
        slope = np.sum(inner * (up - down)) / 2e-6
        assert contract(inner)[i] == pytest.approx(slope, abs=1e-7)


def test_units_only_shift_the_likelihood():
    alphas = ALPHAS["known"]
    prior = default_prior(SQUARE)
    samples = samples_with(alphas)
    one = Likelihood(covariance, samples.scaled(0.0, 1.0), None, None)(prior.center)[0]
    scaled = samples.scaled(0.0, 2.0)
    assert_allclose(scaled.alpha, alphas / 4.0)
    other = Likelihood(covariance, scaled, None, None)(prior.center - [np.log(4.0), 0, 0])[0]
    assert other == pytest.approx(one + 24 * np.log(2.0), abs=1e-9)


def test_exact_samples_outweigh_all_others():
    samples = Samples()
    for functional, reward, alpha in [(0, 1.0, 0.5), (0, 2.0, 0.0), (1, 3.0, 0.1), (0, 2.0, 0.0)]:
        samples.append(functional, reward, alpha)
    merged = samples.scaled(0.0, 1.0).merged(0.7)
    assert_array_equal(merged.y, [2.0, 3.0])
    assert_array_equal(merged.noise, [0.0, 0.1])
    assert_array_equal(merged.counts, [3, 1])


def test_samples_of_any_precision_merge_without_overflow():
    samples = Samples()
    for functional, reward, alpha in [(0, 1e100, 0.5), (0, 0.25, 1e-300), (1, 3.0, 1e300)]:
        samples.append(functional, reward, alpha)
    with np.errstate(all="raise", under="ignore"):
        merged = samples.scaled(0.0, 1.0).merged(0.7)
    assert_allclose(merged.y, [0.25, 3.0])
    assert_allclose(merged.noise, [1e-300, 1e300])


@pytest.mark.parametrize("large", [1e8, 1e149])
@pytest.mark.parametrize("cls", [GPOOOptimizer, GPUCBOptimizer])
def test_an_almost_exact_answer_after_a_large_one_leaves_numbers(cls, large):
    optimizer = cls(bounds=[(0, 1)], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        optimizer.tell(optimizer.ask(), large)
        optimizer.tell(optimizer.ask(), 0.25, 1e-300)
        optimizer.tell(optimizer.ask(), 0.5)
    for numbers in optimizer.predict([[0.1], [0.6]], return_std=True):
        assert np.isfinite(numbers).all()


def test_the_prior_of_the_noise_is_in_units_of_a_typical_variance():
    prior, limits = noise_prior(4.0)
    assert_allclose(np.exp(prior.center), 4.0 * defaults.NOISE)
    assert_allclose(
        np.exp(limits), [[4.0 * defaults.NOISE_LIMITS[0], 4.0 * defaults.NOISE_LIMITS[1]]]
    )


@pytest.mark.parametrize(("repeated", "highest"), [(0.0, 4.0), (3.9, 4.0), (900.0, 900.0)])
def test_the_noise_may_be_as_large_as_repeated_queries_say(repeated, highest):
    prior, limits = noise_prior(4.0, repeated=repeated)
    lower, upper = defaults.NOISE_LIMITS
    assert_allclose(np.exp(limits), [[4.0 * lower, highest * upper]])
    assert prior.center == noise_prior(4.0)[0].center


def test_the_default_kernel_scales_with_the_sides_and_the_dimension():
    kernel = default_kernel(np.array([[0.0, 2.0], [5.0, 5.0], [0.0, 1e-3], [-1.0, 1.0]]))
    assert isinstance(kernel.k2, Matern)
    assert_allclose(
        kernel.k2.length_scale, 2.0 * defaults.LENGTH_SCALE * np.array([2.0, 1.0, 1e-3, 2.0])
    )
    assert isinstance(default_kernel(SQUARE, smooth=True).k2, RBF)
    assert_allclose(default_prior(SQUARE).center, default_kernel(SQUARE).theta)
    assert np.isfinite(default_kernel(SQUARE).bounds).all()


def test_the_default_kernel_of_several_sides_may_have_main_effects():
    kernel, prior = default_kernel(SQUARE, main_effects=True), default_prior(SQUARE, True)
    assert isinstance(kernel.k2, AdditiveMatern)
    assert_allclose(kernel.k2.length_scale, default_kernel(SQUARE).k2.length_scale)
    assert_allclose(prior.center, kernel.theta)
    assert len(prior.spread) == 4 and np.isfinite(kernel.bounds).all()
    # On a line there is nothing but the main effect.
    line = SQUARE[:1]
    assert default_kernel(line, main_effects=True) == default_kernel(line)
    assert default_prior(line, True) == default_prior(line)


def hills(x):
    """Two of them, at -2 and, more than twice as high, at 3."""
    one, two = norm.pdf(x[0], -2.0), 2.0 * norm.pdf(x[0], 3.0, 0.7)
    slope = -one * (x[0] + 2.0) - two * (x[0] - 3.0) / 0.49
    return float(one + two), np.array([slope])


def test_most_probable_is_the_better_of_two_hills():
    bounds = np.array([[-5.0, 5.0]])
    starts = [np.array([-1.5]), np.array([2.5])]
    assert most_probable(hills, starts[:1], bounds)[0] == pytest.approx(-2.0, abs=1e-2)
    assert most_probable(hills, starts, bounds)[0] == pytest.approx(3.0, abs=1e-2)
    assert most_probable(hills, starts[::-1], bounds)[0] == pytest.approx(3.0, abs=1e-2)
    # An optimizer of the user's has the signature of scikit-learn's.
    seen = []

    def mine(objective, start, bounds):
        seen.append((objective(start)[0], objective(start, eval_gradient=False)))
        return start, objective(start, False)

    assert_array_equal(most_probable(hills, starts, bounds, mine), starts[1])
    # Starts lie within the bounds.
    assert_array_equal(most_probable(hills, [np.array([9.0])], bounds, mine), [5.0])
    assert all(one == other for one, other in seen)
    assert Prior(np.zeros(1), np.ones(1))(np.array([2.0]))[0] == -2.0


def test_further_starts_are_promising_where_their_hill_is_higher():
    bounds, left, right = np.array([[-5.0, 5.0]]), np.array([-1.5]), np.array([2.5])
    same, higher = promising_starts(hills, [left, np.array([-2.5]), right], bounds, None)
    assert same is left
    assert higher[0] == pytest.approx(3.0, abs=1e-2)
    assert promising_starts(hills, [right, left], bounds, None) == [right]


@pytest.mark.parametrize(
    ("relearn", "expected"),
    [
        ("growing", [4, 5, 7, 9, 12, 15, 19, 24]),
        ("doubling", [4, 8, 16]),
        (6, [6, 12, 18, 24]),
        (None, []),
    ],
)
def test_the_schedule_of_learning(relearn, expected):
    learned = [0]
    for n in range(1, 25):
        if n >= next_refit(relearn, learned[-1]):
            learned.append(n)
        assert last_refit(relearn, n) == learned[-1]
    assert learned[1:] == expected


def test_noise_that_goes_in_proportion_is_learned_as_one_number():
    """Against the density of all answers with their covariance, and by differences."""
    shares = np.where(np.arange(24) % 3, 0.5, 4.0)
    samples = Samples()
    for i, y, share in zip(OF, Y, shares, strict=True):
        samples.append(int(i), float(y), float("nan"), float(share))
    kernel = default_kernel(SQUARE)
    covariance = covariance_of(kernel, X, None)
    prior = Prior(np.zeros(1), np.array([np.inf]))
    objective = Likelihood(covariance, samples.scaled(0.0, 1.0), None, prior)

    def value(x):
        K = kernel.clone_with_theta(x[:-1])(X)[np.ix_(OF, OF)] + np.diag(np.exp(x[-1]) * shares)
        return multivariate_normal(cov=K).logpdf(Y)

    x = np.append(kernel.theta, np.log(0.1))
    steps = 1e-5 * np.eye(len(x))
    slopes = [(value(x + step) - value(x - step)) / 2e-5 for step in steps]
    found, gradient = objective(x)
    assert_allclose(found, value(x), rtol=1e-10)
    assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "kernel_of",
    [
        default_kernel,
        partial(default_kernel, main_effects=True),
        smooth_kernel,
        slow_kernel,
        partial(slow_kernel, smooth=True),
        lambda bounds: trend_and_rough(bounds, 0.1 * np.diff(bounds).T),
    ],
)
def test_kernels_by_default_are_in_units_of_the_box(kernel_of):
    for d in (1, 2):
        bounds = np.array([[0.0, 1.0], [-1.0, 2.0]])[:d]
        units, x = np.array([1e3, 1e-2])[:d], np.random.default_rng(0).random((5, d))
        expected, found = (kernel_of(each) for each in (bounds, bounds * units[:, None]))
        assert_allclose(found(x * units), expected(x), rtol=1e-9)

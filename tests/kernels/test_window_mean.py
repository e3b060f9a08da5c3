"""Laws of WindowMean: closed forms equal quadrature, quadrature reaches its tolerance."""

import itertools
import warnings
from math import exp

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conditional_mean_process import window_distribution
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpb.kernels import CellIntegral, WindowMean, window_mean
from skgpb.kernels._quadrature import clipped_rule, difference_rule, gauss_rule
from skgpb.kernels.window_mean import WindowEvaluator

PRODUCTS = {
    1: [RBF(0.4), 1.7 * RBF(0.2, "fixed") + 0.3 * RBF(1.5) + ConstantKernel(0.2)],
    2: [
        RBF([0.3, 0.9]),
        (0.5 * RBF([0.6, 1.2]) + RBF(0.9)) ** 2,
        2.0 * RBF(0.5) + WhiteKernel(0.1),
    ],
    3: [0.6 * RBF([0.5, 0.7, 2.0])],
}
STATIONARY = [
    Matern(0.5, nu=0.5),
    0.4 * Matern(0.5, nu=1.5) + ConstantKernel(0.1),
    Matern(0.6, nu=2.5),
    RationalQuadratic(0.5, 1.3),
]
OTHERS = [
    DotProduct(0.4) ** 2,
    RBF(0.8) * DotProduct(0.5),
    RationalQuadratic(0.9, 1.3) + DotProduct(0.2),
]
DOMAIN = [(0.0, 1.0), (-0.2, 1.5), (0.0, 2.0)]
WINDOWS = ["gaussian", "uniform"]


def windows(d, n=6, seed=0):
    """Windows of several widths, one narrow, one flat along an axis, and a point."""
    rng = np.random.default_rng(seed)
    center, scale = rng.uniform(0, 1, (n, d)), rng.choice([0.05, 0.125, 0.25], (n, d))
    scale[1] = 1e-9
    scale[2, 0] = 0.0
    scale[3] = 0.0
    return np.hstack((center, scale))


def by_way(kernel, rows, others, way):
    """The kernel by another of the four ways to a covariance."""
    evaluator = WindowEvaluator(
        kernel.base,
        rows.shape[1] // 2,
        kernel.window,
        None if kernel.domain is None else np.array(kernel.domain),
        1e-11,
    )
    evaluator.way = way
    return evaluator.cross(evaluator.embed(rows), evaluator.embed(others))


# ---- closed forms and quadrature ----


@pytest.mark.one_in(3)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("base", PRODUCTS[1] + PRODUCTS[2], ids=str)
@pytest.mark.parametrize("way", ["difference", "tensor"])
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_closed_forms_equal_quadrature(window, base, way):
    d = 1 if any(base is b for b in PRODUCTS[1]) else 2
    kernel, X, Y = WindowMean(base, window=window), windows(d), windows(d, 5, seed=1)
    assert kernel.evaluator(2 * d).way == "closed"
    assert_allclose(by_way(kernel, X, Y, way), kernel(X, Y), rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_closed_form_equals_a_double_integral(window):
    kernel = WindowMean(1.5 * RBF(0.3), window=window)

    def density(x, c, s):
        return norm.pdf(x, c, s) if window == "gaussian" else (abs(x - c) <= s) / (2 * s)

    def mean(function, c, s):
        reach = (7.5 if window == "gaussian" else 1.0) * s
        return quad(
            lambda x: function(x) * density(x, c, s), c - reach, c + reach, epsabs=1e-11, limit=200
        )[0]

    for a, b in [((0.2, 0.1), (0.5, 0.4)), ((0.9, 0.02), (0.9, 0.02))]:
        value = mean(lambda x, b=b: mean(lambda y: 1.5 * np.exp(-((x - y) ** 2) / 0.18), *b), *a)
        assert_allclose(kernel([a], [b])[0, 0], value, rtol=0, atol=1e-8)


@pytest.mark.parametrize("window", WINDOWS)
def test_no_node_of_a_difference_is_without_weight(window):
    """Kernels are evaluated at each; between two points at one."""
    gap = np.array([0.5, -0.1])
    for scales in ((0.2, 0.3), (0.2, 0.2), (0.2, 0.0), (0.0, 0.0)):
        nodes, weights = difference_rule(gap, *(np.full(2, scale) for scale in scales), window, 30)
        assert nodes.shape == weights.shape and weights.any(axis=0).all()
        assert_allclose(weights.sum(axis=1), 1.0)
        assert_allclose((weights * nodes).sum(axis=1), gap, atol=1e-6)
    assert nodes.shape == (2, 1)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("base", STATIONARY, ids=str)
@pytest.mark.parametrize("scales", [(0.1, 0.1), (0.4, 0.05), (0.3, 0.0), (1.0, 0.7)])
@pytest.mark.parametrize("gap", [0.0, 0.03, 0.25, 1.5])
def test_quadrature_reaches_its_tolerance_on_the_line(window, base, scales, gap):
    """Against adaptive integration over the difference, whose density is written by hand."""
    a, b = scales
    if window == "gaussian":
        s = np.hypot(a, b)
        breaks = sorted({gap - 9 * s, gap - s, gap, gap + s, gap + 9 * s, 0.0})

        def density(u):
            return norm.pdf(u, gap, s)
    else:
        breaks = sorted({gap - a - b, gap - abs(a - b), gap + abs(a - b), gap + a + b, 0.0})

        def density(u):  # a trapezoid; a box where b = 0
            if b == 0.0:
                return (abs(u - gap) <= a) / (2 * a)
            return min(2 * min(a, b), max(0.0, a + b - abs(u - gap))) / (4 * a * b)

    def integrand(u):
        return base(np.array([[u]]), np.zeros((1, 1)))[0, 0] * density(u)

    pieces = [
        quad(integrand, low, high, epsabs=1e-12, limit=200)[0]
        for low, high in itertools.pairwise(breaks)
    ]
    kernel = WindowMean(base, window=window, tolerance=1e-10)
    row = kernel([[gap, a]], [[0.0, b]])
    assert_allclose(row[0, 0], sum(pieces), rtol=0, atol=1e-9)
    assert_allclose(kernel([[0.0, b]], [[gap, a]]), row, rtol=0, atol=1e-14)


def mean_over_fine_differences(base, a, b, window, n_panels=1500):
    """Naive: the base at very many differences u of two points, by the density of u."""
    gap, s, t = a[0] - b[0], max(a[1], b[1]), min(a[1], b[1])
    if s == 0.0:
        return float(base([[gap]], [[0.0]])[0, 0])
    std = np.hypot(s, t)
    ends = [-9.0 * std, 9.0 * std] if window == "gaussian" else [-s - t, t - s, s - t, s + t]
    nodes, weights = np.polynomial.legendre.leggauss(12)
    ends = [gap + end for end in ends]
    edges = sorted({*ends, float(np.clip(0.0, ends[0], ends[-1]))})
    edges = np.unique([np.linspace(*pair, n_panels + 1) for pair in itertools.pairwise(edges)])
    half = 0.5 * np.diff(edges)[:, None]
    u, mass = (edges[:-1, None] + half + half * nodes).ravel(), (half * weights).ravel()
    if window == "gaussian":
        mass *= np.exp(-0.5 * ((u - gap) / std) ** 2)
    elif t > 0.0:
        mass *= np.clip(s + t - np.abs(u - gap), 0.0, 2.0 * t)
    return float(base(u[:, None], np.zeros((1, 1)))[:, 0] @ mass / mass.sum())


PERIODIC = [
    ExpSineSquared(0.5, 1.0),
    ExpSineSquared(0.08, 0.7),
    1.5 * ExpSineSquared(1.0, 0.3) + 0.2 * ExpSineSquared(2.0, 1.1),
    ExpSineSquared(0.8, 0.5) ** 2 * ExpSineSquared(1.2, 0.35) + ConstantKernel(0.3),
    0.4 * RBF(0.6) + ExpSineSquared(0.7, 0.4),
    Matern(0.9, nu=2.5) + ExpSineSquared(0.7, 0.4) + WhiteKernel(0.1),
]
DAMPED = [RBF(2.0) * ExpSineSquared(0.7, 0.4), (RBF(0.9) + 0.5 * ExpSineSquared(1.0, 0.3)) ** 2]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("window", "base"),
    [*itertools.product(WINDOWS, PERIODIC), *(("gaussian", base) for base in DAMPED)],
    ids=str,
)
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_windows_over_periodic_kernels_are_exact_however_many_periods_they_span(window, base):
    kernel = WindowMean(base, window=window)
    rows = np.array([[0.1, 0.0], [0.3, 0.05], [0.55, 0.4], [0.2, 1.3], [-0.4, 3.0]])
    wanted = [[mean_over_fine_differences(base, a, b, window) for b in rows] for a in rows]
    assert_allclose(kernel(rows, rows.copy()), wanted, rtol=0, atol=1e-10)
    noise = np.where(rows[:, 1] == 0.0, base.diag(rows[:, :1]) - base([[0.0]], [[0.0]])[0, 0], 0.0)
    assert_allclose(kernel.diag(rows), np.diag(wanted) + noise, rtol=0, atol=1e-10)
    assert np.linalg.eigvalsh(kernel(rows)).min() > -1e-12


@pytest.mark.parametrize("window", WINDOWS)
def test_means_of_a_sum_are_the_sums_of_the_means_where_a_part_is_periodic(window):
    parts = [Matern(0.9, nu=2.5), ExpSineSquared(0.7, 0.4)]
    rows = np.array([[0.1, 0.0], [0.3, 0.05], [0.55, 0.4], [0.2, 1.3], [-0.4, 3.0]])
    each = [WindowMean(base, window=window)(rows[:2], rows) for base in parts]
    both = WindowMean(parts[0] + parts[1], window=window)(rows[:2], rows)
    assert_allclose(both, each[0] + each[1], rtol=0, atol=1e-12)


def test_learning_a_periodic_kernel_follows_slopes_of_its_likelihood():
    kernel = WindowMean(1.3 * ExpSineSquared(0.8, 0.5) + RBF(0.6), scale=0.4)
    rows = kernel.queries(np.linspace(0.0, 2.0, 6)[:, None])
    _, slopes = kernel(rows, eval_gradient=True)
    for j, theta in enumerate(kernel.theta):
        ends = []
        for step in (1e-4, -1e-4):
            moved = kernel.theta.copy()
            moved[j] = theta + step
            ends.append(clone(kernel).clone_with_theta(moved)(rows))
        assert_allclose(slopes[..., j], (ends[0] - ends[1]) / 2e-4, rtol=0, atol=1e-6)


def test_a_periodic_kernel_in_the_plane_says_where_quadrature_is_not_enough():
    rows = np.array([[0.1, 0.2, 0.3, 0.25], [0.4, -0.1, 0.2, 0.3]])
    kernel = WindowMean(ExpSineSquared(1.0, 4.0))
    rules = [window_distribution(row[2:], "gaussian", n=30)(row[:2]) for row in rows]
    K = [[p @ kernel.base(x, y.copy()) @ q for y, q in rules] for x, p in rules]
    assert_allclose(kernel(rows), K, rtol=0, atol=1e-6)
    with pytest.warns(ConvergenceWarning, match="does not reach"):
        WindowMean(ExpSineSquared(0.5, 0.3))(10.0 * rows)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("base", [STATIONARY[2], STATIONARY[3], *OTHERS], ids=str)
def test_quadrature_in_the_plane(window, base):
    X = windows(2, n=5)
    rules = [
        window_distribution(row[2:], window, n=36 if window == "gaussian" else 14)(row[:2])
        for row in X
    ]
    K = np.array([[p @ base(x, y.copy()) @ q for y, q in rules] for x, p in rules])
    # the naive double sum converges slowly for Matern, whose fifth derivative has a kink
    tolerance = 1e-5 if isinstance(base, Matern) else 1e-9
    kernel = WindowMean(base, window=window)
    assert_allclose(kernel(X, X.copy()), K, rtol=0, atol=tolerance)
    assert_allclose(kernel(X), K, rtol=0, atol=tolerance)


def test_an_unreachable_tolerance_is_said():
    # clipped windows are integrated point by point, across the kink of the kernel
    kernel = WindowMean(Matern(0.3, nu=0.5), 0.3, domain=[(0, 1)], tolerance=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"does not reach tolerance=1\.0e-09"):
        kernel(kernel.queries([[0.2]]))
    wide = WindowMean(RBF(0.1), 40.0, domain=[(0, 100)])
    with pytest.warns(ConvergenceWarning, match="too wide for the quadrature of clipped"):
        wide(wide.queries([[0.2]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.set_params(tolerance=1e-3)
        kernel(kernel.queries([[0.2]]))


def test_rows_mean_the_same_in_every_call():
    kernel = WindowMean(Matern(0.5, nu=1.5), domain=DOMAIN[:2], tolerance=1e-4)
    X = windows(2, n=8)
    K = kernel(X, X.copy())
    for i, j in [(0, 4), (5, 5), (7, 3), (2, 6)]:
        assert_allclose(kernel(X[[i]], X[[j]])[0, 0], K[i, j], rtol=1e-13)


# ---- clipping ----


def clipped_mean(function, center, scale, low, high, window):
    """Mean of function(clip(X, low, high)) by adaptive integration, on one axis."""
    if window == "gaussian":
        law = norm(center, scale)
        start, stop = center - 9 * scale, center + 9 * scale
        left, right, density = law.cdf(low), law.sf(high), law.pdf
    else:
        start, stop = center - scale, center + scale
        left = np.clip((low - start) / (2 * scale), 0, 1)
        right = np.clip((stop - high) / (2 * scale), 0, 1)

        def density(x):
            return 1 / (2 * scale)

    a, b = max(low, start), min(high, stop)
    inner = (
        quad(lambda x: function(x) * density(x), a, b, epsabs=1e-13, limit=200)[0] if b > a else 0.0
    )
    return left * function(low) + inner + right * function(high)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    ("center", "scale"), [(0.1, 0.3), (0.5, 5.0), (1.3, 0.2), (-0.4, 0.1), (0.5, 0.05), (0.0, 0.4)]
)
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_clipped_windows_equal_integration(window, center, scale):
    kernel = WindowMean(RBF(0.4), window=window, domain=[(0, 1)])
    row, x = np.array([[center, scale]]), np.linspace(0, 1, 5)
    want = [
        clipped_mean(lambda u, y=y: np.exp(-((u - y) ** 2) / 0.32), center, scale, 0, 1, window)
        for y in x
    ]
    assert_allclose(kernel(row, kernel.points(x[:, None]))[0], want, atol=1e-9)

    def with_itself(u):
        return clipped_mean(lambda v: np.exp(-((u - v) ** 2) / 0.32), center, scale, 0, 1, window)

    want = clipped_mean(with_itself, center, scale, 0, 1, window)
    assert_allclose(kernel.diag(row), want, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("base", [*PRODUCTS[2][:2], RationalQuadratic(0.9, 1.3)], ids=str)
def test_clipping_by_axes_equals_clipping_by_points(window, base):
    X = windows(2, n=5)
    kernel = WindowMean(base, window=window, domain=DOMAIN[:2])
    want = by_way(kernel, X, X, "tensor") if kernel.evaluator(4).way == "axes" else kernel(X, X)
    assert_allclose(kernel(X, X.copy()), want, atol=1e-9)
    wide = WindowMean(base, window=window, domain=[(-50, 50)] * 2)
    free = WindowMean(base, window=window)
    assert_allclose(wide(X, X.copy()), free(X, X.copy()), atol=1e-9)
    K = kernel(X)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)


def test_clipping_moves_the_mean_of_f():
    kernel = WindowMean(RBF(0.4), 0.5, domain=[(0, 1)])
    rows = kernel.queries([[0.0]])
    half = norm.expect(lambda x: x, loc=0, scale=0.5, lb=0, ub=1) + norm.sf(1, 0, 0.5)
    assert_allclose(kernel.mean_of(rows, lambda X: X[:, 0]), half, atol=1e-9)
    assert_allclose(
        WindowMean(RBF(0.4), 0.5).mean_of(rows, lambda X: X[:, 0] ** 2), 0.25, atol=1e-12
    )


def test_a_gauss_rule_keeps_the_moments():
    rng = np.random.default_rng(0)
    x, p = rng.uniform(-2, 5, 200), rng.dirichlet(np.ones(200))
    nodes, weights = gauss_rule(x, p, 7)
    for k in range(14):
        assert_allclose(weights @ nodes**k, p @ x**k, rtol=1e-11)
    assert (weights > 0).all() and nodes.min() > -2 and nodes.max() < 5
    nodes, weights = gauss_rule(np.array([1.0, 1.0, 1.0, 1.0]), np.full(4, 0.25), 2)
    assert_allclose((nodes, weights), ([1.0], [1.0]))
    # Few atoms are their own rule, however many nodes are allowed.
    atoms, shares = np.array([-1.0, 0.5, 2.0]), np.array([0.2, 0.5, 0.3])
    nodes, weights = gauss_rule(atoms, shares, 9)
    assert_allclose((nodes, weights), (atoms, shares), rtol=1e-12)
    nodes, weights = clipped_rule(0.3, 0.2, 0.0, 1.0, "gaussian", 8)
    assert_allclose(weights.sum(), 1.0)
    assert_allclose(weights[:2], [norm.cdf(-1.5), norm.sf(3.5)])


# ---- what it means ----


@pytest.mark.one_in(3)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("base", [*PRODUCTS[2], *STATIONARY, *OTHERS], ids=str)
def test_windows_without_width_are_points(window, base):
    rng = np.random.default_rng(5)
    P, Q = rng.uniform(size=(6, 2)), rng.uniform(size=(4, 2))
    for domain in (None, DOMAIN[:2]):
        kernel = WindowMean(base, 0.1, window=window, domain=domain)
        X, Y = kernel.points(P), kernel.points(Q)
        assert_allclose(kernel(X), base(P), rtol=1e-12)
        assert_allclose(kernel(X, Y), base(P, Q), rtol=1e-12)
        assert_allclose(kernel.diag(X), base.diag(P), rtol=1e-12)
        assert_allclose(
            kernel(X, eval_gradient=True)[1], base(P, eval_gradient=True)[1], atol=1e-10
        )


@pytest.mark.parametrize("base", [PRODUCTS[2][0], Matern(0.6, nu=1.5)], ids=str)
def test_uniform_windows_are_integrals_over_cells(base):
    X = windows(2)
    boxes = np.hstack((X[:, :2] - X[:, 2:], X[:, :2] + X[:, 2:]))
    kernel = WindowMean(base, window="uniform")
    tolerance = 1e-12 if type(base) is RBF else 1e-5
    assert_allclose(kernel(X, X.copy()), CellIntegral(base, 24)(boxes, boxes), atol=tolerance)


def test_narrow_uniform_windows_do_not_cancel():
    kernel = WindowMean(RBF(1.0), window="uniform")
    for scale in (1e-1, 1e-3, 1e-6, 1e-12):
        # u, the difference of two points, has E u^2 = 2 s^2 / 3 and E u^4 = 16 s^4 / 15
        series = 1 - scale**2 / 3 + 2 * scale**4 / 15
        assert_allclose(kernel.diag([[0.3, scale]]), series, rtol=0, atol=0.1 * scale**6 + 1e-15)


def test_the_variance_of_equal_queries_uses_independent_copies():
    kernel = WindowMean(RBF(1.0), scale=0.5)
    row = kernel.queries([[0.2]])
    assert_allclose(kernel(row, row.copy())[0, 0], 1 / np.sqrt(1.5))
    assert_allclose(kernel.diag(row), 1 / np.sqrt(1.5))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "base", [2.0 * RBF(0.5) + WhiteKernel(0.6), Matern(0.4) + WhiteKernel(0.6)], ids=str
)
@pytest.mark.parametrize("domain", [None, DOMAIN[:2]])
def test_white_noise_stays_only_with_points(base, domain):
    X = windows(2)
    kernel = WindowMean(base, domain=domain, tolerance=1e-3)
    quiet = WindowMean(base.k1, domain=domain, tolerance=1e-3)
    noise = np.where((X[:, 2:] == 0).all(axis=1), 0.6, 0.0)
    assert_allclose(kernel.noise_diag(X), noise, atol=1e-12)
    assert_allclose(kernel(X), quiet(X) + np.diag(noise), atol=1e-6)
    assert_allclose(kernel.diag(X), quiet.diag(X) + noise, atol=1e-6)
    assert_allclose(kernel(X, X), quiet(X, X), atol=1e-6)
    gradient = kernel(X, eval_gradient=True)[1]
    assert_allclose(gradient[..., -1], np.diag(noise), atol=1e-9)


# ---- queries ----


def test_queries_say_where_and_how_wide():
    A = np.array([[0.1, 0.2], [0.5, 0.7]])
    assert_array_equal(WindowMean(scale=0.3).queries(A), np.c_[A, np.full((2, 2), 0.3)])
    assert_array_equal(WindowMean(scale=[0.3, 0.1]).queries(A), np.c_[A, [[0.3, 0.1]] * 2])
    own = WindowMean().queries(A)
    assert_array_equal(own, [[0.1, 0.2], [0.5, 0.7]])
    by = WindowMean(scale=lambda A: A[:, 0] / 2, location=lambda A: np.c_[A, A.sum(axis=1)])
    assert_allclose(by.queries(A), np.c_[A, A.sum(axis=1), [[0.05] * 3, [0.25] * 3]])
    each = WindowMean(scale=lambda A: 2 * A)
    assert_allclose(each.queries(A), np.c_[A, 2 * A])
    mapped = WindowMean(location=lambda A: 10 * A)
    assert_array_equal(mapped.queries(A), [[1.0, 0.2], [5.0, 0.7]])


@pytest.mark.parametrize("base", [RBF(0.3), Matern(0.3)], ids=["closed", "by nodes"])
def test_covariances_in_several_blocks_are_those_of_one(base, monkeypatch):
    kernel = WindowMean(base, 0.1)
    E, F = (kernel.queries(np.linspace(0, 1, n)[:, None]) for n in (7, 3))
    K = kernel(E, F)
    monkeypatch.setattr(window_mean, "BLOCK_SIZE", 2 * len(F))
    assert_allclose(kernel(E, F), K, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("ratio", [0.4, 3.0])
def test_the_error_of_a_rule_is_that_of_three_covariances(ratio, n):
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    y, weights = ratio * nodes, weights / weights.sum()
    far, wider = 2.0 * max(1.0, ratio), 1.0 + ratio**2
    errors = [
        weights @ np.exp(-0.5 * (y[:, None] - y) ** 2) @ weights - (1.0 + 2.0 * ratio**2) ** -0.5,
        *(weights @ np.exp(-0.5 * (y - x) ** 2) - exp(-0.5 * x * x / wider) * wider**-0.5
          for x in (0.0, far)),
    ]  # fmt: skip
    assert_allclose(window_mean.rule_error("gaussian", ratio, n), np.abs(errors).max())


@pytest.mark.parametrize("window", ["gaussian", "uniform"])
def test_gradients_of_points_beside_windows_of_a_mixture_are_those_of_the_base(window):
    kernel = WindowMean(RationalQuadratic(0.3, 0.7), 0.1, window=window, tolerance=1e-4)
    points = np.array([[0.1], [0.4], [0.8]])
    rows = np.vstack([kernel.queries(points[:1]), kernel.points(points)])
    _, gradient = kernel(rows, eval_gradient=True)
    assert_allclose(gradient[1:, 1:], kernel.base(points, eval_gradient=True)[1], rtol=1e-10)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_windows_of_different_numbers_of_nodes_are_joined(order):
    evaluator = WindowMean(RBF(0.3), 0.1, domain=[(0, 1)]).evaluator(2)
    parts = [np.array([[0.5, 0.02], [0.1, 0.02]]), np.array([[0.4, 0.8]])]
    first, second = (evaluator.embed(parts[i]) for i in order)
    assert first.nodes.shape[2] != second.nodes.shape[2]
    joined = evaluator.join(first, second)
    whole = evaluator.embed(np.concatenate([parts[i] for i in order]))
    assert_allclose(evaluator.cross(joined, joined), evaluator.cross(whole, whole), rtol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "A", "message"),
    [
        (WindowMean(scale=-0.1), [[0.1]], "scale must be finite and >= 0; query 0"),
        (WindowMean(scale=np.nan), [[0.1]], "scale must be finite and >= 0"),
        (WindowMean(scale=[0.1, 0.2]), [[0.1]], "scale must be a number, one for each of 1 axes"),
        (WindowMean(), [[0.1]], "last column of A is the scale"),
        (WindowMean(), [[0.1, 0.3], [0.2, -0.3]], "query 1 has"),
        (WindowMean(scale=0.1), [[0.1], [np.nan]], "A must be finite; row 1"),
        (WindowMean(scale=0.1), [0.1], "A must have shape"),
        (WindowMean(scale=0.1), [["x"]], "A must hold real numbers"),
        (WindowMean(scale=0.1, location=lambda A: A[:, 0]), [[0.1]], "location"),
        (WindowMean(scale=0.1, location=lambda A: A / 0), [[1.0]], "location"),
        (WindowMean(scale=0.1, window="box"), [[0.1]], "window must be"),
        (WindowMean(scale=0.1, tolerance=0), [[0.1]], "tolerance must be"),
        (WindowMean(scale=0.1, domain=[(1, 0)]), [[0.1]], "domain must have shape"),
        (WindowMean(scale=0.1, domain=[(0, 1), (0, 1)]), [[0.1]], "domain must have shape"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_wrong_queries_are_named(kernel, A, message):
    with pytest.raises(ValueError, match=message):
        clone(kernel).queries(A)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((2, 3)), "even number of columns"),
        (np.zeros(4), "must hold rows"),
        ([[0.0, 1.0], [0.0, -1.0]], "scales >= 0; row 1"),
        ([[0.0, np.nan]], "must be finite"),
    ],
)
def test_wrong_rows_are_named(bad, message):
    kernel = WindowMean(RBF())
    for call in (kernel, kernel.diag, kernel.noise_diag):
        with pytest.raises(ValueError, match=message) as error:
            call(bad)
        assert str(error.value).startswith("X must")
    with pytest.raises(ValueError, match=message) as error:
        kernel([[0.0, 1.0]], bad)
    assert str(error.value).startswith("Y must")
    with pytest.raises(ValueError, match="number of columns"):
        kernel(np.zeros((1, 2)), np.zeros((1, 4)))
    with pytest.raises(ValueError, match="only with Y=None"):
        kernel([[0.0, 1.0]], [[0.0, 1.0]], eval_gradient=True)


@pytest.mark.parametrize("base", [None, 3.0, "RBF", RBF, CompoundKernel([RBF()])], ids=str)
def test_bases_must_be_kernels(base):
    kernel = WindowMean(base, 0.1)
    for call in (lambda: kernel([[0.0, 1.0]]), lambda: kernel.diag([[0.0, 1.0]])):
        with pytest.raises(TypeError, match="base of WindowMean must be a kernel"):
            call()
    with pytest.raises(TypeError, match="base of WindowMean"):
        _ = kernel.theta


# ---- what Gaussian process regression needs ----


@pytest.mark.parametrize("window", WINDOWS)
def test_exact_gradients_equal_differences_of_the_general_path(window):
    kernel, X = WindowMean(PRODUCTS[2][1], window=window), windows(2)
    exact = kernel(X, eval_gradient=True)[1]
    evaluator = kernel.evaluator(4)
    type(evaluator).gradient, gradient = lambda self, E: None, type(evaluator).gradient
    try:
        general = kernel(X, eval_gradient=True)[1]
    finally:
        type(evaluator).gradient = gradient
    assert_allclose(exact, general, atol=1e-10)


def test_parameters_read_and_write():
    kernel = WindowMean(2.0 * RBF(0.3), (0.1, 0.2))
    params = kernel.get_params()
    assert params["scale"] == (0.1, 0.2) and params["base__k2__length_scale"] == 0.3
    assert set(kernel.get_params(deep=False)) == {
        "base",
        "scale",
        "window",
        "location",
        "domain",
        "tolerance",
    }
    kernel.set_params(base__k2__length_scale=0.7, window="uniform")
    assert kernel.base.k2.length_scale == 0.7
    assert kernel == WindowMean(2.0 * RBF(0.7), [0.1, 0.2], window="uniform")
    assert kernel != WindowMean(2.0 * RBF(0.7), [0.1, 0.3], window="uniform") and kernel != RBF()
    assert repr(WindowMean(RBF(0.2), 0.1)) == (
        "WindowMean(base=RBF(length_scale=0.2), scale=0.1, window='gaussian', location=None,"
        " domain=None, tolerance=1e-10)"
    )
    assert not kernel.is_stationary() and kernel.requires_vector_input
    assert kernel.model_noise() == 0.0


def test_sharp_and_blurred_answers_teach_a_length_scale():
    rng = np.random.default_rng(0)
    kernel = WindowMean(1.0 * RBF(0.5, (0.05, 5.0)), None)
    A = np.column_stack((rng.uniform(size=80), rng.choice([0.02, 0.1], size=80)))
    # the mean of sin(8 x) under N(c, s^2) is sin(8 c) exp(-32 s^2)
    z = np.sin(8 * A[:, 0]) * np.exp(-32 * A[:, 1] ** 2) + 0.01 * rng.normal(size=80)
    gpr = GaussianProcessRegressor(kernel, alpha=1e-4).fit(kernel.queries(A), z)
    x = np.linspace(0.1, 0.9, 50)[:, None]
    mean, std = gpr.predict(kernel.points(x), return_std=True)
    assert abs(mean - np.sin(8 * x[:, 0])).max() < 0.05 and (std < 0.1).all()
    assert gpr.log_marginal_likelihood_value_ > gpr.log_marginal_likelihood(kernel.theta) + 1


def test_the_gradient_keeps_its_rule_where_the_number_of_nodes_changes():
    """Two rules differ by up to the tolerance: divided by a step, that is no derivative."""
    X, scale = np.array([[0.2, 0.2], [0.3, 0.2], [0.9, 0.0]]), np.array([0.2])

    def kernel(log_length):
        return WindowMean(RBF(np.exp(log_length)), domain=[(0.0, 1.0)], tolerance=1e-4)

    low, high = -2.8, -2.7
    n_low, n_high = (kernel(end).evaluator(2).n_nodes(scale) for end in (low, high))
    assert n_low > n_high
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        more = kernel(middle).evaluator(2).n_nodes(scale) == n_low
        low, high = (middle, high) if more else (low, middle)
    up, down = (kernel(low - 1e-4 + step)(X) for step in (1e-5, -1e-5))  # both of more nodes
    gradient = kernel(low)(X, eval_gradient=True)[1][..., 0]
    # Second derivatives are near 1, and 1e-4 away.
    assert_allclose(gradient, (up - down) / 2e-5, rtol=0, atol=5e-4)


@pytest.mark.parametrize("domain", [None, [(2.0**30, 2.0**30 + 1)]])
def test_means_of_a_known_function_are_taken_where_it_is_known(domain):
    far = 2.0**30
    kernel = WindowMean(RBF(0.3), 0.25, window="uniform", domain=domain)
    rows = kernel.queries([[far + 0.5], [far + 0.25]])
    means = kernel.mean_of(rows, lambda X: (X[:, 0] - far) ** 2)
    # Nodes there have 22 binary digits behind the point, and 2 x is at most 1.5.
    assert_allclose(means, [0.25 + 0.25**2 / 3, 0.25**2 + 0.25**2 / 3], atol=1.5 * 2**-22)

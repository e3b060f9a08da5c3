"""Laws of CellAverage and CellIntegral: what they share, and what each of them means."""

import itertools
import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
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

from skgpb.kernels import CellAverage, CellIntegral
from skgpb.kernels import _cell as cell_module
from skgpb.kernels._boxes import boxes_from_points, representatives

BASES = {
    1: [
        RBF(0.4),
        RBF([0.4]),
        1.7 * RBF(0.2, "fixed") + 0.3 * RBF(1.5) + ConstantKernel(0.2),
        (RBF(0.8) + ConstantKernel(0.4, "fixed")) ** 3,
    ],
    2: [
        RBF([0.3, 0.9]),
        2.0 * RBF(0.5) * RBF([1.0, 0.6]) + WhiteKernel(0.1),
        (0.5 * RBF([0.6, 1.2]) + RBF(0.9)) ** 2 + ConstantKernel(0.3, "fixed") * WhiteKernel(0.4),
        ConstantKernel(2.0) * (RBF(0.5) + WhiteKernel(0.3)) * RBF(1.5),
    ],
    3: [RBF([0.5, 0.8, 2.0]) + WhiteKernel(0.2, "fixed"), 0.6 * RBF(0.7)],
    4: [1.2 * RBF([0.5, 0.8, 2.0, 1.0]) + ConstantKernel(0.1)],
}
COUNTS = {1: [1, (10,)], 2: [3, (2, 5)], 3: [2, (2, 1, 3)], 4: [2]}
AVERAGES = [
    pytest.param(CellAverage(base, s), d, id=f"{d}-{base}-{s}")
    for d in BASES
    for base, s in itertools.product(BASES[d], COUNTS[d])
]
# nodes enough for boxes 1.2 wide; in many dimensions fewer, and smooth kernels
INTEGRALS = [
    pytest.param(CellIntegral(base, {1: 40, 2: 16, 3: 10}[d]), d, id=f"{d}-{base}")
    for d in (1, 2)
    for base in BASES[d]
] + [pytest.param(CellIntegral(0.6 * RBF([0.9, 1.1, 2.0]) + WhiteKernel(0.2), 9), 3, id="3")]

GENERIC_BASES = [
    Matern(0.5, nu=1.5),
    0.4 * Matern([0.5, 0.8], nu=2.5) + WhiteKernel(0.1),
    Matern(0.7, nu=0.5) * RBF(0.6),
    RationalQuadratic(0.5, 1.3) + DotProduct(0.5),
    ExpSineSquared(1.1, 0.7) * RationalQuadratic(0.8, 0.4),
    DotProduct(0.4) ** 2,
    RBF(0.5) ** 1.5,
    (Matern(0.5) + WhiteKernel(0.2)) ** 2,
]

RADIAL_BASES = {
    1: [
        Matern(0.4, nu=0.5),
        0.7 * Matern([0.4], nu=1.5) + WhiteKernel(0.1),
        (RationalQuadratic(0.5, 0.8) + ConstantKernel(0.2, "fixed")) * Matern(0.3, nu=2.5),
    ],
    2: [
        Matern([0.3, 0.9], nu=2.5),
        Matern(0.5, nu=0.5) * RBF([1.0, 0.6]) + 0.3 * RationalQuadratic(0.6, 1.4) ** 2,
        ConstantKernel(2.0) * (Matern(0.5, (0.1, 1.0), nu=1.5) + WhiteKernel(0.3)) * RBF(1.5),
        RationalQuadratic(0.7, 1.3, alpha_bounds="fixed") + RBF(0.4),
    ],
    3: [Matern([0.5, 0.8, 2.0], "fixed", nu=1.5) * RationalQuadratic(0.9, 0.5)],
    4: [1.2 * Matern([0.5, 0.8, 2.0, 1.0], nu=2.5) + RationalQuadratic(1.1, 2.0, "fixed")],
}
RADIAL = [
    pytest.param(CellAverage(base, s), d, id=f"{d}-{base}-{s}")
    for d in RADIAL_BASES
    for base, s in itertools.product(RADIAL_BASES[d], COUNTS[d])
]


def cells_and_points(d, n=7, seed=0):
    """Cells of one size, cells of others, a nested pair, a box flat along an axis, and a point."""
    rng = np.random.default_rng(seed)
    lower, width = rng.uniform(-0.5, 1, (n, d)), rng.uniform(0.05, 1.2, (n, d))
    width[:2] = 0.25
    lower[3] = lower[2] + 0.25 * width[2]
    width[3] = 0.5 * width[2]
    width[4, 0] = 0.0
    width[5] = 0.0
    return np.hstack((lower, lower + width))


def numerical_gradient(kernel, X, step=1e-6):
    columns = []
    for shift in step * np.eye(kernel.theta.size):
        up, down = (kernel.clone_with_theta(kernel.theta + s) for s in (shift, -shift))
        columns.append((up(X) - down(X)) / (2 * step))
    return np.moveaxis(np.array(columns), 0, -1) if columns else np.empty((len(X), len(X), 0))


# ---- the fast path is the generic path ----


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("kernel", "d"), AVERAGES + INTEGRALS)
def test_fast_path_equals_generic_path(kernel, d):
    X, Y = cells_and_points(d), cells_and_points(d, n=6, seed=1)
    assert kernel.evaluator(2 * d) is not None
    scale = kernel.diag(X).max()
    K, gradient = kernel(X, eval_gradient=True)
    K_generic, gradient_generic = kernel.generic(X, eval_gradient=True)
    assert gradient.shape == (len(X), len(X), kernel.n_dims)
    assert_allclose(K, K_generic, rtol=0, atol=1e-12 * scale)
    assert_allclose(gradient, gradient_generic, rtol=0, atol=1e-11 * scale)
    assert_allclose(kernel(X), K_generic, rtol=0, atol=1e-12 * scale)
    assert_allclose(kernel.generic(X), K_generic, rtol=0, atol=1e-13 * scale)
    assert_allclose(kernel(X, Y), kernel.generic(X, Y), rtol=0, atol=1e-12 * scale)
    assert_allclose(kernel.diag(X), kernel.generic_diag(X), rtol=0, atol=1e-12 * scale)
    noise = kernel._generic_noise_diag(X)
    assert_allclose(kernel.noise_diag(X), noise, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("base", GENERIC_BASES[::2])
def test_covariances_of_cells_and_points_are_means_over_representatives(base):
    kernel, cells = CellAverage(base, 3), cells_and_points(2)
    points = boxes_from_points(np.random.default_rng(2).random((4, 2)))
    for several, others in ((cells, points), (points, cells), (points, points)):
        sets = [
            [representatives(*np.split(box, 2), 3) for box in each] for each in (several, others)
        ]
        expected = [[base(A, B).mean() for B in sets[1]] for A in sets[0]]
        assert_allclose(kernel.generic(several, others), expected, rtol=0, atol=1e-12)
        assert_allclose(kernel(several, others), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kernel", "d"), AVERAGES + INTEGRALS)
def test_gaussian_cells_are_the_noiseless_covariance(kernel, d):
    X = cells_and_points(d)
    K = kernel.evaluator(2 * d).cells.cross(X, X)
    assert_array_equal(K, kernel(X, X))
    assert_allclose(np.diag(K) + kernel.noise_diag(X), kernel.diag(X), rtol=1e-13)


@pytest.mark.parametrize(("kernel", "d"), RADIAL)
def test_averages_of_functions_of_distances_equal_the_generic_path(kernel, d):
    X, Y = cells_and_points(d), cells_and_points(d, n=6, seed=1)
    scale = kernel.diag(X).max()
    K, gradient = kernel(X, eval_gradient=True)
    K_generic, gradient_generic = kernel.generic(X, eval_gradient=True)
    assert gradient.shape == (len(X), len(X), kernel.n_dims)
    assert_allclose(K, K_generic, rtol=0, atol=1e-12 * scale)
    assert_allclose(gradient, gradient_generic, rtol=0, atol=1e-12 * scale)
    assert_allclose(kernel(X), K_generic, rtol=0, atol=1e-12 * scale)
    assert_allclose(kernel(X, Y), kernel.generic(X, Y), rtol=0, atol=1e-12 * scale)
    assert_allclose(kernel.diag(X), kernel.generic_diag(X), rtol=0, atol=1e-12 * scale)
    noise = kernel._generic_noise_diag(X)
    assert_allclose(kernel.noise_diag(X), noise, rtol=0, atol=1e-12 * scale)
    evaluator = kernel.evaluator(2 * d)
    assert_array_equal(evaluator.cross(X, Y), kernel(X, Y))
    assert_allclose(evaluator.diag(X) + evaluator.noise(X), kernel.diag(X), rtol=1e-13)


@pytest.mark.parametrize("nu", [0.3, 0.8, 3.2])
def test_averages_of_any_matern_kernel_are_means_with_true_derivatives(nu):
    """Derivatives are exact where scikit-learn differentiates numerically, to 1e-6."""
    kernel = CellAverage(0.6 * Matern([0.4, 0.7], nu=nu) + WhiteKernel(0.1), (3, 2))
    X, Y = cells_and_points(2), cells_and_points(2, n=6, seed=1)
    assert_allclose(kernel(X, Y), kernel.generic(X, Y), rtol=0, atol=1e-12)
    K, gradient = kernel(X, eval_gradient=True)
    assert_allclose(K, kernel(X), rtol=1e-15)
    assert_allclose(gradient, numerical_gradient(kernel, X), rtol=0, atol=1e-8)


def test_a_matern_kernel_without_end_of_smoothness_is_an_rbf_kernel():
    X = cells_and_points(2)
    for ours, rbf in (
        (Matern(0.4, nu=np.inf), RBF(0.4)),
        (2.0 * Matern(0.4, nu=np.inf), 2 * RBF(0.4)),
    ):
        K, gradient = CellAverage(ours, 4)(X, eval_gradient=True)
        expected, slopes = CellAverage(rbf, 4)(X, eval_gradient=True)
        assert_allclose(K, expected, rtol=0, atol=1e-14)
        assert_allclose(gradient, slopes, rtol=0, atol=1e-13)


@pytest.mark.parametrize("base", [b for d in RADIAL_BASES for b in RADIAL_BASES[d]], ids=str)
def test_functions_of_distances_are_not_evaluated_in_python(base, monkeypatch):
    d = next(d for d in RADIAL_BASES if base in RADIAL_BASES[d])
    kernel, X = CellAverage(base, 2), cells_and_points(d)

    def refuse(*_args, **_kwargs):
        raise AssertionError("evaluated point by point")

    for kind in (Matern, RationalQuadratic, RBF):
        monkeypatch.setattr(kind, "__call__", refuse)
    evaluator = kernel.evaluator(2 * d)
    for K in (kernel(X), kernel(X, eval_gradient=True)[0], evaluator.cross(X, X)):
        assert np.isfinite(K).all()
    assert np.isfinite(kernel.diag(X)).all() and np.isfinite(kernel.noise_diag(X)).all()


def test_what_has_too_many_points_goes_the_generic_way():
    X = np.array([[0.0, 0.1], [0.0, 1.0], [0.4, 0.4]])
    kernel = CellAverage(Matern(0.5, nu=2.5), 600)
    assert kernel.evaluator(2) is None
    assert_allclose(kernel(X), CellAverage(Matern(0.5, nu=2.5), 512)(X), rtol=1e-5)
    with pytest.raises(AttributeError, match="only supports isotropic"):
        CellAverage(RationalQuadratic([0.5, 0.6]), 3)(cells_and_points(2))


# ---- what it means ----


@pytest.mark.parametrize("base", [*BASES[2], *GENERIC_BASES], ids=str)
def test_average_is_a_double_loop(base):
    kernel, X = CellAverage(base, (3, 2)), cells_and_points(2)
    groups = [representatives(x[:2], x[2:], (3, 2)) for x in X]
    cross = np.array([[base(P, Q).mean() for Q in groups] for P in groups])
    assert_allclose(kernel(X, X), cross, rtol=1e-12, atol=1e-14)
    cross[np.diag_indices(len(X))] = [base(P).mean() for P in groups]
    assert_allclose(kernel(X), cross, rtol=1e-12, atol=1e-14)
    assert_allclose(kernel.diag(X), np.diag(cross), rtol=1e-12)


@pytest.mark.parametrize(
    "base", [RBF([0.3, 0.9]), *GENERIC_BASES[:1], *GENERIC_BASES[3:6]], ids=str
)
def test_integral_is_the_limit_of_averages(base):
    X = cells_and_points(2, n=6)
    K = CellIntegral(base, 12)(X, X)
    errors = [abs(CellAverage(base, s)(X, X) - K).max() for s in (4, 8, 16)]
    # the midpoint rule is of second order
    assert errors[0] > 3.5 * errors[1] > 12 * errors[2] and errors[2] < 3e-3 * K.max()


@pytest.mark.parametrize("width", [0.01, 0.3, 3.3, 20.0])
def test_integral_of_a_kernel_with_a_kink_is_that_of_calculus(width):
    """exp(-|x - y| / l) over an interval with itself, with the next and with its middle."""
    l, w = 0.7, 0.7 * width  # noqa: E741
    boxes = np.array([[0.2, 0.2 + w], [0.2 + w, 0.2 + 2 * w], [0.2 + w / 2, 0.2 + w / 2]])
    own = 2 * (width - 1 + np.exp(-width)) / width**2
    next_to = (-np.expm1(-width) / width) ** 2
    middle = -2 * np.expm1(-width / 2) / width
    kernel = CellIntegral(Matern(l, nu=0.5))
    # 16 nodes for each box are off by 3.4e-3 at 3.3 length scales
    assert_allclose(kernel(boxes)[0], [own, next_to, middle], rtol=0, atol=1e-6)
    assert_allclose(kernel(boxes, boxes)[0], [own, next_to, middle], rtol=0, atol=1e-6)
    assert_allclose(kernel.diag(boxes), [own, own, 1.0], rtol=0, atol=1e-6)
    gradient = kernel(boxes, eval_gradient=True)[1]
    assert_allclose(gradient, numerical_gradient(kernel, boxes), rtol=0, atol=1e-5)


def test_integral_says_what_quadrature_does_not_reach():
    boxes = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match=r"does not reach tolerance=1\.0e-06"):
        CellIntegral(ExpSineSquared(0.3, 1.5))(boxes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CellIntegral(ExpSineSquared(0.3, 1.5), tolerance=0.1)(boxes)


@pytest.mark.parametrize("make", [CellAverage, CellIntegral])
@pytest.mark.parametrize("base", [*BASES[2], *GENERIC_BASES], ids=str)
def test_singletons_reduce_to_the_base(make, base):
    rng = np.random.default_rng(5)
    P, Q = rng.uniform(size=(6, 2)), rng.uniform(size=(4, 2))
    kernel, X, Y = make(base), boxes_from_points(P), boxes_from_points(Q)
    assert_allclose(kernel(X), base(P), rtol=1e-13)
    assert_allclose(kernel(X, Y), base(P, Q), rtol=1e-13)
    assert_allclose(kernel.diag(X), base.diag(P), rtol=1e-13)
    assert_allclose(kernel(X, eval_gradient=True)[1], base(P, eval_gradient=True)[1], atol=1e-13)


@pytest.mark.parametrize("base", [BASES[2][1], GENERIC_BASES[1]], ids=str)
def test_one_representative_is_the_centre(base):
    X = cells_and_points(2)
    centres = 0.5 * (X[:, :2] + X[:, 2:])
    assert_allclose(CellAverage(base, 1)(X), base(centres), rtol=1e-13)


@pytest.mark.parametrize("make", [CellAverage, CellIntegral])
def test_a_cell_is_never_more_uncertain_than_a_point(make):
    X = cells_and_points(2, n=20)
    variances = make(RBF(0.5)).diag(X)
    assert (variances <= 1.0 + 1e-15).all() and (variances[X[:, 0] < X[:, 2]] < 1.0).all()


# ---- white noise ----


@pytest.mark.parametrize("base", [RBF(0.4), Matern(0.4)], ids=str)
def test_white_noise_of_averages_is_divided_by_the_points(base):
    X = cells_and_points(2)
    kernel, quiet = CellAverage(base + WhiteKernel(0.6), (3, 2)), CellAverage(base, (3, 2))
    n_points = np.array([len(representatives(x[:2], x[2:], (3, 2))) for x in X])
    assert sorted(set(n_points)) == [1, 2, 6]
    assert_allclose(kernel.noise_diag(X), 0.6 / n_points, rtol=1e-10)
    assert_allclose(kernel(X), quiet(X) + np.diag(0.6 / n_points), rtol=1e-13)
    assert_allclose(kernel(X, X), quiet(X, X), rtol=1e-13)
    assert_array_equal(quiet.noise_diag(X), np.zeros(len(X)))


@pytest.mark.parametrize("base", [RBF(0.4), Matern(0.4)], ids=str)
def test_white_noise_of_integrals_stays_only_with_points(base):
    X = cells_and_points(2)
    kernel, quiet = CellIntegral(base + WhiteKernel(0.6)), CellIntegral(base)
    noise = np.where((X[:, :2] == X[:, 2:]).all(axis=1), 0.6, 0.0)
    assert noise.sum() == 0.6
    assert_allclose(kernel.noise_diag(X), noise, rtol=1e-13)
    assert_allclose(kernel(X), quiet(X) + np.diag(noise), rtol=1e-13)
    assert_allclose(kernel.diag(X), quiet.diag(X) + noise, rtol=1e-13)
    gradient = kernel(X, eval_gradient=True)[1]
    assert_allclose(gradient[..., 1], np.diag(noise), atol=1e-15)


# ---- what Gaussian process regression needs ----


@pytest.mark.parametrize(
    ("make", "name"), [(CellAverage, "n_representatives"), (CellIntegral, "n_nodes")]
)
def test_parameters_read_and_write(make, name):
    kernel = make(2.0 * RBF(0.3), 4)
    params = kernel.get_params()
    assert params[name] == 4 and params["base"] is kernel.base
    assert params["base__k2__length_scale"] == 0.3
    others = {"tolerance"} if make is CellIntegral else set()
    assert set(kernel.get_params(deep=False)) == {"base", name} | others
    kernel.set_params(base__k2__length_scale=0.7, **{name: (2, 3)})
    assert kernel.base.k2.length_scale == 0.7
    assert_array_equal(kernel.diag(cells_and_points(2)).shape, 7)
    with pytest.raises(ValueError, match="Invalid parameter"):
        kernel.set_params(length_scale=1.0)
    kernel.set_params(base=RBF(0.2))
    assert kernel == make(RBF(0.2), [2, 3]) and kernel == make(RBF(0.2), np.array([2, 3]))
    assert kernel != make(RBF(0.2), (3, 2)) and kernel != make(RBF(0.2), 2)
    assert kernel != make(RBF(0.3), (2, 3)) and kernel != RBF(0.2)
    assert repr(kernel).startswith(f"{make.__name__}(base=RBF(length_scale=0.2), {name}=(2, 3)")
    assert not kernel.is_stationary() and kernel.requires_vector_input


def test_the_two_kinds_differ():
    assert CellAverage(RBF(), 16) != CellIntegral(RBF(), 16)


@pytest.mark.parametrize("make", [CellAverage, CellIntegral])
def test_composition(make):
    X = cells_and_points(2)
    a, b = make(RBF(0.3)), make(Matern(0.6), 3)
    K, gradient = (0.5 * a + b**2 + WhiteKernel(0.1))(X, eval_gradient=True)
    assert_allclose(K, 0.5 * a(X) + b(X) ** 2 + 0.1 * np.eye(len(X)), rtol=1e-13)
    composed = 0.5 * a + b**2 + WhiteKernel(0.1)
    assert gradient.shape == (7, 7, 4)
    assert_allclose(gradient, numerical_gradient(composed, X), rtol=1e-6, atol=1e-8)
    assert clone(composed) == composed


@pytest.mark.parametrize(
    "kernel",
    [
        CellAverage(1.0 * RBF(0.5), 10),
        CellIntegral(1.0 * RBF(0.5)),
        CellAverage(1.0 * Matern(0.5, nu=2.5), 5),
    ],
    ids=repr,
)
def test_regression_on_aggregated_data_learns(kernel):
    rng = np.random.default_rng(0)
    lower = rng.uniform(0, 0.85, size=(60, 1))
    X = np.hstack((lower, lower + rng.uniform(0.02, 0.15, size=(60, 1))))
    # mean of sin(8 x) over the interval, exactly
    y = (np.cos(8 * X[:, 0]) - np.cos(8 * X[:, 1])) / (8 * (X[:, 1] - X[:, 0]))
    y += 1e-2 * rng.normal(size=60)
    gpr = GaussianProcessRegressor(kernel=kernel, alpha=1e-4).fit(X, y)
    assert gpr.kernel_ != kernel
    assert gpr.log_marginal_likelihood_value_ > gpr.log_marginal_likelihood(kernel.theta) + 1.0
    P = np.linspace(0.1, 0.9, 50)[:, None]
    mean, std = gpr.predict(boxes_from_points(P), return_std=True)
    assert abs(mean - np.sin(8 * P[:, 0])).max() < 0.05
    assert (std < 0.1).all() and (std > 0).all()
    _, covariance = gpr.predict(X[:5], return_cov=True)
    assert_allclose(np.diag(covariance), gpr.predict(X[:5], return_std=True)[1] ** 2, rtol=1e-6)
    value, slope = gpr.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    for j, shift in enumerate(1e-5 * np.eye(kernel.n_dims)):
        up, down = (gpr.log_marginal_likelihood(kernel.theta + s) for s in (shift, -shift))
        assert_allclose(slope[j], (up - down) / 2e-5, rtol=1e-5)
    assert np.isfinite(value)


# ---- the generic path in pieces ----


@pytest.mark.one_in(9)
@pytest.mark.parametrize("make", [CellAverage, CellIntegral])
@pytest.mark.parametrize("base", [GENERIC_BASES[1], BASES[2][1]], ids=str)
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 300, 6000])
def test_block_size_changes_nothing(make, base, size, monkeypatch):
    kernel, X, Y = make(base, (5, 3)), cells_and_points(2), cells_and_points(2, n=9, seed=3)
    K, gradient = kernel.generic(X, eval_gradient=True)
    cross, variances = kernel.generic(X, Y), kernel.generic_diag(X)
    monkeypatch.setattr(cell_module, "BLOCK_SIZE", size)
    monkeypatch.setattr(cell_module, "DIAGONAL_POINTS", 4)
    K_, gradient_ = kernel.generic(X, eval_gradient=True)
    assert_allclose(K_, K, rtol=1e-12, atol=1e-15)
    assert_allclose(gradient_, gradient, rtol=1e-12, atol=1e-14)
    assert_allclose(kernel.generic(X, Y), cross, rtol=1e-12, atol=1e-15)
    assert_allclose(kernel.generic_diag(X), variances, rtol=1e-12)
    assert_allclose(np.diag(K), variances, rtol=1e-12)


def test_generic_path_needs_bounded_memory():
    # 300 cells of 64 points: the Gram matrix of the points alone would take 2.9 GB
    rng = np.random.default_rng(0)
    lower = rng.uniform(size=(300, 2))
    kernel, X = CellAverage(RationalQuadratic(0.5, 1.0), 8), np.hstack((lower, lower + 0.1))
    tracemalloc.start()
    try:
        kernel.generic(X[:40], X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6


def test_hopeless_requests_name_the_way_out():
    X = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
    for kernel in (CellAverage(Matern(), 30), CellIntegral(Matern(), 30)):
        for call in (kernel, kernel.diag, lambda X, k=kernel: k(X, X)):
            with pytest.raises(ValueError, match=r"fewer.*RBF.*'center' or 'integral'"):
                call(X)
    # the same with a kernel that factorises
    assert_allclose(
        CellAverage(RBF(), 30)(X)[0, 0], CellAverage(RBF(), 30)(X[:, ::3])[0, 0] ** 3, rtol=1e-13
    )


# ---- errors ----


BAD_BOXES = [
    (np.zeros((2, 3)), "even number of columns"),
    (np.zeros((2, 0)), "even number of columns"),
    (np.zeros(4), "even number of columns"),
    ([[0.0, 1.0], [1.0, 0.5]], "row 1 has lower=.1.0. and upper=.0.5."),
    ([[0.0, np.nan]], "finite"),
    ([[0.0, np.inf]], "finite"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_BOXES)
@pytest.mark.parametrize("kernel", [CellAverage(RBF()), CellIntegral(Matern())], ids=repr)
def test_wrong_boxes_are_named(kernel, bad, message):
    good = np.array([[0.0, 1.0]])
    for call in (kernel, kernel.diag, kernel.noise_diag):
        with pytest.raises(ValueError, match=message) as error:
            call(bad)
        assert str(error.value).startswith("X must hold")
    with pytest.raises(ValueError, match=message) as error:
        kernel(good, bad)
    assert str(error.value).startswith("Y must hold")


WRONG_COUNTS = [0, -3, 1.5, True, "5", (1, 2, 3), [2], (2, 0), 10**9]


@pytest.mark.parametrize(
    ("make", "name", "counts"),
    [
        (CellAverage, "n_representatives", None),  # for n_nodes it is the default
        *((CellAverage, "n_representatives", counts) for counts in WRONG_COUNTS),
        *((CellIntegral, "n_nodes", counts) for counts in WRONG_COUNTS),
    ],
)
def test_wrong_counts_are_named(make, name, counts):
    for base in (RBF(), Matern()):
        kernel = clone(make(base, counts))  # building and cloning never fail
        for call in (kernel, kernel.diag, kernel.noise_diag):
            with pytest.raises(ValueError, match=f"{name} must be an integer"):
                call(np.array([[0.0, 0.0, 1.0, 1.0]]))
        with pytest.raises(ValueError, match=f"{name} must be an integer"):
            kernel.evaluator(4)


@pytest.mark.parametrize("base", [None, 3.0, "RBF", RBF, CompoundKernel([RBF()])], ids=str)
@pytest.mark.parametrize("make", [CellAverage, CellIntegral])
def test_bases_must_be_kernels(make, base):
    kernel = make(base)
    X = np.array([[0.0, 1.0]])
    for call in (lambda: kernel(X), lambda: kernel.diag(X), lambda: kernel.theta):
        with pytest.raises(TypeError, match=f"base of {make.__name__} must be a kernel"):
            call()
    with pytest.raises(TypeError, match="must be a kernel"):
        kernel.evaluator(2)


def test_gradients_are_for_one_set_of_boxes():
    X = np.array([[0.0, 1.0]])
    for base in (RBF(), Matern()):
        with pytest.raises(ValueError, match="only with Y=None"):
            CellAverage(base)(X, X, eval_gradient=True)
        with pytest.raises(ValueError, match="same number of columns"):
            CellAverage(base)(X, np.zeros((1, 4)))
    with pytest.raises(ValueError, match="length_scale"):
        CellAverage(RBF([0.1, 0.2]))(X)


@pytest.mark.parametrize("base", [RBF(), Matern()], ids=str)
@pytest.mark.parametrize("make", [CellAverage, CellIntegral])
def test_no_boxes(make, base):
    empty, X = np.empty((0, 4)), cells_and_points(2)
    kernel = make(base, 3)
    assert kernel(empty).shape == (0, 0)
    assert kernel(empty, X).shape == (0, 7) and kernel(X, empty).shape == (7, 0)
    assert kernel.diag(empty).shape == kernel.noise_diag(empty).shape == (0,)
    assert kernel(empty, eval_gradient=True)[1].shape == (0, 0, 1)


@pytest.mark.parametrize("make", [CellAverage, CellIntegral])
def test_input_is_read_only_and_any_layout(make):
    X = cells_and_points(2)
    X.setflags(write=False)
    kernel = make(RBF(0.4), 3)
    K = kernel(X)
    assert_array_equal(kernel(np.asfortranarray(X)), K)
    assert_array_equal(kernel(X.tolist()), K)
    assert_array_equal(kernel(np.repeat(X, 2, axis=0)[::2]), K)
    assert_allclose(kernel(X.astype(np.float32)), K, rtol=1e-5)


@pytest.mark.parametrize("make", [lambda base: CellAverage(base, 10), CellIntegral])
def test_averages_of_gaussians_do_not_depend_on_where_boxes_lie(make):
    # Ternary cells, whose widths are not equal to the last digit, and least of all far from zero.
    lower = np.concatenate([np.arange(n) / n for n in (1, 3, 9, 27)])
    upper = np.concatenate([(np.arange(n) + 1) / n for n in (1, 3, 9, 27)])
    far = 2.0**40
    boxes = far + np.column_stack([lower, upper])
    kernel = make(ConstantKernel(1.0) * RBF(0.2))
    K, gradient = kernel(boxes, eval_gradient=True)
    near, near_gradient = kernel(boxes - far, eval_gradient=True)
    assert_allclose(K, near, rtol=0, atol=1e-12)
    assert_allclose(gradient, near_gradient, rtol=0, atol=1e-12)
    assert_allclose(kernel(boxes, boxes), near, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_points_have_the_same_covariances_with_boxes_as_among_them():
    corners = np.random.default_rng(4).random((6, 2))
    rows = np.hstack([corners, corners + 0.3 * np.array([[0], [1], [1], [0], [1], [0]])])
    points = rows[[0, 3, 5]]
    for kernel in (CellAverage(Matern(0.4, nu=1.5), 3), CellIntegral(Matern(0.4, nu=1.5), 6)):
        K = kernel.generic(rows)
        assert_allclose(kernel.generic(rows, points), K[:, [0, 3, 5]], rtol=1e-12)
        assert_allclose(kernel.generic(points, rows), K[[0, 3, 5]], rtol=1e-12)

"""The laws of a covariance, for every kernel of skgpb.kernels over every kind of base."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

import skgpb.kernels
from skgpb.kernels import (
    AdditiveMatern,
    CellAverage,
    CellIntegral,
    Columns,
    ConditionalMean,
    LowRank,
    PolicyMean,
    Tasks,
    WeightedSum,
    WindowMean,
    WrapperKernel,
)
from skgpb.kernels.evaluator import Functionals, evaluator_of

RNG = np.random.default_rng(0)
WHITE = WhiteKernel(0.1)
FIXED = ConstantKernel(0.3, "fixed")
#: Bases that multiply out to Gaussians, for which there are closed forms, and others.
PRODUCTS = [
    RBF([0.3, 0.9]),
    2.0 * RBF(0.5) * RBF([1.0, 0.6]) + WHITE,
    (0.5 * RBF([0.6, 1.2]) + RBF(0.9)) ** 2 + FIXED * WhiteKernel(0.4),
    ConstantKernel(2.0) * (RBF(0.5) + WhiteKernel(0.3)) * RBF(1.5),
]
OTHERS = [
    Matern(0.5, nu=1.5),
    0.4 * Matern([0.5, 0.8], nu=2.5) + WHITE,
    Matern(0.7, nu=0.5) * RBF(0.6),
    RationalQuadratic(0.5, 1.3) + DotProduct(0.5),
    DotProduct(0.4) ** 2,
    RBF(0.5) ** 1.5,
    (Matern(0.5) + WhiteKernel(0.2)) ** 2,
]
LINE = ExpSineSquared(1.1, 0.7) * RationalQuadratic(0.8, 0.4)  # a covariance on the line only
FEW = [1.3 * RBF([0.4, 0.9]), Matern(0.5, nu=1.5) + FIXED, DotProduct(0.3) ** 2, RBF(0.3) + WHITE]


@dataclass
class Case:
    """A kernel, rows of its descriptors, and how far rounding or its own quadrature may reach."""

    kernel: Kernel
    rows: np.ndarray
    psd: float = 1e-13  # as a share of the trace
    rtol: float = 1e-12
    gradient: float | None = 1e-6
    step: float = 1e-6


def boxes(d, n=12):
    """Boxes of one size, boxes of others, a nested pair, a box flat along an axis, and a point."""
    rng = np.random.default_rng(0)
    lower, width = rng.uniform(-0.5, 1, (n, d)), rng.uniform(0.05, 1.2, (n, d))
    width[:2] = 0.25
    lower[3] = lower[2] + 0.25 * width[2]
    width[3] = 0.5 * width[2]
    width[4, 0] = 0.0
    width[5] = 0.0
    return np.hstack((lower, lower + width))


def windows(n=7):
    """Windows of several widths, one narrow, one flat along an axis, and a point."""
    rng = np.random.default_rng(0)
    center, scale = rng.uniform(0, 1, (n, 2)), rng.choice([0.05, 0.125, 0.25], (n, 2))
    scale[1] = 1e-9
    scale[2, 0] = 0.0
    scale[3] = 0.0
    return np.hstack((center, scale))


CASES = [
    Case(make(base, 3), boxes(1 if base is LINE else 2))
    for make in (CellAverage, CellIntegral)
    for base in (*PRODUCTS, *OTHERS, LINE)
]
CASES += [
    Case(WindowMean(base, window=window, domain=domain, tolerance=1e-5), windows(), 1e-5, 1e-11)
    for window in ("gaussian", "uniform")
    for domain in (None, [(0.0, 1.0), (-0.2, 1.5)])
    for base in (
        PRODUCTS[0],
        (0.5 * RBF([0.6, 1.2]) + RBF(0.9)) ** 2,
        2.0 * RBF(0.5) + WHITE,
        RBF(0.8) * DotProduct(0.5),
        *([] if domain is None else [RationalQuadratic(0.5, 1.3)]),
    )
]
# Mixtures of Gaussians need no coarse tolerance. It would also spoil differences by alpha, which
# moves the nodes of the mixture.
CASES += [
    Case(WindowMean(base, window=window), windows(), rtol=1e-11)
    for window in ("gaussian", "uniform")
    for base in (RationalQuadratic(0.5, 1.3), 0.4 * Matern(0.5, nu=1.5) + FIXED)
]
for case in CASES[-22:]:
    case.gradient = 1e-5

QUERIES = RNG.uniform(size=(60, 2))
PAIRED = np.column_stack((QUERIES[:, 0], 1 - QUERIES[:, 1])) + 0.1 * RNG.normal(size=(60, 2))
for base in FEW:
    for n_landmarks in (None, 20):
        kernel = ConditionalMean(
            base,
            PAIRED,
            QUERIES,
            query_kernel=RBF([0.3, 0.5], "fixed"),
            regularization=1e-3,
            n_landmarks=n_landmarks,
        )
        rows = np.vstack((kernel.queries(QUERIES[:4] + 0.01), kernel.points(PAIRED[:3] + 0.01)))
        CASES.append(Case(kernel, rows, psd=1e-9, rtol=1e-10, gradient=1e-4, step=1e-5))

POLICIES, ARMS = RNG.dirichlet(np.ones(5), size=7), RNG.uniform(size=(5, 2))
for base in FEW:
    kernel = PolicyMean(base, POLICIES, ARMS)
    rows = np.vstack((kernel.queries([[0], [3], [3], [6]]), kernel.points(ARMS[[2, 0]])))
    CASES.append(Case(kernel, rows, gradient=1e-5))

POOL = RNG.random((80, 2))
CASES += [
    Case(AdditiveMatern(scale, main_effects=effects, nu=nu, **fixed), RNG.random((7, 3)))
    for scale, effects, nu, fixed in (
        ([0.3, 0.6, 0.9], 0.7, 2.5, {}),
        (0.4, 2.0, 1.5, {}),
        ([0.5, 0.7, 0.6], 0.5, 2.5, {"main_effects_bounds": "fixed"}),
        ([0.5, 0.7, 0.6], 0.5, 0.5, {"length_scale_bounds": "fixed"}),
        ([0.5, 0.7], 0.5, 2.5, {"groups": [0, 0, 1]}),
        (0.6, 0.5, 1.5, {"groups": [0, 1, 1]}),
    )
]
CASES += [
    Case(Columns(RBF(0.7), [1]), RNG.normal(size=(8, 3))),
    Case(Columns(2.0 * Matern([0.5, 0.9], nu=1.5), (2, 0)), RNG.normal(size=(8, 3))),
    Case(
        Columns(RBF(0.7), [0]) * Columns(Matern(1.2), [1, 2]) + Columns(WhiteKernel(0.3), [0]),
        RNG.normal(size=(8, 3)),
    ),
    # All landmarks are chosen for any theta; otherwise they change near theta.
    Case(LowRank(1.5 * Matern(0.4, nu=2.5), POOL[:8], 1e-12), POOL[:8], gradient=1e-5),
    Case(CellAverage(LowRank(RBF(0.5), POOL, 1e-4), 3), boxes(2), psd=1e-12, gradient=None),
]


def with_tasks(rows, n_tasks):
    return np.column_stack([rows, np.random.default_rng(1).integers(0, n_tasks, len(rows))])


#: Kernels with hyperparameters in addition to those of the base.
OWN = (Tasks,)
CASES += [
    Case(Tasks(base, rank, n_tasks=3), with_tasks(POOL[:10], 3), gradient=1e-5)
    for base, rank in ((FEW[0], 1), (FEW[1], 2), (FEW[3], 0))
]
CASES += [
    Case(Tasks(CellAverage(base, 3), kappa_bounds="fixed"), with_tasks(boxes(2), 2))
    for base in (FEW[0], FEW[3], LowRank(RBF(0.5, "fixed"), POOL, 1e-4))
]
CASES += [
    Case(CellAverage(Tasks(FEW[0]), (3, 2, 1)), np.insert(boxes(2), [2, 4], 1.0, axis=1)),
    Case(Tasks(WindowMean(RBF([0.3, 0.5]))), with_tasks(windows(), 2), gradient=1e-5),
]

SETS = RNG.integers(0, 4, 60)
SIGNS = RNG.normal(size=60)
for base in FEW:
    for weights in (None, SIGNS):
        kernel = WeightedSum(base, QUERIES, SETS, weights)
        rows = np.vstack((kernel.queries([0, 3, 1, 3]), kernel.points(QUERIES[[5, 5, 9]])))
        CASES.append(Case(kernel, rows, psd=1e-12, rtol=1e-11, gradient=1e-5))
    kernel = WeightedSum(base, QUERIES[:, :1], SETS, SIGNS, n_context=1)
    rows = (kernel.queries([0, 3, 1], [[0.2]]), kernel.queries([3, 1], [[0.4], [0.5]]))
    rows = np.vstack((*rows, kernel.points(QUERIES[[5, 5, 9]])))
    CASES.append(Case(kernel, rows, psd=1e-12, rtol=1e-11, gradient=1e-5))


@pytest.fixture(params=CASES, ids=lambda case: repr(case.kernel)[:90])
def case(request):
    return copy.deepcopy(request.param)


def test_every_kernel_is_in_this_suite():
    public = (getattr(skgpb.kernels, name) for name in skgpb.kernels.__all__)
    kinds = {each for each in public if inspect.isclass(each) and issubclass(each, Kernel)}
    kinds -= {WrapperKernel}  # a base class
    assert kinds <= {type(case.kernel) for case in CASES}


@pytest.mark.one_in(3)
def test_gram_matrix_is_symmetric_and_positive_semidefinite(case):
    kernel, X = case.kernel, case.rows
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -case.psd * np.trace(K)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=case.rtol)
    order = np.random.default_rng(0).permutation(len(X))
    assert_allclose(kernel(X[order]), K[np.ix_(order, order)], rtol=case.rtol, atol=1e-14)
    cross = kernel(X[:3], X[3:])
    assert_allclose(cross, K[:3, 3:], rtol=case.rtol, atol=1e-14)
    assert_allclose(kernel(X[3:], X[:3]), cross.T, rtol=case.rtol, atol=1e-14)


@pytest.mark.one_in(3)
def test_gradient_is_the_finite_difference(case):
    kernel, X = case.kernel, case.rows
    K, gradient = kernel(X, eval_gradient=True)
    assert_allclose(K, kernel(X), rtol=1e-13, atol=1e-15)
    assert_allclose(gradient, gradient.swapaxes(0, 1), rtol=0, atol=1e-12)
    assert gradient.shape == (len(X), len(X), len(kernel.theta))
    if case.gradient is None:
        pytest.skip("landmarks change near theta; see test_low_rank.py")
    for j, shift in enumerate(case.step * np.eye(len(kernel.theta))):
        up, down = (kernel.clone_with_theta(kernel.theta + s)(X) for s in (shift, -shift))
        expected = (up - down) / (2 * case.step)
        assert_allclose(gradient[..., j], expected, rtol=case.gradient, atol=1e-8)


@pytest.mark.one_in(3)
def test_hyperparameters_are_those_of_the_base_and_go_round(case):
    kernel = case.kernel
    base = getattr(kernel, "base", None)
    if base is not None:
        own = kernel.n_dims - base.n_dims
        assert own == 0 or isinstance(kernel, OWN)
        assert_array_equal(kernel.theta[own:], base.theta)
        assert_array_equal(kernel.bounds[own:], base.bounds.reshape(-1, 2))
        names = [f"base__{each.name}" for each in base.hyperparameters]
        assert [each.name for each in kernel.hyperparameters if "base__" in each.name] == names
    assert kernel.bounds.shape == (kernel.n_dims, 2)
    theta = kernel.theta + 0.1
    other = kernel.clone_with_theta(theta)
    assert_allclose(other.theta, theta)
    assert other != kernel
    assert_allclose(kernel.theta, theta - 0.1)  # the original is as it was
    assert_allclose(other.clone_with_theta(kernel.theta)(case.rows), kernel(case.rows), rtol=1e-11)


@pytest.mark.one_in(5)
def test_copies_are_equal_and_compute_the_same(case):
    kernel, X = case.kernel, case.rows
    expected = kernel(X)
    for twin in (clone(kernel), pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert twin == kernel and twin is not kernel
        assert repr(twin) == repr(kernel)
        assert getattr(twin, "base", twin) is not getattr(kernel, "base", None)
        assert_array_equal(twin(X), expected)
    assert kernel != RBF()


@pytest.mark.one_in(3)
def test_white_noise_is_on_the_diagonal_only_and_not_between_copies(case):
    kernel, X = case.kernel, case.rows
    between, noise = kernel(X, X.copy()), np.zeros(len(X))
    white = kernel(X) - between
    if hasattr(kernel, "noise_diag"):
        noise = kernel.noise_diag(X)
    elif "WhiteKernel" in repr(kernel):
        noise = np.full(len(X), 0.3)  # the white noise of the sum of columns
    assert (noise >= 0.0).all()
    assert (noise > 0.0).any() == ("WhiteKernel" in repr(kernel))
    assert_allclose(white, np.diag(noise), rtol=case.rtol, atol=1e-13)


@pytest.mark.one_in(3)
def test_its_evaluator_agrees_with_it(case):
    kernel, X = case.kernel, case.rows
    evaluator, expected = evaluator_of(kernel, X.shape[1]), kernel(X, X.copy())
    tolerance = {"rtol": case.rtol, "atol": 1e-13}
    E = evaluator.embed(X)
    assert_allclose(evaluator.cross(E, E), expected, **tolerance)
    assert_allclose(evaluator.diag(E), np.diag(expected), **tolerance)
    assert_allclose(evaluator.diag(E) + evaluator.noise(E), kernel.diag(X), **tolerance)
    joined = evaluator.join(evaluator.embed(X[:2]), evaluator.embed(X[2:]))
    assert_allclose(evaluator.cross(joined, E), expected, **tolerance)


@pytest.mark.one_in(3)
def test_its_evaluator_averages_blocks_of_rows(case):
    kernel, X = case.kernel, case.rows
    offsets = np.array([0, 1, 4, len(X)])
    evaluator, K = evaluator_of(kernel, X.shape[1]), kernel(X, X.copy())
    blocks = Functionals.of(np.split(X, offsets[1:-1]), X.shape[1])
    weights = np.repeat(np.eye(3) / np.diff(offsets)[:, None], np.diff(offsets), axis=1)
    tolerance = {"rtol": case.rtol, "atol": 1e-13}
    assert_allclose(blocks.covariance(blocks, evaluator), weights @ K @ weights.T, **tolerance)
    assert_allclose(blocks.variance(evaluator), np.diag(weights @ K @ weights.T), **tolerance)
    white = weights @ (kernel(X) - K) @ weights.T
    assert_allclose(blocks.white_noise(evaluator), np.diag(white), **tolerance)


def test_what_is_appended_keeps_its_levels_of_a_random_effect():
    parts = [Functionals.of([np.full((1, 1), i)], 1, stratum=i) for i in (2, 0, 1)]
    ours = Functionals(1)
    for part in parts:
        ours.extend(part)
    ours.extend(ours.copy())
    assert ours.strata.tolist() == [2, 0, 1, 2, 0, 1]
    assert ours.rows[:, 0].tolist() == [2.0, 0.0, 1.0, 2.0, 0.0, 1.0]


#: At this number coordinates have 22 binary digits behind the point, as have those below.
FAR = 2.0**30


def _grid(n, d, seed):
    return np.random.default_rng(seed).integers(0, 2**20, (n, d)) / 2**20


class OneColumn(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        return super().__call__(X, Y)[:, :1]


def test_covariances_of_a_wrong_shape_are_refused():
    evaluator, X = evaluator_of(OneColumn(0.3), 1), np.zeros((3, 1))
    with pytest.raises(ValueError, match=r"must have the shape \(3, 3\), one number for each pair"):
        evaluator.cross(X, X)


MOVED = {
    "gaussian windows": lambda base, o: WindowMean(base, 0.1),
    "uniform windows": lambda base, o: WindowMean(base, 0.1, window="uniform"),
    "clipped windows": lambda base, o: WindowMean(base, 0.1, domain=[(o, o + 1)], tolerance=1e-3),
    "pairs": lambda base, o: ConditionalMean(base, X=o + _grid(30, 1, 0), A=o + _grid(30, 1, 1)),
    "landmarks": lambda base, o: ConditionalMean(
        base, o + _grid(30, 1, 0), o + _grid(30, 1, 1), n_landmarks=8
    ),
    "policies": lambda base, o: PolicyMean(base, np.full((9, 30), 1 / 30), o + _grid(30, 1, 0)),
    "weighted sums": lambda base, o: WeightedSum(
        base, o + _grid(36, 1, 0), np.repeat(np.arange(9), 4)
    ),
    "low rank": lambda base, o: LowRank(base, o + _grid(30, 1, 0)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("base", [RBF(0.3), Matern(0.3, nu=1.5) + RBF(0.7)], ids=str)
@pytest.mark.parametrize("name", MOVED)
def test_covariances_of_what_lies_far_from_zero_are_those_near_it(name, base):
    """All numbers are exact in both places; divided by a length scale they are not."""

    def covariances(origin):
        kernel, X = MOVED[name](base, origin), origin + _grid(30, 1, 0)[:9]
        if name == "low rank":
            return kernel(X), kernel.diag(X), kernel(X, eval_gradient=True)[1]
        asked = (
            np.arange(9.0)[:, None]
            if name in ("policies", "weighted sums")
            else origin + _grid(9, 1, 2)
        )
        rows = np.vstack([kernel.points(X), kernel.queries(asked)])
        return kernel(rows), kernel.diag(rows), kernel(rows, eval_gradient=True)[1]

    for near, far in zip(covariances(0.0), covariances(FAR), strict=True):
        assert_allclose(near, far, rtol=0, atol=1e-9)

"""V_h of Claim 2, g of equation 3.3, and h_max of equation 3.4."""

from __future__ import annotations

import numpy as np
import pytest
from reference.gp_tree import depth_limit, theory_variation
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    WhiteKernel,
)

from skgpb.domains.partition import sample_cells
from skgpb.kernels import CellAverage, Columns
from skgpb.optimizers import (
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPZoomingOptimizer,
)
from skgpb.optimizers._trees import (
    PriorOfPoints,
    answer_deviations,
    cell_deviations,
    claim_2,
    h_max,
    largest_within,
    smoothness_exponent,
)

BOUNDS = {1: [(-0.5, 1.0)], 2: [(0.0, 1.0), (-1.0, 2.0)], 3: [(0, 1), (2.0, 2.5), (-1, 1)]}


def variation_bound(kernel, bounds, *, n_children=2, max_depth=10, failure_probability=0.1):
    """V_h for h = 0..max_depth + 1, from the deviations within cells of a kernel over points."""
    bounds = np.asarray(bounds, dtype=np.float64)
    stationary = kernel.is_stationary()

    def cells(depth):
        return sample_cells(bounds, n_children, depth, not stationary)

    g = cell_deviations(kernel, cells, max_depth + 2)
    return claim_2(g, n_children, len(bounds), failure_probability)


@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kernel", [0.1 * RBF(0.05), RBF(0.7), 2.0 * Matern(0.3, nu=0.5)])
def test_bound_is_claim_2(kernel, d, n_children):
    V = variation_bound(
        kernel, BOUNDS[d], n_children=n_children, max_depth=9, failure_probability=0.05
    )
    expected = theory_variation(kernel, BOUNDS[d], n_children, 11, 0.05)
    np.testing.assert_allclose(V, expected, rtol=1e-9)
    assert (np.diff(V) <= 0).all()


def test_white_noise_does_not_count_as_variation():
    noisy, clean = RBF(0.3) + WhiteKernel(0.5), RBF(0.3)
    np.testing.assert_array_equal(
        variation_bound(noisy, BOUNDS[2]), variation_bound(clean, BOUNDS[2])
    )


def test_a_constant_process_does_not_vary():
    np.testing.assert_array_equal(variation_bound(ConstantKernel(3.0), BOUNDS[1]), np.zeros(12))
    assert smoothness_exponent(ConstantKernel(3.0), np.array(BOUNDS[1])) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel",
    [RBF([0.3, 0.9]), Matern(0.5, nu=1.5), DotProduct(0.5), ExpSineSquared(0.7, 0.9)],
)
def test_deviations_bound_those_of_points_of_the_cell(kernel):
    """Cells in the middle and at the corners, against points on a fine grid inside them."""
    bounds = np.array(BOUNDS[2])
    g = cell_deviations(kernel, lambda h: sample_cells(bounds, 2, h, everywhere=True), 7)
    side = bounds[:, 1] - bounds[:, 0]
    for h in range(7):
        half = 0.5 * side * 0.5 ** np.array([(h + 1) // 2, h // 2])
        unit = np.linspace(-1, 1, 41)
        offsets = np.array(np.meshgrid(unit, unit)).reshape(2, -1).T * half
        for center in (bounds.mean(axis=1), bounds[:, 0] + half, bounds[:, 1] - half):
            X = np.vstack([center, center + offsets])
            K = kernel(X, X.copy())
            d = np.sqrt(np.maximum(K[0, 0] + np.diag(K) - 2 * K[0], 0.0))
            # A periodic process has its maximum inside large cells: met to a percent.
            assert g[h] >= d.max() * (0.99 if isinstance(kernel, ExpSineSquared) else 1 - 1e-12)


def test_draws_vary_less_than_the_bound_with_the_stated_probability():
    """Coverage over 400 draws, every cell of every depth: far above 90 % for C2 = C3 = 1."""
    rng = np.random.default_rng(0)
    grid = (np.arange(1024) + 0.5) / 1024
    for kernel in (RBF(0.1), Matern(0.2, nu=0.5)):
        K = kernel(grid[:, None]) + 1e-9 * np.eye(1024)
        draws = np.linalg.cholesky(K) @ rng.normal(size=(1024, 400))
        V, inside = variation_bound(kernel, [(0, 1)], max_depth=6), np.ones(400, dtype=bool)
        for h in range(8):
            cells = draws.reshape(2**h, -1, 400)
            inside &= (cells.max(axis=1) - cells.min(axis=1) <= V[h]).all(axis=0)
        assert inside.mean() >= 0.99


@pytest.mark.parametrize(
    ("kernel", "alpha"),
    [
        (RBF(0.2), 1.0),
        (Matern(0.2, nu=2.5), 1.0),
        (Matern(0.2, nu=1.5), 1.0),
        (Matern(0.2, nu=0.5), 0.5),
        (RBF(5.0) + 0.1 * Matern(1.0, nu=0.5), 0.5),
        (RBF(0.2) + WhiteKernel(1.0), 1.0),
    ],
)
def test_exponent_is_that_of_the_kernel(kernel, alpha):
    for d in (1, 3):
        assert smoothness_exponent(kernel, np.array(BOUNDS[d], dtype=float)) == alpha


@pytest.mark.parametrize(("unit", "origin"), [(1e-3, 0.0), (1e3, 0.0), (1.0, 1e3)])
def test_exponent_does_not_depend_on_the_units_of_the_sides(unit, origin):
    box = unit * np.array([[0.0, 1.0], [2.0, 2.5]]) + origin
    assert smoothness_exponent(RBF(0.2 * unit), box) == 1.0
    assert smoothness_exponent(Matern(0.2 * unit, nu=0.5), box) == 0.5


def test_h_max_is_equation_3_4():
    for n, alpha, K, d in [(80, 1.0, 2, 1), (300, 0.5, 3, 2), (2, 1.0, 5, 4)]:
        assert h_max(n, alpha, K, d) == pytest.approx(depth_limit(n, alpha, K, d), rel=1e-13)
    assert h_max(1024, 1.0, 2, 1) == pytest.approx(10.0)


# variation="kernel" ---------------------------------------------------------------------------

#: Smooth and rough, periodic with periods from several times to a hundredth of the domain, one of
#: which fits every cell a whole number of times, sums and products, and what is not stationary.
KERNELS = [
    RBF(0.2),
    Matern(0.3, nu=0.5),
    ExpSineSquared(0.8, 0.5),
    ExpSineSquared(0.5, 0.25),
    ExpSineSquared(0.8, 3.0),
    ExpSineSquared(0.8, 0.02),
    ExpSineSquared(0.9, 1 / 64),
    RBF(0.5) + 0.3 * ExpSineSquared(0.5, 0.125),
    RBF(0.5) + 0.3 * ExpSineSquared(0.5, 0.031),
    RBF(0.5) * ExpSineSquared(0.5, 0.125),
    ExpSineSquared(0.5, 0.25) * ExpSineSquared(0.7, 0.1),
    ExpSineSquared(0.5, 0.25) + ExpSineSquared(0.7, 1 / 3),
    Matern(0.5, nu=1.5) * ExpSineSquared(0.9, 0.2),
    DotProduct(0.3) ** 2,
    DotProduct(0.2) * ExpSineSquared(0.5, 0.125),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("feedback", ["center", "average"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_no_cell_of_a_draw_strays_farther_than_delta(kernel, feedback):
    """|f(x) - answer| <= delta(h) at all x of all cells of all depths at once."""
    n, n_draws, depth, per_axis = 512, 200, 5, 4
    opt = GPOOOptimizer(
        kernel,
        bounds=[(0, 1)],
        alpha=0.01,
        feedback=feedback,
        n_representatives=per_axis,
        max_depth=depth - 1,
    )
    opt.ask()
    grid = np.arange(n + 1) / n  # holds the corners, centres and representatives of all cells
    values, vectors = np.linalg.eigh(kernel(grid[:, None]))
    rng = np.random.default_rng(0)
    draws = (vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.normal(size=(n + 1, n_draws))
    inside = np.ones(n_draws, dtype=bool)
    for h in range(depth + 1):
        width = n // 2**h
        starts = np.arange(0, n, width)
        cells = draws[starts[:, None] + np.arange(width + 1)]
        if feedback == "center":
            answers = cells[:, [width // 2]]
        else:
            places = (2 * np.arange(per_axis) + 1) * width // (2 * per_axis)
            answers = cells[:, places].mean(axis=1, keepdims=True)
        # a draw of a smooth kernel that hardly varies is good to the root of rounding
        inside &= (np.abs(cells - answers) <= opt._variation[h] + 1e-6).all(axis=(0, 1))
    # Each draw is outside with a probability of at most 0.1: three standard deviations are 13.
    assert (~inside).sum() <= 20 + 13
    assert (np.diff(opt._variation) <= 0.0).all()


def test_a_periodic_process_is_refined_and_not_asked_again_and_again():
    opt = GPTreeOptimizer(ExpSineSquared(0.8, 0.5), bounds=[(0, 1)], alpha=0.01)
    rng = np.random.default_rng(0)
    opt.run(lambda cell: np.sin(4 * np.pi * cell.center[0]) + 0.1 * rng.normal(), budget=60)
    depth, n_evaluations = opt.tree_.depth, opt.tree_.n_evaluations
    assert depth.max() >= 5
    # A cell is split once beta sigma <= V_h, and after n answers sigma <= sqrt(alpha / n).
    split = depth <= opt.max_depth_
    most = 1.0 + opt.alpha * (opt._beta(60) / opt._variation[depth[split]]) ** 2
    assert (n_evaluations[split] <= most).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cls", [GPTreeOptimizer, GPZoomingOptimizer, ContextualGPTreeOptimizer])
@pytest.mark.parametrize("variation", ["kernel", "theory"])
def test_whole_periods_from_centre_to_corner_are_no_sign_of_constancy(cls, variation):
    settings = {"alpha": 0.01, "variation": variation, "bounds": [(0, 1)]}
    if cls is ContextualGPTreeOptimizer:
        settings["context_bounds"] = [(0, 1)]
        kernel = Columns(RBF(0.3), [0]) * Columns(ExpSineSquared(0.8, 0.5), [1])
        opt = cls(kernel, **settings)
        opt.ask(context=[0.5])
    else:
        opt = cls(ExpSineSquared(0.8, 0.5), **settings)
        opt.ask()
    widths = opt._variation
    # sd(f(x) - f(c)) is 1.26 for x half a period from c
    assert widths[0] > 1.25


def test_the_largest_deviation_of_parts_is_found_axis_by_axis():
    """A product is farthest at a corner along some axes and inside along others."""
    rng = np.random.default_rng(0)
    for d in (2, 3, 5):
        peaks = np.where(rng.uniform(size=d) < 0.5, 1.0, rng.uniform(-0.9, 0.9, size=d))
        heights = rng.uniform(0.1, 1.0, size=d)

        def deviations(t, peaks=peaks, heights=heights):
            return np.sqrt(1.0 - np.exp(-heights / (1.0 + np.abs(t - peaks))).prod(axis=1))

        exact = float(np.sqrt(1.0 - np.exp(-heights.sum())))
        assert 0.98 * exact <= largest_within(deviations, d) <= exact * (1.0 + 1e-14)


class Counting(RBF):
    """The largest covariance matrix that it was asked for."""

    largest = 0

    def __call__(self, X, Y=None, eval_gradient=False):
        Counting.largest = max(Counting.largest, len(X) * len(X if Y is None else Y))
        return super().__call__(X, Y, eval_gradient)


@pytest.mark.parametrize(
    "space", [lambda kernel: kernel, lambda kernel: PriorOfPoints(CellAverage(kernel, 1))]
)
def test_points_of_a_cell_are_compared_with_its_centre_alone(space):
    cube, Counting.largest = [(np.zeros(6), np.ones(6))], 0
    found = cell_deviations(space(Counting(0.3)), lambda depth: cube, 2)
    assert 0 < Counting.largest < 6 * 100  # not the square of the places along six axes
    # The farthest points are the corners, nothing is known of them.
    expected = np.sqrt(2.0 - 2.0 * np.exp(-0.5 * 6 * 0.5**2 / 0.3**2))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_largest_deviation_is_found_at_each_of_five_places(d):
    alternate = np.where(np.arange(d) % 2, -1.0, 1.0)
    for place in (np.zeros(d), np.ones(d), -np.ones(d), alternate, -alternate):

        def narrow(t, place=place):
            return np.maximum(0.01 - np.abs(t - place).max(axis=1), 0.0)

        assert largest_within(narrow, d) == 0.01


def test_deviations_in_cells_of_a_pool_are_the_largest_of_their_members():
    pool, kernel = np.random.default_rng(0).random((40, 2)), 1.7 * RBF(0.4)
    optimizer = GPOOOptimizer(kernel, pool=pool, n_representatives=5).start()
    largest = []
    for depth in range(4):
        found = []
        for rows, members in optimizer.domain_.deviation_row_sets(depth):
            own = kernel(rows).mean() - 2.0 * kernel(members, rows).mean(axis=1)
            found += (own + kernel.diag(members)).tolist()
        largest.append(np.sqrt(max(found)))
    expected = np.maximum.accumulate(largest[::-1])[::-1]
    given = optimizer._model.process, optimizer.domain_, 4, False
    np.testing.assert_allclose(answer_deviations(*given), expected, rtol=1e-9)

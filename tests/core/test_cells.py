"""The Cython evaluator against plain sums and against one-dimensional quadrature."""

import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgpb._core._cells import GaussianCells


def twin(weights, precisions, counts, a, b):
    """Return the covariance of two averages and its derivatives by weights and precisions."""
    d = len(counts)

    def points(box):
        sizes = [s if box[d + k] > box[k] else 1 for k, s in enumerate(counts)]
        return np.array(
            [
                [box[k] + (i + 0.5) / s * (box[d + k] - box[k]) for k, (i, s) in enumerate(index)]
                for index in itertools.product(*([(i, s) for i in range(s)] for s in sizes))
            ]
        )

    squares = (points(a)[:, None] - points(b)[None]) ** 2
    terms = np.exp(-0.5 * squares @ np.transpose(precisions))
    by_precision = -0.5 * np.einsum("ijk,ija,k->ka", terms, squares, weights)
    size = squares.shape[0] * squares.shape[1]
    by_weight = terms.sum(axis=(0, 1)) / size
    return by_weight @ weights, by_weight, by_precision / size


def random_boxes(rng, n, d):
    """Cells of grids, nested cells, points, flat cells and cells of any size, all mixed."""
    lower = rng.integers(0, 8, (n, d)) / 8
    width = 2.0 ** -rng.integers(0, 4, (n, d))
    odd = rng.uniform(size=n) < 0.5
    lower[odd] = rng.uniform(-1, 1, (odd.sum(), d))
    width[odd] = 10 ** rng.uniform(-7, 1, (odd.sum(), d))
    width[rng.uniform(size=(n, d)) < 0.2] = 0.0
    return np.hstack((lower, lower + width))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "counts", [(1,), (2,), (10,), (15,), (16,), (17,), (40,), (5, 5), (3, 1, 4)]
)
def test_averages_equal_double_loops(counts, seed):
    rng, d, n_terms = np.random.default_rng(seed), len(counts), 3
    weights = rng.uniform(0.2, 1.0, n_terms)
    precisions = 10 ** rng.uniform(-3, 3, (n_terms, d))
    precisions[0, 0] = 0.0
    A, B = random_boxes(rng, 12, d), random_boxes(rng, 9, d)
    cells = GaussianCells(weights, precisions, counts)

    rows = [[twin(weights, precisions, counts, a, b) for b in B] for a in A]
    expected = np.array([[pair[0] for pair in row] for row in rows])
    assert_allclose(cells.cross(A, B), expected, rtol=0, atol=1e-14 * weights.sum() * d)
    diagonal = [twin(weights, precisions, counts, a, a)[0] for a in A]
    assert_allclose(cells.diag(A), diagonal, rtol=0, atol=1e-14 * weights.sum() * d)

    # derivatives by every weight and every precision at once: unit Jacobians
    p = n_terms * (1 + d)
    by_weight = np.eye(n_terms, p)
    by_precision = np.eye(p)[n_terms:].reshape(n_terms, d, p)
    K, gradient = cells.cross_gradient(A, B, by_weight, by_precision)
    slopes = [[np.concatenate((pair[1], pair[2].ravel())) for pair in row] for row in rows]
    assert_allclose(K, expected, rtol=0, atol=1e-14 * weights.sum() * d)
    assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-13)


def interval_twin(u, v, z, power):
    """Mean of (x - y)^(2 power) exp(-(x - y)^2 / 2) over two intervals u and v wide, z apart.

    The difference of two uniform variables has a trapezoid as its density, so this is one
    integral with positive terms only: nothing cancels. Composite Gauss-Legendre.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    u, v = max(u, v), min(u, v)

    def panels(length):
        edges = np.linspace(0.0, length, int(np.clip(4 * length, 2, 8000)) + 1)
        half = 0.5 * np.diff(edges)[:, None]
        return 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes, half * weights

    def f(x):
        return (x * x) ** power * np.exp(-0.5 * x * x)

    if u == 0.0:
        return f(z)
    t, w = panels(u - v)
    total = (w * f(z - 0.5 * (u - v) + t)).sum() / u
    if v > 0.0:
        t, w = panels(v)  # from the outer corners of the trapezoid
        for sign in (-1, 1):
            total += (w * t / (u * v) * f(z + sign * (0.5 * (u + v) - t))).sum()
    return total


WIDTHS = [0.0, 1e-8, 1e-5, 1e-3, 0.02, 0.039, 0.041, 0.1, 0.2, 0.3, 0.5, 0.51, 1.0, 3.0, 30.0, 1e3]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("u", WIDTHS)
def test_integrals_equal_quadrature_at_every_width(u):
    for v in WIDTHS[: WIDTHS.index(u) + 1]:
        for z in (0.0, 1e-6, 0.3, 1.0, 5.0, abs(u - v) / 2, (u + v) / 2, (u + v) / 2 + 0.5):
            a, b = np.array([[z - u / 2, z + u / 2]]), np.array([[-v / 2, v / 2]])
            # sides of the boxes after rounding
            u_, v_ = a[0, 1] - a[0, 0], b[0, 1] - b[0, 0]
            z_ = 0.5 * (a[0, 0] + a[0, 1])
            cells = GaussianCells([1.0], [[1.0]])
            K, gradient = cells.cross_gradient(a, b, np.zeros((1, 1)), np.ones((1, 1, 1)))
            value = interval_twin(u_, v_, z_, 0)
            assert_allclose(K[0, 0], value, rtol=0, atol=1e-13)
            slope = -0.5 * interval_twin(u_, v_, z_, 1)
            assert_allclose(gradient[0, 0, 0], slope, rtol=0, atol=1e-13)
            assert_array_equal(cells.cross(a, b), K)
            # The narrower one may come first.
            K, gradient = cells.cross_gradient(b, a, np.zeros((1, 1)), np.ones((1, 1, 1)))
            assert_allclose(K[0, 0], value, rtol=0, atol=1e-13)
            assert_allclose(gradient[0, 0, 0], slope, rtol=0, atol=1e-13)
            assert_array_equal(cells.cross(b, a), K)


@pytest.mark.parametrize("length_scale", [1e-4, 0.3, 1e5])
def test_integrals_know_length_scales(length_scale):
    boxes = np.array([[0.0, 2.0], [1.0, 1.5]]) * length_scale
    K = GaussianCells([2.0], [[length_scale**-2.0]]).cross(boxes[:1], boxes[1:])
    assert_allclose(K[0, 0], 2 * interval_twin(2.0, 0.5, 0.25, 0), rtol=1e-13)


def test_integral_of_a_constant_axis():
    cells = GaussianCells([1.0], [[0.0]])
    A, B = np.array([[0.0, 2.0]]), np.array([[1.0, 4.0]])
    K, gradient = cells.cross_gradient(A, B, np.zeros((1, 1)), np.ones((1, 1, 1)))
    assert K[0, 0] == 1.0
    # -E[(x - y)^2] / 2 for uniform x and y
    assert_allclose(gradient[0, 0, 0], -0.5 * (1.5**2 + (2**2 + 3**2) / 12), rtol=1e-14)


@pytest.mark.parametrize("counts", [None, (4, 3)])
def test_gram_is_symmetric_exactly(counts):
    rng = np.random.default_rng(3)
    X = random_boxes(rng, 20, 2)
    cells = GaussianCells([1.0, 0.5], [[4.0, 9.0], [100.0, 1.0]], counts)
    K = cells.gram(X)
    assert_array_equal(K, K.T)
    assert_array_equal(np.diag(K), cells.diag(X))
    assert_allclose(K, cells.cross(X, X), rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(K).min() > -1e-13
    jacobians = rng.normal(size=(2, 3)), rng.normal(size=(2, 2, 3))
    K_, gradient = cells.gram_gradient(X, *jacobians)
    assert_array_equal(gradient, gradient.transpose(1, 0, 2))
    assert_allclose(K_, K, rtol=0, atol=1e-14)
    assert_allclose(gradient, cells.cross_gradient(X, X, *jacobians)[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("counts", [None, (10,), (1,)])
def test_far_and_wide_boxes_give_finite_numbers(counts):
    boxes = np.array(
        [[0.0, 1.0], [0.0, 1e9], [1e9, 1e9], [-1e9, 1e9], [3.0, 3.5], [1e-300, 1e-299]]
    )
    for q in (1e-12, 1.0, 1e12, 1e200):
        K = GaussianCells([1.0], [[q]], counts).gram(boxes)
        assert np.isfinite(K).all() and (K >= 0.0).all() and (K <= 1.0 + 1e-14).all()


@pytest.mark.parametrize("counts", [None, (4, 3)])
def test_pickles(counts):
    X = random_boxes(np.random.default_rng(4), 5, 2)
    cells = GaussianCells([1.0, 0.5], [[4.0, 9.0], [100.0, 1.0]], counts)
    copy = pickle.loads(pickle.dumps(cells))
    assert_array_equal(copy.gram(X), cells.gram(X))
    assert (copy.n_features, copy.n_terms) == (2, 2)
    assert_array_equal(copy.precisions, [[4.0, 9.0], [100.0, 1.0]])
    assert_array_equal(copy.weights, [1.0, 0.5])
    assert (
        copy.n_representatives is None
        if counts is None
        else tuple(copy.n_representatives) == counts
    )


def test_nothing_to_do():
    cells, empty = GaussianCells([1.0], [[1.0]], [3]), np.empty((0, 2))
    assert cells.cross(empty, [[0.0, 1.0]]).shape == (0, 1)
    assert cells.gram(empty).shape == (0, 0)
    assert cells.diag(empty).shape == (0,)
    no_terms = GaussianCells(np.empty(0), np.empty((0, 1)), [3])
    assert_array_equal(no_terms.gram([[0.0, 1.0], [2.0, 3.0]]), np.zeros((2, 2)))
    K, gradient = no_terms.gram_gradient([[0.0, 1.0]], np.empty((0, 0)), np.empty((0, 1, 0)))
    assert gradient.shape == (1, 1, 0) and K.shape == (1, 1)


def test_wrong_shapes_are_refused():
    cells = GaussianCells([1.0], [[1.0, 1.0]], [3, 3])
    good = np.zeros((2, 4))
    for bad in (np.zeros((2, 3)), np.zeros(4), np.zeros((1, 2, 2))):
        for call in (cells.gram, cells.diag, lambda b: cells.cross(good, b)):
            with pytest.raises(ValueError, match="must have 4 columns"):
                call(bad)
    with pytest.raises(ValueError, match="Jacobians"):
        cells.gram_gradient(good, np.zeros((2, 1)), np.zeros((1, 2, 1)))
    with pytest.raises(ValueError, match="Jacobians"):
        cells.gram_gradient(good, np.zeros((1, 1)), np.zeros((1, 2, 2)))
    for weights, precisions, counts in [
        ([1.0], [1.0], [3]),
        ([1.0, 2.0], [[1.0]], [3]),
        ([1.0], np.empty((1, 0)), []),
        ([1.0], [[-1.0]], [3]),
        ([np.nan], [[1.0]], [3]),
        ([1.0], [[np.inf]], [3]),
        ([1.0], [[1.0]], [3, 3]),
        ([1.0], [[1.0]], [0]),
        ([1.0], [[1.0]], [2.5]),
    ]:
        with pytest.raises(ValueError, match=r"weights|precisions|n_representatives"):
            GaussianCells(weights, precisions, counts)


@pytest.mark.parametrize("counts", [None, (3, 4)])
@pytest.mark.parametrize("n_terms", [1, 2])
def test_means_of_shared_intervals_are_computed_once_and_are_the_same(counts, n_terms):
    """Cells of a tree have few distinct intervals along each axis; others have their own."""
    rng = np.random.default_rng(n_terms)
    cells = GaussianCells(rng.random(n_terms), 1.0 + rng.random((n_terms, 2)), counts)
    lower = rng.integers(0, 6, (60, 2)) / 8.0
    of_tree = np.hstack([lower, lower + rng.choice([0.125, 0.25], (60, 2))])
    weights, precisions = rng.random((n_terms, 3)), rng.random((n_terms, 2, 3))
    for boxes in (of_tree, np.sort(rng.random((60, 2, 2)), axis=2).swapaxes(1, 2).reshape(60, 4)):
        expected, slopes = cells.cross_gradient(boxes, boxes, weights, precisions)
        below = np.tril_indices(60)
        K = cells.gram(boxes)
        assert_array_equal(K[below], cells.cross(boxes, boxes)[below])
        assert_array_equal(K, K.T)
        K, gradient = cells.gram_gradient(boxes, weights, precisions)
        assert_array_equal(K[below], expected[below])
        assert_array_equal(gradient[below], slopes[below])
        assert_array_equal(gradient, gradient.swapaxes(0, 1))

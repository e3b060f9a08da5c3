"""Means over grids of functions of scaled distances, against double loops over the points."""

import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gamma, kv

from skgpb._core import _radial
from skgpb._core._radial import RadialCells

KINDS = {
    0: lambda s, _: np.exp(-s / 2),
    1: lambda s, _: np.exp(-np.sqrt(s)),
    2: lambda s, _: (1 + np.sqrt(3 * s)) * np.exp(-np.sqrt(3 * s)),
    3: lambda s, _: (1 + np.sqrt(5 * s) + 5 * s / 3) * np.exp(-np.sqrt(5 * s)),
    4: lambda s, nu: bessel(np.sqrt(2 * nu * s), nu),
    5: lambda s, alpha: (1 + s / (2 * alpha)) ** -alpha,
}


def bessel(r, nu):
    r = np.where(r > 0, r, 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        value = 2 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r)
    return np.where(r > 1e-300, value, 1.0)


def grid(box, counts):
    d = len(counts)
    axes = []
    for low, high, s in zip(box[:d], box[d:], counts, strict=True):
        s = s if high > low else 1
        axes.append(low + (np.arange(s) + 0.5) / s * (high - low))
    return np.array(list(itertools.product(*axes)))


def twin(weights, powers, kinds, precisions, shapes, counts, a, b):
    difference = grid(a, counts)[:, None] - grid(b, counts)[None]
    total = 0.0
    for w, exponents in zip(weights, powers, strict=True):
        term = np.ones(difference.shape[:2])
        for p, kind, q, shape in zip(exponents, kinds, precisions, shapes, strict=True):
            term *= KINDS[kind]((difference**2 * q).sum(axis=2), shape) ** p
        total += w * term.mean()
    return total


def boxes_of_all_sorts(rng, d, bounds=(-1.0, 2.0), n=12):
    """Cells of a tree, cells of no tree, flat ones, points and copies."""
    low, high = bounds
    depth = rng.integers(0, 6, (n, d))
    width = (high - low) / 2.0**depth
    lower = low + width * np.floor(rng.uniform(size=(n, d)) * 2.0**depth)
    boxes = np.hstack([lower, lower + width])
    free = rng.uniform(low, high, (n // 2, d))
    boxes = np.vstack([boxes, np.hstack([free, free + rng.uniform(0, 1, (n // 2, d))])])
    boxes[0, d:] = boxes[0, :d]
    boxes[1, d] = boxes[1, 0]
    boxes[-1] = boxes[2]
    return boxes


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [*KINDS, "several"])
@pytest.mark.parametrize("counts", [(1,), (10,), (37,), (4, 3), (6, 1), (2, 3, 2), (2, 2, 2, 2)])
def test_averages_equal_double_loops(counts, kind, seed):
    rng, d = np.random.default_rng(seed), len(counts)
    kinds = [kind] if kind != "several" else [2, 5, 4, 0]
    shapes = rng.uniform(0.3, 3.5, len(kinds))
    precisions = rng.uniform(0.2, 4.0, (len(kinds), d)) ** 2
    powers = [[1]] if kind != "several" else [[1, 0, 2, 0], [0, 1, 0, 1], [0, 0, 0, 0]]
    weights = rng.uniform(0.2, 1.0, len(powers))
    of = (weights, powers, kinds, precisions, shapes)
    cells = RadialCells(*of, counts)
    A, B = boxes_of_all_sorts(rng, d, n=6), boxes_of_all_sorts(rng, d, n=4)
    expected = np.array([[twin(*of, counts, a, b) for b in B] for a in A])
    assert_allclose(cells.cross(A, B), expected, rtol=0, atol=1e-12)
    assert_allclose(cells.gram(A), [[twin(*of, counts, a, b) for b in A] for a in A], atol=1e-12)
    assert_allclose(cells.diag(A), [twin(*of, counts, a, a) for a in A], rtol=0, atol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("counts", [(10,), (4, 3), (6, 5), (2, 3, 2)])
def test_derivatives_are_those_of_double_loops(counts, kind):
    """By every weight, precision and logarithm of alpha at once: unit Jacobians."""
    rng, d = np.random.default_rng(kind), len(counts)
    kinds, powers, weights = [kind, 5], [[2, 0], [1, 1]], np.array([0.7, 0.4])
    shapes, precisions = np.array([1.3, 0.8]), rng.uniform(0.5, 3.0, (2, d))
    A = boxes_of_all_sorts(rng, d, n=4)
    p = 2 + 2 * d + 2
    by_weight, by_precision = np.eye(2, p), np.eye(p)[2 : 2 + 2 * d].reshape(2, d, p)
    by_shape = np.eye(p)[2 + 2 * d :]
    cells = RadialCells(weights, powers, kinds, precisions, shapes, counts)
    K, gradient = cells.gram_gradient(A, by_weight, by_precision, by_shape)
    assert_allclose(K, cells.gram(A), rtol=0, atol=1e-15)

    def values(t):
        scaled = shapes * np.exp(t[2 + 2 * d :])
        moved = weights + t[:2], powers, kinds, precisions + t[2 : 2 + 2 * d].reshape(2, d), scaled
        return np.array([[twin(*moved, counts, a, b) for b in A] for a in A])

    # only a rational quadratic's shape is a hyperparameter
    for j in (j for j in range(p) if kind == 5 or j != p - 2):
        step = 1e-5 * np.eye(p)[j]
        slope = (values(step) - values(-step)) / 2e-5
        assert_allclose(gradient[:, :, j], slope, rtol=0, atol=2e-9, err_msg=str(j))


def pair_of_cells(rng, d, arity):
    """Two cells of a tree: apart, one in the other, side by side or the same."""
    depth = rng.integers(0, 5, (2, d))
    if rng.random() < 0.5:
        depth[1] = np.maximum(depth[0] - rng.integers(0, 5, d), 0)
    width = float(arity) ** -depth
    lower = np.floor(rng.uniform(size=(2, d)) / width) * width
    within = np.floor((lower[0] + width[0] / 2) / width[1]) * width[1]
    how = rng.integers(4)
    if how == 1:
        lower[1] = within
    elif how == 2:
        lower[1] = np.where(rng.random(d) < 0.5, lower[0] + width[0], within)
    elif how == 3:
        lower[1], width[1] = lower[0], width[0]
    return np.hstack([lower, lower + width])


@pytest.mark.one_in(9)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_rules_equal_double_loops_at_any_distance_and_scale(kind, d, seed):
    """Also where the kernel has a kink between the cells, and from 0.01 to 10 length scales."""
    rng = np.random.default_rng([seed, kind, d])
    for _ in range(100):
        counts = tuple(rng.integers(1, [60, 14, 7, 4][d - 1], d).tolist())
        scales = 10.0 ** (rng.uniform(-2, 1) + 0.5 * rng.uniform(-1, 1, d) * rng.integers(2))
        of = [1.0], [[1]], [kind], [scales**-2], [rng.uniform(0.5, 5.0)]
        a, b = pair_of_cells(rng, d, rng.integers(2, 4))
        got = RadialCells(*of, counts).cross([a], [b])
        message = f"{counts}, length scales {scales}, {a}, {b}"
        assert_allclose(got, twin(*of, counts, a, b), rtol=0, atol=1e-12, err_msg=message)


@pytest.mark.parametrize("kind", [1, 2, 3, 5])
def test_pairs_take_a_small_share_of_the_differences(kind):
    """Cells of a tree, a quarter of them in one another, and two cells that are apart."""
    lower = np.stack(np.meshgrid(*[np.arange(16) / 16] * 2), axis=-1).reshape(-1, 2)
    small, large = np.hstack([lower, lower + 1 / 16]), [[0.0, 0.0, 0.5, 0.5]]
    cells = RadialCells([1.0], [[1]], [kind], np.full((1, 2), 11.0), [1.0], (10, 10))
    cells.cross(small, large)
    n_distances = 12 * 12  # mirror images are one
    # (s - 1) (r + 1) + 1 differences along an axis where spacings are r to 1
    assert cells.n_evaluations < 0.1 * n_distances * (9 * (8 + 1) + 1) ** 2
    before = cells.n_evaluations
    cells.cross([[0.0, 0.0, 0.125, 0.125]], [[0.5, 0.5, 1.0, 1.0]])
    assert cells.n_evaluations - before < 0.1 * (9 * (4 + 1) + 1) ** 2


def make(counts=(5, 5), kind=3):
    d = len(counts)
    return RadialCells([1.0], [[1]], [kind], np.full((1, d), 9.0), [1.5], counts)


def test_no_bit_depends_on_what_was_computed_before():
    rng = np.random.default_rng(0)
    A, B = boxes_of_all_sorts(rng, 2), boxes_of_all_sorts(rng, 2)
    fresh = make().cross(A, B)
    used = make()
    for _ in range(3):
        used.cross(boxes_of_all_sorts(rng, 2, (0.0, 1.0), 200), B)
    assert_array_equal(used.cross(A, B), fresh)
    assert_array_equal(np.vstack([make().cross(a[None], B) for a in A]), fresh)
    assert_array_equal(make().cross(B, A).T, fresh)
    assert_array_equal(pickle.loads(pickle.dumps(used)).cross(A, B), fresh)


def test_more_pairs_than_are_remembered_change_nothing():
    rng = np.random.default_rng(1)
    lower = rng.uniform(size=(600, 1))
    A = np.hstack([lower, lower + rng.uniform(0, 0.5, (600, 1))])
    cells = make((3,))  # 180 000 pairs; the cache holds 131 072
    K = cells.cross(A, A)
    assert_array_equal(cells.cross(A, A), K)
    rows = [0, 77, 599]
    assert_array_equal(make((3,)).cross(A[rows], A), K[rows])


@pytest.mark.parametrize("offset", [1e3, 1e6, -1e9])
def test_cells_far_from_zero_are_where_they_are(offset):
    """Coordinates that lose the digits of an offset are read as they are, not rounded further."""
    rng = np.random.default_rng(2)
    A = boxes_of_all_sorts(rng, 2) + offset
    kinds = [[1.0], [[1]], [3], np.full((1, 2), 9.0), [1.5]]
    cells = RadialCells(*kinds, (3, 3))
    expected = [[twin(*kinds, (3, 3), a - offset, b - offset) for b in A] for a in A]
    assert_allclose(cells.cross(A, A), expected, rtol=0, atol=max(1e-12, 4e-15 * abs(offset)))


def test_values_of_distant_points_vanish_without_nan():
    far = np.array([[0.0, 0.0], [1e150, 1e150]])
    for kind in KINDS:
        K = RadialCells([1.0], [[1]], [kind], [[1.0]], [1.5], (3,)).cross(far, far)
        assert_allclose(K, np.eye(2), atol=1e-12)


def test_errors_name_what_was_given():
    with pytest.raises(ValueError, match="must have 4 columns"):
        make().cross(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="from 1 to 512"):
        make((_radial.MOST_POINTS + 1,))
    with pytest.raises(ValueError, match="shapes must have 1 numbers"):
        RadialCells([1.0], [[1]], [0], [[1.0]], [1.0, 2.0], (2,))
    with pytest.raises(ValueError, match="Jacobians must have shapes"):
        make().gram_gradient(
            np.zeros((1, 4)), np.zeros((1, 2)), np.zeros((1, 2, 3)), np.zeros((1, 2))
        )

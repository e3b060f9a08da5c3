"""Boxes and the points that stand for them."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgpb.kernels._boxes import (
    box_points,
    boxes_from_points,
    gauss_legendre_rule,
    midpoint_rule,
    representatives,
)


def test_boxes_from_points_repeats_the_columns():
    points = np.array([[0.1, 2.0], [-1.0, 3.0]])
    assert_array_equal(boxes_from_points(points), [[0.1, 2, 0.1, 2], [-1, 3, -1, 3]])
    with pytest.raises(ValueError, match="points must have shape"):
        boxes_from_points([1.0, 2.0])


def test_representatives_are_centres_in_c_order():
    lower, upper, counts = [0.0, -1.0, 2.0], [1.0, 2.0, 2.5], (2, 3, 1)
    expected = [
        [
            low + (i + 0.5) * (up - low) / s
            for low, up, i, s in zip(lower, upper, index, counts, strict=True)
        ]
        for index in itertools.product(*map(range, counts))
    ]
    assert_allclose(representatives(lower, upper, counts), expected, rtol=1e-15)
    assert representatives(lower, upper, 4).shape == (64, 3)
    assert_allclose(representatives([0.0], [1.0], 1), [[0.5]])


def test_axes_without_width_have_one_point():
    assert_array_equal(representatives([0.25, 1.0], [0.25, 1.0], 7), [[0.25, 1.0]])
    flat = representatives([0.25, 0.0], [0.25, 1.0], 2)
    assert_array_equal(flat, [[0.25, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize("rule", [midpoint_rule, gauss_legendre_rule])
def test_box_points_are_a_rule_per_box(rule):
    rng = np.random.default_rng(0)
    lower = rng.uniform(size=(6, 2))
    width = rng.uniform(size=(6, 2)) * [[1, 1], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1]]
    boxes = np.hstack((lower, lower + width))
    points, weights, starts = box_points(boxes, [rule(3), rule(2)])
    assert_array_equal(np.diff(np.append(starts, len(points))), [6, 2, 6, 1, 3, 6])
    for box, P, w in zip(
        boxes, np.split(points, starts[1:]), np.split(weights, starts[1:]), strict=True
    ):
        assert_allclose(w.sum(), 1.0, rtol=1e-15)
        assert_allclose(w @ P, 0.5 * (box[:2] + box[2:]), rtol=1e-14)
        assert (box[:2] <= P).all() and (box[2:] >= P).all()
    # a Gauss-Legendre rule with s nodes integrates the square exactly, the midpoint rule does not
    second = (weights[:6] * points[:6, 0] ** 2).sum()
    a, b = boxes[0, 0], boxes[0, 2]
    exact = (a * a + a * b + b * b) / 3
    # A dozen roundings of numbers that are no larger than the square of the farther end.
    assert (abs(second - exact) < 12 * np.finfo(float).eps * b * b) == (rule is gauss_legendre_rule)


@pytest.mark.parametrize("counts", [0, -1, 2.0, True, "3", None, (1, 2, 3), (2,), [1, 0], (1, 1.5)])
def test_wrong_counts_are_named(counts):
    with pytest.raises(ValueError, match="n_representatives must be an integer"):
        representatives([0.0, 0.0], [1.0, 1.0], counts)


def test_wrong_corners_are_named():
    with pytest.raises(ValueError, match="lower <= upper"):
        representatives([0.0, 2.0], [1.0, 1.0], 2)
    with pytest.raises(ValueError, match="must have shape"):
        representatives([0.0, 2.0], [1.0], 2)

"""The prior of f for averages over cells of several sizes."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb.kernels import CellAverage
from skgpb.surrogate.likelihood import LENGTH_SCALE
from skgpb.surrogate.two_scales import ROUGH, ROUGH_LENGTH, prior_of_two_scales, two_scales


def test_it_is_a_trend_and_something_rougher():
    X = np.array([[0.1], [0.15], [0.4]])
    trend, rough = RBF(LENGTH_SCALE), RBF(ROUGH_LENGTH * LENGTH_SCALE)
    expected = trend(X) + ROUGH * rough(X)
    assert_allclose(two_scales(np.array([[0.0, 1.0]]))(X), expected, rtol=1e-14)


def test_its_length_scales_are_in_units_of_the_sides():
    bounds = np.array([[0.0, 2.0], [5.0, 5.0], [-1.0, 0.0]])
    kernel = two_scales(bounds)
    sides = np.array([2.0, 1.0, 1.0])  # no side is without length
    assert_allclose(kernel.k1.k2.length_scale, LENGTH_SCALE * sides)
    assert_allclose(kernel.k2.k2.length_scale, ROUGH_LENGTH * LENGTH_SCALE * sides)
    assert np.isfinite(kernel.bounds).all()
    inside = (kernel.bounds[:, 0] < kernel.theta) & (kernel.theta < kernel.bounds[:, 1])
    assert inside.all()


def test_the_prior_is_around_it():
    for d in (1, 3):
        bounds = np.tile([0.0, 1.0], (d, 1))
        prior = prior_of_two_scales(bounds)
        assert_allclose(prior.center, two_scales(bounds).theta)
        value, slope = prior(prior.center)
        assert value == 0.0
        assert_allclose(slope, np.zeros(2 * (1 + d)))


def test_averages_have_a_closed_form():
    # Against the average of all pairs of representatives.
    kernel = two_scales(np.array([[0.0, 1.0], [0.0, 2.0]]))
    boxes = np.array([[0.1, 0.2, 0.5, 0.9], [0.3, 0.0, 0.4, 2.0]])
    n = 4
    steps = (np.arange(n) + 0.5) / n
    grid = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    points = [box[:2] + grid * (box[2:] - box[:2]) for box in boxes]
    expected = [[kernel(a, b).mean() for b in points] for a in points]
    assert_allclose(CellAverage(kernel, n)(boxes), expected, rtol=1e-12)

"""The prior of f for averages over cells of several sizes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb import defaults
from skgpb.kernels import CellAverage
from skgpb.kernels._random_effect import RandomEffect
from skgpb.surrogate.trend_and_rough import (
    has_rough_part,
    prior_of_trend_and_rough,
    trend_and_rough,
)

POINTS = np.zeros((1, 1))


def test_it_is_a_trend_and_something_rougher():
    X = np.array([[0.1], [0.15], [0.4]])
    trend, rough = RBF(defaults.LENGTH_SCALE), RBF(defaults.ROUGH_LENGTH * defaults.LENGTH_SCALE)
    expected = defaults.TREND_LEVEL * trend(X) + defaults.ROUGH_LEVEL * rough(X)
    found = trend_and_rough(np.array([[0.0, 1.0]]), POINTS)(X)
    assert_allclose(found, expected, rtol=1e-14)


def test_its_length_scales_are_in_units_of_the_sides():
    bounds = np.array([[0.0, 2.0], [5.0, 5.0], [-1.0, 0.0]])
    kernel = trend_and_rough(bounds, np.zeros((1, 3)))
    scales = (
        defaults.LENGTH_SCALE * 3**0.25 * np.array([2.0, 1.0, 1.0])
    )  # no side is without length
    assert_allclose(kernel.k1.k2.length_scale, scales)
    assert_allclose(kernel.k2.k2.length_scale, defaults.ROUGH_LENGTH * np.sqrt(3) * scales)
    assert np.isfinite(kernel.bounds).all()
    inside = (kernel.bounds[:, 0] < kernel.theta) & (kernel.theta < kernel.bounds[:, 1])
    assert inside.all()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_averages_over_wanted_cells_vary_as_answers_do(d):
    # Variances of averages over 40 midpoints a side differ from those over a cell by 1e-3.
    sides = np.full((2, d), [[0.2], [0.4]])
    sides[1, 1:] = 0.0
    kernel = trend_and_rough(np.tile([0.0, 1.0], (d, 1)), sides)
    boxes = np.hstack([np.zeros_like(sides), sides])
    for part, level in ((kernel.k1, defaults.TREND_LEVEL), (kernel.k2, defaults.ROUGH_LEVEL)):
        assert_allclose(CellAverage(part, 40).diag(boxes).mean(), level, rtol=1e-3)
        assert (part.bounds[:, 0] < part.theta).all()
        assert (part.theta < part.bounds[:, 1]).all()


@pytest.mark.parametrize(("d", "share"), [(6, 0.25 * np.sqrt(6.0)), (25, 1.0)])
def test_what_is_rough_varies_no_more_than_the_trend_and_is_no_longer(d, share):
    # Averages over the whole box say next to nothing of it, as long as it is shorter.
    kernel = trend_and_rough(np.tile([0.0, 1.0], (d, 1)), np.ones((1, d)))
    most = kernel.k1.k1.constant_value
    assert (kernel.k2.k1.constant_value == most) == (share < 1.0)
    assert kernel.k2.k1.constant_value <= most
    assert_allclose(kernel.k2.k2.length_scale / kernel.k1.k2.length_scale, share)


def test_the_prior_is_around_it():
    for d in (1, 3):
        bounds, wanted = np.tile([0.0, 1.0], (d, 1)), np.full((1, d), 0.3)
        prior = prior_of_trend_and_rough(bounds, wanted)
        assert_allclose(prior.center, trend_and_rough(bounds, wanted).theta)
        value, slope = prior(prior.center)
        assert value == 0.0
        assert_allclose(slope, np.zeros(2 * (1 + d)))


def test_averages_have_a_closed_form():
    # Against the average of all pairs of representatives.
    kernel = trend_and_rough(np.array([[0.0, 1.0], [0.0, 2.0]]), np.zeros((1, 2)))
    boxes = np.array([[0.1, 0.2, 0.5, 0.9], [0.3, 0.0, 0.4, 2.0]])
    n = 4
    steps = (np.arange(n) + 0.5) / n
    grid = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    points = [box[:2] + grid * (box[2:] - box[:2]) for box in boxes]
    expected = [[kernel(a, b).mean() for b in points] for a in points]
    assert_allclose(CellAverage(kernel, n)(boxes), expected, rtol=1e-12)


def test_a_rough_part_is_recognised_inside_averages():
    kernel = trend_and_rough(np.array([[0.0, 1.0]]), np.array([[0.1]]))
    assert has_rough_part(kernel) and has_rough_part(CellAverage(kernel, 3))
    assert not has_rough_part(kernel.k1) and not has_rough_part(CellAverage(RBF(0.3), 3))
    assert not has_rough_part(RBF(0.3) + RBF(0.1))
    assert not has_rough_part(RandomEffect(kernel, 0.1, (0.01, 1.0)))

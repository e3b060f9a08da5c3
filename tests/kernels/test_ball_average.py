"""Averages over discs and balls: the points that stand for them, sums written out, quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from skgpb.kernels import BallAverage
from skgpb.kernels.ball_average import points_in_balls, unit_ball


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_average_of_cubic_polynomials_is_exact(d):
    """Odd moments vanish, and the mean square of a coordinate over the ball is 1 / (d + 2)."""
    P = unit_ball(d)
    assert (np.linalg.norm(P, axis=1) < 1.0).all()
    assert_allclose(P.mean(axis=0), 0.0, atol=1e-15)
    assert_allclose(P.T @ P / len(P), np.eye(d) / (d + 2), atol=1e-15)
    cubes = np.einsum("ni,nj,nk->ijk", P, P, P) / len(P)
    assert_allclose(cubes, 0.0, atol=1e-15)


def test_it_is_the_sum_written_out():
    rng = np.random.default_rng(0)
    lower = rng.random((6, 2))
    upper = lower + rng.random((6, 2))
    upper[0] = lower[0]  # a point
    upper[1, 1] = lower[1, 1]  # a line
    base = 0.7 * Matern([0.3, 0.8], nu=2.5)
    boxes = np.hstack([lower, upper])
    unit = unit_ball(2)
    sets = [
        a[None] if (a == b).all() else (a + b) / 2 + unit * (b - a) / 2
        for a, b in zip(lower, upper, strict=True)
    ]
    expected = [[base(P, Q).mean() for Q in sets] for P in sets]
    kernel = BallAverage(base)
    assert_allclose(kernel(boxes), expected, rtol=1e-12)
    assert_allclose(kernel(boxes[:2], boxes[2:]), np.array(expected)[:2, 2:], rtol=1e-12)
    assert_allclose(kernel.diag(boxes), np.diag(expected), rtol=1e-12)
    assert_allclose(np.concatenate(sets), points_in_balls(boxes).points, rtol=1e-15)


@pytest.mark.parametrize(("scale", "tolerance"), [(1.0, 2e-4), (0.5, 3e-3)])
def test_it_is_near_the_integral_over_the_disc(scale, tolerance):
    """A disc of radius 0.5 and its centre: (2 l^2 / r^2) (1 - exp(-r^2 / 2 l^2)) for RBF."""
    kernel = BallAverage(RBF(scale))
    K = kernel([[0.0, 0.0, 1.0, 1.0]], [[0.5, 0.5, 0.5, 0.5]])[0, 0]
    share = 0.5**2 / (2 * scale**2)
    assert_allclose(K, (1 - np.exp(-share)) / share, atol=tolerance)


def test_white_noise_is_that_of_each_point():
    boxes = np.array([[0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5]])
    noisy, quiet = BallAverage(RBF(0.5) + WhiteKernel(0.38)), BallAverage(RBF(0.5))
    assert_allclose(noisy(boxes) - quiet(boxes), np.diag([0.02, 0.38]), atol=1e-14)
    assert_allclose(noisy.noise_diag(boxes), [0.02, 0.38], rtol=1e-12)

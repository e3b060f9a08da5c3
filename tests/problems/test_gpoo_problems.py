"""The GPOO test functions against scikit-learn, quadrature and the paper's list of points."""

from __future__ import annotations

import pickle
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb.problems import gpoo_function

CASES = [(number, mirrored) for number in (1, 2, 3) for mirrored in (False, True)]


@pytest.fixture(params=CASES, ids=lambda case: f"f{case[0]}{'-mirrored' if case[1] else ''}")
def problem(request):
    number, mirrored = request.param
    return gpoo_function(number, mirrored=mirrored)


def box(lower, upper):
    return SimpleNamespace(lower=np.array([lower]), upper=np.array([upper]))


def appendix_e(number):
    """The pairs of Appendix E, written out, and the length scale each function is made with."""
    if number == 1:
        return [0.05, 0.2, 0.4, 0.65, 0.9], [0.85, 0.1, 0.87, 0.05, 0.98], 0.1
    x, y = [], []
    edges = np.linspace(0.0, 0.9, 10)
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        x += [middle, middle + (high - low) * 2 / 3]
        y += [0.1, 0.2]
    x, y = [*x, 0.95], [*y, 0.9]
    if number == 2:
        return x, y, 0.05
    return [*x, 0.94, 0.945], [*y, 0.1, 0.2], 0.01


@pytest.mark.parametrize("number", [1, 2, 3])
def test_function_is_the_posterior_mean_of_appendix_e(number):
    x, y, length_scale = appendix_e(number)
    kernel = ConstantKernel(0.1) * RBF(length_scale)
    regressor = GaussianProcessRegressor(kernel, alpha=0.005, optimizer=None)
    regressor.fit(np.array(x)[:, np.newaxis], y)
    grid = np.linspace(0.0, 1.0, 301)[:, np.newaxis]
    np.testing.assert_allclose(
        gpoo_function(number).f(grid), regressor.predict(grid), rtol=1e-9, atol=1e-9
    )


def test_mirror_image_reflects_the_function():
    grid = np.linspace(0.0, 1.0, 101)[:, np.newaxis]
    for number in (1, 2, 3):
        straight, mirrored = gpoo_function(number), gpoo_function(number, mirrored=True)
        np.testing.assert_allclose(mirrored.f(1.0 - grid), straight.f(grid), rtol=1e-9, atol=1e-12)
        assert mirrored.optimum == pytest.approx(straight.optimum, abs=1e-12)
        assert mirrored.argmax == pytest.approx(1.0 - straight.argmax, abs=1e-12)


def test_optimum_is_the_largest_value_on_the_papers_grid(problem):
    grid = np.linspace(0.0, 1.0, 1000)
    values = problem.f(grid[:, np.newaxis])
    assert problem.optimum == values.max()
    assert problem.argmax == grid[values.argmax()]
    assert problem.f([[problem.argmax]]) == pytest.approx(problem.optimum, abs=1e-14)
    finer = problem.f(np.linspace(0.0, 1.0, 100_001)[:, np.newaxis]).max()
    assert 0.0 <= finer - problem.optimum < 5e-4


def test_highest_hill_is_where_the_paper_puts_it():
    assert gpoo_function(1).argmax == pytest.approx(0.9, abs=0.01)
    for number in (2, 3):
        assert 0.94 < gpoo_function(number).argmax < 0.98


def test_average_is_the_mean_over_the_points(problem):
    points = np.random.default_rng(0).uniform(size=(7, 1))
    assert problem.average(points) == pytest.approx(problem.f(points).mean(), abs=1e-15)
    assert problem.average(points[0]) == problem.f(points[:1])[0]
    assert problem.average(points[:1]) == problem.f(points[:1])[0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", [1.0, 0.3, 1e-2, 1e-4, 1e-6, 1e-9, 0.0])
def test_integral_is_the_mean_over_the_box(problem, width):
    for lower in (0.0, 0.37, 0.9):
        upper = min(lower + width, 1.0)
        if upper == lower:
            expected = problem.f([[lower]])[0]
        else:
            knots = np.linspace(lower, upper, 40)
            expected = np.mean(
                [
                    quad(
                        lambda z, a=a, b=b: problem.f([[a + z * (b - a)]])[0],
                        0.0,
                        1.0,
                        epsabs=1e-13,
                        epsrel=1e-13,
                    )[0]
                    for a, b in pairwise(knots)
                ]
            )
        assert problem.integral(box(lower, upper)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.one_in(3)
def test_observation_is_the_true_answer_plus_noise_of_the_stated_size(problem):
    points, cell = np.array([[0.2], [0.3]]), box(0.1, 0.4)
    rng = np.random.default_rng(0)
    averages = np.array([problem.observe(points, rng) for _ in range(4000)])
    integrals = np.array([problem.observe(cell, rng, feedback="integral") for _ in range(4000)])
    for rewards, value in (
        (averages, problem.average(points)),
        (integrals, problem.integral(cell)),
    ):
        # Four standard errors of the mean and of the standard deviation.
        assert abs(rewards.mean() - value) < 4 * problem.noise_std / np.sqrt(4000)
        assert abs(rewards.std() - problem.noise_std) < 4 * problem.noise_std / np.sqrt(8000)


def test_observations_follow_the_generator(problem):
    one = [problem.observe([[0.5]], np.random.default_rng(3)) for _ in range(2)]
    assert one[0] == one[1]
    noise = np.random.default_rng(3).standard_normal()
    assert one[0] == pytest.approx(problem.average([[0.5]]) + 0.1 * noise, abs=1e-15)


def test_problem_is_immutable_and_pickles(problem):
    with pytest.raises(AttributeError):
        problem.noise_std = 0.0
    with pytest.raises(ValueError, match="read-only"):
        problem.bounds[0, 0] = 2.0
    copy = pickle.loads(pickle.dumps(problem))
    grid = np.linspace(0.0, 1.0, 11)[:, np.newaxis]
    np.testing.assert_array_equal(copy.f(grid), problem.f(grid))
    assert (copy.optimum, copy.mirrored) == (problem.optimum, problem.mirrored)


@pytest.mark.parametrize("number", [0, 4, "1", 1.5, None, True, [1]])
def test_unknown_function_is_refused(number):
    with pytest.raises(ValueError, match="number must be 1, 2 or 3"):
        gpoo_function(number)


@pytest.mark.parametrize("X", [0.5, [0.5], [[0.1, 0.2]], np.zeros((2, 2, 1))])
def test_points_of_a_wrong_shape_are_refused(X):
    with pytest.raises(ValueError, match="X must have shape"):
        gpoo_function(1).f(X)


def test_nonsense_queries_are_refused():
    problem = gpoo_function(1)
    with pytest.raises(ValueError, match="no points"):
        problem.average(np.empty((0, 1)))
    with pytest.raises(ValueError, match="exceed"):
        problem.integral(box(0.4, 0.1))
    with pytest.raises(ValueError, match="feedback"):
        problem.observe([[0.5]], np.random.default_rng(0), feedback="sum")

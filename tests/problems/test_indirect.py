"""Branin behind conditional expectations, against simulation and against plain quadrature."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from skgpb.domains.indirect import IndirectCell

ROOT = Path(__file__).parents[2]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not part of this tree", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from benchmarks.papers._branin import (  # noqa: E402
    IndirectBranin,
    MultiResolutionBranin,
    branin,
)

MAPS = ("linear", "cosine")


def test_the_optimum_is_attained_at_three_points():
    problem = IndirectBranin()
    np.testing.assert_allclose(problem.f(problem.argmax), problem.optimum, atol=1e-5)
    assert problem.optimum == pytest.approx(-0.39788735772973816, abs=1e-12)
    for start in problem.argmax:
        found = minimize(lambda x: -branin(x[None])[0], start + 0.3)
        assert -found.fun == pytest.approx(problem.optimum, abs=1e-9)


@pytest.mark.parametrize("name", MAPS)
def test_maps_of_the_paper(name):
    problem = IndirectBranin(name)
    corners = problem.location([[0.0, 0.0], [1.0, 1.0]])
    expected = [[-5, 0], [10, 15]] if name == "linear" else [[10, 15], [-5, 0]]
    np.testing.assert_allclose(corners, expected, atol=1e-12)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("a", [[0.5, 0.5], [0.0, 1.0], [0.03, 0.97], [0.9, 0.2]])
def test_answers_are_the_mean_over_the_scatter(name, a):
    problem = IndirectBranin(name)
    rng = np.random.default_rng(0)
    x = problem.location([a]) + problem.scale * rng.standard_normal((400_000, 2))
    values = branin(np.clip(x, *problem.bounds.T))
    error = values.std() / np.sqrt(len(values))
    assert abs(problem.g([a])[0] - values.mean()) < 4 * error


@pytest.mark.parametrize("scale", [1e-6, 1e-9])
def test_narrow_scatter_is_a_point(scale):
    problem = IndirectBranin(scale=scale)
    A = np.random.default_rng(1).uniform(0.05, 0.95, size=(20, 2))
    # Half the Laplacian times scale^2 is below 1e-10; sums of squares up to 400 round to 1e-12.
    np.testing.assert_allclose(problem.g(A), branin(problem.location(A)), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MAPS)
def test_pairs_follow_the_conditional_law(name):
    problem = IndirectBranin(name)
    X, A = problem.pairs(20_000, np.random.default_rng(0))
    assert (problem.bounds[:, 0] <= X).all() and (problem.bounds[:, 1] >= X).all()
    assert (A >= 0.0).all() and (A <= 1.0).all()
    inner = ((A > 0.35) & (A < 0.65)).all(axis=1)
    residuals = (X - problem.location(A))[inner]
    np.testing.assert_allclose(residuals.std(axis=0), problem.scale, rtol=0.05)
    assert (problem.bounds[:, 1] == X).any()  # some were clipped


def test_observations_are_noisy_answers():
    problem, rng = IndirectBranin(noise_std=0.5), np.random.default_rng(3)
    answers = [problem.observe([0.4, 0.6], rng) for _ in range(4000)]
    assert np.mean(answers) == pytest.approx(problem.value([0.4, 0.6]), abs=4 * 0.5 / 63)
    assert np.std(answers) == pytest.approx(0.5, rel=0.06)


def test_costs_and_noises_of_the_paper():
    problem = MultiResolutionBranin()
    for depth in range(7):
        d = 2.0 ** -(depth + 1)
        assert problem.cost(depth) == pytest.approx(0.5 * np.log2(1 / d))
        assert problem.level_noise_std(depth) == pytest.approx(0.5 / problem.cost(depth))


@pytest.mark.parametrize("name", MAPS)
def test_a_cell_averages_its_image_or_a_gaussian_around_its_centre(name):
    lower, upper = np.array([0.25, 0.5]), np.array([0.5, 0.75])
    cell = IndirectCell(0.5 * (lower + upper), 1.5, 6, 2, lower, upper)
    whole = MultiResolutionBranin(name, window="cell")
    A = lower + (np.arange(400)[:, None] + 0.5) / 400 * (upper - lower)
    grid = np.stack(np.meshgrid(*whole.location(A).T, indexing="ij"), -1).reshape(-1, 2)
    assert whole.value(cell) == pytest.approx(branin(grid).mean(), rel=1e-4)
    gaussian = MultiResolutionBranin(name)
    expected = IndirectBranin(name, scale=gaussian.level_scale(2)).value(cell.center)
    assert gaussian.value(cell) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "arguments", [{"transformation": "cubic"}, {"scale": 0.0}, {"noise_std": -1.0}]
)
def test_nonsense_is_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        IndirectBranin(**arguments)
    with pytest.raises(ValueError, match="window"):
        MultiResolutionBranin(window="round")
    with pytest.raises(ValueError, match="shape"):
        branin([1.0, 2.0])

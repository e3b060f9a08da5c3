"""The advertising problem and the drawn functions against their definitions."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb.problems import AdvertisingBudget, gp_draw
from skgpb.problems.gp_draws import ArmsProblem, gp_draw_kernel


def response(x, threshold, rate):
    return max(0.0, 100.0 * (1.0 - math.exp(-rate * (x - threshold))))


CAMPAIGNS = [(5.0, 0.5), (2.0, 0.4), (1.0, 0.1)]


def test_clicks_are_the_papers_formula_clipped_at_zero():
    problem = AdvertisingBudget()
    for x in (0.0, 1.0, 2.5, 5.0, 5.1, 20.0):
        expected = [response(x, *campaign) for campaign in CAMPAIGNS]
        np.testing.assert_allclose(problem.clicks([x, x, x]), expected, rtol=1e-13)
    assert problem.clicks([0.0, 0.0, 0.0]).tolist() == [0.0, 0.0, 0.0]


def test_published_optimum_is_the_best_of_all_allocations():
    totals = {
        allocation: sum(response(x, *c) for x, c in zip(allocation, CAMPAIGNS, strict=True))
        for allocation in product(range(21), repeat=3)
        if sum(allocation) <= 20
    }
    best = max(totals, key=totals.get)
    problem = AdvertisingBudget()
    assert best == (9, 6, 5)
    assert problem.best_allocation.tolist() == [9.0, 6.0, 5.0]
    assert problem.optimum == pytest.approx(totals[best], abs=1e-11)
    assert problem.optimum == pytest.approx(199.245, abs=5e-4)
    assert problem.value(problem.best_allocation) == pytest.approx(problem.optimum, abs=1e-11)


def test_arms_are_the_papers_budgets():
    problem = AdvertisingBudget()
    np.testing.assert_array_equal(problem.arms, np.arange(21.0)[:, np.newaxis])
    assert problem.n_campaigns == 3
    kernel = problem.kernel(scale=30.0, length_scale=4.0)
    np.testing.assert_allclose(
        kernel(problem.arms), 900.0 * Matern(4.0, nu=1.5)(problem.arms), rtol=1e-14
    )
    assert problem.kernel().diag(problem.arms) == pytest.approx(100.0**2)


def test_other_campaigns_and_grids_are_welcome():
    problem = AdvertisingBudget(
        max_clicks=10.0, thresholds=[0.0, 0.1], rates=[1.0, 2.0], budget=0.3, n_arms=4
    )
    # 0.1 + 0.2 exceeds 0.3 by rounding only.
    assert problem.best_allocation.sum() == pytest.approx(0.3)
    best = max(
        problem.value([a, b])
        for a, b in product(problem.arms[:, 0], repeat=2)
        if a + b <= 0.3 + 1e-12
    )
    assert problem.optimum == pytest.approx(best, abs=1e-13)


def test_noise_is_of_the_stated_size_and_follows_the_generator():
    problem = AdvertisingBudget()
    rng = np.random.default_rng(0)
    rewards = np.array([problem.observe([9, 6, 5], rng) for _ in range(4000)])
    deviation = rewards - problem.clicks([9, 6, 5])
    # Four standard errors of the mean and of the variance.
    assert np.abs(deviation.mean(axis=0)).max() < 4 * math.sqrt(0.1 / 4000)
    assert np.abs(deviation.var(axis=0) - 0.1).max() < 4 * 0.1 * math.sqrt(2 / 4000)
    assert np.abs(np.corrcoef(deviation.T)[np.triu_indices(3, 1)]).max() < 4 / math.sqrt(4000)
    again = problem.observe([9, 6, 5], np.random.default_rng(0))
    np.testing.assert_array_equal(again, rewards[0])


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"max_clicks": 0.0}, ValueError, "max_clicks"),
        ({"budget": -1.0}, ValueError, "budget"),
        ({"budget": np.inf}, ValueError, "budget"),
        ({"noise_variance": -0.1}, ValueError, "noise_variance"),
        ({"n_arms": 1}, ValueError, "n_arms"),
        ({"n_arms": 2.5}, TypeError, "n_arms"),
        ({"rates": (0.5, 0.4)}, ValueError, "one number for each campaign"),
        ({"rates": (0.5, 0.4, 0.0)}, ValueError, "positive"),
    ],
)
def test_nonsense_campaigns_are_refused(parameters, error, match):
    with pytest.raises(error, match=match):
        AdvertisingBudget(**parameters)


@pytest.mark.parametrize("allocation", [[1.0, 2.0], [1.0, 2.0, -1.0], [1.0, 2.0, np.nan], 3.0])
def test_nonsense_allocations_are_refused(allocation):
    with pytest.raises(ValueError, match="budget"):
        AdvertisingBudget().clicks(allocation)


def test_problems_pickle_and_cannot_be_changed():
    for problem in (AdvertisingBudget(), gp_draw("se", random_state=0)):
        copy = pickle.loads(pickle.dumps(problem))
        assert copy.optimum == problem.optimum
        with pytest.raises(AttributeError):
            problem.optimum = 0.0
        with pytest.raises(ValueError, match="read-only"):
            problem.arms[0, 0] = 1.0


def test_kernels_are_those_of_the_paper():
    X = np.random.default_rng(0).uniform(size=(7, 1))
    np.testing.assert_allclose(gp_draw_kernel("linear")(X), X @ X.T, rtol=1e-14)
    np.testing.assert_allclose(gp_draw_kernel("se")(X), RBF(1.0)(X), rtol=1e-14)
    np.testing.assert_allclose(gp_draw_kernel("matern")(X), Matern(0.2, nu=1.5)(X), rtol=1e-14)
    with pytest.raises(ValueError, match="linear"):
        gp_draw_kernel("rbf")


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "se", "matern", 2.0 * RBF([0.3, 0.8])])
def test_draws_have_the_covariance_of_the_kernel(kernel):
    arms = np.random.default_rng(0).uniform(size=(6, 2))
    draws = np.array([gp_draw(kernel, arms, random_state=seed).values for seed in range(1500)])
    K = (gp_draw_kernel(kernel) if isinstance(kernel, str) else kernel)(arms)
    # Five standard errors: var of a product of two normals is K_ii K_jj + K_ij^2.
    error = np.sqrt((np.outer(np.diag(K), np.diag(K)) + K**2) / 1500)
    assert (np.abs(draws.T @ draws / 1500 - K) < 5 * error).all()
    assert (np.abs(draws.mean(axis=0)) < 5 * np.sqrt(np.diag(K) / 1500)).all()


@pytest.mark.parametrize("kernel", ["linear", "se", "matern"])
def test_norm_is_that_of_the_smoothest_function_with_these_values(kernel):
    problem = gp_draw(kernel, random_state=3)
    K = problem.kernel(problem.arms)
    norm = np.sqrt(problem.values @ np.linalg.pinv(K, rcond=1e-12, hermitian=True) @ problem.values)
    assert problem.rkhs_norm == pytest.approx(norm, rel=1e-4)
    if kernel == "linear":
        # f(x) = c x has norm |c|.
        assert problem.rkhs_norm == pytest.approx(abs(problem.values[-1]), rel=1e-9)


def test_drawn_problem_knows_its_arms_optimum_and_noise():
    problem = gp_draw("se", random_state=1)
    np.testing.assert_array_equal(problem.arms, np.linspace(0, 1, 100)[:, np.newaxis])
    assert problem.noise_variance == 0.1
    assert problem.value(problem.argmax) == problem.optimum == problem.values.max()
    rng = np.random.default_rng(0)
    rewards = np.array([problem.observe(7, rng) for _ in range(4000)])
    assert abs(rewards.mean() - problem.values[7]) < 4 * math.sqrt(0.1 / 4000)
    assert abs(rewards.var() - 0.1) < 4 * 0.1 * math.sqrt(2 / 4000)
    np.testing.assert_array_equal(gp_draw("se", random_state=1).values, problem.values)
    assert not np.array_equal(gp_draw("se", random_state=2).values, problem.values)


def test_first_of_several_best_arms_is_the_optimum():
    problem = ArmsProblem(arms=np.arange(4.0)[:, np.newaxis], values=[0.0, 2.0, 2.0, 1.0])
    assert (problem.argmax, problem.optimum) == (1, 2.0)


def test_nonsense_draws_are_refused():
    with pytest.raises(TypeError, match="kernel"):
        gp_draw(3)
    with pytest.raises(ValueError, match="arms"):
        gp_draw("se", np.zeros(3))
    with pytest.raises(ValueError, match="noise_variance"):
        gp_draw("se", noise_variance=-1.0)
    with pytest.raises(ValueError, match="no arm 100"):
        gp_draw("se").value(100)
    with pytest.raises(ValueError, match="shape"):
        ArmsProblem(arms=np.zeros((3, 1)), values=np.zeros(2))

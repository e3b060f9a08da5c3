"""Information-directed sampling: each round, its queries and its results."""

from __future__ import annotations

import numpy as np
import pytest
from reference.ids import NaiveIDS
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import IDSOptimizer
from skgpb.domains import Cells
from skgpb.kernels import CellAverage
from skgpb.kernels._boxes import boxes_from_points

POINTS = np.linspace(0, 1, 13)[:, None]
BOXES = np.array([[x, x + w] for w in (0.1, 0.25) for x in np.linspace(0, 1 - w, 6)])
COST, ALPHA = np.repeat([1.0, 0.5], 6), np.repeat([0.02, 0.01], 6)

SETTINGS = {
    "points": (0.8 * Matern(0.2, nu=2.5), POINTS, POINTS[::2] + 0.01, np.ones(13), "directed"),
    "prices": (0.8 * Matern(0.2, nu=2.5), POINTS, POINTS, np.linspace(1, 2, 13), "directed"),
    "all of f": (RBF(0.3), POINTS, POINTS, np.linspace(1, 2, 13), "full"),
    "boxes": (
        CellAverage(RBF(0.2), 4),
        BOXES,
        np.vstack([boxes_from_points(POINTS), BOXES[:5]]),
        COST,
        "directed",
    ),
}


def f(points):
    return float(np.sin(7 * points).mean())


def made(name):
    kernel, queries, targets, cost, information = SETTINGS[name]
    alpha = ALPHA if len(queries) == len(ALPHA) else np.linspace(0.01, 0.03, len(queries))
    given = {"queries": queries, "targets": targets, "cost": cost, "alpha": alpha, "beta": 2.0}
    optimizer = IDSOptimizer(kernel, **given, information=information, random_state=0)
    return optimizer, NaiveIDS(kernel, queries, targets, cost, alpha, 2.0, information)


@pytest.mark.parametrize("name", SETTINGS)
def test_round_by_round_it_does_what_the_definition_says(name):
    optimizer, naive = made(name)
    rng = np.random.default_rng(0)
    for _ in range(8):
        posterior = optimizer.posterior()
        gains, ratios = naive.gains(), naive.ratios()
        found = optimizer.information_gain(posterior)
        np.testing.assert_allclose(found, gains, rtol=1e-8, atol=1e-8)
        values = optimizer.acquisition(posterior) - np.log(posterior.cost)
        told = gains > 1e-6  # if a query tells nothing, the ratio is rounding
        np.testing.assert_allclose(np.exp(-values[told]), ratios[told], rtol=1e-6)
        query = optimizer.ask()
        assert ratios[query.index] <= ratios[told].min() * (1 + 1e-8)
        reward = f(query.points) + 0.1 * rng.normal()
        optimizer.tell(query, reward)
        naive.tell(query.index, reward)
    assert optimizer.spent_ == pytest.approx(naive.cost[naive.told].sum())


def test_what_tells_the_two_that_may_be_best_apart_is_asked():
    """Not what is known least: a third place is far from both, and certainly no target."""
    queries, targets = np.array([[0.1], [0.5], [0.9]]), np.array([[0.12], [0.88]])
    optimizer = IDSOptimizer(RBF(0.1), queries=queries, targets=targets, alpha=0.01)
    optimizer.tell([[0.1], [0.9]], [0.5, 0.4])
    assert optimizer.posterior().query_var.argmax() == 1
    assert optimizer.ask().index in (0, 2)


def test_the_bound_follows_beta():
    points = {"queries": POINTS, "alpha": 0.01}
    narrow, wide = (
        IDSOptimizer(RBF(0.2), beta=beta, **points) for beta in (1.0, lambda t: 4.0 * t**2)
    )
    for optimizer in (narrow, wide):
        optimizer.tell(POINTS[3], 0.0)
    # The gap is four times as large in round 2, where all means are 0; its square is in the ratio.
    one, other = (optimizer.acquisition(optimizer.posterior()) for optimizer in (narrow, wide))
    np.testing.assert_allclose(one - other, np.log(16.0))


def test_where_a_rival_is_beaten_at_this_confidence_it_is_still_asked_about():
    optimizer = IDSOptimizer(RBF(0.1), queries=POINTS, targets=[[0.1], [0.5]], alpha=0.01, beta=1.0)
    optimizer.tell([[0.1], [0.5]], [1.0, 0.0])
    gain = optimizer.information_gain(optimizer.posterior())
    assert gain[optimizer.ask().index] >= gain.max() - 1e-9


def test_where_one_target_is_left_what_is_known_least_is_asked():
    optimizer = IDSOptimizer(RBF(0.1), queries=POINTS, targets=[[0.5]], alpha=0.01)
    optimizer.tell(POINTS[2], 1.0)
    var = optimizer.posterior().query_var
    assert var[optimizer.ask().index] >= var.max() - 1e-9


def test_answers_without_noise_are_taken():
    optimizer = IDSOptimizer(RBF(0.2), queries=POINTS[::2], alpha=0.0, random_state=0)
    optimizer.run(lambda arm: f(arm.points), budget=7)
    assert len(np.unique(optimizer.history_["descriptor"], axis=0)) == 7


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_best_cell_is_found_from_cells_of_other_sizes(seed):
    """With nothing known, 40 answers with noise of a 20th of the range."""
    rng = np.random.default_rng(seed)
    peak = rng.uniform(0.2, 0.8, size=2)

    def average(cell):
        values = np.exp(-(((cell.points - peak) / 0.2) ** 2).sum(axis=1))
        return float(values.mean() + 0.05 * rng.normal())

    optimizer = IDSOptimizer(
        queries=Cells([0.1, 0.4]), targets=Cells(0.2), bounds=[(0, 1)] * 2, random_state=seed
    )
    result = optimizer.run(average, budget=40)
    assert np.abs(result.x.center - peak).max() < 0.1


def test_a_run_says_how_much_better_the_best_may_be():
    optimizer, _ = made("points")
    result = optimizer.run(lambda query: f(query.points), budget=8)
    assert 0.0 <= result.gap == optimizer.gap(0.05) < 1.0

"""Information-directed sampling round by round, and what is asked and found by it."""

from __future__ import annotations

import numpy as np
import pytest
from reference.ids import NaiveIDS
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import IDSOptimizer
from skgpb.domains import Cells
from skgpb.kernels import CellAverage, boxes_from_points

POINTS = np.linspace(0, 1, 13)[:, None]
BOXES = np.array([[x, x + w] for w in (0.1, 0.25) for x in np.linspace(0, 1 - w, 6)])
COST, ALPHA = np.repeat([1.0, 0.5], 6), np.repeat([0.02, 0.01], 6)

SETTINGS = {
    "decision": (0.8 * Matern(0.2, nu=2.5), POINTS, POINTS[::2] + 0.01, np.ones(13), "directed"),
    "query": (0.8 * Matern(0.2, nu=2.5), POINTS, POINTS, np.linspace(1, 2, 13), "directed"),
    "query, all of f": (RBF(0.3), POINTS, POINTS, np.linspace(1, 2, 13), "full"),
    "query, boxes": (
        CellAverage(RBF(0.2), 4),
        BOXES,
        np.vstack([boxes_from_points(POINTS), BOXES[:5]]),
        COST,
        "directed",
    ),
}


def f(points):
    return float(np.sin(7 * points).mean())


def made(name, **parameters):
    kernel, queries, targets, cost, information = SETTINGS[name]
    alpha = ALPHA if len(queries) == len(ALPHA) else np.linspace(0.01, 0.03, len(queries))
    regret, beta = name.partition(",")[0], 2.0
    given = {"queries": queries, "targets": targets, "cost": cost, "alpha": alpha, "beta": beta}
    given |= {"regret": regret, "information": information, "random_state": 0}
    optimizer = IDSOptimizer(kernel, **given | parameters)
    return optimizer, NaiveIDS(kernel, queries, targets, cost, alpha, beta, regret, information)


@pytest.mark.parametrize("name", SETTINGS)
def test_round_by_round_it_does_what_the_definition_says(name):
    optimizer, naive = made(name)
    rng = np.random.default_rng(0)
    mixed = 0
    for _ in range(8):
        posterior = optimizer.posterior()
        gaps, gains = naive.gaps(), naive.gains()
        # What should be 0 is the root of a rounding error of 1e-16.
        np.testing.assert_allclose(optimizer.gaps(posterior), gaps, rtol=1e-8, atol=1e-7)
        found = optimizer.information_gain(posterior)
        np.testing.assert_allclose(found, gains, rtol=1e-8, atol=1e-8)
        values = optimizer.acquisition(posterior)
        assert np.exp(-values.max()) == pytest.approx(naive.ratio(), rel=1e-8, abs=1e-13)
        with np.errstate(divide="ignore"):
            alone = gains / (gaps**2 * naive.cost)
        drawn = int(np.argmax(values))
        mixed += np.exp(values[drawn]) > alone[drawn] * (1 + 1e-6)
        others = (np.arange(len(values)) != drawn) & (gaps > 1e-6)
        np.testing.assert_allclose(
            np.exp(values[others]), alone[others], rtol=1e-6, atol=1e-8 * alone[others].max()
        )
        query = optimizer.ask()
        assert values[query.index] >= values[drawn] - 1e-9
        reward = f(query.points) + 0.1 * rng.normal()
        optimizer.tell(query, reward)
        naive.tell(query.index, reward)
    # Gaps that are all alike need no mixture.
    assert bool(mixed) == (name in ("query", "query, boxes"))
    assert optimizer.spent_ == pytest.approx(naive.cost[naive.told].sum())


def test_of_two_queries_each_is_drawn_as_its_share_of_the_money_says():
    optimizer = made("query, boxes")[0]
    for query in optimizer.ask(3):
        optimizer.tell(query, f(query.points))
    posterior = optimizer.posterior()
    gap, cost = optimizer.gaps(posterior), posterior.cost
    gain = optimizer.information_gain(posterior) / cost
    drawn = [int(np.argmax(optimizer.acquisition(posterior))) for _ in range(1000)]
    numbers, counts = np.unique(drawn, return_counts=True)
    assert len(numbers) == 2
    often = counts / 1000
    # E[cost gap]^2 / (E[cost] E[gain]) of the shares that were counted is the least there is, but
    # for the chance of 1000 draws: five standard deviations of a share of one half.
    (i, j), shares = numbers, np.linspace(0, 1, 10_001)
    spent, missed, told = (
        shares * x[i] + (1 - shares) * x[j] for x in (cost, cost * gap, cost * gain)
    )
    assert abs(shares[np.argmin(missed**2 / (spent * told))] - often[0]) < 5 * 0.5 / 1000**0.5


def test_a_deterministic_one_asks_for_the_least_ratio_of_one_query():
    optimizer, naive = made("query", deterministic=True)
    for _ in range(2):
        inverse = naive.gains() / (naive.gaps() ** 2 * naive.cost)
        values = np.exp(optimizer.acquisition(optimizer.posterior()))
        np.testing.assert_allclose(values, inverse, rtol=1e-8, atol=1e-12)
        query = optimizer.ask()
        assert query.index == np.argmax(inverse)
        optimizer.tell(query, 1.0)
        naive.tell(query.index, 1.0)


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
    gaps = [optimizer.gaps(optimizer.posterior())[0] for optimizer in (narrow, wide)]
    assert gaps[1] == pytest.approx(4 * gaps[0])  # round 2, and all means are 0


def test_where_a_rival_is_beaten_at_this_confidence_it_is_still_asked_about():
    optimizer = IDSOptimizer(RBF(0.1), queries=POINTS, targets=[[0.1], [0.5]], alpha=0.01, beta=1.0)
    optimizer.tell([[0.1], [0.5]], [1.0, 0.0])
    posterior = optimizer.posterior()
    assert not optimizer.gaps(posterior).any()
    gain = optimizer.information_gain(posterior)
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
    optimizer, _ = made("query", regret="query")
    result = optimizer.run(lambda query: f(query.points), budget=8)
    assert 0.0 <= result.gap == optimizer.gap(0.05) < 1.0

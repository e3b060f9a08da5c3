"""Searches with all defaults, on functions where an overconfident model failed.

A few seeds are played by default, all that a claim is about in the slow tests.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgpb.kernels import WindowMean
from skgpb.optimizers import CMESOptimizer, CMETSOptimizer, DAGPUCBOptimizer, GPUCBOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit

SEEDS = range(20)
# One of twenty runs may fail.
MOST_FAILURES = 1
NODES = (np.arange(24) + 0.5) / 24
SQUARE = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), -1).reshape(-1, 2)
BUDGETS = np.arange(21.0)[:, None]
CLICKS, RATES, THRESHOLDS = (np.array(x) for x in ([100, 80, 120], [0.3, 0.2, 0.25], [0, 0, 4]))
# The best split of 20 is (5, 5, 10).
MOST_CLICKS = 221.48


def humps(seed, rounds=30):
    """Recommendation where X = 1 - A + 0.07 noise is learned from 400 pairs."""

    def f(x):
        return 0.6 * np.exp(-0.5 * ((x - 0.29) / 0.06) ** 2) + np.exp(
            -0.5 * ((x - 0.8) / 0.06) ** 2
        )

    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(400, 1))
    X = 1.0 - A + 0.07 * rng.normal(size=A.shape)
    optimizer = CMESOptimizer(random_state=seed).fit(X, queries=A)
    for _ in range(rounds):
        query = optimizer.ask()
        x = 1.0 - query.a[0] + 0.07 * rng.normal(size=1000)
        optimizer.tell(query, f(x).mean() + 0.02 * rng.normal())
    return optimizer.recommend()[0]


def clicks(costs):
    """Clicks of three campaigns; the third responds from 4 on."""
    return -CLICKS * np.expm1(-RATES * np.maximum(costs - THRESHOLDS, 0.0))


def campaigns(seed, days=25):
    """Clicks of the split that is recommended."""
    rng = np.random.default_rng(seed)
    optimizers = [DAGPUCBOptimizer(arms=BUDGETS)] * 3
    bandit = CombinatorialBandit(optimizers, budget=20.0, random_state=seed)
    for _ in range(days):
        split = bandit.ask()
        bandit.tell(split, clicks(split.costs) + 5.0 * rng.normal(size=3))
    return clicks(bandit.recommend().costs).sum()


def peak(seed, max_cost, noise=0.02):
    """Distance of the recommendation from a narrow peak, in standard deviations of the peak."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(0.1, 0.9, 2)

    def average(cell):
        x = cell.lower + SQUARE * (cell.upper - cell.lower)
        values = np.exp(-0.5 * ((x - center) ** 2).sum(axis=1) / 0.05**2)
        return values.mean() + noise * rng.normal()

    optimizer = CMETSOptimizer(bounds=[(0, 1), (0, 1)], random_state=seed)
    result = optimizer.run(average, max_cost=max_cost)
    return np.abs(result.x - center).max() / 0.05


def hump(seed, told, rounds=40):
    """Distance of the recommendation from a narrow hump next to a wide hill, in hump widths.

    ``n`` points in a quarter of the interval away from the hump are told before the run.
    """
    rng = np.random.default_rng([seed, 1])
    hill, narrow = 0.5, 0.5
    while abs(hill - narrow) <= 0.4:
        narrow, hill = rng.uniform(0.1, 0.9, 2)

    def answer(x):
        wide = 0.6 * np.exp(-0.5 * ((x - hill) / 0.3) ** 2)
        high = np.exp(-0.5 * ((x - narrow) / 0.03) ** 2)
        return wide + high + 0.05 * rng.normal(size=x.shape)

    optimizer = GPUCBOptimizer(bounds=[(0, 1)], random_state=seed)
    if told:
        X = (0.75 if narrow < 0.5 else 0.0) + 0.25 * rng.random(told)
        optimizer.fit(X[:, np.newaxis], answer(X))
    for _ in range(rounds):
        query = optimizer.ask()
        optimizer.tell(query, float(answer(query.center)[0]))
    return abs(optimizer.recommend().center[0] - narrow) / 0.03


def behind_a_blur(seed, width, rounds=100, noise=0.1):
    """Regret, as a share of the range, on a hump as narrow as a known blur, next to a hill."""
    rng = np.random.default_rng([seed, 2])
    hill, narrow = 0.5, 0.5
    while abs(hill - narrow) <= 0.4:
        narrow, hill = rng.uniform(0.1, 0.9, 2)

    def f(x, blur=0.0):
        parts = ((1.0, narrow, width), (0.6, hill, 0.25))
        return sum(
            h * s / np.hypot(s, blur) * np.exp(-0.5 * (x - c) ** 2 / (s**2 + blur**2))
            for h, c, s in parts
        )

    optimizer = CMESOptimizer(
        conditional=WindowMean(scale=width),
        bounds=[(0, 1)],
        query_bounds=[(0, 1)],
        random_state=seed,
    )
    x = np.append(np.linspace(0.0, 1.0, 1001), narrow)
    span = np.ptp(f(x))
    for _ in range(rounds):
        query = optimizer.ask()
        optimizer.tell(query, float(f(query.a[0], width)) + noise * span * rng.normal())
    return (f(x).max() - f(optimizer.recommend()[0])) / span


@pytest.mark.parametrize(("seed", "told"), [(2, 0), (3, 0), (0, 30), (1, 30)])
def test_a_hump_is_not_silenced_by_a_hill_or_by_points_in_a_cluster(seed, told):
    assert hump(seed, told) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("told", [0, 30])
def test_a_hump_is_not_silenced_in_most_runs(told):
    # Four of twenty humps, at most, lie between the answers: when first designs were Sobol points
    # that told ones replaced it was 8 without and 19 with a cluster. Of 20 draws of a chance of
    # one in five 6 are within one standard deviation of the 4 that are expected.
    missed = [hump(seed, told) >= 1.0 for seed in SEEDS]
    assert missed.count(True) <= 6


@pytest.mark.parametrize(
    ("width", "most"),
    [
        pytest.param(0.02, 5, marks=pytest.mark.exhaustive),
        pytest.param(0.03, 3, marks=pytest.mark.slow),
        pytest.param(0.05, 3, marks=pytest.mark.exhaustive),
    ],
)
def test_a_hump_as_narrow_as_a_known_blur_is_found_in_most_runs(width, most):
    # More have a probability of 0.011 if one in ten is missed, and of 0.016 if one in twenty is.
    # Ten first queries and no repeats miss 15, 6 and none of the seeds 3000 to 3019.
    missed = [behind_a_blur(seed, width) > 0.2 for seed in SEEDS]
    assert missed.count(True) <= most


@pytest.mark.parametrize(
    ("scale", "window", "n"),
    [(0.1, "gaussian", 10), (0.03, "gaussian", 17), (0.06, "uniform", 15), (1e-4, "gaussian", 25)],
)
def test_first_queries_on_the_line_are_no_farther_apart_than_two_blurs(scale, window, n):
    optimizer = CMESOptimizer(
        conditional=WindowMean(scale=scale, window=window),
        bounds=[(0, 5)],
        query_bounds=[(0, 1)],
        random_state=0,
    )
    a = np.sort([query.a[0] for query in optimizer.ask(n)])
    assert_allclose(np.diff(a), 1.0 / n, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_of_two_humps_behind_a_learned_blur_the_higher_is_found(seed):
    assert abs(humps(seed, rounds=20) - 0.8) < 0.09


@pytest.mark.parametrize("seed", [0, 1])
def test_a_campaign_that_responds_late_gets_its_share(seed):
    assert campaigns(seed, days=15) > 0.95 * MOST_CLICKS


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4])
def test_a_narrow_peak_is_found_by_averages(seed):
    assert peak(seed, max_cost=60) < 1.0


@pytest.mark.slow
def test_a_narrow_peak_is_found_under_noise_of_a_tenth_of_its_height():
    assert peak(2, max_cost=60, noise=0.1) < 1.0


@pytest.mark.slow
def test_a_narrow_peak_is_found_under_noise_with_several_seeds():
    """At this cost 5 of 12 seeds find it, with the rounding of one processor.

    A single seed says little: one answer that is asked again changes all later queries.
    """
    found = [peak(seed, max_cost=60, noise=0.1) < 1.0 for seed in range(12)]
    assert sum(found) >= 2  # fewer have a probability of 0.008 at 5 of 12


@pytest.mark.exhaustive
def test_of_two_humps_the_higher_is_found_in_nearly_all_runs():
    found = [abs(humps(seed) - 0.8) < 0.09 for seed in SEEDS]
    assert found.count(False) <= MOST_FAILURES


@pytest.mark.slow
def test_a_campaign_that_responds_late_gets_its_share_in_nearly_all_runs():
    found = [campaigns(seed) > 0.95 * MOST_CLICKS for seed in SEEDS]
    assert found.count(False) <= MOST_FAILURES


@pytest.mark.parametrize(
    ("noise", "max_cost"),
    [
        pytest.param(0.02, 100, marks=pytest.mark.slow),
        pytest.param(0.1, 300, marks=pytest.mark.exhaustive),
    ],
)
def test_a_narrow_peak_is_found_by_averages_in_nearly_all_runs(noise, max_cost):
    found = [peak(seed, max_cost, noise) < 1.0 for seed in SEEDS]
    assert found.count(False) <= MOST_FAILURES


@pytest.mark.parametrize(
    ("sides", "spacing"),
    [({"heat": (0, 1), "kind": ["A", "B"]}, 0.0), ([(0, 1)] * 5, 0.0), ([(0, 1)], 1 / 73)],
)
def test_after_one_answer_what_was_tried_is_recommended(sides, spacing):
    opt = GPUCBOptimizer(bounds=sides, random_state=0)
    query = opt.ask()
    opt.tell(query, 0.37)
    assert_allclose(opt.recommend().points, query.points, atol=0.5 * spacing + 1e-12)

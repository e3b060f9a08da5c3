"""The multiple-choice knapsack against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from reference.knapsack import brute_force

from skgpb.optimizers.combinatorial import CostTable, knapsack

GRID = np.arange(21.0)


def random_problem(rng, kind):
    sizes = rng.integers(1, 6, size=rng.integers(1, 5))
    if kind == "integers":  # many ties
        costs = [rng.integers(0, 6, s).astype(float) for s in sizes]
        values = [rng.integers(-2, 4, s).astype(float) for s in sizes]
    elif kind == "tenths":  # totals that agree up to rounding only
        costs = [rng.integers(0, 11, s) / 10 for s in sizes]
        values = [rng.normal(size=s) for s in sizes]
    else:
        costs = [rng.uniform(size=s) for s in sizes]
        values = [rng.normal(size=s) for s in sizes]
    room = rng.integers(0, 6) if kind == "integers" else rng.integers(0, 20) / 10
    return values, costs, float(sum(c.min() for c in costs) + room)


@pytest.mark.parametrize("kind", ["integers", "tenths", "irregular"])
def test_knapsack_equals_brute_force(kind):
    rng = np.random.default_rng(0)
    for _ in range(300):
        values, costs, budget = random_problem(rng, kind)
        choice = knapsack(values, costs, budget)
        assert tuple(choice) == brute_force(values, costs, budget), (values, costs, budget)


def test_knapsack_recovers_the_published_optimum():
    clicks = [
        np.maximum(0.0, 100 * (1 - np.exp(-rate * (GRID - threshold))))
        for rate, threshold in ((0.5, 5), (0.4, 2), (0.1, 1))
    ]
    choice = knapsack(clicks, [GRID] * 3, 20)
    assert choice.tolist() == [9, 6, 5]
    assert sum(c[k] for c, k in zip(clicks, choice, strict=True)) == pytest.approx(
        199.245, abs=5e-4
    )


def test_knapsack_scales_to_many_campaigns():
    # Concave values on a common grid: greedy by marginal value is optimal.
    rng = np.random.default_rng(0)
    slopes = -np.sort(-rng.uniform(size=(40, 30)), axis=1)
    values = np.concatenate([np.zeros((40, 1)), slopes.cumsum(axis=1)], axis=1)
    choice = knapsack(list(values), [np.arange(31.0)] * 40, 300)
    assert choice.sum() == 300
    total = values[np.arange(40), choice].sum()
    assert total == pytest.approx(np.sort(slopes.ravel())[-300:].sum(), rel=1e-12)


def test_rounding_of_costs_does_not_break_the_budget():
    values, costs = [[0.0, 1.0], [0.0, 1.5]], [[0.0, 0.1], [0.0, 0.2]]
    assert 0.1 + 0.2 > 0.3
    assert knapsack(values, costs, 0.3).tolist() == [1, 1]
    assert knapsack(values, costs, 0.29).tolist() == [0, 1]


def test_ties_go_to_the_cheapest_then_to_the_first():
    assert knapsack([[1.0, 1.0]], [[3.0, 2.0]], 5).tolist() == [1]
    assert knapsack([[1.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [1.0, 1.0]], 5).tolist() == [0, 0]
    # (0, 1) and (1, 0) tie in value and in cost.
    assert knapsack([[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]], 1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "costs", "budget", "match"),
    [
        ([[1.0]], [[2.0]], 1.0, "cheapest"),
        ([[1.0]], [[-1.0]], 1.0, "negative"),
        ([[1.0]], [[np.nan]], 1.0, "finite"),
        ([[np.inf]], [[1.0]], 1.0, "finite"),
        ([[1.0]], [[1.0]], np.nan, "budget must be finite"),
        ([[1.0]], [[1.0]], -1.0, "budget must be finite"),
        ([[1.0]], [[1.0]], np.inf, "budget must be finite"),
        ([[1.0, 2.0]], [[1.0]], 1.0, "campaign 0"),
        ([[1.0]], [[1.0], [1.0]], 3.0, "2 campaigns"),
        ([], [], 1.0, "at least one"),
        ([[]], [[]], 1.0, "at least one"),
        ([1.0], [1.0], 1.0, "shape"),
    ],
)
def test_nonsense_knapsacks_are_refused(values, costs, budget, match):
    with pytest.raises(ValueError, match=match):
        knapsack(values, costs, budget)


@pytest.mark.parametrize("bad", [[1.0, np.nan], [np.inf, 1.0], [1.0, -1.0]])
def test_costs_are_finite_and_not_negative(bad):
    with pytest.raises(ValueError, match="costs of campaign 1 must be finite and not negative"):
        CostTable([[0.0, 2.0], bad], 3.0)


def test_next_best_allocation_is_the_best_of_the_others():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, costs, budget = random_problem(rng, "irregular")
        table, flat = CostTable(costs, budget), np.concatenate(values)
        feasible = [
            choice
            for choice in product(*(range(len(v)) for v in values))
            if sum(c[k] for c, k in zip(costs, choice, strict=True)) <= budget * (1 + 1e-9)
        ]
        feasible.sort(key=lambda ch: -sum(v[k] for v, k in zip(values, ch, strict=True)))
        excluded = set()
        for expected in feasible[:15]:
            choice = tuple(table.best_but(flat, excluded, np.ones(len(flat), dtype=bool)).tolist())
            assert choice == expected
            excluded.add(choice)
        assert table.best_but(flat, set(feasible), np.ones(len(flat), dtype=bool)) is None

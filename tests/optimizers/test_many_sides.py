"""Boxes of many numbers: the search begins at the middle, and does not end below it."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb import EIOptimizer, GPUCBOptimizer, MESOptimizer, defaults
from skgpb.domains import Box
from skgpb.domains.first_design import first_points

D = defaults.MIDDLE_FIRST


def valley(x):
    """A bent valley, highest at 0.75 on every side; most points are far below the middle."""
    z = 4.0 * x - 2.0
    return -np.log1p((100.0 * (z[1:] - z[:-1] ** 2) ** 2 + (1.0 - z[:-1]) ** 2).sum())


def bowl(x):
    """A paraboloid around a point that is drawn at random."""
    return -((x - np.random.default_rng(len(x)).uniform(0.1, 0.9, len(x))) ** 2).sum()


def design(optimizer):
    return np.array([arm.points[0] for arm in optimizer.ask(defaults.N_INITIAL)])


@pytest.mark.parametrize("cls", [GPUCBOptimizer, EIOptimizer, MESOptimizer])
def test_the_first_query_of_many_numbers_is_the_middle(cls):
    bounds = np.column_stack([np.arange(D) - 5.0, 2.0 * np.arange(D) + 1.0])
    asked = design(cls(bounds=bounds, random_state=0))
    np.testing.assert_array_equal(asked[0], bounds.mean(axis=1))
    assert len(np.unique(asked, axis=0)) == defaults.N_INITIAL


def test_named_numbers_have_their_middle_on_their_own_scale():
    sides = {f"x{i}": (0.0, 4.0) for i in range(D)}
    first = GPUCBOptimizer(bounds=sides, random_state=0).ask().params
    assert set(first.values()) == {2.0} and first.keys() == sides.keys()


def test_few_numbers_and_lists_have_the_points_of_the_sequence():
    bounds = np.tile([0.0, 1.0], (D - 1, 1))
    optimizer = GPUCBOptimizer(bounds=bounds, random_state=0)
    asked = design(optimizer)
    sequence = first_points(bounds, defaults.N_INITIAL, optimizer.run_.seed)
    np.testing.assert_array_equal(np.unique(asked, axis=0), np.unique(sequence, axis=0))
    sides = {"solvent": ["a", "b"]} | {f"x{i}": (0.0, 1.0) for i in range(D)}
    first = GPUCBOptimizer(bounds=sides, random_state=0).ask().params
    assert 0.5 not in first.values()


def test_a_middle_that_fails_is_replaced():
    bounds = np.tile([0.0, 1.0], (D, 1))
    optimizer = GPUCBOptimizer(bounds=bounds, random_state=0)
    optimizer.tell(optimizer.ask(), None)
    asked = design(optimizer)
    assert len(np.unique(asked, axis=0)) == defaults.N_INITIAL
    assert not (asked == 0.5).all(axis=1).any()


@pytest.mark.parametrize("regret", ["cumulative", "simple"])
@pytest.mark.parametrize("f", [valley, bowl])
def test_a_search_of_fifty_numbers_ends_no_lower_than_the_middle(f, regret):
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 50, regret=regret, random_state=0)
    for _ in range(25):
        query = optimizer.ask()
        optimizer.tell(query, f(query.points[0]))
    assert f(optimizer.recommend().points[0]) >= f(np.full(50, 0.5))


def steep(x):
    """A slope along every side."""
    return x.sum() / len(x)


@pytest.mark.parametrize(("f", "is_middle"), [(valley, True), (steep, False)])
def test_the_middle_is_recommended_unless_another_setting_is_better_by_a_deviation(f, is_middle):
    bounds, rng = np.tile([0.0, 1.0], (D, 1)), np.random.default_rng(3)
    optimizer = GPUCBOptimizer(bounds=bounds, random_state=3)
    middle = np.full((1, D), 0.5)
    noise = 0.3 * np.std([f(x) for x in rng.random((256, D))])
    for _ in range(40):
        query = optimizer.ask()
        optimizer.tell(query, f(query.points[0]) + noise * rng.normal())
    best = optimizer.recommend().points
    assert (best == middle).all() == is_middle
    candidates = np.vstack([middle, optimizer.domain_.rows])
    mean, cov = optimizer.predict(candidates, return_cov=True)
    spread = np.sqrt(np.diag(cov) - 2.0 * cov[0] + cov[0, 0])
    largest = int(mean.argmax())
    assert (mean[largest] - mean[0] <= 1.1 * spread[largest]) == is_middle


def test_a_middle_that_a_constraint_forbids_is_not_recommended():
    sides = {f"x{i}": (0.0, 1.0) for i in range(D)}
    box, rng = Box(sides, constraints=["x0 + x1 <= 0.8"]), np.random.default_rng(0)
    optimizer = GPUCBOptimizer(bounds=box, random_state=0)
    optimizer.tell(dict.fromkeys(sides, 0.5), 5.0)
    for _ in range(20):
        query = optimizer.ask()
        optimizer.tell(query, bowl(query.points[0]) + 0.3 * rng.normal())
    best = optimizer.recommend().params
    assert best["x0"] + best["x1"] <= 0.8 + 1e-9


def kinds_of_functions(d):
    """Nine functions (n, d) -> (n,) of several kinds with the points where they are largest."""
    rng = np.random.default_rng(d)
    c, six = rng.uniform(0.1, 0.9, d), rng.choice(d, 6, replace=False)
    signs = rng.choice([-1, 1], d)
    slope, turned = rng.normal(size=d), np.linalg.qr(rng.normal(size=(d, d)))[0]
    steep, pairs = np.geomspace(0.3, 3.0, d), rng.permutation(d).reshape(-1, 2).T

    def two_hills(X):
        Z = 10.0 * (X - 0.5) * signs
        return -(Z**4 - 16.0 * Z**2 + 5.0 * Z).sum(axis=1)

    def paired(X):
        U = X - c
        return -(U**2).sum(axis=1) - (U[:, pairs[0]] * U[:, pairs[1]]).sum(axis=1)

    return [
        (lambda X: -((X - c) ** 2).sum(axis=1), c),
        (lambda X: -((X - c) ** 2 - 0.04 * np.cos(5.0 * np.pi * (X - c))).sum(axis=1), c),
        (lambda X: -(((X - c) @ turned * steep) ** 2).sum(axis=1), c),
        (lambda X: X @ slope, (slope > 0.0).astype(float)),
        (two_hills, 0.5 - 0.290353 * signs),
        (paired, c),
        (lambda X: -np.sqrt(np.abs(X - c)).sum(axis=1), c),
        (lambda X: -((X[:, six] - c[six]) ** 2).sum(axis=1), c),
        (lambda X: np.array([valley(x) for x in X]), np.full(d, 0.75)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("d", [50, 100])
def test_a_bent_valley_under_noise_ends_no_lower_than_its_middle(d):
    """All but one of five runs; without the margin of the middle none does."""
    ends = []
    for seed in range(10, 15):
        rng = np.random.default_rng([seed, 5])
        span = -min(valley(x) for x in rng.random((1024, d)))
        optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * d, random_state=seed)
        for _ in range(100):
            query = optimizer.ask()
            optimizer.tell(query, valley(query.points[0]) / span + 0.1 * rng.normal())
        ends.append(valley(optimizer.recommend().points[0]))
    assert sum(end >= valley(np.full(d, 0.5)) for end in ends) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("d", [50, 100])
def test_a_hundred_answers_are_no_worse_than_the_first_design(d, noise):
    """The last recommendation is not below that after ten answers by more than an error."""
    losses, rng = [], np.random.default_rng(7)
    for f, largest_at in kinds_of_functions(d):
        span = float(f(largest_at[np.newaxis])[0] - f(rng.random((4096, d))).min())
        optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * d, random_state=7)
        ends = []
        for n in (defaults.N_INITIAL, 100 - defaults.N_INITIAL):
            for _ in range(n):
                query = optimizer.ask()
                optimizer.tell(query, float(f(query.points)[0]) / span + noise * rng.normal())
            ends.append(float(f(optimizer.recommend().points)[0]) / span)
        losses.append(ends[0] - ends[1])
    assert np.mean(losses) <= np.std(losses, ddof=1) / np.sqrt(len(losses))

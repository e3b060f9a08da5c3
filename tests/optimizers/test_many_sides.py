"""Boxes of many numbers: the search begins at the middle, and does not end below it."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb import EIOptimizer, GPUCBOptimizer, MESOptimizer, defaults
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

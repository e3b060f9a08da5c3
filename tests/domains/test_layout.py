"""Rows of points, boxes and weighted sums: each column comes back from where it was put."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgpb.domains import Districts
from skgpb.domains.arms import Layout


@pytest.mark.parametrize("n_context", [0, 1, 2])
@pytest.mark.parametrize("counts", [None, (3, 1)])
@pytest.mark.parametrize("task_column", [None, 0.0, -1.0])
def test_what_is_joined_is_split_again(n_context, counts, task_column):
    rng = np.random.default_rng(0)
    actions = Layout(2, counts=counts, task_column=task_column)
    layout = actions.add_contexts(n_context)
    n_columns = 2 * (1 if counts is None else 2) + (task_column is not None)
    rows = rng.normal(size=(5, n_columns))
    assert actions.n_columns == n_columns and layout.actions_layout == actions
    assert layout.counts_of_all == (None if counts is None else (1,) * n_context + counts)
    for contexts in (rng.normal(size=n_context), rng.normal(size=(5, n_context))):
        joined = layout.with_contexts(contexts, rows)
        assert joined.shape == (5, layout.n_columns)
        assert_array_equal(layout.actions_of(joined), rows)
        lower, upper = layout.corners(joined)
        for corner in (lower, upper):
            assert_array_equal(corner[:, :n_context], np.broadcast_to(contexts, (5, n_context)))
        assert_array_equal(lower[:, n_context:], rows[:, :2])
        assert_array_equal(upper[:, n_context:], rows[:, :2] if counts is None else rows[:, 2:4])
        assert_allclose(layout.places(joined), (lower + upper) / 2)
        trailing = rows[:, n_columns - (task_column is not None) :]
        assert_array_equal(layout.trailing_columns(joined), trailing)
    points = rng.normal(size=(4, 2 + n_context))
    described = layout.rows_of(points)
    assert described.shape == (4, layout.n_columns)
    assert_array_equal(layout.corners(described), [points, points])
    assert (layout.trailing_columns(described) == task_column).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_districts_are_averages_of_their_points(weighted):
    rng = np.random.default_rng(1)
    points = rng.uniform(size=(9, 2))
    names = ["b", "a", "b", "c", "a", "b", "c", "c", "a"]
    weights = rng.uniform(0.5, 2.0, 9) if weighted else None
    districts = Districts(points, names, weights)
    assert districts.labels == ["b", "a", "c"] and len(districts) == 3
    arms = districts.as_set(np.array([[0.0, 1.0]] * 2), first=4)
    for i, label in enumerate(districts.labels):
        own = np.flatnonzero(np.array(names) == label)
        share = np.ones(len(own)) if weights is None else weights[own]
        share = share / share.sum()
        assert_array_equal(districts.members[i][0], own)
        assert_allclose(districts.members[i][1], share)
        assert_allclose(arms.rows[i], [*(share @ points[own]), 4 + i])
        arm = arms.arm(i)
        assert arm.name == label
        assert_allclose(arm.weights, share)
        assert_array_equal(arm.points, points[own])
    assert_allclose(districts.shares, np.concatenate([each for _, each in districts.members]))


def test_districts_are_the_same_if_points_names_and_shares_are():
    points, names = np.arange(4.0)[:, None], [1, 1, 2, 2]
    districts = Districts(points, names, [1.0, 3.0, 2.0, 2.0])
    same = Districts(points, names, [2.0, 6.0, 1.0, 1.0])  # weights count within a district
    assert districts == same and hash(districts) == hash(same)
    for other in (
        Districts(points + 1.0, names, [1.0, 3.0, 2.0, 2.0]),
        Districts(points, [1, 1, 2, 3], [1.0, 3.0, 2.0, 2.0]),
        Districts(points, names),
        "districts",
    ):
        assert districts != other
    Districts(points, names, [0.0, 1.0, 1.0, 0.0])
    for weights in ([0.0, 0.0, 1.0, 1.0], [1.0, -1.0, 1.0, 1.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="weights of Districts must"):
            Districts(points, names, weights)
    for wrong in ([1, 1, 2], [0.5, 1.5, 2.5, 3.5]):
        with pytest.raises(ValueError, match="names of Districts must"):
            Districts(points, wrong)

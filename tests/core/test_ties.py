"""Scores that tie: which do, and which of them wins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgpb._core._ties import (
    argmax_first,
    exceeds,
    first_of_rows,
    largest_first,
    levelled,
    size_of,
    tied,
)
from skgpb._core._tree import first_maximum, tie_tolerance
from skgpb.acquisition.entropy import maximisers
from skgpb.acquisition.knowledge import log_knowledge_gradient
from skgpb.acquisition.ucb import argmax_frequencies

INF = np.inf


def test_scores_in_units_of_the_surrogate_tie_within_that_unit_or_their_own_size():
    assert tie_tolerance(0.3) == tie_tolerance(-1.0) == 1e-9
    assert tie_tolerance(-450.0) == pytest.approx(4.5e-7)
    assert tie_tolerance(INF) == tie_tolerance(-INF) == 0.0
    assert first_maximum(np.array([0.0, 5e-10])) == 0
    assert first_maximum(np.array([1e6, 1e6 + 5e-4])) == 0
    assert first_maximum(np.array([1e6, 1e6 + 5e-3])) == 1
    assert first_maximum(np.array([-INF, INF, INF])) == 1
    assert first_maximum(np.array([np.nan, -INF])) == 1


@pytest.mark.parametrize("unit", [1e-200, 1e-12, 1e-3, 1.0, 1e5, 1e200])
def test_which_score_of_a_rule_is_the_best_does_not_depend_on_its_unit(unit):
    scores = np.array([0.2, 0.5, 0.9, 0.9 + 1e-12, 0.9 - 1e-12, 0.9 - 1e-6])
    assert argmax_first(unit * scores) == 2
    assert_array_equal(tied(unit * scores), [2, 3, 4])
    assert_array_equal(
        np.unique(levelled(unit * scores)), unit * np.array([0.2, 0.5, *scores[5:3:-1]])
    )
    size = size_of(unit * scores)
    assert exceeds(unit * 0.9, unit * 0.5, size)
    assert not exceeds(unit * scores[3], unit * scores[2], size)


def test_scores_of_no_size_all_tie():
    assert argmax_first(np.zeros(3)) == 0
    assert_array_equal(tied(np.zeros(3)), [0, 1, 2])
    assert size_of(np.array([-INF, 0.25, -0.5])) == 0.5
    assert not exceeds(0.0, 0.0)


def test_infinite_scores_tie_with_none_but_their_like():
    scores = np.array([-INF, 1.0, -INF, INF, 1.0 + 1e-12])
    assert argmax_first(scores) == 3
    assert_array_equal(levelled(scores), [-INF, 1.0, -INF, INF, 1.0])
    assert exceeds(0.0, -INF) and exceeds(INF, 1e300) and not exceeds(-INF, -INF)
    assert not exceeds(np.nan, 0.0)


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e9])
@pytest.mark.parametrize("n", [1, 5, 10, 99, 100, 200])
def test_the_largest_scores_come_in_the_order_of_their_levels(n, unit):
    rng = np.random.default_rng(n)
    scores = unit * rng.integers(-5, 25, 100)  # with ties
    scores[scores == 0.0] = -INF
    # A score may tie with the next, and that with the next, while the ends do not tie.
    scores += 7e-10 * unit * rng.integers(0, 4, 100)
    expected = np.argsort(-levelled(scores), kind="stable")[:n]
    assert_array_equal(largest_first(scores, n), expected)


def rounded_elsewhere(scores, seed):
    """Return the scores with different last digits."""
    return scores + 1e-14 * np.random.default_rng(seed).uniform(-1.0, 1.0, np.shape(scores))


TWINS = np.array([0.1, 0.7, 0.4, 0.7, 0.4, 0.1, 0.7, 0.2])


@pytest.mark.parametrize(
    "choice",
    [
        argmax_first,
        tied,
        lambda scores: np.argsort(-levelled(scores), kind="stable"),
        lambda scores: largest_first(scores, 4),
        lambda scores: first_of_rows(np.array([scores, scores[::-1]])),
        lambda scores: maximisers(np.array([scores, -scores]))[0],
        lambda scores: argmax_frequencies(lambda k: np.tile(scores, (k, 1)), 5, len(scores)),
    ],
    ids=["first", "tied", "order", "largest", "rows", "maximisers", "shares"],
)
def test_a_choice_does_not_depend_on_the_last_digits(choice):
    expected = choice(TWINS)
    for seed in range(20):
        assert_array_equal(choice(rounded_elsewhere(TWINS, seed)), expected)


def test_targets_that_mirror_each_other_are_one_to_the_knowledge_gradient():
    mean, none = np.array([0.3, 0.3, -0.2]), np.zeros(2)
    covariance = np.array([[0.01, 0.01, 0.0], [0.02, 0.02, 0.02]])
    exact = log_knowledge_gradient(mean[1:], covariance[:, 1:], np.ones(2), none)
    # The second question moves all alike: it cannot change which is the best.
    assert exact[1] == -INF
    for seed in range(20):
        gains = log_knowledge_gradient(
            rounded_elsewhere(mean, seed), rounded_elsewhere(covariance, seed), np.ones(2), none
        )
        np.testing.assert_allclose(gains, exact, rtol=1e-9)

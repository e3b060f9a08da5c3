"""Local searches on a box: what they find, and what they ask for."""

import numpy as np
import pytest

from skgpb.acquisition.maximise import best_apart, maximise_in_box

BOX = np.array([[-1.0, 3.0], [10.0, 30.0]])
HILLS = np.array([[0.5, 14.0], [2.0, 25.0]])


def two_hills(X):
    """Quadratic around two places of BOX, of which the second is higher."""
    away = (((X[:, np.newaxis] - HILLS) / [4.0, 20.0]) ** 2).sum(axis=2)
    return (np.array([1.0, 2.0]) - 30.0 * away).max(axis=1)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_best_end_of_several_searches_counts(order):
    starts = HILLS[order] + 0.2
    best, top = maximise_in_box(two_hills, starts, BOX)
    # L-BFGS-B stops where a step gains 2e-9 of the value: within sqrt(4e-9 / 30) sides of the top.
    np.testing.assert_allclose(best, HILLS[1], atol=2e-5 * 20.0)
    assert top == pytest.approx(2.0, abs=1e-8)


def test_a_search_ends_on_the_border_and_never_looks_beyond():
    seen = []

    def slope(X):
        seen.append(X)
        return X[:, 0] - X[:, 1]

    best, top = maximise_in_box(slope, np.array([[0.0, 20.0], [3.0, 10.0]]), BOX)
    np.testing.assert_array_equal(best, [3.0, 10.0])
    assert top == -7.0
    X = np.concatenate(seen)
    np.testing.assert_array_equal(np.clip(X, *BOX.T), X)


def test_the_first_slopes_of_all_starts_take_one_call():
    sizes = []

    def counted(X):
        sizes.append(len(X))
        return two_hills(X)

    maximise_in_box(counted, HILLS[[0, 1, 0]] + 0.1, BOX)
    stencil = 1 + 2 * len(BOX)
    assert sizes[0] == 3 * stencil
    assert set(sizes[1:]) == {stencil}


def test_starts_are_the_best_points_a_tenth_of_a_side_apart():
    points = np.array([[0.0, 20.0], [0.3, 20.5], [0.5, 20.0], [0.0, 23.0], [2.9, 11.0]])
    values = np.array([4.0, 5.0, 3.0, 2.0, 1.0])
    # The first and the third are within 0.4 and 2 of the second.
    np.testing.assert_array_equal(best_apart(points, values, BOX), [1, 3, 4])

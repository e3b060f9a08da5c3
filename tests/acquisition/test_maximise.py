"""Local searches on a box: what they find, and what they ask for."""

import numpy as np
import pytest
from scipy.optimize import minimize

from skgpb.acquisition.maximise import best_apart, maximise_in_box

BOX = np.array([[-1.0, 3.0], [10.0, 30.0]])
HILLS = np.array([[0.5, 14.0], [2.0, 25.0]])


def two_hills(X):
    """Quadratic around two points of BOX; the second maximum is higher."""
    away = (((X[:, np.newaxis] - HILLS) / [4.0, 20.0]) ** 2).sum(axis=2)
    return (np.array([1.0, 2.0]) - 30.0 * away).max(axis=1)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_best_end_of_several_searches_counts(order):
    starts = HILLS[order] + 0.2
    best, top = maximise_in_box(two_hills, starts, BOX)
    # A parabola is left where a step promises 1e-10 of slopes of 60: within 2e-5 sides of the top.
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


def test_every_call_looks_at_all_starts_that_still_rise():
    sizes = []

    def with_a_plain(X):
        sizes.append(len(X))
        return np.maximum(two_hills(X), 0.9)

    starts = np.array([[0.6, 14.2], [-0.9, 29.0], [2.1, 25.3]])
    _, top = maximise_in_box(with_a_plain, starts, BOX)
    assert top == pytest.approx(2.0, abs=1e-9)
    stencil = 1 + 2 * len(BOX)
    # The second is on the plain. Two parabolas along the axes: one step, and nothing is left. Then
    # five places along both axes and the corners of a square say where the higher one has its top.
    assert sizes == [3 * stencil, 2 * stencil, 5 * 2 + 4, 1]


def rolling(d, rng):
    """Sum of bumps over the unit cube."""
    centers, heights = rng.random((6 * d, d)), rng.normal(size=6 * d)
    width = 0.25 * np.sqrt(d)

    def value(X):
        away = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)
        return np.exp(-0.5 * away / width**2) @ heights

    return value


@pytest.mark.one_in(3)
@pytest.mark.parametrize("d", [1, 2, 6, 10])
def test_searches_end_as_high_as_one_after_another_in_fewer_calls(d):
    rng, box = np.random.default_rng(d), np.column_stack([np.zeros(d), np.ones(d)])
    n_calls, n_theirs = [], []
    for _ in range(8):
        value, points, calls = rolling(d, rng), rng.random((500, d)), []

        def counted(X, value=value, calls=calls):
            calls.append(len(X))
            return value(X)

        values = value(points)
        starts = points[best_apart(points, values, box)]
        best, top = maximise_in_box(counted, starts, box)
        assert value(best[np.newaxis])[0] == pytest.approx(top, rel=1e-12)
        options = {"ftol": 1e-12, "gtol": 1e-9}
        theirs = [
            minimize(lambda x, f=value: -f(x[np.newaxis])[0], x, bounds=box, options=options)
            for x in starts
        ]
        # Both stop where a step promises less than 1e-10 of the largest value or slope.
        assert top >= max(-each.fun for each in theirs) - 1e-8 * np.ptp(values)
        n_calls.append(len(calls))
        n_theirs.append(sum(each.nit for each in theirs))
    assert np.median(n_calls) < 0.5 * np.median(n_theirs)


def test_a_narrow_oblique_ridge_is_climbed():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    bends, peak = turn @ np.diag(np.logspace(0, 4, 5)) @ turn.T, np.full(5, 0.6)

    def ridge(X):
        return -0.5 * np.einsum("ki,ij,kj->k", X - peak, bends, X - peak)

    box = np.column_stack([np.zeros(5), np.ones(5)])
    best, top = maximise_in_box(ridge, np.full((1, 5), 0.2), box)
    # It ends where a step promises 1e-10 of the largest value or slope at the start.
    assert -1e-9 * np.abs(bends @ (peak - 0.2)).max() <= top <= 0.0
    np.testing.assert_allclose(best, peak, atol=1e-2)


def other_roundings(function, size=1e-14):
    """The function on one processor after another: its last digits differ."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        yield lambda X, rng=rng: function(X) + size * rng.uniform(-1.0, 1.0, len(X))


UNIT = np.array([[0.0, 1.0], [0.0, 1.0]])


def bumps(X, places=((0.3, 0.4), (0.7, 0.4)), width=0.15):
    """Smooth bumps that are equally high and mirror each other."""
    away = ((X[:, np.newaxis] - np.array(places)) ** 2).sum(axis=2)
    return np.exp(-0.5 * away / width**2).sum(axis=1)


@pytest.mark.parametrize("first", [0, 1])
def test_of_equally_high_ends_that_of_the_first_start_is_taken_whatever_the_last_digits(first):
    starts = np.array([[0.25, 0.45], [0.75, 0.45]])[[first, 1 - first]]
    ends = np.array([maximise_in_box(f, starts, UNIT)[0] for f in other_roundings(bumps)])
    np.testing.assert_array_equal(ends, np.tile(ends[0], (6, 1)))
    assert abs(ends[0, 0] - (0.3, 0.7)[first]) < 0.05


def test_ends_on_sharp_maxima_are_the_same_whatever_the_last_digits_and_exact():
    rng = np.random.default_rng(5)
    for d in (1, 2, 6):
        value, box = rolling(d, rng), np.column_stack([np.zeros(d), np.ones(d)])
        points = rng.random((500, d))
        starts = points[best_apart(points, value(points), box)]
        ends = np.array([maximise_in_box(f, starts, box)[0] for f in other_roundings(value)])
        assert np.abs(ends - ends[0]).max() < 1e-9
        # Points where the slopes of the function vanish, or point out of the box.
        step = 1e-4 * np.eye(d)
        slopes = (value(ends[0] + step) - value(ends[0] - step)) / 2e-4
        at_face = (ends[0] == 0.0) | (ends[0] == 1.0)
        assert (~at_face).any() and (np.abs(slopes[~at_face]) < 1e-6).all()
        assert (slopes * (ends[0] - 0.5) > 0.0)[at_face].all()


def test_the_end_on_a_ring_of_equal_heights_is_the_same_whatever_the_last_digits():
    def ring(X):
        return -(np.abs(((X - 0.5) ** 2).sum(axis=1) - 0.09) ** 2)

    starts = np.array([[0.3, 0.3], [0.3, 0.7]])
    ends = np.array([maximise_in_box(f, starts, UNIT)[0] for f in other_roundings(ring)])
    assert np.abs(ends - ends[0]).max() < 1e-9


def test_a_kink_stays_where_it_was_found():
    def roof(X):
        return -np.abs(X - 1.0 / 3.0).sum(axis=1)

    best, top = maximise_in_box(roof, np.array([[1.0 / 3.0, 1.0 / 3.0]]), UNIT)
    np.testing.assert_allclose(best, 1.0 / 3.0, atol=1e-6)
    assert top >= -1e-9


def test_of_starts_that_tie_the_first_come_first_whatever_the_last_digits():
    rng = np.random.default_rng(2)
    points = rng.random((900, 2))
    chosen = [best_apart(points, f(points), UNIT) for f in other_roundings(flat)]
    np.testing.assert_array_equal(chosen, np.tile(best_apart(points, np.zeros(900), UNIT), (6, 1)))
    assert chosen[0][0] == 0


def flat(X):
    return np.full(len(X), 0.25)


def test_what_is_nowhere_a_number_ends_the_search():
    best, top = maximise_in_box(lambda X: np.full(len(X), np.nan), HILLS, BOX)
    np.testing.assert_array_equal(best, HILLS[0])
    assert top == -np.inf


def test_starts_are_the_best_points_a_tenth_of_a_side_apart():
    points = np.array([[0.0, 20.0], [0.3, 20.5], [0.5, 20.0], [0.0, 23.0], [2.9, 11.0]])
    values = np.array([4.0, 5.0, 3.0, 2.0, 1.0])
    # The first and the third are within 0.4 and 2 of the second.
    np.testing.assert_array_equal(best_apart(points, values, BOX), [1, 3, 4])

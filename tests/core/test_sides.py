"""Moving sides against masks of rows, and the best sides against all that there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from skgpb._core._sides import Sides, best_move, best_pairs

N_VALUES = np.array([6, 4, 1, 5], dtype=np.int32)
MISSING = np.array([1, 0, 1, 0])
OFFSETS = np.concatenate([[0], np.cumsum(N_VALUES + MISSING)]).astype(np.int32)
ORDERED = np.array([1, 0, 1, 1], dtype=np.uint8)


def some_rows(seed=0, n=400):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, n) for k in N_VALUES + MISSING]).astype(np.uint16)
    return codes, rng.integers(1, 4, n).astype(float), rng.normal(size=n)


def some_box(rng):
    return (rng.random(OFFSETS[-1]) < 0.7).astype(np.uint8)


def within(codes, inside, without=None):
    """Rows on all sides, but perhaps one."""
    parts = [inside[OFFSETS[j] + codes[:, j]] == 1 for j in range(codes.shape[1]) if j != without]
    return np.logical_and.reduce(parts)


def check(sides, codes, weights, sums, inside):
    counts, totals = sides.marginals
    for j in range(codes.shape[1]):
        rows = within(codes, inside, j)
        part = slice(OFFSETS[j], OFFSETS[j + 1])
        size = OFFSETS[j + 1] - OFFSETS[j]
        np.testing.assert_allclose(
            counts[part], np.bincount(codes[rows, j], weights[rows], size), atol=1e-9
        )
        np.testing.assert_allclose(
            totals[part], np.bincount(codes[rows, j], sums[rows], size), atol=1e-9
        )
    rows = within(codes, inside)
    np.testing.assert_array_equal(sides.members, np.flatnonzero(rows))
    assert sides.count == pytest.approx(weights[rows].sum())
    assert sides.total == pytest.approx(sums[rows].sum(), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_marginals_are_those_of_the_rows_on_the_other_sides(seed):
    rng = np.random.default_rng(seed)
    codes, weights, sums = some_rows(seed)
    sides, inside = Sides(codes, OFFSETS, N_VALUES, ORDERED, weights), some_box(rng)
    sides.start(sums, inside)
    check(sides, codes, weights, sums, inside)


@pytest.mark.parametrize("seed", range(10))
def test_sides_that_moved_are_as_if_they_had_begun_there(seed):
    codes, weights, sums = some_rows(seed)
    sides = Sides(codes, OFFSETS, N_VALUES, ORDERED, weights)
    sides.start(sums, np.ones(OFFSETS[-1], dtype=np.uint8))
    for price in (0.0, 0.05, 0.1, 0.3):
        sides.ascend(price, 0.3, 5.0, 20)
        check(sides, codes, weights, sums, sides.box)


def worth(codes, weights, sums, inside, price, penalty):
    rows = within(codes, inside)
    out = 0.0
    for j in range(codes.shape[1]):
        out += np.sqrt(weights[within(codes, inside, j) & ~rows].sum())
    return (sums - price * weights)[rows].sum() - penalty * out


def all_sides(j):
    """All runs of a number, all sets of a category, each with and without missing values."""
    k = N_VALUES[j]
    if ORDERED[j]:
        levels = np.arange(k)
        runs = [(levels >= a) & (levels < b) for a, b in itertools.combinations(range(k + 1), 2)]
    else:
        runs = [np.array(each) for each in itertools.product([False, True], repeat=int(k))]
    for run, missing in itertools.product(runs, [False, True] if MISSING[j] else [None]):
        yield np.append(run, missing) if missing is not None else run


@pytest.mark.parametrize("seed", range(8))
def test_without_a_penalty_no_side_gains_more_than_the_one_that_is_found(seed):
    rng = np.random.default_rng(seed)
    codes, weights, sums = some_rows(seed)
    sides, inside = Sides(codes, OFFSETS, N_VALUES, ORDERED, weights), some_box(rng)
    sides.start(sums, inside)
    gains, found = best_move(OFFSETS, N_VALUES, ORDERED, *sides.marginals, inside, 0.02, 0.0, 0.0)
    now = worth(codes, weights, sums, inside, 0.02, 0.0)
    for j in range(len(N_VALUES)):
        part = slice(OFFSETS[j], OFFSETS[j + 1])
        best = -np.inf
        for side in all_sides(j):
            other = inside.copy()
            other[part] = side
            best = max(best, worth(codes, weights, sums, other, 0.02, 0.0))
        assert gains[j] == pytest.approx(best - now, abs=1e-9)
        other = inside.copy()
        other[part] = found[part]
        assert worth(codes, weights, sums, other, 0.02, 0.0) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_move_gains_what_it_says_and_leaves_enough_rows(seed):
    rng = np.random.default_rng(seed)
    codes, weights, sums = some_rows(seed)
    sides, inside = Sides(codes, OFFSETS, N_VALUES, ORDERED, weights), some_box(rng)
    sides.start(sums, inside)
    # The penalty of a feature is about rows on all other sides: those of others change with it.
    gains, found = best_move(OFFSETS, N_VALUES, ORDERED, *sides.marginals, inside, 0.1, 0.7, 30.0)
    for j in np.flatnonzero(gains > 1e-9):
        other = inside.copy()
        other[OFFSETS[j] : OFFSETS[j + 1]] = found[OFFSETS[j] : OFFSETS[j + 1]]
        around = within(codes, inside, j)
        values = sums - 0.1 * weights

        def alone(box, j=j, around=around, values=values):
            rows = within(codes, box)
            return values[rows].sum() - 0.7 * np.sqrt(weights[around & ~rows].sum())

        assert gains[j] == pytest.approx(alone(other) - alone(inside), abs=1e-9)
        full = found[OFFSETS[j] : OFFSETS[j + 1]].all()
        assert full or weights[within(codes, other)].sum() >= 30.0


@pytest.mark.parametrize("seed", range(4))
def test_the_best_box_over_two_features_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n, d, b = 300, 3, 4
    coarse = rng.integers(0, b, (n, d)).astype(np.uint8)
    weights, sums = rng.integers(1, 3, n).astype(float), rng.normal(size=n)
    scores, boxes = best_pairs(coarse, b, sums, weights, 12.0, 1.5)
    runs = list(itertools.combinations(range(b + 1), 2))
    for pair, (j, k) in enumerate(itertools.combinations(range(d), 2)):
        best = -np.inf
        for (p, q), (r, s) in itertools.product(runs, runs):
            u, v = coarse[:, j], coarse[:, k]
            rows = (u >= p) & (u < q) & (v >= r) & (v < s)
            count, total = weights[rows].sum(), sums[rows].sum()
            if count >= 12.0:
                ends = (p > 0) + (q < b) + (r > 0) + (s < b)
                best = max(best, max(total, 0.0) ** 2 / count - 1.5 * ends)
        assert tuple(boxes[pair, :2]) == (j, k)
        assert scores[pair] == pytest.approx(best)

"""Codes for missing values and rows that belong together are recognised, and little else."""

from __future__ import annotations

import re

import numpy as np
import pytest

from skgpb.exceptions import DataWarning
from skgpb.lab.tables import BestSubgroup
from skgpb.lab.tables.checks import find_cluster, find_identity, missing_code, repeats

NOISE = np.random.default_rng(99).normal(size=5000)


def values(n=400):
    return np.random.default_rng(0).normal(10.0, 2.0, n)


@pytest.mark.parametrize("code", [9999.0, -200.0, -1e6, 0.0 - 99.0])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_a_code_for_missing_values_is_recognised(code, share):
    y = values()
    y[: int(share * len(y))] = code
    assert missing_code(y) == code


def test_a_negative_number_among_a_wide_range_is_a_code():
    y = np.random.default_rng(1).gamma(1.5, 150.0, 800)
    y[:80] = -200.0
    assert missing_code(y) == -200.0


@pytest.mark.parametrize(
    "y",
    [
        values(),
        np.append(values(), 9999.0),
        np.random.default_rng(2).lognormal(size=400) * (np.arange(400) % 3 > 0),
        np.arange(400) % 2 * 1.0,
        np.random.default_rng(3).poisson(2.0, 400) * 1.0,
        np.arange(400) % 5 + 1.0,
        np.minimum(values(), 11.0),
        np.zeros(400),
        np.where(np.arange(400) % 20, np.arange(400) % 13 * (np.arange(400) % 7 == 0), -1.0),
    ],
    ids=[
        *("normal", "one outlier", "zeros", "yes or no", "counts", "grades", "capped", "constant"),
        "mostly zero",
    ],
)
def test_other_values_are_not_codes(y):
    assert missing_code(y) is None


def people(n_people=30, each=10):
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(n_people), each)
    return {
        "who": who.astype(float),
        "sex": rng.choice(["f", "m"], n_people)[who].astype(object),
        "born": rng.integers(1940, 2000, n_people)[who].astype(float),
        "dose": rng.random(len(who)),
    }


def test_an_identity_is_recognised_by_what_is_the_same_for_it():
    columns = people()
    assert find_identity(columns, NOISE[: len(next(iter(columns.values())))]) == "who"
    columns["who"] = np.array([f"P{each:g}" for each in columns["who"]], dtype=object)
    assert find_identity(columns, NOISE[: len(next(iter(columns.values())))]) == "who"


@pytest.mark.parametrize("name", ["patient", "Patient ID", "customer_no", "userId", "id"])
def test_an_identity_is_recognised_by_its_name(name):
    columns = {name: np.arange(300.0) % 40, "x": np.random.default_rng(5).random(300)}
    assert find_identity(columns, NOISE[: len(next(iter(columns.values())))]) == name


def test_what_only_looks_like_an_identity_is_none():
    rng = np.random.default_rng(6)
    columns = {
        "age": rng.integers(18, 90, 400).astype(float),
        "site": rng.choice(list("ABCDEF"), 400).astype(object),
        "number of rooms": rng.integers(1, 9, 400).astype(float),
        "dose": rng.random(400),
        "id": np.arange(400.0),  # does not repeat
    }
    assert find_identity(columns, NOISE[: len(next(iter(columns.values())))]) is None


@pytest.mark.parametrize(("n_values", "found"), [(10, "who"), (11, None)])
def test_what_has_ten_values_for_each_number_may_be_the_same_for_it_but_for_slips(n_values, found):
    who = np.repeat(np.arange(5.0), 400)
    # In 400 rows of each all the same, but for one row of each further value.
    slips = np.tile(np.maximum(np.arange(400) - 400 + n_values, 0), 5)
    own = n_values * who + 0.5  # no whole numbers, which might be an identity themselves
    columns = {"who": who, "size": own + slips, "weight": own - slips}
    assert find_identity(columns, NOISE[: len(next(iter(columns.values())))]) == found


def test_rows_that_repeat_are_counted():
    columns = people()
    assert repeats({name: columns[name] for name in ("sex", "born", "dose")}) is None
    rng = np.random.default_rng(7)
    X = rng.random((30, 3))[np.repeat(np.arange(30), 10)]
    assert repeats(dict(enumerate(X.T))) == 30
    # Nor does it matter that more could differ than a float can count.
    wide = rng.random((100, 200))[np.repeat(np.arange(100), 5)]
    with np.errstate(all="raise"):
        assert repeats(dict(enumerate(wide.T))) == 100
    # Few values agree by themselves.
    assert repeats({"a": rng.integers(0, 3, 500) * 1.0, "b": rng.integers(0, 4, 500) * 1.0}) is None


@pytest.mark.slow
def test_the_estimator_warns_of_codes_and_of_rows_that_repeat():
    rng = np.random.default_rng(8)
    X, y = rng.random((300, 2)), rng.normal(size=300)
    y[:30] = 9999.0
    with pytest.warns(DataWarning, match="9999 occurs in 30 rows of y, far from all other values"):
        BestSubgroup().fit(X, y)
    groups = np.repeat(np.arange(30), 10)
    X, y = rng.random((30, 3))[groups], rng.normal(size=30)[groups]
    with pytest.warns(DataWarning, match="same 'x0' seem to belong together"):
        assert BestSubgroup().fit(X, y).verdict_ == "real"
    with pytest.warns(DataWarning, match="only 30 of 300 rows differ in X"):
        BestSubgroup().fit(X, NOISE[:300])
    assert BestSubgroup().fit(X, y, groups=groups).verdict_ == "chance"


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        (np.arange(30), "groups must have shape (300,), got (30,)"),
        (np.arange(300) % 3, "groups must have at least 5 different values, got 3"),
        ([None, *range(299)], "groups must not have missing values, got None in 1 of 300 rows"),
    ],
)
def test_groups_that_mean_nothing_are_refused(groups, says):
    rng = np.random.default_rng(9)
    with pytest.raises(ValueError, match=re.escape(says)):
        BestSubgroup().fit(rng.random((300, 2)), rng.normal(size=300), groups=groups)


def test_smooth_effects_of_numbers_that_repeat_are_no_clusters():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = {
            "age": rng.integers(18, 90, 3000).astype(float),
            "month": rng.integers(1, 13, 3000).astype(float),
            "dose": np.round(rng.uniform(0.0, 10.0, 3000), 1),
        }
        numbers = {name: np.unique(x, return_inverse=True)[1] for name, x in X.items()}
        y = np.sin(X["age"] / 6.0) + 2.0 * (X["dose"] > 5.0) + rng.normal(size=3000)
        assert find_cluster(numbers, y + np.sin(X["month"] / 2.0)) is None
        assert find_cluster(numbers, rng.standard_t(2, 3000)) is None


# -- by their definitions -------------------------------------------------------------------------


def code_by_hand(y):
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 10:
        return None
    ends = [(0, 1), (-1, -2)]
    for end, near in sorted(ends, key=lambda each: -abs(values[each[0]] - values[each[1]])):
        value, far = values[end], abs(values[end] - values[near])
        others = y[y != value]
        low, quarter, three, high = np.quantile(others, [0.01, 0.25, 0.75, 0.99])
        often = max(3, 0.01 * len(y)) <= counts[end] <= 0.5 * len(y)
        negative = value < 0 <= values[near] and far > (three - quarter) / 2 > 0
        if often and (far > high - low > 0 or negative):
            return float(value)
    return None


@pytest.mark.parametrize("seed", range(60))
def test_a_code_is_frequent_and_far_from_the_others(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 400))
    y = np.round(rng.gamma(2.0, 3.0, n), int(rng.integers(0, 3))) + rng.choice([0.0, 2.0])
    n_codes = int(rng.choice([2, 3, 4, n // 100, n // 50, n // 2, n // 2 + 1]))
    spread = np.ptp(y)
    y[:n_codes] = rng.choice([-1.0, -3.0, y.max() + 0.9 * spread, y.max() + 1.2 * spread, 99.0])
    assert missing_code(y) == code_by_hand(y)


@pytest.mark.parametrize("seed", range(20))
def test_distinct_rows_are_few_compared_with_chance(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 120)), int(rng.integers(1, 4))
    X = rng.integers(0, rng.integers(3, 12), (n, d)).astype(float)[rng.integers(n // 3, size=n)]
    possible = float(np.prod([len(np.unique(x)) for x in X.T]))
    different = len(np.unique(X, axis=0))
    expected = possible * (1.0 - np.exp(-n / possible))
    few = possible >= n and different <= expected / 3.0 and different <= n / 1.5
    assert repeats(dict(enumerate(X.T))) == (different if few else None)


@pytest.mark.parametrize(("n_values", "n_rows"), [(4, 40), (5, 40), (5, 7), (6, 9), (6, 8)])
def test_an_identity_has_some_values_that_repeat(n_values, n_rows):
    columns = {
        "id": np.arange(n_rows) % n_values * 1.0,
        "x": np.random.default_rng(0).random(n_rows),
    }
    y = np.random.default_rng(1).random(n_rows)
    found = "id" if n_values >= 5 and n_rows >= 1.5 * n_values else None
    assert find_identity(columns, y) == found
    columns["id"] += 0.5
    assert find_identity(columns, y) is None

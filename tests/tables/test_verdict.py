"""Chance is called chance, groups are called real, and intervals hold for new rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from skgpb.tables import MemoryTable, verdict
from skgpb.tables.finding import find_and_judge
from skgpb.tables.search import search_rows, standardized
from skgpb.tables.verdict import LEVEL, OutlierLimits, judge

LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "binary": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
    "t3": lambda rng, n: rng.standard_t(3, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
}


def verdicts_on_noise(n_tables, n, seed):
    for i in range(n_tables):
        for k, law in enumerate(LAWS.values()):
            rng = np.random.default_rng([seed, i, k])
            table = MemoryTable(rng.random((n, (2, 5, 10)[i % 3])), law(rng, n))
            yield find_and_judge(table, n // (100, 20)[i % 2], rng=rng).verdict


def at_most(n, p):
    """Return the largest number of events of some probability, but for one case in ten thousand."""
    return int(binom.ppf(1 - 1e-4, n, p))


def test_noise_is_called_chance():
    judged = list(verdicts_on_noise(4, 400, 11))
    assert sum(each.verdict == "real" for each in judged) <= at_most(len(judged), LEVEL)


@pytest.mark.slow
def test_noise_of_five_laws_is_seldom_called_real():
    judged = list(verdicts_on_noise(20, 1500, 12))
    assert len(judged) == 100
    assert sum(each.verdict == "real" for each in judged) <= 5


def half_a_deviation(rng, n, d, share):
    X = rng.random((n, d))
    centre = rng.uniform(0.3, 0.7, 2)
    inside = (np.abs(X[:, :2] - centre) < 0.5 * np.sqrt(share)).all(axis=1)
    return X, 0.5 * inside + rng.normal(size=n)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_groups_of_half_a_standard_deviation_are_called_real(share):
    real = 0
    for i in range(30):
        rng = np.random.default_rng([13, i])
        table = MemoryTable(*half_a_deviation(rng, 5000, (5, 10)[i % 2], share))
        least = int(5000 * (0.01, 0.05)[i // 2 % 2])
        real += find_and_judge(table, least, n_permutations=49).verdict.verdict == "real"
    assert real >= 24


def test_a_large_group_is_called_real_with_the_smallest_p_value():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 3))
    y = 1.5 * (X[:, :2] > 0.7).all(axis=1) + rng.normal(size=1500)
    judged = find_and_judge(MemoryTable(X, y), 75, n_permutations=99).verdict
    assert judged.verdict == "real"
    assert judged.p_value == pytest.approx(0.01)
    low, high = judged.interval
    assert low < judged.average < high
    assert judged.average == pytest.approx(1.5, abs=0.3)


@pytest.mark.slow
def test_intervals_hold_for_new_rows():
    held = []
    for i in range(100):
        rng = np.random.default_rng([14, i])
        n, d, high = (2000, 4000)[i % 2], (3, 8)[i // 2 % 2], (0.8, 2.0)[i // 4 % 2]
        X = rng.random((n + 50_000, d))
        inside = (np.abs(X[:, :2] - rng.uniform(0.3, 0.7, 2)) < 0.15).all(axis=1)
        y = high * inside + rng.normal(size=len(X))
        table = MemoryTable(X[:n], y[:n])
        least = int(n * (0.02, 0.06)[i // 8 % 2])
        found = search_rows(table, standardized(table.y), least)
        finding = find_and_judge(table, least, n_permutations=1)
        new = MemoryTable(X[n:], y[n:])
        truth = new.y[new.rows(finding.subgroup)].mean()
        low, up = finding.verdict.interval
        held.append(low <= truth <= up)
        assert found.n.min() >= least
    assert np.mean(held) >= 0.9


def test_averages_of_new_rows_are_below_what_the_choice_flatters():
    rng = np.random.default_rng(1)
    X, y = rng.random((1000, 8)), rng.normal(size=1000)
    finding = find_and_judge(MemoryTable(X, y), 20)
    assert finding.average > 0.8
    assert finding.optimism > 0.5
    low, high = finding.verdict.interval
    assert low < 0.0 < high


def test_the_lowest_average_is_judged_as_the_highest_of_what_is_negated():
    rng = np.random.default_rng(2)
    X, y = half_a_deviation(rng, 1000, 3, 0.2)
    low = find_and_judge(MemoryTable(X, y), 50, minimize=True)
    high = find_and_judge(MemoryTable(X, -y), 50)
    assert low.subgroup == high.subgroup
    assert low.verdict.p_value == high.verdict.p_value
    np.testing.assert_allclose(low.verdict.interval, -np.array(high.verdict.interval)[::-1])
    assert low.optimism == pytest.approx(high.optimism)


def test_p_values_count_this_table_among_those_without_a_group():
    rng = np.random.default_rng(3)
    X, y = half_a_deviation(rng, 600, 2, 0.3)
    table, target = MemoryTable(X, y), standardized(y)
    found = search_rows(table, target, 30)
    judged = judge(table, y, 30, found, np.random.default_rng(4), 60)
    dealt = np.random.default_rng(4)
    most = [search_rows(table, dealt.permutation(target), 30).most_evidence for _ in range(60)]
    as_much = sum(each >= found.most_evidence for each in most)
    assert as_much < 11  # all were searched
    assert judged.p_value == (1 + as_much) / 61


def test_a_wild_value_is_named_and_hides_nothing():
    rng = np.random.default_rng(5)
    X, y = rng.random((1000, 3)), rng.normal(size=1000)
    y += 1.5 * (X[:, 0] > 0.8)
    outliers = np.flatnonzero(X[:, 0] < 0.5)[:2]
    y[outliers] = 1e7, -4e5
    finding = find_and_judge(MemoryTable(X, y), 100)
    assert finding.limits.outliers.tolist() == outliers.tolist()
    assert finding.verdict.verdict == "real"
    assert finding.subgroup["x0"].low == pytest.approx(0.8, abs=0.02)
    assert finding.verdict.average == pytest.approx(1.5, abs=0.3)
    assert finding.table_average == pytest.approx(y.mean())
    assert finding.table_average > 9000
    assert finding.counted_table_average == pytest.approx(0.3, abs=0.2)
    assert finding.effects()["x0"] == pytest.approx(1.2, abs=0.3)
    # The table was given to the search, and belongs to others.
    assert y[outliers].tolist() == [1e7, -4e5]


@pytest.mark.parametrize("law", ["normal", "binary", "t3"])
def test_values_of_tame_laws_are_not_wild(law):
    rng = np.random.default_rng(6)
    y = LAWS[law](rng, 2000)
    limits = OutlierLimits.of(y, 20)
    assert not len(limits.outliers)
    assert limits.clipped(y) is y


def test_a_yes_that_is_rare_is_not_wild():
    y = np.zeros(2000)
    y[:4] = 1.0
    assert len(OutlierLimits.of(y, 40).outliers) == 0


@pytest.mark.parametrize("n", [4, 7])
def test_tables_of_few_rows_are_judged(n):
    rng = np.random.default_rng(7)
    finding = find_and_judge(MemoryTable(rng.random((n, 1)), rng.random(n)), 1)
    assert finding.verdict.verdict == "chance"


def test_a_target_that_is_constant_is_chance():
    finding = find_and_judge(MemoryTable(np.arange(40.0)[:, None], np.ones(40)), 4)
    assert (finding.verdict.verdict, finding.verdict.p_value) == ("chance", 1.0)
    assert finding.rows.all()


def test_some_rows_of_a_large_table_are_enough_for_a_verdict(monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.random((6000, 3))
    y = (X[:, :2] < 0.4).all(axis=1) + rng.normal(size=6000)
    sizes = []

    def counted(table, target, min_rows):
        sizes.append((table.n_rows, min_rows))
        return search_rows(table, target, min_rows)

    monkeypatch.setattr(verdict, "search_rows", counted)
    monkeypatch.setattr(verdict, "MOST_NUMBERS", 6000)
    monkeypatch.setattr(verdict, "FEWEST_DRAWN", 100)
    for target, says in ((y, "real"), (rng.permutation(y), "chance")):
        table = MemoryTable(X, target)
        found = search_rows(table, standardized(target), 300)
        sizes.clear()
        assert judge(table, target, 300, found, rng, 60).verdict == says
        # All but the five that say what new rows average.
        assert set(sizes[:-5]) == {(2000, 100)}
        assert set(sizes[-5:]) == {(4800, 240)}


def test_the_next_best_group_is_another_one():
    rng = np.random.default_rng(1)
    X = rng.random((4000, 2))
    broad = np.exp(-((X - 0.3) ** 2).sum(axis=1) / 0.1)
    narrow = 3.0 * (np.abs(X - 0.85) < 0.07).all(axis=1)
    table = MemoryTable(X, broad + narrow + 0.5 * rng.normal(size=4000))
    finding = find_and_judge(table, 40, n_permutations=19)
    others = table.rows(finding.runner_up)
    assert (X[finding.rows].mean(axis=0) > 0.8).all()
    assert (np.abs(X[others].mean(axis=0) - 0.3) < 0.1).all()

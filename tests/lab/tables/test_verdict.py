"""Chance is called chance, groups are called real, and intervals hold for new rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom, binomtest, t

from skgpb.lab.tables import MemoryTable, crossfit, verdict
from skgpb.lab.tables.conditions import Categories, Subgroup
from skgpb.lab.tables.crossfit import (
    ABOVE,
    BELOW,
    END_COSTS,
    END_LEVELS,
    MISSING,
    N_FOLDS,
    OTHER,
    CrossFit,
    Rung,
    assign_folds,
    choose_rung,
    cross_fit,
    exclusion_reasons,
    search_features,
    standard_error,
)
from skgpb.lab.tables.finding import _runner_up, find_and_judge
from skgpb.lab.tables.levels import is_two_valued
from skgpb.lab.tables.search import RowSides, search_rows, simplify_box, standardize
from skgpb.lab.tables.verdict import (
    CONFIDENCE,
    ERROR_FACTOR,
    LEVEL,
    MAX_OUTLIER_SDS,
    MIN_OUTLIER_SDS,
    OutlierLimits,
    _correct_skewness,
    estimate_average,
    grouped_permutation,
    permutation_test,
    share_interval,
)

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


@pytest.mark.slow
def test_noise_is_called_chance():
    judged = list(verdicts_on_noise(2, 400, 11))
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
        found = search_rows(table, standardize(table.y), least)
        finding = find_and_judge(table, least, n_permutations=1)
        new = MemoryTable(X[n:], y[n:])
        truth = new.y[new.rows(finding.subgroup)].mean()
        low, up = finding.verdict.interval
        held.append(low <= truth <= up)
        assert found.n.min() >= least
    assert np.mean(held) >= 0.9


@pytest.mark.slow
def test_averages_of_new_rows_are_below_what_the_choice_flatters():
    found = []
    for seed in range(8):
        rng = np.random.default_rng([31, seed])
        table = MemoryTable(rng.random((600, 8)), rng.normal(size=600))
        finding = find_and_judge(table, 20, n_permutations=1)
        low, high = finding.verdict.interval
        found.append((finding.average, finding.optimism, low < 0.0 < high))
    average, optimism, held = np.mean(found, axis=0)
    assert average > 0.05
    assert optimism > 0.5 * average
    assert held >= 0.7


@pytest.mark.slow
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
    table, target = MemoryTable(X, y), standardize(y)
    found = search_rows(table, target, 30)
    alone = np.arange(600)
    p_value, n, n_as_good = permutation_test(
        table, y, 30, found, alone, np.random.default_rng(4), 60
    )
    dealt = np.random.default_rng(4)
    most = [search_rows(table, dealt.permutation(target), 30).most_evidence for _ in range(60)]
    as_much = sum(each >= found.most_evidence for each in most)
    assert as_much < 11  # all were searched
    assert (p_value, n, n_as_good) == ((1 + as_much) / 61, 60, as_much)


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
    limits = OutlierLimits.from_target(y, 20)
    assert not len(limits.outliers)
    assert limits.clip(y) is y


def test_a_yes_that_is_rare_is_not_wild():
    y = np.zeros(2000)
    y[:4] = 1.0
    assert len(OutlierLimits.from_target(y, 40).outliers) == 0


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
        found = search_rows(table, standardize(target), 300)
        sizes.clear()
        p_value, _, _ = permutation_test(table, target, 300, found, np.arange(6000), rng, 60)
        assert (p_value <= LEVEL) == (says == "real")
        assert set(sizes) == {(2000, 100)}


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


# -- rows that belong together ---------------------------------------------------------------------


def visits(seed, sizes):
    """Patients who differ, and features of patients that do not matter."""
    rng = np.random.default_rng([21, seed])
    groups = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.random((len(sizes), 3))[groups]
    return X, rng.normal(size=len(sizes))[groups] + 0.5 * rng.normal(size=len(groups)), groups


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[10] * 30, [1, 19] * 15])
def test_an_effect_of_patients_is_not_one_of_their_features(sizes):
    real, alone, held = [], [], []
    for seed in range(12):
        X, y, groups = visits(seed, sizes)
        table = MemoryTable(X, y)
        together = find_and_judge(table, 15, groups=groups, n_permutations=49).verdict
        real.append(together.verdict == "real")
        alone.append(find_and_judge(table, 15, n_permutations=49).verdict.verdict == "real")
        low, high = together.interval or (-np.inf, np.inf)  # too few patients to say
        held.append(low <= 0.0 <= high)
    assert sum(real) <= at_most(12, LEVEL)
    assert sum(alone) >= 8
    assert sum(held) >= 12 - at_most(12, 1.0 - CONFIDENCE)


@pytest.mark.parametrize("sizes", [[10] * 30, [1, 2, 3, 40], np.arange(1, 30)])
def test_shuffled_targets_of_a_group_come_from_one_group_of_about_its_size(sizes):
    groups = np.random.default_rng(22).permutation(np.repeat(np.arange(len(sizes)), sizes))
    source = grouped_permutation(groups, np.random.default_rng(23))
    for group in range(len(sizes)):
        givers = set(groups[source[groups == group]])
        assert len(givers) == 1
        n, m = sizes[group], sizes[givers.pop()]
        assert n.bit_length() == m.bit_length() if isinstance(n, int) else abs(n - m) < max(n, m)
        rows = source[groups == group]
        assert len(set(rows.tolist())) == min(n, m)


def test_independent_rows_are_shuffled_one_by_one():
    source = grouped_permutation(np.arange(50), np.random.default_rng(24))
    assert sorted(source.tolist()) == list(range(50))


# -- conditions that pay ---------------------------------------------------------------------------


def trial(rng, n):
    """Young patients with a high dose, beside sites and a measure that are noise."""
    columns = {
        "age": rng.integers(18, 90, n).astype(float),
        "dose": rng.uniform(0, 10, n),
        "site": rng.choice(list("ABCDEFGHIJ"), n).astype(object),
        "measure": rng.normal(size=n),
    }
    return columns, (columns["age"] < 40) & (columns["dose"] >= 6.2)


@pytest.mark.slow
def test_conditions_that_are_noise_are_not_named():
    noise, all_that_matters = [], []
    for seed in range(6):
        rng = np.random.default_rng([25, seed])
        columns, inside = trial(rng, 6000)
        table = MemoryTable(columns, 0.5 * inside + rng.normal(size=6000))
        finding = find_and_judge(table, 300, n_permutations=1)
        noise.append(bool({"site", "measure"} & set(finding.subgroup)))
        all_that_matters.append({"age", "dose"} <= set(finding.subgroup))
    assert sum(noise) <= at_most(6, 0.05)
    assert all(all_that_matters)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_of_conditions_that_keep_better_rows_out_the_worst_is_dropped_in_any_unit(unit):
    # Inside, without the first condition, and without the second: rows of 0, 1 and 2.
    X = np.tile([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], (20, 1))
    y = unit * np.tile([0.0, 1.0, 2.0], 20)
    table = MemoryTable(X, y)
    box = table.shape.everything.copy()
    box[table.shape.offsets[:2]] = 0
    fitted = CrossFit(table, y, np.arange(60) % 5, np.arange(60), dict.fromkeys(range(5), box))
    assert fitted.features == [0, 1]
    fitted.drop_features(LEVEL, 0.0)
    assert fitted.features == [0]


def test_a_difference_between_groups_of_rows_has_a_p_value_from_two_on_each_side():
    X = np.repeat([1.0, 0.0], 8)[:, None]
    y = np.concatenate([np.tile([1.0, 2.0], 4), np.tile([-1.0, 0.5], 4)])
    table = MemoryTable(X, y)
    box = table.shape.everything.copy()
    box[0] = 0
    inside, outside = np.arange(8), np.arange(8, 16)
    found = []
    for n_outside in (1, 2):
        groups = np.concatenate([np.arange(8) % 2, 2 + np.arange(8) % n_outside])
        fitted = CrossFit(table, y, np.arange(16) % 5, groups, dict.fromkeys(range(5), box))
        found.append(fitted._p_value(inside, outside, 0.0))
    # 1 and 2 inside, -1 and 0.5 outside: half of what each is away from the average of its side.
    error = np.sqrt(4 / 3 * (2 * 0.25**2 + 2 * 0.375**2))
    assert found == [np.inf, pytest.approx(t.sf((1.5 + 0.25) / error, 1))]


def test_of_two_columns_that_say_the_same_one_is_named():
    rng = np.random.default_rng(26)
    x = rng.random(3000)
    X = np.column_stack([x, x + 0.001 * rng.normal(size=3000), rng.random(3000)])
    finding = find_and_judge(MemoryTable(X, (x > 0.8) + rng.normal(size=3000)), 150)
    assert len({"x0", "x1"} & set(finding.subgroup)) == 1


# -- what new rows average -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.02, 0.05])
def test_intervals_of_shares_are_shares_and_hold(share):
    held = []
    for seed in range(12):
        rng = np.random.default_rng([27, seed])
        y = (rng.random(600) < share) * 1.0
        low, high = find_and_judge(
            MemoryTable(rng.random((600, 4)), y), 30, n_permutations=1
        ).verdict.interval
        assert 0.0 <= low < high <= 1.0
        held.append(low <= share <= high)
    assert sum(held) >= 12 - at_most(12, 0.05)


def test_shares_of_two_other_values_are_between_them():
    rng = np.random.default_rng(28)
    y = np.where(rng.random(500) < 0.02, 7.0, 3.0)
    low, high = estimate_average(y[:60], np.arange(60), y)[1]
    assert 3.0 <= low < high <= 7.0
    yes = (y[:60] == 7.0).sum()
    ends = share_interval(yes / 60, 60 / verdict.ERROR_FACTOR**2)
    np.testing.assert_allclose([low, high], 3.0 + 4.0 * np.array(ends))


def test_share_intervals_are_those_of_clopper_and_pearson():
    interval = binomtest(3, 40).proportion_ci(0.95, "exact")
    np.testing.assert_allclose(share_interval(3 / 40, 40), interval)
    assert share_interval(0.0, 40)[0] == 0.0 and share_interval(1.0, 40)[1] == 1.0


def test_intervals_of_skewed_targets_hold_where_those_of_student_do_not():
    held, student = [], []
    for seed in range(400):
        values = np.random.default_rng([29, seed]).lognormal(sigma=1.2, size=40)
        average, (low, high) = estimate_average(values, np.arange(40), values)
        truth = np.exp(0.72)
        held.append(low <= truth <= high)
        half = verdict.ERROR_FACTOR * values.std(ddof=1) / np.sqrt(40) * t.isf(0.025, 39)
        student.append(abs(truth - average) <= half)
    assert np.mean(held) >= 0.93
    assert np.mean(student) < np.mean(held)


def test_two_groups_of_rows_have_an_interval_and_one_has_none():
    values = np.array([1.0, 2.0, 4.0, 5.0])  # two pairs, 1.5 below and above their average
    average, ends = estimate_average(values, np.array([0, 0, 1, 1]), values)
    half = verdict.ERROR_FACTOR * 1.5 * t.isf(0.025, 1)
    np.testing.assert_allclose([average, *ends], [3.0, 3.0 - half, 3.0 + half])
    assert estimate_average(values, np.zeros(4, dtype=int), values) == (None, None)


def test_values_that_are_all_the_same_are_not_known_for_sure():
    y = np.concatenate([np.zeros(40), np.arange(60.0)])
    low, high = estimate_average(y[:40], np.arange(40), y)[1]
    assert low < 0.0 < high


@pytest.mark.slow
def test_new_rows_are_not_expected_to_average_more_than_the_group():
    for seed in range(4):
        rng = np.random.default_rng([30, seed])
        X = rng.random((400, 2))
        y = 3.0 * (X[:, 0] > 0.5) + rng.normal(size=400)
        for minimize in (False, True):
            finding = find_and_judge(MemoryTable(X, y), 100, minimize=minimize, n_permutations=1)
            low, high = finding.verdict.interval
            assert finding.optimism >= 0.0
            assert low <= finding.verdict.average <= high


def test_each_fold_is_judged_by_the_group_that_the_others_choose(monkeypatch):
    rng, offered, taken = np.random.default_rng(1), [], []

    def draw(tested, untested, table_average):
        offered.append((tested, untested))
        taken.append([*tested, *untested][rng.integers(len(tested) + len(untested))])
        return taken[-1]

    monkeypatch.setattr("skgpb.lab.tables.crossfit.choose_rung", draw)
    X, groups = rng.random((120, 2)), np.arange(120)
    y = 1.0 * (X[:, 0] > 0.6) + 0.3 * (X[:, 1] > 0.4) + 0.5 * rng.normal(size=120)
    fitted = cross_fit(MemoryTable(X, y), y, 6, groups, np.random.default_rng(0))
    folds, inside = assign_folds(groups, np.random.default_rng(0)), []
    for (tested, untested), rung, fold in zip(offered[1:], taken[1:], range(N_FOLDS), strict=True):
        assert len(tested) == len(END_LEVELS) * len(END_COSTS)
        assert len(untested) == len(END_COSTS)
        assert_array_equal(rung.fitted.rows, folds != fold)
        inside += np.flatnonzero(rung.fitted.inside & (folds == fold)).tolist()
    assert fitted.inside.tolist() == inside


def _rung(y, inside, groups=None, **options):
    """Return a group whose held-out rows are ``inside``, of a table with one feature."""
    groups = np.arange(len(y)) if groups is None else groups
    table = MemoryTable({"x": np.where(inside, "in", "out").astype(object)}, y)
    box = table.shape.inside(Subgroup.from_sides({"x": Categories(("in",))}))
    fitted = CrossFit(table, y, np.zeros(len(y), dtype=int), groups, {0: box})
    return Rung((0,), 0, fitted, **options)


def test_a_preferred_group_is_taken_if_its_average_is_hardly_lower():
    rng = np.random.default_rng(2)
    y = np.concatenate([np.tile(2.0 + rng.normal(size=100), 2), rng.normal(size=100)])
    small, both = np.arange(300) < 100, np.arange(300) < 200
    largest = _rung(y, both)
    for gap in (0.0, 3.0):
        lower = y - gap * (both & ~small)
        first, best, untested = (
            _rung(lower, rows, is_tested=tested)
            for rows, tested in ((both, True), (small, True), (small, False))
        )
        chosen = choose_rung([first, best], [untested], 0.0)
        assert chosen is (first if gap == 0.0 else best)
    # The error of a difference is that of the rows that are not in both groups, in units of each.
    deviations = (y - y[both].mean()) * both / 200 - (y - y[small].mean()) * small / 100
    expected = np.sqrt(np.sum(deviations**2) * 300 / 299)
    assert largest.error(_rung(y, small)) == pytest.approx(expected)


def test_a_group_without_tests_must_average_much_more():
    y = np.random.default_rng(3).normal(size=300) + np.repeat([1.0, 0.0, 0.0], 100)
    tested = _rung(y, np.arange(300) < 200)
    for gain, is_taken in ((0.1, False), (2.0, True)):
        higher = y + gain * (np.arange(300) < 50)
        tested = _rung(higher, np.arange(300) < 200)
        untested = _rung(higher, np.arange(300) < 50 if is_taken else np.arange(300) < 150)
        assert (choose_rung([tested], [untested], 0.0) is untested) == is_taken
    # It is also taken if no tested group has an error, and not if it has none itself.
    one = _rung(y, np.arange(300) < 100, groups=np.zeros(300, dtype=int))
    assert choose_rung([one], [untested], 0.0) is untested
    assert choose_rung([one], [one], 0.0) is one


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
def test_scatter_alone_is_not_real(seed):
    rng = np.random.default_rng([4711, seed, 14])
    X = rng.random((400, 3))
    y = 50.0 + (1.0 + 10.0 * X[:, 0] ** 2) * rng.normal(size=400)
    finding = find_and_judge(MemoryTable(X, y), 20)
    assert finding.verdict.verdict == "chance"


@pytest.mark.slow
@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_no_group_is_real_whose_new_rows_may_be_like_the_table(seed, minimize):
    rng = np.random.default_rng(seed)
    X = rng.random((300, 3))
    for effect in (0.0, 0.4, 3.0):
        y = effect * (X[:, 0] > 0.7) * (-1.0 if minimize else 1.0) + rng.normal(size=300)
        finding = find_and_judge(MemoryTable(X, y), 15, minimize=minimize, n_permutations=99)
        low, high = finding.verdict.interval
        if finding.verdict.verdict == "real":
            assert high < y.mean() if minimize else low > y.mean()
    assert finding.verdict.verdict == "real"


# -- the parts of a verdict, by their definitions -------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("min_rows", [1, 15, 400])
def test_limits_are_around_the_median_by_a_spread_without_tails(seed, min_rows):
    rng = np.random.default_rng(seed)
    y = rng.standard_t(1.2, int(rng.integers(9, 700)))
    if seed == 7:
        y = np.where(rng.random(len(y)) < 0.002, 1.0, 0.0)
        y[0] = 1.0
    limits = OutlierLimits.from_target(y, min_rows)
    cut = min(max(3, int(np.ceil(0.01 * len(y)))), (len(y) - 1) // 4)
    spread = np.sort(y)[cut:-cut].std() or y.std()
    factor = np.clip(min_rows, MIN_OUTLIER_SDS, MAX_OUTLIER_SDS)
    assert limits.low == pytest.approx(np.median(y) - factor * spread)
    assert limits.high == pytest.approx(np.median(y) + factor * spread)
    beyond = np.flatnonzero((y < limits.low) | (y > limits.high))
    assert sorted(limits.outliers) == beyond.tolist()
    away = np.abs(y[limits.outliers] - np.median(y))
    assert (np.diff(away) <= 0.0).all()
    np.testing.assert_array_equal(limits.clip(y), np.clip(y, limits.low, limits.high))


@pytest.mark.parametrize("skewness", [-0.4, -1e-3, 0.02, 0.5])
@pytest.mark.parametrize("quantile", [-2.5, -1.0, 0.0, 1.5])
def test_the_skewness_correction_inverts_the_transformation_of_hall(skewness, quantile):
    x = _correct_skewness(quantile, skewness)
    # g(x) = x + s x^2 / 3 + s^2 x^3 / 27 + s / 6, with s the skewness of the average
    back = x + skewness * x**2 / 3 + skewness**2 * x**3 / 27 + skewness / 6
    assert back == pytest.approx(quantile, abs=1e-6)
    assert _correct_skewness(quantile, 0.0) == quantile
    assert _correct_skewness(-quantile, -skewness) == pytest.approx(-x)


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_of_an_average_counts_groups_not_rows(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, int(rng.integers(4, 20)), 60)
    values = rng.lognormal(size=60) + 0.3 * groups
    average, (low, high) = estimate_average(values, groups * 7, values)
    sums = [(values[groups == g] - values.mean()).sum() / 60 for g in np.unique(groups)]
    n = len(sums)
    error = np.sqrt(np.sum(np.square(sums)) * n / (n - 1))
    skewness = np.sum(np.power(sums, 3)) / error**3
    far = t.isf(0.025, n - 1)
    assert average == pytest.approx(values.mean())
    # An interval is wrong where the average is too high by far, or too low.
    assert low == pytest.approx(average - ERROR_FACTOR * error * _correct_skewness(far, skewness))
    assert high == pytest.approx(average - ERROR_FACTOR * error * _correct_skewness(-far, skewness))


@pytest.mark.parametrize("seed", range(6))
def test_shares_of_groups_have_as_many_independent_rows_as_their_error_says(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 12, 80)
    low, high = -2.0, 3.0
    values = np.where(rng.random(80) < 0.2 + 0.05 * groups, high, low)
    average, ends = estimate_average(values, groups, values)
    share = (values == high).mean()
    sums = [((values[groups == g] == high) - share).sum() / 80 for g in np.unique(groups)]
    independent = share * (1 - share) / np.sum(np.square(sums))
    expected = share_interval(share, min(independent, 80) / ERROR_FACTOR**2)
    np.testing.assert_allclose(ends, low + (high - low) * np.array(expected))
    assert average == pytest.approx(values.mean())


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize(("yes", "n"), [(0, 9), (9, 9), (4, 9), (1, 30)])
def test_shares_have_exact_intervals_at_any_confidence(yes, n, confidence):
    expected = binomtest(yes, n).proportion_ci(confidence, "exact")
    np.testing.assert_allclose(share_interval(yes / n, n, confidence), expected, atol=1e-12)


def test_only_two_values_have_the_largest_variance():
    rng = np.random.default_rng(0)
    for values, expected in (
        (rng.choice([2.0, 7.0], 50), True),
        (rng.choice([2.0, 4.5, 7.0], 50), False),
        (np.ones(9), False),
    ):
        given = (float(each()) for each in (values.mean, values.var, values.min, values.max))
        assert is_two_valued(*given) is expected


@pytest.mark.parametrize("seed", range(5))
def test_a_standard_error_is_that_of_sums_by_groups(seed):
    rng = np.random.default_rng(seed)
    groups, parts = rng.integers(0, 9, 40) * 3, rng.normal(size=40)
    sums = [parts[groups == g].sum() for g in np.unique(groups)]
    n = len(sums)
    assert standard_error(parts, groups) == pytest.approx(
        np.sqrt(np.sum(np.square(sums)) * n / (n - 1))
    )
    assert standard_error(parts, np.zeros(40, dtype=int)) == pytest.approx(abs(parts.sum()))


def test_folds_have_about_as_many_groups_each():
    rng = np.random.default_rng(0)
    groups = np.append(rng.integers(0, 57, 400), np.arange(57))
    folds = assign_folds(groups, rng)
    of_group = {g: set(folds[groups == g]) for g in range(57)}
    assert all(len(each) == 1 for each in of_group.values())
    counts = np.bincount([each.pop() for each in of_group.values()], minlength=N_FOLDS)
    assert sorted(counts) == [5] * 3 + [6] * 7
    assert not np.array_equal(folds, assign_folds(groups, rng))


def fitted_boxes(seed=0, n=300):
    """A table, boxes by fold, and why each row is outside the box of its fold, one by one."""
    rng = np.random.default_rng(seed)
    columns = {
        "a": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        "b": rng.choice(np.array([*"xyz", None], dtype=object), n),
        "c": rng.normal(size=n),
    }
    y = rng.normal(size=n) + (columns["c"] > 0)
    table = MemoryTable(columns, y, n_bins=6)
    shape, boxes, folds = table.shape, {}, rng.integers(0, 5, n)
    for fold in range(5):
        box = shape.everything
        box[rng.integers(1, 3) : shape.n_values[0] + 1] &= 1
        box[: rng.integers(0, 3)] = 0
        box[shape.n_values[0]] = rng.random() < 0.5
        box[shape.offsets[1] : shape.offsets[2]] = [1, rng.random() < 0.5, 0, rng.random() < 0.5]
        box[shape.offsets[3] - rng.integers(0, 3) - 1 :] = 0
        boxes[fold] = box
    reasons = np.zeros((n, 3), dtype=int)
    for i in range(n):
        box = boxes[folds[i]]
        for j in range(3):
            part = box[shape.offsets[j] : shape.offsets[j + 1]]
            code = int(table.codes[i, j])
            if part[code]:
                continue
            among = np.flatnonzero(part[: shape.n_values[j]])
            if j == 1:
                reasons[i, j] = OTHER
            elif code >= shape.n_values[j]:
                reasons[i, j] = MISSING
            else:
                reasons[i, j] = BELOW if code < among[0] else ABOVE
    return table, y, folds, boxes, reasons


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_outside_the_box_of_their_fold_for_reasons_that_most_boxes_have(seed):
    table, y, folds, boxes, reasons = fitted_boxes(seed)
    fitted = CrossFit(table, y, folds, np.arange(300), boxes)
    named = {}
    for fold, box in boxes.items():
        each = exclusion_reasons(box, table.shape)
        for j, start in enumerate(table.shape.offsets[:-1]):
            for reason in set(each[start : table.shape.offsets[j + 1]].tolist()) - {0}:
                named.setdefault((j, reason), set()).add(fold)
    assert fitted.ends == set(named)
    assert fitted.rare == {end for end, some in named.items() if len(some) <= 2}
    fitted.drop(fitted.rare)
    assert fitted.ends == {end for end, some in named.items() if len(some) > 2}
    assert fitted.n_named == len({j for j, _ in named})
    assert fitted.features == sorted({j for j, _ in fitted.ends})
    kept = np.zeros_like(reasons)
    for j, reason in fitted.ends:
        kept[reasons[:, j] == reason, j] = reason
    assert_array_equal(fitted.outside, kept)
    assert_array_equal(fitted.inside, (kept == 0).all(axis=1))
    # A copy changes on its own.
    before = fitted.ends.copy()
    rows = np.arange(300) % 3 > 0
    other = fitted.with_rows(rows)
    other.drop({next(iter(other.ends))})
    assert fitted.ends == before and len(other.ends) == len(before) - 1
    assert_array_equal(fitted.outside, kept)
    assert_array_equal(other.rows, rows)
    # A box without the ends that were dropped has what these kept out.
    for box in boxes.values():
        pruned, why = other.prune_box(box, table.shape), exclusion_reasons(box, table.shape)
        for j, start in enumerate(table.shape.offsets[:-1]):
            for k in range(start, table.shape.offsets[j + 1]):
                assert pruned[k] == (box[k] or (j, int(why[k])) not in other.ends)


@pytest.mark.parametrize("seed", range(4))
def test_a_condition_is_judged_by_the_rows_that_it_alone_keeps_out(seed):
    table, y, folds, boxes, _ = fitted_boxes(seed)
    groups = np.arange(300) // 2
    fitted = CrossFit(table, y, folds, groups, boxes)
    fitted.drop(fitted.rare)
    n_out = (fitted.outside > 0).sum(axis=1)
    inside = np.flatnonzero(n_out == 0)
    p_values = {}
    for end in fitted.ends:
        kept_out = np.flatnonzero((n_out == 1) & (fitted.outside[:, end[0]] == end[1]))
        n, m = len(inside), len(kept_out)
        gap = y[inside].mean() - y[kept_out].mean() if m else 0.0
        parts = np.zeros(300)
        parts[inside] = (y[inside] - y[inside].mean()) / n
        if m:
            parts[kept_out] = -(y[kept_out] - y[kept_out].mean()) / m
        some = np.isin(np.arange(300), [*inside, *kept_out])
        few = min(len(set(groups[inside])), len(set(groups[kept_out])))
        cost = gap * m / (n + m)
        if min(n, m) < 2:
            expected = np.inf
        elif cost <= 0.05 * (y[inside].mean() - y.mean()):
            expected = 2.0 - min(cost, 0.0)
        elif few < 2:
            expected = np.inf
        else:
            expected = t.sf(gap / standard_error(parts[some], groups[some]), few - 1)
        p_values[end] = fitted._p_value(inside, kept_out, 0.05)
        assert p_values[end] == pytest.approx(expected)
    # A single row that is better than those inside is too few for a test as well.
    better = np.array([np.where(n_out > 0, y, -np.inf).argmax()])
    assert fitted._p_value(inside, better, 0.05) == np.inf
    units = [{end} for end in sorted(fitted.ends)]
    worst = max(sorted(fitted.ends), key=p_values.get)
    for level in (p_values[worst], np.inf):
        assert not fitted.with_rows(fitted.rows)._drop_worst(units, level, 0.05)
    other = fitted.with_rows(fitted.rows)
    assert other._drop_worst(units, min(p_values[worst], 9.0) - 1e-9, 0.05)
    assert fitted.ends - other.ends == {worst}
    assert not fitted._drop_worst([], 0.0, 0.05)


@pytest.mark.parametrize("seed", range(6))
def test_two_groups_of_folds_differ_by_the_error_of_their_difference(seed):
    table, y, folds, boxes, _ = fitted_boxes(seed)
    groups, some = np.arange(300) // 2, np.arange(300) % 4 > 0
    one = CrossFit(table, y, folds, groups, boxes).with_rows(some)
    other = one.with_rows(some)
    other.drop({max(other.ends)})
    parts = np.zeros(300)
    for fitted, sign in ((one, 1.0), (other, -1.0)):
        rung, rows = Rung((0,), 0, fitted), np.flatnonzero(fitted.inside & some)
        assert_array_equal(rung.inside, rows)
        if len(np.unique(groups[rows])) < 2:
            assert rung.average == -np.inf
            continue
        assert rung.average == pytest.approx(y[rows].mean())
        parts[rows] += sign * (y[rows] - y[rows].mean()) / len(rows)
    expected = standard_error(parts[some], groups[some])
    assert Rung((0,), 0, one).error(Rung((0,), 0, other)) == pytest.approx(expected)


def test_a_search_of_some_features_has_conditions_on_no_others():
    table, y, *_ = fitted_boxes()
    boxes = search_features(table, y, 20, [2, 0])
    some, target = table.only([2, 0]), standardize(y)
    path = search_rows(some, target, 20)
    assert len(boxes) == len(END_COSTS)
    for box, cost in zip(boxes, END_COSTS, strict=True):
        best, sides = path.inside[path.best(cost)], RowSides(some, target)
        own = some.shape.subgroup(simplify_box(best, some.shape, sides.ask, cost))
        found = table.shape.subgroup(box)
        assert {name: found[name] for name in found} == {name: own[name] for name in own}


@pytest.mark.parametrize(("n_rows", "d"), [(60_000, 1), (20_000, 4), (30_000, 5), (40, 2)])
def test_large_tables_are_permuted_less_often(n_rows, d, monkeypatch):
    asked = []
    monkeypatch.setattr(verdict, "_p_value", lambda *given: asked.append(given[-1]) or (1.0, 1, 1))
    X = np.random.default_rng(0).random((n_rows, d))
    table, path = MemoryTable(X, X[:, 0]), SimpleNamespace(most_evidence=1.0)
    permutation_test(table, X[:, 0], 9, path, np.arange(n_rows), np.random.default_rng(0))
    assert asked == [min(max(10_000_000 // (n_rows * d) - 1, 49), 199)]


@pytest.mark.parametrize("minimize", [False, True])
def test_effects_of_sides_are_what_the_group_has_more_than_without_them(minimize):
    rng = np.random.default_rng(1)
    X = rng.random((800, 3))
    y = 2.0 * (X[:, 0] > 0.5) + 1.0 * (X[:, 2] > 0.6) + 0.3 * rng.normal(size=800)
    y = -y if minimize else y
    finding = find_and_judge(MemoryTable(X, y), 60, minimize=minimize, n_permutations=1)
    effects, sign = finding.effects(), -1.0 if minimize else 1.0
    assert list(effects) == ["x0", "x2"] and finding.minimizes == minimize
    for name, gain in effects.items():
        rest = finding.table.rows(finding.subgroup.without(name))
        assert gain == pytest.approx(sign * (y[finding.rows].mean() - y[rest].mean()))
    assert finding.average == pytest.approx(y[finding.rows].mean())
    assert finding.table_average == finding.counted_table_average == pytest.approx(y.mean())
    assert finding.optimism == pytest.approx(sign * (finding.average - finding.verdict.average))


def test_a_value_at_a_limit_is_no_outlier():
    y = np.append(np.repeat([-1.0, 1.0], 50), [10.0, -10.0, 10.0 + 1e-9])
    limits = OutlierLimits.from_target(y, 1)
    at = np.append(y[:100], [limits.high, limits.low, limits.high + 1e-6])
    again = OutlierLimits.from_target(at, 1)
    assert (again.low, again.high) == (limits.low, limits.high)
    assert again.outliers.tolist() == [102]


@pytest.mark.parametrize("min_rows", [1, 2, 10, 60])
def test_folds_are_searched_for_groups_of_as_large_a_share(min_rows, monkeypatch):
    asked = set()

    def spied(table, y, least, features):
        asked.add((len(y), least))
        return search_features(table, y, least, features)

    monkeypatch.setattr(crossfit, "search_features", spied)
    X = np.random.default_rng(0).random((100, 2))
    cross_fit(MemoryTable(X, X[:, 0]), X[:, 0], min_rows, np.arange(100), np.random.default_rng(0))
    assert asked == {(100, min_rows), (90, max(1, -(-min_rows * 90 // 100)))}


def test_the_runner_up_has_few_rows_in_common_and_a_real_evidence():
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    y = standardize(2.0 * (X[:, 0] > 0.8) + (X[:, 1] < 0.1) + 0.5 * rng.normal(size=600))
    table = MemoryTable(X, y)
    path = search_rows(table, y, 30)
    shrunken = path.shrunken_mean()
    inside = [table.shape.holds(table.codes, each) for each in path.inside]
    for rows in (inside[shrunken.argmax()], ~inside[shrunken.argmax()], np.ones(600, dtype=bool)):
        few = [
            i
            for i in np.argsort(-shrunken, kind="stable")
            if shrunken[i] > 0.0 and (inside[i] & rows).sum() <= 0.1 * inside[i].sum()
        ]
        found = _runner_up(table, path, rows)
        expected = None if not few else inside[few[0]]
        assert (found is None) == (expected is None)
        if found is not None:
            assert_array_equal(table.rows(found), expected)


@pytest.mark.parametrize("n_permutations", [1, 48, 49, 99])
def test_a_p_value_is_the_share_of_permuted_tables_with_as_much_evidence(
    monkeypatch, n_permutations
):
    """After ten more than a significant result may have, no more tables are searched."""
    rng = np.random.default_rng(n_permutations)
    table, y = MemoryTable({"x": np.arange(8.0)}, np.arange(8.0)), np.arange(8.0)
    enough = 10 + (n_permutations + 1) // round(1 / LEVEL)
    for share in (0.0, 0.05, 0.5, 1.0):
        as_much = (rng.random(n_permutations) < share).tolist()
        found = iter([SimpleNamespace(most_evidence=2.0 + each) for each in as_much])
        monkeypatch.setattr(verdict, "search_rows", lambda *given, found=found: next(found))
        result = verdict._p_value(table, y, 2, 3.0, np.arange(8), rng, n_permutations)
        until = next((n for n in range(n_permutations) if sum(as_much[: n + 1]) == enough), None)
        if until is None:
            expected = (sum(as_much) + 1) / (n_permutations + 1), n_permutations, sum(as_much)
        else:
            expected = enough / (until + 1), until + 1, enough
        assert result == expected

"""The search that asks for averages, and the Gaussian process by which it proposes groups."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad, minimize
from scipy.stats import norm

from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import BETTER_REPEATED, NoisyAverages, _Asking, search_by_asking
from skgpb.lab.tables.model import N_CATEGORIES, GroupModel, _bins


def mixed(n=240, seed=0):
    """A table with numbers, a category and missing values."""
    rng = np.random.default_rng(seed)
    hour = rng.uniform(0, 24, n)
    hour[rng.random(n) < 0.1] = np.nan
    town = rng.choice(["A", "B", "C"], n).astype(object)
    x = rng.normal(size=n)
    y = 2.0 * (town == "B") * (x > 0) + np.nan_to_num(hour) / 12 + 0.1 * rng.normal(size=n)
    return MemoryTable({"hour": hour, "town": town, "x": x}, np.zeros(n)), y


def fitted(seed=0, n_groups=25):
    table, y = mixed(seed=seed)
    rng = np.random.default_rng(seed)
    groups = [rng.choice(240, rng.integers(5, 40), replace=False) for _ in range(n_groups)]
    noise = rng.uniform(0.001, 0.01, n_groups)
    answers = np.array([y[rows].mean() for rows in groups]) + noise**0.5 * rng.normal(size=n_groups)
    return table, groups, answers, noise, GroupModel(table).fit(groups, answers, noise)


def covariance_of_rows(table, model):
    """The prior of all rows, as its formula says, row by row."""
    parts = []
    for j, levels in enumerate(table.levels):
        bins, kernel = _bins(table.codes[:, j], levels)
        codes = bins[table.codes[:, j]]
        of_rows = kernel[np.ix_(codes, codes)]
        # Without what is the same for all rows, and with a variance of one.
        of_rows = of_rows - of_rows.mean(axis=0) - of_rows.mean(axis=1)[:, None] + of_rows.mean()
        parts.append(of_rows / np.trace(of_rows) * len(of_rows))
    every = [*parts, *(parts[a] * parts[b] for a, b in combinations(range(len(parts)), 2))]
    return model._constant + np.tensordot(model._all_weights, np.array(every), 1)


def test_the_posterior_is_that_of_the_rows():
    table, groups, answers, noise, model = fitted()
    K = covariance_of_rows(table, model)
    W = np.array([np.bincount(rows, minlength=240) / len(rows) for rows in groups])
    known = W @ K @ W.T + np.diag(noise + 1e-9 * model._constant + model._own)
    offset = answers.mean()
    solved = np.linalg.solve(known, answers - offset)
    assert_allclose(model.rows(), offset + K @ W.T @ solved, rtol=1e-6, atol=1e-6)

    new = [np.arange(10), np.arange(100, 180), groups[3]]
    V = np.array([np.bincount(rows, minlength=240) / len(rows) for rows in new])
    across = W @ K @ V.T
    across[3, 2] += model._own
    within = V @ K @ V.T + model._own * np.eye(3)
    mean, cov = model.joint(new, [-1, -1, 3])
    assert_allclose(mean, offset + across.T @ solved, rtol=1e-6)
    expected = within - across.T @ np.linalg.solve(known, across)
    assert_allclose(cov, expected, rtol=1e-5, atol=1e-7)


def test_variances_are_learned_down_the_slope_of_what_speaks_against_them(monkeypatch):
    learned = []

    def spied(loss, start, **options):
        learned.append((loss, start))
        return minimize(loss, start, **options)

    monkeypatch.setattr("skgpb.lab.tables.model.minimize", spied)
    fitted()
    ((loss, start),) = learned
    for theta in start + np.random.default_rng(0).normal(size=(5, len(start))):
        assert check_grad(lambda at: loss(at)[0], lambda at: loss(at)[1], theta) < 1e-3


def test_where_features_tell_all_of_it_next_to_nothing_is_left_to_single_groups():
    table, groups, _, noise, _ = fitted()
    in_town = table.columns["town"] == "B"
    answers = np.array([in_town[rows].mean() for rows in groups])
    model = GroupModel(table).fit(groups, answers, np.full_like(noise, 1e-9))
    assert model._own < 1e-4 * answers.var()
    assert_allclose(model.rows(), in_town, atol=1e-3)


def test_the_most_frequent_categories_are_told_apart():
    rng = np.random.default_rng(0)
    names = np.array([f"town {i}" for i in range(N_CATEGORIES + 20)], dtype=object)
    rows = np.repeat(rng.permutation(len(names)), rng.permutation(len(names)) + 1)
    table = MemoryTable({"town": names[rows]}, np.zeros(len(rows)))
    bins, _ = _bins(table.codes[:, 0], table.levels[0])
    n = np.bincount(table.codes[:, 0])
    frequent = n > 20  # each has a number of rows of its own, from 1 on
    assert len(set(bins[frequent])) == N_CATEGORIES
    assert len(set(bins[~frequent]) | set(bins[frequent])) == N_CATEGORIES + 1


def test_what_is_foretold_is_what_all_other_answers_foretell():
    table, groups, answers, noise, model = fitted(1)
    K = covariance_of_rows(table, model)
    W = np.array([np.bincount(rows, minlength=240) / len(rows) for rows in groups])
    known = W @ K @ W.T + np.diag(noise + 1e-9 * model._constant + model._own)
    centred, errors = answers - answers.mean(), []
    for i in range(len(groups)):
        rest = np.arange(len(groups)) != i
        told = known[i, rest] @ np.linalg.solve(known[np.ix_(rest, rest)], centred[rest])
        errors.append(centred[i] - told)
    expected = 1.0 - np.mean(np.square(errors)) / centred.var()
    assert model.r2_loo == pytest.approx(expected, abs=1e-6)
    assert model.r2_loo > 0.3


def test_features_that_tell_something_are_told_from_others():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 15))  # too many to examine all pairs
    y = 3.0 * X[:, 4] + rng.normal(size=3000)
    table = MemoryTable(X, np.zeros(3000))
    found = search_by_asking(table, NoisyAverages(y, 0.05), 60, 120)
    assert next(iter(found.model.effects())) == "x4"
    assert "x4" in found.subgroup and y[found.group.rows].mean() > y.mean() + 0.8


@pytest.mark.parametrize("seed", range(3))
def test_a_table_is_parted_into_groups_that_are_large_enough(seed):
    table, y = mixed(seed=seed)
    oracle = NoisyAverages(y, 0.1)
    asking = _Asking(table, oracle, 9, 50, 1.0, None, np.random.default_rng(seed), lambda: None)
    parts = asking.random_partition(20)
    rows = [asking.get_group(inside).rows for inside in parts]
    assert 16 <= len(parts) <= 20 and min(map(len, rows)) >= 9
    assert_array_equal(np.sort(np.concatenate(rows)), np.arange(240))
    for inside, members in zip(parts, rows, strict=True):
        box = table.shape.subgroup(inside)
        assert_array_equal(np.flatnonzero(table.rows(box)), members)


def test_a_group_may_have_just_as_many_rows_as_it_must_have():
    table, y = MemoryTable({"x": np.arange(24.0)}, np.zeros(24)), np.zeros(24)
    oracle = NoisyAverages(y, 0.1)
    asking = _Asking(table, oracle, 12, 50, 1.0, None, np.random.default_rng(0), lambda: None)
    assert [len(asking.get_group(inside).rows) for inside in asking.random_partition(2)] == [12, 12]


def test_of_a_large_table_some_rows_are_searched_and_all_are_asked_about(monkeypatch):
    monkeypatch.setattr("skgpb.lab.tables.asking.MOST_ROWS", 160)
    monkeypatch.setattr("skgpb.lab.tables.asking.MIN_R2", -np.inf)
    boxes, propose = [], _Asking.propose
    monkeypatch.setattr(
        _Asking, "propose", lambda *given: boxes.append(propose(*given)) or boxes[-1]
    )
    table, y = mixed()
    found = search_by_asking(table, NoisyAverages(y, 0.05), 12, 60)
    assert found.engine == "model"
    assert any(len(group.rows) < 100 for groups in boxes for group in groups)
    assert min(len(group.rows) for group in found.groups) >= 12
    assert max(len(group.rows) for group in found.groups) == 240
    assert y[found.group.rows].mean() > y.mean() + 0.5


def test_a_number_has_the_same_bins_from_above_as_from_below():
    x, found = np.random.default_rng(0).exponential(size=96), []
    for values in (x, -x):
        table = MemoryTable({"x": values}, np.zeros(96))
        bins, kernel = _bins(table.codes[:, 0], table.levels[0])
        of_rows = bins[table.codes[:, 0]]
        found.append(kernel[np.ix_(of_rows, of_rows)])
    assert_allclose(found[0], found[1], atol=1e-12)


@pytest.mark.slow
def test_a_planted_box_is_found_through_noise():
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.random((3000, 5))
        inside = (X[:, :2] > 0.75).all(axis=1)
        y = 2.0 * inside + rng.normal(size=3000)
        table = MemoryTable(X, np.zeros(3000))
        found = search_by_asking(table, NoisyAverages(y, 0.1 * y.std(), seed), 100, 150, seed=seed)
        assert found.n_answers <= 150 and len(found.group.rows) >= 100
        assert_array_equal(np.flatnonzero(table.rows(found.subgroup)), found.group.rows)
        gains.append(y[found.group.rows].mean() - y.mean())
    assert np.mean(gains) > 1.2  # the box has 1.9 more than the table


def of_noise(seed):
    """Search a table of noise by noisy answers; the spread of the target is 1."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((2000, 4)), rng.normal(size=2000)
    table = MemoryTable(X, np.zeros(2000))
    return search_by_asking(table, NoisyAverages(y, 0.3), 40, 100, seed=seed)


@pytest.mark.slow
def test_where_the_model_foretells_nothing_halving_takes_over():
    found = [of_noise(seed) for seed in range(20)]
    assert max(each.n_answers for each in found) <= 100
    # Over 100 seeds in 0.76 of them: fewer than 5 of 20 have a probability below 1e-6.
    assert [each.engine for each in found].count("halving") >= 5
    # Answers say little, and so does what is known of the best: 0.15 +- 0.06.
    assert np.mean([each.mean[each.index] - each.mean[0] for each in found]) < 0.25


@pytest.mark.parametrize(("share", "engine"), [(-np.inf, "model"), (1.0, "halving")])
def test_the_engine_is_chosen_by_what_the_model_foretells(share, engine, monkeypatch):
    monkeypatch.setattr("skgpb.lab.tables.asking.MIN_R2", share)
    proposed = []
    propose = _Asking.propose
    monkeypatch.setattr(_Asking, "propose", lambda *given: proposed.append(1) or propose(*given))
    assert of_noise(0).engine == engine
    assert bool(proposed) == (engine == "model")


def test_what_is_recommended_is_the_best_of_what_is_known_to_be_better_than_all_rows():
    least = []
    for seed in range(6):
        found = of_noise(seed)
        lead = found.mean - found.mean[0]
        apart = np.eye(len(lead)) - np.eye(len(lead))[0]
        sure = (
            norm.cdf(lead / np.sqrt(np.diag(apart @ found.cov @ apart.T) + 1e-12))
            >= BETTER_REPEATED
        )
        sure[0] = True
        least.append(sure.sum())
        assert found.index == np.flatnonzero(sure)[found.mean[sure].argmax()]
    assert max(least) > 1


def test_enough_is_known_once_no_other_group_can_be_much_better():
    table, y = mixed()
    oracle, rng = NoisyAverages(y, 0.5), np.random.default_rng(0)
    asking = _Asking(table, oracle, 12, 60, 1.0, None, rng, lambda: None, confidence=0.9)
    asking.run()
    some = asking.groups[1:6]
    mean, cov = (each[1:6] for each in asking.posterior())
    apart = np.eye(5) - np.eye(5)[mean.argmax()]
    spread = np.sqrt(np.maximum(np.diag(apart @ cov[:, 1:6] @ apart.T), 0.0))
    more = mean - mean.max() + norm.isf(0.1 / 4) * spread
    most = np.delete(more, mean.argmax()).max()
    assert asking._is_enough(some, most + 1e-9)
    assert not asking._is_enough(some, most - 1e-9)


class OnlyOfSome(NoisyAverages):
    """Never tells the average over the whole table of 240 rows."""

    def affords(self, rows):
        return len(rows) < 240


def test_all_rows_are_among_the_groups_where_no_question_about_them_is_answered():
    table, y = mixed()
    found = search_by_asking(table, OnlyOfSome(y, 0.05), 12, 60)
    whole, *asked = found.groups
    assert len(whole.rows) == len(y) and not whole.answers
    mean, cov = found.model.joint([group.rows for group in asked], range(len(asked)))
    assert_allclose(found.mean[1:], mean)
    assert_allclose(found.cov[1:, 1:], cov, atol=1e-12)
    assert found.mean[0] == pytest.approx(y.mean(), abs=0.2)


def test_without_a_model_all_rows_are_as_good_as_the_groups_on_average():
    table, y = mixed()
    found = search_by_asking(table, OnlyOfSome(y, 0.05), 12, 5)
    whole, *asked = found.groups
    assert found.model is None and not whole.answers
    averages = [np.mean(group.answers) for group in asked]
    assert_allclose(found.mean, [np.mean(averages), *averages])
    # They may be as far from that as groups are, and answers are noisy beside.
    assert_allclose(np.diag(found.cov)[1:], [0.05**2 / len(group.answers) for group in asked])
    assert found.cov[0, 0] == pytest.approx(np.var(averages) + 0.05**2)


def test_the_better_half_is_asked_on():
    table, y = mixed()
    oracle = NoisyAverages(y, 0.01)
    asking = _Asking(table, oracle, 9, 60, 1.0, None, np.random.default_rng(0), lambda: None)
    groups = [asking.get_group(inside) for inside in asking.random_partition(8)]
    asking.ask_all(groups, 0.1)
    asking._halve(groups)
    averages = [y[group.rows].mean() for group in groups]
    times = [len(group.answers) for group in np.array(groups)[np.argsort(averages)]]
    assert times == sorted(times) and len(set(times)) > 2
    assert asking.n_answers == sum(times)


def test_low_averages_are_sought_as_the_opposite_of_high_ones():
    table, y = mixed()

    class Oracle(NoisyAverages):
        def answer(self, rows, part):
            average, variance = super().answer(rows, part)
            return self.sign * average, variance

    found = []
    for sign in (1.0, -1.0):
        oracle = Oracle(y, 0.05)
        oracle.sign = sign
        found.append(search_by_asking(table, oracle, 12, 60, minimize=sign < 0.0))
    assert found[0].subgroup == found[1].subgroup
    assert_array_equal(found[0].mean, -found[1].mean)

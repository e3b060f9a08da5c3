"""The search that asks for averages, and the Gaussian process by which it proposes groups."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad, minimize
from scipy.stats import norm

from skgpb.lab.tables import MemoryTable
from skgpb.lab.tables.asking import (
    BETTER_REPEATED,
    FEWEST_ANSWERS,
    FEWEST_QUESTIONS,
    MAX_OVERLAP,
    NOISE_FLOOR,
    PART_FIRST,
    PART_OTHERS,
    PART_WHOLE,
    SHARE_FIRST,
    AskedGroup,
    NoisyAverages,
    _Asking,
    _overlap,
    search_by_asking,
)
from skgpb.lab.tables.model import (
    LENGTH_SCALE,
    N_BINS,
    N_CATEGORIES,
    SMOOTH,
    GroupModel,
    _bins,
    _functions,
)


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


@pytest.mark.parametrize(("share", "kept"), [(0.0, 1.0), (0.5, 0.5), (0.99, 0.05), (3.0, 0.05)])
def test_the_scale_is_what_noise_leaves_of_the_spread(share, kept):
    table, groups, answers, _, _ = fitted()
    spread = answers.var()
    noise = share * spread * np.linspace(0.5, 1.5, len(answers))
    model = GroupModel(table).fit(groups, answers, noise)
    assert_allclose(model._constant, kept * spread)


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


# -- the parts of a search, by their definitions --------------------------------------------------


class Recorded(NoisyAverages):
    """Keeps every question, and which part of the budget of a row it takes."""

    def __init__(self, *given, repeats=True):
        super().__init__(*given)
        self.asked, self._repeats = [], repeats

    @property
    def repeats(self):
        return self._repeats

    def answer(self, rows, part):
        self.asked.append((rows, part))
        return super().answer(rows, part)


def start(oracle, table, budget=60, least=12, **given):
    rng = np.random.default_rng(0)
    return _Asking(table, oracle, least, budget, 1.0, None, rng, lambda: None, **given)


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_pooled_by_their_noise_which_has_a_floor(seed):
    rng = np.random.default_rng(seed)
    group = AskedGroup(np.ones(3, dtype=np.uint8), np.arange(5))
    group.answers, group.variances = rng.normal(size=4).tolist(), [1e-9, 0.2, 0.5, 1.0]
    weights = 1.0 / np.array([0.1, 0.2, 0.5, 1.0])
    mean, variance = group.pooled_answer(0.1)
    assert mean == pytest.approx(weights @ group.answers / weights.sum())
    assert variance == pytest.approx(1.0 / weights.sum())
    table, y = mixed(seed=seed)
    asking = start(NoisyAverages(y, 0.1), table)
    asking.ask_all([asking.get_group(i) for i in asking.random_partition(6)], 0.1)
    answers = [answer for each in asking.groups for answer in each.answers]
    assert asking.floor == pytest.approx((NOISE_FLOOR * np.std(answers)) ** 2)
    assert asking.floor > 0.0
    asking.groups.clear()
    asking.ask(asking.get_group(table.shape.everything), 0.1)
    assert asking.floor == 1e-300  # a single answer has no spread


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("budget", [9, 60])
def test_each_question_takes_its_part_of_the_budget_of_a_row(repeats, budget):
    table, y = mixed()
    oracle = Recorded(y, 0.1, repeats=repeats)
    found = start(oracle, table, budget).run()
    assert found.n_answers == len(oracle.asked) <= budget
    if repeats:
        assert found.n_answers == budget
    rows, parts = zip(*oracle.asked, strict=True)
    assert len(rows[0]) == 240 and parts[0] == PART_WHOLE
    n_first = max(round(SHARE_FIRST * budget), min(FEWEST_QUESTIONS, budget)) - 1
    of_first = [part for part in parts[1:] if part != PART_OTHERS]
    assert 0.6 * n_first <= len(of_first) <= n_first
    # All first groups together take one part of each row at most, in as many partitions.
    spent = np.zeros(240)
    for each, part in zip(rows[1:], parts[1:], strict=True):
        if part != PART_OTHERS:
            spent[each] += part
    assert spent.max() <= PART_FIRST + 1e-12
    assert spent.mean() > 0.6 * PART_FIRST
    assert set(parts[1 + len(of_first) :]) <= {PART_OTHERS, PART_WHOLE}
    if not repeats:
        assert all(len(group.answers) == 1 for group in found.groups)
    assert found.index == found.groups.index(found.group)


def test_no_model_is_fitted_to_few_or_equal_answers():
    table, y = mixed()
    for n, values in ((FEWEST_ANSWERS - 1, y), (FEWEST_ANSWERS, y), (9, np.zeros(240))):
        asking = start(NoisyAverages(values, 0.0), table, least=5)
        groups = [asking.get_group(inside) for inside in asking.random_partition(n)]
        asking.ask_all(groups[:n], 0.1)
        assert len(asking.groups) == n
        asking.learn()
        assert (asking.model is not None) == (n == FEWEST_ANSWERS)
        mean, cov = asking.posterior()
        if asking.model is None:
            assert_allclose(mean, [values[group.rows].mean() for group in groups[:n]])
            assert_allclose(cov, asking.floor * np.eye(n))


@pytest.mark.parametrize(("common", "alike"), [(80, True), (79, False)])
def test_groups_are_alike_if_most_rows_of_the_larger_one_are_in_both(common, alike):
    inside = np.ones(1, dtype=np.uint8)
    large = AskedGroup(inside, np.arange(100))
    for rest in (0, 5):
        small = AskedGroup(inside, np.append(np.arange(common), 100 + np.arange(rest)))
        assert _overlap(large, small) == _overlap(small, large) == alike
    assert MAX_OVERLAP == 0.8


def test_proposed_groups_are_the_best_predicted_and_no_two_alike():
    table, y = mixed()
    asking = start(NoisyAverages(y, 0.05), table, least=12)
    asking.ask_all([asking.get_group(i) for i in asking.random_partition(25)], 0.1)
    asking.learn()
    predicted = asking.model.rows()
    groups = asking.propose(5)
    assert 2 <= len(groups) <= 5 and len(asking.propose(1)) == 1
    for i, group in enumerate(groups):
        assert len(group.rows) >= 12
        assert_array_equal(group.rows, np.flatnonzero(table.shape.holds(table.codes, group.inside)))
        assert not any(_overlap(group, other) for other in groups[:i])
    assert predicted[groups[0].rows].mean() > np.quantile(predicted, 0.8)
    # A group that was asked before is the same object.
    asking.ask(groups[0], 0.1)
    assert asking.get_group(groups[0].inside.copy()) is groups[0]


@pytest.mark.parametrize("missing", [False, True])
def test_bins_of_a_number_are_of_ranks_and_their_kernel_of_the_distances(missing):
    rng = np.random.default_rng(0)
    x = rng.exponential(size=500).round(1)
    x[:40] = np.nan if missing else x[:40]
    table = MemoryTable({"x": x}, np.zeros(500))
    bins, kernel = _bins(table.codes[:, 0], table.levels[0])
    there = x[~np.isnan(x)]
    values = np.unique(there)
    place = [((there < v).sum() + 0.5 * (there == v).sum()) / len(there) for v in values]
    found = bins[: len(values)]
    _, expected = np.unique((N_BINS * np.array(place)).astype(int), return_inverse=True)
    assert_array_equal(found, expected)
    middle = []
    for k in range(found.max() + 1):
        own = found == k
        n = np.array([(there == v).sum() for v in values[own]])
        middle.append(n @ np.array(place)[own] / n.sum())
    far = np.abs(np.subtract.outer(middle, middle)) / LENGTH_SCALE
    expected = SMOOTH * np.exp(-0.5 * far**2) + (1 - SMOOTH) * np.exp(-far)
    n = len(middle)
    assert_allclose(kernel[:n, :n], expected)
    if missing:
        assert bins[-1] == n and len(kernel) == n + 1
        assert_allclose(kernel[-1], np.arange(n + 1) == n)


def test_basis_functions_have_the_centred_covariance_with_a_variance_of_one():
    rng = np.random.default_rng(0)
    root, share = rng.normal(size=(6, 6)), rng.dirichlet(np.ones(6))
    kernel = root @ root.T
    f = _functions(kernel, share)
    centred = kernel - np.outer(np.ones(6), share @ kernel) - np.outer(kernel @ share, np.ones(6))
    centred = centred + share @ kernel @ share
    assert_allclose(f @ f.T, centred / (share @ np.diag(centred)), atol=1e-4)
    assert_allclose(share @ f, 0.0, atol=1e-3)
    assert share @ (f**2).sum(axis=1) == pytest.approx(1.0, abs=1e-4)
    assert_array_equal(_functions(np.ones((3, 3)), np.full(3, 1 / 3)), np.zeros((3, 1)))


def test_effects_are_the_deviations_of_single_features():
    model = fitted()[-1]
    effects = model.effects()
    assert list(effects.values()) == sorted(effects.values(), reverse=True)
    for j, name in enumerate(model.names):
        f = model._functions[j]
        values = model._weights[j] * (f @ (model._single[j].T @ model._solved))
        assert effects[name] == pytest.approx(values[model.codes[j]].std())


def test_of_many_features_only_pairs_of_the_most_important_have_a_function(monkeypatch):
    monkeypatch.setattr("skgpb.lab.tables.model.MOST_PAIRED", 3)
    rng = np.random.default_rng(0)
    X = rng.random((300, 5))
    y = 3.0 * X[:, 1] + 2.0 * X[:, 2] + 4.0 * X[:, 4]
    groups = [rng.choice(300, 20, replace=False) for _ in range(40)]
    answers = np.array([y[rows].mean() for rows in groups])
    model = GroupModel(MemoryTable(X, np.zeros(300)))
    assert model._paired == []
    model.fit(groups, answers, np.full(40, 1e-6))
    assert model._paired == [(1, 2), (1, 4), (2, 4)]
    assert np.corrcoef(model.rows(), y)[0, 1] > 0.95


def test_a_feature_of_two_values_parts_a_table_into_two_groups():
    town = np.array(["A", "B"] * 20, dtype=object)
    table = MemoryTable({"town": town}, np.zeros(40))
    oracle = NoisyAverages(np.zeros(40), 0.1)
    asking = _Asking(table, oracle, 5, 50, 1.0, None, np.random.default_rng(0), lambda: None)
    parts = [asking.get_group(inside).rows for inside in asking.random_partition(8)]
    assert sorted(map(tuple, parts)) == [tuple(range(0, 40, 2)), tuple(range(1, 40, 2))]


def test_a_search_without_a_budget_for_any_group_ends_in_words():
    table, y = mixed()

    class Spent(NoisyAverages):
        def affords(self, rows):
            return False

    with pytest.raises(ValueError, match="no group of the table could answer a question"):
        search_by_asking(table, Spent(y, 0.1), 10, 40)


@pytest.mark.parametrize("minimize", [False, True])
def test_a_search_stops_once_the_best_group_is_surely_the_best(minimize):
    """Of two towns with exact answers; with noise as large as their distance it goes on."""
    town = np.array(["A", "B"] * 60, dtype=object)
    y = np.where(town == "B", -4.0 if minimize else 4.0, 0.0)
    table = MemoryTable({"town": town}, np.zeros(120))
    n_asked = []
    for noise, within in ((1e-3, 0.5), (1e-3, None), (30.0, 0.5)):
        oracle = NoisyAverages(y, noise)
        found = search_by_asking(table, oracle, 20, 24, within=within, minimize=minimize)
        assert found.enough == (noise < 1.0 and within is not None)
        n_asked.append(found.n_answers)
        if noise < 1.0:
            assert_array_equal(np.sort(found.group.rows), np.arange(1, 120, 2))
            assert abs(found.mean[found.index] - y.sum() / 60) < 0.05
    assert n_asked[0] < min(n_asked[1:]) <= max(n_asked) <= 24

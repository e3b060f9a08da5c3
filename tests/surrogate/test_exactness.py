"""Exact answers, on functions with known noise."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from skgpb import EIOptimizer, GPUCBOptimizer, IDSOptimizer, KGOptimizer
from skgpb.exceptions import ModelWarning
from skgpb.surrogate.exactness import repeats_agree
from skgpb.surrogate.samples import ScaledSamples

X = np.linspace(0.0, 1.0, 64)[:, None]


def smooth(x):
    return np.sin(9.0 * x)


def rough(x):
    return sum(0.7**k * np.cos(2.0 * np.pi * 2.0**k * x) for k in range(8))


def kinked(x):
    return np.exp(-8.0 * np.abs(x - 0.3))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("function", [smooth, kinked])
@pytest.mark.parametrize(("noise", "exact"), [(0.0, True), (0.02, False), (0.3, False)])
def test_answers_are_taken_for_exact_where_they_are(function, noise, exact):
    rows = np.vstack([X, X[:1]])  # one is asked twice
    y = function(rows[:, 0]) + noise * np.random.default_rng(1).standard_normal(65)
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0).tell(rows, y)
    *_, learned = (event[1] for event in optimizer._events if event[0] == "learned")
    assert (learned["noise"] < 1.001e-6) == exact
    if exact and function is kinked:
        assert learned["smoothness"] < 2.5
    if not exact:
        assert learned["smoothness"] == 2.5
    best = optimizer.recommend()
    seen = optimizer.recommend(method="best_observed")
    assert seen.points[0] == X[np.argmax(y)]
    assert best == optimizer.recommend(method="best_observed" if exact else "posterior")


def test_one_query_that_is_asked_again_tells_exact_answers_from_noise():
    y = rough(X[:, 0])
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0).tell(X, y)
    best = X[np.argmax(y)]
    assert optimizer.alpha_ > 1e-2  # all that varies from answer to answer may be noise
    assert optimizer.tell(X[:1], y[:1]).recommend().points[0] == best
    optimizer.tell(X[1:2], y[1:2] + 0.1)
    assert optimizer.recommend() == optimizer.recommend(method="posterior")


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
def test_a_run_with_exact_answers_goes_on_as_it_was(tmp_path):
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0).tell(X, kinked(X[:, 0]))
    optimizer.save(tmp_path / "run")
    others = [GPUCBOptimizer.load(tmp_path / "run"), pickle.loads(pickle.dumps(optimizer))]
    for each in (optimizer, *others):
        each.run(lambda query: float(kinked(query.points[0, 0])), 3)
        assert "nu=1.5" in str(each.surrogate_.kernel_)
    for each in others:
        np.testing.assert_array_equal(each.history_, optimizer.history_)
        assert each.recommend() == optimizer.recommend()


@pytest.mark.parametrize("outliers", [-9.0, 9.0])
def test_one_wild_answer_does_not_hide_that_the_others_are_exact(outliers):
    y = smooth(X[:, 0])
    y[40] = outliers  # far from the best
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0)
    with pytest.warns(ModelWarning, match="one answer is far") as said:
        optimizer.tell(X, y)
    # The message has the error, in the user's units.
    assert f" by {abs(outliers - smooth(X[40, 0])):.3g};" in str(said[0].message)
    best = X[np.argmax(smooth(X[:, 0]))]
    assert optimizer.recommend().points[0] == best
    assert optimizer.recommend(method="best_observed").points[0] == best


def told(numbers, y):
    return ScaledSamples(np.array(numbers), np.array(y, dtype=float), np.full(len(y), np.nan))


def test_the_same_answer_to_the_same_query_says_that_it_is_exact():
    assert repeats_agree(told([0, 1, 0, 2], [1.0, 3.0, 1.0, 2.0]))
    assert not repeats_agree(told([0, 1, 0, 2], [1.0, 3.0, 1.001, 2.0]))
    assert not repeats_agree(told([0, 1, 3, 2], [1.0, 3.0, 1.001, 2.0]))
    # Grades may agree by chance.
    assert not repeats_agree(told([0, 1, 0, 2], [1.0, 0.0, 1.0, 1.0]))


def test_agreement_at_repeats_counts_and_not_difference_elsewhere():
    numbers, y = [*range(12)], [0.0, 0.0, 0.0, 0.0, *np.linspace(10.0, 90.0, 8)]
    assert not repeats_agree(told(numbers, y))
    # A floor says nothing, neither of other answers nor by itself.
    assert repeats_agree(told([*numbers, 11], [*y, 90.0]))
    assert not repeats_agree(told([*numbers, 0, 0, 0], [*y, 0.0, 0.0, 0.0]))
    assert not repeats_agree(told([*numbers, 11, 10], [*y, 90.0, 80.0]))
    # Grades may agree by chance, the more often the fewer there are.
    grades = [1.0, 2.0, 3.0, 4.0] * 3
    assert not repeats_agree(told([*numbers, 11, 11], [*grades, 4.0, 4.0]))
    assert repeats_agree(told([*numbers, *[11] * 5], [*grades, *[4.0] * 5]))
    assert not repeats_agree(told([*numbers, *[11] * 6], [*grades, *[4.0] * 5, 3.0]))


LISTS = {name: list("abcdef") for name in ("one", "two", "three")}
EFFECTS = np.random.default_rng(5).normal(size=(3, 6))


def of_lists(params):
    """Return what is 0 for most settings, such as the yield of a reaction."""
    effects = [EFFECTS[i, "abcdef".index(value)] for i, value in enumerate(params.values())]
    return float(np.maximum(100.0 * np.sin(sum(effects)) * effects[0], 0.0))


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer, KGOptimizer, IDSOptimizer])
def test_nothing_worse_than_what_was_seen_is_recommended_above_a_floor(cls):
    for seed in range(3):
        optimizer, asked = cls(bounds=LISTS, random_state=seed), []
        for _ in range(25):
            query = optimizer.ask()
            asked.append(query.params)
            optimizer.tell(query, of_lists(query.params))
        answers = [of_lists(params) for params in asked]
        assert answers.count(0.0) > 2 and len({*map(str, asked)}) < 25
        assert of_lists(optimizer.recommend().params) == max(answers)


def repeated(optimizer, answer, n):
    """Play n rounds; numbers of the rounds in which a query was asked again."""
    asked, again = [], []
    for t in range(n):
        query = optimizer.ask()
        point = query.points[0].tolist()
        if point in asked:
            again.append(t)
        asked.append(point)
        optimizer.tell(query, answer(query.points[0]))
    return again


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
def test_the_best_is_asked_for_once_more_where_answers_may_be_exact():
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=0)
    again = repeated(optimizer, lambda x: float(rough(x[0]) + rough(0.7 * x[1] + 0.1)), 24)
    assert len(again) == 1 and 16 <= again[0] <= 17
    assert optimizer.alpha_ < 1e-4  # learned at once
    assert optimizer.recommend() == optimizer.recommend(method="best_observed")


def test_with_noise_one_answer_more_decides():
    rng = np.random.default_rng(0)
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=0)
    again = repeated(optimizer, lambda x: float(smooth(x[0]) + 0.5 * rng.standard_normal()), 40)
    assert len([t for t in again if t < 32]) <= 1
    assert optimizer.alpha_ > 0.05
    assert optimizer.recommend() == optimizer.recommend(method="posterior")


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
def test_grades_that_agree_by_chance_do_not_count_as_exact():
    rng = np.random.default_rng(4)

    def grade(x):
        return float(np.clip(round(3.0 + 2.0 * smooth(x[0]) + rng.standard_normal()), 1, 5))

    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=4)
    assert repeated(optimizer, grade, 48)
    assert optimizer.alpha_ > 0.05
    assert optimizer.recommend() == optimizer.recommend(method="posterior")


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
@pytest.mark.parametrize("error", [0.0, 0.4])
def test_what_seems_to_be_noise_counts_as_such_until_a_repeated_query_decides(error):
    """f is smooth where the first answers are, and rough elsewhere, which looks like noise."""
    x = np.concatenate([np.linspace(0.0, 0.5, 16), np.linspace(0.51, 0.97, 16)])
    y = smooth(x) + np.where(x > 0.5, rough(x), 0.0)
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0)
    for each, answer in zip(x, y, strict=True):
        optimizer.tell([[each]], [answer])
    assert optimizer.alpha_ > 1e-2
    query = optimizer.ask()
    assert query.points[0] == x[np.argmax(y)]
    optimizer.tell(query, y.max() + error)
    assert (optimizer.recommend() == optimizer.recommend(method="best_observed")) == (not error)


def test_nothing_is_repeated_where_the_noise_is_given():
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, alpha=0.3, random_state=0)
    assert not repeated(optimizer, lambda x: float(rough(x[0])), 24)


def test_an_answer_agrees_by_chance_as_often_as_others_do_on_average():
    """Grades: 20 answers are alike, and the one that is repeated is no surprise among them."""
    y = np.array([5.0] * 20 + [1.0, 2.0, 3.0, 4.0, 6.0])

    def agree(y, *again):
        numbers = np.array([*range(25), *again])
        return repeats_agree(ScaledSamples(numbers, y[numbers], np.full(len(numbers), np.nan)))

    assert not agree(y, 24)
    assert agree(np.arange(25.0), 24)
    assert not agree(y, 3) and not agree(np.arange(25.0))

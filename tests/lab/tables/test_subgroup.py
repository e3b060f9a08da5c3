"""The estimator: scikit-learn's contract, tables of several types, what it refuses."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgpb.exceptions import DataWarning
from skgpb.lab.tables import BestSubgroup
from skgpb.lab.tables.conditions import Categories
from skgpb.lab.tables.finding import find_and_judge
from skgpb.lab.tables.subgroup import FEWEST_ROWS, _as_numbers


@pytest.mark.one_in(9)
@parametrize_with_checks([BestSubgroup(), BestSubgroup(min_rows=3, direction="minimize")])
def test_it_is_an_estimator_to_scikit_learn(estimator, check):
    check(estimator)


def shops(seed=0, n=2000):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "shop": pandas.Categorical(rng.choice(["Ann's", "Bob", "Cy"], n)),
            "opening hour": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 24, n)),
            "open": rng.random(n) < 0.5,
        }
    )
    good = (frame["shop"] == "Ann's") & (frame["opening hour"] > 12)
    return frame, 2.0 * good + rng.normal(size=n), good


def test_frames_have_categories_missing_values_and_names():
    X, y, good = shops()
    search = BestSubgroup(min_rows=200).fit(X, y)
    assert search.subgroup_["shop"] == Categories(("Ann's",))
    assert search.where_.startswith("shop = 'Ann''s' and opening hour >= 1")
    assert search.verdict_ == "real"
    inside = search.predict(X)
    assert inside.dtype == bool
    assert inside.sum() == search.n_rows_ >= 200
    assert np.mean(inside == good) > 0.97
    assert search.average_ == pytest.approx(y[inside].mean())
    assert search.optimism_ == pytest.approx(search.average_ - search.new_rows_average_)
    assert list(search.feature_names_in_) == list(X.columns)


@pytest.mark.slow
def test_a_boolean_target_is_a_share():
    X, y, _ = shops()
    for target in (y > 1.0, y.to_numpy() > 1.0):
        search = BestSubgroup(min_rows=200).fit(X, target)
        assert search.subgroup_["shop"] == Categories(("Ann's",))
        assert search.n_rows_ * search.average_ == pytest.approx((y > 1.0)[search.predict(X)].sum())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", [("No", "yes"), ("FALSE", "true")])
@pytest.mark.parametrize("framed", [True, False])
def test_a_target_of_yes_and_no_is_a_share(words, framed):
    rng = np.random.default_rng(3)
    X = rng.random((500, 2))
    yes = rng.random(500) < np.where(X[:, 0] > 0.7, 0.8, 0.2)
    target = np.array(words)[yes * 1]
    if framed:
        pandas = pytest.importorskip("pandas")
        X, target = pandas.DataFrame(X, columns=["x0", "x1"]), pandas.Series(target)
    search = BestSubgroup().fit(X, target)
    same = BestSubgroup().fit(X, yes)
    assert search.subgroup_ == same.subgroup_
    assert search.average_ == same.average_ == yes[search.predict(X)].mean()


@pytest.mark.parametrize("words", ["Yes no y N", "true False t f"])
def test_every_word_for_yes_and_no_may_stand_in_one_target(words):
    np.testing.assert_array_equal(_as_numbers(words.split()), [True, False, True, False])


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (["yes", "maybe"], "y must be numbers, booleans, or texts that are yes or no, got 'maybe'"),
        (["yes", None], "got None"),
        (["true", "no"], "got 'true'"),
        ([Decimal(1), "maybe"], "got Decimal"),
        (np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]"), "y holds dates or durations"),
    ],
)
def test_other_words_and_dates_as_target_are_refused(target, said):
    with pytest.raises(ValueError, match=said):
        BestSubgroup().fit(np.arange(8.0)[:, None], np.array([*target] * 4))


def test_dates_among_the_features_are_refused_with_what_to_do():
    pandas = pytest.importorskip("pandas")
    days = pandas.Series(pandas.date_range("2024-01-01", periods=8))
    for column in (days, days.dt.date, days.diff(), days.dt.date.where(days.index > 0)):
        X = pandas.DataFrame({"day": column})
        with pytest.raises(ValueError, match=r"as numbers, such as days: \(day - day.min\(\)\)"):
            BestSubgroup().fit(X, np.arange(8.0))
        assert BestSubgroup().fit((days - days.min()).dt.days.to_frame("d"), np.arange(8.0))


def test_decimals_and_integers_of_pandas_are_numbers():
    pandas = pytest.importorskip("pandas")
    age = np.arange(400) % 80
    X = pandas.DataFrame(
        {
            "price": [Decimal(int(each)) / 4 for each in age],
            "age": pandas.array(
                [None if i % 40 == 7 else int(age[i]) for i in range(400)], "Int64"
            ),
        }
    )
    y = [Decimal(int(each >= 60)) for each in age]
    for name, where in (("price", "price >= 15"), ("age", "age >= 60")):
        search = BestSubgroup(min_rows=0.2).fit(X[[name]], y)
        assert search.where_ == where
        assert search.predict(X[[name]]).sum() == search.n_rows_
    assert search.table_average_ == 0.25


def test_a_column_that_tells_each_row_is_no_feature():
    pandas = pytest.importorskip("pandas")
    names = [f"order {i}" for i in range(200)]
    y = np.arange(200.0)
    with pytest.raises(ValueError, match="'id' has 200 categories in 200 rows: it identifies"):
        BestSubgroup().fit(pandas.DataFrame({"id": names}), y)
    half = pandas.DataFrame({"id": [names[i // 2] for i in range(200)]})
    assert BestSubgroup().fit(half, y).verdict_ in ("real", "chance")
    # Few rows may all differ.
    assert BestSubgroup().fit(pandas.DataFrame({"id": names[:20]}), y[:20]).n_rows_ >= 1


def test_categories_that_are_new_are_in_no_group_that_names_some():
    X, y, _ = shops()
    search = BestSubgroup(min_rows=200).fit(X, y)
    new = X.iloc[:2].astype({"shop": object}).assign(shop=["Dee", None], **{"opening hour": 20.0})
    assert search.predict(new).tolist() == [False, False]


@pytest.mark.parametrize("names", [["age", "dose"], ["dose", "age", "site"], ["age", "height"]])
def test_a_frame_must_have_the_columns_of_fit_in_their_order(names):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.random((100, 2)), columns=["dose", "age"])
    search = BestSubgroup().fit(X, X["age"] > 0.5)
    assert search.predict(X).sum() == search.n_rows_
    with pytest.raises(ValueError, match="feature names should match"):
        search.predict(pandas.DataFrame(rng.random((3, len(names))), columns=names))


@pytest.mark.parametrize(("min_rows", "least"), [(0.1, 11), (0.2, 21), (7, 7)])
def test_a_share_of_rows_is_rounded_up(min_rows, least, monkeypatch):
    given = []

    def spied(table, least, **options):
        given.append(least)
        return find_and_judge(table, least, **options)

    monkeypatch.setattr("skgpb.lab.tables.subgroup.find_and_judge", spied)
    rng = np.random.default_rng(1)
    X, y = rng.random((101, 2)), rng.normal(size=101)
    assert BestSubgroup(min_rows=min_rows).fit(X, y).n_rows_ >= least
    assert given == [least]


def test_the_group_does_not_depend_on_the_seed():
    rng = np.random.default_rng(2)
    X, y = rng.random((300, 2)), rng.normal(size=300)
    searches = [BestSubgroup(random_state=seed).fit(X, y) for seed in (0, 1)]
    assert searches[0].subgroup_ == searches[1].subgroup_


def test_it_does_not_change_what_it_is_given():
    X, y, _ = shops(n=300)
    before, target = X.copy(), y.copy()
    BestSubgroup().fit(X, y).predict(X)
    assert X.equals(before)
    assert y.equals(target)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_rows": 301}, "min_rows=301 is more than the 300 samples"),
        ({"min_rows": 1.5}, "min_rows"),
        ({"min_rows": 0}, "min_rows"),
        ({"direction": "up"}, "direction"),
        ({"n_permutations": 20}, "n_permutations"),
        ({"n_bins": 1}, "n_bins"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters, message):
    rng = np.random.default_rng(3)
    with pytest.raises(ValueError, match=message):
        BestSubgroup(**parameters).fit(rng.random((300, 2)), rng.normal(size=300))


def test_columns_that_are_no_features_are_refused():
    pandas = pytest.importorskip("pandas")
    days = pandas.DataFrame({"day": pandas.date_range("2024-01-01", periods=9)})
    with pytest.raises(ValueError, match="given as numbers, such as days"):
        BestSubgroup().fit(days, np.arange(9.0))
    twice = pandas.DataFrame(np.ones((9, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="unique column names"):
        BestSubgroup().fit(twice, np.arange(9.0))
    missing = pandas.DataFrame({"a": np.arange(9.0)})
    with pytest.raises(ValueError, match="y must be an array of finite numbers"):
        BestSubgroup().fit(missing, np.full(9, np.nan))


@pytest.mark.parametrize("framed", [True, False])
def test_a_search_needs_some_rows(framed):
    pandas = pytest.importorskip("pandas")
    X = np.arange(float(FEWEST_ROWS))[:, None]
    X = pandas.DataFrame(X, columns=["x"]) if framed else X
    assert BestSubgroup().fit(X, np.arange(FEWEST_ROWS) % 2.0).n_rows_ >= 1
    with pytest.raises(ValueError, match="n_samples" if framed else "sample"):
        BestSubgroup().fit(X[: FEWEST_ROWS - 1], np.arange(FEWEST_ROWS - 1.0))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("columns", ["of patients", "of both"])
def test_rows_that_are_alike_are_named_by_a_column_to_group_by(columns):
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(40), 10)
    y = rng.normal(size=40)[patient] + rng.normal(size=400)
    of_patients = {"weight": rng.normal(size=40)[patient], "height": rng.normal(size=40)[patient]}
    of_visits = {"hour": rng.random(400), "dose": rng.random(400)}
    pandas = pytest.importorskip("pandas")
    X = of_patients | (of_visits if columns == "of both" else {})
    X = pandas.DataFrame(X)
    with pytest.warns(DataWarning, match="same '(weight|height)' .*groups"):
        search = BestSubgroup(n_permutations=49).fit(X, y)
    assert search.verdict_ in ("real", "chance")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BestSubgroup(n_permutations=49).fit(X, y, groups=patient)

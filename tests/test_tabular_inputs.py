"""Inputs in frames, Series and other containers: names decide, and a gap is no number."""

from __future__ import annotations

from inspect import signature
from math import nan

import numpy as np
import pandas as pd
import pytest
from cases import CASES, OPTIMIZERS, make
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from skgpb.domains import Districts
from skgpb.integrations.pandas import history_frame
from skgpb.kernels import WindowMean
from skgpb.lab.tables import BestSubgroup
from skgpb.optimizers import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    KGOptimizer,
)
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.surrogate import ConditionalMeanProcess, OnlineGaussianProcessRegressor

GAPS = {
    "list": [1.0, None, 2.0],
    "tuple": (1.0, None, 2.0),
    "objects": np.array([1.0, None, 2.0], dtype=object),
    "Series of objects": pd.Series([1.0, None, 2.0], dtype=object),
    "Series": pd.Series([1.0, None, 2.0]),
    "nullable": pd.Series([1.0, None, 2.0], dtype="Float64"),
    "NA": [1.0, pd.NA, 2.0],
    "Series of NA": pd.Series([1.0, pd.NA, 2.0], dtype=object),
    "column": pd.DataFrame({"y": [1.0, None, 2.0]}, dtype=object),
    "masked": np.ma.masked_invalid([1.0, np.nan, 2.0]),
    "NaN": [1.0, np.nan, 2.0],
}

X = [[-1.0, 0.0], [0.5, 1.5], [1.0, 3.0]]
#: Two columns: a case of every class, and others that learn from rows.
FITTED = {cls.__name__: lambda name=name: make(name) for name, (cls, _) in reversed(CASES.items())}
FITTED |= {
    "ContextualGPTree": lambda: ContextualGPTreeOptimizer(
        bounds=[(0.0, 3.0)], context_bounds=[(-1.0, 1.0)], horizon=20
    ),
    "CMES": lambda: CMESOptimizer(
        bounds=[(-1.0, 1.0), (0.0, 3.0)], conditional=WindowMean(scale=0.2), n_points=5
    ),
    "regressor": OnlineGaussianProcessRegressor,
    "subgroup": BestSubgroup,
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("name", FITTED)
def test_fit_refuses_answers_that_are_missing_in_any_container(name, gaps):
    estimator = FITTED[name]()
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match=r"y .*(NaN|numbers|masked|missing)"):
        estimator.fit(X, GAPS[gaps])
    assert vars(estimator).keys() == before.keys()


@pytest.mark.parametrize("gaps", GAPS)
def test_campaigns_and_processes_refuse_answers_that_are_missing(gaps):
    campaigns = CombinatorialBandit([GPUCBOptimizer(arms=[[0.0], [1.0], [3.0]])] * 2, budget=4)
    y = np.array([np.ma.getdata(GAPS[gaps]).ravel()] * 2, dtype=object).T
    with pytest.raises(ValueError, match=r"y contains NaN.* row 1"):
        campaigns.fit([[0.0, 0.0], [1.0, 3.0], [3.0, 1.0]], y)
    assert not hasattr(campaigns, "bounds_")
    regressor = OnlineGaussianProcessRegressor().fit(X, [1.0, 2.0, 3.0])
    expected = regressor.predict(X)
    with pytest.raises(ValueError, match=r"y .*(NaN|numbers|masked|missing)"):
        regressor.partial_fit(X, GAPS[gaps])
    assert_array_equal(regressor.predict(X), expected)
    process = ConditionalMeanProcess(conditional=WindowMean(scale=0.2))
    for observe in (process.condition_point, process.condition_query):
        with pytest.raises(ValueError, match="observations must"):
            observe([[0.0], [0.5], [1.0]], GAPS[gaps])
    assert process.n_observations_ == 0


# -- outcomes and blocks ----------------------------------------------------------------------

TABLE = pd.DataFrame(
    {
        "T": [20.0, 40.0, 60.0, 80.0],
        "yield": [1.0, 2.0, np.nan, 4.0],
        "imp": [0.4, np.nan, 1.2, 1.3],
        "day": ["Mo", None, None, "Tu"],
    }
)
MEASURED = [{"imp": 0.4}, {"imp": None}, {"imp": 1.2}, {"imp": 1.3}]
OUTCOMES = {
    "records": TABLE[["imp"]].to_dict("records"),
    "frame": TABLE[["imp"]],
    "columns": {"imp": TABLE["imp"]},
    "lists": {"imp": [0.4, None, 1.2, 1.3]},
    "arrays": {"imp": TABLE["imp"].to_numpy()},
    "Series": TABLE["imp"],
    "Series of dicts": pd.Series(MEASURED),
    "Series with gaps": pd.Series([MEASURED[0], None, *MEASURED[2:]]),
    "nullable": TABLE[["imp"]].astype("Float64"),
    "objects": TABLE[["imp"]].astype(object).where(TABLE[["imp"]].notna(), None),
    "NA": pd.DataFrame({"imp": [0.4, pd.NA, 1.2, 1.3]}, dtype=object),
}
WITH_OUTCOMES = [cls for cls in OPTIMIZERS if "outcomes" in signature(cls.tell).parameters]


def within_limits(cls=EIOptimizer):
    bounds = {"T": (20, 100)}
    return cls(bounds=bounds, limits={"imp": (None, 1.5)}, n_candidates=20, random_state=0)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("cls", WITH_OUTCOMES)
@pytest.mark.parametrize("form", OUTCOMES)
def test_outcomes_are_taken_in_any_form_and_read_back(form, cls):
    opt = within_limits(cls)
    opt.tell(TABLE[["T"]], TABLE["yield"], outcomes=OUTCOMES[form], block=TABLE["day"])
    frame = history_frame(opt)
    assert_array_equal(frame["T"], TABLE["T"])
    assert_array_equal(frame["reward"], TABLE["yield"])
    assert_array_equal(frame["imp"], TABLE["imp"])
    assert frame["block"].fillna("").tolist() == ["Mo", "", "", "Tu"]
    assert frame["failure"].fillna("").tolist() == ["", "", "told as failed", ""]


def test_a_run_that_was_read_back_is_told_at_once(tmp_path):
    first = within_limits()
    for T, day in zip(range(20, 100, 10), "ABAABBAB", strict=True):
        reward = None if T == 50 else T / 10.0
        known = {"imp": 0.02 * T, "pH": 7.0 + 0.01 * T} if T < 70 else {}
        first.tell({"T": T}, reward, outcomes=known, block=None if T == 50 else day)
    first.save(tmp_path / "run")
    frame = history_frame(EIOptimizer.load(tmp_path / "run"))
    second = within_limits().tell(
        frame[["T"]],
        frame["reward"],
        frame["noise"],
        outcomes=frame[["imp", "pH"]],
        block=frame["block"],
    )
    assert first.recommend() == second.recommend()
    for method in ("predict", "predict_within_limits"):
        each = [getattr(opt, method)([[33.0], [77.0]]) for opt in (first, second)]
        assert_array_equal(*each)
    pd.testing.assert_frame_equal(
        history_frame(second).drop(columns="time"), frame.drop(columns="time")
    )


def test_what_was_measured_in_a_failed_evaluation_counts_for_limits():
    opts = within_limits(), within_limits()
    for opt in opts:
        for T in (20.0, 40.0, 60.0):
            opt.tell({"T": T}, T / 10, outcomes={"imp": 0.01 * T})
    opts[0].tell({"T": 90.0}, None)
    opts[1].tell({"T": 90.0}, None, outcomes=TABLE[["imp"]].iloc[0] * 100)
    without, with_outcome = (opt.predict_within_limits([[85.0]])[0] for opt in opts)
    assert with_outcome < 0.05 < 0.5 < without
    assert [len(opt.failed_) for opt in opts] == [1, 1]
    objective = iter([(1.0, {"imp": 1.0}), (None, {"imp": 2.5}), (2.0, {"imp": nan})])
    result = within_limits().run(lambda query: next(objective), budget=3)
    assert (result.nfev, result.nfail) == (3, 1)


def test_the_name_of_a_setting_stays_that_of_its_column():
    opt = EIOptimizer(bounds={"T": (0, 9), "block": (0, 9)}, random_state=0)
    opt.tell({"T": 1, "block": 2}, 3.0, outcomes={"T": 5.0, "reward": 7.0}, block="Mo")
    row = history_frame(opt).iloc[0]
    names = ["T", "block", "reward", "T_", "reward_", "block_"]
    assert row[names].tolist() == [1, 2, 3.0, 5.0, 7.0, "Mo"]


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ({"imp": 0.4}, "'imp'.* for each of 4 rewards, because there are several"),
        ({"imp": [0.4, 0.5]}, "'imp'.* for each of 4 rewards"),
        (TABLE[["imp"]][:3], "'imp'.* for each of 4 rewards"),
        ([{"imp": 1.0}], "one dict for each of 4 rewards"),
        (TABLE[["day"]], "finite numbers, or yes or no, by their names"),
        (TABLE[["imp", "imp"]], "different names"),
        (TABLE["imp"].rename(None), "finite numbers, or yes or no, by their names"),
        (7, "one dict for each of 4 rewards"),
    ],
)
def test_outcomes_of_another_form_are_refused_before_anything_changes(outcomes, message):
    opt = within_limits().start()
    with pytest.raises((TypeError, ValueError), match=message):
        opt.tell(TABLE[["T"]], TABLE["yield"], outcomes=outcomes)
    assert not opt._events


def test_counts_of_rows_may_be_a_column():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [5.0, 6.0, 7.0], "n": [3, 4, 0]})
    lists, columns = (GPOOOptimizer(bounds={"x": (0, 4)}, random_state=0) for _ in range(2))
    lists.tell(table[["x"]].to_dict("records"), [5.0, 6.0, 7.0], count=[3, 4, 0])
    columns.tell(table[["x"]], table["y"], count=table["n"])
    assert_array_equal(columns.history_, lists.history_)
    assert columns.ask() == lists.ask()
    counts = [[event[2] for event in o._events if event[0] == "rows"] for o in (lists, columns)]
    assert counts == [[3, 4, 0]] * 2


# -- names --------------------------------------------------------------------------------------

NAMES = ["video", "search"]
PLAYED = pd.DataFrame({"video": [0.0, 3.0, 7.0, 5.0], "search": [5.0, 1.0, 2.0, 5.0]})
ORDERS = pd.DataFrame({"video": [1.0, 40.0, 80.0, 60.0], "search": [15.0, 5.0, 9.0, 16.0]})


def campaigns(names=NAMES, **parameters):
    one = GPUCBOptimizer(arms=np.arange(0.0, 11.0)[:, None])
    members = [one] * 2 if names is None else [(name, one) for name in names]
    return CombinatorialBandit(members, **{"budget": 10, "random_state": 0} | parameters)


def moments(bandit):
    return np.hstack(bandit.predict(PLAYED.to_numpy(), return_std=True))


#: What may be done with tables of allocations and of rewards.
WITH_CAMPAIGNS = {
    "fit": lambda X, y: moments(campaigns().fit(X, y)),
    "fit without arms": lambda X, y: moments(
        CombinatorialBandit([(n, GPUCBOptimizer()) for n in NAMES], 10, random_state=0).fit(X, y)
    ),
    "tell": lambda X, y: moments(campaigns().tell(X, y)),
    "tell records": lambda X, y: moments(campaigns().tell(X.to_dict("records"), y)),
    "tell dicts": lambda X, y: moments(
        campaigns().tell(X.to_dict("records"), y.to_dict("records"), y.to_dict("records"))
    ),
    "tell columns": lambda X, y: moments(campaigns().tell(X, y.to_dict("list"), y)),
    "tell a row": lambda X, y: moments(campaigns().tell(X.iloc[1], y.iloc[1], y.iloc[2])),
    "tell a dict": lambda X, y: moments(campaigns().tell(dict(X.iloc[1]), dict(y.iloc[1]))),
    "predict": lambda X, y: campaigns().fit(PLAYED, ORDERS).predict(X),
    "predict_query": lambda X, y: campaigns().fit(PLAYED, ORDERS).predict_query(X),
    "score": lambda X, y: campaigns().fit(PLAYED, ORDERS).score(X, y),
    "costs": lambda X, y: campaigns(costs=y.iloc[0], budget=20).ask().costs,
    "costs in a dict": lambda X, y: campaigns(costs=dict(y.iloc[0]), budget=20).ask().costs,
    "objective": lambda X, y: campaigns().run(lambda query: dict(y.iloc[1]), 3).history["reward"],
    "params": lambda X, y: list(campaigns().tell(X, y)._events[0][1].params.values()),
}
PERMUTED = {"X": (1, 0), "y": (0, 1), "both": (1, 1)}


@pytest.mark.one_in(7)
@pytest.mark.parametrize("order", PERMUTED)
@pytest.mark.parametrize("door", WITH_CAMPAIGNS)
def test_columns_of_campaigns_are_matched_by_name(door, order):
    X, y = (
        table[NAMES[::-1] if turned else NAMES]
        for table, turned in zip((PLAYED, ORDERS), PERMUTED[order], strict=True)
    )
    call = WITH_CAMPAIGNS[door]
    assert_array_equal(call(X, y), call(PLAYED, ORDERS))


def test_rewards_follow_the_columns_of_allocations_where_campaigns_have_no_names():
    expected = moments(campaigns(None).fit(PLAYED, ORDERS))
    assert_array_equal(moments(campaigns(None).fit(PLAYED, ORDERS[NAMES[::-1]])), expected)
    bandit = campaigns(None).tell(PLAYED[:2], ORDERS[:2])
    bandit.tell(PLAYED[2:], ORDERS[NAMES[::-1]][2:])
    told = campaigns(None).tell(PLAYED.to_numpy(), ORDERS.to_numpy())
    assert_array_equal(bandit.history_["reward"], told.history_["reward"])
    with pytest.raises(ValueError, match="columns"):
        bandit.tell(PLAYED[NAMES[::-1]], ORDERS)


@pytest.mark.parametrize("table", ["X", "y"])
@pytest.mark.parametrize(
    "door", ["fit", "tell", "tell records", "tell dicts", "tell a row", "score"]
)
def test_columns_with_other_names_are_refused(door, table):
    given = {"X": PLAYED, "y": ORDERS}
    given[table] = given[table].rename(columns={"video": "mail"})
    with pytest.raises(ValueError, match=r"video.*mail|unknown \['mail'\]"):
        WITH_CAMPAIGNS[door](**given)


def test_campaigns_with_several_columns_have_numbered_names():
    pairs = GPUCBOptimizer(arms=[[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    bandit = CombinatorialBandit([("a", pairs), ("b", pairs)], 9, 1.0, random_state=0)
    query = bandit.ask()
    assert list(query.params) == ["a_0", "a_1", "b_0", "b_1"]
    table = pd.DataFrame([[2.0, 0.0, 1.0, 2.0]], columns=list(query.params))
    turned = table[["b_1", "a_1", "b_0", "a_0"]]
    fitted = [bandit.fit(each, [[1.0, 2.0]]).predict(table) for each in (table, turned)]
    assert_array_equal(*fitted)


def test_a_day_without_a_report_is_missing_in_a_table(tmp_path):
    days = ORDERS.astype({"search": "Float64"})
    days.loc[2, "search"] = pd.NA
    bandit = campaigns().tell(PLAYED, days)
    frame = history_frame(bandit)
    assert_array_equal(frame[NAMES], PLAYED)
    assert_array_equal(frame[["reward_video", "reward_search"]], days.astype(float))
    bandit.save(tmp_path / "run")
    loaded = CombinatorialBandit.load(tmp_path / "run")
    assert repr(loaded.ask()) == repr(bandit.ask())
    assert "video=" in repr(bandit.recommend())


# -- columns of tables in other runs --------------------------------------------------------------

#: Both columns have the same values, so that no row is outside of the box of the others.
GRID = np.linspace(0.0, 1.0, 8)
TABLE_OF_X = pd.DataFrame({"a": GRID, "b": GRID[[3, 6, 1, 4, 7, 0, 5, 2]]})
Y = (3.0 * TABLE_OF_X["a"] - TABLE_OF_X["b"]).rename("y")
UNIT, PAIR = {"a": (0, 1), "b": (0, 1)}, [[0.3, 0.6]]


def in_box(bounds=UNIT, **parameters):
    settings = {"bounds": bounds, "n_candidates": 20, "random_state": 0}
    return GPUCBOptimizer(**settings | parameters)


def on_rows(**parameters):
    return in_box(None, **parameters)


def in_contexts():
    return in_box({"z": (0, 1)}, context_bounds=UNIT)


def contexts_of(contexts):
    return in_contexts().run(lambda query: 1.0, contexts=contexts).history["descriptor"]


def process():
    return ConditionalMeanProcess(RBF(0.3), WindowMean(scale=0.2), alpha=0.01)


def indirect(**parameters):
    settings = {"bounds": UNIT, "conditional": WindowMean(scale=0.2), "n_points": 5}
    return CMESOptimizer(**settings | {"n_candidates": 25, "random_state": 0} | parameters)


def fitted(optimizer):
    return optimizer.fit(TABLE_OF_X, Y)


def within_two():
    opt = EIOptimizer(bounds=UNIT, limits={"y": (None, 1.0)}, random_state=0)
    return opt.tell(TABLE_OF_X, Y, outcomes=Y)


#: What may be done with a table of points, of a box with names or of other runs.
DOORS = {
    "fit": lambda X: in_box().fit(X, Y).predict(PAIR),
    "tell": lambda X: in_box().tell(X, Y).predict(PAIR),
    "tell a row": lambda X: in_box().tell(X.iloc[0], 1.0).predict(PAIR),
    "tell rows": lambda X: in_box().tell([X.iloc[0], X.iloc[1]], [1.0, 2.0]).predict(PAIR),
    "predict": lambda X: fitted(in_box()).predict(X),
    "predict a row": lambda X: fitted(in_box()).predict(X.iloc[0]),
    "predict_query": lambda X: fitted(in_box()).predict_query(X),
    "score": lambda X: fitted(in_box()).score(X, Y),
    "sample_y": lambda X: fitted(in_box()).sample_y(X),
    "interval": lambda X: fitted(in_box()).interval(X),
    "limits": lambda X: within_two().predict_within_limits(X),
    "context": lambda X: in_contexts().ask(context=X.iloc[0]).context,
    "context in a table": lambda X: in_contexts().ask(context=X[:1]).context,
    "contexts": lambda X: contexts_of(X[:3]),
    "rows as contexts": lambda X: contexts_of([X.iloc[0], X.iloc[1]]),
    "side": lambda X: fitted(GPOOOptimizer(bounds=UNIT)).recommend(side=X.iloc[1]).box,
    "no names: predict": lambda X: fitted(in_box([(0, 1)] * 2)).predict(X),
    "no names: tell": lambda X: fitted(in_box([(0, 1)] * 2)).tell(X, Y).predict(PAIR),
    "no names: row": lambda X: fitted(in_box([(0, 1)] * 2)).tell(X.iloc[0], 1.0).predict(PAIR),
    "no names: query": lambda X: fitted(in_box([(0, 1)] * 2)).predict_query(X),
    "told: tell": lambda X: in_box([(0, 1)] * 2).tell(TABLE_OF_X, Y).tell(X, Y).predict(PAIR),
    "told: predict": lambda X: in_box([(0, 1)] * 2).tell(TABLE_OF_X, Y).predict(X),
    "arms: fit": lambda X: on_rows(arms=TABLE_OF_X).fit(X, Y).predict(PAIR),
    "arms: tell": lambda X: on_rows(arms=TABLE_OF_X).tell(X, Y).predict(PAIR),
    "arms: predict": lambda X: on_rows(arms=TABLE_OF_X).tell(TABLE_OF_X, Y).predict(X),
    "queries: tell": lambda X: on_rows(queries=TABLE_OF_X).tell(X, Y).predict(PAIR),
    "targets": lambda X: on_rows(queries=TABLE_OF_X, targets=X).start().targets_.rows,
    "pool: tell": lambda X: GPOOOptimizer(pool=TABLE_OF_X).tell(X, Y).predict(PAIR),
    "pool: predict": lambda X: GPOOOptimizer(pool=TABLE_OF_X).tell(TABLE_OF_X, Y).predict(X),
    "regressor": lambda X: fitted(OnlineGaussianProcessRegressor()).predict(X),
    "partial_fit": lambda X: fitted(OnlineGaussianProcessRegressor()).partial_fit(X, Y).predict(X),
    "process: points": lambda X: (
        process().condition_point(TABLE_OF_X, Y).condition_point(X, Y).predict(PAIR)
    ),
    "process: predict": lambda X: process().condition_point(TABLE_OF_X, Y).predict(X),
    "process: queries": lambda X: process().condition_query(TABLE_OF_X, Y).predict_query(X),
    "process: covariance": lambda X: process().condition_point(TABLE_OF_X, Y).covariance(X, PAIR),
    "indirect: fit": lambda X: indirect().fit(X, Y).predict(PAIR),
    "indirect: tell": lambda X: indirect(query_bounds=UNIT).tell(X, Y).predict(PAIR),
    "indirect: predict": lambda X: fitted(indirect()).predict(X),
    "indirect: targets": lambda X: indirect(targets=X).start().targets_.points,
}


WITHOUT_NAMES = ("no names", "told", "arms", "queries", "pool", "process", "targets")
REFUSED = [door for door in DOORS if door.startswith((*WITHOUT_NAMES, "regressor", "partial_fit"))]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("door", [door for door in DOORS if door not in REFUSED])
def test_columns_in_another_order_are_matched_by_the_names_of_sides(door):
    assert_array_equal(DOORS[door](TABLE_OF_X[["b", "a"]]), DOORS[door](TABLE_OF_X))


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("door", REFUSED)
def test_columns_in_another_order_than_before_are_refused(door):
    DOORS[door](TABLE_OF_X)
    with pytest.raises(ValueError, match=r"columns|feature names"):
        DOORS[door](TABLE_OF_X[["b", "a"]])


@pytest.mark.parametrize("rebuilt", [False, True])
def test_the_columns_of_the_first_table_are_kept_in_files(tmp_path, rebuilt):
    run = in_box([(0, 1)] * 2).tell(TABLE_OF_X, Y)
    if rebuilt:
        run = run._repeat_events(run._events)
    else:
        run.save(tmp_path / "run")
        run = GPUCBOptimizer.load(tmp_path / "run")
    before = run._events
    with pytest.raises(ValueError, match=r"columns \['a', 'b'\] in this order.* \['b', 'a'\]"):
        run.tell(TABLE_OF_X[["b", "a"]], Y)
    assert run._events == before


@pytest.mark.parametrize("name", ["cost", "alpha"])
def test_costs_and_noise_of_districts_are_matched_by_name(name):
    districts = Districts(TABLE_OF_X.to_numpy(), list("nsensens"))
    values = pd.Series({"e": 3.0, "n": 1.0, "s": 2.0})
    found = []
    for given in (values, values[["s", "n", "e"]], [1.0, 2.0, 3.0]):
        round = KGOptimizer(queries=districts, random_state=0, **{name: given}).posterior()
        found.append(round.cost if name == "cost" else round.query_noise)
    assert_array_equal(found[0], found[2])
    assert_array_equal(found[1], found[2])


@pytest.mark.parametrize("name", ["y", 0])
def test_a_table_of_one_column_is_that_column_and_others_are_refused(name):
    """The names of columns, which may be numbers, are no answers, and no noise."""
    answers, noise = pd.DataFrame({name: [5.0, 7.0]}), pd.DataFrame({name: [0.25, 0.5]})
    optimizer = GPUCBOptimizer(bounds=[(0, 1)], random_state=0).tell([[0.2], [0.7]], answers, noise)
    assert_array_equal(optimizer.history_["reward"], [5.0, 7.0])
    one = GPUCBOptimizer(bounds=[(0, 1)]).tell([optimizer.ask()], answers[:1])
    assert_array_equal(one.history_["reward"], [5.0])
    both = pd.DataFrame({name: [5.0, 7.0], 1: [5.0, 7.0]})
    for given in ((both, None), (answers[name], both)):
        with pytest.raises(ValueError, match="must hold one number for each of 2 queries"):
            optimizer.tell([[0.2], [0.7]], *given)

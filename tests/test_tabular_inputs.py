"""Inputs in frames, Series and other containers: names decide, and a gap is no number."""

from __future__ import annotations

from inspect import signature
from math import nan

import numpy as np
import pandas as pd
import pytest
from cases import CASES, OPTIMIZERS, make
from numpy.testing import assert_array_equal

from skgpb.integrations.pandas import history_frame
from skgpb.kernels import WindowMean
from skgpb.lab.tables import BestSubgroup
from skgpb.optimizers import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
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
    "nullable": TABLE[["imp"]].astype("Float64"),
    "objects": TABLE[["imp"]].astype(object).where(TABLE[["imp"]].notna(), None),
    "NA": pd.DataFrame({"imp": [0.4, pd.NA, 1.2, 1.3]}, dtype=object),
}
WITH_OUTCOMES = [cls for cls in OPTIMIZERS if "outcomes" in signature(cls.tell).parameters]


def within_limits(cls=EIOptimizer):
    bounds = {"T": (20, 100)}
    return cls(bounds=bounds, limits={"imp": (None, 1.5)}, n_candidates=20, random_state=0)


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
        (TABLE[["day"]], "finite numbers by their names"),
        (TABLE[["imp", "imp"]], "different names"),
        (TABLE["imp"].rename(None), "finite numbers by their names"),
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

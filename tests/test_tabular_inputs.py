"""Inputs in frames, Series and other containers: names decide, and a gap is no number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cases import CASES, make

from numpy.testing import assert_array_equal

from skgpb.kernels import WindowMean
from skgpb.lab.tables import BestSubgroup
from skgpb.optimizers import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
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
    with pytest.raises(ValueError, match="y .*(NaN|numbers|masked|missing)"):
        estimator.fit(X, GAPS[gaps])
    assert vars(estimator).keys() == before.keys()


@pytest.mark.parametrize("gaps", GAPS)
def test_campaigns_and_processes_refuse_answers_that_are_missing(gaps):
    campaigns = CombinatorialBandit([GPUCBOptimizer(arms=[[0.0], [1.0], [3.0]])] * 2, budget=4)
    y = np.array([np.ma.getdata(GAPS[gaps]).ravel()] * 2, dtype=object).T
    with pytest.raises(ValueError, match="y contains NaN.* row 1"):
        campaigns.fit([[0.0, 0.0], [1.0, 3.0], [3.0, 1.0]], y)
    assert not hasattr(campaigns, "bounds_")
    regressor = OnlineGaussianProcessRegressor().fit(X, [1.0, 2.0, 3.0])
    expected = regressor.predict(X)
    with pytest.raises(ValueError, match="y .*(NaN|numbers|masked|missing)"):
        regressor.partial_fit(X, GAPS[gaps])
    assert_array_equal(regressor.predict(X), expected)
    process = ConditionalMeanProcess(conditional=WindowMean(scale=0.2))
    for observe in (process.condition_point, process.condition_query):
        with pytest.raises(ValueError, match="observations must"):
            observe([[0.0], [0.5], [1.0]], GAPS[gaps])
    assert process.n_observations_ == 0

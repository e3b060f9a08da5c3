"""The history as a data frame."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skgpb import CMESOptimizer, GPOOOptimizer, GPUCBOptimizer

pd = pytest.importorskip("pandas")

from skgpb.integrations.pandas import history_frame  # noqa: E402


def test_rows_are_observations():
    opt = GPOOOptimizer(bounds=[(0, 1), (2, 3)])
    opt.run(lambda cell: float(cell.points.sum()), 6)
    frame = history_frame(opt, ["east", "north"])
    history = opt.history_
    assert frame.index.name == "round" and frame.index.tolist() == [1, 2, 3, 4, 5, 6]
    corners = ["lower_east", "lower_north", "upper_east", "upper_north"]
    np.testing.assert_array_equal(frame[corners], history["descriptor"])
    for name in ("reward", "mean", "std", "expanded"):
        np.testing.assert_array_equal(frame[name], history[name])
    assert frame["expanded"].dtype == bool


def test_names_come_from_fit():
    X = pd.DataFrame({"width": [0.0, 1.0, 0.5], "height": [0.0, 2.0, 1.0]})
    opt = GPUCBOptimizer(n_candidates=20).fit(X, [0.0, 1.0, 0.5])
    opt.run(lambda arm: float(arm.points.sum()), 2)
    assert {"lower_width", "upper_height"} <= set(history_frame(opt))
    opt = GPUCBOptimizer(bounds=[(0, 1)])
    opt.ask()
    frame = history_frame(opt)
    assert len(frame) == 0 and "lower_0" in frame


def test_indirect_queries():
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(30, 2))
    opt = CMESOptimizer(bounds=[(0, 1)], queries=A[:5]).fit(A[:, :1], queries=A)
    for _ in range(2):
        query = opt.ask()
        opt.tell(query, float(query.a.sum()))
    frame = history_frame(opt)
    np.testing.assert_array_equal(frame[["a_0", "a_1"]], opt.history_["a"])
    np.testing.assert_array_equal(frame[["lower_0", "upper_1"]], opt.history_["a"])
    assert "cost" in frame


def test_bad_input_is_named(monkeypatch):
    opt = GPOOOptimizer(bounds=[(0, 1)])
    with pytest.raises(NotFittedError):
        history_frame(opt)
    opt.ask()
    with pytest.raises(ValueError, match="feature_names must hold 1 names"):
        history_frame(opt, ["x", "y"])
    monkeypatch.delitem(sys.modules, "skgpb.integrations.pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install skgpb\[pandas\]"):
        import skgpb.integrations.pandas  # noqa: F401

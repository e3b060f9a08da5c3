"""The history as a data frame."""

from __future__ import annotations

import pickle
import re
import sys

import cases
import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn.exceptions import NotFittedError

from skgpb import CMESOptimizer, GPOOOptimizer, GPTreeOptimizer, GPUCBOptimizer
from skgpb.utils.install import install_command

pd = pytest.importorskip("pandas")

from skgpb.integrations.pandas import history_frame  # noqa: E402


def test_rows_are_observations():
    opt = GPOOOptimizer(bounds=[(0, 1), (2, 3)])
    opt.run(lambda cell: float(cell.points.sum()), 6)
    frame = history_frame(opt, ["east", "north"])
    history = opt.history_
    assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]
    corners = ["lower_east", "lower_north", "upper_east", "upper_north"]
    np.testing.assert_array_equal(frame[corners], history["descriptor"])
    for name in ("reward", "mean", "std", "expanded"):
        np.testing.assert_array_equal(frame[name], history[name])
    assert frame["expanded"].dtype == bool


SIDES = {
    "oil": ["A", "B", "C"],
    "pressure": loguniform(1e-3, 1e2),
    "kind": ["only"],
    "n": randint(1, 9),
    "heat": (20, 90),
}


def test_settings_are_in_units_with_noise_and_failures():
    opt = GPUCBOptimizer(bounds=SIDES, random_state=0)
    settings = [opt.ask().params]
    opt.tell(opt.ask(), None)
    settings += [opt.ask().params]
    opt.tell(opt.ask(), 2.0)
    settings += [{"oil": "C", "pressure": 1e-3, "kind": "only", "n": 8, "heat": 20.0}]
    opt.tell(settings[-1], 3.0, alpha=0.25)
    frame = history_frame(opt)
    assert list(frame)[:5] == list(SIDES) and not any("lower_" in name for name in frame)
    for (_, row), setting in zip(frame.iterrows(), settings, strict=True):
        np.testing.assert_allclose(row["pressure"], setting["pressure"])
        for name in ("oil", "kind", "n", "heat"):
            assert row[name] == setting[name]
    np.testing.assert_array_equal(frame["reward"], [np.nan, 2.0, 3.0])
    np.testing.assert_array_equal(frame["noise"], [np.nan, np.nan, 0.25])
    assert frame["failure"].isna().tolist() == [False, True, True]
    assert frame["failure"][1] == "told as failed"
    renamed = history_frame(opt, ["a", "b", "c", "d", "e"])
    np.testing.assert_array_equal(renamed["e"], frame["heat"])


@pytest.mark.slow
def test_regions_have_their_ends_in_units():
    opt = GPTreeOptimizer(bounds=SIDES, feedback="average", n_representatives=2, random_state=0)
    opt.run(lambda cell: float(np.mean([each["n"] for each in cell.settings])), 5)
    frame = history_frame(opt)
    assert "pressure" not in frame and {"lower_n", "upper_heat", "kind"} <= set(frame)
    for i, query in enumerate(event[1] for event in opt._events if event[0] == "tell"):
        row, params = frame.iloc[i], query.params
        assert (row["lower_pressure"], row["upper_pressure"]) == params["pressure"]
        assert (row["lower_n"], row["upper_n"]) == (params["n"][0], params["n"][-1])
        assert row["oil"] == list(params["oil"]) and row["kind"] == "only"


def test_names_come_from_fit():
    X = pd.DataFrame({"width": [0.0, 1.0, 0.5], "height": [0.0, 2.0, 1.0]})
    opt = GPUCBOptimizer(n_candidates=20).fit(X, [0.0, 1.0, 0.5])
    opt.run(lambda arm: float(arm.points.sum()), 2)
    assert list(history_frame(opt))[:2] == ["width", "height"]
    opt = GPUCBOptimizer(bounds=[(0, 1)])
    opt.ask()
    frame = history_frame(opt)
    assert len(frame) == 0 and "x0" in frame


def test_indirect_queries():
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(30, 2))
    opt = CMESOptimizer(bounds=[(0, 1)], queries=A[:5]).fit(A[:, :1], queries=A)
    for _ in range(2):
        query = opt.ask()
        opt.tell(query, float(query.a.sum()))
    frame = history_frame(opt)
    np.testing.assert_array_equal(frame[["x0", "x1"]], opt.history_["a"])
    assert "cost" in frame
    opt = CMESOptimizer(bounds={"x": (0, 1)}, query_bounds={"dose": loguniform(1e-2, 1e2)})
    opt.fit(A[:, :1], queries=10.0 ** A[:, 1:])
    query = opt.ask()
    opt.tell(query, 1.0)
    assert history_frame(opt)["dose"].tolist() == [query.params["dose"]]


def test_bad_input_is_named(monkeypatch):
    opt = GPOOOptimizer(bounds=[(0, 1)])
    with pytest.raises(NotFittedError):
        history_frame(opt)
    opt.ask()
    with pytest.raises(ValueError, match="feature_names must hold 1 names"):
        history_frame(opt, ["x", "y"])
    monkeypatch.delitem(sys.modules, "skgpb.integrations.pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=re.escape(install_command("pandas"))):
        import skgpb.integrations.pandas  # noqa: F401


def test_when_answers_came_is_kept(tmp_path):
    def times_of(run):
        return history_frame(run)["time"].tolist()

    began = pd.Timestamp.now(tz="UTC")
    opt = GPUCBOptimizer(bounds={"heat": (20.0, 90.0), "oil": ["A", "B"]}, random_state=0)
    for answer in (1.0, None, 2.0, 1.5):
        opt.tell(opt.ask(), answer)
    times = times_of(opt)
    assert times == sorted(times)
    second = pd.Timedelta(seconds=1)
    assert began - second < times[0] and times[-1] < pd.Timestamp.now(tz="UTC") + second
    path = tmp_path / "run"
    opt.save(path)
    others = [
        GPUCBOptimizer.load(path),
        cases.loaded(GPUCBOptimizer, path, True),
        pickle.loads(pickle.dumps(opt)),
        opt._repeat_events(opt._events),
    ]
    for other in others:
        assert times_of(other) == times
    # Of an answer that was corrected, and of what followed, nobody knows.
    events = [event for event in opt._events if event[0] in ("ask", "tell", "fail")]
    events[5] = ("tell", events[5][1], 3.0, None)
    found = times_of(opt._repeat_events(events))
    assert found[:2] == times[:2] and pd.isna(found[2:]).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["reward", "std", "noise", "failure", "time"])
def test_a_side_keeps_its_name_beside_what_else_is_known(name):
    search = GPUCBOptimizer(bounds={name: (10, 20)}, random_state=0)
    search.run(lambda query: None if query.params[name] < 12 else 1.0, budget=5)
    frame = history_frame(search)
    asked = [event[1].params[name] for event in search._events if event[0] in ("tell", "fail")]
    assert frame[name].tolist() == asked
    plain = GPUCBOptimizer(bounds={"x": (10, 20)}, random_state=0)
    plain.run(lambda query: None if query.params["x"] < 12 else 1.0, budget=5)
    expected = [f"{each}_" if each == name else each for each in history_frame(plain).columns[1:]]
    assert frame.columns[1:].tolist() == expected

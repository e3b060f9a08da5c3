"""A search whose process was killed goes on as if nothing had happened."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import loguniform, uniform
from searches import Quadratic, X, Y, search
from sklearn.linear_model import Ridge

from skgpb import GPOOOptimizer
from skgpb.exceptions import LoadError
from skgpb.utils.persistence import VERSION, Seal

BRANCHES = [
    {"kind": ["a"], "x": uniform(0, 1)},
    {"kind": ["b", "c"], "x": uniform(0, 1), "y": uniform(0, 1)},
]


class Counted(Quadratic):
    fits = 0
    #: Interrupted in this fit.
    last = -1

    def fit(self, X, y):
        Counted.fits += 1
        if Counted.fits == Counted.last:
            raise KeyboardInterrupt
        return super().fit(X, y)


def counted(path=None, space=BRANCHES, **parameters):
    Counted.fits = 0
    settings = {"n_iter": 14, "refit": False, "checkpoint": path} | parameters
    return search(Counted(), space, **settings)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("last", [2, 8, 22, 40])
@pytest.mark.parametrize("engine", [None, GPOOOptimizer(variation=(1.0, 0.7))], ids=["UCB", "GPOO"])
def test_a_search_that_was_interrupted_goes_on_as_if_it_had_not_been(
    tmp_path, monkeypatch, last, engine
):
    path = tmp_path / "search.json"
    whole = counted(optimizer=engine).fit(X, Y)
    monkeypatch.setattr(Counted, "last", last)
    if last < 4:
        with pytest.raises(KeyboardInterrupt):
            counted(path, optimizer=engine).fit(X, Y)
    else:
        with pytest.warns(UserWarning, match="interrupted after"):
            counted(path, optimizer=engine).fit(X, Y)
    known = len(path.read_text().splitlines()) - 1
    assert known == (last - 1) // 3
    monkeypatch.setattr(Counted, "last", -1)
    resumed = counted(path, optimizer=engine, resume=True).fit(X, Y)
    assert Counted.fits == 3 * (14 - known)
    assert resumed.cv_results_["params"] == whole.cv_results_["params"]
    for name in ("split0_test_score", "mean_test_score"):
        assert_array_equal(resumed.cv_results_[name], whole.cv_results_[name])
    assert_array_equal(resumed.expected_scores_, whole.expected_scores_)
    assert_array_equal(resumed.optimizer_.ask().points, whole.optimizer_.ask().points)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [0, None])
def test_a_search_is_made_longer(tmp_path, seed):
    path = tmp_path / "search.json"
    first = counted(path, n_iter=6, random_state=seed).fit(X, Y)
    longer = counted(path, n_iter=10, random_state=seed, resume=True).fit(X, Y)
    assert Counted.fits == 3 * 4
    assert longer.cv_results_["params"][:6] == first.cv_results_["params"]
    # Nothing is left to be done but to show scikit-learn what a fit looks like.
    again = counted(path, n_iter=10, random_state=seed, resume=True).fit(X, Y)
    assert Counted.fits == 3
    assert again.cv_results_["params"] == longer.cv_results_["params"]
    assert again.best_params_ == longer.best_params_
    with pytest.warns(UserWarning, match="holds 7 settings that this search did not ask for"):
        counted(path, n_iter=3, random_state=seed, resume=True).fit(X, Y)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_failures_and_several_metrics_are_kept(tmp_path):
    def scoring(estimator, X, y):
        return {"a": estimator.score(X, y), "b": np.nan}

    def of_two(**settings):
        space = {"x": uniform(0, 1), "fail": [False, True]}
        defaults = {"scoring": scoring, "refit": "a", "n_iter": 12, "checkpoint": tmp_path / "a"}
        return search(Quadratic(), space, **defaults | settings).fit(X, Y).cv_results_

    first, resumed = of_two(n_iter=7), of_two(resume=True)
    assert resumed["params"][:7] == first["params"] and len(resumed["params"]) == 12
    assert np.isnan(resumed["mean_test_b"]).all()
    failed = [setting["fail"] for setting in resumed["params"]]
    assert_array_equal(np.isnan(resumed["mean_test_a"]), failed)
    assert any(failed[:7])


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"cv": 4}, "cv"),
        ({"estimator": Counted(x=2.0)}, "estimator"),
        ({"param_distributions": {"x": uniform(0, 2)}}, "param_distributions"),
        ({"random_state": 5}, "random_state"),
        ({"X": X + 1.0}, "data"),
    ],
)
def test_another_search_is_not_continued(tmp_path, changed, named):
    path = tmp_path / "search.json"
    counted(path, n_iter=4).fit(X, Y)
    before = path.read_bytes()
    other, data = counted(path, n_iter=4, resume=True), changed.pop("X", X)
    other.set_params(**changed)
    with pytest.raises(ValueError, match=f"holds a search with another {named}: continue it"):
        other.fit(data, Y)
    assert path.read_bytes() == before and Counted.fits == 0


def test_a_search_is_not_replaced(tmp_path):
    path = tmp_path / "search.json"
    counted(path, n_iter=4).fit(X, Y)
    with pytest.raises(ValueError, match="holds a search of 4 settings, which this one would repl"):
        counted(path, n_iter=4).fit(X, Y)
    path.write_text("{}")
    with pytest.raises(LoadError, match=r"damaged, incomplete or .* kind of file; choose another"):
        counted(path, n_iter=4, resume=True).fit(X, Y)
    with pytest.raises(ValueError, match="resume=True continues the search in checkpoint"):
        counted(resume=True).fit(X, Y)
    with pytest.raises(OSError, match="nowhere"):
        counted(tmp_path / "nowhere" / "search.json").fit(X, Y)
    assert Counted.fits == 0


def test_damage_is_one_error(tmp_path):
    path, rng = tmp_path / "search.json", np.random.default_rng(0)
    counted(path, n_iter=4).fit(X, Y)
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    damaged = [data[: rng.integers(len(data))] for _ in range(20)]
    for place in rng.integers(len(data), size=60):
        bit = int(rng.integers(1, 256))
        damaged.append(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
    damaged += [b"".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines))]
    damaged.append(b"".join([*lines[:-2], *lines[:-3:-1]]))
    damaged.append(data.replace(b"score_time", b"score_7ime"))
    for each in damaged:
        path.write_bytes(each)
        with pytest.raises(LoadError, match="cannot be loaded as a search"):
            counted(path, n_iter=4, resume=True).fit(X, Y)
        assert path.read_bytes() == each
    assert Counted.fits == 0


def test_a_search_in_a_newer_format_is_named(tmp_path):
    path = tmp_path / "search.json"
    counted(path, n_iter=4).fit(X, Y)
    seal, reader = Seal(), Seal()
    entries = [reader.read(line) for line in path.read_bytes().splitlines(keepends=True)]
    entries[0]["version"] = VERSION + 1
    entries = [{name: each[name] for name in each if "sha256" not in name} for each in entries]
    path.write_bytes(b"".join(map(seal.write, entries)))
    with pytest.raises(LoadError, match=r"version 3 of the format, which is newer than this skgpb"):
        counted(path, n_iter=4, resume=True).fit(X, Y)


def test_a_search_ends_when_its_time_is_over(tmp_path):
    space = {"alpha": loguniform(1e-3, 1e3)}
    short = search(Ridge(), space, n_iter=50, timeout=1e-9).fit(X, Y)
    assert len(short.cv_results_["params"]) == 1
    enough = search(Ridge(), space, n_iter=4, timeout=600).fit(X, Y)
    whole = search(Ridge(), space, n_iter=4).fit(X, Y)
    assert enough.cv_results_["params"] == whole.cv_results_["params"]
    for wrong in (0, -1.0, "1 h"):
        with pytest.raises(ValueError, match="timeout"):
            search(timeout=wrong).fit(X, Y)

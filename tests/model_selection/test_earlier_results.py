"""A search begins from the results of an earlier one, and calls a function after each setting."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import uniform
from searches import Quadratic, X, Y, search
from sklearn.svm import SVC

from skgpb import EIOptimizer, GPOOOptimizer, StoOOOptimizer

ENGINES = [None, EIOptimizer(), GPOOOptimizer(variation=(1.0, 0.7)), StoOOOptimizer()]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("engine", ENGINES, ids=["UCB", "EI", "GPOO", "StoOO"])
def test_earlier_settings_are_not_fitted_again_and_count(engine):
    fitted = []
    earlier = search(n_iter=8, random_state=1).fit(X, Y)
    later = search(
        n_iter=12,
        optimizer=engine,
        earlier_results=earlier.cv_results_,
        callback=lambda setting, score: fitted.append((setting, score)),
    ).fit(X, Y)
    results = later.cv_results_
    assert results["params"][:8] == earlier.cv_results_["params"]
    for key, values in earlier.cv_results_.items():
        if "test_score" in key and "rank" not in key:
            assert_array_equal(results[key][:8], values)
    assert [setting for setting, _ in fitted] == results["params"][8:]
    assert [score for _, score in fitted] == results["mean_test_score"][8:].tolist()


def test_the_engine_learns_from_earlier_scores():
    rng = np.random.default_rng(0)
    far = [{"x": x, "y": y} for x, y in rng.uniform(size=(12, 2)).tolist()]
    values = [Quadratic(**each).value() for each in far]
    results = {"params": far, "mean_fit_time": np.zeros(12), "mean_score_time": np.zeros(12)}
    results |= {f"split{i}_test_score": np.array(values) for i in range(3)}
    space = {"x": uniform(0, 1), "y": uniform(0, 1)}
    has_data = search(Quadratic(), space, n_iter=15, earlier_results=results, refit=False)
    new = has_data.fit(X, Y).cv_results_["params"][12:]
    # No design is spread over the square again: all are near the peak.
    assert [abs(each["x"] - 0.3) + abs(each["y"]) for each in new] == pytest.approx(
        [0.0] * 3, abs=0.5
    )


def test_nothing_but_earlier_settings():
    earlier = search(n_iter=6).fit(X, Y)
    again = search(n_iter=6, earlier_results=earlier.cv_results_).fit(X, Y)
    assert again.best_params_ == earlier.best_params_
    assert again.cv_results_["params"] == earlier.cv_results_["params"]
    assert_array_equal(again.predict(X), earlier.predict(X))


def test_several_metrics_training_scores_and_failures_are_taken_over():
    metrics = {"scoring": ["accuracy", "f1"], "refit": "f1", "return_train_score": True}
    earlier = search(n_iter=5, **metrics).fit(X, Y).cv_results_
    earlier["split1_test_f1"][2] = np.nan
    later = search(n_iter=7, earlier_results=earlier, **metrics).fit(X, Y)
    assert sorted(later.cv_results_) == sorted(earlier)
    for key in earlier:
        if key.startswith("split"):
            assert_array_equal(later.cv_results_[key][:5], earlier[key])
    assert np.isnan(later.expected_scores_[2])


@pytest.mark.parametrize(
    ("changed", "parameters", "message"),
    [
        ({"params": None}, {}, "earlier_results must be the cv_results_ of a search"),
        ({"split0_test_score": None}, {}, "earlier_results must be the cv_results_ of a search"),
        ({}, {"cv": 4}, "scores of 3 folds, but cv makes 4"),
        ({}, {"scoring": ["f1"], "refit": "f1"}, r"metrics \['score'\], but scoring has \['f1'\]"),
        ({"params": [{"C": 1.0}] * 4}, {}, "out of the space: .*missing"),
        ({"params": [{"C": -1.0, "gamma": 0.1}] * 4}, {}, "out of the space: .*C"),
    ],
)
def test_results_of_another_search_are_refused(changed, parameters, message):
    earlier = search(n_iter=4).fit(X, Y).cv_results_
    results = {k: v for k, v in (earlier | changed).items() if v is not None}
    refused = search(earlier_results=results, n_iter=6, **parameters)
    with pytest.raises(ValueError, match=message):
        refused.fit(X, Y)
    assert not hasattr(refused, "cv_results_")


def test_a_callback_ends_the_search_and_a_resumed_one_calls_it_for_new_settings(tmp_path):
    fitted = []

    def enough(setting, score):
        fitted.append(setting)
        return len(fitted) == 3

    path = tmp_path / "search.json"
    ended = search(SVC(), n_iter=20, callback=enough, checkpoint=path).fit(X, Y)
    assert ended.cv_results_["params"] == fitted
    assert len(fitted) == 3
    resumed = search(SVC(), n_iter=6, callback=enough, checkpoint=path, resume=True).fit(X, Y)
    assert resumed.cv_results_["params"] == fitted
    with pytest.raises(ValueError, match="'callback' parameter"):
        search(callback=3).fit(X, Y)

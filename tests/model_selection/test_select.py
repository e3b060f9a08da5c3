"""Choice of the best of the tried settings: by the model, by luck, or by a callable."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.testing import assert_array_equal
from scipy.stats import uniform
from searches import Quadratic, X, Y, search
from sklearn.model_selection import KFold

from skgpb import StoOOOptimizer


class Lucky(Quadratic):
    """One setting far from the best has had the luck of its life with the first fold."""

    def score(self, X, y):
        return self.value() + 3.0 * (self.x == 0.9 and X[0, 0] == 0.0)


def lucky(**parameters):
    X = np.repeat([0.0, 1.0, 2.0], 10)[:, None]
    space = {"x": np.linspace(0, 1, 11).round(1).tolist()}
    defaults = {"n_iter": 11, "cv": KFold(3)}
    return search(Lucky(), space, **defaults | parameters).fit(X, np.arange(30) % 2)


def test_the_model_chooses_and_not_luck():
    believed, observed = lucky(), lucky(select="observed")
    assert believed.cv_results_["params"] == observed.cv_results_["params"]
    assert observed.best_params_ == {"x": 0.9}
    # The folds differ by 1.7 at one setting, so that neighbours of the best cannot be told apart.
    assert abs(believed.best_params_["x"] - 0.3) < 0.21
    ranks = [each.cv_results_["rank_test_score"][each.best_index_] for each in (believed, observed)]
    assert ranks[0] > ranks[1] == 1
    for fitted in (believed, observed):
        results, best = fitted.cv_results_, fitted.best_index_
        assert fitted.best_score_ == results["mean_test_score"][best]
        assert fitted.best_params_ == results["params"][best]
        assert fitted.best_estimator_.x == fitted.best_params_["x"]
        # The folds of this one differ, those of the others do not.
        lucky_one = results["params"].index({"x": 0.9})
        assert fitted.expected_scores_[lucky_one] < results["mean_test_score"][lucky_one] - 0.3
    # None is expected to be better but one at an end of the range.
    better = believed.expected_scores_ > believed.expected_scores_[believed.best_index_]
    assert {setting["x"] for setting in np.array(results["params"])[better]} <= {0.0, 1.0}


def test_a_callable_chooses_for_itself():
    fitted = lucky(refit=lambda results: int(results["mean_test_score"].argmax()))
    assert fitted.best_params_ == {"x": 0.9}


def test_without_a_model_the_observed_scores_decide():
    fitted = lucky()
    fitted.set_params(optimizer=StoOOOptimizer(variation=(1.0, 0.7)))
    fitted.fit(np.repeat([0.0, 1.0, 2.0], 10)[:, None], np.arange(30) % 2)
    assert np.isnan(fitted.expected_scores_).all()
    assert fitted.best_params_ == {"x": 0.9}


def test_a_setting_that_failed_is_never_chosen():
    space = {"x": uniform(0, 1), "fail": [False, True]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = search(Quadratic(), space, n_iter=8, refit=False).fit(X, Y)
    failed = [setting["fail"] for setting in fitted.cv_results_["params"]]
    assert_array_equal(np.isnan(fitted.expected_scores_), failed)
    best = np.nanargmax(fitted.expected_scores_)
    at_end = fitted.cv_results_["params"][best]["x"] in (0.0, 1.0)
    assert at_end or fitted.best_index_ == best

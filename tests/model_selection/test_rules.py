"""Rules over queries and targets as engines of a search: settings are asked and found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import randint, uniform
from searches import Quadratic, X, Y, search

from skgpb import IDSOptimizer, KGOptimizer, TargetsOptimizer

SPACE = {"x": uniform(-1, 2), "n": randint(0, 15), "kind": ["a", "b", "c"]}


def least_known(posterior):
    return posterior.query_var


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "engine",
    [KGOptimizer(n_candidates=60), IDSOptimizer(n_candidates=60)],
    ids=["kg", "ids"],
)
def test_a_rule_finds_the_best_of_mixed_settings(engine):
    found = search(Quadratic(y=0.7), SPACE, optimizer=engine, n_iter=24).fit(X, Y)
    best = found.best_params_
    assert best["kind"] == "b" and abs(best["x"] - 0.3) < 0.3 and abs(best["n"] - 7) <= 3
    assert np.isfinite(found.expected_scores_).all()


def test_a_rule_of_ones_own_is_followed():
    engine = TargetsOptimizer(least_known, n_candidates=60)
    found = search(Quadratic(), {"x": uniform(-1, 2)}, optimizer=engine, n_iter=8).fit(X, Y)
    x = np.sort([params["x"] for params in found.cv_results_["params"]])
    assert np.diff(x).max() < 0.7  # in an interval of 2, with 8 settings over it


@pytest.mark.parametrize("name", ["queries", "targets"])
def test_queries_and_targets_are_those_of_the_space(name):
    with pytest.raises(ValueError, match=f"must have {name}=None"):
        search(optimizer=KGOptimizer(**{name: [[0.0], [1.0]]})).fit(X, Y)

"""The scorer replays data: what it returns is the average of what was recommended."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpb import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    KGOptimizer,
    StoOOOptimizer,
    TargetsOptimizer,
)
from skgpb.domains import Cells
from skgpb.model_selection import bandit_scorer

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(240, 1))
Y = 3 * np.sin(13 * X[:, 0]) * np.sin(27 * X[:, 0]) + 0.1 * RNG.normal(size=240)
OPT = GPOOOptimizer(2.0 * RBF(0.05), min_members=4, variation=(10.0, 0.5))


def test_the_score_is_the_true_average_of_the_recommended_region():
    played = GPOOOptimizer(2.0 * RBF(0.05), min_members=4, variation=(10.0, 0.5), pool=X)
    played.run(lambda cell: Y[cell.members].mean(), 25)
    score = bandit_scorer(25)(OPT, X, Y)
    assert score == Y[played.recommend().members].mean()
    expected = Y[played.recommend("posterior", caution=1.0).members].mean()
    rule = {"method": "posterior", "caution": 1.0}
    assert bandit_scorer(25, recommend=rule)(OPT, X, Y) == expected
    assert score > np.quantile(Y, 0.8)


def test_more_queries_score_better():
    paper = clone(OPT).set_params(expansion="before")
    rule = {"method": "paper"}  # after one query this is the whole
    scorers = [bandit_scorer(n, noise=0.1, n_repeats=3, recommend=rule) for n in (1, 8, 40)]
    scores = [scorer(paper, X, Y) for scorer in scorers]
    assert_allclose(scores[0], Y.mean())
    assert scores[0] < scores[1] < scores[2]


def test_noise_is_the_same_for_everyone_and_reproducible():
    scorer = bandit_scorer(15, noise=1.0)
    assert scorer(OPT, X, Y) == pickle.loads(pickle.dumps(scorer))(OPT, X, Y)
    scores = {bandit_scorer(15, noise=1.0, random_state=seed)(OPT, X, Y) for seed in range(4)}
    assert len(scores) > 1


def test_other_optimizers():
    regions, arms = (
        StoOOOptimizer(variation=(4.0, 0.7)),
        GPUCBOptimizer(2.0 * RBF(0.05), alpha=0.01),
    )
    played = clone(regions).set_params(pool=X)
    played.run(lambda cell: Y[cell.members].mean(), 80)
    # Eighty answers lead it to an eighth or a sixteenth of the rows, and to no finer ones.
    assert bandit_scorer(80)(regions, X, Y) == Y[played.recommend().members].mean() > Y.mean()
    assert bandit_scorer(80)(arms, X, Y) > np.quantile(Y, 0.85)


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer, TargetsOptimizer])
def test_rules_over_targets_find_the_best_of_the_rows(cls):
    optimizer = cls(kernel=2.0 * RBF(0.05), alpha=0.01)
    assert bandit_scorer(30)(optimizer, X, Y) > np.quantile(Y, 0.85)


def test_the_estimator_is_left_alone():
    optimizer = GPOOOptimizer(RBF(0.05)).fit(X, Y)
    before = optimizer.predict(X)
    bandit_scorer(5)(optimizer, X, Y)
    assert optimizer.pool is None and len(optimizer.history_) == 0
    np.testing.assert_array_equal(optimizer.predict(X), before)


@pytest.mark.slow
def test_grid_search_tunes_the_variation():
    # A bound far below the variation of the function drives into the first cells that please.
    grid = {"variation": [(0.1, 0.5), (10.0, 0.5)]}
    scorer = bandit_scorer(20, noise=0.1)
    search = GridSearchCV(OPT, grid, scoring=scorer, cv=3, error_score="raise")
    search.fit(X, Y)
    assert search.best_params_["variation"] == (10.0, 0.5)
    assert search.best_score_ > Y.mean() + 1.0
    expected = cross_val_score(OPT, X, Y, scoring=scorer, cv=3).mean()
    assert_allclose(search.best_score_, expected)


def test_transformers_are_applied():
    pipeline = make_pipeline(StandardScaler(), OPT).fit(1000 * X, Y)
    scaled = StandardScaler().fit_transform(1000 * X)
    assert bandit_scorer(20)(pipeline, 1000 * X, Y) == bandit_scorer(20)(OPT, scaled, Y)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        GPZoomingOptimizer(),
        CMESOptimizer(),
        ContextualGPTreeOptimizer(),
        KGOptimizer(queries=Cells(0.1)),
        KGOptimizer(targets=[[0.5]]),
    ],
    ids=repr,
)
def test_what_cannot_search_a_pool_is_refused(estimator):
    with pytest.raises(TypeError, match="searches a pool, arms, or queries"):
        bandit_scorer()(estimator, X, Y)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"budget": 0}, ValueError),
        ({"budget": 2.5}, ValueError),
        ({"n_repeats": 0}, ValueError),
        ({"noise": -1.0}, ValueError),
        ({"noise": np.nan}, ValueError),
        ({"recommend": "posterior"}, TypeError),
        ({"random_state": None}, ValueError),
    ],
)
def test_bad_input_is_named(parameters, error):
    with pytest.raises(error, match=next(iter(parameters))):
        bandit_scorer(**parameters)


def test_values_must_be_numbers():
    with pytest.raises(ValueError, match="y must be an array of finite numbers"):
        bandit_scorer(3)(OPT, X, np.where(Y > 0, np.nan, Y))


def test_it_says_what_it_is():
    assert repr(bandit_scorer(7)).startswith("bandit_scorer(budget=7, noise=0.0")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("cls", "parameter", "values"),
    [
        (GPOOOptimizer, "beta", [0.01, 1.0, 100.0]),
        (GPOOOptimizer, "variation", [(0.1, 0.5), (1.0, 0.5)]),
        (GPOOOptimizer, "n_children", [2, 3]),
        (GPUCBOptimizer, "beta", [1.0, 9.0]),
        (GPUCBOptimizer, "n_candidates", [50, 100]),
        (EIOptimizer, "xi", [0.0, 0.1]),
        (KGOptimizer, "n_initial", [3, 5]),
        (GPZoomingOptimizer, "horizon", [50, 100]),
    ],
)
@pytest.mark.parametrize("piped", [False, True])
def test_candidates_that_tie_by_their_predictions_are_told(cls, parameter, values, piped):
    optimizer = cls(RBF(0.2), bounds=[(0, 1)], alpha=0.01, random_state=0)
    estimator = make_pipeline(StandardScaler(), optimizer) if piped else optimizer
    if piped:
        optimizer.set_params(bounds=[(-3, 3)])
    name = f"{cls.__name__.lower()}__{parameter}" if piped else parameter
    with pytest.warns(UserWarning, match=f"same as with another {parameter}: .*bandit_scorer"):
        found = GridSearchCV(estimator, {name: values}, cv=3).fit(X[:60], Y[:60])
    assert np.ptp(found.cv_results_["mean_test_score"]) == 0.0


def test_candidates_that_predict_differently_are_compared_without_a_word():
    optimizer = GPOOOptimizer(bounds=[(0, 1)], alpha=0.01, random_state=0)
    grid = {"kernel": [RBF(0.05), RBF(0.2)], "alpha": [0.01, 0.1]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            GridSearchCV(optimizer, grid, cv=3).fit(X[:60], Y[:60])
        optimizer.fit(X[:60], Y[:60])
        assert optimizer.score(X, Y) == optimizer.score(X, Y)

"""BanditSearchCV does what RandomizedSearchCV does, and looks where the scores are high."""

from __future__ import annotations

import pickle
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform, randint, uniform
from searches import SPACE, XR, YR, Quadratic, X, Y, search
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, make_scorer, mean_squared_error
from sklearn.model_selection import GroupKFold, KFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgpb import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    StoOOOptimizer,
    Stop,
    defaults,
)
from skgpb.exceptions import AllPendingError
from skgpb.model_selection import BanditSearchCV
from skgpb.optimizers import StopRule
from skgpb.plotting import PosteriorDisplay
from skgpb.surrogate.model import Model

# stopping ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_search_ends_when_enough_is_known():
    def of_ridge(**settings):
        space = {"alpha": loguniform(1e-3, 1e3)}
        found = search(Ridge(), space, n_iter=30, **settings).fit(XR, YR)
        return found, found.cv_results_["params"]

    _, whole = of_ridge()
    stop = Stop(0.02, 0.05, min_answers=10)
    stopped, settings = of_ridge(stop=stop)
    assert 10 <= len(settings) < len(whole) == 30
    assert settings == whole[: len(settings)]
    assert stopped.optimizer_.gap() < 0.02

    class Twelve(StopRule):
        def decide(self, optimizer):
            return len(optimizer.history_) >= 12

    for stop in (lambda engine: len(engine.history_) >= 12, Twelve()):
        _, settings = of_ridge(stop=stop)
        assert settings == whole[:12]


def test_stop_is_a_parameter_like_others():
    stop = Stop(0.1, 0.2)
    found = search(stop=stop)
    assert clone(found).stop.epsilon == 0.1
    assert found.set_params(stop=None).get_params()["stop"] is None
    with pytest.raises(ValueError, match="The 'stop' parameter of BanditSearchCV"):
        search(stop=0.1).fit(XR, YR)


def test_an_engine_that_cannot_say_is_refused_before_a_fit():
    fitted = []
    engine = StoOOOptimizer()
    with pytest.raises(ValueError, match="StoOOOptimizer, which cannot bound"):
        search(optimizer=engine, stop=Stop(0.1), scoring=lambda *a: fitted.append(1)).fit(XR, YR)
    assert not fitted


# scikit-learn ------------------------------------------------------------------------------------


def searching(estimator, **space):
    return BanditSearchCV(estimator, space, n_iter=2, cv=2, error_score="raise", random_state=0)


@parametrize_with_checks([searching(Ridge(), alpha=[0.1, 1.0])])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [searching(Pipeline([("pca", PCA()), ("lr", LogisticRegression())]), lr__C=[0.1, 1.0])]
)
def test_scikit_learn_estimator_checks_of_classifiers(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        searching(LogisticRegression(), C=[0.1, 1.0]),
        searching(Pipeline([("pca", PCA()), ("ridge", Ridge())]), ridge__alpha=[0.1, 1.0]),
    ]
)
def test_scikit_learn_estimator_checks_the_other_way_round(estimator, check):
    check(estimator)


def test_results_have_the_form_of_a_randomized_search():
    parameters = {"n_iter": 6, "cv": 3, "random_state": 0, "return_train_score": True}
    ours = BanditSearchCV(SVC(), SPACE, select="observed", **parameters).fit(X, Y)
    theirs = RandomizedSearchCV(SVC(), SPACE, **parameters).fit(X, Y)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for name, column in theirs.cv_results_.items():
        assert len(ours.cv_results_[name]) == 6
        assert type(ours.cv_results_[name]) is type(column), name
    assert set(vars(theirs)) - {"param_distributions"} <= set(vars(ours))
    for setting in ours.cv_results_["params"]:
        assert 1e-3 <= setting["C"] <= 1e3 and 1e-5 <= setting["gamma"] <= 1e1
    best = ours.cv_results_["mean_test_score"].argmax()
    assert ours.best_index_ == best
    assert ours.best_params_ == ours.cv_results_["params"][best]
    assert ours.best_score_ == ours.cv_results_["mean_test_score"][best]
    assert_array_equal(ours.predict(X), SVC(**ours.best_params_).fit(X, Y).predict(X))
    expected = cross_val_score(SVC(**ours.best_params_), X, Y, cv=3).mean()
    assert_allclose(ours.best_score_, expected)


def test_results_go_into_a_table():
    pandas = pytest.importorskip("pandas")
    fitted = search(space=[{"kernel": ["linear"]}, {"kernel": ["rbf"], **SPACE}]).fit(X, Y)
    table = pandas.DataFrame(fitted.cv_results_)
    assert len(table) == 6
    assert {"param_C", "param_kernel", "mean_test_score", "rank_test_score"} <= set(table)


def test_the_estimator_type_is_that_of_the_estimator():
    assert is_classifier(search())
    assert is_regressor(search(Ridge(), {"alpha": [1.0, 2.0]}))


def test_clone_and_pickle():
    one = search(optimizer=GPUCBOptimizer())
    other = clone(one)
    assert set(other.get_params()) == set(one.get_params())
    assert other.optimizer is not one.optimizer
    one.fit(X, Y)
    back = pickle.loads(pickle.dumps(one))
    assert_array_equal(back.predict(X), one.predict(X))
    assert back.best_params_ == one.best_params_
    assert clone(back).fit(X, Y).best_params_ == one.best_params_
    # The engine goes on where it was.
    assert_array_equal(back.optimizer_.ask().points, one.optimizer_.ask().points)


def test_parameters_are_never_written():
    engine = EIOptimizer(xi=0.1)
    fitted = search(optimizer=engine).fit(X, Y)
    assert fitted.optimizer is engine and not hasattr(engine, "bounds_")
    assert engine.bounds is None and engine.kernel is None


def test_the_seed_decides():
    first, again, other = (search(random_state=s).fit(X, Y) for s in (3, 3, 4))
    assert first.cv_results_["params"] == again.cv_results_["params"]
    assert first.cv_results_["params"] != other.cv_results_["params"]


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_jobs():
    one, two = (search(batch_size=2, n_jobs=n).fit(X, Y) for n in (None, 2))
    assert one.cv_results_["params"] == two.cv_results_["params"]
    assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("n_jobs", "n_splits", "expected"), [(None, 3, 1), (4, 5, 1), (7, 3, 3)])
def test_a_batch_keeps_the_workers_busy(n_jobs, n_splits, expected, capsys):
    from joblib import parallel_config

    with parallel_config("threading"):
        search(n_jobs=n_jobs, cv=n_splits, verbose=2, n_iter=7).fit(X, Y)
    # Every fit is printed when it ends, and every setting when its batch does.
    said = capsys.readouterr().out
    assert said[: said.index("[1/7]")].count("[CV] END") == expected * n_splits
    assert said.count("[CV] END") == 7 * n_splits


def test_a_line_for_every_setting_has_the_best_so_far(capsys):
    space = {"x": uniform(0, 1), "fail": [False, True]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        searching = search(Quadratic(), space, n_iter=7, batch_size=2, refit=False, verbose=1)
        fitted = searching.fit(X, Y)
    results, said = fitted.cv_results_, capsys.readouterr().out.splitlines()
    assert np.isnan(results["mean_test_score"]).any()
    for i, (setting, score) in enumerate(
        zip(results["params"], results["mean_test_score"], strict=True)
    ):
        best = np.fmax.reduce(results["mean_test_score"][: i + 1])
        fail, x = setting["fail"], setting["x"]
        expected = f"[{i + 1}/7] score {score:.5g}, best {best:.5g}: fail={fail}, x={x:.4g}"
        assert sorted(said[i].replace(": ", ", ").split(", ")) == sorted(
            expected.replace(": ", ", ").split(", ")
        )
    assert len(said) == 7 and fitted.verbose == 1
    space, scoring = {"C": loguniform(1e-3, 1e3)}, ["accuracy", "neg_log_loss"]
    parameters = {"scoring": scoring, "refit": "neg_log_loss", "n_iter": 1, "verbose": 1}
    loss = search(LogisticRegression(), space, **parameters).fit(X, Y).best_score_
    said = capsys.readouterr().out
    assert said.startswith(f"[1/1] neg_log_loss {loss:.5g}, best {loss:.5g}: C=")


def test_a_bar_counts_the_settings(monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total, unit):
            self.total, self.unit, self.n, self.closed = total, unit, 0, False
            bars.append(self)

        def update(self, n):
            self.n += n

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.closed = True

    monkeypatch.setattr("skgpb.model_selection.search.tqdm_class", lambda: Bar)
    search(n_iter=5, batch_size=2, progress=True).fit(X, Y)
    assert [(bar.total, bar.unit, bar.n, bar.closed) for bar in bars] == [(5, "setting", 5, True)]
    search(n_iter=2).fit(X, Y)
    assert len(bars) == 1


@pytest.mark.parametrize("batch_size", [1, 2])
def test_callbacks_follow_every_fit(batch_size):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

    class Recorder:
        def __init__(self):
            self.begun, self.ended, self.estimators = [], [], []

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            self.begun.append((context.task_name, context.task_id, context.max_subtasks))
            self.estimators.append(estimator)

        def on_fit_task_end(self, estimator, context):
            self.ended.append((context.task_name, context.task_id, context.max_subtasks))

        def teardown(self, estimator, context):
            pass

    recorder = Recorder()
    fitted = search(n_iter=5, batch_size=batch_size)
    fitted.set_callbacks(recorder).fit(X, Y)
    fits = [("candidate-split-evaluation", i, 0) for i in range(15)]
    refit = ("refit-with-best-params", 1, 0)
    assert recorder.begun == [("fit", 0, 2), ("search", 0, 15), *fits, refit]
    assert recorder.ended == [*fits, ("search", 0, 15), refit, ("fit", 0, 2)]
    assert all(estimator is fitted for estimator in recorder.estimators)


def test_several_metrics_follow_refit():
    metrics = {"accuracy": "accuracy", "loss": "neg_log_loss"}
    estimator, space = LogisticRegression(), {"C": loguniform(1e-1, 1e4)}
    fitted = search(estimator, space, scoring=metrics, refit="loss").fit(X, Y)
    assert fitted.multimetric_
    assert fitted.best_score_ == fitted.cv_results_["mean_test_loss"][fitted.best_index_]
    # The engine models the metric that decides, which is negative.
    assert (fitted.expected_scores_ < 0).all()
    assert_allclose(fitted.optimizer_.history_["reward"], fitted.cv_results_["mean_test_loss"])
    fitted = search(estimator, space, scoring=metrics, refit=False).fit(X, Y)
    assert_allclose(fitted.optimizer_.history_["reward"], fitted.cv_results_["mean_test_accuracy"])
    assert not hasattr(fitted, "best_estimator_")
    with pytest.raises(ValueError, match="refit"):
        search(estimator, space, scoring=metrics).fit(X, Y)


def test_metrics_whose_names_end_alike_are_told_apart():
    def told(scoring, refit):
        calls = []

        class Spy(GPUCBOptimizer):
            def tell(self, query, reward, alpha=None):
                calls.append((reward, alpha))
                return super().tell(query, reward, alpha)

        space = {"C": loguniform(1e-3, 1e3)}
        search(LogisticRegression(), space, optimizer=Spy(), scoring=scoring, refit=refit).fit(X, Y)
        return calls

    several = told({"a": "accuracy", "b_test_a": "neg_log_loss"}, "a")
    assert several == told("accuracy", True)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_only_the_metric_that_decides_has_to_be_finite():
    def scoring(estimator, X, y):
        return {"hit": estimator.score(X, y), "never": np.nan}

    space = {"C": loguniform(1e-4, 1e4)}
    fitted = search(LogisticRegression(), space, scoring=scoring, refit="hit").fit(X, Y)
    assert_allclose(fitted.optimizer_.history_["reward"], fitted.cv_results_["mean_test_hit"])
    assert not len(fitted.optimizer_.failed_)
    assert np.isnan(fitted.cv_results_["mean_test_never"]).all()
    with pytest.raises(ValueError, match="no setting has a finite 'never', by which refit choo"):
        search(LogisticRegression(), space, scoring=scoring, refit="never").fit(X, Y)


def test_refit_may_be_a_callable():
    def second(results):
        return int(np.flatnonzero(results["rank_test_score"] > 1)[0])

    fitted = search(refit=second).fit(X, Y)
    assert fitted.best_index_ == second(fitted.cv_results_)
    assert fitted.best_estimator_.get_params()["C"] == fitted.best_params_["C"]


def test_one_callable_may_return_several_metrics():
    def scoring(estimator, X, y):
        return {"hit": estimator.score(X, y), "one": 1.0}

    fitted = search(space={"C": loguniform(1, 1e3)}, scoring=scoring, refit="hit").fit(X, Y)
    assert {"mean_test_hit", "mean_test_one"} <= set(fitted.cv_results_)
    assert_allclose(fitted.optimizer_.history_["reward"], fitted.cv_results_["mean_test_hit"])


def test_losses_are_maximised_in_their_own_units():
    scoring = make_scorer(mean_squared_error, greater_is_better=False)
    space = {"alpha": loguniform(1e-6, 1e6)}
    fitted = search(Ridge(), space, scoring=scoring, n_iter=12).fit(XR, YR)
    assert fitted.best_params_["alpha"] < 1.0
    assert fitted.best_score_ < 0


def test_failed_fits_are_told_as_failures():
    failed = []

    class Recorded(Quadratic):
        def fit(self, X, y):
            failed.append(self.fail)
            return super().fit(X, y)

    space = {"x": uniform(0, 1), "fail": [False, True]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = search(Recorded(), space, n_iter=20, refit=False).fit(X, Y)
    assert_array_equal(
        np.isnan(fitted.cv_results_["mean_test_score"]),
        [setting["fail"] for setting in fitted.cv_results_["params"]],
    )
    assert len(failed) == 60 and not fitted.best_params_["fail"]
    told = np.array([setting["fail"] for setting in fitted.cv_results_["params"]])
    engine, scores = fitted.optimizer_, fitted.cv_results_["mean_test_score"]
    assert_allclose(engine.history_["reward"], scores[~told])
    assert len(engine.failed_) == told.sum()
    # Half of them would fail if the two kinds of settings were drawn at random.
    assert sum(failed[30:]) < sum(failed[:30]) / 2


@pytest.mark.parametrize("score", [-1e200, -8e307])
def test_scores_whose_squares_overflow_are_told_as_failures_are(score):
    """A model may diverge; its score stands in the results, and the search goes on."""

    def diverges(estimator, X, y):
        return score if estimator.alpha > 1.0 else -((np.log10(estimator.alpha) + 2.0) ** 2)

    found = BanditSearchCV(
        Ridge(), {"alpha": loguniform(1e-6, 1e6)}, n_iter=12, scoring=diverges, cv=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(over="ignore"):
            found.fit(XR, YR)
    means, alphas = (found.cv_results_[name] for name in ("mean_test_score", "param_alpha"))
    far = alphas.astype(float) > 1.0
    assert far.any() and not far.all()
    assert (means[far] <= -1e150).all()
    assert found.best_params_["alpha"] <= 1.0
    assert np.isnan(found.expected_scores_[far]).all()
    told = found.optimizer_.history_["reward"]
    assert len(told) + len(found.optimizer_.failed_) == 12 and (np.abs(told) < 100.0).all()


def test_failed_settings_stay_in_their_place_and_are_warned_of_once():
    class Slow(Quadratic):
        def fit(self, X, y):
            time.sleep(0.002)
            return super().fit(X, y)

    def scoring(estimator, X, y):
        return {"a": estimator.score(X, y), "b": 1.0}

    space = {"x": uniform(0, 1), "fail": [False, True]}
    for metrics, names in ((None, ["score"]), (scoring, ["a", "b"])):
        parameters = {"n_iter": 12, "refit": False, "scoring": metrics, "batch_size": 1}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = search(Slow(), space, **parameters).fit(X, Y)
        results = fitted.cv_results_
        failed = np.array([setting["fail"] for setting in results["params"]])
        # The failures come before a success in the order of evaluation, which the engine's own
        # history has, too.
        assert failed.any() and not failed[np.flatnonzero(failed)[0] :].all()
        rewards = fitted.optimizer_.history_["reward"]
        assert_allclose(rewards, results[f"mean_test_{names[0]}"][~failed])
        assert (results["mean_fit_time"] >= 0.002).all()
        for name in names:
            assert_array_equal(np.isnan(results[f"mean_test_{name}"]), failed)
        said = [str(warning.message) for warning in caught]
        assert len(said) == 1 + len(names)
        assert f"{3 * failed.sum()} fits failed out of a total of 36." in said[0]
        assert all("test scores are non-finite" in each for each in said[1:])


def test_a_search_within_a_fit_may_fail_as_a_whole():
    inner = search(Quadratic(fail=True), {"x": uniform()}, n_iter=1, cv=2)
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        search(inner, {"estimator__n": [1, 2]}, error_score="raise").fit(X, Y)


def test_failures_before_the_first_score_are_told_later():
    class Late(Quadratic):
        count = 0

        def fit(self, X, y):
            Late.count += 1
            if Late.count <= 12:
                raise ValueError("not yet")
            return super().fit(X, y)

    with pytest.warns(FitFailedWarning):
        fitted = search(Late(), {"x": uniform(0, 1)}, n_iter=8, n_initial=2, refit=False).fit(X, Y)
    scores, rewards = fitted.cv_results_["mean_test_score"], fitted.optimizer_.history_["reward"]
    assert_array_equal(np.isnan(scores), [True] * 4 + [False] * 4)
    # They teach something once there is a score.
    assert set(rewards) == set(scores[4:])
    assert len(fitted.optimizer_.failed_) == 4


def test_errors_are_raised_on_demand():
    with pytest.raises(ValueError, match="cannot fit this"):
        search(Quadratic(fail=True), {"x": uniform()}, error_score="raise").fit(X, Y)


def test_if_every_fit_fails_it_says_so():
    with pytest.raises(ValueError, match="All the 18 fits failed"):
        search(Quadratic(fail=True), {"x": uniform()}).fit(X, Y)


def test_metadata_is_routed():
    weights, groups = np.linspace(0.1, 1, len(X)), np.arange(len(X)) % 5
    seen = []

    class Weighted(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(None if sample_weight is None else len(sample_weight))
            return super().fit(X, y, sample_weight)

    space = {"C": loguniform(1e-3, 1e3)}
    with config_context(enable_metadata_routing=True):
        estimator = Weighted().set_fit_request(sample_weight=True)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        fitted = search(estimator, space, scoring=scorer, cv=GroupKFold(5), n_iter=3)
        fitted.fit(X, Y, sample_weight=weights, groups=groups)
    assert fitted.n_splits_ == 5
    assert seen == [96] * 15 + [120]
    test = groups == 4
    model = LogisticRegression(**fitted.best_params_).fit(X[~test], Y[~test], weights[~test])
    splits = [fitted.cv_results_[f"split{i}_test_score"][fitted.best_index_] for i in range(5)]
    expected = get_scorer("accuracy")(model, X[test], Y[test], sample_weight=weights[test])
    assert np.isclose(splits, expected).any()


def test_groups_reach_the_splitter():
    fitted = search(cv=GroupKFold(4), n_iter=2).fit(X, Y, groups=np.arange(len(X)) % 4)
    assert fitted.n_splits_ == 4


def test_all_settings_meet_the_same_folds():
    # The splitter draws new folds whenever it is asked.
    cv = KFold(3, shuffle=True, random_state=np.random.RandomState(0))
    fitted = search(Quadratic(), {"x": uniform(0, 1)}, cv=cv).fit(X, Y)
    values = [Quadratic(**setting).value() for setting in fitted.cv_results_["params"]]
    for i in range(3):
        of_fold = fitted.cv_results_[f"split{i}_test_score"] - values
        assert_allclose(of_fold, of_fold[0], rtol=0, atol=1e-12)


def test_pipelines_and_nesting():
    pipeline = make_pipeline(StandardScaler(), SVC())
    space = {f"svc__{name}": values for name, values in SPACE.items()}
    space["standardscaler"] = [StandardScaler(), "passthrough"]
    inner = search(pipeline, space, n_iter=15)
    scores = cross_val_score(inner, X, Y, cv=2)
    assert scores.shape == (2,) and (scores > 0.6).all()
    outer = make_pipeline(PCA(4), search()).fit(X, Y)
    assert_array_equal(outer.predict(X), outer[-1].best_estimator_.predict(outer[0].transform(X)))


# Searching ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_finds_the_maximum_of_a_mixed_conditional_space():
    spaces = [
        {"kind": ["a"], "x": uniform(0, 1), "n": randint(0, 20)},
        {"kind": ["b", "c"], "x": uniform(0, 1), "n": randint(0, 20), "y": uniform(0, 1)},
    ]
    gaps = {BanditSearchCV: [], RandomizedSearchCV: []}
    for cls, gap in gaps.items():
        for seed in range(3):
            fitted = cls(Quadratic(), spaces, n_iter=40, cv=3, random_state=seed).fit(X, Y)
            gap.append(0.5 - Quadratic(**fitted.best_params_).value())
            assert all(
                ("y" in setting) == (setting["kind"] != "a")
                for setting in fitted.cv_results_["params"]
            )
    assert max(gaps[BanditSearchCV]) < 0.02
    assert np.mean(gaps[BanditSearchCV]) < 0.2 * np.mean(gaps[RandomizedSearchCV])


def of_branches(n_iter, seed):
    """Settings of two branches; three in five of a are better than all of b."""

    class Branch(Quadratic):
        def value(self):
            if self.kind == "a":
                return -2.0 * (self.x - 0.8) ** 2
            return -0.3 - 0.05 * (self.y - 0.5) ** 2

    spaces = [{"kind": ["a"], "x": uniform(0, 1)}, {"kind": ["b"], "y": uniform(0, 1)}]
    parameters = {"n_iter": n_iter, "random_state": seed, "refit": False}
    return search(Branch(), spaces, **parameters).fit(X, Y).cv_results_["params"]


def test_the_better_branch_gets_most_settings():
    tried = [of_branches(25, seed) for seed in range(2)]
    assert all(sum(each["kind"] == "a" for each in settings) >= 15 for settings in tried)
    for settings in tried:
        # The first design goes into both.
        assert {each["kind"] for each in settings[:4]} == {"a", "b"}


class Cliff(Quadratic):
    """Seven eighths of all settings are good, and differ by a hundredth."""

    def value(self):
        return 0.97 + 0.01 * np.sin(9 * self.x) if self.x > 0.15 else 0.4 + self.x


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("estimator", "space", "data"),
    [
        (Cliff(), {"x": uniform(0, 1)}, (X, Y)),
        (Ridge(), {"alpha": loguniform(1e-6, 1e6)}, (XR, YR)),
    ],
    ids=["cliff", "ridge"],
)
def test_a_plateau_with_a_cliff_is_no_contradiction(estimator, space, data):
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = search(estimator, space, n_iter=20, random_state=seed).fit(*data)
        scores = found.cv_results_["mean_test_score"]
        assert scores.max() - found.best_score_ < 0.002
        # Expected scores are in the user's units, also where a score falls off.
        far = scores < scores.max() - 0.2
        assert far.any() and (found.expected_scores_[far] < found.best_score_ - 0.1).all()


@pytest.mark.slow
def test_a_disaster_does_not_set_the_scale():
    """A model may diverge: that is no reason to take all others for equal."""

    class Diverging(Quadratic):
        def value(self):
            return -1e6 * self.y if self.y > 0.7 else super().value()

    space = {"x": uniform(0, 1), "y": uniform(0, 1)}
    for seed in range(2):
        found = search(Diverging(n=7), space, n_iter=30, random_state=seed).fit(X, Y)
        scores = found.cv_results_["mean_test_score"]
        assert scores.min() < -1e5
        good = scores > -10.0
        assert_allclose(found.expected_scores_[good], scores[good], atol=0.1)
        assert Diverging(n=7, **found.best_params_).value() > -0.02


def test_of_settings_as_good_an_inner_one_is_chosen():
    class Even(Quadratic):
        def value(self):
            return min(self.x, 0.5) + 1e-6 * self.x

    space = {"x": np.linspace(0, 1, 9).tolist()}
    with pytest.warns(UserWarning, match="the space has 9 settings"):
        found = search(Even(), space, n_iter=12).fit(X, Y)
    assert found.cv_results_["params"][found.cv_results_["rank_test_score"].argmin()]["x"] == 1.0
    assert 0.5 <= found.best_params_["x"] < 1.0
    # What is better by more than that is chosen wherever it is.
    with pytest.warns(UserWarning, match="the space has 9 settings"):
        steep = search(Quadratic(), {"x": np.linspace(0.3, 1, 9).tolist()}, n_iter=12).fit(X, Y)
    assert steep.best_params_["x"] == 0.3


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "space",
    [SPACE, [{"kernel": ["linear"], "C": SPACE["C"]}, {"kernel": ["rbf", "sigmoid"], **SPACE}]],
    ids=["one dict", "two dicts"],
)
@pytest.mark.parametrize("engine", [None, GPOOOptimizer()], ids=["UCB", "GPOO"])
def test_the_engine_is_saved(tmp_path, space, engine):
    found = search(space=space, optimizer=engine).fit(X, Y)
    found.optimizer_.save(tmp_path / "engine")
    back = type(found.optimizer_).load(tmp_path / "engine")
    assert back.recommend() == found.optimizer_.recommend()
    assert back.ask().params == found.optimizer_.ask().params


def test_a_space_of_estimators_is_left_out_of_a_file(tmp_path):
    space = {"scale": [StandardScaler(), "passthrough"], "svc__C": SPACE["C"]}
    found = search(Pipeline([("scale", None), ("svc", SVC())]), space).fit(X, Y)
    with pytest.raises(TypeError, match=r"bounds is .*StandardScaler.*pass omit=\['bounds'\] to s"):
        found.optimizer_.save(tmp_path / "engine")
    found.optimizer_.save(tmp_path / "engine", omit=["bounds"])
    back = GPUCBOptimizer.load(tmp_path / "engine", bounds=found.space_)
    assert back.ask().params == found.optimizer_.ask().params


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "engine",
    [
        GPOOOptimizer(variation=(1.0, 0.7)),
        GPOOOptimizer(variation=(1.0, 0.7), n_representatives=2),
        GPUCBOptimizer(n_candidates=50),
        pytest.param(GPZoomingOptimizer(horizon=200, variation=(1.0, 0.5)), marks=pytest.mark.slow),
        StoOOOptimizer(variation=(1.0, 0.7)),
    ],
    ids=["GPOO", "GPOO-average", "GP-UCB", "zooming", "StoOO"],
)
def test_any_optimizer_is_an_engine(engine):
    space = {"x": uniform(0, 1), "y": uniform(0, 1)}
    fitted = search(Quadratic(n=7), space, optimizer=engine, n_iter=30).fit(X, Y)
    assert len(fitted.cv_results_["params"]) == 30
    assert type(fitted.optimizer_) is type(engine)
    assert -Quadratic(n=7, **fitted.best_params_).value() < 0.03
    assert_array_equal(fitted.optimizer_.bounds_, [[0, 1], [0, 1]])


def test_a_cell_is_told_the_average_of_its_settings():
    engine = GPOOOptimizer(n_representatives=2, variation=(1.0, 0.7))
    space = {"x": uniform(0, 1), "y": uniform(0, 1)}
    fitted = search(Quadratic(), space, optimizer=engine, n_iter=13, n_initial=0).fit(X, Y)
    scores, rewards = fitted.cv_results_["mean_test_score"], fitted.optimizer_.history_["reward"]
    # Four settings to a query; the last one is cut short by n_iter, so it is not told.
    assert len(scores) == 13 and len(rewards) >= 3
    assert_allclose(rewards[0], scores[:4].mean())
    assert_allclose([s["x"] for s in fitted.cv_results_["params"][:4]], [0.25, 0.25, 0.75, 0.75])


class Folds(Quadratic):
    """Folds differ for all settings, and the more the larger x is."""

    def score(self, X, y):
        fold = int(X[0, 0])
        return self.value() + [5.0, -2.0, 0.0][fold] + self.x * [1.0, -1.0, 0.0][fold]


def with_folds(**parameters):
    # The first feature is the number of the fold.
    X = np.repeat([0.0, 1.0, 2.0], 10)[:, None]
    parameters = {"cv": KFold(3), "refit": False} | parameters
    return search(Folds(), {"x": uniform(0, 1)}, **parameters).fit(X, np.arange(30) % 2)


def test_a_search_learns_that_scores_on_the_same_folds_are_exact():
    fitted = with_folds(n_iter=12)
    scores = fitted.cv_results_["mean_test_score"]
    rows = fitted.optimizer_._rows_of(fitted.space_.points(fitted.cv_results_["params"]))
    mean, std = fitted.optimizer_.surrogate_.predict(rows, return_std=True)
    good = scores >= np.median(scores)
    assert_allclose(mean[good], scores[good], atol=0.02 * scores.std())
    assert (std < 0.02 * scores.std()).all()


@pytest.mark.slow
def test_an_estimator_that_is_random_is_noisy():
    class Random(Quadratic):
        def value(self):
            luck = np.random.default_rng(int(1e9 * self.x)).normal()
            return super().value() + 0.1 * luck

    space = {"x": uniform(0, 1)}
    exact, noisy = (
        search(each, space, n_iter=25, refit=False).fit(X, Y).optimizer_.alpha_
        for each in (Quadratic(), Random())
    )
    assert exact < 1e-5 and 0.002 < noisy < 0.05


def test_the_noise_is_the_spread_of_the_folds_without_what_they_share(monkeypatch):
    monkeypatch.setattr(defaults, "SCORE_STRAIGHT", 1e9)  # no score is far below the others
    told, observe_rows = [], Model.observe_rows

    def spy(self, rows, rewards, alphas, is_answer=True):
        told.append((rewards, alphas))
        return observe_rows(self, rows, rewards, alphas, is_answer)

    monkeypatch.setattr(Model, "observe_rows", spy)
    fitted = with_folds(n_iter=4, n_initial=4)
    x = np.array([setting["x"] for setting in fitted.cv_results_["params"]])
    [(rewards, noise)] = told
    assert_allclose(rewards, fitted.cv_results_["mean_test_score"])
    good = rewards >= np.median(rewards)
    # Residuals are x (1, -1, 0) after the folds' own 5, -2, 0 less 1; the shared part is removed.
    shared = np.median(x[good])
    variance = 2 * (x - shared) ** 2 / 2
    # Two degrees of freedom of its own, and four of the better settings.
    variance = (2 * variance + 4 * variance[good].mean()) / 6
    assert_allclose(noise, variance / 3, atol=1e-6)


def test_a_setting_is_fitted_once():
    space = {"n": randint(5, 9), "kind": ["a", "b"]}
    with pytest.warns(UserWarning, match="the space has 8 settings, fewer than n_iter=30"):
        fitted = search(Quadratic(), space, n_iter=30).fit(X, Y)
    settings = {tuple(sorted(s.items())) for s in fitted.cv_results_["params"]}
    assert len(settings) == len(fitted.cv_results_["params"]) == 8
    with pytest.raises(AllPendingError, match="all 8 settings were asked, each of them once"):
        fitted.optimizer_.ask()
    assert fitted.best_params_ == {"n": 7, "kind": "b"}


def test_a_space_of_one_setting():
    with pytest.warns(UserWarning, match="the space has 1 setting, fewer than n_iter="):
        fitted = search(Quadratic(), {"n": [3]}).fit(X, Y)
    assert fitted.best_params_ == {"n": 3}


def test_an_interrupted_search_keeps_what_it_found():
    class Interrupting(Quadratic):
        count = 0

        def fit(self, X, y):
            Interrupting.count += 1
            if Interrupting.count == 3 * 5 + 2:
                raise KeyboardInterrupt
            return super().fit(X, y)

    with pytest.warns(UserWarning, match="interrupted after 5 of n_iter=20"):
        fitted = search(Interrupting(), {"x": uniform(0, 1)}, n_iter=20).fit(X, Y)
    assert len(fitted.cv_results_["params"]) == 5
    assert fitted.best_estimator_.x == fitted.best_params_["x"]
    assert fitted.predict(X).shape == Y.shape
    Interrupting.count = 3 * 5
    with pytest.raises(KeyboardInterrupt):
        search(Interrupting(), {"x": uniform(0, 1)}, n_iter=20).fit(X, Y)


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"n_iter": 0}, ValueError, "n_iter"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"n_initial": -1}, ValueError, "n_initial"),
        ({"select": "best"}, ValueError, "select"),
        ({"optimizer": "EI"}, ValueError, "optimizer"),
        ({"optimizer": EIOptimizer(arms=[[0.0], [1.0]])}, ValueError, "must have arms=None"),
        ({"optimizer": CMESOptimizer()}, TypeError, "must search a box"),
        ({"optimizer": ContextualGPTreeOptimizer()}, TypeError, "must search a box"),
        ({"space": {"C": 1.0}}, TypeError, "'C'.*must be a list of values or a frozen distrib"),
        (
            {"space": {"C": (1e-3, 1.0, "log-uniform")}},
            ValueError,
            "'C'.*write the range as loguniform",
        ),
        ({"space": {"kernel": "rbf"}}, TypeError, "'kernel'"),
        ({"space": {"C": []}}, ValueError, "'C'.*empty"),
        ({"space": {"C": np.ones((2, 2))}}, ValueError, "'C'.*one-dimensional"),
        ({"space": [3]}, TypeError, "list of such dicts"),
        ({"space": {"c": [1.0, 2.0]}}, ValueError, "Invalid parameter 'c'"),
    ],
)
def test_bad_input_is_named(parameters, error, match):
    with pytest.raises(error, match=match):
        search(**parameters).fit(X, Y)


def test_scores_of_dummies_are_all_the_same():
    fitted = search(
        DummyClassifier(random_state=0), {"constant": [0, 1], "strategy": ["prior", "uniform"]}
    )
    with pytest.warns(UserWarning, match="the space has 4 settings"):
        fitted.fit(X, Y)
    assert len(fitted.cv_results_["params"]) == 4


# in units ----------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("engine", [None, GPZoomingOptimizer()])
@pytest.mark.parametrize("several", [False, True], ids=["one dict", "two dicts"])
def test_the_engine_speaks_of_settings(engine, several):
    space = {"C": loguniform(1e-2, 1e3), "kernel": ["linear", "rbf"]}
    if several:
        space = [{"C": space["C"], "kernel": ["linear"]}, {**space, "gamma": loguniform(1e-4, 1.0)}]
    found, default = (
        search(SVC(), space, optimizer=engine, n_iter=6, cv=2).fit(X, Y),
        engine is None,
    )
    settings = found.cv_results_["params"]
    engine = found.optimizer_
    assert engine.recommend().params.keys() in [each.keys() for each in settings]
    rows = engine._rows_of(engine._inputs.points(settings))
    known = found.cv_results_["mean_test_score"] if default else found.expected_scores_
    assert_allclose(engine.surrogate_.predict(rows), known, atol=0.02 if default else 0)
    told = [event[1] for event in engine._events if event[0] == "tell"]
    assert {repr(query.settings[0]) for query in told} == {repr(each) for each in settings}
    assert all("C=" in repr(query) and "kernel=" in repr(query) for query in told)
    display = PosteriorDisplay.from_optimizer(engine, features="C")
    assert display.feature_names == ["C"]
    display.figure_.canvas.draw()
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert "100" in labels and "0.5" not in labels

"""What the answers say of noise, outliers and fit, by the model alone."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer, defaults
from skgpb.surrogate import model as module
from skgpb.surrogate.exactness import exact_noise
from skgpb.surrogate.likelihood import default_kernel, default_prior
from skgpb.surrogate.model import Model, ModelOptions

BOX = np.array([[0.0, 1.0]])
X = np.linspace(0.0, 1.0, 32)


def smooth(x):
    return 3.0 * np.sin(6.0 * np.asarray(x))


def played(x, y, kernel=None, **options):
    """A model that was told answers, learned whenever it is due."""
    if kernel is None:
        prior = default_prior(BOX)
        model = Model(default_kernel(BOX), 1, ModelOptions(**options), prior=prior, seed=0)
    else:
        model = Model(kernel, 1, ModelOptions(**options))
    return told(model, x, y)


def told(model, x, y):
    for each, value in zip(x, y, strict=True):
        model.observe(np.array([[each]]), float(value))
        if model.is_due:
            model = model.refit()
    return model


def noisy(x, deviation=0.3, seed=0):
    return smooth(x) + deviation * np.random.default_rng(seed).standard_normal(len(x))


@pytest.mark.parametrize(
    ("x", "y", "options", "noise", "method"),
    [
        (X, smooth(X), {}, "none", "best_observed"),
        (X, noisy(X), {}, "unclear", "posterior"),
        (np.append(X, X[:1]), np.append(noisy(X), 0.4), {}, "some", "posterior"),
        (X, noisy(X), {"noise": 0.09}, "some", "posterior"),
        # So little noise is none, whoever says it.
        (X, smooth(X), {"noise": 0.0}, "none", "best_observed"),
        (X, smooth(X), {"noise": 1e-10}, "none", "best_observed"),
        (X, smooth(X), {"noise": 1e-10, "kernel": RBF(0.3)}, "none", "best_observed"),
    ],
)
def test_noise_is_none_some_or_unclear(x, y, options, noise, method):
    found = played(x, y, **options).diagnosis
    assert (found.noise, found.method) == (noise, method)
    assert (found.outliers, found.lack_of_fit) == ((), "")
    # One more answer to the best query decides, where none was asked twice.
    assert found.repeats_best == (noise == "unclear")


@pytest.mark.parametrize("error", [9.0, -9.0])
def test_an_outlier_is_doubted_if_it_is_high_and_alone(error):
    y = noisy(X, 0.1)
    y[20] += error
    model = played(X, y)
    found = model.diagnosis
    assert found.outliers == (20,) and found.outlying == {20}
    assert found.suspects == ((20,) if error > 0 else ())
    model.observe(X[20:21, None], float(y[20] - error))
    assert model.diagnosis.outliers == (20,)
    assert model.diagnosis.outlying == set() and model.diagnosis.suspects == ()


def test_a_model_of_pure_roughness_does_not_fit():
    y = np.random.default_rng(3).standard_normal(40)
    found = played(np.random.default_rng(1).random(40), y).diagnosis
    assert "no better than their mean" in found.lack_of_fit and found.method == "shrinkage"
    assert found.describe()["lack of fit"] == found.lack_of_fit
    given = played(np.random.default_rng(1).random(40), y, noise=0.01).diagnosis
    assert given.lack_of_fit == "" and given.method == "posterior"


def test_a_diagnosis_is_made_once_for_each_state(monkeypatch):
    compared = []
    monkeypatch.setattr(module, "explains_nothing", lambda gp: bool(compared.append(gp)))
    model = played(X, noisy(X))
    assert not compared  # nobody has asked
    found = model.diagnosis
    assert [model.diagnosis.lack_of_fit for _ in range(3)] == [""] * 3
    assert model.diagnosis is found and len(compared) == 1
    assert model.with_options(model.options).diagnosis is found
    with pytest.raises(FrozenInstanceError):
        found.given = 0.1
    model.observe(np.array([[0.123]]), 1.0)
    assert model.diagnosis is not found and model.diagnosis.n_answers == 33
    learned = model.refit()
    assert learned.diagnosis is not model.diagnosis
    assert model.with_options(ModelOptions(noise=0.1)).diagnosis.given == 0.1


@pytest.mark.parametrize(
    ("options", "y", "expected"),
    [
        ({}, smooth(X), "none, as the answers say"),
        ({"noise": 0.0}, smooth(X), "none, as given"),
        ({"noise": 0.09}, noisy(X), "standard deviation 0.3, as given"),
    ],
)
def test_the_noise_is_told_in_words(options, y, expected):
    assert played(X, y, **options).describe() == {"noise": expected}


def test_learned_noise_is_told_in_units_of_the_answers():
    x = np.append(X, X)
    for unit in (1.0, 1000.0):
        model = played(x, unit * noisy(x))
        assert model.describe()["noise"] == (
            f"standard deviation {np.sqrt(model.alpha):.3g}, as answers to the same query say"
        )
        assert 0.15 < np.sqrt(model.alpha) / unit < 0.6


def test_without_answers_there_is_nothing_to_tell():
    assert Model(RBF(0.3), 1, ModelOptions(noise=0.1)).describe() == {}


def test_a_result_keeps_the_words_and_no_model():
    rng = np.random.default_rng(0)
    optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0)
    result = optimizer.run(lambda query: smooth(query.points[0, 0]) + 0.3 * rng.normal(), 30)
    assert result.model == pickle.loads(pickle.dumps(result)).model
    printed = dict(line.split(maxsplit=1) for line in repr(result).splitlines())
    assert printed["noise"] == result.model["noise"]


def test_looking_at_a_diagnosis_changes_no_run():
    asked = []
    for looks in (False, True):
        rng = np.random.default_rng(0)
        optimizer = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0)
        for _ in range(24):
            query = optimizer.ask()
            optimizer.tell(query, smooth(query.points[0, 0]) + 0.3 * rng.normal())
            if looks:
                assert optimizer._model.diagnosis.lack_of_fit == ""
                optimizer.recommend()
        asked.append([*optimizer.history_["reward"], optimizer.recommend()])
    assert asked[0] == asked[1]


def test_answers_are_exact_only_if_none_of_them_has_noise():
    kernel, y = RBF(0.3), smooth(X)
    for alphas, noise in (
        ([1e-9] * 32, "none"),
        ([1e-9] * 31 + [0.5], "some"),
        ([0.5] * 32, "some"),
    ):
        model = Model(kernel, 1, ModelOptions(noise=0.01))
        for x, value, alpha in zip(X, y, alphas, strict=True):
            model.observe(np.array([[x]]), float(value), alpha)
        assert model.diagnosis.noise == noise


@pytest.mark.parametrize("reward", [-7.0, 3.0])
@pytest.mark.parametrize("noise", [None, 0.09])
def test_the_first_answer_sets_the_units(reward, noise):
    for prior in (default_prior(BOX), None):
        options = ModelOptions(noise=noise, normalize_y=True)
        model = Model(default_kernel(BOX), 1, options, prior=prior, seed=0)
        model.observe(np.array([[0.5]]), reward)
        assert model.process.offset == reward
        scale = abs(reward)
        if noise is not None:
            scale = np.sqrt(noise if prior is None else noise / defaults.NOISE)
        assert model.process.scale == pytest.approx(scale)
    # Without a prior and without normalisation the units stay.
    model = Model(RBF(0.3), 1, ModelOptions(noise=noise))
    model.observe(np.array([[0.5]]), reward)
    assert (model.process.offset, model.process.scale) == (0.0, 1.0)
    model = Model(default_kernel(BOX), 1, ModelOptions(noise=noise), prior=default_prior(BOX))
    model.set_units(2.0, 5.0)
    model.observe(np.array([[0.5]]), reward)
    assert (model.process.offset, model.process.scale) == (2.0, 5.0)


@pytest.mark.parametrize("typical", [1.0, 1e4, 1e-4])
def test_outliers_are_looked_for_if_the_noise_is_not_negligible_in_units_of_f(typical):
    options = ModelOptions(relearn="growing", optimizer="fmin_l_bfgs_b")
    model = Model(typical * RBF(0.3), 1, options, typical=typical)
    rng = np.random.default_rng(0)
    for x in X:
        model.observe(np.array([[x]]), np.sqrt(typical) * float(smooth(x) + 0.1 * rng.normal()))
        if model.is_due:
            model = model.refit()
    found = module.Hyperparameters(0.0, 1.0, model.process.kernel.theta, 0.0)
    least = exact_noise() * typical
    assert model._judges(replace(found, noise=1.01 * least))
    assert not model._judges(replace(found, noise=0.99 * least))

"""The model without an optimizer: answers, units, noise, learning, what contradicts it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb.optimizers._files import restore, snapshot_of
from skgpb.surrogate.likelihood import default_kernel, default_prior
from skgpb.surrogate.model import Hyperparameters, LearningPolicy, Model, ModelOptions

BOX = np.array([[0.0, 1.0]])


def ours(**options):
    """A model whose kernel, units and noise are learned."""
    return Model(default_kernel(BOX), 1, ModelOptions(**options), prior=default_prior(BOX), seed=0)


def answers(n, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    return x, 40.0 + 5.0 * np.sin(7.0 * x) + 5.0 * noise * rng.normal(size=n)


def played(model, x, y):
    for each, value in zip(x, y, strict=True):
        model.observe(np.array([[each]]), float(value))
        if model.is_due:
            model = model.refit()
    return model


def test_a_model_learns_units_noise_and_kernel_by_itself():
    model = played(ours(), *answers(40))
    x = np.linspace(0.0, 1.0, 9)[:, None]
    assert_allclose(model.process.moments(x), 40.0 + 5.0 * np.sin(7.0 * x[:, 0]), atol=1.2)
    assert 0.1 < model.alpha < 1.0  # 0.25
    assert model.n_answers == 40 and model.schedule.learned_at == 32


def test_what_was_known_before_an_answer_is_that_of_the_process():
    model = played(ours(relearn=None), *answers(10))
    row = np.array([[0.3]])
    mean, std = model.process.moments([row], std=True)
    assert_allclose(model.to_user_units(*model.observe(row, 41.0)), (mean[0], std[0]), rtol=1e-12)


def test_a_functional_that_is_tracked_is_observed_as_its_rows_are():
    one, other = (Model(RBF(0.3), 1, ModelOptions(noise=0.01)) for _ in range(2))
    rows = np.linspace(0.0, 1.0, 5)[:, None]
    one.process.track(rows)
    for slot, reward in ((3, 1.0), (0, -0.5), (3, 1.2)):
        before = one.observe(slot, reward)
        assert_allclose(before, other.observe(rows[slot : slot + 1], reward), rtol=1e-9, atol=1e-12)
    assert_allclose(one.process.moments(rows), other.process.moments(rows), rtol=1e-9)
    assert one.samples.functional == other.samples.functional == [0, 1, 0]


def test_learning_returns_another_model_and_leaves_this_one():
    model = played(ours(relearn=None), *answers(12))
    theta, noise, due = model.process.kernel.theta, model.noise, model.schedule.learning_due
    other = model.refit()
    assert not np.allclose(other.process.kernel.theta, theta) and other.n_learned == 1
    assert_allclose(model.process.kernel.theta, theta, rtol=0)
    assert (model.noise, model.schedule.learning_due, model.n_learned) == (noise, due, 0)
    again = model.refit(Hyperparameters.of(other.found.values()))
    x = np.linspace(0.0, 1.0, 5)[:, None]
    assert_allclose(again.process.moments(x), other.process.moments(x), rtol=0)


@pytest.mark.parametrize("counts_answers", [False, True])
def test_the_best_counts_once_in_the_units_unless_all_answers_count(counts_answers):
    policy = LearningPolicy(counts_answers=counts_answers)
    model = Model(RBF(0.2), 1, ModelOptions(relearn=None), learning_policy=policy)
    x, y = np.array([0.1, 0.4, *[0.9] * 8]), np.array([1.0, 2.0, *[6.0] * 8])
    center, scale = played(model, x, y)._units_by(model.samples)
    counted = y if counts_answers else y[:3]
    assert_allclose([center, scale], [counted.mean(), counted.std()])


def test_a_later_search_starts_where_the_first_did_as_well(monkeypatch):
    starts = []

    def spied(self, *given):
        starts.append([theta.tolist() for theta, _ in given[4]])
        return fit(self, *given)

    fit = Model._fit_from_starts
    model = Model(RBF(0.2), 1, ModelOptions(optimizer="fmin_l_bfgs_b", normalize_y=True))
    for x, y in zip(*answers(20), strict=True):
        model.observe(np.array([[x]]), y)
    monkeypatch.setattr(Model, "_fit_from_starts", spied)
    learned = model.refit()
    learned.refit()
    begin = RBF(0.2).theta.tolist()
    assert starts == [[begin], [learned.process.kernel.theta.tolist(), begin]]


def test_options_hold_from_now_on():
    model = played(ours(relearn=None), *answers(8))
    assert not model.is_due
    other = model.with_options(ModelOptions(relearn=4, noise=0.5))
    assert other.is_due and (other.alpha, other.default_noise_variance) == (0.5, 0.5)
    assert not model.is_due and np.isnan(model.default_noise_variance)
    assert other.process is model.process


def test_a_snapshot_is_a_model_that_goes_on_alike():
    x, y = answers(60)
    y[20] += 60.0  # an outlier
    model = played(ours(), x[:40], y[:40])
    learned, all_learned = model.found, []
    replayed = ours()
    for each, value in zip(x[:40], y[:40], strict=True):
        replayed.observe(np.array([[each]]), float(value))
        if replayed.is_due:
            replayed = replayed.refit()
            all_learned.append(replayed.found)
    assert learned.outliers.keys() == {20}
    restored = ours().after(all_learned)
    restore(restored, snapshot_of(model))
    assert restored.samples.factors == model.samples.factors
    assert vars(restored.schedule) == vars(model.schedule)
    assert restored.n_learned == model.n_learned
    one, other = played(model, x[40:], y[40:]), played(restored, x[40:], y[40:])
    rows = np.linspace(0.0, 1.0, 9)[:, None]
    assert_allclose(one.process.moments(rows), other.process.moments(rows), rtol=1e-7)


def test_learned_values_come_back_from_a_log():
    found = Hyperparameters(1.0, 2.0, np.array([0.5, -1.0]), 0.1, 1.5, {3: 1e12})
    again = Hyperparameters.of(found.values())
    assert again.values() == found.values()
    plain = Hyperparameters(1.0, 2.0, np.array([0.5]), 0.1).values()
    assert plain.keys() == {"center", "scale", "theta", "noise"}
    wrongs = {"scale": 0.0}, {"noise": -1.0}, {"theta": [np.nan]}
    for wrong in (*wrongs, {"smoothness": 2.0}):
        with pytest.raises(ValueError, match=r"learned|smoothness"):
            Hyperparameters.of(found.values() | wrong)


def test_answers_that_contradict_a_given_kernel_are_named_once():
    model = Model(RBF(1.0), 1, ModelOptions(noise=1e-6))
    said = []
    for x in np.linspace(0.0, 1.0, 13):
        model.observe(np.array([[x]]), float(np.sin(40.0 * x)))
        if model.n_answers >= model.schedule.check_due:
            said.append(model.criticise(lambda sample: f"answer {sample}"))
    assert len([each for each in said if each]) == 1
    assert "answer " in model.contradicted and "kernel=None learns the kernel" in model.contradicted
    assert model.criticism().contradicts


def test_checks_come_at_twice_as_many_answers():
    model, at = Model(RBF(0.3), 1, ModelOptions(noise=0.01)), []
    for i in range(30):
        model.observe(np.array([[0.03 * i]]), 0.0)
        if model.n_answers >= model.schedule.check_due:
            model.criticise()
            at.append(model.n_answers)
    assert at[0] == 3 and all(b == 2 * a for a, b in pairwise(at)) and len(at) == 4


def test_pending_answers_are_expected_with_the_usual_noise():
    model = played(ours(relearn=None), *answers(10))
    assert model.fantasize([]) is model.process
    row = np.array([[0.4]])
    before, std = model.process.moments([row], std=True)
    after, fallen = model.fantasize([row]).moments([row], std=True)
    assert_allclose(after, before, rtol=1e-10)
    assert_allclose(fallen**-2.0, std**-2.0 + 1.0 / model.alpha, rtol=1e-6)

"""The model without an optimizer: answers, units, noise, learning, what contradicts it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb import defaults
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
    theta, noise, schedule = model.process.kernel.theta, model.noise, replace(model.schedule)
    other = model.refit()
    assert not np.allclose(other.process.kernel.theta, theta) and other.n_learned == 1
    assert_allclose(model.process.kernel.theta, theta, rtol=0)
    assert (model.noise, model.schedule, model.n_learned) == (noise, schedule, 0)
    assert other.schedule.learned_at == 12
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


def test_a_snapshot_whose_answers_are_not_those_of_the_process_is_refused():
    x, y = answers(12)
    model = played(ours(), x, y)
    restore(ours(), snapshot_of(model))
    for change in (
        lambda samples: samples.alpha.append(0.1),
        lambda samples: samples.functional.__setitem__(-1, 0),
        lambda samples: samples.functional.__setitem__(-1, 12),
        lambda samples: samples.values.add(12),
    ):
        wrong = played(ours(), x, y)
        change(wrong.samples)
        with pytest.raises(ValueError, match="samples are not of 12 functionals"):
            restore(ours(), snapshot_of(wrong))
    outlying = replace(model.refit().found, outliers={12: 9.0})
    with pytest.raises(ValueError, match="samples are not of 12 functionals"):
        restore(ours().after([outlying]), snapshot_of(model))


def test_a_run_goes_on_from_what_it_learned_last():
    x, y = answers(60)
    first = played(ours(), x[:20], y[:20]).refit()
    last = played(first, x[20:], y[20:]).refit()
    again = ours().after([first.found, last.found])
    assert again.found is last.found and again.n_learned == 2
    assert_allclose(again.process.kernel.theta, last.process.kernel.theta, rtol=1e-12)
    assert again.samples.factors == last.samples.factors


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


# -- noise and units ------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [None, 0.36])
@pytest.mark.parametrize("kernels_own", [0.0, 0.25])
def test_noise_variances_are_in_the_users_units(noise, kernels_own):
    model = Model(RBF(0.3), 1, ModelOptions(noise=noise, model_noise=kernels_own))
    model.set_units(10.0, 3.0)
    own = model.noise * 9.0 if noise is None else noise
    assert model.alpha == pytest.approx(own) and model.model_noise == kernels_own
    assert model.noise_of(0.5) == pytest.approx(0.5 + kernels_own)
    assert model.noise_of(0.5, is_answer=False) == 0.5
    assert model.noise_of(np.nan) == pytest.approx(model.noise * 9.0 + kernels_own)
    assert model.to_user_units(2.0, 0.25) == (16.0, 1.5)
    model.observe(np.array([[0.5]]), 12.0)
    used = model.noise * 9.0 if noise is None else noise
    assert_allclose(model.process.noises(), (used + kernels_own) / 9.0)
    pending = model.fantasize([np.array([[0.9]])])
    assert_allclose(pending.noises(), (used + kernels_own) / 9.0)
    if noise is not None:  # what is no longer given keeps its value until it is learned
        other = model.with_options(ModelOptions(model_noise=kernels_own))
        assert other.alpha == pytest.approx(noise) and other.options.noise is None
        assert model.alpha == noise


def test_rows_are_observed_as_one_by_one_and_values_of_f_without_the_kernels_error():
    rows, y = np.array([[0.1], [0.5], [0.1], [0.9]]), np.array([1.0, 2.0, 1.4, 0.0])
    alphas = np.array([0.1, np.nan, 0.2, 0.3])
    options = ModelOptions(noise=0.05, model_noise=0.4)
    one, other = Model(RBF(0.3), 1, options), Model(RBF(0.3), 1, options)
    one.observe_rows(rows, y, alphas)
    for row, value, alpha in zip(rows, y, alphas, strict=True):
        other.observe(row[None], float(value), float(alpha))
    x = np.linspace(0.0, 1.0, 5)[:, None]
    for each, expected in zip(
        one.process.moments(x, std=True), other.process.moments(x, std=True), strict=True
    ):
        assert_allclose(each, expected)
    assert one.samples.functional == other.samples.functional == [0, 1, 0, 2]
    assert one.samples.values == set()
    given = Model(RBF(0.3), 1, options)
    given.condition(rows[:2], y[:2])
    given.observe(rows[3:], 0.0)
    assert given.samples.values == {0, 1} and given.samples.is_answer.tolist() == [
        False,
        False,
        True,
    ]
    assert_allclose(given.process.noises(), [0.05, 0.05, 0.45])


def test_given_values_set_the_units():
    model = ours()
    model.condition(np.array([[0.1], [0.5], [0.9]]), np.array([1.0, 5.0, 9.0]))
    assert (model.process.offset, model.process.scale) == (5.0, pytest.approx(np.std([1, 5, 9])))
    model.observe(np.array([[0.3]]), 100.0)
    assert model.process.offset == 5.0
    fixed = Model(4.0 * RBF(0.3), 1, ModelOptions(), typical=4.0)
    fixed.condition(np.empty((0, 1)), np.empty(0))
    assert fixed.noise == pytest.approx(defaults.NOISE * 4.0) and fixed.process.scale == 1.0


def test_a_single_answer_that_counts_sets_the_scale_to_its_size():
    policy = LearningPolicy(counts_answers=True)
    model = Model(RBF(0.2), 1, ModelOptions(noise=0.01), learning_policy=policy)
    model.observe(np.array([[0.5]]), -8.0)
    assert model._units_by(model.samples) == (-8.0, 8.0)
    model.observe(np.array([[0.5]]), -6.0)
    assert model._units_by(model.samples) == (-7.0, 1.0)
    # Outliers do not count.
    model.observe(np.array([[0.7]]), 1e6)
    assert model._units_by(model.samples.with_factors({2: 1e12})) == (-7.0, 1.0)


@pytest.mark.parametrize("n_far", [2.5, 20.0])
def test_an_answer_that_may_be_an_outlier_is_learned_from_at_once(n_far):
    x, y = answers(40)
    model = played(ours(), x, y)
    at = np.array([[0.5]])
    mean, std = model.process.moments([at], std=True)
    far = n_far * np.sqrt(std[0] ** 2 + model.alpha)
    spread = float(np.std(model.process.posterior.targets())) * model.process.scale
    due = model.schedule.learning_due
    model.observe(at, float(mean[0] + far))
    is_far = n_far > defaults.OUTLIER_Z and far > defaults.OUTLIER_SPREAD * spread
    assert (model.schedule.learning_due < due) == is_far
    patient = played(
        Model(
            default_kernel(BOX), 1, ModelOptions(), prior=default_prior(BOX), seed=0,
            learning_policy=LearningPolicy(learns_at_once=False),
        ), x, y,
    )  # fmt: skip
    due = patient.schedule.learning_due
    patient.observe(at, float(mean[0] + 99.0 * far))
    assert patient.schedule.learning_due == due


@pytest.mark.parametrize("unit", [0.1, 10.0])
@pytest.mark.parametrize("n_far", [0.5, 20.0])
def test_of_answers_that_come_together_one_may_be_an_outlier_in_any_unit(n_far, unit):
    x, y = answers(40)
    model = played(ours(), x, 5.0 + unit * y)
    rows = np.array([[0.2], [0.5], [0.8]])
    mean, std = model.process.moments([*rows[:, None]], std=True)
    far = n_far * np.sqrt(std**2 + model.alpha) * [0.0, 1.0, 0.0]
    due = model.schedule.learning_due
    model.observe_together([*rows[:, None]], mean + far, np.full(3, np.nan))
    assert (model.schedule.learning_due < due) == (n_far > defaults.OUTLIER_Z)


def test_a_model_that_never_learns_is_not_made_to_by_an_outlier():
    x, y = answers(40)
    model = played(ours(relearn=None), x, y)
    assert model.schedule.learning_due == np.inf
    model.observe(np.array([[0.5]]), 1e6)
    model.observe_together([np.array([[0.7]])], np.array([-1e6]), np.array([np.nan]))
    assert model.schedule.learning_due == np.inf


def test_hyperparameters_are_learned_in_given_units_by_the_same_likelihood():
    model = Model(RBF(0.2), 1, ModelOptions(optimizer="fmin_l_bfgs_b", relearn=None))
    x, y = answers(20)
    model = played(model, x, y)
    center, scale = float(y.mean()), float(y.std())
    found = model.fit_in_units(center, scale)
    assert (found.center, found.scale) == (center, scale)

    def density(length, noise):
        K = RBF(length)(x[:, None]) + noise * np.eye(20)
        z = (y - center) / scale
        return -0.5 * (z @ np.linalg.solve(K, z) + np.linalg.slogdet(K)[1])

    length, noise = np.exp(found.theta[0]), found.noise
    prior, _ = model._noise_prior()
    bend = prior.center[0], prior.spread[0]

    def both(length, noise):
        return density(length, noise) - 0.5 * ((np.log(noise) - bend[0]) / bend[1]) ** 2

    best = both(length, noise)
    for factor in (0.8, 1.25):
        assert best > both(length * factor, noise) and best > both(length, noise * factor)
    given = Model(RBF(0.2), 1, ModelOptions(noise=0.1))
    given.observe(np.array([[0.5]]), 1.0)
    assert given.fit_in_units(0.0, 1.0).theta.tolist() == given.process.kernel.theta.tolist()


def test_models_are_averaged_only_after_learning_a_kernel_from_few_answers(monkeypatch):
    x, y = answers(20)
    model = ours()
    for i in range(3):
        model.observe(np.array([[x[i]]]), float(y[i]))
    assert model.mixture is None  # nothing is learned
    model = played(ours(), x, y)
    assert model.mixture is model.mixture is not None
    assert model.possible(model.process)(0.0) is model.mixture
    assert Model(RBF(0.3), 1, ModelOptions()).mixture is None
    monkeypatch.setattr(defaults, "MOST_AVERAGED", len(model.process.observed) - 1)
    model.observe(np.array([[0.123]]), float(y.mean()))
    assert model.mixture is None


def test_effects_of_blocks_begin_with_the_noise_that_is_expected():
    model = played(ours(), *answers(12))
    other = model.with_effects()
    assert other.with_effects() is other and model.process.effect == 0.0
    kernel = other.process.kernel
    assert kernel.variance == pytest.approx(defaults.NOISE)
    assert kernel.base == model.process.kernel
    assert_allclose(other.prior.center, [*model.prior.center, np.log(defaults.NOISE)])
    assert_allclose(other.prior.spread, [*model.prior.spread, defaults.NOISE_SPREAD])
    x = np.linspace(0.0, 1.0, 5)[:, None]
    assert_allclose(other.process.moments(x), model.process.moments(x))


@pytest.mark.parametrize("afresh", [False, True])
@pytest.mark.parametrize("prior", [None, default_prior(BOX)])
def test_searches_start_at_what_is_known_before_and_may_go_on_from_the_last(
    afresh, prior, monkeypatch
):
    starts = []

    def spied(self, *given):
        starts.append([theta.tolist() for theta, _ in given[4]])
        return fit(self, *given)

    fit = Model._fit_from_starts
    monkeypatch.setattr(Model, "_fit_from_starts", spied)
    policy = LearningPolicy(starts_afresh=afresh)
    options = ModelOptions(optimizer="fmin_l_bfgs_b", relearn=None, normalize_y=True)
    model = Model(default_kernel(BOX), 1, options, prior=prior, seed=0, learning_policy=policy)
    first = model.process.kernel.theta + 0.3
    model.process = model.process.without_answers(model.process.kernel.clone_with_theta(first))
    first = model.process.kernel.theta  # as the kernel gives it back, rounded
    begin = (model.first_theta if prior is None else prior.center).tolist()
    for x, y in zip(*answers(12), strict=True):
        model.observe(np.array([[x]]), float(y))
    model.refit().refit()
    assert starts[0] == ([begin] if afresh else [first.tolist(), begin])
    assert len(starts[1]) == (1 if afresh else 2) and starts[1][-1] == begin

"""Learning of hyperparameters: from which answers, when, and after failures."""

import warnings
from contextlib import nullcontext

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import skgpb.optimizers._gaussian
import skgpb.surrogate.likelihood
import skgpb.surrogate.model
from skgpb import (
    CMESOptimizer,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IndirectEIOptimizer,
)
from skgpb.exceptions import LearningWarning, NumericalWarning
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.surrogate.likelihood import (
    Likelihood,
    last_refit,
)

CASES = {
    "arms in a box": lambda **p: GPUCBOptimizer(beta=2.0, n_candidates=60, **p),
    "cells": lambda **p: GPOOOptimizer(n_representatives=3, **p),
    "centres": lambda **p: GPTreeOptimizer(n_children=3, **p),
    "balls": lambda **p: GPZoomingOptimizer(**p),
}


def smooth(query):
    points = np.asarray(query)
    return float(np.mean(np.sin(4.0 * points[:, 0]) * np.exp(-points[:, 1])))


def play(optimizer, n, scale=1.0, offset=0.0, noise=0.1):
    rng, queries = np.random.default_rng(3), []
    for _ in range(n):
        queries.append(optimizer.ask())
        optimizer.tell(queries[-1], offset + scale * (smooth(queries[-1]) + noise * rng.normal()))
    return queries


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", list(CASES))
def test_nothing_known_depends_on_no_unit(name):
    """Rewards in other units give the same queries; so do other units of the domain."""
    one = CASES[name](bounds=[(0, 1), (0, 1)], random_state=0)
    other = CASES[name](bounds=[(0, 1), (0, 1)], random_state=0)
    queries = play(one, 30)
    same = play(other, 30, scale=1024.0, offset=-4096.0)
    for a, b in zip(queries, same, strict=True):
        assert_allclose(np.asarray(b), np.asarray(a), rtol=0, atol=1e-7)
    assert other.alpha_ == pytest.approx(1024.0**2 * one.alpha_, rel=1e-3)
    points = np.random.default_rng(0).random((5, 2))
    for a, b, shift in zip(
        one.predict(points, return_std=True),
        other.predict(points, return_std=True),
        (-4096.0, 0.0),
        strict=True,
    ):
        assert_allclose(b, 1024.0 * a + shift, rtol=1e-4, atol=1.0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", list(CASES))
def test_noise_and_scales_are_learned(name):
    optimizer = CASES[name](bounds=[(0, 1), (0, 1)], random_state=0)
    rng = np.random.default_rng(0)
    points = rng.random((120, 2))
    values = np.array([smooth(x[None]) for x in points]) + 0.1 * rng.normal(size=120)
    optimizer.fit(points, 50.0 + 7.0 * values)
    assert 0.5 < optimizer.alpha_ / 0.7**2 < 2.0
    mean, std = optimizer.predict(points, return_std=True)
    z = (50.0 + 7.0 * np.array([smooth(x[None]) for x in points]) - mean) / std
    assert 0.5 < np.sqrt(np.mean(z**2)) < 2.0
    # The function changes faster along its first axis.
    scales = np.exp(optimizer.surrogate_.kernel_.theta[1:])
    assert scales[0] < scales[1]


def test_what_is_given_is_not_learned():
    kernel = ConstantKernel(0.5) * RBF(0.3)
    fixed = EIOptimizer(kernel, bounds=[(0, 1), (0, 1)], alpha=0.04, random_state=0)
    play(fixed, 20)
    assert fixed.surrogate_.kernel_ == kernel
    assert fixed.alpha_ == 0.04
    noise_only = EIOptimizer(kernel, bounds=[(0, 1), (0, 1)], random_state=0)
    play(noise_only, 40)
    assert noise_only.surrogate_.kernel_ == kernel
    assert (noise_only.surrogate_.process_.offset, noise_only.surrogate_.process_.scale) == (
        0.0,
        1.0,
    )
    assert 0.3 < noise_only.alpha_ / 0.01 < 3.0
    scales_only = EIOptimizer(bounds=[(0, 1), (0, 1)], alpha=0.01, random_state=0)
    play(scales_only, 20)
    assert scales_only.alpha_ == 0.01
    noises = (
        scales_only.surrogate_.process_.posterior.noises()
        * scales_only.surrogate_.process_.scale**2
    )
    assert_allclose(noises.max(), 0.01, rtol=1e-9)


def test_own_noise_of_an_answer_is_kept_beside_a_learned_one():
    optimizer = EIOptimizer(bounds=[(0, 1), (0, 1)], random_state=0)
    play(optimizer, 15)
    optimizer.tell([0.5, 0.5], 3.0, alpha=25.0)
    optimizer.tell([0.25, 0.5], 0.4, alpha=1e-6)
    optimizer._fit_model()
    noises = (
        optimizer.surrogate_.process_.posterior.noises() * optimizer.surrogate_.process_.scale**2
    )
    assert_allclose(noises[-2:], [25.0, 1e-6], rtol=1e-9)
    assert noises[:-2].max() == pytest.approx(optimizer.alpha_, rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"kernel": RBF(0.1), "alpha": 0.5}),
        ({"kernel": RBF(0.1), "alpha": 0.5}, {"kernel": None, "alpha": None}),
        ({"kernel": RBF(0.1)}, {"optimizer": "fmin_l_bfgs_b", "alpha": 0.1, "normalize_y": True}),
    ],
    ids=["to given", "to learned", "to both"],
)
def test_parameters_that_change_in_mid_run_do_not_corrupt_it(name, before, after):
    optimizer = CASES[name](bounds=[(0, 1), (0, 1)], random_state=0, **before)
    play(optimizer, 5)
    optimizer.set_params(**after)
    play(optimizer, 15)
    mean, std = optimizer.predict(np.random.default_rng(0).random((20, 2)), return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all()
    assert (np.diff(optimizer.history_["round"]) == 1).all()
    assert np.isfinite(optimizer.history_["std"]).all()


def test_of_many_answers_a_share_says_which_starts_are_searched_from(monkeypatch):
    """All starts give the same result, with fewer evaluations over all answers."""
    rng = np.random.default_rng(3)
    points = rng.random((210, 2))
    values = np.sin(5.0 * points).sum(axis=1) + 0.1 * rng.normal(size=210)
    sizes, evaluate = [], Likelihood.__call__

    def spy(self, x):
        sizes.append(len(self._samples.y))
        return evaluate(self, x)

    monkeypatch.setattr(Likelihood, "__call__", spy)
    searches = {}
    for share in (100, 210):
        monkeypatch.setattr(skgpb.defaults, "N_TRIED", share)
        optimizer = EIOptimizer(bounds=[(0, 1), (0, 1)], n_candidates=30, random_state=0)
        optimizer.fit(points[:105], values[:105])
        sizes.clear()
        optimizer.tell(points[105:], values[105:])
        searches[share] = sizes.count(210), sizes.count(100), optimizer.surrogate_.kernel_.theta
    (few, tried, theta), (many, _, expected) = searches[100], searches[210]
    assert few < 0.6 * many
    assert tried > 0
    # Searches stop where a step gains less than a millionth.
    assert_allclose(theta, expected, atol=0.05)


@pytest.mark.parametrize(
    ("relearn", "expected"),
    [
        ("doubling", [1, 2, 4, 8, 16]),
        ("growing", [1, 2, 3, 4, 5, 7, 9, 12, 15, 19]),
        (6, [6, 12, 18]),
        (None, []),
    ],
)
def test_learning_keeps_to_its_schedule(relearn, expected, monkeypatch):
    """Geometric, so that the cubic cost of learning is amortised over the rounds between."""
    seen, searches = [], []
    learn = skgpb.optimizers._gaussian.GaussianProcessOptimizer._fit_model
    search = skgpb.surrogate.likelihood.most_probable

    def spy(self):
        learn(self)
        seen.append(self._model.schedule.learned_at)

    def count(*arguments):
        searches.append(1)
        return search(*arguments)

    monkeypatch.setattr(skgpb.optimizers._gaussian.GaussianProcessOptimizer, "_fit_model", spy)
    monkeypatch.setattr(skgpb.surrogate.likelihood, "most_probable", count)
    optimizer = EIOptimizer(
        bounds=[(0, 1), (0, 1)], n_candidates=30, relearn=relearn, random_state=0
    )
    play(optimizer, 20)
    assert seen == expected
    assert len(searches) == sum(n >= 4 for n in expected)


@pytest.mark.parametrize("again", [False, True])
def test_a_loaded_run_does_not_learn_again(again, tmp_path, monkeypatch):
    optimizer = EIOptimizer(bounds=[(0, 1), (0, 1)], n_candidates=30, random_state=0)
    play(optimizer, 18)
    optimizer.save(tmp_path / "run")

    def never(*arguments):
        raise AssertionError("learned again")

    with monkeypatch.context() as patch:
        patch.setattr(skgpb.surrogate.likelihood, "most_probable", never)
        resumed = cases.loaded(EIOptimizer, tmp_path / "run", again)
        assert resumed.alpha_ == optimizer.alpha_
        assert resumed.surrogate_.kernel_ == optimizer.surrogate_.kernel_
    # From here on it does.
    assert play(resumed, 20) == play(optimizer, 20)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("rewards", [[0.0], [5.0], [1e-300, 0.0], [1.0, 1.0, 1.0 + 1e-15]])
def test_degenerate_rewards_are_survived(name, rewards):
    """Without complaints of the learner; that they differ by rounding alone is said."""
    optimizer = CASES[name](bounds=[(0, 1), (0, 1)], random_state=0)
    said = pytest.warns(NumericalWarning) if len(rewards) > 1 else nullcontext()
    with said, warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("default", NumericalWarning)
        for i in range(12):
            optimizer.tell(optimizer.ask(), rewards[i % len(rewards)])
    mean, std = optimizer.predict(np.random.default_rng(0).random((4, 2)), return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all()
    assert abs(mean - np.mean(rewards)).max() <= 1e-6 * max(1.0, np.ptp(rewards))


def test_averages_over_pools_are_thinned_for_learning_only():
    pool = np.random.default_rng(0).random((4000, 2))
    optimizer = GPOOOptimizer(pool=pool, min_members=60, random_state=0)
    play(optimizer, 60, noise=0.02)
    surrogate = optimizer.surrogate_
    assert len(surrogate.process_.observed.rows) > 500
    thin = surrogate.process_.observed.thin(500)
    assert len(thin) == len(surrogate.process_.observed)
    assert len(thin) <= len(thin.rows) <= 500
    best = optimizer.recommend("posterior")
    average = np.array([smooth(pool[[i]]) for i in best.members]).mean()
    assert average > 0.85 * max(smooth(pool[[i]]) for i in range(0, 4000, 7)) - 0.1


@pytest.mark.slow
def test_contexts_and_actions_have_scales_of_their_own():
    optimizer = ContextualGPTreeOptimizer(
        context_bounds=[(0, 10)], bounds=[(0, 1)], n_children=2, random_state=0
    )
    rng = np.random.default_rng(0)
    for context in rng.uniform(0, 10, 40):
        query = optimizer.ask(context=[context])
        x = np.asarray(query)[0]
        optimizer.tell(query, float(np.cos(6 * (x[1] - 0.5)) + 0.1 * rng.normal()))
    scales = np.exp(optimizer.surrogate_.kernel_.theta[1:])
    assert scales[0] / 10.0 > scales[1]


class Learner:
    """Moves the hyperparameters a little; fails in the middle of its work at the calls given."""

    def __init__(self, error=None, calls=()):
        self.error, self.calls, self.n = error, calls, 0

    def __call__(self, objective, start, bounds):
        self.n += 1
        objective(start + 1.0)
        if self.n in self.calls:
            raise self.error
        return start - 0.1, objective(start)[0]


LEARNING = {
    "arms": EIOptimizer(RBF(0.5), bounds=[(0, 1), (0, 1)], n_candidates=40, normalize_y=True),
    "cells": GPOOOptimizer(RBF(0.5), bounds=[(0, 1), (0, 1)], alpha=0.1),
    "balls": GPZoomingOptimizer(RBF(0.5), bounds=[(0, 1), (0, 1)], anytime=True, horizon=8),
    "queries": CMESOptimizer(bounds=[(0, 1), (0, 1)], n_points=49, n_candidates=25),
    "answers": IndirectEIOptimizer(bounds=[(0, 1), (0, 1)], n_points=49, n_candidates=25),
    "campaigns": CombinatorialBandit(
        [GPUCBOptimizer(RBF(3.0), arms=np.arange(7.0)[:, None], alpha=0.1)] * 2, 8, random_state=0
    ),
}


def with_learner(optimizer, learner):
    """A fresh optimizer that learns so; of campaigns the second."""
    if isinstance(optimizer, CombinatorialBandit):
        return clone(optimizer).set_params(campaign_1__optimizer=learner)
    return clone(optimizer).set_params(optimizer=learner, random_state=0)


def hyperparameters(optimizer):
    """Return the present hyperparameters, noise and units included, as plain numbers."""
    found = []
    for part in getattr(optimizer, "optimizers_", [optimizer]):
        models = [getattr(part, name) for name in ("process_", "surrogate_") if hasattr(part, name)]
        found += [*(model.kernel_.theta.tolist() for model in models), part.alpha_]
    return found


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", list(LEARNING))
def test_an_answer_is_taken_whole_although_learning_fails(name, tmp_path):
    error = np.linalg.LinAlgError("singular")
    optimizer, failures = with_learner(LEARNING[name], Learner(error, (2, 3))), 0
    rng = np.random.default_rng(0)
    for i in range(20):
        query = optimizer.ask()
        before = hyperparameters(optimizer)
        reward = float(rng.normal())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", LearningWarning)
                optimizer.tell(query, [reward, -reward] if name == "campaigns" else reward)
        except LearningWarning:
            assert hyperparameters(optimizer) == before
            failures += 1
        assert len(optimizer.history_) == i + 1
        assert query not in optimizer.run_.pending
    assert failures == 2
    # The file holds the answers, and knows of the failures.
    if name == "campaigns":
        again = {"optimizers": with_learner(LEARNING[name], Learner()).optimizers}
    else:
        again = {"optimizer": Learner()}
    optimizer.save(tmp_path / "run", omit=list(again))
    resumed = type(optimizer).load(tmp_path / "run", **again)
    assert hyperparameters(resumed) == hyperparameters(optimizer)
    corners = optimizer.bounds_.T
    assert_allclose(resumed.predict(corners), optimizer.predict(corners), rtol=1e-10)
    repeated = cases.loaded(type(optimizer), tmp_path / "run", True, **again)
    assert hyperparameters(repeated) == hyperparameters(optimizer)
    assert_array_equal(repeated.predict(corners), optimizer.predict(corners))
    assert resumed.ask() == repeated.ask() == optimizer.ask()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", [name for name in LEARNING if name != "campaigns"])
def test_an_answer_is_not_taken_where_learning_is_interrupted(name):
    """Ctrl-C while hyperparameters are learned leaves the run as it was before the answer."""
    learner = Learner(KeyboardInterrupt(), (2, 3))
    optimizer, whole = (
        with_learner(LEARNING[name], learner),
        with_learner(LEARNING[name], Learner()),
    )

    def insisted(function):
        """Return the result of the first uninterrupted call; interrupted learning is repeated."""
        while True:
            n = learner.n
            try:
                return function()
            except KeyboardInterrupt:
                assert learner.n > n

    for i in range(14):
        query = insisted(optimizer.ask)
        assert query == whole.ask()
        reward = float(np.sin(i))
        whole.tell(query, reward)
        before = hyperparameters(optimizer), repr(optimizer.history_)
        while len(optimizer.history_) == i:
            try:
                optimizer.tell(query, reward)
            except KeyboardInterrupt:
                assert insisted(optimizer.ask) == query
                assert (hyperparameters(optimizer), repr(optimizer.history_)) == before
    assert learner.n > 3
    assert hyperparameters(optimizer) == hyperparameters(whole)
    assert optimizer.ask() == whole.ask()


@pytest.mark.parametrize(
    "optimizer",
    [
        EIOptimizer(RBF(0.5, (1e-3, np.inf)), bounds=[(0, 1)], optimizer="fmin_l_bfgs_b"),
        GPOOOptimizer(RBF(0.5, (0.0, 2.0)), bounds=[(0, 1)], optimizer="fmin_l_bfgs_b"),
        CMESOptimizer(RBF(0.5, (1e-3, np.inf)), bounds=[(0, 1)], optimizer="fmin_l_bfgs_b"),
        IndirectEIOptimizer(
            bounds=[(0, 1)],
            answer_kernel=RBF(0.5, (1e-3, np.inf)),
            optimizer="fmin_l_bfgs_b",
        ),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_restarts_between_infinite_bounds_are_refused_before_a_run(optimizer):
    with np.errstate(divide="ignore"):
        clone(optimizer).ask()
        optimizer = clone(optimizer).set_params(n_restarts_optimizer=2)
        with pytest.raises(ValueError, match="n_restarts_optimizer=2 draws starts between"):
            optimizer.ask()
    assert not hasattr(optimizer, "bounds_")


@pytest.mark.parametrize("relearn", ["growing", "doubling", 3])
@pytest.mark.parametrize(
    "cls", [GPOOOptimizer, GPZoomingOptimizer, GPUCBOptimizer, CMESOptimizer, IndirectEIOptimizer]
)
def test_every_optimizer_learns_by_the_one_schedule(cls, relearn, monkeypatch):
    learned = []
    monkeypatch.setattr(cls, "_fit_model", lambda self: learned.append(len(self.history_)))
    kernel = 0.5 * RBF(0.3)
    optimizer = cls(kernel, bounds=[(0, 1)], optimizer="fmin_l_bfgs_b", alpha=0.1, relearn=relearn)
    told = [0]
    for n in range(1, 13):
        optimizer.tell(optimizer.ask(), np.sin(n))
        if learned and learned[-1] == n:
            # An optimizer that was replaced by a mere note would have remembered when it learned.
            optimizer._model.schedule.record_refit(n)
            told.append(n)
    assert told[-1] == last_refit(relearn, 12) and told[1:] == learned


@pytest.mark.parametrize("cls", [GPUCBOptimizer, CMESOptimizer])
def test_a_schedule_that_is_set_in_a_run_holds_at_once(cls):
    """When learning is due is known beforehand; what it follows from may change."""
    optimizer = cls(bounds=[(0, 1)], relearn=None, random_state=0)

    def n_learned_of(relearn):
        optimizer.set_params(relearn=relearn)
        optimizer.tell(optimizer.ask(), 0.1 * len(optimizer.history_))
        return optimizer._model.schedule.learned_at

    schedules = [None, 1, 1, None, "growing", 5]
    assert [n_learned_of(each) for each in schedules] == [0, 2, 3, 3, 5, 5]
    optimizer.fit([[0.0], [1.0]], [0.1, 0.2])
    assert n_learned_of(1) == 3

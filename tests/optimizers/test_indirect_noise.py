"""Noise that is not known is learned, by indirect queries as by all others."""

import copy

import cases
import numpy as np
import pytest
from cases import POINTS, answer_indirect, make_indirect, play
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import defaults
from skgpb.kernels import WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
from skgpb.surrogate import model
from skgpb.surrogate.model import Model

BASELINES = (IndirectEIOptimizer, IndirectMESOptimizer, IndirectPIOptimizer, IndirectUCBOptimizer)
WINDOW = WindowMean(scale=0.07)
NODES = np.linspace(-3, 3, 61)
WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()
PRIOR = ConstantKernel(100.0**2) * RBF(0.15)


def f(x):
    return 100.0 * (0.7 * np.exp(-30 * (x - 0.3) ** 2) + np.exp(-100 * (x - 0.8) ** 2))


def blurred(a):
    return float(WEIGHTS @ f(a + 0.07 * NODES))


def make(cls=CMESOptimizer, **settings):
    """An optimizer whose noise is not known, unless settings say otherwise."""
    common = {"bounds": [(0, 1)], "n_points": 60, "alpha": None, "random_state": 0}
    if cls is not CMETSOptimizer:
        common |= {"conditional": WINDOW, "n_candidates": 30}
    return cls(**common | settings)


def told(optimizer, n, noise, alpha=None):
    """Tell n noisy answers about queries all over the place."""
    rng = np.random.default_rng(1)
    for _ in range(n):
        a = rng.uniform(size=1)
        optimizer.tell(a, blurred(a[0]) + noise * rng.normal(), alpha=alpha)
    return optimizer


@pytest.mark.slow
@pytest.mark.parametrize("noise", [3.0, 20.0])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": PRIOR, "optimizer": "fmin_l_bfgs_b"},
        {"kernel": PRIOR},
        {"kernel": ConstantKernel(1.0) * RBF(0.15), "normalize_y": True},
    ],
)
def test_learned_noise_is_close_to_the_truth(settings, noise):
    optimizer = told(make(**settings), 60, noise)
    assert 0.5 < optimizer.alpha_ / noise**2 < 2.0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", BASELINES)
def test_baselines_take_the_noise_of_the_model_that_recommends(cls):
    optimizer = told(make(cls), 48, 20.0)
    assert 0.5 < optimizer.alpha_ / 20.0**2 < 2.0
    # The last time that it was learned is the 48th answer.
    surrogate = optimizer.answers_
    noise = surrogate.process_.posterior.noises() * surrogate.process_.scale**2
    assert_allclose(noise, optimizer.alpha_, rtol=1e-8)


def test_levels_of_a_tree_share_one_noise():
    optimizer, rng = make(CMETSOptimizer, max_depth=4), np.random.default_rng(0)
    for _ in range(60):
        cell = optimizer.ask()
        mean = f(np.linspace(cell.lower[0], cell.upper[0], 50)).mean()
        optimizer.tell(cell, mean + 15.0 * rng.normal())
    assert 0.5 < optimizer.alpha_ / 15.0**2 < 2.0


def test_noise_is_a_share_of_the_spread_until_it_is_learned():
    optimizer = make()
    for a, z in ((0.1, 3.0), (0.5, 9.0), (0.8, 6.0)):
        optimizer.tell([a], z)
    assert_allclose(optimizer.alpha_, defaults.NOISE * np.var([3.0, 9.0, 6.0]))
    fixed = make(kernel=PRIOR, normalize_y=False)
    fixed.ask()
    typical = fixed.surrogate_.kernel_.diag(
        fixed.surrogate_.kernel_.queries(fixed.domain_.A)
    ).mean()
    assert_allclose(fixed.alpha_, defaults.NOISE * typical)
    assert fixed.surrogate_.noise_of() == fixed.alpha_


@pytest.mark.parametrize(("cls", "alpha"), [(CMESOptimizer, 0.25), (IndirectEIOptimizer, 4.0)])
def test_a_noise_that_is_given_is_the_one_in_use(cls, alpha):
    assert told(make(cls, alpha=alpha), 6, 1.0).alpha_ == alpha


def test_a_function_is_not_one_noise():
    with pytest.raises(AttributeError, match="function"):
        _ = told(make(alpha=lambda a: 0.1), 2, 1.0).alpha_


@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectEIOptimizer])
def test_answers_with_their_own_noise_keep_it(cls):
    optimizer = told(make(cls, kernel=PRIOR, optimizer=None), 20, 20.0)
    optimizer.tell([0.5], 40.0, alpha=7.0)
    told(optimizer, 3, 20.0)
    own = optimizer._model.samples.alpha
    assert own[20] == 7.0
    assert np.isnan(own[:20] + own[21:]).all()
    gpr, process = optimizer.surrogate_.process_, optimizer.surrogate_
    noises = gpr.posterior.noises() * optimizer.surrogate_.scale_**2
    # Three queries were asked twice: their noise is halved.
    assert_allclose(noises[:3], optimizer.alpha_ / 2)
    assert_allclose(noises[3:20], optimizer.alpha_)
    assert_allclose(noises[20], 7.0)
    assert process.n_observations_ == 24


def test_where_every_answer_has_its_own_noise_none_is_learned():
    unknown, known = (told(make(alpha=alpha), 12, 3.0, alpha=9.0) for alpha in (None, 9.0))
    assert_allclose(unknown.alpha_, defaults.NOISE * unknown.surrogate_.scale_**2)
    assert_allclose(unknown.surrogate_.kernel_.theta, known.surrogate_.kernel_.theta, rtol=1e-10)
    points = np.linspace(0, 1, 9)[:, None]
    assert_allclose(unknown.predict(points), known.predict(points), rtol=1e-8)


def test_without_an_optimizer_the_noise_alone_is_learned():
    optimizer = make(kernel=PRIOR, optimizer=None, normalize_y=False)
    optimizer.ask()
    theta, before = optimizer.surrogate_.kernel_.theta, optimizer.alpha_
    told(optimizer, 3, 3.0)
    assert optimizer.alpha_ == before
    told(optimizer, 9, 3.0)
    assert optimizer.alpha_ < 0.2 * before
    assert_array_equal(optimizer.surrogate_.kernel_.theta, theta)


def test_evaluations_given_to_fit_have_the_unknown_noise_too():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    optimizer = make(CMESOptimizer).fit(X, f(X[:, 0]) + 10.0 * rng.normal(size=60))
    assert 0.5 < optimizer.alpha_ / 10.0**2 < 2.0


@pytest.mark.parametrize("cls", [CMESOptimizer, CMETSOptimizer, IndirectUCBOptimizer])
def test_a_rejected_answer_changes_nothing(cls):
    optimizer = make(cls)
    for z in (1.0, 3.0, 2.0, 5.0, 4.0):
        optimizer.tell(optimizer.ask(), z)
    twin, query = copy.deepcopy(optimizer), optimizer.ask()
    twin.ask()
    for reward, alpha in ((np.nan, None), (1.0, -1.0), (1.0, np.nan), (1.0, "known")):
        with pytest.raises((TypeError, ValueError)):
            optimizer.tell(query, reward, alpha=alpha)
    assert optimizer.alpha_ == twin.alpha_
    for each in (optimizer, twin):
        each.tell(query, 2.5)
    assert optimizer.alpha_ == twin.alpha_
    assert_array_equal(optimizer.history_, twin.history_)
    assert optimizer.ask(2) == twin.ask(2)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectMESOptimizer])
def test_the_unit_of_the_answers_does_not_matter(cls):
    one, thousand = make(cls), make(cls)
    for optimizer, unit in ((one, 1.0), (thousand, 1024.0)):
        rng = np.random.default_rng(2)
        for _ in range(9):
            query = optimizer.ask()
            optimizer.tell(query, unit * (blurred(query.a[0]) + rng.normal()))
    assert_allclose(thousand.alpha_, 1024.0**2 * one.alpha_, rtol=1e-6)
    assert_allclose(thousand.history_["a"], one.history_["a"], atol=1e-6)


@pytest.mark.parametrize("z", [0.0, 5.0, -1e-200])
def test_equal_answers_do_no_harm(z):
    optimizer = make()
    for _ in range(6):
        optimizer.tell(optimizer.ask(), z)
    assert np.isfinite(optimizer.alpha_)
    assert_allclose(optimizer.predict([[0.3], [0.9]]), z, atol=1e-6 + 0.05 * abs(z))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectEIOptimizer])
def test_the_noise_may_become_known_or_unknown_on_the_way(cls):
    optimizer = told(make(cls), 10, 3.0)
    optimizer.set_params(alpha=4.0)
    told(optimizer, 4, 3.0)
    assert optimizer.alpha_ == 4.0
    assert np.isnan(optimizer._model.samples.alpha).tolist() == [True] * 10 + [False] * 4
    optimizer = told(make(cls, alpha=4.0), 10, 3.0).set_params(alpha=None)
    optimizer.ask()
    told(optimizer, 4, 3.0)
    assert np.isfinite(optimizer.alpha_)
    assert np.isnan(optimizer._model.samples.alpha).tolist() == [False] * 10 + [True] * 4


@pytest.mark.parametrize("cls", [CMESOptimizer, CMETSOptimizer, *BASELINES])
def test_the_noise_may_become_a_function_or_a_number_on_the_way(cls):
    optimizer = make(cls, alpha=4.0, kernel=PRIOR)
    for alpha in (4.0, lambda query: 9.0, 1.0):
        optimizer.set_params(alpha=alpha)
        for query in optimizer.ask(2):
            optimizer.tell(query, 50.0)
    assert optimizer._model.samples.alpha == [4.0, 4.0, 9.0, 9.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="alpha"):
        optimizer.set_params(alpha=lambda query: float("nan"))
    assert optimizer.alpha == 1.0


def test_information_is_computed_in_units_of_the_prior_in_use():
    optimizer = make_indirect("CMES")
    before = optimizer.start()._unit
    play(optimizer, 8, answer_indirect)
    largest = optimizer.surrogate_.kernel_.base.diag(optimizer.targets_.points).max()
    assert optimizer._unit == pytest.approx(np.sqrt(largest), rel=1e-12)
    assert optimizer._unit != pytest.approx(before, rel=1e-3)


@pytest.mark.parametrize("settings", [{}, {"kernel": PRIOR, "optimizer": "fmin_l_bfgs_b"}])
def test_every_search_begins_at_the_prior(settings, monkeypatch):
    seen, learn = [], model.fit_hyperparameters

    def spy(kernel, functionals, samples, starts, **more):
        seen.append(starts)
        return learn(kernel, functionals, samples, starts, **more)

    monkeypatch.setattr(model, "fit_hyperparameters", spy)
    optimizer = make(**settings).start()
    first = optimizer._model.first_theta
    told(optimizer, 12, 3.0)
    assert len(seen) > 1 and not np.array_equal(optimizer.surrogate_.kernel_.theta, first)
    for ((theta, noise),) in seen:
        assert_array_equal(theta, first)
        assert_allclose(np.exp(noise), defaults.NOISE * optimizer._model._unit())


@pytest.mark.parametrize("alpha", [None, 1e-3])
def test_one_answer_gives_the_size_of_the_scale(alpha):
    optimizer = make(alpha=alpha)
    optimizer.tell(optimizer.ask(), -5.0)
    assert (optimizer.surrogate_.center_, optimizer.surrogate_.scale_) == (-5.0, 5.0)


def test_the_first_answer_sets_the_units_where_nothing_is_learned():
    optimizer = told(make(relearn=None), 5, 3.0)
    first = optimizer.history_["reward"][0]
    assert (optimizer.surrogate_.center_, optimizer.surrogate_.scale_) == (first, abs(first))


@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectEIOptimizer])
def test_noise_that_is_no_longer_known_is_what_it_was(cls):
    optimizer = told(make(cls, alpha=4.0), 10, 3.0).set_params(alpha=None)
    assert_allclose(optimizer.alpha_, 4.0)


def test_an_error_of_the_kernel_may_be_set_in_the_run():
    optimizer = told(make(alpha=0.25), 8, 0.5)
    before = optimizer.surrogate_.noise_of()
    optimizer.set_params(model_noise=3.0)
    assert (before, optimizer.surrogate_.noise_of()) == (0.25, 3.25)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [CMESOptimizer, CMETSOptimizer, IndirectEIOptimizer])
def test_a_run_is_repeated_with_what_it_has_learned(cls, tmp_path, monkeypatch):
    optimizer = make(cls)
    for _ in range(12):
        query = optimizer.ask()
        optimizer.tell(query, blurred(query.a[0]))
    learned = [event for event in optimizer._events if event[0] == "learned"]
    assert len(learned) == optimizer._model.n_learned > 3
    optimizer.save(tmp_path / "run.skgpb")

    def fail(*arguments):
        raise AssertionError("it is known")

    monkeypatch.setattr(Model, "_fit_robust", fail)
    for again in (False, True):
        loaded = cases.loaded(cls, tmp_path / "run.skgpb", again)
        assert_array_equal(loaded.surrogate_.kernel_.theta, optimizer.surrogate_.kernel_.theta)
        assert_allclose(loaded.alpha_, optimizer.alpha_)
        assert_allclose(loaded.ask().a, optimizer.ask().a, atol=1e-6)


def test_the_error_of_the_kernel_is_in_units_of_the_answers():
    found = []
    for unit in (1.0, 1e3):
        optimizer = make_indirect(
            "CMES", alpha=1e-3 * unit**2, model_noise=0.05 * unit**2, normalize_y=True
        )
        for a in np.linspace(0.0, 1.0, 12):
            optimizer.tell([a], unit * (np.sin(9.0 * a) + 3.0))
        mean, std = optimizer.predict(POINTS[:5], return_std=True)
        found.append(np.r_[mean / unit, std / unit, optimizer.surrogate_.kernel_.theta])
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_a_baseline_expects_answers_with_their_noise_and_no_error_of_the_kernel():
    """By plain algebra on the answers alone, of whose kernel the learned p(x | a) is no part."""
    rows, kernel = np.linspace(0.0, 1.0, 15)[:, None], RBF(0.2)
    opt = IndirectEIOptimizer(
        kernel, conditional=WindowMean(kernel, 0.1), answer_kernel=kernel, queries=rows,
        bounds=[(0, 1)], alpha=0.09, model_noise=0.5, n_points=20, normalize_y=True,
    )  # fmt: skip
    for i in range(5):
        opt.tell(opt.ask(), 7.0 + 3.0 * i)
    places = [query.index for query in opt.ask(2)]
    round, gp = opt.posterior(), opt.answers_.process_
    mean, C = gp.moments(rows, cov=True)
    C, noise = C / gp.scale**2, 0.09 / gp.scale**2
    told = C[np.ix_(places, places)] + noise * np.eye(2)
    left = C - C[:, places] @ np.linalg.solve(told, C[places])
    assert gp.scale > 1.5
    assert_allclose(round.query_mean, (mean - gp.offset) / gp.scale, atol=1e-8)
    assert_allclose(round.query_var, np.diag(left), atol=1e-8)
    assert_allclose(round.query_noise, noise)
    assert_allclose(round.covariance, left, atol=1e-8)
    incumbent = (gp.moments(gp.observed.rows).max() - gp.offset) / gp.scale
    assert opt._answers.incumbent() == pytest.approx(incumbent)

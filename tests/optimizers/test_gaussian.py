"""Optimizers with a Gaussian process: units, noise, learning and its starts."""

from __future__ import annotations

from functools import partial
from math import log, sqrt

import cases
import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from runs import of_another_version
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

import skgpb.surrogate.likelihood
import skgpb.surrogate.model
from skgpb import defaults
from skgpb.domains import Cells
from skgpb.exceptions import EvaluationWarning, LearningWarning, ReplayWarning
from skgpb.guarantee import Guarantee
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    KGOptimizer,
    MESOptimizer,
)
from skgpb.surrogate.likelihood import default_prior, most_probable
from skgpb.surrogate.pairs import PairCovariances

ARMS = np.linspace(0.0, 1.0, 21)[:, None]
KERNEL = ConstantKernel(2.0) * RBF(0.2)


#: Optimizers of a box whose queries are points.
POINTWISE = {
    "arms": lambda **settings: GPUCBOptimizer(bounds=[(0, 1)], random_state=0, **settings),
    "cells": lambda **settings: GPOOOptimizer(
        bounds=[(0, 1)], feedback="center", random_state=0, **settings
    ),
}


def f(query):
    return float(5.0 + 3.0 * np.sin(6.0 * query.points).mean())


def play(optimizer, n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        query = optimizer.ask()
        optimizer.tell(query, f(query) + 0.3 * rng.standard_normal())
    return optimizer


# Units -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", POINTWISE)
@pytest.mark.parametrize("reward", [-3.0, 0.0, 1e-200])
def test_the_first_units(kind, reward):
    """(settings, scale of the process, noise in its units) at the first answer."""
    far = abs(reward) if abs(reward) > 1e-150 else 1.0  # a number that squares to zero is no unit
    for settings, scale, noise in [
        ({}, far, defaults.NOISE),
        ({"alpha": 0.2}, sqrt(0.2 / defaults.NOISE), 0.2),
        ({"kernel": KERNEL, "normalize_y": True}, far, defaults.NOISE),
        ({"kernel": KERNEL, "normalize_y": True, "alpha": 0.2}, sqrt(0.2), 0.2),
        ({"kernel": KERNEL}, 1.0, 2.0 * defaults.NOISE),
        ({"kernel": KERNEL, "alpha": 0.2}, 1.0, 0.2),
    ]:
        optimizer = POINTWISE[kind](relearn=None, **settings)
        optimizer.tell(optimizer.ask(), reward)
        process, scales = optimizer.surrogate_.process_, "kernel" not in settings
        scales |= "normalize_y" in settings
        assert process.offset == (reward if scales else 0.0)
        assert process.scale == pytest.approx(scale, rel=1e-12)
        assert optimizer._model.noise == pytest.approx(noise, rel=1e-6)
        row = optimizer.history_[0]
        assert row["mean"] == (reward if scales else 0.0)
        variance = 2.0 if "kernel" in settings else 1.0
        assert row["std"] == pytest.approx(scale * sqrt(variance), rel=1e-6)
        expected = 0.2 if "alpha" in settings else noise * scale**2
        assert optimizer.alpha_ == pytest.approx(expected, rel=1e-6)
        assert process.noises()[0] * scale**2 == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("alpha", [None, 0.09])
def test_units_are_those_of_distinct_answers(alpha):
    optimizer = GPUCBOptimizer(arms=ARMS, alpha=alpha, relearn=1, random_state=0)
    told = [(0, 1.0), (0, 2.0), (0, 6.0), (10, 7.0), (20, -2.0)]
    for arm, reward in told:
        optimizer.tell(ARMS[arm], reward)
    process = optimizer.surrogate_.process_
    distinct = np.array([3.0, 7.0, -2.0])  # each once, however often it was asked
    assert process.offset == pytest.approx(distinct.mean(), rel=1e-12)
    assert process.scale == pytest.approx(distinct.std(), rel=1e-12)
    # One distinct query gives no standard deviation; at least that of the noise is used.
    single = GPUCBOptimizer(arms=ARMS, alpha=alpha, relearn=1).tell(ARMS[0], -4.0)
    process = single.surrogate_.process_
    assert (process.offset, process.scale) == (-4.0, 4.0 if alpha is None else 0.3)


@pytest.mark.parametrize("kind", POINTWISE)
@pytest.mark.parametrize("alpha", [None, 0.09])
def test_pending_answers_have_the_noise_of_real_ones_in_scaled_units(kind, alpha):
    optimizer = play(POINTWISE[kind](alpha=alpha), 12)
    process = optimizer.surrogate_.process_
    assert process.scale != pytest.approx(1.0, rel=0.1)
    points = np.array([query.center for query in optimizer.ask(2)])
    X = np.vstack([points, ARMS])
    rows = optimizer._rows_of(X)
    C = optimizer.surrogate_.predict(rows, return_cov=True)[1]
    for i in range(2):
        C = C - np.outer(C[i], C[i]) / (C[i, i] + optimizer.alpha_)
    expected = optimizer._model.fantasize(map(optimizer.domain_.rows_of_query, optimizer.pending_))
    # C loses the digits of what it is computed from: atol is the root of its rounding.
    assert_allclose(expected.moments(rows, std=True)[1], np.sqrt(np.diag(C)), rtol=1e-6, atol=1e-6)
    assert_allclose(expected.moments(rows), optimizer.surrogate_.predict(rows), rtol=1e-9)


def test_a_rule_over_arms_sees_what_is_pending_in_units_of_the_process():
    optimizer = play(GPUCBOptimizer(arms=ARMS, alpha=0.09, random_state=0), 12)
    pending, scale = optimizer.ask(2), optimizer.surrogate_.process_.scale
    seen = optimizer.posterior()
    assert seen.t == 12 + 1 + 2
    assert_allclose(seen.noise * scale**2, 0.09, rtol=1e-12)
    C = optimizer.surrogate_.predict(ARMS, return_cov=True)[1]
    for query in pending:
        C = C - np.outer(C[query.index], C[query.index]) / (C[query.index, query.index] + 0.09)
    assert_allclose(seen.std * scale, np.sqrt(np.diag(C)), rtol=1e-6, atol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "make",
    [
        lambda **settings: GPUCBOptimizer(arms=ARMS[::5], **settings),
        lambda **settings: POINTWISE["cells"](max_depth=1, **settings),
        lambda **settings: GPTreeOptimizer(bounds=[(0, 1)], **settings),
    ],
    ids=["arms", "cells", "tree"],
)
@pytest.mark.parametrize("settings", [{}, {"alpha": 0.09}, {"kernel": KERNEL, "normalize_y": True}])
def test_a_posterior_learned_anew_has_the_likelihood_of_the_raw_answers(make, settings):
    """With repeats, in the units that were learned, each answer with the noise in use."""
    optimizer = make(relearn=1, **settings)
    first = optimizer.ask()
    play(optimizer, 13).tell(first, 5.5)
    process, history = optimizer.surrogate_.process_, optimizer.history_
    assert len(process.observed) < 14
    x = history["descriptor"].mean(axis=1, keepdims=True)  # the centres of boxes
    kernel = getattr(process.kernel, "base", process.kernel)
    G = kernel(x) + optimizer.alpha_ / process.scale**2 * np.eye(14)
    z = (history["reward"] - process.offset) / process.scale
    expected = multivariate_normal.logpdf(z, cov=G, allow_singular=True)
    value = optimizer.surrogate_.log_marginal_likelihood_value_
    assert value == pytest.approx(expected, abs=1e-6)


# Learning ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarts", [0, 2])
def test_searches_start_from_what_is_in_use_and_from_the_prior(restarts, monkeypatch):
    seen = []

    def spy(objective, starts, bounds, optimizer, warn):
        seen.append((objective, starts, bounds, warn))
        return most_probable(objective, starts, bounds, optimizer, warn)

    monkeypatch.setattr(skgpb.surrogate.likelihood, "most_probable", spy)
    optimizer = GPUCBOptimizer(bounds=[(0, 2)], n_restarts_optimizer=restarts, random_state=0)
    play(optimizer, 7)
    in_use = [*optimizer.surrogate_.kernel_.theta, log(optimizer._model.noise)]
    play(optimizer, 1)
    (objective, starts, bounds, warn) = seen[-1]
    prior = default_prior(np.array([[0.0, 2.0]]))
    assert len(starts) == 2 + restarts and not warn
    assert_allclose(starts[0], in_use, rtol=1e-12)
    assert_allclose(starts[1], [*prior.center, log(defaults.NOISE)], rtol=1e-12)
    assert_allclose(bounds[-1], np.log(defaults.NOISE_LIMITS))
    for start in starts[2:]:
        assert (start[:2] >= bounds[:2, 0]).all() and (start[:2] <= bounds[:2, 1]).all()
        assert start[2] == starts[0][2]
    # The result is the best that any of them leads to.
    found = [*optimizer.surrogate_.kernel_.theta, log(optimizer._model.noise)]
    alone = [most_probable(objective, [start], bounds, warn=warn) for start in starts]
    assert objective(np.array(found))[0] == pytest.approx(max(objective(x)[0] for x in alone))


@pytest.mark.parametrize(
    "settings", [{}, {"kernel": KERNEL, "optimizer": "fmin_l_bfgs_b", "normalize_y": True}]
)
def test_the_second_start_finds_what_the_first_cannot(settings):
    """A search from where the noise explains everything would stay there."""
    optimizer = GPUCBOptimizer(arms=ARMS, relearn=None, random_state=0, **settings)
    values = 5.0 + 3.0 * np.sin(6.0 * ARMS[:, 0])
    for arm in range(0, 21, 2):
        optimizer.tell(ARMS[arm], values[arm])
    optimizer._model.noise = defaults.NOISE_LIMITS[1]
    kernel = optimizer.surrogate_.process_.kernel
    kernel.theta = kernel.bounds[:, 0]
    optimizer.surrogate_.process_.reset_evaluator()
    optimizer._fit_model()
    assert optimizer.alpha_ < 0.05 * optimizer.surrogate_.process_.scale**2
    assert_allclose(optimizer.predict(ARMS[1::2]), values[1::2], atol=0.1)


def test_learning_that_failed_waits_until_it_is_due_again():
    def fail(objective, theta, bounds):
        raise np.linalg.LinAlgError

    optimizer = GPUCBOptimizer(KERNEL, arms=ARMS, alpha=0.09, optimizer=fail, random_state=0)
    with pytest.warns(LearningWarning):
        play(optimizer, 20)
    failed = [event[1] for event in optimizer._events if event[0] == "unlearned"]
    assert failed == [4, 8, 16]


def learned(cls, **settings):
    optimizer = cls(**{"bounds": [(0, 1)], "random_state": 0} | settings)
    optimizer.ask()
    before = optimizer.surrogate_.process_.kernel.theta
    play(optimizer, 9)
    assert (optimizer.surrogate_.process_.kernel.theta != before).all()
    return optimizer


def assert_pairs_are_those_of_the_process(arms):
    process = arms.surrogate_.process_
    fresh = PairCovariances(process).covariance(process.posterior, [], [])
    known = arms._cache.covariances().covariance(process.posterior, [], [])
    assert_allclose(known, fresh, atol=1e-12)


def test_covariances_follow_the_first_answer_with_its_noise_in_units_of_the_kernel():
    kernel = ConstantKernel(100.0) * RBF(0.2)
    optimizer = KGOptimizer(kernel, queries=ARMS, targets=ARMS + 0.01, n_initial=1, random_state=0)
    optimizer.tell(optimizer.ask(), 3.0)
    gp, n = optimizer.surrogate_.process_, len(ARMS)
    expected = gp.posterior_covariance(gp.tracked, gp.tracked)[:n, n:]
    assert_allclose(optimizer.posterior().covariance, expected, atol=1e-9)


def test_what_depends_on_hyperparameters_is_that_of_those_in_use():
    tree = learned(GPOOOptimizer, max_depth=4)
    assert_array_equal(tree._variation, tree._variation_bound())
    balls = learned(GPZoomingOptimizer, horizon=9)
    kept = balls._variation
    balls._on_refit()
    assert_array_equal(balls._variation, kept)
    arms = learned(DAGPUCBOptimizer, n_candidates=30, weights="joint")
    cases.scores(arms)  # places the candidates of the round
    process = arms.surrogate_.process_
    assert arms._cache.largest_slope() == arms.domain_.largest_slope(process.deviations)
    assert_pairs_are_those_of_the_process(arms)
    # Arms of a list stay, so that what is known of them is not made anew by itself.
    listed = learned(DAGPUCBOptimizer, bounds=None, arms=ARMS, weights="joint")
    assert_pairs_are_those_of_the_process(listed)
    for optimizer, moving in [(arms, True), (listed, False)]:
        process = optimizer.surrogate_.process_
        round = optimizer.posterior()
        expected = PairCovariances(process, moving).draws(3, optimizer.posterior().rng)
        assert_allclose(round.query_draws(3), expected, rtol=1e-12)


GIVEN = {"kernel": RBF(0.3), "alpha": 0.09, "normalize_y": True, "random_state": 0}
POSTERIORS = {
    "arms": (EIOptimizer, {"arms": ARMS[::2]}),
    "rows": (KGOptimizer, {"queries": ARMS[::2], "targets": 0.97 * ARMS[::3]}),
    "cells": (
        KGOptimizer,
        {"queries": Cells(0.3), "targets": Cells(0.1), "bounds": [(0, 1)], "n_candidates": 12},
    ),
    "windows": (CMETSOptimizer, {"bounds": [(0, 1)], "max_depth": 2, "n_points": 9}),
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_the_posterior_given_expected_answers_is_plain_algebra(name):
    cls, settings = POSTERIORS[name]
    optimizer = cls(**GIVEN, **settings)
    for i in range(5):
        optimizer.tell(optimizer.ask(), 7.0 + 3.0 * i)
    pending = optimizer.ask(2)
    round, gp = optimizer.posterior(), optimizer.surrogate_.process_
    queries, targets = (
        getattr(round.known, "_rows", optimizer.domain_.rows),
        optimizer.targets_.rows,
    )
    told = np.concatenate([optimizer.domain_.rows_of_query(query) for query in pending])
    mean, C = gp.moments(np.concatenate([queries, targets, told]), cov=True)
    mean, C, n, m = (mean - gp.offset) / gp.scale, C / gp.scale**2, len(queries), len(targets)
    noise = 0.09 / gp.scale**2
    assert gp.scale != pytest.approx(1.0, rel=0.1)
    left = np.linalg.solve(C[-2:, -2:] + noise * np.eye(2), C[-2:])
    C = (C - C[:, -2:] @ left)[: n + m, : n + m]
    close = partial(assert_allclose, rtol=1e-6, atol=1e-7)
    close(np.append(round.query_mean, round.target_mean), mean[:-2])
    close(np.append(round.query_var, round.target_var), np.diag(C))
    close(round.query_noise, noise)
    close(round.covariance, C[:n, n:])
    close(round.covariance_of_target(2), C[n + 2, n:])
    close(
        round.covariance_with(np.array([1, 3]), np.array([0.4, 0.6])),
        C[:n, [n + 1, n + 3]] @ [0.4, 0.6],
    )
    for draws, there in ((round.draws, slice(n, n + m)), (round.query_draws, slice(0, n))):
        if name == "arms":
            break  # a batch of draws is independent given the observations
        found, unit = draws(4000), np.diag(C)[there].max()
        assert_allclose(found.mean(axis=0), mean[:-2][there], atol=5 * np.sqrt(unit / 4000))
        assert_allclose(np.cov(found.T), C[there, there], atol=5 * unit * np.sqrt(2 / 4000))
    reduced = np.sqrt(np.diag(C)[n:]) - np.sqrt(
        np.maximum(np.diag(C)[n:] - C[:n, n:] ** 2 / (np.diag(C)[:n, None] + noise), 0.0)
    )
    weights = np.linspace(0.0, 1.0, m)
    assert_allclose(round.reduction(weights), reduced @ weights, atol=1e-6)


# variation="kernel" -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("theta", [0.1, 0.4])
def test_the_variation_of_cells_is_a_union_bound_over_the_kernels_deviation(n_children, theta):
    """sqrt(2 log(M / theta)) sd(f(x) - f(c)) at the far end of a cell, M cells above the leaves."""
    depth, kernel = 4, 1.7 * Matern(0.3, nu=1.5)
    optimizer = GPOOOptimizer(
        kernel,
        bounds=[(-1.0, 2.0)],
        alpha=0.1,
        n_children=n_children,
        max_depth=depth,
        guarantee=Guarantee(failure_probability=theta),
        feedback="center",
    )
    optimizer.ask()
    M = sum(n_children**h for h in range(depth + 1))
    half = 0.5 * 3.0 / n_children ** np.arange(depth + 2.0)
    sd = np.sqrt(2.0 * (1.7 - kernel([[0.0]], half[:, None])[0]))
    assert_allclose(optimizer._variation, np.sqrt(2.0 * log(M / theta)) * sd, rtol=1e-12)


@pytest.mark.parametrize("cls", [GPOOOptimizer, GPTreeOptimizer, GPZoomingOptimizer])
def test_a_variation_that_is_given_is_in_units_of_the_reward(cls):
    optimizer = play(cls(bounds=[(0, 1)], alpha=0.09, variation=(4.0, 0.5)), 8)
    scale = optimizer.surrogate_.process_.scale
    # Far more than the tolerance below: else a missing factor would not be seen.
    assert scale != pytest.approx(1.0, rel=1e-6)
    if cls is GPZoomingOptimizer:
        radii = optimizer.domain_.covering.diameter * 0.5 ** np.arange(6)
        assert_allclose(optimizer._variation[:6] * scale, 4.0 * radii**0.5, rtol=1e-12)
    else:
        assert_allclose(optimizer._variation[:6] * scale, 4.0 * 0.5 ** np.arange(6), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2])
def test_the_variation_of_balls_is_a_union_bound_over_the_kernels_deviation(d):
    kernel = 1.7 * RBF(0.4)
    optimizer = GPZoomingOptimizer(kernel, bounds=[(0, 1)] * d, alpha=0.1, horizon=40, r_min=0.1)
    optimizer.ask()
    depth = np.arange(len(optimizer._variation))
    M = min(2.0 ** (d * optimizer.max_depth_), optimizer.max_active)
    radii = 2.0**-depth  # in the unit box, the farthest from the centre within it
    far = np.minimum(radii, 1.0)
    corner = np.tile(far[:, None], (1, d))
    sd = np.sqrt(2.0 * (1.7 - kernel(np.zeros((1, d)), corner)[0]))
    sd = np.maximum.accumulate(sd[::-1])[::-1]
    ratio = optimizer._variation / (np.sqrt(2.0 * log(M / 0.1)) * sd)
    assert_allclose(ratio, 1.0, rtol=1e-9)


# Failures and replays ---------------------------------------------------------------------------


def test_a_query_comes_back_when_its_time_is_up(monkeypatch):
    """Left out until 2, then 4, then 8 more were told; all of three arms that know nothing."""
    # As if nothing was learned of where evaluations fail, which test_failures.py is about.
    monkeypatch.setattr("skgpb.defaults.SUCCESS_EVIDENCE", np.inf)
    optimizer = GPUCBOptimizer(RBF(1e-3), arms=[[0.0], [0.5], [1.0]], alpha=1e-6, beta=4.0)
    asked = []
    for _ in range(18):
        query = optimizer.ask()
        asked.append(query.index)
        optimizer.tell(query, None if query.index == 0 else 0.1 * query.index)
    failed = [i for i, index in enumerate(asked) if index == 0]
    assert failed == [0, 3, 8, 17]
    assert optimizer.failed_["round"].tolist() == [0, 2, 6, 14]


@pytest.mark.parametrize("raises", [True, False])
def test_only_failures_in_a_row_end_a_run(raises):
    optimizer, calls = DAGPUCBOptimizer(KERNEL, arms=ARMS, alpha=0.1), []

    def objective(query, last=19):
        calls.append(query)
        if len(calls) in (10, 20) or len(calls) > 30:
            return f(query)
        return 1 / 0 if raises else None

    with pytest.warns(EvaluationWarning, match="18 of 20"):
        result = optimizer.run(objective, 20)
    assert (result.nfev, result.nfail, len(optimizer.history_)) == (20, 18, 2)
    reason = "ZeroDivisionError" if raises else "told as failed"
    with pytest.raises(RuntimeError, match=f"the last 10 evaluations have failed.*{reason}"):
        optimizer.run(objective, 20)
    assert len(calls) == 30
    assert len(optimizer.failed_) == 28


def test_a_run_takes_no_more_of_what_was_left_than_its_budget_allows():
    optimizer, asked = GPUCBOptimizer(KERNEL, arms=ARMS, alpha=0.1), []

    def breaks(query):
        raise OSError

    with parallel_config("threading"), pytest.raises(OSError):
        optimizer.run(breaks, 6, n_jobs=3, on_error="raise")
    left = optimizer.ask(3)
    assert optimizer.run(lambda query: asked.append(query) or f(query), 1, n_jobs=3).nfev == 1
    assert asked == left[:1] and len(optimizer.history_) == 1


def test_a_replay_with_surprises_takes_answers_as_they_were_told(tmp_path):
    settings = {"arms": ARMS, "alpha": 0.1, "kernel": KERNEL, "beta": 4.0}
    run, other = GPUCBOptimizer(**settings), GPUCBOptimizer(**settings | {"beta": 0.01})
    n_mismatches = n_events = 0
    # The last answer is a surprise, too.
    while n_events < 18 or run.ask() == other.ask():
        query = run.ask()
        n_mismatches += other.ask() != query
        for each in (run, other):
            each.run_.asked, each.run_.pending = [query], {query: None}
            each.tell(query, None if n_events == 8 else f(query))
        n_events += 2
    pending = run.ask(2)
    run.save(tmp_path / "run")
    assert 0 < n_mismatches < n_events // 2
    of_another_version(tmp_path / "run", beta=0.01)
    with pytest.warns(ReplayWarning, match=rf"(\d+) of {n_events + 2} steps") as told:
        loaded = GPUCBOptimizer.load(tmp_path / "run")
    found = int(str(told[0].message).split()[0])
    assert n_mismatches < found <= n_mismatches + 2  # and what was pending
    assert loaded.beta == 0.01
    assert_array_equal(loaded.history_, run.history_)
    assert loaded.failed_.tolist()[0][0] == run.failed_.tolist()[0][0] == 4
    X = np.linspace(0, 1, 7)[:, None]
    assert_array_equal(loaded.predict(X, return_std=True), run.predict(X, return_std=True))
    assert loaded.ask(2) == pending == list(loaded.run_.pending)  # pending queries still are


# without noise -----------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore::skgpb.exceptions.NumericalWarning")
@pytest.mark.parametrize(("d", "seed"), [(3, 2), (4, 0), (6, 0)])
def test_hundreds_of_exact_answers_near_the_best_point_keep_means_where_answers_are(d, seed):
    """Questions close in on a point until their rows are alike, and are asked again."""
    optimizer = EIOptimizer(
        RBF(0.7), bounds=[(0, 1)] * d, n_candidates=60, alpha=0.0, random_state=seed
    )
    result = optimizer.run(lambda query: float(np.cos(3 * (query.points - 0.4)).sum()), 250)
    assert result.nfev == 250
    history = optimizer.history_
    known = optimizer.predict(history["descriptor"][:, :d])
    # Jitter moves a mean by less than ten of its deviations, 1e-4 of the prior's.
    assert_allclose(known, history["reward"], atol=1e-3)
    assert abs(optimizer.predict(cases.rows(optimizer))).max() < 10.0 * d


# White noise in the kernel -----------------------------------------------------------------------

LINE = {"bounds": [(0, 1)]}
OF_POINTS = {
    **dict.fromkeys((GPUCBOptimizer, EIOptimizer, MESOptimizer, KGOptimizer, IDSOptimizer), LINE),
    **{cls: LINE | {"feedback": "center"} for cls in (GPOOOptimizer, GPTreeOptimizer)},
    GPZoomingOptimizer: LINE | {"feedback": "center"},
    DAGPUCBOptimizer: {"arms": np.linspace(0.0, 1.0, 30)[:, np.newaxis]},
}


def asked(cls, kernel, alpha, **parameters):
    optimizer = cls(kernel=kernel, alpha=alpha, random_state=0, **parameters)
    out = []
    for reward in (0.3, 0.9, -0.2, 0.4, 0.7):
        query = optimizer.ask()
        out.append(np.ravel(query.a if hasattr(query, "a") else query.points))
        optimizer.tell(query, reward)
    return np.array(out)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", OF_POINTS)
def test_white_noise_of_points_is_noise_of_answers(cls):
    white = asked(cls, RBF(0.3) + WhiteKernel(0.05), 0.01, **OF_POINTS[cls])
    assert_array_equal(white, asked(cls, RBF(0.3), 0.06, **OF_POINTS[cls]))


@pytest.mark.filterwarnings("ignore:the distribution p")
def test_a_round_at_the_rows_of_its_queries_has_their_noise():
    optimizer = CMESOptimizer(RBF(0.3) + WhiteKernel(0.05), alpha=0.01, **LINE)
    optimizer.ask()
    round, rows = optimizer._round([]), optimizer.domain_.rows
    noises = np.full(len(rows), 0.01)
    there = round.at(optimizer._model.process, rows, noises, round.cost)
    assert_allclose(there.query_noise, round.query_noise)
    assert_allclose(there.query_noise, 0.06)


def test_averages_over_cells_have_no_white_noise():
    white = asked(CMETSOptimizer, RBF(0.3) + WhiteKernel(0.05), 0.01, **LINE)
    assert_array_equal(white, asked(CMETSOptimizer, RBF(0.3), 0.01, **LINE))

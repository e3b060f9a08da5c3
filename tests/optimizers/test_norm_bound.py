"""Optimizers that know a bound on the norm of f: beta="rkhs" and the intervals that hold."""

from __future__ import annotations

import warnings
from functools import partial

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    IGPUCBOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectTargetsOptimizer,
    IndirectUCBOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    TargetsOptimizer,
    URGPUCBOptimizer,
)
from skgpb.exceptions import GuaranteeWarning
from skgpb.guarantee import Guarantee
from skgpb.kernels import WindowMean

KERNEL = Matern(0.3, nu=1.5)
SETTINGS = {"alpha": 0.04, "beta": "rkhs", "guarantee": Guarantee(2.0), "random_state": 0}
CLASSES = [
    GPUCBOptimizer,
    IGPUCBOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPZoomingOptimizer,
    ContextualGPTreeOptimizer,
]


def make(cls, kernel=KERNEL, **settings):
    settings = SETTINGS | settings
    if cls is ContextualGPTreeOptimizer:
        settings["context_bounds"] = [(0, 1)]
    return cls(kernel, bounds=[(0, 1)], **settings)


def asked(opt, t):
    contextual = isinstance(opt, ContextualGPTreeOptimizer)
    return opt.ask(context=[t % 3 / 2] if contextual else None)


def naive_beta(blocks, noises, share=1.0, delta=0.1):
    K = np.array([[KERNEL(a, b).mean() for b in blocks] for a in blocks])
    gain = 0.5 * np.linalg.slogdet(np.eye(len(K)) + K / np.array(noises)[:, None])[1]
    return 4.0 + 2.0 * share**2 * (gain + np.log(1.0 / delta))


@pytest.mark.parametrize("cls", CLASSES)
def test_the_width_is_that_of_all_answers_after_every_round(cls):
    rng = np.random.default_rng(0)
    feedback = {} if "UCB" in cls.__name__ else {"feedback": "average", "n_representatives": 3}
    opt = make(cls, **feedback)
    blocks, noises = [], []
    for t in range(15):
        query = asked(opt, t)
        alpha = [None, 0.01, 0.3][t % 3]
        opt.tell(query, np.sin(5 * np.asarray(query)).mean() + 0.1 * rng.normal(), alpha=alpha)
        blocks.append(np.asarray(query))
        noises.append(alpha or 0.04)
        found = opt.exploration(opt.posterior()) if "UCB" in cls.__name__ else opt._beta(t + 2)
        assert_allclose(found, naive_beta(blocks, noises), atol=1e-8)
    assert opt._widths().invalid_reason is None


def test_noise_is_counted_in_units_of_what_gaussian_noise_is():
    opt = make(
        GPUCBOptimizer,
        guarantee=Guarantee(2.0, noise_bound=0.6, failure_probability=0.01),
    )
    opt.tell([0.3], 0.5)
    beta = naive_beta([np.array([[0.3]])], [0.04], 0.6 / 0.2, 0.01)
    assert_allclose(opt.exploration(opt.posterior()), beta)
    exact = make(GPUCBOptimizer, alpha=0.0, guarantee=Guarantee(noise_bound=0.6))
    exact.start()
    with pytest.raises(
        ValueError, match=r"guarantee.noise_bound=0.6 with alpha=0 leaves the width"
    ):
        exact.interval([[0.5]])


@pytest.mark.parametrize("cls", CLASSES)
def test_intervals_of_points_and_queries(cls):
    up, down = make(cls), make(cls, direction="minimize")
    for t in range(8):
        query = asked(up, t)
        assert query == asked(down, t)
        value = np.cos(7 * np.asarray(query)).mean()
        up.tell(query, value)
        down.tell(query, -value)
    X = np.linspace(0, 1, 7)[:, None] * np.ones(up.n_features_in_)
    lower, upper = up.interval(X)
    mean, std = up.predict(X, return_std=True)
    half = np.sqrt(up._widths().beta()) * std
    assert (lower < upper).all()
    assert (mean - half <= lower + 1e-12).all() and (upper <= mean + half + 1e-12).all()
    assert_array_equal(down.interval(X), [-upper, -lower])
    points = [X[:1], X[2:4]]
    mean, lower, upper = up.predict_query(points, interval=True)
    assert_array_equal(mean, up.predict_query(points))
    assert_allclose([lower[0], upper[0]], np.ravel(up.interval(X[:1])), atol=1e-9)
    assert lower[1] >= up.interval(X[2:4])[0].min() - 1e-9
    with pytest.raises(ValueError, match="at most one of return_std and interval"):
        up.predict_query(points, return_std=True, interval=True)


def test_looking_at_intervals_changes_nothing():
    runs = [make(GPOOOptimizer), make(GPOOOptimizer)]
    for _ in range(10):
        first, second = (opt.ask() for opt in runs)
        assert first == second
        for opt in runs:
            opt.tell(first, np.sin(4 * first.center).item())
        runs[0].interval([[0.2], [0.9]])


def test_an_error_of_the_kernel_widens_the_intervals():
    right, wrong = (
        make(GPUCBOptimizer),
        make(GPUCBOptimizer, guarantee=Guarantee(2.0, misspecification=0.1)),
    )
    for x in (0.1, 0.5, 0.8):
        right.tell([x], x)
        wrong.tell([x], x)
    beta = (np.sqrt(right._widths().beta()) + 0.1 * np.sqrt(3 / 0.04)) ** 2
    assert_allclose(wrong.exploration(wrong.posterior()), beta)
    mean, std = wrong.predict([[0.3]], return_std=True)
    lower, upper = wrong.interval([[0.3]])
    assert_allclose(
        [lower, upper], [mean - np.sqrt(beta) * std - 0.1, mean + np.sqrt(beta) * std + 0.1]
    )


@pytest.mark.parametrize("cls", [GPOOOptimizer, GPTreeOptimizer, GPZoomingOptimizer])
def test_functions_of_bounded_norm_vary_by_no_more_within_a_region(cls):
    opt, wide = make(cls), make(cls, guarantee=Guarantee(4.0))
    opt.start()
    wide.start()
    variation = opt._variation
    assert_allclose(wide._variation, 2.0 * variation)
    # f(0) - f(1/2), or less the average, has at most norm 2 times this distance of functionals
    query = opt.domain_.ball(0) if cls is GPZoomingOptimizer else opt.domain_.cell(0)
    points, edge = np.asarray(query), np.zeros((1, 1))
    distance2 = 1.0 + KERNEL(points).mean() - 2.0 * KERNEL(points, edge).mean()
    assert variation[0] >= 2.0 * np.sqrt(distance2) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kernel": None}, "scaled by their standard deviation"),
        ({"normalize_y": True}, "scaled by their standard deviation"),
        ({"optimizer": "fmin_l_bfgs_b"}, "hyperparameters are learned"),
        ({"alpha": None}, r"noise is learned from the answers \(pass alpha\)"),
    ],
)
def test_what_is_learned_is_no_guarantee(settings, reason):
    opt = make(GPUCBOptimizer, **settings)
    with pytest.warns(GuaranteeWarning, match=f"not guaranteed here: .*{reason}"):
        opt.start()
    assert opt._widths().invalid_reason is not None
    opt.tell([0.2], 0.3)
    with pytest.warns(GuaranteeWarning, match=reason):
        lower, upper = opt.interval([[0.4]])
    assert lower < upper
    # if it does not guide the search, nothing is said before it is asked for
    quiet = make(GPUCBOptimizer, **settings, beta=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GuaranteeWarning)
        quiet.start()


def test_a_pool_by_features_is_an_approximation():
    pool = np.random.default_rng(0).random((600, 1))
    opt = GPOOOptimizer(RBF(0.3), pool=pool, feedback="integral", alpha=0.01)
    assert opt.start()._widths().invalid_reason is not None


@pytest.mark.parametrize(
    "cls", [GPUCBOptimizer, pytest.param(GPOOOptimizer, marks=pytest.mark.slow)]
)
def test_intervals_hold_for_everything_at_all_times(cls):
    n, rounds, delta = 25, 8, 0.1
    points = [np.array([[x]]) for x in np.linspace(0, 1, 11)]
    cells = [np.linspace(a, b, 4)[:, None] for a, b in ((0, 0.25), (0.3, 0.5), (0, 1))]
    broken = narrow = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        centers, weights = rng.random((4, 1)), rng.normal(size=4)
        weights *= 2.0 / np.sqrt(weights @ KERNEL(centers) @ weights)
        truth = np.array([(KERNEL(x, centers) @ weights).mean() for x in points + cells])
        opt, error = make(cls, guarantee=Guarantee(2.0, failure_probability=delta)), 0.0
        for _ in range(rounds):
            query = opt.ask()
            value = (KERNEL(np.asarray(query), centers) @ weights).mean()
            opt.tell(query, value + 0.2 * rng.normal())
            _, lower, upper = opt.predict_query(points + cells, interval=True)
            middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
            error = max(error, (np.abs(truth - middle) / half).max())
        broken += error > 1.0
        narrow += error > 0.5
    # Runs are independent, each broken with a probability of at most delta: more than this many
    # have one of less than 1e-6. At half of the width nearly all of them would be.
    assert broken <= binom.ppf(1.0 - 1e-6, n, delta)
    assert narrow > binom.ppf(1.0 - 1e-6, n, delta)


def indirect(**settings):
    window = WindowMean(scale=0.1)
    settings = SETTINGS | settings
    return IndirectUCBOptimizer(RBF(0.2), conditional=window, bounds=[(0, 1)], **settings)


def test_indirect_answers_have_widths_for_f_and_for_what_is_asked():
    opt, kernel = indirect(n_candidates=20), WindowMean(RBF(0.2), scale=0.1)
    rows, noises = [], []
    for t in range(10):
        query = opt.ask()
        if rows:
            # the largest upper end of the ball, over g as the process on f has it
            mean, std = opt.predict_query(opt.ask().a[None], return_std=True)
            A = np.linspace(0, 1, 20)[:, None]
            means, stds = opt.predict_query(A, return_std=True)
            width = np.sqrt(opt._widths().beta())
            assert mean + width * std >= (means + width * stds).max() - 1e-6
        opt.tell(query, np.sin(5 * query.a[0]), alpha=[None, 0.1][t % 2])
        rows.append(kernel.queries(query.a[None])[0])
        noises.append([0.04, 0.1][t % 2])
        gain = 0.5 * np.linalg.slogdet(np.eye(t + 1) + kernel(np.array(rows)) / noises)[1]
        assert_allclose(opt._widths().beta(), 4.0 + 2.0 * (gain + np.log(10.0)), atol=1e-8)
    lower, upper = opt.interval([[0.2], [0.7]])
    mean, std = opt.predict([[0.2], [0.7]], return_std=True)
    width = np.sqrt(opt._widths().beta())
    assert (mean - width * std <= lower + 1e-12).all() and (lower < upper).all()
    mean, lower, upper = opt.predict_query([[0.5]], interval=True)
    assert lower < mean < upper
    assert opt._widths().invalid_reason is None


def test_a_conditional_that_is_learned_is_no_guarantee():
    rng = np.random.default_rng(0)
    A = rng.random((40, 1))
    opt = IndirectUCBOptimizer(RBF(0.2), alpha=0.01, beta="rkhs", random_state=0)
    with pytest.warns(GuaranteeWarning, match="learned from pairs"):
        opt.fit(A + 0.05 * rng.normal(size=(40, 1)), queries=A)
    assert opt._widths().invalid_reason is not None


# -- any search has intervals, whatever chose the queries ------------------------------------------

ARMS = np.linspace(0, 1, 41)[:, None]
OVER_ARMS = [
    DAGPUCBOptimizer, EIOptimizer, ESTOptimizer, GPTSOptimizer, MESOptimizer, PIOptimizer,
    URGPUCBOptimizer,
]  # fmt: skip
OVER_TARGETS = [IDSOptimizer, KGOptimizer, partial(TargetsOptimizer, "mes")]
INDIRECT = [CMESOptimizer, CMETSOptimizer, partial(IndirectTargetsOptimizer, "kg"),
            IndirectEIOptimizer, IndirectMESOptimizer, IndirectPIOptimizer]  # fmt: skip


def any_search(cls, kernel=KERNEL, **settings):
    settings = {"alpha": 0.04, "guarantee": Guarantee(2.0), "random_state": 0} | settings
    if cls in OVER_ARMS:
        return cls(kernel, arms=ARMS, **settings)
    if cls in OVER_TARGETS:
        return cls(kernel=kernel, queries=ARMS, targets=ARMS[::2], **settings)
    if cls is CMETSOptimizer:
        return cls(kernel, bounds=[(0, 1)], n_points=40, **settings)
    settings |= {"conditional": WindowMean(kernel, 0.05), "n_points": 40, "n_candidates": 40}
    return cls(kernel=kernel, bounds=[(0, 1)], **settings)


def of_norm(kernel, norm, rng):
    """Draw a function of exactly this norm."""
    centers = rng.random((6, 1))
    weights = rng.normal(size=6)
    weights *= norm / np.sqrt(weights @ kernel(centers) @ weights)
    return lambda points: kernel(np.atleast_2d(points), centers) @ weights


@pytest.mark.one_in(4)
@pytest.mark.parametrize("cls", [*OVER_ARMS, *OVER_TARGETS, *INDIRECT])
def test_functions_of_the_norm_lie_within_whatever_asked(cls):
    rng = np.random.default_rng(5)
    f = of_norm(KERNEL, 2.0, rng)
    opt = any_search(cls)
    wide = np.linspace(-0.5, 0.5, 400)[:, None]
    for _ in range(12):
        query = opt.ask()
        if cls is CMETSOptimizer:
            points = np.linspace(query.lower, query.upper, 400)
        elif cls in INDIRECT:
            # The window of WindowMean: a normal law of that standard deviation.
            points = query.a + 0.05 * norm.ppf(wide + 0.5).clip(-4, 4)
        else:
            points = np.asarray(query)
        opt.tell(query, f(points).mean() + 0.2 * rng.normal())
    assert opt._widths().invalid_reason is None
    lower, upper = opt.interval(ARMS)
    assert (lower <= f(ARMS)).all() and (f(ARMS) <= upper).all()
    asked = [opt.ask()]
    mean, low, high = opt.predict_query(asked, interval=True)
    assert (low < mean).all() and (mean < high).all()
    with pytest.raises(ValueError, match="at most one of return_std and interval"):
        opt.predict_query(asked, return_std=True, interval=True)


def unlearned(cls, **settings):
    settings = {"relearn": 1, "optimizer": "consistent"} | settings
    if cls in (*OVER_ARMS, *OVER_TARGETS, *INDIRECT):
        return any_search(cls, RBF(0.8), **settings)
    return make(cls, RBF(0.8), **settings)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "cls",
    [
        *(GPUCBOptimizer, GPOOOptimizer, GPTreeOptimizer, GPZoomingOptimizer),
        *OVER_ARMS,
        *OVER_TARGETS,
    ],
)
def test_length_scales_that_contradict_the_answers_are_dropped(cls):
    # f varies much faster than the given kernel, under which its norm is far above B.
    rng = np.random.default_rng(2)
    kernel, centers = RBF(0.1), np.array([[0.1], [0.3], [0.5], [0.7], [0.9]])
    weights = np.array([1.0, -1.0, 1.0, -1.0, 1.3])
    weights *= 2.0 / np.sqrt(weights @ kernel(centers) @ weights)

    def f(points):
        return kernel(points, centers) @ weights

    # PI by itself asks where it was before, which contradicts nothing.
    margin = {"xi": 0.5} if cls is PIOptimizer else {}
    opt, used = unlearned(cls, relearn=2, **margin), set()
    with warnings.catch_warnings():
        warnings.simplefilter("error", GuaranteeWarning)
        for _ in range(36):
            query = opt.ask()
            opt.tell(query, f(np.asarray(query)).mean() + 0.2 * rng.normal())
            used.add(round(float(np.exp(opt.surrogate_.kernel_.theta[0])), 3))
        X = rng.random((30, 1))
        lower, upper = opt.interval(X)
    assert (lower <= f(X)).all() and (f(X) <= upper).all()
    assert opt._widths().invalid_reason is None
    left = [np.exp(each.kernel.theta[0]) for each in opt._widths().possible()]
    assert max(left) < 0.79 and min(left) < 0.2
    assert len(used) > 4  # all that are left have their turns


@pytest.mark.slow
@pytest.mark.parametrize(
    "make_one",
    [
        CMESOptimizer,
        partial(IndirectTargetsOptimizer, "kg"),
        partial(IndirectUCBOptimizer, beta="rkhs"),
    ],
)
def test_length_scales_are_dropped_by_answers_to_indirect_questions(make_one, tmp_path):
    rng = np.random.default_rng(2)
    f = of_norm(RBF(0.1), 2.0, rng)
    window = WindowMean(RBF(0.8), 0.02)
    opt = make_one(
        kernel=RBF(0.8), conditional=window, bounds=[(0, 1)], n_points=40, n_candidates=40,
        alpha=0.01, guarantee=Guarantee(2.0), optimizer="consistent", relearn=2, n_initial=10,
        random_state=0,
    )  # fmt: skip
    parts = norm.ppf((np.arange(200) + 0.5) / 200)[:, None] * 0.02
    used = set()
    for _ in range(24):
        query = opt.ask()
        opt.tell(query, f(query.a + parts).mean() + 0.1 * rng.normal())
        used.add(round(float(np.exp(opt.surrogate_.kernel_.theta[0])), 3))
    assert opt._widths().invalid_reason is None
    left = [np.exp(each.kernel.theta[0]) for each in opt._widths().possible()]
    assert max(left) < 0.79 and min(left) < 0.2
    assert len(used) > 3
    lower, upper = opt.interval(ARMS)
    assert (lower <= f(ARMS)).all() and (f(ARMS) <= upper).all()
    opt.save(tmp_path / "run.skgpb")
    for repeated, digits in ((False, 1e-8), (True, 0.0)):
        again = cases.loaded(type(opt), tmp_path / "run.skgpb", repeated)
        assert again.ask() == opt.ask()
        assert_allclose(again.interval(ARMS), [lower, upper], rtol=digits)


@pytest.mark.parametrize("cls", [IndirectEIOptimizer, IndirectMESOptimizer, IndirectPIOptimizer])
def test_a_process_on_answers_alone_has_no_norm(cls):
    with pytest.raises(ValueError, match="chooses queries by a Gaussian process on the answers"):
        unlearned(cls).start()


def test_what_a_query_averages_must_be_known_to_compare_length_scales():
    A = np.random.default_rng(0).random((30, 1))
    opt = CMESOptimizer(RBF(0.8), alpha=0.01, optimizer="consistent")
    with pytest.raises(ValueError, match="pass conditional instead of pairs"):
        opt.fit(A, queries=A)


def test_length_scales_in_question_widen_the_interval():
    opt, long, short = unlearned(GPUCBOptimizer), make(GPUCBOptimizer, RBF(0.8)), []
    for x in (0.1, 0.6):
        for each in (opt, long):
            each.tell([x], 0.5)
    short = make(GPUCBOptimizer, RBF(0.8 / 32))
    short.tell([[0.1], [0.6]], [0.5, 0.5])
    X = np.array([[0.3], [0.9]])
    lower, upper = opt.interval(X)
    for each in (long, short):
        assert (lower <= each.interval(X)[0] + 1e-9).all()
        assert (upper >= each.interval(X)[1] - 1e-9).all()
    assert len(opt._widths().possible()) == 11  # nothing contradicts any of them yet


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": None}, "needs kernel"),
        ({"alpha": None}, "needs kernel, .* alpha"),
        ({"normalize_y": True}, "normalize_y=False"),
        ({"guarantee": Guarantee(misspecification=0.1)}, "misspecification=0.1"),
        ({"alpha": 0.0}, "alpha > 0"),
        ({"kernel": RBF(0.3, "fixed")}, "has none that is free"),
    ],
)
def test_what_length_scales_are_compared_by_must_be_known(settings, message):
    opt = make(GPUCBOptimizer, **({"optimizer": "consistent"} | settings))
    with pytest.raises(ValueError, match=f"optimizer='consistent' .*{message}"):
        opt.start()

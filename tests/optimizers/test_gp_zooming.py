"""GPZoomingOptimizer against a naive Algorithm 2, and what is its own."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from reference.gp_zooming import gp_zooming, grid_oracle, moments_of, subdivision_oracle
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from skgpb.domains.covering import LEVELS
from skgpb.exceptions import BudgetWarning, RefinementWarning
from skgpb.guarantee import Guarantee
from skgpb.optimizers import GPZoomingOptimizer
from skgpb.problems import gpoo_function

N_ROUNDS, ALPHA = 25, 0.01
BOUNDS = {1: [(-0.5, 1.0)], 2: [(0.0, 1.0), (-1.0, 2.0)], 4: [(0.0, 1.0)] * 4}
KERNELS = {
    1: [0.5 * RBF(0.3), ConstantKernel(0.8) * Matern(0.6, nu=2.5), 0.5 * Matern(0.5, nu=0.5)],
    2: [0.5 * RBF([0.3, 0.8]), ConstantKernel(0.8) * Matern([0.6, 1.5], nu=2.5), RBF(0.9)],
}


def random_function(rng, bounds):
    bounds = np.asarray(bounds, dtype=float)
    centers = rng.uniform(bounds[:, 0], bounds[:, 1], size=(6, len(bounds)))
    heights, widths = rng.normal(size=6), 0.25 * (bounds[:, 1] - bounds[:, 0])

    def f(X):
        X = np.atleast_2d(X)
        return np.exp(-0.5 * (((X[:, None] - centers) / widths) ** 2).sum(axis=2)) @ heights

    return f


def play(optimizer, f, n, rng=None):
    balls = []
    for _ in range(n):
        ball = optimizer.ask()
        balls.append(ball)
        noise = 0.0 if rng is None else 0.1 * rng.normal()
        optimizer.tell(ball, float(np.mean(f(ball.points))) + noise)
    return balls


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("d", "metric", "feedback"),
    [
        (1, "chebyshev", "center"),
        (2, "chebyshev", "center"),
        (1, "euclidean", "center"),
        (2, "euclidean", "center"),
        (1, "chebyshev", "average"),
        pytest.param(2, "chebyshev", "average", marks=pytest.mark.slow),
    ],
)
def test_every_evaluation_follows_algorithm_2(d, metric, feedback, n_seeds):
    n_shrunk = n_repeated = n_balls = 0
    covering = subdivision_oracle(0.25) if metric == "euclidean" else grid_oracle
    diameter = np.sqrt(d) if metric == "euclidean" else 1.0
    for seed in range(n_seeds if feedback == "center" else min(4, n_seeds)):
        rng = np.random.default_rng([seed, d])
        f, noise = random_function(rng, BOUNDS[d]), 0.1 * rng.normal(size=N_ROUNDS)
        kernel = KERNELS[d][seed % 3]
        c, exponent = rng.uniform(2.0, 5.0), rng.uniform(0.7, 1.3)
        beta = [4.0, 9.0, lambda t: 2.0 * np.log(t + 1.0)][seed % 3]
        r_min = rng.uniform(0.02, 0.2)
        moments = moments_of(kernel, ALPHA, BOUNDS[d], (3,) * d if feedback == "average" else None)
        rounds = gp_zooming(
            moments,
            lambda ball, t, f=f, noise=noise, m=moments: f(m.points(ball)).mean() + noise[t - 1],
            N_ROUNDS,
            d=d,
            variation=lambda r, c=c, exponent=exponent: c * r**exponent,
            beta=beta if callable(beta) else lambda t, beta=beta: beta,
            r_min=r_min,
            diameter=diameter,
            covering=covering,
        )
        optimizer = GPZoomingOptimizer(
            kernel,
            bounds=BOUNDS[d],
            alpha=ALPHA,
            metric=metric,
            feedback=feedback,
            n_representatives=3,
            variation=(c, exponent),
            beta=beta,
            r_min=r_min,
        )
        rounds = list(rounds)
        lower, upper = np.array(BOUNDS[d]).T
        for record in rounds:
            ball, where = optimizer.ask(), f"seed {seed}, evaluation {record.t}"
            assert (ball.index, ball.depth) == (record.ball, record.k), where
            expected = lower + record.center * (upper - lower)
            np.testing.assert_allclose(ball.center, expected, rtol=0, atol=1e-14)
            assert ball.radius == pytest.approx(diameter / 2**record.k, abs=1e-15)
            assert len(optimizer.domain_.covering) == record.n_balls, where
            optimizer.tell(ball, record.reward)
            best = optimizer.recommend("paper")
            assert (best.index, best.depth) == record.recommendation, where
        history = optimizer.history_
        np.testing.assert_array_equal(history["expanded"], [r.shrunk > 0 for r in rounds])
        for name in ("mean", "std"):
            expected = [getattr(record, name) for record in rounds]
            np.testing.assert_allclose(history[name], expected, rtol=0, atol=1e-8)
        n_shrunk += sum(record.shrunk for record in rounds)
        n_balls += rounds[-1].n_balls
        n_repeated += len(rounds) - len({record.ball for record in rounds})
    # The comparison means something only where balls shrink and are asked repeatedly.
    assert min(n_shrunk, n_balls) > 10 and n_repeated > 3


# The constants -----------------------------------------------------------------------------------


def test_theory_constants_are_those_of_appendix_d():
    n, theta, scale = 80, 0.2, 0.1
    for d, metric in [(1, "chebyshev"), (2, "chebyshev"), (2, "euclidean")]:
        optimizer = GPZoomingOptimizer(
            0.7 * RBF(scale),
            bounds=[(0, 1)] * d,
            horizon=n,
            variation="theory",
            metric=metric,
            guarantee=Guarantee(failure_probability=theta),
        )
        optimizer.start()  # without the refinement of ask
        diameter = 1.0 if metric == "chebyshev" else np.sqrt(d)
        assert optimizer.r_min_ == pytest.approx(diameter / (2 * n), rel=1e-12)
        # 2^-7 = 1/128 is the last radius of at least 1/160.
        K = optimizer.max_depth_
        assert K == 8
        M = min(2 ** (d * K), 5000)
        beta = 2 * (np.log(1 / theta) + np.log(2 * n) + np.log(M))
        assert optimizer._beta(1) == optimizer._beta(n) == pytest.approx(beta, rel=1e-12)
        u, last = np.log(1 / theta), np.inf
        for k in range(K + 1):
            # The farthest point within 2 r_k, that cannot be farther than a corner.
            r = 2.0 * diameter / 2**k
            distance = min(r, 1.0) * np.sqrt(d) if metric == "chebyshev" else min(r, np.sqrt(d))
            g = np.sqrt(2 * 0.7 * (1 - np.exp(-(distance**2) / (2 * scale**2))))
            C4 = 1 + 2 * np.log((k + 1) ** 2 * np.pi**2 / 6)
            inside = C4 + 2 * u + 2 * d * k * np.log(2) - 4 * d * np.log(g)
            last = min(last, 2 * 4 * g * (np.sqrt(max(inside, 0.0)) + 1))
            assert optimizer._variation[k] == pytest.approx(last, rel=1e-9), (d, metric, k)


@pytest.mark.parametrize(
    ("feedback", "metric"),
    [("center", "chebyshev"), ("center", "euclidean"), ("average", "chebyshev")],
)
def test_kernel_variation_is_rarely_exceeded(feedback, metric):
    """W(r) against draws from the prior, for all balls around a grid at once."""
    d, theta, side = 2, 0.1, 33
    optimizer = GPZoomingOptimizer(
        1.0 * RBF(0.25), bounds=[(0, 1)] * d, feedback=feedback, metric=metric, n_representatives=4
    )
    optimizer.ask()
    axis = np.linspace(0, 1, side)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, d)
    cov = RBF(0.25)(grid) + 1e-9 * np.eye(len(grid))
    draws = np.linalg.cholesky(cov) @ np.random.default_rng(0).normal(size=(len(grid), 60))
    exceeded = np.zeros(60, dtype=bool)
    order = 2 if metric == "euclidean" else np.inf
    for k in range(5):
        for center in grid[::37]:
            radius = optimizer.domain_.covering.diameter / 2**k
            inside = np.linalg.norm(grid - center, ord=order, axis=1) <= radius
            answer = draws[inside].mean(axis=0)
            if feedback == "center":
                answer = draws[np.argmin(np.abs(grid - center).sum(axis=1))]
            gap = np.abs(draws[inside] - answer).max(axis=0)
            exceeded |= gap > optimizer._variation[k]
    assert exceeded.mean() <= theta
    assert (np.diff(optimizer._variation) <= 0).all()


def test_radii_that_may_shrink_follow_the_smoothness_of_the_kernel():
    def r_min(kernel, **parameters):
        optimizer = GPZoomingOptimizer(
            kernel, bounds=[(0, 1)], horizon=20, variation=(1e-6, 1.0), **parameters
        )
        optimizer.ask()
        return optimizer.r_min_

    assert r_min(RBF(0.3)) == r_min(Matern(0.3, nu=2.5)) == pytest.approx(1 / 40, rel=1e-12)
    assert r_min(Matern(0.3, nu=0.5)) == pytest.approx(0.5 * 20.0**-3, rel=1e-12)
    assert r_min(RBF(0.3), r_min=0.123) == 0.123


@pytest.mark.parametrize(("r_min", "max_depth"), [(0.25, 3), (0.26, 2), (0.24, 3)])
def test_radii_are_halved_until_they_are_below_the_smallest(r_min, max_depth):
    optimizer = GPZoomingOptimizer(
        RBF(0.3), bounds=[(0, 1)], horizon=20, variation=(1e-6, 1.0), r_min=r_min
    )
    optimizer.ask()
    assert optimizer.domain_.covering.diameter == 1.0
    assert optimizer.max_depth_ == max_depth


# Regret ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variation", ["theory", "kernel"])
def test_f_that_varies_more_at_one_end_is_looked_at_there_whichever_it_is(variation):
    bounds = []
    for low, high in ((-3.0, 1.0), (-1.0, 3.0)):  # the kernel is the same to x and to -x
        optimizer = GPZoomingOptimizer(
            RBF(1.0) * DotProduct(1.0) ** 2, bounds=[(low, high)], variation=variation, horizon=60
        )
        bounds.append(optimizer.start()._variation)
    np.testing.assert_allclose(*bounds, rtol=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("number", "allowed"), [(1, 0.015), (2, 0.010)])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("variation", ["theory", "kernel"])
def test_regret_on_the_papers_functions(number, allowed, mirrored, variation):
    problem = gpoo_function(number, mirrored=mirrored)
    regrets = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        optimizer = GPZoomingOptimizer(
            0.1 * RBF(0.05), bounds=problem.bounds, alpha=0.01, horizon=80, variation=variation
        )
        optimizer.run(lambda ball, rng=rng: problem.observe(ball, rng), 80)
        regrets.append(problem.optimum - problem.average(optimizer.recommend("paper")))
    assert np.mean(regrets) <= allowed


@pytest.mark.slow
def test_a_thousand_evaluations_in_four_dimensions_beat_as_many_random_ones():
    rng = np.random.default_rng(0)
    f = random_function(rng, BOUNDS[4])
    optimizer = GPZoomingOptimizer(RBF(0.4), bounds=BOUNDS[4], horizon=1000)
    play(optimizer, f, 1000, rng)  # 3 s of CPU
    assert len(optimizer.domain_.covering) <= optimizer.max_active
    found = [f(optimizer.recommend(rule).center)[0] for rule in ("paper", "posterior")]
    assert min(found) > np.sort(f(rng.uniform(size=(1000, 4))))[-5]


# The guard, the horizon --------------------------------------------------------------------------


def test_breadth_first_refinement_is_bounded_and_explained():
    optimizer = GPZoomingOptimizer(RBF(0.1), bounds=BOUNDS[2], variation=(1e6, 0.1), max_active=50)
    with pytest.warns(RefinementWarning, match=r"smaller variation.*larger beta.*max_active"):
        optimizer.ask()
    assert len(optimizer.domain_.covering) == 50
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        balls = play(optimizer, random_function(np.random.default_rng(0), BOUNDS[2]), 60)
    assert len(optimizer.domain_.covering) == 50
    assert len({ball.index for ball in balls}) > 5


@pytest.mark.slow
def test_most_balls_become_available_in_step_with_the_evaluations():
    optimizer = GPZoomingOptimizer(
        RBF(0.1), bounds=BOUNDS[2], variation=(1e6, 0.1), horizon=10, r_min=1e-3, max_active=1500
    )
    f, counts = random_function(np.random.default_rng(0), BOUNDS[2]), []
    with pytest.warns(RefinementWarning):
        for _ in range(10):
            play(optimizer, f, 1)
            counts.append(len(optimizer.domain_.covering))
    # After answer t there is room for what evaluation t + 1 may need.
    assert counts == [*(1000 + 50 * t for t in range(2, 11)), 1500]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:there are:skgpb.exceptions.RefinementWarning")
def test_too_many_dimensions_are_explained_and_do_not_hang():
    bounds = [(0.0, 1.0)] * 12
    f = random_function(np.random.default_rng(0), bounds)
    optimizer = GPZoomingOptimizer(RBF(1.0), bounds=bounds)
    with pytest.warns(RefinementWarning, match="12 dimensions.*GPTreeOptimizer"):
        play(optimizer, f, 5)
    assert np.isfinite(optimizer.predict(optimizer.recommend().center[None])).all()


def test_asking_changes_nothing_once_there_is_an_answer():
    for feedback in ("center", "average"):
        optimizer = GPZoomingOptimizer(
            0.5 * RBF([0.3, 0.8]), bounds=BOUNDS[2], variation=(3.0, 1.0), feedback=feedback
        )
        f = random_function(np.random.default_rng(1), BOUNDS[2])
        for _ in range(12):
            play(optimizer, f, 1)
            before = pickle.loads(pickle.dumps(optimizer))
            ball = optimizer.ask()
            assert optimizer.recommend("paper") == before.recommend("paper")
            np.testing.assert_array_equal(optimizer.tree_.depth, before.tree_.depth)
            # So an answer can be told to what was stored before the question.
            before.tell(ball, 0.1)
            assert before.tree_.n_evaluations[ball.index] > 0


def test_evaluations_beyond_the_horizon_warn_once_or_double_it():
    f = random_function(np.random.default_rng(0), BOUNDS[1])
    optimizer = GPZoomingOptimizer(RBF(0.3), bounds=BOUNDS[1], horizon=8)
    with pytest.raises(NotFittedError):
        _ = optimizer.horizon_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(optimizer, f, 8)
    with pytest.warns(BudgetWarning, match="horizon=8"):
        optimizer.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(optimizer, f, 5)
        anytime = GPZoomingOptimizer(RBF(0.3), bounds=BOUNDS[1], horizon=8, anytime=True)
        play(anytime, f, 20)
    assert (optimizer.horizon_, anytime.horizon_) == (8, 32)
    assert optimizer.r_min_ == 1 / 16 and anytime.r_min_ == 1 / 64
    fresh = GPZoomingOptimizer(RBF(0.3), bounds=BOUNDS[1], horizon=32)
    fresh.ask()
    assert anytime._beta(20) == fresh._beta(20)
    np.testing.assert_array_equal(anytime._variation, fresh._variation)


# Queries -----------------------------------------------------------------------------------------


def test_balls_are_boxes_within_the_domain():
    for feedback in ("center", "average", "integral"):
        optimizer = GPZoomingOptimizer(
            0.5 * RBF([0.3, 0.8]), bounds=BOUNDS[2], variation=(3.0, 1.0), feedback=feedback
        )
        side = np.ptp(BOUNDS[2], axis=1)
        for ball in play(optimizer, random_function(np.random.default_rng(1), BOUNDS[2]), 15):
            low, up = ball.center - ball.radius * side, ball.center + ball.radius * side
            np.testing.assert_allclose(ball.lower, np.maximum(low, optimizer.bounds_[:, 0]))
            np.testing.assert_allclose(ball.upper, np.minimum(up, optimizer.bounds_[:, 1]))
            if feedback == "center":
                np.testing.assert_array_equal(ball.points, ball.center[None])
            else:
                assert len(ball.points) == 100
            assert pickle.loads(pickle.dumps(ball)) == ball
            with pytest.raises(AttributeError, match="immutable"):
                ball.radius = 0.0
            with pytest.raises(ValueError, match="read-only"):
                ball.points[0, 0] = 0.0


def test_a_shrunken_ball_still_takes_an_answer_about_its_larger_self():
    optimizer = GPZoomingOptimizer(RBF(0.3), bounds=[(0, 1)], variation=(3.0, 1.0), alpha=1e-4)
    first = optimizer.ask()
    play(optimizer, lambda X: X[:, 0], 6)
    assert optimizer.domain_.covering.depth[first.index] > first.depth
    before = optimizer.predict(first.center[None])[0]
    optimizer.tell(first, before + 1.0, alpha=1e-6)
    assert optimizer.predict(first.center[None])[0] > before + 0.5
    assert optimizer.tree_.n_evaluations.sum() == 7


def test_balls_of_others_are_refused():
    def optimizer(**parameters):
        settings = {"bounds": BOUNDS[2], "variation": (3.0, 1.0)} | parameters
        return GPZoomingOptimizer(RBF(0.5), **settings)

    mine = optimizer()
    f = random_function(np.random.default_rng(0), BOUNDS[2])
    play(mine, f, 5)
    others = [
        optimizer(bounds=[(0.0, 1.1), (-1.0, 2.0)]),
        optimizer(bounds=[(0.0, 1.0)]),
        optimizer(metric="euclidean"),
        optimizer(feedback="average"),
        optimizer(variation=(30.0, 1.0)),
    ]
    before = len(mine.history_)
    for other in others:
        ball = other.ask()
        assert ball != mine.ask()
        with pytest.raises(ValueError, match="not a ball of this optimizer"):
            mine.tell(ball, 0.5)
    assert len(mine.history_) == before


def test_a_batch_larger_than_the_covering_makes_balls():
    optimizer = GPZoomingOptimizer(RBF(0.3), bounds=BOUNDS[1], variation=(1e-3, 1.0), r_min=0.1)
    batch = optimizer.ask(5)
    assert len({ball.index for ball in batch}) == 5
    with pytest.raises(ValueError, match="r_min"):
        optimizer.ask(100)
    optimizer.tell(batch, np.zeros(5))
    assert optimizer.tree_.n_evaluations.sum() == 5


# Recommending ------------------------------------------------------------------------------------


def test_posterior_rule_is_never_below_the_covering_and_respects_the_resolution():
    rng = np.random.default_rng(3)
    for d in (1, 2):
        f = random_function(rng, BOUNDS[d])
        optimizer = GPZoomingOptimizer(KERNELS[d][0], bounds=BOUNDS[d])
        for _ in range(3):
            play(optimizer, f, 10, rng)
            best = optimizer.recommend("posterior")
            centers = optimizer.tree_.center
            top = optimizer.predict(centers).max()
            assert optimizer.predict(best.center[None])[0] >= top - 1e-9
            coarse = optimizer.recommend("posterior", depth=3)
            assert coarse.depth <= 3 and best.depth <= optimizer.max_depth_
            careful = optimizer.recommend("posterior", caution=3.0)

            def bound(ball, optimizer=optimizer):
                mean, std = optimizer.predict(ball.center[None], return_std=True)
                return float(mean[0] - 3.0 * std[0])

            assert bound(careful) >= bound(best) - 1e-9
        # It may be evaluated like any other ball.
        optimizer.tell(best, 0.3)
        assert optimizer.history_["reward"][-1] == 0.3


@pytest.mark.parametrize(
    "arguments", [("deepest",), ("expanded",), ("posterior", -1), ("posterior", 1.5)]
)
def test_rules_that_do_not_exist_are_refused(arguments):
    optimizer = GPZoomingOptimizer(bounds=BOUNDS[1])
    rule, *depth = arguments
    with pytest.raises(ValueError, match="method" if not depth else "depth"):
        optimizer.recommend(rule, depth=depth[0] if depth else None)
    with pytest.raises(ValueError, match="caution"):
        optimizer.recommend("posterior", caution=-1.0)


# Parameters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "manhattan"),
        ("metric", None),
        ("variation", (1.0,)),
        ("variation", (-1.0, 1.0)),
        ("variation", (1.0, 0.0)),
        ("variation", (1.0, np.nan)),
        ("variation", lambda r: -r),
        ("variation", "wide"),
        ("r_min", 0.0),
        ("r_min", "0.1"),
        ("horizon", 0),
        ("horizon", None),
        ("anytime", "yes"),
        ("max_active", 0),
        ("max_active", 1.5),
        ("feedback", "median"),
    ],
)
def test_nonsense_parameters_are_named(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        GPZoomingOptimizer(**{"bounds": BOUNDS[1], name: value}).ask()


def test_euclidean_balls_answer_at_their_centre_only():
    optimizer = GPZoomingOptimizer(bounds=BOUNDS[2], metric="euclidean", feedback="average")
    with pytest.raises(ValueError, match="feedback"):
        optimizer.ask()


def test_a_parent_is_the_ball_that_had_covered_the_child():
    optimizer = GPZoomingOptimizer(KERNELS[2][0], bounds=BOUNDS[2], variation=(4.0, 1.0))
    play(optimizer, random_function(np.random.default_rng(0), BOUNDS[2]), 30)
    tree = optimizer.tree_
    assert tree.parent[0] == -1 and (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    for ball, children in enumerate(tree.children):
        for child in children[children >= 0]:
            assert tree.parent[child] == ball
    assert (tree.children >= 0).sum() == len(tree.parent) - 1
    np.testing.assert_array_equal(tree.radius, 2.0**-tree.depth)
    assert tree.n_evaluations.sum() == 30


def test_what_balls_cannot_cover_is_said_once(monkeypatch):
    optimizer = GPZoomingOptimizer(RBF(0.4), bounds=BOUNDS[2]).start()
    monkeypatch.setattr("skgpb.optimizers.gp_zooming.MAX_EFFORT", -1)
    with pytest.warns(RefinementWarning, match="more than -1 boxes: balls are shrunk no further"):
        assert not optimizer._may_shrink(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not optimizer._may_shrink(2)


def test_where_all_balls_are_likely_to_fail_the_best_of_them_is_asked(monkeypatch):
    optimizer = GPZoomingOptimizer(RBF(0.4), bounds=BOUNDS[2], variation=(1.0, 1.0))
    play(optimizer, lambda X: X[:, 0], 6)
    run, every = pickle.dumps(optimizer), set(range(len(optimizer.domain_)))

    def asked(unlikely):
        twin = pickle.loads(run)
        monkeypatch.setattr(twin, "_shrink_failing_balls", lambda: unlikely)
        return twin.ask().index

    best = asked(set())
    others = sorted(every - {best})
    assert len(others) > 1 and asked(every) == asked(set(others)) == best
    assert asked(every - {others[0]}) == others[0]


def test_radii_are_halved_no_more_often_than_their_numbers_can_tell():
    optimizer = GPZoomingOptimizer(RBF(0.3), bounds=[(0, 1)], variation=(1e-6, 1.0), r_min=1e-300)
    assert optimizer.start().max_depth_ == LEVELS

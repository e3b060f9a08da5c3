"""Bounds on regret: their constants, that they hold, and the theorem that does not."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, log, pi, sqrt

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import (
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    StoOOOptimizer,
    theory,
)
from skgpb.plotting import RegretDisplay
from skgpb.surrogate.information_gain import information_gain, information_gain_order


def bump(X):
    return np.exp(-(((X[:, 0] - 0.3) / 0.15) ** 2))


def test_cells_are_counted_by_their_averages():
    delta = 0.8 * 0.5 ** np.arange(5)
    counts = theory.near_optimal_cells(bump, [(0, 1)], delta, 1.0, n_representatives=4)
    for depth, count in enumerate(counts):
        edges = np.arange(2**depth) / 2**depth
        inside = (np.arange(4) + 0.5) / 4 / 2**depth
        averages = bump((edges[:, None] + inside).reshape(-1, 1)).reshape(-1, 4).mean(axis=1)
        assert count == (averages >= 1.0 - 3 * delta[depth]).sum()


def test_dimension_of_a_bound_that_is_a_power_is_found():
    delta = 0.5 ** np.arange(1, 8)
    C, d = theory.near_optimality_dimension(5.0 * (3 * delta) ** -0.7, delta)
    assert (C, d) == (pytest.approx(5.0), pytest.approx(0.7))
    C, d = theory.near_optimality_dimension([4, 3, 2, 2], delta[:4])
    assert (C, d) == (4.0, 0.0)


def test_corollary_1_is_no_smaller_than_theorem_1_where_counts_are_powers():
    c, rho, C, d, beta, noise = 1.0, 0.5, 2.0, 0.5, 30.0, 4.0
    delta = c * rho ** np.arange(25)
    counts = C * (3 * delta) ** -d
    n = np.array([10**5, 10**6, 10**7])
    exact = theory.gpoo_bound(n, delta, counts, beta, noise)
    rate = theory.gpoo_rate(n, (c, rho), C, d, beta, noise)
    # The depth of the theorem is whole, and so are its answers: a hundredth at this noise.
    assert (exact <= rate * 1.01).all()
    assert (rate <= exact / rho).all()
    # The constant as printed, and outside the power, is too small by more than that.
    ratio = rho ** -(d + 2)
    printed = 3.0**-d * 2 * C * noise / (ratio - 1) * (beta / n) ** (1 / (d + 2))
    assert not (exact <= printed * 1.01).all()


@pytest.mark.parametrize("S", [1, 4])
def test_gpoo_stays_below_its_bound(S):
    delta = 3.0 * 0.5 ** np.arange(9)  # the slope of bump is at most 5.8
    counts = theory.near_optimal_cells(bump, [(0, 1)], delta, 1.0, n_representatives=S)
    beta = 2 * (log(2**9 - 1) + log(pi**2 * 300**2 / 0.6))
    opt = GPOOOptimizer(
        RBF(0.15), bounds=[(0, 1)], alpha=0.01, n_representatives=S, diameter=(3.0, 0.5),
        max_depth=8, expansion="before", random_state=0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for n in range(1, 301):
        cell = opt.ask()
        opt.tell(cell, float(bump(cell.points).mean() + 0.1 * rng.normal()))
        if n % 50 == 0:
            regret = 1.0 - bump(opt.recommend("paper").points).mean()
            assert regret <= theory.gpoo_bound(n, delta, counts, beta, 0.01)


def test_average_stooo_stays_below_its_bound():
    delta = 3.0 * 0.5 ** np.arange(9)
    counts = theory.near_optimal_cells(bump, [(0, 1)], delta, 1.0, n_representatives=4)
    opt = StoOOOptimizer(
        bounds=[(0, 1)], feedback="average", n_representatives=4, diameter=(3.0, 0.5), max_depth=8,
        random_state=0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    result = opt.run(lambda cell: float(rng.random() < bump(cell.points).mean()), budget=400)
    bound = theory.stooo_bound(400, delta, counts, opt.failure_probability)
    assert 1.0 - bump(result.x.points).mean() <= bound < 3 * delta[0]


def test_gp_ucb_stays_below_its_bound_on_draws():
    arms, kernel = np.linspace(0, 1, 30)[:, None], Matern(0.2, nu=2.5)
    root = np.linalg.cholesky(kernel(arms) + 1e-10 * np.eye(30))
    for seed in range(3):
        rng = np.random.default_rng([seed, 3])
        f = root @ rng.normal(size=30)
        opt = GPUCBOptimizer(kernel, arms=arms, alpha=0.04, random_state=seed)
        opt.run(lambda arm, f=f, rng=rng: float(f[arm.index] + 0.2 * rng.normal()), budget=100)
        asked = opt.history_["descriptor"][:, :1]
        regret = (f.max() - f[np.rint(asked[:, 0] * 29).astype(int)]).sum()
        gain = information_gain(kernel, asked, alpha=0.04)
        beta = opt.theory_beta(100, 30)
        bound = theory.gp_ucb_bound(100, gain, beta, 0.04)
        assert regret <= bound
        # 8 n beta gamma / log(1 + 1 / sigma^2), by hand.
        assert bound == pytest.approx(sqrt(8 / log(26) * 100 * beta * gain), rel=1e-12)


def naive_depth(n, capacity):
    """The smallest depth down to which n answers fit, as the theorems say it."""
    total = 0.0
    for depth, room in enumerate(capacity):
        total += room
        if n <= total:
            return depth
    return len(capacity) - 1


@pytest.mark.parametrize("n", [1, 30, 400, 5000, 10**7])
def test_theorems_1_and_3_of_averages_as_printed_with_whole_answers(n):
    delta, counts, K = [2.0, 0.9, 0.5, 0.2, 0.1], [1, 2, 3, 5, 9], 3
    beta, noise, theta = 4.0 + 2.0 * log(n), 0.09, 0.2
    # (8): N <= K sum |I_h| beta sigma^2 / delta^2, the quotient rounded up, and one before a split.
    room = [
        K * cells * (int(beta * noise / d**2) + 2) for cells, d in zip(counts, delta, strict=True)
    ]
    assert theory.gpoo_bound(n, delta, counts, beta, noise, K) == 3 * delta[naive_depth(n, room)]
    # (16): 2 C K 3^-d sum delta^-(d + 2) >= N / log(N^2 / theta).
    term = 2.0 * log(n**2 / theta)
    room = [K * cells * (int(term / d**2) + 2) for cells, d in zip(counts, delta, strict=True)]
    found = theory.stooo_bound(n, delta, counts, theta, n_children=K)
    assert found == 3 * delta[naive_depth(n, room)]
    scaled = theory.stooo_bound(n, delta, counts, theta, (-1.0, 3.0), n_children=K)
    room = [K * cells * (int(16 * term / d**2) + 2) for cells, d in zip(counts, delta, strict=True)]
    assert scaled == 3 * delta[naive_depth(n, room)]


def test_bounds_of_averages_by_hand():
    # Depth 0 takes 2 * 1 * (16 + 2) = 36 answers, depth 1 2 * 2 * (64 + 2) = 264 more.
    bounds = theory.gpoo_bound([36, 37, 300, 301], [0.5, 0.25, 0.125], [1, 2, 2], 400.0, 0.01)
    np.testing.assert_array_equal(bounds, [1.5, 0.75, 0.75, 0.375])
    # c1 = 3^-1 * 2 * 3 * 0.04 * 8 / 7, and (c1 * 14 / 1000)^(1/3).
    rate = theory.gpoo_rate(1000, (1.0, 0.5), 3.0, 1.0, 14.0, 0.04)
    assert rate == pytest.approx(3.0 * (0.00128) ** (1 / 3), rel=1e-12)


def test_union_of_theorem_3_needs_the_range_of_a_reward():
    n, theta, t = 1000, 0.05, np.arange(1, 1001)
    # Azuma for u answers of any of t cells after t rounds, 2 exp(-2 (u eps)^2 / (u c^2)).
    failing = {c: (t**2 * 2 * (theta / t**2) ** (4 / c**2)).sum() for c in (1.0, 2.0)}
    assert failing[2.0] == pytest.approx(2 * theta * n)
    assert failing[1.0] < 2 * theta


def test_gaps_of_cells_and_balls_as_the_lemmas_say():
    V, slack = [3.0, 2.0, 0.5, 0.4], [4.0, 1.0, 0.25, 9.0]
    gaps, N1 = theory.gp_tree_gaps(V), max(a / b for a, b in pairwise(V))
    np.testing.assert_allclose(gaps, [3.0, 14.0, 8.5, 2.4])
    # (3.8) is what the paper makes of it, and (5.8) is the same with a slack.
    assert (gaps <= (4 * N1 + 1) * np.array(V)).all()
    np.testing.assert_allclose(theory.gp_tree_gaps(V, slack), [3.0, 22.0, 10.5, 2.9])
    np.testing.assert_allclose(theory.zooming_gaps(V), [3.0, 9.0, 6.0, 1.5])


@pytest.mark.parametrize("visits", [1, 2])
def test_dimension_bound_spends_answers_where_they_cost_most(visits):
    V, counts, beta, noise = [1.0, 0.5, 0.25, 0.125], [1, 2, 3, 6], 30.0, 0.04
    gaps = theory.gp_tree_gaps(V)
    room = [visits * cells * ceil(beta * noise / v**2) for cells, v in zip(counts, V, strict=True)]
    left = [gap for gap, m in zip(gaps[:3], room, strict=False) for _ in range(m)] + [gaps[3]] * 500
    costs = np.cumsum(sorted(left, reverse=True))
    n = np.array([1, 7, 60, 300])
    found = theory.dimension_bound(n, gaps, counts, V, beta, noise, visits)
    np.testing.assert_allclose(found, costs[n - 1])
    # C.2: the sum down to any depth H, and n times the gap below it, is no less.
    for H in range(4):
        paper = sum(gaps[h] * room[h] for h in range(H)) + n * gaps[H:].max()
        assert (found <= paper + 1e-9).all()
    assert theory.dimension_bound(60, gaps, counts, V, beta, noise, visits) == found[2]


def test_simple_regret_of_what_is_refined():
    V, counts, beta, noise = [1.0, 0.5, 0.25, 0.125], [1, 2, 3, 6], 30.0, 0.04
    room = [cells * ceil(beta * noise / v**2) for cells, v in zip(counts, V, strict=True)]
    assert room == [2, 10, 60, 462]
    n = [1, 2, 3, 12, 13, 72, 73, 10**6]
    found = theory.dimension_simple_bound(n, counts, V, beta, noise)
    np.testing.assert_array_equal(found, [1.0, 1.0, 3.0, 3.0, 1.5, 1.5, 0.75, 0.75])


def test_information_type_bound_by_hand():
    # 3 sqrt(2 n beta gamma / log(1 + 1 / 0.04)) + n (4 V_2 + V_3).
    V = [1.0, 0.6, 0.25, 0.125]
    by_hand = 3 * sqrt(2 * 50 * 20 * 3 / log(26)) + 50 * 1.125
    assert theory.gp_tree_bound(50, 3.0, 20.0, V, 0.04) == pytest.approx(by_hand, rel=1e-12)
    found = theory.gp_tree_bound(50, 3.0, 20.0, V, 0.04, gap=0.75)
    assert found == pytest.approx(by_hand - 50 * 0.375, rel=1e-12)


def test_half_as_many_answers_to_a_ball_are_not_enough():
    """(D.5) in print: sigma^2 beta / (2 W^2) answers, after which the width is to be W."""
    beta, noise, W = 30.0, 0.04, 0.1

    def width(m):
        return sqrt(beta / (1.0 + m / noise))

    assert width(beta * noise / (2 * W**2)) > W > width(beta * noise / W**2)


def test_proposition_3_holds_for_points_of_a_ball():
    """sigma_t <= sigma / sqrt(m) + g(r), and not because the matrices of its proof are ordered."""
    kernel, noise = RBF(0.3), 0.01
    for m in (1, 3, 30):
        X = np.random.default_rng(m).uniform(-0.2, 0.2, (m, 1))
        k, K = kernel(X, [[0.0]])[:, 0], kernel(X)
        var = 1.0 - k @ np.linalg.solve(K + noise * np.eye(m), k)
        assert var <= noise / m + 2 * (1 - kernel([[0.2]], [[0.0]]).item())
    assert np.linalg.eigvalsh(np.ones((m, m)) - K).min() < -1e-3


def test_balls_are_apart_by_the_radius_they_end_with_and_not_by_that_they_were_asked_with():
    """Lemma 2 of the zooming algorithm, third statement."""
    opt = GPZoomingOptimizer(
        RBF(0.15), bounds=[(0, 1)], horizon=100, alpha=0.01, variation=(6.0, 1.0), random_state=0
    )
    rng, asked = np.random.default_rng(0), set()
    for _ in range(100):
        ball = opt.ask()
        asked.add((float(ball.points[0, 0]), ball.depth))
        opt.tell(ball, float(bump(ball.points)[0] + 0.1 * rng.normal()))
    centers = [opt.domain_.ball(i).points[0, 0] for i in range(len(opt.domain_))]
    ended = set(zip(centers, opt.domain_.depth.tolist(), strict=True))

    def closer(balls):
        pairs = [(x, y, k) for x, k in balls for y, m in balls if k == m and x < y]
        return [pair for pair in pairs if pair[1] - pair[0] <= 0.5 ** pair[2]]

    assert closer(asked) and not closer(ended)


@pytest.mark.parametrize("cls", [GPTreeOptimizer, GPZoomingOptimizer])
def test_adaptive_discretization_stays_below_its_bounds(cls):
    n, sd = 200, 0.1
    c = 3.0 if cls is GPTreeOptimizer else 6.0  # the slope of bump is at most 5.8
    given = {"diameter": (c, 0.5)} if cls is GPTreeOptimizer else {"variation": (c, 1.0)}
    opt = cls(RBF(0.15), bounds=[(0, 1)], horizon=n, alpha=sd**2, random_state=0, **given)
    rng = np.random.default_rng(0)
    opt.run(lambda each: float(bump(each.points)[0] + sd * rng.normal()), budget=n)
    asked = opt.history_["descriptor"].mean(axis=1)[:, np.newaxis]
    tree = cls is GPTreeOptimizer  # leaves of a tree are one level below the last that is split
    V = c * 0.5 ** np.arange(opt.max_depth_ + 1 + tree)
    if tree:
        gaps = theory.gp_tree_gaps(V)
        counts = theory.near_optimal_cells(bump, [(0, 1)], gaps, 1.0, factor=1.0)
    else:
        gaps = theory.zooming_gaps(V)
        counts = theory.near_optimal_cells(bump, [(0, 1)], gaps + V / 2, 1.0, factor=1.0)
    regret = (1.0 - bump(asked)).sum()
    gain = information_gain(RBF(0.15), asked, alpha=sd**2)
    beta = 80.0  # more than the theory's 60.6 and 38.6
    assert regret <= theory.gp_tree_bound(n, gain, beta, V, sd**2, gap=gaps[-1])
    assert regret <= theory.dimension_bound(n, gaps, counts, V, beta, sd**2)
    last = 1.0 - bump(opt.recommend("paper").points).item()
    assert last <= theory.dimension_simple_bound(n, counts, V, beta, sd**2) < V[0]


def test_near_optimality_dimension_of_radii():
    radii = 0.5 ** np.arange(1, 7)
    C, d = theory.near_optimality_dimension(4.0 * radii**-0.5, radii, factor=1.0)
    assert (C, d) == (pytest.approx(4.0), pytest.approx(0.5))


def test_theorem_about_all_ucb_rules_is_false_of_greedy_play():
    """Theorem 1 of the DAGP-UCB paper, with w = 0, on two independent arms."""
    n_draws, T, noise, delta = 2000, 2000, 1e-6, 0.01
    rng = np.random.default_rng(0)
    f = rng.normal(size=(n_draws, 2))
    total, pulls, regret = np.zeros((n_draws, 2)), np.zeros((n_draws, 2)), np.zeros(n_draws)
    rows, gap = np.arange(n_draws), f.max(axis=1, keepdims=True) - f
    for _ in range(T):
        arm = np.argmax(total / (pulls + noise), axis=1)  # the posterior mean, ties to the first
        total[rows, arm] += f[rows, arm] + sqrt(noise) * rng.normal(size=n_draws)
        pulls[rows, arm] += 1
        regret += gap[rows, arm]
    b = 2 * log(T**2 * pi**2 * 2 / (6 * delta))
    gain = log(1 + T / (2 * noise))  # half to each arm
    bound = sqrt(4 * 4 * b / log(1 + 1 / noise) * T * gain)
    broken = int((regret > bound).sum())
    # If it held with probability 1 - delta, this many violations have a probability of 1e-6.
    assert broken > binom.ppf(1 - 1e-6, n_draws, delta)


def test_what_does_not_hold_is_not_offered():
    assert not any("nuara" in name or "dagp" in name for name in theory.__all__)
    assert "left out" in theory.__doc__


def test_tight_rate_of_matern_kernels():
    kernel, t = Matern(nu=1.5), 10_000
    tight = information_gain_order(kernel, t, 2, rate="tight")
    assert tight == pytest.approx(t ** (2 / 5) * log(t) ** (3 / 5))
    assert tight < information_gain_order(kernel, t, 2)
    assert information_gain_order(RBF(), t, 2, rate="tight") == pytest.approx(log(t) ** 3)
    with pytest.raises(ValueError, match="rate must be"):
        information_gain_order(kernel, t, 2, rate="loose")


def test_bound_is_drawn_over_the_curve():
    pytest.importorskip("matplotlib")
    opt = GPUCBOptimizer(RBF(0.2), arms=np.linspace(0, 1, 20)[:, None], alpha=0.01, random_state=0)
    opt.run(lambda arm: float(arm.points[0, 0]), budget=12)
    display = RegretDisplay.from_optimizer(opt, optimum=1.0)
    drawn = display.plot_bound(lambda n: 10.0 * np.sqrt(n), name="theory")
    np.testing.assert_array_equal(drawn.bound_line_.get_ydata(), 10.0 * np.sqrt(np.arange(1, 13)))
    assert [text.get_text() for text in drawn.ax_.get_legend().get_texts()][-1] == "theory"
    with pytest.raises(ValueError, match="one number for each of 12 rounds"):
        display.plot_bound([1.0, 2.0])
    best = RegretDisplay.from_optimizer(opt, kind="best")
    with pytest.raises(ValueError, match="kind of regret"):
        best.plot_bound(lambda n: n)


@pytest.mark.parametrize("delta", [[], [1.0, 0.0], [[1.0]], [1.0, -1.0]])
def test_delta_has_a_positive_number_for_each_depth(delta):
    with pytest.raises(ValueError, match="delta"):
        theory.gpoo_bound(10, delta, delta, 1.0, 1.0)


def test_counts_fit_the_depths():
    with pytest.raises(ValueError, match="each of 2 depths"):
        theory.gpoo_bound(10, [1.0, 0.5], [1, 2, 3], 1.0, 1.0)
    with pytest.raises(ValueError, match="gaps must hold a number for each of 2 depths"):
        theory.dimension_bound(10, [1.0], [1, 2], [1.0, 0.5], 1.0, 1.0)
    with pytest.raises(ValueError, match="too many"):
        theory.near_optimal_cells(bump, [(0, 1)], np.ones(30), 1.0)

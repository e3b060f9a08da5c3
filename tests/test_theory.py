"""Bounds on regret: their constants, that they hold, and the theorem that does not."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import GPOOOptimizer, GPUCBOptimizer, StoOOOptimizer, theory
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
    # If it held with probability 1 - delta, so many would break it once in a million tries.
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
    with pytest.raises(ValueError, match="no regret"):
        best.plot_bound(lambda n: n)


@pytest.mark.parametrize("delta", [[], [1.0, 0.0], [[1.0]], [1.0, -1.0]])
def test_delta_has_a_positive_number_for_each_depth(delta):
    with pytest.raises(ValueError, match="delta"):
        theory.gpoo_bound(10, delta, delta, 1.0, 1.0)


def test_counts_fit_the_depths():
    with pytest.raises(ValueError, match="each of 2 depths"):
        theory.gpoo_bound(10, [1.0, 0.5], [1, 2, 3], 1.0, 1.0)
    with pytest.raises(ValueError, match="too many"):
        theory.near_optimal_cells(bump, [(0, 1)], np.ones(30), 1.0)

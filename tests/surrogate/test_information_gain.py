"""Information gain: the determinant, the greedy choice, the order formulas."""

from __future__ import annotations

import itertools

import cases
import numpy as np
import pytest
from reference.ucb import greedy_gain
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    ExpSineSquared,
    Matern,
    WhiteKernel,
)

from skgpb.guarantee import Guarantee
from skgpb.kernels import CellAverage
from skgpb.optimizers import GPTSOptimizer, IGPUCBOptimizer
from skgpb.surrogate.information_gain import (
    GreedyInformationGain,
    information_gain,
    information_gain_order,
)

ARMS = np.linspace(0, 1, 30)[:, None]
BOXES = np.column_stack([ARMS[:-1, 0], ARMS[1:, 0]])


@pytest.mark.parametrize("kernel", [DotProduct(0.0), RBF(0.3), Matern(0.2, nu=1.5)])
def test_greedy_gain_equals_the_naive_reference(kernel):
    gain = GreedyInformationGain(kernel, ARMS, alpha=0.1)
    naive = greedy_gain(kernel(ARMS), 0.1, 25)
    np.testing.assert_allclose([gain(t) for t in range(1, 26)], naive, rtol=0, atol=1e-10)
    chosen = ARMS[gain.arms_chosen]
    np.testing.assert_allclose(information_gain(kernel, chosen, 0.1), naive[-1], atol=1e-10)
    assert gain(0) == 0.0


def test_greedy_gain_bounds_the_largest():
    """All choices of three of six arms, repeats allowed."""
    arms = ARMS[::5]
    gain = GreedyInformationGain(RBF(0.2), arms, alpha=0.05)
    largest = max(
        information_gain(RBF(0.2), arms[list(some)], 0.05)
        for some in itertools.combinations_with_replacement(range(len(arms)), 3)
    )
    assert gain(3) <= largest + 1e-12
    assert largest <= gain.bound(3)


def test_any_kind_of_feedback_and_noise():
    kernel = CellAverage(RBF(0.2) + WhiteKernel(0.3), 4)
    gain = GreedyInformationGain(kernel, BOXES, alpha=0.1)
    noise = 0.1 + 0.3 / 4
    K = CellAverage(RBF(0.2), 4)(BOXES)
    np.testing.assert_allclose(gain(12), greedy_gain(K, noise, 12)[-1], rtol=0, atol=1e-9)
    by_rows = information_gain(kernel, BOXES[gain.arms_chosen], 0.1)
    np.testing.assert_allclose(by_rows, gain(12), rtol=0, atol=1e-9)


def test_order_formulas():
    t, d = 50, 2
    log_t = np.log(t)
    assert information_gain_order(DotProduct(0.0), t, d) == pytest.approx(d * log_t)
    assert information_gain_order(3.0 * RBF(0.2), t, d) == pytest.approx(log_t**3)
    matern = t ** (6 / (2 * 1.5 + 6)) * log_t
    assert information_gain_order(Matern(0.2, nu=1.5), t, d) == pytest.approx(matern)
    assert information_gain_order(Matern(0.2, nu=np.inf), t, d) == pytest.approx(log_t**3)
    mixed = DotProduct() + 2.0 * CellAverage(Matern(0.2, nu=1.5)) + WhiteKernel()
    assert information_gain_order(mixed, t, d) == pytest.approx(matern)
    assert information_gain_order(WhiteKernel() + 2.0 * WhiteKernel(), t, d) == 0.0
    assert information_gain_order(RBF(), 0, d) == information_gain_order(RBF(), 1, d) == 0.0
    for kernel in (ExpSineSquared(), RBF() * DotProduct(), RBF() ** 2):
        with pytest.raises(ValueError, match="greedy"):
            information_gain_order(kernel, t, d)


@pytest.mark.parametrize("kernel", [DotProduct(0.0), RBF(0.2), Matern(0.2, nu=1.5)])
def test_greedy_gain_grows_no_faster_than_its_order(kernel):
    """Between t = 50 and t = 200, with |D| = 200 arms."""
    gain = GreedyInformationGain(kernel, np.linspace(0, 1, 200)[:, None], alpha=0.1)
    order = [information_gain_order(kernel, t, 1) for t in (50, 200)]
    assert gain(200) / gain(50) <= 1.05 * order[1] / order[0]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (2.0, 2.0),
        (lambda t: 0.5 * t, 1.0),
        ("order", np.log(2) ** 2),
        ("greedy", greedy_gain(RBF(0.3)(ARMS), 0.1, 2)[-1] / (1 - 1 / np.e)),
    ],
)
def test_igp_ucb_takes_any_of_them(spec, expected):
    opt = IGPUCBOptimizer(
        RBF(0.3),
        arms=ARMS,
        alpha=0.1,
        guarantee=Guarantee(0.7, noise_bound=0.4),
        information_gain=spec,
    )
    opt.tell(ARMS[3], 0.2)
    mean, std = cases.moments(opt)
    root = 0.7 + 0.4 / np.sqrt(0.1) * np.sqrt(2 * (expected + 1 + np.log(10)))
    np.testing.assert_allclose(cases.scores(opt), mean + root * std, rtol=0, atol=1e-10)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", [0.03, 0.1, 1.0])
@pytest.mark.parametrize("cls", [IGPUCBOptimizer, GPTSOptimizer])
def test_the_width_of_the_theory_holds_for_all_arms_and_rounds_at_once(cls, noise):
    """f of norm B, Gaussian noise: |mean - f| <= sqrt(beta_t) std everywhere, in every round."""
    kernel, rng = RBF(0.1), np.random.default_rng(0)
    arms = np.linspace(0.0, 1.0, 41)[:, None]
    n_runs, n_rounds, kept = 20, 12, 0
    for _ in range(n_runs):
        centers, weights = rng.uniform(size=(5, 1)), rng.normal(size=5)
        norm = float(np.sqrt(weights @ kernel(centers) @ weights))
        f = kernel(arms, centers) @ weights
        opt = cls(
            kernel,
            arms=arms,
            alpha=noise**2,
            guarantee=Guarantee(norm, noise_bound=noise),
            beta="theory",
            random_state=0,
        )
        inside = True
        for _ in range(n_rounds):
            arm = opt.ask()
            opt.tell(arm, f[arm.index] + noise * rng.normal())
            mean, std = cases.moments(opt)
            width = np.sqrt(opt._theory_beta(len(opt.history_) + 1, len(arms)))
            inside &= bool((np.abs(mean - f) <= width * std + 1e-9).all())
        kept += inside
    # Each run fails with a probability of at most 0.1: P(7 or more of 20 do) = 0.0024.
    assert kept > n_runs - 7


@pytest.mark.parametrize("cls", [IGPUCBOptimizer, GPTSOptimizer])
def test_the_bound_on_the_noise_counts_in_units_of_its_standard_deviation(cls):
    def beta(noise=None, norm=1.0, **settings):
        settings |= {"guarantee": Guarantee(norm, noise_bound=noise), "information_gain": 2.0}
        opt = cls(RBF(0.3), arms=ARMS, beta="theory", **settings)
        return opt.fit(ARMS[:1])._theory_beta(2, len(ARMS))

    assert beta(0.1, alpha=0.01) == pytest.approx(beta(2.0, alpha=4.0), rel=1e-13)
    assert beta(alpha=0.01) == beta(0.1, alpha=0.01)
    assert beta(0.2, alpha=0.01) > beta(0.1, alpha=0.01)
    assert beta(0.0, 3.0, alpha=0.0) == 9.0
    with pytest.raises(ValueError, match=r"noise_bound=0.5 with alpha=0"):
        cls(
            RBF(0.3),
            arms=ARMS,
            beta="theory",
            alpha=0.0,
            guarantee=Guarantee(noise_bound=0.5),
            information_gain=2.0,
        ).ask()


def test_bad_input_is_refused():
    for alpha in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="alpha"):
            GreedyInformationGain(RBF(), ARMS, alpha)
        with pytest.raises(ValueError, match="alpha"):
            information_gain(RBF(), ARMS, alpha)
    for t in (-1, 1.5, None):
        with pytest.raises(ValueError, match="t must be"):
            GreedyInformationGain(RBF(), ARMS, 0.1)(t)
    with pytest.raises(ValueError, match="arms"):
        GreedyInformationGain(RBF(), [0.1, 0.2], 0.1)
    with pytest.raises(ValueError, match="greedy"):
        IGPUCBOptimizer(ExpSineSquared(), arms=ARMS, information_gain="order").ask()

"""Widths for functions of bounded norm, against the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import binom
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from skgpb import Guarantee, defaults
from skgpb.exceptions import GuaranteeWarning
from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.bounded_norm import Widths
from skgpb.surrogate.information_gain import GreedyInformationGain, information_gain
from skgpb.surrogate.length_scales import are_length_scales, consistent, shorter
from skgpb.surrogate.widths import balancing_alpha, fits, gain_of, norm_beta, norm_ends

KERNEL = 1.3 * Matern(0.3, nu=1.5)
DELTA = 0.1


def covariance(blocks, others, kernel=KERNEL):
    return np.array([[kernel(a, b).mean() for b in others] for a in blocks])


def observed(seed=0, n=20, kernel=KERNEL, scale=1.0):
    """A process told of points and averages, some again, each with a noise of its own.

    Yields the process, what was observed so far, one answer each, and the noise variances.
    """
    rng = np.random.default_rng(seed)
    known = [rng.random((int(rng.integers(1, 5)), 1)) for _ in range(8)]
    gp = GaussianProcess(kernel, 1)
    gp.set_units(0.0, scale)
    gp.track(known)
    blocks, noises, answers = [], [], []
    for _ in range(n):
        slot = int(rng.integers(12))
        noise, y = float(rng.uniform(0.01, 0.3)), float(rng.normal())
        if slot < 8:
            block = known[slot]
            gp.observe_tracked(slot, y, noise)
        else:
            block = rng.random((2, 1))
            gp.observe(block, y, noise)
        blocks.append(block)
        noises.append(noise)
        answers.append(y)
        yield gp, blocks, np.array(noises), np.array(answers)


def naive_gain(K, noises):
    return 0.5 * np.linalg.slogdet(np.eye(len(K)) + K / noises[:, None])[1]


def test_the_gain_is_that_of_all_answers_after_every_one():
    for gp, blocks, noises, _ in observed():
        # repeats are merged, which must not change it
        expected = naive_gain(covariance(blocks, blocks), noises)
        assert_allclose(gp.posterior.gain, expected, atol=1e-8)
    assert len(gp.observed) < len(blocks)
    assert gp.copy().posterior.gain == gp.posterior.gain


def test_the_gain_follows_answers_told_at_once_and_hyperparameters():
    rng = np.random.default_rng(1)
    X, y, noises = rng.random((12, 1)), rng.normal(size=12), rng.uniform(0.1, 0.2, 12)
    X[5] = X[2]
    gp = GaussianProcess(RBF(0.2), 1)
    gp.observe_all(X[:6], y[:6], noises[:6])
    gp.observe_all(X[4:], y[4:], noises[4:])
    both = np.r_[0:6, 4:12]
    assert_allclose(gp.posterior.gain, naive_gain(RBF(0.2)(X[both]), noises[both]), atol=1e-8)
    other = gp.with_hyperparameters(np.log([0.5]), gp.merged(), 0.0, 1.0)
    assert_allclose(other.posterior.gain, naive_gain(RBF(0.5)(X[both]), noises[both]), atol=1e-8)


def test_white_noise_is_noise():
    gp = GaussianProcess(RBF(0.2) + WhiteKernel(0.3), 1)
    X = np.linspace(0, 1, 5)[:, None]
    gp.observe_all(X, X[:, 0], np.full(5, 0.1))
    assert_allclose(gp.posterior.gain, naive_gain(RBF(0.2)(X), np.full(5, 0.4)), atol=1e-8)


def test_answers_without_noise_have_no_part_in_the_gain():
    X, noises = np.linspace(0, 1, 5)[:, None], np.array([0.1, 0.0, 0.2, 0.0, 0.1])
    gp = GaussianProcess(RBF(0.2), 1)
    gp.observe_all(X, X[:, 0], noises)
    noisy = noises > 0.0
    assert_allclose(gain_of(gp), naive_gain(RBF(0.2)(X[noisy]), noises[noisy]), atol=1e-8)
    exact = GaussianProcess(RBF(0.2), 1)
    exact.observe_all(X, X[:, 0], np.zeros(5))
    assert norm_beta(exact, 2.0, 1.0, DELTA) == 4.0
    with pytest.raises(ValueError, match="misspecification every answer needs a noise variance"):
        norm_beta(exact, 2.0, 1.0, DELTA, 0.1)


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_the_width(scale):
    for gp, _, noises, _ in observed(scale=scale):
        gain = gp.posterior.gain
        excess = 2.0 * 1.5**2 * (gain + np.log(1.0 / DELTA))
        assert_allclose(norm_beta(gp, 2.0, 1.5, DELTA), 4.0 + excess)
        wrong = np.sqrt(4.0 + excess) + 0.3 / scale * np.sqrt((scale**2 / noises).sum())
        assert_allclose(norm_beta(gp, 2.0, 1.5, DELTA, 0.3), wrong**2)


def test_nothing_is_known_but_the_norm_before_the_first_answer():
    gp = GaussianProcess(KERNEL, 1)
    lower, upper = norm_ends(gp, np.array([[0.2]]), 2.0, 1.0, DELTA)
    assert_allclose([lower[0], upper[0]], [-2.0 * np.sqrt(1.3), 2.0 * np.sqrt(1.3)])


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_dual_ends_are_extremes_under_both_constraints(share):
    # The optimal f is a combination of observed and predicted functionals; other parts add norm.
    *_, (gp, blocks, noises, y) = observed(3, n=6)
    asked = [np.array([[0.5]]), np.array([[0.1], [0.3]])]
    lower, upper = norm_ends(gp, asked, 2.0, share, DELTA)
    gain = gp.posterior.gain
    Q = covariance(blocks, blocks) + np.diag(noises)
    most = y @ np.linalg.solve(Q, y) + 2.0 * share**2 * (gain + np.log(1.0 / DELTA))
    for i, phi in enumerate(asked):
        span = [*blocks, phi]
        K = covariance(span, span)
        root = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))

        def norm2(c):
            return 4.0 - c @ c

        def distance2(c, root=root):
            return most - ((y - (root @ c)[:-1]) ** 2 / noises).sum()

        limits = [{"type": "ineq", "fun": norm2}, {"type": "ineq", "fun": distance2}]
        for sign, end in ((1.0, lower[i]), (-1.0, upper[i])):
            start = np.linalg.lstsq(root, np.append(y, 0.0), rcond=None)[0]
            start *= 1.0 / max(1.0, np.linalg.norm(start))
            found = minimize(
                lambda c, s=sign, root=root: s * (root @ c)[-1],
                start,
                constraints=limits,
                options={"maxiter": 500},
            )
            assert found.success
            # weights of the norm are tried at ten values a decade
            assert sign * end <= found.fun + 1e-6
            assert_allclose(sign * end, found.fun, atol=0.01 * (upper[i] - lower[i]))


def test_the_dual_ends_lie_within_those_of_the_ball():
    asked = [np.array([[x]]) for x in np.linspace(0, 1, 21)]
    for gp, *_ in observed(4, n=15):
        lower, upper = norm_ends(gp, asked, 3.0, 1.0, DELTA)
        mean, std = gp.moments(asked, std=True)
        width = np.sqrt(norm_beta(gp, 3.0, 1.0, DELTA)) * std
        assert (lower >= mean - width).all() and (upper <= mean + width).all()
    assert (upper - lower).sum() < 0.95 * 2.0 * width.sum()


def test_a_norm_that_no_answer_fits_is_told():
    gp = GaussianProcess(RBF(0.2), 1)
    for _ in range(20):
        gp.observe(np.array([[0.5]]), 5.0, 0.01)
    asked = np.array([[0.5], [0.9]])
    with pytest.warns(GuaranteeWarning, match="no function of norm B=1 fits the answers"):
        lower, upper = norm_ends(gp, asked, 1.0, 1.0, DELTA)
    mean, std = gp.moments(asked, std=True)
    width = np.sqrt(norm_beta(gp, 1.0, 1.0, DELTA))
    assert_allclose([lower, upper], [mean - width * std, mean + width * std])


def test_an_error_of_the_kernel_is_within_the_width():
    # Without noise all that is wrong is an error of epsilon, here against f wherever it is seen.
    rng = np.random.default_rng(5)
    grid, X = np.linspace(0, 1, 51)[:, None], rng.random((30, 1))
    centers, weights = rng.random((3, 1)), rng.normal(size=3)
    weights *= 2.0 / np.sqrt(weights @ KERNEL(centers) @ weights)
    epsilon, gp = 0.2, GaussianProcess(KERNEL, 1)
    for sign in (1.0, -1.0):
        wrong = sign * epsilon * np.where(X[:, 0] < 0.5, 1.0, -1.0)
        gp = GaussianProcess(KERNEL, 1)
        gp.observe_all(X, KERNEL(X, centers) @ weights + wrong, rng.uniform(0.01, 0.1, 30))
        truth = KERNEL(grid, centers) @ weights - sign * epsilon
        lower, upper = norm_ends(gp, grid, 2.0, 0.0, DELTA, epsilon)
        assert (lower <= truth).all() and (truth <= upper).all()


def test_residuals_larger_than_noise_fit_no_function():
    rng = np.random.default_rng(6)
    X, noise = np.repeat(np.linspace(0, 1, 10), 3)[:, None], 0.04
    truth = 2.0 * KERNEL(X, [[0.4]])[:, 0] / np.sqrt(1.3)
    dropped = 0
    for _ in range(40):
        gp = GaussianProcess(KERNEL, 1)
        gp.observe_all(X, truth + 0.2 * rng.normal(size=30), np.full(30, noise))
        dropped += not fits(gp, 2.0, 1.0, 0.05)
    # dropped with a probability of at most 0.1 in all: more than this with less than 1e-6
    assert dropped <= binom.ppf(1.0 - 1e-6, 40, 0.1)
    outliers = GaussianProcess(KERNEL, 1)
    # repeats that disagree by ten deviations are no noise, whatever f is
    outliers.observe_all(X, truth + np.tile([1.0, -1.0, 0.0], 10), np.full(30, noise))
    assert not fits(outliers, 2.0, 1.0, 0.05)
    assert fits(outliers, 2.0, 5.0, 0.05)
    assert fits(GaussianProcess(KERNEL, 1), 0.0, 1.0, 0.05)


def test_regularisation_makes_both_parts_of_the_width_equal():
    arms, B, R, T = np.linspace(0, 1, 8)[:, None], 2.0, 0.5, 40
    greedy = GreedyInformationGain(KERNEL, arms, R**2)
    greedy(T)
    asked = arms[greedy.arms_chosen]

    def gain(alpha):
        return information_gain(KERNEL, asked, alpha)

    # naively: the first of many values at which the part of the norm is the larger one
    tried = np.geomspace(R**2, 100.0, 4000)
    parts = [
        2.0 * R**2 / a * (naive_gain(KERNEL(asked), np.full(T, a)) + np.log(10)) for a in tried
    ]
    expected = tried[np.argmax(np.array(parts) <= B**2)]
    found = balancing_alpha(gain, B, R)
    assert_allclose(found, expected, rtol=2e-3)
    # after these answers the width of "rkhs" is twice the square of the norm
    gp = GaussianProcess(KERNEL, 1)
    gp.observe_all(asked, np.zeros(T), np.full(T, found))
    assert_allclose(norm_beta(gp, B, R / np.sqrt(found), DELTA), 2.0 * B**2, rtol=1e-5)
    # less than the noise is never taken
    assert balancing_alpha(gain, 50.0, R) == R**2


@pytest.mark.parametrize(("nu", "d"), [(0.5, 1), (1.5, 1), (2.5, 3)])
def test_regularisation_of_matern_kernels_grows_as_in_the_paper(nu, d):
    def alpha(T):
        return balancing_alpha(lambda a: (T / a) ** (d / (2 * nu + d)), 0.1, 1.0)

    # The logarithm of 1 / delta is not seen at such T.
    slope = np.log(alpha(1e30) / alpha(1e28)) / np.log(100.0)
    assert_allclose(slope, d / (2 * nu + 2 * d), rtol=1e-3)


@pytest.mark.parametrize("wrong", [{"B": 0.0}, {"R": -1.0}, {"failure_probability": 1.0}])
def test_regularisation_needs_a_norm_and_noise(wrong):
    with pytest.raises(ValueError, match="B and R must be > 0 and failure_probability in"):
        balancing_alpha(lambda a: 1.0 / a, **({"B": 1.0, "R": 1.0} | wrong))


# -- length scales that the answers do not contradict ---------------------------------------------


def test_length_scales_get_shorter_down_to_their_bounds():
    kernel = 1.3 * Matern([0.5, 0.2], (0.05, 2.0), nu=1.5) + WhiteKernel(0.1)
    assert are_length_scales(kernel).tolist() == [False, True, True, False]
    fixed = 1.3 * Matern([0.5, 0.2], "fixed", nu=1.5)
    assert are_length_scales(fixed).tolist() == [False]
    thetas = shorter(kernel, kernel.theta)
    n = defaults.N_LENGTH_SCALES
    expected = [np.array([0.5, 0.2]) * 0.5 ** (i / 2) for i in range(n)]
    expected = [each for each in expected if each.min() >= 0.05]
    assert 1 < len(expected) < n
    assert_allclose([np.exp(theta[1:3]) for theta in thetas], expected)
    assert all((theta[[0, 3]] == kernel.theta[[0, 3]]).all() for theta in thetas)
    with pytest.raises(ValueError, match="kernel has none that is free"):
        shorter(fixed, fixed.theta)


def contradicted():
    """A process whose answers vary over a tenth of its length scale."""
    gp = GaussianProcess(1.0 * RBF(0.8, (0.01, 10.0)), 1)
    for x in np.linspace(0.0, 1.0, 15):
        gp.observe(np.array([[x]]), float(np.sin(12.0 * x)), 1e-3)
    return gp


def test_processes_of_length_scales_that_do_not_fit_are_left_out():
    gp = contradicted()
    thetas = shorter(gp.kernel, gp.kernel.theta)
    left = consistent(gp, thetas, 4.0, 1.0, 0.05)
    each = [gp.with_kernel(gp.kernel.clone_with_theta(theta), gp.merged()) for theta in thetas]
    fitting = [i for i, one in enumerate(each) if fits(one, 4.0, 1.0, 0.05)]
    assert 0 < len(left) < len(thetas) and fitting == list(range(len(thetas)))[-len(left) :]
    for process, i in zip(left, fitting, strict=True):
        assert_allclose(process.kernel.theta, thetas[i])
    # If none fits, the shortest is left.
    (last,) = consistent(gp, thetas[:2], 0.1, 1.0, 0.05)
    assert_allclose(last.kernel.theta, thetas[1])


def test_intervals_hold_for_every_length_scale_that_fits():
    gp, at = contradicted(), np.array([[0.13], [0.5]])
    longest = gp.kernel.theta
    given = Guarantee(norm_bound=4.0, failure_probability=0.1, misspecification=0.01)
    widths = Widths(gp, given, 1e-3, lambda: 1e-3, longest=longest)
    left = consistent(gp, shorter(gp.kernel, longest), 4.0, 1.0, 0.05)
    assert [p.kernel.theta.tolist() for p in widths.possible()] == [
        p.kernel.theta.tolist() for p in left
    ]
    ends = [norm_ends(process, at, 4.0, 1.0, 0.05, 0.01) for process in left]
    lower, upper = widths.ends(at)
    assert_allclose(lower, np.min([low for low, _ in ends], axis=0))
    assert_allclose(upper, np.max([high for _, high in ends], axis=0))
    thetas = [widths.next_theta(i) for i in range(2 * len(left))]
    assert_allclose(thetas, [process.kernel.theta for process in left] * 2)
    # Without other length scales there is one process, and the whole probability is for it.
    fixed = Widths(gp, given, 1e-3, lambda: 1e-3)
    assert fixed.possible() == [gp]
    assert fixed._bound() == (4.0, 1.0, 0.1, 0.01)
    assert fixed.beta() == pytest.approx(norm_beta(gp, 4.0, 1.0, 0.1, 0.01))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"from_pairs": True}, "learned from pairs"),
        ({"standardizes": True}, "scaled by their standard deviation"),
        ({"learns": True}, "hyperparameters are learned"),
        ({"alpha": None}, "the noise is learned"),
    ],
)
def test_why_widths_are_not_guaranteed_is_said(change, reason):
    given = {"alpha": 0.1} | change
    alpha = given.pop("alpha")
    widths = Widths(contradicted(), Guarantee(), alpha, lambda: 0.1, **given)
    found = widths.invalid_reason
    assert found is None if reason is None else reason in found
    fixed = GaussianProcess(RBF(0.8, "fixed"), 1)
    assert Widths(fixed, Guarantee(), 0.1, lambda: 0.1, learns=True).invalid_reason is None


@pytest.mark.parametrize(
    ("bound", "alpha", "share"),
    [
        (None, 0.04, 1.0),
        (0.0, 0.04, 0.0),
        (0.6, 0.04, 3.0),
        (0.6, None, 2.0),
        (0.6, [0.04, 1.0], 3.0),
    ],
)
def test_the_noise_bound_is_in_standard_deviations_of_the_noise(bound, alpha, share):
    level = 0.04 if alpha is not None else 0.09
    widths = Widths(contradicted(), Guarantee(noise_bound=bound), alpha, lambda: level)
    assert widths._noise_share() == pytest.approx(share)
    if bound:
        for wrong in (0.0, [0.1, 0.0], lambda x: x):
            with pytest.raises(ValueError, match="noise_bound"):
                Widths(
                    contradicted(), Guarantee(noise_bound=bound), wrong, lambda: level
                )._noise_share()
    given = Guarantee(norm_bound=2.0, noise_bound=bound, failure_probability=0.1)
    gain = 3.0
    beta = Widths(contradicted(), given, alpha, lambda: level).beta_of_gain(gain, 2.0)
    assert beta == pytest.approx((2.0 + share * np.sqrt(2 * (gain + 1 + np.log(2.0 / 0.1)))) ** 2)


@pytest.mark.parametrize(("n", "share", "failure_probability"), [(12, 1.0, 0.05), (40, 2.0, 0.3)])
def test_the_squares_of_residuals_are_bounded_by_those_of_noise(n, share, failure_probability):
    """Where f is known to be 0, they are those of the answers, of which some are repeats."""
    rng = np.random.default_rng(0)
    X, noises = rng.integers(0, 5, size=(n, 1)) / 5, rng.uniform(0.5, 2.0, n)
    # By Markov's inequality for the mean of four supermartingales, at the best of their exponents.
    most = min(
        (np.log(4.0 / failure_probability) - 0.5 * n * np.log(1.0 - 2.0 * s)) / s
        for s in (1 / 4, 1 / 8, 1 / 16, 1 / 32)
    )
    y = rng.normal(size=n)
    y *= np.sqrt(share**2 * most / np.sum(y**2 / noises))
    for size in (0.999, 1.001):
        gp = GaussianProcess(1e-12 * KERNEL, 1)
        gp.observe_all(X, size * y, noises)
        assert fits(gp, 1.0, share, failure_probability) == (size < 1.0)

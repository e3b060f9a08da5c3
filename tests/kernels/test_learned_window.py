"""A window learned from pairs: what it recovers, and how it is compared with the operator."""

import pickle

import numpy as np
import pytest
from scipy.stats import sem, truncnorm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import defaults
from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.kernels.learned_window import (
    NARROWEST,
    RidgeScatter,
    embedding_loss,
    learned_conditional,
    learned_window,
)
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess


def pairs(n, clip=False, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(n, 1))
    X = np.hstack([3.0 * A, np.sin(2.0 * A)]) + rng.normal(size=(n, 2)) * [0.3, 0.1]
    return (np.clip(X, [0.0, -1.0], [3.0, 2.0]) if clip else X), A


def test_recovers_map_and_scatter():
    n = 400
    X, A = pairs(n)
    scatter = RidgeScatter(X, A)
    grid = np.linspace(0.05, 0.95, 19)[:, None]
    truth = np.hstack([3.0 * grid, np.sin(2.0 * grid)])
    # The map is a weighted sum of targets, each with a scatter of one: four standard deviations,
    # and one for the bias, which leave-one-out balances with them.
    deviation = np.linalg.norm(scatter.operator.weights(grid), axis=1)
    mean, std = scatter.windows(grid)
    error = np.abs((mean - truth) / [0.3, 0.1])
    assert (error < 5.0 * deviation[:, None]).all()
    assert deviation.max() < 0.2
    # Four standard deviations of a standard deviation.
    np.testing.assert_allclose(std, [[0.3, 0.1]] * 19, rtol=4.0 / np.sqrt(2 * n))
    assert np.isinf(scatter.faces).all()


def test_clipped_points_are_recognised_and_uncensored():
    X, A = pairs(600, clip=True)
    scatter = RidgeScatter(X, A)
    np.testing.assert_array_equal(scatter.faces[:, 0], [0.0, 3.0])
    assert np.isinf(scatter.faces[:, 1]).all()
    assert scatter.tau[0] == pytest.approx(0.3, rel=0.1)
    # one standard deviation from the border a sixth of the mass lies on the face
    rng = np.random.default_rng(1)
    clipped = np.minimum(2.7 + 0.3 * rng.normal(size=200_000), 3.0)
    mean, std = scatter.windows(np.array([[0.9]]))
    assert mean[0, 0] == pytest.approx(clipped.mean(), abs=0.06)
    assert std[0, 0] == pytest.approx(clipped.std(), abs=0.04)


def test_a_mirrored_sample_has_mirrored_windows():
    X, A = pairs(200, clip=True)
    scatter, mirrored = RidgeScatter(X, A), RidgeScatter(-X, A)
    grid = np.linspace(0.0, 1.0, 5)[:, None]
    (mean, std), (other, same) = scatter.windows(grid), mirrored.windows(grid)
    np.testing.assert_allclose(other, -mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(same, std, rtol=1e-9)


def test_moments_after_clipping_equal_simulation():
    scatter = RidgeScatter(*pairs(100))
    scatter.tau, scatter.faces = np.array([0.5, 0.5]), np.array([[0.0, -np.inf], [1.0, np.inf]])
    h = np.array([[-0.3, 0.0], [0.4, 1.0], [1.6, 2.0]])
    mean, variance = scatter._moments(h)
    noise = 0.5 * np.random.default_rng(0).normal(size=(400_000, 1, 1))
    x = np.clip(h + noise, [0.0, -np.inf], [1.0, np.inf])
    np.testing.assert_allclose(mean, x.mean(axis=0), atol=4e-3)
    np.testing.assert_allclose(variance, x.var(axis=0), atol=4e-3)


def test_what_is_clipped_for_certain_keeps_the_narrowest_variance():
    scatter = RidgeScatter(*pairs(100))
    scatter.tau, scatter.faces = np.array([0.5, 0.5]), np.array([[0.0, 0.0], [1.0, 1.0]])
    mean, variance = scatter._moments(np.array([[-60.0, 61.0]]))
    np.testing.assert_allclose(mean, [[0.0, 1.0]], atol=1e-9)
    np.testing.assert_allclose(variance, (0.5 * NARROWEST) ** 2, rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3])
def test_three_equal_points_at_an_end_may_be_clipped(n):
    assert defaults.PILED_UP == 3
    X = np.linspace(0.0, 1.0, 12)[:, None]
    X[:n] = 0.0
    assert np.isfinite(RidgeScatter(X, X + 1.0).faces).ravel().tolist() == [n == 3, False]


@pytest.mark.parametrize("n", [4, 6])
def test_of_a_thousand_pairs_more_than_a_few_must_be_equal_to_be_clipped(n):
    assert defaults.PILED_UP <= 4 < defaults.PILED_UP_SHARE * 1000 < 6
    X, A = np.linspace(0.0, 1.0, 1000)[:, None], np.linspace(0.0, 1.0, 1000)[:, None]
    X[-n:] = 1.0
    assert RidgeScatter(X, A).faces.tolist() == [[-np.inf], [1.0 if n == 6 else np.inf]]


@pytest.mark.parametrize("operator", ["window", "auto"])
def test_two_pairs_are_enough_for_a_window_and_one_is_not(operator):
    X, A = np.array([[0.2], [0.9]]), np.array([[0.1], [0.8]])
    kernel = learned_conditional(X, A, operator, None)
    assert isinstance(kernel, WindowMean if operator == "window" else (WindowMean, ConditionalMean))
    assert np.isfinite(kernel.set_params(base=RBF(0.5))(kernel.queries(A))).all()
    with pytest.raises(ValueError, match="one pair is too few"):
        learned_conditional(X[:1], A[:1], operator, None)


def test_a_given_scale_is_taken_and_clipped():
    rng = np.random.default_rng(3)
    A, tau = rng.uniform(size=(400, 1)), rng.choice([0.05, 0.6], size=(400, 1))
    X = np.clip(3.0 * A + tau * rng.normal(size=(400, 1)), 0.0, 3.0)
    scatter = RidgeScatter(X, np.hstack([A, tau]), scaled=True)
    mean, std = scatter.windows(np.array([[0.5, 0.05], [0.5, 0.6], [0.9, 0.6]]))
    np.testing.assert_allclose(std[0], 0.05, rtol=1e-6)
    clipped = np.clip(2.7 + 0.6 * rng.normal(size=200_000), 0.0, 3.0)
    assert std[2, 0] == pytest.approx(clipped.std(), abs=0.05)
    assert mean[2, 0] == pytest.approx(clipped.mean(), abs=0.1)


def test_clones_share_what_was_learned():
    kernel = clone(smooth_window(30, 0))
    assert clone(kernel) == kernel
    assert clone(kernel).scatter is kernel.scatter


def test_no_faces_are_faces_far_away():
    scatter = RidgeScatter(*pairs(50))
    A = np.linspace(0.0, 1.0, 7)[:, None]
    without = scatter.windows(A)
    scatter.faces = np.array([[-1e9] * 2, [1e9] * 2])
    np.testing.assert_allclose(scatter.windows(A), without, rtol=1e-12)


def test_loss_is_the_distance_of_embeddings():
    kernel = RBF([0.7, 1.3])
    residuals, variances = np.array([[0.2, -0.4]]), np.array([[0.3, 0.1]])
    rng = np.random.default_rng(0)
    u, v = (np.sqrt(variances) * rng.normal(size=(40_000, 2)) for _ in range(2))

    def k(x, y):
        return np.exp(-0.5 * (((x - y) / kernel.length_scale) ** 2).sum(axis=1))

    expected = 1.0 - 2.0 * k(residuals, u).mean() + k(u, v).mean()
    assert embedding_loss(residuals, variances, kernel) == pytest.approx(expected, abs=0.01)


@pytest.mark.slow
def test_beats_the_operator_where_its_assumption_holds_and_not_elsewhere():
    X, A = pairs(300)
    operator = ConditionalMean(X=X, A=A).operator_
    assert learned_window(X, A, operator.embedding_kernel)[1] < operator.loss
    rng = np.random.default_rng(2)
    forked = np.where(rng.uniform(size=A.shape) < 0.5, A, 1.0 - A) + 0.02 * rng.normal(size=A.shape)
    operator = ConditionalMean(X=forked, A=A).operator_
    assert learned_window(forked, A, operator.embedding_kernel)[1] > operator.loss


def test_pickles_and_survives_constant_columns():
    X, A = pairs(80)
    X[:, 1] = 4.0
    window, loss = learned_window(X, A, RBF([1.0, 1.0]))
    assert np.isfinite(loss)
    np.testing.assert_allclose(window.queries(A)[:, 1], 4.0)
    copied = pickle.loads(pickle.dumps(window))
    np.testing.assert_array_equal(copied.queries(A), window.queries(A))


def smooth_window(n, seed, **settings):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(n, 1))
    X = np.sin(2.0 * A) + 0.07 * rng.normal(size=(n, 1))
    kernel = learned_window(X, A, RBF(0.3), **settings)[0]
    kernel.base = RBF(0.1)
    return kernel


def true_rows(kernel, a):
    """Rows of the windows that the pairs came from."""
    return WindowMean(kernel.base, None).queries(
        np.hstack([np.sin(2.0 * a), np.full_like(a, 0.07)])
    )


@pytest.mark.parametrize("n", [50, pytest.param(400, marks=pytest.mark.slow)])
def test_model_noise_of_a_window_is_the_size_of_its_error(n):
    """Over 10 data sets their ratio is 1 on a logarithmic scale, within 5 standard errors.

    A ratio varies by a factor of about 1.7 between data sets, which makes 5 standard errors a
    factor of 2.3.
    """
    a = np.linspace(0.03, 0.97, 30)[:, None]
    ratios = []
    for seed in range(10):
        kernel = smooth_window(n, seed)
        rows, truth = kernel.queries(a), true_rows(kernel, a)
        apart = kernel.diag(rows) + kernel.diag(truth) - 2.0 * np.diag(kernel(rows, truth))
        ratios.append(np.log(kernel.model_noise() / apart.mean()))
    assert abs(np.mean(ratios)) < 5.0 * sem(ratios)


def test_model_noise_of_a_window_follows_the_prior():
    kernel = smooth_window(100, 0)
    noise = kernel.model_noise()
    kernel.base = ConstantKernel(9.0) * RBF(0.1)
    assert kernel.model_noise() == pytest.approx(9.0 * noise, rel=1e-9)
    slopes = kernel.model_noise_gradient()
    assert slopes[0] == pytest.approx(9.0 * noise, rel=1e-6)  # by the logarithm of the amplitude
    kernel.base = RBF(1.0)
    assert kernel.model_noise() < 0.1 * noise
    assert WindowMean(RBF(0.1), 0.07).model_noise() == 0.0


def test_a_process_that_counts_the_error_of_a_window_is_not_confidently_wrong():
    """Answers without noise about f: the window they are explained by comes from 40 pairs."""

    def f(x):
        return np.exp(-0.5 * ((x - 0.7) / 0.1) ** 2)

    nodes = np.linspace(-4.0, 4.0, 201)
    weights = np.exp(-0.5 * nodes**2)
    A, x = np.linspace(0.0, 1.0, 25)[:, None], np.linspace(0.1, 0.9, 33)[:, None]
    answers = f(np.sin(2.0 * A) + 0.07 * nodes) @ weights / weights.sum()
    gaps = {"auto": [], 0.0: []}
    for seed in range(5):
        for model_noise, found in gaps.items():
            process = ConditionalMeanProcess(
                conditional=smooth_window(40, seed), alpha=1e-6, model_noise=model_noise
            )
            mean, std = process.condition_query(A, answers).predict(x, return_std=True)
            found.append(np.sqrt(np.mean(((mean - f(x[:, 0])) / std) ** 2)))
    assert np.mean(gaps["auto"]) < 1.5
    assert np.mean(gaps[0.0]) > 4.0


def test_the_error_is_measured_by_one_evaluator(monkeypatch):
    """Learning asks for it at every step of a search."""
    X, A = pairs(60)
    window, _ = learned_window(X, A, RBF(1.0))
    window.base, made = RBF([1.0, 0.5]), []
    make = WindowMean._make_evaluator
    monkeypatch.setattr(
        WindowMean, "_make_evaluator", lambda *each: made.append(each) or make(*each)
    )
    assert window.model_noise() > 0.0
    assert len(made) == 1


@pytest.mark.parametrize("forks", [False, True])
def test_the_operator_of_pairs_is_the_given_one_or_that_of_the_lower_loss(forks):
    rng = np.random.default_rng(0)
    A = rng.random((60, 1))
    X = 2.0 * A + 0.05 * rng.normal(size=(60, 1))
    if forks:  # two places for each query, which no window describes
        X += np.where(rng.random((60, 1)) < 0.5, -1.0, 1.0)
    embedding = learned_conditional(X, A, "embedding", None)
    window = learned_conditional(X, A, "window", None)
    assert isinstance(embedding, ConditionalMean) and isinstance(window, WindowMean)
    _, loss = learned_window(X, A, embedding.operator_.embedding_kernel, None)
    assert (loss < embedding.operator_.loss) != forks
    best = learned_conditional(X, A, "auto", None)
    assert isinstance(best, ConditionalMean if forks else WindowMean)
    with pytest.raises(ValueError, match="one pair is too few for leave-one-out"):
        learned_conditional(X[:1], A[:1], "auto", None)
    with pytest.raises(ValueError, match="one pair is too few"):
        learned_conditional(X[:1], A[:1], "window", None)


def test_units_of_clipped_points_do_not_matter():
    X, A = pairs(150, clip=True)
    one, grid = RidgeScatter(X, A), np.linspace(0.0, 1.0, 7)[:, None]
    mean, std = one.windows(grid)
    for unit in (100.0, 0.01):
        other = RidgeScatter(unit * X - 3.0, A)
        np.testing.assert_allclose(other.tau, unit * one.tau, rtol=1e-4)
        moved, wide = other.windows(grid)
        np.testing.assert_allclose(moved, unit * mean - 3.0, rtol=1e-3, atol=1e-3 * unit)
        np.testing.assert_allclose(wide, unit * std, rtol=1e-3)


def test_clipped_points_are_expected_beyond_their_face():
    X, A = pairs(150, clip=True)
    scatter = RidgeScatter(X, A)
    imputed = scatter._targets * scatter.spread + scatter.center
    clipped = X[:, 0] >= 3.0
    assert (imputed[clipped, 0] > 3.0).all() and (imputed[X[:, 0] <= 0.0, 0] < 0.0).all()
    inner = (X[:, 0] > 0.0) & (X[:, 0] < 3.0)
    np.testing.assert_allclose(imputed[inner], X[inner], atol=1e-9)
    # One more round: the mean of a normal variable above the face.
    h = (scatter.operator.weights(A) @ scatter._targets) * scatter.spread + scatter.center
    a = (3.0 - h[clipped, 0]) / scatter.tau[0]
    expected = truncnorm.mean(a, np.inf, loc=h[clipped, 0], scale=scatter.tau[0])
    np.testing.assert_allclose(imputed[clipped, 0], expected, rtol=0.02)


def test_scatter_is_that_of_residuals_and_of_what_lies_beyond_the_faces():
    X, A = pairs(150, clip=True)
    for sign in (1.0, -1.0):
        scatter = RidgeScatter(sign * X, A)
        h = (scatter.operator.weights(A) @ scatter._targets) * scatter.spread + scatter.center
        h, tau = h[:, 0], scatter.tau[0]
        low, high = scatter.faces[:, 0]
        below, above = sign * X[:, 0] <= low, sign * X[:, 0] >= high
        assert below.any() and above.any()
        ends = np.where(above, (high - h) / tau, -np.inf), np.where(below, (low - h) / tau, np.inf)
        imputed = (scatter._targets * scatter.spread + scatter.center)[:, 0]
        mean, variance = truncnorm.stats(*ends, loc=h, scale=tau)
        clipped = below | above
        beyond = np.where(above, mean - high, low - mean)[clipped]
        found = np.where(above, imputed - high, low - imputed)[clipped]
        np.testing.assert_allclose(found, beyond, rtol=0.05)
        residuals = scatter.operator.leave_one_out_residuals(scatter._targets)[:, 0]
        residuals = residuals * scatter.spread[0]
        expected = np.mean(residuals**2 + np.where(clipped, variance, 0.0))
        assert tau**2 == pytest.approx(expected, rel=0.02)

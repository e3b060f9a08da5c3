"""The conditional mean process against equations 2 to 5, in every way of using it."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conditional_mean_process import (
    EmpiricalConditional,
    KnownConditional,
    window_distribution,
)
from scipy.linalg import solve_triangular
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
)

from skgpb import defaults
from skgpb.kernels import ConditionalMean, PolicyMean, WindowMean
from skgpb.kernels.evaluator import Functionals, unique_rows
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.surrogate.gram import covariance_of_functionals
from skgpb.surrogate.likelihood import Likelihood, ModelNoise, noise_prior
from skgpb.surrogate.samples import ScaledSamples
from skgpb.utils.roots import PivotedRoot

RNG = np.random.default_rng(0)
D1_A = RNG.uniform(size=(80, 2))
D1_X = np.column_stack((D1_A[:, 0] ** 2, 1 - D1_A[:, 1])) + 0.1 * RNG.normal(size=(80, 2))
ELL, LAM = 1.3 * RBF([0.3, 0.4], "fixed"), 1e-4
ELL.k1.constant_value_bounds = "fixed"
POLICIES = RNG.dirichlet(np.ones(5), size=12)
ARMS = RNG.uniform(size=(5, 2))
SMOOTH = 1.7 * RBF([0.5, 0.8]) + ConstantKernel(0.2)
BASES = [SMOOTH, 0.8 * Matern([0.6, 0.9], nu=2.5), RationalQuadratic(0.7, 1.3)]


def prior_mean(X):
    return 0.3 + X[:, 0] - 0.5 * X[:, 1] ** 2


def zero(X):
    return np.zeros(len(X))


def known_kinds():
    """(name, conditional, naive distribution of a query, points, queries) with known p(x|a)."""
    A, P = RNG.uniform(size=(6, 2)), RNG.uniform(size=(7, 2))
    for window in ("gaussian", "uniform"):
        naive = window_distribution([0.2, 0.1], window, n={"gaussian": 24, "uniform": 12}[window])
        yield f"{window}-window", WindowMean(scale=[0.2, 0.1], window=window), naive, P, A

    def h(A):
        return np.column_stack((np.cos(A[:, 0]), A[:, 0] * A[:, 1]))

    plain = window_distribution(0.15, "gaussian", n=24)
    yield (
        "mapped-window",
        WindowMean(scale=0.15, location=h),
        lambda a: plain(h(a[None])[0]),
        P,
        A,
    )
    agents = np.arange(6.0)[:, None]
    yield (
        "policy",
        PolicyMean(policies=POLICIES, arms=ARMS),
        lambda a: (ARMS, POLICIES[int(a[0])]),
        ARMS,
        agents,
    )


KNOWN = list(known_kinds())
CASES = [
    pytest.param(kind, base, m, id=f"{kind[0]}-{type(base).__name__}-{m.__name__}")
    for kind in KNOWN
    for base, m in zip(BASES, (prior_mean, zero, zero), strict=True)
    # the naive double sum for windows needs a smooth kernel; Matern has its own test of the kernel
    if not ("window" in kind[0] and isinstance(base, type(BASES[1])))
]
EMPIRICAL = [
    pytest.param(base, m, id=f"{type(base).__name__}-{m.__name__}")
    for base in BASES
    for m in (prior_mean, zero)
]


def agree(process, naive, P, A, tolerance=1e-8):
    """Means, deviations and all covariances, of f, of g, and between them."""
    mean_f, cov_f = naive.posterior_f(P)
    mean_g, cov_g = naive.posterior_g(A)
    cov_fg = naive.posterior_fg(P, A)
    scale = max(1.0, np.abs(mean_f).max())
    close = {"rtol": 0, "atol": tolerance * scale}
    assert_allclose(process.predict(P), mean_f, **close)
    assert_allclose(process.predict_query(A), mean_g, **close)
    for got, mean, cov in (
        (process.predict(P, return_cov=True), mean_f, cov_f),
        (process.predict_query(A, return_cov=True), mean_g, cov_g),
    ):
        assert_allclose(got[0], mean, **close)
        assert_allclose(got[1], cov, **close)
    for got, cov in (
        (process.predict(P, return_std=True)[1], cov_f),
        (process.predict_query(A, return_std=True)[1], cov_g),
    ):
        assert_allclose(got**2, np.diag(cov), **close)
    assert_allclose(process.covariance(P, A), cov_fg, **close)
    mean, cov = process.predict_joint(P, A)
    assert_allclose(mean, np.concatenate([mean_f, mean_g]), **close)
    assert_allclose(cov, np.block([[cov_f, cov_fg], [cov_fg.T, cov_g]]), **close)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("kind", "base", "m"), CASES)
def test_known_conditionals_equal_equations_2_to_4(kind, base, m):
    _, conditional, distribution, P, A = kind
    z, noise = RNG.normal(size=4), RNG.uniform(0.01, 0.1, size=4)
    process = ConditionalMeanProcess(base, conditional, mean=None if m is zero else m)
    process.condition_query(A[:4], z, noise)
    agree(process, KnownConditional(base, m, distribution, A[:4], z, noise), P, A)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("base", "m"), EMPIRICAL)
@pytest.mark.parametrize("model_noise", [0.0, 0.07, "auto"])
def test_learned_conditional_equals_equation_5(base, m, model_noise):
    A, P = RNG.uniform(size=(9, 2)), RNG.uniform(size=(7, 2))
    z, noise = RNG.normal(size=6), RNG.uniform(0.01, 0.1, size=6)
    conditional = ConditionalMean(X=D1_X, A=D1_A, query_kernel=ELL, regularization=LAM)
    process = ConditionalMeanProcess(
        base, conditional, mean=None if m is zero else m, model_noise=model_noise
    )
    process.condition_query(A[:6], z, noise)
    assert process.model_noise_ >= 0.0 and (process.model_noise_ > 0.0) == (model_noise != 0.0)
    total = noise + process.model_noise_
    agree(process, EmpiricalConditional(base, m, ELL, LAM, D1_X, D1_A, A[:6], z, total), P, A)


@pytest.fixture(params=["window", "uniform", "policy", "learned"])
def setting(request):
    """(conditional, points, queries)"""
    A, P = np.random.default_rng(3).uniform(size=(2, 8, 2))
    if request.param == "policy":
        return PolicyMean(policies=POLICIES, arms=ARMS), ARMS, np.arange(8.0)[:, None]
    if request.param == "learned":
        return ConditionalMean(X=D1_X, A=D1_A, query_kernel=ELL, regularization=LAM), P, A
    window = {"window": "gaussian"}.get(request.param, "uniform")
    return WindowMean(scale=0.2, window=window), P, A


def test_direct_and_indirect_observations_mix_in_any_order(setting):
    conditional, P, A = setting
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=5), rng.normal(size=3)
    process = ConditionalMeanProcess(SMOOTH, conditional, alpha=0.05)
    process.condition_query(A[:5], z).condition_point(P[:3], y, alpha=0.01)
    other = ConditionalMeanProcess(SMOOTH, conditional, alpha=0.05)
    for i in range(5):
        if i < 3:
            other.condition_point(P[i], y[i], 0.01)
        other.condition_query(A[i], z[i])
    kernel = clone(conditional).set_params(base=SMOOTH)
    rows = np.vstack((kernel.queries(A[:5]), kernel.points(P[:3])))
    noise = np.append(np.full(5, 0.05 + process.model_noise_), np.full(3, 0.01))
    plain = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    plain.fit(rows, np.append(z, y))
    for one in (process, other):
        assert one.n_observations_ == 8
        for got, want in (
            (one.predict(P, return_cov=True), plain.predict(kernel.points(P), return_cov=True)),
            (
                one.predict_query(A, return_cov=True),
                plain.predict(kernel.queries(A), return_cov=True),
            ),
        ):
            assert_allclose(got[0], want[0], atol=1e-9)
            assert_allclose(got[1], want[1], atol=1e-9)
        assert_allclose(
            one.log_marginal_likelihood_value_, plain.log_marginal_likelihood_value_, rtol=1e-9
        )


def test_joint_draws_have_the_posterior_moments(setting):
    conditional, P, A = setting
    process = ConditionalMeanProcess(SMOOTH, conditional, alpha=0.02)
    process.condition_query(A[[1, 5]], [0.9, -0.7])
    for draw, predict, where in (
        (process.sample_y, process.predict, P),
        (process.sample_query, process.predict_query, A),
    ):
        mean, cov = predict(where, return_cov=True)
        draws = draw(where, 40_000, random_state=1)
        assert draws.shape == (len(where), 40_000)
        # standard errors of a mean and of a covariance
        var = np.diag(cov)
        assert (np.abs(draws.mean(axis=1) - mean) < 5 * np.sqrt(var / 40_000) + 1e-4).all()
        error = np.sqrt((np.outer(var, var) + cov**2) / 40_000)
        assert (np.abs(np.cov(draws) - cov) < 5 * error + 1e-4).all()
        assert_array_equal(draw(where, 3, 1), draw(where, 3, 1))


def test_draws_resolve_a_grid_with_few_pivots():
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 20)] * 2), axis=-1).reshape(-1, 2)
    process = ConditionalMeanProcess(RBF(0.4), WindowMean(scale=0.1), alpha=1e-4)
    process.condition_query([[0.2, 0.3], [0.8, 0.5]], [1.0, -1.0])
    gp, rows = process.process_, process.kernel_.points(grid)
    points = Functionals.of_rows(rows)
    root = PivotedRoot(lambda i: gp.covariance(points, points.one(i))[:, 0], gp.variance(points))
    factor, pivots = root.factor, root.pivots
    assert len(pivots) < 80
    gp.track(rows)
    V = gp.posterior.tracked_rows()
    B = solve_triangular(factor[pivots], V[pivots], lower=True)
    covariance = factor @ (np.eye(len(pivots)) - B @ B.T) @ factor.T
    assert_allclose(covariance, process.predict(grid, return_cov=True)[1], atol=3e-4**1.5)


def test_rows_that_a_domain_has_checked_are_observed_as_queries_are(setting):
    conditional, _, A = setting
    one, other = (ConditionalMeanProcess(SMOOTH, clone(conditional)) for _ in range(2))
    one.condition_query(A[:2], [0.1, 0.9], alpha=[0.02, 0.3])
    rows = other.condition_query(A[:1], 0.1, alpha=0.02).kernel_.rows_of_queries(A)
    other._observe(rows[1:2], 0.9, 0.3)
    assert_allclose(other._moments(rows), one.predict_query(A, return_std=True), atol=1e-12)
    assert_array_equal(other._moments(rows), other.predict_query(A, return_std=True))
    assert_array_equal(other.noise_of(), one.noise_of())


def test_repeated_answers_are_merged_exactly(setting):
    conditional, P, A = setting
    process = ConditionalMeanProcess(SMOOTH, conditional, alpha=0.3, model_noise=0.0)
    for z in (0.1, 0.5, 0.9):
        process.condition_query(A[1], z)
    single = ConditionalMeanProcess(SMOOTH, conditional, alpha=0.1, model_noise=0.0)
    single.condition_query(A[1], 0.5)
    assert process.process_.posterior.n == 1 and process.n_observations_ == 3
    assert_allclose(process.predict(P), single.predict(P), atol=1e-12)


def test_model_noise_is_for_answers_only():
    conditional = ConditionalMean(X=D1_X, A=D1_A, query_kernel=ELL, regularization=LAM)
    process = ConditionalMeanProcess(RBF(0.5), conditional, alpha=0.1, model_noise=0.4)
    assert process.noise_of() == 0.5 and process.noise_of(0.2) == pytest.approx(0.6)
    process.condition_query([0.5, 0.5], 1.0).condition_point([0.2, 0.2], 1.0)
    assert_allclose(process.process_.posterior.noises(), [0.5, 0.1])
    for known in (WindowMean(scale=0.1), PolicyMean(policies=POLICIES, arms=ARMS)):
        assert ConditionalMeanProcess(RBF(0.5), known).model_noise_ == 0.0


# ---- units and hyperparameters ----


def test_units_change_nothing_but_the_amplitude(setting):
    conditional, P, A = setting
    z = np.array([3.0, 5.0, 10.0, 4.0])
    center, scale = z.mean(), z.std()
    scaled = ConditionalMeanProcess(SMOOTH, conditional, alpha=0.3, normalize_y=True)
    scaled.condition_query(A[:4], z)
    plain = ConditionalMeanProcess(SMOOTH, conditional, alpha=0.3 / scale**2)
    plain.condition_query(A[:4], (z - center) / scale)
    assert (scaled.center_, scaled.scale_) == (center, scale)
    assert scaled.model_noise_ == pytest.approx(plain.model_noise_ * scale**2)
    scaled.condition_query(A[6], 7.0)
    plain.condition_query(A[6], (7.0 - center) / scale)
    for call in ("predict", "predict_query"):
        where = P if call == "predict" else A
        mean, cov = getattr(scaled, call)(where, return_cov=True)
        mean_, cov_ = getattr(plain, call)(where, return_cov=True)
        assert_allclose(mean, center + scale * mean_, rtol=1e-10)
        assert_allclose(cov, scale**2 * cov_, rtol=1e-7, atol=1e-10)
        mean, std = getattr(scaled, call)(where, return_std=True)
        mean_, std_ = getattr(plain, call)(where, return_std=True)
        assert_allclose(mean, center + scale * mean_, rtol=1e-10)
        assert_allclose(std, scale * std_, rtol=1e-8)
    assert_allclose(scaled.sample_y(P, 5), center + scale * plain.sample_y(P, 5), rtol=1e-6)
    assert_allclose(scaled.covariance(P, A), scale**2 * plain.covariance(P, A), atol=1e-9)
    scaled.learn()  # no optimizer: only the units follow
    everything = np.append(z, 7.0)
    assert scaled.center_ == pytest.approx(everything.mean())
    assert scaled.scale_ == pytest.approx(everything.std())


def test_learning_raises_the_likelihood_and_keeps_everything(setting):
    conditional, P, A = setting
    rng = np.random.default_rng(5)
    process = ConditionalMeanProcess(
        2.0 * RBF(0.15), conditional, alpha=0.01, optimizer="fmin_l_bfgs_b"
    )
    z = np.sin(3 * A[:, 0]) + 0.01 * rng.normal(size=8)
    process.condition_query(A, z).condition_point(P[:2], [0.1, 0.2])
    before, theta = process.log_marginal_likelihood_value_, process.kernel_.theta
    process.learn()
    assert process.log_marginal_likelihood_value_ > before
    assert (process.kernel_.theta != theta).any() and process.n_observations_ == 10
    fresh = ConditionalMeanProcess(process.kernel_.base, conditional, alpha=0.01)
    fresh.condition_query(A, z).condition_point(P[:2], [0.1, 0.2])
    assert fresh.model_noise_ == pytest.approx(process.model_noise_)
    assert_allclose(process.predict(P), fresh.predict(P), atol=1e-7)
    assert_allclose(process.predict_query(A), fresh.predict_query(A), atol=1e-7)


def test_what_was_predicted_before_the_first_answer_changes_nothing():
    kernel, far = DotProduct(0.5) + RBF(0.3), [[0.0], [9.0]]
    process = ConditionalMeanProcess(kernel, WindowMean(scale=0.1), alpha=None)
    fresh = clone(process).condition_query([[0.1], [0.5]], [1.0, 2.0])
    process.predict(far)
    process.condition_query([[0.1], [0.5]], [1.0, 2.0])
    assert process.alpha_ == fresh.alpha_
    assert_array_equal(process.predict(far), fresh.predict(far))


def test_noise_in_scaled_units_is_that_of_the_user(setting):
    conditional, P, A = setting
    z = 7.0 + 3.0 * np.sin(3 * A[:, 0])
    unknown = ConditionalMeanProcess(SMOOTH, conditional, alpha=None, normalize_y=True)
    assert (unknown.center_, unknown.scale_) == (0.0, 1.0)  # before the first answer
    unknown.condition_query(A, z)
    assert unknown.scale_ == pytest.approx(z.std()) and unknown.scale_ != pytest.approx(1.0)
    known = clone(unknown).set_params(alpha=unknown.alpha_).condition_query(A, z)
    before = known.predict(P, return_std=True)
    assert_allclose(unknown.predict(P, return_std=True), before, rtol=1e-9)
    # Nothing is free: what is learned is what is in use.
    assert_allclose(known.learn().predict(P, return_std=True), before, rtol=1e-7)


def test_draws_are_those_of_the_hyperparameters_in_use(setting):
    conditional, P, A = setting
    process = ConditionalMeanProcess(
        2.0 * RBF(0.15), conditional, alpha=0.01, optimizer="fmin_l_bfgs_b"
    )
    process.condition_query(A, np.sin(3 * A[:, 0]))
    before = process.sample_y(P, 3)
    process.learn()
    twin = pickle.loads(pickle.dumps(process))  # the copy has drawn nothing yet
    assert_array_equal(process.sample_y(P, 3), twin.sample_y(P, 3))
    assert not np.allclose(process.sample_y(P, 3), before)


def test_units_stay_where_the_first_answers_are_not_taken(setting, monkeypatch):
    conditional, P, A = setting
    process = ConditionalMeanProcess(SMOOTH, conditional, normalize_y=True)
    process.predict(P)

    def fail(*arguments):
        raise np.linalg.LinAlgError

    with monkeypatch.context() as patch:
        patch.setattr(type(process.process_), "observe_all", fail)
        with pytest.raises(np.linalg.LinAlgError):
            process.condition_query(A, 7.0 + A[:, 0])
    assert (process.center_, process.scale_) == (0.0, 1.0)
    assert_array_equal(process.predict(P), np.zeros(len(P)))


def test_a_pickled_process_continues(setting):
    conditional, P, A = setting
    process = ConditionalMeanProcess(SMOOTH, conditional, normalize_y=True)
    assert_array_equal(pickle.loads(pickle.dumps(process)).predict(P), process.predict(P))
    process.condition_query(A[:2], [1.0, 2.0])
    copies = [pickle.loads(pickle.dumps(process)), copy.deepcopy(process)]
    for one in copies:
        one.condition_query(A[5], 0.7)
    process.condition_query(A[5], 0.7)
    for one in copies:
        assert_array_equal(one.predict(P), process.predict(P))
        assert_array_equal(one.sample_y(P, 3), process.sample_y(P, 3))
    fresh = clone(process)
    assert not hasattr(fresh, "kernel_") and fresh.n_observations_ == 0


def test_rows_are_embedded_once():
    conditional = ConditionalMean(X=D1_X, A=D1_A, query_kernel=ELL, regularization=LAM)
    process = ConditionalMeanProcess(RBF(0.5), conditional)
    A, P = RNG.uniform(size=(50, 2)), RNG.uniform(size=(40, 2))
    process.predict(P[:1])
    sizes, embed = [], process.process_._evaluator.embed
    process.process_._evaluator.embed = lambda rows: sizes.append(len(rows)) or embed(rows)
    for i in range(6):
        process.condition_query(A[3 * i], 0.1 * i)
    assert max(sizes) == 1
    process.predict(P[:5])
    process.condition_query(RNG.uniform(size=2), 0.3)
    assert max(sizes) == 5  # new rows; the observed ones by themselves, once
    assert sum(sizes) == 6 + 5 + 6 + 1


# ---- errors ----


def state(process):
    """All that was observed, and what follows from it."""
    samples = vars(process._model.samples)
    return pickle.dumps((process.predict(D1_X, return_std=True), samples, process.scale_))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("free", [True, False])
def test_slopes_of_the_likelihood_with_unknown_noise_equal_differences(setting, free):
    conditional, P, A = setting
    kernel = clone(conditional)
    kernel.base = clone(SMOOTH)
    # Repeats and values; every third observation comes with its own noise.
    rows = np.vstack((kernel.queries(A[[0, 1, 2, 1, 1, 0]]), kernel.points(P[:4])))
    unknown = np.arange(len(rows)) % 3 > 0
    prior, _ = noise_prior(1.3)
    asked = np.arange(len(rows)) < 6
    numbers, first = unique_rows(rows)
    z = np.random.default_rng(3).normal(size=len(rows))
    samples = ScaledSamples(numbers, z, np.where(unknown, np.nan, 0.2))
    functionals = Functionals.of_rows(rows[first])
    model_noise = ModelNoise(kernel, asked, None if free else kernel.model_noise())
    covariance = covariance_of_functionals(kernel, functionals, free)
    objective = Likelihood(covariance, samples, None, prior, model_noise)
    x = np.append(kernel.theta if free else [], -1.5)
    value, slope = objective(x)
    steps = 1e-5 * np.eye(len(x))
    differences = [(objective(x + h)[0] - objective(x - h)[0]) / 2e-5 for h in steps]
    assert_allclose(slope, differences, rtol=1e-5, atol=1e-6)
    # The same density, with every sample a functional of its own.
    theta = kernel.theta
    noise = np.where(unknown, np.exp(-1.5), 0.2) + model_noise(theta)[0]
    Q = kernel(rows) + np.diag(noise)
    expected = multivariate_normal(np.zeros(len(z)), Q).logpdf(z) + prior(x[-1:])[0]
    assert_allclose(value, expected, rtol=1e-9)


def test_noise_that_is_not_known_is_learned_from_repeats(setting):
    conditional, P, A = setting
    rng = np.random.default_rng(5)
    process = ConditionalMeanProcess(SMOOTH, conditional, alpha=None, model_noise=0.0)
    g = clone(process).sample_query(A, random_state=1)[:, 0]
    with pytest.raises(AttributeError, match="alpha_ is not known"):
        _ = process.alpha_
    answers = [g + 0.3 * rng.normal(size=len(A)) for _ in range(30)]
    for z in answers:
        process.condition_query(A, z)
    kernel = process.kernel_
    assert_allclose(process.alpha_, defaults.NOISE * kernel.diag(kernel.queries(A)).mean())
    process.condition_query(A[:1], [2.0], alpha=[5.0])
    process.condition_query(A[0], 2.0, alpha=5.0).condition_point(P[:1], [0.4])
    before, theta = process.log_marginal_likelihood_value_, process.kernel_.theta
    process.learn()  # without an optimizer, the noise alone
    assert_array_equal(process.kernel_.theta, theta)
    assert process.log_marginal_likelihood_value_ > before
    assert 0.5 < process.alpha_ / 0.3**2 < 2.0
    assert process.noise_of() == process.alpha_
    known = ConditionalMeanProcess(SMOOTH, conditional, alpha=process.alpha_, model_noise=0.0)
    for z in answers:
        known.condition_query(A, z)
    known.condition_query(A[[0, 0]], [2.0, 2.0], alpha=5.0).condition_point(P[:1], [0.4])
    assert_allclose(process.predict(P, True), known.predict(P, True), rtol=1e-6, atol=1e-8)
    copied = pickle.loads(pickle.dumps(process))
    assert copied.alpha_ == process.alpha_
    assert copied.learn().alpha_ == process.learn().alpha_
    for alpha in (-1.0, np.inf, [0.1, 0.2]):
        with pytest.raises(ValueError, match="alpha"):
            process.condition_query(A[:1], [1.0], alpha=alpha)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("condition_query", ([[0.1, np.nan]], [1.0]), "A must be finite"),
        ("condition_query", ([[0.1]], [1.0]), "."),
        ("condition_query", ([[0.1, 0.2]], [np.nan]), "observations"),
        ("condition_query", ([[0.1, 0.2]], [1.0, 2.0]), "expected 1 observations"),
        ("condition_query", ([[0.1, 0.2]], ["x"]), "observations"),
        ("condition_query", ([[0.1, 0.2]], [1.0], -1.0), "noise variances"),
        ("condition_query", ([[0.1, 0.2]], [1.0], [0.1, 0.2]), "alpha must be"),
        ("condition_point", ([[0.1, np.inf]], [1.0]), "X must be finite"),
        ("condition_point", ([[0.1, 0.2, 0.3]], [1.0]), "."),
        ("condition_query", ([0.1, 0.2], np.inf), "observations"),
        ("condition_query", ([0.1, 0.2], 1.0, np.nan), "alpha must be an array of finite numbers"),
        ("predict", ([["a", "b"]],), "X must hold real numbers"),
        ("predict", ([[0.1, np.nan]],), "X must be finite"),
        ("predict_query", ([0.1, 0.2],), "A must have shape"),
    ],
)
@pytest.mark.parametrize("kind", ["window", "learned"])
def test_bad_input_is_named_and_changes_nothing(kind, call, arguments, message):
    conditional = (
        WindowMean(scale=0.2)
        if kind == "window"
        else ConditionalMean(X=D1_X, A=D1_A, query_kernel=ELL, regularization=LAM)
    )
    A = RNG.uniform(size=(4, 2))
    process = ConditionalMeanProcess(RBF(0.5), conditional, normalize_y=True)
    with pytest.raises(ValueError):
        process.condition_query(A[:2], [1.0, np.inf])
    assert process.n_observations_ == 0 and process.scale_ == 1.0
    process.condition_query(A[:2], [1.0, 2.0])
    before = state(process)
    with pytest.raises(ValueError, match=message):
        getattr(process, call)(*arguments)
    assert before == state(process)


def test_bad_parameters_are_named():
    A = [[0.1, 0.2]]
    with pytest.raises(ValueError, match="'conditional' parameter"):
        ConditionalMeanProcess(RBF()).predict(A)
    for name, value in (("alpha", -1.0), ("model_noise", "some"), ("kernel", 3), ("mean", "m")):
        process = ConditionalMeanProcess(conditional=WindowMean(scale=0.1)).set_params(
            **{name: value}
        )
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            process.condition_query(A, [1.0])
    process = ConditionalMeanProcess(conditional=WindowMean(scale=0.1), mean=lambda X: X)
    with pytest.raises(ValueError, match="mean"):
        process.condition_query(A, [1.0])
    assert process.n_observations_ == 0
    with pytest.raises(RuntimeError, match="At most one"):
        ConditionalMeanProcess(conditional=WindowMean(scale=0.1)).predict(A, True, True)


def test_policies_that_are_no_probabilities_lose_nothing():
    table = np.array(POLICIES)
    conditional = PolicyMean(policies=lambda A: table[A[:, 0].astype(int)], arms=ARMS)
    process = ConditionalMeanProcess(RBF(0.5), conditional).condition_query([[1]], [0.5])
    before = process.predict(ARMS)
    table[2] *= 1.1
    with pytest.raises(ValueError, match=r"row 0 sums to 1\.1"):
        process.condition_query([[2]], [0.5])
    assert_array_equal(process.predict(ARMS), before)
    process.condition_query([[3]], [0.5])
    assert process.n_observations_ == 2


def test_default_prior_and_prediction_without_data():
    process = ConditionalMeanProcess(conditional=WindowMean(scale=0.3))
    mean, std = process.predict([[0.0], [1.0]], return_std=True)
    assert_array_equal(mean, [0.0, 0.0])
    assert_allclose(std, 1.0)
    _, std = process.predict_query([[0.0]], return_std=True)
    assert_allclose(std**2, 1 / np.sqrt(1 + 2 * 0.3**2))
    assert_allclose(
        ConditionalMeanProcess(conditional=WindowMean(scale=0.3), mean=2).predict([[0.1]]), 2.0
    )
    base = ConditionalMeanProcess(None, WindowMean(RBF(0.2), scale=0.3))
    assert base.predict([[0.0]]).shape == (1,) and base.kernel_.base == RBF(0.2)


def test_learning_from_some_answers_is_learning_without_the_others(monkeypatch):
    rng = np.random.default_rng(2)
    A = rng.uniform(size=(30, 1))
    pairs = ConditionalMean(RBF(0.3), A + 0.1 * rng.normal(size=A.shape), A)
    queries, points = rng.uniform(size=(12, 1)), rng.uniform(size=(9, 1))
    z, y = np.sin(6.0 * queries[:, 0]), np.sin(6.0 * points[:, 0])
    some = np.array([0, 3, 4, 8, 11, 12, 15, 19, 20])
    found = []
    for q, p in ((slice(None), slice(None)), (some[some < 12], some[some >= 12] - 12)):
        process = ConditionalMeanProcess(
            1.0 * RBF(0.3), pairs, alpha=1e-3, optimizer="fmin_l_bfgs_b"
        )
        process.condition_query(queries[q], z[q]).condition_point(points[p], y[p])
        with monkeypatch.context() as patch:
            if isinstance(q, slice):
                patch.setattr("skgpb.surrogate.learning.random_subsample", lambda n, before: some)
            found.append(process.learn().kernel_.theta)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)
    assert np.abs(found[1] - np.log([1.0, 0.3])).max() > 0.05

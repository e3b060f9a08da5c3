"""GaussianProcess against the posterior written down, in every unit, and its bookkeeping."""

from __future__ import annotations

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skgpb.exceptions import NumericalWarning
from skgpb.kernels import CellAverage, ConditionalMean, LowRank, WindowMean
from skgpb.kernels.evaluator import Functionals, unique_rows
from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.draws import posterior_sampler
from skgpb.surrogate.model import Samples

KERNEL = 1.5 * RBF([0.4, 0.7])
RNG = np.random.default_rng(0)
#: Points, and means over two and three of them; then the functionals to predict.
BLOCKS = [RNG.random((n, 2)) for n in (1, 1, 2, 3, 1, 2)]
OTHERS = [RNG.random((n, 2)) for n in (1, 3, 2, 1)]
#: Number of the functional of each answer: some are repeated.
OF = [0, 1, 2, 0, 3, 2, 4, 2, 5, 0]
Y = 3.0 + 2.0 * RNG.normal(size=len(OF))
NOISE = RNG.uniform(0.1, 0.8, size=len(OF))


def averages(blocks):
    rows = np.concatenate(blocks)
    sizes = [len(block) for block in blocks]
    return rows, np.repeat(np.eye(len(blocks)) / np.array(sizes)[:, None], sizes, axis=1)


def covariances(one, other, kernel=KERNEL):
    (A, a), (B, b) = averages(one), averages(other)
    return a @ kernel(A, B) @ b.T


def direct(asked, offset=0.0, scale=1.0, kernel=KERNEL, noise=NOISE, y=Y):
    """Mean and covariance in the user's units, without merging or updating anything."""
    told = [BLOCKS[i] for i in OF[: len(y)]]
    G = scale**2 * covariances(told, told, kernel) + np.diag(noise[: len(y)])
    k = scale**2 * covariances(asked, told, kernel)
    mean = offset + k @ np.linalg.solve(G, y - offset)
    return mean, scale**2 * covariances(asked, asked, kernel) - k @ np.linalg.solve(G, k.T)


def density(offset=0.0, scale=1.0, kernel=KERNEL, noise=NOISE):
    """Log density of all answers in units of the process."""
    told = [BLOCKS[i] for i in OF]
    G = covariances(told, told, kernel) + np.diag(noise) / scale**2
    return multivariate_normal.logpdf((Y - offset) / scale, cov=G)


def observed(offset=0.0, scale=1.0, tracked=True):
    gp = GaussianProcess(KERNEL, 2)
    gp.set_units(offset, scale)
    if tracked:
        gp.track(BLOCKS + OTHERS)
    numbers = []
    for i, y, noise in zip(OF, Y, NOISE, strict=True):
        if tracked:
            numbers.append(gp.observe_tracked(i, y, noise))
        else:
            numbers.append(gp.observe(BLOCKS[i], y, noise))
    assert numbers == [0, 1, 2, 0, 3, 2, 4, 2, 5, 0]
    return gp


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("units", [(0.0, 1.0), (2.5, 3.0)])
def test_the_posterior_is_the_direct_one_in_any_units(units, tracked):
    gp = observed(*units, tracked)
    mean, cov = direct(OTHERS, *units)
    assert_allclose(gp.moments(OTHERS), mean, rtol=1e-10)
    assert_allclose(gp.moments(OTHERS, std=True)[1], np.sqrt(np.diag(cov)), rtol=1e-9)
    assert_allclose(gp.moments(OTHERS, cov=True)[1], cov, rtol=0, atol=1e-10)
    several = Functionals.of(OTHERS, 2)
    some = Functionals.of(OTHERS[1:], 2)
    expected = cov[:, 1:] / units[1] ** 2
    assert_allclose(gp.posterior_covariance(several, some), expected, rtol=0, atol=1e-11)
    gp.track(BLOCKS + OTHERS)
    mean, cov = direct(BLOCKS + OTHERS, *units)
    for one, other in zip(gp.tracked_moments(), (mean, np.sqrt(np.diag(cov))), strict=True):
        assert_allclose(one, other, rtol=1e-9)
    assert gp.posterior.log_marginal_likelihood() == pytest.approx(density(*units), abs=1e-10)


def test_other_units_keep_every_covariance():
    gp, (offset, scale) = observed(2.5, 3.0), (-1.0, 0.5)
    gp.set_units(offset, scale)
    # The prior scales, and the noise with it.
    mean, cov = direct(OTHERS, offset, scale, noise=NOISE * (scale / 3.0) ** 2)
    assert_allclose(gp.moments(OTHERS), mean, rtol=1e-10)
    assert_allclose(gp.tracked_moments()[0][len(BLOCKS) :], mean, rtol=1e-10)
    assert_allclose(gp.moments(OTHERS, cov=True)[1], cov, rtol=0, atol=1e-10)
    noise = NOISE * (scale / 3.0) ** 2
    expected = density(offset, scale, noise=noise)
    assert gp.posterior.log_marginal_likelihood() == pytest.approx(expected, abs=1e-9)


def test_learning_anew_keeps_the_likelihood_of_the_raw_answers():
    """Merged answers carry what the samples behind them add, in whatever units."""
    gp, theta, units = observed(2.5, 3.0), KERNEL.theta + 0.3, (0.5, 1.7)
    samples = Samples()
    for i, y, noise in zip(OF, Y, NOISE, strict=True):
        samples.append(i, y, noise)
    anew = samples.scaled(*units).merged()
    changed = gp.merged().to_units(2.5, 3.0, *units)
    for name in ("y", "noise", "square", "log"):
        assert_allclose(getattr(changed, name), getattr(anew, name), rtol=1e-9, err_msg=name)
    kernel = KERNEL.clone_with_theta(theta)
    mean, cov = direct(OTHERS, *units, kernel)
    for merged in (anew, changed):
        out = gp.with_hyperparameters(theta, merged, *units)
        value = out.posterior.log_marginal_likelihood()
        assert value == pytest.approx(density(*units, kernel), abs=1e-9)
        assert_allclose(out.tracked_moments()[0][len(BLOCKS) :], mean, rtol=1e-9)
        assert_allclose(out.moments(OTHERS, cov=True)[1], cov, rtol=0, atol=1e-10)
        assert_array_equal(out.posterior.counts(), [3, 1, 3, 1, 1, 1])
        assert out.number_of(BLOCKS[3]) == 3  # and further answers go where they went
        assert out.observe_tracked(3, 1.0, 0.1) == 3
    assert gp.kernel is KERNEL and (gp.offset, gp.scale) == (2.5, 3.0)


@pytest.mark.parametrize("units", [(0.0, 1.0), (2.5, 3.0)])
def test_imagined_answers_are_expected_and_as_noisy_as_real_ones(units):
    gp = observed(*units)
    before, cov = direct(OTHERS, *units)
    fantasized = gp.fantasize([OTHERS[1], BLOCKS[0]], [0.3, 0.2])
    assert_allclose(fantasized.moments(OTHERS), before, rtol=1e-9)
    joint = direct([*OTHERS, BLOCKS[0]], *units)[1]
    for i, noise in ((1, 0.3), (4, 0.2)):
        joint = joint - np.outer(joint[i], joint[i]) / (joint[i, i] + noise)
    std = np.sqrt(np.diag(joint)[:4])
    assert_allclose(fantasized.moments(OTHERS, std=True)[1], std, rtol=1e-8)
    assert_allclose(fantasized.tracked_moments()[1][len(BLOCKS) :], std, rtol=1e-8)
    # The process itself has seen nothing.
    assert_allclose(gp.moments(OTHERS, cov=True)[1], cov, rtol=0, atol=1e-10)
    assert len(gp.observed) == 6 and fantasized.number_of(OTHERS[1]) == 6
    assert gp.number_of(OTHERS[1]) == -1


def test_many_at_once_are_told_as_if_one_after_another():
    rows = np.vstack([RNG.random((6, 2))[[0, 1, 0, 2, 3, 0, 1]], BLOCKS[0]])
    y, noises = RNG.normal(size=8), RNG.uniform(0.1, 0.5, 8)
    for merge in (True, False):
        one, many = observed(2.5, 3.0), observed(2.5, 3.0)
        for row, reward, noise in zip(rows, y, noises, strict=True):
            one.observe(row[None], reward, noise)
        many.observe_all(rows, y, noises, merge)
        assert_allclose(many.moments(OTHERS), one.moments(OTHERS), rtol=1e-9)
        assert_allclose(many.tracked_moments(), one.tracked_moments(), rtol=1e-8)
        assert len(many.observed) == (10 if merge else 14)
        values = [gp.posterior.log_marginal_likelihood() for gp in (one, many)]
        assert values[1] == pytest.approx(values[0], abs=1e-8)
        expected = [4, 1, 3, 1, 1, 1, 3, 2, 1, 1] if merge else [3, 1, 3, 1, 1, 1, *[1] * 8]
        assert_array_equal(many.posterior.counts(), expected)


def test_many_at_once_are_told_all_or_none(monkeypatch):
    gp = observed()
    before = gp.moments(OTHERS, cov=True)
    rows, y = np.vstack([RNG.random((2, 2)), BLOCKS[0]]), np.ones(3)

    def fails(*_):
        raise np.linalg.LinAlgError

    with monkeypatch.context() as patch:
        patch.setattr(GaussianProcess, "_repeat", fails)
        with pytest.raises(np.linalg.LinAlgError):
            gp.observe_all(rows, y, y)  # the new ones are taken before the repeated one fails
    for one, other in zip(gp.moments(OTHERS, cov=True), before, strict=True):
        assert_array_equal(one, other)
    assert len(gp.observed) == 6 and gp.number_of(rows[:1]) == -1
    gp.observe_all(rows, y, y)
    assert len(gp.observed) == 8 and gp.number_of(rows[:1]) == 6


def test_zero_of_either_sign_is_one_descriptor():
    plus, minus = np.array([[0.0, 0.5]]), np.array([[-0.0, 0.5]])
    gp = GaussianProcess(KERNEL, 2)
    gp.track([plus])
    assert gp.observe(minus, 1.0, 0.1) == gp.observe(plus, 2.0, 0.1) == 0
    assert gp.observe_tracked(0, 3.0, 0.1) == gp.number_of(minus) == gp.number_of(plus) == 0
    gp.observe_all(np.vstack([minus, plus, plus]), np.ones(3), np.ones(3))
    assert len(gp.observed) == 1 and gp.posterior.counts()[0] == 6
    both = np.vstack([plus, minus, plus + 1.0])
    numbers, first = unique_rows(both)
    assert numbers.tolist() == [0, 0, 1] and first == [0, 2]
    numbers, first = unique_rows(both, merge=False)
    assert numbers.tolist() == first == [0, 1, 2]


def test_white_noise_is_added_to_each_answer_and_keeps_repeats_apart():
    kernel = CellAverage(RBF([0.4, 0.7]) + WhiteKernel(0.3), 2)
    boxes = np.hstack([RNG.random((3, 2)), 1.0 + RNG.random((3, 2))])
    gp, of = GaussianProcess(kernel, 4), [0, 1, 0, 2]
    gp.set_units(1.0, 2.0)
    gp.track(boxes)
    for slot, y in zip(of, Y, strict=False):
        number = gp.observe_tracked(slot, y, 0.2)
    assert number == 3 and gp.number_of(boxes[:1]) == -1
    assert_allclose(gp.white_noise(gp.tracked), 0.3 / 4)  # the mean of four values
    assert_allclose(gp.noises(), 0.2 / 4)
    K = kernel(boxes, boxes.copy())
    G = K[np.ix_(of, of)] + (0.2 / 4 + 0.3 / 4) * np.eye(4)
    gain = np.linalg.solve(G, K[of])
    mean, cov = 1.0 + 2.0 * gain.T @ ((Y[:4] - 1.0) / 2.0), K - K[of].T @ gain
    for one, other in zip(gp.tracked_moments(), (mean, 2.0 * np.sqrt(np.diag(cov))), strict=True):
        assert_allclose(one, other, rtol=1e-9)
    rows = GaussianProcess(kernel, 4)
    rows.set_units(1.0, 2.0)
    rows.observe_all(boxes[of], Y[:4], np.full(4, 0.2))
    assert_allclose(rows.moments(boxes), mean, rtol=1e-9)
    # Numbers are those of the answers, of what is not tracked as well.
    assert rows.observe(boxes[:1], 0.5, 0.2) == 4 and rows.observe(boxes[:1], 0.5, 0.2) == 5


def test_what_is_tracked_may_be_replaced_and_appended():
    gp = observed()
    gp.track([OTHERS[1], OTHERS[0]], [2, len(gp.tracked)])
    blocks = [*BLOCKS[:2], OTHERS[1], *BLOCKS[3:], *OTHERS, OTHERS[0]]
    mean, cov = direct(blocks)
    for one, other in zip(gp.tracked_moments(), (mean, np.sqrt(np.diag(cov))), strict=True):
        assert_allclose(one, other, rtol=1e-9)
    for i, block in enumerate(blocks):
        assert_array_equal(gp.tracked[i], block)
    gp.track(OTHERS)
    assert len(gp.tracked) == 4
    twin = pickle.loads(pickle.dumps(gp))
    for each in (gp, twin):
        each.observe_tracked(1, 4.0, 0.2)
    assert_array_equal(twin.tracked_moments(), gp.tracked_moments())


def test_functionals_are_tracked_again_with_the_moments_that_they_had():
    gp = observed()
    known = gp.posterior.known_moments()
    order = np.array([3, 0, len(BLOCKS) + 1])
    again = [(BLOCKS + OTHERS)[i] for i in order]
    gp.track(again, moments=tuple(each[order] for each in known))
    assert len(gp.tracked) == 3
    for _ in range(2):
        mean, std = gp.tracked_moments()
        assert_allclose((mean, std), gp.moments(again, std=True), rtol=1e-9)
        gp.observe_tracked(0, 7.0, 0.2)


def test_points_that_are_tracked_may_be_replaced():
    gp, points = GaussianProcess(RBF(0.4), n_columns=2), RNG.random((6, 2))
    gp.observe(points[:1], 1.0, 0.1)
    gp.track(points[:4])
    gp.track(points[4:], [2, 0])
    assert_array_equal(gp.tracked.rows, points[[5, 1, 4, 3]])
    assert_allclose(gp.tracked_moments(), gp.moments(points[[5, 1, 4, 3]], std=True), rtol=1e-9)


def test_a_slot_that_is_filled_anew_is_another_functional():
    gp, twin = observed(), observed(tracked=False)
    gp.observe_tracked(0, 4.0, 0.2)
    gp.track(OTHERS)
    gp.observe_tracked(0, 5.0, 0.3)
    twin.observe(BLOCKS[0], 4.0, 0.2)
    twin.observe(OTHERS[0], 5.0, 0.3)
    assert_allclose(gp.tracked_moments(), twin.moments(OTHERS, std=True), rtol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        LowRank(RBF(0.4), RNG.random((30, 2)), 1e-4),
        WindowMean(RBF(0.4), 0.1),
        ConditionalMean(RBF(0.4), *RNG.random((2, 20, 1)), regularization=0.1),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_what_is_remembered_of_a_functional_goes_with_it(kernel):
    """Kernels whose embeddings are kept, as a whole or row by row."""
    rows = RNG.random((9, 2))
    if hasattr(kernel, "queries"):
        rows = np.vstack([kernel.points(rows[:5, :1]), kernel.queries(rows[5:, 1:])])
    n_columns = rows.shape[1]
    gp, fresh = GaussianProcess(kernel, n_columns), GaussianProcess(kernel, n_columns)
    gp.track(rows[:6])
    gp.observe_tracked(1, 0.3, 0.1)
    gp.track(rows[6:8], [1, 6])
    final = [*rows[[0, 6, 2, 3, 4, 5, 7]]]
    gp.observe_tracked(1, 1.0, 0.1)
    twin = gp.copy()
    gp.observe(rows[8:], 2.0, 0.1)
    for row, y in zip(rows[[1, 6, 8]], (0.3, 1.0, 2.0), strict=True):
        fresh.observe(row[None], y, 0.1)
    fresh.track(np.array(final))
    assert_allclose(gp.tracked_moments(), fresh.tracked_moments(), rtol=1e-8, atol=1e-10)
    for each in (gp, twin):
        each.observe_tracked(6, -1.0, 0.1)
    fresh.observe(rows[7:8], -1.0, 0.1)
    assert_allclose(gp.tracked_moments(), fresh.tracked_moments(), rtol=1e-8, atol=1e-10)
    twin.observe(rows[8:], 2.0, 0.1)
    assert_allclose(twin.tracked_moments(), fresh.tracked_moments(), rtol=1e-8, atol=1e-10)


def test_an_answer_far_more_precise_than_what_was_known_is_merged_by_hand():
    X = np.linspace(0, 1, 3)[:, None]
    gp = GaussianProcess(RBF(0.3), 1)
    gp.track(X)
    told = [(0, 1.0, 1e8), (1, 0.5, 0.1), (0, 2.0, 1e-3), (0, 2.5, 1e-2)]
    for slot, y, noise in told:
        gp.observe_tracked(slot, y, noise)
    of, y, noise = map(np.array, zip(*told, strict=True))
    G = RBF(0.3)(X)[np.ix_(of, of)] + np.diag(noise)
    # SciPy's density takes a matrix of this condition for a singular one.
    expected = -0.5 * (y @ np.linalg.solve(G, y) + np.linalg.slogdet(2.0 * np.pi * G)[1])
    assert gp.posterior.log_marginal_likelihood() == pytest.approx(expected, abs=1e-8)
    assert_allclose(gp.moments(X), RBF(0.3)(X)[:, of] @ np.linalg.solve(G, y), rtol=1e-7)
    assert_array_equal(gp.posterior.counts(), [3, 1])


def test_deviations_are_those_of_points_from_a_mean():
    gp = observed(2.5, 3.0)
    rows = RNG.random((5, 2))
    single = covariances([rows[i : i + 1] for i in range(5)], [OTHERS[1]])[:, 0]
    own = covariances([OTHERS[1]], [OTHERS[1]])[0, 0]
    assert_allclose(gp.deviations(OTHERS[1], rows) ** 2, 1.5 + own - 2 * single, rtol=1e-10)


def test_the_smallest_jitter_that_helps_is_added_or_nothing_changes():
    gp, X = GaussianProcess(ConstantKernel(4.0), 1), np.arange(3.0)[:, None]
    gp.observe(X[:1], 1.0, 0.0)
    with pytest.warns(NumericalWarning, match=r"jitter 4\.0e-10 was added .* of 1 obs"):
        gp.observe(X[1:2], 1.0, 0.0)
    assert_allclose(gp.noises(), [0.0, 4e-10])


def test_exact_answers_come_back_from_what_is_kept():
    gp, X = GaussianProcess(RBF(0.3), 1), np.array([[0.1], [0.6]])
    for x, y in zip(X, (1.0, -2.0), strict=True):
        gp.observe(x[np.newaxis], y, 0.0)
    again = gp.without_answers(gp.kernel)
    again._answers = gp._answers
    assert_array_equal(again.noises(), [0.0, 0.0])
    assert_allclose(again.moments(X), [1.0, -2.0])


class Impossible(RBF):
    """Covariances of 2 between points of variance 1."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return np.where(cdist(X, X if Y is None else Y) > 0.0, 2.0, 1.0)


@pytest.mark.parametrize(("unit", "said"), [(1.0, "-3.0e+00"), (10.0, "-3.0e+02")])
def test_a_variance_below_zero_is_reported_in_units_of_the_user(unit, said):
    gp = GaussianProcess(Impossible(), 1)
    gp.set_units(5.0, unit)
    gp.track(np.array([[0.0], [1.0]]))
    with pytest.warns(NumericalWarning, match=f"variance of {re.escape(said)} was set to 0"):
        gp.observe_tracked(0, 1.0, 0.0)


class Rounded(RBF):
    """Covariances of three points; the last has a variance of -5e-10 given the others."""

    TABLE = np.eye(3)
    TABLE[0, 1:] = TABLE[1:, 0] = np.sqrt([1.0 - 1e-6, 1.0 - 2e-6])
    TABLE[1, 2] = TABLE[2, 1] = TABLE[0, 1] * TABLE[0, 2] + np.sqrt(1e-6 * (2e-6 + 5e-10))

    def __call__(self, X, Y=None, eval_gradient=False):
        return self.TABLE[
            np.ix_(*(np.ravel(rows).astype(int) for rows in (X, X if Y is None else Y)))
        ]


def test_observations_before_take_jitter_where_the_smallest_is_too_little():
    gp, X = GaussianProcess(Rounded(1.0), 1), np.arange(3.0)[:, None]
    gp.observe(X[:1], 1.0, 0.0)
    gp.observe(X[1:2], 1.0, 1e-12)
    gp.observe(X[1:2], 1.0, 1e-12)
    with pytest.warns(NumericalWarning, match=r"jitter 1\.0e-09 was added .* of 3 obs"):
        gp.observe(X[2:], 1.0, 0.0)
    assert_allclose(gp.noises(), [1e-9, 1e-9, 1e-9])
    assert gp.posterior.counts().tolist() == [1, 2, 1]
    L = gp.posterior.factor()
    assert_allclose(L @ L.T, Rounded.TABLE + 1e-9 * np.eye(3), atol=1e-15)


def test_thinned_averages_keep_their_number_and_spread():
    many = Functionals.of([np.arange(n, dtype=float)[:, None] for n in (10, 4, 1)], 1)
    thin = many.thin(9)
    assert [thin[i][:, 0].tolist() for i in range(3)] == [[0.0, 3.0, 6.0], [0.0, 1.0, 2.0], [0.0]]
    assert many.thin(15) is many


@pytest.mark.parametrize("offsets", [[0, 2, 2, 3], [0, 2, 1, 3], [1, 3], [0, 2], []])
def test_functionals_of_a_file_have_rows(offsets):
    rows = np.arange(6.0).reshape(3, 2)
    assert len(Functionals.between(rows, np.array([0, 2, 3]))) == 2
    with pytest.raises(ValueError, match="functionals"):
        Functionals.between(rows, np.array(offsets, dtype=int))


def test_joint_draws_have_the_moments_of_the_posterior():
    rng = np.random.default_rng(0)
    gp = GaussianProcess(1e-6 * RBF(0.3), 1)
    gp.set_units(2.0, 5e3)
    gp.observe_all(rng.random((6, 1)), rng.normal(size=6), np.full(6, 0.1))
    row_sets = [rng.random((n, 1)) for n in (1, 3, 2, 1, 4, 1)]
    draw = posterior_sampler(gp, row_sets)
    mean, cov = gp.moments(row_sets, cov=True)
    # Draws from unit vectors are the columns of a root of the covariance.
    units = SimpleNamespace(standard_normal=lambda shape: np.eye(*shape))
    root = draw(len(row_sets), units) - mean
    assert_allclose(root.T @ root, cov, atol=1e-6)
    zeros = SimpleNamespace(standard_normal=np.zeros)
    assert_allclose(draw(1, zeros)[0], mean)

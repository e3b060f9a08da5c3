"""Answers of several numbers with correlated errors, compared with dense algebra."""

from __future__ import annotations

import pickle

import cases
import numpy as np
import pytest
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from skgpb import IDSOptimizer, KGOptimizer, MESOptimizer, TargetsOptimizer
from skgpb.acquisition.blocks import inverse_root, log_block_gain, standard_draws
from skgpb.acquisition.entropy import LARGEST_SHARE
from skgpb.domains import Blocks
from skgpb.guarantee import Guarantee
from skgpb.surrogate.widths import WEIGHTS

KERNEL = 0.9 * Matern(0.3, nu=2.5)
PLACES = np.linspace(0, 1, 6)
#: Three numbers of each query, of a spectrum say.
ROWS = np.stack([PLACES, 0.9 * PLACES + 0.1, 1.0 - PLACES], axis=1)[:, :, None]
TARGETS = np.linspace(0, 1, 9)[:, None]
#: An error of each number, and one of the calibration.
SHARED = np.diag([0.02, 0.03, 0.01]) + 0.05 * np.outer([1.0, 1.0, -0.5], [1.0, 1.0, -0.5])
EACH = SHARED * np.linspace(0.5, 2.0, 6)[:, None, None]
COMMON = np.outer([0.2, 0.3, -0.1], [0.2, 0.3, -0.1])
COST = np.linspace(1, 2, 6)
SETTINGS = {"queries": Blocks(ROWS), "targets": TARGETS, "cost": COST, "random_state": 0}


def made(cls=KGOptimizer, **settings):
    return cls(**{"kernel": KERNEL, "alpha": EACH} | SETTINGS | settings)


def answer(query):
    return np.sin(5 * query.descriptor[:, 0]).tolist()


def dense(told, rewards, noises, rows, kernel=KERNEL):
    """Means and covariances of rows, given answers with these covariances of noise."""
    if not told:
        return np.zeros(len(rows)), kernel(rows, rows.copy())
    X = np.concatenate(told)
    C = np.linalg.inv(kernel(X, X.copy()) + block_diag(*noises))
    across = kernel(rows, X)
    mean = across @ C @ np.concatenate(rewards)
    return mean, kernel(rows, rows.copy()) - across @ C @ across.T


EVERY = np.vstack([*ROWS, TARGETS])


@pytest.mark.parametrize(
    ("alpha", "of"),
    [
        (EACH, lambda i: EACH[i]),
        (SHARED, lambda i: SHARED),
        (SHARED[None], lambda i: SHARED),
        # Only what all have in common: what is left is told without noise.
        (COMMON, lambda i: COMMON),
    ],
    ids=["of each query", "of all", "of all, in one", "singular"],
)
def test_round_by_round_it_does_what_the_definition_says(alpha, of):
    optimizer, full = made(alpha=alpha), IDSOptimizer(information="full")
    directed = IDSOptimizer()
    told, rewards, noises = [], [], []
    for i in range(5):
        mean, cov = dense(told, rewards, noises, EVERY)
        posterior = optimizer.posterior()
        np.testing.assert_allclose(posterior.query_mean, mean[:18], rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.query_var, np.diag(cov)[:18], rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.target_mean, mean[18:], rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.covariance, cov[:18, 18:], rtol=0, atol=1e-8)
        draws = standard_draws(3, optimizer._rng_of_round(0))
        incumbent, rival, _ = directed._rival(posterior)
        w = np.zeros(len(TARGETS))
        w[rival], w[incumbent] = 1.0, -1.0
        among = cov[18:, 18:]
        gains, told_of_all, about = [], [], []
        for number in range(6):
            own = slice(3 * number, 3 * number + 3)
            S, C = cov[own, own] + of(number), cov[own, 18:]
            gains.append(np.exp(log_block_gain(mean[18:], inverse_root(S) @ C, draws)))
            R = of(number)
            told_of_all.append(0.5 * (np.linalg.slogdet(S)[1] - np.linalg.slogdet(R)[1]))
            explained = w @ C.T @ np.linalg.pinv(S, 1e-12, hermitian=True) @ C @ w
            share = min(explained / (w @ among @ w), LARGEST_SHARE)
            about.append(-0.5 * np.log1p(-share))
        found = np.exp(cases.scores(optimizer))
        np.testing.assert_allclose(found, np.array(gains) / COST, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(directed.information_gain(posterior), about, 1e-6, 1e-12)
        if np.linalg.matrix_rank(of(0)) == 3:
            gained = full.information_gain(posterior)
            np.testing.assert_allclose(gained, told_of_all, rtol=0, atol=1e-8)
        # The same question once more, of whose answer nothing is told without noise.
        if i == 3 and alpha is not COMMON:
            query = optimizer.domain_.found(told[0])
        else:
            query = optimizer.ask()
            assert query.index == int(np.argmax(found))
        optimizer.tell(query, answer(query))
        told.append(query.descriptor)
        rewards.append(answer(query))
        noises.append(of(query.index))


def test_answers_may_be_told_with_noise_of_any_kind():
    """Answers are one number, or several with noise alone and in common."""
    optimizer = made(alpha=0.1)
    told, rewards, noises = [], [], []
    for number, alpha, R in [
        (2, None, 0.1 * np.eye(3)),
        (2, SHARED, SHARED),
        (4, SHARED, SHARED),
        (2, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.3])),
        (2, 2 * SHARED, 2 * SHARED),
        (4, 0.2, 0.2 * np.eye(3)),
    ]:
        query = made().start().domain_.arm(number)
        value = [*np.random.default_rng(len(told)).normal(size=3)]
        optimizer.tell(query, value, alpha)
        told.append(query.descriptor)
        rewards.append(value)
        noises.append(R)
    optimizer.tell([0.45], 0.3, 0.05)
    told.append(np.array([[0.45]]))
    rewards.append([0.3])
    noises.append([[0.05]])
    mean, cov = dense(told, rewards, noises, TARGETS)
    found = optimizer.predict(TARGETS, return_cov=True)
    np.testing.assert_allclose(found[0], mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1], cov, rtol=0, atol=1e-8)
    X, y = np.concatenate(told), np.concatenate(rewards)
    Q = KERNEL(X) + block_diag(*noises)
    log_likelihood = -0.5 * (y @ np.linalg.solve(Q, y) + np.linalg.slogdet(2 * np.pi * Q)[1])
    surrogate = optimizer.surrogate_
    assert surrogate.log_marginal_likelihood_value_ == pytest.approx(log_likelihood, abs=1e-8)
    theta = surrogate.kernel_.theta
    assert surrogate.log_marginal_likelihood(theta) == pytest.approx(log_likelihood, abs=1e-8)


@pytest.mark.parametrize("rule", ["kg", "ids", "mes"])
def test_what_is_pending_counts_as_answered(rule):
    optimizer = TargetsOptimizer(rule, KERNEL, alpha=EACH, **SETTINGS)
    first, second = optimizer.ask(2)
    pending = optimizer.posterior([first])
    expected = pending.query_var, pending.covariance
    optimizer.tell(first, answer(first))
    found = optimizer.posterior([])
    for a, b in zip(expected, (found.query_var, found.covariance), strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-8)
    optimizer.tell(second.descriptor, answer(second))
    assert not optimizer._record.pending


def test_a_common_error_is_not_taken_for_three_of_their_own():
    """Numbers that are all too high by as much say little of the level, and much of differences."""
    common, alone = (
        made(kernel=RBF(0.3), alpha=R[None])
        for R in (np.full((3, 3), 0.5) + 1e-4 * np.eye(3), np.diag([0.5001] * 3))
    )
    for optimizer in (common, alone):
        optimizer.start()
        query = optimizer.domain_.arm(5)
        optimizer.tell(query, [1.0, 1.0, 0.0])  # at 1, 1 and 0
    ends = np.array([[0.0], [1.0]])
    rises = []
    for optimizer in (common, alone):
        mean, cov = optimizer.predict(ends, return_cov=True)
        rises.append((mean[1] - mean[0], cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]))
    assert rises[0][0] > 0.99 > rises[1][0] and rises[0][1] < 1e-3 < 0.1 < rises[1][1]


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer, MESOptimizer, TargetsOptimizer])
def test_a_run_is_saved_and_goes_on(cls, tmp_path):
    for optimizer in (
        made(cls),
        made(cls, kernel=None, n_initial=3),
    ):
        optimizer.run(answer, budget=5)
        optimizer.tell(optimizer.ask(), None)
        optimizer.tell(optimizer.ask(), [0.1, 0.2, 0.3], SHARED)
        optimizer.ask(2)
        optimizer.save(tmp_path / "run")
        twins = [cls.load(tmp_path / "run"), cases.loaded(cls, tmp_path / "run", True)]
        twins += [pickle.loads(pickle.dumps(optimizer)), optimizer.repeated(optimizer.events_)]
        for twin in twins:
            np.testing.assert_array_equal(twin.history_, optimizer.history_)
            assert twin.ask(3) == optimizer.ask(3) and twin.recommend() == optimizer.recommend()
            # A file is factorised in another order.
            digits = {"rtol": 1e-10, "atol": 1e-12} if twin is twins[0] else {"rtol": 0}
            predictions = twin.predict(TARGETS), optimizer.predict(TARGETS)
            np.testing.assert_allclose(*predictions, **digits)
        np.testing.assert_array_equal(clone(optimizer).alpha, optimizer.alpha)


def test_white_noise_of_a_kernel_comes_on_top():
    kernel = RBF(0.3) + WhiteKernel(0.04)
    optimizer = made(kernel=kernel, alpha=SHARED)
    told, rewards = [], []
    for number in (1, 4, 1):
        query = made().start().domain_.arm(number)
        optimizer.tell(query, answer(query))
        told.append(query.descriptor)
        rewards.append(answer(query))
    noises = [SHARED + 0.04 * np.eye(3)] * 3
    mean, cov = dense(told, rewards, noises, TARGETS, kernel=RBF(0.3))
    posterior = optimizer.posterior()
    np.testing.assert_allclose(posterior.target_mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior.target_var, np.diag(cov), rtol=0, atol=1e-8)


def test_it_is_the_same_in_contexts_and_in_either_direction():
    kernel = Matern([0.5, 0.3], nu=2.5)
    optimizer = made(kernel=kernel, alpha=EACH, context_bounds=[(0, 1)])
    told, rewards, noises = [], [], []
    for context in (0.2, 0.8, 0.5):
        query = optimizer.ask(context=context)
        optimizer.tell(query, answer(query))
        told.append(query.descriptor)
        rewards.append(answer(query))
        noises.append(EACH[query.index])
    at = np.column_stack([np.full(9, 0.4), TARGETS])
    mean, cov = dense(told, rewards, noises, at, kernel)
    found = optimizer.predict(at, return_cov=True)
    np.testing.assert_allclose(found[0], mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1], cov, rtol=0, atol=1e-8)
    up, down = made(), made(direction="minimize")
    for _ in range(3):
        query = up.ask()
        assert down.ask() == query
        up.tell(query, answer(query))
        down.tell(query, [-each for each in answer(query)])
    np.testing.assert_array_equal(down.history_["mean"], -up.history_["mean"])


def test_intervals_are_those_of_independent_combinations():
    """Answers turned by a root of the covariance are independent, and say the same."""
    optimizer = made(guarantee=Guarantee(2.0))
    told, rewards, noises = [], [], []
    for number in (1, 4, 2):
        query = made().start().domain_.arm(number)
        optimizer.tell(query, answer(query))
        told.append(query.descriptor)
        rewards.append(answer(query))
        noises.append(EACH[number])
    X, y = np.concatenate(told), np.concatenate(rewards)
    L = np.linalg.cholesky(block_diag(*noises))
    turned = np.linalg.solve(L, KERNEL(X)) @ np.linalg.inv(L).T
    gain = 0.5 * np.linalg.slogdet(np.eye(9) + turned)[1]
    beta = 4.0 + 2.0 * (gain + np.log(10.0))
    mean, cov = dense(told, rewards, noises, TARGETS)
    lower, upper = optimizer.interval(TARGETS)
    half = np.sqrt(beta * np.diag(cov))
    uppers = [mean + half]
    Q = KERNEL(X) + block_diag(*noises)
    for weight in WEIGHTS:
        R = KERNEL(X) + weight * block_diag(*noises)
        across = np.linalg.solve(R, KERNEL(X, TARGETS))
        most = y @ np.linalg.solve(Q, y) + 2.0 * (gain + np.log(10.0))
        square = 4.0 + most / weight - y @ np.linalg.solve(R, y)
        var = KERNEL.diag(TARGETS) - (KERNEL(TARGETS, X) * across.T).sum(axis=1)
        uppers.append(across.T @ y + np.sqrt(square * var))
    np.testing.assert_allclose(upper, np.min(uppers, axis=0), rtol=0, atol=1e-8)
    assert (lower < mean).all() and (mean < upper).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": np.eye(2)}, "alpha must have one finite number >= 0 for each of 6 queries"),
        ({"alpha": SHARED - 0.2}, "without negative eigenvalues; the one given has -0"),
        ({"alpha": EACH - 0.2}, "without negative eigenvalues; that of query 0 has -0"),
        ({"alpha": np.triu(SHARED)}, "alpha must have symmetric covariances; the one given is"),
        ({"alpha": np.stack([SHARED] * 2)}, r"\(6, 3, 3\) or \(1, 3, 3\); got shape \(2, 3, 3\)"),
        ({"alpha": np.full((1, 3, 3), np.nan)}, "alpha must be an array of finite numbers"),
        (
            {"queries": Blocks([[[0.1]], [[0.2], [0.3]]]), "alpha": SHARED[None], "cost": None},
            "alpha must have no covariances where queries have different numbers of rows",
        ),
        (
            {"queries": Blocks(ROWS[:3]), "alpha": SHARED, "cost": None},
            r"alpha of shape \(3, 3\) may be variances of the 3 rows of 3 queries, or the covar",
        ),
        ({"alpha": np.full((1, 3, 3), 0.1), "optimizer": "consistent"}, "needs noise, alpha > 0"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings).ask()


def test_as_many_queries_as_rows():
    """Variances that are not symmetric are those of rows; a covariance is given in three axes."""
    three = {"queries": Blocks(ROWS[:3]), "cost": None}
    variances = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]])
    optimizer = made(alpha=variances, **three).start()
    np.testing.assert_array_equal(optimizer.posterior().query_noise, variances.ravel())
    together = made(alpha=SHARED[None], **three).start()
    np.testing.assert_allclose(together.posterior().noises, [SHARED] * 3, rtol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        (np.eye(2), r"\(1, 3, 3\) or \(1, 3, 3\); got shape \(1, 2, 2\)"),
        (SHARED - 0.2, "without negative eigenvalues"),
        (np.full((3, 3), np.inf), "finite"),
    ],
)
def test_noise_that_cannot_be_leaves_no_trace(alpha, message):
    optimizer = made()
    query = optimizer.ask()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(query, [1.0, 2.0, 3.0], alpha)
    assert not len(optimizer.history_) and list(optimizer._record.pending) == [query]

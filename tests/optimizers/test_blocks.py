"""Queries whose answers are several numbers, compared with dense algebra over their rows."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from reference.ids import moments
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from skgpb import IDSOptimizer, KGOptimizer, MESOptimizer, TargetsOptimizer
from skgpb.acquisition.blocks import N_DRAWS, log_block_gain, standard_draws
from skgpb.acquisition.knowledge import log_knowledge_gradient
from skgpb.domains import Arm, Blocks
from skgpb.kernels import CellAverage, Derivative

KERNEL = Derivative(RBF(0.3))
PLACES = np.linspace(0, 1, 7)
#: A value and its slope at each place.
ROWS = [[[x, -1.0], [x, 0.0]] for x in PLACES]
TARGETS = np.column_stack([np.linspace(0, 1, 12), np.full(12, -1.0)])
NOISES = np.column_stack([np.linspace(0.01, 0.02, 7), np.linspace(0.3, 0.2, 7)])
COST = np.linspace(1, 2, 7)
SETTINGS = {"kernel": KERNEL, "queries": Blocks(ROWS), "targets": TARGETS}
SETTINGS |= {"alpha": NOISES, "cost": COST, "random_state": 0}


def answer(query):
    return [np.sin(5 * x) if axis < 0 else 5 * np.cos(5 * x) for x, axis in query.descriptor]


class Dense:
    """All rows that were told, one below the other."""

    def __init__(self, n_answers):
        self.optimizer = KGOptimizer(**SETTINGS)
        self.rows, self.rewards, self.noises = [], [], []
        for _ in range(n_answers):
            query = self.optimizer.ask()
            self.optimizer.tell(query, answer(query))
            self.rows += [*query.descriptor]
            self.rewards += answer(query)
            self.noises += [*NOISES[query.index]]

    def moments(self, rows):
        return moments(KERNEL, rows, np.array(self.rows), self.rewards, self.noises)

    def of_query(self, number):
        """Covariance of an answer, and its covariances with the targets."""
        _, cov = self.moments(np.vstack([ROWS[number], TARGETS]))
        return cov[:2, :2] + np.diag(NOISES[number]), cov[:2, 2:]


def rise(mean, S, C):
    """Expected rise of the largest mean over a fine grid of answers of two numbers."""
    grid = np.linspace(-6, 6, 241)
    z = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    share = np.exp(-0.5 * (z**2).sum(axis=1))
    moved = mean + z @ np.linalg.solve(np.linalg.cholesky(S), C)
    best = moved.max(axis=1)
    value = (share * best).sum() / share.sum() - mean.max()
    return value, np.sqrt((share * (best - best @ share / share.sum()) ** 2).sum() / share.sum())


@pytest.mark.parametrize("n_answers", [0, 1, 4])
def test_the_posterior_is_that_of_all_rows(n_answers):
    dense = Dense(n_answers)
    optimizer = dense.optimizer
    posterior = optimizer.posterior()
    every = np.vstack([*map(np.array, ROWS), TARGETS])
    mean, cov = dense.moments(every)
    np.testing.assert_allclose(posterior.query_mean, mean[:14], atol=1e-9)
    np.testing.assert_allclose(posterior.query_var, np.diag(cov)[:14], atol=1e-8)
    np.testing.assert_allclose(posterior.target_mean, mean[14:], atol=1e-9)
    np.testing.assert_allclose(posterior.covariance, cov[:14, 14:], atol=1e-8)
    queries = [optimizer.domain_.arm(i) for i in (2, 5)]
    told = optimizer.predict_query(queries, return_std=True)
    of = [4, 5, 10, 11]
    np.testing.assert_allclose(told[0], mean[of], atol=1e-9)
    np.testing.assert_allclose(told[1] ** 2, np.diag(cov)[of], atol=1e-8)


def test_information_is_that_of_the_whole_answer():
    """By the variances left, in two ways: about a difference, and by determinants about f."""
    dense = Dense(3)
    posterior = dense.optimizer.posterior()
    directed, full = (IDSOptimizer(information=each) for each in ("directed", "full"))
    incumbent, rival, _ = directed._rival(posterior)
    _, among = dense.moments(TARGETS)
    w = np.zeros(12)
    w[rival], w[incumbent] = 1.0, -1.0
    expected, of_all, largest = [], [], []
    draws = posterior.draws(100)
    shares = np.bincount(draws.argmax(axis=1), minlength=12) / 100
    for number in range(7):
        S, C = dense.of_query(number)
        left = w @ (among - C.T @ np.linalg.solve(S, C)) @ w
        expected.append(0.5 * np.log(w @ among @ w / left))
        of_all.append(0.5 * np.log(np.linalg.det(S) / np.prod(NOISES[number])))
        share = shares @ C.T @ np.linalg.solve(S, C @ shares) / draws.max(axis=1).var()
        largest.append(-0.5 * np.log(1 - min(share, 1 - 1e-9)) / COST[number])
    np.testing.assert_allclose(directed.information_gain(posterior), expected, rtol=1e-6)
    np.testing.assert_allclose(full.information_gain(posterior), of_all, rtol=1e-6)
    again = MESOptimizer(**SETTINGS)
    found = np.exp(again.acquisition(dense.optimizer.posterior())) / COST
    np.testing.assert_allclose(found, largest, rtol=1e-6)


def test_the_gain_is_the_expected_rise_of_the_largest_mean():
    """Within four standard errors of as many independent draws, which see no less."""
    dense = Dense(2)
    posterior = dense.optimizer.posterior()
    mean, _ = dense.moments(TARGETS)
    found = np.exp(posterior.log_rise())
    for number in range(7):
        value, spread = rise(mean, *dense.of_query(number))
        assert abs(found[number] - value) <= 4 * spread / np.sqrt(N_DRAWS)
    values = cases.scores(dense.optimizer)
    np.testing.assert_allclose(values, np.log(found / COST), atol=1e-12)
    assert dense.optimizer.ask().index == np.argmax(values)


def test_the_gain_of_an_answer_is_at_least_that_of_each_of_its_numbers_alone():
    rng = np.random.default_rng(0)
    mean = np.append(rng.normal(size=9), 9.0)  # hardly any draw changes which is best
    effects = rng.normal(size=(1, 10))
    one = log_knowledge_gradient(mean, effects, np.ones(1), np.zeros(1))[0]
    draws = standard_draws(2, rng)
    np.testing.assert_allclose(log_block_gain(mean, effects, draws[:, :1]), one, rtol=1e-12)
    twice = np.vstack([effects, effects]) / np.sqrt(2)  # two numbers that say the same
    assert log_block_gain(mean, twice, draws) >= one - 1e-9
    np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer, MESOptimizer])
def test_blocks_of_one_row_are_rows(cls):
    rows = np.column_stack([PLACES, np.zeros(7)])
    settings = {"kernel": KERNEL, "targets": TARGETS, "alpha": 0.05, "random_state": 0}
    one, other = (
        cls(queries=each, n_initial=3, **settings) for each in (Blocks(rows[:, None]), rows)
    )
    for _ in range(7):
        queries = one.ask(), other.ask()
        assert queries[0].index == queries[1].index
        one.tell(queries[0], answer(queries[0]))
        other.tell(queries[1], answer(queries[0])[0])
    np.testing.assert_allclose(one.history_["std"][:, 0], other.history_["std"], rtol=1e-7)
    assert one.recommend() == other.recommend()


@pytest.mark.parametrize("rule", ["kg", "ids", "mes", lambda posterior: posterior.unknown])
def test_what_is_pending_counts_as_answered(rule):
    optimizer = TargetsOptimizer(rule, **SETTINGS)
    first, second = optimizer.ask(2)
    assert first != second and optimizer.ask(2) == [first, second]
    pending = optimizer.posterior([first]).query_var
    optimizer.tell(first, answer(first))
    np.testing.assert_allclose(optimizer.posterior([]).query_var, pending, atol=1e-8)
    # Rows are found again as the query that was asked.
    optimizer.tell(second.descriptor, answer(second), NOISES[second.index])
    assert not optimizer._record.pending and len(optimizer.history_) == 2


def test_white_noise_and_learned_noise_and_answers_told_twice():
    kernel = 1.0 * RBF(0.3) + WhiteKernel(1e-3)
    queries = Blocks([[[x], [min(x + 0.1, 1.0)]] for x in PLACES])
    optimizer = KGOptimizer(kernel, queries=queries, targets=PLACES[:, None], random_state=0)
    rng = np.random.default_rng(0)
    for i in (0, 3, 6, 3, 2, 5, 1, 4):
        query = optimizer.domain_.arm(i) if hasattr(optimizer, "bounds_") else optimizer.ask()
        reward = np.sin(5 * query.descriptor[:, 0]) + 0.1 * rng.normal(size=2)
        optimizer.tell(query, reward)
    assert 1e-4 < optimizer.alpha_ < 0.1
    assert abs(optimizer.recommend().descriptor[0] - np.pi / 10) < 0.1


def test_queries_may_have_different_numbers_of_cells():
    cells = [np.column_stack([e[:-1], e[1:]]) for e in (PLACES[:4], PLACES[3:], PLACES[2:4])]
    targets = np.column_stack([PLACES[:-1], PLACES[1:]])
    kernel = CellAverage(RBF(0.2), 3)
    optimizer = IDSOptimizer(
        kernel, queries=Blocks(cells), targets=targets, alpha=1e-3, random_state=0
    )

    def averages(query):
        return [float(np.sin(5 * part.points).mean()) for part in query.parts]

    result = optimizer.run(averages, budget=3)
    history = optimizer.history_
    assert history["reward"].shape == (3, 3)
    np.testing.assert_array_equal(np.isnan(history["reward"]), np.isnan(history["std"]))
    told = np.isfinite(history["reward"]).sum(axis=1)
    assert set(told) <= {1, 3} and result.cost == 3
    best = np.argmax([np.sin(5 * np.linspace(*each, 3)).mean() for each in targets])
    assert result.x.index == best
    assert len(optimizer.domain_.arm(0).points) == 9


def test_a_run_is_saved_and_goes_on(tmp_path):
    optimizer = KGOptimizer(**SETTINGS)
    optimizer.run(answer, budget=3)
    optimizer.tell(optimizer.ask(), None)
    optimizer.tell(optimizer.ask(), [0.1, 0.2], 0.5)
    optimizer.ask(2)
    optimizer.save(tmp_path / "run")
    again = KGOptimizer.load(tmp_path / "run")
    assert again.queries == optimizer.queries
    np.testing.assert_array_equal(again.history_, optimizer.history_)
    assert again.ask(3) == optimizer.ask(3) and len(again.failed_) == 1
    down = KGOptimizer(**SETTINGS, direction="minimize")
    for _ in range(3):
        query = down.ask()
        down.tell(query, [-each for each in answer(query)])
    np.testing.assert_array_equal(down.history_["reward"], -optimizer.history_["reward"][:3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"targets": None}, "targets must be given if queries are Blocks"),
        ({"bounds": {"x": (0, 1), "axis": (-1, 1)}}, "must have no names if queries are Blocks"),
        ({"alpha": np.ones(3)}, "alpha must have one finite number >= 0 for each of 7 queries"),
        ({"alpha": np.eye(3)}, "alpha must have one finite number >= 0 for each of 7 queries"),
        ({"cost": NOISES}, "cost must have one finite number"),
        ({"queries": Blocks([])}, "queries must have an array of rows for each query"),
        ({"queries": Blocks([[[0.0]], [[0.0, 1.0]]])}, "must have as many columns"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        KGOptimizer(**SETTINGS | settings).ask()


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        (([1.0],), ValueError, "reward must hold one number for each of 2 rows of the query"),
        ((1.0,), TypeError, "reward must hold one number for each of 2 rows of the query"),
        (([1.0, np.nan],), ValueError, "finite"),
        (([1.0, 2.0], np.eye(3)), ValueError, "covariances of the noise of 2 rows"),
        (([1.0, 2.0], [0.1, -1.0]), ValueError, "alpha"),
    ],
)
def test_answers_that_cannot_be_leave_no_trace(told, error, message):
    optimizer = KGOptimizer(**SETTINGS)
    query = optimizer.ask()
    with pytest.raises(error, match=message):
        optimizer.tell(query, *told)
    assert not len(optimizer.history_) and list(optimizer._record.pending) == [query]
    stranger = Arm(0, np.array([[0.5, 0.0]]))
    with pytest.raises(ValueError, match="is not one of this optimizer's arms"):
        optimizer.tell(stranger, [1.0])

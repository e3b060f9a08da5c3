"""The arms of a run change: old answers count, and queries are among the arms of now."""

import cases
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    CombinatorialBandit,
    DAGPUCBOptimizer,
    EIOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IDSOptimizer,
    KGOptimizer,
    MESOptimizer,
)
from skgpb.exceptions import AllPendingError, ParameterWarning
from skgpb.kernels import CellAverage

ARMS = np.random.default_rng(0).random((12, 2))
CLASSES = [
    GPUCBOptimizer,
    EIOptimizer,
    GPTSOptimizer,
    KGOptimizer,
    IDSOptimizer,
    MESOptimizer,
    DAGPUCBOptimizer,
]


def reward(row):
    return float(np.sin(4 * row[0]) + row[-1])


def played(cls, n, arms=ARMS, **parameters):
    opt = cls(arms=arms, random_state=0, **parameters)
    for _ in range(n):
        query = opt.ask()
        opt.tell(query, reward(query.points[0]))
    return opt


@pytest.mark.one_in(4)
@pytest.mark.parametrize("cls", CLASSES)
def test_queries_and_recommendations_are_among_the_arms_of_now(cls):
    opt = played(cls, 13)
    best = opt.recommend().points[0]
    now = np.concatenate([[[0.9, 1.3]], ARMS[(best != ARMS).any(axis=1)][::-1]])
    opt.set_params(arms=now)
    assert len(opt.history_) == 13
    for query in [*opt.ask(12), opt.recommend()]:
        np.testing.assert_array_equal(query.points[0], now[query.index])
    with pytest.raises(AllPendingError):
        opt.ask(13)
    opt.set_params(arms=ARMS)  # the arm is there again, with its answers
    np.testing.assert_array_equal(opt.recommend("best_observed").points[0], best)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("cls", CLASSES)
def test_answers_count_as_if_all_arms_had_been_there(cls):
    opt, whole = played(cls, 8), cls(arms=np.concatenate([ARMS, [[2.0, 0.1]]]), random_state=0)
    for query in opt.run_.told_queries():
        whole.tell(query.points[0], reward(query.points[0]))
    opt.set_params(arms=[*ARMS[6:], [2.0, 0.1]])
    for ours, theirs in zip(
        opt.predict(ARMS, return_std=True), whole.predict(ARMS, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("cls", CLASSES)
def test_a_run_with_other_arms_goes_on_after_a_file_a_pickle_and_a_replay(cls):
    opt = played(cls, 5)
    opt.tell(opt.ask(), None)  # a failure
    opt.withdraw(opt.ask())
    before = opt.ask(4)
    opt.set_params(arms=[*ARMS[5:], [0.5, 0.5]])
    opt.set_params(arms=ARMS[4:10])
    assert [q.points.tolist() for q in opt.pending_] == [q.points.tolist() for q in before]
    assert len(opt.history_) == 5 and len(opt.failed_) == 1
    assert {*map(tuple, opt.earlier_arms)} == {*map(tuple, ARMS), (0.5, 0.5)} - {
        *map(tuple, ARMS[4:10])
    }
    opt.tell(before[0], 1.0)
    opt.tell(before[1], 1.5)
    opt.withdraw(before[2])
    assert [q.points.tolist() for q in opt.pending_] == [before[3].points.tolist()]
    twins = cases.copies(opt)
    for _ in range(3):
        queries = [twin.ask(another=True) for twin in twins]
        assert len({repr(query) for query in queries}) == 1
        assert (ARMS[4:10] == queries[0].points[0]).all(axis=1).any()
        for twin, query in zip(twins, queries, strict=True):
            twin.tell(query, reward(query.points[0]))
    assert len({repr(twin.recommend()) for twin in twins}) == 1


def test_arms_that_are_boxes_and_arms_in_contexts_change_as_well():
    low = np.linspace(0, 0.8, 5)[:, np.newaxis]
    boxes = np.hstack([low, low + 0.2])
    opt = played(GPUCBOptimizer, 6, boxes, kernel=CellAverage(RBF(0.3), 5))
    opt.set_params(arms=boxes[2:])
    assert len(opt.history_) == 6 and opt.recommend().lower >= 0.4
    opt = GPUCBOptimizer(arms=ARMS, context_bounds=[(0, 9)], random_state=0)
    for age in (1, 5, 9, 3):
        query = opt.ask(context=[age])
        opt.tell(query, reward(query.points[0][1:]))
    opt.set_params(arms=ARMS[:5])
    assert opt.ask(context=[5]).index < 5
    assert [query.context.tolist() for query in opt.run_.told_queries()] == [[1], [5], [9], [3]]


def test_arms_may_leave_after_fit_and_points_that_are_no_arms():
    opt = GPUCBOptimizer(arms=ARMS, random_state=0).fit(ARMS[:4], list(map(reward, ARMS[:4])))
    opt.tell([0.5, 0.5], reward([0.5, 0.5]))
    opt.set_params(arms=ARMS[8:])
    assert opt.run_.n_observations == 5 and opt.ask().index < 4


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (ARMS[:, :1], "arms must have 2 columns, like the earlier ones, got 1"),
        ([[np.nan, 1.0]], "arms must be an array of finite numbers"),
        ([], "arms"),
    ],
)
def test_a_change_that_is_refused_changes_nothing(arms, message):
    opt, twin = played(GPUCBOptimizer, 3), played(GPUCBOptimizer, 3)
    with pytest.raises(ValueError, match=message):
        opt.set_params(arms=arms)
    assert opt.arms is ARMS
    assert opt.ask() == twin.ask()


@pytest.mark.parametrize("parameter", ["cost", "alpha"])
def test_arms_with_numbers_of_their_own_are_refused_until_they_are_back(parameter):
    """The numbers are given by position, and those of arms that left are nowhere."""
    numbers = np.linspace(0.01, 0.12, 12)
    opt, twin = (played(GPUCBOptimizer, 3, **{parameter: numbers}) for _ in range(2))
    for changed in (
        {"arms": ARMS[:6]},
        {"arms": ARMS[::-1]},
        {"arms": ARMS[:6], parameter: numbers[:6]},
        {"arms": ARMS[:6], parameter: None},
    ):
        opt.set_params(**changed)
        for each in cases.copies(opt):
            with pytest.raises(ValueError, match=r"arms was set during the run, .* fit\(X, y\)"):
                each.ask()
        opt.set_params(arms=ARMS, **{parameter: numbers})
        assert opt.ask() == twin.ask()
    with pytest.raises(ValueError, match=f"{parameter} must have one finite number"):
        opt.set_params(**{parameter: numbers[:6]})
    assert opt.ask() == twin.ask()


def test_answers_to_arms_that_left_have_their_cost():
    opt = played(GPUCBOptimizer, 13)
    opt.set_params(arms=ARMS[6:])
    assert opt.spent_ == 13.0
    assert [each.spent_ for each in cases.copies(opt)] == [13.0] * 4


def test_campaigns_are_refused_until_they_are_back():
    arms = np.linspace(0, 1, 4)[:, np.newaxis]
    campaigns = [GPUCBOptimizer(arms=arms, random_state=i) for i in range(2)]
    bandit, twin = (CombinatorialBandit(campaigns, budget=1.5, random_state=0) for _ in range(2))
    for each in (bandit, twin):
        each.tell(each.ask(), [1.0, 2.0])
    for changed in (
        [GPUCBOptimizer(arms=arms[:2]) for _ in range(2)],  # arms that are not available
        campaigns[:1],  # a campaign that is not
        [*campaigns, campaigns[0]],  # a new one
        [("a", campaigns[0]), ("b", campaigns[1])],
    ):
        bandit.set_params(optimizers=changed)
        for each in cases.copies(bandit):
            with pytest.raises(
                ValueError, match=r"optimizers was set during the run, .* fit\(X, y"
            ):
                each.ask()
        bandit.set_params(optimizers=campaigns)
        assert bandit.ask() == twin.ask()


def test_earlier_arms_need_arms_of_as_many_columns():
    with pytest.raises(ValueError, match="earlier_arms needs arms"):
        GPUCBOptimizer(bounds=[(0, 1)], earlier_arms=[[0.5]]).ask()
    with pytest.raises(ValueError, match="earlier_arms must have 2 columns like arms, got 1"):
        GPUCBOptimizer(arms=ARMS, earlier_arms=[[0.5]]).ask()


def test_numbers_by_position_wait_with_the_queries_that_they_are_for():
    """Also where the targets stay as they are."""
    rows, costs = np.linspace(0.0, 1.0, 12)[:, None], np.linspace(1.0, 2.0, 12)
    settings = {"queries": rows, "targets": rows[::2], "cost": costs, "alpha": 0.01}
    opt, twin = (KGOptimizer(RBF(0.3), **settings, random_state=0) for _ in range(2))
    for each in (opt, twin):
        each.tell(each.ask(), 1.0).tell(each.ask(), 0.0)
    opt.set_params(queries=rows[:6], cost=costs[:6])
    waits = pytest.warns(ParameterWarning, match="cost will apply from the next fit on")
    with waits, pytest.raises(ValueError, match="queries was set during the run"):
        opt.ask()
    opt.set_params(queries=rows, cost=costs)
    assert opt.ask() == twin.ask()


def test_the_arms_of_a_run_are_its_own_and_cannot_be_written_to():
    arms = np.linspace(0.0, 1.0, 12)[:, None]
    opt, twin = (GPUCBOptimizer(RBF(0.3), arms=a, random_state=0) for a in (arms, arms.copy()))
    opt.start(), twin.start()
    arms[:] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        opt.run_.params.arms[0] = 1.0
    opt.set_params(arms=twin.arms)
    assert opt.ask() == twin.ask()


def test_the_box_of_arms_that_are_boxes_holds_all_of_them():
    arms = np.array([[0.0, 3.0, 0.2, 4.0], [0.5, 2.0, 0.9, 3.5], [0.3, 3.0, 0.4, 3.2]])
    search = GPUCBOptimizer(CellAverage(RBF(0.3)), arms=arms, random_state=0).start()
    assert search.bounds_.tolist() == [[0.0, 0.9], [2.0, 4.0]]
    points = GPUCBOptimizer(RBF(0.3), arms=arms, random_state=0).start()
    assert points.bounds_.tolist() == [[0.0, 0.5], [2.0, 3.0], [0.2, 0.9], [3.2, 4.0]]


def test_a_run_ends_once_all_arms_of_now_have_exact_answers():
    opt = EIOptimizer(arms=ARMS, random_state=0)
    opt.run(lambda query: reward(query.points[0]), 40)
    opt.set_params(arms=ARMS[:7])
    result = opt.run(lambda query: reward(query.points[0]), 40)
    assert result.nfev <= 1 and result.message.startswith("every query was answered")

"""Budgets over campaigns: the contract."""

from __future__ import annotations

import inspect
import pickle
import warnings

import cases
import numpy as np
import pytest
from campaigns import GRID, PROBLEM, bandit, campaign, play
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.utils.estimator_checks import parametrize_with_checks

import skgpb.optimizers
from skgpb.exceptions import AllocationWarning, LearningWarning
from skgpb.optimizers import (
    DAGPUCBOptimizer,
    EIOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    Search,
)
from skgpb.optimizers.combinatorial import Allocation, CombinatorialBandit

MEMBERS = [
    value
    for name in skgpb.optimizers.__all__
    if inspect.isclass(value := getattr(skgpb.optimizers, name))
    and issubclass(value, Search)
    and not inspect.isabstract(value)
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", MEMBERS)
def test_every_member_is_a_policy(cls):
    player = bandit(cls)
    asked = play(player, 4)
    assert all(allocation.cost <= 20 for allocation in asked)
    assert len({allocation.indices for allocation in asked}) > 1
    again = [a.indices for a in play(bandit(cls), 4)]
    assert [a.indices for a in asked] == again
    batch = player.ask(4)
    assert len({allocation.indices for allocation in batch}) == 4
    assert player.recommend().cost <= 20


def test_members_may_be_mixed_where_their_scores_add_up():
    kernel = PROBLEM.kernel(30.0)
    coarse = PROBLEM.arms[::4]
    player = CombinatorialBandit(
        [
            ("search", DAGPUCBOptimizer(kernel, arms=PROBLEM.arms, alpha=0.1)),
            ("social", GPTSOptimizer(kernel, arms=coarse, alpha=0.2)),
            ("video", GPUCBOptimizer(kernel, arms=PROBLEM.arms, alpha=0.1, normalize_y=True)),
        ],
        budget=20,
        random_state=0,
    )
    play(player, 10)
    assert list(player.named_optimizers_) == ["search", "social", "video"]
    assert all(c in coarse[:, 0] for c in player.history_["descriptor"][:, 1])
    with pytest.raises(ValueError, match="same class"):
        CombinatorialBandit([campaign(), campaign(EIOptimizer)], 20).ask()


# -- the contract -------------------------------------------------------------------------------


def test_ask_is_stable_until_tell_and_batches_are_distinct():
    player = bandit(DAGPUCBOptimizer)
    play(player, 3)
    first = player.ask()
    assert player.ask() == first
    batch = player.ask(30)
    assert batch[0] == first
    assert len({a.indices for a in batch}) == 30
    rng = np.random.default_rng(1)
    player.tell(batch[::-1], [PROBLEM.observe(a, rng) for a in batch[::-1]])
    assert len(player.history_) == 33
    # The next query was not chosen while the batch was pending.
    assert player.ask() == pickle.loads(pickle.dumps(player)).ask()


def test_all_allocations_can_be_asked_but_no_more():
    arms = [[0.0], [1.0], [2.0]]
    for cls in (GPUCBOptimizer, EIOptimizer):
        player = CombinatorialBandit([cls(RBF(1.0), arms=arms)] * 2, budget=2)
        batch = player.ask(6)
        assert {a.indices for a in batch} == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)}
        with pytest.raises(ValueError, match="pending"):
            player.ask(7)
        assert player.ask(6) == batch


def test_the_first_design_begins_with_nothing_and_replaces_what_failed():
    campaign = GPUCBOptimizer(RBF(1.0), arms=np.arange(4.0)[:, None], n_initial=3)
    player = CombinatorialBandit([campaign] * 2, budget=6, random_state=0).start()
    none, best = np.empty((0, 2)), player._table().best
    first = player.domain_.first_allocation(3, none, none, player.run_.seed[0], best)
    design = player.ask(3)
    assert design[0] == first
    assert player._first_allocation() is None  # all of it is pending
    player.tell(design[1], None)
    assert player._first_allocation() is not None


def test_allocations_are_frozen_and_pickle():
    allocation = bandit().ask()
    assert isinstance(allocation, Allocation)
    copy = pickle.loads(pickle.dumps(allocation))
    assert copy == allocation
    assert hash(copy) == hash(allocation)
    with pytest.raises(AttributeError):
        allocation.costs = None
    with pytest.raises(ValueError, match="read-only"):
        allocation.costs[0] = 3.0
    np.testing.assert_array_equal(np.asarray(allocation), allocation.points)
    assert allocation.points.shape == (1, 3)
    assert allocation.cost == allocation.costs.sum() <= 20
    np.testing.assert_array_equal(allocation.points[0], allocation.costs)


def test_parameters_are_those_of_scikit_learn():
    player = CombinatorialBandit([("a", campaign()), ("b", campaign())], budget=20)
    params = player.get_params()
    assert params["a__alpha"] == 0.1
    assert params["budget"] == 20
    player.set_params(a__alpha=0.5, b__kernel__k1__constant_value=4.0, budget=10)
    assert player.optimizers[0][1].alpha == 0.5
    assert player.optimizers[1][1].kernel.k1.constant_value == 4.0
    player.set_params(b=campaign(DAGPUCBOptimizer))
    assert player.optimizers[1][0] == "b"
    assert isinstance(player.optimizers[1][1], DAGPUCBOptimizer)
    copy = clone(player)
    assert copy.get_params()["a__alpha"] == 0.5
    assert copy.optimizers[0][1] is not player.optimizers[0][1]
    unnamed = CombinatorialBandit([campaign(), campaign()], 20).set_params(campaign_1__alpha=0.7)
    assert [optimizer.alpha for optimizer in unnamed.optimizers] == [0.1, 0.7]
    assert set(bandit().get_params(deep=False)) == {
        "optimizers",
        "budget",
        "costs",
        "weights",
        "random_state",
    }
    with pytest.raises(ValueError, match="nonsense"):
        player.set_params(nonsense=1)


def test_parameters_are_never_written():
    optimizer = campaign(DAGPUCBOptimizer)
    player = CombinatorialBandit([optimizer] * 3, 20, random_state=0)
    play(player, 3)
    assert not hasattr(optimizer, "bounds_")
    assert optimizer.random_state is None
    assert player.optimizers == [optimizer] * 3
    assert len({o.random_state for o in player.optimizers_}) == 3


def test_budget_may_change_between_rounds():
    player = bandit()
    play(player, 3)
    player.set_params(budget=7)
    assert play(player, 2)[-1].cost <= 7
    assert player.recommend().cost <= 7
    with pytest.raises(ValueError, match="budget"):
        player.set_params(budget=-1)
    assert player.budget == 7
    assert player.set_params(budget=20).ask().cost <= 20


def test_costs_may_differ_from_arms():
    arms = np.random.default_rng(0).uniform(size=(5, 2))
    costs = [[1.0, 2.5, 3.0, 0.5, 4.0], [2.0, 0.1, 0.2, 3.0, 1.0]]
    optimizers = [GPUCBOptimizer(RBF(0.3), arms=arms)] * 2
    player = CombinatorialBandit(optimizers, 3.1, costs)
    for _ in range(10):
        allocation = player.ask()
        assert allocation.cost <= 3.1
        expected = [costs[0][allocation.indices[0]], costs[1][allocation.indices[1]]]
        assert allocation.costs.tolist() == expected
        assert allocation.points.shape == (1, 4)
        player.tell(allocation, [0.0, 1.0])
    alike = CombinatorialBandit(optimizers, 3.1, costs[0])
    assert alike.ask().cost <= 3.1
    for wrong, match in [
        (None, "one column"),
        (costs[:1], "each of 2 campaigns, got 1"),
        ([costs[0], costs[1][:3]], "campaign 1"),
        ([costs[0], [-1.0] * 5], "negative"),
        ([[9.0] * 5] * 2, "cheapest"),
        ({0: 1.0}, "of the campaigns"),
    ]:
        with pytest.raises(ValueError, match=match):
            CombinatorialBandit(optimizers, 3.1, wrong).ask()
    for wrong in ("costs", np.random.default_rng(0)):
        with pytest.raises(TypeError, match="costs must be"):
            CombinatorialBandit(optimizers, 3.1, wrong).ask()


def test_other_allocations_may_be_told():
    player = bandit(DAGPUCBOptimizer)
    player.tell([9, 6, 5], [86.0, 80.0, 33.0])  # arms, though never asked for
    with pytest.warns(AllocationWarning, match=r"costs 22.7, more than the budget of 20"):
        player.tell(np.array([[2.5, 0.3, 19.9]]), [0.0, 0.0, 80.0], alpha=[0.1, 0.2, 0.3])
    assert player.history_["choice"].tolist() == [[9, 6, 5], [-1, -1, -1]]
    mean, std = player.predict([[9.0, 6.0, 5.0], [2.5, 0.3, 19.9]], return_std=True)
    np.testing.assert_allclose(mean, [[86, 80, 33], [0, 0, 80]], atol=1.0)
    assert (std < 0.6).all()
    np.testing.assert_array_equal(player.history_["descriptor"][1], [2.5, 0.3, 19.9] * 2)


def test_an_answer_is_taken_whatever_it_has_cost():
    player = bandit(DAGPUCBOptimizer)
    with pytest.warns(AllocationWarning, match="costs 38, more than the budget of 20"):
        player.tell([9, 20, 9], [86.0, 95.0, 40.0])
    assert player.history_["reward"].tolist() == [[86.0, 95.0, 40.0]]
    assert abs(player.predict([[9.0, 20.0, 9.0]])[0] - [86, 95, 40]).max() < 1.0
    assert player.recommend().cost <= 20
    assert player.ask().cost <= 20
    with warnings.catch_warnings():
        warnings.simplefilter("error", AllocationWarning)
        # A pending query stays allowed even if the budget has shrunk since; so does the past.
        asked = player.ask()
        player.set_params(budget=0.5 * asked.cost)
        player.tell(asked, [80.0, 60.0, 30.0])
        player.fit([[9.0, 20.0, 9.0]], [[86.0, 95.0, 40.0]])
        player.tell([2, 1, 0], [1.0, 2.0, 3.0])
    # Costs that are not those of arms are not known.
    player = CombinatorialBandit([campaign()] * 3, 20, [GRID] * 3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AllocationWarning)
        player.tell([9.5, 19.5, 9.5], [86.0, 95.0, 40.0])


def test_a_campaign_may_give_no_report():
    player = bandit()
    allocation = player.ask()
    player.tell(allocation, [1.0, None, 3.0])
    assert [len(o.history_) for o in player.optimizers_] == [1, 0, 1]
    np.testing.assert_array_equal(player.history_["reward"], [[1.0, np.nan, 3.0]])
    with pytest.raises(ValueError, match="every campaign"):
        player.tell(allocation, [None, None, None])


def test_fit_starts_from_past_allocations():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 20, size=(40, 3))
    y = np.array([PROBLEM.observe(x, rng) for x in X])
    player = bandit()
    play(player, 3)
    player.fit(X, y)
    assert len(player.history_) == 0
    np.testing.assert_allclose(player.predict(X), y, atol=2.0)
    assert PROBLEM.value(player.recommend()) > 0.95 * PROBLEM.optimum
    assert player.score(X, y) > 0.99
    assert player.fit(X).predict(X[:2]).tolist() == [[0.0] * 3] * 2
    for bad_X, bad_y, match in [
        (X[:, :2], y, "features"),
        (X, y[:, :2], "campaigns"),
        (X, y[:, 0], "campaigns"),
        (X + 100, y, "outside"),
    ]:
        before = player.predict(X)
        with pytest.raises(ValueError, match=match):
            player.fit(bad_X, bad_y)
        np.testing.assert_array_equal(player.predict(X), before)


def test_run_is_the_ask_tell_loop():
    loop = bandit(DAGPUCBOptimizer)
    asked = play(loop, 6)
    runner, rng, seen = bandit(DAGPUCBOptimizer), np.random.default_rng(0), []
    result = runner.run(
        lambda a: PROBLEM.observe(a, rng), 6, callback=lambda each: seen.append(each)
    )
    assert len(seen) == result.nfev == 6
    assert result.x == loop.recommend()
    np.testing.assert_array_equal(
        runner.history_["choice"], [allocation.indices for allocation in asked]
    )
    total = runner.predict(result.x.points).sum()
    assert result.fun == pytest.approx(total, rel=1e-9)


def test_history_holds_the_posterior_before_each_answer():
    player = bandit()
    play(player, 2)
    allocation = player.ask()
    mean, std = player.predict(allocation.points, return_std=True)
    player.tell(allocation, [5.0, 6.0, 7.0])
    row = player.history_[-1]
    assert row["round"] == 3
    assert tuple(row["choice"]) == allocation.indices
    np.testing.assert_array_equal(row["reward"], [5.0, 6.0, 7.0])
    np.testing.assert_allclose(row["mean"], mean[0], atol=1e-8)
    np.testing.assert_allclose(row["std"], std[0], atol=1e-6)


def state(player):
    X = np.tile(PROBLEM.arms, 3)
    return [
        player.history_["choice"].tolist(),
        player.history_["reward"].tolist(),
        player.predict(X).tolist(),
        [a.indices for a in player.ask(3)],
        [len(o.history_) for o in player.optimizers_],
    ]


def bad_tells(allocation):
    other = bandit().set_params(optimizers=[campaign()] * 2).ask()
    foreign = CombinatorialBandit([GPUCBOptimizer(arms=[[0.5], [30.0]])] * 3, 99).ask()
    good = [1.0, 2.0, 3.0]
    return [
        (allocation, [1.0, 2.0]),
        (allocation, [1.0, 2.0, np.nan]),
        (allocation, [1.0, np.inf, 3.0]),
        (allocation, [1.0, "2", 3.0]),
        (allocation, 6.0),
        (allocation, "abc"),
        (allocation, good, -1.0),
        (allocation, good, [0.1, 0.1]),
        (allocation, good, [0.1, 0.1, np.nan]),
        ([1.0, 2.0], good),
        ([1.0, 2.0, 30.0], good),
        ([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], good),
        ("allocation", good),
        (None, good),
        (other, good),
        (foreign, good),
        ([allocation, foreign], [good, good]),
        ([allocation, allocation], [good, [1.0, 2.0, np.nan]]),
        ([allocation, allocation], [good]),
        ([allocation, allocation], [good, good], [0.1]),
    ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("started", [False, True])
def test_rejected_tells_change_nothing(started):
    player = bandit(DAGPUCBOptimizer)
    if started:
        play(player, 4)
    allocation = clone(player).ask() if not started else player.ask()
    before = state(pickle.loads(pickle.dumps(player)))[:-1] if started else None
    for arguments in bad_tells(allocation):
        with pytest.raises((ValueError, TypeError)):
            player.tell(*arguments)
        if started:
            assert state(pickle.loads(pickle.dumps(player)))[:-1] == before, arguments
        else:
            assert not hasattr(player, "bounds_"), arguments
    player.tell(allocation, [1.0, 2.0, 3.0])
    assert len(player.history_) == (5 if started else 1)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: CombinatorialBandit([], 20), ValueError, "at least one"),
        (lambda: CombinatorialBandit(campaign(), 20), ValueError, "optimizers"),
        (lambda: CombinatorialBandit([campaign(), None], 20), TypeError, "finite arms"),
        (
            lambda: CombinatorialBandit([GPUCBOptimizer(bounds=[(0, 1)])], 20),
            ValueError,
            "must have arms and no bounds",
        ),
        (
            lambda: CombinatorialBandit([("a", campaign()), ("a", campaign())], 20),
            ValueError,
            "different",
        ),
        (lambda: CombinatorialBandit([("budget", campaign())], 20), ValueError, "different"),
        (lambda: CombinatorialBandit([campaign()], -1), ValueError, "budget"),
        (lambda: CombinatorialBandit([campaign()], 20, weights="x"), ValueError, "weights"),
        (
            lambda: CombinatorialBandit([GPUCBOptimizer(arms=[[5.0], [6.0]])] * 2, 9),
            ValueError,
            "cheapest",
        ),
    ],
)
def test_nonsense_parameters_are_named_on_use_and_not_before(make, error, match):
    player = make()
    with pytest.raises(error, match=match):
        player.ask()
    assert not hasattr(player, "bounds_")


def test_before_the_start_nothing_is_known():
    with pytest.raises(NotFittedError):
        bandit().predict([[1.0, 2.0, 3.0]])
    with pytest.raises(NotFittedError):
        bandit().history_  # noqa: B018


def test_one_campaign_is_the_optimizer_itself():
    alone = campaign(DAGPUCBOptimizer, random_state=3)
    player = CombinatorialBandit([alone], budget=20, weights="campaign")
    single, rng = clone(alone), np.random.default_rng(0)
    for _ in range(15):
        arm, allocation = single.ask(), player.ask()
        assert allocation.indices == (arm.index,)
        reward = float(PROBLEM.clicks([arm.points[0, 0]] * 3)[0] + 0.3 * rng.normal())
        single.tell(arm, reward)
        player.tell(allocation, [reward])


def test_scale_of_the_rewards_does_not_change_rules_about_improvement():
    """Threshold and posterior of whole allocations are in the units of the first optimizer."""
    factor, shift = 7.0, 3.0

    def make(scale, xi):
        kernel = ConstantKernel(1.0) * Matern(4.0, nu=1.5)
        settings = {"arms": PROBLEM.arms, "alpha": 0.1 * scale**2, "xi": xi, "normalize_y": True}
        optimizers = [EIOptimizer(kernel, **settings) for _ in range(3)]
        return CombinatorialBandit(optimizers, 20, random_state=0)

    plain, scaled = make(1.0, 2.0), make(factor, 2.0 * factor)
    rng = np.random.default_rng(0)
    for t in range(12):
        allocation, other = plain.ask(), scaled.ask()
        # The first round knows nothing of the scale but xi.
        assert t == 0 or allocation.indices == other.indices
        rewards = PROBLEM.observe(allocation, rng)
        plain.tell(allocation, rewards)
        scaled.tell(allocation, factor * rewards + shift)


# Kernels are given: what campaigns learn, scikit-learn does not see.
@pytest.mark.one_in(3)
@parametrize_with_checks([CombinatorialBandit([GPUCBOptimizer(RBF())], budget=1.0, costs=0.0)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        CombinatorialBandit(
            [("only", DAGPUCBOptimizer(RBF()))], budget=1.0, costs=0.0, random_state=0
        )
    ]
)
def test_scikit_learn_estimator_checks_of_named_campaigns(estimator, check):
    check(estimator)


def test_arms_can_be_what_past_allocations_contain():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 30), rng.integers(0, 21, 30), rng.integers(2, 6, 30)])
    y = -((X - [3, 9, 2]) ** 2) / 40 + 0.01 * rng.normal(size=X.shape)
    learner = GPUCBOptimizer(RBF(4.0), alpha=1e-4)
    known = GPUCBOptimizer(RBF(4.0), arms=GRID[:, None], alpha=1e-4)
    player = CombinatorialBandit([learner, known, learner], budget=40).fit(X, y)
    rows = [cases.rows(optimizer)[:, 0] for optimizer in player.optimizers_]
    np.testing.assert_array_equal(rows[0], np.unique(X[:, 0]))
    np.testing.assert_array_equal(rows[1], GRID)
    np.testing.assert_array_equal(rows[2], np.unique(X[:, 2]))
    np.testing.assert_allclose(player.recommend().costs, [3.0, 9.0, 2.0])
    assert learner.arms is None

    with pytest.raises(NotFittedError, match=r"campaign_0.*arms="):
        clone(player).ask()
    with pytest.raises(ValueError, match="2 campaigns share the rest equally"):
        player.fit(X[:, :2], y)
    with pytest.raises(ValueError, match="2 campaigns share the rest equally"):
        player.fit(np.column_stack([X, X[:, :1]]), y)


def test_a_number_is_the_cost_of_every_arm():
    player = CombinatorialBandit([campaign(), campaign()], budget=3.0, costs=1.5, random_state=0)
    np.testing.assert_array_equal(player.ask().costs, [1.5, 1.5])
    with pytest.raises(ValueError, match="cheapest"):
        CombinatorialBandit([campaign(), campaign()], budget=2.0, costs=1.5).ask()
    with pytest.raises(ValueError, match="not negative"):
        CombinatorialBandit([campaign()], budget=2.0, costs=-1.0).ask()


def test_a_single_campaign_predicts_in_one_dimension():
    X = GRID[::4, None]
    player = CombinatorialBandit([campaign()], budget=20).fit(X, np.sin(X[:, 0]))
    mean, std = player.predict(X, return_std=True)
    assert mean.shape == std.shape == (len(X),)
    assert player.score(X, np.sin(X[:, 0])) > 0.9


# -- what it has of its campaigns ------------------------------------------------------------------


def test_campaigns_are_told_as_by_hand():
    """They are bandits of their own: what was told to one is in its run, files included."""
    player = bandit(DAGPUCBOptimizer)
    asked = play(player, 6)
    twin = clone(player.optimizers_[1])
    for allocation, row in zip(asked, player.history_, strict=True):
        twin.tell(allocation.arms[1], row["reward"][1])
    np.testing.assert_allclose(cases.moments(twin), cases.moments(player.optimizers_[1]))
    np.testing.assert_array_equal(
        player.optimizers_[1].history_["mean"], player.history_["mean"].T[1]
    )


def test_moments_of_allocations_are_those_of_their_arms():
    player = bandit()
    asked = play(player, 4)
    mean, std = player.predict_query(asked[:3], return_std=True)
    assert mean.shape == std.shape == (3, 3)
    for i, optimizer in enumerate(player.optimizers_):
        arms = [allocation.arms[i] for allocation in asked[:3]]
        of_arms = optimizer.predict_query(arms, return_std=True)
        np.testing.assert_array_equal((mean[:, i], std[:, i]), of_arms)
    np.testing.assert_allclose(player.predict_query(asked[0]), mean[:1], rtol=1e-10)


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("singular"), KeyboardInterrupt()])
def test_no_campaign_is_told_where_one_of_them_fails(monkeypatch, error):
    player, twin = bandit(), bandit()
    for each in (player, twin):
        play(each, 2)
    allocation, spoiled = player.ask(), player.optimizers_[1]
    update = type(spoiled)._observe

    def fails_once(self, *arguments):
        if self is spoiled:
            raise error
        update(self, *arguments)

    monkeypatch.setattr(type(spoiled), "_observe", fails_once)
    with pytest.raises(type(error)):
        player.tell(allocation, [1.0, 2.0, 3.0])
    monkeypatch.undo()
    assert [len(optimizer.history_) for optimizer in player.optimizers_] == [2, 2, 2]
    assert player.ask() == twin.ask() == allocation
    for each in (player, twin):
        each.tell(allocation, [1.0, None, 3.0])  # as the one that failed may be told
    assert repr(player.history_) == repr(twin.history_)
    assert player.ask() == twin.ask()


def test_recommend_by_the_papers_rule_is_the_best_mean_as_well():
    player = bandit()
    play(player, 5)
    assert player.recommend("paper") == player.recommend()
    with pytest.raises(ValueError, match="method"):
        player.recommend("luck")


def test_it_is_known_which_campaign_could_not_learn_and_when():
    def fail(objective, theta, bounds):
        raise np.linalg.LinAlgError

    arms = np.arange(6.0)[:, None]
    known, other = (
        GPUCBOptimizer(RBF(2.0), arms=arms, alpha=0.1, optimizer=each) for each in (None, fail)
    )
    run = CombinatorialBandit([known, other], budget=7, random_state=0)
    with pytest.warns(LearningWarning):
        for i in range(9):
            run.tell(run.ask(), [np.sin(i), np.cos(i)])
    failed = [event for event in run._events if event[0] == "unlearned"]
    assert failed == [("unlearned", 4, 1), ("unlearned", 8, 1)]


@pytest.mark.parametrize("sizes", [(3, 6), (6, 3), (0, 0)])
def test_the_first_design_is_as_large_as_that_of_any_campaign(sizes):
    members = [GPUCBOptimizer(RBF(1.0), arms=np.arange(8.0)[:, None], n_initial=n) for n in sizes]
    player = CombinatorialBandit(members, budget=9, random_state=0).start()
    n = 0
    while (allocation := player._first_allocation()) is not None:
        player.tell(allocation, [1.0 * n, 2.0])
        n += 1
    assert n == max(sizes)


def test_a_rate_of_successes_has_the_noise_that_follows_from_it():
    player = bandit()
    allocation = player.ask()
    with pytest.raises(ValueError, match="the noise of '12 of 300' follows from it"):
        player.tell(allocation, ["12 of 300", 2.0, 3.0], alpha=0.1)
    assert not len(player.history_)
    player.tell(allocation, ["12 of 300", 2.0, 3.0])
    assert player.history_["reward"][0].tolist() == [12.0, 2.0, 3.0]
    q = 13.0 / 302.0
    noises = [optimizer._model.process.posterior.noises()[0] for optimizer in player.optimizers_]
    np.testing.assert_allclose(noises, [300.0 * q * (1.0 - q), 0.1, 0.1])


def test_masks_of_arms_are_those_of_the_campaigns_that_failures_depend_on():
    player = bandit().start()
    first, last = object(), object()
    masks = {first: np.arange(21) % 2 == 0, last: np.arange(21) < 5}
    for otherwise in (np.ones(63, dtype=bool), np.zeros(63, dtype=bool)):
        found = player._arm_mask(lambda each, rows: masks[each], [first, None, last], otherwise)
        expected = np.concatenate([masks[first], otherwise[21:42], masks[last]])
        np.testing.assert_array_equal(found, expected)


def test_no_campaign_of_a_repeated_run_keeps_what_it_was_repeated_from(tmp_path):
    player = bandit()
    play(player, 3)
    player.save(tmp_path / "run")
    twins = CombinatorialBandit.load(tmp_path / "run"), player._repeat_events(player._events)
    for twin in twins:
        assert vars(twin).keys() == vars(player).keys()
        for one, other in zip(twin.optimizers_, player.optimizers_, strict=True):
            assert vars(one).keys() == vars(other).keys()


def test_past_allocations_count_for_the_first_design_of_later_rounds_too():
    members = [GPUCBOptimizer(RBF(1.0), arms=np.arange(4.0)[:, None], n_initial=5)] * 2
    player = CombinatorialBandit(members, budget=6, random_state=0)
    X = np.array([[0.0, 1.0], [3.0, 2.0]])
    player.fit(X, X)
    n = 0
    while player._first_allocation() is not None:
        player.tell(player.ask(), [1.0 * n, 2.0])
        np.testing.assert_array_equal(player._fitted_allocations, X)
        n += 1
    assert 0 < n < 5

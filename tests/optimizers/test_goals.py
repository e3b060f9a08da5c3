"""Several goals: the reward and further outcomes."""

import io
import pickle
import warnings

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from skgpb import EIOptimizer, GPTSOptimizer, GPUCBOptimizer
from skgpb.acquisition.volume import dominated_volume, log_expected_volume, pareto_mask
from skgpb.domains import Box, Cells
from skgpb.exceptions import LimitWarning
from skgpb.optimizers import TargetsOptimizer
from skgpb.optimizers._goals import Front, reference_point

ARMS = np.random.default_rng(0).random((60, 2))
BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
GOALS = {"cost": "minimize"}


def goals_at(query):
    """A reward that rises along x, and a cost that rises faster; y only does harm."""
    x, y = query.points.mean(axis=0)
    return float(x - y**2), {"cost": float(x**2 + y), "heat": float(x + y)}


def play(optimizer, n, measured=goals_at):
    asked = []
    for _ in range(n):
        query = optimizer.ask()
        asked.append(query)
        reward, outcomes = measured(query)
        optimizer.tell(query, reward, outcomes=outcomes)
    return asked


def searched(**parameters):
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0).set_params(**parameters)
    play(optimizer, 16)
    return optimizer


def true_values(queries):
    """Goals to be maximised."""
    told = [goals_at(query) for query in queries]
    return np.array([[reward, -outcomes["cost"]] for reward, outcomes in told])


# -- the front ------------------------------------------------------------------------------------


def test_the_front_has_the_answers_that_no_other_dominates():
    optimizer = searched()
    queries = optimizer.run_.told_queries()
    Y = true_values(queries)
    naive = [not any((z >= y).all() and (z > y).any() for z in Y) for y in Y]
    front = optimizer.front("best_observed")
    assert {query.params["x"] for query in front.queries} == {
        query.params["x"] for query, is_best in zip(queries, naive, strict=True) if is_best
    }
    assert_allclose(front.values, true_values(front.queries) * [1.0, -1.0], atol=1e-9)
    assert len(front.values) + len(front.others) == len(queries)
    reference = reference_point(Y)
    assert_allclose(front.reference, reference * [1.0, -1.0], atol=1e-9)
    assert_allclose(front.volume, dominated_volume(Y - reference), rtol=1e-8)
    assert (front.names, front.directions) == (["reward", "cost"], ["maximize", "minimize"])
    assert (np.diff(front.values[:, 0]) <= 0.0).all()


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_reference_point_has_the_units_of_the_goals(unit):
    for Y in ([[1.0, 3.0], [3.0, 1.0], [0.0, 0.0]], [[2.0, 0.5], [1.0, 0.5], [0.0, 0.1]]):
        units = np.array([unit, 1.0])
        assert_allclose(reference_point(Y * units), reference_point(np.array(Y)) * units)
    assert_allclose(reference_point(np.array([[2.0, 3.0]] * 2)), [1.0, 2.0])


def test_a_given_reference_point_is_that_of_the_volume():
    optimizer = searched(reference=[-1.0, 3.0])
    front = optimizer.front("best_observed")
    assert_array_equal(front.reference, [-1.0, 3.0])
    Y = true_values(optimizer.run_.told_queries())
    assert_allclose(front.volume, dominated_volume(Y - [-1.0, -3.0]), rtol=1e-8)


def test_the_recommendation_is_the_compromise_of_the_front():
    optimizer = searched()
    front = optimizer.front("best_observed")
    good = true_values(front.queries)
    low = front.reference * [1.0, -1.0]
    shares = (good - low) / (good.max(axis=0) - low)
    naive = front.queries[int(np.argmax(shares.min(axis=1)))]
    assert optimizer.recommend("best_observed") == front.compromise == naive
    assert optimizer.recommend() in optimizer.front().queries


@pytest.mark.slow
def test_exact_goals_count_by_their_answers_and_noisy_ones_by_their_means():
    exact = searched()
    play(exact, 2)
    assert_allclose(exact.front().values, exact.front("best_observed").values)
    rng = np.random.default_rng(0)

    def noisy(query):
        reward, outcomes = goals_at(query)
        return reward + 0.3 * rng.normal(), {"cost": outcomes["cost"] + 0.3 * rng.normal()}

    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0)
    play(optimizer, 30, noisy)
    assert_allclose(optimizer.front().values, optimizer.front("posterior").values)
    truth = true_values(optimizer.front().queries) * [1.0, -1.0]
    lucky = optimizer.front("best_observed")
    error = np.abs(optimizer.front().values - truth).mean()
    assert error < np.abs(lucky.values - true_values(lucky.queries) * [1.0, -1.0]).mean()


def test_answers_beyond_a_limit_are_not_in_the_front():
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, limits={"heat": (None, 0.6)}, random_state=0)
    play(optimizer, 24)
    front = optimizer.front()
    assert len(front.queries) > 3
    assert all(goals_at(query)[1]["heat"] <= 0.6 for query in front.queries)
    assert any(goals_at(query)[1]["heat"] > 0.6 for query in optimizer.run_.told_queries())
    assert optimizer.recommend() in front.queries


def test_without_an_answer_within_the_limits_the_front_is_empty():
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, limits={"heat": (None, -5)}, random_state=0)
    play(optimizer, 12)
    front = optimizer.front()
    assert (front.queries, front.volume, front.compromise) == ([], 0.0, None)
    assert front.values.shape == (0, 2)
    assert optimizer.recommend() is not None


# -- the next query -------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [None, {"heat": (None, 1.2)}])
def test_the_score_is_the_expected_improvement_of_the_volume(limits):
    """Naive: the same from the models of the outcomes, one query after the other."""
    optimizer = EIOptimizer(arms=ARMS, goals=GOALS, limits=limits, random_state=0)
    play(optimizer, 14)
    _, values = optimizer._scored_round()
    model = cases.outcome_model(optimizer, "cost")
    reward, cost = optimizer._model.process, model.process
    told = [query.points for query in optimizer.run_.told_queries()]
    known = np.column_stack([reward.moments(told), -cost.moments(told)])
    within = np.ones(len(told), dtype=bool)
    weights = np.ones(len(ARMS))
    if limits:
        weights = optimizer.predict_within_limits(ARMS)
        within = optimizer.predict_within_limits(np.concatenate(told)) >= 0.95
    low = reference_point(known[within])
    (m1, s1), (m2, s2) = (each.moments(ARMS, std=True) for each in (reward, cost))
    noises = optimizer._model.alpha, model.alpha
    changes = [s**2 / np.sqrt(s**2 + noise) for s, noise in zip((s1, s2), noises, strict=True)]
    mean, std = np.column_stack([m1, -m2]), np.column_stack(changes)
    naive = log_expected_volume(mean - low, std, known[within] - low) + np.log(weights)
    kept = np.isfinite(values)
    assert kept.sum() > 20
    assert_allclose(values[kept], naive[kept], rtol=1e-6)


def test_the_search_is_nearer_to_the_best_volume_than_random_settings():
    def shares(queries):
        return dominated_volume(true_values(queries) - [-1.0, -2.0])

    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0)
    asked = play(optimizer, 30)
    x = np.linspace(0.0, 1.0, 2001)
    best = dominated_volume(np.column_stack([x, -(x**2)]) - [-1.0, -2.0])
    rng = np.random.default_rng(0)
    points = rng.random((30, 2))
    told = np.column_stack([points[:, 0] - points[:, 1] ** 2, -(points[:, 0] ** 2) - points[:, 1]])
    at_random = dominated_volume(told - [-1.0, -2.0])
    assert shares(asked) > 0.98 * best > at_random


def test_directions_decide_and_a_goal_to_maximise_is_one_with_the_other_sign():
    one = EIOptimizer(bounds=BOX, goals={"cost": "minimize"}, random_state=0)
    other = EIOptimizer(
        bounds=BOX, direction="minimize", goals={"gain": "maximize"}, random_state=0
    )
    for _ in range(15):
        query, same = one.ask(), other.ask()
        assert query == same
        reward, outcomes = goals_at(query)
        one.tell(query, reward, outcomes={"cost": outcomes["cost"]})
        other.tell(same, -reward, outcomes={"gain": -outcomes["cost"]})
    assert_allclose(other.front().values, -one.front().values)
    assert other.front().directions == ["minimize", "maximize"]


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3])
def test_three_and_four_goals(n):
    names = ["a", "b", "c"][:n]
    optimizer = EIOptimizer(
        bounds={"x": (0, 1), "y": (0, 1), "z": (0, 1)},
        goals=dict.fromkeys(names, "minimize"),
        direction="minimize",
        random_state=0,
    )
    corners = np.eye(3)[: n + 1] if n < 3 else np.vstack([np.eye(3), np.zeros(3)])

    def distances(query, corners=corners, names=names):
        first, *others = ((query.points[0] - corners) ** 2).sum(axis=1)
        return float(first), dict(zip(names, map(float, others), strict=True))

    play(optimizer, 22, distances)
    front = optimizer.front()
    assert front.values.shape[1] == n + 1
    assert len(front.queries) > 8


@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer, GPTSOptimizer])
def test_every_class_asks_the_same(cls):
    expected = play(EIOptimizer(arms=ARMS, goals=GOALS, random_state=0), 14)
    assert play(cls(arms=ARMS, goals=GOALS, random_state=0), 14) == expected


def test_costs_divide_the_improvement():
    cost = np.where(ARMS[:, 0] < 0.5, 1.0, 5.0)
    optimizer = EIOptimizer(arms=ARMS, cost=cost, goals=GOALS, random_state=0)
    play(optimizer, 12)
    twin = EIOptimizer(arms=ARMS, goals=GOALS, random_state=0)
    for query in optimizer.run_.told_queries():
        reward, outcomes = goals_at(query)
        twin.tell(query.points[0], reward, outcomes=outcomes)
    _, values = optimizer._scored_round()
    _, plain = twin._scored_round()
    assert_allclose(values, plain - np.log(cost), rtol=1e-6, atol=1e-6)


def test_lists_among_the_sides_and_a_box_that_changes():
    sides = {"solvent": ["water", "oil", "salt"], "x": (0.0, 1.0)}
    optimizer = EIOptimizer(bounds=sides, goals=GOALS, random_state=0)

    def measured(query):
        x, shift = query.params["x"], {"water": 0.0, "oil": 0.3, "salt": -0.2}
        reward = x + shift[query.params["solvent"]]
        return reward, {"cost": x**2 + 0.5 * shift[query.params["solvent"]]}

    play(optimizer, 18, measured)
    assert {query.params["solvent"] for query in optimizer.front().queries} >= {"oil", "salt"}
    optimizer.set_params(bounds={**sides, "solvent": ["water", "salt"]})
    query = optimizer.ask(fixed={"x": 0.5})
    assert query.params["x"] == 0.5 and query.params["solvent"] != "oil"
    assert all(each.params["solvent"] != "oil" for each in optimizer.front().queries)


# -- batches, failures ----------------------------------------------------------------------------


def test_queries_of_a_batch_are_for_different_parts_of_the_front():
    optimizer = searched()
    values = true_values(optimizer.ask(5))
    gaps = np.abs(values[:, np.newaxis] - values).max(axis=2)[np.triu_indices(5, 1)]
    assert gaps.min() > 0.01
    assert len(optimizer.pending_) == 5


def test_pending_queries_count_with_their_expected_values():
    optimizer = EIOptimizer(arms=ARMS, goals=GOALS, random_state=0)
    play(optimizer, 12)
    before, first = optimizer._scored_round()[1], optimizer.ask()
    after = optimizer._scored_round()[1]
    assert before.argmax() == first.index
    assert after[first.index] < before[first.index] - 1.0


def test_failures_and_goals_that_were_not_measured():
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(30):
            query = optimizer.ask()
            reward, outcomes = goals_at(query)
            if query.params["x"] > 0.7:
                optimizer.tell(query, None)
            else:
                outcomes = {"cost": None if i % 3 == 0 else outcomes["cost"]}
                optimizer.tell(query, reward, outcomes=outcomes)
    assert len(optimizer.failed_) < 15
    front = optimizer.front("best_observed")
    costs = [each[2].get("cost") for each in optimizer.run_.events if each[0] == "outcomes"]
    n_measured = sum(cost is not None for cost in costs)
    assert len(front.values) + len(front.others) == n_measured < optimizer.run_.n_told
    assert max(query.params["x"] for query in front.queries) <= 0.7


def test_before_every_goal_was_measured_the_rule_of_the_class_chooses():
    one = EIOptimizer(arms=ARMS, goals=GOALS, random_state=0)
    plain = EIOptimizer(arms=ARMS, random_state=0)
    for _ in range(13):
        query, same = one.ask(), plain.ask()
        assert query == same
        reward, _ = goals_at(query)
        one.tell(query, reward, outcomes={"cost": None})
        plain.tell(same, reward)
    assert one.recommend() == plain.recommend()
    with pytest.raises(ValueError, match="needs an answer of each goal"):
        one.front()


def test_goals_that_were_never_measured_together():
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS | {"heat": "minimize"}, random_state=0)
    for i in range(12):
        reward, outcomes = goals_at(query := optimizer.ask())
        name = ("cost", "heat")[i % 2]
        optimizer.tell(query, reward, outcomes={"cost": None, "heat": None, name: outcomes[name]})
    front = optimizer.front("best_observed")
    assert (front.queries, front.volume) == ([], 0.0) and np.isnan(front.reference).all()
    assert len(optimizer.front("posterior").queries) > 1
    assert optimizer.recommend("best_observed") in optimizer.run_.told_queries()
    assert optimizer.ask() is not None


def test_a_goal_that_did_not_come_is_said():
    optimizer = EIOptimizer(arms=ARMS, goals=GOALS, random_state=0)
    with pytest.warns(LimitWarning, match="'cost' is a goal and did not come with the answer"):
        optimizer.tell(optimizer.ask(), 1.0)


def test_exact_answers_to_all_goals_of_all_arms_end_a_run():
    arms = ARMS[:14]
    optimizer = EIOptimizer(arms=arms, goals=GOALS, random_state=0)
    result = optimizer.run(goals_at, budget=60)
    assert 14 <= result.nfev < 25
    assert {tuple(query.points[0]) for query in optimizer.run_.told_queries()} == set(
        map(tuple, arms)
    )


# -- runs -----------------------------------------------------------------------------------------


def test_the_same_seed_is_the_same_run_and_reading_changes_nothing():
    expected = play(EIOptimizer(bounds=BOX, goals=GOALS, random_state=3), 18)
    optimizer, asked = EIOptimizer(bounds=BOX, goals=GOALS, random_state=3), []
    for i in range(18):
        asked += play(optimizer, 1)
        if i % 2:
            optimizer.front()
            optimizer.recommend()
    assert asked == expected


@pytest.mark.slow
def test_files_pickles_and_replays_continue_the_run():
    optimizer = searched(limits={"heat": (None, 1.0)})
    pending = optimizer.ask(2)
    file = io.BytesIO()
    optimizer.save(file)
    file.seek(0)
    copies = [
        EIOptimizer.load(file),
        pickle.loads(pickle.dumps(optimizer)),
        optimizer._repeat_events(optimizer._events),
    ]
    for query in pending:
        for each in (optimizer, *copies):
            reward, outcomes = goals_at(query)
            each.tell(query, reward, outcomes=outcomes)
    expected = play(optimizer, 3), optimizer.front()
    for each in copies:
        assert play(each, 3) == expected[0]
        assert_array_equal(each.front().values, expected[1].values)
        assert each.front().volume == expected[1].volume


def test_goals_may_be_set_during_a_run():
    optimizer = EIOptimizer(bounds=BOX, random_state=0)
    play(optimizer, 14)
    twin = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0)
    for event in optimizer._events:
        if event[0] == "tell":
            reward, outcomes = goals_at(event[1])
            twin.tell(event[1].params, reward, outcomes=outcomes)
    optimizer.set_params(goals=GOALS)
    assert_allclose(optimizer.front().values, twin.front().values)
    optimizer.set_params(goals=None)
    with pytest.raises(ValueError, match="front is for searches with goals"):
        optimizer.front()


def test_many_answers_in_one_call():
    rng = np.random.default_rng(0)
    X = [{"x": x, "y": y} for x, y in rng.random((120, 2)).round(3)]
    rewards = [each["x"] - each["y"] ** 2 for each in X]
    costs = [each["x"] ** 2 + each["y"] for each in X]
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0)
    optimizer.tell(X, rewards, outcomes={"cost": costs})
    Y = np.column_stack([rewards, -np.array(costs)])
    assert len(optimizer.front("best_observed").queries) == pareto_mask(Y).sum()
    assert optimizer.ask() is not None


def test_the_result_of_a_run_has_the_front_and_no_gap():
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0)
    result = optimizer.run(goals_at, budget=15)
    assert isinstance(result.front, Front)
    assert result.x == result.front.compromise
    assert np.isnan(result.gap)
    assert f"{len(result.front.queries)} of 15 answers" in repr(result)
    plain = EIOptimizer(bounds=BOX, random_state=0).run(lambda q: goals_at(q)[0], budget=12)
    assert plain.front is None and "front" not in repr(plain)


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"goals": ["cost"]}, "goals must be a dict"),
        ({"goals": {"cost": "down"}}, "'maximize' or 'minimize'"),
        ({"goals": {1: "maximize"}}, "'maximize' or 'minimize'"),
        ({"goals": dict.fromkeys("abcd", "maximize")}, "at most 3 outcomes"),
        ({"reference": [1.0]}, "reference must have a number"),
        ({"reference": [1.0, np.inf]}, "reference"),
        ({"context_bounds": {"c": (0, 1)}}, "goals is for searches whose queries are"),
        ({"limits": {"cost": True}}, None),
    ],
)
def test_parameters_that_are_refused(parameters, message):
    optimizer = EIOptimizer(**{"bounds": BOX, "goals": GOALS, "random_state": 0} | parameters)
    with pytest.raises(ValueError, match=message or "goals must be numbers"):
        optimizer.ask()
    assert not hasattr(optimizer, "bounds_")


def test_searches_with_other_targets_are_refused():
    cells = EIOptimizer(queries=Cells([0.1]), targets=Cells(0.2), bounds=[(0, 1)], goals=GOALS)
    for optimizer in (cells, TargetsOptimizer(bounds=[(0, 1)], goals=GOALS)):
        with pytest.raises(ValueError, match=f"got goals=.* for {type(optimizer).__name__}"):
            optimizer.ask()


def test_answers_that_are_refused_change_nothing():
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, random_state=0)
    query = optimizer.ask()
    with pytest.raises(ValueError, match="'cost' is yes or no"):
        optimizer.tell(query, 1.0, outcomes={"cost": True})
    with pytest.raises(ValueError, match="'Cost', which is no goal, and not 'cost', which is one"):
        optimizer.tell(query, 1.0, outcomes={"Cost": 2.0})
    assert optimizer.pending_ == [query] and optimizer.run_.n_told == 0
    with pytest.raises(ValueError, match="front is for searches with goals"):
        EIOptimizer(bounds=BOX).fit([[0.1, 0.2]], [1.0]).front()
    optimizer.tell(query, 1.0, outcomes={"cost": 1.0})
    with pytest.raises(ValueError, match="method must be None or one of"):
        optimizer.front("shrinkage")
    with pytest.raises(ValueError, match="limits or goals"):
        optimizer.recommend(side=0.1)


def test_a_box_with_constraints():
    box = Box(BOX, ["x + y <= 1"])
    optimizer = GPUCBOptimizer(bounds=box, goals=GOALS, random_state=0)
    asked = play(optimizer, 14)
    assert all(query.params["x"] + query.params["y"] <= 1.0 + 1e-9 for query in asked)


def test_candidates_move_to_where_the_limits_hold():
    limits = {"heat": (None, 0.5)}  # in an eighth of the box
    optimizer = EIOptimizer(bounds=BOX, goals=GOALS, limits=limits, random_state=0)
    play(optimizer, 18)
    optimizer.ask()
    assert (optimizer.domain_.every_place().sum(axis=1) < 0.5).mean() > 0.2


def test_of_several_goals_no_query_is_better_by_the_reward_alone():
    optimizers = [
        EIOptimizer(RBF(0.3), bounds=[(0, 1)], alpha=0.01, random_state=0, **goals)
        for goals in ({}, {"goals": {"cost": "minimize"}})
    ]
    found = []
    for optimizer in optimizers:
        for x, reward in ((0.2, 1.0), (0.8, 2.0)):
            optimizer.tell([x], reward, outcomes={"cost": 1.0})
        told = optimizer.run_.told_queries()
        found.append(optimizer._better_predicted_query(told[0], told))
        assert optimizer._better_predicted_query(told[0], []) is None
    assert found[0][0] == told[1] and found[1] is None

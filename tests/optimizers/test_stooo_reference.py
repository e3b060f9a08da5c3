"""StoOOOptimizer against a naive implementation of Algorithm 2, round by round."""

from __future__ import annotations

import numpy as np
import pytest
from reference.stooo import stooo
from reference.tree import quadrature, representatives

from skgpb.optimizers import StoOOOptimizer
from skgpb.optimizers import stooo as module
from skgpb.optimizers._places import nearest_means

N_ROUNDS = 60

BOUNDS = {1: [(-0.5, 1.0)], 2: [(0.0, 1.0), (-1.0, 2.0)]}
PER_AXIS = {1: {1: 1, 4: 4, 10: 10}, 2: {1: 1, 4: 2, 10: (5, 2)}}


def random_function(rng, bounds):
    """A random wave between 0 and 1."""
    bounds = np.asarray(bounds, dtype=float)
    direction = rng.normal(size=len(bounds)) * 4.0 / (bounds[:, 1] - bounds[:, 0])
    phase = rng.uniform(0.0, 2.0 * np.pi)
    return lambda X: 0.5 + 0.5 * np.sin(X @ direction + phase)


def assert_same_run(optimizer, rounds, context=""):
    rounds = list(rounds)
    for record in rounds:
        cell = optimizer.ask()
        where = f"{context}, round {record.t}"
        assert (cell.depth, cell.index) == record.node.key, where
        np.testing.assert_allclose(cell.lower, record.node.lower, rtol=0, atol=1e-14)
        np.testing.assert_allclose(cell.upper, record.node.upper, rtol=0, atol=1e-14)
        optimizer.tell(cell, record.reward)
        best_cell = optimizer.recommend("paper")
        assert (best_cell.depth, best_cell.index) == record.recommendation.key, where
    np.testing.assert_array_equal(
        optimizer.history_["expanded"], [record.expanded for record in rounds], err_msg=context
    )
    asked_before = np.array([np.isfinite(record.mean) for record in rounds])
    np.testing.assert_allclose(
        optimizer.history_["mean"][asked_before],
        [record.mean for record in rounds if np.isfinite(record.mean)],
        rtol=0,
        atol=1e-12,
        err_msg=context,
    )
    return rounds


@pytest.mark.one_in(9)
@pytest.mark.parametrize("width", ["anytime", "munos"])
@pytest.mark.parametrize("feedback", ["center", "average-1", "average-4", "average-10", "integral"])
@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("d", [1, 2])
def test_follows_algorithm_2(d, n_children, feedback, width, n_seeds):
    feedback, _, S = feedback.partition("-")
    per_axis = PER_AXIS[d][int(S)] if S else None
    sub_grid = np.broadcast_to(1 if per_axis is None else per_axis, d)
    n_expanded = 0
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, d, n_children])
        f, noise = random_function(rng, BOUNDS[d]), 0.1 * rng.normal(size=N_ROUNDS)

        def oracle(node, t, f=f, noise=noise):
            if feedback == "integral":
                points, weights = quadrature(node, 8)
                return weights @ f(points) + noise[t - 1]
            return f(representatives(node, sub_grid)).mean() + noise[t - 1]

        c, rho = rng.uniform(2.0, 6.0), rng.uniform(0.6, 0.9)
        low = rng.uniform(-0.2, 0.2)
        run = {
            "max_depth": int(rng.integers(1, 6)),
            "failure_probability": rng.choice([0.1, 0.3]),
            "reward_range": (low, low + rng.uniform(0.5, 1.5)),
            "n_children": n_children,
            "width": width,
            "horizon": N_ROUNDS if width == "munos" else None,
        }
        rounds = stooo(
            oracle,
            N_ROUNDS,
            bounds=BOUNDS[d],
            variation=lambda h, c=c, rho=rho: c * rho**h,
            **run,
        )
        optimizer = StoOOOptimizer(
            bounds=BOUNDS[d],
            feedback=feedback,
            n_representatives=per_axis,
            variation=(c, rho),
            **run,
        )
        rounds = assert_same_run(optimizer, rounds, f"seed {seed}")
        n_expanded += sum(record.expanded for record in rounds)
    assert 2 * n_seeds < n_expanded < 0.9 * n_seeds * N_ROUNDS


def test_the_comparison_of_figure_4():
    """delta(h) = 14 2^-h, where the first levels are expanded after one reward."""
    rng = np.random.default_rng(0)
    f = random_function(rng, [(0.0, 1.0)])
    rounds = stooo(
        lambda node, t: f(representatives(node, (10,))).mean() + 0.1 * rng.normal(),
        80,
        bounds=[(0.0, 1.0)],
        variation=lambda h: 14.0 * 0.5**h,
        max_depth=10,
    )
    optimizer = StoOOOptimizer(
        bounds=[(0.0, 1.0)],
        feedback="average",
        n_representatives=10,
        variation=(14.0, 0.5),
        max_depth=10,
    )
    rounds = assert_same_run(optimizer, rounds)
    assert [record.expanded for record in rounds[:3]] == [True, True, True]


def test_a_node_is_expanded_at_the_first_count_line_5_of_algorithm_2_allows():
    # T >= 2 log(t^2 / theta) / delta^2 with t = T while only the root exists.
    theta, delta = 0.1, 1.2
    T = 1
    while 2.0 * np.log(T**2 / theta) / delta**2 > T:
        T += 1
    optimizer = StoOOOptimizer(
        bounds=[(0.0, 1.0)], variation=(delta, 0.5), max_depth=5, failure_probability=theta
    )
    for _ in range(T):
        optimizer.tell(optimizer.ask(), 0.5)
    assert optimizer.history_["expanded"].tolist() == [False] * (T - 1) + [True]
    assert T > 5


def test_a_region_is_recommended_without_a_context_only():
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0)], variation=(2.0, 0.5), max_depth=3)
    optimizer.tell(optimizer.ask(), 0.5)
    for side in (None, 0.2):
        with pytest.raises(ValueError, match="context"):
            optimizer.recommend(side=side, context=[0.3])


def test_untried_leaves_come_first_from_the_left():
    optimizer = StoOOOptimizer(
        bounds=[(0.0, 1.0)], n_children=3, variation=(100.0, 0.9), max_depth=2
    )
    keys = []
    for _ in range(13):
        cell = optimizer.ask()
        keys.append((cell.depth, cell.index))
        optimizer.tell(cell, 0.5)
    assert keys == [(0, 0)] + [(1, i) for i in range(3)] + [(2, i) for i in range(9)]


def test_equal_means_recommend_the_lowest_index():
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0)], variation=(100.0, 0.9), max_depth=2)
    for _ in range(15):
        optimizer.tell(optimizer.ask(), 0.5)
    best_cell = optimizer.recommend("paper")
    assert (best_cell.depth, best_cell.index) == (2, 0)


def test_nodes_at_max_depth_are_expanded_and_leaves_exist_one_below():
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0)], variation=(100.0, 0.9), max_depth=2)
    for _ in range(40):
        optimizer.tell(optimizer.ask(), 0.5)
    assert np.max(optimizer.tree_.depth) == 3
    assert optimizer.recommend("paper").depth == 2


def test_the_root_is_recommended_before_anything_is_expanded():
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0)], variation=(1e-3, 0.5), max_depth=5)
    for _ in range(5):
        optimizer.tell(optimizer.ask(), 0.5)
    best_cell = optimizer.recommend("paper")
    assert (best_cell.depth, best_cell.index) == (0, 0)


def test_rewards_outside_the_assumed_range_are_used_as_they_are():
    # Clipping would make the two children equal.
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0)], variation=(100.0, 0.9), max_depth=1)
    for _ in range(3):
        cell = optimizer.ask()
        optimizer.tell(cell, 5.0 if cell.index == 1 else 3.0)
    best_cell = optimizer.recommend("paper")
    assert (best_cell.depth, best_cell.index) == (1, 1)


def test_the_munos_width_needs_a_horizon():
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0)], width="munos")
    with pytest.raises(ValueError, match="horizon"):
        optimizer.ask()


@pytest.mark.parametrize(
    "nonsense",
    [{"reward_range": [[1, 2], [3]]}, {"reward_range": (1.0,)}, {"width": "munos"}],
)
def test_what_cannot_be_played_is_refused_in_the_run_as_at_its_start(nonsense):
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0)])
    cell = optimizer.ask()
    with pytest.raises(ValueError, match=r"reward_range must be|width='munos' needs horizon"):
        optimizer.set_params(**nonsense)
    assert optimizer.get_params()["reward_range"] == (0.0, 1.0)
    assert optimizer.tell(cell, 0.5).ask() is not None


def test_a_cell_of_a_size_is_sought_from_the_centres_of_all_cells_with_an_answer(monkeypatch):
    optimizer = StoOOOptimizer(bounds=[(0.0, 1.0), (2.0, 4.0)], variation=(3.0, 0.8))
    answered = set()
    for i in range(9):
        query = optimizer.ask()
        answered.add(tuple(np.mean([query.lower, query.upper], axis=0)))
        optimizer.tell(query, (i % 4) / 4)

    def place(worth, seen, *given):
        assert {tuple(row) for row in seen} == answered
        return real(worth, seen, *given)

    real = module.place_best_cell
    monkeypatch.setattr(module, "place_best_cell", place)
    found = optimizer.recommend(side=[0.25, 0.5])
    np.testing.assert_allclose(np.subtract(found.upper, found.lower), [0.25, 0.5])


@pytest.mark.parametrize("flat", [False, True])
def test_a_point_has_the_mean_of_the_smallest_box_nearest_to_it(flat):
    """On a domain without length on some side all volumes are 0: the first box counts."""
    rng, top = np.random.default_rng(0), 5.0 if flat else 6.0
    bounds = np.array([[0.0, 1.0], [10.0, 30.0], [5.0, top]])
    ends = np.sort(rng.random((6, 2, 2)), axis=1) * [1.0, 20.0] + [0.0, 10.0]
    boxes = [np.array([*low, 5.0, *high, top]) for low, high in ends]
    boxes, values = [*boxes, boxes[0], boxes[3]], rng.normal(size=8)
    X = rng.uniform(*bounds.T, size=(30, 3))

    def distance_and_size(x, box):
        low, high = box.reshape(2, 3)[:, :2]
        outside = np.maximum(np.maximum(low - x[:2], x[:2] - high), 0.0) / [1.0, 20.0]
        return round(outside.sum(), 12), 0.0 if flat else np.prod(high - low)

    means = nearest_means(X, boxes, values, bounds, None)
    for x, mean in zip(X, means, strict=True):
        best = min(boxes, key=lambda box, x=x: distance_and_size(x, box))
        alike = [v for box, v in zip(boxes, values, strict=True) if np.array_equal(box, best)]
        assert mean == pytest.approx(np.mean(alike))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_before_any_answer_the_middle_of_the_range_is_predicted(direction):
    optimizer = StoOOOptimizer(
        bounds=[(0.0, 1.0)], reward_range=(1.0, 5.0), direction=direction
    ).start()
    assert optimizer.predict([[0.2], [0.9]]).tolist() == [3.0, 3.0]


def test_the_number_of_an_evaluation_counts_those_that_are_pending(monkeypatch):
    optimizer, numbers = StoOOOptimizer(bounds=[(0.0, 1.0)], variation=(1.0, 0.5)), []
    optimizer.tell(optimizer.ask(), 0.5).tell(optimizer.ask(), 0.7)
    log_term = optimizer._log_term
    monkeypatch.setattr(
        StoOOOptimizer, "_log_term", lambda self, t: numbers.append(t) or log_term(t)
    )
    optimizer.ask(3)
    assert set(numbers) == {3, 4, 5}

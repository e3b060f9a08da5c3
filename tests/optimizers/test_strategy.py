"""Searches by a strategy of one's own: what the optimizer adds to its five methods."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgpb.exceptions import AllPendingError, LoadError, ParameterWarning, ReplayWarning
from skgpb.optimizers import Strategy, StrategyOptimizer


@dataclass
class Grid(Strategy):
    """Points from the left to the right, again and again; it does not look at what is pending."""

    n: int = 5

    def start(self, bounds, rng):
        self.bounds, self.told = bounds, []

    def propose(self, pending):
        low, high = self.bounds.T
        return low + (len(self.told) % self.n) / (self.n - 1) * (high - low)

    def observe(self, query, reward, alpha):
        self.told.append((reward, query.points[0]))

    def recommend(self):
        return max(self.told, key=lambda each: each[0])[1]


class Draws(Grid):
    """Points at random."""

    def start(self, bounds, rng):
        super().start(bounds, rng)
        self.rng = rng

    def propose(self, pending):
        return self.rng.uniform(*self.bounds.T)


@dataclass
class Returning(Grid):
    """It proposes what it is given."""

    point: object = None

    def propose(self, pending):
        return self.point


def answer(query):
    return -float(((query.points - 0.7) ** 2).sum())


def test_the_answers_of_a_run_reach_the_strategy_in_the_sign_that_it_maximises():
    optimizer = StrategyOptimizer(Grid(), bounds=[(0, 1)], direction="minimize")
    result = optimizer.run(lambda query: -answer(query), budget=5)
    assert result.x.points.tolist() == [[0.75]]
    assert result.fun == pytest.approx(0.05**2)
    assert [told for told, _ in optimizer.strategy_.told] == (-result.history["reward"]).tolist()
    assert not hasattr(optimizer.strategy, "told")


def test_a_point_that_is_pending_is_not_asked_twice_and_changes_nothing():
    optimizer = StrategyOptimizer(Draws(), bounds=[(0, 1)], random_state=0)
    twin = StrategyOptimizer(Draws(), bounds=[(0, 1)], random_state=0)
    assert len(set(optimizer.ask(4))) == 4
    of_grid = StrategyOptimizer(Grid(), bounds=[(0, 1)])
    first = of_grid.ask()
    with pytest.raises(AllPendingError, match="propose of Grid returns it again"):
        of_grid.ask(2)
    assert of_grid.ask() == first
    once = twin.ask()
    for each in (optimizer, twin):
        each.tell(once, 0.5)
    assert twin.ask(3) != optimizer.ask(3)  # the others are pending


def test_workers_wait_where_the_strategy_has_nothing_else_to_ask():
    optimizer = StrategyOptimizer(Grid(), bounds=[(0, 1)])
    with ThreadPoolExecutor(3) as executor:
        result = optimizer.run(answer, budget=10, executor=executor, n_jobs=3)
    assert result.nfev == 10
    assert_array_equal(
        np.sort(result.history["descriptor"][:, 0]), np.repeat(np.linspace(0, 1, 5), 2)
    )


def test_a_failed_point_is_asked_again_where_there_is_no_other():
    optimizer = StrategyOptimizer(Grid(), bounds=[(0, 1)])
    first = optimizer.ask()
    optimizer.tell(first, None)
    assert optimizer.ask() == first
    assert len(optimizer.failed_) == 1 and not optimizer.strategy_.told


def test_points_are_moved_to_values_that_a_side_has():
    sides = {"x": (0, 2), "n": range(1, 4), "kind": ["a", "b"]}
    optimizer = StrategyOptimizer(Draws(), bounds=sides, random_state=0)
    queries = optimizer.ask(20)
    assert {query.params["n"] for query in queries} == {1, 2, 3}
    assert {query.params["kind"] for query in queries} == {"a", "b"}
    optimizer.tell(queries[0].params, 1.0)
    assert queries[0] not in optimizer.pending_
    assert optimizer.recommend().params == queries[0].params


def test_averages_over_several_points_may_be_asked():
    optimizer = StrategyOptimizer(Returning(point=[[0.1], [0.3]]), bounds=[(0, 1)])
    query = optimizer.ask()
    assert query.points.tolist() == [[0.1], [0.3]]
    optimizer.tell(query, 2.0)
    assert optimizer.predict([[0.2], [0.9]]).tolist() == [2.0, 2.0]
    assert optimizer.predict_query([query]).tolist() == [2.0]


def test_what_was_given_to_fit_reaches_the_strategy():
    X, y = np.array([[0.1], [0.9], [0.5]]), np.array([1.0, 3.0, 2.0])
    optimizer = StrategyOptimizer(Grid()).fit(X, y)
    assert optimizer.recommend().points.tolist() == [[0.9]]
    assert optimizer.predict([[0.88], [0.2]]).tolist() == [3.0, 1.0]
    optimizer.tell(optimizer.ask(), 5.0)
    assert len(optimizer.strategy_.told) == 4


def test_predictions_are_those_of_the_nearest_answer_or_evaluation_in_sides_of_the_box():
    X, y = [[1.0, 0.9], [9.0, 0.9], [9.0, 0.1]], [1.0, 2.0, 3.0]
    optimizer = StrategyOptimizer(Grid(), bounds=[(0, 10), (0, 1)], direction="minimize").fit(X, y)
    places = [[2.0, 0.8], [8.0, 0.6], [6.0, 0.2]]
    assert optimizer.predict(places).tolist() == y
    optimizer.tell([[9.0, 0.9]], [4.0]).tell([[5.0, 0.3]], [7.0])
    assert optimizer.predict([*places, [6.5, 0.9]]).tolist() == [1.0, 3.0, 7.0, 3.0]


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ([0.1, 0.2], r"propose of Returning must return points of shape \(1,\) or \(S, 1\)"),
        ([np.nan], "propose of Returning"),
        ([1.5], "bounds|inside|outside"),
        (None, "propose of Returning"),
        ("left", "propose of Returning"),
    ],
)
def test_a_proposal_that_is_no_point_says_whose_it_is(point, words):
    optimizer = StrategyOptimizer(Returning(point=point), bounds=[(0, 1)])
    with pytest.raises((ValueError, TypeError), match=words):
        optimizer.ask()
    assert optimizer.start().pending_ == []


def test_parameters_of_the_strategy_are_for_the_next_start():
    optimizer = StrategyOptimizer(Grid(5), bounds=[(0, 1)])
    optimizer.tell(optimizer.ask(), 0.0)
    optimizer.set_params(strategy__n=3)
    with pytest.warns(ParameterWarning, match="set during a run, strategy will apply"):
        query = optimizer.ask()
    assert query.points.tolist() == [[0.25]]
    assert optimizer.fit([[0.0], [1.0]]).strategy_.n == 3
    with pytest.raises(ValueError, match="'strategy' parameter of StrategyOptimizer must be"):
        StrategyOptimizer("grid", bounds=[(0, 1)]).ask()


def test_an_exception_of_the_strategy_undoes_the_call():
    class Picky(Grid):
        def learn(self):
            if self.told[-1][0] > 1.0:
                raise RuntimeError("too good to be true")

    optimizer = StrategyOptimizer(Picky(), bounds=[(0, 1)])
    optimizer.tell(optimizer.ask(), 0.5)
    query = optimizer.ask()
    with pytest.raises(RuntimeError, match="too good"):
        optimizer.tell(query, 2.0)
    assert len(optimizer.history_) == len(optimizer.strategy_.told) == 1
    assert optimizer.pending_ == [query]
    assert len(optimizer.tell(query, 0.7).history_) == 2


def test_a_file_has_the_strategy_and_goes_on_with_it(tmp_path):
    optimizer = StrategyOptimizer(Draws(4), bounds=[(0, 1)], random_state=1)
    optimizer.run(answer, budget=6, checkpoint=tmp_path / "run")
    loaded = StrategyOptimizer.load(tmp_path / "run")
    assert isinstance(loaded.strategy, Draws) and loaded.strategy.n == 4
    assert loaded.ask(2) == optimizer.ask(2)
    resumed = StrategyOptimizer(Draws(4), bounds=[(0, 1)], random_state=1)
    result = resumed.run(answer, budget=8, checkpoint=tmp_path / "run", resume=True)
    assert result.nfev == 8
    assert repr(result.history[:6]) == repr(optimizer.history_)
    other = StrategyOptimizer(Draws(5), bounds=[(0, 1)], random_state=1)
    with pytest.raises(ValueError, match="with another strategy"):
        other.run(answer, budget=8, checkpoint=tmp_path / "run", resume=True)


def test_the_class_of_the_strategy_has_to_be_known_when_a_file_is_read(tmp_path):
    class Elsewhere(Grid):
        """A class that another program does not have."""

    StrategyOptimizer(Elsewhere(), bounds=[(0, 1)]).save(tmp_path / "run")
    Elsewhere.__name__ = "Other"
    with pytest.raises(LoadError, match=r"has Elsewhere\(...\), whose class is not known"):
        StrategyOptimizer.load(tmp_path / "run")


def test_a_strategy_with_random_numbers_of_its_own_is_told_of_when_its_file_is_read(tmp_path):
    class Unseeded(Draws):
        def start(self, bounds, rng):
            super().start(bounds, np.random.default_rng())

    opt = StrategyOptimizer(Unseeded(), bounds=[(0, 1)], random_state=0)
    opt.run(answer, budget=4)
    opt.save(tmp_path / "run")
    with pytest.warns(ReplayWarning, match=r"4 of 8 steps .* draws numbers without its rng"):
        again = StrategyOptimizer.load(tmp_path / "run")
    assert_array_equal(again.history_["reward"], opt.history_["reward"])

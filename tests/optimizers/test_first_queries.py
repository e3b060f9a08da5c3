"""The first indirect queries and allocations, made while no model could be trusted."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import defaults
from skgpb.domains import Box
from skgpb.domains.first_design import first_points
from skgpb.domains.indirect import are_fewer
from skgpb.kernels import WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    GPUCBOptimizer,
)
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.optimizers.indirect_baselines import IndirectEIOptimizer, IndirectMESOptimizer

BOX = np.array([[-1.0, 1.0], [0.0, 3.0]])
GRID = np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(0, 3, 9)), -1).reshape(-1, 2)
WINDOW = WindowMean(scale=[0.1, 0.2])
DOMAINS = {"box": {"query_bounds": BOX}, "rows": {"queries": GRID}}
BUDGETS = np.arange(21.0)[:, None]


@pytest.fixture(params=DOMAINS)
def queries(request):
    return DOMAINS[request.param]


def make(cls=CMESOptimizer, **settings):
    return cls(**{"conditional": WINDOW, "bounds": BOX, "n_points": 100} | settings)


def play(optimizer, n):
    asked = []
    for _ in range(n):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1], float(np.sin(asked[-1].a).sum()))
    return np.array([query.a for query in asked])


def fills(rows):
    """Return whether ten rows are in every quarter of both sides, like Sobol points."""
    sides = (rows - BOX[:, 0]) / (BOX[:, 1] - BOX[:, 0])
    return all(len(np.unique(np.minimum(np.floor(4 * x), 3))) == 4 for x in sides.T)


@pytest.mark.one_in(10)
@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectEIOptimizer, IndirectMESOptimizer])
def test_first_queries_are_the_same_for_every_rule_and_fill_the_space(cls, queries):
    asked = play(make(cls, **queries, random_state=3), defaults.N_INITIAL)
    assert fills(asked)
    np.testing.assert_array_equal(asked, play(make(**queries, random_state=3), defaults.N_INITIAL))
    first = [make(**queries, random_state=seed).ask().a for seed in range(5)]
    assert len(np.unique(first, axis=0)) > 1


def test_in_a_box_they_are_points_of_a_sobol_sequence():
    optimizer = make(query_bounds=BOX, random_state=0)
    asked = play(optimizer, defaults.N_INITIAL)
    sequence = first_points(BOX, defaults.N_INITIAL, optimizer.run_.seed)
    np.testing.assert_array_equal(np.unique(asked, axis=0), np.unique(sequence, axis=0))


@pytest.mark.one_in(2)
def test_a_kernel_that_is_given_is_relied_on_at_once(queries):
    by_rule = make(kernel=RBF(0.5), **queries, random_state=0).ask()
    # All queries tie but for the border: the rule begins in the middle.
    assert np.abs(by_rule.a - BOX.mean(axis=1)).max() < 0.3
    assert make(**queries, n_initial=0, random_state=0).ask() == by_rule
    assert make(kernel=RBF(0.5), **queries, n_initial=3, random_state=0).ask() != by_rule


@pytest.mark.one_in(2)
def test_what_was_told_counts_and_is_kept_away_from(queries):
    optimizer = make(**queries, random_state=0)
    corner = GRID[(GRID[:, 0] <= -0.5) & (GRID[:, 1] <= 0.75)]
    for a in [*corner, *corner]:  # more than ten answers, all of them about one corner
        optimizer.tell(a, float(np.sin(a).sum()))
    asked = []
    while optimizer._next_initial_query() is not None:
        asked += list(play(optimizer, 1))
    asked = np.array(asked)
    assert ((asked[:, 0] > -0.5) | (asked[:, 1] > 0.75)).all()
    # A sixteenth of the box is known: of ten places one, and what is nearer to it than others.
    assert (
        defaults.N_INITIAL - 3 <= len(np.unique(asked, axis=0)) == len(asked) < defaults.N_INITIAL
    )


def test_a_batch_has_the_queries_of_a_run_one_by_one(queries):
    batch = [query.a for query in make(**queries, random_state=1).ask(defaults.N_INITIAL)]
    one_by_one = play(make(**queries, random_state=1), defaults.N_INITIAL)
    np.testing.assert_array_equal(batch, one_by_one)


def test_failures_are_replaced_and_not_repeated(queries):
    optimizer = make(**queries, random_state=0)
    failed = []
    for _ in range(3):
        failed.append(optimizer.ask())
        optimizer.tell(failed[-1], None)
    asked = np.vstack([[query.a for query in failed], play(optimizer, defaults.N_INITIAL)])
    assert len(np.unique(asked, axis=0)) == defaults.N_INITIAL + 3


def test_a_saved_run_goes_on_with_the_same_first_queries(queries, tmp_path):
    optimizer = make(**queries, random_state=None)
    play(optimizer, 2)
    pending = optimizer.ask(2)
    optimizer.save(tmp_path / "run.skgpb")
    resumed = CMESOptimizer.load(tmp_path / "run.skgpb")
    assert resumed.ask(7) == optimizer.ask(7)
    assert resumed.ask(2) == pending


def test_of_a_tree_the_coarsest_cells_are_asked_first():
    """Averages over the cells of a level leave no gap; the mean of everything tells nothing."""
    optimizer = CMETSOptimizer(bounds=BOX, n_points=100, random_state=0)
    cells = []
    for _ in range(defaults.N_INITIAL):
        cells.append(optimizer.ask())
        optimizer.tell(cells[-1], 0.0)
    assert [cell.depth for cell in cells] == [1] * 4 + [2] * 6
    # Cells of a level keep away from each other: every quadrant has one before any has two.
    parents = [cell.index // 4 for cell in cells[4:]]
    assert sorted(parents[:4]) == [0, 1, 2, 3]
    given = CMETSOptimizer(RBF(0.5), bounds=BOX, n_points=100, random_state=0)
    given_up = CMETSOptimizer(bounds=BOX, max_depth=0, n_points=100, random_state=0)
    assert given.ask().depth == CMETSOptimizer(RBF(0.5), bounds=BOX, n_initial=0).ask().depth
    assert given_up.ask().depth == 0


def campaigns(n=3, random_state=0, **settings):
    optimizers = [DAGPUCBOptimizer(arms=BUDGETS, **settings)] * n
    return CombinatorialBandit(optimizers, budget=20.0, random_state=random_state)


def test_first_allocations_spend_the_budget_and_spread_every_campaign():
    bandit = campaigns()
    asked = bandit.ask(defaults.N_INITIAL)
    costs = np.array([allocation.costs for allocation in asked])
    assert len(np.unique(costs, axis=0)) == defaults.N_INITIAL
    assert (costs.sum(axis=1) <= 20.0).all()
    # Up to half the whole budget, none of a campaign's is far from one that was tried. One of eight
    # Sobol points has a share above 7/8 for it, (17.5, 20, 20) at worst, of which (5, 7.5, 7.5) is
    # the nearest that can be afforded, and arms are whole numbers.
    for tried in costs.T:
        assert np.abs(np.arange(11)[:, None] - tried).min(axis=1).max() <= 3.0
        assert tried.max() > 4.0


def test_allocations_that_failed_or_were_told_count_as_for_arms():
    bandit, rng = campaigns(), np.random.default_rng(0)
    failed = bandit.ask()
    bandit.tell(failed, None)
    seen = [failed.indices]
    for _ in range(defaults.N_INITIAL):
        allocation = bandit.ask()
        seen.append(allocation.indices)
        bandit.tell(allocation, rng.normal(size=3))
    assert len(set(seen)) == defaults.N_INITIAL + 1
    assert bandit._first_allocation() is None
    assert campaigns(n_initial=0).start()._first_allocation() is None
    assert campaigns(kernel=RBF(5.0)).start()._first_allocation() is None


def test_a_history_of_one_split_leaves_the_other_splits_to_be_tried():
    rng = np.random.default_rng(0)
    history = np.array([6.0, 7.0, 7.0]) + rng.integers(-1, 2, size=(30, 3))
    bandit = campaigns().fit(history, rng.normal(size=(30, 3)))
    asked = []
    while bandit._first_allocation() is not None:
        asked.append(bandit.ask())
        bandit.tell(asked[-1], rng.normal(size=3))
    costs = np.array([allocation.costs for allocation in asked])
    # Every campaign is tried with far less than it ever had, and several with far more.
    assert (costs.min(axis=0) <= 3.0).all() and (costs.max(axis=0) >= 12.0).sum() >= 2


def test_distinct_places_are_counted_no_further_than_needed():
    places = iter([np.array([[0.0, 1.0]]), np.array([[-0.0, 1.0]]), np.array([[2.0, 1.0]])] * 2)
    assert not are_fewer(2, places)
    assert len(list(places)) == 3  # the third says that there are enough
    assert are_fewer(3, [np.zeros(1), np.ones(1), np.zeros(1)])
    assert not are_fewer(0, [])


@pytest.mark.parametrize("blur", [0.005, 0.018, 0.03, 0.1])
def test_windows_of_equal_deviation_begin_with_as_many_queries_whatever_their_shape(blur):
    # They are no further apart than two deviations, but 10 at least and 25 at most.
    def usual(window, width):
        conditional = WindowMean(scale=width, window=window)
        box = {"bounds": [(0, 1)], "query_bounds": [(0, 1)], "conditional": conditional}
        return CMESOptimizer(**box, random_state=0).start()._n_initial

    expected = min(max(math.ceil(1.0 / (2.0 * blur)), 10), 25)
    assert usual("gaussian", blur) == usual("uniform", math.sqrt(3.0) * blur) == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer])
def test_queries_fill_the_space_while_all_answers_are_equal(cls, seed):
    search = cls(bounds=[(0, 1)] * 2, random_state=seed)
    for _ in range(24):
        search.tell(search.ask(), 1.0)
    points = np.array([query.points[0] for query in search.run_.told_queries()])
    away = np.linalg.norm(points[:, None] - points, axis=2) + 9.0 * np.eye(24)
    assert away.min() > 0.03  # no repeats, and none beside another
    for corner in product((0.25, 0.75), repeat=2):
        assert np.sum(np.abs(points - corner).max(axis=1) <= 0.25) >= 4
    search.tell(search.ask(), 2.0)
    assert search._next_initial_query() is None  # the rule goes on


@pytest.mark.slow
def test_a_small_zone_of_one_category_is_found():
    found = 0
    for seed in range(3):
        search = EIOptimizer(bounds={"x": (0, 1), "kind": list("abcde")}, random_state=seed)
        best = 0.0
        for _ in range(40):
            query = search.ask()
            is_inside = query.params["kind"] == "c" and abs(query.params["x"] - 0.7) < 0.12
            best = max(best, float(is_inside))
            search.tell(query, float(is_inside))
        found += best
    assert found == 3


SPACES = {
    "box": {"bounds": [(0, 1)] * 2},
    "mixture": {"bounds": Box(dict.fromkeys("abc", (0, 1)), ["a + b + c = 1"])},
    "list": {"bounds": {"x": (0, 1), "kind": list("abcd")}},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("space", SPACES)
def test_while_answers_are_noise_many_queries_fill_the_space_and_nothing_is_said(space):
    rng, search = np.random.default_rng(0), EIOptimizer(**SPACES[space], random_state=0)
    n_filling = 0
    for i in range(26):
        fills = i >= 10 and search._next_initial_query() is not None
        if fills and not n_filling:
            assert search._model.diagnosis.shows_nothing and np.isnan(search.gap())
            result = search.run(lambda query: rng.normal(), 1)
            said = not search._model.diagnosis.shows_nothing
            assert ("best is at most" in repr(result)) == np.isfinite(result.gap) == said
        else:
            search.tell(search.ask(), rng.normal())
        n_filling += fills
    assert n_filling >= 5


def test_once_answers_show_something_the_rule_goes_on():
    rng, search = np.random.default_rng(0), EIOptimizer(bounds=[(0, 1)] * 2, random_state=0)
    for _ in range(17):
        search.tell(search.ask(), 0.1 * rng.normal())
    assert search._model.diagnosis.shows_nothing and search._next_initial_query() is not None
    # An answer far from all others is no noise, and is repeated first.
    query = search.ask()
    search.tell(query, 1.0)
    assert not search._model.diagnosis.shows_nothing
    assert search.ask() == query
    search.tell(query, 1.05)
    near = [np.abs(search.ask().points - query.points).max()]
    assert near[0] < 0.3


@pytest.mark.parametrize(("n", "expected"), [(3, 10), (10, 10), (17, 17), (25, 25), (40, 25)])
def test_the_first_queries_have_each_value_of_a_list_if_the_end_counts(n, expected):
    sides = {"kind": [f"{i}" for i in range(n)], "x": (0, 1)}
    for regret, size in (("simple", expected), ("cumulative", 10)):
        assert GPUCBOptimizer(bounds=sides, regret=regret).start()._n_initial == size

"""Where evaluations fail is learned, and the search goes on where they succeed."""

import pickle
import warnings
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import uniform
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    CombinatorialBandit,
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    StoOOOptimizer,
    defaults,
)
from skgpb.domains import Cells
from skgpb.model_selection import BanditSearchCV
from skgpb.optimizers import indirect_search
from skgpb.optimizers._feasibility import (
    FeasibilityWeightedPosterior,
    SuccessProbabilities,
    YesOrNo,
    failure_score,
    weight_by_success,
)
from skgpb.surrogate.success import learned_success

GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 12)] * 2, indexing="ij"), -1).reshape(-1, 2)
LEVELS = "abcdef"
DOMAINS = {
    "line": {"bounds": [(0, 1)]},
    "square": {"bounds": [(0, 1)] * 2},
    "arms": {"arms": GRID},
    "lists": {"bounds": {"level": list(LEVELS), "n": [1, 2, 3, 4, 5], "x": (0.0, 1.0)}},
}
RULES = {
    "ucb": (GPUCBOptimizer, {}),
    "simple": (GPUCBOptimizer, {"regret": "simple"}),
    "ei": (EIOptimizer, {}),
    "pi": (PIOptimizer, {}),
    "ts": (GPTSOptimizer, {}),
    "mes": (MESOptimizer, {}),
    "kg": (KGOptimizer, {}),
    "ids": (IDSOptimizer, {}),
    "dagp": (DAGPUCBOptimizer, {}),
}


def answer(query):
    """Smaller on the side where everything fails; None there."""
    if query._space is not None and "level" in query.params:
        level = LEVELS.index(query.params["level"])
        return None if level < 3 else 0.3 * level + query.params["x"]
    x = np.atleast_2d(query.points).mean(axis=0)
    return None if x[0] < 0.5 else float(x[0] + 0.3 * ((x[1:] - 0.4) ** 2).sum())


def play(optimizer, n, f=answer):
    """Play n rounds; return for each whether it failed."""
    failed = []
    for _ in range(n):
        query = optimizer.ask()
        value = f(query)
        failed.append(value is None)
        optimizer.tell(query, value)
    return failed


def failures_at_the_end(optimizer_of, n):
    """Return the optimizers of four seeds, and mean failures among the last ten of n rounds."""
    optimizers = [optimizer_of(seed) for seed in range(4)]
    return optimizers, np.mean([sum(play(each, n)[-10:]) for each in optimizers])


def make(rule, domain, seed, **parameters):
    cls, given = RULES[rule]
    parameters = given | DOMAINS[domain] | {"direction": "minimize"} | parameters
    return cls(**parameters, random_state=seed)


@pytest.mark.one_in(10)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("rule", ["ucb", "simple", "ei"])
def test_a_half_that_fails_is_left_alone(rule, domain):
    """At most two of the last ten fail, and what is recommended has an answer."""
    last = []
    for seed in range(3):
        optimizer = make(rule, domain, seed)
        last.append(sum(play(optimizer, 40)[-10:]))
        assert answer(optimizer.recommend()) is not None
    assert sorted(last)[1] <= 2 and max(last) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_leaves_it_alone(rule, monkeypatch):
    """The best lies at the edge of the half that fails, so that some queries beside it fail."""

    def optimizer_of(seed):
        return make(rule, "square", seed)

    optimizers, learned = failures_at_the_end(optimizer_of, 35)
    assert all(answer(each.recommend()) is not None for each in optimizers)
    monkeypatch.setattr(defaults, "SUCCESS_EVIDENCE", np.inf)
    assert learned < 0.5 * failures_at_the_end(optimizer_of, 35)[1]


@pytest.mark.parametrize("arms", [GRID, GRID[::-1]], ids=["fails", "succeeds"])
def test_a_score_is_divided_by_the_evaluations_until_an_answer(arms):
    """Whether the first arm fails or succeeds."""
    optimizer = make("ei", "arms", 0, arms=arms)
    play(optimizer, 30)
    round, scores = optimizer._scored_round()
    assert round.cost.min() == 1.0 and (round.cost[0] == 1.0) == (arms[0, 0] > 0.5)
    asked = np.isfinite(scores)
    assert round.cost[asked].max() > 1.5
    expected = optimizer.acquisition(round) - np.log(round.cost)
    np.testing.assert_allclose(scores[asked], expected[asked])


def test_cells_that_fail_are_left_alone():
    optimizer = GPUCBOptimizer(
        bounds=[(0, 1)], queries=Cells(0.1), direction="minimize", random_state=0
    )
    assert sum(play(optimizer, 40)[-10:]) <= 2
    assert optimizer.recommend().points.mean() > 0.4


TREES = {
    "gpoo": (GPOOOptimizer, {}),
    "pool": (GPOOOptimizer, {"pool": GRID}),
    "center": (GPOOOptimizer, {"feedback": "center"}),
    "stooo": (StoOOOptimizer, {}),
    "gp tree": (GPTreeOptimizer, {}),
    "zooming": (GPZoomingOptimizer, {}),
}


@pytest.mark.one_in(15)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("tree", TREES)
def test_trees_leave_it_alone(tree, d):
    """Of cells and balls, too; what is recommended lies on the side that has answers."""
    cls, given = TREES[tree]
    domain = {} if "pool" in given else {"bounds": [(0, 1)] * d}
    optimizer = cls(**given, **domain, direction="minimize", random_state=0)
    failed = play(optimizer, 40)
    assert sum(failed[-10:]) <= 2 and sum(failed) < 15
    assert optimizer.recommend().points[:, 0].mean() >= 0.5


def test_a_cell_that_fails_gives_way_to_its_children():
    """Averages over cells that reach into a part that fails have no answer; the cells inside do."""
    optimizer = GPOOOptimizer(bounds=[(0, 1)] * 2, direction="minimize", random_state=0)

    def average(cell):
        x = cell.points
        return None if (x[:, 0] < 0.3).any() else float((x**2).sum(axis=1).mean())

    assert sum(play(optimizer, 60, average)[-10:]) <= 2
    best = optimizer.recommend()
    assert best.lower[0] >= 0.29 and best.upper[0] < 0.5 and best.upper[1] < 0.3


@pytest.mark.slow
def test_a_tree_over_contexts_leaves_it_alone():
    optimizer = ContextualGPTreeOptimizer(
        context_bounds=[(0, 1)], bounds=[(0, 1)], direction="minimize", random_state=0
    )
    rng, failed = np.random.default_rng(0), []
    for _ in range(50):
        query = optimizer.ask(context=rng.random(1))
        c, x = query.points.mean(axis=0)
        failed.append(x < 0.5)
        optimizer.tell(query, None if x < 0.5 else float(x + 0.1 * c))
    assert sum(failed[-10:]) <= 2
    assert optimizer.recommend(context=[0.4]).points[:, 1].mean() >= 0.5


OTHER_INDIRECT = [
    CMESOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
]


def play_campaigns(cls, seed, fails, n=40):
    """Play three campaigns of which budgets fail; return the failures and the bandit."""
    rng, arms = np.random.default_rng(seed), np.linspace(0.0, 10.0, 21)[:, np.newaxis]
    bandit = CombinatorialBandit([cls(arms=arms)] * 3, budget=20, random_state=seed)
    failed = []
    for _ in range(n):
        allocation = bandit.ask()
        x = allocation.points[0]
        rewards = np.array([2.0 * np.log1p(x[0]), np.sqrt(x[1]), 0.5 * x[2]])
        failed.append(bool(fails(x, rng)))
        bandit.tell(allocation, None if failed[-1] else rewards + 0.05 * rng.standard_normal(3))
    return failed, bandit


@pytest.mark.slow
@pytest.mark.parametrize(
    "cls",
    [
        GPUCBOptimizer,
        pytest.param(DAGPUCBOptimizer, marks=pytest.mark.slow),
        pytest.param(EIOptimizer, marks=pytest.mark.slow),
        GPTSOptimizer,
    ],
)
def test_campaigns_leave_it_alone(cls):
    """The first campaign would get more than 5 of 20, if that did not fail."""
    counts = []
    for seed in range(3):
        failed, bandit = play_campaigns(cls, seed, lambda x, rng: x[0] > 5.0)
        counts.append(sum(failed[-10:]))
        best = bandit.recommend()
        assert best.points[0, 0] <= 5.0
        assert_array_equal(pickle.loads(pickle.dumps(bandit)).ask().points, bandit.ask().points)
    assert max(counts) <= 2


def test_random_failures_change_no_allocation(monkeypatch):
    """Failures of any allocation leave the arms alone: the queries are those without the model."""
    found = []
    for _ in range(2):
        _, bandit = play_campaigns(GPUCBOptimizer, 0, lambda x, rng: rng.random() < 0.2, n=25)
        found.append([query.indices for query in bandit.run_.told_queries()])
        monkeypatch.setattr(defaults, "SUCCESS_EVIDENCE", np.inf)
    assert found[0] == found[1]


def test_allocation_that_failed_is_not_recommended():
    """The best of the means is left out if it has failed and was never answered."""
    arms = np.linspace(0.0, 4.0, 5)[:, np.newaxis]
    bandit = CombinatorialBandit([GPUCBOptimizer(arms=arms)] * 2, budget=4, random_state=0)
    for x in ([0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [1.0, 1.0]):
        bandit.tell([x], np.sqrt(x))
    first = bandit.recommend()
    assert first.points[0].tolist() not in ([0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [1.0, 1.0])
    bandit.tell(first, None)
    assert bandit.recommend() != first
    bandit.tell(first, np.sqrt(first.points[0]))
    assert bandit.recommend() == first


@pytest.mark.slow
@pytest.mark.parametrize("cls", [CMETSOptimizer, *OTHER_INDIRECT])
def test_indirect_queries_leave_it_alone(cls, monkeypatch):
    def optimizer_of(seed):
        return cls(bounds=[(0, 1)], direction="minimize", random_state=seed)

    learned = failures_at_the_end(optimizer_of, 40)[1]
    monkeypatch.setattr(defaults, "SUCCESS_EVIDENCE", np.inf)
    assert learned < 0.5 * failures_at_the_end(optimizer_of, 40)[1]


def test_between_its_candidates_an_indirect_search_finds_no_hopeless_query(monkeypatch):
    optimizer, rounds, functions = cases.make_indirect("UCB"), [], []
    refine, maximise = type(optimizer)._refine_query, indirect_search.maximise_in_box

    def refine_query(self, round, values, free, slot):
        rounds.append(values[np.isfinite(values)].min())
        return refine(self, round, values, free, slot)

    def maximise_in_box(value, *given):
        hopeless = optimizer._feasibility().hopeless_mask(grid)
        functions.append((rounds[-1], value(grid), hopeless))
        return maximise(value, *given)

    monkeypatch.setattr(type(optimizer), "_refine_query", refine_query)
    monkeypatch.setattr(indirect_search, "maximise_in_box", maximise_in_box)
    grid = np.linspace(0, 1, 21)[:, np.newaxis]
    play(optimizer, 10, lambda query: None if query.a[0] < 0.5 else 1.0 - query.a[0])
    assert len(functions) > 1
    for lowest, found, hopeless in functions:
        assert 5 < hopeless.sum() < 16
        assert_array_equal(found[hopeless], lowest)
        assert (found[~hopeless] != lowest).all()


def test_a_row_that_failed_is_recognised_whatever_the_sign_of_its_zeros():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0], [1.0, 0.0]])
    asked, succeeded = np.array([[-0.0, 1.0], [1.0, -0.0], [0.5, 0.5]]), np.array([0.0, 0.0, 1.0])
    chances = SuccessProbabilities(asked, succeeded, rows)
    assert chances.among(chances.always_failed, rows).tolist() == [True, True, False, True]
    assert chances.among(chances.answered, asked).tolist() == [False, False, True]


@pytest.mark.parametrize("unit", [0.01, 100.0])
def test_the_units_of_the_sides_do_not_change_the_chances(unit):
    rng = np.random.default_rng(0)
    asked, rows = rng.random((30, 2)), rng.random((9, 2))
    succeeded = (asked[:, 0] > 0.4).astype(float)
    chance, scaled = (
        SuccessProbabilities(u * asked, succeeded, u * rows).weights(u * rows) for u in (1.0, unit)
    )
    np.testing.assert_allclose(scaled, chance, atol=1e-9)
    assert np.ptp(chance) > 0.5


def known_chances(cls, asked, succeeded, rate, share=None):
    """Success probabilities of a model by which they grow evenly from -1 to 3."""

    class Even(cls):
        @staticmethod
        def _learned(scaled, succeeded):
            return SimpleNamespace(rate=rate, share=share, chance=lambda rows: rows[:, 0])

    return Even(asked, succeeded, np.array([[-1.0], [3.0]]))


@pytest.mark.parametrize("n_lately", [0, 4, 10])
def test_probabilities_say_what_to_ask_first_and_last_and_what_to_recommend(n_lately):
    """Of the last ten evaluations so many failed; the query at 2.5 failed each time."""
    rows = np.linspace(-1.0, 3.0, 41)[:, np.newaxis]
    asked = np.concatenate([[[0.5], [2.9], [2.9], [0.5]], np.tile(0.1, (10, 1))])
    succeeded = np.array([1.0, 0.0, 0.0, 0.0] + [1.0] * (10 - n_lately) + [0.0] * n_lately)
    found = known_chances(SuccessProbabilities, asked, succeeded, 0.6)
    p, share = (rows[:, 0] + 1.0) / 4.0, n_lately / 10.0
    likely = min(defaults.SURE, defaults.LIKELY + 0.5 * share)
    np.testing.assert_allclose(found.weights(rows), np.clip(p / likely, 1e-3, 1.0))
    assert_array_equal(found.hopeless_mask(rows), p < defaults.HOPELESS * 0.6)
    assert_array_equal(found.unlikely_mask(rows), p < (1 - share) * 0.6 + share * likely)
    answered = np.isclose(rows[:, 0], 0.5) | (np.isclose(rows[:, 0], 0.1) & (n_lately < 10))
    sure = (p >= defaults.SURE) & ~np.isclose(rows[:, 0], 2.9)
    exact = np.round(rows, 1)  # as the rows that were asked, to the last bit
    assert_array_equal(found.feasible_mask(exact), sure | answered)


def test_an_outcome_that_was_seen_at_a_query_comes_again_as_far_as_it_depends_on_it():
    asked, succeeded = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([1.0, 1.0, 0.0, 0.0])
    found = known_chances(YesOrNo, asked, succeeded, 0.6, share=0.8)
    rows = np.array([[0.0], [1.0], [2.0], [2.5]])
    p = np.array([0.8 + 0.2 * 0.25, 0.5, 0.2 * 0.75, 0.875])
    np.testing.assert_allclose(found.probability(rows), p)
    # A region is where its middle is.
    assert_array_equal(found.probability([np.array([[1.0], [3.0]])]), found.probability(rows[2:3]))
    odds = (p / (1.0 - p)) ** defaults.YES_OR_NO_POWER
    np.testing.assert_allclose(found.weights(rows), odds / (1.0 + odds))
    np.testing.assert_allclose(found.certain_probability(rows), [1.0, 0.5, 0.0, 0.875])
    np.testing.assert_allclose(found.excess(rows), [0.0, 0.5, 1.0, 0.125])


def test_rows_of_queries_that_fail_are_left_alone():
    rows = np.linspace(0, 1, 51)[:, np.newaxis]
    optimizer = CMESOptimizer(queries=rows, bounds=[(0, 1)], direction="minimize", random_state=0)
    assert sum(play(optimizer, 40)[-10:]) <= 1


@pytest.mark.one_in(6)
@pytest.mark.parametrize("tree", TREES)
def test_random_failures_change_no_tree(tree, monkeypatch):
    """Without a pattern a search is as if nothing were learned."""
    cls, given = TREES[tree]
    asked = []
    for evidence in (defaults.SUCCESS_EVIDENCE, np.inf):
        monkeypatch.setattr(defaults, "SUCCESS_EVIDENCE", evidence)
        domain = {} if "pool" in given else {"bounds": [(0, 1)] * 2}
        optimizer, rng = cls(**given, **domain, random_state=0), np.random.default_rng(4)
        queries = []
        for _ in range(40):
            queries.append(optimizer.ask())
            value = -float(((queries[-1].points - 0.3) ** 2).sum(axis=1).mean())
            optimizer.tell(queries[-1], None if rng.random() < 0.2 else value)
        asked.append([query.box for query in queries])
    assert_array_equal(*asked)


def test_a_run_goes_on_while_something_succeeds():
    def diverges(query):
        x = float(query.points[0, 0])
        if x < 0.5:
            raise FloatingPointError("diverged")
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = make("ucb", "line", 0).run(diverges, 60)
    assert result.success and result.nfev == 60 and result.nfail < 30
    assert 0.5 <= result.x.points[0, 0] < 0.52


def test_failures_anywhere_teach_nothing():
    rng = np.random.default_rng(0)
    taught = 0
    for n in (12, 30, 60):
        for d in (1, 3):
            for rate in (0.1, 0.3):
                rows = rng.random((10, n, d))
                outcomes = (rng.random((10, n)) > rate).astype(float)
                found = [learned_success(*each) for each in zip(rows, outcomes, strict=True)]
                taught += sum(each is not None for each in found)
    assert taught <= 7  # of 120


@pytest.mark.parametrize("d", [1, 2, 5])
def test_half_a_box_is_learned(d):
    rng = np.random.default_rng(d)
    rows, new = rng.random((30, d)), rng.random((200, d))
    model = learned_success(rows, (rows[:, 0] > 0.5).astype(float))
    chances = model.chance(new)
    assert ((chances > 0.5) == (new[:, 0] > 0.5)).mean() > 0.85
    assert chances.min() >= 0.0 and chances.max() <= 1.0


@pytest.mark.parametrize("domain", ["square", "arms"])
def test_without_failures_rules_see_the_posterior(domain):
    optimizer = make("ei", domain, 0)
    play(optimizer, 15, lambda query: float(query.points.sum()))
    assert optimizer._feasibility().chances is None
    assert not isinstance(optimizer._scored_round()[0].known, FeasibilityWeightedPosterior)


def test_the_worth_of_queries_is_linear_in_f():
    """Moments and covariances of low + p (f - low), from those of f."""
    optimizer = make("kg", "arms", 0)
    play(optimizer, 30)
    round, chances = optimizer.posterior(), optimizer._feasibility().chances
    rows = optimizer.domain_.rows
    p = chances.weights(rows)
    low = optimizer._model.process.posterior.targets().min()
    found = weight_by_success(round, chances, (rows, rows), optimizer._model.process)
    assert p.min() < 0.1 and p.max() == 1.0
    np.testing.assert_allclose(found.mean, low + p * (round.mean - low))
    np.testing.assert_allclose(found.covariance, np.outer(p, p) * round.covariance, atol=1e-12)
    np.testing.assert_allclose(found.var, np.diag(found.covariance), atol=1e-9)
    np.testing.assert_allclose(found.covariance_of_target(3), found.covariance[3], atol=1e-9)
    np.testing.assert_allclose(found.draws(5), low + p * (round.draws(5) - low))
    np.testing.assert_allclose(found.own_reduction(), p * round.own_reduction(), atol=1e-9)
    weights = np.linspace(0.0, 1.0, len(p))
    expected = p * round.reduction(weights * p)
    np.testing.assert_allclose(found.reduction(weights), expected, atol=1e-9)


def test_it_follows_from_the_record(tmp_path):
    """Looking, pickles and files change nothing of a run with failures."""
    plain, looked = make("ei", "square", 1), make("ei", "square", 1)
    for turn in range(30):
        queries = [optimizer.ask() for optimizer in (plain, looked)]
        assert_array_equal(queries[0].points, queries[1].points)
        for optimizer in (plain, looked):
            optimizer.tell(queries[0], answer(queries[0]))
        if looked.history_.size:
            looked.recommend()
            looked.posterior()
        if turn == 17:
            looked = pickle.loads(pickle.dumps(looked))
        if turn == 22:
            looked.save(tmp_path / "run")
            looked = EIOptimizer.load(tmp_path / "run")
    assert_array_equal(plain.recommend().points, looked.recommend().points)


def test_an_arm_that_only_fails_is_not_recommended():
    """Although the posterior has the largest mean there."""
    arms = np.linspace(0, 1, 11)[:, np.newaxis]
    optimizer = EIOptimizer(arms=arms, alpha=1e-4, random_state=0)
    for number in range(10):
        optimizer.tell(arms[number], float(arms[number, 0]))
    assert optimizer.recommend().index == 10
    optimizer.tell(arms[10], None)
    assert optimizer._feasibility().chances is None
    assert optimizer.recommend().index == 9


def test_a_run_ends_when_all_that_has_an_answer_is_known():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = EIOptimizer(
            bounds={"level": list("abcdefgh"), "other": list("uvwxyz")}, random_state=0
        )
        result = optimizer.run(lambda query: fails_first(query.params), 60)
    assert "every query" in result.message and result.nfev < 48
    assert result.x.params["level"] == "d" and len(optimizer.history_) >= 24


def fails_first(params):
    level = "abcdefgh".index(params["level"])
    return None if level >= 4 else level + 0.1 * "uvwxyz".index(params["other"])


class Diverging(BaseEstimator):
    """An estimator whose fit fails where it would be best."""

    def __init__(self, a=0.0, b=0.0):
        self.a, self.b = a, b

    def fit(self, X, y):
        if self.a < 0.5:
            raise ValueError("diverged")
        return self

    def score(self, X, y):
        return 1.0 - self.a - 0.3 * (self.b - 0.4) ** 2


@pytest.mark.slow
def test_a_search_of_hyperparameters_learns_where_fits_fail():
    X, y = np.zeros((20, 1)), np.arange(20.0)
    last, best = [], []
    for seed in range(3):
        search = BanditSearchCV(
            Diverging(),
            {"a": uniform(), "b": uniform()},
            n_iter=30,
            cv=2,
            random_state=seed,
            refit=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y)
        scores = search.cv_results_["mean_test_score"]
        last.append(int(np.isnan(scores[-10:]).sum()))
        best.append(np.nanmax(scores))
        assert len(search.optimizer_.failed_) >= np.isnan(scores).sum()
    assert sorted(last)[1] <= 3 and np.mean(best) > 0.48


@pytest.mark.parametrize("scores", [[0.0, 0.0, 0.0], [2.0, 2.0], [-1.0, 3.0], [-1e300], [5e-324]])
def test_the_score_of_a_failure_is_below_all_scores(scores):
    assert failure_score(np.array(scores)) < min(scores)


def test_a_run_of_another_version_asks_failed_queries_again():
    """That version had no third arm: with two failed ones it began again with the first."""
    optimizer = GPUCBOptimizer(RBF(0.3), arms=[[0.0], [0.5], [1.0]], alpha=0.01, random_state=0)
    first, second = optimizer.ask(2)
    optimizer.tell([first, second], [None, None])
    run = optimizer.run_
    assert [*run.pending] == [first, second]
    run.events.append(("ask", first))
    optimizer._dirty = len(run.events)
    assert optimizer.pending_ == [first] and optimizer.ask() == first
    assert [*optimizer.run_.pending] == [first]


def test_each_evaluation_counts_once_for_the_success_probabilities(monkeypatch):
    optimizer = EIOptimizer(bounds=[(0, 1)], random_state=0).fit([[0.1], [0.2]], [1.0, 2.0])
    for x, y in ((0.3, 3.0), (0.4, None), (0.5, 1.0), (0.4, None), (0.6, None)):
        optimizer.tell([x], y)
    found = []
    learner = lambda cls: lambda asked, succeeded: found.append((asked, succeeded))  # noqa: E731
    monkeypatch.setattr(optimizer, "_learner", learner)
    optimizer.run_._taught.clear()
    optimizer._feasibility(), optimizer._feasibility(n_failures=2)
    asked, succeeded = found[0]
    np.testing.assert_allclose(asked[:, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.4, 0.6])
    assert_array_equal(succeeded, [1, 1, 1, 0, 1, 0, 0])
    asked, succeeded = found[1]
    np.testing.assert_allclose(asked[:, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.4])
    assert_array_equal(succeeded, [1, 1, 1, 0, 1, 0])


@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer, CMETSOptimizer])
def test_the_table_of_failures_has_its_columns_before_the_first(cls):
    optimizer = cls(bounds=[(0, 1)] * 2, random_state=0).start()
    empty = optimizer.failed_
    optimizer.tell(optimizer.ask(), None)
    assert len(empty) == 0 and empty.dtype == optimizer.failed_.dtype

"""What tests/test_common.py says of every loop, for queries that live in a space of their own.

Here x is in the unit square and a query is one number, so that neither is taken for the other.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from joblib import parallel_config

import skgpb.optimizers._indirect
from skgpb.exceptions import EvaluationWarning
from skgpb.kernels import PolicyMean, WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
from skgpb.surrogate import ConditionalMeanProcess

RNG = np.random.default_rng(3)
PAIRED = RNG.uniform(size=(40, 1))
POINTS = np.clip(np.hstack([PAIRED, 1 - PAIRED]) + 0.05 * RNG.normal(size=(40, 2)), 0, 1)
GRID = np.array([[x, y] for x in (0.1, 0.5, 0.9) for y in (0.2, 0.8)])


def along(A):
    """Points on a diagonal of the square."""
    return np.hstack([A, 1 - A])


COMMON = {"domain": [(0, 1), (0, 1)], "n_points": 49, "alpha": 1e-3, "random_state": 0}
WINDOW = {
    "conditional": WindowMean(scale=0.1, location=along),
    "query_bounds": [(0, 1)],
    "n_candidates": 15,
}
POLICIES = np.exp(-0.5 * (np.arange(9)[:, None] - np.arange(0, 9, 2)) ** 2)
POLICIES /= POLICIES.sum(axis=1, keepdims=True)
POLICY_MEAN = PolicyMean(policies=POLICIES, arms=along(np.linspace(0, 1, 5)[:, None]))

#: Settings and, where p(x | a) is learned, whether ``fit`` gets the pairs.
CASES = {
    "CMES": (CMESOptimizer, WINDOW, False),
    "CMES-candidates": (CMESOptimizer, WINDOW | {"continuous": False}, False),
    "CMES-pairs": (CMESOptimizer, {"n_candidates": 15, "information": "noisy"}, True),
    "CMES-policies": (
        CMESOptimizer,
        {"domain": None, "conditional": POLICY_MEAN},
        False,
    ),
    "CMETS": (CMETSOptimizer, {"query_bounds": [(0, 1)], "location": along}, False),
    "CMETS-pairs": (CMETSOptimizer, {"max_depth": 4}, True),
    "CMES-unknown-noise": (CMESOptimizer, WINDOW | {"alpha": None}, False),
    "CMES-pairs-unknown-noise": (
        CMESOptimizer,
        {"n_candidates": 15, "information": "noisy", "alpha": None},
        True,
    ),
    "CMETS-unknown-noise": (
        CMETSOptimizer,
        {"query_bounds": [(0, 1)], "location": along, "alpha": None},
        False,
    ),
    "EI": (IndirectEIOptimizer, WINDOW, False),
    "EI-unknown-noise": (IndirectEIOptimizer, WINDOW | {"alpha": None}, False),
    "PI": (IndirectPIOptimizer, WINDOW, False),
    "UCB": (IndirectUCBOptimizer, WINDOW, False),
    "MES": (IndirectMESOptimizer, WINDOW, False),
}


@pytest.fixture(params=list(CASES))
def name(request):
    return request.param


def make(name):
    cls, settings, paired = CASES[name]
    optimizer = cls(**COMMON | settings)
    return optimizer.fit(POINTS, queries=PAIRED) if paired else optimizer


def answer(query):
    """Something smooth in the first number of the query."""
    return float(np.exp(-3.0 * (np.ravel(query.points)[0] / (1 + query.a.max()) - 0.3) ** 2))


def play(optimizer, n):
    queries = []
    for _ in range(n):
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
        queries.append(query)
    return queries


def where(optimizer):
    """Points of the domain: the arms, or a grid."""
    return GRID if optimizer._arms is None else optimizer._arms


def same(one, other):
    """Assert that two optimizers know the same and go on alike."""
    np.testing.assert_array_equal(one.history_, other.history_)
    np.testing.assert_array_equal(one.recommend(), other.recommend())
    for mine, others in zip(
        one.predict(where(one), return_std=True),
        other.predict(where(one), return_std=True),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, others)
    assert one.spent_ == other.spent_
    assert one.ask(2) == other.ask(2)


def test_every_indirect_optimizer_is_in_this_suite():
    public = [getattr(skgpb.optimizers, name) for name in skgpb.optimizers.__all__]
    assert {cls for cls, _, _ in CASES.values()} == {
        cls for cls in public if hasattr(cls, "predict_query")
    }


def test_a_saved_run_continues_identically(name, tmp_path):
    optimizer = make(name)
    play(optimizer, 5)
    optimizer.tell(optimizer.ask(), 0.3, alpha=0.2)
    optimizer.tell(optimizer.ask(), None)
    optimizer.tell(optimizer.ask(3)[1], 0.1)
    optimizer.ask(2)
    # Functions are not written: they are given again.
    functions = [key for key in ("conditional", "location") if key in CASES[name][1]]
    functions = [] if name == "CMES-policies" else functions
    optimizer.save(tmp_path / "run", omit=functions)
    given = {key: CASES[name][1][key] for key in functions}
    resumed = type(optimizer).load(tmp_path / "run", **given)
    assert resumed.failed_["round"].tolist() == optimizer.failed_["round"].tolist() == [6]
    same(resumed, optimizer)
    assert play(resumed, 3) == play(optimizer, 3)
    same(resumed, optimizer)


def test_a_failure_teaches_nothing_and_another_query_follows(name):
    optimizer = make(name)
    play(optimizer, 5)
    before = optimizer.predict(where(optimizer))
    query = optimizer.ask()
    optimizer.tell(query, None)
    np.testing.assert_array_equal(optimizer.predict(where(optimizer)), before)
    assert optimizer.ask() != query
    assert (len(optimizer.history_), len(optimizer.failed_)) == (5, 1)
    spent = optimizer.spent_
    optimizer.tell(query, 0.25)
    assert optimizer.history_["reward"][-1] == 0.25
    assert optimizer.spent_ == spent + query.cost


def test_the_loop_goes_on_after_failed_evaluations(name):
    optimizer, calls = make(name), []

    def unreliable(query):
        calls.append(query)
        if len(calls) == 3:
            raise OSError("the clinic is closed")
        return answer(query)

    budget = 5.0 if name.startswith("CMETS") else 6
    with pytest.warns(EvaluationWarning, match="the clinic is closed"):
        optimizer.run(unreliable, budget)
    assert len(optimizer.failed_) == 1
    assert len(optimizer.history_) == len(calls) - 1 > 3
    assert calls[3] != calls[2]


def test_lists_are_told_as_if_one_after_another(name):
    together = make(name)
    play(together, 4)
    batch = together.ask(3)
    apart = copy.deepcopy(together)
    together.tell(batch, np.array([answer(query) for query in batch]))
    for query in batch:
        apart.tell(query, answer(query))
    same(together, apart)


def test_a_query_can_be_told_back_after_a_restart(name):
    optimizer = make(name)
    play(optimizer, 4)
    query = pickle.loads(pickle.dumps(optimizer.ask()))
    twin = pickle.loads(pickle.dumps(optimizer))
    optimizer.tell(optimizer.ask(), 0.4)
    twin.tell(query, 0.4)
    same(twin, optimizer)


@pytest.mark.parametrize(
    "optimizer",
    [
        CMESOptimizer(domain=[(0, 1)], candidates=[[0.1], [0.5], [0.9]]),
        CMETSOptimizer(domain=[(0, 1)], max_depth=1),
    ],
    ids=["candidates", "tree"],
)
def test_no_query_is_twice_in_a_batch_even_where_few_are_left(optimizer):
    """What failed lately comes again before anything is pending twice."""
    optimizer.tell(optimizer.ask(), None)
    batch = optimizer.ask(3)
    assert len({query.points.tobytes() for query in batch}) == 3
    with pytest.raises(ValueError, match=r"all 3 .* are pending"):
        optimizer.ask(4)
    assert optimizer.ask(3) == batch
    optimizer.tell(batch[0], 0.5)
    assert optimizer.ask() == batch[0]


def test_own_noise_of_an_answer_is_accepted(name):
    # Units that are learned take each answer as any other.
    precise = make(name).set_params(optimizer=None, normalize_y=False)
    play(precise, 4)
    vague, query = copy.deepcopy(precise), precise.ask()
    before = precise.predict(where(precise))
    precise.tell(query, 3.0, alpha=1e-4)
    vague.tell(query, 3.0, alpha=1e8)
    moved = [abs(each.predict(where(precise)) - before).max() for each in (precise, vague)]
    assert moved[0] > 10 * moved[1]


def test_answers_may_come_in_any_order(name):
    forward = make(name).set_params(optimizer=None, normalize_y=False, relearn=None)
    play(forward, 4)
    batch = forward.ask(3)
    backward = copy.deepcopy(forward)
    for query in batch:
        forward.tell(query, answer(query))
    for query in reversed(batch):
        backward.tell(query, answer(query))
    # A posterior with fixed hyperparameters does not depend on the order.
    points = where(forward)
    np.testing.assert_allclose(forward.predict(points), backward.predict(points), atol=1e-8)
    np.testing.assert_allclose(forward.spent_, backward.spent_, rtol=1e-14)


def test_a_callback_may_end_the_run_and_the_global_random_state_is_not_touched(name):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    optimizer = make(name)
    result = optimizer.run(answer, 50, callback=lambda opt: len(opt.history_) == 3)
    assert (result.nfev, result.message) == (3, "stopped by the callback")
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_parallel_runs_are_loops_over_batches(name):
    parallel, by_hand = make(name), make(name)
    budget = 3.0 if name.startswith("CMETS") else 4
    with parallel_config("threading"):
        parallel.run(answer, budget, n_jobs=2)
    n = 0
    while n < len(parallel.history_):
        batch = by_hand.ask(2)
        n += len(batch)
        by_hand.tell(batch, [answer(query) for query in batch])
    np.testing.assert_array_equal(parallel.history_, by_hand.history_[: len(parallel.history_)])


@pytest.mark.parametrize("information", ["noiseless", "noisy"])
def test_a_search_does_not_stall_where_answers_stay_far_below_the_maximum(information):
    nodes = np.linspace(-3, 3, 61)
    weights = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()

    def blurred(query):
        x = query.a[0] + 0.1 * nodes
        return float(weights @ (0.7 * np.exp(-30 * (x - 0.3) ** 2) + np.exp(-300 * (x - 0.8) ** 2)))

    optimizer = CMESOptimizer(
        conditional=WindowMean(scale=0.1),
        domain=[(0, 1)],
        alpha=1e-6,
        information=information,
        random_state=0,
    )
    result = optimizer.run(blurred, 16)
    assert len(np.unique(optimizer.history_["a"])) == 16
    assert abs(result.x[0] - 0.8) < 0.02


def test_rejected_calls_leave_no_trace(name):
    optimizer = make(name)
    play(optimizer, 3)
    twin = copy.deepcopy(optimizer)
    query = optimizer.ask()
    calls = [
        (query, np.nan, None),
        (query, "much", None),
        (query, 1.0, -1.0),
        ([query], [1.0, 2.0], None),
        ([[5.0, 5.0, 5.0]], 1.0, None),
        ([[np.inf]], 1.0, None),
    ]
    for bad, reward, alpha in calls:
        with pytest.raises((TypeError, ValueError)):
            optimizer.tell(bad, reward, alpha=alpha)
    with pytest.raises(ValueError, match="n must be"):
        optimizer.ask(0)
    with pytest.raises(ValueError, match="features"):
        optimizer.predict(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="NaN"):
        optimizer.predict(np.full((2, 2), np.nan))
    same(optimizer, twin)


def test_a_batch_copies_the_process_once_for_each_query_beyond_the_first(name, monkeypatch):
    """A local search scores its points by dozens, given the same expected answers."""
    copies, imagined = [], ConditionalMeanProcess.imagined

    def counted(process, *arguments, **keywords):
        copies.append(1)
        return imagined(process, *arguments, **keywords)

    optimizer, twin = make(name), make(name)
    play(optimizer, 3)
    play(twin, 3)
    # A twin that keeps nothing while it chooses, and copies whenever it asks.
    monkeypatch.setattr(twin, "_choose", twin._best_query)
    expected = twin.ask(3)
    monkeypatch.setattr(ConditionalMeanProcess, "imagined", counted)
    assert optimizer.ask(3) == expected
    assert len(copies) <= 2
    assert "_forks" not in vars(optimizer)

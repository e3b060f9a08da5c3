"""Fidelities and districts in contexts, compared with explicit sums over points."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from reference.ids import moments
from reference.kg import expected_rise
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import IDSOptimizer, KGOptimizer, MESOptimizer, TargetsOptimizer
from skgpb.domains import Cells, Districts, Fidelities
from skgpb.kernels import CellAverage, Columns, Tasks, WeightedSum

RNG = np.random.default_rng(0)
TOWNS = RNG.random((24, 2))
PEOPLE = RNG.lognormal(0.0, 0.6, size=24)
COUNTY = np.array(["north", "east", "south", "west"])[RNG.permutation(24) % 4]
WARD = RNG.permutation(24) % 8
PLACES = np.linspace(0.0, 1.0, 7)
ALPHA = 0.02
#: Kernels of a context and one action, and of a context and two.
PAIR = Columns(RBF(0.6), [0]) * Columns(Matern(0.4, nu=2.5), [1])
TRIPLE = 0.8 * Matern([0.6, 0.4, 0.5], nu=2.5)
ALIKE = {"n_tasks": 2, "W": [[1.0], [0.7]], "kappa": [0.0, 0.3]}


def f(points):
    """The best action is the context."""
    return np.exp(-8.0 * ((points[:, 1:] - points[:, :1]) ** 2).sum(axis=1))


def answer(query):
    if hasattr(query, "weights"):
        return float(query.weights @ f(query.points))
    value = float(f(query.points).mean())
    return value if getattr(query, "task", 0) == 0 else 0.6 * value + 0.2 * query.context[0]


def written_out(query):
    """Points of an answer and their weights, the task behind each point."""
    points = query.points
    weights = getattr(query, "weights", np.full(len(points), 1.0 / len(points)))
    if hasattr(query, "task"):
        points = np.column_stack([points, np.full(len(points), query.task)])
    return points, weights


class WrittenOut:
    """Covariances of weighted sums, every pair of points by itself; rows are numbers of sums."""

    def __init__(self, base, sums):
        points = np.concatenate([points for points, _ in sums])
        ends = np.cumsum([0, *(len(points) for points, _ in sums)])
        W = np.zeros((len(sums), len(points)))
        for i, (_, weights) in enumerate(sums):
            W[i, ends[i] : ends[i + 1]] = weights
        self.K = W @ base(points, points.copy()) @ W.T

    def __call__(self, A, B=None):
        return self.K[np.ix_(A, A if B is None else B)]


KINDS = {
    "fidelities": (
        Tasks(PAIR, **ALIKE),
        {"kernel": Tasks(PAIR, **ALIKE), "queries": Fidelities(2), "cost": [1.0, 0.1]},
    ),
    "cells of fidelities": (
        Tasks(PAIR, **ALIKE),
        {
            "kernel": Tasks(CellAverage(PAIR, (1, 4)), **ALIKE),
            "queries": Fidelities(2, [0.1, 0.3]),
            "targets": Cells(0.2),
            "cost": [1.0, 0.8, 0.1, 0.08],
        },
    ),
    "districts": (
        TRIPLE,
        {
            "queries": Districts(TOWNS, COUNTY, PEOPLE),
            "targets": Districts(TOWNS, WARD, PEOPLE),
            "cost": np.linspace(1.0, 2.0, 4),
        },
    ),
    "districts and points": (TRIPLE, {"queries": Districts(TOWNS, WARD), "targets": TOWNS}),
}


def made(cls, name, **settings):
    base, given = KINDS[name]
    given = {"kernel": base, "alpha": ALPHA, "n_candidates": 24, "random_state": 0} | given
    if "targets" not in given or isinstance(given["targets"], Cells):
        given["bounds"] = [(0.0, 1.0)] * (2 if base is TRIPLE else 1)
    return cls(context_bounds=[(0.0, 1.0)], **given | settings)


@pytest.mark.parametrize("name", KINDS)
def test_in_every_context_it_does_what_the_definition_says(name):
    base, optimizer = KINDS[name][0], made(KGOptimizer, name)
    full = IDSOptimizer(information="full")
    told, rewards = [], []
    for context in (0.2, 0.7, 0.5, 0.2):
        query = optimizer.ask(context=context)
        domain, targets = optimizer.domain_, optimizer.targets_
        queries = [domain.arm(i) for i in range(len(domain))]
        wanted = [targets.arm(i) for i in range(len(targets))]
        assert all((each.points[:, 0] == context).all() for each in (*queries, *wanted))
        n, m = len(told), len(told) + len(queries)
        kernel = WrittenOut(base, [written_out(each) for each in (*told, *queries, *wanted)])
        every = np.arange(m + len(wanted))
        mean, cov = moments(kernel, every[n:], every[:n], rewards, ALPHA)
        of = m - n
        posterior = optimizer.posterior([])
        np.testing.assert_allclose(posterior.query_mean, mean[:of], rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.query_var, np.diag(cov)[:of], rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.target_mean, mean[of:], rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.covariance, cov[:of, of:], rtol=0, atol=1e-8)
        S, C = np.diag(cov)[:of] + ALPHA, cov[:of, of:]
        gains = [expected_rise(mean[of:], c / np.sqrt(s)) for s, c in zip(S, C, strict=True)]
        gains = np.array(gains) / posterior.cost
        again = optimizer.posterior([])
        found = np.exp(optimizer.acquisition(again)) / again.cost
        np.testing.assert_allclose(found, gains, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(
            full.information_gain(posterior), 0.5 * np.log(S / ALPHA), rtol=0, atol=1e-8
        )
        assert gains[queries.index(query)] >= gains.max() - 1e-8
        told.append(query)
        rewards.append(answer(query))
        optimizer.tell(query, rewards[-1])
    # The recommendation in another context is the best there, or better.
    best = optimizer.recommend(context=0.9)
    there = optimizer.targets_.with_context(np.array([0.9]))
    values = optimizer.predict_query([there.arm(i) for i in range(len(there))])
    assert optimizer.predict_query([best])[0] >= values.max() - 1e-8
    assert (best.points[:, 0] == 0.9).all()


RULES = [KGOptimizer, IDSOptimizer, MESOptimizer, TargetsOptimizer]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ["cells of fidelities", "districts"])
@pytest.mark.parametrize("cls", RULES)
def test_a_run_is_saved_read_and_goes_on(cls, name, tmp_path):
    optimizer = made(cls, name, n_initial=2)
    result = optimizer.run(answer, contexts=[0.2, 0.8, 0.5])
    assert result.nfev == 3 and result.x == optimizer.recommend(context=0.5)
    several = optimizer.ask(2, context=0.3)
    elsewhere = optimizer.ask(context=0.31)
    assert several[0] != several[1] and elsewhere not in several
    optimizer.tell(several[0], None)
    # Reading in other contexts changes nothing.
    optimizer.recommend(context=0.9)
    optimizer.predict_query([elsewhere, several[1]], return_std=True)
    optimizer.predict(several[1].points)
    optimizer.save(tmp_path / "run")
    for twin in (pickle.loads(pickle.dumps(optimizer)), cls.load(tmp_path / "run")):
        np.testing.assert_array_equal(twin.history_, optimizer.history_)
        assert twin.ask(2, context=0.6) == optimizer.ask(2, context=0.6)
        assert twin.recommend(context=0.4) == optimizer.recommend(context=0.4)
        # A query of one context is told while another one is tracked.
        expected = twin.predict_query([elsewhere])
        twin.tell(elsewhere, answer(elsewhere))
        np.testing.assert_allclose(twin.history_["mean"][-1], expected[0], atol=1e-9)
    assert optimizer.spent_ == result.cost
    assert optimizer.history_["descriptor"].shape[1] == 2 * optimizer.n_features_in_


@pytest.mark.parametrize(
    ("name", "known"),
    [("fidelities", "task"), ("districts", "name")],
)
def test_a_query_knows_its_context_and_what_its_kind_knows(name, known):
    optimizer = made(KGOptimizer, name)
    query = optimizer.ask(context=0.3)
    kinds = ("task", "name")
    assert [each for each in kinds if hasattr(query, each)] == [known]
    assert query.context.tolist() == [0.3] == query.lower[:1].tolist() == query.upper[:1].tolist()
    np.testing.assert_array_equal(query.points[:, 1:], query.actions)
    index = "" if query.index < 0 else f"index={query.index}, "
    assert repr(query).startswith(f"Arm({index}" + ("context=[0.3]" if index else "x0=0.3"))
    assert pickle.loads(pickle.dumps(query)) == query and hash(query) == hash(query)
    stranger = made(KGOptimizer, "fidelities" if name == "districts" else "districts")
    with pytest.raises(ValueError, match="is not one of this optimizer's arms"):
        stranger.tell(query, 1.0)


def test_a_low_fidelity_shows_the_best_action_in_each_context():
    optimizer = made(KGOptimizer, "fidelities", kernel=None, alpha=None, n_candidates=60)
    contexts = np.random.default_rng(0).uniform(size=24)
    optimizer.run(answer, contexts=contexts)
    tasks = optimizer.history_["task"]
    assert (tasks == 0).sum() > 0 and (tasks == 1).sum() > 0
    assert optimizer.spent_ == pytest.approx(np.where(tasks == 0, 1.0, 0.1).sum())
    for context in (0.25, 0.75):
        best = optimizer.recommend(context=context)
        assert best.task == 0 and abs(best.actions[0, 0] - context) < 0.15


def test_data_of_both_fidelities_are_told_with_contexts_in_front():
    X = np.array([[0.2, 0.1, 0.0], [0.6, 0.5, 1.0], [0.6, 0.9, 1.0]])
    at_once, one_by_one = made(KGOptimizer, "fidelities"), made(KGOptimizer, "fidelities")
    at_once.tell(X, [0.1, 0.2, 0.3])
    for x, y in zip(X, [0.1, 0.2, 0.3], strict=True):
        one_by_one.tell(x, y)
    for optimizer in (at_once, one_by_one):
        assert optimizer.history_["task"].tolist() == [0, 1, 1]
        assert optimizer.spent_ == pytest.approx(1.2)
        assert optimizer.history_["descriptor"].tolist() == [[*x[:2]] * 2 for x in X.tolist()]
    assert at_once.ask(context=0.4) == one_by_one.ask(context=0.4)
    # Without a fidelity a point is of the truth.
    assert at_once.tell([0.3, 0.2], 0.1).history_["task"][-1] == 0
    with pytest.raises(ValueError, match="outside the bounds"):
        at_once.tell([1.3, 0.2, 1.0], 0.1)


def test_districts_are_told_in_a_context_and_by_their_points():
    optimizer = made(KGOptimizer, "districts").start()
    with pytest.raises(ValueError, match="'west' needs a context"):
        optimizer.tell("west", 1.0)
    with pytest.raises(ValueError, match="'west' needs a context"):
        optimizer.tell(["west", "east"], [1.0, 2.0])
    there = optimizer.domain_.with_context(np.array([0.4]))
    optimizer.tell([there.named_arm("west"), there.named_arm("east")], [1.0, 0.5])
    assert optimizer.history_["descriptor"][:, 0].tolist() == [0.4, 0.4]
    # The average over some points, which is no district.
    some = np.column_stack([np.full(3, 0.4), TOWNS[:3]])
    optimizer.tell(some, 2.0)
    mean = optimizer.predict_query([some])[0]
    np.testing.assert_allclose(mean, optimizer.predict(some).mean(), atol=1e-10)


def test_averages_over_points_are_told_beside_districts_without_contexts_too():
    optimizer = KGOptimizer(
        Matern([0.4, 0.5]),
        queries=Districts(TOWNS, COUNTY),
        targets=TOWNS,
        alpha=ALPHA,
    )
    optimizer.tell(TOWNS[:3], 2.0)
    optimizer.tell("west", 0.3)
    told = optimizer.predict_query([TOWNS[:3]], return_std=True)
    mean, cov = optimizer.predict(TOWNS[:3], return_cov=True)
    np.testing.assert_allclose(told[0], mean.mean(), atol=1e-10)
    np.testing.assert_allclose(told[1] ** 2, cov.mean(), atol=1e-10)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("districts", {"kernel": CellAverage(TRIPLE)}, "kernel must be over the points of Distr"),
        (
            "districts",
            {"bounds": {"x": (0, 1), "y": (0, 1)}},
            "the sides of bounds must have no names",
        ),
        (
            "fidelities",
            {
                "kernel": Tasks(CellAverage(PAIR), **ALIKE),
                "queries": PLACES[:, None],
                "cost": None,
            },
            "without a further column, if",
        ),
    ],
)
def test_what_cannot_be_is_refused(name, settings, message):
    context_bounds = {"hour": (0, 24)} if "names" in message else [(0.0, 1.0)]
    optimizer = made(KGOptimizer, name, **settings).set_params(context_bounds=context_bounds)
    with pytest.raises(ValueError, match=message):
        optimizer.ask(context=0.5)


def test_contrasts_are_asked_in_contexts_under_a_kernel_of_their_own():
    pair, sign = np.repeat(np.arange(8), 2), np.tile([1.0, -1.0], 8)
    kernel = WeightedSum(TRIPLE, TOWNS[:16], pair, sign, n_context=1)
    optimizer = KGOptimizer(
        kernel,
        queries=kernel.queries(np.arange(8)),
        targets=kernel.points(TOWNS),
        context_bounds=[(0.0, 1.0)],
        alpha=ALPHA,
    )
    sums, rewards = [], []
    for context in (0.3, 0.8, 0.5):
        query = optimizer.ask(context=context)
        own = pair == query.index
        points = np.column_stack([[context, context], TOWNS[:16][own]])
        sums.append((points, sign[own]))
        rewards.append(float(sign[own] @ f(points)))
        optimizer.tell(query, rewards[-1])
    wanted = np.column_stack([np.full(24, 0.6), TOWNS])
    covariance = WrittenOut(TRIPLE, [*sums, *((each[None], np.ones(1)) for each in wanted)])
    mean, _ = moments(covariance, np.arange(3, 27), np.arange(3), rewards, ALPHA)
    np.testing.assert_allclose(optimizer.predict(kernel.points(wanted)), mean, rtol=0, atol=1e-8)
    assert mean[optimizer.recommend(context=0.6).index] == mean.max()
    with pytest.raises(ValueError, match="contexts must have n_context=1 columns, and a row for"):
        kernel.queries([0, 1], [[0.1, 0.2]])


def test_cells_of_frequent_sizes_have_no_length_along_a_context():
    search = KGOptimizer(
        queries=Cells([1.0, 0.4]), cost=[1.0, 2.0], targets=Cells(0.6), bounds=[(0, 3)] * 2,
        context_bounds=[(0, 1)], n_candidates=20, random_state=0,
    ).start()  # fmt: skip
    sizes = search._model.process.sizes
    assert sizes[:, 0].tolist() == [0.0] * len(sizes)
    expected = np.repeat([0.0, 0.4, 0.6, 1.0], 2).reshape(-1, 2)
    np.testing.assert_allclose(np.unique(sizes[:, 1:], axis=0), expected)

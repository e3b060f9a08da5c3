"""Rules over arms and boxes in contexts: GP-UCB against a naive CGP-UCB, and what all share."""

from __future__ import annotations

import pickle
from itertools import product

import cases
import numpy as np
import pytest
from reference.cgp_ucb import cgp_ucb, posterior
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import (
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IGPUCBOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    URGPUCBOptimizer,
)
from skgpb.domains import Arm, Cells
from skgpb.kernels import CellAverage, Columns
from skgpb.optimizers.combinatorial import CombinatorialBandit

RULES = [
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IGPUCBOptimizer,
    MESOptimizer,
    PIOptimizer,
    URGPUCBOptimizer,
]
ALPHA = 0.04
ARMS = np.linspace(0.0, 1.0, 13)[:, None]


def f(points):
    """The best action is the context."""
    points = np.atleast_2d(points)
    return float(np.exp(-10.0 * (points[:, -1] - points[:, 0]) ** 2).mean())


def play(optimizer, contexts):
    return [
        optimizer.tell(query := optimizer.ask(context=context), f(query)) and query
        for context in contexts
    ]


# CGP-UCB -----------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("d_c", "d_a"), [(1, 1), (2, 2)])
def test_gp_ucb_in_contexts_is_cgp_ucb(seed, d_c, d_a):
    rng = np.random.default_rng(seed)
    context_part = Columns(RBF(0.6), list(range(d_c)))
    action_part = Columns(Matern(0.4, nu=1.5), list(range(d_c, d_c + d_a)))
    kernel = context_part * action_part if seed % 2 else context_part + 0.5 * action_part
    arms = rng.uniform(size=(25, d_a))
    # Some contexts come back, as they do where there are few.
    contexts = np.concatenate([rng.uniform(size=(12, d_c)), rng.uniform(size=(1, d_c))] * 2)[:20]
    noise = 0.2 * rng.normal(size=len(contexts))
    beta = 2.0 if seed == 2 else None

    def answer(row, t):
        return np.sin(4.0 * row).sum() + noise[t - 1]

    def theory(t, n):
        return 2.0 * np.log(n * t**2 * np.pi**2 / (6.0 * 0.1))

    plays = cgp_ucb(
        kernel, ALPHA, arms, contexts, answer, theory if beta is None else lambda t, n: beta
    )
    optimizer = GPUCBOptimizer(
        kernel, arms=arms, context_bounds=[(0, 1)] * d_c, alpha=ALPHA, beta=beta
    )
    for t, (expected, context) in enumerate(zip(plays, contexts, strict=True), 1):
        query = optimizer.ask(context=context)
        assert query.index == expected.pulled, f"round {t}"
        mean, std = cases.moments(optimizer)
        np.testing.assert_allclose(mean, expected.mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(std, expected.std, rtol=0, atol=1e-8)
        optimizer.tell(query, answer(query.points[0], t))
        assert optimizer.recommend(context=context).index == expected.recommended, f"round {t}"


def test_of_the_candidates_in_a_box_the_best_bound_of_the_context_is_asked():
    kernel = RBF([0.5, 0.2])
    optimizer = GPUCBOptimizer(
        kernel, bounds=[(0, 1)], context_bounds=[(0, 1)], alpha=ALPHA, beta=4.0, random_state=0
    )
    rng = np.random.default_rng(0)
    told, y = np.empty((0, 2)), np.empty(0)
    fine = np.linspace(0, 1, 2001)
    for context in rng.uniform(size=15):
        query = optimizer.ask(context=context)
        rows = optimizer.domain_.rows
        assert (rows[:, 0] == context).all()
        values = []
        for points in (rows, np.column_stack([np.full(2001, context), fine])):
            mean, std = posterior(kernel, ALPHA, told, y, points)
            values.append((mean + 2.0 * std).max())
        mean, std = posterior(kernel, ALPHA, told, y, query.points)
        assert abs(mean[0] + 2.0 * std[0] - values[0]) < 1e-8
        # 500 candidates on an interval: none is farther than about 1/375 from the best of all.
        assert values[1] - values[0] < 1e-3
        optimizer.tell(query, f(query))
        told, y = np.concatenate([told, query.points]), np.append(y, f(query))


def test_candidates_follow_what_is_best_in_each_context():
    optimizer = GPUCBOptimizer(
        RBF([0.5, 0.3, 0.3]),
        bounds=[(0, 1)] * 2,
        context_bounds=[(0, 1)],
        alpha=1e-2,
        beta=4.0,
        random_state=0,
    )
    rng = np.random.default_rng(0)
    for context in rng.uniform(size=40):
        query = optimizer.ask(context=context)
        optimizer.tell(query, -((query.actions - context) ** 2).sum() + 0.1 * rng.normal())
    anywhere = rng.uniform(size=(10_000, 2))
    for context in (0.2, 0.5, 0.8):
        rows = np.column_stack([np.full(len(anywhere), context), anywhere])
        best = optimizer.recommend(context=context)
        # The best of this many random points is about 0.005 below the maximum, which is 1.
        assert optimizer.predict(best.points)[0] > optimizer.predict(rows).max() - 1e-4


# Every rule ------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", RULES)
def test_every_rule_learns_which_action_suits_which_context(cls):
    optimizer = cls(RBF([0.5, 0.3]), arms=ARMS, context_bounds=[(0, 1)], alpha=0.01, random_state=0)
    contexts = np.random.default_rng(1).uniform(size=40)
    result = optimizer.run(f, contexts=contexts)
    assert result.nfev == 40
    assert result.x == optimizer.recommend(context=contexts[-1])
    played = [f(optimizer.recommend(context=context)) for context in (0.1, 0.5, 0.9)]
    assert min(played) > 0.8  # the best of the 13 arms is above 0.98, a random one has 0.55


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPTSOptimizer])
def test_reading_in_other_contexts_changes_nothing(cls):
    def run(reads):
        optimizer = cls(bounds=[(0, 1)], context_bounds=[(0, 1)], n_candidates=30, random_state=0)
        queries = []
        for context in np.random.default_rng(2).uniform(size=8):
            queries.append(optimizer.ask(context=context))
            optimizer.tell(queries[-1], f(queries[-1]))
            if reads:
                optimizer.recommend(context=1.0 - context)
                optimizer.recommend(context=0.5, side=0.2)
                cases.scores(optimizer)
                optimizer.predict([[0.2, 0.3]], return_std=True)
                optimizer = pickle.loads(pickle.dumps(optimizer))
        return queries

    assert run(False) == run(True)


def test_a_query_knows_its_context():
    optimizer = GPUCBOptimizer(arms=ARMS, context_bounds=[(0, 1), (-1, 1)], random_state=0)
    query = optimizer.ask(context=[0.3, -0.5])
    assert isinstance(query, Arm)
    assert query.context.tolist() == [0.3, -0.5]
    assert query.points.tolist() == [[0.3, -0.5, *ARMS[query.index]]]
    assert query.actions.tolist() == [ARMS[query.index].tolist()]
    assert "context=[ 0.3 -0.5]" in repr(query)
    assert optimizer.history_.dtype["descriptor"].shape == (6,)
    assert pickle.loads(pickle.dumps(query)) == query


def test_answers_about_boxes_are_averages_in_a_context():
    cells = np.array(list(product([0.0, 0.25, 0.5, 0.75], repeat=1)))
    kernel = CellAverage(RBF([0.5, 0.3]), 4)
    optimizer = EIOptimizer(
        kernel, arms=np.column_stack([cells, cells + 0.25]), context_bounds=[(0, 1)], alpha=0.01
    )
    query = play(optimizer, [0.1])[0]
    assert query.points.shape == (4, 2)
    assert (query.points[:, 0] == 0.1).all()
    play(optimizer, np.random.default_rng(0).uniform(size=20))
    assert optimizer.recommend(context=0.6).index == 2
    # The posterior of a cell in a context is that of the average of its points there.
    mean = optimizer.predict_query([optimizer.recommend(context=0.6)])[0]
    np.testing.assert_allclose(
        mean, optimizer.predict(optimizer.recommend(context=0.6).points).mean(), atol=1e-9
    )


def test_queries_of_several_contexts_are_pending_together():
    optimizer = GPUCBOptimizer(
        RBF([0.3, 0.3]), arms=ARMS, context_bounds=[(0, 1)], alpha=0.01, random_state=0
    )
    batch = optimizer.ask(3, context=0.2)
    assert len({query.index for query in batch}) == 3
    elsewhere = optimizer.ask(context=0.9)
    assert optimizer.ask(3, context=0.2) == batch
    assert optimizer.ask(context=0.9) == elsewhere
    # The pending answer at 0.2 is taken into account next to it: other arms are asked.
    near = optimizer.ask(context=0.21)
    assert near.index not in {query.index for query in batch}
    for query in [near, elsewhere, *batch]:
        optimizer.tell(query, f(query))
    assert len(optimizer.history_) == 5


def test_sides_of_contexts_and_actions_have_names(tmp_path):
    optimizer = GPUCBOptimizer(
        context_bounds={"outside": (-10.0, 30.0), "day": ["week", "sunday"]},
        bounds={"heating": (0.0, 5.0), "mode": ["slow", "fast"]},
        n_candidates=60,
        random_state=0,
    )

    def comfort(query):
        cold = (20.0 - query.params["outside"]) / 10.0
        extra = 0.5 * (
            query.params["mode"] == ("fast" if query.params["day"] == "week" else "slow")
        )
        return extra - (query.params["heating"] - max(cold, 0.0)) ** 2

    rng = np.random.default_rng(0)
    contexts = [
        {"outside": rng.uniform(-10, 30), "day": str(rng.choice(["week", "sunday"]))}
        for _ in range(45)
    ]
    optimizer.run(comfort, contexts=contexts)
    best = optimizer.recommend(context={"outside": 0.0, "day": "week"}).params
    assert best["outside"] == 0.0
    assert best["mode"] == "fast"
    assert abs(best["heating"] - 2.0) < 0.7
    optimizer.save(tmp_path / "run")
    loaded = GPUCBOptimizer.load(tmp_path / "run")
    context = {"outside": 5.0, "day": "sunday"}
    assert loaded.ask(context=context) == optimizer.ask(context=context)
    assert loaded.recommend(context=context) == optimizer.recommend(context=context)


def test_the_information_gain_counts_all_contexts():
    gains = []
    for contexts in (None, [(0, 1)]):
        kernel = RBF(0.2) if contexts is None else RBF([0.2, 0.2])
        optimizer = IGPUCBOptimizer(kernel, arms=ARMS, context_bounds=contexts, alpha=0.01).start()
        gains.append(optimizer._theory_beta(50, len(ARMS)))
    assert gains[1] > 2.0 * gains[0]


# Targets ---------------------------------------------------------------------------------------


def test_the_gain_in_a_context_is_that_of_its_own_targets():
    kernel = CellAverage(RBF([0.5, 0.3]), 5)
    singles = np.column_stack([np.arange(12), np.arange(1, 13)]) / 12
    pools = np.column_stack([np.arange(10), np.arange(3, 13)]) / 12
    optimizer = KGOptimizer(
        kernel, queries=pools, targets=singles, context_bounds=[(0, 1)], alpha=ALPHA
    )
    rng = np.random.default_rng(0)
    play(optimizer, rng.uniform(size=6))
    query = optimizer.ask(context=0.3)
    told = optimizer.history_["descriptor"]
    y = optimizer.history_["reward"]

    def inside(rows):
        lower, upper = np.split(rows, 2, axis=1)
        context = np.full_like(lower, 0.3)
        return np.hstack([context, lower, context, upper])

    queries, targets = inside(pools), inside(singles)
    every = np.concatenate([queries, targets])
    gram = kernel(told) + ALPHA * np.eye(len(told))
    solved = np.linalg.solve(gram, kernel(told, every))
    mean = solved.T @ y
    cov = kernel(every) - kernel(every, told) @ solved
    n = len(queries)
    # The expected rise by quadrature over the answer, 4,001 points to ten deviations.
    z = np.linspace(-10.0, 10.0, 4001)
    weights = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) * (z[1] - z[0])
    gains = []
    for i in range(n):
        slope = cov[i, n:] / np.sqrt(cov[i, i] + ALPHA)
        rise = (mean[n:] + z[:, None] * slope).max(axis=1) - mean[n:].max()
        gains.append(weights @ rise)
    posterior_ = optimizer.posterior(pending=[])
    np.testing.assert_allclose(posterior_.target_mean, mean[n:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(posterior_.covariance, cov[:n, n:], rtol=0, atol=1e-8)
    assert query.index == int(np.argmax(gains))
    np.testing.assert_allclose(
        np.exp(optimizer.acquisition(posterior_)), gains, rtol=0, atol=1e-5 * max(gains)
    )


def test_cells_of_several_prices_are_asked_and_one_is_wanted_in_each_context():
    optimizer = KGOptimizer(
        queries=Cells([0.3, 0.1]),
        cost=[1, 2],
        alpha=[0.01, 0.02],
        targets=Cells(0.1),
        bounds=[(0, 1)],
        context_bounds=[(0, 1)],
        n_candidates=60,
        random_state=0,
    )
    contexts = np.random.default_rng(1).uniform(size=30)
    result = optimizer.run(f, contexts=contexts)
    assert result.cost == optimizer.spent_
    sizes = optimizer.history_["descriptor"]
    sizes = sizes[:, 3] - sizes[:, 1]
    assert result.cost == (sizes > 0.2).sum() + 2 * (sizes < 0.2).sum()
    for context in (0.25, 0.5, 0.75):
        best = optimizer.recommend(context=context)
        np.testing.assert_allclose(best.upper - best.lower, [0.0, 0.1], atol=1e-12)
        assert abs(best.center[1] - context) < 0.12
    with pytest.raises(ValueError, match="budget and max_cost must be None"):
        optimizer.run(f, contexts=contexts, max_cost=3.0)


def test_queries_follow_the_answers_in_a_context_that_comes_back():
    """So they do where the targets are few points, which stay where they are."""
    optimizer = KGOptimizer(
        RBF([0.5, 0.1]),
        queries=Cells(0.0),
        targets=ARMS,
        bounds=[(0, 1)],
        context_bounds=[(0, 1)],
        alpha=1e-4,
        n_candidates=12,
        random_state=0,
    )
    near = []
    for _ in range(8):
        query = optimizer.ask(context=0.63)
        near.append((np.abs(optimizer.domain_.rows[:, 1] - 0.41) < 0.08).sum())
        optimizer.tell(query, -((query.points[0, 1] - 0.41) ** 2))
    assert near[-1] > near[0] + 2
    assert (optimizer.targets_.rows[:, 1:] == ARMS).all()


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda opt: opt.ask(), "context must be given"),
        (lambda opt: opt.ask(context=2.0), "outside the bounds"),
        (lambda opt: opt.ask(context=[0.1, 0.2]), r"context must have shape \(1,\)"),
        (lambda opt: opt.run(f, 3), "contexts must be given"),
        (lambda opt: opt.run(f, 3, contexts=[0.5]), "budget and max_cost must be None"),
        (lambda opt: opt.run(f, contexts=[]), "contexts must"),
        (lambda opt: opt.set_params(context_bounds=None).ask(context=0.5), "a context needs"),
    ],
)
def test_contexts_that_cannot_be_are_refused(call, message):
    optimizer = GPUCBOptimizer(arms=ARMS, context_bounds=[(0, 1)])
    with pytest.raises(ValueError, match=message):
        call(optimizer)


def test_parameters_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="the domain of actions"):
        GPUCBOptimizer(context_bounds=[(0, 1)]).ask(context=0.5)
    with pytest.raises(ValueError, match="context_bounds"):
        GPUCBOptimizer(bounds=[(0, 1)], context_bounds=[(1, 0)]).ask(context=0.5)
    with pytest.raises(ValueError, match="names, or of neither"):
        GPUCBOptimizer(arms=ARMS, context_bounds={"hour": (0, 24)}).ask(context=0.5)
    played = GPUCBOptimizer(arms=ARMS, context_bounds=[(0, 1)])
    play(played, [0.5])
    with pytest.raises(ValueError, match="side is for cells of a box"):
        played.recommend(context=0.5, side=0.1)
    with pytest.raises(ValueError, match="must have context_bounds=None"):
        CombinatorialBandit([("a", played)], budget=1.0).ask()


@pytest.mark.parametrize("more", [{"budget": 2}, {"max_cost": 2.0}, {"budget": 2, "max_cost": 2.0}])
def test_a_run_over_contexts_ends_with_them_and_has_no_other_end(more):
    optimizer = GPUCBOptimizer(
        context_bounds=[(0, 1)], bounds=[(0, 1)], cost=lambda query: 1.0, random_state=0
    )
    with pytest.raises(ValueError, match="must be None if contexts are given"):
        optimizer.run(lambda query: 1.0, contexts=[0.1, 0.2, 0.3], **more)
    assert optimizer.run(lambda query: 1.0, contexts=[0.1, 0.2, 0.3]).nfev == 3

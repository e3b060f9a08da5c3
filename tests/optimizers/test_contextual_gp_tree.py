"""ContextualGPTreeOptimizer against a naive Algorithm 3, and what is its own."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from reference.contextual_gp_tree import contextual_gp_tree, deviations
from reference.gp_tree import depth_limit, theory_beta, theory_variation
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpb.exceptions import BudgetWarning, RefinementWarning
from skgpb.kernels import Columns
from skgpb.optimizers import ContextualGPTreeOptimizer

ALPHA = 0.01
#: Contexts and actions with unequal sides, by the number of dimensions of each.
CONTEXTS = {1: [(-1.0, 1.0)], 2: [(-1.0, 1.0), (0.0, 0.5)]}
ACTIONS = {1: [(0.0, 2.0)], 2: [(0.0, 2.0), (1.0, 1.7)]}


def kernels(d):
    contexts, actions = list(range(d)), list(range(d, 2 * d))
    return [
        RBF([0.7] * d + [0.5] * d),
        Columns(Matern(0.9, nu=2.5), contexts) * Columns(RBF(0.5), actions),
        ConstantKernel(0.5) * Columns(RBF(0.6), contexts) + Columns(RBF(0.5), actions),
    ]


def function(rng, d):
    W = rng.normal(size=(2 * d, 4))
    phases, heights = rng.uniform(0, 6, 4), rng.normal(size=4)
    return lambda X: np.cos(np.atleast_2d(X) @ W + phases) @ heights


@pytest.mark.one_in(9)
@pytest.mark.parametrize("feedback", ["center", "average"])
@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n_seeds", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_every_play_follows_algorithm_3(d, n_children, feedback, n_seeds):
    n, n_refined, depths = 15 if d == 1 else 12, 0, set()
    bounds = CONTEXTS[d] + ACTIONS[d]
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, d, n_children])
        kernel, f = kernels(d)[seed % 3], function(rng, d)
        low, high = np.array(CONTEXTS[d]).T
        contexts = rng.uniform(low, high, size=(n, d))
        contexts[3], contexts[5] = high, 0.5 * (low + high)  # faces of the domain and of cells
        contexts[7] = contexts[6]
        noise = 0.1 * rng.normal(size=n)
        g = deviations(kernel, bounds, n_children, 20)
        h_max = [depth_limit(n, 1.0, n_children, 2 * d), 4.0][seed % 2]
        if d == 2:  # the naive reference cannot afford equation 3.4 in four dimensions
            h_max = 4.0 + seed % 3
        beta = [theory_beta(n, h_max, n_children, 0.1), 3.0][(seed // 2) % 2]
        given = rng.uniform(0.1, 0.4), 0.7
        if seed % 5 == 4 and d == 1:  # the theory's V, for stationary kernels
            V = theory_variation(kernel, bounds, n_children, 20, 0.1)
            given, variation = "theory", lambda h, V=V: V[h]
        else:

            def variation(h, given=given):
                return given[0] * given[1] ** h

        counts = (1,) * d if feedback == "center" else (3,) * d
        plays = contextual_gp_tree(
            kernel,
            ALPHA,
            lambda points, tau, f=f, noise=noise: f(points).mean() + noise[tau - 1],
            contexts,
            bounds=bounds,
            per_axis=counts,
            variation=variation,
            g=g,
            beta=beta,
            h_max=h_max,
            n_children=n_children,
        )
        optimizer = ContextualGPTreeOptimizer(
            kernel,
            context_bounds=CONTEXTS[d],
            bounds=ACTIONS[d],
            alpha=ALPHA,
            horizon=n,
            n_children=n_children,
            feedback=feedback,
            n_representatives=3,
            variation=given,
            max_depth=None if h_max != int(h_max) else int(h_max),
            beta="theory" if (seed // 2) % 2 == 0 else 3.0,
        )
        rows = []
        for play, context in zip(plays, contexts, strict=True):
            query = optimizer.ask(context=context)
            where = f"seed {seed}, context {play.tau}"
            assert (query.depth, query.index) == play.node.key, where
            np.testing.assert_allclose(query.points, play.points, rtol=0, atol=1e-13)
            optimizer.tell(query, play.reward)
            best = optimizer.recommend(context=context)
            assert (best.depth, best.index) == play.recommendation.key, where
            rows.append(play)
            n_refined += len(play.refined)
            depths.add(query.depth)
        history = optimizer.history_
        for name in ("mean", "std"):
            expected = [getattr(play, name) for play in rows]
            np.testing.assert_allclose(history[name], expected, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(history["expanded"], [bool(play.refined) for play in rows])
    assert n_refined > 20 and len(depths) > 2


# Queries, contexts -------------------------------------------------------------------------------


def make(**parameters):
    defaults = {
        "kernel": RBF(0.3),
        "context_bounds": [(0.0, 1.0)],
        "bounds": [(0.0, 1.0)],
        "alpha": ALPHA,
        "variation": (1.0, 0.7),
    }
    return ContextualGPTreeOptimizer(**defaults | parameters)


def f(points):
    points = np.atleast_2d(points)
    return float(np.exp(-10.0 * (points[:, -1] - points[:, 0]) ** 2).mean())


def play(optimizer, n, seed=0):
    queries = []
    for context in np.random.default_rng(seed).uniform(size=(n, optimizer._n_context)):
        queries.append(optimizer.ask(context=context))
        optimizer.tell(queries[-1], f(queries[-1].points))
    return queries


def started(**parameters):
    optimizer = make(**parameters)
    optimizer.start()
    return optimizer


def test_a_query_holds_its_context_beside_its_actions():
    optimizer = make(feedback="average", n_representatives=4)
    query = optimizer.ask(context=[0.3])
    assert query.context.tolist() == [0.3]
    assert query.points.shape == (4, 2)
    np.testing.assert_array_equal(query.points[:, 0], 0.3)
    np.testing.assert_array_equal(query.actions, query.points[:, 1:])
    assert query.lower[0] == query.upper[0] == 0.3
    copied = pickle.loads(pickle.dumps(query))
    assert copied == query and hash(copied) == hash(query)
    assert copied.context.tolist() == [0.3]
    with pytest.raises(AttributeError, match="immutable"):
        query.n_context = 2


def test_the_domain_comes_from_fit_where_none_is_given():
    rng = np.random.default_rng(0)
    X = rng.uniform([-1, 0, 5], [1, 2, 6], size=(40, 3))
    y = np.sin(X).sum(axis=1)
    optimizer = ContextualGPTreeOptimizer(n_context=2).fit(X, y)
    assert optimizer._n_context == 2 and optimizer.n_features_in_ == 3
    np.testing.assert_array_equal(optimizer.bounds_, np.stack([X.min(axis=0), X.max(axis=0)]).T)
    assert optimizer.score(X, y) > 0.9
    query = optimizer.ask(context=[0.1, 1.0])
    assert query.context.tolist() == [0.1, 1.0] and query.actions.shape == (1, 1)
    with pytest.raises(ValueError, match="context"):
        optimizer.ask(context=[0.1])


def test_half_a_domain_is_refused():
    for parameters in ({"bounds": None}, {"context_bounds": None}):
        with pytest.raises(ValueError, match="context_bounds and bounds"):
            make(**parameters).ask(context=[0.5])
    with pytest.raises(NotFittedError, match="bounds"):
        ContextualGPTreeOptimizer().ask(context=[0.5])
    with pytest.raises(ValueError, match="context_bounds must"):
        make(context_bounds=[(1.0, 0.0)]).ask(context=[0.5])
    with pytest.raises(ValueError, match="n_context"):
        ContextualGPTreeOptimizer(n_context=3).fit(np.eye(3), np.ones(3))


@pytest.mark.parametrize("context", [[1.5], [0.2, 0.3], [np.nan], "here", None, []])
def test_contexts_outside_or_of_another_kind_are_refused_without_a_trace(context):
    optimizer = started()
    play(optimizer, 5)
    twin = copy.deepcopy(optimizer)
    for method in (optimizer.ask, optimizer.recommend):
        with pytest.raises((ValueError, TypeError), match=r"context|bounds"):
            method(context=context)
    assert play(twin, 5, seed=1) == play(optimizer, 5, seed=1)


def test_asking_again_for_a_context_returns_the_same_query():
    optimizer = started()
    play(optimizer, 10)
    first, other = optimizer.ask(context=[0.2]), optimizer.ask(context=[0.7])
    assert first != other
    assert optimizer.ask(context=[0.2]) == first and optimizer.ask(context=0.7) == other
    batch = optimizer.ask(context=[0.2], n=4)
    assert batch[0] == first and len(set(batch)) == 4
    assert all(query.context[0] == 0.2 for query in batch)
    # Answers may come in any order, and after a restart.
    restored, queries = pickle.loads(pickle.dumps((optimizer, [other, *batch])))
    restored.tell(queries, [f(query.points) for query in queries])
    for query in [*batch[::-1], other]:
        optimizer.tell(query, f(query.points))
    assert len(restored.history_) == len(optimizer.history_) == 15
    grid = np.random.default_rng(1).uniform(size=(9, 2))
    np.testing.assert_allclose(restored.predict(grid), optimizer.predict(grid), atol=1e-10)


def test_every_cell_of_a_small_tree_can_be_pending_at_once():
    optimizer = started(variation=(1e-6, 0.5), max_depth=4)  # four cells along the actions
    batch = optimizer.ask(context=[0.4], n=4)
    assert len(set(batch)) == 4
    with pytest.raises(ValueError, match="pending"):
        optimizer.ask(context=[0.4], n=50)


def test_points_told_from_outside_move_the_posterior():
    optimizer = started()
    optimizer.tell([0.5, 0.5], 3.0)
    assert optimizer.predict([[0.5, 0.5]])[0] > 2.0
    assert len(optimizer.history_) == 1


def test_a_pickled_run_continues_identically():
    optimizer = started(anytime=True, horizon=8)
    play(optimizer, 12)
    optimizer.ask(context=[0.25])
    twin = pickle.loads(pickle.dumps(optimizer))
    assert play(twin, 12, seed=3) == play(optimizer, 12, seed=3)
    assert twin.horizon_ == 32


def test_horizon_guard_and_bad_parameters():
    optimizer = started(horizon=2)
    play(optimizer, 2)
    with pytest.warns(BudgetWarning, match="horizon=2"):
        optimizer.ask(context=[0.5])
    wide = make(kernel=RBF(0.01), variation=(1e6, 0.99), max_depth=30, max_active=20)
    with pytest.warns(RefinementWarning, match="max_active=20"):
        wide.ask(context=[0.5])
    assert wide.domain_.tree.n_leaves == 20
    for parameter, value in [("n_context", 0), ("feedback", RBF()), ("horizon", 0), ("beta", -1)]:
        with pytest.raises(ValueError, match=parameter):
            make(**{parameter: value}).ask(context=[0.5])


def test_without_room_for_leaves_the_best_candidate_is_played():
    narrow = make(
        kernel=RBF([0.4, 0.2]), variation=(50.0, 0.9), max_depth=30, max_active=24, beta=4
    )
    rng = np.random.default_rng(3)
    with pytest.warns(RefinementWarning, match="max_active=24"):
        for context in rng.uniform(size=12):
            query = narrow.ask(context=[context])
            domain, at = narrow.domain_, query.context
            relevant = [domain.query_in_context(node, at) for node in domain.relevant(at)]
            mean, std = narrow.surrogate_.predict(
                np.array([[*cell.center, *cell.center] for cell in relevant]), return_std=True
            )
            upper = mean + 2.0 * std
            assert upper[relevant.index(query)] >= upper.max() - 1e-9
            narrow.tell(query, f(query.points))
    batch = narrow.ask(context=[0.5], n=3)
    assert len({query.index for query in batch}) == 3


def test_run_plays_the_contexts_in_order_and_calls_back():
    contexts = np.random.default_rng(2).uniform(size=20)
    by_hand, by_run, seen = started(), started(), []
    for context in contexts:
        query = by_hand.ask(context=context)
        by_hand.tell(query, f(query.points))
    result = by_run.run(lambda query: f(query.points), contexts=contexts, callback=seen.append)
    np.testing.assert_array_equal(by_run.history_, by_hand.history_)
    assert result.nfev == len(seen) == 20
    assert result.x == by_hand.recommend(context=contexts[-1])
    for arguments in [(None, contexts), (f, None), (f, [[2.0]]), (f, [])]:
        with pytest.raises((ValueError, TypeError)):
            by_run.run(arguments[0], contexts=arguments[1])


@pytest.mark.slow
def test_hyperparameters_of_both_sides_are_learned():
    kernel = Columns(RBF(2.0), [0]) * Columns(RBF(2.0), [1])
    optimizer = started(
        kernel=kernel, optimizer="fmin_l_bfgs_b", normalize_y=True, max_depth=6, horizon=32
    )
    play(optimizer, 32)
    surrogate = optimizer.surrogate_
    begun = np.log([2.0, 2.0])
    assert (np.abs(surrogate.kernel_.theta - begun) > 0.1).all()
    likelihood = surrogate.log_marginal_likelihood
    assert likelihood(surrogate.kernel_.theta) > likelihood(begun)


def test_answers_are_taken_for_integrals_over_the_actions_in_one_context():
    kernel, n = RBF([0.5, 0.3, 0.4]), 14
    optimizer = ContextualGPTreeOptimizer(
        kernel,
        context_bounds=[(0, 1)],
        bounds=[(0, 1), (0, 2)],
        feedback="integral",
        alpha=ALPHA,
        variation=(0.3, 0.7),
        beta=3.0,
        horizon=n,
    )
    nodes, weights = np.polynomial.legendre.leggauss(12)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.outer(weights, weights).ravel() / 4.0
    rng = np.random.default_rng(4)
    points, rewards = [], []
    for context in rng.uniform(size=n):
        query = optimizer.ask(context=context)
        lower, upper = query.lower[1:], query.upper[1:]
        actions = (lower + upper) / 2 + grid * (upper - lower) / 2
        points.append(np.column_stack([np.full(len(actions), context), actions]))
        rewards.append(np.cos(3 * points[-1].sum(axis=1)) @ weights + 0.1 * rng.normal())
        optimizer.tell(query, rewards[-1])
    K = np.array([[weights @ kernel(P, Q) @ weights for Q in points] for P in points])
    history = optimizer.history_
    assert len(np.unique(optimizer.tree_.depth)) > 3
    for t in range(n):
        A = K[:t, :t] + ALPHA * np.eye(t)
        mean = K[t, :t] @ np.linalg.solve(A, rewards[:t])
        var = K[t, t] - K[t, :t] @ np.linalg.solve(A, K[:t, t])
        np.testing.assert_allclose(history["mean"][t], mean, atol=1e-8)
        np.testing.assert_allclose(history["std"][t], np.sqrt(var), atol=1e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("feedback", ["center", "average", "integral"])
def test_the_best_action_is_found_in_every_context(feedback):
    optimizer = started(
        kernel=RBF([0.5, 0.3]), feedback=feedback, horizon=80, variation="kernel", max_depth=9
    )
    rng = np.random.default_rng(5)
    for context in rng.uniform(size=(80, 1)):
        query = optimizer.ask(context=context)
        actions = np.linspace(query.lower[1], query.upper[1], 50)
        points = np.column_stack([np.full(50, context[0]), actions])
        value = f(points) if feedback == "integral" else f(query.points)
        optimizer.tell(query, value + 0.1 * rng.normal())
    gaps = [1.0 - f(optimizer.recommend(context=c).points) for c in np.linspace(0.05, 0.95, 19)]
    assert np.mean(gaps) < 0.1


@pytest.mark.parametrize("fails", [False, True])
def test_the_index_of_a_candidate_is_bounded_by_that_of_its_parent(monkeypatch, fails):
    """Equation 5.9; candidates that are likely to fail come after all others."""
    optimizer, bars = started(variation=(0.05, 0.7), n_children=3), {}
    expand, width = optimizer._expand, 1.7

    def recorded(node, context):
        bars[node] = optimizer.domain_.candidate(node, context)
        return expand(node, context)

    monkeypatch.setattr(optimizer, "_expand", recorded)
    root = optimizer._indices([0], np.array([0.5]), width)[0]
    assert root.value == pytest.approx(width * 1.0 + 0.05)  # no parent, prior variance 1
    for at in np.random.default_rng(0).random((12, 1)):
        query = optimizer.ask(context=at)
        optimizer.tell(query, -f(query.points))
    context, tree = np.array([0.99]), optimizer._tree
    nodes = list({*optimizer.domain_.relevant(context).tolist(), *range(1, 10)})
    unlikely = np.arange(len(nodes)) % 3 == 0 if fails else np.zeros(len(nodes), dtype=bool)
    chances = SimpleNamespace(unlikely_mask=lambda boxes: unlikely) if fails else None
    monkeypatch.setattr(optimizer.run_, "chances_of_regions", lambda bounds: chances)
    scores, n_bounded = optimizer._indices(nodes, context, width), 0
    for node, last in zip(nodes, unlikely, strict=True):
        mean, std = optimizer._model.process.moments(
            [optimizer.domain_.candidate(node, context)], std=True
        )
        parent = optimizer._parent_of[node]
        m, s = optimizer._model.process.moments([bars[parent]], std=True)
        upper = mean + width * std
        bound = m + width * s + 0.05 * 0.7 ** tree.node(parent)[0]
        n_bounded += bound < upper
        index = min(upper, bound) + 0.05 * 0.7 ** tree.node(node)[0]
        expected = [index - last * 1e6, upper - last * 1e6, std]
        found = scores[node]
        np.testing.assert_allclose(
            [found.value, found.upper, found.std], np.ravel(expected), rtol=1e-9
        )
    assert 0 < n_bounded < len(nodes)

"""GPTreeOptimizer against a naive Algorithm 1, and what is its own."""

from __future__ import annotations

import pickle
import warnings
from math import exp, floor

import numpy as np
import pytest
from reference.gp_tree import depth_limit, gp_tree, theory_beta, theory_variation
from reference.gpoo import posterior_for
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpb.domains.partition import deepest_level
from skgpb.exceptions import BudgetWarning, RefinementWarning
from skgpb.optimizers import GPTreeOptimizer
from skgpb.optimizers._trees import Constants
from skgpb.problems import gpoo_function
from skgpb.problems.metrics import aggregated_regret

N_ROUNDS, ALPHA = 20, 0.01
BOUNDS = {1: [(-0.5, 1.0)], 2: [(0.0, 1.0), (-1.0, 2.0)]}
KERNELS = {
    1: [0.5 * RBF(0.3), ConstantKernel(0.8) * Matern(0.6, nu=2.5), 0.5 * Matern(0.5, nu=0.5)],
    2: [0.5 * RBF([0.3, 0.8]), ConstantKernel(0.8) * Matern([0.6, 1.5], nu=2.5), RBF(0.9)],
}


def random_function(rng, bounds):
    bounds = np.asarray(bounds, dtype=float)
    centers = rng.uniform(bounds[:, 0], bounds[:, 1], size=(6, len(bounds)))
    heights, widths = rng.normal(size=6), 0.25 * (bounds[:, 1] - bounds[:, 0])

    def f(X):
        X = np.atleast_2d(X)
        return np.exp(-0.5 * (((X[:, None] - centers) / widths) ** 2).sum(axis=2)) @ heights

    return f


def assert_same_run(optimizer, rounds, context):
    rounds = list(rounds)
    for record in rounds:
        cell = optimizer.ask()
        where = f"{context}, evaluation {record.t}"
        assert (cell.depth, cell.index) == record.node.key, where
        optimizer.tell(cell, record.reward)
        best = optimizer.recommend("paper")
        assert (best.depth, best.index) == record.recommendation.key, where
    history = optimizer.history_
    np.testing.assert_array_equal(history["expanded"], [bool(r.refined) for r in rounds])
    for name in ("mean", "std"):
        expected = [getattr(record, name) for record in rounds]
        np.testing.assert_allclose(history[name], expected, rtol=0, atol=1e-8, err_msg=context)
    return rounds


def play(optimizer, f, n):
    keys = []
    for _ in range(n):
        cell = optimizer.ask()
        keys.append((cell.depth, cell.index))
        optimizer.tell(cell, float(np.mean(f(cell.points))))
    return keys


@pytest.mark.one_in(4)
@pytest.mark.parametrize("feedback", ["center", "average", "integral"])
@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("d", [1, 2])
def test_every_evaluation_follows_algorithm_1(d, n_children, feedback, n_seeds):
    n_refined = n_repeated = 0
    n_seeds = min(4, n_seeds) if feedback == "integral" else n_seeds
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, d, n_children])
        f, noise = random_function(rng, BOUNDS[d]), 0.1 * rng.normal(size=N_ROUNDS)
        # Gauss's rule is exact enough for the smooth kernels only.
        kernel = KERNELS[d][0 if feedback == "integral" else seed % 3]
        posterior = posterior_for(
            kernel, alpha=ALPHA, feedback=feedback, n_dimensions=d, n_representatives=2, n_nodes=12
        )
        c, rho = rng.uniform(1.0, 3.0), rng.uniform(0.5, 0.75)
        alpha = 0.5 if getattr(kernel, "k2", None) == Matern(0.5, nu=0.5) else 1.0
        h_max = [depth_limit(N_ROUNDS, alpha, n_children, d), 3.0][seed % 2]
        beta = [theory_beta(N_ROUNDS, h_max, n_children, 0.1), 4.0][(seed // 2) % 2]
        rounds = gp_tree(
            posterior,
            lambda node, t, f=f, noise=noise: (
                f(np.array([node.lower, node.upper])).mean() + noise[t - 1]
            ),
            N_ROUNDS,
            bounds=BOUNDS[d],
            variation=lambda h, c=c, rho=rho: c * rho**h,
            beta=beta,
            h_max=h_max,
            n_children=n_children,
        )
        optimizer = GPTreeOptimizer(
            kernel,
            bounds=BOUNDS[d],
            alpha=ALPHA,
            horizon=N_ROUNDS,
            n_children=n_children,
            feedback=feedback,
            n_representatives=2 if feedback == "average" else None,
            variation=(c, rho),
            max_depth=None if seed % 2 == 0 else 3,
            beta="theory" if (seed // 2) % 2 == 0 else 4.0,
        )
        rounds = assert_same_run(optimizer, rounds, f"seed {seed}")
        n_refined += sum(len(record.refined) for record in rounds)
        n_repeated += N_ROUNDS - len({record.node.key for record in rounds})
    # Both branches of line 3 are taken, and cells are evaluated again.
    assert n_refined > 5 * n_seeds
    assert n_repeated > 2 * n_seeds


@pytest.mark.slow
@pytest.mark.parametrize("n_children", [2, 3])
def test_the_theorys_constants_for_80_evaluations(n_children):
    """V_h of Claim 2, beta_n of Claim 1 and h_max of equation 3.4, all by the reference."""
    kernel, bounds, n = 0.1 * RBF(0.05), [(0.0, 1.0)], 80
    f = random_function(np.random.default_rng(0), bounds)
    noise = 0.1 * np.random.default_rng(1).normal(size=n)
    h_max = depth_limit(n, 1.0, n_children, 1)
    V = theory_variation(kernel, bounds, n_children, int(h_max) + 2, 0.1)
    rounds = gp_tree(
        posterior_for(kernel, alpha=ALPHA, feedback="center", n_dimensions=1),
        lambda node, t: float(f([[0.5 * (node.lower[0] + node.upper[0])]])[0]) + noise[t - 1],
        n,
        bounds=bounds,
        variation=lambda h: V[h],
        beta=theory_beta(n, h_max, n_children, 0.1),
        h_max=h_max,
        n_children=n_children,
    )
    optimizer = GPTreeOptimizer(
        kernel,
        bounds=bounds,
        alpha=ALPHA,
        horizon=n,
        n_children=n_children,
        variation="theory",
    )
    rounds = assert_same_run(optimizer, rounds, "theory")
    assert len(rounds[0].refined) > 5  # the theory refines before it evaluates


@pytest.mark.slow
@pytest.mark.parametrize(("number", "limit"), [(1, 0.015), (2, 0.010)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_regret_on_the_papers_functions_with_the_theorys_constants(number, limit, mirrored):
    problem = gpoo_function(number, mirrored=mirrored)
    regrets = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        optimizer = GPTreeOptimizer(
            0.1 * RBF(0.05), bounds=[(0, 1)], horizon=80, alpha=0.01, variation="theory"
        )
        for _ in range(80):
            cell = optimizer.ask()
            optimizer.tell(cell, problem.observe(cell, rng))
        average = problem.average(optimizer.recommend("paper"))
        regrets.append(aggregated_regret(problem.optimum, average))
    assert np.mean(regrets) <= limit


# Odd K keeps the centre ---------------------------------------------------------------------------


def make(**parameters):
    defaults = {"kernel": RBF(0.2), "bounds": [(0.0, 1.0)], "alpha": ALPHA, "variation": (4.0, 0.5)}
    return GPTreeOptimizer(**defaults | parameters)


@pytest.mark.parametrize("n_children", [3, 5])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_middle_child_is_its_parents_query_to_the_last_bit(d, n_children):
    bounds = [(0.1, 0.7), (-1.0, 2.0), (3.0, 3.3)][:d]
    optimizer = make(
        kernel=RBF(0.3), bounds=bounds, n_children=n_children, variation=(1e3, 0.9), max_depth=3
    )
    optimizer.ask()
    tree, partition = optimizer.tree_, optimizer.domain_
    assert tree.depth.max() == 4
    for node in np.flatnonzero(tree.children[:, 0] >= 0):
        middle = int(tree.children[node, n_children // 2])
        np.testing.assert_array_equal(
            partition.cell(middle).points, partition.cell(int(node)).points
        )
        np.testing.assert_allclose(
            partition.cell(middle).points[0], partition.cell(middle).center, rtol=0, atol=1e-15
        )
        others = np.delete(tree.children[node], n_children // 2)
        assert not any(
            np.array_equal(partition.cell(int(o)).points, partition.cell(middle).points)
            for o in others
        )


def test_observations_of_a_parent_count_for_its_middle_child():
    repeated = 0
    for seed in range(3, 8):
        f = random_function(np.random.default_rng(seed), [(0.0, 1.0)])
        optimizer = make(n_children=3)
        queries = []
        for _ in range(40):
            queries.append(optimizer.ask())
            optimizer.tell(queries[-1], float(f(queries[-1].points)[0]))
        centers = {query.points.tobytes() for query in queries}
        repeated += len(set(queries)) - len(centers)
        assert len(optimizer.surrogate_.X_train_) == len(centers)
        assert optimizer.surrogate_.process_.posterior.counts().sum() == 40
    assert repeated > 0  # some centre was evaluated as two cells


def test_cells_beyond_the_tree_have_the_centres_that_it_would_give_them():
    optimizer = make(n_children=3, variation=(1e3, 0.9), max_depth=2)
    optimizer.ask()
    fresh = make(n_children=3, variation=(1e3, 0.9), max_depth=2)
    fresh.start()
    for node in range(optimizer.domain_.tree.n_nodes):
        cell = optimizer.domain_.cell(node)
        assert fresh.domain_.cell_at(cell.depth, cell.index) == cell


# Refinement within ask, its guard, batches --------------------------------------------------------


def test_refinement_is_bounded_and_the_warning_says_what_to_change():
    optimizer = make(kernel=RBF(0.01), variation=(1e6, 0.999), max_depth=40, max_active=50)
    with pytest.warns(RefinementWarning, match=r"max_active=50.*variation.*beta.*max_depth"):
        cell = optimizer.ask()
    assert optimizer.domain_.tree.n_leaves == 50
    assert optimizer.ask() == cell
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        play(optimizer, lambda X: X[:, 0], 10)
    # From there on one cell is refined before each evaluation.
    assert optimizer.domain_.tree.n_leaves == 59
    assert optimizer.history_["expanded"].all()


def test_the_guard_may_bind_from_the_start():
    optimizer = make(kernel=RBF(0.01), variation=(1e6, 0.999), max_depth=40, max_active=1)
    with pytest.warns(RefinementWarning, match="after 0 evaluations"):
        assert optimizer.ask().depth == 1


def test_ask_refines_and_is_stable_until_tell():
    optimizer = make(beta=1.0)
    cell = optimizer.ask()
    n_leaves = optimizer.domain_.tree.n_leaves
    assert n_leaves > 1  # V_0 = 4 is wider than one prior standard deviation
    assert optimizer.ask() == cell and optimizer.domain_.tree.n_leaves == n_leaves
    assert not len(optimizer.history_)
    optimizer.tell(cell, 0.3)
    assert optimizer.history_["expanded"].tolist() == [True]


def test_a_batch_is_distinct_and_shrinks_the_posterior():
    optimizer = make(n_children=3)
    play(optimizer, lambda X: -((X[:, 0] - 0.4) ** 2), 15)
    batch = optimizer.ask(6)
    assert len(set(batch)) == 6
    assert optimizer.ask(6) == batch
    optimizer.tell(batch[::-1], [0.1] * 6)
    assert len(optimizer.history_) == 21


def test_a_batch_larger_than_the_leaves_splits_early():
    optimizer = make(variation=(1e-3, 0.5), max_depth=3)
    batch = optimizer.ask(9)
    assert len(set(batch)) == 9
    # Every cell of the tree can be pending at once, and none twice: 1 + 2 + ... + 16.
    assert len(set(optimizer.ask(31))) == 31
    with pytest.raises(ValueError, match="pending"):
        optimizer.ask(32)


def test_pending_cells_may_be_refined_and_told_later():
    f = random_function(np.random.default_rng(8), [(0.0, 1.0)])
    optimizer = make(alpha=1e-4)
    play(optimizer, f, 5)
    batch = optimizer.ask(8)
    inner = [
        query
        for query in batch
        if optimizer.tree_.children[optimizer.domain_.node_of(query), 0] > 0
    ]
    assert inner  # the answer, whatever it is, will make these cells known
    for query in reversed(batch):
        optimizer.tell(query, float(f(query.points)[0]))
    assert optimizer.tree_.n_evaluations.sum() == 13


@pytest.mark.parametrize("pending", [0, 3])
def test_a_pickled_run_continues_identically(pending):
    f = random_function(np.random.default_rng(4), [(0.0, 1.0)])
    optimizer = make(anytime=True, horizon=8, n_children=3)
    play(optimizer, f, 11)
    if pending:
        optimizer.ask(pending)
    twin = pickle.loads(pickle.dumps(optimizer))
    assert play(twin, f, 20) == play(optimizer, f, 20)
    assert twin.horizon_ == optimizer.horizon_ >= 32


# The horizon --------------------------------------------------------------------------------------


def test_anytime_doubles_the_horizon_and_keeps_what_was_learned():
    optimizer = make(anytime=True, horizon=4, variation="theory")
    horizons, depths = [], []
    for _ in range(20):
        cell = optimizer.ask()
        horizons.append(optimizer.horizon_)
        depths.append(optimizer.max_depth_)
        optimizer.tell(cell, float(np.sin(4 * cell.points).item()))
    assert horizons == [4] * 4 + [8] * 4 + [16] * 8 + [32] * 4
    assert depths == [2] * 4 + [3] * 4 + [4] * 8 + [5] * 4  # log2 of the horizon
    assert optimizer._horizon.at(64, True, "") == optimizer._horizon.at(33, True, "")
    assert len(optimizer._variation) == 7
    assert optimizer.tree_.n_evaluations.sum() == 20
    assert optimizer.get_params()["horizon"] == 4


def test_constants_of_a_phase_are_those_of_its_horizon():
    f = random_function(np.random.default_rng(6), [(0.0, 1.0)])
    doubling, fixed = make(anytime=True, horizon=10), make(horizon=10)
    assert play(doubling, f, 10) == play(fixed, f, 10)
    t = 10
    assert doubling._beta(t) == pytest.approx(theory_beta(10, np.log2(10), 2, 0.1), rel=1e-13)
    doubling.ask()
    assert doubling._beta(t) == pytest.approx(theory_beta(20, np.log2(20), 2, 0.1), rel=1e-13)


def test_a_spent_horizon_warns_once():
    optimizer = make(horizon=3)
    play(optimizer, lambda X: X[:, 0], 3)
    with pytest.warns(BudgetWarning, match="horizon=3"):
        optimizer.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(optimizer, lambda X: X[:, 0], 3)


@pytest.mark.parametrize("n", [2, 64, 81])
@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("d", [1, 2])
def test_default_depth_is_equation_3_4(n_children, d, n):
    for kernel, alpha in [(RBF(0.4), 1.0), (Matern(0.3, nu=0.5), 0.5)]:
        optimizer = make(kernel=kernel, bounds=[(0, 1)] * d, n_children=n_children, horizon=n)
        optimizer.start()
        expected = int(np.floor(depth_limit(n, alpha, n_children, d) + 1e-9))
        assert optimizer.max_depth_ == expected


def test_cells_at_h_max_are_split_and_leaves_exist_one_below():
    optimizer = make(variation=(100.0, 0.9), max_depth=2)
    play(optimizer, lambda X: X[:, 0], 12)
    depth = optimizer.tree_.depth
    assert depth.max() == 3 and optimizer.recommend("paper").depth == 2


# Domains ------------------------------------------------------------------------------------------


@pytest.mark.one_in(4)
@pytest.mark.parametrize("variation", ["kernel", "theory", (4.0, 0.6)])
@pytest.mark.parametrize("feedback", ["center", "average", "integral"])
def test_a_pool_is_searched(feedback, variation):
    rng = np.random.default_rng(0)
    pool = rng.uniform(size=(300, 2))
    reward = np.exp(-8 * ((pool - [0.7, 0.3]) ** 2).sum(axis=1))
    optimizer = GPTreeOptimizer(RBF(0.3), pool=pool, feedback=feedback, variation=variation)
    for _ in range(40):
        cell = optimizer.ask()
        members = cell.points if feedback != "integral" else pool[cell.members]
        value = np.exp(-8 * ((members - [0.7, 0.3]) ** 2).sum(axis=1)).mean()
        optimizer.tell(cell, value + 0.05 * rng.normal())
    best = optimizer.recommend("posterior")
    assert reward[best.members].mean() > 0.75 > 2 * reward.mean()


def test_hyperparameters_are_learned_on_the_way():
    f = random_function(np.random.default_rng(9), [(0.0, 1.0)])
    optimizer = make(
        kernel=RBF(5.0), variation="theory", optimizer="fmin_l_bfgs_b", normalize_y=True, horizon=30
    )
    before = optimizer.ask() and optimizer._variation.copy()
    play(optimizer, lambda X: 100.0 * f(X), 30)
    assert optimizer.surrogate_.kernel_.base.length_scale < 1.0
    assert not np.allclose(optimizer._variation, before)


@pytest.mark.slow
@pytest.mark.parametrize("d", [10, 20])
@pytest.mark.filterwarnings("ignore::skgpb.exceptions.RefinementWarning")
def test_many_dimensions_beat_random_search(d):
    def f(X):
        return -((np.atleast_2d(X) - 0.3) ** 2).sum(axis=1)

    optimizer = GPTreeOptimizer(
        RBF(1.0), bounds=[(0, 1)] * d, horizon=200, alpha=1e-4, normalize_y=True, max_active=1
    )
    play(optimizer, f, 200)
    random = f(np.random.default_rng(0).uniform(size=(200, d))).max()
    best = f(optimizer.recommend("posterior").points)[0]
    assert best > 0.25 * random  # both are negative: half the distance


@pytest.mark.parametrize("given", [None, 6])
@pytest.mark.parametrize(
    ("n", "K", "d", "exponent"), [(1, 2, 1, 1.0), (80, 3, 2, 0.5), (5, 9, 1, 1)]
)
def test_constants_are_those_of_the_claims(n, K, d, exponent, given):
    constants = Constants(n, K, d, exponent, given)
    limit = depth_limit(n, exponent, K, d) if given is None else given
    assert constants.h_max == pytest.approx(limit)
    assert constants.beta(0.1) == pytest.approx(theory_beta(n, limit, K, 0.1))
    # Each evaluation splits at most one cell of each depth; there are no more than the whole tree.
    cells = min(K ** (floor(limit) + 1), n * K * max(1.0, limit))
    assert exp(constants.log_cells) == pytest.approx(cells)
    later, expected = constants.with_n_evaluations(2 * n), Constants(2 * n, K, d, exponent, given)
    assert vars(later) == vars(expected)


def test_no_theory_asks_for_cells_smaller_than_rounding():
    constants = Constants(10**9, 2, 1, 1e-3, None)
    assert constants.h_max == constants.max_depth == deepest_level(2)
    assert constants.log_cells == pytest.approx(np.log(2e9 * deepest_level(2)))

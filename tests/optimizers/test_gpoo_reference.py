"""GPOOOptimizer against a naive implementation of Algorithm 1, round by round."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from reference.gpoo import gpoo, posterior_for, theory_beta
from reference.tree import best, quadrature, representatives, root_of
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Matern,
    RationalQuadratic,
)

from skgpb.guarantee import Guarantee
from skgpb.optimizers import GPOOOptimizer
from skgpb.surrogate.gaussian_process import GaussianProcess

N_ROUNDS = 30
ALPHA = 0.01

#: Unequal sides and an offset, so that nothing can be right by symmetry alone.
BOUNDS = {1: [(-0.5, 1.0)], 2: [(0.0, 1.0), (-1.0, 2.0)], 3: [(0.0, 1.0), (2.0, 2.5), (-1.0, 1.0)]}

#: Points per axis, by number of dimensions and S.
PER_AXIS = {1: {1: 1, 4: 4, 10: 10}, 2: {1: 1, 4: 2, 10: (5, 2)}}

POINT_KERNELS = {
    1: [
        0.5 * RBF(0.3),
        ConstantKernel(0.8) * Matern(0.6, nu=2.5),
        0.3 * RBF(1.0) + 0.2 * Matern(0.4, nu=1.5),
        RBF(1.2) * RationalQuadratic(0.8, 1.5),
    ],
    2: [
        0.5 * RBF([0.3, 0.8]),
        ConstantKernel(0.8) * Matern([0.6, 1.5], nu=2.5),
        0.3 * RBF(1.0) + 0.2 * Matern(0.7, nu=1.5),
        RBF(1.5) * RationalQuadratic(0.8, 1.5),
    ],
}
# Gauss's rule integrates the Gaussian ones to rounding. Others need more nodes, which only d = 1
# can afford here.
INTEGRAL_KERNELS = {
    1: [
        0.5 * RBF(0.6),
        0.3 * RBF(1.2) + 0.2 * RBF(0.8),
        RBF(1.2) * RBF(1.5),
        0.5 * Matern(0.8, nu=2.5),
    ],
    2: [0.5 * RBF([0.6, 1.8]), 0.3 * RBF(1.8) + 0.2 * RBF([0.6, 2.0]), RBF([1.0, 3.0]) * RBF(2.5)],
}
QUADRATURE_NODES = {1: 40, 2: 8}


def random_function(rng, bounds):
    """A few Gaussian bumps of random height: smooth, of order one."""
    bounds = np.asarray(bounds, dtype=float)
    centers = rng.uniform(bounds[:, 0], bounds[:, 1], size=(6, len(bounds)))
    heights = rng.normal(size=6)
    widths = 0.25 * (bounds[:, 1] - bounds[:, 0])

    def f(X):
        return np.exp(-0.5 * (((X[:, None] - centers) / widths) ** 2).sum(axis=2)) @ heights

    return f


def settings(rng, seed):
    """Diameter, depth and width of the confidence interval for one run."""
    beta = ["theory", 4.0, lambda t: 2.0 * np.log(t + 1.0)][seed % 3]
    return {
        "variation": (rng.uniform(1.5, 4.0), rng.uniform(0.45, 0.75)),
        "max_depth": int(rng.integers(2, 7)),
        "beta": beta,
        "failure_probability": rng.choice([0.1, 0.4]),
    }


def ours(settings):
    """Convert a number of the reference to the form of the optimizer."""
    others = {name: value for name, value in settings.items() if name != "failure_probability"}
    return others | {"guarantee": Guarantee(failure_probability=settings["failure_probability"])}


def delta(variation):
    return variation if callable(variation) else lambda h: variation[0] * variation[1] ** h


def assert_same_run(optimizer, rounds, context=""):
    """Drive the optimizer with the rewards of the reference and compare every round."""
    rounds = list(rounds)
    for record in rounds:
        cell = optimizer.ask()
        where = f"{context}, round {record.t}"
        assert (cell.depth, cell.index) == record.node.key, where
        # Written alike, the corners agree to the last bit or nearly so.
        np.testing.assert_allclose(cell.lower, record.node.lower, rtol=0, atol=1e-14)
        np.testing.assert_allclose(cell.upper, record.node.upper, rtol=0, atol=1e-14)
        optimizer.tell(cell, record.reward)
        best_cell = optimizer.recommend("paper")
        assert (best_cell.depth, best_cell.index) == record.recommendation.key, where
    history = optimizer.history_
    np.testing.assert_array_equal(history["round"], [record.t for record in rounds])
    np.testing.assert_array_equal(history["reward"], [record.reward for record in rounds])
    np.testing.assert_array_equal(
        history["expanded"], [record.expanded for record in rounds], err_msg=context
    )
    return rounds, history


def assert_same_posterior(rounds, history, context=""):
    for name in ("mean", "std"):
        np.testing.assert_allclose(
            history[name],
            [getattr(record, name) for record in rounds],
            rtol=0,
            atol=1e-8,
            err_msg=f"{context}: {name}",
        )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("expansion", ["before", "after"])
@pytest.mark.parametrize("S", [1, 4, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("d", [1, 2])
def test_center_and_average_feedback_follow_algorithm_1(d, n_children, S, expansion, n_seeds):
    n_expanded = 0
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, d, n_children, S])
        f, noise = random_function(rng, BOUNDS[d]), 0.1 * rng.normal(size=N_ROUNDS)
        kernel = POINT_KERNELS[d][seed % 4]
        # S = 1 by both of its names.
        feedback = "center" if S == 1 and seed % 2 else "average"
        per_axis = PER_AXIS[d][S]
        run = settings(rng, seed) | {"n_children": n_children, "expansion": expansion}
        if seed == 0:
            # So narrow that cells are asked repeatedly before they are split.
            run["variation"] = (0.5, 0.5)
        posterior = posterior_for(
            kernel, alpha=ALPHA, feedback=feedback, n_dimensions=d, n_representatives=per_axis
        )
        rounds = gpoo(
            posterior,
            lambda node, t, posterior=posterior, f=f, noise=noise: (
                f(posterior.points(node)).mean() + noise[t - 1]
            ),
            N_ROUNDS,
            bounds=BOUNDS[d],
            **run | {"variation": delta(run["variation"])},
        )
        optimizer = GPOOOptimizer(
            kernel,
            bounds=BOUNDS[d],
            alpha=ALPHA,
            feedback=feedback,
            n_representatives=None if feedback == "center" else per_axis,
            **ours(run),
        )
        rounds, history = assert_same_run(optimizer, rounds, f"seed {seed}")
        assert_same_posterior(rounds, history, f"seed {seed}")
        n_expanded += sum(record.expanded for record in rounds)
    # The comparison means something only where trees grow and cells are asked repeatedly, on
    # average once in each run.
    assert 3 * n_seeds < n_expanded < n_seeds * (N_ROUNDS - 1)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("expansion", "many"), [("before", 1), ("after", 1), ("posterior", 6), ("posterior", 10**6)]
)
@pytest.mark.parametrize("d", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_leaves_that_follow_later_keep_to_the_algorithm(d, expansion, many, n_seeds, monkeypatch):
    """With many leaves only a few rows are completed; the query is as with all rows.

    Cells are split ahead while there is room: there is as much as they take, or all leaves lag.
    """
    n_lazy = 0
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, d, 77])
        f, noise = random_function(rng, BOUNDS[d]), 0.1 * rng.normal(size=N_ROUNDS)
        kernel, per_axis = POINT_KERNELS[d][seed % 4], PER_AXIS[d][4]
        run = settings(rng, seed) | {"n_children": 2 + seed % 2, "expansion": expansion}
        if expansion == "posterior":
            run["variation"] = (0.9, 0.65)
        posterior = posterior_for(
            kernel, alpha=ALPHA, feedback="average", n_dimensions=d, n_representatives=per_axis
        )
        rounds = gpoo(
            posterior,
            lambda node, t, posterior=posterior, f=f, noise=noise: (
                f(posterior.points(node)).mean() + noise[t - 1]
            ),
            N_ROUNDS,
            bounds=BOUNDS[d],
            **run | {"variation": delta(run["variation"])},
        )
        optimizer = GPOOOptimizer(
            kernel, bounds=BOUNDS[d], alpha=ALPHA, n_representatives=per_axis, **ours(run)
        )
        optimizer.start()
        with monkeypatch.context() as patch:
            if many == 6:  # as many splits as ever, but followed late
                always = property(lambda self: len(self.tracked) >= 6, lambda self, value: None)
                patch.setattr(GaussianProcess, "lazy", always, raising=False)
            else:
                patch.setattr("skgpb.defaults.MANY_LEAVES", many)
            rounds, history = assert_same_run(optimizer, rounds, f"seed {seed}")
            n_lazy += optimizer.surrogate_.process_.lazy
        assert_same_posterior(rounds, history, f"seed {seed}")
    assert n_lazy == 0 if many == 10**6 else n_lazy > n_seeds // 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_children", [2, 3])
@pytest.mark.parametrize("d", [1, 2])
def test_integral_feedback_follows_algorithm_1(d, n_children, n_seeds):
    n_nodes = QUADRATURE_NODES[d]
    posteriors = [
        posterior_for(kernel, alpha=ALPHA, feedback="integral", n_dimensions=d, n_nodes=n_nodes)
        for kernel in INTEGRAL_KERNELS[d]
    ]
    n_expanded = 0
    for seed, expansion in itertools.product(range(n_seeds), ["before", "after"]):
        rng = np.random.default_rng([seed, d, n_children])
        f, noise = random_function(rng, BOUNDS[d]), 0.1 * rng.normal(size=N_ROUNDS)
        posterior = posteriors[seed % len(posteriors)]
        run = settings(rng, seed) | {"n_children": n_children, "expansion": expansion}

        def oracle(node, t, posterior=posterior, f=f, noise=noise):
            points, weights = posterior.rule(node)
            return weights @ f(points) + noise[t - 1]

        rounds = gpoo(
            posterior,
            oracle,
            N_ROUNDS,
            bounds=BOUNDS[d],
            **run | {"variation": delta(run["variation"])},
        )
        optimizer = GPOOOptimizer(
            posterior.kernel, bounds=BOUNDS[d], alpha=ALPHA, feedback="integral", **ours(run)
        )
        rounds, history = assert_same_run(optimizer, rounds, f"seed {seed}, {expansion}")
        assert_same_posterior(rounds, history, f"seed {seed}, {expansion}")
        n_expanded += sum(record.expanded for record in rounds)
    assert 3 * n_seeds * 2 < n_expanded < 2 * n_seeds * (N_ROUNDS - 1)


@pytest.mark.parametrize(
    "feedback",
    [
        pytest.param("center", marks=pytest.mark.slow),
        "average",
        pytest.param("integral", marks=pytest.mark.slow),
    ],
)
def test_three_dimensions_and_four_children(feedback):
    d, kernel = 3, 0.5 * RBF([1.0, 0.8, 2.5])
    posterior = posterior_for(
        kernel, alpha=ALPHA, feedback=feedback, n_dimensions=d, n_representatives=(2, 1, 3)
    )
    for seed in range(3):
        rng = np.random.default_rng([seed, d])
        f, noise = random_function(rng, BOUNDS[d]), 0.1 * rng.normal(size=N_ROUNDS)

        def oracle(node, t, f=f, noise=noise):
            return f(np.array([node.lower, node.upper])).mean() + noise[t - 1]

        run = settings(rng, seed) | {"n_children": 4, "expansion": "before"}
        rounds = gpoo(
            posterior, oracle, 15, bounds=BOUNDS[d], **run | {"variation": delta(run["variation"])}
        )
        optimizer = GPOOOptimizer(
            kernel,
            bounds=BOUNDS[d],
            alpha=ALPHA,
            feedback=feedback,
            n_representatives=(2, 1, 3) if feedback == "average" else None,
            **ours(run),
        )
        rounds, history = assert_same_run(optimizer, rounds, f"seed {seed}")
        assert_same_posterior(rounds, history, f"seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("S", [1, 10])
def test_the_papers_own_settings_for_all_80_rounds(S):
    """Fig. 4: delta(h) = 14 2^-h, h_max = 10, Lemma 1, where the index ties most."""
    kernel = 0.1 * RBF(0.05)
    rng = np.random.default_rng(0)
    f = random_function(rng, [(0.0, 1.0)])
    posterior = posterior_for(
        kernel, alpha=ALPHA, feedback="average", n_dimensions=1, n_representatives=S
    )
    rounds = gpoo(
        posterior,
        lambda node, t: f(posterior.points(node)).mean() + 0.1 * rng.normal(),
        80,
        bounds=[(0.0, 1.0)],
        variation=lambda h: 14.0 * 0.5**h,
        max_depth=10,
    )
    optimizer = GPOOOptimizer(
        kernel,
        bounds=[(0.0, 1.0)],
        alpha=ALPHA,
        n_representatives=S,
        variation=(14.0, 0.5),
        max_depth=10,
        expansion="before",
    )
    rounds, history = assert_same_run(optimizer, rounds)
    assert_same_posterior(rounds, history)
    assert max(record.node.depth for record in rounds) >= 5


# The rules that the loop above rarely isolates ---------------------------------------------------


def make(**parameters):
    defaults = {
        "kernel": RBF(0.2),
        "bounds": [(0.0, 1.0)],
        "alpha": ALPHA,
        "feedback": "center",
        "variation": (4.0, 0.5),
        "max_depth": 6,
        "expansion": "before",
        "beta": 4.0,
    }
    return GPOOOptimizer(**defaults | parameters)


def ask_tell(optimizer, f, n_rounds):
    keys = []
    for _ in range(n_rounds):
        cell = optimizer.ask()
        keys.append((cell.depth, cell.index))
        optimizer.tell(cell, float(np.mean(f(cell.points))))
    return keys


def test_theory_beta_is_lemma_1():
    for n_children, max_depth, theta in [(2, 10, 0.1), (3, 4, 0.05), (5, 0, 0.5)]:
        # M = sum over h <= max_depth of K^h, that is the geometric series.
        M = (n_children ** (max_depth + 1) - 1) / (n_children - 1)
        for t in (1, 2, 37):
            assert theory_beta(t, n_children, max_depth, theta) == pytest.approx(
                2.0 * np.log(M * np.pi**2 * t**2 / (6.0 * theta)), rel=1e-14
            )
        f = random_function(np.random.default_rng(1), [(0.0, 1.0)])
        common = {"n_children": n_children, "max_depth": max_depth, "variation": (8.0, 0.6)}
        theory = make(beta="theory", guarantee=Guarantee(failure_probability=theta), **common)
        spelled_out = make(
            beta=lambda t, M=M, theta=theta: 2.0 * np.log(M * np.pi**2 * t**2 / (6.0 * theta)),
            **common,
        )
        assert ask_tell(theory, f, 25) == ask_tell(spelled_out, f, 25)
        np.testing.assert_array_equal(theory.history_["expanded"], spelled_out.history_["expanded"])


def test_beta_callable_is_called_with_the_round_about_to_be_played():
    seen = []

    def beta(t):
        seen.append(t)
        return 4.0

    optimizer = make(beta=beta)
    ask_tell(optimizer, lambda X: X[:, 0], 5)
    assert set(seen) >= {1, 2, 3, 4, 5}
    assert min(seen) == 1


@pytest.mark.parametrize("n_children", [2, 3])
def test_ties_go_to_the_lowest_depth_then_to_the_lowest_index(n_children):
    """With a symmetric function and no noise, mirror-image cells tie exactly."""

    def f(X):
        return -((X[:, 0] - 0.5) ** 2)

    posterior = posterior_for(RBF(0.2), alpha=ALPHA, feedback="center", n_dimensions=1)
    rounds = list(
        gpoo(
            posterior,
            lambda node, t: float(f(posterior.points(node))[0]),
            40,
            bounds=[(0.0, 1.0)],
            variation=lambda h: 4.0 * 0.5**h,
            max_depth=6,
            n_children=n_children,
            beta=4.0,
        )
    )
    optimizer = make(n_children=n_children)
    assert ask_tell(optimizer, f, 40) == [record.node.key for record in rounds]
    n_ties = 0
    for record in rounds:
        delta_h = np.array([4.0 * 0.5**leaf.depth for leaf in record.leaves])
        b = record.leaf_means + 2.0 * record.leaf_stds + delta_h
        tied = sorted(
            leaf.key for leaf, value in zip(record.leaves, b, strict=True) if value > b.max() - 1e-9
        )
        n_ties += len(tied) > 1
        assert record.node.key == tied[0]
    assert n_ties >= 5


def test_children_of_an_untouched_symmetric_root_are_played_from_the_left():
    optimizer = make(variation=(100.0, 0.5), n_children=3)
    assert ask_tell(optimizer, lambda X: np.zeros(len(X)), 4) == [(0, 0), (1, 0), (1, 2), (1, 1)]


def test_nodes_at_max_depth_are_expanded_and_leaves_exist_one_below():
    for max_depth in (0, 1, 3):
        optimizer = make(max_depth=max_depth, variation=(100.0, 0.9))
        ask_tell(optimizer, lambda X: X[:, 0], 4 * 2 ** (max_depth + 1))
        depths = np.asarray(optimizer.tree_.depth)
        assert depths.max() == max_depth + 1
        children = np.asarray(optimizer.tree_.children)
        is_leaf = (children.reshape(len(depths), -1) < 0).all(axis=1)
        assert (is_leaf == (depths == max_depth + 1)).all()
        assert optimizer.recommend("paper").depth == max_depth


def test_the_root_is_recommended_before_anything_is_expanded():
    optimizer = make(variation=(1e-9, 0.5))
    assert ask_tell(optimizer, lambda X: X[:, 0], 6) == [(0, 0)] * 6
    assert not optimizer.history_["expanded"].any()
    best_cell = optimizer.recommend("paper")
    assert (best_cell.depth, best_cell.index) == (0, 0)


def test_recommendation_is_the_best_mean_among_the_deepest_expanded():
    numbers = []
    for seed in range(5, 11):
        f = random_function(np.random.default_rng(seed), [(0.0, 1.0)])
        optimizer = make()
        keys = ask_tell(optimizer, f, 40)
        flags = optimizer.history_["expanded"]
        expanded = {key for key, flag in zip(keys, flags, strict=True) if flag}
        deepest = max(depth for depth, _ in expanded)
        candidates = sorted(key for key in expanded if key[0] == deepest)
        centers = np.array([[(index + 0.5) / 2**deepest] for _, index in candidates])
        expected = candidates[int(np.argmax(optimizer.predict(centers)))]
        best_cell = optimizer.recommend("paper")
        assert (best_cell.depth, best_cell.index) == expected
        numbers.append(len(candidates))
    assert max(numbers) > 1


def test_recommendation_ties_go_to_the_lowest_index():
    # Zero rewards leave every posterior mean at zero.
    optimizer = make(variation=(100.0, 0.9), max_depth=2)
    ask_tell(optimizer, lambda X: np.zeros(len(X)), 30)
    best_cell = optimizer.recommend("paper")
    assert (best_cell.depth, best_cell.index) == (2, 0)


def test_readings_of_line_6_differ_by_the_reward_of_the_round():
    # sqrt(beta) std is 2 before the first reward and 2 sqrt(1 / 101) after it.
    for variation, before, after in [(0.15, False, False), (1.0, False, True), (2.5, True, True)]:
        for expansion, expected in [("before", before), ("after", after)]:
            optimizer = make(expansion=expansion, variation=(variation, 0.5))
            ask_tell(optimizer, lambda X: X[:, 0], 1)
            assert optimizer.history_["expanded"][0] == expected


def test_variation_may_be_a_callable_of_the_depth():
    f = random_function(np.random.default_rng(2), [(0.0, 1.0)])
    by_pair, by_callable = make(), make(variation=lambda h: 4.0 * 0.5**h)
    assert ask_tell(by_pair, f, 30) == ask_tell(by_callable, f, 30)


# The reference itself ----------------------------------------------------------------------------


def test_quadrature_and_representatives_of_the_reference_are_means_over_the_cell():
    node = root_of([(0.0, 2.0), (-1.0, 2.0)])
    points, weights = quadrature(node, 6)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    # The mean of x^2 y over [0, 2] x [-1, 2] is 4/3 * 1/2.
    assert weights @ (points[:, 0] ** 2 * points[:, 1]) == pytest.approx(2.0 / 3.0, abs=1e-13)
    np.testing.assert_allclose(
        representatives(node, (2, 3)),
        [[0.5, -0.5], [0.5, 0.5], [0.5, 1.5], [1.5, -0.5], [1.5, 0.5], [1.5, 1.5]],
        rtol=0,
        atol=1e-15,
    )


def test_tie_rule_of_the_reference():
    nodes = [type("Cell", (), {"key": key}) for key in [(2, 0), (1, 1), (1, 0), (0, 0)]]
    assert best(nodes, [1.0, 1.0, 1.0 - 5e-10, 0.0]) == 2
    assert best(nodes, [1.0, 1.0 - 5e-9, 0.0, 0.0]) == 0
    assert best(nodes, [np.inf, np.inf, 0.0, 0.0]) == 1

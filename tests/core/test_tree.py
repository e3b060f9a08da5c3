"""The array tree: geometry, slots, and the tie rule of the best leaf."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skgpb._core._posterior import Posterior
from skgpb._core._tree import Tree, first_maximum


def grown(seed, K, d, splits):
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=d)
    tree = Tree(K, lower, lower + rng.random(d) + 0.1)
    for _ in range(splits):
        tree.split(int(rng.choice(tree.leaves)))
    return tree


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 4), st.integers(0, 40))
def test_leaves_tile_the_root(seed, K, d, splits):
    tree = grown(seed, K, d, splits)
    leaf = np.isin(np.arange(tree.n_nodes), tree.leaves)
    volumes = np.prod(tree.upper - tree.lower, axis=1)
    assert_allclose(volumes[leaf].sum(), volumes[0], rtol=1e-12)
    assert tree.n_leaves == leaf.sum() == splits * (K - 1) + 1
    assert tree.n_nodes == splits * K + 1
    points = tree.lower[0] + np.random.default_rng(seed).random((50, d)) * (
        tree.upper[0] - tree.lower[0]
    )
    inside = (points[:, None] >= tree.lower[leaf]) & (points[:, None] < tree.upper[leaf])
    assert_array_equal(inside.all(axis=2).sum(axis=1), 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 3), st.integers(1, 30))
def test_links_and_slots_are_consistent(seed, K, d, splits):
    tree = grown(seed, K, d, splits)
    children, parent, depth, index = tree.children, tree.parent, tree.depth, tree.index
    for node in range(tree.n_nodes):
        assert tree.find(int(depth[node]), int(index[node])) == node
        if children[node, 0] >= 0:
            assert_array_equal(parent[children[node]], node)
            assert_array_equal(depth[children[node]], depth[node] + 1)
            assert_array_equal(index[children[node]], K * index[node] + np.arange(K))
            assert tree.node(node)[2] == -1
        else:
            assert tree.leaves[tree.node(node)[2]] == node
    assert tree.find(int(depth.max()) + 1, 0) == -1
    assert tree.find(1, K) == -1
    assert tree.find(0, 1) == -1


def test_cells_are_cut_along_the_longest_side_in_units_of_the_root():
    tree = Tree(3, np.zeros(2), np.array([1.0, 100.0]))
    first = tree.split(0)
    assert_allclose(tree.upper[first:] - tree.lower[first:], [[1 / 3, 100]] * 3)
    second = tree.split(first)
    assert_allclose(tree.upper[second:] - tree.lower[second:], [[1 / 3, 100 / 3]] * 3)


def tracked(mean, var):
    m = len(mean)
    posterior = Posterior()
    posterior.track(np.zeros((m, 0)), np.array(var, float), np.arange(m))
    state = posterior.__getstate__()
    state["mean"] = np.array(mean, float)
    posterior.__setstate__(state)
    return posterior


def test_best_leaf_maximises_mean_plus_width_plus_delta():
    tree = Tree(2, np.zeros(1), np.ones(1))
    tree.split(0)
    tree.split(1)
    # leaves by slot: (2, 0), (1, 1), (2, 1)
    posterior = tracked([0.0, 0.5, 0.1], [1.0, 0.25, 0.0])
    delta = np.array([3.0, 0.2, 0.1])
    for beta in (0.0, 1.0, 9.0):
        values = [0.0 + np.sqrt(beta) + 0.1, 0.5 + np.sqrt(beta) * 0.5 + 0.2, 0.1 + 0.1]
        node = tree.best_upper_bound(posterior, beta, delta)
        assert node == tree.leaves[int(np.argmax(values))]


@pytest.mark.parametrize("gap", [0.0, 9e-10])
def test_ties_go_to_the_lowest_depth_then_the_lowest_index(gap):
    tree = Tree(2, np.zeros(1), np.ones(1))
    tree.split(0)
    tree.split(2)
    # leaves by slot: (1, 0), (2, 2), (2, 3)
    delta = np.zeros(3)
    zero = np.zeros(3)
    for unit in (1.0, 1e-12):  # unit of all values, as under a kernel of a small variance

        def best(*values, unit=unit):
            return tree.best_upper_bound(tracked(unit * np.array(values), zero), 1.0, delta)

        assert best(1.0, 1.0 + gap, 1.0 + gap) == 1
        assert best(-1.0, 0.0, gap) == 3
        assert best(1.0, 1.0, 1.0 + 1e-8) == 4
    excluded = np.zeros(5, np.uint8)
    excluded[1] = 1
    assert tree.best_upper_bound(tracked([0, 0, 0], zero), 1.0, delta, excluded) == 3
    assert tree.best_upper_bound(tracked([0, 0, 0], zero), 1.0, delta, np.ones(5, np.uint8)) == -1


def test_empirical_index_puts_leaves_without_rewards_first():
    tree = Tree(2, np.zeros(1), np.ones(1))
    tree.split(0)
    tree.record(1, 0.9)
    delta = np.zeros(2)
    assert tree.best_empirical_bound(1.0, delta) == 2
    tree.record(2, 0.5)
    assert tree.best_empirical_bound(1.0, delta) == 1
    tree.record(1, 0.9)
    tree.record(1, 0.9)
    assert tree.best_empirical_bound(4.0, delta) == 2


def test_bad_calls_are_rejected():
    tree = Tree(2, np.zeros(1), np.ones(1))
    tree.split(0)
    with pytest.raises(ValueError, match="not a leaf"):
        tree.split(0)
    with pytest.raises(IndexError):
        tree.split(3)
    with pytest.raises(IndexError):
        tree.record(-1, 0.0)
    with pytest.raises(ValueError, match="2 leaves"):
        tree.best_upper_bound(Posterior(), 1.0, np.zeros(3))
    with pytest.raises(ValueError, match="depth 1"):
        tree.best_upper_bound(tracked([0, 0], [1, 1]), 1.0, np.zeros(1))
    with pytest.raises(ValueError, match="boxes"):
        tree.split(1, np.zeros((2, 3)))


def test_pickle_keeps_everything():
    tree = grown(0, 3, 2, 7)
    tree.record(4, 1.5)
    other = pickle.loads(pickle.dumps(tree))
    for name in (
        "depth",
        "index",
        "parent",
        "children",
        "lower",
        "upper",
        "n_evaluations",
        "leaves",
    ):
        assert_array_equal(getattr(other, name), getattr(tree, name))
    leaf = int(tree.leaves[0])
    assert other.split(leaf) == tree.split(leaf)
    assert_array_equal(other.lower, tree.lower)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 1.0, 1.0 + 5e-10], 1),
        ([0.0, 1.0, 1.0 + 2e-9], 2),
        ([np.nan, -1.0, np.nan], 1),
        ([np.nan, np.nan], 0),
        ([-np.inf, -np.inf], 0),
        ([0, 3, 3], 1),
    ],
)
def test_the_first_of_tied_values_is_their_maximum(values, expected):
    assert first_maximum(np.array(values)) == expected
    assert first_maximum(np.repeat(values, 2)[::2]) == expected  # strides do not matter


def test_the_tolerance_of_ties_is_that_of_the_units():
    assert first_maximum(np.array([1.0, 2.0, 3.0]), 1.5) == 1
    with pytest.raises(ValueError, match="no largest"):
        first_maximum(np.zeros(0))


def test_a_node_may_have_fewer_than_k_children():
    tree = Tree(3, np.zeros(1), np.ones(1))
    first = tree.split(0, np.array([[0.0, 0.4], [0.4, 1.0]]))
    second = tree.split(first + 1)
    assert (first, second, tree.n_nodes, tree.n_leaves) == (1, 3, 6, 4)
    assert_array_equal(tree.children, [[1, 2, -1], [-1] * 3, [3, 4, 5], *[[-1] * 3] * 3])
    assert [tree.find(1, i) for i in range(3)] == [1, 2, -1]
    # The children of the second child are numbered as if there were a third.
    assert_array_equal(tree.index, [0, 0, 1, 3, 4, 5])
    assert [tree.find(2, i) for i in range(9)] == [-1, -1, -1, 3, 4, 5, -1, -1, -1]
    assert_array_equal(np.sort(tree.leaves), [1, 3, 4, 5])
    with pytest.raises(ValueError, match="at least 2"):
        tree.split(1, np.array([[0.0, 0.4]]))

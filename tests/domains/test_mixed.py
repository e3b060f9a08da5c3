"""Cells of boxes with integers and categories: runs of values, cut down to single ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, geom, loguniform, poisson, randint

from skgpb.domains.cells import FEWEST, MOST_SIZES, Cells, frequent_sizes
from skgpb.domains.mixed import MixedPartition, deepest_cut
from skgpb.domains.space import Choice, IntegerQuantile, ParameterSpace
from skgpb.domains.value_ranges import Placed, cut, points_per_side, spread

SIDES = {
    "temperature": (20, 90),
    "salt": loguniform(1e-4, 1e-1),
    "cycles": range(1, 9),
    "catalyst": ["A", "B", "C"],
}


def partition(sides=None, K=2, counts=None, **settings):
    space = ParameterSpace.from_bounds(SIDES if sides is None else sides)
    counts = points_per_side(space) if counts is None else counts
    return MixedPartition(space, K, counts, **settings)


def split_all(mixed, most=10**6):
    """Split breadth first while anything can be, and return the leaves."""
    todo = [0]
    while todo and mixed.tree.n_nodes < most:
        node = todo.pop(0)
        if mixed.splittable(node):
            first = mixed.split(node)
            todo += range(first, mixed.tree.n_nodes)
    return [mixed.cell(leaf) for leaf in mixed.tree.leaves.tolist()]


def settings_of(mixed, node):
    box, d = mixed.tree.box(node, node + 1)[0], mixed.tree.n_features
    values = mixed.space.ranges(box[:d], box[d:]).values()
    return [str(setting) for setting in itertools.product(*values)]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(2, 5), st.integers(0, 10**6))
def test_a_run_is_cut_into_equal_parts_of_at_least_one_value(n, K, seed):
    axis = Choice("n", range(n))
    first = seed % n
    last = first + seed // n % (n - first)
    low, high = axis.edge(first), axis.edge(last + 1)
    parts = cut(axis, low, high, K)
    runs = [axis.values_between(*ends) for ends in parts]
    assert list(itertools.chain(*runs)) == list(range(first, last + 1))
    sizes = [len(run) for run in runs]
    assert len(sizes) == min(K, last - first + 1) and max(sizes) - min(sizes) <= 1
    assert parts[0][0] == low and parts[-1][1] == high


@pytest.mark.parametrize("distribution", [randint(3, 30), poisson(4), geom(0.2)])
def test_integers_of_a_distribution_are_cut_at_quantiles(distribution):
    axis = IntegerQuantile("n", distribution)
    (a, b), (c, d) = cut(axis, 0.0, 1.0, 2)
    left, right = axis.values_between(a, b), axis.values_between(c, d)
    assert left[-1] + 1 == right[0]
    # The cut is the edge that is nearest to the median.
    edges = distribution.cdf(np.arange(*axis.run(0.0, 1.0)))
    assert_allclose(b, edges[np.argmin(np.abs(edges - 0.5))])
    for low, high in ((a, b), (c, d)):
        some = [axis.value(u) for u in spread(axis, low, high, 4)]
        assert some == sorted(set(some)) and set(some) <= set(axis.values_between(low, high))


@pytest.mark.parametrize("distribution", [randint(0, 10**9), binom(1000, 0.5), poisson(1e-6)])
def test_rare_and_many_integers_have_cells(distribution):
    axis = IntegerQuantile("n", distribution)
    first, last = axis.run(0.0, 1.0)
    cells = [(0.0, 1.0)]
    for _ in range(60):
        low, high = cells.pop(0)
        here = axis.run(low, high)
        parts = cut(axis, low, high, 2)
        runs = [axis.run(*ends) for ends in parts]
        # They follow each other and lose nothing, down to one integer.
        assert (runs[0][0], runs[-1][1]) == here and all(a <= b for a, b in runs)
        assert all(a[1] + 1 == b[0] for a, b in itertools.pairwise(runs))
        assert len(spread(axis, low, high, 5)) == min(5, here[1] - here[0] + 1)
        cells += parts if len(parts) > 1 else []
        if not cells:
            break
    number = (first + last) // 2
    middle = float(axis.middles_of(np.array(number)))
    assert axis.run(middle, middle) == (number, number) and axis.value(middle) == number


@pytest.mark.parametrize("K", [2, 3, 4, 7])
def test_a_finite_box_is_cut_down_to_its_settings(K):
    sides = {"n": range(5), "kind": ["a", "b", "c"], "flag": [True, False]}
    mixed = partition(sides, K)
    cells = split_all(mixed)
    found = [tuple(cell.params.values()) for cell in cells]
    assert sorted(map(str, found)) == sorted(map(str, itertools.product(*sides.values())))
    assert not any(mixed.splittable(leaf) for leaf in mixed.tree.leaves.tolist())
    assert mixed.tree.depth.max() <= deepest_cut(mixed.space, K, 10) or K > 2
    children = mixed.tree.children
    for node in range(mixed.tree.n_nodes):
        own = children[node][children[node] >= 0]
        assert_array_equal(mixed.tree.parent[own], node)
        if len(own):
            assert 2 <= len(own) <= K
            # The settings of the children are those of the parent, each once.
            parts = [setting for child in own.tolist() for setting in settings_of(mixed, child)]
            assert sorted(parts) == sorted(settings_of(mixed, node))
    assert_array_equal(np.sort(np.unique(mixed.tree.parent[1:])), np.sort(mixed.expanded))


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 4), st.integers(0, 10**6))
def test_cells_beyond_the_tree_are_those_it_would_grow(K, seed):
    rng, mixed = np.random.default_rng(seed), partition(K=K)
    grown, node = partition(K=K), 0
    for _ in range(7):
        first = grown.split(node)
        node = int(rng.integers(first, grown.tree.n_nodes))
    cell = grown.cell(node)
    assert mixed.cell_at(cell.depth, cell.index) == cell
    mixed.resolve(cell)
    with pytest.raises(ValueError, match="not a cell"):
        partition(K=K + 1).resolve(cell)


def test_the_longest_side_as_the_kernel_measures_it_is_cut():
    mixed = partition()
    root = mixed.cell(0)
    assert root.params == {
        "temperature": (20, 90),
        "salt": pytest.approx((1e-4, 1e-1)),
        "cycles": [1, 2, 3, 4, 5, 6, 7, 8],
        "catalyst": ["A", "B", "C"],
    }
    node, changed = 0, []
    for _ in range(7):
        first = mixed.split(node)
        before, after = mixed.cell(node).params, mixed.cell(first).params
        changed += [name for name in before if before[name] != after[name]]
        node = first
    # Two categories are as far apart as the ends of a side, so that they are told apart first.
    assert changed[:5] == ["temperature", "salt", "cycles", "catalyst", "catalyst"]
    assert changed[5:] == ["temperature", "salt"]
    assert mixed.cell(node).params["cycles"] == [1, 2, 3, 4]


def test_what_stands_for_a_cell_are_values_of_it():
    mixed = partition(counts=(2, 1, 3, 5))
    root = mixed.cell(0)
    settings_of_root = root.settings
    assert len(settings_of_root) == 2 * 1 * 3 * 3
    assert {s["cycles"] for s in settings_of_root} == {2, 5, 7}
    assert {s["catalyst"] for s in settings_of_root} == {"A", "B", "C"}
    assert {s["temperature"] for s in settings_of_root} == {37.5, 72.5}
    for cell in split_all(mixed, 300):
        params = cell.params
        if len(cell.points) == 1:
            continue
        for setting in cell.settings:
            assert setting["cycles"] in params["cycles"]
            assert setting["catalyst"] in params["catalyst"]
            assert params["temperature"][0] < setting["temperature"] < params["temperature"][1]


def test_rows_are_one_box_of_columns_for_each_combination_of_separate_values():
    mixed = partition(counts=(4, 4, 2, 3))
    (rows,) = mixed.row_sets(0, 1)
    assert rows.shape == (2 * 3, 2 * 6)
    lower, upper = np.split(rows, 2, axis=1)
    assert_array_equal(lower[:, :2], [[20, 0]] * 6)
    assert_array_equal(upper[:, :2], [[90, 1]] * 6)
    assert_array_equal(lower[:, 2:], upper[:, 2:])
    assert len(np.unique(rows, axis=0)) == 6
    columns = mixed.space.columns(mixed.cell(0).points)[:, 2:]
    assert_allclose(np.unique(lower[:, 2:], axis=0), np.unique(columns, axis=0))


def test_few_values_all_stand_for_a_cell_and_many_do_not():
    def counts(**sides):
        return points_per_side(ParameterSpace.from_bounds(sides))

    assert counts(x=(0, 1), kind=["a", "b"]) == (10, 2)
    assert counts(**SIDES) == (2, 2, 8, 3)
    assert counts(n=randint(0, 10**6), x=(0, 1)) == (50, 2)
    assert counts(n=poisson(3)) == (100,)
    assert counts(a=range(30), b=range(20)) == (10, 10)
    assert counts(**{f"x{i}": [0, 1] for i in range(9)}) == (1,) * 9


def test_cells_are_compared_by_four_points_along_a_side_and_by_all_of_their_categories():
    space = ParameterSpace.from_bounds({"x": (0, 1), "kind": ["a", "b", "c"]})
    placed = Placed(space, np.array([0.2, 2.0]))
    assert placed.counts == (10, 2)  # by which they are averaged over
    points = placed.points((1,), np.array([0.3]))
    settings = {(round(each["x"], 3), each["kind"]) for each in map(space.setting, points)}
    assert settings == {(x, kind) for x in (0.325, 0.375, 0.425, 0.475) for kind in "bc"}


@pytest.mark.parametrize(
    ("size", "sides"),
    [
        ({"heat": 0}, [0, 0, 0]),
        ({"heat": 0, "washes": 1}, [0, 0, 0]),
        ({"heat": 0, "washes": 1, "soap": 1}, [0, 0, 0]),
        ((0, 1, 0), [0, 0, 0]),
        (0, [0, 0, 0]),
        (0.5, [0.5, 1, 1]),
        ({"heat": 0.5, "washes": 0}, [0.5, 1, 1]),
        ({"heat": 0, "washes": 2}, [0, 2, 1]),
        ((0, 1, 3), [0, 1, 3]),
        ((2, 3, 0), [2, 3, 1]),
    ],
    ids=str,
)
def test_a_cell_of_one_setting_is_a_point_and_others_have_a_value_of_each_side(size, sides):
    space = ParameterSpace.from_bounds(
        {"heat": (0, 4), "washes": range(1, 4), "soap": ["a", "b", "c"]}
    )
    bounds = np.array([[0.0, 4.0], [0.0, 1.0], [0.0, 1.0]])
    assert_array_equal(Cells(size).sides(bounds, space), [sides])


def test_sizes_that_many_boxes_have_are_recognised_wherever_these_lie():
    rng = np.random.default_rng(0)
    n_of = {(0.1, 0.2): FEWEST + 2, (0.3, 0.0): FEWEST, (0.5, 0.5): FEWEST - 1, (0.0, 0.0): 9}
    n_of |= {(0.7, i / 100): FEWEST + 2 + i for i in range(1, MOST_SIZES - 2)}
    sizes = np.repeat(list(n_of), list(n_of.values()), axis=0)
    lower = rng.random(sizes.shape)
    found = frequent_sizes(np.hstack([lower, lower + sizes])[rng.permutation(len(sizes))])
    frequent = {size for size, n in n_of.items() if n >= FEWEST}  # and that of points
    assert {tuple(size) for size in found.round(9).tolist()} == frequent
    assert len(found) == len(frequent) == MOST_SIZES

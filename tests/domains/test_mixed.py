"""Cells of boxes with integers and categories: runs of values, cut down to single ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, geom, loguniform, poisson, randint

from skgpb.domains.cells import (
    FEWEST,
    MOST_SIZES,
    Cells,
    are_among,
    first_values,
    frequent_sizes,
    points_in_runs,
    runs_around,
)
from skgpb.domains.mixed import MixedPartition, deepest_cut, partition_of_box, rows_of_points
from skgpb.domains.partition import BoxPartition
from skgpb.domains.space import Choice, IntegerQuantile, ParameterSpace
from skgpb.domains.value_ranges import (
    Placed,
    ValueRanges,
    cut,
    mixed_order,
    points_per_side,
    reach,
    representatives_within,
    spread,
)

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


def split_all(mixed, most=500):
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
    six = {f"x{i}": [0, 1] for i in range(6)}
    assert counts(**six, y=(0, 1), z=(0, 1)) == (2,) * 6 + (1, 1)


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


# -- runs of values around points, and what represents them ---------------------------------------

EVEN = {
    "list": Choice("n", list("abcdefg")),
    "range": Choice("n", range(10, 20, 2)),
    "integers": IntegerQuantile("n", randint(3, 12)),
}


@pytest.mark.parametrize("name", EVEN)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_a_run_around_its_own_middle_is_itself_and_around_others_the_nearest(name, k):
    axis = EVEN[name]
    first, last = axis.run(0.0, 1.0)
    begins = np.arange(first, last + 2 - k)
    ends = np.array([axis.ends_of_run(n, n + k - 1) for n in begins.tolist()])
    middles = ends.mean(axis=1)
    assert_array_equal(first_values(axis, middles, k), begins)
    found = runs_around(axis, middles, k)
    assert_allclose(found, ends if k > 1 else np.repeat(middles[:, None], 2, axis=1))
    u = np.random.default_rng(k).random(60)
    nearest = begins[np.abs(middles - u[:, None]).argmin(axis=1)]
    assert_array_equal(first_values(axis, u, k), nearest)


def test_integers_of_any_distribution_are_runs_of_one():
    axis = IntegerQuantile("n", poisson(3))
    u = np.random.default_rng(0).random(50)
    assert_array_equal(first_values(axis, u, 1), [axis.value(x) for x in u])
    assert_array_equal(runs_around(axis, u, 1), np.repeat(axis.snap(u)[:, None], 2, axis=1))


@pytest.mark.parametrize("kind", ["separate", "all", "none"])
def test_cells_of_a_size_are_placed_where_they_were(kind):
    sides = {
        "separate": {"n": range(7), "kind": ["a", "b", "c"]},
        "all": {"x": (0.0, 2.0), "n": range(7), "y": (5.0, 6.0), "kind": ["a", "b", "c"]},
        "none": {"x": (0.0, 2.0), "y": (5.0, 6.0)},
    }[kind]
    sizes = {"x": 0.5, "n": 4, "y": 1.0, "kind": 2}
    space = ParameterSpace.from_bounds(sides)
    placed = Placed(space, np.array([float(sizes[name]) for name in sides]))
    assert placed.starts == [{"n": 4, "kind": 2}[name] for name in sides if name in ("n", "kind")]
    assert [space.names[i] for i in placed.free] == (["x"] if "x" in sides else [])
    assert_allclose(placed.room, [[0.0, 1.5]] if "x" in sides else np.empty((0, 2)))
    rng = np.random.default_rng(0)
    for run in itertools.product(*map(range, placed.starts)):
        place = rng.uniform(*placed.room.T)
        lower, upper = placed.corners(run, place)
        ranges = space.ranges(lower, upper)
        for name in sides:
            if name in ("n", "kind"):
                start = run[[each for each in sides if each in ("n", "kind")].index(name)]
                values = list(sides[name])[start : start + sizes[name]]
                assert list(ranges[name]) == values
            else:
                assert_allclose(np.ptp(ranges[name]), sizes[name])
        ((again, there),) = placed.around(0.5 * (lower + upper)[None])
        assert again == run
        assert_allclose(there, place, atol=1e-12)
        points = placed.points(run, place)
        assert ((points >= lower) & (points <= upper)).all()
        assert_allclose(points.mean(axis=0), 0.5 * (lower + upper), atol=1e-9)
    # Around points at the edge of the box the cells are inside.
    for (run, place), corner in zip(placed.around(space.bounds.T.copy()), (0, 1), strict=True):
        assert run == tuple(corner * (n - 1) for n in placed.starts)
        assert_allclose(place, placed.room[:, corner])


def test_what_represents_a_cell_are_values_of_each_side_as_far_apart_as_possible():
    space = ParameterSpace.from_bounds(SIDES)
    box = space.box_between(
        {"temperature": 30.0, "salt": 1e-3, "cycles": 2, "catalyst": "B"},
        {"temperature": 50.0, "salt": 1e-2, "cycles": 7, "catalyst": "C"},
    )
    lower, upper = np.split(box, 2)
    points = representatives_within(space, lower, upper, (2, 1, 3, 5))
    found = [space.setting(point) for point in points]
    salt = pytest.approx(np.sqrt(1e-5))
    expected = itertools.product([35.0, 45.0], [salt], [3, 5, 7], ["B", "C"])
    assert [tuple(each.values()) for each in found] == list(expected)
    for (_, axis), low, high in zip(space.axes, lower, upper, strict=True):
        ends = reach(axis, low, high)
        if axis.uses_columns:
            middles = axis.middles_of(np.array(axis.run(low, high)))
            assert ends == tuple(middles) and low < ends[0] < ends[1] < high
        else:
            assert ends == (low, high)
            assert_allclose(spread(axis, low, high, 4), low + (high - low) * np.arange(1, 8, 2) / 8)
        assert len(spread(axis, ends[0], ends[0], 4)) == 1
    assert points_in_runs(np.array([[0, 0, 2, 1], [1, 1, 3, 2]]), (4, 4, 9, 9), space) == (
        4,
        4,
        6,
        2,
    )


@pytest.mark.parametrize("sizes", [(1,), (3, 1, 4), (2, 5)])
def test_combinations_of_values_have_neighbours_of_all_kinds(sizes):
    order = np.array(mixed_order(sizes)).T
    assert sorted(map(tuple, order)) == list(itertools.product(*map(range, sizes)))
    half = order[: len(order) // 2]
    for column, n in zip(half.T, sizes, strict=True):
        counts = np.bincount(column, minlength=n)
        assert np.ptp(counts) <= 2 or n == 1


def test_cells_are_compared_in_shares_of_the_box():
    bounds = np.array([[0.0, 1e6], [3.0, 3.001], [1.0, 1.0]])
    sizes = np.array([[1e5, 1e-4, 0.0], [2e5, 1e-4, 0.0], [1e5, 5e-4, 0.0]])
    near, beyond = sizes[1:] + np.array([5e-4, 5e-13, 5e-10]), np.array([2e-3, 2e-12, 0.0])
    assert_array_equal(are_among(sizes, near, bounds), [False, True, True])
    assert_array_equal(are_among(sizes, near + beyond * [1, 0, 0], bounds), [False] * 3)
    assert_array_equal(are_among(sizes, near + beyond * [0, 1, 0], bounds), [False] * 3)


def test_cells_of_equal_sizes_are_equal():
    assert Cells([0.1, 0.2]) == Cells([0.1, 0.2]) != Cells([0.2, 0.1])
    assert hash(Cells(0.1)) == hash(Cells(0.1)) and Cells(0.1) != 0.1
    bounds = np.array([[0.0, 1.0], [0.0, 4.0]])
    assert_array_equal(Cells([0.5, (0.2, 4.0)]).sides(bounds, None), [[0.5, 0.5], [0.2, 4.0]])
    for wrong in (-0.1, 1.1, (0.5, 4.1), (0.5,), "wide", np.nan):
        with pytest.raises(ValueError, match="sizes of Cells must be"):
            Cells(wrong).sides(bounds, None)
    with pytest.raises(ValueError, match="must not be empty"):
        Cells([])
    with pytest.raises(ValueError, match="have no names"):
        Cells({"x": 0.5}).sides(bounds, None)
    space = ParameterSpace.from_bounds({"x": (0.0, 1.0), "n": range(4), "p": poisson(2)})
    for size in (
        {"n": 2},
        {"x": 0.1, "m": 1},
        {"x": 0.1, "n": 5},
        {"x": 0.1, "n": 1.5},
        {"x": 2.0},
    ):
        with pytest.raises(ValueError, match="sizes of Cells"):
            Cells(size).sides(space.bounds, space)
    with pytest.raises(ValueError, match="different probabilities"):
        Cells({"x": 0.1, "p": 2}).sides(space.bounds, space)
    only = ParameterSpace.from_bounds({"n": range(4), "kind": list("ab")})
    with pytest.raises(ValueError, match="number of values of a cell"):
        Cells(1).sides(only.bounds, only)
    assert_array_equal(Cells({"n": 4}).sides(only.bounds, only), [[4, 1]])


# -- samples of the cells of a depth --------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
def test_sampled_cells_are_cells_of_their_depth(K):
    mixed = partition(K=K, max_depth=4)
    leaves = {0: [mixed.cell(0)]}
    for depth in range(4):
        leaves[depth + 1] = []
        for cell in leaves[depth]:
            node = mixed.node_of(cell)
            if mixed.splittable(node):
                first = mixed.split(node)
                leaves[depth + 1] += [mixed.cell(n) for n in range(first, mixed.tree.n_nodes)]
    for depth in range(5):
        rows = {mixed.rows_of_query(cell).tobytes(): cell for cell in leaves[depth]}
        everywhere = mixed.deviation_cells(depth, everywhere=True)
        alike = mixed.deviation_cells(depth, everywhere=False)
        assert 1 <= len(alike) <= len(everywhere) <= len(rows)
        for block, lower, upper in everywhere + alike:
            cell = rows[block.tobytes()]
            assert ((cell.lower <= lower) & (lower <= upper) & (upper <= cell.upper)).all()
            ends = zip(mixed.space.axes, cell.lower, cell.upper, lower, upper, strict=True)
            for (_, axis), a, b, low, high in ends:
                expected = (
                    axis.middles_of(np.array(axis.run(a, b))) if axis.uses_columns else (a, b)
                )
                assert (low, high) == tuple(expected)
        if depth:
            assert len(everywhere) > 1


def test_rows_of_other_boxes_are_those_of_their_settings():
    mixed = partition(counts=(2, 2, 3, 3))
    cell = mixed.cell_at(3, 5)
    assert_array_equal(mixed.rows_of_box(cell.box), mixed.rows_of_query(cell))
    assert_array_equal(mixed.row_set(0), mixed.rows_of_box(mixed.cell(0).box))
    points = mixed.cell(0).points[:4]
    assert_array_equal(mixed.rows_of(points), np.tile(mixed.space.columns(points), 2))
    assert_array_equal(rows_of_points(points, mixed.space), mixed.rows_of(points))
    assert_array_equal(rows_of_points(points, None), np.tile(points, 2))
    given = np.array([33.0, 0.5])
    beside = mixed.row_set_with(0, given)
    box = mixed.cell(0).box.copy()
    box[[0, 1, 4, 5]] = [33.0, 0.5, 33.0, 0.5]
    assert_array_equal(beside, mixed.rows_of_box(box))
    assert_array_equal(beside[:, :2], np.tile(given, (len(beside), 1)))
    with pytest.raises(ValueError, match="would have no setting"):
        partition({"n": range(3), "flag": [True, False]}).cell_at(6, 0)


def test_a_box_has_the_partition_of_its_sides():
    space = ParameterSpace.from_bounds({"x": (0.0, 1.0), "n": range(4)})
    plain = ParameterSpace.from_bounds({"x": (0.0, 1.0), "y": (0.0, 2.0)})
    for each, kind in ((space, MixedPartition), (plain, BoxPartition), (None, BoxPartition)):
        bounds = np.array([[0.0, 1.0], [0.0, 2.0]]) if each is None else each.bounds
        found = partition_of_box(bounds, 3, (2, 2), False, 5, each)
        assert type(found) is kind and found.space is each
        assert (found.tree.n_children, found.max_depth, found.n_representatives) == (3, 5, (2, 2))
    assert deepest_cut(space, 2, 9) == 9 + 2
    assert deepest_cut(space, 3, 9) == 9 + 2
    assert deepest_cut(plain, 2, 9) == 18 and deepest_cut(space, 2, 1) == 2


@pytest.mark.parametrize("K", [4, 8])
def test_parts_are_cut_further_into_as_many_each(K):
    space = ParameterSpace.from_bounds({"flag": [True, False], "x": (0.0, 1.0)})
    parts = ValueRanges(space, K, (2, 2), continuous=True).parts(space.bounds.T.ravel())
    settings = [space.ranges(*np.split(part, 2)) for part in parts]
    # Both sides are as long: the first is cut, and then what is left to do along the other.
    half = K // 2
    for flag in (True, False):
        ends = [each["x"] for each in settings if each["flag"] == [flag]]
        assert_allclose(ends, [(i / half, (i + 1) / half) for i in range(half)])
    three = ValueRanges(space, 3, (2, 2), continuous=True).parts(space.bounds.T.ravel())
    assert [np.ptp(part[[1, 3]]) for part in three] == [0.5, 0.5, 1.0]

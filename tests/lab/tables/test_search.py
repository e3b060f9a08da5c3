"""Results of a search, and equal questions to every kind of table."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from skgpb.lab.cli.where import Condition
from skgpb.lab.datasets.columns import Column
from skgpb.lab.tables import MemoryTable, find_subgroup
from skgpb.lab.tables.conditions import Categories, Range, Subgroup, format_literal
from skgpb.lab.tables.levels import Levels
from skgpb.lab.tables.search import (
    BEST_PAIRS_ASKED,
    COARSE,
    COST_OF_END,
    ERRORS_OF_END,
    LEAST_STEP,
    MIN_ROWS_MARGIN,
    PeelingTrajectory,
    QueriedSides,
    RowSides,
    SubgroupPath,
    _asked_pairs,
    _beyond,
    _coarse,
    _coarse_features,
    _pairs,
    count_ends,
    peel,
    recommend,
    search_rows,
    simplify_box,
    standardize,
)


class Asked:
    """A table that answers, and shows no rows."""

    def __init__(self, table):
        self.levels, self.n_rows, self.asked = table.levels, table.n_rows, []
        self._table = table

    def totals(self, boxes):
        return self._table.totals(boxes)

    def marginals(self, boxes, features=None):
        self.asked.append(list(boxes))
        return self._table.marginals(boxes, features)


class FromBlocks(Asked):
    """A table that also says how far its averages vary between blocks of 50 rows."""

    def __init__(self, table, y):
        super().__init__(table)
        self._y, self._block = y, np.arange(len(y)) // 50

    def _with_noise(self, box, moments):
        rows = self._table.rows(box)
        apart = np.bincount(self._block[rows], (self._y - moments.mean[0])[rows])
        return float(np.sum(apart**2)) / max(moments.n[0], 1) ** 2

    def totals(self, boxes):
        moments = super().totals(boxes)
        each = [(box, self._table.totals([box])) for box in boxes]
        return replace(moments, noise=np.array([self._with_noise(*pair) for pair in each]))

    def marginals(self, boxes, features=None):
        answers = super().marginals(boxes, features)
        for box, answer in zip(boxes, answers, strict=True):
            for name, moments in answer.items():
                levels = next(each for each in self.levels if each.name == name)
                each = np.eye(levels.n_levels, dtype=bool)
                sides = [levels.side(alone) for alone in each]
                kept = tuple(side for side in box.conditions if side[0] != name)
                inside = [Subgroup((*kept, (name, side))) for side in sides]
                answer[name] = replace(moments, noise=self.totals(inside).noise)
        return answers


def planted(seed=0, n=3000, d=4, high=1.5):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    inside = (np.abs(X[:, :2] - 0.6) < 0.14).all(axis=1)
    return X, high * inside + rng.normal(size=n), inside


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("wrap", [lambda table: table, Asked])
def test_a_planted_box_is_found(seed, wrap):
    X, y, inside = planted(seed)
    table = MemoryTable(X, y)
    group = find_subgroup(wrap(table), 150)
    rows = table.rows(group.subgroup)
    assert group.n == rows.sum() >= 150
    assert group.mean == pytest.approx(y[rows].mean())
    assert group.variance == pytest.approx(y[rows].var())
    assert (rows & inside).sum() > 0.85 * rows.sum()


@pytest.mark.parametrize("wrap", [lambda table: table, Asked])
def test_the_lowest_average_is_the_highest_of_what_is_negated(wrap):
    X, y, _ = planted()
    low = find_subgroup(wrap(MemoryTable(X, y)), 60, minimize=True)
    high = find_subgroup(wrap(MemoryTable(X, -y)), 60)
    assert low.subgroup == high.subgroup
    assert low.mean == pytest.approx(-high.mean)


def test_corners_that_no_feature_shows_alone_are_found():
    rng = np.random.default_rng(0)
    X = rng.random((6000, 5))
    y = np.sign((X[:, 0] - 0.5) * (X[:, 3] - 0.5)) + rng.normal(size=6000)
    group = find_subgroup(MemoryTable(X, y), 600)
    assert set(group.subgroup) >= {"x0", "x3"}
    assert group.mean > 0.9


def test_the_higher_of_two_hills_is_found_though_it_is_the_narrower_one():
    rng = np.random.default_rng(1)
    X = rng.random((8000, 2))
    broad = np.exp(-((X - 0.3) ** 2).sum(axis=1) / 0.1)
    narrow = 3.0 * (np.abs(X - 0.85) < 0.07).all(axis=1)
    group = find_subgroup(MemoryTable(X, broad + narrow + 0.5 * rng.normal(size=8000)), 80)
    assert group.mean > 2.5


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["tiles", "hills"])
def test_a_table_that_is_asked_from_several_starts_is_not_behind_rows_in_memory(shape, seed):
    """Where no single feature shows anything, and where a wider hill is lower."""
    rng, n = np.random.default_rng([1, seed]), 20_000
    if shape == "tiles":
        X = rng.random((n, 4))
        f = np.where(np.floor(6.0 * X[:, 0]) % 2 == np.floor(6.0 * X[:, 3]) % 2, 1.0, -1.0)
    else:
        centres, widths = np.repeat([[0.35, 0.25], [0.6, 0.65]], n // 2, axis=0), [0.1, 0.12]
        X = rng.normal(centres, np.repeat(widths, n // 2)[:, np.newaxis])
        f = 2.0 * np.exp(-((X - [0.33, 0.22]) ** 2).sum(axis=1) / 0.004)
        f += 1.2 * np.exp(-((X - [0.62, 0.68]) ** 2).sum(axis=1) / 0.03)
    table = MemoryTable(X, f + 2.0 * rng.normal(size=n))

    def value(group):
        return f[table.rows(group.subgroup)].mean()

    in_memory = value(find_subgroup(table, 200))
    asked = value(find_subgroup(Asked(table), 200, pairs=True, hills=True))
    assert asked > in_memory - 0.1
    if shape == "hills":
        assert value(find_subgroup(Asked(table), 200)) < 1.3 < in_memory


def test_a_table_that_is_asked_is_also_searched_from_given_groups():
    rng = np.random.default_rng(1)
    X = rng.random((8000, 2))
    broad = np.exp(-((X - 0.3) ** 2).sum(axis=1) / 0.1)
    narrow = 1.6 * (np.abs(X - 0.85) < 0.07).all(axis=1)
    table = MemoryTable(X, broad + narrow + 0.5 * rng.normal(size=8000))
    ends = [levels.edges[90] for levels in table.levels]
    near = Subgroup.from_sides({"x0": Range(ends[0], None), "x1": Range(ends[1], None)})
    without = find_subgroup(Asked(table), 80)
    group = find_subgroup(Asked(table), 80, starts=[near])
    assert without.mean < 1.3 < group.mean
    # The larger group has more rows, and is about as good.
    larger = table.totals([group.larger])
    assert larger.n[0] > group.n and larger.mean[0] > 0.8 * group.mean
    assert group.larger["x0"].low > 0.7


def test_categories_and_missing_values_are_chosen_by_what_they_average():
    rng = np.random.default_rng(2)
    n = 4000
    shop = rng.choice(list("abcdefghij"), n).astype(object)
    hour = np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 24, n))
    good = np.isin(shop, ["b", "g"]) & ((hour > 12) | np.isnan(hour))
    columns = {"shop": shop, "hour": hour}
    group = find_subgroup(MemoryTable(columns, 2.0 * good + rng.normal(size=n)), 200)
    assert group.subgroup["shop"].among == ("b", "g")
    assert group.subgroup["hour"].missing
    assert group.subgroup["hour"].low == pytest.approx(12, abs=0.7)
    assert group.subgroup["hour"].high is None or group.subgroup["hour"].high > 22


@pytest.mark.parametrize("seed", range(6))
def test_a_category_lies_beyond_no_other_whatever_their_order(seed):
    rng = np.random.default_rng(seed)
    shop, x = rng.integers(0, 6, 600), rng.random(600)
    y = standardize((x > 0.5) + rng.normal(size=600))  # shops hardly differ
    found = []
    for names in ("abcdef", "fedcba", "cfbead"):
        table = MemoryTable({"shop": np.array(list(names), dtype=object)[shop], "x": x}, y)
        low = next(edge for edge in table.levels[1].edges if edge > 0.49)
        box = Subgroup.from_sides({"shop": Categories((names[2], names[3])), "x": Range(low=low)})
        inside = recommend(
            table, y, SimpleNamespace(inside=[table.shape.inside(box)], best=lambda: 0)
        )
        found.append(table.rows(table.shape.subgroup(inside)).tolist())
    assert found[0] == found[1] == found[2]
    assert set(shop[found[0]]) == {2, 3}


@pytest.mark.parametrize("low", [False, True])
def test_missing_values_are_kept_out_only_where_they_average_less(low):
    rng = np.random.default_rng(0)
    x, other = rng.random(900), rng.random(900)
    missing = rng.random(900) < 0.2
    y = standardize((x > 0.5) - 2.0 * (low & missing) + 0.5 * rng.normal(size=900))
    columns = {"x": x, "other": np.where(missing, np.nan, other), "last": rng.random(900)}
    table = MemoryTable(columns, y)
    edge = next(edge for edge in table.levels[0].edges if edge > 0.49)
    box = Subgroup.from_sides({"x": Range(low=edge), "other": Range()})
    inside = table.shape.inside(box)
    inside[table.shape.offsets[2] - 1] = 0
    inside = recommend(table, y, SimpleNamespace(inside=[inside], best=lambda: 0))
    assert inside[table.shape.offsets[2] - 1] == (not low)


@pytest.mark.parametrize("min_rows", [1, 40, 500])
def test_no_group_has_fewer_rows_than_it_must_have(min_rows):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(500, 3)), rng.standard_cauchy(500)
    table = MemoryTable(X, y)
    assert find_subgroup(table, min_rows).n >= min_rows
    found = search_rows(table, standardize(y), min_rows)
    assert found.n.min() >= min_rows


@pytest.mark.parametrize("min_rows", [0, 11])
def test_a_number_of_rows_that_no_group_has_is_refused(min_rows):
    with pytest.raises(ValueError, match=f"from 1 to 10, got {min_rows}"):
        find_subgroup(MemoryTable(np.arange(10.0)[:, None], np.arange(10.0)), min_rows)


def test_a_target_that_is_constant_recommends_all_rows():
    group = find_subgroup(MemoryTable(np.arange(50.0)[:, None], np.ones(50)), 5)
    assert group.subgroup == Subgroup()


def test_asked_sides_know_what_moving_sides_count():
    X, y, _ = planted(n=500)
    table = MemoryTable(X, y, n_bins=6)
    asked, sides = QueriedSides(Asked(table)), RowSides(table, standardize(y))
    for price in (0.1, 0.4):
        asked.ascend(price, 0.5, 20.0, 50)
        sides.begin(asked.box)
        assert asked.count == pytest.approx(sides.count)
        assert asked.total == pytest.approx(sides.total)
        # No side that moves on its own gains any more.
        assert sides.ascend(price, 0.5, 20.0, 50) == 0


def test_differences_within_the_error_of_blocks_do_not_decide():
    n_blocks, chosen = 40, {Asked: 0, FromBlocks: 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        # Rows of a block have the same site and an average of their own; x tells nothing.
        site, x = np.repeat(rng.random(n_blocks), 50), rng.random(50 * n_blocks)
        y = np.repeat(rng.normal(size=n_blocks), 50) + rng.normal(size=50 * n_blocks)
        table = MemoryTable(np.column_stack([site, x]), y, n_bins=8)
        for wrapped in (Asked(table), FromBlocks(table, y)):
            sides = QueriedSides(wrapped)
            trajectory = peel(sides, 100, step=0.3)
            inflation = 1.0
            if sides.inexact:
                inflation = sides.inflation(
                    wrapped.totals([sides.shape.subgroup(each) for each in trajectory.inside])
                )
            found = SubgroupPath.from_trajectories(
                [trajectory], sides.shape, table.n_rows, inflation
            )
            # With two ends, the average is 4.2 standard errors above that of the table.
            chosen[type(wrapped)] += found.most_evidence > 10.0
    assert chosen[Asked] == 10
    assert chosen[FromBlocks] <= 1


def test_one_step_asks_the_table_once():
    X, y, _ = planted()
    table = Asked(MemoryTable(X, y))
    group = find_subgroup(table, 150)
    assert len(table.asked) == group.n_asked <= 60
    assert max(len(boxes) for boxes in table.asked) <= 5


def test_ends_of_boxes_are_counted():
    rng = np.random.default_rng(4)
    columns = {
        "a": np.where(rng.random(100) < 0.5, np.nan, rng.random(100)),
        "b": rng.choice(list("xyz"), 100).astype(object),
    }
    shape = MemoryTable(columns, rng.random(100), n_bins=4).shape
    boxes = np.ones((4, len(shape.everything)), dtype=np.uint8)
    boxes[1, 0] = 0  # an end of a
    boxes[2, [0, 3, 4]] = 0  # both, and missing values
    boxes[3, 6] = 0  # one of three categories
    np.testing.assert_allclose(count_ends(boxes, shape), [0, 1, 3, 1.3])


def test_what_is_believed_of_an_average_is_what_its_ends_leave():
    shape = MemoryTable(np.arange(100.0)[:, None], np.arange(100.0)).shape
    inside = np.array([shape.everything, shape.everything])
    inside[1, :50] = 0
    n, mean = np.array([100.0, 50.0]), np.array([0.0, 0.8])
    trajectory = PeelingTrajectory(n, mean, np.ones(2), inside)
    found = SubgroupPath.from_trajectories([trajectory], shape, 100)
    # 0.8 squared, times 50 rows, over one half of the table; less one end.
    np.testing.assert_allclose(found.evidence(), [0.0, 64.0 - 4.0])
    np.testing.assert_allclose(found.shrunken_mean(), [0.0, 0.8 * 60 / 64])
    # An end costs less if features explain much of the variance.
    np.testing.assert_allclose(found.shrunken_mean(0.1), [0.0, 0.8 * 63.6 / 64])
    assert found.best() == found.best(0.1) == 1


def test_a_box_of_larger_scatter_has_less_evidence():
    shape = MemoryTable(np.arange(100.0)[:, None], np.arange(100.0)).shape
    inside = np.array([shape.everything] * 3)
    inside[1:, :50] = 0
    n, mean = np.array([100.0, 50.0, 50.0]), np.array([0.0, 0.8, 0.8])
    trajectory = PeelingTrajectory(n, mean, np.array([1.0, 0.5, 4.0]), inside)
    found = SubgroupPath.from_trajectories([trajectory], shape, 100)
    np.testing.assert_allclose(found.squared, [0.0, 64.0, 64.0 / 4.0])


@pytest.mark.parametrize("seed", range(3))
def test_the_variance_of_a_box_is_that_of_its_rows(seed):
    rng = np.random.default_rng(seed)
    table, target = MemoryTable(rng.random((80, 2)), rng.random(80)), standardize(rng.random(80))
    sides = RowSides(table, target)
    for _ in range(5):
        sides.begin((rng.random(len(table.shape.everything)) < 0.8).astype(np.uint8))
        if len(rows := sides.members):
            assert sides.variance == pytest.approx(target[rows].var())
    # The average of two values decides their variance.
    assert RowSides(table, standardize(target > 0.3)).variance == 1.0


def test_a_box_may_begin_where_no_level_does_once_it_is_only_counted():
    table = MemoryTable({"x": [1.0, 2.0, 3.0]}, [1, 2, 3])
    assert table.totals([Subgroup.from_sides({"x": Range(1.2, None)})]).n.tolist() == [2]


@pytest.mark.parametrize("max_calls", [1, 2, 5])
def test_a_table_is_not_asked_more_often_than_allowed(max_calls):
    X, y, _ = planted()
    table = Asked(MemoryTable(X, y))
    group = find_subgroup(table, 150, max_calls=max_calls)
    assert len(table.asked) == group.n_asked <= max_calls
    assert group.n >= 150


def test_other_groups_are_told_as_well():
    X, y, _ = planted()
    table = MemoryTable(X, y)
    group = find_subgroup(table, 150)
    assert 1 <= len(group.others) <= 10
    assert group.subgroup not in group.others
    assert len(set(group.others)) == len(group.others)
    assert table.totals(group.others).n.min() >= 150


def test_boxes_and_levels_are_the_same_both_ways():
    columns = {
        "a": np.where(np.arange(60) % 7 == 0, np.nan, np.arange(60.0)),
        "b": np.array(list("xyz") * 20, dtype=object),
    }
    shape = MemoryTable(columns, np.arange(60.0), n_bins=8).shape
    inside = shape.everything
    inside[[0, 1, 8, 10]] = 0
    box = shape.subgroup(inside)
    np.testing.assert_array_equal(shape.inside(box), inside)
    with pytest.raises(ValueError, match="not a side of 'b', a category"):
        shape.inside(Subgroup.from_sides({"b": Range(1, 2)}))


@pytest.mark.parametrize("wrap", [lambda table: table, Asked])
def test_rows_whose_number_is_missing_may_be_the_group(wrap):
    rng = np.random.default_rng(0)
    missing = rng.random(2000) < 0.3
    columns = {"x": np.where(missing, np.nan, rng.random(2000)), "z": rng.random(2000)}
    table = MemoryTable(columns, 2.0 * missing + rng.normal(size=2000))
    group = find_subgroup(wrap(table), 100)
    assert group.n == table.rows(group.subgroup).sum() and group.mean > 1.8
    alone = Subgroup.from_sides({"x": Categories((), missing=True)})
    np.testing.assert_array_equal(table.rows(alone), missing)
    assert str(alone) == "x is missing"
    np.testing.assert_array_equal(table.shape.inside(alone)[:129], np.arange(129) == 128)


# -- the parts of a search, compared with masks of rows -------------------------------------------


def some_table(seed=0, n=400, n_bins=6):
    """A table with two numbers, one of them with missing values, and a category."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        "town": rng.choice(np.array([*"ABCD", None], dtype=object), n),
        "size": rng.lognormal(size=n),
    }
    y = rng.normal(size=n) + (columns["town"] == "B") + (columns["size"] > 1.5)
    return MemoryTable(columns, standardize(y), n_bins=n_bins)


def random_box(shape, rng):
    """Return a box whose numbers have runs of levels inside, and every feature some level."""
    inside = shape.everything
    for j, start in enumerate(shape.offsets[:-1]):
        stop = start + shape.n_values[j]
        if rng.random() < 0.3:
            continue
        if shape.ordered[j]:
            a, b = np.sort(rng.choice(stop - start + 1, 2, replace=False))
            inside[start:stop] = 0
            inside[start + a : start + b] = 1
        else:
            inside[start:stop] = rng.random(stop - start) < 0.6
            inside[rng.integers(start, stop)] = 1
        inside[stop : shape.offsets[j + 1]] = rng.random() < 0.5
    return inside


def rows_without(table, inside, left_out):
    """Return a mask of the rows inside all sides but those of some features, level by level."""
    rows = np.ones(table.n_rows, dtype=bool)
    for j, start in enumerate(table.shape.offsets[:-1]):
        if j not in left_out:
            rows &= inside[start + table.codes[:, j].astype(int)] == 1
    return rows


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("minimize", [False, True])
def test_marginals_are_sums_over_the_rows_inside_all_other_sides(seed, flat, minimize):
    table, rng = some_table(seed), np.random.default_rng([seed, 1])
    sign = -1.0 if minimize else 1.0
    shape, target = table.shape, sign * table.y
    asked, sides = QueriedSides(Asked(table), sign), RowSides(table, target)
    for _ in range(4):
        inside, other = random_box(shape, rng), random_box(shape, rng)
        values = np.where(rows_without(table, other, ()), 0.0, target) if flat else target
        counts, totals = np.zeros((2, len(inside)))
        for j, start in enumerate(shape.offsets[:-1]):
            rows = rows_without(table, inside, (j,))
            np.add.at(counts, start + table.codes[rows, j].astype(int), 1.0)
            np.add.at(totals, start + table.codes[rows, j].astype(int), values[rows])
        for each in (asked, sides):
            each.begin(inside.copy(), other if flat else None)
            np.testing.assert_allclose(each.marginals[0], counts)
            np.testing.assert_allclose(each.marginals[1], totals, atol=1e-9)
            rows = rows_without(table, inside, ())
            assert each.count == pytest.approx(rows.sum())
            assert each.total == pytest.approx(values[rows].sum(), abs=1e-9)
            np.testing.assert_array_equal(each.box, inside)
        np.testing.assert_array_equal(table.shape.holds(table.codes, inside), rows)


def test_errors_of_blocks_inflate_the_errors_of_sums():
    table = some_table()
    y = 3.0 + 2.0 * table.y
    blocks = FromBlocks(table.with_target(y), y)
    sides = QueriedSides(blocks)
    assert sides.inexact and not QueriedSides(Asked(table)).inexact
    inside = random_box(table.shape, np.random.default_rng(1))
    counts, _, errors = sides.ask(inside)
    box = table.shape.subgroup(inside)
    for j, levels in enumerate(table.levels):
        kept = box.without(levels.name)
        for i in range(levels.n_levels):
            alone = levels.side(np.arange(levels.n_levels) == i)
            moments = blocks.totals([Subgroup((*kept.conditions, (levels.name, alone)))])
            n = moments.n[0]
            # Sums are in standard deviations of the target, which is 2.
            expected = n * max(n * moments.noise[0] / 4.0, 1.0)
            k = table.shape.offsets[j] + i
            assert counts[k] == n and errors[k] == pytest.approx(expected)


@pytest.mark.parametrize(("seed", "n"), [(0, 400), (1, 400), (2, 400), (3, 40), (4, 12)])
def test_a_box_loses_the_ends_beyond_which_rows_average_about_as_much(seed, n):
    """In small tables there are no rows beyond some ends."""
    table, rng = some_table(seed, n=n), np.random.default_rng([seed, 2])
    shape, sides = table.shape, RowSides(table, table.y)

    def gaps(inside):
        """Yield the levels beyond each end, and by how many errors rows there average less."""
        mean = table.y[rows_without(table, inside, ())].mean()
        for j, (start, n) in enumerate(zip(shape.offsets, shape.n_values, strict=False)):
            among = np.flatnonzero(inside[start : start + n])
            ends = []
            if shape.ordered[j] and len(among):
                ends = [range(among[0]), range(among[-1] + 1, n)]
            if shape.offsets[j + 1] > start + n and not inside[start + n]:
                ends.append([n])
            for levels in ends:
                if len(levels):
                    rows = rows_without(table, inside, (j,)) & np.isin(table.codes[:, j], levels)
                    n_out = rows.sum()
                    less = (mean - table.y[rows].mean()) * np.sqrt(n_out) if n_out else -np.inf
                    yield start + np.array(levels), less

    for _ in range(6):
        inside = random_box(shape, rng)
        if not rows_without(table, inside, ()).any():
            continue
        expected = inside.copy()
        while True:
            beyond = list(gaps(expected))
            np.testing.assert_equal(
                [each.tolist() for each in _beyond(expected, shape)],
                [each.tolist() for each, _ in beyond],
            )
            worst = min(beyond, key=lambda each: each[1], default=(None, np.inf))
            if worst[1] >= ERRORS_OF_END:
                break
            expected[worst[0]] = 1
        np.testing.assert_array_equal(simplify_box(inside, shape, sides.ask), expected)


@pytest.mark.parametrize("seed", range(3))
def test_thresholds_rise_with_the_average_and_boxes_shrink(seed):
    table = some_table(seed, n=2000, n_bins=20)
    sides = RowSides(table, table.y)
    step, least, start = 0.15, 60, 0.05
    found = peel(sides, least, threshold=start, step=step)
    assert (np.diff(found.n) <= 0).all() and found.n.min() >= least
    threshold = start
    for i, (n, mean, inside) in enumerate(zip(found.n, found.mean, found.inside, strict=True)):
        rows = rows_without(table, inside, ())
        assert n == rows.sum() and mean == pytest.approx(table.y[rows].mean())
        higher = max(threshold + LEAST_STEP, threshold + step * (mean - threshold))
        is_last = n < MIN_ROWS_MARGIN * least or higher >= mean
        assert is_last == (i == len(found.n) - 1)
        threshold = threshold if is_last else higher
    assert found.threshold == pytest.approx(threshold)
    for most in (found.n[0], found.n[1], found.n[1] - 1, found.n[-1], 0):
        fitting = np.flatnonzero(found.n <= most)
        index = fitting[0] if len(fitting) else -1
        np.testing.assert_array_equal(found.largest_box(most), found.inside[index])


@pytest.mark.parametrize("noise", [1.0, 0.3])
def test_evidence_is_the_squared_distance_less_the_cost_of_ends(noise):
    rng, table = np.random.default_rng(0), some_table()
    inside = np.array([table.shape.everything, *(random_box(table.shape, rng) for _ in range(30))])
    rows = [rows_without(table, each, ()) for each in inside]
    n = np.array([each.sum() for each in rows], dtype=float)
    inside, n = inside[n > 0], n[n > 0]
    mean, variance = rng.normal(scale=0.5, size=len(n)), rng.uniform(0.2, 3.0, len(n))
    mean[0] = 0.0
    inflation = rng.uniform(1.0, 3.0, len(n))
    parts = [slice(0, 7), slice(7, None)]
    trajectories = [
        PeelingTrajectory(n[part], mean[part], variance[part], inside[part]) for part in parts
    ]
    found = SubgroupPath.from_trajectories(trajectories, table.shape, table.n_rows, inflation)
    evidence, shrunken = found.evidence(noise), found.shrunken_mean(noise)
    for i, ends in enumerate(count_ends(inside, table.shape)):
        if n[i] == table.n_rows:
            assert evidence[i] == shrunken[i] == 0.0
            continue
        rest = (1.0 - n[i] / table.n_rows) * max(variance[i], inflation[i])
        squared = max(mean[i], 0.0) ** 2 * n[i] / rest
        assert evidence[i] == pytest.approx(squared - noise * COST_OF_END * ends)
        share = np.clip(evidence[i] / squared, 0.0, 1.0) if squared else 0.0
        assert shrunken[i] == pytest.approx(mean[i] * share)
    assert found.most_evidence == found.evidence().max()
    assert found.best(noise) == (shrunken if shrunken.max() > 0 else evidence).argmax()
    best, shrunken = found.best(), found.shrunken_mean()
    for tolerance in (0.0, 0.5, 1.0, 4.0):
        least = shrunken[best] - tolerance / np.sqrt(n[best])
        fitting = (shrunken >= max(least, 0.0)) & (found.evidence() > 0.0)
        assert n[found.largest(tolerance)] == max(n[fitting].max(initial=0.0), n[best])


@pytest.mark.parametrize("seed", range(3))
def test_levels_are_put_into_bins_of_about_as_many_rows(seed):
    table = some_table(seed, n=3000, n_bins=40)
    for j, levels in enumerate(table.levels):
        n = np.bincount(table.codes[:, j], minlength=levels.n_levels)
        totals = np.bincount(table.codes[:, j], table.y, levels.n_levels)
        bins = _coarse(n, totals, levels)
        assert bins.max() < COARSE and bins.min() == 0
        if levels.kind == "number":
            assert (np.diff(bins[: levels.n_values].astype(int)) >= 0).all()
            assert np.ptp(np.bincount(bins, n)[:6]) <= 2 * n.max()
        else:
            mean = totals[: levels.n_values] / n[: levels.n_values]
            order = np.argsort(mean)
            assert (np.diff(bins[order].astype(int)) >= 0).all()
        if levels.missing:
            assert bins[-1] == bins.max()
        n[-1] = 0  # in the last bin
        assert _coarse(n, totals, levels).max() == COARSE - 1


@pytest.mark.parametrize("most", [1, 2, 3])
def test_features_are_paired_whose_bins_explain_most_of_the_variance(most):
    rng = np.random.default_rng(most)
    X = rng.random((500, 5))
    strength = rng.permutation([3.0, 2.0, 1.0, 0.0, 0.0])
    table = MemoryTable(X, X @ strength + rng.normal(size=500), n_bins=20)
    y, codes = standardize(table.y), table.codes
    shape = table.shape
    counts, totals = np.zeros((2, shape.offsets[-1]))
    for j, start in enumerate(shape.offsets[:-1]):
        np.add.at(counts, start + codes[:, j].astype(int), 1.0)
        np.add.at(totals, start + codes[:, j].astype(int), y)
    bins, some = _coarse_features(shape, counts, totals, most)
    explained = []
    for j, each in enumerate(bins):
        rows = each[codes[:, j]]
        explained.append(sum((rows == k).sum() * y[rows == k].mean() ** 2 for k in set(rows)))
    assert some.tolist() == sorted(np.argsort(explained)[-most:].tolist())
    assert some.tolist() == sorted(np.argsort(strength)[-most:].tolist())
    assert _coarse_features(shape, counts, totals, 5)[1].tolist() == [0, 1, 2, 3, 4]


def test_a_box_is_empty_without_a_level_of_some_feature():
    shape = some_table().shape
    for j, (start, stop) in enumerate(itertools.pairwise(shape.offsets)):
        inside = shape.everything
        inside[start : stop - 1] = 0
        assert not shape.is_empty(inside)
        inside[stop - 1] = 0
        assert shape.is_empty(inside)
        if shape.levels[j].kind == "number":
            n = shape.levels[j].n_values
            for ends in ((-1, 2), (0, n + 1), (2, 2), (3, 1)):
                with pytest.raises(ValueError, match=f"start < stop <= {n}, got {ends[0]}, "):
                    shape.levels[j].interval(*ends)
            assert shape.levels[j].interval(0, n) == Range(None, None, "left")


@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_range_holds_its_ends_if_they_belong_to_it(closed, missing):
    values = np.array([-np.inf, 1.0, 1.5, 2.0, 2.5, 3.0, np.nan])
    for low, high in ((None, None), (1.5, None), (None, 2.5), (1.5, 2.5), (2.0, 2.0)):
        expected = [
            missing
            if np.isnan(x)
            else (low is None or x > low or (x == low and closed in ("left", "both")))
            and (high is None or x < high or (x == high and closed in ("right", "both")))
            for x in values
        ]
        assert Range(low, high, closed, missing).holds(values).tolist() == expected


@pytest.mark.parametrize("seed", range(4))
def test_the_best_boxes_over_two_features_are_found_by_rows_and_by_questions(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((4000, 4))
    y = standardize(2.0 * ((X[:, 1] > 0.7) & (X[:, 3] < 0.35)) + rng.normal(size=4000))
    table = MemoryTable(X, y, n_bins=COARSE)
    rows, asked = RowSides(table, y), QueriedSides(Asked(table))
    asked.table.asked.clear()
    by_rows, by_asking = _pairs(rows, 100), _asked_pairs(asked, 100)
    assert len(by_asking) == BEST_PAIRS_ASKED == len(by_rows[:BEST_PAIRS_ASKED])
    for one, other in zip(by_rows, by_asking, strict=False):
        np.testing.assert_array_equal(one, other)
    assert len(asked.table.asked) == 3  # once for each feature but one
    best = table.shape.subgroup(by_rows[0])
    assert set(best) == {"x1", "x3"}
    assert best["x1"].low == pytest.approx(0.75, abs=0.13) and best["x1"].high is None
    assert best["x3"].high == pytest.approx(0.37, abs=0.13) and best["x3"].low is None
    for box in by_rows:
        inside = rows_without(table, box, ())
        assert inside.sum() >= 100 and y[inside].mean() > 0.0


@pytest.mark.parametrize("kind", ["number", "category"])
@pytest.mark.parametrize("missing", [False, True])
def test_sides_and_levels_are_the_same_both_ways(kind, missing):
    labels = {"edges": (1, 3, 4)} if kind == "number" else {"labels": ("b", "a", "d", "c")}
    levels = Levels("x", kind, **labels, missing=missing)
    assert (levels.n_values, levels.n_levels) == (4, 4 + missing)
    for number in range(1, 2**levels.n_levels):
        inside = np.array([bool(number >> i & 1) for i in range(levels.n_levels)])
        among = np.flatnonzero(inside[:4])
        if kind == "number" and len(among) and among[-1] - among[0] >= len(among):
            continue  # levels of a number are neighbours
        side = levels.side(inside)
        if inside.all():
            assert side is None
            continue
        if kind == "category" or len(among):
            np.testing.assert_array_equal(levels.inside(side), inside)
        assert side.missing == (missing and inside[-1])
        values = (
            np.array([0.0, 1.0, 3.0, 9.0])
            if kind == "number"
            else np.array(["b", "a", "d", "c"], dtype=object)
        )
        np.testing.assert_array_equal(side.holds(values), inside[:4])
    with pytest.raises(ValueError, match="start and stop must be"):
        Levels("x", "number", edges=(1, 2)).interval(1, 4)


def test_the_whole_table_is_no_group_that_is_as_good():
    shape = MemoryTable(np.arange(100.0)[:, None], np.arange(100.0)).shape
    inside = np.array([shape.everything] * 3)
    inside[1, :50], inside[2, :90] = 0, 0
    # Half of the table is evidence of 16 - 4, or of 2.25 - 4.
    for mean, expected in ((0.4, 1), (0.15, 2)):
        n, means = np.array([100.0, 50.0, 10.0]), np.array([0.0, mean, 0.9])
        trajectory = PeelingTrajectory(n, means, np.ones(3), inside)
        found = SubgroupPath.from_trajectories([trajectory], shape, 100)
        assert found.best() == 2 and found.evidence()[0] == 0.0
        assert [found.largest(tolerance) for tolerance in (4.0, 9.0)] == [expected] * 2


@pytest.mark.parametrize("features", [[2, 0], [1], [0, 1, 2]])
def test_a_table_of_some_features_or_rows_answers_as_the_whole_does(features):
    table = some_table()
    some = table.only(features)
    assert [levels.name for levels in some.levels] == [table.levels[j].name for j in features]
    rows_kept = np.flatnonzero(np.random.default_rng(0).random(table.n_rows) < 0.5)
    rng = np.random.default_rng(1)
    for _ in range(5):
        box = some.shape.subgroup(random_box(some.shape, rng))
        (found,), (expected,) = some.marginals([box]), table.marginals([box])
        assert list(found) == [some.levels[i].name for i in range(len(features))]
        for name, moments in found.items():
            for each in ("n", "mean", "variance"):
                np.testing.assert_allclose(getattr(moments, each), getattr(expected[name], each))
        np.testing.assert_array_equal(some.rows(box), table.rows(box))
        part = table.part(rows_kept)
        assert part.totals([box]).n[0] == table.rows(box)[rows_kept].sum()
        np.testing.assert_array_equal(part.codes, table.codes[rows_kept])
        assert part.levels is table.levels
    other = table.with_target(2.0 * table.y + 1.0)
    np.testing.assert_allclose(other.totals([Subgroup()]).mean, 2.0 * table.y.mean() + 1.0)
    (moments,) = other.marginals([Subgroup()], [["size"]])
    (before,) = table.marginals([Subgroup()], [["size"]])
    np.testing.assert_allclose(moments["size"].mean, 2.0 * before["size"].mean + 1.0)
    np.testing.assert_allclose(moments["size"].variance, 4.0 * before["size"].variance)


@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_condition_that_is_written_holds_for_the_same_rows(closed, missing):
    """Read as the option ``--where`` of the shell reads it."""
    numbers = np.array([1.0, 1.5, 2.0, 2.5, 3.0, np.nan])
    texts = np.array(["A", "it's", "B, C", None, "A", "b"], dtype=object)
    labels = [each for each in dict.fromkeys(texts) if each is not None]
    codes = np.array([np.nan if each is None else labels.index(each) for each in texts])
    columns = {
        "x": Column("x", "numbers", numbers),
        "town": Column("town", "texts", codes, tuple(labels)),
    }
    sides = [
        ("x", Range(low, high, closed, missing), numbers)
        for low, high in ((1.5, None), (None, 2.5), (1.5, 2.5), (2.0, 2.0), (None, None))
    ]
    sides += [
        ("town", Categories(among, missing), texts)
        for among in ((), ("A",), ("A", "it's"), ("B, C", "b"))
        if among or missing
    ]
    for name, side, values in sides:
        text = side.where(name)
        rows = Condition(text).rows(columns) if text else np.ones(6, dtype=bool)
        assert rows.tolist() == side.holds(values).tolist(), text
        assert str(Subgroup(((name, side),))) == (text or "all rows")
    assert Range(2, 2, "both").where("x") == "x = 2"
    assert Range(None, 0.5, "right", True).where("x", null="NULL") == "(x <= 0.5 or x is NULL)"
    assert [format_literal(each) for each in (True, False, 2.0, 2.5, "it's")] == [
        *("true", "false", "2", "2.5", "'it''s'")
    ]

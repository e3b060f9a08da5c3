"""Results of a search, and equal questions to every kind of table."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from skgpb.lab.tables import MemoryTable, find_subgroup
from skgpb.lab.tables.conditions import Categories, Range, Subgroup
from skgpb.lab.tables.search import (
    PeelingTrajectory,
    QueriedSides,
    RowSides,
    SubgroupPath,
    count_ends,
    peel,
    recommend,
    search_rows,
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
                sides = [levels.subgroup(i, i + 1)[name] for i in range(levels.n_levels)]
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
            table, y, SimpleNamespace(inside=[table.shape.inside(box)], best=lambda _: 0)
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
    inside = recommend(table, y, SimpleNamespace(inside=[inside], best=lambda _: 0))
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

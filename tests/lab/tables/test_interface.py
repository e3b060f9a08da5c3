"""Boxes, levels and the answers of a table in memory, against masks of rows."""

from __future__ import annotations

import pickle
from decimal import ROUND_FLOOR, Decimal, localcontext

import numpy as np
import pytest

from skgpb.lab.tables import Levels, MemoryTable
from skgpb.lab.tables.conditions import Categories, Range, Subgroup
from skgpb.lab.tables.memory import shortest


def some_table(seed=0, n=300):
    rng = np.random.default_rng(seed)
    columns = {
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(1)),
        "town": rng.choice(np.array(["A", "B", "C", None], dtype=object), n),
        "size": rng.integers(0, 5, n),
    }
    return columns, rng.normal(1e6, 1.0, n)


def mask_of(box, columns):
    """Rows of a box, from the definition of its sides."""
    n = len(next(iter(columns.values())))
    inside = np.ones(n, dtype=bool)
    for name in box:
        side = box[name]
        for i, value in enumerate(columns[name]):
            if value is None or value != value:
                good = side.missing
            elif isinstance(side, Categories):
                good = value in side.among
            else:
                good = (side.low is None or value >= side.low) and (
                    side.high is None or value < side.high
                )
            inside[i] &= good
    return inside


def boxes_of(table, seed=0, n_boxes=20):
    rng = np.random.default_rng(seed)
    for _ in range(n_boxes):
        sides = {}
        for levels in table.levels:
            if rng.random() < 0.6:
                inside = np.zeros(levels.n_levels, dtype=bool)
                if levels.kind == "number":
                    start, stop = np.sort(rng.choice(levels.n_values + 1, 2, replace=False))
                    inside[start:stop] = True
                else:
                    inside[: levels.n_values] = rng.random(levels.n_values) < 0.6
                if levels.missing:
                    inside[-1] = rng.random() < 0.5
                side = levels.side(inside)
                if side is not None:
                    sides[levels.name] = side
        yield Subgroup.from_sides(sides)


@pytest.mark.parametrize("n_bins", [8, 128])
def test_a_table_in_memory_answers_as_masks_of_its_rows_do(n_bins):
    columns, y = some_table()
    table = MemoryTable(columns, y, n_bins)
    boxes = list(boxes_of(table))
    totals, marginals = table.totals(boxes), table.marginals(boxes)
    for i, box in enumerate(boxes):
        inside = mask_of(box, columns)
        np.testing.assert_array_equal(table.rows(box), inside)
        assert totals.n[i] == inside.sum()
        if inside.any():
            assert totals.mean[i] == pytest.approx(y[inside].mean(), rel=1e-13)
            assert totals.variance[i] == pytest.approx(y[inside].var(), abs=1e-9)
        for levels in table.levels:
            found = marginals[i][levels.name]
            for level in range(levels.n_levels):
                alone = np.arange(levels.n_levels) == level
                both = inside & mask_of(Subgroup(((levels.name, levels.side(alone)),)), columns)
                assert found.n[level] == both.sum()
                assert found.mean[level] == pytest.approx(y[both].mean() if both.any() else 0.0)
                spread = y[both].var() if both.any() else 0.0
                assert found.variance[level] == pytest.approx(spread, abs=1e-9)


def test_only_what_is_asked_for_is_answered():
    table = MemoryTable(*some_table())
    answers = table.marginals([Subgroup(), Subgroup()], [["age"], ["town", "size"]])
    assert [list(answer) for answer in answers] == [["age"], ["town", "size"]]


def test_bins_have_about_as_many_rows_each():
    x = np.random.default_rng(0).lognormal(size=10_000)
    table = MemoryTable({"x": x}, x, n_bins=100)
    assert table.levels[0].n_levels == 100
    n = table.marginals([Subgroup()])[0]["x"].n
    assert n.min() >= 99
    assert n.max() <= 101


def test_a_value_that_is_frequent_has_a_level_of_its_own():
    x = np.r_[np.zeros(900), np.arange(1, 1001)]
    table = MemoryTable({"x": x}, x, n_bins=16)
    assert 900 in table.marginals([Subgroup()])[0]["x"].n


def test_boxes_are_values():
    box = Subgroup.from_sides({"a": Range(1, None), "b": Categories(("x",), missing=True)})
    again = pickle.loads(pickle.dumps(box))
    assert again == box
    assert hash(again) == hash(box)
    assert "a" in box and "c" not in box
    assert box.where(null="NULL") == "a >= 1 and (b = 'x' or b is NULL)"
    assert str(Subgroup()) == "all rows"


@pytest.mark.parametrize(
    ("side", "text"),
    [
        (Range(), "x is not missing"),
        (Range(missing=True), ""),
        (Range(0.5, None, "neither"), "x > 0.5"),
        (Range(None, 2.0, "both", True), "(x <= 2 or x is missing)"),
        (Categories(("it's",)), "x = 'it''s'"),
        (Categories((), True), "x is missing"),
    ],
)
def test_sides_are_written_as_conditions(side, text):
    assert side.where("x") == text


def test_what_is_no_side_is_refused():
    with pytest.raises(ValueError, match=r"low must be at most high, got 2 and 1"):
        Range(2, 1)
    with pytest.raises(ValueError, match="closed must be one of left"):
        Range(1, 2, "up")
    with pytest.raises(ValueError, match="twice"):
        Categories(("a", "a"))
    with pytest.raises(ValueError, match="twice"):
        Subgroup((("a", Range()), ("a", Range())))
    with pytest.raises(ValueError, match="start and stop"):
        Levels("a", "number", edges=(1,)).interval(1, 1)
    with pytest.raises(ValueError, match=r"column 'x' has the shape \(2,\), y has \(3,\)"):
        MemoryTable({"x": [1.0, 2.0]}, [1, 2, 3])
    with pytest.raises(ValueError, match="y must be finite"):
        MemoryTable({"x": [1.0, 2.0]}, [1, np.inf])


@pytest.mark.parametrize(
    "values", [[-1.7e308, 1.7e308], [5e-324, 0.0], [-np.inf, 0.0], [1, np.inf]]
)
def test_an_edge_is_above_one_value_and_at_most_the_next(values):
    low, high = sorted(values)
    (edge,) = MemoryTable({"x": values}, [1.0, 2.0]).levels[0].edges
    assert low < edge <= high


def digits_of(number):
    return len(Decimal(number).normalize().as_tuple().digits) if number else 1


@pytest.mark.parametrize("scale", [1e-9, 0.01, 1.0, 300.0, 1e12])
def test_the_end_with_fewest_digits_keeps_out_what_is_below(scale):
    rng = np.random.default_rng(0)
    for width in (1.0, 0.1, 1e-3, 1e-9):
        for low in [0.0, *(rng.normal(size=20) * scale).tolist(), 10.0 * scale, -10.0 * scale]:
            below = low - width * scale * rng.random()
            found = shortest(below, low)
            assert below < found <= low
            written = Decimal(repr(found))
            with localcontext(prec=digits_of(written) - 1 or 1, rounding=ROUND_FLOOR):
                shorter = +Decimal(low)
            assert digits_of(written) == 1 or shorter <= Decimal(below)
    assert shortest(0.3, 0.1 + 0.2) == 0.1 + 0.2  # sixteen digits would be 0.3


def test_a_column_has_at_most_so_many_categories(monkeypatch):
    monkeypatch.setattr("skgpb.lab.tables.memory.MOST_LABELS", 4)
    for n in (3, 4):
        column = np.array([*map(str, range(n))] * 10, dtype=object)
        if n < 4:
            assert MemoryTable({"t": column}, np.arange(10.0 * n)).levels[0].n_values == 3
        else:
            with pytest.raises(ValueError, match="column 't' has 4 categories, at most 4"):
                MemoryTable({"t": column}, np.arange(10.0 * n))

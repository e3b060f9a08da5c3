"""The language of --where: what it selects, and that nothing else can be said in it."""

from datetime import date, datetime

import numpy as np
import pytest
from columns import COLUMNS, NAN

from skgpb.lab.cli.features import (
    FeatureLimits,
    box_limits,
    describe_group,
    describe_side,
    side_limits,
)
from skgpb.lab.cli.where import Condition, quote_column
from skgpb.lab.cli.words import chances, count, digits_apart, number, percent, shell_quote
from skgpb.lab.datasets.columns import Column, Unreadable
from skgpb.lab.tables.conditions import Categories, Range, Subgroup


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("age >= 20", [1, 2]),
        ("age > 20", [2]),
        ("20 <= age", [1, 2]),
        ("10 < age <= 30", [1, 2]),
        ("age = 10 or age == 30", [0, 2]),
        ("age != 10", [1, 2]),  # a missing value is not different
        ("age <> 10 and not age = 20", [2]),
        ("not (age = 10)", [1, 2]),
        ("not not age = 10", [0]),
        ("age = 10 or age = 20 and age = 30", [0]),
        ("(age = 10 or age = 20) and age < 30", [0, 1]),
        ("age in (10, 30)", [0, 2]),
        ("age not in (10, 30)", [1]),
        ("age is missing", [3]),
        ("age IS NOT missing", [0, 1, 2]),
        ("age is missing or town is missing", [2, 3]),
        ("[net income] > age", [0]),
        ("`net income` <= 10", [2, 3]),
        ("[in] = true", [0, 2]),
        ("age > -1.5e1", [0, 1, 2]),
        ("town = 'Bonn'", [0]),
        ("town in (\"Bonn\", 'Jena''s')", [0, 3]),
        ("town > 'C'", [1, 3]),
        ("town = 'nowhere'", []),
        ("town = home", [0, 1]),
        ("town < home", [3]),
        ("day < '1970-02-28'", [0, 1]),
        ("day = '1970-03-01'", [2]),
    ],
)
def test_rows_that_are_selected(text, rows):
    condition = Condition(text)
    assert set(condition.columns) <= set(COLUMNS)
    assert np.flatnonzero(condition.rows(COLUMNS)).tolist() == rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a column, a number or a text between quotes, found the end"),
        ("age", "expected a comparison such as >= or in, found the end"),
        ("age >", "found the end"),
        ("age > 1 age", "expected and, or, or the end, found 'age' at letter 9"),
        ("(age > 1", "expected and, or, or a closing bracket, found the end"),
        ("age in (home)", "expected a number or a text between quotes, found 'home'"),
        ("age in ()", "found ')'"),
        ("age is big", "expected a comparison such as >= or in, found 'is' at letter 5"),
        ("age > 'ten'", "'age', which holds numbers, with 'ten'"),
        ("town > 3", "'town', which holds texts such as 'Bonn', with a number: put it"),
        ("day > 3", "'day', which holds dates, with 3.0: write '2024-01-31'"),
        ("age = town", "compares 'age' and 'town', which are numbers and texts"),
        ("1 < 2", "a comparison needs a column"),
        ("age > 1; import os", "expected and, or, or the end, found ';' at letter 8"),
        ("__import__('os').system('true') = 1", "found '(' at letter 11"),
        ("age.real > 1", "found '.real' at letter 4"),
        ("age > 'open", 'between quotes, found "\'" at letter 7'),
        ("age ** 9 > 1", "found '*' at letter 5"),
        ("(" * (Condition.deepest + 1) + "age = 1", "brackets or nots within each other"),
        ("not " * 10_000 + "age = 1", "brackets or nots within each other"),
    ],
)
def test_what_is_no_condition(text, says):
    with pytest.raises(ValueError, match="--where") as error:
        Condition(text).rows(COLUMNS)
    assert says in str(error.value)


# -- random conditions, and the texts that the commands write -------------------------------------


def random_condition(rng, depth=0):
    """Return a condition as text, and a function that tells True, False or None of a row."""
    kind = rng.integers(9 if depth < 3 else 5)
    numbers, texts = ["age", "net income"], ["town", "home"]
    signs = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
    if kind == 0:
        name, sign = rng.choice(numbers), rng.choice(list(signs))
        value = float(rng.choice([5, 10, 15, 20, 30]))
        return f"{quote_column(name)} {sign} {value:g}", compared(name, signs[sign], value)
    if kind == 1:
        name, sign = rng.choice(texts), rng.choice(list(signs))
        value = str(rng.choice(["Bonn", "Jena's", "Köln", "Ulm"]))
        quoted = value.replace("'", "''")
        return f"{name} {sign} '{quoted}'", compared(name, signs[sign], value)
    if kind == 2:
        name, negated = rng.choice(numbers), rng.random() < 0.5
        some = rng.choice([5.0, 10.0, 20.0, 30.0], 2, replace=False).tolist()
        text = f"{quote_column(name)} {'not ' * negated}in ({some[0]:g}, {some[1]:g})"

        def among(row, name=name, some=some, negated=negated):
            return None if row[name] is None else (row[name] in some) != negated

        return text, among
    if kind == 3:
        name, negated = rng.choice([*numbers, *texts, "day"]), rng.random() < 0.5
        text = f"{quote_column(name)} is {'not ' * negated}missing"
        return text, lambda row, name=name, negated=negated: (row[name] is None) != negated
    if kind == 4:
        value = int(rng.choice([0, 10, 31, 59]))
        day = str(np.datetime64("1970-01-01") + value)
        return f"day <= '{day}'", compared("day", 3, float(value))
    if kind == 5:
        text, inner = random_condition(rng, depth + 1)

        def negated(row):
            truth = inner(row)
            return None if truth is None else not truth

        return f"not ({text})", negated
    parts = [random_condition(rng, depth + 1) for _ in range(rng.integers(2, 4))]
    word = "and" if kind < 7 else "or"

    def combined(row):
        truths = [part(row) for _, part in parts]
        decisive = word == "or"
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive

    return f" {word} ".join(f"({text})" for text, _ in parts), combined


def compared(name, sign, value):
    def tell(row):
        own = row[name]
        if own is None:
            return None
        return [own == value, own != value, own < value, own <= value, own > value, own >= value][
            sign
        ]

    return tell


def rows_of(columns):
    def cell(column, value):
        if np.isnan(value):
            return None
        return column.labels[int(value)] if column.kind == "texts" else float(value)

    n = len(next(iter(columns.values())).values)
    return [{k: cell(c, c.values[i]) for k, c in columns.items()} for i in range(n)]


@pytest.mark.parametrize("seed", range(60))
def test_a_condition_selects_the_rows_of_which_it_is_true(seed):
    text, tell = random_condition(np.random.default_rng(seed))
    expected = [tell(row) is True for row in rows_of(COLUMNS)]
    assert Condition(text).rows(COLUMNS).tolist() == expected, text
    refused = [tell(row) is False for row in rows_of(COLUMNS)]
    assert Condition(f"not ({text})").rows(COLUMNS).tolist() == refused


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("x = 'odd'", [2]),
        ("x != 'odd'", [0, 3, 4]),
        ("not x = 'odd'", [0, 3, 4]),
        ("not x != 'odd'", [2]),
        ("x = 'none'", []),
        ("x <> 'none'", [0, 2, 3, 4]),
        ("x in ('odd', 'even')", [2, 3]),
        ("x not in ('odd', 'even')", [0, 4]),
        ("x in (5, 'even')", [3, 4]),
        ("x < 5", [0]),
        ("not x < 5", [4]),
        ("x is missing", [1, 2, 3]),
    ],
)
@pytest.mark.parametrize("kind", ["numbers", "dates"])
def test_cells_that_cannot_be_read_are_compared_as_texts(text, rows, kind):
    values = np.array([3.0, NAN, NAN, NAN, 5.0])
    odd = {2: Unreadable("odd", "no number"), 3: Unreadable("even", "no number")}
    column = Column("x", kind, values, unreadable=odd)
    if kind == "dates":
        text = text.replace("5", "'1970-01-06'")
    assert np.flatnonzero(Condition(text).rows({"x": column})).tolist() == rows
    other = Column("x", kind, values)
    with pytest.raises(ValueError, match="with 'odd'"):
        Condition("x = 'odd'").rows({"x": other})
    with pytest.raises(ValueError, match="with 'odd'"):
        Condition("x < 'odd'").rows({"x": column})


@pytest.mark.parametrize("missing", [False, True])
def test_ranges_of_categories_with_an_order_are_said_as_categories(missing):
    shop = Column("shop", "texts", np.array([0.0, 1, 2, 3, NAN]), tuple("abcd"))
    box = Subgroup((("age", Range(20.0, None)), ("shop", Range(1.0, 3.0, "left", missing))))
    for order, names in (((), ["age", "shop"]), (["shop", "town", "age"], ["shop", "age"])):
        limits = box_limits([shop, COLUMNS["age"]], box, order, ["shop"])
        assert [limit.column.name for limit in limits] == names
        side = limits[names.index("shop")]
        assert (side.among, side.missing) == (("b", "c"), missing)
        assert (limits[names.index("age")].low, limits[names.index("age")].among) == (20.0, None)
    box = Subgroup((("shop", Categories(("a", "d"), missing)),))
    for neighbours in ((), ["shop"]):
        (side,) = box_limits([shop], box, neighbours=neighbours)
        assert side.among == ("a", "d")
    assert describe_group([side]) == f"shop a, d{', or missing' * missing}"


NUMBERS = Column("hours worked", "numbers", np.array([4.0, 2.5, NAN, 7.0, 8.0, 7.0, 31.0, 2.5]))
SIDED = {
    "numbers": NUMBERS,
    "whole": Column("age", "numbers", np.arange(40.0) % 9, unit="years"),
    "yes": Column("paid", "numbers", np.array([1.0, 0.0, 1.0, NAN]), is_boolean=True),
    "dates": Column("day", "dates", np.array([0.0, 31.0, 59.0, NAN, 3650.0])),
    "texts": Column("in", "texts", np.array([0, 2, NAN, 1, 2]), ("Bonn", "Jena's", "Ulm")),
}


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", SIDED)
def test_what_is_written_of_a_side_selects_its_rows(name, seed):
    column, rng = SIDED[name], np.random.default_rng(seed)
    missing = bool(rng.random() < 0.5)
    if column.kind == "texts":
        chosen = rng.permutation(column.labels)[: rng.integers(4)].tolist()
        side = Categories(tuple(sorted(chosen)), missing)
        expected = [
            missing if np.isnan(v) else column.labels[int(v)] in chosen for v in column.values
        ]
    else:
        there = column.values[~column.missing]
        ends = np.sort(rng.choice(np.append(there, there + 0.5), 2)).tolist()
        low, high = (None if rng.random() < 0.3 else end for end in ends)
        side = Range(low, high, "left", missing)
        expected = [
            missing if np.isnan(v) else (low is None or v >= low) and (high is None or v < high)
            for v in column.values
        ]
    if not np.array(expected)[~column.missing].any():
        return  # a search finds no side without rows
    limits = side_limits(column, side)
    condition = limits.condition
    if condition:
        assert Condition(condition).rows({column.name: column}).tolist() == expected
    else:
        assert all(expected)
    if limits.high is not None:  # both ends belong to it, and there are no rows between
        inside = column.values[~column.missing & np.array(expected)]
        assert not len(inside) or inside.max() <= limits.high
        above = column.values[column.values > limits.high]
        assert not ((above >= (low or -np.inf)) & (above < high)).any() or not len(inside)


@pytest.mark.parametrize(
    ("side", "text"),
    [
        (Range(2, 5), "2 to 4"),
        (Range(2, 3), "2"),
        (Range(2.5, 5.0), "2.5 to below 5.0"),
        (Range(2, 5, "both"), "2 to 5"),
        (Range(5, 5, "both"), "5"),
        (Range(2, 5, "neither"), "above 2 to 4"),
        (Range(None, 5), "up to 4"),
        (Range(None, 5.5), "below 5.5"),
        (Range(None, 5.5, "both"), "up to 5.5"),
        (Range(2, None), "2 or more"),
        (Range(2, None, "neither"), "above 2"),
        (Range(2, None, missing=True), "2 or more, or missing"),
        (Range(), "not missing"),
        (Range(missing=True), "any"),
        (Range(date(2024, 1, 1), date(2024, 3, 1)), "2024-01-01 to 2024-02-29"),
        (
            Range(datetime(2024, 1, 1), datetime(2024, 3, 1)),
            "2024-01-01 00:00:00 to below 2024-03-01 00:00:00",
        ),
        (Categories(("b", "a")), "b, a"),
        (Categories((), True), "missing"),
        (Categories(tuple("abcdefgh")), "a, b, c, d, e, f, g, h"),
        (Categories(tuple("abcdefghij"), True), "a, b, c, d, e, f, g, h and 2 more, or missing"),
    ],
)
def test_sides_are_described_for_people(side, text):
    assert describe_side(side, str) == text


def test_limits_are_written_with_units_words_and_days():
    assert side_limits(SIDED["whole"], Range(3.0, None)).text == "3 years or more"
    assert side_limits(SIDED["whole"], Range(3.0, 4.0)).text == "3 years"
    assert side_limits(SIDED["yes"], Range(0.5, None)).text == "yes"
    assert side_limits(SIDED["yes"], Range(None, 0.5, missing=True)).text == "no, or missing"
    days = side_limits(SIDED["dates"], Range(10.0, 60.0))
    # The day of the number with the fewest digits between the last row inside and the next.
    assert days.text == "1970-01-11 to 1970-03-02"
    assert days.condition == "day >= '1970-01-11' and day <= '1970-03-02'"
    assert (
        FeatureLimits(SIDED["whole"]).text == "any"
        and FeatureLimits(SIDED["whole"]).condition == ""
    )
    assert FeatureLimits(NUMBERS, missing=False).condition == "[hours worked] is not missing"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("age", "age"),
        ("net income", "[net income]"),
        ("a]b", "`a]b`"),
        ("In", "[In]"),
        ("2x", "[2x]"),
    ],
)
def test_names_are_quoted_where_they_are_no_words(name, written):
    assert quote_column(name) == written
    assert Condition(f"{written} = 1").columns == [name]


# -- numbers and shares ---------------------------------------------------------------------------


def test_numbers_and_shares_are_written_for_people():
    written = {
        0.0: "0", 1234.5678: "1,234.57", 1e6: "1,000,000", 1234567.8: "1,234,570",
        999999.4: "999,999", 1e12: "1e+12", -0.00001234: "-1.234e-05", 2.0: "2",
    }  # fmt: skip
    assert {x: number(x) for x in written} == written
    assert [number(x, 3) for x in (1234.0, 999.6, -1000.0, 0.12345)] == [
        "1,230",
        "1e+03",
        "-1,000",
        "0.123",
    ]
    assert [percent(x) for x in (0.0, 0.01234, 0.0954, 0.0999, 0.1025, 0.123456, 1.0)] == [
        "0 %", "1.2 %", "9.5 %", "10 %", "10.25 %", "12.35 %", "100 %",
    ]  # fmt: skip
    assert [chances(x) for x in (0.0, 0.0099, 0.01, 0.5, 0.994, 0.995, 1.0)] == [
        "less than 1 %", "less than 1 %", "1 %", "50 %", "99 %", "more than 99 %", "more than 99 %",
    ]  # fmt: skip
    assert [count(n, "row") for n in (0, 1, 2, 1234)] == ["0 rows", "1 row", "2 rows", "1,234 rows"]
    assert shell_quote("a b") == '"a b"' and shell_quote("a $b") == "'a $b'"
    limits = [side_limits(SIDED["whole"], Range(3.0, None)), FeatureLimits(SIDED["dates"])]
    assert describe_group(limits) == "age 3 years or more"
    assert describe_group(limits[1:]) == "the whole table"


@pytest.mark.parametrize("offset", [0.0, 1e5, -1e9])
def test_averages_have_the_digits_by_which_they_differ(offset):
    """Two digits of the difference are written, whatever both have in common."""
    for apart in (0.01, 0.55, 37.0):
        ends = offset, offset + apart
        low, high = (float(number(x, digits_apart(ends)).replace(",", "")) for x in ends)
        assert high - low == pytest.approx(apart, rel=0.1)
    assert digits_apart([offset, offset], 4) == 4

"""The language of --where: what it selects, and that nothing else can be said in it."""

import numpy as np
import pytest

from skgpb.lab.cli.where import Condition
from skgpb.lab.datasets.columns import Column

NAN = np.nan
COLUMNS = {
    "age": Column("age", "numbers", np.array([10.0, 20.0, 30.0, NAN])),
    "net income": Column("net income", "numbers", np.array([30.0, 20.0, 10.0, 5.0])),
    "in": Column("in", "numbers", np.array([1.0, 0.0, 1.0, 0.0])),
    "town": Column("town", "texts", np.array([0.0, 2.0, NAN, 1.0]), ("Bonn", "Jena's", "Ulm")),
    "home": Column("home", "texts", np.array([0.0, 1.0, 1.0, 1.0]), ("Bonn", "Ulm")),
    "day": Column("day", "dates", np.array([0.0, 31.0, 59.0, NAN])),
}


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

"""What three languages accept, and what it means: conditions, scores and linear relations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from columns import COLUMNS
from numpy.testing import assert_allclose

from skgpb.domains.linear import read_constraints, read_sum
from skgpb.lab.cli.where import Condition
from skgpb.lab.experiments.scores import Score

MEASURED = {"a": 2.0, "b": 4.0, "a b (%)": 5.0, "lambda": 7.0, "min": 7.0}
MEASURED |= {"yield": 3.5, "x1": 0.5, "_0": 9.0, "µ": 1.5}
SIDES = ["A", "B", "heat (°C)", "salt, dry", "A-B", "x", "2x", "e3", "(odd)", "water temp", "water"]
# Each line has the language, a text, and its meaning, null if the text is refused.
LINES = Path(__file__).with_name("expressions.jsonl").read_text(encoding="utf-8").splitlines()


def meaning(language, text):
    if language == "where":
        return Condition(text).rows(COLUMNS).tolist()
    if language == "score":
        score = Score(text)
        return [list(score.names), score(MEASURED)]
    if language == "cost":
        return read_sum(text, SIDES)
    read = read_constraints([text], SIDES)
    return [[dict(each.coefficients), each.bound, each.equal] for each in read]


@pytest.mark.parametrize("line", LINES)
def test_an_expression_means_what_it_meant(line):
    language, text, expected = json.loads(line)
    if expected is None:
        with pytest.raises((ValueError, KeyError)):
            meaning(language, text)
        return
    found = meaning(language, text)
    if language == "score":
        assert found[0] == expected[0]
        assert_allclose(found[1], expected[1], rtol=1e-12)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("language", "text", "says"),
    [
        (
            "where",
            "age >= 20 aged",
            "--where 'age >= 20 aged': expected and, or, or the end",
        ),
        ("where", "age >= 20 aged", "found 'aged' at letter 11"),
        (
            "score",
            "0.7*a - desirable(b, 1, 2)",
            "at letter 9, did you mean desirability",
        ),
        ("score", "0.7*a - desirable(b, 1, 2)", "there is no function 'desirable' at letter 9"),
        ("score", "a b", "expected +, -, *, /, ^ or the end, found 'b' at letter 3"),
        (
            "linear",
            "A + watr <= 5",
            "there is no side named 'watr'; did you mean 'water'? (letter 5)",
        ),
        ("linear", "A + B", "there is no <=, >= or = in it"),
        (
            "cost",
            "20 + 0.5*temp",
            "the sides are (odd), 2x, A, A-B, B, e3, heat",
        ),
    ],
)
def test_an_error_says_where_and_what_may_stand_there(language, text, says):
    with pytest.raises(ValueError) as error:
        meaning(language, text)
    assert says in str(error.value)

"""Scores, formulas of several measurements: 0.7*yield - 0.3*cost.

No code in a text is ever executed.

References
----------
.. [Derringer1980] G. Derringer and R. Suich, "Simultaneous Optimization of Several Response
   Variables", Journal of Quality Technology 12 (4), 1980. Equations 1 and 2.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from skgpb.lab.experiments.sides import Side, limit_in, number
from skgpb.lab.experiments.texts import check_name, quote_name
from skgpb.utils.expressions import CLOSE, NUMBER, SIGNS, Expression, Name, Step

# Limit: letters of a score.
LONGEST_SCORE = 1_000
_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}


def desirability(value: float, *ends: float) -> float:
    """Return how desirable a measurement is, from 0 to 1 [Derringer1980]_.

    Parameters
    ----------
    value : float
        The measurement.
    *ends : float
        Two measurements, with desirability 0 and 1; or three, with desirability 0, 1 and 0.

    Examples
    --------
    >>> from skgpb.lab.experiments.scores import desirability
    >>> desirability(75, 60, 90), desirability(4, 20, 5), desirability(6.5, 6, 7, 8)
    (0.5, 1.0, 0.5)
    """
    if len(ends) == 3:
        first, best, last = ends
        return desirability(value, first if (value < best) == (first < best) else last, best)
    worst, best = ends
    return min(1.0, max(0.0, (value - worst) / (best - worst)))


_FUNCTIONS: dict[str, tuple[Callable[..., float], tuple[int, ...]]] = {
    "desirability": (desirability, (3, 4)),
    "min": (min, tuple(range(2, 20))),
    "max": (max, tuple(range(2, 20))),
    "sqrt": (math.sqrt, (1,)),
    "log": (math.log, (1,)),
    "exp": (math.exp, (1,)),
    "abs": (abs, (1,)),
}


_STATES = {
    "term": (
        "a name or a number",
        [
            SIGNS,
            Step(rf"(?:{'|'.join(_FUNCTIONS)})\s*\(", "term", lambda found: found[0], opens="call"),
            Step(r"\(", "term", "(", opens="("),
            Step(rf"{NUMBER}(?!\w)", "after", operand=lambda found: float(found[0])),
            Step(
                r'"((?:[^"]|"")+)"|([^\W\d]\w*)(?!\w|\s*\()',
                "after",
                operand=lambda found: Name(found[2] or found[1].replace('""', '"')),
            ),
        ],
    ),
    "after": (
        "+, -, *, /, ^ or {end}",
        [
            Step(r"\*\*|\^", "term", "**"),
            Step("[-+*/]", "term", lambda found: found[0]),
            Step(r",(?=\s*\))", "after", ",", within="call"),
            Step(",", "term", ",", within="call"),
            Step(CLOSE, "after"),
        ],
    ),
}


class Score(Expression):
    """A score of several measurements and settings.

    Attributes
    ----------
    text : str
        The formula that the user wrote.
    names : tuple of str
        Names of the measurements and settings in it, in the order of the text.

    Examples
    --------
    >>> from skgpb.lab.experiments.scores import Score
    >>> score = Score('0.7*yield - 0.3*"cost (EUR)"')
    >>> score.names, round(score({"yield": 70.0, "cost (EUR)": 10.0}), 9)
    (('yield', 'cost (EUR)'), 46.0)
    """

    what, longest, deepest = "score", LONGEST_SCORE, 200
    form = (
        "; a score is arithmetic of measurements, such as 0.7*yield - 0.3*cost, with "
        f"{', '.join(_FUNCTIONS)}; names of several words stand between quotes"
    )
    states = _STATES

    def __init__(self, text: str) -> None:
        check_name(text, "a score")
        super().__init__(text)
        names = [str(each) for each in self.operands if isinstance(each, Name)]
        self.names: tuple[str, ...] = tuple(dict.fromkeys(names))
        if not names:
            raise ValueError(f"a score needs the name of a measurement, got {self.text!r}")
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                counts = _FUNCTIONS[node.func.id][1]
                if len(node.args) not in counts:
                    raise self.wrong(f"{node.func.id} takes {counts[0]} numbers or more")

    def _unknown(self, word: str, place: int) -> str:
        if not self.text[place + len(word) :].lstrip().startswith("("):
            return ""
        alike = get_close_matches(word, _FUNCTIONS, n=1)
        hint = f", did you mean {alike[0]}" if alike else ""
        return f"there is no function {word!r} at letter {place + 1}{hint}{self.form}"

    def __call__(self, values: Mapping[str, Any]) -> float:
        """Return the score of values, a dict of numbers by names.

        Raises
        ------
        ValueError
            If a value is missing or no number, or the score is not finite.
        """
        values = {name: _limit_to_number(values[name]) for name in self.names if name in values}
        for name in self.names:
            if name not in values:
                raise ValueError(f"the score {self.text!r} needs {quote_name(name)}")
            if isinstance(values[name], bool) or not isinstance(values[name], int | float):
                number(values[name], name)  # its error has a hint how to write 3,5
                raise ValueError(f"{name} must be a number in the score, got {values[name]!r}")
        try:
            out = self._value(self.tree, values)
        except (ArithmeticError, ValueError):
            out = math.nan
        if not math.isfinite(out):
            known = ", ".join(f"{quote_name(name)} = {values[name]:g}" for name in self.names)
            raise ValueError(f"the score {self.text!r} is no number where {known}")
        return out

    def _value(self, node: ast.AST, values: Mapping[str, Any]) -> float:
        if isinstance(node, ast.Name):
            operand = self.operand(node)
            return float(values[operand] if isinstance(operand, Name) else operand)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, values)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            sides = (self._value(side, values) for side in (node.left, node.right))
            return _OPERATORS[type(node.op)](*sides)
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        function, _ = _FUNCTIONS[node.func.id]
        return float(function(*(self._value(each, values) for each in node.args)))


def _limit_to_number(value: Any) -> Any:
    """Convert a limit such as <0.5 to its number; return any other value unchanged."""
    limit = limit_in(value)
    return value if limit is None else limit.value


def read_score(text: str, sides: Sequence[Side]) -> Score | None:
    """Parse a score of measurements and of sides that are numbers; None for an empty text."""
    if not text.strip():
        return None
    score = Score(text)
    for side in sides:
        if side.kind == "choice" and side.name in score.names:
            raise ValueError(
                f"a score is computed from numbers, and {side.name!r} is one of a list"
            )
    if not set(score.names) - {side.name for side in sides}:
        raise ValueError(f"a score needs the name of a measurement, got {text!r}")
    return score

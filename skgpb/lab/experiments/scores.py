"""Scores, formulas of several measurements: 0.7*yield - 0.3*cost.

A text is parsed as arithmetic and interpreted here: no code in a text is ever executed.

References
----------
.. [Derringer1980] G. Derringer and R. Suich, "Simultaneous Optimization of Several Response
   Variables", Journal of Quality Technology 12 (4), 1980. Equations 1 and 2.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skgpb.lab.experiments.sides import limit_in, number
from skgpb.lab.experiments.texts import check_name, quote_name

# Limit: letters of a score.
LONGEST_SCORE = 1_000
# A name between quotes, or a word.
_NAMES = re.compile(r'"((?:[^"]|"")+)"|(?<![\w.])([^\W\d]\w*)')
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


@dataclass(frozen=True)
class Score:
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
    >>> score = Score.parse('0.7*yield - 0.3*"cost (EUR)"')
    >>> score.names, round(score({"yield": 70.0, "cost (EUR)": 10.0}), 9)
    (('yield', 'cost (EUR)'), 46.0)
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.expr

    @classmethod
    def parse(cls, text: str) -> Score:
        """Parse the formula of a score.

        Raises
        ------
        ValueError
            If the text is no arithmetic of names and numbers.
        """
        check_name(text, "a score")
        text = text.strip()
        if len(text) > LONGEST_SCORE:
            raise ValueError(f"a score has at most {LONGEST_SCORE} letters, got {len(text)}")
        names: list[str] = []

        def place(found: re.Match[str]) -> str:
            name = found[2] or found[1].replace('""', '"')
            is_function = found[2] and text[found.end() :].lstrip().startswith("(")
            if is_function and name in _FUNCTIONS:
                return name
            if name not in names:
                names.append(name)
            return f"_{names.index(name)}"

        # Replace names by _0, _1, ...: keywords of Python such as yield are allowed as names.
        plain = _NAMES.sub(place, text.replace("^", "**"))
        try:
            tree = ast.parse(plain, mode="eval").body
            cls._check(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            why = f": {error}" if isinstance(error, ValueError) else ""
            raise ValueError(
                "a score is arithmetic of measurements, such as 0.7*yield - 0.3*cost, with "
                f"{', '.join(_FUNCTIONS)}; names of several words stand between quotes; got "
                f"{text!r}{why}"
            ) from None
        if not names:
            raise ValueError(f"a score needs the name of a measurement, got {text!r}")
        return cls(text, tuple(names), tree)

    @classmethod
    def _check(cls, node: ast.AST) -> None:
        """Raise ValueError unless a node and its children are arithmetic."""
        parts: Iterable[ast.AST] = []
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            parts = [node.operand]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            known = _FUNCTIONS.get(node.func.id)
            if known is None:
                raise ValueError("there is no such function")
            if len(node.args) not in known[1]:
                raise ValueError(f"{node.func.id} takes {known[1][0]} numbers or more")
            parts = node.args
        elif not isinstance(node, ast.Name) and not (
            isinstance(node, ast.Constant) and type(node.value) in (int, float)
        ):
            raise ValueError("that is no arithmetic")
        for part in parts:
            cls._check(part)

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
            out = self._value(self._tree, values)
        except (ArithmeticError, ValueError):
            out = math.nan
        if not math.isfinite(out):
            known = ", ".join(f"{quote_name(name)} = {values[name]:g}" for name in self.names)
            raise ValueError(f"the score {self.text!r} is no number where {known}")
        return out

    def _value(self, node: Any, values: Mapping[str, Any]) -> float:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]  # checked: a number
        if isinstance(node, ast.Name):
            return float(values[self.names[int(node.id[1:])]])
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, values)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            sides = (self._value(side, values) for side in (node.left, node.right))
            return _OPERATORS[type(node.op)](*sides)
        function, _ = _FUNCTIONS[node.func.id]
        return float(function(*(self._value(each, values) for each in node.args)))


def _limit_to_number(value: Any) -> Any:
    """Convert a limit such as <0.5 to its number; return any other value unchanged."""
    limit = limit_in(value)
    return value if limit is None else limit.value


def read_score(text: str, ordered: Iterable[str], chosen: Iterable[str]) -> Score | None:
    """Parse a score; return None if the text is empty.

    Parameters
    ----------
    text : str
        The formula.
    ordered : iterable of str
        Names of settings that are numbers, which a score may contain.
    chosen : iterable of str
        Names of settings with a list of values, which a score must not contain.
    """
    if not text.strip():
        return None
    score = Score.parse(text)
    for name in chosen:
        if name in score.names:
            raise ValueError(f"a score is computed from numbers, and {name!r} is one of a list")
    if not set(score.names) - set(ordered):
        raise ValueError(f"a score needs the name of a measurement, got {text!r}")
    return score

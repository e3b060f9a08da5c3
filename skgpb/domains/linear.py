"""Linear equations and inequalities as a text: ``A + B <= 100``.

A parser reads the text, which is never executed. Names may have any characters, such as
"temperature (°C)": the parser looks for the names of the sides, the longest first.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from skgpb.utils.expressions import CLOSE, NUMBER, SIGNS, Expression, Name, Step

# Limit: characters of a constraint, nested parentheses, constraints of a box.
LONGEST, DEEPEST, MOST_CONSTRAINTS = 1000, 20, 100
# The notation of signs in Python.
_MEANT = {"≤": "<=", "=<": "<=", "≥": ">=", "=>": ">=", "=": "==", "·": "*", "−": "-"}
_LISTS = "a value of a list is left out by giving the list without it"
_FORM = f"a constraint is like A + B <= 100, A + B + C = 1 or 10 <= 2*A - B <= 50; {_LISTS}"


@dataclass(frozen=True)
class Linear:
    """A linear inequality, sum of coefficients times sides <= bound, or an equation.

    Attributes
    ----------
    text : str
        The text that the user wrote.
    coefficients : tuple of pairs
        Names of sides and their coefficients.
    bound : float
    equal : bool
        Whether it is an equation.
    """

    text: str
    coefficients: tuple[tuple[str, float], ...]
    bound: float
    equal: bool

    @property
    def left(self) -> str:
        """Left side of the relation as a text."""
        out = ""
        for name, c in self.coefficients:
            factor = "" if abs(c) == 1.0 else f"{abs(c):g}*"
            out += (" - " if c < 0 else " + ") + factor + name
        return "-" + out[3:] if out.startswith(" - ") else out[3:]


def read_constraints(texts: Iterable[str], names: Sequence[str]) -> list[Linear]:
    """Return the linear constraints in some texts.

    Parameters
    ----------
    texts : iterable of str
        One constraint each, or a chain of relations.
    names : sequence of str
        Names of the sides.

    Returns
    -------
    constraints : list of Linear

    Raises
    ------
    ValueError
        If a text is not a linear relation between these sides; the message has text and reason.
    """
    texts = list(texts)
    if len(texts) > MOST_CONSTRAINTS:
        raise ValueError(f"there are at most {MOST_CONSTRAINTS} constraints, got {len(texts)}")
    return [each for text in texts for each in _Relation(text, names).read()]


def read_sum(text: str, names: Sequence[str]) -> dict[str, float]:
    """Return the coefficients of a sum by side, for costs; the empty name has the constant."""
    cost = _Sum(text, names)
    total = cost.coefficients(cost.tree)
    if not all(map(math.isfinite, total.values())):
        raise cost.wrong("its numbers are too large")
    return total


def _name(found: re.Match[str]) -> Name:
    return Name(found[0])


def _in_python(found: re.Match[str]) -> str:
    return _MEANT.get(found[0], found[0])


class _Sum(Expression):
    """A sum of sides and numbers, for costs. A name of a side is the longest that matches."""

    what, longest, deepest = "cost", LONGEST, DEEPEST
    form = "; a cost is like 20 + 0.5*time, or 100 if catalyst = Pd"
    hint = "in Python give such a cost as a function of a setting"
    relations: tuple[Step, ...] = ()

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.names = sorted(filter(None, names), key=len, reverse=True)
        # The last letter of a name must be the last one of a word.
        ends = [r"(?!\w)" if re.match(r"\w", name[-1]) else "" for name in self.names]
        name = "|".join(map(str.__add__, map(re.escape, self.names), ends)) or "(?!)"
        after = [
            Step("[-+*/·−]", "term", _in_python),
            Step(CLOSE, "after"),
            *self.relations,
        ]
        # "2 A" and "2A" are 2*A. It is parsed as a power, because 1 / 2 A is 1 / (2*A).
        implicit = [
            Step(name, "after", "**", operand=_name),
            Step(r"\(", "term", "** (", opens="("),
        ]
        self.states = {
            "term": (
                "a side or a number",
                [
                    SIGNS,
                    Step(name, "after", operand=_name),
                    Step(r"\(", "term", "(", opens="("),
                    Step(NUMBER, "number", operand=self._number),
                ],
            ),
            "number": ("+, -, *, / or {end}", [*implicit, *after]),
            "after": ("+, -, *, / or {end}", after),
        }
        super().__init__(text)

    def _number(self, found: re.Match[str]) -> float:
        if self.text[found.end() : found.end() + 1] == ",":
            raise self.wrong("a decimal point is a point, not a comma")
        return float(found[0])

    def _unknown(self, word: str, place: int) -> str:
        if not re.match(r"[^\W\d]", word):
            return ""
        beginning = [name for name in self.names if name.casefold().startswith(word.casefold())]
        alike = beginning or get_close_matches(word, self.names, n=1)
        names = ", ".join(sorted(self.names))
        hint = f"did you mean {alike[0]!r}?" if alike else f"the sides are {names}, and {_LISTS}"
        return f"there is no side named {word!r}; {hint} (letter {place + 1})"

    def coefficients(self, node: ast.AST) -> dict[str, float]:
        """Return the coefficients of a part of the sum; the empty name has the constant."""
        operations = []
        while isinstance(node, ast.BinOp):
            operations.append(node)
            node = node.left
        if isinstance(node, ast.UnaryOp):
            sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
            total = {name: sign * c for name, c in self.coefficients(node.operand).items()}
        else:
            operand = self.operand(node)
            total = {str(operand): 1.0} if isinstance(operand, Name) else {"": operand}
        for each in reversed(operations):
            total = self._combine(total, each.op, self.coefficients(each.right))
        return total

    def _combine(
        self, left: dict[str, float], operator: ast.operator, right: dict[str, float]
    ) -> dict[str, float]:
        """Return the coefficients of an operation on two parts."""
        if isinstance(operator, ast.Add | ast.Sub):
            sign = 1.0 if isinstance(operator, ast.Add) else -1.0
            return {n: left.get(n, 0.0) + sign * right.get(n, 0.0) for n in left | right}
        if isinstance(operator, ast.Div):
            if set(right) != {""}:
                raise self.wrong(f"it divides by a side, which is not linear: {self.hint}")
            if not right[""]:
                raise self.wrong("it divides by 0")
            return {name: c / right[""] for name, c in left.items()}
        if set(right) != {""}:
            left, right = right, left
        if set(right) != {""}:
            raise self.wrong(f"it multiplies sides, which is not linear: {self.hint}")
        return {name: c * right[""] for name, c in left.items()}


class _Relation(_Sum):
    """A relation between two sums, or a chain of them."""

    what = "constraint"
    form = f"; {_FORM}"
    hint = "in Python give such a constraint as the function feasible"
    end = "a relation"
    relations = (Step("<=|>=|==|=<|=>|≤|≥|=", "term", _in_python, within=""),)

    def _unknown(self, word: str, place: int) -> str:
        return f"write {word}= for {word}" if word in ("<", ">") else super()._unknown(word, place)

    def read(self) -> list[Linear]:
        if not isinstance(self.tree, ast.Compare):
            raise self.wrong(f"there is no <=, >= or = in it: {_FORM}")
        sums = [self.coefficients(each) for each in (self.tree.left, *self.tree.comparators)]
        return [
            self._make_linear(left, relation, right)
            for relation, (left, right) in zip(self.tree.ops, pairwise(sums), strict=True)
        ]

    def _make_linear(
        self, left: dict[str, float], relation: ast.cmpop, right: dict[str, float]
    ) -> Linear:
        sign = -1.0 if isinstance(relation, ast.GtE) else 1.0
        total = {name: sign * (left.get(name, 0.0) - right.get(name, 0.0)) for name in left | right}
        bound = -total.pop("", 0.0) + 0.0
        pairs = tuple((name, c) for name, c in total.items() if c)
        if not pairs:
            raise self.wrong(f"no side is left in it: {_FORM}")
        if not all(map(math.isfinite, [bound, *(c for _, c in pairs)])):
            raise self.wrong("its numbers are too large")
        return Linear(self.text, pairs, bound, isinstance(relation, ast.Eq))


def substitute_constants(each: Linear, constants: Mapping[str, float]) -> Linear:
    """Return a constraint with the values of fixed sides inserted."""
    fixed = sum(c * constants[name] for name, c in each.coefficients if name in constants)
    left = tuple((name, c) for name, c in each.coefficients if name not in constants)
    return Linear(each.text, left, each.bound - fixed, each.equal)

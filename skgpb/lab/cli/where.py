r"""``--where``: a small language of comparisons, which selects the rows to search.

.. code-block:: text

    condition  = condition "or" condition | condition "and" condition | "not" condition
               | "(" condition ")" | comparison
    comparison = operand (("=" | "!=" | "<" | "<=" | ">" | ">=") operand)+
               | operand ["not"] "in" "(" literal {"," literal} ")"
               | operand "is" ["not"] "missing"
    operand    = column | literal
    literal    = number | 'text' | "text" | true | false
    column     = name | [name] | `name`

A column has its name in the header, in brackets if the name is not a word, or is one of the words
above. Dates are compared with texts such as '2024-01-31'. A comparison with a missing value is
neither true nor false, as in SQL: neither the condition nor its negation selects the row. A cell
that is not a number among numbers, or not a date among dates, counts as missing, but can be
compared with a text by = and !=. No text is evaluated as Python.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.dates import parse_all_dates
from skgpb.utils.expressions import CLOSE, NUMBER, Expression, Name, Step

_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_PYTHON = {"=": "==", "<>": "!="}
_WORDS = "and|or|not|in|is|missing|true|false"
_PLAIN_NAME = rf"(?!(?i:{_WORDS})\b)[^\W\d]\w*"


def _literals(then: str) -> list[Step]:
    """Return the steps over a literal: a number, true or false, or a text between quotes."""
    return [
        Step(rf"-?\s*{NUMBER}(?!\w)", then, operand=lambda found: float("".join(found[0].split()))),
        Step(r"(?i:true|false)\b", then, operand=lambda found: float(found[0].lower() == "true")),
        Step(r"(['\"])((?s:(?!\1).|\1\1)*)\1", then, operand=_unquoted),
    ]


def _unquoted(found: re.Match[str]) -> str:
    return found[2].replace(2 * found[1], found[1])


def _operands(then: str) -> list[Step]:
    """Return the steps over a literal or a column."""
    column = Step(rf"`([^`]+)`|\[([^\]]+)\]|({_PLAIN_NAME})", then, operand=_column_name)
    return [*_literals(then), column]


def _column_name(found: re.Match[str]) -> Name:
    return Name(found[1] or found[2] or found[3])


_COMPARISON = Step("<=|>=|==|!=|<>|[<>=]", "right", lambda found: _PYTHON.get(found[0], found[0]))
_AFTER = [Step(r"(?i:and|or)\b", "condition", lambda found: found[0].lower()), Step(CLOSE, "done")]
_OPERAND = "a column, a number or a text between quotes"
_STATES = {
    "condition": (
        _OPERAND,
        [
            Step(r"(?i:not)\b", "condition", "not"),
            Step(r"\(", "condition", "(", opens="("),
            *_operands("left"),
        ],
    ),
    "left": (
        "a comparison such as >= or in",
        [
            _COMPARISON,
            Step(r"(?i:not\s+in)\s*\(", "list", "not in [", opens="["),
            Step(r"(?i:in)\s*\(", "list", "in [", opens="["),
            Step(r"(?i:is\s+not\s+missing)\b", "done", "is not None"),
            Step(r"(?i:is\s+missing)\b", "done", "is None"),
        ],
    ),
    "right": (_OPERAND, _operands("compared")),
    "compared": ("and, or, or {end}", [_COMPARISON, *_AFTER]),
    "done": ("and, or, or {end}", _AFTER),
    "list": ("a number or a text between quotes", _literals("listed")),
    "listed": ("a comma or {end}", [Step(",", "list", ","), Step(CLOSE, "done")]),
}


class Truth(NamedTuple):
    """Masks (n_rows,) of the rows for which a condition holds, and of those for which it fails.

    With a missing value it does neither.
    """

    holds: np.ndarray
    fails: np.ndarray


class Condition(Expression):
    """A condition on the rows of a table.

    Parameters
    ----------
    text : str
        The condition, in the language of this module.

    Attributes
    ----------
    columns : list of str
        Names of the columns that the condition compares.

    Raises
    ------
    ValueError
        If the text does not follow the grammar.
    """

    what = "--where"
    states = _STATES

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the condition compares."""
        return [str(each) for each in self.operands if isinstance(each, Name)]

    def rows(self, columns: Mapping[str, Column]) -> np.ndarray:
        """Return whether each row is selected, shape (n_rows,).

        Parameters
        ----------
        columns : mapping of str to Column
            The columns of the condition, and perhaps others.

        Returns
        -------
        selected : ndarray of shape (n_rows,) of bool
        """
        return self._truth(self.tree, columns).holds

    def _truth(self, node: ast.AST, columns: Mapping[str, Column]) -> Truth:
        if isinstance(node, ast.UnaryOp):
            holds, fails = self._truth(node.operand, columns)
            return Truth(fails, holds)
        if isinstance(node, ast.BoolOp):
            truths = [self._truth(part, columns) for part in node.values]
            return _combine(truths, isinstance(node.op, ast.And))
        assert isinstance(node, ast.Compare)
        sides = [node.left, *node.comparators]
        return _combine(
            [
                self._compare(op, *pair, columns)
                for op, pair in zip(node.ops, pairwise(sides), strict=True)
            ],
            True,
        )

    def _compare(
        self, op: ast.cmpop, left: ast.AST, right: ast.AST, columns: Mapping[str, Column]
    ) -> Truth:
        """Compare two operands, an operand with a list, or with nothing."""
        operand = self.operand(left)
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, ast.List):
            pairs = [(operand, self.operand(each)) for each in right.elts]
            truth = _combine([_compare(ast.Eq, *pair, columns) for pair in pairs], False)
        elif isinstance(op, ast.Is | ast.IsNot):
            if not isinstance(operand, Name):
                raise ValueError("--where: only a column can be missing")
            missing = columns[operand].missing
            truth = Truth(missing, ~missing)
        else:
            return _compare(type(op), operand, self.operand(right), columns)
        return Truth(*truth[::-1]) if isinstance(op, ast.NotIn | ast.IsNot) else truth


def quote_column(name: str) -> str:
    """Write the name of a column, in brackets if necessary."""
    if re.fullmatch(_PLAIN_NAME, name) is not None:
        return name
    return f"`{name}`" if "]" in name else f"[{name}]"


def _combine(truths: Sequence[Truth], every: bool) -> Truth:
    """Return where all conditions hold, or where any of them does."""
    holds, fails = zip(*truths, strict=True)
    all_of, any_of = np.logical_and.reduce, np.logical_or.reduce
    if every:
        return Truth(all_of(holds), any_of(fails))
    return Truth(any_of(holds), all_of(fails))


def _compare(sign: type[ast.cmpop], left: Any, right: Any, columns: Mapping[str, Column]) -> Truth:
    given = [columns[each] for each in (left, right) if isinstance(each, Name)]
    if not given:
        raise ValueError("--where: a comparison needs a column")
    kinds = {column.kind for column in given}
    if len(kinds) > 1:
        names = " and ".join(repr(column.name) for column in given)
        raise ValueError(f"--where compares {names}, which are {' and '.join(sorted(kinds))}")
    kind = kinds.pop()
    for each in (left, right):
        is_text = _is_text(each) and (kind != "dates" or parse_all_dates([each]) is None)
        if is_text and given[0].unreadable and sign in (ast.Eq, ast.NotEq):
            return _unreadable(sign, given[0], each)
    sides = [_side(each, kind, given, columns) for each in (left, right)]
    present = ~np.logical_or.reduce([column.missing for column in given])
    with np.errstate(invalid="ignore"):
        holds = np.asarray(_COMPARE[sign](*sides), dtype=bool) & present
    return Truth(holds, ~holds & present)


def _is_text(operand: Any) -> bool:
    return isinstance(operand, str) and not isinstance(operand, Name)


def _unreadable(sign: type[ast.cmpop], column: Column, literal: str) -> Truth:
    """Compare the texts of unreadable cells with a text; all readable cells differ from it."""
    rows = list(column.unreadable)
    equal, present = np.zeros_like(column.missing), ~column.missing
    equal[rows] = [cell.text == literal for cell in column.unreadable.values()]
    present[rows] = True
    holds = equal if sign is ast.Eq else present & ~equal
    return Truth(holds, present & ~holds)


def _side(operand: Any, kind: str, given: Sequence[Column], columns: Mapping[str, Column]) -> Any:
    """Return the numbers of one side of a comparison; a text becomes its index in the alphabet."""
    if kind == "texts":
        alphabet = sorted({label for column in given for label in column.labels})
        if not isinstance(operand, Name):
            if not isinstance(operand, str):
                raise ValueError(
                    f"--where compares {given[0].name!r}, which holds texts such as "
                    f"{given[0].labels[0]!r}, with a number: put it between quotes"
                )
            # A text that is not in the alphabet lies midway between two indices.
            index = np.searchsorted(alphabet, operand)
            there = index < len(alphabet) and alphabet[index] == operand
            return index if there else index - 0.5
        column = columns[operand]
        indices = np.append(np.searchsorted(alphabet, column.labels), -1).astype(np.float64)
        return indices[np.where(column.missing, -1, column.values).astype(np.intp)]
    if isinstance(operand, Name):
        return columns[operand].values
    if kind == "dates":
        days = parse_all_dates([operand]) if isinstance(operand, str) else None
        if days is None:
            raise ValueError(
                f"--where compares {given[0].name!r}, which holds dates, with {operand!r}: "
                "write '2024-01-31'"
            )
        return days[0]
    if isinstance(operand, str):
        raise ValueError(
            f"--where compares {given[0].name!r}, which holds numbers, with {operand!r}"
        )
    return operand

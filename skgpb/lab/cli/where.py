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

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.dates import parse_all_dates

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))"
    r"|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<quoted>`[^`]+`|\[[^\]]+\])"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|!=|<>|[<>=(),-]))"
)
_COMPARE = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUAL = {"=", "==", "!=", "<>"}
_WORDS = {"and", "or", "not", "in", "is", "missing", "true", "false"}
# Limit: depth of nested brackets and "not", because of Python's stack.
DEEPEST = 50


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


class Truth(NamedTuple):
    """Masks (n_rows,) of the rows for which a condition holds, and of those for which it fails.

    With a missing value it does neither.
    """

    holds: np.ndarray
    fails: np.ndarray


@dataclass(frozen=True)
class _Operand:
    """The name of a column, or a literal."""

    name: str | None = None
    literal: float | str | None = None


class Condition:
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

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at, self._depth = 0, 0
        self.columns: list[str] = []
        self._tree = self._either()
        if self._peek().kind != "end":
            raise self._syntax_error("and, or, or the end")

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
        return _truth(self._tree, columns).holds

    # -- parsing ----------------------------------------------------------------------------

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> _Token | None:
        """Return the next token and advance if it is one of ``texts``; otherwise None."""
        token = self._peek()
        if token.kind in ("word", "sign") and token.text.lower() in texts:
            self._at += 1
            return token
        return None

    def _syntax_error(self, expected: str) -> ValueError:
        token = self._peek()
        found = f"{token.text!r} at letter {token.place + 1}" if token.text else "the end"
        return ValueError(f"--where {self._text!r}: expected {expected}, found {found}")

    def _either(self) -> tuple[Any, ...]:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return ("or", *parts) if len(parts) > 1 else parts[0]

    def _both(self) -> tuple[Any, ...]:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return ("and", *parts) if len(parts) > 1 else parts[0]

    def _one(self) -> tuple[Any, ...]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"--where: more than {DEEPEST} brackets or nots within each other")
        try:
            if self._take("not"):
                return "not", self._one()
            if self._take("("):
                inner = self._either()
                if not self._take(")"):
                    raise self._syntax_error("a closing bracket")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> tuple[Any, ...]:
        left = self._operand()
        if self._take("is"):
            negated = self._take("not")
            if not self._take("missing"):
                raise self._syntax_error("missing")
            return ("not", ("missing", left)) if negated else ("missing", left)
        negated = self._take("not")
        if self._take("in"):
            among = ("or", *(("=", left, value) for value in self._list()))
            return ("not", among) if negated else among
        if negated:
            raise self._syntax_error("in")
        parts = []
        while sign := self._take(*_COMPARE):
            right = self._operand()
            parts.append((sign.text, left, right))
            left = right
        if not parts:
            raise self._syntax_error("a comparison such as >= or in")
        return ("and", *parts)

    def _list(self) -> list[_Operand]:
        values: list[_Operand] = []
        if not self._take("("):
            raise self._syntax_error("an opening bracket")
        while not values or self._take(","):
            value = self._operand()
            if value.name is not None:
                self._at -= 1
                raise self._syntax_error("a number or a text between quotes")
            values.append(value)
        if not self._take(")"):
            raise self._syntax_error("a comma or a closing bracket")
        return values

    def _operand(self) -> _Operand:
        negative = self._take("-")
        token = self._peek()
        sign = -1.0 if negative else 1.0
        if token.kind == "number":
            self._at += 1
            return _Operand(literal=sign * float(token.text))
        if negative:
            raise self._syntax_error("a number")
        if token.kind == "text":
            self._at += 1
            quote = token.text[0]
            return _Operand(literal=token.text[1:-1].replace(2 * quote, quote))
        if self._take("true", "false"):
            return _Operand(literal=float(token.text.lower() == "true"))
        if token.kind == "quoted" or (token.kind == "word" and token.text.lower() not in _WORDS):
            self._at += 1
            name = token.text[1:-1] if token.kind == "quoted" else token.text
            self.columns.append(name)
            return _Operand(name=name)
        raise self._syntax_error("a column, a number or a text between quotes")


def quote_column(name: str) -> str:
    """Write the name of a column, in brackets if necessary."""
    if re.fullmatch(r"[^\W\d]\w*", name) is not None and name.lower() not in _WORDS:
        return name
    return f"`{name}`" if "]" in name else f"[{name}]"


def _tokens(text: str) -> list[_Token]:
    tokens, place = [], 0
    end = len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            rest = text[place:].lstrip()
            raise ValueError(f"--where {text!r}: cannot read {rest[:20]!r}")
        kind = match.lastgroup
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        place = match.end()
    return [*tokens, _Token("end", "", len(text))]


def _truth(tree: tuple[Any, ...], columns: Mapping[str, Column]) -> Truth:
    kind, *parts = tree
    if kind == "not":
        holds, fails = _truth(parts[0], columns)
        return Truth(fails, holds)
    if kind in ("and", "or"):
        truths = [_truth(part, columns) for part in parts]
        all_of, any_of = np.logical_and.reduce, np.logical_or.reduce
        holds, fails = zip(*truths, strict=True)
        return (
            Truth(all_of(holds), any_of(fails))
            if kind == "and"
            else (Truth(any_of(holds), all_of(fails)))
        )
    if kind == "missing":
        if parts[0].name is None:
            raise ValueError("--where: only a column can be missing")
        missing = columns[parts[0].name].missing
        return Truth(missing, ~missing)
    return _compare(kind, parts[0], parts[1], columns)


def _compare(sign: str, left: _Operand, right: _Operand, columns: Mapping[str, Column]) -> Truth:
    given = [columns[each.name] for each in (left, right) if each.name is not None]
    if not given:
        raise ValueError("--where: a comparison needs a column")
    kinds = {column.kind for column in given}
    if len(kinds) > 1:
        names = " and ".join(repr(column.name) for column in given)
        raise ValueError(f"--where compares {names}, which are {' and '.join(sorted(kinds))}")
    kind = kinds.pop()
    for literal in (left.literal, right.literal):
        is_text = isinstance(literal, str) and (
            kind != "dates" or parse_all_dates([literal]) is None
        )
        if is_text and given[0].unreadable and sign in _EQUAL:
            return _unreadable(sign, given[0], str(literal))
    sides = [_side(each, kind, given, columns) for each in (left, right)]
    present = ~np.logical_or.reduce([column.missing for column in given])
    with np.errstate(invalid="ignore"):
        holds = np.asarray(_COMPARE[sign](*sides), dtype=bool) & present
    return Truth(holds, ~holds & present)


def _unreadable(sign: str, column: Column, literal: str) -> Truth:
    """Compare the texts of unreadable cells with a text; all readable cells differ from it."""
    rows = list(column.unreadable)
    equal, present = np.zeros_like(column.missing), ~column.missing
    equal[rows] = [cell.text == literal for cell in column.unreadable.values()]
    present[rows] = True
    holds = equal if sign in ("=", "==") else present & ~equal
    return Truth(holds, present & ~holds)


def _side(
    operand: _Operand, kind: str, given: Sequence[Column], columns: Mapping[str, Column]
) -> Any:
    """Return the numbers of one side of a comparison; a text becomes its index in the alphabet."""
    if kind == "texts":
        alphabet = sorted({label for column in given for label in column.labels})
        if operand.name is None:
            if not isinstance(operand.literal, str):
                raise ValueError(
                    f"--where compares {given[0].name!r}, which holds texts such as "
                    f"{given[0].labels[0]!r}, with a number: put it between quotes"
                )
            # A text that is not in the alphabet lies midway between two indices.
            index = np.searchsorted(alphabet, operand.literal)
            there = index < len(alphabet) and alphabet[index] == operand.literal
            return index if there else index - 0.5
        column = columns[operand.name]
        indices = np.append(np.searchsorted(alphabet, column.labels), -1).astype(np.float64)
        return indices[np.where(column.missing, -1, column.values).astype(np.intp)]
    if operand.name is not None:
        return columns[operand.name].values
    if kind == "dates":
        days = parse_all_dates([operand.literal]) if isinstance(operand.literal, str) else None
        if days is None:
            raise ValueError(
                f"--where compares {given[0].name!r}, which holds dates, with {operand.literal!r}: "
                "write '2024-01-31'"
            )
        return days[0]
    if isinstance(operand.literal, str):
        raise ValueError(
            f"--where compares {given[0].name!r}, which holds numbers, with {operand.literal!r}"
        )
    return operand.literal

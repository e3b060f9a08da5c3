r"""``--where``: which rows of a table are searched, in a small language of comparisons.

.. code-block:: text

    condition  = condition "or" condition | condition "and" condition | "not" condition
               | "(" condition ")" | comparison
    comparison = operand (("=" | "!=" | "<" | "<=" | ">" | ">=") operand)+
               | operand ["not"] "in" "(" literal {"," literal} ")"
               | operand "is" ["not"] "missing"
    operand    = column | literal
    literal    = number | 'text' | "text" | true | false
    column     = name | [name] | `name`

A column is named as in the header, between brackets where the name has other letters than those of
a word, or is one of the words above. Dates are compared with texts such as '2024-01-31'. What is
missing compares as neither true nor false, as in SQL: such a row is not selected, by ``not``
neither. A cell that is no number among numbers, or no date among dates, is missing too, but may be
compared with a text by = and !=. Nothing is ever evaluated as Python.
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
# Brackets and "not" within each other; more would exhaust Python's stack.
DEEPEST = 50


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


class Truth(NamedTuple):
    """Return where a condition holds and where it does not; a missing value counts as neither."""

    holds: np.ndarray
    fails: np.ndarray


@dataclass(frozen=True)
class _Operand:
    """A column by its name, or a literal."""

    name: str | None = None
    literal: float | str | None = None


class Condition:
    """A condition on the rows of a table.

    Parameters
    ----------
    text : str
        In the language of this module.

    Attributes
    ----------
    columns : list of str
        Names of the columns that it compares.

    Raises
    ------
    ValueError
        If it is not written in that language.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at, self._depth = 0, 0
        self.columns: list[str] = []
        self._tree = self._either()
        if self._peek().kind != "end":
            raise self._unexpected("and, or, or the end")

    def rows(self, columns: Mapping[str, Column]) -> np.ndarray:
        """Return whether each row is selected, shape (n_rows,).

        Parameters
        ----------
        columns : mapping of str to Column
            At least those of ``columns``.

        Returns
        -------
        selected : ndarray of shape (n_rows,) of bool
        """
        return _truth(self._tree, columns).holds

    # -- reading ----------------------------------------------------------------------------

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> _Token | None:
        """Step over the next token if it is one of some signs or words."""
        token = self._peek()
        if token.kind in ("word", "sign") and token.text.lower() in texts:
            self._at += 1
            return token
        return None

    def _unexpected(self, wanted: str) -> ValueError:
        token = self._peek()
        found = f"{token.text!r} at letter {token.place + 1}" if token.text else "the end"
        return ValueError(f"--where {self._text!r}: expected {wanted}, found {found}")

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
                    raise self._unexpected("a closing bracket")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> tuple[Any, ...]:
        left = self._operand()
        if self._take("is"):
            negated = self._take("not")
            if not self._take("missing"):
                raise self._unexpected("missing")
            return ("not", ("missing", left)) if negated else ("missing", left)
        negated = self._take("not")
        if self._take("in"):
            among = ("or", *(("=", left, value) for value in self._list()))
            return ("not", among) if negated else among
        if negated:
            raise self._unexpected("in")
        parts = []
        while sign := self._take(*_COMPARE):
            right = self._operand()
            parts.append((sign.text, left, right))
            left = right
        if not parts:
            raise self._unexpected("a comparison such as >= or in")
        return ("and", *parts)

    def _list(self) -> list[_Operand]:
        values: list[_Operand] = []
        if not self._take("("):
            raise self._unexpected("an opening bracket")
        while not values or self._take(","):
            value = self._operand()
            if value.name is not None:
                self._at -= 1
                raise self._unexpected("a number or a text between quotes")
            values.append(value)
        if not self._take(")"):
            raise self._unexpected("a comma or a closing bracket")
        return values

    def _operand(self) -> _Operand:
        negative = self._take("-")
        token = self._peek()
        sign = -1.0 if negative else 1.0
        if token.kind == "number":
            self._at += 1
            return _Operand(literal=sign * float(token.text))
        if negative:
            raise self._unexpected("a number")
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
        raise self._unexpected("a column, a number or a text between quotes")


def written(name: str) -> str:
    """Name a column, between brackets where that is needed."""
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
    what, *parts = tree
    if what == "not":
        holds, fails = _truth(parts[0], columns)
        return Truth(fails, holds)
    if what in ("and", "or"):
        truths = [_truth(part, columns) for part in parts]
        all_of, any_of = np.logical_and.reduce, np.logical_or.reduce
        holds, fails = zip(*truths, strict=True)
        return (
            Truth(all_of(holds), any_of(fails))
            if what == "and"
            else (Truth(any_of(holds), all_of(fails)))
        )
    if what == "missing":
        if parts[0].name is None:
            raise ValueError("--where: only a column can be missing")
        missing = columns[parts[0].name].missing
        return Truth(missing, ~missing)
    return _compared(what, parts[0], parts[1], columns)


def _compared(sign: str, left: _Operand, right: _Operand, columns: Mapping[str, Column]) -> Truth:
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
    known = ~np.logical_or.reduce([column.missing for column in given])
    with np.errstate(invalid="ignore"):
        holds = np.asarray(_COMPARE[sign](*sides), dtype=bool) & known
    return Truth(holds, ~holds & known)


def _unreadable(sign: str, column: Column, literal: str) -> Truth:
    """Compare the texts of cells that cannot be read; all others differ from the text."""
    rows = list(column.unreadable)
    equal, known = np.zeros_like(column.missing), ~column.missing
    equal[rows] = [cell.text == literal for cell in column.unreadable.values()]
    known[rows] = True
    holds = equal if sign in ("=", "==") else known & ~equal
    return Truth(holds, known & ~holds)


def _side(
    operand: _Operand, kind: str, given: Sequence[Column], columns: Mapping[str, Column]
) -> Any:
    """Values of one side of a comparison; texts are compared by their place in the alphabet."""
    if kind == "texts":
        alphabet = sorted({label for column in given for label in column.labels})
        if operand.name is None:
            if not isinstance(operand.literal, str):
                raise ValueError(
                    f"--where compares {given[0].name!r}, which holds texts such as "
                    f"{given[0].labels[0]!r}, with a number: put it between quotes"
                )
            # Between two letters of the alphabet where it is not one of them.
            place = np.searchsorted(alphabet, operand.literal)
            there = place < len(alphabet) and alphabet[place] == operand.literal
            return place if there else place - 0.5
        column = columns[operand.name]
        places = np.append(np.searchsorted(alphabet, column.labels), -1).astype(np.float64)
        return places[np.where(column.missing, -1, column.values).astype(np.intp)]
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

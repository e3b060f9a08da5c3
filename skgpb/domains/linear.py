"""Linear equations and inequalities as a text: ``A + B <= 100``.

A parser reads the text, which is never executed. Names may have any characters, such as
"temperature (°C)": the parser looks for the names of the sides, the longest first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

# Limit: characters of a constraint, nested parentheses, constraints of a box.
LONGEST, DEEPEST, MOST_CONSTRAINTS = 1000, 20, 100
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_RELATION = re.compile(r"<=|>=|==|=<|=>|≤|≥|=|<|>")
_MEANT = {"≤": "<=", "=<": "<=", "≥": ">=", "=>": ">=", "==": "="}
_FORM = "a constraint is like A + B <= 100, A + B + C = 1 or 10 <= 2*A - B <= 50"


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
    return [each for text in texts for each in _Reader(text, names).read()]


def read_sum(text: str, names: Sequence[str]) -> dict[str, float]:
    """Return the coefficients of a sum by side, for costs; the empty name has the constant."""
    return _CostReader(text, names).read_sum()


class _Reader:
    """Reader of one text from left to right."""

    # For messages: the kind of text, an example, and the alternative.
    what, form = "constraint", _FORM
    hint = "in Python give such a constraint as the function feasible"

    def __init__(self, text: str, names: Sequence[str]) -> None:
        if len(text) > LONGEST:
            raise ValueError(f"a {self.what} has at most {LONGEST} characters, got {len(text)}")
        self.text, self.place, self.depth = text, 0, 0
        self.names = sorted(names, key=len, reverse=True)

    def read(self) -> list[Linear]:
        sums, relations = [self._sum()], []
        while not self._is_at_end():
            relations.append(self._relation())
            sums.append(self._sum())
        if not relations:
            raise self._wrong(f"there is no <=, >= or = in it: {_FORM}")
        return [
            self._make_linear(sums[i], relation, sums[i + 1])
            for i, relation in enumerate(relations)
        ]

    def _make_linear(
        self, left: dict[str, float], relation: str, right: dict[str, float]
    ) -> Linear:
        sign = -1.0 if relation == ">=" else 1.0
        total = {name: sign * (left.get(name, 0.0) - right.get(name, 0.0)) for name in left | right}
        bound = -total.pop("", 0.0) + 0.0
        pairs = tuple((name, c) for name, c in total.items() if c)
        if not pairs:
            raise self._wrong(f"no side is left in it: {_FORM}")
        if not all(map(math.isfinite, [bound, *(c for _, c in pairs)])):
            raise self._wrong("its numbers are too large")
        return Linear(self.text.strip(), pairs, bound, relation == "=")

    # -- the grammar: sum = product (+|- product)*, product = factor ((*|/) factor)* -----------

    def _sum(self) -> dict[str, float]:
        total: dict[str, float] = {}
        sign = self._sign() or 1.0
        while True:
            for name, c in self._product().items():
                total[name] = total.get(name, 0.0) + sign * c
            sign = self._sign()
            if not sign:
                return total

    def _sign(self) -> float:
        """Return the sign at the present position, 0 if there is none."""
        found = 0.0
        while (here := self._peek()) in ("+", "-", "−"):  # the last is a typographer's minus
            self.place += 1
            found = (found or 1.0) * (1.0 if here == "+" else -1.0)
        return found

    def _product(self) -> dict[str, float]:
        total = self._factor()
        while (here := self._peek()) in ("*", "·", "/"):
            self.place += 1
            sign = self._sign() or 1.0
            other = {name: sign * c for name, c in self._factor().items()}
            if here == "/":
                if set(other) != {""}:
                    raise self._wrong(f"it divides by a side, which is not linear: {self.hint}")
                if not other[""]:
                    raise self._wrong("it divides by 0")
                total = {name: c / other[""] for name, c in total.items()}
            elif set(other) == {""}:
                total = {name: c * other[""] for name, c in total.items()}
            elif set(total) == {""}:
                total = {name: c * total[""] for name, c in other.items()}
            else:
                raise self._wrong(f"it multiplies sides, which is not linear: {self.hint}")
        return total

    def _factor(self) -> dict[str, float]:
        here = self._peek()
        if here == "(" and self._name() is None:
            if self.depth == DEEPEST:
                raise self._wrong(f"more than {DEEPEST} parentheses are within each other")
            self.place += 1
            self.depth += 1
            total = self._sum()
            if self._peek() != ")":
                raise self._wrong("a parenthesis is not closed")
            self.place += 1
            self.depth -= 1
            return total
        name = self._name()
        if name is not None:
            self.place += len(name)
            return {name: 1.0}
        number = _NUMBER.match(self.text, self.place)
        if number is None:
            raise self._unknown()
        self.place = number.end()
        if self.text[self.place : self.place + 1] == ",":
            raise self._wrong("a decimal point is a point, not a comma")
        value = float(number.group())
        # "2 A" and "2A" are 2*A; "2 3" is an error.
        if self._peek() == "(" or self._name() is not None:
            return {name: value * c for name, c in self._factor().items()}
        return {"": value}

    def _relation(self) -> str:
        found = _RELATION.match(self.text, self.place)
        if found is None:
            raise self._unknown()
        if found.group() in ("<", ">"):
            raise self._wrong(f"write {found.group()}= for {found.group()}")
        self.place = found.end()
        return _MEANT.get(found.group(), found.group())

    # -- characters -------------------------------------------------------------------------

    def _peek(self) -> str:
        while self.text[self.place : self.place + 1].isspace():
            self.place += 1
        return self.text[self.place : self.place + 1]

    def _is_at_end(self) -> bool:
        return not self._peek()

    def _name(self) -> str | None:
        """Return the longest name at the present position; None if there is none."""
        self._peek()
        for name in self.names:
            end = self.place + len(name)
            if not name or self.text[self.place : end] != name:
                continue
            after = self.text[end : end + 1]
            if not (_is_word_character(name[-1]) and _is_word_character(after)):
                return name
        return None

    def _unknown(self) -> ValueError:
        rest = self.text[self.place :]
        if not rest.strip():
            return self._wrong(f"it ends too early: {self.form}")
        word = re.match(r"\w+", rest)
        shown = word.group() if word else rest[0]
        beginning = [name for name in self.names if name.casefold().startswith(shown.casefold())]
        alike = beginning or get_close_matches(shown, self.names, n=1)
        names = ", ".join(sorted(self.names))
        hint = f"did you mean {alike[0]!r}?" if alike else f"the sides are {names}"
        return self._wrong(f"there is no side named {shown!r}; {hint}")

    def _wrong(self, why: str) -> ValueError:
        return ValueError(f"{self.what} {self.text.strip()!r}: {why}")


class _CostReader(_Reader):
    """Reader of a sum without a relation."""

    what, form = "cost", "a cost is like 20 + 0.5*time, or 100 if catalyst = Pd"
    hint = "in Python give such a cost as a function of a setting"

    def read_sum(self) -> dict[str, float]:
        total = self._sum()
        if not self._is_at_end():
            raise self._unknown()
        if not all(map(math.isfinite, total.values())):
            raise self._wrong("its numbers are too large")
        return total


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def substitute_constants(each: Linear, constants: Mapping[str, float]) -> Linear:
    """Return a constraint with the values of fixed sides inserted."""
    fixed = sum(c * constants[name] for name, c in each.coefficients if name in constants)
    left = tuple((name, c) for name, c in each.coefficients if name not in constants)
    return Linear(each.text, left, each.bound - fixed, each.equal)

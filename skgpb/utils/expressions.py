"""Small languages of expressions: conditions on rows, linear relations, and scores.

A language is a table of states. Each state has the steps that may come next: an operand, or an
operator with its notation in Python. The steps translate a text into an expression of Python with
a placeholder for each operand, and :mod:`ast` parses it, with Python's precedence of operators. No
text is evaluated as Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar, NamedTuple

_DIGITS = r"\d+(?:_\d+)*"
#: Pattern of a number without a sign.
NUMBER = rf"(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
# The part of a text that messages show.
_SHOWN = re.compile(r"[^\W\d]\w*|[\d.][\w.]*|[<>=!]+|\S")


def is_quoted(text: str) -> bool:
    """Return whether a text is between quotes."""
    return len(text) > 1 and text[0] == text[-1] == '"'


def strip_quotes(text: str) -> str:
    """Remove the quotes around a text, if there are any."""
    return text[1:-1].replace('""', '"') if is_quoted(text) else text


class Name(str):
    """A name among the operands of an expression; texts between quotes may be operands as well."""


class Step(NamedTuple):
    """A step from one state to the next, over a part of the text.

    Attributes
    ----------
    pattern : str
        Regular expression of the part.
    then : str
        The next state.
    python : str or callable, default=""
        Notation in Python, or a function of the match that returns it. A closing bracket closes
        whatever bracket is open.
    operand : callable, default=None
        Function of the match that returns an operand, which stands after ``python``.
    opens : str, default=""
        Kind of the bracket that the step opens, "(", "[", or another text for a call.
    within : str, default=None
        The innermost open bracket must be of this kind; empty for none, None for any or none.
    """

    pattern: str
    then: str
    python: str | Callable[[re.Match[str]], str] = ""
    operand: Callable[[re.Match[str]], Any] | None = None
    opens: str = ""
    within: str | None = None


#: Pattern of a closing bracket, whatever bracket is open; a step over one or more signs.
CLOSE = r"\)"
SIGNS = Step(
    r"[-+−](?:\s*[-+−])*",  # the last is a typographer's minus
    "term",
    lambda found: "-" if sum(found[0].count(minus) for minus in "-−") % 2 else "+",
)


# A state: a description of its steps for messages, and the steps. The text may end where a bracket
# may be closed. {end} in the description is "a closing bracket" within brackets, and the ``end`` of
# the language outside of them.
State = tuple[str, Sequence[Step]]


class Expression:
    """An expression; a language is a subclass.

    Parameters
    ----------
    text : str

    Attributes
    ----------
    tree : ast.expr
        The parsed expression; :meth:`operand` returns the operand of a node of type ``ast.Name``.
    operands : list
        Names, numbers and texts in the order of the text.

    Raises
    ------
    ValueError
        If the text is no expression; the message has the text, the place and what may stand there.
    """

    #: The kind of text, or the option, with which messages begin; an example, with which they end;
    #: what may stand after a complete expression.
    what: ClassVar[str]
    form: ClassVar[str] = ""
    end: ClassVar[str] = "the end"
    #: Largest number of characters, and of brackets within each other.
    longest: ClassVar[float] = inf
    deepest: ClassVar[int] = 50
    #: States by their names; the first one is the beginning.
    states: Mapping[str, State]

    def __init__(self, text: str) -> None:
        self.text: str = text.strip()
        self.operands: list[Any] = []
        if len(self.text) > self.longest:
            raise ValueError(
                f"a {self.what} has at most {self.longest} characters, got {len(self.text)}"
            )
        try:
            self.tree: ast.expr = ast.parse(self._translate(), mode="eval").body
        except (SyntaxError, RecursionError, MemoryError):
            raise self._too_deep() from None

    def _translate(self) -> str:
        """Return the expression in Python, with placeholders for operands."""
        parts: list[str] = []
        brackets: list[str] = []
        place, n_prefixes = 0, 0
        name = next(iter(self.states))
        while place < len(self.text):
            if self.text[place].isspace():
                place += 1
                continue
            step, found = self._next_step(name, place, brackets)
            python = step.python if isinstance(step.python, str) else step.python(found)
            if step.pattern == CLOSE:
                python = "]" if brackets.pop() == "[" else ")"
            elif step.opens:
                brackets.append(step.opens)
            elif step.operand is not None:
                python = f"{python} _{len(self.operands)}"
                self.operands.append(step.operand(found))
            n_prefixes = n_prefixes + 1 if step.then == name and not step.opens else 0
            if len(brackets) + n_prefixes > self.deepest:
                raise self._too_deep()
            parts.append(python)
            place, name = found.end(), step.then
        if brackets or all(step.pattern != CLOSE for step in self.states[name][1]):
            raise self._unexpected(name, place, brackets)
        return " ".join(parts).lstrip()

    def _next_step(self, name: str, place: int, brackets: list[str]) -> tuple[Step, re.Match[str]]:
        """Return the step of a state that matches the text at a place, and the match."""
        innermost = brackets[-1] if brackets else ""
        for step in self.states[name][1]:
            if step.within not in (None, innermost) or (step.pattern == CLOSE and not brackets):
                continue
            if found := re.compile(step.pattern).match(self.text, place):
                return step, found
        raise self._unexpected(name, place, brackets)

    def operand(self, node: ast.AST) -> Any:
        """Return the operand of a placeholder; None for another node."""
        return self.operands[int(node.id[1:])] if isinstance(node, ast.Name) else None

    # -- errors -----------------------------------------------------------------------------

    def wrong(self, why: str) -> ValueError:
        """Return the error of this text, with the reason."""
        return ValueError(f"{self.what} {self.text!r}: {why}")

    def _unknown(self, word: str, place: int) -> str:
        """Return the reason why a word at a place cannot be read; empty for the general reason."""
        return ""

    def _unexpected(self, name: str, place: int, brackets: list[str]) -> ValueError:
        shown = _SHOWN.match(self.text, place)
        found = f"{shown[0]!r} at letter {place + 1}" if shown else "the end"
        end = "a closing bracket" if brackets else self.end
        reason = f"expected {self.states[name][0].format(end=end)}, found {found}"
        unknown = shown and self._unknown(shown[0], place)
        return self.wrong(unknown or reason + self.form)

    def _too_deep(self) -> ValueError:
        nested = f"more than {self.deepest} brackets or nots within each other"
        return ValueError(f"{self.what}: {nested}")

"""Parse the JSON of a run with little memory: its events are parsed one at a time.

A value takes up to 200 bytes of memory, but only three characters of text, which is compressed as
well. A file of some kilobytes could therefore expand to gigabytes. A document of many values is not
parsed as a whole: the parser reads its one long list in windows, and counts the values of the
remaining text before it parses them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

# A document of at most this many values is parsed as a whole.
AT_ONCE = 2**18
# Limits of a larger one: characters of an event, number of events, and all other values together.
LARGEST_EVENT, MOST_EVENTS, LARGEST_REST = 2**20, 2**20, 2**21

TOO_LARGE = f"apart from its long list the document has more than {LARGEST_REST} values"

SPACE = re.compile(r"[ \t\n\r]*")
# Strings are passed over. Nothing is tried twice, which would take memory for each letter.
BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def n_values(text: str | bytes) -> int:
    """Return how many values a JSON text may have: commas and brackets that open.

    Parameters
    ----------
    text : str or bytes
        JSON.

    Returns
    -------
    n : int
    """
    marks: tuple[Any, ...] = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    return sum(map(text.count, marks))


def read_document(text: str, long: str) -> Any:
    """Parse a JSON document with one member that may be a long list.

    Parameters
    ----------
    text : str
        The document.
    long : str
        Name of that member. It is a :class:`Parts` where the document has many values.

    Returns
    -------
    document : object

    Raises
    ------
    ValueError
        If it is not JSON, or one of its parts is larger than such a part may be.
    """
    if n_values(text) <= AT_ONCE:
        return DECODER.decode(text)
    document: dict[str, Any] = {}
    room, at = LARGEST_REST, _expect(text, 0, "{")
    at = _after_space(text, at)
    last = text.startswith("}", at)
    while not last:
        name, at = DECODER.raw_decode(text, _expect(text, at, '"') - 1)
        at = _after_space(text, _expect(text, at, ":"))
        if name == long and text.startswith("[", at):
            document[name] = parts = Parts(text, at)
            at = parts.end
        else:
            end = _end_of(text, at, room)
            part = text[at:end]
            room -= n_values(part)
            if room < 0:
                raise ValueError(TOO_LARGE)
            document[name] = DECODER.decode(part)
            at = end
        at = _after_space(text, at)
        last = text.startswith("}", at)
        at = at if last else _expect(text, at, ",")
    if _after_space(text, at + 1) < len(text):
        raise ValueError(f"there is more than one document: character {at + 1}")
    return document


def written(document: dict[str, Any], long: str) -> str:
    """Return a document as JSON that :func:`read_document` takes.

    Parameters
    ----------
    document : dict
        Without NaN and infinities.
    long : str
        Name of the member that may be a long list.

    Returns
    -------
    text : str
        In ASCII; the long list comes last.

    Raises
    ------
    ValueError
        If one of its parts is larger than such a part may be.
    """
    short = {name: value for name, value in document.items() if name != long}
    rest = json.dumps({**short, long: []}, allow_nan=False)
    items = [json.dumps(item, allow_nan=False) for item in document[long]]
    if n_values(rest) > LARGEST_REST:
        raise ValueError(f"{TOO_LARGE}: pass arrays for long lists of numbers")
    if len(items) > MOST_EVENTS or max(map(len, items), default=0) >= LARGEST_EVENT:
        raise ValueError(
            f"{long} may be {MOST_EVENTS} with {LARGEST_EVENT - 1} characters each, at most: pass "
            "arrays for long lists of numbers"
        )
    return f"{rest.removesuffix('[]}')}[{', '.join(items)}]}}"


class Parts:
    """The items of a list in a text, which are parsed whenever one goes through them.

    Parameters
    ----------
    text : str
        A document.
    begin : int
        Position at which the list begins.

    Attributes
    ----------
    end : int
        Position at which it ends.
    """

    def __init__(self, text: str, begin: int) -> None:
        self._text, self._begin = text, begin
        self._n = 0
        self.end: int = int(begin)
        for _ in self:
            self._n += 1
            if self._n > MOST_EVENTS:
                raise ValueError(f"a list has more than {MOST_EVENTS} items")

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[Any]:
        text, n, at = self._text, 0, self._begin + 1
        while True:
            window = text[at : at + LARGEST_EVENT]
            begin = _after_space(window, 0)
            if n == 0 and window.startswith("]", begin):
                self.end = at + begin + 1
                return
            done = 0
            while (found := _item(window, begin)) is not None:
                value, begin, last = found
                yield value
                n, done = n + 1, begin
                if last:
                    self.end = at + done
                    return
            if not done:
                raise ValueError(
                    f"item {n} of a list, at character {at}, is no JSON or has more than "
                    f"{LARGEST_EVENT} characters"
                )
            at += done


def _item(window: str, begin: int) -> tuple[Any, int, bool] | None:
    """Return an item, the position after it, and whether it is the last of its list.

    None where the window ends before it does, or it is no JSON.
    """
    try:
        value, end = DECODER.raw_decode(window, _after_space(window, begin))
    except json.JSONDecodeError:
        return None
    end = _after_space(window, end)
    # At the end of the window a number may have more digits.
    return (value, end + 1, window[end] == "]") if window[end : end + 1] in ("]", ",") else None


def _after_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    assert found is not None  # it matches nothing as well
    return found.end()


def _expect(text: str, at: int, mark: str) -> int:
    """Return the position after a mark."""
    at = _after_space(text, at)
    if not text.startswith(mark, at):
        raise ValueError(f"not JSON: {mark!r} is missing at character {at}")
    return at + 1


def _end_of(text: str, at: int, room: int) -> int:
    """Return where a value ends, without parsing it unless it is a number or a string."""
    if text[at : at + 1] not in ("[", "{"):
        return DECODER.raw_decode(text, at)[1]
    depth = n = 0
    for found in BRACKET.finditer(text, at):
        mark = found[0]
        if mark in "[{":
            depth, n = depth + 1, n + 1
        elif mark in "]}":
            depth -= 1
        if not depth:
            return found.end()
        if n > room:
            raise ValueError(TOO_LARGE)
    raise ValueError(f"not JSON: what begins at character {at} has no end")

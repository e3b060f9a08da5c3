"""Interrupt calls at any line of the library, to test the state that they leave."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

#: The folder of the library.
INSIDE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Interrupted(BaseException):
    """An interrupt like Ctrl-C: no handler of errors catches it."""


def lines_of(call: Callable[[], Any]) -> int:
    """Return how many lines of the library a call goes through, repeats counted."""
    return _traced(call, None)


def first_visits(call: Callable[[], Any]) -> dict[tuple[str, int], int]:
    """Return when a call first comes to each line of the library, by file and number.

    Counted from 0 as :func:`interrupted_at` counts.
    """
    visits: dict[tuple[str, int], int] = {}
    _traced(call, None, visits)
    return visits


def interrupted_at(call: Callable[[], Any], line: int) -> bool:
    """Call, raise :class:`Interrupted` at a line, counted from 0; return whether it got there."""
    try:
        _traced(call, line)
    except Interrupted:
        return True
    return False


def _traced(
    call: Callable[[], Any],
    stop: int | None,
    visits: dict[tuple[str, int], int] | None = None,
) -> int:
    n = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal n
        if not frame.f_code.co_filename.startswith(INSIDE):
            return None
        if event == "line":
            if visits is not None:
                visits.setdefault((frame.f_code.co_filename, frame.f_lineno), n)
            n += 1
            if n - 1 == stop:
                sys.settrace(None)
                raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return n

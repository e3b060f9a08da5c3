"""Warnings of the library, at the line of the user's that led to them.

A change to a run is made wholly or not at all, but a filter may turn a warning into an error. A
warning during a change is therefore held back and issued when the change is done.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

import joblib
import sklearn

import skgpb

#: Folders of the code between a warning and the line that led to it.
INNER = tuple(
    os.path.dirname(os.path.abspath(module.__file__)) + os.sep
    for module in (skgpb, sklearn, joblib)
    if module.__file__
)

Message = tuple[str, type[Warning]]


Change = TypeVar("Change", bound=Callable[..., Any])
Changed = TypeVar("Changed")

#: Functions that hold warnings back.
_HOLDING: set[CodeType] = set()


def holds_warnings(change: Change) -> Change:
    """Let a function hold back the warnings of all that it calls, while it wants to.

    It has a local variable ``messages``: a list that they are appended to, or None. They are found
    on the stack when there is something to warn of, so that a round pays nothing for it, and no
    thread takes those of another.
    """
    _HOLDING.add(change.__code__)
    return change


@holds_warnings
def without_warnings(
    category: type[Warning], change: Callable[..., Changed], *arguments: Any, **options: Any
) -> Changed:
    """Call a function, and drop its warnings of exactly one category."""
    messages: list[Message] | None = []
    out = change(*arguments, **options)
    if messages:
        held, messages = messages, None
        for message, its_category in held:
            if its_category is not category:
                warn(message, its_category)
    return out


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside the library that led to it, or when what is under way is done."""
    frame: FrameType | None = sys._getframe(0)
    level, inside = 0, True
    while frame is not None:
        if frame.f_code in _HOLDING and frame.f_locals["messages"] is not None:
            frame.f_locals["messages"].append((message, category))
            return
        if inside:
            level, inside = level + 1, frame.f_code.co_filename.startswith(INNER)
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)

"""Warnings of the library, located at the line of the user's code that caused them.

A change to a run is complete or not made at all, but a filter may turn a warning into an error.
Therefore a warning during a change is held back and issued after the change.
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

#: Folders of the code between a warning and the user's line.
INNER = tuple(
    os.path.dirname(os.path.abspath(module.__file__)) + os.sep
    for module in (skgpb, sklearn, joblib)
    if module.__file__
)

Message = tuple[str, type[Warning]]


Change = TypeVar("Change", bound=Callable[..., Any])
Changed = TypeVar("Changed")

#: Code of the functions that hold back warnings.
_HOLDING: set[CodeType] = set()


def holds_warnings(change: Change) -> Change:
    """Decorate a function to hold back the warnings of everything that it calls.

    The function has a local variable ``messages``: a list to append warnings to, or None to let
    them pass. A warning looks for it on the stack, so that rounds without warnings cost nothing,
    and threads do not share warnings.
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
    """Warn at the user's line, or append to ``messages`` of a function that holds warnings."""
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

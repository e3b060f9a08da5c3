"""One lock for each optimizer and all of its parts, so that threads may share it.

The extension modules change buffers in place, outside the interpreter's own lock: two threads in
one posterior would corrupt memory. Every public method therefore holds the lock of its object.
Objects that share state, such as an optimizer and its posterior, share their lock; other objects
never wait for each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import wraps
from threading import RLock
from typing import Any, Self, TypeVar, cast
from weakref import WeakSet

Method = TypeVar("Method", bound=Callable)


class StateLock(type(RLock())):  # type: ignore[misc]  # RLock is a function
    """A reentrant lock whose copies and pickles are new, unheld locks."""

    def __init__(self) -> None:
        _LOCKS.add(self)

    #: Whether the guarded object is a private copy, to be pickled.
    private = False

    #: Calls of ``run`` in progress, which copies and pickles do not have.
    runs: Sequence[Any] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return StateLock, ()


class TornLock(StateLock):
    """The lock of an object in a forked process, if another thread held it during the fork."""

    def __enter__(self) -> bool:
        raise RuntimeError(
            "this process was forked while another thread used this object, which may be half "
            "changed here: copy or save it before the fork, or start processes by 'spawn' or "
            "'forkserver'"
        )


_LOCKS: WeakSet[StateLock] = WeakSet()


def _begin_in_child() -> None:
    """Reset the locks in a forked process, where the threads that held them are missing."""
    for lock in list(_LOCKS):
        lock.runs = ()
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock.__class__ = TornLock


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


def locked(method: Method) -> Method:
    """Decorate a method, or a property's function, of :class:`Guarded` to hold its lock."""

    @wraps(method)
    def holding(self: Any, *args: Any, **kwargs: Any) -> Any:
        # In one line: if a tracing function such as a debugger's raises at the end of a block, the
        # lock would be held for ever.
        with self._lock: return method(self if self._dirty is None else self._rebuild(), *args, **kwargs)  # fmt: skip  # noqa: E501, E701

    return cast(Method, holding)


def reading_log(method: Method) -> Method:
    """Decorate a method to hold the lock, even if an interrupted change cannot be undone."""

    @wraps(method)
    def holding(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock: self._mended_if_possible(); return method(self, *args, **kwargs)  # fmt: skip  # noqa: E501, E701, E702

    return cast(Method, holding)


class Guarded:
    """An estimator with a lock around its state; copies and pickles are consistent."""

    _lock: StateLock

    #: Description of an interrupted change; None otherwise.
    _dirty: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Give the object its lock: ``__init__`` of an estimator only stores parameters."""
        self = super().__new__(cls, *args, **kwargs)
        self._lock = StateLock()
        return self

    def _share_lock(self, part: Guarded) -> None:
        """Let an object that is part of this one use the same lock."""
        vars(part)["_lock"] = self._lock

    def _rebuild(self) -> Self:
        """Undo an interrupted change, and return the object."""
        return self

    def _mended_if_possible(self) -> None:
        if self._dirty is not None:
            with suppress(Exception):
                self._rebuild()

    def _state(self) -> Any:
        """Return the state that is copied and pickled."""
        return super().__getstate__()

    def _unwritten(self) -> list[Any]:
        """Return the objects that are never changed: parameters."""
        estimator: Any = self
        return list(estimator.get_params(deep=False).values())

    @locked
    def __getstate__(self) -> dict[str, Any]:
        if self._lock.private:
            return self._state()
        # The copy is pickled after the lock is released.
        state = deepcopy(self._state(), {id(value): value for value in self._unwritten()})
        state["_lock"].private = True
        return state

    @locked
    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)  # one state, one lock
        return twin

    @locked
    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin: Any = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(deepcopy(self._state(), memo))
        return twin

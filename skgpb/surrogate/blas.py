"""Small problems on one BLAS thread.

Threads of BLAS wait for each other actively. Over matrices of a few hundred rows they gain little
on idle cores, and on busy ones most of the time is spent in waiting (decision D-H39).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

#: Speed: largest number of rows of a small matrix.
MOST_ROWS_OF_SMALL = 300

# The number of threads belongs to the whole process: one block at a time changes it. The block
# restores it itself, since threadpoolctl does not keep other threads from doing so.
_holder = Lock()
# BLAS libraries, and the number of threads that each had before the block.
_before: list[tuple[Any, int]] = []


@cache
def _libraries() -> list[Any]:
    """Return the loaded BLAS libraries; cached, because finding them takes milliseconds."""
    return [each for each in ThreadpoolController().lib_controllers if each.user_api == "blas"]


@contextmanager
def one_thread_if_small(n: int) -> Iterator[None]:
    """Limit BLAS to one thread in the block if matrices have at most MOST_ROWS_OF_SMALL rows.

    The limit holds for all threads of the process. A block that begins while another one is active,
    even in another thread, leaves the number of threads to the active one.

    Examples
    --------
    >>> from skgpb.surrogate.blas import one_thread_if_small
    >>> with one_thread_if_small(20):
    ...     pass
    """
    holder = _holder
    if n > MOST_ROWS_OF_SMALL or not holder.acquire(blocking=False):
        yield
        return
    try:
        _before[:] = [(each, each.num_threads) for each in _libraries()]
        for each, number in _before:
            if number > 1:
                each.set_num_threads(1)
        yield
    finally:
        _give_back()
        holder.release()


def _give_back() -> None:
    """Restore the numbers of threads, unless they were changed in the meantime."""
    for each, number in _before:
        if number > 1 and each.num_threads == 1:
            each.set_num_threads(number)
    _before.clear()


def _begin_in_child() -> None:
    """Restore the threads in a forked process, where the thread that held the lock is missing."""
    global _holder
    _holder = Lock()
    _give_back()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)

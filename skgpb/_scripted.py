"""Objectives and workers that do what tests have written down; see :mod:`skgpb.testing`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from typing import Any


class OffAt:
    """An objective that raises, or returns None, at the calls of the given numbers."""

    def __init__(self, answer: Any, numbers: Any, raises: bool = True) -> None:
        self.answer, self.numbers, self.raises = answer, numbers, raises
        self.asked: list[Any] = []

    def __call__(self, query: Any) -> Any:
        self.asked.append(query)
        if len(self.asked) - 1 not in self.numbers:
            return self.answer(query)
        if self.raises:
            raise OSError("the instrument is off")
        return None


class InOrder(Executor):
    """Workers whose answers arrive in a given order of the submissions, counted from 0.

    Parameters
    ----------
    order : iterable of int
        Order in which the results arrive. Each arrives as soon as it has been submitted and
        all results before it have arrived.
    num_workers : int
        Number of workers that the executor reports.
    """

    def __init__(self, order: Iterable[int], num_workers: int) -> None:
        self.num_workers = num_workers
        self.futures: list[Future] = []
        self._order = list(order)
        self._tasks: list[tuple] = []

    def submit(self, function: Callable, /, *args: Any, **kwargs: Any) -> Future:
        """Take a task, which is played when it is its turn."""
        self.futures.append(_Awaited(self._arrive))
        self._tasks.append((function, args, kwargs))
        return self.futures[-1]

    def _arrive(self) -> None:
        while self._order and self._order[0] < len(self._tasks):
            number = self._order.pop(0)
            function, args, kwargs = self._tasks[number]
            try:
                self.futures[number].set_result(function(*args, **kwargs))
            except Exception as error:
                self.futures[number].set_exception(error)


class _Awaited(Future):
    """A future that records when somebody waits for it, so that it arrives only then."""

    def __init__(self, awaited: Callable) -> None:
        super().__init__()
        self._is_awaited = awaited

    def add_done_callback(self, function: Callable[[Future], object]) -> None:
        super().add_done_callback(function)
        self._is_awaited()

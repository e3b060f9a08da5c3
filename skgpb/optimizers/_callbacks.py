"""Support of scikit-learn's callbacks: a run is a task with a subtask for each evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import maxsize
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:  # it brings no types of its own

    class CallbackSupportMixin:
        """Names that ``sklearn.callback`` has from scikit-learn 1.9 on."""

        def set_callbacks(self, *callbacks: Any) -> Self: ...

        def _init_callback_context(
            self, task_name: str, *, max_subtasks: int | None = 0
        ) -> Any: ...

    def with_callbacks(method: Method) -> Method: ...

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Nothing is called back by older versions."""

        def with_callbacks(method: Method) -> Method:
            """Return the method."""
            return method


class Followed(Protocol):
    """An estimator that scikit-learn's callbacks may follow."""

    def _init_callback_context(self, task_name: str, *, max_subtasks: int | None = 0) -> Any: ...


class RunTask:
    """The task of a run; without callbacks nothing happens.

    Parameters
    ----------
    estimator : estimator
        The estimator that runs.
    context : sklearn.callback.CallbackContext or None
        Context of the run; None if nobody follows.
    """

    def __init__(self, estimator: Any, context: Any) -> None:
        self._estimator, self._context = estimator, context
        self._out: dict[Any, Any] = {}

    def begin(self, queries: Iterable[Any]) -> None:
        """Say that queries are being evaluated."""
        if self._context is None:
            return
        for query in queries:
            task = self._context.subcontext(task_name="evaluation")
            self._out[query] = task.call_on_fit_task_begin(estimator=self._estimator)

    def end(self, query: Any, reward: Any) -> bool:
        """Report an answered query; return whether a callback ends the run."""
        if self._context is None:
            return False
        return self._out.pop(query).call_on_fit_task_end(
            estimator=self._estimator, metadata={"query": query, "reward": reward}
        )

    def close(self) -> None:
        """Say that the run has ended."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)


def begin_task(estimator: Followed, most: int) -> RunTask:
    """Begin the task of a run, with its largest number of evaluations."""
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        return RunTask(estimator, None)
    subtasks = None if most == maxsize else most
    context = estimator._init_callback_context("run", max_subtasks=subtasks)
    return RunTask(estimator, context.call_on_fit_task_begin(estimator=estimator))

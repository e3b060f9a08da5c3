"""Evaluation of the queries of a run: joblib in batches, or the workers of an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from pickle import PicklingError
from queue import Empty, SimpleQueue
from typing import Any, Self
from uuid import uuid4

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from skgpb.utils import MOST_JOBS, Integral, check_size

# Speed: seconds. Where waiting cannot be interrupted, as on Windows, Ctrl-C takes no longer than
# this.
POLL = 0.5

# Said where an objective fails because it does not take a query.
TAKES_A_QUERY = "an objective takes a query; of_x(function) makes one of a function of x"

# Errors of an executor that could evaluate no query at all: it is broken or shut down, or the
# objective or a query cannot be sent. Exceptions of the objective arrive as outcomes instead.
NOT_OF_THE_QUERY = (
    BrokenExecutor,
    CancelledError,
    PicklingError,
    AttributeError,
    ImportError,
    TypeError,
)


def workers_of(
    executor: Executor | None, n_jobs: Any, objective: Callable, on_error: str
) -> Batches | Arrivals:
    """Return who evaluates the queries of a run, or raise where the arguments make no sense."""
    if executor is None:
        return Batches(n_jobs, objective, on_error)
    return Arrivals(executor, n_jobs, objective, on_error)


class Batches:
    """Jobs of joblib: queries that begin together are answered together, in their order.

    Parameters
    ----------
    n_jobs : int or None
        As joblib has it.
    objective, on_error
        As in ``run``.
    """

    def __init__(self, n_jobs: Any, objective: Callable, on_error: str) -> None:
        positive = isinstance(n_jobs, Integral) and int(n_jobs) > 0
        if positive:
            check_size(n_jobs, "n_jobs", most=MOST_JOBS)
        # Not what a backend makes of a number of jobs: a batch is the same on all of them.
        self._size = int(n_jobs) if positive else effective_n_jobs(n_jobs)
        self._pool = Parallel(n_jobs=n_jobs)
        self._objective, self._on_error = objective, on_error
        self.raises: bool = on_error == "raise"
        #: Queries being evaluated.
        self.out: list[Any] = []
        #: Takes a query and its outcome, see :func:`evaluate`, as soon as there is one.
        self.arrive: Callable[[Any, tuple], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is being evaluated between two batches."""

    @property
    def room(self) -> int:
        """Number of queries that may be begun now."""
        return 0 if self.out else self._size

    def begin(self, queries: list[Any]) -> None:
        """Take the queries of a batch."""
        self.out = queries

    def answers(self) -> None:
        """Evaluate the batch."""
        begun, self.out = self.out, []
        objective, on_error = self._objective, self._on_error
        if len(begun) == 1:
            self.arrive(begun[0], evaluate(objective, begun[0], on_error))
            return
        outcomes = self._pool(delayed(evaluate)(objective, query, on_error) for query in begun)
        for query, outcome in zip(begun, outcomes, strict=True):
            self.arrive(query, outcome)

    def evaluated(self) -> None:
        """Take further finished evaluations: none, because a batch is answered at once."""


class Arrivals:
    """Workers of an executor: answers come one by one, and each makes room for one query.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        It is not shut down.
    n_jobs : int or None
        Number of queries evaluated at once; None and -1 for one for each worker.
    objective, on_error
        As in ``run``.
    """

    def __init__(self, executor: Executor, n_jobs: Any, objective: Callable, on_error: str) -> None:
        if not isinstance(executor, Executor):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor or None, got {executor!r}; a "
                "client of dask has one: client.get_executor()"
            )
        if n_jobs in (None, -1):
            n_jobs = n_workers(executor)
        self._size = check_size(n_jobs, "n_jobs", most=MOST_JOBS)
        self._executor, self._objective, self._on_error = executor, objective, on_error
        self.raises: bool = on_error == "raise"
        self._arrived: SimpleQueue[tuple[Any, Future]] = SimpleQueue()
        #: Queries being evaluated.
        self.out: dict[Any, Future] = {}
        #: Takes a query and its outcome, see :func:`evaluate`, as soon as there is one.
        self.arrive: Callable[[Any, tuple], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel evaluations that have not begun, and take the finished ones, at any end."""
        for query, future in self.out.items():
            if not future.cancel() and future.done() and future.exception() is None:
                self.arrive(query, future.result())

    @property
    def room(self) -> int:
        """Number of queries that may be begun now: one after the other, each with its own look."""
        return int(len(self.out) < self._size)

    def begin(self, queries: list[Any]) -> None:
        """Give queries to the executor."""
        for query in queries:
            # dask would answer a query that is asked again as it did before, noise included.
            unique = uuid4()
            task = self._executor.submit(evaluate, self._objective, query, self._on_error, unique)
            self.out[query] = task
            task.add_done_callback(partial(self._done, query))

    def _done(self, query: Any, future: Future) -> None:
        """Receive an answer, in any thread of the executor."""
        self._arrived.put((query, future))

    def answers(self) -> None:
        """Wait for the next answer."""
        while self.out:
            try:
                query, future = self._arrived.get(timeout=POLL)
            except Empty:
                continue
            try:
                outcome = future.result()
            except Exception as error:
                if not self.raises and isinstance(error, NOT_OF_THE_QUERY):
                    raise
                outcome = None, error if self.raises else described(error)
            self.arrive(query, outcome)
            del self.out[query]
            return

    def evaluated(self) -> None:
        """Take the answers that have arrived already, without waiting."""
        while not self._arrived.empty():
            self.answers()


def n_workers(executor: Executor) -> int:
    """Return the number of workers of an executor, or raise ValueError if it is unknown."""
    client: Any = getattr(executor, "_client", None)
    number: Any
    if hasattr(client, "nthreads"):  # dask: threads of all workers
        number = sum(client.nthreads().values())
    else:  # mpi4py says it in public, the standard library and loky do not
        number = getattr(executor, "num_workers", getattr(executor, "_max_workers", None))
    if not isinstance(number, Integral) or number < 1:
        raise ValueError(
            f"n_jobs must say how many queries are to be evaluated at once: {executor!r} does not "
            "say how many workers it has"
        )
    return int(number)


def evaluate(
    objective: Callable, query: Any, on_error: str, _unique: Any = None
) -> tuple[Any, str | None]:
    """Return reward and None, or None and the reason; a module-level function for pickling."""
    try:
        return objective(query), None
    except Exception as error:
        # Functions of x, as optimizers elsewhere take them, fail at the first query.
        takes_x = isinstance(error, TypeError | AttributeError)
        takes_x = takes_x and type(query).__name__ in str(error)
        if on_error == "raise":
            if takes_x:
                error.add_note(TAKES_A_QUERY)
            raise
        return None, f"{described(error)}; {TAKES_A_QUERY}" if takes_x else described(error)


def described(error: BaseException) -> str:
    """Return an exception in a line, as ``failed_`` has it."""
    return f"{type(error).__name__}: {error}"

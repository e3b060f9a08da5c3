"""The method ``run`` of all searches: workers, budget, stop and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from math import ceil, inf
from pickle import PicklingError
from queue import Empty, SimpleQueue
from sys import maxsize
from threading import Lock
from time import monotonic, sleep
from typing import Any, Self
from uuid import uuid4

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from skgpb import defaults
from skgpb.exceptions import AllPendingError, EvaluationWarning
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._feasibility import AnswerWithOutcomes
from skgpb.optimizers._run import ANSWERED, CompletedEvaluation, Evaluations, Run, RunResult
from skgpb.optimizers._stopping import StopRule
from skgpb.utils.locks import StateLock, locked
from skgpb.utils.progress import Progress
from skgpb.utils.validation import MOST_JOBS, Integral, Real, check_size
from skgpb.utils.warnings import warn

# -- Workers: joblib in batches, or an executor ----------------------------------------------------

# Speed: seconds of one wait for an answer. On some platforms, such as Windows, Ctrl-C takes effect
# only after the wait.
POLL = 0.5

# Hint for an objective that fails because it expects x instead of a query.
TAKES_A_QUERY = "an objective takes a query; of_x(function) makes one of a function of x"

# Errors of an executor that would occur for every query: it is broken or shut down, or it cannot
# pickle the objective or a query. Exceptions of the objective itself arrive as outcomes instead.
NOT_OF_THE_QUERY = (
    BrokenExecutor,
    PicklingError,
    AttributeError,
    ImportError,
    TypeError,
)


def make_workers(
    executor: Executor | None, n_jobs: Any, objective: Callable, on_error: str
) -> JoblibWorkers | ExecutorWorkers:
    """Return the workers of a run: of joblib, or of the executor if there is one."""
    if executor is None:
        return JoblibWorkers(n_jobs, objective, on_error)
    return ExecutorWorkers(executor, n_jobs, objective, on_error)


class JoblibWorkers:
    """Jobs of joblib: the queries of a batch start together and are answered together, in order.

    Parameters
    ----------
    n_jobs : int or None
        As for joblib.
    objective, on_error
        As in ``run``.
    """

    def __init__(self, n_jobs: Any, objective: Callable, on_error: str) -> None:
        positive = isinstance(n_jobs, Integral) and int(n_jobs) > 0
        if positive:
            check_size(n_jobs, "n_jobs", most=MOST_JOBS)
        # A positive n_jobs is the size of a batch, even on a backend that runs fewer jobs at once.
        self._size = int(n_jobs) if positive else effective_n_jobs(n_jobs)
        self._pool = Parallel(n_jobs=n_jobs)
        self._objective, self._on_error = objective, on_error
        self.raises: bool = on_error == "raise"
        #: Queries being evaluated.
        self.out: list[Any] = []
        #: Function that is called with each query and its outcome, see :func:`evaluate`.
        self.arrive: Callable[[Any, tuple], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: no query is being evaluated between two batches."""

    @property
    def room(self) -> int:
        """Number of queries that can start now."""
        return 0 if self.out else self._size

    def begin(self, queries: list[Any]) -> None:
        """Set the queries of the next batch."""
        self.out = queries

    def answers(self) -> None:
        """Evaluate the batch and pass the outcomes to ``arrive``."""
        begun, self.out = self.out, []
        objective, on_error = self._objective, self._on_error
        if len(begun) == 1:
            self.arrive(begun[0], evaluate(objective, begun[0], on_error))
            return
        outcomes = self._pool(delayed(evaluate)(objective, query, on_error) for query in begun)
        for query, outcome in zip(begun, outcomes, strict=True):
            self.arrive(query, outcome)

    def collect_results(self) -> None:
        """Do nothing: a batch has no finished evaluations that have not arrived."""


class ExecutorWorkers:
    """Workers of an executor: answers arrive one by one, and each makes room for one query.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        The executor; the run does not shut it down.
    n_jobs : int or None
        Number of queries evaluated at once; None and -1 stand for the number of workers.
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
        #: Function that is called with each query and its outcome, see :func:`evaluate`.
        self.arrive: Callable[[Any, tuple], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel evaluations that have not started, and pass the finished ones to ``arrive``."""
        for query, future in self.out.items():
            if not future.cancel() and future.done() and future.exception() is None:
                self.arrive(query, future.result())

    @property
    def room(self) -> int:
        """Number of queries that can start now: 0 or 1, because each is chosen by itself."""
        return int(len(self.out) < self._size)

    def begin(self, queries: list[Any]) -> None:
        """Submit queries to the executor."""
        for query in queries:
            # dask would return the cached outcome of an equal query, noise included.
            unique = uuid4()
            task = self._executor.submit(evaluate, self._objective, query, self._on_error, unique)
            self.out[query] = task
            task.add_done_callback(partial(self._enqueue_result, query))

    def _enqueue_result(self, query: Any, future: Future) -> None:
        """Put a finished evaluation into the queue; called in any thread of the executor."""
        self._arrived.put((query, future))

    def answers(self) -> None:
        """Wait for the next outcome and pass it to ``arrive``."""
        while self.out:
            try:
                query, future = self._arrived.get(timeout=POLL)
            except Empty:
                continue
            try:
                outcome = future.result()
            except CancelledError as error:  # it has no message
                raise CancelledError(
                    f"the evaluation of {query!r} was cancelled, not by this run: all answers are "
                    "kept, and the next run begins with the queries that were being evaluated"
                ) from error
            except Exception as error:
                if not self.raises and isinstance(error, NOT_OF_THE_QUERY):
                    raise
                outcome = None, error if self.raises else describe_error(error)
            self.arrive(query, outcome)
            del self.out[query]
            return

    def collect_results(self) -> None:
        """Pass all finished evaluations to ``arrive``, without waiting."""
        while not self._arrived.empty():
            self.answers()


def n_workers(executor: Executor) -> int:
    """Return the number of workers of an executor, or raise ValueError if it is unknown."""
    client: Any = getattr(executor, "_client", None)
    number: Any
    if hasattr(client, "nthreads"):  # dask: threads of all workers
        number = sum(client.nthreads().values())
    else:  # a public attribute of mpi4py, a private one of the standard library and of loky
        number = getattr(executor, "num_workers", getattr(executor, "_max_workers", None))
    if not isinstance(number, Integral) or number < 1:
        raise ValueError(
            f"n_jobs must be an integer >= 1 with executor={executor!r}, whose number of workers "
            "is unknown"
        )
    return int(number)


def evaluate(
    objective: Callable, query: Any, on_error: str, _unique: Any = None
) -> tuple[Any, str | None]:
    """Return the outcome of a query: (reward, None), or (None, reason) after an exception.

    A function of the module, so that it can be pickled.
    """
    try:
        return objective(query), None
    except Exception as error:
        # A function of x, as other libraries expect it, fails at the first query.
        takes_x = isinstance(error, TypeError | AttributeError)
        takes_x = takes_x and type(query).__name__ in str(error)
        if on_error == "raise":
            if takes_x:
                error.add_note(TAKES_A_QUERY)
            raise
        return None, f"{describe_error(error)}; {TAKES_A_QUERY}" if takes_x else describe_error(
            error
        )


def describe_error(error: BaseException) -> str:
    """Return an exception as a text, the reason of a failure in ``failed_``."""
    return f"{type(error).__name__}: {error}"


# -- The loop of one call of ``run`` ---------------------------------------------------------------

# Speed: seconds between two checks for answers of another run.
PAUSE = 0.01
# Limit: largest ``verbose``, the order of the largest levels in scikit-learn.
MOST_VERBOSE = 100


def check_run(objective: Any, callback: Any, on_error: Any, verbose: Any, timeout: Any) -> None:
    """Raise an error for invalid arguments of ``run``, before the run starts."""
    if not callable(objective):
        raise TypeError(f"objective must be callable, got {objective!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    if on_error not in ("record", "raise"):
        raise ValueError(f"on_error must be 'record' or 'raise', got {on_error!r}")
    check_size(int(verbose) if isinstance(verbose, bool) else verbose, "verbose", 0, MOST_VERBOSE)
    number = isinstance(timeout, Real) and not isinstance(timeout, bool)
    if timeout is not None and not (number and timeout > 0):
        raise ValueError(f"timeout must be a number of seconds > 0 or None, got {timeout!r}")


def check_budget(budget: Any) -> int:
    """Return ``budget``, or raise ValueError if it is no integer >= 1."""
    if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 1:
        raise ValueError(f"budget must be an integer >= 1, got {budget!r}")
    return int(budget)


class RunEvaluations:
    """The evaluations of one call of ``run``.

    Attributes
    ----------
    running : threading.Lock
        Locked while the call goes on; released however it ends.
    queries : dict
        Queries to evaluate or to tell, and the number of events when their evaluation started.
    """

    def __init__(self) -> None:
        self.running = Lock()
        self.queries: dict[Any, int] = {}


class EvaluationLoop:
    """One call of ``run``.

    Methods that read or change the state of the optimizer hold its lock. The lock is free while
    queries are evaluated.

    Parameters
    ----------
    search : BaseBanditOptimizer
        The optimizer, whose ``ask`` and ``tell`` the loop uses.
    workers : JoblibWorkers or ExecutorWorkers
        Workers that evaluate the queries.
    callback, checkpoint, timeout
        As in ``run``.
    rule : StopRule
        The rule of ``stop``.
    """

    def __init__(
        self,
        search: Any,
        workers: JoblibWorkers | ExecutorWorkers,
        callback: Callable[[Any], Any] | None,
        checkpoint: str | os.PathLike[str] | None,
        rule: StopRule,
        timeout: float | None,
    ) -> None:
        self._timeout, self._end = timeout, inf if timeout is None else monotonic() + timeout
        self._workers = workers
        self._optimizer = search
        self._lock: StateLock = search._lock
        self._has_costs = search._has_costs
        self._callback, self._checkpoint, self._rule = callback, checkpoint, rule
        self._mine = RunEvaluations()
        self._done = self._failed = self._in_a_row = 0
        self._resumes = False
        self._last: Any = None
        #: Reason for the end of the run; empty while it goes on.
        self._ended = ""

    # ``_dirty`` and ``_rebuild`` of the optimizer, whose lock the decorator ``locked`` holds here.

    @property
    def _dirty(self) -> int | None:
        return self._optimizer._dirty

    def _rebuild(self) -> Self:
        self._optimizer._rebuild()
        return self

    @property
    def _run(self) -> Run:
        return self._optimizer.run_

    @property
    def _shared_evaluations(self) -> Evaluations:
        return self._run.evaluations

    # -- budget -------------------------------------------------------------------------------

    def limit(self, budget: Any, contexts: Any, max_cost: Any) -> None:
        """Set the number of evaluations, the contexts and the maximum cost, or raise an error."""
        optimizer, self._max_cost = self._optimizer, max_cost
        self._contexts: list[np.ndarray] | None = None
        if not optimizer._contexts:
            optimizer._contexts.validate(contexts)
            self._most = self._evaluations(budget)
            return
        if not (contexts is None or (budget is None and max_cost is None)):
            raise ValueError(
                "budget and max_cost must be None if contexts are given, got "
                f"{budget!r} and {max_cost!r}"
            )
        in_order = loop.begin(self._optimizer, lambda: optimizer._contexts.validate_all(contexts))
        self._contexts, self._most = in_order, len(in_order)

    def _evaluations(self, budget: Any) -> int:
        """Return the maximum number of evaluations of a run without contexts."""
        optimizer, max_cost = self._optimizer, self._max_cost
        if max_cost is None:
            if budget is None and self._has_costs:
                raise ValueError("run needs a budget of evaluations, a max_cost, or both")
            return check_budget(budget)
        if not self._has_costs:
            raise ValueError(
                f"max_cost needs queries with costs, and those of {type(optimizer).__name__} "
                f"have none: pass budget, a number of evaluations; got max_cost={max_cost!r}"
            )
        number = isinstance(max_cost, Real) and not isinstance(max_cost, bool)
        if not (number and 0 < max_cost < np.inf):
            raise ValueError(f"max_cost must be a finite number > 0, got {max_cost!r}")
        if budget is not None:
            return check_budget(budget)
        # Failures cost nothing: this limit ends the run if all evaluations fail.
        optimizer.start()
        least = optimizer._cost_model.least
        return ceil(max_cost / least) if least > 0.0 else maxsize

    def resume(self) -> None:
        """Count the answers and failures that the optimizer has already as part of this run."""
        self._resumes = True
        if self._contexts is not None:
            self._leave_batch()
        told = [event for event in self._run.events if event[0] in ("tell", "fail")]
        self._done, self._failed = len(told), sum(event[0] == "fail" for event in told)
        self._last = told[-1][1] if told else None

    def show(self, bar: bool, verbose: int) -> None:
        """Set up the progress bar and the printed lines."""
        name = type(self._optimizer).__name__
        minimize = self._optimizer._params.direction == "minimize"
        shown: dict[str, Any] = {"bar": bar, "verbose": verbose, "minimize": minimize}
        if self._max_cost is None:
            self._progress = Progress(name, max(0, self._most - self._done), **shown)
        else:
            shown |= {"unit": "cost", "spent": self._cost}
            self._progress = Progress(name, self._max_cost, **shown)

    @locked
    def _cost(self) -> float:
        """Return the cost of the answers of this run."""
        return self._optimizer.spent_ - self._spent_before

    @locked
    def _reaches_max_cost(self, out: Iterable[Any] = ()) -> bool:
        """Return whether the cost reaches ``max_cost`` once the queries in ``out`` are answered."""
        if self._max_cost is None:
            return False
        return self._cost() + sum(map(self._optimizer._cost_model.cost_of, out)) >= self._max_cost

    # -- the loop -----------------------------------------------------------------------------

    def result(self) -> RunResult[Any]:
        """Ask, evaluate and tell until the run ends; return its result."""
        optimizer, workers = self._optimizer, self._workers
        optimizer.start()
        if self._contexts is not None:
            # The contexts of an interrupted run are past: its queries are not evaluated now.
            self._leave_batch()
        self._spent_before = 0.0
        if self._resumes:
            self._ended = self._stop_reason()
        elif self._has_costs:
            self._spent_before = optimizer.spent_
        self._save()
        workers.arrive = self._arrive
        with self._mine.running, self._progress, workers:
            # Results that an interrupted run did not pass to ``tell`` come first.
            self._join()
            while self._done < self._most and not self._ended:
                if not self._answers():
                    if not workers.out and self._reaches_max_cost():
                        break
                    self._evaluate()
                self._tell_answers()
                if not self._ended and monotonic() >= self._end:
                    self._ended = f"{self._timeout:g} seconds have passed"
                if self._in_a_row >= defaults.MOST_FAILURES and self._failed == self._done:
                    raise RuntimeError(
                        f"the last {self._in_a_row} evaluations have failed, the last one with: "
                        f"{self._run.failures[-1][2]}; on_error='raise' shows where"
                    )
                if not self._ended and self._reaches_max_cost():
                    break
        if self._failed:
            warn(
                f"{self._failed} of {self._done} evaluations failed, the last one with: "
                f"{self._run.failures[-1][2]}; failed_ has them all",
                EvaluationWarning,
            )
        return self._make_result()

    def _evaluate(self) -> None:
        """Start as many queries as the workers have room for, and wait for an answer."""
        workers = self._workers
        while due := self._next_queries():
            workers.begin(due)
            self._last = due[-1]
        if not workers.out:
            sleep(PAUSE)  # other runs evaluate all possible queries
        workers.answers()

    def _tell_answers(self) -> None:
        """Tell the answers that have arrived, until the run ends."""
        refused: Exception | None = None
        while answers := self._answers():
            query, (reward, error) = answers[0].query, answers[0].outcome
            reward, error = self._validate_result(query, reward, error, self._workers.raises)
            if isinstance(error, Exception):
                # Tell all other answers that have arrived before raising this error.
                self._leave_out(answers[0])
                self._workers.collect_results()
                refused = refused or error
                continue
            self._tell(answers[0], reward, error)
            if isinstance(reward, AnswerWithOutcomes):
                reward = reward.reward
            self._last = query if self._last is None else self._last
            self._done += 1
            self._in_a_row = self._in_a_row + 1 if reward is None else 0
            self._failed += reward is None
            beyond = self._optimizer._limit_violation_mask()
            self._progress.record(
                reward, error, beyond=reward is not None and bool(beyond[-1:].any())
            )
            if len(answers) == 1:
                self._save()
            stopped = self._callback is not None and self._callback(self._optimizer) is True
            self._ended = "stopped by the callback" if stopped else self._stop_reason()
            if self._ended or (refused is None and self._reaches_max_cost()):
                self._save()
                break
        if refused is not None:
            self._save()
            raise refused

    @locked
    def _tell(self, answer: CompletedEvaluation, reward: Any, error: str | None) -> None:
        """Tell an answer and remove it at once, because another run may ask its query again."""
        if error is None:
            self._optimizer.tell(answer.query, reward)
        else:
            loop.commit(self._optimizer, self._run.fail, answer.query, error)
        self._leave_out(answer)

    def _save(self) -> None:
        """Save the run if there is a checkpoint."""
        if self._checkpoint is not None:
            self._optimizer.save(self._checkpoint)

    def _stop_reason(self) -> str:
        """Return the reason why the run stops now; empty if it goes on."""
        optimizer = self._optimizer
        if reason := loop.stops(optimizer, self._rule):
            return reason
        if loop.has_data(optimizer) and optimizer._is_exhausted:
            return "every query was answered, and answers are exact"
        return ""

    @locked
    def _make_result(self) -> RunResult[Any]:
        """Return the result of the run, with the reason for its end."""
        result = loop.summary(self._optimizer, self._last, self._rule)
        if result.x is None:
            message = f"there is no recommendation: all {self._done} evaluations failed"
        elif self._contexts is not None and self._done == self._most:
            message = "all contexts were played"
        else:
            message = self._ended or "the budget is spent"
        result.update(nfev=self._done, nfail=self._failed, message=message)
        if self._has_costs:
            result.cost = self._cost()
        return result

    # -- evaluations in progress --------------------------------------------------------------

    @locked
    def _join(self) -> None:
        """Register this run, and adopt the untold answers of runs that have ended."""
        running = [run for run in self._lock.runs if run.running.locked()]
        self._lock.runs = [*running, self._mine]
        answers = self._answers_left()[: max(0, self._most - self._done)]
        self._mine.queries.update({answer.query: answer.n_events for answer in answers})

    def _queries_of_other_runs(self) -> set[Any]:
        """Return the queries that other runs are evaluating."""
        runs = [run for run in self._lock.runs if run is not self._mine and run.running.locked()]
        return {query for run in runs for query in list(run.queries)}

    def _answers_left(self) -> list[CompletedEvaluation]:
        """Return the answers of runs that ended before they could tell them."""
        busy, arrived = self._queries_of_other_runs(), self._shared_evaluations.arrived
        left = [answer for answer in arrived if answer.query not in busy]
        for answer in left:
            since = self._run.events[answer.n_events :]
            if any(kind in ANSWERED and rest[0] == answer.query for kind, *rest in since):
                arrived.remove(answer)  # the run ended between ``tell`` and ``_leave_out``
        return [answer for answer in left if answer in arrived]

    @locked
    def _leave_batch(self) -> None:
        """Tell the answers of runs that have ended, and drop their unevaluated queries."""
        for answer in self._answers_left():
            self._tell(answer, *self._validate_result(answer.query, *answer.outcome, False))
        busy, evaluated = self._queries_of_other_runs(), self._shared_evaluations
        evaluated.batch = [query for query in evaluated.batch if query in busy]

    def _arrive(self, query: Any, outcome: tuple[Any, Any]) -> None:
        """Store an outcome, which this run or a later one tells."""
        if all(answer.query != query for answer in self._answers()):
            answer = CompletedEvaluation(query, outcome, self._mine.queries[query])
            self._shared_evaluations.arrived.append(answer)

    def _answers(self) -> list[CompletedEvaluation]:
        """Return the answers that this run has to tell."""
        arrived = self._shared_evaluations.arrived
        return [answer for answer in arrived if answer.query in self._mine.queries]

    def _leave_out(self, answer: CompletedEvaluation) -> None:
        """Remove an answer that the optimizer has accepted or refused."""
        self._shared_evaluations.arrived.remove(answer)
        self._mine.queries.pop(answer.query, None)

    @locked
    def _validate_result(
        self, query: Any, reward: Any, error: Any, raises: bool
    ) -> tuple[Any, Any]:
        """Return (reward, None), or (None, reason); the reason is a text or an exception to raise.

        An evaluation has failed if ``tell`` would reject its reward.
        """
        if error is not None or reward is None:
            return reward, error
        # Raises for invalid parameters, which are not the fault of the reward.
        loop.apply_set_params(self._optimizer)
        try:
            checked = self._optimizer._validate_answer(query, reward, None)
        except (TypeError, ValueError) as wrong:
            self._optimizer._validate_answer(query, None, None)  # raises if the query is invalid
            if raises:
                return None, type(wrong)(f"objective({query!r}) returned no valid answer: {wrong}")
            return None, describe_error(wrong)
        if isinstance(reward, Mapping) or (
            isinstance(reward, tuple) and isinstance(reward[-1], Mapping)
        ):
            reward = checked[1]  # rewards in the order of campaigns, or a float with outcomes
        return reward, None

    @locked
    def _next_queries(self) -> list[Any]:
        """Return the next queries: unevaluated ones of runs that have ended, or else new ones."""
        out = self._workers.out
        begun = self._done + len(out)
        most = min(self._workers.room, self._most - begun)
        if most < 1 or (out and self._reaches_max_cost(out)):
            return []
        evaluated, run = self._shared_evaluations, self._run
        evaluating = [each for each in evaluated.batch if run.pending.get(each, 0) is None]
        evaluated.batch = evaluating
        others, mine = self._queries_of_other_runs(), self._mine.queries
        left = [each for each in evaluated.batch if each not in others and each not in mine]
        due = left[:most]
        if not due:
            loop.apply_set_params_and_warn(self._optimizer)
            try:
                due = loop.commit(self._optimizer, self._ask_to_evaluate, begun, most)
            except AllPendingError:
                if not (out or others):
                    raise
                return []  # all possible queries are pending: wait for an answer
        mine.update(dict.fromkeys(due, len(run.events)))
        return due

    def _ask_to_evaluate(self, begun: int, most: int) -> list[Any]:
        """Ask for queries and add them to the batch, in one change that an error undoes."""
        loop.check_space(self._optimizer)
        ahead = self._contexts
        due = self._ask(most) if ahead is None else self._ask_each(ahead[begun : begun + most])
        evaluated = self._shared_evaluations
        evaluated.batch = [*evaluated.batch, *due]
        return due

    def _ask(self, most: int) -> list[Any]:
        """Return ``most`` queries: pending ones that no run evaluates, then new ones."""
        batch = self._shared_evaluations.batch
        possible = filter(self._optimizer._may_ask, self._run.asked)
        free = [query for query in possible if query not in batch][:most]
        if len(free) == most:
            return free
        return [*free, *loop.ask(self._optimizer, most - len(free), another=True)]

    def _ask_each(self, contexts: list[np.ndarray]) -> list[Any]:
        """Return one query for each context, which no run evaluates yet."""
        queries = list[Any]()
        for context in contexts:
            asked = filter(self._optimizer._may_ask, self._run.asked)
            out = [*self._shared_evaluations.batch, *queries]
            known = [each for each in asked if np.array_equal(each.context, context)]
            free = [each for each in known if each not in out]
            queries += free[:1] or loop.ask(self._optimizer, 1, another=True, context=context)
        return queries

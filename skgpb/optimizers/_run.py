"""The loop over queries, whoever evaluates them, with checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from math import ceil, inf
from sys import maxsize
from threading import Lock
from time import monotonic, sleep
from typing import Any, Self

import numpy as np

from skgpb import defaults
from skgpb._warnings import warn
from skgpb.exceptions import AllPendingError, EvaluationWarning
from skgpb.locks import StateLock, locked
from skgpb.optimizers._loop import Loop
from skgpb.optimizers._record import ANSWERED, CompletedEvaluation, Evaluations, Record
from skgpb.optimizers._result import RunResult
from skgpb.optimizers._stop import Stop
from skgpb.optimizers._workers import Arrivals, Batches, described
from skgpb.progress import Progress
from skgpb.utils import Integral, Real, check_size

# Speed: seconds between two looks whether another run has told an answer.
PAUSE = 0.01
# Limit: scikit-learn's largest levels are of this order.
MOST_VERBOSE = 100


def check_run(objective: Any, callback: Any, on_error: Any, verbose: Any, timeout: Any) -> None:
    """Raise where these cannot be arguments of ``run``, before anything begins."""
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
    """Return a number of evaluations, or raise."""
    if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 1:
        raise ValueError(f"budget must be an integer >= 1, got {budget!r}")
    return int(budget)


class Evaluated:
    """The evaluations of one call of ``run``.

    Attributes
    ----------
    running : threading.Lock
        Held by the call, however it ends.
    queries : dict
        Queries to evaluate or to tell, and the number of events when their evaluation began.
    """

    def __init__(self) -> None:
        self.running = Lock()
        self.queries: dict[Any, int] = {}


class EvaluationLoop:
    """One call of ``run``.

    Its methods that look at the state of the optimizer hold the optimizer's lock; it is free while
    queries are evaluated.

    Parameters
    ----------
    loop : Loop
        It asks, and is told.
    workers : Batches or Arrivals
        They evaluate.
    callback, checkpoint, stop, timeout
        As in ``run``.
    """

    def __init__(
        self,
        loop: Loop,
        workers: Batches | Arrivals,
        callback: Callable[[Any], Any] | None,
        checkpoint: str | os.PathLike[str] | None,
        stop: Stop | Callable[[Any], Any] | None,
        timeout: float | None,
    ) -> None:
        self._timeout, self._end = timeout, inf if timeout is None else monotonic() + timeout
        self._loop, self._workers = loop, workers
        self._optimizer: Any = loop.search
        self._lock: StateLock = loop.search._lock
        self._has_costs = loop.search._has_costs
        self._callback, self._checkpoint, self._stop = callback, checkpoint, stop
        self._mine = Evaluated()
        self._done = self._failed = self._in_a_row = 0
        self._resumes = False
        self._last: Any = None
        #: Why the run has ended; empty while it goes on.
        self._ended = ""

    # What ``locked`` asks for: a play is guarded by the lock of its optimizer.

    @property
    def _dirty(self) -> int | None:
        return self._optimizer._dirty

    def _rebuilt(self) -> Self:
        self._optimizer._rebuilt()
        return self

    @property
    def _record(self) -> Record:
        return self._loop.record

    @property
    def _evaluated(self) -> Evaluations:
        return self._record.evaluations

    # -- how far it goes ----------------------------------------------------------------------

    def limit(self, budget: Any, contexts: Any, max_cost: Any) -> None:
        """Set how many queries are evaluated, in which contexts and at which cost, or raise."""
        optimizer, self._max_cost = self._optimizer, max_cost
        self._contexts: list[np.ndarray] | None = None
        if not optimizer._contexts:
            optimizer._contexts.checked(contexts)
            self._most = self._evaluations(budget)
            return
        if not (contexts is None or (budget is None and max_cost is None)):
            raise ValueError(
                "budget and max_cost must be None if contexts are given, got "
                f"{budget!r} and {max_cost!r}"
            )
        in_order = self._loop.begin(lambda: optimizer._contexts.all_checked(contexts))
        self._contexts, self._most = in_order, len(in_order)

    def _evaluations(self, budget: Any) -> int:
        """Number of evaluations that the run is limited to, whatever they cost."""
        optimizer, max_cost = self._optimizer, self._max_cost
        if max_cost is None:
            if budget is None and self._has_costs:
                raise ValueError("run needs a budget of evaluations, a max_cost, or both")
            return check_budget(budget)
        if not self._has_costs:
            raise ValueError(
                f"max_cost is for queries with prices, and those of {type(optimizer).__name__} "
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
        return max(1, ceil(max_cost / least)) if least > 0.0 else maxsize

    def resume(self) -> None:
        """Count all that the optimizer was told before as evaluated in this run."""
        self._resumes = True
        if self._contexts is not None:
            self._leave_batch()
        told = [event for event in self._record.events if event[0] in ("tell", "fail")]
        self._done, self._failed = len(told), sum(event[0] == "fail" for event in told)
        self._last = told[-1][1] if told else None

    def show(self, bar: bool, verbose: int) -> None:
        """Say how the progress of the run is shown."""
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
        """Cost of the answers that this run has told."""
        return self._optimizer.spent_ - self._spent_before

    @locked
    def _is_enough(self, out: Iterable[Any] = ()) -> bool:
        """Return whether the cost is reached when these queries are answered as well."""
        if self._max_cost is None:
            return False
        return self._cost() + sum(map(self._optimizer._cost_model.cost_of, out)) >= self._max_cost

    # -- the loop -----------------------------------------------------------------------------

    def result(self) -> RunResult[Any]:
        """Ask, evaluate and tell until the run ends."""
        optimizer, workers = self._optimizer, self._workers
        optimizer.start()
        if self._contexts is not None:
            # Contexts do not come back: what an interrupted run left is not evaluated in this one.
            self._leave_batch()
        self._spent_before = 0.0
        if self._resumes:
            self._ended = self._why_stopped()
        elif self._has_costs:
            self._spent_before = optimizer.spent_
        self._save()
        workers.arrive = self._arrive
        with self._mine.running, self._progress, workers:
            # Answers that an earlier run has evaluated and not told come first.
            self._join()
            while self._done < self._most and not self._ended:
                if not self._answers():
                    if not workers.out and self._is_enough():
                        break
                    self._evaluate()
                self._tell_answers()
                if not self._ended and monotonic() >= self._end:
                    self._ended = f"{self._timeout:g} seconds have passed"
                if self._in_a_row >= defaults.MOST_FAILURES and self._failed == self._done:
                    raise RuntimeError(
                        f"the last {self._in_a_row} evaluations have failed, the last one with: "
                        f"{self._record.failures[-1][2]}; on_error='raise' shows where"
                    )
                if not self._ended and self._is_enough():
                    break
        if self._failed:
            warn(
                f"{self._failed} of {self._done} evaluations failed, the last one with: "
                f"{self._record.failures[-1][2]}; failed_ has them all",
                EvaluationWarning,
            )
        return self._concluded()

    def _evaluate(self) -> None:
        """Give the workers what they have room for, and wait for an answer."""
        workers = self._workers
        while due := self._next_queries():
            workers.begin(due)
            self._last = due[-1]
        if not workers.out:
            sleep(PAUSE)  # others evaluate all that may be asked
        workers.answers()

    def _tell_answers(self) -> None:
        """Tell the answers that have arrived, until the run ends."""
        refused: Exception | None = None
        while answers := self._answers():
            query, (reward, error) = answers[0].query, answers[0].outcome
            reward, error = self._validated(query, reward, error, self._workers.raises)
            if isinstance(error, Exception):
                # All other answers that arrived are told before the run ends with this.
                self._leave_out(answers[0])
                self._workers.evaluated()
                refused = refused or error
                continue
            self._tell(answers[0], reward, error)
            self._last = query if self._last is None else self._last
            self._done += 1
            self._in_a_row = self._in_a_row + 1 if reward is None else 0
            self._failed += reward is None
            self._progress.told(reward, error)
            if len(answers) == 1:
                self._save()
            stopped = self._callback is not None and self._callback(self._optimizer) is True
            self._ended = "stopped by the callback" if stopped else self._why_stopped()
            if self._ended or (refused is None and self._is_enough()):
                self._save()
                break
        if refused is not None:
            self._save()
            raise refused

    @locked
    def _tell(self, answer: CompletedEvaluation, reward: Any, error: str | None) -> None:
        """Tell an answer and forget it at once: another run may be given its query again."""
        if error is None:
            self._optimizer.tell(answer.query, reward)
        else:
            self._loop.commit(self._record.fail, answer.query, error)
        self._leave_out(answer)

    def _save(self) -> None:
        """Save the run, if it is to be saved."""
        if self._checkpoint is not None:
            self._optimizer.save(self._checkpoint)

    def _why_stopped(self) -> str:
        """Return why ``stop`` ends the run, or nothing."""
        optimizer, stop = self._optimizer, self._stop
        if self._loop.stops(stop):
            return str(getattr(stop, "message", "stop returned True"))
        if self._loop.informed and optimizer._knows_all:
            return "every query was answered, and answers are exact"
        return ""

    @locked
    def _concluded(self) -> RunResult[Any]:
        """Return what the run has come to."""
        result = self._loop.summary(self._last, self._stop)
        if result.x is None:
            message = f"nothing is known: all {self._done} evaluations failed"
        elif self._contexts is not None and self._done == self._most:
            message = "all contexts were played"
        else:
            message = self._ended or "the budget is spent"
        result.update(nfev=self._done, nfail=self._failed, message=message)
        if self._has_costs:
            result.cost = self._cost()
        return result

    # -- what is being evaluated, and has been ------------------------------------------------

    @locked
    def _join(self) -> None:
        """Begin next to other runs, with untold answers of runs that have ended."""
        running = [run for run in self._lock.runs if run.running.locked()]
        self._lock.runs = [*running, self._mine]
        answers = self._answers_left()[: max(0, self._most - self._done)]
        self._mine.queries.update({answer.query: answer.n_events for answer in answers})

    def _being_evaluated(self) -> set[Any]:
        """Return the queries that other runs are evaluating."""
        runs = [run for run in self._lock.runs if run is not self._mine and run.running.locked()]
        return {query for run in runs for query in list(run.queries)}

    def _answers_left(self) -> list[CompletedEvaluation]:
        """Answers of runs that have ended before they could tell them."""
        busy, arrived = self._being_evaluated(), self._evaluated.arrived
        left = [answer for answer in arrived if answer.query not in busy]
        for answer in left:
            since = self._record.events[answer.n_events :]
            if any(kind in ANSWERED and rest[0] == answer.query for kind, *rest in since):
                arrived.remove(answer)  # the run ended right after it was told
        return [answer for answer in left if answer in arrived]

    @locked
    def _leave_batch(self) -> None:
        """Skip unevaluated queries of runs that have ended, and tell their answers."""
        for answer in self._answers_left():
            self._tell(answer, *self._validated(answer.query, *answer.outcome, False))
        busy, evaluated = self._being_evaluated(), self._evaluated
        evaluated.batch = [query for query in evaluated.batch if query in busy]

    def _arrive(self, query: Any, outcome: tuple[Any, Any]) -> None:
        """Store an answer, to be told next, in this run or in another."""
        if all(answer.query != query for answer in self._answers()):
            answer = CompletedEvaluation(query, outcome, self._mine.queries[query])
            self._evaluated.arrived.append(answer)

    def _answers(self) -> list[CompletedEvaluation]:
        """Answers that this run has to tell."""
        arrived = self._evaluated.arrived
        return [answer for answer in arrived if answer.query in self._mine.queries]

    def _leave_out(self, answer: CompletedEvaluation) -> None:
        """Forget an answer that was told or is not valid."""
        self._evaluated.arrived.remove(answer)
        self._mine.queries.pop(answer.query, None)

    @locked
    def _validated(self, query: Any, reward: Any, error: Any, raises: bool) -> tuple[Any, Any]:
        """Return an answer and None, or None and the reason: a text, or an exception to raise.

        If ``tell`` would refuse the reward of this query, the evaluation has failed.
        """
        if error is not None or reward is None:
            return reward, error
        self._loop.notice()  # wrong parameters are no fault of the reward
        try:
            checked = self._optimizer._checked(query, reward, None)
        except (TypeError, ValueError) as wrong:
            self._optimizer._checked(query, None, None)  # raises where it is not for the reward
            if raises:
                return None, type(wrong)(f"objective({query!r}) returned no valid answer: {wrong}")
            return None, described(wrong)
        if isinstance(reward, tuple) and isinstance(reward[-1], Mapping):
            reward = checked[1]  # with other outcomes, and a float
        return reward, None

    @locked
    def _next_queries(self) -> list[Any]:
        """Return the next queries: those that an earlier run has left, then new ones."""
        loop, out = self._loop, self._workers.out
        begun = self._done + len(out)
        most = min(self._workers.room, self._most - begun)
        if most < 1 or (out and self._is_enough(out)):
            return []
        evaluated, record = self._evaluated, self._record
        awaited = [each for each in evaluated.batch if record.pending.get(each, 0) is None]
        evaluated.batch = awaited
        others, mine = self._being_evaluated(), self._mine.queries
        left = [each for each in evaluated.batch if each not in others and each not in mine]
        due = left[:most]
        if not due:
            loop.notice_and_say()
            try:
                due = loop.commit(self._ask_to_evaluate, begun, most)
            except AllPendingError:
                if not (out or others):
                    raise
                return []  # every possible query is pending: an answer has to come first
        mine.update(dict.fromkeys(due, len(record.events)))
        return due

    def _ask_to_evaluate(self, begun: int, most: int) -> list[Any]:
        """Ask, and note that a run evaluates it, which is one change."""
        ahead = self._contexts
        due = self._ask(most) if ahead is None else self._ask_each(ahead[begun : begun + most])
        evaluated = self._evaluated
        evaluated.batch = [*evaluated.batch, *due]
        return due

    def _ask(self, most: int) -> list[Any]:
        """Queries to evaluate next: asked ones that nobody evaluates, then new ones."""
        batch = self._evaluated.batch
        free = [query for query in self._record.asked if query not in batch][:most]
        if len(free) == most:
            return free
        return [*free, *self._loop.ask(most - len(free), another=True)]

    def _ask_each(self, contexts: list[np.ndarray]) -> list[Any]:
        """Return one query in each of these contexts; none of them is being evaluated."""
        queries = list[Any]()
        for context in contexts:
            asked, out = self._record.asked, [*self._evaluated.batch, *queries]
            known = [each for each in asked if np.array_equal(each.context, context)]
            free = [each for each in known if each not in out]
            queries += free[:1] or self._loop.ask(1, another=True, context=context)
        return queries

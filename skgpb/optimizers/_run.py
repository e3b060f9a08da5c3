"""The loop over queries, whoever evaluates them, with checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from math import ceil
from sys import maxsize
from threading import Lock
from time import sleep
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb._warnings import warn
from skgpb.exceptions import AllPendingError, EvaluationWarning
from skgpb.locks import locked
from skgpb.optimizers._callbacks import FollowedRuns, with_callbacks
from skgpb.optimizers._gap import is_by_intervals
from skgpb.optimizers._inputs import Numbers
from skgpb.optimizers._result import RunResult
from skgpb.optimizers._stop import DELTA, Stop
from skgpb.optimizers._workers import Arrivals, Batches, described, workers_of
from skgpb.progress import Progress
from skgpb.utils import Integral, Real, check_size

# run() ends when this many evaluations in a row have failed: the queries are not the cause.
MOST_FAILURES = 10
# Seconds between two looks whether another run has told an answer.
PAUSE = 0.01
# Kinds of events that answer a query.
ANSWERED = ("tell", "fail", "rows")
# scikit-learn's largest levels are of this order.
MOST_VERBOSE = 100


def check_run(objective: Any, callback: Any, on_error: Any, verbose: Any) -> None:
    """Raise where these cannot be arguments of ``run``, before anything begins."""
    if not callable(objective):
        raise TypeError(f"objective must be callable, got {objective!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    if on_error not in ("record", "raise"):
        raise ValueError(f"on_error must be 'record' or 'raise', got {on_error!r}")
    check_size(int(verbose) if isinstance(verbose, bool) else verbose, "verbose", 0, MOST_VERBOSE)


def check_budget(budget: Any) -> int:
    """Return a number of evaluations, or raise."""
    if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 1:
        raise ValueError(f"budget must be an integer >= 1, got {budget!r}")
    return int(budget)


class Evaluated:
    """The evaluations of one call of ``run``.

    Attributes
    ----------
    going_on : threading.Lock
        Held by the call, however it ends.
    queries : dict
        Queries to evaluate or to tell, and the number of events when their evaluation began.
    """

    def __init__(self) -> None:
        self.going_on = Lock()
        self.queries: dict[Any, int] = {}


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer that has arrived but is not told, to a query asked after n events."""

    query: Any
    outcome: tuple[Any, Any]
    n_events: int


class Loop(FollowedRuns):
    """The ``run`` method of optimizers with ask and tell."""

    # Attributes of the class that it is mixed into.
    ask: Any

    def _ask_next(self: Any, begun: int, most: int) -> list[Any]:
        """Queries to evaluate next, where it does not matter how many are begun."""
        free = [query for query in self._asked if query not in self._batch][:most]
        return (
            [*free, *self._asked_or_new(most - len(free), another=True)]
            if len(free) < most
            else free
        )

    def _progress(self: Any, total: float, unit: str = "query", **shown: Any) -> Progress:
        """Return the progress display of a run, see :class:`~skgpb.progress.Progress`."""
        minimize = self.direction == "minimize"
        return Progress(type(self).__name__, total, unit, minimize=minimize, **shown)

    @with_callbacks
    def _play(
        self: Any,
        workers: Batches | Arrivals,
        budget: int,
        ask: Callable[[int, int], list[Any]],
        callback: Callable[[Any], Any] | None,
        progress: Progress,
        checkpoint: str | os.PathLike[str] | None = None,
        enough: Callable[[Iterable[Any]], bool] = lambda out: False,
        stop: Stop | Callable[[Any], Any] | None = None,
    ) -> RunResult:
        """Play the loop of ``run``.

        ``ask(begun, most)`` returns at most ``most`` queries. ``enough(out)`` says whether the run
        ends when the queries under evaluation are answered.
        """
        self._check_stop(stop)
        self.start()
        if checkpoint is not None:
            self.save(checkpoint)
        done = failed = in_a_row = 0
        ended: str | None = None
        last = None
        task = self._begin_task(budget)
        mine = Evaluated()
        workers.arrive = partial(self._arrive, mine)
        with mine.going_on, progress, workers:
            # Answers that an earlier run has evaluated and not told come first.
            for answer in self._join(mine, budget):
                task.begin([answer.query])
            while done < budget and not ended:
                if not self._answers_of(mine):
                    if not workers.out and enough(()):
                        break
                    while due := self._due(mine, workers, done, budget, ask, enough):
                        task.begin(due)
                        workers.begin(due)
                        last = due[-1]
                    if not workers.out:
                        sleep(PAUSE)  # others evaluate all that may be asked
                    workers.answers()
                refused = None
                while answers := self._answers_of(mine):
                    query, (reward, error) = answers[0].query, answers[0].outcome
                    reward, error = self._judged(query, reward, error, workers.raises)
                    if isinstance(error, Exception):
                        # All other answers that arrived are told before the run ends with this.
                        self._leave_out(answers[0], mine)
                        workers.evaluated()
                        refused = refused or error
                        continue
                    if error is None:
                        self.tell(query, reward)
                    else:
                        self._tell_failure(query, error)
                    self._leave_out(answers[0], mine)
                    last = query if last is None else last
                    done += 1
                    in_a_row = in_a_row + 1 if reward is None else 0
                    failed += reward is None
                    progress.told(reward, error)
                    if checkpoint is not None and len(answers) == 1:
                        self.save(checkpoint)
                    ended = self._why_ended(task.end(query, reward), callback, stop)
                    if ended or (refused is None and enough(())):
                        if checkpoint is not None:
                            self.save(checkpoint)
                        break
                if refused is not None:
                    if checkpoint is not None:
                        self.save(checkpoint)
                    raise refused
                if in_a_row >= MOST_FAILURES:
                    raise RuntimeError(
                        f"the last {in_a_row} evaluations have failed, the last one with: "
                        f"{self._failures[-1][2]}; on_error='raise' shows where"
                    )
                if not ended and enough(()):
                    break
        task.close()
        if failed:
            warn(
                f"{failed} of {done} evaluations failed, the last one with: "
                f"{self._failures[-1][2]}; failed_ has them all",
                EvaluationWarning,
            )
        return self._concluded(done, failed, last, ended, stop)

    @locked
    def _concluded(
        self: Any,
        done: int,
        failed: int,
        last: Any,
        ended: str | None,
        stop: Stop | Callable[[Any], Any] | None,
    ) -> RunResult:
        """Return what a run has come to."""
        best, message = None, f"nothing is known: all {done} evaluations failed"
        if self._informed:
            best = self._result(last)
            message = ended or "the budget is spent"
        result = RunResult(
            x=best,
            fun=np.nan if best is None else self._value_of(best),
            nfev=done,
            nfail=failed,
            history=self.history_,
            success=best is not None,
            message=message,
            model=self._contradicted,
        )
        delta = getattr(stop, "delta", DELTA)
        return result.with_gap(self._gap_later(best, delta, is_by_intervals(stop)))

    # -- what is being evaluated, and has been ------------------------------------------------

    @locked
    def _join(self: Any, mine: Evaluated, most: int) -> list[Answer]:
        """Begin a run next to others; return untold answers of runs that have ended."""
        self._lock.runs = [*(run for run in self._lock.runs if run.going_on.locked()), mine]
        answers = self._answers_left(mine)[:most]
        mine.queries.update({answer.query: answer.n_events for answer in answers})
        return answers

    def _busy(self: Any, mine: Evaluated | None = None) -> set[Any]:
        """Return the queries that runs are evaluating, without those of one run."""
        runs = [run for run in self._lock.runs if run is not mine and run.going_on.locked()]
        return {query for run in runs for query in list(run.queries)}

    def _answers_left(self: Any, mine: Evaluated | None = None) -> list[Answer]:
        """Answers of runs that have ended before they could tell them."""
        busy = self._busy(mine)
        left = [answer for answer in self._arrived if answer.query not in busy]
        for answer in left:
            since = self._log[answer.n_events :]
            if any(kind in ANSWERED and rest[0] == answer.query for kind, *rest in since):
                self._arrived.remove(answer)  # the run ended right after it was told
        return [answer for answer in left if answer in self._arrived]

    def _arrive(self: Any, mine: Evaluated, query: Any, outcome: tuple[Any, Any]) -> None:
        """Store an answer, to be told next, in this run or in another."""
        if all(answer.query != query for answer in self._answers_of(mine)):
            self._arrived.append(Answer(query, outcome, mine.queries[query]))

    def _answers_of(self: Any, mine: Evaluated) -> list[Answer]:
        """Answers that a run has to tell."""
        return [answer for answer in self._arrived if answer.query in mine.queries]

    def _leave_out(self: Any, answer: Answer, mine: Evaluated) -> None:
        """Forget an answer that was told or is not valid."""
        self._arrived.remove(answer)
        del mine.queries[answer.query]

    @locked
    def _leave_batch(self: Any) -> None:
        """Skip unevaluated queries of runs that have ended, and tell their answers."""
        for answer in self._answers_left():
            reward, error = self._judged(answer.query, *answer.outcome, False)
            if error is None:
                self.tell(answer.query, reward)
            else:
                self._tell_failure(answer.query, error)
            self._arrived.remove(answer)
        busy = self._busy()
        self._batch = [query for query in self._batch if query in busy]

    @locked
    def _judged(self: Any, query: Any, reward: Any, error: Any, raises: bool) -> tuple[Any, Any]:
        """Return an answer and None, or None and the reason: a text, or an exception to raise.

        If ``tell`` would refuse the reward of this query, the evaluation has failed.
        """
        if error is not None or reward is None:
            return reward, error
        try:
            self._checked(query, reward, None)
        except (TypeError, ValueError) as wrong:
            self._checked(query, None, None)  # raises where it is not for the reward
            if raises:
                return None, type(wrong)(f"objective({query!r}) returned no valid answer: {wrong}")
            return None, described(wrong)
        return reward, None

    def _why_ended(
        self: Any,
        called_back: bool,
        callback: Callable[[Any], Any] | None,
        stop: Stop | Callable[[Any], Any] | None,
    ) -> str | None:
        """Return the reason to end the run after an answer, or None."""
        if called_back or (callback is not None and callback(self) is True):
            return "stopped by the callback"
        if stop is not None and self._informed and self._stops(stop):
            return str(getattr(stop, "message", "stop returned True"))
        return None

    @locked
    def _due(
        self: Any,
        mine: Evaluated,
        workers: Batches | Arrivals,
        done: int,
        budget: int,
        ask: Callable[[int, int], list[Any]],
        enough: Callable[[Iterable], bool],
    ) -> list[Any]:
        """Return the next queries: those that an earlier run has left, then new ones."""
        begun = done + len(workers.out)
        most = min(workers.room, budget - begun)
        if most < 1 or (workers.out and enough(workers.out)):
            return []
        self._batch = [each for each in self._batch if self._pending.get(each, 0) is None]
        others = self._busy(mine)
        left = [each for each in self._batch if each not in others and each not in mine.queries]
        due = left[:most]
        if not due:
            try:
                due = self._commit(self._ask_to_evaluate, ask, begun, most)
            except AllPendingError:
                if not (workers.out or others):
                    raise
                return []  # every possible query is pending: an answer has to come first
        mine.queries.update(dict.fromkeys(due, len(self._log)))
        return due

    def _ask_to_evaluate(
        self: Any, ask: Callable[[int, int], list[Any]], begun: int, most: int
    ) -> list[Any]:
        """Ask, and note that a run evaluates it, which is one change."""
        due = ask(begun, most)
        self._batch = [*self._batch, *due]
        return due

    def _result(self: Any, last: Any) -> Any:
        """Return what a run recommends after its last query."""
        return self.recommend()


class Runner(Loop):
    """``run``, the same for every optimizer."""

    #: Whether queries have prices, so that a run may be limited by what it costs.
    _has_prices: ClassVar[bool] = False

    def run(
        self: Any,
        objective: Callable[[Any], Numbers],
        budget: int | None = None,
        *,
        contexts: Any = None,
        max_cost: float | None = None,
        callback: Callable[[Any], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        executor: Executor | None = None,
        on_error: str = "record",
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
        stop: Stop | Callable[[Any], Any] | None = None,
    ) -> RunResult:
        """Ask, evaluate and tell ``budget`` times, continuing from the present state.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy reward, or None where the evaluation failed. NaN, an
            infinity and whatever else :meth:`tell` refuses as a reward are failures as well. A
            function of x is given as :class:`of_x(function) <skgpb.of_x>`.
        budget : int, default=None
            Number of evaluations, at least 1; failed ones count. None where ``max_cost`` or
            ``contexts`` say how many there are.
        contexts : array-like of shape (n, d_c), or (n,) where d_c = 1, default=None
            With ``context_bounds``, the contexts in the order in which they arrive, instead of
            ``budget`` and ``max_cost``. If sides have names, also a DataFrame or a list of dicts.
            The recommendation is for the last one.
        max_cost : float, default=None
            Maximum cost of all queries, > 0, if queries have prices. The last query may overshoot
            it. Failures cost nothing. Progress is then that of the cost.
        callback : callable, default=None
            Called with the optimizer after every evaluation; returning True ends the run.
        progress : bool, default=False
            Whether to show a progress bar (needs tqdm: ``pip install skgpb[progress]``).
        n_jobs : int, default=None
            Queries evaluated side by side. Without an executor they are asked for and evaluated
            in batches through joblib, whose backend the caller chooses with
            :func:`joblib.parallel_config`. Results depend on the number of jobs, not on their
            timing or on the backend. None means 1 unless in such a context, -1 as many as the
            backend has. With an executor None and -1 mean as many as it has workers.
        executor : concurrent.futures.Executor, default=None
            Executor of the evaluations: threads, processes or other machines, see
            :ref:`many-machines`. Every answer is told when it arrives, and the next query is asked
            for at once, so that no worker waits for another. With one job the run is that without
            an executor; with more it depends on the order in which answers arrive. The executor is
            not shut down.
        on_error : {"record", "raise"}, default="record"
            Handling of an exception of the objective, and of a returned value that is no answer.
            "record" tells the query as failed, see :meth:`tell`, with the reason, and goes on; the
            run ends with RuntimeError only when 10 evaluations in a row have failed.
            "raise" ends the run, with the exception or with ValueError or TypeError, after telling
            what else has been evaluated. Whatever ends it, all that was told is kept, and the next
            run begins with what this one left unevaluated; of what was given to an executor,
            evaluations that have not begun are cancelled, and those that have are not waited for.
        checkpoint : path, default=None
            Path to save the run to after every evaluation or batch, see :meth:`save`; also before
            the first. A process that was killed is resumed by ``run`` on what :meth:`load`
            returns, and goes on as if nothing had happened.
        verbose : int, default=0
            1 prints one line of progress, with the last and the best answer and the time left, 2
            a line for every answer. The logger ``skgpb`` of :mod:`logging` gets every answer in
            any case, at level INFO, and failures as warnings.
        stop : Stop or callable, default=None
            Condition to end the run early: a :class:`~skgpb.Stop`, or any function of the
            optimizer that returns True if the run is to end after an answer.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            Printed, it says what was found: ``x`` (the recommended query), ``fun`` (its posterior
            or empirical mean), ``nfev``, ``nfail`` (how many of these failed), ``history`` (see
            ``history_``), ``success``, ``message``, ``model`` (how the answers contradict the
            model of f, empty where they do not) and ``gap``, how much better the best may be
            (see :meth:`gap`, computed when it is first read); where queries have prices also
            ``cost``, what was spent. Where all evaluations failed and nothing was known before,
            ``success`` is False, ``x`` None and ``fun`` NaN.
        """
        # The run must have begun before the number of evaluations that a cost allows is known.
        check_run(objective, callback, on_error, verbose)
        workers = workers_of(executor, n_jobs, objective, on_error)
        self._check_stop(stop)
        if self._without_context(contexts):
            ahead = self._evaluations(budget, max_cost)
        elif contexts is None or (budget is None and max_cost is None):
            ahead = None
        else:
            raise ValueError(
                "budget and max_cost must be None if contexts are given, got "
                f"{budget!r} and {max_cost!r}"
            )
        rows: Any = self._checked_contexts(contexts) if ahead is None else None
        self.start()
        start = self.spent_ if self._has_prices else 0.0

        def enough(out: Iterable[Any]) -> bool:
            """Return whether the cost is reached when these are answered as well."""
            if max_cost is None:
                return False
            return self.spent_ - start + sum(map(self._price_of, out)) >= max_cost

        def ask_in_turn(begun: int, most: int) -> list[Any]:
            return self._ask_each(rows[begun : begun + most])

        most = ahead if rows is None else len(rows)
        shown: dict[str, Any] = {"total": most}
        if max_cost is not None:
            shown = {"total": max_cost, "unit": "cost", "spent": lambda: self.spent_ - start}
        result = self._play(
            workers,
            most,
            self._ask_next if rows is None else ask_in_turn,
            callback,
            self._progress(**shown, bar=progress, verbose=verbose),
            checkpoint,
            enough,
            stop,
        )
        if rows is not None and result.success and result.nfev == most:
            result.message = "all contexts were played"
        if self._has_prices:
            result.cost = self.spent_ - start
        return result

    def _evaluations(self: Any, budget: Any, max_cost: Any) -> int:
        """Number of evaluations that a run is limited to, whatever they cost."""
        if max_cost is None:
            if budget is None and self._has_prices:
                raise ValueError("run needs a budget of evaluations, a max_cost, or both")
            return check_budget(budget)
        if not self._has_prices:
            raise ValueError(
                f"max_cost is for queries with prices, and those of {type(self).__name__} have "
                f"none: pass budget, a number of evaluations; got max_cost={max_cost!r}"
            )
        number = isinstance(max_cost, Real) and not isinstance(max_cost, bool)
        if not (number and 0 < max_cost < np.inf):
            raise ValueError(f"max_cost must be a finite number > 0, got {max_cost!r}")
        if budget is not None:
            return check_budget(budget)
        # Failures cost nothing: this limit ends the run if all evaluations fail.
        self.start()
        least = self._least_price
        return max(1, ceil(max_cost / least)) if least > 0.0 else maxsize


class PricedRunner(Runner):
    """An optimizer whose queries have costs, and which adds them up."""

    _has_prices = True

    _queries: Any
    _spent: float

    @property
    @locked
    def spent_(self) -> float:
        """Cost of all answers told since the start."""
        check_is_fitted(self, "bounds_")
        return self._spent

    @property
    def _least_price(self) -> float:
        """Cost of the cheapest answer."""
        return self._queries.least_cost

    def _price_of(self, query: Any) -> float:
        """Return the cost of a query."""
        return query.cost

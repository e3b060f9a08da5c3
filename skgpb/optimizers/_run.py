"""The loop over queries, whoever evaluates them, with checkpoints."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from math import ceil
from sys import maxsize
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgpb.exceptions import EvaluationWarning
from skgpb.locks import locked
from skgpb.optimizers._callbacks import WRAPPED, FollowedRuns, with_callbacks
from skgpb.optimizers._gap import Gaps, by_intervals
from skgpb.optimizers._result import RunResult
from skgpb.optimizers._stop import DELTA, Stop
from skgpb.optimizers._workers import Arrivals, Batches, workers_of
from skgpb.progress import Progress
from skgpb.utils import Integral, Real, check_size

# run() gives up when so many evaluations in a row have failed: the fault is not the query's.
MOST_FAILURES = 10
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


class Loop(Gaps, FollowedRuns):
    """What plays an optimizer that can be asked and told."""

    # What it needs of the class that it is mixed into.
    ask: Any

    def _ask_until(self: Any, count: int) -> None:
        """Choose queries until so many are asked; where there are not as many, none of them."""
        asked, pending, n_events = self._asked.copy(), self._pending.copy(), len(self._log)
        try:
            while len(self._asked) < count:
                self._ask_for(self._choose)
        except BaseException:
            self._asked, self._pending = asked, pending
            del self._log[n_events:]
            raise

    def _ask_next(self: Any, begun: int, most: int) -> list[Any]:
        """Queries to evaluate next, where it does not matter how many are begun."""
        if not self._batch:
            return self.ask(most)
        # Until something is told, ask returns what is being evaluated as well.
        out = [query for query in self._asked if query in self._batch]
        return [query for query in self.ask(len(out) + most) if query not in out][:most]

    def _progress(self: Any, total: float, unit: str = "query", **shown: Any) -> Progress:
        """What the run shows of itself, see :class:`~skgpb.progress.Progress`."""
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

        ``ask(begun, most)`` returns at most so many queries, and ``enough(out)`` says whether
        these need not be followed by others, when they will have been answered.
        """
        self._check_stop(stop)
        self._ensure_started()
        if checkpoint is not None:
            self.save(checkpoint)
        done = failed = in_a_row = 0
        ended: str | None = None
        last = None
        task = self._begin_task(budget)
        with progress, workers:
            while done < budget and not ended and (workers.out or not enough(())):
                while due := self._due(workers, done, budget, ask, enough):
                    workers.begin(due)
                    task.begin(due)
                    last = due[-1]
                answers = workers.answers()
                for query, (reward, error) in answers:
                    if error is None:
                        self.tell(query, reward)
                    else:
                        with self._lock:
                            self._fail(query, error)
                    done += 1
                    in_a_row = in_a_row + 1 if reward is None else 0
                    failed += reward is None
                    progress.told(reward, error)
                    if checkpoint is not None and query is answers[-1][0]:
                        self.save(checkpoint)
                    ended = self._why_ended(task.end(query, reward), callback, stop)
                    if ended or enough(()):
                        if checkpoint is not None:
                            self.save(checkpoint)
                        break
                if in_a_row >= MOST_FAILURES:
                    raise RuntimeError(
                        f"the last {in_a_row} evaluations have failed, the last one with: "
                        f"{self._failures[-1][2]}; on_error='raise' shows where"
                    )
        task.close()
        if failed:
            warnings.warn(
                f"{failed} of {done} evaluations failed, the last one with: "
                f"{self._failures[-1][2]}; failed_ has them all",
                EvaluationWarning,
                stacklevel=3 + WRAPPED,
            )
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
        )
        delta = getattr(stop, "delta", DELTA)
        return result.with_gap(self._gap_later(best, delta, by_intervals(stop)))

    def _why_ended(
        self: Any,
        called_back: bool,
        callback: Callable[[Any], Any] | None,
        stop: Stop | Callable[[Any], Any] | None,
    ) -> str | None:
        """What ends the run after an answer, None if nothing does."""
        if called_back or (callback is not None and callback(self) is True):
            return "stopped by the callback"
        if stop is not None and self._informed and self._stops(stop):
            return str(getattr(stop, "message", "stop returned True"))
        return None

    def _due(
        self: Any,
        workers: Batches | Arrivals,
        done: int,
        budget: int,
        ask: Callable[[int, int], list[Any]],
        enough: Callable[[Iterable], bool],
    ) -> list[Any]:
        """What is to be evaluated now: what an earlier run has left, then new queries."""
        begun = done + len(workers.out)
        most = min(workers.room, budget - begun)
        if most < 1 or (workers.out and enough(workers.out)):
            return []
        self._batch = [each for each in self._batch if self._pending.get(each, 0) is None]
        left = [each for each in self._batch if each not in workers.out]
        if left:
            return left[:most]
        try:
            due = ask(begun, most)
        except ValueError:
            if not workers.out:
                raise
            return []  # all that may be asked is being evaluated: an answer has to come first
        self._batch += due
        return due

    def _result(self: Any, last: Any) -> Any:
        """Return what a run recommends after its last query."""
        return self.recommend()


class Runs(Loop):
    """``run`` of an optimizer that is asked for nothing but the next query."""

    def run(
        self,
        objective: Callable[[Any], float],
        budget: int,
        callback: Callable[[Self], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        *,
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
            Takes a query and returns its noisy reward, or None where the evaluation failed.
        budget : int
            Number of evaluations, at least 1; failed ones count.
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
            Who evaluates: threads, processes or other machines, see :ref:`many-machines`. Every
            answer is told when it arrives, and the next query asked for at once, so that no
            worker waits for another. With one job the run is that without an executor; with
            more it depends on the order in which answers arrive. The executor is not shut down.
        on_error : {"record", "raise"}, default="record"
            What to do with an exception of the objective. "record" tells the query as failed,
            see :meth:`tell`, and goes on; the run ends with RuntimeError only when 10
            evaluations in a row have failed. "raise" ends the run. Whatever ends it, all that
            was told is kept, and the next run begins with what this one left unevaluated; of
            what was given to an executor, evaluations that have not begun are cancelled, and
            those that have are not waited for.
        checkpoint : path, default=None
            Where to save the run after every evaluation or batch, see :meth:`save`; also before
            the first. A process that was killed is resumed by ``run`` on what :meth:`load`
            returns, and goes on as if nothing had happened.
        verbose : int, default=0
            1 prints one line of progress, with the last and the best answer and the time left, 2
            a line for every answer. The logger ``skgpb`` of :mod:`logging` gets every answer in
            any case, at level INFO, and failures as warnings.
        stop : Stop or callable, default=None
            When enough is known, :class:`~skgpb.Stop`; or any function of the optimizer that
            returns True where the run is to end after an answer.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            Printed, it says what was found: ``x`` (the recommended query), ``fun`` (its posterior
            or empirical mean), ``nfev``, ``nfail`` (how many of these failed), ``history`` (see
            ``history_``), ``success``, ``message`` and ``gap``, how much better the best may be
            (see :meth:`gap`, computed when it is first read). Where all evaluations failed and
            nothing was known before, ``success`` is False, ``x`` None and ``fun`` NaN.
        """
        budget = check_budget(budget)
        check_run(objective, callback, on_error, verbose)
        return self._play(
            workers_of(executor, n_jobs, objective, on_error),
            budget,
            self._ask_next,
            callback,
            self._progress(budget, bar=progress, verbose=verbose),
            checkpoint,
            stop=stop,
        )


class PricedRuns(Runs):
    """``run`` of an optimizer whose queries have costs, and which knows what was spent."""

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
        """What the cheapest answer costs."""
        return self._queries.least_cost

    def _price_of(self, query: Any) -> float:
        """What an answer of a query costs."""
        return query.cost

    def run(
        self: Any,
        objective: Callable[[Any], float],
        budget: int | None = None,
        callback: Callable[[Any], Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        *,
        max_cost: float | None = None,
        executor: Executor | None = None,
        on_error: str = "record",
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
        stop: Stop | Callable[[Any], Any] | None = None,
    ) -> RunResult:
        """Ask, evaluate and tell until enough is evaluated or spent, from the present state.

        Parameters
        ----------
        objective : callable
            Takes a query and returns its noisy answer.
        budget : int, default=None
            Number of evaluations, at least 1; failed ones count. None for any number, which
            ``max_cost`` then limits.
        callback, progress, n_jobs, executor, on_error, checkpoint, verbose, stop
            As in the other optimizers; with ``max_cost`` progress is that of the cost spent.
        max_cost : float, default=None
            Cost to be spent, > 0. The last query may overshoot it. Failures cost nothing.

        Returns
        -------
        result : scipy.optimize.OptimizeResult
            As in the other optimizers, and ``cost``, what was spent.
        """
        if max_cost is None and budget is None:
            raise ValueError("run needs a budget of evaluations, a max_cost, or both")
        number = isinstance(max_cost, Real) and not isinstance(max_cost, bool)
        if max_cost is not None and not (number and 0 < max_cost < np.inf):
            raise ValueError(f"max_cost must be a finite number > 0, got {max_cost!r}")
        if budget is not None:
            budget = check_budget(budget)
        check_run(objective, callback, on_error, verbose)
        workers = workers_of(executor, n_jobs, objective, on_error)
        self.start()
        start, limit = self.spent_, np.inf if max_cost is None else max_cost

        def enough(out: Iterable[Any]) -> bool:
            """Whether the cost is reached when these are answered as well."""
            return self.spent_ - start + sum(map(self._price_of, out)) >= limit

        shown: dict[str, Any] = {"total": budget}
        if max_cost is not None:
            shown = {"total": max_cost, "unit": "cost", "spent": lambda: self.spent_ - start}
        most = budget
        if most is None:
            # Failures cost nothing: so many evaluations are enough, should they all fail.
            least = self._least_price
            most = max(1, ceil(max_cost / least)) if least > 0.0 else maxsize
        result = self._play(
            workers,
            most,
            self._ask_next,
            callback,
            self._progress(**shown, bar=progress, verbose=verbose),
            checkpoint,
            enough,
            stop,
        )
        result.cost = self.spent_ - start
        return result

"""Who evaluates: ``run(executor=...)`` with workers that do what is written down, and real ones.

The contract tests that every optimizer tells the answers that arrive; dask, MPI and others are
in ``tests/machines``.
"""

import os
import signal
import threading
import time
import warnings
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.process import BrokenProcessPool
from heapq import heappop, heappush
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import effective_n_jobs, parallel_config
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from skgpb import CMESOptimizer, ContextualGPTreeOptimizer, GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import EvaluationWarning, PendingWarning
from skgpb.optimizers._evaluations import EvaluationLoop, make_workers, n_workers
from skgpb.testing import InOrder, OffAt

ARMS = np.linspace(0.0, 1.0, 30)[:, None]


def bandit(arms=ARMS):
    return GPUCBOptimizer(RBF(0.2), arms=arms, alpha=0.01, random_state=0)


def answer(query):
    return float(np.sin(7.0 * query.points.mean()))


def ends_its_process(query):
    os._exit(1)


class Failing(Executor):
    """An executor whose given futures end in an exception that is not the objective's."""

    num_workers = 1

    def __init__(self, error, number=0):
        self.error, self.number, self.n = error, number, 0

    def submit(self, function, *args):
        future = Future()
        if self.n == self.number:
            future.set_exception(self.error)
        else:
            future.set_result(function(*args))
        self.n += 1
        return future


class Remembering(InOrder):
    """An executor that, like dask, returns the same answer for the same task."""

    def __init__(self, n):
        super().__init__(range(n), 1)
        self.known = {}

    def submit(self, *task):
        return self.known.setdefault(task, super().submit(*task))


class Clock(InOrder):
    """Workers whose tasks take given times on a clock that only they know; all arrive in time."""

    def __init__(self, durations, num_workers):
        starts, order = [(0.0, i) for i in range(num_workers)], []
        self.ends = []
        for duration in durations:
            now, worker = heappop(starts)  # the next task goes to whoever is free first
            self.ends.append(now + duration)
            heappush(starts, (now + duration, worker))
        order = sorted(range(len(durations)), key=self.ends.__getitem__)
        super().__init__(order, num_workers)


# -- the loop ---------------------------------------------------------------------------------


def test_with_one_worker_the_run_is_the_one_without():
    with ThreadPoolExecutor(1) as executor:
        by_thread = bandit()
        result = by_thread.run(answer, 12, executor=executor)
    alone = bandit()
    expected = alone.run(answer, 12)
    assert_array_equal(result.history, expected.history)
    assert by_thread._events == alone._events
    assert result.message == expected.message


def test_the_order_of_arrival_determines_the_run():
    order = [3, 0, 4, 1, 2, 5, 8, 6, 7, 9]
    runs = [bandit(), bandit()]
    for run in runs:
        run.run(answer, len(order), executor=InOrder(order, 4))
    assert runs[0]._events == runs[1]._events
    kinds = [event[0] for event in runs[0]._events]
    # As many are asked for as there are workers, then one for each answer, none beyond the budget.
    assert kinds == ["ask"] * 4 + ["tell", "ask"] * 6 + ["tell"] * 4


def test_no_query_is_given_to_two_workers():
    executor, seen = InOrder([4, 0, 1, 2, 3, *range(5, 20)], 5), []

    def busy(query):
        seen.append(query)
        return answer(query)

    optimizer = bandit(ARMS[::4])
    optimizer.run(busy, 20, executor=executor)
    pending = set()
    for kind, query, *_ in optimizer._events:
        assert (query in pending) == (kind == "tell")
        pending ^= {query}
    assert len(seen) == 20


def test_with_fewer_queries_than_workers_the_others_wait():
    optimizer = bandit(ARMS[:3])
    assert optimizer.run(answer, 9, executor=InOrder(range(9), 8)).nfev == 9
    assert [event[0] for event in optimizer._events[:4]] == ["ask"] * 3 + ["tell"]


def test_ten_times_as_long_is_no_reason_to_wait():
    """Against batches of four, on a clock: at least 1.6 times as many answers in the same time."""
    n, workers = 200, 4
    durations = 10.0 ** np.random.default_rng(0).uniform(size=n)
    clock = Clock(durations.tolist(), workers)
    optimizer = bandit(np.linspace(0.0, 1.0, 300)[:, None])
    optimizer.run(answer, n, executor=clock)
    asked = [query for kind, query, *_ in optimizer._events if kind == "ask"]
    told = [query for kind, query, *_ in optimizer._events if kind == "tell"]
    # It was told in the order of the clock, which its queries began in.
    order = np.argsort(clock.ends)
    assert told == [asked[i] for i in order]
    in_batches = durations.reshape(-1, workers).max(axis=1).sum()
    assert in_batches / max(clock.ends) > 1.6


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_run_ends_when_its_time_is_over(monkeypatch, n_jobs):
    now = iter(range(0, 1000, 10))
    monkeypatch.setattr("skgpb.optimizers._evaluations.monotonic", lambda: next(now))
    with parallel_config("threading"):
        opt = bandit()
        result = opt.run(answer, 20, timeout=25, n_jobs=n_jobs)
    # The clock is looked at when the run begins and after each batch.
    assert result.nfev == len(opt.history_) == 3 * (n_jobs or 1)
    assert result.message == "25 seconds have passed"
    assert opt.run(answer, 2, timeout=1e6).message == "the budget is spent"
    for wrong in (0, -1, True, "1 h"):
        with pytest.raises(ValueError, match="timeout must be a number of seconds > 0"):
            opt.run(answer, 2, timeout=wrong)


def test_callback_verbose_and_budget_are_those_of_the_loop(capsys):
    seen, executor = [], InOrder([1, 0, 3, 2, 4], 3)

    def stop(optimizer):
        seen.append(len(optimizer.history_))
        return len(seen) == 5

    result = bandit().run(answer, 20, callback=stop, executor=executor, verbose=2)
    assert seen == [1, 2, 3, 4, 5] and result.nfev == 5
    assert result.message == "stopped by the callback"
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == [
        f"{i}/20" for i in seen
    ]
    assert [future.cancelled() for future in executor.futures] == [False] * 5 + [True] * 2


def test_the_next_run_begins_with_what_was_out():
    asked = []

    def recorded(query):
        asked.append(query)
        return answer(query)

    optimizer = bandit()
    optimizer.run(
        recorded,
        20,
        callback=lambda each: len(each.history_) == 2,
        executor=InOrder([2, 0, 9], 4),
    )
    every = [query for kind, query, *_ in optimizer._events if kind == "ask"]
    left = [every[1], every[3], every[4]]
    asked.clear()
    optimizer.run(recorded, 5, executor=InOrder(range(5), 2))
    assert asked[:3] == left
    assert len(asked) == 5 and not optimizer.run_.pending


def test_a_checkpoint_knows_what_was_out(tmp_path):
    """A process that is killed goes on with the evaluations that it waited for."""
    path, optimizer = tmp_path / "run.skgpb", bandit()
    executor = InOrder([2, 0, 3, 99], 3)

    class Killed(BaseException):
        pass

    def kill(each):
        if len(each.history_) == 3:
            raise Killed

    with pytest.raises(Killed):
        optimizer.run(answer, 20, callback=kill, executor=executor, checkpoint=path)
    resumed = GPUCBOptimizer.load(path)
    assert resumed._events == optimizer._events
    asked = [query for kind, query, *_ in optimizer._events if kind == "ask"]
    resumed.run(answer, 2)
    assert [query for kind, query, *_ in resumed._events if kind == "tell"][3:] == [
        asked[1],
        asked[4],
    ]


# -- costs and contexts -----------------------------------------------------------------------


@pytest.mark.parametrize("order", [[3, 2, 1, 0, *range(4, 40)], range(40)])
def test_no_more_is_begun_than_the_cost_allows(order):
    queries = np.linspace(0.0, 1.0, 12)[:, None]
    optimizer = CMESOptimizer(
        bounds=[(0, 1)], queries=queries, cost=lambda a: 1.0 + 2.0 * a[0], random_state=0
    )
    result = optimizer.run(
        lambda query: float(np.sin(5.0 * query.a[0])), max_cost=15.0, executor=InOrder(order, 4)
    )
    costs = optimizer.history_["cost"]
    # The last one that was begun may overshoot, and all that was begun is told.
    assert result.cost == pytest.approx(costs.sum())
    begun = [query.cost for kind, query, *_ in optimizer._events if kind == "ask"]
    assert len(begun) == len(costs)
    assert sum(begun[:-1]) < 15.0 <= sum(begun) == pytest.approx(result.cost)
    assert result.message == "the budget is spent"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("contexts", [[[0.1], [0.9], [0.1], [0.5]] * 3, [[0.5]] * 12])
def test_contexts_begin_in_their_order(contexts):
    optimizer = ContextualGPTreeOptimizer(
        context_bounds=[(0, 1)], bounds=[(0, 1)], variation=(3.0, 0.6), random_state=0
    )
    order = [2, 0, 1, 4, 3, 5, 7, 6, 8, 9, 11, 10]
    result = optimizer.run(answer, contexts=contexts, executor=InOrder(order, 3))
    asked = [query for kind, query, *_ in optimizer._events if kind == "ask"]
    assert [query.context.tolist() for query in asked] == contexts
    told = [query for kind, query, *_ in optimizer._events if kind == "tell"]
    assert told == [asked[i] for i in order]
    assert result.message == "all contexts were played"
    assert_array_equal(result.x.context, contexts[-1])


# -- failures ---------------------------------------------------------------------------------


def test_failures_are_recorded_and_the_run_goes_on():
    optimizer, objective = bandit(), OffAt(answer, [1, 4])
    order = [2, 0, 1, 3, 5, 4, 6, 7, 8, 9]
    with pytest.warns(EvaluationWarning, match="2 of 10"):
        result = optimizer.run(objective, 10, executor=InOrder(order, 3))
    assert result.nfail == 2 and len(result.history) == 8
    assert set(optimizer.failed_["reason"]) == {"OSError: the instrument is off"}


def test_a_run_in_which_everything_fails_gives_up():
    with pytest.raises(RuntimeError, match="the last 10 evaluations have failed"):
        bandit().run(OffAt(answer, range(99)), 50, executor=InOrder(range(99), 3))


class Returning:
    """An objective that returns what is given at the calls of some numbers."""

    def __init__(self, odd):
        self.odd, self.asked = odd, []

    def __call__(self, query):
        self.asked.append(query)
        return self.odd.get(len(self.asked) - 1, answer(query))


def told(optimizer):
    return [query for kind, query, *_ in optimizer._events if kind == "tell"]


@pytest.mark.parametrize("value", [np.nan, -np.inf, "1.0", True, [1.0]])
@pytest.mark.parametrize("executor", [False, True])
def test_what_is_no_answer_is_a_failure_and_the_others_are_told(value, executor):
    """A batch of three, and three workers."""
    optimizer, objective = bandit(), Returning({1: value})
    options = {"executor": InOrder(range(9), 3)} if executor else {}
    with parallel_config("threading"), pytest.warns(EvaluationWarning, match="1 of 9"):
        result = optimizer.run(objective, 9, n_jobs=3, **options)
    assert result.nfev == 9 and result.nfail == 1
    assert "Error: reward must be " in optimizer.failed_["reason"][0]
    assert sorted(map(repr, told(optimizer))) == sorted(
        repr(query) for i, query in enumerate(objective.asked) if i != 1
    )


@pytest.mark.parametrize("on_error", ["raise", "record"])
@pytest.mark.parametrize("value", [np.nan, "1.0"])
def test_no_answer_of_a_batch_is_lost_to_one_that_is_none(value, on_error, tmp_path):
    """With "raise" the run ends when the others are told, and may go on from its file."""
    optimizer, objective = bandit(), Returning({0: value})
    run = {"n_jobs": 4, "on_error": on_error, "checkpoint": tmp_path / "run"}
    with parallel_config("threading"), warnings.catch_warnings():
        warnings.simplefilter("ignore", EvaluationWarning)
        if on_error == "record":
            optimizer.run(objective, 4, **run)
        else:
            with pytest.raises((ValueError, TypeError), match=r"objective\(Arm.*no valid answer"):
                optimizer.run(objective, 8, **run)
        # Threads begin in any order.
        assert sorted(map(repr, told(optimizer))) == sorted(map(repr, objective.asked[1:4]))
        assert len(optimizer.failed_) == (on_error == "record")
        loaded = GPUCBOptimizer.load(tmp_path / "run")
        assert loaded._events == optimizer._events
        # The fault may stay. What was not evaluated is evaluated again, as after an exception.
        again = Returning({0: value})
        assert loaded.run(again, 8).nfail == 1
        if on_error == "raise":
            assert again.asked[0] == objective.asked[0]


@pytest.mark.parametrize("value", [np.nan, OSError("the instrument is off")])
def test_answers_that_have_arrived_are_told_before_an_error_ends_the_run(value):
    """Answers of the other workers are told while the first one is looked at."""

    class AllAtOnce(InOrder):
        """Three workers that answer together."""

        def _arrive(self):
            if len(self._tasks) == 3:
                super()._arrive()

    def objective(query):
        asked.append(query)
        if len(asked) == 1 and isinstance(value, Exception):
            raise value
        return value if len(asked) == 1 else answer(query)

    optimizer, asked = bandit(), []
    with pytest.raises((ValueError, OSError)):
        optimizer.run(objective, 20, executor=AllAtOnce(range(3), 3), on_error="raise")
    assert told(optimizer) == asked[1:]
    optimizer.run(answer, 1)
    assert told(optimizer)[-1] == asked[0]


def test_what_is_at_fault_besides_the_reward_is_no_failure_of_the_evaluation():
    """Here parameters, which a callback has changed to what cannot be."""

    def change(optimizer):
        optimizer.beta = "large"

    optimizer = GPUCBOptimizer(bounds=[(0, 1)], n_candidates=50, random_state=0)
    with pytest.raises(ValueError, match="'beta' parameter"):
        optimizer.run(Returning({1: np.nan}), 5, callback=change, executor=InOrder(range(3), 3))
    assert len(optimizer.history_) == 1 and not len(optimizer.failed_)


def test_an_exception_can_end_the_run_and_cancels_what_has_not_begun():
    optimizer, executor = bandit(), InOrder(range(5), 3)
    with pytest.raises(OSError, match="instrument"):
        optimizer.run(OffAt(answer, [4]), 20, executor=executor, on_error="raise")
    assert len(optimizer.history_) == 4
    assert [future.cancelled() for future in executor.futures] == [False] * 5 + [True] * 2
    assert optimizer.run(answer, 3).nfev == 3
    assert not optimizer.run_.pending


@pytest.mark.parametrize(
    "error", [BrokenExecutor("gone"), TypeError("cannot pickle"), ImportError("no such module")]
)
def test_what_is_no_fault_of_the_query_ends_the_run(error):
    optimizer = bandit()
    with pytest.raises(type(error), match=str(error)):
        optimizer.run(answer, 9, executor=Failing(error, 3))
    assert len(optimizer.history_) == 3 and len(optimizer.failed_) == 0
    asked = [query for kind, query, *_ in optimizer._events if kind == "ask"]
    optimizer.run(answer, 1)
    assert optimizer._events[-1][1] == asked[-1]


@pytest.mark.parametrize("on_error", ["record", "raise"])
def test_an_evaluation_that_others_cancel_ends_the_run_with_a_message(on_error):
    optimizer = bandit()
    with pytest.raises(CancelledError, match=r"of Arm\(.* was cancelled, not by this run: all"):
        optimizer.run(answer, 9, executor=Failing(CancelledError(), 3), on_error=on_error)
    assert len(optimizer.history_) == 3 and len(optimizer.failed_) == 0
    asked = [query for kind, query, *_ in optimizer._events if kind == "ask"]
    optimizer.run(answer, 1)
    assert optimizer._events[-1][1] == asked[-1]


def test_an_evaluation_that_its_worker_does_not_survive_is_a_failure():
    """dask and ray say so for one task, and the others go on."""
    optimizer = bandit()
    with pytest.warns(EvaluationWarning, match="KilledWorker"):
        killed = type("KilledWorker", (Exception,), {})("three workers died")
        optimizer.run(answer, 9, executor=Failing(killed, 3))
    assert len(optimizer.history_) == 8 and len(optimizer.failed_) == 1


@pytest.mark.skipif(os.name != "posix", reason="processes begin as copies on POSIX alone")
def test_a_broken_pool_of_processes_leaves_a_whole_run():
    optimizer = bandit()
    optimizer.run(answer, 3)
    with ProcessPoolExecutor(1) as executor, pytest.raises(BrokenProcessPool):
        optimizer.run(ends_its_process, 3, executor=executor)
    assert len(optimizer.history_) == 3
    assert optimizer.run(answer, 3).nfev == 3


@pytest.fixture
def interruptible():
    """Ctrl-C is heard, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupting_cancels_what_has_not_begun(interruptible):
    optimizer, evaluated, over = bandit(), [], threading.Event()

    def interrupted(query):
        evaluated.append(query)
        if len(evaluated) == 3:
            deadline = time.monotonic() + 10
            while len(optimizer._events) < 8 and time.monotonic() < deadline:
                time.sleep(0.01)  # until two answers are told, and the run waits
            time.sleep(0.1)
            signal.raise_signal(signal.SIGINT)
            over.wait(10)
        return answer(query)

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(KeyboardInterrupt):
            optimizer.run(interrupted, 20, n_jobs=4, executor=executor)
        over.set()
    assert len(evaluated) == 3
    assert len(optimizer.history_) == 2
    asked = [query for kind, query, *_ in optimizer._events if kind == "ask"]
    assert len(asked) == 6
    left = asked[2:]
    optimizer.run(answer, 4)
    assert [event[1] for event in optimizer._events if event[0] == "tell"][2:] == left


def test_a_query_that_is_asked_again_is_evaluated_again():
    rng = np.random.default_rng(0)
    optimizer = bandit(ARMS[:2])
    optimizer.run(lambda query: rng.normal(), 8, executor=Remembering(8))
    assert len(set(optimizer.history_["reward"])) == 8


# -- arguments --------------------------------------------------------------------------------


def test_executors_say_how_many_workers_they_have():
    with ThreadPoolExecutor(3) as executor:
        assert n_workers(executor) == 3
    dask = InOrder([], 1)
    dask._client = SimpleNamespace(nthreads=lambda: {"tcp://a": 2, "tcp://b": 4})
    assert n_workers(dask) == 6
    assert n_workers(InOrder([], 5)) == 5


@pytest.mark.parametrize("n_jobs", [None, -1])
def test_as_many_queries_are_out_as_there_are_workers(n_jobs):
    optimizer = bandit()
    optimizer.run(answer, 9, n_jobs=n_jobs, executor=InOrder(range(9), 5))
    assert [event[0] for event in optimizer._events[:6]] == ["ask"] * 5 + ["tell"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"executor": 4}, TypeError, r"executor must be .* got 4; .*client.get_executor\(\)"),
        ({"executor": Executor()}, ValueError, "n_jobs must be an integer >= 1 .* is unknown"),
        ({"executor": InOrder([], 0)}, ValueError, "n_jobs must be an integer >= 1"),
        ({"executor": InOrder([], 2), "n_jobs": 0}, ValueError, "n_jobs must be an integer from 1"),
        ({"executor": InOrder([], 2), "n_jobs": 1.5}, ValueError, "n_jobs must be an integer"),
        ({"executor": InOrder([], 2), "n_jobs": 2000}, ValueError, "n_jobs .* to 1000"),
    ],
)
def test_wrong_executors_are_refused_before_anything_begins(options, error, message):
    optimizer = GPOOOptimizer(bounds=[(0, 1)])
    with pytest.raises(error, match=message):
        optimizer.run(answer, 3, **options)
    assert not hasattr(optimizer, "bounds_")


# -- a loop of one's own ------------------------------------------------------------------------


def loop_of_workers(optimizer, ask, n=16, n_workers=4):
    """As a user of Optuna writes it: each worker has a query, and gets another one at once."""
    evaluated, running = [], [ask(optimizer) for _ in range(n_workers)]
    while len(evaluated) < n:
        query = running.pop(len(evaluated) % n_workers)
        evaluated.append(query)
        optimizer.tell(query, answer(query))
        running.append(ask(optimizer))
        assert len(set(running)) == n_workers
        assert sorted(map(repr, optimizer.pending_)) == sorted(map(repr, running))
    return evaluated


def test_workers_that_take_another_query_each_never_share_one():
    optimizer = bandit()
    evaluated = loop_of_workers(optimizer, lambda optimizer: optimizer.ask(another=True))
    assert told(optimizer) == evaluated
    assert len(optimizer.history_) == 16


def test_another_query_is_the_next_one_of_a_batch():
    alone, together = bandit(), bandit()
    asked = [alone.ask(), alone.ask(another=True), *alone.ask(2, another=True)]
    assert asked == together.ask(4) == alone.ask(4) == alone.pending_ == together.pending_
    assert alone.ask() == asked[0]
    alone.tell(asked[1], 0.3)
    assert alone.pending_ == [asked[0], *asked[2:]]
    alone.tell(asked[0], None)  # a failed query is left out for a while, and nobody evaluates it
    assert alone.pending_ == asked[2:]


def test_workers_that_are_given_the_same_query_are_warned_of():
    optimizer = bandit()
    shared = [optimizer.ask() for _ in range(3)]
    assert len(set(shared)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.tell(shared[0], 0.1)
    with pytest.warns(PendingWarning, match=r"ask\(another=True\)") as caught:
        optimizer.tell(shared[1], 0.2)
    assert caught[0].filename == __file__
    assert len(optimizer.history_) == 2  # it was accepted all the same
    # One who looks again and one who measures again are not meant.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.tell(shared[2], 0.3)  # the warning comes once for a query
        again = optimizer.ask(), optimizer.ask()
        optimizer.tell(again[0], 0.1)
        once = optimizer.ask()
        optimizer.tell([once, once], [0.1, 0.2])
        optimizer.tell(once, 0.3)
        # Of this batch the first alone was asked before.
        optimizer.ask()
        _, *new = optimizer.ask(3)
        for query in (*new, *new):
            optimizer.tell(query, 0.1)


def test_in_contexts_another_query_is_for_the_same_context():
    optimizer = GPUCBOptimizer(
        RBF(0.2), bounds=[(0, 1)], context_bounds=[(0, 1)], alpha=0.01, random_state=0
    )
    asked = [optimizer.ask(context=0.3), optimizer.ask(context=0.3, another=True)]
    assert asked == optimizer.ask(2, context=0.3) == optimizer.pending_
    assert optimizer.ask(context=0.3, another=True) not in asked


def test_an_answer_that_was_told_before_an_interruption_is_not_told_again(monkeypatch):
    optimizer, n, leave_out = bandit(), 0, EvaluationLoop._leave_out

    def interrupted(self, answer):
        nonlocal n
        n += 1
        if n == 2:
            raise KeyboardInterrupt
        leave_out(self, answer)

    with parallel_config(backend="threading"), monkeypatch.context() as patch:
        patch.setattr(EvaluationLoop, "_leave_out", interrupted)
        with pytest.raises(KeyboardInterrupt):
            optimizer.run(lambda query: query.points.mean(), 6, n_jobs=3)
    batch = [event[1] for event in optimizer._events if event[0] == "ask"]
    assert optimizer.run_.told_queries() == batch[:2]
    optimizer.run(lambda query: query.points.mean(), 3)
    told = optimizer.run_.told_queries()
    assert told[:3] == batch and len(told) == len(set(told)) == 5


def test_a_batch_is_as_large_as_the_number_of_jobs_that_is_given_or_possible():
    rooms = [make_workers(None, n, answer, "record").room for n in (None, 1, 3, -1)]
    assert rooms == [1, 1, 3, effective_n_jobs(-1)]
    workers = make_workers(None, 3, answer, "record")
    workers.begin([1, 2])
    assert workers.room == 0  # a batch is answered as a whole


def test_a_run_tells_no_more_answers_of_earlier_runs_than_its_budget(monkeypatch, tmp_path):
    optimizer, evaluated = bandit(), []

    def recorded(query):
        evaluated.append(query)
        return answer(query)

    def interrupted(self, *given):
        raise KeyboardInterrupt

    with parallel_config(backend="threading"), monkeypatch.context() as patch:
        patch.setattr(EvaluationLoop, "_tell", interrupted)
        with pytest.raises(KeyboardInterrupt):
            optimizer.run(recorded, 4, n_jobs=4)
    left = [event[1] for event in optimizer._events]
    assert sorted(evaluated, key=left.index) == left
    for n_told, (budget, more) in enumerate([(1, {}), (3, {"resume": True})], start=1):
        path = tmp_path / f"{n_told}.skgpb"
        optimizer.save(path)
        optimizer.run(recorded, budget, checkpoint=path if more else None, **more)
    assert optimizer.run_.told_queries() == left[:3] and len(evaluated) == 4
    optimizer.run(recorded, 2)
    assert optimizer.run_.told_queries()[:4] == left and len(evaluated) == 5


def test_answers_of_a_batch_after_the_end_of_a_run_are_told_by_the_next():
    optimizer, evaluated = bandit(), []

    def recorded(query):
        evaluated.append(query)
        return answer(query)

    with parallel_config(backend="threading"):
        result = optimizer.run(recorded, 8, n_jobs=4, callback=lambda each: len(each.history_) == 2)
    assert result.nfev == len(optimizer.history_) == 2
    batch = [event[1] for event in optimizer._events if event[0] == "ask"]
    assert len(evaluated) == 4 and optimizer.pending_ == batch[2:]
    assert optimizer.run(recorded, 2).nfev == 2
    assert len(evaluated) == 4 and optimizer.run_.told_queries() == batch


def test_another_way_of_meeting_errors_is_refused():
    optimizer = GPUCBOptimizer(arms=[[0.0], [1.0]])
    with pytest.raises(ValueError, match="on_error must be 'record' or 'raise', got 'x'"):
        optimizer.run(lambda query: 1.0, 2, on_error="x")

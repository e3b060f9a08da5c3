"""Ctrl-C, warnings as errors and other threads: an answer is told once, wholly, or not at all."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import cases
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import CombinatorialBandit, GPOOOptimizer, GPUCBOptimizer, KGOptimizer
from skgpb.exceptions import AllPendingError, LearningWarning, NumericalWarning
from skgpb.optimizers import _evaluations as _run
from skgpb.optimizers import _loop as loop
from skgpb.optimizers._run import Run
from skgpb.testing import Interrupted, count_lines, first_visits, interrupt_at

ARMS = np.linspace(0, 1, 30)[:, None]


def answer(query):
    return float(np.sin(7.0 * np.mean(query.points)))


def arms(**parameters):
    return GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01, random_state=0, **parameters)


def cells():
    return GPOOOptimizer(RBF(0.2), bounds=[(0, 1)], alpha=0.01, random_state=0)


def learned():
    return GPUCBOptimizer(bounds=[(0, 1)], n_candidates=30, random_state=0)


def played(optimizer, n):
    for _ in range(n):
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
    return optimizer


def told(optimizer):
    return repr(optimizer.history_)


def goes_on_as(optimizer, whole):
    """Return whether two runs are equal and have the same next query."""
    return told(optimizer) == told(whole) and optimizer.ask(2) == whole.ask(2)


# -- at every line --------------------------------------------------------------------------------


def campaigns():
    return CombinatorialBandit([arms(), arms()], budget=1.2, random_state=0)


@pytest.mark.parametrize("stage", ["fresh", pytest.param("midway", marks=pytest.mark.slow)])
def test_campaigns_are_told_all_or_none_wherever_it_is_interrupted(stage):
    def round_of(player):
        split = player.ask()
        player.tell(split, [float(np.cos(sum(split.costs))), 0.3])

    start = campaigns()
    for _ in range(4 if stage == "midway" else 0):
        round_of(start)
    whole = copy.deepcopy(start)
    round_of(whole)
    unharmed = copy.deepcopy(start)
    lines = count_lines(lambda: round_of(unharmed))
    for line in range(0, lines, max(1, lines // 25)):
        each = copy.deepcopy(start)
        interrupt_at(lambda one=each: round_of(one), line)
        counts = {len(optimizer.history_) for optimizer in getattr(each, "optimizers_", [])}
        assert len(counts) < 2
        if not hasattr(each, "bounds_") or len(each.history_) < len(whole.history_):
            round_of(each)
        assert goes_on_as(each, whole), line


def every_class():
    """One fresh optimizer of each class, and what answers it."""
    seen = set()
    tables = (
        (cases.CASES, cases.make, cases.answer),
        (
            cases.INDIRECT,
            cases.make_indirect,
            cases.answer_indirect,
        ),
    )
    for table, make, answer in tables:
        for name, (cls, *_) in table.items():
            if cls not in seen and name not in cases.EXHAUSTIVE:
                seen.add(cls)
                optimizer = make(name)
                if "n_initial" in optimizer.get_params():
                    optimizer.set_params(n_initial=2)  # the rule is to be looked at
                yield name, optimizer, answer


def a_round(optimizer, answer):
    query = optimizer.ask()
    optimizer.tell(query, answer(query))


def seen_of(optimizer):
    return repr([optimizer.history_.tolist(), optimizer.recommend(), optimizer.ask(2)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_line_that_a_round_comes_to_may_be_interrupted():
    """Each line of the library, in the first class whose rounds reach it.

    An eighth of the lines, drawn by a seed, in 20 s; ``SKGPB_EVERY_LINE=1`` takes all of them, and
    ``SKGPB_EVERY_LINE=classes`` all of every class.
    """
    which = os.environ.get("SKGPB_EVERY_LINE", "")
    rng, known, came, wrong = np.random.default_rng(0), set(), [], []
    for name, start, answers in every_class():
        for _ in range(3):
            a_round(start, answers)
        whole, unharmed = copy.deepcopy(start), copy.deepcopy(start)
        a_round(whole, answers)
        expected = seen_of(whole)
        visits = first_visits(lambda one=unharmed, f=answers: a_round(one, f))
        for place, line in visits.items():
            left_out = place in known and which != "classes"
            known.add(place)
            if left_out or not (which or rng.random() < 1 / 8):
                continue
            each = copy.deepcopy(start)
            # A line that only the first round of a process comes to is not met again.
            came.append(interrupt_at(lambda one=each, f=answers: a_round(one, f), line))
            if len(each.history_) < len(whole.history_):
                a_round(each, answers)
            if seen_of(each) != expected:
                wrong.append((name, *place))
    assert wrong == []
    assert len(known) > 1000
    assert np.mean(came) > 0.95


@pytest.mark.one_in(3)
@pytest.mark.parametrize("make", [arms, learned, cells])
def test_a_run_goes_on_wherever_it_is_interrupted(make):
    """Finished evaluations are told first, and nothing is evaluated twice."""
    whole = make()
    whole.run(answer, 4)
    lines = count_lines(lambda: make().run(answer, 4))
    for line in range(0, lines, max(1, lines // 15)):
        each, evaluated = make(), []

        def objective(query, evaluated=evaluated):
            evaluated.append(query)
            return answer(query)

        interrupt_at(lambda one=each, f=objective: one.run(f, 4), line)
        missing = 4 - (len(each.history_) if hasattr(each, "bounds_") else 0)
        if missing:
            each.run(objective, missing)
        assert len(each.history_) == 4
        assert len(evaluated) <= 4 + (len(evaluated) > 4)  # the evaluation that it interrupted
        assert goes_on_as(each, whole), line


def test_an_interruption_of_the_repair_changes_nothing(monkeypatch):
    """Ctrl-C again and again, while the rounds are repeated: it is done by the next call."""
    optimizer, whole = played(cells(), 6), played(cells(), 7)
    take, n = loop.take, 0

    def interrupted(self, *arguments):
        nonlocal n
        n += 1
        take(self, *arguments)
        if n in (1, 4):
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "take", interrupted)
    query = optimizer.ask()
    with pytest.raises(KeyboardInterrupt):
        optimizer.tell(query, answer(query))
    assert n == 4
    assert len(optimizer.history_) == 6
    assert len(pickle.loads(pickle.dumps(optimizer)).history_) == 6
    optimizer.tell(query, answer(query))
    assert goes_on_as(optimizer, whole)


@pytest.mark.parametrize("make", [arms, cells, campaigns])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_answers_can_be_read_where_the_run_cannot_be_rebuilt(make, fails, is_recorded, monkeypatch):
    optimizer = make()
    for reward in (0.3, None, 0.2):
        if make is campaigns and reward is not None:
            reward = [reward, 0.1]
        optimizer.tell(optimizer.ask(), reward)
    reward = None if fails else [0.3, 0.4] if make is campaigns else 0.3
    query, events = optimizer.ask(), optimizer._events
    before = told(optimizer), repr(optimizer.failed_)

    record = Run.fail if fails else Run.tell

    def interrupted(*args):
        if is_recorded:
            record(*args)
        raise KeyboardInterrupt

    def broken(*args, **kwargs):
        raise RuntimeError("cannot be repeated")

    monkeypatch.setattr(Run, record.__name__, interrupted)
    monkeypatch.setattr(loop, "rebuild", broken)
    with pytest.raises(KeyboardInterrupt):
        optimizer.tell(query, reward)
    with pytest.raises(RuntimeError, match="cannot be repeated"):
        optimizer.ask()
    assert (told(optimizer), repr(optimizer.failed_)) == before
    assert optimizer._events == events


@pytest.mark.one_in(3)
@pytest.mark.parametrize("make", [arms, cells, campaigns])
def test_pending_says_whether_an_answer_is_still_to_be_told(make):
    """Wherever an interruption comes, up to the last line: told by this rule it counts once."""
    start = make()
    reward = [0.3, 0.2] if make is campaigns else 0.3
    start.tell(start.ask(), reward)
    query = start.ask()
    whole, unharmed = copy.deepcopy(start), copy.deepcopy(start)
    whole.tell(query, reward)
    lines = count_lines(lambda: unharmed.tell(query, reward))
    taken = 0
    for line in [*range(0, lines - 20, 31), *range(lines - 20, lines)]:
        each = copy.deepcopy(start)
        assert interrupt_at(lambda one=each: one.tell(query, reward), line)
        if query in each.pending_:
            each.tell(query, reward)
        else:
            taken += 1
        assert told(each) == told(whole), line
    assert 0 < taken < 10


def test_parameters_that_were_set_in_a_run_are_set_again(monkeypatch):
    """A run that was interrupted is repeated with what was in use at each time."""

    def half(optimizer, n):
        played(optimizer, 8)
        optimizer.set_params(beta=0.1)
        return played(optimizer, n)

    optimizer, whole = half(cells(), 3), half(cells(), 4)
    query = optimizer.ask()
    twin = copy.deepcopy(optimizer)
    lines = count_lines(lambda: twin.tell(query, answer(query)))
    assert interrupt_at(lambda: optimizer.tell(query, answer(query)), lines // 2)
    assert optimizer.beta == 0.1
    optimizer.tell(query, answer(query))
    assert goes_on_as(optimizer, whole)
    assert optimizer.tree_.lower.tolist() == whole.tree_.lower.tolist()


@pytest.mark.parametrize("line", range(0, 400, 37))
def test_a_fit_that_is_interrupted_leaves_the_old_run(line):
    optimizer, whole = played(cells(), 5), played(cells(), 5)
    X = np.linspace(0, 1, 9)[:, None]
    if interrupt_at(lambda: optimizer.fit(X, np.sin(X[:, 0])), line):
        assert goes_on_as(optimizer, whole)
    else:
        assert len(optimizer.history_) == 0


# -- warnings as errors, and errors ---------------------------------------------------------------


def test_warnings_as_errors_come_after_the_answer_is_taken():
    """A filter that makes errors of warnings does not tear an answer apart."""

    def fails(objective, start, bounds):
        raise np.linalg.LinAlgError("singular")

    optimizer = KGOptimizer(
        RBF(0.3), bounds=[(0, 1)], n_candidates=20, alpha=0.01, optimizer=fails, random_state=0
    )
    twin = copy.deepcopy(optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        played(twin, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        n_errors = 0
        for i in range(6):
            query = optimizer.ask()
            try:
                optimizer.tell(query, answer(query))
            except LearningWarning:
                n_errors += 1
            assert len(optimizer.history_) == i + 1
    assert n_errors > 0
    assert goes_on_as(optimizer, twin)


def close_by(optimizer, i):
    """Tell values at points so close to each other that jitter is needed."""
    optimizer.tell([0.5 + 1e-9 * i], 0.1)


def test_numerical_warnings_are_issued_after_the_answer_at_the_line_of_the_user():
    exact = GPUCBOptimizer(RBF(1.0), arms=ARMS, alpha=0.0, random_state=0)
    optimizer, alone = copy.deepcopy(exact), copy.deepcopy(exact)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(4):
            close_by(optimizer, i)
    assert {each.category for each in caught} == {NumericalWarning}
    assert {each.filename for each in caught} == {__file__}
    n_errors = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(4):
            try:
                close_by(alone, i)
            except NumericalWarning:
                n_errors += 1
            assert len(alone.history_) == i + 1
    assert n_errors > 0
    assert told(alone) == told(optimizer)


def test_warnings_of_one_thread_are_not_held_back_for_another():
    inside, seen = threading.Event(), threading.Event()

    def beta(t):
        inside.set()
        seen.wait(20)
        return 4.0

    thread = threading.Thread(target=cells().set_params(beta=beta).ask)
    thread.start()
    assert inside.wait(20)
    other = GPUCBOptimizer(RBF(1.0), arms=ARMS, alpha=0.0, random_state=0)
    with pytest.warns(NumericalWarning):
        for i in range(4):
            close_by(other, i)
    seen.set()
    thread.join(20)


def test_an_error_while_an_answer_is_taken_leaves_the_run_as_it_was(monkeypatch):
    optimizer, whole = played(arms(), 5), played(arms(), 6)
    close = Run.close
    query = optimizer.ask()

    def fails(self, *arguments):
        close(self, *arguments)
        raise FloatingPointError("by a filter")

    monkeypatch.setattr(Run, "close", fails)
    with pytest.raises(FloatingPointError):
        optimizer.tell([query, query], [answer(query)] * 2)
    monkeypatch.undo()
    assert len(optimizer.history_) == 5
    assert sum(optimizer.surrogate_.process_.posterior.counts()) == 5
    optimizer.tell(query, answer(query))
    assert goes_on_as(optimizer, whole)


def test_a_list_is_told_as_a_whole(monkeypatch):
    optimizer = played(arms(), 3)
    batch, before = optimizer.ask(3), told(optimizer)
    update, n = GPUCBOptimizer._observe, 0

    def third(self, *arguments):
        nonlocal n
        n += 1
        if n == 3:
            raise KeyboardInterrupt
        update(self, *arguments)

    monkeypatch.setattr(GPUCBOptimizer, "_observe", third)
    with pytest.raises(KeyboardInterrupt):
        optimizer.tell(batch, [0.1, 0.2, 0.3])
    monkeypatch.undo()
    assert told(optimizer) == before
    assert optimizer.ask(3) == batch


def test_where_all_is_pending_nothing_is_repeated(monkeypatch):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS[:3], alpha=0.01, random_state=0)
    optimizer.ask(3)
    state = vars(optimizer)
    with pytest.raises(AllPendingError, match="all 3 arms are pending"):
        optimizer.ask(4)
    assert vars(optimizer) is state


# -- signals --------------------------------------------------------------------------------------


@pytest.fixture
def interruptible():
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGALRM") if hasattr(signal, name)]
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("make", [arms, pytest.param(learned, marks=pytest.mark.slow), cells])
def test_a_loop_may_be_interrupted_by_signals_at_any_time(make, interruptible):
    optimizer, rng, n, n_interrupts = make(), np.random.default_rng(0), 25, 0
    while True:
        try:
            # Late enough for a round after the repair of the one before, soon or later.
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 2e-3 * (1 + n_interrupts)))
            while not hasattr(optimizer, "bounds_") or len(optimizer.history_) < n:
                query = optimizer.ask()
                optimizer.tell(query, answer(query))
            break
        except KeyboardInterrupt:
            n_interrupts += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert n_interrupts > 0
    assert goes_on_as(optimizer, played(make(), n))


def test_what_has_been_evaluated_is_told_after_ctrl_c(interruptible):
    """Answers of workers that Ctrl-C comes before are told first when the run goes on."""
    optimizer, evaluated, over = arms(), [], threading.Event()

    def objective(query):
        evaluated.append(query)
        if len(evaluated) == 4:
            time.sleep(0.3)  # until the others have arrived
            over.set()
        return answer(query)

    def interrupts(optimizer):
        if len(optimizer.history_) == 1:
            over.wait(10)
            time.sleep(0.2)
            signal.raise_signal(signal.SIGINT)

    with ThreadPoolExecutor(4) as executor, pytest.raises(KeyboardInterrupt):
        optimizer.run(objective, 4, executor=executor, n_jobs=4, callback=interrupts)
    assert len(optimizer.history_) == 1
    before = list(evaluated)
    copied = pickle.loads(pickle.dumps(optimizer))
    for each in (optimizer, copied):
        each.run(objective, 3)
        assert len(each.history_) == 4
    assert evaluated == before  # none was evaluated again


# -- threads --------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("pause", [0.0, 0.005])
@pytest.mark.parametrize("make", [arms, cells, learned])
def test_threads_that_run_one_optimizer_share_its_loop(make, pause, tmp_path, monkeypatch):
    """Each evaluates its own budget, of queries that no other one evaluates: no answer is lost.

    Nor does another thread see an answer that was told as one that is not, however long it takes
    to forget it.
    """
    leave_out = _run.EvaluationLoop._leave_out

    def after_a_pause(play, answer):
        time.sleep(pause)
        leave_out(play, answer)

    monkeypatch.setattr(_run.EvaluationLoop, "_leave_out", after_a_pause)
    optimizer, given, errors, begin = make(), [], [], threading.Barrier(4)
    out, twice = Counter(), []

    def objective(query):
        out[query] += 1
        if out[query] > 1:
            twice.append(query)
        reward = answer(query) + 1e-3 * len(given)
        given.append(reward)
        time.sleep(0.002)
        out[query] -= 1
        return reward

    def run():
        try:
            begin.wait()
            results.append(optimizer.run(objective, 8))
        except BaseException as error:
            errors.append(error)

    results = []
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert errors == []
    assert [result.nfev for result in results] == [8] * 4
    assert sorted(optimizer.history_["reward"]) == sorted(given)
    assert len(given) == 32
    assert twice == []
    assert optimizer.pending_ == []
    optimizer.save(tmp_path / "run")
    alone = type(optimizer).load(tmp_path / "run")
    np.testing.assert_allclose(alone.predict(ARMS), optimizer.predict(ARMS), rtol=1e-10)
    assert alone.ask(2) == optimizer.ask(2)


def test_threads_wait_where_others_evaluate_all_that_may_be_asked():
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS[:2], alpha=0.01, random_state=0)

    def objective(query):
        time.sleep(0.005)
        return answer(query)

    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(optimizer.run, objective, 3) for _ in range(4)]
        assert [run.result(timeout=60).nfev for run in runs] == [3] * 4
    assert len(optimizer.history_) == 12


def test_a_run_takes_over_what_a_run_of_another_thread_left():
    optimizer, asked = arms(), []

    def fails(query):
        asked.append(query)
        raise OSError("the instrument is off")

    with ThreadPoolExecutor(1) as pool, pytest.raises(OSError, match="off"):
        pool.submit(optimizer.run, fails, 3, on_error="raise").result(60)
    optimizer.run(lambda query: asked.append(query) or answer(query), 2)
    assert asked[0] == asked[1] != asked[2]
    assert len(optimizer.history_) == 2


def test_interrupted_is_no_error():
    assert not issubclass(Interrupted, Exception)

"""Threads that share an optimizer, and threads that do not."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from runs import without_member
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import skgpb.optimizers
from skgpb.kernels import WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPZoomingOptimizer,
    IndirectEIOptimizer,
    StoOOOptimizer,
)
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.surrogate import OnlineGaussianProcessRegressor
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.utils.locks import Guarded, StateLock

SQUARE = [(0.0, 1.0), (0.0, 1.0)]
#: Calls of ``run`` may take long, parameters are plain attributes.
# The sets of a search are read at once, as attributes are.
FREE = {"run", "get_params", "set_params", "domain_", "targets_"}
OPTIMIZERS = {
    "GPOO": GPOOOptimizer(RBF(0.3), bounds=SQUARE, alpha=0.01, expansion="posterior"),
    "StoOO": StoOOOptimizer(bounds=SQUARE),
    "GPTree": GPTreeOptimizer(RBF(0.3), bounds=SQUARE, alpha=0.01, anytime=True),
    "zooming": GPZoomingOptimizer(RBF(0.3), bounds=SQUARE, alpha=0.01, anytime=True),
    "contextual": ContextualGPTreeOptimizer(
        RBF(0.3), context_bounds=SQUARE[:1], bounds=SQUARE[:1], alpha=0.01
    ),
    "EI": EIOptimizer(bounds=SQUARE, n_candidates=100),
    "DAGP": DAGPUCBOptimizer(RBF(0.3), arms=np.random.default_rng(0).random((60, 2)), alpha=0.01),
    "CMES": CMESOptimizer(bounds=SQUARE, n_points=64, n_candidates=400, optimizer=None),
    "CMETS": CMETSOptimizer(bounds=SQUARE, n_points=64, optimizer=None),
    "indirect EI": IndirectEIOptimizer(
        bounds=SQUARE, n_points=64, n_candidates=400, optimizer=None
    ),
    "combinatorial": CombinatorialBandit(
        [DAGPUCBOptimizer(RBF(3.0), arms=np.arange(9.0)[:, None], alpha=0.1)] * 2, 9
    ),
}


#: They share what takes the lock with others here.
ALIKE = {"GPTree", "DAGP", "CMETS", "indirect EI"}


def hammer(*tasks, seconds):
    """Call every task in a thread of its own again and again; what they raised."""
    errors, end = [], time.monotonic() + seconds

    def work(task):
        try:
            while not errors and time.monotonic() < end:
                task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.slow
@pytest.mark.one_in(4)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in ALIKE else ()) for n in OPTIMIZERS],
)
def test_threads_may_share_an_optimizer(name, tmp_path):
    optimizer = clone(OPTIMIZERS[name]).set_params(random_state=0)
    asked = {"context": [0.3]} if name == "contextual" else {}
    X = np.random.default_rng(1).random((50, 2))
    told = []

    def play():
        for query in optimizer.ask(2, **asked):
            reward = float(np.sin(5 * np.asarray(query)).mean())
            optimizer.tell(query, [reward, reward] if name == "combinatorial" else reward)
            told.append(reward)

    play()

    def look():
        optimizer.predict(X)
        optimizer.recommend(**asked)
        assert len(optimizer.history_) <= len(told) + 3  # answers of threads about to count

    def keep():
        optimizer.save(tmp_path / "run")
        for twin in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
            n = len(twin.history_)
            model = getattr(twin, "surrogate_", None)
            if name not in ("EI", "StoOO") and isinstance(model, OnlineGaussianProcessRegressor):
                assert sum(model.process_.posterior.counts()) == n  # all of one moment

    hammer(play, play, play, look, keep, seconds=0.5)
    assert len(optimizer.history_) == len(told)
    assert sorted(optimizer.history_["reward"].ravel()) == sorted(
        told * 2 if name == "combinatorial" else told
    )
    # The result is that of one thread with the same answers.
    optimizer.save(tmp_path / "run")
    without_member(tmp_path / "run", "snapshot.json")
    alone = type(optimizer).load(tmp_path / "run")
    np.testing.assert_array_equal(alone.predict(X), optimizer.predict(X))
    assert alone.ask(**asked) == optimizer.ask(**asked)


@pytest.mark.slow
def test_threads_may_share_a_regressor():
    X = np.random.default_rng(0).random((4000, 2))
    regressor = OnlineGaussianProcessRegressor(RBF(0.3), alpha=0.1, optimizer=None).track(X[:50])
    done = []

    def observe():
        rows = X[3 * len(done) % 3900 :][:3]
        regressor.partial_fit(rows, rows[:, 0])
        done.append(len(rows))

    def look():
        regressor.predict(X[:40], return_std=True)
        regressor.predict_tracked(return_std=True)
        pickle.loads(pickle.dumps(regressor)).predict(X[:5])

    hammer(observe, observe, observe, look, seconds=0.5)
    assert sum(regressor.process_.posterior.counts()) == sum(done)
    np.testing.assert_allclose(regressor.predict_tracked(), regressor.predict(X[:50]), atol=1e-8)


@pytest.mark.slow
def test_threads_may_share_a_conditional_mean_process():
    A = np.random.default_rng(0).random((4000, 1))
    process = ConditionalMeanProcess(RBF(0.3), WindowMean(scale=0.1), alpha=0.1)
    done = []

    def observe():
        process.condition_query(A[len(done) % 4000], float(A[len(done) % 4000, 0]))
        done.append(1)

    def look():
        process.predict(A[:40], return_std=True)
        process.predict_query(A[:30])

    hammer(observe, observe, look, lambda: copy.deepcopy(process).predict(A[:5]), seconds=0.5)
    assert process.n_observations_ == len(done)
    samples, observed = process._model.samples, process.process_.observed.rows
    again = clone(process)._observe(observed[samples.functional], samples.reward)
    np.testing.assert_allclose(again.predict(A[:30]), process.predict(A[:30]), atol=1e-8)


def guarded_classes():
    found = [value for value in vars(skgpb.optimizers).values() if inspect.isclass(value)]
    found += [CombinatorialBandit, OnlineGaussianProcessRegressor, ConditionalMeanProcess]
    return [cls for cls in found if issubclass(cls, Guarded)]


@pytest.mark.parametrize("cls", guarded_classes())
def test_every_public_method_holds_the_lock(cls):
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        value = value.fget if isinstance(value, property) else value
        ours = inspect.isfunction(value) and value.__module__.startswith("skgpb.")
        if name.startswith("_") or name in FREE or not ours:
            continue
        if name == "_theory_beta" or "posterior" in inspect.signature(value).parameters:
            continue  # parts of a rule, asked by what holds the lock
        if value.__code__.co_name != "holding":  # ask and tell of the loop take it themselves
            assert "with self._lock:" in inspect.getsource(value), f"{cls.__name__}.{name}"


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_what_shares_state_shares_a_lock_and_copies_have_their_own(name):
    optimizer = clone(OPTIMIZERS[name])
    query = optimizer.ask(context=[0.3]) if name == "contextual" else optimizer.ask()
    optimizer.tell(query, [0.1, 0.2] if name == "combinatorial" else 0.1)

    def locks(each):
        parts = [each, *getattr(each, "optimizers_", [])]
        parts += [getattr(part, name) for part in parts for name in MODELS if hasattr(part, name)]
        return {id(part._lock) for part in parts if isinstance(part, Guarded)}

    own = locks(optimizer)
    assert len(own) == 1
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer)), clone(optimizer)):
        assert len(locks(twin)) == 1
        assert locks(twin) != own
    # A shallow copy has the same state, and therefore the same lock.
    assert locks(copy.copy(optimizer)) == own


MODELS = ("surrogate_", "process_", "_gpr")


def test_different_optimizers_do_not_wait_for_each_other():
    one, other = (clone(OPTIMIZERS["GPOO"]) for _ in range(2))
    one.ask()
    with one._lock:
        thread = threading.Thread(target=other.ask)
        thread.start()
        thread.join(timeout=20)
        assert not thread.is_alive()
        waiting = threading.Thread(target=one.ask)
        waiting.start()
        waiting.join(timeout=0.05)
        assert waiting.is_alive()
    waiting.join(timeout=20)
    assert not waiting.is_alive()


def test_a_run_can_be_looked_at_while_it_evaluates():
    optimizer = clone(OPTIMIZERS["GPOO"])

    def objective(query):
        seen = []
        reader = threading.Thread(target=lambda: seen.append(optimizer.predict([[0.5, 0.5]])))
        reader.start()
        reader.join(timeout=20)
        assert len(seen) == 1
        return 0.5

    assert optimizer.run(objective, 3, on_error="raise").nfev == 3


def test_copies_of_a_lock_that_is_held_are_free():
    lock = StateLock()
    with lock:
        for other in (copy.copy(lock), copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(other.acquire, timeout=5).result()


# -- processes that are forked -------------------------------------------------------------------


def in_child(call):
    """Call in a forked process; return what becomes of it, "hangs" after five seconds."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(5)
        try:
            call()
            outcome = "done"
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"
        os.write(write, outcome.encode()[:4000])
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as said:
        return said.read() or "hangs"


posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("make", [lambda: clone(OPTIMIZERS["EI"]), OnlineGaussianProcessRegressor])
def test_a_child_that_is_forked_while_a_thread_works_is_told_so(make):
    """It has a copy that may be half changed, and nobody there to finish it."""
    guarded, working, forked = make(), threading.Event(), threading.Event()

    def work():
        with guarded._lock:
            working.set()
            forked.wait(20)

    def use():
        guarded.predict([[0.5, 0.5]])

    thread = threading.Thread(target=work)
    thread.start()
    working.wait(20)
    said = in_child(use)
    forked.set()
    thread.join()
    assert said.startswith("RuntimeError: this process was forked while another thread used")
    assert not in_child(use).startswith("RuntimeError: this process was forked")


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_what_its_parent_evaluates():
    arms = EIOptimizer(RBF(0.3), arms=[[0.0], [1.0]], alpha=0.1, random_state=0)
    evaluating, forked = threading.Event(), threading.Event()

    def slow(query):
        evaluating.set()
        forked.wait(20)
        return 1.0

    thread = threading.Thread(target=arms.run, args=(slow, 1))
    thread.start()
    evaluating.wait(20)
    said = in_child(lambda: arms.run(lambda query: 0.5, 2))
    forked.set()
    thread.join()
    assert said == "done"


@pytest.mark.parametrize("started", [False, True])
def test_a_pickle_leaves_the_lock_of_what_was_pickled(started):
    """A pickled copy is private; the original still shows one moment when it is pickled again."""
    original = clone(OPTIMIZERS["EI"])
    if started:
        original.start()
    pickle.loads(pickle.dumps(original))
    assert not original._lock.private

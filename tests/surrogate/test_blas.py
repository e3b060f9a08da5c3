"""Small problems hold BLAS to one thread, and give back what it had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from threading import Barrier, Thread

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import ThreadpoolController, threadpool_limits

from skgpb import GPUCBOptimizer
from skgpb.surrogate.blas import MOST_ROWS_OF_SMALL, one_thread_if_small

CONTROLLER = ThreadpoolController()


def n_threads():
    """Largest number of threads of a BLAS."""
    return max(each.num_threads for each in CONTROLLER.lib_controllers if each.user_api == "blas")


@pytest.fixture(autouse=True)
def _three_threads():
    with threadpool_limits(3, user_api="blas"):
        if n_threads() != 3:
            pytest.skip("there is no BLAS with threads here")
        yield


def test_small_problems_have_one_thread_and_large_ones_all():
    for size, expected in [(1, 1), (MOST_ROWS_OF_SMALL, 1), (MOST_ROWS_OF_SMALL + 1, 3)]:
        with one_thread_if_small(size):
            assert n_threads() == expected
        assert n_threads() == 3


def fail(error, size):
    """Raise within a block, and within one inside."""
    with one_thread_if_small(size):
        assert n_threads() == 1
        with one_thread_if_small(size):
            assert n_threads() == 1
            raise error
    raise AssertionError


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_threads_come_back_after_exceptions_and_nested_blocks(error):
    with pytest.raises(error):
        fail(error, 5)
    assert n_threads() == 3
    with one_thread_if_small(5):
        with one_thread_if_small(5):
            pass
        assert n_threads() == 1
    assert n_threads() == 3


def test_threads_come_back_whichever_of_two_threads_ends_first():
    for ours_first in (True, False):
        inside, first_left = Barrier(2, timeout=60), Barrier(2, timeout=60)

        def other(ours_first=ours_first, inside=inside, first_left=first_left):
            with one_thread_if_small(5):
                inside.wait()
                if ours_first:
                    first_left.wait()
            if not ours_first:
                first_left.wait()

        thread = Thread(target=other)
        with one_thread_if_small(5):
            thread.start()
            inside.wait()
            assert n_threads() == 1
            if not ours_first:
                first_left.wait()
                assert n_threads() == 1
        if ours_first:
            assert n_threads() == 3
            first_left.wait()
        thread.join()
        assert n_threads() == 3


def test_many_threads_that_come_and_go_leave_what_there_was():
    def often():
        for i in range(200):
            with one_thread_if_small(i % 2 * 400):
                pass

    threads = [Thread(target=often) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert n_threads() == 3


def test_what_the_user_says_meanwhile_holds():
    with one_thread_if_small(5):
        CONTROLLER.limit(limits=2, user_api="blas")
    assert n_threads() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_the_threads_that_there_were():
    with one_thread_if_small(5):
        child = os.fork()
        if not child:
            found = n_threads()
            with one_thread_if_small(5):
                found = 10 * found + n_threads()
            os._exit(found if n_threads() == 3 else 99)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 31
        assert n_threads() == 1
    assert n_threads() == 3


def test_hyperparameters_of_few_answers_are_learned_on_one_thread():
    seen = []

    def optimizer(objective, start, bounds):
        seen.append(n_threads())
        objective(start)
        return start, 0.0

    arms = np.linspace(0.0, 1.0, 30)[:, np.newaxis]
    run = GPUCBOptimizer(RBF(0.2), arms=arms, alpha=0.01, optimizer=optimizer, random_state=0)
    run.run(lambda arm: float(np.sin(5.0 * arm.points[0, 0])), 8)
    assert seen and set(seen) == {1} and n_threads() == 3


DEFAULTS = """
import json
from threadpoolctl import threadpool_info
import skgpb.surrogate.likelihood
from skgpb.surrogate.blas import one_thread_if_small
before = [each["num_threads"] for each in threadpool_info()]
with one_thread_if_small(5):
    within = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
after = [each["num_threads"] for each in threadpool_info()]
print(json.dumps([before, within, after]))
"""


@pytest.mark.slow
def test_a_process_with_its_own_defaults_gets_them_back():
    environment = {name: v for name, v in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", DEFAULTS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    before, within, after = json.loads(done.stdout)
    assert before == after and set(within) == {1}

"""Runs that end in the middle, and those of several workers."""

import os
import pickle
import signal
import stat
import subprocess
import sys
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from runs import of_another_version, optimizer, parallel_history, peak
from scipy.stats import loguniform

import skgpb.utils.persistence
from skgpb import (
    GPOOOptimizer,
    GPUCBOptimizer,
)
from skgpb.exceptions import EvaluationWarning, ParameterWarning

# Crashes -----------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import numpy as np
from skgpb import GPUCBOptimizer

path, n_jobs, fatal = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def objective(query):
    objective.calls += 1
    if objective.calls == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    x = float(np.asarray(query).mean())
    return float(np.sin(7.0 * x) + 0.1 * np.sin(1e4 * x))

objective.calls = 0
opt = GPUCBOptimizer(bounds=[(0, 1)], n_candidates=40, normalize_y=True,
                     optimizer="fmin_l_bfgs_b", random_state=0)
opt.run(objective, 20, checkpoint=path)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("fatal", [1, 9])
@pytest.mark.usefixtures("own_seeds")
def test_a_killed_run_resumes_on_the_same_trajectory(fatal, tmp_path):
    path = tmp_path / "run"
    killed = subprocess.run([sys.executable, "-c", KILLED, path, "1", str(fatal)], check=False)
    assert killed.returncode == -signal.SIGKILL
    resumed = GPUCBOptimizer.load(path)
    assert len(resumed.history_) == fatal - 1
    resumed.run(peak, 20 - len(resumed.history_), checkpoint=path)
    whole = GPUCBOptimizer(**resumed.get_params())
    whole.run(peak, 20)
    assert_array_equal(resumed.history_, whole.history_)
    assert_array_equal(GPUCBOptimizer.load(path).history_, whole.history_)
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.slow
def test_a_run_interrupted_within_a_batch_evaluates_the_rest_of_it_first(tmp_path):
    whole, path = optimizer(), tmp_path / "run"
    with parallel_config(backend="threading"):
        whole.run(peak, 12, n_jobs=4)
        run = optimizer()
        run.run(peak, 12, n_jobs=4, callback=lambda self: len(self.history_) == 6, checkpoint=path)
        loaded = [GPOOOptimizer.load(path)]
        of_another_version(path)
        loaded.append(GPOOOptimizer.load(path))
        for resumed in (*loaded, pickle.loads(pickle.dumps(run))):
            resumed.run(peak, 6, n_jobs=4)
            assert_array_equal(resumed.history_["descriptor"], whole.history_["descriptor"])
            # A file is factorised in another order.
            same = assert_allclose if resumed is loaded[0] else assert_array_equal
            same(resumed.history_["std"], whole.history_["std"])


def test_a_checkpoint_holds_all_answers_of_a_batch(tmp_path):
    run, path = optimizer(), tmp_path / "run"
    with parallel_config(backend="threading"):
        run.run(peak, 7, n_jobs=4, checkpoint=path)
    assert_array_equal(GPOOOptimizer.load(path).history_, run.history_)


KILLED_WHILE_SAVING = """
import os, signal, sys
from skgpb import GPOOOptimizer

opt = GPOOOptimizer(bounds=[(0, 1)], random_state=0)
opt.save(sys.argv[1])
opt.tell(opt.ask(), 0.5)
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
opt.save(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
def test_a_kill_while_saving_leaves_the_older_file_alone(tmp_path):
    path = tmp_path / "run"
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_SAVING, path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["run"]
    assert len(GPOOOptimizer.load(path).history_) == 0


@pytest.mark.parametrize("unseen", [True, False])
def test_saving_keeps_permissions_and_links(tmp_path, monkeypatch, unseen):
    if not unseen:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    target, link = tmp_path / "run", tmp_path / "link"
    link.symlink_to(target)
    run = optimizer()
    run.save(link)
    plain = tmp_path / "plain"
    plain.write_text("")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    target.chmod(0o664)
    run.tell(run.ask(), 0.3).save(link)
    assert stat.S_IMODE(target.stat().st_mode) == 0o664
    assert link.is_symlink() and not target.is_symlink()
    assert len(GPOOOptimizer.load(target).history_) == 1
    assert sorted(os.listdir(tmp_path)) == ["link", "plain", "run"]


def test_names_of_any_length_can_be_saved(tmp_path):
    path = tmp_path / ("x" * 250)
    optimizer().save(path)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_are_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)  # the file is smaller than a pipe's buffer
    try:
        optimizer().save(path)
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert os.read(descriptor, 2) == b"PK"
    finally:
        os.close(descriptor)


def test_a_failing_write_leaves_the_older_file(tmp_path, monkeypatch):
    run, path = optimizer(), tmp_path / "run"
    run.run(peak, 3)
    run.save(path)
    before = path.read_bytes()

    def broken(descriptor):
        raise OSError("the disk is full")

    monkeypatch.setattr(skgpb.utils.persistence.os, "fsync", broken)
    run.run(peak, 3)
    with pytest.raises(OSError, match="full"):
        run.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("unseen", [True, False])
@pytest.mark.parametrize("name", ["missing/run", "file/run", "folder"])
def test_where_nothing_can_be_written_the_error_names_what_was_given(
    name, unseen, tmp_path, monkeypatch
):
    if not unseen:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError) as caught:
        optimizer().save(name)
    assert caught.value.filename == name
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


# Parallel ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend", ["loky", pytest.param("multiprocessing", marks=pytest.mark.slow)]
)
@pytest.mark.usefixtures("own_seeds")  # seeds of a run that comes to the hole
def test_backends_give_the_same_run(backend):
    """Tests of dask and Ray are in ``tests/machines``."""
    with parallel_config(backend="threading"):
        expected = parallel_history()
    with parallel_config(backend=backend):
        assert repr(parallel_history()) == repr(expected)


# Checkpoints -------------------------------------------------------------------------------------


def killed_after(n):
    """Return a function of queries that dies at its n-th call, counted from 0."""
    calls = iter(range(100))

    def objective(query):
        if next(calls) == n:
            raise KeyboardInterrupt
        return peak(query)

    return objective


def job(objective, path, budget=12, **parameters):
    """Run the script of a job that is queued again."""
    run = optimizer(**parameters)
    return run, run.run(objective, budget, checkpoint=path, resume=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fatal", [0, 1, 7])
@pytest.mark.usefixtures("own_seeds")
def test_a_job_that_is_queued_again_goes_on(tmp_path, fatal):
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        job(killed_after(fatal), path)
    second, result = job(peak, path)
    whole = optimizer()
    expected = whole.run(peak, 12)
    assert_array_equal(second.history_, whole.history_)
    assert_array_equal(GPOOOptimizer.load(path).history_, whole.history_)
    assert result.nfev == expected.nfev == 12 and result.x == expected.x
    # It may be queued once more, and then with a larger budget.
    third, result = job(lambda query: 1 / 0, path)
    assert result.nfev == 12 and result.x == expected.x and len(third.history_) == 12
    whole.run(peak, 3)
    assert_array_equal(job(peak, path, 15)[0].history_, whole.history_)


def test_what_was_set_during_a_job_is_set_when_it_is_queued_again(tmp_path):
    path, first = tmp_path / "run", optimizer()
    first.run(peak, 4, checkpoint=path)
    first.set_params(relearn=3)
    first.run(peak, 4, checkpoint=path)
    second, result = job(peak, path)
    first.run(peak, 4)
    assert result.nfev == 12 and second.relearn == 3
    assert_array_equal(second.history_, first.history_)


def test_parameters_that_are_never_equal_are_not_set_by_resuming(tmp_path):
    path = tmp_path / "run"
    for budget in (3, 5, 6):
        run = GPUCBOptimizer(bounds={"x": loguniform(0.1, 1.0)}, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParameterWarning)
            run.run(lambda query: query.params["x"], budget, checkpoint=path, resume=True)
        assert len(run.history_) == budget
        assert all(event[0] != "set" for event in run._events)


def test_a_checkpoint_of_another_run_is_not_replaced(tmp_path):
    path = tmp_path / "run"
    optimizer().run(peak, 7, checkpoint=path)
    before = path.read_bytes()
    fresh = optimizer()
    with pytest.raises(ValueError, match=r"holds a run of 7 answers.*resume=True continues it"):
        fresh.run(lambda query: 1 / 0, 1, checkpoint=path)
    fitted = optimizer().fit(np.array([[0.5]]), [1.0])
    for resume in (False, True):
        with pytest.raises(ValueError, match="holds a run of 7 answers"):
            fitted.run(lambda query: 1 / 0, 20, checkpoint=path, resume=resume)
    for parameters in ({"beta": 3.0}, {"random_state": 8}, {"direction": "minimize"}):
        with pytest.raises(ValueError, match=f"with another {next(iter(parameters))}"):
            job(lambda query: 1 / 0, path, **parameters)
    with pytest.raises(ValueError, match="it holds a run of GPOOOptimizer, not of GPUCB"):
        GPUCBOptimizer(bounds=[(0, 1)]).run(peak, 8, checkpoint=path, resume=True)
    assert path.read_bytes() == before
    path.write_text("mine")
    for resume in (False, True):
        with pytest.raises(ValueError, match=r"checkpoint .*; choose another name"):
            optimizer().run(lambda query: 1 / 0, 1, checkpoint=path, resume=resume)
    assert path.read_text() == "mine"


def test_a_run_goes_on_with_its_own_checkpoint(tmp_path):
    path, run = tmp_path / "run", optimizer()
    run.run(peak, 3, checkpoint=path)
    run.run(peak, 3, checkpoint=path)
    loaded = GPOOOptimizer.load(path)
    loaded.run(peak, 2, checkpoint=path)
    loaded.run(peak, 9, checkpoint=path, resume=True)
    assert len(GPOOOptimizer.load(path).history_) == 9
    with pytest.raises(ValueError, match="holds a run of 9 answers"):
        run.run(peak, 1, checkpoint=path)  # it does not know the last three
    again = optimizer().fit(np.array([[0.5]]), [1.0])
    other = tmp_path / "fitted"
    again.run(peak, 2, checkpoint=other)
    twin = optimizer().fit(np.array([[0.5]]), [1.0])
    twin.run(peak, 4, checkpoint=other, resume=True)
    again.run(peak, 2)
    assert_array_equal(twin.history_, again.history_)


def test_costs_failures_contexts_and_stops_of_a_run_that_is_resumed_are_those_of_all(tmp_path):
    def failing(query):
        return None if query.points[0, 0] > 0.9 else float(query.points[0, 0])

    def arms(**more):
        return GPUCBOptimizer(arms=np.linspace(0, 1, 12)[:, None], random_state=0, **more)

    path = tmp_path / "failures"
    with pytest.warns(EvaluationWarning):
        arms().run(failing, 11, checkpoint=path)
    with pytest.warns(EvaluationWarning):
        result = arms().run(failing, 14, checkpoint=path, resume=True)
    assert result.nfev == 14 and result.nfail >= 1
    path = tmp_path / "stops"
    stop = lambda run: len(run.history_) >= 3  # noqa: E731
    for _ in range(2):
        result = arms().run(peak, 9, checkpoint=path, stop=stop, resume=True)
        assert result.nfev == 3 and "stop" in result.message
    path, costs = tmp_path / "costs", np.full(12, 2.0)
    arms(cost=costs).run(peak, max_cost=6, checkpoint=path)
    result = arms(cost=costs).run(peak, max_cost=10, checkpoint=path, resume=True)
    assert result.cost == 10.0 and result.nfev == 5
    path, contexts = tmp_path / "contexts", [[0.1], [0.9], [0.5], [0.3]]
    settings = {"bounds": [(0, 1)], "context_bounds": [(0, 1)], "random_state": 0}
    whole = GPUCBOptimizer(**settings)
    whole.run(peak, contexts=contexts)
    GPUCBOptimizer(**settings).run(peak, contexts=contexts[:2], checkpoint=path)
    for _ in range(2):
        rest = GPUCBOptimizer(**settings)
        result = rest.run(peak, contexts=contexts, checkpoint=path, resume=True)
        assert result.message == "all contexts were played" and result.nfev == 4
        assert_array_equal(rest.history_["descriptor"], whole.history_["descriptor"])
        assert result.x.context == [0.3]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"resume": 1, "checkpoint": "run"}, TypeError, "resume must be a bool, got 1"),
        ({"resume": True}, ValueError, "resume=True continues the run in checkpoint"),
    ],
)
def test_what_cannot_be_resumed_is_refused(given, error, says):
    with pytest.raises(error, match=says):
        optimizer().run(peak, 3, **given)

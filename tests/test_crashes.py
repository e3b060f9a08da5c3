"""Runs that end in the middle, and those of several workers."""

import os
import pickle
import signal
import stat
import subprocess
import sys

import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from runs import optimizer, parallel_history, peak

import skgpb.persistence
from skgpb import (
    GPOOOptimizer,
    GPUCBOptimizer,
)

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


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("fatal", [pytest.param(1, marks=pytest.mark.slow), 9])
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


def test_a_run_interrupted_within_a_batch_evaluates_the_rest_of_it_first(tmp_path):
    whole, path = optimizer(), tmp_path / "run"
    with parallel_config(backend="threading"):
        whole.run(peak, 12, n_jobs=4)
        run = optimizer()
        run.run(peak, 12, n_jobs=4, callback=lambda self: len(self.history_) == 6, checkpoint=path)
        loaded = [GPOOOptimizer.load(path, verify=verify) for verify in (False, True)]
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

    monkeypatch.setattr(skgpb.persistence.os, "fsync", broken)
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

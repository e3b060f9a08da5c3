"""Runs and studies on real clusters, all on this machine: ``python -m pytest -m integration``.

Packages that are not installed are skipped; CONTRIBUTING says how to install them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from evaluations import Evaluation
from joblib import parallel_config
from numpy.testing import assert_array_equal
from postgresql import server
from runs import parallel_history
from studies import survives_killed_workers

from skgpb import GPUCBOptimizer

pytestmark = pytest.mark.integration

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "doc" / "user_guide" / "many_machines.rst"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Workers import the objective as the tests do."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(TESTS), *sys.path])))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "evaluations").mkdir()
    return tmp_path / "evaluations"


def bandit():
    return GPUCBOptimizer(arms=np.linspace(0.0, 1.0, 30)[:, None], random_state=0)


def whole(optimizer, objective, executor, n_workers=2):
    """Assert that a run by an executor makes each evaluation once, in as many processes."""
    result = optimizer.run(objective, 20, executor=executor)
    assert result.nfev == len(objective.processes) == 20
    assert result.nfail == 0
    assert len({*objective.processes, os.getpid()}) == n_workers + 1
    kinds = [event[0] for event in optimizer._events if event[0] in ("ask", "tell")]
    assert kinds[: n_workers + 1] == ["ask"] * n_workers + ["tell"]


def alone(optimizer, executor):
    """Assert that a run with one worker is the one without."""
    objective = Evaluation(tempfile.mkdtemp())
    result = optimizer.run(objective, 12, n_jobs=1, executor=executor)
    assert_array_equal(result.history, bandit().run(objective, 12).history)
    shutil.rmtree(objective.folder)


# -- processes of this computer ---------------------------------------------------------------


def test_processes(folder):
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        whole(bandit(), Evaluation(folder, 2), executor)
        alone(bandit(), executor)


def test_loky(folder):
    loky = pytest.importorskip("loky")
    executor = loky.get_reusable_executor(2)
    whole(bandit(), Evaluation(folder, 2), executor)
    optimizer, here = bandit(), os.getpid()
    # A function of no module, which pickle would refuse.
    assert optimizer.run(lambda query: float(os.getpid() != here), 4, executor=executor).nfail == 0
    assert_array_equal(optimizer.history_["reward"], 1.0)
    alone(bandit(), executor)
    executor.shutdown()


# -- dask -------------------------------------------------------------------------------------


@pytest.fixture
def client():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_dask(client, folder):
    whole(bandit(), Evaluation(folder, 2), client.get_executor())
    alone(bandit(), client.get_executor())


def test_dask_when_a_worker_dies(client, folder):
    """Its evaluation is made by the other one, and the run notices nothing."""
    optimizer, objective = bandit(), Evaluation(folder, 2, 0.2)

    def kill(run):
        if len(run.history_) == 5:
            os.kill(objective.processes[0], signal.SIGKILL)

    result = optimizer.run(objective, 20, callback=kill, executor=client.get_executor())
    assert result.nfev == 20 and result.nfail == 0
    assert len(set(objective.processes)) >= 2
    assert {event[0] for event in optimizer._events} <= {"ask", "tell", "learned"}


def test_dask_evaluates_again_what_is_asked_again(client):
    optimizer = GPUCBOptimizer(arms=[[0.0], [1.0]], random_state=0)
    optimizer.run(
        lambda query: np.random.default_rng().normal(), 12, executor=client.get_executor()
    )
    assert len(set(optimizer.history_["reward"])) == 12


@pytest.mark.usefixtures("client", "own_seeds")
def test_batches_of_joblib_on_dask():
    expected = parallel_history()
    with parallel_config(backend="dask"):
        assert repr(parallel_history()) == repr(expected)


# -- MPI --------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("mpiexec") is None, reason="needs mpiexec")
def test_mpi(folder, tmp_path):
    pytest.importorskip("mpi4py")
    path = tmp_path / "run.skgpb"
    script = TESTS / "machines" / "on_mpi.py"
    # More processes than cores, and by root as in a container.
    allowed = {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    subprocess.run(
        ["mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures", script, folder, path],
        env=os.environ | allowed,
        check=True,
        timeout=300,
    )
    optimizer = GPUCBOptimizer.load(path)
    assert len(optimizer.history_) == len(Evaluation(folder).processes) == 20
    assert len(set(Evaluation(folder).processes)) == 2
    kinds = [event[0] for event in optimizer._events if event[0] in ("ask", "tell")]
    assert kinds[:3] == ["ask", "ask", "tell"]


# -- Ray --------------------------------------------------------------------------------------


@pytest.fixture
def ray():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


@pytest.mark.usefixtures("ray")
def test_ray(folder):
    """With the executor that the page shows, as it stands there."""
    if not PAGE.exists():
        pytest.skip("the documentation is not available")
    block = re.search(
        r"^   import ray\n.*?(?=^   ray\.init)", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )
    names: dict = {}
    exec(textwrap.dedent(block[0]), names)
    executor = names["RayExecutor"]()
    with pytest.raises(ValueError, match="n_jobs must be"):
        bandit().run(Evaluation(folder), 2, executor=executor)
    optimizer, objective = bandit(), Evaluation(folder, 2)
    assert optimizer.run(objective, 20, n_jobs=2, executor=executor).nfail == 0
    assert len(objective.processes) == 20
    assert len({*objective.processes, os.getpid()}) == 3
    alone(bandit(), executor)


@pytest.mark.usefixtures("ray", "own_seeds")
def test_batches_of_joblib_on_ray():
    pytest.importorskip("ray.util.joblib").register_ray()
    expected = parallel_history()
    with parallel_config(backend="ray"):
        assert repr(parallel_history()) == repr(expected)


# -- Optuna over PostgreSQL -------------------------------------------------------------------


@pytest.fixture
def postgres():
    """URL of a server in a folder of its own, which only this machine can reach."""
    pytest.importorskip("psycopg2")
    with server() as port:
        yield f"postgresql+psycopg2://skgpb@127.0.0.1:{port}/postgres"


def test_optuna_over_postgresql_loses_nothing_when_two_of_four_workers_are_killed(postgres):
    pytest.importorskip("optuna")
    survives_killed_workers(postgres, n_workers=4, n_killed=2, n_trials=40)

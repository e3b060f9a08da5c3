"""An Optuna study shared by several processes; some of them are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

WORKER = """
import sys, time
import optuna
from skgpb.integrations.optuna import GPBanditSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    k = trial.suggest_int("k", 0, 5)
    time.sleep(0.05)
    return (x - 0.3) ** 2 + 0.1 * (k - 2) ** 2


study = optuna.load_study(
    study_name="s", storage=sys.argv[1], sampler=GPBanditSampler(seed=0, n_startup_trials=2)
)
print("ready", flush=True)
complete = (optuna.trial.TrialState.COMPLETE,)
study.optimize(objective, callbacks=[optuna.study.MaxTrialsCallback(int(sys.argv[2]), complete)])
"""


def survives_killed_workers(storage: str, n_workers: int, n_killed: int, n_trials: int) -> None:
    """Assert that the remaining workers finish a study and lose nothing when others are killed."""
    import optuna
    from optuna.trial import TrialState

    from skgpb.integrations.optuna import GPBanditSampler

    optuna.create_study(study_name="s", storage=storage)
    command = [sys.executable, "-c", WORKER, storage, str(n_trials)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(n_workers)]
    try:
        for worker in workers:
            assert worker.stdout.readline() == b"ready\n"

        def complete():
            study = optuna.load_study(study_name="s", storage=storage)
            return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))

        deadline = time.monotonic() + 120
        while len(complete()) < 6 and time.monotonic() < deadline:
            time.sleep(0.05)
        for worker in workers[:n_killed]:
            os.kill(worker.pid, signal.SIGKILL)
            assert worker.wait() == -signal.SIGKILL
        before = {t.number: (t.params, t.value) for t in complete()}
        assert 6 <= len(before) < n_trials
        assert [worker.wait(timeout=240) for worker in workers[n_killed:]] == [0] * (
            n_workers - n_killed
        )
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            worker.stdout.close()
    after = {t.number: (t.params, t.value) for t in complete()}
    assert len(after) >= n_trials
    assert {number: after[number] for number in before} == before
    # At most the trials that killed workers were at have no answer; the study goes on.
    study = optuna.load_study(
        study_name="s", storage=storage, sampler=GPBanditSampler(seed=0, n_startup_trials=2)
    )
    assert sum(not t.state.is_finished() for t in study.trials) <= n_killed
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=1)
    assert len(complete()) == len(after) + 1
    assert study.best_value < 0.05

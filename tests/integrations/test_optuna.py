"""GPBanditSampler is a sampler like Optuna's own, and loses nothing when a worker dies."""

from __future__ import annotations

import pickle
import re
import signal
import sys
import warnings

import numpy as np
import pytest
from studies import survives_killed_workers

optuna = pytest.importorskip("optuna")


from skgpb import EIOptimizer, GPOOOptimizer, GPUCBOptimizer, MESOptimizer  # noqa: E402
from skgpb.acquisition.volume import dominated_volume  # noqa: E402
from skgpb.integrations.optuna import GPBanditSampler  # noqa: E402
from skgpb.utils.install import install_command  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)


try:
    from optuna.testing.pytest_samplers import (
        BasicSamplerTestCase,
        MultiObjectiveSamplerTestCase,
        RelativeSamplerTestCase,
    )
except ImportError:

    @pytest.mark.skip(reason="this version of Optuna has no test suite for samplers")
    def test_optunas_own_suite():
        raise NotImplementedError

else:

    class TestOptunasOwnSuite(
        BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
    ):
        # All pairs of six distributions.
        test_sample_relative_numerical = pytest.mark.slow(
            RelativeSamplerTestCase.test_sample_relative_numerical
        )

        @pytest.fixture
        def sampler(self):
            return lambda: GPBanditSampler(n_startup_trials=0)


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    a = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return float(a**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def conditional(trial):
    kind = trial.suggest_categorical("kind", ["a", "b"])
    n = trial.suggest_int("n", 1, 64, log=True)
    value = 0.3 * abs(np.log2(n) - 4)
    if kind == "a":
        return value + 1.0 + (trial.suggest_float("u", 0, 1) - 0.2) ** 2
    return value + 4 * (trial.suggest_float("v", 0, 1) - 0.7) ** 2


def optimized(objective, n_trials, direction="minimize", **parameters):
    study = optuna.create_study(direction=direction, sampler=GPBanditSampler(**parameters))
    study.optimize(objective, n_trials=n_trials)
    return study


def best_of_random(objective, n_trials, seed):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(objective, n_trials=n_trials)
    return study.best_value


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [None, MESOptimizer(), GPUCBOptimizer(beta=2.0, alpha=1e-3)],
    ids=repr,
)
def test_it_finds_the_minimum(engine):
    gaps = [optimized(branin, 35, seed=s, optimizer=engine).best_value - 0.397887 for s in (0, 1)]
    assert max(gaps) < 0.1
    assert min(best_of_random(branin, 35, s) - 0.397887 for s in (0, 1)) > 0.1


def test_maximising_is_minimising_the_negative():
    up = optimized(lambda trial: -branin(trial), 15, "maximize", seed=3)
    down = optimized(branin, 15, seed=3)
    assert [t.params for t in up.trials] == [t.params for t in down.trials]


def test_parameters_that_depend_on_others_are_chosen_by_the_model():
    study = optimized(conditional, 40, seed=0)
    assert study.best_params["kind"] == "b"
    assert study.best_value < 0.01 + 0.3 * abs(np.log2(study.best_params["n"]) - 4) < 0.05
    late = [t.params["v"] for t in study.trials[25:] if "v" in t.params]
    assert len(late) >= 8
    assert np.median(np.abs(np.array(late) - 0.7)) < 0.1


@pytest.mark.slow
def test_the_better_branch_gets_most_trials():
    def objective(trial):
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return 2 * (trial.suggest_float("u", 0, 1) - 0.8) ** 2
        return 0.3 + 0.05 * (trial.suggest_float("v", 0, 1) - 0.5) ** 2

    for seed in range(5):
        study = optimized(objective, 25, seed=seed)
        assert sum(trial.params["kind"] == "a" for trial in study.trials) >= 15


def test_a_number_may_decide_which_parameters_there_are():
    def objective(trial):
        n = trial.suggest_int("n", 1, 3)
        sides = [trial.suggest_float(f"x{i}", 0, 1) for i in range(n)]
        return abs(n - 2) + sum((x - 0.3) ** 2 for x in sides)

    study = optimized(objective, 30, seed=1)
    assert study.best_params["n"] == 2 and study.best_value < 0.02
    assert all(len(trial.params) == 1 + trial.params["n"] for trial in study.trials)


@pytest.mark.slow
def test_the_seed_and_the_finished_trials_decide(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    whole = optimized(branin, 16, seed=7)
    for n in (9, 4, 3):
        # Every part is a new process, as far as the sampler is concerned.
        sampler = GPBanditSampler(seed=7)
        study = optuna.create_study(
            storage=storage, study_name="s", sampler=sampler, load_if_exists=True
        )
        study.optimize(branin, n_trials=n)
    # The start-up is over after four trials; what follows does not depend on the interruptions.
    np.testing.assert_array_equal(
        [[t.params["x"], t.params["y"]] for t in study.trials],
        [[t.params["x"], t.params["y"]] for t in whole.trials],
    )


def test_journal_storage_resumes(tmp_path):
    def study():
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal.log"))
        return optuna.create_study(
            storage=optuna.storages.JournalStorage(backend),
            study_name="s",
            sampler=GPBanditSampler(seed=1, n_startup_trials=3),
            load_if_exists=True,
        )

    study().optimize(branin, n_trials=5)
    resumed = study()
    resumed.optimize(branin, n_trials=5)
    assert [t.number for t in resumed.trials] == list(range(10))


def test_workers_try_different_things():
    study = optimized(branin, 10, seed=0, n_startup_trials=4)
    trials = [study.ask() for _ in range(4)]
    points = np.array([[t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)] for t in trials])
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)[np.triu_indices(4, 1)]
    assert gaps.min() > 0.1
    # The one that is running keeps others away; without it the same place is tried.
    one, two = (GPBanditSampler(seed=0, n_startup_trials=4) for _ in range(2))
    space = one.infer_relative_search_space(study, trials[0])
    frozen = study._storage.get_trial(trials[3]._trial_id)
    with_running = one.sample_relative(study, frozen, space)
    two._running = lambda *_: []
    assert two.sample_relative(study, frozen, space) != with_running


@pytest.mark.parametrize("n_startup_trials", [0, 1, 5])
def test_the_length_of_the_start_up_is_a_parameter(n_startup_trials):
    chosen = []

    class Spy(GPBanditSampler):
        def sample_relative(self, study, trial, search_space):
            params = super().sample_relative(study, trial, search_space)
            chosen.append(bool(params))
            return params

    sampler = Spy(seed=0, n_startup_trials=n_startup_trials)
    study = optuna.create_study(sampler=sampler)
    study.optimize(branin, n_trials=7)
    first = max(1, n_startup_trials)
    assert chosen == [False] * first + [True] * (7 - first)


def test_failed_pruned_and_infinite_trials():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number % 5 == 1:
            raise RuntimeError
        if trial.number % 5 == 2:
            raise optuna.TrialPruned
        return float("inf") if x > 0.8 else (x - 0.3) ** 2

    study = optuna.create_study(sampler=GPBanditSampler(seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=30, catch=(RuntimeError,))
    assert len(study.trials) == 30
    assert abs(study.best_params["x"] - 0.3) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("end", ["nan", "pruned", "raised"])
def test_a_half_in_which_trials_fail_is_left_alone(end):
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if x < 0.5 and end == "raised":
            raise RuntimeError
        if x < 0.5 and end == "pruned":
            raise optuna.TrialPruned
        return x if x >= 0.5 else float("nan")

    failed, best = [], []
    for seed in range(4):
        study = optuna.create_study(sampler=GPBanditSampler(seed=seed))
        study.optimize(objective, n_trials=30, catch=(RuntimeError,))
        failed.append(sum(trial.params["x"] < 0.5 for trial in study.trials[-10:]))
        best.append(study.best_value)
    assert sum(n <= 2 for n in failed) >= 3
    assert sum(value < 0.51 for value in best) >= 3


def test_limits_which_no_trial_tells_are_refused():
    with pytest.raises(ValueError, match="optimizer must have limits=None"):
        GPBanditSampler(EIOptimizer(limits={"heat": (None, 1.0)}))
    with pytest.raises(ValueError, match="and goals=None"):
        GPBanditSampler(EIOptimizer(goals={"cost": "minimize"}))


def test_more_than_four_directions_are_refused():
    study = optuna.create_study(directions=["minimize"] * 5, sampler=GPBanditSampler())
    with pytest.raises(ValueError, match="at most 4 directions, but the study has 5"):
        study.optimize(lambda trial: [trial.suggest_float("x", 0, 1)] * 5, n_trials=1)


def gain_and_cost(trial):
    """A list and two numbers; the best of each are y = 0 and every x."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    shift = {"a": 0.0, "b": 0.2}[trial.suggest_categorical("kind", ["a", "b"])]
    trial.set_user_attr("total", x + y)
    return x - y**2 - shift, x**2 + y + shift


def volume_of(trials):
    Y = np.array([trial.values for trial in trials]) * [1.0, -1.0]
    return dominated_volume(Y - [-1.0, -2.0])


def test_several_directions_look_for_the_front():
    volumes = []
    for sampler in (GPBanditSampler(seed=0), optuna.samplers.RandomSampler(seed=0)):
        study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
        study.optimize(gain_and_cost, n_trials=30)
        volumes.append(volume_of(study.trials))
    x = np.linspace(0.0, 1.0, 1001)
    best = dominated_volume(np.column_stack([x, -(x**2)]) - [-1.0, -2.0])
    assert volumes[0] > 0.98 * best > volumes[1]


def test_several_directions_are_determined_by_the_seed():
    studies = []
    for _ in range(2):
        study = optuna.create_study(
            directions=["maximize", "minimize"], sampler=GPBanditSampler(seed=3)
        )
        study.optimize(gain_and_cost, n_trials=12)
        studies.append([trial.params for trial in study.trials])
    assert studies[0] == studies[1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("directions", [["maximize"], ["maximize", "minimize"]])
def test_constraints_are_kept(directions):
    def objective(trial):
        if trial.number == 7:
            raise optuna.TrialPruned
        return gain_and_cost(trial)[: len(directions)]

    study = optuna.create_study(
        directions=directions,
        sampler=GPBanditSampler(
            seed=0,
            constraints_func=lambda trial: (
                [trial.user_attrs["total"] - 0.6] if "total" in trial.user_attrs else [0.0]
            ),
        ),
    )
    study.optimize(objective, n_trials=30)
    kept = [trial for trial in study.trials if trial.system_attrs["constraints"][0] <= 0.0]
    later = [trial for trial in kept if trial.number >= 10]
    assert len(later) >= 14
    # Optuna leaves out infeasible trials.
    assert max(trial.values[0] for trial in study.best_trials) > 0.55
    assert all(trial.system_attrs["constraints"][0] <= 0.0 for trial in study.best_trials)


def test_constraints_that_some_trials_lack_or_violate_always():
    def constraints(trial):
        return () if trial.number < 6 else [1.0 + trial.params["x"], float("inf")]

    sampler = GPBanditSampler(seed=0, constraints_func=constraints)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=14)
    # The constraint is violated least where x is small.
    assert min(trial.params["x"] for trial in study.trials[8:]) < 0.05


def test_constraints_that_are_nan_are_refused():
    sampler = GPBanditSampler(constraints_func=lambda trial: [float("nan")])
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(ValueError, match="constraints_func must return numbers, not NaN"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(TypeError, match="constraints_func must be a function"):
        GPBanditSampler(constraints_func=[0.0])


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"optimizer": GPOOOptimizer()}, TypeError),
        ({"optimizer": EIOptimizer(bounds=[(0, 1)])}, ValueError),
        ({"seed": -1}, ValueError),
        ({"seed": 0.5}, ValueError),
        ({"n_startup_trials": -1}, ValueError),
        ({"n_startup_trials": None}, ValueError),
    ],
)
def test_bad_input_is_named(parameters, error):
    with pytest.raises(error, match=next(iter(parameters))):
        GPBanditSampler(**parameters)


def test_a_sampler_pickles():
    study = optimized(branin, 10, seed=0)
    copied = pickle.loads(pickle.dumps(study.sampler))
    trial = study._storage.get_trial(study.ask()._trial_id)
    space = copied.infer_relative_search_space(study, trial)
    first = study.sampler.sample_relative(study, trial, space)
    assert copied.sample_relative(study, trial, space) == first


def test_without_optuna_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "skgpb.integrations.optuna")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=re.escape(install_command("optuna"))):
        import skgpb.integrations.optuna  # noqa: F401


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_nothing_is_lost_when_a_worker_is_killed(tmp_path):
    survives_killed_workers(f"sqlite:///{tmp_path}/study.db", n_workers=2, n_killed=1, n_trials=24)


def test_an_ordinary_study_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimized(branin, 12, seed=0)


def mixed(trial):
    x, n = trial.suggest_float("x", 1e-4, 1, log=True), trial.suggest_int("n", 1, 64, log=True)
    return (np.log10(x) + 2) ** 2 + (np.log2(n) - 4) ** 2 / 4


def few_values(trial):
    kind, n = trial.suggest_categorical("kind", ["a", "b", "c"]), trial.suggest_int("n", 0, 3)
    return (kind == "b") + (n - 2) ** 2


@pytest.mark.one_in(6)
@pytest.mark.parametrize("engine", [None, GPUCBOptimizer()], ids=repr)
@pytest.mark.parametrize("objective", [mixed, few_values, conditional])
def test_trials_that_run_at_once_differ(objective, engine):
    study = optimized(objective, 30, seed=1, optimizer=engine)
    for _ in range(2):
        running = [study.ask() for _ in range(3)]
        for trial in running:
            objective(trial)
        assert len({tuple(trial.params.items()) for trial in running}) == 3
        # In turn, as one worker after the other asks.
        running = []
        for _ in range(3):
            running.append(study.ask())
            objective(running[-1])
        assert len({tuple(trial.params.items()) for trial in running}) == 3


@pytest.mark.parametrize("objective", [mixed, few_values])
def test_trials_of_the_start_up_differ_although_workers_share_a_seed(objective):
    study, running = optuna.create_study(), []
    for _ in range(4):
        study.sampler = GPBanditSampler(seed=0)
        running.append(study.ask())
        objective(running[-1])
    assert len({tuple(trial.params.items()) for trial in running}) == 4

"""Batches of simulated runs: reproducible, comparable, independent of how they are spread."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.gaussian_process.kernels import RBF

from skgpb.optimizers import DAGPUCBOptimizer, GPTSOptimizer, GPUCBOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.problems import AdvertisingBudget, gp_draw
from skgpb.problems.simulation import simulate

ARMS = np.linspace(0.0, 1.0, 30)[:, np.newaxis]
PROBLEMS = [gp_draw(RBF(0.2), ARMS, random_state=seed) for seed in range(3)]
POLICIES = {
    "GP-UCB": GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.1),
    "GP-TS": GPTSOptimizer(RBF(0.2), arms=ARMS, alpha=0.1),
}


class Recorder:
    """A problem that remembers the noise of every answer."""

    optimum = 0.0

    def __init__(self, log):
        self.log = log

    def value(self, query):
        return 0.0

    def observe(self, query, rng):
        self.log.append(float(rng.standard_normal()))
        return self.log[-1]


def test_regret_is_the_sum_of_what_was_lost():
    result = simulate(POLICIES, PROBLEMS, 6, n_runs=2, random_state=0)
    for name in POLICIES:
        values = result.played[name]
        assert values.shape == result.regret[name].shape == (3, 2, 6)
        assert result.recommended[name].shape == (3, 2)
        for i, problem in enumerate(PROBLEMS):
            assert set(values[i].ravel()) <= set(problem.values)
            lost = np.cumsum(problem.optimum - values[i], axis=1)
            np.testing.assert_allclose(result.regret[name][i], lost, rtol=1e-12)
            assert set(result.recommended[name][i]) <= set(problem.values)


def test_a_run_is_the_loop_with_its_own_seeds():
    result = simulate(POLICIES, PROBLEMS[0], 5, random_state=3)
    assert result.played["GP-UCB"].shape == (1, 1, 5)
    again = simulate(POLICIES, PROBLEMS[0], 5, random_state=3)
    other = simulate(POLICIES, PROBLEMS[0], 5, random_state=4)
    np.testing.assert_array_equal(result.played["GP-TS"], again.played["GP-TS"])
    assert not np.array_equal(result.played["GP-TS"], other.played["GP-TS"])


def test_policies_meet_the_same_noise_and_runs_do_not():
    log = []
    simulate(POLICIES, Recorder(log), 4, n_runs=2, random_state=0)
    noise = np.array(log).reshape(2, 2, 4)  # policy, run, round
    np.testing.assert_array_equal(noise[0], noise[1])
    assert not np.isin(noise[0, 0], noise[0, 1]).any()


def test_first_runs_do_not_depend_on_their_number():
    few = simulate(POLICIES, PROBLEMS[:2], 4, n_runs=1, random_state=0)
    many = simulate(POLICIES, PROBLEMS, 4, n_runs=3, random_state=0)
    for name in POLICIES:
        np.testing.assert_array_equal(few.played[name], many.played[name][:2, :1])


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("own_seeds")
def test_results_do_not_depend_on_how_runs_are_spread(backend):
    alone = simulate(POLICIES, PROBLEMS[:1], 4, n_runs=2, random_state=0)
    with parallel_config(backend=backend):
        spread = simulate(POLICIES, PROBLEMS[:1], 4, n_runs=2, random_state=0, n_jobs=2)
    for name in POLICIES:
        np.testing.assert_array_equal(alone.played[name], spread.played[name])


def built(weights, problem):
    return DAGPUCBOptimizer(problem.kernel, arms=problem.arms, alpha=0.1, weights=weights)


def test_policies_may_be_built_for_a_problem():
    policies = {w: partial(built, w) for w in ("integral", "joint")}
    problems = [gp_draw("se", random_state=0), gp_draw("linear", random_state=0)]
    result = simulate(policies, problems, 5, random_state=0)
    assert list(result.regret) == ["integral", "joint"]
    assert np.isfinite(result.regret["joint"]).all()


def test_policies_given_are_not_played_themselves():
    policy = GPTSOptimizer(RBF(0.2), arms=ARMS, alpha=0.1, random_state=5)
    simulate({"GP-TS": policy}, PROBLEMS[0], 3, n_runs=2, random_state=0)
    assert policy.random_state == 5
    assert not hasattr(policy, "surrogate_")


def test_campaigns_can_be_simulated():
    problem = AdvertisingBudget()
    campaign = GPUCBOptimizer(problem.kernel(30.0), arms=problem.arms, alpha=0.1)
    policy = CombinatorialBandit([campaign] * 3, problem.budget)
    result = simulate({"GP-UCB": policy}, problem, 6, n_runs=2, random_state=0)
    assert (np.diff(result.regret["GP-UCB"], axis=-1) > -1e-9).all()
    assert (result.recommended["GP-UCB"] <= problem.optimum + 1e-9).all()


@pytest.mark.parametrize(
    ("policies", "problems", "n_rounds", "n_runs"),
    [
        ({}, PROBLEMS, 3, 1),
        (POLICIES, [], 3, 1),
        (POLICIES, PROBLEMS, 0, 1),
        (POLICIES, PROBLEMS, 3, 0),
        (POLICIES, PROBLEMS, 3, True),
        (POLICIES, PROBLEMS, 2.5, 1),
    ],
)
def test_nonsense_is_refused(policies, problems, n_rounds, n_runs):
    with pytest.raises(ValueError, match=r"at least one|must be an integer from 1 to"):
        simulate(policies, problems, n_rounds, n_runs=n_runs)

"""Simulations of several policies on test problems, with the same noise for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skgpb.problems.metrics import cumulative_regret
from skgpb.utils.typing import Seed
from skgpb.utils.validation import MOST_ROUNDS, check_size

__all__ = ["simulate"]


def simulate(
    policies: Mapping[str, BaseEstimator | Callable[[Any], BaseEstimator]],
    problems: Any,
    n_rounds: int,
    *,
    n_runs: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Run every policy on every problem several times, and return values and regrets.

    Parameters
    ----------
    policies : dict of str to optimizer or callable
        Optimizers, cloned for every run, or functions that take the problem and return an
        optimizer (for a policy that depends on the problem, such as on its arms).
    A problem has ``optimum``, the largest value; ``value(query)``, the true value of a
    query; and ``observe(query, rng)``, its noisy answer; see :mod:`skgpb.problems`.
    n_rounds : int
        Number of rounds of a run.
    n_runs : int, default=1
        Number of runs of each policy on each problem.
    random_state : int, RandomState instance or None, default=None
        Every run has its own seeds, spawned from this one: the same for all policies, so that
        all have the same noise in the same round, and differences between them are more precise
        than the curves themselves. The first runs do not depend on ``n_runs``. The
        ``random_state`` of a policy is replaced by that of the run.
    n_jobs : int, default=None
        Number of parallel runs by joblib, whose backend the caller chooses with
        ``joblib.parallel_config``. The results do not depend on it.

    Returns
    -------
    result : Bunch
        ``played[name]``, ndarray of shape (n_problems, n_runs, n_rounds): the true value of each
        query; ``regret[name]``, of the same shape: the cumulative pseudo-regret after each round;
        ``recommended[name]``, of shape (n_problems, n_runs): the true value of the recommendation
        after the last round.

    Examples
    --------
    >>> from skgpb import GPTSOptimizer, GPUCBOptimizer
    >>> from skgpb.problems import gp_draw
    >>> from skgpb.problems.simulation import simulate
    >>> problem = gp_draw("se", random_state=0)
    >>> policies = {
    ...     "GP-UCB": GPUCBOptimizer(problem.kernel, arms=problem.arms, alpha=0.1),
    ...     "GP-TS": GPTSOptimizer(problem.kernel, arms=problem.arms, alpha=0.1),
    ... }
    >>> result = simulate(policies, problem, n_rounds=5, n_runs=3, random_state=0)
    >>> result.regret["GP-UCB"].shape
    (1, 3, 5)
    """
    problems = list(problems) if isinstance(problems, Sequence) else [problems]
    n_rounds = check_size(n_rounds, "n_rounds", most=MOST_ROUNDS)
    n_runs = check_size(n_runs, "n_runs")
    if not policies or not problems:
        raise ValueError("there must be at least one policy and one problem")
    entropy = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    seeds = [each.spawn(n_runs) for each in np.random.SeedSequence(entropy).spawn(len(problems))]
    tasks = [
        (policy, problem, seed)
        for policy in policies.values()
        for problem, runs in zip(problems, seeds, strict=True)
        for seed in runs
    ]
    played = Parallel(n_jobs=n_jobs)(delayed(_play)(*task, n_rounds) for task in tasks)
    shape = (len(policies), len(problems), n_runs)
    values = np.array([run[0] for run in played]).reshape(*shape, n_rounds)
    recommended = np.array([run[1] for run in played]).reshape(shape)
    optima = np.array([problem.optimum for problem in problems])[:, np.newaxis, np.newaxis]
    return Bunch(
        played=dict(zip(policies, values, strict=True)),
        regret=dict(zip(policies, cumulative_regret(optima, values), strict=True)),
        recommended=dict(zip(policies, recommended, strict=True)),
    )


def _play(
    policy: Any, problem: Any, seed: np.random.SeedSequence, n_rounds: int
) -> tuple[NDArray[np.float64], float]:
    """Return the true values (n_rounds,) of the queries of one run, and its recommendation's."""
    noise, draws = (np.random.default_rng(each) for each in seed.generate_state(2))
    optimizer = clone(policy) if isinstance(policy, BaseEstimator) else policy(problem)
    if "random_state" in optimizer.get_params(deep=False):
        optimizer.set_params(random_state=int(draws.integers(2**31)))
    values = np.empty(n_rounds)
    for t in range(n_rounds):
        query = optimizer.ask()
        optimizer.tell(query, problem.observe(query, noise))
        values[t] = problem.value(query)
    return values, problem.value(optimizer.recommend())

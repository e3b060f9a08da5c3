"""One budget shared by rules over queries and targets, which there are the allocations."""

from __future__ import annotations

import numpy as np
import pytest
from campaigns import GRID, PROBLEM, play
from reference.ids import moments
from reference.kg import expected_rise
from sklearn.gaussian_process.kernels import RBF

from skgpb import IDSOptimizer, KGOptimizer, MESOptimizer, TargetsOptimizer
from skgpb.domains import Cells
from skgpb.optimizers.combinatorial import AllocationPosterior, CombinatorialBandit

ARMS = np.arange(4.0)[:, None]
KERNELS = [2.0 * RBF(1.5), RBF(1.0)]


def bandit(cls=KGOptimizer, budget=4.0, **parameters):
    campaigns = [cls(kernel=kernel, queries=ARMS, alpha=0.1, **parameters) for kernel in KERNELS]
    return CombinatorialBandit(campaigns, budget=budget, random_state=0)


def test_an_allocation_is_worth_what_its_answer_raises_the_best_total_by():
    player, told = bandit(), []
    for pair in ([1.0, 3.0], [2.0, 0.0], [1.0, 1.0]):
        player.tell(pair, [0.3 * pair[0], 0.1 - 0.2 * pair[1]])
        told.append(pair)
    query = player.ask()
    known = AllocationPosterior(
        [optimizer.posterior(pending=[]) for optimizer in player.optimizers_], player._table()
    )
    every, choices = known.round(), known.choices
    total, cov = np.zeros(len(choices)), np.zeros((len(choices),) * 2)
    for i, kernel in enumerate(KERNELS):
        x = np.array(told)[:, i]
        y = 0.3 * x if i == 0 else 0.1 - 0.2 * x
        mean, C = moments(kernel, ARMS, x[:, None], y, 0.1)
        total += mean[choices[:, i]]
        cov += C[np.ix_(choices[:, i], choices[:, i])]
    np.testing.assert_allclose(every.covariance, cov, atol=1e-8)
    np.testing.assert_allclose(every.target_mean, total, atol=1e-8)
    np.testing.assert_allclose(every.query_noise, 0.2, atol=1e-8)
    np.testing.assert_allclose(every.covariance_of_target(2), cov[2], atol=1e-8)
    slopes = cov / np.sqrt(np.diag(cov) + 0.2)[:, None]
    gains = np.array([expected_rise(total, b) for b in slopes])
    asked = int(np.flatnonzero((choices == query.indices).all(axis=1))[0])
    assert gains[asked] >= gains.max() - 1e-8


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer])
def test_a_budget_is_shared_by_the_rule(cls):
    campaign = cls(PROBLEM.kernel(30.0), queries=PROBLEM.arms, alpha=0.1)
    player = CombinatorialBandit([campaign] * 3, budget=20, random_state=0)
    play(player, 12)
    best = player.recommend().costs
    assert sum(best) <= 20 and np.abs(best - [9, 6, 5]).max() <= 2 and set(best) <= set(GRID)


def test_what_arms_are_not_is_refused():
    with pytest.raises(
        ValueError, match="must have arms, or queries that are rows, and no targets"
    ):
        bandit(targets=[[0.5]]).ask()
    with pytest.raises(
        ValueError, match="must have arms, or queries that are rows, and no targets"
    ):
        CombinatorialBandit([KGOptimizer(queries=Cells(0.1))], 3).ask()
    with pytest.raises(ValueError, match="must have cost=None"):
        bandit(cost=np.ones(4)).ask()
    with pytest.raises(ValueError, match="must have one alpha for all arms"):
        CombinatorialBandit([KGOptimizer(queries=ARMS, alpha=np.ones(4))], 3).ask()
    mixed = [KGOptimizer(queries=ARMS), IDSOptimizer(queries=ARMS)]
    with pytest.raises(ValueError, match="must have the same class"):
        CombinatorialBandit(mixed, 3).ask()


@pytest.mark.parametrize(
    ("cls", "parameters"), [(TargetsOptimizer, {"rule": "ids"}), (MESOptimizer, {})]
)
def test_a_run_is_saved_and_goes_on(tmp_path, cls, parameters):
    player = bandit(cls, **parameters)
    for _ in range(3):
        allocation = player.ask()
        player.tell(allocation, allocation.costs)
    player.save(tmp_path / "run.skgpb")
    again = CombinatorialBandit.load(tmp_path / "run.skgpb")
    assert again.ask() == player.ask() and again.recommend() == player.recommend()

"""Rounds over campaigns against naive computations."""

from __future__ import annotations

from itertools import product

import cases
import numpy as np
import pytest
from campaigns import PROBLEM, bandit, campaign, play
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from skgpb.acquisition.improvement import log_expected_improvement
from skgpb.optimizers import (
    DAGPUCBOptimizer,
    EIOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    combinatorial,
)
from skgpb.optimizers.combinatorial import AllocationPosterior, CombinatorialBandit, CostTable

ALLOCATIONS = np.array([a for a in product(range(21), repeat=3) if sum(a) <= 20])


class NaiveCampaign:
    """Posterior by solving the whole system, every time."""

    def __init__(self, scale):
        self.K = scale**2 * Matern(4.0, nu=1.5)(PROBLEM.arms)
        self.chosen, self.rewards = [], []

    def covariance(self, chosen):
        if not chosen:
            return self.K
        Q = self.K[np.ix_(chosen, chosen)] + 0.1 * np.eye(len(chosen))
        return self.K - self.K[:, chosen] @ np.linalg.solve(Q, self.K[chosen])

    def mean(self):
        if not self.chosen:
            return np.zeros(21)
        Q = self.K[np.ix_(self.chosen, self.chosen)] + 0.1 * np.eye(len(self.chosen))
        return self.K[:, self.chosen] @ np.linalg.solve(Q, self.rewards)

    def std(self, *more):
        return np.sqrt(np.maximum(np.diag(self.covariance([*self.chosen, *more])), 0.0))


def best_allocation(index):
    """First of the cheapest among the allocations with the largest sum."""
    totals = sum(index[i][ALLOCATIONS[:, i]] for i in range(3))
    tied = ALLOCATIONS[totals >= totals.max() - 1e-9]
    return tied[np.lexsort((*tied.T[::-1], tied.sum(axis=1)))[0]]


def theory_beta(t):
    return 2 * np.log(t**2 * np.pi**2 * 21 / (6 * 0.1))


def follow(player, index_of, n_rounds, scale, seed):
    """Play, comparing every allocation with the naive one."""
    campaigns, rng = [NaiveCampaign(scale) for _ in range(3)], np.random.default_rng(seed)
    for t in range(1, n_rounds + 1):
        allocation = player.ask()
        expected = best_allocation(index_of(campaigns, t))
        assert allocation.indices == tuple(expected), t
        rewards = PROBLEM.observe(allocation, rng)
        player.tell(allocation, rewards)
        for i in range(3):
            campaigns[i].chosen.append(int(expected[i]))
            campaigns[i].rewards.append(rewards[i])
    return campaigns


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [30.0, 100.0])
def test_rounds_of_gp_ucb_equal_naive_rounds(scale, seed):
    def index_of(campaigns, t):
        return [c.mean() + np.sqrt(theory_beta(t)) * c.std() for c in campaigns]

    player = CombinatorialBandit([campaign(scale=scale)] * 3, 20)
    campaigns = follow(player, index_of, 30, scale, seed)
    mean, std = player.predict(np.tile(PROBLEM.arms, 3), return_std=True)
    for i, naive in enumerate(campaigns):
        np.testing.assert_allclose(mean[:, i], naive.mean(), atol=1e-7)
        np.testing.assert_allclose(std[:, i] ** 2, naive.std() ** 2, atol=1e-7)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("weights", ["allocation", "campaign"])
@pytest.mark.parametrize("seed", range(2))
def test_rounds_of_dagp_ucb_equal_naive_rounds(weights, seed):
    n_draws = 200
    player = CombinatorialBandit(
        [campaign(DAGPUCBOptimizer, weights="sampling", n_draws=n_draws)] * 3,
        20,
        weights=weights,
        random_state=seed,
    )
    player.ask()
    seeds = [optimizer.run_.seed for optimizer in player.optimizers_]
    assert len(set(seeds)) == 3

    def index_of(campaigns, t):
        draws = [
            c.mean() + c.std() * np.random.default_rng([s, t - 1, 0]).standard_normal((n_draws, 21))
            for c, s in zip(campaigns, seeds, strict=True)
        ]
        if weights == "allocation":
            choices = np.array([best_allocation(each) for each in zip(*draws, strict=True)])
        else:
            choices = np.array([d.argmax(axis=1) for d in draws]).T
        index = []
        for i, c in enumerate(campaigns):
            w = np.bincount(choices[:, i], minlength=21) / n_draws
            fall = np.array([w @ (c.std() - c.std(x)) for x in range(21)])
            index.append(c.mean() + np.sqrt(theory_beta(t)) * fall)
        return index

    follow(player, index_of, 12, 30.0, seed)


def test_rules_that_do_not_add_up_score_allocations():
    """The EI of the allocation played is the largest, or very nearly, of all allocations."""
    player, rng = bandit(EIOptimizer), np.random.default_rng(0)
    position = {tuple(choice): i for i, choice in enumerate(ALLOCATIONS.tolist())}
    shares = []
    for _ in range(25):
        allocation = player.ask()
        moments = [cases.moments(o) for o in player.optimizers_]
        mean = sum(m[ALLOCATIONS[:, i]] for i, (m, _) in enumerate(moments))
        std = np.sqrt(sum(s[ALLOCATIONS[:, i]] ** 2 for i, (_, s) in enumerate(moments)))
        ei = np.exp(log_expected_improvement(mean, std, mean.max()))
        shares.append(ei[position[allocation.indices]] / ei.max())
        player.tell(allocation, PROBLEM.observe(allocation, rng))
    assert np.median(shares) == 1.0
    assert min(shares) > 0.9


# -- outcomes -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", [30.0, 100.0])
def test_dagp_ucb_spends_less_on_learning_than_gp_ucb_and_thompson_sampling(scale):
    regret = {}
    for cls in (DAGPUCBOptimizer, GPUCBOptimizer, GPTSOptimizer):
        runs = []
        for seed in range(3):
            player = CombinatorialBandit([campaign(cls, scale)] * 3, 20, random_state=seed)
            runs.append(sum(PROBLEM.optimum - PROBLEM.value(a) for a in play(player, 50, seed)))
        regret[cls] = np.mean(runs)
    assert regret[DAGPUCBOptimizer] < 0.8 * regret[GPUCBOptimizer]
    assert regret[DAGPUCBOptimizer] < 0.8 * regret[GPTSOptimizer]


def test_kernels_with_a_scale_are_put_on_the_scale_of_the_rewards():
    """With normalize_y the campaigns have different units, but the index is in clicks."""
    kernel = ConstantKernel(1.0) * Matern(4.0, nu=1.5)
    optimizers = [
        GPUCBOptimizer(kernel, arms=PROBLEM.arms, alpha=0.1, normalize_y=True) for _ in range(3)
    ]
    player = CombinatorialBandit(optimizers, 20)
    play(player, 12, seed=1)
    t, index = 13, []
    for optimizer in player.optimizers_:
        mean, std = cases.moments(optimizer)
        index.append(mean + np.sqrt(theory_beta(t)) * std)
    assert player.ask().indices == tuple(best_allocation(index))


def test_largest_total_of_a_draw_is_that_of_the_best_allocation():
    player = bandit(EIOptimizer)
    play(player, 5)
    posteriors = [optimizer.posterior() for optimizer in player.optimizers_]
    table = CostTable(player.domain_.costs, 20)
    known = AllocationPosterior(posteriors, table)
    allocations = known.round()
    again = [optimizer.posterior().draws(256) for optimizer in player.optimizers_]
    totals = sum(draws[:, ALLOCATIONS[:, i]] for i, draws in enumerate(again))
    np.testing.assert_allclose(
        allocations.draws(256).max(axis=1), totals.max(axis=1), rtol=1e-9, atol=1e-9
    )
    mean, std = player.predict(PROBLEM.arms[known.choices, 0], return_std=True)
    np.testing.assert_allclose(allocations.mean, mean.sum(axis=1), atol=1e-7)
    np.testing.assert_allclose(allocations.var, (std**2).sum(axis=1), atol=1e-6)
    mean, std = player.predict(np.tile(PROBLEM.arms, 3), return_std=True)
    np.testing.assert_allclose(known.optimism, (mean + std).T.ravel(), atol=1e-6)


def test_the_draws_of_all_campaigns_are_as_many_as_of_any():
    """The probabilities that an arm is part of the best allocation are shares of all draws."""
    optimizers = [campaign(DAGPUCBOptimizer, weights="sampling", n_draws=n) for n in (7, 50)]
    player = CombinatorialBandit([*optimizers, campaign()], 20, random_state=0)
    play(player, 2)
    posteriors = [optimizer.posterior() for optimizer in player.optimizers_]
    for weights in player._allocation_weights(posteriors, player._table()):
        assert weights.shape == (21,) and weights.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(50.0 * weights, np.rint(50.0 * weights), atol=1e-9)
        assert 0.0 < weights[weights > 0.0].min() < 1.0 / 7.0


def test_moments_of_totals_are_sums_over_campaigns_in_units_of_the_first():
    kernel = ConstantKernel(1.0) * Matern(4.0, nu=1.5)
    optimizers = [
        EIOptimizer(kernel, arms=PROBLEM.arms, alpha=0.1, normalize_y=True) for _ in range(3)
    ]
    player = CombinatorialBandit(optimizers, 20, random_state=0)
    play(player, 5)
    posteriors = [optimizer.posterior() for optimizer in player.optimizers_]
    known = AllocationPosterior(posteriors, CostTable(player.domain_.costs, 20))
    of_arms = [o.predict(PROBLEM.arms, return_cov=True)[1] for o in player.optimizers_]
    expected = sum(C[np.ix_(a, a)] for C, a in zip(of_arms, known.choices.T, strict=True))
    unit = posteriors[0].scale ** 2
    np.testing.assert_allclose(unit * known.covariance(), expected, atol=1e-6 * unit)
    np.testing.assert_allclose(unit * known.target_covariance(2), expected[2], atol=1e-6 * unit)
    noise = sum(p.scale**2 * p.noise[a] for p, a in zip(posteriors, known.choices.T, strict=True))
    np.testing.assert_allclose(unit * known.round().noise, noise)
    of_arms = [o.predict(PROBLEM.arms) for o in player.optimizers_]
    expected = sum(mean[a] for mean, a in zip(of_arms, known.choices.T, strict=True))
    found = known.offset + known.scale * known.query_mean
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert (known.round().cost == 1.0).all()


def test_allocations_are_scored_among_those_whose_arms_are_all_allowed(monkeypatch):
    player = bandit(EIOptimizer)
    play(player, 4)
    posteriors = [optimizer.posterior() for optimizer in player.optimizers_]
    table, rng = CostTable(player.domain_.costs, 20), np.random.default_rng(0)
    known, excluded = AllocationPosterior(posteriors, table), set()
    monkeypatch.setattr(combinatorial, "AllocationPosterior", lambda *given: known)
    scores = player.optimizers_[0].acquisition(known.round())
    for share in (1.0, 0.8, 0.7, 0.5):
        allowed = rng.random(63) <= share
        possible = allowed.reshape(3, 21)[np.arange(3), known.choices].all(axis=1)
        possible &= [tuple(choice) not in excluded for choice in known.choices.tolist()]
        choice = player._best_by_rule(posteriors, table, excluded, allowed)
        if possible.any():
            best = known.choices[np.where(possible, scores, -np.inf).argmax()]
            np.testing.assert_array_equal(choice, best)
        else:  # of all others, by the sum of means and standard deviations
            assert np.all(allowed.reshape(3, 21)[np.arange(3), choice])
        excluded.add(tuple(choice))

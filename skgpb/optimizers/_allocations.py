"""Posterior of the candidate allocations of a budget."""

from __future__ import annotations

import numpy as np

from skgpb.optimizers._knapsack import CostTable
from skgpb.optimizers.round import QueryTargetPosterior, Round

# Accuracy: draws whose best allocation is a candidate, for rules without additive scores.
N_DRAWN = 256


class AllocationPosterior(QueryTargetPosterior):
    """Posterior of allocations, whose totals are normal as the values of their arms are.

    They are in units of the first campaign, whose rule is asked.

    Parameters
    ----------
    rounds : list of Round
        Round of each campaign.
    table : CostTable
        Costs of its arms, and the budget.

    Attributes
    ----------
    choices : ndarray of shape (n_allocations, n_campaigns)
        Number of the arm of each campaign, for every allocation.
    columns : ndarray of the same shape
        Places of these arms among all, end to end.
    optimism : ndarray of shape (n_arms,)
        Mean plus deviation of all arms, end to end.
    """

    def __init__(self, rounds: list[Round], table: CostTable) -> None:
        mean = np.concatenate([r.in_units_of_reward(r.mean) for r in rounds])
        std = np.concatenate([r.scale * r.std for r in rounds])
        n = N_DRAWN
        drawn = np.concatenate([r.in_units_of_reward(r.draws(n)) for r in rounds], axis=1)
        # The best allocations of the mean and of joint draws.
        values = np.vstack([mean, drawn])
        self.choices: np.ndarray = np.unique(table.best(values), axis=0)
        self.columns: np.ndarray = table.starts[:-1] + self.choices
        self.optimism: np.ndarray = mean + std
        zero, unit = rounds[0].offset, rounds[0].scale
        total = (mean[self.columns].sum(axis=1) - zero) / unit
        moments = total, (std**2)[self.columns].sum(axis=1) / unit**2
        super().__init__((zero, unit), moments, moments)
        self._rounds = rounds
        # The best allocation of every draw is among the choices: its maximum is exact.
        self._drawn = (drawn[:, self.columns].sum(axis=2) - self.offset) / self.scale

    def round(self) -> Round:
        """Return what the rule of the first campaign looks at."""
        noise = np.concatenate([r.scale**2 * r.noise for r in self._rounds])
        total = noise[self.columns].sum(axis=1) / self.scale**2
        first = self._rounds[0]
        return Round(self, total, np.ones(len(self.choices)), first.t, lambda: first.rng)

    def covariance(self) -> np.ndarray:
        """Posterior covariances of the totals of all pairs."""
        total = np.zeros((len(self.choices), len(self.choices)))
        for each, arms in zip(self._rounds, self.choices.T, strict=True):
            total += (each.scale / self.scale) ** 2 * each.covariance[np.ix_(arms, arms)]
        return total

    def target_covariance(self, number: int) -> np.ndarray:
        """Posterior covariances of one total with all."""
        return self.covariance()[number]

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Joint draws, the same again beyond the first 256."""
        return self._drawn[np.arange(n_draws) % N_DRAWN]

    def query_draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return the same: allocations are played and found."""
        return self.draws(n_draws, rng)

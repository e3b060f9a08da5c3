"""The advertising problem as campaigns, and a loop that plays it."""

from __future__ import annotations

import numpy as np

from skgpb.optimizers import (
    GPUCBOptimizer,
)
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.problems import AdvertisingBudget

PROBLEM = AdvertisingBudget()
GRID = np.arange(21.0)


def campaign(cls=GPUCBOptimizer, scale=30.0, **parameters):
    return cls(kernel=PROBLEM.kernel(scale), arms=PROBLEM.arms, alpha=0.1, **parameters)


def bandit(cls=GPUCBOptimizer, **parameters):
    settings = {"budget": 20, "random_state": 0} | parameters
    return CombinatorialBandit([campaign(cls)] * 3, **settings)


def play(player, n_rounds, seed=0):
    rng = np.random.default_rng(seed)
    asked = []
    for _ in range(n_rounds):
        asked.append(player.ask())
        player.tell(asked[-1], PROBLEM.observe(asked[-1], rng))
    return asked

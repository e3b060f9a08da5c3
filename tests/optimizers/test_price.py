"""Prices, whatever the rule."""

from __future__ import annotations

import numpy as np
import pytest
from cases import OPTIMIZERS
from sklearn.gaussian_process.kernels import RBF

from skgpb.kernels import WindowMean
from skgpb.optimizers import (
    CMETSOptimizer,
    EIOptimizer,
    GPTSOptimizer,
    IDSOptimizer,
    IndirectUCBOptimizer,
    MESOptimizer,
)
from skgpb.optimizers.indirect_search import BaseIndirectSearch

# A draw has no two equal values, nor have two queries about what leads another; cells of CMETS have
# the price of their depth; GP-UCB of indirect queries is the paper's, which knows no prices.
OTHERWISE = {GPTSOptimizer, IDSOptimizer, MESOptimizer, CMETSOptimizer, IndirectUCBOptimizer}
PRICED = [cls for cls in OPTIMIZERS if "cost" in cls().get_params() and cls not in OTHERWISE]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", PRICED)
@pytest.mark.parametrize("cheap", [0, 2])
def test_of_two_queries_that_are_worth_the_same_the_cheaper_is_asked(cls, cheap):
    rows, cost = np.array([[0.2], [0.5], [0.8]]), np.array([3.0, 3.0, 3.0])
    cost[cheap] = 1.0
    settings = {"queries": rows, "cost": cost, "alpha": 1e-4, "random_state": 0, "n_initial": 0}
    if issubclass(cls, BaseIndirectSearch):
        settings |= {"conditional": WindowMean(scale=0.05), "bounds": [(0.0, 1.0)]}
    optimizer = cls(kernel=RBF(0.2), **settings)
    optimizer.tell([[0.5]], [0.0])
    assert optimizer.ask().points[0, 0] == rows[cheap, 0]


@pytest.mark.parametrize("given", [None, "5", b"5", float("nan"), -1.0])
def test_a_cost_is_a_number(given):
    search = EIOptimizer(bounds={"t": (0, 1)}, cost=lambda setting: given)
    with pytest.raises(ValueError, match=r"cost\(.* must be a finite number >= 0, got"):
        search.ask()

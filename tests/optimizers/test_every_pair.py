"""Every rule with every set of queries and targets, in contexts or not, with prices or not."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IDSOptimizer,
    IGPUCBOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    TargetsOptimizer,
    URGPUCBOptimizer,
)
from skgpb.domains import Cells, Districts, Fidelities
from skgpb.kernels import CellAverage, Columns, WindowMean


def least_known(round):
    return np.log(round.query_var)


#: The optimizer, and what is its own.
RULES = {
    "GP-UCB": (GPUCBOptimizer, {}),
    "IGP-UCB": (IGPUCBOptimizer, {"information_gain": 1.0}),
    "GP-TS": (GPTSOptimizer, {}),
    "URGP-UCB": (URGPUCBOptimizer, {}),
    "DAGP-UCB": (DAGPUCBOptimizer, {"beta": 2.0}),
    "EI": (EIOptimizer, {}),
    "PI": (PIOptimizer, {}),
    "EST": (ESTOptimizer, {}),
    "MES": (MESOptimizer, {"n_max_values": 8}),
    "KG": (KGOptimizer, {}),
    "IDS": (IDSOptimizer, {}),
    "own": (TargetsOptimizer, {"rule": least_known}),
}
RNG = np.random.default_rng(0)
X = RNG.random((12, 2))
BOX = [(0.0, 1.0), (0.0, 1.0)]
SIDES = {"x": (0.0, 1.0), "n": range(1, 4), "kind": ["a", "b"]}
DISTRICTS = Districts(X, np.repeat(range(4), 3))
# The average over 0.2 around a point of the first side.
BLUR = WindowMean(RBF(0.3), scale=0.1)
ASKED = np.linspace(0.1, 0.9, 8)[:, None]


def of_boxes(lower, side):
    """Rows [lower, upper] of boxes."""
    return np.hstack([lower, lower + side])


#: Queries and targets; number of costs; kernel for d_c contexts.
SETS = {
    "arms": ({"arms": X}, 12, lambda n: RBF([0.4] * (n + 2))),
    "box": ({"bounds": BOX}, 0, lambda n: RBF([0.4] * (n + 2))),
    "settings": ({"bounds": SIDES}, 0, lambda n: None),
    "rows": ({"queries": X, "targets": X[::2]}, 12, lambda n: RBF([0.4] * (n + 2))),
    "cells": (
        {"queries": Cells([0.4, 0.2]), "targets": Cells(0.2), "bounds": BOX},
        2,
        lambda n: RBF([0.4] * (n + 2)),
    ),
    "boxes": (
        {"queries": of_boxes(0.6 * X, 0.4), "targets": of_boxes(0.8 * X, 0.2)},
        12,
        lambda n: CellAverage(RBF([0.4] * (n + 2)), (1,) * n + (3, 3)),
    ),
    "weighted sets": ({"queries": DISTRICTS, "targets": X}, 4, lambda n: RBF([0.4] * (n + 2))),
    "fidelities": ({"queries": Fidelities(2), "bounds": BOX}, 2, lambda n: RBF([0.4] * (n + 2))),
    "windows": (
        {"queries": BLUR.queries(ASKED), "targets": BLUR.points(ASKED)},
        8,
        lambda n: BLUR if not n else Columns(RBF(0.5), [0]) * Columns(BLUR, list(range(1, 1 + 2))),
    ),
}


def f(query):
    points = query.points if query.layout.n_context == 0 else query.actions
    return float(np.sin(4.0 * np.asarray(points, dtype=float)).sum(axis=1).mean())


def made(rule, name, contexts, prices):
    cls, own = RULES[rule]
    given, n_prices, kernel = SETS[name]
    settings = {"alpha": 0.02, "n_candidates": 24, "n_initial": 0, "random_state": 0} | own | given
    if contexts:
        named = isinstance(given.get("bounds"), dict)
        settings["context_bounds"] = {"c": (0.0, 1.0)} if named else [(0.0, 1.0)]
    if prices and n_prices:
        settings["cost"] = np.linspace(1.0, 2.0, n_prices)
    return cls(kernel=kernel(int(contexts)), **settings)


#: A quarter of all pairs, every rule and every set among them, is in the default run, and another
#: in the slow one: every rule with every set, with and without contexts or prices.
MARKS = {0: (), 2: pytest.mark.slow, 1: pytest.mark.exhaustive, 3: pytest.mark.exhaustive}
PAIRS = [
    pytest.param(
        *(rule, name, contexts, prices),
        id="-".join([rule, name, "contexts" * contexts, "prices" * prices]),
        marks=MARKS[(i + j + contexts + 2 * prices) % 4],
    )
    for i, rule in enumerate(RULES)
    for j, name in enumerate(SETS)
    for contexts in (False, True)
    for prices in (False, True)
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("rule", "name", "contexts", "prices"), PAIRS)
def test_every_rule_asks_every_set(rule, name, contexts, prices):
    optimizer = made(rule, name, contexts, prices)
    where = [{"context": c} if contexts else {} for c in (0.2, 0.6, 0.6)]
    for each in where:
        pair = optimizer.ask(2, **each)
        assert pair[0] != pair[1] and optimizer.ask(2, **each) == pair
        for query in pair:
            optimizer.tell(query, f(query))
    scores = cases.scores(optimizer)
    assert scores.shape == (len(optimizer.domain_),) and not np.isnan(scores).any()
    best = optimizer.recommend(**where[0])
    assert (best.points[:, 0] == 0.2).all() if contexts else best in optimizer.targets_
    assert len(optimizer.history_) == 6
    query = optimizer.ask(**where[-1])
    # Candidates follow the best in the context that is asked; of settings and arms a known one is
    # left out if a new one teaches more.
    if not (contexts or optimizer._repeats_for_gain):
        slot = optimizer.domain_.slot_of(query)
        assert scores.max() == -np.inf or scores[slot] >= scores.max() - 1e-9
    price = optimizer.posterior([]).cost
    assert optimizer.spent_ >= 6 * price.min() - 1e-9


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "GP-TS"])
def test_costs_that_hardly_differ_change_no_query(rule):
    cls, own = RULES[rule]
    settings = {"kernel": RBF(0.2), "arms": np.linspace(0.0, 1.0, 21)[:, None], "alpha": 1e-4}
    asked = []
    for cost in (None, 1.0 + 1e-10 * np.arange(21)):
        optimizer = cls(cost=cost, random_state=0, **settings, **own)
        optimizer.run(lambda query: np.cos(5.0 * (query.points[0, 0] - 0.8)), 12)
        asked.append(optimizer.history_["descriptor"][:, 0])
    assert len(np.unique(asked[0])) > 3
    np.testing.assert_array_equal(*asked)

"""Optimizers in settings with which they are taken through their paces, and what they are asked."""

from __future__ import annotations

import inspect
import io
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, Matern

import skgpb.optimizers
from skgpb.domains import Cells, Fidelities
from skgpb.kernels import CellAverage, ConditionalMean, PolicyMean, WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    IGPUCBOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectTargetsOptimizer,
    IndirectUCBOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    StoOOOptimizer,
    TargetsOptimizer,
    URGPUCBOptimizer,
)
from skgpb.optimizers.indirect_search import BaseIndirectSearch

#: Those that are a search by themselves: no strategy has to be given.
OPTIMIZERS = [
    value
    for name in skgpb.optimizers.__all__
    if inspect.isclass(value := getattr(skgpb.optimizers, name))
    and issubclass(value, BaseEstimator)
    and not inspect.isabstract(value)
    and "strategy" not in inspect.signature(value).parameters
]

BOUNDS = [(-1.0, 1.0), (0.0, 3.0)]
POOL = np.random.default_rng(7).uniform([-1.0, 0.0], [1.0, 3.0], size=(200, 2))
ARMS = np.array([[x, y] for x in np.linspace(-1, 1, 9) for y in np.linspace(0, 3, 8)])
ON_ARMS = {"bounds": None, "arms": ARMS}
COSTS = np.linspace(1.0, 2.0, len(ARMS))

#: Settings with which every optimizer is taken through its paces, in two dimensions. Diameters
#: are such that trees grow within a dozen rounds.
CASES = {
    "GPOO-center": (GPOOOptimizer, {"feedback": "center", "variation": (3.0, 0.6)}),
    "GPOO-average": (
        GPOOOptimizer,
        {"feedback": "average", "n_representatives": (2, 3), "variation": (3.0, 0.6)},
    ),
    "GPOO-integral": (GPOOOptimizer, {"feedback": "integral", "variation": (3.0, 0.6)}),
    "GPOO-defaults": (GPOOOptimizer, {}),
    "GPOO-after-K3": (
        GPOOOptimizer,
        {"expansion": "after", "n_children": 3, "variation": (3.0, 0.6), "beta": 4.0},
    ),
    "GPOO-matern": (
        GPOOOptimizer,
        {"kernel": Matern(0.8, nu=2.5), "variation": (3.0, 0.6), "n_representatives": 2},
    ),
    "GPOO-learned": (
        GPOOOptimizer,
        {"kernel": RBF(0.5), "optimizer": "fmin_l_bfgs_b", "normalize_y": True, "max_depth": 6},
    ),
    "GPOO-query-kernel": (
        GPOOOptimizer,
        {
            "feedback": CellAverage(RBF([0.5, 0.8]), 2),
            "n_representatives": 2,
            "variation": (3.0, 0.6),
        },
    ),
    "GPOO-pool": (GPOOOptimizer, {"bounds": None, "pool": POOL, "variation": (3.0, 0.6)}),
    "StoOO": (StoOOOptimizer, {"variation": (3.0, 0.8)}),
    "AVE-StoOO": (
        StoOOOptimizer,
        {"feedback": "average", "n_representatives": 3, "variation": (3.0, 0.8)},
    ),
    "StoOO-munos": (StoOOOptimizer, {"width": "munos", "horizon": 50, "variation": (3.0, 0.8)}),
    "StoOO-pool": (StoOOOptimizer, {"bounds": None, "pool": POOL, "variation": (3.0, 0.8)}),
    "GPTree": (GPTreeOptimizer, {"horizon": 60, "variation": (3.0, 0.6)}),
    "GPTree-kernel": (GPTreeOptimizer, {"horizon": 60}),
    "GPTree-average": (
        GPTreeOptimizer,
        {"horizon": 200, "feedback": "average", "n_representatives": 3, "variation": (3.0, 0.6)},
    ),
    "zooming": (GPZoomingOptimizer, {"horizon": 60, "variation": (3.0, 1.0)}),
    "zooming-kernel": (GPZoomingOptimizer, {"horizon": 60}),
    "GP-UCB": (GPUCBOptimizer, ON_ARMS),
    "GP-UCB-box": (GPUCBOptimizer, {"n_candidates": 60}),
    "IGP-UCB": (IGPUCBOptimizer, ON_ARMS),
    "GP-TS": (GPTSOptimizer, ON_ARMS),
    "GP-TS-box": (GPTSOptimizer, {"n_candidates": 60}),
    "URGP-UCB": (URGPUCBOptimizer, ON_ARMS),
    "DAGP-UCB": (DAGPUCBOptimizer, ON_ARMS),
    "DAGP-UCB-box": (DAGPUCBOptimizer, {"n_candidates": 60}),
    "DAGP-UCB-joint": (
        DAGPUCBOptimizer,
        ON_ARMS
        | {"weights": "joint", "n_draws": 30, "normalize_y": True, "optimizer": "fmin_l_bfgs_b"},
    ),
    "EI": (EIOptimizer, ON_ARMS),
    "PI": (PIOptimizer, ON_ARMS),
    "EST": (ESTOptimizer, ON_ARMS),
    "MES": (MESOptimizer, ON_ARMS),
    "KG": (KGOptimizer, {"bounds": None, "queries": ARMS, "cost": COSTS, "alpha": 0.01 * COSTS}),
    "KG-points": (KGOptimizer, {"n_candidates": 40, "alpha": 0.01}),
    "KG-averages": (KGOptimizer, {"queries": Cells([0.3, 0.6]), "n_candidates": 20}),
    "KG-cells": (
        KGOptimizer,
        {"queries": Cells([0.3, 0.6]), "targets": Cells((0.3, 0.5)), "n_candidates": 40},
    ),
    "IDS": (IDSOptimizer, {"bounds": None, "queries": ARMS, "cost": COSTS, "alpha": 0.01 * COSTS}),
    "own-rule": (TargetsOptimizer, {"rule": "ids", "queries": Cells(0.4), "n_candidates": 40}),
    "MES-cells": (
        MESOptimizer,
        {"queries": Cells([0.3, 0.6]), "targets": Cells(0.3), "cost": [2, 1], "n_candidates": 40},
    ),
    "IDS-cells": (
        IDSOptimizer,
        {"queries": Cells([0.3, 0.6]), "targets": Cells(0.3), "n_candidates": 40},
    ),
    "KG-fidelities": (
        KGOptimizer,
        {"queries": Fidelities(2), "cost": [1.0, 0.1], "n_candidates": 40, "alpha": 0.01},
    ),
}

#: Cases that differ from others in what the loop does not see.
SLOW = {
    "GPOO-integral",
    "GPOO-after-K3",
    "GPTree-average",
    "GPTree-kernel",
    "zooming-kernel",
    "GPOO-matern",
    "StoOO-munos",
    "StoOO-pool",
    "GP-TS-box",
    "IGP-UCB",
    "GPOO-defaults",
    "DAGP-UCB-box",
    "DAGP-UCB-joint",
    "URGP-UCB",
    "EI",
    "EST",
    "PI",
    "KG-averages",
    "KG-cells",
    "KG-fidelities",
    "IDS-cells",
    "GPOO-center",
    "GPOO-query-kernel",
    "MES-cells",
    "CMES-candidates",
    "CMES-cells",
    "CMES-gumbel",
    "CMES-noisy",
    "CMES-joint",
    "CMES-pairs",
    "CMETS-pairs",
    "CMES-operator",
    "CMES-points",
    "CMES-policies",
    "CMES-unknown-noise",
    "CMES-pairs-unknown-noise",
    "CMETS-unknown-noise",
    "EI-unknown-noise",
    "MES-indirect",
    "UCB",
    "GPOO-pool",
    "MES",
    "KG-points",
}


#: Over arms and boxes, in contexts; see test_contract.py.
IN_CONTEXTS = {
    "UCB-box-in-contexts": (GPUCBOptimizer, {"bounds": [(0, 3)], "n_candidates": 40}),
    "UCB-arms-in-contexts": (
        GPUCBOptimizer,
        {"kernel": RBF(0.7), "arms": np.linspace(0, 3, 17)[:, None], "alpha": 0.01},
    ),
    "TS-box-in-contexts": (
        GPTSOptimizer,
        {"kernel": RBF(0.7), "bounds": [(0, 3)], "alpha": 0.01, "n_candidates": 40},
    ),
    "EI-cells-in-contexts": (
        EIOptimizer,
        {
            "kernel": CellAverage(RBF(0.7), 2),
            "arms": np.column_stack([np.arange(12.0), np.arange(12.0) + 1.0]) / 4,
            "alpha": 0.01,
        },
    ),
    "MES-box-in-contexts": (MESOptimizer, {"bounds": [(0, 3)], "n_candidates": 40}),
    "DAGP-arms-in-contexts": (DAGPUCBOptimizer, {"arms": np.linspace(0, 3, 17)[:, None]}),
    "KG-cells-in-contexts": (
        KGOptimizer,
        {
            "kernel": RBF(0.7),
            "queries": Cells([1.0, 0.4]),
            "cost": [1.0, 2.0],
            "targets": Cells(0.4),
            "bounds": [(0, 3)],
            "alpha": [0.01, 0.02],
            "n_candidates": 40,
        },
    ),
    "KG-rows-in-contexts": (
        KGOptimizer,
        {"kernel": RBF(0.7), "queries": np.linspace(0, 3, 17)[:, None], "alpha": 0.01},
    ),
    "IDS-box-in-contexts": (IDSOptimizer, {"bounds": [(0, 3)], "n_candidates": 40}),
}
SLOW |= {
    "IDS-box-in-contexts",
    "TS-box-in-contexts",
    "MES-box-in-contexts",
    "DAGP-arms-in-contexts",
    "KG-cells-in-contexts",
}


#: Slow ones whose class, and what they differ in, others have as well. EI, PI and EST bring an
#: acquisition function and nothing else.
EXHAUSTIVE = {
    "EI",
    "PI",
    "EST",
    "AVE-StoOO",
    "KG-cells",
    "KG-rows-in-contexts",
    "CMES-pairs",
    "IDS-box-in-contexts",
    "GPOO-integral",
    "GPOO-after-K3",
    "GPOO-matern",
    "GPTree-average",
    "zooming-kernel",
    "StoOO-munos",
    "StoOO-pool",
    "DAGP-UCB-joint",
    "KG-averages",
    "IDS-cells",
    "CMES-candidates",
    "CMES-gumbel",
    "CMES-noisy",
    "CMES-policies",
    "CMES-cells",
    "CMES-operator",
    "CMETS-pairs",
    "MES-indirect",
    "CMES-pairs-unknown-noise",
    "CMETS-unknown-noise",
    "CMES-joint",
    "CMES-points",
    "CMES-unknown-noise",
    "GP-TS-box",
    "DAGP-UCB-box",
    "GPTree-kernel",
    "GPOO-center",
    "GPOO-query-kernel",
    "MES-cells",
    "TS-box-in-contexts",
    "MES-box-in-contexts",
}
SLOW -= EXHAUSTIVE


def some_slow(names):
    """Parameters of a test, those of slow and of exhaustive cases marked."""
    marks = dict.fromkeys(SLOW, pytest.mark.slow) | dict.fromkeys(
        EXHAUSTIVE, pytest.mark.exhaustive
    )
    return [pytest.param(name, marks=marks.get(name, ())) for name in names]


GRID = np.array([[x, y] for x in np.linspace(-0.9, 0.9, 5) for y in np.linspace(0.1, 2.9, 5)])


#: Optimizers whose queries or answers have another form; see test_contract.py.
CONTEXTUAL = {ContextualGPTreeOptimizer}
LOOPING = [
    cls for cls in OPTIMIZERS if cls not in CONTEXTUAL and not issubclass(cls, BaseIndirectSearch)
]


def make(name, **parameters):
    cls, settings = CASES[name]
    return cls(**{"bounds": BOUNDS, "random_state": 0} | settings | parameters)


def f(X):
    X = np.atleast_2d(X)
    return np.exp(-((X[:, 0] - 0.4) ** 2) - (X[:, 1] - 1.2) ** 2)


def answer(query):
    return float(f(query.points).mean())


def loaded(cls, path, repeated=False, **omitted):
    """Return the run in a file, or what repeats it from its log."""
    run = cls.load(path, **omitted)
    return run._repeat_events(run._events) if repeated else run


def copies(optimizer):
    """Return the run itself, loaded from a file, unpickled, and with its events repeated."""
    file = io.BytesIO()
    optimizer.save(file)
    file.seek(0)
    loaded = type(optimizer).load(file)
    repeated = optimizer._repeat_events(optimizer._events)
    return [optimizer, loaded, pickle.loads(pickle.dumps(optimizer)), repeated]


def rows(optimizer):
    """Rows of the queries of the coming round."""
    optimizer.posterior()
    return optimizer.domain_.rows.copy()


def moments(optimizer):
    """Posterior mean and standard deviation of each of these rows, as the search tracks them."""
    n = len(rows(optimizer))
    return tuple(each[:n] for each in optimizer.surrogate_.predict_tracked(return_std=True))


def scores(optimizer):
    """Return the score of every query in the coming round, with its cost."""
    return optimizer.start()._scored_round()[1]


def outcome_model(optimizer, name):
    """Return the model of an outcome that has a limit."""
    return optimizer._outcomes.model_of(name, optimizer.run_, optimizer._model.options)


def play(optimizer, n_rounds, answer=answer):
    """Ask and tell, returning the queries."""
    queries = []
    for _ in range(n_rounds):
        queries.append(optimizer.ask())
        optimizer.tell(queries[-1], answer(queries[-1]))
    return queries


def parameters_of(function):
    return inspect.signature(function).parameters


def has_model(optimizer):
    """Return whether the optimizer has a posterior and accepts answers at any point."""
    return "return_std" in parameters_of(optimizer.predict)


# Indirect queries --------------------------------------------------------------------------------


def along(A):
    """Points on a diagonal of the square."""
    return np.hstack([A, 1 - A])


RNG = np.random.default_rng(3)
PAIRED = RNG.uniform(size=(40, 1))
POINTS = np.clip(np.hstack([PAIRED, 1 - PAIRED]) + 0.05 * RNG.normal(size=(40, 2)), 0, 1)
# x is in the unit square and a query is one number, so that neither is taken for the other.
SQUARE = {"bounds": [(0, 1), (0, 1)], "n_points": 49, "alpha": 1e-3, "random_state": 0}
# A few rounds see the first design and the rule.
SQUARE |= {"n_initial": 2}
WINDOW = {
    "conditional": WindowMean(scale=0.1, location=along),
    "query_bounds": [(0, 1)],
    "n_candidates": 15,
}
LISTED = WINDOW | {"query_bounds": None, "queries": np.linspace(0, 1, 11)[:, None]}
POLICIES = np.exp(-0.5 * (np.arange(9)[:, None] - np.arange(0, 9, 2)) ** 2)
POLICIES /= POLICIES.sum(axis=1, keepdims=True)
POLICY_MEAN = PolicyMean(policies=POLICIES, arms=along(np.linspace(0, 1, 5)[:, None]))
LEARNED = {"n_candidates": 15}

# Settings and, where p(x | a) is learned, that ``fit`` gets the pairs.
INDIRECT = {
    "CMES": (CMESOptimizer, WINDOW),
    "CMES-candidates": (CMESOptimizer, WINDOW | {"continuous": False}),
    "CMES-noisy": (CMESOptimizer, LISTED | {"information": "noisy", "cost": 2.0}),
    "CMES-joint": (CMESOptimizer, LISTED | {"information": "joint"}),
    "CMES-cells": (CMESOptimizer, LISTED | {"targets": Cells([0.3, 0.5]), "n_points": 180}),
    "CMES-gumbel": (CMESOptimizer, LISTED | {"max_values": "gumbel", "optimizer": None}),
    "CMES-points": (CMESOptimizer, {"n_candidates": 20}),
    "CMES-operator": (CMESOptimizer, {"conditional": ConditionalMean(X=POINTS, A=PAIRED)}),
    "CMES-pairs": (CMESOptimizer, LEARNED | {"information": "noisy"}, "pairs"),
    "CMES-policies": (CMESOptimizer, {"bounds": None, "conditional": POLICY_MEAN}),
    "CMES-unknown-noise": (CMESOptimizer, WINDOW | {"alpha": None}),
    "CMES-pairs-unknown-noise": (
        CMESOptimizer,
        LEARNED | {"information": "noisy", "alpha": None},
        "pairs",
    ),
    "CMETS": (CMETSOptimizer, {"query_bounds": [(0, 1)], "location": along}),
    "CMETS-pairs": (CMETSOptimizer, {"max_depth": 4}, "pairs"),
    "CMETS-unknown-noise": (
        CMETSOptimizer,
        {"query_bounds": [(0, 1)], "location": along, "alpha": None},
    ),
    "EI": (IndirectEIOptimizer, WINDOW),
    "EI-unknown-noise": (IndirectEIOptimizer, WINDOW | {"alpha": None}),
    "PI": (IndirectPIOptimizer, WINDOW),
    "UCB": (IndirectUCBOptimizer, WINDOW),
    "MES-indirect": (IndirectMESOptimizer, WINDOW),
    "KG-indirect": (IndirectTargetsOptimizer, WINDOW),
    # The length scale of f is given: "CMES-pairs" learns the hyperparameters other than pairs.
    "IDS-pairs": (
        IndirectTargetsOptimizer,
        LEARNED | {"rule": "ids", "kernel": RBF(0.3), "optimizer": None},
        "pairs",
    ),
}


def make_indirect(name, **parameters):
    cls, settings, *pairs = INDIRECT[name]
    optimizer = cls(**SQUARE | settings | parameters)
    return optimizer.fit(POINTS, queries=PAIRED) if pairs else optimizer


def answer_indirect(query):
    """Something smooth in the first number of the query."""
    return float(np.exp(-3.0 * (np.ravel(query.points)[0] / (1 + query.a.max()) - 0.3) ** 2))

"""Play public optimizers with given kernels, and print what they ask: of one processor or another.

``python trajectories.py N NAME ...`` plays N rounds of each case and prints JSON: what OpenBLAS
computes with, and for each name the queries and what is recommended. See test_processors.py.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_info

sys.path.insert(0, str(Path(__file__).parent))

import campaigns
import cases

from skgpb.optimizers import ContextualGPTreeOptimizer, IndirectTargetsOptimizer, TargetsOptimizer

# A symmetric function, so that queries tie in all rounds; and the function as it is.
SYMMETRIC = [(-1.0, 1.0), (-1.0, 1.0)]
GRID = np.linspace(-1.0, 1.0, 9)
ARMS = np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1).reshape(-1, 2)
#: Parameters of every case that has them.
GIVEN = {"optimizer": None, "alpha": 0.01, "n_initial": 0, "random_state": 0}


def even(query: Any) -> float:
    """A ring around the middle of a square."""
    away = (np.atleast_2d(query.points) ** 2).sum(axis=1)
    return float((np.exp(-away) - 2.0 * np.exp(-8.0 * away)).mean())


def even_indirect(query: Any) -> float:
    """Two hills of one height on a line of queries."""
    away = (np.ravel(query.points)[0] - 0.5) ** 2
    return float(np.exp(-8.0 * away) - 1.5 * np.exp(-40.0 * away))


def of_shares(query: Any) -> list[float]:
    """Return the rewards of three equal campaigns."""
    return [float(np.sqrt(share)) for share in query.indices]


def squared_covariance(posterior: Any) -> np.ndarray:
    """A rule of one's own, in a unit of its own."""
    best = int(np.argmax(posterior.target_mean > posterior.target_mean.max() - 1e-9))
    return 1e-12 * posterior.covariance[:, best] ** 2


OWN_RULES = {
    "rule-of-cells": (
        TargetsOptimizer,
        {"rule": squared_covariance, "queries": cases.Cells(0.4), "n_candidates": 40},
    ),
    "rule-of-answers": (IndirectTargetsOptimizer, cases.WINDOW | {"rule": squared_covariance}),
}


def made(cls: type, settings: dict[str, Any], kernel: Any, **others: Any) -> Any:
    """An optimizer whose kernel is given, unless it is in ``settings``."""
    known = cls().get_params()
    given = {"kernel": kernel} | GIVEN | others | settings | {"optimizer": None}
    if given.get("alpha") is None:
        given["alpha"] = 0.01
    return cls(**{name: value for name, value in given.items() if name in known})


def on_a_symmetric_square(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with the arms of such a square, and without what differs from arm to arm."""
    own = {key: ARMS if value is cases.ARMS else value for key, value in settings.items()}
    differ = [key for key, value in own.items() if np.shape(value) == (len(cases.ARMS),)]
    return {key: value for key, value in own.items() if key not in differ}


def game(name: str) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Optimizer of a case, its answers, and how it is asked and what it recommends for."""
    kind, case = name.split(":")
    if kind == "contexts":
        cls, settings = cases.IN_CONTEXTS[case]
        optimizer = made(cls, settings, RBF(0.7), context_bounds=[(-1, 1)])
        return optimizer, cases.answer, {"context": [0.25]}, {"context": [0.25]}
    if kind == "contextual":
        sides = {"context_bounds": [(-1, 1)], "bounds": [(-1, 1)], "variation": (3.0, 0.6)}
        optimizer = made(ContextualGPTreeOptimizer, sides, RBF(0.5))
        return optimizer, even, {"context": [0.0]}, {"context": [0.0]}
    if kind == "campaigns":
        return campaigns.bandit(), of_shares, {}, {}
    if kind.startswith("indirect"):
        cls, settings, *pairs = (cases.INDIRECT | OWN_RULES)[case]
        optimizer = made(cls, cases.SQUARE | settings | {"n_initial": 0}, RBF(0.4))
        if pairs:
            optimizer.fit(cases.POINTS, queries=cases.PAIRED)
        return optimizer, even_indirect if kind[8:] else cases.answer_indirect, {}, {}
    cls, settings = (cases.CASES | OWN_RULES)[case]
    if kind == "even":
        optimizer = made(cls, on_a_symmetric_square(settings), RBF(0.5), bounds=SYMMETRIC)
        return optimizer, even, {}, {}
    return made(cls, settings, RBF([0.5, 0.8]), bounds=cases.BOUNDS), cases.answer, {}, {}


#: All cases: of every class over cells, balls, arms and targets, of indirect queries, in contexts.
NAMES = [
    *(f"{kind}:{case}" for kind in ("uneven", "even") for case in cases.CASES),
    *(f"{kind}:{case}" for kind in ("indirect", "indirect-even") for case in cases.INDIRECT),
    *(f"contexts:{case}" for case in cases.IN_CONTEXTS),
    *("contextual:tree", "campaigns:three", "even:rule-of-cells", "indirect:rule-of-answers"),
]


def numbers_of(query: Any) -> list[float]:
    """Return a query or a recommendation as numbers."""
    for name in ("indices", "descriptor", "points"):
        if hasattr(query, name):
            return np.ravel(getattr(query, name)).astype(float).tolist()
    return np.ravel(query).astype(float).tolist()


def played(name: str, n_rounds: int) -> dict[str, Any]:
    """Queries of some rounds and what is recommended then."""
    optimizer, answer, asked, recommended = game(name)
    queries = []
    for _ in range(n_rounds):
        query = optimizer.ask(**asked)
        optimizer.tell(query, answer(query))
        queries.append(numbers_of(query))
    return {"queries": queries, "best": numbers_of(optimizer.recommend(**recommended))}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    n_rounds, names = int(sys.argv[1]), sys.argv[2:] or NAMES
    libraries = threadpool_info()
    runs = {name: played(name, n_rounds) for name in names}
    print(json.dumps({"libraries": libraries, "runs": runs}))

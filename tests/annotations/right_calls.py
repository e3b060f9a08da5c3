"""Calls that are right: mypy finds nothing wrong, and knows the types of what they give."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from skgpb import (
    CMESOptimizer,
    CombinatorialBandit,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    KGOptimizer,
    StoOOOptimizer,
)
from skgpb.domains import Allocation, Arm, Ball, Cell, Cells
from skgpb.domains.contexts import ContextCell
from skgpb.model_selection import BanditSearchCV
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._run import RunResult

ARMS = np.linspace(0.0, 1.0, 16)[:, None]


def settings() -> None:
    """The domain in all its forms."""
    sides = {"x": (0.0, 10.0), "n": range(1, 5), "kind": ["a", "b"]}
    arm = EIOptimizer(bounds=sides, direction="minimize", random_state=0).ask()
    assert_type(arm, Arm)
    assert_type(arm.params, dict[str, Any])
    assert_type(EIOptimizer(bounds=[(0, 1), (0, 1)], relearn=5).ask(2), list[Arm])
    assert_type(EIOptimizer(bounds=np.array([[0.0, 1.0]]), relearn="growing").ask(), Arm)
    assert_type(GPTSOptimizer(arms=[[0.1], [0.2], [0.4]], random_state=np.int64(1)).ask(), Arm)
    assert_type(GPUCBOptimizer(arms=list(ARMS), cost=[1.0] * 16, alpha=0.01).ask(), Arm)
    cells = KGOptimizer(bounds=[(0, 1)], queries=Cells([0.1, 0.3]), targets=Cells(0.1), cost=[2, 1])
    assert_type(cells.ask(), Arm)


def results() -> None:
    """What a run returns."""
    search = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01, regret="simple", horizon=20)
    result = search.run(lambda arm: float(arm.points.sum()), 3)
    assert_type(result, RunResult[Arm])
    assert_type(result.x, Arm)
    assert_type(result.x.points, np.ndarray)
    assert_type(result.fun, float)
    assert_type(result.nfev, int)
    assert_type(result.history, np.ndarray)
    assert_type(result.success, bool)
    assert_type(result.message, str)
    assert_type(result.gap, float)
    assert_type(search.recommend("posterior"), Arm)
    assert_type(search.history_, np.ndarray)
    assert_type(search.beta is None, bool)
    assert_type(search.n_candidates, int)
    assert_type(search.get_params(), dict[str, Any])
    box = {"x": (0.0, 10.0)}
    tree = GPOOOptimizer(bounds=box, feedback="center", variation=(3.0, 0.5))
    assert_type(tree.run(lambda cell: float(cell.points.mean()), 3).x, Cell)
    assert_type(StoOOOptimizer(bounds=box).run(lambda cell: float(cell.depth), 3).x, Cell)
    zoom = GPZoomingOptimizer(bounds=box, metric="euclidean")
    assert_type(zoom.run(lambda ball: ball.radius, 3).x, Ball)
    contextual = ContextualGPTreeOptimizer(context_bounds=[(0, 1)], bounds=[(0, 1)])
    assert_type(contextual.run(lambda query: 1.0, contexts=[[0.1], [0.2]]).x, ContextCell)
    indirect = CMESOptimizer(bounds=[(0, 1)], queries=ARMS, random_state=0)
    assert_type(indirect.run(lambda query: float(query.a.sum()), 3).x, np.ndarray)
    bandit = CombinatorialBandit([search], budget=1.0, costs=ARMS[:, 0])
    assert_type(bandit.run(lambda allocation: [0.5 for _ in allocation.arms], 2).x, Allocation)
    assert_type(bandit.recommend(), Allocation)


def told() -> None:
    """Queries, settings and tables in all their forms."""
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 3.0]})
    search = EIOptimizer(bounds={"x": (0, 10)}, limits={"peak": (None, 9)}, random_state=0)
    query = search.ask()
    search.tell(query, 1.0, outcomes={"peak": 2}, block="day 1")
    search.tell([query, query], [1.0, 2.0], outcomes=[{"peak": 2}, None], block=["day 1", None])
    search.tell({"x": 1}, 1.0).tell([{"x": 1}, {"x": 2}], [1.0, 2.0])
    search.tell(frame[["x"]], frame["y"]).tell(frame[["x"]].to_dict("records"), frame["y"])
    search.tell(frame[["x"]], frame["y"], outcomes=frame.to_dict("records"))
    assert_type(search.predict([{"x": 2.0}]), np.ndarray)
    assert_type(search.predict_query([query, query]), np.ndarray)
    points = GPOOOptimizer(bounds=[(0, 1)])
    points.tell([[0.1], [0.2]], 1.0).tell(np.array([[0.3]]), 2.0)
    contextual = EIOptimizer(bounds={"x": (0, 10)}, context_bounds={"c": (0, 1)})
    assert_type(contextual.ask(2, context={"c": 1}), list[Arm])
    EIOptimizer(bounds=[(0, 1)], context_bounds=[(0, 1)]).ask(context=np.array([0.5]))
    CMESOptimizer(bounds=[(0, 1)], alpha=lambda a: 0.1, targets=Cells(0.1))
    for scoring in ("r2", ["r2", "max_error"], {"a": "r2"}, None):
        BanditSearchCV(Ridge(), {"alpha": [1.0]}, scoring=scoring, cv=KFold(3))


def tuned() -> None:
    """What a search for settings of an estimator has."""
    X, y = np.hstack([ARMS, ARMS**2]), np.sin(5.0 * ARMS[:, 0])
    search = BanditSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, n_iter=3, cv=2, random_state=0)
    search.fit(X, y)
    assert_type(search.best_params_, dict[str, Any])
    assert_type(search.best_score_, float)
    assert_type(search.best_index_, int)
    assert_type(search.optimizer_, BaseBanditOptimizer[Any])


def main() -> None:
    """Everything."""
    settings()
    results()
    told()
    tuned()


if __name__ == "__main__":
    main()

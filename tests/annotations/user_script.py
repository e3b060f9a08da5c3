"""User code with the types that it relies on: checked by mypy, and run."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, assert_type

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    CombinatorialBandit,
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
    OnlineGaussianProcessRegressor,
    PIOptimizer,
    StoOOOptimizer,
    Stop,
    TargetsOptimizer,
    URGPUCBOptimizer,
    of_x,
)
from skgpb.domains import (
    Allocation,
    Arm,
    Ball,
    Box,
    Cell,
    Cells,
    IndirectQuery,
    Query,
    Region,
)
from skgpb.domains.contexts import ContextCell
from skgpb.domains.indirect import IndirectCell
from skgpb.guarantee import Guarantee
from skgpb.kernels import CellAverage
from skgpb.lab.tables import BestSubgroup, Levels, MemoryTable, Moments, Table, find_subgroup
from skgpb.lab.tables.conditions import Categories, Range, Subgroup
from skgpb.lab.tables.search import SubgroupResult
from skgpb.optimizers import BaseUCBOptimizer
from skgpb.problems import gpoo_function
from skgpb.problems.metrics import cumulative_regret, simple_regret
from skgpb.surrogate import GaussianProcess

BOX = [(0.0, 1.0)]
SETTINGS = Box({"x": (0.0, 1.0), "y": (0.0, 1.0)}, constraints=["x + y <= 1"])
assert_type(SETTINGS, Box)
ARMS = np.linspace(0.0, 1.0, 9)[:, None]


def f(x: np.ndarray) -> np.ndarray:
    """Three hills."""
    return np.sin(7.0 * np.asarray(x)).ravel()


def average(query: Query) -> float:
    """Answer any query."""
    return float(f(query.points).mean())


def cells() -> None:
    """Trees ask cells."""
    gpoo = GPOOOptimizer(RBF(0.2), bounds=BOX, alpha=1e-4)
    tree = GPTreeOptimizer(RBF(0.2), bounds=BOX, alpha=1e-4)
    stooo = StoOOOptimizer(bounds=BOX)
    for optimizer in (gpoo, tree):
        cell = optimizer.ask()
        assert_type(cell, Cell)
        depth: int = cell.depth
        side: np.ndarray = cell.upper - cell.lower
        assert side.shape == (1,) and depth == 0
        assert_type(optimizer.tell(cell, average(cell)).ask(2), list[Cell])
        assert_type(optimizer.recommend(), Cell)
        assert_type(optimizer.recommend(side=0.5), Region)
        assert_type(optimizer.gap(0.1), float)
        optimizer.run(average, 2, stop=Stop(0.1, delta=0.1))
    gpoo.run(of_x(lambda x: float(np.sin(7.0 * x[0]))), 2)
    assert_type(gpoo.tell(gpoo.ask(), 0.5, alpha=0.1), GPOOOptimizer)
    assert_type(stooo.tell(stooo.ask(), 0.5).ask(), Cell)


def balls() -> None:
    """Zooming asks balls."""
    zooming = GPZoomingOptimizer(RBF(0.2), bounds=BOX, alpha=1e-4)
    ball = zooming.ask()
    assert_type(ball, Ball)
    radius: float = ball.radius
    assert radius > 0.0
    assert_type(zooming.tell(ball, average(ball)).recommend(), Ball)


def arms() -> None:
    """The family over arms asks arms."""
    family: list[type[BaseUCBOptimizer]] = [
        GPUCBOptimizer,
        IGPUCBOptimizer,
        GPTSOptimizer,
        URGPUCBOptimizer,
        DAGPUCBOptimizer,
    ]
    for cls in family:
        optimizer = cls(RBF(0.2), arms=ARMS, alpha=1e-2, random_state=0)
        arm = optimizer.ask()
        assert_type(arm, Arm)
        index: int = arm.index
        assert 0 <= index < len(ARMS)
        optimizer.tell([arm], [average(arm)])
    others = (
        EIOptimizer(RBF(0.2), arms=ARMS, alpha=1e-2),
        PIOptimizer(RBF(0.2), arms=ARMS, alpha=1e-2),
        ESTOptimizer(RBF(0.2), arms=ARMS, alpha=1e-2),
        MESOptimizer(RBF(0.2), arms=ARMS, alpha=1e-2, random_state=0),
    )
    assert len({other.ask().index for other in others}) >= 1
    assert_type(others[0].ask(), Arm)


def targets() -> None:
    """Queries and recommendations have different types."""
    optimizer = KGOptimizer(
        queries=Cells([0.25]), targets=Cells(0.5), bounds=BOX, alpha=1e-2, random_state=0
    )
    query = optimizer.ask()
    assert_type(query, Arm)
    assert_type(optimizer.tell(query, average(query)), KGOptimizer)
    others = (
        IDSOptimizer(RBF(0.2), queries=ARMS, alpha=1e-2),
        TargetsOptimizer("mes", RBF(0.2), queries=ARMS, alpha=1e-2, random_state=0),
        TargetsOptimizer(lambda known: known.query_var, RBF(0.2), queries=ARMS, alpha=1e-2),
    )
    for other in others:
        assert_type(other.ask(), Arm)
    assert_type(others[0].ask().index, int)


def indirect() -> None:
    """Indirect queries ask rows or cells, and recommend points."""
    grid: dict[str, Any] = {"bounds": BOX, "queries": ARMS, "random_state": 0}
    for optimizer in (
        CMESOptimizer(**grid),
        IndirectEIOptimizer(**grid),
        IndirectPIOptimizer(**grid),
        IndirectUCBOptimizer(**grid),
        IndirectMESOptimizer(**grid),
        IndirectTargetsOptimizer("ids", **grid),
    ):
        query = optimizer.ask()
        a: np.ndarray = query.a
        cost: float = query.cost
        assert a.shape == (1,) and cost == 1.0
    cmes = CMESOptimizer(**grid)
    assert_type(cmes.ask(), IndirectQuery)
    assert_type(cmes.tell(cmes.ask(), 0.3).recommend(), np.ndarray)
    cmets = CMETSOptimizer(bounds=BOX, random_state=0)
    cell = cmets.ask()
    assert_type(cell, IndirectCell)
    assert cell.depth >= 0 and cell.lower < cell.upper


def contexts_and_campaigns() -> None:
    """A context comes before its query; an allocation has an arm for each campaign."""
    contextual = ContextualGPTreeOptimizer(RBF(0.3), context_bounds=BOX, bounds=BOX, alpha=1e-2)
    context_cell = contextual.ask(context=[0.5])
    assert_type(context_cell, ContextCell)
    assert_type(contextual.ask(2, context=[0.5]), list[ContextCell])
    assert context_cell.context.shape == (1,)
    contextual.tell(context_cell, average(context_cell))
    bandit = CombinatorialBandit(
        [GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=1e-2) for _ in range(2)],
        budget=1.0,
        costs=ARMS[:, 0],
    )
    allocation = bandit.ask()
    assert_type(allocation, Allocation)
    costs: np.ndarray = allocation.costs
    bandit.tell(allocation, [average(arm) for arm in allocation.arms])
    assert costs.sum() <= 1.0


def models() -> None:
    """The posterior, its regressor, kernels, metrics and problems."""
    regressor = OnlineGaussianProcessRegressor(CellAverage(RBF(0.2)), alpha=1e-4)
    boxes = np.array([[0.0, 0.5], [0.5, 1.0]])
    mean = regressor.fit(boxes, [0.2, 0.1]).predict(boxes)
    assert mean.shape == (2,)
    process = GaussianProcess(RBF(0.2), n_columns=1)
    process.track(ARMS)
    number: int = process.observe(ARMS[:1], 0.3, 1e-4)
    means, deviations = process.tracked_moments()
    assert_type(number, int)
    assert means.shape == deviations.shape == (len(ARMS),)
    problem = gpoo_function(1)
    values = problem.f(ARMS)
    assert cumulative_regret(problem.optimum, values).shape == values.shape
    assert np.shape(simple_regret(problem.optimum, values)) == values.shape


def predictions() -> None:
    """The return type depends on the arguments."""
    arms = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=1e-2, random_state=0)
    arms.run(average, 3)
    tree = GPOOOptimizer(RBF(0.2), bounds=BOX, alpha=1e-2)
    tree.run(average, 3)
    for optimizer in (arms, tree):
        assert_type(optimizer.predict(ARMS), np.ndarray)
        assert_type(optimizer.predict(ARMS, return_std=True), tuple[np.ndarray, np.ndarray])
        assert_type(optimizer.predict(ARMS, return_cov=True), tuple[np.ndarray, np.ndarray])
        assert_type(optimizer.predict_query(ARMS), np.ndarray)
        assert_type(optimizer.predict_query(ARMS, True), tuple[np.ndarray, np.ndarray])
    known = GPUCBOptimizer(
        RBF(0.2), arms=ARMS, alpha=1e-2, guarantee=Guarantee(2.0, noise_bound=0.1)
    )
    known.run(average, 3)
    mean, lower, upper = known.predict_query(ARMS, interval=True)
    assert_type(mean, np.ndarray)
    assert_type(upper, np.ndarray)
    assert (lower <= upper).all()
    indirect = CMESOptimizer(bounds=BOX, queries=ARMS, random_state=0)
    indirect.run(lambda query: float(f(query.a).mean()), 3)
    assert_type(indirect.predict_query(ARMS), np.ndarray)
    assert_type(indirect.predict(ARMS, return_std=True), tuple[np.ndarray, np.ndarray])
    bandit = CombinatorialBandit([arms], budget=1.0, costs=ARMS[:, 0])
    bandit.run(lambda allocation: [0.5 for _ in allocation.arms], 2)
    assert_type(bandit.predict(ARMS), np.ndarray)
    assert_type(bandit.predict_query([bandit.ask()], True), tuple[np.ndarray, np.ndarray])
    assert_type(StoOOOptimizer(bounds=BOX).fit(ARMS).predict(ARMS), np.ndarray)
    regressor = OnlineGaussianProcessRegressor(RBF(0.2), alpha=1e-4).fit(ARMS, f(ARMS))
    assert_type(regressor.predict(ARMS), np.ndarray)
    assert_type(regressor.predict(ARMS, return_cov=True), tuple[np.ndarray, np.ndarray])


def tables() -> None:
    """The group of rows with the highest average."""
    columns = {"x": ARMS[:, 0], "even": np.arange(len(ARMS)).astype(str)}
    table = MemoryTable({"x": columns["x"]}, f(ARMS))
    group = find_subgroup(table, 3)
    assert_type(group, SubgroupResult)
    assert_type(group.subgroup, Subgroup)
    source: Table = table
    assert_type(source.marginals([group.subgroup])[0]["x"], Moments)
    levels: Levels = table.levels[0]
    box = Subgroup((("x", Range(0.5, None)), ("even", Categories(("0", "2")))))
    assert_type(box.where(), str)
    assert_type(levels.interval(0, 1), Range)
    search = BestSubgroup(min_rows=3).fit(ARMS, f(ARMS))
    assert_type(search.predict(ARMS), np.ndarray)
    assert_type(search.subgroup_, Subgroup)


def mistakes() -> None:
    """Errors that a type checker finds, and correct code that it might reject."""
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=1e-2, random_state=0)
    arm = optimizer.ask()
    with suppress(TypeError):
        optimizer.tell(arm, "1")  # type: ignore[arg-type]
    with suppress(TypeError):
        optimizer.tell(arm, 1j)  # type: ignore[arg-type]
    with suppress(TypeError):
        optimizer.tell([arm], ["1"])  # type: ignore[list-item]
    with suppress(TypeError):
        optimizer.tell(arm, 1.0, alpha="0.1")  # type: ignore[arg-type]
    with suppress(RuntimeError):
        optimizer.run(lambda query: "1", 20)  # type: ignore[arg-type, return-value]
    assert not len(optimizer.history_)
    optimizer.tell(arm, None).tell(arm, np.float32(1.0)).tell([arm, arm], (1, None), [0.1, 0.2])
    optimizer.tell(ARMS, f(ARMS), alpha=np.full(len(ARMS), 0.1))
    optimizer.run(lambda query: None if query.index else 0.5, 3)


def main() -> None:
    """Everything."""
    cells()
    balls()
    arms()
    targets()
    indirect()
    contexts_and_campaigns()
    models()
    predictions()
    tables()
    mistakes()


if __name__ == "__main__":
    main()

"""Every public class that ``user_script.py`` leaves out, with the types of what it gives."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel
from sklearn.linear_model import Ridge

from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.domains import (
    Allocation,
    Angle,
    Arm,
    Ball,
    Cell,
    Cells,
    Districts,
    Fidelities,
    PointsQuery,
    Steps,
)
from skgpb.domains import Side as BoxSide
from skgpb.domains.allocations import AllocationSet
from skgpb.domains.arms import ArmSet, Layout
from skgpb.domains.balls import Balls
from skgpb.domains.box_candidates import BoxCandidates
from skgpb.domains.contexts import ContextCell, ContextPartition
from skgpb.domains.covering import ChebyshevCovering, EuclideanCovering
from skgpb.domains.free_cells import FreeCells
from skgpb.domains.mixed import MixedPartition
from skgpb.domains.partition import BoxPartition, PoolPartition
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import (
    AllocationWarning,
    AllPendingError,
    ApproximationWarning,
    BudgetWarning,
    DatabaseError,
    DataWarning,
    EvaluationWarning,
    GuaranteeWarning,
    LearningWarning,
    LimitWarning,
    LoadError,
    ModelWarning,
    NumericalWarning,
    ParameterWarning,
    PendingWarning,
    PrivacyBudgetError,
    RefinementWarning,
    ReplayWarning,
    ScansSpentError,
)
from skgpb.feedback import Answer, Estimate, RowAverage, from_counts
from skgpb.kernels import (
    AdditiveMatern,
    CellIntegral,
    Columns,
    ConditionalMean,
    LowRank,
    PolicyMean,
    Tasks,
    WeightedSum,
    WindowMean,
    WrapperKernel,
)
from skgpb.kernels._boxes import boxes_from_points
from skgpb.lab.datasets import PrivacyLedger, PrivateAverages
from skgpb.lab.datasets.account import PrivateAnswer
from skgpb.lab.datasets.columns import Column
from skgpb.lab.datasets.format import TableFormat
from skgpb.lab.datasets.table import TableFile
from skgpb.lab.experiments import Experiment
from skgpb.lab.experiments.sides import Side
from skgpb.model_selection import BanditSearchCV
from skgpb.optimizers import (
    CMESOptimizer,
    IndirectEIOptimizer,
    IndirectParameters,
    IndirectSearch,
    Leaves,
    ModelParameters,
    PartitionSearch,
    Round,
    Search,
    StopRule,
    Strategy,
    StrategyOptimizer,
    TreeSearch,
)
from skgpb.problems import AdvertisingBudget, gpoo_function
from skgpb.problems.gp_draws import ArmsProblem
from skgpb.problems.gpoo import GPOOProblem
from skgpb.surrogate import ConditionalMeanProcess
from skgpb.surrogate.criticism import Criticism
from skgpb.surrogate.likelihood import Prior
from skgpb.testing import KernelContract, OptimizerContract

if TYPE_CHECKING:  # it needs a library that is not installed everywhere
    from skgpb.lab.sql import IbisTable

BOX = np.array([[0.0, 1.0]])
POINTS = np.linspace(0.0, 1.0, 16)[:, None]


def tables(folder: Path) -> None:
    """Tables, and averages over their columns that protect rows."""
    path = folder / "table.csv"
    path.write_text("x,y\n1,2.5\n2,3.5\n", encoding="utf-8")
    file = TableFile(path, TableFormat(separator=","))
    assert_type(file.name, str)
    column = Column("x", "numbers", np.ones(3))
    assert_type(column.values, np.ndarray)
    averages = PrivateAverages(
        np.linspace(0.0, 1.0, 100), (0.0, 1.0), epsilon=1.0, delta=1e-6, random_state=0
    )
    assert_type(averages.epsilon, float)
    answer = averages.answer(np.arange(50), 0.5)
    assert_type(answer, PrivateAnswer)
    assert_type(answer.variance, float)
    ledger = PrivacyLedger(f"{path}.ledger", np.ones((100, 2)), target="income")
    assert_type(ledger.spent, np.ndarray)
    PrivateAverages(np.ones(100), (0.0, 1.0), epsilon=1.0, delta=1e-6, ledger=ledger)


def rows_in_a_database(table: IbisTable) -> int:
    """Return the number of rows of a table in a database that have a target."""
    return assert_type(table.n_rows, int)


def domains() -> None:
    """Queries without an optimizer."""
    box = BoxPartition(BOX, 2, (3,))
    assert_type(box.cell(0), Cell)
    assert_type(box.max_depth, int)
    assert_type(PoolPartition(POINTS, 2, 4).cell(0), Cell)
    joint = BoxPartition(np.array([[0.0, 1.0], [0.0, 1.0]]), 2, (1, 3))
    contexts = ContextPartition(joint, BOX)
    assert_type(contexts.query_in_context(0, np.array([0.5])), ContextCell)
    for covering in (ChebyshevCovering(1), EuclideanCovering(1)):
        assert_type(Balls(BOX, covering, None).ball(0), Ball)
    sides = ParameterSpace.from_bounds({"n": range(1, 9), "kind": ["a", "b"]})
    assert_type(sides.n_axes, int)
    assert_type(Steps(0, 1, 0.1).low, float)
    assert_type(Angle(0, 360).columns(np.zeros(2)), np.ndarray)

    class Square(BoxSide):
        def value(self, u: float) -> float:
            return u**2

        def coordinate(self, value: float) -> float:
            return float(np.sqrt(value))

    class Three(StopRule):
        def decide(self, optimizer: GPUCBOptimizer) -> bool:
            return len(optimizer.history_) == 3

    square = GPUCBOptimizer(bounds={"x": Square()}, random_state=0)
    assert square.run(lambda query: 0.0, 9, stop=Three()).nfev == 3
    assert_type(MixedPartition(sides, 2, (1, 1)).cell(0), Cell)
    arms = ArmSet(POINTS, BOX)
    assert_type(arms.arm(3), Arm)
    assert_type(BoxCandidates(BOX, 10, None, 0).bounds, np.ndarray)
    assert issubclass(FreeCells, ArmSet)
    assert isinstance(Districts.__name__, str)
    assert_type(Layout(2, counts=(3, 3)).n_columns, int)
    assert_type(Fidelities(2).sides(BOX, None), np.ndarray)
    assert_type(Cells([0.1, 0.4]).sides(BOX, None), np.ndarray)
    allocations = AllocationSet([arms, arms], [np.ones(16), np.ones(16)])
    assert_type(allocations.allocation([0, 1]), Allocation)
    assert_type(PointsQuery(POINTS[:2]).points, np.ndarray)


class Boldest(Search):
    """A rule of one's own: one method."""

    def acquisition(self, posterior: Round) -> np.ndarray:
        return posterior.mean + 3.0 * posterior.std


class Surest(TreeSearch):
    """A tree of one's own: which leaf to ask, and which to split."""

    def acquisition(self, leaves: Leaves) -> np.ndarray:
        return leaves.mean - leaves.std

    def splits(self, leaves: Leaves) -> np.ndarray:
        return leaves.n_evaluations >= 2


class Uniform(Strategy):
    """A search of another kind: five methods, one of which does nothing by default."""

    def start(self, bounds: np.ndarray, rng: np.random.Generator) -> None:
        self.bounds, self.rng = bounds, rng
        self.told: list[tuple[float, np.ndarray]] = []

    def propose(self, pending: Sequence[PointsQuery]) -> np.ndarray:
        return self.rng.uniform(*self.bounds.T)

    def observe(self, query: PointsQuery, reward: float, alpha: float) -> None:
        self.told.append((reward, query.points[0]))

    def recommend(self) -> np.ndarray:
        return max(self.told, key=lambda each: each[0])[1]


def rules() -> None:
    """A rule of one's own, and what it looks at."""
    optimizer = Boldest(RBF(0.2), arms=POINTS, alpha=0.01)
    assert_type(optimizer.ask(), Arm)
    round = optimizer.posterior()
    assert_type(round, Round)
    assert_type(round.covariance, np.ndarray)
    assert_type(round.draws(3), np.ndarray)
    optimizer.run(lambda arm: float(arm.points.mean()), 4)
    assert_type(optimizer.criticism(), Criticism)
    surest = Surest(RBF(0.2), bounds=BOX, alpha=0.01)
    assert_type(surest.ask(), Cell)
    shared: list[ModelParameters] = [optimizer, surest]
    assert isinstance(surest, PartitionSearch) and all(each.alpha == 0.01 for each in shared)
    of_points = StrategyOptimizer(Uniform(), bounds=BOX, random_state=0)
    assert_type(of_points.ask(), PointsQuery)
    assert_type(of_points.run(lambda query: float(query.points.mean()), 4).x, PointsQuery)
    indirect: list[IndirectSearch] = [CMESOptimizer(), IndirectEIOptimizer()]
    assert all(isinstance(each, IndirectParameters) for each in indirect)


def kernels() -> None:
    """Kinds of feedback, and the posterior of f and of blurred answers."""
    boxes = np.array([[0.0, 0.5], [0.5, 1.0]])
    assert_type(CellIntegral(RBF(0.2)).diag(boxes), np.ndarray)
    assert_type(LowRank(RBF(0.2), POINTS).diag(POINTS), np.ndarray)
    assert_type(AdditiveMatern([0.2]).diag(POINTS), np.ndarray)
    assert_type(Columns(RBF(0.2), [0]).diag(np.hstack([POINTS, POINTS])), np.ndarray)
    assert_type(boxes_from_points(POINTS), np.ndarray)
    numbered = np.hstack([POINTS, np.zeros_like(POINTS)])
    assert_type(Tasks(RBF(0.2)).diag(numbered), np.ndarray)
    assert issubclass(WeightedSum, Kernel)
    assert issubclass(CellIntegral, WrapperKernel)
    window = WindowMean(RBF(0.2), scale=0.1)
    assert_type(window.queries(POINTS[:3]), np.ndarray)
    policy = PolicyMean(RBF(0.2), policies=np.full((2, 16), 1 / 16), arms=POINTS)
    assert_type(policy.points(POINTS[:2]), np.ndarray)
    learned = ConditionalMean(RBF(0.2), POINTS, POINTS)
    assert_type(learned.model_noise(), float)
    process = ConditionalMeanProcess(RBF(0.2), WindowMean(scale=0.1))
    assert_type(process.condition_query(POINTS[:3], [0.1, 0.2, 0.3]), ConditionalMeanProcess)
    assert_type(process.sample_y(POINTS, 2), np.ndarray)
    assert_type(Prior(np.zeros(1), np.ones(1)).center, np.ndarray)


def experiments(folder: Path) -> None:
    """A run in a file."""
    experiment = Experiment.create(folder / "run.skgpb", {"x": (0.0, 1.0)})
    assert_type(experiment, Experiment)
    side: Side = experiment.sides[0]
    assert_type(side.name, str)


def searches() -> None:
    """The search for settings of an estimator, and the laws of an optimizer."""
    X, y = np.hstack([POINTS, POINTS**2]), np.sin(5.0 * POINTS[:, 0])
    search = BanditSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, n_iter=3, cv=2, random_state=0)
    search.fit(X, y)
    assert_type(search.expected_scores_, np.ndarray)
    assert_type(search.space_, ParameterSpace)
    assert issubclass(type("Mine", (OptimizerContract,), {}), OptimizerContract)
    assert issubclass(type("MyKernel", (KernelContract,), {}), KernelContract)


def feedback() -> None:
    """Counts as answers, and an estimate read back."""
    answer = from_counts(3, 10)
    assert_type(answer, Answer)
    assert_type(answer.alpha, Any)
    assert issubclass(Estimate, tuple)
    assert_type(RowAverage(2.5, 40).count, int)


def problems() -> None:
    """Problems know their optimum."""
    problem = gpoo_function(1)
    assert_type(problem, GPOOProblem)
    assert_type(ArmsProblem(POINTS, POINTS[:, 0]).values, np.typing.NDArray[np.float64])
    assert AdvertisingBudget().n_arms == 21


def errors(folder: Path) -> None:
    """Warnings and errors that programs tell apart."""
    kinds: list[type[Warning]] = [
        AllocationWarning,
        ApproximationWarning,
        BudgetWarning,
        DataWarning,
        LimitWarning,
        EvaluationWarning,
        GuaranteeWarning,
        LearningWarning,
        ModelWarning,
        NumericalWarning,
        ParameterWarning,
        PendingWarning,
        RefinementWarning,
        ReplayWarning,
    ]
    with warnings.catch_warnings():
        for kind in kinds:
            warnings.simplefilter("ignore", kind)
    with suppress(LoadError):
        GPOOOptimizer.load(folder / "table.csv")
    assert issubclass(PrivacyBudgetError, ValueError) and issubclass(AllPendingError, ValueError)
    assert issubclass(DatabaseError, RuntimeError) and issubclass(ScansSpentError, RuntimeError)


def pictures() -> None:
    """Displays have their axes; only with matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from skgpb.plotting import (
        CellMapDisplay,
        FrontDisplay,
        ImportanceDisplay,
        PosteriorDisplay,
        RegretDisplay,
        SliceDisplay,
        TreeDisplay,
    )

    tree = GPOOOptimizer(RBF(0.2), bounds=BOX, alpha=1e-2, random_state=0)
    tree.run(lambda cell: float(np.sin(5.0 * cell.points).mean()), 5)
    arms = GPUCBOptimizer(RBF(0.2), arms=POINTS, alpha=1e-2, random_state=0)
    arms.run(lambda arm: float(np.sin(5.0 * arm.points).mean()), 5)
    assert_type(CellMapDisplay.from_optimizer(tree), CellMapDisplay)
    assert_type(TreeDisplay.from_optimizer(tree), TreeDisplay)
    assert_type(PosteriorDisplay.from_optimizer(arms), PosteriorDisplay)
    assert_type(SliceDisplay.from_optimizer(arms).axes_, list[Any])
    assert_type(RegretDisplay.from_optimizer(arms, optimum=1.0), RegretDisplay)
    assert_type(ImportanceDisplay.from_optimizer(arms, n_samples=5), ImportanceDisplay)
    both = GPUCBOptimizer(bounds=BOX, goals={"cost": "minimize"}, random_state=0)
    for query in both.ask(5):
        both.tell(query, 1.0, outcomes={"cost": float(query.points.max())})
    assert_type(FrontDisplay.from_optimizer(both), FrontDisplay)
    matplotlib.pyplot.close("all")


def studies() -> None:
    """The sampler, only with Optuna."""
    try:
        from skgpb.integrations.optuna import GPBanditSampler
    except ImportError:
        return
    assert_type(GPBanditSampler(seed=0), GPBanditSampler)


def main() -> None:
    """Everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables(folder)
        experiments(folder)
        errors(folder)
    domains()
    rules()
    kernels()
    searches()
    feedback()
    problems()
    pictures()
    studies()


if __name__ == "__main__":
    main()

"""Every warning names the line of the user's that led to it, however deep it arose."""

from __future__ import annotations

import linecache
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config
from runs import of_another_version
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgpb.exceptions
from skgpb import (
    CMESOptimizer,
    CombinatorialBandit,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    KGOptimizer,
)
from skgpb.exceptions import (
    AllocationWarning,
    ApproximationWarning,
    BudgetWarning,
    DataWarning,
    EvaluationWarning,
    GuaranteeWarning,
    LearningWarning,
    LimitWarning,
    ModelWarning,
    NumericalWarning,
    ParameterWarning,
    PendingWarning,
    RefinementWarning,
    ReplayWarning,
)
from skgpb.guarantee import Guarantee
from skgpb.kernels import LowRank
from skgpb.lab.tables import BestSubgroup
from skgpb.surrogate import GaussianProcess
from skgpb.testing import InOrder

ARMS = np.linspace(0.0, 1.0, 20)[:, None]
BOX = {"bounds": [(0.0, 1.0)], "random_state": 0}
SPLIT = {"variation": lambda h: 50.0, "max_depth": 12, **BOX}


def sometimes(query):
    x = float(np.mean(query.points))
    return np.nan if 0.3 < x < 0.7 else x


def constant(query):
    return 0.0


def fails(objective, theta, bounds):
    raise np.linalg.LinAlgError("no maximum")


def saved(tmp_path):
    optimizer = GPOOOptimizer(RBF(0.2), alpha=0.01, **BOX)
    optimizer.run(lambda cell: float(np.sin(7.0 * cell.points).mean()), 12)
    optimizer.save(tmp_path / "run")
    return tmp_path / "run"


# Preparation, and the call that warns; the line that is named has "# here" behind it.


def parameter(tmp_path):
    optimizer = EIOptimizer(RBF(0.2), arms=ARMS, alpha=0.01).start()
    optimizer.set_params(direction="minimize")
    yield ParameterWarning
    optimizer.run(constant, 1)  # here


def numerical(tmp_path):
    optimizer = EIOptimizer(RBF(0.2), arms=ARMS, alpha=0.01)
    yield NumericalWarning
    optimizer.tell(ARMS[0], 1e15)  # here


def numerical_of_a_surrogate(tmp_path):
    process = GaussianProcess(RBF(0.2), n_columns=1)
    process.observe(np.array([[0.2]]), 0.5, 0.0)
    yield NumericalWarning
    process.observe(np.array([[0.2 + 1e-9]]), 0.5, 0.0)  # here


def refinement_in_tell(tmp_path):
    optimizer = GPOOOptimizer(RBF(0.2), alpha=0.01, expansion="posterior", **SPLIT)
    yield RefinementWarning
    optimizer.tell(optimizer.ask(), 0.0)  # here


def refinement_in_run(tmp_path):
    optimizer = GPOOOptimizer(RBF(0.2), alpha=0.01, expansion="posterior", **SPLIT)
    yield RefinementWarning
    optimizer.run(constant, 2)  # here


def refinement_in_a_call_of_a_call(tmp_path):
    def of_mine(optimizer):
        return optimizer.run(constant, 2, n_jobs=2)  # here

    optimizer = GPOOOptimizer(RBF(0.2), alpha=0.01, expansion="posterior", **SPLIT)
    yield RefinementWarning
    with parallel_config("threading"):
        of_mine(optimizer)


def refinement_in_ask(tmp_path):
    settings = {"variation": (1e6, 0.999), "max_depth": 40, "max_active": 50}
    optimizer = GPTreeOptimizer(RBF(0.01), alpha=0.01, **settings, **BOX)
    yield RefinementWarning
    optimizer.ask()  # here


def budget(tmp_path):
    optimizer = GPTreeOptimizer(RBF(0.2), alpha=0.01, horizon=3, **BOX)
    yield BudgetWarning
    optimizer.run(constant, 5)  # here


def allocation(tmp_path):
    bandit = CombinatorialBandit(
        [GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01)], budget=0.5, costs=ARMS[:, 0]
    )
    yield AllocationWarning
    bandit.tell(ARMS[19], [0.2])  # here


def evaluation(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01)
    yield EvaluationWarning
    optimizer.run(sometimes, 9)  # here


def evaluation_by_workers(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01)
    yield EvaluationWarning
    optimizer.run(sometimes, 9, executor=InOrder(range(9), 3))  # here


def evaluation_with_a_price(tmp_path):
    optimizer = CMESOptimizer(queries=ARMS, n_points=20, **BOX)
    yield EvaluationWarning
    optimizer.run(lambda query: None if query.index % 2 else 1.0, 6)  # here


def evaluation_of_targets(tmp_path):
    optimizer = KGOptimizer(RBF(0.2), queries=ARMS, alpha=0.01, random_state=0)
    yield EvaluationWarning
    optimizer.run(sometimes, 9)  # here


def evaluation_in_contexts(tmp_path):
    optimizer = ContextualGPTreeOptimizer(
        RBF(0.3), context_bounds=[(0, 1)], variation=(3.0, 0.6), alpha=0.01, **BOX
    )
    yield EvaluationWarning
    contexts = [0.2, 0.9, 0.1]
    optimizer.run(lambda query: None if query.context[0] > 0.5 else 1.0, contexts=contexts)  # here


def learning(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01, optimizer=fails)
    yield LearningWarning
    optimizer.run(constant, 5)  # here


def learning_of_many(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01, optimizer=fails)
    yield LearningWarning
    optimizer.tell(ARMS[:5], np.arange(5.0))  # here


def numerical_behind_a_pipeline(tmp_path):
    pipeline = make_pipeline(StandardScaler(), GPUCBOptimizer())
    yield NumericalWarning
    pipeline.fit(ARMS, 1e15 + np.sin(5.0 * ARMS[:, 0]))  # here


def numerical_behind_a_search(tmp_path):
    search = GridSearchCV(GPUCBOptimizer(), {"beta": [1.0, 4.0]}, cv=2)
    yield NumericalWarning
    search.fit(ARMS, 1e15 + np.sin(5.0 * ARMS[:, 0]))  # here


def replay(tmp_path):
    path = saved(tmp_path)
    of_another_version(path, n_children=3)
    yield ReplayWarning
    GPOOOptimizer.load(path)  # here


def approximation(tmp_path):
    kernel = LowRank(RBF(0.01), ARMS, 1e-3, max_rank=3)
    yield ApproximationWarning
    kernel.feature_map(1)  # here


def guarantee(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, beta="rkhs", alpha=None)
    yield GuaranteeWarning
    optimizer.start()  # here


def guarantee_of_an_interval(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=1e-4, guarantee=Guarantee(0.1))
    optimizer.tell(ARMS[[0, 19]], [9.0, -9.0])
    yield GuaranteeWarning
    optimizer.interval([[0.5]])  # here


def model(tmp_path):
    optimizer = GPUCBOptimizer(RBF(1.0), alpha=1e-10, **BOX)
    yield ModelWarning
    optimizer.tell([[0.0], [0.5], [1.0]], [0.0, 1.0, 0.0])  # here


def pending(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01)
    first, second = optimizer.ask(), optimizer.ask()
    optimizer.tell(first, 0.0)
    yield PendingWarning
    optimizer.tell(second, 0.0)  # here


def code(tmp_path):
    yield DataWarning
    values = np.append(np.linspace(0.0, 1.0, 90), np.full(10, 9999.0))
    BestSubgroup(n_permutations=49).fit(values[::-1, np.newaxis], values)  # here


def limit(tmp_path):
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01, limits={"peak": (None, 70.0)})
    yield LimitWarning
    optimizer.tell(ARMS[0], 1.0)  # here


CASES = [
    parameter, code, limit,
    numerical, numerical_of_a_surrogate, refinement_in_tell, refinement_in_run,
    refinement_in_a_call_of_a_call, refinement_in_ask, budget, allocation, evaluation,
    evaluation_by_workers, evaluation_with_a_price, evaluation_of_targets, evaluation_in_contexts,
    learning, learning_of_many, numerical_behind_a_pipeline, numerical_behind_a_search,
    replay, approximation, guarantee, guarantee_of_an_interval, model, pending,
]  # fmt: skip


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_warning_names_the_line_that_led_to_it(case, tmp_path, monkeypatch):
    monkeypatch.setattr("skgpb.defaults.MANY_LEAVES", 15)
    steps = case(tmp_path)
    category = next(steps)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        next(steps, None)
    mine = [each for each in seen if each.category is category]
    assert mine, [str(each.message) for each in seen]
    for each in mine:
        assert each.filename == __file__
        assert linecache.getline(__file__, each.lineno).rstrip().endswith("# here")


def test_every_class_of_warnings_is_among_them(tmp_path):
    """Also those that come later."""
    public = {
        each
        for each in vars(skgpb.exceptions).values()
        if isinstance(each, type) and issubclass(each, Warning)
    }
    assert {next(case(tmp_path)) for case in CASES} == public


def test_a_run_in_a_thread_warns_there():
    optimizer = GPUCBOptimizer(RBF(0.2), arms=ARMS, alpha=0.01)

    def in_a_thread():
        return optimizer.run(sometimes, 9)  # here

    with pytest.warns(EvaluationWarning) as seen, ThreadPoolExecutor(1) as threads:
        threads.submit(in_a_thread).result()
    assert linecache.getline(seen[0].filename, seen[0].lineno).rstrip().endswith("# here")

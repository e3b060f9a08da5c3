"""Sizes that would fill the memory or never end are refused before anything is allocated."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge

import skgpb
from skgpb.kernels import ConditionalMean, WindowMean
from skgpb.model_selection import BanditSearchCV, bandit_scorer
from skgpb.problems import AdvertisingBudget, gp_draw
from skgpb.problems.simulation import simulate
from skgpb.surrogate.conditional_mean_process import ConditionalMeanProcess
from skgpb.utils.roots import joint_draws

SIZES = (
    "n_children",
    "n_candidates",
    "n_draws",
    "n_max_values",
    "n_points",
    "n_representatives",
    "n_restarts_optimizer",
)
CASES = [
    (name, parameter)
    for name in skgpb.__all__
    if name.endswith("Optimizer")
    for parameter in getattr(skgpb, name)().get_params(deep=False)
    if parameter in SIZES
]


def started(name, **parameters):
    """An optimizer over the unit square, or over an interval and queries in another."""
    cls = getattr(skgpb, name)
    accepted = cls().get_params(deep=False)
    if "query_bounds" in accepted:
        parameters |= {"bounds": [(0, 1)], "query_bounds": [(0, 1)]}
    elif "n_context" in accepted:
        parameters |= {"context_bounds": [(0, 1)], "bounds": [(0, 1)]}
    else:
        parameters |= {"bounds": [(0, 1), (0, 1)]}
    if "n_representatives" in parameters:
        parameters["feedback"] = "average"
    return cls(**parameters)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "parameter"), CASES)
@pytest.mark.parametrize("size", [10**9, 10**30])
def test_sizes_that_cannot_work_are_refused_first(name, parameter, size):
    optimizer = started(name, **{parameter: size})
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=parameter):
            optimizer.ask(context=0.5 if "n_context" in optimizer.get_params() else None)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
    assert not hasattr(optimizer, "bounds_")


def test_points_of_a_cell_are_counted_over_all_axes():
    with pytest.raises(ValueError, match="at most 100000 points"):
        skgpb.GPOOOptimizer(bounds=[(0, 1)] * 3, n_representatives=100).ask()


@pytest.mark.parametrize("n", [10**9, 10**30])
def test_batches_have_a_largest_size(n):
    optimizer = skgpb.GPOOOptimizer(bounds=[(0, 1)])
    contextual = skgpb.ContextualGPTreeOptimizer(context_bounds=[(0, 1)], bounds=[(0, 1)])
    for ask in (optimizer.ask, lambda n: contextual.ask(n, context=0.5)):
        with pytest.raises(ValueError, match="n must be None or an integer from 1 to 10000"):
            ask(n)
    assert not hasattr(optimizer, "bounds_")


X = np.linspace(0.0, 1.0, 9)[:, None]


def regressor(**parameters):
    return skgpb.OnlineGaussianProcessRegressor(RBF(0.3), **parameters)


def process():
    window = WindowMean(scale=0.1)
    return ConditionalMeanProcess(RBF(0.3), window).condition_query(X, np.sin(X[:, 0]))


def arms():
    return skgpb.GPTSOptimizer(RBF(0.3), arms=X, alpha=0.1)


def search(**parameters):
    return BanditSearchCV(Ridge(), {"alpha": uniform(0, 1)}, cv=2, **parameters).fit(X, X[:, 0])


def simulated(**sizes):
    problem = gp_draw("se", random_state=0)
    return simulate({"UCB": skgpb.GPUCBOptimizer(arms=problem.arms)}, problem, **sizes)


#: Functions that make something of a given size, by the name of the size.
MAKERS = {
    "n_samples of a regressor": lambda n: regressor().fit(X, X[:, 0]).sample_y(X, n),
    "n_samples before any fit": lambda n: regressor().sample_y(X, n),
    "n_samples of a tree": lambda n: skgpb.GPOOOptimizer().fit(X, X[:, 0]).sample_y(X, n),
    "n_samples of f": lambda n: process().sample_y(X, n),
    "n_samples of g": lambda n: process().sample_query(X, n),
    "n_targets": lambda n: regressor(n_targets=n).predict(X),
    "n_landmarks": lambda n: (
        ConditionalMean(
            RBF(), np.zeros((20_000, 1)), np.zeros((20_000, 1)), n_landmarks=n
        ).operator_
    ),
    "n_iter": lambda n: search(n_iter=n),
    "n_initial": lambda n: search(n_initial=n),
    "batch_size": lambda n: search(batch_size=n),
    "budget": lambda n: bandit_scorer(budget=n),
    "n_repeats": lambda n: bandit_scorer(n_repeats=n),
    "max_active": lambda n: skgpb.GPTreeOptimizer(bounds=[(0, 1)], max_active=n).ask(),
    "max_active of contexts": lambda n: skgpb.ContextualGPTreeOptimizer(
        context_bounds=[(0, 1)], bounds=[(0, 1)], max_active=n
    ).ask(context=0.5),
    "max_active of balls": lambda n: skgpb.GPZoomingOptimizer(bounds=[(0, 1)], max_active=n).ask(),
    "n_arms": lambda n: AdvertisingBudget(n_arms=n),
    "n_rounds": lambda n: simulated(n_rounds=n),
    "n_runs": lambda n: simulated(n_rounds=1, n_runs=n),
    "n_jobs": lambda n: skgpb.StoOOOptimizer(bounds=[(0, 1)]).run(len, budget=2, n_jobs=n),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", MAKERS)
@pytest.mark.parametrize("size", [10**9, 10**30])
def test_what_is_made_of_a_size_is_refused_before_it_is_made(case, size):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=rf"{case.split()[0]}\b"):
            MAKERS[case](size)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [-1, 2.5, True, "3", None])
@pytest.mark.parametrize("case", [case for case in MAKERS if case.startswith("n_samples")])
def test_a_number_of_draws_is_a_number(case, size):
    with pytest.raises(ValueError, match=r"n_samples must be an integer from 0 to \d+, got"):
        MAKERS[case](size)


def test_many_draws_at_few_points_are_drawn():
    assert regressor().sample_y(X[:1], 300_000).shape == (1, 300_000)


def test_draws_at_many_points_are_limited_by_all_that_is_drawn():
    with pytest.raises(ValueError, match="n_samples must be an integer from 0 to 1000000, got"):
        joint_draws(np.zeros(100), np.eye(100), 1_000_001, 0)

"""Arrays, lists and kernels that their owner changes later: a run has its own."""

from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from cases import PAIRED, POINTS
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Kernel
from trajectories import NAMES, game, numbers_of

from skgpb import (
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPUCBOptimizer,
    KGOptimizer,
    StoOOOptimizer,
)
from skgpb.domains import Box, Districts, Steps
from skgpb.surrogate import OnlineGaussianProcessRegressor
from skgpb.testing import count_lines, interrupt_at

KINDS = [name for name in NAMES if not name.startswith(("even", "indirect-even"))]


ONE_OF_EACH = [
    "uneven:GPOO-center", "uneven:GPOO-pool", "uneven:GP-UCB", "uneven:GP-UCB-box", "uneven:KG",
    "uneven:zooming", "uneven:StoOO", "contexts:UCB-box-in-contexts", "contextual:tree",
    "indirect:CMES", "campaigns:three",
]  # fmt: skip
MORE = [pytest.param(name, marks=pytest.mark.slow) for name in KINDS if name not in ONE_OF_EACH]


def spoil(value):
    """Change a value, and all that it holds, in place."""
    if isinstance(value, pd.DataFrame):
        value.iloc[:, 0] = 0.25
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = value[::-1] * 0.5 + 0.25
    elif isinstance(value, list):
        for each in value:
            spoil(each)
        value.reverse()
    elif isinstance(value, tuple):
        for each in value:
            spoil(each)
    elif isinstance(value, dict):
        for each in value.values():
            spoil(each)
        value.clear()
    elif isinstance(value, Kernel):
        for each in value.get_params(deep=False).values():
            spoil(each)
        if isinstance(value, RBF):
            value.length_scale = 17.0
    elif type(value).__module__.startswith("skgpb") and hasattr(value, "__dict__"):
        for name, each in vars(value).items():
            if not name.endswith("_lock"):
                spoil(each)


def of_its_own(name):
    """A run of a case whose parameters belong to nobody else, and what it is asked and answers."""
    run, answer, asked, _ = game(name)
    fitted = hasattr(run, "bounds_") and name.startswith("indirect")
    own = type(run)(**copy.deepcopy(run.get_params(deep=False)))
    given = {"X": POINTS.copy(), "queries": PAIRED.copy()} if fitted else {}
    if fitted:
        own.fit(**given)
    return own, answer, asked, given


def looks_like(run, other, asked):
    for field in run.history_.dtype.names:
        assert_array_equal(run.history_[field], other.history_[field])
    queries = [copy.deepcopy(each).ask(**asked) for each in (run, other)]
    assert_allclose(*map(numbers_of, queries), rtol=1e-9, atol=1e-9)
    best = [each.recommend(**asked) for each in (run, other)]
    assert_allclose(*map(numbers_of, best), rtol=1e-9, atol=1e-9)


TWELVE = np.random.default_rng(2).random((12, 2))
KIND = ["a", "b", "c"]
#: Kinds of domains that are not among the cases.
OTHERS = {
    "named": lambda: GPUCBOptimizer(
        bounds={"x": (0.0, 1.0), "n": [1, 2, 5], "kind": list(KIND), "s": Steps(0, 1, 0.25)},
        n_candidates=40,
    ),
    "constrained": lambda: GPUCBOptimizer(
        bounds=Box({"x": (0.0, 1.0), "y": (0.0, 1.0)}, ["x + y <= 1"]), n_candidates=40
    ),
    "cells of settings": lambda: GPOOOptimizer(bounds={"x": (0.0, 1.0), "kind": list(KIND)}),
    "districts": lambda: KGOptimizer(
        queries=Districts(TWELVE.copy(), list(np.repeat(range(4), 3))),
        targets=Districts(TWELVE.copy(), list(np.repeat(range(6), 2))),
    ),
    "rows": lambda: KGOptimizer(
        RBF(0.3), queries=TWELVE.copy(), targets=TWELVE.copy(), alpha=np.full(12, 0.1)
    ),
    "lists": lambda: GPUCBOptimizer(RBF(0.3), arms=TWELVE.tolist(), alpha=[0.1] * 12),
    "frame": lambda: GPUCBOptimizer(RBF(0.3), arms=pd.DataFrame(TWELVE), alpha=0.1),
    "pool in a list": lambda: StoOOOptimizer(pool=TWELVE.tolist(), variation=[1.0, 0.5]),
    "integral over a pool": lambda: GPOOOptimizer(pool=TWELVE.copy(), feedback="integral"),
    "contexts with names": lambda: ContextualGPTreeOptimizer(
        bounds={"x": (0.0, 1.0)}, context_bounds={"c": (0.0, 1.0)}, horizon=20
    ),
}


def spread(query):
    """Answers of a kind that has no case."""
    return float(np.sin(5.0 * query.points).mean())


@pytest.mark.one_in(9)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*ONE_OF_EACH, *OTHERS, *MORE])
def test_a_run_does_not_depend_on_what_becomes_of_its_parameters(name, tmp_path):
    if name in OTHERS:
        run, answer, given = OTHERS[name]().set_params(random_state=0), spread, {}
        asked = {"context": {"c": 0.5}} if run._contexts else {}
    else:
        run, answer, asked, given = of_its_own(name)
    for _ in range(4):
        query = run.ask(**asked)
        run.tell(query, answer(query))
    whole = copy.deepcopy(run)
    for value in (run.get_params(deep=False), given):
        spoil(value)
    looks_like(run, whole, asked)
    functions = functions_of(whole)
    run.save(tmp_path / "run", omit=functions)
    looks_like(type(run).load(tmp_path / "run", **functions), whole, asked)
    looks_like(run._repeat_events(run._events), whole, asked)
    query = run.ask(**asked)
    twin = copy.deepcopy(run)
    lines = count_lines(lambda: twin.tell(query, answer(query)))
    assert interrupt_at(lambda: run.tell(query, answer(query)), lines // 3)
    whole.ask(**asked)
    looks_like(run, whole, asked)
    for each in (run, whole):
        each.tell(query, answer(query))
    looks_like(run, whole, asked)


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ONE_OF_EACH)
@pytest.mark.parametrize("several", [False, True])
def test_what_is_told_may_be_in_arrays_that_are_used_again(name, several):
    run, answer, asked, _ = game(name)
    query = run.ask(**asked)
    run.tell(query, answer(query))
    whole = copy.deepcopy(run)
    row = query.a if hasattr(query, "a") else query.points[0]
    rows, rewards = np.array([row] * 2), np.array([answer(query)] * 2)
    noise = np.full(rewards.shape, 0.05)
    told = (rows, rewards, noise) if several else (rows[0], rewards[0], noise[0])
    whole.tell(*copy.deepcopy(told))
    run.tell(*told)
    for array in (rows, rewards, noise):
        array[...] = 0.125
    looks_like(run, whole, asked)
    for each in (run, whole):
        each._dirty = len(each.run_.events)  # both are rebuilt from their logs
    looks_like(run, whole, asked)


@pytest.mark.parametrize("fitted", [False, True])
def test_models_have_their_own_data(fitted):
    X, y, alpha = TWELVE.copy(), np.sin(TWELVE[:, 0]), np.full(12, 0.1)
    models = [OnlineGaussianProcessRegressor(RBF(0.4), optimizer=None) for _ in range(2)]
    for model, copied in zip(models, (False, True), strict=True):
        data = [each.copy() for each in (X, y, alpha)] if copied else [X, y, alpha]
        if fitted:
            model.set_params(alpha=data[2]).fit(*data[:2])
        else:
            model.partial_fit(*data)
    for each in (X, y, alpha):
        spoil(each)
    for model in models:
        model.partial_fit([[0.5, 0.5]], [1.0], alpha=0.1)
    assert_array_equal(*(model.predict(TWELVE, return_std=True) for model in models))


def test_a_context_may_be_in_an_array_that_is_used_again():
    run = GPUCBOptimizer(bounds=[(0, 1)], context_bounds=[(0, 1)], n_candidates=20, random_state=0)
    buffer = np.array([0.25])
    query = run.ask(context=buffer)
    buffer[0] = 0.75
    assert query.context.tolist() == [0.25]
    assert run.ask(context=[0.25]) == query != run.ask(context=buffer)


def test_a_pool_is_copied_once():
    """The user's array, and one of the run: cells have the rows of that."""
    pool = np.random.default_rng(0).random((50_000, 2))
    tracemalloc.start()
    run = StoOOOptimizer(pool=pool, min_members=1000, variation=(1.0, 0.5)).start()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not np.shares_memory(run.domain_.cell(0).points, pool)
    assert used < 2.2 * pool.nbytes


def test_what_cannot_be_rebuilt_can_be_looked_at_and_fitted_again():
    """A function of the user's that answers otherwise in the repair than in the run."""
    works = True

    def beta(t):
        if not works:
            raise RuntimeError("no longer")
        return 4.0

    run = GPOOOptimizer(RBF(0.2), bounds=[(0, 1)], alpha=0.01, beta=beta, random_state=0)
    run.run(spread, 5)
    before, events, query = run.history_, run._events, run.ask()
    works = False
    with pytest.raises(RuntimeError, match="no longer"):
        run.tell(query, 0.5)
    with pytest.raises(RuntimeError, match="no longer") as caught:
        run.recommend()
    assert "fit" in caught.value.__notes__[0]
    assert_array_equal(run.history_, before)
    assert run._events[: len(events)] == events
    assert len(run.failed_) == 0
    run.set_params(beta=4.0)
    assert len(run.fit(TWELVE[:, :1], TWELVE[:, 1]).history_) == 0
    run.run(spread, 2)


def functions_of(run):
    """Return the parameters that cannot be written to a file."""
    return {n: v for n, v in run.get_params(deep=False).items() if _has_functions(v)}


def _has_functions(value):
    if isinstance(value, Kernel):
        return any(map(_has_functions, value.get_params(deep=False).values()))
    return callable(value)

"""Arrays, lists and kernels that their owner changes later: a run has its own."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from cases import PAIRED, POINTS
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Kernel
from trajectories import NAMES, game, numbers_of

from skgpb._interrupted import interrupted_at, lines_of

KINDS = [name for name in NAMES if not name.startswith(("even", "indirect-even"))]


def spoil(value):
    """Change a value, and all that it holds, in place."""
    if isinstance(value, np.ndarray):
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_a_run_does_not_depend_on_what_becomes_of_its_parameters(name, tmp_path):
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
    looks_like(run.repeated(run.events_), whole, asked)
    query = run.ask(**asked)
    twin = copy.deepcopy(run)
    lines = lines_of(lambda: twin.tell(query, answer(query)))
    assert interrupted_at(lambda: run.tell(query, answer(query)), lines // 3)
    whole.ask(**asked)
    looks_like(run, whole, asked)
    for each in (run, whole):
        each.tell(query, answer(query))
    looks_like(run, whole, asked)


def functions_of(run):
    """Return the parameters that cannot be written to a file."""
    return {n: v for n, v in run.get_params(deep=False).items() if _has_functions(v)}


def _has_functions(value):
    if isinstance(value, Kernel):
        return any(map(_has_functions, value.get_params(deep=False).values()))
    return callable(value)

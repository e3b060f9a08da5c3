"""Functions of x as objectives of ``run``."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cases import make, make_indirect
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer, of_x
from skgpb.exceptions import EvaluationWarning


def hill(x):
    assert x.shape == (2,)
    x -= [0.4, 1.2]  # x is its own
    return float(np.exp(-(x @ x)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["GP-UCB", "EI", "GPOO-center", "zooming", "KG-points"])
def test_a_function_of_a_point_is_evaluated_there(name):
    by_query, by_x = make(name), make(name)
    one = by_query.run(lambda query: hill(np.array(query.points[0])), 6)
    two = by_x.run(of_x(hill), 6)
    np.testing.assert_array_equal(one.history["descriptor"], two.history["descriptor"])
    np.testing.assert_array_equal(one.history["reward"], two.history["reward"])


def test_of_a_cell_the_average_is_taken():
    cell = make("GPOO-average").ask()
    assert of_x(hill)(cell) == np.mean([hill(np.array(x)) for x in cell.points])
    question = make_indirect("CMES").ask()
    assert of_x(lambda a: a[0])(question) == question.a[0]


def test_where_sides_have_names_x_is_the_list_of_values():
    opt = GPUCBOptimizer(bounds={"n": range(1, 9), "kind": ["a", "b"]}, random_state=0)
    query = opt.ask()
    assert of_x(lambda x: x)(query) == [query.params["n"], query.params["kind"]]


def test_failures_and_mistakes_are_said():
    with pytest.warns(EvaluationWarning, match="of 4 evaluations failed"):
        result = make("EI").run(of_x(lambda x: None if x[0] < 0 else 1.0), 4)
    assert 0 < result.nfail == 4 - len(result.history)
    with pytest.raises(TypeError, match="function must be callable, got 3"):
        of_x(3)
    assert pickle.loads(pickle.dumps(of_x(hill))).function is hill
    assert repr(of_x(hill)).startswith("of_x(<function hill")


@pytest.mark.parametrize("function", [lambda x: x[0], lambda x: x + 1, lambda x: x.sum()])
def test_a_function_of_x_as_objective_learns_how_it_is_given(function):
    optimizer = GPUCBOptimizer(RBF(0.2), bounds=[(0, 1)], alpha=0.01, random_state=0)
    with pytest.raises((TypeError, AttributeError)) as raised:
        optimizer.run(function, 3, on_error="raise")
    assert "of_x(function)" in "".join(raised.value.__notes__)
    with pytest.raises(RuntimeError, match=r"of_x\(function\)"):
        optimizer.run(function, 20)


def test_other_errors_of_an_objective_say_nothing_of_x():
    def fails(query):
        raise TypeError("the lamp is off")

    optimizer = GPUCBOptimizer(RBF(0.2), bounds=[(0, 1)], alpha=0.01, random_state=0)
    with pytest.raises(RuntimeError, match="the lamp is off;") as raised:
        optimizer.run(fails, 20)
    assert "of_x" not in str(raised.value)

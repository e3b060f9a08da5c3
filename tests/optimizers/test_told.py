"""Data that exist are told in one call, and what is wrong with them names the way."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform
from sklearn.base import BaseEstimator

import skgpb.optimizers
from skgpb import CMESOptimizer, CMETSOptimizer, EIOptimizer, GPOOOptimizer, GPUCBOptimizer
from skgpb.optimizers.combinatorial import CombinatorialBandit

OPTIMIZERS = [
    value
    for name in skgpb.optimizers.__all__
    if inspect.isclass(value := getattr(skgpb.optimizers, name))
    and issubclass(value, BaseEstimator)
    and not inspect.isabstract(value)
]
#: Optimizers over indirect queries are told alike, and those over arms; some stand for the others.
ALIKE = {"IndirectEIOptimizer", "IndirectPIOptimizer", "IndirectMESOptimizer", "MESOptimizer"}
ALIKE |= {"IGPUCBOptimizer", "URGPUCBOptimizer", "PIOptimizer", "ESTOptimizer"}
TAKING_POINTS = [
    pytest.param(cls, marks=pytest.mark.slow if cls.__name__ in ALIKE else ())
    for cls in OPTIMIZERS
    if cls is not CMETSOptimizer
]
X = np.random.default_rng(0).uniform(size=(7, 2))
Y = X.sum(axis=1)


def made(cls, names=None):
    """An optimizer over the unit square, whose sides may have names."""
    box = [(0.0, 1.0)] * 2 if names is None else dict.fromkeys(names, (0.0, 1.0))
    if "query_bounds" in inspect.signature(cls).parameters:
        return cls(bounds=[(0.0, 1.0)] * 2, query_bounds=box, random_state=0)
    if "n_context" in inspect.signature(cls).parameters:
        parts = [box[:1], box[1:]] if names is None else [{n: (0.0, 1.0)} for n in names]
        return cls(context_bounds=parts[0], bounds=parts[1])
    return cls(bounds=box)


@pytest.mark.parametrize("cls", TAKING_POINTS)
def test_rows_told_at_once_are_points_told_one_by_one(cls):
    one_by_one = made(cls)
    for point, value in zip(X, Y, strict=True):
        one_by_one.tell(point, value)
    expected, history = one_by_one.history_, made(cls).tell(X, Y).history_
    assert_array_equal(history["reward"], Y)
    assert_array_equal(history["descriptor"], expected["descriptor"])
    assert_allclose(history["mean"], expected["mean"])


@pytest.mark.parametrize("cls", [EIOptimizer, GPOOOptimizer, CMESOptimizer])
@pytest.mark.parametrize(
    ("rows", "values"), [(X.tolist(), Y.tolist()), (list(X), tuple(Y))], ids=["numbers", "rows"]
)
def test_lists_of_rows_are_told_as_arrays(cls, rows, values):
    expected, history = (made(cls).tell(*each).history_ for each in ((X, Y), (rows, values)))
    for name in ("reward", "descriptor", "mean"):
        assert_array_equal(history[name], expected[name])


@pytest.mark.parametrize("cls", TAKING_POINTS)
def test_tables_and_dicts_are_told_by_name(cls):
    expected = made(cls).tell(X, Y).history_["descriptor"]
    dicts = [{"north": b, "east": a} for a, b in X]
    told = made(cls, ["east", "north"]).tell(dicts, Y)
    assert_array_equal(told.history_["descriptor"], expected)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X[:, ::-1], columns=["north", "east"])
    told = made(cls, ["east", "north"]).tell(table, pandas.Series(Y, index=range(5, 12)))
    assert_array_equal(told.history_["descriptor"], expected)
    assert_array_equal(told.history_["reward"], Y)


def test_a_number_is_still_the_average_over_points():
    for reward in (0.5, np.array([0.5]), np.array(0.5)):
        opt = GPOOOptimizer(bounds=[(0, 1)] * 2).tell(X, reward)
        assert_array_equal(opt.history_["reward"], [0.5])
    opt = EIOptimizer(bounds=[(0, 1)]).tell([0.1, 0.5, 0.9], [1.0, 2.0, None])
    assert_array_equal(opt.history_["reward"], [1.0, 2.0])
    assert len(opt.failed_) == 1


def test_each_row_may_have_a_noise_variance():
    noise = np.linspace(0.01, 1.0, len(Y))
    one_by_one = EIOptimizer(bounds=[(0, 1)] * 2, random_state=0)
    for point, value, alpha in zip(X, Y, noise, strict=True):
        one_by_one.tell(point, value, alpha)
    at_once = EIOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, Y, noise)
    assert_allclose(at_once.predict(X), one_by_one.predict(X))


def test_rows_are_told_to_campaigns():
    campaign = EIOptimizer(arms=np.arange(5.0)[:, None], alpha=0.1)
    make = [("one", campaign), ("other", campaign)]
    past, rewards = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 2.0]]), np.arange(6.0).reshape(3, 2)
    bandit = CombinatorialBandit(make, 5).tell(past, rewards)
    assert_array_equal(bandit.history_["reward"], rewards)
    assert_array_equal(bandit.history_["descriptor"][:, :2], past)
    assert len(CombinatorialBandit(make, 5).tell(past[0], rewards[0]).history_) == 1


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_what_is_wrong_with_data_names_the_way(cls):
    wide = np.column_stack([X, Y])
    with pytest.raises(ValueError, match=r"tell\(X, y\)|tell\(queries, y\)|fit\(X, y\)"):
        made(cls).tell(wide, Y)
    with pytest.raises(ValueError, match="one number for each of 2 queries"):
        made(cls).tell(X.T, Y)
    opt = made(cls)
    with pytest.raises(ValueError, match=r"X must have one row for each y.*\(2, 7\) and \(7,\)"):
        opt.fit(X.T, Y)
    assert not hasattr(opt, "bounds_")
    if cls is not CMETSOptimizer:
        with pytest.raises(ValueError, match=r"pass bounds=\{name: \(lower, upper\)"):
            made(cls).tell([{"east": 0.5, "north": 0.5}], [1.0])


def test_nothing_is_told_where_one_row_is_wrong():
    opt = EIOptimizer(bounds=[(0, 1)] * 2).tell(X, Y)
    for rows, values in [(np.vstack([X, [2.0, 0.0]]), [*Y, 1.0]), (X, [*Y[:-1], np.nan])]:
        with pytest.raises(ValueError, match=r"outside the bounds|must be finite"):
            opt.tell(rows, values)
        assert len(opt.history_) == len(Y)


def test_an_array_of_values_is_told_from_coordinates():
    opt = GPUCBOptimizer(bounds={"salt": loguniform(1e-4, 1e-1), "heat": (20.0, 90.0)})
    for method in (opt.tell, opt.fit):
        with pytest.raises(ValueError, match=r"by name, as dicts or .*\['salt', 'heat'\]"):
            method([[1e-2, 100.0], [1e-3, 50.0]], [1.0, 2.0])
    opt.tell([{"salt": 1e-2, "heat": 30.0}, {"salt": 1e-3, "heat": 50.0}], [1.0, 2.0])
    assert_allclose(opt.history_["descriptor"][0, :2], [2 / 3, 30.0])


def test_columns_in_another_order_than_fitted_are_refused():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["east", "north"])
    opt = EIOptimizer(bounds=[(0, 1)] * 2).fit(table, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        opt.tell(table[["north", "east"]], Y)
    assert len(opt.tell(table, Y).history_) == len(Y)

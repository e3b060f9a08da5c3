"""Regrets equal their definitions and refuse anything that is not a finite number."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb.problems import gpoo_function, metrics
from skgpb.problems.metrics import (
    aggregated_regret,
    contextual_regret,
    cumulative_regret,
    instant_regret,
    simple_regret,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("regret", [simple_regret, aggregated_regret])
def test_gap_of_scalars_is_a_float(regret):
    value = regret(2.0, 0.5)
    assert isinstance(value, float)
    assert value == 1.5
    assert isinstance(regret(np.float64(2.0), np.int64(1)), float)


@pytest.mark.parametrize("regret", [simple_regret, aggregated_regret])
def test_gap_broadcasts(regret, rng):
    values = rng.normal(size=(3, 4))
    optima = rng.normal(size=4)
    np.testing.assert_array_equal(regret(optima, values), optima - values)
    assert regret(1.0, values).shape == (3, 4)


@pytest.mark.parametrize("regret", [simple_regret, aggregated_regret])
def test_negative_regret_is_not_clipped(regret):
    assert regret(1.0, 1.25) == -0.25
    np.testing.assert_array_equal(regret(1.0, [0.5, 2.0]), [0.5, -1.0])


def test_cumulative_regret_is_the_running_sum_of_simple_regrets(rng):
    values = rng.normal(size=(5, 30))
    expected = [[np.sum(1.5 - run[: t + 1]) for t in range(30)] for run in values]
    np.testing.assert_allclose(cumulative_regret(1.5, values), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(
        cumulative_regret(1.5, values[2]), cumulative_regret(1.5, values)[2]
    )


def test_cumulative_regret_may_fall():
    np.testing.assert_array_equal(cumulative_regret(1.0, [0.0, 3.0, 1.0]), [1.0, -1.0, -1.0])


def test_cumulative_regret_takes_one_optimum_per_round():
    np.testing.assert_array_equal(cumulative_regret([1.0, 2.0], [0.5, 0.5]), [0.5, 2.0])


def test_instant_regret_follows_the_best_query_so_far(rng):
    values = rng.normal(size=(4, 20))
    expected = [[0.7 - max(run[: t + 1]) for t in range(20)] for run in values]
    np.testing.assert_array_equal(instant_regret(0.7, values), expected)
    assert (np.diff(instant_regret(0.7, values), axis=-1) <= 0).all()


def test_contextual_regret_sums_gaps_to_each_contexts_own_optimum(rng):
    optima, values = rng.normal(size=(2, 3, 10))
    np.testing.assert_allclose(
        contextual_regret(optima, values), np.cumsum(optima - values, axis=1), rtol=1e-13
    )
    constant = np.full(10, 1.25)
    np.testing.assert_array_equal(
        contextual_regret(constant, values[0]), cumulative_regret(1.25, values[0])
    )


@pytest.mark.parametrize("optima", [1.0, [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_contextual_regret_wants_one_optimum_per_round(optima):
    with pytest.raises(ValueError, match=r"same shape|one entry per round"):
        contextual_regret(optima, [0.0, 1.0])


@pytest.mark.parametrize("name", metrics.__all__)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_must_be_finite(name, bad):
    regret = getattr(metrics, name)
    with pytest.raises(ValueError, match="finite"):
        regret([1.0, 1.0], [0.5, bad])
    with pytest.raises(ValueError, match="finite"):
        regret([1.0, bad], [0.5, 0.5])


@pytest.mark.parametrize("name", metrics.__all__)
@pytest.mark.parametrize("bad", [None, "1.0", 1j, [None, 1.0], ["a", "b"], object()])
def test_values_must_be_real_numbers(name, bad):
    regret = getattr(metrics, name)
    with pytest.raises(TypeError, match="real numbers"):
        regret([1.0, 1.0], bad)
    with pytest.raises(TypeError, match="real numbers"):
        regret(bad, [1.0, 1.0])


@pytest.mark.parametrize("regret", [simple_regret, aggregated_regret, cumulative_regret])
def test_shapes_that_do_not_fit_are_named(regret):
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        regret([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("regret", [cumulative_regret, instant_regret])
def test_a_single_number_is_not_a_run(regret):
    with pytest.raises(ValueError, match="one entry per round"):
        regret(1.0, 0.5)


def test_arguments_are_not_modified(rng):
    values = rng.normal(size=6)
    before = values.copy()
    for name in metrics.__all__:
        getattr(metrics, name)(np.ones(6), values)
    np.testing.assert_array_equal(values, before)


def test_aggregated_regret_bounds_the_regret_of_the_best_representative():
    # The remark after Definition 2: min over the representatives <= regret of their average.
    problem = gpoo_function(1)
    for lower in np.linspace(0.0, 0.9, 10):
        points = lower + 0.1 * (np.arange(10)[:, np.newaxis] + 0.5) / 10
        best = simple_regret(problem.optimum, problem.f(points)).min()
        assert best <= aggregated_regret(problem.optimum, problem.average(points))

"""Units of answers: exact as far as doubles are, with a word where too few digits are left."""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import OnlineGaussianProcessRegressor
from skgpb.exceptions import NumericalWarning
from skgpb.kernels import WindowMean
from skgpb.surrogate import ConditionalMeanProcess
from skgpb.surrogate.units import units_of


def exact(values):
    """Mean, and variance in units of the largest difference squared, in rational numbers."""
    rational = [Fraction(value) for value in values.tolist()]
    mean = sum(rational) / len(rational)
    width = max(abs(value - rational[0]) for value in rational)
    variance = sum(((value - mean) / width) ** 2 for value in rational) / len(rational)
    return mean, width * Fraction(sqrt(variance))


@pytest.mark.parametrize("factor", [1e-151, 1e-80, 1e-9, 1.0, 1e9, 1e80, 1e149])
@pytest.mark.parametrize("offset", [0.0, 1.0, -1e3, 1e7, -1e10])
def test_center_and_spread_are_those_of_rational_numbers(factor, offset):
    """The spread to ten digits, and the centre to as many of the spread, or as doubles have."""
    values = factor * (np.random.default_rng(0).normal(size=9) + offset)
    mean, spread = exact(values)
    center, scale = units_of(values)
    assert scale == pytest.approx(float(spread), rel=1e-10)
    assert abs(float(Fraction(center) - mean)) <= max(1e-10 * scale, np.spacing(abs(center)))


@pytest.mark.parametrize(
    ("values", "noise", "scale"),
    [
        ([5.0, 5.0], None, 5.0),
        ([-5.0], 0.25, 0.25),
        ([0.1] * 3, None, 0.1),
        ([0.0, 0.0], None, 1.0),
        ([-1e-200, -1e-200], None, 1.0),
        ([1.0, 3.0], 7.0, 7.0),
        ([1.0, 3.0], 0.5, 1.0),
    ],
)
def test_the_unit_is_at_least_the_noise_or_the_size_of_answers_that_are_the_same(
    values, noise, scale
):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert units_of(np.array(values), noise) == (pytest.approx(np.mean(values)), scale)


@pytest.mark.parametrize("noise", [None, 0.1])
@pytest.mark.parametrize(
    ("offset", "factor", "said"),
    [
        (
            1e15,
            1.0,
            "answers of up to 1e.15 differ by .* fewer than four of sixteen digits",
        ),
        (-1e13, 1.0, "answers of up to 1e.13"),
        (0.0, 1e-160, "squares of differences below 1e-153 underflow, so nothing can be learned"),
        (1e10, 1.0, None),
        (0.0, 1e-150, None),
    ],
)
def test_too_few_digits_are_told(offset, factor, noise, said):
    values = offset + factor * np.sin(np.arange(9.0))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        units_of(values, noise)
    assert len(seen) == (said is not None)
    for each in seen:
        assert each.category is NumericalWarning
        with pytest.warns(NumericalWarning, match=said):
            units_of(values, noise)


@pytest.mark.parametrize("value", [1.7e308, -1e151])
def test_what_cannot_be_squared_is_no_answer(value):
    """Nothing has changed where it is refused."""
    regressor = OnlineGaussianProcessRegressor(alpha=0.1).fit([[0.0], [1.0]], [0.5, 0.7])
    process = ConditionalMeanProcess(conditional=WindowMean(RBF(0.2), 0.1), alpha=0.1)
    process.condition_point([[0.2]], [0.5])
    for learner, call in (
        (regressor, lambda: regressor.fit([[0.0]], [value])),
        (regressor, lambda: regressor.partial_fit([[0.0]], [value])),
        (process, lambda: process.condition_query([[0.3]], [value])),
        (process, lambda: process.condition_point([[0.3]], [value])),
    ):
        before = learner.predict([[0.3]], return_std=True)
        with pytest.raises(ValueError, match=r"must be within -1e\+150 and 1e\+150"):
            call()
        np.testing.assert_array_equal(learner.predict([[0.3]], return_std=True), before)


def test_two_answers_that_are_equal_but_for_rounding_are_no_trouble():
    """As those to points on either side of a top; of four it is no chance."""
    two = -((np.array([0.05, 0.55]) - 0.3) ** 2)
    assert two[0] != two[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert units_of(two) == (two.mean(), 0.0625)
    with pytest.warns(NumericalWarning, match="four of sixteen digits"):
        units_of(1e16 + np.array([0.0, 2.0, 4.0, 2.0]))

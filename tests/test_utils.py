"""Validation: what counts as an array of numbers."""

import numpy as np
import pytest
from sklearn.utils.validation import check_array

from skgpb.utils import check_numbers

PLAIN = [[1, 2]], [(0.5, 1.5)], ((1, 2),), np.eye(2), np.array([[1, 2]], dtype=np.int8)


@pytest.mark.parametrize("values", PLAIN, ids=repr)
def test_plain_numbers_are_taken_as_scikit_learn_takes_them(values):
    found, expected = check_numbers(values, "X"), check_array(values, dtype=np.float64)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_an_array_of_floats_is_not_copied():
    values = np.ones((3, 2))
    assert check_numbers(values, "X") is values
    assert check_numbers(values[0], "X", ensure_2d=False).base is values


@pytest.mark.parametrize(
    "values",
    [
        [],
        [[]],
        [1.0, 2.0],
        1.0,
        np.ones((2, 2, 2)),
        [[np.nan]],
        [[np.inf]],
        [["a"]],
        [[1j]],
        [[1e999]],
    ],
    ids=repr,
)
def test_anything_else_is_refused_by_name(values):
    with pytest.raises(ValueError, match="X must be an array of finite numbers"):
        check_numbers(values, "X")

"""Validation: what counts as an array of numbers."""

import numpy as np
import pytest
from sklearn.utils.validation import check_array

from skgpb.utils.validation import check_bounds, check_inside, check_numbers

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


@pytest.mark.parametrize(
    "bounds", [([0, 0], [1, 2]), ([0, 0, 0], [1, 2, 3]), np.array([[0.0, 0.0], [1.0, 1.0]])]
)
def test_transposed_bounds_are_told_so(bounds):
    words = r"bounds must .*Is it transposed\? Pass np.transpose\(bounds\)"
    with pytest.raises(ValueError, match=words) as error:
        check_bounds(bounds)
    assert "np.float64" not in str(error.value)
    assert check_bounds(np.transpose(bounds)).shape == (len(bounds[0]), 2)
    with pytest.raises(ValueError, match=r"lower=3\.0, upper=1\.0$"):
        check_bounds([(3, 1), (0, 1)])


def test_a_point_outside_is_named_by_its_row_and_rounding_forgiven():
    box = np.array([[0.0, 1e6], [-1.0, 1.0]])
    inside = check_inside(np.array([[-1e-4, 1.0 + 1e-12]]), box)
    assert inside.tolist() == [[0.0, 1.0]]
    with pytest.raises(
        ValueError, match=r"row 1 of 2, counted from 0: point .* outside the bounds"
    ):
        check_inside(np.array([[0.0, 0.0], [-1.0, 0.0]]), box)

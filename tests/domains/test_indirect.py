"""Rows that can be asked about."""

from __future__ import annotations

import numpy as np
import pytest

from skgpb.domains.indirect import QuerySet
from skgpb.kernels import WindowMean


@pytest.mark.parametrize("units", [[1.0, 1.0, 1.0], [1e3, 1e-3, 1.0]])
def test_of_rows_that_tie_the_one_nearest_to_the_middle_is_taken_in_any_units(units):
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.random((30, 3))
        rows[:, 2] = 0.5
        rows[[0, 1], :2] = [[0.0, 0.0], [1.0, 1.0]]  # a box of side 1
        some = rng.choice(30, size=7, replace=False)
        away = np.linalg.norm(rows[some] - rows.mean(axis=0), axis=1)
        queries = QuerySet(5.0 + rows * units, WindowMean(scale=0.1), None)
        assert queries.most_central(some) == some[away.argmin()]
        assert queries.most_central(some[:1]) == some[0]

"""skops stores what the library fits, as it stores scikit-learn's estimators."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, INDIRECT, answer, answer_indirect, make, make_indirect, play
from numpy.testing import assert_array_equal
from searches import X, Y, search

from skgpb import OnlineGaussianProcessRegressor

sio = pytest.importorskip("skops.io")

#: One of each kind of domain: cells of a box and of rows, balls, points, arms, indirect queries.
FEW = {"GPOO-average", "GPOO-pool", "zooming", "GP-UCB-box", "GP-UCB", "CMES"}
assert {*CASES, *INDIRECT} >= FEW


def stored(estimator):
    data = sio.dumps(estimator)
    return sio.loads(data, trusted=sio.get_untrusted_types(data=data))


def test_the_regressor_predicts_and_learns_as_before():
    X = np.random.default_rng(0).uniform(size=(20, 2))
    regressor = OnlineGaussianProcessRegressor(alpha=0.01).fit(X, X.sum(axis=1))
    copied = stored(regressor)
    for each in (regressor, copied):
        each.partial_fit(X[:3], [0.0, 1.0, 2.0])  # merged with the first rows
    assert copied.L_.shape == (20, 20)
    assert_array_equal(copied.predict(X), regressor.predict(X))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in FEW else pytest.mark.slow) for n in [*CASES, *INDIRECT]],
)
def test_a_search_goes_on_as_before(name):
    made, told = (make, answer) if name in CASES else (make_indirect, answer_indirect)
    optimizer = made(name)
    play(optimizer, 6, told)
    copied = stored(optimizer)
    for each in (optimizer, copied):
        play(each, 3, told)
    assert len(copied.history_) == 9
    assert repr(copied.history_) == repr(optimizer.history_)


def test_a_search_of_hyperparameters_is_stored():
    fitted = search(n_iter=4).fit(X, Y)
    assert_array_equal(stored(fitted).predict(X), fitted.predict(X))

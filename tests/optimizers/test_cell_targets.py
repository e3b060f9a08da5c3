"""Indirect queries that search for the best cell, or the best of some points."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb import CMESOptimizer
from skgpb.domains import Cells, Region
from skgpb.kernels import PolicyMean, WindowMean

T = np.linspace(0, 1, 801)
A = np.linspace(0, 1, 21)[:, None]
SETTINGS = {"kernel": 0.5 * RBF(0.06), "conditional": WindowMean(scale=0.05), "queries": A}
SETTINGS |= {"bounds": [(0, 1)], "alpha": 1e-4, "n_points": 200, "random_state": 0}


def f(x):
    """A spike, and a hill that is lower but wider."""
    return 1.3 * np.exp(-(((x - 0.75) / 0.06) ** 2)) + np.exp(-(((x - 0.3) / 0.14) ** 2))


def answer(query):
    share = np.exp(-0.5 * ((T - query.a[0]) / 0.05) ** 2)
    return float(share @ f(T) / share.sum())


def test_the_best_cell_is_found_where_the_best_point_is_elsewhere():
    cells = CMESOptimizer(**SETTINGS, targets=Cells(0.3)).run(answer, budget=15)
    rows = {"targets": [[0.2], [0.3], [0.75]], "information": "joint"}
    points = CMESOptimizer(**SETTINGS, **rows).run(answer, budget=15)
    assert isinstance(cells.x, Region) and abs(cells.x.center[0] - 0.3) < 0.05
    assert abs(cells.fun - f(cells.x.points).mean()) < 0.1 and np.isnan(cells.gap)
    np.testing.assert_array_equal(points.x, [0.75])


def test_of_several_sizes_the_one_with_the_largest_average_is_recommended():
    optimizer = CMESOptimizer(**SETTINGS, targets=Cells([0.3, 0.02]))
    best = optimizer.run(answer, budget=15).x
    assert np.isclose((best.upper - best.lower)[0], 0.02) and abs(best.center[0] - 0.75) < 0.05


def test_information_is_that_about_the_largest_average():
    """By the covariances of every answer with the best cell of every draw."""
    optimizer = CMESOptimizer(**SETTINGS, targets=Cells([0.3, 0.2]), n_max_values=40)
    optimizer.run(answer, budget=3)
    posterior, process, X = optimizer.posterior(), optimizer.surrogate_, optimizer.targets_.points
    each = 10
    n = len(X) // each
    assert n == 20 and each * n == 200
    places = [slice(i * each, (i + 1) * each) for i in range(n)]
    draws = posterior.in_units_of_reward(posterior.draws(40))
    averages = np.array([[draw[place].mean() for place in places] for draw in draws])
    across = process.covariance(X, A)
    told = np.zeros(len(A))
    for draw in averages:
        told += across[places[int(np.argmax(draw))]].mean(axis=0) / 40
    _, std = process.predict_query(A, return_std=True)
    share = told**2 / (std**2 + 1e-4) / averages.max(axis=1).var()
    expected = -0.5 * np.log(1 - np.minimum(share, 1 - 1e-9))
    again = optimizer.posterior()  # whose draws are the same
    np.testing.assert_allclose(optimizer.acquisition(again), expected, rtol=1e-5, atol=1e-9)


def test_a_run_goes_on_from_a_file(tmp_path):
    optimizer = CMESOptimizer(**SETTINGS, targets=Cells(0.3))
    optimizer.run(answer, budget=3)
    optimizer.save(tmp_path / "run")
    again = CMESOptimizer.load(tmp_path / "run")
    assert again.recommend() == optimizer.recommend() and again.ask() == optimizer.ask()
    assert clone(optimizer).targets == Cells(0.3)


POLICIES = PolicyMean(policies=np.eye(3), arms=[[0.1], [0.5], [0.9]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"targets": Cells(0.0)}, "targets must be cells with sides above 0"),
        ({"targets": Cells(2.0)}, "sizes of targets must be at least 0 and no longer"),
        ({"targets": Cells(0.2), "information": "noisy"}, "information must be 'auto' or 'joint'"),
        ({"targets": [[0.1, 0.2]]}, "targets must have 1 columns, got 2"),
        ({"targets": [[1.5]]}, "outside"),
        (
            {"targets": Cells(0.2), "conditional": POLICIES, "bounds": None, "queries": None},
            "targets must be points or None without bounds",
        ),
    ],
)
def test_what_cannot_be_found_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        CMESOptimizer(**SETTINGS | settings).ask()

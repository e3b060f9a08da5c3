"""The knowledge gradient over discs that lie anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from reference.kg import NaiveKG
from sklearn.gaussian_process.kernels import Matern

from skgpb import IDSOptimizer, KGOptimizer
from skgpb.domains import Cells, Discs, Fidelities
from skgpb.kernels import BallAverage, CellAverage

SQUARE = [(0.0, 1.0)] * 2


def f(points):
    return np.sin(5 * points[:, 0]) + np.cos(3 * points[:, 1])


class OverPoints:
    """Means of ``base`` over all points of queries, in full."""

    def __init__(self, base, queries):
        self.base, self.points = base, [query.points for query in queries]

    def __call__(self, X, Y=None):
        mine, theirs = ([self.points[int(i)] for i in Z[:, 0]] for Z in (X, X if Y is None else Y))
        return np.array([[self.base(a, b).mean() for b in theirs] for a in mine])


@pytest.mark.parametrize("given", [False, True])
def test_round_by_round_it_does_what_the_definition_says(given):
    base = 0.8 * Matern(0.4, nu=2.5)
    rows = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.9, 0.9], [0.6, 0.1, 0.8, 0.3]])
    optimizer = KGOptimizer(
        BallAverage(base) if given else base,
        queries=rows if given else Discs([0.1, 0.25]),
        targets=Discs(0.15),
        bounds=SQUARE,
        alpha=0.01,
        n_candidates=20,
    )
    told, rewards = [], []
    for _ in range(3):
        posterior = optimizer.posterior()
        domain, targets = optimizer.domain_, optimizer.targets_
        asked = [*told, *(domain.arm(i) for i in range(len(domain)))]
        wanted = [targets.arm(i) for i in range(len(targets))]
        Q, T = np.split(np.arange(float(len(asked + wanted)))[:, None], [len(asked)])
        kernel = OverPoints(base, asked + wanted)
        naive = NaiveKG(kernel, Q, T, np.ones(len(asked)), np.full(len(asked), 0.01))
        naive.told, naive.rewards = list(range(len(told))), rewards
        mean, _, across = naive.posterior(naive.told, rewards)
        np.testing.assert_allclose(posterior.target_mean, mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.covariance, across[len(told) :], rtol=0, atol=1e-8)
        gains = naive.gains()[len(told) :]
        query = optimizer.ask()
        assert gains[domain.slot_of(query)] >= gains.max() - 1e-8
        told.append(query)
        rewards.append(float(f(query.points).mean()))
        optimizer.tell(query, rewards[-1])


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer])
def test_the_best_disc_is_found_and_lies_inside(cls):
    optimizer = cls(
        queries=Discs([0.1, 0.3]),
        targets=Discs(0.2),
        cost=[2.0, 1.0],
        bounds=SQUARE,
        n_candidates=60,
        n_initial=5,
        random_state=0,
    )
    for _ in range(10):
        query = optimizer.ask()
        assert query.layout.ball and query.points.shape == (19, 2)
        assert any(np.allclose(query.radius, radius, rtol=0, atol=1e-9) for radius in (0.1, 0.3))
        assert (query.lower >= 0).all() and (query.upper <= 1).all()
        optimizer.tell(query, float(f(query.points).mean()))
    best = optimizer.recommend()
    np.testing.assert_allclose(best.radius, 0.2)
    np.testing.assert_allclose(best.center, [np.pi / 10, 0.2], atol=0.05)


def test_ellipses_have_names_and_are_saved(tmp_path):
    optimizer = KGOptimizer(
        queries=Discs({"east": 5.0, "north": 1.0}),
        targets=Discs((2.0, 1.0)),
        bounds={"east": (0.0, 40.0), "north": (0.0, 10.0)},
        n_candidates=40,
        n_initial=2,
        random_state=0,
    )
    for _ in range(3):
        query = optimizer.ask()
        west, east = query.params["east"]
        assert east - west == pytest.approx(10.0)
        optimizer.tell(query, float(np.sin(query.points[:, 0] / 10).mean()))
    optimizer.save(tmp_path / "run.skgpb")
    again = KGOptimizer.load(tmp_path / "run.skgpb")
    assert again.queries == optimizer.queries and again.queries != Cells({"east": 5.0, "north": 1})
    assert again.ask() == optimizer.ask() and again.recommend() == optimizer.recommend()
    assert repr(optimizer.ask()).startswith("Arm(east=(")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"queries": Discs(0.6)}, "radii of queries must be no longer than half of the box"),
        ({"targets": Cells(0.1)}, "targets must be Discs, rows or None"),
        ({"queries": Fidelities(2)}, "queries must not be Fidelities"),
        ({"kernel": CellAverage(Matern())}, "kernel must be over points, or a BallAverage"),
        ({"bounds": {"x": (0, 1), "n": range(4)}}, "queries must not be Discs if bounds has"),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    given = {"queries": Discs(0.2), "targets": Discs(0.1), "bounds": SQUARE, **parameters}
    with pytest.raises(ValueError, match=message):
        KGOptimizer(**given).ask()

"""Queries that move and change their size: slopes of what they are worth, and where they end."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.kg import expected_rise
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpb import IDSOptimizer, KGOptimizer, MESOptimizer, TargetsOptimizer
from skgpb.domains import Cells, SizeRange
from skgpb.domains.moving_cells import MovingCell
from skgpb.kernels import CellAverage, CellIntegral
from skgpb.optimizers._improvement import LEAST
from skgpb.optimizers._posteriors import AmongPosterior
from skgpb.surrogate.moving import Moments, MovingFunctional

TWO_SCALES = ConstantKernel(1.0) * RBF([0.4, 0.5]) + ConstantKernel(0.1) * RBF(0.1)


def by_volume(sides):
    return 0.001 / sides.prod(axis=1)


def price(sides):
    return 0.2 + sides.sum(axis=1)


def f(points):
    return float((np.sin(5 * points[:, 0]) + np.cos(3 * points[:, -1])).mean())


def started(cls=KGOptimizer, sizes=SizeRange(0.05, 0.4), n=8, **settings):  # noqa: B008
    """An optimizer that was told some points, and a mean over three of them."""
    settings = {
        "kernel": TWO_SCALES,
        "targets": Cells(0.15),
        "bounds": [(0.0, 1.0), (0.0, 1.5)],
        "alpha": by_volume,
        "cost": price,
        "n_candidates": 40,
    } | settings
    optimizer = cls(queries=Cells(sizes, improved=True), random_state=0, **settings)
    d = len(settings["bounds"])
    for x in np.random.default_rng(0).random((n, d)):
        optimizer.tell(x, f(x[None]), alpha=0.01)
    three = np.random.default_rng(1).random((3, d))
    return optimizer.tell(three, f(three), alpha=0.01)


def five_points(function, z, h):
    steps = h * np.eye(len(z))
    near, far = (
        np.array([function(z + k * step) - function(z - k * step) for step in steps])
        for k in (1, 2)
    )
    return (8.0 * near - far) / (12.0 * h)


KERNELS = {
    "two scales": TWO_SCALES,
    "average": CellAverage(RBF(0.3) * RBF([0.5, 0.8]) + 0.3, (3, 4)),
    "integral": CellIntegral(TWO_SCALES),
    "matern": CellAverage(Matern(0.4, nu=2.5), 3),
}


@pytest.mark.parametrize("n_pending", [0, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_moments_are_those_of_dense_algebra_and_slopes_those_of_moments(kernel, n_pending):
    optimizer = started(kernel=KERNELS[kernel])
    pending = optimizer.ask(2)[:n_pending]
    gp, cells = optimizer.surrogate_.process_, optimizer.domain_
    moving = MovingCell(cells, 30, resized=True)
    blocks, noises = optimizer._pending_rows(pending)
    first = len(cells)
    functional = MovingFunctional(gp, moving, np.arange(first, first + 5), blocks, noises)
    others = optimizer.targets_.rows[:5]
    z = np.array([0.3, 0.6, 0.5, 0.2])
    found = functional.at(z)
    # The same by one inverse of all covariances.
    k, q, W = gp.kernel, moving.rows(z[None]), np.zeros((9, 11))
    W[:8, :8], W[8, 8:] = np.eye(8), 1.0 / 3.0
    X = np.random.default_rng(0).random((8, 2)), np.random.default_rng(1).random((3, 2))
    X = np.hstack([np.concatenate(X)] * 2)
    known = np.concatenate([X, *blocks]) if blocks else X
    W = np.block([[W, np.zeros((9, n_pending))], [np.zeros((n_pending, 11)), np.eye(n_pending)]])
    noise = np.diag([*[0.01] * 9, *noises])
    C = np.linalg.inv(W @ k(known) @ W.T + noise)
    to_q, to_others = W @ k(known, q)[:, 0], W @ k(known, others)
    y = np.array([f(x[None, :2]) for x in X[:8]] + [f(X[8:, :2])])
    told = np.linalg.inv((W @ k(known) @ W.T + noise)[:9, :9]) @ y
    assert_allclose(found.mean, to_q[:9] @ told, rtol=1e-8)
    assert_allclose(found.var, k(q)[0, 0] - to_q @ C @ to_q, rtol=1e-7)
    assert_allclose(found.covariance, k(q, others)[0] - to_q @ C @ to_others, rtol=1e-7, atol=1e-9)
    # Slopes of a sum of all that was found.
    weights = np.array([1.0, -0.5, 2.0, 0.3, -1.0])

    def value(z):
        at = functional.at(z)
        return 0.7 * at.mean + 1.3 * at.var + at.covariance @ weights

    expected = five_points(value, z, 3e-3)
    functional.at(z)
    assert_allclose(functional.slopes(Moments(0.7, 1.3, weights)), expected, rtol=1e-6, atol=1e-7)


RULES = {
    "kg": (KGOptimizer, {}),
    "kg as a rule": (TargetsOptimizer, {"rule": "kg"}),
    "mes": (MESOptimizer, {}),
    "mes as a rule": (TargetsOptimizer, {"rule": "mes"}),
    "ids": (IDSOptimizer, {}),
    "ids full": (IDSOptimizer, {"information": "full"}),
    "ids query": (IDSOptimizer, {"regret": "query"}),
}


@pytest.mark.parametrize("rule", RULES)
def test_slopes_of_the_rule_with_prices_and_noise_by_the_sides(rule):
    """Against five-point differences of what the rule says of one query."""
    cls, settings = RULES[rule]
    optimizer = started(cls, **settings)
    known = optimizer.posterior()
    moving = MovingCell(optimizer.domain_, 30, resized=True)
    numbers = optimizer._deciding(known, np.arange(8))
    posterior = AmongPosterior(known, numbers)
    tracked = len(optimizer.domain_) + numbers
    functional = MovingFunctional(optimizer.surrogate_.process_, moving, tracked, [], [])

    def value(z):
        sides = moving.sides(z[None])
        posterior.look(functional.at(z), by_volume(sides)[0], price(sides)[0])
        return float(optimizer.acquisition(posterior)[0])

    z = np.array([0.3, 0.6, 0.5, 0.2])
    # Small steps: logarithms of small gains bend sharply.
    expected = five_points(value, z, 1e-4)
    assert value(z) > LEAST
    by = optimizer._worth(posterior)[1]
    found = functional.slopes(Moments(by.mean, by.var, by.covariance))
    at = moving.sides
    found += by.noise * five_points(lambda z: by_volume(at(z[None]))[0], z, 1e-4)
    found += by.cost * five_points(lambda z: price(at(z[None]))[0], z, 1e-4)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def worth(optimizer, query):
    """The gain per cost of a cell, by the definition, over the targets that there are."""
    gp, T = optimizer.surrogate_.process_, optimizer.targets_.rows
    rows = np.concatenate([query.box[None], T])
    mean, C = gp.moments(rows, cov=True)
    sides = (query.upper - query.lower)[None]
    unit = np.sqrt(C[0, 0] + by_volume(sides)[0])
    return np.log(expected_rise(mean[1:], C[0, 1:] / unit)) - np.log(price(sides)[0])


def test_place_and_size_are_the_best_of_a_fine_grid():
    """In one dimension, for some of what may be known; and never worth less than a candidate."""
    for n in (2, 9):
        optimizer = started(
            kernel=RBF(0.2), bounds=[(0.0, 1.0)], targets=Cells(0.1), n=n, n_candidates=60
        )
        query = optimizer.ask()
        candidates = optimizer.acquisition(optimizer.posterior())
        best = worth(optimizer, query)
        assert best >= candidates.max() - 1e-9
        cells = [
            type(query)(-1, np.array([lower, lower + side]), query.counts)
            for side in np.geomspace(0.05, 0.4, 15)
            for lower in np.linspace(0.0, 1.0 - side, 31)
        ]
        grid = max(worth(optimizer, cell) for cell in cells)
        assert best >= grid - 1e-6, n
        side = query.upper - query.lower
        assert 0.05 - 1e-12 <= side <= 0.4 + 1e-12


@pytest.mark.parametrize("rule", ["kg", "ids", "mes", "own"])
def test_whatever_the_rule_it_is_in_the_range_and_inside(rule):
    """And asked again, in a batch, and by a copy; one of fixed size keeps it."""

    def own(posterior):
        return posterior.query_var / posterior.cost

    settings = {"rule": own if rule == "own" else rule, "n_candidates": 30, "n_initial": 0}
    optimizer = started(TargetsOptimizer, **settings)
    for _ in range(2):
        queries = optimizer.ask(2)
        assert queries == optimizer.ask(2)
        assert len(set(queries)) == 2
        for query in queries:
            side = query.upper - query.lower
            assert (query.lower >= 0.0).all()
            assert (query.upper <= [1.0, 1.5]).all()
            assert (side >= 0.05 - 1e-12).all()
            assert (side <= 0.4 + 1e-12).all()
            optimizer.tell(query, f(query.points))
    assert rule == "own" or pickle.loads(pickle.dumps(optimizer)).ask() == optimizer.ask()


def test_squares_stay_squares_and_runs_keep_their_values():
    optimizer = started(sizes=SizeRange(0.05, 0.4, proportional=True))
    asked = [optimizer.ask()]
    optimizer.tell(asked[0], 0.5)
    side = asked[0].upper - asked[0].lower
    assert_allclose(side[0], side[1])
    assert optimizer.domain_.sides_of(asked[0]) is not None
    space = {"x": (0.0, 1.0), "k": range(6)}
    sizes = SizeRange({"x": 0.1, "k": 2}, {"x": 0.4, "k": 2})
    mixed = KGOptimizer(
        queries=Cells(sizes, improved=True),
        targets=Cells(0.1),
        bounds=space,
        n_initial=2,
        n_candidates=20,
        random_state=0,
    )
    for _ in range(4):
        query = mixed.ask()
        assert len(query.params["k"]) == 2
        mixed.tell(query, f(query.points))


def test_wanted_cells_keep_their_size():
    """Every other answer is of a wanted cell, which moves and is not resized."""
    optimizer = KGOptimizer(
        queries=Cells(SizeRange(0.05, 0.4), improved=True),
        targets=Cells(0.15),
        bounds=[(0.0, 1.0)],
        n_initial=4,
        n_candidates=30,
        random_state=0,
    )
    wanted, moved = [], []
    for _ in range(10):
        query = optimizer.ask()
        wanted.append(abs((query.upper - query.lower)[0] - 0.15) < 1e-12)
        moved.append(optimizer.domain_.slot_of(query) == -1)
        optimizer.tell(query, f(query.points))
    assert wanted[:5] == [True] * 5
    assert wanted[6::2] == [True] * 2
    assert sum(moved) >= 3


def test_a_price_that_jumps_is_no_error():
    def in_steps(sides):
        return np.ceil(10.0 * sides.sum(axis=1))

    optimizer = started(cost=in_steps)
    query = optimizer.ask()
    optimizer.tell(query, f(query.points))
    assert optimizer.spent_ == in_steps((query.upper - query.lower)[None])[0]

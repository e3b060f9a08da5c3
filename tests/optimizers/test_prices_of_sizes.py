"""Prices and noise variances of cells of several sizes, one number for each size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer, IDSOptimizer, KGOptimizer, MESOptimizer
from skgpb.domains import Cells

SQUARE = [(0.0, 1.0), (0.0, 2.0)]
SIZES = Cells([(0.05, 0.4), 0.1, 0.2, 0.4])
SIDES = np.array([[0.05, 0.4], [0.1, 0.1], [0.2, 0.2], [0.4, 0.4]])


def by_volume(sides):
    return 0.02 / sides.prod(axis=1)


def price(sides):
    return 0.2 + sides.sum(axis=1)


def made(queries=SIZES, cls=KGOptimizer, **settings):
    settings = {"targets": Cells(0.2), "bounds": SQUARE, "n_candidates": 60} | settings
    return cls(queries=queries, random_state=0, **settings)


def f(points):
    return float((np.sin(5 * points[:, 0]) + np.cos(3 * points[:, 1])).mean())


def sides(query):
    return query.upper - query.lower


def told(optimizer, n=6):
    """The optimizer, and the sides of what it asked."""
    asked = []
    for _ in range(n):
        query = optimizer.ask()
        asked.append(sides(query))
        optimizer.tell(query, f(query.points))
    return optimizer, np.array(asked)


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer, MESOptimizer])
def test_every_size_has_its_price_and_noise(cls):
    """The rule sees the numbers of the rows, and the cost adds them up."""
    optimizer = made(cls=cls, cost=price(SIDES), alpha=by_volume(SIDES), kernel=RBF(0.3))
    optimizer, asked = told(optimizer)
    rows = optimizer.domain_.rows
    posterior, of_rows = optimizer.posterior(), rows[:, 2:] - rows[:, :2]
    assert_allclose(posterior.cost, price(of_rows))
    assert_allclose(posterior.query_noise * posterior.scale**2, by_volume(of_rows))
    assert_allclose(optimizer.spent_, price(asked).sum())
    # A cell that was not among the rows: of one of the sizes, and of another one.
    cell = type(optimizer.ask())(-1, np.array([0.1, 0.1, 0.3, 0.3]), optimizer.domain_.layout)
    wide = type(cell)(-1, np.array([0.1, 0.1, 0.9, 0.42]), cell.layout)
    optimizer.tell(cell, 0.5).tell(wide, 0.5)
    assert_allclose(optimizer.spent_, price(np.array([*asked, [0.2, 0.2]])).sum())
    noises = optimizer.surrogate_.process_.noises()
    assert_allclose(noises[:-1], by_volume(np.array([*asked, [0.2, 0.2]])))
    optimizer.ask(2)


def test_another_price_counts_from_the_next_question():
    optimizer = told(made(cost=price(SIDES)))[0]
    rows = optimizer.domain_.rows
    optimizer.set_params(cost=by_volume(SIDES))
    assert_allclose(optimizer.posterior().cost, by_volume(rows[:, 2:] - rows[:, :2]))
    with pytest.raises(ValueError, match="cost must have one finite number above 0 for each size"):
        optimizer.set_params(cost=[1.0, 2.0])
    assert_allclose(optimizer.posterior().cost, by_volume(rows[:, 2:] - rows[:, :2]))


def test_sizes_in_contexts():
    context = {"context_bounds": [(0.0, 1.0)], "bounds": [(0.0, 1.0)]}
    optimizer = made(Cells([0.1, 0.2, 0.4]), cost=[0.3, 0.4, 0.6], **context)
    for t in range(12):
        query = optimizer.ask(context=[t / 12])
        optimizer.tell(query, f(query.points))
    assert optimizer.spent_ > 0.0
    assert sides(optimizer.recommend(context=[0.5]))[-1] == pytest.approx(0.2)


def test_prices_and_noise_are_numbers():
    with pytest.raises(ValueError, match="cost"):
        made(cost=price).ask()
    with pytest.raises(ValueError, match="alpha"):
        GPUCBOptimizer(bounds=SQUARE, alpha=by_volume).ask()

"""Prices and noise variances of cells that are functions of their sides."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb import GPUCBOptimizer, IDSOptimizer, KGOptimizer, MESOptimizer
from skgpb.domains import Cells, Fidelities

SQUARE = [(0.0, 1.0), (0.0, 2.0)]


def by_volume(sides):
    return 0.02 / sides.prod(axis=1)


def price(sides):
    return 0.2 + sides.sum(axis=1)


SIZES = Cells([(0.05, 0.4), 0.1, 0.2, 0.4])


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
def test_prices_and_noise_are_functions_of_the_sides(cls):
    """The rule sees the values of the functions at the rows, and the cost adds them up."""
    optimizer = made(cls=cls, cost=price, alpha=by_volume, kernel=RBF(0.3))
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


def test_relative_noise_by_a_function_is_learned_in_proportion():
    """Costs by a function give the same run as one number for each size."""
    settings = {"kernel": RBF(0.3), "n_initial": 4}
    one, asked = told(made(relative_noise=by_volume, cost=price, **settings), 9)
    sizes = one.domain_.sizes
    by_size = {"relative_noise": by_volume(sizes), "cost": price(sizes)}
    other, same = told(made(**by_size, **settings), 9)
    assert_allclose(asked, same)
    assert_allclose(one.alpha_, other.alpha_)


def test_runs_are_kept_without_their_functions(tmp_path):
    optimizer = told(made(cost=price, relative_noise=by_volume))[0]
    path = tmp_path / "run.skgpb"
    with pytest.raises(TypeError, match=r"cost is a .*function.*pass omit=\['cost'\] to save"):
        optimizer.save(path)
    assert not path.exists()
    optimizer.save(path, omit=["cost", "relative_noise"])
    with pytest.raises(ValueError, match=r"without \['cost', 'relative_noise'\]"):
        KGOptimizer.load(path)
    again = KGOptimizer.load(path, cost=price, relative_noise=by_volume)
    assert again.queries == optimizer.queries == SIZES != Cells([0.05, 0.4])
    assert len({again.queries, optimizer.queries}) == 1
    assert again.ask() == pickle.loads(pickle.dumps(optimizer)).ask() == optimizer.ask()
    assert clone(optimizer).get_params()["cost"] is price


@pytest.mark.parametrize("given", ["function", "numbers"])
def test_another_price_counts_from_the_next_question(given):
    optimizer = told(made(cost=price))[0]
    rows, sizes = optimizer.domain_.rows, optimizer.domain_.sizes
    optimizer.set_params(cost=by_volume if given == "function" else by_volume(sizes))
    assert_allclose(optimizer.posterior().cost, by_volume(rows[:, 2:] - rows[:, :2]))
    with pytest.raises(ValueError, match="cost must have one finite number above 0 for each size"):
        optimizer.set_params(cost=[1.0, 2.0])
    assert_allclose(optimizer.posterior().cost, by_volume(rows[:, 2:] - rows[:, :2]))


def test_sizes_in_contexts():
    context = {"context_bounds": [(0.0, 1.0)], "bounds": [(0.0, 1.0)]}
    optimizer = made(Cells([0.1, 0.2, 0.4]), cost=price, relative_noise=by_volume, **context)
    for t in range(12):
        query = optimizer.ask(context=[t / 12])
        optimizer.tell(query, f(query.points))
    assert optimizer.spent_ > 0.0
    assert sides(optimizer.recommend(context=[0.5]))[-1] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"cost": lambda sides: sides},
            r"cost must return a number above 0 .*; got ndarray of shape \(4, 2\)",
        ),
        (
            {"relative_noise": lambda sides: 0.0 * sides[:, 0]},
            r"numbers above 0; got 0.0 for the sides \[0.05, 0.4\]",
        ),
        ({"cost": price, "queries": [[0.1, 0.2]], "targets": None}, "only where queries are Cells"),
        ({"cost": price, "queries": Fidelities(2)}, "only where queries are Cells"),
        ({"alpha": by_volume, "relative_noise": by_volume}, "relative_noise is for one alpha"),
    ],
)
def test_what_is_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        made(**settings).ask()


def test_functions_of_sides_are_for_cells():
    with pytest.raises(ValueError, match="alpha"):
        GPUCBOptimizer(bounds=SQUARE, alpha=by_volume).ask()
    with pytest.raises(ValueError, match="only where queries are Cells"):
        made([[0.1], [0.2]], targets=[[0.1]], bounds=None, alpha=by_volume).ask()

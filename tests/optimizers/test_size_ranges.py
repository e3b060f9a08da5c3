"""Cells of any size between two: sizes, prices, noise variances, files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb import CMESOptimizer, GPUCBOptimizer, IDSOptimizer, KGOptimizer, MESOptimizer
from skgpb.domains import Blocks, Cells, Discs, Fidelities, SizeRange

SQUARE = [(0.0, 1.0), (0.0, 2.0)]


def by_volume(sides):
    return 0.02 / sides.prod(axis=1)


def price(sides):
    return 0.2 + sides.sum(axis=1)


RANGE = Cells(SizeRange(0.05, 0.4))


def made(queries=RANGE, cls=KGOptimizer, **settings):
    settings = {"targets": Cells(0.2), "bounds": SQUARE, "n_candidates": 60} | settings
    return cls(queries=queries, random_state=0, **settings)


def begun(*arguments, **settings):
    optimizer = made(*arguments, **settings)
    optimizer.ask()
    return optimizer


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


@pytest.mark.parametrize("proportional", [False, True])
def test_sizes_stand_for_all_between_both_ends(proportional):
    """Evenly by logarithms, and the wanted one among them; squares where sides go together."""
    optimizer = begun(Cells(SizeRange(0.05, 0.4, proportional)))
    sizes = optimizer.domain_.sizes
    for wanted in ([0.05, 0.05], [0.4, 0.4], [0.2, 0.2]):
        assert (np.abs(sizes - wanted) < 1e-12).all(axis=1).sum() == 1
    assert (sizes >= 0.05).all()
    assert (sizes <= 0.4 * (1 + 1e-15)).all()
    alike = np.isclose(sizes[:, 0], sizes[:, 1])
    assert alike.all() == proportional
    steps = np.diff(np.log(sizes[alike][:-1, 0]))
    assert_allclose(steps[:3], steps[0], rtol=1e-12)


def test_ends_may_be_said_by_side_and_by_name():
    named = {"x": (0.0, 1.0), "y": (0.0, 2.0)}
    by_name = Cells(SizeRange({"x": 0.1, "y": 0.2}, {"x": 0.1, "y": 0.8}))
    one, other = begun(by_name, bounds=named), begun(Cells(SizeRange((0.1, 0.2), (0.1, 0.8))))
    sizes = one.domain_.sizes
    assert_allclose(sizes, other.domain_.sizes)
    assert_allclose(sizes[:, 0], 0.1)
    assert_allclose(sizes[:7, 1], 0.2 * 4 ** (np.arange(7) / 6))


def test_separate_values_are_as_many_at_both_ends():
    space = {"x": (0.0, 1.0), "k": range(6)}
    optimizer = made(
        Cells(SizeRange({"x": 0.1, "k": 2}, {"x": 0.4, "k": 2})), targets=Cells(0.1), bounds=space
    )
    query = optimizer.ask()
    assert len(query.params["k"]) == 2
    assert 0.1 - 1e-12 <= np.ptp(query.params["x"]) <= 0.4 + 1e-12
    with pytest.raises(ValueError, match="must be the same at both ends of a range where sides"):
        made(Cells(SizeRange({"x": 0.1, "k": 1}, {"x": 0.4, "k": 2})), bounds=space).ask()


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer, MESOptimizer])
def test_prices_and_noise_are_functions_of_the_sides(cls):
    """Those that the rule is shown are what the functions say of the rows; so is what is spent."""
    optimizer = made(cls=cls, cost=price, alpha=by_volume, kernel=RBF(0.3))
    optimizer, asked = told(optimizer)
    rows = optimizer.domain_.rows
    posterior, of_rows = optimizer.posterior(), rows[:, 2:] - rows[:, :2]
    assert_allclose(posterior.cost, price(of_rows))
    assert_allclose(posterior.query_noise * posterior.scale**2, by_volume(of_rows))
    assert_allclose(optimizer.spent_, price(asked).sum())
    # A cell that was not among the rows: of a size in the range, and of another one.
    cell = type(optimizer.ask())(-1, np.array([0.1, 0.1, 0.21, 0.42]), optimizer.domain_.counts)
    wide = type(cell)(-1, np.array([0.1, 0.1, 0.9, 0.42]), cell.counts)
    optimizer.tell(cell, 0.5).tell(wide, 0.5)
    assert_allclose(optimizer.spent_, price(np.array([*asked, [0.11, 0.32]])).sum())
    noises = optimizer.surrogate_.process_.noises()
    assert_allclose(noises[:-1], by_volume(np.array([*asked, [0.11, 0.32]])))
    optimizer.ask(2)


def test_relative_noise_by_a_function_is_learned_in_proportion():
    """The same run as with a number for each of the sizes that stand for all."""
    sizes = begun().domain_.sizes
    listed = Cells([tuple(size) for size in sizes])
    settings = {"kernel": RBF(0.3), "n_initial": 4}
    one, asked = told(made(relative_noise=by_volume, cost=price, **settings), 9)
    by_size = {"relative_noise": by_volume(sizes), "cost": price(sizes)}
    other, same = told(made(listed, **by_size, **settings), 9)
    assert_allclose(asked, same)
    assert_allclose(one.alpha_, other.alpha_)


def test_functions_may_say_the_price_of_listed_sizes():
    one, asked = told(made(Cells([0.1, 0.3]), cost=price), 4)
    assert_allclose(one.spent_, price(asked).sum())


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
    assert again.queries == optimizer.queries == Cells(SizeRange(0.05, 0.4))
    assert again.queries != Cells(SizeRange(0.05, 0.4, True)) != Cells([0.05, 0.4])
    assert len({again.queries, optimizer.queries}) == 1
    assert again.ask() == pickle.loads(pickle.dumps(optimizer)).ask() == optimizer.ask()
    assert clone(optimizer).get_params()["cost"] is price


def test_another_price_counts_from_the_next_question():
    optimizer = told(made(cost=price))[0]
    rows = optimizer.domain_.rows
    optimizer.set_params(cost=by_volume)
    assert_allclose(optimizer.posterior().cost, by_volume(rows[:, 2:] - rows[:, :2]))


def test_sizes_in_contexts():
    context = {"context_bounds": [(0.0, 1.0)], "bounds": [(0.0, 1.0)]}
    optimizer = made(cost=price, relative_noise=by_volume, **context)
    for t in range(12):
        query = optimizer.ask(context=[t / 12])
        optimizer.tell(query, f(query.points))
    assert optimizer.spent_ > 0.0
    assert sides(optimizer.recommend(context=[0.5]))[-1] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"targets": Cells(SizeRange(0.1, 0.2))}, "targets must have one size or a list of them"),
        ({"cost": [1.0, 2.0]}, "cost must be a function of the sides"),
        ({"alpha": [0.1] * 7}, "alpha must be a function of the sides"),
        (
            {"cost": lambda sides: sides},
            r"cost must return a number above 0 .*; got ndarray of shape \(11, 2\)",
        ),
        (
            {"relative_noise": lambda sides: 0.0 * sides[:, 0]},
            r"numbers above 0; got 0.0 for the sides \[0.05, 0.05\]",
        ),
        ({"cost": price, "queries": [[0.1, 0.2]], "targets": None}, "only where queries are Cells"),
        ({"cost": price, "queries": Fidelities(2)}, "only where queries are Cells"),
        ({"alpha": by_volume, "relative_noise": by_volume}, "relative_noise is for one alpha"),
        ({"queries": Cells(SizeRange(0.4, 0.1))}, "no side longer in the shortest cell"),
        ({"queries": Cells(SizeRange(0.0, 0.1))}, "nor one of 0 that is longer in the longest"),
        ({"queries": Cells(SizeRange(0.1, 1.5))}, "no longer than the box"),
        ({"queries": Cells([SizeRange(0.1, 0.2)])}, "must be numbers, or tuples of 2 numbers"),
    ],
)
def test_what_is_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        made(**settings).ask()


def test_what_is_refused_at_once():
    with pytest.raises(ValueError, match="Discs must have one size or a list of them, no range"):
        Discs(SizeRange(0.1, 0.2))
    with pytest.raises(ValueError, match="Fidelities must have one size or a list of them"):
        Fidelities(2, SizeRange(0.1, 0.2))
    with pytest.raises(ValueError, match="proportional must be True or False, got 1"):
        SizeRange(0.1, 0.2, 1)
    pairs = np.arange(20.0).reshape(20, 1), np.arange(20.0)
    with pytest.raises(ValueError, match="targets must have one size or a list of them"):
        CMESOptimizer(bounds=[(0, 19)], targets=Cells(SizeRange(1, 2))).fit(*pairs)
    with pytest.raises(ValueError, match="alpha"):
        GPUCBOptimizer(bounds=SQUARE, alpha=by_volume).ask()
    with pytest.raises(ValueError, match="only where queries are Cells"):
        made(Blocks([[[0.1], [0.2]]]), targets=[[0.1]], bounds=None, alpha=by_volume).ask()

"""The knowledge gradient over weighted sets of points: districts, polygons, groups of rows."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.kg import NaiveKG
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import KGOptimizer
from skgpb.domains import Cells, Districts
from skgpb.kernels import CellAverage, WeightedSum

RNG = np.random.default_rng(0)
TOWNS = RNG.random((30, 2))
PEOPLE = RNG.lognormal(0.0, 0.6, size=30)
COUNTY = np.array(["north", "east", "south", "west", "middle"])[RNG.permutation(30) % 5]
WARD = RNG.permutation(30) % 10
COUNTIES, WARDS = Districts(TOWNS, COUNTY, PEOPLE), Districts(TOWNS, WARD, PEOPLE)


def f(points):
    return np.sin(5 * points[:, 0]) + np.cos(3 * points[:, 1])


def answer(district):
    return float(district.weights @ f(district.points))


def shares(names, weights, labels):
    """Rows of weights that average over each of some districts, written out."""
    W = np.array([np.where(names == label, weights, 0.0) for label in labels])
    return W / W.sum(axis=1, keepdims=True)


class Averages:
    """Covariances of averages: rows of weights of the towns."""

    def __init__(self, base, points):
        self.K = base(points)

    def __call__(self, X, Y=None):
        return X @ self.K @ (X if Y is None else Y).T


COUNTY_WEIGHTS = shares(COUNTY, PEOPLE, COUNTIES.labels)
WARD_WEIGHTS = shares(WARD, PEOPLE, WARDS.labels)
SETS = {
    "counties and wards": (COUNTIES, WARDS, COUNTY_WEIGHTS, WARD_WEIGHTS),
    "counties alone": (COUNTIES, None, COUNTY_WEIGHTS, COUNTY_WEIGHTS),
    # Groups of a pool are asked, and its best single row is wanted.
    "groups and rows": (
        Districts(TOWNS, WARD),
        TOWNS,
        shares(WARD, np.ones(30), list(dict.fromkeys(WARD.tolist()))),
        np.eye(30),
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_round_by_round_it_does_what_the_definition_says(name):
    queries, targets, Q, T = SETS[name]
    base = 0.8 * Matern(0.4, nu=2.5)
    cost = np.linspace(1.0, 2.0, len(Q))
    optimizer = KGOptimizer(base, queries=queries, targets=targets, cost=cost, alpha=0.01)
    naive = NaiveKG(Averages(base, TOWNS), Q, T, cost, np.full(len(Q), 0.01))
    rng = np.random.default_rng(0)
    for _ in range(12):
        posterior = optimizer.posterior()
        mean, own, across = naive.posterior(naive.told, naive.rewards)
        np.testing.assert_allclose(posterior.target_mean, mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.query_var, np.diag(own), rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.covariance, across, rtol=0, atol=1e-8)
        gains = naive.gains()
        np.testing.assert_allclose(np.exp(cases.scores(optimizer)), gains, rtol=1e-7, atol=1e-9)
        query = optimizer.ask()
        assert gains[query.index] >= gains.max() - 1e-8
        reward = answer(query) + 0.1 * rng.normal()
        optimizer.tell(query, reward)
        naive.tell(query.index, reward)
        mean = naive.posterior(naive.told, naive.rewards)[0]
        assert mean[optimizer.recommend().index] >= mean.max() - 1e-8


@pytest.mark.slow
def test_a_kernel_is_learned_and_the_best_is_found():
    optimizer = KGOptimizer(queries=COUNTIES, targets=WARDS, random_state=0)
    result = optimizer.run(answer, budget=15)
    kernel = optimizer.surrogate_.kernel_
    assert isinstance(kernel, WeightedSum)
    assert not np.allclose(kernel.theta, optimizer._model.first_theta)
    # Counties are known now; of wards only what counties say.
    values = COUNTY_WEIGHTS @ f(TOWNS)
    found = optimizer.predict_query([optimizer.domain_.arm(i) for i in range(5)])
    np.testing.assert_allclose(found, values, atol=0.05)
    assert result.x.name in WARDS.labels
    groups = KGOptimizer(queries=SETS["groups and rows"][0], targets=TOWNS, random_state=0)
    best = groups.run(answer, budget=25).x
    every = f(TOWNS)
    assert every[best.index] > np.quantile(every, 0.9)


def test_a_district_says_what_it_is():
    optimizer = KGOptimizer(queries=COUNTIES, targets=WARDS)
    query = optimizer.ask()
    own = query.name == COUNTY
    assert own.any()
    np.testing.assert_array_equal(np.asarray(query), TOWNS[own])
    np.testing.assert_allclose(query.weights, PEOPLE[own] / PEOPLE[own].sum())
    np.testing.assert_allclose(query.center, query.weights @ TOWNS[own])
    np.testing.assert_array_equal(query.box, [*TOWNS[own].min(axis=0), *TOWNS[own].max(axis=0)])
    assert repr(query) == f"Arm(index={query.index}, name={query.name!r})"


def test_answers_are_told_by_name_and_at_points():
    optimizer = KGOptimizer(RBF(0.3), queries=COUNTIES, targets=WARDS, alpha=0.01)
    optimizer.tell("west", 0.7)
    optimizer.tell(["north", "east"], [0.1, 0.2])
    optimizer.tell(TOWNS[4], 0.9)
    arms = {arm.name: arm for arm in map(optimizer.domain_.arm, range(5))}
    twin = KGOptimizer(RBF(0.3), queries=COUNTIES, targets=WARDS, alpha=0.01)
    for name, reward in (("west", 0.7), ("north", 0.1), ("east", 0.2)):
        twin.tell(arms[name], reward)
    twin.tell([TOWNS[4]], [0.9])
    assert twin.ask() == optimizer.ask()
    found = optimizer.predict_query(["west", "north"])
    np.testing.assert_array_equal(found, twin.predict_query([arms["west"], arms["north"]]))
    assert optimizer.predict(TOWNS[4:5])[0] > 0.8
    with pytest.raises(ValueError, match="there is no query named 'up'; the names are 'sou"):
        optimizer.tell("up", 1.0)


def test_it_is_saved_with_its_districts(tmp_path):
    optimizer = KGOptimizer(queries=COUNTIES, targets=WARDS, n_initial=2, random_state=0)
    for _ in range(4):
        query = optimizer.ask()
        optimizer.tell(query, answer(query))
    asked = optimizer.ask()
    optimizer.save(tmp_path / "run.skgpb")
    again = KGOptimizer.load(tmp_path / "run.skgpb")
    assert again.queries == COUNTIES and again.targets == WARDS
    assert again.ask() == asked and again.recommend() == optimizer.recommend()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"targets": Cells(0.1)}, "targets must be Districts or points if"),
        ({"queries": None}, "queries must be Districts or points"),
        ({"queries": TOWNS[:, :1]}, "same number of columns; got 1 and 2"),
        ({"kernel": CellAverage(RBF(), 2)}, "kernel must be over the points of Districts"),
        ({"kernel": WeightedSum(RBF(), TOWNS)}, "kernel must be over the points of Districts"),
        ({"bounds": {"x": (0, 1), "y": (0, 1)}}, "sides of bounds must have no names"),
        ({"bounds": [(0, 1)]}, "queries and targets must have 1 columns"),
        ({"cost": [1.0, 2.0]}, "cost must have one finite number above 0 for each query, 5"),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    optimizer = KGOptimizer(**{"queries": COUNTIES, "targets": WARDS, **parameters})
    with pytest.raises(ValueError, match=message):
        optimizer.ask()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TOWNS, COUNTY[:4]), "names of Districts must be a text or an integer for each of 30"),
        ((TOWNS, COUNTY, -PEOPLE), "weights of Districts must be a number >= 0 for each of 30"),
        ((TOWNS, WARD, (WARD > 3) * 1.0), "weights of Districts must not all be 0, as those of"),
    ],
)
def test_districts_that_are_none_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Districts(*arguments)


@pytest.mark.parametrize("dtype", [object, "category"])
def test_names_may_be_a_column_of_a_table(dtype):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"county": pandas.Series(COUNTY, dtype=dtype), "people": PEOPLE})
    assert Districts(TOWNS, table["county"], table["people"]) == Districts(TOWNS, COUNTY, PEOPLE)
    kernel = WeightedSum(RBF(), TOWNS, table["county"])
    assert_array_equal(
        kernel.queries(table["county"]), WeightedSum(RBF(), TOWNS, COUNTY).queries(COUNTY)
    )

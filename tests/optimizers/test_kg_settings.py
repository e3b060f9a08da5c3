"""The knowledge gradient over boxes with integers and categories: points, and cells of runs."""

from __future__ import annotations

import numpy as np
import pytest
from reference.kg import NaiveKG
from scipy.stats import poisson, randint
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpb import IDSOptimizer, KGOptimizer, TargetsOptimizer
from skgpb.domains import Cells
from skgpb.domains.space import ParameterSpace, as_coordinates
from skgpb.kernels import CellAverage
from skgpb.surrogate.settings import default_kernel, kernel_of_cells

BOUNDS = {"heat": (20.0, 90.0), "washes": randint(1, 9), "soap": ["a", "b", "c"]}
HEIGHTS = {"a": 0.0, "b": 0.6, "c": 0.3}


def f(setting):
    bend = ((setting["heat"] - 60) / 20) ** 2 + ((setting["washes"] - 6) / 3) ** 2
    return HEIGHTS[setting["soap"]] - bend


def average(query):
    return float(np.mean([f(setting) for setting in query.settings]))


def columns(setting):
    """Return features of settings: quantiles of the first two, a corner for each category."""
    soap = np.eye(3)["abc".index(setting["soap"])] / np.sqrt(2.0)
    return [setting["heat"], (setting["washes"] - 0.5) / 8, *soap]


class OverSettings:
    """Means of ``base`` over all settings of queries, in full."""

    def __init__(self, base, queries):
        self.base = base
        self.points = [np.array([columns(each) for each in q.settings]) for q in queries]

    def __call__(self, X, Y=None):
        mine, theirs = ([self.points[int(i)] for i in Z[:, 0]] for Z in (X, X if Y is None else Y))
        return np.array([[self.base(a, b).mean() for b in theirs] for a in mine])


SETS = {
    "points": {},
    "cells of points": {"queries": Cells({"heat": 20.0}), "targets": Cells(0)},
    "runs": {
        "queries": Cells([{"heat": 30.0, "washes": 3}, {"heat": 0.0, "washes": 2, "soap": 2}]),
        "targets": Cells((10.0, 2, 1)),
    },
    "given": {
        "queries": [{"heat": 50, "washes": 2, "soap": "a"}, {"heat": 70, "washes": 7, "soap": "c"}],
        "targets": [{"heat": 60, "washes": n, "soap": "b"} for n in range(1, 9)],
    },
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SETS)
def test_round_by_round_it_does_what_the_definition_says(name):
    base = RBF([20.0, 0.3, 0.7, 0.7, 0.7])
    optimizer = KGOptimizer(
        base, bounds=BOUNDS, alpha=0.01, n_candidates=20, random_state=0, **SETS[name]
    )
    told, rewards = [], []
    rng = np.random.default_rng(0)
    for _ in range(4):
        posterior = optimizer.posterior()
        domain, targets = optimizer.domain_, optimizer.targets_
        asked = [*told, *(domain.arm(i) for i in range(len(domain)))]
        wanted = [targets.arm(i) for i in range(len(targets))]
        numbers = np.arange(len(asked) + len(wanted), dtype=float)[:, None]
        Q, T = np.split(numbers, [len(asked)])
        kernel = OverSettings(base, asked + wanted)
        naive = NaiveKG(kernel, Q, T, np.ones(len(asked)), np.full(len(asked), 0.01))
        naive.told, naive.rewards = list(range(len(told))), rewards
        mean, own, across = naive.posterior(naive.told, rewards)
        np.testing.assert_allclose(posterior.target_mean, mean, rtol=0, atol=1e-8)
        n = len(told)
        np.testing.assert_allclose(posterior.query_var, np.diag(own)[n:], rtol=0, atol=1e-8)
        np.testing.assert_allclose(posterior.covariance, across[n:], rtol=0, atol=1e-8)
        gains = naive.gains()[n:]
        np.testing.assert_allclose(
            np.exp(optimizer.acquisition(posterior)), gains, rtol=1e-7, atol=1e-9
        )
        query = optimizer.ask()
        assert gains[optimizer.domain_.slot_of(query)] >= gains.max() - 1e-8
        told.append(query)
        rewards.append(average(query) + 0.1 * rng.normal())
        optimizer.tell(query, rewards[-1])


def test_the_default_kernel_over_cells_is_a_product_over_the_sides():
    space = ParameterSpace.from_bounds(BOUNDS)
    points = np.random.default_rng(0).random((9, 3)) * [70.0, 1.0, 1.0] + [20.0, 0.0, 0.0]
    product, whole = kernel_of_cells(space), default_kernel(space, smooth=True)
    theta = np.log([2.0, 15.0, 0.4, 0.9])
    K = whole.clone_with_theta(theta)(space.columns(points))
    np.testing.assert_allclose(product.clone_with_theta(theta)(points), K, rtol=1e-12)
    np.testing.assert_array_equal(product.theta, whole.theta)
    np.testing.assert_array_equal(product.bounds, whole.bounds)


def test_cells_hold_as_many_values_as_was_said():
    optimizer = KGOptimizer(bounds=BOUNDS, cost=[2.0, 1.0], n_candidates=40, **SETS["runs"])
    spent = 0.0
    for _ in range(14):
        query = optimizer.ask()
        heat, washes, soap = (query.params[name] for name in ("heat", "washes", "soap"))
        if isinstance(heat, tuple):
            assert heat[1] - heat[0] == pytest.approx(30.0)
            assert (len(washes), soap in HEIGHTS) == (3, True)
        else:
            assert (len(washes), len(soap)) == (2, 2)
        spent += 2.0 if isinstance(heat, tuple) else 1.0
        optimizer.tell(query, average(query))
    assert optimizer.spent_ == spent
    best = optimizer.recommend().params
    assert best["heat"][1] - best["heat"][0] == pytest.approx(10.0)
    assert (len(best["washes"]), best["soap"] in HEIGHTS) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer, TargetsOptimizer])
def test_the_best_setting_is_found(cls):
    optimizer = cls(bounds=BOUNDS, random_state=0)
    best = optimizer.run(lambda query: f(query.params), budget=30).x.params
    assert (best["washes"], best["soap"]) == (6, "b") and abs(best["heat"] - 60) < 3


def test_few_settings_are_all_looked_at_and_told_by_name():
    bounds = {"washes": [1, 2, 4, 8], "soap": ["a", "b"]}
    optimizer = KGOptimizer(0.5 * Matern(0.5), bounds=bounds, alpha=0.01)
    optimizer.tell({"washes": 2, "soap": "a"}, 0.4)
    optimizer.tell(as_coordinates([0.6, 0.1]), 0.5)  # of 4 and "a", not in the middle
    assert len(optimizer.domain_) == len(optimizer.targets_) == 8
    assert optimizer.recommend().params == {"washes": 4, "soap": "a"}
    assert len({str(query.params) for query in optimizer.ask(8)}) == 8


@pytest.mark.parametrize("cls", [KGOptimizer, IDSOptimizer])
def test_an_answered_setting_is_recommended_where_settings_can_be_counted(cls):
    optimizer = cls(bounds={"soap": ["a", "b", "c"]}, random_state=0)
    for soap, reward in (("a", 0.4), ("b", 0.7), ("c", 0.1)):
        optimizer.tell({"soap": soap}, reward)
    assert optimizer.recommend(method="best_observed").params == {"soap": "b"}
    optimizer = cls(bounds={"heat": (0.0, 1.0)}, random_state=0).tell({"heat": 0.5}, 1.0)
    with pytest.raises(ValueError, match="needs targets that are the queries"):
        optimizer.recommend(method="best_observed")


def test_in_a_context_settings_are_asked_and_found():
    optimizer = KGOptimizer(
        queries=Cells({"heat": 20.0}),
        targets=Cells({"heat": 5.0}),
        bounds={"heat": (20.0, 90.0), "soap": ["a", "b"]},
        context_bounds={"dirt": ["mud", "ink"]},
        n_candidates=40,
        n_initial=4,
        random_state=0,
    )
    for round_ in range(10):
        query = optimizer.ask(context={"dirt": ("mud", "ink")[round_ % 2]})
        reward = 0.0
        for each in query.settings:
            clean = {"mud": "a", "ink": "b"}[each["dirt"]] == each["soap"]
            reward += (clean - ((each["heat"] - 60) / 40) ** 2) / len(query.settings)
        optimizer.tell(query, reward)
    for dirt, soap in (("mud", "a"), ("ink", "b")):
        assert optimizer.recommend(context={"dirt": dirt}).params["soap"] == soap


def test_it_is_saved_with_its_settings(tmp_path):
    for name in ("runs", "given"):
        optimizer = KGOptimizer(bounds=BOUNDS, n_candidates=40, n_initial=2, **SETS[name])
        for _ in range(4):
            query = optimizer.ask()
            optimizer.tell(query, average(query))
        optimizer.save(tmp_path / "run.skgpb")
        again = KGOptimizer.load(tmp_path / "run.skgpb")
        assert again.ask() == optimizer.ask() and again.recommend() == optimizer.recommend()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"queries": Cells({"washes": 2})}, "sizes of queries must have a number for each of"),
        ({"queries": Cells((1.0, 2.5, 1))}, "sides must be integers from 1"),
        ({"queries": Cells((1.0, 9, 1))}, "number of values, .8, 3.; got"),
        ({"queries": np.tile([30.0, 2, 1], (2, 2))}, "'soap' is no number"),
        (
            {"bounds": {"heat": (20, 90), "n": [1, 2]}, "queries": np.tile([30.0, 2], (2, 2))},
            "got rows of boxes",
        ),
        ({"kernel": CellAverage(RBF(), 2)}, "kernel must be over points if bounds has"),
        (
            {"bounds": {"n": range(3), "soap": ["a", "b"]}, "targets": Cells(0.2)},
            "sizes of targets must be a dict with the number of values",
        ),
        (
            {"bounds": {"n": poisson(3), "x": (0, 1)}, "targets": Cells({"x": 0.2, "n": 2})},
            "sizes of targets must be 1 for 'n'",
        ),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    optimizer = KGOptimizer(**{"bounds": BOUNDS, **parameters})
    with pytest.raises(ValueError, match=message):
        optimizer.ask()

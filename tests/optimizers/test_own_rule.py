"""Rules that are one function of queries and targets, over rows and behind a blur."""

from __future__ import annotations

import pickle

import cases
import numpy as np
import pytest
from reference.ids import moments
from reference.kg import expected_rise
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    IDSOptimizer,
    IndirectEIOptimizer,
    IndirectTargetsOptimizer,
    KGOptimizer,
    TargetsOptimizer,
)
from skgpb.domains import Cells
from skgpb.kernels import WindowMean
from skgpb.optimizers import IndirectSearch, Search

POINTS = np.linspace(0, 1, 13)[:, None]
SETTINGS = {"queries": POINTS, "targets": POINTS[::2] + 0.01, "alpha": 0.01, "random_state": 0}
CONDITIONAL = WindowMean(RBF(0.15), scale=0.1, location=lambda A: 1 - A)
WINDOW = {"conditional": CONDITIONAL, "bounds": [(0, 1)], "query_bounds": [(0, 1)]}
WINDOW |= {"kernel": RBF(0.15), "n_candidates": 20, "n_points": 30, "random_state": 0}
SEEDS = range(20)


def f(points):
    return float(np.sin(7 * points).mean())


def least_known(posterior):
    return np.log(posterior.query_var)


def humps(rule, seed, rounds=30):
    """Recommendation where X = 1 - A + 0.07 noise is learned from 400 pairs."""

    def two(x):
        return 0.6 * np.exp(-0.5 * ((x - 0.29) / 0.06) ** 2) + np.exp(
            -0.5 * ((x - 0.8) / 0.06) ** 2
        )

    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(400, 1))
    X = 1.0 - A + 0.07 * rng.normal(size=A.shape)
    optimizer = IndirectTargetsOptimizer(rule, random_state=seed).fit(X, queries=A)
    for _ in range(rounds):
        query = optimizer.ask()
        x = 1.0 - query.a[0] + 0.07 * rng.normal(size=1000)
        optimizer.tell(query, two(x).mean() + 0.02 * rng.normal())
    return optimizer.recommend()[0]


@pytest.mark.parametrize(("name", "cls"), [("kg", KGOptimizer), ("ids", IDSOptimizer)])
def test_a_name_stands_for_the_rule_of_a_class(name, cls):
    by_name, by_class, by_function = (
        made(**SETTINGS, kernel=RBF(0.2), cost=np.linspace(1, 2, 13))
        for made in (
            lambda **each: TargetsOptimizer(name, **each),
            cls,
            lambda **each: TargetsOptimizer(cls().acquisition, **each),
        )
    )
    results = [each.run(lambda arm: f(arm.points), 8) for each in (by_name, by_class, by_function)]
    for result in results[1:]:
        np.testing.assert_array_equal(result.history, results[0].history)
        assert result.x == results[0].x


def test_information_about_the_largest_target_is_that_of_the_joint_posterior():
    """By the covariances with the maximiser of every draw, one after the other."""
    optimizer = TargetsOptimizer("mes", RBF(0.2), cost=np.linspace(1, 2, 13), **SETTINGS)
    told, rewards = [], []
    for _ in range(4):
        rows = np.vstack([POINTS, SETTINGS["targets"]])
        cov = moments(RBF(0.2), rows, POINTS[told], rewards, 0.01)[1]
        draws = optimizer.posterior().draws(100)
        across = np.mean([cov[:13, 13 + np.argmax(draw)] for draw in draws], axis=0)
        share = across**2 / (np.diag(cov)[:13] + 0.01) / np.var(draws.max(axis=1))
        expected = -0.5 * np.log(1 - share) / np.linspace(1, 2, 13)
        values = cases.scores(optimizer)
        np.testing.assert_allclose(np.exp(values), expected, rtol=1e-6, atol=1e-9)
        query = optimizer.ask()
        assert expected[query.index] >= expected.max() * (1 - 1e-6)
        optimizer.tell(query, f(query.points))
        told.append(query.index)
        rewards.append(f(query.points))
    assert optimizer.recommend() in optimizer.targets_


def test_information_about_the_largest_of_one_target_is_that_about_the_target():
    optimizer = TargetsOptimizer("mes", RBF(0.2), queries=POINTS, targets=[[0.31]], alpha=0.01)
    posterior = optimizer.posterior()
    share = posterior.covariance[:, 0] ** 2 / (1.01 * 1.0)
    # The variance is that of 100 draws: five of its standard deviations, sqrt(2 / 100).
    close = np.exp(optimizer.acquisition(posterior)) / (-0.5 * np.log(1 - share))
    assert np.all(np.abs(close[share < 0.1] - 1) < 5 * np.sqrt(2 / 100))


def test_what_the_function_prefers_is_asked_until_nothing_is_worth_it():
    optimizer = TargetsOptimizer(least_known, RBF(0.2), cost=np.linspace(1, 2, 13), **SETTINGS)
    for _ in range(5):
        posterior = optimizer.posterior()
        values = posterior.query_var / np.linspace(1, 2, 13)
        query = optimizer.ask()
        assert values[query.index] >= values.max() - 1e-9
        optimizer.tell(query, f(query.points))
    np.testing.assert_array_equal(optimizer.acquisition(posterior), least_known(posterior))
    hopeless = TargetsOptimizer(lambda posterior: np.full(13, -np.inf), RBF(0.2), **SETTINGS)
    hopeless.tell(POINTS[3], 1.0)
    var = hopeless.posterior().query_var
    assert var[hopeless.ask().index] >= var.max() - 1e-9


@pytest.mark.parametrize(
    "wrong", [np.zeros(3), np.full(13, np.nan), 1.0, np.full(13, "a"), np.ones(13) * 1j, None]
)
def test_a_function_that_says_something_else_is_refused_before_anything_is_asked(wrong):
    optimizer = TargetsOptimizer(lambda posterior: wrong, RBF(0.2), **SETTINGS)
    with pytest.raises(ValueError, match="rule must return a number for each of 13 queries"):
        optimizer.ask()


@pytest.mark.parametrize(
    "wrong", [np.zeros(3), [0.0] * 12 + [np.nan], 1.0, np.full(13, "a"), np.ones(13) * 1j, None]
)
def test_an_acquisition_function_that_is_none_is_refused_at_any_time(wrong):
    class Mine(Search):
        def acquisition(self, posterior):
            return posterior.query_var if posterior.t < 3 else wrong

    optimizer = Mine(RBF(0.2), arms=POINTS, alpha=0.01, random_state=0)
    for _ in range(2):
        optimizer.tell(optimizer.ask(), 1.0)
    before = len(optimizer._events)
    with pytest.raises(ValueError, match="acquisition of Mine must return a number for each of 13"):
        optimizer.ask()
    assert len(optimizer._events) == before


def test_an_acquisition_function_may_be_a_list_of_integers():
    class Mine(Search):
        def acquisition(self, posterior):
            return [0] * 5 + [1] + [0] * 7

    assert Mine(RBF(0.2), arms=POINTS, alpha=0.01).ask().index == 5


def test_a_function_that_can_be_imported_is_pickled_and_given_to_what_is_loaded(tmp_path):
    optimizer = TargetsOptimizer(least_known, queries=Cells(0.2), bounds=[(0, 1)], random_state=0)
    optimizer.run(lambda cell: f(cell.points), budget=12)
    again = pickle.loads(pickle.dumps(optimizer))
    optimizer.save(tmp_path / "run.skgpb", omit=["rule"])
    loaded = TargetsOptimizer.load(tmp_path / "run.skgpb", rule=least_known)
    assert again.ask() == loaded.ask() == optimizer.ask()
    with pytest.raises(TypeError, match=r"omit=\['rule'\]"):
        optimizer.save(tmp_path / "run.skgpb")


def test_draws_of_targets_are_those_of_the_posterior():
    optimizer = KGOptimizer(RBF(0.3), **SETTINGS)
    for query in optimizer.ask(3):
        optimizer.tell(query, f(query.points))
    optimizer.ask()  # pending: answered as expected
    posterior = optimizer.posterior()
    draws = posterior.draws(4000)
    exact = np.array([posterior.covariance_of_target(i) for i in range(7)])
    np.testing.assert_allclose(np.diag(exact), posterior.target_var, atol=1e-12)
    # Five standard deviations of a mean, and of a covariance, of 4000 draws.
    largest = posterior.target_var.max()
    bound = 5 * np.sqrt(largest / 4000)
    np.testing.assert_allclose(draws.mean(axis=0), posterior.target_mean, atol=bound)
    np.testing.assert_allclose(np.cov(draws.T), exact, atol=5 * largest * np.sqrt(2 / 4000))


def test_behind_a_blur_a_rule_sees_the_posterior_of_answers_and_points():
    optimizer = IndirectTargetsOptimizer("kg", alpha=0.01, cost=lambda a: 1.0 + a[0], **WINDOW)
    told, rewards = [], []
    for t in range(6):
        posterior = optimizer.posterior()
        A, X = optimizer.domain_.A, optimizer.targets_.points
        rows = np.vstack([CONDITIONAL.queries(A), CONDITIONAL.points(X)])
        asked = CONDITIONAL.queries(np.reshape(told, (-1, 1))) if told else []
        mean, cov = moments(CONDITIONAL, rows, asked, rewards, np.full(t, 0.01))
        n = len(A)
        np.testing.assert_allclose(posterior.query_mean, mean[:n], atol=1e-8)
        np.testing.assert_allclose(posterior.target_mean, mean[n:], atol=1e-8)
        np.testing.assert_allclose(posterior.query_var, np.diag(cov)[:n], atol=1e-8)
        np.testing.assert_allclose(posterior.target_var, np.diag(cov)[n:], atol=1e-8)
        np.testing.assert_allclose(posterior.covariance, cov[:n, n:], atol=1e-8)
        np.testing.assert_allclose(posterior.covariance_of_target(4), cov[n + 4, n:], atol=1e-8)
        np.testing.assert_allclose(posterior.query_noise, 0.01)
        slopes = cov[:n, n:] / np.sqrt(np.diag(cov)[:n] + 0.01)[:, None]
        gains = np.array([expected_rise(mean[n:], b) for b in slopes]) / (1.0 + A[:, 0])
        found = np.exp(optimizer.acquisition(posterior)) / posterior.cost
        np.testing.assert_allclose(found, gains, atol=1e-8)
        query = optimizer.ask()
        assert np.log(gains[query.index]) >= np.log(gains.max()) - 1e-7
        optimizer.tell(query, f(1 - query.a))
        told.append(query.a[0])
        rewards.append(f(1 - query.a))
    assert abs(optimizer.recommend()[0] - np.pi / 14) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("rule", [pytest.param("kg", marks=pytest.mark.slow), "ids"])
def test_of_two_humps_behind_a_learned_blur_the_higher_is_found(rule):
    assert abs(humps(rule, 0, rounds=16) - 0.8) < 0.09


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["kg", "ids"])
def test_of_two_humps_the_higher_is_found_in_every_run(rule):
    assert all(abs(humps(rule, seed) - 0.8) < 0.09 for seed in SEEDS)


def test_where_an_acquisition_function_is_NaN_is_said_and_not_all_of_it():
    class Mine(Search):
        def acquisition(self, posterior):
            return np.where(np.arange(900) % 400 == 300, np.nan, 1.0)

    optimizer = Mine(RBF(0.2), arms=np.linspace(0, 1, 900)[:, None], alpha=0.01, random_state=0)
    with pytest.raises(ValueError, match=r"none of them NaN; got 2 NaN, the first at place 300$"):
        optimizer.ask()


def test_indirect_queries_are_rows_of_the_one_search():
    """With rows of the kernel of answers as queries, and points as targets."""
    xs = np.linspace(0, 1, 40)[:, None]
    kernel = WindowMean(RBF(0.2), scale=None)
    by_rows = TargetsOptimizer(
        "kg",
        kernel,
        queries=kernel.queries(np.hstack([xs, np.full((40, 1), 0.1)])),
        targets=kernel.points(xs),
        alpha=0.01,
        random_state=0,
    )
    window = WindowMean(scale=0.1)
    settings = {"queries": xs, "n_points": 40, "alpha": 0.01, "random_state": 0}
    indirect = IndirectTargetsOptimizer("kg", RBF(0.2), None, window, bounds=[(0, 1)], **settings)
    for t in range(12):
        place = indirect.ask().index
        if t:  # Before anything is known all tie: the middle one is asked, or the first.
            assert by_rows.ask().index == place
            ours, theirs = (
                each.posterior().log_knowledge_gradient() for each in (indirect, by_rows)
            )
            np.testing.assert_allclose(ours, theirs, atol=1e-7)
        by_rows.tell(by_rows.start().domain_.arm(place), f(xs[place]))
        indirect.tell(indirect.domain_.arm(place), f(xs[place]))
    assert by_rows.recommend() == by_rows.targets_.arm(int(np.argmax(indirect.predict(xs))))


class Uncertain(IndirectSearch):
    """Ask what is least known."""

    def acquisition(self, posterior):
        return np.log(posterior.query_var)

    _unit_of_scores = "log"


def test_a_class_of_ones_own_asks_as_its_function_does():
    cost = {"cost": lambda a: 1.0 + a[0]}
    own = Uncertain(alpha=0.01, continuous=False, **WINDOW, **cost)
    by_function = IndirectTargetsOptimizer(least_known, alpha=0.01, **WINDOW, **cost)
    anywhere = Uncertain(alpha=0.01, **WINDOW, **cost)
    for _ in range(6):
        query = own.ask()
        assert query == by_function.ask() and query.index >= 0
        for each in (own, by_function, anywhere):
            each.tell(query.a, f(1 - query.a))
    best = own.posterior()
    somewhere = anywhere.ask()
    _, std = anywhere.predict_query([somewhere.a], return_std=True)
    values = np.log(best.query_var / best.cost)
    assert somewhere.index < 0 and np.log(std[0] ** 2 / somewhere.cost) >= values.max()


@pytest.mark.parametrize("cls", [IndirectTargetsOptimizer, IndirectEIOptimizer, Uncertain])
def test_any_rule_finds_the_best_of_some_points(cls):
    points = np.array([[0.1], [0.2], [0.7]])
    optimizer = cls(targets=points, alpha=1e-4, **WINDOW)
    result = optimizer.run(lambda query: f(1 - query.a), 8)
    np.testing.assert_array_equal(result.x, [0.2])
    assert optimizer.gap() < 0.1
    with pytest.raises(ValueError, match="targets"):
        cls(targets=Cells(0.1), **WINDOW).ask()

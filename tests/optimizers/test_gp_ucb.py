"""GP-UCB with the default exploration."""

from __future__ import annotations

from functools import partial
from math import sqrt
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from skgpb import defaults
from skgpb.domains import Cells
from skgpb.optimizers import GPUCBOptimizer, KGOptimizer
from skgpb.optimizers.ucb import Exploration


def told(d, **parameters):
    """An optimizer that has seen a dozen values, and its posterior of the candidates."""
    X = np.random.default_rng(0).random((12, d))
    optimizer = GPUCBOptimizer(bounds=[(0, 1)] * d, alpha=0.01, random_state=0, **parameters)
    optimizer.fit(X, np.cos(4 * X).sum(axis=1))
    return optimizer, *cases.moments(optimizer)


@pytest.mark.parametrize("d", [1, 2, 12])
def test_without_a_kernel_the_bonus_is_the_best_known(d):
    optimizer, mean, std = told(d)
    expected = (mean + np.sqrt(2.0) * std - mean.mean()) / std.mean()
    # Scores are in units of the surrogate.
    given = told(d, beta=2.0)[0]
    np.testing.assert_array_equal(cases.scores(optimizer), cases.scores(given))
    np.testing.assert_allclose(np.corrcoef(cases.scores(optimizer), expected)[0, 1], 1.0, rtol=1e-9)


def test_with_a_kernel_it_is_the_theory():
    optimizer, theory = told(2, kernel=RBF(0.3))[0], told(2, kernel=RBF(0.3), beta="theory")[0]
    np.testing.assert_array_equal(cases.scores(optimizer), cases.scores(theory))


@pytest.mark.parametrize("kernel", [None, RBF(0.3)])
@pytest.mark.parametrize(
    ("regret", "first", "later"), [("cumulative", 3.0, 2.0), ("simple", 4.0, 4.0)]
)
def test_with_a_horizon_exploration_ends_with_it(kernel, regret, first, later):
    optimizer = GPUCBOptimizer(
        kernel, bounds=[(0, 1)], alpha=0.01, regret=regret, horizon=5, random_state=0
    )
    betas = []
    for _ in range(7):
        betas.append(optimizer.exploration(optimizer.posterior()))
        query = optimizer.ask()
        optimizer.tell(query, float(np.sin(query.points[0, 0] + 1.0)))
    left = np.array([5, 4, 3, 2, 1]) / 5
    np.testing.assert_allclose(betas, [*(first * left) ** 2, later, later], rtol=1e-12)


def after(n, cls=GPUCBOptimizer, **parameters):
    """An optimizer over arms that has seen n values."""
    arms = np.linspace(0, 1, 21)[:, None]
    prices = {"cost": 1.0 + arms[:, 0]} if parameters.pop("prices", False) else {}
    optimizer = cls(RBF(0.3), arms=arms, alpha=0.01, random_state=0, **parameters, **prices)
    for i in range(n):
        optimizer.tell(optimizer.start().domain_.arm(7 * i % 21), float(np.sin(7 * i % 21)))
    return optimizer


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
@pytest.mark.parametrize("prices", [False, True])
def test_the_last_fifth_before_a_recommendation_follows_the_knowledge_gradient(prices):
    settings = {"prices": prices, "regret": "simple", "horizon": 10}
    for n in range(7, 12):
        scores = cases.scores(after(n, **settings))
        t = n + 1
        if t in (9, 10):
            other = after(n, KGOptimizer, prices=prices)
        else:
            beta = (4.0 * (11 - t) / 10) ** 2 if t <= 10 else 4.0
            other = after(n, beta=beta, prices=prices)
        np.testing.assert_allclose(scores, cases.scores(other), rtol=1e-12)
        # Looking at the scores has changed nothing.
        assert after(n, **settings).ask() == other.ask()


@pytest.mark.filterwarnings("ignore::skgpb.exceptions.ModelWarning")
def test_a_cumulative_regret_and_a_given_beta_have_no_gradient():
    expected = cases.scores(after(9, beta=(3.0 * 1 / 10) ** 2))
    np.testing.assert_allclose(cases.scores(after(9, horizon=10)), expected, rtol=1e-12)
    given = cases.scores(after(9, regret="simple", horizon=10, beta=3.0))
    np.testing.assert_array_equal(given, cases.scores(after(9, beta=3.0)))


def test_pending_queries_count_as_answers_of_the_horizon():
    optimizer = GPUCBOptimizer(bounds=[(0, 1)], alpha=0.01, horizon=4, random_state=0)
    optimizer.ask(2)
    assert optimizer.exploration(optimizer.posterior()) == pytest.approx((3.0 * 2 / 4) ** 2)


def test_for_a_small_simple_regret_more_is_explored():
    simple, more = told(2, regret="simple")[0], told(2, beta=4.0)[0]
    np.testing.assert_array_equal(cases.scores(simple), cases.scores(more))
    # With a kernel, too; the theory explores still more, and is the default only.
    simple, more = (
        told(2, kernel=RBF(0.3), regret="simple")[0],
        told(2, kernel=RBF(0.3), beta=4.0)[0],
    )
    np.testing.assert_array_equal(cases.scores(simple), cases.scores(more))


@pytest.mark.parametrize(
    "wrong", [{"regret": "both"}, {"regret": None}, {"horizon": 0}, {"horizon": 10.0}]
)
def test_what_is_no_regret_or_horizon_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GPUCBOptimizer(bounds=[(0, 1)], **wrong).ask()


def regret(seed, **parameters):
    """Mean regret of 60 answers with noise of a tenth of the range, and of what is recommended."""
    optimizer = GPUCBOptimizer(bounds=[(0, 1), (0, 1)], random_state=seed, **parameters)
    rng, regrets = np.random.default_rng(seed), []

    def f(arm):
        x, y = np.asarray(arm)[0]
        return np.exp(-8 * ((x - 0.7) ** 2 + (y - 0.2) ** 2)) + 0.3 * np.sin(5 * x)

    for _ in range(60):
        arm = optimizer.ask()
        regrets.append(f(arm))
        optimizer.tell(arm, regrets[-1] + 0.1 * rng.normal())
    return -np.mean(regrets), -f(optimizer.recommend())


@pytest.mark.slow
def test_less_is_lost_than_by_the_theory():
    ours = np.array([regret(seed) for seed in range(3)])
    theory = np.array([regret(seed, beta="theory") for seed in range(3)])
    assert (ours[:, 0] < theory[:, 0]).all()
    assert ours[:, 1].mean() < theory[:, 1].mean() + 0.05


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_without_noise_the_optimum_is_reached(seed):
    optimizer = GPUCBOptimizer(bounds=[(0, 1), (0, 1)], random_state=seed)
    best = np.array([0.6180339, 0.2718281])
    optimizer.run(lambda arm: -float(((np.asarray(arm)[0] - best) ** 2).sum()), 60)
    assert np.abs(optimizer.recommend().points[0] - best).max() < 1e-3


@pytest.mark.parametrize("beta", [-1.0, "best", [4.0]])
def test_what_is_no_beta_is_refused(beta):
    with pytest.raises((ValueError, TypeError), match="beta"):
        GPUCBOptimizer(bounds=[(0, 1)], beta=beta).ask()


def asked_of_a_saddle(noise, n, at_once=1, **parameters):
    """Settings asked for a bilinear function, whose largest value, 4, and 3 are at two corners."""
    bounds = {"x": (0, 1000), "y": (0.1, 0.2)}
    optimizer = GPUCBOptimizer(bounds=bounds, random_state=3, **parameters)
    rng, asked = np.random.default_rng(0), []
    for _ in range(n // at_once):
        for query in optimizer.ask(at_once):
            x, y = np.array(list(query.params.values())) * [2 / 1000, 20] - [1, 3]
            asked.append(tuple(query.params.values()))
            value = 3 * x * y + 0.5 * (x + y) + np.sin(3 * x)
            optimizer.tell(query, value + noise * rng.normal())
    return asked


def most_repeated(asked):
    """How often the setting that was asked most often was asked."""
    return max(map(asked.count, asked))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("at_once", [1, 4])
def test_for_a_small_simple_regret_exact_answers_are_not_asked_for_again(at_once):
    assert most_repeated(asked_of_a_saddle(0.0, 40, at_once, regret="simple")) <= 3
    assert most_repeated(asked_of_a_saddle(0.0, 40, at_once, beta=4.0)) >= 6


def test_under_noise_nothing_is_known_and_the_bonus_stays(monkeypatch):
    monkeypatch.setattr(defaults, "EXPLORATION_PERIOD", {})
    simple = asked_of_a_saddle(0.3, 30, alpha=0.09, regret="simple")
    assert simple == asked_of_a_saddle(0.3, 30, alpha=0.09, beta=4.0)


def far(d, n=32, noise=0.1, at_once=1, **parameters):
    """Rounds, from 0, in which the candidate farthest from all that was asked is asked."""
    parameters = {"regret": "simple", "random_state": 0} | parameters
    optimizer = GPUCBOptimizer(bounds=[(0, 10), (2, 3), (0, 1)][:d], **parameters)
    rng, asked, rounds = np.random.default_rng(0), np.empty((0, d)), []
    for i in range(0, n, at_once):
        candidates = cases.rows(optimizer.start())[:, -d:]
        for j, query in enumerate(optimizer.ask(at_once)):
            x = query.points[0, -d:]
            side = np.ptp(candidates, axis=0)
            if len(asked):
                gaps = np.linalg.norm((candidates[:, None] - asked) / side, axis=2).min(axis=1)
                if np.linalg.norm((x - asked) / side, axis=1).min() == gaps.max():
                    rounds.append(i + j)
            asked = np.vstack([asked, x])
            optimizer.tell(query, float(np.cos(x).sum()) + noise * rng.standard_normal())
    return [each for each in rounds if each >= 10]


def test_under_noise_every_third_or_fifth_query_is_the_one_farthest_from_all_others():
    # Whether there is noise is known once a query was asked again, at the latest after 16 answers.
    assert far(1)[-4:] == [21, 24, 27, 30]
    assert far(2)[-3:] == [20, 25, 30]
    assert far(2, alpha=0.01) == [10, 15, 20, 25, 30]
    assert far(2, at_once=4)[-3:] == [20, 25, 30]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("d", "others"),
    [
        (2, {"noise": 0.0}),
        (3, {}),
        (2, {"regret": "cumulative"}),
        (2, {"beta": 4.0}),
        (2, {"kernel": RBF(1.0), "alpha": 0.01, "n_initial": 10}),
        (2, {"horizon": 12}),
    ],
)
def test_otherwise_no_query_is_asked_because_it_is_far(d, others):
    rounds = far(d, **others)
    assert not {15, 20, 25} <= set(rounds)


def test_no_query_is_far_once_all_are_near():
    assert far(1, n=22, alpha=0.01, n_initial=10) == [12, 15, 18, 21]
    steps = GPUCBOptimizer(bounds={"n": range(1, 9)}, regret="simple", alpha=0.01, random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        query = steps.ask()
        steps.tell(query, np.sin(query.params["n"]) + 0.1 * rng.standard_normal())
        round = steps.posterior()
        bound = round.mean + np.sqrt(steps.exploration(round)) * round.std
        if round.t > 10:  # all eight were asked
            np.testing.assert_array_equal(steps.acquisition(round), bound)


@pytest.mark.parametrize(
    "sets", [{"arms": np.linspace(0, 1, 40)[:, None]}, {"queries": Cells(0.1)}]
)
def test_among_arms_and_cells_no_query_is_asked_because_it_is_far(sets):
    given = {"regret": "simple", "alpha": 0.01, "n_initial": 4, "n_candidates": 30}
    optimizer = GPUCBOptimizer(bounds=None if "arms" in sets else [(0, 1)], **given, **sets)
    rng = np.random.default_rng(0)
    for _ in range(12):
        round = optimizer.posterior()
        bound = round.mean + np.sqrt(optimizer.exploration(round)) * round.std
        np.testing.assert_array_equal(optimizer.acquisition(round), bound)
        query = optimizer.ask()
        optimizer.tell(query, np.sin(5 * query.points).mean() + 0.1 * rng.standard_normal())


@pytest.mark.slow
def test_a_narrow_peak_next_to_a_hill_is_found():
    """Of 100 such runs none missed it, 21 did without far queries, and 38 of the default."""
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 7])
        hill, peak = rng.random(2), rng.random(2)
        optimizer = GPUCBOptimizer(bounds=[(0, 1)] * 2, regret="simple", random_state=seed)

        def value(x, hill=hill, peak=peak):
            parts = ((0.7, hill, 0.25), (1.0, peak, 0.15))
            return max(h * np.exp(-((x - c) ** 2).sum() / 2 / s**2) for h, c, s in parts)

        for _ in range(100):
            query = optimizer.ask()
            optimizer.tell(query, value(query.points[0]) + 0.1 * rng.standard_normal())
        missed += value(optimizer.recommend().points[0]) < 0.8
    assert missed <= 2  # more have a probability of 0.007 at one in fifty


def test_in_contexts_what_is_known_is_known_in_its_own():
    """Where the bonus is wider, the best known setting of this context is not asked again."""
    optimizer = GPUCBOptimizer(
        bounds=[(0, 1)] * 2, context_bounds=[(0, 1)], regret="simple", random_state=0
    )
    asked, n_wider = {0.2: [], 0.8: []}, 0
    for i in range(40):
        context = [0.2, 0.8][i % 2]
        query = optimizer.ask(context=[context])
        x, y = query.points[0, 1:]
        if optimizer.exploration(optimizer.posterior([])) > 4.0:
            n_wider += 1
            assert (x, y) not in asked[context]
        asked[context].append((x, y))
        optimizer.tell(query, 3 * x * y + 0.5 * (x + y) + context + np.sin(3 * x))
    assert n_wider >= 5


def test_a_table_of_exact_answers_is_exploited_unless_the_end_counts():
    """Arms are pulled again for what they give; for the recommendation this would say nothing."""
    distinct, arms = {}, np.linspace(0, 1, 60)[:, None]
    values = np.sin(5 * arms[:, 0]) + 0.5 * np.random.default_rng(0).standard_normal(60)
    for regret in ("cumulative", "simple"):
        optimizer = GPUCBOptimizer(arms=arms, regret=regret, random_state=0)
        optimizer.run(lambda arm: float(values[arm.index]), 40)
        distinct[regret] = len(np.unique(optimizer.history_["reward"]))
    assert distinct["cumulative"] < 35 <= distinct["simple"]


def test_if_every_setting_is_known_the_bonus_stays():
    optimizer = GPUCBOptimizer(bounds={"n": [1, 2, 3]}, regret="simple", random_state=0)
    for _ in range(12):
        query = optimizer.ask()
        optimizer.tell(query, float(query.params["n"]))
    assert optimizer.exploration(optimizer.posterior()) == 6.0  # three times that of numbers


@pytest.mark.parametrize(
    ("d", "parameters", "expected"),
    [
        (7, {}, 4.0),
        (8, {}, 9.0),
        (8, {"alpha": None}, 2.0),
        (8, {"regret": "cumulative"}, 2.0),
        (8, {"horizon": 40}, 16.0),
        (8, {"kernel": RBF(0.3)}, 4.0),
    ],
)
def test_in_a_box_of_many_numbers_more_is_explored_for_the_end(d, parameters, expected):
    parameters = {"regret": "simple", "alpha": 0.01, **parameters}
    optimizer = GPUCBOptimizer(bounds=[(0, 1)] * d, random_state=0, **parameters)
    assert optimizer.exploration(optimizer.posterior()) == expected


def test_for_the_end_more_is_explored_once_answers_to_a_query_have_differed():
    for spread, expected in ((0.0, 2.0), (0.5, 4.0)):
        optimizer = GPUCBOptimizer(bounds=[(0, 1)], regret="simple", random_state=0)
        for x in np.linspace(0, 1, 6):
            optimizer.tell([x], np.sin(3 * x))
            assert optimizer.exploration(optimizer.posterior()) == 2.0
        optimizer.tell([x], np.sin(3 * x) + spread)
        assert optimizer.exploration(optimizer.posterior()) == expected


def test_beta_is_doubled_until_the_best_setting_by_the_bounds_was_not_asked_or_is_uncertain():
    rng, n_doubled = np.random.default_rng(0), []
    for d in [1, 2] * 12:
        rows = rng.random((30, d)) * [[1.0, 1000.0][:d]]
        mean, std = rng.normal(size=30), rng.choice([1e-9, 0.02, 0.1], size=30)
        mean[np.argmax(mean)] += 0.5
        # Some answers are at another value of the last side.
        asked = rows[rng.random(30) < 0.7] + 1e-9
        asked[:, -1] += np.where(rng.random(len(asked)) < 0.3, 1.0, 0.0)
        arms = SimpleNamespace(rows=rows)
        model = SimpleNamespace(diagnosis=SimpleNamespace(noise=["some", "none"][d - 1]))
        asked_rows = partial(np.asarray, asked)
        exploration = Exploration("simple", None, True, arms, None, asked_rows, model)
        near = 1e-6 * np.ptp(rows, axis=0)
        known = [any(np.all(abs(x - row) <= near) for x in asked) for row in rows]
        if model.diagnosis.noise == "some":
            known &= std < defaults.NEGLIGIBLE * np.ptp(mean)
        n = next((n for n in range(40) if not known[np.argmax(mean + sqrt(3.0 * 2**n) * std)]), 0)
        round = SimpleNamespace(mean=mean, std=std)
        assert exploration._double_beta_until_uncertain(3.0, round) == 3.0 * 2.0**n
        n_doubled.append(n)
    assert len(set(n_doubled)) > 2


@pytest.mark.parametrize(("d", "period"), [(1, 3), (2, 5)])
def test_the_distances_from_all_queries_are_in_sides_of_the_candidates(d, period):
    rng = np.random.default_rng(0)
    rows, asked = rng.random((20, d)) * [[3.0, 50.0][:d]], rng.random((6, d)) * [[3.0, 50.0][:d]]
    asked[0] = rows[0]
    layout = SimpleNamespace(n_sides=d, n_context=0)
    arms = SimpleNamespace(rows=rows, layout=layout, is_discretization=True)
    model = SimpleNamespace(diagnosis=SimpleNamespace(noise="some"))
    exploration = Exploration("simple", None, True, arms, arms, lambda: asked, model)
    far = [exploration._distances_from_queries(SimpleNamespace(t=t)) for t in range(1, 14)]
    in_some = [t for t, each in enumerate(far, start=1) if each is not None]
    assert in_some == [t for t in range(2, 14) if t % period == 1]
    side = rows.max(axis=0) - rows.min(axis=0)
    expected = [min(np.sqrt(np.sum(((x - q) / side) ** 2)) for q in asked) for x in rows]
    np.testing.assert_allclose(far[period], expected, atol=1e-12)
    # Candidates may all have one value on a side; no distance is left once all were asked.
    rows[:, -1] = asked[:, -1] = 7.0
    side[-1] = 1.0
    expected = [min(np.sqrt(np.sum(((x - q) / side) ** 2)) for q in asked) for x in rows]
    found = exploration._distances_from_queries(SimpleNamespace(t=period + 1))
    assert found is None if d == 1 else np.allclose(found, expected)

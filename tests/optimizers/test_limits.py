"""Limits on other outcomes: each has a model, and the search weighs by whether limits hold."""

import pickle
import warnings
from math import inf, prod
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    DAGPUCBOptimizer,
    EIOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    IDSOptimizer,
    KGOptimizer,
    MESOptimizer,
    PIOptimizer,
    Stop,
    defaults,
)
from skgpb.domains import Box
from skgpb.exceptions import LimitWarning
from skgpb.optimizers._feasibility import (
    AnswerWithOutcomes,
    Feasibility,
    NumberWithinEnds,
    OutcomeConstraints,
    probability_between,
    with_means,
)
from skgpb.optimizers._stopping import greedy_batch
from skgpb.plotting import RegretDisplay
from skgpb.surrogate import GaussianProcess
from skgpb.surrogate.exactness import with_smoothness

LIMITS = {"heat": (None, 1.2), "acid": (0.2, 0.9)}
ENDS = {"heat": (-inf, 1.2), "acid": (0.2, 0.9)}
ARMS = np.random.default_rng(0).random((60, 2))
RULES = {
    "ucb": (GPUCBOptimizer, {}),
    "simple": (GPUCBOptimizer, {"regret": "simple"}),
    "ei": (EIOptimizer, {}),
    "pi": (PIOptimizer, {}),
    "ts": (GPTSOptimizer, {}),
    "mes": (MESOptimizer, {}),
    "kg": (KGOptimizer, {}),
    "ids": (IDSOptimizer, {}),
    "dagp": (DAGPUCBOptimizer, {}),
}


def value(x):
    return float(x[0] + 0.5 * x[1])


def outcomes(x):
    """Limits cut off the corner where the value is largest."""
    return {"heat": float(x[0] + x[1] ** 2), "acid": float(0.3 + 0.5 * np.sin(3.0 * x[0]))}


def point(query):
    return query.points.mean(axis=0)


def keeps(x):
    found = outcomes(x)
    return found["heat"] <= 1.2 and 0.2 <= found["acid"] <= 0.9


def play(optimizer, n, measured=outcomes):
    """Play n rounds; return for each whether a limit was not kept."""
    beyond = []
    for _ in range(n):
        query = optimizer.ask()
        x = point(query)
        beyond.append(not keeps(x))
        optimizer.tell(query, value(x), outcomes=measured(x))
    return beyond


def refitted(model, X, smoothness=None):
    """Mean and deviation at X, and log density, by scikit-learn, of the answers to a model."""
    process, samples = model.process, model.samples
    rows = np.array([process.observed[i][0] for i in samples.functional])
    y = (np.array(samples.reward) - process.offset) / process.scale
    noise = model.noise_of(np.nan) / process.scale**2
    kernel = clone(process.kernel)
    if smoothness is not None:
        kernel.k2.nu = smoothness
    regressor = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(rows, y)
    mean, std = regressor.predict(X, return_std=True)
    return mean, std, regressor.log_marginal_likelihood_value_


def probabilities(optimizer, X):
    """Naive product of the probabilities that each limit holds, averaged over two smoothnesses."""
    out = np.ones(len(X))
    for name, (low, high) in LIMITS.items():
        model = cases.outcome_model(optimizer, name)
        process, hold, weights = model.process, [], []
        ends = [(e - process.offset) / process.scale for e in (low or -inf, high or inf)]
        for smoothness in [None] if optimizer.kernel is not None else [None, 0.5]:
            mean, std, density = refitted(model, X, smoothness)
            hold.append(norm.cdf((ends[1] - mean) / std) - norm.cdf((ends[0] - mean) / std))
            odds = defaults.ROUGH_OUTCOME_ODDS if smoothness else 1.0
            weights.append(odds * np.exp(density))
        out *= np.average(hold, axis=0, weights=weights)
    return out


def noisy(rng):
    def measured(x):
        return {name: each + 0.1 * rng.normal() for name, each in outcomes(x).items()}

    return measured


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kernel", [None, RBF(0.4)], ids=["learned", "given"])
@pytest.mark.parametrize("rule", ["ucb", "ei"])
def test_weights_are_naive_probabilities_times_improvements(rule, kernel):
    cls = RULES[rule][0]
    given = {} if kernel is None else {"alpha": 0.01}
    optimizer = cls(kernel, arms=ARMS, limits=LIMITS, random_state=0, n_initial=8, **given)
    rng = np.random.default_rng(1)
    for i in range(16):
        query = optimizer.ask()
        told = value(point(query)) + 0.1 * rng.normal()
        optimizer.tell(query, told, outcomes=noisy(rng)(point(query)) if i else None)
    round, found = optimizer._scored_round()
    mean, std, _ = refitted(optimizer._model, ARMS)
    hold = probabilities(optimizer, ARMS)
    asked = np.array(sorted(set(optimizer._model.process.observed.rows[:, 0])))
    known = np.isin(ARMS[:, 0], asked) & (hold >= defaults.SURE)
    base = mean[known].max()
    if rule == "ei":
        z = (mean - base) / std
        expected = std * (z * norm.cdf(z) + norm.pdf(z)) * hold
        found = np.exp(found)
    else:
        beta = optimizer.exploration(round)
        expected = base + hold * (mean + np.sqrt(beta) * std - base)
    some = hold > 0.05
    assert some.sum() > 20 and not some.all()
    assert_allclose(found[some], expected[some], rtol=1e-8, atol=1e-8)
    assert_allclose(optimizer.predict_within_limits(ARMS), hold, atol=1e-8)


def test_pending_queries_teach_limits_what_is_expected():
    optimizer = EIOptimizer(arms=ARMS, limits=LIMITS, random_state=0)
    play(optimizer, 14)
    queries = optimizer.ask(3)
    blocks = [query.descriptor[np.newaxis] for query in queries]
    hold = np.ones(len(ARMS))
    for name, ends in ENDS.items():
        model = cases.outcome_model(optimizer, name)
        told = model.process.copy()
        for block in blocks:
            told.observe(block, float(told.moments([block])[0]), model.alpha)
        rough = told.with_kernel(with_smoothness(told.kernel, 0.5), told.merged())
        each = [told, rough]
        held = [probability_between(*ends, *gp.moments(ARMS, std=True)) for gp in each]
        densities = [gp.posterior.log_marginal_likelihood() for gp in each]
        weights = np.exp(np.array(densities) - max(densities)) * [1.0, defaults.ROUGH_OUTCOME_ODDS]
        hold *= np.average(held, axis=0, weights=weights)
    limits = optimizer._feasibility(expecting=True).limits
    assert_allclose(limits.probability(ARMS), hold, atol=1e-9)
    assert len({query.index for query in queries}) == 3


@pytest.mark.one_in(10)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_leaves_alone_what_is_beyond(rule):
    cls, given = RULES[rule]
    optimizer = cls(bounds=[(0, 1)] * 2, limits=LIMITS, random_state=3, **given)
    beyond = play(optimizer, 35)
    # What is learned beyond a limit says something of what is within, and that is all KG looks at.
    assert rule == "kg" or sum(beyond[-10:]) <= 5
    assert keeps(point(optimizer.recommend()))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["simple", "ei"])
def test_the_best_within_limits_is_found(rule):
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), -1).reshape(-1, 2)
    best = max(value(x) for x in grid if keeps(x))
    for seed in range(3):
        cls, given = RULES[rule]
        optimizer = cls(bounds=[(0, 1)] * 2, limits=LIMITS, random_state=seed, **given)
        play(optimizer, 35)
        x = point(optimizer.recommend())
        assert keeps(x) and value(x) > 0.98 * best


def test_lists_and_constraints():
    bounds = {"level": list("abc"), "x": (0.0, 1.0), "y": (0.0, 1.0)}
    box = Box(bounds, ["x + y <= 1.2"])
    optimizer = EIOptimizer(bounds=box, limits={"heat": (None, 1.0)}, random_state=0)
    for _ in range(30):
        query = optimizer.ask()
        level, x, y = query.params.values()
        assert x + y <= 1.2 + 1e-9
        told = {"heat": x + 0.5 * (level == "c")}
        optimizer.tell(query, x + y + 0.2 * (level == "c"), outcomes=told)
    level, x, y = optimizer.recommend().params.values()
    assert x + 0.5 * (level == "c") <= 1.0 and x + y + 0.2 * (level == "c") > 1.3


def test_a_kernel_of_the_user_is_learned_for_outcomes_as_for_the_reward():
    for optimizer, learns in (("fmin_l_bfgs_b", True), (None, False), ("consistent", False)):
        search = GPUCBOptimizer(
            RBF(2.0), bounds=[(0, 1)], alpha=0.01, limits=LIMITS, optimizer=optimizer
        )
        for x in np.linspace(0, 1, 9):
            search.tell([x], x, outcomes={"heat": np.sin(9 * x), "acid": None})
        kernel = cases.outcome_model(search, "heat").process.kernel
        assert (kernel.theta != np.log(2.0)).all() == learns


def test_what_is_known_to_be_beyond_is_never_recommended():
    arms = np.linspace(0, 1, 11)[:, np.newaxis]
    optimizer = EIOptimizer(arms=arms, limits={"heat": (None, 0.75)}, random_state=0)
    for i in (*range(11), 10):
        optimizer.tell(arms[i], float(arms[i, 0]), outcomes={"heat": float(arms[i, 0])})
        best = optimizer.recommend()
        # None of them is recommended before something else is known.
        assert best.index <= 7 or i < 1
    assert best.index == 7
    for method in ("best_observed", "shrinkage"):
        assert optimizer.recommend(method).index <= 7


def test_where_all_answers_are_beyond_another_target_is_recommended():
    arms = np.linspace(0, 1, 11)[:, np.newaxis]
    optimizer = EIOptimizer(arms=arms, limits={"heat": (None, 0.35)}, random_state=0)
    for i in (10, 9, 8, 7, 6, 5):
        optimizer.tell(arms[i], float(arms[i, 0]), outcomes={"heat": float(arms[i, 0])})
    assert optimizer.recommend().index <= 3
    with pytest.raises(ValueError, match="needs an answered query"):
        optimizer.recommend("best_observed")


@pytest.mark.parametrize("context", [None, [0.5]])
def test_where_no_limit_can_hold_the_least_beyond_is_recommended(context):
    """However improbable, and in a context as well."""
    bounds = {} if context is None else {"context_bounds": [(0, 1)]}
    optimizer = EIOptimizer(bounds=[(0, 1)], limits={"heat": (None, 0)}, random_state=0, **bounds)
    for _ in range(12):
        query = optimizer.ask() if context is None else optimizer.ask(context=context)
        x = query.points[0, -1]
        optimizer.tell(query, x, outcomes={"heat": 1 + x})
    best = optimizer.recommend(context=context)
    assert best.points[0, -1] < 0.1
    assert optimizer.predict_within_limits(best.points)[0] < 1e-9


@pytest.mark.parametrize("best", [1.0, 0.02, 0.0101, 0.0099, 0.004, 1e-9])
def test_the_setting_that_holds_most_probably_is_never_hopeless(best):
    shares = np.array([1.0, 0.9, 0.51, 0.49, 0.1, 0.01, 0.0])

    class Known(OutcomeConstraints):
        def probability(self, rows):
            return best * shares[: len(rows)]

    hopeless = Known([]).hopeless_mask(np.zeros((7, 1)))
    expected = best * shares < min(defaults.HOPELESS_OF_LIMITS, 0.5 * best)
    assert hopeless.tolist() == expected.tolist() and not hopeless[:3].any() and hopeless[-1]
    assert Known([]).hopeless_mask(np.zeros((0, 1))).tolist() == []


def test_a_missing_measurement_is_only_missing_there():
    optimizer = EIOptimizer(arms=ARMS, limits=LIMITS, random_state=0)
    play(optimizer, 6)
    query = optimizer.ask()
    # That outlet and inlet are spelt alike does not matter where it is said what was not measured.
    optimizer.tell(query, 0.5, outcomes={"heat": None, "heat2": 0.3, "acid": 0.4})
    optimizer.tell(optimizer.ask(), 0.5)
    counts = [cases.outcome_model(optimizer, name).n_answers for name in LIMITS]
    assert counts == [6, 7] and optimizer._model.n_answers == 8


def test_before_anything_was_measured_limits_do_not_count():
    plain, limited = (
        EIOptimizer(arms=ARMS, limits=each, random_state=0) for each in (None, LIMITS)
    )
    for optimizer in (plain, limited):
        for _ in range(14):
            query = optimizer.ask()
            optimizer.tell(query, value(point(query)))
    assert plain.ask() == limited.ask() and plain.recommend() == limited.recommend()
    assert_array_equal(limited.predict_within_limits(ARMS), 1.0)


def test_outcomes_without_a_limit_change_nothing():
    plain, noted = (EIOptimizer(bounds=[(0, 1)] * 2, random_state=0) for _ in range(2))
    for _ in range(16):
        queries = [optimizer.ask() for optimizer in (plain, noted)]
        assert_array_equal(queries[0].points, queries[1].points)
        x = point(queries[0])
        plain.tell(queries[0], value(x))
        noted.tell(queries[1], value(x), outcomes=outcomes(x))
    # A limit counts from the start, whenever it comes.
    early = EIOptimizer(bounds=[(0, 1)] * 2, limits=LIMITS, random_state=0)
    for kind, query, *rest in noted._events:
        if kind == "tell":
            early.tell(query, rest[0], outcomes=outcomes(point(query)))
    noted.set_params(limits=LIMITS)
    X = np.random.default_rng(0).random((20, 2))
    assert_allclose(noted.predict_within_limits(X), early.predict_within_limits(X), atol=1e-9)


@pytest.mark.slow
def test_it_follows_from_the_record(tmp_path):
    """Looking, pickles, files and repeated runs change nothing."""
    make = {"bounds": [(0, 1)] * 2, "limits": LIMITS, "random_state": 1}
    plain, looked = EIOptimizer(**make), EIOptimizer(**make)
    for turn in range(26):
        queries = [optimizer.ask() for optimizer in (plain, looked)]
        assert_array_equal(queries[0].points, queries[1].points)
        x = point(queries[0])
        for optimizer in (plain, looked):
            if turn == 13:
                optimizer.tell(queries[0], None)
            else:
                optimizer.tell(queries[0], value(x), outcomes=outcomes(x) if turn % 5 else None)
        if len(looked.history_):
            looked.recommend()
            looked.predict_within_limits([x])
        if turn == 17:
            looked = pickle.loads(pickle.dumps(looked))
        if turn == 22:
            looked.save(tmp_path / "run")
            looked = EIOptimizer.load(tmp_path / "run")
    assert_array_equal(plain.recommend().points, looked.recommend().points)
    again = plain._repeat_events(plain._events)
    assert [event[:1] for event in again._events] == [event[:1] for event in plain._events]
    assert_array_equal(plain.recommend().points, again.recommend().points)


def measure(query):
    return value(point(query)), outcomes(point(query))


def test_an_objective_returns_what_it_measured():
    optimizer = GPUCBOptimizer(bounds=[(0, 1)] * 2, limits=LIMITS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = optimizer.run(measure, 25, verbose=2)
    assert keeps(point(result.x)) and result.nfail == 0
    assert cases.outcome_model(optimizer, "heat").n_answers == 25
    assert pickle.loads(pickle.dumps(AnswerWithOutcomes(1.0, {"a": 2}))).outcomes == {"a": 2.0}


def test_the_gap_is_to_what_may_be_within_limits():
    """Else a limit that excludes the best would never let a run stop."""
    limited, plain = (
        EIOptimizer(arms=ARMS, limits=each, random_state=0) for each in (LIMITS, None)
    )
    play(limited, 40)
    for kind, query, *rest in limited._events:
        if kind == "tell":
            plain.tell(query, rest[0])
    best, other = plain.recommend(), limited.recommend()
    assert best != other
    assert limited.gap() < value(point(best)) - value(point(other))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("is_number", [True, False])
@pytest.mark.parametrize("kernel", [None, RBF(0.4)], ids=["learned", "given"])
def test_the_gap_is_that_of_outcomes_which_are_drawn_jointly_with_f(kernel, is_number):
    limits, rng = ({"heat": (None, 1.2)} if is_number else {"ok": True}), np.random.default_rng(0)
    optimizer = EIOptimizer(kernel, arms=ARMS, limits=limits, random_state=0)
    for _ in range(25):
        query = optimizer.ask()
        x = point(query)
        heat = outcomes(x)["heat"] + 0.05 * rng.normal()
        told = {"heat": heat, "ok": heat <= 1.2}
        optimizer.tell(query, value(x) + 0.1 * rng.normal(), outcomes=told)
    comparison = optimizer._comparison(optimizer.recommend())
    row_sets, n_draws = comparison.row_sets(), 4000
    rows = np.concatenate(row_sets)
    models = comparison.models()
    if models is None:
        f = rng.multivariate_normal(*optimizer._model.process.moments(rows, cov=True), n_draws)
    else:
        f = models.draws(rows, n_draws, np.random.RandomState(0))
    limits = optimizer._feasibility().limits
    kept = limits.sampler(row_sets)(n_draws, rng)
    # Outcomes are drawn with the probabilities that are said of them.
    assert_allclose(kept.mean(axis=0), limits.certain_probability(row_sets), atol=0.05)
    losses = np.where(kept, f - f[:, -1:], -inf).max(axis=1)
    for delta in (0.05, 0.3):
        gap = optimizer.gap(delta)
        share = np.mean(losses > gap + 1e-9)
        error = np.sqrt(delta * (1.0 - delta) * (1 / 2048 + 1 / n_draws))
        assert abs(share - delta) < 4.0 * error or (gap == 0.0 and share < delta)
    assert comparison.gap(0.05, np.random.default_rng(0)) <= comparison.gap(
        0.01, np.random.default_rng(0)
    )


def test_a_gap_is_infinite_while_the_recommendation_may_violate_a_limit():
    optimizer = EIOptimizer(arms=ARMS, limits={"heat": (None, -5.0)}, random_state=0)
    play(optimizer, 12)
    comparison = optimizer._comparison(optimizer.recommend())
    assert optimizer.gap() == optimizer.gap(bound="interval") == inf
    assert np.isnan(comparison.expected_gain(0.01, 10))
    assert not comparison.is_within(1e6, (0.025, 0.01), np.random.default_rng(0))
    result = optimizer.run(lambda query: (0.0, outcomes(point(query))), 1, stop=Stop(1e6))
    assert result.gap == inf and "best is at most" not in repr(result)
    never = EIOptimizer(arms=ARMS, limits={"heat": (None, 9.0), "x": (0, 1)}, random_state=0)
    with pytest.warns(LimitWarning):
        play(never, 12)
    assert never.gap() == inf  # of one outcome nothing is known


@pytest.mark.slow
def test_the_gain_under_limits_is_that_of_answers_which_are_simulated():
    optimizer = EIOptimizer(
        RBF(0.4), arms=ARMS, alpha=0.01, limits={"heat": (None, 0.9)}, random_state=0
    )
    rng = np.random.default_rng(0)
    for _ in range(12):
        x = point(query := optimizer.ask())
        heat = outcomes(x)["heat"] + 0.1 * rng.normal()
        optimizer.tell(query, value(x) + 0.1 * rng.normal(), outcomes={"heat": heat})
    comparison, limits = (
        optimizer._comparison(optimizer.recommend()),
        optimizer._feasibility().limits,
    )
    row_sets, gp = comparison.row_sets(), optimizer._model.process
    chosen = greedy_batch(gp, row_sets, 0.01, 4, limits)
    p = limits.probability([row_sets[i] for i in chosen])
    assert (p > 0.1).all() and (p < 0.99).any()
    rows = np.concatenate([*(row_sets[i] for i in chosen), row_sets[-1]])
    mean, cov = gp.moments(rows, cov=True)
    kept = limits.sampler(list(rows[:-1, np.newaxis]))(1500, rng)
    gains = []
    for f, mask in zip(rng.multivariate_normal(mean, cov, 1500), kept, strict=True):
        later = gp.copy()
        for i in range(4):
            later.observe(rows[[i]], f[i] + 0.1 * rng.normal(), 0.01)
        means = later.moments(rows)
        gains.append(max(means[-1], means[:-1][mask].max(initial=-inf)) - mean[-1])
    error = np.std(gains) / np.sqrt(256)
    assert abs(np.mean(gains) - comparison.expected_gain(0.01, 4)) < 3.0 * error
    assert np.mean(gains) > 3.0 * error


def test_reading_a_gap_later_is_reading_it_then():
    optimizer = EIOptimizer(arms=ARMS, limits=LIMITS, random_state=0)
    play(optimizer, 20)
    later = optimizer._comparison(optimizer.recommend())
    before = later.gap(0.05, np.random.default_rng(0))
    play(optimizer, 10)
    assert later.gap(0.05, np.random.default_rng(0)) == before


def test_several_answers_at_once():
    optimizer = EIOptimizer(arms=ARMS, limits=LIMITS, random_state=0)
    queries = optimizer.ask(4)
    points = [point(query) for query in queries]
    optimizer.tell(queries, [value(x) for x in points], outcomes=[outcomes(x) for x in points])
    assert cases.outcome_model(optimizer, "acid").n_answers == 4


@pytest.mark.parametrize(
    "limits",
    [
        *(["heat"], {"heat": 3.0}, {"heat": (None, None)}, {"heat": (2.0, 1.0)}),
        *({"heat": (None, "a")}, {"heat": ("a", 1.0)}, {"heat": (np.nan, 1.0)}),
    ],
)
def test_limits_are_checked(limits):
    with pytest.raises(ValueError, match="limits must"):
        EIOptimizer(bounds=[(0, 1)], limits=limits).ask()


@pytest.mark.parametrize(
    ("reward", "told", "said"),
    [
        (1.0, {"heat": "a"}, "'heat': 'a'"),
        (1.0, {"heat": inf}, "'heat': inf"),
        (1.0, {1: 2.0}, "1: 2.0"),
        (1.0, [2.0], "outcomes must be a dict"),
        (1.0, {"Heat": 1.0, "acid": 0.4}, "'Heat', which has no limit, and not 'heat'"),
        (1.0, {"heat": 1.0, "acidd": 0.4}, "write 'acid', or tell 'acid': None as well"),
    ],
)
def test_what_is_told_is_checked_before_anything_changes(reward, told, said):
    optimizer = EIOptimizer(arms=ARMS, limits=LIMITS, random_state=0)
    query = optimizer.ask()
    before = len(optimizer._events)
    with pytest.raises(ValueError, match=said):
        optimizer.tell(query, reward, outcomes=told)
    assert len(optimizer._events) == before and optimizer.ask() == query


def test_a_cell_is_not_recommended_under_limits():
    optimizer = EIOptimizer(bounds=[(0, 1)] * 2, limits=LIMITS, random_state=0)
    play(optimizer, 12)
    with pytest.raises(ValueError, match="searches with limits"):
        optimizer.recommend(side=0.2)


def unmeasured(query):
    return value(point(query))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer, KGOptimizer])
def test_the_first_answer_without_what_has_a_limit_warns_however_it_is_told(cls, tmp_path):
    def begun():
        return cls(bounds=[(0, 1)] * 2, limits={"heat": (None, 1.2)}, random_state=0)

    with pytest.warns(LimitWarning, match="'heat' has a limit") as said:
        result = begun().run(unmeasured, 5)
    assert len(said) == 1
    with pytest.warns(LimitWarning, match=r"\('impurity' did\)") as said:
        begun().run(lambda query: (unmeasured(query), {"impurity": 1.0}), 5)
    assert len(said) == 1
    X = np.random.default_rng(0).random((4, 2))
    y = [value(x) for x in X]
    with pytest.warns(LimitWarning, match="the answers, so") as said:
        optimizer = begun().fit(X, y)
    with pytest.warns(LimitWarning) as of_tell:
        begun().tell(X, y)
    assert len(said) == len(of_tell) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.tell(X[0], y[0])  # it is known already
        begun().tell(X[0], y[0], outcomes={"heat": None})
        begun().tell(X[0], None)
        other = begun().tell(X[0], y[0], outcomes={"heat": 0.5})
        other.save(tmp_path / "run")
        loaded = cls.load(tmp_path / "run")
    for each in (other, loaded):
        with pytest.warns(LimitWarning):
            each.tell(X[1], y[1])
        (known,) = each.run(unmeasured, 2).limits
        assert known["n_answers"] == 1 and 0.0 <= known["probability"] <= 1.0
    assert "heat, at most 1.2: not known, none of 5 answers has it" in str(result)
    assert "best is at most" not in str(result)  # it may violate the limit
    (unknown,) = result.limits
    assert unknown["n_answers"] == 0 and unknown["probability"] is unknown["mean"] is None


def test_a_result_says_of_each_limit_whether_it_holds_at_the_recommendation():
    optimizer = EIOptimizer(bounds=[(0, 1)] * 2, limits=LIMITS, random_state=0)
    play(optimizer, 12)
    result = optimizer.run(lambda q: (value(point(q)), outcomes(point(q))), 2)
    assert [each["name"] for each in result.limits] == list(LIMITS)
    assert_allclose(
        prod(each["probability"] for each in result.limits),
        optimizer.predict_within_limits(result.x.points),
    )
    lines = [line for line in str(result).splitlines() if line.startswith("limit ")]
    assert len(lines) == 2 and all(line.endswith("14 of 14 answers have it") for line in lines)
    assert pickle.loads(pickle.dumps(result)).limits == result.limits
    assert EIOptimizer(bounds=[(0, 1)]).run(lambda q: q.points[0, 0], 2).limits == []


def test_the_best_so_far_is_within_the_limits(capsys):
    answers = iter([(5.0, {"heat": 2.0}), (1.0, {"heat": 1.0}), (9.0, {"heat": 3.0}), (2.0, {})])
    optimizer = EIOptimizer(bounds=[(0, 1)], limits={"heat": (None, 1.2)}, random_state=0)
    with pytest.warns(LimitWarning):
        optimizer.run(lambda query: next(answers), 4, verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("last ")[1].split("  0:")[0] for line in lines] == [
        "5",
        "1  best 1",
        "9  best 1",
        "2  best 2",
    ]
    shown = RegretDisplay.from_optimizer(optimizer, kind="best").regret
    assert_array_equal(shown, [np.nan, 1.0, 1.0, 2.0])


def test_an_outcome_at_a_limit_is_within_it_and_one_limit_is_enough_to_be_beyond():
    limits = {"acid": (0.2, 0.9), "heat": (None, 1.2)}
    optimizer = EIOptimizer(bounds=[(0, 1)], limits=limits, random_state=0)
    for answer, acid in [(1.0, 0.2), (2.0, 0.9), (3.0, 0.19), (4.0, 0.91)]:
        optimizer.tell(optimizer.ask(), answer, outcomes={"acid": acid, "heat": 1.2})
    with pytest.warns(LimitWarning):  # what was not measured is not beyond
        optimizer.tell(optimizer.ask(), 2.5)
    shown = RegretDisplay.from_optimizer(optimizer, kind="best").regret
    assert_array_equal(shown, [1.0, 2.0, 2.0, 2.0, 2.5])


@pytest.mark.slow
def test_a_result_says_where_predictions_are_for_another_query(monkeypatch):
    optimizer = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0)
    optimizer.run(lambda query: value(point(query)), 12)
    queries = optimizer.run_.told_queries()
    means = optimizer.predict_query(queries)
    assert len(optimizer._prediction_note(queries[means.argmax()])) == 0
    other = queries[means.argmin()]
    monkeypatch.setattr(optimizer, "recommend", lambda **kwargs: other)
    result = optimizer.run(lambda query: -1.0, 1)
    means = optimizer.predict_query(optimizer.run_.told_queries())
    said = result.model["predict"]
    assert f"expects {means.max():.6g} of {optimizer.run_.told_queries()[means.argmax()]!r}" in said
    assert f"and {result.fun:.6g} of the recommendation" in said and said in str(result)


@pytest.mark.parametrize("n_compared", [100, 3])
def test_of_many_queries_the_best_by_one_model_are_compared(n_compared, monkeypatch):
    monkeypatch.setattr("skgpb.optimizers.search.N_COMPARED", n_compared)
    optimizer = GPUCBOptimizer(bounds=[(0, 1)] * 2, direction="minimize", random_state=0)
    X = np.random.default_rng(0).random((14, 2))
    optimizer.tell(X, 5.0 - np.array([value(x) for x in X]))
    queries = optimizer.run_.told_queries()
    means = optimizer.predict_query(queries)
    best, worst = queries[means.argmin()], queries[means.argmax()]
    query, found = optimizer._better_predicted_query(worst, queries)
    assert query == best
    assert_allclose(found, [means.min(), means.max()])
    assert optimizer._better_predicted_query(best, queries) is None


def test_predictions_for_a_query_beyond_a_limit_are_no_reason():
    optimizer = EIOptimizer(bounds=[(0, 1)] * 2, limits=LIMITS, random_state=0)
    play(optimizer, 25)
    queries = optimizer.run_.told_queries()
    kept = [query for query in queries if keeps(point(query))]
    best = kept[int(optimizer.predict_query(kept).argmax())]
    assert optimizer.predict_query(queries).max() > optimizer.predict_query([best])[0]
    assert optimizer._prediction_note(best) == {}


@pytest.mark.parametrize("best", [None, 0.3])
def test_means_are_worth_what_is_left_of_them_by_failures_and_limits(best):
    gp = GaussianProcess(RBF(0.1), n_columns=1)
    for x, y in ((0.0, -2.0), (1.0, 1.0)):
        gp.observe(np.array([[x]]), y, noise=0.01)
    rows, means = np.linspace(0, 1, 6)[:, np.newaxis], np.array([-1.0, 0.2, 0.4, 0.4, 2.0, 0.0])
    p, q = np.array([0.5, 0.5, 0.5, 1e-4, 1.0, 0.0]), np.array([1.0, 0.5, 0.5, 1.0, 0.1, 0.5])
    limits = SimpleNamespace(
        weights=lambda _: p,
        base=lambda _: best,
        hopeless_mask=lambda _: p < 0.4,
        feasible_mask=lambda _: p > 0.4,
    )
    chances = SimpleNamespace(
        weights=lambda _: q,
        depends_on_query=True,
        hopeless_mask=lambda _: q < 0.2,
        feasible_mask=lambda _: q > 0.2,
    )
    feasibility = Feasibility(chances, limits, gp)
    # An improvement upon the best that is feasible counts from there, all else from the worst.
    base = np.where((p > 0.1) & (means > 0.3), 0.3 if best else -2.0, -2.0)
    within = base + p * (means - base)
    utility = feasibility.utility()
    assert_allclose(utility.of(rows, means, True), within)
    assert_allclose(utility.of(rows, means, False), -2.0 + q * (within + 2.0))
    assert utility.n_probes > 0 == Feasibility(chances, None, gp).utility().n_probes
    assert_allclose(Feasibility(chances, None, gp).utility().of(rows, means, True), means)
    both = with_means(utility, lambda rows: 10.0 * rows[:, 0])
    assert_allclose(both.of(rows, means, True), utility.of(rows, 10.0 * rows[:, 0], True))
    assert_array_equal(feasibility.hopeless_mask(rows), (p < 0.4) | (q < 0.2))
    assert_array_equal(feasibility.feasible_mask(rows), (p > 0.4) & (q > 0.2))
    masked = feasibility.mask_hopeless(means, rows)
    assert_array_equal(masked, np.where((p < 0.4) | (q < 0.2), -inf, means))
    without = Feasibility(None, None, gp)
    assert without.utility() is without.feasible_mask is None


def test_a_number_has_the_moments_and_the_probability_of_a_mixture():
    rows, (m, s) = np.zeros((3, 1)), np.array([[[0.0, 1.0, 9.0], [1.0, 2.0, 9.0]], [[1, 2, 1]] * 2])
    processes = [
        SimpleNamespace(moments=lambda _, std, i=i: (m[i], s[i]), scale=4.0) for i in range(2)
    ]
    number = NumberWithinEnds(-0.5, 1.5, processes, [0.3, 0.7])
    mean, std = number.moments(rows)
    assert_allclose(mean, 0.3 * m[0] + 0.7 * m[1])
    assert_allclose(std**2, 0.3 * (s[0] ** 2 + m[0] ** 2) + 0.7 * (s[1] ** 2 + m[1] ** 2) - mean**2)
    held = norm.cdf((1.5 - m) / s) - norm.cdf((-0.5 - m) / s)
    assert_allclose(number.probability(rows), [0.3, 0.7] @ held)
    assert_allclose(number.excess(rows), [0.0, 0.2 / 4, 7.5 / 4])
    below = NumberWithinEnds(9.5, 10.0, processes, [0.3, 0.7])
    assert_allclose(below.excess(rows), (9.5 - mean) / 4.0)
    both = OutcomeConstraints([number, below])
    assert_allclose(both.probability(rows), number.probability(rows) * below.probability(rows))
    assert both.nearest(rows) == np.argmax(both.probability(rows)) == 1
    far = OutcomeConstraints([NumberWithinEnds(-99.0, -98.0, processes, [0.3, 0.7])])
    assert far.nearest(rows) == 0 and (far.weights(rows) == 1e-9).all()


# -- outcomes that are yes or no -------------------------------------------------------------------

BELOW = 0.9  # the border of what passes, where the value is largest


def passes(x):
    return bool(x.sum() < BELOW)


def play_passes(optimizer, n, told=passes):
    seen = []
    for _ in range(n):
        query = optimizer.ask()
        x = point(query)
        seen.append(value(x) if passes(x) else np.nan)
        optimizer.tell(query, value(x), outcomes={"ok": told(x)})
    return seen


@pytest.mark.slow
def test_yes_or_no_finds_what_passes_as_well_as_failures_do():
    best = {"limit": [], "failures": []}
    for seed in range(6):
        optimizer = EIOptimizer(bounds=[(0, 1)] * 2, limits={"ok": True}, random_state=seed)
        seen = play_passes(optimizer, 40)
        best["limit"].append(np.nanmax(seen))
        x = point(optimizer.recommend())
        assert passes(x) and value(x) == pytest.approx(np.nanmax(seen))
        optimizer, seen = EIOptimizer(bounds=[(0, 1)] * 2, random_state=seed), []
        for _ in range(40):
            query = optimizer.ask()
            x = point(query)
            seen.append(value(x) if passes(x) else np.nan)
            optimizer.tell(query, None if np.isnan(seen[-1]) else seen[-1])
        best["failures"].append(np.nanmax(seen))
    assert np.median(best["limit"]) >= np.median(best["failures"])
    assert np.median(best["limit"]) > 0.88  # the optimum is 0.9


@pytest.mark.one_in(5)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_learns_yes_or_no(rule):
    cls, given = RULES[rule]
    optimizer = cls(bounds=[(0, 1)] * 2, limits={"ok": True}, random_state=3, **given)
    play_passes(optimizer, 20)
    assert passes(point(optimizer.recommend()))
    inside, outside = optimizer.predict_within_limits([[0.1, 0.1], [0.95, 0.95]])
    assert inside > 0.7 and outside < 0.2


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words", [(True, False), (1, 0), (1.0, 0.0), ("yes", "no"), ("Pass", "fail"), ("T", "F")]
)
def test_yes_or_no_is_told_in_many_words(words, tmp_path):
    """All mean the same, for the opposite limit as well, and in a file."""
    told = [
        EIOptimizer(bounds=[(0, 1)], limits={"ok": limit}, random_state=0)
        for limit in (True, np.False_, True)
    ]
    for i in range(14):
        x = (0.37 * i) % 1.0
        yes = x < 0.6
        told[0].tell([x], x, outcomes={"ok": words[not yes]})
        told[1].tell([x], x, outcomes={"ok": words[yes]})
        told[2].tell([x], x, outcomes={"ok": bool(yes)})
    told[0].save(tmp_path / "run")
    told.append(EIOptimizer.load(tmp_path / "run"))
    X = np.linspace(0, 1, 9)[:, np.newaxis]
    expected = told[2].predict_within_limits(X)
    assert expected.min() < 0.1 and expected.max() > 0.9
    for each in told:
        assert_allclose(each.predict_within_limits(X), expected, atol=1e-12)
        assert each.ask() == told[2].ask() and each.recommend() == told[2].recommend()


@pytest.mark.slow
def test_all_of_yes_or_no_is_said_in_results_and_pictures():
    limits = {"ok": True, "leaks": False, "heat": (None, 1.2)}
    optimizer = EIOptimizer(bounds=[(0, 1)] * 2, limits=limits, random_state=0)
    answers = iter(
        [
            (1.0, {"ok": "yes", "leaks": 0, "heat": 1.0}),
            (5.0, {"ok": "no", "leaks": None, "heat": 1.0}),
            (7.0, {"ok": True, "leaks": True, "heat": np.nan}),
            (2.0, {"ok": True, "leaks": False, "heat": 1.1}),
        ]
    )
    result = optimizer.run(lambda query: next(answers), 4)
    assert [each["value"] for each in result.limits] == [True, False, None]
    assert [each["n_answers"] for each in result.limits] == [4, 3, 3]
    assert result.limits[0]["mean"] is result.limits[0]["low"] is None
    assert_allclose(
        prod(each["probability"] for each in result.limits),
        optimizer.predict_within_limits(result.x.points),
    )
    lines = [line.split("  ")[-1] for line in str(result).splitlines() if "limit " in line]
    assert lines[0].startswith("ok, yes: holds with probability 0.")
    assert lines[1].startswith("leaks, no: ") and lines[1].endswith("3 of 4 answers have it")
    shown = RegretDisplay.from_optimizer(optimizer, kind="best").regret
    assert_array_equal(shown, [1.0, 1.0, 1.0, 2.0])


def test_what_was_measured_of_a_setting_counts_there():
    """What passed each time may be recommended, what failed each time never is."""
    arms = np.linspace(0, 1, 21)[:, np.newaxis]
    optimizer = EIOptimizer(arms=arms, limits={"ok": True}, random_state=0)
    for i in (0, 4, 8, 11, 12, 16, 20, 11):
        optimizer.tell(arms[i], float(arms[i, 0]), outcomes={"ok": i < 12})
    assert optimizer.recommend().index == 11
    passed, failed = optimizer.predict_within_limits(arms[[11, 12]])
    assert passed > 0.7 and failed < 0.3
    for i in (0, 4, 8, 11):
        optimizer.tell(arms[i], float(arms[i, 0]), outcomes={"ok": False})
    assert optimizer.recommend().index not in (12, 16, 20)


def test_without_a_pattern_the_rate_is_said():
    optimizer = EIOptimizer(bounds=[(0, 1)], limits={"ok": True}, random_state=0)
    X = np.linspace(0, 1, 40)[:, np.newaxis]
    optimizer.tell(X[:1], [0.0], outcomes=[{"ok": True}])
    assert 0.5 < optimizer.predict_within_limits([[0.5]])[0] < 0.9
    for x, each in zip(X, np.random.default_rng(0).random(40), strict=True):
        optimizer.tell(x, float(x[0]), outcomes={"ok": each < 0.7})
    assert_allclose(optimizer.predict_within_limits([[0.03], [0.511]]), 0.7, atol=0.2)


@pytest.mark.parametrize(
    ("limit", "outcome", "message"),
    [
        (True, 0.5, "yes or no, such as True or False, because its limit is True; got 0.5"),
        (False, 2, "yes or no, .* because its limit is False; got 2"),
        (True, "perhaps", "finite numbers, or yes or no, .* got 'ok': 'perhaps'"),
        ((None, 0.5), True, r"for 'ok' a number, .*limits={'ok': True}; got True"),
        ((None, 0.5), "yes", r"for 'ok' a number, .*limits={'ok': True}; got True"),
    ],
)
def test_other_values_than_yes_or_no_change_nothing(limit, outcome, message):
    optimizer = EIOptimizer(bounds=[(0, 1)], limits={"ok": limit}, random_state=0)
    query = optimizer.ask()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(query, 1.0, outcomes={"ok": outcome})
    assert optimizer.pending_ == [query]
    free = EIOptimizer(bounds=[(0, 1)], random_state=0)
    if outcome != "perhaps":
        free.tell([0.5], 1.0, outcomes={"ok": outcome})
        with pytest.raises(ValueError, match=message):
            free.set_params(limits={"ok": limit}).ask()


def test_yes_or_no_counts_for_a_limit_that_is_set_later():
    late, early = (EIOptimizer(bounds=[(0, 1)], limits=None, random_state=0) for _ in range(2))
    early.set_params(limits={"ok": True})
    for i in range(12):
        for each in (late, early):
            each.tell([i / 12], i / 12, outcomes={"ok": "yes" if i < 8 else "no"})
    late.set_params(limits={"ok": True})
    X = np.linspace(0, 1, 7)[:, np.newaxis]
    assert_array_equal(late.predict_within_limits(X), early.predict_within_limits(X))
    assert late.recommend() == early.recommend() == late.recommend("best_observed")
    assert late.recommend().points[0, 0] == pytest.approx(7 / 12)


# -- outcomes that are told after the answer ----------------------------------------------------


def told_later(later, n=14, **parameters):
    """Return a search of which half of the answers got an outcome when two more were told."""
    opt = GPUCBOptimizer(
        bounds={"x": (0, 1), "y": (0, 1)},
        limits={"heat": (None, 1.2)},
        random_state=0,
        **parameters,
    )
    waiting = []
    for i in range(n):
        query = opt.ask()
        x = query.points[0]
        late = later and i % 2
        opt.tell(
            query,
            value(x),
            outcomes={"heat": None if late else outcomes(x)["heat"], "acid": 1.0},
            block=f"day {i // 4}",
        )
        waiting.append((query, {"heat": outcomes(x)["heat"]}) if late else None)
        if i >= 2 and waiting[i - 2] is not None:
            opt.tell(waiting[i - 2][0], outcomes=waiting[i - 2][1])
    for each in waiting[-2:]:
        if each is not None:
            opt.tell(each[0], outcomes=each[1])
    return opt


def test_outcomes_told_later_count_as_if_they_had_come_with_the_answer():
    opt = told_later(later=True)
    told, measured = (
        opt.run_.told_queries(),
        [outcomes(q.points[0]) for q in opt.run_.told_queries()],
    )
    twin = GPUCBOptimizer(**opt.get_params())
    for i, (query, found) in enumerate(zip(told, measured, strict=True)):
        twin.tell(query.params, value(query.points[0]), outcomes=found, block=f"day {i // 4}")
    assert_array_equal(opt._limit_violation_mask(), twin._limit_violation_mask())
    assert opt._limit_violation_mask().any()
    (ours,), (theirs,) = (each._limits_at(told[3]) for each in (opt, twin))
    assert ours["n_answers"] == theirs["n_answers"] == 14
    # The numbers are the same; hyperparameters were learned after other subsets of them.
    assert ours["mean"] == pytest.approx(outcomes(told[3].points[0])["heat"], abs=0.1)
    assert ours["mean"] == pytest.approx(theirs["mean"], abs=0.1)


def test_a_run_with_outcomes_told_later_is_repeated_from_a_file_a_pickle_and_its_events(tmp_path):
    opt, read = told_later(later=True), told_later(later=True)
    opt.save(tmp_path / "run")
    before = [repr(event) for event in opt._events if event[0] != "learned"]
    twins = [
        type(opt).load(tmp_path / "run"),
        pickle.loads(pickle.dumps(opt)),
        opt._repeat_events(opt._events),
        read,
    ]
    for twin in [opt, *twins]:
        query = twin.run_.told_queries()[-1]
        with pytest.raises(ValueError, match="outcomes must be new"):
            twin.tell(query, outcomes={"heat": 0.5})
        twin.recommend()
        assert [repr(each) for each in twin._events if each[0] != "learned"] == before
    assert len({repr(twin.ask(3)) for twin in [opt, *twins]}) == 1
    assert sum(event[3:] == (True,) for event in opt._events if event[0] == "outcomes") == 7


def test_reading_before_outcomes_are_told_changes_no_query():
    opts = [told_later(later=False, n=9) for _ in range(2)]
    for opt, reads in zip(opts, (True, False), strict=True):
        query = opt.ask()
        opt.tell(query, value(query.points[0]), outcomes={"heat": None})
        if reads:
            opt.recommend(), opt.domain_.rows.copy(), opt.posterior()
        opt.tell(query.params, outcomes={"heat": 1.5})
    assert opts[0].ask(4) == opts[1].ask(4)


def test_outcomes_told_later_of_a_failure_and_of_a_table():
    pytest.importorskip("pandas")
    from skgpb.integrations.pandas import history_frame

    opt = GPUCBOptimizer(bounds=[(0, 1)], limits={"ok": True}, random_state=0)
    queries = opt.ask(4)
    for i, query in enumerate(queries):
        opt.tell(query, None if i == 1 else 1.0 * i, outcomes={"ok": None})
    opt.tell(queries[1], outcomes={"ok": False})
    opt.tell(queries[0], outcomes={"ok": "no"})
    opt.tell(queries[2].points[0], outcomes={"ok": True, "color": 3})
    assert opt._limit_violation_mask().tolist() == [True, False, False]
    frame = history_frame(opt)
    assert_array_equal(frame["ok"], [0, 0, 1, np.nan])
    assert_array_equal(frame["color"], [np.nan, np.nan, 3, np.nan])


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"heat": 3}, "outcomes must be new for .*, which was told with heat=0.5; got"),
        ({"acid": True}, "outcomes must have for 'acid' a number"),
        ({"acid": np.inf}, "outcomes must be finite numbers"),
        (3.0, "outcomes must be a dict"),
        ({"Acid": 1}, "outcomes has 'Acid', which has no limit"),
    ],
)
def test_outcomes_that_cannot_be_told_later_change_nothing(told, message):
    opt = GPUCBOptimizer(bounds=[(0, 1)], limits=LIMITS, random_state=0)
    query, other = opt.ask(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        opt.tell(query, 1.0, outcomes={"heat": 0.5})
    events = opt._events
    with pytest.raises(ValueError, match=message):
        opt.tell(query, outcomes=told)
    with pytest.raises(
        ValueError, match=r"query must have an answer, got .*: tell its outcomes with"
    ):
        opt.tell(other, outcomes={"acid": 0.5})
    assert opt._events == events


def test_a_reward_is_left_out_only_if_outcomes_are_told():
    opt = GPUCBOptimizer(bounds=[(0, 1)], random_state=0)
    query = opt.ask()
    for told in (
        {},
        {"outcomes": {"heat": 1}, "block": "a"},
        {"outcomes": {"heat": 1}, "alpha": 1},
    ):
        with pytest.raises(ValueError, match="reward may be left out if only outcomes are told"):
            opt.tell(query, **told)
    assert opt.pending_ == [query]


def test_outcomes_of_a_failure_count_for_no_answer_before_it():
    opt = EIOptimizer(bounds=[(0, 1)], limits={"heat": (None, 1.2)}, random_state=0)
    first, second = opt.ask(2)
    opt.tell([first, second], [1.0, 2.0], outcomes={"heat": [1.0, 1.0]})
    opt.tell(first, None)
    opt.tell(first, outcomes={"heat": 2.0})
    assert opt._limit_violation_mask().tolist() == [False, False]
    opt.tell(first, 1.0, outcomes={"heat": None})
    opt.tell(first, outcomes={"heat": 2.0})
    assert opt._limit_violation_mask().tolist() == [False, False, True]


@pytest.mark.parametrize("value", [True, False])
def test_a_limit_has_its_value_before_anything_was_measured(value):
    opt = EIOptimizer(bounds=[(0, 1)], limits={"ok": value, "heat": (None, 1.2)}, random_state=0)
    ok, heat = opt.start()._limits_at(opt.ask())
    assert ok["value"] is value and ok["low"] is ok["high"] is None
    assert heat["value"] is heat["low"] is None and heat["high"] == 1.2

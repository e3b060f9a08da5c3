"""Indirect queries: the loop that all of them share, CMES's scores, and what it finds."""

import copy
import warnings

import numpy as np
import pytest
from reference.cmes import appendix_a, eq7
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import defaults
from skgpb.acquisition.entropy import gumbel_max_values
from skgpb.exceptions import LearningWarning, ModelWarning
from skgpb.kernels import ConditionalMean, PolicyMean, WindowMean
from skgpb.optimizers import (
    CMESOptimizer,
    CMETSOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
from skgpb.optimizers.cmes import refined_maxima
from skgpb.utils.roots import joint_draws

DOMAIN = [(0.0, 2.0)]
QUERIES = np.linspace(0.0, 1.0, 21)[:, None]
# The rule is followed from the first query on.
SMALL = {"bounds": DOMAIN, "n_points": 60, "random_state": 0, "alpha": 1e-3, "n_initial": 0}
RNG = np.random.default_rng(5)
A1 = RNG.uniform(size=(120, 1))
X1 = np.clip(2 * A1 + 0.1 * RNG.normal(size=(120, 1)), 0.0, 2.0)


def double(A):
    return 2.0 * A


WINDOW = WindowMean(scale=0.1, location=double)

FLAT = (
    CMESOptimizer,
    IndirectEIOptimizer,
    IndirectMESOptimizer,
    IndirectPIOptimizer,
    IndirectUCBOptimizer,
)
CASES = {cls.__name__: (cls, {"conditional": WINDOW, "queries": QUERIES}) for cls in FLAT} | {
    "CMES-box": (
        CMESOptimizer,
        {"conditional": WINDOW, "query_bounds": [(0, 1)], "n_candidates": 20},
    ),
    "CMES-noisy": (
        CMESOptimizer,
        {"conditional": WINDOW, "queries": QUERIES, "information": "noisy", "cost": 2.0},
    ),
    "CMES-joint": (
        CMESOptimizer,
        {"conditional": WINDOW, "queries": QUERIES, "information": "joint"},
    ),
    "CMES-gumbel": (
        CMESOptimizer,
        {"conditional": WINDOW, "queries": QUERIES, "max_values": "gumbel", "optimizer": None},
    ),
    "CMES-points": (CMESOptimizer, {"n_candidates": 20}),
    "CMES-operator": (
        CMESOptimizer,
        {"conditional": ConditionalMean(X=X1, A=A1), "queries": QUERIES},
    ),
    "CMETS": (CMETSOptimizer, {"max_depth": 4}),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", FLAT)
def test_a_search_that_knows_nothing_of_the_inputs_of_a_query_warns(cls):
    optimizer = cls(bounds=[(0.0, 1.0)], query_bounds=[(0.0, 1.0)], n_points=60, random_state=0)
    with pytest.raises(ValueError, match="outside the bounds"):
        optimizer.fit(X1, queries=A1)
    with pytest.warns(ModelWarning, match=r"p\(x \| a\)") as said:
        optimizer.ask()
    assert len(said) == 1
    with pytest.warns(ModelWarning, match="Pass conditional="):
        cls(bounds=DOMAIN, query_bounds=[(0.0, 1.0)], n_points=60).fit(X1, X1[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls(bounds=DOMAIN, n_points=60).fit(X1, queries=A1).ask()
        known = WindowMean(scale=0.0)
        cls(bounds=DOMAIN, queries=QUERIES, conditional=known, n_points=60).ask()


@pytest.fixture(params=list(CASES))
def name(request):
    return request.param


def make(name, **parameters):
    cls, settings = CASES[name]
    return cls(**SMALL | settings | parameters)


def g(query):
    a = query.center if hasattr(query, "depth") else query.a
    x = float(a[0]) * (1.0 if hasattr(query, "depth") else 2.0)
    return float(np.exp(-2.0 * (x - 1.3) ** 2))


def play(optimizer, n, rng=None):
    queries = []
    for _ in range(n):
        query = optimizer.ask()
        noise = 0.0 if rng is None else 0.03 * rng.standard_normal()
        optimizer.tell(query, g(query) + noise)
        queries.append(query)
    return queries


def observe(optimizer):
    """Everything a user can see, without changing it."""
    optimizer = copy.deepcopy(optimizer)
    seen = []
    if hasattr(optimizer, "history_"):
        seen += [optimizer.history_.tolist(), optimizer.spent_, optimizer.recommend().tolist()]
        seen += [a.tolist() for a in optimizer.predict([[0.3], [1.2]], return_std=True)]
    seen += [repr(query) for query in [optimizer.ask(), *optimizer.ask(3)]]
    seen += [repr(query) for query in play(optimizer, 3)]
    return repr(seen)


# The loop ----------------------------------------------------------------------------------------


def scored(optimizer):
    """Samples of the largest value in a round, in the user's units, and what answers tell of it."""
    posterior, again = optimizer.posterior(), optimizer.posterior()  # whose draws are the same
    maxima = posterior.in_units_of_reward(optimizer._sample_maxima(posterior))
    return maxima, optimizer._scores(again) * again.cost


def test_pending_answers_count_as_told_at_their_mean():
    optimizer = make("CMES-noisy", optimizer=None, normalize_y=False)
    play(optimizer, 4)
    optimizer.ask(2)
    posterior = optimizer.posterior()
    mean = posterior.in_units_of_reward(posterior.mean)
    std = posterior.std * posterior.scale
    told = copy.deepcopy(optimizer.surrogate_)
    rows = np.array([query.a for query in optimizer.run_.pending])
    told.condition_query(rows, told.predict_query(rows), alpha=1e-3)
    expected = told.predict_query(QUERIES, return_std=True)
    np.testing.assert_allclose(mean, expected[0], atol=1e-9)
    np.testing.assert_allclose(std, expected[1], atol=1e-7)


@pytest.mark.one_in(3)
def test_history_and_spending_are_recorded(name):
    optimizer = make(name)
    queries = play(optimizer, 5)
    history = optimizer.history_
    np.testing.assert_array_equal(history["round"], np.arange(1, 6))
    np.testing.assert_array_equal(history["a"], [query.a for query in queries])
    np.testing.assert_array_equal(history["reward"], [g(query) for query in queries])
    assert optimizer.spent_ == pytest.approx(sum(query.cost for query in queries))
    assert (history["std"] >= 0).all()


@pytest.mark.one_in(3)
def test_recommendations_are_points_of_the_domain(name):
    optimizer = make(name)
    play(optimizer, 8)
    x = optimizer.recommend()
    assert x.shape == (1,)
    assert 0.0 <= x[0] <= 2.0
    # By the most probable model; what is read is an average over several.
    predict = optimizer.surrogate_.predict
    mean = predict(np.linspace(0.0, 2.0, 2001)[:, None])
    # The searches from the best grid points are at least as good as a grid thirty times finer
    assert predict(x[None])[0] >= mean.max() - 1e-6 * np.abs(mean).max()


@pytest.mark.one_in(3)
def test_a_run_ends_with_the_query_that_spends_the_budget(name):
    optimizer = make(name)
    result = optimizer.run(g, **{"max_cost": 5.0} if name == "CMETS" else {"budget": 6})
    assert result.fun == pytest.approx(optimizer.predict(result.x[None])[0])
    if name == "CMETS":
        assert result.cost >= 5.0 > result.cost - optimizer.history_["cost"][-1]


@pytest.mark.one_in(6)
def test_a_rejected_fit_leaves_no_trace(name):
    optimizer = make(name)
    play(optimizer, 4)
    before = observe(optimizer)
    X = np.full((3, 1), 0.5)
    for arguments, queries in [
        ((X, [1.0, 2.0]), None),
        ((np.full((3, 1), np.nan),), None),
        ((X,), np.zeros((2, 1))),
        ((X,), np.full((3, 1), np.nan)),
        ((X, [1.0, np.inf, 2.0]), np.zeros((3, 1))),
        ((X + 10.0, [1.0, 2.0, 3.0]), None),
    ]:
        with pytest.raises(ValueError):
            optimizer.fit(*arguments, queries=queries)
    assert observe(optimizer) == before


# Queries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("information", ["noiseless", "noisy"])
def test_scores_equal_their_definition(information):
    optimizer = make("CMESOptimizer", information=information, n_max_values=7)
    play(optimizer, 6)
    maxima, scores = scored(optimizer)
    mean, std = optimizer.surrogate_.predict_query(QUERIES, return_std=True)
    noise = optimizer.surrogate_.noise_of(1e-3)
    for i in range(len(QUERIES)):
        if information == "noiseless":
            expected = eq7(mean[i], std[i], maxima)
        else:
            expected = appendix_a(mean[i], std[i], maxima, noise)
        assert scores[i] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert optimizer.ask().index == np.argmax(scores)


def test_noisy_information_counts_the_error_of_a_learned_conditional():
    optimizer = make("CMES-operator", information="noisy", n_max_values=7)
    play(optimizer, 4)
    maxima, scores = scored(optimizer)
    surrogate = optimizer.surrogate_
    mean, std = surrogate.predict_query(QUERIES, return_std=True)
    noise = optimizer.alpha_ + surrogate.model_noise_
    assert noise > 1.1 * optimizer.alpha_
    expected = [appendix_a(*each, maxima, noise) for each in zip(mean, std, strict=True)]
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_joint_information_is_that_of_many_joint_draws():
    n, n_naive = 20_000, 100_000
    optimizer = make("CMESOptimizer", information="joint", n_max_values=n, optimizer=None)
    play(optimizer, 3)
    _, scores = scored(optimizer)
    points = optimizer.targets_.points
    mean, cov = optimizer.surrogate_.predict_joint(points, QUERIES)
    f, g = np.split(joint_draws(mean, cov, n_naive, 1), [len(points)])
    top = f.max(axis=0) - f.max(axis=0).mean()
    g -= g.mean(axis=1, keepdims=True)
    products, squares = g * top, g**2 + 1e-3
    covariance, answer, variance = products.mean(axis=1), squares.mean(axis=1), (top**2).mean()
    share = covariance**2 / (answer * variance)

    def error_of_a_draw(products, squares):
        """Standard deviation of what one draw adds to the information, to first order."""
        each = 2 * covariance[:, None] * products / (answer * variance)[:, None]
        each -= share[:, None] * (squares / answer[:, None] + top**2 / variance)
        return 0.5 * each.std(axis=1) / (1 - share)

    # The optimizer knows the variance of g, and its covariance with f wherever f is largest.
    known = cov[60:, :60]
    ours = error_of_a_draw(known[:, f.argmax(axis=0)], np.zeros((1, n_naive)))
    naive = error_of_a_draw(products, squares)
    error = np.sqrt(ours**2 / n + naive**2 / n_naive)
    assert (np.abs(scores + 0.5 * np.log1p(-share)) < 5 * error).all()
    assert scores.max() > 0.1 and scores.min() >= 0.0 and error.max() < 0.02


def test_covariances_with_a_weighted_sum_are_sums_of_covariances():
    optimizer = make("CMES-operator", information="joint")
    play(optimizer, 4)
    assert len({query.index for query in optimizer.ask(3)}) == 3
    assert optimizer.ask(3)[0] == optimizer.ask()
    posterior = optimizer.posterior()  # three queries are pending
    numbers, weights = np.array([3, 40, 41]), np.array([0.5, 0.2, 0.3])
    expected = posterior.covariance[:, numbers] @ weights
    np.testing.assert_allclose(posterior.covariance_with(numbers, weights), expected, atol=1e-9)


def test_joint_information_looks_for_the_largest_f_and_not_for_the_largest_answer():
    def f(x):
        return np.exp(-0.5 * ((x - 0.5) / 0.1) ** 2) + 0.7 * np.exp(-0.5 * ((x - 1.4) / 0.3) ** 2)

    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    optimizer = CMESOptimizer(
        ConstantKernel(1.0) * RBF(0.12),
        conditional=WindowMean(scale=0.15),
        bounds=DOMAIN,
        alpha=1e-6,
        information="joint",
        optimizer=None,
        random_state=0,
    )
    for _ in range(25):
        query = optimizer.ask()
        optimizer.tell(query, float(weights @ f(query.a[0] + 0.15 * nodes) / weights.sum()))
    answers = optimizer.predict_query(optimizer.domain_.A)
    assert optimizer.domain_.A[np.argmax(answers), 0] > 1.2
    assert optimizer.recommend()[0] == pytest.approx(0.5, abs=0.03)


def test_noisy_is_the_default_where_noise_depends_on_the_query():
    def alpha(a):
        return 1e-6 if a[0] < 0.5 else 1e4

    optimizer = make("CMESOptimizer", alpha=alpha)
    assert all(query.a[0] < 0.5 for query in play(optimizer, 3))
    blind = make("CMESOptimizer", alpha=alpha, information="noiseless")
    assert any(query.a[0] >= 0.5 for query in play(blind, 3))


def test_information_is_per_unit_cost():
    dear = make("CMESOptimizer", cost=lambda a: 1.0 if a[0] < 0.5 else 1e6)
    assert all(query.a[0] < 0.5 and query.cost == 1.0 for query in play(dear, 5))
    listed = make("CMESOptimizer", cost=np.where(QUERIES[:, 0] < 0.5, 1.0, 1e6))
    assert play(listed, 3) == play(make("CMESOptimizer", cost=listed.cost), 3)
    for cost in (0.0, -1.0, np.zeros(21), np.ones(5), "dear", lambda a: 0.0):
        with pytest.raises((ValueError, TypeError), match="cost"):
            make("CMESOptimizer", cost=cost).ask()


def test_samples_of_the_maximum_are_refined_between_grid_points():
    coarse = make("CMESOptimizer", n_points=8, n_max_values=400, optimizer=None, kernel=RBF(0.4))
    fine = make("CMESOptimizer", n_points=200, n_max_values=400, optimizer=None, kernel=RBF(0.4))
    for each in (coarse, fine):
        play(each, 2)
    raw = coarse.posterior().draws(400).max(axis=1).mean()
    fine_mean, coarse_mean = (scored(each)[0].mean() for each in (fine, coarse))
    assert abs(fine_mean - coarse_mean) < 0.1
    assert coarse_mean > raw - 0.05


def test_continuous_queries_are_at_least_as_good_as_the_grid():
    box, grid = make("CMES-box"), make("CMES-box", continuous=False)
    for each in (box, grid):
        play(each, 2)
    query, posterior = box._choose(None), box.posterior()
    candidates, row = box._scores(posterior), WINDOW.queries(query.points)
    there = posterior.at(box.surrogate_.process_, row, np.array([1e-3]), np.ones(1))
    assert box._scores(there)[0] >= candidates.max() - 1e-12
    assert all(query.index >= 0 for query in play(grid, 3))


# Learning ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_learned_and_known_conditionals_find_the_maximum():
    for settings, pairs in [
        ({"conditional": WINDOW, "queries": QUERIES}, None),
        ({"queries": QUERIES}, (X1, A1)),
        ({"queries": QUERIES, "operator": "embedding"}, (X1, A1)),
    ]:
        optimizer = CMESOptimizer(**SMALL | settings)
        if pairs is not None:
            optimizer.fit(pairs[0], queries=pairs[1])
        play(optimizer, 10)
        assert abs(optimizer.recommend()[0] - 1.3) < 0.1


def test_the_operator_is_chosen_by_its_loss_and_can_be_given():
    smooth = CMESOptimizer().fit(X1, queries=A1)
    assert isinstance(smooth.surrogate_.kernel_, WindowMean)
    rng = np.random.default_rng(0)
    two = np.where(rng.uniform(size=A1.shape) < 0.5, A1, 1.0 - A1)
    forked = CMESOptimizer().fit(two + 0.01 * rng.normal(size=A1.shape), queries=A1)
    assert isinstance(forked.surrogate_.kernel_, ConditionalMean)
    given = CMESOptimizer(operator="embedding").fit(X1, queries=A1)
    assert isinstance(given.surrogate_.kernel_, ConditionalMean)


def test_direct_evaluations_are_mixed_with_answers():
    optimizer = CMESOptimizer(bounds=DOMAIN, alpha=1e-6, queries=QUERIES)
    y = np.full(len(X1), np.nan)
    y[:3] = [0.2, 0.4, 0.6]
    optimizer.fit(X1, y, queries=A1)
    np.testing.assert_allclose(optimizer.predict(X1[:3]), y[:3], atol=1e-2)
    optimizer.tell(optimizer.ask(), 0.5)
    np.testing.assert_allclose(optimizer.predict(X1[:3]), y[:3], atol=2e-2)


def test_providers_with_known_policies_are_chosen_to_find_the_best_arm():
    policies = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=12)
    f = np.array([0.1, 0.5, 0.2, 0.9, 0.3])
    optimizer = CMESOptimizer(
        RBF(0.1, "fixed"), conditional=PolicyMean(policies=policies), alpha=1e-4, random_state=0
    )
    for _ in range(10):
        query = optimizer.ask()
        optimizer.tell(query, float(policies[int(query.a[0])] @ f))
    np.testing.assert_array_equal(optimizer.recommend(), [3.0])
    with pytest.raises(ValueError, match="not among"):
        optimizer.tell([12.0], 0.5)
    with pytest.raises(ValueError, match="sum to one"):
        CMESOptimizer(conditional=PolicyMean(policies=[[0.5, 0.6]])).ask()


@pytest.mark.slow
def test_pairs_may_repeat_be_constant_or_single():
    twice = CMESOptimizer(queries=QUERIES).fit(np.vstack([X1, X1]), queries=np.vstack([A1, A1]))
    assert np.isfinite(twice.tell(twice.ask(), 0.5).predict(X1[:5])).all()
    constant = np.column_stack([A1, np.full(len(A1), 3.0)])
    rows = np.column_stack([QUERIES, np.full(len(QUERIES), 3.0)])
    flat = CMESOptimizer(queries=rows).fit(X1, queries=constant)
    assert np.isfinite(flat.tell(flat.ask(), 0.5).predict(X1[:5])).all()
    with pytest.raises(ValueError, match="one pair"):
        CMESOptimizer(queries=QUERIES).fit(X1[:1], queries=A1[:1])


def test_the_units_of_the_answers_do_not_matter():
    one, other = make("CMESOptimizer"), make("CMESOptimizer", alpha=1e-3 * 50.0**2)
    for _ in range(7):
        query = one.ask()
        assert other.ask() == query
        one.tell(query, g(query))
        other.tell(query, 50.0 * g(query) - 1000.0)
    scaled = 50.0 * one.predict([[0.7]]) - 1000.0
    np.testing.assert_allclose(other.predict([[0.7]]), scaled, rtol=1e-6)


def test_without_a_domain_the_error_says_what_to_pass():
    for cls in FLAT:
        with pytest.raises(NotFittedError, match="bounds"):
            cls().ask()
    with pytest.raises(NotFittedError, match="queries"):
        CMESOptimizer(conditional=WINDOW, bounds=DOMAIN).ask()


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("kernel", ["rbf", 3.0]),
        ("conditional", ["window", RBF()]),
        ("operator", ["best", None]),
        ("bounds", ["unit", [(1.0, 0.0)], [(0.0, np.nan)]]),
        ("queries", ["grid", [[np.nan]], [0.5]]),
        ("query_bounds", ["unit", [(1.0, 0.0)]]),
        ("alpha", [-1.0, "0.1", np.nan, lambda a: -1.0]),
        ("model_noise", [-1.0, "large", None]),
        ("information", ["both", None]),
        ("max_values", ["grid", None]),
        ("n_max_values", [0, 1.5]),
        ("n_points", [0, "many"]),
        ("n_candidates", [0, 2.5]),
        ("continuous", ["yes", None]),
        ("relearn", ["daily", 0]),
        ("normalize_y", ["yes", None]),
        ("optimizer", ["adam", 3]),
        ("random_state", ["seed", 1.5]),
    ],
)
def test_nonsense_parameters_are_named_on_use(parameter, values):
    for value in values:
        settings = {"bounds": DOMAIN, parameter: value}
        if parameter in ("queries", "query_bounds"):
            settings["conditional"] = WINDOW
        optimizer = CMESOptimizer(**settings)
        with pytest.raises((ValueError, TypeError), match=parameter):
            optimizer.tell(optimizer.ask(), 0.5)


def test_a_failure_in_learning_leaves_units_and_process_as_they_were():
    calls = []

    def fails(objective, start, bounds):
        calls.append(start)
        raise FloatingPointError("no likelihood")

    optimizer = make("CMESOptimizer", kernel=RBF(0.4), optimizer=fails, normalize_y=True)
    with pytest.warns(LearningWarning, match="no likelihood"):
        play(optimizer, 10)
    assert calls
    units = optimizer.surrogate_.center_, optimizer.surrogate_.scale_
    mean = optimizer.predict([[0.3]])
    with pytest.raises(FloatingPointError):
        optimizer._fit_model()
    assert (optimizer.surrogate_.center_, optimizer.surrogate_.scale_) == units
    assert optimizer.predict([[0.3]]) == mean


@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (7,), (4, 3), (3, 1, 4), (2, 5, 3)], ids=str)
def test_grid_maxima_rise_along_each_axis_to_the_parabola_through_three_neighbours(shape):
    draws = np.random.default_rng(len(shape)).normal(size=(np.prod(shape), 60))
    expected = []
    for values in np.moveaxis(draws.reshape(*shape, -1), -1, 0):
        best = np.unravel_index(values.argmax(), shape)
        rises = [0.0]
        for axis, (place, n) in enumerate(zip(best, shape, strict=True)):
            if 0 < place < n - 1:  # at an end of the grid nothing is known of the other side
                around = np.take(values[_line(best, axis)], [place - 1, place, place + 1])
                a, b, c = np.polyfit([-1.0, 0.0, 1.0], around, 2)
                rises.append(c - b**2 / (4.0 * a) - values[best])
        expected.append(values[best] + sum(rises))
    np.testing.assert_allclose(refined_maxima(draws, shape), expected, rtol=1e-9)
    flat = np.ones((np.prod(shape), 1))
    np.testing.assert_array_equal(refined_maxima(flat, shape), [1.0])


def _line(place, axis):
    return tuple(slice(None) if i == axis else n for i, n in enumerate(place))


@pytest.mark.parametrize("max_values", ["draws", "gumbel"])
def test_samples_of_the_largest_value_are_those_of_all_targets(max_values):
    """Of points of no grid, between which nothing is sought."""
    policies = RNG.dirichlet(np.ones(6), size=4)
    optimizer = make("CMESOptimizer", max_values=max_values, n_max_values=50, bounds=None)
    conditional = PolicyMean(policies=policies, arms=np.arange(6.0)[:, None])
    optimizer.set_params(conditional=conditional, queries=None)
    for reward in (0.3, 1.0, -0.4):
        optimizer.tell(optimizer.ask(), reward)
    maxima, posterior = optimizer._sample_maxima(optimizer.posterior()), optimizer.posterior()
    assert maxima.shape == (50,)
    if max_values == "draws":
        np.testing.assert_array_equal(maxima, posterior.draws(50).max(axis=1))
    else:
        ends = posterior.target_mean, np.sqrt(posterior.target_var)
        np.testing.assert_array_equal(maxima, gumbel_max_values(*ends, 50, posterior.rng))


@pytest.mark.parametrize("window", ["gaussian", "uniform"])
def test_a_gap_behind_a_blur_is_between_averages_over_windows_as_wide_as_is_known(window):
    """As the observed ones, or as far as the next of them is from some target."""
    sides, scale = np.array([1.0, 4.0]), [0.05, 0.3]
    optimizer = CMESOptimizer(
        conditional=WindowMean(scale=scale, window=window),
        bounds=[(0.0, 1.0), (0.0, 4.0)],
        n_candidates=25,
        n_points=60,
        alpha=0.01,
        random_state=0,
    )
    for a, reward in (([0.2, 1.0], 0.0), ([0.7, 3.0], 1.0), ([0.9, 0.5], 0.5)):
        optimizer.tell(a, reward)
    asked = np.array([[0.2, 1.0], [0.7, 3.0], [0.9, 0.5]])
    away = np.abs(optimizer.targets_.points[:, np.newaxis] - asked) / sides
    shares = away.max(axis=2).min(axis=1)
    blur = max(0.075, *shares) * sides  # 0.3 / 4, the larger share of a window
    np.testing.assert_allclose(optimizer._blur(), blur)
    rows, own = optimizer._average_rows(np.array([[0.3, 2.0]]))
    np.testing.assert_array_equal(rows[:, :2], optimizer.targets_.points)
    np.testing.assert_allclose(rows[:, 2:], np.tile(blur, (len(rows), 1)))
    np.testing.assert_allclose(own, [[0.3, 2.0, *blur]])
    width = blur if window == "gaussian" else 2.0 * blur
    said = optimizer._gap_averages()
    assert ("standard deviation" in said) == (window == "gaussian")
    assert said.endswith(" x ".join(f"{each:.3g}" for each in width))
    given = CMESOptimizer(**optimizer.get_params(deep=False) | {"kernel": RBF(0.5)})
    given.tell([0.2, 1.0], 0.0)
    assert given._gap_averages() == "" and not given._blur().any()


def test_joint_information_is_that_of_its_own_draws():
    n = 200
    kernel = ConstantKernel(4.0) * RBF(0.3)  # scores are in units of its deviation
    optimizer = make(
        "CMESOptimizer", kernel=kernel, information="joint", n_max_values=n, optimizer=None
    )
    play(optimizer, 3)
    _, scores = scored(optimizer)
    posterior = optimizer.posterior()
    f = posterior.in_units_of_reward(posterior.draws(n))
    points = optimizer.targets_.points
    cov = optimizer.surrogate_.predict_joint(points, QUERIES)[1]
    # Of each answer with f wherever a draw of f is largest.
    k = len(points)
    covariance = cov[k:, :k][:, f.argmax(axis=1)].mean(axis=1)
    total = (np.diag(cov)[k:] + 1e-3) * f.max(axis=1).var()
    np.testing.assert_allclose(scores, -0.5 * np.log(1.0 - covariance**2 / total), atol=1e-6)
    assert scores.max() > 0.01


@pytest.mark.parametrize("information", [0.0, 1e-12, 1e-3])
def test_where_no_answer_is_informative_the_least_certain_is_asked(monkeypatch, information):
    cost = np.linspace(1.0, 2.0, 21)
    kernel = ConstantKernel(4.0) * RBF(0.3)
    optimizer = make("CMESOptimizer", kernel=kernel, optimizer=None, cost=cost).start()
    values = np.linspace(0.0, information, 21)
    monkeypatch.setattr(optimizer, "acquisition", lambda posterior: values)
    np.testing.assert_array_equal(optimizer._scores(optimizer.posterior()), values / cost)
    optimizer.tell(QUERIES[3], 1.0)
    std = optimizer.predict_query(QUERIES, return_std=True)[1]
    unit = np.sqrt(optimizer.surrogate_.kernel_.base.diag(np.zeros((1, 1)))[0])
    expected = values if information == 1e-3 else std / unit
    found = optimizer._scores(optimizer.posterior())
    np.testing.assert_allclose(found, expected / cost, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("offset", [-100.0, 100.0])
def test_a_recommendation_between_the_candidates_does_not_depend_on_an_offset(offset):
    found = []
    for each in (0.0, offset):
        optimizer = make("CMESOptimizer", n_points=12, kernel=RBF(0.3), normalize_y=True)
        optimizer.set_params(optimizer=None)
        for i, reward in ((4, 0.0), (12, 1.0), (18, 0.4)):
            optimizer.tell(QUERIES[i], each + reward)
        best = optimizer.recommend()
        grid = np.linspace(0.0, 2.0, 2001)[:, None]
        assert optimizer.predict(best[None])[0] >= optimizer.predict(grid).max() - 1e-6
        found.append(best)
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)


@pytest.mark.parametrize("alpha", [1e-2, lambda a: 1e-2, None])
def test_noise_counts_by_default_unless_it_is_one_known_number(alpha):
    found = {}
    for information in ("auto", "noiseless", "noisy"):
        optimizer = make("CMESOptimizer", information=information, alpha=alpha, n_max_values=7)
        optimizer.set_params(kernel=RBF(0.3), optimizer=None)
        for i, reward in ((4, 0.0), (12, 1.0), (18, 0.4)):
            optimizer.tell(QUERIES[i], reward)
        found[information] = optimizer.acquisition(optimizer.posterior())
    known = "noiseless" if alpha == 1e-2 else "noisy"
    np.testing.assert_array_equal(found["auto"], found[known])
    assert not np.allclose(found["noiseless"], found["noisy"])


@pytest.mark.parametrize("cls", [IndirectUCBOptimizer, IndirectEIOptimizer, IndirectPIOptimizer])
def test_baselines_score_the_posterior_of_the_answers(cls):
    settings = {"conditional": WINDOW, "queries": QUERIES, "kernel": ConstantKernel(4.0) * RBF(0.3)}
    optimizer = cls(**SMALL | settings, **({"beta": 9.0} if cls is IndirectUCBOptimizer else {}))
    for i, reward in ((4, 1.0), (12, 3.0), (18, 2.0)):
        optimizer.tell(QUERIES[i], reward)
    posterior = optimizer.posterior()
    mean, std = optimizer.answers_.predict(QUERIES, return_std=True)
    scores, unit = optimizer.acquisition(posterior), posterior.scale
    best = mean[[4, 12, 18]].max()
    if cls is IndirectUCBOptimizer:
        expected, scores = mean + 3.0 * std, posterior.in_units_of_reward(scores)
    elif cls is IndirectEIOptimizer:
        z = (mean - best) / std
        expected, scores = std * (norm.pdf(z) + z * norm.cdf(z)), unit * np.exp(scores)
    else:
        margin = defaults.IMPROVEMENT_MARGIN * unit
        expected, scores = norm.cdf((mean - best - margin) / std), np.exp(scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the distribution p")
def test_a_gap_of_queries_that_are_points_is_between_points():
    optimizer = CMESOptimizer(bounds=[(0, 1)], random_state=0)
    for reward in (0.1, 0.5, 0.2, 0.9, 0.4):
        optimizer.tell(optimizer.ask(), reward)
    assert not optimizer._blur().any() and optimizer._gap_averages() == ""

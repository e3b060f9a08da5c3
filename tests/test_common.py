"""Optimizers as scikit-learn estimators, and properties of optimizers over one space.

The loop's laws are in test_contract.py; a new optimizer joins by a case in cases.py.
"""

from __future__ import annotations

import copy
import inspect
import re

import cases
import numpy as np
import pytest
from cases import (
    BOUNDS,
    CASES,
    GRID,
    LOOPING,
    OPTIMIZERS,
    POOL,
    answer,
    f,
    has_model,
    make,
    play,
    some_slow,
)
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, Kernel, Matern
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgpb.domains import Cells
from skgpb.guarantee import Guarantee
from skgpb.optimizers import (
    CMESOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    MESOptimizer,
    StoOOOptimizer,
)
from skgpb.surrogate import OnlineGaussianProcessRegressor

MODELS = [name for name in CASES if has_model(make(name))]


def knowing_all(name):
    """An optimizer that learns nothing but f."""
    own = isinstance(CASES[name][1].get("feedback"), Kernel)
    given = {} if own else {"kernel": RBF([0.5, 0.8])}
    return make(name, alpha=0.01, optimizer=None, normalize_y=False, **given)


@pytest.fixture(params=some_slow(CASES))
def name(request):
    return request.param


# scikit-learn ------------------------------------------------------------------------------------


#: One of each kind. What others of a kind add to it, scikit-learn does not see, nor how finely
#: CMES looks and what it learns; as it is it is among the others.
CHECKED_BY_DEFAULT = [
    GPOOOptimizer(),
    StoOOOptimizer(),
    GPUCBOptimizer(),
    CMESOptimizer(n_points=16, n_candidates=8, optimizer=None),
    OnlineGaussianProcessRegressor(),
]
CHECKED_AS_THEY_ARE = {type(each) for each in CHECKED_BY_DEFAULT} - {CMESOptimizer}
# Kernels are given: that they are learned makes no difference to a class.
OTHERS = [
    cls(**({"kernel": RBF()} if "kernel" in inspect.signature(cls).parameters else {}))
    for cls in OPTIMIZERS
    if cls not in CHECKED_AS_THEY_ARE
]


@pytest.mark.one_in(3)
@parametrize_with_checks(CHECKED_BY_DEFAULT)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_estimator_checks_of_the_others(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_constructor_stores_its_arguments_untouched(cls):
    for parameter in inspect.signature(cls).parameters:
        marker = object()
        assert getattr(cls(**{parameter: marker}), parameter) is marker


# Ask and tell ------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
def test_a_query_is_its_points_and_lies_in_the_domain(name):
    optimizer = make(name)
    for query in play(optimizer, 10):
        points = np.asarray(query)
        assert points.ndim == 2
        assert points.shape[1] == 2
        np.testing.assert_array_equal(points, query.points)
        assert query.lower.shape == query.upper.shape == query.center.shape == (2,)
        assert (query.lower <= query.upper).all()
        for inside in (points, query.center[np.newaxis]):
            assert (inside >= query.lower).all() and (inside <= query.upper).all()
        np.testing.assert_array_less(optimizer.bounds_[:, 0] - 1e-12, query.lower)
        np.testing.assert_array_less(query.upper, optimizer.bounds_[:, 1] + 1e-12)
        assert isinstance(query.index, int)
        assert isinstance(getattr(query, "depth", 0), int)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer])
def test_batches_in_a_box_are_distinct_although_candidates_coincide(cls):
    # 40 candidates of a small box: many that follow the posterior end at the same corner.
    for seed in range(25):
        optimizer = cls(bounds=[(0, 1), (0, 1)], n_candidates=40, random_state=seed)
        rng = np.random.default_rng(seed)
        for _ in range(8):
            query = optimizer.ask()
            optimizer.tell(query, query.points.sum() + 0.1 * rng.standard_normal())
        batch = optimizer.ask(4)
        assert len({query.points.tobytes() for query in batch}) == 4


@pytest.mark.parametrize("name", some_slow(MODELS))
def test_a_posterior_that_is_not_learned_does_not_depend_on_the_order(name):
    forward = knowing_all(name)
    play(forward, 12)
    batch = forward.ask(4)
    backward = copy.deepcopy(forward)
    for query in batch:
        forward.tell(query, answer(query))
    for query in reversed(batch):
        backward.tell(query, answer(query))
    one, other = (each.predict(GRID, return_std=True) for each in (forward, backward))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


def test_rewards_in_a_list_are_as_different_as_single_ones(name):
    """Some are numbers, some arrays of one, which NumPy would not put into one array."""
    optimizer = make(name)
    batch = optimizer.ask(3)
    optimizer.tell(batch, [0.5, np.array([0.25]), None], [0.0, np.array([0.5]), None])
    np.testing.assert_array_equal(optimizer.history_["reward"], [0.5, 0.25])
    for wrong in (0.5, "abc", [0.5], [[0.5, 0.5, 0.5]], {0.1, 0.2, 0.3}, np.array(0.5)):
        with pytest.raises((ValueError, TypeError), match="one number for each of 3 queries"):
            optimizer.tell(optimizer.ask(3), wrong)


def test_a_run_refuses_parameters_that_cannot_be_and_goes_on(name):
    optimizer = make(name)
    play(optimizer, 3)
    twin = copy.deepcopy(optimizer)
    with pytest.raises(ValueError, match="random_state"):
        optimizer.set_params(random_state="seed")
    assert optimizer.get_params()["random_state"] == 0
    assert optimizer.ask() == twin.ask()


@pytest.mark.parametrize("name", some_slow(MODELS))
def test_an_observation_counts_by_its_own_noise(name):
    optimizer = knowing_all(name)
    play(optimizer, 4)
    precise, vague = copy.deepcopy(optimizer), copy.deepcopy(optimizer)
    query = optimizer.ask()
    precise.tell(query, 3.0, alpha=1e-4)
    vague.tell(query, 3.0, alpha=1e4)
    center = query.center[np.newaxis]
    before = optimizer.predict(center)[0]
    assert abs(precise.predict(center)[0] - before) > 0.1
    assert abs(vague.predict(center)[0] - before) < 0.01


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", some_slow(MODELS))
@pytest.mark.parametrize("shape", ["point", "one row", "several rows"])
def test_external_observations_move_the_posterior(name, shape):
    optimizer = make(name)
    play(optimizer, 3)
    asked = optimizer.ask()
    points = POOL[:6] if shape == "several rows" else POOL[:1]
    given = points[0] if shape == "point" else points
    where = points.mean(axis=0, keepdims=True) if shape != "several rows" else points
    before = np.mean(optimizer.predict(where))
    optimizer.tell(given, 5.0)
    after = np.mean(optimizer.predict(where))
    assert after > before + 0.1
    # It is nobody's answer: what was asked is still open, and can be answered.
    assert len(optimizer.history_) == 4
    optimizer.tell(asked, answer(asked))
    assert len(optimizer.history_) == 5


@pytest.mark.one_in(7)
@pytest.mark.parametrize("told", [False, True])
def test_a_saved_fit_continues_identically(name, told, tmp_path):
    optimizer = make(name).fit(POOL[:12], f(POOL[:12]))
    if told:
        play(optimizer, 4)
    optimizer.save(tmp_path / "run")
    resumed, repeated = (
        cases.loaded(type(optimizer), tmp_path / "run", again) for again in (False, True)
    )
    assert play(resumed, 6) == play(repeated, 6) == play(optimizer, 6)
    expected = optimizer.predict(GRID)
    np.testing.assert_allclose(resumed.predict(GRID), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(repeated.predict(GRID), expected)


# Reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [EIOptimizer, GPUCBOptimizer, MESOptimizer])
def test_a_recommendation_does_not_move_the_candidates_in_a_box(cls, tmp_path):
    read, alone = (cls(bounds=[(0, 1), (0, 1)], random_state=0) for _ in range(2))
    for optimizer in (read, alone):
        for _ in range(5):
            optimizer.tell(optimizer.ask(), 0.5 * len(getattr(optimizer, "history_", ())))
    read.recommend()
    for optimizer in (read, alone):
        optimizer.tell([0.3, 0.6], 0.4)
    read.save(tmp_path / "run")
    assert read.ask() == alone.ask() == cls.load(tmp_path / "run").ask()


# Resume, repeat, run -----------------------------------------------------------------------------


def test_a_recommendation_that_is_refused_begins_no_run():
    seeds = np.random.RandomState(0)
    optimizer = EIOptimizer(bounds=BOUNDS, random_state=seeds)
    with pytest.raises(NotFittedError, match="no observations yet"):
        optimizer.recommend()
    assert not hasattr(optimizer, "bounds_")
    twin = EIOptimizer(bounds=BOUNDS, random_state=np.random.RandomState(0))
    assert play(optimizer, 3) == play(twin, 3)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [n for n in CASES if "OO" in n])
def test_recommendation_is_a_cell_that_was_expanded_or_the_root(name):
    optimizer = make(name)
    for _ in range(15):
        play(optimizer, 1)
        best = optimizer.recommend("paper")
        assert best == optimizer.recommend("paper")
        if not optimizer.history_["expanded"].any():
            assert (best.depth, best.index) == (0, 0)
        else:
            tree = optimizer.tree_
            row = np.flatnonzero((tree.depth == best.depth) & (tree.index == best.index))
            assert (np.reshape(tree.children[row[0]], -1) >= 0).any()


@pytest.mark.one_in(3)
def test_predictions_have_the_shapes_of_a_regressor(name):
    optimizer = make(name)
    play(optimizer, 6)
    mean = optimizer.predict(GRID)
    assert mean.shape == (25,)
    assert np.isfinite(mean).all()
    np.testing.assert_array_equal(optimizer.predict(GRID), mean)
    np.testing.assert_allclose(optimizer.predict(GRID[:1]), mean[:1], rtol=0, atol=1e-12)
    assert isinstance(optimizer.score(GRID, f(GRID)), float)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", some_slow(MODELS))
def test_uncertainties_have_the_shapes_of_a_regressor(name):
    optimizer = make(name)
    play(optimizer, 6)
    mean, std = optimizer.predict(GRID, return_std=True)
    assert mean.shape == std.shape == (25,)
    assert (std >= 0).all()
    same_mean, cov = optimizer.predict(GRID, return_cov=True)
    np.testing.assert_allclose(same_mean, mean, rtol=0, atol=1e-12)
    assert cov.shape == (25, 25)
    np.testing.assert_allclose(np.diag(cov), std**2, rtol=0, atol=1e-12)
    draws = optimizer.sample_y(GRID, 3, random_state=0)
    assert draws.shape == (25, 3)
    np.testing.assert_array_equal(optimizer.sample_y(GRID, 3, random_state=0), draws)
    with pytest.raises((ValueError, RuntimeError), match="return_std"):
        optimizer.predict(GRID, return_std=True, return_cov=True)


@pytest.mark.one_in(3)
def test_fit_conditions_on_the_points_and_restarts(name):
    optimizer = make(name)
    play(optimizer, 5)
    optimizer.fit(POOL[:30], f(POOL[:30]))
    again = make(name).fit(POOL[:30], f(POOL[:30]))
    np.testing.assert_array_equal(optimizer.predict(GRID), again.predict(GRID))
    assert optimizer.ask() == again.ask()
    assert optimizer.score(POOL[:30], f(POOL[:30])) > 0.5


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", LOOPING)
@pytest.mark.parametrize("method", ["ask", "recommend", "tell", "run"])
def test_without_a_domain_the_error_says_what_to_pass(cls, method):
    arguments = {"tell": ([[0.5]], 1.0), "run": (answer, 3)}.get(method, ())
    with pytest.raises(NotFittedError, match="bounds"):
        getattr(cls(), method)(*arguments)


HALF_MASKED = np.ma.array([[0.0, 1.0], [0.5, 2.0]], mask=[[0, 0], [0, 1]])

BAD_PARAMETERS = {
    "rule": ["ucb", None, 1],
    "information": ["joint", None, 1],
    "bounds": [
        "unit",
        [(1.0, 0.0), (0.0, 1.0)],
        [(0.0, 0.0), (0.0, 1.0)],
        [(0.0, np.nan), (0.0, 1.0)],
        [(0.0, np.inf), (0.0, 1.0)],
        [0.0, 1.0],
        [],
        [(0.0, 1.0, 2.0)],
        [(0.0, 1.0), (0.0,)],
        [(0.0, None)],
        3,
        np.ma.array([(0.0, 1.0), (0.0, 1.0)], mask=[(0, 1), (0, 0)]),
        [(0.0, 5e-324), (0.0, 1.0)],
        [(0.0, 1.0), (1e15, 1e15 + 1.0)],
    ],
    "pool": ["table", [1.0, 2.0], [[np.nan, 1.0]], [], [[[1.0]]], np.empty((0, 2)), HALF_MASKED],
    "n_children": [1, 0, -2, 2.5, "2", None, np.nan],
    "direction": ["down", 1, None, True],
    "feedback": ["median", 3, None, RBF],
    "n_representatives": [0, -1, 2.5, "3", (2,), (2, 0), (2, 2, 2), (2, 1.5)],
    "variation": [
        "wide",
        None,
        (1.0,),
        (1.0, 0.5, 2.0),
        (-1.0, 0.5),
        (np.nan, 0.5),
        (1.0, np.inf),
        (1.0, -0.5),
        (1.0, 0.0),
        ("1", "0.5"),
        3.0,
        lambda h: np.nan,
        lambda h: -1.0,
        lambda h: "deep",
    ],
    "max_depth": [-1, 2.5, "3", np.inf, np.nan],
    "min_members": [0, -1, 1.5, "2", None],
    "failure_probability": [0.0, 1.0, -0.1, 1.5, np.nan, "0.1", None],
    "kernel": ["rbf", RBF, 3.0, [RBF()], CompoundKernel([RBF()])],
    "alpha": [-1.0, np.nan, np.inf, "0.1", 1j],
    "expansion": ["during", None, True],
    "beta": ["big", -1.0, np.nan, None, lambda t: np.nan, lambda t: -1.0, lambda t: None],
    "optimizer": ["adam", 3],
    "n_restarts_optimizer": [-1, 1.5, None, True],
    "relearn": ["daily", -1, 0, 2.5],
    "normalize_y": ["yes", None],
    "width": ["wide", None, 3],
    "reward_range": [(1.0, 0.0), (0.0, 0.0), (0.0,), (0.0, np.nan), "01", None, 1.0],
    "horizon": [0, -1, 1.5, "10"],
    "regret": ["both", None, 2],
    "random_state": ["seed", 1.5],
    "anytime": ["yes", None],
    "max_active": [0, 1.5, "3", None],
    "metric": ["manhattan", None],
    "r_min": [-1.0, np.nan, "0.1"],
    "arms": ["a", [1.0], [], [[np.nan]], HALF_MASKED],
    "queries": ["a", [1.0], [], [[np.nan]], HALF_MASKED, [[5.0, 5.0]], Cells(-0.1), Cells(9.0)],
    "targets": ["a", [1.0], [], [[np.nan]], HALF_MASKED, [[5.0, 5.0]], Cells((0.1,)), Cells("a")],
    "cost": ["free", [1.0, 1.0], [0.0], [-1.0], [np.nan], [[1.0]]],
    "n_candidates": [0, 1.5, "3"],
    "n_initial": [-1, 1.5, "3", 10**9],
    "earlier_campaigns": ["2024", {"2024": 1}, {"2024": ([[0.5]], [1.0, 2.0])}],
    "earlier_arms": ["a", [1.0], [[np.nan]], HALF_MASKED],
    "goals": [
        "cost",
        ["cost"],
        {"cost": "down"},
        {1: "minimize"},
        dict.fromkeys("abcd", "minimize"),
    ],
    "reference": ["x", [1.0, 2.0], [np.nan]],
    "limits": ["heat", [80], {"heat": 80}, {"heat": (None, None)}, {"heat": (2.0, 1.0)}],
    "weights": ["x", 3, None],
    "n_draws": [0, 1.5, True],
    "covariance": ["x", None],
    "context_bounds": ["unit", [(1.0, 0.0)], [(0.0, np.nan)], [0.0, 1.0]],
    "guarantee": ["rkhs", 2.0, Guarantee, {"norm_bound": 2.0}],
    "information_gain": ["x", -1.0, lambda t: np.nan],
    "xi": [-1.0, None],
    "optimum": ["x", 1j],
    "max_values": ["x", "joint", None],
    "n_max_values": [0, 1.5, True],
}


def bad_parameters_of(cls):
    for parameter, given in inspect.signature(cls).parameters.items():
        assert parameter in BAD_PARAMETERS, f"add bad values of {parameter}"
        for value in BAD_PARAMETERS[parameter]:
            if value is not None or given.default is not None:  # None may be no nonsense there
                yield parameter, value


@pytest.mark.one_in(5)
@pytest.mark.parametrize("cls", LOOPING)
def test_nonsense_parameters_are_named_on_use_and_not_before(cls):
    for parameter, value in bad_parameters_of(cls):
        settings = {"bounds": BOUNDS}
        if parameter in ("arms", "pool"):
            settings["bounds"] = None
        if parameter == "min_members":
            settings = {"pool": POOL}
        if parameter == "n_representatives":
            settings["feedback"] = "average"
        if parameter == "horizon" and cls is StoOOOptimizer:
            settings["width"] = "munos"
        if parameter == "information_gain" and cls is GPTSOptimizer:
            settings["beta"] = "theory"
        settings[parameter] = value
        given = f"{parameter}={value!r}"
        assert parameter in refusal(cls(**settings)), given
        assert parameter in refusal(cls(**settings), POOL[:20], f(POOL[:20])), given


def refusal(optimizer, *data):
    """Return the error for wrong parameters in which some rounds end, after a fit to data."""
    try:
        # A callable is wrong only where it is called, a random state where it is used.
        play(optimizer.fit(*data) if data else optimizer, 3)
    except (ValueError, TypeError) as error:
        return str(error)
    return "accepted"


@pytest.mark.parametrize("cls", [c for c in LOOPING if "kernel" in inspect.signature(c).parameters])
def test_a_start_that_fails_leaves_no_trace(cls):
    wrong = Matern([0.5, 0.5, 0.5])  # three length scales in two dimensions
    optimizer = cls(kernel=wrong, bounds=BOUNDS, random_state=0)
    before = dict(vars(optimizer))
    with pytest.raises(ValueError, match=r"length_scale|dimension"):
        optimizer.ask()
    assert vars(optimizer) == before
    optimizer.set_params(kernel=Matern(0.5))
    assert optimizer.ask() == cls(kernel=Matern(0.5), bounds=BOUNDS, random_state=0).ask()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [GPOOOptimizer, GPTreeOptimizer, GPZoomingOptimizer])
@pytest.mark.parametrize("kernel", [None, RBF(0.2), Matern(0.2, nu=1.5)], ids=str)
def test_a_box_far_from_zero_is_played_like_one_at_zero(cls, kernel):
    # Corners, centres and the points predicted at are exact in both places. Undisturbed, points
    # would enter scikit-learn's kernels in units of the length scale, 6e-7 from where they are.
    far, grid = 2.0**30, np.linspace(0, 1, 17)[:, None]
    answers = []
    for origin in (0.0, far):
        optimizer = cls(kernel, bounds=[(origin, origin + 1.0)], alpha=0.01, random_state=0)
        queries = []
        for _ in range(15):
            queries.append(optimizer.ask())
            x = queries[-1].center - origin
            optimizer.tell(queries[-1], float(np.sin(5 * x[0])))
        centers = [query.center[0] - origin for query in queries]
        answers.append((centers, *optimizer.predict(grid + origin, return_std=True)))
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_allclose(answers[0][1:], answers[1][1:], atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", LOOPING)
def test_a_box_between_few_numbers_says_so(cls):
    for bounds in ([(1e15, 1e15 + 1)], [(0.0, 5e-324)], [(-1.0, -1.0 + 1e-12)]):
        with pytest.raises(ValueError, match=r"bounds must leave room .* dimension 0 there are"):
            cls(bounds=bounds).ask()
    x = 1e15 + np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="bounds of X must leave room"):
        cls().fit(x)
    wide = [(-1e300, 1e300), (1e15, 1e16), (0.0, 1e-300)]
    cls(bounds=wide).ask()


@pytest.mark.parametrize("cls", LOOPING)
def test_bounds_that_overflow_say_so(cls):
    for bounds, says in [
        ([(0.0, 1.0), (1e308, 1.7e308)], "within -8e.307 and 8e.307, got .* in dimension 1"),
        ([(-1e308, 1e308)], "within -8e.307"),
        ([(0.0, 1e-310)], "sides of 1e-307 or more, got .* in dimension 0"),
    ]:
        with pytest.raises(ValueError, match=f"bounds must .*{says}"):
            cls(bounds=bounds).ask()


def test_messages_say_what_was_wrong():
    optimizer = make("GPOO-average")
    query = optimizer.ask()
    for args, message in [
        ((query, np.nan), "reward must be finite"),
        ((query, "high"), "reward must be a real number"),
        (([query, query], [0.5]), "each of 2"),
        ((np.array([0.0, 3.5]), 0.5), "bounds"),
        ((np.zeros((2, 3)), 0.5), r"2.*3|3.*2"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            optimizer.tell(*args)


# Model selection ---------------------------------------------------------------------------------

X_TABLE = np.random.default_rng(11).uniform([-1.0, 0.0], [1.0, 3.0], size=(60, 2))
Y_TABLE = f(X_TABLE) + 0.05 * np.random.default_rng(12).normal(size=60)


@pytest.mark.parametrize("refit", [True, False])
def test_grid_search_over_variation_and_length_scale(refit):
    grid = {"variation": [(1.0, 0.5), (4.0, 0.7)], "kernel__length_scale": [1e-3, 0.7]}
    search = GridSearchCV(GPOOOptimizer(RBF(1.0)), grid, cv=3, refit=refit, error_score="raise")
    search.fit(X_TABLE, Y_TABLE)
    assert search.best_params_["kernel__length_scale"] == 0.7
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    if refit:
        assert search.best_score_ > 0.8
        assert search.best_estimator_.ask().depth == 0


def test_grid_search_over_a_composite_kernel():
    grid = {"kernel__k1__k2__length_scale": [1e-3, 0.7], "kernel__k2__length_scale": [0.5, 2.0]}
    kernel = 1.0 * RBF(1.0) + Matern(1.0, nu=2.5)
    optimizer = GPOOOptimizer(kernel, variation=(1.0, 0.5))
    search = GridSearchCV(optimizer, grid, cv=3, error_score="raise")
    assert search.fit(X_TABLE, Y_TABLE).best_score_ > 0.8


def test_grid_search_over_a_pipeline_with_a_scaler():
    pipeline = make_pipeline(StandardScaler(), GPOOOptimizer(RBF(1.0)))
    grid = {
        "gpoooptimizer__variation": [(1.0, 0.5), (4.0, 0.7)],
        "gpoooptimizer__kernel__length_scale": [1e-3, 1.0],
    }
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X_TABLE, Y_TABLE)
    assert search.best_params_["gpoooptimizer__kernel__length_scale"] == 1.0
    assert search.best_score_ > 0.8
    assert search.predict(X_TABLE).shape == (60,)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("cls", LOOPING)
def test_cross_validation_and_set_params(cls):
    scores = cross_val_score(cls(), X_TABLE, Y_TABLE, cv=3, error_score="raise")
    assert np.isfinite(scores).all()
    optimizer = cls(bounds=BOUNDS)
    play(optimizer, 3)
    optimizer.set_params(
        **{"n_children": 3} if hasattr(optimizer, "n_children") else {"alpha": 1.0}
    )
    # New parameters are for the next start; they must not corrupt the run.
    play(optimizer, 3)
    assert re.fullmatch(r"\d+", str(len(optimizer.history_)))


SEEN = ("alpha_", "failed_", "history_", "pending_", "spent_", "tree_")
PREDICTING = ("interval", "predict", "predict_query", "predict_within_limits", "sample_y")


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_there_is_nothing_to_see_before_the_start(cls):
    names = [name for name in SEEN if isinstance(getattr(cls, name, None), property)]
    assert {"history_", "pending_"} <= set(names)
    for name in names:
        with pytest.raises(NotFittedError, match=cls.__name__):
            getattr(cls(), name)
    for name in PREDICTING:
        if hasattr(cls, name):
            with pytest.raises(NotFittedError, match=cls.__name__):
                getattr(cls(), name)([[0.0]])

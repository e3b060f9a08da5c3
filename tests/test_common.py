"""One suite for every public optimizer: what code outside relies on, whatever the algorithm.

A new optimizer joins by being listed in ``skgpb.optimizers.__all__`` and in CASES.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, Kernel, Matern
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skgpb.optimizers
from skgpb.exceptions import EvaluationWarning, ReplayWarning
from skgpb.kernels import CellAverage
from skgpb.optimizers import (
    ContextualGPTreeOptimizer,
    DAGPUCBOptimizer,
    EIOptimizer,
    ESTOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPTSOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IGPUCBOptimizer,
    MESOptimizer,
    PIOptimizer,
    StoOOOptimizer,
    URGPUCBOptimizer,
)
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.surrogate import OnlineGaussianProcessRegressor

OPTIMIZERS = [
    value
    for name in skgpb.optimizers.__all__
    if inspect.isclass(value := getattr(skgpb.optimizers, name))
    and issubclass(value, BaseEstimator)
    and not name.startswith("Base")
]

BOUNDS = [(-1.0, 1.0), (0.0, 3.0)]
POOL = np.random.default_rng(7).uniform([-1.0, 0.0], [1.0, 3.0], size=(200, 2))
ARMS = np.array([[x, y] for x in np.linspace(-1, 1, 9) for y in np.linspace(0, 3, 8)])
ON_ARMS = {"bounds": None, "arms": ARMS}

#: Settings with which every optimizer is taken through its paces, in two dimensions. Diameters
#: are such that trees grow within a dozen rounds.
CASES = {
    "GPOO-center": (GPOOOptimizer, {"feedback": "center", "diameter": (3.0, 0.6)}),
    "GPOO-average": (
        GPOOOptimizer,
        {"feedback": "average", "n_representatives": (2, 3), "diameter": (3.0, 0.6)},
    ),
    "GPOO-integral": (GPOOOptimizer, {"feedback": "integral", "diameter": (3.0, 0.6)}),
    "GPOO-defaults": (GPOOOptimizer, {}),
    "GPOO-after-K3": (
        GPOOOptimizer,
        {"expansion": "after", "n_children": 3, "diameter": (3.0, 0.6), "beta": 4.0},
    ),
    "GPOO-matern": (
        GPOOOptimizer,
        {"kernel": Matern(0.8, nu=2.5), "diameter": (3.0, 0.6), "n_representatives": 2},
    ),
    "GPOO-learned": (
        GPOOOptimizer,
        {"kernel": RBF(0.5), "optimizer": "fmin_l_bfgs_b", "normalize_y": True},
    ),
    "GPOO-query-kernel": (
        GPOOOptimizer,
        {"feedback": CellAverage(RBF([0.5, 0.8]), 2), "n_representatives": 2},
    ),
    "GPOO-pool": (GPOOOptimizer, {"bounds": None, "pool": POOL, "diameter": (3.0, 0.6)}),
    "StoOO": (StoOOOptimizer, {"diameter": (3.0, 0.8)}),
    "AVE-StoOO": (
        StoOOOptimizer,
        {"feedback": "average", "n_representatives": 3, "diameter": (3.0, 0.8)},
    ),
    "StoOO-munos": (StoOOOptimizer, {"width": "munos", "budget": 50, "diameter": (3.0, 0.8)}),
    "StoOO-pool": (StoOOOptimizer, {"bounds": None, "pool": POOL, "diameter": (3.0, 0.8)}),
    "GPTree": (GPTreeOptimizer, {"budget": 200}),
    "GPTree-average": (
        GPTreeOptimizer,
        {"budget": 200, "feedback": "average", "n_representatives": 3, "diameter": (3.0, 0.6)},
    ),
    "zooming": (GPZoomingOptimizer, {"budget": 200}),
    "GP-UCB": (GPUCBOptimizer, ON_ARMS),
    "GP-UCB-box": (GPUCBOptimizer, {"n_candidates": 60}),
    "IGP-UCB": (IGPUCBOptimizer, ON_ARMS),
    "GP-TS": (GPTSOptimizer, ON_ARMS),
    "GP-TS-box": (GPTSOptimizer, {"n_candidates": 60}),
    "URGP-UCB": (URGPUCBOptimizer, ON_ARMS),
    "DAGP-UCB": (DAGPUCBOptimizer, ON_ARMS),
    "DAGP-UCB-box": (DAGPUCBOptimizer, {"n_candidates": 60}),
    "DAGP-UCB-joint": (
        DAGPUCBOptimizer,
        ON_ARMS
        | {"weights": "joint", "n_draws": 30, "normalize_y": True, "optimizer": "fmin_l_bfgs_b"},
    ),
    "EI": (EIOptimizer, ON_ARMS),
    "PI": (PIOptimizer, ON_ARMS),
    "EST": (ESTOptimizer, ON_ARMS),
    "MES": (MESOptimizer, ON_ARMS),
}

GRID = np.array([[x, y] for x in np.linspace(-0.9, 0.9, 5) for y in np.linspace(0.1, 2.9, 5)])


#: ``ask`` needs a context: only what concerns the constructor and ``fit`` is tested here, the
#: loop in tests/optimizers/test_contextual_gp_tree.py.
CONTEXTUAL = {ContextualGPTreeOptimizer}


#: Queries and recommendations live in two spaces; their suite is in tests/optimizers,
#: test_indirect_loop.py and test_cmes.py.
INDIRECT = {cls for cls in OPTIMIZERS if hasattr(cls, "predict_query")}


LOOPING = [cls for cls in OPTIMIZERS if cls not in CONTEXTUAL | INDIRECT]


def make(name, **parameters):
    cls, settings = CASES[name]
    return cls(**{"bounds": BOUNDS, "random_state": 0} | settings | parameters)


def f(X):
    X = np.atleast_2d(X)
    return np.exp(-((X[:, 0] - 0.4) ** 2) - (X[:, 1] - 1.2) ** 2)


def answer(query, rng=None):
    noise = 0.0 if rng is None else 0.1 * rng.standard_normal()
    return float(f(np.asarray(query)).mean() + noise)


def key(query):
    return getattr(query, "depth", 0), query.index, np.asarray(query).tolist()


def play(optimizer, n_rounds, rng=None):
    """Ask and tell, returning the queries."""
    queries = []
    for _ in range(n_rounds):
        query = optimizer.ask()
        optimizer.tell(query, answer(query, rng))
        queries.append(query)
    return queries


def assert_same_history(one, other):
    assert one.dtype == other.dtype
    assert len(one) == len(other)
    for name in one.dtype.names:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def has_model(optimizer):
    """Whether the optimizer knows how uncertain it is, and learns from any point."""
    return "return_std" in inspect.signature(optimizer.predict).parameters


def knows_all(optimizer):
    """Whether nothing is learned but f."""
    given = optimizer.kernel is not None or isinstance(getattr(optimizer, "feedback", ""), Kernel)
    return given and optimizer.alpha is not None and optimizer.optimizer is None


def predictions(optimizer):
    if has_model(optimizer):
        return optimizer.predict(GRID, return_std=True)
    return [optimizer.predict(GRID)]


def observe(optimizer):
    """Everything a user can see, without changing it: plain comparable values."""
    optimizer = copy.deepcopy(optimizer)
    seen = {}
    if hasattr(optimizer, "history_"):
        seen["history"] = [
            optimizer.history_[name].tolist() for name in optimizer.history_.dtype.names
        ]
        if hasattr(optimizer, "tree_"):
            names = ("depth", "index", "parent", "children", "lower", "upper", "n_evaluations")
            seen["tree"] = [np.asarray(optimizer.tree_[name]).tolist() for name in names]
        seen["prediction"] = [np.asarray(a).tolist() for a in predictions(optimizer)]
        seen["best"] = key(optimizer.recommend()) if optimizer._informed else None
    seen["ask"] = key(optimizer.ask())
    batch = optimizer.ask(3)
    seen["batch"] = [key(query) for query in batch]
    for query in batch:
        optimizer.tell(query, answer(query))
    seen["later"] = [key(query) for query in play(optimizer, 5)]
    seen["later mean"] = optimizer.predict(GRID).tolist()
    # NaN marks what an algorithm does not know; it equals itself here.
    return repr(seen)


@pytest.fixture(params=list(CASES))
def name(request):
    return request.param


# scikit-learn ------------------------------------------------------------------------------------


def test_every_public_optimizer_is_in_this_suite():
    assert OPTIMIZERS
    assert {cls for cls, _ in CASES.values()} | CONTEXTUAL | INDIRECT == set(OPTIMIZERS)


@parametrize_with_checks([cls() for cls in OPTIMIZERS] + [OnlineGaussianProcessRegressor()])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_constructor_stores_its_arguments_untouched(cls):
    for parameter in inspect.signature(cls).parameters:
        marker = object()
        assert getattr(cls(**{parameter: marker}), parameter) is marker


def test_parameters_are_never_written(name):
    optimizer = make(name)
    before = {k: (id(v), repr(v)) for k, v in optimizer.get_params(deep=False).items()}
    play(optimizer, 6)
    optimizer.recommend()
    optimizer.predict(GRID)
    after = {k: (id(v), repr(v)) for k, v in optimizer.get_params(deep=False).items()}
    assert after == before


# Ask and tell ------------------------------------------------------------------------------------


def test_ask_is_stable_until_tell(name):
    optimizer = make(name)
    for _ in range(6):
        first, second = optimizer.ask(), optimizer.ask()
        assert first == second
        assert hash(first) == hash(second)
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
        optimizer.predict(GRID)
        assert optimizer.ask() == first
        optimizer.tell(first, answer(first))


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


def test_queries_are_frozen_and_pickle(name):
    query = play(make(name), 3)[-1]
    with pytest.raises(AttributeError):
        query.index = 7
    with pytest.raises(ValueError, match="read-only"):
        query.points[0, 0] = 0.0
    copied = pickle.loads(pickle.dumps(query))
    assert copied == query
    assert hash(copied) == hash(query)
    np.testing.assert_array_equal(copied.points, query.points)


def test_a_batch_is_distinct_and_stable(name):
    optimizer = make(name)
    play(optimizer, 12)
    batch = optimizer.ask(3)
    assert len(batch) == 3
    assert len(set(batch)) == 3
    assert optimizer.ask(3) == batch
    optimizer.tell(batch, [answer(query) for query in batch])
    assert len(optimizer.history_) == 15


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


def test_the_first_of_a_batch_is_what_a_single_ask_returns(name):
    optimizer = make(name)
    play(optimizer, 12)
    twin = copy.deepcopy(optimizer)
    assert optimizer.ask(3)[0] == twin.ask()


def test_answers_may_come_in_any_order(name):
    optimizer = make(name)
    play(optimizer, 12)
    batch = optimizer.ask(4)
    forward, backward = copy.deepcopy(optimizer), copy.deepcopy(optimizer)
    for query in batch:
        forward.tell(query, answer(query))
    for query in reversed(batch):
        backward.tell(query, answer(query))
    assert len(forward.history_) == len(backward.history_) == 16
    np.testing.assert_allclose(
        np.sort(forward.history_["reward"]), np.sort(backward.history_["reward"]), rtol=0, atol=0
    )
    if has_model(optimizer) and knows_all(optimizer):
        # A posterior with fixed hyperparameters does not depend on the order.
        np.testing.assert_allclose(
            forward.predict(GRID), backward.predict(GRID), rtol=0, atol=1e-10
        )
    # Whatever was pending is answered: a fresh query follows.
    for each in (forward, backward):
        each.tell(each.ask(), 0.5)
        assert len(each.history_) == 17


def test_lists_are_told_as_if_one_after_another(name):
    optimizer = make(name)
    play(optimizer, 12)
    batch = optimizer.ask(3)
    rewards = [answer(query) for query in batch]
    together, apart = copy.deepcopy(optimizer), copy.deepcopy(optimizer)
    together.tell(batch, np.array(rewards))
    for query, reward in zip(batch, rewards, strict=True):
        apart.tell(query, reward)
    np.testing.assert_array_equal(together.history_["reward"], apart.history_["reward"])
    np.testing.assert_array_equal(together.history_["expanded"], apart.history_["expanded"])
    np.testing.assert_allclose(together.predict(GRID), apart.predict(GRID), rtol=0, atol=1e-10)
    assert key(together.ask()) == key(apart.ask())


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
    assert key(optimizer.ask()) == key(twin.ask())


def test_every_reward_is_recorded(name):
    optimizer = make(name)
    rng = np.random.default_rng(3)
    rewards, boxes = [], []
    for _ in range(10):
        query = optimizer.ask()
        rewards.append(answer(query, rng))
        boxes.append([*query.lower, *query.upper])
        optimizer.tell(query, rewards[-1])
    np.testing.assert_array_equal(optimizer.history_["descriptor"], boxes)
    np.testing.assert_array_equal(optimizer.history_["reward"], rewards)
    np.testing.assert_array_equal(optimizer.history_["round"], np.arange(1, 11))
    if hasattr(optimizer, "tree_"):
        assert optimizer.tree_.n_evaluations.sum() == 10


def test_own_noise_of_an_observation_is_accepted(name):
    optimizer = make(name)
    play(optimizer, 4)
    precise, vague = copy.deepcopy(optimizer), copy.deepcopy(optimizer)
    query = optimizer.ask()
    precise.tell(query, 3.0, alpha=1e-4)
    vague.tell(query, 3.0, alpha=1e4)
    assert len(precise.history_) == len(vague.history_) == 5
    if has_model(optimizer) and knows_all(optimizer):
        center = query.center[np.newaxis]
        before = optimizer.predict(center)[0]
        assert abs(precise.predict(center)[0] - before) > 0.1
        assert abs(vague.predict(center)[0] - before) < 0.01


@pytest.mark.parametrize("name", [n for n in CASES if has_model(make(n))])
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


@pytest.mark.parametrize("name", [n for n in CASES if has_model(make(n))])
def test_external_observations_may_come_first_and_among_queries(name):
    optimizer = make(name)
    optimizer.tell(POOL[0], 0.1, alpha=0.5)
    query = optimizer.ask()
    optimizer.tell([query, POOL[1], POOL[2:5]], [0.1, 0.2, 0.3])
    assert len(optimizer.history_) == 4
    play(optimizer, 3)
    assert len(optimizer.history_) == 7


@pytest.mark.parametrize("name", [n for n in CASES if has_model(make(n))])
def test_the_points_of_a_pending_query_stand_for_the_query(name):
    optimizer = make(name)
    play(optimizer, 4)
    twin, query = copy.deepcopy(optimizer), optimizer.ask()
    twin.tell(twin.ask(), 0.3)
    optimizer.tell(np.array(query), 0.3)
    assert_same_history(optimizer.history_, twin.history_)
    assert optimizer.ask() == twin.ask()


def test_a_saved_run_continues_identically(name, tmp_path):
    optimizer, rng = make(name), np.random.default_rng(1)
    play(optimizer, 7, rng)
    optimizer.tell(optimizer.ask(), 0.3, alpha=0.2)
    optimizer.tell(optimizer.ask(), None)
    optimizer.ask(3)
    optimizer.tell(optimizer.ask(3)[1], 0.1)
    play(optimizer, 6, rng)
    optimizer.ask(2)
    path = tmp_path / "run"
    optimizer.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReplayWarning)
        resumed = type(optimizer).load(path)
    other = copy.deepcopy(rng)
    assert resumed.ask(2) == optimizer.ask(2)
    for one, two in zip(predictions(resumed), predictions(optimizer), strict=True):
        np.testing.assert_array_equal(one, two)
    assert play(resumed, 12, other) == play(optimizer, 12, rng)
    assert_same_history(resumed.history_, optimizer.history_)
    assert resumed.failed_["round"].tolist() == optimizer.failed_["round"].tolist()
    assert resumed.recommend() == optimizer.recommend()
    for parameter, value in optimizer.get_params(deep=False).items():
        assert repr(getattr(resumed, parameter)) == repr(value)


@pytest.mark.parametrize("told", [False, True])
def test_a_saved_fit_continues_identically(name, told, tmp_path):
    optimizer = make(name).fit(POOL[:12], f(POOL[:12]))
    if told:
        play(optimizer, 4)
    optimizer.save(tmp_path / "run")
    resumed = type(optimizer).load(tmp_path / "run")
    assert play(resumed, 6) == play(optimizer, 6)
    np.testing.assert_array_equal(resumed.predict(GRID), optimizer.predict(GRID))


# Reading -----------------------------------------------------------------------------------------


#: Optimizers whose ``ask`` or whose queries differ, with what their ``ask`` takes.
OTHERS = {
    "contextual": (
        ContextualGPTreeOptimizer(
            context_bounds=BOUNDS[:1], bounds=BOUNDS[1:], diameter=(3.0, 0.6), random_state=0
        ),
        [[0.25]],
    ),
    "combinatorial": (
        CombinatorialBandit(
            [DAGPUCBOptimizer(RBF(0.7), arms=ARMS[::8], alpha=0.1)] * 2, 3.0, 1.0, random_state=0
        ),
        [],
    ),
    **{
        cls.__name__: (cls(domain=BOUNDS, n_points=49, alpha=1e-3, random_state=0), [])
        for cls in sorted(INDIRECT, key=lambda cls: cls.__name__)
    },
}


def read_everything(optimizer, asked, path):
    """Call all that only looks, with every option."""
    X = GRID if optimizer.n_features_in_ == 2 else np.tile(ARMS[::8], 2)
    Y = f(X) if optimizer.n_features_in_ == 2 else np.zeros((len(X), 2))
    signature = inspect.signature(optimizer.recommend).parameters
    optimizer.recommend(*asked)
    if "rule" in signature:
        optimizer.recommend("posterior", caution=1.0)
        optimizer.recommend("posterior", depth=2)
    for rows in (X, X[:3], X[1:8]):
        optimizer.predict(rows)
        for option in ("return_std", "return_cov"):
            if option in inspect.signature(optimizer.predict).parameters:
                optimizer.predict(rows, **{option: True})
    if hasattr(optimizer, "predict_query"):
        A = np.array([optimizer.history_["a"][0]] * 3)
        optimizer.predict_query(A)
        optimizer.predict_query(A[:2], return_std=True)
    if hasattr(optimizer, "sample_y"):
        optimizer.sample_y(X, 2)
    for method in ("scores", "predict_arms", "sample_arms"):
        if hasattr(optimizer, method):
            getattr(optimizer, method)()
    for attribute, value in inspect.getmembers(type(optimizer)):
        if isinstance(value, property) and not attribute.startswith("_"):
            getattr(optimizer, attribute)
    optimizer.score(X, Y)
    repr(optimizer)
    optimizer._repr_html_()
    pickle.dumps(optimizer)
    copy.deepcopy(optimizer)
    clone(optimizer)
    optimizer.save(path)


def play_reading(name, rounds, path=None):
    """Play a varied run, looking at everything wherever it can be done if a path is given."""
    if name in CASES:
        optimizer, asked = make(name), []
    else:
        optimizer, asked = clone(OTHERS[name][0]), OTHERS[name][1]
    rng, queries = np.random.default_rng(5), []
    for i in range(rounds):
        if i in (4, 7) and name in CASES and has_model(optimizer):
            # Nothing is asked between two readings: what they refresh nobody else does.
            optimizer.tell(POOL[i], 0.4)
        else:
            query = optimizer.ask(*asked) if i % 3 else optimizer.ask(*asked, 2)[1]
            queries.append(query)
            if path is not None and i > 0:
                read_everything(optimizer, asked, path)
            reward = answer(query, rng)
            reward = [reward, 0.3] if name == "combinatorial" else reward
            optimizer.tell(query, None if i == 5 else reward)
        if path is not None:
            read_everything(optimizer, asked, path)
    return optimizer, queries


@pytest.mark.parametrize("name", [*CASES, *OTHERS])
def test_reading_never_changes_a_run(name, tmp_path):
    read, queries = play_reading(name, 9, tmp_path / "run")
    alone, undisturbed = play_reading(name, 9)
    assert queries == undisturbed
    assert read.history_.tobytes() == alone.history_.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReplayWarning)
        resumed = type(read).load(tmp_path / "run")
    asked = OTHERS[name][1] if name in OTHERS else []
    assert resumed.ask(*asked) == read.ask(*asked) == alone.ask(*asked)
    X = read.bounds_.mean(axis=1)[None]
    assert resumed.predict(X).tolist() == read.predict(X).tolist() == alone.predict(X).tolist()


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


@pytest.mark.parametrize("pending", [False, True])
def test_a_pickled_run_continues_identically(name, pending):
    optimizer, rng = make(name), np.random.default_rng(1)
    play(optimizer, 9, rng)
    if pending:
        optimizer.ask(2)
    resumed = pickle.loads(pickle.dumps(optimizer))
    other = copy.deepcopy(rng)
    assert resumed.ask() == optimizer.ask()
    assert play(resumed, 12, other) == play(optimizer, 12, rng)
    assert_same_history(resumed.history_, optimizer.history_)
    assert resumed.recommend() == optimizer.recommend()
    np.testing.assert_array_equal(resumed.predict(GRID), optimizer.predict(GRID))


def test_a_query_can_be_told_back_after_a_restart(name):
    optimizer = make(name)
    play(optimizer, 5)
    stored = pickle.dumps((optimizer, optimizer.ask()))
    restarted, query = pickle.loads(stored)
    restarted.tell(query, 0.25)
    optimizer.tell(optimizer.ask(), 0.25)
    assert restarted.ask() == optimizer.ask()


def test_clones_with_the_same_seed_play_the_same_run(name):
    optimizer = make(name)
    play(optimizer, 4)
    fresh = clone(optimizer)
    assert not hasattr(fresh, "history_")
    one, other = clone(optimizer), clone(optimizer)
    assert play(one, 15, np.random.default_rng(2)) == play(other, 15, np.random.default_rng(2))
    assert_same_history(one.history_, other.history_)


def test_optimizers_do_not_touch_the_global_random_state(name):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    play(make(name), 5)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_run_is_the_ask_tell_loop(name):
    by_hand, by_run = make(name), make(name)
    play(by_hand, 12)
    result = by_run.run(answer, 12)
    assert_same_history(by_run.history_, by_hand.history_)
    assert by_run.recommend() == by_hand.recommend()
    assert result.success
    assert result.nfev == 12
    assert result.x == by_hand.recommend()
    assert np.isfinite(result.fun)
    assert_same_history(result.history, by_hand.history_)


def test_run_continues_where_it_stopped_and_calls_back(name):
    whole, parts, seen = make(name), make(name), []
    whole.run(answer, 10)
    parts.run(answer, 4)
    parts.run(answer, 6, callback=lambda optimizer: seen.append(len(optimizer.history_)))
    assert_same_history(parts.history_, whole.history_)
    assert seen == [5, 6, 7, 8, 9, 10]


def test_a_callback_may_end_the_run(name):
    optimizer = make(name)
    result = optimizer.run(answer, 10, callback=lambda optimizer: len(optimizer.history_) == 3)
    assert result.nfev == len(optimizer.history_) == 3
    assert "callback" in result.message


def test_parallel_run_is_the_loop_over_batches(name):
    by_hand, by_run = make(name), make(name)
    for _ in range(4):
        batch = by_hand.ask(3)
        by_hand.tell(batch, [answer(query) for query in batch])
    with parallel_config(backend="threading"):
        result = by_run.run(answer, 12, n_jobs=3)
    assert result.nfev == 12
    assert_same_history(by_run.history_, by_hand.history_)


class OffAt:
    """An objective that raises, or returns None, at the calls of the given numbers."""

    def __init__(self, numbers, raises=True):
        self.numbers, self.raises, self.calls, self.asked = numbers, raises, 0, []

    def __call__(self, query):
        self.asked.append(query)
        self.calls += 1
        if self.calls in self.numbers:
            if self.raises:
                raise OSError("the instrument is off")
            return None
        return answer(query)


def test_run_can_end_with_the_exception_of_the_objective(name):
    optimizer = make(name)
    objective = OffAt([5])
    with pytest.raises(OSError, match="instrument"):
        optimizer.run(objective, 10, on_error="raise")
    assert len(optimizer.history_) == 4
    twin = make(name)
    play(twin, 4)
    assert optimizer.ask() == twin.ask()
    # The next run begins with what was left, and then plays the run that nothing has disturbed.
    optimizer.run(objective, 6)
    assert objective.asked[4] == objective.asked[5]
    play(twin, 6)
    assert_same_history(optimizer.history_, twin.history_)


@pytest.mark.parametrize("raises", [True, False])
def test_the_loop_goes_on_after_failed_evaluations(name, raises):
    optimizer, objective = make(name), OffAt([1, 4, 5], raises)
    with pytest.warns(EvaluationWarning, match="3 of 12"):
        result = optimizer.run(objective, 12)
    assert (result.nfev, result.nfail, len(result.history)) == (12, 3, 9)
    assert optimizer.failed_["round"].tolist() == [0, 2, 2]
    for row, i in zip(optimizer.failed_, (0, 3, 4), strict=True):
        assert ("OSError: the instrument is off" in row["reason"]) == raises
        query = objective.asked[i]
        np.testing.assert_array_equal(row["descriptor"], [*query.lower, *query.upper])
        # It is not asked again at once, though nothing forbids it for ever.
        assert query != objective.asked[i + 1]
    # The same by hand, and by way of a file in the middle.
    by_hand = make(name)
    for i in range(12):
        query = by_hand.ask()
        assert query == objective.asked[i]
        by_hand.tell(query, None if i in (0, 3, 4) else answer(query))
    assert_same_history(by_hand.history_, optimizer.history_)
    assert by_hand.ask(2) == optimizer.ask(2)


def test_a_failure_teaches_nothing_and_is_retried_later(name):
    optimizer = make(name)
    play(optimizer, 6)
    before = predictions(optimizer)
    query = optimizer.ask()
    optimizer.tell(query, None)
    for one, other in zip(predictions(optimizer), before, strict=True):
        np.testing.assert_array_equal(one, other)
    assert optimizer.ask() != query
    # A late answer counts as any other.
    late = copy.deepcopy(optimizer)
    late.tell(query, 0.25)
    assert late.history_["reward"][-1] == 0.25
    assert query not in late._pending
    # After its k-th failure it is left out until 2^k answers or failures have come.
    for k in (1, 2):
        for _ in range(2**k):
            other = optimizer.ask()
            assert other != query
            optimizer.tell(other, answer(other))
        assert query not in optimizer._pending
        optimizer.tell(query, None)


def test_nothing_told_is_nothing_known(name, tmp_path):
    optimizer = make(name)
    for _ in range(2):  # before a run and during one
        with pytest.raises(NotFittedError, match="no answer yet"):
            optimizer.recommend()
        optimizer.ask()
    with pytest.warns(EvaluationWarning, match="5 of 5"):
        result = optimizer.run(lambda query: 1 / 0, budget=5)
    assert not result.success
    assert result.x is None
    assert np.isnan(result.fun)
    assert (result.nfev, result.nfail, len(result.history)) == (5, 5, 0)
    assert "all 5 evaluations failed" in result.message
    with pytest.raises(NotFittedError, match="no answer yet"):
        optimizer.recommend()
    # One answer is something, and so are evaluations given to fit; points alone are not.
    optimizer.tell(optimizer.ask(), 0.5)
    optimizer.recommend()
    with pytest.raises(NotFittedError, match="no answer yet"):
        optimizer.fit(POOL).recommend()
    optimizer.fit(POOL[:12], f(POOL[:12])).recommend()
    # Failures do not take away what is known.
    with pytest.warns(EvaluationWarning, match="2 of 2"):
        assert optimizer.run(lambda query: 1 / 0, budget=2).success


def test_a_recommendation_that_is_refused_begins_no_run():
    seeds = np.random.RandomState(0)
    optimizer = EIOptimizer(bounds=BOUNDS, random_state=seeds)
    with pytest.raises(NotFittedError, match="no answer yet"):
        optimizer.recommend()
    assert not hasattr(optimizer, "bounds_")
    twin = EIOptimizer(bounds=BOUNDS, random_state=np.random.RandomState(0))
    assert play(optimizer, 3) == play(twin, 3)


def test_run_gives_up_when_everything_fails(name):
    optimizer = make(name)
    with pytest.raises(RuntimeError, match=r"the last 10 evaluations.*instrument is off"):
        optimizer.run(OffAt(range(100)), 50)
    assert len(optimizer.failed_) == 10
    assert len(optimizer.history_) == 0
    play(optimizer, 3)


@pytest.mark.parametrize("name", [n for n in CASES if "OO" in n])
def test_recommendation_is_a_cell_that_was_expanded_or_the_root(name):
    optimizer = make(name)
    for _ in range(15):
        play(optimizer, 1)
        best = optimizer.recommend()
        assert best == optimizer.recommend()
        if not optimizer.history_["expanded"].any():
            assert (best.depth, best.index) == (0, 0)
        else:
            tree = optimizer.tree_
            row = np.flatnonzero((tree.depth == best.depth) & (tree.index == best.index))
            assert (np.reshape(tree.children[row[0]], -1) >= 0).any()


def test_predictions_have_the_shapes_of_a_regressor(name):
    optimizer = make(name)
    play(optimizer, 6)
    mean = optimizer.predict(GRID)
    assert mean.shape == (25,)
    assert np.isfinite(mean).all()
    np.testing.assert_array_equal(optimizer.predict(GRID), mean)
    np.testing.assert_allclose(optimizer.predict(GRID[:1]), mean[:1], rtol=0, atol=1e-12)
    assert isinstance(optimizer.score(GRID, f(GRID)), float)


@pytest.mark.parametrize("name", [n for n in CASES if has_model(make(n))])
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


def test_fit_conditions_on_the_points_and_restarts(name):
    optimizer = make(name)
    play(optimizer, 5)
    optimizer.fit(POOL[:30], f(POOL[:30]))
    again = make(name).fit(POOL[:30], f(POOL[:30]))
    np.testing.assert_array_equal(optimizer.predict(GRID), again.predict(GRID))
    assert optimizer.ask() == again.ask()
    assert optimizer.score(POOL[:30], f(POOL[:30])) > 0.5


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", LOOPING)
@pytest.mark.parametrize("method", ["ask", "recommend", "tell", "run"])
def test_without_a_domain_the_error_says_what_to_pass(cls, method):
    arguments = {"tell": ([[0.5]], 1.0), "run": (answer, 3)}.get(method, ())
    with pytest.raises(NotFittedError, match="bounds"):
        getattr(cls(), method)(*arguments)


HALF_MASKED = np.ma.array([[0.0, 1.0], [0.5, 2.0]], mask=[[0, 0], [0, 1]])

BAD_PARAMETERS = {
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
    "feedback": ["median", 3, None, RBF],
    "n_representatives": [0, -1, 2.5, "3", (2,), (2, 0), (2, 2, 2), (2, 1.5)],
    "diameter": [
        "wide",
        None,
        (1.0,),
        (1.0, 0.5, 2.0),
        (-1.0, 0.5),
        (np.nan, 0.5),
        (1.0, np.inf),
        (1.0, -0.5),
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
    "budget": [0, -1, 1.5, "10"],
    "random_state": ["seed", 1.5],
    "anytime": ["yes", None],
    "max_leaves": [0, 1.5, "3", None],
    "max_balls": [0, 1.5, "3", None],
    "metric": ["manhattan", None],
    "r_min": [-1.0, np.nan, "0.1"],
    "arms": ["a", [1.0], [], [[np.nan]], HALF_MASKED],
    "n_candidates": [0, 1.5, "3"],
    "weights": ["x", 3, None],
    "n_draws": [0, 1.5, True],
    "covariance": ["x", None],
    "B": [-1.0, "1"],
    "R": [-1.0, "one"],
    "information_gain": ["x", -1.0, lambda t: np.nan],
    "xi": [-1.0, None],
    "optimum": ["x", 1j],
    "max_values": ["x", None],
}


def bad_parameter_cases():
    for cls in LOOPING:
        for parameter in inspect.signature(cls).parameters:
            assert parameter in BAD_PARAMETERS, f"add bad values of {parameter}"
            for i, value in enumerate(BAD_PARAMETERS[parameter]):
                yield pytest.param(cls, parameter, value, id=f"{cls.__name__}-{parameter}-{i}")


@pytest.mark.parametrize(("cls", "parameter", "value"), list(bad_parameter_cases()))
def test_nonsense_parameters_are_named_on_use_and_not_before(cls, parameter, value):
    settings = {"bounds": BOUNDS}
    if parameter in ("arms", "pool"):
        settings["bounds"] = None
    if parameter == "min_members":
        settings = {"pool": POOL}
    if parameter == "n_representatives":
        settings["feedback"] = "average"
    if parameter == "budget" and cls is StoOOOptimizer:
        settings["width"] = "munos"
    if parameter == "information_gain" and cls is GPTSOptimizer:
        settings["beta"] = "theory"
    optimizer = cls(**settings | {parameter: value})
    with pytest.raises((ValueError, TypeError), match=parameter):
        # A callable is wrong only where it is called, a random state where it is used.
        play(optimizer, 3)
    with pytest.raises((ValueError, TypeError), match=parameter):
        play(cls(**settings | {parameter: value}).fit(POOL[:20], f(POOL[:20])), 3)


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


def cells_of_others(optimizer):
    """Queries that look like this optimizer's own and are not."""
    cls = type(optimizer)
    if not hasattr(optimizer, "diameter"):
        yield cls(arms=ARMS + 0.001).ask()
        yield cls(arms=ARMS[:, :1]).ask()
        return
    if cls is GPZoomingOptimizer:
        yield play_constant(cls(bounds=[(-1.0, 0.9), (0.0, 3.0)]), 3)[-1]
        yield play_constant(cls(bounds=[(-1.0, 1.0)]), 3)[-1]
        return
    # With a huge diameter every cell is expanded at once, so that the last cell is not the root.
    mine = optimizer.get_params(deep=False) | {"diameter": (1e3, 0.9), "max_depth": 5}
    shifted = {"bounds": [(-1.0, 0.9), (0.0, 3.0)], "pool": None}
    one_axis = {"bounds": [(-1.0, 1.0)], "pool": None, "n_representatives": None}
    one_axis |= {"kernel": None, "feedback": "center"}
    children = {"n_children": mine["n_children"] + 3}
    for change in (shifted, one_axis, children):
        other = cls(**{k: v for k, v in (mine | change).items() if k in mine})
        yield play_constant(other, 3)[-1]
    if mine.get("feedback") == "average" and mine["pool"] is None:
        finer = cls(**mine | {"n_representatives": 4})
        yield play_constant(finer, 3)[-1]


def play_constant(optimizer, n_rounds):
    queries = []
    for _ in range(n_rounds):
        queries.append(optimizer.ask())
        optimizer.tell(queries[-1], 0.5)
    return queries


BAD_REWARDS = [
    np.nan, np.inf, -np.inf, "1.0", 1j, 1.0 + 0j, object(), {}, [], [1.0, 2.0], 10**400,
    np.array([1.0, 2.0]), np.array([[1.0], [2.0]]), np.array("x"), True, np.complex128(1.0),
    np.ma.masked, np.ma.array(0.5, mask=True), np.ma.array([0.5], mask=True),
]  # fmt: skip
BAD_ALPHAS = [-1.0, np.nan, np.inf, "0.1", 1j, [0.1, 0.1], object(), -1e-300, np.ma.masked]
BAD_QUERIES = [
    None, "cell", 3, 0.5, object(), {}, (0.0,), np.nan, [], np.empty((0, 2)), np.zeros(3),
    np.zeros((2, 3)), np.zeros((2, 2, 2)), np.zeros((1, 1)), np.array([0.0, np.nan]),
    np.array([[0.0, np.inf]]), np.array([[0.0, 1.0], [0.0, 3.1]]), np.array([-1.0001, 1.0]),
    np.array([0.0, 1.0 + 1j]), np.array(["0", "1"]), np.array([None, None]),
    np.ma.array([0.0, 1.0], mask=[0, 1]),
]  # fmt: skip


def bad_tells(optimizer, rng):
    """Arguments of ``tell`` that must be refused, drawn at random around a good call."""
    good = optimizer.ask()
    strangers = list(cells_of_others(optimizer))
    yield from (((good, reward), {}) for reward in BAD_REWARDS)
    yield from (((good, 0.5), {"alpha": alpha}) for alpha in BAD_ALPHAS)
    yield from (((query, 0.5), {}) for query in BAD_QUERIES + strangers)
    for _ in range(25):
        n = int(rng.integers(1, 4))
        batch = [good] * n
        rewards = rng.uniform(size=n).tolist()
        kind = rng.integers(5)
        if kind == 0:  # unequal length
            yield (batch, [*rewards, 0.5]), {}
        elif kind == 1:  # the last reward is bad
            pick = BAD_REWARDS[rng.integers(len(BAD_REWARDS))]
            yield ([*batch, good], [*rewards, pick]), {}
        elif kind == 2:  # the last query is bad
            bad = BAD_QUERIES + strangers
            yield ([*batch, bad[rng.integers(len(bad))]], [*rewards, 0.5]), {}
        elif kind == 3:  # alpha fits in number but its last entry is bad
            pick = [-1.0, np.nan, np.inf, "0.1", 1j][rng.integers(5)]
            yield ([*batch, good], [*rewards, 0.5]), {"alpha": [0.1] * n + [pick]}
        else:  # alpha of another length
            yield (batch, rewards), {"alpha": [0.1] * (n + 1)}


def refuses(optimizer, args, kwargs):
    """Whether ``tell`` raises what the documentation says it raises."""
    try:
        optimizer.tell(*args, **kwargs)
    except (ValueError, TypeError):
        return True
    return False


@pytest.mark.parametrize("stage", ["fresh", "asked", "midway", "batch"])
def test_rejected_tells_leave_the_optimizer_exactly_as_it_was(name, stage):
    optimizer, rng = make(name), np.random.default_rng([len(name), len(stage)])
    if stage != "fresh":
        play(optimizer, {"asked": 0, "midway": 8, "batch": 5}[stage])
    if stage == "asked":
        optimizer.ask()
    if stage == "batch":
        optimizer.ask(3)
    calls = list(bad_tells(copy.deepcopy(optimizer), rng))
    before = observe(optimizer)
    for args, kwargs in calls:
        assert refuses(optimizer, args, kwargs), f"accepted: tell(*{args!r}, **{kwargs!r})"
    assert observe(optimizer) == before
    # Should one of them have left a trace after all, say which.
    if stage == "midway":
        for args, kwargs in calls[:: max(1, len(calls) // 12)]:
            assert refuses(optimizer, args, kwargs)
            assert observe(optimizer) == before, (args, kwargs)


@pytest.mark.parametrize("seed", range(3))
def test_bad_calls_among_good_ones_change_nothing(name, seed):
    """A run disturbed by refused calls is, bit for bit, the run without them."""
    rng = np.random.default_rng([seed, len(name)])
    disturbed, twin = make(name), make(name)
    disturbed.ask()
    bad = list(bad_tells(make(name), rng))
    for _ in range(25):
        for _ in range(rng.integers(4)):
            assert refuses(disturbed, *bad[rng.integers(len(bad))])
        n = int(rng.integers(1, 4))
        batch = disturbed.ask(n)
        assert batch == twin.ask(n)
        told = rng.permutation(n)[: rng.integers(1, n + 1)]  # the others stay pending
        for i in told:
            for optimizer in (disturbed, twin):
                optimizer.tell(batch[i], answer(batch[i]))
    assert_same_history(disturbed.history_, twin.history_)
    for one, other in zip(predictions(disturbed), predictions(twin), strict=True):
        np.testing.assert_array_equal(one, other)
    assert disturbed.recommend() == twin.recommend()
    assert disturbed.ask(2) == twin.ask(2)


@pytest.mark.parametrize("started", [False, True])
def test_other_rejected_calls_leave_the_optimizer_exactly_as_it_was(name, started):
    optimizer = make(name)
    if started:
        play(optimizer, 6)
    before = observe(optimizer)
    for n in (0, -1, 1.5, "2", np.nan, [1], True):
        with pytest.raises((ValueError, TypeError), match=r"\bn\b"):
            optimizer.ask(n)
    for budget in (0, -1, 1.5, None, "3", np.nan, np.inf, [3], True):
        with pytest.raises((ValueError, TypeError), match="budget"):
            optimizer.run(answer, budget)
    for objective in (None, 3, "f", [answer]):
        with pytest.raises(TypeError, match=r"objective|callable"):
            optimizer.run(objective, 3)
    with pytest.raises((ValueError, TypeError), match="callback"):
        optimizer.run(answer, 3, callback=3)
    assert observe(optimizer) == before


def test_bad_rewards_of_an_objective_end_the_run_before_they_are_told(name):
    optimizer = make(name)
    play(optimizer, 6)
    optimizer.ask()  # which may refine a tree
    before = observe(optimizer)
    for reward in BAD_REWARDS:
        with pytest.raises((ValueError, TypeError)):
            optimizer.run(lambda query, reward=reward: reward, 2)
    assert observe(optimizer) == before


def test_rejected_predictions_leave_the_optimizer_exactly_as_it_was(name):
    optimizer = make(name)
    play(optimizer, 6)
    before = observe(optimizer)
    for X in (None, "X", GRID[0], GRID[:, :1], np.zeros((2, 3)), [[0.0, np.nan]], np.empty((0, 2))):
        with pytest.raises((ValueError, TypeError)):
            optimizer.predict(X)
    assert observe(optimizer) == before


def test_a_rejected_fit_leaves_the_optimizer_exactly_as_it_was(name):
    optimizer = make(name)
    play(optimizer, 6)
    before = observe(optimizer)
    X, y = POOL[:5], f(POOL[:5])
    for args in [
        (None, y),
        (np.column_stack([X, y]), y),
        (X + 10.0, y),
        (X, y[:4]),
        (X[:, 0], y),
        (X, np.append(y[:4], np.nan)),
        (np.full_like(X, np.inf), y),
        (X, ["a"] * 5),
    ]:
        with pytest.raises((ValueError, TypeError)):
            optimizer.fit(*args)
    assert observe(optimizer) == before


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
def test_grid_search_over_diameter_and_length_scale(refit):
    grid = {"diameter": [(1.0, 0.5), (4.0, 0.7)], "kernel__length_scale": [1e-3, 0.7]}
    search = GridSearchCV(GPOOOptimizer(RBF(1.0)), grid, cv=3, refit=refit, error_score="raise")
    search.fit(X_TABLE, Y_TABLE)
    assert search.best_params_["kernel__length_scale"] == 0.7
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    if refit:
        assert search.best_score_ > 0.8
        assert search.best_estimator_.ask().depth == 0


def test_grid_search_over_a_composite_kernel():
    grid = {"kernel__k1__k2__length_scale": [1e-3, 0.7], "kernel__k2__length_scale": [0.5, 2.0]}
    search = GridSearchCV(
        GPOOOptimizer(1.0 * RBF(1.0) + Matern(1.0, nu=2.5)), grid, cv=3, error_score="raise"
    )
    assert search.fit(X_TABLE, Y_TABLE).best_score_ > 0.8


def test_grid_search_over_a_pipeline_with_a_scaler():
    pipeline = make_pipeline(StandardScaler(), GPOOOptimizer(RBF(1.0)))
    grid = {
        "gpoooptimizer__diameter": [(1.0, 0.5), (4.0, 0.7)],
        "gpoooptimizer__kernel__length_scale": [1e-3, 1.0],
    }
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X_TABLE, Y_TABLE)
    assert search.best_params_["gpoooptimizer__kernel__length_scale"] == 1.0
    assert search.best_score_ > 0.8
    assert search.predict(X_TABLE).shape == (60,)


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

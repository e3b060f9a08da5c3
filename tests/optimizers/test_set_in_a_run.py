"""Parameters that are set during a run: what takes part, what waits, and files that know when."""

from __future__ import annotations

import copy
import pickle
import warnings

import cases
import numpy as np
import pytest
from cases import ARMS, POLICY_MEAN
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern
from trajectories import NAMES, game, numbers_of

from skgpb import CombinatorialBandit, GPUCBOptimizer, Guarantee
from skgpb.domains import Cells
from skgpb.exceptions import ParameterWarning
from skgpb.optimizers._loop import other_spaces
from skgpb.optimizers._run import are_equal
from skgpb.testing import interrupt_at

#: Values of every parameter: the first that differs from what is set is set.
OTHERS = {
    "alpha": [0.3],
    "answer_kernel": [Matern(0.3)],
    "earlier_arms": [[[0.3, 0.4]]],
    "anytime": [False, True],
    "arms": [0.5 * ARMS],
    "beta": [5.0],
    "bounds": [[(-5.0, 5.0)] * 2],
    "budget": [12],
    "conditional": [POLICY_MEAN],
    "context_bounds": [[(-9.0, 9.0)]],
    "cost": [np.linspace(1.0, 3.0, len(ARMS)), [3.0]],
    "costs": [np.arange(3.0)],
    "covariance": ["lean", "full"],
    "direction": ["minimize"],
    "expansion": ["after", "before"],
    "failure_probability": [0.4],
    "feedback": ["center", "average"],
    "guarantee": [Guarantee(3.0, failure_probability=0.3)],
    "horizon": [90],
    "goals": [{"cost": "minimize"}],
    "information": ["full", "noisy", "directed"],
    "information_gain": ["theory", 2.0],
    "kernel": [Matern(0.9)],
    "earlier_campaigns": [None],
    "limits": [{"T": (None, 50.0)}],
    "location": [None],
    "continuous": [False, True],
    "max_active": [7],
    "max_depth": [2],
    "max_values": ["gumbel", "draws"],
    "metric": ["euclidean", "chebyshev"],
    "min_members": [50],
    "model_noise": [0.7],
    "n_candidates": [33],
    "n_children": [4],
    "n_context": [1, 2],
    "n_draws": [11],
    "n_initial": [9],
    "n_max_values": [4],
    "n_points": [25],
    "n_representatives": [2, 3],
    "n_restarts_optimizer": [1],
    "normalize_y": [True],
    "operator": ["window", "embedding"],
    "optimizer": ["fmin_l_bfgs_b", None],
    "optimizers": [[GPUCBOptimizer(arms=ARMS)]],
    "optimum": [2.5],
    "pool": [np.random.default_rng(0).random((50, 2))],
    "queries": [0.5 * ARMS],
    "query_bounds": [[(0.0, 5.0)]],
    "query_kernel": [RBF(0.9)],
    "r_min": [0.9],
    "random_state": [77],
    "reference": [[-2.0]],
    "regret": ["simple", "cumulative"],
    "relearn": [3],
    "reward_range": [(-7.0, 7.0)],
    "rule": ["kg", "ids"],
    "scale": [lambda depth: 0.5],
    "targets": [Cells(0.4)],
    "update": ["literal", "repaired"],
    "variation": [(1.0, 0.5)],
    "weights": ["sampling", "mean", "own", "campaign"],
    "width": ["munos"],
    "window": ["gaussian", "uniform"],
    "xi": [0.4],
}
#: What has to be set with it.
WITH = {"width": {"horizon": 90}}


def case_of_each_class():
    """The first case of each class."""
    cases = {}
    for name in NAMES:
        if name != "indirect:rule-of-answers" and not name.startswith("even"):
            cases.setdefault(type(game(name)[0]), name)
    return {cls.__name__: name for cls, name in cases.items()}


CASES = case_of_each_class()
FAST = {"StoOOOptimizer", "GPUCBOptimizer"}
EVERY = [cls if cls in FAST else pytest.param(cls, marks=pytest.mark.slow) for cls in CASES]


def rounds(run, answer, asked, n):
    """Play n rounds, with all that is warned of; what is asked."""
    queries = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(n):
            queries.append(run.ask(**asked))
            run.tell(queries[-1], answer(queries[-1]))
    return queries, [each for each in caught if each.category is ParameterWarning]


def set_another(run, name):
    """Set a parameter to another value that is possible."""
    for value in OTHERS[name]:
        if are_equal(value, getattr(run, name)):
            continue
        try:
            return run.set_params(**{name: value} | WITH.get(name, {}))
        except ValueError:
            continue
    return None


def goes_on_as(one, other, answer, asked, n=3):
    """Compare what two runs know and do."""
    for field in one.history_.dtype.names:
        assert_array_equal(one.history_[field], other.history_[field])
    for name, value in one.get_params(deep=False).items():
        if not is_function(value):
            assert repr(getattr(other, name)) == repr(value), name
    for _ in range(n):
        queries = [each.ask(**asked) for each in (one, other)]
        assert_allclose(*map(numbers_of, queries), rtol=1e-9, atol=1e-9)
        for each, query in zip((one, other), queries, strict=True):
            each.tell(query, answer(queries[0]))
    for field in ("mean", "std"):
        assert_allclose(one.history_[field], other.history_[field], rtol=1e-8, atol=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", EVERY)
def test_a_run_goes_on_with_what_was_set_wherever_it_is_read_again(cls, tmp_path):
    begun, answer, asked, _ = game(CASES[cls])
    rounds(begun, answer, asked, 5)
    path = tmp_path / "run"
    for name in begun.get_params(deep=False):
        run = set_another(copy.deepcopy(begun), name)
        if run is None or other_spaces(run):
            continue
        run.tell(query := run.ask(**asked), answer(query))
        functions = {n: v for n, v in begun.get_params(deep=False).items() if has_functions(v)}
        if name in functions or has_functions(getattr(run, name)):
            continue
        run.save(path, omit=functions)
        runs = [type(run).load(path, **functions), cases.loaded(type(run), path, True, **functions)]
        runs += [pickle.loads(pickle.dumps(run)), run._repeat_events(run._events)]
        query = run.ask(**asked)
        broken = copy.deepcopy(run)
        interrupt_at(lambda one=broken, q=query: one.tell(q, answer(q)), 60)
        assert len(broken.history_) == len(run.history_)
        for other in (*runs, broken):
            try:
                goes_on_as(copy.deepcopy(run), other, answer, asked)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error


@pytest.mark.one_in(15)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CASES)
def test_what_matters_at_the_start_waits_for_the_next_one(cls):
    begun, answer, asked, _ = game(CASES[cls])
    rounds(begun, answer, asked, 5)
    whole = copy.deepcopy(begun)
    expected, _ = rounds(whole, answer, asked, 3)
    for name in begun.get_params(deep=False):
        run = set_another(copy.deepcopy(begun), name)
        if run is None:
            continue
        if name == "arms" and run._takes_domain(name, run.get_params(deep=False)):
            continue  # takes effect during the run
        if other_spaces(run):
            continue  # is refused, see test_changed_space.py
        queries, messages = rounds(run, answer, asked, 3)
        if name not in type(run)._at_start:
            assert not messages, name
            continue
        (message,) = messages
        assert name in str(message.message).split(" will ")[0]
        assert queries == expected, name
        for field in whole.history_.dtype.names:
            assert_array_equal(run.history_[field], whole.history_[field])


def played(n=6, **parameters):
    run = GPUCBOptimizer(**{"bounds": [(0, 1)], "random_state": 0, "n_candidates": 40} | parameters)
    run.run(parabola, n)
    return run


def parabola(query):
    return 2.0 - (query.points[0, 0] - 0.3) ** 2


def test_fit_takes_all_that_was_set_and_is_silent():
    settings = {"direction": "minimize", "bounds": [(0, 2)], "kernel": RBF(0.5), "beta": 3.0}
    X, y = np.array([[0.5], [1.5]]), [0.1, 0.2]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParameterWarning)
        run = played().set_params(**settings).fit(X, y)
        fresh = clone(run).fit(X, y)
        for each in (run, fresh):
            each.run(parabola, 4)
    assert_array_equal(run.history_, fresh.history_)
    assert clone(played().set_params(**settings)).direction == "minimize"


@pytest.mark.parametrize("call", ["ask", "tell", "run"])
def test_what_waits_is_said_once_in_the_next_call(call):
    run = played()
    calls = {
        "ask": lambda: run.ask(another=True),
        "tell": lambda: run.tell([0.25], 1.0),
        "run": lambda: run.run(parabola, 1),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.set_params(direction="minimize", n_candidates=50, beta=3.0)
    with pytest.warns(ParameterWarning, match="direction, n_candidates will apply from the next"):
        calls[call]()
    assert run.direction == "minimize" and run.n_candidates == 50
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParameterWarning)
        for each in calls.values():
            each()
        run.set_params(direction="maximize", n_candidates=40)  # what it is anyway
        run.ask(another=True)


def test_what_was_not_said_before_a_file_was_written_is_said_after(tmp_path):
    run = played().set_params(direction="minimize")
    for again in (False, True):
        run.save(tmp_path / "run")
        loaded = cases.loaded(GPUCBOptimizer, tmp_path / "run", again)
        with pytest.warns(ParameterWarning, match="direction"):
            loaded.ask()
    with pytest.warns(ParameterWarning, match="direction"):
        run.tell(run.ask(), 1.0)
    for again in (False, True):
        run.save(tmp_path / "run")
        loaded = cases.loaded(GPUCBOptimizer, tmp_path / "run", again)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParameterWarning)
            assert loaded.ask() == run.ask()
        assert loaded.direction == "minimize"


def test_what_was_said_is_not_said_again_after_a_file_without_a_function(tmp_path):
    run = played().set_params(direction="minimize")
    with pytest.warns(ParameterWarning, match="direction"):
        run.tell(run.ask(), 1.0)
    run.set_params(beta=float)
    run.save(tmp_path / "run", omit=["beta"])
    loaded = GPUCBOptimizer.load(tmp_path / "run", beta=float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParameterWarning)
        assert loaded.ask() == run.ask()


def test_attributes_that_are_assigned_count_from_the_next_call(tmp_path):
    """Some take part, others wait; a value that cannot be is refused and changes nothing."""
    run, twin = played(kernel=RBF(0.2)), played(kernel=RBF(0.2))
    run.beta, run.direction = 9.0, "minimize"
    twin.set_params(beta=9.0)
    with pytest.warns(ParameterWarning, match="direction"):
        assert run.ask() == twin.ask()
    assert [event for event in run._events if event[0] == "set"] == [
        ("set", {"beta": 9.0, "direction": "minimize"})
    ]
    run.beta = "large"
    for call in (run.ask, lambda: run.tell([0.5], 1.0), lambda: run.save(tmp_path / "run")):
        with pytest.raises(ValueError, match="'beta' parameter"):
            call()
    run.beta = 9.0
    for each in (run, twin):
        each.run(parabola, 2)
    assert_array_equal(run.history_, twin.history_)


def test_parameters_of_a_kernel_wait_as_well(tmp_path):
    run, twin = played(kernel=RBF(0.2)), played(kernel=RBF(0.2))
    run.set_params(kernel__length_scale=5.0)
    with pytest.warns(ParameterWarning, match="kernel"):
        assert run.ask() == twin.ask()
    run.save(tmp_path / "run")
    loaded = GPUCBOptimizer.load(tmp_path / "run")
    assert loaded.kernel == run.kernel == RBF(5.0)
    assert_allclose(loaded.predict([[0.4]]), twin.predict([[0.4]]))


def test_parameters_of_a_campaign_wait_until_it_is_cloned_again():
    campaign = GPUCBOptimizer(RBF(3.0), arms=np.arange(5.0)[:, None], alpha=0.1)
    run = CombinatorialBandit([("a", campaign), ("b", clone(campaign))], 5, random_state=0)
    run.tell(run.ask(), [1.0, 2.0])
    run.set_params(a__beta=3.0, budget=4)
    with pytest.warns(ParameterWarning, match="set during a run, optimizers will"):
        assert run.ask().cost <= 4
    before = run.optimizers
    with pytest.raises(ValueError, match="budget"):
        run.set_params(a=clone(campaign), budget=-1)
    assert run.optimizers is before


def test_load_takes_what_the_file_lacks_and_nothing_else(tmp_path):
    run = played(kernel=RBF(0.2), beta=2.0)
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"it has values of \['beta'\]: change them by set_params"):
        GPUCBOptimizer.load(tmp_path / "run", beta=1.0)
    run.save(tmp_path / "run", omit=["beta"])
    with pytest.raises(ValueError, match=r"without \['beta'\]"):
        GPUCBOptimizer.load(tmp_path / "run")


def is_function(value):
    return callable(value) and not isinstance(value, Kernel)


def has_functions(value):
    """Return whether a value cannot be written to a file."""
    parts = value.get_params().values() if isinstance(value, Kernel) else [value]
    return any(map(is_function, parts))

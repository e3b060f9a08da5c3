"""Calls in any order: a refused one changes nothing, a reading one neither, copies go on alike."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sklearn.base import clone

from fuzz.harness import check_finite, fuzz_settings, on_purpose, patience, refusals
from fuzz.odd_values import values
from fuzz.setups import LOOPS, exact

REWARDS = st.one_of(
    st.floats(-3.0, 3.0),
    st.sampled_from([0, 1, -1e12, 1e12, 1e-12, 1e150, -1e150, 1e300, 1e-300]),
    st.sampled_from([np.float32(0.5), np.array([0.25]), np.int8(3)]),
)
ALPHAS = st.one_of(
    st.none(),
    st.floats(0.0, 2.0),
    st.sampled_from([0, 1e-300, 1e-14, 1e6, 1e16, 1e300, np.float32(0.125)]),
)
#: Values that no optimizer takes for a number.
NO_REWARDS = [
    float("nan"),
    float("inf"),
    -float("inf"),
    10**400,
    "a",
    b"1",
    1j,
    True,
    [],
    {},
    [1.0, 2.0, 3.0],
    np.zeros(3),
    np.ma.masked,
    np.float32("nan"),
    np.array(["a"], dtype=object),
]
NO_ALPHAS = [-1.0, -1e-300, float("nan"), float("inf"), "a", 1j, True, 10**400, np.ma.masked]
#: Values that no optimizer takes for a query, of d columns.
NO_QUERIES = [
    lambda d: None,
    lambda d: "cell",
    lambda d: {},
    lambda d: [],
    lambda d: [[]],
    lambda d: [None],
    lambda d: object(),
    lambda d: np.zeros(d + 1),
    lambda d: np.zeros((0, d)),
    lambda d: np.zeros((2, 2, d)),
    lambda d: np.full(d, float("nan")),
    lambda d: np.full(d, 1e9),
    lambda d: np.full(d, 1j),
    lambda d: np.array([["a"] * d]),
    lambda d: np.ma.masked_all(d),
]
NO_POINTS = [
    lambda d: None,
    lambda d: "a",
    lambda d: np.zeros((2, d + 1)),
    lambda d: np.zeros(d),
    lambda d: np.zeros((0, d)),
    lambda d: np.full((2, d), float("nan")),
    lambda d: [[1.0, 2.0], [3.0]],
    lambda d: np.full((2, d), 1j),
]
NO_COUNTS = [0, -1, 1.5, "a", True, float("nan"), [1]]
#: Settings under which all calls must hold.
VARIANTS = [
    {},
    {},
    {"alpha": None},
    {"alpha": 0.0},
    {"alpha": 1e6},
    {"normalize_y": True},
    {"optimizer": "fmin_l_bfgs_b"},
    {"relearn": 2, "optimizer": "fmin_l_bfgs_b", "normalize_y": True},
]


class Calls(RuleBasedStateMachine):
    """One run to which everything is done, and a twin which is only told what the run took.

    The twin is neither read nor copied, and what the run refuses it is never given. So the two
    differ as soon as something changed the run that must not.
    """

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.setup = LOOPS[name]
        self.trace = []
        self.failed = False

    def call(self, what, do, refused=False, reads=False):
        """Do something, which may or must be refused; None if it is, else what it returns."""
        self.trace.append(" ".join(what.split()))
        try:
            with patience(f"{self.name}: {'; '.join(self.trace)}"):
                try:
                    result = do(self.optimizer)
                except Exception as error:
                    if not on_purpose(error):
                        raise
                    return None
                assert not refused, "it was taken"
                assert reads or exact(do(self.twin)) == exact(result), "the twin differs"
                return result
        except BaseException:
            self.failed = True
            raise

    @initialize(variant=st.sampled_from(VARIANTS))
    def begin(self, variant):
        names = self.setup.names()
        known = {key: value for key, value in variant.items() if key in names}
        self.optimizer, self.twin, self.other = (self.setup.new(**known) for _ in range(3))
        self.asked = []
        self.trace.append(f"begin with {known}")

    @rule()
    def compare(self):
        """The run and its twin are and go on the same."""
        self.trace.append("compare")
        with patience(f"{self.name}: {'; '.join(self.trace)}"):
            pairs = zip(*map(self.setup.behaviour, (self.optimizer, self.twin)), strict=True)
            for mine, theirs in pairs:
                assert mine == theirs, "the twin differs"

    def teardown(self):
        if not self.failed:
            self.compare()

    def columns(self):
        """Number of columns of the points that ``fit`` and ``predict`` take."""
        return getattr(self.optimizer, "n_features_in_", 2)

    def next_queries(self, n=None):
        """Return the next query; None if all queries are pending."""
        return self.call(f"ask({n})", lambda each: self.setup.ask(each, n))

    def tell(self, what, query, reward, *alpha, refused=False):
        if query is not None:
            what = f"tell({what}, {', '.join(map(repr, (reward, *alpha)))})"
            self.call(what, lambda each: each.tell(query, reward, *alpha) and None, refused)

    # -- what a run is made of --------------------------------------------------------------------

    @rule(n=st.one_of(st.none(), st.integers(1, 4)))
    def ask(self, n):
        queries = self.next_queries(n)
        if queries is not None:
            queries = queries if n else [queries]
            for i, query in enumerate(queries):
                assert query not in queries[:i], "the same query twice"
                check_finite(np.asarray(query))
            self.asked += queries

    @rule(reward=REWARDS, alpha=ALPHAS)
    def tell_next(self, reward, alpha):
        self.tell("ask()", self.next_queries(), self.setup.reward(reward), alpha)

    @precondition(lambda self: self.asked)
    @rule(reward=REWARDS, alpha=ALPHAS, data=st.data())
    def tell_any(self, reward, alpha, data):
        i = data.draw(st.integers(0, len(self.asked) - 1))
        self.tell(f"query {i}", self.asked[i], self.setup.reward(reward), alpha)

    @rule()
    def tell_failed(self):
        self.tell("ask()", self.next_queries(), None)

    @rule(rewards=st.lists(REWARDS, min_size=3, max_size=3), bad=st.booleans())
    def tell_list(self, rewards, bad):
        if bad:
            rewards[1] = float("nan")
        rewards = [self.setup.reward(each) for each in rewards]
        self.tell("ask(3)", self.next_queries(3), rewards, refused=bad)

    @rule(reward=REWARDS, seed=st.integers(0, 9), n=st.integers(1, 3))
    def tell_points(self, reward, seed, n):
        points = np.random.default_rng(seed).uniform(size=(n, self.setup.n_columns))
        self.tell(points.tolist(), points, self.setup.reward(reward))

    @rule(reward=REWARDS)
    def tell_foreign(self, reward):
        query = None
        with refusals():  # settings that no run can begin with
            query = self.setup.ask(self.other)
            self.other.tell(query, self.setup.answer(query))
        self.tell("query of another", query, self.setup.reward(reward))

    @rule(name=st.sampled_from(sorted(LOOPS)))
    def tell_stranger(self, name):
        query = LOOPS[name].ask(LOOPS[name].new())
        self.tell(f"query of {name}", query, self.setup.reward(0.5))

    @rule(fails=st.booleans())
    def run(self, fails):
        def objective(query):
            if fails:
                raise OSError("no answer")
            return self.setup.answer(query)

        what = f"run(3 {'failures' if fails else 'answers'})"
        self.call(what, lambda each: self.setup.run(each, objective))

    @rule(given_y=st.booleans(), seed=st.integers(0, 9))
    def fit(self, given_y, seed):
        X = np.random.default_rng(seed).uniform(size=(4, self.columns()))
        y = X.sum(axis=1) if given_y else None
        self.call(f"fit({X.tolist()}, {y})", lambda each: each.fit(X, y) and None)

    # -- what no run takes ------------------------------------------------------------------------

    @rule(reward=st.sampled_from(NO_REWARDS))
    def tell_no_reward(self, reward):
        self.tell("ask()", self.next_queries(), self.setup.reward(reward), refused=True)

    @rule(alpha=st.sampled_from(NO_ALPHAS))
    def tell_no_alpha(self, alpha):
        self.tell("ask()", self.next_queries(), self.setup.reward(0.5), alpha, refused=True)

    @rule(make=st.sampled_from(NO_QUERIES))
    def tell_no_query(self, make):
        query = make(self.setup.n_columns)
        what = f"tell({query!r}, 0.5)"
        self.call(what, lambda each: each.tell(query, self.setup.reward(0.5)), refused=True)

    @rule(n=st.sampled_from(NO_COUNTS))
    def ask_no_count(self, n):
        self.call(f"ask({n!r})", lambda each: self.setup.ask(each, n), refused=True)

    @rule(make=st.sampled_from(NO_POINTS), given_y=st.booleans())
    def fit_no_points(self, make, given_y):
        X, y = make(self.columns()), np.zeros(2) if given_y else None
        self.call(f"fit({X!r}, {y})", lambda each: each.fit(X, y), refused=True)

    @rule(make=st.sampled_from(NO_POINTS))
    def predict_no_points(self, make):
        X = make(self.columns())
        self.call(f"predict({X!r})", lambda each: each.predict(X), refused=True)

    # -- what only reads --------------------------------------------------------------------------

    @rule()
    def recommend(self):
        best = self.call("recommend()", self.setup.recommend, reads=True)
        if best is not None:
            check_finite(np.asarray(best))

    @precondition(lambda self: hasattr(self.optimizer, "bounds_"))
    @rule()
    def predict(self):
        check_finite(self.call("predict()", self.setup.predict, reads=True))

    @precondition(lambda self: hasattr(self.optimizer, "bounds_"))
    @rule()
    def read(self):
        def read(optimizer):
            history = optimizer.history_
            check_finite([history[name] for name in self.setup.fields])
            return repr(optimizer), optimizer.failed_, clone(optimizer).get_params()

        self.call("history_; failed_; repr(); clone()", read, reads=True)

    @rule(kind=st.sampled_from(["pickle", "deepcopy", "file"]))
    def go_on_with_a_copy(self, kind):
        def copied(optimizer):
            if kind == "pickle":
                return pickle.loads(pickle.dumps(optimizer))
            if kind == "deepcopy":
                return copy.deepcopy(optimizer)
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "run"
                optimizer.save(path, omit=self.setup.omit)
                return self.setup.loaded(path, optimizer)

        self.optimizer = self.call(kind, copied, reads=True)
        assert self.optimizer is not None, "a run that cannot be copied"

    @rule(data=st.data(), value=values)
    def set_params(self, data, value):
        """A parameter of a run is changed: it goes on, or says that it does not."""
        name = data.draw(st.sampled_from(self.setup.names()))

        def change(optimizer):
            changed = pickle.loads(pickle.dumps(optimizer)).set_params(**{name: value.make()})
            query = self.setup.ask(changed)
            changed.tell(query, self.setup.answer(query))
            self.setup.check(changed)

        self.call(f"set_params({name}={value}) on a copy", change, reads=True)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", LOOPS)
def test_any_order_of_calls(name):
    run_state_machine_as_test(
        lambda: Calls(name), settings=fuzz_settings(len(LOOPS), stateful_step_count=12)
    )

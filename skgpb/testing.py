"""Tests of your own optimizers and kernels: the laws of the loop and of covariances.

No other module imports this one, because it needs pytest. The tests use the public methods of an
optimizer only, which need not be derived from a class of this library.
"""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skgpb.exceptions import EvaluationWarning, ReplayWarning

__all__ = ["KernelContract", "OptimizerContract"]

#: Invalid rewards, and invalid noise variances.
BAD_REWARDS: list[Any] = [
    np.nan, np.inf, -np.inf, 1.7e308, -2e150, 10**400, "1.0", 1j, 1.0 + 0j, object(), {}, [],
    [1.0] * 5,
    np.ones((2, 2)), np.array("x"), True, np.complex128(1.0), np.ma.masked,
    np.ma.array(0.5, mask=True), np.ma.array([0.5], mask=True),
]  # fmt: skip
BAD_ALPHAS: list[Any] = [
    -1.0, np.nan, np.inf, "0.1", 1j, [0.1] * 5, object(), -1e-300, np.ma.masked,
]  # fmt: skip
#: Invalid queries: points outside of all boxes, and other objects.
BAD_QUERIES: list[Any] = [
    None, "cell", 3.5j, object(), {}, np.nan, [], np.empty((0, 2)), np.zeros((2, 9)),
    np.zeros((2, 2, 2)), [np.inf], [[1e300]], np.array(["0"]), np.array([None, None]),
]  # fmt: skip

#: Rounding: largest difference between numbers of a run and of the same run loaded from a file.
ROUNDING = 1e-8


def _flat(values: Any) -> np.ndarray:
    """Return the numbers in nested lists as an array (n,), in order."""
    if isinstance(values, list | tuple):
        return np.concatenate([np.empty(0), *map(_flat, values)])
    return np.ravel(np.asarray(values, dtype=np.float64))


def with_names(bounds: Any) -> dict[str, Any]:
    return {f"side {i}": tuple(map(float, side)) for i, side in enumerate(bounds)}


class OptimizerContract:
    """Tests of the rules of ask and tell that every optimizer must follow.

    Derive a test class from it, return your optimizer from :meth:`make`, and run it with pytest.
    The defaults of the other hooks are for optimizers whose queries have ``points`` in a box or
    among arms, and one number as an answer.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpb import GPUCBOptimizer
    >>> from skgpb.testing import OptimizerContract
    >>> class TestMine(OptimizerContract):
    ...     def make(self):
    ...         return GPUCBOptimizer(arms=np.linspace(0, 1, 30)[:, None], random_state=0)
    >>> TestMine().test_ask_is_stable_until_tell()
    """

    # -- hooks ------------------------------------------------------------------------------

    def make(self) -> Any:
        """Return a new optimizer, always with the same parameters and the same seed."""
        raise NotImplementedError("make() must return the optimizer to test")

    def make_with_names(self, names: Callable[[Any], dict[str, Any]]) -> Any:
        """Return the optimizer of :meth:`make` with named sides; None if it has no box.

        ``names(bounds)`` converts an array-like of shape (d, 2) to a dict for ``bounds``.
        """
        return None

    def prepare(self, optimizer: Any) -> Any:
        """Prepare a clone for ``ask``, if it needs more than its parameters, and return it."""
        return optimizer

    def ask(self, optimizer: Any, n: int | None = None) -> Any:
        """Return the next query, or a list of n."""
        return optimizer.ask() if n is None else optimizer.ask(n)

    def answer(self, query: Any) -> Any:
        """Return the reward of a query, a deterministic function of it."""
        return float(np.exp(-((np.asarray(query.points) - 0.4) ** 2).sum(axis=1)).mean())

    def recommend(self, optimizer: Any) -> Any:
        """Return the recommendation of the optimizer, a query or a point."""
        return optimizer.recommend()

    def run(self, optimizer: Any, objective: Any, n: int, **options: object) -> Any:
        """Run ``n`` rounds of the optimizer, or fewer if its budget ends before."""
        return optimizer.run(objective, n, **options)

    def save(self, optimizer: Any, path: Path) -> None:
        """Write the run to a file."""
        optimizer.save(path)

    def load(self, cls: Any, path: Path, **options: object) -> Any:
        """Return an optimizer with the run in a file."""
        return cls.load(path, **options)

    def where(self, optimizer: Any) -> np.ndarray:
        """Return points, shape (n, d), at which the tests compare posteriors."""
        lower, upper = optimizer.bounds_.T
        return lower + np.linspace(0.0, 1.0, 5)[:, None] * (upper - lower)

    def read(self, optimizer: Any, path: Path) -> None:
        """Call all methods and properties that must not change the run."""
        self.recommend(optimizer)
        self.predictions(optimizer)
        for name, value in inspect.getmembers(type(optimizer)):
            if isinstance(value, property) and not name.startswith("_"):
                getattr(optimizer, name)
        repr(optimizer)
        pickle.dumps(optimizer)
        copy.deepcopy(optimizer)
        clone(optimizer)
        self.save(optimizer, path)

    def strangers(self, optimizer: Any) -> list[Any]:
        """Return queries of other optimizers, which ``tell`` must refuse."""
        return []

    def outside(self, optimizer: Any) -> np.ndarray | None:
        """Return points, shape (n, d), that ``tell`` accepts though ``ask`` did not return them.

        None if it accepts no such points.
        """
        return None

    # -- building blocks of the tests ---------------------------------------------------------

    def play(self, optimizer: Any, n: int) -> list[Any]:
        """Run n rounds of ask and tell; return the queries."""
        queries = []
        for _ in range(n):
            queries.append(self.ask(optimizer))
            optimizer.tell(queries[-1], self.answer(queries[-1]))
        return queries

    def make_and_play(self, n: int) -> Any:
        """Return a new optimizer after n rounds."""
        optimizer = self.make()
        self.play(optimizer, n)
        return optimizer

    def predictions(self, optimizer: Any) -> list[Any]:
        """Return the predictions at the points of :meth:`where`, as lists."""
        X = self.where(optimizer)
        if "return_std" in inspect.signature(optimizer.predict).parameters:
            return [part.tolist() for part in optimizer.predict(X, return_std=True)]
        return optimizer.predict(X).tolist()

    def log_fields(self, optimizer: Any) -> list[Any]:
        """Return the fields of ``history_`` and ``failed_``, as lists."""
        both = optimizer.history_, optimizer.failed_
        return [array[name].tolist() for array in both for name in array.dtype.names]

    def exact_state(self, optimizer: Any) -> list[Any]:
        """Return the public state of an optimizer and of its next rounds, for exact comparison."""
        optimizer, seen = copy.deepcopy(optimizer), []
        if hasattr(optimizer, "history_"):
            # Compare texts, because NaN, for unknown values, does not equal itself.
            seen.append(repr([self.log_fields(optimizer), self.predictions(optimizer)]))
            if len(optimizer.history_):
                seen.append(np.atleast_2d(self.recommend(optimizer)).tolist())
        seen += [self.ask(optimizer), *self.ask(optimizer, 3)]
        optimizer.tell(self.ask(optimizer, 3)[2], self.answer(seen[-1]))
        return [*seen, *self.play(optimizer, 3), repr(self.predictions(optimizer))]

    def same(self, one: object, other: object) -> None:
        """Assert that two optimizers have equal states now and in their next rounds."""
        mine, others = self.exact_state(one), self.exact_state(other)
        for i, (a, b) in enumerate(zip(mine, others, strict=True)):
            assert a == b, f"they differ in part {i} of the list that exact_state() returns"

    def numeric_state(self, optimizer: Any) -> list[np.ndarray]:
        """Return the numbers in the public state of an optimizer and of its next rounds."""
        optimizer, seen = copy.deepcopy(optimizer), []
        for _ in range(2):
            fields = self.log_fields(optimizer)
            seen += [part for part in fields if not any(isinstance(each, str) for each in part)]
            seen += [self.predictions(optimizer), self.recommend(optimizer)]
            seen += [self.ask(optimizer), *self.ask(optimizer, 3), *self.play(optimizer, 3)]
        return [_flat(each) for each in seen]

    def alike(self, one: object, other: object) -> None:
        """Assert that two optimizers have the same numbers up to rounding, also in later rounds.

        A run loaded from a file differs by rounding: its posterior is factorised in another order.
        """
        for i, (a, b) in enumerate(
            zip(self.numeric_state(one), self.numeric_state(other), strict=True)
        ):
            which = f"they differ in part {i} of the list that measured() returns"
            assert_allclose(a, b, rtol=ROUNDING, atol=ROUNDING, err_msg=which)

    def refuses(self, call: Callable[..., object], *arguments: object, **options: object) -> bool:
        """Return whether a call raises ValueError or TypeError, the errors for wrong arguments."""
        try:
            call(*arguments, **options)
        except (ValueError, TypeError):
            return True
        return False

    # -- ask and tell -----------------------------------------------------------------------

    def test_ask_is_stable_until_tell(self) -> None:
        """Repeated calls of ``ask`` return the same query, also after reading the posterior."""
        optimizer = self.make()
        for _ in range(6):
            first, second = self.ask(optimizer), self.ask(optimizer)
            assert first == second
            assert hash(first) == hash(second)
            assert_array_equal(np.asarray(first), np.asarray(second))
            self.predictions(optimizer)
            assert self.ask(optimizer) == first
            optimizer.tell(first, self.answer(first))

    def test_queries_are_frozen_and_pickle(self) -> None:
        """Queries are immutable, and equal to their pickled copies."""
        query = self.ask(self.make_and_play(3))
        with pytest.raises(AttributeError):
            query.points = np.zeros((1, 1))
        with pytest.raises(ValueError, match="read-only"):
            query.points[0, 0] = 0.0
        copied = pickle.loads(pickle.dumps(query))
        assert copied == query
        assert hash(copied) == hash(query)
        assert_array_equal(copied.points, query.points)

    def test_a_batch_is_distinct_stable_and_begins_with_the_single_query(self) -> None:
        """Queries of a batch are distinct, and begin with the query that ``ask()`` returns."""
        optimizer = self.make_and_play(8)
        single = self.ask(copy.deepcopy(optimizer))
        batch = self.ask(optimizer, 3)
        assert len(batch) == len(set(batch)) == 3
        assert batch[0] == single == self.ask(optimizer)
        assert self.ask(optimizer, 3) == batch
        assert self.ask(optimizer, 2) == batch[:2]
        optimizer.tell(batch, [self.answer(query) for query in batch])
        assert len(optimizer.history_) == 11

    def test_answers_may_come_in_any_order(self) -> None:
        """Queries without an answer stay pending; the next query is new when all are answered."""
        optimizer = self.make_and_play(6)
        batch = self.ask(optimizer, 4)
        for i in (2, 0, 3, 1):
            optimizer.tell(batch[i], self.answer(batch[i]))
        backwards = [np.ravel(self.answer(batch[i])).tolist() for i in (2, 0, 3, 1)]
        rewards = optimizer.history_["reward"][6:]
        assert_array_equal(np.reshape(rewards, (4, -1)), backwards)
        self.play(optimizer, 1)
        assert len(optimizer.history_) == 11

    def test_lists_are_told_as_if_one_after_another(self) -> None:
        """``tell`` of a list is the same as ``tell`` of each entry."""
        together = self.make_and_play(6)
        batch = self.ask(together, 3)
        apart, rewards = copy.deepcopy(together), [self.answer(query) for query in batch]
        together.tell(batch, np.array(rewards))
        for query, reward in zip(batch, rewards, strict=True):
            apart.tell(query, reward)
        self.same(together, apart)

    def test_every_answer_is_recorded(self) -> None:
        """``history_`` has one row for each answer, in the order of ``tell``."""
        optimizer = self.make()
        rewards = [self.answer(query) for query in self.play(optimizer, 6)]
        query = self.ask(optimizer)
        optimizer.tell(query, self.answer(query), alpha=0.5)  # with its own noise variance
        assert_array_equal(optimizer.history_["reward"], [*rewards, self.answer(query)])
        assert_array_equal(optimizer.history_["round"], np.arange(1, 8))
        assert len(optimizer.failed_) == 0

    def test_points_from_outside_are_told_beside_queries(self) -> None:
        """Points from outside can be told at any time, and pending queries stay pending."""
        optimizer = self.make_and_play(3)
        points = self.outside(optimizer)
        if points is None:
            pytest.skip("outside() names no points that may be told without being asked")
        query = self.ask(optimizer)
        optimizer.tell(points[0], self.answer(query))
        optimizer.tell([query, points[1:]], [self.answer(query)] * 2)
        assert len(optimizer.history_) == 6
        first = self.make().tell(points[0], self.answer(query))
        self.play(first, 2)
        assert len(first.history_) == 3

    def test_the_points_of_a_pending_query_stand_for_the_query(self) -> None:
        """``tell`` accepts the plain points of a query instead of the query."""
        optimizer = self.make_and_play(4)
        if self.outside(optimizer) is None:
            pytest.skip("outside() names no points that may be told without being asked")
        twin, query = copy.deepcopy(optimizer), self.ask(optimizer)
        twin.tell(self.ask(twin), self.answer(query))
        optimizer.tell(np.array(query), self.answer(query))
        self.same(optimizer, twin)

    # -- sides with names -------------------------------------------------------------------

    def test_names_of_sides_are_names_and_nothing_else(self, tmp_path: Path) -> None:
        """A box with named sides has the same run as without; ``tell`` accepts dicts by name."""
        plain, named = self.make(), self.make_with_names(with_names)
        if named is None:
            pytest.skip("make_with_names() makes no optimizer of a box with names")
        for i in range(6):
            asked, query = self.ask(plain), self.ask(named)
            assert query == asked
            for part, center in zip(query.settings, query.points, strict=True):
                assert list(part.values()) == center.tolist()
            sides = list(query.params.items())
            assert all(f"{name}=" in repr(query) for name, _ in sides)
            assert pickle.loads(pickle.dumps(query)).params == query.params
            wrong = dict(sides[1:]), dict([*sides, ("no side", 0.0)]), {**dict(sides[:1]), 1: 0.0}
            before = repr(self.log_fields(named)) if i else ""
            for each in wrong:
                with pytest.raises(ValueError, match="must have a value for each of"):
                    named.tell(each, self.answer(query))
            assert i == 0 or repr(self.log_fields(named)) == before
            plain.tell(asked, self.answer(asked))
            named.tell(query.params if i % 2 else query, self.answer(query))
        assert repr(self.predictions(named)) == repr(self.predictions(plain))
        X = self.where(named)
        settings = [named.run_.space.setting(x) for x in X]
        assert_array_equal(named.predict(settings), plain.predict(X))
        self.same(named, plain)
        best = self.recommend(named)
        assert best.params and not best.params.keys() ^ set(named.run_.space.names)
        self.save(named, tmp_path / "run")
        loaded = self.load(type(named), tmp_path / "run")
        assert self.ask(loaded).params == self.ask(named).params
        assert loaded.run_.space.names == named.run_.space.names

    # -- direction --------------------------------------------------------------------------

    def test_minimizing_is_maximizing_with_the_sign_changed(self, tmp_path: Path) -> None:
        """With ``direction="minimize"`` answers and predictions change sign, and nothing else."""
        up = self.make()
        if "direction" not in up.get_params(deep=False):
            pytest.skip("maximises only")
        down = self.prepare(clone(up).set_params(direction="minimize"))
        for _ in range(6):
            query = self.ask(up)
            assert self.ask(down) == query
            up.tell(query, self.answer(query))
            down.tell(query, -np.asarray(self.answer(query)))
        for name in down.history_.dtype.names:
            sign = -1.0 if name in ("reward", "mean") else 1
            assert_array_equal(down.history_[name], sign * up.history_[name])
        assert_array_equal(down.predict(self.where(down)), -up.predict(self.where(up)))
        assert_array_equal(np.asarray(self.recommend(down)), np.asarray(self.recommend(up)))
        results = [
            self.run(up, self.answer, 3),
            self.run(down, lambda query: -np.asarray(self.answer(query)), 3),
        ]
        assert results[1].fun == -results[0].fun
        self.save(down, tmp_path / "run")
        loaded = self.load(type(down), tmp_path / "run")
        assert self.ask(loaded) == self.ask(up)
        assert loaded.get_params()["direction"] == "minimize"

    # -- calls without effect -----------------------------------------------------------------

    def test_parameters_are_never_written(self) -> None:
        """A run does not change the parameters of the constructor."""
        optimizer = self.make()
        before = {k: (id(v), repr(v)) for k, v in optimizer.get_params(deep=False).items()}
        self.play(optimizer, 6)
        self.recommend(optimizer)
        self.predictions(optimizer)
        after = {k: (id(v), repr(v)) for k, v in optimizer.get_params(deep=False).items()}
        assert after == before

    def test_reading_never_changes_a_run(self, tmp_path: Path) -> None:
        """A run with reads after each step equals, bit for bit, a run without them."""
        read, alone = self.make(), self.make()
        points = self.outside(self.make_and_play(1))
        for i in range(9):
            asked = [self.ask(each) if i % 3 else self.ask(each, 2)[1] for each in (read, alone)]
            assert asked[0] == asked[1]
            # Read in some rounds only, to save time: with pending queries, and after all answers.
            if i and i % 2 == 0:
                self.read(read, tmp_path / "run")
            for each in (read, alone):
                if i in (4, 7) and points is not None:
                    each.tell(points[i % 2], self.answer(asked[0]))
                else:
                    each.tell(asked[0], None if i == 5 else self.answer(asked[0]))
            if i % 2 or i == 8:
                self.read(read, tmp_path / "run")
        self.same(read, alone)
        loaded = self.load(type(read), tmp_path / "run")
        self.alike(loaded, alone)
        self.same(loaded._repeat_events(loaded._events), alone)

    @pytest.mark.parametrize("stage", ["fresh", "midway"])
    def test_refused_answers_leave_no_trace(self, stage: str) -> None:
        """Invalid arguments of ``tell`` raise an error and change nothing."""
        optimizer = self.make_and_play(6 if stage == "midway" else 0)
        good = self.ask(copy.deepcopy(optimizer))
        if stage == "midway":
            self.ask(optimizer, 3)
        before, reward = self.exact_state(optimizer), self.answer(good)
        bad = [*BAD_QUERIES, *self.strangers(copy.deepcopy(optimizer))]
        calls: list[tuple[Any, ...]] = [((good, each), {}) for each in BAD_REWARDS]
        calls += [((good, reward), {"alpha": alpha}) for alpha in BAD_ALPHAS]
        calls += [((query, reward), {}) for query in bad]
        calls += [(([good, good], [reward, each]), {}) for each in BAD_REWARDS]
        calls += [(([good, query], [reward, reward]), {}) for query in bad]
        calls += [(([good] * 2, [reward] * 2), {"alpha": [0.1, each]}) for each in BAD_ALPHAS]
        calls += [(([good] * 2, [reward] * 3), {}), (([good] * 2, reward), {})]
        calls += [(([good] * 2, [reward] * 2), {"alpha": [0.1] * 3})]
        for arguments, options in calls:
            accepted = f"accepted: tell(*{arguments!r}, **{options!r})"
            assert self.refuses(optimizer.tell, *arguments, **options), accepted
        assert self.exact_state(optimizer) == before

    @pytest.mark.parametrize("started", [False, True])
    def test_other_refused_calls_leave_no_trace(self, started: bool) -> None:
        """Invalid arguments of ``ask``, ``predict`` and ``run`` raise an error, change nothing."""
        optimizer = self.make_and_play(6 if started else 0)
        before = self.exact_state(optimizer)
        for n in (0, -1, 1.5, "2", np.nan, [1], True):
            with pytest.raises((ValueError, TypeError), match=r"\bn\b"):
                self.ask(optimizer, n)  # type: ignore[arg-type]
        for objective in (None, 3, "f", [self.answer]):
            with pytest.raises(TypeError, match=r"objective|callable"):
                self.run(optimizer, objective, 3)
        with pytest.raises((ValueError, TypeError), match="callback"):
            self.run(optimizer, self.answer, 3, callback=3)
        for X in (None, "X", [0.5], np.zeros((2, 9)), np.empty((0, 2))) if started else ():
            assert self.refuses(optimizer.predict, X)
        assert self.exact_state(optimizer) == before

    def test_bad_rewards_of_an_objective_may_end_the_run_before_they_are_told(self) -> None:
        """With ``on_error="raise"`` an invalid reward ends the run, and its query stays pending."""
        optimizer = self.make_and_play(6)
        self.ask(optimizer)  # ask may refine a tree
        before = self.exact_state(optimizer)
        for reward in BAD_REWARDS:
            with pytest.raises((ValueError, TypeError), match="objective"):
                self.run(optimizer, lambda query, reward=reward: reward, 2, on_error="raise")
        assert self.exact_state(optimizer) == before

    def test_bad_rewards_of_an_objective_are_failed_evaluations(self, tmp_path: Path) -> None:
        """Invalid rewards are recorded as failures with their reason, also in a saved run."""
        optimizer, seen = self.make(), []
        bad = [np.nan, "1.0", np.inf, 1j]

        def objective(query: Any) -> Any:
            seen.append(query)
            which = len(seen) // 2
            return bad[which] if len(seen) % 2 and which < 4 else self.answer(query)

        with pytest.warns(EvaluationWarning, match=r"4 of \d+"):
            result = self.run(optimizer, objective, 8)
        assert result.nfail == len(optimizer.failed_) == 4
        assert result.nfev == len(seen) == len(optimizer.history_) + 4
        assert optimizer.failed_["round"].tolist() == [0, 1, 2, 3]
        for reason, reward in zip(optimizer.failed_["reason"], bad, strict=True):
            assert repr(reward) in reason
        self.save(optimizer, tmp_path / "run")
        loaded = self.load(type(optimizer), tmp_path / "run")
        self.alike(loaded, optimizer)
        assert loaded.failed_["reason"].tolist() == optimizer.failed_["reason"].tolist()
        self.run(loaded, self.answer, 2)

    # -- stopping and resuming ----------------------------------------------------------------

    def test_clones_play_the_same_run(self) -> None:
        """Equal seeds give equal runs; a run with a seed uses no global random numbers."""
        before = np.random.get_state()  # noqa: NPY002
        optimizer = self.make_and_play(8)
        fresh = clone(optimizer)
        assert not hasattr(fresh, "history_")
        self.play(self.prepare(fresh), 8)
        self.same(fresh, optimizer)
        if optimizer.random_state is not None:
            after = np.random.get_state()  # noqa: NPY002
            assert_array_equal(after[1], before[1])  # type: ignore[index]
            assert after[2] == before[2]  # type: ignore[index]

    def test_a_job_that_is_queued_again_goes_on(self, tmp_path: Path) -> None:
        """With ``resume=True`` a run continues its checkpoint; otherwise it never replaces it."""
        path = tmp_path / "run"
        try:
            self.run(self.make(), self.answer, 4, checkpoint=path)
        except TypeError:
            assert not path.exists()  # functions are not saved
            return
        with pytest.raises(ValueError, match="resume=True"):
            self.run(self.make(), self.answer, 1, checkpoint=path)
        resumed, whole = self.make(), self.make()
        self.run(resumed, self.answer, 8, checkpoint=path, resume=True)
        self.run(whole, self.answer, 8)
        self.alike(resumed, whole)

    @pytest.mark.parametrize("how", ["file", "repeated", "pickle"])
    def test_a_run_that_was_put_away_continues_identically(self, how: str, tmp_path: Path) -> None:
        """A restored run keeps hyperparameters, failures and pending queries.

        It is equal bit for bit if it was pickled or repeated from the log in a file, and up to
        rounding if it was loaded.
        """
        optimizer = self.make_and_play(5)
        query = self.ask(optimizer)
        optimizer.tell(query, self.answer(query), alpha=0.2)
        optimizer.tell(self.ask(optimizer), None)
        query = self.ask(optimizer, 3)[1]
        optimizer.tell(query, self.answer(query))
        self.play(optimizer, 3)
        self.ask(optimizer, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ReplayWarning)
            if how == "pickle":
                resumed = pickle.loads(pickle.dumps(optimizer))
            else:
                self.save(optimizer, tmp_path / "run")
                resumed = self.load(type(optimizer), tmp_path / "run")
                if how == "repeated":
                    resumed = resumed._repeat_events(resumed._events)
        assert resumed.failed_["round"].tolist() == [6]
        compare = self.alike if how == "file" else self.same
        compare(resumed, optimizer)
        for each in (resumed, optimizer):
            self.play(each, 6)
        compare(resumed, optimizer)
        for parameter, value in optimizer.get_params(deep=False).items():
            assert repr(getattr(resumed, parameter)) == repr(value)

    def test_a_query_can_be_told_back_after_a_restart(self) -> None:
        """A query can be told to a restored optimizer, after the process of ``ask`` has ended."""
        optimizer = self.make_and_play(5)
        restarted, query = pickle.loads(pickle.dumps((optimizer, self.ask(optimizer))))
        restarted.tell(query, self.answer(query))
        optimizer.tell(self.ask(optimizer), self.answer(query))
        self.same(restarted, optimizer)

    # -- all or nothing ---------------------------------------------------------------------

    #: Number of lines, evenly spread over a round, at which to interrupt it; None for all.
    n_interruptions: int | None = 9

    @pytest.mark.parametrize("stage", ["fresh", "midway"])
    def test_a_round_may_be_interrupted_at_any_line(self, stage: str) -> None:
        """After Ctrl-C at any line an answer is told or not, never in part; the run continues."""
        start = self.make_and_play(5 if stage == "midway" else 0)
        whole = copy.deepcopy(start)
        self.play(whole, 1)
        expected = self.answers_and_next_query(whole)
        unharmed = copy.deepcopy(start)
        lines = count_lines(lambda: self.play(unharmed, 1))
        n = lines if self.n_interruptions is None else min(lines, self.n_interruptions)
        for line in np.linspace(0, lines - 1, n).astype(int).tolist():
            each = copy.deepcopy(start)
            interrupt_at(lambda one=each: self.play(one, 1), line)  # type: ignore[misc]
            found: list[Any] = []

            def go_on(one: object = each, found: list[Any] = found) -> None:
                if not hasattr(one, "history_") or len(one.history_) < len(whole.history_):
                    self.play(one, 1)
                found.append(self.answers_and_next_query(one))

            thread = threading.Thread(target=go_on, daemon=True)  # would wait for a lost lock
            thread.start()
            thread.join(timeout=120)
            assert found == [expected], f"interrupted at line {line} of {lines}"

    def answers_and_next_query(self, optimizer: Any) -> list[Any]:
        """Return answers, predictions and the next query, to compare two runs."""
        return [
            repr([self.log_fields(optimizer), self.predictions(optimizer)]),
            self.ask(optimizer),
        ]

    # -- run --------------------------------------------------------------------------------

    def test_run_is_the_loop_and_goes_on_where_it_stopped(self) -> None:
        """``run`` is the loop of ask and tell; two short runs equal one long run."""
        by_run, in_parts, seen = self.make(), self.make(), []
        result = self.run(by_run, self.answer, 8)
        by_hand = self.make_and_play(result.nfev)
        self.same(by_run, by_hand)
        assert result.success and result.nfail == 0
        assert np.isfinite(result.fun)
        assert_array_equal(np.asarray(result.x), np.asarray(self.recommend(by_hand)))
        first = self.run(in_parts, self.answer, 3).nfev
        self.run(in_parts, self.answer, 5, callback=lambda each: seen.append(len(each.history_)))
        assert seen == list(range(first + 1, len(in_parts.history_) + 1))
        self.same(in_parts, self.make_and_play(len(in_parts.history_)))

    def test_a_callback_may_end_the_run(self) -> None:
        """A run ends when its callback returns True."""
        optimizer = self.make()
        result = self.run(optimizer, self.answer, 20, callback=lambda each: len(each.history_) == 3)
        assert result.nfev == len(optimizer.history_) == 3
        assert "callback" in result.message

    def test_a_parallel_run_is_the_loop_over_batches(self) -> None:
        """A run with ``n_jobs=n`` equals a loop over batches of n queries."""
        by_run, by_hand = self.make(), self.make()
        if "n_jobs" not in inspect.signature(by_run.run).parameters:
            pytest.skip("takes one query at a time")
        with parallel_config(backend="threading"):
            result = self.run(by_run, self.answer, 6, n_jobs=3)
        while len(by_hand.history_ if hasattr(by_hand, "history_") else []) < result.nfev:
            batch = self.ask(by_hand, 3)
            by_hand.tell(batch, [self.answer(query) for query in batch])
        for name in by_run.history_.dtype.names:
            assert_array_equal(by_run.history_[name], by_hand.history_[name][: result.nfev])

    @pytest.mark.parametrize("order", [range(6), [2, 0, 3, 1, 6, 4]])
    def test_answers_of_an_executor_are_told_as_they_arrive(self, order: Sequence[int]) -> None:
        """After each answer ``run`` submits one query; with one worker this is the loop."""
        by_run, by_hand = self.make(), self.make()
        if "executor" not in inspect.signature(by_run.run).parameters:
            pytest.skip("evaluates by itself")
        n_workers = 1 if order == range(6) else 3
        asked = self.ask(by_hand, n_workers)
        for number in order:
            by_hand.tell(asked[number], self.answer(asked[number]))
            asked.append(self.ask(by_hand))
        stop = {"callback": lambda optimizer: len(optimizer.history_) == len(order)}
        self.run(by_run, self.answer, 20, executor=InOrder(order, n_workers), **stop)
        assert repr(self.log_fields(by_run)) == repr(self.log_fields(by_hand))
        assert repr(self.predictions(by_run)) == repr(self.predictions(by_hand))

    def test_run_can_end_with_the_exception_of_the_objective(self) -> None:
        """An interrupted run keeps its answers; the next run starts with its pending queries."""
        optimizer, objective = self.make(), OffAt(self.answer, [4])
        with pytest.raises(OSError, match="instrument"):
            self.run(optimizer, objective, 10, on_error="raise")
        twin = self.make_and_play(4)
        self.ask(twin)
        self.same(optimizer, twin)
        self.run(optimizer, objective, 3)
        assert objective.asked[4] == objective.asked[5]
        self.same(optimizer, self.make_and_play(len(optimizer.history_)))

    @pytest.mark.parametrize("raises", [True, False])
    def test_the_loop_goes_on_after_failed_evaluations(self, raises: bool) -> None:
        """A failed evaluation has the effect of ``tell(query, None)``, and is recorded."""
        optimizer, objective = self.make(), OffAt(self.answer, [0, 3, 4], raises)
        with pytest.warns(EvaluationWarning, match=r"3 of \d+"):
            result = self.run(optimizer, objective, 10)
        assert result.nfail == len(optimizer.failed_) == 3
        assert result.nfev == len(objective.asked) == len(optimizer.history_) + 3
        assert optimizer.failed_["round"].tolist() == [0, 2, 2]
        for reason in optimizer.failed_["reason"]:
            assert ("OSError: the instrument is off" in reason) == raises
        by_hand = self.make()
        for i, expected in enumerate(objective.asked):
            query = self.ask(by_hand)
            assert query == expected
            assert i == 0 or i - 1 not in objective.numbers or query != objective.asked[i - 1]
            by_hand.tell(query, None if i in objective.numbers else self.answer(query))
        assert repr(self.log_fields(by_hand)[:-1]) == repr(self.log_fields(optimizer)[:-1])
        assert self.ask(by_hand, 2) == self.ask(optimizer, 2)

    def test_a_failure_teaches_nothing_and_is_left_out_for_a_while(self) -> None:
        """After its k-th failure a query is not asked before 2^k further answers."""
        optimizer = self.make_and_play(6)
        before, query = repr(self.predictions(optimizer)), self.ask(optimizer)
        optimizer.tell(query, None)
        assert repr(self.predictions(optimizer)) == before
        assert self.ask(optimizer) != query
        late = copy.deepcopy(optimizer).tell(query, self.answer(query))  # accepted as usual
        assert_array_equal(late.history_["reward"][-1], self.answer(query))
        for k in (1, 2):
            assert query not in self.play(optimizer, 2**k)
            optimizer.tell(query, None)
        assert len(optimizer.failed_) == 3

    def test_a_withdrawn_query_is_neither_an_answer_nor_a_failure(self, tmp_path: Path) -> None:
        """It is not pending any more, teaches nothing, and is not asked again at once."""
        optimizer = self.make_and_play(6)
        before, (query, other) = repr(self.predictions(optimizer)), self.ask(optimizer, 2)
        optimizer.withdraw(query)
        assert repr(self.predictions(optimizer)) == before
        assert optimizer.pending_ == [other]
        assert (len(optimizer.history_), len(optimizer.failed_)) == (6, 0)
        self.save(optimizer, tmp_path / "run")
        twins = [optimizer, self.load(type(optimizer), tmp_path / "run"), copy.deepcopy(optimizer)]
        asked = [self.ask(each, 2) for each in twins]
        assert asked[0] == asked[1] == asked[2]
        assert asked[0][0] == other and query not in asked[0]
        with pytest.raises(ValueError, match="query must be pending, got"):
            optimizer.withdraw(query)

    def test_nothing_told_is_nothing_known(self) -> None:
        """``recommend`` needs an answer; failures before or after it do not matter."""
        optimizer = self.make()
        for _ in range(2):  # before a run and during one
            with pytest.raises(NotFittedError, match="no observations yet"):
                self.recommend(optimizer)
            self.ask(optimizer)
        with pytest.warns(EvaluationWarning, match=r"(\d+) of \1"):
            result = self.run(optimizer, OffAt(self.answer, range(99)), 4)
        assert not result.success
        assert result.x is None and np.isnan(result.fun)
        assert result.nfev == result.nfail > len(result.history) == 0
        assert "evaluations failed" in result.message
        with pytest.raises(NotFittedError, match="no observations yet"):
            self.recommend(optimizer)
        self.play(optimizer, 1)
        self.recommend(optimizer)
        with pytest.warns(EvaluationWarning):
            assert self.run(optimizer, OffAt(self.answer, range(99)), 2).success

    def test_run_gives_up_when_everything_fails(self) -> None:
        """If the first ten evaluations fail, the cause is not the queries: ``run`` raises."""
        optimizer = self.make()
        with pytest.raises(RuntimeError, match=r"the last 10 evaluations.*instrument is off"):
            self.run(optimizer, OffAt(self.answer, range(999)), 50)
        assert len(optimizer.failed_) == 10
        assert len(optimizer.history_) == 0
        self.play(optimizer, 3)


class KernelContract:
    """Tests of the properties that a posterior needs of a feedback kernel.

    Derive a test class from it, return your kernel from :meth:`make` and its descriptors from
    :meth:`rows`, and run it with pytest.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpb.kernels import CellAverage
    >>> from skgpb.testing import KernelContract
    >>> class TestMine(KernelContract):
    ...     def make(self):
    ...         return CellAverage(RBF(0.3), 3)
    ...
    ...     def rows(self):
    ...         return np.sort(np.random.default_rng(0).uniform(size=(6, 2)), axis=1)
    >>> TestMine().test_the_gradient_is_that_of_the_covariance()
    """

    #: Largest error of a derivative, compared with central differences, as a share of the largest.
    gradient_tolerance: float = 1e-5

    def make(self) -> Any:
        """Return a new kernel, always with the same parameters."""
        raise NotImplementedError("make() must return the kernel to test")

    def rows(self) -> np.ndarray:
        """Return descriptors, shape (n, n_columns), n >= 3, including that of a point."""
        raise NotImplementedError("rows() must return the descriptors to test the kernel with")

    def covariance(self, kernel: Any, row: np.ndarray, other: np.ndarray) -> float | None:
        """Return the covariance of two descriptors by its definition; None to skip that test."""
        return None

    def test_it_is_symmetric_and_positive_semidefinite(self) -> None:
        """The matrix is symmetric, and its eigenvalues are >= 0 up to rounding."""
        K = self.make()(self.rows())
        assert_allclose(K, K.T, rtol=0.0, atol=1e-12 * np.abs(K).max())
        assert np.linalg.eigvalsh(K).min() >= -1e-9 * np.trace(K)

    def test_the_diagonal_is_that_of_the_matrix(self) -> None:
        """``diag(X)`` is the diagonal of ``kernel(X)``, noise included."""
        kernel, X = self.make(), self.rows()
        assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-9)

    def test_between_two_sets_it_is_the_same_but_for_noise(self) -> None:
        """``kernel(X, Y)`` has the covariances of ``kernel(X)`` without noise on the diagonal."""
        kernel, X = self.make(), self.rows()
        K, across = kernel(X), kernel(X, X.copy())
        extra = K - across
        assert_allclose(extra, np.diag(np.diag(extra)), rtol=0.0, atol=1e-9 * np.abs(K).max())
        assert np.diag(extra).min() >= -1e-9 * np.abs(K).max()
        assert_allclose(kernel(X[:2], X[1:]), across[:2, 1:], rtol=1e-9, atol=1e-12)

    def test_the_gradient_is_that_of_the_covariance(self) -> None:
        """``eval_gradient`` returns the derivatives by ``theta``; central differences agree."""
        kernel, X = self.make(), self.rows()
        K, gradient = kernel(X, eval_gradient=True)
        assert_allclose(K, kernel(X), rtol=1e-9, atol=1e-12)
        assert gradient.shape == (*K.shape, kernel.n_dims)
        for i, step in enumerate(1e-6 * np.eye(kernel.n_dims)):
            up, down = (kernel.clone_with_theta(kernel.theta + s)(X) for s in (step, -step))
            slope = (up - down) / 2e-6
            limit = self.gradient_tolerance * max(np.abs(slope).max(), np.abs(K).max())
            assert_allclose(gradient[..., i], slope, rtol=0.0, atol=limit)

    def test_it_is_what_the_definition_says(self) -> None:
        """The entries of the matrix agree with :meth:`covariance`."""
        kernel, X = self.make(), self.rows()
        for found, row in zip(kernel(X[:1], X[1:])[0], X[1:], strict=True):
            expected = self.covariance(kernel, X[0], row)
            if expected is None:
                pytest.skip("no definition is given")
            assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    def test_it_clones_and_pickles(self) -> None:
        """Clones and pickled copies equal the kernel and return the same matrix."""
        kernel, X = self.make(), self.rows()
        for copied in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
            assert copied == kernel
            assert_array_equal(copied(X), kernel(X))
        assert kernel.get_params() == clone(kernel).get_params()


# -- objectives and workers for tests -------------------------------------------------------------


class OffAt:
    """An objective that raises, or returns None, at the calls of the given numbers."""

    def __init__(self, answer: Any, numbers: Any, raises: bool = True) -> None:
        self.answer: Any = answer
        self.numbers: Any = numbers
        self.raises: bool = raises
        self.asked: list[Any] = []

    def __call__(self, query: Any) -> Any:
        self.asked.append(query)
        if len(self.asked) - 1 not in self.numbers:
            return self.answer(query)
        if self.raises:
            raise OSError("the instrument is off")
        return None


class InOrder(Executor):
    """Workers whose answers arrive in a given order of the submissions, counted from 0.

    Parameters
    ----------
    order : iterable of int
        Order in which the results arrive. Each arrives as soon as it has been submitted and
        all results before it have arrived.
    num_workers : int
        Number of workers that the executor reports.
    """

    def __init__(self, order: Iterable[int], num_workers: int) -> None:
        self.num_workers = num_workers
        self.futures: list[Future[Any]] = []
        self._order = list(order)
        self._tasks: list[tuple] = []

    def submit(self, function: Callable, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a task; a worker runs it when its turn comes in the order."""
        self.futures.append(_Awaited(self._arrive))
        self._tasks.append((function, args, kwargs))
        return self.futures[-1]

    def _arrive(self) -> None:
        while self._order and self._order[0] < len(self._tasks):
            number = self._order.pop(0)
            function, args, kwargs = self._tasks[number]
            try:
                self.futures[number].set_result(function(*args, **kwargs))
            except Exception as error:
                self.futures[number].set_exception(error)


class _Awaited(Future):
    """A future that calls ``awaited`` when a callback is added, so that it completes only then."""

    def __init__(self, awaited: Callable) -> None:
        super().__init__()
        self._is_awaited = awaited

    def add_done_callback(self, function: Callable[[Future], object]) -> None:
        super().add_done_callback(function)
        self._is_awaited()


# -- interrupts at any line of the library --------------------------------------------------------

#: The folder of the library.
INSIDE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Interrupted(BaseException):
    """An interrupt like Ctrl-C: ``except Exception`` does not catch it."""


def count_lines(call: Callable[[], Any]) -> int:
    """Return the number of lines of the library that a call executes, with repetitions."""
    return _trace_lines(call, None)


def first_visits(call: Callable[[], Any]) -> dict[tuple[str, int], int]:
    """Return the time at which a call first executes each line, by file and line number.

    Time is the number of lines of the library executed before, as in :func:`interrupt_at`.
    """
    visits: dict[tuple[str, int], int] = {}
    _trace_lines(call, None, visits)
    return visits


def interrupt_at(call: Callable[[], Any], line: int) -> bool:
    """Run a call, raise :class:`Interrupted` before its ``line``-th line; return whether it came.

    Lines of the library are counted from 0, with repetitions.
    """
    try:
        _trace_lines(call, line)
    except Interrupted:
        return True
    return False


def _trace_lines(
    call: Callable[[], Any],
    stop: int | None,
    visits: dict[tuple[str, int], int] | None = None,
) -> int:
    n = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal n
        if not frame.f_code.co_filename.startswith(INSIDE):
            return None
        if event == "line":
            if visits is not None:
                visits.setdefault((frame.f_code.co_filename, frame.f_lineno), n)
            n += 1
            if n - 1 == stop:
                sys.settrace(None)
                raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return n

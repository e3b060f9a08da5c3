"""The space of a run changes: in every class the queries of now are in it, or ``ask`` says no."""

import warnings

import campaigns
import cases
import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    CombinatorialBandit,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IDSOptimizer,
    KGOptimizer,
)
from skgpb.domains import Angle, Box, Cells, Fidelities, Side, Steps, log_randint
from skgpb.exceptions import AllPendingError, ParameterWarning
from skgpb.optimizers import PartitionSearch, Search, Strategy, StrategyOptimizer, TreeSearch
from skgpb.optimizers._trees import ChangingBox

pytestmark = pytest.mark.one_in(4)


class RandomSearch(Strategy):
    """Uniform draws."""

    def start(self, bounds, rng):
        self.bounds, self.rng, self.best = bounds, rng, (-np.inf, bounds.mean(axis=1))

    def propose(self, pending):
        return self.rng.uniform(*self.bounds.T)

    def observe(self, query, reward, alpha):
        self.best = max(self.best, (reward, query.points[0]), key=lambda pair: pair[0])

    def recommend(self):
        return self.best[1]


class WidestLeaf(TreeSearch):
    """A tree with a rule of its own."""

    def acquisition(self, leaves):
        return leaves.std

    def splits(self, leaves):
        return leaves.n_evaluations >= 1


ABILITIES = {
    cls: (issubclass(cls, ChangingBox | Search), issubclass(cls, Search))
    for cls in [*cases.OPTIMIZERS, WidestLeaf, StrategyOptimizer, CombinatorialBandit]
}
SIDES = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
NOW = {"a": (0.2, 0.6), "b": (0.5, 1.0)}
CONTEXT = {"context_bounds": {"heat": (0.0, 1.0)}}


def search_of(cls, bounds=SIDES):
    """Return a search of a class, and the arguments of its ``ask``."""
    if cls is CombinatorialBandit:
        return campaigns.bandit(), {}
    given = {"bounds": bounds, "random_state": 0, "kernel": RBF(0.3), "alpha": 0.01}
    given |= {"optimizer": None, "n_initial": 2, "n_candidates": 40, "n_points": 36, "horizon": 60}
    given |= {"max_depth": 4, "strategy": RandomSearch()}
    asked = {}
    if cls is ContextualGPTreeOptimizer:
        given, asked = given | CONTEXT, {"context": {"heat": 0.5}}
    return cls(**{k: v for k, v in given.items() if k in cls._get_param_names()}), asked


def answer(query):
    if hasattr(query, "indices"):
        return [float(i) for i in query.indices]
    return float(np.mean(-((np.asarray(query)[:, -1] - 0.3) ** 2)))


def played(cls, n=4, bounds=SIDES):
    search, asked = search_of(cls, bounds)
    for _ in range(n):
        query = search.ask(**asked)
        search.tell(query, answer(query))
    return search, asked


def texts(queries):
    return [repr(query) for query in queries]


def are_within(query, sides):
    """Return whether all settings of a query are on these sides."""

    def has(side, value):
        if isinstance(side, tuple):
            return side[0] * (1 - 1e-9) <= value <= side[1] * (1 + 1e-9)
        return value in side

    return all(has(sides[name], each[name]) for each in query.settings for name in sides)


@pytest.mark.parametrize("cls", ABILITIES)
def test_a_held_side_is_held_or_refused(cls):
    (search, asked), (twin, _) = played(cls), played(cls)
    fixed, events = {"a": 0.1 + 0.2}, search._events
    if ABILITIES[cls][1]:
        queries = search.ask(2, fixed=fixed, **asked)
        assert texts(search.ask(2, fixed=fixed, **asked)) == texts(queries)
        for query in queries:
            assert {each["a"] for each in query.settings} == {0.1 + 0.2}
        search.tell(queries, list(map(answer, queries)))
        following = [each.ask(2, fixed={"b": 0.7}) for each in cases.copies(search)]
        assert all(texts(each) == texts(following[0]) for each in following)
        assert search.recommend("posterior").settings  # it is of the whole space again
        return
    for given in ({"fixed": fixed}, {"shared": ["a"]}):
        with pytest.raises(ValueError, match=r"(fixed|shared) is for"):
            search.ask(**given, **asked)
    assert search._events == events
    assert search.ask(**asked) == twin.ask(**asked)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", ABILITIES)
def test_a_narrower_box_counts_or_is_refused(cls):
    (search, asked), (twin, _) = played(cls), played(cls)
    name = "optimizers" if cls is CombinatorialBandit else "bounds"
    before = getattr(search, name)
    search.set_params(**{name: before[:2] if cls is CombinatorialBandit else NOW})
    if ABILITIES[cls][0]:
        assert len(search.history_) == 4
        for query in [*search.ask(2, **asked), search.recommend(**asked)]:
            assert are_within(query, NOW), query
        for _ in range(2):
            copies = cases.copies(search)
            following = [each.ask(**asked) for each in copies]
            assert len(set(texts(following))) == 1 and are_within(following[0], NOW)
            search = copies[-1]
            search.tell(following[-1], answer(following[-1]))
        assert are_within(search.recommend(**asked), NOW)
        return
    for each in cases.copies(search):
        with pytest.raises(ValueError, match=rf"{name} was set during the run.* fit\(X, y\)"):
            each.ask(**asked)
    with pytest.raises(ValueError, match=f"{name} was set during the run"):
        search.run(answer, 1)
    assert len(search.history_) == 4
    search.set_params(**{name: before})
    assert search.ask(**asked) == twin.ask(**asked)


def test_what_was_set_applies_from_fit_on():
    search, _ = played(StrategyOptimizer)
    search.set_params(bounds=NOW).fit([{"a": 0.3, "b": 0.6}], [1.0])
    assert are_within(search.ask(), NOW)


def test_bounds_that_waited_are_replaced_by_bounds_that_count():
    search, twin = played(GPUCBOptimizer)[0], played(GPUCBOptimizer)[0]
    search.set_params(bounds=[(0, 1), (0, 1)], beta=3.0)  # without names
    search.set_params(bounds=NOW)
    twin.set_params(bounds=NOW, beta=3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParameterWarning)
        assert {repr(each.ask()) for each in cases.copies(search)} == {repr(twin.ask())}


def test_sides_without_names_cannot_change():
    search = GPUCBOptimizer(bounds=[(20, 90)], random_state=0)
    search.tell(search.ask(), 1.0).set_params(bounds={"heat": (30, 60)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParameterWarning)  # the error says more
        with pytest.raises(ValueError, match="bounds was set during the run"):
            search.ask()
    for each in (GPUCBOptimizer(bounds=[(20, 90)]), GPUCBOptimizer(arms=[[1.0], [2.0]])):
        with pytest.raises(ValueError, match="fixed is for searches by candidates of a box"):
            each.ask(fixed={"heat": 30})


# Regions -----------------------------------------------------------------------------------------

MIXED = {"heat": (20.0, 90.0), "n": range(1, 9), "salt": ["A", "B", "C"]}
SALT = {"heat": (20.0, 90.0), "load": loguniform(1e-4, 1)}
TREES = {
    "center": (GPTreeOptimizer, {}, MIXED),
    "average": (GPOOOptimizer, {}, MIXED),
    "log": (GPOOOptimizer, {}, SALT),
    "integral": (GPOOOptimizer, {"feedback": "integral"}, SALT),
    "balls": (GPZoomingOptimizer, {"horizon": 40}, SALT),
    "balls-average": (GPZoomingOptimizer, {"feedback": "average", "horizon": 40}, SALT),
}


def yield_of(query):
    """Return the mean of a yield, largest at 60 degrees, n = 4 and a load of 0.01."""

    def at(setting):
        loss = ((setting["heat"] - 60) / 20) ** 2 + ((setting.get("n", 4) - 4) / 3) ** 2
        loss += (np.log10(setting.get("load", 0.01)) + 2) ** 2 / 4
        return (setting.get("salt") == "B") - loss

    return float(np.mean(list(map(at, query.settings))))


def tree(name, n=10, **parameters):
    cls, given, sides = TREES[name]
    search = cls(bounds=sides, random_state=0, **given, **parameters)
    search.run(yield_of, n)
    return search


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", TREES)
def test_old_answers_to_regions_count_as_they_were_told(name):
    search = tree(name)
    before = search._events
    search.set_params(bounds={**TREES[name][2], "heat": (30.0, 50.0)})
    told = [
        [event[1] for event in events if event[0] == "tell"] for events in (before, search._events)
    ]
    for was, now in zip(*told, strict=True):
        np.testing.assert_allclose(np.unique(was.points, axis=0), np.unique(now.points, axis=0))
        if len(was.points) > 1:  # otherwise the answer is about a point
            np.testing.assert_allclose(was.box, now.box)
    # The answers outside say that the best setting is at the upper end.
    assert search.recommend().upper[0] == pytest.approx(50.0, abs=0.5)
    assert search.history_["reward"].tolist() == list(map(yield_of, told[0]))


@pytest.mark.slow
@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("average", {**MIXED, "salt": ["A", "C"]}),
        ("average", {**MIXED, "salt": ["D", "A", "B", "C"], "n": range(1, 20)}),
        ("average", {"heat": [60], "n": range(2, 6), "salt": ["C"]}),
        ("average", {"heat": (20.0, 90.0), "n": [4], "salt": ["A", "B", "C"]}),
        ("center", {"heat": (30.0, 50.0), "n": range(2, 5), "salt": ["A", "C"]}),
        ("center", Box({**MIXED, "stirring": (100.0, 500.0)}, earlier={"stirring": 300.0})),
        ("log", {"heat": (30.0, 100.0), "load": loguniform(1e-3, 0.1)}),
        ("log", {"heat": [60], "load": loguniform(1e-5, 1)}),
        ("log", {"load": loguniform(1e-4, 1)}),
        ("balls-average", {"heat": (30.0, 100.0), "load": loguniform(1e-3, 0.1)}),
    ],
)
def test_cells_and_balls_are_in_the_box_of_now(name, bounds):
    search = tree(name)
    before = search.ask(3)
    search.tell(before[0], None)  # a failure
    search.set_params(bounds=bounds)
    ends = {
        side: each.support() if hasattr(each, "support") else each for side, each in bounds.items()
    }
    for query in [*search.ask(3), search.recommend(), search.recommend("paper")]:
        assert query.settings[0].keys() == bounds.keys() and are_within(query, ends), query
    assert len(search.failed_) == 1 and len(search.pending_) >= 3
    search.tell(before[1], yield_of(before[1]))  # of the earlier box
    following = [each.ask(another=True) for each in cases.copies(search)]
    assert len(set(texts(following))) == 1 and are_within(following[0], ends)
    search.run(lambda query: float(query.box[0]), 3)
    assert are_within(search.recommend(), ends)


def test_cells_of_a_box_that_is_there_again_are_told_as_such():
    few = {"n": range(3)}
    search = GPTreeOptimizer(bounds=few, random_state=0, horizon=40)
    search.run(lambda query: query.params["n"], 5)
    before = texts(search.run_.told_queries())
    search.set_params(bounds={"n": range(4)}).set_params(bounds=few)
    assert not search.run_.params.bounds.is_constrained and len(search.history_) == 5
    queries = search.ask(2)
    assert not {*before}.isdisjoint(texts(queries))
    search.tell(queries, [query.params["n"] for query in queries])
    assert not search.pending_ and search.tree_.n_evaluations.sum() == 2
    assert len({repr(each.ask()) for each in cases.copies(search)}) == 1


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("name", "bounds", "message"),
    [
        ("average", {**MIXED, "n": [1, 3, 8]}, r"bounds\['n'\] must have no gaps"),
        ("average", {**MIXED, "heat": [30, 40]}, r"bounds\['heat'\] must have no gaps"),
        ("average", {**MIXED, "heat": Steps(30, 40)}, "bounds must have no Steps"),
        ("average", Box({**MIXED, "heat": (30, 40)}, "heat <= 35"), "must have no constraints"),
        ("average", {**MIXED, "x": (0, 1)}, "bounds has the new side 'x'"),
        ("balls", {**SALT, "heat": [60]}, "bounds must have ranges for balls"),
    ],
)
def test_a_box_that_regions_cannot_have_is_refused(name, bounds, message):
    search, twin = tree(name, 4), tree(name, 4)
    with pytest.raises(ValueError, match=message):
        search.set_params(bounds=bounds)
    assert search.bounds == TREES[name][2]
    assert search.ask() == twin.ask()


def test_a_tree_in_contexts_continues_in_another_box():
    search = ContextualGPTreeOptimizer(
        context_bounds={"age": (0, 1)}, bounds={"dose": (0.0, 10.0)}, random_state=0
    )
    for age in np.linspace(0, 1, 8):
        query = search.ask(context={"age": age})
        search.tell(query, -((query.params["dose"] - 10 * age) ** 2))
    before = search.ask(2, context={"age": 0.5})
    search.set_params(bounds={"dose": (4.0, 8.0)})
    for query in search.ask(2, context={"age": 0.1}):
        assert 4 <= query.params["dose"] <= 8
    search.tell(before[0], 0.0)
    assert search.recommend(context={"age": 0.1}).params["dose"] < 6
    assert [each.params["age"] for each in search.run_.told_queries()][:8] == pytest.approx(
        np.linspace(0, 1, 8)
    )


def test_counted_rows_are_of_the_cells_that_were_counted():
    search = GPOOOptimizer(bounds={"age": (0, 10)}, random_state=0)
    search.tell(search.ask(), 1.0, count=5)
    search.set_params(bounds={"age": (0, 5)})
    with pytest.raises(ValueError, match="bounds was set during the run"):
        search.ask()


def test_a_suspect_answer_outside_is_not_asked_again():
    search = GPOOOptimizer(bounds={"x": (0.0, 10.0)}, random_state=0)
    search.run(lambda query: float(-((query.center[0] - 3) ** 2)), 14)
    wrong = [search.domain_.cell(node) for node in search.domain_.tree.leaves.tolist()]
    wrong = max(wrong, key=lambda cell: cell.lower[0])
    search.tell(wrong, 40.0)
    assert search.ask() == wrong and wrong.lower[0] > 5
    search.set_params(bounds={"x": (0.0, 5.0)})
    assert are_within(search.ask(), {"x": (0.0, 5.0)})


@pytest.mark.parametrize("cls", [EIOptimizer, GPOOOptimizer])
def test_a_run_does_not_evaluate_queries_of_before_outside(cls):
    search = cls(bounds={"heat": (20.0, 90.0), "n": (1.0, 9.0)}, random_state=0)
    search.run(yield_of, 6)
    search.ask(6)
    evaluated = []
    search.set_params(bounds={"heat": (30.0, 50.0), "n": (1.0, 9.0)})
    search.run(lambda query: evaluated.append(query) or yield_of(query), 6)
    assert len(evaluated) == 6
    assert all(are_within(query, {"heat": (30.0, 50.0)}) for query in evaluated)


# Windows -----------------------------------------------------------------------------------------

NUMBERS = {"heat": (20.0, 90.0), "load": (0.0, 1.0)}
WINDOWS = {
    "points": (KGOptimizer, {}, MIXED),
    "few points": (KGOptimizer, {}, {"n": range(1, 9), "salt": ["A", "B", "C"]}),
    "IDS": (IDSOptimizer, {}, SALT),
    "cells": (
        KGOptimizer,
        {"queries": Cells([(10, 0.1), (20, 0.2)]), "targets": Cells((10, 0.1)), "cost": [2, 1]},
        NUMBERS,
    ),
    "runs": (
        KGOptimizer,
        {"queries": Cells({"heat": 10, "n": 2}), "targets": Cells({"heat": 10, "n": 1})},
        MIXED,
    ),
    "fidelities": (KGOptimizer, {"queries": Fidelities(2), "cost": [1.0, 0.1]}, NUMBERS),
}


def windows(name, n=6):
    cls, given, sides = WINDOWS[name]
    search = cls(bounds=sides, random_state=0, n_candidates=40, n_initial=4, **given)
    search.run(lambda query: -float(np.mean(np.asarray(query)[:, 0])), n)
    return search


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("points", {"heat": (30.0, 50.0), "n": range(2, 5), "salt": ["A", "C"]}),
        ("points", {"heat": [60], "n": range(1, 20), "salt": ["A", "D"]}),
        ("few points", {"n": range(2, 5), "salt": ["A", "C"]}),
        ("IDS", {"heat": (30.0, 50.0), "load": loguniform(1e-3, 0.1)}),
        ("cells", {"heat": (30.0, 50.0), "load": (0.5, 1.0)}),
        ("cells", {"heat": (0.0, 95.0), "load": (0.0, 1.0)}),
        ("runs", {"heat": (30.0, 50.0), "n": range(3, 6), "salt": ["A", "C"]}),
        ("fidelities", {"heat": (30.0, 50.0), "load": (0.5, 1.0)}),
    ],
)
def test_windows_are_in_the_box_of_now(name, bounds):
    search = windows(name)
    before, spent = search.ask(2), search.spent_
    search.set_params(bounds=bounds)
    assert search.spent_ == spent and texts(search.pending_) == texts(before)
    ends = {
        side: each.support() if hasattr(each, "support") else each for side, each in bounds.items()
    }
    for _ in range(3):
        query = search.ask(another=True)
        assert are_within(query, ends) and are_within(search.recommend(), ends)
        search.tell(query, -float(np.mean(np.asarray(query)[:, 0])))
    search.tell(before, [0.0, 0.0])
    following = [each.ask() for each in cases.copies(search)]
    assert len(set(texts(following))) == 1 and are_within(following[0], ends)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("cells", {"heat": (30.0, 45.0)}, "room for the cells .* shorter side 'heat'"),
        ("runs", {"n": [3]}, "room for the cells .* shorter side 'n'"),
        ("points", {"heat": Steps(20, 90, 5)}, "bounds must have no Steps"),
    ],
)
def test_a_box_that_windows_cannot_have_is_refused(name, change, message):
    search, twin = windows(name), windows(name)
    with pytest.raises(ValueError, match=message):
        search.set_params(bounds={**WINDOWS[name][2], **change})
    assert search.ask() == twin.ask()


@pytest.mark.parametrize("name", ["points", "few points", "fidelities"])
def test_points_beside_windows_hold_a_side(name):
    search = windows(name)
    fixed = {"n": 4} if name != "fidelities" else {"heat": 33.3}
    queries = search.ask(2, fixed=fixed)
    assert all(fixed.items() <= query.params.items() for query in queries)
    assert search.ask(2, fixed=fixed) == queries
    assert len({repr(each.ask(another=True)) for each in cases.copies(search)}) == 1


def test_a_window_that_is_larger_than_a_held_side_is_refused():
    search, twin = windows("runs"), windows("runs")
    with pytest.raises(ValueError, match="room for the cells"):
        search.ask(fixed={"n": 4})
    assert search.ask() == twin.ask()


# Held values of all kinds of sides ---------------------------------------------------------------


class Squared(Side):
    """A side of one's own: its coordinates are roots."""

    def value(self, u):
        return float(u**2)

    def coordinate(self, value):
        if not 0 <= value <= 1:
            raise ValueError("must be between 0 and 1")
        return value**0.5


KINDS = {
    "pair": ((20, 90), [20, 33.3, 0.1 * 3 * 200, np.float64(77.7), np.int64(60)]),
    "log": (loguniform(1e-4, 1), [1e-4, 0.01, 1 / 3, 0.1 + 0.2, 1]),
    "normal": (norm(0, 1), [-1.7, 0, 1 / 3]),
    "list": (["A", "B", "C"], ["A", "C"]),
    "numbers": ([1, 2.5, 10, 40], [1, 2.5, 40]),
    "values of several types": ([1, True, "1", None], [1, True, "1", None]),
    "lists": ([[1, 2], [3, 4]], [[1, 2]]),
    "integers": (range(1, 9), [1, 8, np.int64(3), 3.0]),
    "many integers": (range(1, 200_001), [1, 77_777, 200_000]),
    "drawn integers": (randint(1, 50), [1, 20, 49]),
    "integers on a log scale": (log_randint(1, 1001), [1, 37, 1000]),
    "angle": (Angle(0, 360), [0, 1 / 3, 355, 360]),
    "angle in steps": (Angle(0, 360, 15), [20, 345, 360]),
    "steps": (Steps(0, 1, 0.1), [0, 0.3, 0.1 + 0.2, 0.35, 1]),
    "steps of three digits": (Steps(0.5, 9.7), [0.5, 3.0000000000000004, 3.333, 9.7]),
    "steps on a log scale": (Steps(1e-3, 10, log=True), [1e-3, 1 / 3, 10]),
    "own": (Squared(), [0, 0.3, 0.5, 1]),
}


def is_value(kind, value, held):
    """Return whether a value of a query is the one that was held."""
    if kind.startswith("angle"):
        return abs((value - held + 180) % 360 - 180) < 1e-9
    if isinstance(held, (int, float, np.number)) and not isinstance(held, bool):
        return not isinstance(value, (bool, str)) and value == pytest.approx(held, rel=1e-12)
    return value == held and type(value) is type(held)


@pytest.mark.one_in(17)
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_any_kind_of_side_is_held(kind):
    side, values = KINDS[kind]
    for value in values:
        sides = {"s": side, "x": (0.0, 1.0), "k": ["p", "q"]}
        search = EIOptimizer(bounds=sides, random_state=0, n_candidates=40, n_initial=3)
        for i in range(3):  # in the initial design and after it
            queries = search.ask(2, fixed={"s": value})
            assert search.ask(2, fixed={"s": value}) == queries
            assert all(is_value(kind, query.params["s"], value) for query in queries), value
            if i == 1:  # as one side of a plate
                shared = search.ask(2, shared=["s"], another=True)
                assert is_value(kind, shared[0].params["s"], shared[1].params["s"])
            search.tell(queries, [float(query.params["x"]) for query in queries])
        search.set_params(bounds={**sides, "s": [value]})  # for longer
        for query in [*search.ask(2), search.recommend()]:
            assert is_value(kind, query.params["s"], value), value
            assert search._may_ask(query)


def test_the_end_of_an_angle_is_on_the_side_that_has_it():
    search = EIOptimizer(bounds={"wind": Angle(0, 360), "x": (0, 1)}, random_state=0)
    X = [{"wind": w, "x": x} for w in (0, 100, 200, 300, 360) for x in (0.2, 0.8)]
    search.tell(X, [float(np.cos(np.radians(each["wind"]))) + each["x"] for each in X])
    search.set_params(bounds={"wind": (270, 360), "x": (0, 1)})
    assert search.recommend().params["wind"] > 350
    assert search.recommend("best_observed").params["wind"] % 360 == 0


def test_more_queries_may_have_been_asked_than_there_are_now():
    search = EIOptimizer(bounds={"salt": ["A", "B", "C"]}, random_state=0)
    before = search.ask(3)
    search.set_params(bounds={"salt": ["A", "C"]})
    assert texts(search.pending_) == texts(before)
    with pytest.raises(AllPendingError):
        search.ask(another=True)
    search.tell(before, [1.0, 2.0, 3.0])
    assert search.recommend().params["salt"] in "AC"


def test_all_trees_with_a_model_are_among_those_that_continue():
    assert issubclass(PartitionSearch, ChangingBox)
    able = {cls.__name__ for cls, (changes, _) in ABILITIES.items() if changes}
    assert {cls.__name__ for cls in ABILITIES} - able == {
        "CMESOptimizer",
        "CMETSOptimizer",
        "CombinatorialBandit",
        "IndirectEIOptimizer",
        "IndirectMESOptimizer",
        "IndirectPIOptimizer",
        "IndirectTargetsOptimizer",
        "IndirectUCBOptimizer",
        "StoOOOptimizer",
        "StrategyOptimizer",
    }

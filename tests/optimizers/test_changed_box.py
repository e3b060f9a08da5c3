"""The box of a run changes: old answers count, and queries are in the box of now."""

import warnings
from concurrent.futures import Executor, Future

import cases
import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform

from skgpb import EIOptimizer, GPTSOptimizer, GPUCBOptimizer
from skgpb.domains import Box, Steps
from skgpb.exceptions import PendingWarning

pytestmark = pytest.mark.one_in(4)

SIDES = {"heat": (20, 90), "minutes": Steps(1, 60, 1), "salt": ["A", "B", "C"]}
CLASSES = [GPUCBOptimizer, EIOptimizer, GPTSOptimizer]


def reward(params):
    """Return a yield, largest at 70 degrees and 30 minutes; salt B is the best of A, B, C."""
    salt = {"A": 0, "B": 8, "C": -5, "D": 12}[params.get("salt", "A")]
    heat = abs(params.get("heat", 60) - 70) / 2
    stirring = abs(params.get("stirring", 300) - 200) / 20
    return 90.0 + salt - heat - abs(params.get("minutes", 30) - 30) / 3 - stirring


def played(cls, n, bounds=SIDES, **parameters):
    """Return a search after n rounds."""
    opt = cls(bounds=bounds, random_state=0, **parameters)
    for _ in range(n):
        query = opt.ask()
        opt.tell(query, reward(query.params))
    return opt


@pytest.mark.parametrize("cls", CLASSES)
def test_queries_and_recommendations_are_in_the_box_of_now(cls):
    opt = played(cls, 12)
    opt.set_params(bounds={"heat": (30, 60), "minutes": Steps(10, 20, 1), "salt": ["A", "C"]})
    assert len(opt.history_) == 12
    for query in [*opt.ask(4), opt.recommend()]:
        assert 30 <= query.params["heat"] <= 60
        assert query.params["minutes"] in range(10, 21)
        assert query.params["salt"] in "AC"
    for _ in range(4):
        query = opt.ask()
        opt.tell(query, reward(query.params))
    # The answers outside say in which corner of the box of now the best setting is.
    assert opt.recommend().params == pytest.approx({"heat": 60, "minutes": 20, "salt": "A"})


@pytest.mark.parametrize("cls", CLASSES)
def test_answers_count_as_if_they_had_been_told_in_the_new_box(cls):
    opt = played(cls, 9)
    told = [(query.params, reward(query.params)) for query in opt.run_.told_queries()]
    box = Box({**SIDES, "salt": ["A", "C", "D"], "stirring": (100, 500)}, earlier={"stirring": 300})
    opt.set_params(bounds=box)
    fresh = cls(bounds=opt.run_.params.bounds, random_state=0)
    for params, answer in told:
        fresh.tell({**params, "stirring": 300}, answer)
    rng = np.random.default_rng(0)
    places = [
        {"heat": h, "minutes": 20, "salt": s, "stirring": r}
        for h, s, r in zip(
            rng.uniform(20, 90, 9), "ABCDABCDA", rng.uniform(100, 500, 9), strict=True
        )
    ]
    for ours, theirs in zip(
        opt.predict(places, return_std=True), fresh.predict(places, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "bounds",
    [
        {**SIDES, "salt": ["A", "C"]},
        {**SIDES, "heat": (20, 120), "salt": ["A", "B", "C", "D"]},
        Box({**SIDES, "stirring": (100, 500)}, earlier={"stirring": 300}),
        {"heat": (20, 90), "salt": ["A", "B", "C"]},
        Box({**SIDES, "minutes": [30]}, "heat + minutes <= 100"),
        {**SIDES, "heat": loguniform(10, 100)},
    ],
    ids=["level gone", "wider", "new side", "side dropped", "side held", "other scale"],
)
def test_a_changed_run_goes_on_after_a_file_a_pickle_and_a_replay(bounds):
    opt = played(GPUCBOptimizer, 7, regret="simple")
    opt.tell(opt.ask(), None)  # a failure
    opt.ask(2)
    opt.set_params(bounds=bounds)
    assert len(opt.history_) == 7 and len(opt.failed_) == 1
    twins = cases.copies(opt)
    for _ in range(3):
        queries = [twin.ask(another=True) for twin in twins]
        assert len({repr(query) for query in queries}) == 1
        assert set(queries[0].params) == set(bounds)
        for twin, query in zip(twins, queries, strict=True):
            twin.tell(query, reward(query.params))
    assert len({repr(twin.recommend()) for twin in twins}) == 1


def test_queries_asked_before_the_change_can_be_told_after_it():
    opt = played(GPUCBOptimizer, 5)
    before = opt.ask(3)
    opt.set_params(bounds={**SIDES, "salt": ["A", "B", "C", "D"], "heat": (0, 90)})
    opt.set_params(bounds={**SIDES, "salt": ["C", "D"], "heat": (30, 60)})
    assert [query.params for query in opt.pending_] == [query.params for query in before]
    opt.tell(before, [reward(query.params) for query in before])
    assert not opt.pending_ and len(opt.history_) == 8
    assert opt.history_["reward"][-3:].tolist() == [reward(query.params) for query in before]


def test_ask_returns_only_those_pending_queries_that_may_be_asked_now():
    opt = played(GPUCBOptimizer, 5)
    before = opt.ask(6)
    possible = [query for query in before if query.params["salt"] != "B"]
    assert 0 < len(possible) < 6
    opt.set_params(bounds={**SIDES, "salt": ["A", "C"]})
    now = opt.ask(6)
    assert [query.params for query in now[: len(possible)]] == [q.params for q in possible]
    assert all(query.params["salt"] in "AC" for query in now)


class Begins(Executor):
    """It evaluates the first query at once and begins no other."""

    def __init__(self):
        self.given = []

    def submit(self, function, *arguments):
        self.given.append(arguments)
        future = Future()
        if len(self.given) == 1:
            future.set_result(function(*arguments))
        return future


def test_a_run_goes_on_with_the_queries_of_one_before_the_change():
    opt, evaluated = played(GPUCBOptimizer, 5), []
    opt.run(
        lambda query: reward(query.params), 9, n_jobs=3, executor=Begins(), callback=lambda _: True
    )
    left = [query.params for query in opt.pending_]
    opt.set_params(bounds={**SIDES, "salt": ["A", "B", "C", "D"], "heat": (0, 90)})
    opt.run(lambda query: evaluated.append(query.params) or reward(query.params), 3)
    assert len(left) == 2 and evaluated[:2] == left and evaluated[2] not in left


def test_answers_of_two_workers_to_one_query_are_noticed_after_the_change():
    opt = played(GPUCBOptimizer, 5)
    query, other = opt.ask(2)
    assert opt.ask() == query
    opt.set_params(bounds={**SIDES, "heat": (0, 90)})
    opt.tell(query, 1.0)
    with pytest.warns(PendingWarning, match="several answers"):
        opt.tell(query, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PendingWarning)
        opt.tell(other, 1.0).tell(other, 1.0)


def test_outcomes_blocks_and_noise_of_old_answers_are_kept():
    opt = GPUCBOptimizer(bounds=SIDES, limits={"acid": (None, 7)}, random_state=0)
    for i in range(6):
        query = opt.ask()
        opt.tell(query, reward(query.params), outcomes={"acid": 5.0 + i}, block=f"day {i % 2}")
    opt.set_params(bounds={**SIDES, "salt": ["A", "B"]})
    kinds = [event[0] for event in opt._events if event[0] != "learned"]
    assert kinds == ["ask", "tell", "outcomes"] * 6
    assert opt.run_.blocks == {"day 0": 1, "day 1": 2}
    assert opt._limit_violation_mask().tolist() == [False] * 3 + [True] * 3


def test_points_given_to_fit_are_restated():
    X = [
        {"heat": h, "minutes": m, "salt": s}
        for h, m, s in [(30, 5, "A"), (50, 9, "B"), (80, 40, "C")]
    ]
    opt = GPUCBOptimizer(bounds=SIDES, random_state=0).fit(X, [reward(x) for x in X])
    opt.set_params(bounds={"heat": (40, 60), "salt": ["A", "B", "D"]})
    assert opt.run_.n_fitted == 3
    assert opt.ask().params.keys() == {"heat", "salt"}


def test_contexts_stay_as_they_are():
    opt = GPUCBOptimizer(bounds=SIDES, context_bounds={"age": (0, 10)}, random_state=0)
    for age in (1, 5, 9, 3):
        query = opt.ask(context={"age": age})
        opt.tell(query, reward(query.params))
    opt.set_params(bounds={**SIDES, "salt": ["A", "D"], "heat": (30, 100)})
    query = opt.ask(context={"age": 5})
    assert query.params["age"] == 5 and query.params["salt"] in "AD"
    assert [each.params["age"] for each in opt.run_.told_queries()] == [1, 5, 9, 3]
    assert opt.ask(context={"age": 2}, fixed={"heat": 50}).params["heat"] == 50


def test_a_change_that_is_refused_changes_nothing():
    opt, twin = played(GPUCBOptimizer, 5), played(GPUCBOptimizer, 5)
    for bounds, message in (
        ({**SIDES, "stirring": (100, 500)}, "bounds has the new side 'stirring': pass the value"),
        (Box(SIDES, "heat >= 95"), "the constraints leave no setting"),
        ({"heat": [50]}, "bounds must leave something to choose"),
        ({**SIDES, "salt": (0, 1)}, "must be numbers, or a list, like the earlier side"),
    ):
        with pytest.raises(ValueError, match=message):
            opt.set_params(bounds=bounds)
        assert opt.bounds is SIDES or opt.bounds == SIDES
    assert opt.ask() == twin.ask()


@pytest.mark.parametrize("cls", CLASSES)
def test_sides_are_held_for_a_query(cls):
    box = Box({**SIDES, "load": loguniform(1e-4, 1)}, "heat + minutes <= 130")
    opt = cls(bounds=box, random_state=0)
    for i in range(12):  # in the initial design and after it
        fixed = {"heat": 60, "load": 0.01} if i % 2 else None
        query = opt.ask(fixed=fixed)
        assert fixed is None or fixed.items() <= query.params.items()
        opt.tell(query, reward(query.params))
    held = {"heat": 60, "salt": "A"}
    queries = opt.ask(3, fixed=held)
    assert len(set(queries)) == 3
    assert all(held.items() <= query.params.items() for query in queries)
    assert opt.ask(3, fixed=held) == queries
    assert opt.ask(3, fixed=pd.Series(held)) == queries
    twins = cases.copies(opt)
    for fixed in ({"minutes": 7}, None):
        assert len({repr(twin.ask(2, another=True, fixed=fixed)) for twin in twins}) == 1


def test_held_sides_survive_a_change_of_the_box():
    opt = GPUCBOptimizer(bounds=SIDES, random_state=0)
    for fixed in ({"heat": 60, "minutes": 9}, None, {"salt": "B"}):
        query = opt.ask(fixed=fixed)
        opt.tell(query, reward(query.params))
    opt.set_params(bounds={"heat": (20, 70), "salt": ["A", "C"]})
    asked = [event[2:] for event in opt._events if event[0] == "ask"]
    assert asked == [({"heat": 60},), (), ({"salt": "B"},)]


def test_sides_that_cannot_be_held_are_refused():
    opt = played(GPUCBOptimizer, 3, Box(SIDES, "heat + minutes <= 100"))
    events = opt._events
    for fixed, message in (
        ({"zinc": 1}, r"fixed must have names of sides with several values, of \['heat', "),
        ({"heat": 200}, r"fixed\['heat'\] must be between 20.0 and 90.0, got 200"),
        ({"salt": "Q"}, r"fixed\['salt'\] must be one of \['A', 'B', 'C'\], got 'Q'"),
        ({"heat": 60, "minutes": 5, "salt": "A"}, "fixed sides must leave something to choose"),
        ({"heat": 90, "minutes": 60}, "'heat [+] minutes <= 100' does not hold for the sides"),
    ):
        with pytest.raises(ValueError, match=message):
            opt.ask(fixed=fixed)
        assert opt._events == events


def test_the_result_names_no_query_that_cannot_be_asked_now():
    opt = played(GPUCBOptimizer, 14, regret="simple")
    opt.set_params(bounds={**SIDES, "salt": ["C"]})
    told = opt.run_.told_queries()
    found = opt._better_predicted_query(opt.recommend(), told)
    assert found is None or found[0].params["salt"] == "C"


def test_a_query_of_now_at_the_coordinates_of_an_earlier_one_is_another_setting():
    opt = GPUCBOptimizer(bounds={"load": loguniform(1e-4, 1)}, random_state=0)
    before = opt.ask(4)
    opt.set_params(bounds={"load": loguniform(1e-6, 1)})
    query = opt.domain_.placed_arm(before[0].descriptor)
    assert query == before[0] and query.params != before[0].params
    opt.tell(query, 1.0)
    opt.tell(before[1], 2.0)
    opt.withdraw(before[2])
    told = [each.params["load"] for each in opt.run_.told_queries()]
    assert told == pytest.approx([query.params["load"], before[1].params["load"]])
    assert [each.params for each in opt.pending_] == [before[0].params, before[3].params]


def test_outcomes_of_an_answer_from_before_a_change_are_told_after_it():
    opt = GPUCBOptimizer(bounds=SIDES, limits={"acid": (None, 7)}, random_state=0)
    before = opt.ask(6)
    for query in before:
        opt.tell(query, reward(query.params), outcomes={"acid": None})
    opt.set_params(bounds={**SIDES, "salt": ["A", "C", "D"], "heat": (0, 60)})
    for i, query in enumerate(before):
        opt.tell(query if i % 2 else query.params, outcomes={"acid": 5.0 + i})
    assert opt._limit_violation_mask().tolist() == [False] * 3 + [True] * 3
    opt.set_params(bounds={"heat": (0, 90), "salt": ["A", "D"]})
    assert opt._limit_violation_mask().tolist() == [False] * 3 + [True] * 3
    assert len({repr(twin.ask(another=True)) for twin in cases.copies(opt)}) == 1

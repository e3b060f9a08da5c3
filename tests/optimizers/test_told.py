"""Data that exist are told in one call, and what is wrong with them names the way."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from cases import OPTIMIZERS
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform, uniform

from skgpb import CMESOptimizer, CMETSOptimizer, EIOptimizer, GPOOOptimizer, GPUCBOptimizer
from skgpb.domains import Fidelities
from skgpb.kernels import WindowMean
from skgpb.optimizers._inputs import values_in_order
from skgpb.optimizers.combinatorial import CombinatorialBandit

#: Optimizers over indirect queries are told alike, and those over arms; some stand for the others.
ALIKE = {"IndirectEIOptimizer", "IndirectPIOptimizer", "IndirectMESOptimizer", "MESOptimizer"}
ALIKE |= {"IGPUCBOptimizer", "URGPUCBOptimizer", "PIOptimizer", "ESTOptimizer"}
TAKING_POINTS = [
    pytest.param(cls, marks=pytest.mark.slow if cls.__name__ in ALIKE else ())
    for cls in OPTIMIZERS
    if cls is not CMETSOptimizer
]
X = np.random.default_rng(0).uniform(size=(7, 2))
Y = X.sum(axis=1)


def made(cls, names=None):
    """An optimizer over the unit square, whose sides may have names."""
    box = [(0.0, 1.0)] * 2 if names is None else dict.fromkeys(names, (0.0, 1.0))
    if "query_bounds" in inspect.signature(cls).parameters:
        return cls(bounds=[(0.0, 1.0)] * 2, query_bounds=box, random_state=0)
    if "n_context" in inspect.signature(cls).parameters:
        parts = [box[:1], box[1:]] if names is None else [{n: (0.0, 1.0)} for n in names]
        return cls(context_bounds=parts[0], bounds=parts[1])
    return cls(bounds=box)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", TAKING_POINTS)
def test_rows_told_at_once_are_points_told_one_by_one(cls):
    one_by_one = made(cls)
    for point, value in zip(X, Y, strict=True):
        one_by_one.tell(point, value)
    expected, history = one_by_one.history_, made(cls).tell(X, Y).history_
    assert_array_equal(history["reward"], Y)
    assert_array_equal(history["descriptor"], expected["descriptor"])
    assert_allclose(history["mean"], expected["mean"])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [EIOptimizer, GPOOOptimizer, CMESOptimizer])
@pytest.mark.parametrize(
    ("rows", "values"), [(X.tolist(), Y.tolist()), (list(X), tuple(Y))], ids=["numbers", "rows"]
)
def test_lists_of_rows_are_told_as_arrays(cls, rows, values):
    expected, history = (made(cls).tell(*each).history_ for each in ((X, Y), (rows, values)))
    for name in ("reward", "descriptor", "mean"):
        assert_array_equal(history[name], expected[name])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", TAKING_POINTS)
def test_tables_and_dicts_are_told_by_name(cls):
    expected = made(cls).tell(X, Y).history_["descriptor"]
    dicts = [{"north": b, "east": a} for a, b in X]
    told = made(cls, ["east", "north"]).tell(dicts, Y)
    assert_array_equal(told.history_["descriptor"], expected)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X[:, ::-1], columns=["north", "east"])
    told = made(cls, ["east", "north"]).tell(table, pandas.Series(Y, index=range(5, 12)))
    assert_array_equal(told.history_["descriptor"], expected)
    assert_array_equal(told.history_["reward"], Y)


def test_a_number_is_still_the_average_over_points():
    for reward in (0.5, np.array([0.5]), np.array(0.5)):
        opt = GPOOOptimizer(bounds=[(0, 1)] * 2).tell(X, reward)
        assert_array_equal(opt.history_["reward"], [0.5])
    opt = EIOptimizer(bounds=[(0, 1)]).tell([0.1, 0.5, 0.9], [1.0, 2.0, None])
    assert_array_equal(opt.history_["reward"], [1.0, 2.0])
    assert len(opt.failed_) == 1


def test_each_row_may_have_a_noise_variance():
    noise = np.linspace(0.01, 1.0, len(Y))
    one_by_one = EIOptimizer(bounds=[(0, 1)] * 2, random_state=0)
    for point, value, alpha in zip(X, Y, noise, strict=True):
        one_by_one.tell(point, value, alpha)
    at_once = EIOptimizer(bounds=[(0, 1)] * 2, random_state=0).tell(X, Y, noise)
    assert_allclose(at_once.predict(X), one_by_one.predict(X))


def test_rows_are_told_to_campaigns():
    campaign = EIOptimizer(arms=np.arange(5.0)[:, None], alpha=0.1)
    make = [("one", campaign), ("other", campaign)]
    past, rewards = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 2.0]]), np.arange(6.0).reshape(3, 2)
    bandit = CombinatorialBandit(make, 5).tell(past, rewards)
    assert_array_equal(bandit.history_["reward"], rewards)
    assert_array_equal(bandit.history_["descriptor"][:, :2], past)
    assert len(CombinatorialBandit(make, 5).tell(past[0], rewards[0]).history_) == 1


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_what_is_wrong_with_data_names_the_way(cls):
    wide = np.column_stack([X, Y])
    with pytest.raises(ValueError, match=r"tell\(X, y\)|tell\(queries, y\)|fit\(X, y\)"):
        made(cls).tell(wide, Y)
    with pytest.raises(ValueError, match="one number for each of 2 queries"):
        made(cls).tell(X.T, Y)
    opt = made(cls)
    with pytest.raises(ValueError, match=r"X must have one row for each y.*\(2, 7\) and \(7,\)"):
        opt.fit(X.T, Y)
    assert not hasattr(opt, "bounds_")
    if cls is not CMETSOptimizer:
        with pytest.raises(ValueError, match=r"pass bounds=\{name: \(lower, upper\)"):
            made(cls).tell([{"east": 0.5, "north": 0.5}], [1.0])


def test_nothing_is_told_where_one_row_is_wrong():
    opt = EIOptimizer(bounds=[(0, 1)] * 2).tell(X, Y)
    for rows, values in [(np.vstack([X, [2.0, 0.0]]), [*Y, 1.0]), (X, [*Y[:-1], np.nan])]:
        with pytest.raises(ValueError, match=r"outside the bounds|must be finite"):
            opt.tell(rows, values)
        assert len(opt.history_) == len(Y)


NAMED = {"salt": loguniform(1e-4, 1e-1), "cycles": range(1, 9), "rare": [7], "step": [10, 1, 5]}
ROWS = np.array([[1e-3, 4, 7, 5], [1e-2, 2, 7, 10], [2e-3, 8, 7, 1]])
SETTINGS = [dict(zip(NAMED, row, strict=True)) for row in ROWS.tolist()]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rows", [ROWS, ROWS.tolist(), pd.DataFrame(ROWS, columns=list(NAMED))])
def test_rows_of_numbers_are_in_the_units_of_named_sides(rows):
    by_name, by_row = (GPUCBOptimizer(bounds=NAMED, random_state=0) for _ in range(2))
    by_name.fit(SETTINGS, [1.0, 2.0, 3.0]).tell(SETTINGS, [1.0, 2.0, 3.0], alpha=0.1)
    by_row.fit(rows, [1.0, 2.0, 3.0]).tell(rows, [1.0, 2.0, 3.0], alpha=0.1)
    first = ROWS[0].tolist()
    by_name.tell(SETTINGS[0], 2.0), by_row.tell(first, 2.0)
    by_name.tell(SETTINGS[:2], [2.0, 1.0]), by_row.tell(ROWS[:2], [2.0, 1.0])
    assert by_row.history_["descriptor"].tolist() == by_name.history_["descriptor"].tolist()
    told = next(event[1] for event in by_row._events if event[0] == "tell").params
    assert list(told) == list(NAMED)
    assert_allclose(list(told.values()), ROWS[0])
    assert_array_equal(by_row.predict(rows), by_name.predict(SETTINGS))
    assert_array_equal(by_row.predict(first), by_name.predict(SETTINGS[0]))
    assert_array_equal(by_row.predict_query(rows), by_name.predict_query(SETTINGS))
    assert_array_equal(by_row.sample_y(rows, 2), by_name.sample_y(SETTINGS, 2))
    asked = by_row.ask()
    assert by_row.tell(list(asked.params.values()), 1.0).pending_ == []
    assert list(asked.params) == list(NAMED)
    points = [asked, *ROWS.tolist()]
    assert_array_equal(by_row.predict_query(points)[1:], by_row.predict_query(SETTINGS))


@pytest.mark.one_in(12)
@pytest.mark.parametrize("cls", TAKING_POINTS)
def test_every_class_reads_rows_in_units(cls):
    plain, box = made(cls), {"east": (0.0, 1.0), "north": uniform(0.0, 2.0)}
    settings = plain.get_params(deep=False)
    if "query_bounds" in settings:
        settings["query_bounds"] = box
    elif "n_context" in settings:
        parts = [{name: side} for name, side in box.items()]
        settings["context_bounds"], settings["bounds"] = parts
    else:
        settings["bounds"] = box
    far = X * [1.0, 2.0]
    by_row, by_name = cls(**settings), cls(**settings)
    by_row.tell(far, Y).tell(far[0], 3.0)
    rows = [{"east": x, "north": y} for x, y in far.tolist()]
    by_name.tell(rows, Y).tell(rows[0], 3.0)
    assert_array_equal(by_row.history_["descriptor"], by_name.history_["descriptor"])
    assert_allclose(by_row.predict_query(far[:3]), by_name.predict_query(rows[:3]))
    with pytest.raises(ValueError, match="row 1 of 2, counted from 0: north must be between"):
        by_row.tell([[0.5, 1.0], [0.5, 2.5]], [1.0, 2.0])


@pytest.mark.parametrize("side", [["a", "b"], ["only"], [True, False]])
def test_rows_of_numbers_are_refused_where_a_side_is_no_number(side):
    opt = GPUCBOptimizer(bounds={"heat": (20.0, 90.0), "oil": side}, random_state=0)
    for call in (opt.tell, opt.fit):
        with pytest.raises(ValueError, match=r"by name.*\['heat', 'oil'\].*'oil' is no number"):
            call([[30.0, 0.25], [40.0, 0.25]], [1.0, 2.0])
    opt.tell({"heat": 30.0, "oil": side[0]}, 1.0)
    for call in (opt.predict, opt.predict_query):
        with pytest.raises(ValueError, match="'oil' is no number"):
            call([[30.0, 0.25]])


def test_contexts_are_rows_in_units_too():
    contexts = {"load": loguniform(1e-3, 1e3)}
    runs = [
        EIOptimizer(context_bounds=contexts, bounds={"x": uniform(0, 9)}, random_state=0)
        for _ in range(2)
    ]
    of_load = lambda query: float(np.log10(query.params["load"]) + query.params["x"])  # noqa: E731
    runs[0].run(of_load, contexts=[0.01, 1.0, 100.0])
    runs[1].run(of_load, contexts=[{"load": load} for load in (0.01, 1.0, 100.0)])
    asked, expected = ([e[1] for e in run._events if e[0] == "ask"] for run in runs)
    assert asked == expected and len(asked) == 3
    assert runs[0].ask(context=10.0) == runs[1].ask(context={"load": 10.0})
    assert_allclose(runs[0].ask(context=[10.0]).params["load"], 10.0)
    assert runs[0].recommend(context=0.1) == runs[1].recommend(context={"load": 0.1})
    with pytest.raises(ValueError, match="load must be between"):
        runs[0].ask(context=0.0)


def test_targets_are_rows_in_units_too():
    box = {"dose": loguniform(1e-2, 1e2), "heat": (20.0, 90.0)}
    rows = np.array([[0.1, 30.0], [1.0, 40.0], [50.0, 80.0]])
    by_row = EIOptimizer(bounds=box, queries=rows, alpha=0.1, random_state=0)
    by_name = EIOptimizer(
        bounds=box, queries=pd.DataFrame(rows, columns=list(box)), alpha=0.1, random_state=0
    )
    assert_array_equal(by_row.start().domain_.rows, by_name.start().domain_.rows)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", TAKING_POINTS)
@pytest.mark.parametrize("names", [None, ["east", "north"]])
def test_what_rounding_takes_out_of_the_box_is_moved_onto_it(cls, names):
    opt = made(cls, names).tell([[1.0 + 1e-12, 0.5], [-1e-12, 0.25]], [1.0, 2.0])
    corners = opt.history_["a" if "a" in opt.history_.dtype.names else "descriptor"]
    assert corners[:, 0].tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match=r"row 1 of 2.*(outside the bounds|must be between)"):
        opt.tell([[0.5, 0.5], [1.0 + 1e-6, 0.5]], [1.0, 2.0])
    assert len(opt.history_) == 2


def test_only_rounding_is_forgiven():
    opt = GPUCBOptimizer(bounds={"rate": loguniform(1e-12, 1.0)}, random_state=0)
    opt.tell({"rate": 1.0 + 1e-12}, 1.0)
    assert opt.recommend().params == {"rate": 1.0}
    with pytest.raises(ValueError, match=r"rate must be between .* got 0\.0"):
        opt.tell({"rate": 0.0}, 1.0)
    fitted = GPUCBOptimizer(bounds=[(0.0, 1.0)], random_state=0).fit([[1.0 + 1e-12]], [1.0])
    assert fitted._events[0][1].tolist() == [[1.0]]


@pytest.mark.parametrize("named", [False, True])
def test_the_row_of_a_wrong_value_is_named_and_what_None_means(named):
    table = pd.DataFrame({"T": np.linspace(20.0, 90.0, 200)})
    answers = np.linspace(0.0, 1.0, 200)
    make = lambda: GPUCBOptimizer(bounds={"T": (20, 90)} if named else [(20, 90)])  # noqa: E731
    failed = answers.copy()
    failed[137] = np.nan
    with pytest.raises(ValueError, match=r"row 137 of 200.* got nan: None says that an evaluation"):
        make().tell(table, failed)
    with pytest.raises(ValueError, match="this is row 137, counted from 0"):
        make().fit(table, failed)
    for wrong, words in ((91.0, "row 3 of 200|outside"), (np.nan, "row 3|row is 3")):
        bad = table.copy()
        bad.loc[3, "T"] = wrong
        for call in (make().tell, make().fit):
            with pytest.raises(ValueError, match=words):
                call(bad, answers)


def test_what_stands_behind_the_sides_is_no_side():
    """The number of a function, and the width of a window."""
    box = {"dose": loguniform(1e-2, 1e2)}
    settings = {"queries": Fidelities(2), "cost": [1.0, 0.1], "alpha": 0.1, "random_state": 0}
    named = EIOptimizer(bounds=box, **settings)
    named.tell([1.0, 1], 2.0).tell([[10.0, 0], [100.0, 1]], [1.0, 2.0]).tell([0.1], 3.0)
    told = [event[1] for event in named._events if event[0] == "tell"]
    assert_allclose([query.params["dose"] for query in told], [1.0, 10.0, 100.0, 0.1])
    assert named.history_["task"].tolist() == [1, 0, 1, 0]
    assert_allclose(
        named.predict_query([[1.0, 1], [10.0, 0]]), named.predict_query([told[0], told[1]])
    )
    windows = {"bounds": {"x": (0.0, 1.0)}, "query_bounds": {"place": (0.0, 1.0)}}
    cmets = CMETSOptimizer(**windows, random_state=0)
    query = cmets.ask()
    cmets.tell(query, 1.0)
    assert_allclose(cmets.predict_query([query.a]), cmets.predict_query([query]))
    assert_allclose(cmets.predict_query(query), cmets.predict_query([query]))


# -- queries of another search -------------------------------------------------------------------

SIDES = {"kind": ["a", "b"], "rate": loguniform(1e-3, 1.0)}
#: Boxes on which the coordinates of a query mean other settings.
OTHERS = {
    "order of sides": {"rate": loguniform(1e-3, 1.0), "kind": ["a", "b"]},
    "order of a list": {**SIDES, "kind": ["b", "a"]},
    "range of a distribution": {**SIDES, "rate": loguniform(1e-4, 1.0)},
    "names": {"kind": ["a", "b"], "speed": loguniform(1e-3, 1.0)},
    "no names": [(0, 1), (0, 1)],
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_no_query_of_a_search_with_other_sides_is_taken_by_its_coordinates(cls, other):
    foreign = cls(bounds=other, random_state=0).ask()
    search = cls(bounds=SIDES, random_state=0)
    own = search.ask()
    for attempt in (search.tell, lambda query, value: search.predict_query([query])):
        search.tell(search.ask(), 1.0)
        before = len(search.history_)
        with pytest.raises(ValueError, match="was made for other sides: pass its params"):
            attempt(foreign, 1.0)
        assert len(search.history_) == before
    with pytest.raises(ValueError, match="was made for other sides"):
        cls(bounds=other, random_state=0).tell(own, 1.0)


@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer])
@pytest.mark.parametrize("kind", [["a", None], [float("nan"), 1.0], [np.zeros(2), np.ones(2)]])
def test_queries_that_return_from_another_process_are_taken(cls, kind):
    search = cls(bounds={**SIDES, "kind": kind}, random_state=0)
    query = pickle.loads(pickle.dumps(search.ask()))
    search.tell(query, 1.0)
    assert search.pending_ == []
    assert search.predict_query([pickle.loads(pickle.dumps(query))]).shape == (1,)


def test_what_is_known_of_a_query_of_another_kind_is_that_of_its_points():
    cell = GPOOOptimizer(bounds=[(0, 1)], random_state=0).ask()
    search = GPUCBOptimizer(bounds=[(0, 1)], random_state=0).tell(X[:, :1], Y)
    assert_array_equal(search.predict_query([cell]), search.predict_query([cell.points]))
    tree = GPOOOptimizer(bounds=[(0, 1)], random_state=0).tell(X[:, :1], Y)
    arm = search.ask()
    assert_array_equal(tree.predict_query([arm]), tree.predict_query([arm.points]))


@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer, CMESOptimizer])
@pytest.mark.parametrize("values", [list("abcdefg"), np.full(7, "2026-01-01", "datetime64[D]")])
def test_what_is_no_number_is_no_evaluation(cls, values):
    search = made(cls).tell(X, Y)
    with pytest.raises(TypeError, match="y must be real numbers, got"):
        search.fit(X, values)
    assert len(search.history_) == len(Y)


def test_columns_of_one_name_are_refused():
    table = pd.DataFrame([[0.1, 0.2, 0.3]], columns=["x", "y", "x"])
    with pytest.raises(ValueError, match=r"columns must have different names, got \['x', 'y', 'x'"):
        made(GPUCBOptimizer, ["x", "y"]).tell(table, [1.0])


def test_a_recommendation_is_no_query_where_queries_have_sides_of_their_own():
    search = CMESOptimizer(
        bounds={"x": (0, 1)}, query_bounds={"dose": (0, 1)}, conditional=WindowMean(scale=0.1)
    )
    search.tell(X[:, :1], Y)
    best = search.recommend()
    for attempt in (lambda: search.tell(best, 1.0), lambda: search.predict_query([best])):
        with pytest.raises(ValueError, match="was made for other sides"):
            attempt()
    search = CMESOptimizer(bounds={"x": (0, 1)}, conditional=WindowMean(scale=0.1))
    search.tell(X[:, :1], Y)
    best = search.recommend()
    assert_array_equal(search.predict_query([best]), search.predict_query(best.points))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [GPUCBOptimizer, GPOOOptimizer])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("failed", [{8}, {2, 4}, {9, 11, 12}])
def test_a_penalty_in_the_place_of_a_failure_is_said_once(cls, direction, failed):
    sign = 1.0 if direction == "maximize" else -1.0
    optimizer = cls(bounds=[(0, 1)] * 2, random_state=0, direction=direction)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(14):
            query = optimizer.ask()
            answer = -1e6 if i in failed else -((query.points - 0.3) ** 2).sum(axis=1).mean()
            optimizer.tell(query, sign * float(answer))
    messages = [str(each.message) for each in said if "penalty" in str(each.message)]
    assert len(messages) == 1
    assert f"the answer {sign * -1e6:g} is" in messages[0] and "tell None" in messages[0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_honest_answers_are_no_penalties(seed):
    """Not even those of a steep valley, or of a search that has converged."""
    for f in (lambda x: -np.exp(8 * x), lambda x: -((x - 0.3) ** 2), lambda x: 1.0 * (x > 0.6)):
        optimizer = GPUCBOptimizer(bounds=[(0, 1)], random_state=seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(20):
                query = optimizer.ask()
                optimizer.tell(query, float(f(query.points[0, 0])))
        assert not [each for each in said if "penalty" in str(each.message)]


def test_queries_and_rows_may_stand_in_one_list():
    search = GPUCBOptimizer(bounds=[(0.0, 1.0)] * 2, random_state=0).fit(X, Y)
    query, row = search.ask(), [0.25, 0.75]
    one, other = search.predict_query([query]), search.predict_query([row])
    assert_allclose(search.predict_query([query, row]), [*one, *other])
    assert_allclose(search.predict_query((row, query, row)), [*other, *one, *other])


def test_answers_of_campaigns_are_rows_for_all_of_them_or_numbers_for_all():
    names = ["north", "south"]
    rows = values_in_order({"south": [3.0, 4.0], "north": [1.0, 2.0]}, names, "reward")
    assert rows == [[1.0, 3.0], [2.0, 4.0]]
    assert values_in_order({"south": 3.0, "north": 1.0}, names, "reward") == [1.0, 3.0]
    for mixed in ({"south": 3.0, "north": [1.0, 2.0]}, {"south": [3.0], "north": [1.0, 2.0]}):
        with pytest.raises((TypeError, ValueError), match="one number for each of"):
            values_in_order(mixed, names, "reward")

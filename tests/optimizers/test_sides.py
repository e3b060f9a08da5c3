"""Boxes whose sides have names: units and kinds of the user, inside and out."""

from __future__ import annotations

import copy
import pickle
import warnings

import cases
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform, randint
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IndirectEIOptimizer,
    StoOOOptimizer,
)
from skgpb.domains.space import ParameterSpace
from skgpb.exceptions import RefinementWarning
from skgpb.kernels import CellAverage, WindowMean
from skgpb.optimizers import Search, _places
from skgpb.optimizers._places import place_best_cell
from skgpb.plotting import PosteriorDisplay, RegretDisplay

SIDES = {
    "temperature": (20, 90),
    "salt": loguniform(1e-4, 1e-1),
    "cycles": range(1, 9),
    "catalyst": ["A", "B", "C"],
}
NUMBERS = {"temperature": (20, 90), "salt": loguniform(1e-4, 1e-1)}
ARMS = [cls for cls in cases.OPTIMIZERS if issubclass(cls, Search)]
SETTING = {"temperature": 30, "salt": 1e-3, "cycles": 3, "catalyst": "B"}


def yield_of(params):
    """Largest at 60 degrees, a hundredth of salt, 5 cycles and catalyst B."""
    value = -(((params["temperature"] - 60) / 35) ** 2) - ((np.log10(params["salt"]) + 2) / 2) ** 2
    value -= ((params.get("cycles", 5) - 5) / 4) ** 2
    return float(value + 0.5 * (params.get("catalyst", "B") == "B"))


def answer(query):
    return float(np.mean([yield_of(setting) for setting in query.settings]))


def made(cls=GPUCBOptimizer, **settings):
    return cls(**{"bounds": SIDES, "random_state": 0} | settings)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", ARMS)
def test_every_rule_over_arms_searches_sides_of_every_kind(cls, tmp_path):
    optimizer = made(cls, n_candidates=60)
    queries = cases.play(optimizer, 9, answer)
    for query in queries:
        kinds = [type(value) for value in query.params.values()]
        assert kinds == [float, float, int, str]
        assert 20 <= query.params["temperature"] <= 90 and query.params["cycles"] in range(1, 9)
        assert query.settings == [query.params]
        assert "salt=" in repr(query) and "cycles=" in repr(query)
    assert clone(optimizer).bounds == SIDES or clone(optimizer).bounds.keys() == SIDES.keys()
    optimizer.save(tmp_path / "run")
    loaded = cls.load(tmp_path / "run")
    assert [query.params for query in loaded.ask(2)] == [q.params for q in optimizer.ask(2)]
    assert loaded.recommend().params == optimizer.recommend().params
    found = optimizer.run(answer, 3)
    assert found.x.params.keys() == SIDES.keys()
    assert_allclose(found.fun, optimizer.predict(found.x.params)[0])


def test_the_best_setting_is_found():
    result = made(beta=4.0, n_candidates=200).run(answer, 40)
    assert yield_of(result.x.params) > 0.4
    assert result.x.params["catalyst"] == "B"


def test_settings_are_told_and_predicted_by_name():
    optimizer = made()
    optimizer.tell(SETTING, 0.25, alpha=1e-8).tell([SETTING | {"cycles": 5}], [0.5])
    assert_allclose(optimizer.predict(SETTING), 0.25, atol=0.01)
    table = pd.DataFrame([SETTING, SETTING | {"cycles": 5}])[list(SIDES)[::-1]]
    both = optimizer.predict(table, return_std=True)
    assert_array_equal(both, optimizer.predict([SETTING, SETTING | {"cycles": 5}], return_std=True))
    assert_array_equal(both, optimizer.predict_query(table, return_std=True))
    assert optimizer.sample_y(table, 2).shape == (2, 2)
    fitted = made(n_candidates=50).fit(table, [0.25, 0.5])
    assert fitted.run_.space.names == list(SIDES) and len(fitted.bounds_) == 4
    assert fitted.predict(SETTING) < fitted.predict(SETTING | {"cycles": 5})


def test_a_pending_query_is_told_by_what_was_asked():
    optimizer = made()
    batch = optimizer.ask(3)
    # Values that went through a text have lost their last digits, and integers their kind.
    rounded = {k: float(f"{v:.12g}") if k in NUMBERS else v for k, v in batch[1].params.items()}
    optimizer.tell(batch[0].params, 0.1).tell(rounded | {"cycles": np.int64(rounded["cycles"])}, 0)
    assert optimizer.ask(3)[0] not in batch[:2]
    assert_array_equal(optimizer.history_["descriptor"][:, :4], [b.points[0] for b in batch[:2]])
    assert list(optimizer.run_.pending) == [batch[2], *optimizer.ask(3)]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"temperature": 30}, r"missing \['catalyst', 'cycles', 'salt'\]"),
        (SETTING | {"stirring": 1}, r"unknown \['stirring'\]"),
        (SETTING | {"temperature": 91}, "temperature must be between 20.0 and 90.0, got 91"),
        (SETTING | {"temperature": "30"}, "temperature must be a number, got '30'"),
        (SETTING | {"temperature": np.nan}, "temperature must be between"),
        (SETTING | {"salt": 1.0}, "salt must be between 0.0001 and 0.1, got 1.0"),
        (SETTING | {"cycles": 2.5}, "cycles must be one of"),
        (SETTING | {"catalyst": "D"}, r"catalyst must be one of \['A', 'B', 'C'\], got 'D'"),
        ({}, "missing"),
    ],
)
def test_wrong_settings_change_nothing(wrong, words):
    optimizer = made()
    cases.play(optimizer, 3, answer)
    before = pickle.dumps((optimizer.history_, optimizer.run_.pending))
    for call in (optimizer.tell, lambda *a: optimizer.tell([SETTING, a[0]], [1.0, 2.0])):
        with pytest.raises(ValueError, match=words):
            call(wrong, 1.0)
    for call in (optimizer.predict, optimizer.predict_query):
        with pytest.raises(ValueError, match=words):
            call(wrong)
    assert pickle.dumps((optimizer.history_, optimizer.run_.pending)) == before


def test_a_batch_has_no_setting_twice_and_ends_with_the_settings():
    optimizer = made(bounds={"n": [1, 2], "kind": ["a", "b", "c"]})
    batch = optimizer.ask(6)
    assert len({tuple(query.params.items()) for query in batch}) == 6
    with pytest.raises(ValueError, match="all 6 arms are pending"):
        optimizer.ask(7)
    many = made(bounds={"n": range(100), "kind": ["a", "b"], "k": range(9)}, n_candidates=80)
    batch = many.ask(60)
    assert len({tuple(query.params.items()) for query in batch}) == 60


def test_what_is_believed_depends_on_the_setting_alone():
    optimizer = made()
    cases.play(optimizer, 6, answer)
    point = optimizer.run_.space.points(SETTING)
    beside = point + np.array([0, 0, 0.05, -0.15])
    assert_array_equal(optimizer.predict(point), optimizer.predict(beside))
    assert_array_equal(optimizer.predict(point), optimizer.predict(SETTING))


def test_a_kernel_that_is_given_sees_the_columns_of_settings():
    kernel = RBF([30.0, 0.3, 0.5, 1.0, 1.0, 1.0])
    optimizer = made(kernel=kernel, alpha=1e-2)
    optimizer.tell(SETTING, 1.0)
    other = SETTING | {"temperature": 60, "catalyst": "A"}
    # Ten degrees are a third of a length scale; any two categories are at distance 1.
    expected = np.exp(-0.5 * (1.0**2 + 1.0)) / 1.01
    assert_allclose(optimizer.predict(other), expected)
    with pytest.raises(ValueError, match="over boxes"):
        made(kernel=CellAverage(RBF(1.0), 2)).ask()


# Regions -----------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (GPOOOptimizer, {"feedback": "average", "n_representatives": 2}),
        (GPOOOptimizer, {"feedback": "center"}),
        (GPTreeOptimizer, {"feedback": "average", "n_representatives": 2}),
        (GPZoomingOptimizer, {"feedback": "average", "n_representatives": 2}),
        (GPZoomingOptimizer, {}),
        (StoOOOptimizer, {"feedback": "average", "n_representatives": 2}),
    ],
)
def test_regions_have_ranges_and_points_have_values(cls, settings):
    optimizer = made(cls, bounds=NUMBERS, **settings)
    for query in cases.play(optimizer, 8, answer):
        if "n_representatives" not in settings:
            assert query.params == query.settings[0] and len(query.settings) == 1
            continue
        (low, high), (least, most) = query.params["temperature"], query.params["salt"]
        assert (low, high) == (query.lower[0], query.upper[0])
        assert 1e-4 <= least < most <= 0.1 * (1 + 1e-12)
        assert len(query.settings) == 4
        for setting in query.settings:
            assert low < setting["temperature"] < high and least < setting["salt"] < most
    assert "salt=" in repr(optimizer.recommend())
    optimizer.tell(optimizer.ask().params, 0.1)
    assert not optimizer.run_.pending
    assert np.isfinite(optimizer.predict({"temperature": 30, "salt": 1e-3})[0])


def test_cells_of_integers_are_ranges_of_them():
    sides = {"temperature": (20, 90), "cycles": randint(1, 9), "wells": [6, 12, 24]}
    optimizer = made(StoOOOptimizer, bounds=sides, feedback="average", n_representatives=3)
    assert optimizer.ask().params == {
        "temperature": (20, 90),
        "cycles": range(1, 9),
        "wells": [6, 12, 24],
    }
    for query in cases.play(optimizer, 40, lambda query: query.settings[0]["cycles"] / 9):
        cycles, wells = query.params["cycles"], query.params["wells"]
        assert type(cycles) is range and set(wells) <= {6, 12, 24}
        assert {s["cycles"] for s in query.settings} <= set(cycles)
        assert {s["wells"] for s in query.settings} <= set(wells)
    assert 8 in optimizer.recommend().params["cycles"]


@pytest.mark.parametrize("cls", [CMESOptimizer, CMETSOptimizer])
def test_what_is_asked_indirectly_has_numbers(cls):
    optimizer = made(cls, bounds={"temperature": (20, 90), "cycles": randint(1, 9)})
    with pytest.raises(ValueError, match=r"cycles.*GPUCBOptimizer"):
        optimizer.start()
    assert not hasattr(optimizer, "bounds_") and not hasattr(optimizer, "run_")


def test_contexts_have_names_as_well():
    optimizer = made(
        ContextualGPTreeOptimizer,
        context_bounds={"hour": (0, 24)},
        bounds={"rate": loguniform(1, 100)},
    )
    contexts = pd.DataFrame({"hour": [3.0, 12.0, 20.0]})
    optimizer.run(lambda query: -abs(np.log(query.params["rate"]) - 2), contexts=contexts)
    query = optimizer.ask(context={"hour": 12})
    assert query.params["hour"] == 12.0 and 1 <= query.params["rate"] <= 100
    assert optimizer.ask(context=[12.0]) == query
    assert optimizer.recommend(context={"hour": 5}).params["hour"] == 5
    assert np.isfinite(optimizer.predict({"hour": 3, "rate": 10})[0])
    with pytest.raises(ValueError, match="unknown"):
        optimizer.ask(context={"day": 3})
    wrong = ({"hour": (0, 1)}, "different names"), ([(0, 1)], "both context_bounds and bounds")
    for contexts, words in wrong:
        other = clone(optimizer).set_params(bounds={"hour": (0, 24)}, context_bounds=contexts)
        with pytest.raises(ValueError, match=words):
            other.start()


# Forms of a box ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "error", "words"),
    [
        ({}, ValueError, "must leave something to choose"),
        ({"a": [3]}, ValueError, "must leave something to choose"),
        ({"a": (1, 0)}, ValueError, r"bounds\['a'\] must satisfy lower < upper"),
        ({"a": (0, 1, 2)}, ValueError, r"bounds\['a'\]"),
        ({"a": (0, np.inf)}, ValueError, r"bounds\['a'\]"),
        ({"a": []}, ValueError, r"bounds\['a'\] is an empty list"),
        ({"a": 3}, TypeError, r"bounds\['a'\] must be a pair of numbers \(lower, upper\)"),
        ({"a": (1, 8, "int")}, ValueError, r"range\(1, 9\) for the integers .* \(1, 8, 'int'\)"),
        (
            [(0, 1), (1, 8, "int")],
            ValueError,
            r"'int'\) in dimension 1\. Integers, .*: a dict",
        ),
        ({1: (0, 1)}, TypeError, "names of sides"),
    ],
)
def test_what_is_no_box_is_refused(bounds, error, words):
    with pytest.raises(error, match=words):
        made(bounds=bounds).ask()


def test_values_without_the_names_of_their_sides_are_refused():
    optimizer = made(bounds={"x": (0, 1), "solvent": ["water", "oil"]})
    optimizer.tell({"x": 0.5, "solvent": "oil"}, 1.0)
    words = (
        r"given by name, .* columns \['x', 'solvent'\], .*'solvent' is no number; got \[+0\.5, '"
    )
    with pytest.raises(ValueError, match=words):
        optimizer.tell([0.5, "oil"], 1.0)
    with pytest.raises(ValueError, match=words):
        optimizer.predict([[0.5, "oil"]])
    with pytest.raises(ValueError, match=words):
        optimizer.tell([[0.5, "oil"], [0.6, "oil"]], [1.0, 2.0])
    assert len(optimizer.history_) == 1


def test_a_side_with_one_value_is_a_constant():
    optimizer = made(bounds={"x": (0, 1), "solvent": ["water"]})
    assert optimizer.ask().params["solvent"] == "water"
    assert optimizer.n_features_in_ == 1
    with pytest.raises(ValueError, match="solvent must be 'water', got 'oil'"):
        optimizer.tell({"x": 0.5, "solvent": "oil"}, 1.0)
    assert copy.deepcopy(optimizer.ask()).params == optimizer.ask().params


def test_queries_of_boxes_without_names_number_their_sides():
    query = GPUCBOptimizer(bounds=[(0, 1)] * 2, random_state=0).ask()
    x0, x1 = query.points[0].tolist()
    assert query.params == {"x0": x0, "x1": x1} == query.settings[0]
    assert repr(query) == f"Arm(x0={x0:.6g}, x1={x1:.6g})"
    with pytest.raises(ValueError, match="query must be"):
        GPUCBOptimizer(bounds=[(0, 1)]).tell({"x": 0.5}, 1.0)


# Indirect queries --------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectEIOptimizer, CMETSOptimizer])
def test_both_boxes_of_indirect_queries_have_names(cls, tmp_path):
    settings = {"alpha": 1e-4, "n_points": 200, "random_state": 0}
    if cls is CMETSOptimizer:
        settings["max_depth"] = 4
    else:
        settings["conditional"] = WindowMean(scale=0.05, location=np.asarray)
        settings["n_candidates"] = 30
    sides = {"dose": loguniform(1, 100)}
    x = {"effect": (0, 1)} if cls is not CMETSOptimizer else None
    named = cls(bounds=x, query_bounds=sides, **settings)
    plain = cls(bounds=None if x is None else [(0, 1)], query_bounds=[(0, 1)], **settings)
    for i in range(5):
        query, same = named.ask(), plain.ask()
        assert query == same
        dose = query.params["dose"]
        if cls is CMETSOptimizer:
            assert 1 <= dose[0] < dose[1] <= 100.0000001 and "dose=(" in repr(query)
        else:
            assert_allclose(dose, 100 ** query.a[0])
        reward = float(np.exp(-(((query.a[0] - 0.6) / 0.2) ** 2)))
        named.tell(query.params if i % 2 else query, reward)
        plain.tell(same, reward)
    with pytest.raises(ValueError, match=r"missing \['dose'\]"):
        named.tell({"dosis": 3.0}, 1.0)
    best = named.recommend()
    assert_array_equal(best.points[0], plain.recommend())
    assert list(best.params) == list(x or sides)
    assert_array_equal(named.predict([best.params]), plain.predict([plain.recommend()]))
    if cls is not CMETSOptimizer:
        assert_allclose(named.predict_query([{"dose": 10.0}]), plain.predict_query([[0.5]]))
        omit = {"conditional": settings["conditional"]}
    else:
        omit = {}
    named.save(tmp_path / "run", omit=list(omit))
    loaded = cls.load(tmp_path / "run", **omit)
    assert loaded.ask().params == named.ask().params
    assert loaded.recommend().params == best.params
    found = named.run(lambda query: float(query.a[0]), 1)
    assert_allclose(found.fun, named.predict(found.x.params)[0])
    assert PosteriorDisplay.from_optimizer(named).ax_.get_xlabel() == next(iter(x or sides))
    RegretDisplay.from_optimizer(named)


def test_pairs_have_the_names_of_both_boxes():
    rng = np.random.default_rng(0)
    rate = rng.uniform(1, 10, size=40)
    X = pd.DataFrame({"yield": np.clip(rate / 10 + 0.03 * rng.normal(size=40), 0, 1)})
    optimizer = CMESOptimizer(
        bounds={"yield": (0, 1)}, query_bounds={"rate": (1, 10)}, alpha=1e-4, n_candidates=20,
        n_points=50, random_state=0,
    ).fit(X, queries=pd.DataFrame({"rate": rate}))  # fmt: skip
    assert list(optimizer.ask().params) == ["rate"]
    with pytest.raises(ValueError, match="unknown"):
        optimizer.fit(X, queries=pd.DataFrame({"speed": rate}))


def test_what_is_averaged_are_numbers():
    with pytest.raises(ValueError, match=r"query_bounds\['kind'\].*GPUCBOptimizer"):
        CMESOptimizer(bounds=[(0, 1)], query_bounds={"kind": ["a", "b"]}).start()
    with pytest.raises(ValueError, match=r"bounds\['kind'\].*GPUCBOptimizer"):
        CMESOptimizer(bounds={"kind": ["a", "b"]}).start()


# A cell of a size that the user names ------------------------------------------------------------


def bump(points):
    """A bump whose cells of side 0.25 are best around (0.37, 0.61)."""
    return float(np.exp(-((points - [0.37, 0.61]) ** 2).sum(axis=1) / 0.02).mean())


@pytest.mark.slow
@pytest.mark.parametrize("cls", [GPOOOptimizer, GPZoomingOptimizer, GPUCBOptimizer])
def test_the_best_cell_of_a_size_lies_anywhere(cls):
    settings = {"max_depth": 4} if cls is GPOOOptimizer else {}
    settings |= {"kernel": RBF(0.15), "alpha": 1e-4}
    optimizer = made(cls, bounds=[(0, 1), (0, 1)], **settings)
    optimizer.run(lambda query: bump(query.points), 40)
    before = pickle.dumps(optimizer.history_), optimizer.ask()
    region = optimizer.recommend(side=0.25)
    assert_allclose(region.upper - region.lower, 0.25)
    # A quarter of a side of a grid of such cells, which may miss by half a side.
    assert_allclose(region.center, [0.37, 0.61], atol=0.06)
    assert len(region.points) == 100 and region == optimizer.recommend(side=[0.25, 0.25])
    grid = np.stack(np.meshgrid(*[np.linspace(0.125, 0.875, 4)] * 2), axis=-1).reshape(-1, 1, 2)
    cells = [center + region.points - region.center for center in grid]
    assert optimizer.predict_query([region])[0] >= optimizer.predict_query(cells).max()
    strip = optimizer.recommend(side=[1, 0.25])
    assert (strip.lower[0], strip.upper[0]) == (0, 1)
    assert (pickle.dumps(optimizer.history_), optimizer.ask()) == before
    assert pickle.loads(pickle.dumps(region)) == region
    for wrong in (0, -1, 1.5, [0.1] * 3, np.nan, "wide", {"x": 0.1}):
        with pytest.raises(ValueError, match="side must"):
            optimizer.recommend(side=wrong)
    with pytest.raises(ValueError, match="side needs method='posterior'"):
        optimizer.recommend("paper", side=0.25)


def test_sides_of_a_cell_have_names_and_losses_are_small():
    sides = {"x": (0, 10), "s": (0, 1)}
    optimizer = made(GPOOOptimizer, bounds=sides, direction="minimize", max_depth=8)
    optimizer.run(lambda query: float(((query.points - [4, 0.7]) ** 2).sum(axis=1).mean()), 30)
    region = optimizer.recommend(side={"x": 2, "s": 0.5})
    low, high = region.params["x"]
    assert_allclose((high - low, 0.5 * (low + high)), (2, 4), atol=0.3)
    assert repr(region).startswith("Region(x=(")
    with pytest.raises(ValueError, match="side must have a number for each of"):
        optimizer.recommend(side={"x": 2})
    pool = GPOOOptimizer(pool=[[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="cells of a box"):
        pool.tell(pool.ask(), 1.0).recommend(side=0.1)


def test_a_grid_that_is_worse_than_a_cell_beside_it_is_told():
    def run(max_depth, center):
        optimizer = made(GPOOOptimizer, bounds=[(0, 1)], max_depth=max_depth)
        for _ in range(25):
            query = optimizer.ask()
            reward = float(np.exp(-(((query.points - center) / 0.1) ** 2)).mean())
            optimizer.tell(query, reward)
        return optimizer

    between = run(2, 0.5)
    before = pickle.dumps(between.history_), between.ask()
    with pytest.warns(RefinementWarning, match=r"max_depth=2.*recommend\(side=") as caught:
        between.recommend()
    assert caught[0].filename == __file__
    assert (pickle.dumps(between.history_), between.ask()) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(2, 0.5625).recommend()  # in the middle of a cell
        run(None, 0.5).recommend()
        between.recommend(side=0.125)
        between.recommend("paper")


def test_the_side_of_a_region_has_names_only_where_sides_have():
    search = GPOOOptimizer(bounds=[(0, 1)]).tell([[0.5]], [1.0])
    with pytest.raises(ValueError, match="side must be a number or several"):
        search.recommend(side={"x": 0.1})


def test_no_region_is_longer_than_the_box_wherever_that_is():
    search = GPOOOptimizer(bounds=[(5, 6), (-9, -7)]).tell([[5.5, -8]], [1.0])
    assert search.recommend(side=[1, 2]).lower.tolist() == [5.0, -9.0]
    for side in ([1.5, 1], [1, 2.5], 1.5):
        with pytest.raises(ValueError, match=r"no longer than the box.* \[1.0, 2.0\], got"):
            search.recommend(side=side)


@pytest.mark.parametrize("d", [1, 2])
def test_the_best_place_of_a_cell_is_found_wherever_it_is(d):
    bounds, sides = np.array([[-2.0, 1.0], [3.0, 3.5]])[:d], np.array([0.3, 0.1])[:d]
    extent, nothing = bounds[:, 1] - bounds[:, 0], np.empty((0, d))

    def best(at, width, seen=nothing, sides=sides):
        peak = bounds[:, 0] + np.array(at[:d]) * extent

        def worth(cells):
            away = [(cell.mean(axis=0) - peak) / (width * extent) for cell in cells]
            return np.exp(-np.sum(np.square(away), axis=1))

        found = place_best_cell(worth, seen, bounds, sides)
        assert_allclose(found.upper - found.lower, sides)
        return (found.center - bounds[:, 0]) / extent, peak

    inside, (low, high) = (
        [0.37, 0.71],
        0.5 * sides / extent * np.array([[1.0], [-1.0]]) + [[0], [1]],
    )
    assert_allclose(best(inside, 0.3)[0], inside[:d], atol=1e-4)
    assert_allclose(best([-0.2, 1.3], 0.5)[0], [low[0], high[-1]][:d], atol=1e-12)
    # A peak that no place on a grid meets, beside a point that was seen.
    _, peak = best(inside, 1e-4)
    beside, _ = best(inside, 1e-4, np.array([peak + 1e-4 * extent]))
    assert_allclose(beside, inside[:d], atol=1e-5)
    whole = np.where(np.arange(d) == 0, extent, sides)
    assert_allclose(best(inside, 0.3, sides=whole)[0], [0.5, 0.71][:d], atol=1e-4)


def test_an_offset_of_all_averages_does_not_move_the_best_cell(monkeypatch):
    """Averages that differ by less than a billionth of the offset are no ties."""
    bounds, sides, peak, searches = np.array([[0.0, 1.0]] * 2), np.full(2, 0.2), [0.42, 0.68], []

    def search(function, starts, room, unit):
        searches.append((starts[0], unit))
        return starts[0], -np.inf

    monkeypatch.setattr(_places, "maximise_in_box", search)
    lowers = []
    for offset in (0.0, 1e6, -1e6):

        def worth(cells, offset=offset):
            away = np.array([cell.mean(axis=0) - peak for cell in cells])
            return offset + 1e-3 * np.exp(-np.sum(away**2, axis=1))

        lowers.append(place_best_cell(worth, np.empty((0, 2)), bounds, sides).lower)
    assert_allclose(lowers[1:], [lowers[0]] * 2)
    assert np.abs(lowers[0] + 0.1 - peak).max() < 0.2
    for start, unit in searches:  # which begin at the best place known
        assert_allclose(start, lowers[0])
        assert unit == pytest.approx(searches[0][1], rel=1e-3)


def test_the_best_runs_of_many_values_are_found_with_the_best_place_beside_them():
    """Of 68 times 56 runs a part is compared first, then those beside the best, and those seen."""
    space = ParameterSpace.from_bounds({"n": range(70), "m": range(60), "x": (0.0, 5.0)}, "bounds")
    seen = [space.point({"n": n, "m": m, "x": x}) for n, m, x in ((3, 5, 0.2), (61, 50, 4.2))]

    def best(n, m, x, width, seen):
        peak, extent = space.point({"n": n, "m": m, "x": x}), np.ptp(space.bounds, axis=1)

        def worth(cells):
            away = [(cell.mean(axis=0) - peak) / (width * extent) for cell in cells]
            return np.exp(-np.sum(np.square(away), axis=1)) - 10.0

        sides = np.array([3.0, 5.0, 0.5])
        found = place_best_cell(worth, np.array(seen), space.bounds, sides, space).params
        return found["n"][1], found["m"][2], np.mean(found["x"])

    assert best(37, 12, 2.15, 0.4, seen[:1]) == pytest.approx((37, 12, 2.15), abs=1e-4)
    assert best(68, 58, 4.9, 0.4, seen[:1]) == pytest.approx((68, 57, 4.75), abs=1e-4)
    assert best(61, 50, 4.2, 0.01, seen) == pytest.approx((61, 50, 4.2), abs=1e-4)


def test_a_region_may_be_chosen_with_caution():
    search = GPOOOptimizer(RBF(0.1), bounds=[(0, 1)])
    for x, y, noise in ((0.15, 1.0, 1e-4), (0.2, 1.0, 1e-4), (0.25, 1.0, 1e-4), (0.8, 1.5, 0.25)):
        search.tell([x], y, noise)
    for caution, center in ((0.0, 0.8), (2.0, 0.2)):
        region = search.recommend(side=0.1, caution=caution)
        assert abs(region.center[0] - center) < 0.06
        places = [region.points - region.lower + start for start in np.linspace(0, 0.9, 91)]
        mean, std = search.predict_query([*places, region], return_std=True)
        values = mean - caution * std
        assert values[-1] > values.max() - 1e-5


@pytest.mark.parametrize("at_a_time", [1, 3, 100])
def test_averages_over_cells_do_not_depend_on_how_many_points_are_read_at_a_time(
    monkeypatch, at_a_time
):
    monkeypatch.setattr(_places, "POINTS_AT_A_TIME", at_a_time)
    rng = np.random.default_rng(0)
    points, asked = rng.random((9, 2)), []
    cells = [points[rng.choice(9, n, replace=False)] for n in (4, 1, 6, 2)]

    def values(some):
        asked.extend(map(tuple, some))
        return some @ [1.0, 10.0]

    expected = [np.mean(cell @ [1.0, 10.0]) for cell in cells]
    assert_allclose(_places.averages(values, cells), expected)
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    "bounds", [[(0.0, 1.0), (2.0, 6.0)], {"x": (0.0, 1.0), "n": range(8), "y": (0.0, 2.0)}]
)
def test_a_region_was_observed_at_its_middle(bounds):
    search = GPOOOptimizer(bounds=bounds, random_state=0)
    asked = search.ask(3)
    search.tell(asked, [1.0, 0.0, 2.0])
    assert_allclose(search._observed_points(), [0.5 * (q.lower + q.upper) for q in asked])

"""Points of the cube stand for settings, and kernels see settings only."""

from __future__ import annotations

import copy
import itertools
import pickle
import tracemalloc
from functools import partial
from operator import itemgetter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.stats import binom, loguniform, norm, poisson, randint, uniform
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.linear_model import Ridge

from skgpb import GPOOOptimizer, GPUCBOptimizer, defaults
from skgpb.domains import Box, Steps, log_randint
from skgpb.domains.space import (
    Choice,
    IntegerQuantile,
    ParameterSpace,
    Quantile,
    SeparateAxis,
    Span,
    as_coordinates,
    clip_rounding,
    nearest,
)
from skgpb.exceptions import AllPendingError
from skgpb.model_selection import BanditSearchCV
from skgpb.surrogate.settings import AxisMatern, OnSettings, default_kernel, kernel_on_settings

MIXED = [
    {"kind": ["a"], "x": uniform(0, 1), "n": randint(2, 6)},
    {"kind": ["b", "c", "d"], "x": uniform(0, 1), "width": [8, 2, 4], "flag": [True, False]},
]
RNG = np.random.default_rng(0)


def values(space, name, n=400):
    """Values of a parameter over an even grid of a space of one axis."""
    return [space.setting(np.array([u]))[name] for u in (np.arange(n) + 0.5) / n]


@pytest.mark.parametrize(
    ("distribution", "low", "high"),
    [(uniform(-2, 5), -2, 3), (loguniform(1e-4, 1e2), 1e-4, 1e2), (norm(1, 2), -6, 8)],
    ids=["uniform", "loguniform", "norm"],
)
def test_distributions_are_even_on_their_own_scale(distribution, low, high):
    space = ParameterSpace({"p": distribution})
    found = values(space, "p")
    assert all(type(value) is float for value in found)
    assert low <= min(found) and max(found) <= high
    assert_allclose(distribution.cdf(found), (np.arange(400) + 0.5) / 400, atol=1e-3)
    ends = [space.setting(np.array([u]))["p"] for u in (0.0, 1.0)]
    assert np.isfinite(ends).all()
    assert space.n_settings == np.inf


def test_values_may_be_sequences_of_any_lengths():
    for several in ([[1, 2], None], [np.zeros(2), np.ones((3, 2))], ["a", (1, (2, 3))]):
        assert {id(value) for value in values(ParameterSpace({"p": several}), "p")} == {
            id(value) for value in several
        }


LONG = [range(10**12), range(10**12, 0, -3), range(10**18, 10**18 + 10**9), range(-(2**49), 2**49)]


@pytest.mark.parametrize("side", LONG)
def test_long_ranges_are_searched_without_a_list_of_their_values(side):
    tracemalloc.start()
    try:
        space = ParameterSpace.from_bounds({"n": side, "x": (0.0, 1.0)})
        opt = GPUCBOptimizer(bounds={"n": side}, random_state=0)
        for _ in range(4):
            asked = opt.ask()
            opt.tell(asked, 0.5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**24
    assert asked.params["n"] in side
    axis = space.axes[0][1]
    for value in (*side[:3], *side[-3:], side[len(side) // 3]):
        for same in (value, np.int64(value)):
            assert space.setting(space.point({"n": same, "x": 0.5}))["n"] == value
        number = axis.run(axis.coordinate(value), axis.coordinate(value))[0]
        assert axis.run(axis.edge(number), axis.edge(number + 1)) == (number, number)
    for wrong in (min(side[0], side[-1]) - 1, max(side[0], side[-1]) + 1, 0.5, np.inf, "1", None):
        with pytest.raises(ValueError, match=r"n must be one of range\("):
            space.point({"n": wrong, "x": 0.5})


def test_a_cell_over_a_long_range_has_a_range_of_values():
    side = range(10**12)
    opt = GPOOOptimizer(bounds={"n": side}, random_state=0)
    for _ in range(8):
        opt.tell(cell := opt.ask(), -abs(cell.params["n"][0] / 10**12 - 0.3))
    cells = sorted((opt.domain_.cell_at(3, i).params["n"] for i in range(8)), key=itemgetter(0))
    assert all(isinstance(cell, range) for cell in cells)
    assert cells[0][0] == 0 and cells[-1][-1] == side[-1]
    assert all(b[0] == a[-1] + 1 for a, b in itertools.pairwise(cells))


@pytest.mark.parametrize("side", [range(2**50 + 1), range(10**30)])
def test_ranges_of_more_values_than_coordinates_are_refused(side):
    with pytest.raises(ValueError, match=r"bounds\['n'\] has more than .* pass the pair"):
        GPUCBOptimizer(bounds={"n": side}).ask()


@pytest.mark.parametrize("distribution", [randint(-1, 4), poisson(2)], ids=["randint", "poisson"])
def test_integers_have_their_probabilities(distribution):
    space = ParameterSpace({"p": distribution})
    found = np.array(values(space, "p", 2000))
    assert type(space.setting(np.array([0.0]))["p"]) is int
    for value in np.unique(found)[:5]:
        assert_allclose((found == value).mean(), distribution.pmf(value), atol=3e-3)
    # All points of one integer have one column, larger ones have larger columns.
    u = (np.arange(2000) + 0.5) / 2000
    columns = space.columns(u[:, None])[:, 0]
    assert len(np.unique(columns)) == len(np.unique(found))
    assert_array_equal(np.argsort(columns, kind="stable"), np.argsort(found, kind="stable"))


def test_lists_of_numbers_are_ordered_and_others_are_not():
    space = ParameterSpace({"p": [100, 1, 10]})
    assert values(space, "p", 3) == [1, 10, 100]
    assert_allclose(space.columns(np.array([[0.1], [0.5], [0.9]]))[:, 0], [0, 0.5, 1])
    for categories in (["u", "v", "w"], [None, 1, 2], [True, False], np.array(["a", "b"])):
        space = ParameterSpace({"p": categories})
        n = len(categories)
        assert values(space, "p", n) == list(categories)
        columns = space.columns(((np.arange(n) + 0.5) / n)[:, None])
        gaps = np.linalg.norm(columns[:, None] - columns[None], axis=-1)
        assert_allclose(gaps, 1 - np.eye(n))


def test_conditional_parameters():
    space = ParameterSpace(MIXED)
    # Number of the dict, x (shared), n; the three kinds, the width and the flag of the second dict.
    assert space.n_axes == 6
    assert space.n_settings == np.inf
    points = RNG.uniform(size=(200, 6))
    for point in points:
        setting = space.setting(point)
        if point[0] < 0.5:
            assert set(setting) == {"kind", "x", "n"} and setting["kind"] == "a"
        else:
            assert set(setting) == {"kind", "x", "width", "flag"} and setting["kind"] in "bcd"
        assert setting["x"] == point[1]
    # Axes that are not in use change nothing.
    one, other = points[points[:, 0] < 0.5][:2]
    other = np.concatenate([one[:3], other[3:]])
    assert space.setting(one) == space.setting(other)
    assert_array_equal(*space.columns(np.stack([one, other])))
    # And what is in use does.
    other = one.copy()
    other[2] = 1 - other[2]
    assert space.setting(one) != space.setting(other)
    assert (space.columns(one[None]) != space.columns(other[None])).any()


def test_columns_tell_settings_apart():
    space = ParameterSpace([{"a": [1, 2], "b": ["x", "y", "z"]}, {"a": [1, 2], "c": randint(0, 3)}])
    points = RNG.uniform(size=(500, space.n_axes))
    keys = [row.tobytes() for row in space.columns(points)]
    settings = [tuple(sorted(space.setting(p).items())) for p in points]
    assert len(set(keys)) == len(set(settings)) == space.n_settings == 12
    assert len(set(zip(keys, settings, strict=True))) == 12


def test_constants_need_no_axis():
    space = ParameterSpace({"a": [3], "b": uniform(0, 1)})
    assert space.n_axes == 1 and space.setting(np.array([0.25])) == {"a": 3, "b": 0.25}
    space = ParameterSpace({"a": [3]})
    assert space.n_settings == 1 and space.setting(np.array([0.7])) == {"a": 3}
    assert_array_equal(space.bounds, [[0.0, 1.0]])
    assert ParameterSpace({}).setting(np.array([0.5])) == {}


def test_axis_matern_shares_length_scales_among_columns():
    kernel = AxisMatern([0.5, 2.0], groups=[0, 1, 1])
    X = RNG.uniform(size=(6, 3))
    K, gradient = kernel(X, eval_gradient=True)
    assert_allclose(K, Matern([0.5, 2.0, 2.0], nu=2.5)(X))
    assert gradient.shape == (6, 6, 2)
    for i in range(6):
        for j in range(i):

            def entry(theta, i=i, j=j):
                return kernel.clone_with_theta(theta)(X)[i, j]

            numeric = approx_fprime(kernel.theta, entry, 1e-7)
            assert_allclose(gradient[i, j], numeric, atol=1e-6)


def test_the_kernel_on_settings_is_a_kernel():
    space = ParameterSpace(MIXED)
    kernel = OnSettings(default_kernel(space), space)
    X = RNG.uniform(size=(40, 6))
    K = kernel(X)
    assert_allclose(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    assert_allclose(kernel.diag(X), np.diag(K))
    assert_allclose(kernel(X[:3], X[3:]), K[:3, 3:])
    assert len(kernel.theta) == len(kernel.bounds) == 1 + space.n_axes
    shifted = kernel.clone_with_theta(kernel.theta + 0.3)
    assert_allclose(shifted.theta, kernel.theta + 0.3)
    assert shifted != kernel and clone(kernel) == kernel
    assert copy.deepcopy(kernel).space is space
    assert_allclose(pickle.loads(pickle.dumps(kernel))(X), K)


def test_a_kernel_that_is_given_is_kept():
    space = ParameterSpace(MIXED)
    kernel = kernel_on_settings(RBF(0.7), space)
    assert kernel.base == RBF(0.7) and kernel.prior is None
    X, y = RNG.uniform(size=(8, space.n_axes)), RNG.normal(size=8)
    engine = GPUCBOptimizer(kernel, bounds=space.bounds).fit(X, y)
    assert engine.surrogate_.kernel_.base == RBF(0.7)
    assert (engine.surrogate_.process_.offset, engine.surrogate_.process_.scale) == (0.0, 1.0)


@pytest.mark.parametrize(
    "engine", [GPUCBOptimizer, partial(GPOOOptimizer, variation=(1.0, 0.7))], ids=["arms", "tree"]
)
def test_the_kernel_of_settings_is_learned_under_its_prior(engine):
    space = ParameterSpace({"a": uniform(0, 1), "b": randint(0, 9)})
    X = RNG.uniform(size=(9, 2))
    y = 7.0 + 3.0 * np.sin(4.0 * X[:, 0]) * X[:, 1]
    kernel = kernel_on_settings(None, space)
    assert_allclose(kernel.prior.center, np.log([1.0, 0.5, 0.5]))
    assert clone(kernel) == kernel != kernel.clone_with_theta(kernel.theta).set_params(prior=None)
    fitted = engine(kernel, bounds=space.bounds, alpha=0.1, random_state=0).fit(X, y)
    learned, offset, scale = fitted.surrogate_.kernel_, y.mean(), y.std()
    assert_allclose(fitted.surrogate_.process_.offset, offset)
    Z = space.columns(X)

    def density(theta):
        K = kernel.base.clone_with_theta(theta)(Z) + 0.1 / scale**2 * np.eye(9)
        gap = (theta - kernel.prior.center) / [
            defaults.AMPLITUDE_SPREAD,
            defaults.SETTINGS_LENGTH_SPREAD,
            defaults.SETTINGS_LENGTH_SPREAD,
        ]
        z = (y - offset) / scale
        return -0.5 * (z @ np.linalg.solve(K, z) + np.linalg.slogdet(K)[1] + gap @ gap)

    for step in 0.1 * np.eye(3):
        assert density(learned.theta) > max(
            density(learned.theta + step), density(learned.theta - step)
        )


# Lists of choices --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 1, 3, 3, 5], [1, 3, 5]),
        (["b", "a", "b"], ["b", "a"]),
        ([2, np.int64(2), 1], [1, 2]),
        ([[1, 2], [1, 2], (1, 2)], [[1, 2], (1, 2)]),
        ([None, None, float("nan"), np.nan], [None, float("nan")]),
        # To an estimator these are different: one feature, all of them, and a switch.
        ([1, 1.0, True], [1, 1.0, True]),
    ],
    ids=["numbers", "texts", "NumPy", "lists", "nothing", "equal"],
)
def test_equal_values_are_one(given, expected):
    for space in (ParameterSpace({"p": given}), ParameterSpace.from_bounds({"p": given})):
        assert list(map(repr, space.axes[0][1].values)) == list(map(repr, expected))
        assert space.n_settings == len(expected)
        for value in expected:
            found = space.setting(space.point({"p": value}))["p"]
            assert type(found) is type(value) and repr(found) == repr(value)


def test_settings_with_equal_values_are_asked_once():
    opt = GPUCBOptimizer(bounds={"a": [1, 1, 2], "b": ["x", "y", "x"]}, alpha=0.0, random_state=0)
    assert len({tuple(query.params.items()) for query in opt.ask(4)}) == 4
    with pytest.raises(AllPendingError):
        opt.ask(5)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_has_no_order_to_choose_from(kind):
    choices = kind(["a", "b", "c"])
    words = r"must be a list, got the set .* another one in every process"
    for make in (
        lambda: ParameterSpace({"p": choices}),
        GPUCBOptimizer(bounds={"p": choices}).start,
        GPOOOptimizer(bounds={"p": choices}).start,
        GPUCBOptimizer(bounds=Box({"p": choices, "x": (0, 1)}, feasible=bool)).start,
        GPUCBOptimizer(bounds={"x": (0, 1)}, context_bounds={"p": choices}).start,
        lambda: BanditSearchCV(Ridge(), {"alpha": choices}).fit(np.eye(9), np.arange(9)),
    ):
        with pytest.raises(TypeError, match=words):
            make()


def test_many_categories_take_no_square_of_memory():
    space = ParameterSpace({"p": [str(i) for i in range(20_000)]})
    tracemalloc.start()
    columns = space.columns(space.every_point()[:3])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
    assert_allclose(columns @ columns.T, 0.5 * np.eye(3))
    assert space.point({"p": "19999"}) == 1.0 - 0.5 / 20_000
    with pytest.raises(ValueError, match=r"p must be one of 20000 values: '0', .*\.\.\., got 'x'"):
        space.point({"p": "x"})


def test_values_that_are_no_finite_numbers_are_refused():
    space = ParameterSpace({"n": randint(1, 9), "m": range(20_000), "x": uniform(0, 1)})
    for name in "nmx":
        for value in (np.nan, np.inf, -np.inf):
            with pytest.raises(ValueError, match=f"{name} must be"):
                space.point({"n": 1, "m": 1, "x": 0.5} | {name: value})


def test_settings_have_the_order_in_which_sides_are_given():
    space = ParameterSpace({"c": ["only"], "x": uniform(0, 1), "d": [3], "n": [1, 2]})
    assert list(space.setting(np.array([0.5, 0.5]))) == ["c", "x", "d", "n"]
    assert list(space.ranges(np.zeros(2), np.ones(2))) == ["c", "x", "d", "n"]


def test_settings_of_several_spaces_have_points():
    space = ParameterSpace(MIXED)
    for point in RNG.uniform(size=(50, space.n_axes)):
        found = space.points(space.setting(point))[0]
        assert space.is_at(found, point)
        assert repr(space.setting(found)) == repr(space.setting(point)) or np.isclose(
            space.setting(found)["x"], space.setting(point)["x"]
        )
    with pytest.raises(ValueError, match="must have a value for each of"):
        space.points({"kind": "b", "x": 0.5})


@pytest.mark.parametrize(
    "side",
    [
        loguniform(1e-4, 0.1),
        uniform(-3.0, 7.0),
        loguniform(1e-3, 1e5),
        Steps(1e-4, 0.1, log=True),
        Steps(-1.0, 2.0),
    ],
    ids=["log", "uniform", "wide", "steps", "even steps"],
)
def test_a_number_is_read_back_as_it_was_told(side):
    space = ParameterSpace.from_bounds({"x": side, "kind": ["a", "b"]})
    low, high = (side.low, side.high) if isinstance(side, Steps) else side.support()
    for value in np.random.default_rng(0).uniform(low, high, 200):
        setting = {"x": min(max(float(f"{value:.6g}"), low), high), "kind": "b"}
        assert space.setting(space.point(setting)) == setting
    for end in (low, high):
        assert space.setting(space.point({"x": float(end), "kind": "a"}))["x"] == end


def test_integers_are_looked_up_in_a_table():
    asked = np.concatenate([RNG.random(500), [0.0, 1.0, 1e-13, 0.5]])
    some = (randint(1, 11), randint(0, 2), poisson(3), binom(100, 0.5), log_randint(10, 1001))
    for distribution in some:
        axis = IntegerQuantile("n", distribution)
        for u in (asked, asked[:500]):
            assert_array_equal(axis._values(u), Quantile._values(axis, u))
        # Numbers at the ends of the table and beyond have their probabilities as well.
        for n in (0, 1, 2, 10, 11, 20, *range(len(axis._table[0]) - 2, len(axis._table[0]) + 3)):
            cdf, pmf = distribution.cdf(n), distribution.pmf(n)
            assert axis.edge(n) == pytest.approx(distribution.cdf(n - 1), abs=1e-15)
            if pmf > 0.0:
                u = np.array([axis.coordinate(n)])
                assert u == pytest.approx(cdf - 0.5 * pmf, abs=1e-15)
                assert_array_equal(axis._middles_of_values(np.array([float(n)])), u)
    # Rare integers, beyond the table, beside others.
    rare = IntegerQuantile("n", binom(1000, 0.5))
    u = np.array([0.0, 0.3, 1.0])
    assert_array_equal(rare.numbers(u), [0, binom(1000, 0.5).ppf(0.3), 1000])
    assert_allclose(rare.columns(u)[:, 0], [rare.columns(u[[i]])[0, 0] for i in range(3)])
    assert_allclose(rare.columns(u)[[0, 2], 0], [0.0, 1.0], atol=1e-12)
    numbers = range(10, 1001)
    assert [axis.value(axis.coordinate(n)) for n in numbers] == list(numbers)


def test_integers_on_a_logarithmic_scale():
    distribution = log_randint(10, 1001)
    assert_allclose(distribution.pmf(np.arange(10, 1001)).sum(), 1.0)
    drawn = distribution.rvs(size=2000, random_state=0)
    assert drawn.min() == 10 and drawn.max() <= 1000
    assert abs(np.mean(drawn < 100) - 0.5) < 0.05
    for low, high, error in ((0, 5, ValueError), (5, 6, ValueError), (1.0, 5, TypeError)):
        with pytest.raises(error, match="low"):
            log_randint(low, high)


def test_what_a_setting_lacks_is_neutral():
    space = ParameterSpace([{"a": [1, 2, 3], "x": uniform()}, {"a": [1, 2, 3], "n": [4, 5]}])
    points = space.rounded_to_grid(RNG.random((200, space.n_axes)))
    for point in points:
        again = space.point(space.setting(point))
        assert_allclose(point, again, atol=1e-12)
    beside = space.rounded_to_grid(space.neighbours(points, 400, np.random.default_rng(0)))
    assert (beside[:, 0] != points[np.arange(400) % 200, 0]).any()
    moved = beside[np.abs(beside - points[np.arange(400) % 200]).max(axis=1) > 0]
    assert len(moved) > 200
    every = ParameterSpace([{"a": [1, 2, 3]}, {"b": [1, 2], "a": [1, 2, 3]}])
    settings = [every.setting(point) for point in every.every_point()]
    assert len(settings) == every.n_settings == 9
    assert len({tuple(sorted(each.items())) for each in settings}) == 9


@pytest.mark.parametrize("n", [2, 9, 12_000])
def test_the_nearest_of_a_list_of_numbers_is_found_however_long_it_is(n):
    space = ParameterSpace.from_bounds({"dose": [k / 4 for k in range(n)]})
    axis = dict(space.axes)["dose"]
    wanted = np.array([-1.0, 0.1, 0.125, 0.13, (n - 1) / 4, 1e9])
    found = [axis.value(u) for u in axis.nearest_coordinates(wanted)]
    assert found == [0.0, 0.0, 0.0, 0.25, (n - 1) / 4, (n - 1) / 4]


# Axes of all kinds, compared with their values --------------------------------------------------

AXES = {
    "span": Span("p", (-3.0, 7.0)),
    "uniform": Quantile("p", uniform(-3.0, 10.0)),
    "loguniform": Quantile("p", loguniform(1e-3, 1e2)),
    "normal": Quantile("p", norm(1.0, 2.0)),
    "steps": Steps(-1.0, 2.0, 0.25),
    "log steps": Steps(0.1, 20.0, log=True),
    "numbers": Choice("p", [8, 1, 3.5, 20]),
    "words": Choice("p", ["a", "b", "c"]),
    "range": Choice("p", range(3, 12, 2)),
    "long range": Choice("p", range(60_000, 0, -3)),
    "randint": IntegerQuantile("p", randint(2, 9)),
    "poisson": IntegerQuantile("p", poisson(3.0)),
    "log integers": IntegerQuantile("p", log_randint(1, 40)),
    "many integers": IntegerQuantile("p", randint(-20_000, 20_000)),
}
LISTED = [name for name in AXES if isinstance(AXES[name], SeparateAxis)]


def draws(axis, n=60):
    return np.random.default_rng(1).uniform(*axis.ends, n)


@pytest.mark.parametrize("name", AXES)
def test_coordinates_and_values_of_an_axis_belong_together(name):
    axis = AXES[name]
    coordinates = draws(axis)
    values = [axis.value(u) for u in coordinates.tolist()]
    assert len({type(value) for value in values} - {int, float}) == (name == "words")
    again = np.array([axis.coordinate(value) for value in values])
    found = [axis.value(u) for u in again.tolist()]
    assert found == values or (not axis.uses_columns and found == pytest.approx(values, rel=1e-12))
    assert_allclose(again, axis.snap(coordinates), atol=1e-9)
    assert_array_equal(axis.snap(again), axis.snap(axis.snap(again)))
    if axis.ordered:
        assert_allclose(axis.numbers(coordinates), values, rtol=1e-9)
        assert_array_equal(np.argsort(again, kind="stable"), np.argsort(values, kind="stable"))
        low, high = axis.limits
        assert low == min(axis.value(u) for u in axis.ends)
        assert high == max(axis.value(u) for u in axis.ends)
        assert all(low <= value <= high for value in values)
    columns = axis.columns(coordinates)
    assert columns.shape == (len(values), axis.n_columns)
    alike = np.array([[one == other for one in values] for other in values])
    gaps = np.abs(columns[:, None] - columns).max(axis=2)
    assert_array_equal(gaps == 0.0, alike)
    for wrong in ("?", None, np.nan, np.inf):
        with pytest.raises(ValueError, match="must be"):
            axis.coordinate(wrong)


@pytest.mark.parametrize("name", [name for name in AXES if AXES[name].ordered])
def test_the_nearest_possible_value_is_found(name):
    axis = AXES[name]
    low, high = axis.limits
    wanted = np.random.default_rng(2).uniform(1.1 * low - 0.1 * high, 1.1 * high - 0.1 * low, 60)
    found = axis.numbers(axis.nearest_coordinates(wanted))
    if not hasattr(axis, "middles") or axis.n_settings > 1000:
        step = 3.0 if name == "long range" else 1.0 if axis.uses_columns else 0.0
        assert (np.abs(found - np.clip(wanted, low, high)) <= 0.5 * step + 1e-9 * high).all()
    else:
        possible = axis.numbers(axis.middles())
        assert_allclose(
            np.abs(found - wanted), np.abs(possible - wanted[:, None]).min(axis=1), atol=1e-9
        )
        rounded = axis.rounded_to_grid(draws(axis))
        assert np.isin(rounded, axis.middles()).all()
        away = np.abs(axis.middles() - draws(axis)[:, None])
        if axis.has_steps:
            assert_allclose(np.abs(rounded - draws(axis)), away.min(axis=1), atol=1e-12)
    told = 0.5 * (low + high) + 0.013 * (high - low)
    between = axis.numbers(axis.between(np.array([told])))[0]
    assert between == pytest.approx(told) or axis.uses_columns


@pytest.mark.parametrize("name", LISTED)
def test_runs_of_values_are_intervals_of_coordinates(name):
    axis = AXES[name]
    first, last = axis.run(0.0, 1.0)
    assert last - first + 1 == axis.n_settings or "poisson" in name
    rng = np.random.default_rng(3)
    for _ in range(60):
        a, b = np.sort(rng.integers(first, last + 1, 2)).tolist()
        low, high = axis.ends_of_run(a, b)
        assert axis.run(low, high) == (a, b)
        assert (low == 0.0) == (a == first) and (high == 1.0) == (b == last)
        if a > first:
            assert low == axis.edge(a)
        if b < last:
            assert high == axis.edge(b + 1)
        middles = axis.middles_of(np.array([a, b]))
        assert low < middles[0] <= middles[1] < high
        assert axis.run(*middles) == (a, b)
        found = axis.values_between(low, high)
        assert len(found) == b - a + 1
        assert [found[0], found[-1]] == [axis.value(u) for u in middles]
        # An interval has its middle in the middle.
        ends = axis.ends_of_run(a, a)
        if first < a < last:
            assert_allclose(middles[0], np.mean(ends), atol=1e-9)
    if axis.n_settings < 1000 and "poisson" not in name:
        assert_allclose(axis.middles(), axis.middles_of(np.arange(first, last + 1)))


def test_of_two_numbers_as_near_the_lower_is_taken():
    grid = np.array([0.0, 1.0, 3.0, 3.5])
    assert_array_equal(grid[nearest(grid, np.array([-9, 0.5, 0.6, 2, 2.1, 3.25, 9]))], [
        0, 0, 1, 1, 3, 3, 3.5,
    ])  # fmt: skip


@pytest.mark.parametrize(("low", "high"), [(-2.0, 5.0), (1e-6, 1e3), (0.0, 1.0)])
def test_only_rounding_is_clipped_and_near_zero_only_that_of_the_number(low, high):
    slack = 1e-9 * (high - low)
    for value in (low, high, 0.5 * (low + high)):
        assert clip_rounding(value, low, high) == value
    assert clip_rounding(high + 0.5 * slack, low, high) == high
    near = low - (0.5 * slack if low <= 0.0 else 0.5e-9 * low)
    assert clip_rounding(near, low, high) == low
    for outside in (high + 2.0 * slack, low - (2.0 * slack if low <= 0.0 else 2e-9 * low)):
        with pytest.raises(ValueError, match="must be between"):
            clip_rounding(outside, low, high)


# Spaces, compared with all their settings -------------------------------------------------------

FINITE = {
    "one": {"n": range(2, 6), "kind": ["a", "b", "c"], "flag": [True, False], "c": [7]},
    "several": [
        {"n": [1, 2, 3], "kind": ["x", "y"]},
        {"n": [1, 2, 3], "m": [4.5, 5.5], "c": ["k"]},
        {"m": [4.5, 5.5, 6.5]},
    ],
}


def every_setting(dicts):
    dicts = dicts if isinstance(dicts, list) else [dicts]
    return [
        dict(zip(each, chosen, strict=True))
        for each in dicts
        for chosen in itertools.product(*each.values())
    ]


@pytest.mark.parametrize("name", FINITE)
def test_every_setting_has_one_point_of_its_own(name):
    space = ParameterSpace(FINITE[name])
    settings = every_setting(FINITE[name])
    assert space.n_settings == len(settings)
    points = space.every_point()
    found = [space.setting(point) for point in points]
    assert sorted(map(repr, found)) == sorted(map(repr, settings))
    for point, setting in zip(points, found, strict=True):
        assert_allclose(space.point(setting), point)
        assert [space.is_at(point, other) for other in points].count(True) == 1
    assert_allclose(space.snap(points), points)
    rng = np.random.default_rng(0)
    anywhere = rng.random((50, space.n_axes))
    for u, rounded, snapped in zip(
        anywhere, space.rounded_to_grid(anywhere), space.snap(anywhere), strict=True
    ):
        assert space.setting(u) == space.setting(rounded) == space.setting(snapped)
        assert (np.abs(points - rounded).max(axis=1) < 1e-12).any()
    # A number at an end of its range counts, a word does not.
    dicts = FINITE[name] if isinstance(FINITE[name], list) else [FINITE[name]]
    for setting, n in zip(found, space.n_at_ends(points), strict=True):
        own = next(each for each in dicts if setting in every_setting(each))
        sides = [key for key in ("n", "m") if key in own]
        assert n == sum(setting[key] in (min(own[key]), max(own[key])) for key in sides)
    for wrong in ({}, {"n": 2}, settings[0] | {"other": 1}):
        with pytest.raises(ValueError, match="must have a value for each of"):
            space.point(wrong)


def test_neighbours_differ_from_their_centers_and_move_every_side():
    space = ParameterSpace.from_bounds(
        {"x": (-2.0, 3.0), "n": range(50), "kind": list("abcdef"), "y": loguniform(1e-3, 1.0)}
    )
    rng = np.random.default_rng(0)
    centers = space.rounded_to_grid(rng.uniform(*space.bounds.T, (3, 4)))
    n = 3000
    found = space.neighbours(centers, n, rng)
    starts = centers[np.arange(n) % 3]
    assert ((found >= space.bounds[:, 0]) & (found <= space.bounds[:, 1])).all()
    changed = found != starts
    assert changed.any(axis=1).mean() > 0.99
    # On one side for sure, on more by a chance of 1/4, 2/4 or 1/2 for each: (1 + 3 (5/12)) / 4.
    assert_allclose(changed.mean(axis=0), (1 + 3 * 5 / 12) / 4, atol=0.05)
    one = changed.sum(axis=1) == 1
    steps = np.abs(found - starts)[one & changed[:, 0]][:, 0] / 5.0
    assert np.quantile(steps, 0.1) < 2e-3 and np.quantile(steps, 0.9) > 0.05
    kinds = [space.setting(point)["kind"] for point in found[one & changed[:, 2]]]
    assert {kind: kinds.count(kind) for kind in "abcdef"}.values() and min(
        kinds.count(kind) for kind in "abcdef"
    ) > 0.08 * len(kinds)


NAMED = {
    "heat": (20.0, 90.0),
    "only": ["fixed"],
    "salt": loguniform(1e-4, 1e-1),
    "cycles": range(1, 9),
    "kind": ["A", "B", "C"],
    "step": Steps(0, 1, 0.25),
}


def test_named_sides_have_numbers_of_values_columns_and_ranges():
    space = ParameterSpace.from_bounds(NAMED)
    assert space.sides == list(NAMED) and space.names == [k for k in NAMED if k != "only"]
    assert_array_equal(space.n_values, [0, 0, 8, 3, 0])
    assert (
        space.longest_list == 3 and not space.ordered and space.uses_columns and space.has_settings
    )
    assert_array_equal(space.groups, [0, 1, 2, 3, 3, 3, 4])
    assert_allclose(space.bounds, [[20, 90], [0, 1], [0, 1], [0, 1], [0, 1]])
    ends = space.column_bounds
    assert_allclose(
        ends, [[20, 90], [0, 1], [0, 1], *[[0, 0.5**0.5]] * 1, [0, 0], [0, 0.5**0.5], [0, 1]]
    )
    cube = space.copy_for_search(as_cube=True)
    assert (cube.uses_columns, cube.as_cube, cube.asked_once, cube.has_settings) == (
        False, True, False, False,
    )  # fmt: skip
    assert_allclose(cube.column_bounds, space.bounds)
    asked = space.copy_for_search()
    assert (asked.uses_columns, asked.as_cube, asked.asked_once) == (True, False, True)
    rng = np.random.default_rng(0)
    points = rng.uniform(*space.bounds.T, (20, 5))
    assert_array_equal(cube.snap(points), points)
    assert_array_equal(cube.rounded_to_grid(points), points)
    for _ in range(40):
        first, last = (
            {
                "heat": float(rng.integers(20, 50) + 40 * i),
                "only": "fixed",
                "salt": [2e-4, 5e-3][i],
                "cycles": int(rng.integers(1, 5) + 4 * i),
                "kind": "AB"[i] if rng.random() < 0.5 else "BC"[i],
                "step": [0.25, 0.5][i],
            }
            for i in range(2)
        )
        box = space.box_between(first, last)
        ranges = space.ranges(*np.split(box, 2))
        assert list(ranges) == list(NAMED)
        assert ranges["heat"] == (first["heat"], last["heat"]) and ranges["only"] == "fixed"
        assert ranges["salt"] == (2e-4, 5e-3) and ranges["step"] == (0.25, 0.5)
        assert list(ranges["cycles"]) == list(range(first["cycles"], last["cycles"] + 1))
        kinds = NAMED["kind"]
        assert ranges["kind"] == kinds[kinds.index(first["kind"]) : kinds.index(last["kind"]) + 1]
        assert space.ranges(*[space.point(first)] * 2) == first


def test_a_point_that_is_no_step_is_not_feasible():
    space = ParameterSpace.from_bounds(Box(NAMED, "cycles + 4*step <= 6"))
    for step, cycles, expected in [
        (0.25, 2, True), (0.3, 2, False), (0.5, 4, True), (0.5, 5, False), (1.0, 2, True),
    ]:  # fmt: skip
        setting = {"heat": 33.3, "only": "fixed", "salt": 0.01, "cycles": cycles, "kind": "B"}
        point = space.point(setting | {"step": step})
        assert space.is_feasible(point) is expected
        moved = point.copy()
        moved[3] = 0.6  # within the interval of B
        assert space.is_feasible(moved) is expected


def test_settings_are_read_in_every_form():
    space = ParameterSpace.from_bounds({"x": (0.0, 2.0), "n": [1, 3, 5]})
    expected = [[0.5, 1 / 6], [1.5, 5 / 6]]
    settings = [{"x": 0.5, "n": 1}, {"n": 5, "x": 1.5}]
    rows = [[0.5, 1], [1.5, 5]]
    for given in (settings, tuple(settings), rows, np.array(rows)):
        assert_allclose(space.points(given), expected)
        assert_allclose(space.rows(given), expected)
    assert_allclose(space.points(settings[1]), expected[1:])
    assert_allclose(space.points(rows[0]), expected[:1])
    longer = np.column_stack([rows, [0.0, 1.0]])
    assert_allclose(space.rows(longer), np.column_stack([expected, [0.0, 1.0]]))
    kept = as_coordinates(np.array(expected))
    assert space.points(kept) is kept is space.rows(kept)
    one = ParameterSpace.from_bounds({"x": (0.0, 2.0)})
    assert_allclose(one.points([0.5, 1.5]), [[0.5], [1.5]])
    for wrong, said in [
        ([[1, 2, 3]], "rows must have 2 numbers"),
        ([["a", "b"]], "by name"),
        ([{"x": 0.5, "n": 1}, {"x": 0.5, "n": 2}], "n must be one of"),
    ]:
        with pytest.raises(ValueError, match=said):
            space.points(wrong)


def test_parameters_with_other_values_have_axes_of_their_own():
    same = [{"a": [1, 2], "b": uniform(0, 1)}, {"a": [1, 2], "b": uniform(0, 1)}]
    assert ParameterSpace(same).n_axes == 3
    for other in ({"a": [1, 3]}, {"b": uniform(0, 2)}, {"b": norm(0, 1)}, {"b": randint(0, 5)}):
        assert ParameterSpace([same[0], same[1] | other]).n_axes == 4
    steps = [{"a": Steps(0, 1, 0.5)}, {"a": Steps(0, 1, 0.5)}, {"a": Steps(0, 1, 0.25)}]
    assert ParameterSpace(steps).n_axes == 3


def test_a_distribution_of_one_value_is_a_constant():
    space = ParameterSpace({"n": randint(3, 4), "x": uniform(0, 1)})
    assert space.n_axes == 1 and space.setting(np.array([0.25])) == {"n": 3, "x": 0.25}


@pytest.mark.parametrize("value", [3.0, "text", None, {"a": 1}, loguniform])
def test_what_is_no_side_is_refused_with_what_is_one(value):
    with pytest.raises(TypeError, match="must be a pair of numbers"):
        ParameterSpace.from_bounds({"p": value, "x": (0.0, 1.0)})
    with pytest.raises(TypeError, match="must be a list of values or a frozen distribution"):
        ParameterSpace({"p": value})


def test_pairs_are_intervals_in_bounds_and_lists_in_param_distributions():
    assert isinstance(ParameterSpace.from_bounds({"p": (1.0, 2.0)}).axes[0][1], Span)
    assert ParameterSpace({"p": (1.0, 2.0)}).n_settings == 2
    for wrong in ((1.0,), (1.0, 2.0, 3.0), ("a", "b"), (1.0, 10.0, "log-uniform")):
        with pytest.raises(ValueError, match="must be a pair of numbers"):
            ParameterSpace.from_bounds({"p": wrong})
    with pytest.raises(ValueError, match=r"write the range as loguniform\(1.0, 10.0\)"):
        ParameterSpace({"p": (1.0, 10.0, "log-uniform")})
    with pytest.raises(ValueError, match="must be one-dimensional"):
        ParameterSpace({"p": np.ones((2, 2))})
    with pytest.raises(ValueError, match="must leave something to choose"):
        ParameterSpace.from_bounds({"p": [1]})
    with pytest.raises(TypeError, match="must be strings"):
        ParameterSpace.from_bounds({1: (0.0, 1.0)})
    with pytest.raises(ValueError, match="is an empty list"):
        ParameterSpace({"p": []})


def test_the_only_list_beside_numbers_has_the_branches():
    def branch(sides):
        return ParameterSpace.from_bounds(sides).branch_axis

    assert branch({"x": (0, 1), "c": ["a", "b"]}) == 1
    assert branch({"x": (0, 1), "n": [1, 2, 4]}) is None
    assert branch({"c": ["a", "b"], "x": (0, 1), "e": ["p", "q"]}) is None

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
from skgpb.domains.space import IntegerQuantile, ParameterSpace, Quantile
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

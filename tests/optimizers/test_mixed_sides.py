"""Searches by cells over boxes with integers and categories."""

import pickle

import cases
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference import mixed_tree
from scipy.stats import loguniform, randint
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    StoOOOptimizer,
)
from skgpb.domains import Region
from skgpb.domains.space import as_coordinates
from skgpb.exceptions import RefinementWarning
from skgpb.kernels import PolicyMean, WindowMean
from skgpb.optimizers._places import N_SWEEPS, neighbour_starts
from skgpb.plotting import CellMapDisplay, TreeDisplay

SIDES = {
    "temperature": (20, 90),
    "salt": loguniform(1e-4, 1e-1),
    "cycles": range(1, 9),
    "catalyst": ["A", "B", "C"],
}
SETTING = {"temperature": 30, "salt": 1e-3, "cycles": 3, "catalyst": "B"}
SEARCHES = [GPOOOptimizer, GPTreeOptimizer, StoOOOptimizer]


def yield_of(params):
    """Largest at 60 degrees, a hundredth of salt, 5 cycles and catalyst B."""
    value = -(((params["temperature"] - 60) / 35) ** 2) - ((np.log10(params["salt"]) + 2) / 2) ** 2
    value -= ((params["cycles"] - 5) / 4) ** 2
    return float(value + 0.5 * (params["catalyst"] == "B"))


def answer(query):
    return float(np.mean([yield_of(setting) for setting in query.settings]))


def made(cls=GPOOOptimizer, **settings):
    return cls(**{"bounds": SIDES, "random_state": 0} | settings)


def params_of(query):
    """Values in the cell of a query, whatever stands for it."""
    return query._space.ranges(query.lower, query.upper)


def test_gpoo_does_what_a_naive_reference_does():
    sides = {"x": (0.0, 2.0), "n": [1, 2, 3, 4, 5], "kind": ["a", "b", "c"]}
    kernel = ConstantKernel(1.5) * RBF([0.5, 0.4, 0.7, 0.7, 0.7])

    def f(row):
        return np.sin(3 * row[0]) + row[1] - 2 * row[2] + row[4]

    asked, posterior, leaves = mixed_tree.gpoo(sides, f, kernel, 2, 25, (3.0, 0.75), 2.0, 1e-2)
    optimizer = GPOOOptimizer(
        kernel,
        bounds=sides,
        alpha=1e-2,
        variation=(3.0, 0.75),
        beta=2.0,
        n_representatives=(2, 5, 3),
        expansion="after",
        max_depth=30,
    )
    for cell in asked:
        query = optimizer.ask()
        assert params_of(query) == cell
        optimizer.tell(
            query, np.mean([f(row) for row in optimizer.run_.space.columns(query.points)])
        )
    cells = [optimizer.domain_.cell(leaf) for leaf in optimizer.domain_.tree.leaves.tolist()]
    assert len(cells) == len(leaves) > 12
    mean, std = optimizer.predict_query(cells, return_std=True)
    place = {str(params_of(cell)): i for i, cell in enumerate(cells)}
    for leaf in leaves:
        i = place[str(leaf)]
        assert_allclose((mean[i], std[i] ** 2), posterior(leaf), rtol=1e-7, atol=1e-9)
    # Some cells have one category and some two; some have one integer.
    kinds = {(len(each["n"]), len(each["kind"])) for each in asked}
    assert kinds == {(1, 1), (2, 1), (2, 3), (5, 3)}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    "feedback", ["center", "average", pytest.param("integral", marks=pytest.mark.slow)]
)
def test_trees_search_sides_of_every_kind(cls, feedback, tmp_path):
    optimizer = made(cls, feedback=feedback, direction="minimize")
    for query in cases.play(optimizer, 6, lambda query: -answer(query)):
        within = params_of(query)
        assert list(within) == list(SIDES) and "salt=" in repr(query)
        for setting in query.settings:
            assert setting["cycles"] in within["cycles"]
            assert setting["catalyst"] in within["catalyst"]
            assert within["temperature"][0] < setting["temperature"] < within["temperature"][1]
        if len(query.points) > 1:
            assert query.params == within
        else:
            assert query.params == query.settings[0]
    optimizer.tell(SETTING, 0.5).tell(pd.DataFrame([SETTING] * 2), [0.5, 0.4])
    optimizer.tell(optimizer.ask().params, -0.1)
    assert not optimizer.run_.pending
    best = optimizer.recommend()
    assert pickle.loads(pickle.dumps(best)).settings == best.settings
    optimizer.save(tmp_path / "run")
    loaded = cls.load(tmp_path / "run")
    assert loaded.recommend().params == best.params
    assert [each.params for each in loaded.ask(2)] == [each.params for each in optimizer.ask(2)]
    assert_allclose(loaded.predict(SETTING), optimizer.predict(SETTING), rtol=1e-12)
    assert np.isfinite(optimizer.predict_query([best])).all()
    assert optimizer.history_["descriptor"].shape == (6 + 3 + 1, 8)


@pytest.mark.slow
@pytest.mark.parametrize(("cls", "budget"), [(GPOOOptimizer, 40), (GPTreeOptimizer, 60)])
def test_the_best_setting_is_found(cls, budget):
    best = made(cls).run(answer, budget).x
    assert np.mean([yield_of(setting) for setting in best.settings]) > 0.4
    assert {setting["catalyst"] for setting in best.settings} == {"B"}


@pytest.mark.parametrize("cls", [GPZoomingOptimizer, CMESOptimizer])
@pytest.mark.parametrize(
    "side",
    [range(1, 9), [0.1, 0.5], ["A", "B"], randint(1, 9)],
    ids=["range", "numbers", "categories", "distribution"],
)
def test_searches_of_continuous_boxes_say_what_to_use_for_others(cls, side):
    optimizer = cls(bounds={"x": (0, 1), "n": side})
    words = rf"bounds\['n'\] must be .* {cls.__name__}, .* use GPUCBOptimizer or GPOOOptimizer"
    with pytest.raises(ValueError, match=words):
        optimizer.ask()
    assert not hasattr(optimizer, "bounds_")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kernel", [None, Matern([30, 0.3, 0.5, 1, 1, 1], nu=1.5)])
def test_a_cell_is_known_as_the_mean_over_its_settings(kernel):
    optimizer = made(kernel=kernel, bounds=SIDES, alpha=1e-3)
    for query in cases.play(optimizer, 8, answer):
        mean, std = optimizer.predict_query([query], return_std=True)
        value, cov = optimizer.predict(query.settings, return_cov=True)
        assert_allclose(mean, value.mean(), rtol=1e-6, atol=1e-9)
        assert_allclose(std**2, cov.mean(), rtol=1e-5, atol=1e-9)


@pytest.mark.slow
def test_integrals_under_any_kernel_are_means_over_many_settings():
    bounds = {"x": (0, 1), "n": range(4), "kind": ["a", "b"]}
    optimizer = made(
        kernel=Matern(0.6, nu=2.5), bounds=bounds, alpha=1e-2, feedback="integral", max_depth=6
    )
    for query in cases.play(optimizer, 2, lambda query: float(query.points.sum(axis=1).mean())):
        low, high = params_of(query)["x"]
        settings = [
            {"x": low + share * (high - low), "n": setting["n"], "kind": setting["kind"]}
            for share in (np.arange(200) + 0.5) / 200
            for setting in query.settings[: len(query.settings) // len(set_of(query, "x"))]
        ]
        mean = optimizer.predict_query([query])
        assert_allclose(mean, optimizer.predict(settings).mean(), atol=1e-4)


def set_of(query, name):
    return {setting[name] for setting in query.settings}


def test_points_of_a_tree_are_known_as_those_of_arms():
    kernel = RBF([30.0, 0.3, 0.5, 1.0, 1.0, 1.0])
    optimizer = made(kernel=kernel, alpha=1e-2).tell(SETTING, 1.0)
    other = SETTING | {"temperature": 60, "catalyst": "A"}
    # Ten degrees are a third of a length scale; any two categories are at distance 1.
    assert_allclose(optimizer.predict(other), np.exp(-0.5 * (1.0**2 + 1.0)) / 1.01)


def test_a_batch_ends_with_the_settings():
    optimizer = made(bounds={"n": [1, 2], "kind": ["a", "b", "c"]}, n_children=3)

    def total(query):
        return float(np.mean([each["n"] + (each["kind"] == "b") for each in query.settings]))

    cases.play(optimizer, 12, total)
    assert optimizer.recommend().params == {"n": 2, "kind": "b"}
    # A cell of two settings has two children, not three.
    position = TreeDisplay.from_optimizer(optimizer).position_
    tree = optimizer.tree_
    assert (tree.children[:, 0] >= 0).sum() > ((tree.children >= 0).all(axis=1)).sum() > 0
    for node, below in enumerate(tree.children):
        if below[0] >= 0:
            assert_allclose(position[node], position[below[below >= 0]].mean())
    with pytest.raises(ValueError, match="pending"):
        optimizer.ask(20)


def test_integers_of_a_distribution_are_runs():
    bounds = {"temperature": (20, 90), "cycles": randint(1, 9)}
    optimizer = made(bounds=bounds)
    assert optimizer.ask().params["cycles"] == range(1, 9)
    for query in cases.play(optimizer, 15, lambda query: -query.settings[0]["cycles"]):
        assert {each["cycles"] for each in query.settings} == set(params_of(query)["cycles"])
    assert 1 in params_of(optimizer.recommend())["cycles"]


def test_pictures_carry_names_and_values():
    optimizer = made(bounds={"kind": ["a", "b"], "n": randint(1, 5)})
    cases.play(optimizer, 4, lambda query: query.points.mean())
    ax = CellMapDisplay.from_optimizer(optimizer).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("kind", "n")
    ax.figure.canvas.draw()
    assert [each.get_text() for each in ax.get_xticklabels()] == ["a", "b"]
    assert [each.get_text() for each in ax.get_yticklabels()] == ["1", "2", "3", "4"]


def test_far_from_zero_nothing_is_lost():
    near, far = {"x": (0, 1), "n": range(4)}, {"x": (1e9, 1e9 + 1), "n": range(4)}

    def asked(bounds):
        return [q.lower - optimizer.bounds_[:, 0] for q in cases.play(optimizer, 12, played)]

    def played(query):
        x, n = query.points.mean(axis=0) - optimizer.bounds_[:, 0]
        return float(np.sin(3 * x) + n)

    runs = []
    for bounds in (near, far):
        optimizer = made(bounds=bounds)
        runs.append(asked(bounds))
    assert_allclose(*runs, atol=1e-6)


# Cells of a size ---------------------------------------------------------------------------------


def brute_force(optimizer, sides, n=24):
    """Largest mean of a cell of a size, by comparing a grid of them."""
    lower, upper = optimizer.bounds_.T
    shares = np.linspace(0, 1, n)
    best = -np.inf
    for cycles in range(1, 9):
        for catalyst in "ABC":
            for t in shares:
                low = lower[0] + t * (upper[0] - lower[0] - sides["temperature"])
                run = [cycles + i for i in range(sides.get("cycles", 1))]
                if run[-1] > 8:
                    continue
                points = [
                    {"temperature": low + share * sides["temperature"], "cycles": c}
                    | {"catalyst": catalyst}
                    for share in (0.1, 0.3, 0.5, 0.7, 0.9)
                    for c in run
                ]
                best = max(best, most_probable(optimizer, points))
    return best


def most_probable(optimizer, settings):
    """Mean over settings by the most probable model; what is read is an average over several."""
    points = optimizer._inputs.points(settings)
    return optimizer._model.process.moments(optimizer._functionals_at(points)).mean()


@pytest.mark.slow
def test_each_setting_is_looked_at_once_where_cells_of_a_size_are_compared(monkeypatch):
    optimizer = made(GPOOOptimizer, bounds={"x": range(20), "y": range(20)})
    cases.play(optimizer, 8, lambda q: np.mean([-((s["x"] - 7) ** 2) - s["y"] for s in q.settings]))
    moments, seen = optimizer._model.process.moments, []
    monkeypatch.setattr(
        optimizer._model.process,
        "moments",
        lambda X, **of: (seen.append(len(X)), moments(X, **of))[1],
    )
    region = optimizer.recommend(side={"x": 5, "y": 5})
    assert sum(seen) <= 20 * 20 * (1 + N_SWEEPS)
    monkeypatch.undo()
    cells = [
        [{"x": x + i, "y": y + j} for i in range(5) for j in range(5)]
        for x in range(16)
        for y in range(16)
    ]
    best = max(most_probable(optimizer, cell) for cell in cells)
    assert_allclose(most_probable(optimizer, region.settings), best, rtol=1e-9)


def test_starts_beside_one_are_four_neighbours_and_some_of_all():
    assert neighbour_starts(1, 5) == [0, 2, 3, 4]
    assert neighbour_starts(4, 5) == [0, 1, 2, 3]
    assert set(neighbour_starts(50, 320)) == {48, 49, 51, 52, *range(0, 320, 10)} - {50}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cls", [GPOOOptimizer, GPTreeOptimizer, GPUCBOptimizer])
@pytest.mark.parametrize(
    "size",
    [
        pytest.param({"temperature": 12}, marks=pytest.mark.slow),
        {"temperature": 12, "cycles": 3},
    ],
)
def test_the_best_cell_of_a_size_has_values_as_well(cls, size):
    bounds = {name: side for name, side in SIDES.items() if name != "salt"}
    optimizer = made(cls, bounds=bounds)
    cases.play(optimizer, 12, lambda q: np.mean([yield_of(s | {"salt": 0.01}) for s in q.settings]))
    before = pickle.dumps(optimizer.history_), optimizer.ask()
    region = optimizer.recommend(side=size)
    low, high = region.params["temperature"]
    assert_allclose(high - low, 12)
    assert len(region.params["cycles"]) == size.get("cycles", 1)
    assert len(region.params["catalyst"]) == 1
    assert {s["cycles"] for s in region.settings} == set(region.params["cycles"])
    assert_allclose(optimizer.predict_query([region]), optimizer.predict(region.settings).mean())
    scale = np.ptp(optimizer.history_["reward"])
    best = most_probable(optimizer, region.settings)
    assert best > brute_force(optimizer, size) - 0.01 * scale
    assert (pickle.dumps(optimizer.history_), optimizer.ask()) == before
    assert pickle.loads(pickle.dumps(region)).params == region.params


def test_no_cell_has_such_a_size():
    optimizer = made().tell(SETTING, 1.0)
    for size, words in (
        (
            {"cycles": 2},
            r"each of \['temperature', 'salt'\] and may have .*\['cycles', 'catalyst'\]",
        ),
        ({"temperature": 5, "salt": 0.1, "cycles": 9}, r"an integer >= 1 .* at most .*\[8, 3\]"),
        ({"temperature": 5, "salt": 0.1, "cycles": 1.5}, "an integer"),
        ({"temperature": 5, "salt": 0.1, "catalyst": 0}, "an integer"),
        ({"temperature": 5, "salt": 2}, "no longer than the box"),
        ({"temperature": 5, "salt": 0.1, "hour": 1}, "side must have"),
        ([5, 0.1, 1], "one for each of 4"),
    ):
        with pytest.raises(ValueError, match=f"side must.*{words}|{words}"):
            optimizer.recommend(side=size)


def test_a_bare_number_is_for_numbers():
    optimizer = made().tell(SETTING, 1.0)
    region = optimizer.recommend(side=0.5)
    assert [len(region.params[name]) for name in ("cycles", "catalyst")] == [1, 1]
    assert region == optimizer.recommend(side=[0.5, 0.5, 1, 1])
    kinds = made(bounds={"kind": ["a", "b", "c"]})
    kinds.tell([{"kind": "b"}, {"kind": "a"}], [1.0, 0.0])
    assert kinds.recommend(side={}).params == {"kind": "b"}
    with pytest.raises(ValueError, match="must be a dict with the number of values of each"):
        kinds.recommend(side=1)


# Contexts ----------------------------------------------------------------------------------------

CONTEXTS = {"temperature": (20, 90), "catalyst": ["A", "B", "C"]}
ACTIONS = {"salt": loguniform(1e-4, 1e-1), "cycles": range(1, 9)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "feedback",
    ["center", *(pytest.param(f, marks=pytest.mark.slow) for f in ("average", "integral"))],
)
def test_contexts_and_actions_are_of_every_kind(feedback, tmp_path):
    optimizer = ContextualGPTreeOptimizer(
        context_bounds=CONTEXTS, bounds=ACTIONS, feedback=feedback, horizon=14, random_state=0
    )
    contexts = pd.DataFrame({"temperature": [30.0, 60.0] * 6, "catalyst": list("AB") * 6})
    optimizer.run(answer, contexts=contexts)
    context = {"temperature": 60.0, "catalyst": "B"}
    query = optimizer.ask(context=context)
    assert {name: query.params[name] for name in context} == context
    for setting in query.settings:
        assert {name: setting[name] for name in context} == context
    # Any coordinates of a category are the same context.
    point = optimizer.run_.context_space.point(context)
    assert optimizer.ask(context=as_coordinates(point + np.array([0.0, 0.1]))) == query
    best = optimizer.recommend(context=context)
    assert np.mean([yield_of(setting) for setting in best.settings]) > -0.2
    assert_allclose(
        optimizer.predict_query([best], return_std=True)[0],
        optimizer.predict(best.settings).mean(),
        rtol=1e-2 if feedback == "integral" else 1e-6,
    )
    optimizer.save(tmp_path / "run")
    loaded = ContextualGPTreeOptimizer.load(tmp_path / "run")
    assert loaded.ask(context=context).params == query.params
    region = optimizer.recommend(context=context, side={"salt": 0.2, "cycles": 2})
    low, high = optimizer.run_.space.point(region.settings[0])[2], region.upper[2]
    assert {name: region.params[name] for name in context} == context
    assert_allclose(region.upper[2] - region.lower[2], 0.2)
    assert len(region.params["cycles"]) == 2 and low < high
    beside = [region_beside(region, shift) for shift in (-0.1, 0.1)]
    assert most_probable(optimizer, region.settings) > max(
        most_probable(optimizer, each.settings) for each in beside
    )


def region_beside(region, shift):
    step = shift * (np.arange(len(region.lower)) == 2)
    lower = np.clip(region.lower + step, region.lower * (step == 0), None)
    return Region(lower, lower + region.upper - region.lower, region.counts).with_names(
        region._space
    )


@pytest.mark.slow
def test_in_each_of_separate_contexts_the_best_action_is_found():
    optimizer = ContextualGPTreeOptimizer(
        context_bounds={"day": ["mon", "tue"]},
        bounds={"dose": [1, 2, 3, 4], "kind": ["a", "b", "c"]},
        horizon=60,
        random_state=0,
    )
    best = {"mon": {"dose": 2, "kind": "c"}, "tue": {"dose": 4, "kind": "a"}}

    def score(query):
        p = query.params
        wanted = best[p["day"]]
        return -abs(p["dose"] - wanted["dose"]) / 3 + (p["kind"] == wanted["kind"])

    optimizer.run(score, contexts=[{"day": day} for day in ["mon", "tue"] * 30])
    for day, wanted in best.items():
        assert optimizer.recommend(context={"day": day}).params == {"day": day} | wanted


# Domain of f, and searches without a model -------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cls", [CMESOptimizer, CMETSOptimizer])
def test_indirect_answers_tell_of_cells_as_well(cls):
    optimizer = cls(
        RBF([0.2, 30.0]),
        conditional=WindowMean(scale=[0.05, 5.0]),
        bounds={"x": (0, 1), "temperature": (20, 90)},
        query_bounds=[(0, 1), (20, 90)],
        alpha=1e-3,
        random_state=0,
    )
    cases.play(optimizer, 8, lambda query: float(-((query.a[0] - 0.4) ** 2)))
    before = pickle.dumps(optimizer.history_)
    region = optimizer.recommend(side={"x": 0.3, "temperature": 20})
    low, high = region.params["x"]
    assert_allclose(high - low, 0.3)
    grid = np.linspace(0, 1, 15)
    others = [
        optimizer.predict(region.points - region.lower + [0.7 * x, 20 + 50 * t]).mean()
        for x in grid
        for t in grid
    ]
    assert optimizer.predict(region.points).mean() >= max(others)
    assert pickle.dumps(optimizer.history_) == before
    with pytest.raises(ValueError, match="side must have a number for each"):
        optimizer.recommend(side={"x": 0.3})


def test_a_policy_has_no_cells_of_a_size():
    kernel = PolicyMean(arms=np.linspace(0, 1, 5)[:, None], policies=np.eye(5))
    optimizer = CMESOptimizer(RBF(0.3), conditional=kernel, alpha=1e-3, random_state=0)
    cases.play(optimizer, 3, lambda query: float(query.a[0]))
    with pytest.raises(ValueError, match="cells of a box"):
        optimizer.recommend(side=0.1)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_without_a_model_a_cell_has_the_mean_of_what_it_overlaps(direction):
    sign = 1 if direction == "maximize" else -1
    optimizer = StoOOOptimizer(
        bounds={"x": (0, 1), "kind": ["a", "b"]},
        feedback="average",
        variation=(1.0, 0.7),
        direction=direction,
    )

    def height(query):
        return sign * float(
            np.mean([(s["kind"] == "b") - abs(s["x"] - 0.6) for s in query.settings])
        )

    cases.play(optimizer, 150, height)
    region = optimizer.recommend(side={"x": 0.25})
    assert region.params["kind"] == ["b"]
    # Not tied to the grid, and as good as the estimate makes any cell of the size.
    places = [
        [{"x": low + share, "kind": kind} for share in np.linspace(0.005, 0.245, 25)]
        for low in np.linspace(0, 0.75, 31)
        for kind in "ab"
    ]
    best = max(sign * optimizer.predict(some).mean() for some in places)
    assert sign * optimizer.predict(region.settings).mean() > best - 0.03
    both = optimizer.recommend(side={"x": 0.25, "kind": 2})
    assert both.params["kind"] == ["a", "b"]
    with pytest.raises(ValueError, match="one of"):
        optimizer.recommend("posterior", side=0.1)
    pool = StoOOOptimizer(pool=[[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="cells of a box"):
        pool.tell(pool.ask(), 1.0).recommend(side=0.1)


def test_a_grid_is_told_where_some_sides_have_separate_values():
    optimizer = made(
        bounds={"x": (0, 1), "kind": ["a", "b"]}, max_depth=2, beta=4.0, n_representatives=5
    )

    def average(query):
        near = [np.exp(-(((each["x"] - 0.5) / 0.1) ** 2)) for each in query.settings]
        return float(np.mean(near) + 0.5 * np.mean([s["kind"] == "b" for s in query.settings]))

    cases.play(optimizer, 25, average)
    with pytest.warns(RefinementWarning, match=r"max_depth=2.*recommend\(side="):
        best = optimizer.recommend()
    region = optimizer.recommend(side={"x": best.upper[0] - best.lower[0]})
    assert region.params["kind"] == best.params["kind"] == ["b"]
    assert average(region) > average(best) + 0.1

"""Displays of regret, trees and posteriors draw what the optimizer holds."""

from __future__ import annotations

import functools
import inspect
import re
import sys

import numpy as np
import pytest
from cases import OPTIMIZERS
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from skgpb import (
    CMESOptimizer,
    CMETSOptimizer,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    KGOptimizer,
    StoOOOptimizer,
)
from skgpb.domains import Fidelities
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.optimizers._trees import PartitionSearch
from skgpb.optimizers.combinatorial import CombinatorialBandit
from skgpb.plotting import (
    CellMapDisplay,
    FrontDisplay,
    ImportanceDisplay,
    PosteriorDisplay,
    RegretDisplay,
    SliceDisplay,
    TreeDisplay,
)
from skgpb.problems.metrics import cumulative_regret, instant_regret
from skgpb.utils.install import install_command

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def f(query):
    return float(np.sin(5 * np.asarray(query)).mean())


def tree_search(d=1, budget=25):
    opt = GPOOOptimizer(
        0.3 * RBF(0.3),
        bounds=[(0.0, 2.0)] * d,
        alpha=0.01,
        variation=(1.0, 0.6),
        n_representatives=2,
    )
    opt.run(f, budget)
    return opt


def arms_search(d=1, budget=12):
    opt = GPUCBOptimizer(0.3 * RBF(0.3), bounds=[(0.0, 2.0)] * d, alpha=0.01, n_candidates=50)
    opt.run(f, budget)
    return opt


# Regret ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cumulative", "average", "instant"])
def test_regret_is_that_of_the_metrics(kind):
    opt = tree_search()
    values = opt.history_["reward"] - 0.1
    display = RegretDisplay.from_optimizer(opt, optimum=1.0, values=values, kind=kind)
    rounds = np.arange(1, 26)
    expected = {
        "cumulative": cumulative_regret(1.0, values),
        "average": cumulative_regret(1.0, values) / rounds,
        "instant": instant_regret(1.0, values),
    }[kind]
    assert_allclose(display.regret, expected)
    assert_allclose(display.line_.get_ydata(), expected)
    assert_array_equal(display.line_.get_xdata(), rounds)
    assert display.ax_.get_xlabel() == "round" and "regret" in display.ax_.get_ylabel()
    assert display.figure_ is display.ax_.figure


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["cumulative", "best"])
def test_runs_with_several_seeds_have_a_mean_and_its_error(kind):
    runs = [GPUCBOptimizer(bounds=[(0, 1)], random_state=seed) for seed in range(3)]
    for seed, opt in enumerate(runs):
        opt.run(lambda query: -float((query.points[0, 0] - 0.3) ** 2), budget=12 + seed)
    display = RegretDisplay.from_optimizers(runs, optimum=0.0, kind=kind)
    rewards = np.array([opt.history_["reward"][:12] for opt in runs])
    curves = np.maximum.accumulate(rewards, 1) if kind == "best" else np.cumsum(-rewards, 1)
    assert_allclose(display.regret, curves.mean(axis=0))
    assert_allclose(display.error, curves.std(axis=0, ddof=1) / np.sqrt(3))
    (band,) = display.ax_.collections
    ends = band.get_paths()[0].vertices[:, 1]
    assert_allclose(ends.max(), (display.regret + display.error).max())
    assert_allclose(ends.min(), (display.regret - display.error).min())
    assert display.name == "GPUCBOptimizer"
    with pytest.raises(ValueError, match="optimizers must be at least two runs, got 1"):
        RegretDisplay.from_optimizers(runs[:1])
    with pytest.raises(ValueError, match="values must be given for 3 runs, got 2"):
        RegretDisplay.from_optimizers(runs, values=[rewards[0], rewards[1]])


def test_runs_are_compared_on_the_same_axes():
    one = RegretDisplay.from_optimizer(tree_search(), optimum=1.0)
    RegretDisplay.from_optimizer(arms_search(), one.ax_, optimum=1.0, name="arms", color="k")
    labels = [text.get_text() for text in one.ax_.get_legend().get_texts()]
    assert labels == ["GPOOOptimizer", "arms"]
    assert one.ax_.lines[1].get_color() == "k"


def test_the_legend_of_regrets_is_outside_the_axes_if_there_is_room():
    # Without a free corner, so that no place inside the axes would do.
    display = RegretDisplay(regret=np.tile([0.0, 1.0], 200), kind="instant", name="run").plot()
    display.figure_.draw_without_rendering()
    inside, legend = display.ax_.bbox, display.ax_.get_legend().get_window_extent()
    label = display.ax_.xaxis.label.get_window_extent()
    assert display.figure_.bbox.y0 <= legend.y0 < legend.y1 <= label.y0 < inside.y0
    # Figures without a layout engine would cut it off.
    plain = RegretDisplay(regret=np.ones(3), kind="instant", name="run").plot(plt.subplots()[1])
    plain.figure_.draw_without_rendering()
    assert plain.ax_.get_legend().get_window_extent().y0 > plain.ax_.bbox.y0


def test_without_an_optimum_the_estimate_is_used_and_named():
    opt = arms_search()
    display = RegretDisplay.from_optimizer(opt)
    assert_allclose(display.optimum, opt.predict(opt.recommend().points)[0])
    assert "estimated" in display.ax_.get_ylabel()
    assert_allclose(display.regret[-1], (display.optimum - opt.history_["reward"]).sum())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_best_so_far_needs_no_optimum(direction):
    opt = EIOptimizer(RBF(0.3), bounds=[(0, 1)], random_state=0, direction=direction)
    opt.run(f, 8)
    display = RegretDisplay.from_optimizer(opt, kind="best", value_name="yield")
    best = np.maximum if direction == "maximize" else np.minimum
    assert_array_equal(display.line_.get_ydata(), best.accumulate(opt.history_["reward"]))
    assert display.ax_.get_ylabel() == "best yield so far"
    dots = display.ax_.collections[0].get_offsets()
    assert_array_equal(dots[:, 1], opt.history_["reward"])
    RegretDisplay.from_optimizer(opt, display.ax_, kind="best", optimum=2.0, name="other")
    RegretDisplay.from_optimizer(opt, display.ax_, kind="best", optimum=2.0, name="third")
    labels = [line.get_label() for line in display.ax_.lines]
    assert labels == ["EIOptimizer", "other", "optimum", "third"]
    assert_array_equal(display.ax_.lines[2].get_ydata(), 2.0)
    # Told apart without their colours as well.
    assert [display.ax_.lines[i].get_linestyle() for i in (0, 1, 3)] == ["-", "--", "-."]


def test_bad_input_to_the_regret():
    opt = tree_search(budget=3)
    with pytest.raises(ValueError, match="kind must be one of"):
        RegretDisplay.from_optimizer(opt, kind="simple")
    with pytest.raises(ValueError, match="one number for each of 3 rounds"):
        RegretDisplay.from_optimizer(opt, optimum=1.0, values=[1.0])
    with pytest.raises(ValueError, match="optimum must be finite"):
        RegretDisplay.from_optimizer(opt, optimum=np.inf)
    with pytest.raises(NotFittedError):
        RegretDisplay.from_optimizer(GPOOOptimizer(bounds=[(0, 1)]))
    opt = GPOOOptimizer(bounds=[(0, 1)])
    opt.ask()
    with pytest.raises(ValueError, match="has no answers yet"):
        RegretDisplay.from_optimizer(opt, optimum=1.0)


# Trees -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "opt",
    [
        tree_search(2),
        GPTreeOptimizer(0.3 * RBF(0.3), bounds=[(0, 2)], variation=(1.0, 0.6), horizon=30),
        StoOOOptimizer(bounds=[(0, 2)], variation=(3.0, 0.5)),
    ],
    ids=lambda opt: type(opt).__name__,
)
def test_every_node_is_drawn_once(opt):
    if not hasattr(opt, "bounds_"):
        opt.run(f, 30)
    display = TreeDisplay.from_optimizer(opt, value_name="height")
    tree = opt.tree_
    assert_array_equal(display.n_evaluations, tree.n_evaluations)
    leaves = tree.children[:, 0] < 0
    # Leaves stand side by side in the order of their first coordinates along every cut.
    assert_array_equal(np.sort(display.position_[leaves]), np.arange(leaves.sum()))
    inner = np.flatnonzero(~leaves)
    middle = display.position_[tree.children[inner]].mean(axis=1)
    assert_allclose(display.position_[inner], middle)
    if opt.n_features_in_ == 1:
        order = np.argsort(display.position_[leaves])
        assert (np.diff(tree.lower[leaves][order, 0]) > 0).all()
    known = ~np.isnan(display.mean)
    assert len(display.mappable_.get_offsets()) == known.sum()
    assert (known | (tree.n_evaluations == 0)).all()
    best = opt.recommend()
    # The posterior may recommend a finer cell than the tree has.
    node = display.recommended
    assert tree.depth[node] == best.depth or (tree.children[node] < 0).all()
    assert (tree.lower[node] <= best.lower).all() and (best.upper <= tree.upper[node]).all()
    colorbar = [ax for ax in display.figure_.axes if ax is not display.ax_]
    assert [ax.get_ylabel() for ax in colorbar] == ["estimated mean of height"]


def test_the_colours_of_a_tree_are_its_estimates():
    opt = tree_search(1)
    display = TreeDisplay.from_optimizer(opt)
    for node in (0, 3, len(display.mean) - 1):
        points = opt.domain_.cell(node).points
        assert_allclose(display.mean[node], opt.predict(points).mean(), atol=1e-8)
    opt = StoOOOptimizer(bounds=[(0, 2)], variation=(3.0, 0.5))
    opt.run(f, 30)
    display = TreeDisplay.from_optimizer(opt)
    history, tree = opt.history_, opt.tree_
    for node in np.flatnonzero(tree.n_evaluations):
        box = [*tree.lower[node], *tree.upper[node]]
        rewards = history["reward"][(history["descriptor"] == box).all(axis=1)]
        assert_allclose(display.mean[node], rewards.mean())


def test_a_tree_of_contexts_has_no_single_recommendation():
    opt = ContextualGPTreeOptimizer(
        RBF(0.5), context_bounds=[(0, 1)], bounds=[(0, 1)], variation=(1.0, 0.5), horizon=20
    )
    for t in range(10):
        query = opt.ask(context=[t / 10])
        opt.tell(query, f(query))
    assert TreeDisplay.from_optimizer(opt).recommended == -1
    with pytest.raises(ValueError, match="depends on the context"):
        RegretDisplay.from_optimizer(opt)
    display = PosteriorDisplay.from_optimizer(opt)
    assert display.recommended is None and display.mean.shape == (100, 100)


def test_what_has_no_tree_is_refused():
    with pytest.raises(TypeError, match="GPUCBOptimizer has no tree of cells"):
        TreeDisplay.from_optimizer(arms_search())
    with pytest.raises(NotFittedError):
        TreeDisplay.from_optimizer(GPOOOptimizer(bounds=[(0, 1)]))


# Posteriors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("opt", [tree_search(1), arms_search(1)], ids=["cells", "arms"])
def test_one_feature_is_a_curve_with_a_band(opt):
    display = PosteriorDisplay.from_optimizer(opt, feature_names=["x"], value_name="height")
    (x,) = display.grid
    mean, std = opt.predict(x[:, None], return_std=True)
    assert_allclose(display.mean, mean)
    assert_allclose(display.std, std)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x", "height")
    assert_array_equal(display.rewards, opt.history_["reward"])
    best = opt.recommend()
    assert_array_equal(display.recommended[:, 0], [best.lower[0], best.upper[0]])
    labels = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert labels == {"posterior mean", "95 % interval", "answers", "recommended"}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", ["mean", "std"])
def test_two_features_are_a_map(kind):
    opt = arms_search(2)
    display = PosteriorDisplay.from_optimizer(opt, kind=kind, grid_resolution=7)
    x, y = display.grid
    X = np.array([[x[2], y[5]]])
    mean, std = opt.predict(X, return_std=True)
    assert_allclose([display.mean[2, 5], display.std[2, 5]], [mean[0], std[0]])
    drawn = display.mappable_.get_array().reshape(7, 7)
    assert_allclose(drawn[5, 2], (mean if kind == "mean" else std)[0])
    colorbar = [ax for ax in display.figure_.axes if ax is not display.ax_]
    assert ("deviation" in colorbar[0].get_ylabel()) == (kind == "std")


def test_other_features_are_fixed():
    opt = arms_search(3)
    display = PosteriorDisplay.from_optimizer(
        opt, features=(2, 0), fixed=[9.9, 0.5, 9.9], grid_resolution=3, feature_names=list("abc")
    )
    X = [[display.grid[1][2], 0.5, display.grid[0][1]]]
    assert_allclose(display.mean[1, 2], opt.predict(X)[0])
    assert display.ax_.get_title() == "b = 0.5"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("c", "a")
    center = opt.recommend().center
    display = PosteriorDisplay.from_optimizer(opt, features=1)
    assert display.ax_.get_title() == f"feature 0 = {center[0]:.3g}, feature 2 = {center[2]:.3g}"


def test_indirect_queries_show_the_function():
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(40, 1))
    opt = CMESOptimizer(bounds=[(0, 1)], queries=np.linspace(0, 1, 9)[:, None])
    opt.fit(A + 0.05 * rng.normal(size=A.shape).clip(-1, 1) * (A > 0.1) * (A < 0.9), queries=A)
    for _ in range(3):
        query = opt.ask()
        opt.tell(query, f(query.a))
    display = PosteriorDisplay.from_optimizer(opt)
    assert display.asked is None and display.recommended.shape == (2, 1)


def test_low_fidelity_answers_are_not_drawn_as_values_of_the_function():
    queries = Fidelities(2)
    opt = KGOptimizer(RBF(0.3), queries=queries, alpha=0.01, bounds=[(0, 1)], random_state=0)
    opt.tell([[0.2, 0], [0.4, 1], [0.6, 0]], [1.0, -5.0, 2.0])
    assert_array_equal(opt.history_["task"], [0, 1, 0])
    for display in (PosteriorDisplay.from_optimizer(opt), SliceDisplay.from_optimizer(opt)):
        assert_array_equal(display.rewards, [1.0, 2.0])
        assert len(np.squeeze(display.asked)) == 2
    regret = RegretDisplay.from_optimizer(opt, optimum=2.0, values=[1.0, 2.0]).regret
    assert_array_equal(regret, [1.0, 1.0])


def test_answers_on_a_slice_are_dots_and_replicates_have_a_bar():
    opt = GPUCBOptimizer(bounds={"heat": (0, 10), "kind": ["A", "B"]}, alpha=0.01, random_state=0)
    told = [(2.0, "A", 1.0), (2.0, "A", 1.5), (5.0, "A", 0.5), (2.0, "B", 0.0)]
    opt.tell([{"heat": heat, "kind": kind} for heat, kind, _ in told], [y for *_, y in told])
    display = SliceDisplay.from_optimizer(opt, fixed={"heat": 2.0, "kind": "A"})
    # Along the heat those of kind A, along the kind those at 2 degrees.
    assert_array_equal(display.here, [[True, True, True, False], [True, True, False, True]])
    for ax, n, i in zip(display.axes_, (3, 3), (0, 1), strict=True):
        dots = [line for line in ax.lines if line.get_label() == "answers"]
        assert_array_equal(dots[0].get_ydata(), display.rewards[display.here[i]])
        assert len(dots[0].get_ydata()) == n
        bars = [c.get_segments() for c in ax.collections if hasattr(c, "get_segments")]
        assert_allclose(
            bars[-1], [[[bars[-1][0][0][0], 1.25 - s] for s in (0.125**0.5, -(0.125**0.5))]]
        )
    away = SliceDisplay.from_optimizer(opt, fixed={"heat": 7.0, "kind": "A"})
    assert len(away.here[1].nonzero()[0]) == 0


def test_a_fixed_point_is_in_the_units_of_its_sides():
    opt = GPUCBOptimizer(bounds={"dose": loguniform(1e-2, 1e2), "heat": (0, 10)}, random_state=0)
    opt.tell({"dose": 1.0, "heat": 2.0}, 1.0)
    for cls in (SliceDisplay, PosteriorDisplay):
        one, other = (
            cls.from_optimizer(opt, features="heat", fixed=fixed)
            for fixed in ([10.0, 5.0], {"dose": 10.0, "heat": 5.0})
        )
        assert "dose = 10" in one.title and one.title == other.title


def test_bad_input_to_the_posterior():
    opt = arms_search(2, budget=3)
    for features in (2, (0, 0), (0, 1, 1), (), (0.5,)):
        with pytest.raises(ValueError, match="features must be"):
            PosteriorDisplay.from_optimizer(opt, features=features)
    with pytest.raises(ValueError, match="fixed must be a point of shape"):
        PosteriorDisplay.from_optimizer(opt, features=0, fixed=[0.0])
    with pytest.raises(ValueError, match="grid_resolution"):
        PosteriorDisplay.from_optimizer(opt, grid_resolution=1)
    with pytest.raises(ValueError, match="kind must be"):
        PosteriorDisplay.from_optimizer(opt, kind="var")
    stochastic = StoOOOptimizer(bounds=[(0, 1)])
    stochastic.ask()
    with pytest.raises(TypeError, match="StoOOOptimizer has no posterior"):
        PosteriorDisplay.from_optimizer(stochastic)


# Every display of every optimizer ----------------------------------------------------------------

DISPLAYS = [
    CellMapDisplay,
    ImportanceDisplay,
    PosteriorDisplay,
    RegretDisplay,
    SliceDisplay,
    TreeDisplay,
]


@functools.cache
def played(cls, d):
    """An optimizer after three rounds on the unit cube."""
    parameters, box = inspect.signature(cls).parameters, [(0, 1)] * d
    if "query_bounds" in parameters:
        A = np.random.default_rng(0).uniform(size=(20, d))
        candidates = {"queries": A[:5]} if "queries" in parameters else {}
        opt = cls(bounds=box, random_state=0, **candidates).fit(0.5 * A + 0.2, queries=A)
    else:
        context = {"context_bounds": box} if "n_context" in parameters else {}
        opt = cls(bounds=box, **context)
    for _ in range(3):
        query = opt.ask(context=[0.5] * d) if "n_context" in parameters else opt.ask()
        opt.tell(query, f(getattr(query, "a", query)))
    return opt


#: In how many dimensions one of each kind is drawn by default. The displays know no other
#: differences.
DRAWN_BY_DEFAULT = {
    CMESOptimizer: (1, 2),
    CMETSOptimizer: (2,),
    ContextualGPTreeOptimizer: (1,),
    EIOptimizer: (2,),
    GPOOOptimizer: (1, 2),
    GPTreeOptimizer: (2,),
    GPZoomingOptimizer: (2,),
    StoOOOptimizer: (2,),
}


@pytest.mark.one_in(18)
@pytest.mark.parametrize(
    ("cls", "d"),
    [
        pytest.param(
            cls,
            d,
            id=f"{cls.__name__}-{d}",
            marks=() if d in DRAWN_BY_DEFAULT.get(cls, ()) else pytest.mark.exhaustive,
        )
        for cls in OPTIMIZERS
        for d in (1, 2)
    ],
)
@pytest.mark.parametrize("display", DISPLAYS)
def test_every_optimizer_is_drawn_or_refused_in_plain_words(display, cls, d):
    opt = played(cls, d)
    needed = {
        CellMapDisplay: (PartitionSearch, ContextualGPTreeOptimizer),
        ImportanceDisplay: BaseBanditOptimizer,
        PosteriorDisplay: BaseBanditOptimizer if cls is not StoOOOptimizer else (),
        SliceDisplay: BaseBanditOptimizer if cls is not StoOOOptimizer else (),
        RegretDisplay: BaseBanditOptimizer,
        TreeDisplay: (PartitionSearch, StoOOOptimizer, ContextualGPTreeOptimizer),
    }[display]
    if not issubclass(cls, needed):
        with pytest.raises(TypeError, match=f"{cls.__name__} has no"):
            display.from_optimizer(opt)
        return
    arguments = {}
    if cls is ContextualGPTreeOptimizer and display in (CellMapDisplay, RegretDisplay):
        name = "recommended" if display is CellMapDisplay else "optimum"
        with pytest.raises(ValueError, match=f"{name} must be given.* depends on the context"):
            display.from_optimizer(opt)
        arguments = {name: opt.recommend(context=[0.5] * d) if name == "recommended" else 1.0}
    drawn = display.from_optimizer(opt, **arguments)
    drawn.figure_.canvas.draw()
    assert drawn.ax_.has_data()


@pytest.mark.parametrize("display", DISPLAYS)
def test_campaigns_are_drawn_one_by_one(display):
    campaign = EIOptimizer(RBF(3.0), arms=np.arange(5.0)[:, None], alpha=0.1)
    opt = CombinatorialBandit([("one", campaign), ("other", campaign)], 5)
    opt.tell(opt.ask(), [0.1, 0.2])
    with pytest.raises((TypeError, ValueError), match=r"CombinatorialBandit has n|one campaign"):
        display.from_optimizer(opt)
    if display is PosteriorDisplay:
        assert display.from_optimizer(opt, features="one").ax_.has_data()
    if display in (ImportanceDisplay, PosteriorDisplay, RegretDisplay, SliceDisplay):
        assert display.from_optimizer(opt.named_optimizers_["one"]).ax_.has_data()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("display", DISPLAYS)
def test_given_axes_are_used_and_missing_matplotlib_is_named(display, monkeypatch):
    opt = tree_search(1)
    _, ax = plt.subplots()
    drawn = display.from_optimizer(opt, ax)
    assert drawn.ax_ is ax and drawn.plot(ax) is drawn
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape(install_command("plot"))):
        display.from_optimizer(opt)


BACKGROUNDS = {"default": 1.0, "dark_background": 0.0}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("style", BACKGROUNDS)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("display", DISPLAYS)
def test_nothing_is_drawn_in_the_colour_of_its_background(display, d, style):
    with plt.style.context(style):
        ax = display.from_optimizer(tree_search(d)).ax_
        background = BACKGROUNDS[style]
        assert ax.get_facecolor()[:3] == (background,) * 3
        for line in ax.lines:
            color = np.array(matplotlib.colors.to_rgb(line.get_color()))
            # A contrast in grey of at least a quarter of that of black and white.
            assert abs(color @ [0.3, 0.59, 0.11] - background) > 0.25
        for text in ax.texts:
            box = text.get_bbox_patch().get_facecolor()
            assert box[:3] == (background,) * 3


# Named sides -------------------------------------------------------------------------------------


def test_axes_are_labelled_with_the_names_and_values_of_sides():
    sides = {"width": (0, 9), "salt": loguniform(1e-4, 1e-1), "kind": ["a", "b"]}
    opt = GPUCBOptimizer(bounds=sides, n_candidates=50, random_state=0)
    opt.run(lambda query: query.params["width"], 5)
    setting = {"width": 4.5, "salt": 1e-3, "kind": "b"}
    display = PosteriorDisplay.from_optimizer(
        opt, features=("salt", "kind"), fixed=setting, grid_resolution=5
    )
    display.figure_.canvas.draw()
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("salt", "kind")
    assert display.ax_.get_title() == "width = 4.5"
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["a", "b"]
    ticks = display.ax_.xaxis.get_major_formatter()
    assert [ticks(u, None) for u in (0.0, 1.0, 1.2)] == ["0.0001", "0.1", ""]
    opt = GPOOOptimizer(bounds={"width": (0, 9), "salt": sides["salt"]})
    opt.run(lambda query: float(query.points.mean()), 5)
    display = CellMapDisplay.from_optimizer(opt)
    display.figure_.canvas.draw()
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "salt")
    assert display.ax_.yaxis.get_major_formatter()(0.0, None) == "0.0001"
    TreeDisplay.from_optimizer(opt)
    RegretDisplay.from_optimizer(opt)


def test_queries_in_other_categories_than_the_map_are_told_apart():
    bounds = {"x": (0, 1), "y": (0, 1), "kind": ["a", "b", "c"]}
    opt = EIOptimizer(RBF(0.3), bounds=bounds, alpha=0.01, random_state=0)
    kinds = ["a", "b", "b", "c"]
    for i, kind in enumerate(kinds):
        opt.tell({"x": 0.2 * i, "y": 0.5, "kind": kind}, float(kind == "b"))
    display = PosteriorDisplay.from_optimizer(opt, fixed={"x": 0.5, "y": 0.5, "kind": "b"})
    assert display.here.tolist() == [kind == "b" for kind in kinds]
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["queried", "queried in other categories", "recommended"]
    # A side that is drawn tells its categories apart by itself.
    assert PosteriorDisplay.from_optimizer(opt, features=["x", "kind"]).here is None


@pytest.mark.parametrize(("side", "artist"), [(0.2, "Rectangle"), (0.01, "PathCollection")])
def test_a_recommended_box_too_small_to_see_is_a_star_in_the_legend(side, artist):
    corners = np.array([[0.5, 0.5], [0.5 + side, 0.5 + side]])
    grid = (np.linspace(0, 1, 5), np.linspace(0, 1, 5))
    flat = np.zeros((5, 5))
    display = PosteriorDisplay(grid=grid, mean=flat, std=flat, recommended=corners).plot()
    assert [type(each).__name__ for each in display.ax_.get_legend().legend_handles] == [artist]
    assert len(display.ax_.patches) == (artist == "Rectangle")


def goals_search(n_goals=2):
    names = ["cost", "waste", "time"][: n_goals - 1]
    opt = EIOptimizer(
        bounds={"x": (0, 1), "y": (0, 1)}, goals=dict.fromkeys(names, "minimize"), random_state=0
    )

    def answer(query):
        x, y = query.points[0]
        return float(x - y**2), {"cost": x**2 + y, "waste": (x - y) ** 2, "time": y}

    opt.run(answer, budget=14)
    return opt


def test_the_front_and_the_volume_that_it_encloses():
    opt = goals_search()
    front = opt.front()
    display = FrontDisplay.from_optimizer(opt, value_name="yield", color="C3")
    assert_allclose(np.transpose(display.line_.get_data()), front.values)
    assert display.line_.get_color() == "C3"
    labels = display.ax_.get_xlabel(), display.ax_.get_ylabel()
    assert labels == ("yield (more is better)", "cost (less is better)")
    others, _, edge, corner = display.ax_.lines
    assert_allclose(np.transpose(others.get_data()), front.others)
    assert_allclose(np.ravel(corner.get_data()), front.reference)
    x, y = edge.get_data()
    # The area between the edge and the reference point, by its horizontal parts.
    area = -np.sum(np.diff(x) * np.abs(y[1:] - front.reference[1]))
    assert_allclose(area, front.volume)


def test_three_goals_are_drawn_in_pairs():
    opt = goals_search(3)
    display = FrontDisplay.from_optimizer(opt, goals=["cost", "waste"])
    assert_allclose(np.transpose(display.line_.get_data()), opt.front().values[:, 1:])
    assert len(display.ax_.lines) == 3
    with pytest.raises(ValueError, match="goals must be two of"):
        FrontDisplay.from_optimizer(opt, goals=["cost", "heat"])
    with pytest.raises(ValueError, match="goals must be two of"):
        FrontDisplay(front=opt.front(), goals=["cost"]).plot()
    with pytest.raises(TypeError, match="GPOOOptimizer has no front to draw"):
        FrontDisplay.from_optimizer(GPOOOptimizer(bounds=[(0, 1)]))
